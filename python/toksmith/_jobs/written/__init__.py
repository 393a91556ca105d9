"""What is written while a job runs, whatever it contains: files that get their names when all are complete, arrays that grow,
and what a shard says of itself. It imports no other room.

The files of a shard are written under temporary names, flushed to the disk and renamed. They need no note of what belongs
together, unlike those of `encode_corpus`: the receipt is written behind them, and a shard without a receipt is done again,
with equal bytes. A receipt is JSON with equal bytes for equal files, so a shard that is done twice has one receipt.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import JobError
from ..._base.paths import open_guarded
from ..._storage.atomic_files import AtomicFiles, NewFile, readable, writable
from ..._storage.folders import Folder, own_folder, sync_folder

__all__ = [
    "HEADER_BYTES",
    "RECEIPTS",
    "GrowingArray",
    "Receipt",
    "ShardFile",
    "ShardFiles",
    "WrittenFile",
    "facts_in",
    "facts_of",
    "is_of",
    "is_sum",
    "read_receipts",
    "readable_receipts",
    "receipt_name",
    "values_of",
    "write_receipt",
    "written_file",
    "written_small",
    "wrong_in",
]

RECEIPTS = "receipts"
HASHED_AT_A_TIME = 1 << 20
SUMMED = ("documents", "ids", "text_bytes", "empty", "bad_rows")
MOST = 1 << 60


class WrittenFile(NamedTuple):
    """A file of a job: its name in the folder, its size and its sha256 (hex)."""

    name: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Receipt:
    """What a shard contains.

    Attributes:
        shard: Its number, from 0.
        documents: How many it has.
        ids: How many it has, with those appended and prepended.
        text_bytes: The size of the documents' texts.
        empty: How many texts have no ids.
        bad_rows: How many rows were left out.
        special_tokens: How many ids of each special token the texts gave.
        text_sha256: The sha256 (hex) of the sha256 of each document's text,
            one after another.
        files: The shard's files.
        inputs: Of each input that the documents are from: its number, and its
            documents, ids and bytes of texts.
    """

    shard: int
    documents: int
    ids: int
    text_bytes: int
    empty: int
    bad_rows: int
    special_tokens: dict[str, int]
    text_sha256: str
    files: tuple[WrittenFile, ...]
    inputs: tuple[tuple[int, int, int, int], ...] = ()

    def to_bytes(self) -> bytes:
        """The receipt as JSON."""
        return (json.dumps({"toksmith_receipt": 1, **asdict(self)}, indent=1) + "\n").encode()


def receipt_name(number: int) -> str:
    """The file of a receipt."""
    return f"{RECEIPTS}/{number:05d}.json"


def write_receipt(folder: Folder, receipt: Receipt) -> None:
    """Writes a receipt. When it has its name, the shard is done.

    Raises:
        FormatError: It cannot be written.
        JobError: Its folder is a link.
    """
    folder.write(receipt_name(receipt.shard), receipt.to_bytes())


def read_receipts(folder: Folder, shards: Sequence[int]) -> Iterator[Receipt | None]:
    """The receipts of some shards; None for one that is not done.

    Raises:
        JobError: A file is not a receipt.
    """
    found = folder.read_each([receipt_name(number) for number in shards])
    for number in shards:
        try:
            data = next(found)
            receipt = None if data is None else receipt_of(number, data)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
            said = f"{receipt_name(number)} is not a receipt: {wrong_in(problem)}; delete it, and run the job again"
            raise JobError(folder, said) from None
        yield receipt


def wrong_in(problem: Exception) -> str:
    """What is wrong with the JSON of a file, from what reading it has raised."""
    if isinstance(problem, KeyError):
        return f"it has no {str(problem.args[0])[:100]!r}"
    if isinstance(problem, (TypeError, AttributeError)):
        return "a value in it has a wrong type"
    if isinstance(problem, RecursionError):
        return "its values are nested too deeply"
    return str(problem)[:200].replace(";", ",")


def readable_receipts(folder: Folder, shards: Sequence[int]) -> Iterator[Receipt]:
    """Those receipts of some shards that are there and can be read."""
    found = folder.read_each([receipt_name(number) for number in shards])
    with contextlib.suppress(OSError):
        for number, data in zip(shards, found, strict=True):
            with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                if data is not None:
                    yield receipt_of(number, data)


def receipt_of(number: int, data: bytes) -> Receipt:
    """The receipt of a shard from its JSON.

    Raises:
        ValueError, KeyError, TypeError: It is not one.
    """
    value = json.loads(data)
    if value["toksmith_receipt"] != 1 or value["shard"] != number:
        raise ValueError(f"it is not that of shard {number}")
    value["files"] = tuple(written_file(*each) for each in value["files"])
    value["inputs"] = tuple(map(numbers, value["inputs"]))
    if wrong := [each.name for each in fields(Receipt) if not is_of(value[each.name], str(each.type))]:
        raise ValueError(f"{wrong[0]} has a wrong type")
    if wrong := [name for name in SUMMED if not is_sum(value[name])]:
        raise ValueError(f"{wrong[0]} is out of range")
    return Receipt(**{each.name: value[each.name] for each in fields(Receipt)})


def numbers(row: list[object]) -> tuple[object, ...]:
    """The numbers of a row.

    Raises:
        ValueError: It is not four numbers.
    """
    if len(row) != 4 or not all(map(is_sum, row)):
        raise ValueError("an entry of its inputs is not four numbers")
    return tuple(row)


def is_sum(value: object) -> bool:
    """Whether this is a number that a shard can have of something."""
    return type(value) is int and 0 <= value < MOST


def is_of(value: object, kinds: str) -> bool:
    """Whether a value of JSON is of one of the types that an annotation names; True and False are no numbers."""
    name = "None" if value is None else type(value).__name__
    if isinstance(value, dict):
        return any(
            f"dict[str, {kind}]" in kinds and all(is_of(x, kind) for x in value.values()) for kind in ("int", "str")
        )
    if isinstance(value, list):
        return "list[str]" in kinds and all(is_of(each, "str") for each in value)
    return name in kinds.split(" | ") or (isinstance(value, tuple) and kinds.startswith("tuple"))


def written_file(name: object, size: object, sha256: object) -> WrittenFile:
    """A file of a receipt or a manifest, which may be from anywhere.

    Raises:
        ValueError: The name is not that of a file in the job's folder, or in a folder there; or something has a wrong type.
    """
    if type(name) is not str or type(size) is not int or size < 0 or type(sha256) is not str:
        raise ValueError("an entry of its files is not a name, a size and a sum")
    parts = name.split("/")
    if (
        "\0" in name
        or len(parts) > 2
        or any(part in ("", ".", "..") or os.path.basename(part) != part for part in parts)
    ):
        raise ValueError(f"{name[:100]!r} is not the name of a file of a job")
    return WrittenFile(name, size, sha256)


def written_small(folder: Folder, name: str, data: bytes) -> WrittenFile:
    """Writes a file that is in memory, and says what it is.

    Raises:
        FormatError: It cannot be written.
    """
    folder.write(name, data)
    return facts_in(name, data)


def facts_in(name: str, data: bytes) -> WrittenFile:
    """The size and the sha256 of a file with these bytes."""
    return WrittenFile(name, len(data), hashlib.sha256(data).hexdigest())


def facts_of(name: str, path: Path) -> WrittenFile:
    """The size and the sha256 of a file that gets this name.

    Raises:
        FormatError: It cannot be read.
    """
    digest, size = hashlib.sha256(), 0
    with readable(path), open_guarded(path) as file:
        while data := file.read(HASHED_AT_A_TIME):
            digest.update(data)
            size += len(data)
    return WrittenFile(name, size, digest.hexdigest())


class ShardFiles:
    """New files of a folder, for a `with` block; `place` gives them their names.

    Attributes: `folder`; `names` of the files so far.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: list[str] = []
        self._together: list[AtomicFiles] = []
        self._summed: dict[str, ShardFile] = {}
        self._open = contextlib.ExitStack()

    def __enter__(self) -> ShardFiles:  # noqa: PYI034 - `Self` came with Python 3.11
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def together(self, name: str) -> AtomicFiles:
        """Where to add the one file of this name.

        Raises:
            FormatError: Its folder cannot be made.
            JobError: Its folder is a link.
        """
        path = self.folder / name
        if path.parent != self.folder:
            own_folder(path.parent)
        made = self._open.enter_context(AtomicFiles([path], named=0))
        self.names.append(name)
        self._together.append(made)
        return made

    def new(self, name: str) -> ShardFile:
        """A new file of this name; a name may have one folder before it."""
        self._summed[name] = ShardFile(self.folder / name, self.together(name))
        return self._summed[name]

    def at_end(self, call: Callable[[], object]) -> None:
        """Calls something at the end of the block, before the files so far are closed."""
        self._open.callback(call)

    def place(self) -> tuple[WrittenFile, ...]:
        """Gives all of them their names, and flushes the names to the disk. Returns what they are.

        Raises:
            FormatError: A file cannot be written.
        """
        there = [name for made in self._together for name in made.complete()]
        with ThreadPoolExecutor(1) as other:  # which waits for the disk while this thread computes the sums
            sealed = [other.submit(made.seal) for made in self._together]
            facts = tuple(
                self._summed[name].facts(name) if name in self._summed else facts_of(name, Path(found))
                for name, found in zip(self.names, there, strict=True)
            )
            for each in sealed:
                each.result()
        for made in self._together:
            made.place()
        for folder in sorted({(self.folder / name).parent for name in self.names}):
            sync_folder(folder)
        return facts


class ShardFile:
    """A file that is being written, with its sum so far.

    Attributes: `path` it gets; `file`, open for writing, for libraries that write themselves.
    """

    def __init__(self, path: Path, together: AtomicFiles) -> None:
        self.path = path
        self._new: NewFile = together.add(path)
        self.file = self._new.file
        self._size, self._digest = 0, hashlib.sha256()

    def write(self, data: bytes | memoryview) -> None:
        """Writes bytes behind those written before.

        Raises:
            FormatError: The file cannot be written.
        """
        with writable(self.path):
            self._new.write(data)
        self._digest.update(data)
        self._size += memoryview(data).nbytes

    def facts(self, name: str) -> WrittenFile:
        """What the file is; of one that others wrote to, it is read for that.

        Raises:
            FormatError: It cannot be read.
        """
        with readable(self.path):
            size = os.fstat(self.file.fileno()).st_size
        if self._size == size:
            return WrittenFile(name, self._size, self._digest.hexdigest())
        return facts_of(name, Path(self._new.name))


# The header of a `.npy` file contains the number of values. It is written with space for any number, and written again
# when the number is known.
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
