"""Planning asks for each input once: one `stat` of a local file, nothing but the listing of a store that has content hashes."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pyarrow
import pyarrow.parquet
import pytest
from job_corpus import END, TOK, make

import toksmith
from toksmith._corpus import parquet as _parquet
from toksmith._jobs.plans.plan import read_plan

fsspec: Any = pytest.importorskip("fsspec", reason="lacks fsspec")
from fsspec.implementations.memory import MemoryFileSystem


def test_a_local_file_is_asked_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: Counter[str] = Counter()
    folder = tmp_path / "in" / "below"
    folder.mkdir(parents=True)
    for number in range(50):
        (folder / f"{number:02}.txt").write_bytes(b"low lower")
        (folder / f"{number:02}.jsonl").write_bytes(b'{"text": "low"}\n')
    for name in ("stat", "lstat", "open", "readlink"):
        real = getattr(os, name)

        def recorded(path: Any, *more: Any, real: Any = real, **names: Any) -> Any:
            if isinstance(path, (str, os.PathLike)):
                asked[os.path.basename(path)] += 1
            return real(path, *more, **names)

        monkeypatch.setattr(os, name, recorded)
    job = toksmith.corpus.plan(TOK, tmp_path / "in", tmp_path / "out")
    monkeypatch.undo()
    assert (job.files, job.bytes) == (100, 50 * (9 + 16))
    assert {asked[f"{number:02}{kind}"] for number in range(50) for kind in (".txt", ".jsonl")} == {1}


class HashedStore(MemoryFileSystem):  # type: ignore[misc]
    """fsspec's memory with content hashes, as object stores list them, and a record of requests."""

    asked: ClassVar[Counter[str]] = Counter()

    def info(self, path: str, **more: Any) -> Any:
        self.asked["info"] += 1
        return with_hash(super().info(path, **more))

    def find(self, path: str, maxdepth: Any = None, withdirs: bool = False, detail: bool = False, **more: Any) -> Any:
        self.asked["listing"] += 1
        found = super().find(path, maxdepth, withdirs, detail=True, **more)
        return {name: with_hash(facts) for name, facts in found.items()} if detail else [*found]

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **more: Any) -> Any:
        self.asked["read"] += 1
        return super().cat_file(path, start, end, **more)

    def _open(self, path: str, *rest: Any, **more: Any) -> Any:
        self.asked["open"] += 1
        return super()._open(path, *rest, **more)


def with_hash(facts: dict[str, Any]) -> dict[str, Any]:
    return {**facts, "ETag": f"{facts['name']} {facts['size']}"} if facts["type"] == "file" else facts


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    fsspec.register_implementation("memory", HashedStore, clobber=True)
    found = HashedStore()
    yield found
    fsspec.register_implementation("memory", MemoryFileSystem, clobber=True)
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


@pytest.mark.parametrize("corpus", [Path("memory://in"), toksmith.files("memory://in/*")])
def test_a_store_is_asked_for_its_listing_only(corpus: Any, store: Any, tmp_path: Path) -> None:
    counts = []
    for files in (10, 100):
        for number in range(files):
            store.pipe_file(f"/in/{number:03}.jsonl", b'{"text": "low"}\n')
        store.asked.clear()
        job = toksmith.corpus.plan(TOK, corpus, tmp_path / f"out {files}")
        counts.append(Counter(store.asked))
        assert (job.files, job.bytes) == (files, 16 * files)
    assert counts[0] == counts[1] and counts[0]["listing"] and not counts[0]["read"]
    done = job.run(progress=False)  # which compares each input with its plan
    assert done is not None and done.documents == 100


def test_a_store_gives_the_plan_of_this_machine(store: Any, tmp_path: Path) -> None:
    """Files that are cut are read side by side, and stay in order."""
    paths = make(tmp_path / "in")
    table = pyarrow.table({"text": ["low"] * 40})
    for number in range(40):
        path = tmp_path / "in" / f"g{number:02}.parquet"
        pyarrow.parquet.write_table(table, path, row_group_size=7)
        paths.append(path)
    for path in paths:
        store.pipe_file(f"/in/{path.name}", path.read_bytes())
    here, there = (
        read_plan(toksmith.corpus.plan(TOK, place, tmp_path / name, append=END, shard_size=200)._folder)
        for place, name in ((tmp_path / "in", "here"), (Path("memory://in"), "there"))
    )
    assert here.shards == there.shards and len(here.inputs) == len(paths)
    assert [Path(each.path).name for each in there.inputs] == [path.name for path in paths]
    assert [each.bytes for each in there.inputs] == [each.bytes for each in here.inputs]


def test_a_footer_of_a_store_takes_one_request(store: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A footer that is longer than the end that is read at once takes a second one."""
    table = pyarrow.table({"text": ["low"] * 40})
    for number in range(20):
        pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=2 + number)
        store.pipe_file(f"/in/{number:02}.parquet", (tmp_path / "a.parquet").read_bytes())
    plans = []
    for size, requests in ((1 << 16, 20), (9, 40)):
        monkeypatch.setattr(_parquet, "FOOTER_BYTES", size)
        store.asked.clear()
        plans.append(toksmith.corpus.plan(TOK, Path("memory://in"), tmp_path / "out", shard_size=1, dry_run=True)._plan)
        assert (store.asked["read"], store.asked["open"], store.asked["listing"]) == (requests, 0, 1)
        assert store.asked["info"] <= 2
    assert plans[0] == plans[1] and len(plans[0].shards) == sum(-(-40 // (2 + number)) for number in range(20))
    store.pipe_file("/in/00.parquet", b"PAR1 not a table \xff\xff\xff\xffPAR1")
    with pytest.raises(toksmith.errors.CorpusError, match=r"memory://in/00\.parquet: cannot be read: .*[Pp]arquet"):
        toksmith.corpus.plan(TOK, Path("memory://in"), tmp_path / "out")


def test_a_missing_file_of_a_store_stops_the_plan(store: Any, tmp_path: Path) -> None:
    store.pipe_file("/in/a.jsonl", b'{"text": "low"}\n')
    with pytest.raises(
        toksmith.errors.CorpusError, match=r"memory://in/b\.jsonl: cannot be read: there is no such file"
    ):
        toksmith.corpus.plan(TOK, toksmith.files("memory://in/a.jsonl", "memory://in/b.jsonl"), tmp_path / "out")
