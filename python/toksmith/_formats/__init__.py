"""Reads and writes models in files: one row for each format. `convert = save(load())`.

A format is a module with a name, suffixes, `sniff`, `load` and `save`, and one row of `MODULES`; the module is imported when
`FORMATS` is asked for it. If a format cannot store a field of the model, saving raises an error that names the field. Values
that `load()` takes as arguments and the training record do not count as losses. A format of several files receives and
returns their bytes as a tuple; this file finds, reads and writes them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from .._base.errors import CannotRepresent, FormatError, InvalidOption, ModelError, UnknownName, close_names, some_of
from .._base.paths import Room, read_file, shown
from .._model.model import Model
from .._model.patterns import UNSET, PatternArgument
from .._storage.atomic_files import current, make_folder, settle, write_files
from .arguments import check_losses
from .texts import SETS, FileContent

__all__ = [
    "FORMATS",
    "Format",
    "format_of",
    "formats",
    "holding",
    "losses",
    "read",
    "refuse_arguments",
    "target_format",
    "write",
    "written_files",
]


# The largest file of a format whose module sets no other limit.
MOST_BYTES = 1 << 24


@dataclass(frozen=True, eq=False)  # each name has one row
class Format:
    """One row of the table of formats.

    Attributes:
        name: The value for `format=` arguments.
        suffixes: Suffixes of its file names (`.toksmith`), or whole file names
            (`tokenizer.json`, `merge_dict*.json`).
        sniff: Tells whether the bytes of a file (with its path) look like the
            format.
        load: Makes a model from the bytes of a file, or of the first `reads`
            of the `files`, each with its path.
        save: Makes the bytes of a file from a model, or of each of the
            `files`.
        doc: A description in one line.
        arguments: The arguments that `toksmith.load` accepts because the files
            do not contain them.
        files: Sets of file names; the files of a set together are one
            tokenizer.
        reads: The number of files of a set to read; the others are for people.
        start_bytes: The most bytes to read, if other data follows the
            tokenizer; None to read the whole file.
        most_bytes: The largest file to read or write, at least four times the
            largest published one.
        renumber: Gives a model's ids as the format requires them, by old id;
            None if it requires none, or cannot tell which.
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
    renumber: Callable[[Model], Mapping[int, int]] | None = None

    def fits(self, path: str) -> bool:
        """Whether the file name belongs to the format."""
        import fnmatch

        name = os.path.basename(path).lower()
        return any(
            fnmatch.fnmatchcase(name, suffix) or (suffix[0] == "." and name.endswith(suffix))
            for suffix in self.suffixes
        )


# By name, the module of each format.
MODULES = {
    "native": "native",
    "tiktoken": "tiktoken",
    "merge_dict": "merge_dict",
    "tokenizer_json": "tokenizer_json",
    "sentencepiece": "sentencepiece",
    "gpt2": "gpt2",
    "tekken": "tekken",
    "minbpe": "minbpe",
    "stoi": "stoi",
    "gguf": "gguf",
    "vocab_txt": "vocab_txt",
}
# What every file of a format begins with, where no file of another one does.
STARTS = {b"toksmith 1\nmodel {": "native", b"minbpe v1": "minbpe", b"GGUF": "gguf"}


@cache
def row(name: str) -> Format:
    """The row of a format; imports its module."""
    module = import_module(f".{MODULES[name]}", __name__)
    names = ("arguments", "files", "start_bytes", "reads", "most_bytes", "renumber")
    more = {name: getattr(module, name.upper()) for name in names if hasattr(module, name.upper())}

    def load(content: Any, path: str, **arguments: Any) -> Model:
        try:
            model: Model = module.load(content, path, **arguments)
        except (ModelError, MemoryError) as error:
            problem = str(error) if isinstance(error, ModelError) else "there is not enough memory for its contents"
            raise FormatError(path, None, problem) from error
        return model

    return Format(module.NAME, module.SUFFIXES, module.sniff, load, module.save, module.DOC, **more)


class FormatRows(Mapping[str, Format]):
    """The rows by name, read-only."""

    def __getitem__(self, name: str) -> Format:
        if name not in MODULES:
            raise KeyError(name)
        return row(name)

    def __contains__(self, name: object) -> bool:
        return name in MODULES

    def __iter__(self) -> Iterator[str]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)

    def __repr__(self) -> str:
        return f"<{len(self)} formats: {', '.join(self)}>"


FORMATS: Mapping[str, Format] = FormatRows()


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
    """The model of a file, or of the only tokenizer in a folder. The content decides the format unless `format` does."""
    known = None if format is None else named(format)
    waiting = settled(path)
    if os.path.isdir(path):
        path = in_folder(path, known)
    data = content_of(path, known, waiting)
    name = shown(path)
    known = known or sniffed(data, name)
    content: bytes | list[FileContent] = data
    if known.files:
        content = read_together(path, data, known, waiting)
    return known.load(content, name, pattern=pattern, special_tokens=special_tokens)


def refuse_arguments(
    where: str, pattern: PatternArgument, special_tokens: Mapping[str, int] | None, format: str | None = None
) -> None:
    """Raises InvalidOption for an argument that `where` already defines."""
    if pattern is not UNSET:
        raise InvalidOption("pattern", pattern, f"no value: {where} defines its own split pattern")
    if special_tokens is not None:
        raise InvalidOption("special_tokens", special_tokens, f"no value: {where} defines its own special tokens")
    if format is not None:
        raise InvalidOption("format", format, f"no value: {where} has a fixed format")


def places(path: str | os.PathLike[str], sets: Sequence[Sequence[str]]) -> list[str] | None:
    """The paths of all files of the set to which this file belongs; None if no set has its name."""
    place = os.fspath(path)
    lower = place.lower()
    for names in sets:
        for name in names:
            if lower.endswith(name):
                stem = place[: len(place) - len(name)]
                return [place if other == name else stem + other for other in names]
    return None


def settled(path: str | os.PathLike[str]) -> dict[str, str]:
    """Finishes renaming files that were written together, if their writer was stopped; see `settle`."""
    place = os.fsdecode(path)
    waiting: dict[str, str] = {}
    for names in SETS:
        if os.path.isdir(place):
            waiting |= settle([os.path.join(place, name) for name in names])
        elif found := places(place, [names]):
            waiting |= settle(found)
    return waiting


def content_of(
    path: str | os.PathLike[str], known: Format | None = None, waiting: Mapping[str, str] | None = None
) -> bytes:
    """The bytes of a file, or only its start if large data follows the tokenizer. `waiting` is the result of `settle`."""

    def room(ends: bytes) -> Room:
        row = known or sniffed(ends, shown(path))
        return Room(row.start_bytes or row.most_bytes, f"the format {row.name!r}", row.start_bytes is None)

    return read_file(current(path, waiting) if waiting else path, room)


def in_folder(folder: str | os.PathLike[str], known: Format | None) -> str:
    """The file of the only tokenizer in a folder, found by its name."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise FormatError(folder, None, f"cannot be read: {error.strerror}") from error
    found: dict[str, str] = {}
    for row in FORMATS.values() if known is None else [known]:
        for name in names:
            if row.fits(name) and row.name not in found:
                found[row.name] = os.path.join(os.fspath(folder), name)
    if len({*found.values()}) == 1:  # if its name fits several formats, its content decides
        return next(iter(found.values()))
    if not found:
        raise FormatError(
            folder,
            None,
            "the folder holds no file of a tokenizer; expected one such as tokenizer.json, vocab.json, NAME.toksmith, "
            "NAME.tiktoken or NAME.model (toksmith.formats() lists all)",
        )
    listed = some_of([f"{shown(os.path.basename(path))} ({name})" for name, path in found.items()])
    raise FormatError(folder, None, f"the folder holds {listed}; name the file, or choose with format=")


def read_together(
    path: str | os.PathLike[str], data: bytes, known: Format, waiting: Mapping[str, str]
) -> list[FileContent]:
    """All files of the tokenizer to which this file belongs."""
    found = places(path, known.files)
    if known.reads == 1:
        return [FileContent(shown(path), data)]
    if found is None:
        sets = " or ".join(" and ".join(names) for names in known.files)
        raise FormatError(path, None, f"is one of several files; name it like one of: {sets}")
    return [
        FileContent(
            shown(place),
            data if os.path.abspath(place) == os.path.abspath(path) else content_of(place, known, waiting),
        )
        for place in found[: known.reads]
    ]


def format_of(path: str | os.PathLike[str]) -> str | None:
    """The format name of a file or of the only tokenizer in a folder, by content; None if the file does not exist."""
    if not os.path.lexists(path):
        return None
    path = in_folder(path, None) if os.path.isdir(path) else path
    return sniffed(content_of(path), shown(path)).name


def target_format(path: str | os.PathLike[str], format: str | None) -> Format:
    """The format to write: `format` if given, otherwise the format of the file name."""
    return by_suffix(shown(path)) if format is None else named(format)


def written_files(path: str | os.PathLike[str], known: Format) -> list[str]:
    """The files that `write` creates for this path."""
    if not known.files:
        return [os.fspath(path)]
    if (found := places(path, known.files)) is not None:
        return found
    if known.files[0][0].startswith("."):
        return [os.fspath(path) + suffix for suffix in known.files[0]]
    return [os.path.join(os.fspath(path), name) for name in known.files[0]]


def losses(model: Model, known: Format, allow_loss: Collection[str]) -> dict[str, str]:
    """The fields of `allow_loss` without which a format refuses the model, and why it does."""
    allowed = check_losses(allow_loss)
    refused = {name: refusal(model, known, allowed - {name}) for name in sorted(allowed)}
    return {name: error.problem for name, error in refused.items() if error is not None}


def refusal(model: Model, known: Format, losses: Collection[str]) -> CannotRepresent | None:
    """Why saving fails if only these fields may be lost; None if it does not fail."""
    try:
        known.save(model, allow_loss=losses)
    except CannotRepresent as error:
        return error
    return None


def write(
    model: Model, path: str | os.PathLike[str], format: str | None = None, allow_loss: Collection[str] = ()
) -> None:
    """Writes a model to a file, completely or not at all. The file name decides the format unless `format` does.

    The files of a format of several files go into the folder `path`, which may be new, or side by side if `path` names one
    of them. `read` finds either all of the old files or all of the new ones.
    """
    losses = check_losses(allow_loss)
    known = target_format(path, format) if format is not None else holding(model, shown(path), losses)
    try:
        saved = known.save(model, allow_loss=losses)
    except CannotRepresent as error:
        raise CannotRepresent(error.format, error.field, error.problem, path) from None
    if (size := max(map(len, [saved] if isinstance(saved, bytes) else saved))) > known.most_bytes:
        raise CannotRepresent(
            known.name,
            "tokens",
            f"a file can have at most {known.most_bytes} bytes, but this one would have {size}",
            path,
        )
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
    own = [FORMATS[name] for start, name in STARTS.items() if data.startswith(start) and name in FORMATS]
    candidates = [row for row in own or FORMATS.values() if row.sniff(data, path)]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        names = " and ".join(repr(row.name) for row in candidates)
        raise FormatError(path, None, f"looks like {names}; choose with format=")
    content = "is empty" if not data else f"starts with {data[:20]!r}"
    raise FormatError(
        path,
        None,
        f"{content}, which matches no known format of tokenizers; expected such a file, or choose its format with "
        "format= (toksmith.formats() lists all)",
    )


def holding(model: Model, path: str, allow_loss: Collection[str]) -> Format:
    """The only format to which the file name belongs, and which can hold the model where several do."""
    losses = check_losses(allow_loss)
    fitting = [known for known in FORMATS.values() if known.fits(path)]
    if len(fitting) > 1 and len(able := [known for known in fitting if refusal(model, known, losses) is None]) == 1:
        return able[0]
    return by_suffix(path)


def by_suffix(path: str) -> Format:
    """The only format to which the file name belongs."""
    found = [known for known in FORMATS.values() if known.fits(path)]
    if len(found) == 1:
        return found[0]
    if found:
        names = " and ".join(repr(known.name) for known in found)
        raise FormatError(path, None, f"the file name fits {names}; choose with format=")
    raise FormatError(
        path,
        None,
        "the file name does not show the format; give format=, or a name that ends in .toksmith, tokenizer.json, "
        ".tiktoken, .model or .gguf (toksmith.formats() lists all)",
    )
