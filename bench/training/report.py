"""The tables of a record of training, in Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import truediv
from typing import Any

from ..adapters import BEFORE, OURS
from ..before import table as compared
from ..report import joined, number
from ..targets import amount
from ..texts import MB
from .cases import SERIES, along
from .trainers import TRAINERS
from .verdicts import Row, Rows, figure, ratio, target_in_words, verdicts

PEERS = tuple(name for name in TRAINERS if name != OURS)


def report(record: Row) -> str:
    """The whole record: how it was made, the targets, seconds, memory, and how the time grows."""
    rows: Rows = {row["name"]: row["engines"] for row in record["rows"]}
    parts = [head(record), goals(rows), seconds(rows), memory(rows), *(growth(name, rows) for name in SERIES)]
    beside = earlier(rows)
    return "\n\n".join([*parts, *([beside] if beside else []), *notes(rows)])


def earlier(rows: Rows) -> str:
    """The speed of this build relative to an earlier one; "" if none took part."""
    found = [(case, engines.get(OURS, {}), engines.get(BEFORE, {})) for case, engines in rows.items()]
    if not any(before for _, _, before in found):
        return ""
    return compared((case, list(map(truediv, ran(before), ran(ours)))) for case, ours, before in found)


def ran(outcome: Row) -> list[float]:
    """The seconds of every process of an engine."""
    seconds: list[float] = outcome.get("runs", {}).get("seconds", [])
    return seconds


def head(record: Row) -> str:
    """How the record was made, and how the tables are to be read."""
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
    found = verdicts(rows)
    for verdict in found:
        if worst := verdict.worst():
            counts = [str(len(verdict.seen)), str(verdict.held())]
            goal = verdict.goal
            lines.append(joined([goal.title, target_in_words(goal), *counts, worst.where, verdict.said()]))
    left_out = [verdict.goal.title for verdict in found if not verdict.seen]
    return "\n".join([*lines, *(["", f"Not measured: {'; '.join(left_out)}."] if left_out else [])])


def seconds(rows: Rows) -> str:
    """The seconds of every engine."""
    return engines("seconds", rows, "seconds", number)


def memory(rows: Rows) -> str:
    """The peak of every engine's resident memory."""
    return engines("peak of resident memory, MB", rows, "peak", lambda value: f"{value / MB:,.0f}")


def engines(title: str, rows: Rows, name: str, shown: Callable[[float], str]) -> str:
    """One line a case, one column an engine."""
    lines = table(title, ["case", OURS, *PEERS], "l" + "-" * (len(PEERS) + 1))
    for case, outcomes in rows.items():
        ours = outcomes.get(OURS, {}).get(name)
        cells = [cell(outcomes.get(engine), name, ours, shown) for engine in PEERS]
        lines.append(joined([case, cell(outcomes.get(OURS), name, None, shown), *cells]))
    return "\n".join(lines)


def cell(outcome: Row | None, name: str, ours: float | None, shown: Callable[[float], str]) -> str:
    """One engine's figure, and toksmith's by it."""
    if outcome is None:
        return ""
    if outcome["at_least"]:
        return f"> {outcome['at_least']:.0f}" if name == "seconds" else ""
    if outcome[name] is None:
        return str(outcome["problem"]).partition(":")[0]
    if outcome["wrong"]:
        return f"~~{shown(outcome[name])}~~"
    by = ratio(ours, outcome[name])
    return shown(outcome[name]) + (f" ({amount(by)})" if by is not None else "")


def growth(name: str, rows: Rows) -> str:
    """The time along a series: seconds, and the cost of each step relative to linear growth."""
    unit = "MB" if name == "corpus" else "tokens"
    lines = table(f"time by size of the {name}", [unit, OURS, "of linear", "rustbpe", "of linear"], "-----")
    before: dict[str, tuple[float, float]] = {}
    for size, case in along(name):
        cells = []
        for engine in (OURS, "rustbpe"):
            took = figure(rows, case, engine)
            last = before.get(engine)
            step = amount((took / last[1]) / (size / last[0])) if took and last else ""
            cells += [number(took) if took else "", step]
            if took:
                before[engine] = (size, took)
        lines.append(joined([f"{size:,g}", *cells]))
    return "\n".join(lines)


def table(title: str, heads: Iterable[str], sides: str) -> list[str]:
    """The lines above a table: a column is `l`eft or, with `-`, right."""
    rules = ["---" if side == "l" else "--:" for side in sides]
    return [f"## {title}", "", joined(heads), joined(rules)]


def notes(rows: Rows) -> list[str]:
    """Why figures are missing or struck out, each reason once."""
    found: dict[str, None] = {}
    for case, outcomes in rows.items():
        for engine, outcome in outcomes.items():
            for reason in (outcome["wrong"], outcome["problem"]):
                if reason:
                    found[f"- {engine}, {case}: {reason}"] = None
    return ["\n".join(found)] if found else []


def series(rows: Rows, name: str) -> dict[str, list[tuple[float, float]]]:
    """The points of a series by engine, for a plot."""
    found: dict[str, list[tuple[float, float]]] = {}
    for size, case in along(name):
        for engine in rows.get(case.name, {}):
            took: Any = figure(rows, case, engine)
            if took:
                found.setdefault(engine, []).append((size, took))
    return found
