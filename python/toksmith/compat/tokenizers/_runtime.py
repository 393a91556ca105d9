"""What runs a tokenizer as it is at one moment: our engine, and what it says of each id of a text.

Single parts run on a model whose every piece is the unknown token. A byte-pair model without an unknown token leaves out
what it does not know; our engine does that only for this drop-in.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from ... import _core
from ..._base.errors import NotInVocabulary
from ..._formats.tokenizer_json import read
from ..._model.model import AddedToken as OwnToken
from ..._model.model import Model
from ..._model.steps import engine_stages, has_symbols, of_characters
from ..._tokenizer.tokenizer import Tokenizer
from ._encoding import Fixed

__all__ = ["Pieces", "Runtime", "decoded", "normalized", "pieces", "whole_json"]

Json = Mapping[str, Any]
UNKNOWN = "\0"
WORDS = {"type": "WordLevel", "vocab": {UNKNOWN: 0}, "unk_token": UNKNOWN}


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


of_parts = functools.lru_cache(maxsize=64)(Pieces)


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


def own_tokenizer(value: Json) -> Tokenizer:
    """Our tokenizer of a tokenizer.json, which leaves out unknown characters where the library does.

    A model that samples can still decode; who encodes with it is refused before.
    """
    if value["model"].get("dropout"):
        value = {**value, "model": {**value["model"], "dropout": None}}
    model = of_json(value)
    flags = {token.content: token.normalized for token in model.added_tokens}
    tokens = [OwnToken(**each) for each in value["added_tokens"]]  # with the ids that it says
    kept = tuple(dataclasses.replace(token, normalized=flags.get(token.content, token.normalized)) for token in tokens)
    tok = Tokenizer(dataclasses.replace(model, added_tokens=kept))
    if has_symbols(model) and value["model"].get("unk_token") is None:
        leave_out_unknown(tok, tok.model)
    return tok


def leave_out_unknown(tok: Tokenizer, model: Model) -> None:
    """Makes a tokenizer of characters leave out those that have no token."""
    nothing: dict[str, Any] = {"normalizers": [], "splitters": [], "decoders": [], "flags": {}}
    symbols = (model.continuing_subword_prefix, model.end_of_word_suffix, None, False, model.byte_fallback, True)
    stages = {**(engine_stages(model) or nothing), "symbols": symbols}
    added = [(token.content, token.id, token.special) for token in model.added_tokens]
    tok._engine = _core.Engine(model.vocab, [], added, None, stages)
    tok._begin(tok._engine)


class Runtime:
    """A tokenizer.json that runs. Immutable."""

    def __init__(self, value: Json, tok: Tokenizer | None = None) -> None:
        self.value = value
        self.tok = tok or own_tokenizer(value)
        model = value["model"]
        self.unknown = model.get("unk_id") if model.get("type") == "Unigram" else None

    @functools.cached_property
    def placed(self) -> Tokenizer:
        """What says where ids are: SentencePiece's own form of a model does not."""
        return own_tokenizer(self.value) if of_characters(self.tok.model) else self.tok

    def with_post(self, parts: Json) -> Tokenizer:
        """Our tokenizer with post-processing."""
        post = of_json(whole_json(WORDS, **parts)).post
        return self.tok if self.tok.model.post == post else Tokenizer(dataclasses.replace(self.tok.model, post=post))

    def ids(self, texts: Sequence[str], as_text: bool) -> list[list[int]]:
        """The ids of texts."""
        try:
            return self.tok.encode_batch(texts, special=special(as_text))
        except NotInVocabulary as error:
            if self.value["model"].get("type") == "Unigram":
                raise ValueError("Encountered an unknown token but `unk_id` is missing") from error
            raise ValueError(f"{error}; the model has no unknown token in its vocabulary") from error

    @functools.cached_property
    def tokens(self) -> dict[int, str]:
        """The token of each id."""
        vocab = self.value["model"]["vocab"]
        pairs = vocab.items() if isinstance(vocab, dict) else ((token, id) for id, (token, _) in enumerate(vocab))
        return {id: token for token, id in pairs} | {each["id"]: each["content"] for each in self.value["added_tokens"]}

    @functools.cached_property
    def written(self) -> dict[int, str]:
        """The same, with added tokens as the normalizer writes them, if they are found in the normalized text."""
        normalizer, added = self.value["normalizer"], self.value["added_tokens"]
        normal = [each for each in added if each["normalized"]] if normalizer is not None else []
        return self.tokens | {each["id"]: normalized(normalizer, each["content"]) for each in normal}

    def columns(self, text: str, as_text: bool) -> Fixed:
        """What is known of the ids of a text."""
        ids, words, added, offsets, places, written = _core.encode_in_pieces(
            self.placed._engine, text, special(as_text)
        )
        return Fixed(ids, self.shown(ids, added, places, written), offsets, words)

    def rows(self, text: str) -> list[tuple[int, str, tuple[int, int]]]:
        """The ids of a text for the model alone: each with its token and its bytes."""
        ids, _, added, _, places, written = _core.encode_in_pieces(self.placed._engine, text, "text")
        return list(zip(ids, self.shown(ids, added, places, written), places, strict=True))

    def shown(
        self, ids: Sequence[int], added: Sequence[bool], places: Sequence[tuple[int, int]], written: bytes
    ) -> list[str]:
        """The tokens of ids. Added tokens, and unknown text of a unigram model, are what the text has there."""
        tokens = [self.tokens[id] for id in ids]
        for place, (id, is_added) in enumerate(zip(ids, added, strict=True)):
            if is_added or id == self.unknown:
                start, end = places[place]
                tokens[place] = written[start:end].decode("utf-8", "replace")
        return tokens


def special(as_text: bool) -> Literal["text", "allow"]:
    """What the engine does with special tokens in a text."""
    return "text" if as_text else "allow"
