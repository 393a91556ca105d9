"""From the messages of a conversation to its ids; see the package."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..._base.arguments import items
from ..._base.errors import FormatError, InvalidOption
from ..._base.paths import read_file
from .ids import ChatEncoding, encoded
from .marked import TEMPLATE, UNKNOWN, Marked, Origin, everywhere, marked

__all__ = ["ConversationOptions", "conversation"]

CONFIG, MAP, TEMPLATE_FILE = "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"

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
    try:
        from .template import rendered
    except ImportError as error:
        raise ImportError(f"chat templates need {error.name}: pip install 'toksmith[chat]'") from error
    if asked.continue_final_message and asked.add_generation_prompt:
        raise InvalidOption("continue_final_message", True, "False with add_generation_prompt=True")
    if asked.continue_final_message and not messages:
        raise InvalidOption("messages", messages, "at least one message to continue")
    source, names = template_of(template)
    if not all(isinstance(name, str) for name in asked.variables):
        raise InvalidOption("variables", asked.variables, "names as keys, all of them str")
    given = {name: value for name, value in asked.variables.items() if value is not None}
    own = {
        "messages": followed("messages", messages, of_message),
        "tools": functions,
        "add_generation_prompt": asked.add_generation_prompt,
    }
    text = rendered(source, tokens_and_variables(tok, names, given) | own)
    if asked.continue_final_message:
        text = up_to(text, len(messages) - 1)
    roles = [str(message.get("role", "")) for message in messages]
    return encoded(tok, text, roles)


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


def template_of(template: str | os.PathLike[str]) -> tuple[str, dict[str, str]]:
    """The template's source, and the special tokens by the names that templates know them by (`bos_token`).

    Raises:
        FormatError: The file cannot be read, or holds no template.
    """
    if isinstance(template, str) and ("{" in template or "\n" in template):
        return template, {}
    path = Path(template)
    folder = path if path.is_dir() else path.parent
    config = settings(folder / CONFIG) | settings(folder / MAP)
    names = {name: content_of(value) for name, value in config.items() if name.endswith("_token")}
    if path.name == CONFIG or (path.is_dir() and not (path / TEMPLATE_FILE).exists()):
        source = only(config.get("chat_template"), folder / CONFIG)
    else:
        source = read_file(path / TEMPLATE_FILE if path.is_dir() else path).decode("utf-8", "replace")
    return source, {name: value for name, value in names.items() if value is not None}


def settings(path: Path) -> dict[str, Any]:
    """A file of settings; empty if there is none."""
    if not path.exists():
        return {}
    try:
        found = json.loads(read_file(path))
    except ValueError as error:
        raise FormatError(path, None, f"is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise FormatError(path, None, f"expected an object, found {type(found).__name__}")
    return found


def content_of(token: object) -> str | None:
    """The text of a special token, which is a string or an object."""
    content = token.get("content") if isinstance(token, Mapping) else token
    return content if isinstance(content, str) else None


def only(template: object, path: Path) -> str:
    """The template of a configuration; of several, the one called "default"."""
    if isinstance(template, list):
        named = {each.get("name"): each.get("template") for each in template if isinstance(each, Mapping)}
        template = named.get("default")
    if not isinstance(template, str):
        problem = "has no template; pass the template itself, or the path of a chat_template.jinja"
        raise FormatError(path, "chat_template", problem)
    return template
