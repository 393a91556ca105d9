"""The trainings, the engines, and toksmith's targets relative to them.

A case is one training: a text, a split, a vocabulary size and the form of the documents. A vocabulary of 256 learns
no merge, so it measures counting alone. `SERIES` are the cases for the growth of time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ..adapters import ALONE, OURS
from ..targets import COST, SPEED, Target
from ..texts import NINE

LIST, JSONL, STREAM = "list", "jsonl", "stream"
COUNTING = 256
UNSPLIT = "unsplit"
LINEAR = "linear growth"
LARGE, HUGE = 32_768, 100_000


@dataclass(frozen=True)
class Case:
    """One training.

    Attributes:
        text: A name for `texts.lay`.
        mb: The maximum megabytes of whole documents.
        split: A name of `vocabularies.REGEXES`, or `UNSPLIT`.
        size: The number of tokens, including the 256 bytes.
        form: `LIST` of documents in memory, `JSONL` file, or `STREAM`: all documents as one text.
        engines: The engines that take part.
    """

    text: str
    mb: float
    split: str
    size: int
    form: str
    engines: tuple[str, ...]
    threads: int = 2

    @property
    def name(self) -> str:
        """The case as text."""
        what = "counting only" if self.size == COUNTING else f"{self.size:,}"
        threads = ", one thread" if self.threads == 1 else ""
        return f"{self.text} {self.mb:g} MB, {self.split}, {what}, {self.form}{threads}"


RUSTBPE = (OURS, "rustbpe")
LISTS = (OURS, "rustbpe", "tokenizers", "bpeasy")
FILES = (OURS, "gigatoken")

ENGLISH = Case("english", 60, "cl100k", LARGE, LIST, LISTS)
ENGLISH_FILE = Case("english", 60, "gpt2", LARGE, JSONL, FILES)
ENGLISH_HUGE = Case("english", 10, "cl100k", HUGE, LIST, LISTS)
CHINESE = Case("chinese", 15, "cl100k", LARGE, LIST, LISTS)
CHINESE_FILE = Case("chinese", 15, "gpt2", LARGE, JSONL, FILES)
ALL = Case(NINE, 160, "cl100k", LARGE, LIST, RUSTBPE)
ALL_HUGE = replace(ALL, size=HUGE)
ALL_FILE = Case(NINE, 160, "gpt2", LARGE, JSONL, FILES)
ALL_FILE_HUGE = replace(ALL_FILE, size=HUGE)
COUNTED = Case("english", 60, "gpt2", COUNTING, JSONL, FILES)
COUNTED_ALONE = replace(COUNTED, threads=1)
COUNTED_LIST = replace(ENGLISH, size=COUNTING)
COUNTED_LIST_ALONE = replace(COUNTED_LIST, threads=1, engines=(OURS,))
STREAMED = Case("english", 10, UNSPLIT, 8_000, STREAM, RUSTBPE)

BY_CORPUS = (*(replace(ENGLISH, mb=mb, engines=RUSTBPE) for mb in (5, 10, 20, 40)), ENGLISH)
BY_SIZE = tuple(replace(ENGLISH_HUGE, size=size, engines=RUSTBPE) for size in (4_096, 8_192, 16_384, 65_536))
SERIES = {
    "corpus": BY_CORPUS,
    "vocabulary": (*BY_SIZE[:3], BY_CORPUS[1], BY_SIZE[3], ENGLISH_HUGE),
}
MAIN = (
    *(ENGLISH, ENGLISH_FILE, ENGLISH_HUGE, CHINESE, CHINESE_FILE, ALL, ALL_HUGE, ALL_FILE, ALL_FILE_HUGE),
    *(COUNTED, COUNTED_ALONE, COUNTED_LIST, COUNTED_LIST_ALONE, STREAMED),
)
CASES = tuple(dict.fromkeys((*MAIN, *(case for series in SERIES.values() for case in series))))


@dataclass(frozen=True)
class Goal:
    """One row of the table of targets: its cases, the figure, and toksmith's target.

    Attributes:
        figure: "seconds" or "peak".
        against: With `ALONE`, the same cases on one thread, in the same order.
    """

    title: str
    cases: tuple[Case, ...]
    target: Target
    figure: str = "seconds"
    against: tuple[Case, ...] = ()


def at_most(factor: float, than: str) -> Target:
    """The target of at most `factor` times the figure of a peer."""
    return Target(factor, than, COST)


LISTED = tuple(case for case in MAIN if case.form == LIST and "rustbpe" in case.engines)
READ = tuple(case for case in MAIN if case.form == JSONL)
GOALS = (
    Goal("english 60 MB, GPT-4 pattern, relative to rustbpe", (ENGLISH,), at_most(1 / 5, "rustbpe")),
    Goal("the same, relative to HF", (ENGLISH,), at_most(1 / 8, "tokenizers")),
    Goal("english 60 MB, GPT-2 pattern, from JSONL", (ENGLISH_FILE,), at_most(1 / 2, "gigatoken")),
    Goal("english 10 MB, 100,000", (ENGLISH_HUGE,), at_most(1 / 4, "rustbpe")),
    Goal("chinese, relative to rustbpe", (CHINESE,), at_most(1 / 3, "rustbpe")),
    Goal("chinese, from JSONL", (CHINESE_FILE,), at_most(1 / 3, "gigatoken")),
    Goal("nine corpora, relative to rustbpe", (ALL, ALL_HUGE), at_most(1 / 5, "rustbpe")),
    Goal("nine corpora, from JSONL", (ALL_FILE, ALL_FILE_HUGE), at_most(1 / 2.5, "gigatoken")),
    Goal("counting only", (COUNTED,), at_most(1 / 2, "gigatoken")),
    Goal("unsplit", (STREAMED,), at_most(1 / 8, "rustbpe")),
    Goal("peak memory, from a list", LISTED, at_most(1 / 2, "rustbpe"), "peak"),
    Goal("peak memory, unsplit", (STREAMED,), at_most(1 / 2, "rustbpe"), "peak"),
    Goal("peak memory, from JSONL", READ, at_most(1, "gigatoken"), "peak"),
    Goal(
        "counting, two threads relative to one",
        (COUNTED, COUNTED_LIST),
        Target(1.6, ALONE, SPEED),
        against=(COUNTED_ALONE, COUNTED_LIST_ALONE),
    ),
    Goal("time by corpus size", SERIES["corpus"], at_most(1, LINEAR)),
    Goal("time by vocabulary size", SERIES["vocabulary"], at_most(1, LINEAR)),
)


def scale_case(case: Case, scale: float) -> Case:
    """The same training with a part of the text."""
    return replace(case, mb=case.mb * scale)


def series_cases(name: str) -> Iterator[tuple[float, Case]]:
    """The cases of a series with their growing size, ascending: megabytes, or tokens."""
    for case in SERIES[name]:
        yield (case.mb if name == "corpus" else case.size), case
