"""A conversation as tokens: the template's tokens, the cost of each message, and the prefix that a cache can reuse.

Every figure comes from rendering. The cost of a message is the number of ids that it adds to the conversation. The stable prefix
is the common prefix of the ids of the conversation and the ids of a longer one. `Tokenizer.chat` renders templates and decides
which text becomes a special token.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base.arguments import check_flag, check_items
from .._base.wording import number_of
from .._render import Block, Cell, Line, Shown, Table, TokenText, TokenView, Tone, json_of, one_line
from .._sources.named import TokenizerSource, describe_tokenizer, resolve_tokenizer
from .._tokenizer.chat.conversation import CHAT_TEMPLATES
from .._tokenizer.session import common_prefix
from .._tokenizer.tokenizer import Tokenizer
from ..errors import FormatError, InvalidOption
from ._inputs import view_tokens

__all__ = ["CHAT_TEMPLATES", "ChatMessage", "ChatView", "Injection", "chat"]

MOST_RENDERED = 50_000_000  # characters of all beginnings of a conversation together
BEGINNING = 60  # characters of a message in a table
MOST_INJECTIONS = 20  # lines


@dataclass(frozen=True)
class ChatMessage:
    """One message of a conversation.

    Attributes:
        role, text: Its role, and its content as text.
        own: Number of ids that come from the message itself, including its
            role where the template writes it.
        added: Number of ids that the message adds to the conversation before
            it; None if the template refuses one of the two, or if the
            conversation is too long to render once for each message.
        kept: Whether the whole conversation begins with the ids of the
            conversation up to this message; None as for `added`.
        first, rewritten: As of `types.TurnEdit`: the number of the first id
            that changes when the message is added, and of the first earlier
            message that the template then writes differently; None as for
            `added`.
    """

    role: str
    text: str
    own: int
    added: int | None
    kept: bool | None
    first: int | None
    rewritten: int | None


@dataclass(frozen=True)
class Injection:
    """Text that spells an added token, special or not, and remained text.

    Attributes:
        message: The index of the message that holds it; -1 for other text that
            the template did not write itself.
        start: Offset in the text of the conversation, in characters.
        token, id: The added token, and the id that the text did not become.
    """

    message: int
    start: int
    token: str
    id: int


@dataclass(frozen=True, repr=False)
class ChatView(Shown):
    """A conversation as tokens.

    Attributes:
        text: The rendered conversation.
        messages: In order.
        ids: The ids of the conversation.
        origins: For each id, the index of its message; -1 for text of the
            template.
        mask: For each id, 1 if it is text of the assistant, else 0.
        injections: Text that would become control tokens in a program that
            joins the texts before it encodes them.
        appended: The messages that were appended to find `stable`.
        stable: Length of the common prefix of the ids of the conversation and
            the longer one; None if the template refuses the longer one.
        why: The reason why the template refuses it; else empty.
        flagged: The indices of the ids that injections consist of.
        unknown: Markers of the template, such as `<|im_start|>`, that are
            ordinary text for this tokenizer.
    """

    tokenizer: str
    text: str
    messages: tuple[ChatMessage, ...]
    ids: tuple[int, ...]
    origins: tuple[int, ...]
    mask: tuple[int, ...]
    injections: tuple[Injection, ...]
    flagged: frozenset[int]
    appended: tuple[Mapping[str, Any], ...]
    stable: int | None
    why: str
    unknown: tuple[str, ...]
    drawn: tuple[TokenView, ...]

    @property
    def template_ids(self) -> int:
        """The number of ids that come from the template."""
        return self.origins.count(-1)

    def to_dict(self) -> dict[str, Any]:
        """Messages, ids and findings as JSON values."""
        tokens = [
            json_of(view) | {"message": message, "mask": mask, "flagged": place in self.flagged}
            for place, (view, message, mask) in enumerate(zip(self.drawn, self.origins, self.mask, strict=True))
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
        sizes = f"{number_of(len(self.messages), 'message')}, {number_of(len(self.ids), 'token')} by {self.tokenizer}"
        yield f"{sizes}, {self.template_ids:,} of the template"
        for each in self.injections[:MOST_INJECTIONS]:
            where = f"message {each.message}" if each.message >= 0 else "text of unknown origin"
            warning = f"{where} spells {one_line(each.token)} at character {each.start:,}; it stays text, and would be id {each.id}"
            yield Line(warning, "bad")
        if len(self.injections) > MOST_INJECTIONS:
            yield Line(f"and {len(self.injections) - MOST_INJECTIONS:,} more such places", "bad")
        if self.unknown:
            yield Line(
                f"for this tokenizer these markers of the template are ordinary text: {' '.join(self.unknown)}", "warn"
            )
        for number, said in enumerate(self.messages):
            if said.rewritten is not None:
                change = f"message {number} changed the ids from {said.first:,} on: the template wrote message {said.rewritten} differently"
                yield Line(change, "warn")
        yield Line(*self.cached())
        yield Table(["message", "role", "own tokens", "cost", "ids stay", "text"], [*self._rows()], left=(1, 4, 5))
        quiet = frozenset(place for place, message in enumerate(self.origins) if message < 0)
        pairs = zip(self.drawn, self.origins, strict=True)
        titles = [f"id {view.id}, {'the template' if index < 0 else f'message {index}'}" for view, index in pairs]
        yield TokenText(self.drawn, "text of the template is grey", marked=self.flagged, titles=titles, quiet=quiet)

    def cached(self) -> tuple[str, Tone]:
        """A sentence about the ids that a cache can reuse, and its tone: good if
        they are all."""
        roles = " and ".join(one_line(str(each.get("role", ""))) for each in self.appended)
        if self.stable is None:
            return f"the template refuses a longer conversation ({roles} appended): {self.why}", "warn"
        if self.stable == len(self.ids):
            return f"all {number_of(self.stable, 'id')} stay when messages are appended ({roles})", "good"
        return f"{self.stable:,} of {number_of(len(self.ids), 'id')} stay when messages are appended ({roles})", "warn"

    def _rows(self) -> Iterator[list[str | Cell]]:
        for number, each in enumerate(self.messages):
            added = "–" if each.added is None else f"{each.added:,}"
            stays = Cell("–") if each.kept is None else Cell("yes", "good") if each.kept else Cell("no", "warn")
            text = one_line(plain_text(each.text)[:BEGINNING]) + ("…" if len(each.text) > BEGINNING else "")
            yield [
                str(number),
                one_line(plain_text(each.role))[:20],
                f"{each.own:,}",
                Cell(added, "strong"),
                stays,
                text,
            ]


def plain_text(text: str) -> str:
    """The text with lone surrogates escaped, so that UTF-8 can hold it."""
    return text.encode("utf-8", "backslashreplace").decode()


def chat(
    tok: TokenizerSource,
    messages: Sequence[Mapping[str, Any]],
    *,
    template: str | os.PathLike[str],
    tools: Sequence[Mapping[str, Any]] | None = None,
    add_generation_prompt: bool | None = None,
    appended: Sequence[Mapping[str, Any]] | None = None,
    variables: Mapping[str, Any] | None = None,
) -> ChatView:
    """A conversation as tokens: the tokens of the template, the cost of each
    message, text that spells control tokens, and the ids that stay when
    messages are appended.

    Args:
        messages: Each with its `role`, its `content`, and any other key that
            the template reads.
        template, tools: As for `Tokenizer.chat`.
        add_generation_prompt: Whether the text ends where the assistant begins
            to write; None if the last message is not the assistant's.
        appended: The messages that make the longer conversation; None for a
            user's message, after a reply of the assistant if the last message
            is not the assistant's.
        variables: As for `Tokenizer.chat`.
    Raises: as `Tokenizer.chat`. A template may refuse a beginning of the
        conversation, or the longer one, without an error.
    Cost: an encoding of the conversation and of the longer one, and the turns
        of a `Tokenizer.conversation` if the beginnings have at most 50 MB in
        all.

    >>> import toksmith
    >>> tok = toksmith.train("low lower", 260, special_tokens=["<|end|>"])
    >>> talk = [{"role": "user", "content": "low<|end|>"}]
    >>> found = toksmith.explain.chat(tok, talk, template="plain", variables={"eos_token": "<|end|>"})
    >>> found.messages[0].own, found.messages[0].added, found.stable, len(found.ids)
    (12, 15, 25, 25)
    >>> found.injections
    (Injection(message=0, start=9, token='<|end|>', id=259),)
    """
    tok = resolve_tokenizer(tok)
    messages = check_items(messages, "messages", "mappings with role and content")
    appended = None if appended is None else check_mappings(appended, "appended")
    if add_generation_prompt is not None:
        check_flag(add_generation_prompt, "add_generation_prompt")
    last = role_of(messages[-1]) if messages else ""
    prompt = last != "assistant" if add_generation_prompt is None else add_generation_prompt
    render = partial(tok.chat, template=template, tools=tools, variables=variables)
    whole = render(messages, add_generation_prompt=prompt)
    own = np.bincount(whole.messages[whole.messages >= 0], minlength=len(messages))
    start = partial(tok.conversation, template, tools=tools, variables=variables)
    costs = message_costs(start, messages, whole.ids, len(whole.text))
    if appended is None:
        appended = [{"role": "user", "content": "Go on."}]
        appended = appended if last in ("", "assistant") else [{"role": "assistant", "content": "Yes."}, *appended]
    longer, why = try_render(render, [*messages, *appended], prompt=prompt)
    return ChatView(
        describe_tokenizer(tok),
        whole.text,
        tuple(
            ChatMessage(role_of(each), content_of(each), int(count), *cost)
            for each, count, cost in zip(messages, own, costs, strict=True)
        ),
        tuple(whole.ids.tolist()),
        tuple(whole.messages.tolist()),
        tuple(whole.assistant_mask.tolist()),
        tuple(spellings := [*find_injections(tok, whole)]),
        ids_of_injections(spellings, whole),
        tuple(appended),
        None if longer is None else common_prefix(whole.ids, longer),
        why,
        find_markers(tok, whole),
        view_tokens(tok, whole.ids.tolist()),
    )


def check_mappings(value: Any, name: str) -> tuple[Mapping[str, Any], ...]:
    messages = check_items(value, name, "mappings with role and content")
    for each in messages:
        if not isinstance(each, Mapping):
            raise TypeError(f"{name}: expected mappings with role and content, not {type(each).__name__}")
    return messages


def role_of(message: Any) -> str:
    return str(message.get("role", "")) if isinstance(message, Mapping) else ""


def content_of(message: Any) -> str:
    content = message.get("content", "")
    if not isinstance(content, (list, tuple)):
        return content if isinstance(content, str) else repr(content)
    return "".join(part_text(each) for each in content)


def part_text(part: Any) -> str:
    """The text of a part of a content; of another part, its type in brackets."""
    if not isinstance(part, Mapping):
        return str(part)
    return text if isinstance(text := part.get("text"), str) else f"[{part.get('type', 'part')}]"


def try_render(render: Any, messages: Sequence[Any], *, prompt: bool) -> tuple[NDArray[np.uint32] | None, str]:
    """The ids of a conversation, or the reason why the template refuses it."""
    try:
        return render(messages, add_generation_prompt=prompt).ids, ""
    except (FormatError, InvalidOption) as error:
        return None, one_line(str(error))


def message_costs(start: Any, messages: Sequence[Any], whole: NDArray[np.uint32], size: int) -> list[tuple[Any, ...]]:
    """For each message, the fields of `ChatMessage` from `added` on."""
    if size * len(messages) > MOST_RENDERED:
        return [(None,) * 4] * len(messages)
    costs: list[tuple[Any, ...]] = []
    talk, edit = start(), None  # the conversation up to the message, and its change by the message
    before: int | None = 0  # the number of ids in front of the message; None if the template refused that conversation
    for number, message in enumerate(messages, 1):
        try:
            talk, edit = (start(messages=messages[:number]), None) if before is None else (talk, talk.add(message))
        except (FormatError, InvalidOption):
            costs.append((None,) * 4)
            before = None
            continue
        added = None if before is None else len(talk) - before
        changed = (None, None) if edit is None else (edit.first, edit.rewritten)
        costs.append((added, common_prefix(whole, talk.ids) == len(talk), *changed))
        before = len(talk)
    return costs


def find_injections(tok: Tokenizer, whole: Any) -> Iterator[Injection]:
    """The texts that spell an added token and remained text, with the message of each."""
    for start, content in whole.disarmed:
        place = int(np.searchsorted(whole.ends, start, "right"))
        message = int(whole.messages[place]) if place < len(whole.messages) else -1
        yield Injection(message, start, content, tok.token_id(content))


def ids_of_injections(found: Sequence[Injection], whole: Any) -> frozenset[int]:
    """The indices of the ids that injections consist of."""
    places: set[int] = set()
    for each in found:
        first = int(np.searchsorted(whole.ends, each.start, "right"))
        places.update(range(first, int(np.searchsorted(whole.starts, each.start + len(each.token), "left"))))
    return frozenset(places)


def find_markers(tok: Tokenizer, whole: Any) -> tuple[str, ...]:
    """Markers of the template that look like control tokens and are ordinary text for this tokenizer."""
    import regex

    unknown: dict[str, None] = {}
    added = {token.content for token in tok.model.added_tokens}
    for match in regex.finditer(r"<\|[A-Za-z0-9_]{1,40}\|>|</?s>|\[/?INST\]", whole.text):
        if match[0] in added:
            continue
        place = int(np.searchsorted(whole.ends, match.start(), "right"))
        if whole.messages[place] < 0:
            unknown[match[0]] = None
    return tuple(unknown)
