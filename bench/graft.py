"""Measures how fast `toksmith graft` writes a large checkpoint relative to `cp`, and its memory.

    python -m bench.graft [--folder DIR] [--gigabytes 3] [--rounds 3]

The checkpoint is random: bfloat16, an input and an output matrix of 32,000 rows, three files. In each round `cp` copies
it, `sync` writes the copy to the disk, and `toksmith graft` writes it for a longer and for a shorter vocabulary, and
syncs by itself. The files are in the system's page cache before.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import toksmith

ROWS, WIDTH = 32_000, 8192
LETTERS = "abcdefghijklmnopqrstuvwxyz"
FILES = 3


def random_words(count: int, seed: int) -> list[str]:
    """Texts of random words."""
    draw = random.Random(seed)
    words = ["".join(draw.choices(LETTERS, k=draw.randint(2, 9))) for _ in range(count)]
    return [" ".join(draw.choices(words, k=100)) for _ in range(count // 10)]


def write_shard(path: Path, tensors: dict[str, tuple[int, int]], tile: bytes) -> None:
    """Write a safetensors file of bfloat16, by the format's definition."""
    entries, at = {}, 0
    for name, shape in tensors.items():
        size = 2 * shape[0] * shape[1]
        entries[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.writelines(tile[: min(len(tile), at - start)] for start in range(0, at, len(tile)))


def write_checkpoint(folder: Path, tok: toksmith.Tokenizer, size: int) -> None:
    """Write a checkpoint of about `size` bytes."""
    draw = np.random.default_rng(1)
    tile = (draw.normal(size=1 << 24).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
    shape = (tok.vocab_size, WIDTH)
    layers = max(FILES, (size - 2 * 2 * shape[0] * shape[1]) // (2 * WIDTH * WIDTH))
    names = ["model.embed_tokens.weight", *(f"model.layers.{n}.mlp.weight" for n in range(layers)), "lm_head.weight"]
    places: dict[str, str] = {}
    step = -(-len(names) // FILES)
    for number in range(FILES):
        file, keys = f"model-{number + 1:05}-of-{FILES:05}.safetensors", names[number * step : (number + 1) * step]
        write_shard(folder / file, {name: (WIDTH, WIDTH) if "layers" in name else shape for name in keys}, tile)
        places |= dict.fromkeys(keys, file)
    index = {"metadata": {"total_size": 0}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    config = {"model_type": "llama", "vocab_size": tok.vocab_size, "tie_word_embeddings": False}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tok.save(folder / "tokenizer.json")


def prepare(folder: Path, size: int) -> None:
    """Write the checkpoint, and the two tokenizers that it is grafted to."""
    (folder / "old").mkdir()
    tok = toksmith.train(random_words(20_000, 1), ROWS, progress=False)
    toksmith.extend(tok, random_words(2000, 2), 1000)[0].save(folder / "longer.toksmith")
    toksmith.prune(tok, 1000)[0].save(folder / "shorter.toksmith")
    write_checkpoint(folder / "old", tok, size)


def measure_command(command: list[str]) -> tuple[float, float]:
    """The seconds of a command, and its peak memory in MB."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return seconds, usage.ru_maxrss * 1024 / 1e6


def run_rounds(folder: Path, count: int) -> dict[str, list[tuple[float, float]]]:
    """The cost of each command, round by round."""
    graft = [sys.executable, "-m", "toksmith", "graft", str(folder / "old"), "-q", "-o"]
    commands = {
        "cp": ["cp", "-r", str(folder / "old")],
        "cp, sync": ["sh", "-c", 'cp -r "$1" "$2" && sync -f "$2"', "sh", str(folder / "old")],
        **{
            f"graft, {name}": [*graft[:5], "-t", str(folder / f"{name}.toksmith"), *graft[5:]]
            for name in ("longer", "shorter")
        },
    }
    costs: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(count):
        for name, command in commands.items():
            costs[name].append(measure_command([*command, str(folder / "new")]))
            shutil.rmtree(folder / "new")
            subprocess.run(["sync", "-f", str(folder)], check=True)
    return costs


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", help="folder for the checkpoint and its copies; default: a temporary folder")
    parser.add_argument("--gigabytes", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as place:
        folder = Path(place)
        # In a separate process: a child begins with the peak of its parent.
        maker = multiprocessing.get_context("spawn").Process(target=prepare, args=(folder, int(args.gigabytes * 1e9)))
        maker.start()
        maker.join()
        size = sum(path.stat().st_size for path in (folder / "old").iterdir())
        print(f"{size / 1e9:.2f} GB, {ROWS:,} rows of {WIDTH:,} bfloat16, {args.rounds} rounds\n")
        print("| command | seconds, median (least to most) | GB/s | of `cp, sync` | of `cp` | memory, MB |")
        print("|---|---|---|---|---|---|")
        costs = run_rounds(folder, args.rounds)
        middle = {name: statistics.median(seconds for seconds, _ in runs) for name, runs in costs.items()}
        for name, runs in costs.items():
            times, memory = [seconds for seconds, _ in runs], max(peak for _, peak in runs)
            median_s = middle[name]
            ratios = f"{middle['cp, sync'] / median_s:.2f} | {middle['cp'] / median_s:.2f}"
            spread = f"{median_s:.1f} ({min(times):.1f} to {max(times):.1f})"
            print(f"| `{name}` | {spread} | {size / 1e9 / median_s:.2f} | {ratios} | {memory:.0f} |")


if __name__ == "__main__":
    main()
