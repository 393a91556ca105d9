"""The order in which tokens can be removed: the leaves of the forest of merges first."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping

from ..._model.model import BYTE_TOKENS, Model


class Forest:
    """The tokens that can be removed, and the parts from which each token is merged."""

    def __init__(self, model: Model) -> None:
        self.parts: dict[int, list[int]] = {}
        if model.kind == "bpe" and model.merge_rule == "bytes" and model.scores is not None:
            self.parts = dict(last_merge_parts(model))
        elif model.kind == "bpe":
            for left, right, id in model.vocab.recover_merges().tolist():
                self.parts.setdefault(id, []).extend((left, right))
        self.uses = Counter(part for parts in self.parts.values() for part in parts)
        needed = {token.id for token in model.added_tokens} | {model.unknown_id}
        base = (id for id, token in zip(model.ids.tolist(), model.tokens, strict=True) if is_base(token, model))
        self.scores = (
            None if model.scores is None else dict(zip(model.ids.tolist(), model.scores.tolist(), strict=True))
        )
        self.kept = needed | set(base)
        self.free = [id for id in model.ids.tolist() if id not in self.kept]

    def leaves(self, counts: Mapping[int, int] | None) -> Iterator[tuple[int, int]]:
        """The tokens in the order of removal, with their counts, which include removed tokens merged from them."""
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


def ids_without_text(model: Model) -> frozenset[int]:
    """The ids that do not stand for their token's text: the unknown token, added tokens, and byte tokens of a fallback."""
    ids = {token.id for token in model.added_tokens}
    if model.unknown_id is not None:
        ids.add(model.unknown_id)
    if model.byte_fallback:
        ids |= {id for id, token in zip(model.ids.tolist(), model.tokens, strict=True) if token in BYTE_TOKENS}
    return frozenset(ids)


def last_merge_parts(model: Model) -> Iterator[tuple[int, list[int]]]:
    """Each token with the parts of its last merge, in a model whose scores order the merges.

    Tokens merge as texts do: the highest score first, the leftmost of equals. A character without a token can be a part.
    """
    assert model.scores is not None
    without_text = ids_without_text(model)
    rows = zip(model.tokens, model.ids.tolist(), model.scores.tolist(), strict=True)
    row_of = {token: (id, score) for token, id, score in rows if id not in without_text}
    for token, (id, _) in row_of.items():
        parts = [char.encode() for char in token.decode()]
        while len(parts) > 2:
            texts = (parts[at] + parts[at + 1] for at in range(len(parts) - 1))
            candidates = [(-row_of[both][1], at) for at, both in enumerate(texts) if both in row_of]
            if not candidates:
                break
            at = min(candidates)[1]
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
        if len(parts) == 2:
            yield id, [row_of[part][0] for part in parts if part in row_of]
