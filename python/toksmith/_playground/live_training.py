"""The live trainer: texts that the page sent, one training of them, and what the tokenizer of every smaller size makes of them.

The rules: training is `toksmith.train`, at the largest size once; every smaller tokenizer is `toksmith.rewind` of it, which is
what training at that size gives. Tokens of all texts come from the record of the training, those of one text from its
beginning where the texts are long. Left out: arguments, and what of it is kept, which `views` has.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

import toksmith
from toksmith import _render, explain, metrics

from .rows import colours

__all__ = [
    "MOST_SIZE",
    "LiveTexts",
    "Stopped",
    "TrainedAt",
    "TrainedLanguage",
    "Training",
    "TrainingWatch",
    "measured_at",
    "trained_on",
]

MOST_SIZE = 65_536  # the largest vocabulary
MOST_MERGES = 2 * MOST_SIZE  # of a training without a limit
LONGEST = 1000  # bytes of a token, so that text that repeats itself does not fill the memory
MEASURED = 200_000  # bytes that are measured at each size, as many of every text
POINTS = 100  # of the curve
NEWEST = 12  # merges that are listed


class Stopped(toksmith.ToksmithError):
    """A training that was stopped, or in whose place another one began."""

    def __str__(self) -> str:
        return "the training was stopped; change an option or press Train to begin again"


class TrainingWatch:
    """Which training of a page goes on: the one that began last, until it is stopped."""

    def __init__(self) -> None:
        self.running: object = None

    def begin(self) -> Callable[[object], None]:
        """Begins a training; what it calls with its progress, which raises `Stopped` once it is not the last any more."""
        self.running = own = object()

        def check(_: object) -> None:
            if self.running is not own:
                raise Stopped

        return check

    def stop(self) -> None:
        self.running = None


@dataclass(frozen=True)
class LiveTexts:
    """The texts of a training by name, as bytes, each of which is a document."""

    by_name: Mapping[str, bytes]

    @property
    def length(self) -> int:
        return sum(map(len, self.by_name.values()))

    @property
    def key(self) -> str:
        """The same for equal texts with equal names."""
        digest = hashlib.sha256()
        for name, data in self.by_name.items():
            digest.update(f"{len(data)} {name}\n".encode())
            digest.update(data)
        return digest.hexdigest()[:32]

    def beginnings(self, most: int = MEASURED) -> dict[str, bytes]:
        """The beginning of each text: of all the same number of bytes, as far as they have them, and whole characters."""
        share = most // max(1, len(self.by_name))
        return {name: data[: character_end(data, share)] for name, data in self.by_name.items()}


def character_end(data: bytes, end: int) -> int:
    """The last place up to `end` that is not inside a character."""
    if end >= len(data):
        return len(data)
    near = end
    while near > max(0, end - 3) and 0x80 <= data[near] < 0xC0:
        near -= 1
    return near


@dataclass(frozen=True)
class Training:
    """A training: the tokenizer of the largest size, from which smaller ones are made.

    Attributes:
        largest: It has at most `MOST_SIZE` tokens.
        beginnings: What is measured of each text.
        length: Of all texts, in bytes.
    """

    largest: toksmith.Tokenizer
    beginnings: Mapping[str, bytes]
    length: int
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def most(self) -> int:
        return len(self.largest)

    @property
    def least(self) -> int:
        """The size without a merge: the alphabet and the special tokens."""
        return self.most - len(self.largest.model.merges)

    def left(self, size: int) -> int:
        record = self.largest.model.training
        assert record is not None
        merges = size - self.least
        return int(record.left[merges - 1]) if merges else record.symbols

    def about(self) -> dict[str, Any]:
        """What the page has to know of it, as JSON values."""
        span = np.geomspace(self.least, self.most, POINTS)
        sizes = sorted({self.least, self.most, *np.rint(span).astype(int).tolist()})
        record = self.largest.model.training
        assert record is not None
        facts = {"least": self.least, "most": self.most, "bytes": self.length, "stopped": record.stopped_because}
        return {**facts, "curve": [[size, self.left(size)] for size in sizes if self.least <= size <= self.most]}


def trained_on(
    counts: toksmith.PieceCounts,
    texts: LiveTexts,
    ties: Literal["lowest_ids", "first_seen"],
    special_tokens: Sequence[str],
    check: Callable[[object], None],
) -> Training:
    """Trains until no pair repeats or the vocabulary has `MOST_SIZE` tokens.

    Args:
        counts: Of the texts.
        check: Is called with the progress, and may raise.
    """

    def train(vocab_size: int | None, watched: Callable[[object], None]) -> toksmith.Tokenizer:
        return toksmith.train(
            counts,
            vocab_size,
            ties=ties,
            special_tokens=special_tokens,
            min_count=2,
            max_token_bytes=LONGEST,
            progress=watched,
        )

    def bounded(progress: Any) -> None:
        check(progress)
        if progress.phase == "merging" and progress.done > MOST_MERGES:
            raise Enough

    try:  # without a limit, because training with a limit that it does not reach writes a warning
        largest = train(None, bounded)
    except Enough:
        largest = train(MOST_SIZE, check)
    if len(largest) > MOST_SIZE:
        largest = toksmith.rewind(largest, MOST_SIZE)
    return Training(largest, texts.beginnings(), texts.length)


class Enough(Exception):
    """More merges than anybody looks at."""


@dataclass(frozen=True)
class TrainedLanguage:
    """What a tokenizer makes of one text.

    Attributes:
        name: Of the text.
        bytes: That were measured.
        tokens: That they take.
        per_word: Tokens per word, as the metric `fertility`; None if no word is in them.
    """

    name: str
    bytes: int
    tokens: int
    per_word: float | None


@dataclass(frozen=True, repr=False)
class TrainedAt(_render.Shown):
    """The tokenizer of one size: what it makes of the texts and of a sentence, and what its newest tokens are.

    Attributes:
        tok: The tokenizer.
        size: Its tokens, special ones included; `merges` of them were learned.
        length, tokens: Of all texts, in bytes and in tokens.
        languages: What was measured of each text.
        sentence: The sentence as its pieces.
        newest: The merges that were learned last, the newest first: id, bytes, and how often the pair occurred.
        tree: One of its tokens with what it was merged from; None without a merge.
    """

    tok: toksmith.Tokenizer
    size: int
    merges: int
    length: int
    tokens: int
    languages: Sequence[TrainedLanguage]
    sentence: bytes
    newest: Sequence[tuple[int, bytes, int]]
    tree: explain.Tree | None

    @property
    def toks(self) -> dict[str, toksmith.Tokenizer]:
        """The tokenizer by its name, as an export tells it."""
        return {named(self.size): self.tok}

    def to_dict(self) -> dict[str, Any]:
        facts = {name: getattr(self, name) for name in ("size", "merges", "tokens")} | {"bytes": self.length}
        newest = [{"id": id, "hex": token.hex(), "count": count} for id, token, count in self.newest]
        cut = self.tok.encode_with_offsets(self.sentence, unit="byte", special="text")
        drawn = zip(np.asarray(cut.ids).tolist(), colours(np.asarray(cut.ends), 0, len(cut.ids)), strict=True)
        sentence = [{"id": id, "hex": self.tok.token_bytes(id).hex(), "colour": colour} for id, colour in drawn]
        languages = [dict(vars(each)) for each in self.languages]
        tree = None if self.tree is None else tree_json(self.tree, self.size - len(self.tok.special_tokens))
        return {**facts, "languages": languages, "sentence": sentence, "newest": newest, "tree": tree}

    def _parts(self) -> Iterator[Any]:
        number, figure = _render.number_of, "{:.2f}".format
        per_token = figure(self.length / self.tokens) if self.tokens else "–"
        yield f"A vocabulary of {number(self.size, 'token')}"
        said = f"{number(self.merges, 'merge')}, {number(self.tokens, 'token')} for {number(self.length, 'byte')}, {per_token} bytes per token"
        yield _render.Line(said)
        rows = []
        for each in self.languages:
            per_word = "–" if each.per_word is None else figure(each.per_word)
            lengths = [f"{each.bytes:,}", f"{each.tokens:,}", ratio(each.bytes, each.tokens)]
            rows.append([_render.one_line(each.name), *lengths, per_word])
        heads = ["text", "bytes measured", "tokens", "bytes per token", "tokens per word"]
        yield _render.Table(heads, rows)
        yield from explain.pieces(self.tok, self.sentence).view().blocks
        if self.tree is not None:
            yield _render.Line(self.tree.view().title, "strong")
            yield from map(self.tree.branch, self.tree.roots, [40])


def named(size: int) -> str:
    return f"trained {size:,}"


def ratio(one: int, other: int) -> str:
    return f"{one / other:.2f}" if other else "–"


def tree_json(tree: explain.Tree, entries: int) -> dict[str, Any]:
    """A tree as JSON values, with the merges that a vocabulary of so many tokens has."""
    found = tree.to_dict()
    children = [child for child in found["children"] if child["id"] < entries]
    return {**found, "children": children, "is_leaf": not children}


def measured_at(training: Training, size: int, sentence: bytes, chosen: int | None = None) -> TrainedAt:
    """What the tokenizer of a size makes of the texts.

    Args:
        chosen: The token whose tree is looked at; None, or one that the size does not have, for the newest.
    Raises:
        InvalidOption: The training has no such size.
    """
    tok = toksmith.rewind(training.largest, size)
    merges = size - training.least
    entries = size - len(tok.special_tokens)
    languages = []
    for name, data in training.beginnings.items():
        report = metrics.measure(tok, [data], threads=1)
        languages.append(TrainedLanguage(name, len(data), report.sample.tokens, report["fertility"]))
    record = tok.model.training
    assert record is not None
    last = range(merges - 1, max(-1, merges - 1 - NEWEST), -1)
    newest = [(id := entries - merges + place, tok.token_bytes(id), int(record.counts[place])) for place in last]
    id = chosen if chosen is not None and chosen < entries else entries - 1
    with training.lock:  # the table of merges is made once, for the largest
        known = merges or chosen is not None
        tree = _render.called(explain.tree(training.largest, id), named(size)) if known else None
    tokens = training.left(size)
    return TrainedAt(tok, size, merges, training.length, tokens, tuple(languages), sentence, tuple(newest), tree)
