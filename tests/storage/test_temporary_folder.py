"""A temporary folder of a killed process is removed by the next one, and no folder that is in use."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from processors import LIMIT_S
from systems import needs

from toksmith._storage.temporary_folder import temporary_folder
from toksmith.errors import FormatError

# Prints its folder, and ends when its input ends.
HOLDER = """
import sys
from toksmith._storage.temporary_folder import temporary_folder
with temporary_folder(sys.argv[1]) as folder:
    (folder / "inside").mkdir()
    (folder / "inside" / "ids").write_bytes(b"low")
    print(folder, flush=True)
    sys.stdin.read()
"""
# Loses its process when it uploads a shard.
KILLED_JOB = """
import os, signal, sys, toksmith
from toksmith._storage import remote
if sys.argv[3] == "killed":
    remote.upload_file = lambda local, url: os.kill(os.getpid(), signal.SIGKILL)
tok = toksmith.train("low lower lowest", merges=3)
toksmith.corpus.plan(tok, toksmith.files(sys.argv[1]), sys.argv[2]).run(progress=False)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator["subprocess.Popen[str]"]:
    """A process with a temporary folder in `tmp_path`."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    yield child
    child.communicate(timeout=LIMIT_S)


def folder_of(child: "subprocess.Popen[str]") -> Path:
    assert child.stdout is not None
    return Path(child.stdout.readline().rstrip())


@needs("locks")
def test_a_folder_stays_as_long_as_its_owner_lives(holder: "subprocess.Popen[str]", tmp_path: Path) -> None:
    left = folder_of(holder)
    assert (left / "inside" / "ids").read_bytes() == b"low" and left.stat().st_mode & 0o77 == 0
    with temporary_folder(tmp_path) as own, temporary_folder(tmp_path) as other:
        assert own != other and own.parent == left.parent and (left / "inside" / "ids").exists()
    assert not own.exists() and not other.exists() and left.exists()
    holder.send_signal(signal.SIGKILL)
    holder.wait(LIMIT_S)
    assert left.exists()
    with temporary_folder(tmp_path) as own:
        assert sorted(path.name for path in tmp_path.iterdir()) == [own.name, f"{own.name}.tmp"]
    assert not os.listdir(tmp_path)


@needs("locks")
def test_other_names_stay(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "mine").write_bytes(b"low")
    (tmp_path / "toksmith-work").mkdir()
    (tmp_path / f"toksmith-work.{'0' * 16}").mkdir()  # without the file that its owner held
    linked = f"toksmith-work.{'1' * 16}"
    (tmp_path / linked).symlink_to(tmp_path / "elsewhere")
    (tmp_path / f"{linked}.tmp").write_bytes(b"")
    (tmp_path / f"toksmith-work.{'2' * 16}.tmp").write_bytes(b"")  # killed before the folder existed
    before = sorted(os.listdir(tmp_path))
    with temporary_folder(tmp_path):
        pass
    assert sorted(os.listdir(tmp_path)) == before[:-1]
    assert (tmp_path / "elsewhere" / "mine").read_bytes() == b"low"


def test_threads_keep_their_folders(tmp_path: Path) -> None:
    def use(number: int) -> bytes:
        with temporary_folder(tmp_path) as folder:
            (folder / "ids").write_bytes(b"%d" % number)
            return (folder / "ids").read_bytes()

    with ThreadPoolExecutor(4) as threads:
        assert [*threads.map(use, range(200))] == [b"%d" % number for number in range(200)]
    assert os.listdir(tmp_path) == []


def test_a_missing_parent_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"none: cannot be written"), temporary_folder(tmp_path / "none"):
        pass


@needs("locks")
def test_the_next_run_of_a_job_on_a_store_removes_the_folder_of_a_killed_one(tmp_path: Path) -> None:
    pytest.importorskip("fsspec", reason="lacks fsspec")
    (tmp_path / "a.txt").write_bytes(b"low lower")
    (tmp_path / "tmp").mkdir()

    def run_job(how: str) -> "subprocess.CompletedProcess[bytes]":
        command = [sys.executable, "-c", KILLED_JOB, str(tmp_path / "a.txt"), "memory://out", how]
        there = os.environ | {"TMPDIR": str(tmp_path / "tmp")}
        return subprocess.run(command, env=there, capture_output=True, check=False, timeout=LIMIT_S)

    assert run_job("killed").returncode == -signal.SIGKILL
    (left,) = (path for path in (tmp_path / "tmp").iterdir() if path.is_dir())
    assert [path.suffix for path in left.iterdir()], "the shard was written"
    again = run_job("whole")
    assert again.returncode == 0, again.stderr.decode()
    assert os.listdir(tmp_path / "tmp") == []
