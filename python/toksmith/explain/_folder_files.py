"""The files of a folder, on this machine or in memory, without what its `.gitignore` files leave out.

The rules: those of git, as pathspec reads them (a folder that is not a repository, and one that a page sends, have them too);
links are not followed; what is not read is told with the reason. A file that is larger than `HELD` is never held.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .._base.arguments import path_text, text_or_bytes, texts
from .._base.arguments import text as text_argument
from .._base.errors import CorpusError
from ..reference import utf8

__all__ = ["FoundFile", "SkippedFile", "found_in", "unignored"]

IGNORES = ".gitignore"
OF_TOOLS = frozenset((".git", ".hg", ".svn", ".jj"))
HELD = 1 << 24  # bytes
LOOKED_AT = 8000  # bytes in which git looks for a NUL, which texts do not have


class SkippedFile(NamedTuple):
    """What was not counted: its path, relative to the folder, and the reason."""

    path: str
    reason: str


class FoundFile(NamedTuple):
    """A text file: its path, its size, and its bytes, or where they are if they are too many to be held."""

    path: str
    size: int
    data: bytes | None
    place: Path | None = None


class Ignores:
    """What the `.gitignore` files of a folder leave out; the one that is nearest to a path decides.

    Args:
        prefix: The path of the folder inside its repository, with `/` at its end; what is above it has rules too.
    """

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.specs: dict[str, list[Any]] = {}
        self.known: dict[str, bool] = {prefix: False}  # a folder that is asked for is not ignored

    def add(self, folder: str, lines: bytes) -> None:
        """Takes the rules of a folder of the repository: `""` for the topmost, `"a/b/"` below. Later ones decide."""
        try:
            from pathspec import GitIgnoreSpec
        except ImportError as error:
            needed = "to read .gitignore, the map of a folder needs pathspec: pip install 'toksmith[map]'"
            raise ImportError(f"{needed}; or pass ignored=True") from error
        found = GitIgnoreSpec.from_lines(lines.decode("utf-8", "surrogateescape").splitlines())
        self.specs.setdefault(folder, []).append(found)

    def ignored(self, path: str) -> bool:
        """Whether a path of the folder is left out; that of a folder ends in `/`. All in an ignored folder is ignored."""
        return bool(self.specs) and self.left_out(self.prefix + path)

    def left_out(self, path: str) -> bool:
        """The same of a path in the repository."""
        if path not in self.known:
            found = self.left_out(above(path)) or self.matched(path)
            if not path.endswith("/"):
                return found
            self.known[path] = found
        return self.known[path]

    def matched(self, path: str) -> bool:
        """What the rules say of the path itself."""
        folder = path
        while folder:
            folder = above(folder)
            for spec in reversed(self.specs.get(folder, ())):
                said = spec.check_file(path[len(folder) :]).include
                if said is not None:
                    return bool(said)
        return False


def above(path: str) -> str:
    """The folder that a path is in, with `/` at its end; empty for the topmost.

    >>> above("a/b/c"), above("a/b/"), above("a")
    ('a/b/', 'a/', '')
    """
    folder, slash, _ = path.rstrip("/").rpartition("/")
    return folder + slash


def unignored(paths: Iterable[str], ignores: Mapping[str, str]) -> list[str]:
    r"""The paths of files that `.gitignore` files do not leave out: those that
    `explain.folder` counts if they are texts.

    Args:
        paths: Relative to the topmost folder, with `/` between folders.
        ignores: The `.gitignore` files by their paths, such as
            `{"docs/.gitignore": "build/"}`.
    Returns: the paths, in their order; those of version control (`.git`) are
        left out too.
    Raises:
        ImportError: pathspec is missing (the extra `map`).

    >>> import toksmith
    >>> toksmith.explain.unignored(["a.py", "a.pyc", "b/c.pyc"], {".gitignore": "*.pyc\n!b/*.pyc\n"})
    ['a.py', 'b/c.pyc']
    """
    return kept_by({path: utf8(lines) for path, lines in ignores.items()}, texts(paths, "paths"))


def kept_by(ignores: Mapping[str, bytes], paths: Iterable[str]) -> list[str]:
    """The paths that files of rules do not leave out."""
    rules = Ignores()
    for path, lines in ignores.items():
        rules.add(above(path), lines)
    return [path for path in paths if not (OF_TOOLS & {*path.split("/")[:-1]} or rules.ignored(path))]


def found_in(folder: Any, *, ignored: bool) -> Iterator[FoundFile | SkippedFile]:
    """The text files of a folder or of a mapping, in order of their paths, and what is not read."""
    if isinstance(folder, Mapping):
        files = {
            text_argument(path, "folder"): utf8(text_or_bytes(content, "folder")) for path, content in folder.items()
        }
        yield from in_memory(files, ignored=ignored)
        return
    top = Path(path_text(folder, "folder"))
    if not top.is_dir():
        raise CorpusError(top, None, "is not a folder" if top.exists() else "there is no such folder")
    yield from on_disk(top, None if ignored else rules_above(top))


def in_memory(files: Mapping[str, bytes], *, ignored: bool) -> Iterator[FoundFile | SkippedFile]:
    """The files of a mapping."""
    contents = dict(sorted(files.items()))
    rules = {path: data for path, data in contents.items() if path.rpartition("/")[2] == IGNORES}
    kept = frozenset(kept_by({} if ignored else rules, contents))
    for path, data in contents.items():
        if path not in kept:
            yield SkippedFile(path, "ignored")
        elif b"\0" in data[:LOOKED_AT]:
            yield SkippedFile(path, "binary")
        else:
            yield FoundFile(path, len(data), data)


def rules_above(top: Path) -> Ignores:
    """The rules of the repository that a folder is in: `.git/info/exclude`, and those of the folders above it."""
    top = Path(os.path.abspath(top))
    root = next((each for each in (top, *top.parents) if (each / ".git").exists()), top)
    rules = Ignores(f"{top.relative_to(root).as_posix()}/" if top != root else "")
    folders = [each for each in reversed(top.parents) if each == root or root in each.parents]
    for folder, file in [(root, root / ".git" / "info" / "exclude"), *((each, each / IGNORES) for each in folders)]:
        if (lines := read_quietly(file)) is not None:
            rules.add(f"{folder.relative_to(root).as_posix()}/" if folder != root else "", lines)
    return rules


def read_quietly(file: Path) -> bytes | None:
    """The bytes of a file of rules; None where there is none that can be read."""
    try:
        if not file.is_file():
            return None
        with open(file, "rb") as opened:
            return opened.read(HELD)
    except OSError:
        return None


def on_disk(top: Path, rules: Ignores | None) -> Iterator[FoundFile | SkippedFile]:
    """The files below a folder of this machine."""
    waiting: list[tuple[str, Path]] = [("", top)]
    while waiting:
        prefix, folder = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            if folder == top:
                raise CorpusError(top, None, f"cannot be read: {error.strerror}") from error
            yield SkippedFile(name_of(prefix), f"cannot be read: {error.strerror}")
            continue
        if rules is not None and (lines := read_quietly(folder / IGNORES)) is not None:
            rules.add(rules.prefix + prefix, lines)
        below: list[tuple[str, Path]] = []
        for entry in entries:
            path = f"{prefix}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name in OF_TOOLS:
                    continue
                if rules is not None and rules.ignored(f"{path}/"):
                    yield SkippedFile(f"{name_of(path)}/", "ignored")
                else:
                    below.append((f"{path}/", Path(entry.path)))
            elif rules is not None and rules.ignored(path):
                yield SkippedFile(name_of(path), "ignored")
            else:
                yield read(name_of(path), Path(entry.path))
        waiting += reversed(below)


def name_of(path: str) -> str:
    """A path as text; bytes that are not UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def read(path: str, place: Path) -> FoundFile | SkippedFile:
    """One file. A device or a pipe is not opened, because it may give bytes without end."""
    try:
        about = place.lstat()
        if stat.S_ISLNK(about.st_mode):
            return SkippedFile(path, "link")
        if not stat.S_ISREG(about.st_mode):
            return SkippedFile(path, "not a file")
        with open(place, "rb") as file:
            data = file.read(HELD + 1)
    except OSError as error:
        return SkippedFile(path, f"cannot be read: {error.strerror}")
    if b"\0" in data[:LOOKED_AT]:
        return SkippedFile(path, "binary")
    if len(data) > HELD:
        return FoundFile(path, about.st_size, None, place)
    return FoundFile(path, len(data), data)
