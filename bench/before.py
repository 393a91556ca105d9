"""Compares this build with an earlier one, measured in turn in one run: the table shows the cost of a change."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

from .adapters import BEFORE, OURS
from .targets import format_ratio
from .verdicts import cell_place

Row = dict[str, Any]
LOSS = 0.97


def comparison_table(rows: Sequence[Row]) -> str:
    """The table of all cells that both builds answered."""
    return ratio_table((f"{row['group']}, {cell_place(row)}", speed_ratios(row)) for row in rows)


def ratio_table(cells: Iterable[tuple[str, list[float]]]) -> str:
    """One line per cell with its ratios, slowest first, and the cells that are certainly slower."""
    ratios_by_cell = sorted(((name, seen) for name, seen in cells if seen), key=lambda cell: statistics.median(cell[1]))
    slower = [name for name, seen in ratios_by_cell if max(seen) < LOSS]
    lines = [
        "## compared with the earlier build (speed of this build / speed of the earlier one, round by round)",
        "",
        "| cell | minimum | median | maximum | rounds |",
        "| --- | --: | --: | --: | --: |",
    ]
    for name, seen in ratios_by_cell:
        figures = " | ".join(format_ratio(ratio) for ratio in (min(seen), statistics.median(seen), max(seen)))
        lines.append(f"| {name} | {figures} | {len(seen)} |")
    verdict = f"Whole spread below {LOSS}: {'; '.join(slower) if slower else 'none'} of {len(ratios_by_cell)} cells."
    return "\n".join([*lines, "", verdict])


def speed_ratios(row: Row) -> list[float]:
    """The speed of this build divided by that of the earlier one, in each round; empty if either gave no answer."""
    ours, before = row["engines"].get(OURS), row["engines"].get(BEFORE)
    if not ours or not before or any(entry["problem"] or entry["wrong"] for entry in (ours, before)):
        return []
    pairs = zip(ours["runs"], before["runs"], strict=False)
    return [mine / other if row["unit"].endswith("/s") else other / mine for mine, other in pairs]
