"""The options of a job, and one set of checks for the arguments of `plan` and for `job.json`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ... import _core
from ...errors import InvalidOption, PatternError
from ..sinks import EVERY_ROW, SINKS
from ..written import has_json_type

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


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """All settings that decide bytes, in addition to tokenizer and inputs; `dtype` is the type of the ids in the files.

    A job that counts has `patterns` and no tokenizer; `max_piece_bytes`: see `corpus.count`.
    """

    to: str
    dtype: str
    id_field: str | None = None
    append: str | None = None
    prepend: str | None = None
    empty: str
    special: str | list[str]
    errors: str
    max_errors: int | None
    shard_size: int
    sources: bool = False
    shuffle: int | None = None
    pack: str | None = None
    length: int | None = None
    pad: str | None = None
    val: float | None = None
    patterns: list[str] | None = None
    max_piece_bytes: int | None = None

    @property
    def tokens(self) -> list[tuple[str, str]]:
        """The options that name special tokens, and the tokens."""
        pairs = [(name, getattr(self, name)) for name in ("append", "prepend", "pad")]
        pairs += [("special", token) for token in self.special] if isinstance(self.special, list) else []
        return [(name, content) for name, content in pairs if content is not None]


def counting_options(
    patterns: list[str], max_piece_bytes: int | None, *, errors: str, max_errors: int | None, shard_size: int
) -> JobOptions:
    return JobOptions(
        to=COUNTS,
        dtype="uint64",
        empty="keep",
        special="text",
        errors=errors,
        max_errors=max_errors,
        shard_size=shard_size,
        patterns=patterns,
        max_piece_bytes=max_piece_bytes,
    )


def patterns_fingerprint(patterns: Sequence[str]) -> str:
    """The fingerprint of a job that counts, in place of a tokenizer's."""
    return hashlib.sha256(json.dumps(patterns).encode()).hexdigest()


def dtype_of(to: str, dtype: str, vocab_size: int) -> str:
    row = SINKS[to]
    fitting = row.dtype(vocab_size)
    if dtype == "auto":
        return fitting
    if dtype not in row.dtypes:
        raise InvalidOption("dtype", dtype, f"'auto' or {' or '.join(map(repr, row.dtypes))} with to={to!r}")
    if (dtype == "uint16" and fitting != dtype) or (dtype == "uint8" and vocab_size > 1 << 8):
        raise InvalidOption("dtype", dtype, f"'auto' or {fitting!r}: readers expect it for {vocab_size:,} ids")
    return dtype


def option_problems(options: JobOptions) -> Iterator[tuple[str, object, str]]:
    """The options that are not allowed, alone or together: name, value, and the allowed values."""
    yield from type_problems(options)
    special = options.special
    if special not in ("raise", "allow", "text") and (isinstance(special, str) or special != sorted(special)):
        yield "special", special, "'raise', 'allow', 'text' or a sorted list of special tokens"
    for name, allowed in CHOICES.items():
        if getattr(options, name) not in allowed:
            yield name, getattr(options, name), " or ".join(repr(choice) for choice in allowed)
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
            "None, because a shuffle does not keep it; sources=True records the source of each document",
        )
    if options.id_field is not None and not (SINKS[options.to].names and options.pack is None) and not options.sources:
        formats = " or ".join(f"to={name!r}" for name, row in SINKS.items() if row.names)
        yield "id_field", options.id_field, f"None, or {formats} without pack, or sources=True"
    if options.val is not None and not EVERY_ROW[options.to].splits:
        formats = " or ".join(f"to={name!r}" for name, row in SINKS.items() if row.splits)
        yield "val", options.val, f"None, or {formats}, which has a file for validation"
    elif options.val is not None and not 0 < options.val < 1:
        yield "val", options.val, "a share of the documents between 0 and 1, such as 0.0005"
    yield from packing_problems(options)


def type_problems(options: JobOptions) -> Iterator[tuple[str, object, str]]:
    """Like `option_problems`, for values whose type is not the type of their field."""
    for field in fields(JobOptions):
        if not has_json_type(getattr(options, field.name), str(field.type)):
            yield field.name, getattr(options, field.name), str(field.type)


def packing_problems(options: JobOptions) -> Iterator[tuple[str, object, str]]:
    if options.pack is None:
        for name in ("length", "pad"):
            if (value := getattr(options, name)) is not None:
                yield name, value, "None, or pack= as well"
        return
    if not SINKS[options.to].packs:
        formats = " or ".join(f"to={name!r}" for name, row in SINKS.items() if row.packs)
        yield "pack", options.pack, f"None, or {formats}, which can hold seq_lengths"
    if options.length is None or not 1 <= options.length <= MOST_LENGTH:
        yield "length", options.length, f"from 1 to {MOST_LENGTH}, the number of ids of a row"


def counting_problems(options: JobOptions) -> Iterator[tuple[str, object, str]]:
    """Like `option_problems`, for a job that counts; a pattern that is not a regex raises PatternError."""
    yield from option_problems(options)
    most = options.max_piece_bytes
    if options.errors not in ("stop", "skip"):
        yield "errors", options.errors, "'stop' or 'skip'"
    if most is not None and not 1 <= most < 1 << 63:
        yield "max_piece_bytes", most, "at least 1, or None for no limit"
    _core.Counter(options.patterns or [], (0, 0), None, "", None)  # raises PatternError


def parse_options(values: Any, vocab_size: int) -> JobOptions:
    """The options of a plan, from its JSON; an error names the option that `plan` or `plan_counts` does not take."""
    if type(values) is not dict:
        raise ValueError("options is not an object")
    if unknown := [name for name in values if name not in JobOptions.__dataclass_fields__]:
        raise ValueError(f"options.{unknown[0][:50]} is not an option of this version")
    if missing := [field.name for field in fields(JobOptions) if field.name not in values]:
        raise ValueError(f"options.{missing[0]} is missing")
    options = JobOptions(**values)
    try:
        refusal = next(type_problems(options), None) or next(plan_option_problems(options, vocab_size), None)
    except InvalidOption as error:
        refusal = error.argument, error.value, error.allowed
    except PatternError as error:
        raise ValueError(f"options.patterns: {error}") from None
    if refusal is not None:
        raise ValueError(f"options.{refusal[0]} is {repr(refusal[1])[:50]}, expected {refusal[2]}")
    return options


def plan_option_problems(options: JobOptions, vocab_size: int) -> Iterator[tuple[str, object, str]]:
    """Like `option_problems`, for options that `plan` has completed."""
    if options.to == COUNTS:
        settings = {name: getattr(options, name) for name in ("errors", "max_errors", "shard_size")}
        expected = counting_options(options.patterns or [], options.max_piece_bytes, **settings)
        for field in fields(JobOptions):
            if getattr(options, field.name) != (allowed := getattr(expected, field.name)):
                yield field.name, getattr(options, field.name), f"{allowed!r} with to={COUNTS!r}"
        yield from counting_problems(options)
        return
    if options.to not in SINKS:
        yield "to", options.to, " or ".join(map(repr, EVERY_ROW))
    if options.dtype == "auto" or dtype_of(options.to, options.dtype, vocab_size) != options.dtype:
        yield "dtype", options.dtype, " or ".join(map(repr, SINKS[options.to].dtypes))
    for name in ("patterns", "max_piece_bytes"):
        if getattr(options, name) is not None:
            yield name, getattr(options, name), f"None with to={options.to!r}"
    yield from option_problems(options)
