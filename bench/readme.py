"""The comparison in README.md: made from the newest record of a whole run, between two marks, and from nothing else."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from .adapters import OURS
from .places import README, write_whole
from .records import kept
from .report import joined, number
from .targets import Row, Verdict, amount, own, verdicts
from .texts import CORPORA

START = "<!-- comparison: `python -m bench --readme` writes what stands between these marks -->"
END = "<!-- end of the comparison -->"
SHOWN = "o200k"
NOTHING = (
    "No whole run is recorded yet. [docs/perf.md](docs/perf.md) says what is measured and how, and holds the records."
)


def refresh(folder: Path) -> str:
    """Writes the comparison of a folder's records into README.md; returns what was done."""
    before = README.read_text(encoding="utf-8")
    after = with_comparison(before, folder)
    if after == before:
        return f"{README.name} is as the records say"
    write_whole(README, after.encode("utf-8"))
    return f"{README.name}: the comparison is written anew"


def with_comparison(page: str, folder: Path) -> str:
    """A page with what the records of a folder say between its marks."""
    head, start, rest = page.partition(START)
    _, end, tail = rest.partition(END)
    if not start or not end:
        raise SystemExit(
            f"{README} lacks one of the marks {START!r} and {END!r}; put them where the comparison belongs"
        )
    return f"{head}{START}\n{comparison(folder)}\n{END}{tail}"


def comparison(folder: Path) -> str:
    """What the newest whole run of a folder says."""
    for path in kept(folder):
        record = json.loads(path.read_text(encoding="utf-8"))
        if record.get("partial") == "":
            return "\n\n".join([opening(record, path.name), corpora(record["rows"]), summary(record["rows"])])
    return NOTHING


def opening(record: Row, name: str) -> str:
    """What was run, and where."""
    machine = record["machine"]
    peers = ", ".join(f"{peer} {version}" for peer, version in record["versions"].items() if peer != OURS)
    return (
        f"Measured on {record['date'][:10]} at commit `{record['commit'][:12]}` by `make bench`, on {machine['cpu']},\n"
        f"{machine['cpus']} processors, {machine['python']}: medians of {record['settings']['runs']} fresh processes per "
        f"engine, engines in turn.\nBeside it: {peers}.\nAn engine whose ids differ from the reference's does not count. "
        f"Every figure: `bench/records/{name}`."
    )


def corpora(rows: Sequence[Row]) -> str:
    """The nine corpora with one vocabulary: toksmith and the best peer, the first time, again, and into lists."""
    kinds = {"cold": "first pass", "hot": "later passes", "list": "later passes, into lists"}
    heads = [SHOWN, *(head for kind in kinds.values() for head in (kind, "best peer"))]
    lines = ["MB of UTF-8 a second, one thread:", "", joined(heads), joined(["---", *["--:"] * (len(heads) - 1)])]
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
    """Every row of the table of targets: what was aimed at, and the range of what was seen."""
    heads = ["what, with all its vocabularies and texts", "aimed at", "seen, worst to best", "cells that hold"]
    lines = ["All that is measured, as a ratio:", "", joined(heads), joined(["---", "---", "--:", "--:"])]
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
