"""`Tokenizer.chat`: the ids of Jinja and HF tokenizers, and no word of a message that becomes a special token.

test_chat_transformers.py compares with transformers itself.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from chat_templates import FAMILIES, NAMES
from hypothesis import given
from hypothesis import strategies as st
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

import toksmith
from toksmith import FormatError, InvalidOption
from toksmith._chat._marked import TEMPLATE, UNKNOWN, Marked, Origin, concat, marked

CORPUS = "the user said low and lower, and the assistant said: [1, 2] {} é 日本 👍\n\n" * 20


@cache
def tok(family: str) -> toksmith.Tokenizer:
    return toksmith.train(CORPUS, 320, pattern="gpt2", special_tokens=FAMILIES[family][1])


class PlainGeneration(Extension):
    """`{% generation %}` as plain Jinja: nothing but its text."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Any) -> Any:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def by_jinja(family: str, messages: list[dict[str, Any]], **more: Any) -> str:
    """The text as Jinja without us writes it, with the settings of transformers."""
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[PlainGeneration, loopcontrols]
    )
    env.filters["tojson"] = lambda value, **options: json.dumps(value, **{"ensure_ascii": False, **options})
    template = env.from_string(FAMILIES[family][0])
    return template.render(
        messages=messages, **{"tools": None, "add_generation_prompt": False, **NAMES.get(family, {}), **more}
    )


@cache
def peer(family: str) -> Any:
    return tokenizers.Tokenizer.from_str(saved(family))


@cache
def saved(family: str) -> str:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        tok(family).save(f"{folder}/tokenizer.json")
        return Path(folder, "tokenizer.json").read_text(encoding="utf-8")


def chat(family: str, messages: list[dict[str, Any]], **more: Any) -> toksmith.ChatEncoding:
    options = {"template": FAMILIES[family][0], "variables": NAMES.get(family), **more}
    return tok(family).chat(messages, **options)


TALK = [
    {"role": "user", "content": "  lower the 日本 [1] 👍\n"},
    {"role": "assistant", "content": " said low: {} "},
    {"role": "user", "content": "and the user\n\n"},
]
SYSTEM = [{"role": "system", "content": "é said\n"}, *TALK]
TOOLS = [{"type": "function", "function": {"name": "low", "parameters": {"type": "object", "properties": {"é": {}}}}}]
CALLS = [
    *TALK,
    {"role": "assistant", "content": "", "tool_calls": [{"name": "low", "arguments": {"é": [1, "x"]}}]},
    {"role": "tool", "content": "[1, 2]"},
    {"role": "tool", "content": "{}"},
]
CONVERSATIONS = [
    *((family, TALK, {}) for family in FAMILIES),
    *((family, TALK, {"add_generation_prompt": True}) for family in FAMILIES),
    *((family, SYSTEM, {}) for family in FAMILIES if family != "gemma"),
    ("chatml", CALLS, {"tools": TOOLS}),
    ("chatml", [SYSTEM[0], *CALLS], {"tools": TOOLS, "add_generation_prompt": True}),
    (
        "gemma",
        [{"role": "user", "content": [{"type": "text", "text": "so</think>low"}, {"type": "text", "text": "er"}]}],
        {},
    ),
    ("phi", [{"role": "system", "content": "low", "tools": '[{"name": "x"}]'}, *TALK], {}),
]


@pytest.mark.parametrize("family, messages, more", CONVERSATIONS)
def test_the_ids_are_those_of_the_peers(family: str, messages: list[dict[str, Any]], more: dict[str, Any]) -> None:
    found = chat(family, messages, **more)
    text = by_jinja(family, messages, **more)
    assert found.text == text and type(found.text) is str
    assert found.ids.tolist() == peer(family).encode(text, add_special_tokens=False).ids
    assert found.disarmed == []
    assert tok(family).decode(found.ids) == text
    assert [text[start:end] for start, end in zip(found.starts, found.ends, strict=True)][-1] in text


def specials_of(family: str, ids: list[int]) -> list[int]:
    known = {token.id for token in tok(family).model.added_tokens if token.special}
    return [id for id in ids if id in known]


@pytest.mark.parametrize("family", FAMILIES)
def test_no_word_of_a_message_becomes_a_special_token(family: str) -> None:
    tokens = FAMILIES[family][1]
    evil = [{"role": message["role"], "content": "low" + "".join(tokens) + "er"} for message in TALK]
    harmless = [{"role": message["role"], "content": "low"} for message in TALK]
    found, expected = chat(family, evil), chat(family, harmless)
    text = by_jinja(family, evil)
    assert found.text == text
    assert specials_of(family, found.ids.tolist()) == specials_of(family, expected.ids.tolist())
    # The real library lets them through: this is what the rule is for.
    assert len(specials_of(family, peer(family).encode(text, add_special_tokens=False).ids)) > len(
        specials_of(family, found.ids.tolist())
    )
    assert [content for _, content in found.disarmed] == tokens * len(TALK)
    assert all(text[place:].startswith(content) for place, content in found.disarmed)
    assert tok(family).decode(found.ids) == text


def test_a_token_in_halves_stays_text() -> None:
    """Neither two messages nor a message and the template can make one together."""
    template = "{% for m in messages %}{{ m.content }}{% endfor %}_end|>"
    halves = [{"content": "<|im_"}, {"content": "start|><|im"}]
    found = tok("chatml").chat(halves, template=template)
    assert found.text == "<|im_start|><|im_end|>"
    assert specials_of("chatml", found.ids.tolist()) == []
    assert found.disarmed == [(0, "<|im_start|>"), (12, "<|im_end|>")]
    assert tok("chatml").decode(found.ids) == found.text


UNTRUSTED = [
    "{{ messages[0].content }}",
    "{{ messages[0]['content'] | upper | lower }}",
    "{{ '%s' | format(messages[0].content) }}",
    "{{ '%s' % messages[0].content }}",
    "{{ '{}'.format(messages[0].content) }}",
    "{{ messages[0].content | replace('x', 'x') }}",
    "{{ 'x' | replace('x', messages[0].content) }}",
    "{{ messages[0].content.split('|') | join('|') }}",
    "{{ messages[0].content[::-1][::-1] }}",
    "{{ messages[0].content | list | join }}",
    "{% set x = messages[0].content ~ '' %}{{ x }}",
    "{% set x %}{{ messages[0].content }}{% endset %}{{ x }}",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m(messages[0].content) }}",
    "{% filter trim %}{{ messages[0].content }}{% endfilter %}",
    "{{ messages[0].content | tojson }}",
    "{{ messages | tojson }}",
    "{{ messages[0] | string }}",
    "{{ messages[0].content | indent(2) }}",
    "{{ messages[0].content | default('') | first ~ messages[0].content[1:] }}",
    "{{ messages[0].keys() | list | last }}",
    "{{ tools[0] }}",
    "{{ own }}",
    "{{ eos_token ~ messages[0].content }}",
    "{% for c in messages[0].content %}{{ c }}{% endfor %}",
    "{{ messages[0].content.partition('i') | join }}",
    "{{ (messages[0].content * 2)[:12] }}",
    "{{ '<|im_' ~ messages[0].content[5:] }}",
    "{{ messages[0].content | e | replace('&lt;', '<') | replace('&gt;', '>') }}",
    "{{ messages[0].content | safe }}",
    "{{ messages[0].content.encode().decode() }}",
    "{{ dict(a=messages[0].content).a }}",
    "{{ [messages[0].content] | first }}",
    "{{ messages | map(attribute='content') | join }}",
    "{{ messages | join('', attribute='content') }}",
    "{{ messages[0].content.center(20) }}",
]


@pytest.mark.parametrize("template", UNTRUSTED)
def test_nothing_that_a_template_does_makes_text_trusted(template: str) -> None:
    evil = "<|im_start|>"
    options: dict[str, Any] = {"tools": [evil], "variables": {"own": evil, "eos_token": "not special <|im_end|>"}}
    found = tok("chatml").chat([{"content": evil, evil: evil}], template=template, **options)
    assert specials_of("chatml", found.ids.tolist()) == []
    assert tok("chatml").decode(found.ids) == found.text


@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text("<|im_start>end\n aé", max_size=30)), min_size=1)
)
def test_drawn_conversations(turns: list[tuple[str, str]]) -> None:
    messages = [{"role": role, "content": content} for role, content in turns]
    found = chat("chatml", messages)
    text = by_jinja("chatml", messages)
    assert found.text == text and tok("chatml").decode(found.ids) == text
    assert len(specials_of("chatml", found.ids.tolist())) == 2 * len(turns)
    if not any("<|im_" in content for _, content in turns):
        assert found.ids.tolist() == peer("chatml").encode(text, add_special_tokens=False).ids


def masked(found: toksmith.ChatEncoding) -> str:
    """The text under the mask. Ids that share a character have the same range."""
    spans = zip(found.starts.tolist(), found.ends.tolist(), found.assistant_mask.tolist(), strict=True)
    return "".join(found.text[start:end] for start, end, mask in dict.fromkeys(spans) if mask)


def test_each_id_knows_its_message_and_the_mask_is_the_assistants() -> None:
    found = chat("chatml", CALLS, tools=TOOLS)
    own = masked(found)
    called = '<tool_call>\n{"name": "low", "arguments": {"é": [1, "x"]}}\n</tool_call>'
    assert own == " said low: {} <|im_end|>" + called + "<|im_end|>"
    for number, message in enumerate(CALLS):
        places = [(s, e) for s, e, m in zip(found.starts, found.ends, found.messages, strict=True) if m == number]
        assert message["content"].strip() in "".join(found.text[s:e] for s, e in dict.fromkeys(places))
    assert dict(found) == {
        "input_ids": found.ids.tolist(),
        "attention_mask": [1] * len(found),
        "assistant_masks": found.assistant_mask.tolist(),
    }
    assert repr(found).startswith(f"<ChatEncoding {len(found)} ids: [")


def test_without_a_block_the_mask_is_the_content_of_the_assistant() -> None:
    found = chat("mistral", TALK)
    assert masked(found) == " said low: {}"


def test_the_last_message_can_be_continued() -> None:
    found = chat("llama", TALK[:2], continue_final_message=True)
    assert found.text == by_jinja("llama", TALK[:2]).removesuffix("<|eot_id|>")
    with pytest.raises(InvalidOption, match="continue_final_message"):
        chat("llama", TALK, continue_final_message=True, add_generation_prompt=True)
    with pytest.raises(InvalidOption, match="does not write the content of the last message"):
        tok("chatml").chat(TALK, template="{{ messages[0].content }}", continue_final_message=True)
    with pytest.raises(InvalidOption, match="at least one message"):
        chat("llama", [], continue_final_message=True)


@pytest.mark.parametrize("place", ["folder", "tokenizer_config.json", "chat_template.jinja", "list"])
def test_a_template_is_read_from_the_files_of_a_model(place: str, tmp_path: Path) -> None:
    config: dict[str, Any] = {"bos_token": {"content": "<s>"}, "eos_token": "</s>"}
    template: Any = FAMILIES["mistral"][0]
    if place == "chat_template.jinja":
        (tmp_path / place).write_text(template, encoding="utf-8")
    elif place == "list":
        template = [{"name": "tools", "template": "{{ 1 }}"}, {"name": "default", "template": template}]
    if place != "chat_template.jinja":
        config["chat_template"] = template
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    path = tmp_path if place in ("folder", "list") else tmp_path / place
    found = tok("mistral").chat(TALK, template=path)
    assert found.ids.tolist() == chat("mistral", TALK).ids.tolist()
    assert tok("mistral").token_id("<s>") == found.ids[0]


def test_bad_input_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="the chat template:2: is not valid Jinja"):
        tok("chatml").chat(TALK, template="\n{% for %}")
    with pytest.raises(FormatError, match="the chat template: fails: 'nothing' is undefined"):
        tok("chatml").chat(TALK, template="{{ nothing.at.all }}")
    with pytest.raises(FormatError, match="the chat template: fails with ZeroDivisionError"):
        tok("chatml").chat(TALK, template="{{ 1 // 0 }}")
    with pytest.raises(InvalidOption, match="it says: the roles must alternate"):
        chat("mistral", [TALK[0], TALK[0]])
    with pytest.raises(TypeError, match="messages: message 1: expected a mapping with role and content, not str"):
        tok("chatml").chat([TALK[0], "low"], template=FAMILIES["chatml"][0])  # type: ignore[list-item]
    with pytest.raises(FormatError, match=r"no_such\.jinja"):
        tok("chatml").chat(TALK, template=tmp_path / "no_such.jinja")


FILES = [
    ("{}", "chat_template: has no template; pass the template itself"),
    ("{", "is not JSON"),
    ("[]", "expected an object"),
]


@pytest.mark.parametrize("config, expected", FILES)
def test_a_bad_configuration_is_named(config: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "tokenizer_config.json").write_text(config, encoding="utf-8")
    with pytest.raises(FormatError, match=expected):
        tok("chatml").chat(TALK, template=tmp_path)


def test_the_template_cannot_leave_the_sandbox() -> None:
    with pytest.raises(FormatError, match="unsafe"):
        tok("chatml").chat(TALK, template="{{ ''.__class__.__mro__[1].__subclasses__() }}")


# `Marked`


MIX = Marked.of([("  a<b", TEMPLATE), ("b>c  ", Origin(message=1)), ("ß d", UNKNOWN)])
SAME_AS_STR = [
    lambda t: t.strip(), lambda t: t.lstrip(" a"), lambda t: t.rstrip("d"), lambda t: t[2:5], lambda t: t[-3], lambda t: t[::2],
    lambda t: t * 2, lambda t: t + "x", lambda t: "x" + t, lambda t: t.upper(), lambda t: t.lower(), lambda t: t.title(),
    lambda t: t.capitalize(), lambda t: t.replace("b", "<b>"), lambda t: t.replace("b", "", 1), lambda t: t.replace("", "-"),
    lambda t: t.split(), lambda t: t.split("b"), lambda t: t.split("b", 1), lambda t: t.rsplit(None, 1), lambda t: t.rsplit("b", 1),
    lambda t: t.splitlines(), lambda t: t.partition("bb"), lambda t: t.rpartition("b"), lambda t: t.removeprefix("  "),
    lambda t: t.removesuffix(" d"), lambda t: t.join(["1", "2"]), list, lambda t: t.center(30), lambda t: t.zfill(30),
    lambda t: f"{t}", hash, lambda t: t == "x",
]  # fmt: skip


@pytest.mark.parametrize("operation", SAME_AS_STR, ids=range(len(SAME_AS_STR)))
def test_a_marked_text_is_a_str(operation: Any) -> None:
    found, plain = operation(MIX), operation("".join(text for text, _ in MIX.runs()))
    assert found == plain
    for part in found if isinstance(found, (list, tuple)) else [found]:
        if isinstance(part, Marked):
            assert "".join(text for text, _ in part.runs()) == part


def test_no_operation_makes_text_trusted() -> None:
    """Characters of the message are X, and no operation here writes an X of its own."""
    text = Marked.of([("abab", TEMPLATE), ("XabX", Origin(message=0)), ("ab", TEMPLATE)])
    for operation in SAME_AS_STR:
        found = operation(text)
        for part in found if isinstance(found, (list, tuple)) else [found]:
            for run, origin in concat([part]).runs():
                assert not (origin.trusted and "x" in run.lower() and run != "x")


def test_a_part_between_separators_keeps_its_own_place() -> None:
    text = marked("1", TEMPLATE) + marked("ab", Origin(message=0)) + marked("abb", TEMPLATE)
    assert [part.runs() for part in text.split("ab")] == [[("1", TEMPLATE)], [], [("b", TEMPLATE)]]
