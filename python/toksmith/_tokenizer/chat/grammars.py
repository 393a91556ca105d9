"""How models write their turn: a row for each family, with its marks and the reading of its tool calls.

The rule: an added token is a mark by its id. The same characters as ordinary text are text, except where the tokenizer lacks the
added token and the family's models write it as text (`written`).

Left out: the walk over the ids (`parse.py`). Sources: the chat templates of the models, mistral-common and openai/harmony.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, NamedTuple

__all__ = ["GRAMMARS", "KINDS", "Field", "Grammar", "ToolCall"]


@dataclass(frozen=True)
class ToolCall:
    """A call of a function that a model wrote.

    Attributes:
        name: Of the function; empty if the call does not show it.
        arguments: As data, usually a dict. If they cannot be read, the text
            that the model wrote.
        problem: Why the call cannot be read, or is not a usual one; empty for
            a good call.
        id: The id that the model gave the call; empty in most families.
    """

    name: str
    arguments: Any
    problem: str = ""
    id: str = ""


class Field(NamedTuple):
    """A mark of a call or a header, and the text after it."""

    mark: str
    text: str


class Kind(NamedTuple):
    """A kind of mark.

    Attributes:
        inside: The parts of a turn in which the mark is expected.
        begins: The part that it begins.
    """

    inside: str
    begins: str


KINDS = {
    "think": Kind("content", "thinking"),
    "answer": Kind("thinking content", "content"),  # in `content`: the prompt began the thinking
    "call": Kind("content thinking call", "call"),
    "field": Kind("call header", ""),  # goes on with the same part
    "called": Kind("call", "content"),
    "calls": Kind("content thinking call", "content"),  # around all calls
    "header": Kind("header content final thinking call after", "header"),
    "body": Kind("header", ""),  # the header decides the part
    "close": Kind("content final thinking call", "after"),
    "end": Kind("header content final thinking call", "after"),
}


class Grammar(NamedTuple):
    """How the models of a family write their turn.

    Attributes:
        used_by: Models.
        needs: Marks; a tokenizer of the family has one of them.
        marks: The kind of each mark.
        read: Reads a call; None if its text is not a call.
        newlines: For a kind, the numbers of newlines that belong to the mark, before and after it.
        written: Marks that models write as text if the tokenizer lacks them: the mark after each.
        bare: Whether a turn that begins with this text begins with a call; None if more text decides.
        part: The part that follows a header; `final` is content that ends the turn.
    """

    used_by: str
    needs: tuple[str, ...]
    marks: Mapping[str, str]
    read: Callable[[list[Field]], list[ToolCall] | None]
    newlines: Mapping[str, tuple[float, float]] = {}
    written: Mapping[str, str] = {}
    bare: Callable[[str], bool | None] | None = None
    part: Callable[[list[Field]], str] | None = None


def refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


JSON = json.JSONDecoder(parse_constant=refuse_constant)
BETWEEN = re.compile(r"[\s,;]*")
NAME = re.compile(r'[\s\[]*\{\s*"name"\s*:\s*("[^"\\]*(?:\\.[^"\\]*)*")')
PLAIN_CALL = re.compile(r'\s*\{\s*"name"\s*:\s*"[^"\\]*"\s*,\s*"(?:parameters|arguments)"\s*:')
FENCED = re.compile(r"\s*([^\n]*)\n```(?:json)?\n")
RECIPIENT = re.compile(r"(?:^|\s)to=(\S+)")
KEY_OR_CONSTANT = re.compile(r'([{,])([^"{}\[\],:]+)(?=:)|\b(None|True|False)\b')
PYTHON = re.compile(
    r'"(?P<double>[^"\\]*(?:\\.[^"\\]*)*)(?:"|\\?\Z)'
    r"|'(?P<single>[^'\\]*(?:\\.[^'\\]*)*)(?:'|\\?\Z)"
    r"|(?P<word>[^\W\d][\w.]*)(?P<after>\s*[=(])?|\)",
    re.DOTALL,
)
ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.))", re.DOTALL)
CONSTANTS = {"None": "null", "True": "true", "False": "false"}


def json_problem(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"the JSON is broken at character {error.pos}: {error.msg}"
    return "the JSON is nested too deeply" if isinstance(error, RecursionError) else f"the JSON is broken: {error}"


def checked_call(name: Any, arguments: Any, id: Any = "") -> ToolCall:
    """A call with a problem if a part has the wrong type."""
    if not isinstance(name, str):
        return ToolCall("", arguments, "the call has no name")
    problem = "" if isinstance(arguments, dict) else "the arguments are not an object"
    return ToolCall(name, arguments, problem, id if isinstance(id, str) else "")


def named_call(name: str, text: str, id: str = "") -> ToolCall:
    """A call whose arguments alone are JSON."""
    try:
        return checked_call(name, JSON.decode(text), id)
    except (ValueError, RecursionError) as error:
        return ToolCall(name, text, json_problem(error), id)


def json_calls(text: str) -> list[ToolCall]:
    """Calls that are JSON: objects with a name and arguments, or lists of them, one after another."""
    calls: list[ToolCall] = []
    place = BETWEEN.match(text).end()  # type: ignore[union-attr]
    while place < len(text) or not calls:
        try:
            value, end = JSON.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            name = NAME.match(text, place)
            calls.append(ToolCall(json.loads(name[1], strict=False) if name else "", text[place:], json_problem(error)))
            break
        for item in value if isinstance(value, list) else [value]:
            found = item if isinstance(item, dict) else {}
            arguments = found.get("arguments", found.get("parameters", {}))
            calls.append(checked_call(found.get("name"), arguments if "name" in found else item, found.get("id")))
        place = BETWEEN.match(text, end).end()  # type: ignore[union-attr]
    return calls


def python_calls(text: str) -> list[ToolCall]:
    """Calls in the syntax of Python, with names for all arguments: `f(a=1)`, `print(f(a=1))`, `[f(a=1), g()]`."""
    inner = re.fullmatch(r"\s*print\((.*)\)\s*", text, re.DOTALL)
    calls = json_calls(PYTHON.sub(json_of_python, inner[1] if inner else text))
    if all(not call.problem for call in calls):
        return calls
    return [ToolCall(calls[-1].name, text, "it is not a call of a function with names for all arguments")]


def json_of_python(token: re.Match[str]) -> str:
    """A token of a call of Python, as JSON."""
    word, after = token["word"], (token["after"] or "")[-1:]
    if word is None:
        body = token["double"] if token["single"] is None else token["single"]
        return "}}" if body is None else json.dumps(ESCAPE.sub(unescape, body))
    if after == "(":
        return f'{{"name": {json.dumps(word)}, "arguments": {{'
    return json.dumps(word) + ":" if after == "=" else CONSTANTS.get(word, token[0])


def unescape(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    return (
        chr(int(code, 16)) if code else {"n": "\n", "t": "\t", "r": "\r", "\n": ""}.get(escape[3], plain_escape(escape))
    )


def plain_escape(escape: re.Match[str]) -> str:
    return escape[3] if escape[3] in "\\'\"" else escape[0]


def joined(fields: Iterable[Field], first: int = 0) -> str:
    """The text of the fields from the first on, with the marks between."""
    return "".join((field.mark if number else "") + field.text for number, field in enumerate([*fields][first:]))


def read_chatml(fields: list[Field]) -> list[ToolCall]:
    return json_calls(joined(fields))


def begins_llama_call(text: str) -> bool | None:
    compact = "".join(text[:64].split())
    known = ('{"name":', '{"type":"function",')
    undecided = len(text) < 64 and any(start.startswith(compact) for start in known)
    return any(compact.startswith(start) for start in known) or (None if undecided else False)


def read_llama(fields: list[Field]) -> list[ToolCall] | None:
    text = joined(fields)
    if re.match(r"\s*[\w.]+\.call\(", text):
        calls = python_calls(text)
        return [ToolCall(call.name.removesuffix(".call"), call.arguments, call.problem) for call in calls]
    if fields[0].mark and not re.match(r'\s*\[?\s*\{\s*"', text):
        return [ToolCall("code_interpreter", {"code": text})]
    calls = json_calls(text)
    if fields[0].mark or PLAIN_CALL.match(text):
        return calls
    bad = any(call.problem for call in calls)  # without a mark, only an object with name and parameters is a call
    return None if bad or not re.search(r'"(?:parameters|arguments)"\s*:', text) else calls


def read_mistral(fields: list[Field]) -> list[ToolCall]:
    texts = dict(fields)
    head = fields[0].text
    if "[ARGS]" in texts:
        places = [number for number, field in enumerate(fields) if field.mark == "[ARGS]"]
        return [named_call(head.strip(), joined(fields, places[0]), texts.get("[CALL_ID]", "").strip())]
    if head.lstrip()[:1] in ("[", "{", ""):
        return json_calls(joined(fields))
    name, brace, rest = joined(fields).partition("{")
    return [named_call(name.strip(), brace + rest)]


def read_deepseek(fields: list[Field]) -> list[ToolCall]:
    head, text = fields[0].text, joined(fields, 1)
    fenced = FENCED.match(text) if head.strip() == "function" else None
    if len(fields) < 2 or not fenced:
        return [named_call(head.strip() if len(fields) > 1 else "", text if len(fields) > 1 else head)]
    return [named_call(fenced[1].strip(), text[fenced.end() :].rstrip().removesuffix("```"))]


def read_gemma(fields: list[Field]) -> list[ToolCall]:
    if fields[0].mark != "<start_function_call>":
        return python_calls(joined(fields))
    head = re.match(r"\s*call:([^{]*)", fields[0].text)
    if not head:
        return [ToolCall("", joined(fields), "the call does not begin with `call:` and a name")]
    parts = [fields[0].text[head.end() :], *(field.text for field in fields[1:])]
    text = "".join(json.dumps(part) if number % 2 else json_keys(part) for number, part in enumerate(parts))
    call = named_call(head[1].strip(), text)
    return [call if not call.problem else ToolCall(call.name, joined(fields)[head.end() :], call.problem)]


def json_keys(text: str) -> str:
    """The text between the strings of a call of Gemma, with quoted keys and the constants of JSON."""
    return KEY_OR_CONSTANT.sub(
        lambda found: CONSTANTS[found[3]] if found[3] else found[1] + json.dumps(found[2].strip()), text
    )


def part_of_harmony(fields: list[Field]) -> str:
    role = next((field.text.split() for field in fields if field.mark == "<|start|>"), [])
    channel = next((field.text.split() for field in fields if field.mark == "<|channel|>"), [])
    if role and role[0] != "assistant":
        return "after"
    if RECIPIENT.search(" ".join(field.text for field in fields)):
        return "call"
    return {"analysis": "thinking", "commentary": "content"}.get("".join(channel[:1]), "final")


def read_harmony(fields: list[Field]) -> list[ToolCall]:
    place = next(number for number, field in enumerate(fields) if field.mark == "<|message|>")
    header, text = " ".join(joined([field]) for field in fields[:place]), joined(fields, place)
    name = RECIPIENT.search(header)[1]  # type: ignore[index]
    if name.startswith("functions.") or "json" in header.split():
        return [named_call(name.removeprefix("functions."), text)]
    return [ToolCall(name, text)]


GRAMMARS = {
    "harmony": Grammar(
        "GPT-OSS",
        ("<|return|>", "<|call|>"),
        {
            "<|start|>": "header",
            "<|channel|>": "header",
            "<|constrain|>": "field",
            "<|message|>": "body",
            "<|end|>": "close",
            "<|call|>": "end",
            "<|return|>": "end",
        },
        read_harmony,
        part=part_of_harmony,
    ),
    "llama": Grammar(
        "Llama 3.1 to 3.3",
        ("<|eot_id|>",),
        {"<|python_tag|>": "call", "<|eom_id|>": "end", "<|eot_id|>": "end", "<|end_of_text|>": "end"},
        read_llama,
        bare=begins_llama_call,
    ),
    "deepseek": Grammar(
        "DeepSeek-V3, V3.1 and R1",
        ("<｜end▁of▁sentence｜>",),
        {
            "<think>": "think",
            "</think>": "answer",
            "<｜tool▁calls▁begin｜>": "calls",
            "<｜tool▁calls▁end｜>": "calls",
            "<｜tool▁call▁begin｜>": "call",
            "<｜tool▁sep｜>": "field",
            "<｜tool▁call▁end｜>": "called",
            "<｜end▁of▁sentence｜>": "end",
        },
        read_deepseek,
        newlines={"think": (0, 1), "answer": (1, 2), "calls": (0, inf), "called": (0, inf)},
        written={"<think>": "</think>"},
    ),
    "gemma": Grammar(
        "Gemma 3 and FunctionGemma",
        ("<end_of_turn>",),
        {
            "<start_function_call>": "call",
            "<escape>": "field",
            "<end_function_call>": "called",
            "```tool_code\n": "call",
            "```": "called",
            "<start_function_response>": "end",
            "<end_of_turn>": "end",
            "<eos>": "end",
        },
        read_gemma,
        written={"```tool_code\n": "```"},
    ),
    "mistral": Grammar(
        "Mistral 7B v0.3 and later, Magistral",
        ("[TOOL_CALLS]", "[/INST]"),
        {
            "[THINK]": "think",
            "[/THINK]": "answer",
            "[TOOL_CALLS]": "call",
            "[CALL_ID]": "field",
            "[ARGS]": "field",
            "</s>": "end",
        },
        read_mistral,
    ),
    "chatml": Grammar(
        "Qwen 2.5 and 3, and others with ChatML",
        ("<|im_end|>",),
        {
            "<think>": "think",
            "</think>": "answer",
            "<tool_call>": "call",
            "</tool_call>": "called",
            "<|im_end|>": "end",
            "<|endoftext|>": "end",
        },
        read_chatml,
        newlines={"think": (0, 1), "answer": (1, 2), "call": (1, 0), "called": (0, inf)},
        written={"<think>": "</think>", "<tool_call>": "</tool_call>"},
    ),
}
