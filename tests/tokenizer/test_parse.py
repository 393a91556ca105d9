"""`Tokenizer.parse` and `parser`: a message comes back from the ids of its turn, whole or one id at a time.

`TOKSMITH_EXHAUSTIVE=1` draws 10,000 messages for each format.
"""

import copy
import json
import os
import pickle
import random
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import DATA, existing_or_skip
from processors import processor_s
from turn_templates import TURNS, tokenizer_of

import toksmith
from toksmith._tokenizer.chat.grammars import GRAMMARS
from toksmith.errors import InvalidOption, UnknownId, UnknownName
from toksmith.types import ParsedMessage, ToolCall

MESSAGES, STREAMS = (10_000, 3_000) if os.environ.get("TOKSMITH_EXHAUSTIVE") else (900, 120)
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


def turns_of(name: str, messages: list[dict[str, Any]]) -> list[list[int]]:
    """The ids of the turn of each message. One conversation has them all, with a padding after each, to save time."""
    tok, template = tokenizer_of(name), TURNS[name].template
    ids = tok.chat(messages, template="{% for m in messages %}" + template + "{{ '<|pad|>' }}{% endfor %}").ids
    ends = np.flatnonzero(ids == tok.token_id("<|pad|>"))
    return [turn[turn != tok.token_id("<|pad|>")].tolist() for turn in np.split(ids, ends)[:-1]]


@pytest.mark.proof
@pytest.mark.parametrize("name", TURNS)
def test_a_message_comes_back(name: str) -> None:
    draw, tok, family = Draw(name, "round trip"), tokenizer_of(name), TURNS[name].family
    for _ in range(MESSAGES // 100):
        messages = [draw.message() for _ in range(100)]
        for message, ids in zip(messages, turns_of(name, messages), strict=True):
            assert tok.parse(ids, family=family) == expected_of(message), tok.decode(ids)


def template_of(name: str) -> str:
    """The format as a template of Hugging Face, with the fields that those read."""
    turn = TURNS[name].template.replace("call.id", "tool.id")
    turn = turn.replace("for call in m.tool_calls %}", "for tool in m.tool_calls %}{%- set call = tool.function %}")
    turn = turn.replace("(call.arguments | tojson)", "call.arguments") if TURNS[name].family == "deepseek" else turn
    return (
        "{% for m in messages %}{% if m.role == 'user' %}{{ m.content + '<|pad|>' }}{% else %}"
        + turn
        + "{% endif %}{% endfor %}"
    )


@pytest.mark.parametrize("name", TURNS)
def test_a_parsed_message_goes_back_with_its_ids(name: str) -> None:
    """A conversation takes it as it is, and the template writes the sampled ids again."""
    draw, tok, template = Draw(name, "goes back"), tokenizer_of(name), template_of(name)
    messages, user = [draw.message() for _ in range(60)], {"role": "user", "content": "low"}
    assert any(message["tool_calls"] for message in messages)
    for ids in turns_of(name, messages):
        talk, parsed = tok.conversation(template, messages=[user]), tok.parse(ids, family=TURNS[name].family)
        prompt = talk.prompt().tolist()
        edit = talk.add_sampled(ids, parsed)
        assert (edit.kept, edit.drift) == (len(ids), None), tok.decode(ids)
        assert talk.ids.tolist() == [*prompt, *ids] == tok.chat([user, parsed], template=template).ids.tolist()
        assert talk.turns[1] == dict(parsed) and talk.fork().add(parsed).removed == 0
        made = [each[number] for each in (talk.turns[1].get("tool_calls", []),) for number in range(len(each))]
        as_text = TURNS[name].family == "deepseek"
        for call, written in zip(parsed.tool_calls, made, strict=True):
            found = written["function"]["arguments"]
            assert (json.loads(found) if as_text else found) == call.arguments


def drawn_ids(draw: Draw, tok: toksmith.Tokenizer, ids: list[int]) -> list[int]:
    """A turn, often damaged: cut, with ids left out or doubled, and with ids of marks or of the vocabulary."""
    marks = [token.id for token in tok.model.added_tokens]
    for _ in range(draw.randrange(5)):
        place, other = draw.randrange(len(ids) + 1), draw.randrange(len(ids) + 1)
        kind = draw.randrange(5)
        if kind == 0:
            ids = ids[:place]
        elif kind == 1:
            ids[place:other] = []
        elif kind == 2:
            ids[place:place] = ids[other : other + 9]
        else:
            ids[place:place] = draw.choices(marks if kind == 3 else range(tok.vocab_size), k=draw.randrange(1, 4))
    return ids


@pytest.mark.proof
@pytest.mark.parametrize("name", TURNS)
def test_ids_of_any_kind_give_the_same_message_in_any_parts(name: str) -> None:
    draw, tok, family = Draw(name, "any ids"), tokenizer_of(name), TURNS[name].family
    for turn in turns_of(name, [draw.message() for _ in range(STREAMS)]):
        ids, thinking = drawn_ids(draw, tok, turn), draw.random() < 0.2
        stream, parts = tok.parser(family, thinking=thinking), tok.parser(family, thinking=thinking)
        place, before, unread = 0, stream.feed([]), []
        while place < len(ids):
            size = draw.choice([1, 1, 1, 5, 50])
            now = stream.feed(ids[place : place + size])
            place += size
            assert now == parts.feed(ids[:place])
            at_end = parts.finish()
            assert at_end == tok.parse(ids[:place], family=family, thinking=thinking)
            assert at_end.content.startswith(now.content) or at_end.thinking.startswith(now.content)
            assert now.content.startswith(before.content) or now.thinking.startswith(before.content)
            unread.append((stream.feed([]), now))
            before = now
        assert all(kept == read for kept, read in unread)
        check_types(stream.finish())


def check_types(message: ParsedMessage) -> None:
    assert message.role == "assistant" and type(message.complete) is bool
    assert all(type(text) is str for text in (message.content, message.thinking, *message.problems))
    for call in message.tool_calls:
        assert all(type(text) is str for text in (call.name, call.problem, call.id))
        assert call.problem or type(call.arguments) in (dict, str)


def parse_text(name: str, text: str, **options: Any) -> ParsedMessage:
    """The message of a text in which every mark of the tokenizer is one."""
    tok = tokenizer_of(name)
    return tok.parse(tok.encode(text, special="allow"), family=TURNS[name].family, **options)


# What models write beside the templates: the format, the text, and content, thinking, calls and problems.
WRITTEN: list[tuple[str, str, str, str, list[tuple[Any, ...]], int]] = [
    ("qwen", "", "", "", [], 0),
    ("qwen", "a\n<|im_end|>\n", "a\n", "", [], 0),
    ("qwen", "a<|im_end|>b", "a", "", [], 1),
    ("qwen", "a<|im_start|>b", "a<|im_start|>b", "", [], 1),
    ("qwen", "a</tool_call>b", "a</tool_call>b", "", [], 1),
    ("qwen", "<think>\n\n</think>\n\na", "a", "", [], 0),
    ("qwen", "a\n</think>\n\nb", "b", "a", [], 0),
    ("qwen", "<think>a</think>b</think>c", "b</think>c", "a", [], 1),
    ("qwen", "<think>a", "", "a", [], 0),
    ("qwen", '<think>a<tool_call>{"name": "f"}</tool_call>', "", "a", [("f", {})], 0),
    (
        "qwen",
        '<tool_call>{"name": "f", "arguments": {"a": 1}',
        "",
        "",
        [("f", '{"name": "f", "arguments": {"a": 1}')],
        0,
    ),
    ("qwen", '<tool_call>{"name": "f"}', "", "", [("f", {})], 0),
    ("qwen", "<tool_call></tool_call>", "", "", [("", "")], 0),
    ("qwen", "<tool_call>" + '{"a":' * 10_000 + "</tool_call>", "", "", [("", ...)], 0),
    ("qwen", "<tool_call>[[</tool_call>", "", "", [("", "[[")], 0),
    ("qwen", '<tool_call>{"name": "f", "arguments": {"a": NaN}}</tool_call>', "", "", [("f", ...)], 0),
    ("qwen", '<tool_call>{"name": "f", "arguments": {"a": [-1e400]}}</tool_call>', "", "", [("f", ...)], 0),
    ("qwen", '<tool_call>{"name": "f", "arguments": {"a": -Infinity}}</tool_call>', "", "", [("f", ...)], 0),
    ("qwen", '<tool_call>{"name": "f", "arguments": {"a": 1e300}}</tool_call>', "", "", [("f", {"a": 1e300})], 0),
    ("mistral v11", '[TOOL_CALLS]f[ARGS]{"a": 1e400}</s>', "", "", [("f", '{"a": 1e400}')], 0),
    (
        "deepseek v3.1",
        '<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": NaN}<｜tool▁call▁end｜>',
        "",
        "",
        [("f", '{"a": NaN}')],
        0,
    ),
    ("gemma", "<start_function_call>call:f{a:1e400}<end_function_call>", "", "", [("f", "{a:1e400}")], 0),
    (
        "harmony",
        '<|channel|>commentary to=functions.f<|message|>{"a": 1e999}<|call|>',
        "",
        "",
        [("f", '{"a": 1e999}')],
        0,
    ),
    ("qwen", '<tool_call>{"name": 7}</tool_call>', "", "", [("", {})], 0),
    ("qwen", '<tool_call>{"name": "f", "arguments": "{}"}</tool_call>', "", "", [("f", "{}")], 0),
    ("qwen", '<tool_call>[1, {"name": "f"}]</tool_call>x', "x", "", [("", 1), ("f", {})], 0),
    ("qwen", '<tool_call>{"name": "f"}<tool_call>{"name": "g"}</tool_call>', "", "", [("f", {}), ("g", {})], 0),
    ("qwen", 'a<tool_call>{"name": "f"}</tool_call>\n\nb', "a\nb", "", [("f", {})], 0),
    ("qwen without added marks", "a</think>b<tool_", "a</think>b<tool_", "", [], 0),
    ("qwen without added marks", "<<think>a</think>", "<<think>a</think>", "", [], 0),
    ("qwen without added marks", "<think>a<think></think>b<think>c", "b<think>c", "a<think>", [], 0),
    ("llama", '{"name": "Bob", "age": 3}<|eot_id|>', '{"name": "Bob", "age": 3}', "", [], 0),
    ("llama", '{"name": "f", "parameters": {"a"<|eot_id|>', "", "", [("f", '{"name": "f", "parameters": {"a"')], 0),
    ("llama", ' { "name" : "f" , "arguments" : {} }', "", "", [("f", {})], 0),
    ("llama", '{"na', '{"na', "", [], 0),
    ("llama", "<|python_tag|>print(1)\n<|eom_id|>", "", "", [("code_interpreter", {"code": "print(1)\n"})], 0),
    ("llama", "<|python_tag|>f.call(1)<|eom_id|>", "", "", [("f", "f.call(1)")], 0),
    ("llama", '<|python_tag|>f.call(a="<|eom_id|>', "", "", [("f", 'f.call(a="')], 0),
    (
        "mistral v3",
        'a[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}, {"na</s>',
        "a",
        "",
        [("f", {"a": 1}), ("", '{"na')],
        0,
    ),
    ("mistral v3", '[TOOL_CALLS]f{"a": 1}[TOOL_CALLS]g</s>', "", "", [("f", {"a": 1}), ("g", "")], 0),
    ("mistral v11", "[TOOL_CALLS]f[ARGS]{[ARGS]</s>", "", "", [("f", "{[ARGS]")], 0),
    (
        "deepseek v3",
        "<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{\n```<｜tool▁call▁end｜>",
        "",
        "",
        [("f", "{\n")],
        0,
    ),
    ("deepseek v3", "<｜tool▁call▁begin｜>f<｜tool▁call▁end｜>", "", "", [("", "f")], 0),
    ("gemma", "<start_function_call>f(a=1)<end_function_call>", "", "", [("f", {"a": 1})], 0),
    ("gemma", "<start_function_call>call:f{a:b}<end_function_call>", "", "", [("f", "{a:b}")], 0),
    ("gemma", "<start_function_call>call:f{a:<escape>b", "", "", [("f", "{a:<escape>b")], 0),
    (
        "gemma with fences",
        "a```tool_code\n[f(a='it\\'s \"x\"'), g()]\n```b",
        "a\nb",
        "",
        [("f", {"a": 'it\'s "x"'}), ("g", {})],
        0,
    ),
    ("gemma with fences", "```tool_code\nx = 1\n```", "", "", [("", "x = 1\n")], 0),
    ("harmony", "hello", "hello", "", [], 1),
    ("harmony", "<|channel|>analysis", "<|channel|>analysis", "", [], 1),
    ("harmony", "<|message|>a<|end|>", "a", "", [], 0),
    ("harmony", "<|channel|>final<|message|>a<|end|><|start|>user<|message|>b<|end|>", "a", "", [], 1),
    ("harmony", "<|channel|>analysis to=python code<|message|>print(1)<|call|>", "", "", [("python", "print(1)")], 0),
    ("harmony", "<|channel|>analysis to=python <|constrain|>json<|message|>{}<|call|>", "", "", [("python", {})], 0),
    ("harmony", " to=functions.f<|channel|>commentary json<|message|>{<|call|>", "", "", [("f", "{")], 0),
    ("harmony", "<|channel|>analysis<|message|>a<|end|><|channel|>analysis<|message|>b<|end|>", "", "a\nb", [], 0),
]


@pytest.mark.parametrize(("name", "text", "content", "thinking", "calls", "problems"), WRITTEN)
def test_what_models_write(
    name: str, text: str, content: str, thinking: str, calls: list[tuple[Any, ...]], problems: int
) -> None:
    found = parse_text(name, text)
    assert (found.content, found.thinking, len(found.problems)) == (content, thinking, problems)
    named = [(call.name, call.arguments) for call in found.tool_calls]
    assert [
        (name, want[1] if want[1] is ... else data) for (name, data), want in zip(named, calls, strict=True)
    ] == calls
    good = [bool(call.name) and (type(call.arguments) is dict or call.name == "python") for call in found.tool_calls]
    assert good == [not call.problem for call in found.tool_calls]


def test_a_turn_is_complete_where_its_end_is_marked() -> None:
    tok, parser = tokenizer_of("harmony"), tokenizer_of("harmony").parser()
    parts = [
        ("<|channel|>analysis<|message|>low<|end|>", False),
        ("<|start|>assistant<|channel|>commentary<|message|>low<|end|>", False),
        ("<|start|>assistant<|channel|>commentary to=functions.f<|message|>{}", False),
        ("<|call|>", True),
        ("<|start|>assistant<|channel|>final<|message|>low", False),
        ("<|end|>", True),
        ("<|start|>user", False),
        ("<|message|>", True),
        ("lower", True),
    ]
    found = [(text, parser.feed(tok.encode(text, special="allow")).complete) for text, _ in parts]
    assert found == parts
    message = parser.finish()
    assert (message.content, message.thinking, message.tool_calls) == ("low\nlow", "low", (ToolCall("f", {}),))


def test_a_mark_ends_a_character_that_is_not_complete() -> None:
    tok = tokenizer_of("qwen")
    mark, half = tok.token_id("</tool_call>"), [tok.token_id(bytes([byte])) for byte in "é".encode()]
    assert tok.parse([half[0], mark, half[1]]).content == "\ufffd</tool_call>\ufffd"
    assert tok.parser().feed([half[0]]).content == "" and tok.parse([half[0]]).content == "\ufffd"


def test_the_prompt_can_begin_the_thinking() -> None:
    tok = tokenizer_of("deepseek v3")
    ids = tok.encode("low\n</think>\n\nlower<｜end▁of▁sentence｜>", special="allow")
    parser = tok.parser("deepseek", thinking=True)
    assert [(parser.feed(id).content, parser.feed([]).thinking) for id in ids][2:4] == [("", "low"), ("", "low")]
    assert parser.finish() == tok.parse(ids) == ParsedMessage("assistant", "lower", "low", (), True)
    assert tok.parse(ids[:2], thinking=True).thinking == tok.parse(ids[:2]).content == "low"


PUBLISHED: list[tuple[str, str, dict[str, Any]]] = [
    ("mistral v3", "mistral_v1.model", {}),
    ("gemma", "mistral_v1.model", {}),
    ("llama", "llama3.tiktoken", {"pattern": "llama3"}),
    ("harmony", "o200k_base.tiktoken", {"pattern": "o200k"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "file", "options"), PUBLISHED)
def test_published_vocabularies_give_messages_back(
    name: str, file: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, loaded = Draw(name, "published"), toksmith.load(existing_or_skip(DATA / "vocab") / file, **options)
    known = {token.content for token in loaded.model.added_tokens}
    tok = toksmith.add_special(loaded, [mark for mark in (*TURNS[name].marks, "<|pad|>") if mark not in known])[0]
    monkeypatch.setitem(globals(), "tokenizer_of", lambda _: tok)
    monkeypatch.setattr(draw, "turn", draw.turn._replace(unlike=(*draw.turn.unlike, "▁")))  # a space in this vocabulary
    messages = [draw.message() for _ in range(100)]
    for message, ids in zip(messages, turns_of(name, messages), strict=True):
        assert tok.parse(ids, family=TURNS[name].family) == expected_of(message), tok.decode(ids)
        parser = tok.parser(TURNS[name].family)
        parts = [parser.feed(id) for id in ids]
        assert parser.finish() == expected_of(message) and all(
            message["content"].startswith(at.content) for at in parts
        )


@pytest.mark.parametrize("name", TURNS)
def test_the_added_tokens_select_the_family(name: str) -> None:
    tok = tokenizer_of(name)
    assert tok.parser()._grammar is GRAMMARS[TURNS[name].family]


def test_unknown_families_and_tokenizers_without_marks_are_refused() -> None:
    tok = tokenizer_of("llama")
    with pytest.raises(UnknownName, match="no family named 'qwen'; the known ones are 'chatml'"):
        tok.parser("qwen")
    with pytest.raises(
        InvalidOption, match=r"family='chatml' is not possible; expected .* <\|im_end\|> \(chatml: Qwen"
    ):
        tok.parse([], family="chatml")
    with pytest.raises(
        InvalidOption, match=r"family=None is not possible; expected .* <\|return\|> or <\|call\|> \(harm"
    ):
        toksmith.train("low", 257).parse([])
    with pytest.raises(TypeError, match="thinking"):
        tok.parser(thinking="yes")  # type: ignore[arg-type]


def test_an_unknown_id_changes_nothing() -> None:
    tok = tokenizer_of("qwen")
    parser = tok.parser()
    parser.feed(tok.encode("low"))
    bad = [*tok.encode("lower<tool_call>", special="allow"), tok.vocab_size]
    for call in (parser.feed, tok.parse):
        with pytest.raises(UnknownId) as found:
            call(bad)
        assert (found.value.id, found.value.position) == (tok.vocab_size, len(bad) - 1)
    assert parser.finish() == tok.parse(tok.encode("low"))
    for wrong in ("low", 1.5, ["low"], None):
        with pytest.raises(TypeError):
            parser.feed(wrong)  # type: ignore[arg-type]


def test_ids_of_numpy_and_messages_that_were_not_read_yet() -> None:
    tok = tokenizer_of("qwen")
    ids = tok.encode('low<tool_call>{"name": "f"', special="allow")
    parser, calls = tok.parser(), (ToolCall("f", '{"name": "f"', "the call is not complete"),)
    parser.feed(np.array(ids[:-1], np.uint32))
    message = parser.feed(np.int64(ids[-1]))
    assert pickle.loads(pickle.dumps(message)) == copy.copy(message) == message
    assert message == ParsedMessage("assistant", "low", "", calls, False)
    assert repr(parser.feed([])) == repr(message) and not hasattr(message, "text")


def test_a_parser_takes_one_call_at_a_time() -> None:
    tok = tokenizer_of("qwen")
    parser = tok.parser()

    def ids() -> Iterator[int]:
        yield from tok.encode("lo")
        with pytest.raises(RuntimeError, match="another call uses this parser"):
            parser.feed(tok.encode("x"))
        yield from tok.encode("w")

    assert parser.feed(ids()).content == "low"


# Texts that are repeated: the format, what comes before, what is repeated, and what comes after.
FLOODS = [
    ("qwen", "", "<tool_call>", ""),
    ("qwen", "", "</think>\n", ""),
    ("qwen", "", "<tool_call>{}</tool_call>\n", ""),
    ("qwen", "<tool_call>", '{"name": "f"}', ""),
    ("qwen", "<tool_call>", " ", "x"),
    ("qwen", "<tool_call>", "[", ""),
    ("qwen", '<tool_call>{"name": "f", "arguments": {"a": "', "low", '"}}</tool_call>'),
    ("qwen", '<tool_call>{"name": "f", "arguments": {"a": "', "\\n", ""),
    ("qwen without added marks", "", "<tool_call></tool_call>", ""),
    ("qwen without added marks", "", "<tool_", ""),
    ("qwen without added marks", "", "\n", ""),
    ("llama", "", " ", "{"),
    ("llama", '{"name": "', " ", ""),
    ("llama", "<|python_tag|>", "a.", "call"),
    ("llama", "<|python_tag|>", "\n", ""),
    ("mistral v11", "[TOOL_CALLS]f", "[ARGS]", ""),
    ("deepseek v3", "<｜tool▁call▁begin｜>function", "<｜tool▁sep｜>", ""),
    ("deepseek v3", "<｜tool▁call▁begin｜>function<｜tool▁sep｜>", "\n ", ""),
    ("gemma", "<start_function_call>call:f{", "<escape>", ""),
    ("gemma", "<start_function_call>call:f{", "a ", ""),
    ("gemma", "<start_function_call>call:f{", ",a", ""),
    ("gemma with fences", "```tool_code\nf(a=", "'\\", ""),
    ("gemma with fences", "```tool_code\nf(a=", '"\\"', ""),
    ("gemma with fences", "```tool_code\nprint(", ") ", ""),
    ("gemma with fences", "```tool_code\n", "a ", ""),
    ("gemma with fences", "", "```tool_code\n```", ""),
    ("harmony", "", "<|channel|>", "<|message|>"),
    ("harmony", "", "<|start|>assistant<|message|>a<|end|>", ""),
    ("harmony", "<|channel|>", " to=", "<|message|>"),
]


@pytest.mark.parametrize(("name", "before", "again", "after"), FLOODS)
def test_time_is_linear_in_the_ids(name: str, before: str, again: str, after: str) -> None:
    tok, family = tokenizer_of(name), TURNS[name].family
    texts = [before + again * (size // len(again)) + after for size in (5_000, 80_000)]
    small, large = (tok.encode(text, special="allow") for text in texts)

    def stream(ids: list[int]) -> None:
        parser = tok.parser(family)
        for id in ids:
            parser.feed(id)
        assert parser.finish() == tok.parse(ids, family=family)

    # 16 times as many ids. Quadratic time would be 256 times as much; other programs can slow a run down.
    part, whole = (processor_s(lambda ids=ids: tok.parse(ids, family=family).tool_calls, 3) for ids in (small, large))  # type: ignore[misc]
    assert whole < 64 * part + 0.05
    part, whole = (processor_s(lambda ids=ids: stream(ids), 2) for ids in (large[:300], large[:4_800]))  # type: ignore[misc]
    assert whole < 64 * part + 0.05
