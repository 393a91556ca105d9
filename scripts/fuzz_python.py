"""Runs a fuzz target of tests/fuzz with atheris: `fuzz_python.py TARGET [libFuzzer arguments] [FOLDER…]`.

A finding is an exception that a target does not catch. With `--seeds FOLDER` it only writes seed inputs.
"""

from __future__ import annotations

import random
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 40_000  # bytes of a seed: a tekken.json lists 256 tokens, at least
sys.path.insert(0, str(ROOT / "tests"))


def seeds(target: str) -> list[bytes]:
    """Random inputs; for formats, valid files of every format and the hostile files of the tests, by format."""
    chance = random.Random(target)
    if target != "formats":
        return [chance.randbytes(chance.randrange(8, 200)) for _ in range(300)]
    from toksmith import train
    from toksmith._formats import FORMATS

    inputs: list[bytes] = []
    options: tuple[dict[str, Any], ...] = (
        {"vocab_size": 262, "special_tokens": ["<s>"]},
        {"vocab_size": 30, "kind": "unigram"},
        {"vocab_size": 30, "kind": "wordpiece"},
        {"vocab_size": 24, "unit": "char", "pattern": None},
        {"vocab_size": 262, "end_of_word_suffix": "</w>"},
    )
    models = [train("low lower lowest slow", progress=False, **training).model for training in options]
    for place, (name, row) in enumerate(FORMATS.items()):
        for model in models:
            try:
                saved = row.save(model, allow_loss=frozenset(row.arguments))
            except ValueError:
                continue
            data = saved if isinstance(saved, bytes) else b"\0\0".join(saved[: row.reads])
            inputs.append(bytes([place, chance.choice((0, 1, 2))]) + data)
        folder = ROOT / "tests" / "hostile" / name
        for path in sorted(folder.glob("*")):
            data = path.read_bytes()
            if len(data) < LONGEST:
                inputs.append(bytes([place, 1]) + data)
    return inputs


def main() -> None:
    """Write seeds, or start libFuzzer."""
    target, *rest = sys.argv[1:]
    if rest[:1] == ["--seeds"]:
        folder = Path(rest[1])
        folder.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(seeds(target)):
            (folder / f"seed-{number:04}").write_bytes(data)
        return
    atheris: Any = import_module("atheris")
    with atheris.instrument_imports(include=["toksmith", "fuzz"]):
        run = import_module(f"fuzz.{target}").run
    atheris.Setup([sys.argv[0], *rest], run)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
