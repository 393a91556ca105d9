"""Folders and tables at URLs give the results of this machine in every call that takes the folder of a job."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import job_corpus
import pyarrow as arrow
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from job_corpus import END, TOK, content

import toksmith
from toksmith._cli import app
from toksmith._corpus import File
from toksmith._corpus.blocks import local_file
from toksmith._jobs.folder import finish as _finish
from toksmith._storage import remote as _store
from toksmith.errors import CorpusError, FormatError, JobError

fsspec: Any = pytest.importorskip("fsspec", reason="lacks fsspec")
from fsspec.implementations.memory import MemoryFileSystem

IN = Path("memory://in")


@pytest.fixture(autouse=True)
def store(tmp_path: Path) -> Iterator[Any]:
    """fsspec's memory with the corpus of `job_corpus`."""
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    found = MemoryFileSystem()
    for path in job_corpus.make(tmp_path / "in"):
        found.pipe_file(f"/in/{path.name}", path.read_bytes())
    yield found
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def down(url: str, folder: Path) -> dict[str, str]:
    """The checksums of the files of a folder of the store."""
    for name in _store.list_sizes(url):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(_store.read_range(f"{url}/{name}"))
    return content(folder)


def run_job(corpus: Any, folder: str | Path, **options: Any) -> toksmith.corpus.Tokenized:
    """A finished job."""
    job = toksmith.corpus.plan(TOK, corpus, folder, **{"append": END, "shard_size": job_corpus.SHARD, **options})
    done = job.run(progress=False)
    assert done is not None
    return done


def test_a_counting_job_equals_one_of_this_machine(tmp_path: Path) -> None:
    options: dict[str, Any] = {"shard_size": job_corpus.SHARD, "errors": "skip"}
    here = toksmith.corpus.plan_counts(tmp_path / "in", tmp_path / "out", **options).run(progress=False)
    job = toksmith.corpus.plan_counts(IN, "memory://out", **options)
    with pytest.raises(FormatError, match=r"memory://out: the job is not finished"):
        toksmith.corpus.PieceCounts.load("memory://out")
    there = job.run(progress=False, part="0/2")
    assert there is None and job.status().done == len(range(0, job.shards, 2)) and job.status().running == ()
    there = job.run(progress=False)
    assert here is not None and there is not None
    assert (there.documents, there.ids, there.files) == (here.documents, here.ids, here.files)
    own, found = content(tmp_path / "out"), down("memory://out", tmp_path / "down")
    assert {*own} == {*found} and all(own[name] == found[name] for name in here.files)
    assert toksmith.corpus.verify("memory://out", source=True).ok
    with pytest.raises(JobError, match=r"^memory://out: this job counts pieces"):
        toksmith.corpus.show("memory://out")

    loaded = toksmith.corpus.PieceCounts.load("memory://out")
    assert loaded.items() == toksmith.corpus.PieceCounts.load(tmp_path / "out").items() and loaded.has_positions
    toksmith.corpus.merge_counts(["memory://out"], tmp_path / "there.parquet")
    toksmith.corpus.merge_counts([tmp_path / "out"], tmp_path / "here.parquet")
    assert (tmp_path / "there.parquet").read_bytes() == (tmp_path / "here.parquet").read_bytes()


@pytest.mark.parametrize("suffix", ["parquet", "tsv"])
def test_files_of_counts_are_loaded(suffix: str, store: Any, tmp_path: Path) -> None:
    counts = toksmith.corpus.count("low lower low")
    counts.save(tmp_path / f"one.{suffix}")
    store.put_file(str(tmp_path / f"one.{suffix}"), f"/counts/one.{suffix}")
    store.put_file(str(tmp_path / f"one.{suffix}"), f"/counts/two.{suffix}")
    assert dict(toksmith.corpus.PieceCounts.load(f"memory://counts/one.{suffix}").items()) == dict(counts.items())
    both = toksmith.corpus.PieceCounts.load("memory://counts")
    assert dict(both.items()) == {piece: 2 * count for piece, count in counts.items()}
    store.rm_file(f"/counts/one.{suffix}")
    store.pipe_file(f"/counts/two.{suffix}", b"neither")
    with pytest.raises(toksmith.ToksmithError, match=rf"memory://counts/two\.{suffix}"):
        toksmith.corpus.PieceCounts.load("memory://counts")


@pytest.mark.slow
def test_merged_shards_equal_those_of_this_machine(tmp_path: Path) -> None:
    for name, to in (("one", "parquet"), ("two", "hf")):
        run_job(tmp_path / "in", tmp_path / name, to=to, id_field="id")
        run_job(IN, f"memory://{name}", to=to, id_field="id")
    here = toksmith.corpus.merge([tmp_path / "one", tmp_path / "two"], tmp_path / "all")
    there = toksmith.corpus.merge(["memory://one", "memory://two"], "memory://all")
    mixed = toksmith.corpus.merge([tmp_path / "one", "memory://two"], tmp_path / "mixed", to="nanogpt")
    assert there.place == "memory://all" and (there.documents, there.files) == (here.documents, here.files)
    own, found = content(tmp_path / "all"), down("memory://all", tmp_path / "down")
    assert {*own} == {*found} and all(own[name] == found[name] for name in here.files)
    assert mixed.ids == here.ids
    assert toksmith.corpus.verify("memory://all").ok
    with pytest.raises(JobError, match=r"^memory://all: these shards are merged here already"):
        toksmith.corpus.merge(["memory://one", "memory://two"], "memory://all")
    toksmith.corpus.merge(["memory://one"], "memory://joined", to="llmc")
    assert not [name for name in _store.list_sizes("memory://joined") if name.startswith("parts/")]

    for place, other in (("all", "all"), ("one", "one")):
        seen, expected = toksmith.corpus.show(f"memory://{place}"), toksmith.corpus.show(tmp_path / other)
        assert (seen.lengths, seen.first, seen.documents) == (expected.lengths, expected.first, expected.documents)
        assert [each.ids for each in seen.sources] == [each.ids for each in expected.sources]
        assert seen.to_dict()["folder"] == f"memory://{place}" and f"memory://{place}" in str(seen)


def test_an_unfinished_job_has_events_and_a_status(tmp_path: Path) -> None:
    job = toksmith.corpus.plan(TOK, IN, "memory://out", append=END, shard_size=job_corpus.SHARD)
    events: list[toksmith.corpus.JobEvent] = []
    job.run(part="1/2", progress=False, events=events.append)
    made = len(range(1, job.shards, 2))
    assert [each.event for each in events] == ["planned", *["shard_started", "shard_finished"] * made, "finished"]
    with pytest.raises(JobError, match=r"^memory://out: the job is not finished"):
        toksmith.corpus.merge(["memory://out"], tmp_path / "all")
    found = toksmith.corpus.show("memory://out", first=1)
    assert (found.done, found.finished, len(found.first)) == (made, False, 1)
    assert job.status().bytes == job.bytes and 0 < job.status().done_bytes < job.bytes


def test_the_cost_of_a_job_equals_this_machine(tmp_path: Path) -> None:
    here, there = (
        toksmith.corpus.plan(TOK, corpus, place, append=END, dry_run=True).cost()
        for corpus, place in ((tmp_path / "in", tmp_path / "out"), (IN, "memory://out"))
    )
    assert [row.text_bytes for row in here.rows] == [row.text_bytes for row in there.rows]
    assert [row.written_bytes for row in here.rows] == [row.written_bytes for row in there.rows]
    assert not _store.list_sizes("memory://out")


def test_a_limit_of_memory_is_kept(store: Any) -> None:
    store.pipe_file("/long/a.jsonl", json.dumps({"text": "low " * (3 << 20)}).encode())
    most = 300_000_000 + 64_000_000 + 12 * (4 << 20) + 1000
    with pytest.raises(CorpusError, match=r"^memory://long/a\.jsonl.*max_memory"):
        toksmith.corpus.plan(TOK, Path("memory://long"), "memory://out", max_memory=most).run(progress=False)
    assert run_job(IN, "memory://fits", max_memory=most).documents == len(job_corpus.TEXTS)


def table_of(kind: str) -> bytes:
    """A table of three row groups or batches, with an unused column."""
    table = arrow.table({"text": ["a", None, "low low"] * 3, "other": ["x" * 5000] * 9, "id": [*range(9)]})
    out = io.BytesIO()
    if kind == "parquet":
        arrow.parquet.write_table(table, out, row_group_size=3, compression="none", use_dictionary=False)
    else:
        with arrow.ipc.new_stream(out, table.schema) as stream:
            stream.write_table(table, max_chunksize=3)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_tables_equal_those_of_this_machine(kind: str, store: Any, tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    (tmp_path / "table" / f"a.{kind}").write_bytes(table_of(kind))
    store.pipe_file(f"/table/a.{kind}", table_of(kind))
    options: dict[str, Any] = {"to": "parquet", "id_field": "id", "errors": "quarantine", "shard_size": 1}
    here = run_job(tmp_path / "table", tmp_path / "out", **options)
    there = run_job(Path("memory://table"), "memory://out", **options)
    own, found = content(tmp_path / "out"), down("memory://out", tmp_path / "down")
    assert there.files == here.files and there.bad_rows == 3
    same = [name for name in here.files if not name.startswith("quarantine/")]
    assert {name: own[name] for name in same} == {name: found[name] for name in same}
    with pytest.raises(CorpusError, match=rf"^memory://table/a\.{kind}.*has no text in the column 'text'"):
        run_job(Path("memory://table"), "memory://stops")
    with pytest.raises(CorpusError, match=rf"^memory://table/a\.{kind}.*has no column 'none'"):
        run_job(toksmith.files(f"memory://table/a.{kind}", field="none"), "memory://none")
    with pytest.raises(CorpusError, match=rf"^memory://table/a\.{kind}.*has no text in the column 'text'"):
        toksmith.corpus.count(Path("memory://table"))
    counted = toksmith.corpus.count(Path("memory://table"), errors="skip")
    assert counted.items() == toksmith.corpus.count(tmp_path / "table", errors="skip").items()


def test_only_the_columns_of_a_row_group_are_copied(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = table_of("parquet")
    store.pipe_file("/table/a.parquet", data)
    read: list[tuple[int, int]] = []
    real = _store.read_range

    def record_call(url: str, start: int = 0, stop: int | None = None) -> bytes:
        read.append((start, stop or 0))
        return real(url, start, stop)

    monkeypatch.setattr(_store, "read_range", record_call)
    for part, groups in (((1, 2), 1), (None, 3)):
        read.clear()
        with local_file(File(Path("memory://table/a.parquet"), "text", "id", part)) as path:
            copy = path.read_bytes()
        assert not path.exists() and len(copy) == len(data)
        assert all(copy[start:stop] == data[start:stop] for start, stop in read)
        assert len(read) == 2 + 2 * groups and sum(stop - start for start, stop in read) < len(data) // 2


def test_errors_in_rows_name_the_url(store: Any) -> None:
    store.pipe_file("/bad/a.jsonl", b'{"text": "low"}\n{"text": 5}\n')
    bad = Path("memory://bad/a.jsonl")
    for call in (
        lambda: run_job(bad, "memory://out"),
        lambda: toksmith.corpus.count(bad),
        lambda: toksmith.corpus.plan_counts(bad, "memory://counted").run(progress=False),
        lambda: toksmith.train(bad, merges=1),
    ):
        with pytest.raises(CorpusError, match=r"^memory://bad/a\.jsonl") as caught:
            call()
        assert caught.value.path == "memory://bad/a.jsonl" and caught.value.record == 1


def test_errors_of_a_format_name_the_folder(store: Any) -> None:
    with pytest.raises(JobError, match=r"^memory://out: a document does not have the token of append="):
        run_job(IN, "memory://out", to="dolma", empty="keep")


def test_single_files_cannot_be_urls(tmp_path: Path) -> None:
    for call in (
        lambda: toksmith.corpus.count("low").save("memory://out/counts.parquet"),
        lambda: toksmith.corpus.encode(TOK, ["low"], "memory://out/ids.npy", progress=False),
        lambda: TOK.save("memory://out/tok.toksmith"),
    ):
        with pytest.raises(FormatError, match=r"^memory://out/.*only the folder of a job may be a URL"):
            call()


def test_many_receipts_are_read_at_once(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    job = toksmith.corpus.plan(TOK, IN, "memory://out", append=END, shard_size=job_corpus.SHARD)
    job.run(part="0/2", progress=False)
    asked: list[int] = []
    real = MemoryFileSystem.cat_ranges

    def record_call(self: Any, paths: list[str], *rest: Any, **more: Any) -> Any:
        asked.append(len(paths))
        return real(self, paths, *rest, **more)

    monkeypatch.setattr(MemoryFileSystem, "cat_ranges", record_call)
    done = len(range(0, job.shards, 2))
    assert job.status().done == done and asked == [done]
    monkeypatch.setattr(_store, "READ_AT_ONCE", 2)
    asked.clear()
    found = [*_store.read_small_files([f"memory://out/receipts/{number:05d}.json" for number in range(5)], 9)]
    assert [data is None for data in found] == [False, True, False, True, False] and asked == [2, 2, 1]
    store.pipe_file("/out/receipts/00002.json", b"{}")
    with pytest.raises(JobError, match=r"^memory://out: receipts/00002\.json is not a receipt"):
        job.status()


def test_a_status_of_very_many_shards_takes_few_requests(store: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A listing of the receipts; some of them, read together; and the sizes of files of a few."""
    job = toksmith.corpus.plan(TOK, IN, "memory://out", append=END, shard_size=job_corpus.SHARD)
    job.run(part="0/2", progress=False)
    exact, done = job.status(), range(0, job.shards, 2)
    for name, value in (("MANY", 2), ("SAMPLED", 4), ("COMPARED", 1)):
        monkeypatch.setattr(_finish, name, value)
    asked: list[tuple[str, int]] = []
    for call in ("find", "cat_ranges", "info"):
        real = getattr(MemoryFileSystem, call)

        def record_call(self: Any, paths: Any, *rest: Any, real: Any = real, call: str = call, **more: Any) -> Any:
            asked.append((call, 1 if isinstance(paths, str) else len(paths)))
            return real(self, paths, *rest, **more)

        monkeypatch.setattr(MemoryFileSystem, call, record_call)
    status = job.status()
    some = len(done[:: -(-len(done) // 4)])
    assert [each for each in asked if each[0] != "info"] == [("find", 1), ("cat_ranges", 1), ("cat_ranges", some)]
    assert (status.sampled, status.done, status.done_bytes) == (some, len(done), exact.done_bytes)
    assert len(asked) < 12 and job.missing() == [*range(1, job.shards, 2)]


def test_commands_take_urls(tmp_path: Path) -> None:
    def run_command(*arguments: str) -> str:
        found = CliRunner().invoke(app, [*arguments])
        assert found.exit_code == 0, found.output
        return found.output

    run_job(tmp_path / "in", tmp_path / "one")
    run_job(IN, "memory://one")
    assert "saved in memory://counts (" in run_command("corpus", "count", "memory://in", "-o", "memory://counts/")
    tokenizer = str(tmp_path / "tok.toksmith")
    run_command("train", "--from-counts", "memory://counts", "--merges", "2", "-o", tokenizer, "--quiet")
    assert len(toksmith.load(tokenizer).model.merges) == 2
    assert "finished" in run_command("corpus", "status", "memory://counts")
    assert "saved in memory://all (" in run_command(
        "corpus", "merge", "memory://one", "-o", "memory://all", "--to", "megatron"
    )
    assert run_command("corpus", "show", "memory://all").startswith("memory://all\n")
    run_command("corpus", "merge-counts", "memory://counts", "-o", str(tmp_path / "all.tsv"))
    merged, loaded = (toksmith.corpus.PieceCounts.load(path) for path in (tmp_path / "all.tsv", "memory://counts"))
    assert dict(merged.items()) == dict(loaded.items())
