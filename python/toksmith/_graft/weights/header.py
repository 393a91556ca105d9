"""The header of a safetensors file: name, type, shape and place of each tensor.

A safetensors file is the length of its header (8 bytes, little-endian), the header (JSON), and the raw numbers of all
tensors without holes. Nothing in it is believed before it is checked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

from ..._base.errors import FormatError
from ..._base.paths import regular, shown
from ..._formats.json import parse_json
from ..._storage.files import reason

__all__ = ["Header", "Tensor", "check_whole", "header"]

MOST_HEADER = 1 << 24
# Bytes of a number. A type that is not here is copied, and its size is not checked.
SIZES: Mapping[str, int] = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "F8_E8M0"), 1),
    **dict.fromkeys(("U16", "I16", "F16", "BF16"), 2),
    **dict.fromkeys(("U32", "I32", "F32"), 4),
    **dict.fromkeys(("U64", "I64", "F64", "C64"), 8),
}


@dataclass(frozen=True)
class Tensor:
    """One tensor of a file.

    Attributes:
        path: The file.
        name: The tensor's name.
        dtype: The type of its numbers, as the header spells it.
        shape: Its sizes.
        begin: The byte of the file at which its numbers begin.
        end: The byte behind them.
    """

    path: Path
    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int

    def __len__(self) -> int:
        return self.end - self.begin


@dataclass(frozen=True)
class Header:
    """What a file says of itself.

    Attributes:
        path: The file.
        tensors: By name, in the order of the header.
        metadata: The texts under `__metadata__`.
        start: The byte of the file at which the first numbers must begin.
        size: The bytes of the file.
    """

    path: Path
    tensors: Mapping[str, Tensor]
    metadata: Mapping[str, str]
    start: int
    size: int


def header(path: Path) -> Header:
    """The header of a file.

    Raises:
        FormatError: The file cannot be read, is not a safetensors file, or an entry cannot be.
    """
    name = shown(path)
    try:
        regular(path)
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            length = int.from_bytes(stream.read(8), "little")
            if size < 8 or not 2 <= length <= min(size - 8, MOST_HEADER):
                raise FormatError(name, "byte 0", "is not a safetensors file: its header does not fit into the file")
            entries = parse_json(stream.read(length))
    except OSError as problem:
        raise FormatError(name, None, f"cannot be read: {reason(problem, path)}") from problem
    except ValueError as problem:
        if isinstance(problem, FormatError):
            raise
        raise FormatError(name, "byte 8", f"is not a safetensors file: its header is not JSON ({problem})") from None
    if not isinstance(entries, dict):
        raise FormatError(name, "byte 8", "is not a safetensors file: its header is not a JSON object")
    metadata = entries.pop("__metadata__", None) or {}
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise FormatError(name, "__metadata__", "expected an object of texts")
    start = 8 + length
    tensors = {each: tensor_of(path, each, entry, start, size - start) for each, entry in entries.items()}
    return Header(path, tensors, metadata, start, size)


def tensor_of(path: Path, name: str, entry: object, start: int, room: int) -> Tensor:
    """The tensor of an entry, whose shape and place can be."""
    fields = entry if isinstance(entry, dict) else {}
    shape, offsets, dtype = fields.get("shape"), fields.get("data_offsets"), fields.get("dtype")
    sound = all(isinstance(each, list) and all(type(n) is int and n >= 0 for n in each) for each in (shape, offsets))
    if not sound or not isinstance(dtype, str) or len(offsets or ()) != 2:
        raise FormatError(path, name, "expected dtype, shape and data_offsets")
    first, last = offsets or (0, 0)
    if not first <= last <= room:
        problem = f"its bytes {first} to {last} are outside the {room} bytes of the file"
        raise FormatError(path, name, problem)
    return Tensor(path, name, dtype, tuple(shape or ()), start + first, start + last)


def check_whole(found: Header) -> None:
    """Refuses a file whose tensors overlap, leave holes, or do not have the size of their shape.

    Raises:
        FormatError: The header lies.
    """
    name = shown(found.path)
    ordered = sorted(found.tensors.values(), key=lambda each: (each.begin, each.end))
    at = found.start
    for each in ordered:
        size = SIZES.get(each.dtype)
        if size is not None and prod(each.shape) * size != len(each):
            shape = list(each.shape)
            raise FormatError(name, each.name, f"has the shape {shape} of {each.dtype}, but {len(each):,} bytes")
        if each.begin != at:
            problem = f"its numbers begin at byte {each.begin:,}; expected {at:,}, where those before it end"
            raise FormatError(name, each.name, problem)
        at = each.end
    if at != found.size:
        problem = (
            f"its tensors end at byte {at:,}, but the file has {found.size:,} bytes; is it cut or damaged? copy it anew"
        )
        raise FormatError(name, None, problem)
