"""The exceptions of toksmith: one tree, and each error carries its data as attributes.

```
ToksmithError                                     message: where, what, expected, what to do
├── FormatError(ValueError)         path, place, problem
│   └── CannotRepresent             format, field
├── ModelError(ValueError)          invariant, id
├── PatternError(ValueError)        pattern, problem, offset, index
├── TextTooLong(ValueError)         step, limit, index
├── SpecialTokenInText(ValueError)  token, offset, index
├── NotInVocabulary(ValueError)     content, offset, index
├── UnknownId(ValueError)           id, position, vocab_size, index
├── UnknownName(LookupError)        kind, name, matches
├── InvalidOption(ValueError)       argument, value, allowed
├── CorpusError(ValueError)         path, record, problem
├── JobError(RuntimeError)          folder, problem
├── DownloadError(OSError)          url, expected, target, problem
└── CheckpointError(OSError)        errno, path, problem, tokenizer

KeyboardInterrupt
└── TrainingInterrupted             tokenizer, phase: no ToksmithError, so that `except Exception` lets Ctrl-C through
```

An error takes a path as its caller has it, and holds it as text (`_base/paths.py`: `shown`).
The message is built from the data, so an exception that was pickled, copied or re-raised has the same message. It
quotes at most 200 characters of a refused value; the attributes hold the whole value.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = [
    "OF_A_PLACE",
    "CannotRepresent",
    "CheckpointError",
    "CorpusError",
    "DownloadError",
    "FormatError",
    "InvalidOption",
    "JobError",
    "ModelError",
    "NotInVocabulary",
    "PatternError",
    "SpecialTokenInText",
    "TextTooLong",
    "ToksmithError",
    "TrainingInterrupted",
    "UnknownId",
    "UnknownName",
    "close_names",
    "first_of",
    "moved",
    "number_of",
    "quoted",
    "shortened",
    "some_of",
]

MOST_QUOTED = 200  # a message quotes at most this many characters of a value
MOST_CHOICES = 5  # a message lists at most this many names to choose from
MOST_TOLD = 3 * MOST_QUOTED  # the limit for a sentence that contains such a quotation


class Quoting(reprlib.Repr):
    """Writes the value that a message quotes, in at most 200 characters; the value's own `repr` may fail."""

    def __init__(self) -> None:
        super().__init__()
        self.maxother = self.maxlong = MOST_QUOTED
        self.maxtuple = self.maxlist = self.maxset = self.maxfrozenset = self.maxdict = self.maxdeque = 12

    def quoted(self, value: object) -> str:
        """The value as Python source."""
        return shortened(self.repr(value), MOST_QUOTED)

    def repr_str(self, x: str, level: int) -> str:
        """A text; inside a container it is shorter, so that two texts fit."""
        most = MOST_QUOTED - 2 if level == self.maxlevel else MOST_QUOTED // 2 - 8
        return repr(shortened(x, most))

    def repr_int(self, x: int, level: int) -> str:
        """A number; Python refuses to write more than some thousand digits."""
        return repr(x) if x.bit_length() < 640 else f"<int of {x.bit_length():,} bits>"

    def repr_instance(self, x: Any, level: int) -> str:
        """Anything else; its own `repr` may raise."""
        try:
            return repr(x)
        except Exception:  # noqa: BLE001 - the message is about something else
            return f"<{type(x).__name__}>"


def shown(path: str | os.PathLike[str]) -> str:
    """The path as errors show it."""
    from .paths import shown  # which raises errors of this module

    return shown(path)


def quoted(value: object) -> str:
    """A value as messages quote it: as Python writes it, in at most 200 characters."""
    return Quoting().quoted(value)


def shortened(text: str, most: int = MOST_TOLD) -> str:
    """The text, without its middle if it is long."""
    return text if len(text) <= most else f"{text[: most // 2]}…{text[1 - most // 2 :]}"


def number_of(count: int, noun: str) -> str:
    """A number of things in words: "1 document", "2 documents"."""
    return f"{count} {noun}" if count == 1 else f"{count:,} {noun}s"


class ToksmithError(Exception):
    """The root of every error that toksmith raises on purpose."""

    __module__ = "toksmith"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # Tracebacks name the module to import the class from, not the file that defines it.
        cls.__module__ = "toksmith"


class FormatError(ToksmithError, ValueError):
    """A file violates its format.

    Attributes: `path` the file, `place` a line number, `"byte 17"` or a field
    name (None for the whole file), `problem` what was found and what was
    expected.
    """

    def __init__(self, path: str | os.PathLike[str], place: int | str | None, problem: str) -> None:
        super().__init__(shown(path), place, problem)
        self.path, self.place, self.problem = shown(path), place, problem

    def __str__(self) -> str:
        where = self.path if self.place is None else f"{self.path}:{self.place}"
        return f"{where}: {shortened(self.problem)}"


class CannotRepresent(FormatError):
    """A format cannot hold a field of the model; saving never drops a field
    silently.

    Attributes: `format` the format's name, `field` the model's field,
        `problem` why, `file` the file that was to be written, or None.
    """

    def __init__(self, format: str, field: str, problem: str, file: str | os.PathLike[str] | None = None) -> None:
        super().__init__(format, field, problem)
        self.format, self.field, self.file = format, field, None if file is None else shown(file)

    def __str__(self) -> str:
        where = "" if self.file is None else f"{self.file}: "
        return f"{where}the format {self.format!r} cannot hold {shortened(self.field)}: {shortened(self.problem)}"


class ModelError(ToksmithError, ValueError):
    """A model breaks one of its invariants.

    Attributes: `invariant` the broken rule, in words; `id` the affected id, or
        None.
    """

    def __init__(self, invariant: str, id: int | None = None) -> None:
        super().__init__(invariant, id)
        self.invariant, self.id = invariant, id

    def __str__(self) -> str:
        invariant = shortened(self.invariant)
        return invariant if self.id is None else f"id {self.id}: {invariant}"


class PatternError(ToksmithError, ValueError):
    """The regex engine gave up on a text.

    Attributes: `pattern` the regex, `problem` what the engine says; `offset`
    where in the text the search began, in characters for `str` and in bytes
    for `bytes` and documents (None if the place is not in the caller's text);
    `index` the text's position in the batch, or None.
    """

    def __init__(self, pattern: str, problem: str, offset: int | None = None, index: int | None = None) -> None:
        super().__init__(pattern, problem, offset, index)
        self.pattern, self.problem, self.offset, self.index = pattern, problem, offset, index

    def __str__(self) -> str:
        where = "" if self.index is None else f" in text {self.index}"
        where += "" if self.offset is None else f" at offset {self.offset}"
        return (
            f"the regex engine gave up{where}: {shortened(self.problem)}; the pattern was {quoted(self.pattern)}. "
            "Cut the text into smaller documents, or use a pattern that backtracks less"
        )

    def at(self, offset: int, index: int | None) -> PatternError:
        """The same error at another place."""
        return PatternError(self.pattern, self.problem, offset, index)


class TextTooLong(ToksmithError, ValueError):
    """A step of the model makes a text far too long.

    Attributes: `step` its position and kind; `limit` the limit in bytes: 64
    times the length of the text plus 1 MiB; `index` the text's position in the
    batch, or None.
    """

    def __init__(self, step: str, limit: int, index: int | None = None) -> None:
        super().__init__(step, limit, index)
        self.step, self.limit, self.index = step, limit, index

    def __str__(self) -> str:
        where = "the text" if self.index is None else f"text {self.index}"
        return (
            f"{self.step} makes {where} longer than {self.limit:,} bytes, which is 64 times its length plus 1 MiB; "
            "use a model without this step"
        )


class SpecialTokenInText(ToksmithError, ValueError):
    """A text contains a special token that the call does not allow.

    Attributes: `token` its text; `offset` where it starts, in characters for
    `str` and in bytes for `bytes`; `index` the text's place in the batch, or
    None.
    """

    def __init__(self, token: str, offset: int, index: int | None = None) -> None:
        super().__init__(token, offset, index)
        self.token, self.offset, self.index = token, offset, index

    def __str__(self) -> str:
        token = quoted(self.token)
        return (
            f"the text holds the special token {token} at {place(self.offset, self.index)}; pass special='text' to encode it as "
            f"ordinary text, or special='allow' (or special=[{token}]) to turn it into its id"
        )

    def at(self, offset: int, index: int | None) -> SpecialTokenInText:
        """The same error at another place."""
        return SpecialTokenInText(self.token, offset, index)


class NotInVocabulary(ToksmithError, ValueError):
    """A character, word or token is not in the vocabulary, and there is no
    fallback for it.

    Attributes: `content` what is missing (`str`, or `bytes` that are not
    UTF-8); `offset` where it starts in the text, in characters for `str` and
    in bytes for `bytes`, or None outside a text; `index` the text's place in
    the batch, or None.
    """

    def __init__(self, content: str | bytes, offset: int | None = None, index: int | None = None) -> None:
        super().__init__(content, offset, index)
        self.content, self.offset, self.index = content, offset, index

    def __str__(self) -> str:
        where = "" if self.offset is None else f" ({place(self.offset, self.index)})"
        return f"{quoted(self.content)} is not in the vocabulary{where}"

    def at(self, offset: int, index: int | None) -> NotInVocabulary:
        """The same error at another place."""
        return NotInVocabulary(self.content, offset, index)


OF_A_PLACE = (SpecialTokenInText, NotInVocabulary, PatternError)


@contextmanager
def moved(move: Callable[[int], int]) -> Iterator[None]:
    """Converts offsets in errors from a part of the caller's text to the whole; `move` converts one offset."""
    try:
        yield
    except OF_A_PLACE as error:
        raise error if error.offset is None else error.at(move(error.offset), error.index) from None


def place(offset: int, index: int | None) -> str:
    """The position in words."""
    return f"offset {offset}" if index is None else f"text {index}, offset {offset}"


class UnknownId(ToksmithError, ValueError):
    """An id belongs to no token.

    Attributes: `id`, `position` its position in the sequence (None outside
    one), `vocab_size` the largest id + 1, `index` the sequence's position in
    the batch, or None.
    """

    def __init__(self, id: int, position: int | None, vocab_size: int, index: int | None = None) -> None:
        super().__init__(id, position, vocab_size, index)
        self.id, self.position, self.vocab_size, self.index = id, position, vocab_size, index

    def __str__(self) -> str:
        where = "" if self.position is None else f" at position {self.position}"
        where += "" if self.index is None else f" of sequence {self.index}"
        if 0 <= self.id < self.vocab_size:
            return f"id {self.id}{where} is a hole: no token has it"
        return f"id {quoted(self.id)}{where} is out of range; ids lie in [0, {self.vocab_size})"


def some_of(names: Sequence[str]) -> str:
    """Names to choose from, for a message: five at most.

    >>> some_of(["a", "b"]), some_of(list("abcdefg"))
    ('a, b', 'a, b, c, d, e and 2 more')
    """
    more = len(names) - MOST_CHOICES
    return ", ".join(names[:MOST_CHOICES]) + (f" and {more} more" if more > 0 else "")


def first_of(values: Any, most: int = 6) -> str:
    """The first items of a result, as its `repr` shows them.

    >>> first_of([1, 2, 3], 2), first_of([])
    ('[1, 2, …]', '[]')
    """
    shown = [quoted(value) if isinstance(value, (str, bytes, tuple)) else str(value) for value in values[:most]]
    return f"[{', '.join([*shown, '…'] if len(values) > most else shown)}]"


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """The known names that mean what a wrong one means in other programs, or else those that are spelt like it."""
    from .suggestions import close_names  # a table that only errors need

    return close_names(name, known)


# Where the names of a kind are listed.
LISTED = {
    "encoding or file": "toksmith.encodings() lists the names",
    "format": "toksmith.formats() lists the names",
    "pattern": "toksmith.patterns() lists the names",
}


class UnknownName(ToksmithError, LookupError):
    """A name is unknown.

    Attributes: `kind` of thing, `name` as given, `matches` names that may be
        meant. The message lists at most five.
    """

    def __init__(self, kind: str, name: str, matches: Iterable[str] = ()) -> None:
        self.matches = tuple(matches)
        super().__init__(kind, name, self.matches)
        self.kind, self.name = kind, name

    def __str__(self) -> str:
        names, listed = [*self.matches], LISTED.get(self.kind)
        if names and set(names) <= set(close_names(self.name, names)):
            hint = f"; did you mean {' or '.join(map(quoted, names[:MOST_CHOICES]))}?"
        elif names:
            verb = "the known one is" if len(names) == 1 else "the known ones are"
            hint = f"; {verb} {some_of([*map(quoted, names)])}"
            hint += f" ({listed})" if listed and len(names) > MOST_CHOICES else ""
        elif self.kind == "encoding or file" and "://" in self.name:
            hint = "; load reads files of this machine: download the file first"
        else:
            hint = f"; {listed}" if listed else ""
        return f"there is no {self.kind} named {quoted(self.name)}{hint}"


class InvalidOption(ToksmithError, ValueError):
    """An argument has an invalid value.

    Attributes: `argument`, `value` as given, `allowed` what it may be.
    """

    def __init__(self, argument: str, value: object, allowed: str) -> None:
        super().__init__(argument, value, allowed)
        self.argument, self.value, self.allowed = argument, value, allowed

    def __str__(self) -> str:
        if type(self.value).__name__ == "Unset":  # not given
            return f"{self.argument}= is missing; expected {self.allowed}"
        return f"{self.argument}={quoted(self.value)} is not possible; expected {self.allowed}"


class CorpusError(ToksmithError, ValueError):
    """A document of a corpus cannot be read.

    Attributes: `path` the file (None for documents in memory), `record` the
    row or document (counted from 0, None for the whole file), `problem`.
    """

    def __init__(self, path: str | os.PathLike[str] | None, record: int | None, problem: str) -> None:
        self.path, self.record, self.problem = None if path is None else shown(path), record, problem
        super().__init__(self.path, record, problem)

    def __str__(self) -> str:
        parts = [self.path or "", "" if self.record is None else f"document {self.record}", shortened(self.problem)]
        return ": ".join(part for part in parts if part)


class JobError(ToksmithError, RuntimeError):
    """A job that encodes a corpus cannot go on.

    Attributes: `folder` of the job; `problem` what was found and what to do.
    """

    def __init__(self, folder: str | os.PathLike[str], problem: str) -> None:
        super().__init__(shown(folder), problem)
        self.folder, self.problem = shown(folder), problem

    def __str__(self) -> str:
        return f"{self.folder}: {shortened(self.problem)}"


class DownloadError(ToksmithError, OSError):
    """A published file could not be downloaded, or differs from the published
    file.

    Attributes: `url`, `expected` its sha256 in hex, `target` where to put the
        file by hand (both empty for a repository of the Hugging Face hub),
        `problem`.
    """

    def __init__(self, url: str, expected: str, target: str, problem: str) -> None:
        super().__init__(problem)
        self.url, self.expected, self.target, self.problem = url, expected, target, problem

    def __reduce__(self) -> tuple[Any, ...]:
        # OSError keeps at most two arguments, and treats the first of two as an error number.
        return DownloadError, (self.url, self.expected, self.target, self.problem)

    def __str__(self) -> str:
        if not self.target:
            return f"{self.url}: {self.problem}"
        return (
            f"{self.url}: {self.problem}. To go on without the network, save that file as {self.target} "
            f"(sha256 {self.expected}), or name its folder in TOKSMITH_CACHE"
        )


class CheckpointError(ToksmithError, OSError):
    """The checkpoint file of a training cannot be read or written, for example on
    a full disk.

    Attributes: `errno` as of any OSError, `path` the file, `problem` what the
    system says, `tokenizer` with the merges learned so far (None before the
    first).
    """

    def __init__(self, errno: int | None, path: str | os.PathLike[str], problem: str, tokenizer: Any = None) -> None:
        super().__init__(errno, problem, shown(path))
        self.path, self.problem, self.tokenizer = shown(path), problem, tokenizer

    def __reduce__(self) -> tuple[Any, ...]:
        return CheckpointError, (self.errno, self.path, self.problem, self.tokenizer)

    def __str__(self) -> str:
        said = f"{self.path}: the checkpoint cannot be written: {self.problem}"
        if self.tokenizer is None:
            return f"{said}; nothing was learned yet"
        merges = len(self.tokenizer.model.merges)
        return (
            f"{said}; merges learned so far: {merges}. The exception's `tokenizer` holds them and can be "
            "saved. Repeat the call to continue from the merges in the file"
        )


class TrainingInterrupted(KeyboardInterrupt):
    """Training was stopped by Ctrl-C. Like every `KeyboardInterrupt`, it is no
    `Exception`.

    Attributes: `tokenizer` with the merges learned so far (None before the
        first), `phase` "counting" or "merging".
    """

    __module__ = "toksmith"

    def __init__(self, tokenizer: Any, phase: str) -> None:
        super().__init__(tokenizer, phase)
        self.tokenizer, self.phase = tokenizer, phase

    def __str__(self) -> str:
        if self.tokenizer is None:
            return f"training was interrupted while {self.phase}; nothing was learned yet"
        merges = len(self.tokenizer.model.merges)
        return (
            f"training was interrupted while {self.phase}; merges learned so far: {merges}. The "
            "exception's `tokenizer` holds them and can be saved"
        )
