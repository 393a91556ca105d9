"""`Tokenizer.chat` equals `apply_chat_template` of transformers."""

import tempfile
from functools import cache
from random import Random
from typing import Any

import pytest
from chat_templates import FAMILIES, MASKED, NAMES
from peers import imported_transformers
from test_chat import CONVERSATIONS, TALK, chat, marks_of, tok

transformers = imported_transformers()


@cache
def peer_of(family: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        tok(family).save(f"{folder}/tokenizer.json")
        found = transformers.PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json", **NAMES.get(family, {}))
    found.chat_template = FAMILIES[family][0]
    return found


@pytest.mark.parametrize("family, messages, more", CONVERSATIONS)
def test_ids_and_masks_are_equal(family: str, messages: list[dict[str, Any]], more: dict[str, Any]) -> None:
    own = chat(family, messages, **more)
    assert own.text == peer_of(family).apply_chat_template(messages, tokenize=False, **more)
    masks = family == "chatml"
    made = peer_of(family).apply_chat_template(messages, return_dict=True, return_assistant_tokens_mask=masks, **more)
    assert own["input_ids"] == made["input_ids"]
    assert not masks or own["assistant_masks"] == made["assistant_masks"]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_continued_last_message_is_equal(family: str) -> None:
    messages = TALK[:2]
    made = peer_of(family).apply_chat_template(messages, tokenize=False, continue_final_message=True)
    assert chat(family, messages, continue_final_message=True).text == made


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("content", ["", "  ", "\n", "low ", " low\n", "a\n\n"])
def test_any_content_is_continued(family: str, content: str) -> None:
    """transformers also strips the header where a template trims an empty content."""
    messages = [TALK[0], {"role": "assistant", "content": content}]
    made = peer_of(family).apply_chat_template(messages, tokenize=False, continue_final_message=True)
    found = chat(family, messages, continue_final_message=True).text
    assert found.rstrip() == made.rstrip() and (found == made or not content.strip())
    prompt = chat(family, messages[:1], add_generation_prompt=True).text
    if not content and family not in ("mistral", "deepseek", "harmony"):
        assert found == prompt


def test_fields_that_are_none_and_names_of_the_thinking_are_equal() -> None:
    template = "{% for m in messages %}{{ m.role }}{{ m | list }}{{ m.thinking }}{{ m.reasoning_content }}{{ m.reasoning }}\n{% endfor %}"
    fields: list[dict[str, Any]] = [{}, {"content": None, "tool_calls": None}, {"thinking": None, "reasoning": "low"}]
    fields += [{name: "low"} for name in ("thinking", "reasoning", "reasoning_content")]
    fields += [
        {"thinking": "a", "reasoning": "b"},
        {"reasoning_content": "a", "thinking": "b"},
        {"reasoning_content": ""},
    ]
    messages = [{"role": "assistant", "content": "low", **more} for more in fields]
    made = peer_of("chatml").apply_chat_template(messages, tokenize=False, chat_template=template)
    found = tok("chatml").chat(messages, template=template).text
    assert [sorted(line) for line in found.split("\n")] == [sorted(line) for line in made.split("\n")]


@pytest.mark.parametrize("family", FAMILIES)
def test_in_transformers_a_message_can_make_special_tokens(family: str) -> None:
    evil = [{"role": "user", "content": FAMILIES[family][1][0]}]
    made = peer_of(family).apply_chat_template(evil, return_dict=True)["input_ids"]
    assert len(marks_of(family, made)) == 1 + len(marks_of(family, chat(family, evil)["input_ids"]))


@pytest.mark.parametrize("family", MASKED)
def test_many_conversations_are_equal(family: str) -> None:
    words = ["low", " lower", "é日本", "\n\n", " ", "[1]", " 👍", "the user said", "  "]
    chance = Random(family)
    roles = ("user", "assistant") * 3
    talks = [
        [{"role": role, "content": "".join(chance.choices(words, k=chance.randrange(9)))} for role in roles[:turns]]
        for turns in (1, 2, 3, 6, 4, 2) * 5
    ]
    peer = peer_of(family)
    options = {"chat_template": MASKED[family], "return_dict": True, "return_assistant_tokens_mask": True}
    made = [peer.apply_chat_template(talk, **options) for talk in talks]
    found = tok(family).encode_chats(talks, template=MASKED[family], variables=NAMES.get(family))
    assert found.ids.tolist() == [id for one in made for id in one["input_ids"]]
    assert found.mask is not None and found.mask.tolist() == [bit for one in made for bit in one["assistant_masks"]]
    assert [len(row) for row in found] == [len(one["input_ids"]) for one in made] and found.mask.any()
