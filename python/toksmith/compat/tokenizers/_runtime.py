"""What runs a tokenizer as it is at one moment: our engine, and a second one whose pieces say where words are.

A byte-pair model without an unknown token drops what it does not know. Our engine needs a token for that, so one is added
to the vocabulary here, and its id is left out of every result.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from ..._errors import NotInVocabulary
from ..._model import AddedToken as OwnToken
from ..._tokenizer import Tokenizer
from ._encoding import Encoding, Run
from ._pieces import WORDS, Pieces, normalized, of_json, whole_json

__all__ = ["Runtime", "TextSource", "Words"]

HIDDEN = "\0unknown"
Json = Mapping[str, Any]


def is_lossy(value: Json) -> bool:
    """Whether the model drops what it does not know."""
    model = value["model"]
    return model.get("type", "BPE") == "BPE" and model.get("unk_token") not in model["vocab"]


def own_tokens(added: Iterable[Json]) -> tuple[OwnToken, ...]:
    """The added tokens of a tokenizer.json with the ids that it says."""
    return tuple(OwnToken(**each) for each in added)


class Runtime:
    """A tokenizer.json that runs. Immutable."""

    def __init__(self, value: Json, tok: Tokenizer | None = None) -> None:
        self.value = value
        self.added = {each["id"]: each for each in value["added_tokens"]}
        self.hidden: int | None = None
        self.tok = tok or self.made()
        model = value["model"]
        self.unknown = model.get("unk_id") if model.get("type") == "Unigram" else None

    def made(self) -> Tokenizer:
        """Our tokenizer of it."""
        model = of_json(self.value)
        flags = {token.content: token.normalized for token in model.added_tokens}
        if (model.kind, model.unit) == ("bpe", "char") and is_lossy(self.value):
            part = self.value["model"]
            ids = [*part["vocab"].values(), *self.added]
            self.hidden = max(ids, default=-1) + 1
            known = {**part, "vocab": {**part["vocab"], HIDDEN: self.hidden}, "unk_token": HIDDEN, "fuse_unk": False}
            model = of_json({**self.value, "model": known, "added_tokens": []})
        tokens = own_tokens(self.value["added_tokens"])
        kept = tuple(
            dataclasses.replace(token, normalized=flags.get(token.content, token.normalized)) for token in tokens
        )
        return Tokenizer(dataclasses.replace(model, added_tokens=kept))

    def with_post(self, parts: Json) -> Tokenizer:
        """Our tokenizer with post-processing."""
        post = of_json(whole_json(WORDS, **parts)).post
        return self.tok if self.tok.model.post == post else Tokenizer(dataclasses.replace(self.tok.model, post=post))

    def special(self, as_text: bool) -> Literal["text", "allow"]:
        """What the engine does with special tokens in a text."""
        return "text" if as_text else "allow"

    def ids(self, texts: Sequence[str], as_text: bool) -> list[list[int]]:
        """The ids of texts."""
        try:
            lists = self.tok.encode_batch(texts, special=self.special(as_text))
        except NotInVocabulary as error:
            if self.value["model"].get("type") == "Unigram":
                raise ValueError("Encountered an unknown token but `unk_id` is missing") from error
            raise ValueError(f"{error}; the model has no unknown token in its vocabulary") from error
        if self.hidden is None:
            return lists
        return [[id for id in ids if id != self.hidden] for ids in lists]

    @functools.cached_property
    def tokens(self) -> dict[int, str]:
        """The token of each id."""
        vocab = self.value["model"]["vocab"]
        pairs = vocab.items() if isinstance(vocab, dict) else ((token, id) for id, (token, _) in enumerate(vocab))
        return {id: token for token, id in pairs} | {id: each["content"] for id, each in self.added.items()}

    @functools.cached_property
    def edges(self) -> Pieces:
        """What is removed at the edges of pieces."""
        return Pieces(json.dumps({name: self.value[name] for name in ("normalizer", "pre_tokenizer")}))

    @functools.cached_property
    def pieces(self) -> Tokenizer:
        """A tokenizer with one id for each piece."""
        parts = {name: self.value[name] for name in ("normalizer", "pre_tokenizer", "added_tokens")}
        return Tokenizer(of_json(whole_json(WORDS, **parts)))

    def rows(self, text: str, as_text: bool, unit: str) -> list[tuple[int, tuple[int, int]]]:
        """The ids of a text with their ranges."""
        found = self.tok.encode_with_offsets(text, special=self.special(as_text), unit=unit)
        return [row for row in zip(found.ids.tolist(), found.spans, strict=True) if row[0] != self.hidden]

    def offsets(self, text: str, as_text: bool) -> list[tuple[int, int]]:
        """The characters of each id, as the library gives them."""
        return [self.tight(text, id, *span) for id, span in self.rows(text, as_text, "char")]

    def tight(self, text: str, id: int, start: int, end: int) -> tuple[int, int]:
        """A range without what is removed at its edges."""
        added = self.added.get(id)
        if added and added["normalized"] and self.prepends:
            return start, end
        first = text.find(added["content"], start, end) if added else -1
        if added is None or first < 0:
            return self.edges.tight(text, start, end)
        return (start if added["lstrip"] else first), (end if added["rstrip"] else first + len(added["content"]))

    def words(self, text: str, as_text: bool) -> list[int]:
        """The number of the piece that each id is of."""
        spans = self.pieces.encode_with_offsets(text, special=self.special(as_text), unit="byte").spans
        ends, empty = [end for _, end in spans], {start for start, end in spans if start == end}
        found = []
        for _, (start, end) in self.rows(text, as_text, "byte"):
            # An empty range is the beginning of a rewritten stretch, which ends in a later id, and mostly in a later piece.
            find = bisect_right if start == end and start not in empty else bisect_left
            found.append(min(find(ends, end), len(ends) - 1))
        return found

    def shown(self, text: str, ids: Sequence[int], offsets: Any) -> list[str]:
        """The tokens of ids: of a unigram's unknown token, and of added tokens that change, what the text has."""
        tokens = [self.tokens[id] for id in ids]
        for place, id in enumerate(ids):
            if id == self.unknown or id in self.rewritten:
                start, end = offsets()[place]
                tokens[place] = self.rewritten.get(id) or self.part(text[start:end], id)
        return tokens

    @functools.cached_property
    def rewritten(self) -> dict[int, str]:
        """The added tokens that a text may have otherwise: as the normalizer writes them, or "" where white space decides."""
        found = {}
        for id, each in self.added.items():
            rewritten = each["normalized"] and self.normalizes
            if each["lstrip"] or each["rstrip"]:
                found[id] = normalized(self.value["normalizer"], each["content"]) if rewritten and self.prepends else ""
            elif rewritten:
                found[id] = normalized(self.value["normalizer"], each["content"])
        return found

    @property
    def normalizes(self) -> bool:
        """Whether there is a normalizer."""
        return self.value["normalizer"] is not None

    @functools.cached_property
    def prepends(self) -> bool:
        """Whether the normalizer puts something before a text."""
        return '"Prepend"' in json.dumps(self.value["normalizer"])

    def part(self, part: str, id: int) -> str:
        """A part of a text as a token: normalized, but for added tokens that are found in the text itself."""
        added = self.added.get(id)
        return (
            part if added is not None and not added["normalized"] and id != self.unknown else self.edges.rewritten(part)
        )


class TextSource:
    """The columns of one encoded text; the ids are there, the others are made when they are asked for."""

    special, attention = 0, 1

    def __init__(self, runtime: Runtime, text: str, ids: list[int], as_text: bool) -> None:
        self.runtime, self.text, self.ids, self.as_text = runtime, text, ids, as_text

    @functools.cached_property
    def offsets(self) -> list[tuple[int, int]]:
        """The characters of each id."""
        return self.runtime.offsets(self.text, self.as_text)

    @functools.cached_property
    def tokens(self) -> list[str]:
        """The token of each id."""
        return self.runtime.shown(self.text, self.ids, lambda: self.offsets)

    @functools.cached_property
    def words(self) -> list[int]:
        """The number of the piece of each id."""
        return self.runtime.words(self.text, self.as_text)

    def encoding(self, type_id: int) -> Encoding:
        """The encoding of the whole text."""
        return Encoding([Run(self, 0, len(self.ids), type_id, type_id)])


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

    def encoding(self, type_id: int) -> Encoding:
        """The encoding of all words."""
        return Encoding([Run(self, 0, len(self.ids), type_id, type_id)])
