"""`Tokenizer.parse` and `parser`: the message that a model wrote, from its ids.

The rule: ids decide what is a mark (`grammars.py`). A mark in a place where the grammar does not expect it is text and a problem.
A call of `feed` costs time in proportion to its ids: texts are joined when a field of the message is read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._base.arguments import check_flag, check_items
from ..._base.threads import one_call_at_a_time
from ...errors import InvalidOption, UnknownName
from .grammars import GRAMMARS, KINDS, Field, Grammar, ToolCall

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = ["MessageParser", "ParsedMessage", "make_parser"]

OPEN = "the call is not complete"


class Reading(NamedTuple):
    """A state of a parser: lists that only grow, and their lengths in this state."""

    grammar: Grammar
    content: tuple[list[str], int]
    thinking: tuple[list[str], int]
    calls: tuple[list[ToolCall], int]
    fields: tuple[list[Field], int]  # of the call that is not complete

    def fields_of_message(self) -> dict[str, Any]:
        """The fields of the message that are made at the first use."""
        (calls, count), (fields, length) = self.calls, self.fields
        begun = self.grammar.read(join_fields(fields[:length])) if length else None
        open_calls = (replace(call, problem=OPEN) if call.problem else call for call in begun or ())
        texts = {"content": self.content, "thinking": self.thinking}
        joined_texts = {name: "".join(parts[:size]) for name, (parts, size) in texts.items()}
        return {**joined_texts, "tool_calls": (*calls[:count], *open_calls)}


@dataclass(frozen=True)
class ParsedMessage:
    """The message that a model wrote.

    Attributes:
        role: "assistant".
        content: The text for the reader.
        thinking: The reasoning before it; empty without any.
        tool_calls: In order. In a message that is not complete, the last one
            can have a `problem` that later ids solve.
        complete: Whether the ids end the turn.
        problems: What does not follow the grammar of the family, such as a
            mark in the wrong place.
    """

    role: str
    content: str
    thinking: str
    tool_calls: tuple[ToolCall, ...]
    complete: bool
    problems: tuple[str, ...] = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            reading = self.__dict__.get("_reading")  # of a parser: these fields are made at the first use
            if reading is not None:
                self.__dict__.update(reading.fields_of_message())
                self.__dict__.pop("_reading", None)
            if name not in self.__dict__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return self.__dict__[name]


class MessageParser:
    """Reads a message while its ids arrive; made by `Tokenizer.parser`.

    `feed` returns the message so far, without the bytes of an incomplete
    character and without the beginning of what can become a mark. Its content
    only grows, unless the prompt began the thinking and `thinking` was not
    set. One call at a time can use it: a concurrent call raises RuntimeError.
    """

    def __init__(self, tok: Tokenizer, grammar: Grammar, thinking: bool) -> None:
        added = {token.content: token for token in tok.model.added_tokens}
        self._grammar, self._check, self._decoder = grammar, tok._engine.decode_bytes, tok.decoder()
        self._start = "header" if grammar.part else "thinking" if thinking else "content"
        self._marks = {token.id: text for text, token in added.items() if text in grammar.marks or token.special}
        self._written = written_marks(grammar, added)
        self._most_newlines = max((before for before, _ in grammar.newlines.values()), default=0)
        self._free, self._what = Lock(), "parser"
        self._begin()

    def _begin(self) -> None:
        self._content: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[ToolCall] = []
        self._fields: list[Field] = []  # of the call or the header; those without a mark go on with the one before
        self._problems: dict[str, None] = {}
        self._held = ""  # text that later text can make part of a mark
        self._complete, self._undecided = False, self._grammar.bare is not None
        self._thought = False
        self._enter(self._start)

    @one_call_at_a_time
    def feed(self, ids: Iterable[int] | int) -> ParsedMessage:
        """The message of all ids so far.

        Args:
            ids: One id or several.
        Raises:
            UnknownId: No token has one of the ids; the parser is unchanged.
        """
        sequence = [ids] if isinstance(ids, (int, np.integer)) else check_items(ids, "ids", "ids (integers)")
        self._check(sequence)
        start = 0
        for place, id in enumerate(sequence):
            if id in self._marks:
                self._write(self._decoder.feed(sequence[start:place]) + self._decoder.finish())
                self._pass(self._marks[id])
                start = place + 1
        self._write(self._decoder.feed(sequence[start:]))
        return self._message()

    @one_call_at_a_time
    def finish(self) -> ParsedMessage:
        """The message of all ids, with the text that was held back; the parser
        then starts again.
        """
        self._write(self._decoder.finish())
        self._leave()
        self._part = "after"
        message = self._message()
        self._begin()
        return message

    def _message(self) -> ParsedMessage:
        message = object.__new__(ParsedMessage)
        grown = (self._content, self._thinking, self._calls, self._fields if self._part == "call" else [])
        reading = Reading(self._grammar, *((each, len(each)) for each in grown))  # type: ignore[arg-type]
        problems = tuple(self._problems)
        message.__dict__.update(role="assistant", complete=self._complete, problems=problems, _reading=reading)
        return message

    def _write(self, text: str) -> None:
        """Adds text, in which marks can be written as text."""
        text = self._held + text
        if self._undecided and self._grammar.bare:
            begins_call = self._grammar.bare(text)
            if begins_call is None:
                self._held = text
                return
            self._undecided = False
            if begins_call:
                self._enter("call")
        place = 0
        while (written := self._written_here()) and (found := written.pattern.search(text, place)):
            self._held, place = text[place : found.start()], found.end()
            self._pass(found[0])
        end = self._certain_end(text, place, written)
        self._held = text[end:]
        self._put(text[place:end])

    def _written_here(self) -> Written | None:
        return self._written.get(self._fields[0].mark if self._part == "call" else self._part)

    def _certain_end(self, text: str, place: int, written: Written | None) -> int:
        """Where the text ends that no later text can make part of a mark."""
        end = len(text)
        if written:
            sizes = range(min(written.longest - 1, end - place), 0, -1)
            end -= next((size for size in sizes if written.begins(text[-size:])), 0)
        if self._part in ("content", "thinking"):
            least = max(place, end - self._most_newlines)
            while end > least and text[end - 1] == "\n":
                end -= 1
        return end

    def _pass(self, mark: str) -> None:
        """Goes on to the part that a mark begins."""
        kind = self._grammar.marks.get(mark, "")
        if not self._expects(kind):
            self._flush()
            self._problems[f"{mark} is not expected in its place, and is text"] = None
            self._put(mark)
            return
        before, after = self._grammar.newlines.get(kind, (0, 0))
        part = KINDS[kind].begins or self._part
        if kind == "answer" and self._part == "content":
            self._content, self._thinking, self._part = [], self._content, "thinking"
        if kind == "body" and self._grammar.part:
            self._flush()
            part = self._grammar.part(join_fields(self._fields))
            self._enter(part, fields=[*self._fields, Field(mark, "")])
        elif kind == "field" or (kind == "header" and self._part == "header"):
            self._flush()
            self._fields.append(Field(mark, ""))
        else:
            final = self._part == "final"
            self._leave(before)
            self._enter(part, after, [Field(mark, "")])
            self._complete = kind == "end" or (kind == "close" and final)
        self._complete |= part == "after" and kind == "body"

    def _expects(self, kind: str) -> bool:
        """Whether the grammar expects a mark of this kind in this place."""
        if kind == "answer" and self._part == "content":
            return not (self._thought or self._calls)  # else the prompt began the thinking
        return bool(kind) and self._part in KINDS[kind].inside.split()

    def _enter(self, part: str, newlines: float = 0, fields: Sequence[Field] = (Field("", ""),)) -> None:
        self._part, self._skipped, self._fields, self._is_new = part, newlines, [*fields], True
        self._thought |= part == "thinking"

    def _leave(self, newlines: float = 0) -> None:
        """Ends a part, without this number of newlines at its end."""
        self._flush(newlines)
        fields = join_fields(self._fields)
        calls = self._grammar.read(fields) if self._part == "call" else None
        text = "".join(mark + text for mark, text in fields)
        if calls is not None:
            self._calls += calls
        elif self._part == "call" or (self._part == "header" and text.strip()):
            if self._part == "header":
                self._problems["a header without a message is text"] = None
            self._part = "content"
            self._put(text)

    def _flush(self, newlines: float = 0) -> None:
        """Adds the text that was held back, without this number of newlines at its end."""
        text, self._held, self._undecided = self._held, "", False
        self._put(text[: max(len(text.rstrip("\n")), len(text) - int(newlines))])

    def _put(self, text: str) -> None:
        if self._part in ("call", "header"):
            self._fields.append(Field("", text))
            return
        if self._skipped and text:
            size = min(self._skipped, len(text) - len(text.lstrip("\n")))
            text = text[int(size) :]
            self._skipped = 0 if text else self._skipped - size
        if self._part == "after":
            if text.strip():
                self._problems["the text after the end of the turn is left out"] = None
        elif text:
            texts = self._thinking if self._part == "thinking" else self._content
            texts += ["\n", text] if self._is_new and texts else [text]
            self._is_new = False


class Written(NamedTuple):
    """Marks that can come as ordinary text.

    Attributes:
        longest: Number of characters of the longest one.
    """

    marks: tuple[str, ...]
    pattern: re.Pattern[str]
    longest: int

    def begins(self, text: str) -> bool:
        return any(mark.startswith(text) for mark in self.marks)


def written_marks(grammar: Grammar, added: Collection[str]) -> dict[str, Written]:
    """For each part of a turn, and each mark of a call, the marks that the family writes as text there."""
    missing = {begin: end for begin, end in grammar.written.items() if begin not in added}
    places: dict[str, list[str]] = {"content": [*missing]}
    for begin, end in missing.items():
        thinks = grammar.marks[begin] == "think"
        for part in ("content", "thinking") if thinks else (begin,):
            places.setdefault(part, []).append(end)
    return {
        part: Written(tuple(marks), re.compile("|".join(map(re.escape, marks))), max(map(len, marks)))
        for part, marks in places.items()
        if marks
    }


def join_fields(fields: Iterable[Field]) -> list[Field]:
    """The fields, each with its whole text."""
    found: list[tuple[str, list[str]]] = []
    for mark, text in fields:
        if mark or not found:
            found.append((mark, []))
        found[-1][1].append(text)
    return [Field(mark, "".join(texts)) for mark, texts in found]


def make_parser(tok: Tokenizer, family: str | None, thinking: bool) -> MessageParser:
    """See `Tokenizer.parser`.

    Raises:
        InvalidOption: The tokenizer lacks the marks of the family, or of all families.
        UnknownName: There is no such family.
    """
    check_flag(thinking, "thinking")
    added = {token.content for token in tok.model.added_tokens}
    known = {name: grammar for name, grammar in GRAMMARS.items() if added & {*grammar.needs}}
    if family is not None and family not in GRAMMARS:
        raise UnknownName("family", family, GRAMMARS)
    if (family is None and not known) or (family is not None and family not in known):
        rows = GRAMMARS.items() if family is None else [(family, GRAMMARS[family])]
        marks = ", ".join(f"{' or '.join(grammar.needs)} ({name}: {grammar.used_by})" for name, grammar in rows)
        raise InvalidOption("family", family, f"a tokenizer with the added token {marks}")
    return MessageParser(tok, GRAMMARS[family or next(iter(known))], thinking)
