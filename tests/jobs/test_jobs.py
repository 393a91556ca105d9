"""Jobs: plans, equal bytes however a job runs, bad input, and verification."""

import gzip
import json
import os
import random
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from job_corpus import END, PAD, ROWS, SHARD, TEXTS, TOK, content, ids_of, job, joined, make
from processors import LIMIT_S
from systems import needs

import toksmith
from toksmith._corpus import blocks
from toksmith._corpus.encode_files import wrap_documents
from toksmith._jobs.make import encode_shard, packing
from toksmith._jobs.make import shuffle as _shuffle
from toksmith._jobs.plans import draft, plan
from toksmith._jobs.plans import options as _options
from toksmith._storage.remote import input_at
from toksmith.errors import CorpusError, InvalidOption, JobError, UnknownName


def documents(folder: Path) -> list[list[int]]:
    """The ids of all documents of a finished job with `.npy` files."""
    found = []
    for path in sorted(folder.glob("?????.npy")):
        ids, ends = np.load(path), np.load(path.with_suffix(".ends.npy"))
        found += [part.tolist() for part in np.split(ids, ends[:-1].astype(int))] if len(ends) else []
    return found


def test_a_job_holds_the_ids_of_encode(tmp_path: Path) -> None:
    planned = job(tmp_path)
    assert planned.shards > 5 and planned.files == 6
    assert planned.bytes == sum(path.stat().st_size for path in (tmp_path / "in").iterdir())
    assert planned.missing() == list(range(planned.shards)) and not planned.status().finished
    done = planned.run(progress=False)
    assert done is not None and documents(tmp_path / "out") == ids_of()
    assert (done.documents, done.ids) == (len(TEXTS), sum(map(len, ids_of())))
    assert (done.text_bytes, done.bad_rows, done.to) == (sum(map(len, TEXTS)), 0, "npy")
    assert planned.finished and planned.missing() == []
    assert {*done.files} <= {*content(tmp_path / "out")}
    sums = (tmp_path / "out" / "SHA256SUMS").read_text().splitlines()
    found = content(tmp_path / "out")
    assert [line.split("  ") for line in sums] == [[found[line[66:]], line[66:]] for line in sums]
    records = ["job.json", planned._plan.tokenizer, *(f"receipts/{n:05}.json" for n in range(planned.shards))]
    assert [line[66:] for line in sums] == [*done.files, *records, "manifest.json"]


def test_one_shard_equals_the_files_of_encode(tmp_path: Path) -> None:
    planned = job(tmp_path, shard_size=1 << 20)
    assert planned.shards == 1
    planned.run(progress=False)
    corpus = sorted((tmp_path / "in").iterdir())
    toksmith.corpus.encode(TOK, corpus, tmp_path / "ids.npy", append=END, progress=False)
    for one, other in (("ids.npy", "00000.npy"), ("ids.ends.npy", "00000.ends.npy")):
        assert (tmp_path / one).read_bytes() == (tmp_path / "out" / other).read_bytes()


@pytest.mark.parametrize("step", [1, 7, 60, 400, 10**6])
def test_files_are_cut_where_rows_start(step: int, tmp_path: Path) -> None:
    draw = random.Random(step)
    data = b"\n".join(b"x" * draw.choice((0, 1, 5, 90)) for _ in range(200)) + draw.choice((b"", b"\n"))
    path = tmp_path / "rows.jsonl"
    path.write_bytes(data)
    ends = list(draft.row_starts(input_at(str(path)), len(data), step))
    assert ends == sorted(ends) and ends[-1] == len(data)
    assert all(end == len(data) or data[end - 1 : end] == b"\n" for end in ends)
    start = 0
    for end in ends:
        assert end == len(data) or b"\n" not in data[start + step - 1 : end - 1]
        start = end


def test_parts_are_grouped_into_shards() -> None:
    part = plan.Part
    sizes = [(part(0, 0, 5), 5), (part(0, 5, 9), 4), (part(1), 3), (part(2), 30), (part(3), 0), (part(4, 0, 1), 2)]
    found = draft.group_parts([draft.Piece(each, size, size, 2 * size) for each, size in sizes], 12)
    grouped = [(part(0, 0, 9), 9), (part(1), 3)], [(part(2), 30)], [(part(3), 0), (part(4, 0, 1), 2)]
    assert [*found] == [
        (number, draft.Piece(each, size, size, 2 * size))
        for number, shard in enumerate(grouped)
        for each, size in shard
    ]
    assert [*draft.group_parts([], 12)] == []


# The same bytes in every way


WAYS: list[dict[str, Any]] = [{"threads": 1, "events": str}, {"threads": 3}, {"workers": 2}]


@pytest.mark.slow
def test_every_way_to_run_gives_equal_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job(tmp_path, "first", sources=True).run(progress=False)
    first = content(tmp_path / "first")
    for number, way in enumerate(WAYS):
        monkeypatch.setattr(encode_shard, "BYTES_IN_A_BATCH", 1 + 50 * number)
        job(tmp_path, f"way {number}", sources=True).run(progress=False, **way)
        assert content(tmp_path / f"way {number}") == first
    planned = job(tmp_path, "by hand", sources=True)
    order = planned.missing()
    random.Random(3).shuffle(order)
    for number in (*order, order[0]):
        receipt = toksmith.corpus.run_shard(tmp_path / "by hand" / "job.json", number)
        assert receipt.shard == number and {each.name for each in receipt.files} <= {*first}
    planned.finish()
    assert planned.finish() == toksmith.corpus.Job.at(tmp_path / "by hand").finish()
    assert content(tmp_path / "by hand") == first
    planned = job(tmp_path, "in parts", sources=True)
    for part in ("2/3", "0/3", "1/3"):
        assert planned.run(part=part, progress=False) is None
    planned.finish()
    assert content(tmp_path / "in parts") == first


def test_an_unfinished_job_continues(tmp_path: Path) -> None:
    planned = job(tmp_path)
    with pytest.raises(JobError, match=r"shards of \d+ missing \(0, 1, 2, 3, 4, …\)"):
        planned.finish()
    toksmith.corpus.run_shard(planned.folder / "job.json", 1)
    kept = planned.folder / "00001.npy"
    before = kept.stat().st_mtime_ns
    again = job(tmp_path)
    assert again.missing() == [0, *range(2, again.shards)]
    status = again.status()
    assert (status.shards, status.done, status.finished) == (again.shards, 1, False)
    (planned.folder / "00001.npy.0123456789abcdef.tmp").write_bytes(b"left by a killed run")
    (planned.folder / "receipts" / "00000.json.0123456789abcdef.tmp").write_bytes(b"")
    done = again.run(progress=False)
    assert done is not None and kept.stat().st_mtime_ns == before
    assert documents(planned.folder) == ids_of() and not list(planned.folder.rglob("*.tmp"))
    status = again.status()
    assert (status.documents, status.ids, status.finished) == (done.documents, done.ids, True)


def test_a_shard_whose_files_are_gone_is_rebuilt(tmp_path: Path) -> None:
    planned = job(tmp_path)
    planned.run(part="0/1", progress=False)
    (planned.folder / "00001.npy").unlink()
    (planned.folder / "00002.npy").write_bytes(b"cut")
    assert planned.missing() == [1, 2]
    planned.run(progress=False)
    assert documents(planned.folder) == ids_of()


def test_a_folder_holds_one_plan(tmp_path: Path) -> None:
    planned = job(tmp_path)
    before = content(planned.folder)
    with pytest.raises(JobError, match=r"another job is planned here \(other to and append\); name another folder"):
        job(tmp_path, to="megatron", append=None)
    assert content(planned.folder) == before
    planned.run(progress=False)
    with pytest.raises(JobError, match="this job is finished"):
        job(tmp_path)
    (tmp_path / "in" / "b.txt").write_bytes(b"other")
    with pytest.raises(JobError, match="other contents of input files"):
        job(tmp_path)
    replaced = job(tmp_path, to="megatron", force=True)
    assert not list(planned.folder.glob("*.npy")) and not replaced.finished
    replaced.run(progress=False)
    assert toksmith.corpus.verify(planned.folder, decode=True).ok
    assert job(tmp_path, "dry", dry_run=True).shards == replaced.shards and not (tmp_path / "dry").exists()
    with pytest.raises(JobError, match="dry run"):
        job(tmp_path, "dry", dry_run=True).run()


# Bad input


BAD = [b'{"text": "a"}', b"not JSON", b'{"text": "\xff"}', b'{"texts": "b"}', b'{"text": null}', b"", b'{"text": "b"}']
REASONS = ["does not begin with '{'", "is not UTF-8", "which is missing", "but null"]


def bad_corpus(folder: Path) -> Path:
    (folder / "in").mkdir()
    (folder / "in" / "rows.jsonl").write_bytes(b"\n".join(BAD) + b"\n")
    return folder / "in" / "rows.jsonl"


@pytest.mark.parametrize("size", [1, 1 << 20])
def test_bad_rows_are_left_out_and_kept(size: int, tmp_path: Path) -> None:
    path = bad_corpus(tmp_path)
    with pytest.raises(CorpusError, match=r"rows\.jsonl: .*does not begin with") as caught:
        job(tmp_path, "stop", shard_size=size, append=None).run(progress=False)
    assert caught.value.path == str(path) and (size == 1) == (caught.value.record is None)
    assert ("the row at byte 14" in caught.value.problem) == (size == 1)
    for errors in ("skip", "quarantine"):
        done = job(tmp_path, errors, shard_size=size, append=None, errors=errors).run(progress=False)
        assert done is not None and (done.documents, done.bad_rows) == (2, 4)
        assert documents(tmp_path / errors) == ids_of([b"a", b"b"], None)
    rows = [
        json.loads(line)
        for file in sorted((tmp_path / "quarantine" / "quarantine").iterdir())
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    places = [sum(len(row) + 1 for row in BAD[:number]) for number in range(1, 5)]
    assert [row["byte"] for row in rows] == places and {row["path"] for row in rows} == {str(path)}
    assert [row["record"] for row in rows] == ([None] * 4 if size == 1 else [1, 2, 3, 4])
    assert all(reason in row["reason"] for reason, row in zip(REASONS, rows, strict=True))
    assert [row.get("row") for row in rows] == ["not JSON\n", None, '{"texts": "b"}\n', '{"text": null}\n']
    assert rows[1]["row_base64"] == "eyJ0ZXh0IjogIv8ifQo="
    assert not (tmp_path / "skip" / "quarantine").exists()
    assert toksmith.corpus.verify(tmp_path / "quarantine", decode=True, source=True).ok


def test_the_job_counts_its_bad_rows(tmp_path: Path) -> None:
    bad_corpus(tmp_path)
    for size in (1, 1 << 20):
        planned = job(tmp_path, f"few {size}", shard_size=size, errors="skip", max_errors=3)
        with pytest.raises((JobError, CorpusError), match=r"4 rows could not|more than 3 rows") as caught:
            planned.run(progress=False)
        assert isinstance(caught.value, JobError) == (size == 1)
        done = job(tmp_path, f"enough {size}", shard_size=size, errors="skip", max_errors=4).run(progress=False)
        assert done is not None and done.bad_rows == 4


def test_texts_that_cannot_be_encoded_are_bad_rows(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rows = [{"text": "low"}, {"text": f"a{END}"}, {"text": "x"}]
    (tmp_path / "in" / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(CorpusError, match="document 1: the text holds the special token"):
        job(tmp_path, "stop").run(progress=False)
    done = job(tmp_path, "left out", errors="quarantine", append=None).run(progress=False)
    assert done is not None and (done.documents, done.bad_rows) == (2, 1)
    (kept,) = (tmp_path / "left out" / "quarantine").iterdir()
    assert json.loads(kept.read_text())["row"] == json.dumps(rows[1]) + "\n"
    done = job(tmp_path, "allowed", special="allow", append=None).run(progress=False)
    assert done is not None and documents(tmp_path / "allowed")[1][-1] == TOK.special_tokens[END]
    manifest = json.loads((tmp_path / "allowed" / "manifest.json").read_text())
    assert manifest["special_tokens"] == {END: 1}
    assert toksmith.corpus.verify(tmp_path / "allowed", decode=True).ok
    assert job(tmp_path, "one", special=[END], append=None).run(progress=False) is not None


def test_parquet_rows_without_a_text_are_quarantined(tmp_path: Path) -> None:
    arrow: Any = pytest.importorskip("pyarrow")
    pytest.importorskip("pyarrow.parquet")
    (tmp_path / "in").mkdir()
    table = arrow.table({"text": ["a", None, "b", None, "c"]})
    arrow.parquet.write_table(table, tmp_path / "in" / "rows.parquet", row_group_size=2)
    for size in (1, 1 << 20):
        done = job(tmp_path, f"out {size}", shard_size=size, errors="quarantine", append=None).run(progress=False)
        assert done is not None and (done.documents, done.bad_rows) == (3, 2)
        files = sorted((tmp_path / f"out {size}" / "quarantine").iterdir())
        rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
        assert [(row["record"], row["reason"]) for row in rows] == [
            (n, "has no text in the column 'text'") for n in (1, 3)
        ]
        assert documents(tmp_path / f"out {size}") == ids_of([b"a", b"b", b"c"], None)


def test_files_that_cannot_be_read_stop_the_job(tmp_path: Path) -> None:
    planned = job(tmp_path, errors="skip")
    packed = tmp_path / "in" / "c.jsonl.gz"
    data = packed.read_bytes()
    when = packed.stat().st_mtime_ns
    packed.write_bytes(data[:-9])
    with pytest.raises(CorpusError, match=r"c\.jsonl\.gz: changed after the job was planned \(it has \d+ bytes now"):
        planned.run(progress=False)
    packed.write_bytes(b"\0" * len(data))
    os.utime(packed, ns=(when, when))
    with pytest.raises(CorpusError, match=r"c\.jsonl\.gz: cannot be read"):
        planned.run(progress=False)
    packed.write_bytes(data)
    os.utime(packed, ns=(when, when + 1))
    with pytest.raises(CorpusError, match="it was written to since"):
        planned.run(progress=False)
    os.utime(packed, ns=(when, when))
    planned.run(progress=False)
    assert documents(planned.folder) == ids_of()


def test_a_file_that_changes_while_it_is_read_stops_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = job(tmp_path, shard_size=1 << 20)
    real = blocks.whole_lines

    def longer(*arguments: Any, **options: Any) -> Any:
        yield from real(*arguments, **options)
        with open(tmp_path / "in" / "a.jsonl", "ab") as file:
            file.write(b"\n")

    with monkeypatch.context() as patch:
        patch.setattr(blocks, "whole_lines", longer)
        with pytest.raises(CorpusError, match="changed after the job was planned"):
            planned.run(progress=False)
    assert not list(planned.folder.glob("*.npy")) and planned.missing() == [0]


def test_another_tokenizer_or_library_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = job(tmp_path)
    (saved,) = planned.folder.glob("tokenizer-*.toksmith")
    data = saved.read_bytes()
    toksmith.train("other", merges=1, special_tokens=[END], progress=False).save(saved)
    with pytest.raises(JobError, match="is not the tokenizer of the plan"):
        planned.run(progress=False)
    saved.unlink()
    with pytest.raises(JobError, match="cannot be read: No such file"):
        planned.run(progress=False)
    saved.write_bytes(data)
    path = planned.folder / "job.json"
    path.write_bytes(path.read_bytes().replace(b'"toksmith": "', b'"toksmith": "9'))
    with pytest.raises(JobError, match=r"planned with toksmith 9.*force=True"):
        toksmith.corpus.Job.at(planned.folder).run(progress=False)


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b"{", b"[" * 100_000, b'{"toksmith_job": 2}', b'{"toksmith_receipt": 1}', b"\xff"],
)
def test_hostile_plans_and_receipts_are_refused(data: bytes, tmp_path: Path) -> None:
    planned = job(tmp_path)
    planned.run(part="0/1", progress=False)
    receipt = planned.folder / "receipts" / "00000.json"
    good = receipt.read_bytes()
    receipt.write_bytes(data)
    with pytest.raises(JobError, match=r"receipts/00000\.json is not a receipt: .*; delete it"):
        planned.missing()
    for name in ("../x", "/x", "a/b/c", "", "a//b", "a/.."):
        receipt.write_bytes(good.replace(b'"00000.npy"', json.dumps(name).encode()))
        with pytest.raises(JobError, match="is not the name of a file of a job"):
            planned.finish()
    receipt.write_bytes(good)
    planned.finish()
    (planned.folder / "manifest.json").write_bytes(data)
    assert "is not a manifest" in str(toksmith.corpus.verify(planned.folder))
    (planned.folder / "job.json").write_bytes(data)
    with pytest.raises(JobError, match=r"job\.json is not a plan"):
        toksmith.corpus.Job.at(planned.folder)
    with pytest.raises(JobError, match=r"it is a file; expected the folder of a job"):
        toksmith.corpus.Job.at(planned.folder / "job.json")
    (planned.folder / "job.json").unlink()
    with pytest.raises(JobError, match=r"there is no job\.json"):
        toksmith.corpus.Job.at(planned.folder)


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"dtype": "uint8"}, "dtype"),
        ({"dtype": "int32"}, "dtype"),
        ({"to": "parquet", "dtype": "uint16"}, "dtype"),
        ({"empty": "drop"}, "empty"),
        ({"errors": "ignore"}, "errors"),
        ({"max_errors": 5}, "max_errors"),
        ({"max_errors": -1, "errors": "skip"}, "max_errors"),
        ({"shard_size": 0}, "shard_size"),
        ({"shuffle": -1}, "shuffle"),
        ({"shuffle": 1 << 64}, "shuffle"),
        ({"shuffle": 1, "to": "parquet", "id_field": "id"}, "id_field"),
        ({"id_field": "id"}, "id_field"),
        ({"pack": "chunk", "length": 8}, "pack"),
        ({"pack": "chunk", "to": "hf"}, "length"),
        ({"pack": "chunk", "to": "hf", "length": 0}, "length"),
        ({"length": 8}, "length"),
        ({"pad": PAD}, "pad"),
    ],
)
def test_options_that_do_not_fit_are_refused(options: dict[str, Any], argument: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption) as caught:
        job(tmp_path, **options)
    assert caught.value.argument == argument and not (tmp_path / "out").exists()


def test_names_and_corpora_that_are_refused(tmp_path: Path) -> None:
    for options in ({"to": "megatorn"}, {"append": "low"}, {"prepend": "<|en|>"}, {"special": ["low"]}):
        with pytest.raises(UnknownName):
            job(tmp_path, **options)
    for corpus in ("a text", [b"a text"], []):
        with pytest.raises(InvalidOption, match="corpus"):
            toksmith.corpus.plan(TOK, corpus, tmp_path / "out")
    with pytest.raises(toksmith.errors.FormatError, match="cannot be written"):
        job(tmp_path, "no/parent")
    with pytest.raises(CorpusError, match="no file matches"):
        toksmith.corpus.plan(TOK, toksmith.files(tmp_path / "*.none"), tmp_path / "out")
    planned = job(tmp_path)
    for wrong in ("2/2", "0/0", "1", "-1/2", "a/b", "0/2/3"):
        with pytest.raises(InvalidOption, match="part"):
            planned.run(part=wrong)
    with pytest.raises(UnknownName, match="runner named 'slurm'"):
        planned.run("slurm")
    with pytest.raises(InvalidOption, match="workers"):
        planned.run(workers=0)
    for number in (-1, planned.shards):
        with pytest.raises(InvalidOption, match="number"):
            toksmith.corpus.run_shard(planned.folder / "job.json", number)
    with pytest.raises(InvalidOption, match=r"job\.json"):
        toksmith.corpus.run_shard(planned.folder, 0)


# Empty documents, and tokens around documents


@pytest.mark.parametrize(
    ("empty", "first", "last"), [("token", True, True), ("keep", True, False), ("skip", False, True)]
)
def test_texts_without_ids_follow_the_option_empty(empty: Any, first: bool, last: bool, tmp_path: Path) -> None:
    names = {"prepend": PAD if first else None, "append": END if last else None}
    done = job(tmp_path, empty=empty, **names).run(progress=False)
    around = [[TOK.special_tokens[name]] if name else [] for name in names.values()]
    texts = [text for text in TEXTS if text or empty != "skip"]
    expected = [[] if not text and empty == "keep" else [*around[0], *TOK.encode(text), *around[1]] for text in texts]
    assert done is not None and documents(tmp_path / "out") == expected
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["empty"] == TEXTS.count(b"")
    assert toksmith.corpus.verify(tmp_path / "out", decode=True).ok


@pytest.mark.parametrize("slow", ["0", "1"])
def test_tokens_are_put_around_each_document(slow: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKSMITH_SLOW", slow)
    ids, ends = np.array([7, 8, 9], np.uint32), np.array([0, 2, 2, 3], np.uint64)
    one, two, none = (np.array(values, np.uint32) for values in ([1], [2], []))
    found = wrap_documents((ids, ends), one, two)
    assert [part.tolist() for part in found] == [[1, 2, 1, 7, 8, 2, 1, 2, 1, 9, 2], [2, 6, 8, 11]]
    found = wrap_documents((ids, ends), one, none, np.array([False, True, False, True]))
    assert [part.tolist() for part in found] == [[1, 7, 8, 1, 9], [0, 3, 3, 5]]
    nothing = (np.empty(0, np.uint32), np.empty(0, np.uint64))
    assert [len(part) for part in wrap_documents(nothing, one, two)] == [0, 0]


# Packing and order


@pytest.mark.parametrize("how", _options.PACKINGS)
@pytest.mark.parametrize("length", [1, 3, 16, 100])
def test_packed_rows_hold_all_ids(how: str, length: int) -> None:
    draw = random.Random(length)
    sizes = [draw.choice((0, 1, 2, 5, 40)) for _ in range(200)]
    ids = np.arange(sum(sizes), dtype=np.uint32)
    found = list(packing.pack_rows([(ids, np.cumsum(sizes, dtype=np.uint64))], how, length, None))
    rows = [row.tolist() for own, ends, _ in found for row in np.split(own, ends[:-1].astype(int))]
    assert sorted(joined(rows)) == ids.tolist() and max(map(len, rows)) <= length
    pieces = [piece for _, _, lengths in found for piece in lengths]
    assert [sum(piece) for piece in pieces] == list(map(len, rows))
    if how == "chunk":
        assert joined(rows) == ids.tolist() and {*map(len, rows[:-1])} <= {length}
    else:
        cuts = sum(len(piece) for piece in pieces)
        assert cuts == sum(-(-size // length) for size in sizes)  # only what is longer than a row is cut
    padded = list(packing.pack_rows([(ids, np.cumsum(sizes, dtype=np.uint64))], how, length, 1 << 30))
    assert {int(end) for _, ends, _ in padded for end in np.diff(ends.astype(int))} <= {length}


def test_best_fit_equals_a_plain_search() -> None:
    """The fullest row with room, found by looking at all of them."""
    draw = random.Random(5)
    sizes = [draw.randrange(1, 12) for _ in range(300)]
    rows: list[int] = []
    for size in sorted(sizes, reverse=True):
        fitting = [number for number, room in enumerate(rows) if room >= size]
        if fitting:
            rows[min(fitting, key=lambda number: rows[number])] -= size
        else:
            rows.append(12 - size)
    ids = np.zeros(sum(sizes), np.uint32)
    (found,) = packing.pack_rows([(ids, np.cumsum(sizes, dtype=np.uint64))], "best-fit", 12, None)
    assert sorted(12 - np.diff(found[1].astype(int), prepend=0)) == sorted(rows)


@pytest.mark.slow
def test_a_shuffle_is_one_order(tmp_path: Path) -> None:
    job(tmp_path, "plain").run(progress=False)
    orders = []
    for number, way in enumerate([{}, {"workers": 2}]):
        planned = job(tmp_path, f"shuffled {number}", shuffle=7, sources=True)
        assert len(planned.missing()) == 2 * planned.shards
        done = planned.run(progress=False, **way)
        assert done is not None and not (planned.folder / "buckets").exists()
        orders.append(documents(planned.folder))
        assert toksmith.corpus.verify(planned.folder, decode=True).ok
    assert orders[0] == orders[1] != documents(tmp_path / "plain")
    assert content(tmp_path / "shuffled 0") == content(tmp_path / "shuffled 1")
    assert sorted(orders[0]) == sorted(ids_of())
    other = job(tmp_path, "other seed", shuffle=8)
    other.run(progress=False)
    assert documents(other.folder) != orders[0]
    # Another cut into shards has the same order.
    other = job(tmp_path, "other cut", shuffle=7, shard_size=2 * SHARD)
    assert other.shards != planned.shards
    other.run(progress=False)
    assert documents(other.folder) == orders[0]
    rows = [
        json.loads(line)
        for path in sorted((planned.folder / "sources").iterdir())
        for line in path.read_text().splitlines()
    ]
    assert len(rows) == len(orders[0])
    for row, ids in zip(rows, orders[0], strict=True):
        if row["path"].endswith("a.jsonl"):
            with open(row["path"], "rb") as file:
                file.seek(row["byte"])
                assert TOK.encode(json.loads(file.readline())["text"]) == ids[:-1]


def test_sources_are_equal_shuffled_or_not(tmp_path: Path) -> None:
    for name, text in (("a.txt", "low"), ("b.md", "lower"), ("c.jsonl.gz", None)):
        data = gzip.compress(b'{"text": "lowest"}\n{"text": "low"}\n') if text is None else text.encode()
        (tmp_path / name).write_bytes(data)
    files = [tmp_path / name for name in ("a.txt", "b.md", "c.jsonl.gz")]
    said = []
    for seed in (None, 7):
        planned = toksmith.corpus.plan(TOK, files, tmp_path / f"seed {seed}", shuffle=seed, sources=True)
        planned.run(progress=False)
        paths = sorted((planned.folder / "sources").iterdir())
        said.append(sorted(line for path in paths for line in path.read_text().splitlines()))
    assert said[0] == said[1]
    assert [json.loads(line)["record"] for line in said[0]] == [None, None, 0, 1]


def test_the_second_round_needs_the_first(tmp_path: Path) -> None:
    planned = job(tmp_path, shuffle=7)
    with pytest.raises(JobError, match="reads all of the first round, and shard 0 is missing"):
        toksmith.corpus.run_shard(planned.folder / "job.json", planned.shards)
    for _ in range(2):
        for part in ("0/2", "1/2"):
            planned.run(part=part, progress=False)
    assert planned.missing() == []
    planned.finish()
    assert len(documents(planned.folder)) == len(TEXTS)


def test_the_keys_of_a_shuffle_never_change() -> None:
    """They decide the order of corpora that people have."""
    assert [hex(_shuffle.document_key(7, 0, place)) for place in (0, 1)] == ["0x8b33ec43130e2dd8", "0x58a7005a6b937b6e"]


# verify


def test_verify_finds_what_was_changed(tmp_path: Path) -> None:
    planned = job(tmp_path)
    with pytest.raises(JobError, match="there is no finished job"):
        toksmith.corpus.verify(planned.folder)
    planned.run(progress=False)
    found = toksmith.corpus.verify(planned.folder, decode=True, source=True, sample=2)
    assert (found.ok, found.files, found.decoded, found.encoded) == (True, 3 * planned.shards + 3, 2, 2)
    path = planned.folder / "00001.npy"
    good = path.read_bytes()
    for data, said in (
        (good[:-1] + bytes([good[-1] ^ 1]), "has changed since"),
        (good[:-1], "bytes"),
        (None, "is missing"),
    ):
        if data is None:
            path.unlink()
        else:
            path.write_bytes(data)
        found = toksmith.corpus.verify(planned.folder, source=data is not None and len(data) == len(good))
        assert not found.ok and found.differences[0].file == "00001.npy" and said in str(found)
    assert [each.shard for each in toksmith.corpus.verify(planned.folder, source=True).differences] == [None, 1]
    path.write_bytes(good)
    sums = planned.folder / "SHA256SUMS"
    sums.write_bytes(sums.read_bytes()[1:])
    assert [each.file for each in toksmith.corpus.verify(planned.folder).differences] == ["SHA256SUMS"]


def test_verify_names_the_document(tmp_path: Path) -> None:
    planned = job(tmp_path, shard_size=1 << 20)
    planned.run(progress=False)
    path = planned.folder / "00000.npy"
    ids, ends = np.load(path), np.load(planned.folder / "00000.ends.npy")
    ids[int(ends[3])] ^= 1
    np.save(path, ids)
    found = toksmith.corpus.verify(planned.folder, source=True).differences
    assert [(each.shard, each.document) for each in found] == [(None, None), (0, 4)]


def test_verify_decodes_shards_whose_sums_are_right(tmp_path: Path) -> None:
    """A fault before the sums were made: the ids of a shard are not those of its texts."""
    planned = job(tmp_path)
    planned.run(progress=False)
    manifest = planned.folder / "manifest.json"
    facts = json.loads(manifest.read_text())
    old = facts["shards"][1][3]
    manifest.write_text(manifest.read_text().replace(old, "0" * 64, 1))
    sums = planned.folder / "SHA256SUMS"
    lines = sums.read_text().splitlines()[:-1]
    sums.write_text("\n".join([*lines, f"{content(planned.folder)['manifest.json']}  manifest.json", ""]))
    found = toksmith.corpus.verify(planned.folder, decode=True)
    assert [each.shard for each in found.differences] == [1] and "texts" in str(found)


def test_decoding_that_would_prove_nothing_is_refused(tmp_path: Path) -> None:
    for number, options in enumerate(({"to": "nanogpt"}, {"to": "parquet", "pack": "chunk", "length": 9})):
        job(tmp_path, str(number), **options).run(progress=False)
        with pytest.raises(InvalidOption, match="use source=True"):
            toksmith.corpus.verify(tmp_path / str(number), decode=True)
        assert toksmith.corpus.verify(tmp_path / str(number), source=True).ok
    lower = toksmith.train(["low lower"] * 9, 40, kind="wordpiece", progress=False)
    planned = toksmith.corpus.plan(lower, make(tmp_path / "in"), tmp_path / "lower", errors="skip")
    planned.run(progress=False)
    with pytest.raises(InvalidOption, match="this tokenizer changes texts"):
        toksmith.corpus.verify(planned.folder, decode=True)


# Processes


@pytest.mark.slow
@needs("signals")
def test_a_shard_whose_process_dies_is_tried_again(tmp_path: Path) -> None:
    """Shard 1 kills its process: twice, or always."""
    script = """
        import os, sys, toksmith
        from pathlib import Path
        folder, most = Path(sys.argv[1]), int(sys.argv[2])
        real = toksmith.corpus.run_shard
        def dying(job, number, *, threads=None, max_memory=None):
            if number == 1:
                (folder / "tries").open("ab").write(b"x")
                if (folder / "tries").stat().st_size <= most:
                    os._exit(9)
            return real(job, number, threads=threads)
        toksmith.corpus.run_shard = dying
        if __name__ == "__main__":
            try:
                print(toksmith.corpus.Job.at(folder / "out").run(workers=2, progress=False).documents)
            except toksmith.errors.JobError as error:
                print(error)
    """
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script))
    for most, said in (("2", str(len(TEXTS))), ("99", "the process of shard 1 died 4 times")):
        folder = tmp_path / most
        folder.mkdir()
        job(folder)
        done = subprocess.run(
            [sys.executable, str(path), str(folder), most], capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        assert said in done.stdout, done.stderr


@pytest.mark.slow
def test_errors_come_from_the_processes(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "rows.jsonl").write_bytes(b'{"text": "a"}\nnot JSON\n{"text": "b"}\n')
    with pytest.raises(CorpusError, match="does not begin with"):
        job(tmp_path, shard_size=1).run(workers=2, progress=False)


def test_progress_reports_each_shard(tmp_path: Path) -> None:
    said: list[toksmith.types.Progress] = []
    planned = job(tmp_path)
    done = planned.run(progress=said.append)
    assert done is not None and len(said) == planned.shards
    assert (said[-1].phase, said[-1].done) == ("encoding", done.ids)


def test_sources_hold_the_names_of_documents(tmp_path: Path) -> None:
    job(tmp_path, "npy", id_field="id", sources=True).run(progress=False)
    files = sorted((tmp_path / "npy" / "sources").iterdir())
    rows = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert [row["id"] for row in rows[: len(ROWS)]] == [f"row {number}" for number in range(len(ROWS))]
    assert [row["id"] for row in rows[len(ROWS) :]] == [None, "5", None, "1", "2", "3", None]


def test_shards_of_a_process_share_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = job(tmp_path)
    read, of = [], plan.Plan.of

    def counted(data: bytes) -> plan.Plan:
        read.append(data)
        return of(data)

    monkeypatch.setattr(plan.Plan, "of", staticmethod(counted))
    made.run(progress=False)
    assert len(read) < made.shards
