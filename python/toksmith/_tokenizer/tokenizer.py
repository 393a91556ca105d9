"""Tokenizer: a model with its engine. Encoding, decoding and counting; one text, many texts, streams.

This module holds the defaults and the documentation of the arguments; the work is one call of the core each.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar, overload

import numpy as np

from .. import _core
from .._base import arguments
from .._base.arguments import advised, as_sequence, flag, items, whole_number
from .._base.errors import NotInVocabulary, UnknownId
from .._base.threads import thread_count
from .._model.model import AddedToken, Model
from .._model.post import template_of
from .._model.steps import engine_of
from . import arrays, boundaries, offsets, pieces, sampled, segments
from . import chat as _chat
from .stream import StreamEncoder

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from .marks import TrustedEncoder
    from .memory import MemoryUse
    from .results import Chunk, Encoding, Fit, Healing, Ragged, RaggedEncoding, StreamDecoder

__all__ = ["Special", "Text", "Tokenizer"]

Text = str | bytes
Some = TypeVar("Some", str, bytes)
Special = Literal["raise", "allow", "text"] | Collection[str]


class Tokenizer(_core.TextCalls):
    """Turns text into ids and back, as its model says. Immutable; safe to share
    between threads and across a fork.

    A text is a `str` or `bytes`; byte-level models encode bytes that are not
    UTF-8 losslessly. `special` says what happens to special tokens in the
    text: `"raise"` refuses them, `"allow"` turns them into their ids, `"text"`
    treats them as ordinary text, and a collection allows its members and
    refuses all others. Added tokens that their file does not call special
    are found whatever `special` says, as in the library of the file; for
    text of a stranger see `encode_segments`. `add_special_tokens` adds the
    special tokens of the model's template around each text (for example `<s>`
    before it). `errors` says what happens to lone surrogates in a `str`:
    `"replace"` makes them U+FFFD, `"strict"` raises UnicodeEncodeError.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> tok.encode("slow")
    [115, 257]
    >>> tok.decode([115, 257])
    'slow'
    """

    def __init__(self, model: Model, *, run_report: Mapping[str, Any] | None = None) -> None:
        self.model = model
        self.run_report: Mapping[str, Any] = dict(run_report or {})
        self._engine = engine_of(model)
        self._template = template_of(model)
        self._begin(self._engine)

    @overload  # first, because a str is an iterable of str as well
    def __call__(  # type: ignore[overload-overlap]
        self, text: Text, *, special: Special = "raise", errors: str = "replace"
    ) -> Encoding: ...
    @overload
    def __call__(
        self, text: Iterable[Text], *, special: Special = "raise", errors: str = "replace"
    ) -> RaggedEncoding: ...
    def __call__(
        self, text: Text | Iterable[Text], *, special: Special = "raise", errors: str = "replace"
    ) -> Encoding | RaggedEncoding:
        """The ids of a text, or of each text of a list, with the characters that each comes from.

        The result has the names of transformers too: `tok(text)["input_ids"]`, `["attention_mask"]`, `["offset_mapping"]`.
        Unlike there, a special token in the text is an error, and none is added around it.

        Returns: what `encode_with_offsets` returns; for a list, what `encode_ragged_with_offsets` does.
        Raises: as `encode`.

        >>> import toksmith
        >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
        >>> tok("slow"), tok(["slow", "low"])["input_ids"]
        (<Encoding 2 ids: [115, 257], characters [(0, 1), (1, 4)]>, [[115, 257], [257]])
        """
        if isinstance(text, (str, bytes)):
            return self.encode_with_offsets(text, special=special, errors=errors)
        return self.encode_ragged_with_offsets(
            arguments.texts(text, "text", "str, bytes or a list of them", (str, bytes)), special=special, errors=errors
        )

    # `encode` and `encode_array` are in the core, where short calls cost little; they call these for rare arguments.

    def _encode(
        self,
        text: Text,
        *,
        special: Special = "raise",
        errors: str = "replace",
        threads: int | None = None,
        add_special_tokens: bool = False,
    ) -> list[int]:
        try:
            ids = self._engine.encode(text, special, errors, threads if threads is None else thread_count(threads))
        except TypeError as error:
            raise advised(error, text) from None
        return ids if add_special_tokens is False else self._around(ids, add_special_tokens)

    def _encode_array(
        self,
        text: Text,
        *,
        special: Special = "raise",
        errors: str = "replace",
        threads: int | None = None,
        add_special_tokens: bool = False,
        dtype: DTypeLike = np.uint32,
    ) -> NDArray[Any]:
        ids = self._engine.encode_array(text, special, errors, threads if threads is None else thread_count(threads))
        put = add_special_tokens is not False and flag(add_special_tokens, "add_special_tokens")
        ids = self._template.around(ids, np.array([len(ids)], np.uint64))[0] if put else ids
        return ids if dtype is np.uint32 else ids.astype(arrays.fitting(dtype, ids), copy=False)

    @staticmethod
    def _told(error: BaseException, text: Text) -> BaseException:
        """An error of `encode`, with what the caller may do about it."""
        return advised(error, text) if isinstance(error, TypeError) else error

    _encode.__qualname__, _encode_array.__qualname__ = (
        "Tokenizer.encode",
        "Tokenizer.encode_array",
    )  # as Python's errors say

    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        special: Special = "raise",
        errors: str = "replace",
        threads: int | None = None,
        add_special_tokens: bool = False,
    ) -> list[list[int]]:
        """The ids of each text, in order.

        Args:
            threads: At least 1; None for all processors. The result does not
                depend on it.
        Raises: as `encode`, for the first text that cannot be encoded; the
            error's `index` is its position.
        """
        if arrays.is_column(texts):
            columns = self.encode_ragged(texts, special=special, errors=errors, threads=threads)
            lists = [ids.tolist() for ids in columns]
        else:
            lists = self._engine.encode_batch(as_sequence(texts), special, errors, thread_count(threads))
        return [self._template.apply(ids)[0] for ids in lists] if add_special_tokens else lists

    def encode_ragged(
        self,
        texts: Iterable[Text],
        *,
        special: Special = "raise",
        errors: str = "replace",
        threads: int | None = None,
        add_special_tokens: bool = False,
    ) -> Ragged:
        """The ids of many texts in one array, with the end of each.

        Args:
            texts: A list, or a column of Arrow (pyarrow, polars, pandas),
                whose texts are read without a Python object for each.
        Returns: `.ids` uint32, shape (n,); `.ends` uint64, shape (texts,).
        Raises: as `encode_batch`.
        """
        from .results import Ragged  # not above: tokenizers load sooner without it

        ids, ends = arrays.ragged_ids(self._engine, texts, special, errors, thread_count(threads))
        return Ragged(*(self._template.around(ids, ends) if add_special_tokens else (ids, ends)))

    def _around(self, ids: list[int], put: bool) -> list[int]:
        return self._template.apply(ids)[0] if flag(put, "add_special_tokens") else ids

    def post_process(self, ids: Sequence[int], pair: Sequence[int] | None = None) -> list[int]:
        """The ids of a text, or of two, with the special tokens of the model's
        template around them.

        A model without a template adds none, and the second text follows the
        first.
        """
        first = items(ids, "ids", "ids (integers)")
        return self._template.apply(first, None if pair is None else items(pair, "pair", "ids (integers)"))[0]

    encode_with_offsets = offsets.encode_with_offsets
    encode_ragged_with_offsets = offsets.encode_ragged_with_offsets
    encode_sampled = sampled.encode_sampled
    encode_best = sampled.encode_best

    encode_segments = segments.encode_segments
    chat = _chat.chat
    encode_padded = arrays.encode_padded
    session = pieces.session

    def encode_file(
        self,
        path: str | os.PathLike[str],
        *,
        separator: Text | None = None,
        threads: int | None = None,
        special: Special = "text",
    ) -> Ragged:
        r"""The ids of a text file, which is read and encoded in parts and never
        held completely.

        The bytes are encoded unchanged, UTF-8 or not (`.gz` is unpacked). With
        a pattern of `toksmith.patterns()`, one document is encoded on all
        processors; with another pattern each document is held completely.

        Args:
            separator: The text between documents, such as "\n\n"; it is not
                part of them, and at the end of the file it starts no further
                document. None: the file is one document.
            threads: At least 1; None for all processors. The result does not
                depend on it.
        Returns: `.ids` uint32, shape (n,); `.ends` uint64, shape (documents,).
        Raises:
            CorpusError: The file cannot be read, or changes while it is read.
            SpecialTokenInText, NotInVocabulary, PatternError, TextTooLong: as
            `encode`; offsets are bytes of the document, and `index` is the
            number of the document if there is a separator.
        Cost: memory for the ids and for a few MiB of text.
        """
        separator = arguments.text(separator, "separator") if isinstance(separator, str) else separator
        from .._corpus.encode_files import encoded_file  # imported on demand: it also reads files behind URLs
        from .results import Ragged

        count = thread_count(threads)
        return Ragged(*encoded_file(self._engine, path, separator=separator, special=special, threads=count))

    def count(self, text: Text, *, special: Special = "text", errors: str = "replace") -> int:
        """The number of ids of a text. Special tokens count as ordinary text
        unless `special` says otherwise."""
        return self._engine.count(text, special, errors)

    def count_batch(
        self,
        texts: Iterable[Text],
        *,
        special: Special = "text",
        errors: str = "replace",
        threads: int | None = None,
    ) -> NDArray[np.uint64]:
        """The number of ids of each text.

        Returns: uint64, shape (texts,).
        """
        return self._engine.count_batch(as_sequence(texts), special, errors, thread_count(threads))

    def truncate(self, text: Some, max_tokens: int, *, side: str = "right", special: Special = "text") -> Some:
        """The longest prefix that ends behind one of the text's first
        `max_tokens` ids and itself has no more ids.

        It never cuts a character. With a pattern of `toksmith.patterns()` and
        in a raw stream it encodes only as much of the text as it needs;
        otherwise it encodes all of it.

        Args:
            max_tokens: At least 0.
            side: The side to cut off; "left" gives the longest suffix that
                starts before one of the last `max_tokens` ids.
        Raises: as `encode`, for the encoded part; InvalidOption for another
            `side` or a negative number.

        >>> import toksmith
        >>> toksmith.train("low", merges=2, pattern=None).truncate("low ☀ low", 4)
        'low '
        """
        return boundaries.truncated(self._parts(special), text, max_tokens, side)

    def chunk(self, text: Some, max_tokens: int, *, overlap: int = 0, special: Special = "text") -> list[Chunk]:
        """The text in parts of at most `max_tokens` ids, each as long as
        `truncate` makes it.

        Args:
            max_tokens: At least 1, and enough for each character.
            overlap: The next chunk begins with at most this many ids of the
                chunk before; below `max_tokens`. Each chunk ends behind the
                one before it, so the overlap may be shorter.
        Returns: `.text`, `.start`, `.end`, `.ids` of each; without overlap the
            texts, joined, are the text.
        Raises: as `encode`; InvalidOption where a character has more ids than
            `max_tokens`.

        >>> import toksmith
        >>> tok = toksmith.train("low", merges=2, pattern=None)
        >>> [(chunk.text, chunk.start, chunk.ids) for chunk in tok.chunk("low☀", 3)]
        [('low', 0, [257]), ('☀', 3, [226, 152, 128])]
        """
        return boundaries.chunks(self._parts(special), text, max_tokens, overlap)

    def heal(self, text: Text, *, special: Special = "raise") -> Healing:
        """The part of a prompt that allows every continuation, and the tokens
        that continue it.

        A longer text often does not begin with the ids of the prompt: a space
        at the end would be part of the next token, and a word that continues
        is cut elsewhere. `heal` keeps the ids that later text cannot change,
        or as few more as possible, such that some token begins with the
        remaining bytes. It returns these bytes and tokens.

        Returns: `.ids`, `.rest`, `.continuations`, `.stable`; see `Healing`.
        Raises: as `encode`.

        >>> import toksmith
        >>> tok = toksmith.train("low lower lowest", vocab_size=300)
        >>> healing = tok.heal("low lo")
        >>> healing.rest, [tok.token_bytes(id) for id in healing.continuations]
        (b' lo', [b' low', b' lowe', b' lower', b' lowest'])
        """
        return boundaries.healed(self._parts(special), self._continuations, text)

    is_canonical = pieces.is_canonical
    first_drift = pieces.first_drift

    def decode(self, ids: Iterable[int], *, errors: str = "replace", skip_special_tokens: bool = False) -> str:
        """The text of ids.

        Args:
            ids: A list, array or iterable of integers.
            errors: What to do with bytes that are not UTF-8, as in
                `bytes.decode`: "replace", "strict", "ignore", …
            skip_special_tokens: Whether special tokens are left out.
        Raises:
            UnknownId: No token has one of the ids.
            UnicodeDecodeError: The bytes are not UTF-8, with
                `errors="strict"`.
        """
        try:
            if skip_special_tokens is not False and flag(skip_special_tokens, "skip_special_tokens"):
                ids = arrays.without_special(self.model, ids)
            return self._engine.decode(ids, errors)
        except TypeError as error:
            raise advised(error, ids) from None

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of ids, concatenated.

        Raises:
            UnknownId: No token has one of the ids.
        """
        return self._engine.decode_bytes(ids)

    def decode_batch(
        self, batch: Iterable[Iterable[int]], *, threads: int | None = None, errors: str = "replace"
    ) -> list[str]:
        """The text of each sequence of ids, in order; see `decode`."""
        return self._engine.decode_batch(batch, errors, thread_count(threads))

    def decoder(self, *, errors: str = "replace") -> StreamDecoder:
        """A decoder for ids that come one by one.

        >>> import toksmith
        >>> decoder = toksmith.train("low", merges=1, pattern=None).decoder()
        >>> [decoder.feed(byte) for byte in "☀".encode()]
        ['', '', '☀']
        """
        from .results import stream_decoder

        return stream_decoder(self._engine, self.model, errors)

    def encoder(self, *, special: Special = "text") -> StreamEncoder:
        """An encoder for text that comes in parts.

        >>> import toksmith
        >>> encoder = toksmith.train("low lower", vocab_size=260).encoder()
        >>> [encoder.feed(text) for text in ("lo", "w low", "er")], encoder.finish()
        ([[], [257], []], [258, 259])
        """
        return StreamEncoder(self._engine, special, boundaries.longest_added(self.model))

    def memory(self) -> MemoryUse:
        """What the tokenizer holds in memory, in bytes: its tables, and what it
        keeps for later calls.

        >>> import toksmith
        >>> tok = toksmith.train("low lower", 260)
        >>> tok.encode("low"), tok.memory().sessions
        ([257], 1)
        """
        from . import memory as _memory  # when asked for: it draws

        return _memory.memory_use(self.model, self._engine, self._continuations.made())

    def release(self) -> None:
        """Frees what the tokenizer keeps for later calls, and what the process
        keeps for its next large result. Later calls are slower for a while; no
        id changes.

        Calls that run in other threads keep what they use until they end.

        >>> import toksmith
        >>> tok = toksmith.train("low lower", 260)
        >>> ids = tok.encode("low")
        >>> tok.release()
        >>> tok.memory().sessions, tok.encode("low") == ids
        (0, True)
        """
        self._engine.release()
        self._continuations.release()
        self.__dict__.pop("_trusted_encoder", None)

    def _parts(self, special: Special) -> boundaries.PartEncoder:
        return boundaries.PartEncoder(self._engine, self.model, special)

    @cached_property
    def _marks(self) -> tuple[AddedToken, ...]:
        """The added tokens that only trusted text may spell."""
        from .marks import marks_of  # when a call trusts some text more than other text

        return tuple(marks_of(self.model))

    @cached_property
    def _trusted_encoder(self) -> TrustedEncoder:
        from .marks import TrustedEncoder

        return TrustedEncoder(self)

    @cached_property
    def _continuations(self) -> boundaries.Continuations:
        return boundaries.Continuations(self._engine, self.model)

    def token_bytes(self, id: int) -> bytes:
        """The bytes of one id, special tokens included.

        Raises: UnknownId, if no token has this id.
        """
        if type(id) is not int:
            try:
                id = whole_number(id, "id")
            except TypeError as error:
                raise advised(error, id) from None
        token = self._engine.token(id) if 0 <= id < self.vocab_size else None
        if token is None:
            raise UnknownId(id, None, self.vocab_size)
        return token

    def token_id(self, token: bytes | str) -> int:
        """The id of a token, special tokens included.

        Raises:
            NotInVocabulary: There is no such token.
        """
        content = token.encode("utf-8", "surrogatepass") if isinstance(token, str) else token
        found = self.model.vocab.id(content)
        if found is None:
            found = next((added.id for added in self.model.added_tokens if added.content.encode() == content), None)
        if found is None:
            raise NotInVocabulary(token)
        return found

    split = pieces.split

    def pattern_fits(self) -> Fit:
        """Whether the vocabulary fits the pattern: how many tokens that are UTF-8
        do not encode to themselves.

        A token that the pattern cuts is never emitted. If there are many, the
        vocabulary was trained with another pattern. A token with a mark (`▁`,
        `##`, `</w>`) is encoded where the mark says: at the start of a word,
        inside one, or at its end. The first call computes this.

        Cost: the time to encode the vocabulary, once.

        >>> import toksmith
        >>> print(toksmith.train("it's 2026", merges=2, pattern="cl100k").pattern_fits())
        each of 130 tokens encodes to itself
        """
        return self._fit

    @cached_property
    def _fit(self) -> Fit:
        from .pattern_fit import pattern_fit

        return pattern_fit(self.model)

    @cached_property
    def vocab_size(self) -> int:
        """The largest id + 1: ids lie in [0, vocab_size). It includes holes; `len` is the number of entries."""
        return self.model.vocab_size

    def __len__(self) -> int:
        own = set(self.model.ids.tolist())
        return len(own | {added.id for added in self.model.added_tokens})

    @property
    def special_tokens(self) -> dict[str, int]:
        """The special tokens' ids by content."""
        return self.model.special_tokens

    @cached_property
    def fingerprint(self) -> str:
        """The sha256 (hex) of everything that decides ids and bytes: equal tokenizers have equal fingerprints."""
        return self.model.fingerprint()

    def save(
        self, path: str | os.PathLike[str], *, format: str | None = None, allow_loss: Collection[str] = ()
    ) -> None:
        """Writes the tokenizer to a file, completely or not at all.

        Args:
            path: The file; its suffix selects the format unless `format` does
                (see `toksmith.formats()`).
            allow_loss: Names of model fields that may be left out if the
                format cannot hold them.
        Raises:
            CannotRepresent: The format has no room for a field that is not in
                `allow_loss`.
            FormatError: The file cannot be written.
        """
        from .. import _formats  # imported on demand: training and encoding do not need the readers of files

        _formats.write(self.model, path, format=format, allow_loss=allow_loss)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.model, dict(self.run_report))

    def __copy__(self) -> Tokenizer:
        return self

    def __deepcopy__(self, memo: object) -> Tokenizer:
        return self

    if not TYPE_CHECKING:  # which would believe that every name exists

        def __getattr__(self, name: str) -> NoReturn:
            from .._base.suggestions import OF_A_TOKENIZER, missing_attribute  # a table that only errors need

            raise missing_attribute(self, "a Tokenizer", name, OF_A_TOKENIZER)

    def __repr__(self) -> str:
        from . import view

        return view.line(self)

    def _repr_html_(self) -> str:
        from . import view  # when asked for: it draws

        return view.html(self)


def _rebuild(model: Model, run_report: Mapping[str, Any]) -> Tokenizer:
    return Tokenizer(model, run_report=run_report)
