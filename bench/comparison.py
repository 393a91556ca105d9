"""The comparison in docs/perf.md with its pictures and that of README.md, all made from the newest record of a whole run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import chart
from .adapters import OURS, VARIANTS
from .places import PAGE, PICTURES, write_whole
from .records import kept
from .report import counts, joined, number, sum_of
from .targets import amount
from .texts import CORPORA
from .verdicts import AHEAD, BEHIND, EVEN, STRONG, Row, Verdict, race, right_runs, verdicts

START = "<!-- comparison: `python -m bench --readme` writes the text between these marks -->"
END = "<!-- end of the comparison -->"
SHOWN = "o200k"
NOTHING = "No whole run is recorded yet."


def refresh(folder: Path) -> str:
    """Writes the comparison of a folder's records to docs/perf.md, and draws the pictures; returns a message."""
    page = with_comparison(PAGE.read_text(encoding="utf-8"), folder)
    write_whole(PAGE, page.encode("utf-8"))
    pictures = drawn(folder)
    for name, picture in pictures.items():
        write_whole(PICTURES / name, picture.encode("utf-8"))
    return f"{PAGE.name} and {len(pictures)} pictures show the newest record of a whole run"


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
        rows = record["rows"]
        return "\n\n".join([opening(record, name), corpora(rows), summary(rows), machines(folder), pictures(rows)])
    return NOTHING


def drawn(folder: Path) -> dict[str, str]:
    """The pictures of the newest whole run of a folder, by the name of their file."""
    found = newest(folder)
    rows = found[0]["rows"] if found else []
    return {plot.file: chart.svg(plot, rows) for plot in (chart.README, *shown_plots(rows))}


def shown_plots(rows: Sequence[Row]) -> list[chart.Plot]:
    """The pictures of docs/perf.md for which there are figures."""
    return [plot for plot in chart.PLOTS if any(panel.bars(rows) for panel in plot.panels)]


def pictures(rows: Sequence[Row]) -> str:
    """The pictures, one for each group of measurements."""
    return "\n".join(f"![{plot.title}]({PICTURES.name}/{plot.file})" for plot in shown_plots(rows))


def newest(folder: Path) -> tuple[Row, str] | None:
    """The newest record of a whole run, and the name of its file."""
    return next(whole_runs(folder), None)


def whole_runs(folder: Path) -> Iterator[tuple[Row, str]]:
    """The newest whole run of each machine, newest first, with the name of its file."""
    seen = set()
    for path in kept(folder):
        record = json.loads(path.read_text(encoding="utf-8"))
        if record.get("partial") == "" and record["machine"]["cpu"] not in seen:
            seen.add(record["machine"]["cpu"])
            yield record, path.name


def machines(folder: Path) -> str:
    """The newest whole run of each machine, judged by the targets of today."""
    lines = [
        "The newest whole run of each machine, in cells with a peer:",
        "",
        joined(["processor", "record", "commit", AHEAD, EVEN, BEHIND, f"≥ {STRONG} × the peer"]),
        joined(["---", "---", "---", *["--:"] * 4]),
    ]
    for record, name in whole_runs(folder):
        found = race(record["rows"])
        standings = [str(found.count(standing)) for standing in (AHEAD, EVEN, BEHIND)]
        facts = [record["machine"]["cpu"], f"`{name}`", f"`{record['commit'][:12]}`"]
        lines.append(joined([*facts, *standings, f"{found.strong()} of {len(found.cells)}"]))
    return "\n".join(lines)


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
    figures = {name: shown["median"] for name, shown in row["engines"].items() if right_runs(row, name)}
    ours = figures.pop(OURS, None)
    best = max(figures.keys() - {*VARIANTS}, key=lambda name: figures[name], default="")
    return f"**{number(ours)}**" if ours else "wrong", f"{best} {number(figures[best])}" if best else "none"


def summary(rows: Sequence[Row]) -> str:
    """Every row of the table of targets: the target, the range of observed ratios, and the standing of the cells."""
    heads = [
        "measurement, over all its vocabularies and texts",
        "target",
        "observed, worst to best",
        *(AHEAD, EVEN, BEHIND),
        f"≥ {STRONG} × the peer",
    ]
    lines = [
        "All measurements, as ratios. A cell is even if the ratios of its rounds include the target, otherwise ahead or behind:",
        "",
        joined(heads),
        joined(["---", "---", *["--:"] * 5]),
    ]
    for verdict in verdicts(rows):
        lines.append(joined([verdict.goal.title, verdict.goal.target.said(), seen_range(verdict), *counts(verdict)]))
    return "\n".join([*lines, "", sum_of(race(rows))])


def seen_range(verdict: Verdict) -> str:
    """The worst and the best ratio of a row; once where they are one."""
    ratios = verdict.ratios()
    if not ratios:
        return "no figure" if verdict.cells else "not measured"
    ends = dict.fromkeys((amount(ratios[-1]), amount(ratios[0])))
    return " – ".join(ends)
