"""Counting as a job of shards, and adding up files of counts: with the bytes of one count of everything."""

import json
import random
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet
import pytest
from click.testing import CliRunner
from job_corpus import ROWS, content, make
from processors import LIMIT_S
from systems import needs
from test_ray import StandIn

import toksmith
from toksmith._cli import app
from toksmith._corpus import blocks
from toksmith._training.counts import files as _files
from toksmith._training.counts import merge
from toksmith._training.counts import sorted as _sorted
from toksmith.corpus import PieceCounts
from toksmith.errors import CorpusError, FormatError, InvalidOption, JobError

SHARD = 1200


def corpus(folder: Path) -> list[Path]:
    """Files of every kind, with rows whose pieces begin anywhere."""
    draw = random.Random(7)
    words = ["low", "lower", " naïve", "☀", "\n", "x" * 30, "1234", " the", " zebra", "ä"]
    rows = [" ".join(draw.choices(words, k=draw.randrange(12))) for _ in range(120)]
    make(folder)
    (folder / "b2.jsonl").write_text("".join(json.dumps({"text": row}) + "\n" for row in rows), encoding="utf-8")
    return sorted(folder.iterdir())


def planned(folder: Path, name: str = "out", **options: Any) -> toksmith.corpus.Job:
    files = corpus(folder / "in") if not (folder / "in").exists() else sorted((folder / "in").iterdir())
    return toksmith.corpus.plan_counts(files, folder / name, **{"shard_size": SHARD, **options})


def saved(counts: PieceCounts, path: Path) -> bytes:
    counts.save(path)
    return path.read_bytes()


def at_once(folder: Path, **options: Any) -> PieceCounts:
    return toksmith.corpus.count(sorted((folder / "in").iterdir()), threads=1, **options)


def merged(job: toksmith.corpus.Job) -> bytes:
    """The bytes of one file with all counts of a job."""
    path = job.folder.with_suffix(".parquet")
    toksmith.corpus.merge_counts([job.folder], path)
    return path.read_bytes()


# Jobs


def test_shards_add_up_to_one_count(tmp_path: Path) -> None:
    job = planned(tmp_path)
    done = job.run(progress=False)
    whole = at_once(tmp_path)
    assert job.shards > 5 and done is not None and (done.to, done.shards) == ("counts", job.shards)
    assert (done.documents, done.text_bytes, done.bad_rows) == (whole.documents, whole.bytes, 0)
    assert done.ids == sum(dict(whole.items()).values())
    assert merged(job) == saved(whole, tmp_path / "whole.parquet")
    loaded = PieceCounts.load(job.folder)
    assert saved(loaded, tmp_path / "loaded.parquet") == saved(whole, tmp_path / "whole.parquet")
    assert loaded.items() == whole.items() and loaded.end == whole.end and loaded.has_positions
    assert toksmith.corpus.verify(job.folder, source=True).ok
    with pytest.raises(InvalidOption, match="to='counts' does not separate documents"):
        toksmith.corpus.verify(job.folder, decode=True)


@pytest.mark.parametrize("ties", ["lowest_ids", "first_seen"])
def test_training_on_a_job_is_training_on_the_corpus(ties: Any, tmp_path: Path) -> None:
    job = planned(tmp_path)
    job.run(progress=False)
    options: dict[str, Any] = {"merges": 40, "ties": ties, "progress": False}
    toksmith.train(sorted((tmp_path / "in").iterdir()), **options).save(tmp_path / "whole.toksmith")
    for number, counts in enumerate((PieceCounts.load(job.folder), PieceCounts.load_all([job.folder]))):
        toksmith.train(counts, **options).save(tmp_path / f"{number}.toksmith")
        assert (tmp_path / f"{number}.toksmith").read_bytes() == (tmp_path / "whole.toksmith").read_bytes()


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_parts_in_any_order_are_one_job(parts: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = planned(tmp_path, "first")
    first.run(progress=False, threads=1)
    job = planned(tmp_path, "parts")
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 10 * parts)
    order = list(range(parts))
    random.Random(parts).shuffle(order)
    for part in order:
        assert job.run(part=f"{part}/{parts}", progress=False, threads=parts) is None
    job.finish()
    assert content(job.folder) == content(first.folder)
    assert merged(job) == saved(at_once(tmp_path), tmp_path / "whole.parquet")


@pytest.mark.slow
def test_processes_write_equal_bytes(tmp_path: Path) -> None:
    planned(tmp_path, "first").run(progress=False)
    planned(tmp_path, "second").run(progress=False, workers=3)
    assert content(tmp_path / "first") == content(tmp_path / "second")


def test_tasks_of_ray_write_equal_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned(tmp_path, "first").run(progress=False)
    monkeypatch.setitem(sys.modules, "ray", StandIn())
    seen: list[toksmith.corpus.JobEvent] = []
    planned(tmp_path, "ray").run("ray", threads=1, events=seen.append)
    assert content(tmp_path / "ray") == content(tmp_path / "first")
    assert {each.worker for each in seen[1:-1]} == {"task"} and seen[-1].unit == "piece"


KILLED = """
import os, sys
import toksmith
from toksmith._storage import folders as _folders
from toksmith._jobs import written as _written

most, calls = int(sys.argv[2]), []
real = _written.sync_folder

def dying(folder):
    calls.append(folder)
    if len(calls) == most:
        os._exit(9)
    real(folder)

_written.sync_folder = _folders.sync_folder = dying
toksmith.corpus.Job.at(sys.argv[1]).run(progress=False, threads=1)
"""


@pytest.mark.slow
@needs("signals")
def test_a_killed_run_continues(tmp_path: Path) -> None:
    """The process dies with files placed and no receipt, and with a receipt of the shard before."""
    first = planned(tmp_path, "first")
    first.run(progress=False)
    job = planned(tmp_path)
    for most in ("1", "2", "3", "8"):
        command = [sys.executable, "-c", textwrap.dedent(KILLED), str(job.folder), most]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == 9, done.stderr
        with pytest.raises(FormatError, match="the job is not finished"):
            PieceCounts.load(job.folder)
    assert 0 < len(job.missing()) < job.shards
    planned(tmp_path).run(progress=False)
    assert content(job.folder) == content(first.folder)
    assert merged(job) == saved(at_once(tmp_path), tmp_path / "whole.parquet")


def test_bad_rows_stop_the_job_or_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_bytes(b"low b")
    rows = [b'{"text": "a"}', b"not JSON", b'{"texts": "b"}', b"", b'{"text": "low b"}', b'{"text": null}']
    (tmp_path / "in" / "rows.jsonl").write_bytes(b"\n".join(rows))
    table = arrow.table({"text": ["a", None, "low b", None, None, "c"]})
    arrow.parquet.write_table(table, tmp_path / "in" / "s.parquet", row_group_size=2)
    for size in (1, 20, 1 << 20):
        with pytest.raises(CorpusError, match=r"rows\.jsonl: .*does not begin with") as caught:
            planned(tmp_path, f"stop {size}", shard_size=size).run(progress=False)
        assert ("the row at byte 14" in caught.value.problem) == (caught.value.record is None) == (size == 1)
        job = planned(tmp_path, f"skip {size}", shard_size=size, errors="skip")
        done = job.run(progress=False)
        whole = at_once(tmp_path, errors="skip")
        assert done is not None and done.bad_rows == whole.skipped == 6
        assert merged(job) == saved(whole, tmp_path / "whole.parquet")
        job = planned(tmp_path, f"few {size}", shard_size=size, errors="skip", max_errors=5)
        with pytest.raises((JobError, CorpusError), match=r"6 rows could not|more than 5 rows without a text"):
            job.run(progress=False)


def test_long_pieces_are_left_out(tmp_path: Path) -> None:
    job = planned(tmp_path, max_piece_bytes=5)
    job.run(progress=False)
    whole = at_once(tmp_path, max_piece_bytes=5)
    assert whole.long.pieces and merged(job) == saved(whole, tmp_path / "whole.parquet")


def test_other_patterns_are_another_job(tmp_path: Path) -> None:
    job = planned(tmp_path, pattern=["gpt2"])
    with pytest.raises(JobError, match=r"another job is planned here \(other patterns and max_piece_bytes\)"):
        planned(tmp_path, max_piece_bytes=9)
    job.run(progress=False)
    assert PieceCounts.load(job.folder).patterns == toksmith.patterns()["gpt2"].regexes
    with pytest.raises(JobError, match="this job is finished"):
        planned(tmp_path, pattern=["gpt2"])
    replaced = planned(tmp_path, pattern=None, force=True)
    replaced.run(progress=False)
    assert PieceCounts.load(replaced.folder).items() == at_once(tmp_path, pattern=None).items()
    assert planned(tmp_path, "dry", dry_run=True).shards == replaced.shards and not (tmp_path / "dry").exists()


@pytest.mark.parametrize(
    "options",
    [{"errors": "quarantine"}, {"max_piece_bytes": 0}, {"shard_size": 0}, {"max_errors": 5}, {"pattern": "("}],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises((InvalidOption, toksmith.errors.PatternError)):
        planned(tmp_path, **options)
    assert not (tmp_path / "out").exists()


# Adding up files


def parts_of(count: int, *, start: bool) -> list[PieceCounts]:
    """Counts of stretches of a corpus; with `start`, each knows where it is."""
    draw, found, end = random.Random(3), [], 0
    for _ in range(count):
        texts = [" ".join(draw.choices(ROWS, k=3)) + str(draw.randrange(40)) for _ in range(draw.randrange(4))]
        found.append(toksmith.corpus.count(texts, start=end if start else 0, threads=1, progress=False))
        end += len(texts)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".parquet", ".tsv"])
@pytest.mark.parametrize("least", [1, 3])
def test_rounds_give_the_sum(suffix: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With few files at a time, few rows of each, and groups of few rows."""
    parts = parts_of(23, start=True)
    whole = PieceCounts.sum(parts)
    expected = saved(whole.filter(least), tmp_path / f"whole{suffix}")
    paths = [tmp_path / f"{number:02}{suffix}" for number in range(len(parts))]
    for path, part in zip(paths, parts, strict=True):
        part.save(path)
    random.Random(5).shuffle(paths)
    for most, rows in ((2, 1), (5, 3), (100, 1 << 12)):
        monkeypatch.setattr(merge, "MOST_OPEN", most)
        monkeypatch.setattr(_sorted, "ROWS_IN_A_BATCH", rows)
        found = toksmith.corpus.merge_counts(paths, tmp_path / f"merged{suffix}", min_count=least)
        assert (tmp_path / f"merged{suffix}").read_bytes() == expected
        assert found.has_positions == (suffix == ".parquet")
        kept = whole.filter(least)
        assert (found.pieces, found.documents, found.bytes) == (len(kept), kept.documents, kept.bytes)
        assert (found.digest, found.end, found.long, found.rare) == (kept.digest, kept.end, kept.long, kept.rare)
        assert (
            PieceCounts.load_all(paths).items() == PieceCounts.sum([PieceCounts.load(path) for path in paths]).items()
        )


def test_row_groups_do_not_depend_on_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (_files, _sorted):
        monkeypatch.setattr(module, "ROWS_IN_A_GROUP", 7)
    parts = parts_of(9, start=True)
    for number, part in enumerate(parts):
        part.save(tmp_path / f"{number}.parquet")
    expected = saved(PieceCounts.sum(parts), tmp_path / "whole.parquet")
    toksmith.corpus.merge_counts([tmp_path / f"{number}.parquet" for number in range(9)], tmp_path / "merged.parquet")
    assert (tmp_path / "merged.parquet").read_bytes() == expected
    assert arrow.parquet.read_metadata(tmp_path / "whole.parquet").num_row_groups > 1


@pytest.mark.slow
def test_few_files_are_open_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """300 files: never more than the bound are open, and never more rows of each are held than one batch has."""
    parts = parts_of(12, start=False)
    for number in range(300):
        parts[number % 12].save(tmp_path / f"{number:03}.parquet")
    is_open, most, real = 0, 0, _sorted.rows_of

    def watched(*given: Any, **options: Any) -> Iterator[_sorted.CountRows]:
        nonlocal is_open, most
        is_open += 1
        most = max(most, is_open)
        try:
            for rows in real(*given, **options):
                assert len(rows.ends) <= 5
                yield rows
        finally:
            is_open -= 1

    monkeypatch.setattr(merge, "rows_of", watched)
    monkeypatch.setattr(merge, "MOST_OPEN", 8)
    monkeypatch.setattr(_sorted, "ROWS_IN_A_BATCH", 5)
    (tmp_path / "rounds").mkdir()
    paths = sorted(tmp_path.glob("*.parquet"))
    found = toksmith.corpus.merge_counts(paths, tmp_path / "all.parquet", spill_to=tmp_path / "rounds")
    assert (most, is_open) == (8, 0) and not list((tmp_path / "rounds").iterdir())
    counts = PieceCounts.sum([*parts * 25])
    assert dict(PieceCounts.load(tmp_path / "all.parquet").items()) == dict(counts.items())
    assert not found.has_positions and found.documents == counts.documents


def test_shards_counted_from_0_merge_in_order(tmp_path: Path) -> None:
    alone, placed = parts_of(7, start=False), parts_of(7, start=True)
    paths = [tmp_path / f"{number}.parquet" for number in range(7)]
    for path, part in zip(paths, alone, strict=True):
        part.save(path)
    expected = saved(PieceCounts.sum(placed), tmp_path / "whole.parquet")
    assert toksmith.corpus.merge_counts(paths, tmp_path / "merged.parquet", in_order=True).has_positions
    assert (tmp_path / "merged.parquet").read_bytes() == expected
    assert not toksmith.corpus.merge_counts(paths, tmp_path / "unknown.parquet").has_positions
    moved, end = [], 0
    for part in alone:
        moved.append(part.moved(end))
        end = moved[-1].end.document
    assert saved(PieceCounts.sum(moved), tmp_path / "moved.parquet") == expected
    with pytest.raises(InvalidOption, match=r"numbers of documents below 2\*\*63"):
        alone[0].moved(1 << 63)


def test_a_folder_of_counts_loads_as_their_sum(tmp_path: Path) -> None:
    parts = parts_of(4, start=True)
    (tmp_path / "counts").mkdir()
    with pytest.raises(FormatError, match="the folder has no file of counts"):
        PieceCounts.load(tmp_path / "counts")
    for number, part in enumerate(parts):
        part.save(tmp_path / "counts" / f"{number}{('.tsv', '.parquet')[number % 2]}")
    assert dict(PieceCounts.load(tmp_path / "counts").items()) == dict(PieceCounts.sum(parts).items())


def test_two_jobs_follow_each_other(tmp_path: Path) -> None:
    files = corpus(tmp_path / "in")
    for name, some in (("a", files[:3]), ("b", files[3:])):
        toksmith.corpus.plan_counts(some, tmp_path / name, shard_size=SHARD).run(progress=False)
    toksmith.corpus.merge_counts([tmp_path / "a", tmp_path / "b"], tmp_path / "all.parquet", in_order=True)
    assert (tmp_path / "all.parquet").read_bytes() == saved(at_once(tmp_path), tmp_path / "whole.parquet")
    assert not toksmith.corpus.merge_counts([tmp_path / "a", tmp_path / "b"], tmp_path / "all.tsv").has_positions


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (b"1\tb\n1\ta\n1\tc\n", None),  # one block is sorted as it is read
        (b"1\ta\n1\ta\n", "row 2: the piece is in an earlier row"),
        (b"0\ta\n", "row 1: expected a piece of at least one byte"),
        (b"x\ta\n", "2: the count is not a 64-bit number"),
        (b"18446744073709551615\ta\n", "expected counts whose sum is below"),
    ],
)
def test_hostile_lines_are_refused(lines: bytes, said: str | None, tmp_path: Path) -> None:
    toksmith.corpus.count("a").save(tmp_path / "good.tsv")
    head = (tmp_path / "good.tsv").read_bytes().partition(b"\n")[0]
    (tmp_path / "bad.tsv").write_bytes(head + b"\n" + lines)
    both = [tmp_path / "good.tsv", tmp_path / "bad.tsv"]
    if said is None:
        assert toksmith.corpus.merge_counts(both, tmp_path / "all.tsv").pieces == 3
        return
    with pytest.raises((FormatError, InvalidOption), match=said):
        toksmith.corpus.merge_counts(both, tmp_path / "all.tsv")
    assert not (tmp_path / "all.tsv").exists()


def test_files_that_are_not_sorted_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toksmith.corpus.count("b a").save(tmp_path / "good.parquet")
    table = arrow.parquet.read_table(tmp_path / "good.parquet")
    arrow.parquet.write_table(table.take([1, 0]), tmp_path / "bad.parquet")
    with pytest.raises(FormatError, match=r"bad\.parquet: ?row 2: the piece is empty, or does not follow the piece"):
        toksmith.corpus.merge_counts([tmp_path / "bad.parquet"], tmp_path / "all.parquet")
    monkeypatch.setattr(_sorted, "BYTES_OF_LINES", 1)
    toksmith.corpus.count("b a").save(tmp_path / "bad.tsv")
    head, *rows = (tmp_path / "bad.tsv").read_bytes().splitlines(keepends=True)
    (tmp_path / "bad.tsv").write_bytes(head + b"".join(rows[::-1]))
    with pytest.raises(FormatError, match=r"bad\.tsv: ?row 2: the piece is empty, or does not follow"):
        toksmith.corpus.merge_counts([tmp_path / "bad.tsv"], tmp_path / "all.parquet")
    PieceCounts.load(tmp_path / "bad.tsv").save(tmp_path / "bad.tsv")
    assert toksmith.corpus.merge_counts([tmp_path / "bad.tsv"], tmp_path / "all.parquet").pieces == 2


def test_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    toksmith.corpus.count("a").save(tmp_path / "a.tsv")
    toksmith.corpus.count("a", pattern="gpt2").save(tmp_path / "b.tsv")
    (tmp_path / "c.tsv").write_bytes(b"1\ta\n")
    with pytest.raises(InvalidOption, match="counts with the same pattern"):
        toksmith.corpus.merge_counts([tmp_path / "a.tsv", tmp_path / "b.tsv"], tmp_path / "all.tsv")
    with pytest.raises(InvalidOption, match="the pattern that split the pieces"):
        toksmith.corpus.merge_counts([tmp_path / "c.tsv"], tmp_path / "all.tsv")
    with pytest.raises(InvalidOption, match="at least one file"):
        toksmith.corpus.merge_counts([], tmp_path / "all.tsv")
    with pytest.raises(FormatError, match="the suffix names no format"):
        toksmith.corpus.merge_counts([tmp_path / "a.tsv"], tmp_path / "all.csv")
    with pytest.raises(FormatError, match="cannot be read"):
        toksmith.corpus.merge_counts([tmp_path / "none.tsv"], tmp_path / "all.tsv")
    assert not list(tmp_path.glob("all*"))


def test_a_job_of_ids_is_refused_as_counts(tmp_path: Path) -> None:
    tok = toksmith.train("low", merges=1, progress=False)
    toksmith.corpus.plan(tok, corpus(tmp_path / "in"), tmp_path / "ids").run(progress=False)
    with pytest.raises(FormatError, match="is the folder of a job that encodes"):
        PieceCounts.load(tmp_path / "ids")
    job = planned(tmp_path)
    job.run(progress=False)
    (job.folder / "00001.counts.parquet").write_bytes(b"cut")
    with pytest.raises(FormatError, match=r"00001\.counts\.parquet: .*run verify on the folder"):
        PieceCounts.load(job.folder)


# From the shell


def run(*arguments: Any) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_command_counts_in_shards_and_merges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    corpus(tmp_path / "in")
    for part in ("1/2", "0/2"):
        done = run("corpus", "count", "in", "-o", "out/", "--shard-size", SHARD, "--part", part, "-q")
        assert done.exit_code == 0, done.output
    assert run("corpus", "count", "-o", "out/", "--finish").exit_code == 0
    whole = at_once(tmp_path)
    assert run("corpus", "count", "in", "-o", "whole.parquet", "-q").exit_code == 0
    assert run("corpus", "merge-counts", "out", "-o", "merged.parquet", "-q").exit_code == 0
    assert Path("whole.parquet").read_bytes() == Path("merged.parquet").read_bytes()
    facts = json.loads(run("corpus", "merge-counts", "out", "-o", "merged.parquet", "--min-count", 2, "--json").stdout)
    assert (facts["pieces"], facts["digest"]) == (len(whole.filter(2)), whole.filter(2).digest)
    for source in (["in"], ["--from-counts", "out/"], ["--from-counts", "whole.parquet"]):
        done = run("train", *source, "--merges", 20, "--ties", "first_seen", "-o", f"{len(source)}.toksmith", "-q")
        assert done.exit_code == 0, done.output
    assert Path("1.toksmith").read_bytes() == Path("2.toksmith").read_bytes()
    again = run("corpus", "count", "in", "-o", "out/", "--shard-size", SHARD)
    assert again.exit_code == 1 and "this job is finished" in again.stderr and "--force" in again.stderr
    status = run("corpus", "status", "out").stdout
    assert status.endswith("; finished\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["in", "-o", "a.parquet", "--part", "0/2"], "needs a folder"),
        (["in", "-o", "a.parquet", "--run", "ray"], "needs a folder"),
        (["in", "-o", "out/", "--min-count", "2"], "'corpus merge-counts' --min-count"),
        (["in", "-o", "out/", "--start", "2"], "is for one file of counts"),
        (["-o", "out/"], "a job reads files"),
        (["in", "-o", "out"], "write DIR/ for a job of shards"),
        (["in", "-o", "out/", "--errors", "quarantine"], "'stop', 'skip'"),
    ],
)
def test_options_that_do_not_fit_the_output_are_refused(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    corpus(tmp_path / "in")
    done = run("corpus", "count", *arguments)
    assert done.exit_code == 2 and said in " ".join(done.output.replace("│", " ").split()), done.output
