"""Finds where texts and ids can be cut: by number of ids, where later text can change ids, and where ids change when
they are decoded and encoded again.

`encode` defines everything: the ids of a part are those of the part encoded alone. If the core knows places where the text
can be cut without changing an id (`encode/boundaries.rs`), only the necessary part is encoded; otherwise the whole text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

from .. import _core
from .._base import lazy_numpy as np
from .._base.arguments import check_int, check_items
from .._model.model import Model
from ..errors import InvalidOption, shift_offsets
from .stream import CONTEXT, Special, as_utf8, check_text, offset_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .results import Chunk, Healing

Some = TypeVar("Some", str, bytes)
PER_ID = 8  # a first guess of the bytes per id


def longest_added(model: Model) -> int:
    """The length in bytes of the longest added token."""
    return max((len(token.content.encode()) for token in model.added_tokens), default=0)


class PartEncoder:
    """Encodes parts of texts, with one value of `special`.

    A part begins at `base` of the caller's text; offsets in errors refer to that text.
    """

    def __init__(self, engine: _core.Engine, model: Model, special: Special) -> None:
        self.engine, self.special = engine, special
        self.context = longest_added(model) + CONTEXT

    def count(self, text: str | bytes, base: int) -> int:
        """The number of ids."""
        with shift_offsets(lambda offset: base + offset):
            return self.engine.count(text, self.special, "replace")

    def ids(self, text: str | bytes, base: int) -> list[int]:
        """The ids."""
        with shift_offsets(lambda offset: base + offset):
            return self.engine.encode(text, self.special, "replace", None)

    def places(self, text: str | bytes, base: int) -> list[int | None]:
        """For each number of ids, the place after them in the text; None inside a character."""
        with shift_offsets(lambda offset: base + offset):
            ids, starts, ends = _core.encode_with_offsets(self.engine, text, self.special, "replace", True)
        shared = [False, *(starts[1:] < ends[:-1]).tolist(), False][: len(ids) + 1]
        if isinstance(text, bytes):
            ends = _core.encode_with_offsets(self.engine, text, self.special, "replace", False)[2]
        return [None if inside else end for inside, end in zip(shared, [0, *ends.tolist()], strict=True)]

    def enough(self, text: Some, start: int, most: int) -> Some:
        """The text from `start` on, or a prefix of it with more than `most` ids, which equal those in the whole text."""
        size = PER_ID * (most + 1) + 32 * CONTEXT
        while start + size < len(text):
            data = utf8_or_none(text[start : start + size])
            cut = None if data is None else _core.find_cut(self.engine, data, 0, last=True)
            if data is not None and cut is not None:
                part: Some = to_type_of(text, data[:cut])
                if self.count(part, start) > most:
                    return part
            size *= 2
        return text[start:]

    def enough_of_end(self, text: Some, most: int, base: int) -> Some:
        """The text, or a suffix of it with more than `most` ids, which equal those in the whole text."""
        size = PER_ID * (most + 1) + 32 * CONTEXT + self.context
        while size < len(text):
            data = utf8_or_none(text[len(text) - size :])
            cut = None if data is None else _core.find_cut(self.engine, data, self.context, last=False)
            if data is not None and cut is not None:
                part: Some = to_type_of(text, data[cut:])
                if self.count(part, base + len(text) - len(part)) > most:
                    return part
            size *= 2
        return text

    def first(self, text: Some, start: int, most: int) -> Some:
        """The longest prefix of the text from `start` on that ends after one of its first `most` ids, with no more ids."""
        part = self.enough(text, start, most)
        places = self.places(part, start)
        if len(places) == 1:  # the text has no ids
            return part
        for place in reversed(places[: most + 1]):
            if place is not None and (place == 0 or self.count(part[:place], start) <= most):
                return part[:place]
        return text[:0]

    def last(self, text: Some, most: int, base: int = 0) -> Some:
        """The longest suffix of the text that starts before one of its last `most` ids, with no more ids."""
        part = self.enough_of_end(text, most, base)
        base += len(text) - len(part)
        places = self.places(part, base)
        if len(places) == 1:
            return part
        for place in places[max(0, len(places) - 1 - most) :]:
            if place is not None and (place == len(part) or self.count(part[place:], base + place) <= most):
                return part[place:]
        return text[:0]


def utf8_or_none(text: str | bytes) -> bytes | None:
    """The bytes of a text; None if it has lone surrogates, because cutting could separate a pair."""
    try:
        return text if isinstance(text, bytes) else text.encode()
    except UnicodeEncodeError:
        return None


def to_type_of(text: object, data: bytes) -> Any:
    """The bytes in the type of the text."""
    return data if isinstance(text, bytes) else data.decode(errors="replace")


def truncate_text(parts: PartEncoder, text: Some, max_tokens: int, side: str) -> Some:
    """See `Tokenizer.truncate`."""
    check_text(text)
    check_count("max_tokens", max_tokens, 0)
    if side not in ("left", "right"):
        raise InvalidOption("side", side, "'left' or 'right': the side to cut off")
    return parts.first(text, 0, max_tokens) if side == "right" else parts.last(text, max_tokens)


def split_chunks(parts: PartEncoder, text: Some, max_tokens: int, overlap: int) -> list[Chunk]:
    """See `Tokenizer.chunk`."""
    from .results import Chunk  # imported on demand in this file, so tokenizers load sooner

    check_text(text)
    check_count("max_tokens", max_tokens, 1)
    check_count("overlap", overlap, 0)
    if overlap >= max_tokens:
        raise InvalidOption("overlap", overlap, f"less than max_tokens={max_tokens}")
    result: list[Chunk] = []
    start = end = 0
    while end < len(text):
        part = parts.first(text, start, max_tokens)
        if start + len(part) <= end and start < end:  # the overlap leaves no room for new text
            start = end
            continue
        if not part:
            raise chunk_too_small(parts, text, start, max_tokens)
        end = start + len(part)
        result.append(Chunk(part, start, end, parts.ids(part, start)))
        start = end - len(parts.last(part, overlap, start)) if overlap else end
    return result


def chunk_too_small(parts: PartEncoder, text: Some, start: int, max_tokens: int) -> InvalidOption:
    """The error for a character, or other text that cannot be cut, with more ids than a chunk can have."""
    part = parts.enough(text, start, max_tokens)
    first = next((place for place in parts.places(part, start) if place), len(part))
    needed = parts.count(part[:first], start)
    return InvalidOption("max_tokens", max_tokens, f"at least {needed}, for the text at {start}, which cannot be cut")


def check_count(argument: str, value: int, least: int) -> None:
    """Checks that an argument is a count."""
    if check_int(value, argument) < least:
        raise InvalidOption(argument, value, f"at least {least}")


def first_drift(engine: _core.Engine, model: Model, ids: Iterable[int]) -> int | None:
    """See `Tokenizer.first_drift`."""
    id_list = check_items(ids, "ids", "ids (integers)")
    engine.decode_bytes(id_list)  # an unknown id is an error with its position among all
    special = {token.id for token in model.added_tokens if token.special}
    cuts = [place for place, id in enumerate(id_list) if id in special]
    start = 0
    for end in [*cuts, len(id_list)]:
        run = np.array(id_list[start:end], np.uint32)
        again = engine.encode_array(engine.decode_bytes(run), "text", "replace", None)
        common = min(len(run), len(again))
        differs = np.flatnonzero(run[:common] != again[:common])
        if len(differs) or len(run) != len(again):
            return start + (int(differs[0]) if len(differs) else common)
        start = end + 1
    return None


class SortedTokens:
    """The ordinary tokens in the order of their bytes, as they are decoded; `fresh` is whether they begin a text."""

    def __init__(self, engine: _core.Engine, fresh: bool) -> None:
        self.blob, *numbers = engine.sorted_tokens(fresh)
        ends, self.ids = (np.frombuffer(each, np.uint32) for each in numbers)  # type: ignore[call-overload]
        self.cuts = np.append(np.uint32(0), ends).data  # a view, because it gives integers sooner
        self.longest = int(np.diff(ends, prepend=0).max(initial=0))

    def starting_with(self, prefix: bytes) -> NDArray[np.uint32]:
        """The ids of the tokens that begin with `prefix`, ascending."""
        blob, cuts, places = self.blob, self.cuts, range(len(self.ids))
        first = bisect_left(places, prefix, key=lambda at: blob[cuts[at] : cuts[at + 1]])
        last = bisect_left(places, True, first, key=lambda at: not blob.startswith(prefix, cuts[at], cuts[at + 1]))
        return np.sort(self.ids[first:last])


def heal_prompt(parts: PartEncoder, model: Model, tables: dict[bool, SortedTokens], text: str | bytes) -> Healing:
    """See `Tokenizer.heal`. `tables` are the sorted tokens, by whether they begin a text; this makes those that it needs."""
    from .results import Healing

    engine, data = parts.engine, as_utf8(text)
    cut = _core.find_cut(engine, data, 0, last=True) or 0
    with shift_offsets(lambda offset: offset_in(text, offset)):
        stable_ids = engine.encode(data[:cut], parts.special, "replace", None)
    with shift_offsets(lambda offset: offset_in(text, cut + offset)):
        ids, _, ends = _core.encode_with_offsets(engine, data[cut:], parts.special, "replace", False)
    # Without decoders, a token is the same at the start of a text. Later tokens are not there after any decoded bytes.
    is_fresh = bool(model.decoders) and engine.decode_more(stable_ids, fresh=True)[1]
    for fresh in {False, is_fresh} - tables.keys():
        tables[fresh] = SortedTokens(engine, fresh)
    # Text that a normalizer removes from the end has no id; it is a rest only if a token begins with it.
    for count, end in chain(enumerate([0, *ends.tolist()]), [(len(ids), len(data) - cut)]):
        is_fresh = is_fresh and engine.decode_more(ids[:count][-1:], fresh=True)[1]
        if len(data) - cut - end > tables[is_fresh].longest:  # it begins no token
            continue
        rest = data[cut + end :]
        found = tables[is_fresh].starting_with(rest)
        if len(found) or not rest:
            return Healing([*stable_ids, *ids[:count].tolist()], rest, found, stable=count == 0)
    raise AssertionError("an empty rest begins every token")


def pieces_of(engine: _core.Engine, model: Model, text: str | bytes, special: Special) -> list[bytes]:
    """The pieces of a text as bytes; see `Tokenizer.split`."""
    data = as_utf8(text)
    is_whole = any(step.kind == "sentencepiece" for step in model.normalizers)  # its symbols stay in the text
    tokens = [token for token in model.added_tokens if not (is_whole and token.normalized)]
    added = {token.id: token.content.encode() for token in tokens if special != "text" or not token.special}
    normalized = any(token.normalized for token in tokens)
    if not normalized and not any(content in data for content in added.values()):
        return engine.split(data) if data else []
    ids, starts, ends = _core.encode_with_offsets(engine, text, special, "replace", False)
    pieces, done = [], 0
    for place in np.flatnonzero(np.isin(ids, list(added))).tolist():
        start, end = int(starts[place]), int(ends[place])
        if start >= done:
            pieces += [*(engine.split(data[done:start]) if start > done else []), data[start:end]]
            done = end
    return pieces + (engine.split(data[done:]) if done < len(data) else [])
