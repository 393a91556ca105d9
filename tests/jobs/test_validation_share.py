"""A share of the documents for validation: the files as the programs of nanoGPT and llm.c read them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_encode_corpus import wide

import toksmith

TOK = toksmith.train("low lower lowest slow", merges=6, special_tokens=["<|end|>"])
END = TOK.special_tokens["<|end|>"]
TEXTS = [f"low {number} slower" for number in range(300)] + ["", "lowest " * 400_000]


def ids_of(path: Path) -> list[int]:
    return np.memmap(path, dtype=np.uint16, mode="r").tolist()  # as get_batch


def documents_of(path: Path) -> list[list[int]]:
    ids = np.array(ids_of(path))
    return [part.tolist() for part in np.split(ids, np.flatnonzero(ids == END) + 1)[:-1]]


def write_rows(path: Path) -> Path:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), encoding="utf-8")
    return path


def tokenized(folder: Path, name: str, **options: Any) -> Path:
    rows = write_rows(folder / "rows.jsonl")
    run = {key: options.pop(key) for key in ("workers", "threads") if key in options}
    toksmith.corpus.plan(TOK, rows, folder / name, **{"to": "nanogpt", "append": "<|end|>", **options}).run(
        progress=False, **run
    )
    return folder / name


def test_each_document_is_on_one_side_in_order(tmp_path: Path) -> None:
    out = tokenized(tmp_path, "out", val=0.2)
    train, val = documents_of(out / "train.bin"), documents_of(out / "val.bin")
    assert 30 <= len(val) <= 90
    held_out = {*map(tuple, val)}
    whole = [[*TOK.encode(text), END] for text in TEXTS]
    assert train == [document for document in whole if tuple(document) not in held_out]
    assert val == [document for document in whole if tuple(document) in held_out]
    assert pickle.loads((out / "meta.pkl").read_bytes()) == {"vocab_size": TOK.vocab_size}
    assert toksmith.corpus.verify(out, source=True).ok


@pytest.mark.parametrize("options", [{"workers": 2}, {"threads": 3}, {"shard_size": 500}, {"shard_size": 1 << 20}])
def test_the_split_depends_on_the_documents_only(options: dict[str, Any], tmp_path: Path) -> None:
    one = tokenized(tmp_path, "one", val=0.3)
    other = tokenized(tmp_path, "other", val=0.3, **options)
    for name in ("train.bin", "val.bin", "meta.pkl"):
        assert (one / name).read_bytes() == (other / name).read_bytes()


def llmc_ids(paths: list[Path]) -> list[int]:
    """As llm.c's data loader: it checks the head, and that the file is as long as the head says."""
    found: list[int] = []
    for path in paths:
        head = np.fromfile(path, "<i4", 256)
        assert head[:2].tolist() == [20240520, 1] and path.stat().st_size == 1024 + 2 * head[2]
        found += np.fromfile(path, "<u2", offset=1024).tolist()
    return found


def test_llmc_has_the_same_documents_on_each_side(tmp_path: Path) -> None:
    nanogpt = tokenized(tmp_path, "nanogpt", val=0.2)
    llmc = tokenized(tmp_path, "llmc", to="llmc", val=0.2, shard_size=2000)
    trains = sorted(llmc.glob("train_*.bin"))
    assert len(trains) > 1 and max(path.stat().st_size for path in trains) - trains[-1].stat().st_size <= 2
    assert llmc_ids(trains) == ids_of(nanogpt / "train.bin")
    assert llmc_ids([llmc / "val_000000.bin"]) == ids_of(nanogpt / "val.bin")
    assert toksmith.corpus.verify(llmc, source=True).ok


def test_a_long_document_that_is_added_in_parts_is_held_out_whole(tmp_path: Path) -> None:
    out = tokenized(tmp_path, "out", val=0.95)
    assert documents_of(out / "val.bin")[-1] == [*TOK.encode(TEXTS[-1]), END]


def test_an_interrupted_job_ends_with_the_same_files(tmp_path: Path) -> None:
    whole = tokenized(tmp_path, "whole", val=0.3, shard_size=2000)
    options: dict[str, Any] = {"to": "nanogpt", "append": "<|end|>", "val": 0.3, "shard_size": 2000}
    job = toksmith.corpus.plan(TOK, tmp_path / "rows.jsonl", tmp_path / "parts", **options)
    job.run(part="0/2", progress=False)
    next((tmp_path / "parts" / "parts").glob("*.val")).unlink()
    toksmith.corpus.plan(TOK, tmp_path / "rows.jsonl", tmp_path / "parts", **options).run(progress=False)
    for name in ("train.bin", "val.bin", "meta.pkl", "SHA256SUMS", "manifest.json"):
        assert (whole / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()


def test_a_changed_choice_of_documents_is_refused(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl")
    job = toksmith.corpus.plan(TOK, rows, tmp_path / "out", to="nanogpt", val=0.3)
    job.run(part="0/1", progress=False)
    path = next((tmp_path / "out" / "parts").glob("*.val"))
    path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(toksmith.errors.JobError, match="has changed since it was written"):
        job.finish()


@pytest.mark.parametrize(
    ("options", "match"),
    [({"val": 0.0}, "between 0 and 1"), ({"val": float("nan")}, "between 0 and 1"), ({"val": 1.0}, "between 0 and 1")],
)
def test_a_share_out_of_range_is_refused(options: dict[str, Any], match: str, tmp_path: Path) -> None:
    with pytest.raises(toksmith.errors.InvalidOption, match=match):
        tokenized(tmp_path, "out", **options)


def test_a_share_is_refused_for_formats_without_validation(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl")
    with pytest.raises(toksmith.errors.InvalidOption, match="None, or to='nanogpt' or to='llmc'"):
        toksmith.corpus.plan(TOK, rows, tmp_path / "out", to="npy", val=0.1)


def test_a_share_that_leaves_one_side_empty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(toksmith.errors.JobError, match="leaves no ids for validation"):
        tokenized(tmp_path, "out", val=1e-9)
    assert not (tmp_path / "out" / "train.bin").exists()


def test_a_vocabulary_of_more_than_16_bits_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    rows = write_rows(tmp_path / "rows.jsonl")
    tok = wide(65_537)
    with pytest.raises(toksmith.errors.InvalidOption, match=r"at most 65,536 ids .* this tokenizer has 65,537"):
        toksmith.corpus.plan(tok, rows, tmp_path / "out", to="nanogpt")
    assert not (tmp_path / "out").exists()
