"""The tokens that mean one byte in vocabularies of characters: `<0x00>` to `<0xFF>`, as SentencePiece names them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["BYTE_TOKENS"]

# The byte that each means.
BYTE_TOKENS: Mapping[bytes, int] = MappingProxyType({f"<0x{byte:02X}>".encode(): byte for byte in range(256)})
