"""Seeds for the fuzz targets: `fuzz_seeds.py FOLDER TARGET` writes the hard texts and slices of real texts into FOLDER.

crates/core/fuzz/src defines the header of a text in the input of each target. The slices are cut from the
corpora of the test data at random places, the same in every run; without test data, only the hard texts are written.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from hard_texts import HARD_TEXTS

DATA = Path(os.environ.get("TOKSMITH_TEST_DATA") or ROOT.parent / "shared")
SLICES = 40  # of each corpus
DOCUMENTS = 300  # of each corpus
LONGEST = 600


def real_texts(chance: random.Random) -> list[bytes]:
    """Slices of every corpus, cut between any two bytes."""
    slices = []
    for path in sorted((DATA / "corpora").glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            texts = [json.loads(line)["text"] for line in itertools.islice(lines, DOCUMENTS)]
        raw = "\n".join(texts).encode()
        for _ in range(SLICES):
            at = chance.randrange(max(1, len(raw) - LONGEST))
            slices.append(raw[at : at + chance.randint(1, LONGEST)])
    return slices


def header(target: str, chance: random.Random) -> bytes:
    """The header before the text in the input of a target; its last byte marks plain text."""
    if target == "split":
        return chance.randbytes(3) + b"\0"
    if target in ("encode", "decode"):
        count = chance.randrange(64)
        return bytes([chance.randrange(8), count]) + chance.randbytes(2 * count) + chance.randbytes(1) + b"\0"
    if target == "table":
        return chance.randbytes(2)
    if target == "tokenizer":
        return bytes([chance.randrange(6), *chance.randbytes(4)]) + chance.randbytes(chance.randrange(60)) + b"\0"
    return b"\0"


def main() -> None:
    """Write the seeds."""
    folder, target = Path(sys.argv[1]), sys.argv[2]
    chance = random.Random(target)
    folder.mkdir(parents=True, exist_ok=True)
    texts = [text.encode("utf-8", "surrogatepass") for text in HARD_TEXTS.values()] + real_texts(chance)
    if target == "table":
        texts = [b"YQ== 0\nYg== 1\nYWI= 2\n", b"a 0\nab 1\n", b"1 2 3\n4 5 6\n", *texts[:40]]
    for number, text in enumerate(texts):
        (folder / f"seed-{number:04}").write_bytes(header(target, chance) + text)


if __name__ == "__main__":
    main()
