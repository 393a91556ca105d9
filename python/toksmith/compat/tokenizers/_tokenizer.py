"""`tokenizers.Tokenizer`: a mutable tokenizer.json that runs on toksmith's engine.

The state is JSON. The engine is built from it on first use, and again after a change.
"""

from __future__ import annotations

import asyncio
import copy
import json
import operator
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial, wraps
from typing import Any, cast

import numpy as np

from ..._base.arguments import check_items
from ..._formats import FORMATS
from ..._formats.hf_numbers import read_number
from ..._sources.hub import download_from_hub
from ..._tokenizer.tokenizer import Tokenizer as OwnTokenizer
from . import _lengths
from ._added import AddedToken, AddedTokens
from ._encoding import Encoding, Fixed, Late, Run
from ._parts import MANY, MOST, NotHere, Part, format_value
from ._runtime import Runtime
from .decoders import Decoder
from .models import BPE, Model, with_all_fields
from .normalizers import Normalizer
from .pre_tokenizers import PreTokenizer
from .processors import PostProcessor, TemplateProcessing

ROLES: Mapping[str, Any] = {
    "normalizer": Normalizer,
    "pre_tokenizer": PreTokenizer,
    "post_processor": PostProcessor,
    "decoder": Decoder,
}


def part_property(name: str, doc: str) -> Any:
    """The property for the part of a role."""

    def put(tok: Tokenizer, part: Any) -> None:
        tok._parts[name] = ROLES[name].taken(part)
        tok._changed()

    return property(lambda tok: tok._parts[name], put, doc=doc)


def in_thread(method: Callable[..., Any]) -> Any:
    """The async method that runs another method in a thread."""

    @wraps(method)
    async def call(*args: Any, **options: Any) -> Any:
        return await asyncio.to_thread(method, *args, **options)

    return call


class Tokenizer:
    """A tokenizer with the interface of `tokenizers.Tokenizer`.

    Args:
        model: A model; or a `toksmith.Tokenizer` that tokenizer.json can hold.
        allow_loss: As in `toksmith.Tokenizer.save`; the engine then runs the
            content of tokenizer.json.

    >>> import toksmith
    >>> from toksmith.compat import tokenizers
    >>> own = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> tok = tokenizers.Tokenizer(own)
    >>> tok.encode("slow").tokens, tok.encode("slow").offsets
    (['s', 'low'], [(0, 1), (1, 4)])
    """

    def __init__(self, model: Any, *, allow_loss: Collection[str] = ()) -> None:
        self._parts: dict[str, Any] = dict.fromkeys(ROLES)
        self._truncation: dict[str, Any] | None = None
        self._padding: dict[str, Any] | None = None
        self._added = AddedTokens()
        self.encode_special_tokens = False  # whether special tokens in a text are ordinary text
        self._runtime: Runtime | None = None
        self._built: tuple[Any, ...] = ()
        self._seen = -1
        if isinstance(model, OwnTokenizer):
            data = cast("bytes", FORMATS["tokenizer_json"].save(model.model, allow_loss=allow_loss))
            self._load_json(json.loads(data, parse_float=read_number))
            if not allow_loss:
                self._runtime, self._built = Runtime(self._json(), model), self._content()
            return
        self._model: Model = Model.taken(model)
        if self._model is None:
            raise TypeError("model: expected a model, not None")

    def _load_json(self, value: Any) -> None:
        if not isinstance(value, dict) or not isinstance(value.get("model"), dict):
            raise ValueError("expected the JSON of a tokenizer, an object with a model")  # noqa: TRY004 - as there
        self._model = Model.of(with_all_fields(value["model"]))
        for name, role in ROLES.items():
            self._parts[name] = role.of(value.get(name))
        self._truncation, self._padding = value.get("truncation"), value.get("padding")
        tokens = [{name: each[name] for name in each if name != "id"} for each in value.get("added_tokens") or ()]
        self._added.add([AddedToken(**each) for each in tokens], self._model.ids)

    @staticmethod
    def from_str(json: str) -> Tokenizer:
        """The tokenizer in a JSON text."""
        tok = object.__new__(Tokenizer)
        tok.__setstate__(json)
        return tok

    @staticmethod
    def from_buffer(buffer: bytes) -> Tokenizer:
        """The tokenizer in the bytes of a JSON text."""
        return Tokenizer.from_str(bytes(buffer).decode())

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> Tokenizer:
        """The tokenizer in a file."""
        with open(path, encoding="utf-8") as file:
            return Tokenizer.from_str(file.read())

    @staticmethod
    def from_pretrained(identifier: str, revision: str = "main", token: str | None = None) -> Tokenizer:
        """The tokenizer of a local folder, or of a hub repository; its cache comes first."""
        path = os.path.join(identifier, "tokenizer.json")
        if os.path.isfile(path):
            return Tokenizer.from_file(path)
        if token is not None:
            raise NotHere("the argument token of Tokenizer.from_pretrained", "set the variable HF_TOKEN")
        file = download_from_hub(identifier, revision)
        if file.name != "tokenizer.json":
            raise NotHere(f"a way to read {file.name} of {identifier}", "call Tokenizer(toksmith.load(identifier))")
        return Tokenizer.from_file(file)

    def _json(self) -> dict[str, Any]:
        parts = {name: None if part is None else part.data for name, part in self._parts.items()}
        lengths = {"truncation": self._truncation, "padding": self._padding}
        model = self._model.data
        return {"version": "1.0", **lengths, "added_tokens": self._added.to_json(), **parts, "model": model}

    def _content(self) -> tuple[Any, ...]:
        """The inputs of the engine, to detect changes."""
        parts = [
            None if self._parts[name] is None else self._parts[name].data for name in ROLES if name != "post_processor"
        ]
        fields = {name: value for name, value in self._model.data.items() if name not in ("vocab", "merges")}
        return json.dumps([parts, fields, self._added.to_json()]), self._model.data["vocab"]

    def _current_runtime(self) -> Runtime:
        """The runtime of the current state."""
        if self._runtime is None or self._seen != Part.changes:
            content = self._content()
            same = self._built and self._built[0] == content[0] and self._built[1] is content[1]
            if self._runtime is None or not same:
                others = {"truncation": None, "padding": None, "post_processor": None, "model": None}
                copied = copy.deepcopy({**self._json(), **others})  # without the vocabulary, which is never changed
                self._runtime, self._built = Runtime({**copied, "model": dict(self._model.data)}), content
            self._seen = Part.changes
        return self._runtime

    @property
    def own(self) -> OwnTokenizer:
        """The `toksmith.Tokenizer` that runs this one, with its post-processing."""
        around = self._json()["post_processor"]
        if around == TemplateProcessing().data:
            around = None  # no tokens around texts
        post = {"truncation": self._truncation, "padding": self._padding, "post_processor": around}
        return self._current_runtime().with_post(post)

    def _changed(self) -> None:
        self._seen = -1

    # The parts.

    @property
    def model(self) -> Any:
        """The part that turns pieces into ids."""
        return self._model

    @model.setter
    def model(self, model: Any) -> None:
        self._model = Model.taken(model)
        self._changed()

    normalizer = part_property("normalizer", "The part that rewrites texts, or None.")
    pre_tokenizer = part_property("pre_tokenizer", "The part that splits texts, or None.")
    post_processor = part_property("post_processor", "The part that puts tokens around texts, or None.")
    decoder = part_property("decoder", "The part that turns tokens into texts, or None.")

    # Encoding.

    def encode(
        self, sequence: Any, pair: Any = None, is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> Encoding:
        """The encoding of a text, or of two."""
        texts = [check_text(each, is_pretokenized) for each in ([sequence] if pair is None else [sequence, pair])]
        return self._encoded([texts], is_pretokenized, add_special_tokens)[0]

    def encode_batch(
        self, input: Iterable[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """The encoding of each text or pair of texts."""
        rows = [check_row(each, is_pretokenized) for each in check_batch(input)]
        return self._encoded(rows, is_pretokenized, add_special_tokens)

    def encode_batch_fast(
        self, input: Iterable[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """The same without tokens, offsets and words."""
        rows = [check_row(each, is_pretokenized) for each in check_batch(input)]
        return self._encoded(rows, is_pretokenized, add_special_tokens, only_ids=True)

    def _encoded(self, rows: list[list[Any]], words: bool, put: bool, *, only_ids: bool = False) -> list[Encoding]:
        """The encodings of rows of one or two texts."""
        self._model.refuse_sampling()
        runtime = self._current_runtime()
        flat = [word for row in rows for text in row for word in (text if words else [text])]
        ids = iter(runtime.ids(flat, self.encode_special_tokens))
        texts = []
        for row in rows:
            runs = []
            for place, text in enumerate(row):
                source = source_of(runtime, text, ids, words, self.encode_special_tokens)
                whole = Run(
                    Fixed.from_ids(source.ids) if only_ids else source, 0, len(source.ids), 0 if only_ids else place
                )
                runs.append(whole)
            texts.append([Encoding([run]) for run in runs])
        encodings = [self._post_process_texts(row, put) for row in texts]
        if self._padding is not None:
            _lengths.pad_together(encodings, cast("dict[str, Any]", self.padding))
        return encodings

    def _post_process_texts(self, texts: list[Encoding], put: bool) -> Encoding:
        """Texts truncated to their length, with tokens around them."""
        pair = texts[1] if len(texts) == 2 else None
        if self._truncation is not None:
            more = self.num_special_tokens_to_add(pair is not None) if put else 0
            most = self._truncation["max_length"] - more
            if most >= 0:  # as in the library: no truncation where special tokens alone are too many
                _lengths.truncate_together(texts, most, cast("dict[str, Any]", self.truncation))
        if self.post_processor is None and pair is None:
            return texts[0]
        if self.post_processor is None:
            for place, each in enumerate(texts):
                each.set_sequence_id(place)
            return Encoding.merge(texts, growing_offsets=False)
        return cast("Encoding", self.post_processor.process(texts[0], pair, put))

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """One or two encodings, truncated, with tokens around them, and padded."""
        texts = [each.copy() for each in (encoding, pair) if each is not None]
        framed = self._post_process_texts(texts, add_special_tokens)
        if self._padding is not None:
            _lengths.pad_together([framed], cast("dict[str, Any]", self.padding))
        return framed

    async_encode = in_thread(encode)
    async_encode_batch = in_thread(encode_batch)
    async_encode_batch_fast = in_thread(encode_batch_fast)

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """The number of ids around one text, or around two."""
        return 0 if self.post_processor is None else int(self.post_processor.num_special_tokens_to_add(is_pair))

    # Decoding.

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = True) -> str:
        """The text of ids; ids without a token are left out."""
        return self.decode_batch([ids], skip_special_tokens)[0]

    def decode_batch(self, sequences: Iterable[Iterable[int]], skip_special_tokens: bool = True) -> list[str]:
        """The text of each list of ids."""
        runtime = self._current_runtime()
        rows = []
        for ids in sequences:
            numbers = map(operator.index, check_items(ids, "ids", "a list of int"))
            tokens = [(id, runtime.written.get(id)) for id in numbers]
            skipped = self._added.special if skip_special_tokens else ()
            rows.append([id for id, token in tokens if token is not None and token not in skipped])
        return runtime.tok.decode_batch(rows)

    async_decode_batch = in_thread(decode_batch)

    # The vocabulary.

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """The ids of all tokens."""
        return {**self._model.ids, **(self._added.ids if with_added_tokens else {})}

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """The number of tokens."""
        vocab = self._model.ids
        return len(vocab) + (sum(token not in vocab for token in self._added.ids) if with_added_tokens else 0)

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """The added tokens by id."""
        return {id: copy.copy(self._added.by_id[id]) for id in sorted(self._added.by_id)}

    def token_to_id(self, token: str) -> int | None:
        """The id of a token."""
        token_id = self._added.ids.get(token)
        return self._model.token_to_id(token) if token_id is None else token_id

    def id_to_token(self, id: int) -> str | None:
        """The token of an id; an added token that matches normalized text is normalized."""
        if id < 0:
            raise OverflowError("can't convert negative int to unsigned")
        added = self._added.by_id.get(id)
        if added is None:
            return self._model.id_to_token(id)
        is_normalized = added.normalized and self.normalizer is not None
        return self.normalizer.normalize_str(added.content) if is_normalized else added.content

    def add_tokens(self, tokens: Sequence[Any]) -> int:
        """Add tokens; return the number of new ones."""
        return self._add(tokens, special=False)

    def add_special_tokens(self, tokens: Sequence[Any]) -> int:
        """Add special tokens; return the number of new ones."""
        return self._add(tokens, special=True)

    def _add(self, tokens: Sequence[Any], *, special: bool) -> int:
        added = []
        for token in check_items(tokens, "tokens", "a list of str or AddedToken"):
            if special and not isinstance(token, str):
                token.special = True
            added.append(AddedToken.taken(token, special))
        self._changed()
        return self._added.add(added, self._model.ids)

    # Truncation and padding.

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The truncation options, or None."""
        return _lengths.truncation_of(self._truncation)

    def enable_truncation(
        self, max_length: int, stride: int = 0, strategy: str = "longest_first", direction: str = "right"
    ) -> None:
        """Truncate texts from now on."""
        options = _lengths.truncation_json(max_length, stride, strategy, direction)
        more = self.num_special_tokens_to_add(False)
        if max_length - more < stride and max_length >= more:
            raise ValueError(
                f"tokenizer stride set to {stride}, which is greater than or equal to its effective max length of "
                f"{max_length - more} (= {max_length} original max length - {more} added special tokens), "
            )
        self._truncation = options

    def no_truncation(self) -> None:
        """Stop truncating."""
        self._truncation = None

    @property
    def padding(self) -> dict[str, Any] | None:
        """The padding options, or None."""
        return _lengths.padding_of(self._padding)

    def enable_padding(
        self,
        *,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: int | None = None,
        pad_to_multiple_of: int | None = None,
    ) -> None:
        """Pad encodings from now on."""
        self._padding = {
            "strategy": "BatchLongest" if length is None else {"Fixed": length},
            "direction": _lengths.json_choice("direction", direction, _lengths.SIDES),
            "pad_to_multiple_of": pad_to_multiple_of,
            "pad_id": pad_id,
            "pad_type_id": pad_type_id,
            "pad_token": pad_token,
        }

    def no_padding(self) -> None:
        """Stop padding."""
        self._padding = None

    # Files and training.

    def to_str(self, pretty: bool = False) -> str:
        """The JSON of the tokenizer."""
        value = self._json()
        if isinstance(value["model"]["vocab"], dict):
            vocab = dict(sorted(value["model"]["vocab"].items(), key=lambda pair: pair[1]))
            value["model"] = {**value["model"], "vocab": vocab}
        return json.dumps(
            value, ensure_ascii=False, indent=2 if pretty else None, separators=None if pretty else (",", ":")
        )

    def save(self, path: str | os.PathLike[str], pretty: bool = True) -> None:
        """Write the JSON of the tokenizer."""
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(self.to_str(pretty))

    def train_from_iterator(self, iterator: Iterable[Any], trainer: Any = None, length: int | None = None) -> None:
        """Train the model on texts, or lists of texts; the trainer's special tokens become the added tokens."""
        from ._training import train_model

        self._model, tokens = train_model(self, iterator, trainer)
        self._added = AddedTokens()
        self._changed()
        self._add(tokens, special=False)

    def train(self, files: Sequence[str], trainer: Any = None) -> None:
        """Train the model on the lines of files."""
        self.train_from_iterator(lines(files), trainer)

    def __getstate__(self) -> bytes:
        return self.to_str().encode()

    def __setstate__(self, state: str | bytes) -> None:
        Tokenizer.__init__(self, BPE())
        self._load_json(json.loads(state, parse_float=read_number))

    def __getnewargs__(self) -> tuple[Any, ...]:
        return ()

    def __deepcopy__(self, memo: object) -> Tokenizer:
        copied = object.__new__(Tokenizer)
        copied.__dict__.update(self.__dict__)
        for name in ("_parts", "_model", "_added", "_truncation", "_padding"):
            setattr(copied, name, copy.deepcopy(getattr(self, name)))
        return copied

    __copy__ = None

    def __repr__(self) -> str:
        return format_value({"type": "Tokenizer", **self._json()}, MANY)

    def __str__(self) -> str:
        return format_value({"type": "Tokenizer", **self._json()}, MOST)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotHere(f"Tokenizer.{name}", "docs/clients.md lists what there is")


LISTS = (list, tuple, np.ndarray)


def check_text(value: Any, words: bool) -> Any:
    if not words:
        if not isinstance(value, str):
            raise TypeError("TextInputSequence must be str")
        return str(value)
    if not isinstance(value, LISTS) or not all(isinstance(word, str) for word in value):
        raise TypeError("PreTokenizedInputSequence must be Union[List[str], Tuple[str]]")
    return [str(word) for word in value]


def check_row(value: Any, words: bool) -> list[Any]:
    """A text or a pair of texts, as one member of a batch."""
    if not words:
        if isinstance(value, str):
            return [str(value)]
        if isinstance(value, LISTS) and len(value) == 2 and all(isinstance(each, str) for each in value):
            return [str(each) for each in value]
        raise TypeError("TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]")
    if isinstance(value, LISTS):
        if all(isinstance(word, str) for word in value):
            return [[str(word) for word in value]]
        if len(value) == 2 and all(isinstance(each, LISTS) for each in value):
            return [check_text(each, True) for each in value]
    problem = "PreTokenizedEncodeInput must be Union[PreTokenizedInputSequence, Tuple[PreTokenizedInputSequence, "
    raise TypeError(problem + "PreTokenizedInputSequence]]")


def check_batch(value: Any) -> Iterable[Any]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise TypeError(f"expected a list of texts or of pairs of texts, not {type(value).__name__}")
    return value


def source_of(runtime: Runtime, text: Any, ids: Iterator[list[int]], words: bool, as_text: bool) -> Late:
    """The columns of a text, or of words that were given one by one, which are numbered."""
    if not words:
        text_ids = next(ids)
        return Late(
            text_ids,
            partial(runtime.columns, text, as_text),
            place=partial(runtime.places, text, text_ids, as_text),
            write=partial(runtime.tokens_alone, text_ids),
        )
    parts = [source_of(runtime, word, ids, False, as_text) for word in text]

    all_ids = [id for each in parts for id in each.ids]

    def join_words() -> Fixed:
        tokens = [token for each in parts for token in each.tokens]
        offsets = [place for each in parts for place in each.offsets]
        return Fixed(all_ids, tokens, offsets, [number for number, each in enumerate(parts) for _ in each.ids])

    return Late(all_ids, join_words)


def lines(files: Sequence[str]) -> Iterator[str]:
    """The lines of files with their ends."""
    for path in files:
        with open(path, encoding="utf-8", newline="") as file:
            yield from file
