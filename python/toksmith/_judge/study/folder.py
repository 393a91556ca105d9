"""The folder of a study: its trained tokenizers, and a note that lists the complete ones.

The note gets a training after its file is written, so a killed study continues after the last complete training. The checkpoint
of an incomplete training holds its merges (`_training/checkpoint.py`). The user names the folder, not its contents: a link in
it is refused, because it can lead to any file (`_base/paths.py`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..._base.paths import Room, read_file, status_of
from ..._sources.load import load
from ..._storage.atomic_files import make_folder, wrap_write_errors, write_file
from ..._tokenizer.tokenizer import Tokenizer
from ...errors import FormatError, InvalidOption, ToksmithError

NOTE = "study.json"
VERSION = 1
MOST_BYTES = 1 << 24


class StudyFolder:
    """The folder; without a path it stores nothing. `identity` is every input of a training except candidate and size."""

    def __init__(self, path: str | os.PathLike[str] | None, identity: Mapping[str, Any]) -> None:
        self.path = None if path is None else Path(path)
        self._note: dict[str, Any] = {"toksmith_study": VERSION, **identity, "trained": {}}
        if self.path is None:
            return
        make_folder(self.path)
        if self._place(NOTE).exists():
            self._note = self._read_note(identity)
        self._write()

    def _place(self, file: str) -> Path:
        assert self.path is not None
        place = self.path / file
        with wrap_write_errors(place):
            status_of(place)
        return place

    def _read_note(self, identity: Mapping[str, Any]) -> dict[str, Any]:
        place = self._place(NOTE)
        data = read_file(place, lambda ends: Room(MOST_BYTES, "the note of a study"))
        try:
            note: dict[str, Any] = json.loads(data)
            trained = note["trained"]
            if note["toksmith_study"] != VERSION or not all(isinstance(each, dict) for each in trained.values()):
                raise ValueError
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
            raise FormatError(place, None, "this is not the note of a study; name another folder") from None
        differ = [name for name, value in identity.items() if note.get(name) != json.loads(json.dumps(value))]
        if differ:
            allowed = f"a new folder, or that of a study of the same texts; {', '.join(differ)} of this one differ"
            raise InvalidOption("keep", str(self.path), allowed)
        return note

    def _write(self) -> None:
        if self.path is not None:
            write_file(self._place(NOTE), json.dumps(self._note, indent=1, ensure_ascii=False).encode() + b"\n")

    def trained(self, file: str, arguments: Mapping[str, Any]) -> Tokenizer | None:
        """The tokenizer of a training that an earlier run finished, or None."""
        row = self._note["trained"].get(file)
        if self.path is None or row is None or row.get("arguments") != json.loads(json.dumps(arguments)):
            return None
        try:
            tok = load(self._place(file))
        except (ToksmithError, OSError):
            return None  # it was deleted or damaged: the training is repeated
        if tok.fingerprint != row.get("fingerprint"):
            return None
        # A run that was killed after it wrote the note left its checkpoint.
        (self.path / f"{file}.checkpoint").unlink(missing_ok=True)
        return tok

    def checkpoint(self, file: str) -> Path | None:
        """The file for the merges of a training until it is complete."""
        return None if self.path is None else self._place(f"{file}.checkpoint")

    def finish(self, file: str, arguments: Mapping[str, Any], tok: Tokenizer) -> None:
        if self.path is None:
            return
        tok.save(self._place(file))
        self._note["trained"][file] = {"arguments": dict(arguments), "fingerprint": tok.fingerprint}
        self._write()
        (self.path / f"{file}.checkpoint").unlink(missing_ok=True)

    def keep(self, file: str, tok: Tokenizer) -> str | None:
        """Saves the tokenizer of one size of a training and returns the path of its file."""
        if self.path is None:
            return None
        place = self._place(file)
        if not place.exists() or file not in self._note["trained"]:
            tok.save(place)
        return str(place)
