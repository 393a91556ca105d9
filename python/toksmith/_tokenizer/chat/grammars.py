"""How models write their turn: a row for each family, with its marks and the reading of its tool calls.

The rule: an added token is a mark by its id. The same characters as ordinary text are text, except where the tokenizer lacks the
added token and the family's models write it as text (`written`). Left out: the walk over the ids (`parse.py`).
Sources: the chat templates of the models, mistral-common, and openai/harmony.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any, NamedTuple

__all__ = ["GRAMMARS", "KINDS", "Field", "Grammar", "ToolCall"]


@dataclass(frozen=True)
class ToolCall:
    """A call of a function that a model wrote.

    Attributes:
        name: Of the function; empty if the call does not show it.
        arguments: As data, usually a dict; if they cannot be read, the text
            that the model wrote.
        problem: Why the call cannot be used as it is; empty for a good call.
        id: The id that the model gave the call; empty in most families.
    """

    name: str
    arguments: Any
    problem: str = ""
    id: str = ""


class Field(NamedTuple):
    """A mark of a call or of a header, and the text after it."""

    mark: str
    text: str


# For each kind of mark: the parts of a turn in which it is expected, and the part that it begins.
KINDS = {
    "think": ("content", "thinking"),
    "answer": ("thinking content", "content"),  # in `content`, the prompt began the thinking
    "call": ("content thinking call", "call"),
    "field": ("call header", ""),  # the same part goes on
    "called": ("call", "content"),
    "calls": ("content thinking call", "content"),  # around all calls
    "header": ("header after", "header"),
    "body": ("header", ""),  # the header decides the part
    "close": ("content final thinking call", "after"),
    "end": ("header content final thinking call", "after"),
}


class Grammar(NamedTuple):
    """How the models of a family write their turn.

    Attributes:
        used_by: Models.
        needs: Marks, with spaces between; a tokenizer of the family has one of them.
        marks: The marks of each kind, with spaces between.
        read: Reads a call; None if its text is not a call.
        newlines: For a kind, the numbers of newlines before and after a mark that belong to it.
        written: Marks that models write as text if the tokenizer lacks them, each with the mark that ends its part. One
            that begins the thinking does so only before all content.
        bare: Whether a turn that begins with this text begins with a call; None if more text decides.
        part: The part that follows a header; `final` is content that ends the turn.
        calls_in_text: Whether the family's templates read the arguments of a call as the text of JSON.
    """

    used_by: str
    needs: str
    marks: Mapping[str, str]
    read: Callable[[list[Field]], list[ToolCall] | None]
    newlines: Mapping[str, tuple[float, float]] = {}
    written: Mapping[str, str] = {}
    bare: Callable[[str], bool | None] | None = None
    part: Callable[[list[Field]], str] | None = None
    calls_in_text: bool = False


def finite(number: str) -> float:
    """The number; JSON has no `NaN` or `Infinity`, and could not hold the infinity of `1e400`."""
    if not isfinite(float(number)):
        raise ValueError(f"{number} is not a number that JSON and float can hold")
    return float(number)


JSON = json.JSONDecoder(parse_constant=finite, parse_float=finite)
BETWEEN_CALLS = re.compile(r"[\s,;\[\]]*")
NAME = re.compile(r'\s*\{\s*"name"\s*:\s*"([^"\\]*)"')
CALL = re.compile(NAME.pattern + r'\s*,\s*"(?:parameters|arguments)"\s*:')
FENCED = re.compile(r"([^\n]*)\n```(?:json)?\n")
RECIPIENT = re.compile(r"(?:^|\s)to=(\S+)")
KEY_OR_CONSTANT = re.compile(r'(?P<before>[{,])(?P<key>[^"{}\[\],:]+)(?=:)|\b(?P<constant>None|True|False)\b')
PYTHON = re.compile(
    r""""(?P<double>(?:[^"\\]+|\\.)*)(?:"|\\?\Z)|'(?P<single>(?:[^'\\]+|\\.)*)(?:'|\\?\Z)"""
    r"|(?P<word>[^\W\d][\w.]*)(?P<after>\s*[=(])?|\)",
    re.DOTALL,
)
CONSTANTS = {"None": "null", "True": "true", "False": "false"}


def check_call(name: Any, arguments: Any, id: Any = "") -> ToolCall:
    """A call, with a problem if a part has the wrong type."""
    if not isinstance(name, str):
        return ToolCall("", arguments, "the call has no name")
    problem = "" if isinstance(arguments, dict) else "the arguments are not an object"
    return ToolCall(name, arguments, problem, id if isinstance(id, str) else "")


def read_arguments(name: str, text: str, id: str = "") -> ToolCall:
    """A call of which only the arguments are JSON."""
    try:
        return check_call(name.strip(), JSON.decode(text), id.strip())
    except (ValueError, RecursionError) as error:
        return ToolCall(name.strip(), text, f"the JSON is broken: {error}", id.strip())


def json_calls(text: str) -> list[ToolCall]:
    """Calls that are JSON objects with a name and arguments, one after another or in lists."""
    calls: list[ToolCall] = []
    place = BETWEEN_CALLS.match(text).end()  # type: ignore[union-attr]
    while place < len(text) or not calls:
        try:
            item, end = JSON.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            name = NAME.match(text, place)
            rest = text[place:] if calls else text
            return [*calls, ToolCall(name[1] if name else "", rest, f"the JSON is broken: {error}")]
        found = item if isinstance(item, dict) and "name" in item else {"arguments": item}
        arguments = found.get("arguments", found.get("parameters", {}))
        calls.append(check_call(found.get("name"), arguments, found.get("id")))
        place = BETWEEN_CALLS.match(text, end).end()  # type: ignore[union-attr]
    return calls


def python_calls(text: str) -> list[ToolCall]:
    """Calls in Python's syntax with names for all arguments: `f(a=1)`, `print(f(a=1))`, `[f(a=1), g()]`."""
    printed = re.fullmatch(r"\s*print\((.*)\)\s*", text, re.DOTALL)
    calls = json_calls(PYTHON.sub(json_of_python, printed[1] if printed else text))
    broken = any(call.problem for call in calls)
    return [ToolCall(calls[-1].name, text, "it is not a call with names for all arguments")] if broken else calls


def json_of_python(token: re.Match[str]) -> str:
    """A token of a call in Python's syntax, as JSON."""
    word, after, text = token["word"], (token["after"] or "")[-1:], token["double"] or token["single"] or ""
    if word is None and token[0] == ")":
        return "}}"
    if word is None:
        return '"' + re.sub(r"\\.|\"", lambda found: {"\\'": "'", '"': '\\"'}.get(found[0], found[0]), text) + '"'
    if after == "(":
        return f'{{"name": {json.dumps(word)}, "arguments": {{'
    return json.dumps(word) + ":" if after else CONSTANTS.get(word, word)


def join_from(fields: list[Field], first: int = 0) -> str:
    """The text of the fields from the first on, with the marks between them."""
    return "".join((field.mark if number else "") + field.text for number, field in enumerate(fields[first:]))


def read_chatml(fields: list[Field]) -> list[ToolCall]:
    return json_calls(join_from(fields))


def begins_llama_call(text: str) -> bool | None:
    start = "".join(text[:64].split())[:8]
    return start == '{"name":' or (None if len(text) < 64 and '{"name":'.startswith(start) else False)


def read_llama(fields: list[Field]) -> list[ToolCall] | None:
    text, marked = join_from(fields), bool(fields[0].mark)
    if re.match(r"\s*[\w.]+\.call\(", text):
        return [replace(call, name=call.name.removesuffix(".call")) for call in python_calls(text)]
    if marked and not re.match(r'[\s\[]*\{\s*"', text):
        return [ToolCall("code_interpreter", {"code": text})]
    return json_calls(text) if marked or CALL.match(text) else None


def read_mistral(fields: list[Field]) -> list[ToolCall]:
    head, marks = fields[0].text, [field.mark for field in fields]
    if "[ARGS]" in marks:
        return [read_arguments(head, join_from(fields, marks.index("[ARGS]")), dict(fields).get("[CALL_ID]", ""))]
    if head.lstrip()[:1] in ("[", "{", ""):
        return json_calls(join_from(fields))
    name, brace, rest = join_from(fields).partition("{")
    return [read_arguments(name, brace + rest)]


def read_deepseek(fields: list[Field]) -> list[ToolCall]:
    head, text = ("", fields[0].text) if len(fields) < 2 else (fields[0].text, join_from(fields, 1))
    fenced = FENCED.match(text) if head.strip() == "function" else None
    if fenced:
        head, text = fenced[1], text[fenced.end() :].rstrip().removesuffix("```")
    return [read_arguments(head, text)]


def read_gemma(fields: list[Field]) -> list[ToolCall]:
    head = re.match(r"\s*call:([^{]*)", fields[0].text)
    if fields[0].mark != "<start_function_call>" or not head:
        return python_calls(join_from(fields))
    parts = [fields[0].text[head.end() :], *(field.text for field in fields[1:])]
    text = "".join(json.dumps(part) if number % 2 else json_keys(part) for number, part in enumerate(parts))
    call = read_arguments(head[1], text)
    return [replace(call, arguments=join_from(fields)[head.end() :]) if call.problem else call]


def json_keys(text: str) -> str:
    """The text between the strings of a call of Gemma, with quoted keys and the constants of JSON."""
    return KEY_OR_CONSTANT.sub(
        lambda found: CONSTANTS.get(found["constant"]) or found["before"] + json.dumps(found["key"].strip()), text
    )


def part_of_harmony(fields: list[Field]) -> str:
    first_words = {mark: text.split(maxsplit=1)[:1] for mark, text in fields}
    if first_words.get("<|start|>") not in (None, [], ["assistant"]):
        return "after"
    if any(RECIPIENT.search(field.text) for field in fields):
        return "call"
    return {"analysis": "thinking", "commentary": "content"}.get("".join(first_words.get("<|channel|>", [])), "final")


def read_harmony(fields: list[Field]) -> list[ToolCall]:
    place = [field.mark for field in fields].index("<|message|>")
    header, text = " ".join(field.text for field in fields[:place]), join_from(fields, place)
    name = RECIPIENT.findall(header)[0]
    is_json = name.startswith("functions.") or "json" in header.split()
    return [read_arguments(name.removeprefix("functions."), text) if is_json else ToolCall(name, text)]


THINK = {"think": "<think>", "answer": "</think>"}

GRAMMARS = {
    "harmony": Grammar(
        "GPT-OSS",
        "<|return|> <|call|>",
        {"header": "<|start|> <|channel|>", "field": "<|constrain|>", "body": "<|message|>", "close": "<|end|>"}
        | {"end": "<|return|> <|call|>"},
        read_harmony,
        part=part_of_harmony,
    ),
    "llama": Grammar(
        "Llama 3.1 to 3.3",
        "<|eot_id|>",
        {"call": "<|python_tag|>", "end": "<|eom_id|> <|eot_id|> <|end_of_text|>"},
        read_llama,
        bare=begins_llama_call,
    ),
    "deepseek": Grammar(
        "DeepSeek-V3, V3.1 and R1",
        "<｜end▁of▁sentence｜>",
        THINK
        | {"calls": "<｜tool▁calls▁begin｜> <｜tool▁calls▁end｜>", "call": "<｜tool▁call▁begin｜>"}
        | {"field": "<｜tool▁sep｜>", "called": "<｜tool▁call▁end｜>", "end": "<｜end▁of▁sentence｜>"},
        read_deepseek,
        newlines={"think": (0, 1), "answer": (1, 2), "calls": (0, inf), "called": (0, inf)},
        written={"<think>": "</think>"},
        calls_in_text=True,
    ),
    "gemma": Grammar(
        "Gemma 3 and FunctionGemma",
        "<end_of_turn>",
        {"call": "<start_function_call> ```tool_code\n", "field": "<escape>", "called": "<end_function_call> ```"}
        | {"end": "<end_of_turn> <start_function_response> <eos>"},
        read_gemma,
        written={"```tool_code\n": "```"},
    ),
    "mistral": Grammar(
        "Mistral 7B v0.3 and later models, Magistral",
        "[TOOL_CALLS] [/INST]",
        {"think": "[THINK]", "answer": "[/THINK]", "call": "[TOOL_CALLS]", "field": "[CALL_ID] [ARGS]", "end": "</s>"},
        read_mistral,
    ),
    "chatml": Grammar(
        "Qwen 2.5 and 3, and other models with ChatML",
        "<|im_end|>",
        THINK | {"call": "<tool_call>", "called": "</tool_call>", "end": "<|im_end|> <|endoftext|>"},
        read_chatml,
        newlines={"think": (0, 1), "answer": (1, 2), "call": (1, 0), "called": (0, inf)},
        written={"<think>": "</think>", "<tool_call>": "</tool_call>"},
    ),
}
