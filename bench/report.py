"""The tables of a record, in Markdown: one per group of cells, every engine a column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from .adapters import ENGINES, OURS
from .definitions import COST

Row = dict[str, Any]
SCALING = 1.7


def report(record: Row) -> str:
    """The whole record."""
    machine, settings = record["machine"], record["settings"]
    head = [
        f"# toksmith beside its peers, {record['date'][:10]}",
        "",
        f"{machine['cpu']}, {machine['cpus']} processors, {machine['memory_gb']} GB, {machine['python']}.",
        f"Commit {record['commit'][:12] or 'unknown'}{' with changes' if record['changed'] else ''}, "
        + f"median of {settings['runs']} processes per engine, engines in turn, {settings['clock']} clock, "
        + f"load average {record['load']:.1f} at the start; `{record['command']}`.",
        "",
        ", ".join(f"{name} {version}" for name, version in record["versions"].items()) + ".",
        "",
        "Struck out: the ids differ from the reference engine's. ~ in front: a prefix of 1 MB, for comparison.",
    ]
    tables = (table(name, list(rows), record["rows"]) for name, rows in grouped(record["rows"]))
    return "\n".join(head) + "\n\n" + "\n\n".join(tables)


def grouped(rows: Sequence[Row]) -> Iterable[tuple[str, Iterable[Row]]]:
    """The rows of each group, in the order in which the groups first come."""
    order = {group: place for place, group in enumerate(dict.fromkeys(row["group"] for row in rows))}
    return groupby(sorted(rows, key=lambda row: order[row["group"]]), key=lambda row: str(row["group"]))


def table(name: str, rows: list[Row], every: Sequence[Row]) -> str:
    """One group."""
    columns = [engine for engine in (*ENGINES[1:], OURS) if any(engine in row["engines"] for row in rows)]
    scaled = any(alone(row, every) for row in rows)
    heads = ["encoding", "text", *columns, "ratio", "target", *(["× one thread"] if scaled else [])]
    lines = [f"## {name} ({rows[0]['unit']})", "", joined(heads), joined(["---", "---", *["--:"] * (len(heads) - 2)])]
    for row in rows:
        cells = [row["encoding"], row["text"], *(figure(row["engines"].get(engine)) for engine in columns)]
        lines.append(joined([*cells, *verdict(row), *([scaling(row, every)] if scaled else [])]))
    lines += notes(rows)
    return "\n".join(lines)


def figure(shown: Row | None) -> str:
    """One engine's figure."""
    if shown is None:
        return ""
    if shown["median"] is None:
        return str(shown["problem"]).partition(":")[0]
    value = number(shown["median"])
    if shown["wrong"]:
        return f"~~{value}~~"
    return f"~{value}" if shown["floor"] else value


def number(value: float) -> str:
    """Three significant digits, and no fewer than the whole number."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def verdict(row: Row) -> tuple[str, str]:
    """The ratio with its sign of success, and the target."""
    target = row["target"]
    if target is None:
        return "", ""
    sense = "≤" if target["sense"] == COST else "≥"
    due = f"{sense} {target['factor']:g}" + (f" × {target['than']}" if target["than"] else "")
    if row["ratio"] is None:
        return "missing", due
    return f"{row['ratio']:.3g} {'✓' if row['reached'] else '✗'}", due


def alone(row: Row, every: Sequence[Row]) -> Row | None:
    """The same cell of toksmith on one thread, if it was measured."""
    name = f"{row['group']}, one thread"
    same = (other for other in every if other["group"] == name and other["threads"] < row["threads"])
    return next((other for other in same if all(other[key] == row[key] for key in ("encoding", "text"))), None)


def scaling(row: Row, every: Sequence[Row]) -> str:
    """What the threads bring to toksmith."""
    single = alone(row, every)
    ours = [one["engines"].get(OURS, {}).get("median") for one in (row, single) if one]
    if len(ours) < 2 or None in ours:
        return "missing"
    return f"{ours[0] / ours[1]:.2f} {'✓' if ours[0] / ours[1] >= SCALING else '✗'} (≥ {SCALING})"


def notes(rows: Iterable[Row]) -> list[str]:
    """Why figures are missing or struck out, each reason once."""
    found: dict[str, None] = {}
    for row in rows:
        for engine, shown in row["engines"].items():
            if shown["wrong"]:
                found[f"{engine}: wrong {shown['wrong']} on {row['encoding']} / {row['text']}"] = None
            elif shown["problem"] and shown["problem"] != "unsupported":
                found[f"{engine}: {shown['problem']}"] = None
    return ["", *(f"- {note}" for note in found)] if found else []


def joined(cells: Iterable[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(cells) + " |"
