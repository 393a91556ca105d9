"""Marks: the tokens that only trusted text can spell; encodes texts with trusted and untrusted parts.

The rule: every added token is a mark, even if its file does not mark it as special, unless it is white space or a single
character of the ordinary vocabulary. In untrusted text no mark is found, and merges of ordinary text cannot form one either.

The walk: `TrustedEncoder` rewrites the marks of trusted text in a spelling that contains a secret, and encodes the result with
a model that finds marks in this spelling only. Left out: which text is trusted; callers decide that (segments, `chat/`).
"""

from __future__ import annotations

import dataclasses
import re
import secrets
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import accumulate, groupby
from operator import itemgetter
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._base.arguments import check_items
from .._model.model import BYTE_TOKENS, AddedToken, Model, TokenTable
from ..errors import OF_A_PLACE
from .stream import as_utf8, offset_in

__all__ = ["PlacedIds", "TrustedEncoder", "encode_segments", "is_mark"]

Text = str | bytes
Some = TypeVar("Some", str, bytes)

# Characters that no normalization form changes and that are not word characters: the patterns of Braille.
SIGNS = [chr(code) for code in range(0x2801, 0x2900)]
SECRET_SIGNS = 16


def is_mark(model: Model, token: AddedToken) -> bool:
    """Whether only trusted text can spell this added token."""
    blank = not token.special and token.content.replace("▁", " ").isspace()
    single = len(token.content.encode() if model.unit == "byte" else token.content) == 1
    byte_token = model.byte_fallback and token.content.encode() in BYTE_TOKENS
    return not blank and not ((single or byte_token) and is_ordinary(model, token))


def is_ordinary(model: Model, token: AddedToken) -> bool:
    """Whether the ordinary vocabulary has the token too."""
    return model.vocab.token(token.id) is not None


class PlacedIds(NamedTuple):
    """Ids with the start and the end of each in the text."""

    ids: NDArray[np.uint32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


class Respelled(NamedTuple):
    """A text in which marks have another spelling.

    Attributes:
        text: The text.
        places: The start and the end of each mark in it.
        original: The same in the original text.
    """

    text: Any
    places: list[tuple[int, int]]
    original: list[tuple[int, int]]

    def places_before(self, places: NDArray[Any]) -> NDArray[np.int64]:
        """Converts places in this text, none of them inside a mark, to places in the original text."""
        after, before = (np.array([0, *(end for _, end in spans)], np.int64) for spans in (self.places, self.original))
        run = np.searchsorted(after, places, side="right") - 1
        return before[run] + (places.astype(np.int64) - after[run])


class TrustedEncoder:
    """Encodes texts with trusted and untrusted parts, for one tokenizer. Only trusted text can spell a mark."""

    def __init__(self, tok: Any) -> None:
        model: Model = tok.model
        secret = "".join(secrets.choice(SIGNS) for _ in range(SECRET_SIGNS))
        self._marks = {token.content: token for token in tok._marks}
        self._ids = {token.id for token in self._marks.values()}
        self._spellings = {
            content: secret + "".join(SIGNS[number // len(SIGNS) ** place % len(SIGNS)] for place in range(3))
            for number, content in enumerate(self._marks)
        }
        longest_first = sorted(self._marks, key=len, reverse=True)
        pattern = "|".join(map(re.escape, longest_first)) or "(?!)"
        self._finders: dict[type, re.Pattern[Any]] = {str: re.compile(pattern), bytes: re.compile(pattern.encode())}
        self._tokenizer = type(tok)(self._respell_model(model))

    def _respell_model(self, model: Model) -> Model:
        """The model that finds marks in their secret spelling only, and whose ordinary vocabulary has no marks."""
        added = [
            dataclasses.replace(token, content=self._spellings.get(token.content, token.content))
            for token in model.added_tokens
        ]
        hidden_ids = np.array([token.id for token in self._marks.values() if is_ordinary(model, token)], np.uint32)
        if not len(hidden_ids):
            return dataclasses.replace(model, added_tokens=tuple(added), post=())
        keep = ~np.isin(model.ids, hidden_ids)
        return dataclasses.replace(
            model,
            tokens=TokenTable.of([token for token, stays in zip(model.tokens, keep.tolist(), strict=True) if stays]),
            ids=model.ids[keep],
            scores=None if model.scores is None else model.scores[keep],
            merges=model.merges[~np.isin(model.merges, hidden_ids).any(axis=1)],
            added_tokens=tuple(added),
            post=(),
            training=None,
        )

    def encode(self, runs: Sequence[tuple[Some, bool]]) -> list[int]:
        """The ids of the text that the runs form. A run has a text and whether it is trusted; neighbours differ in trust."""
        respelled = self._respell(*join_runs(runs), set())
        with suppress(*OF_A_PLACE):
            ids: list[int] = self._tokenizer.encode(respelled.text, special="allow")
            if sum(id in self._ids for id in ids) == len(respelled.places):
                return ids
        placed_ids: list[int] = self.encode_with_offsets(runs).ids.tolist()
        return placed_ids

    def encode_with_offsets(self, runs: Sequence[tuple[Some, bool]]) -> PlacedIds:
        """As `encode`, with places: in characters of a `str`, in bytes of `bytes`.

        A mark that the model does not find in its secret spelling, because a normalizer rewrites the text around it, stays text.
        """
        text, trusted = join_runs(runs)
        skipped: set[tuple[int, int]] = set()
        while True:
            spelled = self._respell(text, trusted, skipped)
            unit = "char" if isinstance(text, str) else "byte"
            try:
                result = self._tokenizer.encode_with_offsets(spelled.text, unit=unit, special="allow")
                missed = self._find_missed(spelled, result)
            except OF_A_PLACE as error:
                if error.offset is None:
                    raise
                places = zip(spelled.original, spelled.places, strict=True)
                missed = {before for before, (start, end) in places if start <= error.offset < end}
                if not missed:
                    raise error.at(int(spelled.places_before(np.array([error.offset]))[0]), error.index) from None
            if not missed:
                return PlacedIds(result.ids, spelled.places_before(result.starts), spelled.places_before(result.ends))
            skipped |= missed

    def _respell(self, text: Any, trusted: list[tuple[int, int]], skipped: set[tuple[int, int]]) -> Respelled:
        """The text with each mark in trusted text in its secret spelling, except at the skipped places."""
        parts: list[Any] = []
        places: list[tuple[int, int]] = []
        original: list[tuple[int, int]] = []
        at = length = 0
        for first, last in trusted:
            for match in self._finders[type(text)].finditer(text, first, last):
                content = match[0] if isinstance(text, str) else match[0].decode()
                if match.span() in skipped or (self._marks[content].single_word and adjoins_word(text, *match.span())):
                    continue
                spelling: Any = self._spellings[content]
                spelling = spelling if isinstance(text, str) else spelling.encode()
                parts += [text[at : match.start()], spelling]
                length += match.start() - at + len(spelling)
                places.append((length - len(spelling), length))
                original.append(match.span())
                at = match.end()
        return Respelled(type(text)().join([*parts, text[at:]]), places, original)

    def _find_missed(self, respelled: Respelled, found: Any) -> set[tuple[int, int]]:
        """The original places of the marks that the model did not find."""
        of_marks = np.flatnonzero(np.isin(found.ids, [*self._ids]))
        starts, ends = found.starts[of_marks].tolist(), found.ends[of_marks].tolist()
        missed, number = set(), 0
        for (start, end), before in zip(respelled.places, respelled.original, strict=True):
            while number < len(ends) and ends[number] < end:
                number += 1
            if number == len(ends) or starts[number] > start:
                missed.add(before)
        return missed


def join_runs(runs: Sequence[tuple[Any, bool]]) -> tuple[Any, list[tuple[int, int]]]:
    """The text that the runs form, and the start and end of each trusted run."""
    parts = [part for part, _ in runs]
    text = type(parts[0])().join(parts) if parts else ""
    ends = accumulate(map(len, parts))
    return text, [(end - len(part), end) for end, (part, trusted) in zip(ends, runs, strict=True) if trusted]


def adjoins_word(text: Any, start: int, end: int) -> bool:
    """Whether a word character adjoins this stretch."""
    around = text[max(0, start - 4) : start], text[end : end + 4]
    before, after = (part if isinstance(part, str) else part.decode(errors="ignore") for part in around)
    return re.match(r"\w", before[-1:]) is not None or re.match(r"\w", after[:1]) is not None


def encode_segments(encoder: TrustedEncoder, segments: Iterable[tuple[Text, bool]]) -> list[int]:
    """See `Tokenizer.encode_segments`."""
    pairs = check_items(segments, "segments", "pairs of a text and whether it is trusted")
    runs = [
        (b"".join(data for data, _ in run), trusted)
        for trusted, run in groupby(segments_as_bytes(pairs), key=itemgetter(1))
    ]
    try:
        return encoder.encode(runs)
    except OF_A_PLACE as error:
        raise error if error.offset is None else error.at(*segment_offset(pairs, error.offset)) from None


def segment_offset(segments: Iterable[tuple[Text, bool]], place: int) -> tuple[int, int]:
    """The offset of a byte of the joined segments in its segment, and the number of the segment."""
    number, offset = 0, 0
    for number, (text, _) in enumerate(segments):  # noqa: B007 - the last value is returned
        size = len(as_utf8(text))
        offset = offset_in(text, min(place, size))
        if place < size:
            break
        place -= size
    return offset, number


def segments_as_bytes(segments: Sequence[object]) -> list[tuple[bytes, bool]]:
    """The segments as bytes. The halves of a surrogate pair in different segments are not joined."""
    pairs = []
    for number, segment in enumerate(segments):
        if isinstance(segment, (str, bytes)) or not isinstance(segment, Sequence) or len(segment) != 2:
            raise TypeError(f"segments: segment {number}: expected a pair of a text and whether it is trusted")
        text, trusted = segment
        if not isinstance(text, (str, bytes)) or not isinstance(trusted, (bool, np.bool_)):
            kinds = f"{type(text).__name__} and {type(trusted).__name__}"
            raise TypeError(f"segments: segment {number}: expected a str or bytes and a bool, not {kinds}")
        pairs.append((as_utf8(text), bool(trusted)))
    return pairs
