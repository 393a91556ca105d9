"""`tokenizers.models`: what makes ids of pieces."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

from ._parts import Changes, Field, Part, field, refused
from ._pieces import whole_json

__all__ = ["BPE", "Model", "Token", "Unigram", "WordLevel", "WordPiece"]


class Token(NamedTuple):
    """An id with its token and its bytes in the text."""

    id: int
    value: str
    offsets: tuple[int, int]

    def as_tuple(self) -> tuple[int, str, tuple[int, int]]:
        """The same as a tuple."""
        return (self.id, self.value, self.offsets)


class Model(Part):
    """Any model."""

    ROLE = "model"
    ROWS: ClassVar[dict[str, type[Part]]] = {}
    SAMPLES: ClassVar[tuple[str, ...]] = ()  # options that no file holds

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        object.__setattr__(self, "samples", {name: kwargs.pop(name) for name in self.SAMPLES if name in kwargs})
        super().__init__(*args, **kwargs)
        object.__setattr__(self, "data", {"type": self.TYPE, **{name: self.data[name] for name in self.ORDER}})

    def __getattr__(self, name: str) -> Any:
        return self.__dict__.get("samples", {}).get(name) if name in self.SAMPLES else super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.SAMPLES:
            super().__setattr__(name, value)
        else:
            self.__dict__.setdefault("samples", {})[name] = value
            Changes.count += 1

    def refuse_sampling(self) -> None:
        """Raises for a model that gives a text other ids each time."""
        if self.data.get("dropout"):
            refused("models.BPE(dropout=...)", "call toksmith.Tokenizer.encode_sampled(text, dropout=...)")
        if {"alpha", "nbest_size"} <= {*self.SAMPLES} and self.alpha is not None and self.nbest_size is not None:
            refused(
                "models.Unigram(alpha=..., nbest_size=...)", "call toksmith.Tokenizer.encode_sampled(text, alpha=...)"
            )

    def __deepcopy__(self, memo: object) -> Any:
        return self.of(dict(self.data))  # the vocabulary is never changed

    @property
    def ids(self) -> dict[str, int]:
        """The ids of its tokens."""
        found: dict[str, int] = self.data["vocab"]
        return found

    def token_to_id(self, token: str) -> int | None:
        """The id of a token."""
        return self.ids.get(token)

    def id_to_token(self, id: int) -> str | None:
        """The token of an id."""
        if "_tokens" not in self.__dict__:  # the vocabulary is never changed
            self.__dict__["_tokens"] = {own: token for token, own in reversed(self.ids.items())}
        found: str | None = self.__dict__["_tokens"].get(id)
        return found

    def tokenize(self, sequence: str) -> list[Token]:
        """The ids of a piece."""
        from ._runtime import Runtime

        self.refuse_sampling()
        return [Token(*row) for row in Runtime(whole_json(self.data)).rows(sequence)]

    def get_trainer(self) -> Any:
        """A trainer for this kind of model."""
        from . import trainers

        return {
            "BPE": trainers.BpeTrainer,
            "Unigram": trainers.UnigramTrainer,
            "WordLevel": trainers.WordLevelTrainer,
        }.get(self.TYPE, trainers.WordPieceTrainer)()

    def save(self, folder: str, prefix: str | None = None, name: str | None = None) -> list[str]:
        """Writes the vocabulary, and merges if there are any."""
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


def vocab_field() -> Field:
    """The ids by token, also from the path of a JSON file or of one token a line."""

    def write(value: Any) -> Any:
        if value is None:
            return {}
        if isinstance(value, (str, os.PathLike)):
            return read_vocab(os.fspath(value))
        if not isinstance(value, Mapping):
            raise TypeError(f"vocab: expected a mapping of tokens to ids, not {type(value).__name__}")
        return dict(value)

    return field("vocab", None)._replace(write=write, read=dict)


def read_vocab(path: str) -> dict[str, int]:
    """The ids in a file."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.lstrip().startswith("{"):
        return dict(json.loads(text))
    return {line.rstrip("\r"): id for id, line in enumerate(text.split("\n")) if line}


def read_merges(value: Any) -> list[list[str]]:
    """Merges as pairs, also from the path of a file."""
    if value is None:
        return []
    if isinstance(value, (str, os.PathLike)):
        with open(value, encoding="utf-8") as file:
            value = [line.rstrip("\n") for line in file if line.strip() and not line.startswith("#version")]
    return [pair.split(" ") if isinstance(pair, str) else list(pair) for pair in value]


class BPE(Model):
    """Byte-pair encoding."""

    TYPE = "BPE"
    SAMPLES = ("cache_capacity",)
    FIELDS = (
        vocab_field(),
        field("merges", None)._replace(write=read_merges, read=lambda pairs: [tuple(pair) for pair in pairs]),
        field("dropout", None),
        field("unk_token", None),
        field("continuing_subword_prefix", None),
        field("end_of_word_suffix", None),
        field("fuse_unk", False),
        field("byte_fallback", False),
        field("ignore_merges", False),
    )
    ORDER = (
        "dropout",
        "unk_token",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "fuse_unk",
        "byte_fallback",
        "ignore_merges",
        "vocab",
        "merges",
    )

    def __init__(self, vocab: Any = None, merges: Any = None, **kwargs: Any) -> None:
        kwargs = {name: kwargs[name] for name in kwargs if kwargs[name] is not None or name in ("dropout", "unk_token")}
        super().__init__(vocab, merges, **kwargs)
        if (dropout := self.data["dropout"]) is not None and not 0 <= dropout <= 1:
            raise ValueError("Error while initializing BPE: Dropout should be between 0 and 1, inclusive")
        known = self.data["vocab"]
        skip = len(self.data["continuing_subword_prefix"] or "")
        for left, right in self.data["merges"]:
            for token in (left, right, left + right[skip:]):
                if token not in known:
                    raise ValueError(f"Error while initializing BPE: Token `{token}` out of vocabulary")

    @staticmethod
    def read_file(vocab: str, merges: str) -> tuple[dict[str, int], list[tuple[str, ...]]]:
        """The ids and merges in two files."""
        return read_vocab(vocab), [tuple(pair) for pair in read_merges(merges)]

    @classmethod
    def from_file(cls, vocab: str, merges: str, **kwargs: Any) -> BPE:
        """The model in two files."""
        return cls(vocab, merges, **kwargs)


class WordPiece(Model):
    """The longest token first, as in BERT."""

    TYPE = "WordPiece"
    ORDER = ("unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab")
    FIELDS = (
        vocab_field(),
        field("unk_token", "[UNK]"),
        field("max_input_chars_per_word", 100),
        field("continuing_subword_prefix", "##"),
    )

    @staticmethod
    def read_file(vocab: str) -> dict[str, int]:
        """The ids in a file."""
        return read_vocab(vocab)

    @classmethod
    def from_file(cls, vocab: str, **kwargs: Any) -> WordPiece:
        """The model in a file."""
        return cls(vocab, **kwargs)


class WordLevel(Model):
    """Whole pieces."""

    TYPE = "WordLevel"
    ORDER = ("vocab", "unk_token")
    FIELDS = (vocab_field(), field("unk_token", "<unk>"))

    def tokenize(self, sequence: str) -> list[Token]:
        """The ids of a piece; one without characters is unknown, as in the library."""
        if sequence:
            return super().tokenize(sequence)
        unknown = self.token_to_id(self.unk_token)
        if unknown is None:
            raise ValueError(f"the unknown token {self.unk_token!r} is not in the vocabulary; pass another unk_token")
        return [Token(unknown, self.unk_token, (0, 0))]

    @staticmethod
    def read_file(vocab: str) -> dict[str, int]:
        """The ids in a file."""
        return read_vocab(vocab)

    @classmethod
    def from_file(cls, vocab: str, unk_token: str = "<unk>") -> WordLevel:
        """The model in a file."""
        return cls(vocab, unk_token=unk_token)


def scored(value: Iterable[Any] | None) -> list[list[Any]]:
    """Tokens with their scores."""
    return [["<unk>", 0.0]] if value is None else [[token, float(score)] for token, score in value]


class Unigram(Model):
    """The most likely tokens."""

    TYPE = "Unigram"
    SAMPLES = ("alpha", "nbest_size")
    ORDER = ("unk_id", "vocab", "byte_fallback")
    FIELDS = (
        field("vocab", None)._replace(write=scored, read=lambda pairs: [tuple(pair) for pair in pairs]),
        field("unk_id", None),
        field("byte_fallback", False),
    )

    def __init__(
        self, vocab: Any = None, unk_id: int | None = None, byte_fallback: bool | None = None, **kwargs: Any
    ) -> None:
        super().__init__(vocab, 0 if vocab is None else unk_id, bool(byte_fallback), **kwargs)
        if unk_id is not None and vocab is not None and not 0 <= unk_id < len(self.data["vocab"]):
            raise ValueError("Error while loading Unigram: The `unk_id` is larger than vocabulary size")

    @property
    def ids(self) -> dict[str, int]:
        """The ids of its tokens, which are their places."""
        if "_ids" not in self.__dict__:
            self.__dict__["_ids"] = {token: id for id, (token, _) in enumerate(self.data["vocab"])}
        found: dict[str, int] = self.__dict__["_ids"]
        return found
