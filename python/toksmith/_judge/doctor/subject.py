"""The input of the checks: a tokenizer and facts about its tokens, computed once for all checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..._corpus import Corpus, iter_documents
from ..._graft.weights import Matrix, find_matrices
from ..._model.model import BYTE_TOKENS
from ..._tokenizer.pattern_fit import TokenTexts, find_misfits, token_texts
from ..._tokenizer.tokenizer import Text, Tokenizer
from ...metrics import Sample, measure
from ...metrics._sample import Tokens, tokens_of
from .diagnosis import Witness

# Characters (or bytes) at the beginning of the corpus for the slow checks of its text.
HEAD = 200_000


class Subject:
    """A tokenizer, and the corpus and the embeddings of the call."""

    def __init__(self, tok: Tokenizer, corpus: Corpus | None, embeddings: Path | None) -> None:
        self.tok, self.corpus, self.embeddings = tok, corpus, embeddings
        self._head: list[Text] = []

    @cached_property
    def facts(self) -> Tokens:
        return tokens_of(self.tok)

    @cached_property
    def texts(self) -> TokenTexts:
        """The ordinary tokens that are whole characters."""
        return token_texts(self.tok.model)

    @cached_property
    def misfits(self) -> NDArray[np.bool_]:
        """For each of `texts`, whether it does not encode to itself."""
        return find_misfits(self.tok.model, self.texts)

    @cached_property
    def sample(self) -> Sample | None:
        return None if self.corpus is None else measure(self.tok, self._store_head(self.corpus)).sample

    @property
    def head(self) -> Sequence[Text]:
        """The first documents of the corpus; the last of them can be cut at the end of a line."""
        return [] if self.sample is None else self._head

    def _store_head(self, corpus: Corpus) -> Iterator[Text]:
        """The documents of the corpus; stores the first ones in `_head`, because a corpus can be an iterator."""
        room = HEAD
        for document in iter_documents(corpus):
            if room > 0:
                part = document[:room]
                if len(part) < len(document):
                    end = part.rfind(b"\n") if isinstance(part, bytes) else part.rfind("\n")
                    part = part[: end + 1]
                self._head.append(part)
                room -= len(document)
            yield document

    @cached_property
    def matrices(self) -> Sequence[Matrix]:
        """The embedding matrices of the file, checked against the vocabulary."""
        return [] if self.embeddings is None else find_matrices(self.embeddings, self.tok.vocab_size)

    @cached_property
    def merges(self) -> NDArray[np.uint32]:
        """The merges that make tokens: left id, right id, result id."""
        model = self.tok.model
        return model.vocab.recover_merges() if model.kind == "bpe" else model.merges

    @cached_property
    def merged(self) -> NDArray[np.bool_]:
        """For each token, in the order of `facts`, whether a merge makes it or it is a base token."""
        reachable = np.zeros(len(self.facts.ids), np.bool_)
        reachable[self.facts.places(self.merges[:, 2])] = True
        model = self.tok.model
        base = [id for id, token in zip(model.ids.tolist(), model.tokens, strict=True) if self.is_base(token)]
        reachable[self.facts.places(base)] = True
        return reachable

    def is_base(self, token: bytes) -> bool:
        """Whether a token exists before the first merge."""
        if self.tok.model.unit == "byte":
            return len(token) == 1
        return len(token.decode("utf-8", "replace")) == 1 or token in BYTE_TOKENS

    def witnesses(self, ids: Iterable[int], kind: str) -> list[Witness]:
        return [Witness(int(id), self.tok.token_bytes(int(id)), kind) for id in ids]
