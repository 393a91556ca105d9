"""The cost of a job: computed from the processor's time for a sample, which these tests set."""

import gzip
import json
import math
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from job_corpus import END, TEXTS, TOK, ids_of, job, make
from shown_results import check_shown

import toksmith
from toksmith._cli import app
from toksmith._jobs.job import cost as _cost
from toksmith._jobs.plans.plan import Plan, read_plan
from toksmith._storage.folders import folder_at
from toksmith.errors import InvalidOption, JobError


def ticking(step_s: float) -> Callable[[], float]:
    """A clock that advances by this many seconds at each reading."""
    ticks: Iterator[int] = count()
    return lambda: next(ticks) * step_s


def plan_of(folder: Path, **options: Any) -> Plan:
    return read_plan(folder_at(job(folder, **options).folder))


def test_costs_scale_with_the_sample(tmp_path: Path) -> None:
    """A sample of four of the six files, in 3 s, of which unpacking takes 1.5."""
    plan = plan_of(tmp_path)
    found = _cost.cost_of(plan, TOK, clock=ticking(1.5))
    sampled = [plan.inputs[number] for number in (0, 1, 2, 3)]
    texts = TEXTS[:36]
    text = sum(map(len, texts))
    assert [Path(each.path).name for each in sampled] == ["a.jsonl", "b.txt", "c.jsonl.gz", "d.parquet"]
    ids = sum(map(len, ids_of(list(texts))))
    this, one, sixty = found.rows
    assert [row.what for row in found.rows] == ["this input", "1 TB", "60 TB"]
    assert math.isclose(one.core_hours, 3.0 / text * 1e12 / 3600) and math.isclose(
        found.core_mb_per_s, text / 3.0 / 1e6
    )
    assert math.isclose(sixty.core_hours, 60 * one.core_hours) and one.text_bytes == 10**12
    # Two files of headers with the ids and the ends of the documents.
    written = 2 * 128 + 2 * ids + 8 * len(texts)
    assert one.written_bytes == one.disk_bytes == round(1e12 * written / text)
    assert this.read_bytes == pytest.approx(plan.size, abs=1)
    assert "measured on" in found.measured and "of this input" in found.measured
    check_shown(found)


def test_joined_and_shuffled_jobs_need_twice_the_room(tmp_path: Path) -> None:
    joined = _cost.cost_of(plan_of(tmp_path, name="a", to="nanogpt"), TOK, clock=ticking(1.0)).rows[1]
    assert joined.disk_bytes == pytest.approx(2 * joined.written_bytes, abs=1)
    shuffled = _cost.cost_of(plan_of(tmp_path, name="b", shuffle=1), TOK, clock=ticking(1.0)).rows[1]
    assert shuffled.disk_bytes > 2 * shuffled.written_bytes


def test_packed_inputs_are_read_as_packed(tmp_path: Path) -> None:
    rows = b"".join(json.dumps({"text": f"low lower {number % 7}" * 9}).encode() + b"\n" for number in range(3000))
    (tmp_path / "a.jsonl").write_bytes(rows)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(rows))
    found = {}
    for name in ("a.jsonl", "a.jsonl.gz"):
        plan = read_plan(folder_at(toksmith.corpus.plan(TOK, tmp_path / name, tmp_path / f"out {name}").folder))
        found[name] = _cost.cost_of(plan, TOK, clock=ticking(1.0))
    plain, packed = (found[name].rows[1] for name in found)
    assert plain.read_bytes > 10**12 > packed.read_bytes and packed.core_hours == pytest.approx(2 * plain.core_hours)
    text = sum(len(json.loads(row)["text"]) for row in rows.splitlines())
    assert found["a.jsonl"].rows[0].text_bytes == pytest.approx(text, rel=0.01)
    assert found["a.jsonl.gz"].rows[0].text_bytes == pytest.approx(text, rel=0.1)


def test_large_files_are_sampled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not more than the bound of each file is read, in whole rows, and the figures stay near those of all of it."""
    make(tmp_path / "in")
    rows = [json.dumps({"text": f"low lower {number} lowest"}) + "\n" for number in range(5000)]
    (tmp_path / "in" / "a.jsonl").write_text("".join(rows))
    table = arrow.table({"text": [f"low lower {number}" for number in range(20_000)]})
    arrow.parquet.write_table(table, tmp_path / "in" / "d.parquet", row_group_size=1000)
    plan = read_plan(folder_at(toksmith.corpus.plan(TOK, sorted((tmp_path / "in").iterdir()), tmp_path / "out").folder))
    whole = _cost.cost_of(plan, TOK, clock=ticking(1.0)).rows[1]
    monkeypatch.setattr(_cost, "BYTES_OF_A_SAMPLE", 20_000)
    small = _cost.cost_of(plan, TOK, clock=ticking(1.0)).rows[1]
    assert small.written_bytes == pytest.approx(whole.written_bytes, rel=0.3)
    assert small.core_hours > 5 * whole.core_hours  # as much time for less text


def test_a_sample_without_texts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(b'not JSON\n{"text": "low"}\n')
    assert (
        toksmith.corpus.plan(TOK, tmp_path / "in", tmp_path / "out", dry_run=True).cost().rows[1].text_bytes == 10**12
    )
    (tmp_path / "in" / "a.jsonl").write_bytes(b"not JSON\n")
    with pytest.raises(JobError, match="the sample of the inputs: has no text"):
        toksmith.corpus.plan(TOK, tmp_path / "in", tmp_path / "out", dry_run=True).cost()
    with pytest.raises(InvalidOption, match="a job of ids"):
        toksmith.corpus.plan_counts(tmp_path / "in", tmp_path / "out", dry_run=True).cost()


def test_a_dry_run_prints_the_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "in")
    TOK.save("tok.toksmith")
    command = ["corpus", "tokenize", "in", "-t", "tok.toksmith", "-o", "out", "--append", END, "--dry-run"]
    said = CliRunner().invoke(app, command)
    assert said.exit_code == 0 and "core-hours" in said.stdout and "60 TB" in said.stdout, said.output
    cost = json.loads(CliRunner().invoke(app, [*command, "--json"]).stdout)["cost"]
    assert [row["what"] for row in cost["rows"]] == ["this input", "1 TB", "60 TB"]
    assert cost["rows"][1]["core_hours"] > 0 and not (tmp_path / "out").exists()
    planned = CliRunner().invoke(app, [*command[:-1], "--plan", "--json"])
    assert "cost" not in json.loads(planned.stdout)
