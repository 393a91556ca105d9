"""load: makes a tokenizer from a published name, a file, a model's name or a repository of the Hugging Face hub."""

from __future__ import annotations

import os
from collections.abc import Mapping

from .. import _formats
from .._base.arguments import check_flag
from .._base.paths import SUFFIXES, missing_file_message, printable_path, read_file, similar_files
from .._base.wording import close_names
from .._formats import refuse_arguments
from .._model.patterns import UNSET, PatternArgument
from .._tokenizer.tokenizer import Tokenizer
from ..errors import FormatError, InvalidOption, UnknownName
from .encodings import ENCODINGS, MODELS, encoding_of, encoding_of_data, load_published


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


def unknown_source(source: str) -> UnknownName:
    """The error for a name of nothing, with similar names of encodings, models or files."""
    similar = close_names(source, {**ENCODINGS, **MODELS}) or similar_files(source)
    return UnknownName("encoding or file", source, similar)


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
        raise unknown_source(source)
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
