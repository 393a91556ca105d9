"""Jobs at the edges: the place of the folder, rows with odd names, files that change, and JSON from anywhere."""

import gc
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from job_corpus import TOK, content, job
from processors import LIMIT_S
from systems import needs

import toksmith
from toksmith._base import threads
from toksmith._cli import app
from toksmith._jobs.make import encode_shard
from toksmith._jobs.plans import draft, plan
from toksmith.errors import InvalidOption, JobError


def rows(folder: Path, texts: list[str]) -> Path:
    """A folder with a file of these rows."""
    folder.mkdir(parents=True)
    data = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    (folder / "rows.jsonl").write_text(data)
    return folder


# The folder of the job


def in_folder(corpus: Path) -> Any:
    return corpus


def by_name(corpus: Path) -> Any:
    """As a shell expands `corpus/*`."""
    return sorted(corpus.iterdir())


def by_glob(corpus: Path) -> Any:
    return toksmith.files(corpus / "**" / "rows*", corpus / "**" / "0*.[jp]*")


@pytest.mark.parametrize("named", [in_folder, by_name, by_glob])
@pytest.mark.parametrize("to", ["npy", "parquet"])
def test_a_job_inside_its_corpus_does_not_read_its_own_files(named: Any, to: str, tmp_path: Path) -> None:
    """What the job writes is not part of its corpus, so the same call goes on."""
    corpus = rows(tmp_path / "corpus", ["low", "slow"])
    (corpus / "0.jsonl").write_bytes((corpus / "rows.jsonl").read_bytes())
    options: dict[str, Any] = {"to": to, "shard_size": 1, "sources": to == "parquet"}
    planned = toksmith.corpus.plan(TOK, named(corpus), corpus / "out", **options)
    toksmith.corpus.run_shard(planned.folder / "job.json", 0)
    again = toksmith.corpus.plan(TOK, named(corpus), corpus / "out", **options)
    assert (again.missing(), again.files) == ([1, 2, 3], 2)
    done = again.run(progress=False)
    assert done is not None and done.documents == 4
    assert toksmith.corpus.plan(TOK, named(corpus), corpus / "out", force=True, **options).files == 2


def test_a_new_job_refuses_a_folder_with_its_corpus(tmp_path: Path) -> None:
    corpus = rows(tmp_path / "corpus", ["low"])
    before = content(corpus)
    with pytest.raises(InvalidOption, match=r"folder.*rows\.jsonl"):
        toksmith.corpus.plan(TOK, corpus, corpus)
    assert content(corpus) == before


def test_a_job_that_another_process_plans_meanwhile_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It plans and makes a shard after this process has looked for a plan, and before it looks for files."""
    corpus = rows(tmp_path / "corpus", ["low", "slow"])
    options: dict[str, Any] = {"to": "parquet", "shard_size": 1}
    real = draft.corpus_sources

    def late(*given: Any) -> Any:
        monkeypatch.setattr(draft, "corpus_sources", real)
        toksmith.corpus.plan(TOK, corpus, corpus / "out", **options)
        toksmith.corpus.run_shard(corpus / "out" / "job.json", 0)
        return real(*given)

    monkeypatch.setattr(draft, "corpus_sources", late)
    assert toksmith.corpus.plan(TOK, corpus, corpus / "out", **options).missing() == [1]


def test_two_processes_may_create_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another makes `receipts/` after this one has looked for it."""
    planned = toksmith.corpus.plan(TOK, rows(tmp_path / "in", ["low"]), tmp_path / "out")
    real = os.mkdir

    def late(path: Any) -> None:
        real(path)
        real(path)

    monkeypatch.setattr(os, "mkdir", late)
    assert planned.run(progress=False) is not None


# JSON from anywhere

WRONG_RECEIPTS: list[tuple[str, Any]] = [
    ("files", [[5, 1, "x"]]),
    ("files", [["a", float("inf"), "x"]]),
    ("files", [["a", -1, "x"]]),
    ("files", [["a\0", 1, "x"]]),
    ("files", [["a", 1, None]]),
    ("files", 5),
    ("documents", "many"),
    ("ids", 0.5),
    ("special_tokens", {"a": "b"}),
    ("text_sha256", None),
]


@pytest.mark.parametrize(("name", "value"), WRONG_RECEIPTS)
def test_receipts_of_wrong_types_are_refused(name: str, value: Any, tmp_path: Path) -> None:
    planned = toksmith.corpus.plan(TOK, rows(tmp_path / "in", ["low"]), tmp_path / "out")
    planned.run(part="0/1", progress=False)
    path = planned.folder / "receipts" / "00000.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    with pytest.raises(JobError, match=r"receipts/00000\.json is not a receipt: .*delete it"):
        planned.missing()


# verify


def test_documents_without_ids_are_verified(tmp_path: Path) -> None:
    planned = toksmith.corpus.plan(TOK, rows(tmp_path / "in", ["", ""]), tmp_path / "out", to="megatron")
    done = planned.run(progress=False)
    assert done is not None and (done.documents, done.files) == (2, ())
    found = toksmith.corpus.verify(planned.folder, decode=True, source=True)
    assert found.ok, str(found)


@needs("links")
@pytest.mark.parametrize("name", ["receipts", "quarantine", "sources", "parts", "buckets"])
def test_a_folder_that_became_a_link_is_refused(name: str, tmp_path: Path) -> None:
    """Nothing is written through it."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"text": "low"}\nno JSON\n')
    options: dict[str, Any] = {"errors": "quarantine", "sources": True, "to": "nanogpt" if name == "parts" else "npy"}
    planned = toksmith.corpus.plan(TOK, path, tmp_path / "out", shuffle=3 if name == "buckets" else None, **options)
    (tmp_path / "mine").mkdir()
    (planned.folder / name).symlink_to(tmp_path / "mine")
    with pytest.raises(JobError, match=f"{name} is a link, and the job needs a folder of its own.* move {name} away"):
        planned.run(progress=False)
    assert not list((tmp_path / "mine").iterdir())
    (planned.folder / name).unlink()
    assert planned.run(progress=False) is not None


def test_files_are_compared_without_the_planned_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(plan, "_core", SimpleNamespace(__version__="9.9"))
        planned = toksmith.corpus.plan(TOK, rows(tmp_path / "in", ["low"]), tmp_path / "out")
        planned.run(progress=False)
    assert toksmith.corpus.verify(planned.folder).ok
    for way in ({"decode": True}, {"source": True}):
        with pytest.raises(JobError, match="planned with toksmith 9"):
            toksmith.corpus.verify(planned.folder, **way)


def unreadable(path: Path) -> None:
    """Puts a folder where the file was."""
    path.unlink()
    path.mkdir()


BROKEN: list[tuple[Callable[[Path], object], str]] = [
    (unreadable, r"manifest\.json cannot be read: it is a folder"),
    (lambda path: path.write_bytes(b""), r"manifest\.json is not a manifest: "),
    (lambda path: path.write_bytes(path.read_bytes()[:-9]), r"manifest\.json is not a manifest: "),
    (lambda path: path.write_bytes(b"\xff{}"), r"manifest\.json is not a manifest: "),
    (lambda path: path.write_bytes(b"[" * 100_000), r"manifest\.json is not a manifest: "),
    (lambda path: path.write_text("{}"), r"manifest\.json is not a manifest: it has no 'toksmith_manifest'"),
]


@pytest.mark.parametrize(("damage", "said"), BROKEN)
def test_a_manifest_that_cannot_be_read_is_named(damage: Callable[[Path], object], said: str, tmp_path: Path) -> None:
    planned = toksmith.corpus.plan(TOK, rows(tmp_path / "in", ["low"]), tmp_path / "out")
    planned.run(progress=False)
    damage(planned.folder / "manifest.json")
    found = toksmith.corpus.verify(planned.folder, decode=True)
    assert [each.file for each in found.differences] == ["manifest.json"] and found.decoded == 0
    assert re.search(said.replace(" ", ": ", 1), str(found))
    asked: list[Callable[[], object]] = [
        planned.status,
        lambda: toksmith.corpus.show(planned.folder),
        lambda: toksmith.corpus.merge([planned.folder], tmp_path / "all"),
    ]
    for ask in asked:
        with pytest.raises(JobError, match=said) as raised:
            ask()
        assert str(planned.folder) in str(raised.value)
    assert not (tmp_path / "all").exists()
    for command in ("status", "show", "verify"):
        shell = CliRunner().invoke(app, ["corpus", command, str(planned.folder)])
        assert shell.exit_code == (3 if command == "verify" else 1)
        assert "manifest.json" in (shell.stdout if command == "verify" else shell.stderr)


# Files that change between a shard and the end


@pytest.mark.parametrize("to", ["nanogpt", "llmc"])
def test_a_part_of_other_content_ends_the_job(to: str, tmp_path: Path) -> None:
    planned = job(tmp_path, to=to)
    planned.run(part="0/1", progress=False)
    path = planned.folder / "parts" / "00001.ids"
    path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(JobError, match=r"parts/00001\.ids has changed since .* delete it"):
        planned.finish()
    assert not planned.finished and not (planned.folder / "manifest.json").exists()
    path.unlink()
    assert planned.run(progress=False) is not None
    assert toksmith.corpus.verify(planned.folder, source=True).ok


# Rows


@pytest.mark.parametrize("to", ["parquet", "hf"])
def test_names_with_half_a_character_are_replaced(to: str, tmp_path: Path) -> None:
    """JSON may name half of a pair of UTF-16, which no file of UTF-8 can hold."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text(
        '{"text": "low", "id": "a\\ud800b"}\n{"text": "low", "id": "\\ud83d\\ude00"}\n'
    )
    options: dict[str, Any] = {"to": to, "id_field": "id", "sources": True}
    done = toksmith.corpus.plan(TOK, tmp_path / "in", tmp_path / "out", **options).run(progress=False)
    assert done is not None and done.documents == 2
    (path,) = (tmp_path / "out" / "sources").iterdir()
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == ["a?b", "\U0001f600"]


@pytest.mark.slow
@pytest.mark.parametrize("to", ["parquet", "hf"])
def test_a_job_that_stops_closes_its_writers(to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some rows are written, then one is bad: what writes the file is closed before the file."""
    path = rows(tmp_path / "in", ["low"] * 9) / "rows.jsonl"
    path.write_bytes(path.read_bytes() + b"not JSON\n")
    ignored: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda found: ignored.append(str(found.exc_value)))
    monkeypatch.setattr(encode_shard, "BYTES_IN_A_BATCH", 1)
    with pytest.raises(toksmith.errors.CorpusError, match="does not begin with"):
        toksmith.corpus.plan(TOK, path, tmp_path / "out", to=to).run(progress=False)
    gc.collect()
    assert ignored == [] and not list((tmp_path / "out").glob("*.tmp"))


# Processes

STOPPED = """
import os, sys, toksmith
from pathlib import Path
from toksmith._jobs import written as _written

folder, real = Path(sys.argv[1]), toksmith.corpus.run_shard

def stopping(job, number, *, threads=None, max_memory=None):
    if number == 0:  # fails when shard 1 has written its files, which have no names yet
        (folder / "pipe").read_bytes()
        raise toksmith.errors.CorpusError("here", None, f"{len(list((folder / 'out').glob('*.tmp')))} are there")
    def place(files):
        (folder / "pipe").write_bytes(b"x")
        while True:
            os.sched_yield()
    _written.ShardFiles.place = place
    return real(job, number, threads=threads)

toksmith.corpus.run_shard = stopping
if __name__ == "__main__":
    try:
        toksmith.corpus.Job.at(folder / "out").run(workers=2, progress=False)
    except toksmith.errors.CorpusError as error:
        print(error.problem)
"""


@pytest.mark.slow
@needs("proc", "pipes")
def test_processes_that_are_ended_leave_no_files(tmp_path: Path) -> None:
    planned = toksmith.corpus.plan(TOK, rows(tmp_path / "in", ["low", "slow"]), tmp_path / "out", shard_size=1)
    (tmp_path / "script.py").write_text(STOPPED)
    os.mkfifo(tmp_path / "pipe")
    command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert (done.stdout, done.stderr) == ("2 are there\n", "")
    assert not list(planned.folder.rglob("*.tmp"))


# Processors


def machine(folder: Path, group: str, quotas: dict[str, str]) -> str:
    """A folder as the root of a machine: a process in a group, and files `cpu.max` of groups."""
    (folder / "proc" / "self").mkdir(parents=True)
    (folder / "proc" / "self" / "cgroup").write_text(f"12:memory:/old\n0::{group}\n")
    for name, quota in quotas.items():
        place = folder / "sys" / "fs" / "cgroup" / name
        place.mkdir(parents=True, exist_ok=True)
        (place / "cpu.max").write_text(quota)
    return str(folder)


@pytest.mark.parametrize(
    ("group", "quotas", "asked", "expected"),
    [
        ("/", {}, None, 16),
        ("/a/b", {"a/b": "max 100000\n", "a": "max 100000\n"}, None, 16),
        ("/a/b", {"a/b": "150000 100000\n"}, None, 2),
        ("/a/b", {"a/b": "max 100000\n", "a": "300000 100000\n"}, None, 3),
        ("/a/b", {"a/b": "1000 100000\n"}, None, 1),
        ("/a/b", {"a/b": "500000 100000\n", "c": "100000 100000\n"}, None, 5),
        ("/", {".": "700000 100000\n"}, None, 7),
        ("/../x", {".": "700000 100000\n"}, None, 7),
        ("/a", {"a": "x y z\n"}, None, 16),
        ("/a", {"a": "100000 0\n"}, None, 16),
        ("/a", {"a": "500000 100000\n"}, "4", 4),
        ("/a", {"a": "500000 100000\n"}, "6", 5),
        ("/a", {}, "0", 16),
        ("/a", {}, "-3", 16),
        ("/a", {}, "8(x2)", 16),
        ("/a", {}, "99", 16),
    ],
)
def test_processors_are_limited_by_group_and_scheduler(
    group: str,
    quotas: dict[str, str],
    asked: str | None,
    expected: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(16)), raising=False)
    monkeypatch.delenv("SLURM_CPUS_PER_TASK", raising=False)
    if asked is not None:
        monkeypatch.setenv("SLURM_CPUS_PER_TASK", asked)
    assert threads.processor_count(machine(tmp_path, group, quotas)) == expected


def test_a_machine_without_groups_has_its_processors(tmp_path: Path) -> None:
    assert threads.processor_count(str(tmp_path)) >= 1
    assert threads.thread_count(None) == threads.processor_count() >= 1
    assert threads.thread_count(3) == 3
