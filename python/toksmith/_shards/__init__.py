"""Corpora to files of ids.

`_encode.py` is what is encoded, `_npy.py` how it gets into files, `_manifest.py` which files belong together.
"""

from __future__ import annotations

from ._encode import EncodedCorpus, encode_corpus

__all__ = ["EncodedCorpus", "encode_corpus"]
