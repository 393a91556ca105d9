"""`SentencePieceProcessor`: each method in both of its spellings, `EncodeAsIds` and `encode_as_ids`."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..tokenizers._parts import NotHere
from ._model import SpmModel, Text

__all__ = ["SentencePieceProcessor", "ThreadPool", "set_random_generator_seed"]

RANDOM = random.Random()
TYPES = (int, str, bytes, "proto", "serialized_proto", "numpy", "offset_mapping")
OPTIONS = ("add_bos", "add_eos", "reverse", "emit_unk_piece", "enable_sampling", "nbest_size", "alpha", "num_threads")


def set_random_generator_seed(seed: int) -> None:
    """Makes what is drawn from now on the same in each run."""
    RANDOM.seed(seed)


class ThreadPool:
    """Says how many threads there are; the engine has its own."""

    def __init__(self, num_threads: int) -> None:
        self._count = num_threads

    def num_threads(self) -> int:
        """The number of threads."""
        return self._count


class SentencePieceProcessor:
    """A model, and how calls encode unless they say otherwise."""

    def __init__(
        self,
        model_file: str | os.PathLike[str] | None = None,
        model_proto: Any = None,
        out_type: Any = None,
        add_bos: bool = False,
        add_eos: bool = False,
        **options: Any,
    ) -> None:
        usual = {"reverse": False, "emit_unk_piece": False, "enable_sampling": False, "nbest_size": -1, "alpha": 0.1}
        known = {**usual, "num_threads": -1, "return_type": None}
        if unknown := sorted(options.keys() - known.keys()):
            raise TypeError(f"SentencePieceProcessor: {unknown[0]} is not one of its arguments")
        given = {**known, **options}
        self._return_type = self._kind(given.pop("return_type"), out_type, int)
        self._options = {"add_bos": add_bos, "add_eos": add_eos, **given}
        self._model: SpmModel | None = None
        if model_file or model_proto:
            self.Load(model_file=model_file, model_proto=model_proto)

    @property
    def _spm(self) -> SpmModel:
        if self._model is None:
            raise RuntimeError("the model is not loaded; call load with model_file or model_proto")
        return self._model

    def _kind(self, return_type: Any, out_type: Any, default: Any) -> Any:
        """What a call returns."""
        if out_type is not None and return_type is not None:
            raise ValueError("Cannot specify both out_type and return_type. Use return_type instead.")
        kind = out_type if return_type is None else return_type
        kind = default if kind is None else kind
        if kind not in TYPES:
            raise ValueError(f"Invalid return_type: {kind}. Must be one of {TYPES}")
        return kind

    @classmethod
    def from_file(cls, model_file: str | os.PathLike[str], **kwargs: Any) -> SentencePieceProcessor:
        """The processor of a file."""
        return cls.loaded({"model_file": model_file}, kwargs)

    @classmethod
    def from_proto(cls, model_proto: Any, **kwargs: Any) -> SentencePieceProcessor:
        """The processor of a file's bytes."""
        return cls.loaded({"model_proto": model_proto}, kwargs)

    @classmethod
    def loaded(cls, source: dict[str, Any], kwargs: dict[str, Any]) -> SentencePieceProcessor:
        """The processor of one source, which the options do not name."""
        if kwargs.keys() & {"model_file", "model_proto"}:
            raise ValueError("model_file and model_proto cannot be passed via kwargs")
        processor = cls(**kwargs)
        processor.Load(**source)
        return processor

    def Load(self, model_file: str | os.PathLike[str] | None = None, model_proto: Any = None) -> bool:
        """Loads a file, or the bytes of one."""
        if model_file and model_proto:
            raise ValueError("model_file and model_proto must be exclusive.")
        if model_proto:
            return self.LoadFromSerializedProto(model_proto)
        if model_file:
            return self.LoadFromFile(model_file)
        raise ValueError("Either model_file or model_proto must be specified.")

    def LoadFromFile(self, filename: str | os.PathLike[str]) -> bool:
        """Loads a file."""
        with open(filename, "rb") as file:
            self._model = SpmModel(file.read(), os.fspath(filename))
        return True

    def LoadFromSerializedProto(self, serialized: Any) -> bool:
        """Loads the bytes of a file, or a message of them."""
        data = serialized.SerializeToString() if hasattr(serialized, "SerializeToString") else serialized
        self._model = SpmModel(bytes(data), "the model")
        return True

    def Encode(self, input: Any, return_type: Any = None, out_type: Any = None, **options: Any) -> Any:
        """A text as ids, pieces, protos or offsets; for a list, one of these for each."""
        asked = self._asked(return_type, out_type, options)
        texts = [text_of(each) for each in (input if isinstance(input, list) else [input])]
        if asked["kind"] == "offset_mapping" and any(asked[name] for name in OPTIONS[:4]):
            raise RuntimeError("add_bos, add_eos, reverse and emit_unk_piece are not supported in offset_mapping")
        if asked["enable_sampling"]:
            lists = [self._spm.sampled(text, RANDOM, asked["nbest_size"], asked["alpha"]) for text in texts]
        else:
            lists = self._spm.encode(texts)
        first = (input[:1] or [""])[0] if isinstance(input, list) else input
        as_bytes = asked.get("return_bytes")
        asked["return_bytes"] = isinstance(first, bytes) if as_bytes is None else as_bytes
        found = [self._shown(text, ids, 0.0, asked) for text, ids in zip(texts, lists, strict=True)]
        return found if isinstance(input, list) else found[0]

    def _asked(self, return_type: Any, out_type: Any, options: dict[str, Any]) -> dict[str, Any]:
        """All options of a call."""
        asked = dict(self._options)
        for name, value in options.items():
            if name not in (*OPTIONS, "thread_pool", "return_bytes", "chunk_len"):
                raise TypeError(f"encode: {name} is not one of its arguments, which are {', '.join(OPTIONS)}")
            asked[name] = asked.get(name) if value is None else value
        asked["kind"] = self._kind(return_type, out_type, self._return_type)
        if asked.get("return_bytes") is not None and asked["kind"] != "offset_mapping":
            raise ValueError("return_bytes is only supported when return_type='offset_mapping'")
        if asked["enable_sampling"] and asked["nbest_size"] in (0, 1):
            raise ValueError('When enable_sampling is True, we must specify "nbest_size > 1" or "nbest_size = -1"')
        if not isinstance(asked["num_threads"], int):
            raise TypeError("num_threads must be int")
        return asked

    def _shown(self, text: str, ids: list[int], score: float, asked: dict[str, Any]) -> Any:
        """The ids of a text as they were asked for."""
        kind, spm = asked["kind"], self._spm
        if kind in (int, "numpy"):
            found = self._around(ids, asked, spm.control("<s>"), spm.control("</s>"))
            return np.frombuffer(np.array(found, np.int32).tobytes(), np.int32) if kind == "numpy" else found
        cut = spm.cut(text, ids, score)
        if kind in (str, bytes):
            plain = [spm.pieces[each.id] if asked["emit_unk_piece"] else each.piece for each in cut.pieces]
            plain = self._around(plain, asked, "<s>", "</s>")
            return [each.encode() for each in plain] if kind is bytes else plain
        if kind == "offset_mapping":
            return offset_mapping(cut, asked["return_bytes"], with_text=False)
        proto = proto_of(cut)
        return proto if kind == "proto" else proto.SerializeToString()

    def _around(self, found: list[Any], asked: dict[str, Any], first: Any, last: Any) -> list[Any]:
        """Ids or pieces in their order, with those that begin and end a text."""
        found = list(reversed(found)) if asked["reverse"] else found
        for name, content in (("add_bos", "<s>"), ("add_eos", "</s>")):
            if asked[name] and self._spm.control(content) < 0:
                raise RuntimeError(f"{name}: the model has no control piece {content}")
        return [*([first] if asked["add_bos"] else []), *found, *([last] if asked["add_eos"] else [])]

    def ParallelEncode(self, input: Any, chunk_len: int = 0, **options: Any) -> Any:
        """As `Encode`: the engine uses all processors for a long text, and the result does not depend on it."""
        return self.Encode(input, **options)

    def NBestEncode(self, input: Any, nbest_size: int | None = None, return_type: Any = None, **options: Any) -> Any:
        """The best ways to cut a text of a unigram model, the best first."""
        asked = self._asked(return_type, options.pop("out_type", None), options)
        count = self._options["nbest_size"] if nbest_size is None else nbest_size
        found = [self._ways(text_of(each), count, asked) for each in (input if isinstance(input, list) else [input])]
        return found if isinstance(input, list) else found[0]

    def _ways(self, text: str, count: int, asked: dict[str, Any]) -> Any:
        """The best ways to cut one text."""
        ways = self._spm.best(text, count)
        if asked["kind"] in ("proto", "serialized_proto"):
            from .sentencepiece_pb2 import NBestSentencePieceText

            whole = NBestSentencePieceText()
            for ids, score in ways:
                whole.nbests.append(proto_of(self._spm.cut(text, ids, score), scored=True))
            return whole if asked["kind"] == "proto" else whole.SerializeToString()
        return [self._shown(text, ids, score, {**asked, "return_bytes": False}) for ids, score in ways]

    def SampleEncodeAndScore(self, *args: Any, **kwargs: Any) -> Any:
        """Not here."""
        raise NotHere("SampleEncodeAndScore", "call nbest_encode_as_proto, which gives scores", "sentencepiece")

    def Decode(self, input: Any, return_type: Any = None, out_type: Any = None, **options: Any) -> Any:
        """The text of ids or pieces, as it was asked for; for a list of lists, that of each."""
        kind = self._kind(return_type, out_type, str)
        as_bytes = options.get("return_bytes")
        if kind is int or (as_bytes is not None and kind != "offset_mapping"):
            raise ValueError(f"return_type {kind} does not fit; return_bytes is only supported with 'offset_mapping'")
        if input is None or isinstance(input, (int, str, bytes)):
            return self._decoded([] if input is None else [input], kind, as_bytes)
        rows = list(input)
        if rows and not isinstance(rows[0], (int, str, bytes, np.integer)):
            return [self._decoded(list(row), kind, as_bytes) for row in rows]
        return self._decoded(rows, kind, as_bytes)

    def _decoded(self, row: Sequence[Any], kind: Any, as_bytes: bool | None) -> Any:
        """The text of one list."""
        spm = self._spm
        in_bytes = bool(row) and isinstance(row[0], bytes)
        row = [each.decode() if isinstance(each, bytes) else each for each in row]
        if row and isinstance(row[0], str):
            whole = spm.decoded([(each, spm.ids.get(each, spm.unknown)) for each in row])
        else:
            ids = [self._checked(each) for each in row]
            if kind in (str, bytes):
                text = spm.decode(ids)
                return text if kind is str else text.encode()
            whole = spm.decoded([(spm.pieces[id], id) for id in ids])
        if kind in (str, bytes):
            return whole.text.encode() if kind is bytes else whole.text
        if kind == "offset_mapping":
            return offset_mapping(whole, in_bytes if as_bytes is None else as_bytes, with_text=True)
        proto = proto_of(whole)
        return proto if kind == "proto" else proto.SerializeToString()

    def _checked(self, id: Any) -> int:
        """An id of the model."""
        if isinstance(id, bool) or not isinstance(id, (int, np.integer)):
            raise TypeError(f"expected an id, not {type(id).__name__}")
        if id not in self._spm.pieces:
            raise IndexError(f"piece id {id} is out of range: the model has the ids 0 to {self._spm.size - 1}")
        return int(id)

    def _of_ids(self, ids: Any, function: Callable[[int], Any]) -> Any:
        """What a function gives for an id, or for each of a list."""
        if isinstance(ids, (list, tuple, np.ndarray)):
            return [function(self._checked(id)) for id in ids]
        return function(self._checked(ids))

    def Normalize(self, input: Any, with_offsets: bool | None = None) -> Any:
        """The normalized text, and where each of its characters comes from; for a list, that of each."""
        if isinstance(input, list):
            return [self.Normalize(each, with_offsets) for each in input]
        text = text_of(input)
        found, starts = self._spm.aligned(text)
        if isinstance(input, bytes):
            widths = [len(each.encode()) for each in found]
            places = [start for start, width in zip(starts, widths, strict=False) for _ in range(width)]
            return (found.encode(), [*places, starts[-1]]) if with_offsets else found.encode()
        data = text.encode()
        return (found, [len(data[:start].decode()) for start in starts]) if with_offsets else found

    def GetPieceSize(self) -> int:
        """The number of pieces."""
        return self._spm.size

    def PieceToId(self, piece: Any) -> Any:
        """The id of a piece, that of the unknown one for what is none; for a list, that of each."""
        if isinstance(piece, (list, tuple)):
            return [self.PieceToId(each) for each in piece]
        if not isinstance(piece, (str, bytes)):
            raise TypeError(f"expected a piece, not {type(piece).__name__}")
        return self._spm.ids.get(text_of(piece), self._spm.unknown)

    def IdToPiece(self, id: Any) -> Any:
        """The piece of an id; for a list, that of each."""
        return self._of_ids(id, self._spm.pieces.__getitem__)

    def GetScore(self, id: Any) -> Any:
        """The score of an id; for a list, that of each."""
        return self._of_ids(id, lambda each: self._spm.scores.get(each, 0.0))

    def IsUnknown(self, id: Any) -> Any:
        """Whether an id is the unknown one."""
        return self._of_ids(id, lambda each: each == self._spm.unknown)

    def IsControl(self, id: Any) -> Any:
        """Whether an id is a control piece, such as `<s>`."""
        return self._of_ids(id, lambda each: each in self._spm.controls)

    def IsUnused(self, id: Any) -> Any:
        """Whether an id is unused; models with such pieces are not read."""
        return self._of_ids(id, lambda each: False)

    def IsByte(self, id: Any) -> Any:
        """Whether an id is a byte."""
        return self._of_ids(id, lambda each: each in self._spm.bytes)

    def unk_id(self) -> int:
        """The id of the unknown piece."""
        return self._spm.unknown

    def bos_id(self) -> int:
        """The id of `<s>`, -1 for none."""
        return self._spm.control("<s>")

    def eos_id(self) -> int:
        """The id of `</s>`, -1 for none."""
        return self._spm.control("</s>")

    def pad_id(self) -> int:
        """The id of `<pad>`, -1 for none."""
        return self._spm.control("<pad>")

    def serialized_model_proto(self) -> bytes:
        """The bytes of the file."""
        return self._spm.data

    def __len__(self) -> int:
        return self._spm.size

    def __getitem__(self, piece: Any) -> Any:
        return self.PieceToId(piece)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_model": None if self._model is None else self._model.data}

    def __setstate__(self, state: Any) -> None:
        if isinstance(state, bytes):  # of old versions
            SentencePieceProcessor.__init__(self)
            state = {"_model": state}
        self.__dict__.update(state)
        if (data := state["_model"]) is not None:
            self._model = SpmModel(data, "the model")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_options" not in self.__dict__:
            raise AttributeError(name)
        known = [each for each in dir(type(self)) if each[0].isupper()]
        raise NotHere(f"SentencePieceProcessor.{name}", f"it has {', '.join(known)}", "sentencepiece")


def text_of(value: Any) -> str:
    """A text, also from bytes."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if not isinstance(value, str):
        raise TypeError(f"expected a str or bytes, not {type(value).__name__}")
    return value


def proto_of(text: Text, scored: bool = False) -> Any:
    """The message of a text with its pieces."""
    from .sentencepiece_pb2 import SentencePieceText

    proto = SentencePieceText(text=text.text)
    if scored:
        proto.score = text.score
    for each in text.pieces:
        proto.pieces.add(**{name: value for name, value in each._asdict().items() if value is not None})
    return proto


def offset_mapping(text: Text, as_bytes: bool, with_text: bool) -> dict[str, Any]:
    """Ids, pieces and offsets by name: of characters and texts, or of bytes."""
    data = text.text.encode()
    places = {
        at: at if as_bytes else len(data[:at].decode("utf-8", "replace")) for each in text.pieces for at in each[3:]
    }
    pieces: Iterable[Any] = (each.piece.encode() if as_bytes else each.piece for each in text.pieces)
    found = {"ids": [each.id for each in text.pieces], "pieces": list(pieces)}
    shown = {"text": data if as_bytes else text.text} if with_text else {}
    return {**shown, **found, "offsets": [(places[each.begin], places[each.end]) for each in text.pieces]}


def variant(method: Callable[..., Any], kind: Any, drawn: bool) -> Callable[..., Any]:
    """A method that returns one type, and that draws where it says so."""

    def call(self: Any, input: Any, nbest_size: Any = None, alpha: Any = None, **options: Any) -> Any:
        options.setdefault("return_type", kind if "out_type" not in options else None)
        if drawn:
            options["enable_sampling"] = True
        sizes = {"nbest_size": nbest_size, "alpha": alpha}
        return method(self, input, **options, **{name: value for name, value in sizes.items() if value is not None})

    return call


def name_methods() -> None:
    """Gives the processor all methods whose names say what they return, and all names with underscores."""
    kinds = {"Pieces": str, "Ids": int, "Numpy": "numpy", "Proto": "proto", "OffsetMapping": "offset_mapping"}
    owner = SentencePieceProcessor
    for name, kind in kinds.items():
        setattr(owner, f"EncodeAs{name}", variant(owner.Encode, kind, False))
        setattr(owner, f"SampleEncodeAs{name}", variant(owner.Encode, kind, True))
        setattr(owner, f"NBestEncodeAs{name}", variant(owner.NBestEncode, kind, False))
        setattr(owner, f"ParallelEncodeAs{name}", variant(owner.ParallelEncode, kind, False))
    for name in ("Pieces", "Ids"):
        setattr(owner, f"Decode{name}", variant(owner.Decode, None, False))
        setattr(owner, f"Decode{name}AsProto", variant(owner.Decode, "proto", False))
    for name in [each for each in dir(owner) if each[0].isupper()]:
        snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.replace("NBest", "Nbest")).lower()
        setattr(owner, snake, getattr(owner, name))
    owner.piece_size = owner.vocab_size = owner.GetPieceSize  # type: ignore[attr-defined]


name_methods()
