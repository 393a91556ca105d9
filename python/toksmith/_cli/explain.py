"""The views of one text, its merges, a token, an edit and a conversation: the commands below `explain`."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

import toksmith
from toksmith import _render

from .arguments import FILE, STDIN, drop_none, special, with_report, with_text, with_tokenizer, with_tokenizers
from .inputs import load_tokenizer, load_tokenizers, parse_pairs, read_file_bytes, read_one_text
from .output import print_result
from .program import command

if TYPE_CHECKING:
    from toksmith._render import Shown


def print_view(view: Callable[[toksmith.Tokenizer, str | bytes], Shown], flags: dict[str, Any]) -> None:
    """Print the view of one text by one tokenizer."""
    data, tok, [name] = read_one_text(flags), load_tokenizer(flags), flags["tokenizer"]
    print_result(lambda: _render.with_tokenizer_name(view(tok, data), name), flags, len(data))


@command("explain text")
@with_tokenizer
@with_text
@special("text")
@with_report
def explain_text(**flags: Any) -> None:
    """Show a text as its tokens, with pieces and ids.

    A space is ·, a tab →, a newline ↵. <E2> is a byte of a split character, which is drawn whole where it ends.
    """
    print_view(lambda tok, data: toksmith.explain.text(tok, data, special=flags["special"]), flags)


@command("explain merges")
@with_tokenizer
@with_text
@with_report
def explain_merges(**flags: Any) -> None:
    """Merge a text step by step, as one piece."""
    print_view(toksmith.explain.merges, flags)


@command("explain lint")
@with_tokenizer
@with_text
@with_report
def explain_lint(**flags: Any) -> None:
    """Find invisible text that costs tokens."""
    print_view(toksmith.explain.lint, flags)


@command("explain inference")
@with_tokenizer
@with_text
@special("text")
@with_report
def explain_inference(**flags: Any) -> None:
    """Compare with the longest token at each place, and with the fewest tokens."""
    print_view(lambda tok, data: toksmith.explain.inference(tok, data, special=flags["special"]), flags)


@command("explain prompt")
@with_tokenizer
@with_text
@special("text")
@with_report
def explain_prompt(**flags: Any) -> None:
    """Show how the end of a prompt affects the next token, and the healed prompt."""
    print_view(lambda tok, data: toksmith.explain.prompt(tok, data, special=flags["special"]), flags)


@command("explain budget")
@with_tokenizers
@with_text
@click.option("--context", type=int, required=True, help="Number of tokens that the context holds.")
@special("text")
@with_report
def explain_budget(context: int, **flags: Any) -> None:
    """Show how much of a text fits into a number of tokens."""
    data, toks = read_one_text(flags), load_tokenizers(flags)
    view = toksmith.explain.budget
    print_result(lambda: view(toks, data, context=context, special=flags["special"]), flags, len(data))


@command("explain differences")
@with_tokenizers
@with_text
@special("text")
@with_report
def explain_differences(**flags: Any) -> None:
    """Show where tokenizers cut one text differently."""
    if len({*flags["tokenizer"]}) < 2:
        expected = "give two or more different tokenizers, such as -t gpt2 -t o200k_base"
        raise click.BadParameter(expected, param_hint="--tokenizer")
    data, toks = read_one_text(flags), load_tokenizers(flags)
    print_result(lambda: toksmith.explain.differences(toks, data, special=flags["special"]), flags, len(data))


@command("explain token")
@click.argument("id", type=int, help="The id of the token.")
@with_tokenizer
@click.option("--history", is_flag=True, help="Show the history of the token in training.")
@with_report
def explain_token(id: int, history: bool, **flags: Any) -> None:
    """Show one token by its id: its parts, and the tokens merged from it."""
    tok, [name] = load_tokenizer(flags), flags["tokenizer"]
    view = toksmith.explain.history if history else toksmith.explain.token
    print_result(lambda: _render.with_tokenizer_name(view(tok, id), name), flags, len(tok), "tokens")


@command("explain steps")
@with_text
@click.option("--merges", type=int, help="Maximum number of merges.", show_default="until no pair repeats")
@click.option(
    "--ties",
    type=click.Choice(["lowest_ids", "first_seen"]),
    help="Winner among pairs with equal counts: lowest_ids as in train, or first_seen as in the tutorials.",
    show_default="lowest_ids",
)
@with_report
def explain_steps(merges: int | None, ties: str | None, **flags: Any) -> None:
    """Train on a short text by hand: the count of each pair before each merge."""
    file, data = flags["file"], read_one_text(flags)
    data = data.encode() if isinstance(data, str) else data
    data = data.removesuffix(b"\n") if flags["text"] is None else data
    try:
        print_result(lambda: toksmith.explain.steps(data, **drop_none(merges=merges, ties=ties)), flags, len(data))
    except toksmith.errors.InvalidOption as error:
        if error.argument != "text" or flags["text"] is not None:
            raise
        raise toksmith.errors.CorpusError(
            "stdin" if file == STDIN else file, None, f"expected {error.allowed}"
        ) from None


@command("explain edits")
@with_tokenizers
@with_text
@click.option("--typed", help="Text to type.", show_default="e")
@click.option("--most", type=int, help="Maximum number of places.", show_default="500")
@click.option(
    "--at", type=int, help="Show one place: the tokens before and after, in characters.", show_default="all places"
)
@special("text")
@with_report
def explain_edits(typed: str | None, most: int | None, at: int | None, **flags: Any) -> None:
    """Show how typing a character changes the ids of a text.

    The result shows how much a cache of keys and values can reuse. The command types at each place of a short text, and
    at --most evenly spaced places of a longer one. The ids are always those of the whole text.
    """
    if at is not None and most is not None:
        raise click.BadParameter("give only one of --at and --most", param_hint="--most")
    data, toks, policy = read_one_text(flags), load_tokenizers(flags), flags["special"]
    content = data if isinstance(data, str) else as_text(data)
    if at is not None and not 0 <= at <= len(content):
        raise click.BadParameter(f"expected from 0 to {len(content):,}, not {at}", param_hint="--at")

    def result() -> Shown:
        if at is None:
            return toksmith.explain.edits(toks, content, special=policy, **drop_none(typed=typed, most=most))
        new = "e" if typed is None else typed
        typing: str | bytes = new if isinstance(content, str) else new.encode()
        return toksmith.explain.edit(toks, content, at, at, typing, special=policy)

    print_result(result, flags, len(data))


def as_text(data: bytes) -> str | bytes:
    """The text, so that places are characters; invalid UTF-8 stays bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


@command("explain chat", variables="--variable", add_generation_prompt="--prompt")
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
    help="Variable of the template as NAME=TEXT, such as bos_token; repeatable.",
    show_default="none",
)
@click.option(
    "--prompt/--no-prompt",
    default=None,
    help="End the text where the assistant begins to write.",
    show_default="if the last message is not the assistant's",
)
@with_report
def explain_chat(
    file: str, template: str, tools: str | None, variable: list[str] | None, prompt: bool | None, **flags: Any
) -> None:
    """Show a conversation as its tokens, as a chat template writes it.

    It shows the cost of each message, the text that would become a control token if texts were joined before encoding,
    and the ids that stay when messages are appended. It needs the extra 'chat'.
    """
    tok, [name] = load_tokenizer(flags), flags["tokenizer"]
    messages = read_json_list(file, "messages")
    functions = None if tools is None else read_json_list(tools, "--tools")
    variables = parse_pairs(variable, "--variable", "NAME=TEXT")
    more = drop_none(tools=functions, variables=variables, add_generation_prompt=prompt)
    print_result(
        lambda: _render.with_tokenizer_name(toksmith.explain.chat(tok, messages, template=template, **more), name),
        flags,
    )


def read_json_list(file: str, what: str) -> list[Any]:
    """The list in a JSON file, or the list `what` of its object."""
    try:
        value = json.loads(read_file_bytes(file))
    except (ValueError, RecursionError) as error:
        raise toksmith.errors.FormatError(file, None, f"is not JSON: {error}") from None
    if isinstance(value, dict) and isinstance(value.get(what), list):
        value = value[what]
    if not isinstance(value, list):
        raise toksmith.errors.FormatError(file, None, f"expected a list of objects, found {type(value).__name__}")
    return value
