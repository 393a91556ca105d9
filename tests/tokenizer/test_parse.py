"""`Tokenizer.parse` and `parser`: a message comes back from the ids of its turn, whole or one id at a time.

`TOKSMITH_EXHAUSTIVE=1` draws 10,000 messages for each format.
"""

import json
import os
import random
import re
from typing import Any

import pytest
from turn_templates import TURNS, tokenizer_of

import toksmith
from toksmith._tokenizer.chat.grammars import GRAMMARS
from toksmith.types import ParsedMessage, ToolCall

MESSAGES = 10_000 if os.environ.get("TOKSMITH_EXHAUSTIVE") else 200
WORDS = [
    "low",
    " lower",
    "é",
    " 日本",
    "👍🏽",
    "\n",
    "\n\n",
    " ",
    "\t",
    '"',
    "'",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "=",
    "(",
]
WORDS += [
    ")",
    "`",
    "```",
    "1",
    "-2.5",
    "null",
    "True",
    "<",
    ">",
    "|",
    "\x00",
    "\u2028",
    "call:f{",
    "to=functions.f",
    ";",
]
MARKS = sorted({mark for turn in TURNS.values() for mark in turn.marks} | {"<think>", "</tool_call>", "```tool_code\n"})


class Draw(random.Random):
    """Draws messages that a format can hold."""

    def __init__(self, name: str, about: str) -> None:
        super().__init__(f"{about} {name}")
        self.turn = TURNS[name]

    def text(self) -> str:
        text = "".join(self.choices(WORDS + MARKS, k=self.randrange(12)))
        while any(mark in text for mark in self.turn.unlike):
            text = re.sub("|".join(map(re.escape, self.turn.unlike)), "", text)
        return text

    def value(self, depth: int = 0) -> Any:
        kind = self.randrange(8 if depth < 3 else 6)
        if kind == 6:
            return [self.value(depth + 1) for _ in range(self.randrange(4))]
        if kind == 7:
            return self.object(depth + 1)
        number = self.choice([0, 1, -7, 10**20, 0.5, -1e-7, 1e300])
        return [self.text(), self.text(), number, True, False, None][kind]

    def object(self, depth: int = 0) -> dict[str, Any]:
        keys = ["a", "city", "q_1", "é", "日本", "X", "None1"]
        return {self.choice(keys) + str(self.randrange(9)): self.value(depth) for _ in range(self.randrange(4))}

    def call(self) -> dict[str, Any]:
        id = self.choice(["abc123XYZ", "000000000"]) if self.turn.family == "mistral" else ""
        return {"name": self.choice(self.turn.names), "arguments": self.object(), "id": id}

    def message(self) -> dict[str, Any]:
        calls = [self.call() for _ in range(self.choice([0, 0, 1, self.turn.calls]))]
        thinking = self.text() if "thinking" in self.turn.holds and self.random() < 0.5 else ""
        content = "" if "content or calls" in self.turn.holds and calls else self.text()
        if self.turn.trimmed:
            thinking, content = thinking.strip(), content.strip()
        return {"role": "assistant", "content": content, "thinking": thinking, "tool_calls": calls}


def expected_of(message: dict[str, Any]) -> ParsedMessage:
    calls = tuple(ToolCall(call["name"], call["arguments"], "", call["id"]) for call in message["tool_calls"])
    return ParsedMessage("assistant", message["content"], message["thinking"], calls, True)


def ids_of(tok: toksmith.Tokenizer, name: str, message: dict[str, Any]) -> list[int]:
    ids: list[int] = tok.chat([message], template=TURNS[name].template).ids.tolist()
    return ids


@pytest.mark.parametrize("name", TURNS)
def test_a_message_comes_back(name: str) -> None:
    draw, tok, family = Draw(name, "round trip"), tokenizer_of(name), TURNS[name].family
    for _ in range(MESSAGES):
        message = draw.message()
        ids = ids_of(tok, name, message)
        assert tok.parse(ids, family=family) == expected_of(message), tok.decode(ids)
