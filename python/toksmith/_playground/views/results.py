"""The results of the library that the page shows, each a call with checked arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import toksmith
from toksmith import explain
from toksmith._render import Shown

from ..snapshots import snapshot
from .asked import Asked
from .windows import compared

__all__ = [
    "chat",
    "doctor",
    "edit",
    "fairness",
    "history",
    "lengths",
    "lint",
    "merges",
    "parity",
    "pieces",
    "prompt",
    "repair",
    "saved",
    "search",
    "specials",
    "stability",
    "tree",
]


def repair(asked: Asked) -> dict[str, Any]:
    """The text with findings of the lint repaired."""
    return {"text": explain.lint(asked.tok, asked.text).repaired(*asked.strings("names"))}


def pieces(asked: Asked) -> Shown:
    """One tokenizer on the text, or several compared."""
    if len(asked.names) > 1:
        return compared(asked)
    return explain.pieces(asked.tok, asked.text, special=asked.special)


def parity(asked: Asked) -> Shown:
    """What the same text costs in each language: the playground's own texts, or `lines` of `name: text`."""
    lines = asked.strings("lines")
    texts = dict(own_texts(lines)) if lines else asked.session.texts
    return toksmith.parity(asked.tok, texts)


def own_texts(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, 1):
        name, colon, text = line.partition(":")
        if not colon or not name.strip():
            raise toksmith.InvalidOption(f"line {number}", line[:40], "a language, a colon and a text in that language")
        yield name.strip(), text.strip()


def prompt(asked: Asked) -> Shown:
    """The text up to `end` characters as a prompt."""
    text = asked.text
    end = asked.number("end", len(text), most=len(text))
    return explain.prompt(asked.tok, text, end, special=asked.special)


def doctor(asked: Asked) -> Shown:
    tok = asked.tok
    return asked.once("doctor", tok.fingerprint, lambda: toksmith.doctor(tok))


def merges(asked: Asked) -> Shown:
    return explain.merges(asked.tok, asked.string("piece"))


def tree(asked: Asked) -> Shown:
    """What a token was merged from, and what is built from it."""
    return explain.tree(asked.tok, asked.number("id"))


def history(asked: Asked) -> Shown:
    """How a token came to be in training."""
    return explain.history(asked.tok, asked.number("id"))


def lint(asked: Asked) -> Shown:
    """What in the text costs tokens without being seen."""
    return explain.lint(asked.tok, asked.text)


def specials(asked: Asked) -> Shown:
    """The special tokens in the text, as each of the three ways takes them."""
    return explain.specials(asked.tok, asked.text)


def search(asked: Asked) -> Shown:
    by: Any = asked.string("by", "text")
    return explain.search(asked.tok, asked.string("query"), by=by, most=200)


def lengths(asked: Asked) -> Shown:
    return explain.lengths(asked.toks)


def saved(asked: Asked) -> dict[str, Any]:
    """A snapshot of the text with the tokenizers that are compared, with a `title`: its HTML."""
    title = asked.string("title", "")
    return {"html": snapshot(asked.toks, asked.text, title=title or None, special=asked.special).html}


MOST_PLACES = 200
MOST_TYPED = 100  # characters


def stability(asked: Asked) -> explain.Stability:
    """What typing changes along the text, by each tokenizer."""
    text, typed = asked.text, asked.string("typed", "e")[:MOST_TYPED]
    key = (asked.key, typed, asked.special, *asked.names)

    def make() -> explain.Stability:
        return explain.stability(asked.toks, text, typed=typed, most=MOST_PLACES, special=asked.special)

    return asked.once("stability", key, make)


def edit(asked: Asked) -> explain.Edit:
    """What typing at the place `at` changes, by each tokenizer."""
    text, typed = asked.text, asked.string("typed", "e")[:MOST_TYPED]
    at = asked.number("at", 0, most=len(text))
    return explain.edit(asked.toks, text, at, at, typed, special=asked.special)


MOST_LANGUAGES = 1000
MOST_CHARS = 40_000_000  # of all texts


def fairness(asked: Asked) -> toksmith.metrics.Fairness:
    """The figures of all tokenizers; `texts` holds the same text by language."""
    given = asked.values.get("texts") or asked.session.texts
    if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
        raise toksmith.InvalidOption("texts", type(given).__name__, "texts by language")
    if len(given) > MOST_LANGUAGES or sum(map(len, given.values())) > MOST_CHARS:
        allowed = f"at most {MOST_LANGUAGES:,} languages and {MOST_CHARS:,} characters"
        raise toksmith.InvalidOption("texts", f"{len(given):,} languages", allowed)
    texts = {name.encode("utf-8", "replace").decode(): text for name, text in given.items()}
    reference = asked.string("reference", "") or None
    return toksmith.metrics.fairness(asked.toks, texts, reference=reference if reference in texts else None)


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
