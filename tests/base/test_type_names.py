"""No two types of the package have one name, so that a name in an error, a signature or a search means one thing."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from conftest import ROOT

PACKAGE = ROOT / "python" / "toksmith"
# Their names are those of other libraries, or repeat ours on purpose in the specification.
NAMED_BY_OTHERS = ("compat", "reference")


def sources() -> Iterator[Path]:
    for path in sorted(PACKAGE.rglob("*.py*")):
        if path.suffix in (".py", ".pyi") and not path.relative_to(PACKAGE).parts[0].startswith(NAMED_BY_OTHERS):
            yield path


def types_of(text: str) -> Iterator[str]:
    """The classes that a module defines, nested ones included."""
    return (node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef))


def duplicates(texts: dict[str, str]) -> dict[str, list[str]]:
    """The names that several classes have, and where these are."""
    places = defaultdict(list)
    for place, text in texts.items():
        for name in types_of(text):
            places[name].append(place)
    return {name: found for name, found in places.items() if len(found) > 1}


def test_no_type_name_is_defined_twice() -> None:
    texts = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in sources()}
    assert "_core.pyi" in texts and "_training/__init__.py" in texts
    assert not duplicates(texts)


def test_a_name_that_is_defined_twice_is_found() -> None:
    texts = {"a.py": "class A: pass", "b.py": "class B:\n    class A: pass", "c.py": "class C: pass"}
    assert duplicates(texts) == {"A": ["a.py", "b.py"]}
