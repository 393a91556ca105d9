"""Surgery: a tokenizer with more tokens, with fewer, or with more special ones, and what becomes of its ids.

Added merges come after all others and join tokens that merging reaches, so that they change no text in which none of
them applies. Tokens are removed from the leaves of the forest of merges, so that what is left is reached as before.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._arguments import checked
from .._corpus import Corpus
from .._errors import CorpusError, InvalidOption, ModelError
from .._model import AddedToken, Model, Step, TokenTable
from .._progress import Reporter
from .._special import check_special_tokens
from .._threads import thread_count
from .._tokenizer import Tokenizer
from ._extend import Words, counted, refuse_other_kinds
from ._id_counts import used
from ._removal_order import Forest

__all__ = ["IdMap", "Model", "Reporter", "Step", "add_special", "extend", "prune"]

LOG = logging.getLogger("toksmith")


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
        try:
            old = np.asarray(rows)
        except (TypeError, ValueError, OverflowError) as error:
            raise TypeError(f"rows: expected an array of numbers, not {type(rows).__name__}") from error
        if old.ndim < 1 or len(old) < self.old_size:
            raise InvalidOption("rows", old.shape, f"an array with at least {self.old_size} rows, one for each old id")
        new = np.zeros((self.new_size, *old.shape[1:]), old.dtype)
        for id, sources in self.sources.items():
            if len(sources) == 1:
                new[id] = old[sources[0]]
            elif sources:
                new[id] = old[list(sources)].mean(axis=0, dtype=np.float64).astype(old.dtype)
        return new


@checked
def extend(
    tok: Tokenizer, corpus: Corpus, n: int, *, min_count: int = 2, threads: int | None = None
) -> tuple[Tokenizer, IdMap]:
    """The tokenizer with `n` more tokens that a corpus teaches, and the map of its ids.

    The corpus is encoded, and training goes on from there: the pair of neighbouring tokens with the highest count
    becomes a token, with a merge after all others. So a text in whose ids no such pair stands keeps its ids, and every
    new token is reached by merging; that is checked for each of them. Of a model that does not split (SentencePiece's), the
    words are counted, which begin at `▁`; with scores, new tokens get lower ones than all others.

    Args:
        n: The number of tokens to add; at least 1. They get the ids after the largest one.
        min_count: The least count of a pair that becomes a token.
        threads: At least 1; None for all processors. The result does not depend on it.
    Raises:
        CorpusError: The corpus is empty, or has no pair that occurs `min_count` times.
        InvalidOption: `n` or `min_count` is too small.
        ModelError: The model is none of byte-pair encoding, or its tokens inside of words carry a mark.
    Cost: time grows with the distinct pieces of the corpus, and with those that each new token stands in.
    """
    if not 1 <= n < 1 << 24:
        raise InvalidOption("n", n, "at least 1 and below 2**24")
    if not 1 <= min_count < 1 << 63:
        raise InvalidOption("min_count", min_count, "at least 1 and below 2**63")
    model = tok.model
    refuse_other_kinds(model)
    found = counted(tok, corpus, thread_count(threads))
    if not found.words:
        raise CorpusError(None, None, "the corpus is empty: no byte in any of its documents")
    words = Words(model, found)
    learned = list(words.learned(n, min_count, tok.vocab_size))
    if not learned:
        raise CorpusError(None, None, f"the corpus adds nothing: no pair of tokens occurs {min_count} times in it")
    if len(learned) < n:
        LOG.warning("%d of %d tokens were added: no other pair occurs %d times", len(learned), n, min_count)
    new = words.merger.extended(learned)
    words.merger.refuse_unreachable(learned)
    sources = {id: words.merger.old_parts(id, tok.vocab_size) for id in learned}
    return Tokenizer(new), grown(tok, max(learned) + 1, sources)


@checked
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


@checked
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
