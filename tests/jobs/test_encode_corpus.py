"""A corpus as one file of ids: its contents, and that it is written whole or not at all."""

import errno
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from processors import LIMIT_S, has_ended, left_s, new_words, processor_s_of, until
from systems import WINDOWS, needs

import toksmith
from toksmith import Tokenizer
from toksmith._corpus import Document, blocks, iter_unread
from toksmith._jobs import one_file
from toksmith._jobs.written import HEADER_BYTES, npy_header
from toksmith.errors import CorpusError, FormatError, InvalidOption, SpecialTokenInText, UnknownName

END = "<|end|>"
ROWS = ["low lower", "", "naïve ☀ text", "low" * 50, "\n\n", "last"]


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train("low lower lowest slow slower slowest", 270, special_tokens=[END, "<|stop|>"])


def wide(size: int) -> Tokenizer:
    """A tokenizer whose largest id is `size` - 1, by a special token there."""
    base = toksmith.train("low", merges=1)
    folder = Path(os.environ["TOKSMITH_CACHE"])
    path = folder / f"wide-{size}.tiktoken"
    base.save(path, allow_loss=("splitters",))
    return toksmith.load(path, pattern="o200k", special_tokens={END: size - 1})


def by_hand(tok: Tokenizer, texts: list[Any], append: list[int]) -> tuple[list[int], list[int]]:
    ids: list[int] = []
    ends = []
    for text in texts:
        ids += tok.encode(text, special="text") + append
        ends.append(len(ids))
    return ids, ends


def written(found: toksmith.corpus.EncodedCorpus) -> tuple[list[int], list[int]]:
    """The contents of the files, after comparing them with the summary."""
    ids, ends = np.load(found.path), np.load(found.ends_path)
    assert (ids.dtype.name, ends.dtype.name) == (found.dtype, "uint64")
    assert (len(ids), len(ends)) == (found.ids, found.documents)
    assert {path.name for path in found.path.parent.glob("*.npy*")} == {found.path.name, found.ends_path.name}
    return ids.tolist(), ends.tolist()


@pytest.mark.parametrize("append", [None, END])
def test_files_equal_an_encoding_in_memory(
    append: str | None, tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = [] if append is None else [tok.special_tokens[append]]
    (tmp_path / "a.txt").write_bytes(b"one \xff document\n" * 10_000)
    (tmp_path / "b.jsonl").write_text("\n".join(json.dumps({"body": row}) for row in ROWS) + "\n\n", encoding="utf-8")
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress(b'{"body": "packed"}\n'))
    (tmp_path / "d.txt.gz").write_bytes(gzip.compress(b"packed, whole"))
    (tmp_path / "e.txt").write_bytes(b"")
    corpus = [
        "in memory",
        toksmith.files(str(tmp_path / "*.*"), field="body"),
        io.BytesIO(b"an open file"),
        tmp_path / "e.txt",
        b"\xfe",
    ]
    texts = ["in memory", b"one \xff document\n" * 10_000, *ROWS, "packed", b"packed, whole", b"", b"an open file"]
    expected = by_hand(tok, [*texts, b"", b"\xfe"], last)
    out = tmp_path / "out"
    out.mkdir()
    for batch, block, threads in ((1 << 22, 1 << 26, None), (1, 1000, 1), (20, 1 << 17, 3)):
        monkeypatch.setattr(blocks, "BLOCK_BYTES", batch)
        monkeypatch.setattr(one_file, "BYTES_IN_A_BLOCK", block)
        corpus[2] = io.BytesIO(b"an open file")
        found = toksmith.corpus.encode(tok, corpus, out / "ids.npy", append=append, threads=threads, special="text")
        assert written(found) == expected
        assert (found.path, found.ends_path) == (out / "ids.npy", out / "ids.ends.npy")


def test_an_open_file_is_read_before_the_next_is_requested(tok: Tokenizer, tmp_path: Path) -> None:
    """The caller may close it then, as `tarfile` and a `with` in a generator do."""

    def opened() -> Iterator[Any]:
        for text in ("low", "lower"):
            (tmp_path / "a.txt").write_text(text, encoding="utf-8")
            with (tmp_path / "a.txt").open("rb") as file:
                yield file
        yield "slow"

    for threads in (1, 4):
        found = toksmith.corpus.encode(tok, opened(), tmp_path / "ids.npy", threads=threads)
        assert written(found) == by_hand(tok, ["low", "lower", "slow"], [])
    assert dict(toksmith.corpus.count(opened(), threads=4).items()) == dict(
        toksmith.corpus.count(["low", "lower", "slow"]).items()
    )


@pytest.mark.slow
def test_an_empty_corpus_gives_empty_files(tok: Tokenizer, tmp_path: Path) -> None:
    assert written(toksmith.corpus.encode(tok, [], tmp_path / "ids.npy", append=END)) == ([], [])
    found = toksmith.corpus.encode(tok, ("" for _ in range(200_000)), tmp_path / "ids.npy")
    assert written(found) == ([], [0] * 200_000)


@pytest.mark.parametrize(
    ("size", "dtype", "name"),
    [
        (65_536, "auto", "uint16"),
        (65_536, "uint16", "uint16"),
        (65_536, "uint32", "uint32"),
        (65_537, "auto", "uint32"),
        (65_537, "uint32", "uint32"),
    ],
)
def test_the_type_of_ids_follows_the_largest_id(size: int, dtype: Any, name: str, tmp_path: Path) -> None:
    tok = wide(size)
    found = toksmith.corpus.encode(tok, ["low"], tmp_path / "ids.npy", append=END, dtype=dtype)
    assert found.dtype == name
    assert written(found)[0] == [*tok.encode("low"), size - 1]


def test_uint16_is_refused_where_an_id_does_not_fit(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="largest id is 65536, but uint16 ends at 65535"):
        toksmith.corpus.encode(wide(65_537), ["low"], tmp_path / "ids.npy", dtype="uint16")
    assert not list(tmp_path.iterdir())


def test_wrong_arguments_are_refused(tok: Tokenizer, tmp_path: Path) -> None:
    out = tmp_path / "ids.npy"
    with pytest.raises(InvalidOption, match="dtype"):
        toksmith.corpus.encode(tok, ["low"], out, dtype="int8")  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match=r"ends in \.npy"):
        toksmith.corpus.encode(tok, ["low"], tmp_path / "ids.bin")
    with pytest.raises(UnknownName, match=r"<\|ende\|>") as caught:
        toksmith.corpus.encode(tok, ["low"], out, append="<|ende|>")
    assert END in caught.value.matches
    with pytest.raises(UnknownName):
        toksmith.corpus.encode(tok, ["low"], out, append="low")  # a token, but no special one
    with pytest.raises(TypeError, match="document 1: expected str, bytes or a path, not int"):
        toksmith.corpus.encode(tok, ["low", 5], out)  # type: ignore[list-item]
    with pytest.raises(InvalidOption, match="threads"):
        toksmith.corpus.encode(tok, ["low"], out, threads=0)
    assert not list(tmp_path.iterdir())


def test_errors_name_the_file_and_the_document(tok: Tokenizer, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text("".join(json.dumps({"text": text}) + "\n" for text in ("low", "", f"low {END}")), encoding="utf-8")
    whole = tmp_path / "whole.txt"
    whole.write_text(f"low {END}", encoding="utf-8")
    stream = io.BytesIO(END.encode())
    for corpus, path, record in (
        (rows, rows, 2),
        (whole, whole, None),
        (["x", END], None, 1),
        (stream, "the open file", None),
    ):
        with pytest.raises(CorpusError, match="holds the special token") as caught:
            toksmith.corpus.encode(tok, corpus, tmp_path / "ids.npy")
        assert (caught.value.path, caught.value.record) == (path and str(path), record)
        assert isinstance(caught.value.__cause__, SpecialTokenInText)
    rows.write_bytes(b'{"text": "low"}\n{"body": "low"}\n')
    with pytest.raises(CorpusError, match=r"rows\.jsonl: document 1: has no text in the field 'text'"):
        toksmith.corpus.encode(tok, rows, tmp_path / "ids.npy")
    found = {path.name for path in tmp_path.iterdir()}
    assert found == {"rows.jsonl", "whole.txt"}


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.sampled_from([*ROWS, END, "é" * 30, "\ud800", None, 5]), max_size=12),
    blank=st.sampled_from(["\n", "\r\n", "\n \n"]),
    block=st.sampled_from([1, 40, 1 << 22]),
    threads=st.sampled_from([1, 3]),
)
def test_blocks_of_rows_equal_rows_one_by_one(
    rows: list[Any], blank: str, block: int, threads: int, tok: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The files, or the first error, are those of the documents one at a time."""
    folder = tmp_path_factory.mktemp("rows")
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": row}) + blank for row in rows), encoding="utf-8")
    ids, ends, problem = [], [], None
    record = None
    try:
        for part in iter_unread(path):
            assert isinstance(part, Document)
            record = part.record
            ids += tok.encode(part.text)
            ends.append(len(ids))
    except CorpusError as error:
        problem = (error.path, error.record)
    except SpecialTokenInText:
        problem = (str(path), record)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", block)
        try:
            found = toksmith.corpus.encode(tok, path, folder / "ids.npy", threads=threads)
        except CorpusError as error:
            assert (error.path, error.record) == problem
        else:
            assert (written(found), problem) == ((ids, ends), None)


def test_progress_reports_the_ids(tok: Tokenizer, tmp_path: Path) -> None:
    said: list[toksmith.types.Progress] = []
    found = toksmith.corpus.encode(tok, ["low"] * 9, tmp_path / "ids.npy", append=END, progress=said.append)
    assert (said[-1].phase, said[-1].done, said[-1].total) == ("encoding", found.ids, None)


# Whole or not at all


class Failing(io.BytesIO):
    """An open file that gives some text and then fails."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error, self.reads = error, 0

    def read(self, size: int | None = -1, /) -> bytes:
        self.reads += 1
        if self.reads > 2:
            raise self.error
        return b"some text " * 10_000


@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt(), MemoryError()])
def test_an_error_leaves_the_old_files(error: BaseException, tok: Tokenizer, tmp_path: Path) -> None:
    out = tmp_path / "ids.npy"
    for before in ({}, {"ids.npy": b"old", "ids.ends.npy": b"old ends"}):
        for name, data in before.items():
            (tmp_path / name).write_bytes(data)
        with pytest.raises(type(error)):
            toksmith.corpus.encode(tok, Failing(error), out)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert written(toksmith.corpus.encode(tok, ["new"], out)) == by_hand(tok, ["new"], [])


@pytest.mark.slow
@needs("limits")
def test_a_full_disk_leaves_nothing(tok: Tokenizer, tmp_path: Path) -> None:
    """No file of the process may pass 50,000 bytes, at which writing fails as on a full disk."""
    saved = tmp_path / "tok.toksmith"
    tok.save(saved)
    out = tmp_path / "out"
    out.mkdir()
    script = """
        import resource, signal, sys, toksmith
        tok = toksmith.load(sys.argv[1])
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        try:
            toksmith.corpus.encode(tok, ["some text"] * int(sys.argv[3]), sys.argv[2])
        except toksmith.errors.FormatError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(saved), str(out / "ids.npy")]
    for documents in ("100000", "5600"):  # too much for either file; too much for the ends only when they are flushed
        done = subprocess.run([*command, documents], capture_output=True, text=True, timeout=LIMIT_S, check=True)
        assert "cannot be written: File too large" in done.stdout or "ids.ends.npy" in done.stdout, done.stderr
        assert not list(out.iterdir())


def test_targets_that_cannot_be_written_are_named(tok: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"ids\.npy: cannot be written: there is no folder"):
        toksmith.corpus.encode(tok, ["low"], tmp_path / "missing" / "ids.npy")
    (tmp_path / "ids.npy").mkdir()
    with pytest.raises(FormatError, match="it is a folder"):
        toksmith.corpus.encode(tok, ["low"], tmp_path / "ids.npy")
    (tmp_path / "ids.npy").rmdir()
    (tmp_path / "ids.ends.npy").write_bytes(b"kept")
    (tmp_path / "ids.ends.npy").chmod(0o444)
    with pytest.raises(FormatError, match=r"ids\.ends\.npy: cannot be written: the file is read-only"):
        toksmith.corpus.encode(tok, ["low"], tmp_path / "ids.npy")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"ids.ends.npy": b"kept"}


@needs("links")
def test_a_link_is_followed(tok: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "real.npy").write_bytes(b"")
    (tmp_path / "ids.npy").symlink_to(tmp_path / "real.npy")
    toksmith.corpus.encode(tok, ["low"], tmp_path / "ids.npy")
    assert (tmp_path / "ids.npy").is_symlink()
    assert np.load(tmp_path / "real.npy").tolist() == tok.encode("low")


def test_the_header_keeps_its_length() -> None:
    for dtype in ("uint16", "uint32", "uint64"):
        for count in (0, 9, 10**6, 10**19):
            data = npy_header(np.dtype(dtype), count)
            assert len(data) == HEADER_BYTES and data.endswith(b"\n")


# The command


def command(tok: Tokenizer, folder: Path, *arguments: str | Path) -> list[str]:
    tok.save(folder / "tok.toksmith")
    given = [str(argument) for argument in arguments]
    code = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from toksmith._cli import main; main()"
    return [sys.executable, "-c", code, "encode", "-t", str(folder / "tok.toksmith"), *given]


def run(command: list[str], stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, input=stdin, capture_output=True, timeout=LIMIT_S, check=False)


@pytest.mark.slow
def test_the_command_writes_the_files_of_the_function(tok: Tokenizer, tmp_path: Path) -> None:
    rows = tmp_path / "[rows].jsonl"  # a name that is no glob
    rows.write_text("".join(json.dumps({"body": row}) + "\n" for row in ROWS), encoding="utf-8")
    out = tmp_path / "out"
    out.mkdir()
    options = ["--field", "body", "--append", END, "--dtype", "uint32", "-o", out / "ids.npy"]
    done = run(command(tok, tmp_path, rows, "-", *options), stdin=b"from stdin")
    assert (done.returncode, done.stderr) == (0, b"")
    expected = by_hand(tok, [*ROWS, "from stdin"], [tok.special_tokens[END]])
    ids, ends = np.load(out / "ids.npy"), np.load(out / "ids.ends.npy")
    assert (ids.dtype.name, ids.tolist(), ends.tolist()) == ("uint32", *expected)
    said = done.stdout.decode()
    assert said.startswith(f"{len(ids)} ids of 7 documents ")
    assert said.endswith(f"saved as {out / 'ids.npy'} (uint32), document ends as {out / 'ids.ends.npy'}\n")
    found = json.loads(run(command(tok, tmp_path, "-o", out / "ids.npy", "--json"), stdin=b"low").stdout)
    assert found == {
        "file": str(out / "ids.npy"),
        "ends_file": str(out / "ids.ends.npy"),
        "dtype": "uint16",
        "documents": 1,
        "ids": len(tok.encode("low")),
    }
    assert np.load(out / "ids.npy").tolist() == tok.encode("low")
    quiet = run(command(tok, tmp_path, "-o", out / "ids.npy", "-q"), stdin=b"low")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, b"", b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--dtype", "uint16"], 2, "requires -o"),
        (["-o", "ids.npy", "--append", "<|ende|>"], 2, "--append: there is no special token named '<|ende|>'"),
        (["-o", "ids.npy", "--dtype", "int8"], 2, "--dtype"),
        (["-o", "ids.txt"], 2, "ends in .npy"),
        (["-o", "ids.npy", "missing.txt"], 1, "missing.txt: No such file or directory"),
        (["-o", "missing/ids.npy"], 1, "there is no folder"),
        (["-o", "ids.npy"], 1, "the open file" if WINDOWS else "holds the special token"),
    ],
)
def test_the_command_refuses_wrong_options(
    arguments: list[str], code: int, said: str, tok: Tokenizer, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    given = command(tok, tmp_path, *arguments)
    done = subprocess.run(given, input=END.encode(), capture_output=True, timeout=LIMIT_S, check=False, cwd=out)
    assert (done.returncode, done.stdout) == (code, b"")
    assert said in done.stderr.decode()
    assert not list(out.iterdir())


@pytest.mark.slow
@needs("proc", "signals")
@pytest.mark.parametrize("sent", ["SIGINT", "SIGKILL"])
def test_a_command_that_is_stopped_leaves_no_file_of_that_name(sent: str, tok: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "huge.txt").write_bytes(new_words(300))
    out = tmp_path / "out"
    out.mkdir()
    (out / "ids.npy").write_bytes(b"old")
    given = command(tok, tmp_path, tmp_path / "huge.txt", "-o", out / "ids.npy")
    with subprocess.Popen(given, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        until(lambda: len(list(out.iterdir())) == 3 or has_ended(child), "the child writes")
        child.send_signal(signal.Signals[sent])
        took = left_s(child, processor_s_of(child))
        code = child.wait(timeout=LIMIT_S)
        assert child.stderr is not None
        said = child.stderr.read()
    assert took < 2  # of the processor; the whole file takes about 10
    assert (out / "ids.npy").read_bytes() == b"old"
    assert not (out / "ids.ends.npy").exists()
    if sent == "SIGINT":
        assert (code, said) == (130, b"toksmith: interrupted\n")
        assert [path.name for path in out.iterdir()] == ["ids.npy"]
    else:  # a file that is left has another name
        assert code == -signal.SIGKILL
        assert all(path.name == "ids.npy" or path.name.endswith(".tmp") for path in out.iterdir())
