"""Refuses corpora passed by mistake: the name of a file as a text, a mapping, a frame."""

from __future__ import annotations

import os
from collections.abc import Mapping

from .._base.arguments import WrongDocument
from .._base.paths import path_or_url
from ..errors import CorpusError, InvalidOption

LONGEST_NAME = 256
# Suffixes of files that are not text.
BINARY = (
    *(
        ".png",
        ".jpg",
        ".jpeg",
        ".gif",
        ".webp",
        ".pdf",
        ".docx",
        ".xlsx",
        ".odt",
        ".epub",
        ".zip",
        ".tar",
        ".7z",
        ".xz",
    ),
    *(".npy", ".npz", ".bin", ".pt", ".pth", ".pkl", ".safetensors", ".gguf", ".mp3", ".mp4", ".wav", ".exe", ".so"),
)
SUFFIXES = (".txt", ".md", ".json", ".jsonl", ".csv", ".tsv", ".parquet", ".arrow", ".gz", ".zst")


def refuse_name(text: str) -> None:
    """Raises InvalidOption for a text that is the name of a file, or looks like a name or a glob: the caller nearly always
    means the files."""
    if is_name(text):
        files = f"pathlib.Path({text!r}) or toksmith.files({text!r})"
        raise InvalidOption(
            "corpus", text, f"a text, and this looks like the name of a file; pass {files}, or [{text!r}]"
        )


def is_name(text: str) -> bool:
    """Whether a text names a file that exists, or has a separator or the suffix of a corpus and no white space."""
    if len(text) >= LONGEST_NAME or not text or "\0" in text or "\n" in text:
        return False
    looks_like_path = any(mark in text for mark in "/\\") or text.lower().endswith(SUFFIXES)
    return (looks_like_path and len(text.split()) == 1 and text == text.strip()) or os.path.exists(text)


def refuse_binary(path: str | os.PathLike[str]) -> None:
    """Raises CorpusError for a file that is not text by its suffix: training on its bytes would seem to work."""
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix in BINARY:
        problem = (
            f"a file ending in {suffix} is not text; expected text, .jsonl, .parquet or .arrow; extract its text first"
        )
        raise CorpusError(path_or_url(path), None, f"{problem}, or open it and pass its bytes")


def refuse_frame(corpus: object) -> None:
    """Raises WrongDocument for a mapping or a frame, which yields names instead of texts when it is iterated."""
    name = type(corpus).__name__
    if isinstance(corpus, Mapping):
        raise WrongDocument(
            f"corpus: expected texts, paths or toksmith.files(...), not {name}; pass its values(), as a list"
        )
    if hasattr(corpus, "columns"):
        raise WrongDocument(
            f"corpus: expected texts, paths or toksmith.files(...), not {name}; pass one column, as a list"
        )
