"""Writes safetensors files block by block: the header, then untouched ranges as they are, and new rows.

Tensors keep their order in the header and in the file. Only what follows the vocabulary changes its size. Memory is a few
blocks, whatever the size of the checkpoint.
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

from .._base.errors import FormatError
from .._base.paths import reason
from .._base.system import SYSTEM
from .._storage.atomic_files import writable
from .vocab_tensors import VocabTensor
from .weights import Header, Tensor

__all__ = ["NewFiles", "NewTensor", "copied_file", "written_shard"]

BLOCK_BYTES = 256 << 10  # what is larger leaves the cache of a processor between reading and writing
Tick = Callable[[int], None]


class NewTensor(NamedTuple):
    """A tensor with other rows: what it was, how many it gets, and the blocks of them."""

    was: VocabTensor
    rows: int
    blocks: Callable[[], Iterator[NDArray[Any]]]

    @property
    def size(self) -> int:
        matrix = self.was.matrix
        return self.rows * matrix.shape[1] * matrix.dtype.itemsize


class NewFiles:
    """New files in a folder. A thread sends each to the disk, while the next one is written; the end of the `with` block waits."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._flushing = ThreadPoolExecutor(1, "toksmith flush")
        self._sent: list[tuple[str, Future[None]]] = []

    def __enter__(self) -> NewFiles:  # noqa: PYI034 - `Self` came with Python 3.11
        return self

    @contextlib.contextmanager
    def add(self, name: str) -> Iterator[BinaryIO]:
        """A new file, open for writing."""
        path = self.path(name)
        with writable(path):
            file = open(path, "xb")  # noqa: SIM115 - `flushed` closes it
            try:
                yield file
                file.flush()
            except BaseException:
                file.close()
                raise
        self._sent.append((path, self._flushing.submit(flushed, file)))

    def path(self, name: str) -> str:
        return os.path.join(self._place, name)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._flushing.shutdown()
        for path, sent in self._sent:
            if kind is None:
                with writable(path):
                    sent.result()


def flushed(file: BinaryIO) -> None:
    with file:
        SYSTEM.flush(file.fileno())


def written_shard(shard: Header, new: Mapping[str, NewTensor], files: NewFiles, tick: Tick) -> None:
    sizes = {name: new[name].size if name in new else len(tensor) for name, tensor in shard.tensors.items()}
    ordered = sorted(shard.tensors.values(), key=lambda each: (each.begin, each.end))
    text = header_text(shard, ordered, sizes, new)
    with files.add(shard.path.name) as out, open(shard.path, "rb") as source:
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
        shape = [*(new[name].was.shape(new[name].rows) if name in new else tensor.shape)]
        entries[name] = {"dtype": tensor.dtype, "shape": shape, "data_offsets": places[name]}
    text = json.dumps(entries, separators=(",", ":"), ensure_ascii=False).encode()
    return text + b" " * (-len(text) % 8)


def copy_range(source: BinaryIO, out: BinaryIO, tensor: Tensor, tick: Tick) -> None:
    source.seek(tensor.begin)
    buffer = memoryview(bytearray(min(BLOCK_BYTES, len(tensor))))
    left = len(tensor)
    while left:
        part = buffer[: min(left, len(buffer))]
        if source.readinto(part) != len(part):  # type: ignore[attr-defined]
            problem = "the file shrank while it was read; use a copy that nobody writes to"
            raise FormatError(tensor.path, tensor.name, problem)
        out.write(part)
        left -= len(part)
        tick(len(part))


def copied_file(source: Path, files: NewFiles, *, link: bool, tick: Tick) -> None:
    """Copies a file, or gives it a second name on the same disk."""
    size, path = source.stat().st_size, files.path(source.name)
    if link:
        try:
            Path(path).hardlink_to(os.path.realpath(source))
        except OSError as problem:
            said = f"cannot be linked: {reason(problem, path)}; links need one disk. Copy instead, without link=True"
            raise FormatError(path, None, said) from problem
    else:
        with files.add(source.name) as new, open(source, "rb") as old:
            shutil.copyfileobj(old, new, BLOCK_BYTES)
    tick(size)
