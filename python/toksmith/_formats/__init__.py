"""Model to file and back: one row for each format. `convert = save(load())`.

A format is a module with a name, suffixes, `sniff`, `load` and `save`, and one row of `FORMATS`. What a format cannot
hold is an error with the field's name; what `load()` takes as arguments, and the training record, are no losses. A
format of several files takes and gives their bytes as a tuple; here they are found, read and written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType, ModuleType

from .._atomic_files import current, settle, write_files
from .._errors import CannotRepresent, FormatError, UnknownName, close_names
from .._files import Room, make_folder, read_file, shown
from .._model import Model
from .._patterns import UNSET, PatternArgument
from . import (
    _gguf,
    _gpt2,
    _merge_dict,
    _minbpe,
    _native,
    _sentencepiece,
    _stoi,
    _tekken,
    _tiktoken,
    _tokenizer_json,
    _vocab_txt,
)
from ._arguments import check_losses, refuse_arguments
from ._byte_characters import spelt
from ._file_sets import FileContent, places
from ._peers import NotComparable
from ._peers import opened as opened_by_peer
from ._tiktoken import ranks

__all__ = [
    "FORMATS",
    "Format",
    "NotComparable",
    "format_of",
    "formats",
    "lost_fields",
    "opened_by_peer",
    "ranks",
    "read",
    "refuse_arguments",
    "spelt",
    "target_format",
    "write",
    "written_files",
]


# The room of a format whose module names no other.
MOST_BYTES = 1 << 24


@dataclass(frozen=True)
class Format:
    """One row of the table of formats.

    Attributes:
        name: What `format=` arguments call it.
        suffixes: Ends of file names that mean it (`.toksmith`), or whole file names (`tokenizer.json`).
        sniff: Whether the bytes of a file (and its path) look like it.
        load: The bytes of a file to a model; where there are `files`, the first `reads` of them, each with its path.
        save: A model to the bytes of a file; where there are `files`, of each of them.
        doc: What it is, in a line.
        arguments: What `toksmith.load` may be told because no such file holds it.
        files: Sets of file names that are one tokenizer together.
        reads: How many files of a set are read; the others are for people.
        start_bytes: How much of a file is read at most, where what follows is not the tokenizer's; None for all of it.
        most_bytes: The largest file that is read, or written: at least four times the largest that is published.
    """

    name: str
    suffixes: tuple[str, ...]
    sniff: Callable[[bytes, str], bool]
    load: Callable[..., Model]
    save: Callable[..., bytes | tuple[bytes, ...]]
    doc: str
    arguments: tuple[str, ...] = ()
    files: tuple[tuple[str, ...], ...] = ()
    reads: int = 1
    start_bytes: int | None = None
    most_bytes: int = MOST_BYTES

    def fits(self, path: str) -> bool:
        """Whether the name of this file means the format."""
        name = os.path.basename(path).lower()
        return any(name == suffix or (suffix[0] == "." and name.endswith(suffix)) for suffix in self.suffixes)


def row(module: ModuleType) -> Format:
    """The row of a format's module."""
    names = ("arguments", "files", "start_bytes", "reads", "most_bytes")
    more = {name: getattr(module, name.upper()) for name in names if hasattr(module, name.upper())}
    return Format(module.NAME, module.SUFFIXES, module.sniff, module.load, module.save, module.DOC, **more)


MODULES = (
    _native,
    _tiktoken,
    _merge_dict,
    _tokenizer_json,
    _sentencepiece,
    _gpt2,
    _tekken,
    _minbpe,
    _stoi,
    _gguf,
    _vocab_txt,
)
TRANSFORMERS = ("tokenizer.json", "tokenizer_config.json")  # written together by `compat.transformers`
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
    """The model of a file, or of the one tokenizer in a folder; what the file holds decides the format unless `format` does.

    Raises:
        FormatError: The file cannot be read, or holds no known format, or not what its format asks for.
        InvalidOption: An argument that the format needs is missing, or one that it has no use for is given.
        UnknownName: There is no such format.
    """
    known = None if format is None else named(format)
    waiting = settled(path)
    if os.path.isdir(path):
        path = in_folder(path, known)
    data = content_of(current(path, waiting), known)
    name = shown(path)
    known = known or sniffed(data, name)
    content: bytes | list[FileContent] = data
    if known.files:
        content = read_together(path, data, known, waiting)
    try:
        return known.load(content, name, pattern=pattern, special_tokens=special_tokens)
    except MemoryError as error:
        raise FormatError(name, None, "there is not enough memory for what it holds") from error


def settled(path: str | os.PathLike[str]) -> dict[str, str]:
    """Of files that were written together, puts in place what the process that wrote them could not; see `settle`."""
    place = os.fsdecode(path)
    waiting: dict[str, str] = {}
    for names in (TRANSFORMERS, *(names for row in FORMATS.values() for names in row.files)):
        if os.path.isdir(place):
            waiting |= settle([os.path.join(place, name) for name in names])
        elif found := places(place, [names]):
            waiting |= settle(found)
    return waiting


def content_of(path: str | os.PathLike[str], known: Format | None = None) -> bytes:
    """The bytes of a file; of one that starts with a tokenizer and goes on with something large, its start."""

    def room(ends: bytes) -> Room:
        row = known or sniffed(ends, shown(path))
        return Room(row.start_bytes or row.most_bytes, f"the format {row.name!r}", row.start_bytes is None)

    return read_file(path, room)


def in_folder(folder: str | os.PathLike[str], known: Format | None) -> str:
    """The file of the only tokenizer in a folder: the one whose name is what its format calls such files."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise FormatError(shown(folder), None, f"cannot be read: {error.strerror}") from error
    found: dict[str, str] = {}
    for row in FORMATS.values() if known is None else [known]:
        for name in names:
            if row.fits(name) and row.name not in found:
                found[row.name] = os.path.join(os.fspath(folder), name)
    if len(found) == 1:
        return next(iter(found.values()))
    if not found:
        whole = ", ".join(suffix for row in FORMATS.values() for suffix in row.suffixes)
        raise FormatError(shown(folder), None, f"it is a folder, and holds no file that is named {whole}")
    listed = " and ".join(f"{shown(os.path.basename(path))} ({name})" for name, path in found.items())
    raise FormatError(shown(folder), None, f"the folder holds {listed}; name the file, or choose with format=")


def read_together(
    path: str | os.PathLike[str], data: bytes, known: Format, waiting: Mapping[str, str]
) -> list[FileContent]:
    """The files of the tokenizer that the file of this path is one of."""
    found = places(path, known.files)
    if known.reads == 1:
        return [FileContent(shown(path), data)]
    if found is None:
        sets = " or ".join(" and ".join(names) for names in known.files)
        raise FormatError(
            shown(path), None, f"is one file of several, and which are the others its name must say: {sets}"
        )
    return [
        FileContent(
            shown(place),
            data if os.path.abspath(place) == os.path.abspath(path) else content_of(current(place, waiting), known),
        )
        for place in found[: known.reads]
    ]


def format_of(path: str | os.PathLike[str]) -> str | None:
    """The name of the format that the content of a file, or of the one tokenizer in a folder, says; None for no file."""
    if not os.path.lexists(path):
        return None
    path = in_folder(path, None) if os.path.isdir(path) else path
    return sniffed(content_of(path), shown(path)).name


def target_format(path: str | os.PathLike[str], format: str | None) -> Format:
    """The format that a file is to be written in: the one that is named, else the one that its name means."""
    return by_suffix(shown(path)) if format is None else named(format)


def written_files(path: str | os.PathLike[str], known: Format) -> list[str]:
    """The files that `write` makes for this path."""
    if not known.files:
        return [os.fspath(path)]
    if (found := places(path, known.files)) is not None:
        return found
    if known.files[0][0].startswith("."):
        return [os.fspath(path) + suffix for suffix in known.files[0]]
    return [os.path.join(os.fspath(path), name) for name in known.files[0]]


def lost_fields(model: Model, known: Format, allow_loss: Collection[str]) -> tuple[str, ...]:
    """The fields of `allow_loss` without which a format refuses the model."""
    losses = check_losses(allow_loss)
    return tuple(name for name in sorted(losses) if refuses(model, known, losses - {name}))


def refuses(model: Model, known: Format, losses: Collection[str]) -> bool:
    """Whether the model cannot be saved when only these fields may be lost."""
    try:
        known.save(model, allow_loss=losses)
    except CannotRepresent:
        return True
    return False


def write(
    model: Model, path: str | os.PathLike[str], format: str | None = None, allow_loss: Collection[str] = ()
) -> None:
    """Writes a model to a file, whole or not at all; the name of the file decides the format unless `format` does.

    A format of several files is written into a folder, which may be new, or beside each other where one is named. `read`
    finds all of the old files or all of the new ones.

    Raises:
        CannotRepresent: The format has no room for a field of the model that is not in `allow_loss`.
        FormatError: The name means no format, or the file cannot be written.
        InvalidOption: `allow_loss` names what is no field.
        UnknownName: There is no such format.
    """
    known = target_format(path, format)
    saved = known.save(model, allow_loss=check_losses(allow_loss))
    if (size := max(map(len, [saved] if isinstance(saved, bytes) else saved))) > known.most_bytes:
        raise CannotRepresent(known.name, "tokens", f"a file has at most {known.most_bytes} bytes, and this has {size}")
    targets = written_files(path, known)
    if len(targets) > 1 and os.path.dirname(targets[0]) == os.fspath(path):
        make_folder(path)
    contents = (saved,) if isinstance(saved, bytes) else saved
    write_files([*zip(targets, contents, strict=True)])


def named(format: str) -> Format:
    """The format of this name."""
    if format not in FORMATS:
        raise UnknownName("format", format, close_names(format, FORMATS) or FORMATS)
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
    found = [known for known in FORMATS.values() if known.fits(path)]
    if len(found) == 1:
        return found[0]
    if found:
        names = " and ".join(repr(known.name) for known in found)
        raise FormatError(path, None, f"the name means {names}; choose with format=")
    meanings = ", ".join(f"{suffix} ({known.name})" for known in FORMATS.values() for suffix in known.suffixes)
    raise FormatError(path, None, f"the name does not say the format; use format=, or one of {meanings}")
