"""Arrays that are written as they grow, in numpy's format, and appear under their names whole or not at all.

The header of a `.npy` file tells the number of values. Its room is reserved, with space for any number, and it is written
again when the number is known.
"""

from __future__ import annotations

import contextlib
import io
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .._errors import FormatError
from .._files import reason, replaceable_mode, shown

__all__ = ["GrowingArray", "place"]

HEADER_BYTES = 128  # numpy fills up to a multiple of 64, and with 1 or 20 digits it comes to the same


class GrowingArray:
    """A one-dimensional array in a new file beside `path`, until `place` gives it that name."""

    def __init__(self, path: str | os.PathLike[str], dtype: str) -> None:
        self.path = Path(path)
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.count = 0
        self._target = os.path.realpath(path)
        with writable(self.path):
            if not os.path.isdir(folder := os.path.dirname(self._target)):
                raise OSError(f"there is no folder {folder!r}; make it first")
            self._mode = replaceable_mode(self._target)
            self._scratch = f"{self._target}.{secrets.token_hex(8)}.tmp"
            self._file = open(self._scratch, "xb")  # noqa: SIM115 - it is closed by seal or discard
            try:
                self._file.write(header(self.dtype, 0))
            except BaseException:
                self.discard()
                raise

    def append(self, values: NDArray[np.unsignedinteger]) -> None:
        """Writes values behind those written before."""
        with writable(self.path):
            self._file.write(np.ascontiguousarray(values, dtype=self.dtype).data)
        self.count += len(values)

    def seal(self) -> None:
        """Writes the header, and everything to the disk."""
        with writable(self.path):
            self._file.flush()
            self._file.seek(0)
            self._file.write(header(self.dtype, self.count))
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            if self._mode is not None:
                os.chmod(self._scratch, self._mode)

    def rename(self) -> None:
        """Gives the sealed file its name."""
        with writable(self.path):
            os.replace(self._scratch, self._target)

    def discard(self) -> None:
        """Leaves nothing behind, unless the file has its name already."""
        with contextlib.suppress(OSError):
            self._file.close()  # which may fail in writing what is still buffered
        with contextlib.suppress(OSError):
            os.unlink(self._scratch)


def place(*arrays: GrowingArray) -> None:
    """Seals all arrays and then gives them their names, in this order: whoever finds the last finds all."""
    for array in arrays:
        array.seal()
    for array in arrays:
        array.rename()


def header(dtype: np.dtype[np.unsignedinteger], count: int) -> bytes:
    """The header of a file of `count` values; its length does not depend on `count`."""
    written = io.BytesIO()
    facts = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(written, facts)
    data = written.getvalue()
    if len(data) != HEADER_BYTES:
        raise RuntimeError(f"numpy {np.__version__} makes a header of {len(data)} bytes, not of {HEADER_BYTES}")
    return data


@contextlib.contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turns what goes wrong in writing a file into FormatError."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise FormatError(shown(path), None, f"cannot be written: {reason(error, path)}") from error
