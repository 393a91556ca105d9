"""`python -m bench`: chooses cells, runs them, prints the tables with what became slower, and keeps the record."""

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
from .records import Row, begun, record, rows, save
from .report import report
from .runner import LIMIT, MOST, RUNS, Settings, run
from .texts import CORPORA, GREETING, MB, SHORT, STREAM, Missing
from .texts import FALLBACK as SOURCES
from .vocabularies import FALLBACK, MissingVocabulary

QUICK_CORPORA = ("english", "chinese", "russian")
QUICK_RUNS = ("equal_a", "equal_space", "base64_line", "minified_json")
QUICK = (*QUICK_CORPORA, *QUICK_RUNS, *SHORT, STREAM, GREETING, SOURCES)
FILE = "only your own file: a text, or .jsonl with `text` in each row, also .gz; may be repeated"
COUNTS = "this is a whole run: python -m bench --readme writes the comparison in docs/perf.md and draws the pictures"
BEFORE = "the interpreter of an earlier build to compare with; scripts/bench_before.sh COMMIT prints it"
TIME = "On two quiet processors, everything takes about 40 minutes, and --quick about five minutes."
QUICKLY = (
    "the dozen cells that matter, at most 5 MB of a text; with --only, --encodings or --corpora: "
    "those cells, of fewer texts unless --corpora names them"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the chosen cells. Returns the exit code: 1 if nothing could be measured."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_args(given)
    if options.show:
        print(report(json.loads(options.show.read_text(encoding="utf-8"))))
        return 0
    if options.readme:
        say(refresh(options.record))
        return 0
    asked = list(chosen(options))
    if options.list:
        print("\n".join(dict.fromkeys(cell.group for question in asked for cell in question.cells)))
        return 0
    return measure(asked, options, begun(given))


def measure(asked: Sequence[Question], options: argparse.Namespace, start: Row) -> int:
    """Asks the questions, prints the tables and keeps the record. Returns the exit code."""
    settings = chosen_settings(options)
    measured: list[Row] = []
    missing: dict[str, None] = {}
    began = monotonic()
    for place, question in enumerate(asked, 1):
        what = f"{question.cells[0].group}, {question.encoding} {question.text}"
        say(f"[{place}/{len(asked)}, {(monotonic() - began) / 60:.1f} min] {what}")
        try:
            measured += rows(question, run(question, settings))
        except (Missing, MissingVocabulary, NoAnswer) as reason:
            missing[str(reason)] = None
        except KeyboardInterrupt:
            say("stopped; the figures are those measured so far")
            break
    for reason_text in missing:
        say(f"left out: {reason_text}")
    if not measured:
        say("nothing was measured")
        return 1
    result = record(measured, settings, start)
    print(report(result))
    print(f"\n{regression.compared(result, options.record)}")
    if not options.no_record:
        say(f"record: {save(result, options.record)}")
        say(f"it does not count for docs/perf.md: {result['partial']}" if result["partial"] else COUNTS)
    return 0


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m bench", description="measures toksmith and its peers", epilog=TIME)
    made.add_argument("--only", type=words, default=(), help="groups of cells, by prefix of their names")
    made.add_argument("--encodings", type=words, default=(), help="vocabularies, such as cl100k,o200k")
    made.add_argument("--corpora", type=words, default=(), help="texts, such as english,chinese")
    made.add_argument("--peers", type=words, default=ENGINES, help="engines that take part; toksmith always does")
    made.add_argument("--file", action="append", default=[], help=FILE)
    made.add_argument("--runs", type=int, help="timed processes per engine (5)")
    made.add_argument("--limit", type=float, help="megabytes of a text (20; with --quick 5)")
    made.add_argument("--timeout", type=float, help="time limit of one process in seconds (120; with --quick 30)")
    made.add_argument("--before", default="", help=BEFORE)
    made.add_argument("--threads", type=int, default=2, help="threads of the batch cells (2)")
    made.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu is for a busy machine")
    made.add_argument("--show", type=Path, help="print the tables of a record and stop")
    made.add_argument(
        "--readme",
        action="store_true",
        help="write the comparison in docs/perf.md, draw its pictures and that of README.md, and stop",
    )
    made.add_argument("--quick", action="store_true", help=QUICKLY)
    made.add_argument("--list", action="store_true", help="list the groups and stop")
    made.add_argument("--record", type=Path, default=RECORDS, help="the folder of the record")
    made.add_argument("--no-record", action="store_true", help="print the tables only")
    return made


def words(text: str) -> tuple[str, ...]:
    """The values of an option, separated by commas."""
    return tuple(word for word in text.split(",") if word)


def chosen_settings(options: argparse.Namespace) -> Settings:
    """How the run is done."""
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


def chosen(options: argparse.Namespace) -> Iterator[Question]:
    """The questions that the filters leave, each with the cells that they leave."""
    left = () if options.file else options.corpora or (QUICK if options.quick and not dozen(options) else ())
    for question in available(options):
        cells = tuple(cell for cell in question.cells if not options.only or cell.group.startswith(options.only))
        if cells and wanted(question.encoding, options.encodings) and wanted_text(question.text, left):
            figures = {cell.figure for cell in cells}
            again = tuple(name for name in question.again if name in figures or "again" in figures)
            yield replace(question, cells=cells, again=again)


def dozen(options: argparse.Namespace) -> bool:
    """Whether a quick run asks for its own cells, because no filter names others."""
    return options.quick and not (options.only or options.encodings or options.corpora or options.file)


def available(options: argparse.Namespace) -> Iterable[Question]:
    """All questions, or those about the user's files."""
    vocabularies, corpora = (data() / "vocab").is_dir(), (data() / "corpora").is_dir()
    if options.file:
        encodings = options.encodings or (("cl100k", "o200k") if vocabularies else (FALLBACK,))
        return [file_question(encoding, path) for encoding in encodings for path in options.file]
    found: Iterable[Question] = (quick_questions if dozen(options) else questions)(options.threads)
    if not corpora:
        say(f"no {data() / 'corpora'}: the sources of Python's library replace the corpora (TOKSMITH_TEST_DATA)")
        found = [replace(question, text=SOURCES if question.text == "english" else question.text) for question in found]
        found = [question for question in found if question.text not in (*CORPORA, STREAM)]
    if not vocabularies:
        say(f"no {data() / 'vocab'}: a vocabulary trained on these sources replaces the published ones")
        found = [replace(question, encoding=FALLBACK) for question in found if question.encoding == "cl100k"]
    return found


def wanted(name: str, names: Sequence[str]) -> bool:
    """Whether a filter leaves a name."""
    return not names or name in names


def wanted_text(text: str, names: Sequence[str]) -> bool:
    """Whether a filter leaves a text, by its name or by the kind before its size."""
    return wanted(text, names) or wanted(text.partition("-")[0], names)


def say(message: str) -> None:
    """Reports progress to the user."""
    print(message, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
