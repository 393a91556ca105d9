"""The exercises of the lesson: every check accepts a right solution, and refuses the empty one and a wrong one."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from conftest import ROOT
from processors import LIMIT_S

FOLDER = ROOT / "docs" / "lesson" / "exercises"


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"lesson_{name}", FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECK, EXERCISES = loaded("check"), loaded("exercises")
Pair = tuple[int, int]


def code_points(text: str) -> list[int]:
    return [ord(char) for char in text]


def utf8_of(code: int) -> list[int]:
    if code < 0x80:
        return [code]
    for size, most, first in ((2, 0x800, 0xC0), (3, 0x10000, 0xE0), (4, 0x110000, 0xF0)):
        if code < most:
            tail = [0x80 | (code >> shift & 0x3F) for shift in range(6 * (size - 2), -1, -6)]
            return [first | code >> 6 * (size - 1), *tail]
    raise ValueError(code)


def pair_counts(ids: list[int]) -> dict[Pair, int]:
    counts: dict[Pair, int] = {}
    for pair in pairwise(ids):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def replace_pair(ids: list[int], pair: Pair, new: int) -> list[int]:
    out: list[int] = []
    at = 0
    while at < len(ids):
        hit = tuple(ids[at : at + 2]) == pair
        out.append(new if hit else ids[at])
        at += 2 if hit else 1
    return out


def train(text: str, merges: int) -> list[Pair]:
    ids, found = [*text.encode()], []
    while len(found) < merges:
        counts = pair_counts(ids)
        if not counts or max(counts.values()) < 2:
            break
        pair = max(counts, key=lambda each: counts[each])
        ids = replace_pair(ids, pair, 256 + len(found))
        found.append(pair)
    return found


def encode(text: str, merges: list[Pair]) -> list[int]:
    ids = [*text.encode()]
    for rank, pair in enumerate(merges):
        ids = replace_pair(ids, pair, 256 + rank)
    return ids


def decode(ids: list[int], merges: list[Pair]) -> str:
    vocab = {id: bytes([id]) for id in range(256)}
    for rank, (left, right) in enumerate(merges):
        vocab[256 + rank] = vocab[left] + vocab[right]
    return b"".join(vocab[id] for id in ids).decode(errors="replace")


def first_difference(one: list[int], two: list[int]) -> int | None:
    for place in range(max(len(one), len(two))):
        if one[place : place + 1] != two[place : place + 1]:
            return place
    return None


def fill_in_the_middle(before: list[int], after: list[int], marks: dict[str, int]) -> list[int]:
    return [marks["prefix"], *before, marks["suffix"], *after, marks["middle"]]


def fits(ids: list[int], context: int, answer: int) -> list[int]:
    room = max(0, context - answer)
    return ids[-room:] if room else []


def ways(text: bytes, tokens: set[bytes]) -> int:
    found = [1]
    for end in range(1, len(text) + 1):
        found.append(sum(found[start] for start in range(end) if text[start:end] in tokens))
    return found[-1]


def kept_blocks(before: list[int], after: list[int], size: int) -> int:
    same = first_difference(before, after)
    return (len(before) if same is None else same) // size


RIGHT = {
    function.__name__: function
    for function in (
        *(code_points, utf8_of, pair_counts, replace_pair, train, encode, decode, first_difference),
        *(fill_in_the_middle, fits, ways, kept_blocks),
    )
}
WRONG: dict[str, Callable[..., Any]] = {
    "code_points": lambda text: list(text.encode()),
    "utf8_of": lambda code: [code & 0xFF],
    "pair_counts": lambda ids: dict.fromkeys(pairwise(ids), 1),
    "replace_pair": lambda ids, pair, new: [new if each == pair else each[0] for each in pairwise([*ids, -1])],
    "train": lambda text, merges: train(text, merges)[::-1],
    "encode": lambda text, merges: list(text.encode()),
    "decode": lambda ids, merges: bytes(id for id in ids if id < 256).decode(errors="replace"),
    "first_difference": lambda one, two: next(
        (at for at, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), None
    ),
    "fill_in_the_middle": lambda before, after, marks: [*before, *after],
    "fits": lambda ids, context, answer: ids[-(context - answer) :],
    "ways": lambda text, tokens: int(text in tokens),
    "kept_blocks": lambda before, after, size: sum(a == b for a, b in zip(before, after, strict=False)) // size,
}


def test_every_check_accepts_a_right_solution() -> None:
    assert CHECK.check(SimpleNamespace(**RIGHT)) == dict.fromkeys(RIGHT)


@pytest.mark.parametrize("name", RIGHT)
def test_each_check_fails_without_a_solution_or_with_a_wrong_one(name: str) -> None:
    assert CHECK.check(EXERCISES)[name] == "to do"
    found = CHECK.check(SimpleNamespace(**RIGHT | {name: WRONG[name]}))
    assert [each for each, said in found.items() if said] == [name]


def test_every_exercise_has_a_check_and_names_its_chapter() -> None:
    functions = {name: value for name, value in vars(EXERCISES).items() if callable(value) and name.islower()}
    assert functions.keys() == CHECK.CHECKS.keys() == RIGHT.keys()
    assert all((function.__doc__ or "").startswith("Chapter ") for function in functions.values())


def test_the_program_reports_right_and_wrong_exercises(tmp_path: Path) -> None:
    for name in ("check", "exercises"):
        (tmp_path / f"{name}.py").write_bytes((FOLDER / f"{name}.py").read_bytes())
    with (tmp_path / "exercises.py").open("a", encoding="utf-8") as file:
        file.write("\n\ndef code_points(text):\n    return [ord(char) for char in text]\n")
        file.write("\n\ndef ways(text, tokens):\n    return 1\n")
    ran = subprocess.run(
        [sys.executable, "check.py"], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=LIMIT_S, check=False
    )
    lines = ran.stdout.splitlines()
    assert ran.returncode == 1 and lines[0].split() == ["right", "code_points"]
    assert lines[-3].startswith("wrong    ways: ways(b'aaa', ") and lines[-3].endswith(" is 1, and should be 3")
    assert lines[-1] == "1 of 12 exercises are right"
