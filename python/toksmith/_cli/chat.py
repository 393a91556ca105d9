"""The command that shows a conversation as its tokens: chat."""

from __future__ import annotations

import json
from typing import Any

import click

import toksmith
from toksmith import _render

from .arguments import FILE, STDIN, given, with_report, with_tokenizer
from .inputs import file_bytes, loaded
from .printed import print_shown
from .program import command

__all__ = ["chat"]


@command("chat", variables="--variable", add_generation_prompt="--prompt")
@click.argument(
    "file",
    type=FILE,
    metavar="[MESSAGES]",
    default=STDIN,
    help="JSON file with a list of messages; '-' or none reads stdin.",
)
@with_tokenizer
@click.option(
    "--template",
    required=True,
    help="Folder of a model, its tokenizer_config.json, a .jinja file, or chatml, llama3 or plain.",
)
@click.option("--tools", type=FILE, help="JSON file with a list of functions.", show_default="none")
@click.option(
    "--variable",
    multiple=True,
    help="NAME=TEXT that the template reads, such as bos_token; repeatable.",
    show_default="none",
)
@click.option(
    "--prompt/--no-prompt",
    default=None,
    help="End where the assistant begins to write.",
    show_default="if the last message is not the assistant's",
)
@with_report
def chat(
    file: str, template: str, tools: str | None, variable: list[str] | None, prompt: bool | None, **asked: Any
) -> None:
    """Show a conversation as its tokens, as a chat template writes it.

    It says what each message costs, which text would have become a control token where texts are joined before they are
    encoded, and which ids stay when messages are appended. It needs the extra 'chat'.
    """
    tok, [name] = loaded(asked), asked["tokenizer"]
    messages = listed(file, "messages")
    functions = None if tools is None else listed(tools, "--tools")
    variables = dict(map(name_and_text, variable)) if variable else None
    more = given(tools=functions, variables=variables, add_generation_prompt=prompt)
    print_shown(lambda: _render.called(toksmith.explain.chat(tok, messages, template=template, **more), name), asked)


def listed(file: str, what: str) -> list[Any]:
    """A list in a JSON file, or the one in its object."""
    try:
        found = json.loads(file_bytes(file))
    except (ValueError, RecursionError) as error:
        raise toksmith.FormatError(file, None, f"is not JSON: {error}") from None
    if isinstance(found, dict) and isinstance(found.get(what), list):
        found = found[what]
    if not isinstance(found, list):
        raise toksmith.FormatError(file, None, f"expected a list of objects, found {type(found).__name__}")
    return found


def name_and_text(given: str) -> tuple[str, str]:
    """The parts of a NAME=TEXT option."""
    name, equals, text = given.partition("=")
    if not (name and equals):
        raise click.BadParameter(f"{given!r} is not NAME=TEXT", param_hint="--variable")
    return name, text
