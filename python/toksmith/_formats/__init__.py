"""Reads and writes models in files: one row for each format. `convert = save(load())`.

A format is a module with a name, suffixes, `sniff`, `load` and `save`, and one row of `MODULES`; `FORMATS` imports the module
on first use. If a format cannot store a field of the model, saving raises an error that names the field. Values that
`load()` takes as arguments and the training record do not count as losses. A format of several files receives and returns
their bytes as a tuple; this module finds, reads and writes the files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

from .._base.paths import Room, printable_path, read_file
from .._base.wording import close_names, list_some
from .._model.model import Model
from .._model.patterns import UNSET, PatternArgument
from .._storage.atomic_files import current_path, finish_renames, make_folder, write_files
from ..errors import CannotRepresent, FormatError, InvalidOption, ModelError, UnknownFormat, UnknownName
from .arguments import check_losses
from .texts import SETS, FileContent

# The largest file, in bytes, of a format whose module sets no other limit.
MOST_BYTES = 1 << 24


@dataclass(frozen=True, eq=False)  # one instance for each name, so identity is equality
class Format:
    """One row of the table of formats.

    Attributes:
        name: The value for `format=` arguments.
        suffixes: Suffixes of its file names (`.toksmith`), whole file names
            (`tokenizer.json`, `merge_dict*.json`), or `/` for a folder.
        sniff: Returns whether the bytes of a file (with its path) look like
            the format.
        load: Returns the model of the bytes of a file, or of the first
            `reads` of the `files`, each with its path.
        save: Returns the bytes of a model's file, or of each of the
            `files`.
        doc: A description in one line.
        arguments: The arguments that `toksmith.load` accepts because the files
            do not contain them.
        files: Sets of file names; the files of a set together are one
            tokenizer.
        reads: The number of files of a set to read; the others are for people.
        start_bytes: The most bytes to read, if other data follows the
            tokenizer; None to read the whole file.
        most_bytes: The largest file to read or write, in bytes; at least four
            times the largest published file.
        conflicts: Names that must not be in the folder, because readers of the
            format would mix those files with the new ones.
        renumber: Maps a model's old ids to the ids that the format requires;
            None if the format requires none or cannot determine them.
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
    conflicts: tuple[str, ...] = ()
    renumber: Callable[[Model], Mapping[int, int]] | None = None

    def fits(self, path: str) -> bool:
        """Whether the file name belongs to the format."""
        import fnmatch

        name = os.path.basename(path).lower() or (path and "/")
        return any(
            fnmatch.fnmatchcase(name, suffix) or (suffix[0] == "." and name.endswith(suffix))
            for suffix in self.suffixes
        )


# Format name to module name.
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
    "transformers": "transformers",
}
# The first bytes of every file of a format, if no other format's files start with them.
STARTS = {b"toksmith 1\nmodel {": "native", b"minbpe v1": "minbpe", b"GGUF": "gguf"}


@cache
def format_row(name: str) -> Format:
    """The row of a format; imports its module."""
    module = import_module(f".{MODULES[name]}", __name__)
    names = ("arguments", "files", "start_bytes", "reads", "most_bytes", "conflicts", "renumber")
    optional_fields = {name: getattr(module, name.upper()) for name in names if hasattr(module, name.upper())}

    def load(content: Any, path: str, **arguments: Any) -> Model:
        try:
            model: Model = module.load(content, path, **arguments)
        except (ModelError, MemoryError) as error:
            problem = str(error) if isinstance(error, ModelError) else "there is not enough memory for its contents"
            raise FormatError(path, None, problem) from error
        return model

    return Format(module.NAME, module.SUFFIXES, module.sniff, load, module.save, module.DOC, **optional_fields)


class FormatRows(Mapping[str, Format]):
    """The rows by name, read-only."""

    def __getitem__(self, name: str) -> Format:
        if name not in MODULES:
            raise KeyError(name)
        return format_row(name)

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


def read_model(
    path: str | os.PathLike[str],
    format: str | None = None,
    pattern: PatternArgument = UNSET,
    special_tokens: Mapping[str, int] | None = None,
) -> Model:
    """The model of a file, or of the only tokenizer in a folder. Without `format`, the content decides the format."""
    file_format = None if format is None else format_by_name(format)
    waiting = finish_pending_renames(path)
    if os.path.isdir(path):
        path = find_in_folder(path, file_format)
    data = read_content(path, file_format, waiting)
    name = printable_path(path)
    file_format = file_format or detect_format(data, name)
    content: bytes | list[FileContent] = data
    if file_format.files:
        content = read_set(path, data, file_format, waiting)
    return file_format.load(content, name, pattern=pattern, special_tokens=special_tokens)


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


def set_paths(path: str | os.PathLike[str], sets: Sequence[Sequence[str]]) -> list[str] | None:
    """The paths of all files of the set to which this file belongs; None if no set has its name."""
    place = os.fspath(path)
    lower = place.lower()
    for names in sets:
        for name in names:
            if lower.endswith(name):
                stem = place[: len(place) - len(name)]
                return [place if other == name else stem + other for other in names]
    return None


def finish_pending_renames(path: str | os.PathLike[str]) -> dict[str, str]:
    """Finishes the renames of files written together if their writer was interrupted; returns what `finish_renames` returns."""
    place = os.fsdecode(path)
    waiting: dict[str, str] = {}
    for names in SETS:
        if os.path.isdir(place):
            waiting |= finish_renames([os.path.join(place, name) for name in names])
        elif paths := set_paths(place, [names]):
            waiting |= finish_renames(paths)
    return waiting


def read_content(
    path: str | os.PathLike[str], known: Format | None = None, waiting: Mapping[str, str] | None = None
) -> bytes:
    """The bytes of a file, or only its start if other data follows the tokenizer. `waiting` is the result of `finish_renames`."""

    def room(ends: bytes) -> Room:
        row = known or detect_format(ends, printable_path(path))
        return Room(row.start_bytes or row.most_bytes, f"the format {row.name!r}", row.start_bytes is None)

    return read_file(current_path(path, waiting) if waiting else path, room)


def find_in_folder(folder: str | os.PathLike[str], known: Format | None) -> str:
    """The path of the only tokenizer in a folder, found by file name."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        raise FormatError(folder, None, f"cannot be read: {error.strerror}") from error
    path_of: dict[str, str] = {}
    for row in FORMATS.values() if known is None else [known]:
        for name in names:
            is_first = row is known and any(name == first for first, *_ in row.files)
            if (is_first or row.fits(name)) and row.name not in path_of:
                path_of[row.name] = os.path.join(os.fspath(folder), name)
    if len({*path_of.values()}) == 1:  # the name can fit several formats; then the content decides
        return next(iter(path_of.values()))
    if not path_of:
        raise FormatError(
            folder,
            None,
            "the folder holds no file of a tokenizer; expected one such as tokenizer.json, vocab.json, NAME.toksmith, "
            "NAME.tiktoken or NAME.model (toksmith.formats() lists all)",
        )
    file_list = list_some([f"{printable_path(os.path.basename(path))} ({name})" for name, path in path_of.items()])
    raise FormatError(folder, None, f"the folder holds {file_list}; name the file, or choose with format=")


def read_set(path: str | os.PathLike[str], data: bytes, known: Format, waiting: Mapping[str, str]) -> list[FileContent]:
    """All files of the tokenizer to which this file belongs."""
    paths = set_paths(path, known.files)
    if known.reads == 1:
        return [FileContent(printable_path(path), data)]
    if paths is None:
        sets = " or ".join(" and ".join(names) for names in known.files)
        raise FormatError(path, None, f"is one of several files; name it like one of: {sets}")
    return [
        FileContent(
            printable_path(place),
            data if os.path.abspath(place) == os.path.abspath(path) else read_content(place, known, waiting),
        )
        for place in paths[: known.reads]
    ]


def detect_path_format(path: str | os.PathLike[str]) -> str | None:
    """The format name of a file or of the only tokenizer in a folder, by content; None if the file does not exist."""
    if not os.path.lexists(path):
        return None
    path = find_in_folder(path, None) if os.path.isdir(path) else path
    return detect_format(read_content(path), printable_path(path)).name


def output_files(path: str | os.PathLike[str], known: Format) -> list[str]:
    """The paths of the files that saving to this path creates."""
    if not known.files:
        return [os.fspath(path)]
    if "/" not in known.suffixes and (paths := set_paths(path, known.files)) is not None:
        return paths
    if known.files[0][0].startswith("."):
        return [os.fspath(path) + suffix for suffix in known.files[0]]
    return [os.path.join(os.fspath(path), name) for name in known.files[0]]


def find_losses(model: Model, known: Format, allow_loss: Collection[str]) -> dict[str, str]:
    """The fields of `allow_loss` that the format really loses, each with the reason of the refusal."""
    names, reasons = check_losses(allow_loss), dict[str, str]()
    for name in sorted(names):
        try:
            known.save(model, allow_loss=names - {name})
        except CannotRepresent as error:
            reasons[name] = error.problem
    return reasons


def write_model(
    model: Model,
    path: str | os.PathLike[str],
    format: str | None = None,
    allow_loss: Collection[str] = (),
    settings: Mapping[str, Any] | None = None,
) -> list[str]:
    """Writes a model to a file, completely or not at all; returns the paths. Without `format`, the name decides the format.

    A format of several files writes them into the folder `path`, which can be new, or next to each other if `path` names
    one of them. Readers find either all of the old files or all of the new files. `settings` are for the format that has some.
    """
    losses = check_losses(allow_loss)
    target_row = format_by_name(format) if format is not None else format_by_suffix(path)
    try:
        output = target_row.save(model, allow_loss=losses, **({"settings": settings} if settings else {}))
    except CannotRepresent as error:
        raise CannotRepresent(error.format, error.field, error.problem, path) from None
    if (size := max(map(len, [output] if isinstance(output, bytes) else output))) > target_row.most_bytes:
        raise CannotRepresent(
            target_row.name,
            "tokens",
            f"a file can have at most {target_row.most_bytes} bytes, but this one would have {size}",
            path,
        )
    targets = output_files(path, target_row)
    for name in target_row.conflicts:
        if os.path.lexists(os.path.join(path, name)):
            problem = f"holds {name}, which {target_row.name} would mix with the new files; move it away, or name another folder"
            raise FormatError(path, None, problem)
    contents = (output,) if isinstance(output, bytes) else output
    is_new = targets[0] == os.path.join(path, os.path.basename(targets[0])) and not os.path.isdir(path)
    if is_new:
        make_folder(path)
    try:
        write_files([*zip(targets, contents, strict=True)])
    except BaseException:
        if is_new:
            with suppress(OSError):  # it holds the files of another process
                os.rmdir(path)
        raise
    return targets


def format_by_name(format: str) -> Format:
    if format not in FORMATS:
        raise UnknownName("format", format, close_names(format, FORMATS) or FORMATS)
    return FORMATS[format]


def detect_format(data: bytes, path: str) -> Format:
    """The one format that the bytes of a file look like."""
    by_start = [FORMATS[name] for start, name in STARTS.items() if data.startswith(start) and name in FORMATS]
    candidates = [row for row in by_start or FORMATS.values() if row.sniff(data, path)]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        names = " and ".join(repr(row.name) for row in candidates)
        raise FormatError(path, None, f"looks like {names}; choose with format=")
    content = "is empty" if not data else f"starts with {data[:20]!r}"
    raise UnknownFormat(
        path,
        None,
        f"{content}, which matches no known format of tokenizers; expected such a file, or choose its format with "
        "format= (toksmith.formats() lists all)",
    )


def format_by_suffix(path: str | os.PathLike[str]) -> Format:
    """The only format whose file names match; for another name of a folder that exists, the format of folders."""
    place = printable_path(path)
    matches = [each for each in FORMATS.values() if each.fits(place)]
    if not matches and os.path.isdir(path):
        matches = [each for each in FORMATS.values() if each.fits("/")]
    if len(matches) == 1:
        return matches[0]
    if matches:
        names = " and ".join(repr(each.name) for each in matches)
        problem = f"the file name fits {names}; give format=, or end the name in .toksmith"
        raise FormatError(path, None, problem)
    raise FormatError(
        path,
        None,
        "the file name does not show the format; give format=, or a name that ends in .toksmith, tokenizer.json, "
        ".tiktoken, .gguf, or in / for a folder that transformers loads (toksmith.formats() lists all)",
    )
