r"""minbpe's interface: `BasicTokenizer`, `RegexTokenizer`, `GPT4Tokenizer` and its helpers, on toksmith's engine.

`from toksmith.compat import minbpe` replaces `import minbpe`. Differences: text that the pattern does not match is a
separate piece here, and minbpe drops it; a loaded model splits by the pattern of its file, where minbpe keeps the
pattern that the tokenizer was constructed with; patterns are in the Rust dialect, with the classes of Unicode 16; a
file cannot hold a special token with a space, and is written as UTF-8 on every platform.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Collection, Mapping, Sequence
from typing import cast

import numpy as np

from .. import _formats
from .._base.arguments import check_items
from .._formats import FORMATS
from .._formats.minbpe import render_token, replace_control_characters, vocab_text
from .._model.model import AddedToken, Model, TokenTable
from .._model.patterns import UNSET, patterns, splitters
from .._sources.encodings import load_published
from .._storage.atomic_files import write_file, write_files
from .._tokenizer.tokenizer import Tokenizer as Engine
from .._training import train

__all__ = [
    "BasicTokenizer",
    "GPT4Tokenizer",
    "RegexTokenizer",
    "Tokenizer",
    "get_stats",
    "merge",
    "render_token",
    "replace_control_characters",
]


def __dir__() -> list[str]:
    return [*__all__]


Pair = tuple[int, int]
Allowed = str | Collection[str]

GPT2_SPLIT_PATTERN = patterns()["gpt2_original"].regexes[0]
GPT4_SPLIT_PATTERN = patterns()["cl100k_minbpe"].regexes[0]


def get_stats(ids: list[int], counts: dict[Pair, int] | None = None) -> dict[Pair, int]:
    """The number of occurrences of each pair of neighbours in a list, added
    to `counts` if given.

    >>> get_stats([1, 2, 3, 1, 2])
    {(1, 2): 2, (2, 3): 1, (3, 1): 1}
    """
    counts = {} if counts is None else counts
    for pair in itertools.pairwise(ids):
        counts[pair] = counts.get(pair, 0) + 1
    return counts


def merge(ids: list[int], pair: Pair, idx: int) -> list[int]:
    """The list with `idx` in place of each occurrence of a pair, from the left.

    >>> merge([1, 2, 3, 1, 2], (1, 2), 4)
    [4, 3, 4]
    """
    ids, merged, at = list(check_items(ids, "ids", "a list of int")), [], 0
    while at < len(ids):
        matches = (*ids[at : at + 2],) == pair
        merged.append(idx if matches else ids[at])
        at += 2 if matches else 1
    return merged


class Tokenizer:
    """The common part of the three tokenizers.

    Attributes:
        merges: The id of each merged pair, in the order in which training
            found them.
        pattern: The regex that splits texts; "" for none.
        special_tokens: The id of each special token.
        vocab: The bytes of each id.
    """

    def __init__(self) -> None:
        self.merges: dict[Pair, int] = {}
        self.pattern = ""
        self.special_tokens: dict[str, int] = {}
        self.vocab = self._build_vocab()
        self._engine: tuple[dict[Pair, int], int, str, Engine] | None = None

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:
        """Learn merges from a text, until there are `vocab_size` tokens.

        Ties go to the pair that comes first in the current text.

        Raises:
            AssertionError: `vocab_size` is below 256.
            ValueError: No pair is left to merge before that size.
        """
        raise NotImplementedError

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        raise NotImplementedError

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; bytes that are not UTF-8 become U+FFFD."""
        raise NotImplementedError

    def save(self, file_prefix: str | os.PathLike[str]) -> None:
        """Write `file_prefix.model`, which `load` reads, and
        `file_prefix.vocab` for people."""
        model, vocab = cast("tuple[bytes, bytes]", FORMATS["minbpe"].save(self._model()))
        prefix = os.fspath(file_prefix)
        write_files([(prefix + ".model", model), (prefix + ".vocab", vocab)])

    def load(self, model_file: str | os.PathLike[str]) -> None:
        """Take the merges, pattern and special tokens of a `.model` file.

        Raises:
            AssertionError: The file name does not end in .model.
            FormatError: The file is not a minbpe model.
        """
        assert os.fspath(model_file).endswith(".model")
        model = _formats.read_model(model_file, format="minbpe", pattern=UNSET)
        self.merges = merges_of(model)
        self.pattern = model.splitters[0]["pattern"] if model.splitters else ""
        self.special_tokens = dict(model.special_tokens)
        self.vocab = self._build_vocab()

    def _build_vocab(self) -> dict[int, bytes]:
        return vocab_from_merges(self.merges) | {id: content.encode() for content, id in self.special_tokens.items()}

    def _model(self, special: bool = True) -> Model:
        """The model of the current merges."""
        vocab = vocab_from_merges(self.merges)
        tokens = self.special_tokens.items() if special else ()
        return Model(
            TokenTable.of(vocab.values()),
            np.array(list(vocab), np.uint32),
            merges=np.array([(*pair, id) for pair, id in self.merges.items()], np.uint32),
            splitters=splitters(self.pattern or None),
            added_tokens=tuple(AddedToken(content, id) for content, id in tokens),
        )

    def _current_engine(self) -> Engine:
        """The engine for the current merges and pattern, without special tokens."""
        cached = self._engine
        if cached is None or cached[0] is not self.merges or cached[1:3] != (len(self.merges), self.pattern):
            self._engine = cached = (self.merges, len(self.merges), self.pattern, Engine(self._model(special=False)))
        return cached[3]

    def _learn(self, text: str, vocab_size: int, verbose: bool) -> None:
        assert vocab_size >= 256
        target = vocab_size - 256
        text.encode()  # a lone surrogate is an error
        tok = train([text], merges=target, pattern=self.pattern or None, ties="first_seen", progress=False)
        learnt = merges_of(tok.model)
        if len(learnt) < target:
            raise ValueError(
                f"no pair is left to merge; merges so far: {len(learnt)}, but vocab_size requires {target}"
            )
        self.merges, self.vocab = learnt, vocab_from_merges(learnt)
        if verbose and tok.model.training is not None:
            rows = zip(learnt.items(), tok.model.training.counts.tolist(), strict=True)
            for number, ((pair, id), count) in enumerate(rows, 1):
                print(f"merge {number}/{target}: {pair} -> {id} ({self.vocab[id]!r}) had {count} occurrences")


def vocab_from_merges(merges: Mapping[Pair, int]) -> dict[int, bytes]:
    """The bytes of each id: single bytes, and the results of merges."""
    vocab = {byte: bytes([byte]) for byte in range(256)}
    for (left, right), id in merges.items():
        vocab[id] = vocab[left] + vocab[right]
    return vocab


def merges_of(model: Model) -> dict[Pair, int]:
    """The id of each merged pair of a model, in rank order."""
    return {(left, right): id for left, right, id in model.merges.tolist()}


class BasicTokenizer(Tokenizer):
    """Byte-pair encoding of whole texts.

    >>> tok = BasicTokenizer()
    >>> tok.train("aaabdaaabac", 256 + 3)
    >>> tok.encode("aaabdaaabac"), tok.decode([258, 100])
    ([258, 100, 258, 97, 99], 'aaabd')
    """

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:
        """See `Tokenizer.train`."""
        self._learn(text, vocab_size, verbose)

    def encode(self, text: str) -> list[int]:
        """The ids of a text."""
        return self._current_engine().encode(text, special="text", errors="strict")

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; KeyError for an unknown id."""
        return b"".join(self.vocab[id] for id in ids).decode("utf-8", errors="replace")


class RegexTokenizer(Tokenizer):
    """Byte-pair encoding of the matches of a regex, with special tokens.

    Args:
        pattern: The regex; None for GPT-4's.

    >>> tok = RegexTokenizer()
    >>> tok.register_special_tokens({"<|end|>": 300})
    >>> tok.encode("a<|end|>", allowed_special="all")
    [97, 300]
    """

    def __init__(self, pattern: str | None = None) -> None:
        super().__init__()
        self.pattern = GPT4_SPLIT_PATTERN if pattern is None else pattern
        self.inverse_special_tokens: dict[int, str] = {}

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:
        """See `Tokenizer.train`; no merge crosses a piece."""
        self._learn(text, vocab_size, verbose)

    def load(self, model_file: str | os.PathLike[str]) -> None:
        """See `Tokenizer.load`; the pattern of the file replaces the
        tokenizer's."""
        super().load(model_file)
        self.inverse_special_tokens = {id: content for content, id in self.special_tokens.items()}

    def register_special_tokens(self, special_tokens: Mapping[str, int]) -> None:
        """Set the special tokens: ids by content."""
        self.special_tokens = dict(special_tokens)
        self.inverse_special_tokens = {id: content for content, id in special_tokens.items()}

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text, in which special tokens are ordinary text."""
        return self._current_engine().encode(text, special="text", errors="strict")

    def encode(self, text: str, allowed_special: Allowed = "none_raise") -> list[int]:
        """The ids of a text.

        Args:
            allowed_special: The special tokens to recognize: "all", "none", a
                set of them, or "none_raise", with which a text must contain
                none.
        Raises:
            AssertionError: The text contains a special token, with
                "none_raise".
            ValueError: `allowed_special` is another value.
        """
        if allowed_special == "all":
            special = self.special_tokens
        elif allowed_special == "none":
            special = {}
        elif allowed_special == "none_raise":
            special = {}
            assert all(token not in text for token in self.special_tokens)
        elif isinstance(allowed_special, (set, frozenset)):
            special = {content: id for content, id in self.special_tokens.items() if content in allowed_special}
        else:
            shown_value = repr(allowed_special) if isinstance(allowed_special, str) else type(allowed_special).__name__
            raise ValueError(f"allowed_special: expected 'all', 'none', 'none_raise' or a set, not {shown_value}")
        if not special:
            return self.encode_ordinary(text)
        ids: list[int] = []
        for part in re.split("(" + "|".join(map(re.escape, special)) + ")", text):
            ids += [special[part]] if part in special else self.encode_ordinary(part)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; ValueError for an unknown id."""
        parts = []
        for id in ids:
            if id in self.vocab:
                parts.append(self.vocab[id])
            elif id in self.inverse_special_tokens:
                parts.append(self.inverse_special_tokens[id].encode())
            else:
                raise ValueError(f"invalid token id: {id}")
        return b"".join(parts).decode("utf-8", errors="replace")


class GPT4Tokenizer(RegexTokenizer):
    """GPT-4's tokenizer: the merges of the published encoding `cl100k_base`,
    which is downloaded if it is not cached.

    The ids of single bytes are permuted (`byte_shuffle`), and tokens in
    `vocab` are in permuted bytes, as in minbpe.
    """

    def __init__(self) -> None:
        super().__init__(pattern=GPT4_SPLIT_PATTERN)
        model = load_published("cl100k_base")
        self.merges = {(left, right): id for left, right, id in model.vocab.recover_merges().tolist()}
        ids = {token: id for token, id in zip(model.tokens, model.ids.tolist(), strict=True) if len(token) == 1}
        self.byte_shuffle = {byte: ids[bytes([byte])] for byte in range(256)}
        self.inverse_byte_shuffle = {id: byte for byte, id in self.byte_shuffle.items()}
        self.vocab = self._build_vocab()
        self._own = Engine(model)
        self.register_special_tokens(model.special_tokens)

    def train(self, text: str, vocab_size: int, verbose: bool = False) -> None:
        """Not available: the tokenizer is trained already."""
        raise NotImplementedError

    def save(self, file_prefix: str | os.PathLike[str]) -> None:
        """Not available: minbpe's files cannot hold permuted bytes. See
        `toksmith.convert` for other formats."""
        raise NotImplementedError("GPT4Tokenizer cannot be saved.")

    def load(self, model_file: str | os.PathLike[str]) -> None:
        """Not available: the tokenizer is loaded already."""
        raise NotImplementedError("GPT4Tokenizer cannot be loaded.")

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text, in which special tokens are ordinary text."""
        return self._own.encode(text, special="text", errors="strict")

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; KeyError for an unknown id or a special
        token."""
        shuffled = b"".join(self.vocab[id] for id in ids)
        return bytes(self.inverse_byte_shuffle[byte] for byte in shuffled).decode("utf-8", errors="replace")

    def save_vocab(self, vocab_file: str | os.PathLike[str]) -> None:
        """Write a readable list of the tokens."""
        token_bytes = {id: bytes(self.inverse_byte_shuffle[byte] for byte in token) for id, token in self.vocab.items()}
        merges = [(left, right, id) for (left, right), id in self.merges.items()]
        write_file(vocab_file, vocab_text(merges, token_bytes).encode())
