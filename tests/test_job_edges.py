"""Jobs at the edges: where the folder lies, rows of odd names, files that change, and JSON from anywhere."""

import json
from pathlib import Path
from typing import Any

import pytest
from job_corpus import TOK, content

import toksmith
from toksmith import InvalidOption


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
