"""Model to file and back: one row for each format. `convert = save(load())`.

A format is a module with a name, suffixes, `sniff`, `load` and `save`, and one row of `FORMATS`. What a format cannot
hold is an error with the field's name; what `load()` takes as arguments, and the training record, are no losses.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType, ModuleType

from .._errors import FormatError, UnknownName
from .._model import Model
from . import _merge_dict, _native, _sentencepiece, _tiktoken, _tokenizer_json
from ._arguments import UNSET, PatternArgument, Unset, check_losses, refuse_arguments
from ._files import read_file, shown, write_file
from ._tiktoken import ranks

__all__ = [
    "FORMATS",
    "UNSET",
    "Format",
    "PatternArgument",
    "Unset",
    "formats",
    "ranks",
    "read",
    "refuse_arguments",
    "shown",
    "write",
    "write_file",
]


@dataclass(frozen=True)
class Format:
    """One row of the table of formats.

    Attributes:
        name: What `format=` arguments call it.
        suffixes: Ends of file names that mean it (`.toksmith`), or whole file names (`tokenizer.json`).
        sniff: Whether the bytes of a file (and its path) look like it.
        load: The bytes of a file to a model.
        save: A model to the bytes of a file.
        doc: What it is, in a line.
    """

    name: str
    suffixes: tuple[str, ...]
    sniff: Callable[[bytes, str], bool]
    load: Callable[..., Model]
    save: Callable[..., bytes]
    doc: str

    def fits(self, path: str) -> bool:
        """Whether the name of this file means the format."""
        name = os.path.basename(path).lower()
        return any(name == suffix or (suffix[0] == "." and name.endswith(suffix)) for suffix in self.suffixes)


def row(module: ModuleType) -> Format:
    """The row of a format's module."""
    return Format(module.NAME, module.SUFFIXES, module.sniff, module.load, module.save, module.DOC)


MODULES = (_native, _tiktoken, _merge_dict, _tokenizer_json, _sentencepiece)
FORMATS = MappingProxyType({module.NAME: row(module) for module in MODULES})


def formats() -> Mapping[str, Format]:
    """The file formats that `load` and `Tokenizer.save` know by name.

    Returns: a read-only mapping of names to `Format`.

    >>> import toksmith
    >>> toksmith.formats()["tiktoken"].suffixes
    ('.tiktoken',)
    """
    return FORMATS


def read(
    path: str | os.PathLike[str],
    format: str | None = None,
    pattern: PatternArgument = UNSET,
    special_tokens: Mapping[str, int] | None = None,
) -> Model:
    """The model of a file; what the file holds decides the format unless `format` does.

    Raises:
        FormatError: The file cannot be read, or holds no known format, or not what its format asks for.
        InvalidOption: An argument that the format needs is missing, or one that it has no use for is given.
        UnknownName: There is no such format.
    """
    known = None if format is None else named(format)
    data = read_file(path)
    name = shown(path)
    return (known or sniffed(data, name)).load(data, name, pattern=pattern, special_tokens=special_tokens)


def write(
    model: Model, path: str | os.PathLike[str], format: str | None = None, allow_loss: Collection[str] = ()
) -> None:
    """Writes a model to a file, whole or not at all; the name of the file decides the format unless `format` does.

    Raises:
        CannotRepresent: The format has no room for a field of the model that is not in `allow_loss`.
        FormatError: The name means no format, or the file cannot be written.
        InvalidOption: `allow_loss` names what is no field.
        UnknownName: There is no such format.
    """
    known = by_suffix(shown(path)) if format is None else named(format)
    write_file(path, known.save(model, allow_loss=check_losses(allow_loss)))


def named(format: str) -> Format:
    """The format of this name."""
    if format not in FORMATS:
        raise UnknownName("format", format, difflib.get_close_matches(format, FORMATS) or FORMATS)
    return FORMATS[format]


def sniffed(data: bytes, path: str) -> Format:
    """The one format that the bytes of a file look like."""
    candidates = [row for row in FORMATS.values() if row.sniff(data, path)]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        names = " and ".join(repr(row.name) for row in candidates)
        raise FormatError(path, None, f"looks like {names}; choose with format=")
    content = "is empty" if not data else f"starts with {data[:20]!r}"
    known = ", ".join(FORMATS)
    raise FormatError(path, None, f"{content}, which no known format does; the known ones are {known} (see format=)")


def by_suffix(path: str) -> Format:
    """The one format that the name of a file means."""
    for known in FORMATS.values():
        if known.fits(path):
            return known
    meanings = ", ".join(f"{suffix} ({known.name})" for known in FORMATS.values() for suffix in known.suffixes)
    raise FormatError(path, None, f"the name does not say the format; use format=, or one of {meanings}")
