"""The manifest of a corpus of ids: it shows whether files are from the same run.

It is JSON. For the ids and for the ends it has the name and size of the file, the dtype and number of its values, and
the SHA-256 of the values, which begin behind the header of 128 bytes. It is written last.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import FormatError
from ..._base.paths import regular
from ..._storage.atomic_files import current, settle, settled
from ..._storage.files import read_file, reason
from ..._tokenizer.results import Ragged
from ..written import HEADER_BYTES, values_of

__all__ = ["ends_path", "files_of", "manifest_path", "read_manifest", "read_ragged", "written_manifest"]

VERSION = 1
DTYPES = {"ids": ("uint16", "uint32"), "ends": ("uint64",)}
Facts = dict[str, dict[str, Any]]


def ends_path(path: Path) -> Path:
    """The path of the ends for the ids at `path`."""
    return path.with_suffix(".ends.npy")


def manifest_path(path: Path) -> Path:
    """The path of their manifest."""
    return path.with_suffix(".manifest.json")


def written_manifest(ids: dict[str, Any], ends: dict[str, Any]) -> bytes:
    """The manifest of two files."""
    return (json.dumps({"toksmith_ids": VERSION, "ids": ids, "ends": ends}, indent=1) + "\n").encode()


def files_of(path: Path) -> tuple[Path, Path, Path]:
    """All files that are written together."""
    return path, ends_path(path), manifest_path(path)


def read_manifest(path: Path) -> Facts:
    """The entries of the manifest for the ids at `path` and for their ends.

    Raises:
        FormatError: There is no manifest, or `encode_corpus` did not write it.
    """
    return facts_of(path, settle(files_of(path)))


def facts_of(path: Path, waiting: dict[str, str]) -> Facts:
    """The entries of the manifest; `waiting` is the result of `settle`."""
    place = manifest_path(path)
    data = read_file(current(place, waiting))
    try:
        value = json.loads(data)
        if value.pop("toksmith_ids") != VERSION:
            raise ValueError(f"its version is not {VERSION}")
        for name, own in (("ids", path.name), ("ends", ends_path(path).name)):
            facts = value[name]
            count, size = facts["count"], facts["bytes"]
            sound = type(count) is int and 0 <= count < 1 << 60 and facts["dtype"] in DTYPES[name]
            if not sound or size != HEADER_BYTES + count * np.dtype(facts["dtype"]).itemsize:
                raise ValueError(f"its entry for the {name} is impossible")
            if facts["name"] != own or not isinstance(facts["values_sha256"], str):
                raise ValueError(
                    f"it is that of {str(facts['name'])[:100]!r}, not of {own!r}; the files must keep their names"
                )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
        said = f"is not a manifest of ids: {str(problem)[:200]}; write the files again with encode_corpus"
        raise FormatError(place, None, said) from None
    found: Facts = value
    return found


def read_ragged(path: Path) -> Ragged:
    """The ids at `path` with their ends, both from one run.

    Raises:
        FormatError: A file is missing, or does not match the manifest.
    """
    try:
        return read_pair(path, settle(files_of(path)))
    except FormatError:
        # Another run may have replaced the files meanwhile. While this one holds the folder, none can.
        with settled(files_of(path)) as waiting:
            return read_pair(path, waiting)


def read_pair(path: Path, waiting: dict[str, str]) -> Ragged:
    """As `read_ragged`, while no other run replaces the files; `waiting` is the result of `settle`."""
    facts = facts_of(path, waiting)
    ids = checked(path, facts["ids"], waiting)
    ends = checked(ends_path(path), facts["ends"], waiting)
    last = int(ends[-1]) if len(ends) else 0
    if last != len(ids) or not (ends[:-1] <= ends[1:]).all():
        raise FormatError(ends_path(path), None, f"its values do not ascend to the number of ids, {len(ids)}")
    return Ragged(ids.astype(np.uint32, copy=False), ends.astype(np.uint64, copy=False))


def checked(path: Path, facts: dict[str, Any], waiting: dict[str, str]) -> NDArray[Any]:
    """The values of a file, checked against the manifest."""
    try:
        regular(current(path, waiting))  # opening a pipe would wait for a writer
        with open(current(path, waiting), "rb") as file:
            found = values_of(file, facts["dtype"], facts["count"])
    except OSError as error:
        raise FormatError(path, None, f"cannot be read: {reason(error, path)}") from error
    if found is None or found[1] != facts["values_sha256"]:
        problem = "is not the file that its manifest describes"
        raise FormatError(path, None, f"{problem}; write the files again with encode_corpus")
    return found[0]
