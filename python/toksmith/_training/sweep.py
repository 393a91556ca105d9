"""Compares vocabulary sizes: the smaller tokenizers of one training, and how well each compresses unseen text.

Merges are learned one after another, and none depends on the number of later merges: the first n merges of a training
equal the result of training for n merges. Left out: training itself, and the choice of a size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._base.arguments import check_int, check_items
from .._corpus import Corpus, batch_texts, iter_documents
from .._model.model import Model, TokenTable, TrainingRecord
from .._tokenizer.tokenizer import Tokenizer
from ..errors import CorpusError, InvalidOption


@dataclass(frozen=True)
class SweepRow:
    """The figures of a tokenizer of one size on a text.

    Attributes: `vocab_size`, special tokens included; `ids`, the number of ids
    of the text; `used`, the number of distinct ids among them; `bytes` and
    `documents` of the text.
    """

    vocab_size: int
    ids: int
    used: int
    bytes: int
    documents: int

    @property
    def bytes_per_id(self) -> float:
        """Mean bytes of text per id: the compression. Higher is better."""
        return self.bytes / self.ids


def rewind(tok: Tokenizer, vocab_size: int) -> Tokenizer:
    """The tokenizer that the same training gives at a smaller size, without
    training again.

    It equals `train(…, vocab_size)` on the same corpus to the byte, including
    the record of its training: it has the first merges, as many as the size
    allows. The special tokens keep their order and get the last ids.

    Args:
        tok: A tokenizer of `kind="bpe"` from `train`, or loaded with its
            record.
        vocab_size: From the alphabet and the special tokens up to `len(tok)`.
    Raises:
        InvalidOption: `tok` does not come from such a training, or the size is
            out of range.
    Cost: a copy of the tables.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", 262)
    >>> toksmith.rewind(tok, 258) == toksmith.train("low lower lowest", 258)
    True
    """
    record = tok.model.training
    if record is None or record.options.get("superwords") or not is_merge_sequence(tok.model):
        allowed = "a tokenizer of kind='bpe' from train(), with its record; this one has no single sequence of merges"
        raise InvalidOption("tok", tok, allowed)
    specials = len(tok.model.added_tokens)
    most = len(tok.model.tokens) + specials
    least = most - len(tok.model.merges)
    if not least <= check_int(vocab_size, "vocab_size") <= most:
        raise InvalidOption("vocab_size", vocab_size, f"from {least} (no merges) to {most} (all that were learned)")
    return Tokenizer(truncate_model(tok.model, record, vocab_size - least, vocab_size), run_report=tok.run_report)


def is_merge_sequence(model: Model) -> bool:
    """Whether the last tokens are the results of the merges, in order, and the special tokens follow."""
    entries, merges = len(model.tokens), len(model.merges)
    last_ids = [token.id for token in model.added_tokens]
    return (
        model.kind == "bpe"
        and model.merge_rule == "pair"
        and bool(np.array_equal(model.ids, np.arange(entries)))
        and bool(np.array_equal(model.merges[:, 2], np.arange(entries - merges, entries)))
        and last_ids == [*range(entries, entries + len(last_ids))]
    )


def truncate_model(model: Model, record: TrainingRecord, merges: int, vocab_size: int) -> Model:
    entries = len(model.tokens) - len(model.merges) + merges
    ends = model.tokens.ends[:entries]
    tokens = TokenTable(model.tokens.blob[: int(ends[-1]) if len(ends) else 0], ends)
    options = {**record.options, "merges": None, "vocab_size": vocab_size}
    return replace(
        model,
        tokens=tokens,
        ids=model.ids[:entries],
        merges=model.merges[:merges],
        added_tokens=tuple(replace(token, id=id) for id, token in enumerate(model.added_tokens, entries)),
        training=replace(
            record,
            options=options,
            counts=record.counts[:merges],
            left=record.left[:merges],
            stopped_because=f"it reached vocab_size={vocab_size}",
        ),
    )


def sweep(tok: Tokenizer, sizes: Sequence[int], held_out: Corpus, *, threads: int | None = None) -> list[SweepRow]:
    """The compression of an unseen text at several vocabulary sizes.

    Each size is `rewind(tok, size)`. Special tokens in the text are ordinary
    text.

    Args:
        sizes: As for `rewind`, in any order; each is measured once.
        held_out: Documents as for `train`, but not those of the training,
            which compress too well.
        threads: At least 1; None for all processors.
    Returns:
        One row per size, ascending.
    Raises:
        CorpusError: The text is empty or cannot be read.
        InvalidOption: As `rewind`.
    Cost: the text is encoded once for each size.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", 262)
    >>> [(row.vocab_size, row.ids) for row in toksmith.sweep(tok, [256, 258, 262], "a slow flow")]
    [(256, 11), (258, 7), (262, 7)]
    """
    tokenizers = [rewind(tok, size) for size in sorted({*check_items(sizes, "sizes", "a list of int")})]
    ids = [0] * len(tokenizers)
    used_ids = [np.zeros(tokenizer.vocab_size, np.bool_) for tokenizer in tokenizers]
    size_bytes = number = 0
    for batch in batch_texts(iter_documents(held_out)):
        number += len(batch)
        size_bytes += sum(map(byte_length, batch))
        for place, tokenizer in enumerate(tokenizers):
            text_ids = tokenizer.encode_ragged(batch, special="text", threads=threads).ids
            ids[place] += len(text_ids)
            used_ids[place][text_ids] = True
    if not size_bytes:
        raise CorpusError(None, None, f"the held-out text is empty: no byte in any of its documents ({number})")
    rows = zip(tokenizers, ids, used_ids, strict=True)
    return [SweepRow(tokenizer.vocab_size, n, int(is_used.sum()), size_bytes, number) for tokenizer, n, is_used in rows]


def byte_length(text: str | bytes) -> int:
    """The length of a text in UTF-8; a lone surrogate counts as U+FFFD, three bytes."""
    if isinstance(text, bytes) or text.isascii():
        return len(text)
    return len(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode())
