"""The program itself: commands that are imported when they are called, their help, and errors of usage on one line."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import click
from click.exceptions import NoArgsIsHelpError, NoSuchOption

from . import ABOUT, COMMANDS, TWO_WORDS, Row
from .flags import tokenizer_among
from .meant import meant
from .params import Argument, flags_of, parameters_of
from .printed import print_lines, tell
from .run import runnable, told_output

__all__ = ["app", "command_of"]

SETTINGS = {"help_option_names": [], "max_content_width": 100}  # click's own --help first looks for a translation


def show_help(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the help."""
    if wanted and not ctx.resilient_parsing:
        sys.stdout.write(ctx.get_help() + "\n")
        ctx.exit()


EAGER: dict[str, Any] = {"is_flag": True, "expose_value": False, "is_eager": True}
HELP = click.Option(["-h", "--help"], callback=show_help, help="Show this message and exit.", **EAGER)
OF_COMMANDS = ("--debug", "--json", "--output", "--quiet", "--text", "--tokenizer", "--vocab-size")
DEBUG = click.Option(["--debug"], is_flag=True, help="Show the traceback of an error.")


class Command(click.Command):
    """One command, whose help has its arguments, its options under their headings, and its example."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click; an error names the help of this command, not that of the program."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def make_parser(self, ctx: click.Context) -> Any:
        """As click; a short flag is found at once. Else click first looks for long ones that are spelt like it."""
        parser = super().make_parser(ctx)
        vars(parser).get("_long_opt", {}).update(vars(parser).get("_short_opt", {}))
        return parser

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Arguments, then options by heading."""
        arguments: list[tuple[str, str]] = []
        panels: dict[str, list[tuple[str, str]]] = {}
        for each in self.get_params(ctx):
            said = getattr(each, "said", None)
            if isinstance(said, Argument):
                default = f"  [default: {said.default}]" if said.default else ""
                arguments.append((each.make_metavar(ctx), f"{said.help}{default}"))
            elif (record := each.get_help_record(ctx)) is not None:
                panels.setdefault(getattr(said, "panel", "") or "Options", []).append(record)
        for title, rows in [("Arguments", arguments), *panels.items()]:
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows, col_max=28)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The example, on one line however long it is."""
        if self.epilog:
            formatter.write(f"\n{self.epilog}\n")


def command_of(row: Row) -> Command:
    """The command of a row; imports its module."""
    function: Callable[..., None] = getattr(import_module(f".{row.module}", __package__), row.name.replace("-", "_"))
    parameters = parameters_of(function)
    parameters += [DEBUG, HELP]
    more = "\n".join(line.strip() for line in (function.__doc__ or "").split("\n")[1:])
    return Command(
        row.name,
        params=parameters,
        callback=runnable(function, flags_of(parameters)),
        help=f"{row.help}\n{more}".strip(),
        epilog=f"Example: {row.example}",
        context_settings=SETTINGS,
    )


class Program(click.Group):
    """All commands. A command's module is imported when the command is called, or its help is shown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of the table."""
        return [row.name for row in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        return next((command_of(row) for row in COMMANDS if row.name == cmd_name), None)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command of these words; 'explain steps' is the command 'explain-steps'."""
        if args[:2] == [*TWO_WORDS]:
            args = ["-".join(TWO_WORDS), *args[2:]]
        name = args[0]
        if (found := self.get_command(ctx, name)) is None and not name.startswith("-"):
            hint = did_you_mean(meant(name, self.list_commands(ctx)))
            if not hint and os.path.exists(name):
                hint = "; a file follows a command, such as: toksmith count FILE -t gpt2"
            raise click.UsageError(f"there is no command {name!r}{hint}")
        return (name, found, args[1:]) if found else super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table, from its rows alone."""
        with formatter.section("Commands"):
            formatter.write_dl([(row.name, row.help) for row in COMMANDS])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Where more is."""
        formatter.write("\n'toksmith help COMMAND' explains one; 'toksmith completion bash' completes them.\n")

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """The commands that begin like this, from their rows alone."""
        from click.shell_completion import CompletionItem

        found = [CompletionItem(row.name, help=row.help) for row in COMMANDS if row.name.startswith(incomplete)]
        return found or click.Command.shell_complete(self, ctx, incomplete)

    def make_context(self, *words: Any, **named: Any) -> click.Context:
        """The context of a command line; --help and --version print here."""
        with told_output():
            return super().make_context(*words, **named)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; the --help of a command prints here."""
        with told_output():
            return super().invoke(ctx)

    def main(self, args: Any = None, prog_name: str | None = None, *more: Any, **named: Any) -> Any:
        """Run the program and leave with its exit code."""
        named["standalone_mode"] = False
        try:
            code = super().main(args, "toksmith", *more, **named)
        except NoArgsIsHelpError as error:
            print(error.format_message(), file=sys.stderr, end="\n")
            sys.exit(2)
        except click.UsageError as error:
            tell(said(error))
            sys.exit(2)
        except (click.Abort, KeyboardInterrupt):
            tell("interrupted")
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


def said(error: click.UsageError) -> str:
    """An error of usage on one line: where, what was expected, and what to do."""
    ctx = error.ctx
    command = ctx.command_path if ctx is not None else "toksmith"
    where, text = "", error.message
    if isinstance(error, click.MissingParameter):
        where, text = hint(error), f"is missing; expected {expected(error.param)}{given_as_file(error)}"
    elif isinstance(error, click.BadParameter):
        where = hint(error)
    elif isinstance(error, NoSuchOption) and ctx is not None:
        known = [
            flag for each in ctx.command.get_params(ctx) if not getattr(each, "hidden", False) for flag in each.opts
        ]
        near = did_you_mean(meant(error.option_name, known))
        if ctx.parent is None and not near and (error.option_name in OF_COMMANDS or len(error.option_name) == 2):
            near = f"; options follow the command: toksmith COMMAND {error.option_name}"
        file = next((word for word in sys.argv[1:] if word.startswith(error.option_name) and os.path.exists(word)), "")
        text = f"there is no option {error.option_name}{near or (f'; the file is ./{file}' if file else '')}"
    elif isinstance(error, click.BadOptionUsage):
        text = f"{error.option_name} needs a value" if "requires an argument" in text else text.replace("Option ", "")
    elif text.startswith("Got unexpected extra argument"):
        text = f"too many arguments: {text.partition('(')[2].rstrip('.)')}"
    text = text.rstrip(".")
    return f"{where}{': ' if where and not text.startswith(('is ', 'needs ', 'requires ', 'cannot ')) else ' ' if where else ''}{text} (see {command} --help)"


def given_as_file(error: click.MissingParameter) -> str:
    """The tokenizer that was given as a file, where -t is missing."""
    if error.param is None or error.param.name != "tokenizer" or error.ctx is None:
        return ""
    found = tokenizer_among(error.ctx.params.get(name) for name in ("files", "file"))
    return f"; did you mean -t {found}?" if found else ""


def hint(error: click.BadParameter) -> str:
    """The flag or the name of the argument."""
    if error.param_hint is not None:
        return error.param_hint if isinstance(error.param_hint, str) else " or ".join(error.param_hint)
    if isinstance(error.param, click.Option):
        return next((flag for flag in error.param.opts if flag.startswith("--")), error.param.opts[0])
    info = getattr(error.param, "said", None)
    return (
        info.metavar
        if isinstance(info, Argument) and info.metavar
        else str(error.param and error.param.human_readable_name)
    )


def expected(parameter: click.Parameter | None) -> str:
    """What to give for a parameter that is missing."""
    info = getattr(parameter, "said", None)
    if info is None:
        return "a value"
    said = re.split(r"[.;]( |$)", info.help)[0]
    env = f", or set {info.envvar}" if getattr(info, "envvar", None) else ""
    return f"{said[:1].lower()}{said[1:]}{env}"


def did_you_mean(names: list[str]) -> str:
    return f"; did you mean {' or '.join(names)}?" if names else ""


def version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the version."""
    if wanted and not ctx.resilient_parsing:
        import toksmith

        print_lines(f"toksmith {toksmith.__version__}")
        ctx.exit()


app = Program(
    "toksmith",
    help=ABOUT,
    no_args_is_help=True,
    context_settings=SETTINGS,
    params=[
        click.Option(["-V", "--version"], callback=version, help="Print the version.", **EAGER),
        HELP,
    ],
)
