"""A worker reads its slice of a plan by the index: it equals the whole plan, costs the same for any plan, and is never trusted."""

import json
import logging
import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from job_corpus import TOK, content, job, make

import toksmith
from toksmith._cli import app
from toksmith._jobs.make.run_shard import open_job
from toksmith._jobs.plans.draft import PlanDraft
from toksmith._jobs.plans.index import HEAD, ROW, PlanFacts
from toksmith._jobs.plans.plan import (
    Part,
    Plan,
    PlannedInput,
    has_tables,
    held_bytes,
    memory_per_byte,
    open_plan,
    plan_of_shard,
    read_plan,
    sizes_of_units,
    unit_sizes,
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


def test_a_plan_that_is_written_line_by_line_is_the_whole_plan(tmp_path: Path) -> None:
    """The draft's bytes are those of `Plan.to_bytes`, and its facts those of the whole plan, also for odd names and versions."""
    draw, head = (
        random.Random(5),
        replace(job(tmp_path, shuffle=3, shard_size=90)._plan, inputs=(), shards=(), index=None),
    )
    for trial in range(40):
        inputs = []
        for number in range(draw.choice((1, 2, 30))):
            ending, edges = (
                draw.choice((".jsonl", ".parquet", ".txt", ".txt.gz")),
                [0, *sorted(draw.sample(range(1, 400), 4))],
            )
            url, version = draw.choice((("s3://b/", 'a"\\é\ud800'), ("/", 1 << 60)))
            source = PlannedInput(f'{url}"é\udcff\n{number}{ending}', edges[-1], version, "text ☀")
            cuts = [(Part(0, start, stop), stop - start) for start, stop in pairwise(edges)]
            if ending.startswith(".txt"):
                cuts = [(Part(0), edges[-1])]
            elif trial % 3 == 0:
                source, cuts = source._replace(bytes=0), []  # no row, no part
            inputs.append((source, cuts))
        PlanDraft(head, tmp_path).write(inputs)
        data = (tmp_path / "job.json").read_bytes()
        whole, opened = read_plan(folder_at(tmp_path)), open_plan(folder_at(tmp_path))
        assert data == whole.to_bytes() and [*whole.inputs] == [source for source, _ in inputs]
        assert opened.index is not None and opened.index.facts == PlanFacts(
            len(inputs), len(whole.shards), whole.size, has_tables(whole), held_bytes(whole)
        )
        assert unit_sizes(opened) == unit_sizes(whole)
        for number, parts in enumerate(whole.shards):
            own = plan_of_shard(opened, number)
            assert own is not None and own.shards[number] == parts


def long_plan(folder: Path, inputs: int) -> Path:
    """A plan of this many inputs of one row, ten in a shard; only the files of the first shards exist."""
    row = b'{"text": "low lower"}\n'
    made = job(folder, "out", shard_size=10 * len(row))
    (folder / "rows").mkdir()
    sources = [
        read_plan(made._folder).inputs[0]._replace(path=str(folder / "rows" / f"{n:09}.jsonl"), bytes=len(row))
        for n in range(inputs)
    ]
    for number, source in enumerate(sources[:30]):
        path = Path(source.path)
        path.write_bytes(row)
        sources[number] = source._replace(version=path.stat().st_mtime_ns)
    parts = [(Part(0, 0, len(row)), len(row))]
    PlanDraft(replace(made._plan, inputs=(), shards=(), index=None), made.folder).write(
        (each, parts) for each in sources
    )
    (made.folder / "shards").unlink()
    return made.folder


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, int]]:
    """The calls that ask the folder of a job: the call, the name, and the bytes that were read."""
    calls: list[tuple[str, str, int]] = []

    def record(name: str) -> None:
        real = getattr(LocalFolder, name)

        def recorded(self: LocalFolder, *arguments: Any) -> Any:
            found = real(self, *arguments)
            calls.append((name, str(arguments[0]), len(found) if name == "read" else 0))
            return found

        monkeypatch.setattr(LocalFolder, name, recorded)

    for name in ("read", "size", "version", "names"):
        record(name)
    return calls


def test_a_part_of_a_long_plan_asks_for_what_one_of_a_short_plan_does(
    tmp_path: Path, asked: list[tuple[str, str, int]]
) -> None:
    """The first shard of a process, the next shard, and a part of one shard."""
    found = []
    for inputs in (30, 30_000):
        (tmp_path / str(inputs)).mkdir()
        folder = long_plan(tmp_path / str(inputs), inputs)
        for make_shard in (
            lambda folder=folder: toksmith.corpus.run_shard(folder / "job.json", 0),
            lambda folder=folder: toksmith.corpus.run_shard(folder / "job.json", 1),
            lambda folder=folder, count=inputs // 10: run_part(folder, f"2/{count}"),
        ):
            asked.clear()
            make_shard()
            found.append([*asked])
    for short, long in zip(found[:3], found[3:], strict=True):
        assert [call[:2] for call in short] == [call[:2] for call in long]
        # The places in the longer plan have more digits.
        assert sum(call[2] for call in short) <= sum(call[2] for call in long) < 1.1 * sum(call[2] for call in short)
        assert "names" not in {call[0] for call in long}
    assert [call[1] for call in found[4] if call[0] == "read"] == ["job.index", "job.json", "job.json"]


def run_part(folder: Path, part: str) -> None:
    """A part, by a command that names only the folder."""
    command = ["corpus", "tokenize", "-o", str(folder), "--part", part, "--threads", "1"]
    done = CliRunner().invoke(app, [*command, "--max-memory", "1G"])
    said = f"part {part}: 1 of 1 shard done: 10 documents, 30 ids, 0 bad rows; not finished\n"
    assert (done.exit_code, done.stdout) == (0, said), done.output


def test_parts_that_name_only_the_folder_make_the_job(tmp_path: Path) -> None:
    whole, parts = job(tmp_path, "whole", shuffle=3), job(tmp_path, "parts", shuffle=3)
    whole.run(progress=False)
    command = ["corpus", "tokenize", "-o", str(parts.folder)]
    for part in ("1/2", "0/2", "1/2", "0/2"):  # two rounds
        assert CliRunner().invoke(app, [*command, "--part", part, "-q"]).exit_code == 0
    (parts.folder / f"00000.npy.{'0' * 16}.tmp").write_bytes(b"left by a killed part")
    assert CliRunner().invoke(app, [*command, "--finish", "-q"]).exit_code == 0
    assert content(whole.folder) == content(parts.folder)
    again = CliRunner().invoke(app, [*command, "--part", "1/2"])
    assert again.stdout.startswith("part 1/2: ") and again.stdout.endswith("; finished\n")
    none = CliRunner().invoke(app, ["corpus", "tokenize", "-o", str(tmp_path / "none"), "--part", "0/2"])
    assert none.exit_code == 1 and "there is no job.json; plan a job" in none.output


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
        assert toksmith.corpus.status(damaged.folder) == toksmith.corpus.status(expected.folder)
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
