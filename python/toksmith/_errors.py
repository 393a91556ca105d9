"""The exceptions of toksmith: one tree, and each error carries its data as attributes.

```
ToksmithError                                     message: where, what, expected, what to do
├── FormatError(ValueError)         path, place, problem
│   └── CannotRepresent             format, field
├── ModelError(ValueError)          invariant, id
├── PatternError(ValueError)        pattern, problem
├── SpecialTokenInText(ValueError)  token, offset, index
├── NotInVocabulary(ValueError)     content, offset
├── UnknownId(ValueError)           id, position, vocab_size, index
├── UnknownName(LookupError)        kind, name, matches
├── InvalidOption(ValueError)       argument, value, allowed
├── CorpusError(ValueError)         path, record, problem
├── DownloadError(OSError)          url, expected, target, problem
└── TrainingInterrupted(KeyboardInterrupt)   tokenizer, phase
```

The message is made from the data, so an exception that was pickled, copied or re-raised says the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = [
    "CannotRepresent",
    "CorpusError",
    "DownloadError",
    "FormatError",
    "InvalidOption",
    "ModelError",
    "NotInVocabulary",
    "PatternError",
    "SpecialTokenInText",
    "ToksmithError",
    "TrainingInterrupted",
    "UnknownId",
    "UnknownName",
    "close_names",
]


class ToksmithError(Exception):
    """The root of every error that toksmith raises on purpose."""

    __module__ = "toksmith"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # Tracebacks name the place to import the class from, not the file in which it stands.
        cls.__module__ = "toksmith"


class FormatError(ToksmithError, ValueError):
    """A file does not hold what its format asks for.

    Attributes: `path` the file, `place` a line number, `"byte 17"` or a field name (None when the whole
    file is meant), `problem` what was found and what was expected.
    """

    def __init__(self, path: str, place: int | str | None, problem: str) -> None:
        super().__init__(path, place, problem)
        self.path, self.place, self.problem = path, place, problem

    def __str__(self) -> str:
        where = self.path if self.place is None else f"{self.path}:{self.place}"
        return f"{where}: {self.problem}"


class CannotRepresent(FormatError):
    """A format has no room for a field of the model, and saving never drops a field in silence.

    Attributes: `format` the format's name, `field` the model's field, `problem` why.
    """

    def __init__(self, format: str, field: str, problem: str) -> None:
        super().__init__(format, field, problem)
        self.format, self.field = format, field

    def __str__(self) -> str:
        return f"the format {self.format!r} cannot hold {self.field}: {self.problem}"


class ModelError(ToksmithError, ValueError):
    """A model breaks one of its invariants.

    Attributes: `invariant` the rule that is broken, in words; `id` the id concerned, or None.
    """

    def __init__(self, invariant: str, id: int | None = None) -> None:
        super().__init__(invariant, id)
        self.invariant, self.id = invariant, id

    def __str__(self) -> str:
        return self.invariant if self.id is None else f"id {self.id}: {self.invariant}"


class PatternError(ToksmithError, ValueError):
    """The regex engine gave up on a text, so that its pieces are not known.

    Attributes: `pattern` the regex, `problem` what the engine says.
    """

    def __init__(self, pattern: str, problem: str) -> None:
        super().__init__(pattern, problem)
        self.pattern, self.problem = pattern, problem

    def __str__(self) -> str:
        return (
            f"the regex engine gave up: {self.problem}; the pattern was {self.pattern!r}. "
            "Cut the text into smaller documents, or use a pattern that backtracks less"
        )


class SpecialTokenInText(ToksmithError, ValueError):
    """A text spells a special token that the call did not allow.

    Attributes: `token` its text; `offset` where it starts, in characters for `str` and in bytes for
    `bytes`; `index` the text's place in the batch, or None.
    """

    def __init__(self, token: str, offset: int, index: int | None = None) -> None:
        super().__init__(token, offset, index)
        self.token, self.offset, self.index = token, offset, index

    def __str__(self) -> str:
        where = f"offset {self.offset}" if self.index is None else f"text {self.index}, offset {self.offset}"
        return (
            f"the text holds the special token {self.token!r} at {where}; pass special='text' to encode it as "
            f"ordinary text, or special='allow' (or special=[{self.token!r}]) to turn it into its id"
        )


class NotInVocabulary(ToksmithError, ValueError):
    """A character, word or token is not in the vocabulary, and there is no fallback for it.

    Attributes: `content` what is missing (`str`, or `bytes` that are no UTF-8), `offset` where it starts in
    the text, in bytes of UTF-8, or None outside a text.
    """

    def __init__(self, content: str | bytes, offset: int | None = None) -> None:
        super().__init__(content, offset)
        self.content, self.offset = content, offset

    def __str__(self) -> str:
        where = "" if self.offset is None else f" (byte {self.offset} of the text)"
        return f"{self.content!r} is not in the vocabulary{where}"


class UnknownId(ToksmithError, ValueError):
    """An id stands for no token.

    Attributes: `id`, `position` its place in the sequence (None outside one), `vocab_size` the largest id + 1, `index`
    the sequence's place in the batch, or None.
    """

    def __init__(self, id: int, position: int | None, vocab_size: int, index: int | None = None) -> None:
        super().__init__(id, position, vocab_size, index)
        self.id, self.position, self.vocab_size, self.index = id, position, vocab_size, index

    def __str__(self) -> str:
        where = "" if self.position is None else f" at position {self.position}"
        where += "" if self.index is None else f" of sequence {self.index}"
        if 0 <= self.id < self.vocab_size:
            return f"id {self.id}{where} is a hole: no token has it"
        return f"id {self.id}{where} is out of range; ids lie in [0, {self.vocab_size})"


def close_names(name: str, known: Iterable[str]) -> list[str]:
    """Those of the known names that a misspelt one may mean."""
    import difflib  # takes a while, and only errors need it

    return difflib.get_close_matches(name, list(known))


class UnknownName(ToksmithError, LookupError):
    """A name stands in no table.

    Attributes: `kind` of thing, `name` as given, `matches` the names that come close.
    """

    def __init__(self, kind: str, name: str, matches: Iterable[str] = ()) -> None:
        self.matches = tuple(matches)
        super().__init__(kind, name, self.matches)
        self.kind, self.name = kind, name

    def __str__(self) -> str:
        hint = f"; did you mean {' or '.join(map(repr, self.matches))}?" if self.matches else ""
        return f"there is no {self.kind} named {self.name!r}{hint}"


class InvalidOption(ToksmithError, ValueError):
    """An argument has a value that it cannot have.

    Attributes: `argument`, `value` as given, `allowed` what it may be.
    """

    def __init__(self, argument: str, value: object, allowed: str) -> None:
        super().__init__(argument, value, allowed)
        self.argument, self.value, self.allowed = argument, value, allowed

    def __str__(self) -> str:
        return f"{self.argument}={self.value!r} is not possible; expected {self.allowed}"


class CorpusError(ToksmithError, ValueError):
    """A document of a corpus cannot be read.

    Attributes: `path` the file (None for documents in memory), `record` the row or document (counted from 0,
    None for the whole file), `problem`.
    """

    def __init__(self, path: str | None, record: int | None, problem: str) -> None:
        super().__init__(path, record, problem)
        self.path, self.record, self.problem = path, record, problem

    def __str__(self) -> str:
        parts = [self.path or "", "" if self.record is None else f"document {self.record}", self.problem]
        return ": ".join(part for part in parts if part)


class DownloadError(ToksmithError, OSError):
    """A published file could not be fetched, or is not the file that was published.

    Attributes: `url`, `expected` its sha256 in hex, `target` where to put the file by hand, `problem`.
    """

    def __init__(self, url: str, expected: str, target: str, problem: str) -> None:
        super().__init__(problem)
        self.url, self.expected, self.target, self.problem = url, expected, target, problem

    def __reduce__(self) -> tuple[Any, ...]:
        # OSError keeps no more than two arguments, and takes the first of two for an error number.
        return DownloadError, (self.url, self.expected, self.target, self.problem)

    def __str__(self) -> str:
        return (
            f"{self.url}: {self.problem}. To go on without the network, save that file as {self.target} "
            f"(sha256 {self.expected}), or name its folder in TOKSMITH_CACHE"
        )


class TrainingInterrupted(ToksmithError, KeyboardInterrupt):
    """Training was stopped by Ctrl-C.

    Attributes: `tokenizer` with the merges learned so far (None before the first), `phase` "counting" or "merging".
    """

    def __init__(self, tokenizer: Any, phase: str) -> None:
        super().__init__(tokenizer, phase)
        self.tokenizer, self.phase = tokenizer, phase

    def __str__(self) -> str:
        if self.tokenizer is None:
            return f"training was interrupted while {self.phase}; nothing was learned yet"
        merges = len(self.tokenizer.model.merges)
        return (
            f"training was interrupted while {self.phase}; {merges} merges were learned, and the tokenizer so far "
            "is the exception's `tokenizer`, which can be saved"
        )
