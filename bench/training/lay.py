"""The documents of a case where every engine finds them: as they are laid out for encoding, and as JSON lines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ..texts import MB, Laid, lay
from .cases import JSONL, STREAM, Case


@dataclass(frozen=True)
class Source:
    """The input of an engine: the documents, or their file."""

    laid: Laid
    form: str
    file: str

    def texts(self) -> list[str]:
        """The documents in memory, read one by one, so that nothing else is held."""
        found = list(self.laid.stream())
        return ["\n".join(found)] if self.form == STREAM else found


def source(case: Case) -> Source:
    """The documents of a case, laid out if they are not yet."""
    laid = lay(case.text, round(case.mb * MB))
    return Source(laid, case.form, str(json_lines(laid)) if case.form == JSONL else "")


def json_lines(laid: Laid) -> Path:
    """The documents as a file of JSON lines."""
    path = Path(laid.path).with_suffix(".jsonl")
    if not path.is_file():
        partial = path.with_suffix(".partial")
        with partial.open("w", encoding="utf-8") as file:
            for text in laid.stream():
                file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
        partial.replace(path)
    return path
