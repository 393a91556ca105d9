"""`Tokenizer.parse` and `parser`: the message that a model wrote, from its ids.

The rule: ids decide what is a mark (`grammars.py`). A mark that the grammar does not expect in its place is text, and a problem.
A turn is a walk through parts: "content", "thinking", "call", and in some families "header" and "final"; "after" is its end.
A call of `feed` takes time in proportion to its own ids, because texts are joined when a field of the message is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._base.arguments import check_flag, check_items, check_text
from ..._base.threads import one_call_at_a_time
from ...errors import InvalidOption, UnknownName
from .grammars import GRAMMARS, KINDS, Field, Grammar, ToolCall

if TYPE_CHECKING:
    from ..tokenizer import Tokenizer

__all__ = ["MessageParser", "ParsedMessage", "make_parser"]


@dataclass(frozen=True)
class ParsedMessage(Mapping[str, Any]):
    """The message that a model wrote.

    It is also a mapping, with the fields that chat templates read: role,
    content, reasoning_content and tool_calls. So `tok.chat`, `Conversation.add`
    and `add_sampled` take it as a message, and `dict(parsed)` can be changed.

    Attributes:
        role: "assistant".
        content: The text for the reader.
        thinking: The reasoning before it; empty without any.
        tool_calls: In order. The last one of a message that is not complete
            can have a problem that later ids solve.
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
    _calls_in_text = False  # whether the templates of the family read arguments as text

    def _fields(self) -> dict[str, Any]:
        calls = list[dict[str, Any]]()
        for call in self.tool_calls:
            in_text = self._calls_in_text and not isinstance(call.arguments, str)
            arguments = json.dumps(call.arguments, ensure_ascii=False) if in_text else call.arguments
            calls.append({"type": "function", "function": {"name": call.name, "arguments": arguments}})
            calls[-1] |= {"id": call.id} if call.id else {}
        more = {"reasoning_content": self.thinking, "tool_calls": calls}
        return {"role": self.role, "content": self.content} | {name: value for name, value in more.items() if value}

    def __getitem__(self, name: str) -> Any:
        return self._fields()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields())

    def __len__(self) -> int:
        return len(self._fields())

    if not TYPE_CHECKING:  # `MessageParser` makes messages whose texts and calls are made at the first use

        def __getattr__(self, name: str) -> Any:
            later = self.__dict__.get("_later")
            if later is not None:
                self.__dict__.update(later())
                self.__dict__.pop("_later", None)
            if name not in self.__dict__:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            return self.__dict__[name]


Read = Callable[[list[Field]], list[ToolCall] | None]
Grown = tuple[list[Any], int]  # a list that only grows, and its length at some time


def texts_and_calls(read: Read, content: Grown, thinking: Grown, calls: Grown, fields: Grown) -> dict[str, Any]:
    """The fields of a message; `fields` are those of the call that is not complete."""
    begun = join_fields(fields[0][: fields[1]])
    found = (read(begun) or ()) if begun else ()
    last = [replace(call, problem="the call is not complete") if call.problem else call for call in found]
    texts = {"content": content, "thinking": thinking}
    joined = {name: "".join(parts[:size]) for name, (parts, size) in texts.items()}
    return {**joined, "tool_calls": (*calls[0][: calls[1]], *last)}


class MessageParser:
    """Reads a message while its ids arrive; made by `Tokenizer.parser`.

    `feed` returns the message so far, without the bytes of an incomplete
    character, and without text that can become a part of a mark. Its content
    only grows, unless the prompt began the thinking and `thinking` was not
    set. One call at a time can use it: a concurrent call raises RuntimeError.
    """

    _part: str
    _fields: list[Field]  # of the call or the header; one without a mark continues the one before

    def __init__(self, tok: Tokenizer, grammar: Grammar, thinking: bool) -> None:
        added = tok.model.added_tokens
        self._kinds = {mark: kind for kind, marks in grammar.marks.items() for mark in marks.split(" ")}
        self._marks = {token.id: token.content for token in added if token.special or token.content in self._kinds}
        self._written = find_written_marks(grammar, self._kinds, {token.content for token in added})
        self._most_newlines = max((before for before, _ in grammar.newlines.values()), default=0)
        self._grammar, self._check, self._decoder = grammar, tok._engine.decode_bytes, tok.decoder()
        self._start = "header" if grammar.part else "thinking" if thinking else "content"
        self._free, self._what = Lock(), "parser"
        self._begin()

    def _begin(self) -> None:
        self._content: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[ToolCall] = []
        self._problems: dict[str, None] = {}
        self._held = ""  # text that later text can make a part of a mark
        self._complete, self._thought, self._undecided = False, False, self._grammar.bare is not None
        self._enter(self._start)

    @one_call_at_a_time
    def feed(self, ids: Iterable[int] | int) -> ParsedMessage:
        """The message of all ids so far.

        Args:
            ids: One id or several.
        Raises:
            UnknownId: No token has one of the ids; the parser is unchanged.
        """
        sequence = (ids,) if isinstance(ids, (int, np.integer)) else check_items(ids, "ids", "ids (integers)")
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
        self._enter("after")
        message = self._message()
        self._begin()
        return message

    def _message(self) -> ParsedMessage:
        message = object.__new__(ParsedMessage)
        lists = (self._content, self._thinking, self._calls, self._fields if self._part == "call" else [])
        later = partial(texts_and_calls, self._grammar.read, *((grown, len(grown)) for grown in lists))
        problems = tuple(self._problems)
        message.__dict__.update(role="assistant", complete=self._complete, problems=problems, _later=later)
        message.__dict__["_calls_in_text"] = self._grammar.calls_in_text
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
        place = after = 0
        while (marks := self._written_here()) and (found := pattern_of(marks).search(text, after)):
            after = found.end()
            if self._kinds[found[0]] != "think" or not (self._content or found.start() > place):  # else it is content
                self._held, place = text[place : found.start()], after
                self._pass(found[0])
        end = len(text)
        longest = max(map(len, marks), default=1)
        sizes = range(min(longest - 1, end - after), 0, -1)
        end -= next((size for size in sizes if any(mark.startswith(text[-size:]) for mark in marks)), 0)
        if self._part in ("content", "thinking"):
            least = max(place, end - self._most_newlines)
            while end > least and text[end - 1] == "\n":
                end -= 1
        self._held = text[end:]
        self._put(text[place:end])

    def _written_here(self) -> tuple[str, ...]:
        return self._written.get(self._fields[0].mark if self._part == "call" else self._part, ())

    def _pass(self, mark: str) -> None:
        """Goes on to the part that a mark begins."""
        kind = self._kinds.get(mark, "")
        expected, part = KINDS.get(kind, ("", ""))
        renames = kind == "answer" and self._part == "content"  # what came before was the thinking
        if self._part not in expected.split() or (renames and (self._thought or self._calls)):
            self._flush()
            if self._part != "after":
                self._problems[f"{mark} is not expected in its place, and is text"] = None
            self._put(mark)
        elif kind == "field" or kind == self._part == "header":
            self._flush()
            self._fields.append(Field(mark, ""))
        elif kind == "body" and self._grammar.part:
            self._flush()
            part = self._grammar.part(join_fields(self._fields))
            self._enter(part, fields=[*self._fields, Field(mark, "")])
            self._complete |= part == "after"
        else:
            if renames:
                self._content, self._thinking, self._part, self._thought = [], self._content, "thinking", True
            before, after = self._grammar.newlines.get(kind, (0, 0))
            self._complete = kind == "end" or (kind == "close" and self._part == "final")
            self._leave(before)
            self._enter(part, after, [Field(mark, "")])

    def _enter(self, part: str, newlines: float = 0, fields: Sequence[Field] = (Field("", ""),)) -> None:
        """Begins a part, without this number of newlines at its start."""
        self._part, self._skipped, self._is_new = part, newlines, True
        self._fields = [*fields]
        self._thought |= part == "thinking"

    def _leave(self, newlines: float = 0) -> None:
        """Ends a part, without this number of newlines at its end."""
        self._flush(newlines)
        if self._part not in ("call", "header"):
            return
        fields = join_fields(self._fields)
        calls = self._grammar.read(fields) if self._part == "call" else None
        text = "".join(mark + text for mark, text in fields)
        if calls is not None:
            self._calls += calls
        elif text.strip():
            if self._part == "header":
                self._problems["a header without a message is text"] = None
            self._enter("content")
            self._put(text)

    def _flush(self, newlines: float = 0) -> None:
        """Adds the text that was held back, without this number of newlines at its end."""
        text, self._held, self._undecided = self._held, "", False
        self._put(text[: max(len(text.rstrip("\n")), len(text) - int(newlines))])

    def _put(self, text: str) -> None:
        if self._part in ("call", "header"):
            self._fields += [Field("", text)] if text else []
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


def find_written_marks(grammar: Grammar, kinds: dict[str, str], added: Collection[str]) -> dict[str, tuple[str, ...]]:
    """For each part of a turn, and each mark of a call, the marks that the family writes as text there."""
    missing = {begin: end for begin, end in grammar.written.items() if begin not in added}
    answers = tuple(end for begin, end in missing.items() if kinds[begin] == "think")
    calls = {begin: (end,) for begin, end in missing.items() if kinds[begin] == "call"}
    return {"content": (*missing,), "thinking": answers, **calls}


@cache
def pattern_of(marks: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, marks)))


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
        InvalidOption: The tokenizer has no marks of the family, or of any.
        UnknownName: There is no such family.
    """
    check_flag(thinking, "thinking")
    if family is not None and check_text(family, "family") not in GRAMMARS:
        raise UnknownName("family", family, sorted(GRAMMARS))
    added = {token.content for token in tok.model.added_tokens}
    rows = GRAMMARS if family is None else {family: GRAMMARS[family]}
    for grammar in rows.values():
        if added & {*grammar.needs.split()}:
            return MessageParser(tok, grammar, thinking)
    marks = "; ".join(
        f"{grammar.needs.replace(' ', ' or ')} ({name}: {grammar.used_by})" for name, grammar in rows.items()
    )
    raise InvalidOption("family", family, f"a family whose marks the tokenizer has as added tokens: {marks}")
