"""Checks the arguments of `train` that decide its result."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, NamedTuple

from .. import _core
from .._base.wording import number_of
from .._corpus import Corpus
from .._model.model import Model, Step
from .._model.patterns import splitters
from .._model.special import check_special_tokens
from .._render.progress import Reporter
from ..errors import CheckpointError, InvalidOption
from .counts import Limits, PieceCounts, require_option
from .languages import ParityOptions
from .merge_loop import DIGITS, NO_LIMIT, SUPERWORDS, MergeRules, Start, Train


@dataclass(frozen=True)
class Run:
    """The resources of a training: its corpus, limits and threads, and the targets of reports and checkpoints.

    Attributes: `several`, the languages, or None; `train`, the loop of the core.
    """

    corpus: Corpus | PieceCounts
    limits: Limits
    threads: int
    reporter: Reporter
    checkpoint: str | os.PathLike[str] | None
    several: ParityOptions | None = None
    train: Train = _core.train


class Outcome(NamedTuple):
    """The outcome of a training.

    Attributes: `model`, also of a training that ended early; `unique`, the number of distinct pieces; `counted_s`, the
    seconds until counting was done; `interrupted`, the phase that ended early, or ""; `problem`, the error of the
    checkpoint that ended it, None for Ctrl-C; `more` values for the report.
    """

    model: Model
    unique: int
    counted_s: float
    interrupted: str = ""
    problem: CheckpointError | None = None
    more: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Options:
    """The arguments of `train` that decide its result; `several` is `LanguageCounts.record`, or None."""

    vocab_size: int | None
    merges: int | None
    kind: str
    unit: str
    alphabet: str | None
    ties: str
    min_count: int
    max_token_bytes: int | None
    special_tokens: tuple[str, ...]
    digits: str = "none"
    whole_characters: bool = False
    seed_tokens: tuple[bytes, ...] = ()
    superwords: int = 0
    superword_pattern: tuple[str, ...] = (SUPERWORDS,)
    base: Model | None = field(default=None, repr=False)
    unknown_token: str | None = None
    several: Mapping[str, Any] | None = None

    @property
    def special(self) -> tuple[str, ...]:
        """The unknown token, if any, and the special tokens."""
        return (() if self.unknown_token is None else (self.unknown_token,)) + self.special_tokens

    @property
    def start(self) -> Start:
        if self.base is not None:
            return Start((None,) * 256, self.base.vocab_size, self.base.vocab)
        return Start.of(self.unit, self.alphabet)

    @property
    def rules(self) -> MergeRules:
        return MergeRules(self.ties, self.min_count, self.max_token_bytes, self.whole_characters)

    @property
    def limit(self) -> int:
        """The largest number of merges, including those of seed tokens and superwords."""
        if self.vocab_size is None:
            return NO_LIMIT if self.merges is None else self.merges
        return self.vocab_size - self.start.first_id - len(self.special_tokens)

    def steps(self, patterns: Sequence[Step]) -> tuple[Step, ...]:
        """The splitter steps: groups of digits first, then those of the pattern."""
        return (*splitters([*DIGITS[self.digits]]), *patterns)

    def to_record(self) -> dict[str, Any]:
        """The options as JSON values. Options newer than the first record appear only if they differ from the default."""
        values = {name: value for name, value in vars(self).items() if name not in ("base", "several")}
        defaults = {field.name: field.default for field in fields(self)}
        newest = ("digits", "whole_characters", "seed_tokens", "superwords", "superword_pattern", "unknown_token")
        for name in newest:
            if values[name] == defaults[name] or (name == "superword_pattern" and not self.superwords):
                del values[name]
        record = {name: to_json_value(value) for name, value in values.items()}
        record |= {} if self.several is None else {"parity": dict(self.several)}
        return record if self.base is None else {**record, "base": self.base.fingerprint()}


def to_json_value(value: Any) -> Any:
    """A list for a tuple, and text for bytes; bytes that are not UTF-8 are escaped."""
    if isinstance(value, tuple):
        return [to_json_value(item) for item in value]
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value


def check_merging(options: Any) -> None:
    """Raises InvalidOption for an argument out of range, among those of every training by merges."""
    require_option(options, options.ties in ("lowest_ids", "first_seen"), "ties", "'lowest_ids' or 'first_seen'")
    require_option(options, 1 <= options.min_count < 1 << 63, "min_count", "at least 1 and below 2**63")
    longest, merges = options.max_token_bytes, options.merges
    require_option(
        options, longest is None or 1 <= longest < 1 << 32, "max_token_bytes", "at least 1 and below 2**32, or None"
    )
    require_option(options, merges is None or options.vocab_size is None, "merges", "None when vocab_size is given")
    require_option(options, merges is None or 0 <= merges <= NO_LIMIT, "merges", f"at least 0 and at most {NO_LIMIT}")


def check_options(options: Options) -> None:
    check_merging(options)
    expected = ("ascii",) if options.kind == "bpe" and options.unit == "char" else (None, "gpt2")
    require_option(
        options,
        options.alphabet in expected,
        "alphabet",
        "'ascii' with unit='char', or 'gpt2' or None with unit='byte'",
    )
    require_option(options, options.digits in DIGITS, "digits", " or ".join(map(repr, DIGITS)))
    check_special_tokens(options.special)
    if options.kind != "bpe":
        has_unknown = options.kind == "words" or options.unknown_token is not None
        allowed = "1, or an unknown_token for the characters that are left out"
        require_option(options, options.min_count == 1 or has_unknown, "min_count", allowed)
        return
    check_ends(options)
    if options.base is not None:
        check_base(options.base)
        plain = options.unit == "byte" and options.alphabet is None
        require_option(options, plain, "alphabet", "None: the base tokenizer has its own alphabet")


def check_ends(options: Options) -> None:
    """Raises InvalidOption if the options that end training contradict each other."""
    if options.vocab_size is not None:
        first = options.start.first_id
        owner = "the alphabet has" if options.base is None else "the base tokenizer has"
        least = first + len(options.special_tokens)
        parts = f"{owner} {first}, and there are {number_of(len(options.special_tokens), 'special token')}"
        require_option(options, options.vocab_size >= least, "vocab_size", f"at least {least}: {parts}")
        require_option(options, options.vocab_size <= NO_LIMIT, "vocab_size", f"at most {NO_LIMIT}")
    elif options.merges is None and options.min_count < 2:
        raise InvalidOption(
            "vocab_size", None, "a number of tokens; or pass merges=, or min_count=2 to stop at rare pairs"
        )
    most = 0 if options.limit == NO_LIMIT else options.limit
    allowed = f"from 0 to {most}, the number of merges that vocab_size or merges allows"
    require_option(options, 0 <= options.superwords <= most, "superwords", allowed)


def check_base(base: Model) -> None:
    plain = base.kind == "bpe" and base.unit == "byte" and base.scores is None and not base.normalizers
    if not plain:
        raise InvalidOption("base", base.kind, "a byte-level BPE tokenizer")
    if any(step.kind != "regex" for step in base.splitters):
        raise InvalidOption(
            "base", [step.kind for step in base.splitters], "a tokenizer that only uses regexes to split"
        )
    if any(not added.special for added in base.added_tokens):
        raise InvalidOption("base", "added tokens", "a tokenizer whose added tokens are special")


def stop_reason(stopped: str, options: Any, several: object = None) -> str:
    """The reason why training ended, in words; `several` is not None if pairs were counted in several languages."""
    limit = f"merges={options.merges}" if options.vocab_size is None else f"vocab_size={options.vocab_size}"
    few = "no pair repeats" if options.min_count == 2 else f"no pair occurs {number_of(options.min_count, 'time')}"
    anywhere = "" if several is None else " in any language"
    return {
        "limit": f"it reached {limit}",
        "no_pairs": f"no pair is left{anywhere}",
        "min_count": few + anywhere,
        "interrupted": "it was interrupted",
    }[stopped]
