"""`tokenizers.models`: parts that turn pieces into ids."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from . import trainers
from ._parts import Field, NotHere, Part
from ._runtime import Runtime, tokenizer_json

__all__ = ["BPE", "Model", "Token", "Unigram", "WordLevel", "WordPiece"]


class Token(NamedTuple):
    """An id with its token and its range of bytes in the text."""

    id: int
    value: str
    offsets: tuple[int, int]

    def as_tuple(self) -> tuple[int, str, tuple[int, int]]:
        """The same as a tuple."""
        return (self.id, self.value, self.offsets)


class Model(Part):
    """Any model."""

    ROLE = "model"

    def refuse_sampling(self) -> None:
        """Refuse a model whose ids for a text vary between calls."""

    def __deepcopy__(self, memo: object) -> Any:
        return self.of(dict(self.data))  # the vocabulary is never changed

    @property
    def ids(self) -> dict[str, int]:
        """The ids of its tokens."""
        vocab: dict[str, int] = self.data["vocab"]
        return vocab

    def token_to_id(self, token: str) -> int | None:
        """The id of a token."""
        return self.ids.get(token)

    def id_to_token(self, id: int) -> str | None:
        """The token of an id."""
        if "_tokens" not in self.__dict__:  # the vocabulary is never changed
            self.__dict__["_tokens"] = {number: token for token, number in reversed(self.ids.items())}
        found: str | None = self.__dict__["_tokens"].get(id)
        return found

    def tokenize(self, sequence: str) -> list[Token]:
        """The ids of a piece."""
        self.refuse_sampling()
        return [Token(*row) for row in Runtime(tokenizer_json(self.data)).rows(sequence)]

    def get_trainer(self) -> Any:
        """A trainer for this kind of model."""
        return next(kind for kind in trainers.Trainer.__subclasses__() if kind.MODEL == self.TYPE)()

    def save(self, folder: str, prefix: str | None = None, name: str | None = None) -> list[str]:
        """Write the vocabulary, and the merges if the model has any."""
        start = f"{prefix or name}-" if prefix or name else ""
        vocab = dict(sorted(self.ids.items(), key=lambda pair: pair[1]))
        files = {"vocab.json": json.dumps(vocab, ensure_ascii=False)}
        if self.TYPE == "WordPiece":
            files = {"vocab.txt": "".join(f"{token}\n" for token in vocab)}
        elif self.TYPE == "BPE":
            files["merges.txt"] = "".join(["#version: 0.2\n", *(" ".join(pair) + "\n" for pair in self.data["merges"])])
        elif self.TYPE == "Unigram":
            files = {"unigram.json": json.dumps(self.data, ensure_ascii=False)}
        paths = []
        for file, text in files.items():
            paths.append(os.path.join(folder, start + file))
            with open(paths[-1], "w", encoding="utf-8", newline="\n") as out:
                out.write(text)
        return paths


def with_all_fields(model: dict[str, Any]) -> dict[str, Any]:
    """A model in JSON with its type and all its fields; old files omit some."""
    kind = model.get("type")
    if kind is None:
        marks = {"merges": "BPE", "unk_id": "Unigram", "max_input_chars_per_word": "WordPiece"}
        kind = next((each for name, each in marks.items() if name in model), "WordLevel")
    fields = {each.name: each for each in (Model.ROWS[kind].FIELDS if kind in Model.ROWS else ()) if each.saved}
    usual = {name: each.write(each.default) for name, each in fields.items() if name not in ("vocab", "merges")}
    filled = {"type": kind, **usual, **{name: value for name, value in model.items() if name != "type"}}
    if kind == "BPE":
        merges = [pair.split(" ", 1) if isinstance(pair, str) else pair for pair in filled.get("merges", ())]
        filled["merges"] = [pair for pair in merges if pair[0] != "#version:"]
    return {**{name: filled[name] for name in ("type", *fields) if name in filled}, **filled}


def write_vocab(value: Any) -> dict[str, int]:
    """The ids by token; `value` can also be the path of a JSON file or of a file with one token a line."""
    if value is None:
        return {}
    if isinstance(value, (str, os.PathLike)):
        return read_vocab(os.fspath(value))
    if not isinstance(value, Mapping):
        raise TypeError(f"vocab: expected a mapping of tokens to ids, not {type(value).__name__}")
    return dict(value)


def read_vocab(path: str) -> dict[str, int]:
    """The ids in a file."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.lstrip().startswith("{"):
        return dict(json.loads(text))
    return {line.rstrip("\r"): id for id, line in enumerate(text.split("\n")) if line}


def as_tuples(value: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Pairs in call form."""
    return [tuple(pair) for pair in value]


def read_merges(value: Any) -> list[list[str]]:
    """Merges as pairs; `value` can also be the path of a file."""
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike)):
        with open(value, encoding="utf-8") as file:
            value = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#version")]
    return [pair.split(" ") if isinstance(pair, str) else list(pair) for pair in value]


VOCAB = Field("vocab", None, write=write_vocab, read=dict)


class VocabularyFile:
    """The common part of models with only a vocabulary."""

    @staticmethod
    def read_file(vocab: str) -> dict[str, int]:
        """The ids in a file."""
        return read_vocab(vocab)

    @classmethod
    def from_file(cls, vocab: str, **kwargs: Any) -> Any:
        """The model in a file."""
        return cls(vocab, **kwargs)  # type: ignore[call-arg]  # the model's arguments


class BPE(Model):
    """Byte-pair encoding."""

    FIELDS = (
        Field("dropout", None),
        Field("unk_token", None),
        Field("continuing_subword_prefix", None),
        Field("end_of_word_suffix", None),
        Field("fuse_unk", False, write=bool),
        Field("byte_fallback", False, write=bool),
        Field("ignore_merges", False, write=bool),
        VOCAB,
        Field("merges", None, write=read_merges, read=as_tuples),
        Field("cache_capacity", None, saved=False),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if (dropout := self.data["dropout"]) is not None and not 0 <= dropout <= 1:
            raise ValueError("Error while initializing BPE: Dropout should be between 0 and 1, inclusive")
        vocab = self.data["vocab"]
        skip = len(self.data["continuing_subword_prefix"] or "")
        for left, right in self.data["merges"]:
            for token in (left, right, left + right[skip:]):
                if token not in vocab:
                    raise ValueError(f"Error while initializing BPE: Token `{token}` out of vocabulary")

    def refuse_sampling(self) -> None:
        """Refuse a model that drops merges."""
        if self.dropout:
            raise NotHere("models.BPE(dropout=...)", "call toksmith.Tokenizer.encode_sampled(text, dropout=...)")

    @staticmethod
    def read_file(vocab: str, merges: str) -> tuple[dict[str, int], list[tuple[str, ...]]]:
        """The ids and merges in two files."""
        return read_vocab(vocab), as_tuples(read_merges(merges))

    @classmethod
    def from_file(cls, vocab: str, merges: str, **kwargs: Any) -> BPE:
        """The model in two files."""
        return cls(vocab, merges, **kwargs)


class WordPiece(VocabularyFile, Model):
    """The longest token first, as in BERT."""

    FIELDS = (
        Field("unk_token", "[UNK]"),
        Field("continuing_subword_prefix", "##"),
        Field("max_input_chars_per_word", 100),
        VOCAB,
    )


class WordLevel(VocabularyFile, Model):
    """Whole pieces."""

    FIELDS = (VOCAB, Field("unk_token", "<unk>"))

    def tokenize(self, sequence: str) -> list[Token]:
        """The ids of a piece; an empty piece is unknown, as in the library."""
        if sequence:
            return super().tokenize(sequence)
        unknown = self.token_to_id(self.unk_token)
        if unknown is None:
            raise ValueError(f"the unknown token {self.unk_token!r} is not in the vocabulary; pass another unk_token")
        return [Token(unknown, self.unk_token, (0, 0))]


def write_scores(value: Iterable[Any] | None) -> list[list[Any]]:
    """Tokens with their scores."""
    return [["<unk>", 0.0]] if value is None else [[token, float(score)] for token, score in value]


class Unigram(Model):
    """The most likely tokens."""

    FIELDS = (
        Field("unk_id", None),
        Field("vocab", None, write=write_scores, read=as_tuples),
        Field("byte_fallback", False, write=bool),
        Field("alpha", None, saved=False),
        Field("nbest_size", None, saved=False),
    )

    def __init__(self, vocab: Any = None, unk_id: int | None = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(vocab, 0 if vocab is None else unk_id, *args, **kwargs)
        if unk_id is not None and vocab is not None and not 0 <= unk_id < len(self.data["vocab"]):
            raise ValueError("Error while loading Unigram: The `unk_id` is larger than vocabulary size")

    def refuse_sampling(self) -> None:
        """Refuse a model that samples among segmentations."""
        if self.alpha is not None and self.nbest_size is not None:
            instead = "call toksmith.Tokenizer.encode_sampled(text, alpha=...)"
            raise NotHere("models.Unigram(alpha=..., nbest_size=...)", instead)

    @property
    def ids(self) -> dict[str, int]:
        """The ids of its tokens, which are their indices."""
        if "_ids" not in self.__dict__:
            self.__dict__["_ids"] = {token: id for id, (token, _) in enumerate(self.data["vocab"])}
        vocab: dict[str, int] = self.__dict__["_ids"]
        return vocab
