"""Tokenizers for tests. A tokenizer is a value, so a process trains each once and its tests share it.

A test that compares two runs of training calls `toksmith.train` itself.
"""

import dataclasses
import functools
from typing import Any

import toksmith
from toksmith import Model, Tokenizer

SHORT = "low lower lowest slow it's 12 newer, hello world"


def trained(corpus: Any = SHORT, vocab_size: int | None = None, **options: Any) -> Tokenizer:
    """The result of `toksmith.train` for these arguments: the same object for the same arguments."""
    return once(freeze(corpus), vocab_size, tuple((name, freeze(value)) for name, value in sorted(options.items())))


def trained_model(corpus: Any = SHORT, vocab_size: int | None = None, **options: Any) -> Model:
    """The model of the trained tokenizer."""
    return trained(corpus, vocab_size, **options).model


def with_fields(tok: Tokenizer, **fields: Any) -> Tokenizer:
    """The tokenizer with other fields in its model."""
    return Tokenizer(dataclasses.replace(tok.model, **fields))


@functools.cache
def once(corpus: Any, vocab_size: int | None, options: tuple[tuple[str, Any], ...]) -> Tokenizer:
    return toksmith.train(corpus, vocab_size, progress=False, **dict(options))


def freeze(value: Any) -> Any:
    """A list as a tuple, so that it can be a key."""
    return tuple(map(freeze, value)) if isinstance(value, list) else value
