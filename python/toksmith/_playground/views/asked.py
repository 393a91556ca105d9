"""What a view is asked, checked.

The rule: every argument is checked where it is read, and what is wrong with it is an `InvalidOption` that says what was expected.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any, TypeVar

import toksmith

from ..texts import Held, edited
from .session import MOST_BYTES, MOST_TOKENIZERS, Session

__all__ = ["Asked", "AskerLeft", "UnknownText", "data_of", "held_of"]

MOST_AT_ONCE = 20_000_000  # bytes of a text, as often as there are tokenizers to look at it
T = TypeVar("T")


class AskerLeft(toksmith.ToksmithError):
    """The asker has left, or the server stops."""

    def __str__(self) -> str:
        return "the question was given up"


class UnknownText(toksmith.UnknownName):
    """A text that is not kept any more; the page sends it again."""


class Asked:
    """What a view is asked, checked: the text, the tokenizers and the rest of the arguments.

    Attributes:
        left: Set when the asker has left.
        most: The most bytes of a text that the view takes, for all tokenizers together.
    """

    def __init__(self, session: Session, values: object, left: Event | None = None) -> None:
        if not isinstance(values, dict):
            raise toksmith.InvalidOption("body", type(values).__name__, "a JSON object")
        self.session, self.values, self.left, self.most = session, values, left, MOST_AT_ONCE

    def go_on(self, _: object = None) -> None:
        """Raises `AskerLeft` if the asker has left; called between two steps."""
        if self.left is not None and self.left.is_set():
            raise AskerLeft

    def once(self, kind: str, key: Any, make: Callable[[], T]) -> T:
        """As `Session.once`; each call is a step."""
        self.go_on()
        return self.session.once(kind, key, make)

    def string(self, name: str, default: str | None = None) -> str:
        """A text argument."""
        value = self.values.get(name, default)
        if not isinstance(value, str):
            raise toksmith.InvalidOption(name, value, "a text")
        if (size := size_of(value, self.most)) > self.most:
            self.refuse(name, size, 1)
        return value

    def refuse(self, name: str, size: int, times: int) -> None:
        """Raises the error of a text that is too long for the view."""
        said = f"{size:,} bytes" if times == 1 else f"{size:,} bytes for each of {times} tokenizers"
        which = "fewer tokenizers or a shorter text" if times > 1 else "a shorter text"
        instead = f"choose {which}, or use the `toksmith` command or Python, which take longer ones"
        raise toksmith.InvalidOption(name, said, f"at most {self.most:,} bytes here; {instead}")

    def number(self, name: str, default: int | None = None, *, least: int = 0, most: int = 1 << 53) -> int:
        """A whole number in a range."""
        value = self.values.get(name, default)
        if type(value) is not int or not least <= value <= most:
            raise toksmith.InvalidOption(name, value, f"a whole number from {least:,} to {most:,}")
        return value

    def strings(self, name: str) -> list[str]:
        """A list of texts."""
        value = self.values.get(name, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise toksmith.InvalidOption(name, value, "a list of texts")
        return value

    @property
    def text(self) -> str:
        """The text: sent with the question, or sent before and named by its key."""
        if "text" in self.values:
            text = self.string("text")
            if len(text) > MOST_BYTES or len(text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
                raise toksmith.InvalidOption("text", f"{len(text):,} characters", f"at most {MOST_BYTES:,} bytes")
            self.values["key"] = self.session.keep(text)
        else:
            text = self.held.text
        times = max(1, len(self.strings("tokenizers")))
        if times * (size := size_of(text, self.most // times)) > self.most:
            self.refuse("text", size, times)
        return text

    @property
    def key(self) -> str:
        """The key of the text."""
        if "key" not in self.values or "text" in self.values:
            _ = self.text
        return self.string("key")

    @property
    def held(self) -> Held:
        """The text that is named by its key, or by `edits` of the text whose key is `base`."""
        if "edits" in self.values:
            base = self.string("base")
            before = self.once("text", base, lambda: unknown_text(base))
            key, held = edited(base, before.text, self.values.pop("edits"))
            if len(held.text) > MOST_BYTES or len(held.text.encode("utf-8", "surrogatepass")) > MOST_BYTES:
                raise toksmith.InvalidOption("edits", key, f"a text of at most {MOST_BYTES:,} bytes")
            self.values["key"] = key
            return self.once("text", key, lambda: held)
        key = self.string("key")
        return self.once("text", key, lambda: unknown_text(key))

    @property
    def names(self) -> list[str]:
        """The names of the tokenizers, in order."""
        names = self.strings("tokenizers")
        if not 1 <= len(names) <= MOST_TOKENIZERS:
            raise toksmith.InvalidOption("tokenizers", names, f"1 to {MOST_TOKENIZERS} names")
        for name in names:
            if name not in self.session.toks:
                raise toksmith.UnknownName("tokenizer", name, self.session.toks)
        return names

    @property
    def toks(self) -> dict[str, toksmith.Tokenizer]:
        """The tokenizers by name."""
        return {name: self.session.toks[name] for name in self.names}

    @property
    def tok(self) -> toksmith.Tokenizer:
        """The tokenizer that a question about one is for."""
        return self.session.toks[self.names[self.which]]

    @property
    def which(self) -> int:
        """The place of that tokenizer among the names; the page gives its name as `of`, or it is the first."""
        names = self.names
        name = self.string("of", names[0])
        if name not in names:
            raise toksmith.UnknownName("tokenizer", name, names)
        return names.index(name)

    @property
    def special(self) -> Any:
        """What special tokens in the text are."""
        value = self.string("special", "text")
        if value not in ("text", "allow", "raise"):
            raise toksmith.InvalidOption("special", value, "text, allow or raise")
        return value


def size_of(text: str, most: int) -> int:
    """The bytes of a text, or fewer where its characters alone show that it has at most `most`."""
    return len(text) if 4 * len(text) <= most else len(text.encode("utf-8", "surrogatepass"))


def unknown_text(key: str) -> Held:
    raise UnknownText("text", key, ())


def data_of(asked: Asked) -> bytes:
    """The bytes of the text."""
    text = asked.text
    return asked.once("data", asked.key, lambda: toksmith.reference.utf8(text))


def held_of(asked: Asked) -> Held:
    """The text as it is kept."""
    key = asked.key
    return asked.once("text", key, lambda: unknown_text(key))
