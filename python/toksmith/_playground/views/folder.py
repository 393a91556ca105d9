"""The map of a folder: the files that the page sends, and the areas of one folder in it.

The rule: the browser reads the files that somebody opened, and the server reads none by its path. Until then the page shows a
folder that is always there: the files of the page itself. Left out: what is counted, which `explain.folder` says.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import toksmith
from toksmith import _render, explain

from .asked import Asked, decoded

__all__ = ["folder", "folder_areas", "folder_files", "folder_wanted"]

STATIC = Path(__file__).parent.parent / "static"
OWN = "toksmith playground"
MOST_BYTES = 100_000_000  # of the texts of a folder
MOST_PATHS = 500_000
STEP = 4_000_000  # bytes that are counted before the view looks whether its asker has left
MOST_AREAS = 40  # of one folder
MOST_LISTED = 15
HEAD = 26  # pixels, of a folder's name
BINARY = b"\0"  # in place of a file that the page found to be no text


class OpenFolder:
    """The files of a folder as the page sent them."""

    def __init__(self, name: str, files: Mapping[str, bytes] | None = None) -> None:
        self.name, self.files = name, dict(files or {})


def own_folder() -> OpenFolder:
    files = sorted(path for path in STATIC.rglob("*") if path.is_file())
    return OpenFolder(OWN, {path.relative_to(STATIC).as_posix(): path.read_bytes() for path in files})


def folder_wanted(asked: Asked) -> dict[str, Any]:
    """The places of the paths that `.gitignore` files do not leave out."""
    paths, ignores = asked.strings("paths"), asked.values.get("ignores", {})
    if len(paths) > MOST_PATHS:
        raise toksmith.InvalidOption("paths", f"{len(paths):,} files", f"at most {MOST_PATHS:,}; open a folder in it")
    if not isinstance(ignores, dict) or not all(isinstance(each, str) for each in ignores.values()):
        raise toksmith.InvalidOption("ignores", type(ignores).__name__, "the texts of files by their paths")
    try:
        kept = frozenset(explain.unignored(paths, ignores))
    except ImportError as error:  # pathspec is missing
        raise toksmith.ToksmithError(str(error)) from None
    return {"wanted": [place for place, path in enumerate(paths) if path in kept]}


def folder_files(asked: Asked) -> dict[str, Any]:
    """Takes files of a folder: the bytes of each in base64 by its path, or null for one that is no text."""
    given = asked.values.get("files", {})
    if not isinstance(given, dict):
        raise toksmith.InvalidOption("files", type(given).__name__, "files by their paths")
    files = {path: BINARY if content is None else decoded(content, "files", path) for path, content in given.items()}
    key, name = asked.string("folder"), asked.string("name", "folder")[:200]
    session = asked.session
    if not key or len(key) > 100:
        raise toksmith.InvalidOption("folder", key, "a key of 1 to 100 characters")
    held: OpenFolder = session.once("folder", key, lambda: OpenFolder(name))
    with session.lock:
        joined = {**held.files, **files}
        size = sum(map(len, joined.values()))
        if size > MOST_BYTES or len(joined) > MOST_PATHS:
            allowed = f"at most {MOST_BYTES:,} bytes in {MOST_PATHS:,} files; for larger ones there is `toksmith map`"
            raise toksmith.InvalidOption("files", f"{size:,} bytes", allowed)
        held.files = joined
    return {"files": len(joined), "bytes": size}


def held_folder(asked: Asked) -> OpenFolder:
    """The folder that is asked about; without a key that of the page."""
    key = asked.string("folder", "")
    return asked.once("folder", key, lambda: unknown_folder(key) if key else own_folder())


def unknown_folder(key: str) -> OpenFolder:
    raise toksmith.UnknownName("folder", key, ())


def parts_of(files: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """The files in parts of a few MB, one step each."""
    part: dict[str, bytes] = {}
    size = 0
    for path, data in files.items():
        part[path] = data
        size += len(data)
        if size > STEP:
            yield part
            part, size = {}, 0
    yield part


def folder(asked: Asked) -> explain.FolderMap:
    """The folder by tokens; the page sends what its `.gitignore` files leave."""
    held, tok = held_folder(asked), asked.tok
    key = (asked.string("folder", ""), len(held.files), tok.fingerprint, asked.special)

    def make() -> explain.FolderMap:
        files: list[explain.FileTokens] = []
        skipped: list[explain.SkippedFile] = []
        for part in parts_of(held.files):
            asked.go_on()
            found = explain.folder(tok, part, ignored=True, special=asked.special)
            files += found.files
            skipped += found.skipped
        ordered = sorted(files, key=lambda file: file.path), sorted(skipped)
        return explain.FolderMap(held.name, asked.names[asked.which], tuple(ordered[0]), tuple(ordered[1]))

    return asked.once("folder_map", key, make)


def folder_areas(asked: Asked) -> dict[str, Any]:
    """The areas of one folder in it, two levels deep, and the figures of the whole."""
    found = folder(asked)
    wide, high = (asked.number(name, 800, least=1, most=10_000) for name in ("wide", "high"))
    root, inside = found.areas(), ""
    for part in asked.string("inside", "").split("/"):
        below = next((each for each in root.below if part and each.name == f"{part}/"), None)
        if below is None:
            break
        root, inside = below, f"{inside}{part}/"
    areas = []
    above = [""] * 3
    head = 100 * HEAD / high
    for each, place, depth in _render.placed(root, shape=wide / high, deepest=2, most=MOST_AREAS, head=head):
        above[depth] = above[depth - 1] + each.name
        about = {"name": each.name, "path": inside + above[depth], "said": each.said, "figure": each.figure}
        looks = {"step": each.step, "struck": each.struck, "folder": bool(each.below), "depth": depth}
        areas.append({**about, **looks, "place": [round(part, 3) for part in place]})
    counts = Counter(each.reason for each in found.skipped)
    out = found.left_out
    largest = sorted(found.files, key=lambda file: -file.tokens)[:MOST_LISTED]
    return {
        "folder": found.name,
        "inside": inside,
        "areas": areas,
        "files": len(found.files),
        "bytes": found.bytes,
        "tokens": found.tokens,
        "saved": found.saved,
        "wastes": [dict(vars(waste)) for waste in found.wastes],
        "left_out": [{"path": path, "rule": rule} for path, rule in [*out.items()][:200]],
        "largest": [
            {"path": file.path, "tokens": file.tokens, "bytes": file.bytes, "rule": out.get(file.path, "")}
            for file in largest
        ],
        "skipped": dict(counts.most_common()),
    }
