"""Surgery: a tokenizer with more tokens, with fewer, or with more special ones, and what becomes of its ids.

Added merges come after all others and join tokens that merging reaches, so that they change no text in which none of
them applies. Tokens are removed from the leaves of the forest of merges, so that what is left is reached as before.
"""

from __future__ import annotations

import heapq
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _counts
from ._corpus import Corpus, documents
from ._errors import CorpusError, InvalidOption, ModelError
from ._model import AddedToken, Model, Step, TokenTable
from ._progress import Reporter
from ._special import check_special_tokens
from ._threads import thread_count
from ._tokenizer import Tokenizer

__all__ = ["IdMap", "add_special", "extend", "prune"]

LOG = logging.getLogger("toksmith")
BATCH_DOCUMENTS = 10_000
BYTE_TOKENS = frozenset(f"<0x{byte:02X}>".encode() for byte in range(256))


@dataclass(frozen=True, eq=False)
class IdMap:
    """What became of the ids of a tokenizer.

    Attributes:
        old_size: The size of the old vocabulary: ids lie below it.
        new_size: The size of the new one.
        old_to_new: The new id of each old one; ids of removed tokens are not in it.
        sources: For each new id the old ids whose rows' mean starts its embedding row: its own for an id that stays,
            those of the token's text under the old tokenizer for one that is new.

    >>> import numpy as np
    >>> import toksmith
    >>> tok = toksmith.train("low lower", merges=1, pattern=None)
    >>> more, ids = toksmith.extend(tok, "low lower lowest", 1)
    >>> more.token_bytes(257), ids.sources[257]
    (b'low', (256, 119))
    >>> ids.apply(np.eye(257))[257].nonzero()[0].tolist()
    [119, 256]
    """

    old_size: int
    new_size: int
    old_to_new: Mapping[int, int]
    sources: Mapping[int, tuple[int, ...]]

    def __getitem__(self, old: int) -> int | None:
        """The new id of an old one; None if its token was removed."""
        return self.old_to_new.get(old)

    def apply(self, rows: ArrayLike) -> NDArray[Any]:
        """The rows of an array by old id (embeddings, biases) as an array by new id.

        Args:
            rows: An array whose first axis has at least `old_size` rows; rows beyond it are left out.
        Returns: An array of the same type, with `new_size` rows: copies where an id stays, means where it is new, zeros
            where no token has the id.
        """
        old = np.asarray(rows)
        if old.ndim < 1 or len(old) < self.old_size:
            raise InvalidOption("rows", old.shape, f"an array with at least {self.old_size} rows, one for each old id")
        new = np.zeros((self.new_size, *old.shape[1:]), old.dtype)
        for id, sources in self.sources.items():
            if len(sources) == 1:
                new[id] = old[sources[0]]
            elif sources:
                new[id] = old[list(sources)].mean(axis=0, dtype=np.float64).astype(old.dtype)
        return new


def extend(
    tok: Tokenizer, corpus: Corpus, n: int, *, min_count: int = 2, threads: int | None = None
) -> tuple[Tokenizer, IdMap]:
    """The tokenizer with `n` more tokens that a corpus teaches, and the map of its ids.

    The corpus is encoded, and training goes on from there: the pair of neighbouring tokens with the highest count
    becomes a token, with a merge after all others. So a text in whose ids no such pair stands keeps its ids, and every
    new token is reached by merging; that is checked for each of them.

    Args:
        n: The number of tokens to add; at least 1. They get the ids after the largest one.
        min_count: The least count of a pair that becomes a token.
        threads: At least 1; None for all processors. The result does not depend on it.
    Raises:
        CorpusError: The corpus is empty, or has no pair that occurs `min_count` times.
        InvalidOption: `n` or `min_count` is too small.
        ModelError: The model is none of byte-pair encoding whose splitters are regexes.
    Cost: time grows with the distinct pieces of the corpus, and with those that each new token stands in.
    """
    if n < 1:
        raise InvalidOption("n", n, "at least 1")
    if min_count < 1:
        raise InvalidOption("min_count", min_count, "at least 1")
    model = tok.model
    refuse_other_kinds(model)
    words = Words(model, counted(model, corpus, thread_count(threads)))
    learned = list(words.learned(n, min_count, tok.vocab_size))
    if not learned:
        raise CorpusError(None, None, f"the corpus adds nothing: no pair of tokens occurs {min_count} times in it")
    if len(learned) < n:
        LOG.warning("%d of %d tokens were added: no other pair occurs %d times", len(learned), n, min_count)
    new = words.merger.extended(model, learned)
    words.merger.refuse_unreachable(learned)
    sources = {id: words.merger.old_parts(id, tok.vocab_size) for id in learned}
    return Tokenizer(new), grown(tok, max(learned) + 1, sources)


def add_special(tok: Tokenizer, tokens: Iterable[str]) -> tuple[Tokenizer, IdMap]:
    """The tokenizer with more special tokens, which get the ids after the largest one, and the map of its ids.

    The text of a new token starts its embedding row: the ids that it has as ordinary text.

    Args:
        tokens: Contents, none of which may contain or overlap another or a special token that is there.
    Raises:
        InvalidOption: A content is empty, there already, or overlaps another.

    >>> import toksmith
    >>> tok, ids = toksmith.add_special(toksmith.train("low", merges=0), ["<|end|>"])
    >>> tok.encode("a<|end|>", special="allow"), len(ids.sources[256])
    ([97, 256], 7)
    """
    if isinstance(tokens, str):
        raise TypeError("tokens must be a list of contents, not one str")
    contents = list(tokens)
    there = [token.content for token in tok.model.added_tokens]
    for content in contents:
        if content in there:
            raise InvalidOption("tokens", content, "contents that are no added token yet")
    check_special_tokens((*tok.special_tokens, *contents))
    first = tok.vocab_size
    added = tuple(AddedToken(content, first + place) for place, content in enumerate(contents))
    model = replace(tok.model, added_tokens=(*tok.model.added_tokens, *added))
    sources = {token.id: tuple(tok.encode(token.content, special="text")) for token in added}
    return Tokenizer(model), grown(tok, first + len(added), sources)


def prune(
    tok: Tokenizer, n: int | None = None, *, corpus: Corpus | None = None, threads: int | None = None
) -> tuple[Tokenizer, IdMap]:
    """The tokenizer without some of its tokens, the others with ids without holes, and the map of its ids.

    Leaves of the forest of merges go first, and what only they were made for after them: those that the corpus uses
    least, or without a corpus those with the largest ids. A text whose ids had none of them keeps its tokens. Bytes,
    characters, special and other added tokens stay.

    Args:
        n: How many tokens to remove; None for all that the corpus does not use.
        corpus: What use is counted in.
        threads: At least 1; None for all processors. The result does not depend on it.
    Raises:
        InvalidOption: There are fewer tokens that can be removed, or neither `n` nor a corpus is given.
        ModelError: The model's post-processing holds ids, which would not be those of its tokens any more.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=4, pattern=None)
    >>> fewer, ids = toksmith.prune(tok, 2)
    >>> fewer.token_bytes(257), ids[257], ids[258]
    (b'low', 257, None)
    """
    if n is None and corpus is None:
        raise InvalidOption("n", n, "a number of tokens, where no corpus says which are not used")
    if n is not None and n < 0:
        raise InvalidOption("n", n, "at least 0")
    if tok.model.post:
        raise ModelError(f"the step {tok.model.post[0].kind!r} in post holds ids, so that tokens cannot be removed")
    forest = Forest(tok.model)
    counts = None if corpus is None else used(tok, corpus, thread_count(threads))
    removed: list[int] = []
    for id, count in forest.leaves(counts):
        if len(removed) == n or (n is None and count > 0):
            break
        removed.append(id)
    if n is not None and len(removed) < n:
        kept = len(tok) - len(removed)
        allowed = f"at most {len(removed)}: the other {kept} are bytes, characters and added tokens"
        raise InvalidOption("n", n, allowed)
    return without(tok, frozenset(removed))


def grown(tok: Tokenizer, size: int, sources: Mapping[int, tuple[int, ...]]) -> IdMap:
    """The map of a tokenizer whose ids all stay."""
    ids = sorted({*tok.model.ids.tolist(), *(token.id for token in tok.model.added_tokens)})
    return IdMap(tok.vocab_size, size, {id: id for id in ids}, {**{id: (id,) for id in ids}, **sources})


def refuse_other_kinds(model: Model) -> None:
    """Raises ModelError for a model that continued training is not defined for."""
    reasons = {
        f"its kind is {model.kind!r}": model.kind != "bpe",
        "it has scores": model.scores is not None,
        "it has normalizers": bool(model.normalizers),
        "its tokens have marks": bool(model.end_of_word_suffix or model.continuing_subword_prefix),
        "a splitter is no regex whose matches are pieces": not all(map(is_plain, model.splitters)),
    }
    for reason, holds in reasons.items():
        if holds:
            raise ModelError(f"only byte-pair encodings of pieces can be extended, and of this model {reason}")


def is_plain(step: Step) -> bool:
    """Whether a splitter is a regex in the Rust dialect whose matches are pieces."""
    options = dict(step.options)
    plain = {"dialect": "rust", "behavior": "isolated", "invert": False}
    return step.kind == "regex" and all(options.get(name) == value for name, value in plain.items())


def batches(corpus: Corpus) -> Iterator[list[str | bytes]]:
    """The documents of a corpus, some at a time."""
    batch: list[str | bytes] = []
    for document in documents(corpus):
        batch.append(document)
        if len(batch) == BATCH_DOCUMENTS:
            yield batch
            batch = []
    yield batch


def counted(model: Model, corpus: Corpus, threads: int) -> list[tuple[bytes, int]]:
    """The pieces of a corpus with their counts."""
    patterns = [step["pattern"] for step in model.splitters]
    counts = _counts.counted(corpus, patterns, _counts.Limits(), Reporter(False), threads=threads)
    if counts.bytes == 0:
        raise CorpusError(None, None, f"the corpus is empty: no byte in any of its documents ({counts.documents})")
    return counts.items()


def used(tok: Tokenizer, corpus: Corpus, threads: int) -> dict[int, int]:
    """How often each id stands in a corpus."""
    counts = np.zeros(tok.vocab_size, np.int64)
    for batch in batches(corpus):
        counts += np.bincount(tok.encode_ragged(batch, special="text", threads=threads).ids, minlength=len(counts))
    return dict(enumerate(counts.tolist()))


class Merger:
    """The merges of a model, by rank, and those that are added to them.

    For `merge_rule="pair"` a merge belongs to a pair of ids, else to the joined bytes of two neighbours.
    """

    def __init__(self, model: Model) -> None:
        self.by_pair = model.merge_rule == "pair"
        self.unit = model.unit
        ids = model.ids.tolist()
        self.bytes_of: dict[int, bytes] = dict(zip(ids, model.tokens, strict=True))
        self.id_of: dict[bytes, int] = {token: id for id, token in self.bytes_of.items()}
        self.parts: dict[int, tuple[int, int]] = {}
        self.merges: dict[Any, tuple[int, int]] = {}
        if self.by_pair:
            listed = enumerate(model.merges.tolist())
            self.merges = {(left, right): (rank, id) for rank, (left, right, id) in listed}
        else:
            self.merges = {token: (rank, id) for rank, (id, token) in enumerate(self.bytes_of.items())}
        self.rank = len(self.merges)

    def key(self, left: int, right: int) -> Any:
        """What the merge of two neighbours is found by."""
        return (left, right) if self.by_pair else self.bytes_of[left] + self.bytes_of[right]

    def settle(self, ids: list[int]) -> list[int]:
        """The ids after all merges: one pair at a time, the lowest rank, and the leftmost of equals."""
        while True:
            found = [
                (*merge, at)
                for at in range(len(ids) - 1)
                if (merge := self.merges.get(self.key(ids[at], ids[at + 1]))) is not None
            ]
            if not found:
                return ids
            _, id, at = min(found, key=lambda merge: (merge[0], merge[2]))
            ids = [*ids[:at], id, *ids[at + 2 :]]

    def add(self, left: int, right: int, id: int) -> bytes:
        """Adds a token with its merge, after all others; gives its bytes."""
        token = self.bytes_of[left] + self.bytes_of[right]
        self.merges[self.key(left, right)] = self.rank, id
        self.bytes_of[id], self.id_of[token], self.parts[id] = token, id, (left, right)
        self.rank += 1
        return token

    def old_parts(self, id: int, size: int) -> tuple[int, ...]:
        """The ids below `size` that an added token is made of."""
        return (id,) if id < size else tuple(old for part in self.parts[id] for old in self.old_parts(part, size))

    def extended(self, model: Model, learned: Sequence[int]) -> Model:
        """The model with the added tokens."""
        merges = [(*self.parts[id], id) for id in learned] if self.by_pair else []
        return replace(
            model,
            tokens=TokenTable.of([*model.tokens, *(self.bytes_of[id] for id in learned)]),
            ids=np.concatenate([model.ids, np.array(learned, np.uint32)]),
            merges=np.concatenate([model.merges, np.array(merges, np.uint32).reshape(-1, 3)]),
            training=None,
        )

    def refuse_unreachable(self, learned: Sequence[int]) -> None:
        """Raises ModelError for an added token that its own bytes do not merge to."""
        for id in learned:
            token = self.bytes_of[id]
            symbols = list(token.decode()) if self.unit == "char" else [token[at : at + 1] for at in range(len(token))]
            start = [self.id_of[symbol.encode() if isinstance(symbol, str) else symbol] for symbol in symbols]
            if self.settle(start) != [id]:
                raise ModelError(f"the added token {token!r} would not be reached by merging", id)


class Words:
    """The distinct pieces of a corpus as ids, and how often each pair of neighbours stands in them."""

    def __init__(self, model: Model, pieces: list[tuple[bytes, int]]) -> None:
        self.merger = Merger(model)
        plain = Tokenizer(replace(model, splitters=(), added_tokens=(), post=(), decoders=(), training=None))
        self.words = plain.encode_batch([piece for piece, _ in pieces])
        self.counts = [count for _, count in pieces]
        whole = pieces if model.whole_piece else []
        self.place_of = {piece: place for place, (piece, _) in enumerate(whole)}
        self.pairs: Counter[Any] = Counter()
        self.where: dict[Any, set[int]] = {}
        self.first: dict[Any, tuple[int, int]] = {}
        self.heap: list[tuple[int, tuple[int, int], Any]] = []
        for place in range(len(self.words)):
            self.count(place, 1)
        for key in self.pairs:
            self.push(key)

    def count(self, place: int, sign: int) -> set[Any]:
        """Adds (or takes away) the pairs of a piece; gives them."""
        ids, changed = self.words[place], set()
        for at in range(len(ids) - 1):
            key = self.merger.key(ids[at], ids[at + 1])
            self.pairs[key] += sign * self.counts[place]
            self.where.setdefault(key, set()).add(place)
            pair = ids[at], ids[at + 1]
            self.first[key] = min(self.first.get(key, pair), pair)
            changed.add(key)
        return changed

    def push(self, key: Any) -> None:
        """Puts a pair where the best one is taken from."""
        if self.pairs[key] > 0:
            heapq.heappush(self.heap, (-self.pairs[key], self.first[key], key))

    def best(self, min_count: int) -> Any:
        """The pair with the highest count that makes a new token, of equals that of the lowest ids; None for none."""
        while self.heap:
            count, first, key = heapq.heappop(self.heap)
            if -count != self.pairs[key] or first != self.first[key]:
                self.push(key)
            elif -count < min_count:
                return None
            elif self.merger.bytes_of[first[0]] + self.merger.bytes_of[first[1]] not in self.merger.id_of:
                return key
        return None

    def learned(self, n: int, min_count: int, next_id: int) -> Iterator[int]:
        """The ids of up to `n` added tokens, one after another."""
        for id in range(next_id, next_id + n):
            if (key := self.best(min_count)) is None:
                return
            token = self.merger.add(*self.first[key], id)
            changed = set()
            for place in sorted({*self.where.pop(key), *self.places_of(token)}):
                changed |= self.count(place, -1)
                self.words[place] = [id] if place in self.places_of(token) else self.merger.settle(self.words[place])
                changed |= self.count(place, 1)
            for other in changed:
                self.push(other)
            yield id

    def places_of(self, token: bytes) -> Collection[int]:
        """The piece that is the token, if that makes it one."""
        return (self.place_of[token],) if token in self.place_of else ()


class Forest:
    """The tokens that can be removed, and what each is made of."""

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
        """The tokens in the order in which they go, with their counts, those of the tokens made of them included."""
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
    """The last merge of each token whose merges are ordered by scores."""
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


def without(tok: Tokenizer, removed: frozenset[int]) -> tuple[Tokenizer, IdMap]:
    """The tokenizer without tokens that nothing else is made of."""
    model = tok.model
    ids = {*model.ids.tolist(), *(token.id for token in model.added_tokens)} - removed
    new_id = {old: new for new, old in enumerate(sorted(ids))}
    places = [place for place, id in enumerate(model.ids.tolist()) if id not in removed]
    merges = [[new_id[id] for id in row] for row in model.merges.tolist() if row[2] not in removed]
    pruned = replace(
        model,
        tokens=TokenTable.of([model.tokens[place] for place in places]),
        ids=np.array([new_id[int(model.ids[place])] for place in places], np.uint32),
        merges=np.array(merges, np.uint32).reshape(-1, 3),
        scores=None if model.scores is None else model.scores[places],
        unknown_id=None if model.unknown_id is None else new_id[model.unknown_id],
        added_tokens=tuple(replace(token, id=new_id[token.id]) for token in model.added_tokens),
        training=None,
    )
    return Tokenizer(pruned), IdMap(tok.vocab_size, len(new_id), new_id, {new: (old,) for old, new in new_id.items()})
