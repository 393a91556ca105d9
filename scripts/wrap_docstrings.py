"""Usage: python scripts/wrap_docstrings.py [--write]

Rewraps the docstrings of the public names so that `help()` fits into 80 columns, and lists those that do not fit. Only
paragraphs of prose are rewrapped: not examples, blocks under a fence, tables and lists whose lines are short enough.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "project")]

COLUMNS = 80
PACKAGES = (
    "explain",
    "metrics",
    "compat.tutorial",
    "compat.rustbpe",
    "compat.minbpe",
    "compat.tiktoken",
)  # whose public names count too
OF_A_FUNCTION, OF_A_CLASS, OF_A_METHOD = 4, 5, 9  # what `help` puts before each line of a docstring


def documented() -> Iterator[tuple[str, Any, int]]:
    """The public things with docstrings: the name, the function, class or module, and the width of their lines."""
    from test_surface import public_things

    for name, thing in [*public_things(), *of_packages()]:
        own = thing.fget if isinstance(thing, property) else getattr(thing, "__func__", thing)
        own = inspect.unwrap(own) if callable(own) else own
        margin = OF_A_METHOD if "." in name else OF_A_CLASS if inspect.isclass(own) else OF_A_FUNCTION
        yield name, own, COLUMNS - margin


def of_packages() -> Iterator[tuple[str, Any]]:
    """The public names of packages, their methods and properties, and what all results inherit."""
    from toksmith._render import Shown

    found = [(name, getattr(module, name)) for module in map(import_package, PACKAGES) for name in module.__all__]
    for name, thing in [*found, ("Shown", Shown)]:
        if inspect.isclass(thing) or callable(thing):
            yield name, thing
        for member, value in vars(thing).items() if inspect.isclass(thing) else ():
            if not member.startswith("_") and (callable(value) or isinstance(value, (property, classmethod))):
                yield f"{name}.{member}", value


def import_package(name: str) -> Any:
    """A public package by its name."""
    return import_module(f"toksmith.{name}")


def too_wide() -> list[str]:
    """The lines that `help` would show beyond the last column."""
    found = []
    for name, thing, width in documented():
        example = False
        for line in (inspect.getdoc(thing) or "").splitlines():
            example = (example or line.lstrip().startswith(">>>")) and bool(line.strip())
            if len(line) > width and not example and not line.lstrip().startswith("|"):
                found.append(f"{name}: {line}")
    return found


def rewrapped(text: str, width: int) -> str:
    """A docstring without its margin, whose prose has at most `width` characters in a line."""
    lines, done, example, fence = text.split("\n"), [], False, False
    while lines:
        line = lines.pop(0)
        plain = line.strip()
        fence ^= plain.startswith("```")
        example = (example or plain.startswith(">>>")) and bool(plain)
        if len(line) <= width or example or fence or plain.startswith(("|", "```")):
            done.append(line)
            continue
        margin = line[: len(line) - len(line.lstrip())]
        follows: list[str] = []
        while lines and continues(lines[0], margin, follows):
            follows.append(lines.pop(0))
        hanging = follows[0][: len(follows[0]) - len(follows[0].lstrip())] if follows else hanging_of(line, margin)
        whole = " ".join(part.strip() for part in [line, *follows])
        options: Any = {"break_long_words": False, "break_on_hyphens": False}
        done += textwrap.wrap(whole, width, initial_indent=margin, subsequent_indent=hanging, **options)
    return "\n".join(done)


def continues(line: str, margin: str, before: list[str]) -> bool:
    """Whether a line belongs to the paragraph, or to the argument, that began with the margin."""
    plain = line.strip()
    indent = line[: len(line) - len(line.lstrip())]
    if not plain or plain.startswith((">>>", "- ", "|", "```")) or begins_section(plain):
        return False
    if before:
        return indent == before[0][: len(before[0]) - len(before[0].lstrip())]
    return len(indent) > len(margin) or (indent == margin and not (margin and is_item(plain)))


def begins_section(plain: str) -> bool:
    """Whether a line begins a section of a docstring."""
    return plain.partition(":")[0] in ("Attributes", "Args", "Returns", "Raises", "Cost", "Source")


def is_item(plain: str) -> bool:
    """Whether a line begins the description of an argument, an attribute or an error."""
    name, colon, _ = plain.partition(": ")
    return bool(colon) and all(part.replace("`", "").replace(".", "").isidentifier() for part in name.split(", "))


def hanging_of(line: str, margin: str) -> str:
    """The indentation of the lines that continue a line of its own."""
    plain = line.strip()
    item = bool(margin) and is_item(plain)
    return margin + ("    " if item or begins_section(plain) else "  " if plain.startswith("- ") else "")


def rewrite(path: Path, wanted: dict[int | str, int]) -> int:
    """Rewraps the docstrings of the definitions of a file that start in these lines or have these names; how many changed."""
    source = path.read_text(encoding="utf-8")
    lines = source.split("\n")
    changed = 0
    kinds = (ast.FunctionDef, ast.ClassDef, ast.Module)
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)]
    for node in sorted(nodes, key=lambda node: -getattr(node, "lineno", 0)):
        width = wanted.get(key_of(node))
        if width is None or not ast.get_docstring(node):
            continue
        expression = node.body[0]
        assert expression.end_lineno is not None
        start, end = expression.lineno - 1, expression.end_lineno
        margin = " " * expression.col_offset
        old = lines[start:end]
        opening = old[0][: old[0].index('"""') + 3]
        body = "\n".join([old[0][len(opening) :], *(line.removeprefix(margin) for line in old[1:])])
        body, closing = body[: body.rindex('"""')], '"""'
        # The opening quotes take room in the source, not in what `help` shows.
        new = rewrapped(body, width).split("\n")
        told = [opening + new[0], *(f"{margin}{line}" if line else "" for line in new[1:])]
        told[-1] = (told[-1] or margin) + closing
        if told != old:
            lines[start:end] = told
            changed += 1
    path.write_text("\n".join(lines), encoding="utf-8")
    return changed


def key_of(node: ast.FunctionDef | ast.ClassDef | ast.Module) -> int | str:
    """What a definition is found by: the first line of a function, the name of a class, "" for the module."""
    if isinstance(node, ast.Module):
        return ""
    lines = [node.lineno, *(each.lineno for each in node.decorator_list)]
    return node.name if isinstance(node, ast.ClassDef) else min(lines)


def main() -> None:
    """Lists, or rewrites."""
    if "--write" in sys.argv:
        files: dict[str, dict[int | str, int]] = {}
        for _, thing, width in documented():
            if inspect.isfunction(thing):
                found = files.setdefault(inspect.getsourcefile(thing) or "", {})
                line = inspect.getsourcelines(thing)[1]
                found[line] = min(width, found.get(line, width))
            elif inspect.ismodule(thing):
                files.setdefault(thing.__file__ or "", {})[""] = width
            elif inspect.isclass(thing):
                errors = thing.__module__ == "toksmith"  # as tracebacks name them
                module = import_module("toksmith._base.errors") if errors else sys.modules[thing.__module__]
                files.setdefault(module.__file__ or "", {})[thing.__name__] = width
        for path, wanted in sorted(files.items()):
            if changed := rewrite(Path(path), wanted):
                print(f"{path}: {changed}")
    left = too_wide()
    print(*left, sep="\n")
    print(f"{len(left)} lines are too wide")
    sys.exit(bool(left))


if __name__ == "__main__":
    main()
