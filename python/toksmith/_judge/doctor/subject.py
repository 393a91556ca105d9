"""The input of the checks: a tokenizer and facts about its tokens, computed once for all checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..._corpus import Corpus, documents
from ..._graft.weights import Matrix, matrices
from ..._model.model import BYTE_TOKENS
from ..._tokenizer.pattern_fit import TokenTexts, misfits, token_texts
from ..._tokenizer.tokenizer import Text, Tokenizer
from ...metrics import Sample, measure
from ...metrics._sample import Tokens, tokens_of
from .diagnosis import Witness

__all__ = ["Subject"]

# Characters (or bytes) of the corpus that are looked at closely.
HEAD = 200_000


class Subject:
    """A tokenizer and what was given with it."""

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
        """Which of `texts` do not encode to themselves."""
        return misfits(self.tok.model, self.texts)

    @cached_property
    def sample(self) -> Sample | None:
        return None if self.corpus is None else measure(self.tok, self._watched(self.corpus)).sample

    @property
    def head(self) -> Sequence[Text]:
        """The beginning of the corpus: its first documents, the last of them perhaps cut at the end of a line."""
        return [] if self.sample is None else self._head

    def _watched(self, corpus: Corpus) -> Iterator[Text]:
        """The documents of the corpus, which may come but once; the first are kept."""
        room = HEAD
        for document in documents(corpus):
            if room > 0:
                kept = document[:room]
                if len(kept) < len(document):
                    end = kept.rfind(b"\n") if isinstance(kept, bytes) else kept.rfind("\n")
                    kept = kept[: end + 1]
                self._head.append(kept)
                room -= len(document)
            yield document

    @cached_property
    def matrices(self) -> Sequence[Matrix]:
        """The embedding matrices of the file, checked against the vocabulary."""
        return [] if self.embeddings is None else matrices(self.embeddings, self.tok.vocab_size)

    @cached_property
    def merges(self) -> NDArray[np.uint32]:
        """The merges that tokens come from: left id, right id, result id."""
        model = self.tok.model
        return model.vocab.recover_merges() if model.kind == "bpe" else model.merges

    @cached_property
    def merged(self) -> NDArray[np.bool_]:
        """For each token, in the order of `facts`, whether merges make it, or it is there before the first."""
        made = np.zeros(len(self.facts.ids), np.bool_)
        made[self.facts.places(self.merges[:, 2])] = True
        model = self.tok.model
        base = [id for id, token in zip(model.ids.tolist(), model.tokens, strict=True) if self.is_base(token)]
        made[self.facts.places(base)] = True
        return made

    def is_base(self, token: bytes) -> bool:
        """Whether a token is there before the first merge."""
        if self.tok.model.unit == "byte":
            return len(token) == 1
        return len(token.decode("utf-8", "replace")) == 1 or token in BYTE_TOKENS

    def witnesses(self, ids: Iterable[int], kind: str) -> list[Witness]:
        return [Witness(int(id), self.tok.token_bytes(int(id)), kind) for id in ids]
