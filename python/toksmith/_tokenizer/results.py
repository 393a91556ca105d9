"""The results of a tokenizer's calls that are not plain lists: encodings, ragged batches, streaming decoders."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from threading import Lock
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._base.threads import one_call_at_a_time
from .._base.wording import number_of, preview_items, quote_value
from .._model.model import BYTE_TOKENS
from .._model.steps import character_options
from ..errors import InvalidOption, UnknownName

if TYPE_CHECKING:
    from .._model.model import Model, Step
    from .._render import View

__all__ = [
    "Chunk",
    "Encoding",
    "Fit",
    "Healing",
    "Padded",
    "Ragged",
    "RaggedEncoding",
    "StreamDecoder",
    "counts_characters",
    "pad_rows",
    "stream_decoder",
]

FIELDS = ("input_ids", "attention_mask", "offset_mapping")  # transformers' names for the ids, ones, and the ranges
UNITS = {"char": "character", "byte": "byte"}
MOST_TEXTS = 50  # texts of a batch that a notebook shows


@dataclass(frozen=True, eq=False, repr=False)
class Ragged:
    """The ids of many texts in one array: text i has `ids[ends[i - 1]:ends[i]]`,
    which is `ragged[i]`.

    Attributes:
        ids: uint32, shape (n,).
        ends: uint64, shape (texts,), ascending; the last is n.
        mask: uint8, shape (n,), of `Tokenizer.encode_chats`: 1 for text of
            the assistant; None for other texts.
    """

    ids: NDArray[np.uint32]
    ends: NDArray[np.uint64]
    mask: NDArray[np.uint8] | None = None

    @staticmethod
    def joined(parts: Sequence[Ragged]) -> Ragged:
        """The texts of all parts, with masks."""
        before = accumulate((len(part.ids) for part in parts), initial=0)
        ends = [part.ends + np.uint64(first) for part, first in zip(parts, before, strict=False)]
        masks = [part.mask for part in parts if part.mask is not None]
        return Ragged(np.concatenate([part.ids for part in parts]), np.concatenate(ends), np.concatenate(masks))

    def __len__(self) -> int:
        return len(self.ends)

    def to_arrow(self) -> Any:
        """A column of Arrow, `list<uint32>`, that shares the ids; needs the extra
        `parquet`. With 2**31 ids or more it is a `large_list<uint32>`.
        """
        try:
            import pyarrow as arrow
        except ImportError:
            raise ImportError("columns of Arrow need pyarrow: pip install 'toksmith[parquet]'") from None
        small = len(self.ids) < 1 << 31
        offsets = np.concatenate([[0], self.ends]).astype(np.int32 if small else np.int64)
        lists = arrow.ListArray if small else arrow.LargeListArray
        return lists.from_arrays(arrow.array(offsets), arrow.array(self.ids))

    def __getitem__(self, index: int) -> NDArray[np.uint32]:
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {quote_value(index)} is out of range; it has {number_of(len(self), 'text')}")
        place = range(len(self))[index]
        start = int(self.ends[place - 1]) if place else 0
        return self.ids[start : int(self.ends[place])]

    def __iter__(self) -> Iterator[NDArray[np.uint32]]:
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        texts = [preview_items(ids) for ids in first_texts(self, 4)]
        return f"<Ragged {number_of(len(self), 'text')}, {number_of(len(self.ids), 'id')}: {bracket_texts(texts, len(self))}>"

    def _repr_html_(self) -> str:
        from .._render import Table, View, notebook  # imported on demand: it imports rich

        rows = [
            [str(place), f"{len(ids):,}", preview_items(ids, 20)[1:-1]] for place, ids in enumerate(first_texts(self))
        ]
        title = f"{number_of(len(self), 'text')}, {number_of(len(self.ids), 'id')}"
        return notebook(View(title, [Table(["text", "ids", "the first"], rows, left=(2,)), *hidden_texts_line(self)]))


@dataclass(frozen=True, eq=False, repr=False)
class Padded:
    """The ids of many texts as one matrix, with a mask.

    Attributes:
        ids: Shape (texts, length).
        mask: uint8, shape (texts, length): 1 for ids of the text, 0 for
            padding.

    Both are arrays of numpy: `torch.from_dlpack(padded.ids)` and
    `jax.dlpack.from_dlpack(padded.ids)` take them without copying. The names
    of transformers work too: `padded["input_ids"]`, `["attention_mask"]`.
    """

    ids: NDArray[Any]
    mask: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.ids)

    def keys(self) -> tuple[str, ...]:
        """The names that `padded[name]` takes, so that `dict(padded)` works."""
        return ("input_ids", "attention_mask")

    def __getitem__(self, name: str) -> NDArray[Any]:
        array = {"input_ids": self.ids, "attention_mask": self.mask}.get(name)
        if array is None:
            raise UnknownName("field of a Padded", name, self.keys())
        return array

    def __repr__(self) -> str:
        rows, length = self.ids.shape
        return f"<Padded {number_of(rows, 'text')} of {number_of(length, 'id')}, {self.ids.dtype}>"


@dataclass(frozen=True, eq=False, repr=False)
class Encoding:
    """The ids of a text, each with its range: id i encodes
    `text[starts[i]:ends[i]]`.

    With `unit="byte"` the ranges partition the text as UTF-8: each starts
    where the previous one ends, and only text that a normalizer added has an
    empty range. With `unit="char"` ranges are widened to whole characters, so
    ids that share a character have the same range.

    Attributes:
        ids: uint32, shape (n,).
        starts: int64, shape (n,), ascending.
        ends: int64, shape (n,), ascending.
        unit: The unit of `starts` and `ends`: "char" or "byte".

    The names of transformers work too: `encoding["input_ids"]`,
    `["attention_mask"]` and `["offset_mapping"]` are lists.
    """

    ids: NDArray[np.uint32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    unit: str
    _token: Callable[[int], bytes | None] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Start and end of each id."""
        return list(zip(self.starts.tolist(), self.ends.tolist(), strict=True))

    def keys(self) -> tuple[str, ...]:
        """The names that `encoding[name]` takes, so that `dict(encoding)` works."""
        return FIELDS

    def __getitem__(self, name: str) -> list[Any]:
        if name not in FIELDS:
            raise UnknownName("field of an Encoding", name, FIELDS)
        ids = self.ids.tolist()
        return ids if name == "input_ids" else [1] * len(ids) if name == "attention_mask" else self.spans

    def __iter__(self) -> Iterator[int]:
        return iter(self.ids.tolist())

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoding, (self.ids, self.starts, self.ends, self.unit)  # without the engine

    def __repr__(self) -> str:
        spans = preview_items(self.spans)
        return f"<Encoding {number_of(len(self), 'id')}: {preview_items(self.ids)}, {UNITS[self.unit]}s {spans}>"

    def _repr_html_(self) -> str:
        from .._render import notebook  # imported on demand: it imports rich

        return notebook(self.view())

    def view(self) -> View:
        """The view: the tokens with their ids, and the range of each as a
        tooltip."""
        from .._render import Table, TokenText, TokenView, View

        title = f"{number_of(len(self), 'id')}, {number_of(int(self.ends[-1]) if len(self) else 0, UNITS[self.unit])}"
        if self._token is None:
            rows = [[str(id), str(start), str(end)] for id, (start, end) in zip(self, self.spans, strict=True)]
            return View(title, [Table(["id", "starts", "ends"], rows, left=())])
        tokens = [TokenView(id, self._token(id) or b"") for id in self]
        titles = [
            f"id {id}: {UNITS[self.unit]}s {start} to {end}" for id, (start, end) in zip(self, self.spans, strict=True)
        ]
        return View(title, [TokenText(tokens, ids=True, titles=titles)])


@dataclass(frozen=True, eq=False, repr=False)
class RaggedEncoding:
    """The encodings of many texts in shared arrays: text i has the ids from
    `text_ends[i - 1]` to `text_ends[i]`, `ragged[i]`.

    Attributes:
        ids: uint32, shape (n,).
        starts: int64, shape (n,); from 0 in each text.
        ends: int64, shape (n,).
        text_ends: uint64, shape (texts,), ascending; the last is n.
        unit: The unit of `starts` and `ends`: "char" or "byte".
    """

    ids: NDArray[np.uint32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    text_ends: NDArray[np.uint64]
    unit: str
    _token: Callable[[int], bytes | None] | None = field(default=None, repr=False)

    def __len__(self) -> int:
        return len(self.text_ends)

    def keys(self) -> tuple[str, ...]:
        """The names that `ragged[name]` takes: lists with one list for each text;
        see `Encoding`."""
        return FIELDS

    @overload
    def __getitem__(self, index: int) -> Encoding: ...
    @overload
    def __getitem__(self, index: str) -> list[list[Any]]: ...
    def __getitem__(self, index: int | str) -> Encoding | list[list[Any]]:
        if isinstance(index, str):
            if index not in FIELDS:
                raise UnknownName("field of a RaggedEncoding", index, FIELDS)
            return [one[index] for one in self]
        place = range(len(self))[index]
        own = slice(int(self.text_ends[place - 1]) if place else 0, int(self.text_ends[place]))
        return Encoding(self.ids[own], self.starts[own], self.ends[own], self.unit, self._token)

    def __iter__(self) -> Iterator[Encoding]:
        return (self[index] for index in range(len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return RaggedEncoding, (self.ids, self.starts, self.ends, self.text_ends, self.unit)  # without the engine

    def __repr__(self) -> str:
        texts = [preview_items(encoding.ids) for encoding in first_texts(self, 4)]
        size = f"{number_of(len(self), 'text')}, {number_of(len(self.ids), 'id')}"
        return f"<RaggedEncoding {size}: {bracket_texts(texts, len(self))}>"

    def _repr_html_(self) -> str:
        from .._render import Line, View, notebook  # imported on demand: it imports rich

        title = f"{number_of(len(self), 'text')}, {number_of(len(self.ids), 'id')}"
        blocks = [block for one in first_texts(self) for block in (Line(one.view().title, "dim"), *one.view().blocks)]
        return notebook(View(title, [*blocks, *hidden_texts_line(self)]))


def first_texts(batch: Any, most: int = MOST_TEXTS) -> list[Any]:
    """The first texts of a batch."""
    return [batch[place] for place in range(min(most, len(batch)))]


def bracket_texts(texts: list[str], total: int) -> str:
    """Some texts of a batch, in brackets."""
    return f"[{', '.join([*texts, '…'] if total > len(texts) else texts)}]"


def hidden_texts_line(batch: Any) -> list[Any]:
    """The line below a view that does not show all texts."""
    from .._render import Line

    return [Line(f"showing {MOST_TEXTS} of {len(batch):,} texts", "dim")] if len(batch) > MOST_TEXTS else []


@dataclass(frozen=True)
class Chunk:
    """A part of a text: `text == whole[start:end]`.

    Attributes:
        text: The part, in the type of the text: `str` or `bytes`.
        start: Where it starts: a character of a `str`, a byte of `bytes`.
        end: Where it ends.
        ids: Its ids, encoded as a separate text.
    """

    text: str | bytes
    start: int
    end: int
    ids: list[int]


@dataclass(frozen=True, eq=False, repr=False)
class Healing:
    """A prompt, cut back to a place that allows every continuation.

    Attributes:
        ids: The ids of the beginning of the prompt.
        rest: The bytes of the prompt after these ids; empty if nothing was
            cut off.
        continuations: The ids of all ordinary tokens that begin with `rest`:
            uint32, ascending.
        stable: Whether no text after the prompt can change `ids`; False if
            `rest` would need to be longer than any token that begins with it.
    """

    ids: list[int]
    rest: bytes
    continuations: NDArray[np.uint32]
    stable: bool

    def __repr__(self) -> str:
        size = number_of(len(self.continuations), "continuation")
        last = f"ids={preview_items(self.ids)}, rest={self.rest!r}, {size} {preview_items(self.continuations)}"
        return f"<Healing {last}, stable={self.stable}>"


@dataclass(frozen=True)
class Fit:
    """How well a vocabulary fits the pattern that splits its texts; made by
    `Tokenizer.pattern_fits`.

    Attributes:
        tokens: The number of encoded tokens: all that are UTF-8, without added
            tokens and the byte tokens of a fallback.
        misfits: The number of them that do not encode to themselves. About 0
            with the pattern of the training.
        examples: Some misfits as (id, token), the lowest ids first.
    """

    tokens: int
    misfits: int
    examples: tuple[tuple[int, bytes], ...]

    def __bool__(self) -> bool:
        return self.misfits == 0

    def __str__(self) -> str:
        if self:
            return f"each of {self.tokens} tokens encodes to itself"
        examples = ", ".join(repr(token.decode()) for _, token in self.examples)
        return f"{self.misfits} of {self.tokens} tokens do not encode to themselves, such as {examples}"


class StreamDecoder:
    """Decodes a stream of ids; made by `Tokenizer.decoder`.

    `feed` returns the characters that no later id can change. It holds back
    the bytes of an incomplete character, so a stream of valid UTF-8 never
    shows U+FFFD, wherever its tokens end. One call at a time can use it: a
    concurrent call raises RuntimeError.
    """

    def __init__(
        self,
        decode_more: Callable[[Iterable[int], bool], tuple[bytes, bool]],
        errors: str,
        rest: Callable[[], bytes] = bytes,
    ) -> None:
        try:
            codecs.lookup_error(errors)
        except (LookupError, ValueError):  # ValueError: a zero byte or lone surrogates
            raise InvalidOption("errors", errors, "a name that bytes.decode knows: 'replace', 'strict', …") from None
        self._decode_more, self._rest = decode_more, rest
        self._fresh = True
        self._characters = codecs.getincrementaldecoder("utf-8")(errors)
        self._free, self._what = Lock(), "decoder"

    @one_call_at_a_time
    def feed(self, ids: Iterable[int] | int) -> str:
        """The text that these ids complete and that was not returned before.

        Args:
            ids: One id or several.
        Returns: zero or more whole characters.
        Raises:
            UnknownId: No token has one of the ids; the decoder is unchanged.
        """
        id_list = [ids] if isinstance(ids, (int, np.integer)) else ids
        decoded, self._fresh = self._decode_more(id_list, self._fresh)
        return self._characters.decode(decoded)

    @one_call_at_a_time
    def finish(self) -> str:
        """The text of the bytes that were held back; the decoder then starts
        again.

        Returns: "" if the stream ended with a whole character; otherwise the
            rest, decoded with `errors`.
        """
        rest = self._characters.decode(self._rest(), final=True)
        self._characters.reset()
        self._fresh = True
        return rest


REPLACEMENT = "\ufffd".encode()
LOCAL = {"byte_characters", "byte_fallback", "fuse", "strip", "metaspace", "word_end", "wordpiece", "spaced"}
CONTEXT = 16  # ids


class DecodeAtEnd:
    """Decodes a stream of ids at its end, for a model whose denormalizer can rewrite the whole text."""

    def __init__(self, decode: Callable[[list[int]], bytes]) -> None:
        self._decode = decode
        self._ids: list[int] = []

    def more(self, ids: Iterable[int], fresh: bool) -> tuple[bytes, bool]:
        """No bytes yet, and False: the stream is no longer fresh."""
        self._ids = [*([] if fresh else self._ids), *ids]
        return b"", False

    def rest(self) -> bytes:
        """All bytes; the stream starts again."""
        ids, self._ids = self._ids, []
        return self._decode(ids)


class DecodeFromStart:
    """Decodes a stream of ids from its start each time, for a model whose steps need all tokens together.

    Bytes are settled if another token does not change them. `breaker` is the token that changes most: a byte that
    makes the bytes before it invalid UTF-8, or any token if the model has no byte tokens. If the steps are local, the
    last tokens decide how the stream goes on, and the others are dropped. No byte of a run of `byte_ids` is settled
    before the run ends.
    """

    def __init__(
        self, decode: Callable[[list[int]], bytes], breaker: int | None, local: bool, byte_ids: Collection[int] = ()
    ) -> None:
        self._decode, self._local, self._byte_ids = decode, local, byte_ids
        self._breaker = [] if breaker is None else [breaker]
        self._ids: list[int] = []
        self._sent = b""

    def more(self, ids: Iterable[int], fresh: bool) -> tuple[bytes, bool]:
        """The bytes that these ids settle, and False: the stream is no longer fresh."""
        if fresh:
            self._ids, self._sent = [], b""
        new = [*ids]
        if self._ids and self._ids[-1] in self._byte_ids and all(id in self._byte_ids for id in new):
            self._ids += new
            return b"", False
        longer = self._ids + new
        now, then = self._decode(longer), self._decode(longer + self._breaker)
        self._ids = longer
        end = next((at for at, (a, b) in enumerate(zip(now, then, strict=False)) if a != b), min(len(now), len(then)))
        settled = now[:end]
        while settled.endswith(REPLACEMENT):  # later bytes can complete the character
            settled = settled[: -len(REPLACEMENT)]
        if not settled.startswith(self._sent):
            return b"", False
        before, self._sent = self._sent, settled
        last = longer[-CONTEXT:]
        if self._local and settled == now and len(longer) > 2 * CONTEXT and (sent := self._decode(last)):
            self._ids, self._sent = last, sent
        return settled[len(before) :], False

    def rest(self) -> bytes:
        """The bytes that were not returned yet; the stream starts again."""
        ids, before, self._ids, self._sent = self._ids, self._sent, [], b""
        return self._decode(ids)[len(before) :] if ids else b""


def is_local(step: Step) -> bool:
    """Whether a decoder rewrites a token without regard to tokens far from it, if the text before is not empty."""
    options = dict(step.options)
    single = options.get("dialect") == "literal" and len(str(options["pattern"])) == 1
    return single if step.kind == "replace" else step.kind in LOCAL


def stream_decoder(engine: _core.Engine, model: Model, errors: str) -> StreamDecoder:
    """The streaming decoder for a model."""
    if any(step.kind == "denormalizer" for step in model.decoders):
        decoder = DecodeAtEnd(engine.decode_bytes)
        return StreamDecoder(decoder.more, errors, decoder.rest)
    if not model.decoders or character_options(model):
        return StreamDecoder(engine.decode_more, errors)
    breakers = (id for token in (b"<0xFF>", "ÿ".encode()) if (id := model.vocab.id(token)) is not None)
    breaker = next(breakers, next(iter(model.ids[:1].tolist()), None))  # without bytes, any token
    local = all(map(is_local, model.decoders))
    byte_ids = {id for token in BYTE_TOKENS if (id := model.vocab.id(token)) is not None}
    if not local or breaker not in byte_ids or all(step.kind != "byte_fallback" for step in model.decoders):
        byte_ids = set()
    stream = DecodeFromStart(engine.decode_bytes, breaker, local, byte_ids)
    return StreamDecoder(stream.more, errors, stream.rest)


def counts_characters(unit: str) -> bool:
    """Whether offsets count characters, not bytes."""
    if unit not in ("char", "byte"):
        raise InvalidOption("unit", unit, "'char' or 'byte'")
    return unit == "char"


def pad_rows(
    ragged: Ragged,
    padding: int,
    dtype: np.dtype[Any],
    *,
    length: int | None,
    multiple: int,
    side: str,
    truncate: bool,
) -> Padded:
    """The ids of many texts as one matrix; see `Tokenizer.encode_padded`."""
    ends = ragged.ends.astype(np.int64)
    sizes: NDArray[np.int64] = np.diff(ends, prepend=0)
    longest = int(sizes.max(initial=0))
    width = longest if length is None else length
    if longest > width and not truncate:
        place = int(np.argmax(sizes > width))
        allowed = f"at least {longest}, or truncate=True: text {place} has {sizes[place]} ids"
        raise InvalidOption("length", length, allowed)
    width = -(-width // multiple) * multiple
    mask = np.arange(width) < np.minimum(sizes, width)[:, None]
    inside = np.arange(len(ragged.ids)) - np.repeat(ends - sizes, sizes)
    ids = np.full(mask.shape, padding, dtype)
    if side == "left":
        mask = mask[:, ::-1]
    ids[mask] = ragged.ids[inside < width]
    return Padded(ids, np.ascontiguousarray(mask, np.uint8))
