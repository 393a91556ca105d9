"""The unpacked sizes that the messages of an Arrow file or stream declare: pyarrow allocates these before it unpacks.

A message is a flatbuffer, which gives the places of its buffers in the body that follows. A packed buffer begins with the
number of its unpacked bytes, or with -1 if it is not packed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from io import FileIO
from itertools import chain, repeat
from pathlib import Path

from .encode_files import refuse_unpacked

CONTINUES = -1  # precedes the length of a message since Arrow 0.15
DICTIONARY, BATCH = 2, 3  # kinds of messages
OLD_VERSION, OLD_MARK = 3, b"experimental_compression"
FOOTER_END = 10  # the length of the footer and the magic
Message = tuple[bytes, int]


def checked_batches(path: Path, is_stream: bool) -> Iterator[None]:
    """Yields once for each batch, after checking it and the dictionaries before it."""
    with open(path, "rb", buffering=0) as file:
        size = path.stat().st_size
        dictionaries = 0
        try:
            for metadata, body in stream_messages(file) if is_stream else file_messages(file, size):
                kind, unpacked = unpacked_bytes(file, metadata, body)
                if kind == DICTIONARY:
                    dictionaries += unpacked
                    refuse_unpacked(dictionaries, size, "its dictionaries", "smaller dictionaries, or without")
                elif kind == BATCH:
                    refuse_unpacked(unpacked, size, "a batch", "smaller batches")
                    yield
        except (struct.error, IndexError) as problem:
            raise OSError(f"a message cannot be read: {problem}") from problem
    yield from repeat(None)


def stream_messages(file: FileIO) -> Iterator[Message]:
    """The metadata of each message of a stream, and the place of its body."""
    at = 0
    while True:
        metadata, body = message_at(file, at)
        if not metadata:
            return
        yield metadata, body
        (table,) = struct.unpack_from("<I", metadata)
        length = field_place(metadata, table, 3)
        at = body + (struct.unpack_from("<q", metadata, length)[0] if length else 0)


def file_messages(file: FileIO, size: int) -> Iterator[Message]:
    """Like `stream_messages` for a file, whose footer gives the places of the messages; dictionaries come first."""
    file.seek(size - FOOTER_END)
    (length,) = struct.unpack("<i", file.read(4))
    file.seek(size - FOOTER_END - length)
    footer = file.read(length)
    (table,) = struct.unpack_from("<I", footer)
    for at, metadata_length, _ in chain(footer_blocks(footer, table, 2), footer_blocks(footer, table, 3)):
        yield message_at(file, at)[0], at + (metadata_length & 0xFFFFFFFF)


def footer_blocks(footer: bytes, table: int, number: int) -> list[tuple[int, int, int]]:
    """The place of each message, and the bytes of its metadata and of its body."""
    place = field_place(footer, table, number)
    if not place:
        return []
    start, count = vector_items(footer, place)
    return [struct.unpack_from("<qqq", footer, start + 24 * index) for index in range(count)]


def message_at(file: FileIO, at: int) -> Message:
    """The metadata of a message, empty at the end of a stream, and the place of its end."""
    file.seek(at)
    first = file.read(8)
    if len(first) < 4:
        return b"", at
    (length,) = struct.unpack_from("<i", first)
    start = 4
    if length == CONTINUES:
        (length,) = struct.unpack_from("<i", first, 4)
        start = 8
    file.seek(at + start)
    return (file.read(length) if length > 0 else b""), at + start + length


def unpacked_bytes(file: FileIO, metadata: bytes, body: int) -> tuple[int, int]:
    """The kind of a message, and the unpacked bytes of its buffers; 0 if they are not packed."""
    (table,) = struct.unpack_from("<I", metadata)
    place = field_place(metadata, table, 1)
    kind = metadata[place] if place else 0
    if kind not in (DICTIONARY, BATCH):
        return kind, 0
    header = read_offset(metadata, field_place(metadata, table, 2))
    if kind == DICTIONARY:
        header = read_offset(metadata, field_place(metadata, header, 1))
    version = field_place(metadata, table, 0)
    is_old = bool(version) and metadata[version] == OLD_VERSION and OLD_MARK in metadata
    if not (field_place(metadata, header, 3) or is_old):
        return kind, 0
    start, count = vector_items(metadata, field_place(metadata, header, 2))
    unpacked = 0
    for index in range(count):
        offset, length = struct.unpack_from("<qq", metadata, start + 16 * index)
        if length > 0:
            file.seek(body + offset)
            (declared,) = struct.unpack("<q", file.read(8))
            unpacked += max(declared, 0)
    return kind, unpacked


# Flatbuffers


def field_place(data: bytes, table: int, number: int) -> int:
    """The place of a field of a table; 0 if the table does not have it."""
    rows = table - struct.unpack_from("<i", data, table)[0]
    if 4 + 2 * number >= struct.unpack_from("<H", data, rows)[0]:
        return 0
    offset = int(struct.unpack_from("<H", data, rows + 4 + 2 * number)[0])
    return table + offset if offset else 0


def read_offset(data: bytes, place: int) -> int:
    """The place that a field points to."""
    return place + int(struct.unpack_from("<I", data, place)[0])


def vector_items(data: bytes, place: int) -> tuple[int, int]:
    """The place of the first item of a vector, and the number of items."""
    start = read_offset(data, place)
    return start + 4, int(struct.unpack_from("<I", data, start)[0])
