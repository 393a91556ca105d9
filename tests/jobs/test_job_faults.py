"""Whatever fails while a job writes, the same command completes it, and the folder equals an untouched one."""

import errno
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import faults
import job_corpus
import pytest
from processors import run_tests_file, skip_flushing
from systems import needs

import toksmith
from toksmith.errors import FormatError, JobError

REFUSALS = (FormatError, JobError, toksmith.errors.CorpusError)
OPTIONS: dict[str, dict[str, Any]] = {
    "npy": {"to": "npy", "errors": "quarantine"},
    "joined": {"to": "llmc"},
    "hf": {"to": "hf"},
    "shuffled": {"to": "megatron", "shuffle": 5, "sources": True},
}


# Of most calls, all formats make the same; those of a shuffle are many.
EACH = {"npy": 1, "joined": 2, "hf": 4, "shuffled": 3}


class JobFaults(faults.Faults):
    """Faults of the calls that only jobs make as well."""

    def __enter__(self) -> "JobFaults":  # noqa: PYI034 - `Self` came with Python 3.11
        super().__enter__()
        real = os.link

        def link(source: Any, target: Any, **more: Any) -> None:
            self.call("link")
            real(source, target, **more)

        self.put(os, "link", link)
        return self


def small(folder: Path) -> None:
    """A corpus of two shards, one with a bad row."""
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a.jsonl").write_bytes(b'{"text": "low"}\n{"text": ""}\n{"text": "lower"}\n')
    (folder / "in" / "b.jsonl").write_bytes(b'{"text": "slow"}\n')


def complete(folder: Path, name: str, out: str = "out") -> None:
    """Plans the job and runs it; or finds it finished."""
    options = {"shard_size": 40, **OPTIONS[name]}
    try:
        planned = job_corpus.job(folder, out, **options)
    except JobError as error:
        if "is finished" not in str(error):
            raise
        planned = toksmith.corpus.Job.at(folder / out)
        planned.finish()
        return
    planned.run(progress=False, threads=1)


@pytest.mark.slow
@needs("links")
@pytest.mark.parametrize(("name", "mode"), [*((name, "once") for name in OPTIONS), ("npy", "full")])
def test_every_call_fails_in_turn(name: str, mode: str, tmp_path: Path) -> None:
    small(tmp_path)
    complete(tmp_path, name, "untouched")
    expected = job_corpus.content(tmp_path / "untouched")
    assert len(expected) >= 8
    for n in range(1, 1000, EACH[name]):
        out = f"out {n}"
        (tmp_path / out).mkdir()
        with JobFaults(tmp_path / out, n, mode) as found:
            try:
                complete(tmp_path, name, out)
                refused = None
            except REFUSALS as error:
                refused = error
        said = f"call {n} ({found.calls[-1]}): {refused!r}"
        seen = job_corpus.content(tmp_path / out)
        assert "SHA256SUMS" not in seen or seen["manifest.json"] == expected["manifest.json"], said
        complete(tmp_path, name, out)
        if (tmp_path / out / "job.json").exists():
            # A run removes leftovers of earlier ones; a finished job is never swept.
            assert job_corpus.content(tmp_path / out) == expected, said
        if not found.fired:
            assert refused is None and n > 60
            return
    raise AssertionError("a run never finished untouched")


@pytest.mark.slow
@needs("fork")
@pytest.mark.parametrize("name", ["npy"])
def test_the_process_is_killed_at_every_call(name: str, tmp_path: Path) -> None:
    done = run_tests_file(__file__, name, str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) > 60


def test_of_two_plans_at_once_one_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process writes its plan after this one has looked, and before it writes its own."""
    small(tmp_path)
    real = os.link

    def late(source: Any, target: Any) -> None:
        monkeypatch.setattr(os, "link", real)
        job_corpus.job(tmp_path, append=None)
        real(source, target)

    monkeypatch.setattr(os, "link", late)
    with pytest.raises(JobError, match="another job is planned here"):
        job_corpus.job(tmp_path)
    assert json.loads((tmp_path / "out" / "job.json").read_text())["options"]["append"] is None
    assert not list((tmp_path / "out").glob("*.tmp"))


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    small(tmp_path)
    planned = job_corpus.job(tmp_path)
    with faults.Faults(planned.folder, 1, "full"), pytest.raises((FormatError, JobError)) as caught:
        planned.run(progress=False)
    assert os.strerror(errno.ENOSPC) in str(caught.value) and str(planned.folder) in str(caught.value)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    small(tmp_path)
    (tmp_path / "out").write_bytes(b"a file")
    with pytest.raises(FormatError, match="it is a file; a folder is expected"):
        job_corpus.job(tmp_path)


def main() -> None:
    """Kills a child at each call of a job in turn."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    small(folder)
    complete(folder, name, "untouched")
    expected = job_corpus.content(folder / "untouched")
    for n in range(1, 1000):
        out = f"out {n}"
        (folder / out).mkdir()
        child = os.fork()
        if not child:
            with JobFaults(folder / out, n, "kill"):
                complete(folder, name, out)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        complete(folder, name, out)
        assert job_corpus.content(folder / out) == expected, f"killed at call {n}"
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            print(n)
            return
        assert os.WTERMSIG(status) == signal.SIGKILL


if __name__ == "__main__":
    skip_flushing()
    main()
