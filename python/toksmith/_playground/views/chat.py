"""A conversation as its tokens, by a template that is there or by one that the page sends."""

from __future__ import annotations

import json
from typing import Any

import toksmith
from toksmith import explain

from .asked import Asked

__all__ = ["chat"]

MOST_MESSAGES = 200  # the conversation is rendered for each message
# What published tokenizers call the tokens that templates know as `bos_token` and `eos_token`, the usual ones first.
BEGINNINGS = ("<|begin_of_text|>", "<|startoftext|>", "<s>", "<bos>", "[CLS]", "<|begin|>")
ENDS = ("<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|end|>", "[SEP]")
NEEDS = {"chatml": ("<|im_start|>", "<|im_end|>"), "llama3": ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")}


def chat(asked: Asked) -> explain.Conversation:
    """The conversation; without a template, by the one whose control tokens the tokenizer has."""
    tok = asked.tok
    template = asked.string("template", "") or fitting(tok)
    if template not in explain.CHAT_TEMPLATES and "{" not in template:  # the name of a file, which no page may open
        raise toksmith.InvalidOption("template", template, f"Jinja, or one of {', '.join(explain.CHAT_TEMPLATES)}")
    variables = {"bos_token": first_of(tok, BEGINNINGS), "eos_token": first_of(tok, ENDS)}
    try:
        return explain.chat(tok, messages_of(asked), template=template, variables=variables)
    except (ImportError, TypeError) as error:  # jinja2 is missing, or a message is not an object
        raise toksmith.ToksmithError(str(error)) from None


def messages_of(asked: Asked) -> list[Any]:
    """The messages, which the page sends as they were written."""
    text = asked.string("messages", "")
    try:
        found = json.loads(text) if text.strip() else []
    except (ValueError, RecursionError) as error:
        raise toksmith.ToksmithError(f"the messages are not JSON: {error}") from None
    if isinstance(found, dict) and isinstance(found.get("messages"), list):
        found = found["messages"]
    if not isinstance(found, list):
        raise toksmith.ToksmithError('the messages: expected a list such as [{"role": "user", "content": "Hello"}]')
    if len(found) > MOST_MESSAGES:
        instead = "for a longer conversation, use `toksmith chat` or Python"
        raise toksmith.InvalidOption("messages", f"{len(found):,} messages", f"at most {MOST_MESSAGES} here; {instead}")
    return found


def fitting(tok: toksmith.Tokenizer) -> str:
    """The name of the first template whose control tokens the tokenizer has."""
    has = tok.special_tokens
    return next((name for name, needs in NEEDS.items() if all(each in has for each in needs)), "plain")


def first_of(tok: toksmith.Tokenizer, names: tuple[str, ...]) -> str:
    """The first of these special tokens that a tokenizer has; empty for none."""
    has = tok.special_tokens
    return next((name for name in names if name in has), "")
