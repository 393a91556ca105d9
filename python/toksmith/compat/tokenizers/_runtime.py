"""What runs a tokenizer as it is at one moment: our engine, and what it says of each id of a text.

A byte-pair model without an unknown token leaves out what it does not know. Our engine does that only for this drop-in.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ... import _core
from ..._base.errors import NotInVocabulary
from ..._model.model import AddedToken as OwnToken
from ..._model.model import Model
from ..._model.steps import engine_stages, has_symbols, of_characters
from ..._tokenizer.tokenizer import Tokenizer
from ._pieces import WORDS, normalized, of_json, whole_json

__all__ = ["Columns", "Runtime", "TextSource", "Words"]

Json = Mapping[str, Any]


def own_tokens(added: Iterable[Json]) -> tuple[OwnToken, ...]:
    """The added tokens of a tokenizer.json with the ids that it says."""
    return tuple(OwnToken(**each) for each in added)


def own_tokenizer(value: Json) -> Tokenizer:
    """Our tokenizer of a tokenizer.json, which leaves out unknown characters where the library does.

    A model that samples can still decode; who encodes with it is refused before.
    """
    if value["model"].get("dropout"):
        value = {**value, "model": {**value["model"], "dropout": None}}
    model = of_json(value)
    flags = {token.content: token.normalized for token in model.added_tokens}
    tokens = own_tokens(value["added_tokens"])
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


class Columns(NamedTuple):
    """What is known of each id of a text."""

    ids: Sequence[int]
    tokens: Sequence[str]
    offsets: Sequence[tuple[int, int]]
    words: Sequence[int]


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

    def columns(self, text: str, as_text: bool) -> Columns:
        """What is known of the ids of a text."""
        ids, words, added, offsets, places, written = _core.encode_in_pieces(
            self.placed._engine, text, special(as_text)
        )
        return Columns(ids, self.shown(ids, added, places, written), offsets, words)

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


class TextSource:
    """The columns of one encoded text; the ids are there, the others are made when they are asked for."""

    special, attention = 0, 1

    def __init__(self, runtime: Runtime, text: str, ids: list[int], as_text: bool) -> None:
        self.runtime, self.text, self.ids, self.as_text = runtime, text, ids, as_text

    @functools.cached_property
    def columns(self) -> Columns:
        """All columns."""
        return self.runtime.columns(self.text, self.as_text)

    @property
    def offsets(self) -> Sequence[tuple[int, int]]:
        """The characters of each id."""
        return self.columns.offsets

    @property
    def tokens(self) -> Sequence[str]:
        """The token of each id."""
        return self.columns.tokens

    @property
    def words(self) -> Sequence[int]:
        """The number of the piece of each id."""
        return self.columns.words


class Words:
    """The columns of words that were given one by one."""

    special, attention = 0, 1

    def __init__(self, sources: Sequence[TextSource]) -> None:
        self.sources = sources
        self.ids = [id for source in sources for id in source.ids]

    @functools.cached_property
    def offsets(self) -> list[tuple[int, int]]:
        """The characters of each id in its word."""
        return [offsets for source in self.sources for offsets in source.offsets]

    @functools.cached_property
    def tokens(self) -> list[str]:
        """The token of each id."""
        return [token for source in self.sources for token in source.tokens]

    @property
    def words(self) -> list[int]:
        """The number of the word of each id."""
        return [place for place, source in enumerate(self.sources) for _ in source.ids]
