"""`tiktoken._educational`: byte-pair encoding step by step, slow and printed.

`SimpleBytePairEncoding` has tiktoken's methods. Training calls `toksmith.train`, which merges the same pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import regex

from ..._render import escape_controls
from ..._training import train
from .core import Encoding
from .registry import get_encoding

COLOURS = (167, 179, 185, 77, 80, 68, 134)


class SimpleBytePairEncoding:
    """Ranks and a pattern, in plain Python."""

    def __init__(self, *, pat_str: str, mergeable_ranks: Mapping[bytes, int]) -> None:
        self.pat_str, self.mergeable_ranks = pat_str, mergeable_ranks
        self._decoder = {rank: token for token, rank in mergeable_ranks.items()}
        self._pat = regex.compile(pat_str)

    def encode(self, text: str, visualise: str | None = "colour") -> list[int]:
        """The ids of a text; each merge is printed unless `visualise` is None."""
        return [
            id for word in self._pat.findall(text) for id in bpe_encode(self.mergeable_ranks, word.encode(), visualise)
        ]

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of ids."""
        return b"".join(self._decoder[token] for token in tokens)

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of ids."""
        return self.decode_bytes(tokens).decode("utf-8", "replace")

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each id."""
        return [self._decoder[token] for token in tokens]

    @staticmethod
    def train(training_data: str, vocab_size: int, pat_str: str) -> SimpleBytePairEncoding:
        """Train on a text."""
        ranks = bpe_train(data=training_data, vocab_size=vocab_size, pat_str=pat_str)
        return SimpleBytePairEncoding(pat_str=pat_str, mergeable_ranks=ranks)

    @staticmethod
    def from_tiktoken(encoding: str | Encoding) -> SimpleBytePairEncoding:
        """The ranks and pattern of an encoding, or of a published one by its name."""
        source: Any = get_encoding(encoding) if isinstance(encoding, str) else encoding
        return SimpleBytePairEncoding(pat_str=source._pat_str, mergeable_ranks=source._mergeable_ranks)


def bpe_encode(mergeable_ranks: Mapping[bytes, int], input: bytes, visualise: str | None = "colour") -> list[int]:
    """The ids of a piece: among neighbours that join to a token, the lowest rank merges first."""
    parts = [bytes([byte]) for byte in input]
    while True:
        if visualise:
            visualise_tokens(parts) if visualise in ("colour", "color") else print(parts)
        candidates = [
            (mergeable_ranks[pair], at)
            for at in range(len(parts) - 1)
            if (pair := parts[at] + parts[at + 1]) in mergeable_ranks
        ]
        if not candidates:
            break
        _, at = min(candidates)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    if visualise:
        print()
    return [mergeable_ranks[part] for part in parts]


def bpe_train(data: str, vocab_size: int, pat_str: str, visualise: str | None = "colour") -> dict[bytes, int]:
    """The ranks from training on a text; among pairs with equal counts, the first in the text merges."""
    if vocab_size < 256:
        raise ValueError("vocab_size must be at least 256, so we can encode all bytes")
    tok = train(data, vocab_size, pattern=pat_str, ties="first_seen", progress=False)
    ranks = dict(zip(tok.model.tokens, tok.model.ids.tolist(), strict=True))
    if visualise:
        print(f"{len(ranks)} tokens; the last is {tok.model.tokens[len(ranks) - 1]!r}")
    return ranks


def visualise_tokens(token_values: Sequence[bytes]) -> None:
    """Print tokens on alternating backgrounds."""
    offset = 0
    for place, value in enumerate(token.decode("utf-8", "replace") for token in token_values):
        print(f"\x1b[48;5;{COLOURS[(place + offset) % len(COLOURS)]}m{escape_controls(value)}", end="")
        offset += len(value)
    print("\x1b[0m")


def train_simple_encoding() -> SimpleBytePairEncoding:
    """A small encoding of 600 tokens, trained on this file."""
    from .core import ENDOFTEXT

    pattern = r"""'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
    with open(__file__, encoding="utf-8") as file:
        text = file.read()
    enc = SimpleBytePairEncoding.train(text, vocab_size=600, pat_str=pattern)
    print(f"without {ENDOFTEXT}: {len(enc.mergeable_ranks)} tokens")
    return enc
