"""Where texts and ids can be cut: parts of a text by their number of ids, what text to come may change, what decoding and
encoding again changes.

Everything is said in terms of `encode`: a part of a text counts as many ids as it has as a text of its own. A text is
encoded only as far as it is needed where the core knows a place at which it can be cut without changing an id
(`settled.rs`), and whole where it knows none.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._errors import InvalidOption
from ._model import Model
from ._results import Chunk, Encoding, Healing, RaggedEncoding
from ._stream import CONTEXT, Special, as_utf8

__all__ = [
    "chunks",
    "encoding",
    "encodings",
    "first_drift",
    "healed",
    "longest_added",
    "segment_ids",
    "tokens_by_bytes",
    "truncated",
]

Some = TypeVar("Some", str, bytes)
TokensByBytes = tuple[list[bytes], NDArray[np.uint32]]
PER_ID = 8  # a first guess of the bytes that an id stands for


def longest_added(model: Model) -> int:
    """The bytes of the longest added token."""
    return max((len(token.content.encode()) for token in model.added_tokens), default=0)


def encoding(engine: _core.Engine, text: str | bytes, *, unit: str, special: Special, errors: str) -> Encoding:
    """The ids of one text with their ranges."""
    return Encoding(*_core.encode_with_offsets(engine, text, special, errors, in_characters(unit)), unit)


def encodings(
    engine: _core.Engine,
    batch: Sequence[str | bytes],
    *,
    unit: str,
    special: Special,
    errors: str,
    threads: int,
) -> RaggedEncoding:
    """The ids of each text with their ranges."""
    characters = in_characters(unit)
    ranges, text_ends = _core.encode_ragged_with_offsets(engine, batch, special, errors, threads, characters)
    return RaggedEncoding(*ranges, text_ends, unit)


def in_characters(unit: str) -> bool:
    """Whether offsets count characters, not bytes."""
    if unit not in ("char", "byte"):
        raise InvalidOption("unit", unit, "'char' or 'byte'")
    return unit == "char"


class Parts:
    """The ids of parts of texts, with one choice of what special tokens are."""

    def __init__(self, engine: _core.Engine, model: Model, special: Special) -> None:
        self.engine, self.special = engine, special
        self.context = longest_added(model) + CONTEXT

    def count(self, text: str | bytes) -> int:
        """The number of ids."""
        return self.engine.count(text, self.special, "replace")

    def places(self, text: str | bytes) -> list[int | None]:
        """Where the text may be cut so that so many ids are before: None inside a character."""
        ids, starts, ends = _core.encode_with_offsets(self.engine, text, self.special, "replace", True)
        shared = [False, *(starts[1:] < ends[:-1]).tolist(), False][: len(ids) + 1]
        if isinstance(text, bytes):
            ends = _core.encode_with_offsets(self.engine, text, self.special, "replace", False)[2]
        return [None if inside else end for inside, end in zip(shared, [0, *ends.tolist()], strict=True)]

    def enough(self, text: Some, start: int, most: int) -> Some:
        """The text from `start` on, or a part of it with more ids than `most`, which are the same in the whole."""
        size = PER_ID * (most + 1) + 32 * CONTEXT
        while start + size < len(text):
            data = plain(text[start : start + size])
            cut = None if data is None else _core.find_cut(self.engine, data, 0, last=True)
            if data is not None and cut is not None:
                part: Some = like(text, data[:cut])
                if self.count(part) > most:
                    return part
            size *= 2
        return text[start:]

    def enough_of_end(self, text: Some, most: int) -> Some:
        """The text, or its end with more ids than `most`, which are the same in the whole."""
        size = PER_ID * (most + 1) + 32 * CONTEXT + self.context
        while size < len(text):
            data = plain(text[len(text) - size :])
            cut = None if data is None else _core.find_cut(self.engine, data, self.context, last=False)
            if data is not None and cut is not None:
                part: Some = like(text, data[cut:])
                if self.count(part) > most:
                    return part
            size *= 2
        return text

    def first(self, text: Some, start: int, most: int) -> Some:
        """The longest beginning of the text from `start` on that is cut behind one of its first `most` ids, and has no
        more."""
        known = self.enough(text, start, most)
        places = self.places(known)
        if len(places) == 1:  # no id at all
            return known
        for place in reversed(places[: most + 1]):
            if place is not None and (place == 0 or self.count(known[:place]) <= most):
                return known[:place]
        return text[:0]

    def last(self, text: Some, most: int) -> Some:
        """The longest end of the text that is cut before one of its last `most` ids, and has no more."""
        known = self.enough_of_end(text, most)
        places = self.places(known)
        if len(places) == 1:
            return known
        for place in places[max(0, len(places) - 1 - most) :]:
            if place is not None and (place == len(known) or self.count(known[place:]) <= most):
                return known[place:]
        return text[:0]


def plain(text: str | bytes) -> bytes | None:
    """The bytes of a text; None for one with lone surrogates, which are not cut apart."""
    try:
        return text if isinstance(text, bytes) else text.encode()
    except UnicodeEncodeError:
        return None


def like(text: object, data: bytes) -> Any:
    """The bytes in the type of the text."""
    return data if isinstance(text, bytes) else data.decode()


def truncated(parts: Parts, text: Some, max_tokens: int, side: str) -> Some:
    """See `Tokenizer.truncate`."""
    checked_count("max_tokens", max_tokens, 0)
    if side not in ("left", "right"):
        raise InvalidOption("side", side, "'left' or 'right': the side that is cut off")
    return parts.first(text, 0, max_tokens) if side == "right" else parts.last(text, max_tokens)


def chunks(parts: Parts, text: Some, max_tokens: int, overlap: int) -> list[Chunk]:
    """See `Tokenizer.chunk`."""
    checked_count("max_tokens", max_tokens, 1)
    checked_count("overlap", overlap, 0)
    if overlap >= max_tokens:
        raise InvalidOption("overlap", overlap, f"less than max_tokens={max_tokens}")
    found: list[Chunk] = []
    start = end = 0
    while end < len(text):
        part = parts.first(text, start, max_tokens)
        if start + len(part) <= end and start < end:  # an overlap that leaves no room for anything new
            start = end
            continue
        if not part:
            raise too_small(parts, text, start, max_tokens)
        end = start + len(part)
        found.append(Chunk(part, start, end, parts.engine.encode(part, parts.special, "replace", None)))
        start = end - len(parts.last(part, overlap)) if overlap else end
    return found


def too_small(parts: Parts, text: Some, start: int, max_tokens: int) -> InvalidOption:
    """The error of a character, or what else cannot be cut, that takes more ids than a chunk may have."""
    known = parts.enough(text, start, max_tokens)
    first = next((place for place in parts.places(known) if place), len(known))
    needed = parts.count(known[:first])
    return InvalidOption("max_tokens", max_tokens, f"at least {needed}, for what stands at {start} and is never cut")


def checked_count(argument: str, value: int, least: int) -> None:
    """Returns if an argument is a count."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{argument} must be an int, not {type(value).__name__}")
    if value < least:
        raise InvalidOption(argument, value, f"at least {least}")


def first_drift(engine: _core.Engine, model: Model, ids: Iterable[int]) -> int | None:
    """See `Tokenizer.first_drift`."""
    listed = list(ids)
    engine.decode_bytes(listed)  # an unknown id is an error with its position among all
    special = {token.id for token in model.added_tokens if token.special}
    cuts = [place for place, id in enumerate(listed) if id in special]
    start = 0
    for end in [*cuts, len(listed)]:
        run = np.array(listed[start:end], np.uint32)
        again = engine.encode_array(engine.decode_bytes(run), "text", "replace", None)
        common = min(len(run), len(again))
        differs = np.flatnonzero(run[:common] != again[:common])
        if len(differs) or len(run) != len(again):
            return start + (int(differs[0]) if len(differs) else common)
        start = end + 1
    return None


def segment_ids(engine: _core.Engine, model: Model, segments: Iterable[tuple[str | bytes, bool]]) -> list[int]:
    """See `Tokenizer.encode_segments`."""
    runs: list[tuple[bytes, bool]] = []
    for data, trusted in joined(segments):
        if runs and runs[-1][1] == trusted:
            runs[-1] = (runs[-1][0] + data, trusted)
        else:
            runs.append((data, trusted))
    contents = {token.content.encode(): token for token in reversed(model.added_tokens) if not token.normalized}
    longest_first = sorted(contents, key=len, reverse=True)
    finder = re.compile(b"|".join(map(re.escape, longest_first))) if contents else None
    ids: list[int] = []
    waiting = b""
    for data, trusted in runs:
        start = 0
        for found in finder.finditer(data) if finder and trusted else ():
            token = contents[found[0]]
            if token.special:
                text = waiting + data[start : found.start()]
                ids += [*engine.encode(text, "text", "replace", None), token.id]
                waiting, start = b"", found.end()
        waiting += data[start:]
    return [*ids, *engine.encode(waiting, "text", "replace", None)]


def joined(segments: Iterable[object]) -> list[tuple[bytes, bool]]:
    """The segments as bytes. Two halves of a pair of surrogates that meet are not put together."""
    found = []
    for number, segment in enumerate(segments):
        if isinstance(segment, (str, bytes)) or not isinstance(segment, Sequence) or len(segment) != 2:
            raise TypeError(f"segment {number}: expected a pair of a text and whether it is trusted")
        text, trusted = segment
        if not isinstance(text, (str, bytes)) or not isinstance(trusted, (bool, np.bool_)):
            kinds = f"{type(text).__name__} and {type(trusted).__name__}"
            raise TypeError(f"segment {number}: expected a str or bytes and a bool, not {kinds}")
        found.append((as_utf8(text), bool(trusted)))
    return found


def tokens_by_bytes(model: Model, shown: Callable[[int], bytes]) -> TokensByBytes:
    """What each ordinary token shows, in order, and its id."""
    listed = zip(model.tokens, model.ids.tolist(), strict=True)
    pairs = sorted((shown(id) if model.decoders else token, id) for token, id in listed)
    return [token for token, _ in pairs], np.array([id for _, id in pairs], np.uint32)


def healed(parts: Parts, tokens: Callable[[bool], TokensByBytes], text: str | bytes) -> Healing:
    """See `Tokenizer.heal`."""
    data = as_utf8(text)
    cut = _core.find_cut(parts.engine, data, 0, last=True) or 0
    settled = parts.engine.encode(data[:cut], parts.special, "replace", None)
    ids, _, ends = _core.encode_with_offsets(parts.engine, data[cut:], parts.special, "replace", False)
    # What a normalizer takes away from the end has no id, and is no rest if no token begins with it.
    rests = ((count, data[cut + end :]) for count, end in enumerate([0, *ends.tolist()]))
    for count, rest in chain(rests, [(len(ids), b"")]):
        known = [*settled, *ids[:count].tolist()]
        contents, own_ids = tokens(parts.engine.decode_more(known, fresh=True)[1])
        first, last = prefix_range(contents, rest)
        if first < last or not rest:
            return Healing(known, rest, np.sort(own_ids[first:last]), stable=count == 0)
    raise AssertionError("an empty rest begins every token")


def prefix_range(tokens: Sequence[bytes], prefix: bytes) -> tuple[int, int]:
    """The range of the tokens, which are in order, that begin with a prefix."""
    following = prefix.rstrip(b"\xff")
    first = bisect_left(tokens, prefix)
    if not following:
        return first, len(tokens)
    return first, bisect_left(tokens, following[:-1] + bytes([following[-1] + 1]))
