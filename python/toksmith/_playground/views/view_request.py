"""The session of one page (its tokenizers and its cache), and the checked request of a view.

Every argument is checked when it is read; a wrong one raises an `InvalidOption` with the expected values. A value is computed
once for each key, even for concurrent requests, and stays cached while it is among the last few of its kind.
"""

from __future__ import annotations

import base64
import binascii
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from threading import Event
from typing import Any, TypeVar

import toksmith
from toksmith import explain

from ..layout import Widths
from ..texts import StoredText, apply_edits, key_of

MOST_BYTES = 10_000_000  # of one text
MOST_TOKENIZERS = 4  # in one comparison
MOST_LOADED = 50  # on a page
MOST_IDS = 2000
# The number of values in the cache, by kind; cuts and rows need those of an edited text and of the text before it.
KEPT = {"text": 8, "data": 2, "cut": 8, "starts": 3, "right": 8, "compare": 2, "looks": 50, "doctor": 8}
KEPT |= {"folder": 3, "folder_map": 8, "stability": 3}
KEPT |= {"corpus": 2, "counts": 3, "training": 4, "watch": 1}  # of the live trainer
KEPT |= {"model": 8}
MOST_AT_ONCE = 20_000_000  # bytes of a text, multiplied by the number of tokenizers
T = TypeVar("T")


class Session:
    """The tokenizers of one page, and a cache of the latest results.

    Attributes:
        toks: The tokenizers by name.
        failed: The names that could not be loaded, with the reason.
        added: The names of the tokenizers that the user opened or trained on the page.
        texts: The same text in several languages, by name; see `toksmith.metrics.parity`.
    """

    def __init__(
        self, toks: Mapping[str, toksmith.Tokenizer], failed: Mapping[str, str], texts: Mapping[str, str]
    ) -> None:
        self.toks, self.failed, self.texts = dict(toks), dict(failed), dict(texts)
        self.added: frozenset[str] = frozenset()
        self.slots: dict[str, OrderedDict[Any, Slot]] = {kind: OrderedDict() for kind in KEPT}
        self.lock = threading.Lock()
        self.widths = Widths()

    def about(self) -> dict[str, Any]:
        """The facts that the page needs before its first request."""
        toks = [
            {"name": name, "kind": tok.model.kind, "entries": len(tok), "vocab_size": tok.vocab_size}
            | {"fingerprint": tok.fingerprint, "special_tokens": [*tok.special_tokens][:50]}
            | {"added": name in self.added}
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
        key = key_of(text)
        self.once("text", key, lambda: StoredText(text))
        return key

    def cached_value(self, kind: str, key: Any) -> Any:
        """The cached value, or None."""
        with self.lock:
            slot = self.slots[kind].get(key)
        return slot.value if slot is not None and slot.is_made else None

    def once(self, kind: str, key: Any, make: Callable[[], T]) -> T:
        """The result of `make`, computed once and cached while it is among the last of its kind."""
        slots = self.slots[kind]
        with self.lock:
            slot: Slot = slots.setdefault(key, Slot())
            slots.move_to_end(key)
            while len(slots) > KEPT[kind]:
                slots.popitem(last=False)
        with slot.lock:  # a concurrent request for the same value waits here
            if not slot.is_made:
                slot.value, slot.is_made = make(), True
        value: T = slot.value
        return value


class Slot:
    """One value of the cache; `is_made` is true once it is computed."""

    def __init__(self) -> None:
        self.lock, self.is_made = threading.Lock(), False
        self.value: Any = None


class ClientLeft(toksmith.ToksmithError):
    """The client has disconnected, or the server stops."""

    def __str__(self) -> str:
        return "the question was given up"


class UnknownText(toksmith.errors.UnknownName):
    """A text that is no longer in the cache; the page sends it again."""


class ViewRequest:
    """The checked request of a view: the text, the tokenizers and the other arguments.

    Attributes:
        left: Set when the client has disconnected.
        most: The maximum bytes of a text for the view, for all tokenizers together.
    """

    def __init__(self, session: Session, values: object, left: Event | None = None) -> None:
        if not isinstance(values, dict):
            raise toksmith.errors.InvalidOption("body", type(values).__name__, "a JSON object")
        self.session, self.values, self.left, self.most = session, values, left, MOST_AT_ONCE

    def go_on(self, _: object = None) -> None:
        """Raises `ClientLeft` if the client has disconnected; called between two steps."""
        if self.left is not None and self.left.is_set():
            raise ClientLeft

    def once(self, kind: str, key: Any, make: Callable[[], T]) -> T:
        """As `Session.once`; each call is a step."""
        self.go_on()
        return self.session.once(kind, key, make)

    def string(self, name: str, default: str | None = None) -> str:
        value = self.values.get(name, default)
        if not isinstance(value, str):
            raise toksmith.errors.InvalidOption(name, value, "a text")
        if (size := size_of(value, self.most)) > self.most:
            self.refuse(name, size, 1)
        return value

    def refuse(self, name: str, size: int, times: int) -> None:
        """Raises the error of a text that is too long for the view."""
        amount = f"{size:,} bytes" if times == 1 else f"{size:,} bytes for each of {times} tokenizers"
        which = "fewer tokenizers or a shorter text" if times > 1 else "a shorter text"
        instead = f"choose {which}, or use the `toksmith` command or Python, which take longer ones"
        raise toksmith.errors.InvalidOption(name, amount, f"at most {self.most:,} bytes here; {instead}")

    def number(self, name: str, default: int | None = None, *, least: int = 0, most: int = 1 << 53) -> int:
        """A whole number in a range."""
        value = self.values.get(name, default)
        if type(value) is not int or not least <= value <= most:
            raise toksmith.errors.InvalidOption(name, value, f"a whole number from {least:,} to {most:,}")
        return value

    def strings(self, name: str) -> list[str]:
        value = self.values.get(name, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise toksmith.errors.InvalidOption(name, value, "a list of texts")
        return value

    @property
    def text(self) -> str:
        """The text: sent with the request, or sent before and named by its key."""
        if "text" in self.values:
            text = self.string("text")
            if len(text) > MOST_BYTES or len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
                raise toksmith.errors.InvalidOption(
                    "text", f"{len(text):,} characters", f"at most {MOST_BYTES:,} bytes"
                )
            self.values["key"] = self.session.keep(text)
        else:
            text = self.held.text
        times = max(1, len(self.strings("tokenizers")))
        if times * (size := size_of(text, self.most // times)) > self.most:
            self.refuse("text", size, times)
        return text

    @property
    def key(self) -> str:
        if "key" not in self.values or "text" in self.values:
            _ = self.text
        return self.string("key")

    @property
    def held(self) -> StoredText:
        """The stored text of `key`, or the result of `edits` of the text with the key `base`."""
        if "edits" in self.values:
            base = self.string("base")
            before = self.once("text", base, lambda: unknown_text(base))
            key, held = apply_edits(base, before.text, self.values.pop("edits"))
            if len(held.text) > MOST_BYTES or len(held.text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
                raise toksmith.errors.InvalidOption("edits", key, f"a text of at most {MOST_BYTES:,} bytes")
            self.values["key"] = key
            return self.once("text", key, lambda: held)
        key = self.string("key")
        return self.once("text", key, lambda: unknown_text(key))

    @property
    def names(self) -> list[str]:
        names = self.strings("tokenizers")
        if not 1 <= len(names) <= MOST_TOKENIZERS:
            raise toksmith.errors.InvalidOption("tokenizers", names, f"1 to {MOST_TOKENIZERS} names")
        for name in names:
            if name not in self.session.toks:
                raise toksmith.errors.UnknownName("tokenizer", name, self.session.toks)
        return names

    @property
    def toks(self) -> dict[str, toksmith.Tokenizer]:
        return {name: self.session.toks[name] for name in self.names}

    @property
    def tok(self) -> toksmith.Tokenizer:
        """The tokenizer of a request about one tokenizer."""
        return self.session.toks[self.names[self.which]]

    @property
    def which(self) -> int:
        """The index of that tokenizer in the names; `of` gives its name, by default the first."""
        names = self.names
        name = self.string("of", names[0])
        if name not in names:
            raise toksmith.errors.UnknownName("tokenizer", name, names)
        return names.index(name)

    @property
    def special(self) -> Any:
        value = self.string("special", "text")
        if value not in ("text", "allow", "raise"):
            raise toksmith.errors.InvalidOption("special", value, "text, allow or raise")
        return value


def size_of(text: str, most: int) -> int:
    """The bytes of a text, or the number of its characters if that proves that it has at most `most` bytes."""
    return len(text) if 4 * len(text) <= most else len(text.encode("utf-8", "surrogatepass"))


def unknown_text(key: str) -> StoredText:
    raise UnknownText("text", key, ())


def text_bytes(request: ViewRequest) -> bytes:
    text = request.text
    return request.once("data", request.key, lambda: toksmith.reference.utf8(text))


def stored_text(request: ViewRequest) -> StoredText:
    key = request.key
    return request.once("text", key, lambda: unknown_text(key))


def decode_file(data: object, argument: str, name: str, allowed: str = "the bytes of each file in base64") -> bytes:
    """The bytes of a file from their base64."""
    try:
        name.encode()
        return base64.b64decode(data if isinstance(data, str) else "?", validate=True)
    except (binascii.Error, ValueError):
        raise toksmith.errors.InvalidOption(argument, name, allowed) from None
