"""The commands that are about the command line: help, completion; and the manual page, from the same rows."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence

import click
from click.exceptions import NoSuchCommand

import toksmith

from .._render import print_json
from .arguments import as_json
from .commands import ABOUT, COMMANDS, TWO_WORDS
from .program import Command, app, command

__all__ = ["completion", "help", "manual", "program_context"]

SHELLS = ("bash", "zsh", "fish")
NAMES = tuple(row.name for row in COMMANDS)


def names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """The words that may follow 'help' and the words before, to complete one."""
    before = ctx.params.get("words") or ()
    known = NAMES if not before else TWO_WORDS[1:] if [*before] == [TWO_WORDS[0]] else ()
    return [name for name in known if name.startswith(incomplete)]


@command("help")
@click.argument(
    "words",
    nargs=-1,
    metavar="[COMMAND]",
    shell_complete=names,
    help="The command to explain; without one, the list of commands.",
)
@click.option("--man", is_flag=True, help="Print the manual page, for man -l.")
@as_json
def help(words: list[str] | None, man: bool, as_json: bool) -> None:
    """Show the help of a command, or the manual page.

    The same as 'toksmith COMMAND --help'.
    """
    name = named(words or ())
    if man:
        if name is not None:
            raise click.BadParameter("prints the page of all commands; give no COMMAND", param_hint="--man")
        sys.stdout.write(manual())
        return
    if as_json:
        print_json([row._asdict() for row in COMMANDS if name in (None, row.name)])
        return
    context = program_context()
    if name is None:
        click.echo(app.get_help(context))
        return
    found = command_named(name)
    click.echo(found.get_help(click.Context(found, info_name=name, parent=context)))


def program_context() -> click.Context:
    """The context of the program, in which its commands say what they are."""
    return app.make_context("toksmith", [], resilient_parsing=True)


def command_named(name: str) -> Command:
    found = app.get_command(click.Context(app), name)
    assert isinstance(found, Command)
    return found


def named(words: Sequence[str]) -> str | None:
    """The command that words name; None without words.

    Raises:
        BadParameter: There is no such command, or there are more words.
    """
    if [*words] == [*TWO_WORDS]:
        return "-".join(words)
    if len(words) > 1:
        raise click.BadParameter(f"expected one command, not {' '.join(words)!r}", param_hint="COMMAND")
    if words and words[0] not in NAMES:
        raise NoSuchCommand(words[0], possibilities=NAMES)
    return words[0] if words else None


@command("completion")
@click.argument("shell", type=click.Choice(SHELLS), metavar="SHELL", help="bash, zsh or fish.")
@as_json
def completion(shell: str, as_json: bool) -> None:
    """Print the lines that let bash, zsh or fish complete commands.

    In ~/.bashrc: eval "$(toksmith completion bash)". In ~/.zshrc: eval "$(toksmith completion zsh)". For fish: toksmith
    completion fish > ~/.config/fish/completions/toksmith.fish.
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None, "click has all three"
    lines = made(app, {}, "toksmith", "_TOKSMITH_COMPLETE").source()
    if as_json:
        print_json({"shell": shell, "lines": lines})
    else:
        sys.stdout.write(lines)


def manual() -> str:
    """The manual page, in the language of man(7)."""
    parts = [
        f'.TH TOKSMITH 1 "" "toksmith {toksmith.__version__}" "User Commands"',
        ".SH NAME",
        f"toksmith \\- {roff(ABOUT[0].lower() + ABOUT[1:].rstrip('.'))}",
        ".SH SYNOPSIS\n.B toksmith\n.I COMMAND\n[\\fIOPTION\\fR]... [\\fIFILE\\fR]...",
        ".SH DESCRIPTION\nEach command reads stdin where no file is named, and takes \\fB\\-\\-help\\fR.",
        ".SH COMMANDS",
    ]
    context = program_context()
    for row in COMMANDS:
        found = command_named(row.name)
        own = click.Context(found, info_name=row.name, parent=context)
        parts.append(f".SS toksmith {roff(' '.join([row.name, *found.collect_usage_pieces(own)]))}")
        parts += [roff(part) + "\n" for part in re.split(r"\n\s*\n", found.help or "")]
        for each in found.get_params(own):
            if (record := each.get_help_record(own)) is not None:
                parts.append(f".TP\n\\fB{roff(record[0])}\\fR\n{roff(record[1])}")
        parts.append(f".PP\nExample:\n.PP\n.nf\n{roff(row.example)}\n.fi")
    parts.append(".SH ENVIRONMENT\n.TP\n\\fBTOKSMITH_TOKENIZER\\fR\nThe tokenizer of commands without \\-t.")
    parts.append(".SH EXIT STATUS")
    for code, means in EXITS.items():
        parts.append(f".TP\n{code}\n{roff(means)}")
    return "\n".join(parts) + "\n"


EXITS = {
    0: "Done.",
    1: "Refused or failed.",
    2: "Wrong usage.",
    3: "A check found a difference (convert, doctor, verify).",
    130: "Stopped by Ctrl-C.",
    143: "Stopped by SIGTERM.",
}


def roff(text: str) -> str:
    """Text that man(7) prints as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")
    return f"\\&{text}" if text.startswith((".", "'")) else text
