"""The text in rows of tokens, its ids, and the places that differ: windows, so that no answer grows with the text.

The rule: nothing here knows how a text is cut; of an edited text only what the edit can have changed is computed again.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

import toksmith
from toksmith import _render, explain
from toksmith.explain import _compare

from ..layout import Frame, moved_starts, row_starts
from ..rows import RIGHT_TO_LEFT, Rows, colours
from ..texts import Cut, cut_of, edited_cut, looks_of
from .asked import MOST_IDS, Asked, data_of, held_of

__all__ = [
    "all_ids",
    "compared",
    "counts",
    "decode",
    "difference",
    "differences",
    "ids",
    "measured",
    "piece",
    "place",
    "rows",
]

MOST_CELLS = 400  # in a row
MOST_DECODED = 20_000  # bytes of decoded ids that are drawn
MOST_ROWS = 200  # in one window
NEAR = 20_000  # characters on each side that a piece is looked for in


def compared(asked: Asked) -> explain.Comparison:
    text, special = asked.text, asked.special
    key = (asked.key, *asked.names, special)
    return asked.once("compare", key, lambda: explain.compare(asked.toks, text, special=special))


def cut_by(asked: Asked, name: str) -> Cut:
    """What a tokenizer makes of the text; of an edited one from what it made of the text before."""
    session, tok, special = asked.session, asked.session.toks[name], asked.special
    data, held, key = data_of(asked), held_of(asked), asked.key
    look = asked.once("looks", name, lambda: looks_of(tok))

    def make() -> Cut:
        before = session.had("cut", (held.base, name, special)) if held.base else None
        changed = edited_cut(tok, key, held, before, data) if before else None
        return changed or cut_of(tok, key, held.text, special, look)

    return asked.once("cut", (key, name, special), make)


def laid_out(asked: Asked) -> Rows:
    """The text in rows."""
    cells = asked.number("cells", 80, least=1, most=MOST_CELLS)
    session, data, held, key = asked.session, data_of(asked), held_of(asked), asked.key
    cuts = [cut_by(asked, name) for name in asked.names]
    frame = Frame(cells, session.widths, cuts)
    about = (cells, session.widths.version, asked.special, *asked.names)

    def make() -> np.ndarray[Any, Any]:
        before = session.had("starts", (held.base, *about)) if held.base else None
        stretches = [cut.changed for cut in cuts if cut.changed is not None]
        if before is None or held.edit is None or len(stretches) < len(cuts):
            return row_starts(data.decode(), frame)
        at, size = held.edit.start, held.edit.size
        begin = len(toksmith.reference.utf8(held.text[:at]))
        end = begin + len(toksmith.reference.utf8(held.text[at : at + size]))
        at, until = min(begin, *(at for at, _ in stretches)), max(end, *(until for _, until in stretches))
        return moved_starts(before, data, frame, at, until)

    marks = asked.values.get("marks") is not False
    return Rows(data, asked.once("starts", (key, *about), make), cuts, marks=marks)


def has_right_to_left(asked: Asked) -> bool:
    """Whether the text has letters from right to left."""
    session, held = asked.session, held_of(asked)

    def make() -> bool:
        if held.edit is not None and session.had("right", held.base) is False:
            start, size = held.edit.start, held.edit.size
            return RIGHT_TO_LEFT.search(held.text[start : start + size]) is not None
        return RIGHT_TO_LEFT.search(held.text) is not None

    return asked.once("right", asked.key, make)


def measured(asked: Asked) -> dict[str, Any]:
    """Takes how wide the page draws characters."""
    widths = asked.values.get("widths")
    if not isinstance(widths, dict):
        raise toksmith.InvalidOption("widths", widths, "the width of each character")
    asked.session.widths.take(widths)
    return {"wanted": asked.session.widths.wanted()}


def counts(asked: Asked) -> dict[str, Any]:
    """How long the text is, in bytes, characters and tokens: the first answer to a long text."""
    totals = [tok.count(asked.text, special=asked.special) for tok in asked.toks.values()]
    return {"bytes": len(data_of(asked)), "chars": len(asked.text), "totals": totals}


def rows(asked: Asked) -> dict[str, Any]:
    """The rows from `first` to `last`, with the figures of the whole text."""
    laid = laid_out(asked)
    first, last = asked.number("first", 0), asked.number("last", 0)
    last = min(last, first + MOST_ROWS)
    facts = {"bytes": len(laid.data), "chars": len(asked.text), "wanted": asked.session.widths.wanted()}
    return {**laid.window(first, last), **facts, "right_to_left": has_right_to_left(asked)}


def differences(asked: Asked) -> dict[str, Any]:
    """How many stretches are cut differently, and how many cuts all tokenizers make."""
    ends = [cut_by(asked, name).ends for name in asked.names]
    shared = _compare.shared_ends(ends, len(data_of(asked)))
    return {"total": len(_compare.differences(shared, ends)), "shared": len(shared)}


def ids(asked: Asked) -> dict[str, Any]:
    """The ids from place `first` to `last` of one tokenizer, with what each token looks like."""
    cut = cut_by(asked, asked.names[asked.which])
    first = min(asked.number("first", 0), len(cut.ids))
    last = min(asked.number("last", 0), first + MOST_IDS, len(cut.ids))
    shown = zip(cut.ids[first:last].tolist(), colours(cut.ends, first, last), strict=True)
    tokens = [[id, cut.look(id)[0], colour] for id, colour in shown]
    return {"total": len(cut.ids), "first": first, "tokens": tokens}


def all_ids(asked: Asked) -> dict[str, Any]:
    """All ids of one tokenizer, to be copied."""
    return {"ids": asked.tok.encode(asked.text, special=asked.special)}


def decode(asked: Asked) -> dict[str, Any]:
    """The text of ids."""
    values = asked.values.get("ids")
    if not isinstance(values, list) or not all(type(id) is int for id in values):
        raise toksmith.InvalidOption("ids", values, "a list of whole numbers")
    size = sum(count * len(asked.tok.token_bytes(id)) for id, count in Counter(values).items())
    if size > asked.most:
        asked.refuse("ids", size, 1)
    data = asked.tok.decode_bytes(values)
    text = data.decode() if not data or _render.is_whole(data) else None  # bytes that are no text are only shown
    return {"text": text, "shown": _render.token_text(data[:MOST_DECODED]), "bytes": len(data)}


def place(asked: Asked) -> dict[str, Any]:
    """The place of a token: its row and its bytes."""
    laid, which = laid_out(asked), asked.which
    count = len(laid.cuts[which].ends)
    token = asked.number("token", least=0, most=max(0, count - 1))
    span = laid.span(which, token) if count else (0, 0)
    return {"row": laid.row_of(span[0]), "token": token, "span": span}


def difference(asked: Asked) -> dict[str, Any]:
    """The next stretch that is cut differently behind the byte `after`, or before it (`back`); round the end."""
    laid = laid_out(asked)
    ends = [cut.ends for cut in laid.cuts]
    differences = _compare.differences(_compare.shared_ends(ends, len(laid.data)), ends)
    total = len(differences)
    if not total:
        return {"total": 0}
    after = asked.number("after", -1, least=-1)
    starts = np.asarray(differences.columns[0])
    if asked.values.get("back"):
        number = (int(starts.searchsorted(after, "left")) - 1) % total
    else:
        number = int(starts.searchsorted(after, "right")) % total
    found = differences[number]
    tokens = []
    for cut, stretch in zip(laid.cuts, found.places, strict=True):
        drawn = zip(stretch[:50], colours(cut.ends, stretch.start, stretch.stop), strict=False)
        tokens.append([[at, int(cut.ids[at]), cut.look(int(cut.ids[at]))[0], colour] for at, colour in drawn])
    span = {"start": found.start, "end": found.end, "row": laid.row_of(found.start)}
    return {"total": total, "number": number, **span, "tokens": tokens}


def piece(asked: Asked) -> dict[str, Any]:
    """The piece that contains a byte of the text; in a long text only its neighbourhood is examined."""
    data = data_of(asked)
    byte = asked.number("byte", 0, most=len(data))
    start = 0 if byte <= NEAR else data.rfind(b"\n", 0, byte - NEAR // 2) + 1
    if byte - start > 2 * NEAR:
        start = byte - NEAR
        while start < byte and 0x80 <= data[start] < 0xC0:
            start += 1
    near = data[start : byte + NEAR].decode("utf-8", "ignore").encode()
    for begin, end, _ in explain.pieces(asked.tok, near, special=asked.special).rows():
        if start + begin <= byte < start + end:
            return {"piece": near[begin:end].decode("utf-8", "replace"), "start": start + begin, "end": start + end}
    return {"piece": "", "start": byte, "end": byte}
