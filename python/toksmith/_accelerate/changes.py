"""Notices changes to tokenizers of the library, whatever code makes them.

The classes of `tokenizers` can be patched. While acceleration is on, each method that changes a tokenizer also removes the
engine that `attached` gave it. A part (a normalizer, a model) does not know its tokenizers, so a change of a part is
counted, and each tokenizer compares itself before its next call.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

import tokenizers

__all__ = ["BUILDING", "ENGINE", "LOCK", "part_changes", "trained", "unwatch", "watch"]

ENGINE = "_toksmith_engine"  # the attribute of a library's tokenizer; its pickles and copies do not have it
# For moments; and while an engine is built.
LOCK, BUILDING = threading.Lock(), threading.Lock()

METHODS = ("add_special_tokens", "add_tokens", "__setstate__")
TRAININGS = ("train", "train_from_iterator")
trained: weakref.WeakSet[Any] = weakref.WeakSet()
PARTS = ("decoder", "model", "normalizer", "post_processor", "pre_tokenizer")
ROLES: tuple[type, ...] = (
    tokenizers.decoders.Decoder,
    tokenizers.models.Model,
    tokenizers.normalizers.Normalizer,
    tokenizers.pre_tokenizers.PreTokenizer,
    tokenizers.processors.PostProcessor,
)
SEQUENCES: tuple[type, ...] = (
    tokenizers.normalizers.Sequence,
    tokenizers.pre_tokenizers.Sequence,
    tokenizers.processors.Sequence,
)

numbers = itertools.count(1)
part_changes = 0  # another number after each change of a part of any tokenizer
originals: list[tuple[type, str, Any]] = []


def free_locks() -> None:
    """Make the locks anew in a forked process, where a thread that held one does not exist."""
    global LOCK, BUILDING
    LOCK, BUILDING = threading.Lock(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=free_locks)


def count_change(*_: Any) -> None:
    global part_changes
    part_changes = next(numbers)


def forget_engine(tokenizer: Any, *_: Any) -> None:
    with LOCK:
        setattr(tokenizer, ENGINE, object())  # also tells `attached` that what it is building is of the past


def refuse_trained(tokenizer: Any, *_: Any) -> None:
    """For training in place, after which a tokenizer of the library can encode otherwise than the file that it writes."""
    trained.add(tokenizer)
    forget_engine(tokenizer)


def wrap_method(method: Callable[..., Any], note: Callable[..., None]) -> Callable[..., Any]:
    """A method that notes each call, whether it raises or not."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return method(self, *args, **options)
        finally:
            note(self)

    return call


def watch() -> None:
    """Start to notice changes."""
    unwatch()
    kind = tokenizers.Tokenizer
    for name in METHODS:
        replace_method(kind, name, wrap_method(getattr(kind, name), forget_engine))
    for name in TRAININGS:
        replace_method(kind, name, wrap_method(getattr(kind, name), refuse_trained))
    for name in PARTS:
        own = kind.__dict__[name]
        replace_method(kind, name, property(own.__get__, wrap_method(own.__set__, forget_engine), doc=own.__doc__))
    for role in ROLES:
        replace_method(role, "__setattr__", wrap_method(role.__setattr__, count_change))
    for role in SEQUENCES:
        replace_method(role, "__setitem__", wrap_method(role.__dict__["__setitem__"], count_change))


def unwatch() -> None:
    """Put the library's own methods back; what changes from now on is compared when `watch` starts again."""
    while originals:
        owner, name, own = originals.pop()
        if own is None:
            delattr(owner, name)
        else:
            setattr(owner, name, own)
    count_change()


def replace_method(owner: type, name: str, method: Any) -> None:
    originals.append((owner, name, owner.__dict__.get(name)))
    setattr(owner, name, method)
