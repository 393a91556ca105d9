"""The engine of a library's tokenizer: built at its first call, compared with the library before it runs, and kept until a change.

Tokenizers with the same content share one engine. What the engine cannot run, or runs with another result, stays on the
library, and the log names it once.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import tokenizers

from .._base.threads import thread_count
from .._render.streams import LOG
from ..compat import tokenizers as dropin
from . import changes
from .check import find_difference
from .layouts import Frame, Lengths

__all__ = ["Engine", "current_engine", "known_engines", "lay_aside"]

MOST_BUILDS = 8  # a tokenizer that changes more often than this stays on the library


class Engine:
    """The engine of one content of a tokenizer.

    Attributes:
        reason: Why the content stays on the library, or None.
        calls, returned: The calls that came; the calls that it gave back to the library.
    """

    def __init__(self, content: str) -> None:
        self.reason: str | None = None
        self.calls = self.returned = 0
        try:
            self.tokenizer = dropin.Tokenizer.from_str(content)
            self.tokenizer._truncation = self.tokenizer._padding = None
            self.tokenizer._model.refuse_sampling()
            runtime = self.tokenizer._current_runtime()
            self._core = runtime.tok._engine
            self.special = frozenset(
                id for id, token in runtime.written.items() if token in self.tokenizer._added.special
            )
            processor = self.tokenizer.post_processor
            self.frames = {put: Frame.find(processor, put) for put in (False, True)}
            self.more = self.tokenizer.num_special_tokens_to_add(False)
        except Exception as error:  # noqa: BLE001 - whatever cannot be built stays on the library
            self.reason = f"{type(error).__name__}: {error}"

    @classmethod
    def refused(cls, reason: str) -> Engine:
        """No engine, for a tokenizer that stays on the library whatever it holds."""
        engine = object.__new__(cls)
        engine.calls = engine.returned = 0
        engine.reason = reason
        return engine

    def encode(self, texts: Sequence[str], as_text: bool) -> list[list[int]]:
        """The ids of each text, without ids around them."""
        special = "text" if as_text else "allow"
        if len(texts) == 1:
            return [self._core.encode(texts[0], special, "strict", 1)]
        return self._core.encode_batch(texts, special, "strict", batch_threads())

    def encode_flat(self, texts: Sequence[str], as_text: bool) -> Any:
        """The ids of all texts in one array, and the end of each."""
        return self._core.encode_ragged(texts, "text" if as_text else "allow", "strict", batch_threads())

    def decode(self, ids: Sequence[int], skip_special_tokens: bool) -> str:
        """The text of ids; an id without a token is an error."""
        if skip_special_tokens:
            special = self.special
            ids = [id for id in ids if id not in special]
        return self._core.decode(ids, "replace")

    def with_lengths(self, lengths: Lengths) -> dropin.Tokenizer:
        """The drop-in with the options of one call."""
        view = object.__new__(dropin.Tokenizer)
        view.__dict__.update(self.tokenizer.__dict__, encode_special_tokens=lengths.as_text)
        if lengths.truncation is not None:
            view.enable_truncation(**lengths.truncation)
        if lengths.padding is not None:
            view.enable_padding(**lengths.padding)
        return view


def batch_threads() -> int:
    """As many as the library would use: one where its variable says so."""
    off = os.environ.get("TOKENIZERS_PARALLELISM", "").lower() in ("0", "false", "f", "n", "no", "off")
    return 1 if off else thread_count(None)


class Attached(NamedTuple):
    """The engine of one tokenizer of the library, and the number of `changes.parts_changed` when it was compared."""

    engine: Engine
    seen: int


by_content: weakref.WeakValueDictionary[bytes, Engine] = weakref.WeakValueDictionary()
builds: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # how often each tokenizer got an engine
names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def current_engine(backend: Any, owner: Any) -> Engine | None:
    """The engine of what a library's tokenizer holds now; None where the library must run it."""
    attached = getattr(backend, changes.ENGINE, None)
    if type(attached) is not Attached or attached.seen != changes.parts_changed():
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
        return None  # such as the drop-in of `ToksmithTokenizer`
    before, seen = getattr(backend, changes.ENGINE, None), changes.parts_changed()
    if backend in changes.trained:
        engine = Engine.refused(
            "it was trained in place, and then the library can encode otherwise than the file it writes"
        )
    elif builds.get(backend, 0) > MOST_BUILDS:
        engine = Engine.refused(f"it changed {MOST_BUILDS} times between calls, and each change needs a new engine")
    else:
        engine = engine_of(backend)
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


def engine_of(backend: Any) -> Engine:
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
