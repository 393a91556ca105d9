"""`corpus.show`: its figures of a folder equal those of the documents."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from job_corpus import END, PAD, TEXTS, TOK, ids_of, job
from shown_results import check_shown

import toksmith
from toksmith._cli import app
from toksmith._jobs.sinks import SINKS
from toksmith.errors import InvalidOption, JobError


@pytest.mark.parametrize("to", SINKS)
def test_show_gives_sums_lengths_and_first_documents(to: str, tmp_path: Path) -> None:
    planned = job(tmp_path, to=to)
    planned.run(progress=False)
    found = toksmith.corpus.show(planned.folder, first=4)
    ids = ids_of()
    assert (found.to, found.finished, found.shards, found.done) == (to, True, planned.shards, planned.shards)
    assert (found.documents, found.ids, found.text_bytes) == (len(TEXTS), sum(map(len, ids)), sum(map(len, TEXTS)))
    check_shown(found)
    if not SINKS[to].apart:
        assert found.lengths == found.first == ()
        return
    assert sum(each.documents for each in found.lengths) == len(TEXTS)
    for each in found.lengths:
        own = [len(some) for some in ids if each.least <= len(some) <= each.most]
        assert (each.documents, each.ids) == (len(own), sum(own))
        assert each.most == max(2 * each.least - 1, 0)
    assert [each.ids for each in found.first] == [len(some) for some in ids[:4]]
    assert [each.text for each in found.first] == [TOK.decode(some)[:200] for some in ids[:4]]


def test_documents_without_ids_count(tmp_path: Path) -> None:
    """Megatron has no files for a shard without ids; its documents count all the same."""
    for to in ("megatron", "npy"):
        planned = job(tmp_path, to, to=to, append=None, empty="keep")
        planned.run(progress=False)
        zero = [each.documents for each in toksmith.corpus.show(planned.folder).lengths if each.most == 0]
        assert zero == [sum(not text for text in TEXTS)]


@pytest.mark.parametrize("options", [{}, {"shuffle": 3}, {"to": "parquet", "pack": "chunk", "length": 7, "pad": PAD}])
def test_sources_are_shown_by_file_or_folder(options: dict[str, Any], tmp_path: Path) -> None:
    """By file, and by folder where there are several."""
    planned = job(tmp_path, **options)
    planned.run(progress=False)
    found = {Path(each.source).name: each for each in toksmith.corpus.show(planned.folder).sources}
    expected = {
        "a.jsonl": TEXTS[:30],
        "b.txt": TEXTS[30:31],
        "c.jsonl.gz": TEXTS[31:33],
        "d.parquet": TEXTS[33:36],
        "e.txt": TEXTS[36:],
    }
    assert {*found} == {*expected}
    for name, texts in expected.items():
        each, ids = found[name], sum(map(len, ids_of(texts)))
        assert (each.documents, each.ids, each.text_bytes) == (len(texts), ids, sum(map(len, texts)))
        assert each.bytes_per_id == sum(map(len, texts)) / ids
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "x.txt").write_bytes(b"low")
    files = [*sorted((tmp_path / "in").iterdir()), tmp_path / "more" / "x.txt"]
    toksmith.corpus.plan(TOK, files, tmp_path / "two", append=END).run(progress=False)
    two = toksmith.corpus.show(tmp_path / "two").sources
    assert [(Path(each.source).name, each.documents) for each in two] == [("in", len(TEXTS)), ("more", 1)]


def test_a_job_that_is_not_finished_shows_its_shards(tmp_path: Path) -> None:
    planned = job(tmp_path)
    empty = toksmith.corpus.show(planned.folder)
    assert (empty.done, empty.documents, empty.lengths, empty.first) == (0, 0, (), ())
    toksmith.corpus.run_shard(planned.folder / "job.json", 1)
    found = toksmith.corpus.show(planned.folder)
    assert (found.finished, found.done, found.shards) == (False, 1, planned.shards)
    assert found.documents and found.first[0].shard == 1 and "not finished" in str(found)
    check_shown(found)


def test_wrong_folders_and_numbers_are_refused(tmp_path: Path) -> None:
    planned = job(tmp_path)
    planned.run(progress=False)
    with pytest.raises(InvalidOption, match="at least 0"):
        toksmith.corpus.show(planned.folder, first=-1)
    with pytest.raises(JobError, match=r"there is no job\.json"):
        toksmith.corpus.show(tmp_path)
    (planned.folder / "00000.ends.npy").unlink()
    with pytest.raises(JobError, match=r"shard 0 cannot be read: .*; run verify on the folder"):
        toksmith.corpus.show(planned.folder)
    counted = toksmith.corpus.plan_counts(tmp_path / "in", tmp_path / "counts")
    counted.run(progress=False)
    with pytest.raises(JobError, match="this job counts pieces"):
        toksmith.corpus.show(counted.folder)


def test_documents_have_no_text_without_the_tokenizer(tmp_path: Path) -> None:
    planned = job(tmp_path)
    planned.run(progress=False)
    for path in planned.folder.glob("tokenizer-*"):
        path.unlink()
    assert [each.text for each in toksmith.corpus.show(planned.folder).first] == [None] * 3


def test_the_command_prints_what_the_function_returns(tmp_path: Path) -> None:
    planned = job(tmp_path)
    planned.run(progress=False)
    done = CliRunner().invoke(app, ["corpus", "show", str(planned.folder), "--first", "1"])
    assert done.exit_code == 0 and f"{len(TEXTS)} documents" in done.stdout and "low·lower<|end|>" in done.stdout
    done = CliRunner().invoke(app, ["corpus", "show", str(planned.folder), "--json"])
    assert json.loads(done.stdout) == toksmith.corpus.show(planned.folder).to_dict()
    assert CliRunner().invoke(app, ["corpus", "show", str(tmp_path)]).exit_code == 1
