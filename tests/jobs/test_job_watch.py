"""Watching a job: its events and their sums, lines in logs and on terminals, and its status in another process."""

import io
import json
import logging
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from job_corpus import TEXTS, TOK, ids_of, job
from processors import LIMIT_S
from rich.console import Console
from systems import needs

import toksmith
from toksmith._cli import app
from toksmith._jobs.folder import finish as _finish
from toksmith._jobs.job import watch as _watch
from toksmith._jobs.plans.plan import Part, read_plan, unit_sizes
from toksmith._storage.folders import LocalFolder, folder_at
from toksmith.corpus import JobEvent
from toksmith.errors import CorpusError

FIELDS = {
    *("event", "shard", "worker", "problem", "shards", "done", "bytes", "done_bytes", "documents", "ids", "text_bytes"),
    *("bad_rows", "run_bytes", "left_bytes", "elapsed_s", "unit", "rate", "left_s"),
}


class Clock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_run_reports_its_shards_in_order(tmp_path: Path) -> None:
    planned = job(tmp_path)
    seen: list[JobEvent] = []
    done = planned.run(events=seen.append)
    assert done is not None and seen[0].event == "planned" and seen[-1].event == "finished"
    kinds = [each.event for each in seen[1:-1]]
    assert kinds == ["shard_started", "shard_finished"] * planned.shards
    assert [each.shard for each in seen[1:-1:2]] == list(range(planned.shards))
    assert {each.worker for each in seen[1:-1]} == {1} and {each.worker for each in (seen[0], seen[-1])} == {None}
    assert [each.done for each in seen] == [
        0,
        *(number // 2 for number in range(1, 2 * planned.shards + 1)),
        done.shards,
    ]
    last = seen[-1]
    assert (last.documents, last.ids, last.text_bytes) == (len(TEXTS), sum(map(len, ids_of())), sum(map(len, TEXTS)))
    assert last.bytes == last.done_bytes == last.run_bytes == planned.bytes
    assert all(one.done_bytes <= two.done_bytes for one, two in pairwise(seen))


def test_a_continued_run_counts_finished_shards(tmp_path: Path) -> None:
    planned = job(tmp_path)
    for number in (1, 3):
        toksmith.corpus.run_shard(planned.folder / "job.json", number)
    seen: list[JobEvent] = []
    planned.run(events=seen.append, part="0/2")
    own = range(0, planned.shards, 2)
    assert (seen[0].done, seen[0].run_bytes, seen[0].shards, seen[0].done_bytes) == (0, 0, len(own), 0)
    assert {each.shard for each in seen[1:-1]} == {*own}
    assert seen[-1].done == len(own) and seen[-1].run_bytes == seen[-1].done_bytes == seen[-1].bytes < planned.bytes
    assert seen[0].left_bytes == seen[-1].run_bytes and (seen[-1].left_bytes, seen[-1].left_s) == (0, 0)
    seen.clear()
    planned.run(events=seen.append, part="1/2")
    assert (seen[0].done, seen[-1].done) == (2, planned.shards - len(own)) and seen[0].done_bytes > 0
    for number in (2, 5):
        (planned.folder / "receipts" / f"{number:05}.json").unlink()
    assert (planned.missing(), planned.missing("0/2"), planned.status("1/2").done) == (
        [2, 5],
        [2],
        planned.shards - len(own) - 1,
    )
    seen.clear()
    planned.run(events=seen.append)
    assert seen[-1].done == planned.shards and seen[-1].run_bytes < seen[-1].done_bytes == seen[-1].bytes


def test_a_shuffle_counts_both_rounds(tmp_path: Path) -> None:
    seen: list[JobEvent] = []
    planned = job(tmp_path, shuffle=5)
    planned.run(events=seen.append)
    assert (seen[-1].shards, seen[-1].documents) == (2 * planned.shards, len(TEXTS))
    assert seen[-1].run_bytes == seen[-1].bytes == 2 * planned.bytes


def test_a_part_of_a_shuffle_counts_only_its_own_round(tmp_path: Path) -> None:
    """A part that must wait for others after the first round does not count the second."""
    planned = job(tmp_path, shuffle=5)
    left: list[tuple[int, int]] = []
    for part in ("0/2", "1/2", "0/2", "1/2"):
        seen: list[JobEvent] = []
        planned.run(events=seen.append, part=part)
        assert seen[-1].left_bytes == 0
        left.append((seen[0].left_bytes, seen[-1].run_bytes))
    # The second part also makes its share of the second round.
    assert all(first == made for first, made in left) and [made > 0 for _, made in left] == [True, True, True, False]
    assert sum(made for _, made in left) == 2 * planned.bytes


def test_the_bytes_of_shards_add_up(tmp_path: Path) -> None:
    for size in (1, 50, 200, 1 << 20):
        plan = read_plan(folder_at(job(tmp_path, f"out {size}", shard_size=size).folder))
        assert sum(unit_sizes(plan)) == plan.size
    inputs = (plan.inputs[0]._replace(path="a.parquet", bytes=100),)
    for groups in (1, 3, 7):
        shards = tuple((Part(0, number, number + 1),) for number in range(groups))
        sizes = unit_sizes(plan.__class__(**{**vars(plan), "inputs": inputs, "shards": shards}))
        assert sum(sizes) == 100 and max(sizes) - min(sizes) <= 1


@pytest.mark.slow
def test_each_worker_has_a_number(tmp_path: Path) -> None:
    seen: list[JobEvent] = []
    job(tmp_path).run(events=seen.append, workers=2)
    assert {each.worker for each in seen[1:-1]} == {1, 2}
    for number in range(seen[0].shards):
        own = [(each.event, each.worker) for each in seen if each.shard == number]
        assert [event for event, _ in own] == ["shard_started", "shard_finished"] and len({*own}) == 2


def test_a_shard_that_fails_is_reported(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.jsonl").write_bytes(b'{"text": "a"}\nnot JSON\n')
    seen: list[JobEvent] = []
    with pytest.raises(CorpusError):
        job(tmp_path, shard_size=1).run(events=seen.append)
    assert [each.event for each in seen] == [
        "planned",
        *["shard_started", "shard_finished"],
        "shard_started",
        "shard_failed",
    ]
    assert seen[-1].shard == 1 and "does not begin with" in str(seen[-1].problem)


def watch(tmp_path: Path, clock: Clock, **given: Any) -> _watch.JobWatch:
    plan = read_plan(folder_at(job(tmp_path).folder))
    return _watch.JobWatch(
        plan, range(plan.units), own=range(plan.units), **{"progress": None, "events": None, **given}, clock=clock
    )


def test_rate_and_time_left_follow_the_clock(tmp_path: Path) -> None:
    clock = Clock()
    found = watch(tmp_path, clock, events=lambda event: None)
    planned = toksmith.corpus.Job.at(tmp_path / "out")
    start = found.now("planned")
    assert (start.rate, start.left_s, start.elapsed_s) == (None, None, 0.0)
    assert str(start).startswith(f"0 of {planned.shards} shards, 0.0 of 0.0 MB, 0 ids, 0 bad rows after 0 s")
    receipt = toksmith.corpus.run_shard(planned.folder / "job.json", 0)
    found.started(0, 1)
    clock.now_s += 2.0
    found.finished(receipt)
    now = found.now("planned")
    assert now.elapsed_s == 2.0 and now.rate == now.run_bytes / 2.0 > 0
    assert now.left_s == now.left_bytes / now.rate == (now.bytes - now.done_bytes) / now.rate
    assert f"{now.left_s:,.0f} s to go" in str(now) and "MB/s" in str(now)


def test_logs_get_a_line_a_minute(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    caplog.set_level(logging.INFO, "toksmith")
    found = watch(tmp_path, clock)
    for seconds, lines in ((0.0, 0), (59.0, 0), (2.0, 1), (30.0, 1), (31.0, 2), (600.0, 3)):
        clock.now_s += seconds
        found.started(1, 1)
        assert len(caplog.records) == lines
    assert "shards" in caplog.records[-1].getMessage()
    found.failed(1, "its process died")
    assert caplog.records[-1].getMessage() == "shard 1: its process died"
    quiet = watch(tmp_path, clock, progress=False)
    clock.now_s += 600
    quiet.started(1, 1)
    assert len(caplog.records) == 4


def test_a_terminal_has_a_line_for_each_worker(tmp_path: Path) -> None:
    out = io.StringIO()
    bar = _watch.JobBar(Console(file=out, force_terminal=True, width=150))
    found = watch(tmp_path, Clock(), events=bar.show)
    with bar.drawn:
        found.tell("planned")
        for worker, shard in ((1, 0), (2, 1), (1, 2)):
            found.started(shard, worker)
        found.failed(1, "its process died")
        bar.drawn.refresh()
        text = out.getvalue()
    assert "worker 1" in text and "worker 2" in text and "shard 2" in text and "shard 1: its process died" in text


# From elsewhere


WRITING = """
import sys
from toksmith._jobs import written as _written
import toksmith

real = _written.ShardFiles.place

def place(files):
    print("there", flush=True)
    sys.stdin.readline()
    return real(files)

_written.ShardFiles.place = place
toksmith.corpus.run_shard(sys.argv[1], int(sys.argv[2]))
"""


@pytest.mark.slow
@needs("locks")
def test_status_shows_shards_of_other_processes(tmp_path: Path) -> None:
    planned = job(tmp_path)
    counted = toksmith.corpus.plan_counts(sorted((tmp_path / "in").iterdir()), tmp_path / "counts", shard_size=200)
    (planned.folder / "00004.npy.0123456789abcdef.tmp").write_bytes(b"left by a killed run")
    for each, number in ((planned, 2), (counted, 5)):
        command = [sys.executable, "-c", WRITING, str(each.folder / "job.json"), str(number)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdin is not None and child.stdout is not None
            assert child.stdout.readline() == "there\n"
            assert each.status().running == (number,)
            said = CliRunner().invoke(app, ["corpus", "status", str(each.folder)]).stdout
            assert said.endswith(f"; 1 shard running ({number}); not finished\n")
            child.stdin.write("\n")
            child.stdin.flush()
            assert child.wait(LIMIT_S) == 0
        assert each.status().running == () and number not in each.missing()
    assert (planned.folder / "00004.npy.0123456789abcdef.tmp").exists()


def test_status_counts_the_bytes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    planned = job(tmp_path)
    assert (planned.status().bytes, planned.status().done_bytes) == (planned.bytes, 0)
    toksmith.corpus.run_shard(planned.folder / "job.json", 0)
    assert 0 < planned.status().done_bytes < planned.bytes
    planned.run(progress=False)
    assert (planned.status().bytes, planned.status().done_bytes) == (planned.bytes, planned.bytes)
    part = planned.status("0/2")  # by the plan, because a finished job has no index
    assert 0 < part.bytes == part.done_bytes < planned.bytes and not caplog.text


def test_a_status_of_very_many_shards_reads_some_receipts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("MANY", 30), ("SAMPLED", 10), ("COMPARED", 5)):
        monkeypatch.setattr(_finish, name, value)
    (tmp_path / "in").mkdir()
    for number in range(40):
        (tmp_path / "in" / f"{number:02}.txt").write_bytes(b"low lower")
    planned = toksmith.corpus.plan(TOK, tmp_path / "in", tmp_path / "out", append="<|end|>", shard_size=1)
    for number in range(38):
        toksmith.corpus.run_shard(planned.folder / "job.json", number)
    for name in ("39.json", "000039.json", "00039.json.0123456789abcdef.tmp", "12345.json", "00039.jsonx"):
        (planned.folder / "receipts" / name).write_bytes(b"another file")
    read: list[str] = []
    real = LocalFolder.read

    def recorded(self: LocalFolder, name: str, *rest: Any) -> bytes:
        read.extend([name] * (name.startswith("receipts/") or (name == "manifest.json" and not rest)))
        return real(self, name, *rest)

    monkeypatch.setattr(LocalFolder, "read", recorded)
    status = planned.status()
    assert len(read) == 10 + 5
    parts = [planned.status(f"{part}/2") for part in range(2)]
    names = ("done", "documents", "ids", "text_bytes", "bad_rows", "done_bytes")
    assert (status.sampled, {part.sampled for part in parts}) == (10, {0})
    for name in names:  # all shards are equal
        assert getattr(status, name) == sum(getattr(part, name) for part in parts)
    assert planned.missing() == [38, 39] and status.done == 38
    said = CliRunner().invoke(app, ["corpus", "status", str(planned.folder)]).stdout
    ids = 38 * len(TOK.encode("low lower")) + 38
    assert said == f"38 of 40 shards done: about 38 documents, {ids} ids, 0 bad rows (by 10 receipts); not finished\n"
    (planned.folder / "00000.npy").unlink()  # one of those that are compared: then all are
    assert (planned.missing(), planned.status().sampled, planned.status().done) == ([0, 38, 39], 0, 37)
    done = planned.run(progress=False)
    read.clear()
    assert done is not None and [getattr(planned.status(), name) for name in names[1:5]] == [40, done.ids, 360, 0]
    assert not read and planned.missing() == []


def test_json_has_an_event_a_line(tmp_path: Path) -> None:
    planned = job(tmp_path, "own")
    saved = next(planned.folder.glob("tokenizer-*"))
    files = [str(path) for path in sorted((tmp_path / "in").iterdir())]
    command = ["corpus", "tokenize", *files, "-t", str(saved), "-o", str(tmp_path / "out"), "--append", "<|end|>"]
    command += ["--shard-size", "200", "--json"]
    result = CliRunner().invoke(app, command)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0 and len(lines) == 2 + 2 * planned.shards
    assert [line["event"] for line in lines[:3]] == ["planned", "shard_started", "shard_finished"]
    assert all({*line} >= FIELDS for line in lines)
    assert all({*line} == FIELDS for line in lines[:-1])
    last = lines[-1]
    assert (last["event"], last["documents"], last["to"]) == ("finished", len(TEXTS), "npy") and last["files"]
    part = CliRunner().invoke(app, [*command[:-1], "--force", "--plan", "--json"])
    assert json.loads(part.stdout)["event"] == "planned"
    part = CliRunner().invoke(app, [*command, "--part", "0/2"])
    last = json.loads(part.stdout.splitlines()[-1])
    assert (last["event"], last["finished"], last["missing"]) == ("finished", False, [])
    assert last["shards"] == last["done"] == len(range(0, planned.shards, 2))
