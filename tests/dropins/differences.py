"""Writes the table of allowed differences into docs/clients.md, with the number of cases of each row in a full run.

`PYTHONPATH=tests python -m dropins.differences COUNTS.json ...` reads the counts that runs of the drop-ins' proofs with
`TOKSMITH_EXHAUSTIVE=1` write into the folder `TOKSMITH_COUNTS`. The counts of other drop-ins stay unchanged.
"""

import importlib
import json
import sys
from pathlib import Path

from dropins import Allowed

PAGE = Path(__file__).resolve().parents[2] / "docs" / "clients.md"
BEGIN, END = "<!-- allowed differences -->", "<!-- end -->"
DROP_INS = ("tokenizers", "transformers", "sentencepiece", "tiktoken")


def rows() -> list[Allowed]:
    """The rows of all drop-ins that have a table."""
    here = Path(__file__).parent
    names = [f"allowed_{name}" for name in DROP_INS if (here / f"allowed_{name}.py").is_file()]
    return [row for name in names for row in importlib.import_module(f"dropins.{name}").ROWS]


def printed(page: str) -> list[list[str]]:
    """The cells of the page's table."""
    lines = page.split(BEGIN, 1)[1].split(END, 1)[0].strip().splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def written(counts: dict[str, int]) -> str:
    """The table."""
    head = ["| drop-in | difference | reason | cases |", "|---|---|---|--:|"]
    cells = [f"| {row.drop_in} | {row.name} | {row.reason} | {counts[key(row)]:,} |" for row in rows()]
    return "\n".join([*head, *cells])


def key(row: Allowed) -> str:
    """The name of a row among all drop-ins."""
    return f"{row.drop_in}: {row.name}"


def main(files: list[str]) -> None:
    """Write the table with the counts of these files."""
    page = PAGE.read_text(encoding="utf-8")
    counts = {f"{cells[0]}: {cells[1]}": int(cells[3].replace(",", "")) for cells in printed(page)}
    for file in files:
        counts |= json.loads(Path(file).read_text(encoding="utf-8"))
    before, rest = page.split(BEGIN, 1)
    PAGE.write_text(f"{before}{BEGIN}\n{written(counts)}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
