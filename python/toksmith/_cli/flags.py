"""What the library says of arguments, in the words of a shell: flags in place of Python's names."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from collections.abc import Iterable, Iterator, Mapping

import click

import toksmith

from .._base.paths import nearest
from .._base.suggestions import MOST, close_names
from . import params as cli

__all__ = ["check_format", "flagged", "in_flags", "reason", "tokenizer_among", "usage_of"]

# `name='value'`, `name=['value']`, `name={'key': 'value'}`, `name=True`, `name=5`, or `name=` alone.
SAID = re.compile(r"(?<![\w.-])([a-z_]+)=(?:'([^']*)'|\['([^']*)'\]|\{'([^']*)': '([^']*)'\}|(True|\.\.\.)|([\w.]+)|)")

# The name of an argument that no word of English looks like.
ALONE = re.compile(r"(?<![\w.'/-])[a-z]+(?:_[a-z]+)+(?![\w'/=])")

# What the system says of a file, inside what the library says.
OF_SYSTEM = re.compile(r"cannot be read: \[Errno \d+\] ([^:]+)(?:: '.*'|: \".*\")?$")
NO_MATCH = re.compile("no file matches this name.*")  # the shell has expanded the globs already
KINDS = {"format of files of ids": "to", "runner": "run", "pattern": "pattern"}
NO_FILE = os.strerror(errno.ENOENT)
# What a number is that is given in place of a file.
NUMBERS = {
    "train": "for the size of the vocabulary write --vocab-size {}",
    "decode": "ids are read from stdin or a file",
}
MISSING = re.compile("cannot be read: there is no such file(; expected the path of a file)?")
WITH_NONE = ("--pattern", "--superword-pattern", "--digits")


def in_flags(text: str, flags: Mapping[str, str]) -> str:
    """The text, where arguments that have a flag are written as flags.

    >>> in_flags("merges=5 needs min_count=, not format='x'", {"merges": "--merges", "min_count": "--min-count"})
    "--merges 5 needs --min-count, not format='x'"
    """

    def flag(match: re.Match[str]) -> str:
        name, quoted, listed, key, keyed, true, plain = match.groups()
        if name == "force" and true:  # the advice of commands that have no such flag is about those that do
            return "--force"
        if name not in flags:
            return match[0]
        pair = None if key is None else f"{key}={keyed}"
        value = next((each for each in (quoted, listed, pair, plain) if each is not None), None)
        return flags[name] if true or value is None else f"{flags[name]} {'none' if value == 'None' else value}"

    return ALONE.sub(lambda match: flags.get(match[0], match[0]), SAID.sub(flag, text))


def allowed_in_shell(text: str, flag: str) -> str:
    """What a value may be. None is the value none of some flags; others are left out."""
    text = text.replace("a name of toksmith.patterns()", "a name such as gpt2, cl100k or o200k")
    if flag in WITH_NONE:
        return text.replace("None", "none")
    text = re.sub(r",? or None for\b", ", or leave it out for", text)
    text = text.replace("train() made with kind='bpe'", "'toksmith train --kind bpe' made")
    return re.sub(r"\bNone\b", "no value", re.sub(r",? or None\b", "", text))


def usage_of(error: Exception, flags: Mapping[str, str]) -> cli.BadParameter | None:
    """An error of usage for a value that a flag cannot have; None for any other error."""
    if isinstance(error, toksmith.InvalidOption) and error.argument in flags:
        value, allowed = error.value, in_flags(allowed_in_shell(error.allowed, flags[error.argument]), flags)
        if not isinstance(value, (str, int, float, list, tuple)) and type(value).__name__ == "Unset":
            said = f"is missing; expected {allowed}"
        elif isinstance(value, (str, int, float)) and not isinstance(value, bool):
            said = f"expected {allowed}, not {value!r:.200}"
        else:
            said = f"expected {allowed}"
        return cli.BadParameter(said, param_hint=flags[error.argument])
    if isinstance(error, toksmith.UnknownName) and (name := KINDS.get(error.kind, "")) in flags:
        return cli.BadParameter(name_said(error), param_hint=flags[name])
    if isinstance(error, toksmith.UnknownName) and not means_file(error):
        parameter = given_as(error.name)
        return None if parameter is None else cli.BadParameter(name_said(error), param=parameter)
    return None


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


def not_here(name: str) -> str:
    """Where a tokenizer lies that only a download brings here; empty for a name of this machine."""
    if "://" in name:
        return "; -t takes a file of this machine: download it first"
    return ""


def name_said(error: toksmith.UnknownName) -> str:
    """That a name is unknown; at most five others are listed."""
    kind = "tokenizer or file" if error.kind == "encoding or file" else error.kind
    near = f"; did you mean {' or '.join(error.matches)}?" if error.matches else ""
    if len(error.matches) > MOST:  # all that there are
        near = f"; expected one of {', '.join(error.matches[:MOST])}, …"
    if means_file(error):
        return f"{error.name:.200}: {NO_FILE}{near or not_here(error.name)}"
    see = {"encoding or file": "'toksmith encodings' lists the names", "format": "'toksmith formats' lists them"}
    hint = "" if near or error.kind not in see else f"; {see[error.kind]}"
    return f"there is no {kind} named {error.name!r:.200}{near}{hint}"


def check_format(name: str | None, flag: str) -> None:
    """Refuses the name of a format of tokenizers that does not exist."""
    if name is not None and name not in (known := toksmith.formats()):
        error = toksmith.UnknownName("format", name, close_names(name, known))
        raise cli.BadParameter(name_said(error), param_hint=flag)


@contextlib.contextmanager
def flagged(flags: Mapping[str, str]) -> Iterator[None]:
    """Errors of the library in the words of a shell; a wrong value of a flag is an error of usage.

    Args:
        flags: By argument, its flag.
    """
    try:
        yield
    except toksmith.JobError as error:
        raise toksmith.JobError(error.folder, in_flags(error.problem, flags)) from error
    except toksmith.CorpusError as error:
        raise toksmith.CorpusError(error.path, error.record, in_flags(error.problem, flags)) from error
    except toksmith.ToksmithError as error:
        if (usage := usage_of(error, flags)) is None:
            raise
        raise usage from error


def tokenizer_among(values: Iterable[object]) -> str:
    """The first of the words that a command was given as texts that names a tokenizer; empty if none does."""
    words = [word for value in values for word in ([value] if isinstance(value, str) else value or ())]  # type: ignore[attr-defined]
    rows = toksmith.formats().values()
    for word in words:
        if isinstance(word, str) and (
            word in toksmith.encodings() or (os.path.isfile(word) and any(row.fits(word) for row in rows))
        ):
            return word
    return ""


def swapped(error: toksmith.FormatError) -> str:
    """The tokenizer that was given as a text, where -t names a file that holds none; in words."""
    context = click.get_current_context(silent=True)
    params = {} if context is None else context.params
    if params.get("tokenizer") != error.path:
        return ""
    found = tokenizer_among(params[name] for name in ("files", "file") if name in params)
    return f"; did you mean -t {found}?" if found else ""


def reason(error: BaseException, flags: Mapping[str, str]) -> str:
    """The message of an error, in the words of a shell, on one line."""
    if isinstance(error, toksmith.UnknownName):
        text = name_said(error)
    elif isinstance(error, toksmith.SpecialTokenInText) and "special" in flags:
        where = f"at byte {error.offset}" + ("" if error.index is None else f" of text {error.index}")
        text = f"the text holds the special token {error.token!r:.200} {where}; "
        text += "--special text encodes it as ordinary text, --special allow turns it into its id"
    elif isinstance(error, (toksmith.CorpusError, toksmith.FormatError, toksmith.InvalidOption, toksmith.JobError)):
        text = of_file(in_flags(str(error), flags), flags)
        text += swapped(error) if isinstance(error, toksmith.FormatError) else ""
    elif isinstance(error, (toksmith.ToksmithError, toksmith.TrainingInterrupted, ImportError)):
        text = in_flags(str(error), flags)  # ImportError: of an extra that is not installed
    elif isinstance(error, OSError) and error.strerror:
        text = f"{shown(error.filename)}: {error.strerror}" if error.filename is not None else error.strerror
        if error.errno == errno.ENOENT and isinstance(error.filename, str):
            text += nearest(error.filename) or meant_instead(error.filename)
    elif isinstance(error, KeyboardInterrupt):
        text = "interrupted"
    else:
        text = f"unexpected {type(error).__name__}: {error} (--debug shows where)"
    return " ".join(text.splitlines())


def meant_instead(name: str) -> str:
    """What a number in place of a file means to the command that runs."""
    context = click.get_current_context(silent=True)
    command = "" if context is None else context.info_name or ""
    if not name.isdecimal() or command not in NUMBERS:
        return ""
    return f"; {NUMBERS[command].format(name)}"


def shown(name: object) -> str:
    """The name of a file on one line."""
    return str(name).replace("\n", "\\n")


def of_file(text: str, flags: Mapping[str, str]) -> str:
    """What is wrong with a file: in the system's words where they are its own, and with what a shell can do about it."""
    text = NO_MATCH.sub(NO_FILE, OF_SYSTEM.sub(r"\1", text))
    text = text.replace(", or open it and pass its bytes", ", or read its bytes with --raw" if "raw" in flags else "")
    text = text.replace("toksmith.plan or `toksmith tokenize`", "`toksmith tokenize`")
    text = MISSING.sub(NO_FILE, text)
    text = text.replace("; name the field with field=", "; rename the field").replace(
        "look at it with status, or load it with PieceCounts.load", "look at it with 'toksmith status'"
    )
    text = text.replace(f"cannot be read: {NO_FILE}", NO_FILE).replace("toksmith.formats()", "'toksmith formats'")
    to, source = "--to" in flags.values(), "--from" in flags.values()
    text = text.replace("give format=, or a name", "give --to, or a name" if to else "give a name")
    if " fits " in text and to:
        return text.replace("choose with format=", "choose with --to")
    text = text.replace(", or choose its format with format=", ", or choose its format with --from" if source else "")
    text = text.replace("with format=", "with --from" if source else "with 'toksmith convert --from FORMAT'")
    if " cannot hold " in text and to:
        text += "; choose another format ('toksmith formats' lists all)"
        if "--allow-loss" in flags.values():
            text = text.replace("toksmith.convert(…, renumber=True)", "--renumber")
            text = re.sub(r"allow_loss=\['(\w+)'\]", r"--allow-loss \1", text)
            text += "" if "--allow-loss" in text else ", or leave out what --allow-loss names"
    return text
