"""The tokenizers of one page, and what is kept of what was asked last.

The rule: a value is made once for each key, however many requests ask at the same time, and stays among the last few of its kind.
Left out: what a question is, which `asked` says.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import toksmith
from toksmith import explain

from ..layout import Widths
from ..texts import Held, key_of

__all__ = ["KEPT", "MOST_BYTES", "MOST_IDS", "MOST_LOADED", "MOST_TOKENIZERS", "Session"]

MOST_BYTES = 10_000_000  # of one text
MOST_TOKENIZERS = 4  # beside each other
MOST_LOADED = 50  # on a page
MOST_IDS = 2000
# The last used of each kind; of cuts and rows those of an edited text and of the text before it.
KEPT = {"text": 8, "data": 2, "cut": 8, "starts": 3, "right": 8, "compare": 2, "looks": 50, "doctor": 8}
KEPT |= {"folder": 3, "folder_map": 8, "stability": 3}
KEPT |= {"corpus": 2, "counts": 3, "training": 4, "watch": 1}  # of the live trainer
KEPT |= {"model": 8}
T = TypeVar("T")


class Session:
    """The tokenizers of one page, and what was asked of them last.

    Attributes:
        toks: The tokenizers by name.
        failed: What could not be loaded, with the reason.
        texts: The same text in several languages, by name; see `toksmith.parity`.
    """

    def __init__(
        self, toks: Mapping[str, toksmith.Tokenizer], failed: Mapping[str, str], texts: Mapping[str, str]
    ) -> None:
        self.toks, self.failed, self.texts = dict(toks), dict(failed), dict(texts)
        self.kept: dict[str, OrderedDict[Any, Slot]] = {kind: OrderedDict() for kind in KEPT}
        self.lock = threading.Lock()
        self.widths = Widths()

    def about(self) -> dict[str, Any]:
        """What the page has to know before anything is asked."""
        toks = [
            {"name": name, "kind": tok.model.kind, "entries": len(tok), "vocab_size": tok.vocab_size}
            | {"fingerprint": tok.fingerprint, "special_tokens": [*tok.special_tokens][:50]}
            for name, tok in self.toks.items()
        ]
        limits = {"bytes": MOST_BYTES, "tokenizers": MOST_TOKENIZERS, "ids": MOST_IDS}
        own = {"version": toksmith.__version__, "tokenizers": toks, "failed": self.failed, "limits": limits}
        return own | {
            "patterns": [*toksmith.patterns()],
            "formats": [*toksmith.formats()],
            "contexts": dict(explain.CONTEXTS),
            "languages": [*self.texts],
        }

    def keep(self, text: str) -> str:
        """Keep a text, and give its key."""
        key = key_of(text)
        self.once("text", key, lambda: Held(text))
        return key

    def had(self, kind: str, key: Any) -> Any:
        """What is kept already; None where it is not."""
        with self.lock:
            slot = self.kept[kind].get(key)
        return slot.value if slot is not None and slot.made else None

    def once(self, kind: str, key: Any, make: Callable[[], T]) -> T:
        """What `make` gives, made once and kept as long as it is among the last of its kind that were used."""
        kept = self.kept[kind]
        with self.lock:
            slot: Slot = kept.setdefault(key, Slot())
            kept.move_to_end(key)
            while len(kept) > KEPT[kind]:
                kept.popitem(last=False)
        with slot.lock:  # the same request waits for it
            if not slot.made:
                slot.value, slot.made = make(), True
        value: T = slot.value
        return value


class Slot:
    """Something that is kept, once it is made."""

    def __init__(self) -> None:
        self.lock, self.made = threading.Lock(), False
        self.value: Any = None
