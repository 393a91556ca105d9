"""study: recommends a vocabulary size, a split pattern and a kind of tokenizer for some texts and a planned model.

One call reads the corpus (`split.py`), trains each candidate (`candidate_models.py`) once for all sizes where its kind allows
this, measures every size on held-out texts (`measure.py`), and computes the sizes that published scaling laws give
(`scaling.py`). `advice.py` derives a range with its reasons; `result.py` draws it. With a folder (`folder.py`), an interrupted
study continues.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ... import _core
from ..._base.arguments import check_flag, check_items, check_texts
from ..._base.threads import thread_count
from ..._base.wording import number_of
from ..._corpus import Corpus
from ..._model.patterns import splitters
from ..._model.special import check_special_tokens
from ..._render.progress import Progress, Reporter
from ..._render.streams import LOG
from ..._tokenizer.tokenizer import Tokenizer
from ..._training import train
from ..._training.counts import Limits, PieceCounts, count_within_limits
from ..._training.sweep import rewind
from ...errors import CorpusError, InvalidOption, TrainingInterrupted
from ...metrics import parity
from .advice import advice_of
from .candidate_models import StudyCandidate, candidates
from .folder import StudyFolder
from .measure import StudyRow, measure_row
from .result import Study
from .scaling import ModelPlan, ScalingRow, scaling_rows
from .split import Split, as_argument, split_corpus

__all__ = ["Study", "TrainingInterrupted", "study"]

LEAST_DEFAULT, MOST_DEFAULT = 1024, 1 << 20
MOST_SIZES = 64


class Work(NamedTuple):
    """A running study: its validated arguments, the texts, and the folder."""

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
    """The vocabulary size, pattern and kind that suit some texts and a planned
    model: a range with its reasons, and the figures for it.

    Each candidate is trained on the corpus without its held-out texts. `kind`
    "bpe" is trained once and rewound to each size; other kinds are trained for
    each size. The held-out texts have the smallest hashes, up to 5 % of the
    bytes and 16 MiB: they are the same on every run, and equal texts are always
    on one side. A corpus of few texts is cut at line ends first. Texts that are
    nearly equal are not recognised.

    Args:
        corpus: As of `train`, but not an iterator: it is read several times.
        sizes: Vocabulary sizes, special tokens included; None for powers of two
            around the sizes that the scaling laws give.
        patterns: Split patterns to compare: names, regexes, None for no split.
        kinds: "bpe", "bpe-characters", "unigram", "wordpiece"; only "bpe" takes
            patterns.
        params: Parameters of the model outside the matrices of the vocabulary.
        tokens: Tokens of the corpus on which the model will be trained; its
            texts are assumed to be like those of `corpus`.
        tied: Whether input and output share one matrix.
        width: Numbers in a row of these matrices; None for the width of the
            models of the paper with `params` parameters.
        languages: Parallel texts by language, as of `parity`, which are not
            trained on.
        held_out: Texts to measure instead, without those that occur in the
            corpus, and at most 16 MiB.
        special_tokens: As of `train`.
        keep: A folder for the trained tokenizers. With it, the same call
            continues after an interruption and repeats no finished training.
        max_memory: As of `corpus.count`.
        threads: At least 1; None for all processors. The result does not depend
            on it.
        progress: None draws a bar on a terminal, False draws nothing, a
            callable gets `Progress` values.
    Returns:
        The range with its reasons, a row for each candidate and size, and the
        scaling laws. All arguments are checked before any training.
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
    check_flag(tied, "tied")
    plan = ModelPlan.of(params, tokens, tied=tied, width=width)
    models = candidates(check_texts(kinds, "kinds"), patterns)
    for each in models:
        _core.Counter(
            [step["pattern"] for step in splitters(each.pattern)], (0, 0), None, "", None
        )  # checks its regexes
    specials = check_texts(special_tokens, "special_tokens")
    check_special_tokens(specials)
    limits = Limits(1, None, max_memory)
    limits.check()
    own_sizes = None if sizes is None else check_sizes(sizes, models, len(specials))
    if languages:
        with as_argument("languages", "texts"):
            parity(train("x", 256, progress=False), languages)  # reads and checks the files before the work
    reporter = Reporter(progress)
    workers = thread_count(threads)
    with reporter.drawn():
        split = split_corpus(corpus, held_out, lambda done: reporter.report("counting", done, None))
        folder = StudyFolder(keep, {"corpus": split.digest, "special_tokens": list(specials)})
        work = Work(
            *(models, specials, languages or {}, plan, scaling_rows(plan), limits, workers, reporter, split, folder)
        )
        return run_study(work, own_sizes)


def check_sizes(sizes: Sequence[int], chosen: Sequence[StudyCandidate], specials: int) -> list[int]:
    """The distinct sizes in ascending order; InvalidOption if one is out of range."""
    ordered = sorted({*check_items(sizes, "sizes", "a list of int")})
    if not 0 < len(ordered) <= MOST_SIZES:
        raise InvalidOption("sizes", list(sizes), f"from 1 to {MOST_SIZES} different sizes")
    least = max((each.kind.alphabet or 0) for each in chosen) + specials + 1
    if ordered[0] < least:
        parts = f"an alphabet of {least - specials - 1}, {number_of(specials, 'special token')} and one merge"
        raise InvalidOption("sizes", list(sizes), f"sizes of at least {least}: {parts}")
    if ordered[-1] > 1 << 23:
        raise InvalidOption("sizes", list(sizes), f"sizes of at most {1 << 23}")
    return ordered


def run_study(work: Work, wanted: list[int] | None) -> Study:
    notes: list[str] = []
    sizes = wanted if wanted is not None else default_sizes(work.scaling)
    first = next((each for each in work.candidates if each.kind.rewinds), None)
    counts = None
    if (
        first is not None
        and work.folder.trained(first.file(sizes[-1]), train_arguments(work, first, sizes[-1])) is None
    ):
        counts = count_candidate(work, first)
        sizes = feasible_sizes(sizes, counts, work, notes, given=wanted is not None)
    rows_by_key: dict[tuple[str, int], StudyRow] = {}
    final_sizes: dict[str, int] = {}
    for each, size in list_trainings(work.candidates, sizes):
        if each.name in final_sizes:
            continue
        own = counts if each is first else None
        tok = train_candidate(work, (each, size), own)
        counts = counts if each is not first else None
        for row in measure_sizes(work, (each, sizes if each.kind.rewinds else [size]), tok):
            rows_by_key[row.tokenizer, row.vocab_size] = row
        if len(tok) < size:
            final_sizes[each.name] = len(tok)
    notes += [f"{name} ends at {size:,} tokens: the corpus has no more" for name, size in final_sizes.items()]
    names = [each.name for each in work.candidates]
    rows = sorted(rows_by_key.values(), key=lambda row: (names.index(row.tokenizer), row.vocab_size))
    advice = advice_of(rows, work.scaling, work.plan, work.split, final_sizes)
    folder = None if work.folder.path is None else str(work.folder.path)
    return Study(
        *(work.plan, work.split, tuple(rows), work.scaling, advice, tuple(notes), tuple(work.languages), folder)
    )


def default_sizes(laws: Sequence[ScalingRow]) -> list[int]:
    """Powers of two from a quarter of the least size that a law gives to twice the largest."""
    law_sizes = [row.vocab_size for row in laws]
    low = max(LEAST_DEFAULT, 2 ** math.floor(math.log2(max(1, min(law_sizes) / 4))))
    high = min(MOST_DEFAULT, max(2 * low, 2 ** math.ceil(math.log2(max(law_sizes) * 2))))
    return [1 << power for power in range(low.bit_length() - 1, high.bit_length())]


def count_candidate(work: Work, candidate: StudyCandidate) -> PieceCounts:
    """The pieces of the training texts, for one pattern."""
    patterns = [step["pattern"] for step in splitters(candidate.pattern)]
    return count_within_limits(work.split.training(), patterns, work.limits, work.reporter, threads=work.threads)


def feasible_sizes(sizes: list[int], counts: PieceCounts, work: Work, notes: list[str], *, given: bool) -> list[int]:
    """The sizes for which the corpus can have pairs: each merge shortens a distinct piece by at least one symbol."""
    inside = int(counts._core.columns()[1][0][-1]) - len(counts) if len(counts) else 0
    most = 256 + len(work.special_tokens) + inside
    if sizes[-1] <= most:
        return sizes
    if given or sizes[0] > most:
        size = sizes[-1] if given else sizes[0]
        problem = (
            f"the corpus is too small for {size:,} tokens: {counts.bytes:,} bytes to train on give at most {most:,}"
        )
        raise CorpusError(None, None, f"{problem}; ask for smaller sizes, or give more text")
    notes.append(f"sizes end at {most:,} tokens: the corpus has no more pairs")
    return [size for size in sizes if size <= most]


def list_trainings(chosen: Sequence[StudyCandidate], sizes: Sequence[int]) -> Iterator[tuple[StudyCandidate, int]]:
    """The trainings: first the kinds whose smallest size can be too small for the alphabet of the corpus."""
    others = [each for each in chosen if not each.kind.rewinds]
    for size in sizes:
        yield from ((each, size) for each in others)
    yield from ((each, sizes[-1]) for each in chosen if each.kind.rewinds)


def train_arguments(work: Work, candidate: StudyCandidate, size: int) -> dict[str, Any]:
    return {"vocab_size": size, "special_tokens": list(work.special_tokens), **candidate.arguments}


def train_candidate(work: Work, job: tuple[StudyCandidate, int], counts: PieceCounts | None) -> Tokenizer:
    """The tokenizer of one training, from an earlier run or trained and stored now."""
    candidate, size = job
    options, file = train_arguments(work, candidate, size), candidate.file(size)
    if (earlier := work.folder.trained(file, options)) is not None:
        LOG.info("%s with %d tokens was trained before", candidate.name, size)
        return earlier
    corpus: Any = work.split.training()
    more: dict[str, Any] = {}
    if candidate.kind.rewinds:
        corpus = counts if counts is not None else count_candidate(work, candidate)
        more = {"checkpoint": work.folder.checkpoint(file)}

    def report(now: Progress) -> None:
        work.reporter.report(now.phase, now.done, now.total)

    try:
        tok = train(corpus, **options, **more, threads=work.threads, progress=report)
    except InvalidOption as error:
        name = "sizes" if error.argument == "vocab_size" else error.argument
        raise InvalidOption(name, error.value, f"{error.allowed} (for {candidate.name})") from None
    work.folder.finish(file, options, tok)
    return tok


def measure_sizes(work: Work, job: tuple[StudyCandidate, Sequence[int]], tok: Tokenizer) -> Iterator[StudyRow]:
    """A row for each size of one training."""
    candidate, sizes = job
    for size in [size for size in sizes if size <= len(tok)] or [len(tok)]:
        own = rewind(tok, size) if candidate.kind.rewinds and size < len(tok) else tok
        figures = measure_row(own, work.split, work.plan, languages=work.languages, threads=work.threads)
        place = work.folder.keep(candidate.file(size), own)
        yield StudyRow(candidate.name, candidate.kind.name, candidate.pattern, **figures, file=place)
