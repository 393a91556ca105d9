"""`python -m bench`: chooses cells, runs them, prints the tables and the regressions, and writes the record."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

from . import regression
from .adapters import ENGINES, OURS
from .comparison import refresh
from .definitions import Question, file_question, questions, quick_questions
from .expected import NoAnswer
from .places import RECORDS, data
from .records import Row, record, rows, save, start_facts
from .report import report
from .runner import LIMIT, MOST, RUNS, Settings, run_question
from .texts import CORPORA, GREETING, MB, SHORT, STREAM, Missing
from .texts import FALLBACK as SOURCES
from .vocabularies import FALLBACK, MissingVocabulary

QUICK_CORPORA = ("english", "chinese", "russian")
QUICK_RUNS = ("equal_a", "equal_space", "base64_line", "minified_json")
QUICK = (*QUICK_CORPORA, *QUICK_RUNS, *SHORT, STREAM, GREETING, SOURCES)
FILE = "only your own file: a text, or .jsonl with `text` in each row, also .gz; repeatable"
COUNTS = "this is a whole run: python -m bench --readme writes the comparison in docs/perf.md and draws the pictures"
BEFORE = "the interpreter of an earlier build to compare with; scripts/bench_before.sh COMMIT prints it"
TIME = "On two quiet processors, everything takes about 40 minutes, and --quick about five minutes."
QUICKLY = (
    "the dozen cells that matter, at most 5 MB of a text; with --only, --encodings or --corpora: "
    "those cells, of fewer texts unless --corpora names them"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the chosen cells. Return the exit code: 1 if nothing could be measured."""
    command_line = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_args(command_line)
    if options.show:
        print(report(json.loads(options.show.read_text(encoding="utf-8"))))
        return 0
    if options.readme:
        print_progress(refresh(options.record))
        return 0
    selected = list(select_questions(options))
    if options.list:
        print("\n".join(dict.fromkeys(cell.group for question in selected for cell in question.cells)))
        return 0
    return measure(selected, options, start_facts(command_line))


def measure(asked: Sequence[Question], options: argparse.Namespace, start: Row) -> int:
    """Run the questions, print the tables and write the record. Return the exit code."""
    settings = make_settings(options)
    measured: list[Row] = []
    missing: dict[str, None] = {}
    began = monotonic()
    for place, question in enumerate(asked, 1):
        what = f"{question.cells[0].group}, {question.encoding} {question.text}"
        print_progress(f"[{place}/{len(asked)}, {(monotonic() - began) / 60:.1f} min] {what}")
        try:
            measured += rows(question, run_question(question, settings))
        except (Missing, MissingVocabulary, NoAnswer) as reason:
            missing[str(reason)] = None
        except KeyboardInterrupt:
            print_progress("stopped; the figures are those measured so far")
            break
    for reason_text in missing:
        print_progress(f"left out: {reason_text}")
    if not measured:
        print_progress("nothing was measured")
        return 1
    result = record(measured, settings, start)
    print(report(result))
    print(f"\n{regression.regression_report(result, options.record)}")
    if not options.no_record:
        print_progress(f"record: {save(result, options.record)}")
        print_progress(f"it does not count for docs/perf.md: {result['partial']}" if result["partial"] else COUNTS)
    return 0


def parser() -> argparse.ArgumentParser:
    """The options."""
    cli = argparse.ArgumentParser(prog="python -m bench", description="measures toksmith and its peers", epilog=TIME)
    cli.add_argument("--only", type=split_commas, default=(), help="groups of cells, by prefix of their names")
    cli.add_argument("--encodings", type=split_commas, default=(), help="vocabularies, such as cl100k,o200k")
    cli.add_argument("--corpora", type=split_commas, default=(), help="texts, such as english,chinese")
    cli.add_argument("--peers", type=split_commas, default=ENGINES, help="engines that take part; toksmith always does")
    cli.add_argument("--file", action="append", default=[], help=FILE)
    cli.add_argument("--runs", type=int, help="timed processes per engine (5)")
    cli.add_argument("--limit", type=float, help="megabytes of a text (20; with --quick 5)")
    cli.add_argument("--timeout", type=float, help="time limit of one process in seconds (120; with --quick 30)")
    cli.add_argument("--before", default="", help=BEFORE)
    cli.add_argument("--threads", type=int, default=2, help="threads of the batch cells (2)")
    cli.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu is for a busy machine")
    cli.add_argument("--show", type=Path, help="print the tables of a record and stop")
    cli.add_argument(
        "--readme",
        action="store_true",
        help="write the comparison in docs/perf.md, draw its pictures and that of README.md, and stop",
    )
    cli.add_argument("--quick", action="store_true", help=QUICKLY)
    cli.add_argument("--list", action="store_true", help="list the groups and stop")
    cli.add_argument("--record", type=Path, default=RECORDS, help="the folder of the record")
    cli.add_argument("--no-record", action="store_true", help="print the tables only")
    return cli


def split_commas(text: str) -> tuple[str, ...]:
    """The values of an option, separated by commas."""
    return tuple(word for word in text.split(",") if word)


def make_settings(options: argparse.Namespace) -> Settings:
    """The settings of the run."""
    quick = options.quick
    return Settings(
        runs=options.runs or RUNS,
        limit=int(options.limit * MB) if options.limit else 5 * MB if quick else LIMIT,
        most=30 * MB if quick else MOST,
        timeout=options.timeout or (30 if quick else 120),
        peers=tuple(dict.fromkeys((*options.peers, OURS))),
        clock=options.clock,
        before=options.before,
    )


def select_questions(options: argparse.Namespace) -> Iterator[Question]:
    """The questions that the filters select, each with its selected cells."""
    texts = (
        () if options.file else options.corpora or (QUICK if options.quick and not uses_quick_cells(options) else ())
    )
    for question in available_questions(options):
        cells = tuple(cell for cell in question.cells if not options.only or cell.group.startswith(options.only))
        if cells and matches_filter(question.encoding, options.encodings) and matches_text_filter(question.text, texts):
            figures = {cell.figure for cell in cells}
            again = tuple(name for name in question.again if name in figures or "again" in figures)
            yield replace(question, cells=cells, again=again)


def uses_quick_cells(options: argparse.Namespace) -> bool:
    """Whether a quick run uses its default cells, because no filter names others."""
    return options.quick and not (options.only or options.encodings or options.corpora or options.file)


def available_questions(options: argparse.Namespace) -> Iterable[Question]:
    """All questions, or those about the user's files."""
    vocabularies, corpora = (data() / "vocab").is_dir(), (data() / "corpora").is_dir()
    if options.file:
        encodings = options.encodings or (("cl100k", "o200k") if vocabularies else (FALLBACK,))
        return [file_question(encoding, path) for encoding in encodings for path in options.file]
    every: Iterable[Question] = (quick_questions if uses_quick_cells(options) else questions)(options.threads)
    if not corpora:
        print_progress(
            f"no {data() / 'corpora'}: the sources of Python's library replace the corpora (TOKSMITH_TEST_DATA)"
        )
        every = [replace(question, text=SOURCES if question.text == "english" else question.text) for question in every]
        every = [question for question in every if question.text not in (*CORPORA, STREAM)]
    if not vocabularies:
        print_progress(f"no {data() / 'vocab'}: a vocabulary trained on these sources replaces the published ones")
        every = [replace(question, encoding=FALLBACK) for question in every if question.encoding == "cl100k"]
    return every


def matches_filter(name: str, names: Sequence[str]) -> bool:
    """Whether a filter selects a name."""
    return not names or name in names


def matches_text_filter(text: str, names: Sequence[str]) -> bool:
    """Whether a filter selects a text, by its name or by its name without the size."""
    return matches_filter(text, names) or matches_filter(text.partition("-")[0], names)


def print_progress(message: str) -> None:
    """Print progress to the user."""
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
