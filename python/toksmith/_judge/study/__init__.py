"""study: which vocabulary size, which split pattern and which kind of tokenizer for some texts and a planned model.

One call reads the corpus (`split.py`), trains each candidate (`candidate_models.py`) once for all sizes where its kind allows
this, measures every size on texts that no training saw (`measure.py`), and sets these figures beside the sizes that published
scaling laws give (`scaling.py`). `advice.py` makes a range of them with its reasons; `result.py` shows it. With a folder
(`folder.py`), a study that was interrupted continues.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ... import _core
from ..._base.arguments import flag, items, texts
from ..._base.errors import CorpusError, InvalidOption, TrainingInterrupted, number_of
from ..._base.threads import thread_count
from ..._corpus import Corpus
from ..._model.patterns import splitters
from ..._model.special import check_special_tokens
from ..._render.progress import Progress, Reporter
from ..._render.streams import LOG
from ..._tokenizer.tokenizer import Tokenizer
from ..._training import train
from ..._training.counts import Limits, PieceCounts, counted
from ..._training.sweep import rewind
from ...metrics import parity
from .advice import advice_of
from .candidate_models import StudyCandidate, candidates
from .folder import StudyFolder
from .measure import StudyRow, measured
from .result import Study
from .scaling import ModelPlan, ScalingRow, scaling_rows
from .split import Split, as_argument, split_corpus

__all__ = ["Study", "TrainingInterrupted", "study"]

LEAST_DEFAULT, MOST_DEFAULT = 1024, 1 << 20
MOST_SIZES = 64


class Work(NamedTuple):
    """A study that is under way: its checked arguments, the texts, and the folder."""

    candidates: list[StudyCandidate]
    special_tokens: tuple[str, ...]
    languages: Mapping[str, Any]
    plan: ModelPlan
    scaling: tuple[ScalingRow, ...]
    limits: Limits
    threads: int
    reporter: Reporter
    split: Split
    folder: StudyFolder


def study(
    corpus: Corpus,
    *,
    sizes: Sequence[int] | None = None,
    patterns: Sequence[str | None] = ("o200k",),
    kinds: Iterable[str] = ("bpe",),
    params: float = 1e9,
    tokens: float = 2e10,
    tied: bool = False,
    width: int | None = None,
    languages: Mapping[str, Any] | None = None,
    held_out: Corpus | None = None,
    special_tokens: Iterable[str] = (),
    keep: str | os.PathLike[str] | None = None,
    max_memory: int | None = None,
    threads: int | None = None,
    progress: Callable[[Progress], object] | bool | None = None,
) -> Study:
    """Which vocabulary size, pattern and kind suit some texts and a planned model:
    a range with its reasons, and the figures behind it.

    Each candidate is trained on the corpus without its held-out texts. `kind`
    "bpe" is trained once and rewound to each size; other kinds are trained for
    each size. The texts that are held out are those with the smallest hashes,
    up to 5 % of the bytes and 16 MiB: the same on every run, equal texts always
    on one side. A corpus of few texts is cut at line ends first. Texts that are
    nearly equal are not recognised.

    Args:
        corpus: As of `train`, but not an iterator: it is read several times.
        sizes: Vocabulary sizes, special tokens included; None for powers of two
            around those that the scaling laws give.
        patterns: Split patterns to compare: names, regexes, None for no split.
        kinds: "bpe", "bpe-characters", "unigram", "wordpiece"; only "bpe" takes
            patterns.
        params: Parameters of the model outside the matrices of the vocabulary.
        tokens: Tokens of the corpus that the model is to be trained on. Its
            texts are taken to be like those of `corpus`.
        tied: Whether one matrix is for input and output.
        width: Numbers in a row of these matrices; None for the width of the
            models of the paper with so many parameters.
        languages: Parallel texts by language, as of `parity`, which are not
            trained on.
        held_out: Texts to measure instead; those that occur in the corpus are
            left out, and at most 16 MiB are used.
        special_tokens: As of `train`.
        keep: A folder for the trained tokenizers. With it, the same call
            continues after an interruption and repeats no finished training.
        max_memory: As of `count_pieces`.
        threads: At least 1; None for all processors. The result does not depend
            on it.
        progress: None draws a bar on a terminal, False draws nothing, a
            callable gets `Progress` values.
    Returns:
        The range with its reasons, a row for each candidate and size, and the
        scaling laws. Nothing is trained before all arguments are checked.
    Raises:
        CorpusError: The corpus or the held-out text is empty, cannot be read,
            or is too small for the sizes.
        FormatError: The folder cannot be written.
        InvalidOption: An argument is out of range, or the folder has another
            study.
        TrainingInterrupted: Ctrl-C. It carries the tokenizer that was trained.
    Cost: the corpus is read once, and once for each training. Each size encodes
        at most 48 MiB.
    Source: Tao et al., NeurIPS 2024 (2407.13623), for the scaling laws.

    >>> import toksmith
    >>> texts = [f"low lower lowest number {n} of {n * n}" for n in range(500)]
    >>> found = toksmith.study(texts, sizes=[300, 400], params=3e7, tokens=1e9, progress=False)
    >>> [(row.vocab_size, row.tokens < found.rows[0].tokens) for row in found.rows]
    [(300, False), (400, True)]
    """
    flag(tied, "tied")
    plan = ModelPlan.of(params, tokens, tied=tied, width=width)
    chosen = candidates(texts(kinds, "kinds"), patterns)
    for each in chosen:
        _core.Counter([step["pattern"] for step in splitters(each.pattern)], (0, 0), None, "", None)  # its regexes
    specials = texts(special_tokens, "special_tokens")
    check_special_tokens(specials)
    limits = Limits(1, None, max_memory)
    limits.check()
    wanted = None if sizes is None else checked_sizes(sizes, chosen, len(specials))
    if languages:
        with as_argument("languages", "texts"):
            parity(train("x", 256, progress=False), languages)  # whose files are read before the work
    reporter = Reporter(progress)
    workers = thread_count(threads)
    with reporter.drawn():
        split = split_corpus(corpus, held_out, lambda done: reporter.report("counting", done, None))
        folder = StudyFolder(keep, {"corpus": split.digest, "special_tokens": list(specials)})
        work = Work(
            *(chosen, specials, languages or {}, plan, scaling_rows(plan), limits, workers, reporter, split, folder)
        )
        return studied(work, wanted)


def checked_sizes(sizes: Sequence[int], chosen: Sequence[StudyCandidate], specials: int) -> list[int]:
    """The sizes in order, each once."""
    found = sorted({*items(sizes, "sizes", "a list of int")})
    if not 0 < len(found) <= MOST_SIZES:
        raise InvalidOption("sizes", list(sizes), f"from 1 to {MOST_SIZES} different sizes")
    least = max((each.kind.alphabet or 0) for each in chosen) + specials + 1
    if found[0] < least:
        parts = f"an alphabet of {least - specials - 1}, {number_of(specials, 'special token')} and one merge"
        raise InvalidOption("sizes", list(sizes), f"sizes of at least {least}: {parts}")
    if found[-1] > 1 << 23:
        raise InvalidOption("sizes", list(sizes), f"sizes of at most {1 << 23}")
    return found


def studied(work: Work, wanted: list[int] | None) -> Study:
    notes: list[str] = []
    sizes = wanted if wanted is not None else default_sizes(work.scaling)
    first = next((each for each in work.candidates if each.kind.rewinds), None)
    counts = None
    if first is not None and work.folder.trained(first.file(sizes[-1]), arguments(work, first, sizes[-1])) is None:
        counts = counts_of(work, first)
        sizes = fitting(sizes, counts, work, notes, given=wanted is not None)
    done: dict[tuple[str, int], StudyRow] = {}
    ended: dict[str, int] = {}
    for each, size in jobs(work.candidates, sizes):
        if each.name in ended:
            continue
        own = counts if each is first else None
        tok = trained(work, (each, size), own)
        counts = counts if each is not first else None
        for row in rows_of(work, (each, sizes if each.kind.rewinds else [size]), tok):
            done[row.tokenizer, row.vocab_size] = row
        if len(tok) < size:
            ended[each.name] = len(tok)
    notes += [f"{name} ends at {size:,} tokens: the corpus has no more" for name, size in ended.items()]
    names = [each.name for each in work.candidates]
    rows = sorted(done.values(), key=lambda row: (names.index(row.tokenizer), row.vocab_size))
    advice = advice_of(rows, work.scaling, work.plan, work.split)
    kept = None if work.folder.path is None else str(work.folder.path)
    return Study(*(work.plan, work.split, tuple(rows), work.scaling, advice, tuple(notes), tuple(work.languages), kept))


def default_sizes(laws: Sequence[ScalingRow]) -> list[int]:
    """Powers of two from a quarter of the least size that a law gives to twice the largest."""
    found = [row.vocab_size for row in laws]
    low = max(LEAST_DEFAULT, 2 ** math.floor(math.log2(max(1, min(found) / 4))))
    high = min(MOST_DEFAULT, max(2 * low, 2 ** math.ceil(math.log2(max(found) * 2))))
    return [1 << power for power in range(low.bit_length() - 1, high.bit_length())]


def counts_of(work: Work, candidate: StudyCandidate) -> PieceCounts:
    """The pieces of the training texts, for one pattern."""
    patterns = [step["pattern"] for step in splitters(candidate.pattern)]
    return counted(work.split.training(), patterns, work.limits, work.reporter, threads=work.threads)


def fitting(sizes: list[int], counts: PieceCounts, work: Work, notes: list[str], *, given: bool) -> list[int]:
    """The sizes that the corpus can have pairs for: each merge makes a distinct piece shorter by a symbol at least."""
    inside = int(counts._core.columns()[1][0][-1]) - len(counts) if len(counts) else 0
    most = 256 + len(work.special_tokens) + inside
    if sizes[-1] <= most:
        return sizes
    if given or sizes[0] > most:
        size = sizes[-1] if given else sizes[0]
        said = f"the corpus is too small for {size:,} tokens: {counts.bytes:,} bytes to train on give at most {most:,}"
        raise CorpusError(None, None, f"{said}; ask for smaller sizes, or give more text")
    notes.append(f"sizes end at {most:,} tokens: the corpus has no more pairs")
    return [size for size in sizes if size <= most]


def jobs(chosen: Sequence[StudyCandidate], sizes: Sequence[int]) -> Iterator[tuple[StudyCandidate, int]]:
    """The trainings: first the smallest size of each kind that may be too small for the alphabet of the corpus."""
    others = [each for each in chosen if not each.kind.rewinds]
    for size in sizes:
        yield from ((each, size) for each in others)
    yield from ((each, sizes[-1]) for each in chosen if each.kind.rewinds)


def arguments(work: Work, candidate: StudyCandidate, size: int) -> dict[str, Any]:
    return {"vocab_size": size, "special_tokens": list(work.special_tokens), **candidate.arguments}


def trained(work: Work, job: tuple[StudyCandidate, int], counts: PieceCounts | None) -> Tokenizer:
    """The tokenizer of one training: that of an earlier run, or a new one, which is kept."""
    candidate, size = job
    given, file = arguments(work, candidate, size), candidate.file(size)
    if (found := work.folder.trained(file, given)) is not None:
        LOG.info("%s with %d tokens was trained before", candidate.name, size)
        return found
    corpus: Any = work.split.training()
    more: dict[str, Any] = {}
    if candidate.kind.rewinds:
        corpus = counts if counts is not None else counts_of(work, candidate)
        more = {"checkpoint": work.folder.checkpoint(file)}

    def told(now: Progress) -> None:
        work.reporter.report(now.phase, now.done, now.total)

    try:
        tok = train(corpus, **given, **more, threads=work.threads, progress=told)
    except InvalidOption as error:
        name = "sizes" if error.argument == "vocab_size" else error.argument
        raise InvalidOption(name, error.value, f"{error.allowed} (for {candidate.name})") from None
    work.folder.finish(file, given, tok)
    return tok


def rows_of(work: Work, job: tuple[StudyCandidate, Sequence[int]], tok: Tokenizer) -> Iterator[StudyRow]:
    """A row for each size that a training gives."""
    candidate, sizes = job
    for size in [size for size in sizes if size <= len(tok)] or [len(tok)]:
        own = rewind(tok, size) if candidate.kind.rewinds and size < len(tok) else tok
        figures = measured(own, work.split, work.plan, languages=work.languages, threads=work.threads)
        place = work.folder.keep(candidate.file(size), own)
        yield StudyRow(candidate.name, candidate.kind.name, candidate.pattern, **figures, file=place)
