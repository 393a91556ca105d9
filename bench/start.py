"""`python -m bench.start`: how long a short program takes, from its start to its end, relative to a program next to it.

`toksmith count` of a short text is compared with `import numpy`; `load` and `encode` of a published vocabulary, in the cache
on this machine, with tiktoken. The programs take turns. A figure is processor time, which other work on the machine disturbs
least, as the median of the rounds; a ratio divides two medians, and its spread is the smallest and largest ratio of a round.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

from .vocabularies import RANKS, published_file

URL = "https://openaipublic.blob.core.windows.net/encodings/"  # tiktoken names a cached file by the SHA-1 of its URL
NUMPY = "import numpy"
VOCABULARIES = ("r50k", "cl100k", "o200k")
COUNT = "import sys; from toksmith._cli import main; sys.argv[0] = 'toksmith'; main()"
CALLS = {
    "toksmith": "import toksmith; toksmith.load({!r}).encode('low lower lowest')",
    "tiktoken": "import tiktoken; tiktoken.get_encoding({!r}).encode('low lower lowest')",
}


def fill_caches(folder: Path) -> dict[str, str]:
    """Links the published files in a folder as both libraries name them, and returns the environment that names it."""
    for name in VOCABULARIES:
        file = RANKS[name][0]
        for place in (file, hashlib.sha1((URL + file).encode()).hexdigest()):
            (folder / place).symlink_to(published_file(file))
    return {**os.environ, "TOKSMITH_CACHE": str(folder), "TIKTOKEN_CACHE_DIR": str(folder)}


def programs(text: Path) -> dict[str, list[str]]:
    """The arguments of Python for each program."""
    found = {NUMPY: ["-c", NUMPY]}
    for name in VOCABULARIES:
        published = RANKS[name][0].partition(".")[0]
        found[f"count, {name}"] = ["-c", COUNT, "count", str(text), "-t", published]
        found |= {f"{library}, {name}": ["-c", call.format(published)] for library, call in CALLS.items()}
    return found


def processor_time(arguments: Sequence[str], environment: Mapping[str, str]) -> float:
    """The seconds of processor time of a program of Python."""
    child = subprocess.Popen([sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    if status:
        raise SystemExit(f"{arguments} failed")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.start", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=30)
    rounds = range(parser.parse_args().rounds)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        environment, text = fill_caches(folder), folder / "text.txt"
        text.write_text("low lower lowest\n", encoding="utf-8")
        commands = programs(text)
        for arguments in commands.values():  # reads the files, and compiles the modules of an editable installation
            processor_time(arguments, {**environment, "PYTHONDONTWRITEBYTECODE": ""})
        times: dict[str, list[float]] = {name: [] for name in commands}
        for _ in rounds:
            for name, arguments in commands.items():
                times[name].append(processor_time(arguments, environment))
    peers = {f"count, {name}": NUMPY for name in VOCABULARIES}
    peers |= {f"toksmith, {name}": f"tiktoken, {name}" for name in VOCABULARIES}
    print("| program | ms | next to it | ms | ratio (spread) |\n|---|--:|---|--:|--:|")
    for name, peer in peers.items():
        ratios = [own / other for own, other in zip(times[name], times[peer], strict=True)]
        own, other = median(times[name]), median(times[peer])
        spread = f"{own / other:.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"| {name} | {own * 1e3:.0f} | {peer} | {other * 1e3:.0f} | {spread} |")


if __name__ == "__main__":
    main()
