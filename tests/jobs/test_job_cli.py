"""`toksmith corpus tokenize`, `status` and `verify`: their output, refusals and exit codes."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from job_corpus import END, TEXTS, TOK, content, ids_of, job, make
from processors import LIMIT_S
from systems import needs

import toksmith
from toksmith._cli import app
from toksmith._cli.flags import in_flags

SAVED = "tok.toksmith"
HERE = ["-t", SAVED, "-o", "out", "--append", END, "--shard-size", "200"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which commands run: with the tokenizer and the corpus."""
    monkeypatch.chdir(tmp_path)
    TOK.save(SAVED)
    make(tmp_path / "in")
    return tmp_path


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def facts(result: Any) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])  # after the events
    return found


def test_the_command_writes_the_job_of_the_function(folder: Path) -> None:
    planned = facts(run("corpus", "tokenize", "in", *HERE, "--dry-run", "--json"))
    assert not (folder / "out").exists()
    # A folder gives the same files in the same order as their names.
    own = job(folder, "own")
    assert (planned["shards"], planned["files"], planned["bytes"]) == (own.shards, own.files, own.bytes)
    done = run("corpus", "tokenize", "in", *HERE, "-q")
    assert (done.exit_code, done.output) == (0, "")
    own.run(progress=False)
    assert content(folder / "out") == {
        **content(folder / "own"),
        **{name: sha256 for name, sha256 in content(folder / "out").items() if name.startswith("tokenizer-")},
    }
    status = facts(run("corpus", "status", "out", "--json"))
    assert status["finished"] and status["missing"] == [] and status["documents"] == len(TEXTS)
    found = run("corpus", "verify", "out", "--decode", "--source", "--sample", "2")
    assert found.exit_code == 0
    shards = own.shards
    said = f"{3 * shards + 3} files as written; 2 shards decoded, all texts and ids equal; 2 shards encoded again, all texts and ids equal\n"
    assert found.stdout == said


def test_the_command_prints_a_summary(folder: Path) -> None:
    rows = folder / "in" / "f.jsonl"
    rows.write_bytes(b"not JSON\n")
    done = run("corpus", "tokenize", *sorted((folder / "in").iterdir()), *HERE, "--to", "megatron", "--errors", "skip")
    ids = sum(map(len, ids_of()))
    shards = toksmith.corpus.Job.at(folder / "out").shards
    said = f"{ids} ids of {len(TEXTS)} documents in {shards} shards; 1 row left out; saved in out"
    assert done.stdout == f"{said} ({2 * shards} files for megatron)\n"
    said = f"{shards} of {shards} shards done: {len(TEXTS)} documents, {ids} ids, 1 bad row; finished\n"
    assert run("corpus", "status", "out").stdout == said


def test_parts_run_as_separate_commands(folder: Path) -> None:
    planned = run("corpus", "tokenize", "in", *HERE, "--plan")
    assert planned.exit_code == 0 and planned.stdout.endswith(" bytes, for out\n")
    refused = run("corpus", "tokenize", "-o", "out", "--finish")
    assert refused.exit_code == 1 and "shards of" in refused.stderr and "missing (0, 1, 2, 3, 4, …)" in refused.stderr
    for part in ("0/2", "1/2"):
        found = facts(run("corpus", "tokenize", "in", *HERE, "--part", part, "--json"))
        assert not found["finished"] and found["missing"] == [] and found["done"] == found["shards"]
    assert facts(run("corpus", "tokenize", "-o", "out", "--finish", "--json"))["documents"] == len(TEXTS)
    assert run("corpus", "verify", "out").exit_code == 0


def test_the_same_command_continues_a_job(folder: Path) -> None:
    assert run("corpus", "tokenize", "in", *HERE, "--plan").exit_code == 0
    toksmith.corpus.run_shard(folder / "out" / "job.json", 2)
    assert run("corpus", "tokenize", "in", *HERE, "--workers", "1").exit_code == 0
    refused = run("corpus", "tokenize", "in", *HERE)
    assert refused.exit_code == 1 and "this job is finished" in refused.stderr and "pass --force" in refused.stderr
    refused = run("corpus", "tokenize", "in", *HERE, "--to", "hf")
    assert refused.exit_code == 1 and "another job is planned here (other to and dtype and versions" in refused.stderr
    assert run("corpus", "tokenize", "in", *HERE, "--to", "hf", "--force").exit_code == 0


def test_a_difference_found_by_verify_exits_3(folder: Path) -> None:
    assert run("corpus", "tokenize", "in", *HERE).exit_code == 0
    path = folder / "out" / "00001.npy"
    path.write_bytes(path.read_bytes()[:-2] + b"\0\0")
    found = run("corpus", "verify", "out")
    assert (found.exit_code, found.stdout) == (3, "00001.npy: has changed since it was written\n")
    found = run("corpus", "verify", "out", "--source", "--json")
    assert found.exit_code == 3
    differences = json.loads(found.stdout)["differences"]
    assert [(each["file"], each["shard"]) for each in differences] == [("00001.npy", None), ("00001.npy", 1)]
    assert isinstance(differences[1]["document"], int)
    manifest = folder / "out" / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:-9])
    found = run("corpus", "verify", "out")
    assert found.exit_code == 3 and found.stdout.startswith("manifest.json: is not a manifest: ")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["in", "-t", SAVED], 2, "--output"),
        (["in", *HERE, "--shard-size", "many"], 2, "--shard-size"),
        (["in", *HERE, "--dtype", "int8"], 2, "--dtype"),
        (["in", *HERE, "--errors", "ignore"], 2, "--errors"),
        (["in", *HERE, "--max-errors", "5"], 2, "--errors quarantine"),
        (["in", *HERE, "--pack", "chunk", "--length", "5"], 2, "--to parquet or --to hf"),
        (["in", *HERE, "--append", "<|ende|>"], 2, "--append: there is no special token named '<|ende|>'"),
        (["in", *HERE, "--run", "slurm"], 2, "there is no runner named 'slurm'"),
        (["in", *HERE, "--length", "5"], 2, "expected no value, or --pack as well"),
        (["in", *HERE, "--max-errors", "6"], 2, "expected no value, or --errors skip"),
        (["none", *HERE], 1, "none: cannot be read: there is no such file"),
        (["-o", "in", "--finish"], 1, "there is no job.json"),
    ],
)
def test_wrong_options_are_refused(arguments: list[str], code: int, said: str, folder: Path) -> None:
    done = run("corpus", "tokenize", *arguments)
    plain = " ".join(done.output.replace("│", " ").split())
    assert done.exit_code == code and said in plain, done.output


def test_bad_rows_are_reported_with_flags(folder: Path) -> None:
    (folder / "in" / "f.jsonl").write_bytes(b'{"body": "low"}\n')
    done = run("corpus", "tokenize", "in", *HERE)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"toksmith: {folder}/in/f.jsonl: document 0: has no text in the field 'text'")
    assert "--field" in done.stderr and "field=" not in done.stderr
    for command in ("status", "verify"):
        done = run("corpus", command, "in")
        assert done.exit_code == 1 and done.stdout == ""


def test_arguments_become_flags() -> None:
    flags = {name: f"--{name.replace('_', '-')}" for name in ("errors", "force", "max_errors")}
    text = "pass errors='skip', force=True, or max_errors=5 (not x.errors='a', other=1, errors= alone)"
    said = "pass --errors skip, --force, or --max-errors 5 (not x.errors='a', other=1, --errors alone)"
    assert in_flags(text, flags) == said
    assert in_flags("raise max_errors (not 'max_errors')", flags) == "raise --max-errors (not 'max_errors')"


@pytest.mark.parametrize(
    "wrong",
    [["--part", "9/8"], ["--part", "0/2"], ["--run", "slurm"], ["--workers", "0"], ["--threads", "0"]],
)
def test_force_removes_nothing_before_all_is_valid(wrong: list[str], folder: Path) -> None:
    assert run("corpus", "tokenize", "in", *HERE).exit_code == 0
    before = content(folder / "out")
    refused = run("corpus", "tokenize", "in", *HERE, "--force", *wrong)
    assert refused.exit_code == 2 and content(folder / "out") == before
    assert (wrong != ["--part", "0/2"]) or "--force --plan" in " ".join(refused.output.replace("│", " ").split())


def test_too_many_bad_rows_are_reported_with_flags(folder: Path) -> None:
    (folder / "in" / "f.jsonl").write_bytes(b"not JSON\n" * 2)
    done = run("corpus", "tokenize", "in", *HERE, "--errors", "skip", "--max-errors", "1", "--threads", "1")
    assert done.exit_code == 1 and "raise --max-errors" in done.stderr and "max_errors" not in done.stderr


STOPPED = """
import signal, sys
from toksmith._jobs import written as _written
from toksmith._cli import main

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
sent, real, calls = int(sys.argv.pop(1)), _written.ShardFiles.place, []

def place(files):
    calls.append(files)
    if len(calls) == 2:
        signal.raise_signal(sent)
    return real(files)

_written.ShardFiles.place = place
main()
"""


@pytest.mark.slow
@needs("signals")
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals_leave_whole_shards(sent: signal.Signals, code: int, folder: Path) -> None:
    """The signal comes when the files of the second shard are complete and have no names."""
    command = [sys.executable, "-c", STOPPED, str(int(sent)), "corpus", "tokenize", "in", *HERE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert done.stderr == ("toksmith: interrupted\n" if sent == signal.SIGINT else "")
    assert not list((folder / "out").rglob("*.tmp"))
    planned = toksmith.corpus.Job.at(folder / "out")
    assert planned.missing() == list(range(1, planned.shards))
    assert run("corpus", "tokenize", "in", *HERE).exit_code == 0
