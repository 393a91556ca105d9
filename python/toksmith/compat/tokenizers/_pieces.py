"""What single parts do, asked of the engine: a model whose every piece is the unknown token shows pieces and where they are."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ... import _core
from ..._formats.tokenizer_json import read
from ..._model.model import Model
from ..._tokenizer.tokenizer import Tokenizer

__all__ = ["Pieces", "decoded", "normalized", "of_json", "pieces", "whole_json"]

UNKNOWN = "\0"
WORDS = {"type": "WordLevel", "vocab": {UNKNOWN: 0}, "unk_token": UNKNOWN}
Json = Mapping[str, Any]


def of_json(value: Json) -> Model:
    """The model in the JSON of a tokenizer."""
    return read(value, "the tokenizer")


def whole_json(model: Json, **parts: Any) -> dict[str, Any]:
    """A tokenizer.json of a model and the parts that are given."""
    names = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    return {"version": "1.0", "added_tokens": [], **dict.fromkeys(names), **parts, "model": model}


class Pieces:
    """The pieces of texts: a normalizer and a pre-tokenizer without a model behind them."""

    def __init__(self, parts: str) -> None:
        self.tok = Tokenizer(of_json(whole_json(WORDS, **json.loads(parts))))

    def texts(self, text: str) -> list[str]:
        """The pieces of a text."""
        return [piece.decode("utf-8", "replace") for piece in self.tok._engine.split(text)]

    def pieces_with_offsets(self, text: str) -> list[tuple[str, tuple[int, int]]]:
        """The pieces of a text, each with the characters that it was made from."""
        _, _, _, offsets, places, written = _core.encode_in_pieces(self.tok._engine, text, "text")
        texts = [written[start:end].decode("utf-8", "replace") for start, end in places]
        return list(zip(texts, offsets, strict=True))


@functools.lru_cache(maxsize=64)
def of_parts(parts: str) -> Pieces:
    """The pieces that parts in JSON make."""
    return Pieces(parts)


def normalized(normalizer: Json, text: str) -> str:
    """The text that a normalizer makes of a text."""
    return "".join(of_parts(json.dumps({"normalizer": normalizer})).texts(text))


def pieces(pre_tokenizer: Json, text: str) -> list[tuple[str, tuple[int, int]]]:
    """The pieces of a text, each with its characters in the text."""
    if not any(flatten_members(pre_tokenizer)):
        return [(text, (0, len(text)))]  # an empty text too
    return of_parts(json.dumps({"pre_tokenizer": pre_tokenizer})).pieces_with_offsets(text)


def flatten_members(pre_tokenizer: Json) -> Iterator[Json]:
    """The pre-tokenizers in one."""
    if pre_tokenizer["type"] != "Sequence":
        yield pre_tokenizer
    for each in pre_tokenizer.get("pretokenizers", ()):
        yield from flatten_members(each)


@functools.lru_cache(maxsize=64)
def decoding(decoder: str, tokens: tuple[str, ...]) -> Tokenizer:
    """A tokenizer of these tokens that decodes."""
    vocab = {token: id for id, token in enumerate(tokens)}
    return Tokenizer(
        of_json(whole_json({"type": "WordLevel", "vocab": vocab, "unk_token": tokens[0]}, decoder=json.loads(decoder)))
    )


def decoded(decoder: Json, tokens: Sequence[str]) -> str:
    """The text of tokens."""
    kept = [token for token in tokens if token]
    if not kept:
        return ""
    distinct = tuple(dict.fromkeys(kept))
    place = {token: id for id, token in enumerate(distinct)}
    return decoding(json.dumps(decoder), distinct).decode([place[token] for token in kept])
