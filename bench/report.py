"""The tables of a record, in Markdown: one per group of cells, every engine a column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from .adapters import BEFORE, ENGINES, OURS, VARIANTS
from .before import comparison_table as beside_earlier_build
from .targets import GOALS, OWN, TENTH, Goal, target_of, without_target
from .verdicts import (
    AHEAD,
    BEHIND,
    EVEN,
    STRONG,
    Observed,
    Verdict,
    cell_of,
    observed_in_row,
    observed_ratios,
    race,
    verdicts,
)

Row = dict[str, Any]
GROWTH = next(goal for goal in GOALS if goal.target.than == TENTH)


def report(record: Row) -> str:
    """The whole record: its settings, the table of targets, and one table per group of cells."""
    tables = (table(name, list(rows), record["rows"]) for name, rows in grouped(record["rows"]))
    last_part = [beside_earlier_build(record["rows"])] if record["settings"].get("before") else []
    return "\n\n".join([record_header(record), goals(record["rows"]), *tables, *last_part])


def record_header(record: Row) -> str:
    """The settings of the record, and how to read the tables."""
    machine, settings = record["machine"], record["settings"]
    duration = f", {record['took_s'] / 60:.0f} minutes" if "took_s" in record else ""
    return "\n".join(
        [
            f"# toksmith and its peers, {record['date'][:10]}",
            "",
            f"{machine['cpu']}, {machine['cpus']} processors, {machine['memory_gb']} GB, {machine['python']}.",
            f"Commit {record['commit'][:12] or 'unknown'}{' with changes' if record['changed'] else ''}, "
            + f"median of {settings['runs']} processes per engine, engines in turn, {settings['clock']} clock, "
            + f"load average {record['load']:.1f} at the start; `{record['command']}`{duration}.",
            "",
            ", ".join(f"{name} {version}" for name, version in record["versions"].items()) + ".",
            "",
            "A ratio is that of the medians; in brackets the smallest and the largest ratio of a round. A cell whose "
            + "brackets include the bound of its target is even, otherwise ahead or behind.",
            "Struck out: the ids differ from the reference engine's. ~ in front: a prefix of 1 MB, for comparison. "
            + "¹ behind: timed once, because the result decides nothing.",
        ]
    )


def goals(rows: Sequence[Row]) -> str:
    """The table of targets: the result of each row and its worst cell; rows without a cell are listed below it."""
    heads = ["what", "target", AHEAD, EVEN, BEHIND, f"≥ {STRONG} × the peer", "worst cell", "verdict"]
    lines = ["## targets", "", table_line(heads), table_line(["---", "---", *["--:"] * 4, "---", "---"])]
    results = verdicts(rows)
    for verdict in results:
        if worst := verdict.worst():
            where = f"{worst.where}{f', relative to {worst.peer}' if worst.peer else ''}"
            lines.append(
                table_line(
                    [verdict.goal.title, verdict.goal.target.to_text(), *counts(verdict), where, verdict.to_text()]
                )
            )
    left_out = [verdict.goal.title for verdict in results if not verdict.cells]
    return "\n".join([*lines, "", sum_of(race(rows)), *([f"Not measured: {'; '.join(left_out)}."] if left_out else [])])


def counts(verdict: Verdict) -> list[str]:
    """The numbers of cells of a row that are ahead, even, behind, and clearly faster than their peer."""
    standings = [str(verdict.count(standing)) for standing in (AHEAD, EVEN, BEHIND)]
    return [*standings, f"{verdict.strong()} of {len(verdict.cells)}" if verdict.goal.beside_peers() else ""]


def sum_of(all_cells: Verdict) -> str:
    """The result over all cells that compare toksmith with its peers."""
    ahead, even, behind = (all_cells.count(standing) for standing in (AHEAD, EVEN, BEHIND))
    several = len(all_cells.cells)
    return (
        f"Speed relative to the best peer, in {several} cells: {ahead} ahead, {even} even, {behind} behind; "
        f"{all_cells.strong()} are at least {STRONG} times as fast (two thirds are {-(-several * 2 // 3)})."
    )


def grouped(rows: Sequence[Row]) -> Iterable[tuple[str, Iterable[Row]]]:
    """The rows of each group, in the order of the groups' first rows."""
    order = {group: place for place, group in enumerate(dict.fromkeys(row["group"] for row in rows))}
    return groupby(sorted(rows, key=lambda row: order[row["group"]]), key=lambda row: str(row["group"]))


def table(name: str, rows: list[Row], every: Sequence[Row]) -> str:
    """One group."""
    if name == "growth":
        return growth_table(name, rows)
    columns = [
        engine
        for engine in (*ENGINES[1:], OURS, *VARIANTS)
        if engine != BEFORE and any(engine in row["engines"] for row in rows)
    ]
    further = own_goals(rows, every)
    heads = [
        "encoding",
        "text",
        *columns,
        "ratio",
        "standing",
        *(f"relative to {goal.target.than}" for goal in further),
    ]
    lines = [
        f"## {name} ({rows[0]['unit']})",
        "",
        table_line(heads),
        table_line(["---", "---", *["--:"] * (len(columns) + 1), *["---"] * (1 + len(further))]),
    ]
    for row in rows:
        target = target_of(*cell_of(row))
        one = observed_in_row(target or without_target(row["unit"]), row)
        cells = [row["encoding"], row["text"], *(format_figure(row, engine) for engine in columns), format_ratio(one)]
        cells.append(one.standing(target) if target else "")
        lines.append(table_line([*cells, *(own_verdict(goal, row, every) for goal in further)]))
    return "\n".join(lines + notes(rows))


def own_goals(rows: Sequence[Row], every: Sequence[Row]) -> list[Goal]:
    """The goals of a group relative to toksmith itself, besides the goal of its peers."""
    further = (goal for goal in GOALS if goal.target.than in (*OWN, *VARIANTS))
    return [
        goal
        for goal in further
        if any(goal.covers(*cell_of(row)) and goal.target != target_of(*cell_of(row)) for row in rows)
        and any(own_verdict(goal, row, every) for row in rows)
    ]


def own_verdict(goal: Goal, row: Row, every: Sequence[Row]) -> str:
    """The verdict of such a goal in one row; "" if the row has none."""
    result = next(
        observed_ratios(
            replace(goal, texts=(row["text"],), encodings=(row["encoding"],), groups=(row["group"],)), every
        ),
        None,
    )
    return result.to_text(goal.target) if result else ""


def growth_table(name: str, rows: list[Row]) -> str:
    """Toksmith's time at growing sizes, one line for each kind of text, and the cost of the worst tenfold step."""
    kinds: dict[str, list[Row]] = {}
    for row in rows:
        kinds.setdefault(row["text"].rpartition("-")[0], []).append(row)
    sizes = sorted({int(row["text"].rpartition("-")[2]) for row in rows})
    heads = ["text", *(f"{size:,}" for size in sizes), "dearest tenfold step"]
    lines = [
        f"## {name} ({rows[0]['unit']}; 10 is linear)",
        "",
        table_line(heads),
        table_line(["---", *["--:"] * len(sizes), "---"]),
    ]
    for kind, members in kinds.items():
        figures = {int(row["text"].rpartition("-")[2]): format_figure(row, OURS) for row in members}
        of_kind = Verdict(GROWTH, tuple(observed_ratios(GROWTH, members)))
        lines.append(table_line([kind, *(figures.get(size, "") for size in sizes), of_kind.to_text()]))
    return "\n".join(lines + notes(rows))


def format_figure(row: Row, engine: str) -> str:
    """One engine's figure in a row."""
    entry, ours = row["engines"].get(engine), row["engines"].get(OURS)
    if entry is None:
        return ""
    if entry["median"] is None:
        return str(entry["problem"]).partition(":")[0]
    value = format_number(entry["median"])
    if entry["wrong"]:
        return f"~~{value}~~"
    once = len(entry["runs"]) == 1 and ours and len(ours["runs"]) > 1
    return f"~{value}" if entry["floor"] else f"{value}{'¹' if once else ''}"


def format_number(value: float) -> str:
    """Three significant digits, or the whole number if it is longer."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def format_ratio(seen: Observed) -> str:
    """Toksmith's figure relative to the peer's, with its spread."""
    return f"{seen.ratio.to_text()} × {seen.peer}" if seen.ratio and seen.peer else ""


def notes(rows: Iterable[Row]) -> list[str]:
    """The reasons why figures are missing or struck out, each once."""
    reasons: dict[str, None] = {}
    for row in rows:
        for engine, entry in row["engines"].items():
            if entry["wrong"]:
                reasons[f"{engine}: wrong {entry['wrong']} on {row['encoding']} / {row['text']}"] = None
            elif entry["problem"] and (engine == OURS or not entry["problem"].startswith("unsupported")):
                reasons[f"{engine}: {entry['problem']}"] = None
    return ["", *(f"- {note}" for note in reasons)] if reasons else []


def table_line(cells: Iterable[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(cells) + " |"
