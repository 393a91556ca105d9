"""Turns merges or listed pieces into a model with the record of its training."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .. import _core
from .._base.wording import number_of
from .._model.model import AddedToken, Model, Step, TokenTable, TrainingRecord
from ..errors import CorpusError, InvalidOption
from .counts import PieceCounts
from .options import Options, stop_reason

ROWS_AT_A_TIME = 4096  # as Python integers, all rows would take many times the memory of the array


def model_from_merges(
    counts: PieceCounts, options: Options, steps: tuple[Step, ...], learned: _core.LearnedMerges
) -> Model:
    base = options.base
    tokens = options.start.symbols() if base is None else [*base.tokens]
    ids = np.arange(len(tokens), dtype=np.uint32) if base is None else base.ids
    by_id = dict(zip(ids.tolist(), tokens, strict=True))
    for start in range(0, len(learned.merges), ROWS_AT_A_TIME):
        for left, right, id in learned.merges[start : start + ROWS_AT_A_TIME].tolist():
            by_id[id] = by_id[left] + by_id[right]
            tokens.append(by_id[id])
    first, end = options.start.first_id, options.start.first_id + len(learned.merges)
    before = 0 if base is None else len(base.merges)
    record = TrainingRecord(
        **record_fields(options, steps, counts),
        symbols=learned.symbols,
        # Merges of the base tokenizer have no count: the symbols already include them.
        counts=np.concatenate([np.zeros(before, np.uint64), learned.counts]),
        left=np.concatenate([np.full(before, learned.symbols, np.uint64), learned.left]),
        stopped_because=stop_reason(learned.stopped, options, options.several),
    )
    tables: dict[str, Any] = {
        "tokens": TokenTable.of(tokens),
        "ids": np.concatenate([ids, np.arange(first, end, dtype=np.uint32)]),
        "merges": learned.merges,
        "splitters": steps,
        "added_tokens": special_tokens_from(options.special_tokens, end),
        "training": record,
    }
    if base is None:
        return Model(unit="byte" if options.unit == "byte" else "char", **tables)
    by_bytes = base.merge_rule == "bytes"
    tables["merges"] = base.merges if by_bytes else np.concatenate([base.merges, learned.merges])
    tables["added_tokens"] = base.added_tokens + tables["added_tokens"]
    return replace(base, **tables)


def model_from_pieces(counts: PieceCounts, options: Options, steps: tuple[Step, ...]) -> Model:
    """The model whose tokens are the pieces themselves: sorted characters, or words by falling count."""
    all_pieces = counts.items()
    pieces = [(piece, count) for piece, count in all_pieces if count >= options.min_count]
    special = options.special
    if options.kind == "chars":
        tokens = sorted(piece for piece, _ in pieces)
        refuse_invalid_utf8(tokens)
    else:
        tokens = [piece for piece, _ in sorted(pieces, key=lambda item: (-item[1], item[0]))]
    room = len(tokens) if options.vocab_size is None else options.vocab_size - len(special)
    if room < (len(tokens) if options.kind == "chars" else 1):
        allowed = f"at least {len(tokens) + len(special)}: the corpus has {number_of(len(tokens), 'character')}"
        raise InvalidOption("vocab_size", options.vocab_size, allowed if options.kind == "chars" else "at least 1")
    reason = f"all {options.kind} are listed" if len(tokens) <= room else f"it reached vocab_size={options.vocab_size}"
    del tokens[room:]
    record = TrainingRecord(
        **record_fields(options, steps, counts),
        symbols=sum(count for _, count in all_pieces),
        counts=np.empty(0, np.uint64),
        left=np.empty(0, np.uint64),
        stopped_because=reason,
    )
    return Model(
        tokens=TokenTable.of(tokens),
        ids=np.arange(len(tokens), dtype=np.uint32),
        kind="chars" if options.kind == "chars" else "words",
        unit="char" if options.kind == "chars" else "byte",
        splitters=steps,
        unknown_id=None if options.unknown_token is None else len(tokens),
        added_tokens=special_tokens_from(special, len(tokens)),
        training=record,
    )


def refuse_invalid_utf8(tokens: list[bytes]) -> None:
    for token in tokens:
        try:
            token.decode()
        except UnicodeDecodeError:
            problem = f"the bytes {token!r} are not UTF-8; use kind='bpe'"
            raise CorpusError(None, None, problem) from None


def special_tokens_from(contents: tuple[str, ...], first_id: int) -> tuple[AddedToken, ...]:
    return tuple(AddedToken(content, first_id + place) for place, content in enumerate(contents))


def record_fields(options: Options, steps: tuple[Step, ...], counts: PieceCounts) -> dict[str, Any]:
    """The corpus and the options for the training record, with the pieces that were left out, if any."""
    patterns = [step["pattern"] for step in steps]
    left_out_pieces = {name: list(left) for name, left in (("long", counts.long), ("rare", counts.rare)) if left.pieces}
    left_out = {"left_out": left_out_pieces} if left_out_pieces else {}
    recorded = {**options.to_record(), "patterns": patterns, **left_out}
    return {
        "options": recorded,
        "documents": counts.documents,
        "bytes": counts.bytes,
        "digest": counts.digest,
    }
