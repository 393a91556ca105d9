"""The pages of the command line, from the rows of `COMMANDS` and the parameters that click is given: what --help prints.

It imports toksmith, whose compiled core must be built. A page has the usage, the arguments, the options under their
headings, and the example of the row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from toksmith._cli import COMMANDS, TWO_WORDS
from toksmith._cli.about import EXITS, program_context
from toksmith._cli.program import app

from .dialect import safe

__all__ = ["command_pages"]


def command_pages() -> Iterator[tuple[str, str, str]]:
    """The pages: for each its path on the site, its title in the navigation, and its Markdown."""
    yield "commands/index.md", "All commands", overview()
    context = program_context()
    for row in COMMANDS:
        command = app.get_command(context, row.name)
        assert command is not None
        own = click.Context(command, info_name=row.name, parent=context)
        yield f"commands/{row.name}.md", words_of(row.name), page(command, own, row.example)


def words_of(name: str) -> str:
    """A command as it is written in a shell."""
    return " ".join(TWO_WORDS) if name == "-".join(TWO_WORDS) else name


def overview() -> str:
    """The page of all commands, with what the exit codes mean."""
    rows = [f"| [`{words_of(row.name)}`]({row.name}.md) | {safe(row.help)} |" for row in COMMANDS]
    codes = [f"| {code} | {safe(means)} |" for code, means in EXITS.items()]
    about = (
        "`toksmith COMMAND --help` prints the same pages, and so does the manual page, `man toksmith`. "
        "[The command line](../shell.md) says where texts come from."
    )
    parts = [
        "# Commands",
        about,
        table("command", "what it does", rows),
        "## Exit codes",
        table("code", "means", codes),
    ]
    return "\n\n".join(parts) + "\n"


def page(command: click.Command, context: click.Context, example: str) -> str:
    """The page of a command."""
    usage = " ".join([f"toksmith {words_of(context.info_name or '')}", *command.collect_usage_pieces(context)])
    paragraphs = [safe(text.replace("\n", " ")) for text in re.split(r"\n\s*\n", command.help or "")]
    parts = [f"# toksmith {words_of(context.info_name or '')}", *paragraphs, fenced("text", usage)]
    parts.append(fenced("console", f"$ {example}"))
    parts += [
        f"## {title}\n\n{table(title.lower(), 'meaning', rows)}" for title, rows in headings(command, context).items()
    ]
    return "\n\n".join(parts) + "\n"


def headings(command: click.Command, context: click.Context) -> dict[str, list[str]]:
    """The rows of the tables by their headings: arguments first, then options as --help has them."""
    found: dict[str, list[str]] = {"Arguments": []}
    for each in command.get_params(context):
        title = "Arguments" if isinstance(each, click.Argument) else getattr(each, "panel", "Options")
        if (record := each.get_help_record(context)) is not None:
            found.setdefault(title, []).append(row(*record))
    return {title: rows for title, rows in found.items() if rows}


def row(name: str, meaning: str) -> str:
    """One row: the flags as code, and what they mean with the default on a line of its own."""
    meaning, *notes = re.split(r"  (?=\[(?:default|env var|required))", meaning)
    lines = [safe(meaning), *(f"<small>{safe(note[1:-1])}</small>" for note in notes)]
    return f"| <code>{safe(name)}</code> | {'<br>'.join(line for line in lines if line)} |"


def table(first: str, second: str, rows: list[str]) -> str:
    """A table of two columns."""
    return "\n".join([f"| {first} | {second} |", "|---|---|", *rows])


def fenced(language: str, text: str) -> str:
    """A block of code."""
    return f"```{language}\n{text}\n```"
