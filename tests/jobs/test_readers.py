"""The real readers of the formats: each reads a corpus of three languages, and finds our ids document by document.

`make test-readers` runs them in a separate environment and skips none. `make test` runs the installed ones.
"""

import importlib
import importlib.util
import json
import os
import struct
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from job_corpus import content
from test_encode_corpus import wide

import toksmith

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
END = "<|end|>"
SENTENCES = {
    "en": "The tokenizer reads each document once, and never waits for it. ",
    "ru": "Токенизатор читает каждый документ один раз, и никто его не ждёт. ",
    "ja": "分割器は各文書を一度だけ読み、誰も待たない。",
}
ROWS = {name: [f"{text * (n % 5 + 1)}{n}" for n in range(30)] for name, text in SENTENCES.items()}
TEXTS = [text for name in sorted(ROWS) for text in ROWS[name]]  # a job reads files in the order of their names
TOK = toksmith.train(TEXTS, 600, special_tokens=[END], threads=1, progress=False)
LAST = TOK.special_tokens[END]
IDS = [[*TOK.encode(text), LAST] for text in TEXTS]


def real(name: str) -> Any:
    """The library of a reader."""
    if os.environ.get("TOKSMITH_READERS"):
        return importlib.import_module(name)
    return pytest.importorskip(name, reason=f"lacks {name.partition('.')[0]}, which make test-readers has")


def job(folder: Path, to: str, tok: toksmith.Tokenizer = TOK, **options: Any) -> Path:
    """The folder of a finished job of several shards, a file for each language."""
    (folder / "in").mkdir(exist_ok=True)
    for name, rows in ROWS.items():
        lines = [json.dumps({"text": row, "id": f"{name}-{n}"}) for n, row in enumerate(rows)]
        (folder / "in" / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    corpus = toksmith.files(f"{folder}/in/*.jsonl")
    out = folder / f"{to} of {tok.vocab_size}"
    toksmith.corpus.plan(tok, corpus, out, to=to, **{"append": END, "shard_size": 3000, **options}).run(progress=False)
    return out


def by_shard(folder: Path) -> Iterator[list[list[int]]]:
    """The ids that each shard should have, document by document."""
    start = 0
    for documents, *_ in json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["shards"]:
        yield IDS[start : start + documents]
        start += documents


def joined(documents: list[list[int]]) -> list[int]:
    """The ids of documents, one after another."""
    return [id for ids in documents for id in ids]


def test_numpy_reads_the_ids(tmp_path: Path) -> None:
    folder = job(tmp_path, "npy")
    found = []
    for path in sorted(folder.glob("?????.npy")):
        found += [ids.tolist() for ids in np.split(np.load(path), np.load(path.with_suffix(".ends.npy")).astype(int))][
            :-1
        ]
    assert found == IDS and len(list(by_shard(folder))) > 3


# Megatron


@pytest.fixture
def indexed_dataset(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Megatron's module of its files; without torch, with as much of it as the module uses."""
    if importlib.util.find_spec("megatron") is None:
        real("megatron.core")
    if importlib.util.find_spec("torch") is not None:
        return importlib.import_module("megatron.core.datasets.indexed_dataset")
    places = importlib.util.find_spec("megatron")
    assert places is not None and places.submodule_search_locations
    (place, *_) = places.submodule_search_locations
    stubs: dict[str, dict[str, Any]] = {
        "torch": {
            "Tensor": object,
            "utils": types.SimpleNamespace(data=types.SimpleNamespace(Dataset=object)),
            "distributed": types.SimpleNamespace(is_initialized=lambda: False, is_available=lambda: False),
        },
        "megatron.core": {"__path__": [f"{place}/core"]},
        "megatron.core.datasets": {"__path__": [f"{place}/core/datasets"]},
        "megatron.core.utils": {"log_single_rank": lambda *_: None},
    }
    for name, values in stubs.items():
        module = types.ModuleType(name)
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("indexed_dataset", "object_storage_utils"):
        monkeypatch.delitem(sys.modules, f"megatron.core.datasets.{name}", raising=False)
    return importlib.import_module("megatron.core.datasets.indexed_dataset")


class Numbers(list[int]):
    """As much of a tensor as Megatron's builder uses."""

    def numpy(self) -> Any:
        return np.array(self)

    def numel(self) -> int:
        return len(self)


def test_megatron_core_reads_the_ids(tmp_path: Path, indexed_dataset: Any) -> None:
    folder = job(tmp_path, "megatron")
    for mmap in (True, False):
        found = []
        for path in sorted(folder.glob("*.idx")):
            dataset = indexed_dataset.IndexedDataset(str(path.with_suffix("")), mmap=mmap)
            assert dataset.document_indices.tolist() == list(range(len(dataset) + 1))
            found += [dataset[place].tolist() for place in range(len(dataset))]
        assert found == IDS


@pytest.mark.parametrize("size", [None, 65_499, 65_500, 65_537])
def test_megatron_core_writes_equal_bytes(size: int | None, tmp_path: Path, indexed_dataset: Any) -> None:
    tok = TOK if size is None else wide(size)
    folder = job(tmp_path, "megatron", tok)
    last = tok.special_tokens[END]
    documents = [[*tok.encode(text), last] for text in TEXTS]
    start = 0
    for path in sorted(folder.glob("*.idx")):
        count = len(indexed_dataset.IndexedDataset(str(path.with_suffix(""))))
        dtype = indexed_dataset.DType.optimal_dtype(tok.vocab_size)
        builder = indexed_dataset.IndexedDatasetBuilder(str(tmp_path / "own.bin"), dtype=dtype)
        for ids in documents[start : start + count]:
            builder.add_item(Numbers(ids))
            builder.end_document()
        builder.finalize(str(tmp_path / "own.idx"))
        start += count
        for suffix in (".idx", ".bin"):
            assert path.with_suffix(suffix).read_bytes() == (tmp_path / f"own{suffix}").read_bytes()
    assert start == len(documents)


PROGRAM = Path(__file__).parents[2] / "bench" / "corpus" / "programs" / "megatron_tool.py"
TOOLS = {"preprocess_data": ["--workers", "1"], "preprocess_data_fast": ["--use-gigatoken"]}


def by_megatron(tool: str, texts: list[str], folder: Path) -> Path:
    """The files, without suffix, that a tool of a checkout writes, with the same tokenizer in Hugging Face's format."""
    checkout = os.environ.get("TOKSMITH_MEGATRON")
    if not checkout:
        pytest.skip("lacks TOKSMITH_MEGATRON=/path/to/Megatron-LM, a checkout of it")
    transformers = real("transformers")
    if "--use-gigatoken" in TOOLS[tool]:
        real("gigatoken")
    TOK.save(folder / "tokenizer.json")
    own = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), eos_token=END)
    own.save_pretrained(str(folder / "hf"))
    (folder / "all.jsonl").write_text("".join(f"{json.dumps({'text': text})}\n" for text in texts), encoding="utf-8")
    given = ["--input", folder / "all.jsonl", "--output-prefix", folder / "own", "--append-eod", *TOOLS[tool]]
    given += ["--tokenizer-type", "HuggingFaceTokenizer", "--tokenizer-model", folder / "hf"]
    command = [sys.executable, str(PROGRAM), f"tools/{tool}.py", *map(str, given)]
    env = {**os.environ, "PYTHONPATH": "", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=checkout, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "own_text_document"


@pytest.mark.parametrize("tool", TOOLS)
def test_megatrons_scripts_write_equal_bytes(tool: str, tmp_path: Path) -> None:
    folder = job(tmp_path, "megatron", shard_size=1 << 30)
    theirs = by_megatron(tool, TEXTS, tmp_path)
    for suffix in (".bin", ".idx"):
        assert (folder / f"00000_text_document{suffix}").read_bytes() == theirs.with_suffix(suffix).read_bytes()


EMPTY = ["", "low", "", "", "lower"]


def of_empty(folder: Path, empty: str) -> Path:
    """The files, without suffix, that a job writes of `EMPTY`."""
    (folder / "all.jsonl").write_text("".join(f"{json.dumps({'text': text})}\n" for text in EMPTY), encoding="utf-8")
    out = folder / f"job {empty}"
    toksmith.corpus.plan(TOK, folder / "all.jsonl", out, to="megatron", append=END, empty=empty).run(progress=False)
    return out / "00000_text_document"


def test_megatrons_fast_script_ends_an_empty_document_too(tmp_path: Path) -> None:
    """Its empty document is the token of the end, as ours by default."""
    theirs = by_megatron("preprocess_data_fast", EMPTY, tmp_path)
    ours = of_empty(tmp_path, "token")
    for suffix in (".bin", ".idx"):
        assert ours.with_suffix(suffix).read_bytes() == theirs.with_suffix(suffix).read_bytes()


def test_megatrons_script_makes_an_empty_document_of_no_sequence(tmp_path: Path) -> None:
    """Bytes cannot be equal here: `preprocess_data.py` adds neither the token of the end nor a sequence for a document without
    ids, and only repeats the number of the next sequence among the beginnings of documents. toksmith has one sequence for each
    document, so its index cannot say this. All but these beginnings equals a job that skips such documents.
    """
    theirs = by_megatron("preprocess_data", EMPTY, tmp_path)
    ours = of_empty(tmp_path, "skip")
    assert ours.with_suffix(".bin").read_bytes() == theirs.with_suffix(".bin").read_bytes()
    index, own = (path.with_suffix(".idx").read_bytes() for path in (theirs, ours))
    sequences = sum(map(bool, EMPTY))
    starts, body = 34, 12 * sequences  # lengths of four bytes, places of eight
    assert own[18:34] == struct.pack("<QQ", sequences, sequences + 1)
    assert index[18:34] == struct.pack("<QQ", sequences, len(EMPTY) + 1)
    assert index[:18] == own[:18] and index[starts : starts + body] == own[starts : starts + body]
    before = [sum(map(bool, EMPTY[:place])) for place in range(len(EMPTY) + 1)]
    assert np.frombuffer(index[starts + body :], np.int64).tolist() == before == [0, 0, 1, 1, 1, 2]


# A model trains on the files, read as the training programs read them.


def nanogpt_ids(folder: Path, side: str) -> Any:
    """As `get_batch` of nanoGPT."""
    return np.memmap(folder / f"{side}.bin", dtype=np.uint16, mode="r")


def llmc_ids(folder: Path, side: str) -> Any:
    """As the data loader of llm.c's `train_gpt2.py`, which reads one file after another."""
    found = []
    for path in sorted(folder.glob(f"{side}_*.bin")):
        head = np.fromfile(path, np.int32, 256)
        found.append(np.fromfile(path, np.uint16, offset=1024))
        assert head[0] == 20240520 and head[1] == 1 and head[2] == len(found[-1])
    return np.concatenate(found)


@pytest.mark.parametrize(("to", "read"), [("nanogpt", nanogpt_ids), ("llmc", llmc_ids)])
def test_the_loss_of_a_model_falls(to: str, read: Any, tmp_path: Path) -> None:
    torch = real("torch")
    torch.manual_seed(0)
    folder = job(tmp_path, to, val=0.2)
    model = torch.nn.Sequential(torch.nn.Embedding(TOK.vocab_size, 32), torch.nn.Linear(32, TOK.vocab_size))
    optimizer = torch.optim.AdamW(model.parameters(), 0.02)

    def loss(side: str) -> Any:
        data = read(folder, side)
        places = torch.randint(len(data) - 9, (64,))
        rows = torch.stack([torch.from_numpy(data[place : place + 9].astype(np.int64)) for place in places])
        return torch.nn.functional.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())

    before = float(loss("val"))
    for _ in range(200):
        optimizer.zero_grad()
        loss("train").backward()
        optimizer.step()
    # Before, every id is as likely as another; after, the model knows which id follows which.
    assert before > 0.9 * np.log(TOK.vocab_size) and float(loss("val")) < before / 3


# datatrove


def test_datatrove_reads_ends_and_writes_equal_bytes(tmp_path: Path) -> None:
    tokenizer = real("datatrove.pipeline.tokens.tokenizer")
    merger = real("datatrove.pipeline.tokens.merger")
    folder = job(tmp_path, "datatrove")
    for path, documents in zip(sorted(folder.glob("*.ds")), by_shard(folder), strict=True):
        with open(path.with_suffix(".ds.index"), "rb") as file:
            assert merger.load_doc_ends(file).tolist() == np.cumsum([len(ids) for ids in documents]).tolist()
        name = f"toksmith-{TOK.fingerprint[:12]}"
        own = tokenizer.TokenizedFile(
            str(tmp_path / "own"), path.name, tokenizer_name_or_path=name, save_final_metadata=True, token_size=2
        )
        for ids in documents:
            own.write(ids, None)
        own.close()
        assert {each: sum for each, sum in content(folder).items() if each.startswith(path.name)} == content(
            tmp_path / "own"
        )
        own.cleanup()


def test_datatroves_dataset_reads_ids_and_positions(tmp_path: Path) -> None:
    real("torch")
    dataset = real("datatrove.utils.dataset")
    folder = job(tmp_path, "datatrove")
    for path, documents in zip(sorted(folder.glob("*.ds")), by_shard(folder), strict=True):
        ids = joined(documents)
        starts = [start for start, each in zip(starts_of(documents), documents, strict=True) for _ in each]
        own = dataset.DatatroveFileDataset(str(path), seq_len=6, token_size=2, return_positions=True)
        assert len(own) == len(ids) // 7
        for number in range(len(own)):
            found = own[number]
            assert found["input_ids"].tolist() == ids[7 * number : 7 * number + 7]
            # Positions start again with each document, and with each row.
            row = range(7 * number, 7 * number + 7)
            assert found["positions"].tolist() == [place - max(starts[place], row[0]) for place in row]


def starts_of(documents: list[list[int]]) -> list[int]:
    """Where each document begins."""
    return [0, *np.cumsum([len(ids) for ids in documents]).tolist()][:-1]


# The others


def test_datasets_reads_ids_and_names(tmp_path: Path) -> None:
    datasets = real("datasets")
    found = datasets.load_from_disk(str(job(tmp_path, "hf", id_field="id")))
    assert list(found["input_ids"]) == IDS
    assert list(found["id"]) == [f"{name}-{n}" for name in sorted(ROWS) for n in range(len(ROWS[name]))]
    parquet = job(tmp_path, "parquet")
    files = sorted(map(str, parquet.glob("*.parquet")))
    found = datasets.Dataset.from_parquet(files, cache_dir=str(tmp_path / "cache"))
    assert list(found["input_ids"]) == IDS


def test_mosaicml_streaming_reads_the_ids(tmp_path: Path) -> None:
    real("torch")
    streaming = real("streaming")
    folder = job(tmp_path, "mds", id_field="id")
    found = streaming.LocalDataset(str(folder))
    assert [sample["tokens"].tolist() for sample in found] == IDS
    assert found[0]["id"] == "en-0" and found[0]["tokens"].dtype == np.uint16
    streamed = streaming.StreamingDataset(local=str(folder), shuffle=False, batch_size=1, validate_hash="sha256")
    assert [sample["tokens"].tolist() for sample in streamed] == IDS


def test_mosaicml_streaming_reads_packed_rows(tmp_path: Path) -> None:
    real("torch")
    streaming = real("streaming")
    folder = job(tmp_path, "mds", pack="chunk", length=16)
    found = list(streaming.LocalDataset(str(folder)))
    assert joined([row["tokens"].tolist() for row in found]) == joined(IDS)
    assert all(sum(row["seq_lengths"]) == len(row["tokens"]) <= 16 for row in found)


@pytest.mark.parametrize("size", [None, 65_537])
def test_litdata_reads_the_ids(size: int | None, tmp_path: Path) -> None:
    real("torch")
    litdata = real("litdata")
    tok = TOK if size is None else wide(size)
    folder = job(tmp_path, "litdata", tok)
    length = 8
    expected: list[list[int]] = []
    start = 0
    for documents in by_shard(folder):
        own = TEXTS[start : start + len(documents)]
        ids = joined([[*tok.encode(text), tok.special_tokens[END]] for text in own])
        expected += [ids[at : at + length] for at in range(0, len(ids) // length * length, length)]
        start += len(documents)
    loader = litdata.TokensLoader(block_size=length)
    found = litdata.StreamingDataset(str(folder), item_loader=loader, shuffle=False)
    assert len(found) == len(expected) and [row.tolist() for row in found] == expected


def test_olmo_core_reads_the_ids(tmp_path: Path) -> None:
    real("torch")
    data = real("olmo_core.data")
    utils = real("olmo_core.data.utils")
    folder = job(tmp_path, "dolma", id_field="id")
    paths = sorted(map(str, folder.glob("*.npy")))
    facts: dict[str, Any] = {"eos_token_id": LAST, "dtype": np.uint16}
    for scanned in (True, False):
        found = []
        for path in paths:
            ids = np.memmap(path, np.uint16, "r")
            found += [
                ids[start:end].tolist()
                for start, end in utils.iter_document_indices(path, use_array_if_local=scanned, **facts)
            ]
        assert found == IDS
    length = max(map(len, IDS))
    padded = data.NumpyPaddedFSLDataset(
        *paths, sequence_length=length, pad_token_id=LAST, vocab_size=TOK.vocab_size, **facts
    )
    (tmp_path / "work").mkdir()
    padded.work_dir = tmp_path / "work"
    padded.prepare()
    rows = [padded[number]["input_ids"].tolist() for number in range(len(padded))]
    assert [row[: len(ids)] for row, ids in zip(rows, IDS, strict=True)] == IDS
