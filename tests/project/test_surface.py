"""What a user meets first: the public names and their docstrings, and every example of README.md and docs/.

A document runs from top to bottom in a separate folder. A `python` block with `>>>` is a doctest, one without is
executed; all blocks of a document share their names. In a `console` or `bash` block, a line that starts with `$ ` is a
command (`> ` continues it), and the lines below are what it prints, where the block shows them; `...` stands for any
text. Commands that set up the checkout itself are left out. `.venv` in a command is the environment of the tests.

A block under the line `<!-- needs: corpora/a.txt vocab/b.tiktoken -->` finds these files of the shared test data in its
folder, which is also the cache of published encodings. Where one is missing the block is left out, and the test, after
all other blocks ran, is a skipped one that names what it lacks.

A picture that a block writes into its folder must equal the committed one in `pictures/` next to the document;
`TOKSMITH_PICTURES=1` rewrites the committed pictures.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import io
import os
import re
import shutil
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import DATA, ROOT
from processors import LIMIT_S
from systems import WINDOWS, require

import toksmith

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NEEDS = r"(?:^<!-- needs: ([^\n]*?) -->\n)?"
BLOCK = re.compile(NEEDS + r"^([ ]*)```(python|console|bash)\n(.*?)^\2```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = re.compile(r"(make|git clone|cd|pip install)\b")
SECTIONS = ("Attributes", "Args", "Returns", "Raises", "Cost", "Source", ">>>")


def public_things() -> Iterator[tuple[str, Any]]:
    """The public names and the public methods and properties of the public classes, by dotted name."""
    for name in toksmith.__all__:
        yield from things(name, getattr(toksmith, name))


def things(name: str, thing: Any) -> Iterator[tuple[str, Any]]:
    """A public name, and its public methods and properties."""
    yield name, thing
    for member, value in vars(thing).items() if inspect.isclass(thing) else ():
        if not member.startswith("_") and (callable(value) or isinstance(value, (property, classmethod))):
            yield f"{name}.{member}", value


def test_all_is_sorted_and_complete() -> None:
    assert list(toksmith.__all__) == sorted(set(toksmith.__all__))
    kinds = (types.ModuleType, type(annotations))
    bound = {name for name, value in vars(toksmith).items() if not isinstance(value, kinds)}
    assert {name for name in bound if not name.startswith("_")} <= set(toksmith.__all__)


def test_the_stub_has_the_same_names_in_the_same_modules() -> None:
    stub = ast.parse((Path(toksmith.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))
    modules = {name.name: node.module for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names}
    found = vars(toksmith)
    assert modules == found["_HOME_OF"] | dict.fromkeys(found["_MODULES"])
    listed = next(ast.literal_eval(node.value) for node in stub.body if isinstance(node, ast.Assign))
    assert listed == toksmith.__all__


def test_only_requested_modules_are_imported() -> None:
    asked = "import sys, toksmith; toksmith.load; print(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, text=True).stdout.split()
    assert "toksmith._sources.load" in found
    assert not {*found} & (
        NOT_FOR_TEXTS | {"click", "toksmith.explain", "toksmith._judge.doctor", "toksmith._training"}
    )


SHELL = """
import sys
opened = []
sys.addaudithook(lambda event, args: opened.append(args[0]) if event == "open" else None)
from toksmith._cli import main
try:
    main()
finally:
    print(*sys.modules, *(f"open:{name}" for name in opened), file=sys.stderr)
"""
NOT_FOR_TEXTS = {
    "numpy",
    "rich",
    "google.protobuf",
    "regex",
    "pathlib",
    "logging",
    "tempfile",
    "shutil",
    "ssl",
    "asyncio",
}
NOT_FOR_TEXTS |= {"hashlib", "urllib.request", "pyarrow", "matplotlib", "importlib.metadata"}


@pytest.mark.parametrize("file", ["own.toksmith", "own.tiktoken", "tokenizer.json"])
@pytest.mark.parametrize("command", ["count", "encode", "decode"])
def test_a_command_on_a_text_imports_little_and_opens_each_file_once(tmp_path: Path, command: str, file: str) -> None:
    tok = toksmith.train("low lower lowest", 260, special_tokens=["<|end|>"], progress=False)
    tok.save(tmp_path / file)
    (tmp_path / "a.txt").write_text("108 111" if command == "decode" else "low lower lowest", encoding="utf-8")
    more = ["--pattern", "cl100k", "--special-token", "<|end|>=259"] if file.endswith(".tiktoken") else []
    arguments = [sys.executable, "-c", SHELL, command, "a.txt", "-t", file, *more]
    ran = subprocess.run(arguments, check=True, capture_output=True, text=True, cwd=tmp_path)
    found = ran.stderr.split()
    assert "toksmith._tokenizer.tokenizer" in found
    assert not {*found} & NOT_FOR_TEXTS
    ours = {"explain", "_judge", "_training", "_playground", "_jobs", "metrics"}
    assert not {*found} & {f"toksmith.{name}" for name in ours}
    assert [found.count(f"open:{name}") for name in (file, "a.txt")] == [1, 1]


def test_an_array_of_numpy_is_made_at_first_use(tmp_path: Path) -> None:
    tok = toksmith.train("low lower lowest", 260, progress=False)
    tok.save(tmp_path / "own.toksmith")
    asked = """
import sys, toksmith
tok = toksmith.load("own.toksmith")
assert tok.decode(tok.encode("low lower")) == "low lower" and tok.count("low") and tok.encode_batch(["low"])
assert "numpy" not in sys.modules
print(tok.model.merges.tolist(), tok.model.ids.tolist() == [*range(260)], tok.model.training.left.tolist())
print(tok.encode_array("low", dtype="int64").dtype, tok.encode_padded(["low"], pad=0).ids.dtype, *tok.model.tokens.ends[-2:])
"""
    ran = subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True, text=True, cwd=tmp_path)
    model, record = tok.model, tok.model.training
    assert record is not None
    expected = f"{model.merges.tolist()} True {record.left.tolist()}\nint64 int64 {' '.join(map(str, model.tokens.ends[-2:]))}\n"
    assert ran.stdout == expected


# The reference is separate: it is a page to read, and lists no name twice.
REFERENCE = sorted((Path(toksmith.__file__).parent / "reference").glob("*.py"))
PACKAGES = [name for name in vars(toksmith)["_MODULES"] if name != "reference"]
PAGES = ["reference", *(f"reference.{path.stem}" for path in REFERENCE if path.stem[0] != "_")]
MODULES = ["", *PACKAGES, *(f"compat.{name}" for name in toksmith.compat.__all__ if name != "install")]


@pytest.mark.parametrize("module", MODULES)
def test_dir_shows_public_names_only(module: str) -> None:
    found = import_module(f"toksmith.{module}".rstrip("."))
    shown = [name for name in dir(found) if not name.startswith("__")]
    assert shown == sorted(found.__all__)
    assert all(getattr(found, name) is not None for name in shown)


@pytest.mark.parametrize("page", PAGES)
def test_dir_of_the_specification_shows_what_a_page_defines(page: str) -> None:
    found = import_module(f"toksmith.{page}")
    shown = [name for name in dir(found) if not name.startswith("__")]
    tree = ast.parse(inspect.getsource(found))
    made = [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    made += [
        target.id
        for node in tree.body
        for target in (node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)])
        if isinstance(target, ast.Name)
    ]
    public = {name for name in made if not name.startswith("_")}
    assert public <= {*shown} and not any(name.startswith("_") for name in shown)
    others = {name for other in PAGES for name in vars(import_module(f"toksmith.{other}"))}
    assert not {*shown} & {"Mapping", "Sequence", "Callable", "regex", "annotations", "NamedTuple", "Any", "pairwise"}
    assert {*shown} <= public | others


def completions(*, jedi: bool) -> Callable[[str], set[str]]:
    """What IPython offers at the end of a line, after `import toksmith` and with a variable `tok`."""
    core: Any = import_module("IPython.core.completer")
    shells: Any = import_module("IPython.core.interactiveshell")
    config: Any = import_module("traitlets.config")

    shell = shells.InteractiveShell(config=config.Config({"HistoryManager": {"enabled": False}}))
    shell.user_ns.update(toksmith=toksmith, tok=toksmith.train("low", 257, progress=False))
    completer = core.IPCompleter(shell=shell, namespace=shell.user_ns, use_jedi=jedi)

    def offered(line: str) -> set[str]:
        with core.provisionalcompleter():
            return {found.text.rpartition(".")[2] for found in completer.completions(line, len(line))}

    return offered


@pytest.mark.slow
@pytest.mark.parametrize("jedi", [True, False], ids=["jedi", "plain"])
def test_ipython_completes_public_names_only(jedi: bool) -> None:
    pytest.importorskip("IPython", reason="lacks IPython; tests/requirements.txt has it")
    complete = completions(jedi=jedi)
    offered = complete("toksmith.")
    assert set(toksmith.__all__) <= offered
    assert not {name for name in offered if name.startswith("_") and not name.startswith("__")}
    assert {"encode", "encode_batch", "encode_with_offsets", "encode_sampled"} <= complete("tok.enc")
    assert complete("toksmith.enc") == {"encodings"}
    assert {"encode", "n_vocab"} <= complete("toksmith.compat.tiktoken.Encoding.")
    assert complete("toksmith.compat.") >= {"minbpe", "tiktoken", "tokenizers"}


@pytest.mark.parametrize("name, thing", [*public_things()], ids=lambda value: value if isinstance(value, str) else "")
def test_every_public_name_is_documented(name: str, thing: object) -> None:
    text = inspect.getdoc(thing) or ""
    assert text.strip(), f"{name} has no docstring"
    found = re.findall(rf"^({'|'.join(SECTIONS)})\b:?", text, re.MULTILINE)
    in_order = [section for section in SECTIONS if section in found]
    assert list(dict.fromkeys(found)) == in_order, f"{name}: the sections are not in the order {SECTIONS}"


class Command(NamedTuple):
    """A shell command of a document, and the output that the document shows."""

    line: int
    text: str
    shown: str


def commands(block: str, line: int) -> Iterator[Command]:
    """The commands of a console block that starts at `line` of its document."""
    found: list[tuple[int, list[str], list[str]]] = []
    for number, row in enumerate(block.splitlines(), line):
        if row.startswith("$ "):
            found.append((number, [row[2:]], []))
        elif found and row.startswith("> ") and not found[-1][2]:
            found[-1][1].append(row[2:])
        elif found:
            found[-1][2].append(row)
        elif row.strip():
            raise AssertionError(f"line {number}: output without a command above it (commands start with '$ ')")
    for number, text, shown in found:
        yield Command(number, "\n".join(text), "\n".join(shown))


def run_command(command: Command, folder: Path, where: str) -> None:
    """Runs one command; a failure or other output fails the test."""
    if LEFT_OUT.match(command.text):
        return
    if (shell := shutil.which("bash")) is None:
        pytest.skip("lacks bash")
    path = os.pathsep.join([str(Path(sys.prefix, "Scripts" if WINDOWS else "bin")), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONIOENCODING": "utf-8", "PYTHONWARNINGS": "error"}
    ran = subprocess.run(
        [shell, "-c", command.text],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=LIMIT_S,
        check=False,
    )
    assert ran.returncode == 0, f"{where}:{command.line}: {command.text!r} exits {ran.returncode}\n{ran.stdout}"
    want, got = (strip_lines(text) for text in (command.shown, OF_A_SLOW_MACHINE.sub("", ran.stdout)))
    if want:
        same = doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS)
        assert same, f"{where}:{command.line}: {command.text!r} prints\n{got}and the document shows\n{want}"


def strip_lines(text: str) -> str:
    """`text` without white space at the ends of its lines and empty lines at its ends."""
    lines = "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")
    return lines and lines + "\n"


def run_python(code: str, names: dict[str, Any], where: str, line: int) -> None:
    """Runs one block of Python: as a doctest when it has prompts, whole when not."""
    if ">>>" not in code:
        exec(compile("\n" * line + code, where, "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(code, {}, where, where, line)
    test.globs = names  # the same dictionary, so that functions of one block read names that later blocks bind
    report = io.StringIO()
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(test, out=report.write, clear_globs=False)
    assert not runner.failures, report.getvalue()


def provide(needs: str, folder: Path) -> list[str]:
    """Puts the named files of the shared test data into `folder`, and gives the names of those that are missing."""
    present = [name for name in needs.split() if (DATA / name).is_file()]
    for name in present:
        link = folder / Path(name).name
        if not link.exists():
            require("links")
            link.symlink_to(DATA / name)
    return [name for name in needs.split() if name not in present]


def run_document(text: str, folder: Path, where: str) -> int:
    """Runs the blocks of a document from top to bottom and gives their number."""
    names: dict[str, Any] = {"__name__": "__main__"}
    blocks = list(BLOCK.finditer(text))
    lacking: dict[str, None] = {}
    for block in blocks:
        needs, indent, kind, body = block.groups()
        if missing := provide(needs or "", folder):
            lacking.update(dict.fromkeys(missing))
            continue
        line = text.count("\n", 0, block.start(3)) + 1
        body = re.sub(rf"^{indent}", "", body, flags=re.MULTILINE)
        if kind == "python":
            run_python(body, names, where, line)
        else:
            for command in commands(body, line + 1):
                run_command(command, folder, where)
    if lacking:
        pytest.skip(f"lacks {', '.join(lacking)} in {DATA}; all blocks that need none of these ran")
    return len(blocks)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory where `.venv` is the environment of the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TOKSMITH_CACHE", str(tmp_path))
    require("links")
    (tmp_path / ".venv").symlink_to(sys.prefix, target_is_directory=True)
    return tmp_path


# Times and speeds, which commands print after two seconds.
OF_A_SLOW_MACHINE = re.compile(
    r"^toksmith: done in [\d.,]+ s\n"
    r"|^toksmith: [\d,]+ bytes in .* s \(.*\)\n| in [\d.,]+ s \([^)]*(?:/s|a second)\)",
    re.MULTILINE,
)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_document_runs(document: Path, folder: Path) -> None:
    try:
        blocks = run_document(document.read_text(encoding="utf-8"), folder, document.name)
        assert blocks or document != ROOT / "README.md"
    finally:
        check_pictures(folder, document.parent / "pictures")


def check_pictures(folder: Path, committed: Path) -> None:
    """Compares the pictures that a document wrote with the committed ones."""
    for made in sorted(folder.glob("*.svg")):
        content = made.read_text(encoding="utf-8")
        if os.environ.get("TOKSMITH_PICTURES"):
            (committed / made.name).write_text(content, encoding="utf-8")
        assert content == (committed / made.name).read_text(encoding="utf-8"), f"{made.name} is another picture now"


WRONG = {
    "doctest": "```python\n>>> 1 + 1\n3\n```",
    "code": "```python\nassert False\n```",
    "output": "```console\n$ echo one\ntwo\n```",
    "exit": "```console\n$ false\n```",
    "second": "```console\n$ echo one\none\n$ echo two \\\n> three\ntwo\n```",
    "no command": "```bash\necho one\n```",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_document_fails(text: str, folder: Path) -> None:
    with pytest.raises(AssertionError):
        run_document(text, folder, "wrong.md")


RIGHT = r"""
```python
x = 0
def seen():
    return x
```
- A block may stand in a list.
  ```python
  >>> x = 1
  >>> seen()
  1
  >>> from pathlib import Path
  >>> Path("f").write_text("é", encoding="utf-8")
  1
  ```

```console
$ make nothing
left out
$ cat f
é

$ echo a b c; \
> echo d
a ... c
d
$ test -x .venv/bin/python
```
"""


def test_a_right_document_runs(folder: Path) -> None:
    assert run_document(RIGHT, folder, "right.md") == 3


def test_a_picture_is_the_committed_one(folder: Path) -> None:
    (folder / "pictures").mkdir()
    (folder / "pictures" / "a.svg").write_text("<svg/>", encoding="utf-8")
    run_document("```console\n$ printf '<svg/>' > a.svg\n```", folder, "picture.md")
    check_pictures(folder, folder / "pictures")
    (folder / "a.svg").write_text("<svg />", encoding="utf-8")
    with pytest.raises(AssertionError, match="another picture"):
        check_pictures(folder, folder / "pictures")


def test_a_block_gets_its_files_or_is_left_out(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "shared").mkdir()
    (folder / "shared" / "a.txt").write_text("a", encoding="utf-8")
    monkeypatch.setattr(sys.modules[__name__], "DATA", folder / "shared")
    assert run_document("<!-- needs: a.txt -->\n```console\n$ cat a.txt\na\n```", folder, "needs.md") == 1
    left_out = "<!-- needs: a.txt b.txt -->\n```python\nassert False\n```\n```python\nx = 1\n```"
    with pytest.raises(pytest.skip.Exception, match=r"lacks b\.txt"):
        run_document(left_out, folder, "needs.md")
    with pytest.raises(AssertionError):
        run_document(left_out + "\n```python\nassert False\n```", folder, "needs.md")
