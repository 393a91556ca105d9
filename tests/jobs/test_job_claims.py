"""Processes that come and go share a job by claims: each shard is made once, a claim ends with its lease, and the bytes are those of
every other run.
"""

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from claim_fleet import Fleet, Store
from click.testing import CliRunner
from job_corpus import END, TOK, content, job
from processors import LIMIT_S, has_ended, new_words, processor_s_of, until
from systems import needs

import toksmith
from toksmith._cli import app
from toksmith._jobs.job.claims import LEASE_S, RENEWED_AT, SPARE, Claims, cut_blocks, read_listing
from toksmith._storage import remote as _store
from toksmith._storage.folders import folder_at
from toksmith.errors import CorpusError, InvalidOption, JobError

EXHAUSTIVE = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
WORKER = """
import sys, toksmith
from toksmith._jobs.job import claims
claims.LEASE_S = 1.0
if __name__ == "__main__":
    options = {"run": sys.argv[2], "part": sys.argv[3], "workers": int(sys.argv[4])}
    toksmith.corpus.Job.at(sys.argv[1]).run(**options, threads=1, progress=False)
"""
SHARED = 12  # shards of the job whose processes are killed


def claims_in(store: Any, units: int = 6, ahead: float = 0.0, **more: Any) -> Claims:
    """The claims of a process whose clock differs from the store's; nothing is made before."""
    return Claims(
        store, range(units), list, clock=lambda: store.now + ahead, sleep=lambda _: None, draw=random.Random(1), **more
    )


def claims_at(made: toksmith.corpus.Job) -> Claims:
    """The claims of another process on the first round of a job."""
    return Claims(folder_at(made.folder), range(made.shards), list)


def vanished(store: Any, units: int = 6) -> int:
    """The unit that a process claims, which then vanishes: it neither renews its claim nor gives it up."""
    return next(claims_in(store, units).numbers())


@pytest.mark.parametrize(
    "units", [range(0), range(1), range(46), range(7, 2500), range(10**6), range(10**6, 10**6 + 64_001)]
)
def test_blocks_have_each_unit_once(units: range) -> None:
    blocks, places, by_unit = cut_blocks(units)
    assert [number for block in blocks for number in block] == [*units]
    assert [place for each in places for place in each] == [*range(len(blocks))] == [*by_unit.values()]
    sizes = [{len(blocks[place]) for place in each} for each in places if each]
    assert all(len(each) == 1 for each in sizes) and sizes == sorted(sizes, key=min, reverse=True)
    assert len(blocks) <= max(2000, 80 * len(units) ** 0.5)


def test_processes_make_each_shard_once(tmp_path: Path) -> None:
    """One command for each process; `--finish` then writes what one process writes, and removes the claims."""
    job(tmp_path, "one", shard_size=20).run(progress=False)
    made = job(tmp_path, "shared", shard_size=20)
    command = [
        sys.executable,
        "-m",
        "toksmith",
        "corpus",
        "tokenize",
        "-o",
        str(made.folder),
        "--part",
        "claim",
        "--json",
    ]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [process.communicate(timeout=LIMIT_S)[0] for process in processes]
    events = [[json.loads(line) for line in output.splitlines()] for output in outputs]
    assert [process.returncode for process in processes] == [0, 0, 0]
    shards = [event["shard"] for each in events for event in each if event["event"] == "shard_finished"]
    assert sorted(shards) == [*range(made.shards)] and made.shards > 20
    for each in events:
        last = each[-1]
        assert last["event"] == "finished" and last["left_bytes"] == 0
        assert last["done"] == last["shards"] == sum(event["event"] == "shard_finished" for event in each)
    assert sum(each[-1]["bytes"] for each in events) == made.bytes
    done = CliRunner().invoke(app, ["corpus", "tokenize", "-o", str(made.folder), "--finish", "-q"])
    assert done.exit_code == 0, done.output
    assert content(tmp_path / "shared") == content(tmp_path / "one")
    again = CliRunner().invoke(app, command[3:-1])
    assert again.exit_code == 0 and "--finish" in again.stdout
    assert content(tmp_path / "shared") == content(tmp_path / "one"), "a late process changes nothing"


@pytest.mark.parametrize("options", [{"shuffle": 5, "shard_size": 100}, {"to": "nanogpt"}])
def test_claims_mix_with_parts_and_other_runs(options: dict[str, Any], tmp_path: Path) -> None:
    """Shards of a part are not made again, and both rounds of a shuffle are claimed."""
    job(tmp_path, "one", **options).run(progress=False)
    made = job(tmp_path, "shared", **options)
    made.run(part="1/3", progress=False)
    before = len(made.missing())
    events: list[toksmith.corpus.JobEvent] = []
    threads = [
        Thread(target=toksmith.corpus.Job.at(made.folder).run, kwargs={"part": "claim", "events": events.append})
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert sum(event.event == "shard_finished" for event in events) == before
    made.finish()
    assert content(tmp_path / "shared") == content(tmp_path / "one")


def test_a_counting_job_is_shared(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text('{"text": "low lower"}\n' * 20, encoding="utf-8")
    for name in ("one", "shared"):
        made = toksmith.corpus.plan_counts(tmp_path / "in", tmp_path / name, shard_size=50)
        assert made.run(part="claim" if name == "shared" else None, progress=False, workers=2) is None or name == "one"
    made.finish()
    assert content(tmp_path / "shared") == content(tmp_path / "one")


# Leases


@pytest.mark.parametrize("ahead", [0.0, -86400.0, 1e7])
def test_an_expired_lease_is_taken_over(ahead: float) -> None:
    """By the store's times, whatever the clocks of the machines are."""
    store = Store()
    unit = vanished(store)
    store.now += LEASE_S - 1
    other = claims_in(store, ahead=ahead)
    others = [*other.numbers()]
    assert sorted([unit, *others]) == [*range(6)] and other.busy == 6
    for number in others:
        other.record_made(number)
    assert other.wait() and [*other.numbers()] == [] and other.busy == 1
    store.now += 2
    assert [*other.numbers()] == [unit]
    other.record_made(unit)
    assert [*other.numbers()] == [] and not other.wait() and not other.busy


@pytest.mark.parametrize("ahead", [0.0, 3600.0, -3600.0])
def test_a_renewed_lease_is_kept(ahead: float) -> None:
    """Also if the clocks of the two machines differ by hours."""
    store = Store()
    holder = claims_in(store, 1, ahead)
    assert next(holder.numbers()) == 0
    for _ in range(9):
        store.now += 0.9 * LEASE_S
        assert [*claims_in(store, 1, -ahead).numbers()] == []
        holder.renew()
    holder.record_made(0)
    other = claims_in(store, 1, -ahead)
    assert [*other.numbers()] == [] and not other.wait()


def test_claims_of_long_shards_last_longer_and_are_written_seldom() -> None:
    """A claim lasts several times as long as the shard before, at most an hour; another process waits for its end."""
    store = Store()
    holder = claims_in(store, 4)
    numbers = holder.numbers()
    for seconds, leases in [(600.0, 4), (10.0, 3), (100_000.0, 6)]:
        number = next(numbers)
        store.now += seconds
        holder.record_made(number)
        last = next(numbers)
        assert store.files[f"{last:05d}.0"][0] // 33 == leases
        numbers = chain([last], numbers)
    before, since = store.requests, store.now
    while store.now - since < 6 * LEASE_S:
        store.now += RENEWED_AT * LEASE_S
        holder.renew()
    assert store.requests - before == 2, "at 7 and 14 of the 15 calls"
    store.now = (store.files[f"{last:05d}.0"][1] or 0) + 6 * LEASE_S
    other = claims_in(store, 4)
    assert [*other.numbers()] == [] and other.busy == 1
    store.now += 1
    assert [*other.numbers()] == [last]


def test_a_claim_from_the_future_ends() -> None:
    """A folder that was copied, or a machine that wrote with another time."""
    store = Store()
    unit = vanished(store, 1)
    store.now -= 2 * LEASE_S
    assert [*claims_in(store, 1).numbers()] == [unit]


def test_a_process_that_ends_gives_its_claims_up() -> None:
    store = Store()
    with claims_in(store, 1) as claims:
        assert next(claims.numbers()) == 0
    assert [*claims_in(store, 1).numbers()] == [0]


def test_a_process_that_comes_back_too_late_leaves_the_rest_of_its_block() -> None:
    store, units = Store(), 2000
    late, other = claims_in(store, units), claims_in(store, units)
    numbers = late.numbers()
    first = next(numbers)
    second = next(numbers)
    assert second == first + 1
    late.record_made(first)
    store.now += LEASE_S + 1
    taken = [*other.numbers()]
    assert sorted(taken) == [*range(units)]
    late.renew()
    late.record_made(second)
    assert [*numbers] == [], "nothing is free, and its block is not its own any more"
    for number in taken:
        other.record_made(number)
    assert not [*other.numbers()] and not other.wait()


def test_a_lease_is_lost_while_the_shard_is_written(tmp_path: Path) -> None:
    """Another process takes the shard over and makes it; the first one then ends its own, with equal bytes."""
    job(tmp_path, "one").run(progress=False)
    made, taken = job(tmp_path, "shared"), []

    def take(event: toksmith.corpus.JobEvent) -> None:
        if event.event == "shard_started" and not taken:
            taken.append(event.shard)
            for path in (made.folder / "claims").iterdir():
                os.utime(path, (0, 0))
            toksmith.corpus.Job.at(made.folder).run(part="claim", progress=False)
            assert made.missing() == []

    toksmith.corpus.Job.at(made.folder).run(part="claim", events=take)
    assert len(taken) == 1 and (made.folder / "claims" / f"{taken[0]:05d}.1").read_bytes() == b"done\n"
    made.finish()
    assert content(tmp_path / "shared") == content(tmp_path / "one")


def test_a_bad_row_gives_the_shard_back(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(b"not JSON\n")
    made = job(tmp_path)
    for _ in range(2):
        with pytest.raises(CorpusError, match="does not begin with"):
            made.run(part="claim", progress=False)
    states = sorted(path.read_bytes() for path in (made.folder / "claims").glob("*.*"))
    assert states == [b"given up\n"] * 2


def test_waiting_processes_leave_when_enough_remain() -> None:
    """Of 200 that find no block, some wait while 100 are held, and some of these remain to take the last one over."""
    store = Store()
    unit = vanished(store, 100)
    waiting = [claims_in(store, 100) for _ in range(200)]
    for number, each in enumerate(waiting):
        each._draw = random.Random(number)
        list(each.numbers())
    staying = [each for each in waiting[1:] if each.wait()]
    assert 100 / SPARE < len(staying) < 5 * 100 / SPARE, "100 blocks are held"
    for number in range(100):
        if number != unit:
            waiting[0].record_made(number)
    left = []
    for each in staying:
        list(each.numbers())
        left.append(each.wait())
    assert 0 < sum(left) < 5 * SPARE


@pytest.mark.parametrize("options", [{}, {"shuffle": 5}, {"to": "nanogpt"}])
def test_lost_shards_are_claimed_again_after_finish_reports_them(options: dict[str, Any], tmp_path: Path) -> None:
    """Also by a process that was there before."""
    job(tmp_path, "one", **options).run(progress=False)
    made = job(tmp_path, "shared", **options)
    made.run(part="claim", progress=False)
    before = claims_at(made)
    assert [*before.numbers()] == []
    lost = [0, made.shards - 1]
    receipts = [made.folder / "receipts" / f"{number:05d}.json" for number in lost]
    (made.folder / json.loads(receipts[0].read_bytes())["files"][0][0]).unlink()
    receipts[1].unlink()
    with pytest.raises(JobError, match=r"2 shards of .* missing"):
        made.finish()
    assert sorted(before.numbers()) == lost
    before.__exit__()
    made.run(part="claim", progress=False)
    made.finish()
    assert content(tmp_path / "shared") == content(tmp_path / "one")


def test_a_wait_grows_and_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    store, pauses = Store(), list[float]()
    vanished(store, 1)
    claims = claims_in(store, 1)
    monkeypatch.setattr(claims, "_sleep", pauses.append)
    for _ in range(12):
        assert [*claims.numbers()] == [] and claims.wait()
    assert pauses[:3] == [1.0, 2.0, 4.0] and pauses[-1] == LEASE_S / 2


# Stores


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """fsspec's memory with a corpus."""
    fsspec: Any = pytest.importorskip("fsspec", reason="lacks fsspec")
    kind = fsspec.get_filesystem_class("memory")
    kind.store.clear()
    kind.pseudo_dirs[:] = [""]
    kind().pipe_file("/in/a.jsonl", b'{"text": "low lower"}\n' * 20)
    _store.CREATING.clear()
    yield kind
    _store.CREATING.clear()
    kind.store.clear()
    kind.pseudo_dirs[:] = [""]


def planned_in_memory(name: str) -> toksmith.corpus.Job:
    return toksmith.corpus.plan(TOK, Path("memory://in"), f"memory://{name}", append=END, shard_size=50)


def bytes_of(name: str) -> dict[str, bytes]:
    return {path: _store.read_range(f"memory://{name}/{path}") for path in _store.list_sizes(f"memory://{name}")}


@pytest.mark.parametrize("store", ["conditional", "unconditional", "careless", "blind"])
def test_any_store_gets_equal_files(store: str, memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that creates a file only if it is absent; one that cannot; one that then replaces it; and one where each process
    always finds no claim."""
    planned_in_memory("one").run(progress=False)
    made, real = planned_in_memory("shared"), memory.pipe_file

    def refuse_create(self: Any, path: str, value: bytes, mode: str = "overwrite", **more: Any) -> Any:
        if mode == "create" and store != "careless":
            raise OSError(22, "not implemented")
        return real(self, path, value)

    if store != "conditional":
        monkeypatch.setattr(memory, "pipe_file", refuse_create)
    if store == "blind":
        monkeypatch.setattr(memory, "exists", lambda *_, **__: False)
    _store.CREATING.clear()
    threads = [
        Thread(target=toksmith.corpus.Job.at(made.folder).run, kwargs={"part": "claim", "progress": False})
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    assert made.missing() == [] and (store == "conditional") == bool(_store.CREATING)
    made.finish()
    assert bytes_of("shared") == bytes_of("one")


def recorded(memory: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the requests to a store from now on, without those that its own calls make."""
    asked, depth = list[str](), [0]

    def watch(name: str, real: Any) -> None:
        def call(*given: Any, **more: Any) -> Any:
            asked.extend([name] * (not depth[0]))
            depth[0] += 1
            try:
                return real(*given, **more)
            finally:
                depth[0] -= 1

        monkeypatch.setattr(memory, name, call)

    for name in (
        "info",
        "exists",
        "find",
        "cat_file",
        "cat_ranges",
        "pipe_file",
        "put_file",
        "get_file",
        "rm",
        "rm_file",
    ):
        watch(name, getattr(memory, name))
    return asked


@pytest.mark.parametrize("is_careless", [False, True])
def test_a_store_that_creates_only_absent_files_gets_one_request(
    is_careless: bool, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the second file on; a store that replaces the file is asked each time whether it exists."""
    if is_careless:
        real = memory.pipe_file
        monkeypatch.setattr(memory, "pipe_file", lambda self, path, value, mode="": real(self, path, value))
    asked, folder = recorded(memory, monkeypatch), folder_at("memory://claims")
    assert folder.create("00000.0", b"first") and asked == ["exists", "pipe_file", "pipe_file"]
    asked.clear()
    assert folder.create("00001.0", b"second") and not folder.create("00001.0", b"third")
    assert asked == (["exists", "pipe_file", "pipe_file", "exists"] if is_careless else ["pipe_file"] * 2)
    assert folder.read("00001.0") == b"second"


def test_a_worker_makes_few_requests_for_a_shard(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each shard but the first: its claim and the end of the claim, its row of the index, and its receipt; the plan's version and
    lines; the input before, in between and after; two files, and the receipt."""
    made = toksmith.corpus.plan(TOK, Path("memory://in"), "memory://shared", append=END, shard_size=50, to="megatron")
    asked, each = recorded(memory, monkeypatch), list[Counter[str]]()

    def note(event: toksmith.corpus.JobEvent) -> None:
        if event.event == "shard_finished":
            each.append(Counter(asked))
            asked.clear()

    toksmith.corpus.Job.at(made.folder).run(part="claim", events=note)
    few = {"info": 3, "cat_file": 4, "cat_ranges": 1, "pipe_file": 3, "put_file": 2}
    assert len(each) > 3 and each[1:] == [few] * (len(each) - 1)


@pytest.mark.parametrize(("place", "is_together"), [("shared", True), ("sh[a]red", False)])
def test_claims_are_removed_together(
    place: str, is_together: bool, memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless fsspec would match their names."""
    made = planned_in_memory(place)
    made.run(part="claim", progress=False)
    monkeypatch.setattr(memory, "async_impl", True)
    asked = recorded(memory, monkeypatch)
    made.finish()
    assert Counter(asked)["rm"] == (2 if is_together else 0) and bool(Counter(asked)["rm_file"]) != is_together
    assert not any("claims" in name or "job.index" in name for name in bytes_of(place))


def test_of_two_that_write_at_once_one_has_the_claim(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a store without put-if-absent, a process reads its claim again, and finds that of a later one."""
    real = memory.pipe_file

    def late(self: Any, path: str, value: bytes, mode: str = "overwrite", **more: Any) -> Any:
        if mode == "create":
            raise NotImplementedError
        real(self, path, value)
        return real(self, path, b"later") if value == b"first" else None

    monkeypatch.setattr(memory, "pipe_file", late)
    folder = folder_at("memory://claims")
    assert not folder.create("00000.0", b"first") and folder.read("00000.0") == b"later"
    assert folder.create("00001.0", b"second") and not folder.create("00001.0", b"third")


def test_a_store_without_times_is_refused(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made, real = planned_in_memory("out"), memory.find
    monkeypatch.setattr(
        memory,
        "find",
        lambda *given, **more: {
            name: {key: value for key, value in info.items() if key != "created"}
            for name, info in real(*given, **more).items()
        },
    )
    with pytest.raises(JobError, match=r"does not list when a file was written.*--part I/N"):
        made.run(part="claim", progress=False)


def test_other_files_among_the_claims_are_left_alone(tmp_path: Path) -> None:
    made = job(tmp_path)
    folder = made.folder / "claims"
    folder.mkdir()
    for name in ("note.txt", "00000.x", "99999.0", "00001.0.0123456789abcdef.tmp"):
        (folder / name).write_bytes(b"other")
    (folder / "00000.0").write_bytes(b"of another version\n")
    os.utime(folder / "00000.0", (0, 0))
    made.run(part="claim", progress=False)
    assert (folder / "00000.1").read_bytes() == b"done\n"
    made.finish()
    assert {path.name for path in folder.iterdir()} == {"note.txt", "00000.x"}


@needs("links")
def test_a_linked_folder_of_claims_is_refused(tmp_path: Path) -> None:
    made = job(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (made.folder / "claims").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(JobError, match="claims is a link"):
        made.run(part="claim", progress=False)
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("part", ["claims", "", "Claim"])
def test_other_words_are_no_part(part: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match=r"I/N.* or claim"):
        job(tmp_path).run(part=part)


# Fleets


@pytest.mark.proof
def test_a_fleet_asks_for_little_and_wastes_little() -> None:
    """Workers vanish, and others take their places; all of them have wrong clocks."""
    workers, shards = (10_000, 1_000_000) if EXHAUSTIVE else (100, 10_000)
    done = Fleet(workers, shards).run()
    assert min(done.made) >= 1 and sum(done.made) <= 1.001 * shards
    assert done.requests <= 5 and done.wasted <= 0.03 and done.idle <= 0.05


def test_a_fleet_that_vanishes_quickly_makes_all_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its store knows at any time what a process reads from a listing."""

    def read(self: Fleet, *given: Any) -> Any:
        assert self.store.read == read_listing(*given) and len(given[0]) > 1
        return read_listing(*given)

    monkeypatch.setattr(Fleet, "read_listing", read)
    done = Fleet(20, 400, shard_s=600.0, preempted=3.0).run()
    assert min(done.made) >= 1


def test_a_fleet_of_long_shards_asks_for_little() -> None:
    done = Fleet(200, 20_000, shard_s=600.0).run()
    assert min(done.made) >= 1 and done.requests <= 5 and done.wasted <= 0.03 and done.idle <= 0.05


def has_worked(child: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether a child has ended, or used its processor for these seconds."""
    return has_ended(child) or processor_s_of(child) >= seconds


def drawn_kills(folder: Path, draw: random.Random, kills: int, ways: list[tuple[str, str, str]]) -> int:
    """Runs the job in processes of these ways and kills them at drawn times, until all have ended by themselves; gives the kills."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def start(way: tuple[str, str, str]) -> tuple[subprocess.Popen[bytes], tuple[str, str, str]]:
        return subprocess.Popen([sys.executable, "-c", WORKER, str(folder), *way], env=env), way

    running, killed = [start(way) for way in ways], 0
    while running:
        child, way = running.pop(draw.randrange(len(running)))
        if killed < kills:
            at_s = draw.uniform(0, 1.5)
            until(partial(has_worked, child, at_s), "the child works")
            child.kill()
        if child.wait(LIMIT_S) == -signal.SIGKILL:
            killed += 1
            running.append(start(way))
        else:
            assert child.returncode == 0
    return killed


@pytest.mark.slow
@pytest.mark.proof
@needs("signals")
def test_kills_at_drawn_times_change_no_byte(tmp_path: Path) -> None:
    """In a job that claims share, with processes of their own, with a shuffle, and together with parts."""
    words = new_words(1).decode()
    rows = (json.dumps({"text": words[at : at + 5000]}) for at in range(0, len(words), 5000))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text("\n".join(rows), encoding="utf-8")
    claim, two = ("local", "claim", "1"), ("local", "claim", "2")
    kinds: list[tuple[dict[str, Any], list[tuple[str, str, str]]]] = [
        ({}, [claim, claim]),
        ({"shuffle": 3}, [claim, claim]),
        ({}, [two, claim]),
        ({}, [claim, ("local", "0/2", "1"), ("local", "1/2", "1")]),
    ]
    draw, killed, most = random.Random(9), 0, 100 if EXHAUSTIVE else 4
    turn = 0
    while killed < most:
        options, ways = kinds[turn % len(kinds)]
        options = {"shard_size": 1_000_000 // SHARED, **options}
        name = f"one {options.get('shuffle')}"
        if not (tmp_path / name).exists():
            job(tmp_path, name, **options).run(progress=False)
        made = job(tmp_path, f"out {turn}", **options)
        killed += drawn_kills(made.folder, draw, min(6, most - killed), ways)
        assert made.missing() == []
        made.finish()
        assert content(made.folder) == content(tmp_path / name)
        turn += 1
