"""A changed `job.json` is refused with the name of its field, or it is a plan that `plan` makes from the same options.

Each option is changed to each value, and the result is compared with a call of `plan`.
"""

import itertools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from job_corpus import END, PAD, TOK, job, make

import toksmith
from toksmith import ToksmithError
from toksmith._jobs.make.run_shard import open_job
from toksmith._jobs.plans.options import JobOptions
from toksmith._jobs.plans.plan import Plan
from toksmith._storage.folders import folder_at
from toksmith.errors import JobError

BASES: dict[str, dict[str, Any]] = {
    "npy": {"errors": "skip", "max_errors": 3, "special": [END, PAD]},
    "packed": {"to": "parquet", "pack": "best-fit", "length": 8, "pad": PAD},
    "shuffled": {"to": "megatron", "shuffle": 5, "sources": True},
    "named": {"to": "dolma", "id_field": "id"},
}
NUMBERS = (-5, -1, 0, 1, 7, (1 << 24) + 1, 1 << 40, 1 << 60, 1 << 63, 1 << 64, 10**30)
VALUES: tuple[Any, ...] = (None, True, False, 0.5, 1.0, float("inf"), *NUMBERS, "", "foo", "\0", "auto", "uint16")
VALUES += ("uint32", "uint64", "raise", "text", "keep", "stop", "quarantine", "chunk", "npy", "hf", "counts", END, PAD)
VALUES += ([], {}, ["x"], ["npy"], [1], [PAD, END], [END], {"a": 1}, [[]])


def planned(folder: Path, base: str) -> tuple[Path, dict[str, Any]]:
    """The plan of a job, as a path and as JSON."""
    if base == "counts":
        made = toksmith.corpus.plan_counts(make(folder / "in"), folder / "out", shard_size=200, max_piece_bytes=9)
    else:
        made = job(folder, **BASES[base])
    path = made.folder / "job.json"
    return path, json.loads(path.read_bytes())


def same(options: dict[str, Any], made: toksmith.corpus.Job) -> bool:
    """Whether a job has these options, types included."""
    return json.dumps(asdict(made._plan.options)) == json.dumps(asdict(JobOptions(**options)))


def is_legal(options: dict[str, Any], corpus: Path) -> bool:
    """Whether `plan` takes these options, and makes the same of them."""
    given = dict(options)
    patterns, most = given.pop("patterns"), given.pop("max_piece_bytes")
    try:
        if options["to"] != "counts":
            return same(options, toksmith.corpus.plan(TOK, corpus, "out", dry_run=True, **given))
        own = {name: given[name] for name in ("errors", "max_errors", "shard_size")}
        made = toksmith.corpus.plan_counts(corpus, "out", pattern=patterns, max_piece_bytes=most, dry_run=True, **own)
        return same(options, made)
    except (ToksmithError, TypeError, ValueError):
        return False


def refusal(path: Path, facts: object) -> str | None:
    """The problem of a plan, or None."""
    path.write_text(json.dumps(facts), encoding="utf-8")
    try:
        toksmith.corpus.Job.at(path.parent)
        open_job(folder_at(path.parent))  # which compares it with the tokenizer
    except JobError as error:
        if error.problem.startswith("planned with "):  # the formats have other libraries
            return None
        assert str(error).startswith(f"{path.parent}: job.json is not a plan of toksmith: "), error
        assert "restore it" in str(error)
        return error.problem
    return None


@pytest.mark.slow
@pytest.mark.parametrize("base", [*BASES, "counts"])
def test_every_option_passes_the_checks_of_plan(base: str, tmp_path: Path) -> None:
    path, facts = planned(tmp_path, base)
    good, refused, legal = facts["options"], 0, 0
    for name in good:
        for value in VALUES:
            options = {**good, name: value}
            if json.dumps(options) == json.dumps(good):
                continue
            said = refusal(path, {**facts, "options": options})
            expected = is_legal(options, tmp_path / "in")
            # A pattern is part of the fingerprint of a job that counts.
            assert (said is None) == (expected and name != "patterns"), f"{name}={value!r}: {said}"
            assert said is None or "options." in said or name == "patterns", said
            refused, legal = refused + (said is not None), legal + (said is None)
        less = {each: value for each, value in good.items() if each != name}
        assert f"options.{name} is missing" in (refusal(path, {**facts, "options": less}) or "")
    assert "options.more" in (refusal(path, {**facts, "options": {**good, "more": 1}}) or "")
    assert refused > 400 and legal > 5
    assert refusal(path, facts) is None


@pytest.mark.parametrize("base", ["npy", "counts"])
def test_every_other_fact_is_checked(base: str, tmp_path: Path) -> None:
    path, facts = planned(tmp_path, base)
    for name, good in facts.items():
        for value in (
            *VALUES,
            "../x",
            [[]],
            [[[]]],
            [5],
            [[1, 2, 3]],
            [[[0, 0, 9]]],
            [[[True]]],
            [["/a", 1, 1, "text"]],
        ):
            if json.dumps(value) == json.dumps(good) or (name == "versions" and value == {}):
                continue
            said = refusal(path, {**facts, name: value})
            assert said is not None and any(each in said for each in (name, "shards", "options.")), (
                f"{name}={value!r}: {said}"
            )
        said = refusal(path, {each: value for each, value in facts.items() if each != name})
        assert said is not None and name in said
    assert "'more' is not a field" in (refusal(path, {**facts, "more": 1}) or "")
    for whole in (5, None, [], "x", [facts]):
        assert refusal(path, whole) is not None


def test_the_facts_of_the_tokenizer_are_compared(tmp_path: Path) -> None:
    path, facts = planned(tmp_path, "npy")
    for changed, said in (
        ({"vocab_size": 9}, r"vocab_size is 9"),
        ({"options": {**facts["options"], "append": "foo"}}, "options.append is 'foo'"),
        ({"options": {**facts["options"], "special": ["foo"]}}, "options.special is 'foo'"),
        ({"versions": {}}, "planned with toksmith None"),
        ({"versions": {**facts["versions"], "numpy": "1"}}, "planned with numpy 1"),
    ):
        path.write_text(json.dumps({**facts, **changed}))
        for call in (
            lambda: toksmith.corpus.run_shard(path, 0),
            lambda: toksmith.corpus.Job.at(path.parent).run(progress=False),
        ):
            with pytest.raises(JobError, match=said):
                call()


# Inputs and shards

WRONG_INPUTS: list[tuple[int, Any]] = [
    *((0, value) for value in ("", "a.jsonl", "./a", "/a\0b", 5, None, ["/a"])),
    *((1, value) for value in (-1, 1 << 63, 0.5, None, "5", True)),
    *((2, value) for value in ("etag", None, 0.5, True)),
    *((3, value) for value in (None, 5, ["text"])),
]


def test_every_input_is_checked(tmp_path: Path) -> None:
    path, facts = planned(tmp_path, "npy")
    for number, row in enumerate(facts["inputs"]):
        for place, value in WRONG_INPUTS:
            changed = [*row[:place], value, *row[place + 1 :]]
            rows = [changed if each == number else other for each, other in enumerate(facts["inputs"])]
            said = refusal(path, {**facts, "inputs": rows})
            assert said is not None and f"inputs[{number}]" in said, f"{changed}: {said}"
        for wrong in (row[:-1], [*row, 1], {}, 5):
            others = [wrong if each == number else other for each, other in enumerate(facts["inputs"])]
            assert "inputs" in (refusal(path, {**facts, "inputs": others}) or "")


def changed_shards(shards: list[Any], draw: random.Random) -> Iterator[tuple[str, list[Any]]]:
    """Shards with a missing, repeated, moved or changed part."""
    for number, shard in enumerate(shards):
        yield "without one", [*shards[:number], *shards[number + 1 :]]
        yield "one twice", [*shards[: number + 1], *shards[number:]]
        yield "an empty one", [*shards[:number], [], *shards[number:]]
        for place, part in enumerate(shard):
            for at in range(3):
                for value in (None, -1, 0, 1 << 40, 1 << 63, 0.5, True, "1", *(draw.randrange(500) for _ in range(3))):
                    changed = [*part[:at], value, *part[at + 1 :]]
                    if json.dumps(changed) != json.dumps(part):
                        own = [*shard[:place], changed, *shard[place + 1 :]]
                        yield f"{part} as {changed}", [*shards[:number], own, *shards[number + 1 :]]
            own = [*shard[:place], [*part, 0], *shard[place + 1 :]]
            yield "a part of four", [*shards[:number], own, *shards[number + 1 :]]
    yield "in another order", shards[::-1]


@pytest.mark.slow
def test_the_shards_read_each_input_once(tmp_path: Path) -> None:
    path, facts = planned(tmp_path, "npy")
    table = next(number for number, row in enumerate(facts["inputs"]) if row[0].endswith(".parquet"))
    count = 0
    for said, shards in changed_shards(facts["shards"], random.Random(1)):
        found, count = refusal(path, {**facts, "shards": shards}), count + 1
        if found is None:  # how many row groups a table has is not in the plan
            parts = [part for shard in shards for part in shard if part[0] == table]
            assert f"[{table}, " in said and all(
                before[2] == after[1] for before, after in itertools.pairwise(parts)
            ), said
        else:
            assert "shards" in found, said
    assert count > 200


def test_row_groups_that_a_table_lacks_are_refused(tmp_path: Path) -> None:
    """They are refused before anything is reserved for their numbers."""
    (tmp_path / "in").mkdir()
    make(tmp_path / "all")
    (tmp_path / "all" / "d.parquet").rename(tmp_path / "in" / "d.parquet")
    calls: list[Callable[[], toksmith.corpus.Job]] = [
        lambda: toksmith.corpus.plan(TOK, tmp_path / "in", tmp_path / "out", shard_size=1 << 20),
        lambda: toksmith.corpus.plan_counts(tmp_path / "in", tmp_path / "counts", shard_size=1 << 20),
    ]
    for call in calls:
        path = call().folder / "job.json"
        facts = json.loads(path.read_bytes())
        path.write_text(json.dumps({**facts, "shards": [[[0, 0, 1 << 40]]]}))
        with pytest.raises(toksmith.errors.CorpusError, match=r"d\.parquet: cannot be read: it has 2 row groups"):
            toksmith.corpus.run_shard(path, 0)


def test_a_plan_is_parsed_and_written_unchanged(tmp_path: Path) -> None:
    for base in (*BASES, "counts"):
        (tmp_path / base).mkdir()
        path, _ = planned(tmp_path / base, base)
        assert Plan.of(path.read_bytes()).to_bytes() == path.read_bytes()
