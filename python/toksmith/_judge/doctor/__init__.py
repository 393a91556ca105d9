"""doctor: finds problems of a tokenizer, each with exact counts and an example.

A check is a function of a `Subject` and a row of `CHECKS`. The checks use the vocabulary, and a corpus and a model's embeddings
if these are given. Left out: asking a model.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ..._corpus import Corpus
from ..._sources.named import TokenizerSource, resolve_tokenizer
from ..._tokenizer.tokenizer import Tokenizer
from .context import never_emitted, pattern, special_tokens, text_forms
from .diagnosis import CheckFinding, Diagnosis, Severity, Witness
from .subject import Subject
from .tokens import cut_characters, duplicates, merges, missing_bytes, unreachable
from .trained import under_trained

__all__ = ["CHECKS", "Check", "CheckFinding", "Diagnosis", "Severity", "Tokenizer", "Witness", "doctor"]


class Check(NamedTuple):
    """One row: the function, which has the name of the check, and the question that it answers."""

    function: Callable[[Subject], CheckFinding]
    asks: str


CHECKS = (
    Check(cut_characters, "Which tokens are not whole characters?"),
    Check(unreachable, "Which tokens does no text produce?"),
    Check(merges, "Which tokens does no merge make?"),
    Check(pattern, "Is the split pattern the vocabulary's own?"),
    Check(missing_bytes, "Can every byte be encoded?"),
    Check(duplicates, "Which tokens are the same text in several forms?"),
    Check(special_tokens, "Can ordinary text produce a special token?"),
    Check(never_emitted, "Which tokens does the corpus not need?"),
    Check(text_forms, "Does the corpus contain hidden characters or other Unicode forms?"),
    Check(under_trained, "Which tokens has the model hardly seen?"),
)


def doctor(
    tok: TokenizerSource, *, corpus: Corpus | None = None, embeddings: str | os.PathLike[str] | None = None
) -> Diagnosis:
    """The problems of a tokenizer: findings with severities, exact counts and
    witnesses.

    Args:
        corpus: Documents as for `train`, to find the tokens that text never
            needs. Special tokens in it are ordinary text.
        embeddings: A safetensors file of a model that uses the tokenizer, or
            the folder that contains it, to find the tokens that the model
            hardly met in training. Its matrices are mapped, not loaded.
    Returns:
        One finding for each check, "not applicable" if an input is missing.
    Raises:
        CorpusError: A file of the corpus cannot be read.
        FormatError: `embeddings` is not such a file, or has no matrix with a
            row for each id.
    Cost: a few encodings of the whole vocabulary; with a corpus, one encoding
        of it; with embeddings, a few passes.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3)
    >>> found = toksmith.doctor(tok)
    >>> found.severity, found["unreachable"].counts["encode to themselves"]
    ('pass', 131)
    """
    tok = resolve_tokenizer(tok)
    subject = Subject(tok, corpus, None if embeddings is None else Path(embeddings))
    return Diagnosis(tok.fingerprint, tuple(check.function(subject) for check in CHECKS))
