"""The comparison in docs/perf.md with its pictures and README.md's, from the newest record of a whole run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import chart
from .adapters import OURS, VARIANTS
from .places import PAGE, PICTURES, write_whole
from .records import list_records
from .report import counts, format_number, sum_of, table_line
from .targets import format_ratio
from .texts import CORPORA
from .verdicts import AHEAD, BEHIND, EVEN, STRONG, Row, Verdict, race, right_runs, verdicts

START = "<!-- comparison: `python -m bench --readme` writes the text between these marks -->"
END = "<!-- end of the comparison -->"
SHOWN = "o200k"
NOTHING = "No whole run is recorded yet."


def refresh(folder: Path) -> str:
    """Write the comparison of a folder's records to docs/perf.md, and draw the pictures; return a message."""
    page = with_comparison(PAGE.read_text(encoding="utf-8"), folder)
    write_whole(PAGE, page.encode("utf-8"))
    pictures = draw_pictures(folder)
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
    if run := newest_run(folder):
        record, name = run
        rows = record["rows"]
        return "\n\n".join(
            [
                run_header(record, name),
                corpora_table(rows),
                target_table(rows),
                machine_table(folder),
                picture_links(rows),
            ]
        )
    return NOTHING


def draw_pictures(folder: Path) -> dict[str, str]:
    """The pictures of the newest whole run of a folder, by file name."""
    run = newest_run(folder)
    rows = run[0]["rows"] if run else []
    return {plot.file: chart.draw_plot(plot, rows) for plot in (chart.README, *shown_plots(rows))}


def shown_plots(rows: Sequence[Row]) -> list[chart.Plot]:
    """The pictures of docs/perf.md that have figures."""
    return [plot for plot in chart.PLOTS if any(panel.bars(rows) for panel in plot.panels)]


def picture_links(rows: Sequence[Row]) -> str:
    """The pictures, one for each group of measurements."""
    return "\n".join(f"![{plot.title}]({PICTURES.name}/{plot.file})" for plot in shown_plots(rows))


def newest_run(folder: Path) -> tuple[Row, str] | None:
    """The newest record of a whole run, and its file name."""
    return next(whole_runs(folder), None)


def whole_runs(folder: Path) -> Iterator[tuple[Row, str]]:
    """The newest whole run of each machine, newest first, with its file name."""
    cpus = set()
    for path in list_records(folder):
        record = json.loads(path.read_text(encoding="utf-8"))
        if record.get("partial") == "" and record["machine"]["cpu"] not in cpus:
            cpus.add(record["machine"]["cpu"])
            yield record, path.name


def machine_table(folder: Path) -> str:
    """The newest whole run of each machine, judged by today's targets."""
    lines = [
        "The newest whole run of each machine, in cells with a peer:",
        "",
        table_line(["processor", "record", "commit", AHEAD, EVEN, BEHIND, f"≥ {STRONG} × the peer"]),
        table_line(["---", "---", "---", *["--:"] * 4]),
    ]
    for record, name in whole_runs(folder):
        verdict = race(record["rows"])
        standings = [str(verdict.count(standing)) for standing in (AHEAD, EVEN, BEHIND)]
        facts = [record["machine"]["cpu"], f"`{name}`", f"`{record['commit'][:12]}`"]
        lines.append(table_line([*facts, *standings, f"{verdict.strong()} of {len(verdict.cells)}"]))
    return "\n".join(lines)


def run_header(record: Row, name: str) -> str:
    """The settings and the machine of the run."""
    machine = record["machine"]
    peers = ", ".join(f"{peer} {version}" for peer, version in record["versions"].items() if peer != OURS)
    return (
        f"Measured on {record['date'][:10]} at commit `{record['commit'][:12]}` by `make bench`, on {machine['cpu']},\n"
        f"{machine['cpus']} processors, {machine['python']}: medians of {record['settings']['runs']} fresh processes per "
        f"engine, with the engines in turn.\nCompared with {peers}.\nEngines whose ids differ from the reference's do not count. "
        f"All figures: `bench/records/{name}`."
    )


def corpora_table(rows: Sequence[Row]) -> str:
    """The nine corpora with one vocabulary: toksmith and the best peer, first pass, later passes, and into lists."""
    kinds = {"cold": "first pass", "hot": "later passes", "list": "later passes, into lists"}
    heads = [SHOWN, *(head for kind in kinds.values() for head in (kind, "best peer"))]
    lines = [
        "MB of UTF-8 text per second, one thread:",
        "",
        table_line(heads),
        table_line(["---", *["--:"] * (len(heads) - 1)]),
    ]
    for corpus in CORPORA:
        cells = [corpus]
        for kind in kinds:
            matches = (row for row in rows if (row["group"], row["encoding"], row["text"]) == (kind, SHOWN, corpus))
            cells += next(map(own_and_best_figure, matches), ("", ""))
        lines.append(table_line(cells))
    return "\n".join(lines)


def own_and_best_figure(row: Row) -> tuple[str, str]:
    """Toksmith's figure, and the best right figure of its peers with the peer's name."""
    figures = {name: entry["median"] for name, entry in row["engines"].items() if right_runs(row, name)}
    ours = figures.pop(OURS, None)
    best = max(figures.keys() - {*VARIANTS}, key=lambda name: figures[name], default="")
    return (
        f"**{format_number(ours)}**" if ours else "wrong",
        f"{best} {format_number(figures[best])}" if best else "none",
    )


def target_table(rows: Sequence[Row]) -> str:
    """Every row of the table of targets: the target, the range of observed ratios, and the standings of the cells."""
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
        table_line(heads),
        table_line(["---", "---", *["--:"] * 5]),
    ]
    for verdict in verdicts(rows):
        lines.append(
            table_line([verdict.goal.title, verdict.goal.target.to_text(), ratio_range(verdict), *counts(verdict)])
        )
    return "\n".join([*lines, "", sum_of(race(rows))])


def ratio_range(verdict: Verdict) -> str:
    """The worst and the best ratio of a row; one figure if they are equal."""
    ratios = verdict.ratios()
    if not ratios:
        return "no figure" if verdict.cells else "not measured"
    ends = dict.fromkeys((format_ratio(ratios[-1]), format_ratio(ratios[0])))
    return " – ".join(ends)
