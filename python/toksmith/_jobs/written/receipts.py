"""What a shard says of itself: a receipt, written when the shard's files have their names.

A receipt is JSON with equal bytes for equal files, so a shard that is done twice has one receipt.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import NamedTuple

from ..._base.errors import JobError
from ..._storage.atomic_files import readable
from ..._storage.folders import Folder
from ..._storage.guarded_files import open_guarded

__all__ = [
    "RECEIPTS",
    "Receipt",
    "WrittenFile",
    "facts_in",
    "facts_of",
    "is_of",
    "is_sum",
    "read_receipts",
    "readable_receipts",
    "receipt_name",
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
            raise JobError(str(folder), said) from None
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
