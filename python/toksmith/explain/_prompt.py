"""The end of a prompt inside a text: whether the longer text has the same ids, and the healed prompt."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .._base.wording import number_of
from .._render import Block, Line, Shown, Table, TokenText, TokenView, json_of, token_json, token_text
from .._sources.named import TokenizerSource, describe_tokenizer, resolve_tokenizer
from .._tokenizer.tokenizer import Special, Text
from ..errors import InvalidOption
from ..reference import utf8
from ._inputs import view_tokens

MOST_TOKENS = 24  # tokens shown before the end
AFTER = 8  # tokens shown after the end
MOST_CONTINUATIONS = 60


@dataclass(frozen=True, repr=False)
class Prompt(Shown):
    """A prompt, the longer text, and the prompt cut back to a place that allows
    every continuation.

    Attributes:
        prompt: Its bytes.
        ids: The ids of the prompt alone.
        followed: The ids of the whole text; equal to `ids` if nothing follows.
        agree: The length of the common prefix of `ids` and `followed`.
        healed: The ids of the healed prompt.
        rest: The bytes that were cut off; the next token must begin with them.
        continuations: Number of tokens that begin with `rest`; 0 if nothing
            was cut off.
        first_continuations: Id and bytes of some of them, the lowest ids.
    """

    tokenizer: str
    prompt: bytes
    ids: tuple[int, ...]
    followed: tuple[int, ...]
    agree: int
    healed: tuple[int, ...]
    rest: bytes
    continuations: int
    first_continuations: tuple[tuple[int, bytes], ...]
    drawn: tuple[tuple[TokenView, ...], ...]

    @property
    def is_beginning(self) -> bool:
        """Whether the ids of the whole text begin with the ids of the prompt."""
        return self.agree == len(self.ids)

    @property
    def ends_in_space(self) -> bool:
        """Whether the prompt ends in a space or a tab, which nearly always
        belongs to the next token."""
        return self.prompt.endswith((b" ", b"\t"))

    def to_dict(self) -> dict[str, Any]:
        """Ids and tokens as JSON values, bytes as hex; for long prompts only the
        last tokens."""
        prompt, followed, healed = json_of(self.drawn)
        return {
            "tokenizer": self.tokenizer,
            "bytes": len(self.prompt),
            "ids": len(self.ids),
            "agree": self.agree,
            "is_beginning": self.is_beginning,
            "ends_in_space": self.ends_in_space,
            "prompt": prompt,
            "followed": followed,
            "healed": {"ids": len(self.healed), "tokens": healed, "rest": token_json(self.rest)},
            "continuations": self.continuations,
            "first_continuations": [{"id": id, **token_json(token)} for id, token in self.first_continuations],
        }

    def _parts(self) -> Iterator[str | Block]:
        title = f"a prompt of {number_of(len(self.prompt), 'byte')}, {number_of(len(self.ids), 'token')} by {self.tokenizer}"
        yield title
        prompt, followed, healed = self.drawn
        if self.ends_in_space:
            yield Line(
                "it ends in white space, which prevents the token that a model would usually choose next", "warn"
            )
        yield TokenText(prompt, "the prompt alone (its last tokens)")
        if len(self.followed) > len(self.ids) or not self.is_beginning:
            yield TokenText(followed, "the longer text (its tokens around the end of the prompt)")
        if not self.is_beginning:
            differing = len(self.ids) - self.agree
            yield Line(f"ids at the end of the prompt: {differing:,} differ from those of the longer text", "warn")
        if not self.rest:
            yield Line("nothing needs to be cut off: every continuation of the prompt is possible", "good")
            return
        yield TokenText(healed, "healed: the part that is kept")
        yield Line(
            f"the next token must begin with {token_text(self.rest)}: {number_of(self.continuations, 'candidate')}"
        )
        rows = [[str(id), token_text(token)] for id, token in self.first_continuations]
        yield Table(["id", "token"], rows, "the first of them", left=(1,))


def prompt(tok: TokenizerSource, text: Text, end: int | None = None, *, special: Special = "text") -> Prompt:
    """The end of a prompt: its ids, the ids of the longer text, and the healed
    prompt.

    Args:
        text: The prompt and the text that follows it.
        end: The end of the prompt, in characters of the text (of `bytes`: in
            bytes); None for the end of the text.
        special: As in `Tokenizer.encode`, but by default plain text.
    Raises: as `Tokenizer.encode`; InvalidOption if `end` is outside the text.
    Cost: two encodings, and at the first call an index of the tokens by their
        bytes.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", vocab_size=300)
    >>> found = toksmith.explain.prompt(tok, "low lowest", 6)
    >>> found.is_beginning, found.rest, found.continuations
    (False, b' lo', 4)
    """
    tok = resolve_tokenizer(tok)
    place = len(text) if end is None else end
    if not 0 <= place <= len(text):
        raise InvalidOption("end", end, f"0 to {len(text):,}, the length of the text")
    beginning = text[:place]
    ids = tok.encode(beginning, special=special)
    followed = tok.encode(text, special=special) if place < len(text) else ids
    pairs = zip(ids, followed, strict=False)
    agree = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(ids), len(followed)))
    healing = tok.heal(beginning, special=special)
    some = healing.continuations[:MOST_CONTINUATIONS].tolist() if healing.rest else []
    near = max(0, min(agree, len(ids)) - MOST_TOKENS)
    parts = ids[near:][-MOST_TOKENS:], followed[near : max(agree, len(ids)) + AFTER], healing.ids[-MOST_TOKENS:]
    return Prompt(
        describe_tokenizer(tok),
        utf8(beginning),
        tuple(ids),
        tuple(followed),
        agree,
        tuple(healing.ids),
        healing.rest,
        len(healing.continuations) if healing.rest else 0,
        tuple((id, tok.token_bytes(id)) for id in some),
        tuple(view_tokens(tok, part) for part in parts),
    )
