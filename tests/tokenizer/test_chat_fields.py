"""Every field of a chat: the core's one pass against plain Python, contents in parts, many conversations, and hard inputs."""

from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from chat_templates import FAMILIES, NAMES
from test_chat import TALK, by_jinja, chat, tok
from test_marks import KINDS, fragments, marks_of

import toksmith
from toksmith._tokenizer.chat.conversation import ConversationOptions, prepare_template, render_conversation
from toksmith._tokenizer.chat.ids import encode_chat, find_spelled_marks, find_untrusted_ids, trusted_runs
from toksmith._tokenizer.chat.marked import Marked, Origin
from toksmith._tokenizer.marks import PlacedIds
from toksmith.errors import FormatError, InvalidOption, UnknownName

ROLES = ["user", "assistant", "tool"]
ORIGINS = [
    Origin(trusted=True), Origin(), Origin(message=0, content=True), Origin(message=1, content=True),
    Origin(True, 1), Origin(True, generated=True), Origin(message=1, content=True, generated=True), Origin(message=2),
]  # fmt: skip
HARD = ["\ud83d", "\udc4d", "\ud800", "\x00", "\u0301", "👍", "", "日本" * 40]


def by_python(tok: toksmith.Tokenizer, text: Marked, roles: list[str]) -> list[Any]:
    """The fields of `encode_chat`: the plain twin of the core."""
    plain = str.__str__(text)
    encoding = tok.encode_with_offsets(plain, special="allow")
    found = PlacedIds(encoding.ids, encoding.starts, encoding.ends)
    disarmed = sorted({*find_spelled_marks(tok._marks, text), *find_untrusted_ids(tok, text, found)})
    if disarmed:
        found = tok._trusted_encoder.encode_with_offsets(trusted_runs(text))
    runs = text.ends or ((0, Origin()),)
    blocks = any(origin.generated for _, origin in runs)
    origins = [origin_of(runs, start, end) for start, end in zip(found.starts, found.ends, strict=True)]
    masks = [
        origin.generated if blocks else origin.content and roles[origin.message] == "assistant" for origin in origins
    ]
    fields = [*(field.tolist() for field in found), [origin.message for origin in origins], [*map(int, masks)]]
    return [*fields, plain, disarmed]


def origin_of(runs: Any, start: int, end: int) -> Origin:
    """The origin of an id: that of its first character, or of the first from a message or the model."""
    last = len(runs) - 1
    first = next((number for number, (at, _) in enumerate(runs) if at > start), last)
    to = next((number for number, (at, _) in enumerate(runs) if at >= end), last)
    over = [origin for _, origin in runs[first : max(first, to) + 1]]
    return next((origin for origin in over if origin.generated or origin.message >= 0), over[0])


def fields_of(found: toksmith.types.ChatEncoding) -> list[Any]:
    arrays = (found.ids, found.starts, found.ends, found.messages, found.assistant_mask)
    assert [array.dtype for array in arrays] == [np.uint32, np.int64, np.int64, np.int32, np.uint8]
    return [*(array.tolist() for array in arrays), found.text, found.disarmed]


def check_drawn(tok: toksmith.Tokenizer, parts: list[str], seed: str) -> bool:
    chance = Random(seed)
    runs = [("".join(chance.choices(parts, k=chance.randrange(4))), chance.choice(ORIGINS)) for _ in range(9)]
    text = Marked.of(runs[: chance.randrange(10)])
    found = encode_chat(tok, text, ROLES)
    assert fields_of(found) == by_python(tok, text, ROLES), text.runs()
    return bool(found.disarmed)


@pytest.mark.parametrize("family", FAMILIES)
def test_drawn_runs_have_the_fields_of_plain_python(family: str) -> None:
    parts = [*fragments(family), *HARD]
    spelled = [check_drawn(tok(family), parts, f"{family} {number}") for number in range(150)]
    assert any(spelled) and not all(spelled)


@pytest.mark.parametrize("kind", KINDS)
def test_drawn_runs_of_other_models_have_the_fields_of_plain_python(kind: str, tmp_path: Path) -> None:
    made = KINDS[kind](tmp_path)
    parts = [*(token.content for token in made.model.added_tokens), "low", " ", "<", ">", "u", "<u", "|>", "  ", "lowe"]
    for number in range(150):
        check_drawn(made, parts, f"{kind} {number}")


@pytest.mark.parametrize("family", FAMILIES)
def test_each_character_has_the_origin_that_its_alphabet_names(family: str) -> None:
    """Message n has characters of its own, which no template writes."""
    talk = [
        {
            "role": ("user", "assistant")[number % 2],
            "content": "".join(chr(0xE000 + 64 * number + at) for at in range(9)),
        }
        for number in range(6)
    ]
    options = ConversationOptions(talk, None, True, False, NAMES.get(family, {}))
    prepared = prepare_template(tok(family), FAMILIES[family][0], None, options.variables)
    text, _ = render_conversation(prepared, options)
    assert str.__str__(text) == by_jinja(family, talk, add_generation_prompt=True)
    for part, origin in text.runs():
        for character in part:
            number = (ord(character) - 0xE000) // 64 if "\ue000" <= character < "\ue800" else None
            assert origin.content == (number is not None) and origin.trusted == (number is None)
            assert number is None or origin.message == number
    assert {origin.message for _, origin in text.runs() if origin.content} == set(range(6))


def test_a_text_is_generated_only_within_its_block() -> None:
    """Also if the block holds no more than a text that the template has elsewhere."""
    template = (
        "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{{ m.content }}{% endfor %}" * 2
    )
    template += (
        "{% for i in [1, 2] %}{% set x = '<|im_end|>' %}{% generation %}{{ x }}{% endgeneration %}{{ x }}{% endfor %}"
    )
    for _ in range(2):
        found = tok("chatml").chat([{"content": "[1]"}], template=template)
        inside = [found.text[start:end] for start, end in zip(found.starts, found.ends, strict=True)]
        generated = "".join(part for part, bit in zip(inside, found.assistant_mask, strict=True) if bit)
        assert found.text == "[1]" * 4 + "<|im_end|>" * 4 and generated == "[1]" * 2 + "<|im_end|>" * 2


# Many conversations


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_many_conversations_have_the_fields_of_each(family: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toksmith._tokenizer.chat.conversation.BLOCK", 2000)
    parts = [*fragments(family), *HARD]
    chance = Random(family)
    talks = [
        [
            {"role": role, "content": "".join(chance.choices(parts, k=chance.randrange(5)))}
            for role in ("user", "assistant", "user")
        ]
        for _ in range(40)
    ]
    template, variables = FAMILIES[family][0], NAMES.get(family)
    each = [chat(family, talk) for talk in talks]
    found = tok(family).encode_chats(iter(talks), template=template, variables=variables, threads=threads)
    assert found.mask is not None and found.ids.dtype == np.uint32 and found.mask.dtype == np.uint8
    assert found.ids.tolist() == [id for one in each for id in one.ids.tolist()]
    assert found.mask.tolist() == [bit for one in each for bit in one.assistant_mask.tolist()]
    assert found.ends.tolist() == [*accumulate(map(len, each))] and found.ends.dtype == np.uint64


def test_no_conversation_gives_no_ids() -> None:
    found = tok("chatml").encode_chats([], template="chatml")
    assert (len(found), found.ids.tolist(), found.mask.tolist() if found.mask is not None else None) == (0, [], [])


def test_a_refused_conversation_is_numbered() -> None:
    talks: list[Any] = [TALK, TALK[:1], [TALK[0], TALK[0]]]
    with pytest.raises(InvalidOption, match=r"conversations='conversation 2'.*the roles must alternate"):
        tok("mistral").encode_chats(talks, template=FAMILIES["mistral"][0], variables=NAMES["mistral"])
    with pytest.raises(TypeError, match="conversation 1: messages: message 0: expected a mapping"):
        tok("chatml").encode_chats([TALK, ["low"]], template="chatml")  # type: ignore[list-item]


# Contents in parts


TEXTS = [{"type": "text", "text": "low"}, {"type": "text", "text": "er<|im_start|>"}]
IMAGE = {"type": "image", "url": "low.png"}
LOOPED = "{% for m in messages %}{% for part in m.content %}{{ part['text'] }}{% endfor %}<|im_end|>{% endfor %}"
TYPED = (
    "{% for part in messages[0].content %}{% if part.type == 'image' %}{{ '<|image_pad|>' }}{% else %}{{ part.text }}"
    "{% endif %}{% endfor %}"
)
AS_TEXT = [
    "{{ messages[0].content }}", "{{ 'a' + messages[0].content }}", "{{ 'a' ~ messages[0].content }}", "{{ messages[0] }}",
    "{{ messages[0].content | trim }}", "{{ messages[0].content.strip() }}", "{{ '%s' % messages[0].content }}",
    "{{ '{}'.format(messages[0].content) }}", "{{ messages[0].content | string | length }}",
]  # fmt: skip


def test_texts_of_parts_are_encoded() -> None:
    found = tok("chatml").chat([{"role": "user", "content": TEXTS}], template=LOOPED)
    assert found.text == "lower<|im_start|><|im_end|>"
    assert marks_of("chatml", found.ids.tolist()) == [tok("chatml").token_id("<|im_end|>")]
    assert found.messages.tolist() == [0] * (len(found) - 1) + [-1]


def test_an_image_is_the_mark_of_the_template_or_an_error() -> None:
    content = [TEXTS[0], IMAGE]
    found = tok("chatml").chat([{"role": "user", "content": content}], template=TYPED)
    assert found.text == "low<|image_pad|>" and found.ids[-1] == tok("chatml").token_id("<|image_pad|>")
    lossy = [
        LOOPED,
        LOOPED.replace("part['text']", "part.text"),
        LOOPED.replace("part['text']", "part.get('text', '')"),
    ]
    for template in lossy:
        with pytest.raises(
            InvalidOption, match=r"message 1: part 1 of type image.*pass a template that loops over parts"
        ):
            tok("chatml").chat([TALK[0] | {"content": TEXTS}, TALK[1] | {"content": content}], template=template)


@pytest.mark.parametrize("template", AS_TEXT)
def test_parts_in_the_place_of_a_text_are_named(template: str) -> None:
    with pytest.raises(InvalidOption, match=r"message 0 with a content in parts.*a str as content.*join the texts"):
        tok("chatml").chat([{"role": "user", "content": TEXTS}], template=template)


def test_a_content_of_another_type_is_named() -> None:
    with pytest.raises(InvalidOption, match=r"message 1 with a content of type int.*a str"):
        tok("chatml").chat([TALK[0], {"role": "user", "content": 5}], template="chatml")
    for message in ({"role": "user", "content": None}, {"role": "user"}):
        with pytest.raises(InvalidOption, match=r"message 1 without content.*a str as content"):
            tok("chatml").chat([TALK[0], message], template="chatml")


USER = {"role": "user", "content": "low"}
GEMMA = FAMILIES["gemma"][0]
# Plausible mistakes: the arguments that differ, the error, and what it says.
MISTAKES: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"messages": USER}, TypeError, "messages: expected mappings with role and content, not dict; pass a list"),
    ({"messages": [[USER]]}, TypeError, "messages: message 0: expected a mapping with role and content, not list"),
    ({"messages": [USER, {"from": "human", "value": "low"}]}, InvalidOption, "message 1 without role.*a str as role"),
    ({"messages": [{"role": 1, "content": "low"}]}, InvalidOption, "message 0 with a role of type int.*a str as role"),
    ({"messages": [{"role": "user", "content": b"low"}]}, TypeError, "message 0: content: expected str, or a list of parts, not bytes"),
    ({"messages": [{"role": "user", "content": ["low"]}], "template": GEMMA}, InvalidOption, "the template fails: 'str object' has no attribute 'text'"),
    ({"messages": [{"role": "user", "content": []}]}, InvalidOption, 'writes a list as a text; join the texts'),
    ({"tools": {"type": "function"}}, TypeError, "tools: expected mappings, the JSON schemas of functions, not dict; pass a list"),
    ({"tools": [USER, len]}, TypeError, "tools: tool 1: expected a mapping, the JSON schema of a function, not builtin"),
    ({"variables": "low"}, TypeError, "variables: expected a mapping of names to values, not str"),
    ({"template": None}, TypeError, "template: expected a path"),
    ({"template": b"{{ 1 }}"}, TypeError, "template: expected a path"),
    ({"template": ""}, UnknownName, "no chat template or file named ''"),
    ({"add_generation_prompt": "no"}, TypeError, "add_generation_prompt: expected True or False, not str"),
    ({"continue_final_message": "content"}, TypeError, "continue_final_message: expected True or False, not str"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "error", "match"), MISTAKES)
def test_a_plausible_mistake_is_named(more: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        tok("chatml").chat(**{"messages": [USER], "template": "chatml", **more})


def test_mistakes_in_many_conversations_are_numbered() -> None:
    for given, place in (([USER], 0), ([[USER], {"messages": [USER]}], 1), ([[USER], None], 1)):
        with pytest.raises(TypeError, match=f"conversation {place}: messages: expected mappings with role and content"):
            tok("chatml").encode_chats(given, template="chatml")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="conversations: expected lists of messages, not NoneType"):
        tok("chatml").encode_chats(None, template="chatml")  # type: ignore[arg-type]


def test_an_error_shows_parts() -> None:
    with pytest.raises(InvalidOption, match=r"'low'.*error: no"):
        tok("chatml").chat([{"role": "user", "content": TEXTS}], template="{{ raise_exception('no') }}")


# Hard inputs


def test_an_unknown_role_is_the_decision_of_the_template_and_not_trusted() -> None:
    found = tok("phi").chat([{"role": "end", "content": "low"}], template=FAMILIES["phi"][0])
    assert found.text == "<|end|>\nlow<|end|>\n<|endoftext|>"
    assert found.disarmed == [(0, "<|end|>")] and len(marks_of("phi", found.ids.tolist())) == 2
    refusing = "{% for m in messages if m.role != 'user' %}{{ raise_exception('unknown role ' + m.role) }}{% endfor %}"
    with pytest.raises(InvalidOption, match="error: unknown role wizard"):
        tok("chatml").chat([{"role": "wizard", "content": "low"}], template=refusing)


def test_a_hundred_thousand_turns() -> None:
    talk = [{"role": ("user", "assistant")[number % 2], "content": f"low {number}"} for number in range(100_000)]
    found = tok("chatml").chat(talk, template="chatml")
    assert found.ids.tolist() == tok("chatml").encode(found.text, special="allow")
    assert found.messages[-6:].max() == 99_999 and found.assistant_mask.any()


@pytest.mark.parametrize("mark", ["", "<|im_end|>"])
def test_a_message_of_10_mb(mark: str) -> None:
    content = "the user said low " * 600_000 + mark
    found = tok("chatml").chat([{"role": "user", "content": content}], template="chatml")
    assert len(found.text) > 10_000_000 and len(found.disarmed) == bool(mark)
    assert len(marks_of("chatml", found.ids.tolist())) == 2


def test_lone_surrogates_keep_their_places() -> None:
    template = "{% for m in messages %}{{ m.content }}{% endfor %}<|im_end|>"
    found = tok("chatml").chat([{"content": "a\ud83d"}, {"content": "\udc4db\ud800<|im_end|>"}], template=template)
    assert found.text == "a\ud83d\udc4db\ud800<|im_end|><|im_end|>" and found.disarmed == [(5, "<|im_end|>")]
    assert tok("chatml").decode(found.ids) == "a👍b\ufffd<|im_end|><|im_end|>"
    assert found.starts[-1] == 15 and found.messages[-1] == -1


def test_a_template_that_grows_or_loops_is_refused_for_many_conversations() -> None:
    grows = "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}"
    many = "{% for i in range(99999) %}{{ ns }}{% endfor %}"
    runs = "{% set ns %}{% for m in messages %}{{ m.role }}{{ m.content }}{% endfor %}{% endset %}" + many
    for template, talk in ((grows, TALK), (runs, TALK * 3)):
        with pytest.raises(InvalidOption, match=r"conversation 0.*units of"):
            tok("chatml").encode_chats([talk], template=template)
        with pytest.raises(FormatError, match="units of"):
            tok("chatml").chat(talk, template=template)
