"""corpus.count: counts the distinct pieces of a corpus, which is all that training needs.

Counts of shards add up to the counts of the whole, so shards can be counted anywhere, stored in files (`files.py`), added
up in files (`merge.py`, with the readers and writers of `sorted.py`) and trained on together. The core counts (`count/`);
this module reads the documents and wraps the counts.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ... import _core
from ..._base.arguments import check_int, check_items
from ..._base.threads import thread_count
from ..._base.wording import number_of
from ..._corpus import Corpus
from ..._corpus.blocks import Skipped, corpus_blocks
from ..._model.patterns import UNSET, PatternArgument, splitters
from ..._render.progress import Progress, Reporter
from ..._render.streams import LOG
from ..._storage.folders import folder_at
from ...errors import InvalidOption
from .files import Facts, read_counts, write_counts
from .merge import join_spans, locate_count_files, merge_in_memory, merge_into_file

LEAST_MEMORY = 1 << 20
MOST = (1 << 63) - 1


class Position(NamedTuple):
    """A place in a corpus of many shards: the number of a document, and a byte in it."""

    document: int
    byte: int


Span = tuple[Position, Position]


BEGINNING = Position(0, 0)


class LeftOut(NamedTuple):
    """Pieces that were not counted: the number of occurrences, and their total bytes."""

    pieces: int
    bytes: int


def require_option(options: object, holds: bool, argument: str, allowed: str) -> None:
    """Raises InvalidOption for an argument for which a condition does not hold."""
    if not holds:
        raise InvalidOption(argument, getattr(options, argument), allowed)


@dataclass(frozen=True)
class Limits:
    """The resources of counting and the pieces that it leaves out; see `count`."""

    min_count: int = 1
    max_piece_bytes: int | None = None
    max_memory: int | None = None
    spill_to: str | os.PathLike[str] | None = None
    errors: str = "stop"

    def check(self, least_is: str = "min_count") -> None:
        """Raises InvalidOption for the first value out of range; `least_is` is the caller's name for `min_count`."""
        if not 1 <= check_int(self.min_count, least_is) <= MOST:
            raise InvalidOption(least_is, self.min_count, "at least 1 and below 2**63")
        longest, memory = self.max_piece_bytes, self.max_memory
        require_option(
            self, longest is None or 1 <= longest <= MOST, "max_piece_bytes", "at least 1, or None for no limit"
        )
        allowed = f"at least {LEAST_MEMORY} (1 MiB), or None for no limit"
        require_option(self, memory is None or LEAST_MEMORY <= memory <= MOST, "max_memory", allowed)
        require_option(self, self.spill_to is None or os.path.isdir(self.spill_to), "spill_to", "an existing folder")
        require_option(self, self.errors in ("stop", "skip"), "errors", "'stop' or 'skip'")


def count(
    corpus: Corpus,
    *,
    pattern: str | Sequence[str] | None = "o200k",
    start: int | tuple[int, int] = 0,
    min_count: int = 1,
    max_piece_bytes: int | None = None,
    max_memory: int | None = None,
    spill_to: str | os.PathLike[str] | None = None,
    errors: Literal["stop", "skip"] = "stop",
    threads: int | None = None,
    progress: Callable[[Progress], object] | bool | None = None,
) -> PieceCounts:
    """The distinct pieces of a corpus, with the count and the first position of
    each.

    `train(counts)` gives the result of `train(corpus)`, bit for bit, and `+`
    adds the counts of shards, in any order. For `ties="first_seen"` each shard
    needs its position in the whole: pass the `end` of the previous shard as
    `start`.

    Args:
        corpus: As in `train`.
        pattern: As in `train`.
        start: The number of the first document over all shards, or this number
            and a byte in the document.
        min_count: Pieces that occur less often are left out at the end, as by
            `filter`.
        max_piece_bytes: Longer pieces are left out and reported in `long`; None
            leaves none out.
        max_memory: The limit in bytes for the table of pieces, which is then
            written to a file; None for no limit. The result does not depend on
            it. A single piece is never divided, and the result is in memory.
        spill_to: The folder for such files; None for the system's. They have no
            name and always disappear with the process.
        errors: "stop" raises at a file or row that cannot be read; "skip"
            leaves it out (of a file, the part after the error), logs a warning,
            and counts it in `skipped`.
        threads: At least 1; None for all processors. The result does not depend
            on it.
        progress: None draws a bar on a terminal, False draws nothing, a
            callable gets `Progress` values.
    Raises:
        CorpusError: A document cannot be read, or the disk for `max_memory` is
            full.
        InvalidOption: An argument is out of range.
    Cost: time grows with the corpus, memory with its distinct pieces.

    >>> import toksmith
    >>> counts = toksmith.corpus.count(["low low", "lower"])
    >>> counts.items()
    [(b'low', 1), (b' low', 1), (b'lower', 1)]
    >>> shards = [toksmith.corpus.count(text) for text in ("low low", "lower")]
    >>> toksmith.train(shards[1] + shards[0], 258) == toksmith.train(["low low", "lower"], 258)
    True
    """
    limits = Limits(min_count, max_piece_bytes, max_memory, spill_to, errors)
    limits.check()
    parts = check_items(start, "start", "an int or two") if hasattr(start, "__iter__") else (start, 0)
    place = Position(*(check_int(part, "start") for part in parts)) if len(parts) == 2 else Position(-1, 0)
    if not all(0 <= part <= MOST for part in place):
        raise InvalidOption("start", start, "a number of documents (at least 0), or that number and a number of bytes")
    patterns = [step["pattern"] for step in splitters(pattern)]
    reporter = Reporter(progress)
    with reporter.drawn():
        return count_within_limits(corpus, patterns, limits, reporter, threads=thread_count(threads), start=place)


def count_within_limits(
    corpus: Corpus,
    patterns: Sequence[str],
    limits: Limits,
    reporter: Reporter,
    *,
    threads: int,
    start: Position = BEGINNING,
    before: int = 0,
) -> PieceCounts:
    """The counts of a corpus, for checked options; progress reports include `before`, the bytes of earlier corpora."""
    folder = os.fspath(limits.spill_to or tempfile.gettempdir())
    counter = _core.Counter(patterns, start, limits.max_memory, folder, limits.max_piece_bytes)
    skipped = Skipped(limits.errors == "skip")
    for block in corpus_blocks(corpus, threads, skip=skipped.allowed):
        block.count(counter, skipped, threads)
        reporter.report("counting", before + counter.bytes, None)
    end = Position(*counter.next)
    core = counter.finish(limits.min_count, threads)
    reporter.report("counting", before + core.bytes, before + core.bytes)
    counts = PieceCounts(core, tuple(patterns), ((start, end),), skipped.count)
    if counts.long.pieces:
        message = "left out pieces of more than %d bytes (max_piece_bytes): %d pieces, %d bytes in total"
        LOG.warning(message, limits.max_piece_bytes, counts.long.pieces, counts.long.bytes)
    return counts


def check_pairs(counts: Mapping[bytes, int] | Sequence[tuple[bytes, int]]) -> list[tuple[bytes, int]]:
    """Pieces with their counts, after checking their types and ranges."""
    expected = "a mapping of bytes to int, or a list of such pairs"
    pairs = []
    for pair in check_items(counts.items() if isinstance(counts, Mapping) else counts, "counts", expected):
        if not isinstance(pair, (tuple, list)) or len(pair) != 2 or not isinstance(pair[0], bytes):
            raise TypeError(f"counts: expected {expected}, not {type(pair).__name__}")
        count = check_int(pair[1], "counts")
        if not 0 <= count < 1 << 64:
            raise InvalidOption("counts", count, "counts from 1 to 2**64 - 1")
        pairs.append((pair[0], count))
    return pairs


class PieceCounts:
    """The distinct pieces of a corpus with their counts, for training. Made by
    `count`.

    `len()` is the number of distinct pieces, `+` adds the counts of two
    corpora. Values are immutable.
    """

    __slots__ = ("_core", "_patterns", "_skipped", "_spans")

    def __init__(
        self, core: _core.CountedPieces, patterns: tuple[str, ...], spans: tuple[Span, ...], skipped: int = 0
    ) -> None:
        self._core, self._patterns, self._spans, self._skipped = core, patterns, spans, skipped

    @staticmethod
    def of(
        counts: Mapping[bytes, int] | Sequence[tuple[bytes, int]], *, pattern: str | Sequence[str] | None = "o200k"
    ) -> PieceCounts:
        """Counts from another source, as one document with the pieces in this
        order.

        Args:
            counts: Pieces, each once and not empty, with counts of at least 1.
            pattern: The pattern that split them; this is not checked.
        Raises:
            FormatError: A piece is empty or occurs twice, or a count is 0.
            InvalidOption: A count, or the bytes of all occurrences, do not fit
                in 64 bits.

        >>> import toksmith
        >>> counts = toksmith.corpus.PieceCounts.of({b"low": 3, b" lower": 2})
        >>> counts.bytes, len(counts)
        (21, 2)
        """
        pairs = check_pairs(counts)
        ends = np.cumsum([len(piece) for piece, _ in pairs], dtype=np.uint64)
        places = ends - np.array([len(piece) for piece, _ in pairs], dtype=np.uint64)
        numbers = np.array([count for _, count in pairs], dtype=np.uint64)
        columns = [ends, numbers, np.zeros(len(pairs), np.uint64), places]
        patterns = tuple(step["pattern"] for step in splitters(pattern))
        blob = b"".join(piece for piece, _ in pairs)
        core = _core.CountedPieces.from_columns(patterns, blob, columns, (1, (0, 0), (0, 0, 0)))
        return PieceCounts(core, patterns, ((BEGINNING, Position(1, 0)),))

    @staticmethod
    def sum(parts: Sequence[PieceCounts]) -> PieceCounts:
        """The counts of several corpora together, in one step.

        Raises:
            InvalidOption: The list is empty, the patterns differ, or a sum
                does not fit in 64 bits.
        Cost: time and memory grow with the distinct pieces of all parts.
        """
        parts = check_items(parts, "parts", "a list of PieceCounts")
        for part in parts:
            if not isinstance(part, PieceCounts):
                raise TypeError(f"parts: expected a list of PieceCounts, not of {type(part).__name__}")
        if not parts:
            raise InvalidOption("parts", [], "at least one PieceCounts")
        for part in parts[1:]:
            if part.patterns != parts[0].patterns:
                raise InvalidOption(
                    "counts", part.patterns, f"counts with the same pattern; the first has {parts[0].patterns}"
                )
        spans = join_spans([span for part in parts for span in part._spans])
        core = _core.CountedPieces.sum([part._core for part in parts], spans is not None)
        return PieceCounts(core, parts[0].patterns, spans or (), sum(part.skipped for part in parts))

    def __add__(self, other: PieceCounts) -> PieceCounts:
        if not isinstance(other, PieceCounts):
            return NotImplemented
        return PieceCounts.sum([self, other])

    def __radd__(self, other: object) -> PieceCounts:
        # The built-in `sum` starts from 0.
        return self if other == 0 else NotImplemented

    def filter(self, min_count: int) -> PieceCounts:
        """The counts without the pieces that occur less often; `rare` reports
        the left-out pieces.

        Training can then learn other merges than from all counts. The run
        report gives the first merge that can differ
        (`tok.run_report["first_uncertified_merge"]`).

        >>> import toksmith
        >>> counts = toksmith.corpus.count("low low low").filter(2)
        >>> counts.items(), counts.rare
        ([(b' low', 2)], LeftOut(pieces=1, bytes=3))
        """
        Limits(min_count).check()
        return PieceCounts(self._core.drop_rare(min_count), self._patterns, self._spans, self._skipped)

    def save(self, path: str | os.PathLike[str]) -> None:
        r"""Writes the counts to a file, completely or not at all.

        `.parquet` has every field. `.tsv` is for other tools: after one line
        of facts, a line for each piece, with its count, a tab and its bytes
        (`\\`, `\t`, `\n`, `\r`, and `\xNN` for other control characters and
        for bytes that are not UTF-8); it has no first positions. Pieces are
        sorted by their bytes, so equal counts give equal files.

        Raises:
            FormatError: The name has neither suffix, or the file cannot be
                written.
        """
        facts = Facts(self._patterns, self.documents, self.long, self._core.rare, self._spans, self._skipped)
        write_counts(self._core, facts, path)

    @staticmethod
    def load(path: str | os.PathLike[str], *, pattern: PatternArgument = UNSET) -> PieceCounts:
        """The counts of a file that `save` or another tool wrote.

        Args:
            path: The file or its URL; or a folder, as in `load_all`.
            pattern: For `.tsv` files without a line of facts: the pattern that
                split the pieces.
        Raises:
            FormatError: The file cannot be read, or is not a file of counts.
            InvalidOption: `pattern` is missing, or the file contains it.

        >>> import tempfile, toksmith
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     toksmith.corpus.count("low low").save(f"{folder}/counts.tsv")
        ...     toksmith.corpus.PieceCounts.load(f"{folder}/counts.tsv").items()
        [(b' low', 1), (b'low', 1)]
        """
        patterns = None if pattern is UNSET else tuple(step["pattern"] for step in splitters(pattern))
        if patterns is None and folder_at(path).exists():
            return PieceCounts.load_all([path])
        core, facts = read_counts(path, patterns)
        return PieceCounts(core, facts.patterns, spans_of(facts), facts.skipped)

    @staticmethod
    def load_all(paths: Sequence[str | os.PathLike[str]], *, in_order: bool = False) -> PieceCounts:
        """The summed counts of several files or folders, as from `merge_counts`.

        Args:
            paths: As in `merge_counts`.
            in_order: As in `merge_counts`.
        Raises:
            FormatError: A file cannot be read, is not sorted, or a job is not
                finished.
            InvalidOption: No file was found, or the patterns of files differ.
        Cost: the memory of the result, and some MiB for each of a few files.
        """
        core, facts = merge_in_memory(locate_count_files([Path(path) for path in paths], in_order=in_order))
        return PieceCounts(core, facts.patterns, spans_of(facts), facts.skipped)

    def moved(self, documents: int) -> PieceCounts:
        """The same counts with first positions `documents` later, as if that many
        documents came before.

        Raises:
            InvalidOption: `documents` is negative, or the last document number
                does not fit in 63 bits.

        >>> import toksmith
        >>> first, second = toksmith.corpus.count(["b"]), toksmith.corpus.count(["a", "b"])
        >>> (first + second.moved(first.end.document)).items()
        [(b'b', 2), (b'a', 1)]
        """
        if not 0 <= check_int(documents, "documents") <= MOST - self.end.document:
            raise InvalidOption("documents", documents, "at least 0, and numbers of documents below 2**63")
        core = _core.CountedPieces.from_columns(*self._core_arguments(documents))
        spans = tuple(
            (start._replace(document=start.document + documents), end._replace(document=end.document + documents))
            for start, end in self._spans
        )
        return PieceCounts(core, self._patterns, spans, self._skipped)

    def items(self) -> list[tuple[bytes, int]]:
        """The pieces and their counts, sorted by first position if it is known,
        else by bytes."""
        return self._core.items()

    def __iter__(self) -> Iterator[tuple[bytes, int]]:
        return iter(self.items())

    def __len__(self) -> int:
        return self._core.unique

    def __repr__(self) -> str:
        parts = ((self.documents, "document"), (self.bytes, "byte"), (len(self), "distinct piece"))
        return f"<PieceCounts of {', '.join(number_of(count, unit) for count, unit in parts)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return restore_counts, (self._core_arguments(0), (self._patterns, self._spans, self._skipped))

    def _core_arguments(self, documents: int) -> tuple[Any, ...]:
        """The arguments of the core's `kept` for these counts, with first positions `documents` later."""
        blob, (ends, counts, numbers, places) = self._core.columns()
        nothing = np.empty(0, np.uint64)
        firsts = [numbers + np.uint64(documents), places] if self.has_positions else [nothing, nothing]
        facts = (self.documents, tuple(self.long), self._core.rare)
        return self._patterns, blob, [ends, counts, *firsts], facts

    @property
    def patterns(self) -> tuple[str, ...]:
        """The regexes that the corpus was split by, in order."""
        return self._patterns

    @property
    def documents(self) -> int:
        """The number of documents."""
        return self._core.documents

    @property
    def bytes(self) -> int:
        """The bytes of all documents, including pieces that were left out."""
        return self._core.bytes

    @property
    def digest(self) -> str:
        """The digest of the pieces and counts in the training record; it does not
        depend on the order of documents."""
        return self._core.digest

    @property
    def has_positions(self) -> bool:
        """Whether the first positions of the pieces are known, which
        `ties="first_seen"` needs."""
        return self._core.positions

    @property
    def end(self) -> Position:
        """The position after the last document: the `start` of the next shard."""
        return max((end for _, end in self._spans), default=Position(self.documents, 0))

    @property
    def long(self) -> LeftOut:
        """The pieces that were longer than `max_piece_bytes`."""
        return LeftOut(*self._core.long)

    @property
    def rare(self) -> LeftOut:
        """The pieces that occurred less than `min_count` times."""
        return LeftOut(*self._core.rare[:2])

    @property
    def skipped(self) -> int:
        """The number of files and rows that could not be read."""
        return self._skipped

    @property
    def spilled(self) -> int:
        """How often the table of pieces was written to a file."""
        return self._core.runs


def spans_of(facts: Facts) -> tuple[Span, ...]:
    return tuple((Position(*span[0]), Position(*span[1])) for span in facts.spans)


@dataclass(frozen=True)
class MergedCounts:
    """The facts of a file that `merge_counts` wrote.

    Attributes: `path`; `pieces`, the number of distinct pieces; `documents`,
    `bytes`, `digest`, `end`, `has_positions`, `long`, `rare` and `skipped` as
    in `PieceCounts`.
    """

    path: Path
    documents: int
    bytes: int
    pieces: int
    digest: str
    end: Position
    has_positions: bool
    long: LeftOut
    rare: LeftOut
    skipped: int


def merge_counts(
    paths: Sequence[str | os.PathLike[str]],
    path: str | os.PathLike[str],
    *,
    in_order: bool = False,
    min_count: int = 1,
    spill_to: str | os.PathLike[str] | None = None,
) -> MergedCounts:
    """Adds up files of counts into one file, in bounded memory for any number and
    size of files.

    The result is byte for byte the file that `save` writes after counting
    everything at once. First positions stay known if the files have positions
    in one corpus: the files of one job's folder, files counted with `start`, or
    all files with `in_order`.

    Args:
        paths: Files that `save` wrote; folders of finished jobs of
            `plan_counts`; other folders with such files. Or URLs.
        path: The new file, `.parquet` or `.tsv`.
        in_order: Whether the documents of each file follow those of the
            previous file. Their first positions are moved, so each file can be
            counted from 0.
        min_count: Pieces that occur less often in all files together are left
            out, as by `PieceCounts.filter`.
        spill_to: The folder for temporary files, which many files need; None
            for the system's.
    Raises:
        FormatError: A file cannot be read or written, is not sorted as by
            `save`, or a job is not finished.
        InvalidOption: No file was found, the patterns of files differ, or a
            sum does not fit in 64 bits.
    Cost: time grows with the pieces of all files, and with the rounds (32 files
        at a time). Memory for 32 parts of files.

    >>> import tempfile, toksmith
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, text in (("a", "low low"), ("b", "lower low")):
    ...         toksmith.corpus.count(text).save(f"{folder}/{name}.tsv")
    ...     merged = toksmith.corpus.merge_counts([f"{folder}/a.tsv", f"{folder}/b.tsv"], f"{folder}/all.tsv")
    ...     merged.documents, merged.pieces, toksmith.corpus.PieceCounts.load(merged.path).items()
    (2, 3, [(b' low', 2), (b'low', 1), (b'lower', 1)])
    """
    Limits(min_count, spill_to=spill_to).check()
    files = locate_count_files([Path(name) for name in paths], in_order=in_order)
    sums = merge_into_file(files, Path(path), min_count, spill_to)
    facts, spans = sums.facts, spans_of(sums.facts)
    return MergedCounts(
        path=Path(path),
        documents=facts.documents,
        bytes=sums.bytes,
        pieces=sums.pieces,
        digest=sums.digest,
        end=max((end for _, end in spans), default=Position(facts.documents, 0)),
        has_positions=sums.positions,
        long=LeftOut(*facts.long),
        rare=LeftOut(*facts.rare[:2]),
        skipped=facts.skipped,
    )


def restore_counts(core: tuple[Any, ...], fields: tuple[Any, ...]) -> PieceCounts:
    """The counts in a pickle: the arguments of the core's `kept`, and the other fields."""
    return PieceCounts(_core.CountedPieces.from_columns(*core), *fields)
