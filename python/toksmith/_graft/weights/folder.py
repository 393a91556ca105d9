"""Which safetensors files are a model: one file, a folder with one, or several with an index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..._base.errors import FormatError
from ..._formats.json import parse_json
from ..._storage.files import Room, read_file

__all__ = ["INDEX", "WHOLE", "files", "index_of"]

INDEX, WHOLE = "model.safetensors.index.json", "model.safetensors"
MOST_INDEX = 1 << 26


def files(path: Path) -> Iterator[Path]:
    """The safetensors files of a path, where no index lists them."""
    if not path.is_dir():
        yield path
    elif (path / WHOLE).is_file():
        yield path / WHOLE
    else:
        inside = sorted(path.glob("*.safetensors"))
        if not inside:
            raise FormatError(path, None, "the folder contains no .safetensors file")
        yield from inside


def index_of(path: Path) -> dict[str, Path] | None:
    """The file of each tensor, as the index of a folder says; None without an index. `path` may be the index itself.

    Raises:
        FormatError: It is not an index.
    """
    index = path if path.name.endswith(".index.json") else path / INDEX
    if not index.is_file():
        return None
    try:
        data = read_file(index, lambda ends: Room(MOST_INDEX, "the index of a model"))
        places = parse_json(data, MOST_INDEX)["weight_map"]
        return {str(name): index.parent / str(file) for name, file in places.items()}
    except FormatError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise FormatError(index, None, f"is not an index of safetensors files: {problem!r}") from None
