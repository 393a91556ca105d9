"""The questions: every cell of the tables. `targets` compares them with toksmith's targets.

A question is one kind of fresh process and fills one or more cells. Only this module selects texts and vocabularies.
The expected answer of each question comes from the reference engine of its vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from . import hostile
from .adapters import ALONE, APART, OURS, PLAIN
from .adapters import RANKS as FROM_RANKS
from .texts import CORPORA, GREETING, MB, SHORT, STREAM, TURNS
from .vocabularies import RANKS

LEADERS = (OURS, "gigatoken", "fastokens", "snaptokens")
FLOOR = ("tiktoken",)
OTHERS = ("tiktoken", "tokenizers", "tokie", "wordchipper", "rs_bpe")
FLOOR_LIMIT = 1 * MB


@dataclass(frozen=True)
class Cell:
    """One row of a table: a figure of a question and its unit: "MB/s", "Mtok/s", "ns/call", "ms", "MB"."""

    group: str
    figure: str
    unit: str


@dataclass(frozen=True)
class Question:
    """One kind of process and the cells that it fills; other fields are those of `request.Request`.

    Attributes:
        limit: The maximum bytes of the text; None for the limit of the run.
        engines: Measured on the same text.
        floor: Slow engines, measured once on a prefix, for comparison; never the best peer.
        kept: Engines that are always measured in all rounds, even if they are slow.
        beside: Variants of toksmith, measured in the same rounds.
        passes: The number of timings of each operation of `again`.
        warm: Whether each engine encodes one word before the clock starts.
        native: Whether toksmith loads its own format.
    """

    measure: str
    encoding: str
    text: str
    first: str
    cells: tuple[Cell, ...]
    again: tuple[str, ...] = ()
    limit: int | None = None
    engines: tuple[str, ...] = LEADERS
    floor: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    threads: int = 1
    passes: int = 2
    warm: bool = False
    native: bool = False


DOCUMENTS = (Cell("cold", "first", "MB/s"), Cell("hot", "arrays", "MB/s"), Cell("list", "lists", "MB/s"))

# The cells of a quick run: group, vocabulary, text.
QUICK = (
    ("cold", "cl100k", "english"),
    ("cold", "cl100k", "code"),
    ("cold", "o200k", "chinese"),
    ("cold", "o200k", "russian"),
    ("hot", "cl100k", "english"),
    ("hot", "cl100k", "code"),
    ("list", "cl100k", "english"),
    ("list", "cl100k", "code"),
    ("sentencepiece hot", "mistral_v1", "english"),
    ("short", "o200k", "short20"),
    ("hostile", "cl100k", f"random_letters-{MB}"),
    ("load, native format", "o200k", GREETING),
)


def questions(threads: int) -> Iterator[Question]:
    """Every question, in the order of the report."""
    yield from document_questions()
    yield from warmed_questions()
    yield from stream_questions()
    yield from batch_questions(threads)
    yield from sentencepiece_questions()
    yield from short_questions()
    yield from decode_questions()
    yield from hostile_questions()
    yield from start_questions()
    yield from conversation_questions()


def quick_questions(threads: int) -> Iterator[Question]:
    """The questions with the cells of a quick run, without those for comparison only."""
    for question in questions(threads):
        cells = tuple(cell for cell in question.cells if (cell.group, question.encoding, question.text) in QUICK)
        if cells:
            yield replace(question, cells=cells, floor=())


def document_questions() -> Iterator[Question]:
    """Nine corpora, four vocabularies, one thread: cold and hot arrays, hot lists."""
    for encoding in RANKS:
        for corpus in CORPORA:
            floor = OTHERS if corpus in ("english", "chinese") and encoding in ("cl100k", "o200k") else FLOOR
            yield Question("documents", encoding, corpus, "arrays", DOCUMENTS, again=("arrays", "lists"), floor=floor)


def warmed_questions() -> Iterator[Question]:
    """Cold passes after one encoded word: the time excludes the setup of an engine's first call."""
    cells = (Cell("cold after one word", "first", "MB/s"),)
    for encoding in ("cl100k", "o200k"):
        for corpus in ("english", "chinese"):
            yield Question("documents", encoding, corpus, "arrays", cells, warm=True)


def file_question(encoding: str, path: str) -> Question:
    """The cells of the corpora, for a user's file; it has no targets."""
    text = f"file:{path}"
    return Question("documents", encoding, text, "arrays", DOCUMENTS, again=("arrays", "lists"), floor=FLOOR)


def stream_questions() -> Iterator[Question]:
    """Text that is never repeated: all of english and code, each document once."""
    for encoding in ("cl100k", "o200k"):
        for first in ("arrays", "lists"):
            cells = (Cell(f"stream {first}", "first", "MB/s"),)
            yield Question("documents", encoding, STREAM, first, cells, limit=100 * MB)


def batch_questions(threads: int) -> Iterator[Question]:
    """Whole batches on several threads; toksmith also on one, and in as many processes, to measure the gain from threads.

    In each pass a thread gets different texts, so several passes run until all threads know most words.
    """
    for encoding in ("cl100k", "o200k"):
        for corpus in ("english", "code", "chinese"):
            for kind in ("arrays", "lists"):
                call = f"batch_{kind}"
                both = (Cell(f"batch {kind} cold", "first", "MB/s"), Cell(f"batch {kind} hot", "again", "MB/s"))
                ways = (ALONE, APART)
                yield Question(
                    "batch", encoding, corpus, call, both, again=(call,), beside=ways, threads=threads, passes=12
                )


def sentencepiece_questions() -> Iterator[Question]:
    """SentencePiece BPE with byte fallback: without a split, a whole document is one piece."""
    cells = (Cell("sentencepiece cold", "first", "MB/s"), Cell("sentencepiece hot", "arrays", "MB/s"))
    floor = ("sentencepiece", "tokenizers")
    for corpus in ("english", "code", "chinese", "russian"):
        yield Question("documents", "mistral_v1", corpus, "arrays", cells, again=("arrays",), floor=floor)


def short_questions() -> Iterator[Question]:
    """Short strings, one call each, to lists."""
    cells = (Cell("short", "calls", "ns/call"), Cell("short, first time", "first", "ns/call"))
    for encoding in ("cl100k", "o200k"):
        for text in SHORT:
            engines = (*LEADERS, *OTHERS)
            yield Question("documents", encoding, text, "calls", cells, again=("calls",), engines=engines, warm=True)


def decode_questions() -> Iterator[Question]:
    """Lists of ids to str, and arrays of ids to bytes."""
    lists = (Cell("decode list to str", "again", "Mtok/s"),)
    arrays = (Cell("decode array to bytes", "again", "Mtok/s"),)
    for encoding in ("cl100k", "o200k"):
        for corpus in ("english", "code", "chinese"):
            yield Question("decode", encoding, corpus, "decode_lists", lists, limit=5 * MB, engines=(*LEADERS, *OTHERS))
            takers = (OURS, "gigatoken", "tiktoken", "tokie")
            yield Question("decode", encoding, corpus, "decode_arrays", arrays, limit=5 * MB, engines=takers)


def hostile_questions() -> Iterator[Question]:
    """Long runs and texts without spaces: with every peer at one size, and alone at growing sizes.

    Every engine first encodes one word: the figure is the cost of the run, not of the first call. The difference from
    later calls is the extra cost of a first call with much text, such as memory from the system.
    """
    cells = (Cell("hostile", "first", "ms"), Cell("hostile, later calls", "arrays", "ms"))
    sizes = {"base64_line": 10 * MB, "minified_json": 5 * MB}
    for kind in hostile.EVERY:
        name = f"{kind}-{sizes.get(kind, MB)}"
        engines = (*LEADERS, *OTHERS)
        yield Question("documents", "cl100k", name, "arrays", cells, again=("arrays",), engines=engines, warm=True)
    growth = (Cell("growth", "first", "ms"),)
    for kind in hostile.EVERY:
        for size in (10_000, 100_000, MB, 10 * MB):
            name = f"{kind}-{size}"
            yield Question("documents", "cl100k", name, "arrays", growth, engines=(OURS,), warm=True)


def start_questions() -> Iterator[Question]:
    """The time from the file to the first ids (without imports), the time of imports, and the memory in use."""
    ranks = (Cell("load", "first", "ms"), Cell("import", "import", "ms"))
    native = (Cell("load, native format", "first", "ms"),)
    for encoding in ("cl100k", "o200k"):
        engines = (*LEADERS, *OTHERS)
        yield Question("load", encoding, GREETING, "", ranks, engines=engines, kept=("gigatoken", "tiktoken"))
        yield Question("load", encoding, GREETING, "", native, engines=(OURS,), beside=(FROM_RANKS,), native=True)
    memory = (Cell("memory after load", "loaded", "MB"), Cell("memory after new text", "worked", "MB"))
    for encoding in ("cl100k", "o200k"):
        yield Question("memory", encoding, STREAM, "", memory, limit=100 * MB)


def conversation_questions() -> Iterator[Question]:
    """A conversation from its messages to ids, with all fields, beside plain Jinja and `encode`."""
    cells = tuple(Cell(f"conversation of {turns} turns", str(turns), "ms") for turns in TURNS)
    yield Question(
        "conversations", "o200k", "english", "", cells, limit=4 * MB, engines=(OURS,), beside=(PLAIN,), passes=31
    )
