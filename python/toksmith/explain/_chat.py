"""A conversation as its tokens: what the template writes, what each message costs, and what a cache can reuse.

The rule: every figure comes from rendering. A message costs what the conversation has more with it than without it; the stable
prefix is what the ids of the conversation and those of a longer one both begin with. Left out: how a template is rendered, and
what may become a special token, which `Tokenizer.chat` says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.arguments import flag, items
from .._base.errors import FormatError, InvalidOption, number_of
from .._render import Block, Cell, Line, Shown, Table, TokenText, TokenView, Tone, json_of, one_line
from .._tokenizer.session import prefix
from .._tokenizer.tokenizer import Tokenizer
from ._asked import name_of, views_of

__all__ = ["CHAT_TEMPLATES", "ChatMessage", "Conversation", "Injection", "chat"]

MOST_RENDERED = 50_000_000  # characters that the beginnings of a conversation may have together
BEGINNING = 60  # characters of a message in a table
MOST_INJECTIONS = 20  # lines

# Templates of three kinds, written for this project. A model's own is beside its tokenizer.
CHAT_TEMPLATES: Mapping[str, str] = MappingProxyType(
    {
        "chatml": "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
        "llama3": "{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' + m.content | trim + '<|eot_id|>' }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}",
        "plain": "{% for m in messages %}{{ m.role + ': ' + m.content + eos_token + '\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}",
    }
)


@dataclass(frozen=True)
class ChatMessage:
    """One message of a conversation.

    Attributes:
        role, text: Its role, and its content as text.
        own: How many ids come from the message itself, its role included where
            the template writes it.
        added: How many ids the conversation up to this message has more than
            the one before it; None if the template refuses one of them, or if
            the conversation is too long to be rendered for each message.
        kept: Whether the whole conversation begins with the ids of the
            conversation up to this message; None as for `added`.
    """

    role: str
    text: str
    own: int
    added: int | None
    kept: bool | None


@dataclass(frozen=True)
class Injection:
    """Text that spells an added token, special or not, and stayed text.

    Attributes:
        message: The number of the message that it comes from; -1 for other
            text that the template did not spell itself.
        start: Where in the text of the conversation, in characters.
        token, id: The added token, and the id that it did not become.
    """

    message: int
    start: int
    token: str
    id: int


@dataclass(frozen=True, repr=False)
class Conversation(Shown):
    """A conversation as its tokens.

    Attributes:
        text: What the template wrote.
        messages: In order.
        ids: The ids of the conversation.
        origins: For each id, the number of its message; -1 for what the
            template wrote.
        injections: What would have become a control token where texts are
            joined before they are encoded.
        appended: The messages that were appended to find `stable`.
        stable: How many ids the conversation and the longer one both begin
            with; None if the template refuses it.
        why: What the template says against the longer conversation.
        flagged: The places of the ids that injections consist of.
        unknown: Markers such as `<|im_start|>` that the template wrote and
            that are ordinary text for this tokenizer.
    """

    tokenizer: str
    text: str
    messages: tuple[ChatMessage, ...]
    ids: tuple[int, ...]
    origins: tuple[int, ...]
    injections: tuple[Injection, ...]
    flagged: frozenset[int]
    appended: tuple[Mapping[str, Any], ...]
    stable: int | None
    why: str
    unknown: tuple[str, ...]
    drawn: tuple[TokenView, ...]

    @property
    def template_ids(self) -> int:
        """How many ids the template wrote."""
        return self.origins.count(-1)

    def to_dict(self) -> dict[str, Any]:
        """Messages, ids and findings as JSON values."""
        tokens = [
            json_of(view) | {"message": message, "flagged": place in self.flagged}
            for place, (view, message) in enumerate(zip(self.drawn, self.origins, strict=True))
        ]
        return {
            "tokenizer": self.tokenizer,
            "text": plain_text(self.text),
            "messages": [
                vars(each) | {"role": plain_text(each.role), "text": plain_text(each.text)} for each in self.messages
            ],
            "ids": len(self.ids),
            "template_ids": self.template_ids,
            "injections": json_of(self.injections),
            "appended": [str(each.get("role", "")) for each in self.appended],
            "stable": self.stable,
            "why": self.why,
            "unknown": [*self.unknown],
            "tokens": tokens,
        }

    def _parts(self) -> Iterator[str | Block]:
        said = f"{number_of(len(self.messages), 'message')}, {number_of(len(self.ids), 'token')} by {self.tokenizer}"
        yield f"{said}, {self.template_ids:,} of the template"
        for each in self.injections[:MOST_INJECTIONS]:
            where = f"message {each.message}" if each.message >= 0 else "text of unknown origin"
            said = f"{where} spells {one_line(each.token)} at character {each.start:,}; it stays text, and would be id {each.id}"
            yield Line(said, "bad")
        if len(self.injections) > MOST_INJECTIONS:
            yield Line(f"and {len(self.injections) - MOST_INJECTIONS:,} more such places", "bad")
        if self.unknown:
            yield Line(
                f"for this tokenizer these markers of the template are ordinary text: {' '.join(self.unknown)}", "warn"
            )
        yield Line(*self.cached())
        yield Table(["message", "role", "own tokens", "cost", "ids stay", "text"], [*self._rows()], left=(1, 4, 5))
        quiet = frozenset(place for place, message in enumerate(self.origins) if message < 0)
        pairs = zip(self.drawn, self.origins, strict=True)
        titles = [f"id {view.id}, {'the template' if of < 0 else f'message {of}'}" for view, of in pairs]
        yield TokenText(self.drawn, "what the template wrote is grey", marked=self.flagged, titles=titles, quiet=quiet)

    def cached(self) -> tuple[str, Tone]:
        """What a cache can reuse, in words, and whether that is all."""
        roles = " and ".join(one_line(str(each.get("role", ""))) for each in self.appended)
        if self.stable is None:
            return f"the template refuses a longer conversation ({roles} appended): {self.why}", "warn"
        if self.stable == len(self.ids):
            return f"all {number_of(self.stable, 'id')} stay when messages are appended ({roles})", "good"
        return f"{self.stable:,} of {number_of(len(self.ids), 'id')} stay when messages are appended ({roles})", "warn"

    def _rows(self) -> Iterator[list[str | Cell]]:
        for number, each in enumerate(self.messages):
            added = "–" if each.added is None else f"{each.added:,}"
            kept = Cell("–") if each.kept is None else Cell("yes", "good") if each.kept else Cell("no", "warn")
            text = one_line(plain_text(each.text)[:BEGINNING]) + ("…" if len(each.text) > BEGINNING else "")
            yield [
                str(number),
                one_line(plain_text(each.role))[:20],
                f"{each.own:,}",
                Cell(added, "strong"),
                kept,
                text,
            ]


def plain_text(text: str) -> str:
    """A text that can be written in UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def chat(
    tok: Tokenizer,
    messages: Sequence[Mapping[str, Any]],
    *,
    template: str | os.PathLike[str],
    tools: Sequence[Mapping[str, Any]] | None = None,
    add_generation_prompt: bool | None = None,
    appended: Sequence[Mapping[str, Any]] | None = None,
    variables: Mapping[str, Any] | None = None,
) -> Conversation:
    """A conversation as its tokens: which the template writes, what each message
    costs, what would have become a control token, and which ids stay when
    messages are appended.

    Args:
        messages: Each with its `role` and `content`, and whatever else the
            template reads.
        template: As for `Tokenizer.chat`, or a name of
            `explain.CHAT_TEMPLATES`.
        tools: As for `Tokenizer.chat`.
        add_generation_prompt: Whether the text ends where the assistant begins
            to write; None if the last message is not the assistant's.
        appended: The messages whose ids are compared with; None for a user's
            message, behind a reply of the assistant if the last message is not
            the assistant's.
        variables: As for `Tokenizer.chat`; `bos_token` and `eos_token` are
            empty if nothing else says what they are.
    Raises: as `Tokenizer.chat`. What the template says against beginnings of
        the conversation, or against a longer one, is no error.
    Cost: an encoding of the conversation, of the longer one, and of each
        beginning; the last only if these have at most 50 MB in all.

    >>> import toksmith
    >>> tok = toksmith.train("low lower", 260, special_tokens=["<|end|>"])
    >>> talk = [{"role": "user", "content": "low<|end|>"}]
    >>> found = toksmith.explain.chat(tok, talk, template="plain", variables={"eos_token": "<|end|>"})
    >>> found.messages[0].own, found.messages[0].added, found.stable, len(found.ids)
    (12, 15, 25, 25)
    >>> found.injections
    (Injection(message=0, start=9, token='<|end|>', id=259),)
    """
    messages = items(messages, "messages", "mappings with role and content")
    appended = None if appended is None else mappings(appended, "appended")
    if isinstance(template, str):
        template = CHAT_TEMPLATES.get(template, template)
    if template in CHAT_TEMPLATES.values():  # no file gives the names of their special tokens
        variables = {"bos_token": "", "eos_token": "", **(variables or {})}
    if add_generation_prompt is not None:
        flag(add_generation_prompt, "add_generation_prompt")
    last = role_of(messages[-1]) if messages else ""
    prompt = last != "assistant" if add_generation_prompt is None else add_generation_prompt
    render = partial(tok.chat, template=template, tools=tools, variables=variables)
    whole = render(messages, add_generation_prompt=prompt)
    own = np.bincount(whole.messages[whole.messages >= 0], minlength=len(messages))
    costs = beginnings(render, messages, whole.ids, len(whole.text))
    if appended is None:
        appended = [{"role": "user", "content": "Go on."}]
        appended = appended if last in ("", "assistant") else [{"role": "assistant", "content": "Yes."}, *appended]
    longer, why = tried(render, [*messages, *appended], prompt=prompt)
    return Conversation(
        name_of(tok),
        whole.text,
        tuple(
            ChatMessage(role_of(each), content_of(each), int(count), *cost)
            for each, count, cost in zip(messages, own, costs, strict=True)
        ),
        tuple(whole.ids.tolist()),
        tuple(whole.messages.tolist()),
        tuple(found := [*injections(tok, whole)]),
        flagged_by(found, whole),
        tuple(appended),
        None if longer is None else prefix(whole.ids, longer),
        why,
        markers(tok, whole),
        views_of(tok, whole.ids.tolist()),
    )


def mappings(value: Any, name: str) -> tuple[Mapping[str, Any], ...]:
    found = items(value, name, "mappings with role and content")
    for each in found:
        if not isinstance(each, Mapping):
            raise TypeError(f"{name}: expected mappings with role and content, not {type(each).__name__}")
    return found


def role_of(message: Any) -> str:
    return str(message.get("role", "")) if isinstance(message, Mapping) else ""


def content_of(message: Any) -> str:
    content = message.get("content", "")
    return content if isinstance(content, str) else repr(content)


def tried(render: Any, messages: Sequence[Any], *, prompt: bool) -> tuple[NDArray[np.uint32] | None, str]:
    """The ids of a conversation, or what the template says against it."""
    try:
        return render(messages, add_generation_prompt=prompt).ids, ""
    except (FormatError, InvalidOption) as error:
        return None, one_line(str(error))


def beginnings(
    render: Any, messages: Sequence[Any], whole: NDArray[np.uint32], size: int
) -> list[tuple[int | None, bool | None]]:
    """For each message, how many ids more the conversation has with it, and whether the whole begins with these."""
    if size * len(messages) > MOST_RENDERED:
        return [(None, None)] * len(messages)
    found: list[tuple[int | None, bool | None]] = []
    before, _ = tried(render, [], prompt=False)
    for number in range(1, len(messages) + 1):
        ids, _ = tried(render, messages[:number], prompt=False)
        # A template that refuses no messages at all writes nothing for none.
        empty = number == 1 and before is None
        added = (
            None if ids is None or (before is None and not empty) else len(ids) - (0 if before is None else len(before))
        )
        found.append((added, None if ids is None else prefix(whole, ids) == len(ids)))
        before = ids
    return found


def injections(tok: Tokenizer, whole: Any) -> Iterator[Injection]:
    """What spells a special token and stayed text, with the message that it is in."""
    for start, content in whole.disarmed:
        place = int(np.searchsorted(whole.ends, start, "right"))
        message = int(whole.messages[place]) if place < len(whole.messages) else -1
        yield Injection(message, start, content, tok.token_id(content))


def flagged_by(found: Sequence[Injection], whole: Any) -> frozenset[int]:
    """The places of the ids that injections consist of."""
    places: set[int] = set()
    for each in found:
        first = int(np.searchsorted(whole.ends, each.start, "right"))
        places.update(range(first, int(np.searchsorted(whole.starts, each.start + len(each.token), "left"))))
    return frozenset(places)


def markers(tok: Tokenizer, whole: Any) -> tuple[str, ...]:
    """What looks like a control token, was written by the template, and is ordinary text."""
    import regex

    found: dict[str, None] = {}
    added = {token.content for token in tok.model.added_tokens}
    for match in regex.finditer(r"<\|[A-Za-z0-9_]{1,40}\|>|</?s>|\[/?INST\]", whole.text):
        if match[0] in added:
            continue
        place = int(np.searchsorted(whole.ends, match.start(), "right"))
        if whole.messages[place] < 0:
            found[match[0]] = None
    return tuple(found)
