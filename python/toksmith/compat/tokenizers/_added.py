"""`tokenizers.AddedToken`, and the added tokens of a tokenizer with the library's rules for ids and new tokens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


class AddedToken:
    """A token that is matched before anything else in a text, with the flags of tokenizer.json."""

    def __init__(
        self,
        content: str | None = None,
        *,
        single_word: bool = False,
        lstrip: bool = False,
        rstrip: bool = False,
        normalized: bool | None = None,
        special: bool = False,
    ) -> None:
        if content is not None and not isinstance(content, str):
            raise TypeError(f"content: expected a str, not {type(content).__name__}")
        self.content, self.special, self._normalized = content or "", bool(special), normalized
        self.single_word, self.lstrip, self.rstrip = bool(single_word), bool(lstrip), bool(rstrip)

    @property
    def normalized(self) -> bool:
        """Whether it is matched in the normalized text; by default if it is not special."""
        return not self.special if self._normalized is None else self._normalized

    @classmethod
    def taken(cls, token: Any, special: bool) -> AddedToken:
        """An added token from a text, without flags, or from an added token of ours or the library's."""
        if isinstance(token, str):
            return cls(token, special=special)
        try:
            content, flags = token.content, {name: getattr(token, name) for name in FLAGS}
        except AttributeError:
            raise TypeError(f"Input must be a List[Union[str, AddedToken]], not of {type(token).__name__}") from None
        return cls(content, **flags)

    def to_json(self) -> dict[str, Any]:
        """The content and flags as JSON."""
        return {"content": self.content, **{name: getattr(self, name) for name in FLAGS}}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.to_json(), "normalized": self._normalized}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        AddedToken.__init__(self, **state)

    def __str__(self) -> str:
        return self.content

    def __repr__(self) -> str:
        flags = ", ".join(
            f"{name}={getattr(self, name)}" for name in ("rstrip", "lstrip", "single_word", "normalized", "special")
        )
        return f'AddedToken("{self.content}", {flags})'

    def __eq__(self, other: object) -> bool:
        if type(other).__name__ != "AddedToken":
            return NotImplemented
        return self.to_json() == AddedToken.taken(other, False).to_json()

    def __hash__(self) -> int:
        return hash(self.content)


class AddedTokens:
    """The added tokens by id, and all contents that were ever special."""

    def __init__(self) -> None:
        self.by_id: dict[int, AddedToken] = {}
        self.ids: dict[str, int] = {}
        self.special: set[str] = set()

    def add(self, tokens: Iterable[AddedToken], vocab: Mapping[str, int]) -> int:
        """Add tokens (a token of the vocabulary keeps its id), and return the number of new or changed ones."""
        new = 0
        for token in tokens:
            id = self.ids.get(token.content)
            if not token.content or (id is not None and self.by_id[id] == token):
                continue
            new += 1
            id = vocab.get(token.content) if id is None else id
            if id is None:
                highest = max(self.by_id, default=-1)
                id = highest + 1 if self.by_id and (highest >= len(vocab) or not vocab) else len(vocab)
            self.ids[token.content] = id
            self.by_id[id] = token
            if token.special:
                self.special.add(token.content)
        return new

    def to_json(self) -> list[dict[str, Any]]:
        """The tokens in the form of tokenizer.json."""
        return [{"id": id, **self.by_id[id].to_json()} for id in sorted(self.by_id)]
