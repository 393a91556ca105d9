"""Nothing that a file name, a token or a text holds reaches the terminal as it is: controls are printed as escapes."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import pytest
from command_line import process, run
from processors import LIMIT_S
from systems import needs, require

import toksmith
from toksmith import _cli, _render

# What moves the cursor, colours, hides, turns the direction, or ends a line where it does not show.
HOSTILE = "\x1b[31mred\x1b]0;title\x07\x08\x7f\x9b2J\x85\u202e\u2066\u2028\u2029\u200b\ufeff\r\n\t\x00"
NAME = HOSTILE.replace("\x00", "")
AS_JSON = ("count", "encode corpus", "show", "explain", "train", "convert", "count-pieces")


def check(*printed: str) -> None:
    for text in printed:
        assert not [char for char in text if not (char.isprintable() or char == "\n")], ascii(text)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    tok = toksmith.train("low lower", merges=2, pattern=None, special_tokens=[f"<{HOSTILE}>"], progress=False)
    require("posix")  # Windows has no names of files with controls in them
    text, saved, counts = tmp_path / f"{NAME}.txt", tmp_path / f"{NAME}.toksmith", tmp_path / f"{NAME}.parquet"
    text.write_text(f"low <{HOSTILE}> lower", encoding="utf-8")
    tok.save(saved)
    toksmith.count_pieces("low lower").save(counts)
    return {"text": text, "saved": saved, "counts": counts, "folder": tmp_path}


def commands(files: dict[str, Path]) -> dict[str, list[str | Path]]:
    """Commands that print a name, a token or a text, and such that fail and say why."""
    text, saved, folder = files["text"], files["saved"], files["folder"]
    tokenizer: list[str | Path] = ["-t", saved]
    made = folder / f"{NAME}.made.toksmith"
    return {
        "count": ["count", text, text, *tokenizer],
        "encode refused": ["encode", text, *tokenizer],
        "encode": ["encode", text, *tokenizer, "--special", "allow"],
        "encode corpus": ["encode", text, *tokenizer, "--special", "text", "-o", folder / f"{NAME}.npy"],
        "show": ["show", text, *tokenizer, "--special", "allow"],
        "show svg": ["show", text, *tokenizer, "--svg", folder / f"{NAME}.svg"],
        "explain": ["explain", text, *tokenizer],
        "compare": ["compare", text, *tokenizer, *tokenizer],
        "train": ["train", text, "-o", made, "--merges", "3", "--special-token", f"<{NAME}>"],
        "train shown": ["train", text, "--merges", "3", "--show-merges"],
        "train refused": ["train", text, "-o", folder / f"{NAME}.none"],
        "convert": ["convert", saved, folder / f"{NAME}.json"],
        "convert refused": ["convert", text, folder / f"{NAME}.json"],
        "count-pieces": ["count-pieces", text, "-o", folder / f"{NAME}.tsv"],
        "merge-counts": ["merge-counts", files["counts"], "-o", folder / f"{NAME}.2.parquet"],
        "doctor": ["doctor", *tokenizer],
        "measure": ["measure", text, *tokenizer],
        "parity": ["parity", f"{HOSTILE[:8]}={text}", f"b={text}", *tokenizer],
        "no file": ["count", folder / f"{NAME}.gone", *tokenizer],
        "no tokenizer": ["count", text, "-t", folder / f"{NAME}.gone"],
        "no option": ["count", f"--{NAME}", *tokenizer],
        "no command": [NAME],
        "decode refused": ["decode", text, *tokenizer],
    }


@pytest.mark.slow
def test_foreign_text_is_printed_as_escapes(files: dict[str, Path]) -> None:
    said: dict[str, str] = {}
    for name, arguments in commands(files).items():
        for more in ([], ["--json"]) if name in AS_JSON else ([],):
            result = run(*arguments, *more)
            said.setdefault(name, result.stdout + result.stderr)
            check(result.stdout, result.stderr)
            assert "unexpected" not in result.stderr, (name, result.stderr)
            if result.exit_code == 1:
                assert result.stderr.count("\n") == 1, (name, result.stderr)
            if more and result.exit_code == 0 and name != "show svg":
                assert json.loads(result.stdout) is not None
    escaped = "\\x1b[31mred"
    for name in ("count", "encode refused", "encode corpus", "train", "convert", "no file", "show svg", "count-pieces"):
        assert escaped in said[name], name


def test_json_says_exactly_what_there_is(files: dict[str, Path]) -> None:
    found: Any = json.loads(run("count", files["text"], "-t", files["saved"], "--json").stdout)
    assert found["files"][0]["file"] == str(files["text"])


@pytest.mark.slow
def test_a_process_of_its_own_prints_no_control_either(files: dict[str, Path]) -> None:
    for name in ("count", "encode refused", "no file"):
        ran = process(*commands(files)[name])
        check(ran.stdout.decode(), ran.stderr.decode())
        assert "\\x1b[31mred" in (ran.stdout + ran.stderr).decode()


@pytest.mark.slow
@needs("any names")
def test_a_name_that_is_no_utf8_is_printed_as_escapes(files: dict[str, Path]) -> None:
    path = os.fsencode(files["folder"]) + b"/\xff\x9b31m.txt"
    Path(os.fsdecode(path)).write_bytes(b"low")
    result = process("count", Path(os.fsdecode(path)), "-t", files["saved"])
    assert result.stdout.decode().endswith("/\\udcff\\udc9b31m.txt\n")


def test_commands_print_in_one_place() -> None:
    for path in Path(_cli.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                drawn = any(word.arg == "end" for word in node.keywords) and path.name == "program.py"
                assert drawn, f"{path.name}:{node.lineno} prints what may be foreign"


@pytest.mark.slow
def test_every_character_that_does_not_print_is_escaped() -> None:
    for code in range(0x110000):
        char = chr(code)
        for made in (_render.plain(char), _render.one_line(char)):
            assert made == char if char.isprintable() else made.isprintable() or char == made == "\n"
    for char in (*(chr(code) for code in (*range(32), *range(0x7F, 0xA0), *range(0x202A, 0x202F))), "\u2066", "\u2069"):
        assert _render.one_line(f"a{char}b").isprintable() and len(_render.one_line(char)) > 1
        assert json.loads(_render.plain_json(json.dumps(char, ensure_ascii=False))) == char


# Streams that fail


@pytest.mark.slow
@needs("full device")
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("command", ["-V", "--help", "encode --help", "formats"])
def test_a_full_disk_is_one_line_that_names_stdout(command: str, unbuffered: str) -> None:
    with open("/dev/full", "wb") as full:
        ended = streamed(command, stdout=full, PYTHONUNBUFFERED=unbuffered)
    said = b"toksmith: stdout: cannot be written: No space left on device\n"
    assert (ended.returncode, ended.stderr) == (1, said)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["-V", "--help", "encode --help", "formats"])
def test_a_reader_that_has_left_and_a_closed_stream_are_no_error(command: str) -> None:
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
    """A command as a process, with this stdout."""
    words = [*before, sys.executable, "-m", "toksmith", *command.split()]
    return subprocess.run(
        words, stdout=stdout, stderr=subprocess.PIPE, check=False, env=os.environ | environment, timeout=LIMIT_S
    )
