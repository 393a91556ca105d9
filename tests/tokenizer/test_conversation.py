"""`Tokenizer.conversation`: after each turn the text and the ids are those of a fresh `Tokenizer.chat`, and sampled ids stay.

`TOKSMITH_EXHAUSTIVE=1` draws 100,000 rollouts.
"""

import copy
import hashlib
import os
import pickle
import random
import subprocess
import sys
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest
from chat_templates import FAMILIES, NAMES, REWRITING
from test_chat import tok
from test_session import MADE
from test_session import tok as made

import toksmith
from toksmith._tokenizer.chat import resume, segments
from toksmith._tokenizer.chat.template import compile_template
from toksmith.errors import FormatError, InvalidOption, UnknownId

TEMPLATES = {name: (name, template) for name, (template, _) in FAMILIES.items()} | REWRITING
ROLLOUTS = 100_000 if os.environ.get("TOKSMITH_EXHAUSTIVE") else 300
PARTS = [
    " low", "lower ", "the user said", "\n\n", "\n", " ", "é日", "👍", "<|im_end|>", "</think>", "<|eot_id|>", "a", "[1, 2]", "\ud800",
    "<|im_", "start|>", "</s>", "<end_of_turn>", "<think>", "", "x" * 30,
]  # fmt: skip
THOUGHTS = ["", "", "the user said", "<|im_end|>low", "a\n"]


def draw_text(draw: random.Random, most: int = 6) -> str:
    return "".join(draw.choices(PARTS, k=draw.randrange(most)))


def draw_message(name: str, draw: random.Random, turns: list[dict[str, Any]]) -> dict[str, Any]:
    """A message that the template accepts after these."""
    last = turns[-1]["role"] if turns else ""
    roles = ["user", "user", "assistant"] + ["tool"] * (name in ("chatml", "deepseek", "qwen3", "harmony"))
    role = draw.choice(roles) if turns else draw.choice(["system", "user"])
    if name == "mistral":
        role = "user" if last != "user" else "assistant"
    message: dict[str, Any] = {"role": role, "content": draw_text(draw)}
    if role == "assistant" and draw.random() < 0.4:
        message |= {"reasoning_content": draw.choice(THOUGHTS), "thinking": draw.choice(THOUGHTS)}
    if role == "assistant" and draw.random() < 0.2:
        message["tool_calls"] = [{"name": "low", "arguments": {"x": draw.choice(PARTS[:4])}}]
    return message


def draw_sample(draw: random.Random, family: str) -> list[int]:
    """Ids: canonical, of several parts, or any; with a mark at the end or without."""
    chosen = tok(family)
    kind = draw.randrange(3)
    if kind == 0:
        ids = chosen.encode(draw_text(draw), special="text")
    elif kind == 1:
        ids = [id for part in draw.choices(PARTS, k=4) for id in chosen.encode(part, special="text")]
    else:
        ids = draw.choices(range(chosen.vocab_size), k=draw.randrange(6))
    return ids + ([draw.choice(chosen.model.added_tokens).id] if draw.random() < 0.7 else [])


def fresh(name: str, turns: list[dict[str, Any]], **more: Any) -> toksmith.types.ChatEncoding:
    family, template = TEMPLATES[name]
    return tok(family).chat(turns, template=template, variables=NAMES.get(family), **more)


def start(name: str, **more: Any) -> toksmith.types.Conversation:
    family, template = TEMPLATES[name]
    return tok(family).conversation(template, variables=NAMES.get(family), **more)


def check_equal(name: str, talk: toksmith.types.Conversation) -> None:
    """The conversation equals a fresh one unless it says that sampled ids differ."""
    expected = fresh(name, talk.turns)
    assert talk.text == expected.text
    assert (
        tok(TEMPLATES[name][0]).decode(talk.ids).replace("\ufffd", "")
        == talk.text.replace("\ufffd", "").replace("\ud800", "")
        or talk.drifts
    )
    assert (talk.ids.tolist() == expected.ids.tolist()) == (not talk.drifts)
    assert len(talk) == len(talk.ids) == len(talk.messages) == len(talk.assistant_mask)
    if not talk.drifts:
        assert talk.messages.tolist() == expected.messages.tolist()
        assert not np.any(expected.assistant_mask > talk.assistant_mask)


def holds_part(ids: list[int], part: list[int]) -> bool:
    return any(ids[place : place + len(part)] == part for place in range(len(ids) - len(part) + 1))


def roll_out(name: str, seed: int) -> Counter[str]:
    """A drawn conversation, checked after each call."""
    draw, family = random.Random(f"{name} {seed}"), TEMPLATES[name][0]
    found: Counter[str] = Counter()
    talk, forks = start(name), []
    sampled: dict[int, list[int]] = {}
    for _ in range(draw.randrange(1, 9)):
        before, turns = talk.ids.tolist(), talk.turns
        try:
            if not turns or draw.random() < 0.5 or (name == "mistral" and turns[-1]["role"] != "user"):
                edit = talk.add(draw_message(name, draw, turns))
            else:
                prompt, ids = talk.prompt().tolist(), draw_sample(draw, family)
                if not talk.drifts:
                    assert prompt == fresh(name, turns, add_generation_prompt=True).ids.tolist()
                edit = talk.add_sampled(ids)
                kept = talk.ids.tolist()[: len(prompt) + edit.kept]
                assert edit.kept == 0 or kept == prompt + ids[: edit.kept] or edit.rewritten is not None
                assert (edit.drift is None) == (edit.kept == len(ids) and len(turns) not in talk.drifts)
                assert edit.drift is not None or edit.canonical.tolist() == ids
                sampled[len(turns)] = ids[: edit.kept]
                found += Counter(sampled=1, kept=edit.kept == len(ids), drift=edit.drift is not None)
        except (InvalidOption, FormatError):
            assert talk.ids.tolist() == before and talk.turns == turns
            found["refused"] += 1
            continue
        ids = talk.ids.tolist()
        assert before[: edit.first] + edit.ids.tolist() + before[edit.first + edit.removed :] == ids
        for number in edit.replaced:
            del sampled[number]
        assert all(holds_part(ids, part) for part in sampled.values())
        check_equal(name, talk)
        found["replaced"] += len(edit.replaced)
        found["rewritten"] += edit.rewritten is not None
        if draw.random() < 0.2:
            forks.append((talk.fork(), ids, talk.text))
    assert all(fork.ids.tolist() == ids and fork.text == text for fork, ids, text in forks)
    return found


@pytest.mark.proof
@pytest.mark.short
@pytest.mark.parametrize("name", TEMPLATES)
def test_drawn_rollouts_equal_a_fresh_conversation(name: str) -> None:
    found: Counter[str] = Counter()
    for seed in range(ROLLOUTS // len(TEMPLATES)):
        found += roll_out(name, seed)
    assert found["sampled"] > 10 and found["drift"]
    assert name in ("mistral", "deepseek", "harmony", "analysis") or found["kept"]
    assert name not in ("qwen3", "late system") or found["rewritten"]
    print(f"{name}: {dict(found)}")


# Templates that read the messages in other ways, and keep a state in other places.
UNUSUAL = [
    "{% for m in messages %}{{ loop.index }}{{ loop.first }}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{{ loop.last }}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{{ loop.length }}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{{ loop.revindex0 }}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{{ loop.previtem.role if loop.previtem is defined }}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{{ loop.nextitem.role if loop.nextitem is defined }}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{% if loop.changed(m.role) %}{{ m.role }}{% endif %}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{{ loop.cycle('a', 'b', 'c') }}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{{ m.content }}{% if m.role == 'tool' %}{% break %}{% endif %}{% endfor %}{{ messages[-1].content }}",
    "{% for m in messages %}{% if m.role == 'tool' %}{% continue %}{% endif %}{{ m.content }}{% endfor %}",
    "{% for m in messages if m.role == 'user' %}{{ loop.index }}{{ m.content }}{% endfor %}",
    "{% for m in messages recursive %}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{{ m.content }}{% else %}none{% endfor %}",
    "{% set n = namespace(c=0) %}{% for m in messages %}{% set n.c = n.c + 1 %}{{ n.c }}{{ m.content }}{% endfor %}{{ n.c }}",
    "{% set n = namespace(t='') %}{% for m in messages %}{% set n.t = n.t + m.content %}{% endfor %}{{ n.t }}",
    "{% set n = namespace(t=[]) %}{% for m in messages %}{% set n.t = n.t + [m] %}{% endfor %}{{ n.t[-1].content }}",
    "{% set n = namespace() %}{% set n.n = namespace(c=1) %}{% for m in messages %}{% set n.c = loop.index %}{{ n.c }}{% endfor %}",
    "{% set n = namespace(c=0) %}{% set x = [n] %}{% for m in messages %}{% set n.c = n.c + 1 %}{{ x[0].c }}{% endfor %}",
    ("{% set n = namespace(c=0) %}{% macro up() %}{% set n.c = n.c + 1 %}{{ n.c }}{% endmacro %}{{ up() }}{% set y = n.c %}"
    "{% for m in messages %}{{ up() }}{{ y }}{{ m.content }}{% endfor %}"),
    ("{% set n = namespace(c=0) %}{% for t in [1, 2] %}{% set n.c = n.c + t %}{% endfor %}{% set y = n.c %}"
    "{% for m in messages %}{{ y }}{{ m.content }}{% endfor %}"),
    "{% set j = joiner(',') %}{% for m in messages %}{{ j() }}{{ m.content }}{% endfor %}",
    "{% set c = cycler('a', 'b') %}{% for m in messages %}{{ c.next() }}{{ m.content }}{% endfor %}",
    "{% set g = [1, 2, 3] | map('string') %}{% for m in messages %}{{ m.content }}{{ g | list }}{% endfor %}",
    "{% set u = messages | selectattr('role', 'equalto', 'user') | list %}{% for m in messages %}{{ u | length }}{{ m.content }}{% endfor %}",
    "{% set u = messages | selectattr('role', 'equalto', 'user') %}{% for m in messages %}{{ m.content }}{{ u | list | length }}{% endfor %}",
    "{% for m in messages | rejectattr('role', 'equalto', 'tool') %}{{ m.content }}{% endfor %}",
    "{{ messages | length }}{% for m in messages %}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{{ m.content }}{% endfor %}{{ messages | length }}",
    "{% for m in messages[::-1] %}{{ m.content }}{% endfor %}",
    "{% for m in messages | reverse %}{{ m.content }}{% endfor %}",
    "{% for m in messages[1:] %}{{ loop.index }}{{ m.content }}{% endfor %}",
    "{% for m in messages[2:][1:] %}{{ loop.first }}{{ m.content }}{% endfor %}",
    "{% for m in messages[:-1] %}{{ m.content }}{% endfor %}",
    "{% for m in messages[-2:] %}{{ m.content }}{% endfor %}",
    "{{ messages[1].content if messages[1] is defined else 'none' }}{% for m in messages %}{{ m.content }}{% endfor %}",
    "{{ messages[1].content if messages[1] }}{% for m in messages %}{{ messages[loop.index].role if messages[loop.index] }}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{{ messages.index(m) }}{% endfor %}",
    "{{ messages | tojson }}", "{{ messages }}", "{{ messages == [] }}", "{{ (messages + [1]) | length }}", "{{ messages * 2 }}",
    "{{ messages[0] in messages }}{% for m in messages %}{{ m.content }}{% endfor %}",
    "{{ messages is sequence }}{{ messages is mapping }}{{ messages is iterable }}{{ messages is string }}{% for m in messages %}{{ m.content }}{% endfor %}",
    "{{ messages | first }}{{ messages | last }}", "{{ messages | map(attribute='content') | join }}",
    "{% if messages %}{% for m in messages %}{{ m.content }}{% endfor %}{% endif %}{{ not messages }}",
    "{% if tools %}{% for m in messages %}T{{ m.content }}{% endfor %}{% else %}{% for m in messages %}{{ m.content }}{% endfor %}{% endif %}",
    "{% for m in messages %}{{ m.role }}{% endfor %}{% for m in messages %}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{% if loop.index == 2 %}{% break %}{% endif %}{{ m.role }}{% endfor %}{% for m in messages %}{{ m.content }}{% endfor %}",
    "{% for a in [1, 2] %}{% for m in messages %}{{ m.content }}{% endfor %}{% endfor %}",
    "{% set x %}{% for m in messages %}{{ m.content }}{% endfor %}{% endset %}{{ x | trim }}",
    "{% macro all() %}{% for m in messages %}{{ m.content }}{% endfor %}{% endmacro %}{{ all() }}",
    "{% filter trim %}{% for m in messages %}{{ m.content }}{% endfor %}{% endfilter %}",
    "{% block b %}{% for m in messages %}{{ m.content }}{% endfor %}{% endblock %}",
    "{% with x = 1 %}{% for m in messages %}{{ x }}{{ m.content }}{% endfor %}{% endwith %}",
    "{% generation %}{% for m in messages %}{{ m.content }}{% endfor %}{% endgeneration %}",
    "{% for m in messages %}{{ m.content }}{% if add_generation_prompt and loop.last %}<|im_start|>{% endif %}{% endfor %}",
    "{{ add_generation_prompt }}{% for m in messages %}{{ add_generation_prompt }}{{ m.content }}{% endfor %}",
    "{% set add_generation_prompt = add_generation_prompt is true %}{% for m in messages %}{{ m.content }}{% endfor %}{{ add_generation_prompt }}",
    ("{% set s = messages[0].content | trim %}{% set ns = namespace(seen=false) %}{{ s }}{% for m in messages %}"
    "{% if not ns.seen and m.role == 'user' %}{% set ns.seen = true %}{{ s }}{% endif %}{{ m.content }}<|im_end|>{% endfor %}"),
    "{% for m in messages %}{% set x = m.content %}{% for n in messages %}{% if loop.index > 2 %}{% break %}{% endif %}{{ n.role }}{% endfor %}{{ x }}{% endfor %}",
    "{% set first = messages[0] %}{% set all = [messages] %}{% for m in all[0] %}{{ m.content }}{{ first.role }}{% endfor %}",
    "{% set x = range(3) %}{% for m in messages %}{{ x[0] }}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{% for k in m %}{{ k }}{{ m[k] }}{% endfor %}{% endfor %}",
    "{% for m in messages %}{{ loop }}{{ m.content }}{% endfor %}",
    "{% for m in messages %}{{ m.content }}{% endfor %}{{ loop }}",
    "{% for role, content in messages %}{{ role }}{% endfor %}",
    "{% set last = messages[-1].content %}{% for m in messages %}{{ last }}{{ m.content }}{% endfor %}",
    "{% set last = messages[-1] %}{% for m in messages %}{{ last.role }}{{ m.content }}{% endfor %}",
    "{{ messages | length % 2 }}{% for m in messages %}{{ m.content }}{% endfor %}",
    "{{ messages[-1].content }}{% for m in messages %}{{ m.content }}{% endfor %}",
    "{% set rest = messages[messages | length // 4:] %}{% for m in rest %}{{ loop.index }}{{ m.content }}{% endfor %}",
    (
        "{% if messages | length % 3 %}{% for m in messages %}a{{ m.content }}{% endfor %}"
        "{% else %}{% for m in messages %}b{{ m.content }}{% endfor %}{% endif %}"
    ),
    (
        "{% set n = namespace(c=0, d=0) %}{% for m in messages %}{% set n.c = (n.c + 1) % 3 %}{% endfor %}"
        "{% for m in messages %}{% set n.d = n.d + 1 %}{{ n.c }}{{ n.d }}{{ m.content }}{% endfor %}"
    ),
    (
        "{% for m in messages %}{% if loop.index == 2 %}{% break %}{% endif %}{{ loop.last }}{% endfor %}"
        "{% for m in messages %}{{ m.content }}{% endfor %}"
    ),
]  # fmt: skip

# What templates do in the main loop with the number of the last message of a user.
LAST = (
    "{% set n = namespace(last=-1, c=0) %}{% for m in messages[::-1] %}{% if m.role == 'user' and n.last < 0 %}"
    "{% set n.last = messages | length - 1 - loop.index0 %}{% endif %}{% endfor %}"
)
WITH_LAST = [
    "{{ loop.index0 > n.last }}", "{{ loop.index0 >= n.last }}", "{{ loop.index0 < n.last }}", "{{ loop.index0 <= n.last }}",
    "{{ n.last > loop.index0 }}", "{{ 2 > n.last > loop.index }}", "{{ n.last > 2.5 }}", "{{ n.last < n.c }}", "{{ n.last > true }}",
    "{{ n.last == loop.index0 }}", "{{ n.last != 2 }}", "{{ n.last in [1, 2] }}", "{{ n.last is sameas 3 }}", "{{ n.last is number }}",
    "{{ n.last is integer }}{{ n.last is odd }}", "{{ n.last + 1 }}", "{{ -n.last }}", "{{ 'x' * n.last }}", "{{ '%d' % n.last }}", "{{ n.last }}",
    "{{ n.last | int }}", "{{ n.last | float }}", "{{ n.last | string | length }}", "{{ n.last | tojson }}", "{{ n.last | default(1) > 2 }}",
    "{{ n.last | abs }}", "{{ n.last ~ 'x' }}", "{{ '{}'.format(n.last) }}", "{{ [n.last] }}", "{{ n }}", "{{ n.last.real }}", "{{ n.last.x is defined }}",
    "{{ [1, 2, 3][n.last] }}", "{{ [1, 2, 3][n.last:] }}", "{{ 'abc'[n.last] }}", "{{ {1: 'x'}[n.last] }}", "{{ {n.last: 1} }}",
    "{{ messages[n.last].role }}", "{{ range(n.last) | list }}", "{{ [n.last, 2, 4] | sort | first > 1 }}", "{{ [n.last, 2] | max }}",
    "{% if n.last %}x{% endif %}", "{{ n.last or 'x' }}", "{% set y = n.last %}{{ y > 2 }}", "{% set n.c = n.last %}{{ n.c > 2 }}",
    "{% set n.last = loop.index0 if loop.index0 > n.last else n.last %}{{ n.last > 1 }}", "{% set n.c = loop.index0 %}{{ n.c > n.last }}",
    "{% set n.c = n.c + 1 %}{{ loop.index0 > n.last }}", "{{ n.c > 2 }}{% set n.c = n.last %}", "{% set n.c = [n.last] %}{{ n.c[0] > 2 }}", "{% if loop.index > 3 %}{% break %}{% endif %}{{ 1 > n.last }}",
    "{% for x in [1, 2] if x > n.last %}{{ x }}{% endfor %}", "{% set m2 = namespace(x=n.last) %}{{ m2.x > 2 }}", "{{ late(loop.index0) }}",
    "{{ loop.index0 > n.last and loop.last }}", "{{ loop.nextitem is defined and n.last > 2 }}", "{{ n.c }}{{ loop.index0 > n.last }}",
]  # fmt: skip
LATE = "{% macro late(x) %}{{ x > n.last }}{% endmacro %}"
FALLING = "{% set n = namespace(last=9 - messages | length, c=0) %}"
for body in WITH_LAST:
    loop = "{% for m in messages %}" + body + "{{ m.content }}{% endfor %}{{ n.last }}"
    UNUSUAL += [LATE + LAST + loop, LATE + FALLING + loop]


@cache
def unusual_talks() -> list[list[dict[str, Any]]]:
    draw = random.Random(7)
    talks = []
    for _ in range(4):
        talk: list[dict[str, Any]] = []
        for _ in range(7):
            talk.append({"role": draw.choice(["user", "assistant", "tool"]), "content": draw_text(draw)})
        talks.append(talk)
    return [*talks, [{"role": draw.choice(["user", "tool"]), "content": "low"} for _ in range(9)]]


def outcome(call: Any) -> Any:
    """Text, ids and origins of a call; or its error."""
    try:
        found = call()
    except (InvalidOption, FormatError) as error:
        return str(error)
    return found.text, found.ids.tolist(), found.messages.tolist(), found.assistant_mask.tolist()


@pytest.mark.parametrize("template", UNUSUAL)
def test_a_template_that_is_not_append_only_is_rendered_again(template: str) -> None:
    for messages in unusual_talks():
        talk, turns = tok("chatml").conversation(template), []
        for message in messages:
            turns = [*turns, message]
            expected = outcome(lambda: tok("chatml").chat(turns, template=template))  # noqa: B023
            found = outcome(lambda: (talk.add(message), talk)[1])  # noqa: B023
            assert found == expected
            if isinstance(expected, str):
                break
            prompt = tok("chatml").chat(turns, template=template, add_generation_prompt=True)
            assert talk.prompt().tolist() == prompt.ids.tolist()


@pytest.fixture
def visited(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """For each loop over the messages, how many it visits."""
    found: list[int] = []
    enter = resume.Run.enter

    def noting(run: resume.Run, turns: resume.Turns, loop: int) -> Any:
        loop_over = enter(run, turns, loop)
        found.append(len(run.messages) - loop_over.start)
        return loop_over

    monkeypatch.setattr(resume.Run, "enter", noting)
    return found


@pytest.mark.parametrize("name", [*FAMILIES, "first system"])
def test_a_turn_renders_and_encodes_only_what_is_new(name: str, visited: list[int]) -> None:
    talk = start(name, messages=[{"role": "user", "content": "low " * 3000}])
    for number in range(20):
        role = ("assistant", "user")[number % 2]
        edit = talk.add(role, "the user said low")
        assert edit.encoded < 200 and edit.rewritten is None
        talk.prompt()
    assert visited[0] == 1 and max(visited[3:]) <= 1
    check_equal(name, talk)


@pytest.mark.parametrize("end", ["", "{{ '' if state.last + 1 }}"])
def test_a_template_that_looks_ahead_renders_only_what_can_change(end: str, visited: list[int]) -> None:
    """Qwen3 looks for the last message of a user. Until that message it writes the same, whichever it is."""
    template = TEMPLATES["qwen3"][1] + end
    talk = tok("chatml").conversation(template, messages=[{"role": "user", "content": "low"}] * 40)
    for number in range(16):
        role = ("assistant", "tool", "assistant", "user")[number % 4]
        visited.clear()
        edit = talk.add(role, "lower", reasoning_content="the user" if role == "assistant" else None)
        assert len(visited) == 1 and visited[0] <= (1 if role != "user" else 4)
        assert (edit.rewritten is None) == (role != "user")
        assert talk.ids.tolist() == tok("chatml").chat(talk.turns, template=template).ids.tolist()
    assert compile_template(template, resume.TurnEnvironment).environment.orders


def test_a_failing_message_does_not_end_the_reuse_of_earlier_turns(visited: list[int]) -> None:
    talk = start("qwen3", messages=[{"role": "user", "content": "low"}] * 40)
    for content in (3, ["low"]):
        with pytest.raises(InvalidOption):
            talk.add("user", content)
    assert compile_template(TEMPLATES["qwen3"][1], resume.TurnEnvironment).environment.orders
    visited.clear()
    start("qwen3", messages=talk.turns).add("user", "low")
    assert visited == [40, 1]


@pytest.mark.parametrize("name", [name for name in MADE if name not in ("own pattern", "raw")] + ["mistral_v1.model"])
@pytest.mark.parametrize("template", ["plain", "{% for m in messages %}{{ m.content }}<|end|>{{ m.role }}{% endfor %}"])
def test_ids_of_other_tokenizers_equal_a_fresh_conversation(name: str, template: str) -> None:
    draw, variables = random.Random(name), {"eos_token": "<|end|>"}
    for _ in range(20):
        talk = made(name).conversation(template, variables=variables)
        for _ in range(6):
            content = "".join(
                draw.choices(["low", " ", "  ", "lower\n", "<|en", "d|>", "<|end|>", "it's", "日", "x" * 9], k=4)
            )
            talk.add(draw.choice(["user", "assistant"]), content)
            assert talk.ids.tolist() == made(name).chat(talk.turns, template=template, variables=variables).ids.tolist()


@pytest.mark.parametrize("name", ["gpt2", "raw"])
def test_without_marks_the_core_finds_a_cut(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "FAR", 64)
    monkeypatch.setattr(segments, "NEAR", 256)
    draw, plain = random.Random(3), "{% for m in messages %}{{ m.role + ': ' + m.content + '\n' }}{% endfor %}"
    talk, encoded = made(name).conversation(plain), []
    for _ in range(60):
        encoded.append(
            talk.add("user", "".join(draw.choices(["low lower ", "it's 12\n\n", "日本 ", "  "], k=40))).encoded
        )
        assert talk.ids.tolist() == made(name).chat(talk.turns, template=plain).ids.tolist()
    assert max(encoded) < 1_500


IM_START, IM_END = "<|im_start|>", "<|im_end|>"


def test_sampled_ids_stay_and_the_mark_of_the_turn_is_not_doubled() -> None:
    chosen = tok("chatml")
    talk = start("chatml", messages=[{"role": "user", "content": "low"}])
    prompt, end = talk.prompt().tolist(), chosen.token_id(IM_END)
    canonical = [*chosen.encode(" lower"), end]
    edit = talk.add_sampled(canonical)
    assert (edit.kept, edit.drift, talk.drifts) == (len(canonical), None, {})
    assert talk.ids.tolist()[: len(prompt) + len(canonical)] == prompt + canonical
    assert talk.text.endswith(" lower<|im_end|>\n") and talk.turns[-1] == {"role": "assistant", "content": " lower"}
    talk.add("user", "low")
    prompt = talk.prompt().tolist()
    letters = [*map(ord, " lower"), end]
    edit = talk.add_sampled(letters)
    assert (edit.kept, edit.drift, edit.canonical.tolist()) == (7, 0, canonical)
    assert talk.drifts == {3: 0} and talk.ids.tolist()[len(prompt) :] == [*letters, *chosen.encode("\n")]
    assert "drift from 0 on" in repr(edit)
    talk.add("user", "low")
    assert talk.prompt().tolist()[len(prompt) :][:7] == letters
    mask, messages = talk.assistant_mask[len(prompt) :], talk.messages[len(prompt) :]
    assert mask[:8].tolist() == [1] * 7 + [0] and messages[:6].tolist() == [3] * 6


def test_a_drift_can_be_refused() -> None:
    talk = start("chatml", messages=[{"role": "user", "content": "low"}])
    before = talk.ids.tolist()
    with pytest.raises(InvalidOption, match=r"ids that are the canonical ids of the turn; number \d is not"):
        talk.add_sampled([*map(ord, "low")], drift="refuse")
    assert talk.ids.tolist() == before and len(talk.turns) == 1
    assert talk.add_sampled(tok("chatml").encode("low"), drift="refuse").drift is None
    with pytest.raises(InvalidOption, match="drift='never' is not possible; expected 'report' or 'refuse'"):
        talk.add_sampled([], drift="never")


def test_another_mark_at_the_end_is_reported() -> None:
    """The template writes its own mark: the sampled one is not kept."""
    chosen = tok("chatml")
    talk = start("chatml", messages=[{"role": "user", "content": "low"}])
    ids = [*chosen.encode("lower"), chosen.token_id("<|endoftext|>")]
    edit = talk.add_sampled(ids)
    assert (edit.kept, edit.drift) == (len(ids) - 1, len(ids) - 1)
    assert talk.text.endswith("lower<|im_end|>\n") and talk.drifts == {}


def test_marks_among_sampled_ids_stay_marks() -> None:
    """As content the same text is not trusted, so the ids differ from the canonical ones."""
    chosen = tok("chatml")
    talk = start("chatml", messages=[{"role": "user", "content": "low"}])
    ids = [chosen.token_id("<think>"), *chosen.encode("low"), chosen.token_id("</think>"), chosen.token_id(IM_END)]
    edit = talk.add_sampled(ids)
    assert edit.kept == len(ids) and edit.drift == 0 and chosen.token_id("<think>") in talk.ids
    message = {"role": "assistant", "content": "", "reasoning_content": "low"}
    talk = start("qwen3", messages=[{"role": "user", "content": "low"}])
    ids = chosen.encode("<think>\nlow\n</think>\n\nlower<|im_end|>", special="allow")
    edit = talk.add_sampled(ids, {**message, "content": "lower"})
    assert edit.kept == len(ids) and edit.drift is None
    edit = talk.add("user", "low")
    assert edit.replaced == (1,) and edit.rewritten == 1 and "sampled ids replaced in [1]" in repr(edit)
    assert talk.ids.tolist() == fresh("qwen3", talk.turns).ids.tolist()


def test_a_message_that_spells_the_prompt_has_other_ids() -> None:
    talk = start("deepseek", messages=[{"role": "user", "content": "low"}])  # its prompt ends with <think>
    edit = talk.add_sampled(tok("deepseek").encode("<think>\n<think>\nlow", special="allow"))
    assert (edit.kept, edit.drift) == (0, 0)
    assert talk.ids.tolist() == fresh("deepseek", talk.turns).ids.tolist()


def test_a_turn_of_harmony_is_kept_with_its_message() -> None:
    chosen = tok("harmony")
    talk = start("analysis", messages=[{"role": "user", "content": "low"}])
    written = (
        "<|channel|>analysis<|message|>the user said<|end|><|start|>assistant<|channel|>final<|message|>lower<|end|>"
    )
    ids = chosen.encode(written, special="allow")
    edit = talk.add_sampled(ids, {"role": "assistant", "content": "lower", "thinking": "the user said"})
    assert edit.kept == len(ids) and edit.drift is None
    assert talk.assistant_mask.sum() == len(ids)
    edit = talk.add("user", "low")
    assert (edit.rewritten, edit.replaced) == (1, (1,)) and "analysis" not in talk.text


def test_ids_within_a_character_are_kept() -> None:
    chosen = tok("chatml")
    talk = start("chatml", messages=[{"role": "user", "content": "low"}])
    prompt = talk.prompt().tolist()
    half = [*"日".encode()][:2]
    edit = talk.add_sampled(half)
    assert talk.ids.tolist()[len(prompt) :][:2] == half and edit.drift == 0
    assert edit.canonical.tolist() == chosen.encode(chosen.decode(half))
    assert talk.turns[-1]["content"] == "\ufffd"


def test_unknown_ids_are_named() -> None:
    talk = start("chatml", messages=[{"role": "user", "content": "low"}])
    assert talk.fork().add_sampled(np.array([1, 2], np.uint32)).kept == 2
    for ids, position in (([1, 10_000], 1), ([-1], 0), ([1 << 40], 0)):
        with pytest.raises(UnknownId, match=f"at position {position} is out of range"):
            talk.add_sampled(ids)
    with pytest.raises(TypeError, match="ids: expected ids"):
        talk.add_sampled("low")  # type: ignore[arg-type]
    assert len(talk.turns) == 1


def test_a_refused_call_changes_nothing() -> None:
    talk = start("mistral", messages=[{"role": "user", "content": "low"}])
    before = talk.ids.tolist(), talk.prompt().tolist(), talk.turns
    with pytest.raises(InvalidOption, match="the roles must alternate"):
        talk.add("user", "low")
    with pytest.raises(TypeError, match="message 1: expected a mapping"):
        talk.add(3)  # type: ignore[arg-type]
    with pytest.raises(InvalidOption, match="a str as content, because the template fails"):
        talk.add("assistant", [{"type": "image"}])
    assert (talk.ids.tolist(), talk.prompt().tolist(), talk.turns) == before
    with pytest.raises(FormatError, match="is not valid Jinja"):
        tok("chatml").conversation("{% for %}")
    with pytest.raises(InvalidOption, match="the roles must alternate"):
        start("mistral", messages=[{"role": "assistant", "content": "low"}])
    with pytest.raises(FormatError, match="list object has no element 0"):
        start("chatml").prompt()


def test_the_work_of_all_turns_is_limited() -> None:
    """A template that a fresh conversation refuses for its work is refused here too."""
    template = "{% for m in messages %}{% for x in range(1200) %}{{ x }}{% endfor %}{% endfor %}"
    talk = tok("chatml").conversation(template)

    def add_all() -> None:
        for _ in range(1_000):
            talk.add("user", "")

    with pytest.raises(FormatError, match="more than"):
        add_all()
    tok("chatml").chat(talk.turns[:-1], template=template)
    with pytest.raises(FormatError, match="more than"):
        tok("chatml").chat([*talk.turns, *talk.turns[:1]], template=template)


def test_contents_in_parts_are_those_of_a_fresh_conversation() -> None:
    parts = [{"type": "text", "text": "low</think>er"}, {"type": "text", "text": "said"}]
    talk = start("gemma")
    talk.add("user", parts)
    talk.add("assistant", "low")
    check_equal("gemma", talk)
    image = [{"type": "text", "text": "low"}, {"type": "image"}]
    with pytest.raises(InvalidOption, match="a str as content, because the template fails"):
        talk.add("user", image)
    assert len(talk.turns) == 2
    template = "{% for m in messages %}{% for p in m.content %}{{ '<|im_start|>' if p.type == 'image' else p.text }}{% endfor %}{% endfor %}"
    talk = tok("chatml").conversation(template)
    for content in (image, parts, image):
        talk.add("user", content)
        assert talk.ids.tolist() == tok("chatml").chat(talk.turns, template=template).ids.tolist()


def test_values_with_a_state_are_rendered_again() -> None:
    """A value of the caller can change between two turns."""
    counter = iter(range(100))
    talk = tok("chatml").conversation(
        "{% for m in messages %}{{ f() }}{{ m.content }}{% endfor %}", variables={"f": lambda: next(counter)}
    )
    talk.add("user", "a")
    talk.add("user", "b")
    assert talk.text == "1a2b"


def test_a_fork_shares_and_changes_alone() -> None:
    talk = start("chatml", messages=[{"role": "user", "content": "low"}])
    fork = talk.fork()
    assert fork._views is talk._views
    fork.add("assistant", "lower")
    talk.add_sampled(tok("chatml").encode("said"))
    assert fork.turns[1]["content"] == "lower" and talk.turns[1]["content"] == "said"
    for each in (fork, talk):
        check_equal("chatml", each)
    shared = [each._views[False].text.before for each in (fork, talk)]
    assert shared[0] and shared[1] and shared[0].segment is shared[1].segment


def test_a_copy_is_a_fork() -> None:
    talk = start("chatml", messages=[{"role": "user", "content": "low"}])
    for each in (copy.copy(talk), copy.deepcopy(talk)):
        each.add_sampled(tok("chatml").encode("said"))
        check_equal("chatml", each)
        assert len(talk.turns) == 1 and each._tok is talk._tok and each._free is not talk._free
    with pytest.raises(TypeError, match="a Conversation cannot be pickled; keep its `turns`"):
        pickle.dumps(talk)


def test_a_whole_message_has_no_further_fields() -> None:
    talk = start("chatml", messages=[{"role": "user", "content": "low"}])
    for more, fields in ((("low",), {}), ((), {"name": "low"})):
        with pytest.raises(TypeError, match="a role with its content and fields, or a whole message"):
            talk.add({"role": "assistant", "content": "low"}, *more, **fields)
    assert len(talk.turns) == 1


def test_the_callers_values_are_copied() -> None:
    calls = [{"name": "low", "arguments": {}}]
    talk = start("chatml", messages=[{"role": "user", "content": "low"}])
    talk.add("assistant", "", tool_calls=calls)
    calls[0]["name"] = talk.turns[1]["tool_calls"][0]["name"] = "x"
    assert talk.turns[1]["tool_calls"][0]["name"] == "low"


LONG = [{"role": "system", "content": "é said"}] + [
    {"role": ("user", "assistant")[number % 2], "content": f"low {number} " * 5} for number in range(8)
]


@pytest.mark.parametrize("name", ["chatml", "llama", "first system", "late system", "qwen3"])
def test_truncation_drops_whole_turns(name: str) -> None:
    for budget in range(0, 400, 7):
        talk = start(name, messages=LONG)
        before = talk.ids.tolist()
        choices = [LONG[:1] + LONG[first:] for first in (1, 3, 5, 7)]
        fitting = [turns for turns in choices if len(fresh(name, turns)) <= budget]
        if not fitting:
            with pytest.raises(InvalidOption, match=f"at least {len(fresh(name, choices[-1]))}, the ids without"):
                talk.truncate(budget)
            assert talk.ids.tolist() == before
            continue
        edit = talk.truncate(budget)
        assert talk.turns == fitting[0] and len(talk) <= budget
        assert edit.dropped == tuple(range(1, 1 + len(LONG) - len(fitting[0])))
        assert before[: edit.first] + edit.ids.tolist() + before[edit.first + edit.removed :] == talk.ids.tolist()
        check_equal(name, talk)
        talk.add("user", "low")
        check_equal(name, talk)


def test_sampled_ids_stay_when_earlier_turns_go() -> None:
    talk = start("chatml", messages=LONG)
    ids = [*map(ord, "low"), tok("chatml").token_id(IM_END)]
    talk.add("user", "said")
    talk.add_sampled(ids)
    edit = talk.truncate(len(talk) - 1)
    assert edit.dropped == (1, 2) and edit.replaced == () and holds_part(talk.ids.tolist(), ids)
    assert [*talk.drifts] == [len(LONG) - 1]


def test_cut_points_are_the_chained_hashes_of_full_blocks() -> None:
    talk = start("chatml", messages=LONG)
    for algorithm, dump in (("sha256", lambda value: pickle.dumps(value, 5)), ("sha256_cbor", cbor)):
        for _ in range(2):
            ids, parent, expected = talk.ids.tolist(), hashlib.sha256(dump("vllm-none-hash")).digest(), []
            for end in range(16, len(ids) + 1, 16):
                parent = hashlib.sha256(dump((parent, tuple(ids[end - 16 : end]), None))).digest()
                expected.append((end, parent))
            assert talk.cut_points(16, algorithm=algorithm) == expected
            talk.add("user", "low")
    assert talk.cut_points(prompt=True)[: len(expected)] == talk.cut_points()
    assert talk.cut_points(seed="1") != talk.cut_points()
    assert talk.cut_points(len(talk) + 1) == []
    with pytest.raises(InvalidOption, match="algorithm='md5' is not possible; expected 'sha256' or 'sha256_cbor'"):
        talk.cut_points(algorithm="md5")
    with pytest.raises(InvalidOption, match="block_size=0 is not possible; expected at least 1"):
        talk.cut_points(0)
    for wrong, name in (({"algorithm": []}, "algorithm"), ({"seed": 3}, "seed"), ({"prompt": "no"}, "prompt")):
        with pytest.raises(TypeError, match=f"{name}: expected"):
            talk.cut_points(**wrong)  # type: ignore[arg-type]


def cbor(value: Any) -> bytes:
    """Hand-worked CBOR of a text, or of the hash, ids below 65,536 and None."""
    if isinstance(value, str):
        return bytes([0x60 + len(value)]) + value.encode()
    parent, ids, _ = value
    numbers = [
        bytes([id]) if id < 24 else bytes([0x18, id]) if id < 256 else b"\x19" + id.to_bytes(2, "big") for id in ids
    ]
    return b"\x83\x58\x20" + parent + bytes([0x80 + len(ids)]) + b"".join(numbers) + b"\xf6"


def test_ids_of_every_size_have_their_cbor() -> None:
    from toksmith._tokenizer.chat.block_hashes import cbor

    cases = {
        0: "00",
        23: "17",
        24: "1818",
        255: "18ff",
        256: "190100",
        65_535: "19ffff",
        65_536: "1a00010000",
        2**32 - 1: "1affffffff",
    }
    assert {number: cbor(number).hex() for number in cases} == cases
    assert cbor((b"a" * 300, "é", None)).hex() == "83" + "59012c" + "61" * 300 + "62c3a9" + "f6"


def test_one_call_at_a_time() -> None:
    talk = start("chatml", messages=[{"role": "user", "content": "low"}])
    with talk._free, pytest.raises(RuntimeError, match="another call uses this conversation"):
        talk.add("user", "low")


def test_types_need_no_jinja2() -> None:
    code = "import sys; sys.modules['jinja2'] = None; import toksmith.types, toksmith.explain; toksmith.train('low', 256).conversation('chatml')"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stderr.endswith("ImportError: chat templates need jinja2: pip install 'toksmith[chat]'\n")


def test_it_prints_its_size() -> None:
    talk = start("chatml", messages=LONG)
    assert repr(talk) == f"<Conversation 9 messages, {len(talk)} ids>"
    assert repr(talk.add("user", "")).startswith("<TurnEdit 0 ids from ")
    assert isinstance(talk.add("user", ""), toksmith.types.IdEdit)


def test_the_clock_of_a_template_stands() -> None:
    talk = tok("chatml").conversation(
        "{{ strftime_now('%Y-%m-%d %f') }}{% for m in messages %}{{ strftime_now('%f') }}{% endfor %}"
    )
    talk.add("user", "a")
    before = talk.text
    talk.add("user", "b")
    assert talk.text == before + before[-6:]
