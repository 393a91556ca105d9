"""Compares this build with an earlier one, both measured in turn in one run: the table shows what a change cost."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from .adapters import BEFORE, OURS
from .targets import amount
from .verdicts import place

Row = dict[str, Any]
LOSS = 0.97


def compared(rows: Sequence[Row]) -> str:
    """The table of all cells that both builds answered."""
    return table((f"{row['group']}, {place(row)}", ratios(row)) for row in rows)


def table(cells: Iterable[tuple[str, list[float]]]) -> str:
    """One line per cell with its ratios, slowest first, and the cells that are slower for sure."""
    found = sorted(((name, seen) for name, seen in cells if seen), key=lambda cell: statistics.median(cell[1]))
    slower = [name for name, seen in found if max(seen) < LOSS]
    lines = [
        "## compared with the earlier build (speed of this build / speed of the earlier one, round by round)",
        "",
        "| cell | minimum | median | maximum | rounds |",
        "| --- | --: | --: | --: | --: |",
    ]
    for name, seen in found:
        figures = " | ".join(amount(ratio) for ratio in (min(seen), statistics.median(seen), max(seen)))
        lines.append(f"| {name} | {figures} | {len(seen)} |")
    verdict = f"Whole spread below {LOSS}: {'; '.join(slower) if slower else 'none'} of {len(found)} cells."
    return "\n".join([*lines, "", verdict])


def ratios(row: Row) -> list[float]:
    """How many times as fast as the earlier build this one was, in each round; empty where one of them gave no answer."""
    ours, before = row["engines"].get(OURS), row["engines"].get(BEFORE)
    if not ours or not before or any(shown["problem"] or shown["wrong"] for shown in (ours, before)):
        return []
    pairs = zip(ours["runs"], before["runs"], strict=False)
    return [mine / other if row["unit"].endswith("/s") else other / mine for mine, other in pairs]
