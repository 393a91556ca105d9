"""Jobs of hostile or careless users: inputs that are cut, links to nothing, folders without permissions, streams without a reader.

Nothing is left out in silence, no command ends with 0 if its work is not done, and the right command goes on.
"""

import gzip
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from job_corpus import TOK, content, job
from processors import LIMIT_S
from systems import needs

import toksmith
from toksmith._cli import app
from toksmith.errors import CorpusError, FormatError, InvalidOption

ROWS = b"".join(b'{"text": "low lower %d"}\n' % number for number in range(2000))
TABLE = arrow.table({"text": [f"low lower {number}" for number in range(2000)]})
POSIX = needs("posix", "links")


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def said_by(done: Any) -> str:
    """The output on one line, without the frames of errors."""
    return " ".join(done.output.replace("│", " ").split())


def many(folder: Path, count: int = 40) -> Path:
    """A tokenizer, and a corpus of `count` files."""
    (folder / "in").mkdir()
    TOK.save(folder / "tok.toksmith")
    for number in range(count):
        (folder / "in" / f"{number:02}.jsonl").write_bytes(b'{"text": "low lower"}\n')
    return folder / "in"


# Inputs


def written_arrow(path: Path) -> None:
    with arrow.OSFile(str(path), "wb") as file, arrow.ipc.new_file(file, TABLE.schema) as writer:
        writer.write_table(TABLE)


def written_zst(path: Path) -> None:
    with arrow.CompressedOutputStream(arrow.OSFile(str(path), "wb"), "zstd") as file:
        file.write(ROWS)


WRITTEN: dict[str, Callable[[Path], Any]] = {
    "a.jsonl.gz": lambda path: path.write_bytes(gzip.compress(ROWS)),
    "a.txt.gz": lambda path: path.write_bytes(gzip.compress(ROWS)),
    "a.jsonl.zst": written_zst,
    "a.parquet": lambda path: arrow.parquet.write_table(TABLE, path, row_group_size=500),
    "a.arrow": written_arrow,
}


@pytest.mark.parametrize("errors", ["stop", "skip"])
@pytest.mark.parametrize("name", WRITTEN)
def test_a_file_that_is_cut_short_ends_the_job(name: str, errors: str, tmp_path: Path) -> None:
    """With any value of `errors`: the number of missing rows is unknown."""
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / name
    WRITTEN[name](path)
    whole = path.read_bytes()
    for cut in (len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(CorpusError) as caught:
            job(tmp_path, f"cut at {cut}", errors=errors).run(progress=False)
        assert caught.value.path == str(path)
        assert not (tmp_path / f"cut at {cut}" / "SHA256SUMS").exists()
    path.write_bytes(whole)
    assert job(tmp_path, "whole", errors=errors).run(progress=False) is not None


def test_empty_files_are_no_document_or_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(b"")
    done = job(tmp_path, "no rows").run(progress=False)
    assert done is not None and (done.shards, done.documents) == (0, 0)
    assert toksmith.corpus.verify(tmp_path / "no rows", decode=True, source=True).ok
    (tmp_path / "in" / "b.txt").write_bytes(b"")
    done = job(tmp_path, "an empty text").run(progress=False)
    assert done is not None and done.documents == 1
    for name in ("c.jsonl.zst", "d.parquet", "e.arrow"):
        (tmp_path / "in" / name).write_bytes(b"")
        with pytest.raises(CorpusError, match=name):
            job(tmp_path, name).run(progress=False)
        (tmp_path / "in" / name).unlink()


def test_counts_of_no_documents_are_not_merged_alone(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b"")
    toksmith.corpus.plan_counts(tmp_path / "in.jsonl", tmp_path / "none").run(progress=False)
    with pytest.raises(InvalidOption, match=r"none.*at least one file of counts; a job of no documents has none"):
        toksmith.corpus.merge_counts([tmp_path / "none"], tmp_path / "all.tsv")
    (tmp_path / "in.jsonl").write_bytes(b'{"text": "low"}\n')
    toksmith.corpus.plan_counts(tmp_path / "in.jsonl", tmp_path / "some").run(progress=False)
    assert toksmith.corpus.merge_counts([tmp_path / "none", tmp_path / "some"], tmp_path / "all.tsv").documents == 1


@POSIX
def test_a_link_to_nothing_is_an_error(tmp_path: Path) -> None:
    corpus = many(tmp_path, 1)
    (corpus / "b.jsonl").symlink_to("nowhere.jsonl")
    for call in (
        lambda: toksmith.corpus.plan(TOK, corpus, tmp_path / "out"),
        lambda: toksmith.corpus.count(corpus, progress=False),
    ):
        with pytest.raises(CorpusError, match=r"b\.jsonl: cannot be read"):
            call()
    (corpus / "nowhere.jsonl").write_bytes(b'{"text": "low"}\n')
    assert toksmith.corpus.plan(TOK, corpus, tmp_path / "out", dry_run=True).files == 3


def test_a_folder_that_cannot_be_read_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = many(tmp_path, 1)
    (corpus / "closed").mkdir()
    real = os.scandir

    def closed(path: Any) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(13, os.strerror(13), os.fspath(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", closed)
    with pytest.raises(CorpusError, match=r"cannot be read: .*Permission denied"):
        toksmith.corpus.plan(TOK, corpus, tmp_path / "out")


@POSIX
def test_files_left_out_of_a_folder_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    corpus = many(tmp_path, 1)
    (corpus / ".git").mkdir()
    for name in (".git/config", ".hidden"):
        (corpus / name).write_bytes(b"x")
    with caplog.at_level(logging.WARNING, "toksmith"):
        assert toksmith.corpus.plan(TOK, corpus, corpus / "out").files == 1
        assert toksmith.corpus.plan(TOK, corpus, corpus / "out").files == 1, (
            "the files of the job are no part of the corpus"
        )
        assert not caplog.messages
        (corpus / "linked").symlink_to(tmp_path)
        (corpus / "rows.jsonl.bz2").write_bytes(b"x")
        assert toksmith.corpus.plan(TOK, corpus, corpus / "out").files == 1
    (said,) = caplog.messages
    assert "left out of the corpus" in said and said.endswith(f": {corpus}/linked, {corpus}/rows.jsonl.bz2")


def test_standard_input_is_refused_as_a_corpus_of_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many(tmp_path, 1)
    monkeypatch.chdir(tmp_path)
    for command in (
        ["corpus", "tokenize", "-", "-t", "tok.toksmith", "-o", "out"],
        ["corpus", "count", "-", "-o", "out/"],
    ):
        done = run(*command)
        assert done.exit_code == 2 and "standard input" in said_by(done) and "BufferedReader" not in done.output


# Folders


@contextmanager
def another_user() -> Iterator[None]:
    """Root can write everywhere, so another user tries."""
    if is_root := os.geteuid() == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@POSIX
def test_a_folder_without_permissions_is_an_error(tmp_path: Path) -> None:
    many(tmp_path)
    toksmith.corpus.plan(TOK, tmp_path / "in", tmp_path / "before").run(progress=False)  # which imports what is needed
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        many(folder)
        planned = toksmith.corpus.plan(TOK, folder / "in", folder / "out")
        for path in (folder, folder / "in", folder / "out"):
            path.chmod(0o555)
        with another_user():
            with pytest.raises(FormatError, match=r"new.* cannot be written: Permission denied") as caught:
                toksmith.corpus.plan(TOK, folder / "in", folder / "new")
            with pytest.raises(FormatError, match=r"out.* cannot be written: Permission denied; the permissions"):
                planned.run(progress=False)
        assert "new" in caught.value.path and len(planned.missing()) == planned.shards
        for path in (folder, folder / "out"):
            path.chmod(0o755)
        assert planned.run(progress=False) is not None


@pytest.mark.slow
def test_processes_that_run_one_command_write_one_job(tmp_path: Path) -> None:
    corpus = many(tmp_path)
    toksmith.corpus.plan(TOK, corpus, tmp_path / "alone", shard_size=1).run(progress=False)
    command = [sys.executable, "-m", "toksmith", "corpus", "tokenize", str(corpus), "-o", str(tmp_path / "out")]
    command += ["-t", str(tmp_path / "tok.toksmith"), "--shard-size", "1", "--threads", "1"]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    for child in children:
        out, problem = child.communicate(timeout=LIMIT_S)
        assert child.returncode == 0 or b"this job is finished" in problem, problem
        assert child.returncode or b"40 documents in 40 shards" in out
    found, expected = (content(tmp_path / name) for name in ("out", "alone"))
    assert found == expected


# Commands


@pytest.mark.slow
@POSIX
def test_unread_events_end_the_job_with_1(tmp_path: Path) -> None:
    corpus = many(tmp_path)
    command = [sys.executable, "-m", "toksmith", "corpus", "tokenize", str(corpus), "-o", str(tmp_path / "out")]
    command += ["-t", str(tmp_path / "tok.toksmith"), "--shard-size", "1"]
    reader, writer = os.pipe()
    os.close(reader)
    outputs = [writer] + ([os.open("/dev/full", os.O_WRONLY)] if os.path.exists("/dev/full") else [])
    for output in outputs:
        ended = subprocess.run(
            [*command, "--json"], stdout=output, stderr=subprocess.PIPE, timeout=LIMIT_S, check=False
        )
        os.close(output)
        assert ended.returncode == 1 and b"the events cannot be printed: " in ended.stderr
        assert b"Exception ignored" not in ended.stderr and not toksmith.corpus.Job.at(tmp_path / "out").finished
    closed = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *command]
    assert subprocess.run(closed, timeout=LIMIT_S, check=False).returncode == 0
    assert toksmith.corpus.Job.at(tmp_path / "out").finished


ALONE = [["--dry-run"], ["--plan"], ["--force"], ["--part", "0/2"]]


@pytest.mark.parametrize("other", ALONE)
def test_finish_takes_no_other_step(other: list[str], tmp_path: Path) -> None:
    corpus = many(tmp_path, 1)
    toksmith.corpus.plan(TOK, corpus, tmp_path / "out").run(progress=False, part="0/1")
    done = run("corpus", "tokenize", "-o", tmp_path / "out", "--finish", *other)
    assert done.exit_code == 2 and f"it is not possible with {other[0]}" in said_by(done)
    assert not toksmith.corpus.Job.at(tmp_path / "out").finished


def test_finish_completes_only_the_job_that_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = many(tmp_path, 1)
    monkeypatch.chdir(tmp_path)
    toksmith.train("low", merges=1, progress=False).save("other.toksmith")
    toksmith.corpus.plan(TOK, corpus, tmp_path / "out").run(progress=False, part="0/1")
    done = run("corpus", "tokenize", "in", "-t", "other.toksmith", "-o", "out", "--finish")
    assert done.exit_code == 1 and "another job is planned here (other tokenizer)" in said_by(done)
    done = run("corpus", "tokenize", "-o", "out", "--finish", "--to", "parquet")
    assert done.exit_code == 2 and "--tokenizer" in said_by(done)
    assert not toksmith.corpus.Job.at("out").finished
    assert run("corpus", "tokenize", "in", "-t", "tok.toksmith", "-o", "out", "--finish").exit_code == 0
    done = run("corpus", "tokenize", "in", "-t", "tok.toksmith", "-o", "new", "--dry-run", "--plan")
    assert done.exit_code == 2 and "--dry-run" in said_by(done) and not Path("new").exists()


@pytest.mark.slow
def test_several_workers_and_parts_in_any_order(tmp_path: Path) -> None:
    """The same bytes as of one worker; `test_ray_cluster.py` has Ray's."""
    corpus = many(tmp_path, 9)
    toksmith.corpus.plan(TOK, corpus, tmp_path / "one", shard_size=1).run(progress=False)
    planned = toksmith.corpus.plan(TOK, corpus, tmp_path / "out", shard_size=1)
    for part in ("1/2", "0/2"):
        planned.run(part=part, workers=3, threads=1, progress=False)
    planned.finish()
    assert content(tmp_path / "out") == content(tmp_path / "one")
