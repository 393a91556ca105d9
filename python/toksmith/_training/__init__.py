"""train: a corpus to a tokenizer. Documents are counted as pieces, the core turns counts into merges, and both become
a model with a record of what happened.

Here are the phases of a training; `_options.py` holds what may be asked for, `_merge_loop.py` the call of the loop,
`_checkpoint.py` what a run leaves for the next one, `_build_model.py` what becomes of the merges. `_characters.py` is
training on characters, from the text to the model, `_word_marks.py` on characters with marks.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal

from .. import _core
from .._arguments import checked, text
from .._corpus import Corpus
from .._counts import Limits, PieceCounts, counted
from .._errors import CheckpointError, CorpusError, InvalidOption, NotInVocabulary, TrainingInterrupted
from .._model import Model, Step
from .._patterns import UNSET, PatternArgument, splitters
from .._progress import Progress, Reporter
from .._threads import thread_count
from .._tokenizer import Tokenizer
from .._training_kinds import chosen_kind, refuse_untaken
from ._build_model import listed, merged
from ._characters import CharacterOptions, train_characters
from ._checkpoint import Checkpoint
from ._merge_loop import DIGITS, SUPERWORDS, Phase, first_uncertified, learn, seed_merges
from ._options import NO_LIMIT, Options, Outcome, Run, check, said_stop
from ._word_marks import MarkedOptions, train_marked

__all__ = ["train"]

LOG = logging.getLogger("toksmith")
CHARACTERS = r"(?s:.)"


@checked
def train(
    corpus: Corpus | PieceCounts,
    vocab_size: int | None = None,
    *,
    merges: int | None = None,
    kind: Literal["bpe", "unigram", "wordpiece", "chars", "words"] = "bpe",
    unit: Literal["byte", "char"] = "byte",
    alphabet: str | None = None,
    pattern: PatternArgument = UNSET,
    special_tokens: Iterable[str] = (),
    ties: Literal["lowest_ids", "first_seen"] = "lowest_ids",
    min_count: int = 1,
    max_token_bytes: int | None = None,
    character_coverage: float = 0.9995,
    byte_fallback: bool = False,
    dummy_prefix: bool = True,
    user_symbols: Iterable[str] = (),
    unknown_token: str | None = None,
    end_of_word_suffix: str = "",
    lowercase: bool = True,
    digits: Literal["none", "1", "3", "3_right"] = "none",
    whole_characters: bool = False,
    seed_tokens: Iterable[str | bytes] = (),
    superwords: int = 0,
    superword_pattern: str | Sequence[str] = SUPERWORDS,
    base: Tokenizer | None = None,
    min_piece_count: int = 1,
    max_piece_bytes: int | None = None,
    max_memory: int | None = None,
    spill_to: str | os.PathLike[str] | None = None,
    errors: Literal["stop", "skip"] = "stop",
    checkpoint: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], object] | bool | None = None,
) -> Tokenizer:
    """The tokenizer that a corpus teaches.

    The pair of neighbours with the highest count merges everywhere in the corpus, and again, until `vocab_size` or
    `merges` is reached, or no pair occurs `min_count` times. Merges never cross pieces or documents. The record of
    each merge is in `tok.model.training`, times are in `tok.run_report`; with rare pieces left out, its
    `"first_uncertified_merge"` is the first merge that they might have changed or added (from 0; None if there is none).

    Args:
        corpus: A text (one document), a `pathlib.Path`, `toksmith.files(…)`, an iterable of texts and paths, or the
            `PieceCounts` of one, which give the same bit for bit.
        vocab_size: The number of tokens, special tokens included; they get the last ids.
        merges: The number of merges instead. With neither, `min_count` must be at least 2.
        kind: "bpe"; "unigram" for tokens with scores of which the most likely ones are taken, as SentencePiece trains
            them; "wordpiece" for those of which the longest are taken, as BERT does; "chars" for the sorted characters of the corpus; "words" for its whole pieces.
        unit: What merging starts from: "byte"; or "char", the characters of the corpus, as SentencePiece merges them.
        alphabet: For bytes, "gpt2" gives them the ids of GPT-2 and of HF's trainer; None those of their values. For
            `unit="char"`, "ascii" makes the base ids those below 128; None takes the characters that
            `character_coverage` says.
        pattern: A name of `toksmith.patterns()`, a regex, a list applied in order, or None for the unsplit stream. Not
            given, it is that of the counts, that of `base`, or "o200k". Models of characters know words, which begin at
            spaces (not given), and the unsplit stream.
        special_tokens: Contents that are never merged with text; none may contain or overlap another.
        ties: Of pairs with equal counts "lowest_ids" takes the smallest ids, "first_seen" the one met first.
        min_count: The least count of a pair that is still merged, or of what "chars" and "words" list; at least 1.
        max_token_bytes: The length of the longest token; None for no limit.
        character_coverage: For models of characters: the share of the text whose characters have tokens of their own,
            above 0 and at most 1; the rare ones beyond it have none.
        byte_fallback: Whether those become tokens of bytes, and not the unknown token.
        dummy_prefix: For models of characters: whether each text gets a space before it, so that its first word is as
            others.
        user_symbols: For models of characters: symbols that stay whole wherever they stand in a text.
        unknown_token: What stands for what has no token, a special token: "<unk>" in models of characters, "[UNK]" for
            "wordpiece"; for "chars" and "words" none, so that such a text is refused.
        end_of_word_suffix: A mark at the end of each word's last token (`</w>`): byte-pair encoding of characters, whose
            words stand between white space, which is lost.
        lowercase: For "wordpiece": whether texts are made lowercase, and lose their accents, as BERT's uncased ones do.
        digits: "1", "3" or "3_right" cuts runs of digits before the pattern does: into single ones, or into groups of
            three from the left or from the right. "none" leaves them to the pattern.
        whole_characters: Whether no token may hold a part of a character and something beside it.
        seed_tokens: Tokens that are made first, whatever their counts, and the shorter tokens that they are built from;
            characters among them are a forced alphabet. Each must be a single piece.
        superwords: How many of the merges are learned in a second phase, on the pieces of `superword_pattern`, which
            is coarser, so that tokens may hold several words. That pattern is then the tokenizer's.
        superword_pattern: As `pattern`; a piece of the default is what stands on one line without digits.
        base: A tokenizer to continue: its tokens and merges stay, and new ids follow its last one.
        min_piece_count: Pieces that occur less often are left out (`PieceCounts.filter`).
        max_piece_bytes, max_memory, spill_to, errors: As of `count_pieces`.
        checkpoint: A file that keeps the merges while they are learned. Where it is there, training goes on from it, and
            ends as if it had never stopped; it may also be of a smaller `vocab_size`.
        threads: At least 1; None for all processors. The result does not depend on it.
        progress: None draws a bar on a terminal, False draws nothing, a callable gets `Progress` values.
    Raises:
        CheckpointError: The checkpoint cannot be read or written, as on a full disk; it carries the tokenizer so far.
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
    asked = dict(locals())
    for name in ("special_tokens", "seed_tokens", "user_symbols"):
        if isinstance(asked[name], str):
            raise TypeError(f"{name} must be a list of contents, not one str")
        asked[name] = tuple(asked[name])
    chosen = chosen_kind(asked)
    refuse_untaken(chosen, asked, DEFAULTS)
    limits = Limits(min_piece_count, max_piece_bytes, max_memory, spill_to, errors)
    limits.check("min_piece_count")
    run = Run(corpus, limits, thread_count(threads), Reporter(progress), checkpoint)
    return MAKERS[chosen.name](run, asked)


DEFAULTS = {name: parameter.default for name, parameter in inspect.signature(train).parameters.items()}


def of_characters(run: Run, asked: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer of a model of characters."""
    if asked["pattern"] not in (UNSET, None):
        allowed = "no pattern, so that words begin at spaces, or None, so that texts are not split"
        raise InvalidOption("pattern", asked["pattern"], allowed)
    given = {field.name: asked[field.name] for field in fields(CharacterOptions) if field.name in asked}
    given |= {"words": asked["pattern"] is UNSET, "unknown_token": asked["unknown_token"] or "<unk>"}
    options = CharacterOptions(**given)
    options.check()
    return finished(run, lambda: train_characters(run, options))


def of_marked(run: Run, asked: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer of a model of words whose characters carry marks."""
    words = () if asked["pattern"] is UNSET else splitters(asked["pattern"])
    given = {field.name: asked[field.name] for field in fields(MarkedOptions) if field.name in asked}
    usual = "[UNK]" if asked["kind"] == "wordpiece" else "<unk>"
    given |= {"words": True, "unknown_token": asked["unknown_token"] or usual, "splitters": words}
    options = MarkedOptions(**given)
    options.check()
    return finished(run, lambda: train_marked(run, options))


def finished(run: Run, work: Callable[[], Outcome]) -> Tokenizer:
    """The tokenizer of the model that the work gives."""
    cpu_s = time.process_time()
    with run.reporter.drawn():
        outcome = work()
    report = report_of(run, outcome, time.process_time() - cpu_s)
    tokenizer = Tokenizer(outcome.model, run_report=report)
    if (problem := outcome.problem) is not None:
        raise CheckpointError(problem.errno, problem.path, problem.problem, tokenizer) from problem
    if outcome.interrupted:
        raise TrainingInterrupted(tokenizer, outcome.interrupted)
    return tokenizer


def of_pieces(run: Run, asked: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer of a model of the pieces that a pattern makes."""
    base, coarse = asked["base"], tuple(step["pattern"] for step in splitters(asked["superword_pattern"]))
    seeds = tuple(
        text(seed, "seed_tokens").encode() if isinstance(seed, str) else seed for seed in asked["seed_tokens"]
    )
    given = {field.name: asked[field.name] for field in fields(Options) if field.name in asked}
    given |= {"base": None if base is None else base.model, "seed_tokens": seeds, "superword_pattern": coarse}
    options = Options(**given)
    check(options)
    if options.kind == "chars" and asked["pattern"] not in (UNSET, None):
        raise InvalidOption("pattern", asked["pattern"], "no pattern, or None: kind='chars' does not split texts")
    steps = () if options.kind == "chars" else steps_of(run.corpus, asked["pattern"], options)
    return finished(run, lambda: train_pieces(run, options, steps))


MAKERS: Mapping[str, Callable[[Run, Mapping[str, Any]], Tokenizer]] = {
    "bpe of bytes": of_pieces,
    "bpe of characters": of_characters,
    "bpe with word ends": of_marked,
    "unigram": of_characters,
    "wordpiece": of_marked,
    "chars": of_pieces,
    "words": of_pieces,
}  # by the name of the row in `_training_kinds.py`


def train_pieces(run: Run, options: Options, steps: tuple[Step, ...]) -> Outcome:
    """What a corpus teaches."""
    counts = count(run, (CHARACTERS,) if options.kind == "chars" else patterns_of(steps), options)
    counted_s = run.reporter.elapsed_s
    model, (interrupted, problem), uncertified = built(counts, options, steps, run)
    more = {"first_uncertified_merge": uncertified}
    return Outcome(model, len(counts), counted_s, interrupted, problem, more)


def report_of(run: Run, outcome: Outcome, cpu_s: float) -> dict[str, Any]:
    """What the training took."""
    total_s, counted_s = run.reporter.elapsed_s, outcome.counted_s
    times = {"count_s": counted_s, "merge_s": total_s - counted_s, "total_s": total_s, "cpu_s": cpu_s}
    rest = {"peak_memory_mib": peak_memory_mib(), "threads": run.threads, "unique_pieces": outcome.unique}
    return times | rest | {**outcome.more}


def peak_memory_mib() -> float | None:
    """The most memory that the process had at once; None where the system does not tell."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def steps_of(corpus: Corpus | PieceCounts, pattern: PatternArgument, options: Options) -> tuple[Step, ...]:
    """The splitter steps that were asked for, or that the base tokenizer or the counts bring along."""
    if options.base is not None:
        own = options.base.splitters
        if pattern is not UNSET and patterns_of(splitters(pattern)) != patterns_of(own):
            raise InvalidOption("pattern", pattern, f"that of the base tokenizer, {list(patterns_of(own))}")
        if options.digits != "none":
            raise InvalidOption("digits", options.digits, "'none': the base tokenizer has its pattern")
        return own
    if pattern is UNSET and isinstance(corpus, PieceCounts):
        groups = DIGITS[options.digits]
        if corpus.patterns[: len(groups)] != groups:
            raise InvalidOption("digits", options.digits, f"as the counts were made: {list(corpus.patterns)}")
        return splitters(corpus.patterns)
    return options.steps(splitters("o200k" if pattern is UNSET else pattern))


def patterns_of(steps: Sequence[Step]) -> tuple[str, ...]:
    """The regexes of the steps."""
    return tuple(step["pattern"] for step in steps)


def count(run: Run, patterns: tuple[str, ...], options: Options) -> PieceCounts:
    """The counts of the corpus, if they are not what was given."""
    corpus, limits = run.corpus, run.limits
    if options.superwords and (isinstance(corpus, (PieceCounts, Iterator))):
        allowed = "0 for counts and iterators: superwords need a corpus that can be read twice"
        raise InvalidOption("superwords", options.superwords, allowed)
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
            counts = counted(corpus, patterns, limits, run.reporter, threads=run.threads)
        except KeyboardInterrupt:
            raise TrainingInterrupted(None, "counting") from None
    if counts.bytes == 0:
        raise CorpusError(None, None, f"the corpus is empty: no byte in any of its documents ({counts.documents})")
    if options.ties == "first_seen" and not counts.has_positions:
        raise InvalidOption("ties", options.ties, "'lowest_ids': the counts do not tell where pieces stand first")
    return counts


def built(
    counts: PieceCounts, options: Options, steps: tuple[Step, ...], run: Run
) -> tuple[Model, tuple[str, CheckpointError | None], int | None]:
    """The model of the counts; the phase that ended early, "" for none, and what is wrong with the checkpoint; the first
    uncertified merge.
    """
    if options.kind != "bpe":
        return listed(counts, options, steps), ("", None), None
    try:
        checkpoint = Checkpoint(run.checkpoint, identity(counts, options, steps) if run.checkpoint is not None else {})
        seeds = seed_merges(seed_ids(options, steps), options.start.first_id)
        first = Phase(1, seeds, max(options.limit - options.superwords, 0))
        words, doubt = run_phase(first, counts, options, run, checkpoint)
    except KeyboardInterrupt:
        raise TrainingInterrupted(None, "merging") from None
    found, interrupted = words, "merging" if words.stopped == "interrupted" else ""
    try:
        if options.superwords and not interrupted and checkpoint.problem is None:
            coarse = options.steps(splitters(options.superword_pattern))
            lines = count(run, patterns_of(coarse), options)
            given = [(left, right, id) for left, right, id in words.merges.tolist()]
            all_found, later = run_phase(Phase(2, given, options.limit), lines, options, run, checkpoint)
            doubt = later if doubt is None else doubt
            interrupted = "merging" if all_found.stopped == "interrupted" else ""
            if len(all_found.merges) >= len(given):
                counts, steps, found = lines, coarse, all_found
        return merged(counts, options, steps, found), (interrupted, checkpoint.problem), doubt
    except TrainingInterrupted:
        return merged(counts, options, steps, found), ("counting", checkpoint.problem), doubt
    except KeyboardInterrupt:
        # It came after the last merge; what was learned is not lost.
        return merged(counts, options, steps, found), ("merging", checkpoint.problem), doubt


def run_phase(
    phase: Phase, counts: PieceCounts, options: Options, run: Run, checkpoint: Checkpoint
) -> tuple[_core.LearnedMerges, int | None]:
    """The merges of one phase, and the first of them that is uncertified."""
    total = None if phase.most == NO_LIMIT else phase.most

    def report(done: int) -> None:
        run.reporter.report("merging", done, total)

    try:
        learned = learn(counts._core, options.start, options.rules, phase, checkpoint=checkpoint, report=report)
    except NotInVocabulary as problem:
        said = f"{problem.content!r} is not in the alphabet {options.alphabet!r}; use unit='byte'"
        raise CorpusError(None, None, said) from None
    run.reporter.report("merging", len(learned.counts), total)
    if learned.stopped in ("no_pairs", "min_count") and total is not None:
        said = said_stop(learned.stopped, options)
        LOG.warning("training stopped after %d of %d merges: %s", len(learned.counts), total, said)
    saved = checkpoint.leads(phase.number)
    return learned, first_uncertified(learned, len(phase.given), saved, counts._core.rare[2])


def seed_ids(options: Options, steps: tuple[Step, ...]) -> list[list[int]]:
    """The ids of the seed tokens before the first merge."""
    start = options.start
    base = None if options.base is None else Tokenizer(options.base)
    for seed in options.seed_tokens:
        pieces = _core.Counter(patterns_of(steps), (0, 0), None, "", None)
        pieces.add([seed], 1)
        if not seed or pieces.finish(1, 1).items() != [(seed, 1)]:
            raise InvalidOption(
                "seed_tokens", seed, "tokens that the pattern leaves whole and that have at least a byte"
            )
    if base is not None:
        return [base.encode(seed, special="text") for seed in options.seed_tokens]
    found = [[start.alphabet[byte] for byte in seed] for seed in options.seed_tokens]
    if any(id is None for ids in found for id in ids):
        raise InvalidOption(
            "seed_tokens", list(options.seed_tokens), f"characters of the alphabet {options.alphabet!r}"
        )
    return [[id for id in ids if id is not None] for ids in found]


def identity(counts: PieceCounts, options: Options, steps: tuple[Step, ...]) -> dict[str, Any]:
    """What decides which merges are learned, and in which order; how many there may be does not."""
    values = options.recorded()
    for name in ("vocab_size", "merges", "special_tokens"):
        del values[name]
    if options.superwords:
        values["words"] = options.limit - options.superwords
    values |= {"patterns": list(patterns_of(steps)), "digest": counts.digest}
    if options.ties == "first_seen":
        blob, columns = counts._core.columns()
        order = hashlib.sha256(blob)
        for column in columns:
            order.update(column.tobytes())
        values["positions"] = order.hexdigest()
    return values
