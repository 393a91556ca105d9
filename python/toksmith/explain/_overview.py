"""All views of one text together, to share a finding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .._render import Block, Line, Shown, page, token_text
from .._sources.named import Tokenizers, name_tokenizers
from .._tokenizer.tokenizer import Special, Text, Tokenizer
from ..errors import InvalidOption
from . import _pieces
from ._budget import CONTEXTS, budget
from ._compare import differences
from ._lint import lint
from ._merges import MOST_SYMBOLS, Merges, merges
from ._pieces import Pieces
from ._prompt import prompt
from ._specials import specials
from ._tree import token

__all__ = ["Overview", "overview"]

MOST_PIECES, MOST_TREES = 6, 6


@dataclass(frozen=True, repr=False)
class Overview(Shown):
    """The views of one text, each under its heading.

    Attributes:
        sections: Heading and result of each view, in reading order.
    """

    sections: tuple[tuple[str, Shown], ...]

    def to_dict(self) -> dict[str, Any]:
        """The results by their headings, as JSON values."""
        return {heading: result.to_dict() for heading, result in self.sections}

    def _parts(self) -> Iterator[str | Block]:
        yield "one text in all views"
        for heading, result in self.sections:
            view = result.view()
            yield Line(f"{heading}: {view.title}", "strong")
            yield from view.blocks

    def to_html(self) -> str:
        """One self-contained page without scripts; pointer and keyboard show the
        details of each token."""
        return page("toksmith", [(heading, result.view()) for heading, result in self.sections])


def overview(toks: Tokenizers, text: Text, *, special: Special = "text") -> Overview:
    """A text in all views: tokens, comparison, merges, forest, budget, prompt end,
    lint, special tokens.

    Merges and forest are those of the longest pieces and tokens of the text.

    Args:
        toks: One tokenizer, a dict of them by name, or a list of them.
        special: As in `Tokenizer.encode`, but by default plain text.
    Raises: as `Tokenizer.encode`.
    Cost: the sum of the views.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> found = toksmith.explain.overview(tok, "slow lower")
    >>> [heading for heading, _ in found.sections][:3]
    ['Tokens by bpe, 259 tokens', 'Merges of slow·lower by bpe, 259 tokens', 'Forest of ·low by bpe, 259 tokens']
    """
    return Overview(tuple(make_sections(name_tokenizers(toks), text, special)))


def make_sections(toks: dict[str, Tokenizer], text: Text, special: Special) -> Iterator[tuple[str, Shown]]:
    if len(toks) > 1:
        yield "Comparison", differences(toks, text, special=special)
    results = {name: _pieces.text(tok, text, special=special) for name, tok in toks.items()}
    for name, result in results.items():
        yield f"Tokens by {name}", result
    for name, tok in toks.items():
        for steps in longest_merges(tok, results[name]):
            yield f"Merges of {token_text(steps.piece)} by {name}", steps
        ranked = [(len(token.token), token.id) for token in results[name].tokens if token.rank is not None]
        for _, id in sorted({*ranked}, key=lambda each: (-each[0], each[1]))[:MOST_TREES]:
            yield f"Forest of {token_text(tok.token_bytes(id))} by {name}", token(tok, id)
    yield "Budget", budget(toks, text, context=CONTEXTS, special=special)
    for name, tok in toks.items():
        yield f"Prompt end by {name}", prompt(tok, text, special=special)
        yield f"Lint by {name}", lint(tok, text)
        yield f"Special tokens by {name}", specials(tok, text)


def longest_merges(tok: Tokenizer, found: Pieces) -> list[Merges]:
    """The merges of the longest pieces, in the order of the text; empty for a tokenizer that does not merge."""
    distinct = {found.text[start:end]: None for start, end, _ in found.rows()}
    shorter = [piece for piece in distinct if len(piece) <= min(MOST_SYMBOLS, 64)]
    chosen = sorted(shorter, key=len, reverse=True)[:MOST_PIECES]
    try:
        return [steps for piece in shorter if piece in chosen and (steps := merges(tok, piece)).steps]
    except InvalidOption:
        return []
