"""What a training learned so far, in a file, so that a run that was killed can be taken up: one line a merge.

The first line says of what corpus and options the merges are, the others hold phase, left id, right id, new id, count, and
by how much that was more than the count of any other pair.
Lines are only ever appended, so that whatever ends the run, only the last line can be incomplete; it is then dropped.
Merges are learned again from their places in the file, and their counts must come out the same.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .. import _core
from .._atomic_files import write_file
from .._errors import CheckpointError, FormatError, InvalidOption
from .._files import Room, read_file, shown

__all__ = ["Checkpoint"]

Line = tuple[int, int, int, int, int]
NUMBERS = 6
# Of the largest number that is written.
DIGITS = 20
MOST_BYTES = 1 << 30
VERSION = 2


class Checkpoint:
    """The file, open for more. Without a path, one that keeps nothing.

    Args of the constructor: `identity` JSON values by name that decide which merges are learned.
    Attributes: `problem` why no more merges can be kept; None where they can.
    Raises:
        CheckpointError: The file cannot be read or written.
        FormatError: The file is no checkpoint.
        InvalidOption: It is one of another training.
    """

    def __init__(self, path: str | os.PathLike[str] | None, identity: Mapping[str, Any]) -> None:
        self._path = None if path is None else Path(path)
        self._lines: dict[int, list[Line]] = {}
        self._known: dict[int, int] = {}
        self.problem: CheckpointError | None = None
        if self._path is None:
            return
        with kept(self._path):
            whole = begin(self._path, identity)
            self._lines = lines_of(whole, str(self._path))
            os.truncate(self._path, len(whole))

    def learned(self, phase: int) -> list[tuple[int, int, int]]:
        """The merges of a phase that the file holds, in order."""
        return [line[:3] for line in self._lines.get(phase, [])]

    def leads(self, phase: int) -> list[int]:
        """By how much the counts of these merges were above all others."""
        return [line[4] for line in self._lines.get(phase, [])]

    def add(self, phase: int, merges: _core.LearnedMerges, done: int = 0) -> None:
        """Appends the next merges of a phase, without the first `done`; those that the file holds already must have the same
        counts. If they cannot be written, `problem` says why, and nothing is written any more.

        Raises:
            InvalidOption: They have other counts, so the file is of another corpus.
        """
        if self._path is None or self.problem is not None:
            return
        old = self._lines.get(phase, [])
        fresh: list[str] = []
        columns = (merges.merges[done:], merges.counts[done:], merges.leads[done:])
        for (left, right, id), count, lead in zip(*(column.tolist() for column in columns), strict=True):
            place = self._known.get(phase, 0)
            self._known[phase] = place + 1
            if place >= len(old):
                fresh.append(f"{phase} {left} {right} {id} {count} {lead}\n")
            elif old[place][:4] != (left, right, id, count):
                told = f"merge {place} has count {old[place][3]} there and {count} here"
                raise InvalidOption("checkpoint", str(self._path), f"a checkpoint of the same corpus; {told}")
        if not fresh:
            return
        try:
            with kept(self._path), open(self._path, "ab") as file:
                file.write("".join(fresh).encode())
        except CheckpointError as problem:
            self.problem = problem


@contextmanager
def kept(path: Path) -> Iterator[None]:
    """Turns what goes wrong with the file into CheckpointError."""
    try:
        yield
    except FormatError as problem:
        if not isinstance(problem.__cause__, OSError):
            raise
        cause = problem.__cause__
        raise CheckpointError(cause.errno, shown(path), problem.problem) from problem
    except OSError as problem:
        raise CheckpointError(problem.errno, shown(path), problem.strerror or str(problem)) from problem


def begin(path: Path, identity: Mapping[str, Any]) -> bytes:
    """The whole lines of the file; one with the first line only is made if there is none."""
    head = (json.dumps({"toksmith_checkpoint": VERSION, **identity}, sort_keys=True) + "\n").encode()
    if path.is_dir():
        problem = "this is a folder; name a file, which is made if it is not there"
        raise IsADirectoryError(errno.EISDIR, problem, str(path))
    if not path.exists():
        write_file(path, head)
    data = read_file(path, lambda ends: Room(MOST_BYTES, "a checkpoint"))
    whole = data[: data.rfind(b"\n") + 1]
    first = whole.partition(b"\n")[0]
    try:
        found = json.loads(first)
        if found.pop("toksmith_checkpoint") != VERSION:
            raise ValueError
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        raise FormatError(str(path), 1, "this is no checkpoint of a training; give a file that is not there") from None
    expected = json.loads(head)
    differ = [name for name, value in sorted(identity.items()) if found.get(name) != expected[name]]
    if differ or found.keys() != identity.keys():
        names = ", ".join(differ) or "its fields"
        allowed = f"a checkpoint of the same corpus and options; {names} of this one differ (remove it to begin anew)"
        raise InvalidOption("checkpoint", str(path), allowed)
    return whole


def lines_of(whole: bytes, path: str) -> dict[int, list[Line]]:
    """The merges and counts by phase."""
    phases: dict[int, list[Line]] = {}
    for number, line in enumerate(whole.split(b"\n")[1:-1], 2):
        words = line.split(b" ")
        if len(words) != NUMBERS or not all(word.isdigit() and len(word) <= DIGITS for word in words):
            raise FormatError(path, number, f"expected six numbers, found {line[:60]!r}; remove the file to begin anew")
        phase, left, right, id, count, lead = map(int, words)
        phases.setdefault(phase, []).append((left, right, id, count, lead))
    return phases
