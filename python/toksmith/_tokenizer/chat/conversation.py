"""From the messages of a conversation to its ids; see the package."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..._base.arguments import items
from ..._base.errors import InvalidOption
from .ids import ChatEncoding, encoded
from .marked import TEMPLATE, UNKNOWN, Marked, Origin, everywhere, marked
from .source import template_of

__all__ = ["ConversationOptions", "conversation"]

# Some templates make a special token of the role: `'<|' + message.role + '|>'`. These roles may be a part of one.
ROLES = {"system", "developer", "user", "assistant", "model", "tool", "function", "ipython", "environment"}

# The names by which transformers gives special tokens to a template. Others are trusted where a file of the model has them.
NAMES = {f"{name}_token" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")}


class ConversationOptions(NamedTuple):
    """What a call of `Tokenizer.chat` asks for."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] | None
    add_generation_prompt: bool
    continue_final_message: bool
    variables: Mapping[str, Any]


def conversation(tok: Any, template: str | os.PathLike[str], asked: ConversationOptions) -> ChatEncoding:
    """See `Tokenizer.chat`."""
    messages = items(asked.messages, "messages", "mappings with role and content")
    functions = None
    if asked.tools is not None:
        functions = followed("tools", items(asked.tools, "tools", "mappings, the JSON schemas of functions"), unknown)
    rendered = renderer()
    if asked.continue_final_message and asked.add_generation_prompt:
        raise InvalidOption("continue_final_message", True, "False with add_generation_prompt=True")
    if asked.continue_final_message and not messages:
        raise InvalidOption("messages", messages, "at least one message to continue")
    source, names = template_of(template)
    if not all(isinstance(name, str) for name in asked.variables):
        raise InvalidOption("variables", asked.variables, "names as keys, all of them str")
    given = {name: value for name, value in asked.variables.items() if value is not None}
    text = rendered(
        source,
        {
            **tokens_and_variables(tok, names, given),
            "messages": followed("messages", messages, of_message),
            "tools": functions,
            "add_generation_prompt": asked.add_generation_prompt,
        },
    )
    if asked.continue_final_message:
        text = up_to(text, len(messages) - 1)
    roles = [str(message.get("role", "")) for message in messages]
    return encoded(tok, text, roles)


def renderer() -> Any:
    """The function that renders a template.

    Raises:
        ImportError: jinja2 is not installed.
    """
    try:
        from .template import rendered
    except ImportError as error:
        raise ImportError(f"chat templates need {error.name}: pip install 'toksmith[chat]'") from error
    return rendered


def tokens_and_variables(tok: Any, names: Mapping[str, str], given: Mapping[str, Any]) -> dict[str, Any]:
    """What the template reads by name: `names` from files of the model, and what the caller gives. Only added tokens are trusted."""
    added = {token.content for token in tok.model.added_tokens}
    found = {}
    for name, value in {**names, **given}.items():
        usual = name in NAMES or names.get(name) == value
        token = usual and isinstance(value, str) and value in added
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
