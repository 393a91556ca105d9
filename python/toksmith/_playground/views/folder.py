"""The map of a folder: the files that the page sends, and the areas of one folder in it.

The browser reads the files that the user opens, and the server reads no file by its path. Until then the page shows the folder
of its own files. Left out: counting, which `explain.folder` does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import toksmith
from toksmith import _render, explain

from .view_request import ViewRequest, decode_file

STATIC = Path(__file__).parent.parent / "static"
OWN = "toksmith playground"
MOST_BYTES = 100_000_000  # of the texts of a folder
MOST_PATHS = 500_000
STEP = 4_000_000  # bytes to count between two checks of the connection
MOST_AREAS = 40  # of one folder
MOST_LISTED = 15
HEAD = 26  # height of a folder's name in pixels
BINARY = b"\0"  # stands for a binary file, which the page does not send


class OpenFolder:
    """The files of a folder that the page sent."""

    def __init__(self, name: str, files: Mapping[str, bytes] | None = None) -> None:
        self.name, self.files = name, dict(files or {})


def own_folder() -> OpenFolder:
    files = sorted(path for path in STATIC.rglob("*") if path.is_file())
    return OpenFolder(OWN, {path.relative_to(STATIC).as_posix(): path.read_bytes() for path in files})


def folder_wanted(request: ViewRequest) -> dict[str, Any]:
    """The indices of the paths that `.gitignore` files do not exclude."""
    paths, ignores = request.strings("paths"), request.values.get("ignores", {})
    if len(paths) > MOST_PATHS:
        raise toksmith.errors.InvalidOption(
            "paths", f"{len(paths):,} files", f"at most {MOST_PATHS:,}; open a folder in it"
        )
    if not isinstance(ignores, dict) or not all(isinstance(each, str) for each in ignores.values()):
        raise toksmith.errors.InvalidOption("ignores", type(ignores).__name__, "the texts of files by their paths")
    try:
        included = frozenset(explain.unignored(paths, ignores))
    except ImportError as error:  # pathspec is missing
        raise toksmith.ToksmithError(str(error)) from None
    return {"wanted": [place for place, path in enumerate(paths) if path in included]}


def folder_files(request: ViewRequest) -> dict[str, Any]:
    """Stores files of a folder: the bytes of each in base64 by its path, or null for a binary file."""
    sent = request.values.get("files", {})
    if not isinstance(sent, dict):
        raise toksmith.errors.InvalidOption("files", type(sent).__name__, "files by their paths")
    files = {path: BINARY if content is None else decode_file(content, "files", path) for path, content in sent.items()}
    key, name = request.string("folder"), request.string("name", "folder")[:200]
    session = request.session
    if not key or len(key) > 100:
        raise toksmith.errors.InvalidOption("folder", key, "a key of 1 to 100 characters")
    target: OpenFolder = session.once("folder", key, lambda: OpenFolder(name))
    with session.lock:
        merged = {**target.files, **files}
        size = sum(map(len, merged.values()))
        if size > MOST_BYTES or len(merged) > MOST_PATHS:
            allowed = f"at most {MOST_BYTES:,} bytes in {MOST_PATHS:,} files; for larger ones there is `toksmith explain folder`"
            raise toksmith.errors.InvalidOption("files", f"{size:,} bytes", allowed)
        target.files = merged
    return {"files": len(merged), "bytes": size}


def folder_of(request: ViewRequest) -> OpenFolder:
    """The folder of a request; without a key, the page's own folder."""
    key = request.string("folder", "")
    return request.once("folder", key, lambda: unknown_folder(key) if key else own_folder())


def unknown_folder(key: str) -> OpenFolder:
    raise toksmith.errors.UnknownName("folder", key, ())


def parts_of(files: Mapping[str, bytes]) -> Iterator[dict[str, bytes]]:
    """The files in parts of about `STEP` bytes."""
    part: dict[str, bytes] = {}
    size = 0
    for path, data in files.items():
        part[path] = data
        size += len(data)
        if size > STEP:
            yield part
            part, size = {}, 0
    yield part


def folder(request: ViewRequest) -> explain.FolderMap:
    """The folder by tokens; the page has already applied the `.gitignore` files."""
    source, tok = folder_of(request), request.tok
    key = (request.string("folder", ""), len(source.files), tok.fingerprint, request.special)

    def make() -> explain.FolderMap:
        files: list[explain.FileTokens] = []
        skipped: list[explain.SkippedFile] = []
        for part in parts_of(source.files):
            request.go_on()
            part_map = explain.folder(tok, part, ignored=True, special=request.special)
            files += part_map.files
            skipped += part_map.skipped
        ordered = sorted(files, key=lambda file: file.path), sorted(skipped)
        return explain.FolderMap(source.name, request.names[request.which], tuple(ordered[0]), tuple(ordered[1]))

    return request.once("folder_map", key, make)


def folder_areas(request: ViewRequest) -> dict[str, Any]:
    """The areas of the folder `inside` the map, two levels deep, and the figures of the whole map."""
    folder_map = folder(request)
    wide, high = (request.number(name, 800, least=1, most=10_000) for name in ("wide", "high"))
    root, inside = folder_map.areas(), ""
    for part in request.string("inside", "").split("/"):
        below = next((each for each in root.below if part and each.name == f"{part}/"), None)
        if below is None:
            break
        root, inside = below, f"{inside}{part}/"
    areas = []
    above = [""] * 3
    head = 100 * HEAD / high
    for each, place, depth in _render.place_areas(root, shape=wide / high, deepest=2, most=MOST_AREAS, head=head):
        above[depth] = above[depth - 1] + each.name
        about = {"name": each.name, "path": inside + above[depth], "said": each.said, "figure": each.figure}
        looks = {"step": each.step, "struck": each.struck, "folder": bool(each.below), "depth": depth}
        areas.append({**about, **looks, "place": [round(part, 3) for part in place]})
    counts = Counter(each.reason for each in folder_map.skipped)
    out = folder_map.left_out
    largest = sorted(folder_map.files, key=lambda file: -file.tokens)[:MOST_LISTED]
    return {
        "folder": folder_map.name,
        "inside": inside,
        "areas": areas,
        "files": len(folder_map.files),
        "bytes": folder_map.bytes,
        "tokens": folder_map.tokens,
        "saved": folder_map.saved,
        "wastes": [dict(vars(waste)) for waste in folder_map.wastes],
        "left_out": [{"path": path, "rule": rule} for path, rule in [*out.items()][:200]],
        "largest": [
            {"path": file.path, "tokens": file.tokens, "bytes": file.bytes, "rule": out.get(file.path, "")}
            for file in largest
        ],
        "skipped": dict(counts.most_common()),
    }
