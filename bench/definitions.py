"""What is asked: every cell of the tables, with the target that it is held to.

A question is one kind of fresh process; it gives one or more cells. Texts and vocabularies are named here and nowhere
else decided upon. The expected answer of each question comes from the reference engine of its vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from . import hostile
from .adapters import OURS
from .texts import CORPORA, GREETING, MB, SHORT, STREAM
from .vocabularies import RANKS

LEADERS = (OURS, "gigatoken", "fastokens")
FLOOR = ("tiktoken",)
OTHERS = ("tiktoken", "tokenizers", "tokie", "wordchipper", "rs_bpe")
FLOOR_LIMIT = 1 * MB
SPEED, COST = "at least", "at most"


@dataclass(frozen=True)
class Target:
    """What toksmith must reach: `factor` times the figure of `than`, or `factor` itself where `than` is empty.

    `than` is an engine, "best" (the best peer with right answers) or "one thread" (toksmith's own).
    """

    factor: float
    than: str = "best"
    sense: str = SPEED


@dataclass(frozen=True)
class Cell:
    """One row of a table: a figure of a question, the unit it is shown in, and its target.

    `unit` is one of "MB/s", "Mtok/s", "ns/call", "ms", "MB".
    """

    group: str
    figure: str
    unit: str
    target: Target | None


@dataclass(frozen=True)
class Question:
    """One kind of process and the cells that it gives; the fields are those of `request.Request`.

    Attributes:
        limit: The most bytes of the text; None for the limit of the run.
        engines: Measured on the same text.
        floor: Slow engines, measured on a prefix of it for comparison; never the best peer.
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
    threads: int = 1
    warm: bool = False
    native: bool = False


def questions(threads: int) -> Iterator[Question]:
    """Every question, in the order of the report."""
    yield from document_questions()
    yield from stream_questions()
    yield from batch_questions(threads)
    yield from sentencepiece_questions()
    yield from short_questions()
    yield from decode_questions()
    yield from hostile_questions()
    yield from start_questions()


def document_questions() -> Iterator[Question]:
    """Nine corpora, four vocabularies, one thread: cold and hot arrays, hot lists."""
    for encoding in RANKS:
        for corpus in CORPORA:
            hot = Target(1.1 if corpus in ("english", "code") else 1.3, "gigatoken")
            cells = (
                Cell("cold", "first", "MB/s", Target(2.0)),
                Cell("hot", "arrays", "MB/s", hot),
                Cell("list", "lists", "MB/s", Target(1.3, "fastokens")),
            )
            floor = OTHERS if corpus in ("english", "chinese") and encoding in ("cl100k", "o200k") else FLOOR
            yield Question("documents", encoding, corpus, "arrays", cells, again=("arrays", "lists"), floor=floor)


def file_question(encoding: str, path: str) -> Question:
    """The cells of the corpora, for a file of the user's."""
    cells = (
        Cell("cold", "first", "MB/s", Target(2.0)),
        Cell("hot", "arrays", "MB/s", Target(1.1, "gigatoken")),
        Cell("list", "lists", "MB/s", Target(1.3, "fastokens")),
    )
    return Question("documents", encoding, f"file:{path}", "arrays", cells, again=("arrays", "lists"), floor=FLOOR)


def stream_questions() -> Iterator[Question]:
    """Text that is never seen twice: all of english and code, each document once."""
    for encoding in ("cl100k", "o200k"):
        for first, factor in (("arrays", 2.0), ("lists", 1.5)):
            cells = (Cell(f"stream {first}", "first", "MB/s", Target(factor)),)
            yield Question("documents", encoding, STREAM, first, cells, limit=100 * MB)


def batch_questions(threads: int) -> Iterator[Question]:
    """Whole batches on several threads; toksmith also on one, to see what the threads bring."""
    for encoding in ("cl100k", "o200k"):
        for corpus in ("english", "code", "chinese"):
            for kind in ("arrays", "lists"):
                call = f"batch_{kind}"
                both = (
                    Cell(f"batch {kind} cold", "first", "MB/s", Target(1.2)),
                    Cell(f"batch {kind} hot", "again", "MB/s", Target(1.2)),
                )
                yield Question("batch", encoding, corpus, call, both, again=(call,), threads=threads, warm=True)
                alone = (
                    Cell(f"batch {kind} cold, one thread", "first", "MB/s", None),
                    Cell(f"batch {kind} hot, one thread", "again", "MB/s", None),
                )
                yield Question("batch", encoding, corpus, call, alone, again=(call,), engines=(OURS,), warm=True)


def sentencepiece_questions() -> Iterator[Question]:
    """SentencePiece BPE with byte fallback: no split, so that whole documents are one piece."""
    cells = (
        Cell("sentencepiece cold", "first", "MB/s", Target(3.0, "gigatoken")),
        Cell("sentencepiece hot", "arrays", "MB/s", Target(1.5, "gigatoken")),
    )
    for corpus in ("english", "code", "chinese", "russian"):
        yield Question(
            "documents", "mistral_v1", corpus, "arrays", cells, again=("arrays",), floor=("sentencepiece", "tokenizers")
        )


def short_questions() -> Iterator[Question]:
    """Short strings, one call each, to lists."""
    cells = (
        Cell("short", "calls", "ns/call", Target(0.6, sense=COST)),
        Cell("short, first time", "first", "ns/call", None),
    )
    for encoding in ("cl100k", "o200k"):
        for text in SHORT:
            engines = (*LEADERS, *OTHERS)
            yield Question("documents", encoding, text, "calls", cells, again=("calls",), engines=engines, warm=True)


def decode_questions() -> Iterator[Question]:
    """Lists of ids to str, and arrays of ids to bytes."""
    lists = (Cell("decode list to str", "again", "Mtok/s", Target(1.3, "rs_bpe")),)
    arrays = (Cell("decode array to bytes", "again", "Mtok/s", Target(1.5, "gigatoken")),)
    for encoding in ("cl100k", "o200k"):
        for corpus in ("english", "code", "chinese"):
            yield Question("decode", encoding, corpus, "decode_lists", lists, limit=5 * MB, engines=(*LEADERS, *OTHERS))
            takers = (OURS, "gigatoken", "tiktoken", "tokie")
            yield Question("decode", encoding, corpus, "decode_arrays", arrays, limit=5 * MB, engines=takers)


def hostile_questions() -> Iterator[Question]:
    """Long runs and texts without spaces: against every peer at one size, and alone at growing sizes."""
    cells = (Cell("hostile", "first", "ms", Target(1.0, sense=COST)),)
    sizes = {"base64_line": 10 * MB, "minified_json": 5 * MB}
    for kind in hostile.KINDS:
        name = f"{kind}-{sizes.get(kind, MB)}"
        yield Question("documents", "cl100k", name, "arrays", cells, engines=(*LEADERS, *OTHERS), warm=True)
    growth = (Cell("growth", "first", "ms", None),)
    for kind in hostile.KINDS:
        for size in (10_000, 100_000, MB, 10 * MB):
            name = f"{kind}-{size}"
            yield Question("documents", "cl100k", name, "arrays", growth, engines=(OURS,), warm=True)


def start_questions() -> Iterator[Question]:
    """From the file to the first ids, and what stays in memory."""
    ranks = (Cell("load", "first", "ms", Target(100, "", COST)), Cell("import", "import", "ms", None))
    native = (Cell("load, native format", "first", "ms", Target(30, "", COST)),)
    for encoding in ("cl100k", "o200k"):
        engines = (*LEADERS, *OTHERS)
        yield Question("load", encoding, GREETING, "", ranks, engines=engines)
        yield Question("load", encoding, GREETING, "", native, engines=(OURS,), native=True)
    memory = (
        Cell("memory after load", "loaded", "MB", Target(1.0, "gigatoken", COST)),
        Cell("memory after new text", "worked", "MB", Target(1.0, "gigatoken", COST)),
    )
    for encoding in ("cl100k", "o200k"):
        yield Question("memory", encoding, STREAM, "", memory, limit=100 * MB)
