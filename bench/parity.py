"""How much fairer parity-aware training makes tokenizers, and how long it takes beside plain training.

    python -m bench.parity [--data ../shared/corpora] [--size 32000] [--rounds 3]

Two sets of languages. "declaration": the Universal Declaration of Human Rights in each language whose file shows its thirty
articles; a language's corpus is its odd articles. "corpora": the corpora of eight languages; texts of no language are the code and
the texts of several European languages. In both, the development texts are the odd articles, and the figures are of the even ones,
which training did not see. Seconds are those of counting and of merging, in `tok.run_report`: medians of the rounds, in which
plain training and each mode take turns. Plain training reads the same corpora.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import toksmith

ARTICLES = 30
LONGEST_HEADING = 30
MODES = ("hybrid", "parity", "window")
# The corpora of one language, and the declaration in it.
FILES = {
    "arabic": "arb",
    "chinese": "cmn_hans",
    "english": "eng",
    "hindi": "hin",
    "japanese": "jpn",
    "korean": "kor",
    "russian": "rus",
}
OTHERS = ("code", "european")
SIZES = {"declaration": 8000, "corpora": 32_000}


def articles(path: Path) -> list[str]:
    """The articles of a declaration, without what comes before the first; nothing if the file does not show all of them.

    The line before the last is the heading of the last article. Headings are the short lines that begin as it does.
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
    """The articles of each language that has all of them; English first, with which the others are compared."""
    found = {path.stem: articles(path) for path in sorted(folder.glob("*.txt"))}
    whole = {name: each for name, each in found.items() if each}
    return {"eng": whole.pop("eng"), **whole}


def sets(data: Path) -> Iterator[tuple[str, dict[str, Any], list[Any], dict[str, str], dict[str, str]]]:
    """Each set of languages: its name, corpora, text of no language, development texts, and unseen texts."""
    declared = declarations(data / "udhr")
    odd = {name: "\n".join(each[::2]) for name, each in declared.items()}
    even = {name: "\n".join(each[1::2]) for name, each in declared.items()}
    yield "declaration", dict(odd), [], odd, even
    known = {name: code for name, code in FILES.items() if code in declared}
    known = {"english": known.pop("english"), **known}
    corpora = {name: toksmith.files(data / f"{name}.jsonl.gz") for name in known}
    others = [toksmith.files(data / f"{name}.jsonl.gz") for name in OTHERS]
    yield (
        "corpora",
        corpora,
        others,
        {name: odd[code] for name, code in known.items()},
        {name: even[code] for name, code in known.items()},
    )


def trained(mode: str, size: int, corpora: Mapping[str, Any], others: list[Any], odd: Mapping[str, str]) -> Any:
    """One training."""
    if mode == "plain":
        return toksmith.train([*corpora.values(), *others], size, progress=False)
    # Text of no language counts in global merges only.
    other = others if others and mode == "hybrid" else None
    return toksmith.train(
        other,
        size,
        parity=mode,
        languages=corpora,
        development=odd,
        progress=False,  # type: ignore[arg-type]
    )


def main() -> None:
    """Measures the sets that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/corpora"))
    parser.add_argument("--size", type=int, help="the size of all vocabularies")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=tuple(SIZES), help="one set of languages")
    asked = parser.parse_args()
    for name, corpora, others, odd, even in sets(asked.data):
        if asked.only in (None, name):
            measure(name, asked.size or SIZES[name], asked.rounds, (corpora, others, odd), even)


def measure(name: str, size: int, rounds: int, texts: Any, even: Mapping[str, str]) -> None:
    """Prints the table of one set."""
    seconds: dict[str, list[tuple[float, float]]] = {}
    found: dict[str, Any] = {}
    for _ in range(rounds):
        for mode in ("plain", "plain, same texts", *MODES) if texts[1] else ("plain", *MODES):
            others = texts[1] if mode != "plain, same texts" else []
            tok = trained(mode.partition(",")[0], size, texts[0], others, texts[2])
            report = tok.run_report
            seconds.setdefault(mode, []).append((report["count_s"], report["merge_s"]))
            found[mode] = (len(tok), toksmith.parity(tok, even))
    print(f"\n{name}: {len(even)} languages, {size:,} tokens, {rounds} rounds")
    print("training | tokens | Gini | worst | tokens of all | English tokens | counting s | merging s")
    for mode, (entries, parity) in found.items():
        worst = max(parity.languages, key=lambda each: each.tokens)
        total = sum(each.tokens for each in parity.languages)
        count_s, merge_s = (statistics.median(each[place] for each in seconds[mode]) for place in (0, 1))
        print(
            f"{mode} | {entries:,} | {parity.gini:.3f} | {worst.name} {worst.premium:.2f} | {total:,} | "
            f"{parity.languages[0].tokens:,} | {count_s:.2f} | {merge_s:.2f}"
        )


if __name__ == "__main__":
    main()
