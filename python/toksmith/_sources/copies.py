"""copy_encodings: copies the files of published encodings, also as wheels, for machines without a network."""

from __future__ import annotations

import base64
import io
import os
import zipfile
from collections.abc import Sequence

from .. import _core
from .._base.arguments import check_flag, check_items, check_path
from .._base.paths import read_file
from .._storage.atomic_files import make_folder, write_files
from ..errors import FormatError
from .encodings import ENCODINGS, WHEEL_FOLDER, encoding_of_data, find_file
from .load import encoding_by_name, unknown_source

Source = str | os.PathLike[str]


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
        raise unknown_source(source)
    data = find_file(ENCODINGS[name])[1] if name else read_file(source)
    if (row := encoding_of_data(data)) is None:
        raise FormatError(source, None, "is not published; expected the SHA-256 of one of toksmith.encodings()")
    return row.url.rpartition("/")[2], data


def make_wheel(name: str, data: bytes) -> tuple[str, bytes]:
    """The name and the bytes of a wheel that installs one file. A published file never changes: its version is 1."""
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
