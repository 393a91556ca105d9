"""Encodes a text that records the origin of each character."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..._base.wording import number_of, preview_items
from ..._model.model import AddedToken
from ...errors import UnknownName
from ..marks import PlacedIds
from ..results import Ragged
from .marked import ENDS, Ends, Joined, Marked

__all__ = ["ChatEncoding", "Rendered", "encode_chat", "encode_chats", "label_ids", "place_ids"]

Rendered = tuple[Marked, list[str]]  # the text of a conversation, and the role of each message
FIELDS = ("input_ids", "attention_mask", "assistant_masks")  # the names of transformers


@dataclass(frozen=True, eq=False, repr=False)
class ChatEncoding:
    """The ids of a conversation, each with its origin.

    Attributes:
        ids: uint32, shape (n,).
        starts: int64, shape (n,): where in the text each id begins, in
            characters.
        ends: int64, shape (n,).
        messages: int32, shape (n,): the number of the message that each id
            comes from; -1 for text of the template.
        assistant_mask: uint8, shape (n,): 1 for text of the assistant: the
            text within `{% generation %}`, or without such a block the
            content of messages with the role `assistant`.
        text: The text that the template wrote.
        disarmed: The added tokens, special or not, that messages or text of
            unknown origin spell, and that stayed text: pairs of start and
            content.

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

    def __getitem__(self, name: str) -> list[int]:
        if name not in FIELDS:
            raise UnknownName("field of a ChatEncoding", name, FIELDS)
        ids, mask = self.ids.tolist(), self.assistant_mask.tolist()
        return ids if name == "input_ids" else [1] * len(ids) if name == "attention_mask" else mask

    def __repr__(self) -> str:
        assistant_ids = int(self.assistant_mask.sum())
        return f"<ChatEncoding {number_of(len(self), 'id')}: {preview_items(self.ids)}, {assistant_ids:,} of the assistant>"


def encode_chat(tok: Any, text: Marked, roles: Sequence[str]) -> ChatEncoding:
    """The ids of the text, in which only trusted text can be a mark."""
    placed, labels, disarmed = place_ids(tok, text, roles)
    if disarmed:
        placed = tok._trusted_encoder.encode_with_offsets(trusted_runs(text))
        labels = label_ids(text, placed.starts, placed.ends, roles)
    plain = text.plain if isinstance(text, Joined) else str.__str__(text)
    return ChatEncoding(*placed, *labels, plain, disarmed)


def place_ids(
    tok: Any, text: Marked, roles: Sequence[str]
) -> tuple[PlacedIds, tuple[NDArray[np.int32], NDArray[np.uint8]], list[tuple[int, str]]]:
    """The ids of the text as if all of it were trusted, their labels, and the marks that untrusted text spells."""
    found, labels, trusted = _core.encode_runs(tok._engine, tok._mark_finder, *parts_of(text), assistants_of(roles))
    placed = PlacedIds(*found)
    spelled = set() if trusted else {*find_spelled_marks(tok._marks, text), *find_untrusted_ids(tok, text, placed)}
    return placed, labels, sorted(spelled)


def encode_chats(tok: Any, chats: Sequence[Rendered], threads: int) -> Ragged:
    """The ids and the masks of many texts."""
    rows = [(*parts_of(text), assistants_of(roles)) for text, roles in chats]
    ids, ends, mask, untrusted = _core.encode_ragged_runs(tok._engine, tok._mark_finder, rows, threads)
    if untrusted:
        found = {place: encode_chat(tok, *chats[place]) for place in untrusted}
        cuts = ends[:-1].astype(np.int64)
        ids_of, masks = np.split(ids, cuts), np.split(mask, cuts)
        for place, chat in found.items():
            ids_of[place], masks[place] = chat.ids, chat.assistant_mask
        ids, mask = np.concatenate(ids_of), np.concatenate(masks)
        ends = np.cumsum([len(row) for row in ids_of], dtype=np.uint64)
    return Ragged(ids, ends, mask)


def parts_of(text: Marked) -> tuple[str, list[Ends]]:
    """The text as a `str`, and the `ends` of each of its parts."""
    return (text.plain, [*map(ENDS, text.parts)]) if isinstance(text, Joined) else (str.__str__(text), [text.ends])


def assistants_of(roles: Sequence[str]) -> bytes:
    """For each message, 1 if the assistant wrote it."""
    return bytes([role == "assistant" for role in roles])


def label_ids(
    text: Marked, starts: NDArray[np.int64], ends: NDArray[np.int64], roles: Sequence[str]
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """For each id, the number of its message, and whether the assistant wrote it."""
    return _core.label_ids(starts, ends, [text.ends], assistants_of(roles))


def find_spelled_marks(marks: Sequence[AddedToken], text: Marked) -> Iterator[tuple[int, str]]:
    """The marks that trusted text does not spell completely, with their places."""
    for content in {token.content for token in marks}:
        place = str.find(text, content)
        while place >= 0:
            if not is_trusted(text.part(place, place + len(content))):
                yield place, content
            place = str.find(text, content, place + 1)


def find_untrusted_ids(tok: Any, text: Marked, found: PlacedIds) -> Iterator[tuple[int, str]]:
    """The marks among the ids that trusted text does not spell completely, with their places.

    `find_spelled_marks` misses some: a normalizer can turn another spelling into a token, a lone surrogate becomes U+FFFD, and
    merges can form a token from ordinary text.
    """
    tokens = {token.id: token for token in reversed(tok._marks) if token.id != tok.model.unknown_id}
    for index in np.flatnonzero(np.isin(found.ids, [*tokens])).tolist():
        token, start, end = tokens[int(found.ids[index])], int(found.starts[index]), int(found.ends[index])
        part = text.part(start, max(end, start + 1))
        if token.lstrip or token.rstrip:
            start += len(part) - len(part.lstrip())
            part = part.strip() or part
        if not is_trusted(part):
            yield start, token.content


def is_trusted(text: Marked) -> bool:
    """Whether the template wrote all of the text."""
    return all(origin.trusted for _, origin in text.ends)


def trusted_runs(text: Marked) -> list[tuple[str, bool]]:
    """The text in runs, each with whether it is trusted."""
    runs = groupby(text.runs(), key=lambda run: run[1].trusted)
    return [("".join(part for part, _ in run), trusted) for trusted, run in runs]
