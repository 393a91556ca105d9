"""Each page of the lesson becomes a valid notebook, whose cells run and show what the page shows."""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from processors import LIMIT_S
from test_surface import Command, provide, run_command

sys.path.insert(0, str(ROOT / "scripts"))
from notebooks import LESSON, notebook

PAGES = sorted(LESSON.glob("*.md"))


def run_cell(source: str, names: dict[str, Any]) -> str:
    """What Jupyter would show below a cell: what it prints, and the value of its last line."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(ast.Module(body, []), "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
            if value is not None:
                print(repr(value))
    return printed.getvalue()


def check_cell(cell: dict[str, Any], names: dict[str, Any], folder: Path) -> None:
    """Runs a cell and compares what it shows with the page."""
    source, shows = cell["source"], cell["metadata"]["shows"]
    if source.startswith("!"):
        for command in source[1:].split("\n!"):
            run_command(Command(0, command, ""), folder, "notebook")
        return
    try:
        shown = run_cell(source, names)
    except Exception:  # noqa: BLE001 - the page says which cells fail
        assert "raises-exception" in cell["metadata"].get("tags", []), source
        return
    assert "raises-exception" not in cell["metadata"].get("tags", []), source
    if shows:
        same = doctest.OutputChecker().check_output(shows.replace("<BLANKLINE>", ""), shown, doctest.ELLIPSIS)
        assert same, f"{source}\nshows\n{shown}\nthe page shows\n{shows}"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_notebook_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKSMITH_CACHE", str(tmp_path))
    made = json.loads(json.dumps(notebook(page.read_text(encoding="utf-8"))))
    names: dict[str, Any] = {"__name__": "__main__"}
    lacking: list[str] = []
    for cell in made["cells"]:
        if cell["cell_type"] == "code":
            missing = provide(cell["metadata"]["needs"], tmp_path)
            lacking += missing
            if not missing:
                check_cell(cell, names, tmp_path)
    if lacking:
        pytest.skip(f"lacks {', '.join(sorted(set(lacking)))}; all other cells ran")


def test_a_page_becomes_a_valid_notebook() -> None:
    page = "# A\n\n```python\n>>> x = 1\n>>> x\n1\n>>> x / 0\nTraceback (most recent call last):\nZeroDivisionError: no\n```\nend\n"
    made = notebook(page + "<!-- needs: a/b.txt -->\n```console\n$ cat b.txt\nb\n```\n")
    assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
    kinds = [(cell["cell_type"], cell["source"]) for cell in made["cells"]]
    assert kinds == [
        ("markdown", "# A"),
        ("code", "x = 1\nx"),
        ("code", "x / 0"),
        ("markdown", "end"),
        ("markdown", "*The next cells need `b.txt` in the folder of the notebook.*"),
        ("code", "!cat b.txt"),
    ]
    assert made["cells"][1]["metadata"]["shows"] == "1\n"
    assert made["cells"][2]["metadata"]["tags"] == ["raises-exception"]
    assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"])
    for cell in made["cells"]:
        assert {"cell_type", "id", "metadata", "source"} <= cell.keys()
        assert ("outputs" in cell and "execution_count" in cell) == (cell["cell_type"] == "code")


@pytest.mark.parametrize("wrong", [">>> 1 + 1\n3", ">>> 1 / 0\n1", ">>> 1\nTraceback (most recent call last):\nE: x"])
def test_a_cell_that_shows_something_else_fails(wrong: str, tmp_path: Path) -> None:
    [cell] = notebook(f"```python\n{wrong}\n```")["cells"]
    with pytest.raises(AssertionError):
        check_cell(cell, {}, tmp_path)


def test_the_script_writes_a_file_for_each_page(tmp_path: Path) -> None:
    script = [sys.executable, str(ROOT / "scripts" / "notebooks.py"), str(tmp_path / "out")]
    subprocess.run(script, check=True, capture_output=True, timeout=LIMIT_S)
    assert {path.stem for path in (tmp_path / "out").glob("*.ipynb")} == {page.stem for page in PAGES}
