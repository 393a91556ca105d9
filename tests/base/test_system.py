"""Differences between systems: each class of `_base/system.py`, and the package on a stand-in for Windows."""

import ctypes
import errno
import io
import os
import re
import select
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import faults
import pytest
from job_corpus import job
from systems import NEEDS, lacking, needs, require
from windows import be_windows, library

import toksmith
from toksmith._base import system as _system
from toksmith._base import threads as _threads
from toksmith._cli import program
from toksmith._storage import atomic_files
from toksmith.errors import FormatError

HERE = Path(__file__).parents[1]
PACKAGE = Path(toksmith.__file__).parent
ROOT = PACKAGE.parent.parent
proc = needs("proc", "locks")
# Checks of the system, and calls that some systems lack. Only `_base/system.py` has them.
ONLY_SOME = re.compile(
    r"sys\.platform|os\.name\b|\bfcntl\b|\bmsvcrt\b|os\.(?:fork|link|sched_|geteuid|getuid|sysconf|mkfifo|statvfs|uname)"
    r"|os\.(?:fsync|replace|rename)\(|import (?:resource|termios|pty|select|pwd)\b|signal\.SIG(?!TERM|INT|_DFL|_IGN)"
    r"|/sys/fs|platform\.system"
)


def test_one_module_asks_which_system_it_is() -> None:
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name not in ("system.py", "core_missing.py") and (
            words := {*ONLY_SOME.findall(path.read_text(encoding="utf-8"))}
        ):
            found[path.relative_to(PACKAGE).as_posix()] = words
    assert found == {}


@pytest.mark.parametrize("name", NEEDS)
def test_a_need_names_what_the_system_lacks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NEEDS, name, NEEDS[name]._replace(met=lambda: False))
    lacking.cache_clear()
    try:
        assert needs(name).args == (True,) and needs(name).kwargs["reason"].startswith("lacks ")
        with pytest.raises(pytest.skip.Exception, match=f"lacks {re.escape(NEEDS[name].said)}"):
            require(name)
    finally:
        lacking.cache_clear()


@pytest.mark.skipif(sys.platform != "linux", reason="lacks Linux, where every need is met")
def test_linux_lacks_nothing() -> None:
    assert {name for name in NEEDS if lacking(name)} <= {"free threads", "git", "permissions"}


def test_text_files_are_written_with_the_same_line_ends_everywhere() -> None:
    """Python writes two characters for a line end on Windows unless `newline` is set."""
    writes = re.compile(r"""open\([^()\n]*(?:\([^()]*\)[^()\n]*)*["'][wax]t?["'][^()\n]*\)|\.write_text\(.*\)""")
    for path in sorted(PACKAGE.rglob("*.py")):
        for line in path.read_text(encoding="utf-8").splitlines():
            is_example = line.lstrip().startswith((">>>", "..."))
            for call in () if is_example else writes.findall(line):
                assert "newline=" in call, f"{path}: {call}"


@proc
@pytest.mark.parametrize("name", [name for name in faults.COMMANDS if name != "download"])
def test_files_are_replaced_where_open_files_keep_their_names(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = faults.COMMANDS[name]()
    command.run(tmp_path, "new")
    new = command.read(tmp_path)
    shutil.rmtree(tmp_path)
    tmp_path.mkdir()
    be_windows(monkeypatch)
    command.run(tmp_path, "old")
    assert command.read(tmp_path) != new
    command.run(tmp_path, "new")
    assert command.read(tmp_path) == new
    assert not faults.leftovers(tmp_path)


@proc
def test_a_job_runs_where_open_files_keep_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    be_windows(monkeypatch)
    planned = job(tmp_path)
    planned.run(progress=False)
    assert planned.finished and not planned.missing()
    assert toksmith.corpus.verify(planned.folder).ok
    with pytest.raises(toksmith.ToksmithError):  # the folder holds a job, which stays
        job(tmp_path, shard_size=7)
    assert not faults.leftovers(tmp_path)


@proc
def test_a_file_that_another_program_closes_soon_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    be_windows(monkeypatch)
    held, paused = open(target, "rb"), []  # noqa: SIM115 - closed by the pause

    def pause(seconds: float) -> None:
        paused.append(seconds)
        if len(paused) == 3:
            held.close()

    monkeypatch.setattr(_system.time, "sleep", pause)
    atomic_files.write_file(target, b"new")
    assert target.read_bytes() == b"new"
    assert paused == [_system.FIRST_PAUSE_S * factor for factor in (1, 2, 4)]


@proc
def test_a_target_that_stays_open_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    be_windows(monkeypatch)
    monkeypatch.setattr(_system.time, "sleep", lambda _: None)
    with open(target, "rb"), pytest.raises(FormatError) as caught:
        atomic_files.write_file(target, b"new")
    said = "cannot be written: another program has the file open, or permissions forbid it; close the file there, and repeat"
    assert str(caught.value) == f"{target}: {said}"
    assert isinstance(caught.value.__cause__, OSError) and caught.value.__cause__.errno == errno.EACCES
    assert target.read_bytes() == b"old" and [path.name for path in tmp_path.iterdir()] == ["file"]


@proc
def test_files_that_other_processes_write_are_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    windows = be_windows(monkeypatch)
    name = str(tmp_path / "file.0123456789abcdef.tmp")
    with open(name, "wb"):
        assert windows.is_held(name)
        windows.remove_unheld(name)
    assert os.path.exists(name) and not windows.is_held(name)
    windows.remove_unheld(name)
    assert os.path.exists(name), "a file that was just closed may be about to be renamed"
    before = os.stat(name).st_mtime - _system.MOVING_S - 1
    os.utime(name, (before, before))
    windows.remove_unheld(name)
    assert not os.path.exists(name) and not windows.is_held(name)


@proc
@pytest.mark.parametrize("system", [_system.Posix(), _system.Windows()], ids=lambda each: type(each).__name__)
def test_one_at_a_time_replaces_files_of_a_folder(
    system: _system.Posix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(system, _system.Windows):
        system = be_windows(monkeypatch)
    inside, most, begun = 0, 0, threading.Barrier(4)

    def enter() -> None:
        nonlocal inside, most
        begun.wait()
        for _ in range(5):
            with system.exclusive(str(tmp_path)):
                inside += 1
                most = max(most, inside)
                os.stat(tmp_path)  # others may run
                inside -= 1

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (inside, most) == (0, 1)
    assert not [*tmp_path.iterdir()]


@proc
@pytest.mark.parametrize("on_windows", [False, True])
def test_a_new_name_replaces_nothing(on_windows: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = be_windows(monkeypatch) if on_windows else _system.Posix()
    new, target = tmp_path / "new", tmp_path / "target"
    with open(new, "wb") as file:
        file.write(b"first")
        file.flush()
        system.add(file, str(new), str(target))
    new.unlink(missing_ok=True)
    new.write_bytes(b"second")
    with open(new, "ab") as file, pytest.raises(FileExistsError):
        system.add(file, str(new), str(target))
    assert target.read_bytes() == b"first"


@pytest.mark.parametrize(
    ("system", "bytes"),
    [
        (_system.Posix(), "größe \udcff\n".encode("utf-8", "surrogateescape")),
        (_system.MacOS(), "größe \udcff\n".encode("utf-8", "surrogateescape")),
        (_system.Windows(), "größe \\udcff\n".encode()),
    ],
    ids=lambda each: type(each).__name__,
)
def test_output_is_utf8_with_one_line_end(system: _system.Posix, bytes: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Windows console of Western Europe, with the line ends that Python writes there."""
    written = io.BytesIO()
    is_windows = isinstance(system, _system.Windows)
    stream = io.TextIOWrapper(written, encoding="cp1252", newline="\r\n" if is_windows else "\n")
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(program, "SYSTEM", system)
    program.use_utf8()
    print("größe \udcff", file=stream, flush=True)
    assert written.getvalue() == bytes


def test_processors_are_counted_without_an_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "process_cpu_count", lambda: 5, raising=False)
    assert [system().processors() for system in (_system.Posix, _system.MacOS, _system.Windows)] == [5, 5, 5]
    monkeypatch.delattr(os, "process_cpu_count")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert [system().processors() for system in (_system.Posix, _system.MacOS, _system.Windows)] == [1, 1, 1]
    assert _threads.processor_count.__wrapped__("/nowhere") == 1


def test_peak_memory_is_in_mib_on_each_system(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrusage", lambda _: resource.struct_rusage((0.0, 0.0, 3 << 20, *[0] * 13)))
    assert (_system.Posix().peak_memory_mib(), _system.MacOS().peak_memory_mib()) == (3072, 3)


@pytest.mark.parametrize(("told", "expected"), [(1, 5), (0, None)])
def test_peak_memory_on_windows_is_read_from_its_structure(
    told: int, expected: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library fills in a structure: its size is known, the page faults come next, then the peak."""

    def fill(process: int, counters: Any, size: int) -> int:
        assert (process, size) == (77, 72)
        ctypes.cast(counters, ctypes.POINTER(ctypes.c_size_t))[1] = 5 << 20
        return told

    monkeypatch.setattr(ctypes, "WinDLL", library(fill), raising=False)
    assert _system.Windows().peak_memory_mib() == expected


def test_macos_flushes_the_disk_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    flushed: list[tuple[str, int]] = []

    def full(file: int, what: int) -> None:
        flushed.append(("all", what))
        if len(flushed) > 1:
            raise OSError(errno.ENOTSUP, "no such call here")

    monkeypatch.setattr(fcntl, "fcntl", full)
    monkeypatch.setattr(os, "fsync", lambda file: flushed.append(("bytes", 0)))
    system = _system.MacOS()
    system.flush(1)
    system.flush(1)
    assert flushed == [("all", 51), ("all", 51), ("bytes", 0)]


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(select, "epoll"), reason="lacks epoll")
@pytest.mark.parametrize(("system", "code"), [("Windows", 0), ("Posix", 1)])
def test_a_reader_that_left_ends_a_command_quietly_on_windows(system: str, code: int) -> None:
    """Windows calls it an invalid argument, and so does Linux whatever is written to an epoll."""
    script = f"""if True:
        from toksmith import _cli
        from toksmith._base import system as _system
        from toksmith._cli import program as _program
        _program.SYSTEM = _system.{system}()
        _cli.main()
    """
    with select.epoll() as refusing:
        command = [sys.executable, "-c", script, "list", "formats"]
        done = subprocess.run(command, stdout=refusing.fileno(), stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, bool(done.stderr)) == (code, bool(code)), done.stderr
