"""The runner on Ray: against a stand-in that keeps Ray's rules, and against Ray itself where it is installed."""

import pickle
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from job_corpus import TEXTS, content, job

import toksmith
from toksmith._jobs.runners import ray as runner
from toksmith.errors import JobError


class Task:
    """A remote function: it runs when its result is requested."""

    def __init__(self, ray: "StandIn", call: Callable[..., Any]) -> None:
        self.ray, self.call = ray, call

    def remote(self, *given: Any) -> Any:
        self.ray.flying += 1
        self.ray.most = max(self.ray.most, self.ray.flying)
        return lambda: self.call(*given)


class RayError(Exception):
    """An error of Ray itself."""


class RayTaskError(RayError):
    """An error of a task."""


class StandIn(types.ModuleType):
    """The part of Ray that the runner uses; it starts tasks with the requested options, and finishes the last one first."""

    def __init__(self) -> None:
        super().__init__("ray")
        self.options: dict[str, Any] = {}
        self.started: list[Any] = []
        self.flying = self.most = self.stopped = 0
        self.exceptions = types.SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def is_initialized(self) -> bool:
        return False

    def init(self, address: str | None, *, log_to_driver: bool) -> None:
        self.started.append(address)

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 1.0}

    def nodes(self) -> list[dict[str, Any]]:
        """Three live nodes, and a dead one."""
        found = [{"Alive": True, "Resources": {"CPU": count}} for count in (1.0, 2.0)]
        return [*found, {"Alive": True, "Resources": {"memory": 9.0}}, {"Alive": False, "Resources": {"CPU": 9.0}}]

    def remote(self, **options: Any) -> Callable[[Callable[..., Any]], Task]:
        self.options = options
        return lambda call: Task(self, call)

    def wait(self, flying: list[Any]) -> tuple[list[Any], list[Any]]:
        return flying[-1:], flying[:-1]

    def get(self, ready: list[Any]) -> list[Any]:
        self.flying -= len(ready)
        return [each() for each in ready]

    def shutdown(self) -> None:
        self.stopped += 1


def test_tasks_give_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job(tmp_path, "local").run(progress=False)
    ray = StandIn()
    monkeypatch.setitem(sys.modules, "ray", ray)
    done = job(tmp_path, "ray").run("ray", threads=1, progress=False)
    assert done is not None and done.documents == len(TEXTS)
    assert content(tmp_path / "ray") == content(tmp_path / "local")
    assert ray.options == {"num_cpus": 1, "max_retries": 3, "retry_exceptions": [OSError, toksmith.errors.FormatError]}
    assert (ray.started, ray.stopped, ray.flying, ray.most) == ([None], 1, 0, 4)
    ray.most = 0
    job(tmp_path, "two").run("ray://10.0.0.1:10001", workers=2, progress=False)
    assert ray.started == [None, "ray://10.0.0.1:10001"] and ray.most == 2


def test_a_task_requests_no_more_than_a_node_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = StandIn()
    monkeypatch.setattr(ray, "cluster_resources", lambda: {"CPU": 3.0})
    monkeypatch.setitem(sys.modules, "ray", ray)
    job(tmp_path).run("ray", threads=8, progress=False)
    assert ray.options["num_cpus"] == 2
    assert runner.most_cpus([]) == 1


def test_only_errors_that_may_pass_are_tried_again(tmp_path: Path) -> None:
    """Ray retries an OSError and a FormatError; errors travel by pickle."""
    planned = job(tmp_path)
    path = str(planned.folder / "job.json")
    (planned.folder / "00001.npy").mkdir()
    with pytest.raises(toksmith.errors.FormatError):
        runner.run_task(path, 1, 1)
    (tmp_path / "in" / "a.jsonl").unlink()
    with pytest.raises(toksmith.errors.CorpusError, match=r"a\.jsonl: cannot be read") as caught:
        runner.run_task(path, 0, 1)
    assert isinstance(caught.value, OSError)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (type(copy), str(copy), copy.path) == (type(caught.value), str(caught.value), caught.value.path)
    (tmp_path / "bad" / "in").mkdir(parents=True)
    (tmp_path / "bad" / "in" / "a.jsonl").write_bytes(b"not JSON\n")
    with pytest.raises(toksmith.errors.CorpusError) as caught:
        runner.run_task(str(job(tmp_path / "bad").folder / "job.json"), 0, 1)
    assert not isinstance(caught.value, OSError)


def test_ray_is_stopped_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray = StandIn()
    monkeypatch.setitem(sys.modules, "ray", ray)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(b"not JSON\n")
    with pytest.raises(toksmith.errors.CorpusError, match="does not begin with"):
        job(tmp_path).run("ray", progress=False)
    assert ray.stopped == 1


def test_a_dead_ray_gives_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of a task stays; after one of Ray itself, the same command continues."""
    job(tmp_path, "local").run(progress=False)
    for kind, expected in ((RayError, JobError), (RayTaskError, RayTaskError)):
        ray = StandIn()
        monkeypatch.setitem(sys.modules, "ray", ray)
        real = ray.get

        def get(ready: list[Any], ray: StandIn = ray, real: Any = real, kind: Any = kind) -> list[Any]:
            if len([*tmp_path.glob("out/receipts/*")]) > 2:
                raise kind("the raylet died")
            return real(ready)

        monkeypatch.setattr(ray, "get", get)
        made = job(tmp_path)
        with pytest.raises(expected, match="the raylet died") as caught:
            made.run("ray", threads=1, progress=False)
        assert ("the same command continues" in str(caught.value)) is (kind is RayError) and ray.stopped == 1
    made.run(progress=False)
    assert content(tmp_path / "out") == content(tmp_path / "local")


def test_without_ray_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'toksmith\[ray\]'"):
        job(tmp_path).run("ray", progress=False)


@pytest.mark.slow
def test_ray_writes_equal_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ray: Any = pytest.importorskip("ray", reason="lacks ray")
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    real, left = ray.init, [3]

    def init(**options: Any) -> None:
        """Ray gives up if its processes do not start in some seconds, which a busy machine may not manage."""
        left[0] -= 1
        try:
            real(**options)
        except Exception:
            ray.shutdown()
            if not left[0]:
                raise
            init(**options)

    monkeypatch.setattr(ray, "init", init)
    job(tmp_path, "local").run(progress=False)
    job(tmp_path, "ray").run("ray", threads=1, progress=False)
    assert content(tmp_path / "ray") == content(tmp_path / "local")
