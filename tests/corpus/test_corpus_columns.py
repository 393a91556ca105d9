"""The core's reader of rows against its slow twin (`TOKSMITH_SLOW=1`), and columns of Arrow, down to the files of a job."""

import gzip
import hashlib
import json
import random
import shutil
from pathlib import Path
from typing import Any

import job_corpus
import numpy as np
import pyarrow as arrow
import pyarrow.parquet
import pytest
from test_corpus_rows import READERS, REFUSED, TAKEN

import toksmith
from toksmith import Tokenizer, _core
from toksmith._corpus import File, blocks, parquet
from toksmith._corpus import columns as _columns
from toksmith._corpus.columns import TextColumn, columns_in
from toksmith._corpus.names import RowNames, name_in_row
from toksmith._jobs.make import encode_shard
from toksmith.errors import CorpusError

BLOCKS = (1, 7, 64, 1 << 22)
NAMES: dict[bytes, str | None] = {
    b'"a b"': "a b",
    rb'"\u00e9\n"': "é\n",
    rb'"\ud83d\ude00"': "😀",
    rb'"\ud800"': "?",
    b'""': "",
    b"7": "7",
    b"-7": "-7",
    b"-0": "0",
    b"18446744073709551615": "18446744073709551615",
    b"18446744073709551616": "18446744073709551616",
    b"1" + b"0" * 30: "1" + "0" * 30,
    b"7" * 9999: None,
    b"1.50": "1.5",
    b"1e3": "1000.0",
    b"1e999": "Infinity",
    b"NaN": "NaN",
    b"true": "true",
    b"null": None,
    b'[1, {"id": "b"}]': '[1, {"id": "b"}]',
    b"{}": "{}",
    b'"a", "id": "b"': "b",
    b'"a", "id": null': None,
    b'"a", "n": ' + b"7" * 9999: "a",
    b'"a", "n": ' + b"[" * 500 + b"]" * 500: "a",
    b'"a", "n": ' + b"[" * 100_000 + b"]" * 100_000: "a",
    b'7, "n": ' + b"[" * 100_000 + b"]" * 100_000: "7",
    b'7.0, "n": ' + b"[" * 100_000 + b"]" * 100_000: None,
}


def rows_with_names() -> bytes:
    return b"".join(b'{"id": %s, "text": "t"}\n' % value for value in NAMES) + b'{"text": "t"}\n'


def every_case() -> list[bytes]:
    return [case[0] for case in TAKEN.values()] + [case[0] for case in REFUSED.values()]


def facts(columns: list[TextColumn]) -> dict[str, list[Any]]:
    """Everything that columns hold, wherever they were cut."""
    found: dict[str, list[Any]] = {"rows": [], "bad": [], "digests": []}
    for column in columns:
        assert column.places is not None and column.names is not None and len(column.names) == len(column.texts)
        before = len(found["rows"])
        texts = map(column.texts.text, range(len(column.texts)))
        rows = zip(texts, column.records.tolist(), column.places.tolist(), column.names, strict=True)
        found["rows"] += rows
        found["bad"] += [row._replace(before=row.before + before) for row in column.bad]
        digests = column.texts.digests(2)
        found["digests"] += [digests[start : start + 32] for start in range(0, len(digests), 32)]
    return found


@pytest.mark.slow
@pytest.mark.parametrize("packed", [False, True])
def test_the_core_reads_rows_as_its_slow_twin(packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = every_case()
    hostile = [*every, b"\n".join(every), b"\r\n".join(every) + b"\n", rows_with_names()]
    hostile.append(b"\n\n" + b'{"id": 1, "text": "%s"}\n' % (b"x" * 600_000) * 3 + b"not JSON")
    path = tmp_path / ("rows.jsonl.gz" if packed else "rows.jsonl")
    for data in hostile:
        path.write_bytes(gzip.compress(data, 1) if packed else data)
        monkeypatch.setenv("TOKSMITH_SLOW", "1")
        slow = facts(list(columns_in(File(path, "text", "id"))))
        monkeypatch.setenv("TOKSMITH_SLOW", "0")
        for block in BLOCKS if len(data) < 1 << 16 else BLOCKS[-1:]:
            with monkeypatch.context() as patch:
                patch.setattr(blocks, "BLOCK_BYTES", block)
                assert facts(list(columns_in(File(path, "text", "id")))) == slow, data[:80]
        for _, record, byte, _ in slow["rows"]:
            assert data[:byte].count(b"\n") == record and (not byte or data[byte - 1 : byte] == b"\n")


def test_names_equal_those_of_pythons_json(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(rows_with_names())
    column, *_ = columns_in(File(tmp_path / "rows.jsonl", "text", "id"))
    assert column.names is not None and [*column.names] == [*NAMES.values(), None]
    for value, name in NAMES.items():
        assert name_in_row(b'{"id": %s, "text": "t"}\n' % value, "text", "id") == name
    column, *_ = columns_in(File(tmp_path / "rows.jsonl", "text", "text"))
    assert column.names is not None and {*column.names} == {"t"}
    column, *_ = columns_in(File(tmp_path / "rows.jsonl", "text"))
    assert column.names is None and column.texts.names is None


def test_names_behave_like_a_sequence() -> None:
    names = ["a", None, "", "é", None, "b"]
    found = RowNames.of(names)
    assert [*found] == names and [found[place] for place in range(-6, 6)] == names * 2
    assert [*found[1:4]] == names[1:4] and [*found[4:2]] == [] and [*found[::2]] == names[::2]
    assert [*found[2:5][1:]] == names[3:5]
    assert [*RowNames.joined([found[:2], RowNames.none(2), found[3:]])] == ["a", None, None, None, "é", None, "b"]
    assert [*found.kept(np.array([True, True, False, True, False, False]))] == ["a", None, "é"]
    assert [*RowNames.joined([])] == []
    with pytest.raises(IndexError):
        found[6]


def test_a_part_of_a_file_is_read_as_its_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [json.dumps({"text": "x" * number, "id": number}).encode() + b"\n" for number in range(40)]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(rows))
    starts = np.cumsum([0, *map(len, rows)]).tolist()
    for block in BLOCKS:
        monkeypatch.setattr(blocks, "BLOCK_BYTES", block)
        for first, last in ((0, 40), (3, 9), (39, 40), (5, 5)):
            file = File(path, "text", "id", (starts[first], starts[last]))
            found = facts(list(columns_in(file)))["rows"]
            assert [row[0] for row in found] == [b"x" * number for number in range(first, last)]
            assert [row[1:] for row in found] == [
                (number - first, starts[number], str(number)) for number in range(first, last)
            ]


# The files of a job

WAYS: list[dict[str, Any]] = [
    {"to": "npy"},
    {"to": "npy", "sources": True, "id_field": "id"},
    {"to": "megatron", "sources": True, "empty": "keep"},
    {"to": "megatron", "empty": "skip"},
    {"to": "parquet", "id_field": "id"},
    {"to": "hf", "id_field": "id", "special": "allow"},
    {"to": "datatrove", "special": "text"},
    {"to": "parquet", "pack": "best-fit", "length": 16},
    {"to": "npy", "shuffle": 3, "sources": True},
]


def hostile_corpus(folder: Path) -> Path:
    """Rows of every kind, among them texts with special tokens, in plain and packed files and in tables."""
    folder.mkdir()
    draw = random.Random(5)
    every = [data for data in every_case() if len(data) < 1000]
    every += [*rows_with_names().splitlines(), b'{"text": "low %s"}' % job_corpus.END.encode(), b'{"text": "low"}'] * 3
    for name, end in (("a.jsonl", b"\n"), ("b.jsonl.gz", b"\r\n")):
        draw.shuffle(every)
        data = end.join(every)
        (folder / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    for number in range(3):
        (folder / f"c{number}.txt").write_bytes(b"low \xff" * number)
    table = arrow.table({"text": ["a", None, "low low", f"x{job_corpus.END}", ""], "id": ["x", "y", None, "é", "w"]})
    arrow.parquet.write_table(table, folder / "d.parquet", row_group_size=2)
    with arrow.ipc.new_stream(str(folder / "e.arrow"), table.schema) as file:
        file.write_table(table.slice(0, 2))
        file.write_table(table.slice(2))
    return folder


@pytest.mark.parametrize("options", WAYS, ids=lambda options: "-".join(map(str, options.values())))
@pytest.mark.slow
@pytest.mark.parametrize(("size", "batch"), [(4000, 1 << 23), (1 << 20, 40)])
def test_a_job_writes_what_its_slow_twin_writes(
    size: int, batch: int, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = hostile_corpus(tmp_path / "in")
    options = {"append": job_corpus.END, "errors": "quarantine", "shard_size": size, **options}
    monkeypatch.setattr(encode_shard, "BYTES_IN_A_BATCH", batch)
    found = []
    for slow, block, threads in (("1", 1 << 22, 1), ("0", 1 << 22, 2), ("0", 64, 1)):
        monkeypatch.setenv("TOKSMITH_SLOW", slow)
        monkeypatch.setattr(blocks, "BLOCK_BYTES", block)
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        job = toksmith.corpus.plan(job_corpus.TOK, corpus, tmp_path / "out", **options)
        done = job.run(threads=threads, progress=False)
        assert done is not None and done.bad_rows > 60 and done.documents > 60
        found.append(job_corpus.content(tmp_path / "out"))
    assert found[0] == found[1] == found[2]


def test_bad_rows_are_left_out_in_one_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In each batch of texts, rows that are not read come before texts that are not encoded."""
    rows = [f"low {job_corpus.END}", None, "low", f"x {job_corpus.END}", None, "low"]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))
    for batch, order in ((1 << 23, [1, 4, 0, 3]), (1, [0, 1, 3, 4])):
        for block in (1, 1 << 22):
            monkeypatch.setattr(encode_shard, "BYTES_IN_A_BATCH", batch)
            monkeypatch.setattr(blocks, "BLOCK_BYTES", block)
            shutil.rmtree(tmp_path / "out", ignore_errors=True)
            job = toksmith.corpus.plan(job_corpus.TOK, path, tmp_path / "out", errors="quarantine")
            job.run(progress=False)
            kept = (tmp_path / "out" / "quarantine" / "00000.jsonl").read_text().splitlines()
            assert [json.loads(line)["record"] for line in kept] == order


@pytest.mark.parametrize("count", [0, 1, 5, 6, 7])
def test_batches_are_cut_where_one_at_a_time_fills_them(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encode_shard, "BYTES_IN_A_BATCH", 10)
    monkeypatch.setattr(encode_shard, "DOCUMENTS_IN_A_BATCH", 4)
    draw = random.Random(count)
    for _ in range(300):
        sizes = [draw.choice([0, 0, 1, 3, 9, 10, 11, 30]) for _ in range(draw.randrange(40))]
        expected, size, waiting = [], 0, 0
        for number, more in enumerate(sizes, 1):
            size, waiting = size + more, waiting + 1
            if size > 10 or waiting >= 4:
                expected.append(number)
                size = waiting = 0
        batch, found, at = encode_shard.Batch(), [], 0
        step = count or len(sizes) or 1
        for first in range(0, len(sizes), step):
            own = sizes[first : first + step]
            pieces = list(batch.pieces(np.array(own, np.uint64)))
            assert pieces[-1] == (len(own), False)
            found += [at + stop for stop, is_full in pieces if is_full]
            at += len(own)
        assert found == expected


# Arrow

TEXTS = ["a b", "", "é", "low", "low lower " * 9]
KINDS = {"stream": "rows.arrow", "file": "rows.arrow", "parquet": "rows.parquet"}


def write_table(path: Path, table: Any, kind: str, **options: Any) -> None:
    if kind == "parquet":
        arrow.parquet.write_table(table, path, **options)
        return
    new = arrow.ipc.new_stream if kind == "stream" else arrow.ipc.new_file
    with new(str(path), table.schema, options=arrow.ipc.IpcWriteOptions(**options)) as file:
        file.write_table(table, max_chunksize=max(2, len(table) // 4))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_tables_are_read_as_their_texts(kind: str, tmp_path: Path, tok: Tokenizer) -> None:
    types = (arrow.string(), arrow.large_string(), arrow.binary(), arrow.large_binary(), arrow.string_view())
    columns = [arrow.array(TEXTS, type) for type in types]
    columns += [arrow.array(TEXTS).dictionary_encode(), arrow.array(["x", *TEXTS, "y"])[1:-1]]
    columns.append(arrow.chunked_array([TEXTS[:1], TEXTS[1:]]))
    path = tmp_path / KINDS[kind]
    for column in columns:
        write_table(path, arrow.table({"n": range(len(TEXTS)), "text": column}), kind)
        for reader in READERS:
            assert reader(tok, path, tmp_path) == reader(tok, TEXTS, tmp_path), column.type
    for packed in ("lz4", "zstd"):
        write_table(path, arrow.table({"text": TEXTS}), kind, compression=packed)
        assert READERS[2](tok, path, tmp_path) == READERS[2](tok, TEXTS, tmp_path)


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train("low lower lowest slow", 270)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_reader_refuses_these_columns_alike(kind: str, tok: Tokenizer, tmp_path: Path) -> None:
    path, many = tmp_path / KINDS[kind], ["a"] * 10_000
    cases: tuple[tuple[Any, int | None, str], ...] = (
        (arrow.table({"text": ["a", "b", None, "c"]}), 2, "has no text in the column 'text'"),
        (arrow.table({"text": arrow.array(["a", None]).dictionary_encode()}), 1, "has no text in the column 'text'"),
        (arrow.table({"text": [*many, None]}), 10_000, "has no text in the column 'text'"),
        (arrow.table({"text": arrow.array([*many, None]).dictionary_encode()}), 10_000, "has no text in the column"),
        (arrow.table({"text": [1, 2]}), None, "holds int64 instead of texts"),
        (arrow.table({"text": [["a"]]}), None, "instead of texts"),
        (arrow.table({"text": arrow.nulls(2)}), None, "holds null instead of texts"),
        (arrow.table({"body": ["a"]}), None, "has no column 'text'"),
        (arrow.Table.from_arrays([arrow.array(["a"])] * 2, ["text"] * 2), None, "has several columns 'text'"),
    )
    for table, record, problem in cases:
        write_table(path, table, kind)
        for reader in READERS:
            with pytest.raises(CorpusError, match=problem) as caught:
                reader(tok, path, tmp_path)
            assert (caught.value.path, caught.value.record) == (str(path), record)
            assert "field=" in caught.value.problem


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stream", "file"])
def test_an_arrow_file_that_is_cut_is_refused(kind: str, tok: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "rows.arrow"
    write_table(path, arrow.table({"text": TEXTS}), kind)
    data = path.read_bytes()
    toksmith.corpus.encode(tok, path, tmp_path / "ids.npy")
    for cut in [*range(0, len(data), 7), len(data) - 8, len(data) - 1]:
        path.write_bytes(data[:cut])
        with pytest.raises(CorpusError, match=r"rows\.arrow: (cannot be read|has no column)"):
            toksmith.corpus.encode(tok, path, tmp_path / "ids.npy")
    if kind == "stream":
        path.write_bytes(data * 2)
        with pytest.raises(CorpusError, match="several are joined"):
            toksmith.corpus.encode(tok, path, tmp_path / "ids.npy")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["stream", "file"])
def test_damaged_arrow_files_are_texts_or_errors(kind: str, tok: Tokenizer, tmp_path: Path) -> None:
    """No byte of a file leads outside of the memory that it fills."""
    path = tmp_path / "rows.arrow"
    for column in (TEXTS, arrow.array(TEXTS).dictionary_encode(), arrow.array(TEXTS, arrow.string_view())):
        write_table(path, arrow.table({"text": column}), kind)
        data = path.read_bytes()
        draw = random.Random(6)
        for _ in range(60):
            damaged = bytearray(data)
            for _ in range(draw.choice([1, 1, 4])):
                damaged[draw.randrange(len(data))] = draw.choice([0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)])
            path.write_bytes(damaged)
            try:
                toksmith.corpus.encode(tok, path, tmp_path / "ids.npy")
            except CorpusError:
                continue


def test_an_offset_outside_of_the_texts_is_refused(tmp_path: Path) -> None:
    for offsets in ([0, 1, 2, 1 << 30], [0, 3, 1, 3], [-1, 1, 2, 3]):
        buffers = [None, arrow.py_buffer(np.array(offsets, np.int32)), arrow.py_buffer(b"abc")]
        with pytest.raises((OSError, arrow.ArrowInvalid)):
            parquet.check_memory(arrow.Array.from_buffers(arrow.string(), 3, buffers), arrow)


def test_names_in_columns_of_any_type_become_strings(tmp_path: Path) -> None:
    values: list[Any] = [["a", None, "é"], [1, None, -3], [1.5, None, 2.0], [True, None, False], [b"a", None, b"\xff"]]
    for each in values:
        arrow.parquet.write_table(arrow.table({"text": ["x", "y", "z"], "id": each}), tmp_path / "rows.parquet")
        (column,) = columns_in(File(tmp_path / "rows.parquet", "text", "id"))
        assert column.names is not None
        assert [*column.names] == [None if value is None else str(value) for value in each]
    for column in (
        arrow.array(["a", None, "a"]).dictionary_encode(),
        arrow.array(["a", None, "a"], arrow.string_view()),
    ):
        arrow.parquet.write_table(arrow.table({"text": ["x", "y", "z"], "id": column}), tmp_path / "rows.parquet")
        (found,) = columns_in(File(tmp_path / "rows.parquet", "text", "id"))
        assert found.names is not None and [*found.names] == ["a", None, "a"]


def test_digests_equal_those_of_hashlib() -> None:
    texts = [b"", b"abc", b"low " * 200_000]
    ends = np.cumsum([len(text) for text in texts], dtype=np.uint64)
    block = _core.TextBlock.from_values(b"".join(texts), ends)
    for threads in (1, 2):
        assert block.digests(threads) == b"".join(hashlib.sha256(text).digest() for text in texts)
    assert _core.TextBlock.from_values(b"", np.empty(0, np.uint64)).digests(1) == b""


@pytest.mark.parametrize(("errors", "made"), [("skip", 0), ("quarantine", 300)])
def test_bad_rows_become_objects_only_where_they_are_read(
    errors: Any, made: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block can have millions of bad rows, and most jobs only count them."""
    real, count = _columns.BadRow, 0

    def counted(*values: Any) -> Any:
        nonlocal count
        count += 1
        return real(*values)

    (tmp_path / "rows.jsonl").write_text('{"other": 1}\n{"text": "low"}\n0\n[]\n' * 100)
    tok = toksmith.train("low", 257, progress=False)
    job = toksmith.corpus.plan(tok, tmp_path / "rows.jsonl", tmp_path / "out", errors=errors)
    monkeypatch.setattr(_columns, "BadRow", counted)
    done = job.run(progress=False, threads=2)
    assert done is not None and (done.documents, done.bad_rows, count) == (100, 300, made)
