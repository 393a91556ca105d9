"""Output of a running job in any format: files named when all are complete, growing arrays, and the receipts of shards.

It imports no other subpackage. The files of a shard are written under temporary names, flushed to the disk and renamed.
Unlike the files of `corpus.encode` they need no note: the receipt is written after them, and a shard without a receipt is
done again, with equal bytes. A receipt is JSON with equal bytes for equal files, so a shard that is done twice has one
receipt.
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

from ..._base.paths import open_guarded
from ..._storage.atomic_files import AtomicFiles, NewFile, wrap_read_errors, wrap_write_errors
from ..._storage.folders import Folder, make_subfolder, sync_folder
from ...errors import JobError

RECEIPTS = "receipts"
ENDING = b".json"
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
    """The content of a shard.

    Attributes:
        shard: Its number, from 0.
        documents: The number of documents.
        ids: The number of ids, including appended and prepended ids.
        text_bytes: The bytes of the documents' texts.
        empty: The number of texts without ids.
        bad_rows: The number of rows that were left out.
        special_tokens: For each special token, the number of its ids that the
            texts gave.
        text_sha256: The sha256 (hex) of the concatenated sha256 of each
            document's text.
        files: The shard's files.
        inputs: For each input of the documents: its number, and its documents,
            ids and bytes of texts.
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
    return f"{RECEIPTS}/{number:05d}.json"


def units_with_receipts(folder: Folder, units: range) -> list[int]:
    """The units that have a receipt, by one listing, whose names of one length are parsed together."""
    names, found = folder.names_in(RECEIPTS), [np.empty(0, np.int64)]
    for digits in range(5, max(5, len(str(units.stop))) + 1):
        same = "".join([name for name in names if len(name) == digits + len(ENDING)]).encode("ascii", "replace")
        rows = np.frombuffer(same, np.uint8).reshape(-1, digits + len(ENDING))
        values = rows[:, :digits] - np.uint8(ord("0"))
        is_name = (values < 10).all(1) & (rows[:, digits:] == np.frombuffer(ENDING, np.uint8)).all(1)
        is_name &= (values[:, 0] > 0) | (digits == 5)
        found.append(values[is_name] @ 10 ** np.arange(digits)[::-1])
    numbers = np.sort(np.concatenate(found))
    first, last = np.searchsorted(numbers, (units.start, units.stop))
    listed: list[int] = numbers[first:last].tolist()
    return listed


def write_receipt(folder: Folder, receipt: Receipt) -> None:
    """Writes a receipt. The shard is done as soon as the receipt has its name."""
    folder.write(receipt_name(receipt.shard), receipt.to_bytes())


def read_receipts(folder: Folder, shards: Sequence[int]) -> Iterator[Receipt | None]:
    """The receipts of these shards; None for a shard that is not done."""
    contents = folder.read_each([receipt_name(number) for number in shards])
    for number in shards:
        try:
            data = next(contents)
            receipt = None if data is None else parse_receipt(number, data)
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as problem:
            message = f"{receipt_name(number)} is not a receipt: {describe_json_error(problem)}; delete it, and run the job again"
            raise JobError(folder, message) from None
        yield receipt


def describe_json_error(problem: Exception) -> str:
    """Describes the problem of a JSON file from the exception that reading it raised."""
    if isinstance(problem, KeyError):
        return f"it has no {str(problem.args[0])[:100]!r}"
    if isinstance(problem, (TypeError, AttributeError)):
        return "a value in it has a wrong type"
    if isinstance(problem, RecursionError):
        return "its values are nested too deeply"
    return str(problem)[:200].replace(";", ",")


def readable_receipts(folder: Folder, shards: Sequence[int]) -> Iterator[Receipt]:
    """The receipts of these shards that exist and can be read."""
    contents = folder.read_each([receipt_name(number) for number in shards])
    with contextlib.suppress(OSError):
        for number, data in zip(shards, contents, strict=True):
            with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                if data is not None:
                    yield parse_receipt(number, data)


def parse_receipt(number: int, data: bytes) -> Receipt:
    value = json.loads(data)
    if value["toksmith_receipt"] != 1 or value["shard"] != number:
        raise ValueError(f"it is not the receipt of shard {number}")
    value["files"] = tuple(parse_file_entry(*item) for item in value["files"])
    value["inputs"] = tuple(map(parse_input_row, value["inputs"]))
    if wrong := [item.name for item in fields(Receipt) if not has_json_type(value[item.name], str(item.type))]:
        raise ValueError(f"{wrong[0]} has a wrong type")
    if wrong := [name for name in SUMMED if not is_count(value[name])]:
        raise ValueError(f"{wrong[0]} is out of range")
    return Receipt(**{item.name: value[item.name] for item in fields(Receipt)})


def parse_input_row(row: list[object]) -> tuple[object, ...]:
    if len(row) != 4 or not all(map(is_count, row)):
        raise ValueError("an entry of its inputs is not four numbers")
    return tuple(row)


def is_count(value: object) -> bool:
    """Whether a value is an integer in the range of a shard's counts."""
    return type(value) is int and 0 <= value < MOST


def has_json_type(value: object, kinds: str) -> bool:
    """Whether a JSON value has one of the types that an annotation names; True and False are not numbers."""
    name = "None" if value is None else type(value).__name__
    if isinstance(value, dict):
        return any(
            f"dict[str, {kind}]" in kinds and all(has_json_type(x, kind) for x in value.values())
            for kind in ("int", "str")
        )
    if isinstance(value, list):
        return "list[str]" in kinds and all(has_json_type(item, "str") for item in value)
    return name in kinds.split(" | ") or (isinstance(value, tuple) and kinds.startswith("tuple"))


def parse_file_entry(name: object, size: object, sha256: object) -> WrittenFile:
    """Validates an untrusted file entry of a receipt or a manifest: a name in the job's folder or a subfolder."""
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


def write_small(folder: Folder, name: str, data: bytes) -> WrittenFile:
    folder.write(name, data)
    return facts_of_bytes(name, data)


def facts_of_bytes(name: str, data: bytes) -> WrittenFile:
    return WrittenFile(name, len(data), hashlib.sha256(data).hexdigest())


def facts_of_file(name: str, path: Path) -> WrittenFile:
    digest, size = hashlib.sha256(), 0
    with wrap_read_errors(path), open_guarded(path) as file:
        while data := file.read(HASHED_AT_A_TIME):
            digest.update(data)
            size += len(data)
    return WrittenFile(name, size, digest.hexdigest())


class ShardFiles:
    """New files of a folder, for a `with` block; `place` renames them to their names.

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
        """An `AtomicFiles` for the one file of this name."""
        path = self.folder / name
        if path.parent != self.folder:
            make_subfolder(path.parent)
        group = self._open.enter_context(AtomicFiles([path], named=0))
        self.names.append(name)
        self._together.append(group)
        return group

    def new(self, name: str) -> ShardFile:
        """A new file of this name, which can be in one subfolder."""
        self._summed[name] = ShardFile(self.folder / name, self.together(name))
        return self._summed[name]

    def at_end(self, call: Callable[[], object]) -> None:
        """Registers a call for the end of the block, before the files so far are closed."""
        self._open.callback(call)

    def place(self) -> tuple[WrittenFile, ...]:
        """Renames all files to their names, and flushes the names to the disk. Returns their sizes and sums."""
        paths = [name for group in self._together for name in group.complete()]
        with ThreadPoolExecutor(1) as flusher:  # waits for the disk while this thread computes the sums
            seals = [flusher.submit(group.seal) for group in self._together]
            facts = tuple(
                self._summed[name].facts(name) if name in self._summed else facts_of_file(name, Path(path))
                for name, path in zip(self.names, paths, strict=True)
            )
            for seal in seals:
                seal.result()
        for group in self._together:
            group.place()
        for folder in sorted({(self.folder / name).parent for name in self.names}):
            sync_folder(folder)
        return facts


class ShardFile:
    """A file that is being written, with its sum so far.

    Attributes: `path`, its final path; `file`, open for writing, for libraries that write to it directly.
    """

    def __init__(self, path: Path, together: AtomicFiles) -> None:
        self.path = path
        self._new: NewFile = together.add(path)
        self.file = self._new.file
        self._size, self._digest = 0, hashlib.sha256()

    def write(self, data: bytes | memoryview) -> None:
        with wrap_write_errors(self.path):
            self._new.write(data)
        self._digest.update(data)
        self._size += memoryview(data).nbytes

    def facts(self, name: str) -> WrittenFile:
        """The size and the sha256 of the file; if a library wrote to it directly, the file is read."""
        with wrap_read_errors(self.path):
            size = os.fstat(self.file.fileno()).st_size
        if self._size == size:
            return WrittenFile(name, self._size, self._digest.hexdigest())
        return facts_of_file(name, Path(self._new.name))


# The header of a `.npy` file contains the number of values. It is written with space for any number, and rewritten when the
# number is known.
HEADER_BYTES = 128  # numpy pads to a multiple of 64, so 1 and 20 digits give the same length


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
        with wrap_write_errors(path):
            self._new.file.write(npy_header(self.dtype, 0))

    def append(self, values: NDArray[np.unsignedinteger]) -> None:
        data = np.ascontiguousarray(values, dtype=self.dtype).data
        with wrap_write_errors(self.path):
            self._new.write(data)
        if self._sum is not None:
            self._sum.update(data)
        self.count += len(values)

    def finish(self) -> dict[str, Any]:
        """Writes the header, and returns the entry for the manifest; the sum is in it only with `is_summed`."""
        with wrap_write_errors(self.path):
            self._new.file.seek(0)
            self._new.file.write(npy_header(self.dtype, self.count))
        size = HEADER_BYTES + self.count * self.dtype.itemsize
        facts = {"name": os.path.basename(self.path), "bytes": size, "dtype": self.dtype.name, "count": self.count}
        return facts if self._sum is None else {**facts, "values_sha256": self._sum.hexdigest()}


def npy_header(dtype: np.dtype[np.unsignedinteger], count: int) -> bytes:
    """The header of a file of `count` values; its length does not depend on `count`."""
    buffer = io.BytesIO()
    facts = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (count,)}
    np.lib.format.write_array_header_1_0(buffer, facts)
    data = buffer.getvalue()
    if len(data) != HEADER_BYTES:
        raise RuntimeError(f"numpy {np.__version__} makes a header of {len(data)} bytes, not of {HEADER_BYTES}")
    return data


def read_npy_values(file: BinaryIO, dtype: str, count: int) -> tuple[NDArray[Any], str] | None:
    """The values of an open file and their sha256; None if the file does not have this many values."""
    kind = np.dtype(dtype).newbyteorder("<")
    if os.fstat(file.fileno()).st_size != HEADER_BYTES + count * kind.itemsize:
        return None
    if file.read(HEADER_BYTES) != npy_header(kind, count):
        return None
    values = np.fromfile(file, kind, count)
    return (values, hashlib.sha256(values.data).hexdigest()) if len(values) == count else None
