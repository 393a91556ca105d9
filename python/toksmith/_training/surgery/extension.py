"""Continues byte-pair encoding: counts the pieces of a corpus under a tokenizer, and learns more merges from them."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..._corpus import Corpus, batch_texts, iter_documents
from ..._model.model import Model, TokenTable, is_regex_split
from ..._render.progress import Reporter
from ..._tokenizer.tokenizer import Tokenizer
from ...errors import ModelError
from .. import counts as _counts
from .removal_order import ids_without_text

BLOCK = "▁".encode()


def refuse_other_kinds(model: Model) -> None:
    reasons = {
        f"its kind is {model.kind!r}": model.kind != "bpe",
        "it has unused tokens": bool(model.unused_ids),
        "a score is not finite": model.scores is not None and not np.isfinite(model.scores).all(),
        f"tokens inside words begin with {model.continuing_subword_prefix!r}": bool(model.continuing_subword_prefix),
    }
    for reason, holds in reasons.items():
        if holds:
            raise ModelError(f"extend supports only byte-pair encodings: {reason}")


class EncodedPieces(NamedTuple):
    """The distinct pieces of a corpus.

    Attributes: `words`, the ids of each; `counts`, how often each occurs; `contents`, the bytes of each, if whole
    pieces are looked up as tokens.
    """

    words: list[list[int]]
    counts: list[int]
    contents: list[bytes]


def count_encoded_pieces(tok: Tokenizer, corpus: Corpus, threads: int) -> EncodedPieces:
    model = tok.model
    if model.unit == "char" and not model.splitters:
        words = words_of(tok, corpus, threads)
        return EncodedPieces([[*word] for word in words], [*words.values()], [])
    if model.normalizers or not all(map(is_regex_split, model.splitters)):
        pieces = pieces_of(model, corpus)
    else:
        patterns = [step["pattern"] for step in model.splitters]
        pieces = _counts.count_within_limits(
            corpus, patterns, _counts.Limits(), Reporter(False), threads=threads
        ).items()
    bare: dict[str, Any] = dict.fromkeys(("normalizers", "splitters", "added_tokens", "post", "decoders"), ())
    contents = [piece for piece, _ in pieces]
    ids = Tokenizer(replace(model, **bare, training=None)).encode_batch(contents)
    return EncodedPieces(ids, [count for _, count in pieces], contents if model.whole_piece else [])


def pieces_of(model: Model, corpus: Corpus) -> list[tuple[bytes, int]]:
    """The pieces and counts for a model whose steps are not only patterns."""
    splitter = Tokenizer(replace(model, added_tokens=(), post=(), decoders=(), training=None))
    pieces: Counter[bytes] = Counter()
    for document in iter_documents(corpus):
        pieces.update(splitter._engine.split(document))
    return sorted(pieces.items())


def words_of(tok: Tokenizer, corpus: Corpus, threads: int) -> Counter[tuple[int, ...]]:
    """The ids and counts of words for a model that does not split. A word begins where a token begins with `▁`."""
    tokens = zip(tok.model.ids.tolist(), tok.model.tokens, strict=True)
    begins = np.array([id for id, token in tokens if token.startswith(BLOCK)], np.uint32)
    words: Counter[tuple[int, ...]] = Counter()
    for batch in batch_texts(iter_documents(corpus)):
        ragged = tok.encode_ragged(batch, special="text", threads=threads)
        cuts = np.unique(
            np.concatenate([[0], np.flatnonzero(np.isin(ragged.ids, begins)), ragged.ends]).astype(np.int64)
        ).tolist()
        ids = ragged.ids.tolist()
        words.update(tuple(ids[start:end]) for start, end in itertools.pairwise(cuts))
    return words


class Merger:
    """The merges of a model by rank, and the added merges.

    With `merge_rule="pair"` a merge belongs to a pair of ids, otherwise to the joined bytes of two neighbours. In a model
    with scores, the highest score merges first.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.by_pair = model.merge_rule == "pair"
        ids = model.ids.tolist()
        self.bytes_of: dict[int, bytes] = dict(zip(ids, model.tokens, strict=True))
        self.id_of: dict[bytes, int] = {token: id for id, token in self.bytes_of.items()}
        self.parts: dict[int, tuple[int, int]] = {}
        self.contents = tuple(token.content.encode() for token in model.added_tokens)
        self.apart = ids_without_text(model)
        self.merges: dict[Any, tuple[float, int]] = {}
        self.rank, self.step = float(len(model.merges if self.by_pair else ids)), 1.0
        if self.by_pair:
            rows = enumerate(model.merges.tolist())
            self.merges = {(left, right): (rank, id) for rank, (left, right, id) in rows}
        elif model.scores is None:
            self.merges = {token: (rank, id) for rank, (id, token) in enumerate(self.bytes_of.items())}
        else:
            scores = zip(model.scores.tolist(), self.bytes_of.items(), strict=True)
            self.merges = {token: (-score, id) for score, (id, token) in scores if id not in self.apart}
            # Far enough below the lowest score to differ from it in the type of the scores.
            self.step = max(1.0, 2 * float(np.spacing(np.abs(model.scores).max())))
            self.rank = self.step - float(model.scores.min())

    def key(self, left: int, right: int) -> Any:
        """The key of the merge of two neighbours; None if bytes decide and one of the two is `apart`."""
        if self.by_pair:
            return left, right
        return None if left in self.apart or right in self.apart else self.bytes_of[left] + self.bytes_of[right]

    def settle(self, ids: list[int]) -> list[int]:
        """The ids after all merges. The lowest rank merges first, the leftmost pair among equals."""
        while True:
            candidates = [
                (*merge, at)
                for at in range(len(ids) - 1)
                if (merge := self.merges.get(self.key(ids[at], ids[at + 1]))) is not None
            ]
            if not candidates:
                return ids
            _, id, at = min(candidates, key=lambda merge: (merge[0], merge[2]))
            ids = [*ids[:at], id, *ids[at + 2 :]]

    def add(self, left: int, right: int, id: int) -> bytes:
        """Adds a token with its merge, after all others, and returns its bytes."""
        token = self.bytes_of[left] + self.bytes_of[right]
        self.merges[self.key(left, right)] = self.rank, id
        self.bytes_of[id], self.id_of[token], self.parts[id] = token, id, (left, right)
        self.rank += self.step
        return token

    def can_join(self, left: int, right: int) -> bool:
        """Whether two neighbours can become a token: neither is `apart`, and the token is new and has no added content."""
        if left in self.apart or right in self.apart:
            return False
        token = self.bytes_of[left] + self.bytes_of[right]
        return token not in self.id_of and not any(content in token for content in self.contents)

    def old_parts(self, id: int, size: int) -> tuple[int, ...]:
        """The ids below `size` from which an added token is merged."""
        return (id,) if id < size else tuple(old for part in self.parts[id] for old in self.old_parts(part, size))

    def extend_model(self, learned: Sequence[int]) -> Model:
        model = self.model
        merges = [(*self.parts[id], id) for id in learned] if self.by_pair else []
        scores = [-self.merges[self.key(*self.parts[id])][0] for id in learned]
        return replace(
            model,
            tokens=TokenTable.of([*model.tokens, *(self.bytes_of[id] for id in learned)]),
            ids=np.concatenate([model.ids, np.array(learned, np.uint32)]),
            merges=np.concatenate([model.merges, np.array(merges, np.uint32).reshape(-1, 3)]),
            scores=None if model.scores is None else np.append(model.scores, np.array(scores, model.scores.dtype)),
            training=None,
        )

    def refuse_unreachable(self, learned: Sequence[int]) -> None:
        """Raises ModelError if the bytes of an added token do not merge into it."""
        for id in learned:
            token = self.bytes_of[id]
            if self.settle(self.symbols(token)) != [id]:
                raise ModelError(f"merging would not reach the added token {token!r}", id)

    def symbols(self, token: bytes) -> list[int]:
        """The ids of a token's bytes or characters; negative for a symbol without a token."""
        symbols = [token[at : at + 1] for at in range(len(token))]
        if self.model.unit == "char":
            text = token.decode()
            chars = [*text.removesuffix(self.model.end_of_word_suffix)]
            chars[-1] = text[len("".join(chars[:-1])) :]
            symbols = [char.encode() for char in chars]
        for symbol in symbols:
            self.bytes_of.setdefault(self.id_of.setdefault(symbol, -1 - len(self.id_of)), symbol)
        return [self.id_of[symbol] for symbol in symbols]


class Words:
    """The distinct pieces of a corpus as ids, and the count of each pair of neighbours."""

    def __init__(self, model: Model, found: EncodedPieces) -> None:
        self.merger = Merger(model)
        self.words, self.counts = found.words, found.counts
        self.place_of = {piece: place for place, piece in enumerate(found.contents)}
        self.pairs: Counter[Any] = Counter()
        self.where: dict[Any, set[int]] = {}
        self.first: dict[Any, tuple[int, int]] = {}
        self.heap: list[tuple[int, tuple[int, int], Any]] = []
        for place in range(len(self.words)):
            self.count(place, 1)
        for key in self.pairs:
            self.push(key)

    def count(self, place: int, sign: int) -> set[Any]:
        """Adds (or subtracts) the pairs of a piece, and returns them."""
        ids, keys = self.words[place], set()
        for at in range(len(ids) - 1):
            pair = ids[at], ids[at + 1]
            if not self.merger.can_join(*pair):
                continue
            key = self.merger.key(*pair)
            self.pairs[key] += sign * self.counts[place]
            self.where.setdefault(key, set()).add(place)
            self.first[key] = min(self.first.get(key, pair), pair)
            keys.add(key)
        return keys

    def push(self, key: Any) -> None:
        if self.pairs[key] > 0:
            heapq.heappush(self.heap, (-self.pairs[key], self.first[key], key))

    def best(self, min_count: int) -> Any:
        """The pair with the highest count that forms a new token, with the lowest ids among equals; None without any."""
        while self.heap:
            count, first, key = heapq.heappop(self.heap)
            if -count != self.pairs[key] or first != self.first[key]:
                self.push(key)
            elif -count < min_count:
                return None
            elif self.merger.can_join(*first):
                return key
        return None

    def learned(self, n: int, min_count: int, next_id: int) -> Iterator[int]:
        """The ids of up to `n` added tokens, one after another."""
        for id in range(next_id, next_id + n):
            if (key := self.best(min_count)) is None:
                return
            token = self.merger.add(*self.first[key], id)
            keys = set()
            for place in sorted({*self.where.pop(key), *self.places_of(token)}):
                keys |= self.count(place, -1)
                self.words[place] = [id] if place in self.places_of(token) else self.merger.settle(self.words[place])
                keys |= self.count(place, 1)
            for other in keys:
                self.push(other)
            yield id

    def places_of(self, token: bytes) -> Collection[int]:
        """The piece that equals the token, if whole pieces are looked up."""
        return (self.place_of[token],) if token in self.place_of else ()
