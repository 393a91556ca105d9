"""The texts of a page, their tokens, and updates of both after an edit of a long text.

The result for an edited text equals that of a new computation. An edit replaces a range of the old text; ids come from
`Tokenizer.session`, which encodes only around the edit, and rows are laid out again only in its neighbourhood. Left out: the
drawing of rows, which `rows` does.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import toksmith
from toksmith import _render

LONG = 20_000  # characters; longer texts have a session


class TextEdit(NamedTuple):
    """`size` characters of the new text, from `start` on, replace `start` to `end` of the old text."""

    start: int
    end: int
    size: int


@dataclass(frozen=True)
class StoredText:
    """A stored text; `edit` made it from the text with the key `base`."""

    text: str
    base: str | None = None
    edit: TextEdit | None = None


@dataclass
class MovingSession:
    """A session and the key of its current text."""

    key: str
    session: toksmith.types.TextSession
    lock: threading.Lock = field(default_factory=threading.Lock)


class Cut(NamedTuple):
    """The tokens of a text: the ids, the byte offset at which each ends, and the look of the token of an id.

    Outside of `changed`, a byte range of an edited text, the tokens are those of the old text.
    """

    ids: NDArray[np.uint32]
    ends: NDArray[Any]
    look: Callable[[int], tuple[str, bool]]
    moving: MovingSession | None = None
    changed: tuple[int, int] | None = None


def key_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def apply_edits(base: str, old: str, edits: object) -> tuple[str, StoredText]:
    """The key of the edited text, and the text.

    Args:
        edits: `[start, end, text]` for each, in characters of the text after the previous edits.
    Raises:
        InvalidOption: The edits have another form.
    """
    if not isinstance(edits, list) or not edits:
        raise toksmith.errors.InvalidOption("edits", edits, "a list of edits, each [start, end, text]")
    text, hull = old, None
    for each in edits:
        start, end, new = check_edit(each, len(text))
        text = text[:start] + new + text[end:]
        hull = join_edits(hull, TextEdit(start, end, len(new)))
    assert hull is not None
    identity = json.dumps([base, edits])
    return hashlib.sha256(identity.encode()).hexdigest()[:32], StoredText(text, base, hull)


def check_edit(edit: object, size: int) -> tuple[int, int, str]:
    if isinstance(edit, list) and len(edit) == 3:
        start, end, new = edit
        if type(start) is int and type(end) is int and isinstance(new, str) and 0 <= start <= end <= size:
            return start, end, new
    raise toksmith.errors.InvalidOption("edits", edit, f"[start, end, text] with 0 <= start <= end <= {size}")


def join_edits(before: TextEdit | None, then: TextEdit) -> TextEdit:
    """One edit with the effect of two."""
    if before is None:
        return then
    start = min(before.start, then.start)
    end = before.start + before.size  # in the text between the two
    last = max(end, then.end)
    return TextEdit(start, before.end + last - end, last - start + then.size - (then.end - then.start))


def looks_of(tok: toksmith.Tokenizer) -> Callable[[int], tuple[str, bool]]:
    """A cached function from an id to the look of its token, and whether it is special."""
    known: dict[int, tuple[str, bool]] = {}
    special = frozenset(tok.special_tokens.values())

    def look(id: int) -> tuple[str, bool]:
        cached = known.get(id)
        if cached is None:
            cached = known[id] = (_render.token_text(tok.token_bytes(id)), id in special)
        return cached

    return look


def encode_text(
    tok: toksmith.Tokenizer, key: str, text: str, special: Any, look: Callable[[int], tuple[str, bool]]
) -> Cut:
    """Encodes a text with a tokenizer."""
    encoding = tok.encode_with_offsets(text, unit="byte", special=special)
    ids, ends = np.asarray(encoding.ids), np.asarray(encoding.ends).astype(np.uint32)
    long = len(text) >= LONG and tok.model.kind == "bpe" and tok.model.unit == "byte" and not tok.model.normalizers
    return Cut(ids, ends, look, MovingSession(key, tok.session(text, special=special)) if long else None)


def update_cut(tok: toksmith.Tokenizer, key: str, held: StoredText, old: Cut, data: bytes) -> Cut | None:
    """Updates the cut of the old text for an edited text; None if only a new encoding can give it.

    Args:
        data: The bytes of the new text.
    """
    moving, edit = old.moving, held.edit
    if moving is None or edit is None:
        return None
    with moving.lock:
        if moving.key != held.base:
            return None
        moving.key = ""  # no text, in case the session refuses the edit
        update = moving.session.replace(edit.start, edit.end, held.text[edit.start : edit.start + edit.size])
        moving.key = key
    first, last = update.first, update.first + update.removed
    at = int(old.ends[first - 1]) if first else 0
    new = at + np.cumsum([len(tok.token_bytes(id)) for id in update.ids.tolist()], dtype=np.int64)
    until = int(old.ends[last - 1]) if last else 0
    moved = (int(new[-1]) if len(new) else at) - until
    ids = splice(old.ids, first, last, update.ids)
    ends = splice(old.ends, first, last, new, moved)
    if (int(ends[-1]) if len(ends) else 0) != len(data):
        return None  # the bytes of the tokens are not those of the text
    return Cut(ids, ends, old.look, moving, (at, int(new[-1]) if len(new) else at))


def splice(old: NDArray[Any], first: int, last: int, new: NDArray[Any] | Sequence[int], by: int = 0) -> NDArray[Any]:
    """The numbers with `new` in the place of `first` to `last`, and `by` added to the later ones."""
    rest = old[last:].astype(np.int64) + by if by else old[last:]
    return np.concatenate([old[:first], np.asarray(new), rest]).astype(np.uint32)
