"""Surgery: adds tokens or special tokens to a tokenizer, or removes tokens, and maps the old ids to the new ones.

Added merges come after all others and join tokens that merging can reach, so the ids of a text to which no added merge
applies do not change. Tokens are removed at the leaves of the forest of merges, so merging reaches all remaining tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from ..._base.arguments import check_int, check_texts
from ..._base.threads import thread_count
from ..._base.wording import number_of
from ..._corpus import Corpus, batch_texts, iter_documents
from ..._model.model import AddedToken, TokenTable
from ..._model.special import check_special_tokens
from ..._render.streams import LOG
from ..._tokenizer.tokenizer import Tokenizer
from ...errors import CorpusError, InvalidOption, ModelError
from .extension import Words, count_encoded_pieces, refuse_other_kinds
from .id_map import IdMap
from .removal_order import Forest

__all__ = ["IdMap", "add_special", "extend", "prune"]


def extend(
    tok: Tokenizer, corpus: Corpus, n: int, *, min_count: int = 2, threads: int | None = None
) -> tuple[Tokenizer, IdMap]:
    """Adds `n` tokens learned from a corpus, and returns the new tokenizer with
    the map of its ids.

    The corpus is encoded, and training continues from its ids: the pair of
    neighbouring tokens with the highest count becomes a token, with a merge
    after all others. A text whose ids contain no such pair keeps its ids.
    Merging reaches every new token; this is checked. For a model that does not
    split (SentencePiece), words are counted, which begin at `▁`. In a model
    with scores, new tokens get lower scores than all others.

    Args:
        n: The number of tokens to add; at least 1. Their ids follow the largest
            id.
        min_count: The lowest count at which a pair becomes a token.
        threads: At least 1; None for all processors. The result does not depend
            on it.
    Raises:
        CorpusError: The corpus is empty, or no pair occurs `min_count` times.
        InvalidOption: `n` or `min_count` is too small.
        ModelError: The model is not a byte-pair encoding, or its tokens inside
            words carry a mark.
    Cost: time grows with the distinct pieces of the corpus, and with the number
        of pieces that contain each new token.
    """
    if not 1 <= check_int(n, "n") < 1 << 24:
        raise InvalidOption("n", n, "at least 1 and below 2**24")
    if not 1 <= check_int(min_count, "min_count") < 1 << 63:
        raise InvalidOption("min_count", min_count, "at least 1 and below 2**63")
    model = tok.model
    refuse_other_kinds(model)
    pieces = count_encoded_pieces(tok, corpus, thread_count(threads))
    if not pieces.words:
        raise CorpusError(None, None, "the corpus is empty")
    words = Words(model, pieces)
    new_ids = list(words.learned(n, min_count, tok.vocab_size))
    if not new_ids:
        raise CorpusError(
            None, None, f"the corpus adds no token: no pair of tokens occurs {number_of(min_count, 'time')}"
        )
    if len(new_ids) < n:
        LOG.warning("%d of %d tokens were added: no other pair occurs %d times", len(new_ids), n, min_count)
    model_with_tokens = words.merger.extend_model(new_ids)
    words.merger.refuse_unreachable(new_ids)
    sources = {id: words.merger.old_parts(id, tok.vocab_size) for id in new_ids}
    return Tokenizer(model_with_tokens), map_of_grown(tok, max(new_ids) + 1, sources)


def add_special(tok: Tokenizer, tokens: Iterable[str]) -> tuple[Tokenizer, IdMap]:
    """Adds special tokens, whose ids follow the largest id, and returns the new
    tokenizer with the map of its ids.

    The embedding row of a new token starts from the ids of its content as
    ordinary text.

    Args:
        tokens: Contents. They must not contain or overlap each other or an
            existing special token.
    Raises:
        InvalidOption: A content is empty, already exists, or overlaps another.

    >>> import toksmith
    >>> tok, ids = toksmith.add_special(toksmith.train("low", merges=0), ["<|end|>"])
    >>> tok.encode("a<|end|>", special="allow"), len(ids.sources[256])
    ([97, 256], 7)
    """
    contents = check_texts(tokens, "tokens")
    existing = [token.content for token in tok.model.added_tokens]
    for content in contents:
        if content in existing:
            raise InvalidOption("tokens", content, "contents that are not added tokens yet")
    check_special_tokens((*tok.special_tokens, *contents), "tokens")
    first = tok.vocab_size
    added = tuple(AddedToken(content, first + place) for place, content in enumerate(contents))
    model = replace(tok.model, added_tokens=(*tok.model.added_tokens, *added))
    sources = {token.id: tuple(tok.encode(token.content, special="text")) for token in added}
    return Tokenizer(model), map_of_grown(tok, first + len(added), sources)


def prune(
    tok: Tokenizer, n: int | None = None, *, corpus: Corpus | None = None, threads: int | None = None
) -> tuple[Tokenizer, IdMap]:
    """Removes tokens, closes the holes in the ids, and returns the new tokenizer
    with the map of its ids.

    Leaves of the forest of merges go first, then the tokens that become leaves:
    the tokens that the corpus uses least, or without a corpus those with the
    largest ids. A text without any removed token keeps its tokens. Bytes,
    characters, special tokens and other added tokens stay.

    Args:
        n: The number of tokens to remove; None for all tokens that the corpus
            does not use.
        corpus: The texts in which uses of tokens are counted.
        threads: At least 1; None for all processors. The result does not depend
            on it.
    Raises:
        InvalidOption: Fewer than `n` tokens can be removed, or neither `n` nor
            a corpus is given.
        ModelError: The model's post-processing contains ids, which removal
            would make wrong, or the model has unused tokens.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=4, pattern=None)
    >>> fewer, ids = toksmith.prune(tok, 2)
    >>> fewer.token_bytes(257), ids[257], ids[258]
    (b'low', 257, None)
    """
    if n is None and corpus is None:
        raise InvalidOption("n", n, "a number of tokens, or a corpus that shows which are unused")
    if n is not None and check_int(n, "n") < 0:
        raise InvalidOption("n", n, "at least 0")
    if tok.model.post:
        raise ModelError(f"tokens cannot be removed: the step {tok.model.post[0].kind!r} in post contains ids")
    if tok.model.unused_ids:
        raise ModelError("tokens cannot be removed: the model has unused tokens, which others are merged from")
    forest = Forest(tok.model)
    counts = None if corpus is None else count_ids(tok, corpus, thread_count(threads))
    removed: list[int] = []
    for id, count in forest.leaves(counts):
        if len(removed) == n or (n is None and count > 0):
            break
        removed.append(id)
    if n is not None and len(removed) < n:
        others = len(tok) - len(removed)
        allowed = f"at most {len(removed)}: the other {others} tokens are bytes, characters and added tokens"
        raise InvalidOption("n", n, allowed)
    return remove_tokens(tok, frozenset(removed))


def count_ids(tok: Tokenizer, corpus: Corpus, threads: int) -> dict[int, int]:
    """The count of each id in a corpus; 0 for unused ids."""
    counts: Counter[int] = Counter()
    for batch in batch_texts(iter_documents(corpus)):
        ids, often = np.unique(tok.encode_ragged(batch, special="text", threads=threads).ids, return_counts=True)
        counts.update(dict(zip(ids.tolist(), often.tolist(), strict=True)))
    return counts


def map_of_grown(tok: Tokenizer, size: int, sources: Mapping[int, tuple[int, ...]]) -> IdMap:
    """The map to a tokenizer with added ids that keeps all old ids."""
    ids = sorted({*tok.model.ids.tolist(), *(token.id for token in tok.model.added_tokens)})
    own_sources = {id: (id,) for id in ids}
    return IdMap(tok.vocab_size, size, {id: id for id in ids}, {**own_sources, **sources}, tok.fingerprint)


def remove_tokens(tok: Tokenizer, removed: frozenset[int]) -> tuple[Tokenizer, IdMap]:
    """The tokenizer without these tokens, from which no other token is merged."""
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
    sources = {new: (old,) for old, new in new_id.items()}
    return Tokenizer(pruned), IdMap(tok.vocab_size, len(new_id), new_id, sources, tok.fingerprint)
