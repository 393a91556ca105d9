"""transformers' interface: a folder that its fast class loads, and a fast class that runs the engine of this package.

`export` needs no transformers. `ToksmithTokenizer` extends `transformers.PreTrainedTokenizerFast` (version 5) with a backend of
ours, `toksmith.compat.tokenizers.Tokenizer`: tensors, templates of chats and everything else that is not tokenizing is
transformers' own; ids, offsets, words, padding and truncation are the backend's. Special tokens in a text are found, as
everywhere in transformers, unless `split_special_tokens` says otherwise.
"""

from __future__ import annotations

import json
import os
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, cast

from .. import _formats
from .._base.arguments import whole_number
from .._base.errors import InvalidOption
from .._formats import FORMATS
from .._formats.texts import spelt
from .._model.model import Model
from .._storage.atomic_files import make_folder, write_files
from .._tokenizer.tokenizer import Tokenizer
from . import tokenizers

try:
    import transformers
    from transformers import PreTrainedTokenizerFast as Base

    MISSING = None
except ImportError as error:
    transformers, Base, MISSING = None, object, error

__all__ = ["ToksmithTokenizer", "export"]


def __dir__() -> list[str]:
    return [*__all__]


NAMED = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
VOCAB_FILE = "tokenizer.toksmith"
INPUTS = ("input_ids", "token_type_ids", "attention_mask")


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
    usual = {"clean_up_tokenization_spaces": False, "model_input_names": inputs_of(tok.model)}
    settings = {**usual, **named_by_template(tok.model, config), **config}
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


def inputs_of(model: Model) -> list[str]:
    """What models take: types of texts only where a model is one of BERT's kind."""
    tokens = {name for step in model.post if step.kind == "template" for name in step["special_tokens"]}
    typed = model.kind == "wordpiece" or "[CLS]" in tokens or any(step.kind == "bert" for step in model.post)
    return [name for name in INPUTS if name != "token_type_ids" or typed]


def vocabulary(model: Model) -> dict[str, int]:
    """The ids of all tokens as transformers shows them: bytes in the characters of GPT-2's alphabet."""
    is_bytes = (model.kind, model.unit) == ("bpe", "byte")
    spell = spelt if is_bytes else lambda token: token.decode("utf-8", "replace")
    own = {spell(token): id for token, id in zip(model.tokens, model.ids.tolist(), strict=True)}
    return own | {token.content: token.id for token in model.added_tokens}


class ToksmithTokenizer(Base):  # type: ignore[misc]
    """A fast tokenizer of transformers whose backend runs a tokenizer of ours.

    It has all that fast tokenizers have: offsets, words, `char_to_token`, overflow with a stride, masks of what an assistant
    says, `train_new_from_iterator`. `save_pretrained` writes what `AutoTokenizer.from_pretrained` loads, and our native
    file.

    Args:
        tokenizer: The tokenizer, which tokenizer.json must be able to hold; or
            None, and one of the files is given.
        vocab_file: The native file of one.
        allow_loss: As in `toksmith.Tokenizer.save`, for what tokenizer.json
            cannot hold of it.
        kwargs: As for every tokenizer of transformers: `eos_token="<|endoftext|>"`, `padding_side="left"`,
            `tokenizer_file="tokenizer.json"`, ...
    """

    vocab_files_names: Mapping[str, str] = {"tokenizer_file": "tokenizer.json", "vocab_file": VOCAB_FILE}
    slow_tokenizer_class = None

    def __init__(
        self, tokenizer: Tokenizer | None = None, vocab_file: str | os.PathLike[str] | None = None, **kwargs: Any
    ) -> None:
        if transformers is None:
            problem = "toksmith.compat.transformers.ToksmithTokenizer needs transformers; pip install 'toksmith[transformers]'"
            raise ImportError(problem) from MISSING
        backend = backend_of(tokenizer, vocab_file, kwargs)
        if tokenizer is not None or vocab_file is not None:
            kwargs = {**said_by(backend, kwargs), **kwargs}
        super().__init__(tokenizer_object=backend, **kwargs)
        self.init_kwargs["tokenizer"] = None  # as arguments are kept there; the files hold it

    @classmethod
    def convert_to_native_format(cls, **kwargs: Any) -> dict[str, Any]:
        """The arguments as they are: the backend is made of them here."""
        return kwargs

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of ours that runs."""
        return cast("Tokenizer", self._tokenizer.own)

    def _add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:
        """Adds tokens; a plain text has no flags."""
        tokens = [token for token in new_tokens or () if str(token)]
        before = len(self)
        found = super()._add_tokens(tokens, special_tokens)
        return len(self) - before if all(isinstance(token, str) for token in tokens) else found

    def save_vocabulary(
        self, save_directory: str | os.PathLike[str], filename_prefix: str | None = None
    ) -> tuple[str, ...]:
        """Writes the native file."""
        path = os.path.join(save_directory, f"{filename_prefix}-{VOCAB_FILE}" if filename_prefix else VOCAB_FILE)
        self.tokenizer.save(path, format="native")
        return (path,)

    def save_pretrained(self, save_directory: str | os.PathLike[str], **kwargs: Any) -> Any:
        """Writes a folder that this class and `AutoTokenizer` load."""
        if not isinstance(save_directory, (str, os.PathLike)):
            raise TypeError(f"save_directory: expected the path of a folder, not {type(save_directory).__name__}")
        if not os.fspath(save_directory):
            raise InvalidOption("save_directory", save_directory, "the path of a folder")
        own: dict[str, Any] = self.__dict__["init_kwargs"]
        self.init_kwargs = {name: value for name, value in own.items() if name != "tokenizer"}
        try:
            return super().save_pretrained(save_directory, **kwargs)
        finally:
            self.init_kwargs = own

    def _save_pretrained(
        self,
        save_directory: str | os.PathLike[str],
        file_names: tuple[str, ...],
        legacy_format: bool | None = None,
        filename_prefix: str | None = None,
    ) -> tuple[str, ...]:
        """Writes tokenizer.json and the native file, and names a class that `AutoTokenizer` knows."""
        for path in file_names:
            if path.endswith("tokenizer_config.json"):
                with open(path, encoding="utf-8") as file:
                    config = json.load(file)
                with open(path, "w", encoding="utf-8", newline="\n") as file:
                    json.dump(
                        {**config, "tokenizer_class": "PreTrainedTokenizerFast"}, file, ensure_ascii=False, indent=2
                    )
        written = super()._save_pretrained(save_directory, file_names, legacy_format, filename_prefix)
        return (*written, *self.save_vocabulary(save_directory, filename_prefix))

    def train_new_from_iterator(self, text_iterator: Iterable[Any], vocab_size: int, **kwargs: Any) -> Any:
        """Trains with our engine what the library's method trains."""
        method = Base.train_new_from_iterator
        names = {**method.__globals__, "TokenizerFast": tokenizers.Tokenizer}
        ours = types.FunctionType(method.__code__, names, method.__name__, method.__defaults__, method.__closure__)
        size = whole_number(vocab_size, "vocab_size")
        if not 0 <= size < 1 << 24:
            raise InvalidOption("vocab_size", size, "at least 0 and below 2**24")
        return ours(self, named_texts(text_iterator), size, **kwargs)


def named_texts(text_iterator: Iterable[Any]) -> Iterator[list[str]]:
    """The texts of batches; what is not a text or a batch of texts is refused by the argument's name."""
    try:
        batches = iter(text_iterator)
    except TypeError:
        raise TypeError(f"text_iterator: expected lists of texts, not {type(text_iterator).__name__}") from None
    for batch in batches:
        texts = [batch] if isinstance(batch, str) else batch
        if not isinstance(texts, Iterable):
            raise TypeError(f"text_iterator: expected lists of texts, not of {type(texts).__name__}")
        kept = list(texts)
        for text in kept:
            if not isinstance(text, str):
                raise TypeError(f"text_iterator: expected lists of texts, not of {type(text).__name__}")
        yield kept


def said_by(backend: tokenizers.Tokenizer, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a tokenizer of ours says by itself."""
    named = {str(kwargs[name]) for name in NAMED if kwargs.get(name) is not None}
    added = backend.get_added_tokens_decoder().values()
    model = backend.own.model
    found: dict[str, Any] = {
        "extra_special_tokens": [token.content for token in added if token.special and token.content not in named],
        "model_input_names": inputs_of(model),
        "clean_up_tokenization_spaces": False,
    }
    for step in model.post:
        if step.kind == "pad" and step["token"] in vocabulary(model):
            found |= {"padding_side": step["side"], "pad_token": step["token"]}
        elif step.kind == "truncate":
            found["truncation_side"] = step["side"]
    return found


def backend_of(
    tokenizer: Tokenizer | None, vocab_file: str | os.PathLike[str] | None, kwargs: dict[str, Any]
) -> tokenizers.Tokenizer:
    """The backend of what a caller gives: a tokenizer, a backend, or the path of a file."""
    given, path = kwargs.pop("tokenizer_object", None), kwargs.pop("tokenizer_file", None)
    allow_loss = kwargs.pop("allow_loss", ())
    if tokenizer is not None:
        return tokenizers.Tokenizer(tokenizer, allow_loss=allow_loss)
    if isinstance(given, tokenizers.Tokenizer):
        return given
    if given is not None:
        return tokenizers.Tokenizer.from_str(given.to_str())
    if path is not None:
        return tokenizers.Tokenizer.from_file(path)
    if vocab_file is None:
        raise InvalidOption("tokenizer", None, "a Tokenizer, or vocab_file= with its native file")
    return tokenizers.Tokenizer(Tokenizer(_formats.read(vocab_file, format="native")), allow_loss=allow_loss)
