"""The commands that say why: explain (a text, or one token), explain-steps (a training by hand), compare, stability, chat."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

import toksmith
from toksmith import _render

from .arguments import FILE, STDIN, given, of_text, special, with_report, with_text, with_tokenizer, with_tokenizers
from .commands import TWO_WORDS
from .inputs import file_bytes, loaded, loaded_all, one_text, pairs
from .printed import print_shown
from .program import command

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from toksmith._render import Shown

__all__ = ["chat", "compare", "explain", "explain_steps", "stability"]


def steps_or_file(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The second word of 'explain steps', where it has begun; else files."""
    from click.shell_completion import CompletionItem  # only completion needs it

    found = [CompletionItem(word) for word in TWO_WORDS[1:] if incomplete and word.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


@command("explain")
@click.argument(
    "file",
    type=FILE,
    metavar="[FILE]",
    default=STDIN,
    help="Text file; '-' or none reads stdin. A file named steps is ./steps.",
    shell_complete=steps_or_file,
)
@with_tokenizer
@of_text
@click.option("--merges", is_flag=True, help="Merge the text step by step, as one piece.")
@click.option(
    "--id", type=int, help="Show one token: its parts, and the tokens merged from it.", show_default="show the text"
)
@click.option("--history", is_flag=True, help="With --id: the history of the token in training.")
@click.option(
    "--context", type=int, help="Show how much of the text fits into this many tokens.", show_default="show all of it"
)
@click.option("--lint", is_flag=True, help="Find invisible text that costs tokens.")
@click.option("--inference", is_flag=True, help="Compare with the longest token at each place, and the fewest tokens.")
@special("text")
@with_report
def explain(
    *, merges: bool, id: int | None, history: bool, context: int | None, lint: bool, inference: bool, **asked: Any
) -> None:
    """Explain a text, its merges step by step, or one token by its id."""
    ways = {"--merges": merges, "--id": id is not None, "--context": context is not None, "--lint": lint}
    chosen = [option for option, was_given in (ways | {"--inference": inference}).items() if was_given]
    if len(chosen) > 1:
        raise click.BadParameter(f"give only one of {' and '.join(chosen)}", param_hint=chosen[-1])
    if history and id is None:
        raise click.BadParameter("requires --id", param_hint="--history")
    if id is not None and (asked["text"] is not None or asked["file"] != STDIN):
        raise click.BadParameter("cannot be combined with a text", param_hint="--id")
    tok, [name], policy = loaded(asked), asked["tokenizer"], asked["special"]
    data = b"" if id is not None else one_text(asked)

    def made() -> Shown:
        if id is not None:
            return (toksmith.explain.history if history else toksmith.explain.tree)(tok, id)
        if merges:
            return toksmith.explain.merges(tok, data)
        if context is not None:
            return toksmith.explain.budget({name: tok}, data, context=context, special=policy)
        if inference:
            return toksmith.explain.inference(tok, data, special=policy)
        return toksmith.explain.lint(tok, data) if lint else toksmith.explain.pieces(tok, data, special=policy)

    size, unit = (len(data), "bytes") if id is None else (len(tok), "tokens")
    print_shown(lambda: _render.called(made(), name), asked, size, unit)


@command("explain-steps")
@with_text
@click.option("--merges", type=int, help="Number of merges at most.", show_default="until no pair repeats")
@click.option(
    "--ties",
    type=click.Choice(["lowest_ids", "first_seen"]),
    help="Of pairs with the same count: lowest_ids as in train, or first_seen as in the tutorials.",
    show_default="lowest_ids",
)
@with_report
def explain_steps(merges: int | None, ties: str | None, **asked: Any) -> None:
    """Train on a short text by hand: the count of each pair before each merge."""
    file, data = asked["file"], one_text(asked)
    data = data.encode() if isinstance(data, str) else data
    data = data.removesuffix(b"\n") if asked["text"] is None else data
    try:
        print_shown(lambda: toksmith.explain.steps(data, **given(merges=merges, ties=ties)), asked, len(data))
    except toksmith.InvalidOption as error:
        if error.argument != "text" or asked["text"] is not None:
            raise
        raise toksmith.CorpusError("stdin" if file == STDIN else file, None, f"expected {error.allowed}") from None


@command("compare")
@with_tokenizers
@with_text
@special("text")
@with_report
def compare(**asked: Any) -> None:
    """Compare tokenizers on one text: how many tokens, and where they cut differently."""
    if len({*asked["tokenizer"]}) < 2:
        said = "give two or more different tokenizers, such as -t gpt2 -t o200k_base"
        raise click.BadParameter(said, param_hint="--tokenizer")
    toks, data = loaded_all(asked), one_text(asked)
    print_shown(lambda: toksmith.explain.compare(toks, data, special=asked["special"]), asked, len(data))


@command("stability")
@with_tokenizers
@with_text
@click.option("--typed", help="What is typed.", show_default="e")
@click.option("--most", type=int, help="Maximum number of places.", show_default="500")
@click.option(
    "--at", type=int, help="Show one place: the tokens before and after, in characters.", show_default="all places"
)
@special("text")
@with_report
def stability(typed: str | None, most: int | None, at: int | None, **asked: Any) -> None:
    """Show what typing a character changes in the ids of a text.

    It says what a cache of keys and values can reuse. It types at each place of a short text, and at --most places of a
    longer one, at equal distances. The ids are those of the whole texts.
    """
    if at is not None and most is not None:
        raise click.BadParameter("give only one of --at and --most", param_hint="--most")
    toks, data, policy = loaded_all(asked), one_text(asked), asked["special"]
    content = data if isinstance(data, str) else as_text(data)
    if at is not None and not 0 <= at <= len(content):
        raise click.BadParameter(f"expected from 0 to {len(content):,}, not {at}", param_hint="--at")

    def made() -> Shown:
        if at is None:
            return toksmith.explain.stability(toks, content, special=policy, **given(typed=typed, most=most))
        new = "e" if typed is None else typed
        typing: str | bytes = new if isinstance(content, str) else new.encode()
        return toksmith.explain.edit(toks, content, at, at, typing, special=policy)

    print_shown(made, asked, len(data))


def as_text(data: bytes) -> str | bytes:
    """The text, whose places are characters; bytes that are not UTF-8 stay bytes."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


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
    variables = pairs(variable, "--variable", "NAME=TEXT")
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
