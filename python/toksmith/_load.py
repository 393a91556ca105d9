"""load: makes a tokenizer from a published name or a file."""

from __future__ import annotations

import os
from collections.abc import Mapping

from . import _formats
from ._arguments import checked
from ._encodings import encodings, published
from ._errors import FormatError, InvalidOption, UnknownName, close_names
from ._files import shown
from ._formats import refuse_arguments
from ._paths import missing, similar
from ._patterns import UNSET, PatternArgument
from ._tokenizer import Tokenizer

__all__ = ["load"]


@checked
def load(
    source: str | os.PathLike[str],
    *,
    format: str | None = None,
    pattern: PatternArgument = UNSET,
    special_tokens: Mapping[str, int] | None = None,
) -> Tokenizer:
    """Loads a published encoding or a tokenizer file.

    A `str` that is one of `toksmith.encodings()` means that encoding;
    everything else is a path (`./gpt2` or a `pathlib.Path` for a file of the
    same name). The content of the file decides its format, not its name.

    Args:
        source: A published name, or a path.
        format: A name of `toksmith.formats()`; None to detect the format from
            the content.
        pattern: For files without a split pattern (required for `.tiktoken`,
            optional for `merge_dict.json`): a name of `toksmith.patterns()`, a
            regex in the Rust dialect, a list applied in order, or None for no
            split.
        special_tokens: For the same files: ids by content. No content may
            contain or overlap another.
    Raises:
        FormatError: The file cannot be read, or is not valid in its format. The
            message names the place.
        InvalidOption: An argument that the file requires is missing, or an
            argument contradicts the file.
        ModelError: The file contains a feature that this version can load and
            save but not run. The message names it.
        UnknownName: There is no encoding or file of this name, or no such
            format or pattern.
        DownloadError: The encoding's file is not cached and cannot be
            downloaded. The message says which file to put where.
    Cost: time and memory grow with the file.

    >>> import tempfile, toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tok.save(f"{folder}/low.toksmith")
    ...     toksmith.load(f"{folder}/low.toksmith") == tok
    True
    """
    if isinstance(source, str):
        if source in encodings():
            refuse_arguments(f"the published encoding {source!r}", pattern, special_tokens, format)
            return Tokenizer(published(source))
        if not os.path.lexists(source):
            raise UnknownName("encoding or file", source, close_names(source, encodings()) or similar(source))
    elif os.fspath(source) in encodings() and not os.path.lexists(source):
        name = os.fspath(source)
        raise FormatError(name, None, f"cannot be read: {missing(source)}; toksmith.load({name!r}) is the encoding")
    model = _formats.read(source, format=format, pattern=pattern, special_tokens=special_tokens)
    try:
        return Tokenizer(model)
    except InvalidOption as error:
        if pattern is not UNSET:
            raise
        # The invalid regex comes from the file, not from the caller.
        raise FormatError(shown(source), None, str(error)) from error
