"""Files behind URLs, by fsspec: `s3://`, `gs://`, `hf://`, and to read `http://` and `https://`.

`store.py` asks the stores; `inputs.py` is what jobs read, here or behind a URL, with one interface. Left out: the folder of
a job (`_storage/folders.py`), and formats of files.
"""

from __future__ import annotations

from .inputs import InputFacts, LocalInput, RemoteInput, input_at
from .store import (
    copied,
    create,
    facts_of,
    fetch,
    files_below,
    globbed,
    listing,
    opened,
    put,
    read,
    read_each,
    remove,
    write,
    writes,
)

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
