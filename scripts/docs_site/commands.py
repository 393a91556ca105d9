"""The pages of the command line: what `toksmith COMMAND --help` prints, and the example of each row of `COMMANDS`.

It imports toksmith, whose compiled core must be built.
"""

from __future__ import annotations

from collections.abc import Iterator

from click.testing import CliRunner

from toksmith._cli import COMMANDS
from toksmith._cli.program import app

from .dialect import safe

__all__ = ["command_pages"]


def command_pages() -> Iterator[tuple[str, str, str]]:
    """The pages: for each its path on the site, its title in the navigation, and its Markdown."""
    about = "`toksmith COMMAND --help` prints the same pages, and so does the manual page, `man toksmith`."
    more = "[The command line](../shell.md) says where texts come from."
    rows = [f"| [`{row.name}`]({row.name}.md) | {safe(row.help)} |" for row in COMMANDS]
    table = "\n".join(["| command | what it does |", "|---|---|", *rows])
    yield "commands/index.md", "All commands", f"# Commands\n\n{about} {more}\n\n{table}\n\n{printed('--help')}"
    for row in COMMANDS:
        example = f"```console\n$ {row.example}\n```"
        yield (
            f"commands/{row.name}.md",
            row.name,
            f"# toksmith {row.name}\n\n{example}\n\n{printed(row.name, '--help')}",
        )


def printed(*words: str) -> str:
    """What a command prints on 80 columns, as a block."""
    ran = CliRunner().invoke(app, words, env={"COLUMNS": "80", "NO_COLOR": "1"}, catch_exceptions=False)
    return f"```text\n{ran.output.strip()}\n```\n"
