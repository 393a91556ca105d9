"""Vocabularies in toksmith's own format, written by toksmith."""

from __future__ import annotations

from dataclasses import replace

from .adapters import Encoding
from .vocabularies import derived_path


def with_native(encoding: Encoding) -> Encoding:
    """The encoding with its file in toksmith's format, written again because the build can have changed the format."""
    import toksmith

    path = derived_path(encoding, ".toksmith")
    toksmith.load(encoding.source, pattern=encoding.pattern).save(path)
    return replace(encoding, native=str(path))
