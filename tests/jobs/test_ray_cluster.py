"""Jobs on a real Ray of two nodes: dead tasks run again, and the manifest equals that of the local runner.

`make test-ray` runs them in a separate environment.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from job_corpus import END, TOK
from processors import LIMIT_S, new_words, until

import toksmith

ray: Any = pytest.importorskip("ray", reason="lacks ray, which make test-ray has")
Cluster: Any = pytest.importorskip("ray.cluster_utils").Cluster

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
SHARDS = 16
SHARD_BYTES = 2_000_000
STORE_BYTES = 80 << 20
DRIVER = """
import sys, toksmith
if __name__ == "__main__":
    toksmith.corpus.Job.at(sys.argv[1]).run("ray", threads=1, progress=False)
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts in as many files as there are shards."""
    folder = tmp_path_factory.mktemp("corpus")
    words = new_words(30).decode()
    for number in range(SHARDS):
        text = words[number * SHARD_BYTES :][:SHARD_BYTES]
        rows = (json.dumps({"text": text[at : at + 5000]}) for at in range(0, SHARD_BYTES, 5000))
        (folder / f"{number:02d}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def local(corpus: Path) -> bytes:
    """The manifest of the runner of this machine."""
    out = corpus.parent / "local"
    planned(corpus, out).run(progress=False)
    return (out / "manifest.json").read_bytes()


def planned(corpus: Path, out: Path) -> toksmith.corpus.Job:
    files = toksmith.files(f"{corpus}/*.jsonl")
    return toksmith.corpus.plan(TOK, files, out, to="megatron", append=END, shard_size=SHARD_BYTES)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A head without processors, and two nodes of one."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    folders = (Path(toksmith.__file__).parent.parent, *Path(__file__).parents[:2])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, folders)))
    found = started(
        lambda: Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": STORE_BYTES})
    )
    try:
        found.own = [
            started(lambda: found.add_node(num_cpus=1, object_store_memory=STORE_BYTES, wait=True)) for _ in range(2)
        ]
        found.wait_for_nodes()
        started(lambda: ray.init(address=found.address, log_to_driver=False))
        yield found
    finally:
        ray.shutdown()
        found.shutdown()


def started(call: Callable[[], Any]) -> Any:
    """What a call returns; Ray gives up if its processes do not start in some seconds, which a busy machine may not manage."""
    for left in (2, 1, 0):
        try:
            return call()
        except Exception:
            if not left:
                raise
    return None


def in_background(job: toksmith.corpus.Job) -> tuple[Thread, list[Any]]:
    """Runs a job on another thread; the list gets its result or error."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(job.run("ray", threads=1, progress=False))
        except Exception as problem:  # noqa: BLE001 - the test shows it
            found.append(problem)

    thread = Thread(target=run, daemon=True)
    thread.start()
    return thread, found


def receipts(out: Path) -> int:
    return len(list((out / "receipts").glob("*.json"))) if (out / "receipts").exists() else 0


def at_work() -> list[int]:
    """The processes that make a shard: Ray names them after the task."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if path.read_bytes().startswith(b"ray::run_task"):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def kill_one() -> bool:
    """Kills a process that makes a shard; says whether there was one."""
    for process in at_work()[:1]:
        os.kill(process, signal.SIGKILL)
        return True
    return False


def has_more(driver: subprocess.Popen[str], out: Path, shards: int) -> bool:
    """Whether a driver has ended, or more shards are done."""
    return driver.poll() is not None or receipts(out) > shards


def manifest(out: Path) -> bytes:
    assert not list(out.glob("*.tmp")), "what a killed worker left is swept by the next run, or was"
    return (out / "manifest.json").read_bytes()


def test_a_killed_worker_changes_no_byte(cluster: Any, corpus: Path, local: bytes, tmp_path: Path) -> None:
    job = planned(corpus, tmp_path / "out")
    thread, found = in_background(job)
    until(kill_one, "a worker works")
    thread.join(LIMIT_S)
    assert isinstance(found[0], toksmith.corpus.Tokenized), found
    assert (tmp_path / "out" / "manifest.json").read_bytes() == local


def test_a_removed_node_changes_no_byte(cluster: Any, corpus: Path, local: bytes, tmp_path: Path) -> None:
    job = planned(corpus, tmp_path / "out")
    thread, found = in_background(job)
    until(lambda: receipts(tmp_path / "out"), "a shard is done")
    assert not found, "the job has ended before the node was removed"
    cluster.remove_node(cluster.own[1], allow_graceful=False)
    thread.join(LIMIT_S)
    assert isinstance(found[0], toksmith.corpus.Tokenized), found
    assert (tmp_path / "out" / "manifest.json").read_bytes() == local


def test_a_killed_driver_can_run_again(
    cluster: Any, corpus: Path, local: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    planned(corpus, out)
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(out)])
    until(lambda: receipts(out) or driver.poll() is not None, "a shard is done")
    driver.send_signal(signal.SIGKILL)
    assert driver.wait(LIMIT_S) == -signal.SIGKILL
    before = receipts(out)
    assert 0 < before < SHARDS and not (out / "SHA256SUMS").exists()
    until(lambda: not at_work(), "Ray ends what the driver had started")
    done = toksmith.corpus.Job.at(out).run("ray", threads=1, progress=False)
    assert done is not None and manifest(out) == local
    with pytest.raises(toksmith.errors.JobError, match="is finished"):
        planned(corpus, out)


def test_every_line_of_stdout_is_an_event_under_kills(
    cluster: Any, corpus: Path, local: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Ray says about dead workers goes to stderr. When the node of the driver dies too, the same command goes on."""
    out = tmp_path / "out"
    planned(corpus, out)
    ray.shutdown()  # Ray ends a process whose node dies
    TOK.save(tmp_path / "tok.toksmith")
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    command = [sys.executable, "-m", "toksmith", "corpus", "tokenize", f"{corpus}/*.jsonl", "--append", END]
    command += [
        "-t",
        str(tmp_path / "tok.toksmith"),
        "--to",
        "megatron",
        "--shard-size",
        str(SHARD_BYTES),
        "-o",
        str(out),
    ]
    command += ["--run", "ray", "--threads", "1", "--json"]
    ended = []
    for dies in (True, False, False, False):  # Ray learns late that the node is dead
        driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        done = receipts(out)
        has_ended = partial(has_more, driver, out, SHARDS)
        until(lambda: kill_one() or has_ended(), "a worker works")  # noqa: B023 - called at once
        if dies:
            until(partial(has_more, driver, out, done + 1), "shards are done")
            cluster.head_node.kill_raylet(check_alive=False)
        stdout, stderr = driver.communicate(timeout=LIMIT_S)
        events = [json.loads(line) for line in stdout.splitlines()]
        assert {event["event"] for event in events} <= {
            "planned",
            "shard_started",
            "shard_finished",
            "shard_failed",
            "finished",
        }
        ended.append((driver.returncode, stderr, [event["event"] for event in events]))
        if dies:
            monkeypatch.delenv("RAY_ADDRESS")  # the next command starts Ray on this machine
        elif not driver.returncode:
            break
    (code, stderr, events), *_, (last_code, last_stderr, last_events) = ended
    assert code == 1 and "the same command continues" in stderr and "shard_finished" in events, stderr
    assert last_code == 0 and last_events[-1] == "finished", last_stderr
    assert manifest(out) == local


@pytest.mark.parametrize("workers", [1, 2, 7])
def test_any_number_of_workers_writes_one_manifest(
    workers: int, cluster: Any, corpus: Path, local: bytes, tmp_path: Path
) -> None:
    """With Ray, on this machine, in parts of both in any order, and by claims of both: one manifest."""
    for name, run in (("ray", "ray"), ("here", "local")):
        job = planned(corpus, tmp_path / name)
        job.run(run, workers=workers, threads=1, progress=False)
        assert (tmp_path / name / "manifest.json").read_bytes() == local
    job = planned(corpus, tmp_path / "parts")
    for part, run in (("2/3", "ray"), ("0/3", "local"), ("1/3", "ray")):
        job.run(run, part=part, workers=workers, threads=1, progress=False)
    job.finish()
    assert (tmp_path / "parts" / "manifest.json").read_bytes() == local
    job = planned(corpus, tmp_path / "claims")
    threads = [
        Thread(target=toksmith.corpus.Job.at(job.folder).run, args=(run,), kwargs={"part": "claim", "threads": 1})
        for run in ("ray", "local")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_S)
    job.finish()
    assert (tmp_path / "claims" / "manifest.json").read_bytes() == local
