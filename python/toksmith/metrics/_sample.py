"""The data of metrics: exact counts of one encoding pass, and properties of each token's bytes.

Counts of parts of a corpus, from other threads, processes or machines, add up to the counts of the whole, in any order. Left
out: every ratio.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._base.threads import thread_count
from .._corpus import Corpus, batch_texts, iter_documents
from .._model.model import check_numbers, plain_array
from .._tokenizer.tokenizer import Special, Tokenizer
from ..errors import InvalidOption

BATCH_CHARS = 16 << 20

# The sizes of the core's tables: numbers of up to 12 digits, and indentation by up to 64 spaces or 16 tabs.
DIGITS, SPACES, TABS = 12, 64, 16

STARTS_INSIDE, ENDS_INSIDE, IMPOSSIBLE, WHITE, SPECIAL = (1 << bit for bit in range(1, 6))


@dataclass(frozen=True, eq=False)
class Tokens:
    """Properties of a tokenizer's tokens by their bytes, as arrays with one value
    per token, in the order of ids.

    Attributes:
        ids: uint32, ascending; an id can be far larger than the number of
            tokens.
        lengths: uint32, bytes.
        special: Whether the token is special.
        starts_inside: Whether it begins inside a character.
        ends_inside: Whether it ends inside a character.
        impossible: Whether no well-formed UTF-8 contains its bytes.
        white: Whether it is only white space.
    """

    ids: NDArray[np.uint32]
    lengths: NDArray[np.uint32]
    special: NDArray[np.bool_]
    starts_inside: NDArray[np.bool_]
    ends_inside: NDArray[np.bool_]
    impossible: NDArray[np.bool_]
    white: NDArray[np.bool_]

    @property
    def partial(self) -> NDArray[np.bool_]:
        """Whether the token is not valid UTF-8 alone."""
        return self.starts_inside | self.ends_inside | self.impossible

    def places(self, ids: NDArray[np.unsignedinteger] | list[int]) -> NDArray[np.intp]:
        """The indices of these ids in the arrays; every id must be one of a
        token."""
        array = plain_array(ids, "ids")
        if array.dtype != np.uint32:
            check_numbers(array, np.dtype(np.uint32), "ids")
        return np.searchsorted(self.ids, array.astype(np.uint32, copy=False))


VOCABULARIES: WeakKeyDictionary[Tokenizer, Tokens] = WeakKeyDictionary()


def tokens_of(tok: Tokenizer) -> Tokens:
    """The properties of the tokens of `tok`, in read-only arrays; cached while `tok` lives."""
    vocabulary = VOCABULARIES.get(tok)
    if vocabulary is None:
        ids, lengths, flags = _core.token_facts(tok._engine)
        bits = (SPECIAL, STARTS_INSIDE, ENDS_INSIDE, IMPOSSIBLE, WHITE)
        masks = [(flags & bit).astype(np.bool_) for bit in bits]
        for array in (ids, lengths, *masks):
            array.flags.writeable = False
        vocabulary = VOCABULARIES[tok] = Tokens(ids, lengths, *masks)
    return vocabulary


@dataclass(frozen=True, eq=False)
class Sample:
    """Exact counts of a tokenizer's output on a corpus. `a + b` counts both
    corpora.

    A word is a letter with the letters and marks after it; a space (U+0020)
    before it counts as part of it, because it is in the word's token wherever
    possible. A number is a run of ASCII digits. An indented line begins with
    spaces or tabs and continues with another character. Texts that differ
    from the joined bytes of their tokens (with a model with normalizers) are
    counted in `unplaced`, and the counts from `words` on exclude them.

    Attributes:
        tokenizer: The fingerprint of the tokenizer; only counts of one
            tokenizer add up.
        documents, bytes, chars, tokens: The size of the corpus; `chars` counts
            bytes that begin a character.
        changed: Documents that decoding does not restore.
        words, word_tokens, cut_words: Words; tokens that contain a byte of a
            word, summed over words; words in several tokens.
        spaced, glued: Words after a space; words whose first letter is in the
            token of the space.
        long_numbers: Numbers of more than 12 digits, which are not in
            `numbers`.
        numbers: uint64, shape (4096,): numbers by `1 << (digits - 1) | cuts`;
            bit i of `cuts` is a cut after digit i + 1.
        indents: uint64, shape (81, 2): lines and tokens that end in their
            indentation; by 1…64 spaces, 1…16 tabs, others.
        emitted: uint64, shape (entries,): occurrences of each token, in the
            order of their ids.
        vocabulary: The properties of each token.
    """

    tokenizer: str
    documents: int
    bytes: int
    chars: int
    tokens: int
    changed: int
    unplaced: int
    words: int
    word_tokens: int
    cut_words: int
    spaced: int
    glued: int
    long_numbers: int
    numbers: NDArray[np.uint64]
    indents: NDArray[np.uint64]
    emitted: NDArray[np.uint64]
    vocabulary: Tokens

    def __add__(self, other: Sample) -> Sample:
        if self.tokenizer != other.tokenizer:
            allowed = "counts of one tokenizer; these have different fingerprints, so that their ids differ"
            raise InvalidOption("other", other.tokenizer, allowed)
        shared = {"tokenizer": self.tokenizer, "vocabulary": self.vocabulary}
        names = [item.name for item in fields(self) if item.name not in shared]
        return Sample(**shared, **{name: getattr(self, name) + getattr(other, name) for name in names})  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sample) and all(
            np.array_equal(getattr(self, item.name), getattr(other, item.name))
            for item in fields(self)
            if item.name != "vocabulary"
        )

    def __hash__(self) -> int:
        return hash((self.tokenizer, self.documents, self.bytes, self.tokens))

    @property
    def entries(self) -> int:
        """Tokens in the vocabulary, special tokens included."""
        return len(self.vocabulary.ids)

    @cached_property
    def _shares(self) -> NDArray[np.float64]:
        """The share of each emitted id in all tokens."""
        emitted = self.emitted[np.flatnonzero(self.emitted > 0)].astype(np.float64)
        shares: NDArray[np.float64] = emitted / emitted.sum()
        return shares

    @property
    def ids(self) -> NDArray[np.uint64]:
        """Occurrences of each id: uint64, shape (vocab_size,), a new array at
        each call."""
        by_id = np.zeros(int(self.vocabulary.ids[-1]) + 1 if self.entries else 0, np.uint64)
        by_id[self.vocabulary.ids] = self.emitted
        return by_id


def count_sample(tok: Tokenizer, corpus: Corpus, *, special: Special, threads: int | None) -> Sample:
    """The counts of a corpus, in one encoding pass."""
    tally = _core.Tally(tok._engine)
    workers = thread_count(threads)
    for batch in batch_texts(iter_documents(corpus), BATCH_CHARS):
        tally.add(batch, special, "replace", workers)
    counts: dict[str, Any] = tally.counts()
    return Sample(tokenizer=tok.fingerprint, vocabulary=tokens_of(tok), **counts)
