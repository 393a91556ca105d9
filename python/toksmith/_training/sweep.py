"""Choosing a vocabulary size: the smaller tokenizers that one training passed through, and what each makes of unseen text.

Merges are learned one after another, and none depends on how many are to come: the first n merges of a training are
what training for n merges gives. Left out: any training, and which size is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._base.arguments import items, whole_number
from .._base.errors import CorpusError, InvalidOption
from .._corpus import Corpus, batches, documents
from .._model.model import Model, TokenTable, TrainingRecord
from .._tokenizer.tokenizer import Tokenizer

__all__ = ["SweepRow", "rewind", "sweep"]


@dataclass(frozen=True)
class SweepRow:
    """What a tokenizer of one size makes of a text.

    Attributes: `vocab_size`, special tokens included; `ids` that the text
    takes; `used`, how many different ids are among them; `bytes` and
    `documents` of the text.
    """

    vocab_size: int
    ids: int
    used: int
    bytes: int
    documents: int

    @property
    def bytes_per_id(self) -> float:
        """Bytes of text for one id on average: the compression. Higher is better."""
        return self.bytes / self.ids


def rewind(tok: Tokenizer, vocab_size: int) -> Tokenizer:
    """The tokenizer that the same training gives at a smaller size, without
    training again.

    It equals `train(…, vocab_size)` on the same corpus to the byte, the record
    of its training included: the merges from the first on, as many as the size
    has room for. The special tokens keep their order and are the last ids
    again.

    Args:
        tok: A tokenizer that `train` made of `kind="bpe"`, or that was loaded
            with its record.
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
    if record is None or record.options.get("superwords") or not is_a_line_of_merges(tok.model):
        allowed = "a tokenizer that train() made of kind='bpe', with its record; this one has no merges in one line"
        raise InvalidOption("tok", tok, allowed)
    specials = len(tok.model.added_tokens)
    most = len(tok.model.tokens) + specials
    least = most - len(tok.model.merges)
    if not least <= whole_number(vocab_size, "vocab_size") <= most:
        raise InvalidOption("vocab_size", vocab_size, f"from {least} (no merges) to {most} (all that were learned)")
    return Tokenizer(rewound(tok.model, record, vocab_size - least, vocab_size), run_report=tok.run_report)


def is_a_line_of_merges(model: Model) -> bool:
    """Whether the last tokens are the merges' results in their order, and the special tokens follow."""
    entries, merges = len(model.tokens), len(model.merges)
    last_ids = [token.id for token in model.added_tokens]
    return (
        model.kind == "bpe"
        and model.merge_rule == "pair"
        and bool(np.array_equal(model.ids, np.arange(entries)))
        and bool(np.array_equal(model.merges[:, 2], np.arange(entries - merges, entries)))
        and last_ids == [*range(entries, entries + len(last_ids))]
    )


def rewound(model: Model, record: TrainingRecord, merges: int, vocab_size: int) -> Model:
    """The model after its first merges."""
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
    """How well a text that training has not seen is compressed at each of several
    vocabulary sizes.

    Each size is `rewind(tok, size)`. Special tokens in the text are ordinary
    text.

    Args:
        sizes: As for `rewind`, in any order; each is measured once.
        held_out: Documents as for `train`, but others than those that it saw:
            what was seen compresses too well.
        threads: At least 1; None for all processors.
    Returns:
        One row a size, ascending.
    Raises:
        CorpusError: The text is empty or cannot be read.
        InvalidOption: As `rewind`.
    Cost: the text is encoded once for each size.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", 262)
    >>> [(row.vocab_size, row.ids) for row in toksmith.sweep(tok, [256, 258, 262], "a slow flow")]
    [(256, 11), (258, 7), (262, 7)]
    """
    toks = [rewind(tok, size) for size in sorted({*items(sizes, "sizes", "a list of int")})]
    ids = [0] * len(toks)
    used = [np.zeros(each.vocab_size, np.bool_) for each in toks]
    size_bytes = number = 0
    for batch in batches(documents(held_out)):
        number += len(batch)
        size_bytes += sum(map(byte_length, batch))
        for place, each in enumerate(toks):
            found = each.encode_ragged(batch, special="text", threads=threads).ids
            ids[place] += len(found)
            used[place][found] = True
    if not size_bytes:
        raise CorpusError(None, None, f"the held-out text is empty: no byte in any of its documents ({number})")
    counted = zip(toks, ids, used, strict=True)
    return [SweepRow(each.vocab_size, n, int(seen.sum()), size_bytes, number) for each, n, seen in counted]


def byte_length(text: str | bytes) -> int:
    """The bytes of a text in UTF-8; a lone surrogate becomes the three of U+FFFD."""
    if isinstance(text, bytes) or text.isascii():
        return len(text)
    return len(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode())
