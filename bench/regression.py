"""What became slower: each cell of a run beside the last earlier record of the same machine that has it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from .adapters import OURS
from .records import kept
from .report import joined
from .targets import COST, target_of, without_target
from .verdicts import Ratio, cell_of, judged

Row = dict[str, Any]
LOSS = 0.05


def compared(record: Row, folder: Path) -> str:
    """The cells that lost more than `LOSS` of their ratio for sure: the spreads of then and now do not overlap.

    A cell is compared with the same text, and relative to the peer of the earlier record, so that a new peer is no
    regression. Where that peer has no figure now, the cell is left out.
    """
    earlier = [each for path in kept(folder) if alike(each := read(path), record)]
    found, lines = 0, []
    for row in record["rows"]:
        for each in earlier:
            if (other := same_cell(row, each)) and (pair := ratios(other, row)):
                found += 1
                lines += [line(row, pair, each["date"][:19])] if is_loss(row, pair) else []
                break
    heads = ["cell", "earlier record", "ratio then", "ratio now"]
    table = ["", joined(heads), joined(["---", "---", "--:", "--:"]), *lines] if lines else []
    return "\n".join(["## compared with earlier records of this machine", "", summary(found, len(lines)), *table])


def summary(found: int, lost: int) -> str:
    """The result in words."""
    if not found:
        return "No earlier record of this machine has one of these cells."
    return (
        f"{lost or 'None'} of {found} cells lost more than {LOSS:.0%} of the ratio, with spreads that do not overlap."
    )


def read(path: Path) -> Row:
    """A record."""
    found: Row = json.loads(path.read_text(encoding="utf-8"))
    return found


def alike(earlier: Row, record: Row) -> bool:
    """Whether a record is an earlier one of the same machine and the same clock."""
    same = all(earlier["machine"][name] == record["machine"][name] for name in ("cpu", "cpus"))
    return same and earlier["date"] < record["date"] and earlier["settings"]["clock"] == record["settings"]["clock"]


def same_cell(row: Row, earlier: Row) -> Row | None:
    """The row of an earlier record about the same cell, text and number of threads."""
    wanted = (cell_of(row), row["threads"], size(row))
    return next((other for other in earlier["rows"] if (cell_of(other), other["threads"], size(other)) == wanted), None)


def size(row: Row) -> int:
    """How much text toksmith encoded."""
    return int(row["engines"].get(OURS, {}).get("bytes", 0))


def ratios(earlier: Row, row: Row) -> tuple[Ratio, Ratio] | None:
    """The ratios of then and now to the same peer."""
    target = target_of(*cell_of(row)) or without_target(row["unit"])
    before = judged(target, earlier)
    now = judged(replace(target, than=before.peer) if before.peer else target, row)
    return (before.ratio, now.ratio) if before.ratio and now.ratio and before.peer == now.peer else None


def is_loss(row: Row, pair: tuple[Ratio, Ratio]) -> bool:
    """Whether the second of two ratios is worse for sure."""
    target = target_of(*cell_of(row)) or without_target(row["unit"])
    before, now = pair
    if target.sense == COST:
        return now.value > before.value * (1 + LOSS) and now.low > before.high
    return now.value < before.value * (1 - LOSS) and now.high < before.low


def line(row: Row, pair: tuple[Ratio, Ratio], date: str) -> str:
    """A line of the table."""
    return joined([f"{row['group']}, {row['encoding']} {row['text']}", date, *(ratio.said() for ratio in pair)])
