"""Parity-aware training: checks its arguments, counts the corpora of the languages, and reports the merges of each.

The core (`train/parity.rs`) gives languages their turns. Not checked: whether development texts have the same meaning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import _core
from .._base.wording import number_of
from .._corpus import Corpus
from .._render.streams import LOG
from ..errors import InvalidOption
from .counts import PieceCounts
from .merge_loop import NO_LIMIT

MODES = ("hybrid", "parity", "window")
WINDOW, ALPHA = 100, 2.0
NO_LANGUAGE = np.iinfo(np.uint32).max


@dataclass(frozen=True)
class ParityOptions:
    """The arguments of parity-aware training.

    Attributes: `mode`; `other`, text of no language; `languages` and `development`, the texts of each language by name;
    `ratios` instead of `development`; `global_merges` as requested; `window` and `alpha`.
    """

    mode: str
    other: Corpus | PieceCounts | None
    languages: Mapping[str, Corpus | PieceCounts]
    development: Mapping[str, Corpus | PieceCounts] | None
    ratios: Mapping[str, float] | None
    global_merges: int | None
    window: int
    alpha: float

    def shared(self, limit: int, seeds: int) -> int:
        """The number of merges, of `limit`, that all corpora choose together, after those of seed tokens."""
        if self.global_merges is not None:
            return self.global_merges
        if self.mode != "hybrid":
            return 0
        if limit == NO_LIMIT:
            raise InvalidOption(
                "global_merges", None, "a number: half of the merges is not known without vocab_size= or merges="
            )
        return max(limit - seeds, 0) // 2

    def check(self) -> None:
        """Raises InvalidOption for an argument that is missing, out of range, or contradicts another."""
        for argument in ("languages", "development", "ratios"):
            value = getattr(self, argument)
            if not isinstance(value, Mapping | None):
                raise TypeError(f"{argument}: expected a mapping (a dict), not {type(value).__name__}")
        names = [*self.languages]
        if "" in names:
            raise InvalidOption("languages", names, "names that are not empty")
        if len(names) < 2:
            raise InvalidOption(
                "languages", names, "at least two, with their corpora by name; with one, train on its corpus alone"
            )
        if self.mode not in MODES:
            raise InvalidOption("parity", self.mode, " or ".join(map(repr, MODES)))
        self.check_turns()
        if self.development is not None and self.ratios is not None:
            allowed = "None when development is given: one of them decides which language is worst off"
            raise InvalidOption("ratios", [*self.ratios], allowed)
        if self.development is not None:
            check_names("development", self.development, names, "a text")
        elif self.ratios is not None:
            check_names("ratios", self.ratios, names, "a ratio")
            for name, ratio in self.ratios.items():
                if not (math.isfinite(ratio) and ratio > 0):
                    raise InvalidOption("ratios", {name: ratio}, "finite numbers above 0")
        else:
            allowed = "for each language a text with the same meaning; or pass ratios= in its place"
            raise InvalidOption("development", None, allowed)

    def check_turns(self) -> None:
        """Raises InvalidOption for an option of the mode that is out of range."""
        shared, window, alpha = self.global_merges, self.window, self.alpha
        if shared is not None and not 0 <= shared <= NO_LIMIT:
            raise InvalidOption("global_merges", shared, f"at least 0 and at most {NO_LIMIT}, or None for the default")
        if self.mode == "parity" and shared:
            allowed = "0 or None with parity='parity'; 'hybrid' and 'window' take a number"
            raise InvalidOption("global_merges", shared, allowed)
        if self.mode != "window" and window != WINDOW:
            raise InvalidOption("parity_window", window, f"the default, {WINDOW}: only parity='window' has a window")
        if self.mode != "window" and alpha != ALPHA:
            raise InvalidOption("parity_alpha", alpha, f"the default, {ALPHA}: only parity='window' has a window")
        if not 1 <= window <= NO_LIMIT:
            raise InvalidOption("parity_window", window, f"at least 1 and at most {NO_LIMIT}")
        if not (math.isfinite(alpha) and alpha >= 1):
            allowed = "a number of at least 1: below 1, all languages could wait at once"
            raise InvalidOption("parity_alpha", alpha, allowed)


def check_names(argument: str, values: Mapping[str, object], names: Sequence[str], what: str) -> None:
    """Raises InvalidOption unless the keys are exactly the languages."""
    if missing := [name for name in names if name not in values]:
        raise InvalidOption(argument, [*values], f"{what} of each language; there is none of {quote_names(missing)}")
    if unknown := [name for name in values if name not in names]:
        raise InvalidOption(
            argument,
            [*values],
            f"the languages {quote_names(names)}; {quote_names(unknown)} {'is' if len(unknown) == 1 else 'are'} not among them",
        )


def quote_names(names: Sequence[str]) -> str:
    """At most five of the names, for a sentence."""
    more = [] if len(names) <= 5 else [f"{len(names) - 5} more"]
    return ", ".join([*map(repr, names[:5]), *more])


def refuse_with_languages(ties: str, superwords: int) -> None:
    """Raises InvalidOption for options of `train` that cannot be combined with languages."""
    if ties != "lowest_ids":
        raise InvalidOption("ties", ties, "'lowest_ids' with languages: their corpora have no common order")
    if superwords:
        allowed = "0 with languages: turns are taken in one phase; extend the trained tokenizer with base= instead"
        raise InvalidOption("superwords", superwords, allowed)


@dataclass
class LanguageCounts:
    """The counts of the corpora, and the core's result for each language.

    Attributes: `languages` by name; `others`, text of no language; `development` by name; `outcome`, the result of the core: the
    language of each merge, the tokens of each language before and after, and the merge at which a language ran out of pairs.
    """

    parity: ParityOptions
    languages: Mapping[str, PieceCounts]
    others: Sequence[PieceCounts]
    development: Mapping[str, PieceCounts]
    shared: int = 0
    seeds: int = 0
    outcome: tuple[Any, list[tuple[int, int]], list[int | None]] | None = field(default=None, repr=False)

    def sum(self) -> PieceCounts:
        return PieceCounts.sum([*self.languages.values(), *self.others])

    def record(self) -> dict[str, Any]:
        """The values that decide the turns, as JSON values."""
        options = self.parity
        values: dict[str, Any] = {"mode": options.mode, "global_merges": self.shared}
        if options.mode == "window":
            values |= {"window": options.window, "alpha": options.alpha}
        values["languages"] = {name: counts.digest for name, counts in self.languages.items()}
        if options.ratios is not None:
            return values | {"ratios": dict(options.ratios)}
        return values | {"development": {name: counts.digest for name, counts in self.development.items()}}

    def train(
        self,
        counts: _core.CountedPieces,
        options: Mapping[str, Any],
        progress: Callable[[_core.LearnedMerges], object] | None,
    ) -> _core.LearnedMerges:
        """Calls the core with the signature of `_core.train`; `counts` is the sum."""
        parity = self.parity
        parity_values = {
            "languages": [corpus_counts._core for corpus_counts in self.languages.values()],
            "others": [corpus_counts._core for corpus_counts in self.others],
            "development": [self.development[name]._core for name in self.languages] if parity.ratios is None else [],
            "ratios": [] if parity.ratios is None else [parity.ratios[name] for name in self.languages],
            "shared": self.shared,
            "seeds": self.seeds,
            "window": (parity.window, parity.alpha) if parity.mode == "window" else None,
        }
        learned, choosers, tokens, ran_out = _core.train_parity(counts, options, parity_values, progress)
        self.outcome = (choosers, tokens, ran_out)
        return learned

    def first_uncertain(self, first: int | None) -> int | None:
        """The first merge that left-out pieces could have changed; `first` is the first whose count they could have changed.

        The pieces also count in the compression of a corpus, and could have given pairs to a language without any.
        """
        assert self.outcome is not None
        choosers, _, ran_out = self.outcome
        by_languages = np.flatnonzero(choosers != NO_LANGUAGE)
        by_ratio = [int(by_languages[0])] if self.parity.ratios is not None and len(by_languages) else []
        return min([*by_ratio, *(place for place in (first, *ran_out) if place is not None)], default=None)

    def facts(self, whole: bool) -> dict[str, Any]:
        """The results for each language, for the report; tokens only if training was not interrupted (`whole`)."""
        if self.outcome is None:
            return {}
        choosers, tokens, ran_out = self.outcome
        facts: dict[str, Any] = {}
        for place, name in enumerate(self.languages):
            before, after = tokens[place] if whole else (tokens[place][0], None)
            facts[name] = {"merges": int((choosers == place).sum()), "tokens_before": before, "tokens_after": after}
            facts[name]["no_pairs_after"] = ran_out[place]
        return {"global_merges": self.shared, "languages": facts}


def warn_of_lines(development: Mapping[str, PieceCounts]) -> None:
    """Logs a warning if the numbers of lines differ, so the texts probably do not have the same meaning.

    The last line of each document may lack its line feed.
    """
    sizes = {
        name: (text_counts.documents, sum(n * piece.count(b"\n") for piece, n in text_counts.items()))
        for name, text_counts in development.items()
    }
    least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    if sizes[least][0] < sizes[most][0] or sizes[most][1] - sizes[least][1] > sizes[most][0]:
        least_text, most_text = (
            f"{name} has {number_of(sizes[name][0], 'document')} with {number_of(sizes[name][1], 'line feed')}"
            for name in (least, most)
        )
        message = "the development texts may not have the same meaning: %s, %s"
        LOG.warning(message, least_text, most_text)


def warn_of_turns(shared: int, limit: int) -> None:
    """Logs a warning if no language gets a turn."""
    if 0 < limit <= shared:
        LOG.warning(
            "global_merges=%d leaves no merge for the languages to choose: %d are learned at most", shared, limit
        )
