"""Safetensors files for tests, written by the definition of the format."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def safetensors(path: Path, tensors: Mapping[str, tuple[str, Sequence[int], bytes]]) -> Path:
    """A safetensors file, written by its definition."""
    entries, data = {}, b""
    for name, (dtype, shape, raw) in tensors.items():
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    header = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + data)
    return path


def raw(rows: np.ndarray[Any, np.dtype[np.float32]], dtype: str) -> tuple[str, Sequence[int], bytes]:
    """Type, shape and bytes of a tensor with these numbers; BF16 is cut, not rounded."""
    if dtype == "BF16":
        return dtype, rows.shape, (rows.view(np.uint32) >> 16).astype(np.uint16).tobytes()
    return dtype, rows.shape, rows.astype({"F16": np.float16, "F32": np.float32, "F64": np.float64}[dtype]).tobytes()
