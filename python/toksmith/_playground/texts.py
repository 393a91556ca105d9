"""The texts of a page, what tokenizers make of them, and what of that stays when somebody edits a long text.

The rules: what is made of an edited text is exactly what would be made of it anew. An edit is a stretch of the text before it
and what takes its place; ids come from `Tokenizer.session`, which encodes only around the edit, and rows are laid out again
only in its neighbourhood. Left out: what is drawn of a row, which `rows` says.
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

__all__ = ["Cut", "Held", "TextEdit", "cut_of", "edited", "edited_cut", "key_of", "looks_of"]

LONG = 20_000  # characters from which a text is kept in a session


class TextEdit(NamedTuple):
    """`size` characters of the new text, from `start` on, take the place of `start` to `end` of the old one."""

    start: int
    end: int
    size: int


@dataclass(frozen=True)
class Held:
    """A text that is kept; `base` is the key of the text that it was edited from, by `edit`."""

    text: str
    base: str | None = None
    edit: TextEdit | None = None


@dataclass
class Moving:
    """A session, which is of one text at a time: that with the key."""

    key: str
    session: toksmith.TextSession
    lock: threading.Lock = field(default_factory=threading.Lock)


class Cut(NamedTuple):
    """What one tokenizer makes of a text: the ids, where each ends in its bytes, and what the token of an id looks like.

    `changed` is the stretch of an edited text, in bytes, outside of which the tokens are those of the text before.
    """

    ids: NDArray[np.uint32]
    ends: NDArray[Any]
    look: Callable[[int], tuple[str, bool]]
    moving: Moving | None = None
    changed: tuple[int, int] | None = None


def key_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def edited(base: str, old: str, edits: object) -> tuple[str, Held]:
    """The text that edits make of another, and its key.

    Args:
        edits: `[start, end, text]` for each, in characters of the text as those before it leave it.
    Raises:
        InvalidOption: They are something else.
    """
    if not isinstance(edits, list) or not edits:
        raise toksmith.InvalidOption("edits", edits, "a list of edits, each [start, end, text]")
    text, hull = old, None
    for each in edits:
        start, end, new = checked(each, len(text))
        text = text[:start] + new + text[end:]
        hull = joined(hull, TextEdit(start, end, len(new)))
    assert hull is not None
    said = json.dumps([base, edits])
    return hashlib.sha256(said.encode()).hexdigest()[:32], Held(text, base, hull)


def checked(edit: object, size: int) -> tuple[int, int, str]:
    if isinstance(edit, list) and len(edit) == 3:
        start, end, new = edit
        if type(start) is int and type(end) is int and isinstance(new, str) and 0 <= start <= end <= size:
            return start, end, new
    raise toksmith.InvalidOption("edits", edit, f"[start, end, text] with 0 <= start <= end <= {size}")


def joined(before: TextEdit | None, then: TextEdit) -> TextEdit:
    """One edit in the place of two."""
    if before is None:
        return then
    start = min(before.start, then.start)
    end = before.start + before.size  # in the text between the two
    last = max(end, then.end)
    return TextEdit(start, before.end + last - end, last - start + then.size - (then.end - then.start))


def looks_of(tok: toksmith.Tokenizer) -> Callable[[int], tuple[str, bool]]:
    """What the token of an id looks like, and whether it is special; each is made once."""
    known: dict[int, tuple[str, bool]] = {}
    special = frozenset(tok.special_tokens.values())

    def look(id: int) -> tuple[str, bool]:
        found = known.get(id)
        if found is None:
            found = known[id] = (_render.token_text(tok.token_bytes(id)), id in special)
        return found

    return look


def cut_of(tok: toksmith.Tokenizer, key: str, text: str, special: Any, look: Callable[[int], tuple[str, bool]]) -> Cut:
    """What a tokenizer makes of a text."""
    encoding = tok.encode_with_offsets(text, unit="byte", special=special)
    ids, ends = np.asarray(encoding.ids), np.asarray(encoding.ends).astype(np.uint32)
    long = len(text) >= LONG and tok.model.kind == "bpe" and tok.model.unit == "byte" and not tok.model.normalizers
    return Cut(ids, ends, look, Moving(key, tok.session(text, special=special)) if long else None)


def edited_cut(tok: toksmith.Tokenizer, key: str, held: Held, old: Cut, data: bytes) -> Cut | None:
    """The same of an edited text, from that of the text before; None where it has to be made anew.

    Args:
        data: The bytes of the new text.
    """
    moving, edit = old.moving, held.edit
    if moving is None or edit is None:
        return None
    with moving.lock:
        if moving.key != held.base:
            return None
        moving.key = ""  # of no text, if the edit is refused
        changed = moving.session.replace(edit.start, edit.end, held.text[edit.start : edit.start + edit.size])
        moving.key = key
    first, last = changed.first, changed.first + changed.removed
    at = int(old.ends[first - 1]) if first else 0
    new = at + np.cumsum([len(tok.token_bytes(id)) for id in changed.ids.tolist()], dtype=np.int64)
    until = int(old.ends[last - 1]) if last else 0
    moved = (int(new[-1]) if len(new) else at) - until
    ids = spliced(old.ids, first, last, changed.ids)
    ends = spliced(old.ends, first, last, new, moved)
    if (int(ends[-1]) if len(ends) else 0) != len(data):
        return None  # the bytes of the tokens are not those of the text
    return Cut(ids, ends, old.look, moving, (at, int(new[-1]) if len(new) else at))


def spliced(old: NDArray[Any], first: int, last: int, new: NDArray[Any] | Sequence[int], by: int = 0) -> NDArray[Any]:
    """The numbers with others in the place of some; those behind are `by` more."""
    behind = old[last:].astype(np.int64) + by if by else old[last:]
    return np.concatenate([old[:first], np.asarray(new), behind]).astype(np.uint32)
