"""The order in which tokens can be removed: the leaves of the forest of merges first."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from .._model import Model

__all__ = ["BYTE_TOKENS", "Forest"]

BYTE_TOKENS = frozenset(f"<0x{byte:02X}>".encode() for byte in range(256))


class Forest:
    """The tokens that can be removed, and the parts from which each is merged."""

    def __init__(self, model: Model) -> None:
        merges = model.vocab.recover_merges().tolist() if model.kind == "bpe" else []
        if model.kind == "bpe" and model.merge_rule == "bytes" and model.scores is not None:
            merges = derived(model)
        kept = {token.id for token in model.added_tokens} | {model.unknown_id}
        base = (id for id, token in zip(model.ids.tolist(), model.tokens, strict=True) if is_base(token, model))
        self.scores = (
            None if model.scores is None else dict(zip(model.ids.tolist(), model.scores.tolist(), strict=True))
        )
        self.kept = kept | set(base)
        self.free = [id for id in model.ids.tolist() if id not in self.kept]
        self.parts: dict[int, list[int]] = {}
        self.uses: Counter[int] = Counter()
        for left, right, id in merges:
            self.parts.setdefault(id, []).extend((left, right))
            self.uses.update((left, right))

    def leaves(self, counts: Mapping[int, int] | None) -> Iterator[tuple[int, int]]:
        """The tokens in the order of removal, with their counts. A count includes the tokens that are merged from it."""
        total = Counter(dict(counts) if counts is not None else {})

        def entry(id: int) -> tuple[int, float, int]:
            score = 0.0 if self.scores is None or counts is not None else self.scores[id]
            return total[id], score, -id

        heap = [entry(id) for id in self.free if not self.uses[id]]
        heapq.heapify(heap)
        free = set(self.free)
        while heap:
            count, _, negative = heapq.heappop(heap)
            yield -negative, count
            for part in self.parts.get(-negative, ()):
                total[part] += count
                self.uses[part] -= 1
                if not self.uses[part] and part in free:
                    heapq.heappush(heap, entry(part))


def is_base(token: bytes, model: Model) -> bool:
    """Whether texts need a token: a byte, or a character with or without its mark."""
    if model.unit == "byte" and model.kind == "bpe":
        return len(token) == 1
    if model.byte_fallback and token in BYTE_TOKENS:
        return True
    content = token.decode("utf-8", "replace").removesuffix(model.end_of_word_suffix)
    return model.kind != "words" and len(content.removeprefix(model.continuing_subword_prefix)) <= 1


def derived(model: Model) -> list[tuple[int, int, int]]:
    """The last merge of each token in a model whose scores order the merges."""
    assert model.scores is not None
    order = np.argsort(-model.scores, kind="stable").tolist()
    ids, tokens = model.ids.tolist(), list(model.tokens)
    ranked = {tokens[place]: rank for rank, place in enumerate(order)}
    last: list[tuple[int, int, int]] = []
    id_of = dict(zip(tokens, ids, strict=True))
    for token, id in id_of.items():
        parts = [char.encode() for char in token.decode()]
        while len(parts) > 2:
            found = [
                (ranked[both], at) for at in range(len(parts) - 1) if (both := parts[at] + parts[at + 1]) in ranked
            ]
            if not found:
                break
            at = min(found)[1]
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        if len(parts) == 2 and parts[0] in id_of and parts[1] in id_of:
            last.append((id_of[parts[0]], id_of[parts[1]], id))
    return last
