"""The embedding matrices of a model, from a safetensors file.

A safetensors file is the length of its header (8 bytes, little-endian), the header (JSON: type, shape and place of each
tensor), and the raw numbers. No other library is needed. A matrix is read some rows at a time, and the file is not mapped,
because a file that shrinks while it is mapped ends the process. Left out: every tensor that is not an embedding.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .._errors import FormatError, number_of
from .._files import Room, read_file, reason
from .._formats._json import parse_json
from .._paths import regular

__all__ = ["Matrix", "matrices"]

INPUT = (
    "model.embed_tokens.weight",
    "embed_tokens.weight",
    "transformer.wte.weight",
    "wte.weight",
    "gpt_neox.embed_in.weight",
    "model.language_model.embed_tokens.weight",
    "language_model.model.embed_tokens.weight",
)
OUTPUT = ("lm_head.weight", "embed_out.weight", "gpt_neox.embed_out.weight", "language_model.lm_head.weight")
TYPES: Mapping[str, type[np.generic]] = {"F32": np.float32, "F64": np.float64, "F16": np.float16, "BF16": np.uint16}
MOST_HEADER = 1 << 24
MOST_INDEX = 1 << 26
INDEX, WHOLE = "model.safetensors.index.json", "model.safetensors"
BLOCK_BYTES = 32 << 20


@dataclass(frozen=True, eq=False)
class Matrix:
    """One embedding matrix, a row for each id.

    Attributes:
        path: The file.
        name: The tensor's name.
        role: "input" or "output".
        shape: Rows, and numbers in each.
        dtype: Of the numbers in the file; BF16 is read as its 16 bits.
        begin: The byte of the file at which they begin.
    """

    path: Path
    name: str
    role: Literal["input", "output"]
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    begin: int

    def __len__(self) -> int:
        return self.shape[0]

    def blocks(self) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """The rows as float32, some at a time, each time with the number of the first.

        Raises:
            FormatError: The file became shorter meanwhile.
        """
        width = self.shape[1]
        step = max(1, BLOCK_BYTES // (4 * width))
        try:
            with open(self.path, "rb") as stream:
                stream.seek(self.begin)
                for start in range(0, len(self), step):
                    rows = min(step, len(self) - start)
                    numbers = np.fromfile(stream, self.dtype, rows * width)
                    if len(numbers) < rows * width:
                        problem = "the file shrank while it was read; use a copy that nobody writes to"
                        raise FormatError(str(self.path), self.name, problem)
                    yield start, floats(numbers.reshape(rows, width))
        except OSError as problem:
            raise FormatError(str(self.path), None, f"cannot be read: {problem.strerror}") from problem

    def rows(self, ids: NDArray[np.intp]) -> NDArray[np.float32]:
        """Some rows as float32; the ids ascend."""
        found = [block[ids[(ids >= start) & (ids < start + len(block))] - start] for start, block in self.blocks()]
        return np.concatenate(found)


def floats(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Rows as float32."""
    if rows.dtype == np.uint16:  # BF16 is the upper half of a float32
        return (rows.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return rows.astype(np.float32)


def matrices(path: str | os.PathLike[str], vocab_size: int) -> list[Matrix]:
    """The embedding matrices of a model: of a file, or of a folder with one file or an index of several.

    Returns:
        The input matrix, then the output matrix where it is another.
    Raises:
        FormatError: The file is not a safetensors file, contains no embeddings, or its embeddings do not fit the
            vocabulary.
    """
    found = []
    for role, names in (("input", INPUT), ("output", OUTPUT)):
        for file, name in tensors(Path(path), names):
            found.append(matrix(file, name, "input" if role == "input" else "output", vocab_size))
            break
    if found:
        return found
    file = next(files(Path(path)))
    alone = [name for name, entry in header(file)[0].items() if len(entry["shape"]) == 2]
    if len(alone) == 1:
        return [matrix(file, alone[0], "input", vocab_size)]
    problem = (
        f"contains no tensor with the name of an embedding (such as {INPUT[0]}); its matrices: {', '.join(alone[:8])}"
    )
    raise FormatError(str(file), None, problem)


def files(path: Path) -> Iterator[Path]:
    """The safetensors files of a path."""
    if not path.is_dir():
        yield path
    elif (path / WHOLE).is_file():
        yield path / WHOLE
    else:
        inside = sorted(path.glob("*.safetensors"))
        if not inside:
            raise FormatError(str(path), None, "the folder contains no .safetensors file")
        yield from inside


def tensors(path: Path, names: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    """The files and names of those of `names` that are there; an index says which file has which."""
    index = path if path.name.endswith(".index.json") else path / INDEX
    if index.is_file():
        try:
            data = read_file(index, lambda ends: Room(MOST_INDEX, "the index of a model"))
            places = parse_json(data, MOST_INDEX)["weight_map"]
            listed = {str(name): index.parent / str(file) for name, file in places.items()}
        except FormatError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise FormatError(str(index), None, f"is not an index of safetensors files: {problem!r}") from None
        yield from ((listed[name], name) for name in names if name in listed)
        return
    for file in files(path):
        entries, _ = header(file)
        yield from ((file, name) for name in names if name in entries)


def header(path: Path) -> tuple[dict[str, dict[str, Any]], int]:
    """The entries of a file by tensor, and where its numbers begin."""
    try:
        regular(path)
        with open(path, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            length = int.from_bytes(stream.read(8), "little")
            if size < 8 or not 2 <= length <= min(size - 8, MOST_HEADER):
                raise FormatError(
                    str(path), "byte 0", "is not a safetensors file: its header does not fit into the file"
                )
            entries = parse_json(stream.read(length))
    except OSError as problem:
        raise FormatError(str(path), None, f"cannot be read: {reason(problem, path)}") from problem
    except ValueError as problem:
        if isinstance(problem, FormatError):
            raise
        raise FormatError(
            str(path), "byte 8", f"is not a safetensors file: its header is not JSON ({problem})"
        ) from None
    if not isinstance(entries, dict):
        raise FormatError(str(path), "byte 8", "is not a safetensors file: its header is not a JSON object")
    entries.pop("__metadata__", None)
    for name, entry in entries.items():
        check_entry(path, name, entry, size - 8 - length)
    return entries, 8 + length


def check_entry(path: Path, name: str, entry: object, room: int) -> None:
    """Refuses an entry whose shape or place cannot be."""
    fields = entry if isinstance(entry, dict) else {}
    shape, offsets = fields.get("shape"), fields.get("data_offsets")
    numbers = [shape, offsets]
    sound = all(isinstance(each, list) and all(type(n) is int and n >= 0 for n in each) for each in numbers)
    if not sound or not isinstance(fields.get("dtype"), str) or len(offsets or ()) != 2:
        raise FormatError(str(path), name, "expected dtype, shape and data_offsets")
    start, end = offsets or (0, 0)
    if not start <= end <= room:
        raise FormatError(str(path), name, f"its bytes {start} to {end} are outside the {room} bytes of the file")


def matrix(path: Path, name: str, role: Literal["input", "output"], vocab_size: int) -> Matrix:
    """One matrix of a file, checked against the vocabulary."""
    entries, begin = header(path)
    if name not in entries:
        raise FormatError(str(path), name, "is not in the file, although the index lists it")
    entry = entries[name]
    if entry["dtype"] not in TYPES:
        raise FormatError(str(path), name, f"has the dtype {entry['dtype']}; expected one of {', '.join(TYPES)}")
    shape, (start, end) = entry["shape"], entry["data_offsets"]
    dtype = np.dtype(TYPES[entry["dtype"]]).newbyteorder("<")
    if len(shape) != 2 or not shape[1]:
        raise FormatError(str(path), name, f"has the shape {shape}; expected a row of numbers for each id")
    if shape[0] * shape[1] * dtype.itemsize != end - start:
        raise FormatError(str(path), name, f"has the shape {shape} of {entry['dtype']}, but {end - start} bytes")
    if shape[0] < vocab_size:
        problem = f"has {number_of(shape[0], 'row')}, so the id {vocab_size - 1:,} has none; does it belong to another tokenizer?"
        raise FormatError(str(path), name, problem)
    return Matrix(path, name, role, (shape[0], shape[1]), dtype, begin + start)
