"""The ids of a text that grows or changes, with the origin of each.

The rule: the ids are those of `encode_chat` for the whole text, except where sampled ids are kept. A change encodes the text from
the last *cut* before it: a place where a mark of the template begins that no other added token can overlap, or a place where the
core can cut the text (`encode/boundaries.rs`). The ids on both sides of a cut do not depend on each other.

`GrownText` is a chain of segments and immutable, so conversations share their beginnings.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..boundaries import longest_added, utf8_or_none
from ..marks import PlacedIds
from ..session import common_length, common_prefix
from ..stream import CONTEXT
from .ids import place_ids, trusted_runs
from .marked import Marked, Origin, concat

__all__ = ["Change", "GrownText", "Held", "Kept", "TextEncoder", "before_of", "first_place", "last_end"]

Ids = NDArray[np.uint32]
FAR, NEAR = 1 << 12, 1 << 11  # characters: a cut of the core is searched if the last mark is FAR, within the last NEAR


class Held(NamedTuple):
    """Sampled ids of a message.

    Attributes:
        ids: The ids, without the mark that ends the turn.
        text: Their text.
        closing: The text of that mark; empty without one.
        lead: Where the message's first character is, counted from the start of `text`.
    """

    ids: Ids
    text: str
    closing: str
    lead: int

    def zone(self, start: int) -> tuple[int, int]:
        """The range without cuts if the text begins at a place."""
        return min(start, start + self.lead), start + len(self.text)


class Kept(NamedTuple):
    """A place in a segment where the text of sampled ids is, in characters.

    Attributes:
        message, start, end: The message, and the range of the text.
        drift: The number of the first sampled id that differs from the canonical ids; None if none does.
        canonical: The canonical ids of the range.
    """

    message: int
    start: int
    end: int
    drift: int | None
    canonical: Ids


class Cut(NamedTuple):
    """A cut in a segment: the place in characters, how far the text decides about it, and the number of ids before it."""

    place: int
    needs: int
    ids: int


@dataclass(frozen=True, eq=False)
class Segment:
    """A part of a text with its ids; places are characters of the part."""

    text: Marked
    placed: PlacedIds
    cuts: Sequence[Cut]
    zones: Sequence[tuple[int, int]]  # no cut is within one of these
    kept: Sequence[Kept]
    disarmed: Sequence[tuple[int, str]]
    armed: bool  # encoded so that only trusted text spells marks


class GrownText(NamedTuple):
    """A text: another one, and a beginning of a segment.

    Attributes:
        before: The text before; None if it is empty.
        start, first: The number of characters and ids before the segment.
        size, used: The number of characters and ids of the segment that belong to the text.
        spelled: The number of marks, in the whole text, that untrusted text spells.
    """

    before: GrownText | None
    segment: Segment
    start: int
    first: int
    size: int
    used: int
    spelled: int

    @property
    def end(self) -> int:
        """The number of characters."""
        return self.start + self.size

    @property
    def id_count(self) -> int:
        """The number of ids."""
        return self.first + self.used

    def links(self) -> Iterator[GrownText]:
        """This text and those before it, the longest first."""
        at: GrownText | None = self
        while at is not None:
            yield at
            at = at.before

    def ids(self, from_id: int = 0) -> Ids:
        """The ids from a number on."""
        parts = []
        for link in self.links():
            parts.append(link.segment.placed.ids[max(0, from_id - link.first) : link.used])
            if link.first <= from_id:
                break
        return parts[0] if len(parts) == 1 else np.concatenate(parts[::-1])

    def places(self) -> PlacedIds:
        """The ids with their places."""
        return join_placed([part_of(link.segment.placed, 0, link.used, link.start) for link in self.links()][::-1])

    def after(self, place: int) -> Marked:
        """The text from a place on."""
        return concat([*self.parts_after(place)][::-1])

    def runs_before(self, place: int) -> Iterator[tuple[int, Origin]]:
        """The runs of the text before a place, the last first: the end of each, and its origin."""
        for link in self.links():
            ends, size = link.segment.text.ends, min(link.size, place - link.start)
            last = bisect_left(ends, size, key=itemgetter(0)) if size > 0 else -1
            yield from ((link.start + min(ends[at][0], size), ends[at][1]) for at in range(last, -1, -1))

    def parts_after(self, place: int) -> Iterator[Marked]:
        """Its parts, the last first."""
        for link in self.links():
            if link.end > place:
                yield link.segment.text.part(max(0, place - link.start), link.size)
            if link.start <= place:
                return

    def kept_after(self, place: int) -> Iterator[Kept]:
        """The places of sampled ids from a place on, in the whole text, the last first."""
        for link in self.links():
            for each in reversed(link.segment.kept):
                if each.end <= link.size and each.start + link.start >= place:
                    yield each._replace(start=each.start + link.start, end=each.end + link.start)
            if link.start <= place:
                return

    def until(self, place: int, ids: int) -> GrownText | None:
        """The text before a cut of its last segment: characters and ids of the segment."""
        if place == 0:
            return self.before
        spelled = (self.before.spelled if self.before else 0) + bisect_left(self.segment.disarmed, (place,))
        return self._replace(size=place, used=ids, spelled=spelled)


class Part(NamedTuple):
    """A text that becomes a segment.

    Attributes:
        held: The sampled ids of the conversation's messages.
        armed, disarmed: As in `Segment`.
        needs: How many of its characters decide about the cut at its start.
    """

    text: Marked
    held: Mapping[int, Held]
    armed: bool
    needs: int
    disarmed: Sequence[tuple[int, str]]


class Change(NamedTuple):
    """A new text, and its difference from the old one.

    Attributes:
        text: The new text; None if it is empty.
        common: The number of characters that both begin with.
        kept: The number of ids before the encoded part.
        encoded: The number of characters that were encoded again.
    """

    text: GrownText | None
    common: int
    kept: int
    encoded: int


class TextEncoder:
    """Encodes texts that grow, for one tokenizer."""

    def __init__(self, tok: Any) -> None:
        self._tok = tok
        self._tokens = {token.id: token for token in reversed(tok._marks) if token.id != tok.model.unknown_id}
        self._closed: dict[int, bool] = {}
        self._margin = longest_added(tok.model) + CONTEXT

    def change(self, old: GrownText | None, start: int, tail: Marked, held: Mapping[int, Held]) -> Change:
        """The text `old[:start] + tail`, encoded from the last cut before the first change."""
        before = old.after(start) if old else Marked()
        common = start + common_start(before, tail)
        base, needs = self._cut_before(old, common) if old else (None, 0)
        at = base.end if base else 0
        part = tail.part(at - start, len(tail)) if at >= start else concat([before_of(old, at, start), tail])
        placed, _, disarmed = place_ids(self._tok, part, ())
        spelled = base.spelled if base else 0
        if base and base.segment.armed != (spelled + len(disarmed) > 0):
            part, base, at, spelled, needs = concat([base.after(0), part]), None, 0, 0, 0
            placed, _, disarmed = place_ids(self._tok, part, ())
        if not part:
            return Change(base, common, base.id_count if base else 0, 0)
        armed = spelled + len(disarmed) > 0
        placed = self._place(part, armed) if armed else placed
        segment = self._make_segment(Part(part, held, armed, needs, disarmed), placed)
        first = base.id_count if base else 0
        text = GrownText(base, segment, at, first, len(part), len(segment.placed.ids), spelled + len(disarmed))
        return Change(text, common, first, len(part))

    def _place(self, text: Marked, armed: bool) -> PlacedIds:
        """The ids of a part."""
        if armed:
            found: PlacedIds = self._tok._trusted_encoder.encode_with_offsets(trusted_runs(text))
            return found
        encoding = self._tok.encode_with_offsets(str.__str__(text), special="allow")
        return PlacedIds(encoding.ids, encoding.starts, encoding.ends)

    def _make_segment(self, part: Part, placed: PlacedIds) -> Segment:
        """A segment, with the sampled ids of its messages."""
        places = [*locate(part.text, part.held)] if part.held else []
        zones = [part.held[message].zone(start) for message, start in places]
        cuts = self._cuts(part, placed, zones)
        kept = list[Kept]()
        if places:
            placed, kept, drifting = self._lay_over(part, placed, [cut.place for cut in cuts], places)
            cuts = self._cuts(part, placed, zones := [*zones, *drifting])
        return Segment(part.text, placed, cuts, zones, kept, part.disarmed, part.armed)

    def _lay_over(
        self, part: Part, placed: PlacedIds, edges: list[int], places: Sequence[tuple[int, int]]
    ) -> tuple[PlacedIds, list[Kept], list[tuple[int, int]]]:
        """The ids with sampled ids in the place of others, and the ranges with such places.

        The ids between the cuts around sampled text, `edges`, are those of the text before, the sampled ids, and those of the
        text after. If they are not the canonical ids, they replace them.
        """
        text, held, edges = part.text, part.held, [*edges, len(part.text)]
        spans: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for message, start in places:
            high = edges[bisect_left(edges, start + len(held[message].text))]
            spans.setdefault((edges[bisect_right(edges, start) - 1], high), []).append((message, start))
        parts, done, kept, drifting = [], 0, list[Kept](), list[tuple[int, int]]()
        for (low, high), inside in spans.items():
            first, last = np.searchsorted(placed.starts, (low, high)).tolist()
            pieces, place, found = [], low, list[tuple[Kept, int]]()
            for message, start in inside:
                if start > place:
                    pieces.append(move_places(self._place(text.part(place, start), part.armed), place))
                place = start + len(held[message].text)
                ids = slice(*np.searchsorted(placed.starts, (start, place)).tolist())
                new = Kept(message, start, place, None, placed.ids[ids])
                found.append((new, sum(len(piece.ids) for piece in pieces)))
                pieces.append(sampled_ids(new, held[message].ids))
            if high > place:
                pieces.append(move_places(self._place(text.part(place, high), part.armed), place))
            own, canonical = join_placed(pieces), placed.ids[first:last]
            if np.array_equal(own.ids, canonical):
                kept += [each for each, _ in found]
                continue
            common = common_prefix(own.ids, canonical)
            for each, number in found:
                kept.append(each._replace(drift=min(max(0, common - number), len(held[each.message].ids))))
            parts += [part_of(placed, done, first), own]
            done = last
            drifting.append((low, high))
        parts.append(part_of(placed, done, len(placed.ids)))
        return join_placed(parts) if drifting else placed, kept, drifting

    def _cuts(self, part: Part, placed: PlacedIds, zones: Sequence[tuple[int, int]]) -> list[Cut]:
        """The cuts of a part, whose start is a cut."""
        cuts = [Cut(0, part.needs, 0)]
        for index, id in enumerate(placed.ids.tolist()):
            if id not in self._tokens:
                continue
            place = int(placed.starts[index])
            content = self._tokens[id].content
            inside = any(low < place < high for low, high in zones)
            if place and not inside and str.startswith(part.text, content, place) and self._is_closed(id):
                cuts.append(Cut(place, place + len(content), index))
        return cuts

    def _is_closed(self, id: int) -> bool:
        """Whether a text can be cut before this mark, wherever it is found."""
        if id not in self._closed:
            model, token = self._tok.model, self._tokens[id]
            rewritten = token.normalized and (model.normalizers or model.kind != "bpe")
            flagged = token.lstrip or token.single_word or rewritten
            first = token.content[0]
            begins_word = first.isspace() or first.isalnum() or first == "_"
            overlaps = any(overlaps_start(each.content, token.content) for each in model.added_tokens)
            self._closed[id] = not (flagged or begins_word or overlaps)
        return self._closed[id]

    def _cut_before(self, old: GrownText, place: int) -> tuple[GrownText | None, int]:
        """The text before the last cut that a change at a place leaves valid, and how many characters decide about the cut."""
        for link in old.links():
            cuts, limit = link.segment.cuts, place - link.start
            at = bisect_right(cuts, (limit, 0, 0)) - 1
            while at >= 0 and (cuts[at].needs > limit or cuts[at].place >= link.size):
                at -= 1
            if at >= 0:
                cut = cuts[at]
                if place - link.start - cut.place > FAR and not link.segment.armed:
                    nearer = self._cut_of_core(old, link.start + cut.place, place)
                    if nearer is not None:
                        return nearer
                return link.until(cut.place, cut.ids), cut.needs - cut.place
        return None, 0

    def _cut_of_core(self, old: GrownText, least: int, place: int) -> tuple[GrownText | None, int] | None:
        """As `_cut_before`, where the core finds a cut among the last characters before the place."""
        start = max(least, place - NEAR - self._margin)
        data = utf8_or_none(str.__str__(old.after(start).part(0, place - start)))
        margin = 0 if start == least else self._margin
        cut = None if data is None else _core.find_cut(self._tok._engine, data, margin, True)
        if data is None or cut is None:
            return None
        found = start + len(data[:cut].decode())
        link = next(link for link in old.links() if link.start < found)
        own, starts = found - link.start, link.segment.placed.starts
        index = int(np.searchsorted(starts, own))
        if any(low < own < high for low, high in link.segment.zones) or (own < link.size and starts[index] != own):
            return None
        return link.until(own, index), place - found


def before_of(text: GrownText | None, start: int, end: int) -> Marked:
    """The text from a place to another one."""
    return text.after(start).part(0, end - start) if text else Marked()


def overlaps_start(content: str, mark: str) -> bool:
    """Whether a place of `content` after its first character can be the start of `mark`, so far as `content` goes."""
    place = content.find(mark[0], 1)
    while place > 0:
        rest = content[place:]
        if rest.startswith(mark) or mark.startswith(rest):
            return True
        place = content.find(mark[0], place + 1)
    return False


def locate(text: Marked, held: Mapping[int, Held]) -> Iterator[tuple[int, int]]:
    """The messages whose sampled text the text has, each with its place."""
    start, seen = 0, set[int]()
    for end, origin in text.ends:
        message = origin.message
        if message in held and message not in seen:
            seen.add(message)
            own = held[message]
            place = start - own.lead
            if place >= 0 and str.startswith(text, own.text + own.closing, place):
                yield message, place
        start = end


def sampled_ids(place: Kept, ids: Ids) -> PlacedIds:
    """Sampled ids, all of them at the whole place."""
    starts, ends = (np.full(len(ids), at, np.int64) for at in (place.start, place.end))
    return PlacedIds(ids, starts, ends)


def move_places(placed: PlacedIds, by: int) -> PlacedIds:
    """The ids of a text that begins at a place."""
    return PlacedIds(placed.ids, placed.starts + by, placed.ends + by)


def part_of(placed: PlacedIds, first: int, last: int, by: int = 0) -> PlacedIds:
    """The ids of a range."""
    part = PlacedIds(placed.ids[first:last], placed.starts[first:last], placed.ends[first:last])
    return move_places(part, by) if by else part


def join_placed(parts: Sequence[PlacedIds]) -> PlacedIds:
    """The ids one after the other."""
    return PlacedIds(*map(np.concatenate, zip(*parts, strict=True)))


def common_start(one: Marked, other: Marked) -> int:
    """The number of characters that both begin with, with the same origins."""
    text, longer = str.__str__(one), str.__str__(other)
    size = len(one) if longer.startswith(text) else common_length(longer, [text])
    start = 0
    for (end, origin), (other_end, other_origin) in zip(one.ends, other.ends, strict=False):
        if origin != other_origin:
            return min(size, start)
        if end != other_end:
            return min(size, end, other_end)
        start = end
    return min(size, start)


def first_place(text: Marked, message: int) -> int | None:
    """Where the text of a message begins; None if there is none."""
    start = 0
    for end, origin in text.ends:
        if origin.message == message:
            return start
        start = end
    return None


def last_end(runs: Iterable[tuple[int, Origin]], message: int) -> int:
    """The end of the last run of a message below a number; 0 without one."""
    return next((end for end, origin in runs if 0 <= origin.message < message), 0)
