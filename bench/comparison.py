"""The comparison in docs/perf.md and the chart of README.md, both made from the newest record of a whole run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from . import chart
from .adapters import OURS
from .places import CHART, PAGE, write_whole
from .records import kept
from .report import joined, number
from .targets import Row, Verdict, amount, own, verdicts
from .texts import CORPORA

START = "<!-- comparison: `python -m bench --readme` writes the text between these marks -->"
END = "<!-- end of the comparison -->"
SHOWN = "o200k"
NOTHING = "No whole run is recorded yet."


def refresh(folder: Path) -> str:
    """Writes the comparison of a folder's records to docs/perf.md, and draws the chart; returns a message."""
    page = with_comparison(PAGE.read_text(encoding="utf-8"), folder)
    write_whole(PAGE, page.encode("utf-8"))
    write_whole(CHART, drawn(folder).encode("utf-8"))
    return f"{PAGE.name} and {CHART.name} show the newest record of a whole run"


def with_comparison(page: str, folder: Path) -> str:
    """A page with the comparison of a folder's records between its marks."""
    head, start, rest = page.partition(START)
    _, end, tail = rest.partition(END)
    if not start or not end:
        raise SystemExit(f"{PAGE} lacks one of the marks {START!r} and {END!r}; put them where the comparison belongs")
    return f"{head}{START}\n{comparison(folder)}\n{END}{tail}"


def comparison(folder: Path) -> str:
    """The comparison from the newest whole run of a folder."""
    if found := newest(folder):
        record, name = found
        return "\n\n".join([opening(record, name), corpora(record["rows"]), summary(record["rows"])])
    return NOTHING


def drawn(folder: Path) -> str:
    """The chart of the newest whole run of a folder."""
    found = newest(folder)
    return chart.svg(found[0]["rows"] if found else [])


def newest(folder: Path) -> tuple[Row, str] | None:
    """The newest record of a whole run, and the name of its file."""
    for path in kept(folder):
        record = json.loads(path.read_text(encoding="utf-8"))
        if record.get("partial") == "":
            return record, path.name
    return None


def opening(record: Row, name: str) -> str:
    """What was run, and where."""
    machine = record["machine"]
    peers = ", ".join(f"{peer} {version}" for peer, version in record["versions"].items() if peer != OURS)
    return (
        f"Measured on {record['date'][:10]} at commit `{record['commit'][:12]}` by `make bench`, on {machine['cpu']},\n"
        f"{machine['cpus']} processors, {machine['python']}: medians of {record['settings']['runs']} fresh processes per "
        f"engine, with the engines in turn.\nCompared with {peers}.\nEngines whose ids differ from the reference's do not count. "
        f"All figures: `bench/records/{name}`."
    )


def corpora(rows: Sequence[Row]) -> str:
    """The nine corpora with one vocabulary: toksmith and the best peer, the first time, again, and into lists."""
    kinds = {"cold": "first pass", "hot": "later passes", "list": "later passes, into lists"}
    heads = [SHOWN, *(head for kind in kinds.values() for head in (kind, "best peer"))]
    lines = [
        "MB of UTF-8 text per second, one thread:",
        "",
        joined(heads),
        joined(["---", *["--:"] * (len(heads) - 1)]),
    ]
    for corpus in CORPORA:
        cells = [corpus]
        for kind in kinds:
            found = (row for row in rows if (row["group"], row["encoding"], row["text"]) == (kind, SHOWN, corpus))
            cells += next(map(pair, found), ("", ""))
        lines.append(joined(cells))
    return "\n".join(lines)


def pair(row: Row) -> tuple[str, str]:
    """Toksmith's figure, and the best right one of its peers with its name."""
    figures = {
        name: shown["median"]
        for name, shown in row["engines"].items()
        if name != OURS and shown["median"] and not (shown["wrong"] or shown["floor"])
    }
    ours = own(row)
    best = max(figures, key=lambda name: figures[name], default="")
    return f"**{number(ours)}**" if ours else "wrong", f"{best} {number(figures[best])}" if best else "none"


def summary(rows: Sequence[Row]) -> str:
    """Every row of the table of targets: the target, and the range of observed ratios."""
    heads = [
        "measurement, over all its vocabularies and texts",
        "target",
        "observed, worst to best",
        "cells that reach it",
    ]
    lines = ["All measurements, as ratios:", "", joined(heads), joined(["---", "---", "--:", "--:"])]
    for verdict in verdicts(rows):
        cells = f"{verdict.held()} of {len(verdict.cells)}"
        lines.append(joined([verdict.goal.title, verdict.goal.target.said(), seen_range(verdict), cells]))
    return "\n".join(lines)


def seen_range(verdict: Verdict) -> str:
    """The worst and the best ratio of a row; once where they are one."""
    ratios = verdict.ratios()
    if not ratios:
        return "no figure"
    ends = dict.fromkeys((amount(ratios[-1]), amount(ratios[0])))
    return " – ".join(ends)
