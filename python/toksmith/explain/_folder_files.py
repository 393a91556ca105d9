"""The files of a folder, on disk or in memory, without those that its `.gitignore` files exclude.

The rules are git's, as pathspec reads them; they also apply to a folder that is not a repository and to files that a page sends.
Links are not followed. A skipped file is reported with the reason. A file above `HELD` bytes is not read into memory as a whole.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .._base.arguments import check_path, check_text_or_bytes, check_texts
from .._base.arguments import check_text as text_argument
from ..errors import CorpusError
from ..reference import utf8

IGNORES = ".gitignore"
OF_TOOLS = frozenset((".git", ".hg", ".svn", ".jj"))
HELD = 1 << 24  # bytes
LOOKED_AT = 8000  # bytes; git takes a file with a NUL among these for binary


class SkippedFile(NamedTuple):
    """A file that was not counted: its path, relative to the folder, and the
    reason."""

    path: str
    reason: str


class FoundFile(NamedTuple):
    """A text file: its path, its size, and its bytes; above `HELD` bytes, its place on disk instead."""

    path: str
    size: int
    data: bytes | None
    place: Path | None = None


class Ignores:
    """The rules of the `.gitignore` files of a folder; the file nearest to a path decides.

    Args:
        prefix: The path of the folder inside its repository, with `/` at its end; folders above it have rules too.
    """

    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix
        self.specs: dict[str, list[Any]] = {}
        self.known: dict[str, bool] = {prefix: False}  # the requested folder itself is never ignored

    def add(self, folder: str, lines: bytes) -> None:
        """Adds rules of a folder of the repository (`""` for the topmost, or `"a/b/"`); later rules override earlier ones."""
        try:
            from pathspec import GitIgnoreSpec
        except ImportError as error:
            advice = "to read .gitignore, the map of a folder needs pathspec: pip install 'toksmith[map]'"
            raise ImportError(f"{advice}; or pass ignored=True") from error
        spec = GitIgnoreSpec.from_lines(lines.decode("utf-8", "surrogateescape").splitlines())
        self.specs.setdefault(folder, []).append(spec)

    def ignored(self, path: str) -> bool:
        """Whether a path is ignored, relative to the folder; the path of a folder ends in `/` and includes its contents."""
        return bool(self.specs) and self.left_out(self.prefix + path)

    def left_out(self, path: str) -> bool:
        """As `ignored`, for a path relative to the repository."""
        if path not in self.known:
            ignored = self.left_out(parent_folder(path)) or self.matches_rule(path)
            if not path.endswith("/"):
                return ignored
            self.known[path] = ignored
        return self.known[path]

    def matches_rule(self, path: str) -> bool:
        """Whether a rule ignores the path itself."""
        folder = path
        while folder:
            folder = parent_folder(folder)
            for spec in reversed(self.specs.get(folder, ())):
                include = spec.check_file(path[len(folder) :]).include
                if include is not None:
                    return bool(include)
        return False


def parent_folder(path: str) -> str:
    """The folder that contains a path, with `/` at its end; empty for the topmost.

    >>> parent_folder("a/b/c"), parent_folder("a/b/"), parent_folder("a")
    ('a/b/', 'a/', '')
    """
    folder, slash, _ = path.rstrip("/").rpartition("/")
    return folder + slash


def unignored(paths: Iterable[str], ignores: Mapping[str, str]) -> list[str]:
    r"""The paths of files that `.gitignore` files do not exclude: `explain.folder`
    counts these if they are texts.

    Args:
        paths: Relative to the topmost folder, with `/` between folders.
        ignores: The `.gitignore` files by their paths, such as
            `{"docs/.gitignore": "build/"}`.
    Returns: the paths, in their order, without those of version control
        (`.git`).
    Raises:
        ImportError: pathspec is missing (the extra `map`).

    >>> import toksmith
    >>> toksmith.explain.unignored(["a.py", "a.pyc", "b/c.pyc"], {".gitignore": "*.pyc\n!b/*.pyc\n"})
    ['a.py', 'b/c.pyc']
    """
    return included_paths({path: utf8(lines) for path, lines in ignores.items()}, check_texts(paths, "paths"))


def included_paths(ignores: Mapping[str, bytes], paths: Iterable[str]) -> list[str]:
    """The paths that the rules do not exclude."""
    rules = Ignores()
    for path, lines in ignores.items():
        rules.add(parent_folder(path), lines)
    return [path for path in paths if not (OF_TOOLS & {*path.split("/")[:-1]} or rules.ignored(path))]


def find_files(folder: Any, *, ignored: bool) -> Iterator[FoundFile | SkippedFile]:
    """The text files of a folder or a mapping, in order of their paths, and the skipped files."""
    if isinstance(folder, Mapping):
        files = {
            text_argument(path, "folder"): utf8(check_text_or_bytes(content, "folder"))
            for path, content in folder.items()
        }
        yield from files_in_memory(files, ignored=ignored)
        return
    top = Path(check_path(folder, "folder"))
    if not top.is_dir():
        raise CorpusError(top, None, "is not a folder" if top.exists() else "there is no such folder")
    yield from files_on_disk(top, None if ignored else rules_above(top))


def files_in_memory(files: Mapping[str, bytes], *, ignored: bool) -> Iterator[FoundFile | SkippedFile]:
    """The files of a mapping."""
    contents = dict(sorted(files.items()))
    rules = {path: data for path, data in contents.items() if path.rpartition("/")[2] == IGNORES}
    included = frozenset(included_paths({} if ignored else rules, contents))
    for path, data in contents.items():
        if path not in included:
            yield SkippedFile(path, "ignored")
        elif b"\0" in data[:LOOKED_AT]:
            yield SkippedFile(path, "binary")
        else:
            yield FoundFile(path, len(data), data)


def rules_above(top: Path) -> Ignores:
    """The rules of the repository that contains a folder: `.git/info/exclude`, and those of the folders above it."""
    top = Path(os.path.abspath(top))
    root = next((each for each in (top, *top.parents) if (each / ".git").exists()), top)
    rules = Ignores(f"{top.relative_to(root).as_posix()}/" if top != root else "")
    folders = [each for each in reversed(top.parents) if each == root or root in each.parents]
    for folder, file in [(root, root / ".git" / "info" / "exclude"), *((each, each / IGNORES) for each in folders)]:
        if (lines := read_quietly(file)) is not None:
            rules.add(f"{folder.relative_to(root).as_posix()}/" if folder != root else "", lines)
    return rules


def read_quietly(file: Path) -> bytes | None:
    """The bytes of a file of rules; None if it is missing or unreadable."""
    try:
        if not file.is_file():
            return None
        with open(file, "rb") as stream:
            return stream.read(HELD)
    except OSError:
        return None


def files_on_disk(top: Path, rules: Ignores | None) -> Iterator[FoundFile | SkippedFile]:
    """The files below a folder on disk."""
    waiting: list[tuple[str, Path]] = [("", top)]
    while waiting:
        prefix, folder = waiting.pop()
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            if folder == top:
                raise CorpusError(top, None, f"cannot be read: {error.strerror}") from error
            yield SkippedFile(printable_path(prefix), f"cannot be read: {error.strerror}")
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
                    yield SkippedFile(f"{printable_path(path)}/", "ignored")
                else:
                    below.append((f"{path}/", Path(entry.path)))
            elif rules is not None and rules.ignored(path):
                yield SkippedFile(printable_path(path), "ignored")
            else:
                yield read_text_file(printable_path(path), Path(entry.path))
        waiting += reversed(below)


def printable_path(path: str) -> str:
    """A path as text; bytes that are not UTF-8 are escaped."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def read_text_file(path: str, place: Path) -> FoundFile | SkippedFile:
    """Reads one file; a device or a pipe is not opened, because reading it might never end."""
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
