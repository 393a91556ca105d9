"""A job touches no file of its user, and with force it removes all files of the old job."""

import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from job_corpus import TOK, content, job
from systems import needs

import toksmith
from toksmith._jobs.folder import finish, job_files
from toksmith._jobs.job import job as _job
from toksmith._jobs.job import make_plan
from toksmith._jobs.make import run_shard
from toksmith._jobs.make import shuffle as _shuffle
from toksmith._jobs.plans.plan import WorkerLimits, read_plan
from toksmith._jobs.sinks import EVERY_ROW, SINKS
from toksmith._storage.folders import LocalFolder, folder_at
from toksmith.errors import JobError

linked = needs("links")
BIG = {"shard_size": 1 << 20}


def user_file(folder: Path, name: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"mine")
    return path


@pytest.mark.parametrize("to", SINKS)
def test_every_file_of_a_job_has_a_known_name(to: str, tmp_path: Path) -> None:
    planned = job(tmp_path, to=to, sources=True, errors="quarantine", **BIG)
    planned.run(part="0/1", progress=False)
    names = {*content(planned.folder)}
    planned.finish()
    names |= {*content(planned.folder)}
    own = job_files.job_name_pattern(planned._plan.options)
    assert {name for name in names if not own.fullmatch(name)} == {"job.json", planned._plan.tokenizer}
    assert all(job_files.ANY_NAME.fullmatch(name) for name in names)
    assert {*job_files.SINK_NAMES} == {*EVERY_ROW}
    before = content(tmp_path / "in")
    job(tmp_path, to="npy", force=True)
    assert {name.split("-")[0] for name in content(planned.folder)} == {"job.json", "job.index", "tokenizer"}
    assert content(tmp_path / "in") == before


@pytest.mark.parametrize(("options", "name"), [({"to": "nanogpt"}, "parts"), ({"shuffle": 1}, "buckets")])
def test_only_parts_of_the_job_are_removed(options: dict[str, Any], name: str, tmp_path: Path) -> None:
    mine = user_file(tmp_path / "out", f"{name}/keep.txt")
    job(tmp_path, **options, **BIG).run(progress=False)
    assert mine.read_bytes() == b"mine" and os.listdir(mine.parent) == ["keep.txt"]
    job(tmp_path, **options, **BIG, force=True).run(progress=False)
    assert mine.read_bytes() == b"mine"


@linked
@pytest.mark.parametrize("name", ["parts", "receipts"])
def test_a_linked_folder_is_never_entered(name: str, tmp_path: Path) -> None:
    mine = user_file(tmp_path / "mine", "00000.ids")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / name).symlink_to(tmp_path / "mine")
    with pytest.raises(JobError, match=f"{name} is a link.*move {name} away"):
        job(tmp_path, to="nanogpt", **BIG)
    (tmp_path / "out" / name).unlink()
    planned = job(tmp_path, to="nanogpt", **BIG)
    planned.run(progress=False)
    if name == "parts":
        (tmp_path / "out" / name).symlink_to(tmp_path / "mine")
        finish.remove_parts(folder_at(planned.folder), planned._plan)
        with pytest.raises(JobError, match="parts is a link"):
            job(tmp_path, to="nanogpt", force=True, **BIG)
    assert content(tmp_path / "mine") == content(mine.parent) and mine.read_bytes() == b"mine"


@linked
def test_force_stays_in_the_folder(tmp_path: Path) -> None:
    mine = [user_file(tmp_path / "home", "keys"), user_file(tmp_path / "home", "00000.jsonl")]
    planned = job(tmp_path, **BIG)
    planned.run(part="0/1", progress=False)
    mine.append(user_file(planned.folder, "keys"))
    (planned.folder / "l").symlink_to(tmp_path / "home")
    (planned.folder / "sources").symlink_to(tmp_path / "home")
    receipt = planned.folder / "receipts" / "00000.json"
    value = json.loads(receipt.read_bytes())
    value["files"] = [[name, 1, "x"] for name in ("l/keys", "keys", "sources/00000.jsonl")]
    receipt.write_text(json.dumps(value))
    plan = planned.folder / "job.json"
    good = plan.read_bytes()
    plan.write_bytes(good.replace(planned._plan.tokenizer.encode(), b"keys"))
    with pytest.raises(JobError, match="is there already"):
        job(tmp_path, force=True, **BIG)
    plan.write_bytes(good)
    job(tmp_path, force=True, **BIG).run(progress=False)
    assert all(path.read_bytes() == b"mine" for path in mine)


@pytest.mark.parametrize(
    ("to", "name"),
    [
        ("nanogpt", "train.bin"),
        ("npy", "00000.npy"),
        ("npy", "manifest.json"),
        ("npy", "SHA256SUMS"),
        ("hf", "state.json"),
    ],
)
def test_files_of_the_user_are_never_overwritten(to: str, name: str, tmp_path: Path) -> None:
    mine = user_file(tmp_path / "out", name)
    for force in (False, True):
        with pytest.raises(JobError, match=f"{name} is there already.*move {name} away"):
            job(tmp_path, to=to, force=force)
    assert content(tmp_path / "out") == content(mine.parent) and mine.read_bytes() == b"mine"
    mine.unlink()
    job(tmp_path, to=to, **BIG).run(progress=False)
    user_file(tmp_path / "out", "train_000000.bin")
    before = content(tmp_path / "out")
    with pytest.raises(JobError, match=r"train_000000\.bin is there already"):
        job(tmp_path, to="llmc", force=True)
    assert content(tmp_path / "out") == before


def killed_after(most: int) -> Callable[[LocalFolder, Iterable[str]], None]:
    """`Folder.remove` that is killed after `most` calls."""
    calls: list[Iterable[str]] = []
    real = LocalFolder.remove

    def killed(folder: LocalFolder, names: Iterable[str]) -> None:
        if len(calls) == most:
            raise KeyboardInterrupt
        calls.append(names)
        real(folder, names)

    return killed


def test_force_that_was_killed_leaves_no_old_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed before each group of files in turn, and then planned again with one shard."""
    for last in range(4):
        planned = job(tmp_path, f"out {last}", to="llmc")
        planned.run(progress=False)
        with monkeypatch.context() as patched:
            patched.setattr(LocalFolder, "remove", killed_after(last))
            with pytest.raises(KeyboardInterrupt):
                job(tmp_path, f"out {last}", to="llmc", force=True)
        assert planned.finished == (last == 0)
        job(tmp_path, f"out {last}", to="llmc", force=True, **BIG).run(progress=False)
        assert [path.name for path in planned.folder.glob("*.bin")] == ["train_000000.bin"]
        assert len(list((planned.folder / "receipts").iterdir())) == 1


def test_force_removes_what_finish_had_begun(tmp_path: Path) -> None:
    planned = job(tmp_path, to="llmc")
    planned.run(progress=False)
    for name in ("SHA256SUMS", "manifest.json"):
        (planned.folder / name).unlink()
    job(tmp_path, to="llmc", force=True, **BIG).run(progress=False)
    assert [path.name for path in planned.folder.glob("*.bin")] == ["train_000000.bin"]


@pytest.mark.parametrize("name", ["manifest.json", "receipts/00000.json", "job.json"])
@pytest.mark.parametrize("data", [b"", b"[]", b'{"files": [5]}', b"\xff"])
def test_force_replaces_what_is_damaged(name: str, data: bytes, tmp_path: Path) -> None:
    planned = job(tmp_path)
    planned.run(progress=False)
    (planned.folder / name).write_bytes(data)
    job(tmp_path, force=True, **BIG).run(progress=False)
    assert toksmith.corpus.verify(planned.folder).ok
    assert sorted(path.name for path in planned.folder.glob("*.npy")) == ["00000.ends.npy", "00000.npy"]


def test_a_foreign_job_file_stays(tmp_path: Path) -> None:
    mine = user_file(tmp_path / "out", "job.json")
    with pytest.raises(JobError, match=r"job\.json is not a plan.*pass force=True"):
        job(tmp_path)
    with pytest.raises(JobError, match=r"job\.json is not a plan.*move job\.json away"):
        job(tmp_path, force=True)
    assert mine.read_bytes() == b"mine"


def test_files_of_a_plan_written_meanwhile_are_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process plans the job and makes a shard, after this one saw no plan and before it looks at the files."""
    real = make_plan.refuse_foreign_files

    def late(*of: Any) -> None:
        monkeypatch.setattr(make_plan, "refuse_foreign_files", real)
        job(tmp_path).run(part="0/2", progress=False)
        real(*of)

    monkeypatch.setattr(make_plan, "refuse_foreign_files", late)
    planned = job(tmp_path)
    assert planned.missing() == list(range(1, planned.shards, 2))


def test_a_list_of_sums_alone_does_not_finish_a_job(tmp_path: Path) -> None:
    planned = job(tmp_path, **BIG)
    (planned.folder / "SHA256SUMS").write_bytes(b"")
    assert not planned.finished and planned.missing() == [0]
    planned.run(progress=False)
    assert toksmith.corpus.verify(planned.folder).ok


def test_the_slower_of_two_runs_has_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another run finishes the job, and removes its parts, when this one is about to read them."""
    for name, options in (("joined", {"to": "nanogpt"}), ("shuffled", {"shuffle": 1})):
        first, second = job(tmp_path, name, **options), toksmith.corpus.Job.at(tmp_path / name)
        module, called = (finish, "sink_spec") if name == "joined" else (run_shard, "Bucket")
        real = getattr(module, called)

        def late(*of: Any, real: Any = real, first: Any = first, where: Any = module, named: str = called) -> Any:
            monkeypatch.setattr(where, named, real)
            first.run(progress=False)
            return real(*of)

        monkeypatch.setattr(module, called, late)
        done = second.run(progress=False)
        assert done == first.finish() and done is not None
        assert not (tmp_path / name / "parts").exists() and not (tmp_path / name / "buckets").exists()


def test_a_failure_of_an_unfinished_job_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = job(tmp_path)
    monkeypatch.setattr(_job, "is_finished", lambda _: True)
    (planned.folder / "job.json").write_bytes((planned.folder / "job.json").read_bytes().replace(b'"npy"', b'"hf"'))
    with pytest.raises(JobError):
        planned.finish()


@pytest.mark.parametrize(
    ("name", "size"), [("buckets/00000.table", 100), ("buckets/00000.table", 72), ("buckets/00000.ids", 8)]
)
def test_a_bucket_that_is_cut_short_is_named(name: str, size: int, tmp_path: Path) -> None:
    """The next run rebuilds the bucket; only a single shard, or a file that changes meanwhile, reads it."""
    planned = job(tmp_path, shuffle=3, **BIG)
    path = planned.folder / "job.json"
    toksmith.corpus.run_shard(path, 0)
    good = (planned.folder / name).read_bytes()
    (planned.folder / name).write_bytes(good[:size])
    with pytest.raises(
        JobError, match=rf"{name} has {size} bytes, {len(good):,} were written; make shard 0 again first"
    ):
        toksmith.corpus.run_shard(path, 1)
    if size != 72:
        bucket = _shuffle.Bucket(read_plan(planned._folder), folder_at(planned.folder), 0, WorkerLimits(1))
        said = rf"{name} has {size} bytes, expected .*; delete receipts/00000\.json, and run the job again"
        with pytest.raises(JobError, match=said):
            list(bucket.documents())
    planned.run(progress=False)
    assert toksmith.corpus.verify(planned.folder).ok


def test_parts_are_removed_after_one_read_of_all_receipts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = job(tmp_path, to="nanogpt")
    asked: list[int] = []
    real = LocalFolder.read_each

    def watched(folder: LocalFolder, names: list[str]) -> Any:
        asked.append(len(names))
        return real(folder, names)

    monkeypatch.setattr(finish, "remove_parts", lambda folder, plan: None)
    planned.run(progress=False)
    monkeypatch.undo()
    assert len(list((planned.folder / "parts").iterdir())) == planned.shards > 3
    (planned.folder / "receipts" / "00001.json").write_bytes(b"damaged")
    monkeypatch.setattr(LocalFolder, "read_each", watched)
    finish.remove_parts(folder_at(planned.folder), planned._plan)
    assert asked == [planned.shards]
    assert [path.name for path in (planned.folder / "parts").iterdir()] == ["00001.ids"]


@pytest.mark.parametrize("to", ["parquet", "npy"])
def test_a_job_inside_its_corpus_goes_on(to: str, tmp_path: Path) -> None:
    corpus = tmp_path / "in"
    user_file(corpus, "a.txt")

    def plan() -> toksmith.corpus.Job:
        return toksmith.corpus.plan(TOK, corpus, corpus / "o", to=to, sources=True, errors="quarantine")

    plan().run(part="0/1", progress=False)
    user_file(corpus / "o" / "quarantine", "00000.jsonl")
    assert plan().files == 1
    plan().run(progress=False)
    with pytest.raises(JobError, match="this job is finished"):
        plan()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"toksmith_receipt": 1}', "it has no 'shard'"),
        (b"[]", "a value in it has a wrong type"),
        (b"[" * 100_000, ".*nested too deeply|Expecting value"),
        (b"{", "Expecting property name"),
    ],
)
def test_damaged_files_of_a_job_say_what_is_wrong(data: bytes, said: str, tmp_path: Path) -> None:
    planned = job(tmp_path, **BIG)
    toksmith.corpus.run_shard(planned.folder / "job.json", 0)
    (planned.folder / "receipts" / "00000.json").write_bytes(data)
    with pytest.raises(JobError, match=rf"00000\.json is not a receipt: ({said}).*; delete it, and run the job again"):
        planned.missing()
    (planned.folder / "job.json").write_bytes(data)
    with pytest.raises(
        JobError, match=r"is not a plan of toksmith: .*; restore it, or plan the job again with force=True"
    ):
        toksmith.corpus.Job.at(planned.folder)
    with pytest.raises(JobError, match=r"it is a file; expected the folder of a job"):
        toksmith.corpus.Job.at(planned.folder / "job.json")
