"""Corpora to files of ids: what is encoded (`_encode.py`) and how it gets into files (`_npy.py`)."""

from __future__ import annotations

from ._encode import EncodedCorpus, encode_corpus

__all__ = ["EncodedCorpus", "encode_corpus"]
