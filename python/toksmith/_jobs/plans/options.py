"""The options of a job, and which of them fit together: one set of checks for the arguments of `plan` and for `job.json`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ... import _core
from ..._base.errors import InvalidOption, PatternError
from ..sinks import EVERY_ROW, SINKS
from ..written import is_of

__all__ = [
    "COUNTS",
    "PACKINGS",
    "JobOptions",
    "counting_options",
    "dtype_of",
    "fingerprint_of",
    "options_of",
    "refused",
    "refused_counting",
]

COUNTS = "counts"
PACKINGS = ("best-fit", "chunk")
SEEDS = 1 << 64
MOST_LENGTH = 1 << 24
MOST_SHARD = 1 << 60
CHOICES: dict[str, Sequence[str | None]] = {
    "empty": ("keep", "skip", "token"),
    "errors": ("stop", "skip", "quarantine"),
    "pack": (*PACKINGS, None),
}


@dataclass(frozen=True)
class JobOptions:
    """Everything beside tokenizer and inputs that decides bytes; `dtype` is the type of the ids in the files.

    A job that counts has `patterns` and no tokenizer; `max_piece_bytes` is as of `count_pieces`.
    """

    to: str
    dtype: str
    id_field: str | None
    append: str | None
    prepend: str | None
    empty: str
    special: str | list[str]
    errors: str
    max_errors: int | None
    shard_size: int
    sources: bool
    shuffle: int | None
    pack: str | None
    length: int | None
    pad: str | None
    patterns: list[str] | None = None
    max_piece_bytes: int | None = None

    @property
    def tokens(self) -> list[tuple[str, str]]:
        """The options that name special tokens, and the tokens."""
        named = [(name, getattr(self, name)) for name in ("append", "prepend", "pad")]
        named += [("special", each) for each in self.special] if isinstance(self.special, list) else []
        return [(name, content) for name, content in named if content is not None]


def counting_options(
    patterns: list[str], max_piece_bytes: int | None, *, errors: str, max_errors: int | None, shard_size: int
) -> JobOptions:
    """The options of a job that counts."""
    return JobOptions(
        to=COUNTS,
        dtype="uint64",
        id_field=None,
        append=None,
        prepend=None,
        empty="keep",
        special="text",
        errors=errors,
        max_errors=max_errors,
        shard_size=shard_size,
        sources=False,
        shuffle=None,
        pack=None,
        length=None,
        pad=None,
        patterns=patterns,
        max_piece_bytes=max_piece_bytes,
    )


def fingerprint_of(patterns: Sequence[str]) -> str:
    """By what a job that counts is known in place of a tokenizer."""
    return hashlib.sha256(json.dumps(patterns).encode()).hexdigest()


def dtype_of(to: str, dtype: str, vocab_size: int) -> str:
    """The type of the ids."""
    row = SINKS[to]
    fitting = row.dtype(vocab_size)
    if dtype == "auto":
        return fitting
    if dtype not in row.dtypes:
        raise InvalidOption("dtype", dtype, f"'auto' or {' or '.join(map(repr, row.dtypes))} with to={to!r}")
    if (dtype == "uint16" and fitting != dtype) or (dtype == "uint8" and vocab_size > 1 << 8):
        raise InvalidOption("dtype", dtype, f"'auto' or {fitting!r}: readers expect that of {vocab_size:,} ids")
    return dtype


def refused(options: JobOptions) -> Iterator[tuple[str, object, str]]:
    """The options that do not fit together: name, value, and what is allowed."""
    yield from wrong_types(options)
    special = options.special
    if special not in ("raise", "allow", "text") and (isinstance(special, str) or special != sorted(special)):
        yield "special", special, "'raise', 'allow', 'text' or a sorted list of special tokens"
    for name, allowed in CHOICES.items():
        if getattr(options, name) not in allowed:
            yield name, getattr(options, name), " or ".join(repr(each) for each in allowed)
    if not 1 <= options.shard_size < MOST_SHARD:
        yield "shard_size", options.shard_size, f"from 1 to {MOST_SHARD - 1:,} bytes"
    if options.max_errors is not None and options.max_errors < 0:
        yield "max_errors", options.max_errors, "at least 0"
    if EVERY_ROW[options.to].needs_last and options.append is None:
        yield "append", None, f"a special token: readers of {options.to!r} find the end of a document by its last id"
    skipping = "errors='skip'" if options.to == COUNTS else "errors='skip' or errors='quarantine'"
    if options.max_errors is not None and options.errors == "stop":
        yield "max_errors", options.max_errors, f"None, or {skipping}"
    if options.shuffle is not None and not 0 <= options.shuffle < SEEDS:
        yield "shuffle", options.shuffle, "from 0 to 2**64 - 1"
    if options.shuffle is not None and options.id_field is not None:
        yield (
            "id_field",
            options.id_field,
            "None, because a shuffle does not keep it; sources=True says where documents are from",
        )
    if options.id_field is not None and not (SINKS[options.to].names and options.pack is None) and not options.sources:
        able = " or ".join(f"to={name!r}" for name, row in SINKS.items() if row.names)
        yield "id_field", options.id_field, f"None, or {able} without pack, or sources=True"
    yield from refused_packing(options)


def wrong_types(options: JobOptions) -> Iterator[tuple[str, object, str]]:
    """As `refused`, of values that have another type than their field."""
    for each in fields(JobOptions):
        if not is_of(getattr(options, each.name), str(each.type)):
            yield each.name, getattr(options, each.name), str(each.type)


def refused_packing(options: JobOptions) -> Iterator[tuple[str, object, str]]:
    """As `refused`, of packing."""
    if options.pack is None:
        for name in ("length", "pad"):
            if (value := getattr(options, name)) is not None:
                yield name, value, "None, or pack= as well"
        return
    if not SINKS[options.to].packs:
        able = " or ".join(f"to={name!r}" for name, row in SINKS.items() if row.packs)
        yield "pack", options.pack, f"None, or {able}, which have room for seq_lengths"
    if options.length is None or not 1 <= options.length <= MOST_LENGTH:
        yield "length", options.length, f"from 1 to {MOST_LENGTH}, the ids of a row"


def refused_counting(options: JobOptions) -> Iterator[tuple[str, object, str]]:
    """As `refused`, of a job that counts.

    Raises:
        PatternError: A pattern is not a regex.
    """
    yield from refused(options)
    most = options.max_piece_bytes
    if options.errors not in ("stop", "skip"):
        yield "errors", options.errors, "'stop' or 'skip'"
    if most is not None and not 1 <= most < 1 << 63:
        yield "max_piece_bytes", most, "at least 1, or None for no limit"
    _core.Counter(options.patterns or [], (0, 0), None, "", None)  # which says what is wrong with a pattern


def options_of(found: Any, vocab_size: int) -> JobOptions:
    """The options of a plan, from its JSON.

    Raises:
        ValueError, KeyError, TypeError: They are not options that `plan` or `plan_counts` takes; the message names one.
    """
    if type(found) is not dict:
        raise ValueError("options is not an object")
    if unknown := [name for name in found if name not in JobOptions.__dataclass_fields__]:
        raise ValueError(f"options.{unknown[0][:50]} is not an option of this version")
    if missing := [each.name for each in fields(JobOptions) if each.name not in found]:
        raise ValueError(f"options.{missing[0]} is missing")
    options = JobOptions(**found)
    try:
        wrong = next(wrong_types(options), None) or next(refused_of_plan(options, vocab_size), None)
    except InvalidOption as error:
        wrong = error.argument, error.value, error.allowed
    except PatternError as error:
        raise ValueError(f"options.patterns: {error}") from None
    if wrong is not None:
        raise ValueError(f"options.{wrong[0]} is {repr(wrong[1])[:50]}, expected {wrong[2]}")
    return options


def refused_of_plan(options: JobOptions, vocab_size: int) -> Iterator[tuple[str, object, str]]:
    """As `refused`, of options that `plan` has completed."""
    if options.to == COUNTS:
        own = {name: getattr(options, name) for name in ("errors", "max_errors", "shard_size")}
        whole = counting_options(options.patterns or [], options.max_piece_bytes, **own)
        for each in fields(JobOptions):
            if getattr(options, each.name) != (allowed := getattr(whole, each.name)):
                yield each.name, getattr(options, each.name), f"{allowed!r} with to={COUNTS!r}"
        yield from refused_counting(options)
        return
    if options.to not in SINKS:
        yield "to", options.to, " or ".join(map(repr, EVERY_ROW))
    if options.dtype == "auto" or dtype_of(options.to, options.dtype, vocab_size) != options.dtype:
        yield "dtype", options.dtype, " or ".join(map(repr, SINKS[options.to].dtypes))
    for name in ("patterns", "max_piece_bytes"):
        if getattr(options, name) is not None:
            yield name, getattr(options, name), f"None with to={options.to!r}"
    yield from refused(options)
