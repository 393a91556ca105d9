"""The rooms of `_jobs/` import down only, and no two files of a room import each other, one way or another."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

JOBS = Path(__file__).resolve().parents[2] / "python" / "toksmith" / "_jobs"
ROOMS = ("written", "sinks", "one_file", "plans", "make", "folder", "runners", "job")  # from the ground up


def test_rooms_of_jobs_import_down() -> None:
    files: dict[str, set[str]] = {}
    for path in sorted(JOBS.glob("*/*.py")):
        room, name = path.parent.name, path.stem
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            level = getattr(node, "level", 0)
            module = [*filter(None, (getattr(node, "module", None) or "").split("."))]
            for alias in node.names if level in (1, 2) else ():  # type: ignore[attr-defined]
                other, *rest = [room, *module, alias.name] if level == 1 else [*module, alias.name]
                assert ROOMS.index(other) <= ROOMS.index(room), f"{path} imports from {other}, a room above its own"
                files.setdefault(f"{room}/{name}", set()).add(f"{other}/{rest[0] if rest else '__init__'}")
    assert {path.parent.name for path in JOBS.glob("*/*.py")} == {*ROOMS}
    list(TopologicalSorter(files).static_order())
