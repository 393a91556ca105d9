"""Corpora to files of ids.

`_encode.py` encodes, `_npy.py` writes the arrays, `_manifest.py` records which files belong together.
"""

from __future__ import annotations

from ._encode import EncodedCorpus, encode_corpus

__all__ = ["EncodedCorpus", "encode_corpus"]
