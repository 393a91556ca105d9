"""Stores the merges of a training in a file, one line per merge, so that a killed run can continue.

The first line identifies the corpus and the options. Every other line holds phase, left id, right id, new id, count, and
the lead of that count over the next pair. Lines are only appended, so only the last line can be incomplete, and reading
drops it. A continued run applies the stored merges again, and their counts must match.
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
from .._base.paths import Room, read_file
from .._storage.atomic_files import write_file
from ..errors import CheckpointError, FormatError, InvalidOption

Line = tuple[int, int, int, int, int]
NUMBERS = 6
# The number of digits of the largest number in the file.
DIGITS = 20
MOST_BYTES = 1 << 30
VERSION = 2


class Checkpoint:
    """The checkpoint of one training. Without a path it stores nothing.

    Args of the constructor: `identity` JSON values by name that decide which merges are learned.
    Attributes: `problem` the error that stopped writing; None while writing works.
    """

    def __init__(self, path: str | os.PathLike[str] | None, identity: Mapping[str, Any]) -> None:
        self._path = None if path is None else Path(path)
        self._lines: dict[int, list[Line]] = {}
        self._known: dict[int, int] = {}
        self.problem: CheckpointError | None = None
        if self._path is None:
            return
        with checkpoint_errors(self._path):
            data = open_checkpoint(self._path, identity)
            self._lines = parse_lines(data, str(self._path))
            os.truncate(self._path, len(data))

    def learned(self, phase: int) -> list[tuple[int, int, int]]:
        return [line[:3] for line in self._lines.get(phase, [])]

    def leads(self, phase: int) -> list[int]:
        """The leads of these merges over the next pair."""
        return [line[4] for line in self._lines.get(phase, [])]

    def add(self, phase: int, merges: _core.LearnedMerges, done: int = 0) -> None:
        """Appends the next merges of a phase, without the first `done`. Merges that are already stored must have the same
        counts. A write error sets `problem` and ends all writing.
        """
        if self._path is None or self.problem is not None:
            return
        stored = self._lines.get(phase, [])
        new_lines: list[str] = []
        columns = (merges.merges[done:], merges.counts[done:], merges.leads[done:])
        for (left, right, id), count, lead in zip(*(column.tolist() for column in columns), strict=True):
            place = self._known.get(phase, 0)
            self._known[phase] = place + 1
            if place >= len(stored):
                new_lines.append(f"{phase} {left} {right} {id} {count} {lead}\n")
            elif stored[place][:4] != (left, right, id, count):
                difference = f"merge {place} has the count {stored[place][3]} in the file and {count} in this corpus"
                raise InvalidOption("checkpoint", str(self._path), f"a checkpoint of the same corpus; {difference}")
        if not new_lines:
            return
        try:
            with checkpoint_errors(self._path), open(self._path, "ab") as file:
                file.write("".join(new_lines).encode())
        except CheckpointError as problem:
            self.problem = problem


@contextmanager
def checkpoint_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FormatError as problem:
        if not isinstance(problem.__cause__, OSError):
            raise
        cause = problem.__cause__
        raise CheckpointError(cause.errno, path, problem.problem.removeprefix("cannot be written: ")) from problem
    except OSError as problem:
        raise CheckpointError(problem.errno, path, problem.strerror or str(problem)) from problem


def open_checkpoint(path: Path, identity: Mapping[str, Any]) -> bytes:
    """The complete lines of the file. A missing file is created with its first line."""
    head = (json.dumps({"toksmith_checkpoint": VERSION, **identity}, sort_keys=True) + "\n").encode()
    if path.is_dir():
        problem = "this is a folder; give the name of a file, which is created if it does not exist"
        raise IsADirectoryError(errno.EISDIR, problem, str(path))
    if not path.exists():
        write_file(path, head)
    data = read_file(path, lambda ends: Room(MOST_BYTES, "a checkpoint"))
    complete = data[: data.rfind(b"\n") + 1]
    first = complete.partition(b"\n")[0]
    try:
        fields = json.loads(first)
        if fields.pop("toksmith_checkpoint") != VERSION:
            raise ValueError
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
        raise FormatError(path, 1, "this is not a checkpoint; give the name of a new file") from None
    expected = json.loads(head)
    different = [name for name, value in sorted(identity.items()) if fields.get(name) != expected[name]]
    if different or fields.keys() != identity.keys():
        names = ", ".join(different) or "its fields"
        allowed = f"a checkpoint of the same corpus and options; {names} of this one differ (delete it to start again)"
        raise InvalidOption("checkpoint", str(path), allowed)
    return complete


def parse_lines(whole: bytes, path: str) -> dict[int, list[Line]]:
    """The merges and counts by phase."""
    phases: dict[int, list[Line]] = {}
    for number, line in enumerate(whole.split(b"\n")[1:-1], 2):
        words = line.split(b" ")
        if len(words) != NUMBERS or not all(word.isdigit() and len(word) <= DIGITS for word in words):
            raise FormatError(
                path, number, f"expected six numbers, found {line[:60]!r}; delete the file to start again"
            )
        phase, left, right, id, count, lead = map(int, words)
        phases.setdefault(phase, []).append((left, right, id, count, lead))
    return phases
