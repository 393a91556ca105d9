"""`tiktoken.core`: `Encoding`, with every method, keyword, attribute and error class of version 0.14."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import regex

from ..._base.arguments import check_int, check_items, check_texts
from ..._base.threads import cached_property, thread_count
from ..._formats.tiktoken import to_ranks
from ..._model.model import AddedToken, Model, TokenTable, regex_split
from ..._tokenizer.tokenizer import Tokenizer
from ...errors import InvalidOption, ToksmithError
from ._core_bpe import CoreBPE, any_of_pattern

__all__ = ["Encoding"]


All = Literal["all"]
ENDOFTEXT = "<|endoftext|>"


class Encoding:
    r"""A drop-in for `tiktoken.Encoding`.

    Args:
        name: The name in `repr`; different encodings should have different
            names.
        pat_str: The regex that splits texts.
        mergeable_ranks: The rank of each token, which is also its id.
        special_tokens: The ids of special tokens.
        explicit_n_vocab: The required number of tokens, with no hole among
            their ids.

    >>> from toksmith.compat import tiktoken
    >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256, b"low": 257}
    >>> enc = tiktoken.Encoding("low", pat_str=r"\w+|\W+", mergeable_ranks=ranks, special_tokens={"<|end|>": 258})
    >>> enc.encode("slow<|end|>", allowed_special="all")
    [115, 257, 258]
    """

    _by_name: Callable[[str], Encoding] | None = None  # finds this encoding by its name, if it has one

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        order = sorted(mergeable_ranks.items(), key=lambda item: check_int(item[1], "mergeable_ranks"))
        for _, rank in (*order[:1], *order[-1:]):  # the lowest and the highest
            if not 0 <= rank < 1 << 32:
                raise InvalidOption("mergeable_ranks", rank, "ranks from 0 to 2**32 - 1")
        for content, id in special_tokens.items():
            check_int(id, f"special_tokens: the id of {content!r}")
        model = Model(
            TokenTable.of([token for token, _ in order]),
            np.array([rank for _, rank in order], np.uint32),
            merge_rule="bytes",
            whole_piece=True,
            splitters=(regex_split(pat_str),),
            added_tokens=tuple(AddedToken(content, id) for content, id in special_tokens.items()),
        )
        self.name = name
        self._own(Tokenizer(model))
        self._mergeable_ranks = mergeable_ranks
        self._special_tokens = special_tokens
        if explicit_n_vocab:
            assert len(mergeable_ranks) + len(special_tokens) == explicit_n_vocab
            assert self.max_token_value == explicit_n_vocab - 1

    def _own(self, tok: Tokenizer) -> None:
        """Run on this tokenizer."""
        self._tokenizer = tok
        self._pat_str: str = tok.model.splitters[0]["pattern"]
        self._special_tokens = tok.special_tokens
        self._core_bpe = CoreBPE(tok)
        self.max_token_value = tok.vocab_size - 1

    @classmethod
    def of(cls, name: str, tok: Tokenizer) -> Encoding:
        """The encoding of a byte-level BPE with one regex, such as
        `toksmith.train` makes.

        Raises:
            ValueError: tiktoken cannot hold the tokenizer; its ids would differ.
        """
        model = tok.model
        plain = (model.kind, model.unit, len(model.splitters), model.normalizers) == ("bpe", "byte", 1, ())
        if not plain or not all(token.special for token in model.added_tokens):
            raise ValueError(
                f"{tok!r} is not a byte-level BPE with one split pattern; tiktoken cannot hold it, so use it directly"
            )
        ranked = to_ranks(model)
        if ranked is not model:
            tok = Tokenizer(replace(ranked, added_tokens=model.added_tokens))
        encoding = cls.__new__(cls)
        encoding.name = name
        encoding._own(tok)
        return encoding

    @cached_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        model = self._tokenizer.model
        return dict(zip(model.tokens, model.ids.tolist(), strict=True))

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text, in which special tokens are ordinary text."""
        return self._core_bpe.encode_ordinary(repair_surrogates(text))

    def encode(
        self,
        text: str,
        *,
        allowed_special: All | AbstractSet[str] = frozenset(),
        disallowed_special: All | Collection[str] = "all",
    ) -> list[int]:
        """The ids of a text.

        Args:
            allowed_special: The special tokens that become ids; "all"
                for all.
            disallowed_special: The texts that must not occur; "all" for the
                special tokens that are not allowed.
        Raises:
            ValueError: The text contains a disallowed special token.
        """
        allowed = self._checked(text, allowed_special, disallowed_special)
        return self._core_bpe.encode(repair_surrogates(text), allowed)

    def _checked(
        self, text: str, allowed_special: All | AbstractSet[str], disallowed_special: All | Collection[str]
    ) -> AbstractSet[str]:
        """The allowed special tokens, after a check for disallowed ones."""
        if not isinstance(text, str):
            raise TypeError(f"text: expected str, not {type(text).__name__}")
        allowed: Any = self.special_tokens_set if is_all_special(allowed_special) else allowed_special
        refused: Any = (
            self.special_tokens_set - set(allowed) if is_all_special(disallowed_special) else disallowed_special
        )
        if refused:
            contents = refused if isinstance(refused, str) else check_texts(refused, "disallowed_special")
            if match := any_of_pattern(frozenset(contents)).search(text):
                raise DisallowedToken(match[0])
        if not isinstance(allowed, AbstractSet):
            raise TypeError(f"allowed_special must be a set, not {type(allowed).__name__}")
        return allowed

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: All | AbstractSet[str] = frozenset(),
        disallowed_special: All | Collection[str] = "all",
    ) -> npt.NDArray[np.uint32]:
        """The ids of a text as a read-only array; see `encode`. Lone surrogates
        raise UnicodeEncodeError."""
        allowed = self._checked(text, allowed_special, disallowed_special)
        ids = self._core_bpe.engine(allowed).encode_array(text, "allow", "strict", None)
        ids.flags.writeable = False
        return ids

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """The ids of each text; see `encode_ordinary`."""
        engine = self._core_bpe.engine(frozenset())
        return engine.encode_batch(
            [repair_surrogates(each) for each in check_items(text, "text", "a list of str")],
            "text",
            "strict",
            thread_count(num_threads),
        )

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int = 8,
        allowed_special: All | AbstractSet[str] = frozenset(),
        disallowed_special: All | Collection[str] = "all",
    ) -> list[list[int]]:
        """The ids of each text; see `encode`."""
        texts = check_items(text, "text", "a list of str")
        allowed: AbstractSet[str] = frozenset()
        for each in texts:
            allowed = self._checked(each, allowed_special, disallowed_special)
        engine = self._core_bpe.engine(allowed)
        return engine.encode_batch(
            [repair_surrogates(each) for each in texts], "allow", "strict", thread_count(num_threads)
        )

    def encode_with_unstable(
        self,
        text: str,
        *,
        allowed_special: All | AbstractSet[str] = frozenset(),
        disallowed_special: All | Collection[str] = "all",
    ) -> tuple[list[int], list[list[int]]]:
        """The ids that no further text changes, and the ids that can follow
        them, in no particular order.

        Lone surrogates raise UnicodeEncodeError.
        """
        allowed = self._checked(text, allowed_special, disallowed_special)
        return self._core_bpe.encode_with_unstable(text, allowed)

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of one token, special tokens included.

        Raises:
            KeyError: The token is unknown.
        """
        return self._core_bpe.encode_single_token(token_bytes(text_or_bytes))

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of ids.

        Raises:
            KeyError: An id belongs to no token.
            OverflowError: An id is negative.
        """
        return self._core_bpe.decode_bytes(tokens)

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """The text of ids; `errors` as in `bytes.decode`."""
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of one id, special tokens included."""
        return self._core_bpe.decode_single_token_bytes(token)

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each id."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """The text of ids, and for each id the first character with bytes of
        it.

        Raises:
            UnicodeDecodeError: The bytes are not UTF-8.
        """
        parts = self.decode_tokens_bytes(tokens)
        offsets = []
        chars = 0
        for part in parts:
            continues = bool(part) and part[0] & 0xC0 == 0x80
            offsets.append(max(0, chars - continues))
            chars += sum(byte & 0xC0 != 0x80 for byte in part)
        return b"".join(parts).decode("utf-8", errors="strict"), offsets

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """The text of each sequence of ids."""
        return [data.decode("utf-8", errors) for data in self.decode_bytes_batch(batch, num_threads=num_threads)]

    def decode_bytes_batch(self, batch: Sequence[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """The bytes of each sequence of ids."""
        thread_count(num_threads)  # refuses an invalid number of threads
        return [self.decode_bytes(tokens) for tokens in batch]

    def token_byte_values(self) -> list[bytes]:
        """The ordinary tokens, sorted by their bytes."""
        return self._core_bpe.token_byte_values()

    @property
    def eot_token(self) -> int:
        """The id of `<|endoftext|>`."""
        return self._special_tokens[ENDOFTEXT]

    @cached_property
    def special_tokens_set(self) -> set[str]:
        """The special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Whether an id belongs to a special token."""
        assert isinstance(token, int)
        return token in self._special_ids

    @cached_property
    def _special_ids(self) -> frozenset[int]:
        return frozenset(self._special_tokens.values())

    @property
    def n_vocab(self) -> int:
        """The largest id + 1; see `max_token_value`."""
        return self.max_token_value + 1

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """The ids of one piece, without splitting."""
        return self._core_bpe.encode_single_piece(token_bytes(text_or_bytes))

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        """The ids of a text split by Python's `regex`, whose Unicode version can differ."""
        pieces = (match[0] for match in regex.compile(self._pat_str).finditer(text))
        return [id for piece in pieces for id in self._core_bpe.encode_single_piece(piece.encode())]

    def _encode_bytes(self, text: bytes) -> list[int]:
        """The ids of bytes that can be invalid UTF-8."""
        return self._core_bpe.encode_bytes(text)

    def __reduce__(self) -> tuple[Any, ...]:
        if self._by_name is not None:
            return self._by_name, (self.name,)
        options: dict[str, Any] = {"mergeable_ranks": self._mergeable_ranks, "special_tokens": self._special_tokens}
        return functools.partial(type(self), self.name, pat_str=self._pat_str, **options), ()


def is_all_special(value: Any) -> bool:
    """Whether a caller requests all special tokens; a set or an array is never compared with a text."""
    return isinstance(value, str) and value == "all"


def token_bytes(text_or_bytes: str | bytes) -> bytes:
    """The bytes of a token."""
    if not isinstance(text_or_bytes, (str, bytes)):
        raise TypeError(f"text_or_bytes: expected str or bytes, not {type(text_or_bytes).__name__}")
    return text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes


def repair_surrogates(text: str) -> str:
    """The text with surrogate pairs as the characters that they encode, and U+FFFD for lone surrogates."""
    if not isinstance(text, str):
        raise TypeError(f"text: expected str, not {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


class DisallowedToken(ToksmithError, ValueError):
    """A text holds a special token that the call disallows."""

    def __init__(self, token: str) -> None:
        super().__init__(token)
        self.token = token

    def __str__(self) -> str:
        token = self.token
        return (
            f"the text holds {token!r}, which disallowed_special forbids. To encode it as a special token, pass it to "
            f"`allowed_special`, as in `allowed_special={{{token!r}, ...}}`. To encode it as normal text, pass "
            f"`disallowed_special=(enc.special_tokens_set - {{{token!r}}})`. To disable the check for all special tokens, "
            f"pass `disallowed_special=()`."
        )
