"""BERT's `vocab.txt`: the tokens of a WordPiece model, one on a line; the number of the line is the id.

The file does not describe the normalization, so BERT's applies: lowercase, unless some token has a capital letter, which
no lowercase text could reach. BERT's tokens in square brackets are special.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from .._errors import CannotRepresent, FormatError
from .._model import AddedToken, Model, Step, TokenTable
from .._patterns import UNSET, PatternArgument
from ._arguments import refuse_arguments, refuse_losses
from ._json_objects import shown

__all__ = ["DOC", "NAME", "SUFFIXES", "load", "save", "sniff"]

NAME = "vocab_txt"
MOST_BYTES = 1 << 25
SUFFIXES = ("vocab.txt",)
DOC = "BERT's vocab.txt; WordPiece"

UNKNOWN = "[UNK]"
SPECIAL = ("[PAD]", UNKNOWN, "[CLS]", "[SEP]", "[MASK]")
PREFIX = "##"
LONGEST = 100
LINE_LIMIT = 1 << 22


def sniff(data: bytes, path: str) -> bool:
    """Whether one of the first lines is a special token of BERT."""
    lines = data[:4096].splitlines()
    return any(line.decode("utf-8", "replace") in SPECIAL for line in lines)


def load(data: bytes, path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None) -> Model:
    """The model that the file holds."""
    refuse_arguments("a vocab.txt", pattern, special_tokens)
    ids = tokens_of(data, path)
    if UNKNOWN not in ids:
        raise FormatError(path, None, f"has no line {UNKNOWN}, the token for unknown words")
    return Model(
        TokenTable.of([token.encode() for token in ids]),
        np.arange(len(ids), dtype=np.uint32),
        kind="wordpiece",
        unit="char",
        unknown_id=ids[UNKNOWN],
        continuing_subword_prefix=PREFIX,
        max_piece_chars=LONGEST,
        added_tokens=tuple(AddedToken(token, id) for token, id in ids.items() if token in SPECIAL),
        **steps(is_lowercase(ids)),
    )


def tokens_of(data: bytes, path: str) -> dict[str, int]:
    """The tokens of the lines, with their places."""
    ids: dict[str, int] = {}
    for id, line in enumerate(io.BytesIO(data)):
        if id >= LINE_LIMIT:
            raise FormatError(path, id + 1, f"is beyond the limit of {LINE_LIMIT} lines")
        try:
            token = line.removesuffix(b"\n").removesuffix(b"\r").decode()
        except UnicodeDecodeError as error:
            raise FormatError(path, id + 1, "is not UTF-8") from error
        if not token:
            raise FormatError(path, id + 1, "is empty; each line must be a token")
        if ids.setdefault(token, id) != id:
            raise FormatError(path, id + 1, f"{shown(token)} occurs twice; line {ids[token] + 1} is the same")
    return ids


def is_lowercase(tokens: Collection[str]) -> bool:
    """Whether no token but special ones has a capital letter."""
    return not any(char.isupper() for token in tokens if not token.startswith("[") for char in token)


def steps(lowercase: bool) -> dict[str, Any]:
    """BERT's steps by field."""
    options = {"clean_text": True, "handle_chinese_chars": True, "lowercase": lowercase, "strip_accents": None}
    return {
        "normalizers": (Step("bert", tuple(sorted(options.items()))),),
        "splitters": (Step("bert"),),
        "decoders": (Step("wordpiece", (("cleanup", True), ("prefix", PREFIX))),),
    }


def save(model: Model, *, allow_loss: Collection[str] = ()) -> bytes:
    """The tokens, a line each, if `load` gives the model back."""
    steps_held = ("normalizers", "splitters", "decoders", "added_tokens")
    holds = ("kind", "unknown_id", "continuing_subword_prefix", "max_piece_chars", *steps_held)
    refuse_losses(model, NAME, allow_loss, holds=holds)
    if model.kind != "wordpiece":
        raise CannotRepresent(NAME, "kind", "the format supports only WordPiece")
    if not np.array_equal(model.ids, np.arange(len(model.ids))):
        raise CannotRepresent(
            NAME, "ids", "the format requires ids without holes: an id is the line number of its token"
        )
    if any(b"\n" in token or token.endswith(b"\r") or not token for token in model.tokens):
        raise CannotRepresent(NAME, "tokens", "a token must be a single line")
    data = b"".join(token + b"\n" for token in model.tokens)
    try:
        back = load(data, NAME, pattern=UNSET, special_tokens=None) if model.unknown_id is not None else None
    except FormatError as error:
        raise CannotRepresent(NAME, "tokens", str(error)) from error
    for field in ("unit", "unknown_id", "continuing_subword_prefix", "max_piece_chars", *steps_held):
        if field not in allow_loss and getattr(model, field) != getattr(back, field, None):
            raise CannotRepresent(
                NAME, field, f"loading the file would give {getattr(back, field, None)!r}, as BERT does"
            )
    return data
