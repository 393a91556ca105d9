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


def in_flags(text: str, flags: Mapping[str, str]) -> str:
    """The text, where arguments that have a flag are written as flags."""

    def flag(match: re.Match[str]) -> str:
        name, quoted, true, plain = match.groups()
        if name not in flags:
            return match[0]
        value = quoted if quoted is not None else plain
        return flags[name] if true or value is None else f"{flags[name]} {value}"

    return SAID.sub(flag, text)


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
        said = f"{error.value!s:.200} is not possible; expected {in_flags(error.allowed, flags)}"
        raise typer.BadParameter(said, param_hint=flags[error.argument]) from error
    except toksmith.JobError as error:
        raise toksmith.JobError(error.folder, in_flags(error.problem, flags)) from error
    except toksmith.CorpusError as error:
        raise toksmith.CorpusError(error.path, error.record, in_flags(error.problem, flags)) from error
