"""`python -m bench.counts`: a folder of counts beside its texts: counting it, merging it, and training from either.

"in memory" trains on counts that are loaded already: the least that training from a folder can take. Ratios compare steps of
one round; a figure is the median of the rounds, with the processor seconds of all threads.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import time
from collections.abc import Callable
from typing import Any

from .corpus.inputs import Text
from .places import scratch
from .records import cpu_name
from .report import table_line


def timed(call: Callable[[], Any]) -> tuple[Any, tuple[float, float]]:
    """The result of a call, its seconds, and its seconds of processors."""
    start, before = time.perf_counter(), sum(os.times()[:2])
    result = call()
    return result, (time.perf_counter() - start, sum(os.times()[:2]) - before)


def measure_round(options: argparse.Namespace) -> dict[str, tuple[float, float]]:
    """The time of each step; the tokenizers must be equal."""
    from toksmith import corpus, train

    rows, folder = Text(options.corpus, options.megabytes).rows, scratch("counts")
    shutil.rmtree(folder / "job", ignore_errors=True)
    job = corpus.plan_counts([rows], folder / "job", shard_size=options.shard_size << 20)
    way: dict[str, Any] = {"vocab_size": options.vocab_size, "progress": False}
    counts = corpus.PieceCounts
    _, counting = timed(lambda: job.run(progress=False))
    whole, from_text = timed(lambda: train([rows], **way))
    again, from_folder = timed(lambda: train(counts.load(folder / "job"), **way))
    loaded, loading = timed(lambda: counts.load(folder / "job"))
    _, merging = timed(lambda: corpus.merge_counts([folder / "job"], folder / "all.parquet"))
    _, in_memory = timed(lambda: train(loaded, **way))
    assert whole == again, "training from a folder gives another tokenizer"
    return {
        "count a folder": counting,
        "load it, merged": loading,
        "merge it into a file": merging,
        "train from the texts": from_text,
        "train from the folder": from_folder,
        "train in memory": in_memory,
    }


def main() -> None:
    """Print the table."""
    cli = argparse.ArgumentParser(prog="python -m bench.counts", description=(__doc__ or "").partition("\n")[0])
    cli.add_argument("--corpus", default="nine corpora")
    for name, default in (("--megabytes", 205), ("--shard-size", 16), ("--vocab-size", 32_000), ("--rounds", 5)):
        cli.add_argument(name, type=int, default=default)
    options = cli.parse_args()
    rounds = [measure_round(options) for _ in range(options.rounds)]
    print(f"{cpu_name()}; {options.corpus}, {options.megabytes} MB, {options.vocab_size:,} tokens\n")
    print("| step | s | of processors | / counting | / training from the texts |\n|---|--:|--:|--:|--:|")
    for step in rounds[0]:
        seconds = [statistics.median(each[step][clock] for each in rounds) for clock in (0, 1)]
        bases = ("count a folder", "train from the texts")
        ratios = [statistics.median(each[step][1] / each[base][1] for each in rounds) for base in bases]
        print(table_line([step, *(f"{figure:.2f}" for figure in (*seconds, *ratios))]))


if __name__ == "__main__":
    main()
