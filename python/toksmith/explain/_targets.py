"""What one training step of a language model does: at each place of a text, the ids it sees and the id it should predict."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .._base.errors import InvalidOption, number_of
from .._render import Block, Line, Shown, Table, TokenText, TokenView, token_json, token_text
from .._tokenizer.tokenizer import Special, Text, Tokenizer
from ._asked import drawn, name_of, views_of

__all__ = ["Prediction", "Targets", "targets"]

MOST_ROWS = 30


@dataclass(frozen=True)
class Prediction:
    """One example of the step: the tokens that the model sees, and the next one,
    which it should predict."""

    context: tuple[TokenView, ...]
    target: TokenView


@dataclass(frozen=True, repr=False)
class Targets(Shown):
    """The examples that one text gives in one training step.

    Attributes:
        predictions: One for each token but the first.
        window: How many tokens the model reads at most.
        first_loss: The mean loss of a model that knows nothing: the logarithm
            of the vocabulary size.
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
            seen = each.context[-6:]
            ids = " ".join(str(view.id) for view in seen)
            rows.append([drawn(view.token for view in seen), ids, token_text(each.target.token), str(each.target.id)])
        more = f" (the first {MOST_ROWS})" if len(self.predictions) > MOST_ROWS else ""
        heads = ["sees (the last six)", "ids", "should predict", "id"]
        yield Table(heads, rows, f"the examples{more}", left=(0, 1, 2))
        yield Line(
            "The loss is the mean of -log(probability of the right id); the step moves all weights a little to lower it. "
            f"A model that knows nothing has {self.first_loss:.2f}, the logarithm of the vocabulary size."
        )


def targets(tok: Tokenizer, text: Text, *, window: int = 1024, special: Special = "text") -> Targets:
    """What a language model learns from a text in one training step.

    Each token but the first is predicted from those before it, all at once.

    Args:
        window: How many tokens the model reads at most, at least 1.
        special: What happens to special tokens in the text, as in
            `Tokenizer.encode`; by default plain text.
    Raises: as `Tokenizer.encode`; InvalidOption if `window` is below 1.
    Cost: one encoding, and memory that grows with the square of `window`.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3)
    >>> step = toksmith.explain.targets(tok, "lowest", window=2)
    >>> [([view.id for view in each.context], each.target.id) for each in step.predictions]
    [([257], 101), ([257, 101], 115)]
    """
    if window < 1:
        raise InvalidOption("window", window, "at least 1")
    ids = tok.encode(text, special=special)[: window + 1]
    views = views_of(tok, ids)
    predictions = tuple(Prediction(views[:end], views[end]) for end in range(1, len(views)))
    return Targets(name_of(tok), predictions, window, math.log(tok.vocab_size))
