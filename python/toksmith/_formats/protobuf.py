"""The protobuf messages of SentencePiece's models: the fields that decide ids and texts.

The description is data in a separate descriptor pool, so it needs no generated file and does not collide with the
sentencepiece package. It declares enumerations as numbers and texts as bytes, so that unknown values reach the reader
instead of turning into defaults.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import FormatError

# Message: fields as (name, number, type, default). Types have the names of the protobuf language; "*" marks a list.
MESSAGES: dict[str, tuple[tuple[str, int, str, str], ...]] = {
    "Piece": (("piece", 1, "bytes", ""), ("score", 2, "float", ""), ("type", 3, "int32", "1")),
    "TrainerSpec": (
        ("model_type", 3, "int32", "1"),
        ("treat_whitespace_as_suffix", 24, "bool", "false"),
        ("byte_fallback", 35, "bool", "false"),
        ("unk_surface", 44, "bytes", ""),
        ("unk_piece", 45, "bytes", "<unk>"),
        ("bos_piece", 46, "bytes", "<s>"),
        ("eos_piece", 47, "bytes", "</s>"),
        ("pad_piece", 48, "bytes", "<pad>"),
    ),
    "NormalizerSpec": (
        ("name", 1, "bytes", ""),
        ("precompiled_charsmap", 2, "bytes", ""),
        ("add_dummy_prefix", 3, "bool", "true"),
        ("remove_extra_whitespaces", 4, "bool", "true"),
        ("escape_whitespaces", 5, "bool", "true"),
    ),
    "Model": (
        ("pieces", 1, "*Piece", ""),
        ("trainer_spec", 2, "TrainerSpec", ""),
        ("normalizer_spec", 3, "NormalizerSpec", ""),
        ("denormalizer_spec", 5, "NormalizerSpec", ""),
    ),
}
TYPES = {"bool": 8, "bytes": 12, "float": 2, "int32": 5, "string": 9, "uint32": 13}
MESSAGE, OPTIONAL, REPEATED = 11, 1, 3
# Wire types: a varint, a length and that many bytes, or a fixed number of bytes (SIZES).
VARINT, BYTES = 0, 2
SIZES = {1: 8, 5: 4}
FIELD_LIMIT = 5 << 18  # more than four times the pieces of the largest published model, Gemma 3 with 262,144
PACKAGE = "toksmith.sentencepiece"


def parse_model(data: bytes, path: str) -> Any:
    check_fields(data, path)
    model = new_model()
    from google.protobuf.message import DecodeError

    try:
        model.ParseFromString(data)
    except DecodeError as error:
        raise FormatError(path, None, f"is not a SentencePiece model (a protobuf message): {error}") from error
    return model


def check_fields(data: bytes, path: str) -> None:
    """Raises FormatError for more fields than any such file has: each takes far more memory than its bytes.

    The protobuf library reports all other errors.
    """
    at = 0
    for _ in range(FIELD_LIMIT):
        tag, at = read_varint(data, at)
        if at > len(data):
            return
        kind = tag & 7
        if kind in SIZES:
            at += SIZES[kind]
        elif kind in (VARINT, BYTES):
            size, at = read_varint(data, at)
            at += size if kind == BYTES else 0
        else:
            raise FormatError(path, f"byte {at}", f"is a field of the type {kind}, which SentencePiece does not use")
    raise FormatError(path, f"byte {at}", f"more than {FIELD_LIMIT} fields come before this")


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The varint at an offset, and the offset after it; beyond the end of the data if the varint is incomplete."""
    value = 0
    for shift, byte in zip(range(0, 70, 7), data[at : at + 10], strict=False):
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    return value, len(data) + 1


def new_model() -> Any:
    return message_classes(PACKAGE, MESSAGES)["Model"]()


def message_classes(package: str, messages: Mapping[str, Sequence[tuple[str, int, str, str]]]) -> dict[str, Any]:
    """The class of each message of a table such as `MESSAGES`."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        problem = "SentencePiece models need the protobuf library, which comes with toksmith and is missing: pip install protobuf"
        raise ImportError(problem) from error
    file: Any = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto2")
    for name, fields in messages.items():
        described_message = file.message_type.add(name=name)
        for field_name, number, kind, default in fields:
            label = REPEATED if kind.startswith("*") else OPTIONAL
            field = described_message.field.add(name=field_name, number=number, label=label)
            field.type = TYPES.get(kind, MESSAGE)
            if field.type == MESSAGE:
                field.type_name = f".{package}.{kind.removeprefix('*')}"
            if default:
                field.default_value = default
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}")) for name in messages}
