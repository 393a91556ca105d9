"""Arrays that are written as they grow, in numpy's format, and read back with their checksums.

The header of a `.npy` file contains the number of values. It is written with space for any number, and written again
when the number is known. Left out: renaming the files (`_storage/atomic_files.py`).
"""

from __future__ import annotations

import hashlib
import io
import os
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..._storage.atomic_files import AtomicFiles, NewFile, writable

__all__ = ["HEADER_BYTES", "GrowingArray", "values_of"]

HEADER_BYTES = 128  # numpy fills up to a multiple of 64, and with 1 or 20 digits it comes to the same


class GrowingArray:
    """A one-dimensional array in a new file.

    Attributes: `path`; `dtype`, little-endian; `count` of values so far.
    """

    def __init__(
        self, together: AtomicFiles, path: str | os.PathLike[str], dtype: str, *, is_summed: bool = True
    ) -> None:
        self.path = path
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.count = 0
        self._sum = hashlib.sha256() if is_summed else None
        self._new: NewFile = together.add(path)
        with writable(path):
            self._new.file.write(header(self.dtype, 0))

    def append(self, values: NDArray[np.unsignedinteger]) -> None:
        """Writes values behind those written before."""
        data = np.ascontiguousarray(values, dtype=self.dtype).data
        with writable(self.path):
            self._new.write(data)
        if self._sum is not None:
            self._sum.update(data)
        self.count += len(values)

    def finish(self) -> dict[str, Any]:
        """Writes the header, and returns the entry for the manifest; without the sum, if that was not asked for."""
        with writable(self.path):
            self._new.file.seek(0)
            self._new.file.write(header(self.dtype, self.count))
        size = HEADER_BYTES + self.count * self.dtype.itemsize
        facts = {"name": os.path.basename(self.path), "bytes": size, "dtype": self.dtype.name, "count": self.count}
        return facts if self._sum is None else {**facts, "values_sha256": self._sum.hexdigest()}


def header(dtype: np.dtype[np.unsignedinteger], count: int) -> bytes:
    """The header of a file of `count` values; its length does not depend on `count`."""
    written = io.BytesIO()
    facts = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(written, facts)
    data = written.getvalue()
    if len(data) != HEADER_BYTES:
        raise RuntimeError(f"numpy {np.__version__} makes a header of {len(data)} bytes, not of {HEADER_BYTES}")
    return data


def values_of(file: BinaryIO, dtype: str, count: int) -> tuple[NDArray[Any], str] | None:
    """The values of an open file and their sha256; None if the file does not have this many values."""
    kind = np.dtype(dtype).newbyteorder("<")
    if os.fstat(file.fileno()).st_size != HEADER_BYTES + count * kind.itemsize:
        return None
    if file.read(HEADER_BYTES) != header(kind, count):
        return None
    values = np.fromfile(file, kind, count)
    return (values, hashlib.sha256(values.data).hexdigest()) if len(values) == count else None
