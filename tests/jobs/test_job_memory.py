"""The memory that a job takes at once, and what a limit of memory changes and refuses."""

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
from toksmith._cli import app
from toksmith._corpus import blocks as _blocks
from toksmith._corpus.prefetch import VALUES_AHEAD, chain_prefetched
from toksmith._jobs.make import documents as _documents
from toksmith._jobs.make import run_shard
from toksmith._jobs.make import shuffle as _shuffle
from toksmith._jobs.make.shuffle import TABLE, Bucket
from toksmith._jobs.plans.plan import (
    BASE,
    HELD_PER_BYTE,
    LEAST_LONGEST,
    PER_BYTE,
    PER_THREAD,
    TABLE_PER_BYTE,
    WHOLE_PER_BYTE,
    WHOLE_PER_BYTE_OF,
    WorkerLimits,
    held_bytes,
    read_plan,
    worker_limits,
)
from toksmith._storage.folders import folder_at
from toksmith.errors import CorpusError, InvalidOption, JobError

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
    job = toksmith.corpus.plan(TOK, toksmith.files(tmp_path / "*.jsonl"), tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr(_blocks, "JsonRows", watched)
        found = _documents.documents_of(read_plan(job._folder), 0, WorkerLimits(threads))
        count = sum(len(block.read(1).texts) for block in found)
    most = (min(threads, _documents.MOST_FILES_AHEAD) + 1) * (VALUES_AHEAD + 1) + 1
    assert count == files * 200 and blocks.made >= count and blocks.most <= most


def test_values_are_taken_in_order_and_few_ahead() -> None:
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
        for value in chain_prefetched(map(some, range(0, 1000, 100)), most):
            taken.append(value)
            with lock:
                assert len(made) - len(taken) <= (most + 1) * (VALUES_AHEAD + 1)
        assert taken == [*range(1000)]


def test_threads_fit_a_limit_of_memory() -> None:
    assert worker_limits(4, None) == WorkerLimits(4)
    assert worker_limits(4, ENOUGH) == WorkerLimits(2, LEAST_LONGEST)
    assert worker_limits(1, ENOUGH) == WorkerLimits(1, LEAST_LONGEST + PER_THREAD // PER_BYTE)
    assert worker_limits(4, ENOUGH + PER_BYTE * 1_000_000, LEAST_LONGEST + 1_000_000) == WorkerLimits(
        2, LEAST_LONGEST + 1_000_000
    )
    least = ENOUGH - PER_THREAD
    assert worker_limits(8, least) == WorkerLimits(1, LEAST_LONGEST)
    assert worker_limits(1, ENOUGH + 600, held=300) == WorkerLimits(
        1, LEAST_LONGEST + (PER_THREAD + 300) // 2 // PER_BYTE, 300 + (PER_THREAD + 300) // 2
    )
    with pytest.raises(InvalidOption, match=f"max_memory={least - 1} .*at least {least:,} bytes: 300 MB, 64 MB"):
        worker_limits(8, least - 1)


def big_text(folder: Path) -> Path:
    (folder / "big.txt").write_bytes(b"low " * 3_000_000)
    return folder / "big.txt"


def big_row_group(folder: Path) -> Path:
    values = np.random.default_rng(3).integers(0, 1 << 62, 6000)
    texts = [f"{value:x}" * 130 for value in values.tolist()]
    arrow.parquet.write_table(arrow.table({"text": texts}), folder / "big.parquet", use_dictionary=False)
    return folder / "big.parquet"


@pytest.mark.parametrize("made, more", [(big_text, 0), (big_row_group, TABLE_PER_BYTE)])
def test_a_plan_that_does_not_fit_is_refused(made: Callable[[Path], Path], more: int, tmp_path: Path) -> None:
    path, room = made(tmp_path), ENOUGH - PER_THREAD + more * LEAST_LONGEST
    with pytest.raises(InvalidOption, match=r"max_memory=.*at least [\d,]+ bytes: .* of 12,\d+,\d+ bytes in .*big\."):
        toksmith.corpus.plan(TOK, path, tmp_path / "out", max_memory=room)
    assert not (tmp_path / "out").exists()
    job = toksmith.corpus.plan(TOK, path, tmp_path / "out")
    with pytest.raises(InvalidOption, match="max_memory"):
        job.run(max_memory=room, progress=False)
    with pytest.raises(CorpusError, match=r"text.* has more than 4,194,304 bytes, the most that max_memory allows"):
        toksmith.corpus.run_shard(tmp_path / "out" / "job.json", 0, threads=1, max_memory=room)
    for part in ("0/1", "claim"):  # a part reads its slice of the plan, so its shards refuse
        with pytest.raises(CorpusError, match=r"has more than 4,194,304 bytes, the most that max_memory allows"):
            toksmith.corpus.Job.at(tmp_path / "out").run(part=part, threads=1, max_memory=room, progress=False)
        with pytest.raises(InvalidOption, match="max_memory"):
            toksmith.corpus.Job.at(tmp_path / "out").run(part=part, max_memory=1_000_000, progress=False)
    assert toksmith.corpus.run_shard(tmp_path / "out" / "job.json", 0, max_memory=1 << 30).documents


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.zst", "text.txt.gz"])
def test_a_document_that_does_not_fit_ends_the_job(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    rows(path, [3, 5_000_000, 3])
    data = path.read_bytes()
    if name.endswith("gz"):
        path.write_bytes(gzip.compress(data, 1))
    if name.endswith("zst"):
        path.write_bytes(pytest.importorskip("zstandard").compress(data))
    job = toksmith.corpus.plan(TOK, path, tmp_path / "out", errors="skip", max_memory=ENOUGH)
    with pytest.raises(CorpusError, match=r"has more than 4,194,304 bytes, the most that max_memory allows with these"):
        job.run(threads=2, progress=False)
    assert not list(tmp_path.glob("out/*.npy"))
    # The limit is not in the plan: another one goes on.
    done = toksmith.corpus.plan(TOK, path, tmp_path / "out", errors="skip", max_memory=1 << 30).run(progress=False)
    assert done is not None and done.documents in (1, 3)


@pytest.mark.slow
def test_a_limit_changes_no_byte(tmp_path: Path) -> None:
    path = rows(tmp_path / "rows.jsonl", [*range(50)])
    toksmith.corpus.plan(TOK, path, tmp_path / "out").run(progress=False)
    toksmith.corpus.plan(TOK, path, tmp_path / "limited", max_memory=ENOUGH).run(workers=2, progress=False)
    assert content(tmp_path / "out") == content(tmp_path / "limited")


def test_the_command_takes_a_limit(tmp_path: Path) -> None:
    path = rows(tmp_path / "rows.jsonl", [3, 5_000_000])
    TOK.save(tmp_path / "tok.toksmith")
    command = [
        "corpus",
        "tokenize",
        str(path),
        "-t",
        str(tmp_path / "tok.toksmith"),
        "-o",
        str(tmp_path / "out"),
        "--quiet",
    ]
    said = " ".join(CliRunner().invoke(app, [*command, "--max-memory", "100M"]).output.split())
    assert "--max-memory" in said and "at least" in said and "max_memory" not in said
    done = CliRunner().invoke(app, [*command, "--threads", "1", "--max-memory", str(ENOUGH - PER_THREAD)])
    said = " ".join(done.output.split())
    assert done.exit_code == 1 and "raise --max-memory" in said and "max_memory" not in said
    assert CliRunner().invoke(app, [*command, "--max-memory", "1G"]).exit_code == 0


def test_the_second_round_of_a_shuffle_reads_its_own_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It also reads some neighbouring rows of the tables of the first round, and drops them."""
    for number in range(8):
        rows(tmp_path / f"{number}.jsonl", [1] * 500)
    size = (tmp_path / "0.jsonl").stat().st_size
    job = toksmith.corpus.plan(TOK, toksmith.files(tmp_path / "*.jsonl"), tmp_path / "out", shuffle=3, shard_size=size)
    for number in range(8):
        toksmith.corpus.run_shard(tmp_path / "out" / "job.json", number)
    read: list[int] = []
    folder = folder_at(tmp_path / "out")

    class Watched(type(folder)):  # type: ignore[misc]
        def read(self, name: str, *places: int) -> bytes:
            found: bytes = super().read(name, *places)
            read.append(len(found) // TABLE.itemsize if name.endswith(".table") else 0)
            return found

    found: list[bytes] = []
    for extra in (1, 40, 1000):
        monkeypatch.setattr(_shuffle, "ROWS_BESIDE", extra)
        read.clear()
        documents, ids = [], []
        for number in range(8):
            bucket = Bucket(read_plan(job._folder), Watched(folder.path), number, WorkerLimits(1))
            for part in range(8):
                table, some = bucket._part(part)
                assert table.base is None and len(some) == table["length"].sum()
                documents.append(table)
                ids.append(some)
        assert sum(map(len, documents)) == 4000
        found.append(b"".join(each.tobytes() for each in (*documents, *ids)))
        if extra == 40:  # about 500 / 8 rows are in a range
            assert 64 <= len(read) - read.count(0) <= 80 and max(read) < 350
    assert found[0] == found[1] == found[2]
    assert run_shard.run_shard(tmp_path / "out" / "job.json", 8).documents > 0


def of_format(options: dict[str, Any]) -> int:
    """As `ENOUGH`, for a job of these options."""
    return ENOUGH + (WHOLE_PER_BYTE_OF.get(options.get("to", "npy"), WHOLE_PER_BYTE) - PER_BYTE) * LEAST_LONGEST


HOLDING: list[dict[str, Any]] = [{"shuffle": 3}, {"to": "parquet", "pack": "best-fit", "length": 64}]


@pytest.mark.parametrize("options", HOLDING)
def test_a_plan_keeps_room_for_the_ids_of_a_shard(options: dict[str, Any], tmp_path: Path) -> None:
    path = rows(tmp_path / "rows.jsonl", [1000] * 500)
    held = HELD_PER_BYTE * path.stat().st_size
    small = path.stat().st_size // 5
    most = of_format(options) - PER_THREAD + held // 2
    given = {**options, "max_memory": most}
    with pytest.raises(InvalidOption, match=rf"max_memory=.* 6 times the largest shard \({held:,}\): pass a smaller"):
        toksmith.corpus.plan(TOK, path, tmp_path / "out", **given)
    assert not (tmp_path / "out").exists()
    # Smaller shards fit, and so do jobs that hold nothing.
    assert toksmith.corpus.plan(TOK, path, tmp_path / "out", shard_size=small, **given).shards > 4
    toksmith.corpus.plan(TOK, path, tmp_path / "plain", max_memory=most)
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(b"\n" * 99))
    plan = toksmith.corpus.plan(TOK, tmp_path / "rows.jsonl.gz", tmp_path / "packed", **options)._plan
    assert held_bytes(plan) == 4 * HELD_PER_BYTE * (tmp_path / "rows.jsonl.gz").stat().st_size


@pytest.mark.parametrize("options", HOLDING)
def test_a_shard_whose_ids_do_not_fit_ends(options: dict[str, Any], tmp_path: Path) -> None:
    """Short documents need more room than the plan keeps for their bytes."""
    path = rows(tmp_path / "rows.jsonl", [1] * 2000)
    least = of_format(options) - PER_THREAD + HELD_PER_BYTE * path.stat().st_size
    planned = toksmith.corpus.plan(TOK, path, tmp_path / "out", max_memory=least, **options)
    said = r"shard 0: its ids, which are held together, need more than [\d,]+ bytes, the most that max_memory allows"
    with pytest.raises(JobError, match=said):
        planned.run(progress=False)
    assert not planned.finished and planned.missing() == [*range(planned._plan.units)]
    done = toksmith.corpus.Job.at(tmp_path / "out").run(max_memory=least + 2_000_000, threads=1, progress=False)
    assert done is not None and done.documents == 2000


def test_the_second_round_counts_what_it_holds(tmp_path: Path) -> None:
    planned = toksmith.corpus.plan(TOK, rows(tmp_path / "rows.jsonl", [1] * 200), tmp_path / "out", shuffle=3)
    toksmith.corpus.run_shard(tmp_path / "out" / "job.json", 0)
    bucket = Bucket(read_plan(planned._folder), folder_at(tmp_path / "out"), 0, WorkerLimits(1, None, 1000))
    with pytest.raises(JobError, match=r"shard 1: its ids.* more than 1,000 bytes"):
        list(bucket.documents())
