"""Finds regressions: compares each cell of a run with the last earlier record of the same machine."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from .adapters import OURS
from .records import list_records
from .report import table_line
from .targets import COST, target_of, without_target
from .verdicts import Ratio, cell_of, observed_in_row

Row = dict[str, Any]
LOSS = 0.05


def regression_report(record: Row, folder: Path) -> str:
    """The cells that certainly lost more than `LOSS` of their ratio: the old and new spreads do not overlap.

    A cell is compared with the same text, and relative to the peer of the earlier record, so that a new peer is not a
    regression. If that peer has no figure now, the cell is left out.
    """
    earlier = [each for path in list_records(folder) if is_comparable(each := read_record(path), record)]
    cells, lines = 0, []
    for row in record["rows"]:
        for each in earlier:
            if (other := same_cell(row, each)) and (pair := ratios(other, row)):
                cells += 1
                lines += [loss_line(row, pair, each["date"][:19])] if is_loss(row, pair) else []
                break
    heads = ["cell", "earlier record", "ratio then", "ratio now"]
    table = ["", table_line(heads), table_line(["---", "---", "--:", "--:"]), *lines] if lines else []
    return "\n".join(["## compared with earlier records of this machine", "", summary(cells, len(lines)), *table])


def summary(cells: int, lost: int) -> str:
    """The result as text."""
    if not cells:
        return "No earlier record of this machine has one of these cells."
    return (
        f"{lost or 'None'} of {cells} cells lost more than {LOSS:.0%} of the ratio, with spreads that do not overlap."
    )


def read_record(path: Path) -> Row:
    """A record."""
    content: Row = json.loads(path.read_text(encoding="utf-8"))
    return content


def is_comparable(earlier: Row, record: Row) -> bool:
    """Whether a record is an earlier one of the same machine and the same clock."""
    same = all(earlier["machine"][name] == record["machine"][name] for name in ("cpu", "cpus"))
    return same and earlier["date"] < record["date"] and earlier["settings"]["clock"] == record["settings"]["clock"]


def same_cell(row: Row, earlier: Row) -> Row | None:
    """The row of an earlier record about the same cell, text and number of threads."""
    key = (cell_of(row), row["threads"], encoded_size(row))
    return next(
        (other for other in earlier["rows"] if (cell_of(other), other["threads"], encoded_size(other)) == key), None
    )


def encoded_size(row: Row) -> int:
    """The amount of text that toksmith encoded."""
    return int(row["engines"].get(OURS, {}).get("bytes", 0))


def ratios(earlier: Row, row: Row) -> tuple[Ratio, Ratio] | None:
    """The old and new ratios to the same peer."""
    target = target_of(*cell_of(row)) or without_target(row["unit"])
    before = observed_in_row(target, earlier)
    now = observed_in_row(replace(target, than=before.peer) if before.peer else target, row)
    return (before.ratio, now.ratio) if before.ratio and now.ratio and before.peer == now.peer else None


def is_loss(row: Row, pair: tuple[Ratio, Ratio]) -> bool:
    """Whether the second of two ratios is certainly worse."""
    target = target_of(*cell_of(row)) or without_target(row["unit"])
    before, now = pair
    if target.sense == COST:
        return now.value > before.value * (1 + LOSS) and now.low > before.high
    return now.value < before.value * (1 - LOSS) and now.high < before.low


def loss_line(row: Row, pair: tuple[Ratio, Ratio], date: str) -> str:
    """A line of the table."""
    return table_line([f"{row['group']}, {row['encoding']} {row['text']}", date, *(ratio.to_text() for ratio in pair)])
