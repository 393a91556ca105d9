"""The calls of transformers' fast tokenizers that an engine runs: `__call__`, `_encode_plus`, `tokenize` and `_decode`.

Texts with the usual options take the short way in `encode_texts`: ids, masks and types, and encodings that are computed
when they are used. All other options take transformers' own method on a copy of the tokenizer that has our drop-in for its
backend. What raises an error there goes to the library, which raises its own.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import tokenizers
from transformers import BatchEncoding
from transformers.tokenization_utils_base import TruncationStrategy
from transformers.tokenization_utils_tokenizers import TokenizersBackend
from transformers.utils import PaddingStrategy

from .attached import current_engine, lay_aside
from .engine import Engine
from .layouts import NO_FRAME, Arrays, Lists, TextOptions, make_tensor

__all__ = ["patch", "unpatch"]

NO_PADDING, NO_TRUNCATION = PaddingStrategy.DO_NOT_PAD, TruncationStrategy.DO_NOT_TRUNCATE
SIMPLE_TRUNCATION = (NO_TRUNCATION, TruncationStrategy.LONGEST_FIRST, TruncationStrategy.ONLY_FIRST)
own_encode_plus, own_decode = TokenizersBackend._encode_plus, TokenizersBackend._decode
own_lengths, own_convert = TokenizersBackend.set_truncation_and_padding, TokenizersBackend._convert_encoding
own_call, own_warning = TokenizersBackend.__call__, TokenizersBackend._eventual_warn_about_too_long_sequence
own_tokenize = TokenizersBackend.tokenize
own_strategies = TokenizersBackend._get_padding_truncation_strategies
# The options that `__call__` hands on as they are, and those that it turns into strategies.
HANDED_ON = frozenset(
    {
        "add_special_tokens",
        "is_split_into_words",
        "pad_to_multiple_of",
        "padding_side",
        "return_attention_mask",
        "return_length",
        "return_offsets_mapping",
        "return_overflowing_tokens",
        "return_special_tokens_mask",
        "return_tensors",
        "return_token_type_ids",
        "sanitize_control_tokens",
        "split_special_tokens",
        "stride",
        "verbose",
    }
)
LENGTHS = {"padding": False, "truncation": None, "max_length": None}
SHORT = 4096  # characters of a call
BARE = {as_text: TextOptions(None, None, as_text) for as_text in (False, True)}
check_every: int | None = None  # one call of this many is compared with the library


class LateEncodings(Sequence[Any]):
    """The `Encoding` of each text of a call, computed at first use."""

    __slots__ = ("engine", "made", "options", "put", "texts")

    def __init__(self, engine: Engine, texts: str | list[str], put: bool, options: TextOptions) -> None:
        self.engine, self.texts, self.put, self.options = engine, texts, put, options
        self.made: list[Any] | None = None

    def make(self) -> list[Any]:
        if self.made is None:
            texts = [self.texts] if isinstance(self.texts, str) else self.texts
            self.made = self.engine.with_options(self.options).encode_batch(texts, add_special_tokens=self.put)
        return self.made

    def __getitem__(self, index: Any) -> Any:
        return self.make()[index]

    def __len__(self) -> int:
        return 1 if isinstance(self.texts, str) else len(self.texts)

    def __reduce__(self) -> tuple[Any, ...]:
        return list, ([*map(make_library_encoding, self.make())],)


class MadeEncodings(list[Any]):
    """Encodings that are computed already; pickles hold the library's, as those of `LateEncodings`."""

    def __reduce__(self) -> tuple[Any, ...]:
        return list, ([*map(make_library_encoding, self)],)


def make_library_encoding(encoding: Any) -> tokenizers.Encoding:
    """The library's `Encoding`, for pickles: they must load where toksmith is missing."""
    made = tokenizers.Encoding()
    made.__setstate__(json.dumps(dump_encoding(encoding)).encode())
    return made


def dump_encoding(encoding: Any) -> dict[str, Any]:
    names = ("ids", "type_ids", "tokens", "offsets", "special_tokens_mask", "attention_mask")
    columns = {name: getattr(encoding, name) for name in names}
    ranges = {str(text): {"start": start, "end": stop} for text, (start, stop) in encoding._ranges.items()}
    more = {"words": encoding.word_ids, "sequence_ranges": ranges}
    return {**columns, **more, "overflowing": [*map(dump_encoding, encoding.overflowing)]}


def call(self: Any, text: Any = None, *more: Any, **options: Any) -> Any:
    """In place of `__call__`, which takes longer than encoding a short text."""
    lengths = options.keys() & LENGTHS
    if more or text is None or not options.keys() - lengths <= HANDED_ON or not is_plain(self.__class__):
        return own_call(self, text, *more, **options)
    if lengths:
        given = {name: options.pop(name, default) for name, default in LENGTHS.items()}
        multiple, verbose = options.get("pad_to_multiple_of"), options.get("verbose", True)
        found = self._get_padding_truncation_strategies(pad_to_multiple_of=multiple, verbose=verbose, **given)
        options["padding_strategy"], options["truncation_strategy"], options["max_length"], _ = found
    return encode_plus(self, text, **options)


def encode_plus(self: Any, text: Any, text_pair: Any = None, *more: Any, **options: Any) -> Any:
    """In place of `TokenizersBackend._encode_plus`."""
    put = options.get("add_special_tokens", True)
    is_ours = (put is True or put is False) and not more and not options.get("sanitize_control_tokens")
    engine = current_engine(self._tokenizer, self) if is_ours else None
    if engine is None:
        return own_encode_plus(self, text, text_pair, *more, **options)
    engine.calls += 1
    try:
        result = encode_texts(self, engine, text, text_pair, options)
        if result is None:
            result = encode_on_copy(self, engine, text, text_pair, options)
    except Exception:  # noqa: BLE001 - the library raises its own error, or has a result
        engine.returned += 1
        return own_encode_plus(self, text, text_pair, **options)
    if is_checked(engine.calls):
        theirs = own_encode_plus(self, text, text_pair, **options)
        if list_values(result) != list_values(theirs):
            lay_aside(engine, self, f"a call in use gave other values than the library, for {text!r}")
            return theirs
    return result


def encode_texts(tok: Any, engine: Engine, text: Any, text_pair: Any, options: dict[str, Any]) -> Any:
    """The result for one text or a list of texts with the usual options; None for anything else."""
    is_one = type(text) is str
    texts = [text] if is_one else text
    if text_pair is not None or not (is_one or (type(texts) is list and {*map(type, texts)} == {str})):
        return None
    get = options.get
    put = get("add_special_tokens", True)
    if (
        (options and not has_usual_options(options))
        or not is_plain(tok.__class__)
        or (frame := engine.frames[put]) is None
    ):
        return None
    done = put_options(tok, options)
    tensors = get("return_tensors")
    if tensors not in (None, "np", "pt") or (done.truncation is not None and done.truncation["stride"]):
        return None
    before, after, (first, inner, last) = frame
    sizes = engine.more if put else 0, len(before) + len(after)
    made: Any
    if tensors is None or sum(map(len, texts)) < SHORT:
        made = Lists(engine.encode(texts, done.as_text), done, *sizes)
    else:  # arrays cost more to begin with, and then less for each id
        made = Arrays(engine.encode_flat(texts, done.as_text), done, *sizes)
    names = tok.model_input_names
    data = {"input_ids": made.column(before, None, after, tok.pad_token_id if done.padding else 0)}
    if wants_column(options, "token_type_ids", names):
        types = [first] * len(before), inner, [last] * len(after)
        data["token_type_ids"] = made.column(*types, tok.pad_token_type_id)
    if wants_column(options, "attention_mask", names):
        data["attention_mask"] = made.column([1] * len(before), 1, [1] * len(after), 0)
    if get("return_special_tokens_mask"):
        data["special_tokens_mask"] = made.column([1] * len(before), 0, [1] * len(after), 1)
    late = LateEncodings(engine, text if is_one else [*text], put, done)
    if get("return_offsets_mapping"):
        data["offset_mapping"] = [encoding.offsets for encoding in late.make()]
    if get("return_length"):
        data["length"] = made.lengths()
    if get("max_length") is None:
        for ids in data["input_ids"]:
            if len(ids) > tok.model_max_length:
                tok._eventual_warn_about_too_long_sequence(ids, None, get("verbose", True))
    if tensors is not None:
        data = {name: make_tensor(values, tensors) for name, values in data.items()}
    elif is_one:
        data = {name: values if name == "length" else values[0] for name, values in data.items()}
    return make_result(data, late)


def tokenize(self: Any, text: Any, pair: Any = None, add_special_tokens: Any = False, **more: Any) -> Any:
    """In place of `TokenizersBackend.tokenize`, which makes an encoding; programs that split texts ask for each word."""
    is_usual = type(text) is str and pair is None and add_special_tokens is False and not more
    engine = current_engine(self._tokenizer, self) if is_usual and is_plain(self.__class__) else None
    if engine is not None and engine.frames[False] == NO_FRAME and not is_checked(engine.calls + 1):
        with suppress(Exception):  # an error comes again below
            tokens = engine.tokens_alone(engine.encode([text], put_options(self, {}).as_text)[0])
            if tokens is not None and len(tokens) <= self.model_max_length:
                engine.calls += 1
                return tokens
    return own_tokenize(self, text, pair, add_special_tokens, **more)


def has_usual_options(options: dict[str, Any]) -> bool:
    """Whether `encode_texts` knows what the options of a call ask for."""
    get = options.get
    return (
        type(get("padding_strategy", NO_PADDING)) is PaddingStrategy
        and get("truncation_strategy", NO_TRUNCATION) in SIMPLE_TRUNCATION
        and not get("is_split_into_words")
        and not get("return_overflowing_tokens")
    )


def wants_column(options: dict[str, Any], name: str, names: list[str]) -> bool:
    wanted = options.get(f"return_{name}")
    return name in names if wanted is None else bool(wanted)


def make_result(data: dict[str, Any], encodings: LateEncodings) -> Any:
    """`BatchEncoding(data, encodings, n_sequences=1)`; its constructor takes as long as encoding a short text."""
    result = BatchEncoding.__new__(BatchEncoding)
    result.data, result._encodings, result._n_sequences = data, encodings, 1
    return result


def put_options(tok: Any, options: dict[str, Any]) -> TextOptions:
    """Set the options of a call on the library's tokenizer, as every call of transformers does; it refuses wrong ones."""
    get, backend = options.get, tok._tokenizer
    padding, truncation = get("padding_strategy", NO_PADDING), get("truncation_strategy", NO_TRUNCATION)
    is_bare = padding is NO_PADDING and truncation is NO_TRUNCATION
    if not is_bare or backend.truncation is not None or backend.padding is not None or not is_plain(tok.__class__):
        given = {name: get(name) for name in ("max_length", "pad_to_multiple_of", "padding_side")}
        tok.set_truncation_and_padding(padding, truncation, stride=get("stride", 0), **given)
    split = get("split_special_tokens")
    as_text = tok.split_special_tokens if split is None else split
    if backend.encode_special_tokens != as_text:
        backend.encode_special_tokens = as_text
    if is_bare:
        return BARE[as_text]
    cuts = None if truncation is NO_TRUNCATION else backend.truncation
    return TextOptions(cuts, None if padding is NO_PADDING else backend.padding, as_text)


def encode_on_copy(tok: Any, engine: Engine, text: Any, text_pair: Any, options: dict[str, Any]) -> Any:
    """The result of transformers' own method, on a copy of the tokenizer with the drop-in."""
    backend = tok._tokenizer
    copied = object.__new__(type(tok))
    present = TextOptions(backend.truncation, backend.padding, backend.encode_special_tokens)
    dropin = engine.with_options(present)
    copied.__dict__.update(tok.__dict__, _tokenizer=dropin)
    if copied._tokenizer is not dropin:
        raise TypeError("a subclass has a _tokenizer of another kind, so the library runs this call")
    result = own_encode_plus(copied, text, text_pair, **options)
    put_options(tok, options)
    result._encodings = MadeEncodings(result._encodings)
    return result


def decode(
    self: Any, token_ids: Any, skip_special_tokens: Any = False, clean_up_tokenization_spaces: Any = None, **more: Any
) -> Any:
    """In place of `TokenizersBackend._decode`."""
    clean = self.clean_up_tokenization_spaces if clean_up_tokenization_spaces is None else clean_up_tokenization_spaces
    is_ours = not clean and type(token_ids) is list and (skip_special_tokens is True or skip_special_tokens is False)
    is_ours = is_ours and {*map(type, token_ids)} <= {int}
    engine = current_engine(self._tokenizer, self) if is_ours else None
    if engine is not None:
        engine.calls += 1
        try:
            text = engine.decode(token_ids, skip_special_tokens)
        except Exception:  # noqa: BLE001 - as above
            engine.returned += 1
        else:
            if not is_checked(engine.calls):
                return text
            theirs = own_decode(self, token_ids, skip_special_tokens, clean_up_tokenization_spaces, **more)
            if theirs != text:
                lay_aside(engine, self, f"ids in use were decoded to another text than by the library: {token_ids!r}")
            return theirs
    return own_decode(self, token_ids, skip_special_tokens, clean_up_tokenization_spaces, **more)


@cache
def is_plain(kind: Any) -> bool:
    """Whether a class has transformers' own methods between a call and the library."""
    return (
        kind.set_truncation_and_padding is own_lengths
        and kind._get_padding_truncation_strategies is own_strategies
        and kind._convert_encoding is own_convert
        and kind._encode_plus is encode_plus
        and kind._eventual_warn_about_too_long_sequence is own_warning
        and not hasattr(kind, "_switch_to_input_mode")
    )


def is_checked(number: int) -> bool:
    """Whether the library runs a call too."""
    return check_every is not None and number % check_every == 0


def list_values(result: Any) -> dict[str, Any]:
    return {name: each.tolist() if hasattr(each, "tolist") else each for name, each in result.items()}


def patch(every: int | None) -> None:
    """Send the calls of all fast tokenizers here; compare one of `every` with the library."""
    global check_every
    check_every = every
    TokenizersBackend._encode_plus, TokenizersBackend._decode = encode_plus, decode
    TokenizersBackend.__call__, TokenizersBackend.tokenize = call, tokenize
    is_plain.cache_clear()


def unpatch() -> None:
    TokenizersBackend._encode_plus, TokenizersBackend._decode = own_encode_plus, own_decode
    TokenizersBackend.__call__, TokenizersBackend.tokenize = own_call, own_tokenize
