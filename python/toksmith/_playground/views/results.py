"""Results of the library for the page: each view is a call with checked arguments."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import toksmith
from toksmith import explain
from toksmith._render import Shown

from ..lattice import lattice
from ..snapshots import snapshot
from .view_request import ViewRequest
from .windows import compare_texts

__all__ = [
    "chat",
    "chat_change",
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
    "save_snapshot",
    "search",
    "specials",
    "stability",
    "tree",
]


def repair(request: ViewRequest) -> dict[str, Any]:
    """The text with findings of the lint repaired."""
    return {"text": explain.lint(request.tok, request.text).repaired(*request.strings("names"))}


def pieces(request: ViewRequest) -> Shown:
    """One tokenizer on the text, or several compared."""
    if len(request.names) > 1:
        return compare_texts(request)
    return explain.text(request.tok, request.text, special=request.special)


def parity(request: ViewRequest) -> Shown:
    """The cost of the same text in each language: the playground's own texts, or `lines` of `name: text`."""
    lines = request.strings("lines")
    texts = dict(own_texts(lines)) if lines else request.session.texts
    return toksmith.metrics.parity(request.tok, texts)


def own_texts(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines, 1):
        name, colon, text = line.partition(":")
        if not colon or not name.strip():
            raise toksmith.errors.InvalidOption(
                f"line {number}", line[:40], "a language, a colon and a text in that language"
            )
        yield name.strip(), text.strip()


def prompt(request: ViewRequest) -> Shown:
    """The text up to `end` characters as a prompt."""
    text = request.text
    end = request.number("end", len(text), most=len(text))
    return explain.prompt(request.tok, text, end, special=request.special)


def doctor(request: ViewRequest) -> Shown:
    tok = request.tok
    return request.once("doctor", tok.fingerprint, lambda: toksmith.doctor(tok))


def merges(request: ViewRequest) -> Shown:
    """How a piece becomes tokens: by merges, or in a unigram model by the best path through its lattice."""
    if request.tok.model.kind == "unigram":
        return lattice(request.tok, request.names[request.which], request.string("piece"))
    return explain.merges(request.tok, request.string("piece"))


def tree(request: ViewRequest) -> Shown:
    """The parts of a token, and the tokens that are merged from it."""
    return explain.token(request.tok, request.number("id"))


def history(request: ViewRequest) -> Shown:
    """The history of a token in training."""
    return explain.history(request.tok, request.number("id"))


def lint(request: ViewRequest) -> Shown:
    """The characters of the text that cost tokens but are invisible or look like others."""
    return explain.lint(request.tok, request.text)


def specials(request: ViewRequest) -> Shown:
    """The special tokens in the text, treated in each of the three ways."""
    return explain.specials(request.tok, request.text)


def search(request: ViewRequest) -> Shown:
    by: Any = request.string("by", "text")
    return explain.search(request.tok, request.string("query"), by=by, most=200)


def lengths(request: ViewRequest) -> Shown:
    return explain.lengths(request.toks)


def save_snapshot(request: ViewRequest) -> dict[str, Any]:
    """The HTML of a snapshot of the text with the compared tokenizers and a `title`."""
    title = request.string("title", "")
    return {"html": snapshot(request.toks, request.text, title=title or None, special=request.special).html}


MOST_PLACES = 200
MOST_TYPED = 100  # characters


def stability(request: ViewRequest) -> explain.Edits:
    """The ids that typing changes along the text, by tokenizer."""
    text, typed = request.text, request.string("typed", "e")[:MOST_TYPED]
    key = (request.key, typed, request.special, *request.names)

    def make() -> explain.Edits:
        return explain.edits(request.toks, text, typed=typed, most=MOST_PLACES, special=request.special)

    return request.once("stability", key, make)


def edit(request: ViewRequest) -> explain.Edit:
    """The ids that typing at the place `at` changes, by tokenizer."""
    text, typed = request.text, request.string("typed", "e")[:MOST_TYPED]
    at = request.number("at", 0, most=len(text))
    return explain.edit(request.toks, text, at, at, typed, special=request.special)


MOST_LANGUAGES = 1000
MOST_CHARS = 40_000_000  # of all texts


def fairness(request: ViewRequest) -> toksmith.metrics.Fairness:
    """The figures of all tokenizers; `texts` holds the same text by language."""
    sent = request.values.get("texts") or request.session.texts
    if not isinstance(sent, dict) or not all(isinstance(each, str) for each in sent.values()):
        raise toksmith.errors.InvalidOption("texts", type(sent).__name__, "texts by language")
    if len(sent) > MOST_LANGUAGES or sum(map(len, sent.values())) > MOST_CHARS:
        allowed = f"at most {MOST_LANGUAGES:,} languages and {MOST_CHARS:,} characters"
        raise toksmith.errors.InvalidOption("texts", f"{len(sent):,} languages", allowed)
    texts = {name.encode("utf-8", "replace").decode(): text for name, text in sent.items()}
    reference = request.string("reference", "") or None
    return toksmith.metrics.fairness(request.toks, texts, reference=reference if reference in texts else None)


MOST_MESSAGES = 200  # many templates render the conversation for each message
# The names of `bos_token` and `eos_token` in published tokenizers, the usual ones first.
BEGINNINGS = ("<|begin_of_text|>", "<|startoftext|>", "<s>", "<bos>", "[CLS]", "<|begin|>")
ENDS = ("<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|end|>", "[SEP]")
NEEDS = {"chatml": ("<|im_start|>", "<|im_end|>"), "llama3": ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")}


def chat(request: ViewRequest) -> explain.ChatView:
    """The conversation; without a template, by the first one whose control tokens the tokenizer has."""
    options = template_of(request)
    try:
        return explain.chat(request.tok, messages_of(request, "messages", options), **options)
    except (ImportError, TypeError) as error:  # jinja2 is missing, or a message is not an object
        raise toksmith.ToksmithError(str(error)) from None


def chat_change(request: ViewRequest) -> dict[str, Any]:
    """What an edit of the messages changes in the prompt: the first id that differs from the prompt of the messages `before`."""
    options = template_of(request)
    try:
        old, new = (
            request.tok.conversation(messages=messages_of(request, name, options), **options).prompt()
            for name in ("before", "messages")
        )
    except (ImportError, TypeError) as error:
        raise toksmith.ToksmithError(str(error)) from None
    size = min(len(old), len(new))
    differs = (old[:size] != new[:size]).nonzero()[0]
    return {"first": int(differs[0]) if len(differs) else size, "before": len(old), "ids": len(new)}


def template_of(request: ViewRequest) -> dict[str, Any]:
    """The template and its variables, as arguments of `Tokenizer.conversation`."""
    tok = request.tok
    template = request.string("template", "") or fitting_template(tok)
    if template not in explain.CHAT_TEMPLATES and "{" not in template:  # a file name; a page must not open files
        raise toksmith.errors.InvalidOption(
            "template", template, f"Jinja, or one of {', '.join(explain.CHAT_TEMPLATES)}"
        )
    return {
        "template": template,
        "variables": {"bos_token": first_of(tok, BEGINNINGS), "eos_token": first_of(tok, ENDS)},
    }


def messages_of(request: ViewRequest, name: str, options: dict[str, Any]) -> list[Any]:
    """The messages, from the JSON text that the page sends; the page's templates take the text of parts as one text."""
    text = request.string(name, "")
    try:
        messages = json.loads(text) if text.strip() else []
    except (ValueError, RecursionError) as error:
        raise toksmith.ToksmithError(f"the messages are not JSON: {error}") from None
    if isinstance(messages, dict) and isinstance(messages.get("messages"), list):
        messages = messages["messages"]
    if not isinstance(messages, list):
        raise toksmith.ToksmithError('the messages: expected a list such as [{"role": "user", "content": "Hello"}]')
    if len(messages) > MOST_MESSAGES:
        instead = "for a longer conversation, use `toksmith explain chat` or Python"
        raise toksmith.errors.InvalidOption(
            name, f"{len(messages):,} messages", f"at most {MOST_MESSAGES} here; {instead}"
        )
    if options["template"] not in explain.CHAT_TEMPLATES:
        return messages
    return [joined_parts(number, each) for number, each in enumerate(messages)]


def joined_parts(number: int, message: Any) -> Any:
    """The message with the texts of a content in parts joined."""
    parts = message.get("content") if isinstance(message, dict) else None
    if not isinstance(parts, list):
        return message
    for place, part in enumerate(parts):
        if not isinstance(part, dict) or not isinstance(part.get("text"), str):
            kind = part.get("type") if isinstance(part, dict) else type(part).__name__
            found = f"message {number}: part {place} of type {kind}"
            raise toksmith.errors.InvalidOption(
                "messages", found, "parts with a text; choose your own template for others"
            )
    return message | {"content": "".join(part["text"] for part in parts)}


def fitting_template(tok: toksmith.Tokenizer) -> str:
    """The name of the first template whose control tokens the tokenizer has."""
    has = tok.special_tokens
    return next((name for name, needs in NEEDS.items() if all(each in has for each in needs)), "plain")


def first_of(tok: toksmith.Tokenizer, names: tuple[str, ...]) -> str:
    """The first of these special tokens that a tokenizer has; empty for none."""
    has = tok.special_tokens
    return next((name for name in names if name in has), "")
