"""A text as its pieces and tokens, each with its place, kind and rank."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from .._render import Block, Line, Shown, Table, TokenText, TokenView, json_of, summary, token_text
from .._sources.named import TokenizerSource, describe_tokenizer, resolve_tokenizer
from .._tokenizer.tokenizer import Special, Text
from ..reference import utf8
from ._inputs import format_tokens, piece_ends, token_ends
from ._rules import ranks_of

Kind = Literal["whole", "starts inside", "ends inside", "inside", "byte", "special"]
MOST_ROWS = 100
SAID: dict[Kind, str] = {
    "whole": "whole characters",
    "starts inside": "starts inside a character",
    "ends inside": "ends inside a character",
    "inside": "starts and ends inside a character",
    "byte": "a byte of a character",
    "special": "special",
}


@dataclass(frozen=True)
class Token:
    """One token of a text.

    Attributes: `id`; `token`, its bytes; `start` and `end`, its byte range in
        the text; `kind`, whether these bytes are whole characters; `rank`, its
        position in the order of merges (None for a token that no merge makes).
    """

    id: int
    token: bytes
    start: int
    end: int
    kind: Kind
    rank: int | None


@dataclass(frozen=True, repr=False)
class Pieces(Shown):
    """A text, cut into pieces and tokens.

    Attributes:
        tokenizer: Its name.
        text: The bytes of the text.
        tokens: In order; their byte ranges partition the text.
        ends: The byte offset at which each piece ends.
    """

    tokenizer: str
    text: bytes
    tokens: tuple[Token, ...]
    ends: tuple[int, ...]

    def rows(self) -> Iterator[tuple[int, int, tuple[Token, ...]]]:
        """The start and end of each piece, in bytes, and its tokens; a token that
        spans several pieces belongs to the last of them."""
        start, first, last = 0, 0, 0
        for end in self.ends:
            while last < len(self.tokens) and self.tokens[last].end <= end:
                last += 1
            yield start, end, self.tokens[first:last]
            start, first = end, last

    def to_dict(self) -> dict[str, Any]:
        """Text, tokens and pieces as JSON values; bytes are hex, ranges are in
        bytes."""
        return {
            "tokenizer": self.tokenizer,
            "bytes": len(self.text),
            "chars": len(self.text.decode("utf-8", "replace")),
            "tokens": json_of(self.tokens),
            "piece_ends": list(self.ends),
        }

    def _parts(self) -> Iterator[str | Block]:
        yield f"pieces and tokens by {self.tokenizer}"
        views = self.views()
        titles = [self.title(token) for token in self.tokens]
        several = "" if len(self.ends) == 1 else "s"
        yield Line(f"{len(self.ends):,} piece{several}, {summary(views)}")
        yield TokenText(views, titles=titles)
        rows = []
        for start, end, tokens in self.rows():
            ids = " ".join(str(token.id) for token in tokens)
            rows.append([token_text(self.text[start:end]), format_tokens(token.token for token in tokens), ids])
            if len(rows) == MOST_ROWS:
                break
        yield Table(["piece", "tokens", "ids"], rows, left=(0, 1, 2))
        if len(self.ends) > MOST_ROWS:
            yield Line(f"the first {MOST_ROWS} of {len(self.ends):,} pieces; to_dict() has all", "dim")

    def views(self) -> list[TokenView]:
        """The views of the tokens, for drawing."""
        return [TokenView(token.id, token.token, token.kind == "special") for token in self.tokens]

    def title(self, token: Token) -> str:
        """The description of a token."""
        rank = "" if token.rank is None else f", rank {token.rank}"
        return f"id {token.id}{rank}, bytes {token.start}-{token.end}, {SAID[token.kind]}: {token.token[:32].hex(' ')}"


def text(tok: TokenizerSource, text: Text, *, special: Special = "text") -> Pieces:
    """The pieces of a text, and the tokens of each.

    No merge crosses from one piece into another. If a normalizer changes the
    text before it is split, the whole text is shown as one piece.

    Args:
        special: As in `Tokenizer.encode`, but by default plain text.
    Raises: as `Tokenizer.encode`.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3)
    >>> found = toksmith.explain.text(tok, "slow lower")
    >>> [(start, end, [token.id for token in tokens]) for start, end, tokens in found.rows()]
    [(0, 4, [115, 257]), (4, 10, [258, 101, 114])]
    >>> found.tokens[1].token, found.tokens[1].rank
    (b'low', 1)
    """
    tok = resolve_tokenizer(tok)
    data = utf8(text)
    ids, ends = token_ends(tok, text, special)
    ranks = ranks_of(tok)
    tokens: list[Token] = []
    facts: dict[int, tuple[bytes, Kind, int | None]] = {}
    specials = frozenset(tok.special_tokens.values())
    start = 0
    for id, end in zip(ids.tolist(), ends.tolist(), strict=True):
        if id not in facts:
            token = tok.token_bytes(id)
            kind: Kind = "special" if id in specials else token_kind(token)
            facts[id] = (token, kind, ranks.get(id))
        token, kind, rank = facts[id]
        tokens.append(Token(id, token, start, end, kind, rank))
        start = end
    return Pieces(describe_tokenizer(tok), data, tuple(tokens), tuple(piece_ends(tok, data, special)))


def token_kind(token: bytes) -> Kind:
    r"""Whether a token's bytes are whole characters, and at which end they are not.

    >>> [token_kind(token) for token in (b"a", b"\xa4\xa8", b" \xe0", b"\xa8\xe0", b"\xe0")]
    ['whole', 'starts inside', 'ends inside', 'inside', 'byte']
    """
    try:
        token.decode()
    except UnicodeDecodeError:
        if len(token) == 1:
            return "byte"
        starts = 0x80 <= token[0] < 0xC0
        ends = bool(incomplete_end(token))
        return "inside" if starts and ends else "ends inside" if ends else "starts inside"
    return "whole"


def incomplete_end(token: bytes) -> int:
    """The number of bytes at the end that begin a character without completing it."""
    for back in range(1, min(3, len(token)) + 1):
        lead = token[-back]
        if lead >= 0xC0:
            needed = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return back if needed > back else 0
        if lead < 0x80:
            return 0
    return 0
