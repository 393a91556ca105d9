"""Whatever fails while `graft` writes, its folder is absent or whole, and the same command completes it."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path

import faults
import pytest
from model_folders import EXTENDED, checkpoint, content
from processors import run_tests_file, skip_flushing
from systems import needs

import toksmith
from toksmith.errors import FormatError

LEAST = 40  # calls of a whole graft


def grafting(source: Path, *, link: bool = False) -> faults.Command:
    """A graft into a folder `new`, which is verified if it exists already."""

    def run(folder: Path, version: str) -> None:
        out = folder / "new"
        report = toksmith.graft(source, EXTENDED, out, link=link, verify=out.exists(), progress=False)
        assert report.ok, report.proof

    def read(folder: Path) -> object:
        assert all(path.name.startswith("new") for path in folder.iterdir())
        return content(folder / "new") if (folder / "new").exists() else None

    return faults.Command(run, read, (FormatError,))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "shards", "link"),
    [("once", 2, False), ("full", 2, False), pytest.param("once", 4, True, marks=needs("links"))],
)
def test_every_call_that_writes_fails_in_turn(mode: str, shards: int, link: bool, tmp_path: Path) -> None:
    source = checkpoint(tmp_path / "old", shards=shards)
    before = content(source)
    assert faults.each_fault(grafting(source, link=link), tmp_path / "folder", mode, "") >= LEAST
    assert content(source) == before


@pytest.mark.slow
def test_every_call_that_reads_fails_in_turn(tmp_path: Path) -> None:
    source = checkpoint(tmp_path / "old", shards=2)
    before = content(source)
    for n in range(1, 1000):
        with faults.Faults(source, n, "once") as found:
            try:
                toksmith.graft(source, EXTENDED, tmp_path / "new", progress=False)
                refused = None
            except FormatError as error:
                refused = error
        assert content(source) == before
        if not found.fired:
            assert refused is None and n > LEAST
            return
        if refused is None:  # what failed was closing a file that was read
            assert found.calls[n - 1] == "close"
            assert toksmith.graft(source, EXTENDED, tmp_path / "new", verify=True).ok
            for path in (tmp_path / "new").iterdir():
                path.unlink()
            (tmp_path / "new").rmdir()
        assert os.listdir(tmp_path) == ["old"], f"call {n} ({found.calls[n - 1]}): {refused!r}"
    raise AssertionError("a run never finished untouched")


@pytest.mark.slow
@needs("fork")
def test_the_process_is_killed_at_every_call(tmp_path: Path) -> None:
    done = run_tests_file(__file__, str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) >= LEAST


def test_a_full_disk_is_named(tmp_path: Path) -> None:
    source = checkpoint(tmp_path / "old")
    (tmp_path / "folder").mkdir()
    with faults.Faults(tmp_path / "folder", 1, "full"), pytest.raises(FormatError) as caught:
        toksmith.graft(source, EXTENDED, tmp_path / "folder" / "new")
    assert os.strerror(errno.ENOSPC) in str(caught.value) and "new" in str(caught.value)
    assert not os.listdir(tmp_path / "folder")


def test_a_disk_that_writes_other_bytes_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `verify` the folder is compared before it gets its name."""
    from toksmith import _graft

    source, real = checkpoint(tmp_path / "old"), _graft.write_all

    def flipped(plan: object, place: str, **more: object) -> None:
        real(plan, place, **more)  # type: ignore[arg-type]
        path = Path(place) / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-1] + b"\x00")

    monkeypatch.setattr(_graft, "write_all", flipped)
    with pytest.raises(FormatError, match="check the disk"):
        toksmith.graft(source, EXTENDED, tmp_path / "new", verify=True)
    assert os.listdir(tmp_path) == ["old"]


def main() -> None:
    """Kills a child at each call in turn."""
    folder = Path(sys.argv[1])
    source = checkpoint(folder / "old")
    print(json.dumps(faults.each_kill(grafting(source), folder / "folder", "")))


if __name__ == "__main__":
    skip_flushing()
    main()
