"""The types of numbers that a matrix may have, and rounding to them: always to the nearest, ties to even.

BF16 is the upper half of a float32. numpy does not know it, so it is read and written as its 16 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["TYPES", "bad_rows", "doubles", "floats", "rounded"]

TYPES: Mapping[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F64": np.dtype("<f8"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
}
# The bits of the exponent, which are all set in NaN and infinity, by the size of a number and whether it is BF16.
HALF, BRAIN, SINGLE = np.uint16(0x7C00), np.uint16(0x7F80), np.uint32(0x7F800000)
TIE = np.uint32(0x8000)


def floats(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Numbers of a file as float32."""
    if rows.dtype == np.uint16:
        return (rows.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return rows.astype(np.float32)


def doubles(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers of a file as float64, which holds each of them exactly."""
    return (floats(rows) if rows.dtype == np.uint16 else rows).astype(np.float64)


def rounded(values: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """The numbers of a file nearest to these; of two that are equally near, the one whose last bit is 0.

    >>> rounded(np.array([1.0, 1.00390625, 1.01171875]), TYPES["BF16"]).tolist() == [0x3F80, 0x3F80, 0x3F82]
    True
    """
    if dtype != np.uint16:
        stored: NDArray[Any] = values.astype(dtype)
        return stored
    near = values.astype(np.float32)
    # Where rounding to float32 made a tie, what it left out decides.
    left = np.abs(values) - np.abs(near.astype(np.float64))
    bits = near.view(np.uint32)
    high, low = bits >> np.uint32(16), bits & np.uint32(0xFFFF)
    up = (low > TIE) | ((low == TIE) & ((left > 0) | ((left == 0) & (high & np.uint32(1) == 1))))
    brain: NDArray[np.uint16] = (high + up).astype(np.uint16)
    return brain


def bad_rows(rows: NDArray[Any]) -> NDArray[np.bool_]:
    """For each row whether it holds a number that is not finite."""
    if rows.dtype == np.uint16:
        wrong = rows & BRAIN == BRAIN
    elif rows.dtype == np.float16:
        wrong = rows.view(np.uint16) & HALF == HALF
    elif rows.dtype == np.float32:
        wrong = rows.view(np.uint32) & SINGLE == SINGLE
    else:
        wrong = ~np.isfinite(rows)
    found: NDArray[np.bool_] = wrong.any(axis=1)
    return found
