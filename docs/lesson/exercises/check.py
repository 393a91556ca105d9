"""Checks the exercises: `python check.py` says which functions are right, and shows the first case that is not.

Each check is a function of random cases, and a row in `CHECKS` by the name of the exercise.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import toksmith
from toksmith import reference

Case = tuple[tuple[Any, ...], Any]  # the arguments, and what is right
TEXTS = ["", "a", "aaabdaaabac", "low lower lowest", "né 😄 né", "नमस्ते, आप कैसे हैं", "aaaa aaaa"]
MARKS = {"prefix": 300, "suffix": 301, "middle": 302}


def ids(rng: random.Random) -> list[int]:
    """A short list of ids with many pairs."""
    return [rng.randrange(3) for _ in range(rng.randrange(9))]


def learned(text: str, merges: int) -> list[tuple[int, int]]:
    """The merges that toksmith learns."""
    if not text:
        return []
    tok = toksmith.train([text], min_count=2, pattern=None, ties="first_seen", progress=False)
    return [(left, right) for left, right, _ in tok.model.merges.tolist()][:merges]


def of_code_points(rng: random.Random) -> Iterator[Case]:
    """Texts of all widths."""
    yield from (((text,), [ord(char) for char in text]) for text in TEXTS)


def of_utf8(rng: random.Random) -> Iterator[Case]:
    """The borders of the widths, and others."""
    for code in (0, 0x7F, 0x80, 0x7FF, 0x800, 0xFFFF, 0x10000, 0x10FFFF, *(rng.randrange(0xD800) for _ in range(50))):
        yield (code,), list(chr(code).encode())


def of_pair_counts(rng: random.Random) -> Iterator[Case]:
    """Short lists."""
    yield from (((each,), reference.pair_counts(each)) for each in (ids(rng) for _ in range(50)))


def of_replace_pair(rng: random.Random) -> Iterator[Case]:
    """Short lists, pairs of equal ids among them."""
    for each in (ids(rng) for _ in range(50)):
        pair = (rng.randrange(3), rng.randrange(3))
        yield (each, pair, 9), reference.replace_pair(each, pair, 9)


def of_train(rng: random.Random) -> Iterator[Case]:
    """Few merges, and all."""
    yield from (((text, count), learned(text, count)) for text in TEXTS for count in (0, 1, 3, 99))


def of_encode(rng: random.Random) -> Iterator[Case]:
    """Each text with the merges of each."""
    for text in TEXTS:
        pairs = learned(text, 99)
        ranks = {pair: (rank, 256 + rank) for rank, pair in enumerate(pairs)}
        yield from (((other, pairs), reference.merge(other.encode(), ranks)) for other in TEXTS)


def of_decode(rng: random.Random) -> Iterator[Case]:
    """What `encode` gives, and bytes that are not text."""
    for (text, pairs), right in of_encode(rng):
        yield (right, pairs), text
    yield ([195, 40], []), "\N{REPLACEMENT CHARACTER}("


def of_first_difference(rng: random.Random) -> Iterator[Case]:
    """Equal lists, longer ones, empty ones."""
    yield from ((([1, 2], [1, 2]), None), (([1, 2], [1, 3]), 1), (([1], [1, 2]), 1), (([], [5]), 0), (([], []), None))


def of_fill_in_the_middle(rng: random.Random) -> Iterator[Case]:
    """Parts of any length."""
    yield from (((a, b, MARKS), [300, *a, 301, *b, 302]) for a, b in ((ids(rng), ids(rng)) for _ in range(9)))


def of_fits(rng: random.Random) -> Iterator[Case]:
    """Room for all, for some and for none."""
    for each in (ids(rng) for _ in range(30)):
        context, answer = rng.randrange(12), rng.randrange(6)
        room = max(0, context - answer)
        yield (each, context, answer), each[max(0, len(each) - room) :]


def of_ways(rng: random.Random) -> Iterator[Case]:
    """One way, several, and none."""
    yield (b"", {b"a"}), 1
    yield (b"aaa", {b"a", b"aa"}), 3
    yield (b"abc", {b"a", b"b", b"c", b"ab", b"bc", b"abc"}), 4
    yield (b"ax", {b"a"}), 0


def of_kept_blocks(rng: random.Random) -> Iterator[Case]:
    """Prompts with a common beginning, which ends anywhere in a block."""
    for each in (ids(rng) for _ in range(30)):
        same, size = rng.randrange(len(each) + 1), rng.randrange(1, 4)
        yield (each, [*each[:same], 9, *each[same:]], size), same // size
        yield (each, each[:same], size), same // size


CHECKS: dict[str, Callable[[random.Random], Iterator[Case]]] = {
    "code_points": of_code_points,
    "utf8_of": of_utf8,
    "pair_counts": of_pair_counts,
    "replace_pair": of_replace_pair,
    "train": of_train,
    "encode": of_encode,
    "decode": of_decode,
    "first_difference": of_first_difference,
    "fill_in_the_middle": of_fill_in_the_middle,
    "fits": of_fits,
    "ways": of_ways,
    "kept_blocks": of_kept_blocks,
}


def problem(function: Callable[..., Any], cases: Iterator[Case]) -> str | None:
    """What is wrong with an exercise; None for nothing."""
    for arguments, right in cases:
        said = f"{function.__name__}({', '.join(map(repr, arguments))})"
        try:
            given = function(*arguments)
        except NotImplementedError:
            return "to do"
        except Exception as error:  # noqa: BLE001 - the learner's function may raise anything
            return f"{said} raises {type(error).__name__}: {error}"
        if given != right:
            return f"{said} is {given!r}, and should be {right!r}"
    return None


def check(module: ModuleType) -> dict[str, str | None]:
    """The problem of each exercise by its name."""
    return {name: problem(getattr(module, name), cases(random.Random(1))) for name, cases in CHECKS.items()}


def main() -> None:
    """Prints a line for each exercise; the exit code is 1 until all are right."""
    import exercises

    found = check(exercises)
    for name, said in found.items():
        print(
            f"{'right' if said is None else said:8} {name}" if said in (None, "to do") else f"wrong    {name}: {said}"
        )
    done = sum(said is None for said in found.values())
    print(f"{done} of {len(found)} exercises are right")
    sys.exit(done < len(found))


if __name__ == "__main__":
    main()
