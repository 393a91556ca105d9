"""Writes the documents of a case for every engine: in the layout of the encode benchmark, and as JSON lines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ..texts import MB, TextFile, lay_out_text
from .cases import JSONL, STREAM, Case


@dataclass(frozen=True)
class Source:
    """The input of an engine: the documents, or their file."""

    laid: TextFile
    form: str
    file: str

    def texts(self) -> list[str]:
        """The documents in memory, read one by one, so that nothing else is in memory."""
        documents = list(self.laid.stream())
        return ["\n".join(documents)] if self.form == STREAM else documents


def source(case: Case) -> Source:
    """The documents of a case, written if they do not exist."""
    texts = lay_out_text(case.text, round(case.mb * MB))
    return Source(texts, case.form, str(json_lines(texts)) if case.form == JSONL else "")


def json_lines(laid: TextFile) -> Path:
    """The documents as a file of JSON lines."""
    path = Path(laid.path).with_suffix(".jsonl")
    if not path.is_file():
        partial = path.with_suffix(".partial")
        with partial.open("w", encoding="utf-8") as file:
            for text in laid.stream():
                file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
        partial.replace(path)
    return path
