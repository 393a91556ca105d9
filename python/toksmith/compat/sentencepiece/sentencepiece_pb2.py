"""The messages `SentencePieceText` and `NBestSentencePieceText`, described here for the protobuf library."""

from __future__ import annotations

from typing import Any

__all__ = ["NBestSentencePieceText", "SentencePieceText"]

PACKAGE = "toksmith.sentencepiece_text"
STRING, UINT32, FLOAT, MESSAGE, OPTIONAL, REPEATED = 9, 13, 2, 11, 1, 3
MESSAGES: dict[str, tuple[tuple[str, int, int, str], ...]] = {
    "Piece": (
        ("piece", 1, STRING, ""),
        ("id", 2, UINT32, ""),
        ("surface", 3, STRING, ""),
        ("begin", 4, UINT32, ""),
        ("end", 5, UINT32, ""),
    ),
    "SentencePieceText": (("text", 1, STRING, ""), ("pieces", 2, MESSAGE, "Piece"), ("score", 3, FLOAT, "")),
    "NBestSentencePieceText": (("nbests", 1, MESSAGE, "SentencePieceText"),),
}


def classes() -> dict[str, Any]:
    """The classes of the messages.

    Raises:
        ImportError: The protobuf library is not installed.
    """
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as error:
        raise ImportError("protos need the protobuf library: pip install 'toksmith[sentencepiece]'") from error
    file = descriptor_pb2.FileDescriptorProto(
        name="toksmith_sentencepiece_text.proto", package=PACKAGE, syntax="proto2"
    )
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, of in fields:
            label = REPEATED if of else OPTIONAL
            message.field.add(
                name=field, number=number, type=kind, label=label, type_name=f".{PACKAGE}.{of}" if of else None
            )
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}")) for name in MESSAGES}


MADE = classes()
SentencePieceText: Any = MADE["SentencePieceText"]
NBestSentencePieceText: Any = MADE["NBestSentencePieceText"]
