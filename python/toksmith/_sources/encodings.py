"""The encodings that tiktoken publishes, by name: one row for each.

Loading looks for a row's file in toksmith's cache, then in tiktoken's, then in installed wheels of `copy_encodings`, then
downloads it (with the extra `download`). It accepts only a file with the published SHA-256. Encodings of Meta, Mistral and
others have no row here, because their files are not free for all to download.

`MODELS` and `PREFIXES` map OpenAI's models to their encodings, as tiktoken 0.14.0 publishes them (`tiktoken/model.py`). A
test compares every row with the installed tiktoken. Other models have no rows here, because their tokenizers are files of
their repositories: `load("org/name")`.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType, SimpleNamespace
from typing import NamedTuple

from .. import _core, _render
from .._base.paths import read_file
from .._base.system import SYSTEM
from .._model.model import AddedToken, Model
from .._model.patterns import splitters
from .._storage.atomic_files import write_file
from ..errors import DownloadError, FormatError

SITE = "https://openaipublic.blob.core.windows.net/encodings/"
WHEEL_FOLDER = "toksmith_vocabulary"  # the folder of installed wheels among the packages; it has no `__init__.py`
TIMEOUT_S = 30
CHUNK = 1 << 16
ENDOFTEXT = "<|endoftext|>"
ENDOFPROMPT = "<|endofprompt|>"
FILL_IN_THE_MIDDLE = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
# Models by their whole names, separated by spaces.
MODEL_NAMES: dict[str, str] = {
    "o200k_base": "o1 o3 o4-mini gpt-5 gpt-4.1 gpt-4o",
    "cl100k_base": "gpt-4 gpt-3.5-turbo gpt-3.5 gpt-35-turbo davinci-002 babbage-002 text-embedding-ada-002 "
    "text-embedding-3-small text-embedding-3-large",
    "p50k_base": "text-davinci-003 text-davinci-002 code-davinci-002 code-davinci-001 code-cushman-002 code-cushman-001 "
    "davinci-codex cushman-codex",
    "p50k_edit": "text-davinci-edit-001 code-davinci-edit-001",
    "r50k_base": "text-davinci-001 text-curie-001 text-babbage-001 text-ada-001 davinci curie babbage ada "
    "text-similarity-davinci-001 text-similarity-curie-001 text-similarity-babbage-001 text-similarity-ada-001 "
    "text-search-davinci-doc-001 text-search-curie-doc-001 text-search-babbage-doc-001 text-search-ada-doc-001 "
    "code-search-babbage-code-001 code-search-ada-code-001",
    "gpt2": "gpt2 gpt-2",
}
# Models by the beginning of their names; the first match counts.
MODEL_BEGINNINGS = (
    ("o200k_base", "o1- o3- o4-mini- gpt-5 gpt-4.5- gpt-4.1- chatgpt-4o- gpt-4o-"),
    ("cl100k_base", "gpt-4- gpt-3.5-turbo- gpt-35-turbo-"),
    ("o200k_harmony", "gpt-oss-"),
    ("o200k_base", "ft:gpt-4o"),
    ("cl100k_base", "ft:gpt-4 ft:gpt-3.5-turbo ft:davinci-002 ft:babbage-002"),
)
MODELS = {model: encoding for encoding, names in MODEL_NAMES.items() for model in names.split()}
PREFIXES = {prefix: encoding for encoding, names in MODEL_BEGINNINGS for prefix in names.split()}


class Published(NamedTuple):
    """One row: a file of ranks, its pattern and its special tokens."""

    name: str
    url: str  # its last part is the file's name in the cache
    sha256: str  # of the file, in hex
    pattern: str  # a name of `toksmith.patterns()`
    special_tokens: Mapping[str, int] = MappingProxyType({})  # if two contents share an id, decoding gives the first


def harmony_tokens() -> dict[str, int]:
    """The special tokens of o200k_harmony: some ids from 199998 on have a use, and all others are reserved.

    200018 has two contents; the content in o200k_base comes first.
    """
    ids = {ENDOFTEXT: 199999, ENDOFPROMPT: 200018, "<|startoftext|>": 199998, "<|call|>": 200012}
    ids |= {"<|return|>": 200002, "<|constrain|>": 200003}
    ids |= {f"<|{name}|>": id for id, name in enumerate(("channel", "start", "end", "message"), 200005)}
    named_ids = {*ids.values()} - {ids[ENDOFPROMPT]}
    reserved_ids = [id for id in range(200000, 201088) if id not in named_ids]
    return ids | {f"<|reserved_{id}|>": id for id in reserved_ids}


R50K = f"{SITE}r50k_base.tiktoken", "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930"
P50K = f"{SITE}p50k_base.tiktoken", "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069"
CL100K = f"{SITE}cl100k_base.tiktoken", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
O200K = f"{SITE}o200k_base.tiktoken", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

CL100K_TOKENS = {
    ENDOFTEXT: 100257,
    **dict(zip(FILL_IN_THE_MIDDLE, range(100258, 100261), strict=True)),
    ENDOFPROMPT: 100276,
}
P50K_EDIT_TOKENS = {ENDOFTEXT: 50256, **dict(zip(FILL_IN_THE_MIDDLE, range(50281, 50284), strict=True))}

ENCODINGS: dict[str, Published] = {
    row.name: row
    for row in (
        # OpenAI publishes GPT-2 as merges and a vocabulary; r50k_base is the same table as ranks.
        Published("gpt2", *R50K, "gpt2", {ENDOFTEXT: 50256}),
        Published("r50k_base", *R50K, "gpt2", {ENDOFTEXT: 50256}),
        Published("p50k_base", *P50K, "gpt2", {ENDOFTEXT: 50256}),
        Published("p50k_edit", *P50K, "gpt2", P50K_EDIT_TOKENS),
        Published("cl100k_base", *CL100K, "cl100k", CL100K_TOKENS),
        Published("o200k_base", *O200K, "o200k", {ENDOFTEXT: 199999, ENDOFPROMPT: 200018}),
        Published("o200k_harmony", *O200K, "o200k", harmony_tokens()),
    )
}


def encodings() -> list[str]:
    """The names of published encodings that `load` accepts.

    >>> import toksmith
    >>> toksmith.encodings()[:3]
    ['gpt2', 'r50k_base', 'p50k_base']
    """
    return list(ENCODINGS)


def models() -> dict[str, str]:
    """The names of OpenAI's models that `load` accepts, with the encoding of each.

    Source: `tiktoken/model.py` of tiktoken 0.14.0.

    >>> import toksmith
    >>> toksmith.models()["gpt-4o"]
    'o200k_base'
    """
    return dict(MODELS)


def load_published(name: str, *, download: bool = True) -> Model:
    row = ENCODINGS[name]
    path, data = find_file(row, download)
    added = tuple(AddedToken(content, id) for content, id in row.special_tokens.items())
    from .._formats.tiktoken import read_ranks

    return read_ranks(data, path, splitters(row.pattern), lambda tokens, ids: added)


def cache_paths(row: Published) -> Iterator[str]:
    """The cache paths of the row's file: its name in toksmith's folder, the SHA-1 of its URL in tiktoken's, wheels."""
    name = row.url.rpartition("/")[2]
    yield os.path.join(cache_folder(), name)
    folders = (os.environ.get(name) for name in ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"))
    tiktoken_folder = next((folder for folder in folders if folder is not None), None)
    if tiktoken_folder is None:
        import tempfile  # slow to import

        tiktoken_folder = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    if tiktoken_folder:  # tiktoken takes the empty name for "no cache"
        import hashlib

        yield os.path.join(tiktoken_folder, hashlib.sha1(row.url.encode()).hexdigest())
    from importlib.util import find_spec

    spec = find_spec(WHEEL_FOLDER)
    yield from (os.path.join(folder, name) for folder in (spec and spec.submodule_search_locations) or ())


def cache_folder() -> str:
    """The folder in `TOKSMITH_CACHE`, or `toksmith` in the user's folder for caches."""
    return os.environ.get("TOKSMITH_CACHE") or SYSTEM.cache_folder(os.path.expanduser("~"))


def cached_files(row: Published) -> Iterator[tuple[str, bytes]]:
    """The path and bytes of each cached file of the row that has the published SHA-256."""
    for place in cache_paths(row):
        try:
            data = read_file(place)
        except FormatError:
            continue
        if _core.sha256(data, len(data)) == row.sha256:
            yield place, data
        else:
            _render.LOG.warning("%s is not the published %s (its sha256 differs) and is ignored", place, row.url)


def find_file(row: Published, download: bool = True) -> tuple[str, bytes]:
    """The path and bytes of the row's file, which is downloaded into the cache if no cache has it."""
    if file := next(cached_files(row), None):
        return file
    target = next(cache_paths(row))

    def failure(problem: str) -> DownloadError:
        return DownloadError(row.url, row.sha256, target, problem)

    if not download:
        raise failure("not cached, and download=False forbids the network")
    try:
        import pooch  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise failure("not cached, and downloading needs pooch (pip install toksmith[download])") from None
    content = io.BytesIO()
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with _render.make_progress(*columns, disable=not sys.stderr.isatty()) as display:
        task = display.add_task(f"Downloading {os.path.basename(target)}", total=None)
        # pooch sets `total`, then calls `update` for each chunk; `total` stays 0 if the server does not send the length.
        bar = SimpleNamespace(total=0, reset=partial(display.reset, task), close=lambda: None)
        bar.update = lambda size: display.update(task, advance=size, total=bar.total or None)
        fetch = pooch.HTTPDownloader(progressbar=bar, chunk_size=CHUNK, timeout=TIMEOUT_S)
        try:
            fetch(row.url, content, None)
        except (OSError, ValueError) as error:
            if (response := getattr(error, "response", None)) is not None:
                response.close()  # pooch leaves the connection open after an HTTP error
            # The causes (sockets, urllib3, requests) repeat the message, each with its own traceback.
            raise failure(f"not cached, and the download failed ({failure_reason(error)})") from None
    data = content.getvalue()
    digest = _core.sha256(data, len(data))
    if digest != row.sha256:
        raise failure(f"the downloaded file is not the published file (its sha256 is {digest}, {len(data)} bytes)")
    try:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        write_file(target, data)
    except (OSError, FormatError) as error:
        _render.LOG.warning("%s was downloaded, but could not be kept in the cache: %s", row.url, error)
    return target, data


def failure_reason(error: Exception) -> str:
    """The reason of a failed download: the message of the first cause, which is the shortest."""
    first: BaseException = error
    while (cause := first.__cause__ or first.__context__) is not None:
        first = cause
    return " ".join(str(first if str(first) else error).split())[:200] or type(error).__name__


def encoding_of(model: str) -> str | None:
    """The encoding of a model by its name, or by the beginning of the name; None if no row matches.

    >>> encoding_of("gpt-4o-2024-08-06"), encoding_of("gpt-4-turbo"), encoding_of("claude")
    ('o200k_base', 'cl100k_base', None)
    """
    by_prefix = (encoding for prefix, encoding in PREFIXES.items() if model.startswith(prefix))
    return MODELS.get(model) or next(by_prefix, None)


def encoding_of_data(data: bytes) -> Published | None:
    """The first row whose published file has these bytes; None if no row has."""
    digest = _core.sha256(data, len(data))
    return next((row for row in ENCODINGS.values() if row.sha256 == digest), None)
