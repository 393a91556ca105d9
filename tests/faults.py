"""Makes the n-th system call of a command fail, or kills the process there, like SQLite's tests.

`Faults` ignores calls outside of one folder. Inside it counts the calls that create, read, write, move and remove
files. Run as a program, this file kills a child at each call in turn, and prints the resulting states.
"""

import builtins
import errno
import hashlib
import io
import json
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import toksmith
from toksmith import _formats, explain
from toksmith._sources import encodings
from toksmith.corpus import EncodedCorpus
from toksmith.errors import FormatError

CORPUS = [f"low lower lowest {number} slow slower slowest {number * 7919}" for number in range(300)]


class Raw(io.FileIO):
    """A file with counted calls."""

    def __init__(self, faults: "Faults", path: str, mode: str) -> None:
        self._faults = faults
        faults.call("open")
        super().__init__(path, mode)
        faults.files.add(self.fileno())

    def write(self, data: Any, /) -> int:
        view = memoryview(data).cast("B")
        # A failed write has written a part.
        self._faults.call("write", lambda: super(Raw, self).write(view[: len(view) // 2]))
        return super().write(view)

    def readinto(self, data: Any, /) -> int | None:
        self._faults.call("read")
        return super().readinto(data)

    def readall(self) -> bytes:
        self._faults.call("read")
        return super().readall()

    def truncate(self, size: int | None = None, /) -> int:
        self._faults.call("truncate")
        return super().truncate(size)

    def close(self) -> None:
        if self.closed:
            return
        self._faults.files.discard(self.fileno())
        super().close()  # a file is closed even where closing it fails
        self._faults.call("close")


class Faults:
    """The n-th call in a folder fails: once, or with all later writes ("full"), or the process is killed.

    Attributes: `calls` so far, by name; `fired` whether the n-th call was reached.
    """

    def __init__(self, folder: Path, n: int, mode: str) -> None:
        self.folder, self.n, self.mode = os.path.realpath(folder), n, mode
        self.calls: list[str] = []
        self.files: set[int] = set()
        self.fired = False
        self._counting = threading.Lock()
        self._kept: list[tuple[Any, str, Any]] = []

    def call(self, name: str, half: Callable[[], object] = lambda: None) -> None:
        """Count a call, which can fail."""
        with self._counting:  # several threads can write
            self.calls.append(name)
            number = len(self.calls)
        if number < self.n:
            return
        if self.mode == "kill":
            half()
            os.kill(os.getpid(), signal.SIGKILL)
        if number == self.n or (self.mode == "full" and name in ("open to write", "write", "fsync")):
            self.fired = True
            half()
            problem = errno.ENOSPC if self.mode == "full" else errno.EIO
            raise OSError(problem, os.strerror(problem))

    def inside(self, path: Any) -> bool:
        """Whether a path or an open file is in the folder."""
        if isinstance(path, int):
            return path in self.files
        return os.path.realpath(os.fsdecode(path)).startswith(self.folder)

    def __enter__(self) -> "Faults":  # noqa: PYI034 - `Self` came with Python 3.11
        real_open, real_close = builtins.open, os.close

        def opened(path: Any, mode: str = "r", buffering: int = -1, *rest: Any, **more: Any) -> Any:
            if isinstance(path, int) or not self.inside(path):
                return real_open(path, mode, buffering, *rest, **more)
            raw = Raw(self, os.fspath(path), mode.replace("b", "").replace("t", ""))
            file: Any = io.BufferedReader(raw) if "r" in mode and "+" not in mode else io.BufferedWriter(raw)
            return file if "b" in mode else io.TextIOWrapper(file, *rest, **more)

        def counted(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
            def made(path: Any, *rest: Any, **more: Any) -> Any:
                if self.inside(path):
                    self.call(name)
                return real(path, *rest, **more)

            return made

        def os_open(path: Any, *rest: Any, **more: Any) -> int:
            if not self.inside(path):
                return real_os_open(path, *rest, **more)
            self.call("open")
            file = real_os_open(path, *rest, **more)
            self.files.add(file)
            return file

        def os_close(file: int) -> None:
            known = file in self.files
            self.files.discard(file)
            real_close(file)
            if known:
                self.call("close")

        real_os_open = os.open
        self.put(builtins, "open", opened)
        self.put(io, "open", opened)
        self.put(os, "open", os_open)
        self.put(os, "close", os_close)
        for name in ("fsync", "replace", "rename", "unlink", "truncate", "chmod", "mkdir", "scandir", "fstat"):
            self.put(os, name, counted(name, getattr(os, name)))
        return self

    def put(self, where: Any, name: str, value: Any) -> None:
        """Replace a function until the block ends."""
        self._kept.append((where, name, getattr(where, name)))
        setattr(where, name, value)

    def __exit__(self, *_: object) -> None:
        for where, name, value in reversed(self._kept):
            setattr(where, name, value)


class Command:
    """A command that writes files, and the content that readers find.

    Attributes: `run` with "old" or "new" writes in a folder; `read` returns its content, None if it is empty;
    `refusals` are the errors that the command can raise; `passes` whether it continues without the files that it could
    not write; `grows` whether a beginning of the new content is also a good state.
    """

    def __init__(
        self,
        run: Callable[[Path, str], object],
        read: Callable[[Path], object],
        refusals: tuple[type[BaseException], ...],
        *,
        passes: bool = False,
        grows: bool = False,
    ) -> None:
        self.run, self.read, self.refusals, self.passes, self.grows = run, read, refusals, passes, grows


def leftovers(folder: Path) -> list[str]:
    """Files that exist only during a run."""
    return [str(path) for path in folder.rglob("*") if path.name.endswith((".tmp", ".tmp.new", ".pending", ".partial"))]


def start(command: Command, folder: Path, before: str) -> object:
    """The folder before the command: empty, or with the files of "old". Returns the content for a reader."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if before == "old":
        command.run(folder, "old")
    return command.read(folder)


def check(command: Command, folder: Path, sees: tuple[object, ...], said: str) -> None:
    """Check that the reader finds one of these; and that the command, repeated, completes and leaves no other files."""
    found = command.read(folder)
    new = sees[-1]
    grown = command.grows and isinstance(found, tuple) and isinstance(new, tuple) and found == new[: len(found)]
    assert found in sees or grown, f"{said}: the reader finds neither the old files nor the new ones"
    command.run(folder, "new")
    assert command.read(folder) == sees[-1], f"{said}: the same command did not complete it"
    assert not leftovers(folder), f"{said}: {leftovers(folder)}"


def each_fault(command: Command, folder: Path, mode: str, before: str) -> int:
    """Let every call fail in turn, until a run finishes without a fault; return the number of calls."""
    start(command, folder, "new" if before == "new" else "")
    command.run(folder, "new")
    new = command.read(folder)
    for n in range(1, 1000):
        old = start(command, folder, before)
        assert old != new
        with Faults(folder, n, mode) as faults:
            try:
                command.run(folder, "new")
                refused = None
            except command.refusals as error:
                refused = error
        if not faults.fired:
            assert refused is None
            check(command, folder, (new,), "untouched")
            return n - 1
        said = f"{mode}, {before or 'nothing'} before, call {n} ({faults.calls[n - 1]}): {refused!r}"
        check(command, folder, (old, new) if refused or command.passes else (new,), said)
    raise AssertionError("a run never finished untouched")


def each_kill(command: Command, folder: Path, before: str) -> int:
    """The same with a child that is killed at each call in turn."""
    start(command, folder, "")
    command.run(folder, "new")
    new = command.read(folder)
    for n in range(1, 1000):
        old = start(command, folder, before)
        child = os.fork()
        if not child:
            with Faults(folder, n, "kill"):
                command.run(folder, "new")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            check(command, folder, (new,), "untouched")
            return n - 1
        assert os.WTERMSIG(status) == signal.SIGKILL
        check(command, folder, (old, new), f"killed at call {n}, {before or 'nothing'} before")
    raise AssertionError("a run never finished untouched")


# The commands


def encoding() -> Command:
    """Files of ids, their ends and the manifest."""
    tok = toksmith.train("sad sadder saddest", 262)
    texts = {"old": ["low", "lower"] * 100, "new": ["sad", "", "sadder"] * 700}

    def read(folder: Path) -> object:
        if not (folder / "ids.manifest.json").exists() and not (folder / "ids.npy.pending").exists():
            return None
        found = EncodedCorpus.at(folder / "ids.npy").read()
        return found.ids.tolist(), found.ends.tolist()

    def run(folder: Path, version: str) -> None:
        toksmith.corpus.encode(tok, texts[version], folder / "ids.npy", threads=1)

    return Command(run, read, (FormatError,))


def saving(name: str, suffix: str) -> Command:
    """A tokenizer in a format."""
    texts = {"old": "low lower lowest", "new": "sad sadder saddest"}
    toks = {version: toksmith.train(text, 262, pattern="gpt2") for version, text in texts.items()}

    def read(folder: Path) -> object:
        try:
            return _formats.read_model(folder / f"tok{suffix}", name).fingerprint()
        except FormatError as error:
            if "there is no such file" in str(error) or "holds no file" in str(error):
                return None
            raise

    return Command(
        lambda folder, version: toks[version].save(folder / f"tok{suffix}", format=name), read, (FormatError,)
    )


def drawing(suffix: str) -> Command:
    """A result as a page or a picture."""
    tok = toksmith.train("low", 257)
    results = {"old": explain.text(tok, "low"), "new": explain.text(tok, "lower " * 9)}

    def run(folder: Path, version: str) -> None:
        save = results[version].save_html if suffix == ".html" else results[version].save_svg
        save(folder / f"view{suffix}")

    def read(folder: Path) -> object:
        path = folder / f"view{suffix}"
        return path.read_text(encoding="utf-8") if path.exists() else None

    return Command(run, read, (FormatError,))


def counting(suffix: str) -> Command:
    """Counts of pieces."""
    counts = {"old": toksmith.corpus.count("low lower"), "new": toksmith.corpus.count(["sad", "sadder"] * 700)}

    def read(folder: Path) -> object:
        path = folder / f"counts{suffix}"
        return toksmith.corpus.PieceCounts.load(path).items() if path.exists() else None

    return Command(lambda folder, version: counts[version].save(folder / f"counts{suffix}"), read, (FormatError,))


def downloading() -> Command:
    """A published file; the cache has none, or a file with other content."""
    data = b"published" * 9999
    row = encodings.Published("x", "http://x/file.tiktoken", hashlib.sha256(data).hexdigest(), "gpt2")

    def run(folder: Path, version: str) -> None:
        if version == "old":
            (folder / "cache").mkdir()
            (folder / "cache" / "file.tiktoken").write_bytes(b"wrong")
            return
        server = mock.patch("pooch.HTTPDownloader", return_value=lambda url, out, _: out.write(data))
        with mock.patch.dict(os.environ, TOKSMITH_CACHE=str(folder / "cache")), server:
            place, found = encodings.find_file(row)
        assert found == data and place.startswith(str(folder))

    def read(folder: Path) -> object:
        path = folder / "cache" / "file.tiktoken"
        return path.read_bytes() if path.exists() else None

    return Command(run, read, (), passes=True)


def checkpointing() -> Command:
    """The merges of a training, of which "old" learns the first; a run continues after the last whole line."""

    def run(folder: Path, version: str) -> None:
        size = 280 if version == "old" else 400
        tok = toksmith.train(CORPUS, size, pattern="gpt2", checkpoint=folder / "kept", progress=False)
        assert len(tok.model.merges) == size - 256

    def read(folder: Path) -> object:
        data = (folder / "kept").read_bytes() if (folder / "kept").exists() else b""
        return tuple(data[: data.rfind(b"\n") + 1].splitlines())

    return Command(run, read, (toksmith.errors.CheckpointError,), grows=True)


COMMANDS: dict[str, Callable[[], Command]] = {
    "encode_corpus": encoding,
    "save native": lambda: saving("native", ".toksmith"),
    "save gpt2": lambda: saving("gpt2", ""),
    "save gpt2 files": lambda: saving("gpt2", "-vocab.json"),
    "counts .tsv": lambda: counting(".tsv"),
    "counts .parquet": lambda: counting(".parquet"),
    "page": lambda: drawing(".html"),
    "picture": lambda: drawing(".svg"),
    "download": downloading,
    "checkpoint": checkpointing,
}


def main() -> None:
    """Kill a child at each call of a command."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    command = COMMANDS[name]()
    befores = ("", "old") if name in ("encode_corpus", "checkpoint") else ("old",)
    print(json.dumps({before: each_kill(command, folder, before) for before in befores}))


if __name__ == "__main__":
    main()
