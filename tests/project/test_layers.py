"""Imports point down only: the layers of ARCHITECTURE.md, from the ground up. A new module needs its place in `ROWS`."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "toksmith"
WINGS = """_core
errors _base
_storage
_render
_model
_formats
_corpus
_tokenizer
_training
_sources
explain metrics
_graft
_judge
_jobs compat
_accelerate
corpus types
__init__
_cli _playground __main__
"""
ROWS = [line.split() for line in WINGS.splitlines()]
MAY = {name: {x for line in ROWS[:row] for x in line} for row, names in enumerate(ROWS) for name in names}
# Exceptions: programs import other things from the public names, and the specification imports nothing of the package.
MAY |= {name: {"__init__", "_base", "_render"} for name in ("_cli", "_playground")} | {"__main__": {"_cli"}}
MAY |= {"reference": set(), "explain": MAY["explain"] | {"reference"}, "_jobs": MAY["_jobs"] | {"__init__"}}
MAY["__init__"] |= {"reference", "_playground"}
MAY["types"] |= {"_playground"}
MAY["errors"] |= {"_base"}  # how messages word values
MAY["_base"] |= {"errors"}


def imports(path: Path) -> Iterator[str]:
    here = ("toksmith", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        level, module = getattr(node, "level", 0), getattr(node, "module", None) or ""
        for alias in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            parts = [*here[: len(here) + 1 - level if level else 0], *module.split("."), alias.name]
            first, *rest = ".".join(filter(None, parts)).split(".")
            if first == "toksmith":  # a public name that is imported from the package comes from `__init__`
                yield rest[0] if rest and (level or rest[0].startswith("_")) else "__init__"


def test_imports_point_down() -> None:
    for path in sorted([*PACKAGE.rglob("*.py"), PACKAGE / "__init__.pyi"]):
        units = [path.relative_to(PACKAGE).parts[0].partition(".")[0], *imports(path)]
        own, *found = units
        assert {*found} <= {own} | MAY[own], f"{path} imports from its own layer or above, or is in no layer"
