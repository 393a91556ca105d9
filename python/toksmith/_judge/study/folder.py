"""The folder of a study: the tokenizers that it trained, and the note that says which of them are whole.

A training is in the note once its file is written, so a study that was killed continues behind the last of them. The
merges of the one that was under way are in its checkpoint (`_training/checkpoint.py`). The user names the folder, not what is
in it: a link there is refused, because it may lead to any file (`_base/paths.py`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..._base.errors import FormatError, InvalidOption, ToksmithError
from ..._base.paths import Room, read_file, status_of
from ..._sources.load import load
from ..._storage.atomic_files import make_folder, writable, write_file
from ..._tokenizer.tokenizer import Tokenizer

__all__ = ["StudyFolder"]

NOTE = "study.json"
VERSION = 1
MOST_BYTES = 1 << 24


class StudyFolder:
    """The folder, or nothing where none was asked for; `identity` is what decides what is trained, beside candidate and size."""

    def __init__(self, path: str | os.PathLike[str] | None, identity: Mapping[str, Any]) -> None:
        self.path = None if path is None else Path(path)
        self._note: dict[str, Any] = {"toksmith_study": VERSION, **identity, "trained": {}}
        if self.path is None:
            return
        make_folder(self.path)
        if self._place(NOTE).exists():
            self._note = self._found(identity)
        self._write()

    def _place(self, file: str) -> Path:
        assert self.path is not None
        place = self.path / file
        with writable(place):
            status_of(place)
        return place

    def _found(self, identity: Mapping[str, Any]) -> dict[str, Any]:
        place = self._place(NOTE)
        data = read_file(place, lambda ends: Room(MOST_BYTES, "the note of a study"))
        try:
            found: dict[str, Any] = json.loads(data)
            trained = found["trained"]
            if found["toksmith_study"] != VERSION or not all(isinstance(each, dict) for each in trained.values()):
                raise ValueError
        except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
            raise FormatError(place, None, "this is not the note of a study; name another folder") from None
        differ = [name for name, value in identity.items() if found.get(name) != json.loads(json.dumps(value))]
        if differ:
            allowed = f"a new folder, or that of a study of the same texts; {', '.join(differ)} of this one differ"
            raise InvalidOption("keep", str(self.path), allowed)
        return found

    def _write(self) -> None:
        if self.path is not None:
            write_file(self._place(NOTE), json.dumps(self._note, indent=1, ensure_ascii=False).encode() + b"\n")

    def trained(self, file: str, arguments: Mapping[str, Any]) -> Tokenizer | None:
        """The tokenizer of a training that an earlier run finished."""
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
        """Where the merges of a training are stored until it is whole."""
        return None if self.path is None else self._place(f"{file}.checkpoint")

    def finish(self, file: str, arguments: Mapping[str, Any], tok: Tokenizer) -> None:
        if self.path is None:
            return
        tok.save(self._place(file))
        self._note["trained"][file] = {"arguments": dict(arguments), "fingerprint": tok.fingerprint}
        self._write()
        (self.path / f"{file}.checkpoint").unlink(missing_ok=True)

    def keep(self, file: str, tok: Tokenizer) -> str | None:
        """Keeps the tokenizer of a size that a training passed through; the file's path."""
        if self.path is None:
            return None
        place = self._place(file)
        if not place.exists() or file not in self._note["trained"]:
            tok.save(place)
        return str(place)
