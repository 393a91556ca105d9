"""A worker reads its slice of a plan by the index: it equals the whole plan, costs the same for any plan, and is never trusted."""

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from job_corpus import TOK, content, job, make

import toksmith
from toksmith._jobs.make.run_shard import open_job
from toksmith._jobs.plans.index import HEAD, ROW
from toksmith._jobs.plans.plan import (
    Part,
    Plan,
    held_bytes,
    memory_per_byte,
    open_plan,
    plan_of_shard,
    read_plan,
    sizes_of_units,
    unit_sizes,
    write_index,
)
from toksmith._storage.folders import LocalFolder, folder_at
from toksmith.errors import CorpusError, JobError

JOBS: dict[str, dict[str, Any]] = {
    "npy": {},
    "row each": {"shard_size": 1},
    "packed": {"to": "parquet", "pack": "best-fit", "length": 8},
    "shuffled": {"shuffle": 5},
}


@pytest.mark.parametrize("kind", [*JOBS, "counts"])
def test_a_slice_equals_the_whole_plan(kind: str, tmp_path: Path) -> None:
    if kind == "counts":
        made = toksmith.corpus.plan_counts(make(tmp_path / "in"), tmp_path / "out", shard_size=200)
    else:
        made = job(tmp_path, **JOBS[kind])
    folder = folder_at(made.folder)
    whole, opened = read_plan(folder), open_plan(folder)
    assert opened.index is not None and (len(opened.inputs), len(opened.shards)) == (
        len(whole.inputs),
        len(whole.shards),
    )
    for call in (unit_sizes, held_bytes, memory_per_byte):
        assert call(opened) == call(whole)
    assert (opened.size, opened.units, opened.final) == (whole.size, whole.units, whole.final)
    some = [*range(0, whole.units, 3)]
    assert sizes_of_units(opened, some) == {number: unit_sizes(whole)[number] for number in some}
    for number, parts in enumerate(whole.shards):
        own = plan_of_shard(opened, number)
        assert own is not None and own.shards[number] == parts
        assert [own.inputs[part.input] for part in parts] == [whole.inputs[part.input] for part in parts]
        head = {**vars(own), "inputs": whole.inputs, "shards": whole.shards}
        assert Plan(**head) == whole


def long_plan(folder: Path, inputs: int) -> Path:
    """A plan of this many inputs of one row, ten in a shard; only the files of the first shards exist."""
    made, row = job(folder, "out"), b'{"text": "low lower"}\n'
    (folder / "rows").mkdir()
    sources = [
        made._plan.inputs[0]._replace(path=str(folder / "rows" / f"{n:09}.jsonl"), bytes=len(row))
        for n in range(inputs)
    ]
    for number, source in enumerate(sources[:30]):
        path = Path(source.path)
        path.write_bytes(row)
        sources[number] = source._replace(version=path.stat().st_mtime_ns)
    shards = tuple(tuple(Part(n, 0, len(row)) for n in range(first, first + 10)) for first in range(0, inputs, 10))
    plan = replace(made._plan, inputs=tuple(sources), shards=shards)
    (made.folder / "job.json").write_bytes(plan.to_bytes())
    write_index(folder_at(made.folder), plan, plan.to_bytes())
    return made.folder


def test_a_shard_of_a_long_plan_reads_what_one_of_a_short_plan_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[tuple[str, int]] = []
    read = LocalFolder.read

    def counted(self: LocalFolder, name: str, start: int = 0, stop: int | None = None) -> bytes:
        data = read(self, name, start, stop)
        reads.append((name, len(data)))
        return data

    monkeypatch.setattr(LocalFolder, "read", counted)
    found = []
    for inputs in (30, 30_000):
        (tmp_path / str(inputs)).mkdir()
        folder = long_plan(tmp_path / str(inputs), inputs)
        for number in (0, 2):
            reads.clear()
            assert toksmith.corpus.run_shard(folder / "job.json", number).documents == 10
            found.append([*reads])
    short, long = found[:2], found[2:]
    assert [[name for name, _ in shard] for shard in short] == [[name for name, _ in shard] for shard in long]
    assert [name for name, _ in long[1]] == ["job.index", "job.json", "job.json"]
    for one, two in zip(short, long, strict=True):
        # The paths of the longer plan have more digits.
        assert sum(size for _, size in two) < 1.1 * sum(size for _, size in one)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "none": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "no rows": lambda path: path.write_bytes(path.read_bytes()[:HEAD]),
    "no JSON": lambda path: path.write_bytes(b"x" * len(path.read_bytes())),
    "another version": lambda path: path.write_bytes(path.read_bytes().replace(b'index": 1', b'index": 2')),
    "another row": lambda path: path.write_bytes(
        path.read_bytes()[:HEAD] + path.read_bytes()[HEAD + ROW :] + b" " * ROW
    ),
    "another sum": lambda path: path.write_bytes(path.read_bytes()[:-3] + b"zz\n"),
    "letters": lambda path: path.write_bytes(path.read_bytes()[:HEAD] + b"x" * ROW * 9),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_index_costs_time_only(damage: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    expected, damaged = job(tmp_path, "good"), job(tmp_path, "bad")
    index = damaged.folder / "job.index"
    good = index.read_bytes()
    DAMAGES[damage](index)
    with caplog.at_level(logging.WARNING, "toksmith"):
        for number in range(expected.shards):
            assert toksmith.corpus.run_shard(damaged.folder / "job.json", number) == toksmith.corpus.run_shard(
                expected.folder / "job.json", number
            )
    warned = "job.index does not match job.json" in caplog.text
    assert warned == (damage != "none")
    job(tmp_path, "bad")
    assert index.read_bytes() == good.replace(b"/good/", b"/bad/")
    expected.finish()
    damaged.finish()
    assert content(expected.folder) == content(damaged.folder)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b'"toksmith_job": 1', b'"toksmith_job": 2', "toksmith_job, its version, is not 1"),
        (b"a.jsonl", b"\0.jsonl", "job.json is not a plan of toksmith"),
        (b"[0, 0, ", b"[0, 1, ", "shards does not have all parts of inputs"),
    ],
)
def test_a_changed_plan_is_refused_by_name(old: bytes, new: bytes, said: str, tmp_path: Path) -> None:
    path = job(tmp_path).folder / "job.json"
    data = path.read_bytes()
    assert data.count(old)
    path.write_bytes(data.replace(old, new))
    with pytest.raises(JobError, match=said):
        toksmith.corpus.run_shard(path, 0)
    for cut in (len(data) // 3, len(data) - 9):
        path.write_bytes(data[:cut])
        with pytest.raises(JobError, match=r"job\.json is not a plan of toksmith.*restore it"):
            toksmith.corpus.run_shard(path, 0)


def test_a_changed_line_of_the_plan_is_followed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The plan decides: a line that was changed by hand is read with the whole plan, and its input compared."""
    path = job(tmp_path).folder / "job.json"
    data = path.read_bytes()
    facts = json.loads(data)
    old = str(facts["inputs"][0][2]).encode()
    path.write_bytes(data.replace(old, b"1" * len(old), 1))
    with pytest.raises(CorpusError, match="changed after the job was planned"):
        toksmith.corpus.run_shard(path, 0)
    assert "does not match" in caplog.text
    assert open_job(folder_at(path.parent), 0)[0] == read_plan(folder_at(path.parent))


def test_the_index_of_an_older_plan_is_not_used(tmp_path: Path) -> None:
    first = job(tmp_path)
    index = (first.folder / "job.index").read_bytes()
    toksmith.corpus.plan(TOK, tmp_path / "in", first.folder, shard_size=1 << 20, force=True)
    (first.folder / "job.index").write_bytes(index)
    assert open_plan(folder_at(first.folder)) == read_plan(folder_at(first.folder))
