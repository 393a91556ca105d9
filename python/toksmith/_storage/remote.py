"""Files at URLs, by fsspec (`s3://`, `gs://`, `hf://`; `http://` and `https://` for reading), and the inputs of jobs.

No file is written in a `with` block of fsspec: if such a block ends by an exception, fsspec still completes the file, cut
short. A file is complete on this machine before it is uploaded, and it appears in the store completely or not at all, as far
as the store guarantees it. The listings that fsspec caches are dropped before each request. Every failure is an OSError.
Left out: the folder of a job (`folders.py`), and file formats.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from .._base.paths import regular_status, url_of
from ..errors import ToksmithError
from .temporary_folder import temporary_folder

READ_ONLY = ("http", "https")
BUCKETS = {"s3": "bucket", "gs": "bucket", "hf": "repository"}
COPIED_AT_A_TIME = 1 << 24
READ_AT_ONCE = 1 << 8
SMALL = 1 << 10  # bytes that are written again to see what a store does
# The stores' names for a file's content hash or version, the best first; `WRITE_TIMES` has the names for its time of writing.
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
WRITE_TIMES = ("last_modified", "mtime", "created")
Ranges = Callable[[int], Sequence[tuple[int, int]] | None]
# File systems, each with a bucket, that were seen to create a file only if it is absent.
CREATING = set[tuple[Any, str]]()


class InputFacts(NamedTuple):
    """The current state of a file: its size, and its ETag or (for a local file) the time of its last change in ns."""

    bytes: int
    version: int | str


@contextlib.contextmanager
def store_at(url: str) -> Iterator[tuple[Any, str]]:
    """The file system of a URL, and the path in it; a failure of the block is an OSError."""
    try:
        yield file_system_at(url)
    except FileNotFoundError as problem:
        refuse_missing_bucket(url)
        raise FileNotFoundError("there is no such file, or the store does not give it") from problem
    except (OSError, ToksmithError):
        raise
    except ImportError as missing:
        needs = "pip install 'toksmith[remote]' for s3:// and https://, gcsfs for gs://, huggingface_hub for hf://"
        raise OSError(f"a library is missing ({missing}): {needs}") from missing
    except Exception as problem:  # each store has its own error classes
        raise OSError(f"{type(problem).__name__}: {problem}") from problem


def file_system_at(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it."""
    import fsspec

    fs, path = fsspec.core.url_to_fs(url)
    fs.invalidate_cache()
    return fs, path


def refuse_missing_bucket(url: str) -> None:
    """Raises OSError if the store says that it does not have the bucket of a URL; for `hf://`, the repository."""
    scheme, _, path = url.partition("://")
    if scheme in BUCKETS:
        depth = (3 if path.startswith(("datasets/", "spaces/")) else 2) if scheme == "hf" else 1
        find_bucket(scheme, "/".join(path.split("/")[:depth]))


@functools.lru_cache
def find_bucket(scheme: str, bucket: str) -> None:
    """Asks the store for a bucket, once for each that it has."""
    try:
        fs, path = file_system_at(f"{scheme}://{bucket}")
        fs.info(path)
    except FileNotFoundError as problem:
        advice = "check its name, and the keys and the address of the store"
        raise OSError(f"there is no {BUCKETS[scheme]} {bucket!r}; {advice}") from problem
    except Exception:  # noqa: BLE001 - keys that write to a bucket need not be allowed to ask for it
        return


def refuse_two_slashes(url: str) -> None:
    """Raises OSError for a name with two slashes in a row: as a path it would name another file."""
    if "//" in url.partition("://")[2]:
        raise OSError(f"{url} has two slashes in a row, which paths do not keep; copy the file to a name without them")


def is_writable(url: str) -> bool:
    return url.partition(":")[0] not in READ_ONLY


def remote_facts(url: str) -> InputFacts:
    with store_at(url) as (fs, path):
        facts = fs.info(path)
    if facts.get("type") == "directory":
        raise OSError("it is a folder; a file is expected")
    if not isinstance(facts.get("size"), int):
        raise OSError("the server does not report its size; download it first")
    versions = (str(facts[name]) for name in (*VERSIONS, *WRITE_TIMES) if facts.get(name))
    return InputFacts(facts["size"], next(versions, ""))


def read_range(url: str, start: int = 0, stop: int | None = None) -> bytes:
    with store_at(url) as (fs, path):
        data: bytes = fs.cat_file(path) if stop is None and not start else fs.cat_file(path, start=start, end=stop)
    if stop is not None and len(data) != stop - start:
        problem = f"the server gave {len(data):,} bytes for a range of {stop - start:,}"
        raise OSError(f"{problem}; if it gives only whole files, download the file first")
    return data


def read_small_files(urls: Sequence[str], most: int) -> Iterator[bytes | None]:
    """The first `most` bytes of small files, which the store can read in parallel; None for a missing file."""
    for first in range(0, len(urls), READ_AT_ONCE):
        batch = urls[first : first + READ_AT_ONCE]
        with store_at(batch[0]) as (fs, _):
            paths = [*map(fs._strip_protocol, batch)]
            contents = fs.cat_ranges(paths, [0] * len(paths), [most] * len(paths), on_error="return")
        for data in contents:
            if isinstance(data, BaseException) and not isinstance(data, FileNotFoundError):
                with store_at(batch[0]):
                    raise data
            yield None if isinstance(data, FileNotFoundError) else data


def write_small_file(url: str, data: bytes) -> None:
    with store_at(url) as (fs, path):
        if writes_atomically(fs, "pipe_file"):
            fs.pipe_file(path, data)
        else:
            write_or_discard(fs, path, [data])


def create_if_absent(url: str, data: bytes) -> bool:
    """Writes a small file only if it does not exist, and returns whether the file is that of this call. A store that cannot do
    both in one request, or was not seen to do it, gets two; of two calls at once, the later one then can replace the file."""
    with store_at(url) as (fs, path):
        bucket = fs, "/".join(url.split("/", 3)[:3])
        if bucket not in CREATING and fs.exists(path):
            return False
        if not writes_atomically(fs, "pipe_file"):
            write_or_discard(fs, path, [data])
        else:
            try:
                fs.pipe_file(path, data, mode="create")
                if bucket not in CREATING and len(data) < SMALL and not is_replaced(fs, path, data):
                    CREATING.add(bucket)
                return True
            except FileExistsError:
                return False
            except (OSError, NotImplementedError):  # some S3-compatible stores have no conditional write
                if not fs.exists(path):
                    fs.pipe_file(path, data)
        return bool(fs.cat_file(path) == data)


def is_replaced(fs: Any, path: str, data: bytes) -> bool:
    """Whether a call that creates a file replaces one that exists: some stores ignore the condition."""
    try:
        fs.pipe_file(path, data, mode="create")
    except FileExistsError:
        return False
    return True


def upload_file(local: Path, url: str) -> None:
    """Uploads a complete file in one upload. `finish` compares the sizes of all files with the receipts."""
    with store_at(url) as (fs, path):
        if writes_atomically(fs, "put_file"):
            fs.put_file(str(local), path)
        else:
            with open(local, "rb") as file:
                write_or_discard(fs, path, iter(lambda: file.read(COPIED_AT_A_TIME), b""))


def writes_atomically(fs: Any, call: str) -> bool:
    """Whether a call of the file system writes a file completely or not at all; the default of fsspec does not."""
    import fsspec

    return bool(fs.async_impl) or getattr(type(fs), call) is not getattr(fsspec.AbstractFileSystem, call)


def write_or_discard(fs: Any, path: str, parts: Iterable[bytes]) -> None:
    """Writes a file, and discards it if anything fails."""
    file = fs.open(path, "wb")
    try:
        for data in parts:
            file.write(data)
    except BaseException:
        with contextlib.suppress(AttributeError):
            file.closed = True  # otherwise the garbage collector completes it
        file.discard()
        raise
    file.close()


def download_file(url: str, local: Path, size: int, ranges: Sequence[tuple[int, int]] | None = None) -> None:
    """Downloads a file; with `ranges` only these bytes, at their places in a file of the same size."""
    if ranges is None:
        with store_at(url) as (fs, path):
            fs.get_file(path, str(local))
    else:
        with open(local, "wb") as file:
            for start, stop in ranges:
                for at in range(start, stop, COPIED_AT_A_TIME):
                    file.seek(at)
                    file.write(read_range(url, at, min(at + COPIED_AT_A_TIME, stop)))
            file.truncate(size)
    if (copied_bytes := os.stat(local).st_size) != size:
        raise OSError(f"the store gave {copied_bytes:,} bytes of {size:,}; try again")


@contextlib.contextmanager
def temporary_copy(url: str, ranges: Ranges = lambda size: None, size: int | None = None) -> Iterator[Path]:
    """A temporary copy of a file, with the same last name, of the `ranges` for its size in bytes (None: all)."""
    with temporary_folder() as folder:
        local = folder / (url.rpartition("/")[2] or "file")
        size = remote_facts(url).bytes if size is None else size
        download_file(url, local, size, ranges(size))
        yield local


def open_remote(url: str) -> Any:
    with store_at(url) as (fs, path):
        return fs.open(path, "rb")


def list_sizes(url: str) -> dict[str, int]:
    """The sizes of all files below a folder, by their names relative to it."""
    return {name: int(info["size"] or 0) for name, info in list_files(url).items()}


def list_files(url: str) -> dict[str, dict[str, Any]]:
    """What the store lists for all files below a folder, by their names relative to it."""
    infos: dict[str, Any] = {}
    with store_at(url) as (fs, path):
        with contextlib.suppress(FileNotFoundError):
            infos = fs.find(path, detail=True)
        if not infos:
            refuse_missing_bucket(url)
    start = path.rstrip("/") + "/"
    return {name[len(start) :]: info for name, info in infos.items() if name.startswith(start)}


def listed_facts(info: dict[str, Any]) -> InputFacts | None:
    """The facts of a file in a listing, equal to `remote_facts`; None if the listing lacks its size or content hash."""
    version = next((str(info[name]) for name in VERSIONS if info.get(name)), None)
    is_known = version is not None and info.get("type") == "file" and isinstance(info.get("size"), int)
    return InputFacts(info["size"], version) if is_known and version is not None else None


def time_of_writing(info: dict[str, Any]) -> float | None:
    """When a listed file was written, in seconds of the store's clock; None if the listing lacks it."""
    for value in map(info.get, ("LastModified", *WRITE_TIMES)):
        if isinstance(value, datetime):
            return value.timestamp()
        if isinstance(value, (int, float)):
            return float(value)
    return None


def remove_together(urls: Sequence[str]) -> bool:
    """Removes files in as few requests as the store needs for many, if it can; it need not report those that stay."""
    if any(sign in url for url in urls for sign in "*?[]{}"):  # fsspec would match them
        return False
    with store_at(urls[0]) as (fs, _), contextlib.suppress(FileNotFoundError):
        if fs.async_impl:
            fs.rm([*map(fs._strip_protocol, urls)])
            return True
    return False


def remove_files(urls: Iterable[str]) -> None:
    """Removes files; missing files are ignored."""
    for url in urls:
        with store_at(url) as (fs, path), contextlib.suppress(FileNotFoundError):
            fs.rm_file(path)


def glob_urls(url: str) -> dict[str, InputFacts | None]:
    """The files that a URL with `*`, `?`, `[…]` and `**` matches, in order, with the facts that the store lists; for a web
    server the URL itself."""
    refuse_two_slashes(url)
    if not is_writable(url) or not any(sign in url for sign in "*?["):
        return {url: None}
    with store_at(url) as (fs, path):
        infos, scheme = fs.glob(path, detail=True), url.partition(":")[0]
        urls = {f"{scheme}://{name.lstrip('/')}": listed_facts(infos[name]) for name in sorted(infos)}
        if not urls:
            refuse_missing_bucket(url)
    for name in urls:
        refuse_two_slashes(name)
    return urls


def files_below(url: str, suffixes: tuple[str, ...]) -> dict[str, InputFacts | None] | None:
    """The files with these suffixes below a folder, in order, with the facts that the store lists; None if the URL is not a
    folder."""
    if not is_writable(url):
        return None
    with store_at(url) as (fs, path):
        if fs.isfile(path) or not fs.isdir(path):
            return None
    base = url_of(url.rstrip("/"))
    infos = list_files(url)
    urls = {f"{base}/{name}": listed_facts(infos[name]) for name in sorted(infos) if name.endswith(suffixes)}
    for name in urls:
        refuse_two_slashes(name)
    return urls


# Inputs of jobs: one interface for local files and URLs


class LocalInput(NamedTuple):
    path: str

    def facts(self) -> InputFacts:
        if (status := regular_status(self.path)) is None:
            raise OSError("it is not a regular file; a job must be able to read it again")
        return InputFacts(status.st_size, status.st_mtime_ns)

    def read(self, start: int, stop: int) -> bytes:
        """A range of its bytes; fewer at its end."""
        with open(self.path, "rb") as file:
            file.seek(start)
            return file.read(stop - start)

    @contextlib.contextmanager
    def local_copy(self, ranges: Ranges, size: int | None = None) -> Iterator[Path]:
        yield Path(self.path)


class RemoteInput(NamedTuple):
    path: str

    def facts(self) -> InputFacts:
        return remote_facts(self.path)

    def read(self, start: int, stop: int) -> bytes:
        return read_range(self.path, start, stop) if start < stop else b""

    def local_copy(self, ranges: Ranges, size: int | None = None) -> AbstractContextManager[Path]:
        """A local file with the same size and last name, and these ranges of bytes (None: all) at their places. If the `size`
        is given, the store is not asked for it."""
        return temporary_copy(self.path, ranges, size)


def input_at(path: str) -> LocalInput | RemoteInput:
    return LocalInput(path) if url_of(path) is None else RemoteInput(path)
