"""Planted entries in place of files of a job: no file outside is read or changed, no call hangs, and the error names them.

The table: each file that a job writes, replaced by a link, a link to nothing, a folder, a pipe, a link to a device, or a file
that is too large to be read whole; then each command that reads or continues the folder. It runs in a separate process,
which has a time limit and a memory limit.
"""

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from job_corpus import END, TOK, content, make
from processors import run_tests_file
from systems import needs

import toksmith
from toksmith._base.paths import WHOLE_LIMIT, open_guarded, read_guarded, status_of
from toksmith._base.system import JUNCTION, Windows
from toksmith._cli import app
from toksmith.errors import FormatError

VICTIM = b"precious\n"
CORPUS = [f"low lower lowest {number} slow slower slowest {number * 7919}" for number in range(30)]
MOST_MEMORY = 6 << 30
PLANTED: dict[str, Callable[[Path, Path], object]] = {
    "link": lambda path, victim: path.symlink_to(victim),
    "link to nothing": lambda path, victim: path.symlink_to(victim.parent / "nothing"),
    "folder": lambda path, victim: path.mkdir(),
    "pipe": lambda path, victim: os.mkfifo(path),
    "device": lambda path, victim: path.symlink_to("/dev/zero"),
    "large": lambda path, victim: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), WHOLE_LIMIT + 1),
}
WHOLE = ("job.json", "manifest.json", "SHA256SUMS", "receipts/", "tokenizer-", "merge.json")
JOBS: dict[str, list[str]] = {
    "npy": ["--sources", "--errors", "quarantine"],
    "megatron": ["--shuffle", "5"],
    **{name: [] for name in ("nanogpt", "llmc", "datatrove", "parquet", "hf", "mds", "dolma", "litdata")},
    "counts": [],
}
FINISHED = ["verify JOB", "show JOB", "merge JOB JOB -o NEW"]
READERS = {"counts": ["status JOB", "verify JOB", "merge-counts JOB -o NEW.tsv"], "merged": FINISHED}


def command(kind: str) -> list[str]:
    """The command of a job."""
    if kind == "merged":
        return ["corpus", "merge", "ids", "-o", "JOB", "--quiet"]
    if kind == "counts":
        return ["corpus", "count", "in", "-o", "JOB/", "--shard-size", "900", "--quiet"]
    return [
        "corpus",
        "tokenize",
        "in",
        "-t",
        "t.toksmith",
        "-o",
        "JOB",
        "--to",
        kind,
        "--append",
        END,
        *JOBS[kind],
        "--quiet",
    ]


def run(words: list[str], new: str = "new") -> tuple[int, str]:
    """The exit code and the output of a command in this folder."""
    done = CliRunner().invoke(app, [word.replace("JOB", "job").replace("NEW", new) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, " ".join(done.output.replace("│", " ").split())


def kinds_for(name: str, *, all_kinds: bool) -> list[str]:
    """The kinds of planted entries for a file."""
    kinds = [*PLANTED] if all_kinds else ["link", "pipe"]
    return [kind for kind in kinds if kind != "large" or name.startswith(WHOLE)]


class Folder:
    """The folder of a job that can be restored, and a file outside that must stay unchanged."""

    def __init__(self, kept: Path) -> None:
        self.kept, self.victim, self.path = kept, Path("victim").resolve(), Path("job")
        self.victim.write_bytes(VICTIM)

    def plant(self, name: str, kind: str) -> None:
        """Restores the folder, and plants an entry in place of a file."""
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.copytree(self.kept, self.path)
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        PLANTED[kind](path, self.victim)

    def repair(self, name: str) -> None:
        """Removes the planted entry, and restores the file."""
        path, old = self.path / name, self.kept / name
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
        if old.exists():
            path.parent.mkdir(exist_ok=True)
            shutil.copy2(old, path)

    def check(self, said: str) -> None:
        """Requires that no file outside of the folder has changed."""
        assert self.victim.read_bytes() == VICTIM, said
        assert not Path("nothing").exists(), said


def continue_job(kind: str, whole: Path, planned: Path) -> Iterator[str]:
    """Each file is replaced in the folder of a planned job, and the same command is run."""
    folder, expected = Folder(planned), content(whole)
    names = [*expected, *temporary_files(kind)]
    for name in names:
        for planted in kinds_for(name, all_kinds=kind in ("npy", "counts", "merged")):
            folder.plant(name, planted)
            code, output = run(command(kind))
            said = f"{kind}: {planted} in place of {name}: exit {code}: {output}"
            folder.check(said)
            assert code == 0 or (code == 1 and Path(name).name in output), said
            if code:  # otherwise the command replaced the entry
                folder.repair(name)
            again, output = run(command(kind))
            assert again == 0 or "is finished" in output or "merged here already" in output, f"{said}; then {output}"
            found = {each: sha256 for each, sha256 in content(folder.path).items() if each in expected}
            assert found == expected, said
            yield said


def temporary_files(kind: str) -> list[str]:
    """Files that exist only while a job runs."""
    files = {"megatron": ["buckets/00000.table", "buckets/00000.ids"], "npy": ["00000.npy.pending"]}
    parts = ["parts/00000.ids"] if kind in ("nanogpt", "llmc") else []
    return [*files.get(kind, parts), f"00000.npy.{'0' * 16}.tmp"]


def read_job(kind: str, whole: Path) -> Iterator[str]:
    """Each file is replaced in the folder of a finished job, and each command is run that reads such a folder."""
    folder = Folder(whole)
    for name in content(whole):
        for planted in kinds_for(name, all_kinds=kind in ("npy", "counts", "merged")):
            folder.plant(name, planted)
            for words in READERS.get(kind, ["status JOB", *FINISHED]):
                new = f"new {len(os.listdir())}"
                code, output = run(["corpus", *words.split()], new)
                said = f"{kind}: {planted} in place of {name}: {words}: exit {code}: {output}"
                folder.check(said)
                assert code in (0, 1, 3), said
                assert code == 0 or Path(name).name in output, said
                assert code or not words.startswith("verify"), said
                yield said


def table(kind: str) -> int:
    """Runs all rows of a kind of job in this folder, and gives their number."""
    TOK.save("t.toksmith")
    make(Path("in"))
    count = 0
    if kind == "merged":
        assert run(command("npy"))[0] == 0
        shutil.move("job", "ids")
        assert run(command(kind))[0] == 0
        shutil.move("job", "whole")
        Path("started").mkdir()
        shutil.copy2(Path("whole", "merge.json"), "started")
        rows = [*continue_job(kind, Path("whole"), Path("started")), *read_job(kind, Path("whole"))]
        return len(rows)
    assert run([*command(kind), "--plan"])[0] == 0
    shutil.copytree("job", "planned")
    assert run(command(kind))[0] == 0
    shutil.move("job", "whole")
    count += sum(1 for _ in continue_job(kind, Path("whole"), Path("planned")))
    return count + sum(1 for _ in read_job(kind, Path("whole")))


@pytest.mark.slow
@needs("limits", "links", "pipes")
@pytest.mark.parametrize("kind", [*JOBS, "merged"])
def test_planted_files_in_the_folder_of_a_job_do_no_harm(kind: str, tmp_path: Path) -> None:
    done = run_tests_file(__file__, kind, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) >= 40


# The guarded functions


@needs("links", "pipes")
@pytest.mark.parametrize("kind", [kind for kind in PLANTED if kind != "large"])
def test_only_regular_files_are_opened(kind: str, tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(VICTIM)
    PLANTED[kind](tmp_path / "file", tmp_path / "victim")
    what = {"folder": "a folder", "pipe": "a pipe"}.get(kind, "a link")
    for read in (status_of, open_guarded, read_guarded):
        with pytest.raises(OSError, match=f"it is {what}.*delete it or move it away"):
            read(tmp_path / "file")
    assert status_of(tmp_path / "none") is None and status_of(tmp_path / "victim" / "none") is None
    with pytest.raises(FileNotFoundError):
        open_guarded(tmp_path / "none")


@needs("links")
def test_a_link_that_replaces_the_file_before_the_opening_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "victim").write_bytes(VICTIM)
    (tmp_path / "file").write_bytes(b"own")
    real = os.open

    def late(path: Any, flags: int, *rest: Any, **more: Any) -> int:
        if os.path.basename(path) == "file":
            os.unlink(path)
            os.symlink(tmp_path / "victim", path)
        return real(path, flags, *rest, **more)

    assert read_guarded(tmp_path / "file") == b"own"
    monkeypatch.setattr(os, "open", late)
    with pytest.raises(OSError, match=r"symbolic links"):
        read_guarded(tmp_path / "file")


def test_ranges_are_read_and_large_files_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    ranges = [(0, None), (3, 5), (8, 1 << 70), (5, 3), (20, 30)]
    assert [read_guarded(path, *each) for each in ranges] == [b"0123456789", b"34", b"89", b"", b""]
    os.truncate(path, WHOLE_LIMIT + 1)
    with pytest.raises(OSError, match=rf"it has {WHOLE_LIMIT + 1:,} bytes, and the limit.*{WHOLE_LIMIT:,}"):
        read_guarded(path)
    assert read_guarded(path, 0, 3) == b"012"


def test_a_file_too_large_to_be_read_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toksmith._base.paths.WHOLE_LIMIT", 100)
    with pytest.raises(FormatError, match=r"the limit for a file that is read whole is 100"):
        toksmith.corpus.plan(TOK, make(tmp_path / "in"), tmp_path / "job")
    assert os.listdir(tmp_path / "job") == []


def test_a_junction_of_windows_is_a_link() -> None:
    found: Any = SimpleNamespace(st_mode=0o040755, st_reparse_tag=JUNCTION)
    assert Windows().is_link(found) and not Windows().is_link(SimpleNamespace(st_mode=0o040755, st_reparse_tag=0))  # type: ignore[arg-type]


# Files next to one that the user names


@needs("links")
def test_only_the_named_file_of_ids_can_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(VICTIM)
    for name in ("ids.ends.npy", "ids.manifest.json"):
        (tmp_path / name).symlink_to(tmp_path / "victim")
        with pytest.raises(FormatError, match=rf"{name}: cannot be written: it is a link"):
            toksmith.corpus.encode(TOK, ["low"], tmp_path / "ids.npy", progress=False)
        assert (tmp_path / "victim").read_bytes() == VICTIM and not (tmp_path / "ids.npy").exists()
        (tmp_path / name).unlink()
    (tmp_path / "disk").mkdir()
    (tmp_path / "ids.npy").symlink_to(tmp_path / "disk" / "ids.npy")
    written = toksmith.corpus.encode(TOK, ["low"], tmp_path / "ids.npy", progress=False)
    assert written.read()[0].tolist() == TOK.encode("low") and os.listdir(tmp_path / "disk") == ["ids.npy"]


@needs("pipes")
def test_a_pipe_next_to_ids_is_refused_without_waiting(tmp_path: Path) -> None:
    written = toksmith.corpus.encode(TOK, ["low"], tmp_path / "ids.npy", progress=False)
    for name in ("ids.npy.pending", "ids.ends.npy", "ids.manifest.json", "ids.npy"):
        path = tmp_path / name
        path.unlink(missing_ok=True)
        os.mkfifo(path)
        with pytest.raises(FormatError, match=rf"{name}: cannot be read: it is a pipe"):
            written.read()
        path.unlink()
        written = toksmith.corpus.encode(TOK, ["low"], tmp_path / "ids.npy", progress=False)


@needs("links")
def test_the_folder_of_a_job_can_be_a_link(tmp_path: Path) -> None:
    """The user names it."""
    (tmp_path / "disk").mkdir()
    (tmp_path / "job").symlink_to(tmp_path / "disk")
    done = toksmith.corpus.plan(TOK, make(tmp_path / "in"), tmp_path / "job").run(progress=False)
    assert done is not None and toksmith.corpus.verify(tmp_path / "job", decode=True, source=True).ok
    assert (tmp_path / "disk" / "SHA256SUMS").exists()


@needs("links")
@pytest.mark.parametrize("suffix", ["", ".checkpoint"])
def test_a_link_in_the_folder_of_a_study_changes_no_other_file(suffix: str, tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(VICTIM)
    toksmith.study(CORPUS, sizes=[260, 270], keep=tmp_path / "first", progress=False)
    names = os.listdir(tmp_path / "first")
    assert "study.json" in names and len(names) >= 2
    for name in names:
        (tmp_path / "kept").mkdir()
        (tmp_path / "kept" / f"{name}{suffix}").symlink_to(tmp_path / "victim")
        with contextlib.suppress(FormatError):
            toksmith.study(CORPUS, sizes=[260, 270], keep=tmp_path / "kept", progress=False)
        assert (tmp_path / "victim").read_bytes() == VICTIM
        shutil.rmtree(tmp_path / "kept")


if __name__ == "__main__":
    import resource

    with contextlib.suppress(ValueError, OSError):  # macOS does not take it
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    print(json.dumps(table(sys.argv[1])))
