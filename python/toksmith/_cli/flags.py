"""Rewrites messages of the library for a shell: flags in place of Python's argument names."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping

import click

import toksmith

from .._base.paths import nearest_name_hint

# `name='value'`, `name=['value']`, `name=True`, `name=5`, or `name=` alone.
SAID = re.compile(r"(?<![\w.-])([a-z_]+)=(?:'([^']*)'|\['([^']*)'\]|(True|\.\.\.)|([\w.]+)|)")

# The name of an argument that cannot be an English word.
ALONE = re.compile(r"(?<![\w.'/-])[a-z]+(?:_[a-z]+)+(?![\w'/=])")

# Shell words for functions, and for arguments that are flags of no command or of another command.
SHELL = {
    "toksmith.formats()": "'toksmith list formats'",
    "toksmith.encodings()": "'toksmith list encodings'",
    "toksmith.patterns()": "the library, such as cl100k",
    "toksmith.corpus.plan or `": "`",
    "force=True": "--force",
    "give format=": "give --to",
    "with format=": "with 'toksmith convert --from FORMAT'",
}

# Flags that take no value.
WITH_NONE = ("--pattern", "--superword-pattern", "--digits")

# The flag for each kind of unknown name.
KINDS = {"format of files of ids": "to", "runner": "run", "pattern": "pattern"}


def in_flags(text: str, flags: Mapping[str, str]) -> str:
    """The text with arguments written as flags, where they have one.

    >>> in_flags("merges=5 needs min_count=, not format='x'", {"merges": "--merges", "min_count": "--min-count"})
    "--merges 5 needs --min-count, not format='x'"
    """

    def flag(match: re.Match[str]) -> str:
        name, quoted, in_list, true, plain = match.groups()
        if name not in flags:
            return match[0]
        value = quoted or in_list or plain
        return flags[name] if true or value is None else f"{flags[name]} {'none' if value == 'None' else value}"

    for python, shell in SHELL.items():
        text = text.replace(python, shell)
    if "raw" in flags:
        text = text.replace("open it and pass its bytes", "read its bytes with --raw")
    return ALONE.sub(lambda match: flags.get(match[0], match[0]), SAID.sub(flag, text))


def usage_of(error: Exception, flags: Mapping[str, str]) -> click.BadParameter | None:
    """A usage error if a flag has a value that it cannot take; None for any other error."""
    if isinstance(error, toksmith.errors.InvalidOption) and error.argument in flags:
        flag = flags[error.argument]
        allowed = in_flags(re.sub(r"\bNone\b", "none" if flag in WITH_NONE else "no value", error.allowed), flags)
        if type(error.value).__name__ == "Unset":
            message = f"is missing; expected {allowed}"
        else:
            message = f"expected {allowed}" + (f", not {error.value!r:.200}" if is_shell_value(error.value) else "")
        return click.BadParameter(message, param_hint=flag)
    if isinstance(error, toksmith.errors.UnknownName):
        if (name := KINDS.get(error.kind, "")) in flags:
            return click.BadParameter(unknown_name_message(error), param_hint=flags[name])
        if not looks_like_file(error) and (parameter := parameter_with_value(error.name)) is not None:
            hint = re.sub(
                r"[\[\].]",
                "",
                parameter.opts[0] if isinstance(parameter, click.Option) else parameter.human_readable_name,
            )
            return click.BadParameter(unknown_name_message(error), param_hint=hint)
    return None


def is_shell_value(value: object) -> bool:
    """Whether a shell can write a value."""
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def parameter_with_value(value: str) -> click.Parameter | None:
    """The parameter of the running command that has this value, or this among its values."""
    context = click.get_current_context(silent=True)
    for each in () if context is None else context.command.params:
        value_given = context.params.get(each.name or "") if context is not None else None
        if value_given == value or (isinstance(value_given, (tuple, list)) and value in value_given):
            return each
    return None


def looks_like_file(error: toksmith.errors.UnknownName) -> bool:
    """Whether an unknown name looks like a file: it has a folder, or a suffix of letters (unlike gpt-3.5)."""
    suffix = os.path.splitext(error.name)[1]
    return error.kind == "encoding or file" and ("/" in error.name or os.sep in error.name or suffix[1:].isalpha())


def unknown_name_message(error: toksmith.errors.UnknownName) -> str:
    """The message for an unknown name, with the words of a shell."""
    if looks_like_file(error):
        near = f"; did you mean {' or '.join(error.matches)}?" if error.matches else ""
        return f"{error.name:.200}: {os.strerror(errno.ENOENT)}{near}"
    return in_flags(str(error), {}).replace("encoding or file", "tokenizer or file")


def error_message(error: BaseException, flags: Mapping[str, str]) -> str:
    """The message of an error, with the words of a shell, on one line."""
    if isinstance(error, toksmith.errors.UnknownName):
        text = unknown_name_message(error)
    elif isinstance(error, toksmith.errors.SpecialTokenInText) and "special" in flags:
        where = f"at byte {error.offset}" + ("" if error.index is None else f" of text {error.index}")
        text = f"the text holds the special token {error.token!r:.200} {where}; "
        text += "--special text encodes it as ordinary text, --special allow turns it into its id"
    elif isinstance(error, (toksmith.ToksmithError, toksmith.errors.TrainingInterrupted, ImportError)):
        text = in_flags(str(error), flags)  # ImportError: an extra is not installed
    elif isinstance(error, OSError) and error.strerror:
        text = error.strerror if error.filename is None else f"{escape_file_name(error.filename)}: {error.strerror}"
        if error.errno == errno.ENOENT and isinstance(error.filename, str):
            text += nearest_name_hint(error.filename)
    elif isinstance(error, KeyboardInterrupt):
        text = "interrupted"
    else:
        text = f"unexpected {type(error).__name__}: {error} (--debug shows where)"
    return " ".join(text.splitlines())


def escape_file_name(name: object) -> str:
    """A file name on one line."""
    return str(name).replace("\n", "\\n")
