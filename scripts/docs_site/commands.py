"""The pages of the command line: the output of `toksmith COMMAND --help`, and the example of each row of `COMMANDS`.

It imports toksmith, whose compiled core must be built.
"""

from __future__ import annotations

from collections.abc import Iterator

from click.testing import CliRunner

from toksmith._cli import COMMANDS
from toksmith._cli.program import app

from .dialect import escape_text

__all__ = ["command_pages"]


def command_pages() -> Iterator[tuple[str, str, str]]:
    """The pages: the path on the site, the title in the navigation, and the Markdown of each."""
    about = "`toksmith COMMAND --help` prints the same pages, and so does the manual page, `man toksmith`."
    more = "[The command line](../shell.md) says where texts come from."
    rows = [f"| [`{row.name}`]({row.name.replace(' ', '-')}.md) | {escape_text(row.help)} |" for row in COMMANDS]
    table = "\n".join(["| command | what it does |", "|---|---|", *rows])
    yield "commands/index.md", "All commands", f"# Commands\n\n{about} {more}\n\n{table}\n\n{command_output('--help')}"
    for row in COMMANDS:
        name = row.name.replace(" ", "-")
        help = "--help-all" if row.name == "train" else "--help"
        example = f"```console\n$ {row.example}\n```"
        yield (
            f"commands/{name}.md",
            row.name,
            f"# toksmith {row.name}\n\n{example}\n\n{command_output(*row.name.split(), help)}",
        )


def command_output(*words: str) -> str:
    """The output of a command on 80 columns, as a block."""
    ran = CliRunner().invoke(app, words, env={"COLUMNS": "80", "NO_COLOR": "1"}, catch_exceptions=False)
    return f"```text\n{ran.output.strip()}\n```\n"
