"""Finds tokenizers of Hugging Face hub repositories: `org/name`, or `org/name@revision`.

The cache of `huggingface_hub` comes first, then the network (`HF_HUB_OFFLINE=1` forbids it, `HF_ENDPOINT` names another
server). A repository often holds a tokenizer in several formats: `CHOICES` lists them by preference.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from logging import ERROR
from pathlib import Path
from threading import Thread
from typing import Any

from .._base.paths import SUFFIXES
from .._render.streams import LOG
from ..errors import DownloadError, FormatError

# The first row whose files a repository holds is its tokenizer. Names in one row are one tokenizer.
CHOICES = (
    ("*.toksmith",),
    ("tokenizer.json",),
    ("tekken.json",),
    ("tokenizer.model",),
    ("*.model",),
    ("*.tiktoken",),
    ("vocab.json", "merges.txt"),
    ("vocab.txt",),
)
NAME = re.compile(r"(?P<repository>[A-Za-z0-9][\w.-]*/[A-Za-z0-9_][\w.-]*)(@(?P<revision>[\w./-]+))?")


def hub_name(source: str) -> tuple[str, str | None] | None:
    """The repository and the revision of `org/name@revision`; None if the text has another form, or names a file.

    >>> hub_name("org/name"), hub_name("org/name@v1.0"), hub_name("data/tokenizer.json"), hub_name("name")
    (('org/name', None), ('org/name', 'v1.0'), None, None)
    """
    match = NAME.fullmatch(source)
    if match is None or match["repository"].lower().endswith(SUFFIXES):
        return None
    return match["repository"], match["revision"]


def download_from_hub(repository: str, revision: str | None = None, *, download: bool = True) -> Path:
    """The path of a repository's tokenizer in the hub's cache; for a tokenizer of several files, the first path."""
    hub = import_hub(repository)
    if (folder := cached_folder(hub, repository, revision)) and (names := choose_files(os.listdir(folder), repository)):
        paths = [folder / name for name in names]
    elif not download:
        raise download_error(
            hub, repository, "the cache of the hub holds no tokenizer of it, and download=False forbids the network"
        )
    else:
        with translate_errors(hub, repository, revision):
            names = choose_files(list_files(hub, repository, revision), repository)
            for url in [hub.hf_hub_url(repository, name, revision=revision) for name in names]:
                hub.get_hf_file_metadata(url)  # a failure is an error at once; the download below repeats it
            paths = [Path(hub.hf_hub_download(repository, name, revision=revision)) for name in names]
        if not names:
            expected = ", ".join(" and ".join(choice) for choice in CHOICES)
            raise download_error(
                hub, repository, f"the repository holds no file of a tokenizer; expected one of {expected}"
            )
    LOG.info("%s: the tokenizer is %s of revision %s", repository, " and ".join(names), paths[0].parent.name)
    return paths[0]


def import_hub(repository: str) -> Any:
    try:
        import huggingface_hub
        from huggingface_hub import constants  # noqa: F401 - makes it an attribute of the module
    except ImportError:
        problem = "there is no such file, and a repository of the Hugging Face hub needs huggingface_hub (pip install toksmith[hub])"
        raise DownloadError(repository, "", "", problem) from None
    return huggingface_hub


def cached_folder(hub: Any, repository: str, revision: str | None) -> Path | None:
    """The folder of the revision in the cache, whose layout the hub's documentation defines; None if there is none."""
    folder = Path(hub.constants.HF_HUB_CACHE, f"models--{repository.replace('/', '--')}")
    ref = revision or "main"
    try:
        commit = (folder / "refs" / ref).read_text(encoding="utf-8").strip()
    except OSError:
        commit = ref
    snapshot = folder / "snapshots" / commit
    return snapshot if snapshot.is_dir() else None


def choose_files(names: Iterable[str], repository: str) -> list[str]:
    """The file names of the tokenizer, by `CHOICES`; empty if there is none. Files in sub-folders do not count."""
    top_level = sorted(name for name in names if "/" not in name)
    for choice in CHOICES:
        matches = [fnmatch.filter(top_level, pattern) for pattern in choice]
        if not all(matches):
            continue
        if len(matches[0]) > 1:
            problem = (
                f"the repository holds {' and '.join(matches[0])}; download the file that you mean, and load its path"
            )
            raise FormatError(repository, None, problem)
        return [group[0] for group in matches]
    return []


def list_files(hub: Any, repository: str, revision: str | None) -> list[str]:
    """The names of the repository's files, by one request; the library's own list repeats a failed one for 24 seconds."""
    api, seconds = hub.HfApi(), hub.constants.HF_HUB_ETAG_TIMEOUT
    answer: Future[list[str]] = Future()  # its limit holds for names and all addresses of the server together

    def ask() -> None:
        try:
            about = api.model_info(repository, revision=revision, timeout=seconds)
            answer.set_result([file.rfilename for file in about.siblings or ()])
        except Exception as error:  # noqa: BLE001 - `result` raises it
            answer.set_exception(error)

    Thread(target=ask, daemon=True).start()
    return answer.result(seconds)


@contextmanager
def translate_errors(hub: Any, repository: str, revision: str | None) -> Iterator[None]:
    """Turns the library's errors into DownloadError, and keeps its warnings from stderr.

    The texts of the errors can contain addresses and headers, so it quotes none.
    """
    from huggingface_hub import errors
    from huggingface_hub.utils import logging

    level = logging.get_verbosity()
    logging.set_verbosity(ERROR)
    try:
        yield
    except errors.GatedRepoError:
        problem = (
            "access is restricted; ask for it on the repository's page, then log in (`hf auth login`, or HF_TOKEN)"
        )
    except errors.RevisionNotFoundError:
        problem = f"the repository has no revision {revision!r}; expected a branch, a tag or a commit"
    except errors.RepositoryNotFoundError:
        problem = "there is no such file and no such repository; a private repository needs a login (`hf auth login`, or HF_TOKEN)"
    except errors.OfflineModeIsEnabled:
        problem = "the cache of the hub holds no tokenizer of it, and HF_HUB_OFFLINE forbids the network"
    except (DownloadError, FormatError):
        raise
    except Exception as error:  # noqa: BLE001 - the errors of its network library vary with its version
        status = getattr(getattr(error, "response", None), "status_code", None)
        reason = type(error).__name__ if status is None else f"the server answered {status}"
        remedy = "try again later, or pass the path of its tokenizer.json"
        problem = f"the cache of the hub holds no tokenizer of it, and the download failed ({reason}); {remedy}"
    else:
        return
    finally:
        logging.set_verbosity(level)
    raise download_error(hub, repository, problem) from None


def download_error(hub: Any, repository: str, problem: str) -> DownloadError:
    return DownloadError(f"{hub.constants.ENDPOINT}/{repository}", "", "", problem)
