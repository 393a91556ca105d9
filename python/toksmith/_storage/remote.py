"""Files behind URLs, by fsspec (`s3://`, `gs://`, `hf://`; to read `http://` and `https://`), and what jobs read, here or there.

No file is written in a `with` block of fsspec: if such a block ends by an exception, fsspec completes the file all the
same, cut short. A file is complete here before the store gets it, and it is there under its name whole or not at all, as
far as the store promises it. Lists that fsspec keeps are dropped before each question. Whatever goes wrong is an OSError.
Left out: the folder of a job (`folders.py`), and formats of files.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from .._base.errors import ToksmithError
from .._base.paths import regular, url_of

__all__ = [
    "InputFacts",
    "LocalInput",
    "RemoteInput",
    "copied",
    "create",
    "facts_of",
    "fetch",
    "files_below",
    "globbed",
    "input_at",
    "listing",
    "opened",
    "put",
    "read",
    "read_each",
    "remove",
    "write",
    "writes",
]

READ_ONLY = ("http", "https")
COPIED_AT_A_TIME = 1 << 24
READ_AT_ONCE = 1 << 8
# What stores call the mark of a file's content, the best first; the others say when it was written.
VERSIONS = (
    "ETag",
    "etag",
    "md5Hash",
    "generation",
    "blob_id",
    "Content-MD5",
    "Digest",
    "Last-Modified",
    "LastModified",
)
WRITTEN = ("last_modified", "mtime", "created")
Ranges = Callable[[int], Sequence[tuple[int, int]] | None]


class InputFacts(NamedTuple):
    """A file as it is now: its size, and its ETag or (on this machine) the time of its last change in ns."""

    bytes: int
    version: int | str


@contextlib.contextmanager
def asked() -> Iterator[None]:
    """Turns whatever a store raises into OSError."""
    try:
        yield
    except FileNotFoundError as problem:
        raise FileNotFoundError("there is no such file, or the store does not give it") from problem
    except (OSError, ToksmithError):
        raise
    except ImportError as missing:
        needs = "pip install 'toksmith[remote]' for s3:// and https://, gcsfs for gs://, huggingface_hub for hf://"
        raise OSError(f"a library is missing ({missing}): {needs}") from missing
    except Exception as problem:  # stores have errors of their own kinds
        raise OSError(f"{type(problem).__name__}: {problem}") from problem


def system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path there."""
    import fsspec

    fs, path = fsspec.core.url_to_fs(url)
    fs.invalidate_cache()
    return fs, path


def refuse_two_slashes(url: str) -> None:
    """Raises OSError for a name that a path cannot hold: it would be that of another file."""
    if "//" in url.partition("://")[2]:
        raise OSError(f"{url} has two slashes in a row, which paths do not keep; copy the file to a name without them")


def writes(url: str) -> bool:
    """Whether files can be written there."""
    return url.partition(":")[0] not in READ_ONLY


def facts_of(url: str) -> InputFacts:
    """The size and the version of a file."""
    with asked():
        fs, path = system(url)
        found = fs.info(path)
    if found.get("type") == "directory":
        raise OSError("it is a folder; a file is expected")
    if not isinstance(found.get("size"), int):
        raise OSError("the server does not say how large it is; download it first")
    versions = (str(found[name]) for name in (*VERSIONS, *WRITTEN) if found.get(name))
    return InputFacts(found["size"], next(versions, ""))


def read(url: str, start: int = 0, stop: int | None = None) -> bytes:
    """The bytes of a file, or a range of them."""
    with asked():
        fs, path = system(url)
        data: bytes = fs.cat_file(path) if stop is None and not start else fs.cat_file(path, start=start, end=stop)
    if stop is not None and len(data) != stop - start:
        said = f"the server gave {len(data):,} bytes for a range of {stop - start:,}"
        raise OSError(f"{said}; if it gives only whole files, download the file first")
    return data


def read_each(urls: Sequence[str], most: int) -> Iterator[bytes | None]:
    """The first bytes of small files, at most so many, which the store may give at the same time; None for one that is not there."""
    for first in range(0, len(urls), READ_AT_ONCE):
        some = urls[first : first + READ_AT_ONCE]
        with asked():
            fs, _ = system(some[0])
            paths = [*map(fs._strip_protocol, some)]
            found = fs.cat_ranges(paths, [0] * len(paths), [most] * len(paths), on_error="return")
        for data in found:
            if isinstance(data, FileNotFoundError):
                yield None
                continue
            if isinstance(data, BaseException):
                with asked():
                    raise data
            yield data


def write(url: str, data: bytes) -> None:
    """Writes a small file in one request."""
    with asked():
        fs, path = system(url)
        if is_whole(fs, "pipe_file"):
            fs.pipe_file(path, data)
        else:
            pushed(fs, path, [data])


def create(url: str, data: bytes) -> None:
    """As `write`, unless the file is there. A store that cannot do both in one request is asked twice."""
    with asked():
        fs, path = system(url)
        if fs.exists(path):
            return
        if not is_whole(fs, "pipe_file"):
            pushed(fs, path, [data])
            return
        try:
            fs.pipe_file(path, data, mode="create")
        except FileExistsError:
            pass
        except (OSError, NotImplementedError):  # some that speak S3 know no condition
            if not fs.exists(path):
                fs.pipe_file(path, data)


def put(local: Path, url: str) -> None:
    """Copies a complete file to the store, and compares its size there."""
    size = os.stat(local).st_size
    with asked():
        fs, path = system(url)
        if is_whole(fs, "put_file"):
            fs.put_file(str(local), path)
        else:
            with open(local, "rb") as file:
                pushed(fs, path, iter(lambda: file.read(COPIED_AT_A_TIME), b""))
    if (there := facts_of(url).bytes) != size:
        raise OSError(f"the store has {there:,} bytes of {size:,}; try again")


def is_whole(fs: Any, call: str) -> bool:
    """Whether a call of the file system writes a file whole or not at all: that of fsspec itself, a `with` block, does not."""
    import fsspec

    return bool(fs.async_impl) or getattr(type(fs), call) is not getattr(fsspec.AbstractFileSystem, call)


def pushed(fs: Any, path: str, parts: Iterable[bytes]) -> None:
    """Writes a file, and gives it up if anything fails."""
    file = fs.open(path, "wb")
    try:
        for data in parts:
            file.write(data)
    except BaseException:
        with contextlib.suppress(AttributeError):
            file.closed = True  # else it is completed when it is collected
        file.discard()
        raise
    file.close()


def fetch(url: str, local: Path, size: int, ranges: Sequence[tuple[int, int]] | None = None) -> None:
    """Copies a file here; with `ranges` only those bytes, at their places in a file of the same size."""
    if ranges is None:
        with asked():
            fs, path = system(url)
            fs.get_file(path, str(local))
    else:
        with open(local, "wb") as file:
            for start, stop in ranges:
                for at in range(start, stop, COPIED_AT_A_TIME):
                    file.seek(at)
                    file.write(read(url, at, min(at + COPIED_AT_A_TIME, stop)))
            file.truncate(size)
    if (found := os.stat(local).st_size) != size:
        raise OSError(f"the store gave {found:,} bytes of {size:,}; try again")


@contextlib.contextmanager
def copied(url: str, ranges: Ranges = lambda size: None) -> Iterator[Path]:
    """A copy of a file in the temporary folder, as of `fetch`, under the same last name.

    Args:
        ranges: Says which bytes, of a file of so many; None means all.
    Raises:
        OSError: As of `fetch`.
    """
    import tempfile  # slow to import

    with tempfile.TemporaryDirectory(prefix="toksmith-", ignore_cleanup_errors=True) as name:
        local = Path(name, url.rpartition("/")[2] or "file")
        size = facts_of(url).bytes
        fetch(url, local, size, ranges(size))
        yield local


def opened(url: str) -> Any:
    """A file that is open for reading in ranges."""
    with asked():
        fs, path = system(url)
        return fs.open(path, "rb")


def listing(url: str) -> dict[str, int]:
    """The sizes of all files below a folder, by their names in it."""
    with asked():
        fs, path = system(url)
        try:
            found = fs.find(path, detail=True)
        except FileNotFoundError:
            return {}
    start = path.rstrip("/") + "/"
    return {name[len(start) :]: int(facts["size"] or 0) for name, facts in found.items() if name.startswith(start)}


def remove(urls: Iterable[str]) -> None:
    """Removes files; one that is not there is no error."""
    for url in urls:
        with asked(), contextlib.suppress(FileNotFoundError):
            fs, path = system(url)
            fs.rm_file(path)


def globbed(url: str) -> list[str]:
    """The files that a URL with `*`, `?`, `[…]` and `**` names, in order; of a web server the one file."""
    refuse_two_slashes(url)
    if not writes(url) or not any(sign in url for sign in "*?["):
        return [url]
    with asked():
        fs, path = system(url)
        found = [f"{url.partition(':')[0]}://{name.lstrip('/')}" for name in sorted(fs.glob(path))]
    for name in found:
        refuse_two_slashes(name)
    return found


def files_below(url: str, suffixes: tuple[str, ...]) -> list[str] | None:
    """The files of these kinds below a folder, in order; None if the URL is not that of a folder."""
    if not writes(url):
        return None
    with asked():
        fs, path = system(url)
        if fs.isfile(path) or not fs.isdir(path):
            return None
    place = url_of(url.rstrip("/"))
    found = [f"{place}/{name}" for name in sorted(listing(url)) if name.endswith(suffixes)]
    for name in found:
        refuse_two_slashes(name)
    return found


# What jobs read: files of this machine and behind URLs answer the same questions


class LocalInput(NamedTuple):
    """A file of this machine."""

    path: str

    def facts(self) -> InputFacts:
        """The file as it is now."""
        if not regular(self.path):
            raise OSError("it is not a regular file, which a job needs to read it again")
        status = os.stat(self.path)
        return InputFacts(status.st_size, status.st_mtime_ns)

    def read(self, start: int, stop: int) -> bytes:
        """A range of its bytes; fewer at its end."""
        with open(self.path, "rb") as file:
            file.seek(start)
            return file.read(stop - start)

    @contextlib.contextmanager
    def here(self, ranges: Ranges) -> Iterator[Path]:
        """The file itself."""
        yield Path(self.path)


class RemoteInput(NamedTuple):
    """A file behind a URL."""

    path: str

    def facts(self) -> InputFacts:
        """The file as it is now."""
        return facts_of(self.path)

    def read(self, start: int, stop: int) -> bytes:
        """A range of its bytes."""
        return read(self.path, start, stop) if start < stop else b""

    def here(self, ranges: Ranges) -> AbstractContextManager[Path]:
        """A file of this machine with the same size, the same last name, and these ranges of bytes at their places.

        Args:
            ranges: Says which, of a file of so many bytes; None means all.
        """
        return copied(self.path, ranges)


def input_at(path: str) -> LocalInput | RemoteInput:
    """The file of a path or a URL."""
    return LocalInput(path) if url_of(path) is None else RemoteInput(path)
