"""`SentencePieceProcessor`: each method with both of its names, `EncodeAsIds` and `encode_as_ids`."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..._formats.sentencepiece import CONTROL, UNUSED
from ..tokenizers._parts import NotHere
from ._model import SpmModel, Text, character_width

RANDOM = random.Random()
TYPES = (int, str, bytes, "proto", "serialized_proto", "numpy", "offset_mapping")
AROUND = ("add_bos", "add_eos", "reverse", "emit_unk_piece")
OPTIONS = (*AROUND, "enable_sampling", "nbest_size", "alpha", "num_threads")
# The arguments of each method in order, after the first.
LAST = ("return_type", "out_type", "return_bytes")
OF_A_PROCESSOR = ("model_proto", "out_type", *OPTIONS, "return_type")
OF_ENCODE = (*OPTIONS, "thread_pool", *LAST)
OF_NBEST = (*AROUND, "nbest_size", *LAST[:2])
OF_PARALLEL = (*AROUND, "chunk_len", "num_threads", "thread_pool", *LAST[:2])
OF_DECODE = (*LAST[:2], "num_threads", "thread_pool", "return_bytes")


def bind_arguments(
    method: str, names: Sequence[str], args: Sequence[Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of a call by name; raises TypeError for an argument that is unknown, or is given twice."""
    arguments = dict(zip(names, args, strict=False))
    wrong = [name for name in options if name not in names or name in arguments]
    if wrong or len(args) > len(names):
        raise TypeError(f"{method}: {[*wrong, 'one too many'][0]} is not one of its arguments, or is given twice")
    return arguments | dict(options)


def set_random_generator_seed(seed: int) -> None:
    """Seed the random generator, so that sampling repeats in each run."""
    RANDOM.seed(seed)


class ThreadPool:
    """Records a number of threads; the engine has its own."""

    def __init__(self, num_threads: int) -> None:
        self._count = num_threads

    def num_threads(self) -> int:
        """The number of threads."""
        return self._count


class SentencePieceProcessor:
    """A model, and the default options of its calls."""

    def __init__(self, model_file: str | os.PathLike[str] | None = None, *args: Any, **options: Any) -> None:
        usual = {"enable_sampling": False, "nbest_size": -1, "alpha": 0.1, "num_threads": -1}
        settings = (
            dict.fromkeys(AROUND, False)
            | usual
            | bind_arguments("SentencePieceProcessor", OF_A_PROCESSOR, args, options)
        )
        model_proto = settings.pop("model_proto", None)
        self._return_type = self._resolve_kind(settings.pop("return_type", None), settings.pop("out_type", None), int)
        self._options = settings
        self._model: SpmModel | None = None
        if model_file or model_proto:
            self.Load(model_file=model_file, model_proto=model_proto)

    @property
    def _spm(self) -> SpmModel:
        if self._model is None:
            raise RuntimeError("the model is not loaded; call load with model_file or model_proto")
        return self._model

    def _resolve_kind(self, return_type: Any, out_type: Any, default: Any) -> Any:
        if out_type is not None and return_type is not None:
            raise ValueError("Cannot specify both out_type and return_type. Use return_type instead.")
        kind = out_type if return_type is None else return_type
        kind = default if kind is None else kind
        if kind not in TYPES:
            raise ValueError(f"Invalid return_type: {kind}. Must be one of {TYPES}")
        return kind

    @classmethod
    def from_file(cls, model_file: str | os.PathLike[str], **kwargs: Any) -> SentencePieceProcessor:
        """The processor of a model file."""
        return cls.loaded({"model_file": model_file}, kwargs)

    @classmethod
    def from_proto(cls, model_proto: Any, **kwargs: Any) -> SentencePieceProcessor:
        """The processor of the bytes of a model file."""
        return cls.loaded({"model_proto": model_proto}, kwargs)

    @classmethod
    def loaded(cls, source: dict[str, Any], kwargs: dict[str, Any]) -> SentencePieceProcessor:
        """The processor of one source, which must not be repeated in the options."""
        if kwargs.keys() & {"model_file", "model_proto"}:
            raise ValueError("model_file and model_proto cannot be passed via kwargs")
        processor = cls(**kwargs)
        processor.Load(**source)
        return processor

    def Load(self, model_file: str | os.PathLike[str] | None = None, model_proto: Any = None) -> bool:
        """Load a file, or the bytes of a file."""
        if model_file and model_proto:
            raise ValueError("model_file and model_proto must be exclusive.")
        if model_proto:
            return self.LoadFromSerializedProto(model_proto)
        if model_file:
            return self.LoadFromFile(model_file)
        raise ValueError("Either model_file or model_proto must be specified.")

    def LoadFromFile(self, filename: str | os.PathLike[str]) -> bool:
        """Load a file."""
        with open(filename, "rb") as file:
            self._model = SpmModel(file.read(), os.fspath(filename))
        return True

    def LoadFromSerializedProto(self, serialized: Any) -> bool:
        """Load the bytes of a file, or a message that serializes to them."""
        data = serialized.SerializeToString() if hasattr(serialized, "SerializeToString") else serialized
        self._model = SpmModel(bytes(data), "the model")
        return True

    def Encode(self, input: Any, *args: Any, **options: Any) -> Any:
        """A text as ids, pieces, protos or offsets; for a list, one result for each text."""
        settings = self._asked(bind_arguments("encode", OF_ENCODE, args, options))
        texts = [text_of(each) for each in (input if isinstance(input, list) else [input])]
        in_order = settings["kind"] in (int, str, bytes, "numpy")
        if not in_order:
            self._check_options(settings)
        ways: list[list[int] | None] = [None] * len(texts)
        if settings["enable_sampling"]:
            ways = [self._spm.sample(text, RANDOM, settings["nbest_size"], settings["alpha"]) for text in texts]
        elif settings["kind"] in (int, "numpy"):
            ways = [*self._spm.encode(texts)]
        if in_order and texts:
            self._check_options(settings)
        first = (input[:1] or [""])[0] if isinstance(input, list) else input
        as_bytes = settings.get("return_bytes")
        settings["return_bytes"] = isinstance(first, bytes) if as_bytes is None else as_bytes
        results = [self._shown(text, ids, 0.0, settings) for text, ids in zip(texts, ways, strict=True)]
        return results if isinstance(input, list) else results[0]

    def _check_options(self, options: dict[str, Any]) -> None:
        """Refuse options that a result with offsets cannot have, and pieces that the model lacks."""
        if options["kind"] in ("offset_mapping", "proto", "serialized_proto"):
            if any(options[name] for name in AROUND):
                raise RuntimeError(
                    "add_bos, add_eos, reverse and emit_unk_piece need ids or pieces, not offsets or protos"
                )
            return
        for name in ("bos", "eos"):
            if options[f"add_{name}"] and self._spm.around[name] < 0:
                raise ValueError(f"add_{name}: the model has no control piece {self._spm.names[name]}")
        if options["emit_unk_piece"] and options["kind"] in (str, bytes) and self._spm.unknown < 0:
            raise ValueError("emit_unk_piece: the model has no unknown piece")

    def _asked(self, args: Mapping[str, Any]) -> dict[str, Any]:
        kwargs = self._options | {name: value for name, value in args.items() if value is not None}
        kwargs["kind"] = self._resolve_kind(
            kwargs.pop("return_type", None), kwargs.pop("out_type", None), self._return_type
        )
        if kwargs.get("return_bytes") is not None and kwargs["kind"] != "offset_mapping":
            raise ValueError("return_bytes is only supported when return_type='offset_mapping'")
        if kwargs["enable_sampling"] and kwargs["nbest_size"] in (0, 1):
            raise ValueError('When enable_sampling is True, we must specify "nbest_size > 1" or "nbest_size = -1"')
        if not isinstance(kwargs["num_threads"], int):
            raise TypeError("num_threads must be int")
        return kwargs

    def _shown(self, text: str | bytes, ids: list[int] | None, score: float, options: dict[str, Any]) -> Any:
        """A text in the requested form; `ids`, if given, are its segmentation."""
        kind, spm = options["kind"], self._spm
        if kind in (int, "numpy"):
            ids_around = self._around([] if ids is None else ids, options, spm.around)
            return np.frombuffer(np.array(ids_around, np.int32).tobytes(), np.int32) if kind == "numpy" else ids_around
        segmented = spm.cut(text, ids, score)
        if kind in (str, bytes):
            plain = [each.piece for each in segmented.pieces]
            if options["emit_unk_piece"]:
                unknown = spm.pieces[spm.unknown].encode()
                plain = [unknown if spm.id_of(each.decode()) == spm.unknown else each for each in plain]
            plain = self._around(plain, options, {name: content.encode() for name, content in spm.names.items()})
            return plain if kind is bytes else [each.decode() for each in plain]
        if kind == "offset_mapping":
            return offset_mapping(segmented, options["return_bytes"], with_text=False)
        proto = proto_of(segmented)
        return proto if kind == "proto" else proto.SerializeToString()

    def _around(self, items: list[Any], options: dict[str, Any], around: Mapping[str, Any]) -> list[Any]:
        """Ids or pieces in order, with the first and last of a text around them."""
        items = list(reversed(items)) if options["reverse"] else items
        before, after = ([around[name]] if options[f"add_{name}"] else [] for name in ("bos", "eos"))
        return [*before, *items, *after]

    def ParallelEncode(self, input: Any, *args: Any, **options: Any) -> Any:
        """As `Encode`: the engine uses all processors for a long text, the result does not depend on their number."""
        settings = bind_arguments("parallel_encode", OF_PARALLEL, args, options)
        length = settings.pop("chunk_len", None)
        if not isinstance(length, int) or length <= 0:
            raise ValueError("chunk_len must be positive")
        return self.Encode(input, **settings)

    def NBestEncode(self, input: Any, *args: Any, **options: Any) -> Any:
        """The best segmentations of a text by a unigram model, best first."""
        settings = self._asked(bind_arguments("nbest_encode", OF_NBEST, args, options)) | {"enable_sampling": False}
        results = [
            self._best_segmentations(text_of(each), settings)
            for each in (input if isinstance(input, list) else [input])
        ]
        return results if isinstance(input, list) else results[0]

    def _best_segmentations(self, text: str | bytes, options: dict[str, Any]) -> Any:
        if options["kind"] == "offset_mapping":
            raise ValueError("unknown return_type=offset_mapping")
        ways = self._spm.best(text, options["nbest_size"])
        self._check_options(options)
        if options["kind"] in ("proto", "serialized_proto"):
            from .sentencepiece_pb2 import NBestSentencePieceText

            whole = NBestSentencePieceText()
            for ids, score in ways:
                whole.nbests.append(proto_of(self._spm.cut(text, ids, score), scored=True))
            return whole if options["kind"] == "proto" else whole.SerializeToString()
        return [self._shown(text, ids, score, options) for ids, score in ways]

    def SampleEncodeAndScore(self, *args: Any, **kwargs: Any) -> Any:
        """Not here."""
        raise NotHere("SampleEncodeAndScore", "call nbest_encode_as_proto, which gives scores", "sentencepiece")

    def Decode(self, input: Any, *args: Any, **options: Any) -> Any:
        """The text of ids or pieces in the requested form; for a list of lists, one result for each."""
        kwargs = bind_arguments("decode", OF_DECODE, args, options)
        kind = self._resolve_kind(kwargs.get("return_type"), kwargs.get("out_type"), str)
        as_bytes = kwargs.get("return_bytes")
        if kind in (int, "numpy") or (as_bytes is not None and kind != "offset_mapping"):
            raise ValueError(f"return_type {kind} does not fit; return_bytes is only supported with 'offset_mapping'")
        if input is None or (isinstance(input, (str, bytes)) and not input):
            input = []
        if isinstance(input, (str, bytes)) or not hasattr(input, "__len__"):
            input = [input]
        rows = [*input]
        if rows and hasattr(rows[0], "__len__") and not isinstance(rows[0], (str, bytes)):
            first = next((row[0] for row in rows if len(row)), 0)
            return [self._decode_row([*row], kind, as_bytes, type(first)) for row in rows]
        return self._decode_row(rows, kind, as_bytes, type(rows[0]) if rows else int)

    def _decode_row(self, row: Sequence[Any], kind: Any, as_bytes: bool | None, args: type) -> Any:
        """The text of one list of ids or pieces; `args` is the type of its first item."""
        spm = self._spm
        if issubclass(args, (str, bytes)):
            pieces = [each if isinstance(each, bytes) else each.encode() for each in row]
            whole = spm.decode_pieces([(each, spm.id_of(each.decode("utf-8", "replace"))) for each in pieces])
        else:
            ids = [self._checked(each) for each in row]
            if kind in (str, bytes):
                text = spm.decode(ids)
                return text if kind is bytes else text.decode()
            whole = spm.decode_pieces([(spm.pieces[id].encode(), id) for id in ids])
        in_bytes = issubclass(args, bytes)
        if kind in (str, bytes):
            return whole.text if kind is bytes or in_bytes else whole.text.decode()
        if kind == "offset_mapping":
            return offset_mapping(whole, in_bytes or bool(as_bytes), with_text=True)
        proto = proto_of(whole)
        return proto if kind == "proto" else proto.SerializeToString()

    def _checked(self, id: Any) -> int:
        """A valid id of the model, or an error."""
        if isinstance(id, bool) or not isinstance(id, (int, np.integer)):
            raise TypeError(f"expected an id, not {type(id).__name__}")
        if not 0 <= id < self._spm.size:
            raise IndexError(f"piece id {id} is out of range: the model has the ids 0 to {self._spm.size - 1}")
        return int(id)

    def _of_ids(self, ids: Any, function: Callable[[int], Any]) -> Any:
        """The result of a function for an id, or for each id of a list."""
        if isinstance(ids, (list, tuple, np.ndarray)):
            return [function(self._checked(id)) for id in ids]
        return function(self._checked(ids))

    def Normalize(self, input: Any, with_offsets: bool | None = None) -> Any:
        """The normalized text, and the source of each of its characters; for a list, one result for each text."""
        if isinstance(input, list):
            return [self.Normalize(each, with_offsets) for each in input]
        text = text_of(input)
        data = text if isinstance(text, bytes) else text.encode()
        rewritten, starts = self._spm.normalizer.rewrite(data)
        if isinstance(text, bytes):
            return (rewritten, starts) if with_offsets else rewritten
        result = rewritten.decode()
        return (result, [*character_starts(data, rewritten, starts)]) if with_offsets else result

    def GetPieceSize(self) -> int:
        """The number of pieces."""
        return self._spm.size

    def PieceToId(self, piece: Any) -> Any:
        """The id of a piece, the unknown id for an unknown piece; for a list, one id for each."""
        if isinstance(piece, (list, tuple)):
            return [self.PieceToId(each) for each in piece]
        if not isinstance(piece, (str, bytes)):
            raise TypeError(f"expected a piece, not {type(piece).__name__}")
        return self._spm.id_of(piece if isinstance(piece, str) else piece.decode("utf-8", "replace"))

    def IdToPiece(self, id: Any) -> Any:
        """The piece of an id; for a list, one piece for each."""
        return self._of_ids(id, self._spm.pieces.__getitem__)

    def GetScore(self, id: Any) -> Any:
        """The score of an id; for a list, one score for each."""
        return self._of_ids(id, self._spm.scores.__getitem__)

    def IsUnknown(self, id: Any) -> Any:
        """Whether an id is the unknown id."""
        return self._of_ids(id, self._spm.is_unknown)

    def IsControl(self, id: Any) -> Any:
        """Whether an id is a control piece, such as `<s>`."""
        return self._of_ids(id, lambda each: self._spm.types[each] == CONTROL)

    def IsUnused(self, id: Any) -> Any:
        """Whether an id is unused: no text encodes to it."""
        return self._of_ids(id, lambda each: self._spm.types[each] == UNUSED)

    def IsByte(self, id: Any) -> Any:
        """Whether an id is a byte."""
        return self._of_ids(id, lambda each: each in self._spm.bytes)

    def unk_id(self) -> int:
        """The id of the unknown piece."""
        return self._spm.unknown

    def bos_id(self) -> int:
        """The id of `<s>`, -1 for none."""
        return self._spm.around["bos"]

    def eos_id(self) -> int:
        """The id of `</s>`, -1 for none."""
        return self._spm.around["eos"]

    def pad_id(self) -> int:
        """The id of `<pad>`, -1 for none."""
        return self._spm.around["pad"]

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
        if isinstance(state, bytes):  # from old versions
            SentencePieceProcessor.__init__(self)
            state = {"_model": state}
        self.__dict__.update(state)
        if (data := state["_model"]) is not None:
            self._model = SpmModel(data, "the model")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_options" not in self.__dict__:
            raise AttributeError(name)
        methods = [each for each in dir(type(self)) if each[0].isupper()]
        raise NotHere(f"SentencePieceProcessor.{name}", f"it has {', '.join(methods)}", "sentencepiece")


def text_of(value: Any) -> str | bytes:
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"expected a str or bytes, not {type(value).__name__}")
    return value


def proto_of(text: Text, scored: bool = False) -> Any:
    """The message of a text and its pieces."""
    from .sentencepiece_pb2 import SentencePieceText

    proto = SentencePieceText(text=text.text)
    if scored:
        proto.score = text.score
    for each in text.pieces:
        proto.pieces.add(**{name: value for name, value in each._asdict().items() if value is not None})
    return proto


def characters_before(text: bytes) -> list[int]:
    """For each byte, the number of characters that begin before it; an invalid byte counts as one."""
    counts = [0]
    at = 0
    while at < len(text):
        width = character_width(text, at) or 1
        counts += [counts[-1]] * (width - 1) + [counts[-1] + 1]
        at += width
    return counts


def character_starts(text: bytes, surface: bytes, starts: Sequence[int]) -> Iterable[int]:
    """The source character of each character of a normalized text, and the end of the source."""
    counts = characters_before(text)
    places = [at for at, byte in enumerate(surface) if byte & 0xC0 != 0x80]
    return [counts[starts[at]] for at in [*places, len(surface)]] if starts else [0]


def offset_mapping(text: Text, as_bytes: bool, with_text: bool) -> dict[str, Any]:
    """Ids, pieces and offsets by name: offsets in characters with texts, or in bytes."""
    result = {"text": text.text if as_bytes else text.text.decode()} if with_text else {}
    ids = [each.id for each in text.pieces]
    if as_bytes:
        pieces = [each.piece for each in text.pieces]
        return {**result, "ids": ids, "pieces": pieces, "offsets": [(each.begin, each.end) for each in text.pieces]}
    counts = characters_before(text.text)
    if any(each.end >= len(counts) for each in text.pieces):
        raise ValueError("the denormalizer made the text shorter than the offsets of its pieces")
    offsets = [(counts[each.begin], counts[each.end]) for each in text.pieces]
    return {**result, "ids": ids, "pieces": [each.piece.decode() for each in text.pieces], "offsets": offsets}


def method_variant(
    method: Callable[..., Any], kind: Any, names: Sequence[str] = (), **fixed: Any
) -> Callable[..., Any]:
    """A method that returns one type; `names` are its positional arguments, `fixed` its fixed ones."""

    def call(self: Any, input: Any, *args: Any, **options: Any) -> Any:
        if len(args) > len(names):
            raise TypeError(f"{method.__name__}: takes {', '.join(names) or 'no argument'} by place; name the others")
        return method(self, input, return_type=kind, **fixed, **dict(zip(names, args, strict=False)), **options)

    return call


def name_methods() -> None:
    """Add the methods named after their result, and all names with underscores, to the processor."""
    kinds = {"Pieces": str, "Ids": int, "Numpy": "numpy", "Proto": "proto", "OffsetMapping": "offset_mapping"}
    owner = SentencePieceProcessor
    for name, kind in kinds.items():
        setattr(owner, f"EncodeAs{name}", method_variant(owner.Encode, kind))
        setattr(
            owner,
            f"SampleEncodeAs{name}",
            method_variant(owner.Encode, kind, ("nbest_size", "alpha"), enable_sampling=True),
        )
        setattr(owner, f"NBestEncodeAs{name}", method_variant(owner.NBestEncode, kind, ("nbest_size",)))
        setattr(owner, f"ParallelEncodeAs{name}", method_variant(owner.ParallelEncode, kind))
    for name in ("Pieces", "Ids"):
        setattr(owner, f"Decode{name}", owner.Decode)
        setattr(owner, f"Decode{name}AsProto", method_variant(owner.Decode, "proto"))
    owner.Tokenize, owner.Detokenize = owner.Encode, owner.Decode  # type: ignore[attr-defined]
    for name in [each for each in dir(owner) if each[0].isupper()]:
        snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.replace("NBest", "Nbest")).lower()
        setattr(owner, snake, getattr(owner, name))
    owner.piece_size = owner.vocab_size = owner.GetPieceSize  # type: ignore[attr-defined]


name_methods()
