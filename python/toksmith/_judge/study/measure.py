"""One row of a study: the figures of one tokenizer of one size on the held-out texts and for the planned model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._corpus import batch_texts
from ..._model.model import BYTE_TOKENS
from ..._tokenizer.tokenizer import Tokenizer
from ...metrics import Sample, parity
from ...metrics._rows import METRICS
from ...metrics._sample import count_sample
from .scaling import ModelPlan, rounded_up
from .split import Split

SELDOM = 100  # occurrences in the planned corpus; a row with fewer is hardly trained: a convention, not a finding
RAREST = 100  # one token in this number is among the rarest


@dataclass(frozen=True)
class StudyRow:
    """One tokenizer of one size.

    Attributes:
        tokenizer: Its candidate, such as "bpe o200k".
        kind, pattern: The arguments of `train`.
        vocab_size: Size of the vocabulary, special tokens included.
        tokens: Number of tokens of the held-out texts.
        bytes_per_token: Mean number of bytes of held-out text in a token.
        unigram_bits_per_byte: Cross entropy of the held-out texts under the
            token frequencies of training.
        renyi_efficiency: Of order 2.5, on the held-out texts.
        changed: Number of held-out texts that decoding does not restore.
        training_flops: Operations of one pass of training over the held-out
            texts, 6(N + Vd) for each token.
        inference_flops_per_byte: Operations of reading a byte, 2(N + Vd) for
            each token.
        embedding_share: Share of the embeddings in all parameters.
        learned: Number of learned tokens: not special, not a single byte.
        rarest: Maximum occurrences of each of the rarest 1 % of them in the
            planned corpus, expected from the sample.
        resolution: Occurrences in the planned corpus for one in the sample;
            figures of rare tokens below it are coarse.
        seldom: Number of learned tokens that are not in the sample or are
            expected fewer than 100 times: candidates for glitch tokens.
        last_count: Occurrences of the last pair when it was merged; None for
            kinds without merges.
        padded_64, padded_128: The size, rounded up to a multiple.
        gini, worst, worst_premium: Figures of the languages, if these were
            given.
        file: The file of the tokenizer.
    """

    tokenizer: str
    kind: str
    pattern: str | None
    vocab_size: int
    tokens: int
    bytes_per_token: float
    unigram_bits_per_byte: float
    renyi_efficiency: float
    changed: int
    training_flops: float
    inference_flops_per_byte: float
    embedding_share: float
    learned: int
    rarest: float
    resolution: float
    seldom: int
    last_count: int | None
    padded_64: int
    padded_128: int
    gini: float | None = None
    worst: str | None = None
    worst_premium: float | None = None
    file: str | None = None


def measure_row(
    tok: Tokenizer,
    split: Split,
    plan: ModelPlan,
    *,
    languages: Mapping[str, Any],
    threads: int,
) -> dict[str, Any]:
    """The figures of a row, without its names."""
    sample = count_sample(tok, [*split.held_out], special="text", threads=threads)
    frequencies = count_tokens(tok, split.sample_texts(), threads)
    learned = np.sort(frequencies[learned_ids(tok)])
    total = max(1, int(frequencies.sum()))
    expected = learned * (plan.tokens / total)
    place = max(1, -(-len(learned) // RAREST)) - 1
    size = len(tok)
    record = tok.model.training
    counts = record.counts if record is not None and tok.model.kind == "bpe" else None
    fair = fairness(tok, languages, threads)
    efficiency = METRICS["renyi_efficiency"].function(sample)
    return {
        "vocab_size": size,
        "tokens": sample.tokens,
        "bytes_per_token": sample.bytes / max(1, sample.tokens),  # WordPiece makes no token of white space
        "unigram_bits_per_byte": cross_entropy(sample, frequencies) / sample.bytes,
        "renyi_efficiency": efficiency.numerator / efficiency.denominator if efficiency.denominator else 0.0,
        "changed": sample.changed,
        "training_flops": plan.training_flops(size, sample.tokens),
        "inference_flops_per_byte": plan.inference_flops(size, sample.tokens) / sample.bytes,
        "embedding_share": plan.embedding_share(size),
        "learned": len(learned),
        "rarest": float(expected[place]) if len(learned) else plan.tokens,
        "resolution": plan.tokens / total,
        "seldom": int((expected < SELDOM).sum()),
        "last_count": None if counts is None or not len(counts) else int(counts[-1]),
        "padded_64": rounded_up(size, 64),
        "padded_128": rounded_up(size, 128),
        **fair,
    }


def count_tokens(tok: Tokenizer, texts: Iterable[bytes], threads: int) -> NDArray[np.int64]:
    totals = np.zeros(tok.vocab_size, np.int64)
    for batch in batch_texts(texts):
        totals += np.bincount(tok.encode_ragged(batch, special="text", threads=threads).ids, minlength=tok.vocab_size)
    return totals


def learned_ids(tok: Tokenizer) -> NDArray[np.intp]:
    """The ids of learned tokens: not special, not a single byte, and not a byte token such as `<0x0A>`."""
    model = tok.model
    special = {added.id for added in model.added_tokens}
    single = model.unit == "byte"
    ids = [
        id
        for id, token in zip(model.ids.tolist(), model.tokens, strict=True)
        if id not in special and not (single and len(token) == 1) and token not in BYTE_TOKENS
    ]
    return np.array(ids, np.intp)


def cross_entropy(sample: Sample, seen: NDArray[np.int64]) -> float:
    """Bits of the held-out tokens under their frequencies in training, with half an occurrence added to each token."""
    emitted = sample.ids.astype(np.float64)
    weights = np.zeros(len(emitted))
    weights[: len(seen)] = seen
    there = np.zeros(len(emitted), np.bool_)
    there[sample.vocabulary.ids] = True
    weights[there] += 0.5
    used = emitted > 0
    return float(-(emitted[used] * np.log2(weights[used] / weights.sum())).sum())


def fairness(tok: Tokenizer, languages: Mapping[str, Any], threads: int) -> dict[str, Any]:
    """The Gini coefficient of the languages, and the language with the largest premium."""
    if not languages:
        return {}
    result = parity(tok, languages, threads=threads)
    priced = [each for each in result.languages if each.premium is not None]
    worst = max(priced, key=lambda each: each.premium or 0) if priced else None
    return {
        "gini": result.gini,
        "worst": None if worst is None else worst.name,
        "worst_premium": None if worst is None else worst.premium,
    }
