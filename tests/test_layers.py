"""Imports point down only: the layers of ARCHITECTURE.md, from the ground up. A new module needs its place in `ROWS`."""

import ast
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "python" / "toksmith"
ROWS = """arguments byte_tokens deprecated errors meanings other_names model_names paths progress sample system guarded_files core_missing _core remote
files log model render results special stream threads atomic_files encode_files folders marks segments
boundaries pattern_fit patterns formats corpus memory post steps training_kinds
tokenizer tokenizer_view offsets sampled pieces arrays chat session encodings hub counts weights
training sweep surgery load fim
convert explain metrics doctor compat shards graft study
__init__
cli demo playground runners __main__
"""
LAYERS = [line.split() for line in ROWS.splitlines()]
ALSO = "arguments errors meanings other_names, errors meanings, remote errors paths, guarded_files system, render atomic_files, atomic_files files, folders atomic_files files, formats patterns post, pattern_fit formats steps, "
ALSO += "explain reference, doctor metrics explain, study metrics, __init__ reference playground, __main__ cli, cli deprecated meanings paths system, demo system, playground system, results render threads, progress log render, stream threads, log render, model render, segments marks model stream, marks model byte_tokens errors, tokenizer marks, pieces session, tokenizer tokenizer_view offsets sampled pieces arrays chat session"
MAY = {name: {x for line in LAYERS[:row] for x in line} for row, names in enumerate(LAYERS) for name in names}
MAY |= {name: {"__init__", "render"} for name in LAYERS[-1]} | {"reference": set(), "reference_models": {"reference"}}
MAY |= {name: MAY[name] | {*more} for name, *more in map(str.split, ALSO.split(","))}  # more than their lines say


def imports(path: Path) -> Iterator[str]:
    here = ("toksmith", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        level, module = getattr(node, "level", 0), getattr(node, "module", None) or ""
        for alias in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            parts = [*here[: len(here) + 1 - level if level else 0], *module.split("."), alias.name]
            first, *rest = ".".join(filter(None, parts)).split(".")
            if first == "toksmith":  # a public name that is asked of the package itself comes from `__init__`
                yield rest[0] if rest and (level or rest[0].startswith("_")) else "__init__"


def test_imports_point_down() -> None:
    for path in sorted([*PACKAGE.rglob("*.py"), PACKAGE / "__init__.pyi"]):
        units = [path.relative_to(PACKAGE).parts[0].partition(".")[0], *imports(path)]
        own, *found = [name if name in MAY else name.removeprefix("_") for name in units]
        assert {*found} <= {own} | MAY[own], f"{path} imports from its own layer or above, or is in no layer"
