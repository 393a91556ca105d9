"""Options about the program itself: --completion for a shell, and --man, the manual page from the rows of commands."""

from __future__ import annotations

import re

import click

import toksmith

from .commands import ABOUT, COMMANDS


def completion_lines(program: click.Command, shell: str) -> str:
    """The lines with which a shell completes commands."""
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)
    assert complete is not None, "click has all three"
    return complete(program, {}, "toksmith", "_TOKSMITH_COMPLETE").source()


def context_of_command(program: click.Command, name: str) -> click.Context:
    """The context of a command, which holds the command and its name."""
    context = click.Context(program, info_name="toksmith", **program.context_settings)
    for word in name.split(" "):
        assert isinstance(context.command, click.Group)
        command = context.command.get_command(context, word)
        assert command is not None
        context = click.Context(command, info_name=word, parent=context)
    return context


def manual_page(program: click.Command) -> str:
    """The manual page, in the markup of man(7)."""
    parts = [
        f'.TH TOKSMITH 1 "" "toksmith {toksmith.__version__}" "User Commands"',
        ".SH NAME",
        f"toksmith \\- {escape_roff(ABOUT[0].lower() + ABOUT[1:].rstrip('.'))}",
        ".SH SYNOPSIS\n.B toksmith\n.I COMMAND\n[\\fIOPTION\\fR]... [\\fIFILE\\fR]...",
        ".SH DESCRIPTION\nEach command reads stdin when no file is given, and takes \\fB\\-\\-help\\fR.",
        ".SH COMMANDS",
    ]
    for row in COMMANDS:
        own = context_of_command(program, row.name)
        parts.append(f".SS toksmith {escape_roff(' '.join([row.name, *own.command.collect_usage_pieces(own)]))}")
        parts += [escape_roff(part) + "\n" for part in re.split(r"\n\s*\n", own.command.help or "")]
        for each in own.command.get_params(own):
            if (record := each.get_help_record(own)) is not None:
                parts.append(f".TP\n\\fB{escape_roff(record[0])}\\fR\n{escape_roff(record[1])}")
        parts.append(f".PP\nExample:\n.PP\n.nf\n{escape_roff(row.example)}\n.fi")
    parts.append(".SH ENVIRONMENT\n.TP\n\\fBTOKSMITH_TOKENIZER\\fR\nThe tokenizer of commands without \\-t.")
    parts.append(".SH EXIT STATUS")
    for code, means in EXITS.items():
        parts.append(f".TP\n{code}\n{escape_roff(means)}")
    return "\n".join(parts) + "\n"


EXITS = {
    0: "Done.",
    1: "Refused or failed.",
    2: "Wrong usage.",
    3: "A check found a difference (convert, doctor, graft, corpus verify).",
    130: "Stopped by Ctrl-C.",
    143: "Stopped by SIGTERM.",
}


def escape_roff(text: str) -> str:
    """Escape text for man(7)."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("\n", " ")
    return f"\\&{text}" if text.startswith((".", "'")) else text
