"""What the library says of arguments, in the words of a shell: flags in place of Python's names."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping

import click

import toksmith

from .._base.paths import nearest

__all__ = ["in_flags", "reason", "usage_of"]

# `name='value'`, `name=['value']`, `name=True`, `name=5`, or `name=` alone.
SAID = re.compile(r"(?<![\w.-])([a-z_]+)=(?:'([^']*)'|\['([^']*)'\]|(True|\.\.\.)|([\w.]+)|)")

# The name of an argument that no word of English looks like.
ALONE = re.compile(r"(?<![\w.'/-])[a-z]+(?:_[a-z]+)+(?![\w'/=])")

# What a shell has in place of functions and arguments that are flags of no command, or of another one.
SHELL = {
    "toksmith.formats()": "'toksmith formats'",
    "toksmith.encodings()": "'toksmith encodings'",
    "toksmith.patterns()": "the library, such as cl100k",
    "toksmith.plan or `": "`",
    "force=True": "--force",
    "give format=": "give --to",
    "with format=": "with 'toksmith convert --from FORMAT'",
}

# The flags of which none is a value.
WITH_NONE = ("--pattern", "--superword-pattern", "--digits")

# The flags of the kinds of names that can be unknown.
KINDS = {"format of files of ids": "to", "runner": "run", "pattern": "pattern"}


def in_flags(text: str, flags: Mapping[str, str]) -> str:
    """The text, where arguments that have a flag are written as flags.

    >>> in_flags("merges=5 needs min_count=, not format='x'", {"merges": "--merges", "min_count": "--min-count"})
    "--merges 5 needs --min-count, not format='x'"
    """

    def flag(match: re.Match[str]) -> str:
        name, quoted, listed, true, plain = match.groups()
        if name not in flags:
            return match[0]
        value = quoted or listed or plain
        return flags[name] if true or value is None else f"{flags[name]} {'none' if value == 'None' else value}"

    for python, shell in SHELL.items():
        text = text.replace(python, shell)
    if "raw" in flags:
        text = text.replace("open it and pass its bytes", "read its bytes with --raw")
    return ALONE.sub(lambda match: flags.get(match[0], match[0]), SAID.sub(flag, text))


def usage_of(error: Exception, flags: Mapping[str, str]) -> click.BadParameter | None:
    """An error of usage for a value that a flag cannot have; None for any other error."""
    if isinstance(error, toksmith.InvalidOption) and error.argument in flags:
        flag = flags[error.argument]
        allowed = in_flags(re.sub(r"\bNone\b", "none" if flag in WITH_NONE else "no value", error.allowed), flags)
        if type(error.value).__name__ == "Unset":
            said = f"is missing; expected {allowed}"
        else:
            said = f"expected {allowed}" + (f", not {error.value!r:.200}" if plain(error.value) else "")
        return click.BadParameter(said, param_hint=flag)
    if isinstance(error, toksmith.UnknownName):
        if (name := KINDS.get(error.kind, "")) in flags:
            return click.BadParameter(name_said(error), param_hint=flags[name])
        if not means_file(error) and (parameter := given_as(error.name)) is not None:
            hint = re.sub(
                r"[\[\].]",
                "",
                parameter.opts[0] if isinstance(parameter, click.Option) else parameter.human_readable_name,
            )
            return click.BadParameter(name_said(error), param_hint=hint)
    return None


def plain(value: object) -> bool:
    """Whether a shell can write a value."""
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def given_as(value: str) -> click.Parameter | None:
    """The parameter of the command that runs whose value is this, or one of whose values."""
    context = click.get_current_context(silent=True)
    for each in () if context is None else context.command.params:
        given = context.params.get(each.name or "") if context is not None else None
        if given == value or (isinstance(given, (tuple, list)) and value in given):
            return each
    return None


def means_file(error: toksmith.UnknownName) -> bool:
    """Whether an unknown name is that of a file: it has a folder, or a suffix of letters (not that of gpt-3.5)."""
    suffix = os.path.splitext(error.name)[1]
    return error.kind == "encoding or file" and ("/" in error.name or os.sep in error.name or suffix[1:].isalpha())


def name_said(error: toksmith.UnknownName) -> str:
    """That a name is unknown, in the words of a shell."""
    if means_file(error):
        near = f"; did you mean {' or '.join(error.matches)}?" if error.matches else ""
        return f"{error.name:.200}: {os.strerror(errno.ENOENT)}{near}"
    return in_flags(str(error), {}).replace("encoding or file", "tokenizer or file")


def reason(error: BaseException, flags: Mapping[str, str]) -> str:
    """The message of an error, in the words of a shell, on one line."""
    if isinstance(error, toksmith.UnknownName):
        text = name_said(error)
    elif isinstance(error, toksmith.SpecialTokenInText) and "special" in flags:
        where = f"at byte {error.offset}" + ("" if error.index is None else f" of text {error.index}")
        text = f"the text holds the special token {error.token!r:.200} {where}; "
        text += "--special text encodes it as ordinary text, --special allow turns it into its id"
    elif isinstance(error, (toksmith.ToksmithError, toksmith.TrainingInterrupted, ImportError)):
        text = in_flags(str(error), flags)  # ImportError: of an extra that is not installed
    elif isinstance(error, OSError) and error.strerror:
        text = error.strerror if error.filename is None else f"{escaped(error.filename)}: {error.strerror}"
        if error.errno == errno.ENOENT and isinstance(error.filename, str):
            text += nearest(error.filename)
    elif isinstance(error, KeyboardInterrupt):
        text = "interrupted"
    else:
        text = f"unexpected {type(error).__name__}: {error} (--debug shows where)"
    return " ".join(text.splitlines())


def escaped(name: object) -> str:
    """The name of a file on one line."""
    return str(name).replace("\n", "\\n")
