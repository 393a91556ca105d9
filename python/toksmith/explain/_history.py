"""The history of one token in training: the merge that made it, and the merges that used it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .._base.wording import number_of
from .._render import Block, Line, Shown, Table, token_text
from .._sources.named import TokenizerSource, describe_tokenizer, resolve_tokenizer
from ..errors import InvalidOption

MOST_ROWS = 50


@dataclass(frozen=True)
class Event:
    """One merge in the history of a token.

    Attributes:
        number: Number of the merge, from 1.
        left, right, id: The two ids that merged, and the new id.
        token: The bytes of the new token.
        count: Occurrences of the pair in the corpus.
        replaced: Replaced occurrences; fewer than `count` where pairs overlap,
            as in `aaa`.
        left_over: Occurrences of the token of this history after the merge;
            None for a token that no merge made.
    """

    number: int
    left: int
    right: int
    id: int
    token: bytes
    count: int
    replaced: int
    left_over: int | None


@dataclass(frozen=True, repr=False)
class History(Shown):
    """The history of one token in training.

    Attributes:
        id, token: The token.
        born: The merge that made it; None for a base token.
        uses: The later merges that used it as a part, in order.
        merges: Number of merges of the training.
    """

    tokenizer: str
    id: int
    token: bytes
    born: Event | None
    uses: tuple[Event, ...]
    merges: int

    @property
    def left_over(self) -> int | None:
        """Occurrences of the token in the encoded corpus after training; None if
        no merge made it."""
        last = self.uses[-1] if self.uses else self.born
        return None if last is None else last.left_over

    def to_dict(self) -> dict[str, Any]:
        """The events as JSON values; bytes are hex."""
        return super().to_dict() | {"left_over": self.left_over}

    def _parts(self) -> Iterator[str | Block]:
        yield f"the life of token {self.id} {token_text(self.token)} of {self.tokenizer}"
        if self.born is None:
            yield Line("there before the first merge")
        else:
            pair_of_ids = f"({self.born.left}, {self.born.right})"
            yield Line(
                f"made by merge {self.born.number:,} of {self.merges:,} from {pair_of_ids}, {number_of(self.born.count, 'time')}"
            )
        rows = []
        for event in self.uses[:MOST_ROWS]:
            remaining = "" if event.left_over is None else f"{event.left_over:,}"
            pair = f"{event.left} + {event.right}"
            rows.append(
                [f"{event.number:,}", pair, str(event.id), token_text(event.token), f"{event.replaced:,}", remaining]
            )
        if rows:
            more = f" (the first {MOST_ROWS} of {len(self.uses):,})" if len(self.uses) > MOST_ROWS else ""
            yield Table(["merge", "pair", "id", "token", "times", "left"], rows, f"used by{more}", left=(1, 3))
        if self.left_over is not None:
            yield Line(f"occurrences in the encoded corpus: {self.left_over:,}")
            if self.left_over == 0:
                yield Line("a scaffold: it only helped to build other tokens", "warn")


def history(tok: TokenizerSource, id: int) -> History:
    """The history of one token in training: the merge that made it, the merges
    that used it, and how often it remained.

    Args:
        id: A token of a tokenizer that `train` made with `kind="bpe"`, or that
            was loaded with its record.
    Raises:
        InvalidOption: The tokenizer has no training record.
        UnknownId: No token has this id.
    Cost: one pass over the merges.

    The corpus "low lower lowest" holds `lo` three times, and each becomes a
    part of `low`:

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> print(toksmith.explain.history(tok, tok.token_id("lo")))
    the life of token 256 lo of bpe, 259 tokens
    made by merge 1 of 3 from (108, 111), 3 times
    <BLANKLINE>
    used by
    merge  pair        id  token  times  left
        2  256 + 119  257  low        3     0
    occurrences in the encoded corpus: 0
    a scaffold: it only helped to build other tokens
    """
    tok = resolve_tokenizer(tok)
    token = tok.token_bytes(id)
    record, merges = tok.model.training, tok.model.merges
    if record is None or len(record.counts) != len(merges) or tok.model.merge_rule != "pair":
        allowed = "a tokenizer that train() made with kind='bpe'; this one has no record of its merges"
        raise InvalidOption("tok", tok, allowed)
    born, uses, remaining = None, [], None
    before = int(record.symbols)
    rows = zip(merges.tolist(), record.counts.tolist(), record.left.tolist(), strict=True)
    for number, ((left, right, result), count, after) in enumerate(rows, 1):
        if id in (left, right, result):
            replaced = before - after
            if result == id:
                remaining = replaced
            elif remaining is not None:
                remaining -= replaced * ((left == id) + (right == id))
            event = Event(number, left, right, result, tok.token_bytes(result), count, replaced, remaining)
            if result == id:
                born = event
            else:
                uses.append(event)
        before = after
    return History(describe_tokenizer(tok), id, token, born, tuple(uses), len(merges))
