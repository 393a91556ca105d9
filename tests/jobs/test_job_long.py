"""A long text goes to the sink in parts: the files equal those of a job that encodes it at once."""

import gzip
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow
import pyarrow.parquet
import pytest
from job_corpus import END, PAD, content

import toksmith
from toksmith._corpus import blocks, prefetch
from toksmith._jobs.make import documents, encode_shard
from toksmith._jobs.plans.plan import WorkerLimits, read_plan
from toksmith._jobs.sinks import SINKS
from toksmith._tokenizer.tokenizer import Tokenizer

LONG = 1000
TOK = toksmith.train(
    "low lower lowest slow", pattern="gpt2", merges=9, special_tokens=[END, PAD], threads=1, progress=False
)
ONE_PIECE = toksmith.train("low lower", pattern="[a-z]+| ", merges=3, special_tokens=[END, PAD], progress=False)
STRIPPED = toksmith.train("low lower", merges=3, special_tokens=[END, PAD], progress=False)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts are long early, and parts are short."""
    monkeypatch.setattr(encode_shard, "LONG_BYTES", LONG)
    monkeypatch.setattr(encode_shard, "BYTES_IN_A_BATCH", LONG)
    monkeypatch.setattr(encode_shard, "BYTES_IN_A_PART", 50)
    monkeypatch.setattr(encode_shard, "IDS_IN_A_PART", 7)


TEXTS = [
    "low lower",
    "slow low " * 200,
    "",
    "lowest",
    "x" * 2000,
    "low\n" * 300,
    "naïve ☀ text 日本。" * 100,
    " " * 1500,
    "a",
    "slow " * 250,
]


def make(folder: Path, texts: list[str]) -> Path:
    folder.mkdir(exist_ok=True)
    rows = [json.dumps({"text": text, "id": f"row {number}"}) for number, text in enumerate(texts)]
    rows.insert(2, "no JSON")
    (folder / "a.jsonl").write_text("\n".join(rows) + "\n", encoding="utf-8")
    arrow.parquet.write_table(arrow.table({"text": texts, "id": [*map(str, range(len(texts)))]}), folder / "b.parquet")
    (folder / "c.txt").write_bytes(b"low \xff lower " * 300)
    (folder / "d.txt").write_bytes(b"low")
    return folder


def both(folder: Path, monkeypatch: pytest.MonkeyPatch, tok: Tokenizer = TOK, **options: Any) -> dict[str, str]:
    """The content of the folder of a job, which is that of its slow twin."""
    found = []
    for name, slow in (("fast", "0"), ("slow", "1")):
        monkeypatch.setenv("TOKSMITH_SLOW", slow)
        job = toksmith.corpus.plan(tok, folder / "in", folder / name, **options)
        job.run(threads=2, progress=False)
        found.append(content(folder / name))
    assert found[0] == found[1]
    return found[0]


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of ids of each part of a long text."""
    seen: list[int] = []
    read = encode_shard.EncodedShard._parts

    def watched(*arguments: Any) -> Iterator[Any]:
        for ids in read(*arguments):
            seen.append(len(ids))
            yield ids

    monkeypatch.setattr(encode_shard.EncodedShard, "_parts", watched)
    return seen


@pytest.mark.parametrize("to", SINKS)
@pytest.mark.parametrize("tok", [TOK, ONE_PIECE, STRIPPED], ids=["cuts", "no cuts", "no pattern"])
def test_long_texts_in_parts_give_the_bytes_of_whole_documents(
    to: str, tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: list[int]
) -> None:
    make(tmp_path / "in", TEXTS)
    options: dict[str, Any] = {"id_field": "id"} if SINKS[to].names else {}
    if not SINKS[to].names:
        (tmp_path / "in" / "c.txt").write_bytes(b"low \xff lower " * 300)
    both(tmp_path, monkeypatch, tok, to=to, append=END, errors="skip", empty="skip", **options)
    assert len(parts) > 500 and max(parts) <= 7


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"prepend": PAD},
        {"prepend": PAD, "append": END, "empty": "keep"},
        {"append": END, "empty": "token", "sources": True},
        {"special": "allow", "append": END},
        {"special": "text"},
        {"shuffle": 3},
        {"to": "parquet", "pack": "chunk", "length": 8},
        {"to": "parquet", "sources": True},
        {"shard_size": 4000},
    ],
    ids=str,
)
def test_long_texts_in_parts_give_equal_bytes_with_any_option(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path / "in", [*TEXTS, f"low{END}er " * 300])
    if options.get("special") is None:
        make(tmp_path / "in", TEXTS)
    both(tmp_path, monkeypatch, errors="skip", **options)


@pytest.mark.parametrize("errors", ["skip", "quarantine", "stop"])
def test_a_long_text_with_an_error_leaves_no_part(
    errors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: list[int]
) -> None:
    """The special token comes after many parts."""
    make(tmp_path / "in", [*TEXTS[:3], "low " * 400 + END, *TEXTS[3:], END])
    if errors != "stop":
        both(tmp_path, monkeypatch, errors=errors, sources=True)
        return
    (tmp_path / "in" / "a.jsonl").unlink()
    said = []
    for slow in ("0", "1"):
        monkeypatch.setenv("TOKSMITH_SLOW", slow)
        job = toksmith.corpus.plan(TOK, tmp_path / "in", tmp_path / slow)
        with pytest.raises(toksmith.errors.CorpusError, match="special token") as caught:
            job.run(progress=False, threads=1)
        said.append((str(caught.value), caught.value.record, type(caught.value.__cause__)))
        assert not list((tmp_path / slow).glob("0*"))
    assert said[0] == said[1] and len(parts) > 40


def test_sums_of_inputs_count_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(tmp_path / "in", TEXTS)
    both(tmp_path, monkeypatch, append=END, errors="skip")
    contents = [toksmith.corpus.show(tmp_path / name) for name in ("fast", "slow")]
    assert contents[0].sources == contents[1].sources and contents[0].lengths == contents[1].lengths
    assert sum(each.ids for each in contents[0].sources) == contents[0].ids


@pytest.mark.slow
def test_ids_of_a_long_text_are_never_all_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy tells tracemalloc of its arrays, the core does not: so only copies of ids count here.

    A copy of all ids takes at least two bytes for each byte of the text, which is in memory as well.
    """
    monkeypatch.setattr(encode_shard, "BYTES_IN_A_PART", 1 << 16)
    monkeypatch.setattr(encode_shard, "IDS_IN_A_PART", 1 << 14)
    size = 6_000_000
    (tmp_path / "a.txt").write_bytes(
        np.random.default_rng(1).choice(np.frombuffer(b"abcdef ", np.uint8), size).tobytes()
    )
    peaks = []
    for slow in ("0", "1"):
        monkeypatch.setenv("TOKSMITH_SLOW", slow)
        toksmith.corpus.plan(TOK, tmp_path / "a.txt", tmp_path / slow, append=END)
        tracemalloc.start()
        made = toksmith.corpus.run_shard(tmp_path / slow / "job.json", 0, threads=1)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert made.ids > size // 2
    assert peaks[0] < size * 2 < peaks[1], peaks


@pytest.mark.parametrize("kind", [".jsonl", ".txt", ".txt.gz", ".parquet"])
def test_one_long_document_is_read_at_a_time(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files are read ahead: before it reads one, a reader waits until the one before is encoded."""
    for module in (blocks, documents):
        monkeypatch.setattr(module, "BLOCK_BYTES", 256)
        monkeypatch.setattr(module, "LARGE_BYTES", LONG)
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(6):
        text = f"low {number} " * 400
        if kind == ".jsonl":
            (folder / f"{number}.jsonl").write_text((json.dumps({"text": text}) + "\n") * 3, encoding="utf-8")
        elif kind == ".parquet":
            arrow.parquet.write_table(arrow.table({"text": [text] * 3}), folder / f"{number}.parquet", row_group_size=1)
        elif kind == ".txt":
            (folder / f"{number}.txt").write_text(text)
        else:
            (folder / f"{number}.txt.gz").write_bytes(gzip.compress(text.encode()))
    done, waited = [0], list[int]()
    real = prefetch.DemandCounter.wait

    def watched(turn: prefetch.DemandCounter) -> None:
        real(turn)
        waited.append(done[0])

    job = toksmith.corpus.plan(TOK, folder, tmp_path / "out", shard_size=1 << 40)
    monkeypatch.setattr(prefetch.DemandCounter, "wait", watched)
    for block in documents.documents_of(read_plan(job._folder), 0, WorkerLimits(4)):
        done[0] += sum(len(block.read(1).texts.text(place)) > LONG for place in range(len(block.read(1).texts)))
    assert done[0] == (6 if kind.startswith(".txt") else 18)
    assert {*range(done[0])} <= {*waited}
