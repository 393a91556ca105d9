"""Usage: scripts/notebooks.py FOLDER [PAGE...]: writes the pages of the lesson as Jupyter notebooks.

Text becomes text cells. The examples of a page become code cells, each up to the next output, so that a notebook
shows the same as the page. Shell commands get a `!`. A cell that the page expects to fail has Jupyter's tag for it.
Outputs are left out; running a notebook makes them.
"""

from __future__ import annotations

import doctest
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LESSON = Path(__file__).resolve().parent.parent / "docs" / "lesson"
BLOCK = re.compile(r"(?:^<!-- needs: ([^\n]*?) -->\n)?^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def notebook(page: str) -> dict[str, Any]:
    """The notebook of a page, in version 4.5 of the format."""
    cells: list[dict[str, Any]] = []
    end = 0
    for block in BLOCK.finditer(page):
        cells += text_cell(page[end : block.start()])
        needs, kind, body = block.groups()
        if needs:
            names = ", ".join(f"`{Path(name).name}`" for name in needs.split())
            cells += text_cell(f"*The next cells need {names} in the folder of the notebook.*")
        cells += [cell | {"metadata": cell["metadata"] | {"needs": needs or ""}} for cell in code_cells(kind, body)]
        end = block.end()
    cells += text_cell(page[end:])
    numbered = [{"id": f"cell-{number}", **cell} for number, cell in enumerate(cells)]
    return {"cells": numbered, "metadata": {"kernelspec": KERNEL}, "nbformat": 4, "nbformat_minor": 5}


def text_cell(text: str) -> list[dict[str, Any]]:
    """A cell of text; none for white space."""
    return [{"cell_type": "markdown", "metadata": {}, "source": text.strip()}] if text.strip() else []


def code_cells(kind: str, body: str) -> Iterator[dict[str, Any]]:
    """The cells of a block."""
    if kind == "console":
        lines = [line for line in body.splitlines() if line.startswith(("$ ", "> "))]
        yield code_cell("\n".join("!" + line[2:] if line.startswith("$ ") else line[2:] for line in lines), "")
        return
    if ">>>" not in body:
        yield code_cell(body.rstrip("\n"), "")
        return
    waiting = ""
    for example in doctest.DocTestParser().get_examples(body):
        waiting += example.source
        if example.want or example.exc_msg:
            yield code_cell(waiting.rstrip("\n"), example.want, fails=example.exc_msg is not None)
            waiting = ""
    if waiting:
        yield code_cell(waiting.rstrip("\n"), "")


def code_cell(source: str, shows: str, *, fails: bool = False) -> dict[str, Any]:
    """A cell of code; `shows` is its output on the page."""
    metadata: dict[str, Any] = {"shows": shows}
    if fails:
        metadata["tags"] = ["raises-exception"]
    return {"cell_type": "code", "execution_count": None, "metadata": metadata, "outputs": [], "source": source}


def main() -> None:
    """Write the notebooks."""
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for page in [*map(Path, sys.argv[2:])] or sorted(LESSON.glob("*.md")):
        target = folder / f"{page.stem}.ipynb"
        content = json.dumps(notebook(page.read_text(encoding="utf-8")), ensure_ascii=False, indent=1)
        target.write_text(content + "\n", encoding="utf-8")
        print(target)


if __name__ == "__main__":
    main()
