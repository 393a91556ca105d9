"""Files behind URLs: every request to a store fails in turn, and a real S3 server on this machine."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import job_corpus
import pytest
from job_corpus import END, ROWS, TEXTS, TOK, content, ids_of
from processors import LIMIT_S

import toksmith
from toksmith._base.paths import url_of
from toksmith._jobs.written import units_with_receipts
from toksmith._storage import remote as _store
from toksmith._storage.folders import folder_at
from toksmith.errors import CorpusError, FormatError, InvalidOption, JobError

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")
fsspec: Any = pytest.importorskip("fsspec", reason="lacks fsspec")
from fsspec.implementations.memory import MemoryFileSystem

EXHAUSTIVE = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
SHARE = 4  # `make test` lets one of this number of requests fail
REFUSALS = (FormatError, JobError, CorpusError)


class FailingStore(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """fsspec's memory, whose n-th request fails: before it is done, after it is done, or half done.

    Attributes: `calls` so far, by name.
    """

    cachable = False

    def __init__(self, n: int = 0, how: str = "before") -> None:
        super().__init__()
        self.n, self.how = n, how
        self.calls: list[str] = []

    def call(self, name: str, real: Callable[[], Any], half: Callable[[], Any] = lambda: None) -> Any:
        self.calls.append(name)
        fails = len(self.calls) == self.n
        if fails and self.how != "after":
            if self.how == "half":
                half()
            raise OSError(5, "the store does not answer")
        found = real()
        if fails:
            raise ConnectionResetError("the answer is lost")
        return found

    def info(self, path: str, **more: Any) -> Any:
        return self.call("info", lambda: MemoryFileSystem.info(self, path, **more))

    def exists(self, path: str, **more: Any) -> Any:
        return self.call("exists", lambda: self._strip_protocol(path) in self.store)

    def find(self, path: str, *rest: Any, **more: Any) -> Any:
        return self.call("find", lambda: self.list_files(path))

    def list_files(self, path: str) -> dict[str, Any]:
        start = self._strip_protocol(path).rstrip("/") + "/"
        return {name: {"size": file.size} for name, file in self.store.items() if name.startswith(start)}

    def cat_file(self, path: str, start: Any = None, end: Any = None, **more: Any) -> Any:
        return self.call("cat_file", lambda: MemoryFileSystem.cat_file(self, path, start, end))

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **more: Any) -> Any:
        return self.call("pipe_file", lambda: MemoryFileSystem.pipe_file(self, path, value, mode))

    def put_file(self, lpath: str, rpath: str, *rest: Any, **more: Any) -> Any:
        data = Path(lpath).read_bytes()
        # A `with` block of fsspec that ends by an exception leaves half a file.
        half = lambda: MemoryFileSystem.pipe_file(self, rpath, data[: len(data) // 2])
        return self.call("put_file", lambda: MemoryFileSystem.pipe_file(self, rpath, data), half)

    def get_file(self, rpath: str, lpath: str, *rest: Any, **more: Any) -> Any:
        data = MemoryFileSystem.cat_file(self, rpath)
        half = lambda: Path(lpath).write_bytes(data[: len(data) // 2])
        return self.call("get_file", lambda: Path(lpath).write_bytes(data), half)

    def rm_file(self, path: str) -> Any:
        return self.call("rm_file", lambda: MemoryFileSystem._rm(self, path))


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., FailingStore]]:
    """Replaces the store by one whose n-th request fails."""

    def use(n: int = 0, how: str = "before") -> FailingStore:
        store = FailingStore(n, how)
        monkeypatch.setattr(_store, "file_system_at", lambda url: (store, store._strip_protocol(url)))
        return store

    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]
    yield use
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


def contents(folder: str) -> dict[str, bytes]:
    """The files of a folder in memory."""
    start = MemoryFileSystem._strip_protocol(folder) + "/"
    return {
        name[len(start) :]: file.getvalue() for name, file in MemoryFileSystem.store.items() if name.startswith(start)
    }


def write_small_corpus() -> None:
    """A corpus of two files, one with a bad row."""
    store = MemoryFileSystem()
    store.pipe_file("/in/a.jsonl", b'{"text": "low"}\n{"text": ""}\n{"text": "lower"}\n')
    store.pipe_file("/in/b.jsonl", b'{"text": "slow"}\n')


def run_job(job: toksmith.corpus.Job) -> None:
    """Runs a job."""
    job.run(progress=False, threads=1)


def plan_and_run(**options: Any) -> Callable[[str], None]:
    """Plans a job of these options in a folder, and runs it."""
    options = {"append": END, "shard_size": 30, **options}
    return lambda folder: run_job(toksmith.corpus.plan(TOK, Path("memory://in"), folder, **options))


WAYS: dict[str, Callable[[str], object]] = {
    "npy": plan_and_run(to="npy", errors="quarantine"),
    "llmc": plan_and_run(to="llmc"),
    "mds": plan_and_run(to="mds"),
    "shuffled": plan_and_run(to="megatron", shuffle=5, sources=True),
    "counts": lambda folder: run_job(toksmith.corpus.plan_counts(Path("memory://in"), folder, shard_size=30)),
    "merged": lambda folder: toksmith.corpus.merge(["memory://one", "memory://two"], folder, to="hf"),
}


def complete(name: str, folder: str) -> None:
    """Runs or completes a job or a merge."""
    try:
        WAYS[name](folder)
    except JobError as error:
        if "is finished" in str(error):
            toksmith.corpus.Job.at(folder).finish()
        elif "merged here already" not in str(error):
            raise


@pytest.mark.proof
@pytest.mark.short
@pytest.mark.slow
@pytest.mark.parametrize("how", ["before", "after", "half"])
@pytest.mark.parametrize("name", WAYS)
def test_every_request_fails_in_turn(name: str, how: str, memory: Callable[..., FailingStore]) -> None:
    write_small_corpus()
    memory()
    for folder in ("memory://one", "memory://two"):
        complete("npy", folder)
    complete(name, "memory://untouched")
    expected = contents("memory://untouched")
    assert {"manifest.json", "SHA256SUMS"} < {*expected} and len(expected) >= 6
    step = 1 if EXHAUSTIVE else SHARE
    for n in range(1 + len(name + how) % step, 1000, step):
        folder = f"memory://out{n}"
        store = memory(n, how)
        try:
            complete(name, folder)
            refused = None
        except REFUSALS as error:
            refused = error
        seen = contents(folder)
        said = f"request {n} ({store.calls[-1]}): {refused!r}"
        assert "SHA256SUMS" not in seen or seen["manifest.json"] == expected["manifest.json"], said
        memory()
        complete(name, folder)
        assert contents(folder) == expected, said
        if len(store.calls) < n:
            assert refused is None and n > 25
            return
    raise AssertionError("a run never finished untouched")


def test_a_block_that_fails_completes_no_file(memory: Callable[..., FailingStore]) -> None:
    """For a store without atomic calls for whole files, a file that fsspec would complete is discarded."""

    class Upload:
        """A file of fsspec: closing completes it, and so does garbage collection."""

        closed = False

        def write(self, data: bytes) -> None:
            if data == b"bad":
                raise OSError("the disk is full")

        def close(self) -> None:
            done.append("closed")

        def discard(self) -> None:
            done.append("discarded")

    class Plain:
        def open(self, path: str, mode: str) -> Upload:
            self.file = Upload()
            return self.file

    done: list[str] = []
    plain = Plain()
    with pytest.raises(OSError, match="full"):
        _store.write_or_discard(plain, "x", [b"good", b"bad"])
    assert done == ["discarded"] and plain.file.closed
    _store.write_or_discard(plain, "x", [b"good"])
    assert done == ["discarded", "closed"]
    assert not _store.writes_atomically(fsspec.AbstractFileSystem(), "put_file") and _store.writes_atomically(
        memory(), "put_file"
    )


def test_a_plan_is_written_once(memory: Callable[..., FailingStore]) -> None:
    memory()
    folder = folder_at("memory://job")
    folder.create("job.json", b"one")
    folder.create("job.json", b"two")
    assert folder.read("job.json") == b"one"
    write_small_corpus()
    with pytest.raises(JobError, match="is not a plan"):
        toksmith.corpus.plan(TOK, Path("memory://in"), "memory://job")


def test_names_that_a_path_cannot_hold_are_refused(memory: Callable[..., FailingStore]) -> None:
    """`Path` makes `d/e` of `d//e`, which can be another file."""
    store = memory()
    write_small_corpus()
    for name in ("/in//a.jsonl", "/in/a.jsonl"):
        store.pipe_file(name, b'{"text": "low"}\n')
    for corpus in (Path("memory://in"), toksmith.files("memory://in//a.jsonl")):
        with pytest.raises(CorpusError, match=r"two slashes in a row.*copy the file to a name without them"):
            toksmith.corpus.plan(TOK, corpus, "memory://job")
    with pytest.raises(InvalidOption, match="two slashes in a row"):
        toksmith.corpus.plan(TOK, toksmith.files("memory://in/a.jsonl"), "memory://job//out")


def test_a_store_without_conditions_gets_a_plan(
    memory: Callable[..., FailingStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory()
    real = FailingStore.pipe_file

    def refuse_create(self: Any, path: str, value: bytes, mode: str = "overwrite") -> Any:
        if mode == "create":
            raise OSError(22, "A header you provided implies functionality that is not implemented")
        return real(self, path, value)

    monkeypatch.setattr(FailingStore, "pipe_file", refuse_create)
    folder = folder_at("memory://job")
    folder.create("job.json", b"one")
    folder.create("job.json", b"two")
    assert folder.read("job.json") == b"one"


def test_a_second_job_in_a_folder_needs_force(memory: Callable[..., FailingStore]) -> None:
    memory()
    write_small_corpus()
    done = toksmith.corpus.plan(TOK, Path("memory://in"), "memory://job").run(progress=False)
    assert done is not None and (done.documents, done.place) == (4, "memory://job")
    with pytest.raises(JobError, match="this job is finished"):
        toksmith.corpus.plan(TOK, Path("memory://in"), "memory://job")
    with pytest.raises(JobError, match="another job is planned here"):
        toksmith.corpus.plan(TOK, Path("memory://in"), "memory://job", append=END)
    again = toksmith.corpus.plan(TOK, Path("memory://in"), "memory://job", append=END, to="datatrove", force=True)
    assert {*contents("memory://job")} == {
        "job.json",
        "job.index",
        *(name for name in contents("memory://job") if "tokenizer" in name),
    }
    assert again.missing() == [0] and repr(again).startswith("<Job 'memory://job'")
    assert again.run(progress=False) is not None and toksmith.corpus.verify("memory://job", decode=True, source=True).ok


def test_files_of_other_origin_stay(memory: Callable[..., FailingStore]) -> None:
    memory()
    write_small_corpus()
    MemoryFileSystem().pipe_file("/job/00000.npy", b"mine")
    with pytest.raises(JobError, match=r"memory://job: 00000\.npy is there already"):
        toksmith.corpus.plan(TOK, Path("memory://in"), "memory://job")
    assert contents("memory://job") == {"00000.npy": b"mine"}


def test_files_in_the_folder_of_the_job_are_left_out(memory: Callable[..., FailingStore]) -> None:
    memory()
    write_small_corpus()
    toksmith.corpus.plan(TOK, Path("memory://in"), "memory://in/job", errors="quarantine").run(progress=False)
    again = toksmith.corpus.plan(TOK, Path("memory://in"), "memory://in/job", errors="quarantine", force=True)
    assert again.files == 2


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_nothing_is_written_to_a_web_server(scheme: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"low")
    with pytest.raises(InvalidOption, match="a folder of this machine, or a URL of s3://"):
        toksmith.corpus.plan(TOK, tmp_path / "a.txt", f"{scheme}://127.0.0.1/job")


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(url: str) -> Any:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(_store, "file_system_at", missing)
    with pytest.raises(CorpusError, match=r"Install s3fs to access S3.*pip install 'toksmith\[remote\]'"):
        toksmith.corpus.plan(TOK, Path("s3://bucket/a.jsonl"), tmp_path / "out")
    (tmp_path / "a.txt").write_bytes(b"low")
    with pytest.raises(FormatError, match=r"s3://bucket/job/job\.json: cannot be read: a library is missing"):
        toksmith.corpus.plan(TOK, tmp_path / "a.txt", "s3://bucket/job")


def test_urls_differ_from_paths_by_their_scheme() -> None:
    for text in ("s3://b/k", "gs://b/k", "hf://datasets/a/b", "http://h/k", "https://h/k"):
        assert url_of(text) == url_of(Path(text)) == text
    for path in ("s3", "s3:", "S3://b", "ftp://h/k", "/s3://b", "./s3:/b", b"s3://b", "c:/x"):
        assert url_of(path) is None  # type: ignore[arg-type]


# A real server


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of a local S3 server with an empty bucket."""
    pytest.importorskip("s3fs", reason="lacks s3fs")
    moto: Any = pytest.importorskip("moto.server", reason="lacks moto's server")
    import s3fs

    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", address)
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        s3fs.S3FileSystem.clear_instance_cache()
        fsspec.filesystem("s3").mkdir("bucket")
        yield address
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.fixture
def corpus(s3: str, tmp_path: Path) -> Iterator[list[Path]]:
    """The corpus of `job_corpus` in the bucket, and on this machine."""
    store = fsspec.filesystem("s3")
    found = job_corpus.make(tmp_path / "in")
    for path in found:
        store.put_file(str(path), f"bucket/in/{path.name}", ACL="public-read")
    yield found
    store.invalidate_cache()
    for name in store.find("bucket"):
        store.rm_file(name)


def down(url: str, folder: Path) -> Path:
    """A copy of a folder of the store."""
    for name in _store.list_sizes(url):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(_store.read_range(f"{url}/{name}"))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [{"to": "parquet", "id_field": "id"}, {"to": "llmc"}, {"to": "megatron", "shuffle": 7}],
)
def test_a_store_gets_the_files_of_this_machine(options: dict[str, Any], corpus: list[Path], tmp_path: Path) -> None:
    here = job_corpus.job(tmp_path, **options).run(progress=False)
    asked = {"append": END, "shard_size": job_corpus.SHARD, **options}
    job = toksmith.corpus.plan(TOK, Path("s3://bucket/in"), "s3://bucket/out", **asked)
    there = job.run(progress=False, workers=2, threads=1)
    assert here is not None and there is not None and there.documents == here.documents == len(TEXTS)
    assert there.files == here.files and job.status().finished and str(there.place) == "s3://bucket/out"
    own, found = content(tmp_path / "out"), content(down("s3://bucket/out", tmp_path / "down"))
    names = {*found} - {"job.json", "manifest.json", "SHA256SUMS"}  # these contain the names of the inputs
    assert {*found} == {*own} and {name: own[name] for name in names} == {name: found[name] for name in names}
    again = {"source": True} if "shuffle" not in options else {"decode": True}
    assert toksmith.corpus.verify("s3://bucket/out", **again).ok
    store = fsspec.filesystem("s3")
    store.pipe_file(f"bucket/out/{there.files[0]}", b"other")
    assert not toksmith.corpus.verify("s3://bucket/out").ok


@pytest.mark.slow
def test_the_plan_has_etags(corpus: list[Path], tmp_path: Path) -> None:
    planned = toksmith.corpus.plan(
        TOK, Path("s3://bucket/in"), tmp_path / "out", append=END, shard_size=job_corpus.SHARD
    )
    inputs = json.loads((tmp_path / "out" / "job.json").read_text())["inputs"]
    assert [row[0] for row in inputs] == [f"s3://bucket/in/{path.name}" for path in corpus]
    assert all(len(row[2]) >= 32 for row in inputs)
    fsspec.filesystem("s3").pipe_file("bucket/in/b.txt", b"WHOLE \xff TEXT")
    with pytest.raises(CorpusError, match=r"s3://bucket/in/b\.txt: changed after the job was planned"):
        planned.run(progress=False)
    assert toksmith.corpus.Job.at(tmp_path / "out").missing()


@pytest.mark.slow
def test_processes_share_a_job_by_claims_in_a_store(corpus: list[Path], tmp_path: Path) -> None:
    """Two processes make each shard once; a claim that ends with its lease is taken over."""
    job_corpus.job(tmp_path, to="megatron").run(progress=False)
    options = {"append": END, "shard_size": job_corpus.SHARD, "to": "megatron"}
    job = toksmith.corpus.plan(TOK, Path("s3://bucket/in"), "s3://bucket/out", **options)
    folder = folder_at("s3://bucket/out")
    assert folder.create("claims/00000.0", b"given up\n") and not folder.create("claims/00000.0", b"another")
    command = [sys.executable, "-m", "toksmith", "corpus", "tokenize", "-o", job.place, "--part", "claim", "--json"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=LIMIT_S)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    events = [json.loads(line) for output in outputs for line in output.splitlines()]
    made = sorted(event["shard"] for event in events if event["event"] == "shard_finished")
    assert made == [*range(job.shards)] and folder.read("claims/00000.1") == b"done\n"
    listed = folder.listing("claims").values()
    times = [written for _, written in listed if written is not None]
    assert len(times) == len(listed) and max(times) - min(times) < LIMIT_S
    job.finish()
    own, found = content(tmp_path / "out"), content(down("s3://bucket/out", tmp_path / "down"))
    names = {*found} - {"job.json", "manifest.json", "SHA256SUMS"}
    assert {*found} == {*own} and {name: own[name] for name in names} == {name: found[name] for name in names}


@pytest.mark.slow
def test_all_pages_of_a_listing_are_read(corpus: list[Path]) -> None:
    """A store lists a thousand files in a request."""
    store = fsspec.filesystem("s3")
    store.pipe({f"bucket/out/receipts/{number:05d}.json": b"{}" for number in range(1100)})
    folder = folder_at("s3://bucket/out")
    assert len(folder.listing("receipts")) == len(folder.names(["receipts"])) == 1100
    assert units_with_receipts(folder, range(1, 1 << 20)) == [*range(1, 1100)]
    size = folder.sizes("receipts")
    assert (
        all(size(f"receipts/{number:05d}.json") == 2 for number in range(1100)) and size("receipts/01100.json") is None
    )


@pytest.mark.slow
def test_only_the_range_of_a_shard_is_read(corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: dict[str, int] = {}
    real = _store.read_range

    def count_bytes(url: str, start: int = 0, stop: int | None = None) -> bytes:
        data = real(url, start, stop)
        read[url] = read.get(url, 0) + len(data)
        return data

    planned = toksmith.corpus.plan(
        TOK, Path("s3://bucket/in"), tmp_path / "out", append=END, shard_size=job_corpus.SHARD
    )
    monkeypatch.setattr(_store, "read_range", count_bytes)
    toksmith.corpus.run_shard(tmp_path / "out" / "job.json", 1)
    assert read == {"s3://bucket/in/a.jsonl": read["s3://bucket/in/a.jsonl"]}
    assert read["s3://bucket/in/a.jsonl"] <= 2 * job_corpus.SHARD + max(map(len, ROWS))
    planned.run(progress=False)
    assert toksmith.corpus.verify(tmp_path / "out", decode=True).ok


@pytest.mark.slow
def test_globs_web_servers_and_other_calls_read_urls(s3: str, corpus: list[Path], tmp_path: Path) -> None:
    files = toksmith.files("s3://bucket/in/[a-c].*")
    done = toksmith.corpus.plan(TOK, files, tmp_path / "globbed", append=END).run(progress=False)
    assert done is not None and done.documents == len(ROWS) + 3
    web = [toksmith.files(f"{s3}/bucket/in/{path.name}") for path in corpus]
    done = toksmith.corpus.plan(TOK, web, tmp_path / "web", append=END, shard_size=100).run(progress=False)
    assert done is not None and done.documents == len(TEXTS)
    written = toksmith.corpus.encode(TOK, [Path("s3://bucket/in")], tmp_path / "ids.npy", append=END, progress=False)
    assert written.read().ids.tolist() == job_corpus.joined(ids_of())
    assert toksmith.corpus.count(Path("s3://bucket/in")).items() == toksmith.corpus.count(tmp_path / "in").items()
    with urlopen(f"{s3}/bucket/in/b.txt") as file:
        assert file.read() == (tmp_path / "in" / "b.txt").read_bytes()
    with pytest.raises(CorpusError, match=r"none\.jsonl: cannot be read: there is no such file"):
        toksmith.corpus.plan(TOK, Path("s3://bucket/in/none.jsonl"), tmp_path / "none")


def test_a_missing_bucket_is_named(s3: str, tmp_path: Path) -> None:
    said = r"^s3://nowhere.*there is no bucket 'nowhere'; check its name, and the keys"
    (tmp_path / "a.txt").write_bytes(b"low")
    for source in (Path("s3://nowhere/in/a.txt"), Path("s3://nowhere"), toksmith.files("s3://nowhere/in/*.txt")):
        with pytest.raises(CorpusError, match=said):
            toksmith.corpus.plan(TOK, source, tmp_path / "out")
    for call in (
        lambda: toksmith.corpus.plan(TOK, tmp_path / "a.txt", "s3://nowhere/out"),
        lambda: toksmith.corpus.Job.at("s3://nowhere/out"),
        lambda: toksmith.corpus.verify("s3://nowhere/out"),
        lambda: toksmith.corpus.PieceCounts.load("s3://nowhere/out"),
    ):
        with pytest.raises(REFUSALS, match=said):
            call()
    with pytest.raises(CorpusError, match=r"^s3://bucket/none/\*: no file matches this glob"):
        toksmith.corpus.plan(TOK, toksmith.files("s3://bucket/none/*"), tmp_path / "out")


@pytest.mark.parametrize(
    ("url", "asked", "kind"),
    [
        ("gs://name/a/b.txt", "gs://name", "bucket 'name'"),
        ("hf://datasets/user/name/b.txt", "hf://datasets/user/name", "repository 'datasets/user/name'"),
        ("hf://user/name/b.txt", "hf://user/name", "repository 'user/name'"),
    ],
)
def test_a_missing_bucket_is_the_answer_of_the_store(
    url: str, asked: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asks: list[str] = []
    answer: list[Exception] = [FileNotFoundError(asked), PermissionError("403"), RuntimeError("no network")]

    class Store:
        def info(self, path: str) -> Any:
            asks.append(path)
            raise answer[0] if path == asked else FileNotFoundError(path)

    monkeypatch.setattr(_store, "file_system_at", lambda url: (Store(), url))
    _store.find_bucket.cache_clear()
    with pytest.raises(OSError, match=f"there is no {kind}; check its name"):
        _store.remote_facts(url)
    while answer := answer[1:]:  # keys can write to a bucket that they cannot ask for
        _store.find_bucket.cache_clear()
        for _ in range(2):
            with pytest.raises(FileNotFoundError, match="there is no such file, or the store does not give it"):
                _store.remote_facts(url)
    assert asks.count(asked) == 3
    _store.find_bucket.cache_clear()


def test_a_plan_is_created_in_one_request(corpus: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process writes it after the check for its existence."""
    store = fsspec.filesystem("s3")
    _store.create_if_absent("s3://bucket/job.json", b"one")
    monkeypatch.setattr(type(store), "exists", lambda *_, **__: False)
    _store.create_if_absent("s3://bucket/job.json", b"two")
    assert _store.read_range("s3://bucket/job.json") == b"one"


@pytest.mark.slow
def test_the_command_takes_urls(corpus: list[Path], tmp_path: Path) -> None:
    TOK.save(tmp_path / "tok.toksmith")
    toksmith_ = [sys.executable, "-m", "toksmith"]
    command = [*toksmith_, "corpus", "tokenize", "s3://bucket/in/*.jsonl", "-t", str(tmp_path / "tok.toksmith")]
    command += ["--append", END, "-o", "s3://bucket/cli", "--to", "datatrove"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=True).stdout
    assert said.endswith(f"of {len(ROWS)} documents in 1 shard; saved in s3://bucket/cli (3 files for datatrove)\n")
    said = subprocess.run(
        [*toksmith_, "corpus", "verify", "s3://bucket/cli", "--decode"], capture_output=True, text=True, check=True
    ).stdout
    assert "1 shard decoded, all texts and ids equal" in said


@pytest.mark.slow
def test_no_temporary_copy_stays(corpus: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    toksmith.corpus.plan(TOK, Path("s3://bucket/in"), "s3://bucket/out", append=END).run(progress=False)
    assert not os.listdir(tmp_path / "tmp")
    shutil.rmtree(tmp_path / "tmp")
