"""Tries an installed toksmith as a user, with only Python: `python -I scripts/try_installed.py`.

It runs the Python lines of README.md, a round trip from training to another format through the API and the shell, and
checks the other installed files. It needs no network and writes only to a temporary folder.
"""

from __future__ import annotations

import doctest
import importlib.machinery
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

import toksmith

README = Path(__file__).resolve().parent.parent / "README.md"
TEXTS = ["low lower lowest", "slow slower slowest", "Größe, 寿司 and 🍣", "\r\n\t  \x00", ""]
COMMAND = shutil.which("toksmith", path=sysconfig.get_path("scripts"))


class Checker(doctest.OutputChecker):
    """Ignores the lines of `convert` about another library, which can be missing."""

    def check_output(self, want: str, got: str, flags: int) -> bool:
        """Whether the other lines are equal."""
        return super().check_output(without_library_lines(want), without_library_lines(got), flags)


def without_library_lines(said: str) -> str:
    """The text without lines about the library."""
    return re.sub(r"^(tokenizers \d|the real library was not run:).*\n", "", said, flags=re.MULTILINE)


def check_readme() -> str:
    """The lines of README.md print the output that it shows."""
    blocks = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README.md", str(README), 0)
    runner = doctest.DocTestRunner(Checker())
    runner.run(test)
    assert runner.tries > 5 and runner.failures == 0, f"{runner.failures} of {runner.tries} lines failed"
    return f"{runner.tries} lines"


def check_round_trip() -> str:
    """Training, encoding and decoding, saving and loading, converting."""
    tok = toksmith.train(TEXTS, 280, special_tokens=["<|endoftext|>"], progress=False)
    for text in TEXTS:
        assert tok.decode(tok.encode(text)) == text
    ids = [tok.encode(text) for text in TEXTS]
    assert tok.encode_batch(TEXTS) == ids
    tok.save("own.toksmith")
    toksmith.convert("own.toksmith", "tokenizer.json", verify=TEXTS)
    for path in ("own.toksmith", "tokenizer.json"):
        other = toksmith.load(path)
        assert [other.encode(text) for text in TEXTS] == ids, path
    assert toksmith.reference.__doc__
    return f"{len(tok)} tokens"


def command_output(*arguments: str, text: str = "") -> str:
    """The output of the installed command."""
    assert COMMAND is not None, "the command is not installed"
    command = [COMMAND, *arguments]
    return subprocess.run(command, input=text, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8").stdout


def check_shell() -> str:
    """The command trains, encodes and decodes, and prints its version."""
    version = toksmith.__version__
    assert command_output("--version") == f"toksmith {version}\n"
    command_output("train", "--text", "low lower lowest", "--merges", "3", "-o", "shell.toksmith", "--quiet")
    ids = command_output("encode", "-t", "shell.toksmith", text="lowest")
    assert command_output("decode", "-t", "shell.toksmith", text=ids).rstrip("\n") == "lowest"
    assert "train" in command_output("--help")
    return version


def check_installed_files() -> str:
    """The core is compiled for this interpreter, and the metadata, licences and manual page are installed."""
    distribution = importlib.metadata.distribution("toksmith")
    assert distribution.version == toksmith.__version__
    package = Path(toksmith.__file__).parent
    assert package.parent == Path(sysconfig.get_path("platlib")), package
    core = sys.modules["toksmith._core"]
    assert Path(str(core.__file__)).name.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES))
    assert (package / "py.typed").is_file() and (package / "__init__.pyi").is_file()
    names = {Path(str(each)).name for each in distribution.files or ()}
    assert {"LICENSE", "NOTICES.txt", "toksmith.1"} <= names
    assert any(name.endswith(".cyclonedx.json") for name in names)
    return Path(str(core.__file__)).name


CHECKS: tuple[Callable[[], str], ...] = (check_installed_files, check_readme, check_round_trip, check_shell)


def main() -> None:
    """Run every check in a temporary folder."""
    if not sys.flags.isolated:
        sys.exit("run this with python -I, so that only the installed toksmith is found")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for check in CHECKS:
            print(f"{check.__name__}: {check()}", flush=True)
        os.chdir(README.parent)  # Windows cannot remove the current folder of a program


if __name__ == "__main__":
    main()
