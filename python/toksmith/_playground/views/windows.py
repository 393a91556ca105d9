"""Windows onto the rows, the ids and the differences of a text, so that no answer grows with the text.

The library makes all cuts; after an edit, only the part that the edit can change is computed again.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

import toksmith
from toksmith import _render, explain
from toksmith.explain import _compare

from ..lattice import WORDS
from ..layout import Frame, row_starts, update_starts
from ..rows import RIGHT_TO_LEFT, Rows, colours
from ..texts import Cut, encode_text, looks_of, update_cut
from .view_request import MOST_IDS, ViewRequest, stored_text, text_bytes

MOST_CELLS = 400  # in a row
MOST_DECODED = 20_000  # bytes of decoded ids that are drawn
MOST_ROWS = 200  # in one window
NEAR = 20_000  # bytes to search for a piece on each side


def compare_texts(request: ViewRequest) -> explain.Differences:
    text, special = request.text, request.special
    key = (request.key, *request.names, special)
    return request.once("compare", key, lambda: explain.differences(request.toks, text, special=special))


def cut_by(request: ViewRequest, name: str) -> Cut:
    """The cut of the text by a tokenizer; for an edited text, updated from the cut of the old text."""
    session, tok, special = request.session, request.session.toks[name], request.special
    data, stored, key = text_bytes(request), stored_text(request), request.key
    look = request.once("looks", name, lambda: looks_of(tok))

    def make() -> Cut:
        before = session.cached_value("cut", (stored.base, name, special)) if stored.base else None
        updated = update_cut(tok, key, stored, before, data) if before else None
        return updated or encode_text(tok, key, stored.text, special, look)

    return request.once("cut", (key, name, special), make)


def lay_out(request: ViewRequest) -> Rows:
    """The text in rows."""
    cells = request.number("cells", 80, least=1, most=MOST_CELLS)
    session, data, stored, key = request.session, text_bytes(request), stored_text(request), request.key
    cuts = [cut_by(request, name) for name in request.names]
    frame = Frame(cells, session.widths, cuts)
    about = (cells, session.widths.version, request.special, *request.names)

    def make() -> np.ndarray[Any, Any]:
        before = session.cached_value("starts", (stored.base, *about)) if stored.base else None
        stretches = [cut.changed for cut in cuts if cut.changed is not None]
        if before is None or stored.edit is None or len(stretches) < len(cuts):
            return row_starts(data.decode(), frame)
        at, size = stored.edit.start, stored.edit.size
        begin = len(toksmith.reference.utf8(stored.text[:at]))
        end = begin + len(toksmith.reference.utf8(stored.text[at : at + size]))
        at, until = min(begin, *(at for at, _ in stretches)), max(end, *(until for _, until in stretches))
        return update_starts(before, data, frame, at, until)

    marks = request.values.get("marks") is not False
    return Rows(data, request.once("starts", (key, *about), make), cuts, marks=marks)


def has_right_to_left(request: ViewRequest) -> bool:
    """Whether the text has right-to-left letters."""
    session, stored = request.session, stored_text(request)

    def make() -> bool:
        if stored.edit is not None and session.cached_value("right", stored.base) is False:
            start, size = stored.edit.start, stored.edit.size
            return RIGHT_TO_LEFT.search(stored.text[start : start + size]) is not None
        return RIGHT_TO_LEFT.search(stored.text) is not None

    return request.once("right", request.key, make)


def store_widths(request: ViewRequest) -> dict[str, Any]:
    """Stores the widths of characters that the page measured."""
    widths = request.values.get("widths")
    if not isinstance(widths, dict):
        raise toksmith.errors.InvalidOption("widths", widths, "the width of each character")
    request.session.widths.take(widths)
    return {"wanted": request.session.widths.unmeasured_chars()}


def counts(request: ViewRequest) -> dict[str, Any]:
    """The length of the text in bytes, characters and tokens: the first answer to a long text."""
    totals = [tok.count(request.text, special=request.special) for tok in request.toks.values()]
    return {"bytes": len(text_bytes(request)), "chars": len(request.text), "totals": totals}


def rows(request: ViewRequest) -> dict[str, Any]:
    """The rows from `first` to `last`, with the figures of the whole text."""
    laid = lay_out(request)
    first, last = request.number("first", 0), request.number("last", 0)
    last = min(last, first + MOST_ROWS)
    facts = {"bytes": len(laid.data), "chars": len(request.text), "wanted": request.session.widths.unmeasured_chars()}
    return {**laid.window(first, last), **facts, "right_to_left": has_right_to_left(request)}


def differences(request: ViewRequest) -> dict[str, Any]:
    """The number of ranges that are cut differently, and of cuts that all tokenizers make."""
    ends = [cut_by(request, name).ends for name in request.names]
    shared = _compare.shared_ends(ends, len(text_bytes(request)))
    return {"total": len(_compare.find_differences(shared, ends)), "shared": len(shared)}


def ids(request: ViewRequest) -> dict[str, Any]:
    """The ids `first` to `last` of one tokenizer, with the drawn text of each token."""
    cut = cut_by(request, request.names[request.which])
    first = min(request.number("first", 0), len(cut.ids))
    last = min(request.number("last", 0), first + MOST_IDS, len(cut.ids))
    pairs = zip(cut.ids[first:last].tolist(), colours(cut.ends, first, last), strict=True)
    tokens = [[id, cut.look(id)[0], colour] for id, colour in pairs]
    return {"total": len(cut.ids), "first": first, "tokens": tokens}


def all_ids(request: ViewRequest) -> dict[str, Any]:
    """All ids of one tokenizer, for copying."""
    return {"ids": request.tok.encode(request.text, special=request.special)}


def decode(request: ViewRequest) -> dict[str, Any]:
    """The text of ids."""
    values = request.values.get("ids")
    if not isinstance(values, list) or not all(type(id) is int for id in values):
        raise toksmith.errors.InvalidOption("ids", values, "a list of whole numbers")
    size = sum(count * len(request.tok.token_bytes(id)) for id, count in Counter(values).items())
    if size > request.most:
        request.refuse("ids", size, 1)
    data = request.tok.decode_bytes(values)
    text = data.decode() if not data or _render.is_whole(data) else None  # invalid UTF-8 is only drawn
    return {"text": text, "shown": _render.token_text(data[:MOST_DECODED]), "bytes": len(data)}


def place(request: ViewRequest) -> dict[str, Any]:
    """The row and the byte range of a token."""
    laid, which = lay_out(request), request.which
    count = len(laid.cuts[which].ends)
    token = request.number("token", least=0, most=max(0, count - 1))
    span = laid.span(which, token) if count else (0, 0)
    return {"row": laid.row_of(span[0]), "token": token, "span": span}


def difference(request: ViewRequest) -> dict[str, Any]:
    """The next range that is cut differently after the byte `after`, or before it (`back`); wraps around the end."""
    laid = lay_out(request)
    ends = [cut.ends for cut in laid.cuts]
    differences = _compare.find_differences(_compare.shared_ends(ends, len(laid.data)), ends)
    total = len(differences)
    if not total:
        return {"total": 0}
    after = request.number("after", -1, least=-1)
    starts = np.asarray(differences.columns[0])
    if request.values.get("back"):
        number = (int(starts.searchsorted(after, "left")) - 1) % total
    else:
        number = int(starts.searchsorted(after, "right")) % total
    nearest = differences[number]
    tokens = []
    for cut, stretch in zip(laid.cuts, nearest.places, strict=True):
        drawn = zip(stretch[:50], colours(cut.ends, stretch.start, stretch.stop), strict=False)
        tokens.append([[at, int(cut.ids[at]), cut.look(int(cut.ids[at]))[0], colour] for at, colour in drawn])
    span = {"start": nearest.start, "end": nearest.end, "row": laid.row_of(nearest.start)}
    return {"total": total, "number": number, **span, "tokens": tokens}


def piece(request: ViewRequest) -> dict[str, Any]:
    """The piece that contains a byte of the text, by encoding only its neighbourhood in a long text."""
    data = text_bytes(request)
    byte = request.number("byte", 0, most=len(data))
    start = 0 if byte <= NEAR else data.rfind(b"\n", 0, byte - NEAR // 2) + 1
    if byte - start > 2 * NEAR:
        start = byte - NEAR
        while start < byte and 0x80 <= data[start] < 0xC0:
            start += 1
    near = data[start : byte + NEAR].decode("utf-8", "ignore").encode()
    is_unigram = request.tok.model.kind == "unigram"
    if is_unigram:
        spans = [match.span() for match in WORDS.finditer(near)]
    else:
        spans = [(begin, end) for begin, end, _ in explain.text(request.tok, near, special=request.special).rows()]
    for begin, end in spans:
        if start + begin <= byte < start + end:
            found = near[begin:end].strip() if is_unigram else near[begin:end]
            return {"piece": found.decode("utf-8", "replace"), "start": start + begin, "end": start + end}
    return {"piece": "", "start": byte, "end": byte}
