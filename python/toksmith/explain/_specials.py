"""Special tokens in an untrusted text: the result as plain text, allowed, and refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .._base.wording import number_of
from .._render import Block, Line, Shown, Table, TokenText, TokenView, json_of, token_text
from .._sources.named import TokenizerSource, describe_tokenizer, resolve_tokenizer
from .._tokenizer.tokenizer import Text, Tokenizer
from ..errors import SpecialTokenInText
from ..reference import utf8
from ._inputs import view_tokens

MOST_TOKENS = 400  # of each way, in the view
MOST_MATCHES = 100


@dataclass(frozen=True)
class SpecialMatch:
    """A special token that the text spells: its content, its id, its range in
    bytes, and its ids as ordinary text."""

    content: str
    id: int
    start: int
    end: int
    as_text: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Specials(Shown):
    """One text with the three ways to treat special tokens.

    Attributes:
        matches: The special tokens in it, in order.
        plain: Its ids with special tokens as ordinary text, which is right for
            untrusted text.
        allowed: Its ids with special tokens allowed.
        refusal: The message of `special="raise"`; None if the text contains no
            special token.
    """

    tokenizer: str
    matches: tuple[SpecialMatch, ...]
    plain: tuple[TokenView, ...]
    allowed: tuple[TokenView, ...]
    refusal: str | None

    def to_dict(self) -> dict[str, Any]:
        """The three ways as JSON values; offsets are bytes; for long texts only
        the first tokens."""
        return {
            "tokenizer": self.tokenizer,
            "matches": json_of(self.matches),
            "plain": {"count": len(self.plain), "tokens": json_of(self.plain[:MOST_TOKENS])},
            "allowed": {"count": len(self.allowed), "tokens": json_of(self.allowed[:MOST_TOKENS])},
            "refusal": self.refusal,
        }

    def _parts(self) -> Iterator[str | Block]:
        yield f"{number_of(len(self.matches), 'special token')} of {self.tokenizer} in the text"
        rows = [
            [token_text(match.content.encode()), str(match.id), f"{match.start:,}", f"{len(match.as_text):,}"]
            for match in self.matches[:MOST_MATCHES]
        ]
        if rows:
            yield Table(["special token", "id", "byte", "tokens as text"], rows)
        for caption, views in (("plain text", self.plain), ("allowed", self.allowed)):
            more = f", the first {MOST_TOKENS}" if len(views) > MOST_TOKENS else ""
            yield TokenText(views[:MOST_TOKENS], f"{caption}: {number_of(len(views), 'token')}{more}")
        if self.refusal is None:
            yield Line("refused: nothing", "good")
        else:
            first = next(iter(self.matches), None)
            where = f" {token_text(first.content.encode())} at byte {first.start:,}" if first else ""
            yield Line(f"refused: the text holds the special token{where}", "warn")


def specials(tok: TokenizerSource, text: Text) -> Specials:
    """A text with its special tokens as plain text, allowed, and refused.

    Cost: three encodings.

    >>> import toksmith
    >>> tok = toksmith.train("low lower", merges=2, pattern=None, special_tokens=["<|end|>"])
    >>> found = toksmith.explain.specials(tok, "low<|end|>")
    >>> [(match.content, match.start) for match in found.matches], len(found.plain), len(found.allowed)
    ([('<|end|>', 3)], 8, 2)
    """
    tok = resolve_tokenizer(tok)
    data = utf8(text)
    plain, allowed = (view_tokens(tok, tok.encode(text, special=special)) for special in ("text", "allow"))
    refusal = None
    try:
        tok.count(text, special="raise")
    except SpecialTokenInText as error:
        refusal = str(error)
    return Specials(describe_tokenizer(tok), tuple(find_specials(tok, data)), plain, allowed, refusal)


def find_specials(tok: Tokenizer, data: bytes) -> Iterator[SpecialMatch]:
    """The special tokens that the engine finds in a text, in order."""
    contents = {content.encode(): id for content, id in tok.special_tokens.items()}
    if not any(content in data for content in contents):
        return
    encoding = tok.encode_with_offsets(data, unit="byte", special="allow")
    names = {id: content for content, id in contents.items()}
    for id, start, end in zip(encoding.ids.tolist(), encoding.starts.tolist(), encoding.ends.tolist(), strict=True):
        if id in names and re.search(re.escape(names[id]), data[start:end]):
            content = names[id].decode()
            yield SpecialMatch(content, id, start, end, tuple(tok.encode(content, special="text")))
