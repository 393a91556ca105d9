"""transformers' interface: exports a folder for its fast class, and a fast class that runs toksmith's engine.

`export` needs no transformers. `ToksmithTokenizer` extends `transformers.PreTrainedTokenizerFast` (version 5) with the
backend `toksmith.compat.tokenizers.Tokenizer`: tensors, chat templates and everything else besides tokenizing are
transformers' own; ids, offsets, words, padding and truncation are the backend's. Special tokens in a text are
recognized, as everywhere in transformers, unless `split_special_tokens` is true.
"""

from __future__ import annotations

import json
import os
import types
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, cast

from .. import _formats
from .._base.arguments import check_int, check_texts
from .._formats.transformers import ROLES, display_vocabulary, model_inputs
from .._tokenizer.tokenizer import Tokenizer
from ..errors import InvalidOption
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


VOCAB_FILE = "tokenizer.toksmith"


def export(
    tok: Tokenizer,
    folder: str | os.PathLike[str],
    *,
    allow_loss: Collection[str] = (),
    **config: Any,
) -> list[str]:
    """Write a folder that `AutoTokenizer.from_pretrained` of transformers loads.

    `tok.save("folder/")` writes the same without `config`. The new files replace old ones together; other files stay.

    Args:
        folder: Can be new; its parent must exist.
        allow_loss: As in `Tokenizer.save`.
        config: Further fields of `tokenizer_config.json`: `eos_token="<|endoftext|>"`, `model_max_length=1024`, ... A role
            that is not given belongs to the special token with a usual content (`</s>`), if there is exactly one; None leaves
            the role open.
    Returns: the written files.
    Raises:
        CannotRepresent: tokenizer.json cannot hold a field, and `allow_loss` does not name it.
        InvalidOption: A named token (such as `eos_token`) is not in the vocabulary.
        FormatError: The folder cannot be written, or holds a file that transformers would mix with the new ones.

    >>> import tempfile, toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, special_tokens=["<|end|>"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [os.path.basename(path) for path in export(tok, folder, eos_token="<|end|>")]
    ['tokenizer.json', 'tokenizer_config.json']
    """
    return _formats.write_model(tok.model, folder, format="transformers", allow_loss=allow_loss, settings=config)


class ToksmithTokenizer(Base):  # type: ignore[misc]
    """A fast tokenizer of transformers whose backend runs a `toksmith.Tokenizer`.

    It has all features of fast tokenizers: offsets, words, `char_to_token`, overflow with a stride, assistant masks,
    `train_new_from_iterator`. `save_pretrained` writes a folder for `AutoTokenizer.from_pretrained`, and the native
    file.

    Args:
        tokenizer: The tokenizer, which tokenizer.json must be able to hold; or
            None, with one of the files.
        vocab_file: A tokenizer's native file.
        allow_loss: As in `toksmith.Tokenizer.save`, for fields that
            tokenizer.json cannot hold.
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
        backend = make_backend(tokenizer, vocab_file, kwargs)
        if tokenizer is not None or vocab_file is not None:
            kwargs = {**backend_arguments(backend, kwargs), **kwargs}
        super().__init__(tokenizer_object=backend, **kwargs)
        self.init_kwargs["tokenizer"] = None  # arguments are kept there, but the files hold the tokenizer

    @classmethod
    def convert_to_native_format(cls, **kwargs: Any) -> dict[str, Any]:
        """The arguments unchanged: the backend is built from them here."""
        return kwargs

    @property
    def tokenizer(self) -> Tokenizer:
        """The `toksmith.Tokenizer` that runs."""
        return cast("Tokenizer", self._tokenizer.own)

    def _add_tokens(self, new_tokens: Any, special_tokens: bool = False) -> int:
        """Add tokens; a plain text has no flags."""
        tokens = [token for token in new_tokens or () if str(token)]
        before = len(self)
        added = super()._add_tokens(tokens, special_tokens)
        return len(self) - before if all(isinstance(token, str) for token in tokens) else added

    def save_vocabulary(
        self, save_directory: str | os.PathLike[str], filename_prefix: str | None = None
    ) -> tuple[str, ...]:
        """Write the native file."""
        path = os.path.join(save_directory, f"{filename_prefix}-{VOCAB_FILE}" if filename_prefix else VOCAB_FILE)
        self.tokenizer.save(path, format="native")
        return (path,)

    def save_pretrained(self, save_directory: str | os.PathLike[str], **kwargs: Any) -> Any:
        """Write a folder that this class and `AutoTokenizer` load."""
        if not isinstance(save_directory, (str, os.PathLike)):
            raise TypeError(f"save_directory: expected the path of a folder, not {type(save_directory).__name__}")
        if not os.fspath(save_directory):
            raise InvalidOption("save_directory", save_directory, "the path of a folder")
        init_kwargs: dict[str, Any] = self.__dict__["init_kwargs"]
        self.init_kwargs = {name: value for name, value in init_kwargs.items() if name != "tokenizer"}
        try:
            return super().save_pretrained(save_directory, **kwargs)
        finally:
            self.init_kwargs = init_kwargs

    def _save_pretrained(
        self,
        save_directory: str | os.PathLike[str],
        file_names: tuple[str, ...],
        legacy_format: bool | None = None,
        filename_prefix: str | None = None,
    ) -> tuple[str, ...]:
        """Write tokenizer.json and the native file, and record a class that `AutoTokenizer` knows."""
        for path in file_names:
            if path.endswith("tokenizer_config.json"):
                with open(path, encoding="utf-8") as file:
                    config = json.load(file)
                with open(path, "w", encoding="utf-8", newline="\n") as file:
                    json.dump(
                        {**config, "tokenizer_class": "PreTrainedTokenizerFast"}, file, ensure_ascii=False, indent=2
                    )
        paths = super()._save_pretrained(save_directory, file_names, legacy_format, filename_prefix)
        return (*paths, *self.save_vocabulary(save_directory, filename_prefix))

    def train_new_from_iterator(self, text_iterator: Iterable[Any], vocab_size: int, **kwargs: Any) -> Any:
        """Train with toksmith's engine, as the library's method does with its own."""
        method = Base.train_new_from_iterator
        names = {**method.__globals__, "TokenizerFast": tokenizers.Tokenizer}
        ours = types.FunctionType(method.__code__, names, method.__name__, method.__defaults__, method.__closure__)
        size = check_int(vocab_size, "vocab_size")
        if not 0 <= size < 1 << 24:
            raise InvalidOption("vocab_size", size, "at least 0 and below 2**24")
        return ours(self, check_batches(text_iterator), size, **kwargs)


def check_batches(text_iterator: Iterable[Any]) -> Iterator[list[str]]:
    """The texts of batches; an item that is not a text or a batch of texts is an error with the argument's name."""
    try:
        batches = iter(text_iterator)
    except TypeError:
        raise TypeError(f"text_iterator: expected lists of texts, not {type(text_iterator).__name__}") from None
    for batch in batches:
        yield [*check_texts([batch] if isinstance(batch, str) else batch, "text_iterator", "lists of texts")]


def backend_arguments(backend: tokenizers.Tokenizer, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that the tokenizer itself determines."""
    tokens = {str(kwargs[name]) for name in ROLES if kwargs.get(name) is not None}
    added = backend.get_added_tokens_decoder().values()
    model = backend.own.model
    arguments: dict[str, Any] = {
        "extra_special_tokens": [token.content for token in added if token.special and token.content not in tokens],
        "model_input_names": model_inputs(model),
        "clean_up_tokenization_spaces": False,
    }
    for step in model.post:
        if step.kind == "pad" and step["token"] in display_vocabulary(model):
            arguments |= {"padding_side": step["side"], "pad_token": step["token"]}
        elif step.kind == "truncate":
            arguments["truncation_side"] = step["side"]
    return arguments


def make_backend(
    tokenizer: Tokenizer | None, vocab_file: str | os.PathLike[str] | None, kwargs: dict[str, Any]
) -> tokenizers.Tokenizer:
    """The backend of a tokenizer, a backend, or the path of a file."""
    sources, path = kwargs.pop("tokenizer_object", None), kwargs.pop("tokenizer_file", None)
    allow_loss = kwargs.pop("allow_loss", ())
    if tokenizer is not None:
        return tokenizers.Tokenizer(tokenizer, allow_loss=allow_loss)
    if isinstance(sources, tokenizers.Tokenizer):
        return sources
    if sources is not None:
        return tokenizers.Tokenizer.from_str(sources.to_str())
    if path is not None:
        return tokenizers.Tokenizer.from_file(path)
    if vocab_file is None:
        raise InvalidOption("tokenizer", None, "a Tokenizer, or vocab_file= with its native file")
    return tokenizers.Tokenizer(Tokenizer(_formats.read_model(vocab_file, format="native")), allow_loss=allow_loss)
