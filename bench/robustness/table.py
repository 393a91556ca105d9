"""Writes the table of outcomes: a row for each attack, a column for each library, between two marks of the document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..places import ROOT, write_whole
from ..report import table_line
from .attack import Attack
from .runner import FINDINGS, Cell
from .subjects import LIBRARIES

DOCUMENT = ROOT / "docs" / "robustness.md"
START = "<!-- attacks: `python -m bench.robustness` writes the text between these marks -->"
END = "<!-- end of the attacks -->"
MOST_SHOWN = 4
Cells = Mapping[tuple[str, str], Cell]


def refresh(path: Path | None, page: str) -> str:
    """Write the table to the document; return a message."""
    document = path or DOCUMENT
    write_whole(document, with_table(document.read_text(encoding="utf-8"), page).encode("utf-8"))
    return f"{document.name}: updated the table"


def with_table(document: str, page: str) -> str:
    """A document with the table between its marks."""
    head, start, rest = document.partition(START)
    _, end, tail = rest.partition(END)
    if not start or not end:
        raise SystemExit(f"the document lacks one of the marks {START!r} and {END!r}; put them where the table belongs")
    return f"{head}{START}\n{page}\n{END}{tail}"


def report(attacks: Sequence[Attack], cells: Cells, start: Mapping[str, Any]) -> str:
    """The settings and the machine of the run, the table, and the number of findings."""
    libraries = [library for library in LIBRARIES if any(name == library for _, name in cells)]
    lines = [opening(libraries, start), ""]
    lines += [table_line(["attack", "tries", *libraries]), table_line(["---", "--:", *["---"] * len(libraries)])]
    for attack in attacks:
        row = {library: cells[attack.name, library] for library in libraries if (attack.name, library) in cells}
        tries = max((cell.tries for cell in row.values() if not cell.cut), default=0)
        tries = tries or max((cell.tries for cell in row.values()), default=0)
        cells_text = [format_cell(row[library], tries) if library in row else "–" for library in libraries]
        lines.append(table_line([attack.name.replace("|", "\\|"), f"{tries:,}", *cells_text]))
    totals = [sum(cell.findings for (_, name), cell in cells.items() if name == library) for library in libraries]
    tries = sum(cell.tries for cell in cells.values())
    lines.append(table_line(["**findings in all**", f"{tries:,}", *[f"**{total:,}**" for total in totals]]))
    return "\n".join(lines)


def opening(libraries: Sequence[str], start: Mapping[str, Any]) -> str:
    """The settings and the machine of the run."""
    libraries_text = ", ".join(f"{library} {start['versions'][library]}" for library in libraries)
    changed = " with uncommitted changes" if start["changed"] else ""
    machine = start["machine"]
    return (
        f"Run on {start['date'][:10]} at commit `{start['commit'][:12]}`{changed} on {machine['cpu']},\n"
        f"{machine['cpus']} processors, {machine['python']}: {libraries_text}."
    )


def format_cell(cell: Cell, tries: int) -> str:
    """A cell: the outcomes of the calls, findings first and in bold, with time and memory."""
    order = sorted(cell.outcomes.items(), key=lambda each: (each[0][0] not in FINDINGS, -each[1], each[0]))
    words = [format_outcome(kind, what, times, tries) for (kind, what), times in order[:MOST_SHOWN]]
    if len(order) > MOST_SHOWN:
        words.append(f"and {sum(times for _, times in order[MOST_SHOWN:])} more")
    if cell.cut:
        words.append("rest untried")
    return f"{', '.join(words)}; {cell.seconds:.1f} s, {cell.mb:,} MB".replace("|", "\\|")


def format_outcome(kind: str, what: str, times: int, tries: int) -> str:
    """One kind of outcome, with its number of occurrences."""
    words = {"crash": f"crash: {what}", "wrong": f"wrong: {what}", "memory": f"memory: {what}"}.get(kind, what)
    often = f" ×{times:,}" if tries > 1 else ""
    return f"**{words}**{often}" if kind in FINDINGS else f"{words}{often}"
