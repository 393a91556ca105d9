"""Tokenizers of repositories on the Hugging Face hub: `org/name`, or `org/name@revision`.

The cache of `huggingface_hub` comes first, then the network (`HF_HUB_OFFLINE=1` forbids it, `HF_ENDPOINT` names another
server). A repository often holds a tokenizer in several formats: `CHOICES` says which one counts.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .._base.errors import DownloadError, FormatError
from .._base.paths import SUFFIXES
from .._render.streams import LOG

__all__ = ["downloaded_from_hub", "hub_name"]

# The first of these that a repository holds is its tokenizer. Names on one line are one tokenizer.
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
    """The repository and the revision of `org/name@revision`; None if the text is no such name, or names a file.

    >>> hub_name("org/name"), hub_name("org/name@v1.0"), hub_name("data/tokenizer.json"), hub_name("name")
    (('org/name', None), ('org/name', 'v1.0'), None, None)
    """
    found = NAME.fullmatch(source)
    if found is None or found["repository"].lower().endswith(SUFFIXES):
        return None
    return found["repository"], found["revision"]


def downloaded_from_hub(repository: str, revision: str | None = None, *, download: bool = True) -> Path:
    """The path of a repository's tokenizer in the cache of the hub. Of several files that belong together it is the first."""
    hub = library(repository)
    if (folder := cached(hub, repository, revision)) and (names := chosen(os.listdir(folder), repository)):
        paths = [folder / name for name in names]
    elif not download:
        raise failure(
            hub, repository, "the cache of the hub holds no tokenizer of it, and download=False forbids the network"
        )
    else:
        with explained(hub, repository, revision):
            listed = hub.HfApi().list_repo_files(repository, revision=revision)
            names = chosen(listed, repository)
            paths = [Path(hub.hf_hub_download(repository, name, revision=revision)) for name in names]
        if not names:
            expected = ", ".join(" and ".join(choice) for choice in CHOICES)
            raise failure(hub, repository, f"the repository holds no file of a tokenizer; expected one of {expected}")
    LOG.info("%s: the tokenizer is %s of revision %s", repository, " and ".join(names), paths[0].parent.name)
    return paths[0]


def library(repository: str) -> Any:
    """The module `huggingface_hub`."""
    try:
        import huggingface_hub
        from huggingface_hub import constants, errors  # noqa: F401 - from now on, attributes of the module
    except ImportError:
        problem = "there is no such file, and a repository of the Hugging Face hub needs huggingface_hub (pip install toksmith[hub])"
        raise DownloadError(repository, "", "", problem) from None
    return huggingface_hub


def cached(hub: Any, repository: str, revision: str | None) -> Path | None:
    """The folder of the revision in the cache, which is laid out as the hub's documentation says."""
    folder = Path(hub.constants.HF_HUB_CACHE, f"models--{repository.replace('/', '--')}")
    asked = revision or "main"
    try:
        commit = (folder / "refs" / asked).read_text(encoding="utf-8").strip()
    except OSError:
        commit = asked
    snapshot = folder / "snapshots" / commit
    return snapshot if snapshot.is_dir() else None


def chosen(names: Iterable[str], repository: str) -> list[str]:
    """The files of the tokenizer, by `CHOICES`; empty if there is none. Files in sub-folders do not count."""
    here = sorted(name for name in names if "/" not in name)
    for choice in CHOICES:
        found = [fnmatch.filter(here, pattern) for pattern in choice]
        if not all(found):
            continue
        if len(found[0]) > 1:
            problem = (
                f"the repository holds {' and '.join(found[0])}; download the one that you mean, and load its path"
            )
            raise FormatError(repository, None, problem)
        return [each[0] for each in found]
    return []


@contextmanager
def explained(hub: Any, repository: str, revision: str | None) -> Iterator[None]:
    """Turns the errors of the library into ours. Their texts may hold addresses and headers, so nothing of them is quoted."""
    errors = hub.errors
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
    except Exception as error:  # noqa: BLE001 - its network library has errors of its own, and changes with its version
        status = getattr(getattr(error, "response", None), "status_code", None)
        said = type(error).__name__ if status is None else f"the server answered {status}"
        problem = f"the cache of the hub holds no tokenizer of it, and the download failed ({said})"
    else:
        return
    raise failure(hub, repository, problem) from None


def failure(hub: Any, repository: str, problem: str) -> DownloadError:
    """The error, with the repository's address."""
    return DownloadError(f"{hub.constants.ENDPOINT}/{repository}", "", "", problem)
