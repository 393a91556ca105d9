"""train: a corpus to a tokenizer. Documents are counted as pieces, the core turns counts into merges, and both become
a model with a record of what happened."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from . import _core
from ._corpus import Corpus
from ._counts import Limits, PieceCounts, counted
from ._errors import CorpusError, InvalidOption, NotInVocabulary, TrainingInterrupted
from ._formats import UNSET, PatternArgument
from ._model import AddedToken, Model, Step, TokenTable, TrainingRecord
from ._patterns import splitters
from ._progress import Progress, Reporter
from ._special import check_special_tokens
from ._threads import thread_count
from ._tokenizer import Tokenizer

__all__ = ["train"]

LOG = logging.getLogger("toksmith")
CHARACTERS = r"(?s:.)"
NO_LIMIT = 1 << 23
ALPHABET_SIZES = {"byte": 256, "char": 128}


@dataclass(frozen=True)
class Options:
    """The arguments of `train` that decide its result."""

    vocab_size: int | None
    merges: int | None
    kind: str
    unit: str
    alphabet: str | None
    ties: str
    min_count: int
    max_token_bytes: int | None
    special_tokens: tuple[str, ...]


def train(
    corpus: Corpus | PieceCounts,
    vocab_size: int | None = None,
    *,
    merges: int | None = None,
    kind: Literal["bpe", "chars", "words"] = "bpe",
    unit: Literal["byte", "char"] = "byte",
    alphabet: str | None = None,
    pattern: PatternArgument = UNSET,
    special_tokens: Iterable[str] = (),
    ties: Literal["lowest_ids", "first_seen"] = "lowest_ids",
    min_count: int = 1,
    max_token_bytes: int | None = None,
    min_piece_count: int = 1,
    max_piece_bytes: int | None = None,
    max_memory: int | None = None,
    spill_to: str | os.PathLike[str] | None = None,
    errors: Literal["stop", "skip"] = "stop",
    threads: int | None = None,
    progress: Callable[[Progress], object] | bool | None = None,
) -> Tokenizer:
    """The tokenizer that a corpus teaches.

    The pair of neighbours with the highest count merges everywhere in the corpus, and again, until `vocab_size` or
    `merges` is reached, or no pair occurs `min_count` times. Merges never cross pieces or documents. The record of
    each merge is in `tok.model.training`, times are in `tok.run_report`.

    Args:
        corpus: A text (one document), a `pathlib.Path`, `toksmith.files(…)`, an iterable of texts and paths, or the
            `PieceCounts` of one, which give the same bit for bit.
        vocab_size: The number of tokens, special tokens included; they get the last ids.
        merges: The number of merges instead. With neither, `min_count` must be at least 2.
        kind: "bpe"; "chars" for the sorted characters of the corpus; "words" for its whole pieces.
        unit: What merging starts from: "byte", or "char" with `alphabet="ascii"` (ids below 128).
        pattern: A name of `toksmith.patterns()`, a regex, a list applied in order, or None for the unsplit stream. Not
            given, it is that of the counts, or "o200k".
        special_tokens: Contents that are never merged with text; none may contain or overlap another.
        ties: Of pairs with equal counts "lowest_ids" takes the smallest ids, "first_seen" the one met first.
        min_count: The least count of a pair that is still merged; at least 1.
        max_token_bytes: The length of the longest token; None for no limit.
        min_piece_count: Pieces that occur less often are left out (`PieceCounts.filter`).
        max_piece_bytes, max_memory, spill_to, errors: As of `count_pieces`.
        threads: At least 1; None for all processors. The result does not depend on it.
        progress: None draws a bar on a terminal, False draws nothing, a callable gets `Progress` values.
    Raises:
        CorpusError: The corpus is empty, or a document cannot be read.
        InvalidOption: An argument is out of range; the message says what is possible.
        TrainingInterrupted: Ctrl-C; it carries the tokenizer so far.
    Cost: time grows with the corpus (counting), and with its distinct pieces (merging), hardly with `vocab_size`.
    Source: Gage 1994; Sennrich et al., ACL 2016.

    >>> import toksmith
    >>> tok = toksmith.train("aaabdaaabac", merges=2, pattern=None, ties="first_seen")
    >>> [tok.token_bytes(id) for id in tok.encode("aaabdaaabac")]
    [b'aaa', b'b', b'd', b'aaa', b'b', b'a', b'c']
    """
    if isinstance(special_tokens, str):
        raise TypeError("special_tokens must be a list of contents, not one str")
    specials = tuple(special_tokens)
    options = Options(vocab_size, merges, kind, unit, alphabet, ties, min_count, max_token_bytes, specials)
    check(options)
    limits = Limits(min_piece_count, max_piece_bytes, max_memory, spill_to, errors)
    limits.check("min_piece_count")
    steps = () if kind == "chars" else splitters(pattern_of(corpus) if pattern is UNSET else pattern)
    patterns = (CHARACTERS,) if kind == "chars" else tuple(step["pattern"] for step in steps)
    threads = thread_count(threads)
    reporter = Reporter(progress)
    with reporter.drawn():
        counts = count(corpus, patterns, limits, reporter, threads)
        if ties == "first_seen" and not counts.has_positions:
            raise InvalidOption("ties", ties, "'lowest_ids': the counts do not tell where pieces stand first")
        counted_s = reporter.elapsed_s
        model, interrupted = built(counts, options, steps, reporter)
        report = {
            "count_s": counted_s,
            "merge_s": reporter.elapsed_s - counted_s,
            "total_s": reporter.elapsed_s,
            "threads": threads,
            "unique_pieces": len(counts),
        }
    tokenizer = Tokenizer(model, run_report=report)
    if interrupted:
        raise TrainingInterrupted(tokenizer, "merging")
    return tokenizer


def check(options: Options) -> None:
    """Raises InvalidOption for the first argument that is out of range."""

    def need(holds: bool, argument: str, allowed: str) -> None:
        if not holds:
            raise InvalidOption(argument, getattr(options, argument), allowed)

    need(options.kind in ("bpe", "chars", "words"), "kind", "'bpe', 'chars' or 'words'")
    need(options.unit in ("byte", "char"), "unit", "'byte' or 'char'")
    need(options.ties in ("lowest_ids", "first_seen"), "ties", "'lowest_ids' or 'first_seen'")
    need(1 <= options.min_count < 1 << 63, "min_count", "at least 1 and below 2**63")
    longest = options.max_token_bytes
    need(longest is None or 1 <= longest < 1 << 32, "max_token_bytes", "at least 1 and below 2**32, or None")
    expected = {"ascii"} if options.kind == "bpe" and options.unit == "char" else {None}
    need(options.alphabet in expected, "alphabet", "'ascii' with unit='char', and nothing else with any other")
    check_special_tokens(options.special_tokens)
    if options.kind != "bpe":
        need(options.merges is None, "merges", f"None: kind={options.kind!r} does not merge")
        return
    need(options.merges is None or options.vocab_size is None, "merges", "None when vocab_size is given")
    need(options.merges is None or 0 <= options.merges <= NO_LIMIT, "merges", f"at least 0 and at most {NO_LIMIT}")
    if options.vocab_size is not None:
        least = ALPHABET_SIZES[options.unit] + len(options.special_tokens)
        parts = f"the alphabet of {ALPHABET_SIZES[options.unit]} and {len(options.special_tokens)} special tokens"
        need(options.vocab_size >= least, "vocab_size", f"at least {least}: {parts}")
        need(options.vocab_size <= NO_LIMIT, "vocab_size", f"at most {NO_LIMIT}")
    elif options.merges is None:
        need(options.min_count >= 2, "min_count", "at least 2 when neither vocab_size nor merges ends the training")


def pattern_of(corpus: Corpus | PieceCounts) -> str | Sequence[str] | None:
    """The pattern where none was given."""
    return "o200k" if not isinstance(corpus, PieceCounts) else corpus.patterns or None


def count(
    corpus: Corpus | PieceCounts, patterns: tuple[str, ...], limits: Limits, reporter: Reporter, threads: int
) -> PieceCounts:
    """The counts of the corpus, if they are not what was given."""
    if isinstance(corpus, PieceCounts):
        if corpus.patterns != patterns:
            raise InvalidOption("pattern", list(patterns), f"{list(corpus.patterns)}, by which the counts were made")
        if limits.max_piece_bytes is not None:
            allowed = "None: it decides what is counted, and the counts are made; give it to count_pieces"
            raise InvalidOption("max_piece_bytes", limits.max_piece_bytes, allowed)
        counts = corpus.filter(limits.min_count) if limits.min_count > 1 else corpus
    else:
        try:
            # A call of its own: CPython 3.13 may raise an interrupt at the jump back of a loop, past a `try` around it.
            counts = counted(corpus, patterns, limits, reporter, threads=threads)
        except KeyboardInterrupt:
            raise TrainingInterrupted(None, "counting") from None
    if counts.bytes == 0:
        raise CorpusError(None, None, f"the corpus is empty: no byte in any of its documents ({counts.documents})")
    return counts


def built(counts: PieceCounts, options: Options, steps: tuple[Step, ...], reporter: Reporter) -> tuple[Model, bool]:
    """The model of the counts, and whether Ctrl-C ended the training."""
    if options.kind != "bpe":
        return listed(counts, options, steps), False
    learned = learn(counts, options, reporter)
    try:
        return merged(counts, options, steps, learned), learned.stopped == "interrupted"
    except KeyboardInterrupt:
        # It came after the last merge; what was learned is not lost.
        return merged(counts, options, steps, learned), True


def learn(counts: PieceCounts, options: Options, reporter: Reporter) -> _core.Merges:
    """The merges that the counts teach."""
    limit = NO_LIMIT if options.merges is None else options.merges
    if options.vocab_size is not None:
        limit = options.vocab_size - ALPHABET_SIZES[options.unit] - len(options.special_tokens)
    total = None if limit == NO_LIMIT else limit
    try:
        learned = _core.train(
            counts._core,
            options.unit,
            limit,
            options.min_count,
            options.ties,
            options.max_token_bytes,
            lambda done: reporter.report("merging", done, total),
        )
    except NotInVocabulary as problem:
        said = f"{problem.content!r} is not in the alphabet {options.alphabet!r}; use unit='byte'"
        raise CorpusError(None, None, said) from None
    reporter.report("merging", len(learned.counts), total)
    if learned.stopped in ("no_pairs", "min_count") and total is not None:
        said = said_stop(learned.stopped, options)
        LOG.warning("training stopped after %d of %d merges: %s", len(learned.counts), total, said)
    return learned


def merged(counts: PieceCounts, options: Options, steps: tuple[Step, ...], learned: _core.Merges) -> Model:
    """The model of byte-pair encoding."""
    pairs = learned.pairs
    size = ALPHABET_SIZES[options.unit]
    tokens = [bytes([byte]) for byte in range(size)]
    for left, right in pairs.tolist():
        tokens.append(tokens[left] + tokens[right])
    results = np.arange(size, len(tokens), dtype=np.uint32)
    record = TrainingRecord(
        options=recorded(options, steps, counts),
        documents=counts.documents,
        bytes=counts.bytes,
        digest=counts.digest,
        symbols=learned.symbols,
        counts=learned.counts,
        left=learned.left,
        stopped_because=said_stop(learned.stopped, options),
    )
    return Model(
        tokens=TokenTable.of(tokens),
        ids=np.arange(len(tokens), dtype=np.uint32),
        unit="byte" if options.unit == "byte" else "char",
        merges=np.column_stack([pairs, results]),
        splitters=steps,
        added_tokens=added(options.special_tokens, len(tokens)),
        training=record,
    )


def listed(counts: PieceCounts, options: Options, steps: tuple[Step, ...]) -> Model:
    """The model whose tokens are the pieces themselves: the sorted characters, or the words, most frequent first."""
    pieces = counts.items()
    if options.kind == "chars":
        tokens = sorted(piece for piece, _ in pieces)
        refuse_bytes_that_are_no_text(tokens)
    else:
        tokens = [piece for piece, _ in sorted(pieces, key=lambda item: (-item[1], item[0]))]
    room = len(tokens) if options.vocab_size is None else options.vocab_size - len(options.special_tokens)
    if room < (len(tokens) if options.kind == "chars" else 1):
        allowed = f"at least {len(tokens) + len(options.special_tokens)}: the corpus has {len(tokens)} characters"
        raise InvalidOption("vocab_size", options.vocab_size, allowed if options.kind == "chars" else "at least 1")
    all_listed = len(tokens) <= room
    del tokens[room:]
    record = TrainingRecord(
        options=recorded(options, steps, counts),
        documents=counts.documents,
        bytes=counts.bytes,
        digest=counts.digest,
        symbols=sum(count for _, count in pieces),
        counts=np.empty(0, np.uint64),
        left=np.empty(0, np.uint64),
        stopped_because=f"every one of the {options.kind} is listed"
        if all_listed
        else f"it reached vocab_size={options.vocab_size}",
    )
    return Model(
        tokens=TokenTable.of(tokens),
        ids=np.arange(len(tokens), dtype=np.uint32),
        kind="chars" if options.kind == "chars" else "words",
        unit="char" if options.kind == "chars" else "byte",
        splitters=steps,
        added_tokens=added(options.special_tokens, len(tokens)),
        training=record,
    )


def refuse_bytes_that_are_no_text(tokens: list[bytes]) -> None:
    """Raises CorpusError for the first token that is no character."""
    for token in tokens:
        try:
            token.decode()
        except UnicodeDecodeError:
            problem = f"the bytes {token!r} are no UTF-8, so they have no characters; use kind='bpe'"
            raise CorpusError(None, None, problem) from None


def added(contents: tuple[str, ...], first_id: int) -> tuple[AddedToken, ...]:
    """The special tokens with the ids from `first_id` on."""
    return tuple(AddedToken(content, first_id + place) for place, content in enumerate(contents))


def recorded(options: Options, steps: tuple[Step, ...], counts: PieceCounts) -> dict[str, Any]:
    """The options as JSON values, for the training record; and the pieces that were left out, if any were."""
    patterns = [step["pattern"] for step in steps]
    out = {name: list(left) for name, left in (("long", counts.long), ("rare", counts.rare)) if left.pieces}
    left_out = {"left_out": out} if out else {}
    return {**asdict(options), "special_tokens": list(options.special_tokens), "patterns": patterns, **left_out}


def said_stop(stopped: str, options: Options) -> str:
    """Why training ended, in words."""
    limit = f"merges={options.merges}" if options.vocab_size is None else f"vocab_size={options.vocab_size}"
    few = "no pair repeats" if options.min_count == 2 else f"no pair occurs {options.min_count} times"
    return {
        "limit": f"it reached {limit}",
        "no_pairs": "no pair is left",
        "min_count": few,
        "interrupted": "it was interrupted",
    }[stopped]
