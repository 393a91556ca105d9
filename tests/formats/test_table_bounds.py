"""Parquet and Arrow files that unpack to far more than they have: refused, or read a few rows at a time.

A process with at most 3 GB reads each file, and takes far less memory than the unpacked size.
"""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow
import pyarrow.parquet
import pytest
from test_bounded_reading import in_child

import toksmith
from toksmith._corpus import File
from toksmith._corpus.columns import columns_in
from toksmith.errors import CorpusError

MIB = 1 << 20
ROWS = 1_000
READ = (
    "sum(len(column.texts) for column in __import__('toksmith._corpus.columns', fromlist=['x']).columns_in("
    "toksmith._corpus.File(path, 'text', 'id'))) == {} or 1 / 0"
)


def write(path: Path, texts: Any, **options: Any) -> Path:
    """A file of one row group with these texts, and a number as the name of each."""
    ids = options.pop("ids", range(len(texts)))
    table = arrow.table({"text": texts, "id": ids}).combine_chunks()
    if path.suffix == ".parquet":
        options = {"compression": "zstd", "use_dictionary": False, "row_group_size": 1 << 26, **options}
        arrow.parquet.write_table(table, path, **options)
        return path
    new = options.pop("new", arrow.ipc.new_file)
    with new(str(path), table.schema, options=arrow.ipc.IpcWriteOptions(compression="zstd")) as file:
        file.write_table(table)
    return path


def zeros(rows: int, size: int) -> Any:
    return arrow.array([bytes(size)] * rows, arrow.large_binary())


def repeated(rows: int, size: int) -> Any:
    """One text in many rows, once in memory."""
    return arrow.DictionaryArray.from_arrays(np.zeros(rows, np.int32), arrow.array([b"x" * size]))


def views(rows: int, size: int) -> Any:
    """The same as views of one text."""
    view = np.frombuffer(struct.pack("<i4sii", size, b"xxxx", 0, 0), np.int32)
    buffers = [None, arrow.py_buffer(np.tile(view, rows)), arrow.py_buffer(b"x" * size)]
    return arrow.Array.from_buffers(arrow.string_view(), rows, buffers)


REFUSED: dict[str, Any] = {
    "a page": lambda folder: write(folder / "a.parquet", zeros(40, MIB)),
    "a dictionary": lambda folder: write(folder / "a.parquet", repeated(9, 40 * MIB), use_dictionary=True),
    "a page of names": lambda folder: write(folder / "a.parquet", ["low"] * 40, ids=zeros(40, MIB)),
    "a batch": lambda folder: write(folder / "a.arrow", zeros(40, MIB)),
    "a batch of a stream": lambda folder: write(folder / "a.arrow", zeros(40, MIB), new=arrow.ipc.new_stream),
    "a dictionary of a batch": lambda folder: write(folder / "a.arrow", repeated(9, 40 * MIB)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_a_part_of_a_table_unpacks_to_no_more_than_texts_would(name: str, tmp_path: Path) -> None:
    path = REFUSED[name](tmp_path)
    assert path.stat().st_size < MIB
    _, (error, said, megabytes) = in_child(
        path, "__import__('pyarrow.parquet')", READ.format(0), UNPACKED_FREE=16 * MIB
    )
    assert (error, megabytes < 30) == ("CorpusError", True), (error, said, megabytes)
    assert "unpacks to" in said and "expected at most" in said and "Write the file with" in said


WITHOUT_TYPE = {"use_dictionary": True, "store_schema": False}
BOUNDED: dict[str, Any] = {
    "a dictionary": lambda folder: write(folder / "a.parquet", repeated(ROWS, MIB), use_dictionary=True),
    "a dictionary of texts": lambda folder: write(folder / "a.parquet", repeated(ROWS, MIB), **WITHOUT_TYPE),
    "long texts after short ones": lambda folder: write(
        folder / "a.parquet",
        arrow.chunked_array([zeros(100_000, 0), zeros(ROWS, MIB)]).combine_chunks(),
        data_page_size=1,
        write_batch_size=16,
    ),
    "common beginnings": lambda folder: write(
        folder / "a.parquet", zeros(ROWS, MIB), column_encoding={"text": "DELTA_BYTE_ARRAY"}
    ),
    "wide names that are missing": lambda folder: write(
        folder / "a.parquet",
        ["low"] * ROWS,
        ids=arrow.DictionaryArray.from_arrays(
            arrow.nulls(ROWS, arrow.int32()), arrow.array([bytes(MIB)], arrow.binary(MIB))
        ),
        **WITHOUT_TYPE,
    ),
    "repeated names": lambda folder: write(folder / "a.arrow", ["low"] * ROWS, ids=repeated(ROWS, MIB)),
    "a dictionary of a batch": lambda folder: write(folder / "a.arrow", repeated(ROWS, MIB)),
    "views": lambda folder: write(folder / "a.arrow", views(ROWS, MIB)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BOUNDED)
def test_a_text_in_many_rows_is_in_memory_a_few_times(name: str, tmp_path: Path) -> None:
    path = BOUNDED[name](tmp_path)
    assert path.stat().st_size < 4 * MIB
    rows = arrow.parquet.read_metadata(path).num_rows if path.suffix == ".parquet" else ROWS
    _, (error, said, megabytes) = in_child(path, "__import__('pyarrow.parquet')", READ.format(rows))
    assert (error, megabytes < 400) == ("nothing", True), (error, said, megabytes)


@pytest.mark.slow
@pytest.mark.parametrize("use_dictionary", [True, False])
def test_a_large_row_group_is_read_in_little_memory(use_dictionary: bool, tmp_path: Path) -> None:
    letters = np.random.default_rng(1).integers(97, 123, 64 * MIB, np.uint8)
    letters[::6] = ord(" ")
    noise = letters.tobytes()
    texts = arrow.array([noise[at : at + 8_000] for at in range(0, len(noise), 8_000)] * 4)
    path = write(tmp_path / "a.parquet", texts, use_dictionary=use_dictionary)
    assert arrow.parquet.read_metadata(path).num_row_groups == 1
    _, (error, said, megabytes) = in_child(path, "__import__('pyarrow.parquet')", READ.format(len(texts)))
    assert (error, megabytes < 150) == ("nothing", True), (error, said, megabytes)


@pytest.mark.slow
def test_counts_unpack_to_no_more_than_pieces_would(tmp_path: Path) -> None:
    path = tmp_path / "counts.parquet"
    toksmith.corpus.count("low lower", pattern="gpt2").save(path)
    schema = arrow.parquet.read_schema(path)
    rows = {"piece": zeros(40, MIB), **{name: [1] * 40 for name in schema.names[1:]}}
    arrow.parquet.write_table(arrow.table(rows).cast(schema), path, compression="zstd", use_dictionary=False)
    calls = ("__import__('pyarrow.parquet')", "toksmith.corpus.PieceCounts.load(path)")
    _, (error, said, megabytes) = in_child(path, *calls, UNPACKED_FREE=16 * MIB)
    assert (error, megabytes < 30) == ("FormatError", True) and "unpacks to" in said, (error, said, megabytes)


@pytest.mark.parametrize("kind", [".parquet", ".arrow"])
def test_names_that_are_lists_are_refused(kind: str, tmp_path: Path) -> None:
    """A row may have any number of parts."""
    path = write(tmp_path / f"a{kind}", ["low"], ids=[["a", "b"]])
    with pytest.raises(CorpusError, match=r"the column 'id' holds list.* instead of names"):
        [*columns_in(File(path, "text", "id"))]


@pytest.mark.slow
def test_every_encoding_of_pages_is_read(tmp_path: Path) -> None:
    """No way to write pages is refused, and every text is read."""
    texts = ["low " * number for number in range(2_000)]
    for options in (
        {"data_page_version": "2.0"},
        {"compression": "snappy", "use_dictionary": True},
        {"compression": "none", "write_page_index": True, "write_statistics": True},
        {"column_encoding": {"text": "DELTA_LENGTH_BYTE_ARRAY", "id": "DELTA_BINARY_PACKED"}},
        {"data_page_size": 100, "write_batch_size": 1, "write_page_checksum": True},
    ):
        path = write(tmp_path / "a.parquet", texts, **options)
        found = [
            texts.text(at).decode()
            for each in columns_in(File(path, "text", "id"))
            for texts in [each.texts]
            for at in range(len(texts))
        ]
        assert found == texts, options
