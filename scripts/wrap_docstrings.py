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
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

COLUMNS = 80
OF_A_FUNCTION, OF_A_CLASS, OF_A_METHOD = 4, 5, 9  # what `help` puts before each line of a docstring


def documented() -> Iterator[tuple[str, Any, int]]:
    """The public things with docstrings: the name, the function, class or module, and the width of their lines."""
    from test_surface import public_things

    for name, thing in public_things():
        own = thing.fget if isinstance(thing, property) else getattr(thing, "__func__", thing)
        own = inspect.unwrap(own) if callable(own) else own
        margin = OF_A_METHOD if "." in name else OF_A_CLASS if inspect.isclass(own) else OF_A_FUNCTION
        yield name, own, COLUMNS - margin


def too_wide() -> list[str]:
    """The lines that `help` would show beyond the last column."""
    return [
        f"{name}: {line}"
        for name, thing, width in documented()
        for line in (inspect.getdoc(thing) or "").splitlines()
        if len(line) > width and not line.lstrip().startswith((">>>", "...", "|"))
    ]


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
        follows = []
        while lines and continues(lines[0], margin, follows):
            follows.append(lines.pop(0))
        hanging = follows[0][: len(follows[0]) - len(follows[0].lstrip())] if follows else hanging_of(line, margin)
        whole = " ".join(part.strip() for part in [line, *follows])
        options = {"break_long_words": False, "break_on_hyphens": False}
        done += textwrap.wrap(whole, width, initial_indent=margin, subsequent_indent=hanging, **options)
    return "\n".join(done)


def continues(line: str, margin: str, before: list[str]) -> bool:
    """Whether a line belongs to the paragraph, or to the argument, that began with the margin."""
    plain = line.strip()
    indent = line[: len(line) - len(line.lstrip())]
    if not plain or plain.startswith((">>>", "- ", "|", "```")) or SECTION(plain):
        return False
    if before:
        return indent == before[0][: len(before[0]) - len(before[0].lstrip())]
    return len(indent) > len(margin) or (indent == margin and not is_item(plain))


def SECTION(plain: str) -> bool:  # noqa: N802 - reads as a name of the rule
    """Whether a line begins a section of a docstring."""
    return plain.split(":")[0] in ("Attributes", "Args", "Returns", "Raises", "Cost", "Source")


def is_item(plain: str) -> bool:
    """Whether a line begins the description of an argument, an attribute or an error."""
    name, colon, _ = plain.partition(": ")
    return bool(colon) and all(part.replace("`", "").replace(".", "").isidentifier() for part in name.split(", "))


def hanging_of(line: str, margin: str) -> str:
    """The indentation of the lines that continue a line of its own."""
    plain = line.strip()
    item = bool(margin) and is_item(plain)
    return margin + ("    " if item or SECTION(plain) else "  " if plain.startswith("- ") else "")


def rewrite(path: Path, wanted: dict[int, int]) -> int:
    """Rewraps the docstrings of the definitions that start in these lines of a file; how many changed."""
    source = path.read_text(encoding="utf-8")
    lines = source.split("\n")
    changed = 0
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    for node in sorted(nodes, key=lambda node: -node.lineno):
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        width = wanted.get(node.lineno) or wanted.get(first)
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
        told[-1] += closing
        if told != old:
            lines[start:end] = told
            changed += 1
    path.write_text("\n".join(lines), encoding="utf-8")
    return changed


def main() -> None:
    """Lists, or rewrites."""
    if "--write" in sys.argv:
        files: dict[str, dict[int, int]] = {}
        for _, thing, width in documented():
            if inspect.isfunction(thing) or inspect.isclass(thing):
                line = inspect.getsourcelines(thing)[1]
                wanted = files.setdefault(inspect.getsourcefile(thing) or "", {})
                wanted[line] = min(width, wanted.get(line, width))
        for path, wanted in sorted(files.items()):
            if changed := rewrite(Path(path), wanted):
                print(f"{path}: {changed}")
    left = too_wide()
    print(*left, sep="\n")
    print(f"{len(left)} lines are too wide")
    sys.exit(bool(left))


if __name__ == "__main__":
    main()
