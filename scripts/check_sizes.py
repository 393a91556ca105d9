"""The sizes of ARCHITECTURE.md: prints lines of code per layer and the longest functions, and fails on a broken cap.

A function's lines run from its `def` or `fn` to its end, docstring and attributes aside. A parameter that is a tuple
counts as its parts, unless its type has a name: `pair: tuple[int, int]` in Python, `(a, b): (A, B)` in Rust.
A file's lines are all of its lines; the test modules inside Rust files are left out. Code lines are the ones that hold
more than white space, a comment or a docstring. Rust is read by a scanner that knows strings, comments, characters and
brackets, and no more.
"""

from __future__ import annotations

import ast
import io
import re
import statistics
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FUNCTION_LINES, FUNCTION_LINES_P95, POSITIONAL = 60, 35, 5
FILE_LINES, FILE_LINES_NORMAL = 600, 400
DOCUMENT_LINES = {
    "Makefile": 60,
    "make/*.mk": 60,
    "ARCHITECTURE.md": 110,
    "CONTRIBUTING.md": 120,
    "tests/test_layers.py": 40,
}
REFERENCE, REFERENCE_LINES = "python/toksmith/reference/", 200  # each file of the specification
GENERATED = "enerated by scripts/"  # in the first lines of a table that no person writes
BINDING = "crates/py/"  # PyO3 takes the arguments of a Python call as the parameters of a Rust function

RUST_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*)
    | (?P<block>/\*)
    | (?<!\w)[bc]?r(?P<hashes>\#*)".*?"(?P=hashes)
    | (?<!\w)[bc]?"(?:\\.|[^"\\])*"
    | (?<!\w)b?'(?:\\u\{[^}]*\}|\\x..|\\.|[^'\\\n])'
    | '[A-Za-z_]\w*""",
    re.VERBOSE | re.DOTALL,
)
RUST_FUNCTION = re.compile(r"\bfn\s+(\w+)\s*")
RUST_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+\w+\s*\{")
CLOSES = {"(": ")", "[": "]", "{": "}", "<": ">"}


class Function(NamedTuple):
    """One function: where it is, its lines and its positional parameters, and whether only tests call it."""

    path: str
    line: int
    name: str
    lines: int
    positional: int
    test: bool


class Source(NamedTuple):
    """One file: its lines, the lines of code and of docstrings among them, and its functions."""

    path: str
    lines: int
    code: int
    documentation: int
    functions: list[Function]


def mask_rust(text: str) -> str:
    """`text` of the same shape with comments blanked and strings and characters filled with `_`."""
    parts: list[str] = []
    place = 0
    while match := RUST_TOKEN.search(text, place):
        start, end = match.span()
        if match["block"]:
            end = end_of_block_comment(text, start)
        filler = " " if match["comment"] or match["block"] else "_"
        parts += [text[place:start], re.sub(r"[^\n]", filler, text[start:end])]
        place = end
    return "".join([*parts, text[place:]])


def end_of_block_comment(text: str, start: int) -> int:
    """Where the comment that opens at `start` ends; comments nest."""
    depth = 0
    for match in re.compile(r"/\*|\*/").finditer(text, start):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    raise ValueError("a block comment does not end")


def end_of_brackets(text: str, start: int) -> int:
    """One past the bracket that closes the one at `start`; the `>` of an arrow closes nothing."""
    opens, closes = text[start], CLOSES[text[start]]
    depth = 0
    for match in re.compile(f"[{re.escape(opens + closes)}]").finditer(text, start):
        if closes == ">" and text[match.start() - 1] in "-=":
            continue
        depth += 1 if match[0] == opens else -1
        if depth == 0:
            return match.end()
    raise ValueError(f"{opens!r} at character {start} does not close")


def parts_between(text: str) -> list[str]:
    """The parts that commas separate between the brackets of `text`."""
    depth = 0
    found = [""]
    for place, char in enumerate(text[1:-1], 1):
        arrow = char == ">" and text[place - 1] in "-="
        depth += 0 if arrow else (char in "([{<") - (char in ")]}>")
        if char == "," and depth == 0:
            found.append("")
        else:
            found[-1] += char
    return [part.strip() for part in found if part.strip()]


def rust_parameters(text: str) -> int:
    """The parameters between the brackets of `text`, the receiver aside; a tuple pattern counts as its parts."""
    parameters = [part for part in parts_between(text) if not re.search(r"^[^:]*\bself\b", part)]
    return sum(rust_parts(part) for part in parameters)


def rust_parts(parameter: str) -> int:
    """The parts of a parameter: those of a tuple pattern whose type is a tuple without a name, or one."""
    if not parameter.startswith("("):
        return 1
    end = end_of_brackets(parameter, 0)
    named = not re.match(r"\s*:\s*\(", parameter[end:])
    return 1 if named else len(parts_between(parameter[:end]))


def rust_functions(path: str, text: str, tests: list[tuple[int, int]]) -> Iterator[Function]:
    """The functions with a body in `text`, which is masked."""
    for match in RUST_FUNCTION.finditer(text):
        place = match.end()
        if text[place] == "<":
            place = end_of_brackets(text, place)
        open_at = text.index("(", place)
        place = end_of_brackets(text, open_at)
        parameters = rust_parameters(text[open_at:place])
        while text[place] not in "{;":
            place = end_of_brackets(text, place) if text[place] in "([" else place + 1
        if text[place] == "{":
            end = end_of_brackets(text, place)
            line = text.count("\n", 0, match.start()) + 1
            lines = text.count("\n", match.start(), end) + 1
            test = any(start <= match.start() < stop for start, stop in tests)
            yield Function(path, line, match[1], lines, parameters, test)


def read_rust(path: str, text: str) -> Source:
    """The sizes of a Rust file."""
    text = mask_rust(text)
    tests = [(match.start(), end_of_brackets(text, match.end() - 1)) for match in RUST_TESTS.finditer(text)]
    rest = text
    for start, end in reversed(tests):
        rest = rest[:start] + rest[end:]
    code = sum(bool(line.strip()) for line in rest.splitlines())
    return Source(path, len(rest.splitlines()), code, 0, list(rust_functions(path, text, tests)))


def docstring_lines(node: ast.AST) -> set[int]:
    """The lines of a node's own docstring."""
    body = getattr(node, "body", None)
    if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and body:
        first = body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            return set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return set()


def python_parts(parameter: ast.arg) -> int:
    """The parts of a parameter: those of the tuple that its annotation spells out, or one."""
    annotation = parameter.annotation
    if not (isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) in ("tuple", "Tuple")):
        return 1
    parts = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    return 1 if any(isinstance(part, ast.Constant) and part.value is ... for part in parts) else len(parts)


def read_python(path: str, text: str) -> Source:
    """The sizes of a Python file."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    documentation = set().union(*map(docstring_lines, nodes))
    methods = {id(child) for node in nodes if isinstance(node, ast.ClassDef) for child in node.body}
    functions: list[Function] = []
    for node in nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            static = any(isinstance(mark, ast.Name) and mark.id == "staticmethod" for mark in node.decorator_list)
            receiver = id(node) in methods and not static
            placed = [*node.args.posonlyargs, *node.args.args][receiver:]
            positional = sum(map(python_parts, placed))
            lines = (node.end_lineno or node.lineno) - node.lineno + 1 - len(docstring_lines(node))
            functions.append(Function(path, node.lineno, node.name, lines, positional, path.startswith("tests/")))
    code: set[int] = set()
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in blank:
            code |= set(range(token.start[0], token.end[0] + 1))
    return Source(path, len(text.splitlines()), len(code - documentation), len(documentation), functions)


def sources() -> list[Source]:
    """Every file of code in the project."""
    found: list[Source] = []
    for folder in ("crates", "python", "tests", "scripts", "bench"):
        for file in sorted((ROOT / folder).rglob("*")):
            path = file.relative_to(ROOT).as_posix()
            if file.suffix == ".rs" and "/target/" not in path:
                found.append(read_rust(path, file.read_text(encoding="utf-8")))
            elif file.suffix == ".py":
                found.append(read_python(path, file.read_text(encoding="utf-8")))
    return found


def layer(path: str) -> str:
    """The layer that a file belongs to."""
    if not path.startswith("python/"):
        folders = path.split("/")
        return {"crates/core/src": "core", "crates/py/src": "binding"}.get("/".join(folders[:3]), folders[0])
    return f"python: {path.split('/')[2].removesuffix('.py')}"


def has_cap(path: str) -> bool:
    """Whether the caps on files hold for this one: for none that only serves tests or that no person writes."""
    opening = (ROOT / path).read_text(encoding="utf-8")[:500]
    return "tests" not in Path(path).with_suffix("").parts and GENERATED not in opening


def broken_positional(functions: list[Function]) -> Iterator[str]:
    """One line for each function that takes too many parameters; a tuple counts as its parts."""
    for function in functions:
        if function.positional > POSITIONAL and not function.test and not function.path.startswith(BINDING):
            where = f"{function.path}:{function.line}: {function.name}"
            yield f"{where} has {function.positional} positional parameters, more than {POSITIONAL}"


def broken_caps(found: list[Source], functions: list[Function], p95: float) -> Iterator[str]:
    """One line for each cap that does not hold."""
    for function in functions:
        where = f"{function.path}:{function.line}: {function.name}"
        if function.lines > FUNCTION_LINES:
            yield f"{where} has {function.lines} lines, more than {FUNCTION_LINES}"
    yield from broken_positional(functions)
    if p95 > FUNCTION_LINES_P95:
        yield f"the 95th percentile of the lines of functions is {p95:g}, more than {FUNCTION_LINES_P95}"
    for source in found:
        if source.lines > FILE_LINES and has_cap(source.path):
            yield f"{source.path} has {source.lines} lines, more than {FILE_LINES}"
        if source.path.startswith(REFERENCE) and source.lines - source.documentation > REFERENCE_LINES:
            lines = source.lines - source.documentation
            yield f"{source.path} has {lines} lines beside docstrings, more than {REFERENCE_LINES}"
    for names, cap in DOCUMENT_LINES.items():
        for file in sorted(ROOT.glob(names)):
            lines = len(file.read_text(encoding="utf-8").splitlines())
            if lines > cap:
                yield f"{file.relative_to(ROOT).as_posix()} has {lines} lines, more than {cap}"


def main() -> int:
    """Prints the figures; 1 when a cap is broken."""
    found = sources()
    functions = [function for source in found for function in source.functions]
    shipped = [function for function in functions if not function.test]
    p95 = statistics.quantiles([function.lines for function in shipped], n=20, method="inclusive")[-1]
    code: Counter[str] = Counter()
    for source in found:
        code[layer(source.path)] += source.code
    print("lines of code")
    for name, lines in code.items():
        print(f"{lines:7,}  {name}")
    print(f"functions: {len(shipped)}, 95th percentile {p95:g} lines; the longest:")
    for function in sorted(shipped, key=lambda function: -function.lines)[:5]:
        print(f"{function.lines:7}  {function.path}:{function.line} {function.name}")
    for source in found:
        if source.path.startswith(REFERENCE):
            print(f"{source.path}: {source.lines - source.documentation} lines beside docstrings")
        if FILE_LINES_NORMAL < source.lines <= FILE_LINES and has_cap(source.path):
            print(f"long: {source.path} has {source.lines} lines")
    problems = list(broken_caps(found, functions, p95))
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
