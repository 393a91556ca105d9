"""The ids of a text whose characters know their origins."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._arguments import checked
from .._errors import InvalidOption, UnknownName, first_of, number_of
from .._segments import cut_segments
from ._marked import Marked, Origin

__all__ = ["ChatEncoding", "encoded"]

FIELDS = ("input_ids", "attention_mask", "assistant_masks")  # the names of transformers


@dataclass(frozen=True, eq=False, repr=False)
class ChatEncoding:
    """The ids of a conversation, and where each comes from.

    Attributes:
        ids: uint32, shape (n,).
        starts: int64, shape (n,): where in the text each id begins, in
            characters.
        ends: int64, shape (n,).
        messages: int32, shape (n,): the number of the message that each id
            comes from; -1 for what the template wrote.
        assistant_mask: uint8, shape (n,): 1 for what the assistant wrote. That
            is what the template has within `{% generation %}`; without such
            a block it is the content of messages with the role `assistant`.
        text: What the template wrote.
        disarmed: Where messages, or text of unknown origin, spell a special
            token that stayed text: pairs of its start and its content.

    The names of transformers work too: `found["input_ids"]`,
    `["attention_mask"]` and `["assistant_masks"]` are lists.
    """

    ids: NDArray[np.uint32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    messages: NDArray[np.int32]
    assistant_mask: NDArray[np.uint8]
    text: str
    disarmed: list[tuple[int, str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def keys(self) -> tuple[str, ...]:
        """The names that `found[name]` takes, so that `dict(found)` works."""
        return FIELDS

    @checked
    def __getitem__(self, name: str) -> list[int]:
        if name not in FIELDS:
            raise UnknownName("field of a ChatEncoding", name, FIELDS)
        ids, mask = self.ids.tolist(), self.assistant_mask.tolist()
        return ids if name == "input_ids" else [1] * len(ids) if name == "attention_mask" else mask

    def __repr__(self) -> str:
        own = int(self.assistant_mask.sum())
        return f"<ChatEncoding {number_of(len(self), 'id')}: {first_of(self.ids)}, {own:,} of the assistant>"


def encoded(tok: Any, text: Marked, roles: Sequence[str]) -> ChatEncoding:
    """The ids of the text, in which only trusted text can be a special token."""
    plain = str.__str__(text)
    disarmed = spelled(tok, text)
    ids, starts, ends = trusted_ids(tok, text) if disarmed else whole(tok, plain)
    if not disarmed and (disarmed := untrusted(tok, text, ids, starts, ends)):
        ids, starts, ends = trusted_ids(tok, text)
    if disarmed and (left := untrusted(tok, text, ids, starts, ends)):
        allowed = "texts that do not spell this special token: the model's ordinary vocabulary has it too, so it cannot stay text"
        raise InvalidOption("messages", left[0][1], allowed)
    found = origins(text, starts.tolist(), ends.tolist())
    blocks = any(origin.generated for _, origin in text.ends)
    mask = [origin.generated if blocks else origin.content and roles[origin.message] == "assistant" for origin in found]
    return ChatEncoding(
        ids,
        starts,
        ends,
        np.array([origin.message for origin in found], np.int32),
        np.array(mask, np.uint8),
        plain,
        disarmed,
    )


def origins(text: Marked, starts: list[int], ends: list[int]) -> list[Origin]:
    """Where each id comes from. One that a message and the template spell together belongs to the message."""
    places = [end for end, _ in text.ends]
    found = []
    for start, end in zip(starts, ends, strict=True):
        runs = text.ends[bisect_right(places, start) : bisect_left(places, end) + 1]
        own = [origin for _, origin in runs] or [Origin()]
        found.append(next((origin for origin in own if origin.generated or origin.message >= 0), own[0]))
    return found


def whole(tok: Any, text: str) -> tuple[Any, Any, Any]:
    """The ids where each special token that the text spells is the template's."""
    found = tok.encode_with_offsets(text, special="allow")
    return found.ids, found.starts, found.ends


def spelled(tok: Any, text: Marked) -> list[tuple[int, str]]:
    """The special tokens that are not, or not completely, spelled by trusted text, with their places."""
    contents = {token.content for token in tok.model.added_tokens if token.special}
    found = []
    for content in contents:
        place = str.find(text, content)
        while place >= 0:
            if not all(origin.trusted for _, origin in text.part(place, place + len(content)).runs()):
                found.append((place, content))
            place = str.find(text, content, place + 1)
    return sorted(found)


def untrusted(tok: Any, text: Marked, ids: Any, starts: Any, ends: Any) -> list[tuple[int, str]]:
    """The ids of special tokens that are not, or not completely, spelled by trusted text, with their places.

    `spelled` does not see all of them: a normalizer may make a token of another spelling, and a lone surrogate becomes U+FFFD.
    """
    tokens = {token.id: token for token in tok.model.added_tokens if token.special and token.id != tok.model.unknown_id}
    found = []
    for index in np.flatnonzero(np.isin(ids, [*tokens])).tolist():
        token, start, end = tokens[int(ids[index])], int(starts[index]), int(ends[index])
        part = text.part(start, max(end, start + 1))
        if token.lstrip or token.rstrip:
            part = part.strip() or part
        if not all(origin.trusted for _, origin in part.runs()):
            found.append((start, token.content))
    return found


def trusted_ids(tok: Any, text: Marked) -> tuple[Any, Any, Any]:
    """The ids where some special tokens stay text, with offsets in characters."""
    ids: list[NDArray[np.int64]] = []
    starts: list[NDArray[np.int64]] = []
    ends: list[NDArray[np.int64]] = []
    begun = 0
    segments = [(part.encode("utf-8", "surrogatepass"), origin.trusted) for part, origin in text.runs()]
    for data, token in cut_segments(tok.model.added_tokens, segments):
        part = data.decode("utf-8", "surrogatepass")
        if token is not None:
            found: Any = [token.id], [0], [len(part)]
        else:
            encoding = tok.encode_with_offsets(part, special="text")
            found = encoding.ids, encoding.starts, encoding.ends
        for column, values in zip((ids, starts, ends), found, strict=True):
            column.append(np.asarray(values, np.int64) + (0 if column is ids else begun))
        begun += len(part)
    joined = [np.concatenate(column) for column in (ids, starts, ends)]
    return joined[0].astype(np.uint32), joined[1], joined[2]
