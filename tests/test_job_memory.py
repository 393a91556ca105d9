"""How much of a corpus is in memory at once, and what a limit of memory changes and refuses."""

import gzip
import json
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from job_corpus import TOK, content

import toksmith
from toksmith import CorpusError, InvalidOption
from toksmith._cli import app
from toksmith._corpus import _blocks
from toksmith._corpus._ahead import VALUES_AHEAD, in_turn
from toksmith._folders import folder_at
from toksmith._shards import _documents, _run_shard
from toksmith._shards._room import BASE, LEAST_LONGEST, PER_BYTE, PER_THREAD, ShardRoom, room_of
from toksmith._shards._shuffle import TABLE, Bucket

ENOUGH = BASE + 2 * PER_THREAD + PER_BYTE * LEAST_LONGEST


def rows(path: Path, sizes: list[int]) -> Path:
    path.write_text("".join(json.dumps({"text": "x" * size}) + "\n" for size in sizes), encoding="utf-8")
    return path


class Alive:
    """How many of some objects are alive, and were at most."""

    def __init__(self) -> None:
        self.now = self.most = self.made = 0
        self._lock = threading.Lock()

    def watch(self, value: object) -> None:
        with self._lock:
            self.now, self.made = self.now + 1, self.made + 1
            self.most = max(self.most, self.now)
        weakref.finalize(value, self.end)

    def end(self) -> None:
        with self._lock:
            self.now -= 1


@pytest.mark.parametrize("files", [1, 6])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_few_blocks_are_in_flight(files: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The consumer is slower than the readers: it takes a block only when they have made all that they may."""
    blocks = Alive()
    made: type[Any] = _blocks.JsonRows

    def watched(*arguments: Any, **options: Any) -> Any:
        block = made(*arguments, **options)
        blocks.watch(block)
        return block

    for number in range(files):
        rows(tmp_path / f"{number}.jsonl", [90] * 200)
    monkeypatch.setattr(_blocks, "BLOCK_BYTES", 100)
    monkeypatch.setattr(_documents, "BLOCK_BYTES", 100)
    job = toksmith.plan(TOK, toksmith.files(tmp_path / "*.jsonl"), tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(_blocks, "JsonRows", watched)
        found = _documents.documents_of(job._plan, 0, ShardRoom(threads))
        count = sum(len(block.texts) for block in found)
    most = (min(threads, _documents.MOST_FILES_AHEAD) + 1) * (VALUES_AHEAD + 1) + 1
    assert count == files * 200 and blocks.made >= count and blocks.most <= most


def test_values_are_made_in_turn_and_few_ahead() -> None:
    made: list[int] = []
    lock = threading.Lock()

    def some(start: int) -> Iterator[int]:
        for value in range(start, start + 100):
            with lock:
                made.append(value)
            yield value

    for most in (0, 1, 3):
        made.clear()
        taken = []
        for value in in_turn(map(some, range(0, 1000, 100)), most):
            taken.append(value)
            with lock:
                assert len(made) - len(taken) <= (most + 1) * (VALUES_AHEAD + 1)
        assert taken == [*range(1000)]


def test_threads_fit_a_limit_of_memory() -> None:
    assert room_of(4, None) == ShardRoom(4)
    assert room_of(4, ENOUGH) == ShardRoom(2, LEAST_LONGEST)
    assert room_of(1, ENOUGH) == ShardRoom(1, LEAST_LONGEST + PER_THREAD // PER_BYTE)
    assert room_of(4, ENOUGH + 6_000_000, LEAST_LONGEST + 1_000_000) == ShardRoom(2, LEAST_LONGEST + 1_000_000)
    least = ENOUGH - PER_THREAD
    assert room_of(8, least) == ShardRoom(1, LEAST_LONGEST)
    with pytest.raises(InvalidOption, match=f"max_memory={least - 1} .*at least {least:,} bytes: 300 MB, 64 MB"):
        room_of(8, least - 1)


def big_text(folder: Path) -> Path:
    (folder / "big.txt").write_bytes(b"low " * 3_000_000)
    return folder / "big.txt"


def big_row_group(folder: Path) -> Path:
    values = np.random.default_rng(3).integers(0, 1 << 62, 6000)
    texts = [f"{value:x}" * 130 for value in values.tolist()]
    arrow.parquet.write_table(arrow.table({"text": texts}), folder / "big.parquet", use_dictionary=False)
    return folder / "big.parquet"


@pytest.mark.parametrize("made", [big_text, big_row_group])
def test_a_plan_that_does_not_fit_is_refused(made: Callable[[Path], Path], tmp_path: Path) -> None:
    path = made(tmp_path)
    with pytest.raises(InvalidOption, match=r"max_memory=.*at least [\d,]+ bytes: .* of 12,\d+,\d+ bytes in .*big\."):
        toksmith.plan(TOK, path, tmp_path / "out", max_memory=ENOUGH - PER_THREAD)
    assert not (tmp_path / "out").exists()
    job = toksmith.plan(TOK, path, tmp_path / "out")
    with pytest.raises(InvalidOption, match="max_memory"):
        job.run(max_memory=ENOUGH - PER_THREAD, progress=False)
    with pytest.raises(CorpusError, match=r"text.* has more than 4,194,304 bytes, the most that max_memory allows"):
        toksmith.run_shard(tmp_path / "out" / "job.json", 0, threads=1, max_memory=ENOUGH - PER_THREAD)
    assert toksmith.run_shard(tmp_path / "out" / "job.json", 0, max_memory=1 << 30).documents


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.zst", "text.txt.gz"])
def test_a_document_that_does_not_fit_ends_the_job(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    rows(path, [3, 5_000_000, 3])
    data = path.read_bytes()
    if name.endswith("gz"):
        path.write_bytes(gzip.compress(data, 1))
    if name.endswith("zst"):
        path.write_bytes(pytest.importorskip("zstandard").compress(data))
    job = toksmith.plan(TOK, path, tmp_path / "out", errors="skip", max_memory=ENOUGH)
    with pytest.raises(CorpusError, match=r"has more than 4,194,304 bytes, the most that max_memory allows with these"):
        job.run(threads=2, progress=False)
    assert not list(tmp_path.glob("out/*.npy"))
    # The limit is not in the plan: another one goes on.
    done = toksmith.plan(TOK, path, tmp_path / "out", errors="skip", max_memory=1 << 30).run(progress=False)
    assert done is not None and done.documents in (1, 3)


def test_a_limit_changes_no_byte(tmp_path: Path) -> None:
    path = rows(tmp_path / "rows.jsonl", [*range(50)])
    toksmith.plan(TOK, path, tmp_path / "out").run(progress=False)
    toksmith.plan(TOK, path, tmp_path / "limited", max_memory=ENOUGH).run(workers=2, progress=False)
    assert content(tmp_path / "out") == content(tmp_path / "limited")


def test_the_command_takes_a_limit(tmp_path: Path) -> None:
    path = rows(tmp_path / "rows.jsonl", [3, 5_000_000])
    TOK.save(tmp_path / "tok.toksmith")
    command = ["tokenize", str(path), "-t", str(tmp_path / "tok.toksmith"), "-o", str(tmp_path / "out"), "--quiet"]
    said = " ".join(CliRunner().invoke(app, [*command, "--max-memory", "100M"]).output.split())
    assert "--max-memory" in said and "at least" in said and "max_memory" not in said
    done = CliRunner().invoke(app, [*command, "--threads", "1", "--max-memory", str(ENOUGH - PER_THREAD)])
    said = " ".join(done.output.split())
    assert done.exit_code == 1 and "raise --max-memory" in said and "max_memory" not in said
    assert CliRunner().invoke(app, [*command, "--max-memory", "1G"]).exit_code == 0


def test_the_second_round_of_a_shuffle_keeps_only_its_own_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of the first round are read a few rows at a time, and only rows of the own range stay."""
    for number in range(8):
        rows(tmp_path / f"{number}.jsonl", [1] * 500)
    size = (tmp_path / "0.jsonl").stat().st_size
    job = toksmith.plan(TOK, toksmith.files(tmp_path / "*.jsonl"), tmp_path / "out", shuffle=3, shard_size=size)
    for number in range(8):
        toksmith.run_shard(tmp_path / "out" / "job.json", number)
    read: list[int] = []
    real = np.fromfile

    def counted(file: Any, dtype: Any, count: int = -1, **options: Any) -> Any:
        found = real(file, dtype, count, **options)
        read.append(len(found) if dtype == TABLE else 0)
        return found

    monkeypatch.setattr("toksmith._shards._shuffle.ROWS_AT_A_TIME", 50)
    monkeypatch.setattr(np, "fromfile", counted)
    documents = 0
    for number in range(8):
        bucket = Bucket(job._plan, folder_at(tmp_path / "out"), number)
        for part in range(8):
            table, ids = bucket._part(part)
            assert table.base is None or len(table.base) == len(table)
            documents += len(table)
            assert len(ids) == table["length"].sum()
    assert documents == 4000 and max(read) == 50
    assert _run_shard.run_shard(tmp_path / "out" / "job.json", 8).documents > 0
