"""The engine of one content of a library's tokenizer: the drop-in with it, and the short ways through its core."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from .._base.threads import thread_count
from ..compat import tokenizers as dropin
from .layouts import Frame, TextOptions

__all__ = ["Engine"]


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
            self._core, self.tokens_alone = runtime.tok._engine, runtime.tokens_alone
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
        return self._core.encode_batch(texts, special, "strict", count_threads())

    def encode_flat(self, texts: Sequence[str], as_text: bool) -> Any:
        """The ids of all texts in one array, and the end of each."""
        return self._core.encode_ragged(texts, "text" if as_text else "allow", "strict", count_threads())

    def decode(self, ids: Sequence[int], skip_special_tokens: bool) -> str:
        """The text of ids; an id without a token is an error."""
        if skip_special_tokens:
            special = self.special
            ids = [id for id in ids if id not in special]
        return self._core.decode(ids, "replace")

    def with_options(self, options: TextOptions) -> dropin.Tokenizer:
        """The drop-in with the options of one call."""
        view = object.__new__(dropin.Tokenizer)
        view.__dict__.update(self.tokenizer.__dict__, encode_special_tokens=options.as_text)
        if options.truncation is not None:
            view.enable_truncation(**options.truncation)
        if options.padding is not None:
            view.enable_padding(**options.padding)
        return view


def count_threads() -> int:
    """As many as the library would use: one where its variable says so."""
    off = os.environ.get("TOKENIZERS_PARALLELISM", "").lower() in ("0", "false", "f", "n", "no", "off")
    return 1 if off else thread_count(None)
