"""Two or more tokenizers on one text, aligned on its bytes: where all cut, and where only some do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _render
from .._base.errors import number_of, shortened
from .._render import Block, Line, Table, TokenText, TokenView, View, one_line, token_text
from .._tokenizer.tokenizer import Special, Text
from ..reference import utf8
from ._asked import MOST_NAMED, Tokenizers, named_tokenizers, token_ends, token_json
from ._columns import Column, Numbers, TokenColumn

__all__ = ["Comparison", "Cuts", "Difference", "compare"]

MOST_DIFFERENCES = 50


@dataclass(frozen=True)
class Cuts:
    """What one tokenizer makes of the text: the ids, the bytes of each, and where
    in the text each ends (in bytes)."""

    ids: Sequence[int]
    tokens: Sequence[TokenView]
    ends: Sequence[int]


@dataclass(frozen=True)
class Difference:
    """A stretch of the text, in bytes, at whose ends all tokenizers cut, and
    inside which at least one cuts alone.

    Attributes: `start`, `end`; `places`, the range of each tokenizer's tokens
        in the stretch.
    """

    start: int
    end: int
    places: tuple[range, ...]


@dataclass(frozen=True, repr=False)
class Comparison(_render.Shown):
    """Several tokenizers on one text.

    Attributes:
        text: Its bytes.
        cuts: The tokens of each tokenizer, by name.
        shared: Where all of them cut, in bytes; the end of the text is the
            last.
        differences: The stretches between two shared cuts that the tokenizers
            cut differently, in order.
    """

    text: bytes
    cuts: dict[str, Cuts]
    shared: Sequence[int]
    differences: Sequence[Difference]

    @property
    def first_difference(self) -> int | None:
        """The byte at which the first differing stretch begins; None where all
        cut alike."""
        return self.differences[0].start if self.differences else None

    def to_dict(self) -> dict[str, Any]:
        """Cuts and differences as JSON values; bytes are hex, places are of
        bytes."""
        return {
            "bytes": len(self.text),
            "chars": len(self.text.decode("utf-8", "replace")),
            "tokenizers": {
                name: {
                    "count": len(cuts.ids),
                    "tokens": [
                        {"id": view.id, **token_json(view.token), "end": end}
                        for view, end in zip(cuts.tokens, cuts.ends, strict=True)
                    ],
                }
                for name, cuts in self.cuts.items()
            },
            "shared": list(self.shared),
            "differences": [
                {
                    "start": found.start,
                    "end": found.end,
                    "places": [[place.start, place.stop] for place in found.places],
                }
                for found in self.differences
            ],
            "first_difference": self.first_difference,
        }

    def view(self) -> View:
        """What is to be seen."""
        return View(
            f"{number_of(len(self.cuts), 'tokenizer')} on {number_of(len(self.text), 'byte')}", tuple(self.blocks())
        )

    def blocks(self) -> Iterator[Block]:
        """The parts of the view."""
        fewest = min(len(cuts.ids) for cuts in self.cuts.values())
        rows = []
        for name, cuts in self.cuts.items():
            count = len(cuts.ids)
            alone = len({*cuts.ends} - {*self.shared})
            per = f"{len(self.text) / count:.2f}" if count else ""
            more = f"{count / fewest:.2f}" if fewest else ""
            rows.append([name, f"{count:,}", per, more, f"{alone:,}"])
        yield Table(["tokenizer", "tokens", "bytes per token", "times the fewest", "cuts not shared"], rows)
        shared = frozenset(self.shared)
        for name, cuts in self.cuts.items():
            starts = (0, *cuts.ends[:-1])
            marked = frozenset(place for place, start in enumerate(starts) if start and start not in shared)
            yield TokenText(cuts.tokens, f"{name} (▏▏: a cut that not all of them make)", marked=marked)
        if not self.differences:
            yield Line("all cut alike")
            return
        rows = [self.row(found) for found in self.differences[:MOST_DIFFERENCES]]
        more = (
            f" (the first {MOST_DIFFERENCES} of {len(self.differences):,})" if len(rows) < len(self.differences) else ""
        )
        heads = ["byte", *self.cuts]
        yield Table(heads, rows, f"where they differ{more}", left=range(1, len(heads)))

    def row(self, found: Difference) -> list[str]:
        """One difference in a table."""
        cells = [str(found.start)]
        for cuts, place in zip(self.cuts.values(), found.places, strict=True):
            cells.append("".join(f"▏{token_text(cuts.tokens[at].token)}" for at in place))
        return cells

    def __repr__(self) -> str:
        counts = ", ".join(f"{name} {len(cuts.ids):,}" for name, cuts in self.cuts.items())
        counts = shortened(one_line(counts), MOST_NAMED)
        return f"<Comparison of {counts}; {number_of(len(self.differences), 'difference')}>"


def compare(toks: Tokenizers, text: Text, *, special: Special = "text") -> Comparison:
    """The tokens of several tokenizers on one text, aligned by its bytes.

    Args:
        toks: Tokenizers by name, or in order.
        special: What happens to special tokens in the text, as in
            `Tokenizer.encode`; by default plain text.
    Raises:
        InvalidOption: No tokenizer was given.

    >>> import toksmith
    >>> small, large = (toksmith.train("low lower lowest", merges=n, pattern=None) for n in (1, 3))
    >>> print(toksmith.explain.compare({"small": small, "large": large}, "a low"))
    2 tokenizers on 5 bytes
    tokenizer  tokens  bytes per token  times the fewest  cuts not shared
    small           4             1.25              2.00                2
    large           2             2.50              1.00                0
    <BLANKLINE>
    small (▏▏: a cut that not all of them make)
    ▏a▏·▏▏lo▏▏w
    <BLANKLINE>
    large (▏▏: a cut that not all of them make)
    ▏a▏·low
    <BLANKLINE>
    where they differ
    byte  small    large
       1  ▏·▏lo▏w  ▏·low
    """
    named = named_tokenizers(toks)
    data = utf8(text)
    cuts = {}
    for name, tok in named.items():
        ids, token_end = token_ends(tok, text, special)
        views = _render.token_views(np.unique(ids).tolist(), tok.token_bytes, frozenset(tok.special_tokens.values()))
        numbers = Numbers(ids)
        cuts[name] = Cuts(numbers, TokenColumn(numbers, {view.id: view for view in views}), Numbers(token_end))
    ends = [np.asarray(found.ends) for found in cuts.values()]
    shared = shared_ends(ends, len(data))
    return Comparison(data, cuts, Numbers(shared), differences(shared, ends))


def shared_ends(ends: Sequence[np.ndarray[Any, Any]], size: int) -> np.ndarray[Any, Any]:
    """The numbers up to `size` that are among all of the ends."""
    if len(ends) == 1:
        return ends[0]
    marks = np.ones(size + 1, bool)
    for own in ends:
        mark = np.zeros(size + 1, bool)
        mark[own] = True
        marks &= mark
    return np.flatnonzero(marks).astype(np.uint32)


class Differences(Column[Difference]):
    """Differences as columns: the start and the end of each, and for each tokenizer where its tokens begin and end."""

    __slots__ = ("columns",)

    def __init__(self, columns: Sequence[Numbers]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns[0])

    def made(self, places: range) -> list[Difference]:
        """The differences at some places."""
        rows = zip(*(column.made(places) for column in self.columns), strict=True)
        return [Difference(start, end, tuple(map(range, each[::2], each[1::2]))) for start, end, *each in rows]


def differences(shared: np.ndarray[Any, Any], ends: list[np.ndarray[Any, Any]]) -> Differences:
    """The stretches between neighbouring shared cuts that hold another cut."""
    # How many tokens of each tokenizer end at or before each shared cut.
    counts = [np.searchsorted(own, shared, "right") for own in ends]
    before = [np.concatenate([[0], own[:-1]]) for own in counts]
    several = np.any([own - last > 1 for own, last in zip(counts, before, strict=True)], axis=0)
    columns = [np.concatenate([np.zeros(1, shared.dtype), shared[:-1]])[several], shared[several]]
    for last, own in zip(before, counts, strict=True):
        columns += [last[several], own[several]]
    return Differences([Numbers(column) for column in columns])
