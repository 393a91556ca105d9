"""Runs a tokenizer in its current state: toksmith's engine, and the columns of each id.

Single parts run on a model in which every piece is the unknown token. A byte-pair model without an unknown token drops
unknown characters; the engine does so only for this drop-in.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..._base.arguments import check_texts
from ..._base.threads import cached_property
from ..._formats.tokenizer_json import read_tokenizer
from ..._model.model import AddedToken as OwnToken
from ..._model.model import Model
from ..._model.steps import engine_stages, has_symbols, is_whole_text
from ..._tokenizer.tokenizer import Tokenizer
from ...errors import NotInVocabulary
from ._encoding import Fixed, Places

Json = Mapping[str, Any]
UNKNOWN = "\0"
BLANK = "Ġ"
WHITE = "".join(
    chr(point) for point in range(0x3001) if chr(point).isspace() and not 0x1C <= point <= 0x1F
)  # Unicode's white space
WORDS = {"type": "WordLevel", "vocab": {UNKNOWN: 0}, "unk_token": UNKNOWN}


def count_blanks(token: str) -> tuple[int, int]:
    """The numbers of white-space characters at the start and at the end of a byte-level token."""
    blanks = token.replace(BLANK, " ")
    return len(token) - len(blanks.lstrip(WHITE)), len(token) - len(blanks.rstrip(WHITE))


def tokenizer_json(model: Json, **parts: Any) -> dict[str, Any]:
    names = ("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    return {"version": "1.0", "added_tokens": [], **dict.fromkeys(names), **parts, "model": model}


class Pieces:
    """The pieces of texts: a normalizer and a pre-tokenizer without a model."""

    def __init__(self, parts: str) -> None:
        self.tok = Tokenizer(read_tokenizer(tokenizer_json(WORDS, **json.loads(parts))))

    def texts(self, text: str) -> list[str]:
        return [piece.decode("utf-8", "replace") for piece in self.tok._engine.split(text)]

    def pieces_with_offsets(self, text: str) -> list[tuple[str, tuple[int, int]]]:
        """The pieces of a text, each with its range of characters in the text."""
        _, _, _, offsets, places, written = _core.encode_in_pieces(self.tok._engine, text, "text")
        texts = [written[start:end].decode("utf-8", "replace") for start, end in places]
        return list(zip(texts, offsets, strict=True))


of_parts = functools.lru_cache(maxsize=64)(Pieces)


def normalize_text(normalizer: Json, text: str) -> str:
    return "".join(of_parts(json.dumps({"normalizer": normalizer})).texts(text))


def split_text(pre_tokenizer: Json, text: str) -> list[tuple[str, tuple[int, int]]]:
    """The pieces of a text, each with its range of characters."""
    if not any(flatten_members(pre_tokenizer)):
        return [(text, (0, len(text)))]  # also an empty text
    return of_parts(json.dumps({"pre_tokenizer": pre_tokenizer})).pieces_with_offsets(text)


def flatten_members(pre_tokenizer: Json) -> Iterator[Json]:
    """The pre-tokenizers in a pre-tokenizer."""
    if pre_tokenizer["type"] != "Sequence":
        yield pre_tokenizer
    for each in pre_tokenizer.get("pretokenizers", ()):
        yield from flatten_members(each)


@functools.lru_cache(maxsize=64)
def decoding_stages(decoder: str) -> dict[str, object] | None:
    return engine_stages(read_tokenizer(tokenizer_json(WORDS, decoder=json.loads(decoder))))


def decode_tokens(decoder: Json, tokens: Sequence[str]) -> str:
    """The text of tokens. Programs ask for each token of a vocabulary, so this makes an engine without a model."""
    place: dict[bytes, int] = {}
    ids = [place.setdefault(token.encode(), len(place)) for token in check_texts(tokens, "tokens") if token]
    ends, numbers, merges = map(_core.Memory, ([*accumulate(map(len, place))], [*range(len(place))], []))
    vocab = _core.Vocab("words", "char", b"".join(place), ends, numbers, merges, "pair", False)
    return _core.Engine(vocab, [], [], None, decoding_stages(json.dumps(decoder))).decode(ids, "replace")


def build_tokenizer(value: Json) -> Tokenizer:
    """The `toksmith.Tokenizer` of a tokenizer.json; it drops unknown characters where the library does.

    A model that samples can still decode; encoding is refused earlier.
    """
    if value["model"].get("dropout"):
        value = {**value, "model": {**value["model"], "dropout": None}}
    model = read_tokenizer(value)
    flags = {token.content: token.normalized for token in model.added_tokens}
    tokens = [OwnToken(**each) for each in value["added_tokens"]]  # with the ids of the file
    added = tuple(dataclasses.replace(token, normalized=flags.get(token.content, token.normalized)) for token in tokens)
    tok = Tokenizer(dataclasses.replace(model, added_tokens=added))
    if has_symbols(model) and value["model"].get("unk_token") is None:
        drop_unknown(tok, tok.model)
    return tok


def drop_unknown(tok: Tokenizer, model: Model) -> None:
    """Make a tokenizer of characters drop those without a token."""
    nothing: dict[str, Any] = {"normalizers": [], "splitters": [], "decoders": [], "flags": {}}
    symbols = (model.continuing_subword_prefix, model.end_of_word_suffix, None, False, model.byte_fallback, True)
    stages = {**(engine_stages(model) or nothing), "symbols": symbols}
    added = [(token.content, token.id, token.special) for token in model.added_tokens]
    tok._engine = _core.Engine(model.vocab, [], added, None, stages)
    tok._begin(tok._engine)


class Runtime:
    """A tokenizer.json with its engine. Immutable."""

    def __init__(self, value: Json, tok: Tokenizer | None = None) -> None:
        self.value = value
        self.tok = tok or build_tokenizer(value)
        model = value["model"]
        self.unknown = model.get("unk_id") if model.get("type") == "Unigram" else None

    @cached_property
    def offset_tokenizer(self) -> Tokenizer:
        """The tokenizer that knows the places of ids; SentencePiece's form of a model does not."""
        return build_tokenizer(self.value) if is_whole_text(self.tok.model) else self.tok

    def with_post(self, parts: Json) -> Tokenizer:
        """The `toksmith.Tokenizer` with post-processing."""
        post = read_tokenizer(tokenizer_json(WORDS, **parts)).post
        return self.tok if self.tok.model.post == post else Tokenizer(dataclasses.replace(self.tok.model, post=post))

    def ids(self, texts: Sequence[str], as_text: bool) -> list[list[int]]:
        try:
            return self.tok.encode_batch(texts, special="text" if as_text else "allow", errors="strict")
        except UnicodeEncodeError as error:
            raise TypeError(f"a text has a lone surrogate: {error}") from error
        except NotInVocabulary as error:
            if self.value["model"].get("type") == "Unigram":
                raise ValueError("Encountered an unknown token but `unk_id` is missing") from error
            raise ValueError(f"{error}; the model has no unknown token in its vocabulary") from error

    @cached_property
    def tokens(self) -> dict[int, str]:
        vocab = self.value["model"]["vocab"]
        pairs = vocab.items() if isinstance(vocab, dict) else ((token, id) for id, (token, _) in enumerate(vocab))
        return {id: token for token, id in pairs} | {each["id"]: each["content"] for each in self.value["added_tokens"]}

    @cached_property
    def written(self) -> dict[int, str]:
        """The token of each id; added tokens that match normalized text are normalized."""
        normalizer, added = self.value["normalizer"], self.value["added_tokens"]
        normal = [each for each in added if each["normalized"]] if normalizer is not None else []
        return self.tokens | {each["id"]: normalize_text(normalizer, each["content"]) for each in normal}

    def columns(self, text: str, as_text: bool) -> Fixed:
        ids, words, added, offsets, places, texts = _core.encode_in_pieces(
            self.offset_tokenizer._engine, text, "text" if as_text else "allow"
        )
        return Fixed(ids, self.shown(ids, added, places, texts), offsets, words)

    def places(self, text: str, ids: Sequence[int], as_text: bool) -> Places:
        """The offsets of a text's ids, without the other columns."""
        starts, ends = _core.find_origins(self.offset_tokenizer._engine, text, "text" if as_text else "allow")
        return Places(starts, ends, lambda part: self.count_blanks(ids[part]))

    def count_blanks(self, ids: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
        """The numbers of white-space characters at the start and at the end of each token; None if a text decides."""
        numbers = np.array(ids, np.int64)
        for id in numbers[self.blank_counts[0][numbers] < 0].tolist():
            self.blank_counts[:, id] = count_blanks(self.tokens[id])
        if not self.written_as_in_text.isdisjoint(ids):
            return None
        leading, trailing = self.blank_counts[:, numbers]
        return leading, trailing

    @cached_property
    def blank_counts(self) -> NDArray[np.int64]:
        """These numbers for each id, or -1 before their first use: shape (2, ids)."""
        return np.full((2, max(self.tokens, default=0) + 1), -1, np.int64)

    def tokens_alone(self, ids: Sequence[int]) -> list[str] | None:
        """The tokens of ids, without the other columns; None if the text decides."""
        return [self.tokens[id] for id in ids] if self.written_as_in_text.isdisjoint(ids) else None

    @cached_property
    def written_as_in_text(self) -> frozenset[int]:
        """The ids of added tokens that include white space around them, or match normalized text, and of unknown text."""
        changed = [each["id"] for each in self.value["added_tokens"] if each["lstrip"] or each["rstrip"]]
        changed += [id for id, token in self.written.items() if token != self.tokens[id]]
        return frozenset(changed if self.unknown is None else [*changed, self.unknown])

    def rows(self, text: str) -> list[tuple[int, str, tuple[int, int]]]:
        """The ids of a text by the model alone: each with its token and range of bytes."""
        ids, _, added, _, places, texts = _core.encode_in_pieces(self.offset_tokenizer._engine, text, "text")
        return list(zip(ids, self.shown(ids, added, places, texts), places, strict=True))

    def shown(
        self, ids: Sequence[int], added: Sequence[bool], places: Sequence[tuple[int, int]], written: bytes
    ) -> list[str]:
        """The tokens of ids. Added tokens, and unknown text of a unigram model, appear as in the text."""
        tokens = [self.tokens[id] for id in ids]
        for place, (id, is_added) in enumerate(zip(ids, added, strict=True)):
            if is_added or id == self.unknown:
                start, end = places[place]
                tokens[place] = written[start:end].decode("utf-8", "replace")
        return tokens
