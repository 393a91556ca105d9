"""Callers cannot change memory that Rust reads without the GIL: docs/buffers.md against the source, and tests with threads."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_doctor import TOK, planted_rows, raw, safetensors

import toksmith
from toksmith import Tokenizer
from toksmith._graft import weights
from toksmith.errors import FormatError

ROOT = Path(__file__).resolve().parents[2]
BINDING = ROOT / "crates" / "py" / "src"


def test_every_place_that_takes_an_array_is_in_the_table() -> None:
    page = (ROOT / "docs" / "buffers.md").read_text(encoding="utf-8")
    found = set()
    for path in BINDING.glob("*.rs"):
        source = path.read_text(encoding="utf-8")
        for match in re.finditer(r"(?:fn|struct) (\w+)(?:<[^>]*>)?\s*[({]([^{}]*?)(?:\)|\})", source):
            if "PyReadonlyArray" in match[2] and "fn put_on" not in match[0]:
                found.add((path.name, match[1]))
    assert {("vocab.rs", "KindOptions"), ("counting.rs", "from_columns"), ("tables.rs", "dump_token_lines")} <= found
    for file, name in found:
        rows = [line for line in page.splitlines() if f"`{file}`" in line and f"`{name}`" in line]
        assert rows, (
            f"{name} of {file} reads an array; explain in docs/buffers.md why no caller can change it meanwhile"
        )
    unlocked = {
        path.name for path in BINDING.glob("*.rs") if re.search(r"py\.detach|\bcall\(", path.read_text("utf-8"))
    }
    for file in unlocked - {"call.rs", "batch.rs"}:
        assert f"`{file}`" in page, f"{file} releases the lock; list in docs/buffers.md what it reads then"


def test_no_file_is_mapped_into_memory() -> None:
    for path in (ROOT / "python" / "toksmith").rglob("*.py"):
        assert not re.search(r"\bmmap\b|\bmemmap\(|mmap_mode|memory_map=True", path.read_text(encoding="utf-8")), path
    for path in (ROOT / "crates").rglob("*.rs"):  # memory without a file is mapped for tables
        assert not re.search(r"Mmap::map|MmapOptions|map_mut\(|map_copy", path.read_text(encoding="utf-8")), path


@contextmanager
def writing(*writers: Any) -> Iterator[None]:
    """Threads that call these again and again until the block ends."""
    stop = threading.Event()

    def work(write: Any) -> None:
        while not stop.is_set():
            write()

    threads = [threading.Thread(target=work, args=[write]) for write in writers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train("low lower lowest slow slower slowest", 280)


@pytest.mark.slow
def test_ids_that_another_thread_writes_stay_in_range(tok: Tokenizer) -> None:
    """Each returned id is an old or a new one; none is out of range."""
    size = 50_000
    old, new = tok.token_id("low"), tok.token_id(" slow")
    pattern = re.compile("(?:low| slow)*")
    for dtype in (np.uint32, np.int64, np.uint16):
        ids = np.full(size, old, dtype)
        views = (ids, ids[::2], ids[::-1])
        with writing(lambda ids=ids: np.copyto(ids, new), lambda ids=ids: np.copyto(ids, old)):
            for _ in range(3):
                for view in views:
                    assert pattern.fullmatch(tok.decode(view))
                    assert pattern.fullmatch(tok.decode_bytes(view).decode())
                    assert all(map(pattern.fullmatch, tok.decode_batch([view] * 3, threads=2)))
                    assert pattern.fullmatch(tok.decoder().feed(view))
                    assert set(map(tok.token_bytes, np.unique(view).tolist())) <= {b"low", b" slow"}


@pytest.mark.slow
def test_lists_that_another_thread_changes_are_read_safely(tok: Tokenizer) -> None:
    texts = ["low lower " * 50] * 2000
    ids: list[Any] = tok.encode("low lower " * 5000)
    expected = tok.encode(texts[0])

    with writing(lambda: texts.append(texts.pop()), lambda: ids.append(ids.pop())):
        for _ in range(5):
            assert all(found == expected for found in tok.encode_batch(texts, threads=2))
            assert set(tok.count_batch(texts).tolist()) == {len(expected)}
            assert toksmith.corpus.count(texts, threads=2).documents in (1999, 2000)
            tok.decode(ids)


def test_writable_memory_is_refused_as_a_text(tok: Tokenizer) -> None:
    data = b"low lower"
    for text in (bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
        for call in (tok.encode, tok.count, tok.encode_with_offsets, tok.encode_array):
            with pytest.raises(TypeError):
                call(text)  # type: ignore[operator]
        with pytest.raises(TypeError):
            tok.encode_batch([text])  # type: ignore[list-item]
        with pytest.raises(TypeError):
            toksmith.corpus.count([text])  # type: ignore[list-item]


def test_a_file_of_embeddings_that_shrinks_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error, and not the end of the process."""
    rows = planted_rows(TOK.vocab_size)
    path = safetensors(tmp_path / "x.safetensors", {"anything": raw(rows, "F32")})
    monkeypatch.setattr(weights, "BLOCK_BYTES", 4 * rows.shape[1] * 10)
    matrix = weights.find_matrices(path, TOK.vocab_size)[0]
    whole = np.concatenate([block for _, block in matrix.blocks()])
    assert np.array_equal(whole, rows.astype(np.float32))
    some = np.array([0, 3, 9, 10, 57, len(rows) - 1])
    assert np.array_equal(matrix.rows(some), whole[some])
    blocks = matrix.blocks()
    next(blocks)
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size // 2)
    with pytest.raises(FormatError, match="anything: the file shrank while it was read"):
        list(blocks)
    path.unlink()
    with pytest.raises(FormatError, match="cannot be read"):
        list(matrix.blocks())
