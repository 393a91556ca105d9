"""Measures how much fairer parity-aware training makes tokenizers, and its time relative to plain training.

    python -m bench.parity [--data ../shared/corpora] [--size 32000] [--rounds 3] [--only corpora]

Two sets of languages. "declaration": the Universal Declaration of Human Rights in each language whose file has its
thirty articles; a language's corpus is its odd articles. "corpora": the corpora of six languages; the code and the
texts of several European languages belong to no language, and only plain and hybrid training read them. In both sets
the development texts are the odd articles, and the figures are of the even ones, which are not training text.

Seconds are processor time of the process, because other programs can use the machine: medians of the rounds, in which
plain training and each mode take turns on one thread. Each corpus is counted separately; merging begins with the
counts.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import toksmith

ARTICLES = 30
LONGEST_HEADING = 30
MODES = ("hybrid", "parity", "window")
# The corpora of one language, English first, and the declaration in it. The Japanese one lacks a heading.
FILES = {"english": "eng", "arabic": "arb", "chinese": "cmn_hans", "hindi": "hin", "korean": "kor", "russian": "rus"}
OTHERS = ("code", "european")
SIZES = {"declaration": 8000, "corpora": 32_000}


def articles(path: Path) -> list[str]:
    """The articles of a declaration, without the text before the first; empty if the file lacks some of them.

    The line before the last is the heading of the last article. Headings are the short lines with the same beginning.
    """
    lines = path.read_text(encoding="utf-8").strip("\n").split("\n")
    for length in (1, 2):
        heads = [
            number
            for number, line in enumerate(lines)
            if line.startswith(lines[-2][:length]) and len(line) <= LONGEST_HEADING
        ]
        if len(heads) == ARTICLES:
            ends = [*heads[1:], len(lines)]
            return ["\n".join(lines[start + 1 : end]) for start, end in zip(heads, ends, strict=True)]
    return []


def declarations(folder: Path) -> dict[str, list[str]]:
    """The articles of each language with a complete file; English first, as the reference for the others."""
    texts = {path.stem: articles(path) for path in sorted(folder.glob("*.txt"))}
    whole = {name: each for name, each in texts.items() if each}
    return {"eng": whole.pop("eng"), **whole}


class Texts(NamedTuple):
    """A set of languages: corpora, text of no language, odd articles for development, even ones to measure."""

    name: str
    corpora: dict[str, Any]
    others: list[Any]
    odd: dict[str, str]
    even: dict[str, str]


def sets(data: Path) -> Iterator[Texts]:
    """Each set of languages."""
    declared = declarations(data / "udhr")
    odd = {name: "\n".join(each[::2]) for name, each in declared.items()}
    even = {name: "\n".join(each[1::2]) for name, each in declared.items()}
    yield Texts("declaration", dict(odd), [], odd, even)
    corpora = {name: toksmith.files(data / f"{name}.jsonl.gz") for name in FILES}
    others = [toksmith.files(data / f"{name}.jsonl.gz") for name in OTHERS]
    yield Texts(
        "corpora",
        corpora,
        others,
        {name: odd[code] for name, code in FILES.items()},
        {name: even[code] for name, code in FILES.items()},
    )


def count_corpora(corpora: Mapping[str, Any]) -> tuple[dict[str, toksmith.corpus.PieceCounts], float]:
    """The counts of each corpus, and the seconds of counting."""
    start = time.process_time()
    counts = {name: toksmith.corpus.count(each, threads=1, progress=False) for name, each in corpora.items()}
    return counts, time.process_time() - start


def train_once(mode: str, size: int, texts: Texts) -> tuple[toksmith.Tokenizer, float, float]:
    """One training, and its seconds of counting and of merging."""
    plain, others = mode.startswith("plain"), texts.others if mode in ("plain", "hybrid") else []
    if plain:
        counts, count_s = count_corpora({"all": [*texts.corpora.values(), *others]})
    else:
        counts, count_s = count_corpora({**texts.corpora, **({"": others} if others else {})})
        development, more_s = count_corpora(texts.odd)
        count_s += more_s
    other = counts.pop("", None)
    start = time.process_time()
    if plain:
        tok = toksmith.train(counts["all"], size, progress=False)
    else:
        fair: Any = {"parity": mode, "languages": counts, "development": development}
        tok = toksmith.train(other, size, progress=False, threads=1, **fair)
    return tok, count_s, time.process_time() - start


def main() -> None:
    """Measure the requested sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/corpora"))
    parser.add_argument("--size", type=int, help="the size of all vocabularies")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=tuple(SIZES), help="one set of languages")
    args = parser.parse_args()
    for texts in sets(args.data):
        if args.only in (None, texts.name):
            measure(texts, args.size or SIZES[texts.name], args.rounds)


def measure(texts: Texts, size: int, rounds: int) -> None:
    """Print the table of one set."""
    modes = ("plain", *(["plain, languages only"] if texts.others else []), *MODES)
    seconds: dict[str, list[tuple[float, float]]] = {mode: [] for mode in modes}
    results: dict[str, tuple[int, toksmith.metrics.Parity]] = {}
    for _ in range(rounds):
        for mode in modes:
            tok, *took = train_once(mode, size, texts)
            seconds[mode].append((took[0], took[1]))
            results[mode] = (len(tok), toksmith.metrics.parity(tok, texts.even))
    print(f"\n{texts.name}: {len(texts.even)} languages, {size:,} tokens, {rounds} rounds")
    print("training | tokens | Gini | worst | tokens of all | English tokens | counting s | merging s")
    for mode, (entries, parity) in results.items():
        total = sum(each.tokens for each in parity.languages)
        count_s, merge_s = (statistics.median(each[place] for each in seconds[mode]) for place in (0, 1))
        print(
            f"{mode} | {entries:,} | {parity.gini:.3f} | {parity.worst} {parity[parity.worst]:.2f} | {total:,} | "
            f"{parity.languages[0].tokens:,} | {count_s:.2f} | {merge_s:.2f}"
        )


if __name__ == "__main__":
    main()
