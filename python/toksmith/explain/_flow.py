"""Where a tokenizer is in a language model: a text on its way to ids, through the model, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .._base.errors import number_of
from .._render import Block, Branch, Shown, Table, TokenText, TokenView, Tone
from .._tokenizer.tokenizer import Special, Text, Tokenizer
from ..reference import utf8
from ._asked import name_of, piece_ends, views_of

__all__ = ["Flow", "FlowStage", "flow"]

MOST_TOKENS = 200


class FlowStage(NamedTuple):
    """One stage: its name, what it gets, what it gives, and what trained it."""

    name: str
    gets: str
    gives: str
    trained: str


@dataclass(frozen=True, repr=False)
class Flow(Shown):
    """The stages between a text and the next token.

    Attributes:
        stages: In order; the first and the last belong to the tokenizer.
        pieces: How many pieces the text has.
        tokens: Its tokens.
        vocab_size: The rows of the embedding, and the numbers that the model
            gives for the next token.
    """

    tokenizer: str
    stages: tuple[FlowStage, ...]
    pieces: int
    tokens: tuple[TokenView, ...]
    vocab_size: int

    def _parts(self) -> Iterator[str | Block]:
        yield f"from text to text through a language model, with {self.tokenizer}"
        yield TokenText(self.tokens[:MOST_TOKENS], "the text, as its tokens and their ids:", ids=True)
        below: tuple[Branch, ...] = ()
        for place, stage in reversed([*enumerate(self.stages)]):
            tone: Tone = "strong" if place in (0, len(self.stages) - 1) else ""
            below = (Branch(f"{stage.name}: {stage.gets} → {stage.gives}", tone, below),)
        yield Branch("text", "", below)
        rows = [[stage.name, stage.trained] for stage in self.stages]
        yield Table(["stage", "trained"], rows, "what training made", left=(0, 1))


def flow(tok: Tokenizer, text: Text, *, special: Special = "text") -> Flow:
    """Where a tokenizer is in a language model: before the first layer and behind
    the last.

    Args:
        special: What happens to special tokens in the text, as in
            `Tokenizer.encode`; by default plain text.
    Raises: as `Tokenizer.encode`.
    Cost: two encodings.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3)
    >>> [stage.name for stage in toksmith.explain.flow(tok, "slow").stages]
    ['tokenizer, encode', 'embedding', 'layers', 'softmax', 'sampling', 'tokenizer, decode']
    """
    ids = tok.encode(text, special=special)
    size, count = f"{tok.vocab_size:,}", number_of(len(ids), "id")
    pieces = len(piece_ends(tok, utf8(text), special))
    with_model = "together with the model, to predict the next id"
    before = "before the model, on counts of pairs"
    stages = (
        FlowStage("tokenizer, encode", f"text ({number_of(pieces, 'piece')})", count, before),
        FlowStage("embedding", "each id", f"a row of a table of {size} rows", with_model),
        FlowStage("layers", f"{number_of(len(ids), 'row')}", "as many rows, each knows those before it", with_model),
        FlowStage("softmax", "the last row", f"a probability for each of {size} tokens", with_model),
        FlowStage("sampling", "the probabilities", "one id", "not at all"),
        FlowStage("tokenizer, decode", "the id", "bytes, then text", before),
    )
    return Flow(name_of(tok), stages, pieces, views_of(tok, ids), tok.vocab_size)
