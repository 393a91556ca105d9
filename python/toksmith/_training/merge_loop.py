"""Calls the merge loop of the core: the first symbols, the rules for pairs, and the phases of a training.

The loop (`train/`) first applies the given merges, whatever their counts. Seed tokens, checkpoints and the second phase
of superwords use this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from .. import _core
from .checkpoint import Checkpoint

Merge = tuple[int, int, int]
Train = Callable[
    [_core.CountedPieces, Mapping[str, Any], Callable[[_core.LearnedMerges], object] | None], _core.LearnedMerges
]
NO_LIMIT = 1 << 23  # more merges than any training makes
BYTES = 256
ASCII = 128
# The second step of "3_right" gets only runs of digits, so it can count groups from the end.
DIGITS = {
    "none": (),
    "1": (r"\p{N}",),
    "3": (r"\p{N}{1,3}",),
    "3_right": (r"\p{N}+", r"^\p{N}{1,2}(?=(?:\p{N}{3})+$)|\p{N}{3}|\p{N}{1,2}"),
}
SUPERWORDS = r"[^\r\n\p{N}]+[\r\n]*|[\r\n]+|\p{N}{1,3}"


@dataclass(frozen=True)
class Start:
    """The start of merging.

    Attributes: `alphabet`, the id of each byte's symbol, None for bytes that must not occur; `first_id`, the id of the first
    merge; `base`, the tokens of the tokenizer to continue, used instead of the alphabet.
    """

    alphabet: tuple[int | None, ...]
    first_id: int
    base: _core.Vocab | None = None

    @staticmethod
    def of(unit: str, alphabet: str | None) -> Start:
        """Starts from the bytes, in numeric order or in that of GPT-2 and HF, or from the ASCII characters."""
        if unit == "char":
            return Start((*range(ASCII), *[None] * (BYTES - ASCII)), ASCII)
        if alphabet == "gpt2":
            return Start(tuple(np.argsort(gpt2_order()).tolist()), BYTES)
        return Start(tuple(range(BYTES)), BYTES)

    def symbols(self) -> list[bytes]:
        """The bytes of the alphabet in the order of their ids."""
        pairs = sorted((id, byte) for byte, id in enumerate(self.alphabet) if id is not None)
        return [bytes([byte]) for _, byte in pairs]


def gpt2_order() -> list[int]:
    """The bytes in the order of their characters in GPT-2's files, which is also HF's initial order."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    return [*printable, *sorted({*range(BYTES)} - {*printable})]


@dataclass(frozen=True)
class MergeRules:
    """Which pairs can merge, and which pair merges among equal counts."""

    ties: str
    min_count: int
    max_token_bytes: int | None
    whole_characters: bool


@dataclass(frozen=True)
class Phase:
    """One phase of a training: its number, the given merges, and the largest number of merges, including these."""

    number: int
    given: Sequence[Merge]
    most: int


def learn_merges(
    counts: _core.CountedPieces,
    start: Start,
    rules: MergeRules,
    phase: Phase,
    *,
    checkpoint: Checkpoint,
    report: Callable[[int], object],
    train: Train = _core.train,
) -> _core.LearnedMerges:
    """Learns merges from the counts by the core's loop `train`; `report` sometimes gets the number of merges so far."""
    stored = checkpoint.learned(phase.number)
    first = (stored if len(stored) > len(phase.given) else [*phase.given])[: phase.most]
    done = 0

    def progress(part: _core.LearnedMerges) -> None:
        nonlocal done
        done += len(part.counts)
        checkpoint.add(phase.number, part)
        if checkpoint.problem is not None:
            raise KeyboardInterrupt  # the core then returns the merges learned so far
        report(done)

    options: dict[str, Any] = {
        "alphabet": list(start.alphabet),
        "base": start.base,
        "given": first,
        "next_id": start.first_id + len(first),
        "limit": phase.most - len(first),
        **vars(rules),
    }
    learned_merges = train(counts, options, progress)
    if learned_merges.stopped != "interrupted":
        # After Ctrl-C during a write, further lines could leave a gap.
        checkpoint.add(phase.number, learned_merges, done)
    return learned_merges


def first_uncertified(learned: _core.LearnedMerges, given: int, saved: Sequence[int], rare: int) -> int | None:
    """The place of the first merge that the left-out pieces could have changed or added; None if no such merge exists.

    The pieces could have added at most `rare` to the count of a pair. So a merge with a larger lead is certain if all
    earlier merges are. The first `given` merges do not depend on counts; `saved` are the leads from the checkpoint.
    """
    if rare == 0:
        return None
    leads = learned.leads
    leads[: len(saved)] = saved[: len(leads)]
    uncertain = np.flatnonzero(leads[given:] <= rare)
    if len(uncertain):
        return given + int(uncertain[0])
    # With all pieces, training might have continued.
    return len(leads) if learned.stopped in ("no_pairs", "min_count") else None


def seed_merges(seeds: Iterable[Sequence[int]], first_id: int) -> list[Merge]:
    """The merges that make each seed (a sequence of ids) one token, built up from the left.

    >>> seed_merges([[97, 98, 97, 98], [97, 98, 99]], 256)
    [(97, 98, 256), (256, 256, 257), (256, 99, 258)]
    """
    id_of: dict[tuple[int, int], int] = {}
    for seed in seeds:
        ids = list(seed)
        while len(ids) > 1:
            pairs = [pair for pair in pairwise(ids) if pair in id_of]
            pair = min(pairs, key=id_of.__getitem__, default=(ids[0], ids[1]))
            ids = replace_pair(ids, pair, id_of.setdefault(pair, first_id + len(id_of)))
    return [(left, right, id) for (left, right), id in id_of.items()]


def replace_pair(ids: list[int], pair: tuple[int, int], new: int) -> list[int]:
    result: list[int] = []
    for id in ids:
        if result and (result[-1], id) == pair:
            result[-1] = new
        else:
            result.append(id)
    return result
