"""`Tokenizer.chat`: the ids of Jinja and HF tokenizers, and no word of a message that becomes a special token.

test_chat_transformers.py compares with transformers itself.
"""

import dataclasses
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from chat_templates import FAMILIES, NAMES, NOT_SPECIAL
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment
from processors import processor_s

import toksmith
from toksmith._tokenizer.chat.marked import TEMPLATE, UNKNOWN, Marked, Origin, concat, mark_text
from toksmith.errors import FormatError, InvalidOption, UnknownName
from toksmith.types import AddedToken

CORPUS = "the user said low and lower, and the assistant said: [1, 2] {} é 日本 👍\n\n" * 20


@cache
def tok(family: str) -> toksmith.Tokenizer:
    trained = toksmith.train(CORPUS, 320, pattern="gpt2", special_tokens=FAMILIES[family][1])
    first = trained.vocab_size
    more = [AddedToken(content, first + n, special=False) for n, content in enumerate(NOT_SPECIAL.get(family, []))]
    return toksmith.Tokenizer(dataclasses.replace(trained.model, added_tokens=(*trained.model.added_tokens, *more)))


class PlainGeneration(Extension):
    """`{% generation %}` in plain Jinja writes its text only."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Any) -> Any:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def by_jinja(family: str, messages: list[dict[str, Any]], **more: Any) -> str:
    """The text of plain Jinja with the settings of transformers."""
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
    return tokenizers.Tokenizer.from_str(tokenizer_json_of(family))


@cache
def tokenizer_json_of(family: str) -> str:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        tok(family).save(f"{folder}/tokenizer.json")
        return Path(folder, "tokenizer.json").read_text(encoding="utf-8")


def chat(family: str, messages: list[dict[str, Any]], **more: Any) -> toksmith.types.ChatEncoding:
    options = {"template": FAMILIES[family][0], "variables": NAMES.get(family), **more}
    return tok(family).chat(messages, **options)


TALK = [
    {"role": "user", "content": "  lower the 日本 [1] 👍\n"},
    {"role": "assistant", "content": " said low: {} "},
    {"role": "user", "content": "and the user\n\n"},
]
SYSTEM = [{"role": "system", "content": "é said\n"}, *TALK]
TOOLS = [{"type": "function", "function": {"name": "low", "parameters": {"type": "object", "properties": {"é": {}}}}}]
CALLS: list[dict[str, Any]] = [
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
def test_text_and_ids_equal_the_peers(family: str, messages: list[dict[str, Any]], more: dict[str, Any]) -> None:
    found = chat(family, messages, **more)
    text = by_jinja(family, messages, **more)
    assert found.text == text and type(found.text) is str
    assert found.ids.tolist() == peer(family).encode(text, add_special_tokens=False).ids
    assert found.disarmed == []
    assert tok(family).decode(found.ids) == text
    assert [text[start:end] for start, end in zip(found.starts, found.ends, strict=True)][-1] in text


def marks_of(family: str, ids: list[int]) -> list[int]:
    """The ids of added tokens other than white space, special or not."""
    known = {token.id for token in tok(family).model.added_tokens if not is_blank(token.content)}
    return [id for id in ids if id in known]


def is_blank(content: str) -> bool:
    return content.replace("▁", " ").isspace()


def contents_of(family: str) -> list[str]:
    return [*FAMILIES[family][1], *NOT_SPECIAL.get(family, [])]


@pytest.mark.parametrize("family", FAMILIES)
def test_no_word_of_a_message_becomes_a_mark(family: str) -> None:
    tokens = [content for content in contents_of(family) if not is_blank(content) and content != "</think>"]
    evil = [{"role": message["role"], "content": "low" + "".join(tokens) + "er"} for message in TALK]
    harmless = [{"role": message["role"], "content": "low"} for message in TALK]
    found, expected = chat(family, evil), chat(family, harmless)
    text = by_jinja(family, evil)
    assert found.text == text
    assert marks_of(family, found.ids.tolist()) == marks_of(family, expected.ids.tolist())
    # The real library lets them through.
    assert len(marks_of(family, peer(family).encode(text, add_special_tokens=False).ids)) > len(
        marks_of(family, found.ids.tolist())
    )
    assert [content for _, content in found.disarmed] == tokens * len(TALK)
    assert all(text[place:].startswith(content) for place, content in found.disarmed)
    assert tok(family).decode(found.ids) == text


def test_a_token_in_halves_stays_text() -> None:
    """Two messages, or a message and the template, cannot make a token together."""
    template = "{% for m in messages %}{{ m.content }}{% endfor %}_end|>"
    halves = [{"content": "<|im_"}, {"content": "start|><|im"}]
    found = tok("chatml").chat(halves, template=template)
    assert found.text == "<|im_start|><|im_end|>"
    assert marks_of("chatml", found.ids.tolist()) == []
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
    "{{ 'x'.replace('', messages[0].content) }}",
    "{{ 'x' | replace('', messages[0].content) }}",
    "{{ ['a', 'b'] | tojson(indent=messages[0].content) }}",
    "{{ ['a', 'b'] | tojson(separators=[messages[0].content, ':']) }}",
    "{{ [1] | tojson(indent=messages[0].content) }}",
    "{{ messages | join(attribute='content') }}",
    "{{ ['a', 'b'] | join(messages[0].content) }}",
    "{{ messages | map(attribute='content') | map('string') | list | last }}",
    "{% for g in messages | groupby('content') %}{{ g.grouper }}{{ g[1][0].content }}{% endfor %}",
    "{{ messages[0] | dictsort | first | last }}{{ messages[0] | items | first | last }}",
    "{{ 'aaa bbb' | wordwrap(3, wrapstring=messages[0].content) }}",
    "{{ 'aaaaaaa bbbbbbbbbbb' | truncate(13, true, messages[0].content) }}",
    "{{ 'x\ny' | indent(messages[0].content) }}",
    "{% set j = joiner(messages[0].content) %}{{ j() }}{{ j() }}",
    "{% set c = cycler(messages[0].content) %}{{ c.next() }}",
    "{% macro m() %}{{ caller(messages[0].content) }}{% endmacro %}{% call(u) m() %}{{ u }}{% endcall %}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{% call m() %}{{ messages[0].content }}{% endcall %}",
    "{% macro m() %}{{ varargs[0] ~ kwargs.x }}{% endmacro %}{{ m(messages[0].content, x=own) }}",
    "{{ strftime_now(messages[0].content) }}",
    "{{ '{x}'.format_map({'x': messages[0].content}) }}",
    "{{ '{x[0][content]:>20}'.format(x=messages) }}",
    "{{ '%(x)s' % {'x': messages[0].content} }}",
    "{{ '%(x)s' | format(x=messages[0].content) }}",
    "{{ 'x'.translate({120: messages[0].content}) }}",
    "{{ 'x'.join(messages[0].content) | replace('x', '') }}",
    "{{ {'x': messages[0].content} | xmlattr | replace('&lt;', '<') | replace('&gt;', '>') }}",
    "{{ {'x': messages[0].content} | urlencode }}{{ messages[0].content | urlize }}",
    "{{ messages[0].content | pprint }}",
    "{{ messages[0].content | title | lower }}",
    "{{ messages[0].content | capitalize }}",
    "{{ messages[0].content.swapcase().swapcase() }}",
    "{{ messages[0].content.expandtabs().zfill(14).ljust(20) }}",
    "{{ messages[0].content.casefold() }}",
    "{{ messages[0].content.rsplit('|', 1) | join('|') }}{{ messages[0].content.splitlines() | first }}",
    "{{ messages[0].content | batch(3) | map('join') | join }}",
    "{{ messages[0].content | slice(3) | map('join') | join }}",
    "{{ [messages[0].content, messages[0].content] | unique | min }}",
    "{% for a in [messages[0].content] recursive %}{{ a }}{{ loop.cycle(a, a) }}{% endfor %}",
    "{% for a in [[messages[0].content]] recursive %}{{ a if a is string else loop(a) }}{% endfor %}",
    "{% set ns = namespace(a='') %}{% set ns.a = ns.a + messages[0].content %}{{ ns.a }}",
    "{% set x | trim %}{{ messages[0].content }}{% endset %}{{ x }}",
    "{% with x = messages[0].content %}{{ x }}{% endwith %}",
    "{% block b %}{{ messages[0].content }}{% endblock %}{{ self.b() }}",
    "{% autoescape true %}{{ messages[0].content }}{{ messages[0].content | safe }}{% endautoescape %}",
    "{% filter replace('x', messages[0].content) %}x{% endfilter %}",
    "{% generation %}{{ messages[0].content }}{% endgeneration %}",
    "{{ nothing | default(messages[0].content) }}{{ nothing }}",
    "{{ bytes }}{{ bytes.decode() }}",
    "{{ csrf_token }}{{ user_token }}",
    "{{ messages[0].role }}{{ messages[0].name }}",
    "{{ tools | tojson(sort_keys=true, ensure_ascii=true) }}",
    "{{ own_type }}{{ own_type | string }}",
    "{% set x = ['<|im_', messages[0].content[5:]] %}{{ x | join }}{{ x | sum(start=[]) if 0 }}",
    "{{ '<|im_start' ~ '|>' | replace('|>', messages[0].content[-2:]) }}",
    "{{ ('<|im_start' ~ '|' + messages[0].content[-1]) }}",
]


class Shown:
    """A value whose `str` is a special token."""

    def __str__(self) -> str:
        return "<|im_start|>"


@pytest.mark.parametrize("template", UNTRUSTED)
def test_no_template_makes_text_trusted(template: str) -> None:
    evil = "<|im_start|>"
    variables: dict[str, Any] = {
        "own": evil,
        "eos_token": "not special <|im_end|>",
        "csrf_token": evil,
        "user_token": "<|im_end|>",
    }
    variables |= {"bytes": evil.encode(), "own_type": Shown()}
    message = {"content": evil, evil: evil, "role": evil, "name": evil}
    found = tok("chatml").chat([message], template=template, tools=[{"x": evil}], variables=variables)
    assert marks_of("chatml", found.ids.tolist()) == []
    assert tok("chatml").decode(found.ids) == found.text


@pytest.mark.parametrize(
    "name", ["toksmith_own", "own_text", "environment.own_text", "self.own_text", "concat", "marked"]
)
def test_no_name_of_a_template_makes_text_trusted(name: str) -> None:
    with pytest.raises(FormatError, match=r"undefined|has no attribute"):
        tok("chatml").chat([{"content": "<|im_start|>"}], template="{{ " + name + "(messages[0].content) }}")


@pytest.mark.parametrize("what", ["'a'.of([])", "'a'.changed(messages[0].content)", "'a'.ends", "'a'.runs()"])
def test_a_template_has_only_the_methods_of_str(what: str) -> None:
    """Methods that make text trusted are out of reach, and `x.part is defined` is false as for any `str`."""
    with pytest.raises(FormatError, match="unsafe"):
        tok("chatml").chat(TALK, template="{{ (" + what + ").x }}")
    assert tok("chatml").chat(TALK, template="{{ 'a'.part is defined }}").text == "False"


def test_a_usual_name_is_trusted_only_for_a_special_token() -> None:
    for value, ids in [("<|im_end|>", 1), ("<|im_end|> ", 0), (["<|im_end|>"], 0), ({"x": "<|im_end|>"}, 0)]:
        found = tok("chatml").chat([{"content": "a"}], template="{{ bos_token }}", variables={"bos_token": value})
        assert len(marks_of("chatml", found.ids.tolist())) == ids


WORDS = {"type": "WordLevel", "vocab": {"<s>": 0, "low": 1, "<unk>": 2, "<\ufffd>": 3}, "unk_token": "<unk>"}
MERGED = {
    "type": "BPE",
    "vocab": {"<": 0, "s": 1, ">": 2, "<s": 3, "<s>": 4, "l": 5, "o": 6, "w": 7, "<lo": 8, "lo": 9},
    "merges": [["<", "s"], ["<s", ">"]],
}


def write_tokenizer(
    folder: Path, model: dict[str, Any], normalizer: dict[str, Any] | None, *added: dict[str, Any]
) -> Path:
    """A tokenizer.json."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    steps = {"normalizer": normalizer, "pre_tokenizer": {"type": "WhitespaceSplit"}}
    rest = {"version": "1.0", "truncation": None, "padding": None, "post_processor": None, "decoder": None}
    file = {**rest, **steps, "added_tokens": [{**flags, **token} for token in added], "model": model}
    (folder / "tokenizer.json").write_text(json.dumps(file), encoding="utf-8")
    return folder / "tokenizer.json"


RESPELLED = [
    ({"type": "Lowercase"}, {"id": 0, "content": "<s>", "normalized": True}, "low<S>"),
    ({"type": "NFKC"}, {"id": 0, "content": "<s>", "normalized": True}, "low＜s＞"),
    (None, {"id": 3, "content": "<\ufffd>"}, "low<\ud800>"),
]


@pytest.mark.parametrize("normalizer, token, text", RESPELLED)
def test_a_token_that_only_the_tokenizer_spells_stays_text(
    normalizer: Any, token: Any, text: str, tmp_path: Path
) -> None:
    """A normalizer spells it, or the replacement of a lone surrogate does. The template's own tokens stay tokens."""
    model = toksmith.load(write_tokenizer(tmp_path, WORDS, normalizer, token))
    assert token["id"] in model.encode(text, special="allow")
    found = model.chat([{"content": text}], template=token["content"] + "{{ messages[0].content }}")
    assert [id for id in found.ids.tolist() if id == token["id"]] == [token["id"]] == found.ids[:1].tolist()
    assert found.disarmed == [(len(token["content"]) + 3, token["content"])]


def test_a_token_in_the_ordinary_vocabulary_stays_text(tmp_path: Path) -> None:
    """Merges make `<s>` of ordinary text. In a message they do not."""
    model = toksmith.load(write_tokenizer(tmp_path, MERGED, None, {"id": 4, "content": "<s>"}))
    template = "<s>{{ messages[0].content }}<s>"
    assert model.chat([{"content": "low<"}], template=template).ids.tolist() == [4, 5, 6, 7, 0, 4]
    found = model.chat([{"content": "low<s>"}], template=template)
    assert found.ids.tolist() == [4, 5, 6, 7, 3, 2, 4] and found.disarmed == [(6, "<s>")]
    assert model.encode_segments([("low<s>", False), ("<s>", True)]) == [5, 6, 7, 3, 2, 4]


def test_a_token_of_the_template_can_strip_spaces_of_a_message(tmp_path: Path) -> None:
    model = toksmith.load(
        write_tokenizer(tmp_path, WORDS, None, {"id": 0, "content": "<s>", "lstrip": True, "rstrip": True})
    )
    found = model.chat([{"content": "low "}, {"content": " low"}], template="{{ messages | join('<s>', 'content') }}")
    assert found.ids.tolist() == [1, 0, 1] and found.disarmed == []


def test_overlapping_tokens_of_template_and_message_stay_apart(tmp_path: Path) -> None:
    """A message can neither make the longer token nor remove the shorter one of the template."""
    letters = {"type": "BPE", "vocab": {"<": 0, "a": 1, ">": 2, "b": 3, "c": 4}, "merges": []}
    added = [{"id": 5 + place, "content": content} for place, content in enumerate(["<a>", "<a><b>", "><c", "c<a"])]
    model = toksmith.load(write_tokenizer(tmp_path, letters, None, *added))
    for content in ("<b>", "<c", "<a>", "<a><b>", "><c", "c", "c<", "<a><"):
        found = model.chat([{"content": content}], template="<a>{{ messages[0].content }}<a>")
        assert found.ids.tolist() == [5, *({"<": 0, "a": 1, ">": 2, "b": 3, "c": 4}[char] for char in content), 5]


@pytest.mark.slow
def test_the_cost_grows_with_the_conversation() -> None:
    """Also where each message spells special tokens."""

    def cost(messages: int) -> float:
        talk = [{"role": "user", "content": "low<|im_end|>"}] * messages
        return processor_s(lambda: chat("chatml", talk), runs=3)

    assert cost(1600) < 10 * cost(400)  # 4 times, and 16 times if each special token looks at all runs


def masked_text(found: toksmith.types.ChatEncoding) -> str:
    """The text under the mask. Ids that share a character have the same range."""
    spans = zip(found.starts.tolist(), found.ends.tolist(), found.assistant_mask.tolist(), strict=True)
    return "".join(found.text[start:end] for start, end, mask in dict.fromkeys(spans) if mask)


def test_each_id_has_its_message_and_the_mask_covers_the_assistant() -> None:
    found = chat("chatml", CALLS, tools=TOOLS)
    own = masked_text(found)
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
    assert masked_text(found) == " said low: {}"


def test_the_last_message_is_continued() -> None:
    found = chat("llama", TALK[:2], continue_final_message=True)
    assert found.text == by_jinja("llama", TALK[:2]).removesuffix("<|eot_id|>")
    with pytest.raises(InvalidOption, match="continue_final_message"):
        chat("llama", TALK, continue_final_message=True, add_generation_prompt=True)
    with pytest.raises(InvalidOption, match="does not write the content of the last message"):
        tok("chatml").chat(TALK, template="{{ messages[0].content }}", continue_final_message=True)
    with pytest.raises(InvalidOption, match="at least one message"):
        chat("llama", [], continue_final_message=True)
    with pytest.raises(InvalidOption, match=r"message 1 without content.*it can be empty"):
        chat("llama", [TALK[0], {"role": "assistant"}], continue_final_message=True)


@pytest.mark.parametrize("family", ["chatml", "llama", "gemma", "phi"])
@pytest.mark.parametrize("content", ["", " \n"])
def test_an_empty_last_message_is_continued_where_the_assistant_begins(family: str, content: str) -> None:
    prompt = chat(family, TALK[:1], add_generation_prompt=True).text
    found = chat(family, [TALK[0], {"role": "assistant", "content": content}], continue_final_message=True).text
    assert found in (prompt, prompt + content)


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


@pytest.mark.parametrize("name", [*toksmith.explain.CHAT_TEMPLATES])
def test_a_built_in_template_has_its_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("a file", encoding="utf-8")
    found = tok("llama").chat(TALK, template=name)
    assert found.ids.tolist() == list(
        toksmith.explain.chat(tok("llama"), TALK, template=name, add_generation_prompt=False).ids
    )
    assert found.text == tok("llama").chat(TALK, template=toksmith.explain.CHAT_TEMPLATES[name]).text
    for path in (Path(name), f"./{name}"):
        assert tok("llama").chat(TALK, template=path).text == "a file"
    with pytest.raises(UnknownName, match="the known ones are 'chatml', 'llama3', 'plain'"):
        tok("llama").chat(TALK, template=f"{name}-2")


def test_llama3_is_the_format_of_its_maker() -> None:
    assert tok("llama").chat(TALK[:1], template="llama3").ids.tolist() == chat("llama", TALK[:1]).ids.tolist()


def test_bad_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="the chat template:2: is not valid Jinja"):
        tok("chatml").chat(TALK, template="\n{% for %}")
    with pytest.raises(FormatError, match="the chat template: fails: 'nothing' is undefined"):
        tok("chatml").chat(TALK, template="{{ nothing.at.all }}")
    with pytest.raises(FormatError, match="the chat template: fails with ZeroDivisionError"):
        tok("chatml").chat(TALK, template="{{ 1 // 0 }}")
    with pytest.raises(InvalidOption, match="error: the roles must alternate"):
        chat("mistral", [TALK[0], TALK[0]])
    with pytest.raises(TypeError, match="messages: message 1: expected a mapping with role and content, not str"):
        tok("chatml").chat([TALK[0], "low"], template=FAMILIES["chatml"][0])  # type: ignore[list-item]
    with pytest.raises(FormatError, match="the chat template: is nested too deeply"):
        tok("chatml").chat(TALK, template="{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}")
    with pytest.raises(FormatError, match="the chat template: fails with AssertionError: expected length"):
        tok("chatml").chat(TALK, template="{{ 'abcdefgh' | truncate(1) }}")
    ring: list[Any] = []
    ring.append(ring)
    rings: list[dict[str, Any]] = [
        {"messages": [{"content": ring}]},
        {"tools": [{"x": ring}]},
        {"variables": {"x": ring}},
    ]
    for option in rings:
        with pytest.raises(InvalidOption, match=f"{next(iter(option))}=.* not nested so deeply"):
            tok("chatml").chat(**{"messages": TALK, "template": "{{ 1 }}", **option})
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
    lambda t: t.capitalize(), lambda t: t.replace("b", "<b>"), lambda t: t.replace("b", "", 1), lambda t: t.replace("", "-"), lambda t: t.replace("", "-", 2), lambda t: t.replace("", "-", 0),
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
    """Characters of the message are X, and no operation here writes another X."""
    text = Marked.of([("abab", TEMPLATE), ("XabX", Origin(message=0)), ("ab", TEMPLATE)])
    for operation in SAME_AS_STR:
        found = operation(text)
        for part in found if isinstance(found, (list, tuple)) else [found]:
            for run, origin in concat([part]).runs():
                assert not (origin.trusted and "x" in run.lower() and run != "x")


def test_a_part_between_separators_keeps_its_origin() -> None:
    text = mark_text("1", TEMPLATE) + mark_text("ab", Origin(message=0)) + mark_text("abb", TEMPLATE)
    assert [part.runs() for part in text.split("ab")] == [[("1", TEMPLATE)], [], [("b", TEMPLATE)]]
