"""The exceptions of toksmith: one tree; each carries its data as attributes.

```
ToksmithError                       message: where, what, expected, advice
├── FormatError(ValueError)         path, place, problem
│   ├── UnknownFormat
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
└── TrainingInterrupted             tokenizer, phase
```

`TrainingInterrupted` is not a `ToksmithError`, so that `except Exception`
lets Ctrl-C through. An error takes any kind of path, and stores it as text.
The message is built from the data, so an exception that was pickled, copied
or re-raised has the same message. It quotes at most 200 characters of a
refused value; the attributes hold the whole value.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ._base.wording import MOST_CHOICES, close_names, list_some, printable_path, quote_value, shorten_middle

__all__ = [
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
    "UnknownFormat",
    "UnknownId",
    "UnknownName",
]


class ToksmithError(Exception):
    """The root of every error that toksmith raises on purpose."""


class FormatError(ToksmithError, ValueError):
    """A file violates its format.

    Attributes: `path` the file, `place` a line number, `"byte 17"` or a field
    name (None for the whole file), `problem` the found and the expected
    content.
    """

    def __init__(self, path: str | os.PathLike[str], place: int | str | None, problem: str) -> None:
        super().__init__(printable_path(path), place, problem)
        self.path, self.place, self.problem = printable_path(path), place, problem

    def __str__(self) -> str:
        where = self.path if self.place is None else f"{self.path}:{self.place}"
        return f"{where}: {shorten_middle(self.problem)}"


class UnknownFormat(FormatError):
    """A file is in no format that toksmith knows."""


class CannotRepresent(FormatError):
    """A format cannot hold a field of the model; saving never drops a field
    silently.

    Attributes: `format` the format's name, `field` the model's field,
        `problem` the reason, `file` the file to be written, or None.
    """

    def __init__(self, format: str, field: str, problem: str, file: str | os.PathLike[str] | None = None) -> None:
        super().__init__(format, field, problem)
        self.format, self.field, self.file = format, field, None if file is None else printable_path(file)

    def __str__(self) -> str:
        where = "" if self.file is None else f"{self.file}: "
        return f"{where}the format {self.format!r} cannot hold {shorten_middle(self.field)}: {shorten_middle(self.problem)}"


class ModelError(ToksmithError, ValueError):
    """A model breaks one of its invariants.

    Attributes: `invariant` the broken rule, in words; `id` the affected id, or
        None.
    """

    def __init__(self, invariant: str, id: int | None = None) -> None:
        super().__init__(invariant, id)
        self.invariant, self.id = invariant, id

    def __str__(self) -> str:
        invariant = shorten_middle(self.invariant)
        return invariant if self.id is None else f"id {self.id}: {invariant}"


class _PlacedError(ToksmithError, ValueError):
    """An error at an offset in a text of a batch; its last two arguments are `offset` and `index`."""

    def at(self, offset: int, index: int | None) -> _PlacedError:
        """The same error at another place; the core calls it too."""
        return type(self)(*self.args[:-2], offset, index)


class PatternError(_PlacedError):
    """The regex engine gave up on a text.

    Attributes: `pattern` the regex, `problem` the engine's message; `offset`
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
            f"the regex engine gave up{where}: {shorten_middle(self.problem)}; the pattern was {quote_value(self.pattern)}. "
            "Cut the text into smaller documents, or use a pattern that backtracks less"
        )


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


class SpecialTokenInText(_PlacedError):
    """A text contains a special token that the call does not allow.

    Attributes: `token` its text; `offset` where it starts, in characters for
    `str` and in bytes for `bytes`; `index` the text's place in the batch, or
    None.
    """

    def __init__(self, token: str, offset: int, index: int | None = None) -> None:
        super().__init__(token, offset, index)
        self.token, self.offset, self.index = token, offset, index

    def __str__(self) -> str:
        token = quote_value(self.token)
        return (
            f"the text holds the special token {token} at {describe_place(self.offset, self.index)}; pass special='text' to encode it as "
            f"ordinary text, or special='allow' (or special=[{token}]) to turn it into its id"
        )


class NotInVocabulary(_PlacedError):
    """A character, word or token is not in the vocabulary and has no
    fallback.

    Attributes: `content` the missing text (`str`, or `bytes` that are not
    UTF-8); `offset` where it starts in the text, in characters for `str` and
    in bytes for `bytes`, or None outside a text; `index` the text's place in
    the batch, or None.
    """

    def __init__(self, content: str | bytes, offset: int | None = None, index: int | None = None) -> None:
        super().__init__(content, offset, index)
        self.content, self.offset, self.index = content, offset, index

    def __str__(self) -> str:
        where = "" if self.offset is None else f" ({describe_place(self.offset, self.index)})"
        return f"{quote_value(self.content)} is not in the vocabulary{where}"


OF_A_PLACE = (SpecialTokenInText, NotInVocabulary, PatternError)


@contextmanager
def shift_offsets(move: Callable[[int], int]) -> Iterator[None]:
    """Converts offsets in errors from a part of the caller's text to the whole text; `move` converts one offset."""
    try:
        yield
    except OF_A_PLACE as error:
        raise error if error.offset is None else error.at(move(error.offset), error.index) from None


def describe_place(offset: int, index: int | None) -> str:
    """The position in words."""
    return f"offset {offset}" if index is None else f"text {index}, offset {offset}"


class UnknownId(ToksmithError, ValueError):
    """No token has the id.

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
        return f"id {quote_value(self.id)}{where} is out of range; ids lie in [0, {self.vocab_size})"


# For each kind of name, the call that lists the names.
LISTED = {
    "encoding or file": "toksmith.encodings() lists the names",
    "format": "toksmith.formats() lists the names",
    "pattern": "toksmith.patterns() lists the names",
}


class UnknownName(ToksmithError, LookupError):
    """A name is unknown.

    Attributes: `kind` of thing, `name` as given, `matches` probable names.
        The message lists at most five. `advice`: what to do instead, if known.
    """

    def __init__(self, kind: str, name: str, matches: Iterable[str] = (), advice: str = "") -> None:
        self.matches = tuple(matches)
        super().__init__(kind, name, self.matches, advice)
        self.kind, self.name, self.advice = kind, name, advice

    def __str__(self) -> str:
        names, listing = [*self.matches], LISTED.get(self.kind)
        if self.advice:
            hint = f"; {self.advice}"
        elif names and set(names) <= set(close_names(self.name, names)):
            hint = f"; did you mean {' or '.join(map(quote_value, names[:MOST_CHOICES]))}?"
        elif names:
            verb = "the known one is" if len(names) == 1 else "the known ones are"
            hint = f"; {verb} {list_some([*map(quote_value, names)])}"
            hint += f" ({listing})" if listing and len(names) > MOST_CHOICES else ""
        elif self.kind == "encoding or file" and "://" in self.name:
            hint = "; load reads files of this machine: download the file first"
        else:
            hint = f"; {listing}" if listing else ""
        return f"there is no {self.kind} named {quote_value(self.name)}{hint}"


class InvalidOption(ToksmithError, ValueError):
    """An argument has an invalid value.

    Attributes: `argument`, `value` as given, `allowed` its valid values.
    """

    def __init__(self, argument: str, value: object, allowed: str) -> None:
        super().__init__(argument, value, allowed)
        self.argument, self.value, self.allowed = argument, value, allowed

    def __str__(self) -> str:
        if type(self.value).__name__ == "Unset":  # not given
            return f"{self.argument}= is missing; expected {self.allowed}"
        return f"{self.argument}={quote_value(self.value)} is not possible; expected {self.allowed}"


class CorpusError(ToksmithError, ValueError):
    """A document of a corpus cannot be read.

    Attributes: `path` the file (None for documents in memory), `record` the
    row or document (counted from 0, None for the whole file), `problem`.
    """

    def __init__(self, path: str | os.PathLike[str] | None, record: int | None, problem: str) -> None:
        self.path, self.record, self.problem = None if path is None else printable_path(path), record, problem
        super().__init__(self.path, record, problem)

    def __str__(self) -> str:
        parts = [
            self.path or "",
            "" if self.record is None else f"document {self.record}",
            shorten_middle(self.problem),
        ]
        return ": ".join(part for part in parts if part)


class JobError(ToksmithError, RuntimeError):
    """A job that encodes a corpus cannot continue.

    Attributes: `folder` of the job; `problem` the cause and the advice.
    """

    def __init__(self, folder: str | os.PathLike[str], problem: str) -> None:
        super().__init__(printable_path(folder), problem)
        self.folder, self.problem = printable_path(folder), problem

    def __str__(self) -> str:
        return f"{self.folder}: {shorten_middle(self.problem)}"


class DownloadError(ToksmithError, OSError):
    """A published file could not be downloaded, or differs from the published
    file.

    Attributes: `url`, `expected` its sha256 in hex, `target` the path for a
        file saved by hand (both empty for a repository of the Hugging Face
        hub), `problem`.
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

    Attributes: `errno` as in any OSError, `path` the file, `problem` the
    system's message, `tokenizer` with the merges learned so far (None before
    the first).
    """

    def __init__(self, errno: int | None, path: str | os.PathLike[str], problem: str, tokenizer: Any = None) -> None:
        super().__init__(errno, problem, printable_path(path))
        self.path, self.problem, self.tokenizer = printable_path(path), problem, tokenizer

    def __reduce__(self) -> tuple[Any, ...]:
        return CheckpointError, (self.errno, self.path, self.problem, self.tokenizer)

    def __str__(self) -> str:
        message = f"{self.path}: the checkpoint cannot be written: {self.problem}"
        advice = "" if self.tokenizer is None else ". Repeat the call to continue from the merges in the file"
        return f"{message}; {describe_progress(self.tokenizer)}{advice}"


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C stopped training. Like every `KeyboardInterrupt`, it is not an
    `Exception`.

    Attributes: `tokenizer` with the merges learned so far (None before the
        first), `phase` "counting" or "merging".
    """

    def __init__(self, tokenizer: Any, phase: str) -> None:
        super().__init__(tokenizer, phase)
        self.tokenizer, self.phase = tokenizer, phase

    def __str__(self) -> str:
        return f"training was interrupted while {self.phase}; {describe_progress(self.tokenizer)}"


def describe_progress(tokenizer: Any) -> str:
    """The merges of an interrupted training, in words."""
    if tokenizer is None:
        return "nothing was learned yet"
    merges = len(tokenizer.model.merges)
    return f"merges learned so far: {merges}. The exception's `tokenizer` holds them and can be saved"


def __dir__() -> list[str]:
    return [*__all__]
