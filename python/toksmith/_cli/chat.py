"""The command that shows a conversation as its tokens: chat."""

from __future__ import annotations

import json
from typing import Annotated, Any

import toksmith
from toksmith import _render

from . import params as cli
from .arguments import STDIN, FilePattern, FileSpecials, Json, Name, Quiet, file_bytes, given, loaded, stdin_bytes
from .progress import working
from .shown import Html, Svg, prepared

__all__ = ["chat"]


def chat(
    file: Annotated[
        str, cli.Argument("MESSAGES", "JSON file with a list of messages; '-' reads stdin.", "stdin")
    ] = STDIN,
    *,
    tokenizer: Name,
    template: Annotated[
        str,
        cli.Option(help="Folder of a model, its tokenizer_config.json, a .jinja file, or chatml, llama3 or plain."),
    ],
    tools: Annotated[str | None, cli.Option(help="JSON file with a list of functions.", default="none")] = None,
    variable: Annotated[
        list[str] | None,
        cli.Option(
            help="NAME=TEXT that the template reads, such as bos_token; repeatable.",
            argument="variables",
            default="none",
        ),
    ] = None,
    prompt: Annotated[
        bool | None,
        cli.Option(
            "--prompt/--no-prompt",
            help="End where the assistant begins to write.",
            argument="add_generation_prompt",
            default="if the last message is not the assistant's",
        ),
    ] = None,
    pattern: FilePattern = None,
    special_token: FileSpecials = None,
    html: Html = None,
    svg: Svg = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show a conversation as its tokens, as a chat template writes it.

    It says what each message costs, which text would have become a control token where texts are joined before they are
    encoded, and which ids stay when messages are appended. It needs the extra 'chat'.
    """
    tok = loaded(tokenizer, pattern, special_token)
    messages = listed(file, "messages")
    functions = None if tools is None else listed(tools, "--tools")
    variables = dict(map(name_and_text, variable)) if variable else None
    with working(None, as_json=as_json, quiet=quiet):
        more = given(tools=functions, variables=variables, add_generation_prompt=prompt)
        found = toksmith.explain.chat(tok, messages, template=template, **more)
        show = prepared(_render.called(found, tokenizer), as_json=as_json, html=html, svg=svg)
    show()


def listed(file: str, what: str) -> list[Any]:
    """A list in a JSON file, or the one in its object."""
    data = stdin_bytes() if file == STDIN else file_bytes(file)
    try:
        found = json.loads(data)
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
        raise cli.BadParameter(f"{given!r} is not NAME=TEXT", param_hint="--variable")
    return name, text
