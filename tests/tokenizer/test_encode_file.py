"""Files, and long texts on many threads, have the ids of the same text in memory on one thread."""

import gzip
import io
import os
import random
import re
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest
from hard_texts import HARD_TEXTS
from processors import LIMIT_S, interrupt, new_words
from systems import needs, require

import toksmith
from toksmith import Tokenizer, reference
from toksmith._corpus import encode_files
from toksmith.errors import CorpusError, InvalidOption, SpecialTokenInText

REAL_TEXT = Path(reference.__file__).read_text(encoding="utf-8")
PARTS = [REAL_TEXT[at : at + 80] for at in range(0, len(REAL_TEXT), 80)] + [*HARD_TEXTS.values()]
LARGE = 3 << 20  # enough bytes for several threads and many parts


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train(REAL_TEXT, 500, special_tokens=["<|end|>", "<|stop|>"])


@pytest.fixture(scope="module")
def large() -> bytes:
    """Code, hard texts, special tokens, and invalid UTF-8, in the same order in every run."""
    draw = random.Random(3)
    buffer = io.BytesIO()
    while buffer.tell() < LARGE:
        buffer.write(draw.choice(PARTS).encode("utf-8", "surrogatepass"))
        buffer.write(draw.choice([b"", b"", b" ", b"\n\n", b"<|end|>", b"\xff\xe6", b"7", "。".encode()]))
    return buffer.getvalue()


@pytest.fixture
def file(tmp_path: Path, large: bytes) -> Path:
    path = tmp_path / "large.txt"
    path.write_bytes(large)
    return path


# One long text


@pytest.mark.slow
@pytest.mark.parametrize("pattern", [*toksmith.patterns(), None])
def test_threads_change_no_id_of_a_long_text(pattern: str | None, large: bytes) -> None:
    tok = toksmith.train("low lower lowest", merges=5, pattern=pattern, special_tokens=["<|end|>"])
    for text in (large, large.decode("utf-8", "replace")):
        one = tok.encode_array(text, special="allow", threads=1)
        for threads in (None, 3, 64):
            assert np.array_equal(tok.encode_array(text, special="allow", threads=threads), one)
    of_text = tok.encode_array(large, special="text", threads=1)
    assert tok.encode(large, special="text", threads=3) == of_text.tolist()
    assert tok.count(large) == len(of_text)


def test_threads_change_no_error_of_a_long_text(tok: Tokenizer) -> None:
    for text in ("é b " * 500_000 + "<|stop|>" + "é b " * 500_000 + "<|end|>", "<|end|>" + "a b" * 1_000_000):
        for form in (text, text.encode()):
            found = []
            for threads in (1, 2, 5):
                with pytest.raises(SpecialTokenInText) as caught:
                    tok.encode(form, threads=threads)
                found.append((caught.value.token, caught.value.offset, caught.value.index))
            where = re.search(rb"<\|\w+\|>" if isinstance(form, bytes) else r"<\|\w+\|>", form)  # type: ignore[call-overload]
            assert where is not None
            assert {(token, offset, index) for token, offset, index in found} == {(found[0][0], where.start(), None)}


@pytest.mark.parametrize("threads", [0, -1, 1 << 17])
def test_a_wrong_number_of_threads_is_refused(threads: int, tok: Tokenizer, tmp_path: Path) -> None:
    for call in (tok.encode, tok.encode_array, tok.encode_file):
        with pytest.raises(InvalidOption, match="threads"):
            call("text", threads=threads)


# Files


def by_hand(tok: Tokenizer, text: bytes, separator: bytes | None, special: str) -> tuple[list[int], list[int]]:
    """The ids and ends of a text's documents, by a plain implementation."""
    documents = [text] if separator is None else text.split(separator)
    if separator is not None and not documents[-1]:
        documents.pop()
    ids: list[int] = []
    ends = []
    for document in documents:
        ids += tok.encode(document, special=special, threads=1)
        ends.append(len(ids))
    return ids, ends


@pytest.mark.slow
@pytest.mark.parametrize("separator", [None, "\n", b"\n\n", "<|end|>", b"\xff", "not there", " a "])
def test_a_file_has_the_ids_of_its_documents(
    separator: str | bytes | None, tok: Tokenizer, file: Path, large: bytes
) -> None:
    between = separator.encode() if isinstance(separator, str) else separator
    for special in ("text", "allow"):
        ids, ends = by_hand(tok, large, between, special)
        for threads in (1, 3):
            found = tok.encode_file(file, separator=separator, special=special, threads=threads)
            assert (found.ids.dtype, found.ends.dtype) == (np.uint32, np.uint64)
            assert found.ends.tolist() == ends
            assert np.array_equal(found.ids, ids)


@pytest.mark.parametrize(
    ("text", "separator", "documents"),
    [
        (b"", None, [b""]),
        (b"", "|", []),
        (b"|", "|", [b""]),
        (b"||", "|", [b"", b""]),
        (b"a|b", "|", [b"a", b"b"]),
        (b"a|b|", "|", [b"a", b"b"]),
        (b"|a", "|", [b"", b"a"]),
        (b"a\n\n\nb", "\n\n", [b"a", b"\nb"]),  # found from left to right
        (b"aaa", "aa", [b"", b"a"]),
    ],
)
def test_documents_end_at_separators(
    text: bytes, separator: str | None, documents: list[bytes], tok: Tokenizer, tmp_path: Path
) -> None:
    path = tmp_path / "small.txt"
    path.write_bytes(text)
    found = tok.encode_file(path, separator=separator)
    assert [tok.decode_bytes(ids) for ids in found] == documents


@pytest.mark.slow
def test_patterns_without_known_cuts_encode_whole_documents(large: bytes, tmp_path: Path) -> None:
    file, large = tmp_path / "part.txt", large[:500_000]
    file.write_bytes(large)
    for pattern in (None, r"[^\n]+|\n", ["gpt2", r"\w+"]):
        other = toksmith.train("low lower lowest", merges=3, pattern=pattern)
        assert np.array_equal(other.encode_file(file).ids, other.encode_array(large, special="text", threads=1))
        ids, ends = by_hand(other, large, b"\n", "text")
        found = other.encode_file(file, separator="\n")
        assert (found.ids.tolist(), found.ends.tolist()) == (ids, ends)


def test_packed_files_and_pipes_have_the_same_ids(tok: Tokenizer, file: Path, large: bytes, tmp_path: Path) -> None:
    expected = tok.encode_file(file, separator="\n")
    packed = tmp_path / "large.txt.gz"
    packed.write_bytes(gzip.compress(large, 1))
    found = tok.encode_file(packed, separator="\n")
    assert np.array_equal(found.ids, expected.ids) and np.array_equal(found.ends, expected.ends)
    packed.write_bytes(packed.read_bytes()[:-50])
    with pytest.raises(CorpusError, match=r"large\.txt\.gz: cannot be read"):
        tok.encode_file(packed)
    require("descriptors")
    reading, writing = os.pipe()

    def write() -> None:
        with open(writing, "wb") as pipe:
            pipe.write(large)

    writer = threading.Thread(target=write)
    writer.start()
    found = tok.encode_file(f"/dev/fd/{reading}", separator="\n")
    writer.join()
    os.close(reading)
    assert np.array_equal(found.ids, expected.ids) and np.array_equal(found.ends, expected.ends)


@pytest.mark.slow
def test_blocks_of_any_size_give_the_same_ids(
    tok: Tokenizer, file: Path, large: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = tok.encode_file(file, separator="\n")

    def join_blocks(source: Path | io.BytesIO, limit: int) -> tuple[list[int], list[int]]:
        ids: list[int] = []
        ends: list[int] = []
        for some, some_ends in encode_files.iter_encoded_blocks(
            tok._engine, source, separator=b"\n", special="text", threads=2, limit=limit
        ):
            ends += (some_ends + np.uint64(len(ids))).tolist()
            ids += some.tolist()
        return ids, ends

    for size in (100_000, 1_000_000):
        monkeypatch.setattr(encode_files, "FED_AT_A_TIME", size)
        for source in (file, io.BytesIO(large)):
            assert join_blocks(source, size) == (expected.ids.tolist(), expected.ends.tolist())
    with pytest.raises(TypeError, match="binary mode"):
        join_blocks(io.StringIO("text"), 1)  # type: ignore[arg-type]


def test_errors_name_the_document_and_its_byte(tok: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "special.txt"
    path.write_bytes("é b ".encode() * 100_000 + b"\nc\n" + "é d".encode() * 200_000 + b"<|stop|>\n<|end|>")
    with pytest.raises(SpecialTokenInText) as caught:
        tok.encode_file(path, separator="\n", special="raise")
    assert (caught.value.token, caught.value.offset, caught.value.index) == ("<|stop|>", 800_000, 2)
    with pytest.raises(SpecialTokenInText) as caught:
        tok.encode_file(path, special=["<|end|>"])
    assert (caught.value.token, caught.value.offset, caught.value.index) == ("<|stop|>", 500_003 + 800_000, None)


def test_unreadable_files_are_named(tok: Tokenizer, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.txt", "nul\0"):
        with pytest.raises(CorpusError, match="cannot be read") as caught:
            tok.encode_file(path)
        assert caught.value.path == str(path)
    for separator in ("", b""):
        with pytest.raises(InvalidOption, match="separator"):
            tok.encode_file(tmp_path, separator=separator)


def test_a_file_that_shrinks_or_grows_is_an_error(tok: Tokenizer, file: Path, large: bytes) -> None:
    for change in (lambda: os.truncate(file, 1000), lambda: file.write_bytes(large + b"more")):
        file.write_bytes(large)
        found = encode_files.iter_encoded_blocks(tok._engine, file, special="text", threads=2, limit=1)
        next(found)
        change()
        with pytest.raises(CorpusError, match="changed while it was read"):
            list(found)


@pytest.mark.slow
@needs("proc", "limits")
def test_memory_does_not_grow_with_the_file(tok: Tokenizer, tmp_path: Path) -> None:
    """A file of 300 MB, one document, in a process with less memory; its ids are freed block by block."""
    path, saved = tmp_path / "huge.txt", tmp_path / "tok.toksmith"
    tok.save(saved)
    line = b"some text that is not short, with words and numbers 12345\n"
    with open(path, "wb") as out:
        out.writelines(line * (1_000_000 // len(line)) for _ in range(300))
    script = """
        import sys, toksmith
        from toksmith._corpus import encode_files as _encode_files

        def peak_kib():
            return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))

        tok = toksmith.load(sys.argv[1])
        tok.encode("warm up")
        before = peak_kib()
        found = _encode_files.iter_encoded_blocks(tok._engine, sys.argv[2], special="text", threads=2, limit=1 << 24)
        print(sum(len(ids) for ids, _ in found) > 10_000_000, peak_kib() - before)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(saved), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True)
    enough, grown_kib = done.stdout.split()
    assert enough == "True"
    assert int(grown_kib) < 200 * 1024  # three times the measured growth


# Threads, forks and Ctrl-C


def test_more_threads_than_cores_and_parts_change_no_id(
    tok: Tokenizer, file: Path, large: bytes, tmp_path: Path
) -> None:
    expected = tok.encode_array(large, special="text", threads=1)
    assert np.array_equal(tok.encode_file(file, threads=10_000).ids, expected)
    assert np.array_equal(tok.encode_array(large, special="text", threads=10_000), expected)
    small = tmp_path / "small.txt"
    small.write_text("low", encoding="utf-8")
    assert tok.encode_file(small, threads=1 << 16).ids.tolist() == tok.encode("low", threads=1 << 16)


@pytest.mark.slow
@needs("proc")
def test_ctrl_c_ends_a_call(tok: Tokenizer, tmp_path: Path) -> None:
    path, saved = tmp_path / "huge.txt", tmp_path / "tok.toksmith"
    tok.save(saved)
    path.write_bytes(new_words(300))
    script = """
        import pathlib, signal, sys, time, toksmith
        signal.signal(signal.SIGINT, signal.default_int_handler)
        tok, path = toksmith.load(sys.argv[1]), pathlib.Path(sys.argv[2])
        print("ready", flush=True)
        try:
            tok.encode_file(path)
        except KeyboardInterrupt:
            print(time.process_time())
            sys.exit(7)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(saved), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        before = interrupt(child)
        out, _ = child.communicate(timeout=LIMIT_S)
        assert child.returncode == 7
    assert float(out) - before < 1.5  # of the processor; the whole file takes about 10


def test_empty_and_generated_batches_and_empty_lines_are_encoded(tok: Tokenizer, tmp_path: Path) -> None:
    assert tok.encode_ragged([]).ends.tolist() == []
    assert tok.encode_ragged(text for text in ("low", "")).ends.tolist() == [len(tok.encode("low"))] * 2
    path = tmp_path / "lines.txt"
    path.write_bytes(b"\n" * 200_000)
    lines = tok.encode_file(path, separator="\n")
    assert (len(lines.ids), len(lines), int(lines.ends.max())) == (0, 200_000, 0)
