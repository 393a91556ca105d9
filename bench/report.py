"""The tables of a record, in Markdown: one per group of cells, every engine a column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from .adapters import ENGINES, OURS
from .before import compared
from .targets import GOALS, OWN, Target, amount, over, said, single, tenth, verdicts

Row = dict[str, Any]


def report(record: Row) -> str:
    """The whole record: how it was made, the table of targets, and one table per group of cells."""
    tables = (table(name, list(rows), record["rows"]) for name, rows in grouped(record["rows"]))
    beside = [compared(record["rows"])] if record["settings"].get("before") else []
    return "\n\n".join([head(record), goals(record["rows"]), *tables, *beside])


def head(record: Row) -> str:
    """How the record was made, and how the tables are to be read."""
    machine, settings = record["machine"], record["settings"]
    took = f", {record['took_s'] / 60:.0f} minutes" if "took_s" in record else ""
    return "\n".join(
        [
            f"# toksmith and its peers, {record['date'][:10]}",
            "",
            f"{machine['cpu']}, {machine['cpus']} processors, {machine['memory_gb']} GB, {machine['python']}.",
            f"Commit {record['commit'][:12] or 'unknown'}{' with changes' if record['changed'] else ''}, "
            + f"median of {settings['runs']} processes per engine, engines in turn, {settings['clock']} clock, "
            + f"load average {record['load']:.1f} at the start; `{record['command']}`{took}.",
            "",
            ", ".join(f"{name} {version}" for name, version in record["versions"].items()) + ".",
            "",
            "Struck out: the ids differ from the reference engine's. ~ in front: a prefix of 1 MB, for comparison. "
            + "¹ behind: timed once, because the result decides nothing.",
        ]
    )


def goals(rows: Sequence[Row]) -> str:
    """The table of targets: the result of each row by its worst cell; rows without a cell are listed below it."""
    heads = ["what", "target", "cells", "hold", "worst cell", "verdict"]
    lines = ["## targets", "", joined(heads), joined(["---", "---", "--:", "--:", "---", "---"])]
    found = verdicts(rows)
    for verdict in found:
        if worst := verdict.worst():
            where = f"{worst.where}{f', relative to {worst.peer}' if worst.peer else ''}"
            counts = [str(len(verdict.cells)), str(verdict.held())]
            lines.append(joined([verdict.goal.title, verdict.goal.target.said(), *counts, where, verdict.said()]))
    left_out = [verdict.goal.title for verdict in found if not verdict.cells]
    return "\n".join([*lines, *(["", f"Not measured: {'; '.join(left_out)}."] if left_out else [])])


def grouped(rows: Sequence[Row]) -> Iterable[tuple[str, Iterable[Row]]]:
    """The rows of each group, in the order in which the groups first come."""
    order = {group: place for place, group in enumerate(dict.fromkeys(row["group"] for row in rows))}
    return groupby(sorted(rows, key=lambda row: order[row["group"]]), key=lambda row: str(row["group"]))


def table(name: str, rows: list[Row], every: Sequence[Row]) -> str:
    """One group."""
    if name == "growth":
        return growth_table(name, rows)
    columns = [engine for engine in (*ENGINES[1:], OURS) if any(engine in row["engines"] for row in rows)]
    scaled = any(single(row, every) for row in rows)
    heads = ["encoding", "text", *columns, "ratio", "verdict", *(["relative to one thread"] if scaled else [])]
    lines = [
        f"## {name} ({rows[0]['unit']})",
        "",
        joined(heads),
        joined(["---", "---", *["--:"] * (len(columns) + 1), *["---"] * (1 + scaled)]),
    ]
    for row in rows:
        cells = [row["encoding"], row["text"], *(figure(row, engine) for engine in columns)]
        threads = [own_verdict(row, over(row, single(row, every)))] if scaled else []
        lines.append(joined([*cells, ratio(row), verdict_of(row), *threads]))
    return "\n".join(lines + notes(rows))


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
        joined(heads),
        joined(["---", *["--:"] * len(sizes), "---"]),
    ]
    for kind, found in kinds.items():
        shown = {int(row["text"].rpartition("-")[2]): figure(row, OURS) for row in found}
        steps = [over(row, before) for row in found if (before := tenth(row, found))]
        worst = max((step for step in steps if step), default=None) if None not in steps else None
        lines.append(joined([kind, *(shown.get(size, "") for size in sizes), own_verdict(found[0], worst)]))
    return "\n".join(lines + notes(rows))


def figure(row: Row, engine: str) -> str:
    """One engine's figure in a row."""
    shown, ours = row["engines"].get(engine), row["engines"].get(OURS)
    if shown is None:
        return ""
    if shown["median"] is None:
        return str(shown["problem"]).partition(":")[0]
    value = number(shown["median"])
    if shown["wrong"]:
        return f"~~{value}~~"
    once = len(shown["runs"]) == 1 and ours and len(ours["runs"]) > 1
    return f"~{value}" if shown["floor"] else f"{value}{'¹' if once else ''}"


def number(value: float) -> str:
    """Three significant digits, and no fewer than the whole number."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def ratio(row: Row) -> str:
    """Toksmith's figure by that of the peer that it is held against."""
    return f"{amount(row['ratio'])} × {row['peer']}" if row["ratio"] and row["peer"] else ""


def verdict_of(row: Row) -> str:
    """The result of a cell's target; "" if none is set."""
    return said(Target(**row["target"]), row["ratio"]) if row["target"] else ""


def own_verdict(row: Row, ratio: float | None) -> str:
    """The result of a target relative to toksmith's own figures; only the ratio if none is set."""
    own = (goal.target for goal in GOALS if goal.target.than in OWN and goal.covers(*cell_of(row)))
    target = next(own, None)
    return said(target, ratio) if target else amount(ratio) if ratio else ""


def cell_of(row: Row) -> tuple[str, str, str]:
    """The group, vocabulary and text of a row."""
    return row["group"], row["encoding"], row["text"]


def notes(rows: Iterable[Row]) -> list[str]:
    """Why figures are missing or struck out, each reason once."""
    found: dict[str, None] = {}
    for row in rows:
        for engine, shown in row["engines"].items():
            if shown["wrong"]:
                found[f"{engine}: wrong {shown['wrong']} on {row['encoding']} / {row['text']}"] = None
            elif shown["problem"] and (engine == OURS or not shown["problem"].startswith("unsupported")):
                found[f"{engine}: {shown['problem']}"] = None
    return ["", *(f"- {note}" for note in found)] if found else []


def joined(cells: Iterable[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(cells) + " |"
