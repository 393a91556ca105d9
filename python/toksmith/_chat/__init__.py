"""`Tokenizer.chat`: the ids of a conversation, as a chat template of Hugging Face writes it.

The rule: only text that the template itself spells can become a special token. Words of the messages, and text whose origin is
not known, are ordinary text, even where they spell one.

The walk: `chat` marks the messages with their numbers (`_marked.py`), the template writes one text of them (`_template.py`),
and the special tokens that trusted text spells are cut out of it; what is left is encoded with offsets (`_ids.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._arguments import checked_late, items
from .._errors import InvalidOption
from ._ids import ChatEncoding, encoded
from ._marked import TEMPLATE, UNKNOWN, Marked, Origin, everywhere, marked

__all__ = ["ChatEncoding", "chat"]

# Some templates make a special token of the role: `'<|' + message.role + '|>'`. These roles may be a part of one.
ROLES = {"system", "developer", "user", "assistant", "model", "tool", "function", "ipython", "environment"}

# The names by which transformers gives special tokens to a template. Others are trusted where a file of the model has them.
NAMES = {f"{name}_token" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")}


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
            Special tokens by their usual names are trusted
            (`{"bos_token": "<s>"}`), and those that a file of the model
            calls so; everything else is not.
    Returns: the ids, the text, and for each id whether it is the
        assistant's and from which message it comes.
    Raises:
        FormatError: The template is no Jinja, or fails.
        InvalidOption: The template refuses the messages, arguments
            contradict each other, or a message spells a special token that
            the ordinary vocabulary of the model spells too, so that it
            cannot stay text.
        ImportError: jinja2 is not installed.

    >>> import toksmith
    >>> tok = toksmith.train("low lower", 260, special_tokens=["<|end|>"])
    >>> template = "{% for m in messages %}{{ m.role + ': ' + m.content }}<|end|>{% endfor %}"
    >>> found = tok.chat([{"role": "user", "content": "low<|end|>"}], template=template)
    >>> found.text, found.ids.tolist().count(tok.token_id("<|end|>"))
    ('user: low<|end|><|end|>', 1)
    """
    messages = items(messages, "messages", "mappings with role and content")
    functions = None
    if tools is not None:
        functions = followed("tools", items(tools, "tools", "mappings, the JSON schemas of functions"), unknown)
    rendered = renderer()
    if continue_final_message and add_generation_prompt:
        raise InvalidOption("continue_final_message", True, "False with add_generation_prompt=True")
    if continue_final_message and not messages:
        raise InvalidOption("messages", messages, "at least one message to continue")
    from ._source import template_of  # not above: tokenizers load sooner without it

    source, names = template_of(template)
    if not all(isinstance(name, str) for name in variables or {}):
        raise InvalidOption("variables", variables, "names as keys, all of them str")
    given = {name: value for name, value in (variables or {}).items() if value is not None}
    text = rendered(
        source,
        {
            **tokens_and_variables(self, names, given),
            "messages": followed("messages", messages, of_message),
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


def tokens_and_variables(tok: Any, names: Mapping[str, str], given: Mapping[str, Any]) -> dict[str, Any]:
    """What the template reads by name: `names` from files of the model, and what the caller gives. Only special tokens are trusted."""
    specials = {token.content for token in tok.model.added_tokens if token.special}
    found = {}
    for name, value in {**names, **given}.items():
        usual = name in NAMES or names.get(name) == value
        token = usual and isinstance(value, str) and value in specials
        found[name] = marked(value, TEMPLATE) if token else followed("variables", [value], unknown)[0]
    return found


def followed(argument: str, values: Sequence[Any], follow: Callable[[Any, int], Any]) -> list[Any]:
    """The values, with texts that know where they come from.

    Raises:
        InvalidOption: One contains itself, or lists in lists without end.
    """
    try:
        return [follow(value, number) for number, value in enumerate(values)]
    except RecursionError:
        allowed = "values that are not nested so deeply and do not contain themselves"
        raise InvalidOption(argument, "...", allowed) from None


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


def unknown(value: Any, _number: int = 0) -> Any:
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
