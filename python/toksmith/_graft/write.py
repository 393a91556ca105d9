"""Writes safetensors files block by block: the header, then unchanged tensors, and new rows.

Tensors keep their order in the header and in the file. Only tensors that follow the vocabulary change their size. Memory
is a few blocks, whatever the size of the checkpoint.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base.paths import describe_error
from .._base.system import SYSTEM
from .._storage.atomic_files import wrap_write_errors
from ..errors import FormatError
from .vocab_tensors import VocabTensor
from .weights import Header, Tensor

BLOCK_BYTES = 256 << 10  # a larger block leaves the processor's cache between reading and writing
Tick = Callable[[int], None]


class NewTensor(NamedTuple):
    """A tensor with new rows: the old tensor, the number of new rows, and a function for their blocks."""

    before: VocabTensor
    rows: int
    blocks: Callable[[], Iterator[NDArray[Any]]]

    @property
    def size(self) -> int:
        matrix = self.before.matrix
        return self.rows * matrix.shape[1] * matrix.dtype.itemsize


class NewFiles:
    """New files in a folder. A thread flushes each to the disk while the next is written; the end of `with` waits."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._flushing = ThreadPoolExecutor(1, "toksmith flush")
        self._flushes: list[tuple[str, Future[None]]] = []

    def __enter__(self) -> NewFiles:  # noqa: PYI034 - `Self` came with Python 3.11
        return self

    @contextlib.contextmanager
    def add(self, name: str) -> Iterator[BinaryIO]:
        path = self.path(name)
        with wrap_write_errors(path):
            file = open(path, "xb")  # noqa: SIM115 - the flushing thread closes it
            try:
                yield file
                file.flush()
            except BaseException:
                file.close()
                raise
        self._flushes.append((path, self._flushing.submit(flush_and_close, file)))

    def path(self, name: str) -> str:
        """The path of a new file, whose folder then exists."""
        path = os.path.join(self._place, name)
        with wrap_write_errors(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
        return path

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._flushing.shutdown()
        for path, sent in self._flushes:
            if kind is None:
                with wrap_write_errors(path):
                    sent.result()


def flush_and_close(file: BinaryIO) -> None:
    with file:
        SYSTEM.flush(file.fileno())


def write_shard(shard: Header, file_name: str, new: Mapping[str, NewTensor], files: NewFiles, tick: Tick) -> None:
    sizes = {name: new[name].size if name in new else len(tensor) for name, tensor in shard.tensors.items()}
    ordered = sorted(shard.tensors.values(), key=lambda each: (each.begin, each.end))
    text = header_text(shard, ordered, sizes, new)
    with files.add(file_name) as out, open(shard.path, "rb") as source:
        out.write(len(text).to_bytes(8, "little"))
        out.write(text)
        for tensor in ordered:
            if tensor.name not in new:
                copy_range(source, out, tensor, tick)
                continue
            for block in new[tensor.name].blocks():
                out.write(np.ascontiguousarray(block).view(np.uint8).data)
                tick(block.nbytes)


def header_text(shard: Header, ordered: list[Tensor], sizes: Mapping[str, int], new: Mapping[str, NewTensor]) -> bytes:
    """The header of the new file, padded with spaces to a multiple of eight."""
    places, at = {}, 0
    for tensor in ordered:
        places[tensor.name] = [at, at + sizes[tensor.name]]
        at += sizes[tensor.name]
    entries: dict[str, Any] = {"__metadata__": dict(shard.metadata)} if shard.metadata else {}
    for name, tensor in shard.tensors.items():
        shape = [*(new[name].before.shape(new[name].rows) if name in new else tensor.shape)]
        entries[name] = {"dtype": tensor.dtype, "shape": shape, "data_offsets": places[name]}
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    return text + b" " * (-len(text) % 8)


def copy_range(source: BinaryIO, out: BinaryIO, tensor: Tensor, tick: Tick) -> None:
    source.seek(tensor.begin)
    buffer = memoryview(bytearray(min(BLOCK_BYTES, len(tensor))))
    remaining = len(tensor)
    while remaining:
        part = buffer[: min(remaining, len(buffer))]
        if source.readinto(part) != len(part):  # type: ignore[attr-defined]
            problem = "the file shrank while it was read; use a copy that does not change"
            raise FormatError(tensor.path, tensor.name, problem)
        out.write(part)
        remaining -= len(part)
        tick(len(part))


def copy_file(source: Path, name: str, files: NewFiles, *, link: bool, tick: Tick) -> None:
    """Copies a file, or creates a hard link to it."""
    size, path = source.stat().st_size, files.path(name)
    if link:
        try:
            Path(path).hardlink_to(os.path.realpath(source))
        except OSError as problem:
            message = f"cannot be linked: {describe_error(problem, path)}; links need one disk. Copy instead, without link=True"
            raise FormatError(path, None, message) from problem
    else:
        with files.add(name) as new, open(source, "rb") as old:
            shutil.copyfileobj(old, new, BLOCK_BYTES)
    tick(size)
