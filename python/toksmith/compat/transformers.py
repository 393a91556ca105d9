"""transformers' interface: a folder that its fast class loads, and a slow class that runs the engine of this package.

`export` needs no transformers. `ToksmithTokenizer` extends `transformers.PreTrainedTokenizer` (version 5): padding, truncation,
tensors, templates of chats and everything else that is not tokenizing is transformers' own; ids, offsets and what is put
around texts are those of our engine. Special tokens in a text are found, as everywhere in transformers, unless
`split_special_tokens` says otherwise; an id without a token is an error and not skipped.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from .. import _formats
from .._arguments import checked_late, items
from .._atomic_files import write_files
from .._errors import InvalidOption, UnknownId, UnknownName
from .._files import make_folder
from .._formats import FORMATS
from .._model import AddedToken, Model
from .._post import PLAIN, template_of
from .._tokenizer import Tokenizer

try:
    import transformers
    from transformers import PreTrainedTokenizer as Base

    MISSING = None
except ImportError as error:
    transformers, Base, MISSING = None, object, error

__all__ = ["ToksmithTokenizer", "export"]


def __dir__() -> list[str]:
    return [*__all__]


NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
VOCAB_FILE = "tokenizer.toksmith"
NOWHERE = (0, 0)


@checked_late
def export(
    tok: Tokenizer,
    folder: str | os.PathLike[str],
    *,
    allow_loss: Collection[str] = (),
    **config: Any,
) -> list[str]:
    """Writes a folder that `transformers.PreTrainedTokenizerFast.from_pretrained` and `AutoTokenizer` load.

    Args:
        folder: May be new; its parent must exist.
        allow_loss: As in `Tokenizer.save`.
        config: What else `tokenizer_config.json` says: `eos_token="<|endoftext|>"`, `model_max_length=1024`, ...
    Returns: the files that were written.
    Raises:
        CannotRepresent: tokenizer.json cannot hold a field that is not in `allow_loss`.
        InvalidOption: A token that is named (`eos_token` and its like) is not in the vocabulary.

    >>> import tempfile, toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, special_tokens=["<|end|>"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [os.path.basename(path) for path in export(tok, folder, eos_token="<|end|>")]
    ['tokenizer.json', 'tokenizer_config.json']
    """
    known = vocabulary(tok.model)
    for name in NAMED:
        token = config.get(name)
        if token is not None and token not in known:
            raise InvalidOption(name, token, "a token of the vocabulary")
    data = cast("bytes", FORMATS["tokenizer_json"].save(tok.model, allow_loss=allow_loss))
    settings = {"clean_up_tokenization_spaces": False, **named_by_template(tok.model, config), **config}
    settings |= {"tokenizer_class": "PreTrainedTokenizerFast"}
    make_folder(folder)
    paths = [os.path.join(os.fspath(folder), name) for name in ("tokenizer.json", "tokenizer_config.json")]
    written = (json.dumps(settings, ensure_ascii=False, indent=2) + "\n").encode()
    write_files([(paths[0], data), (paths[1], written)])
    return paths


def named_by_template(model: Model, config: Mapping[str, Any]) -> dict[str, Any]:
    """The padding token that a model names, unless the caller names another."""
    pads = [step["token"] for step in model.post if step.kind == "pad"]
    return {"pad_token": pads[0]} if pads and "pad_token" not in config and pads[0] in vocabulary(model) else {}


def vocabulary(model: Model) -> dict[str, int]:
    """The ids of all tokens as transformers shows them: bytes in the characters of GPT-2's alphabet."""
    spell = (
        _formats.spelt
        if (model.kind, model.unit) == ("bpe", "byte")
        else lambda token: token.decode("utf-8", "replace")
    )
    own = {spell(token): id for token, id in zip(model.tokens, model.ids.tolist(), strict=True)}
    return own | {token.content: token.id for token in model.added_tokens}


class ToksmithTokenizer(Base):  # type: ignore[misc]
    """A slow tokenizer of transformers whose ids are those of a tokenizer of ours.

    Beside what slow tokenizers have, `return_offsets_mapping=True` gives where in the text each id comes from: characters,
    as `Tokenizer.encode_with_offsets` says, and (0, 0) for what is put around texts. `save_pretrained` writes the native
    file, and `from_pretrained` reads it.

    Args:
        tokenizer: The tokenizer; or None, and `vocab_file` is the native file of one.
        kwargs: As for every tokenizer of transformers: `eos_token="<|endoftext|>"`, `padding_side="left"`, ...
    """

    vocab_files_names: Mapping[str, str] = {"vocab_file": VOCAB_FILE}
    slow_tokenizer_class = None

    @checked_late
    def __init__(
        self, tokenizer: Tokenizer | None = None, vocab_file: str | os.PathLike[str] | None = None, **kwargs: Any
    ) -> None:
        if transformers is None:
            problem = "toksmith.compat.transformers.ToksmithTokenizer needs transformers; pip install 'toksmith[transformers]'"
            raise ImportError(problem) from MISSING
        if tokenizer is None:
            if vocab_file is None:
                raise InvalidOption("tokenizer", None, "a Tokenizer, or vocab_file= with its native file")
            tokenizer = Tokenizer(_formats.read(vocab_file, format="native"))
        self._take(tokenizer)
        self._added_tokens_decoder = {token.id: as_there(token) for token in tokenizer.model.added_tokens}
        for step in tokenizer.model.post:
            if step.kind == "pad":
                kwargs.setdefault("padding_side", step["side"])
                kwargs.setdefault("pad_token", step["token"])
            elif step.kind == "truncate":
                kwargs.setdefault("truncation_side", step["side"])
        named = {str(kwargs[name]) for name in NAMED if kwargs.get(name) is not None}
        others = [
            token.content for token in tokenizer.model.added_tokens if token.special and token.content not in named
        ]
        kwargs.setdefault("extra_special_tokens", others)
        super().__init__(**kwargs)

    def _take(self, tokenizer: Tokenizer) -> None:
        """Makes a tokenizer the one that runs."""
        self.tokenizer = tokenizer
        self._template = template_of(tokenizer.model) or PLAIN
        self._ids_by_token = vocabulary(tokenizer.model)
        self._tokens_by_id = {id: token for token, id in reversed(self._ids_by_token.items())}

    @property
    def vocab_size(self) -> int:
        """The number of tokens, added tokens aside."""
        return len(self.tokenizer.model.tokens)

    def get_vocab(self) -> dict[str, int]:
        """The ids of all tokens."""
        return dict(self._ids_by_token)

    def _add_tokens(self, new_tokens: Iterable[Any] | None, special_tokens: bool = False) -> int:
        """Adds tokens to the tokenizer that runs; those that are in the vocabulary keep their ids."""
        model = self.tokenizer.model
        added = {token.content: token for token in model.added_tokens}
        free = model.vocab_size
        for token in new_tokens or ():
            content = str(token)
            is_special = special_tokens or bool(getattr(token, "special", False))
            if content in added and is_special:
                added[content] = dataclasses.replace(added[content], special=True, normalized=False)
            elif content and content not in added:
                own = model.vocab.id(content.encode())
                id, free = (free, free + 1) if own is None else (own, free)
                flags = {name: bool(getattr(token, name, False)) for name in ("lstrip", "rstrip", "single_word")}
                normalized = getattr(token, "normalized", not is_special) and bool(model.normalizers)
                added[content] = AddedToken(content, id, special=is_special, normalized=normalized, **flags)
            if content and is_special and content not in self.all_special_tokens:
                self._extra_special_tokens.append(content)
        before = model.vocab_size
        if tuple(added.values()) != model.added_tokens:
            self._take(Tokenizer(dataclasses.replace(model, added_tokens=tuple(added.values()))))
        self._added_tokens_decoder = {token.id: as_there(token) for token in added.values()}
        self._added_tokens_encoder = {token.content: token.id for token in added.values()}
        self._update_total_vocab_size()
        return free - before

    @checked_late
    def tokenize(
        self, text: str, pair: str | None = None, add_special_tokens: bool = False, **kwargs: Any
    ) -> list[str]:
        """The tokens of a text as transformers shows them."""
        ids = [id for id, _ in self._entries(text, False, **kwargs)]
        second = None if pair is None else [id for id, _ in self._entries(pair, False, **kwargs)]
        around = self._template if add_special_tokens else PLAIN
        return [self._convert_id_to_token(id) for id in around.apply(ids, second)[0]]

    def _convert_token_to_id(self, token: str) -> int | None:
        found: int | None = self._ids_by_token.get(token)
        return self.unk_token_id if found is None and self.unk_token is not None else found

    def _convert_id_to_token(self, index: int) -> str:
        if index not in self._tokens_by_id:
            raise UnknownId(index, None, self.tokenizer.vocab_size)
        return self._tokens_by_id[index]

    @checked_late
    def convert_tokens_to_string(self, tokens: list[str]) -> str:
        """The text of tokens."""
        return self.tokenizer.decode([self._ids_by_token[token] for token in tokens])

    def _decode(
        self,
        token_ids: int | list[int],
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool | None = None,
        **kwargs: Any,
    ) -> str:
        skipped = set(self.all_special_ids) if skip_special_tokens else set()
        ids = [token_ids] if isinstance(token_ids, int) else token_ids
        text = self.tokenizer.decode([id for id in ids if id not in skipped])
        clean = (
            self.clean_up_tokenization_spaces if clean_up_tokenization_spaces is None else clean_up_tokenization_spaces
        )
        return str(self.clean_up_tokenization(text)) if clean else text

    def _framed(self, token_ids_0: list[int], token_ids_1: list[int] | None) -> tuple[list[int], list[int], list[bool]]:
        """These ids with those around them; the type of each; whether it was put there."""
        one = list(items(token_ids_0, "token_ids_0", "a list of int"))
        two = None if token_ids_1 is None else list(items(token_ids_1, "token_ids_1", "a list of int"))
        return self._template.apply(one, two)

    @checked_late
    def build_inputs_with_special_tokens(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        """The ids with the special tokens around them."""
        return self._framed(token_ids_0, token_ids_1)[0]

    @checked_late
    def create_token_type_ids_from_sequences(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None
    ) -> list[int]:
        """The type of each of these."""
        return self._framed(token_ids_0, token_ids_1)[1]

    @checked_late
    def get_special_tokens_mask(
        self, token_ids_0: list[int], token_ids_1: list[int] | None = None, already_has_special_tokens: bool = False
    ) -> list[int]:
        """1 for each of these that was put around a text."""
        if already_has_special_tokens:
            special = set(self.all_special_ids)
            return [int(id in special) for id in token_ids_0]
        return [int(put) for put in self._framed(token_ids_0, token_ids_1)[2]]

    @checked_late
    def save_vocabulary(
        self, save_directory: str | os.PathLike[str], filename_prefix: str | None = None
    ) -> tuple[str, ...]:
        """Writes the native file."""
        path = os.path.join(save_directory, f"{filename_prefix}-{VOCAB_FILE}" if filename_prefix else VOCAB_FILE)
        self.tokenizer.save(path, format="native")
        return (path,)

    def _encode_plus(self, text: Any, text_pair: Any = None, **options: Any) -> Any:
        """Texts, pairs of texts or batches of either as transformers' models want them."""
        if options.get("sanitize_control_tokens"):
            raise NotImplementedError(
                "sanitize_control_tokens is not supported; encode untrusted text with split_special_tokens"
            )
        split = options.get("is_split_into_words", False)
        is_batch = isinstance(text, (list, tuple)) and (
            not text or isinstance(text[0], (list, tuple) if split else (str, list, tuple))
        )
        pairs = list(pairs_of(text, text_pair, split)) if is_batch else [(text, text_pair)]
        rows = [self._row(one, two, options) for one, two in pairs]
        strategy = options.get("padding_strategy", transformers.utils.PaddingStrategy.DO_NOT_PAD)
        length = options.get("max_length")
        if strategy == "longest":
            length = max((len(row["input_ids"]) for row in rows), default=0)
        masks = options.get("return_attention_mask")
        padded = [
            self._pad(
                row,
                max_length=length,
                padding_strategy=strategy
                if strategy == "do_not_pad"
                else transformers.utils.PaddingStrategy.MAX_LENGTH,
                pad_to_multiple_of=options.get("pad_to_multiple_of"),
                padding_side=options.get("padding_side"),
                return_attention_mask="attention_mask" in self.model_input_names if masks is None else masks,
            )
            for row in rows
        ]
        tensors = options.get("return_tensors")
        found = {name: [row[name] for row in padded] for name in (padded[0] if padded else ["input_ids"])}
        if not is_batch:
            found = {name: values[0] for name, values in found.items()}
        return transformers.BatchEncoding(found, tensor_type=tensors, prepend_batch_axis=not is_batch)

    def _row(self, text: Any, pair: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        """One text or pair, truncated and with the special tokens around it."""
        offsets = options.get("return_offsets_mapping", False)
        one = self._entries(text, offsets, **options)
        two = None if pair is None else self._entries(pair, offsets, **options)
        around = self._template if options.get("add_special_tokens", True) else PLAIN
        more = len(around.apply([], None if two is None else [])[0])
        most = options.get("max_length")
        cut = 0 if most is None else len(one) + len(two or ()) + more - most
        strategy = options.get("truncation_strategy", "do_not_truncate")
        over: list[int] = []
        if cut > 0 and strategy != "do_not_truncate":
            places = list(range(len(one))), None if two is None else list(range(len(two)))
            kept, also, over = self.truncate_sequences(
                places[0], places[1], cut, truncation_strategy=strategy, stride=options.get("stride", 0)
            )
            overflown = two if two is not None and strategy == "only_second" else one
            over = [overflown[place][0] for place in over]
            one = [one[place] for place in kept]
            two = None if two is None else [two[place] for place in also]
        framed: Any = around
        both, types, put = framed.apply(one, two)
        entries = [entry if isinstance(entry, tuple) else (entry, NOWHERE) for entry in both]
        row: dict[str, Any] = {"input_ids": [id for id, _ in entries]}
        self._eventual_warn_about_too_long_sequence(row["input_ids"], most, options.get("verbose", True))
        types_wanted = options.get("return_token_type_ids")
        if "token_type_ids" in self.model_input_names if types_wanted is None else types_wanted:
            row["token_type_ids"] = types
        if options.get("return_special_tokens_mask"):
            row["special_tokens_mask"] = [int(each) for each in put]
        if offsets:
            row["offset_mapping"] = [span for _, span in entries]
        if options.get("return_overflowing_tokens") and not options.get("return_tensors"):
            row |= {"overflowing_tokens": over, "num_truncated_tokens": max(cut, 0) if over else 0}
        if options.get("return_length"):
            row["length"] = len(entries)
        return row

    def _entries(
        self, text: Any, offsets: bool, split_special_tokens: bool | None = None, **options: Any
    ) -> list[tuple[int, tuple[int, int]]]:
        """The ids of a text with their offsets; of words, concatenated; of ids, the ids themselves."""
        if isinstance(text, str):
            plain = self.split_special_tokens if split_special_tokens is None else split_special_tokens
            special: Any = "text" if plain else "allow"
            if not offsets:
                return [(id, NOWHERE) for id in self.tokenizer.encode(text, special=special)]
            found = self.tokenizer.encode_with_offsets(text, special=special)
            return list(zip(found.ids.tolist(), found.spans, strict=True))
        if not isinstance(text, (list, tuple)):
            raise TypeError(f"expected a text, a list of words or tokens, or a list of ids, not {type(text).__name__}")
        if options.get("is_split_into_words"):
            return [entry for word in text for entry in self._entries(word, offsets, split_special_tokens)]
        if offsets:
            raise ValueError("return_offsets_mapping needs texts, or words with is_split_into_words=True")
        return [(each if isinstance(each, int) else self._id_of(each), NOWHERE) for each in text]

    def _id_of(self, token: Any) -> int:
        """The id of a token."""
        found: int | None = self.convert_tokens_to_ids(token)
        if found is None:
            raise UnknownName("token", token)
        return found

    def _pad(self, encoded_inputs: Any, max_length: int | None = None, **options: Any) -> Any:
        """The inputs with padding; of offsets too."""
        before = len(encoded_inputs["input_ids"])
        padded = super()._pad(encoded_inputs, max_length=max_length, **options)
        more = [NOWHERE] * (len(padded["input_ids"]) - before)
        if more and "offset_mapping" in padded:
            side = options.get("padding_side") or self.padding_side
            own = padded["offset_mapping"]
            padded["offset_mapping"] = [*own, *more] if side == "right" else [*more, *own]
        return padded


def pairs_of(texts: Sequence[Any], pairs: Sequence[Any] | None, split: bool) -> Iterable[tuple[Any, Any]]:
    """The texts of a batch, each with its second text or None; two texts in a tuple or list are a pair."""
    if pairs is not None:
        if not isinstance(pairs, (list, tuple)) or len(pairs) != len(texts):
            raise ValueError("for a batch, text_pair must be a batch of the same length")
        yield from zip(texts, pairs, strict=True)
        return
    for text in texts:
        if isinstance(text, tuple if split else (list, tuple)) and len(text) == 2 and not isinstance(text[0], int):
            yield text[0], text[1]
        else:
            yield text, None


def as_there(token: AddedToken) -> Any:
    """An added token as one of transformers."""
    flags = {name: getattr(token, name) for name in ("special", "lstrip", "rstrip", "single_word", "normalized")}
    return transformers.AddedToken(token.content, **flags)
