"""`tokenizers.Encoding`: ids, and their tokens, offsets, words and masks.

An encoding is runs of sources: a part of an encoded text, tokens around it, or padding. Cutting and joining work on
runs, and a column is computed on first use; so ids alone never compute offsets.
"""

from __future__ import annotations

import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._base.threads import cached_property

Offsets = tuple[int, int]
NOWHERE = (0, 0)


class Fixed(NamedTuple):
    """A source with computed columns."""

    ids: Sequence[int]
    tokens: Sequence[str]
    offsets: Sequence[Offsets]
    words: Sequence[int | None]
    special: int = 0
    attention: int = 1

    @classmethod
    def from_ids(cls, ids: Sequence[int]) -> Fixed:
        """Ids without known columns."""
        count = len(ids)
        return cls(ids, [""] * count, [NOWHERE] * count, [None] * count)

    @classmethod
    def put(cls, ids: Sequence[int], tokens: Sequence[str], attention: int = 1) -> Fixed:
        """Tokens that are not in a text."""
        count = len(ids)
        return cls(list(ids), list(tokens), [NOWHERE] * count, [None] * count, 1, attention)


class Places(NamedTuple):
    """The starts and ends of ids in a text, in characters: int64, shape (n,) each.

    Attributes:
        blanks: The numbers of white-space characters at the start and at the end of each token, for a part of the ids;
            None if the text decides.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    blanks: Callable[[slice], tuple[NDArray[np.int64], NDArray[np.int64]] | None]


class Late:
    """A source with ids; the other columns are computed when one of them is first used.

    Args:
        make: Computes all columns.
        place: Computes the offsets alone; None where they need the other columns.
        write: Computes the tokens alone; None where they need the other columns.
    """

    def __init__(
        self,
        ids: Sequence[int],
        make: Callable[[], Fixed],
        *,
        special: int = 0,
        attention: int = 1,
        place: Callable[[], Places | None] = lambda: None,
        write: Callable[[], Sequence[str] | None] = lambda: None,
    ) -> None:
        self.ids, self.make, self.place, self.write = ids, make, place, write
        self.special, self.attention = special, attention

    @cached_property
    def columns(self) -> Fixed:
        return self.make()

    @cached_property
    def places(self) -> Places | None:
        return self.place()

    @cached_property
    def tokens(self) -> Sequence[str]:
        tokens = None if "columns" in self.__dict__ else self.write()
        return self.columns.tokens if tokens is None else tokens

    @cached_property
    def offsets(self) -> Sequence[Offsets]:
        if "columns" in self.__dict__ or self.places is None:
            return self.columns.offsets
        return [*zip(self.places.starts.tolist(), self.places.ends.tolist(), strict=True)]

    @property
    def words(self) -> Sequence[int | None]:
        return self.columns.words

    @cached_property
    def ordered_offsets(self) -> tuple[list[int], list[int]] | None:
        """The starts and the ends of the offsets if both ascend, so that they can be bisected."""
        starts, ends = [start for start, _ in self.offsets], [end for _, end in self.offsets]
        return (starts, ends) if starts == sorted(starts) and ends == sorted(ends) else None

    @cached_property
    def ordered_words(self) -> list[int] | None:
        """The words if all are known and ascend."""
        words = [word for word in self.words if word is not None]
        return words if len(words) == len(self.words) and words == sorted(words) else None


class Run(NamedTuple):
    """The part of a source from `start` to `stop`, its type, and the shift of its offsets."""

    source: Fixed | Late
    start: int
    stop: int
    type_id: int
    shift: int = 0

    def tokens(self) -> Sequence[str]:
        """The tokens of this run."""
        return self.source.tokens[self.start : self.stop]

    def columns(self) -> Fixed:
        """The columns of this run, independent of the text and tokenizer."""
        part, src = slice(self.start, self.stop), self.source
        columns = list(src.ids[part]), list(self.tokens()), list(src.offsets[part]), list(src.words[part])
        return Fixed(*columns, src.special, src.attention)

    def with_columns(self, source: Fixed | Late) -> Run:
        """The same run over the whole of another source."""
        return self._replace(source=source, start=0, stop=len(source.ids))


class Encoding:
    """The ids of a text or pair of texts, with tokens, offsets, words and masks."""

    __slots__ = ("_overflowing", "_ranges", "_runs")

    def __init__(
        self,
        runs: Iterable[Run] = (),
        overflowing: Iterable[Encoding] = (),
        ranges: Mapping[int, tuple[int, int]] | None = None,
    ) -> None:
        self._runs = list(runs)
        self._overflowing = list(overflowing)
        # The range of each numbered text; empty before post-processing.
        self._ranges = dict(ranges or {})

    def __len__(self) -> int:
        return sum(run.stop - run.start for run in self._runs)

    def __repr__(self) -> str:
        names = "ids, type_ids, tokens, offsets, attention_mask, special_tokens_mask, overflowing"
        return f"Encoding(num_tokens={len(self)}, attributes=[{names}])"

    def __reduce__(self) -> tuple[Any, ...]:
        return Encoding, ([run.with_columns(run.columns()) for run in self._runs], self._overflowing, self._ranges)

    @property
    def ids(self) -> list[int]:
        """The ids."""
        return [id for run in self._runs for id in run.source.ids[run.start : run.stop]]

    @property
    def tokens(self) -> list[str]:
        """The token of each id."""
        return [token for run in self._runs for token in run.tokens()]

    @property
    def type_ids(self) -> list[int]:
        """The type of each id."""
        return self.expand_runs([run.type_id for run in self._runs])

    @property
    def attention_mask(self) -> list[int]:
        """0 for padding, 1 otherwise."""
        return self.expand_runs([run.source.attention for run in self._runs])

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for tokens around texts, and for padding; 0 otherwise."""
        return self.expand_runs([run.source.special for run in self._runs])

    @property
    def sequence_ids(self) -> list[int | None]:
        """The number of the text of each id; None for tokens around texts."""
        numbers: list[int | None] = [None] * len(self)
        for sequence in range(self.n_sequences):
            start, stop = self.range_of(sequence)
            numbers[start:stop] = [sequence] * (stop - start)
        return numbers

    def range_of(self, sequence: int) -> tuple[int, int]:
        """The range of a text; everything, if no text has this number."""
        return self._ranges.get(sequence) or (0, len(self))

    def expand_runs(self, values: list[Any]) -> list[Any]:
        """A value for each id, from a value for each run."""
        return [value for run, value in zip(self._runs, values, strict=True) for _ in range(run.start, run.stop)]

    @property
    def offsets(self) -> list[Offsets]:
        """The range of characters in the text for each id."""
        offsets: list[Offsets] = []
        for run in self._runs:
            columns = run.source.offsets[run.start : run.stop]
            moved = run.shift and not run.source.special
            offsets += [(start + run.shift, end + run.shift) for start, end in columns] if moved else columns
        return offsets

    @property
    def word_ids(self) -> list[int | None]:
        """The number of the piece, or of the input word, of each id."""
        return [word for run in self._runs for word in run.source.words[run.start : run.stop]]

    @property
    def words(self) -> list[int | None]:
        """The old name of `word_ids`."""
        warnings.warn("Encoding.words is deprecated, please use Encoding.word_ids", DeprecationWarning, stacklevel=2)
        return self.word_ids

    @property
    def overflowing(self) -> list[Encoding]:
        """The encodings that truncation cut off."""
        return self._overflowing

    @property
    def n_sequences(self) -> int:
        """The number of texts."""
        return len(self._ranges) or 1

    def set_sequence_id(self, sequence_id: int) -> None:
        """Assign all ids to one text."""
        self._ranges[sequence_id] = (0, len(self))

    def copy(self) -> Encoding:
        """A copy with the same overflowing encodings."""
        return Encoding(self._runs, self._overflowing, self._ranges)

    def with_type(self, type_id: int) -> Encoding:
        """A copy with one type; overflowing encodings keep their types, as in the library."""
        return Encoding([run._replace(type_id=type_id) for run in self._runs], self._overflowing, self._ranges)

    def typed(self, type_id: int, sequence: int) -> Encoding:
        """A copy with another type and text."""
        typed_copy = self.with_type(type_id)
        typed_copy._overflowing = [each.copy() for each in self._overflowing]
        for each in (typed_copy, *typed_copy._overflowing):
            each.set_sequence_id(sequence)
        return typed_copy

    def token_to_sequence(self, token_index: int) -> int | None:
        """The number of the text of an id."""
        if not self._ranges:
            return 0 if 0 <= token_index <= len(self) else None
        for sequence, (start, stop) in self._ranges.items():
            if start <= token_index < stop:
                return sequence
        return None

    def _run_at(self, place: int) -> tuple[Run, int]:
        """The run of an id, and its place in the source. Programs ask for each id, so this makes no column."""
        for run in self._runs:
            place += run.start
            if place < run.stop:
                break
            place -= run.stop
        return run, place

    def _parts_of(self, sequence: int) -> Iterator[tuple[Run, int, int, int]]:
        """The runs of a text: each with its part's range in the source, and the distance from there to this encoding."""
        first, last = self.range_of(sequence)
        before = 0
        for run in self._runs:
            moved = before - run.start
            start, stop = max(first - moved, run.start), min(last - moved, run.stop)
            if start < stop:
                yield run, start, stop, moved
            before = moved + run.stop

    def _chars_at(self, place: int) -> Offsets:
        """The range of characters of an id."""
        run, place = self._run_at(place)
        start, end = run.source.offsets[place]
        return (start, end) if run.source.special else (start + run.shift, end + run.shift)

    def token_to_chars(self, token_index: int) -> Offsets | None:
        """The range of characters of an id of a text."""
        return self._chars_at(token_index) if self._is_of_text(token_index) else None

    def token_to_word(self, token_index: int) -> int | None:
        """The word of an id of a text."""
        if not self._is_of_text(token_index):
            return None
        run, place = self._run_at(token_index)
        return run.source.words[place]

    def _is_of_text(self, token_index: int) -> bool:
        """Whether this is the place of an id of a text; the place after the last id is not."""
        return self.token_to_sequence(token_index) is not None and (bool(self._ranges) or token_index < len(self))

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """The first place of a word's ids, and the place after the last."""
        found = None
        for run, start, stop, moved in self._parts_of(sequence_index):
            words = run.source.ordered_words if isinstance(run.source, Late) else None
            if words is not None:
                first, end = bisect_left(words, word_index, start, stop), bisect_right(words, word_index, start, stop)
                is_last = end < stop
            else:
                first, end, is_last = scan_words(run.source.words, word_index, start, stop)
            if first < end:
                found = (found[0] if found else first + moved, end + moved)
            if is_last:
                break
        return found

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> Offsets | None:
        """The range of characters of a word."""
        places = self.word_to_tokens(word_index, sequence_index)
        if places is None:
            return None
        return self._chars_at(places[0])[0], self._chars_at(places[1] - 1)[1]

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The place of the first id at a character."""
        for run, start, stop, moved in self._parts_of(sequence_index):
            at = char_pos if run.source.special else char_pos - run.shift
            ordered = run.source.ordered_offsets if isinstance(run.source, Late) else None
            if ordered is not None:
                place = bisect_right(ordered[1], at, start, stop)
                if place < stop and ordered[0][place] <= at:
                    return place + moved
                continue
            offsets = run.source.offsets
            for place in range(start, stop):
                if offsets[place][0] <= at < offsets[place][1]:
                    return place + moved
        return None

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """The word at a character."""
        place = self.char_to_token(char_pos, sequence_index)
        return None if place is None else self.token_to_word(place)

    def part(self, start: int, stop: int) -> Encoding:
        """The ids from one place to another, without the numbers of their texts."""
        runs, before = [], 0
        for run in self._runs:
            first, last = max(start - before, 0), min(stop - before, run.stop - run.start)
            if first < last:
                runs.append(run._replace(start=run.start + first, stop=run.start + last))
            before += run.stop - run.start
        return Encoding(runs)

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Keep `max_length` ids; the rest goes to `overflowing`, in parts of that size that share `stride` ids."""
        if direction not in ("left", "right"):
            raise ValueError(f"Invalid truncation direction value : {direction}")
        size = len(self)
        if max_length >= size:
            return
        if max_length == 0:
            self._runs, self._overflowing, self._ranges = [], [self.copy()], {}
            return
        if stride >= max_length:
            raise ValueError(
                f"`stride` must be strictly less than `max_len={max_length}` (note that `max_len` may be shorter than the max "
                "length of the original model, as it subtracts the number of special characters)"
            )
        first, *others = [self.part(*each) for each in truncation_ranges(size, max_length, stride, direction)]
        self._runs, self._overflowing, self._ranges = first._runs, others, {}

    def pad(
        self,
        length: int,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
    ) -> None:
        """Pad to a length, overflowing encodings too."""
        if direction not in ("left", "right"):
            raise ValueError(f"Unknown `direction`: `{direction}`. Use one of `left` or `right`")
        for each in self._overflowing:
            each.pad(length, direction, pad_id, pad_type_id, pad_token)
        more = length - len(self)
        if more > 0:
            run = Run(Fixed.put([pad_id] * more, [pad_token] * more, 0), 0, more, pad_type_id)
            if direction == "right":
                self._runs = [*self._runs, run]
            else:
                self._runs, self._ranges = [run, *self._runs], shift_ranges(self._ranges, more)

    @staticmethod
    def merge(encodings: Iterable[Encoding], growing_offsets: bool = True) -> Encoding:
        """Encodings one after another, with the overflow of each combined with all the others."""
        whole = Encoding()
        for each in encodings:
            whole = whole.joined(each, growing_offsets)
        return whole

    def joined(self, other: Encoding, growing: bool) -> Encoding:
        over = []
        for overflowing in self._overflowing:
            over += [overflowing.joined(each, growing) for each in (other, *other._overflowing)]
        over += [self.joined(each, growing) for each in other._overflowing]
        offsets = self.offsets if growing else []
        shift = offsets[-1][1] if offsets else 0
        runs = [*self._runs, *(run._replace(shift=run.shift + shift) for run in other._runs)]
        return Encoding(runs, over, {**self._ranges, **shift_ranges(other._ranges, len(self))})


def scan_words(words: Sequence[int | None], wanted: int, start: int, stop: int) -> tuple[int, int, bool]:
    """The places of a word in a part of a column: the first, the place after the last, and whether a later word ends it."""
    places: list[int] = []
    for place in range(start, stop):
        word = words[place]
        if word is not None and word > wanted:
            return (places[0], places[-1] + 1, True) if places else (0, 0, True)
        places += [place] if word == wanted else []
    return (places[0], places[-1] + 1, False) if places else (0, 0, False)


def shift_ranges(ranges: Mapping[int, tuple[int, int]], by: int) -> dict[int, tuple[int, int]]:
    return {sequence: (start + by, stop + by) for sequence, (start, stop) in ranges.items()}


def truncation_ranges(size: int, most: int, stride: int, direction: str) -> list[tuple[int, int]]:
    """The ranges of the parts that truncation makes; the part that is kept comes first."""
    parts = []
    if direction == "right":
        for start in range(0, size, most - stride):
            parts.append((start, min(start + most, size)))
            if start + most >= size:
                break
        return parts
    for stop in range(size, 0, stride - most):
        parts.append((max(stop - most, 0), stop))
        if stop <= most:
            break
    return parts
