"""Merging sorted files of counts: against a sum in Python, and with bad files among good ones."""

import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow
import pyarrow.parquet
import pytest

import toksmith
from toksmith import _core
from toksmith._training.counts import Position
from toksmith._training.counts import sorted as _sorted
from toksmith.corpus import PieceCounts
from toksmith.errors import FormatError

Run = dict[bytes, tuple[int, tuple[int, int]]]


def draw_run(draw: random.Random, size: int, document: int) -> Run:
    """At most `size` pieces, each with a count and a first position."""
    pieces = sorted({bytes(draw.choices(b"ab \xe2\0", k=draw.randrange(1, 12))) for _ in range(size)})
    return {piece: (draw.randrange(1, 1 << 40), (document, draw.randrange(1 << 20))) for piece in pieces}


def counts_of_run(run: Run, document: int) -> PieceCounts:
    blob, ends = b"".join(run), itertools.accumulate(map(len, run))
    numbers = [ends, (row[0] for row in run.values()), *zip(*(row[1] for row in run.values()), strict=True)]
    columns = [np.fromiter(column, np.uint64) for column in [*numbers, (), ()][:4]]
    core = _core.CountedPieces.from_columns([], blob, columns, (1, (0, 0), (0, 0, 0)))
    return PieceCounts(core, (), ((Position(document, 0), Position(document + 1, 0)),))


@pytest.mark.parametrize("suffix", [".parquet", ".tsv"])
@pytest.mark.parametrize("sizes", [(0, 1, 30_000, 40, 40), (900, 900), (0,), (5000,), (1, 1, 1)])
def test_merged_runs_equal_a_sum_in_python(suffix: str, sizes: tuple[int, ...], tmp_path: Path) -> None:
    """Pieces in several runs, an empty run, and one that is far larger than the others; the latest run comes first."""
    draw, expected = random.Random(11), Run()
    for number, size in enumerate(sizes):
        run = draw_run(draw, size, number)
        counts_of_run(run, number).save(tmp_path / f"{9 - number}{suffix}")
        for piece, (count, place) in run.items():
            total, first = expected.get(piece, (0, place))
            expected[piece] = (total + count, min(first, place))
    paths = sorted(tmp_path.iterdir())
    loaded = PieceCounts.load_all(paths)
    assert dict(loaded.items()) == {piece: count for piece, (count, _) in expected.items()}
    assert loaded.has_positions == (suffix == ".parquet" or not expected)
    loaded.save(tmp_path / f"saved{suffix}")
    found = toksmith.corpus.merge_counts(paths, tmp_path / f"all{suffix}")
    assert (tmp_path / f"all{suffix}").read_bytes() == (tmp_path / f"saved{suffix}").read_bytes()
    assert (found.pieces, found.bytes, found.digest) == (len(loaded), loaded.bytes, loaded.digest)
    if suffix == ".parquet":
        table = arrow.parquet.read_table(tmp_path / "all.parquet")
        rows = zip(*(table.column(name).to_pylist() for name in ("piece", "count", "document", "byte")), strict=True)
        assert [(piece, (count, tuple(place))) for piece, count, *place in rows] == sorted(expected.items())
        firsts = [expected[piece][1] for piece, _ in loaded]
        assert firsts == sorted(firsts)


def with_value(table: Any, column: int, row: int, value: Any) -> Any:
    values = table.column(column).to_pylist()
    values[row] = value
    return table.set_column(column, table.field(column), arrow.array(values, table.field(column).type))


def bad_runs(good: bytes, table: Any) -> Iterator[tuple[bytes | Any, str]]:
    """Files that are cut, overwritten or wrong in a late row, each with what the error says."""
    yield from ((good[: len(good) * part // 7], "cannot be read") for part in range(7))
    yield good[:200] + b"\xff" * 200 + good[400:], "cannot be read"
    for row in (0, 17, len(table) - 1):
        before = table.column(0)[row - 1].as_py() if row else b""
        said = ("the piece is empty, or does", "the count is 0", "the number of the document is")
        for column, (bad, problem) in enumerate(zip((before, 0, 1 << 63), said, strict=True)):
            yield with_value(table, column, row, bad), f"row {row + 1}: {problem}"
        yield with_value(table, 1, row, None), "has nulls"


def test_a_bad_run_among_good_ones_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sorted, "ROWS_IN_A_BATCH", 10)
    paths = [tmp_path / f"{number}.parquet" for number in range(3)]
    for number, path in enumerate(paths):
        counts_of_run(draw_run(random.Random(number), 500, 0), 0).save(path)
    table = arrow.parquet.read_table(paths[1])
    for content_of_run, said in bad_runs(paths[1].read_bytes(), table):
        if isinstance(content_of_run, bytes):
            paths[1].write_bytes(content_of_run)
        else:
            arrow.parquet.write_table(content_of_run, paths[1])
        with pytest.raises(FormatError, match=rf"1\.parquet: ?{said}"):
            PieceCounts.load_all(paths, in_order=True)
        with pytest.raises(FormatError, match=rf"1\.parquet: ?{said}"):
            toksmith.corpus.merge_counts(paths, tmp_path / "all.parquet", in_order=True)
    assert not (tmp_path / "all.parquet").exists()
