"""Names of functions: a verb with its noun, and a bare name at most twice in a wing of the package."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "toksmith"
# A participle names what happened to a value, not the value that a function returns.
PARTICIPLES = frozenset(
    [
        "asked",
        "built",
        "called",
        "checked",
        "chosen",
        "closed",
        "compared",
        "copied",
        "counted",
        "decoded",
        "drawn",
        "encoded",
        "found",
        "given",
        "held",
        "joined",
        "kept",
        "known",
        "laid",
        "learned",
        "learnt",
        "left",
        "listed",
        "loaded",
        "made",
        "marked",
        "merged",
        "moved",
        "named",
        "opened",
        "packed",
        "parsed",
        "placed",
        "planned",
        "printed",
        "ranked",
        "removed",
        "said",
        "saved",
        "seen",
        "settled",
        "shown",
        "sniffed",
        "spelt",
        "spoken",
        "taken",
        "told",
        "trained",
        "tried",
        "used",
        "wanted",
        "written",
    ]
)
# Names that several files of a wing define on purpose: the interface of a format, and the names that Python calls.
INTERFACES = frozenset({"load", "save", "sniff", "__dir__", "__getattr__"})


def module_functions() -> Iterator[tuple[Path, str]]:
    """The file, in the package, and the name of every function that is not in a class."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield path.relative_to(PACKAGE), node.name


def test_no_function_is_named_by_a_participle() -> None:
    assert not [f"{path}: {name}" for path, name in module_functions() if name.strip("_") in PARTICIPLES]


def test_a_bare_name_is_defined_at_most_twice_in_a_wing() -> None:
    bare = Counter((path.parts[0], name) for path, name in module_functions() if "_" not in name.strip("_"))
    assert not [each for each, times in bare.items() if times > 2 and each[1] not in INTERFACES]
