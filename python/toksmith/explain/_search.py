"""Finds tokens of a vocabulary by text, bytes or id."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from .._base.arguments import check_int
from .._render import Block, Line, Shown, Table, token_text
from .._sources.named import TokenizerSource, describe_tokenizer, resolve_tokenizer
from ..errors import InvalidOption
from ._pieces import SAID, Kind, token_kind

By = Literal["text", "bytes", "id"]


@dataclass(frozen=True)
class Found:
    """One match: the id, the bytes and the kind of the token."""

    id: int
    token: bytes
    kind: Kind


@dataclass(frozen=True, repr=False)
class Search(Shown):
    """The result of a search.

    Attributes:
        query, by: The query and its kind.
        total: Number of tokens that match.
        found: The first of them: tokens equal to the query, then tokens that
            begin with it, then the others, each by id.
    """

    tokenizer: str
    query: str
    by: By
    total: int
    found: tuple[Found, ...]

    def _parts(self) -> Iterator[str | Block]:
        query = token_text(self.query.encode("utf-8", "replace"))
        yield f"tokens of {self.tokenizer} with {query}, by {self.by}"
        more = f"; the first {len(self.found)}" if self.total > len(self.found) else ""
        yield Line(f"{self.total:,} found{more}")
        rows = [
            [str(each.id), token_text(each.token), each.token[:32].hex(" "), SAID[each.kind]] for each in self.found
        ]
        if rows:
            yield Table(["id", "token", "bytes", ""], rows, left=(1, 2, 3))


def search(tok: TokenizerSource, query: str, *, by: By = "text", most: int = 100) -> Search:
    """Tokens of a vocabulary, including special tokens, that contain a text or
    bytes, or have an id.

    Args:
        query: By "text": a text that the token contains. By "bytes": hex
            digits, where `??` is any byte, as in `e2 98 ??`. By "id": one id,
            or two with a hyphen for all from the first to the second.
        most: The maximum number of results, at least 1.
    Raises:
        InvalidOption: The query does not fit `by`, or `by` is unknown.
    Cost: one pass over the vocabulary.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> [found.token for found in toksmith.explain.search(tok, "lo").found]
    [b'lo', b'low', b' low']
    >>> [found.id for found in toksmith.explain.search(tok, "6f 77", by="bytes").found]
    [257, 258]
    """
    tok = resolve_tokenizer(tok)
    if by not in QUERIES:
        raise InvalidOption("by", by, f"one of {', '.join(QUERIES)}")
    if check_int(most, "most") < 1:
        raise InvalidOption("most", most, "at least 1")
    order = QUERIES[by](query)
    special = {added.id: added.content.encode() for added in tok.model.added_tokens}
    vocabulary = zip(tok.model.ids.tolist(), tok.model.tokens, strict=True)
    ranked = []
    for id, token in {**dict(vocabulary), **special}.items():
        place = order(id, token)
        if place is not None:
            ranked.append((place, id, token))
    ranked.sort()
    specials = frozenset(tok.special_tokens.values())
    matches = (Found(id, token, "special" if id in specials else token_kind(token)) for _, id, token in ranked[:most])
    return Search(describe_tokenizer(tok), query, by, len(ranked), tuple(matches))


Order = Callable[[int, bytes], int | None]


def by_text(query: str) -> Order:
    return by_pattern(re.compile(re.escape(query.encode("utf-8", "replace"))))


def by_bytes(query: str) -> Order:
    words = re.findall(r"[0-9a-fA-F]{2}|\?\?", re.sub(r"0x|\s|,", "", query))
    if "".join(words) != re.sub(r"0x|\s|,", "", query) or not words:
        raise InvalidOption("query", query, "hex digits in pairs, such as 'e2 98 ??', where ?? is any byte")
    parts = (b"." if word == "??" else re.escape(bytes.fromhex(word)) for word in words)
    return by_pattern(re.compile(b"".join(parts), re.DOTALL))


def by_pattern(pattern: re.Pattern[bytes]) -> Order:
    """Orders tokens that contain a match: 0 if it is the whole token, 1 if it is at the start, 2 for the others."""

    def order(id: int, token: bytes) -> int | None:
        match = pattern.search(token)
        if match is None:
            return None
        return 0 if match.end() - match.start() == len(token) else 1 if match.start() == 0 else 2

    return order


def by_id(query: str) -> Order:
    """Accepts tokens with the id, or with ids from the first to the second."""
    match = re.fullmatch(r"\s*([0-9]{1,12})\s*(?:[-–]\s*([0-9]{1,12})\s*)?", query)
    if match is None:
        raise InvalidOption("query", query, "an id such as 318, or two with a hyphen, such as 300-320")
    first = int(match[1])
    last = int(match[2] or match[1])
    return lambda id, token: 0 if first <= id <= last else None


QUERIES: dict[str, Callable[[str], Order]] = {"text": by_text, "bytes": by_bytes, "id": by_id}
