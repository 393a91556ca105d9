"""Jobs at the edges: where the folder lies, rows of odd names, files that change, and JSON from anywhere."""

import json
from pathlib import Path
from typing import Any

import pytest
from job_corpus import TOK, content, job

import toksmith
from toksmith import InvalidOption, JobError


def rows(folder: Path, texts: list[str]) -> Path:
    """A folder with a file of these rows."""
    folder.mkdir(parents=True)
    data = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    (folder / "rows.jsonl").write_text(data)
    return folder


# The folder of the job


def in_folder(corpus: Path) -> Any:
    return corpus


def by_name(corpus: Path) -> Any:
    """As a shell expands `corpus/*`."""
    return sorted(corpus.iterdir())


def by_glob(corpus: Path) -> Any:
    return toksmith.files(corpus / "**" / "rows*", corpus / "**" / "0*.[jp]*")


@pytest.mark.parametrize("named", [in_folder, by_name, by_glob])
@pytest.mark.parametrize("to", ["npy", "parquet"])
def test_a_corpus_that_contains_the_job(named: Any, to: str, tmp_path: Path) -> None:
    """What the job writes is not part of its corpus, so the same call goes on."""
    corpus = rows(tmp_path / "corpus", ["low", "slow"])
    (corpus / "0.jsonl").write_bytes((corpus / "rows.jsonl").read_bytes())
    options: dict[str, Any] = {"to": to, "shard_size": 1, "sources": to == "parquet"}
    planned = toksmith.plan(TOK, named(corpus), corpus / "out", **options)
    toksmith.run_shard(planned.folder / "job.json", 0)
    again = toksmith.plan(TOK, named(corpus), corpus / "out", **options)
    assert (again.missing(), again.files) == ([1, 2, 3], 2)
    done = again.run(progress=False)
    assert done is not None and done.documents == 4
    assert toksmith.plan(TOK, named(corpus), corpus / "out", force=True, **options).files == 2


def test_a_new_job_refuses_a_folder_with_its_corpus(tmp_path: Path) -> None:
    corpus = rows(tmp_path / "corpus", ["low"])
    before = content(corpus)
    with pytest.raises(InvalidOption, match=r"folder.*rows\.jsonl"):
        toksmith.plan(TOK, corpus, corpus)
    assert content(corpus) == before


# JSON from anywhere

WRONG_RECEIPTS: list[tuple[str, Any]] = [
    ("files", [[5, 1, "x"]]),
    ("files", [["a", float("inf"), "x"]]),
    ("files", [["a", -1, "x"]]),
    ("files", [["a\0", 1, "x"]]),
    ("files", [["a", 1, None]]),
    ("files", 5),
    ("documents", "many"),
    ("ids", 0.5),
    ("special_tokens", {"a": "b"}),
    ("text_sha256", None),
]


@pytest.mark.parametrize(("name", "value"), WRONG_RECEIPTS)
def test_receipts_of_wrong_types(name: str, value: Any, tmp_path: Path) -> None:
    planned = toksmith.plan(TOK, rows(tmp_path / "in", ["low"]), tmp_path / "out")
    planned.run(part="0/1", progress=False)
    path = planned.folder / "receipts" / "00000.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), name: value}))
    with pytest.raises(JobError, match=r"receipts/00000\.json is not a receipt: .*delete it"):
        planned.missing()


WRONG_PLANS: list[tuple[str, Any]] = [
    ("to", "zzz"),
    ("to", ["npy"]),
    ("dtype", "zzz"),
    ("empty", 1),
    ("special", [1]),
    ("max_errors", True),
    ("shuffle", 1 << 64),
    ("pack", "zzz"),
    ("pack", "chunk"),
    ("shards", [[[0.5, 0, 30]]]),
    ("shards", [[[0, -1, 30]]]),
    ("shards", [[[0, 3, None]]]),
    ("shards", [[[True]]]),
    ("shards", [5]),
    ("inputs", [["a", "b", 1, "text"]]),
    ("inputs", [[5, 1, 1, "text"]]),
    ("tokenizer", "job.json"),
    ("tokenizer", 5),
    ("fingerprint", "\0"),
    ("vocab_size", "5"),
    ("versions", {"toksmith": 5}),
]


@pytest.mark.parametrize(("name", "value"), WRONG_PLANS)
def test_plans_of_wrong_types(name: str, value: Any, tmp_path: Path) -> None:
    planned = toksmith.plan(TOK, rows(tmp_path / "in", ["low"]), tmp_path / "out")
    path = planned.folder / "job.json"
    facts = json.loads(path.read_text())
    (facts if name in facts else facts["options"])[name] = value
    path.write_text(json.dumps(facts))
    with pytest.raises(JobError, match=r"job\.json is not a plan of toksmith"):
        toksmith.Job.at(planned.folder)


# verify


def test_documents_without_ids_and_without_files(tmp_path: Path) -> None:
    planned = toksmith.plan(TOK, rows(tmp_path / "in", ["", ""]), tmp_path / "out", to="megatron")
    done = planned.run(progress=False)
    assert done is not None and (done.documents, done.files) == (2, ())
    found = toksmith.verify(planned.folder, decode=True, source=True)
    assert found.ok, str(found)


def test_files_are_compared_without_the_planned_versions(tmp_path: Path) -> None:
    planned = toksmith.plan(TOK, rows(tmp_path / "in", ["low"]), tmp_path / "out")
    planned.run(progress=False)
    path = planned.folder / "job.json"
    path.write_bytes(path.read_bytes().replace(b'"toksmith": "', b'"toksmith": "9'))
    assert toksmith.verify(planned.folder).ok
    for way in ({"decode": True}, {"source": True}):
        with pytest.raises(JobError, match="planned with toksmith 9"):
            toksmith.verify(planned.folder, **way)


def test_a_manifest_that_is_cut_is_a_difference(tmp_path: Path) -> None:
    planned = toksmith.plan(TOK, rows(tmp_path / "in", ["low"]), tmp_path / "out")
    planned.run(progress=False)
    path = planned.folder / "manifest.json"
    good = path.read_bytes()
    for data in (good[:-9], b""):
        path.write_bytes(data)
        found = toksmith.verify(planned.folder, decode=True)
        assert [each.file for each in found.differences] == ["manifest.json"] and found.decoded == 0
    path.unlink()
    assert [each.file for each in toksmith.verify(planned.folder).differences] == ["manifest.json"]


# Files that change between a shard and the end


@pytest.mark.parametrize("to", ["nanogpt", "llmc"])
def test_a_part_of_other_content_ends_the_job(to: str, tmp_path: Path) -> None:
    planned = job(tmp_path, to=to)
    planned.run(part="0/1", progress=False)
    path = planned.folder / "parts" / "00001.ids"
    path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(JobError, match=r"parts/00001\.ids has another content .* delete it"):
        planned.finish()
    assert not planned.finished and not (planned.folder / "manifest.json").exists()
    path.unlink()
    assert planned.run(progress=False) is not None
    assert toksmith.verify(planned.folder, source=True).ok


# Rows


@pytest.mark.parametrize("to", ["parquet", "hf"])
def test_names_with_half_a_character(to: str, tmp_path: Path) -> None:
    """JSON may name half of a pair of UTF-16, which no file of UTF-8 can hold."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text(
        '{"text": "low", "id": "a\\ud800b"}\n{"text": "low", "id": "\\ud83d\\ude00"}\n'
    )
    options: dict[str, Any] = {"to": to, "id_field": "id", "sources": True}
    done = toksmith.plan(TOK, tmp_path / "in", tmp_path / "out", **options).run(progress=False)
    assert done is not None and done.documents == 2
    (path,) = (tmp_path / "out" / "sources").iterdir()
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == ["a?b", "\U0001f600"]
