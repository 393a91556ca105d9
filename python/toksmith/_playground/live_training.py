"""The live trainer: the texts of the page, one training on them, and the figures of every smaller size.

`toksmith.train` runs once, at the largest size; every smaller tokenizer is a `toksmith.rewind` of it, which equals training at
that size. Token counts of all texts come from the training record; the counts of single texts cover only their beginnings if
the texts are long. Left out: arguments and caches, which `views` has.
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

MOST_SIZE = 65_536  # the largest vocabulary
MOST_MERGES = 2 * MOST_SIZE  # of a training without a limit
LONGEST = 1000  # bytes of a token, so that repetitive text does not fill the memory
MEASURED = 200_000  # bytes to measure at each size, shared equally by the texts
POINTS = 100  # of the curve
NEWEST = 12  # merges in the list


class Stopped(toksmith.ToksmithError):
    """A training was stopped, or another one replaced it."""

    def __str__(self) -> str:
        return "the training was stopped; change an option or press Train to begin again"


class TrainingWatch:
    """Lets only the latest training of a page continue, until it is stopped."""

    def __init__(self) -> None:
        self.running: object = None

    def begin(self) -> Callable[[object], None]:
        """Begins a training and returns its progress callback, which raises `Stopped` once another training has begun."""
        self.running = own = object()

        def check(_: object) -> None:
            if self.running is not own:
                raise Stopped

        return check

    def stop(self) -> None:
        self.running = None


@dataclass(frozen=True)
class LiveTexts:
    """The texts of a training by name, as bytes; each is one document."""

    by_name: Mapping[str, bytes]

    @property
    def length(self) -> int:
        return sum(map(len, self.by_name.values()))

    @property
    def key(self) -> str:
        """A hash of the names and the texts."""
        digest = hashlib.sha256()
        for name, data in self.by_name.items():
            digest.update(f"{len(data)} {name}\n".encode())
            digest.update(data)
        return digest.hexdigest()[:32]

    def beginnings(self, most: int = MEASURED) -> dict[str, bytes]:
        """The beginning of each text, in whole characters; all have the same number of bytes unless a text is shorter."""
        share = most // max(1, len(self.by_name))
        return {name: data[: character_end(data, share)] for name, data in self.by_name.items()}


def character_end(data: bytes, end: int) -> int:
    """The last position up to `end` that is not inside a character."""
    if end >= len(data):
        return len(data)
    near = end
    while near > max(0, end - 3) and 0x80 <= data[near] < 0xC0:
        near -= 1
    return near


@dataclass(frozen=True)
class Training:
    """A training: the tokenizer of the largest size, from which smaller ones are rewound.

    Attributes:
        largest: The tokenizer, with at most `MOST_SIZE` tokens.
        beginnings: The measured part of each text.
        length: Bytes of all texts.
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
        """The facts for the page, as JSON values."""
        span = np.geomspace(self.least, self.most, POINTS)
        sizes = sorted({self.least, self.most, *np.rint(span).astype(int).tolist()})
        record = self.largest.model.training
        assert record is not None
        facts = {"least": self.least, "most": self.most, "bytes": self.length, "stopped": record.stopped_because}
        return {**facts, "curve": [[size, self.left(size)] for size in sizes if self.least <= size <= self.most]}


def train_on(
    counts: toksmith.corpus.PieceCounts,
    texts: LiveTexts,
    ties: Literal["lowest_ids", "first_seen"],
    special_tokens: Sequence[str],
    check: Callable[[object], None],
) -> Training:
    """Trains until no pair repeats or the vocabulary has `MOST_SIZE` tokens.

    Args:
        counts: The counts of the texts.
        check: The progress callback; it can raise.
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

    try:  # without a limit, because training logs a warning if it does not reach its limit
        largest = train(None, bounded)
    except Enough:
        largest = train(MOST_SIZE, check)
    if len(largest) > MOST_SIZE:
        largest = toksmith.rewind(largest, MOST_SIZE)
    return Training(largest, texts.beginnings(), texts.length)


class Enough(Exception):
    """Training has made more merges than the page can use."""


@dataclass(frozen=True)
class TrainedLanguage:
    """The figures of one text.

    Attributes:
        name: Name of the text.
        bytes: Number of measured bytes.
        tokens: Number of their tokens.
        per_word: Tokens per word, as the metric `fertility`; None without a word.
    """

    name: str
    bytes: int
    tokens: int
    per_word: float | None


@dataclass(frozen=True, repr=False)
class TrainedAt(_render.Shown):
    """The tokenizer of one size, its figures for the texts and a sentence, and its newest tokens.

    Attributes:
        tok: The tokenizer.
        size: The number of its tokens, special ones included; `merges` of them were learned.
        length, tokens: The size of all texts, in bytes and in tokens.
        languages: The figures of each text.
        sentence: The bytes of the sentence.
        newest: The last merges, the newest first: id, bytes, and count of the pair.
        tree: The tree of one of its tokens; None without a merge.
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
        """The tokenizer by its name in exports."""
        return {trained_name(self.size): self.tok}

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
        figures = f"{number(self.merges, 'merge')}, {number(self.tokens, 'token')} for {number(self.length, 'byte')}, {per_token} bytes per token"
        yield _render.Line(figures)
        rows = []
        for each in self.languages:
            per_word = "–" if each.per_word is None else figure(each.per_word)
            lengths = [f"{each.bytes:,}", f"{each.tokens:,}", format_ratio(each.bytes, each.tokens)]
            rows.append([_render.one_line(each.name), *lengths, per_word])
        heads = ["text", "bytes measured", "tokens", "bytes per token", "tokens per word"]
        yield _render.Table(heads, rows)
        yield from explain.text(self.tok, self.sentence).view().blocks
        if self.tree is not None:
            yield _render.Line(self.tree.view().title, "strong")
            yield from map(self.tree.branch, self.tree.roots, [40])


def trained_name(size: int) -> str:
    return f"trained {size:,}"


def format_ratio(one: int, other: int) -> str:
    return f"{one / other:.2f}" if other else "–"


def tree_json(tree: explain.Tree, entries: int) -> dict[str, Any]:
    """A tree as JSON values, with only the merges of a vocabulary of `entries` tokens."""
    values = tree.to_dict()
    children = [child for child in values["children"] if child["id"] < entries]
    return {**values, "children": children, "is_leaf": not children}


def measure_at(training: Training, size: int, sentence: bytes, chosen: int | None = None) -> TrainedAt:
    """The tokenizer of a size, with its figures.

    Args:
        chosen: The token of the tree; the newest token if it is None or not in this size.
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
    with training.lock:  # the table of merges is made once, for the largest size
        has_tree = merges or chosen is not None
        tree = (
            _render.with_tokenizer_name(explain.token(training.largest, id), trained_name(size)) if has_tree else None
        )
    tokens = training.left(size)
    return TrainedAt(tok, size, merges, training.length, tokens, tuple(languages), sentence, tuple(newest), tree)
