"""The hashes under which vLLM keeps the blocks of ids in its prefix cache (`vllm/v1/core/kv_cache_utils.py` of 0.33).

The hash of a block is that of the hash of the block before it, of its ids, and of None: for text without images, adapters or a salt.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["HASHES", "SEED", "hash_blocks"]

SEED = "vllm-none-hash"


def hash_blocks(
    ids: NDArray[np.uint32], block_size: int, algorithm: str, seed: str, known: Sequence[bytes]
) -> tuple[bytes, ...]:
    """The hashes of all full blocks; those of the first blocks are known."""
    hashes, hash_of = [*known], HASHES[algorithm]
    for end in range((len(hashes) + 1) * block_size, len(ids) + 1, block_size):
        block = tuple(ids[end - block_size : end].tolist())
        hashes.append(hash_of((hashes[-1] if hashes else hash_of(seed), block, None)))
    return tuple(hashes)


def cbor(value: Any) -> bytes:
    """A text, bytes, a number, None, or a tuple of them in CBOR (RFC 8949)."""
    if value is None:
        return b"\xf6"
    if isinstance(value, tuple):
        return cbor_head(4, len(value)) + b"".join(map(cbor, value))
    if isinstance(value, int):
        return cbor_head(0, value)
    data = value.encode() if isinstance(value, str) else value
    return cbor_head(3 if isinstance(value, str) else 2, len(data)) + data


def cbor_head(kind: int, size: int) -> bytes:
    """The bytes before a value of a kind: the kind and the size (of a number, the number) in the fewest bytes."""
    if size < 24:
        return bytes([kind << 5 | size])
    power = next(power for power in range(4) if size < 1 << (8 << power))
    return bytes([kind << 5 | 24 + power]) + size.to_bytes(1 << power, "big")


HASHES: dict[str, Callable[[Any], bytes]] = {
    "sha256": lambda value: hashlib.sha256(pickle.dumps(value, 5)).digest(),
    "sha256_cbor": lambda value: hashlib.sha256(cbor(value)).digest(),
}
