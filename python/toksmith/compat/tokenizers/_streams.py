"""`tokenizers.decoders.DecodeStream`: the text of ids that come one after another, as soon as it is settled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["DecodeStream"]


class DecodeStream:
    """Gives the text that each further id adds; None while a character is not complete."""

    def __init__(self, ids: Sequence[int] | None = None, skip_special_tokens: bool = False) -> None:
        self.skip_special_tokens = skip_special_tokens
        self.ids = list(ids or ())
        self.prefix = ""
        self.settled = 0

    def step(self, tokenizer: Any, id: int | Sequence[int]) -> str | None:
        """The text that one id, or several, add."""
        if not self.prefix and self.ids:
            self.prefix = self.text(tokenizer)
            if self.prefix.endswith("�"):
                self.prefix = ""
            else:
                self.settled = len(self.ids)
        self.ids += [id] if isinstance(id, int) else list(id)
        text = self.text(tokenizer)
        if len(text.encode()) <= len(self.prefix.encode()) or text.endswith("�"):
            return None
        if not text.startswith(self.prefix):
            raise ValueError("Invalid prefix encountered while decoding stream")
        new, left = text[len(self.prefix) :], len(self.ids) - self.settled
        self.ids = self.ids[self.settled :]
        self.prefix, self.settled = self.text(tokenizer), left
        return new

    def text(self, tokenizer: Any) -> str:
        """The text of the ids that are kept."""
        return str(tokenizer.decode(self.ids, skip_special_tokens=self.skip_special_tokens))

    def __copy__(self) -> DecodeStream:
        copied = DecodeStream(self.ids, self.skip_special_tokens)
        copied.prefix, copied.settled = self.prefix, self.settled
        return copied

    def __deepcopy__(self, memo: object) -> DecodeStream:
        return self.__copy__()
