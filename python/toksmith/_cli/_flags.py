"""What the library says of arguments, in the words of a shell: flags in place of Python's names."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping

import typer

import toksmith

__all__ = ["flagged", "in_flags"]

# `name='value'`, `name=True`, `name=5`, or `name=` alone.
SAID = re.compile(r"(?<![\w.])([a-z_]+)=(?:'([^']*)'|(True)|([\w.]+)|)")

# The name of an argument that no word of English looks like.
ALONE = re.compile(r"(?<![\w.'/-])[a-z]+(?:_[a-z]+)+(?![\w'/=])")
KINDS = {"format of files of ids": "to", "runner": "run"}


def in_flags(text: str, flags: Mapping[str, str]) -> str:
    """The text, where arguments that have a flag are written as flags."""

    def flag(match: re.Match[str]) -> str:
        name, quoted, true, plain = match.groups()
        if name not in flags:
            return match[0]
        value = quoted if quoted is not None else plain
        return flags[name] if true or value is None else f"{flags[name]} {value}"

    return ALONE.sub(lambda match: flags.get(match[0], match[0]), SAID.sub(flag, text))


def allowed_in_shell(text: str) -> str:
    """What a value may be; a flag that is left out is None in Python."""
    return re.sub(r"\bNone\b", "no value", text)


@contextlib.contextmanager
def flagged(flags: Mapping[str, str]) -> Iterator[None]:
    """Errors of the library in the words of a shell; a wrong value of a flag is an error of usage.

    Args:
        flags: By argument, its flag.
    """
    try:
        yield
    except toksmith.InvalidOption as error:
        if error.argument not in flags:
            raise
        said = f"{error.value!s:.200} is not possible; expected {in_flags(allowed_in_shell(error.allowed), flags)}"
        raise typer.BadParameter(said, param_hint=flags[error.argument]) from error
    except toksmith.UnknownName as error:
        if (name := KINDS.get(error.kind, "")) not in flags:
            raise
        raise typer.BadParameter(str(error), param_hint=flags[name]) from error
    except toksmith.JobError as error:
        raise toksmith.JobError(error.folder, in_flags(error.problem, flags)) from error
    except toksmith.CorpusError as error:
        raise toksmith.CorpusError(error.path, error.record, in_flags(error.problem, flags)) from error
