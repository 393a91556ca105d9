"""The commands that are about the command line: help, completion; and the manual page, from the same rows."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Annotated

import click

import toksmith

from . import ABOUT, COMMANDS, TWO_WORDS
from . import params as cli
from .arguments import Json
from .meant import meant
from .params import Argument
from .printed import print_json

__all__ = ["completion", "help", "manual"]

SHELLS = ("bash", "zsh", "fish")
NAMES = tuple(row.name for row in COMMANDS)


def names(before: Sequence[str]) -> Sequence[str]:
    """The words that may follow 'help' and these words, to complete one."""
    if before:
        return TWO_WORDS[1:] if [*before] == [TWO_WORDS[0]] else ()
    return NAMES


def help(
    command: Annotated[
        list[str] | None, cli.Argument("COMMAND", "The command to explain.", "the list of commands", after=names)
    ] = None,
    *,
    man: Annotated[bool, cli.Option("--man", help="Print the manual page, for man -l.")] = False,
    as_json: Json = False,
) -> None:
    """Show the help of a command, or the manual page.

    The same as 'toksmith COMMAND --help'.
    """
    from .program import app

    name = named(command or ())
    if man:
        if name is not None:
            raise cli.BadParameter("prints the page of all commands; give no COMMAND", param_hint="--man")
        sys.stdout.write(manual())
        return
    if as_json:
        print_json([row._asdict() for row in COMMANDS if name in (None, row.name)])
        return
    context = app.make_context("toksmith", [], resilient_parsing=True)
    if name is None:
        sys.stdout.write(app.get_help(context) + "\n")
        return
    found = app.get_command(context, name)
    assert found is not None, "named() refuses others"
    own = found.make_context(name, [], parent=context, resilient_parsing=True)
    sys.stdout.write(found.get_help(own) + "\n")


def named(words: Sequence[str]) -> str | None:
    """The command that words name; None without words.

    Raises:
        BadParameter: There is no such command, or there are more words.
    """
    if [*words] == [*TWO_WORDS]:
        return "-".join(words)
    if len(words) > 1:
        raise cli.BadParameter(f"expected one command, not {' '.join(words)!r}", param_hint="COMMAND")
    if words and words[0] not in NAMES:
        near = meant(words[0], NAMES)
        said = f"there is no command {words[0]!r}" + (f"; did you mean {' or '.join(near)}?" if near else "")
        raise cli.BadParameter(said, param_hint="COMMAND")
    return words[0] if words else None


def completion(
    shell: Annotated[str, cli.Argument("SHELL", "bash, zsh or fish.", after=lambda _: SHELLS)],
    *,
    as_json: Json = False,
) -> None:
    """Print the lines that let bash, zsh or fish complete commands.

    In ~/.bashrc: eval "$(toksmith completion bash)". In ~/.zshrc: eval "$(toksmith completion zsh)". For fish: toksmith
    completion fish > ~/.config/fish/completions/toksmith.fish.
    """
    from click.shell_completion import get_completion_class

    from .program import app

    if shell not in SHELLS or (made := get_completion_class(shell)) is None:
        raise cli.BadParameter(f"expected bash, zsh or fish, not {shell!r}", param_hint="SHELL")
    lines = made(app, {}, "toksmith", "_TOKSMITH_COMPLETE").source()
    if as_json:
        print_json({"shell": shell, "lines": lines})
    else:
        sys.stdout.write(lines)


def manual() -> str:
    """The manual page, in the language of man(7)."""
    from .program import app, command_of

    parts = [
        f'.TH TOKSMITH 1 "" "toksmith {toksmith.__version__}" "User Commands"',
        ".SH NAME",
        f"toksmith \\- {roff(ABOUT[0].lower() + ABOUT[1:].rstrip('.'))}",
        ".SH SYNOPSIS\n.B toksmith\n.I COMMAND\n[\\fIOPTION\\fR]... [\\fIFILE\\fR]...",
        ".SH DESCRIPTION\nEach command reads stdin where no file is named, and takes \\fB\\-\\-help\\fR.",
        ".SH COMMANDS",
    ]
    context = click.Context(app, info_name="toksmith")
    for row in COMMANDS:
        command = command_of(row)
        own = command.make_context(row.name, [], parent=context, resilient_parsing=True)
        parts.append(f".SS toksmith {roff(' '.join([row.name, *command.collect_usage_pieces(own)]))}")
        parts += [roff(part) + "\n" for part in re.split(r"\n\s*\n", command.help or "")]
        for each in command.get_params(own):
            info = getattr(each, "said", None)
            record = (each.make_metavar(own), info.help) if isinstance(info, Argument) else each.get_help_record(own)
            if record is not None:
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
