"""train: counts the pieces of a corpus, lets the core turn the counts into merges, and builds a model from both.

This file runs the phases of a training. `options.py` checks the options, `merge_loop.py` calls the loop of the core,
`checkpoint.py` stores merges for the next run, `build_model.py` turns merges into a model. `characters.py` trains
models of characters, `word_marks.py` models of words whose characters carry marks.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Literal, TypeVar

from .. import _core
from .._base.arguments import check_flag, check_int, check_text, check_texts
from .._base.system import SYSTEM
from .._base.threads import thread_count
from .._base.wording import number_of
from .._corpus import Corpus
from .._model.model import Model, Step
from .._model.patterns import UNSET, PatternArgument, splitters
from .._render.progress import Progress, Reporter
from .._render.streams import LOG
from .._tokenizer.tokenizer import Tokenizer
from ..errors import CheckpointError, CorpusError, InvalidOption, NotInVocabulary, TrainingInterrupted
from .build_model import model_from_merges, model_from_pieces
from .characters import CharacterOptions, train_characters
from .checkpoint import Checkpoint
from .counts import Limits, PieceCounts, count_within_limits
from .kinds import LANGUAGES, refuse_untaken, select_kind
from .languages import LanguageCounts, ParityOptions, refuse_with_languages, warn_of_lines, warn_of_turns
from .merge_loop import DIGITS, NO_LIMIT, SUPERWORDS, Phase, first_uncertified, learn_merges, seed_merges
from .options import Options, Outcome, Run, check_options, stop_reason
from .word_marks import MarkedOptions, train_marked

CHARACTERS = r"(?s:.)"


def train(
    corpus: Corpus | PieceCounts | None = None,
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
    parity: Literal["hybrid", "parity", "window"] | None = None,
    languages: Mapping[str, Corpus | PieceCounts] | None = None,
    development: Mapping[str, Corpus | PieceCounts] | None = None,
    ratios: Mapping[str, float] | None = None,
    global_merges: int | None = None,
    parity_window: int = 100,
    parity_alpha: float = 2.0,
    min_piece_count: int = 1,
    max_piece_bytes: int | None = None,
    max_memory: int | None = None,
    spill_to: str | os.PathLike[str] | None = None,
    errors: Literal["stop", "skip"] = "stop",
    checkpoint: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], object] | bool | None = None,
) -> Tokenizer:
    """Trains a tokenizer on a corpus.

    Training merges the pair of neighbours with the highest count everywhere in
    the corpus, and repeats this until it reaches `vocab_size` or `merges`, or
    no pair occurs `min_count` times. Merges never cross pieces or documents.
    `tok.model.training` records each merge, `tok.run_report` the times. If
    rare pieces were left out, the report's `"first_uncertified_merge"` is the
    first merge that they could have changed or added (from 0; None if no such
    merge exists). `toksmith.training_kinds()` lists the options of each kind.

    With `languages`, the language that is worst off chooses each merge: the
    language whose development text has the most tokens. The result is an
    ordinary tokenizer. `tok.run_report["languages"]` gives the number of merges
    that each language chose, and its tokens before and after.

    Args:
        corpus: A text (one document), a `pathlib.Path`, `toksmith.files(…)`, an
            iterable of texts and paths, or the `PieceCounts` of one of these,
            which gives the same result bit for bit. With `languages`: text of
            no language, such as code, which counts in global merges only; or
            None.
        vocab_size: The number of tokens, special tokens included; special
            tokens get the last ids.
        merges: The number of merges, instead of `vocab_size`. With neither,
            `min_count` must be at least 2.
        kind: "bpe"; "unigram" for scored tokens, where encoding takes the most
            likely tokens, as in SentencePiece; "wordpiece" for encoding that
            takes the longest token, as in BERT; "chars" for the sorted
            characters of the corpus; "words" for its whole pieces.
        unit: The first symbols: "byte", or "char" for the characters of the
            corpus, as in SentencePiece.
        alphabet: For bytes, "gpt2" gives them the ids of GPT-2 and of HF's
            trainer; None uses their values as ids. For `unit="char"`, "ascii"
            uses the 128 ASCII characters; None uses the characters that
            `character_coverage` selects.
        pattern: A name of `toksmith.patterns()`, a regex, a list applied in
            order, or None for no split. The default is the pattern of the
            counts, that of `base`, or "o200k". Models of characters accept only
            the default (words begin at spaces) and None.
        special_tokens: Contents that are never merged with text. They must not
            contain or overlap each other.
        ties: Among pairs with equal counts, "lowest_ids" takes the smallest
            ids, "first_seen" the first in the corpus.
        min_count: The lowest count at which a pair merges, or at which "chars"
            and "words" list a piece; at least 1.
        max_token_bytes: The length of the longest token; None for no limit.
        character_coverage: For models of characters: the share of the text
            whose characters get their own tokens, above 0 and at most 1. The
            rarest characters get none.
        byte_fallback: Whether characters without a token become tokens of bytes
            instead of the unknown token.
        dummy_prefix: For models of characters: whether a space is added before
            each text, so that its first word looks like any other word.
        user_symbols: For models of characters: symbols that always stay whole.
        unknown_token: The special token for text without a token: "<unk>" by
            default in models of characters, "[UNK]" for "wordpiece". "chars"
            and "words" have none by default and refuse such text.
        end_of_word_suffix: A mark at the end of each word's last token
            (`</w>`), for byte-pair encoding of characters. Words are separated
            by white space, which is lost.
        lowercase: For "wordpiece": whether texts are lowercased and lose their
            accents, as in BERT's uncased models.
        digits: "1", "3" or "3_right" splits runs of digits before the pattern
            does: into single digits, or into groups of three from the left or
            from the right. "none" leaves digits to the pattern.
        whole_characters: Whether to forbid tokens that hold part of a character
            together with anything else.
        seed_tokens: Tokens to create first, whatever their counts, together
            with the shorter tokens that they are built from. A seed that is one
            character becomes part of the alphabet. Each must be a single piece.
        superwords: How many of the merges are learned in a second phase, on the
            pieces of `superword_pattern`. That pattern is coarser, so tokens
            can span several words, and it becomes the tokenizer's pattern.
        superword_pattern: Like `pattern`. The default splits at line breaks and
            around digits.
        base: A tokenizer to continue. Its tokens and merges stay, and new ids
            follow its last one.
        parity: How languages take turns. "hybrid": all corpora choose the first
            merges together, as without languages. "parity": languages choose
            all merges. "window": as "parity", but a language waits while it
            chose more than its share of the last merges. None is "hybrid" with
            `languages`.
        languages: The corpus of each language by its name, at least two.
        development: For each language, a text with the same meaning.
        ratios: Instead of development texts: the target compression of each
            language's corpus, relative to the others. All 1.0 means the same
            compression.
        global_merges: How many merges all corpora choose together, after those
            of seed tokens. None is half of the merges for "hybrid", and 0
            otherwise.
        parity_window: For "window": how many of the last merges count.
        parity_alpha: For "window": the limit for a language, as a multiple of
            its equal share; at least 1.
        min_piece_count: Pieces that occur less often are left out
            (`PieceCounts.filter`); with languages, in each corpus separately.
        max_piece_bytes, max_memory, spill_to, errors: As in `corpus.count`.
        checkpoint: A file that stores the merges during training. If it exists,
            training continues from it, with the same result as without a stop.
            It may come from a training with a smaller `vocab_size`.
        threads: At least 1; None for all processors. The result does not depend
            on it.
        progress: None draws a bar on a terminal, False draws nothing, a
            callable gets `Progress` values.
    Raises:
        CheckpointError: The checkpoint cannot be read or written, as on a full
            disk. It carries the tokenizer so far.
        CorpusError: The corpus is empty, or a document cannot be read.
        InvalidOption: An argument is out of range, or the kind does not take
            it. The message gives the valid values.
        TrainingInterrupted: Ctrl-C. It carries the tokenizer so far.
    Cost: time grows with the corpus (counting) and with its distinct pieces
        (merging), hardly with `vocab_size`. With languages it is about the
        same, but a piece takes memory in each corpus that contains it.
    Source: Gage 1994; Sennrich et al., ACL 2016; Foroutan et al., ACL 2026
        (languages).

    >>> import toksmith
    >>> tok = toksmith.train("aaabdaaabac", merges=2, pattern=None, ties="first_seen")
    >>> [tok.token_bytes(id) for id in tok.encode("aaabdaaabac")]
    [b'aaa', b'b', b'd', b'aaa', b'b', b'a', b'c']
    >>> corpora = {"en": ["the hat the cat"] * 9, "xx": ["ngomo mongo"]}
    >>> same = {"en": "the cat", "xx": "mongo ngomo mongo"}
    >>> tok = toksmith.train(languages=corpora, development=same, merges=8)
    >>> {name: facts["merges"] for name, facts in tok.run_report["languages"].items()}
    {'en': 0, 'xx': 4}
    """
    special_tokens = check_texts(special_tokens, "special_tokens")
    user_symbols = check_texts(user_symbols, "user_symbols")
    seed_tokens = check_texts(seed_tokens, "seed_tokens", kinds=(str, bytes))
    vocab_size = None if vocab_size is None else check_int(vocab_size, "vocab_size")
    merges = None if merges is None else check_int(merges, "merges")
    min_count = check_int(min_count, "min_count")
    dummy_prefix, byte_fallback = check_flag(dummy_prefix, "dummy_prefix"), check_flag(byte_fallback, "byte_fallback")
    whole_characters = check_flag(whole_characters, "whole_characters")
    if unknown_token is not None:
        check_text(unknown_token, "unknown_token")
    arguments = dict(locals())  # by name, to be compared with the defaults
    row_name = select_kind(kind, unit, alphabet, end_of_word_suffix).name
    refuse_untaken(row_name, arguments, DEFAULTS)
    limits = Limits(min_piece_count, max_piece_bytes, max_memory, spill_to, errors)
    limits.check("min_piece_count")
    parity_options = None
    if any(arguments[name] != DEFAULTS[name] for name in LANGUAGES):
        parity_options = ParityOptions(
            mode=parity or "hybrid",
            other=corpus,
            languages={} if languages is None else languages,
            development=development,
            ratios=ratios,
            global_merges=global_merges,
            window=parity_window,
            alpha=float(parity_alpha),
        )
        parity_options.check()
        refuse_with_languages(ties, superwords)
    if corpus is None and parity_options is None:
        raise TypeError("corpus: expected texts, paths or open files, not NoneType; or pass languages=")
    documents = corpus if corpus is not None else ()
    run = Run(documents, limits, thread_count(threads), Reporter(progress), checkpoint, parity_options)
    if row_name in ("bpe of characters", "unigram"):
        if pattern not in (UNSET, None):
            allowed = "no pattern, so that words begin at spaces, or None, so that texts are not split"
            raise InvalidOption("pattern", pattern, allowed)
        characters = options_from(
            CharacterOptions, arguments, words=pattern is UNSET, unknown_token=unknown_token or "<unk>"
        )
        characters.check()
        return run_training(run, lambda: train_characters(run, characters))
    if row_name in ("bpe with word ends", "wordpiece"):
        marked_options = options_from(
            MarkedOptions,
            arguments,
            words=True,
            unknown_token=unknown_token or ("[UNK]" if kind == "wordpiece" else "<unk>"),
            splitters=() if pattern is UNSET else splitters(pattern),
        )
        marked_options.check()
        return run_training(run, lambda: train_marked(run, marked_options))
    options = options_from(
        Options,
        arguments,
        seed_tokens=tuple(
            check_text(seed, "seed_tokens").encode() if isinstance(seed, str) else seed for seed in seed_tokens
        ),
        superword_pattern=tuple(step["pattern"] for step in splitters(superword_pattern)),
        base=None if base is None else base.model,
    )
    check_options(options)
    if kind == "chars" and pattern not in (UNSET, None):
        raise InvalidOption("pattern", pattern, "no pattern, or None: kind='chars' does not split texts")
    steps = () if kind == "chars" else steps_of(first_counts(run), pattern, options)
    return run_training(run, lambda: train_pieces(run, options, steps))


Chosen = TypeVar("Chosen", CharacterOptions, MarkedOptions, Options)


def options_from(kind: type[Chosen], values: Mapping[str, Any], **others: Any) -> Chosen:
    """The options of a kind: the arguments of `train` with the same names, and others."""
    return kind(**{field.name: values[field.name] for field in fields(kind) if field.name in values} | others)


DEFAULTS = {name: parameter.default for name, parameter in inspect.signature(train).parameters.items()}


def run_training(run: Run, work: Callable[[], Outcome]) -> Tokenizer:
    """Runs the training and returns its tokenizer, or raises the error that ended it early."""
    cpu_s = time.process_time()
    try:
        with run.reporter.drawn():
            outcome = work()
        report = make_report(run, outcome, time.process_time() - cpu_s)
        tokenizer = Tokenizer(outcome.model, run_report=report)
    except KeyboardInterrupt:
        raise TrainingInterrupted(None, run.reporter.phase) from None
    if (problem := outcome.problem) is not None:
        raise CheckpointError(problem.errno, problem.path, problem.problem, tokenizer) from problem
    if outcome.interrupted:
        raise TrainingInterrupted(tokenizer, outcome.interrupted)
    return tokenizer


def train_pieces(run: Run, options: Options, steps: tuple[Step, ...]) -> Outcome:
    language_counts = None
    if run.several is not None:
        language_counts = count_languages(run, run.several, options, steps)
        counts, options = language_counts.sum(), replace(options, several=language_counts.record())
        run = replace(run, train=language_counts.train)
    else:
        counts = count_corpus(run, (CHARACTERS,) if options.kind == "chars" else patterns_of(steps), options)
    counted_s = run.reporter.elapsed_s
    model, (interrupted, problem), uncertified = build_phases(counts, options, steps, run)
    report_values: dict[str, Any] = {"first_uncertified_merge": uncertified}
    if language_counts is not None:
        if counts.rare.pieces:
            report_values["first_uncertified_merge"] = language_counts.first_uncertain(uncertified)
        report_values |= language_counts.facts(not interrupted and problem is None)
    return Outcome(model, len(counts), counted_s, interrupted, problem, report_values)


def first_counts(run: Run) -> Corpus | PieceCounts:
    """The corpus, or the first counts among the corpora of languages."""
    corpora = [] if run.several is None else run.several.languages.values()
    return next((source for source in (run.corpus, *corpora) if isinstance(source, PieceCounts)), run.corpus)


def count_languages(run: Run, parity: ParityOptions, options: Options, steps: tuple[Step, ...]) -> LanguageCounts:
    """The counts of every development text and corpus, one after another."""
    patterns = patterns_of(steps)
    seeds = len(seed_merges(seed_ids(options, steps), options.start.first_id)[: options.limit])
    global_merges = parity.shared(options.limit, seeds)
    if parity.other is not None and not global_merges:
        allowed = "None: text of no language counts in global merges only, and there are none"
        raise InvalidOption("corpus", parity.other, allowed)
    warn_of_turns(global_merges, options.limit - seeds)
    counted_bytes = 0

    def tally(corpus: Corpus | PieceCounts, limits: Limits, what: str) -> PieceCounts:
        nonlocal counted_bytes
        counts = count_corpus(replace(run, corpus=corpus, limits=limits), patterns, options, what, counted_bytes)
        counted_bytes += counts.bytes
        return counts

    exact = Limits(max_memory=run.limits.max_memory, spill_to=run.limits.spill_to)
    development = parity.development or {}
    texts = {name: tally(source, exact, f"the development text of {name!r}") for name, source in development.items()}
    if texts:
        warn_of_lines(texts)
    languages = {
        name: tally(source, run.limits, f"the corpus of {name!r}") for name, source in parity.languages.items()
    }
    others = [] if parity.other is None else [tally(parity.other, run.limits, "the corpus")]
    return LanguageCounts(parity, languages, others, texts, global_merges, seeds)


def make_report(run: Run, outcome: Outcome, cpu_s: float) -> dict[str, Any]:
    total_s, counted_s = run.reporter.elapsed_s, outcome.counted_s
    times = {"count_s": counted_s, "merge_s": total_s - counted_s, "total_s": total_s, "cpu_s": cpu_s}
    resources = {"peak_memory_mib": SYSTEM.peak_memory_mib(), "threads": run.threads, "unique_pieces": outcome.unique}
    return times | resources | {**outcome.more}


def steps_of(corpus: Corpus | PieceCounts, pattern: PatternArgument, options: Options) -> tuple[Step, ...]:
    """The requested splitter steps, or those of the base tokenizer or of the counts."""
    if options.base is not None:
        steps = options.base.splitters
        if pattern is not UNSET and patterns_of(splitters(pattern)) != patterns_of(steps):
            raise InvalidOption("pattern", pattern, f"the pattern of the base tokenizer, {list(patterns_of(steps))}")
        if options.digits != "none":
            raise InvalidOption("digits", options.digits, "'none': the base tokenizer has its own pattern")
        return steps
    if pattern is UNSET and isinstance(corpus, PieceCounts):
        groups = DIGITS[options.digits]
        if corpus.patterns[: len(groups)] != groups:
            raise InvalidOption(
                "digits",
                options.digits,
                f"the digits option with which the pieces were counted: {list(corpus.patterns)}",
            )
        return splitters(corpus.patterns)
    return options.steps(splitters("o200k" if pattern is UNSET else pattern))


def patterns_of(steps: Sequence[Step]) -> tuple[str, ...]:
    return tuple(step["pattern"] for step in steps)


def count_corpus(
    run: Run, patterns: tuple[str, ...], options: Options, what: str = "the corpus", before: int = 0
) -> PieceCounts:
    """The counts of the corpus `what`, after `before` bytes of others; counts that were passed in are only filtered."""
    corpus, limits = run.corpus, run.limits
    if options.superwords and (isinstance(corpus, (PieceCounts, Iterator))):
        allowed = "0 for counts and iterators: superwords require a corpus that can be read twice"
        raise InvalidOption("superwords", options.superwords, allowed)
    if isinstance(corpus, PieceCounts):
        if corpus.patterns != patterns:
            raise InvalidOption("pattern", list(patterns), f"{list(corpus.patterns)}, the pattern of the counts")
        if limits.max_piece_bytes is not None:
            allowed = "None: the pieces are already counted; give it to corpus.count"
            raise InvalidOption("max_piece_bytes", limits.max_piece_bytes, allowed)
        counts = corpus.filter(limits.min_count) if limits.min_count > 1 else corpus
    else:
        counts = count_within_limits(corpus, patterns, limits, run.reporter, threads=run.threads, before=before)
    if counts.bytes == 0:
        raise CorpusError(
            None,
            None,
            f"{what} is empty: {number_of(counts.documents, 'document')} without a byte; expected text to learn from",
        )
    if options.ties == "first_seen" and not counts.has_positions:
        raise InvalidOption("ties", options.ties, "'lowest_ids': the counts do not record where pieces occur first")
    return counts


def build_phases(
    counts: PieceCounts, options: Options, steps: tuple[Step, ...], run: Run
) -> tuple[Model, tuple[str, CheckpointError | None], int | None]:
    """The model; the phase that ended early (or "") with the checkpoint's error; the first uncertified merge."""
    if options.kind != "bpe":
        return model_from_pieces(counts, options, steps), ("", None), None
    checkpoint = Checkpoint(
        run.checkpoint, checkpoint_identity(counts, options, steps) if run.checkpoint is not None else {}
    )
    seeds = seed_merges(seed_ids(options, steps), options.start.first_id)
    first = Phase(1, seeds, max(options.limit - options.superwords, 0))
    word_merges, uncertified = run_phase(first, counts, options, run, checkpoint)
    result, interrupted = word_merges, "merging" if word_merges.stopped == "interrupted" else ""
    try:
        if options.superwords and not interrupted and checkpoint.problem is None:
            coarse = options.steps(splitters(options.superword_pattern))
            coarse_counts = count_corpus(run, patterns_of(coarse), options)
            values = [(left, right, id) for left, right, id in word_merges.merges.tolist()]
            all_merges, second = run_phase(Phase(2, values, options.limit), coarse_counts, options, run, checkpoint)
            uncertified = second if uncertified is None else uncertified
            interrupted = "merging" if all_merges.stopped == "interrupted" else ""
            if len(all_merges.merges) >= len(values):
                counts, steps, result = coarse_counts, coarse, all_merges
        return model_from_merges(counts, options, steps, result), (interrupted, checkpoint.problem), uncertified
    except KeyboardInterrupt:
        # The merges learned so far make a tokenizer.
        return model_from_merges(counts, options, steps, result), (run.reporter.phase, checkpoint.problem), uncertified


def run_phase(
    phase: Phase, counts: PieceCounts, options: Options, run: Run, checkpoint: Checkpoint
) -> tuple[_core.LearnedMerges, int | None]:
    """The merges of one phase, and the first of them that is uncertified."""
    total = None if phase.most == NO_LIMIT else phase.most

    def report(done: int) -> None:
        run.reporter.report("merging", done, total)

    try:
        learned_merges = learn_merges(
            counts._core, options.start, options.rules, phase, checkpoint=checkpoint, report=report, train=run.train
        )
    except NotInVocabulary as problem:
        message = f"{problem.content!r} is not in the alphabet {options.alphabet!r}; use unit='byte'"
        raise CorpusError(None, None, message) from None
    run.reporter.report("merging", len(learned_merges.counts), total)
    if learned_merges.stopped in ("no_pairs", "min_count") and total is not None:
        message = stop_reason(learned_merges.stopped, options, options.several)
        LOG.warning("training stopped after %d of %d merges: %s", len(learned_merges.counts), total, message)
    saved = checkpoint.leads(phase.number)
    return learned_merges, first_uncertified(learned_merges, len(phase.given), saved, counts._core.rare[2])


def seed_ids(options: Options, steps: tuple[Step, ...]) -> list[list[int]]:
    """The ids of the seed tokens before the first merge."""
    start = options.start
    base = None if options.base is None else Tokenizer(options.base)
    for seed in options.seed_tokens:
        pieces = _core.Counter(patterns_of(steps), (0, 0), None, "", None)
        pieces.add([seed], 1)
        if not seed or pieces.finish(1, 1).items() != [(seed, 1)]:
            raise InvalidOption("seed_tokens", seed, "non-empty tokens that the pattern does not split")
    if base is not None:
        return [base.encode(seed, special="text") for seed in options.seed_tokens]
    ids_of_seeds = [[start.alphabet[byte] for byte in seed] for seed in options.seed_tokens]
    if any(id is None for ids in ids_of_seeds for id in ids):
        raise InvalidOption(
            "seed_tokens", list(options.seed_tokens), f"characters of the alphabet {options.alphabet!r}"
        )
    return [[id for id in ids if id is not None] for ids in ids_of_seeds]


def checkpoint_identity(counts: PieceCounts, options: Options, steps: tuple[Step, ...]) -> dict[str, Any]:
    """The values that decide which merges are learned, and in which order; not the number of merges."""
    values = options.to_record()
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
