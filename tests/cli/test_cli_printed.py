"""No file name, token or text reaches the terminal unchanged: control characters are printed as escapes."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pytest
from command_line import process
from processors import LIMIT_S
from systems import needs

import toksmith
from toksmith import _cli, _render


@pytest.mark.slow
@needs("any names")
def test_a_name_that_is_not_utf8_is_printed_as_escapes(tmp_path: Path) -> None:
    toksmith.train("low lower", merges=2).save(tmp_path / "tok.toksmith")
    path = os.fsencode(tmp_path) + b"/\xff\x9b31m.txt"
    Path(os.fsdecode(path)).write_bytes(b"low")
    result = process("count", Path(os.fsdecode(path)), "-t", tmp_path / "tok.toksmith")
    assert result.stdout.decode().endswith("/\\udcff\\udc9b31m.txt\n")


@pytest.mark.slow
def test_commands_print_in_one_place() -> None:
    for path in Path(_cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                drawn = any(word.arg == "end" for word in node.keywords) and path.name == "program.py"
                assert drawn, f"{path.name}:{node.lineno} prints what may be foreign"


@pytest.mark.slow
def test_every_character_that_does_not_print_is_escaped() -> None:
    unprintable = [char for char in map(chr, range(0x110000)) if not char.isprintable()]
    printable = "".join({*map(chr, range(0x110000))} - {*unprintable})
    assert _render.plain(f"{printable}\t")[:-2] == _render.one_line(f"{printable}\t")[:-2] == printable
    escaped = _render.one_line("".join(unprintable))
    assert escaped.isprintable() and _render.plain("".join(unprintable)).replace("\n", "\\n") == escaped
    for char in (*(chr(code) for code in (*range(32), *range(0x7F, 0xA0), *range(0x202A, 0x202F))), "\u2066", "\u2069"):
        assert _render.one_line(f"a{char}b").isprintable() and len(_render.one_line(char)) > 1
        assert json.loads(_render.plain_json(json.dumps(char, ensure_ascii=False))) == char


# Streams that fail


@pytest.mark.slow
@needs("full device")
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("command", ["-V", "--help", "encode --help", "list formats"])
def test_a_full_disk_is_one_line_that_names_stdout(command: str, unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        ended = streamed(command, stdout=full, PYTHONUNBUFFERED=unbuffered)
    said = b"toksmith: stdout: cannot be written: No space left on device\n"
    assert (ended.returncode, ended.stderr) == (1, said)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["-V", "--help", "encode --help", "list formats"])
def test_a_reader_that_has_left_and_a_closed_stream_are_not_errors(command: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = streamed(command, stdout=writer)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (0, b"")
    ended = streamed(command, before=["sh", "-c", 'exec "$@" >&-', "sh"])
    assert (ended.returncode, ended.stderr) == (0, b"")


def streamed(
    command: str, stdout: int | IO[bytes] = subprocess.PIPE, before: Sequence[str] = (), **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """A command as a process with this stdout."""
    words = [*before, sys.executable, "-m", "toksmith", *command.split()]
    return subprocess.run(
        words, stdout=stdout, stderr=subprocess.PIPE, check=False, env=os.environ | environment, timeout=LIMIT_S
    )
