"""The tables of a record of training, in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import truediv
from typing import Any

from ..adapters import BEFORE, OURS
from ..before import ratio_table as compared
from ..report import format_number, table_line
from ..targets import format_ratio
from ..texts import MB
from .cases import SERIES, series_cases
from .trainers import TRAINERS
from .verdicts import Row, Rows, ratio, right_figure, target_in_words, verdicts

PEERS = tuple(name for name in TRAINERS if name != OURS)


def report(record: Row) -> str:
    """The whole record: its settings, the targets, seconds, memory, and the growth of time."""
    rows: Rows = {row["name"]: row["engines"] for row in record["rows"]}
    parts = [head(record), goals(rows), seconds(rows), memory(rows), *(growth(name, rows) for name in SERIES)]
    last_part = earlier(rows)
    return "\n\n".join([*parts, *([last_part] if last_part else []), *notes(rows)])


def earlier(rows: Rows) -> str:
    """The speed of this build relative to an earlier one; "" if none took part."""
    figures = [(case, engines.get(OURS, {}), engines.get(BEFORE, {})) for case, engines in rows.items()]
    if not any(before for _, _, before in figures):
        return ""
    return compared(
        (case, list(map(truediv, run_seconds(before), run_seconds(ours)))) for case, ours, before in figures
    )


def run_seconds(outcome: Row) -> list[float]:
    """The seconds of every process of an engine."""
    seconds: list[float] = outcome.get("runs", {}).get("seconds", [])
    return seconds


def head(record: Row) -> str:
    """The settings of the record, and how to read the tables."""
    machine, settings = record["machine"], record["settings"]
    changed = " with changes" if record["changed"] else ""
    return "\n".join(
        [
            f"# Training, toksmith and its peers, {record['date'][:10]}",
            "",
            f"{machine['cpu']}, {machine['cpus']} processors, {machine['memory_gb']} GB, {machine['python']}.",
            f"Commit {record['commit'][:12] or 'unknown'}{changed}, median of {settings['runs']} processes per engine, "
            + f"engines in turn, load average {record['load']:.1f} at the start; `{record['command']}`, "
            + f"{record['took_s'] / 60:.0f} minutes.",
            *([f"Not a whole run: {record['partial']}."] if record["partial"] else []),
            "",
            ", ".join(f"{name} {version}" for name, version in record["versions"].items()) + ".",
            "",
            "Struck out: the learned tokens are wrong. >: did not finish in this many seconds. In brackets: the "
            + "figure of toksmith divided by the peer's.",
        ]
    )


def goals(rows: Rows) -> str:
    """The table of targets: the result of each row by its worst case."""
    lines = table("targets", ["what", "target", "cases", "hold", "worst case", "verdict"], "ll--ll")
    results = verdicts(rows)
    for verdict in results:
        if worst := verdict.worst():
            counts = [str(len(verdict.seen)), str(verdict.held())]
            goal = verdict.goal
            lines.append(table_line([goal.title, target_in_words(goal), *counts, worst.where, verdict.to_text()]))
    left_out = [verdict.goal.title for verdict in results if not verdict.seen]
    return "\n".join([*lines, *(["", f"Not measured: {'; '.join(left_out)}."] if left_out else [])])


def seconds(rows: Rows) -> str:
    """The seconds of every engine."""
    return engines("seconds", rows, "seconds", format_number)


def memory(rows: Rows) -> str:
    """The peak of every engine's resident memory."""
    return engines("peak of resident memory, MB", rows, "peak", lambda value: f"{value / MB:,.0f}")


def engines(title: str, rows: Rows, name: str, shown: Callable[[float], str]) -> str:
    """One line a case, one column an engine."""
    lines = table(title, ["case", OURS, *PEERS], "l" + "-" * (len(PEERS) + 1))
    for case, outcomes in rows.items():
        ours = outcomes.get(OURS, {}).get(name)
        cells = [cell(outcomes.get(engine), name, ours, shown) for engine in PEERS]
        lines.append(table_line([case, cell(outcomes.get(OURS), name, None, shown), *cells]))
    return "\n".join(lines)


def cell(outcome: Row | None, name: str, ours: float | None, shown: Callable[[float], str]) -> str:
    """One engine's figure, and toksmith's divided by it."""
    if outcome is None:
        return ""
    if outcome["at_least"]:
        return f"> {outcome['at_least']:.0f}" if name == "seconds" else ""
    if outcome[name] is None:
        return str(outcome["problem"]).partition(":")[0]
    if outcome["wrong"]:
        return f"~~{shown(outcome[name])}~~"
    by = ratio(ours, outcome[name])
    return shown(outcome[name]) + (f" ({format_ratio(by)})" if by is not None else "")


def growth(name: str, rows: Rows) -> str:
    """The time along a series: seconds, and the cost of each step relative to linear growth."""
    unit = "MB" if name == "corpus" else "tokens"
    lines = table(f"time by size of the {name}", [unit, OURS, "of linear", "rustbpe", "of linear"], "-----")
    before: dict[str, tuple[float, float]] = {}
    for size, case in series_cases(name):
        cells = []
        for engine in (OURS, "rustbpe"):
            duration_s = right_figure(rows, case, engine)
            last = before.get(engine)
            step = format_ratio((duration_s / last[1]) / (size / last[0])) if duration_s and last else ""
            cells += [format_number(duration_s) if duration_s else "", step]
            if duration_s:
                before[engine] = (size, duration_s)
        lines.append(table_line([f"{size:,g}", *cells]))
    return "\n".join(lines)


def table(title: str, heads: Iterable[str], sides: str) -> list[str]:
    """The lines above a table: a column is `l`eft or, with `-`, right."""
    rules = ["---" if side == "l" else "--:" for side in sides]
    return [f"## {title}", "", table_line(heads), table_line(rules)]


def notes(rows: Rows) -> list[str]:
    """The reasons why figures are missing or struck out, each once."""
    reasons: dict[str, None] = {}
    for case, outcomes in rows.items():
        for engine, outcome in outcomes.items():
            for reason in (outcome["wrong"], outcome["problem"]):
                if reason:
                    reasons[f"- {engine}, {case}: {reason}"] = None
    return ["\n".join(reasons)] if reasons else []


def series(rows: Rows, name: str) -> dict[str, list[tuple[float, float]]]:
    """The points of a series by engine, for a plot."""
    points: dict[str, list[tuple[float, float]]] = {}
    for size, case in series_cases(name):
        for engine in rows.get(case.name, {}):
            duration_s: Any = right_figure(rows, case, engine)
            if duration_s:
                points.setdefault(engine, []).append((size, duration_s))
    return points
