"""A tokenizer in a language model: a text on its way through both and back, and the predictions of one training step."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._base.wording import number_of
from .._render import Block, Branch, Line, Shown, Table, TokenText, TokenView, Tone, token_json, token_text
from .._sources.named import TokenizerSource, describe_tokenizer, resolve_tokenizer
from .._tokenizer.tokenizer import Special, Text
from ..errors import InvalidOption
from ..reference import utf8
from ._inputs import format_tokens, piece_ends, view_tokens

MOST_DRAWN = 200  # tokens of a text in `flow`
MOST_ROWS = 30  # examples of a step


class FlowStage(NamedTuple):
    """One stage: its name, input, output, and the training that made it."""

    name: str
    gets: str
    gives: str
    trained: str


@dataclass(frozen=True, repr=False)
class Flow(Shown):
    """The stages between a text and the next token.

    Attributes:
        stages: In order; the first and the last belong to the tokenizer.
        pieces: Number of pieces of the text.
        tokens: Its tokens.
        vocab_size: Number of rows of the embedding, and of probabilities for
            the next token.
    """

    tokenizer: str
    stages: tuple[FlowStage, ...]
    pieces: int
    tokens: tuple[TokenView, ...]
    vocab_size: int

    def _parts(self) -> Iterator[str | Block]:
        yield f"from text to text through a language model, with {self.tokenizer}"
        yield TokenText(self.tokens[:MOST_DRAWN], "the text, as its tokens and their ids:", ids=True)
        below: tuple[Branch, ...] = ()
        for place, stage in reversed([*enumerate(self.stages)]):
            tone: Tone = "strong" if place in (0, len(self.stages) - 1) else ""
            below = (Branch(f"{stage.name}: {stage.gets} → {stage.gives}", tone, below),)
        yield Branch("text", "", below)
        rows = [[stage.name, stage.trained] for stage in self.stages]
        yield Table(["stage", "trained"], rows, "the training of each stage", left=(0, 1))


def flow(tok: TokenizerSource, text: Text, *, special: Special = "text") -> Flow:
    """The place of a tokenizer in a language model: before the first layer and
    after the last.

    Args:
        special: As in `Tokenizer.encode`, but by default plain text.
    Raises: as `Tokenizer.encode`.
    Cost: two encodings.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3)
    >>> [stage.name for stage in toksmith.explain.flow(tok, "slow").stages]
    ['tokenizer, encode', 'embedding', 'layers', 'softmax', 'sampling', 'tokenizer, decode']
    """
    tok = resolve_tokenizer(tok)
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
    return Flow(describe_tokenizer(tok), stages, pieces, view_tokens(tok, ids), tok.vocab_size)


@dataclass(frozen=True)
class Prediction:
    """One example of the step: the tokens that the model reads, and the next one,
    which it should predict."""

    context: tuple[TokenView, ...]
    target: TokenView


@dataclass(frozen=True, repr=False)
class Targets(Shown):
    """The examples that one text gives in one training step.

    Attributes:
        predictions: One for each token but the first.
        window: Maximum number of tokens that the model reads.
        first_loss: The mean loss of an untrained model that gives every token
            the same probability: the logarithm of the vocabulary size.
    """

    tokenizer: str
    predictions: tuple[Prediction, ...]
    window: int
    first_loss: float

    def to_dict(self) -> dict[str, Any]:
        """The examples as JSON values."""
        return {
            "tokenizer": self.tokenizer,
            "window": self.window,
            "first_loss": self.first_loss,
            "predictions": [
                {"context": [view.id for view in each.context], "target": each.target.id}
                | token_json(each.target.token)
                for each in self.predictions
            ],
        }

    def _parts(self) -> Iterator[str | Block]:
        count = number_of(len(self.predictions), "prediction")
        yield f"one training step: {count} at once, a window of {self.window:,}, {self.tokenizer}"
        if not self.predictions:
            yield Line("a text of one token gives no example: there is nothing to predict", "warn")
            return
        text = (self.predictions[0].context[0], *(each.target for each in self.predictions))
        yield TokenText(text[: MOST_ROWS + 1], "the text:", ids=True)
        rows = []
        for each in self.predictions[:MOST_ROWS]:
            context = each.context[-6:]
            ids = " ".join(str(view.id) for view in context)
            rows.append(
                [format_tokens(view.token for view in context), ids, token_text(each.target.token), str(each.target.id)]
            )
        more = f" (the first {MOST_ROWS})" if len(self.predictions) > MOST_ROWS else ""
        heads = ["context (the last six)", "ids", "should predict", "id"]
        yield Table(heads, rows, f"the examples{more}", left=(0, 1, 2))
        yield Line(
            "The loss is the mean of -log(probability of the right id); the step moves all weights a little to lower it. "
            f"A model that knows nothing has {self.first_loss:.2f}, the logarithm of the vocabulary size."
        )


def targets(tok: TokenizerSource, text: Text, *, window: int = 1024, special: Special = "text") -> Targets:
    """The examples that a language model learns from a text in one training step.

    Each token but the first is predicted from those before it, all at once.

    Args:
        window: Maximum number of tokens that the model reads, at least 1.
        special: As in `Tokenizer.encode`, but by default plain text.
    Raises: as `Tokenizer.encode`; InvalidOption if `window` is below 1.
    Cost: one encoding, and memory that grows with the square of `window`.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3)
    >>> step = toksmith.explain.targets(tok, "lowest", window=2)
    >>> [([view.id for view in each.context], each.target.id) for each in step.predictions]
    [([257], 101), ([257, 101], 115)]
    """
    tok = resolve_tokenizer(tok)
    if window < 1:
        raise InvalidOption("window", window, "at least 1")
    ids = tok.encode(text, special=special)[: window + 1]
    views = view_tokens(tok, ids)
    predictions = tuple(Prediction(views[:end], views[end]) for end in range(1, len(views)))
    return Targets(describe_tokenizer(tok), predictions, window, math.log(tok.vocab_size))
