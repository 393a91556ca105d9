"""Model: one tokenizer as a value. Training produces it, every format loads and saves it, every engine runs on it.

A model is plain data in flat buffers: one frozen value, which `_core.Vocab` checks once, in Rust, on construction. A
model can hold, save and load a kind, step or flag that toksmith cannot execute yet; building a tokenizer from it raises
an error with the name of that part.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from .. import _core
from .._base import lazy_numpy as np
from .._base.arguments import check_int, check_items
from .._base.wording import number_of, preview_items
from ..errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kind = Literal["bpe", "unigram", "wordpiece", "chars", "words"]
MergeRule = Literal["pair", "bytes"]
ID_LIMIT = 1 << 24
ENDS_SHOWN = 20  # tokens that a notebook shows from each end of a table
# SentencePiece's byte tokens for byte fallback in character vocabularies, and the byte of each.
BYTE_TOKENS: Mapping[bytes, int] = MappingProxyType({f"<0x{byte:02X}>".encode(): byte for byte in range(256)})


class Numbers:
    """A field of numbers: an immutable array, which is made at first use of its memory, `_core.Memory`."""

    def __init__(self, name: str, dtype: str) -> None:
        self.name, self.dtype = name, dtype

    def __get__(self, owner: object, kind: type) -> Any:
        held = vars(owner) if owner is not None else {}
        if f"_{self.name}" not in held:
            raise AttributeError(f"{kind.__name__} has no array {self.name!r}")
        if self.name not in held:
            held[self.name] = self.in_shape(np.frombuffer(held[f"_{self.name}"], self.dtype))
        return held[self.name]

    def __set__(self, owner: object, values: object) -> None:
        if not isinstance(values, _core.Memory):
            values = freeze(self.in_shape(plain_array(values, self.name)), np.dtype(self.dtype).type, self.name)
        vars(owner)[f"_{self.name}"] = values

    def in_shape(self, array: NDArray[Any]) -> NDArray[Any]:
        """The array, with a row of three for each merge."""
        if self.name != "merges":
            if array.ndim != 1:
                raise ModelError(f"{self.name} has {array.ndim} dimensions; expected one")
            return array
        if array.size % 3:
            raise ModelError(f"merges holds {array.size} numbers; expected three for each merge")
        return array.reshape(-1, 3)


class TokenTable(Sequence[bytes]):
    """Token bytes as one blob with ends: `table[i]` returns the bytes of token i,
    created on demand.

    Args of the constructor: `blob`, all tokens concatenated; `ends`, uint32,
    shape (n,), the end of each. The table keeps immutable copies.
    """

    blob: bytes
    ends: NDArray[np.uint32]

    def __init__(self, blob: bytes | bytearray | memoryview, ends: NDArray[np.uint32]) -> None:
        if not isinstance(blob, (bytes, bytearray, memoryview)):
            raise TypeError(f"blob: expected bytes, not {type(blob).__name__}")
        object.__setattr__(self, "blob", bytes(blob))
        object.__setattr__(self, "ends", ends)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a table of tokens cannot be changed: {name!r}; make a new one")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a table of tokens cannot be changed: {name!r}; make a new one")

    @classmethod
    def of(cls, tokens: Iterable[bytes]) -> TokenTable:
        """The table of `tokens`, in their order."""
        token_list = check_items(tokens, "tokens", "a list of bytes")
        for token in token_list:
            if not isinstance(token, bytes):
                raise TypeError(f"tokens: expected a list of bytes, not of {type(token).__name__}")
        ends: Any = _core.Memory([*accumulate(map(len, token_list))])
        return cls(b"".join(token_list), ends)

    def __len__(self) -> int:
        return len(self.ends)

    def __reduce__(self) -> tuple[Any, ...]:
        return TokenTable, (self.blob, self.ends)

    def __repr__(self) -> str:
        return f"<TokenTable {number_of(len(self), 'token')}: {preview_items(self[:7])}>"

    def _repr_html_(self) -> str:
        from .._render import Line, Table, View, notebook, token_text  # imported here, because it imports rich

        size = f"{number_of(len(self), 'token')}, {number_of(len(self.blob), 'byte')}"
        rows = [[str(place), token_text(self[place]), self[place].hex(" ")] for place in end_indices(len(self))]
        notes = [Line(f"the first and last {ENDS_SHOWN} of {len(self):,}", "dim")] if len(rows) < len(self) else []
        return notebook(View(size, [Table(["place", "token", "bytes"], rows, left=(1, 2)), *notes]))

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        start = int(self.ends[place - 1]) if place else 0
        return self.blob[start : int(self.ends[place])]

    def __iter__(self) -> Iterator[bytes]:
        start = 0
        for end in self.ends.tolist():
            yield self.blob[start:end]
            start = end


TokenTable.ends = Numbers("ends", "uint32")  # type: ignore[assignment]


def end_indices(length: int) -> list[int]:
    """The indices of the rows that a notebook shows."""
    places = range(length)
    return [*places] if length <= 2 * ENDS_SHOWN else [*places[:ENDS_SHOWN], *places[-ENDS_SHOWN:]]


def freeze(array: NDArray[Any], dtype: type[np.generic], name: str) -> _core.Memory:
    """An immutable copy of the numbers as memory of `dtype`; the memory of an array that was made of memory is not copied.

    A read-only array that owns its memory is not enough: its owner can set the flag `writeable` again, and earlier views
    of it stay writable. Raises as `check_numbers`.
    """
    if array.dtype != dtype:
        array = array.copy()  # so that the caller cannot change the numbers after the check
        check_numbers(array, np.dtype(dtype), name)
        array = array.astype(dtype)
    elif (memory := memory_of(array)) is not None:
        return memory
    return _core.Memory(np.ascontiguousarray(array).reshape(-1).view(f"u{array.itemsize}"))


def plain_array(values: object, name: str) -> NDArray[Any]:
    """The values as a plain numpy array; raises TypeError if numpy cannot convert them."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError, OverflowError, MemoryError):
        raise TypeError(f"{name}: expected an array of numbers, not {type(values).__name__}") from None


def memory_of(array: NDArray[Any]) -> _core.Memory | None:
    """The memory of this module or the core that the array covers in order, which is read-only for everyone; else None."""
    base: object = array
    while isinstance(base, np.ndarray) and base.dtype == array.dtype:
        base = base.base
    whole = isinstance(base, _core.Memory) and array.flags.c_contiguous and memoryview(base).nbytes == array.nbytes
    return base if whole else None  # type: ignore[return-value]


def check_numbers(array: NDArray[Any], dtype: np.dtype[Any], name: str) -> None:
    """Raises ModelError or TypeError for numbers that conversion to `dtype` would change."""
    if not array.size:
        return
    if array.dtype.kind not in ("iu" if dtype.kind == "u" else "iuf"):
        raise TypeError(f"{name}: expected {'integers' if dtype.kind == 'u' else 'numbers'}, not {array.dtype}")
    if dtype.kind == "u":
        most = np.iinfo(dtype).max
        wrong = [int(number) for number in (array.min(), array.max()) if not 0 <= int(number) <= most]
        if wrong:
            raise ModelError(f"{name} holds {wrong[0]}; expected numbers from 0 to {most}")


@dataclass(frozen=True)
class AddedToken:
    """A token that encoding cuts out of the text before any other step.

    `special` tokens match only if the call allows them, other tokens always.
    The remaining flags are HF's: white space before (`lstrip`) or after
    (`rstrip`) the token belongs to it; it matches only as a whole word; its
    normalized content matches in the normalized text.
    """

    content: str
    id: int
    special: bool = True
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False
    normalized: bool = False


@dataclass(frozen=True)
class Step:
    """One tagged step of a pipeline (normalizer, splitter, decoder or
    post-processor): a kind and its options.

    `options` are the kind's arguments by name, sorted, JSON values only.
    """

    kind: str
    options: tuple[tuple[str, Any], ...] = ()

    def __getitem__(self, name: str) -> Any:
        try:
            return dict(self.options)[name]
        except KeyError:
            raise ModelError(f"the step {self.kind!r} lacks the option {name!r}") from None


def make_step(kind: str, **options: Any) -> Step:
    return Step(kind, tuple(sorted(options.items())))


def regex_split(pattern: str, *, dialect: str = "rust", behavior: str = "isolated", invert: bool = False) -> Step:
    """The splitter step that cuts a text at the matches of a regex."""
    return make_step("regex", pattern=pattern, dialect=dialect, behavior=behavior, invert=invert)


def is_regex_split(step: Step) -> bool:
    """Whether the step is `regex_split(pattern)`: pieces are the matches and the text between them."""
    options = dict(step.options)
    pattern = options.get("pattern")
    return step.kind == "regex" and isinstance(pattern, str) and options == dict(regex_split(pattern).options)


@dataclass(frozen=True, eq=False)
class TrainingRecord:
    """Facts about a training run, the same for any order of documents, machine,
    thread count or sharding.

    Attributes:
        options: The options of the training (rule of ties, pattern, limits),
            JSON values.
        documents: Documents in the corpus.
        bytes: UTF-8 bytes in the documents.
        digest: Hex digest of the counted pieces; equal corpora (in any order)
            have equal digests.
        symbols: Symbols before the first merge (bytes, or characters for
            `unit="char"`).
        counts: uint64, shape (merges,): the occurrences of each merge's pair
            in the text when it was chosen.
        left: uint64, shape (merges,): the symbols in the text after each
            merge.
        stopped_because: The rule that ended training, in words.
    """

    options: Mapping[str, Any]
    documents: int
    bytes: int
    digest: str
    symbols: int
    counts: NDArray[np.uint64]
    left: NDArray[np.uint64]
    stopped_because: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", MappingProxyType(copy.deepcopy(dict(self.options))))

    def __repr__(self) -> str:
        corpus = f"{number_of(self.documents, 'document')}, {number_of(self.bytes, 'byte')}"
        return f"<TrainingRecord {corpus}, {number_of(len(self.counts), 'merge')}: {preview_items(self.counts)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        values = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        return partial(TrainingRecord, **values | {"options": dict(self.options)}), ()


TrainingRecord.counts = Numbers("counts", "uint64")  # type: ignore[assignment]
TrainingRecord.left = Numbers("left", "uint64")  # type: ignore[assignment]

# Fields that few models use, each with its usual value. `score_type` is the type of the scores.
RARE_FIELDS: Mapping[str, Any] = {
    "continuing_subword_prefix": "",
    "end_of_word_suffix": "",
    "fuse_unknown": False,
    "max_piece_chars": None,
    "score_type": "float32",
    "unused_ids": [],
}


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """One tokenizer as a value. See ARCHITECTURE.md, "What a Model holds".

    Attributes:
        tokens: The ordinary tokens' bytes, unique. For `merge_rule="bytes"`
            without scores, in rank order.
        ids: uint32, shape (len(tokens),): the id of each token; unique, holes
            allowed.
        merges: uint32, shape (n, 3): left id, right id, result id, in rank
            order. Empty for `merge_rule="bytes"`.
        merge_rule: "pair": the pairs of `merges` merge. "bytes": any two
            neighbours whose joined bytes are a token merge.
        whole_piece: Whether a piece that equals a token becomes that token
            without merging.
        splitters: Steps that cut the text into pieces, each working on the
            pieces of the previous step; empty for unsplit text.
        added_tokens: In order; several can share an id, and decoding gives the
            first.
        scores: float32 or float64, shape (len(tokens),); `kind="unigram"`
            computes its sums in this type.
        continuing_subword_prefix: The prefix of tokens that continue a piece
            (`##`); a merge removes the prefix of its right part.
        end_of_word_suffix: The suffix of tokens that end a piece (`</w>`); ""
            for none.
        fuse_unknown: Whether a run of unknown characters becomes one unknown
            token.
        unused_ids: Ids of tokens that no text becomes, ascending: a restricted
            vocabulary. They have bytes, and other tokens' merges use them.
        max_piece_chars: Longer pieces become the unknown token, for
            `kind="wordpiece"`; None for no limit.
        training: The record; None for a tokenizer that toksmith did not train.
        metadata: Free text by name; equality and fingerprint ignore `metadata`
            and `training`.
    """

    tokens: TokenTable
    ids: NDArray[np.uint32]
    kind: Kind = "bpe"
    unit: Literal["byte", "char"] = "byte"
    merges: NDArray[np.uint32] = field(default_factory=lambda: cast("Any", _core.Memory([])))
    merge_rule: MergeRule = "pair"
    whole_piece: bool = False
    scores: NDArray[np.float32] | NDArray[np.float64] | None = None
    unknown_id: int | None = None
    byte_fallback: bool = False
    continuing_subword_prefix: str = ""
    end_of_word_suffix: str = ""
    fuse_unknown: bool = False
    max_piece_chars: int | None = None
    unused_ids: tuple[int, ...] = ()
    normalizers: tuple[Step, ...] = ()
    splitters: tuple[Step, ...] = ()
    decoders: tuple[Step, ...] = ()
    post: tuple[Step, ...] = ()
    added_tokens: tuple[AddedToken, ...] = ()
    training: TrainingRecord | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    vocab: _core.Vocab = field(init=False, repr=False)

    def __repr__(self) -> str:
        sizes = f"{number_of(len(self.tokens), 'token')}, {number_of(len(self.merges), 'merge')}"
        return f"<Model {self.kind}/{self.unit}, {sizes}: {preview_items(self.tokens[:7])}>"

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        if self.scores is not None:
            scores = plain_array(self.scores, "scores")
            dtype = np.float64 if scores.dtype == np.float64 else np.float32
            set_field(self, "scores", np.frombuffer(freeze(scores, dtype, "scores"), dtype))  # type: ignore[call-overload]
        # The caller can still change lists and objects in the options of steps, so they are copied.
        for name in ("normalizers", "splitters", "decoders", "post", "added_tokens"):
            set_field(self, name, copy.deepcopy(self._check_items(name)))
        set_field(self, "unused_ids", tuple(check_int(id, "unused_ids: an id") for id in self.unused_ids))
        set_field(self, "metadata", MappingProxyType(dict(self.metadata)))
        cover = self.cover()
        vocab = _core.Vocab(
            self.kind,
            self.unit,
            self.tokens.blob,
            vars(self.tokens)["_ends"],
            vars(self)["_ids"],
            vars(self)["_merges"],
            self.merge_rule,
            self.whole_piece,
            self.continuing_subword_prefix if self.kind == "bpe" else "",
            cover,
        )
        set_field(self, "vocab", vocab)
        set_field(self, "whole_piece", bool(self.whole_piece))  # the core accepts only bool, Python's or numpy's
        self._check_added_tokens()
        for before, id in zip((-1, *self.unused_ids), self.unused_ids, strict=False):
            if not before < id < ID_LIMIT or vocab.token(id) is None:
                raise ModelError("unused_ids must be ids of tokens, ascending", id)

    def _check_items(self, name: str) -> tuple[Step | AddedToken, ...]:
        kind = AddedToken if name == "added_tokens" else Step
        entries = tuple(getattr(self, name))
        for item in entries:
            if not isinstance(item, kind):
                raise TypeError(f"{name}: expected a tuple of {kind.__name__}, not of {type(item).__name__}")
        return entries

    def _check_added_tokens(self) -> None:
        contents: set[str] = set()
        for added in self.added_tokens:
            if not isinstance(added.content, str):
                raise TypeError(f"added_tokens: expected a content of str, not {type(added.content).__name__}")
            check_int(added.id, "added_tokens: an id")
            if not added.content:
                raise ModelError("an added token has no content", added.id)
            if added.content in contents:
                raise ModelError(f"the added token {added.content!r} is listed twice", added.id)
            if not 0 <= added.id < ID_LIMIT:
                raise ModelError(f"the added token {added.content!r} has an id outside [0, 16777216)", added.id)
            token = self.vocab.token(added.id)
            if token is not None and token != added.content.encode():
                raise ModelError(f"the added token {added.content!r} has the id of the token {token!r}", added.id)
            contents.add(added.content)

    def cover(self) -> dict[str, Any] | None:
        """The values with which the core covers pieces with tokens; None if the
        model merges, or lacks one of them."""
        if self.kind == "bpe" or (self.kind in ("words", "chars") and self.unknown_id is None):
            return None
        scores = None
        if self.kind == "unigram":
            bytes_are_there = not self.byte_fallback or BYTE_TOKENS.keys() <= set(self.tokens)
            whole_text = any(step.kind == "sentencepiece" for step in self.normalizers)
            fits = self.scores is not None and len(self.scores) == len(self.tokens) and np.isfinite(self.scores).all()
            if self.scores is None or not fits or not bytes_are_there or whole_text:
                return None
            scores = self.scores.astype(np.float64)
        return {
            "unknown": self.unknown_id,
            "prefix": self.continuing_subword_prefix,
            "longest": self.max_piece_chars,
            "scores": scores,
            "single": self.scores is not None and self.scores.dtype == np.float32,
            "byte_fallback": self.byte_fallback,
        }

    @property
    def special_tokens(self) -> dict[str, int]:
        """The special tokens' ids by content, in order."""
        return {added.content: added.id for added in self.added_tokens if added.special}

    @property
    def vocab_size(self) -> int:
        """The largest id + 1; 0 for a model without tokens."""
        largest = -1 if len(self.ids) == 0 else int(self.ids.max())
        return max([largest, *(added.id for added in self.added_tokens)]) + 1

    def fields(self) -> dict[str, Any]:
        """The fields that are not tables, as JSON values by name, without
        `training` and `metadata`.

        It includes fields of `RARE_FIELDS` only if they differ from the usual
        value.
        """
        rare = {name: getattr(self, name) for name in RARE_FIELDS if name != "score_type"}
        if self.scores is not None:
            rare["score_type"] = str(self.scores.dtype)
        rare["unused_ids"] = [*self.unused_ids]
        return {
            **{name: value for name, value in rare.items() if value != RARE_FIELDS[name]},
            "added_tokens": [vars(added) for added in self.added_tokens],
            "byte_fallback": self.byte_fallback,
            "decoders": steps_to_json(self.decoders),
            "kind": self.kind,
            "merge_rule": self.merge_rule,
            "normalizers": steps_to_json(self.normalizers),
            "post": steps_to_json(self.post),
            "splitters": steps_to_json(self.splitters),
            "unit": self.unit,
            "unknown_id": self.unknown_id,
            "whole_piece": self.whole_piece,
        }

    def fingerprint(self) -> str:
        """The SHA-256 (hex) of all content except `training` and `metadata`;
        equal models have equal fingerprints."""
        import hashlib  # slow to import

        digest = hashlib.sha256(json.dumps(self.fields(), sort_keys=True).encode())
        scores = np.empty(0, np.float32) if self.scores is None else self.scores
        for table in (self.tokens.ends, self.ids, self.merges, scores):
            digest.update(f"{table.shape}".encode())
            digest.update(table.astype(table.dtype.newbyteorder("<")).tobytes())
        digest.update(self.tokens.blob)
        return digest.hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        values = {item.name: getattr(self, item.name) for item in dataclasses.fields(self) if item.init}
        return partial(Model, **values | {"metadata": dict(self.metadata)}), ()

    def __copy__(self) -> Model:
        return self

    def __deepcopy__(self, memo: object) -> Model:
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.fingerprint() == other.fingerprint()

    def __hash__(self) -> int:
        return hash(self.fingerprint())


Model.ids = Numbers("ids", "uint32")  # type: ignore[assignment]
Model.merges = Numbers("merges", "uint32")  # type: ignore[assignment]


def steps_to_json(steps: tuple[Step, ...]) -> list[dict[str, Any]]:
    """The steps as JSON objects, `kind` among the options."""
    return [{"kind": step.kind, **dict(step.options)} for step in steps]
