"""Tokenizers that the page sends, files that somebody dropped or opened, and what it proposes to look at.

The rules: files are written to a folder of their own, loaded as `toksmith.load` loads any, and deleted; their names lead nowhere
else.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import toksmith
from toksmith import _render, explain

from ..words import words
from .asked import MOST_LOADED, Asked, Session, decoded

__all__ = ["added", "new_name", "opened", "proposals", "proposed", "received_tokenizer"]


def opened(asked: Asked) -> dict[str, Any]:
    """Adds a tokenizer from files; what the page then has to know, and its name."""
    tok = received_tokenizer(asked.values.get("files"), asked.values.get("pattern"))
    return added(asked.session, asked.string("name", "tokenizer"), tok)


def added(session: Session, name: str, tok: toksmith.Tokenizer) -> dict[str, Any]:
    """Adds a tokenizer to the page, by the name or one like it."""
    with session.lock:
        if len(session.toks) >= MOST_LOADED:
            raise toksmith.InvalidOption("tokenizers", len(session.toks), f"at most {MOST_LOADED} of them on a page")
        name = new_name(name, {**session.toks, **session.failed})
        session.toks = {**session.toks, name: tok}
    return {"name": name, "about": session.about()}


def proposed(asked: Asked) -> dict[str, Any]:
    """Pieces and tokens of the text, from which the page lets one choose."""
    return proposals(asked.tok, asked.text)


MOST_FILES = 200
MOST_PROPOSED = 12
NEAR = 2000  # characters of the text that pieces are proposed from
SAMPLE = "the goose lays a golden egg every day"  # where there is no text


def received_tokenizer(files: object, pattern: object) -> toksmith.Tokenizer:
    """The tokenizer in a file, or in a folder of files.

    Args:
        files: The bytes of each in base64, by its path.
        pattern: As for `toksmith.load`; None for none of that argument.
    """
    if not isinstance(files, dict) or not 1 <= len(files) <= MOST_FILES:
        raise toksmith.InvalidOption("files", type(files).__name__, f"1 to {MOST_FILES} files by name")
    if pattern is not None and not isinstance(pattern, str):
        raise toksmith.InvalidOption("pattern", pattern, "the name of a pattern")
    given: dict[str, Any] = {} if pattern is None else {"pattern": pattern}
    with tempfile.TemporaryDirectory(prefix="toksmith-") as folder:
        paths = [written(Path(folder), name, data) for name, data in files.items()]
        try:
            return toksmith.load(paths[0] if len(paths) == 1 else Path(folder), **given)
        except toksmith.ToksmithError as error:
            raise toksmith.ToksmithError(words(error).replace(f"{folder}/", "").replace(folder, "the folder")) from None


def written(folder: Path, name: object, data: object) -> Path:
    plain = PurePosixPath(str(name)).name
    if not plain or plain in (".", "..") or "\0" in plain or "\\" in plain or len(plain) > 200:
        raise toksmith.InvalidOption("files", name, "names of files")
    content = decoded(data, "files", plain)
    path = folder / plain
    try:
        path.write_bytes(content)
    except (OSError, ValueError):
        raise toksmith.InvalidOption("files", plain, "names that this system allows") from None
    return path


def new_name(name: str, taken: Mapping[str, object]) -> str:
    """A name that no tokenizer has."""
    plain = _render.one_line(name)[:100] or "tokenizer"
    number = 1
    while (found := plain if number == 1 else f"{plain} ({number})") in taken:
        number += 1
    return found


def proposals(tok: toksmith.Tokenizer, text: str) -> dict[str, Any]:
    """Pieces and tokens of the beginning of a text, the most telling first."""
    found = explain.pieces(tok, text[:NEAR] if text[:NEAR].strip() else SAMPLE)
    pieces = {found.text[start:end]: len(tokens) for start, end, tokens in found.rows() if end - start < 100}
    long = sorted((data for data in pieces if len(data) > 3), key=lambda data: (pieces[data] == 1, -len(data)))
    special = frozenset(tok.special_tokens.values())
    tokens = {token.id: token for token in found.tokens if token.id not in special}
    views = sorted(tokens.values(), key=lambda token: -len(token.token))[:MOST_PROPOSED]
    texts = [data.decode() for data in (long or [*pieces])[: 2 * MOST_PROPOSED] if _render.is_whole(data)]
    return {
        "pieces": [{"piece": piece, "shown": _render.token_text(piece.encode())} for piece in texts[:MOST_PROPOSED]],
        "tokens": [
            {"id": view.id, "shown": _render.token_text(view.token), "text": shown_text(view.token)} for view in views
        ],
    }


def shown_text(token: bytes) -> str | None:
    """The text of a token; None for one that is no text."""
    return token.decode() if _render.is_whole(token) else None
