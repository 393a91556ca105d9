"""load: makes a tokenizer from a published name, a file, a model's name or the hub. copy_encodings: published files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from .. import _core, _formats
from .._base.arguments import check_flag, check_items, check_path
from .._base.paths import SUFFIXES, missing_file_message, printable_path, read_file, similar_files
from .._base.wording import close_names
from .._formats import refuse_arguments
from .._model.patterns import UNSET, PatternArgument
from .._storage.atomic_files import make_folder, write_files
from .._tokenizer.tokenizer import Tokenizer
from ..errors import FormatError, InvalidOption, UnknownName
from .encodings import ENCODINGS, WHEEL_FOLDER, encoding_of, encoding_of_data, find_file, load_published

__all__ = ["copy_encodings", "load"]

Source = str | os.PathLike[str]


def load(
    source: str | os.PathLike[str],
    *,
    format: str | None = None,
    pattern: PatternArgument = UNSET,
    special_tokens: Mapping[str, int] | None = None,
    revision: str | None = None,
    download: bool = True,
) -> Tokenizer:
    """Loads a published encoding, a tokenizer file, the encoding of a model, or
    the tokenizer of a repository.

    A `str` means the first of these that exists:

    1. one of `toksmith.encodings()`;
    2. a path. The content of the file decides its format, not its name;
    3. the name of an OpenAI model (`gpt-4o`, `gpt-4-turbo`, `o3`), which means
       its encoding;
    4. `org/name` or `org/name@revision`, a repository of the Hugging Face hub
       (extra `hub`). Its cache comes first, then the network. `load` takes the
       first of these files: a `.toksmith` file, tokenizer.json, tekken.json,
       tokenizer.model, another `.model`, a `.tiktoken`, vocab.json with
       merges.txt, vocab.txt; the log (level INFO) names it.

    A `pathlib.Path` is always a path, and so is `./gpt2`.

    Args:
        source: A published name, a path, a model's name, or a repository.
        format: A name of `toksmith.formats()`; None to detect the format from
            the content.
        pattern: For files without a split pattern (required for `.tiktoken`,
            except for OpenAI's published files, whose SHA-256 gives the pattern
            and the special tokens; optional for `merge_dict.json`): a name of
            `toksmith.patterns()`, a regex in the Rust dialect, a list applied
            in order, or None for no split.
        special_tokens: For the same files: ids by content. No content may
            contain or overlap another.
        revision: For repositories: a branch, a tag or a commit; None for the
            main branch.
        download: Whether the network is allowed for files that this machine
            does not have. False raises `DownloadError` instead, at once.
    Raises:
        FormatError: The file cannot be read, or is invalid in its format. The
            message names the position.
        InvalidOption: An argument that the file requires is missing, or an
            argument contradicts the file.
        ModelError: The file contains a feature that this version can load and
            save but not run. The message names it.
        UnknownName: There is no encoding, file or model of this name (for
            `llama-3`, it says what to pass), or no such format or pattern.
        DownloadError: The file of the encoding or of the repository is not
            cached and cannot be downloaded. The message gives the reason and
            the remedy.
    Cost: time and memory grow with the file.

    >>> import tempfile, toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tok.save(f"{folder}/low.toksmith")
    ...     toksmith.load(f"{folder}/low.toksmith") == tok
    True
    """
    if isinstance(source, str) and (name := encoding_by_name(source)):
        refuse_arguments(f"the published encoding {name!r}", pattern, special_tokens, format)
        refuse_revision(revision, f"{name!r} is a published encoding")
        return Tokenizer(load_published(name, download=check_flag(download, "download")))
    source = resolve_path(source, revision, download=download)
    try:
        model = _formats.read_model(source, format=format, pattern=pattern, special_tokens=special_tokens)
    except InvalidOption:
        row = encoding_of_data(read_file(source)) if pattern is UNSET and os.path.isfile(source) else None
        if row is None:
            raise
        special = row.special_tokens if special_tokens is None else special_tokens
        model = _formats.read_model(source, format=format, pattern=row.pattern, special_tokens=special)
    try:
        return Tokenizer(model)
    except InvalidOption as error:
        if pattern is not UNSET:
            raise
        # The invalid regex comes from the file, not from the caller.
        raise FormatError(source, None, str(error)) from error


def encoding_by_name(source: str) -> str | None:
    """The encoding of a published name or of a model's name; None for other names, and if a file has the model's name."""
    if source in ENCODINGS:
        return source
    encoding = None if "/" in source or os.path.splitext(source)[1] in SUFFIXES else encoding_of(source)
    return None if encoding is None or os.path.lexists(source) else encoding


def resolve_path(source: str | os.PathLike[str], revision: str | None, *, download: bool) -> str | os.PathLike[str]:
    """The path of the file: the source itself, or the repository's file in the hub's cache."""
    if not isinstance(source, str) and os.fspath(source) in ENCODINGS and not os.path.lexists(source):
        name = os.fspath(source)
        raise FormatError(
            name, None, f"cannot be read: {missing_file_message(source)}; toksmith.load({name!r}) is the encoding"
        )
    if not isinstance(source, str) or os.path.lexists(source):
        refuse_revision(revision, f"{printable_path(source)} is a path")
        return source
    from .families import advice_on_model  # imported here, so that loading a file is faster
    from .hub import download_from_hub, hub_name

    is_in_folder = os.path.isdir(os.path.dirname(source))
    if not is_in_folder and (advice := advice_on_model(source)):
        raise UnknownName("tokenizer", source, advice=advice)
    name_parts = hub_name(source)
    if name_parts is None or is_in_folder:
        raise UnknownName("encoding or file", source, close_names(source, ENCODINGS) or similar_files(source))
    repository, own_revision = name_parts
    if own_revision is not None:
        refuse_revision(revision, f"{source!r} names a revision already")
    return download_from_hub(repository, own_revision or revision, download=check_flag(download, "download"))


def refuse_revision(revision: str | None, reason: str) -> None:
    """Raises InvalidOption for `revision`, which only repositories of the hub accept."""
    if revision is not None:
        raise InvalidOption(
            "revision", revision, f"None, because {reason}; only repositories of the Hugging Face hub have revisions"
        )


def copy_encodings(sources: Source | Sequence[Source], folder: Source, *, wheels: bool = False) -> list[str]:
    """Copies the files of published encodings to a folder, for machines without a
    network.

    There, `load` finds them if `TOKSMITH_CACHE` names the folder, or once the
    wheels are installed. It checks each SHA-256.

    Args:
        sources: One or several names of encodings or models, and paths of
            published files. A name's file comes from the caches of this
            machine, else from the network.
        folder: Made if it does not exist.
        wheels: Whether to write wheels; equal files give equal wheels.
    Returns: The paths of the copies, one for each published file.
    Raises:
        UnknownName: There is no encoding, model or file of this name.
        DownloadError: A file is not cached and cannot be downloaded.
        FormatError: A file is not published, the folder has another file of its
            name, or cannot be written. Then nothing is written.

    >>> import toksmith
    >>> toksmith.copy_encodings("gpt-4oo", "offline")
    Traceback (most recent call last):
    toksmith.errors.UnknownName: there is no encoding or file named 'gpt-4oo'; ...
    """
    several = [sources] if isinstance(sources, (str, os.PathLike)) else sources
    listed = check_items(several, "sources", "a name, a path, or a list of str")
    files = dict(read_published(check_path(source, "sources")) for source in listed)
    files = dict(make_wheel(*file) for file in files.items()) if check_flag(wheels, "wheels") else files
    copies = {os.path.join(check_path(folder, "folder"), name): data for name, data in files.items()}
    for path, data in copies.items():
        if os.path.lexists(path) and read_file(path) != data:
            raise FormatError(path, None, "exists with other content; delete it, or choose another folder")
    if copies:
        make_folder(folder)
        write_files([*copies.items()])
    return [*copies]


def read_published(source: str) -> tuple[str, bytes]:
    """The name and the bytes of a published file."""
    name = encoding_by_name(source)
    if name is None and not os.path.lexists(source):
        raise UnknownName("encoding or file", source, close_names(source, ENCODINGS) or similar_files(source))
    data = find_file(ENCODINGS[name])[1] if name else read_file(source)
    if (row := encoding_of_data(data)) is None:
        raise FormatError(source, None, "is not published; expected the SHA-256 of one of toksmith.encodings()")
    return row.url.rpartition("/")[2], data


def make_wheel(name: str, data: bytes) -> tuple[str, bytes]:
    """The name and the bytes of a wheel that installs one file. A published file never changes: its version is 1."""
    import base64
    import io
    import zipfile

    project = f"{WHEEL_FOLDER}_{name.partition('.')[0]}"
    info = f"{project}-1.dist-info"
    about = f"Metadata-Version: 2.1\nName: {project}\nVersion: 1\nSummary: {name} of OpenAI, for toksmith\n"
    tags = "Wheel-Version: 1.0\nGenerator: toksmith\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    parts = {f"{WHEEL_FOLDER}/{name}": data, f"{info}/METADATA": about.encode(), f"{info}/WHEEL": tags.encode()}
    record = ""
    for path, part in parts.items():
        digest = base64.urlsafe_b64encode(bytes.fromhex(_core.sha256(part, len(part)))).rstrip(b"=").decode()
        record += f"{path},sha256={digest},{len(part)}\n"
    with zipfile.ZipFile(wheel := io.BytesIO(), "w") as archive:
        for path, part in {**parts, f"{info}/RECORD": f"{record}{info}/RECORD,,\n".encode()}.items():
            entry = zipfile.ZipInfo(path)  # dated 1980
            entry.create_system, entry.external_attr = 3, 0o100644 << 16  # as on Unix, everywhere
            archive.writestr(entry, part)
    return f"{project}-1-py3-none-any.whl", wheel.getvalue()
