"""`Tokenizer.chat`: the ids of a conversation, as a chat template of Hugging Face writes it.

The rule: only text that the template itself spells can become a special token. Words of the messages, and text whose origin is
not known, are ordinary text, even where they spell one.

The walk: `chat` marks the messages with their numbers (`_marked.py`), the template writes one text of them (`_template.py`),
and the special tokens that trusted text spells are cut out of it; what is left is encoded with offsets (`_ids.py`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .._arguments import checked_late, items
from .._errors import InvalidOption
from ._ids import ChatEncoding, encoded
from ._marked import TEMPLATE, UNKNOWN, Marked, Origin, everywhere, marked
from ._source import template_of

__all__ = ["ChatEncoding", "chat"]

# Some templates make a special token of the role: `'<|' + message.role + '|>'`. These roles may be a part of one.
ROLES = {"system", "developer", "user", "assistant", "model", "tool", "function", "ipython", "environment"}


@checked_late
def chat(
    self: Any,
    messages: Sequence[Mapping[str, Any]],
    *,
    template: str | os.PathLike[str],
    tools: Sequence[Mapping[str, Any]] | None = None,
    add_generation_prompt: bool = False,
    continue_final_message: bool = False,
    variables: Mapping[str, Any] | None = None,
) -> ChatEncoding:
    """The ids of a conversation, as a chat template writes it; needs the
    extra `chat`.

    Only text that the template spells can become a special token. What the
    messages and the tools hold is ordinary text, even where it spells one,
    and so is text whose origin is not known (the template counted,
    formatted or asked for the date). Only a usual role (`user`,
    `assistant`, `tool`, …) may be a part of one, because templates write
    `'<|' + role + '|>'`. The ids equal those of
    `apply_chat_template` of transformers wherever no message spells a
    special token.

    Args:
        messages: Each with its `role` and `content`, and whatever else the
            template reads.
        template: The template itself (Jinja), or the path of one: a folder
            of a model, `tokenizer_config.json` or `chat_template.jinja`.
            The names of special tokens (`bos_token`, …) are read from
            `tokenizer_config.json` and `special_tokens_map.json` beside
            it.
        tools: Functions that the model may call, as JSON schemas.
        add_generation_prompt: Whether the text ends where the assistant
            begins to write.
        continue_final_message: Whether the text ends in the last message,
            so that the model continues it.
        variables: More that the template reads, such as `enable_thinking`.
            The special tokens that transformers would pass are trusted:
            `{"bos_token": "<s>"}`; everything else is not.
    Returns: the ids, the text, and for each id whether it is the
        assistant's and from which message it comes.
    Raises:
        FormatError: The template is no Jinja, or fails.
        InvalidOption: The template refuses the messages, or arguments
            contradict each other.
        ImportError: jinja2 is not installed.

    >>> import toksmith
    >>> tok = toksmith.train("low lower", 260, special_tokens=["<|end|>"])
    >>> template = "{% for m in messages %}{{ m.role + ': ' + m.content }}<|end|>{% endfor %}"
    >>> found = tok.chat([{"role": "user", "content": "low<|end|>"}], template=template)
    >>> found.text, found.ids.tolist().count(tok.token_id("<|end|>"))
    ('user: low<|end|><|end|>', 1)
    """
    messages = items(messages, "messages", "mappings with role and content")
    functions = None if tools is None else unknown(items(tools, "tools", "mappings, the JSON schemas of functions"))
    rendered = renderer()
    if continue_final_message and add_generation_prompt:
        raise InvalidOption("continue_final_message", True, "False with add_generation_prompt=True")
    if continue_final_message and not messages:
        raise InvalidOption("messages", messages, "at least one message to continue")
    source, names = template_of(template)
    if not all(isinstance(name, str) for name in variables or {}):
        raise InvalidOption("variables", variables, "names as keys, all of them str")
    given = {name: value for name, value in (variables or {}).items() if value is not None}
    specials = {token.content for token in self.model.added_tokens if token.special}
    known = {
        name: marked(value, TEMPLATE) if name.endswith("_token") and value in specials else unknown(value)
        for name, value in {**names, **given}.items()
    }
    text = rendered(
        source,
        {
            **known,
            "messages": [of_message(message, number) for number, message in enumerate(messages)],
            "tools": functions,
            "add_generation_prompt": add_generation_prompt,
        },
    )
    if continue_final_message:
        text = up_to(text, len(messages) - 1)
    roles = [str(message.get("role", "")) for message in messages]
    return encoded(self, text, roles)


def renderer() -> Any:
    """The function that renders a template.

    Raises:
        ImportError: jinja2 is not installed.
    """
    try:
        from ._template import rendered
    except ImportError as error:
        raise ImportError(f"chat templates need {error.name}: pip install 'toksmith[chat]'") from error
    return rendered


def of_message(message: Mapping[str, Any], number: int) -> Any:
    """A message whose texts know its number."""
    if not isinstance(message, Mapping):
        raise TypeError(
            f"messages: message {number}: expected a mapping with role and content, not {type(message).__name__}"
        )

    def text(part: str) -> Marked:
        return marked(part, Origin(message=number))

    def content(part: str) -> Marked:
        return marked(part, Origin(message=number, content=True))

    def role(part: str) -> Marked:
        return marked(part, Origin(trusted=part in ROLES, message=number))

    changes = {"content": content, "role": role}
    return {text(name): everywhere(value, changes.get(name, text)) for name, value in message.items()}


def unknown(value: Any) -> Any:
    """A value whose texts are not trusted."""
    return everywhere(value, lambda part: marked(part, UNKNOWN))


def up_to(text: Marked, number: int) -> Marked:
    """The text until the content of a message ends.

    Raises:
        InvalidOption: It does not occur.
    """
    ends = [end for end, origin in text.ends if origin.message == number and origin.content]
    if not ends:
        allowed = "False, because the template does not write the content of the last message"
        raise InvalidOption("continue_final_message", True, allowed)
    return text.part(0, ends[-1])
