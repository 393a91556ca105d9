"""Contents in parts: lists of texts, images and other media.

The rule: no part is lost silently. A template that would write such a list as Python writes it is refused, and so is a template
that looks for a text in an image and finds none. A template that does not visit the list, or asks for the type of the part, decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...errors import InvalidOption
from .budget import LEFT

__all__ = ["ADVICE", "NotText", "Part", "Parts", "mark_content", "refuse_lost"]

ADVICE = "join the texts of the parts, or pass a template that loops over parts"


class NotText(Exception):
    """A template writes a content in parts as one text."""


class Part(dict[Any, Any]):
    """A part without a text. It notes whether the template finds something in it."""

    _read = _missed = False

    def _note(self, name: object) -> bool:
        found = dict.__contains__(self, name)
        self._read, self._missed = self._read or found, self._missed or not found
        return found

    __contains__ = _note

    def __getitem__(self, name: Any) -> Any:
        self._note(name)
        return super().__getitem__(name)

    def get(self, name: Any, default: Any = None) -> Any:
        """As of a dict."""
        return dict.__getitem__(self, name) if self._note(name) else default


class Parts(list[Any]):
    """A content in parts."""

    def _as_text(self) -> str:
        if LEFT.get() is None:
            return list.__repr__(self)
        raise NotText

    __str__ = __repr__ = _as_text


def mark_content(content: Iterable[Any], mark: Callable[[Any], Any]) -> Parts:
    """A content in parts, each marked."""
    parts = Parts(map(mark, content))
    for place, part in enumerate(parts):
        if isinstance(part, dict) and not isinstance(part.get("text"), str):
            parts[place] = Part(part)
    return parts


def refuse_lost(messages: Iterable[Any]) -> None:
    """
    Raises:
        InvalidOption: The template looked for a text in a part that has none, and wrote nothing for it.
    """
    for number, message in enumerate(messages):
        content = message.get("content")
        for place, part in enumerate(content if type(content) is Parts else ()):
            if isinstance(part, Part) and part._missed and not part._read:
                kind = dict.get(part, "type")
                raise InvalidOption(
                    "messages",
                    f"message {number}: part {place} of type {kind}",
                    f"parts of the types that the template writes; {ADVICE}",
                )
