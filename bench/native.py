"""Vocabularies in toksmith's own format, made by toksmith itself."""

from __future__ import annotations

from dataclasses import replace

from .adapters import Encoding
from .vocabularies import derived


def with_native(encoding: Encoding) -> Encoding:
    """The encoding with its file in toksmith's format, written again because the build may have changed the format."""
    import toksmith

    path = derived(encoding, ".toksmith")
    toksmith.load(encoding.source, pattern=encoding.pattern).save(path)
    return replace(encoding, native=str(path))
