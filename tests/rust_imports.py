"""The imports between the files of the Rust core, read from `use` lines and from paths in the code."""

import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "crates" / "core" / "src"
USE = re.compile(r"\buse\s+((?:crate|super|self)::[^;]+);")
PATH = re.compile(r"\b((?:crate|super)(?:::[a-z_][a-z_0-9]*)+)")
TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub\(crate\) )?mod \w+ \{.*\Z", re.DOTALL)
COMMENT = re.compile(r"//[^\n]*")


def files() -> dict[tuple[str, ...], str]:
    """The files of the core by module path, without tests."""
    found = {}
    for path in SOURCE.rglob("*.rs"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        if "tests" in parts or parts in {("lib",), ("drawn",)}:
            continue
        found[parts[:-1] if parts[-1] == "mod" else parts] = str(path.relative_to(SOURCE))
    return found


def leaves(tree: str) -> list[str]:
    """The paths of a `use` tree: `a::{b, c::d}` has `a::b` and `a::c::d`."""
    head, brace, rest = tree.partition("{")
    if not brace:
        return [tree.split(" as ", maxsplit=1)[0].strip()]
    depth, start, found = 0, 0, []
    body = rest.rsplit("}", 1)[0]
    for at, char in enumerate(f"{body},"):
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            found += [head.strip() + leaf for leaf in leaves(body[start:at].strip()) if body[start:at].strip()]
            start = at + 1
    return found


def imports() -> dict[str, set[str]]:
    """For each file, the files that it imports."""
    known = files()
    found: dict[str, set[str]] = {}
    for module, name in known.items():
        code = COMMENT.sub("", TESTS.sub("", (SOURCE / name).read_text()))
        paths = [leaf for tree in USE.findall(code) for leaf in leaves(tree)] + PATH.findall(USE.sub("", code))
        children = [path[-1] for path in known if path[:-1] == module]
        paths += [f"self::{name}" for name in children if re.search(rf"(?<![\w:]){name}::", code)]
        targets = {resolve_module(path, module, known) for path in paths}
        found[name] = {known[target] for target in targets if target is not None and target != module}
    return found


def resolve_module(path: str, module: tuple[str, ...], known: dict[tuple[str, ...], str]) -> tuple[str, ...] | None:
    """The module that contains a path."""
    parts = tuple(path.replace(" ", "").split("::"))
    here: tuple[str, ...] = ()
    if parts[0] == "self":
        here, parts = module, parts[1:]
    elif parts[0] == "super":
        here = module
        while parts and parts[0] == "super":
            here, parts = here[:-1], parts[1:]
    else:
        parts = parts[1:]
    whole = (*here, *parts)
    return next((whole[:end] for end in range(len(whole), 0, -1) if whole[:end] in known), None)


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of nodes that reach each other, each sorted."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for target in graph[waiting.pop()]:
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return seen

    reach = {node: reached(node) for node in graph}
    groups = {tuple(sorted(other for other in reach[node] if node in reach[other])) for node in graph}
    return [list(group) for group in sorted(groups) if len(group) > 1]


def folder(name: str) -> str:
    """The folder of a file in the core, or the file itself in the root."""
    return name.split("/", maxsplit=1)[0] if "/" in name else name.removesuffix(".rs")
