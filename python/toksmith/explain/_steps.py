"""Training by hand: the pair counts before each merge, the pair that merges, and the text after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, Literal, NamedTuple

from .._base.wording import number_of
from .._render import Block, Cell, Line, Shown, Table, TokenText, TokenView, Tone, json_of, token_text
from .._tokenizer.tokenizer import Text
from .._training import train
from ..errors import InvalidOption, UnknownId
from ..reference import pair_counts, replace_pair, utf8

MOST_BYTES = 4096  # of a text; every step counts all of its pairs, and a longer table is unreadable
MOST_PAIRS = 8  # rows of each table in the view
MOST_STEPS = 20  # tables in the view
MOST_SYMBOLS = 400  # of a text in the view


class PairCount(NamedTuple):
    """A pair of neighbours, by ids, and its count; overlapping pairs count."""

    left: int
    right: int
    times: int


@dataclass(frozen=True)
class PairStep:
    """One merge of a training.

    Attributes:
        number: From 1.
        ids: The text before the merge.
        counts: All pairs in it, in the order in which training chooses: by
            count, then by the rule for ties.
        id: The new id, which replaces the first pair of `counts`.
        tied: Number of pairs with the highest count.
    """

    number: int
    ids: tuple[int, ...]
    counts: tuple[PairCount, ...]
    id: int
    tied: int

    @property
    def chosen(self) -> PairCount:
        """The pair that merges."""
        return self.counts[0]


@dataclass(frozen=True, repr=False)
class Steps(Shown):
    """The merges of a text, step by step.

    Attributes:
        text: Its bytes.
        ties: The rule by which training chooses among pairs with the same
            count.
        steps: The merges, in order.
        ids: The text after the last merge.
        counts: The remaining pairs, in the order in which training would
            choose.
        names: For each new id a letter that is not in the text, from Z down;
            ids after the last letter have none.
        tokens: The bytes of each id.
        stopped_because: The reason why training stopped.
    """

    text: bytes
    ties: str
    steps: tuple[PairStep, ...]
    ids: tuple[int, ...]
    counts: tuple[PairCount, ...]
    names: Mapping[int, str]
    tokens: Mapping[int, bytes]
    stopped_because: str

    def written(self, ids: Sequence[int]) -> str:
        """Ids as a line of text: bytes as characters, new ids by their names.

        Raises:
            UnknownId: No token has this id.
        """
        runs: list[bytes | int] = []
        for place, id in enumerate(ids):
            if id not in self.tokens:
                raise UnknownId(id, place, len(self.tokens))
            if id > 255:
                runs.append(id)
            elif runs and isinstance(last := runs[-1], bytes):
                runs[-1] = last + self.tokens[id]
            else:
                runs.append(self.tokens[id])
        return "".join(token_text(run) if isinstance(run, bytes) else self.names.get(run, f"<{run}>") for run in runs)

    def to_dict(self) -> dict[str, Any]:
        """The steps as JSON values; bytes are hex."""
        return {
            **json_of(self.text),
            "ties": self.ties,
            "steps": [
                vars(step)
                | {"ids": list(step.ids), "counts": [list(pair) for pair in step.counts]}
                | {"written": self.written(step.ids), "name": self.names.get(step.id)}
                | {"token": json_of(self.tokens[step.id])}
                for step in self.steps
            ],
            "ids": list(self.ids),
            "written": self.written(self.ids),
            "counts": [list(pair) for pair in self.counts],
            "stopped_because": self.stopped_because,
        }

    def _parts(self) -> Iterator[str | Block]:
        merges = number_of(len(self.steps), "merge")
        title = f"{number_of(len(self.text), 'byte')} and {merges}: {number_of(len(self.ids), 'symbol')}, ties by {self.ties}"
        yield title
        for step in self.steps[:MOST_STEPS]:
            yield from self.step_blocks(step)
        if len(self.steps) > MOST_STEPS:
            yield Line(f"the tables of {number_of(len(self.steps) - MOST_STEPS, 'more step')} are left out", "dim")
        rows = [
            [
                *(str(step.number), self.pair(step.chosen), f"{step.chosen.times:,}", self.named(step.id)),
                *(token_text(self.tokens[step.id]), f"{len(self.after(step)):,}"),
            ]
            for step in self.steps
        ]
        if rows:
            yield Table(["step", "pair", "count", "becomes", "token", "symbols"], rows, "all merges", left=(1, 3, 4))
        first_ids = self.ids[:MOST_SYMBOLS]
        more = f", the first {MOST_SYMBOLS}" if len(first_ids) < len(self.ids) else ""
        views = [TokenView(id, self.tokens[id]) for id in first_ids]
        yield TokenText(views, f"in the end, {self.shortened(self.ids)}{more}:")
        yield Line(f"stopped: {self.stopped_because}", "dim")

    def step_blocks(self, step: PairStep) -> Iterator[Block]:
        """One step: the text, the table of its pairs, and the merge."""
        rows = []
        for place, pair in enumerate(step.counts[:MOST_PAIRS]):
            tied = place < step.tied and step.tied > 1
            note = f"becomes {self.named(step.id)}" if place == 0 else "the same count" if tied else ""
            tone: Tone = "strong" if place == 0 else ""
            rows.append([Cell(self.pair(pair), tone), Cell(f"{pair.times:,}", tone), Cell(note, tone)])
        hidden = len(step.counts) - len(rows)
        more = f" (the first {MOST_PAIRS} of {len(step.counts):,} pairs)" if hidden else ""
        yield Table(
            ["pair", "count", ""],
            rows,
            f"step {step.number}: {self.shortened(step.ids, 40 if hidden else 60)}{more}",
            left=(0, 2),
        )

    def shortened(self, ids: tuple[int, ...], most: int = 60) -> str:
        """Ids as a line of at most `most` characters and an ellipsis."""
        line = self.written(ids[:MOST_SYMBOLS])
        return line if len(line) <= most and len(ids) <= MOST_SYMBOLS else f"{line[:most]}…"

    def pair(self, pair: PairCount) -> str:
        """The text of a pair."""
        return self.written((pair.left,)) + self.written((pair.right,))

    def named(self, id: int) -> str:
        """A new id with its name."""
        return f"{self.names[id]} ({id})" if id in self.names else str(id)

    def after(self, step: PairStep) -> tuple[int, ...]:
        """The text after a step."""
        return self.steps[step.number].ids if step.number < len(self.steps) else self.ids


def steps(text: Text, merges: int | None = None, *, ties: Literal["lowest_ids", "first_seen"] = "lowest_ids") -> Steps:
    """Trains on a text by hand: before each merge, the count of each pair of
    neighbours, and the pair that merges.

    The text is one unbroken stream of bytes. New symbols are written as capital
    letters that are not in the text, from Z down.

    Args:
        text: At most 4,096 bytes.
        merges: Maximum number of merges; None for no maximum. Training stops
            before a pair that does not repeat.
        ties: As in `train`: of pairs with the same count, the one with the
            lowest ids or the one that occurs first merges.
    Raises:
        InvalidOption: The text is empty or too long, or `merges` is negative.
    Cost: one pass over the text for each merge.

    >>> import toksmith
    >>> walk = toksmith.explain.steps("aaabdaaabac", merges=3)
    >>> [walk.written(step.ids) for step in walk.steps], walk.written(walk.ids)
    (['aaabdaaabac', 'ZabdZabac', 'ZYdZYac'], 'XdXac')
    >>> walk.steps[0].counts[:3]
    (PairCount(left=97, right=97, times=4), PairCount(left=97, right=98, times=2), PairCount(left=97, right=99, times=1))
    """
    data = utf8(text)
    if not 0 < len(data) <= MOST_BYTES:
        raise InvalidOption("text", text, f"1 to {MOST_BYTES:,} bytes")
    if merges is not None and merges < 0:
        raise InvalidOption("merges", merges, "at least 0")
    tok = train([data], min_count=2, pattern=None, ties=ties, progress=False)
    merged = [(left, right, id) for left, right, id in tok.model.merges.tolist()][:merges]
    free = [letter for letter in reversed(ascii_uppercase) if letter.encode() not in data]
    names = {id: letter for (_, _, id), letter in zip(merged, free, strict=False)}
    ids, walk = list(data), []
    for number, (left, right, id) in enumerate(merged, 1):
        counts = order_pairs(ids, ties)
        assert counts[0][:2] == (left, right), "the reference counts as the core does"
        tied = sum(pair.times == counts[0].times for pair in counts)
        walk.append(PairStep(number, tuple(ids), counts, id, tied))
        ids = replace_pair(ids, (left, right), id)
    tokens = {id: tok.token_bytes(id) for id in range(256 + len(merged))}
    rest = order_pairs(ids, ties)
    repeats = bool(rest) and rest[0].times > 1
    why = f"after {number_of(len(walk), 'merge')}, as asked" if repeats else "no pair repeats"
    return Steps(data, ties, tuple(walk), tuple(ids), rest, names, tokens, why)


def order_pairs(ids: list[int], ties: str) -> tuple[PairCount, ...]:
    """The pairs of a text in the order in which training chooses; `pair_counts` gives them in order of occurrence."""
    pairs = [PairCount(left, right, count) for (left, right), count in pair_counts(ids).items()]
    if ties == "lowest_ids":
        pairs.sort(key=lambda pair: (pair.left, pair.right))
    return tuple(sorted(pairs, key=lambda pair: -pair.times))
