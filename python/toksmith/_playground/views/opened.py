"""Tokenizers from files that the user opens, and proposals of pieces and tokens for the page.

Files are written to a separate temporary folder, loaded by `toksmith.load`, and deleted; their names cannot leave that folder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import toksmith
from toksmith import _render, explain

from ..lattice import WORDS
from ..words import message_of
from .view_request import MOST_LOADED, Session, ViewRequest, decode_file


def open_tokenizer(request: ViewRequest) -> dict[str, Any]:
    """Adds a tokenizer from files; returns its name and the facts for the page."""
    tok = received_tokenizer(request.values.get("files"), request.values.get("pattern"))
    return add_tokenizer(request.session, request.string("name", "tokenizer"), tok)


def add_tokenizer(session: Session, name: str, tok: toksmith.Tokenizer) -> dict[str, Any]:
    """Adds a tokenizer to the page, with a number after the name if it is taken."""
    with session.lock:
        if len(session.toks) >= MOST_LOADED:
            raise toksmith.errors.InvalidOption(
                "tokenizers", len(session.toks), f"at most {MOST_LOADED} of them on a page"
            )
        name = new_name(name, {**session.toks, **session.failed})
        session.toks = {**session.toks, name: tok}
        session.added |= {name}
    return {"name": name, "about": session.about()}


def close_tokenizer(request: ViewRequest) -> dict[str, Any]:
    """Removes a tokenizer that the user added; returns the facts for the page."""
    session, name = request.session, request.string("name")
    with session.lock:
        if name not in session.added:
            raise toksmith.errors.UnknownName("added tokenizer", name, session.added)
        session.added -= {name}
        session.toks = {other: tok for other, tok in session.toks.items() if other != name}
    return {"about": session.about()}


def propose(request: ViewRequest) -> dict[str, Any]:
    """Pieces and tokens of the text, for choosing on the page."""
    return proposals(request.tok, request.text)


MOST_FILES = 200
MOST_PROPOSED = 12
NEAR = 2000  # characters at the beginning of the text with the proposed pieces
SAMPLE = "the goose lays a golden egg every day"  # in place of an empty text


def received_tokenizer(files: object, pattern: object) -> toksmith.Tokenizer:
    """The tokenizer in a file, or in a folder of files.

    Args:
        files: The bytes of each in base64, by its path.
        pattern: As for `toksmith.load`; None to leave out that argument.
    """
    if not isinstance(files, dict) or not 1 <= len(files) <= MOST_FILES:
        raise toksmith.errors.InvalidOption("files", type(files).__name__, f"1 to {MOST_FILES} files by name")
    if pattern is not None and not isinstance(pattern, str):
        raise toksmith.errors.InvalidOption("pattern", pattern, "the name of a pattern")
    options: dict[str, Any] = {} if pattern is None else {"pattern": pattern}
    with tempfile.TemporaryDirectory(prefix="toksmith-") as folder:
        paths = [write_upload(Path(folder), name, data) for name, data in files.items()]
        try:
            return toksmith.load(paths[0] if len(paths) == 1 else Path(folder), **options)
        except toksmith.ToksmithError as error:
            raise toksmith.ToksmithError(
                message_of(error).replace(f"{folder}/", "").replace(folder, "the folder")
            ) from None


def write_upload(folder: Path, name: object, data: object) -> Path:
    plain = PurePosixPath(str(name)).name
    if not plain or plain in (".", "..") or "\0" in plain or "\\" in plain or len(plain) > 200:
        raise toksmith.errors.InvalidOption("files", name, "names of files")
    content = decode_file(data, "files", plain)
    path = folder / plain
    try:
        path.write_bytes(content)
    except (OSError, ValueError):
        raise toksmith.errors.InvalidOption("files", plain, "names that this system allows") from None
    return path


def new_name(name: str, taken: Mapping[str, object]) -> str:
    """The name, or the name with a number if it is taken."""
    plain = _render.one_line(name)[:100] or "tokenizer"
    number = 1
    while (free := plain if number == 1 else f"{plain} ({number})") in taken:
        number += 1
    return free


def proposals(tok: toksmith.Tokenizer, text: str) -> dict[str, Any]:
    """Pieces and tokens of the beginning of a text: long pieces of several tokens and long tokens first."""
    cut = explain.text(tok, text[:NEAR] if text[:NEAR].strip() else SAMPLE)
    if tok.model.kind == "unigram":
        words = (word.strip() for word in WORDS.findall(cut.text))
        pieces = {word: 2 for word in words if 0 < len(word) < 40}
    else:
        pieces = {cut.text[start:end]: len(tokens) for start, end, tokens in cut.rows() if end - start < 100}
    long = sorted((data for data in pieces if len(data) > 3), key=lambda data: (pieces[data] == 1, -len(data)))
    special = frozenset(tok.special_tokens.values())
    tokens = {token.id: token for token in cut.tokens if token.id not in special}
    views = sorted(tokens.values(), key=lambda token: -len(token.token))[:MOST_PROPOSED]
    texts = [data.decode() for data in (long or [*pieces])[: 2 * MOST_PROPOSED] if _render.is_whole(data)]
    return {
        "pieces": [{"piece": piece, "shown": _render.token_text(piece.encode())} for piece in texts[:MOST_PROPOSED]],
        "tokens": [
            {"id": view.id, "shown": _render.token_text(view.token), "text": text_or_none(view.token)} for view in views
        ],
    }


def text_or_none(token: bytes) -> str | None:
    """The text of a token; None if its bytes are not whole characters."""
    return token.decode() if _render.is_whole(token) else None
