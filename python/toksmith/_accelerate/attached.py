"""The engine of each tokenizer of the library: made at its first call, compared before it runs, and kept until a change.

Tokenizers with the same content share one engine. What the engine cannot run, or runs with another result, stays on the
library, and the log names it once.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import tokenizers

from .._render.streams import LOG
from . import changes
from .check import find_difference
from .engine import Engine

__all__ = ["current_engine", "known_engines", "lay_aside"]

MOST_BUILDS = 8  # a tokenizer that changes more often than this stays on the library


class Attached(NamedTuple):
    """The engine of one tokenizer of the library, and the number of `changes.part_changes` when it was compared."""

    engine: Engine
    seen: int


by_content: weakref.WeakValueDictionary[bytes, Engine] = weakref.WeakValueDictionary()
builds: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # how often each tokenizer got an engine
names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def current_engine(backend: Any, owner: Any) -> Engine | None:
    """The engine of what a library's tokenizer holds now; None where the library must run it."""
    attached = getattr(backend, changes.ENGINE, None)
    if type(attached) is not Attached or attached.seen != changes.part_changes:
        if not changes.BUILDING.acquire(blocking=False):
            return None  # another thread builds it
        try:
            attached = attach_engine(backend, owner)
        finally:
            changes.BUILDING.release()
    return None if attached is None or attached.engine.reason is not None else attached.engine


def attach_engine(backend: Any, owner: Any) -> Attached | None:
    """Attach the engine of the present content; None if the content changed meanwhile."""
    if type(backend) is not tokenizers.Tokenizer:
        return None  # such as the drop-in, which has the engine
    before, seen = getattr(backend, changes.ENGINE, None), changes.part_changes
    if backend in changes.trained:
        engine = Engine.refused(
            "it was trained in place, and then the library can encode otherwise than the file it writes"
        )
    elif builds.get(backend, 0) > MOST_BUILDS:
        engine = Engine.refused(f"it changed {MOST_BUILDS} times between calls, and each change needs a new engine")
    else:
        engine = find_engine(backend)
    with changes.LOCK:
        if getattr(backend, changes.ENGINE, None) is not before:
            return None
        is_other = not isinstance(before, Attached) or before.engine is not engine
        builds[backend] = builds.get(backend, 0) + is_other
        names[backend] = name_of(owner)
        attached = Attached(engine, seen)
        setattr(backend, changes.ENGINE, attached)
    if is_other and engine.reason is not None:
        tell_reason(engine, owner)
    return attached


def find_engine(backend: Any) -> Engine:
    """The engine of the content of a library's tokenizer; new content is compared with the library first."""
    content = backend.to_str()
    # Truncation and padding come first in the text, and each call has its own; no quoted text holds these characters.
    digest = blake2b(content[content.index(',"added_tokens":[') :].encode(), digest_size=16).digest()
    engine = by_content.get(digest)
    if engine is None:
        engine = Engine(content)
        if engine.reason is None:
            engine.reason = find_difference(engine, backend, digest)
        by_content[digest] = engine
    return engine


def lay_aside(engine: Engine, owner: Any, reason: str) -> None:
    """Leave all tokenizers with this content on the library from now on."""
    engine.reason = reason
    tell_reason(engine, owner)


def tell_reason(engine: Engine, owner: Any) -> None:
    LOG.warning("accelerate: %s stays on the library: %s", name_of(owner), engine.reason)


def name_of(owner: Any) -> str:
    """What a user calls a tokenizer of transformers."""
    return owner.name_or_path or type(owner).__name__


def known_engines() -> Iterator[tuple[str, Engine]]:
    """The tokenizers that were called, each with its engine."""
    with changes.LOCK:
        rows = [(name, getattr(backend, changes.ENGINE, None)) for backend, name in names.items()]
    for name, attached in rows:
        if isinstance(attached, Attached):
            yield name, attached.engine
