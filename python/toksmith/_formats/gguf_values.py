"""Reads the names and values at the start of a GGUF file without trusting any length.

The reader of the `gguf` package trusts every length (it loops over a list of 2^60 numbers), so it is only for trusted
files. This reader compares every length with the rest of the file first.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from .._base import lazy_numpy as np
from .._base.wording import number_of
from ..errors import FormatError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
STRING, ARRAY = 8, 9
# The numpy type of each GGUF number type.
NUMBERS: Mapping[int, str] = {
    0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4", 7: "|b1", 10: "<u8", 11: "<i8", 12: "<f8"
}  # fmt: skip
LENGTH = struct.Struct("<Q")
KEY_LIMIT = 1 << 16
NAME_LIMIT = 1 << 16


def read_values(data: bytes, path: str) -> dict[str, Any]:
    """The values by name: numbers, texts as bytes, lists of such texts, and arrays of numbers."""
    reader = ValueReader(data, path)
    if data[:4] != MAGIC:
        reader.fail(f"expected {MAGIC.decode()!r} at its start")
    version, _, count = struct.unpack_from("<IQQ", reader.take(24), 4)
    if version not in VERSIONS:
        reason = "the file is big-endian" if version & 0xFFFF == 0 else f"version {version} is unknown"
        reader.fail(f"{reason}; versions {VERSIONS} in little-endian order are supported")
    if count > KEY_LIMIT:
        reader.fail(f"it claims {count} values; at most {KEY_LIMIT} are allowed")
    value_of: dict[str, Any] = {}
    for _ in range(count):
        name = reader.name()
        if name in value_of:
            reader.fail(f"the value {name!r} occurs twice")
        value_of[name] = reader.value(int(reader.number("<u4")))
    return value_of


class ValueReader:
    """Reads values one after another; `at` is the offset of the next byte."""

    def __init__(self, data: bytes, path: str) -> None:
        self.data, self.path, self.at = data, path, 0

    def fail(self, problem: str) -> Any:
        raise FormatError(self.path, f"byte {self.at}", problem)

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.data):
            self.fail(f"expected {number_of(size, 'more byte')}, but the file ends here")
        chunk, self.at = self.data[self.at : end], end
        return chunk

    def number(self, kind: str) -> Any:
        """The next number, of a numpy type."""
        return np.frombuffer(self.take(np.dtype(kind).itemsize), kind)[0].item()

    def text(self) -> bytes:
        """The next text, which follows its length."""
        return self.take(self.number("<u8"))

    def name(self) -> str:
        """The next name, of at most NAME_LIMIT bytes of UTF-8."""
        size = self.number("<u8")
        if size > NAME_LIMIT:
            self.fail(f"a name has {size} bytes; at most {NAME_LIMIT} are allowed")
        try:
            return self.take(size).decode()
        except UnicodeDecodeError:
            self.fail("a name is not UTF-8")
            raise

    def value(self, kind: int) -> Any:
        """The next value, of a GGUF type."""
        if kind == STRING:
            return self.text()
        if kind in NUMBERS:
            return self.number(NUMBERS[kind])
        if kind != ARRAY:
            return self.fail(f"unknown type {kind}")
        kind, count = int(self.number("<u4")), int(self.number("<u8"))
        if kind in NUMBERS:
            return np.frombuffer(self.take(count * np.dtype(NUMBERS[kind]).itemsize), NUMBERS[kind])
        if kind != STRING:
            return self.fail(f"expected a list of numbers or texts, not of the type {kind}")
        return self.texts(count)

    def texts(self, count: int) -> list[bytes]:
        data, at, end = self.data, self.at, len(self.data)
        if count * LENGTH.size > end - at:
            self.fail(f"a list claims {count} texts, but only {end - at} bytes follow")
        items = []
        for _ in range(count):
            start = at + LENGTH.size
            if start > end:
                break
            at = start + LENGTH.unpack_from(data, start - LENGTH.size)[0]
            items.append(data[start:at])
        if at > end or len(items) < count:
            self.fail(f"the last of {count} texts extends past the end of the file")
        self.at = at
        return items
