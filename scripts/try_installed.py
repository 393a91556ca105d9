"""Tries an installed toksmith as a user does, with nothing but Python: `python -I scripts/try_installed.py`.

It runs the Python lines of README.md, a round trip from training to another format through the API and the shell, and looks
at what was installed beside the code. It needs no network and writes to a temporary folder only.
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
    """Leaves out what `convert` says of another library, which need not be installed."""

    def check_output(self, want: str, got: str, flags: int) -> bool:
        """Whether the other lines are equal."""
        return super().check_output(alone(want), alone(got), flags)


def alone(said: str) -> str:
    """What is left without lines about the library."""
    return re.sub(r"^(tokenizers \d|the real library was not run:).*\n", "", said, flags=re.MULTILINE)


def readme() -> str:
    """The lines of README.md print what it says."""
    blocks = re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README.md", str(README), 0)
    runner = doctest.DocTestRunner(Checker())
    runner.run(test)
    assert runner.tries > 5 and runner.failures == 0, f"{runner.failures} of {runner.tries} lines failed"
    return f"{runner.tries} lines"


def round_trip() -> str:
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


def said(*arguments: str, text: str = "") -> str:
    """What the installed command prints."""
    assert COMMAND is not None, "the command is not installed"
    command = [COMMAND, *arguments]
    return subprocess.run(command, input=text, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8").stdout


def shell() -> str:
    """The command trains, encodes and decodes, and knows its version."""
    version = toksmith.__version__
    assert said("--version") == f"toksmith {version}\n"
    said("train", "--text", "low lower lowest", "--merges", "3", "-o", "shell.toksmith", "--quiet")
    ids = said("encode", "-t", "shell.toksmith", text="lowest")
    assert said("decode", "-t", "shell.toksmith", text=ids).rstrip("\n") == "lowest"
    assert "train" in said("--help")
    return version


def installed() -> str:
    """The core is compiled for this interpreter, and the metadata, the licences and the manual page came along."""
    found = importlib.metadata.distribution("toksmith")
    assert found.version == toksmith.__version__
    package = Path(toksmith.__file__).parent
    assert package.parent == Path(sysconfig.get_path("platlib")), package
    core = sys.modules["toksmith._core"]
    assert Path(str(core.__file__)).name.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES))
    assert (package / "py.typed").is_file() and (package / "__init__.pyi").is_file()
    names = {Path(str(each)).name for each in found.files or ()}
    assert {"LICENSE", "NOTICES.txt", "toksmith.1"} <= names
    assert any(name.endswith(".cyclonedx.json") for name in names)
    return Path(str(core.__file__)).name


CHECKS: tuple[Callable[[], str], ...] = (installed, readme, round_trip, shell)


def main() -> None:
    """Run every check in a temporary folder."""
    if not sys.flags.isolated:
        sys.exit("run me with python -I, so that nothing but the installed toksmith is found")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for check in CHECKS:
            print(f"{check.__name__}: {check()}", flush=True)
        os.chdir(README.parent)  # Windows removes no folder that a program is in


if __name__ == "__main__":
    main()
