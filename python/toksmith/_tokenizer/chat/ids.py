"""The ids of a text whose characters know their origins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._base.errors import UnknownName, first_of, number_of
from ..._model.model import AddedToken
from .marked import Marked, Origin

if TYPE_CHECKING:
    from ..results import Encoding

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
        disarmed: Where messages, or text of unknown origin, spell an added
            token, special or not, that stayed text: pairs of its start and
            its content.

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
        own = int(self.assistant_mask.sum())
        return f"<ChatEncoding {number_of(len(self), 'id')}: {first_of(self.ids)}, {own:,} of the assistant>"


def encoded(tok: Any, text: Marked, roles: Sequence[str]) -> ChatEncoding:
    """The ids of the text, in which only trusted text can be a mark."""
    plain = str.__str__(text)
    found = tok.encode_with_offsets(plain, special="allow")
    disarmed = sorted({*find_spelled_marks(tok._marks, text), *find_untrusted_ids(tok, text, found)})
    if disarmed:
        found = tok._trusted_encoder.encode_with_offsets(trusted_runs(text))
    origins = [origin for _, origin in text.ends] or [Origin()]
    blocks = any(origin.generated for origin in origins)
    mask = [
        origin.generated if blocks else origin.content and roles[origin.message] == "assistant" for origin in origins
    ]
    own = runs_of(text, found.starts, found.ends)
    return ChatEncoding(
        found.ids,
        found.starts,
        found.ends,
        np.array([origin.message for origin in origins], np.int32)[own],
        np.array(mask, np.uint8)[own],
        plain,
        disarmed,
    )


def runs_of(text: Marked, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each id, the number of the run that it comes from. One that a message and the template spell together is the message's."""
    if not text.ends:
        return np.zeros(len(starts), np.int64)
    places = np.array([end for end, _ in text.ends], np.int64)
    first = np.minimum(np.searchsorted(places, starts, "right"), len(places) - 1)
    last = np.minimum(np.searchsorted(places, ends, "left"), len(places) - 1)
    for index in np.flatnonzero(last > first).tolist():
        own = range(int(first[index]), int(last[index]) + 1)
        first[index] = next((run for run in own if is_said(text.ends[run][1])), own[0])
    return first


def is_said(origin: Origin) -> bool:
    """Whether a message has the run, or the model wrote it."""
    return origin.generated or origin.message >= 0


def find_spelled_marks(marks: Sequence[AddedToken], text: Marked) -> Iterator[tuple[int, str]]:
    """The marks that are not, or not completely, spelled by trusted text, with their places."""
    for content in {token.content for token in marks}:
        place = str.find(text, content)
        while place >= 0:
            if not is_trusted(text.part(place, place + len(content))):
                yield place, content
            place = str.find(text, content, place + 1)


def find_untrusted_ids(tok: Any, text: Marked, found: Encoding) -> Iterator[tuple[int, str]]:
    """The ids of marks that are not, or not completely, spelled by trusted text, with their places.

    `find_spelled_marks` does not see all of them: a normalizer may make a token of another spelling, a lone surrogate becomes U+FFFD, and
    merges may make one of ordinary text.
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
    """The text in parts, each of which is trusted or not."""
    runs = groupby(text.runs(), key=lambda run: run[1].trusted)
    return [("".join(part for part, _ in run), trusted) for trusted, run in runs]
