"""From the messages of a conversation to its ids; see the package."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, lru_cache, partial
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

from ..._base.arguments import check_flag, check_items, check_path, raise_wrong_type
from ..._base.paths import read_file
from ...errors import FormatError, InvalidOption, UnknownName
from ..results import Ragged
from .ids import ChatEncoding, Rendered, encode_chat, encode_chats
from .marked import TEMPLATE, UNKNOWN, Marked, Origin, map_texts, mark_text
from .parts import mark_content

__all__ = ["CHAT_TEMPLATES", "ConversationOptions", "encode_conversation", "encode_conversations"]

CONFIG, MAP, TEMPLATE_FILE = "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"

BLOCK = 1 << 21  # characters of conversations that are encoded together

# Some templates build a special token from the role: `'<|' + message.role + '|>'`. These roles can be part of such a token.
ROLES = {"system", "developer", "user", "assistant", "model", "tool", "function", "ipython", "environment"}

# The names of special tokens that transformers passes to a template. Other names are trusted if a file of the model has them.
NAMES = {f"{name}_token" for name in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")}

THINKING = ("reasoning_content", "thinking", "reasoning")  # the names of a message's thinking, the usual one first

# Templates of three kinds, written for this project. A model's own template comes with its tokenizer.
CHAT_TEMPLATES: Mapping[str, str] = MappingProxyType(
    {
        "chatml": "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}",
        "llama3": "{{ '<|begin_of_text|>' }}{% for m in messages %}{{ '<|start_header_id|>' + m.role + '<|end_header_id|>\n\n' + m.content | trim + '<|eot_id|>' }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}",
        "plain": "{% for m in messages %}{{ m.role + ': ' + m.content }}{{ eos_token }}{{ '\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ 'assistant:' }}{% endif %}",
    }
)


class ConversationOptions(NamedTuple):
    """The arguments of `Tokenizer.chat`."""

    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]] | None
    add_generation_prompt: bool
    continue_final_message: bool
    variables: Mapping[str, Any]


def encode_conversation(tok: Any, template: str | os.PathLike[str], options: ConversationOptions) -> ChatEncoding:
    """See `Tokenizer.chat`."""
    prepared = prepare_template(tok, template, options.tools, options.variables)
    return encode_chat(tok, *render_conversation(prepared, options))


def encode_conversations(
    tok: Any,
    conversations: Iterable[Sequence[Mapping[str, Any]]],
    template: Any,
    options: ConversationOptions,
    threads: int,
) -> Ragged:
    """See `Tokenizer.encode_chats`. While the core encodes conversations in a thread, the template renders the next ones."""
    prepared = prepare_template(tok, template, options.tools, options.variables)
    if not isinstance(conversations, Iterable):
        raise_wrong_type("conversations", "lists of messages", conversations)

    def rendered() -> Iterator[Rendered]:
        for number, messages in enumerate(conversations):
            try:
                yield render_conversation(prepared, options._replace(messages=messages))
            except (FormatError, InvalidOption) as error:
                raise InvalidOption(
                    "conversations", f"conversation {number}", f"what the template accepts; {error}"
                ) from error
            except TypeError as error:
                raise TypeError(f"conversations: conversation {number}: {error}") from error

    parts: list[Future[Ragged]] = []
    with ThreadPoolExecutor(1) as pool:
        for block in blocks_of(rendered()):
            if parts:
                parts[-1].result()
            parts.append(pool.submit(encode_chats, tok, block, threads))
    return Ragged.joined([part.result() for part in parts])


def blocks_of(chats: Iterable[Rendered]) -> Iterator[list[Rendered]]:
    """The chats in lists of about 2 million characters."""
    block: list[Rendered] = []
    size = 0
    for chat in chats:
        block.append(chat)
        size += len(chat[0])
        if size >= BLOCK:
            yield block
            block, size = [], 0
    yield block


def prepare_template(
    tok: Any, template: str | os.PathLike[str], tools: Sequence[Any] | None, extra: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    """The template's source, and its variables apart from those of one conversation."""
    functions = None
    if tools is not None:
        functions = add_origins(
            "tools", check_mappings(tools, "tools", "mappings, the JSON schemas of functions"), mark_tool
        )
    source, names = read_template(template)
    if not isinstance(extra, Mapping):
        raise_wrong_type("variables", "a mapping of names to values", extra)
    if not all(isinstance(name, str) for name in extra):
        raise InvalidOption("variables", extra, "names as keys, all of them str")
    variables = {name: value for name, value in extra.items() if value is not None}
    return source, tokens_and_variables(tok, names, variables) | {"tools": functions}


@cache
def need_templates() -> ModuleType:
    """The module that renders templates.

    Raises:
        ImportError: A package that templates need is not installed.
    """
    try:
        from . import template
    except ImportError as error:
        raise ImportError(f"chat templates need {error.name}: pip install 'toksmith[chat]'") from error
    return template


def check_mappings(value: Any, name: str, expected: str) -> tuple[Any, ...]:
    """The mappings of an iterable; one alone is refused, because its items are its keys."""
    if isinstance(value, Mapping):
        raise_wrong_type(name, expected, value, "pass a list")
    return check_items(value, name, expected)


def render_conversation(prepared: tuple[str, dict[str, Any]], options: ConversationOptions) -> Rendered:
    """The text that a template writes for the messages, and their roles."""
    messages = check_mappings(options.messages, "messages", "mappings with role and content")
    template = need_templates()
    check_flag(options.add_generation_prompt, "add_generation_prompt")
    check_flag(options.continue_final_message, "continue_final_message")
    if options.continue_final_message and options.add_generation_prompt:
        raise InvalidOption("continue_final_message", True, "False with add_generation_prompt=True")
    if options.continue_final_message and not messages:
        raise InvalidOption("messages", messages, "at least one message to continue")
    source, variables = prepared
    variables = variables | {"add_generation_prompt": options.add_generation_prompt}
    marked = add_origins("messages", messages, mark_message)

    def render(messages: list[Any]) -> Marked:
        text: Marked = template.render_template(source, variables | {"messages": messages})
        return text

    text = continue_last(render, marked) if options.continue_final_message else render(marked)
    return text, [str(message.get("role", "")) for message in messages]


def tokens_and_variables(tok: Any, names: Mapping[str, str], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The template's variables: `names` from files of the model, and those of the caller. Only added tokens are trusted."""
    variables = {}
    for name, value in {**names, **extra}.items():
        is_usual = name in NAMES or names.get(name) == value
        is_token = is_usual and isinstance(value, str) and value in tok._added_contents
        variables[name] = mark_text(value, TEMPLATE) if is_token else add_origins("variables", [value], mark_unknown)[0]
    return variables


def add_origins(argument: str, values: Sequence[Any], follow: Callable[[Any, int], Any]) -> list[Any]:
    """The values, with origins for their texts.

    Raises:
        InvalidOption: A value contains itself, or is nested too deeply.
    """
    try:
        return [follow(value, number) for number, value in enumerate(values)]
    except RecursionError:
        allowed = "values that are not nested so deeply and do not contain themselves"
        raise InvalidOption(argument, "...", allowed) from None


def mark_message(message: Mapping[str, Any], number: int) -> Any:
    """A message, with its number as the origin of its texts.

    As in transformers 5.23, a field that is None is left out, and templates find the thinking under two of its names.
    """
    if type(message) is not dict and not isinstance(message, Mapping):
        raise TypeError(
            f"messages: message {number}: expected a mapping with role and content, not {type(message).__name__}"
        )

    if isinstance(message.get("content"), bytes):
        raise_wrong_type(f"messages: message {number}: content", "str, or a list of parts", message["content"])
    content, role, other, names = origins_of(number)
    mark_other = partial(mark_text, origin=other)
    marked: dict[Any, Any] = {}
    for name, value in message.items():
        if value is None:
            continue
        key = names.get(name) or map_texts(name, mark_other)
        if name == "role" and isinstance(value, str) and value in ROLES:
            marked[key] = mark_word(value, role)
        elif name != "content":
            marked[key] = map_texts(value, mark_other)
        elif type(value) is str:
            marked[key] = mark_text(value, content)
        else:
            mark = partial(map_texts, change=partial(mark_text, origin=content))
            marked[key] = mark_content(value, mark) if isinstance(value, (list, tuple)) else mark(value)
    thinking = next((marked[name] for name in THINKING if name in marked), None)
    return marked if thinking is None else {"thinking": thinking, **marked, "reasoning_content": thinking}


@lru_cache(maxsize=4096)
def origins_of(number: int) -> tuple[Origin, Origin, Origin, dict[str, Marked]]:
    """The origins of a message's content, usual role, and other texts; and its usual names of fields."""
    other = Origin(message=number)
    names = {name: mark_text(name, other) for name in ("content", "role")}
    return Origin(message=number, content=True), Origin(True, number), other, names


@lru_cache(maxsize=4096)
def mark_word(word: str, origin: Origin) -> Marked:
    """`mark_text` for words that recur."""
    return mark_text(word, origin)


def mark_tool(tool: Any, number: int) -> Any:
    """The schema of a function, with untrusted texts."""
    if not isinstance(tool, Mapping):
        raise_wrong_type(f"tools: tool {number}", "a mapping, the JSON schema of a function", tool)
    return mark_unknown(dict(tool))


def mark_unknown(value: Any, _number: int = 0) -> Any:
    """A value with untrusted texts."""
    return map_texts(value, partial(mark_text, origin=UNKNOWN))


def continue_last(render: Callable[[list[Any]], Marked], messages: list[Any]) -> Marked:
    """The text up to the end of the last message's content; if that is empty, up to the place of a content.

    Raises:
        InvalidOption: The last message has no content, or the template does not write it.
    """
    number, content = len(messages) - 1, messages[-1].get("content")
    if content is None:
        raise InvalidOption("messages", f"message {number} without content", "a content to continue; it can be empty")
    text = render(messages)
    ends = [end for end, origin in text.ends if origin.message == number and origin.content]
    if not ends and isinstance(content, str) and not content.strip():
        here = mark_text("\ufdd0", Origin(message=number, content=True))
        text = render([*messages[:-1], {**messages[-1], "content": here}])
        ends = [text.rfind(here)] if any(origin.message == number and origin.content for _, origin in text.ends) else []
    if not ends:
        allowed = "False, because the template does not write the content of the last message"
        raise InvalidOption("continue_final_message", True, allowed)
    return text.part(0, ends[-1])


def read_template(template: str | os.PathLike[str]) -> tuple[str, dict[str, str]]:
    """The template's source, and the special tokens by their names in templates (`bos_token`).

    Raises:
        FormatError: The file cannot be read, or has no template.
        UnknownName: There is no template and no file of this name.
    """
    if isinstance(template, str) and template in CHAT_TEMPLATES:
        return CHAT_TEMPLATES[template], {}
    if isinstance(template, str) and ("{" in template or "\n" in template):
        return template, {}
    path = Path(check_path(template, "template"))
    if isinstance(template, str) and re.fullmatch(r"[\w-]*", template) and not (template and path.exists()):
        raise UnknownName("chat template or file", template, CHAT_TEMPLATES)
    folder = path if path.is_dir() else path.parent
    config = read_settings(folder / CONFIG) | read_settings(folder / MAP)
    names = {name: special_token_text(value) for name, value in config.items() if name.endswith("_token")}
    if path.name == CONFIG or (path.is_dir() and not (path / TEMPLATE_FILE).exists()):
        source = pick_template(config.get("chat_template"), folder / CONFIG)
    else:
        source = read_file(path / TEMPLATE_FILE if path.is_dir() else path).decode("utf-8", "replace")
    return source, {name: value for name, value in names.items() if value is not None}


def read_settings(path: Path) -> dict[str, Any]:
    """The settings in a file; empty if the file does not exist."""
    if not path.exists():
        return {}
    try:
        value = json.loads(read_file(path))
    except ValueError as error:
        raise FormatError(path, None, f"is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise FormatError(path, None, f"expected an object, found {type(value).__name__}")
    return value


def special_token_text(token: object) -> str | None:
    """The text of a special token, which is a string or an object in the file."""
    content = token.get("content") if isinstance(token, Mapping) else token
    return content if isinstance(content, str) else None


def pick_template(template: object, path: Path) -> str:
    """The template of a configuration; among several, the template named "default"."""
    if isinstance(template, list):
        by_name = {entry.get("name"): entry.get("template") for entry in template if isinstance(entry, Mapping)}
        template = by_name.get("default")
    if not isinstance(template, str):
        problem = "has no template; pass the template itself, or the path of a chat_template.jinja"
        raise FormatError(path, "chat_template", problem)
    return template
