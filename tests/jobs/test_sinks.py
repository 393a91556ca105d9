"""The formats of a job: each row read back, by its real reader where that is light, else by one written from its layout."""

import gzip
import hashlib
import itertools
import json
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as arrow
import pyarrow.parquet
import pytest
from job_corpus import END, PAD, TEXTS, TOK, content, ids_of, job, joined
from test_encode_corpus import wide

import toksmith
from toksmith._jobs.plans.options import dtype_of
from toksmith._jobs.sinks import SINKS, datatrove, dolma, megatron, offsets
from toksmith._jobs.sinks import joined as _joined
from toksmith.errors import JobError

Documents = list[list[int]]


def by_numpy(folder: Path) -> Documents:
    found: Documents = []
    for path in sorted(folder.glob("?????.npy")):
        start, ids = 0, np.load(path)
        for end in np.load(path.with_suffix(".ends.npy")).tolist():
            found.append(ids[start:end].tolist())
            start = end
    return found


def by_megatron(folder: Path) -> Documents:
    """As `IndexedDataset` reads: the place of each sequence in bytes, then that many values of the index's type."""
    found: Documents = []
    for path in sorted(folder.glob("*_text_document.idx")):
        data, ids = path.read_bytes(), path.with_suffix(".bin").read_bytes()
        assert data[:9] == b"MMIDIDX\0\0" and struct.unpack_from("<Q", data, 9) == (1,)
        kind = {8: "<u2", 4: "<i4"}[data[17]]
        sequences, documents = struct.unpack_from("<QQ", data, 18)
        assert len(data) == 42 + 20 * sequences and documents == sequences + 1
        lengths = np.frombuffer(data, "<i4", sequences, 34)
        places = np.frombuffer(data, "<i8", sequences, 34 + 4 * sequences)
        firsts = np.frombuffer(data, "<i8", documents, 34 + 12 * sequences)
        assert firsts.tolist() == list(range(documents))
        found += [
            np.frombuffer(ids, kind, n, at).tolist() for n, at in zip(lengths.tolist(), places.tolist(), strict=True)
        ]
    return found


def by_nanogpt(folder: Path) -> Documents:
    return at_each_end(np.fromfile(folder / "train.bin", "<u2").tolist())


def by_llmc(folder: Path) -> Documents:
    """As its loader reads: the head, the size of the file in the head, then the ids."""
    found: list[int] = []
    for path in sorted(folder.glob("train_*.bin")):
        data = path.read_bytes()
        head = np.frombuffer(data, "<i4", 256)
        assert head[:2].tolist() == [20240520, 1] and not head[3:].any()
        assert len(data) == 1024 + 2 * int(head[2])
        found += np.frombuffer(data, "<u2", -1, 1024).tolist()
    return at_each_end(found)


def by_datatrove(folder: Path) -> Documents:
    found: Documents = []
    for path in sorted(folder.glob("*.ds")):
        ends = np.frombuffer(path.with_suffix(".ds.index").read_bytes(), "<u8").tolist()
        name, count, _ = path.with_suffix(".ds.metadata").read_text().split("\n")
        assert name.split("|")[1] == "2" and name.count("|") == 1
        ids = np.fromfile(path, "<u2").tolist()
        assert len(ids) == int(count) == (ends[-1] if ends else 0)
        found += [ids[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    return found


def by_pyarrow(folder: Path) -> Documents:
    found: Documents = []
    for path in sorted(folder.glob("*.parquet")):
        table = arrow.parquet.read_table(path)
        found += table.column("input_ids").to_pylist()
        assert table.column("n_tokens").to_pylist() == [len(ids) for ids in table.column("input_ids").to_pylist()]
    return found


def by_arrow_streams(folder: Path) -> Documents:
    """As `datasets.load_from_disk` reads: the files that `state.json` names, mapped into memory."""
    found: Documents = []
    state = json.loads((folder / "state.json").read_text())
    features = json.loads((folder / "dataset_info.json").read_text())["features"]
    for each in state["_data_files"]:
        with arrow.memory_map(str(folder / each["filename"])) as file, arrow.ipc.open_stream(file) as stream:
            table = stream.read_all()
            assert [*features] == table.schema.names
            found += table.column("input_ids").to_pylist()
    return found


def by_mds(folder: Path) -> Documents:
    """As `MDSReader` reads: the files of the index, the places of the samples, the sizes of the columns, then these."""
    found: Documents = []
    index = json.loads((folder / "index.json").read_text())
    assert index["version"] == 2
    for shard in index["shards"]:
        data = (folder / shard["raw_data"]["basename"]).read_bytes()
        assert len(data) == shard["raw_data"]["bytes"] and shard["zip_data"] is None
        assert shard["raw_data"]["hashes"] == {"sha256": hashlib.sha256(data).hexdigest()}
        (count,) = struct.unpack_from("<I", data)
        places = struct.unpack_from(f"<{count + 1}I", data, 4)
        config = json.loads(data[8 + 4 * count : places[0]])
        assert count == shard["samples"] and config.items() <= shard.items() and places[-1] == len(data)
        names, kinds = config["column_names"], config["column_encodings"]
        assert names == sorted(names) and config["column_sizes"] == [None] * len(names)
        for start, end in itertools.pairwise(places):
            sizes = struct.unpack_from(f"<{len(names)}I", data, start)
            at, own = start + 4 * len(names), {}
            for name, kind, size in zip(names, kinds, sizes, strict=True):
                own[name] = of_mds(data[at : at + size], kind)
                at += size
            assert at == end
            found.append(own["tokens"])
    return found


def of_mds(data: bytes, kind: str) -> Any:
    """A value of a column."""
    if kind == "str":
        return data.decode()
    code = data[0] & 3
    assert data[0] >> 2 == 1, "one dimension"
    values = np.frombuffer(data[1 + (1 << code) :], np.dtype(kind.partition(":")[2]))
    assert len(values) == int.from_bytes(data[1 : 1 + (1 << code)], "little") > 0
    return values.tolist()


def by_dolma(folder: Path) -> Documents:
    """As OLMo-core reads: by the rows, which agree with the ids that end documents."""
    found: Documents = []
    for path in sorted(folder.glob("part-*.npy")):
        ids = np.fromfile(path, "<u2")
        with gzip.open(path.with_suffix(".csv.gz"), "rt", encoding="utf-8") as file:
            rows = [row.rstrip("\n").split(",") for row in file]
        assert [row[3:] for row in rows] == [["", str(number)] for number in range(len(rows))]
        assert [int(row[1]) for row in rows] == (np.flatnonzero(ids == TOK.special_tokens[END]) + 1).tolist()
        found += [ids[int(row[0]) : int(row[1])].tolist() for row in rows]
    return found


def by_litdata(folder: Path) -> Documents:
    """As LitData reads: the chunks of the index, the places of the items, then the ids that its loader takes as they come."""
    found: Documents = []
    index = json.loads((folder / "index.json").read_text())
    config = index["config"]
    assert (config["item_loader"], config["data_format"]) == ("TokensLoader", ["no_header_tensor:20"])
    assert json.loads(config["data_spec"])[0] == 1 and config["compression"] is None
    for chunk in index["chunks"]:
        data = (folder / chunk["filename"]).read_bytes()
        (count,) = struct.unpack_from("<I", data)
        places = struct.unpack_from(f"<{count + 1}I", data, 4)
        assert (len(data), count) == (chunk["chunk_bytes"], chunk["chunk_size"])
        assert places[0] == 8 + 4 * count and places[-1] == len(data) == places[0] + 2 * chunk["dim"]
        found += [np.frombuffer(data[a:b], "<u2").tolist() for a, b in itertools.pairwise(places)]
    return found


def at_each_end(ids: list[int]) -> Documents:
    """The documents, each with the token that ends it."""
    found: Documents = [[]]
    for id in ids:
        found[-1].append(id)
        if id == TOK.special_tokens[END]:
            found.append([])
    assert not found.pop()
    return found


READERS: dict[str, Callable[[Path], Documents]] = {
    "npy": by_numpy,
    "megatron": by_megatron,
    "nanogpt": by_nanogpt,
    "llmc": by_llmc,
    "datatrove": by_datatrove,
    "parquet": by_pyarrow,
    "hf": by_arrow_streams,
    "mds": by_mds,
    "dolma": by_dolma,
    "litdata": by_litdata,
}
# These have no room for a document without ids.
FILLED = ("datatrove", "dolma", "mds")


@pytest.mark.parametrize("name", SINKS)
def test_a_reader_finds_the_documents(name: str, tmp_path: Path) -> None:
    done = job(tmp_path, to=name).run(progress=False)
    assert READERS[name](tmp_path / "out") == ids_of()
    assert done is not None and done.ids == sum(map(len, ids_of()))
    folders = {path.name for path in (tmp_path / "out").iterdir() if path.is_dir()}
    assert folders == {"receipts"}
    found = toksmith.corpus.verify(tmp_path / "out", decode=SINKS[name].apart, source=True)
    assert found.ok and found.encoded == done.shards


@pytest.mark.parametrize("name", [name for name, row in SINKS.items() if row.apart and name not in FILLED])
def test_documents_without_ids_are_kept(name: str, tmp_path: Path) -> None:
    job(tmp_path, to=name, append=None, empty="keep").run(progress=False)
    found = READERS[name](tmp_path / "out")
    if name in ("megatron", "litdata"):  # a shard without an id has no files
        assert [ids for ids in found if ids] == [ids for ids in ids_of(None, None) if ids]
    else:
        assert found == ids_of(None, None)
    assert toksmith.corpus.verify(tmp_path / "out", decode=True, source=True).ok


@pytest.mark.parametrize("name", SINKS)
def test_a_job_without_documents_has_no_ids(name: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(b"\n")
    planned = job(tmp_path, to=name)
    if name == "llmc":
        with pytest.raises(JobError, match=r"llm\.c reads no file without ids"):
            planned.run(progress=False)
        return
    done = planned.run(progress=False)
    assert done is not None and (done.documents, done.ids) == (0, 0)
    assert not (tmp_path / "out" / "00000_text_document.bin").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mds", "dolma", "litdata"])
def test_files_do_not_depend_on_workers_or_parts(name: str, tmp_path: Path) -> None:
    """One process; two; parts, the last first, with other numbers of threads."""
    job(tmp_path, "one", to=name).run(progress=False)
    job(tmp_path, "two", to=name).run(workers=2, threads=1, progress=False)
    parts = job(tmp_path, "parts", to=name)
    for part in ("2/3", "0/3", "1/3"):
        parts.run(part=part, threads=3, progress=False)
    parts.finish()
    assert content(tmp_path / "one") == content(tmp_path / "two") == content(tmp_path / "parts")


# Traps


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (65_499, {"megatron": "uint16", "datatrove": "uint16", "llmc": "uint16", "npy": "uint16"}),
        (65_500, {"megatron": "int32", "datatrove": "uint16", "llmc": "uint16", "nanogpt": "uint16"}),
        (65_536, {"megatron": "int32", "datatrove": "uint16", "npy": "uint16"}),
        (65_537, {"megatron": "int32", "datatrove": "uint32", "llmc": "uint32", "npy": "uint32"}),
    ],
)
def test_the_type_changes_at_the_size_that_readers_expect(size: int, expected: dict[str, str]) -> None:
    assert {name: dtype_of(name, "auto", size) for name in expected} == expected
    assert {dtype_of(name, "auto", size) for name in ("hf", "parquet")} == {"int32"}
    if expected["megatron"] == "int32":
        with pytest.raises(toksmith.errors.InvalidOption, match="readers expect it for"):
            dtype_of("megatron", "uint16", size)
    assert dtype_of("megatron", "int32", size) == "int32"


@pytest.mark.parametrize("size", [65_500, 65_537])
def test_large_ids_are_written_in_a_wider_type(size: int, tmp_path: Path) -> None:
    tok = wide(size)
    (tmp_path / "a.txt").write_bytes(b"low")
    expected = [*tok.encode("low"), size - 1]
    for name, file, kind, skip in (
        ("megatron", "00000_text_document.bin", "<i4", 0),
        ("npy", "00000.npy", "<u2" if size <= 65_536 else "<u4", 128),
        ("llmc", "train_000000.bin", "<u2" if size <= 65_536 else "<u4", 1024),
        ("datatrove", "00000.ds", "<u2" if size <= 65_536 else "<u4", 0),
    ):
        toksmith.corpus.plan(tok, tmp_path / "a.txt", tmp_path / name, to=name, append="<|end|>").run(progress=False)
        data = (tmp_path / name / file).read_bytes()
        assert np.frombuffer(data[skip:], kind).tolist() == expected
        if name == "llmc" and size > 65_536:
            assert np.frombuffer(data, "<i4", 3).tolist() == [20240801, 7, len(expected)]


@pytest.mark.parametrize("most", [None, 50])
def test_llmc_has_no_short_last_file(most: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of very different sizes; and files that have no room for more than some ids."""
    if most is not None:
        monkeypatch.setattr(_joined, "MOST", most)
    monkeypatch.setattr(_joined, "COPIED_AT_A_TIME", 7)
    job(tmp_path, to="llmc").run(progress=False)
    sizes = [(path.stat().st_size - 1024) // 2 for path in sorted((tmp_path / "out").glob("*.bin"))]
    assert max(sizes) - min(sizes) <= 1 and max(sizes) <= (most or 1 << 31)
    assert by_llmc(tmp_path / "out") == ids_of()


@pytest.mark.parametrize(("to", "suffix"), [("datatrove", "ds"), ("mds", "mds")])
def test_formats_without_empty_documents_refuse_one(to: str, suffix: str, tmp_path: Path) -> None:
    with pytest.raises(JobError, match="pass empty='skip', or append="):
        job(tmp_path, to=to, append=None).run(progress=False)
    assert not list((tmp_path / "out").glob(f"*.{suffix}"))
    job(tmp_path, "skipped", to=to, append=None, empty="skip").run(progress=False)
    assert READERS[to](tmp_path / "skipped") == [ids for ids in ids_of(None, None) if ids]


def test_datatrove_counts_as_humanize_does() -> None:
    numbers = (0, 5, 12, 999, 1000, 1234, 99_999, 1_234_567, 10**9, 5 * 10**12)
    expected = "0.00 T,5.00 T,12.0 T,999 T,1.00 kT,1.23 kT,100.0 kT,1.23 MT,1.00 GT,5.00 TT"
    assert ",".join(map(datatrove.format_token_count, numbers)) == expected


def test_mds_has_names_and_packed_rows(tmp_path: Path) -> None:
    job(tmp_path, to="mds", id_field="id").run(progress=False)
    assert (
        by_mds(tmp_path / "out") == ids_of() and toksmith.corpus.verify(tmp_path / "out", decode=True, source=True).ok
    )
    assert b"row 0" in (tmp_path / "out" / "shard.00000.mds").read_bytes()
    job(tmp_path, "packed", to="mds", pack="chunk", length=300, shard_size=1 << 20).run(progress=False)
    found = by_mds(tmp_path / "packed")
    assert joined(found) == joined(ids_of()) and max(map(len, found)) == 300, "lengths of one byte and of two"


@pytest.mark.parametrize("name", ["mds", "litdata"])
def test_places_of_32_bits_end_at_4_gib(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offsets, "MOST", 100)
    with pytest.raises(JobError, match="its format ends at 100; plan the job again with a smaller shard_size"):
        job(tmp_path, to=name).run(progress=False)
    assert not [path for path in (tmp_path / "out").iterdir() if path.suffix in (".mds", ".bin", ".tmp")]


def test_dolma_refuses_what_olmo_core_would_cut(tmp_path: Path) -> None:
    with pytest.raises(
        toksmith.errors.InvalidOption, match=r"append=None .* find the end of a document by its last id"
    ):
        job(tmp_path, to="dolma", append=None)
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / "a.txt").write_text(f"low{END}lower")
    for options, refused in (({"special": "allow"}, True), ({"special": "text"}, False), ({"prepend": END}, True)):
        planned = toksmith.corpus.plan(
            TOK,
            tmp_path / "two" / "a.txt",
            tmp_path / f"of {options}",
            to="dolma",
            append=END,
            **{"special": "text", **options},
        )
        if refused:
            with pytest.raises(JobError, match="does not have the token of append= only at its end"):
                planned.run(progress=False)
        else:
            assert planned.run(progress=False) is not None
    assert [dtype_of("dolma", "auto", size) for size in (256, 257, 65_536, 65_537)] == [
        "uint8",
        "uint16",
        "uint16",
        "uint32",
    ]
    for dtype, size in (("uint8", 257), ("uint16", 256), ("uint16", 65_537)):
        with pytest.raises(toksmith.errors.InvalidOption, match="readers expect it for"):
            dtype_of("dolma", dtype, size)


def test_rows_of_dolma_have_one_line_and_five_cells(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "low", "id": 'a,"b"\nc☀'}) + "\n", encoding="utf-8")
    toksmith.corpus.plan(
        TOK, tmp_path / "a.jsonl", tmp_path / "out", to="dolma", append=END, id_field="id", sources=True
    ).run(progress=False)
    data = (tmp_path / "out" / "part-00000.csv.gz").read_bytes()
    count = len(ids_of([b"low"])[0])
    assert gzip.decompress(data).decode() == f"0,{count},a  b  c☀,,0\n"
    job(tmp_path, "many", to="dolma").run(progress=False)
    parts = [_dolma_rows(70_000, step) for step in (7, 70_000)]
    assert parts[0] == parts[1] and gzip.decompress(parts[0]) == b"0123456789" * 7_000


def _dolma_rows(size: int, step: int) -> bytes:
    """A gzip file of `size` bytes, written in steps."""
    written: list[bytes] = []
    file: Any = SimpleNamespace(write=written.append)
    packed = dolma.StoredGzip(file)
    data = b"0123456789" * (size // 10)
    for at in range(0, size, step):
        packed.write(data[at : at + step])
    packed.close()
    return b"".join(written)


def test_megatron_refuses_a_document_of_2_31_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(megatron, "MOST", 9)
    with pytest.raises(JobError, match="more than 9 ids"):
        job(tmp_path, to="megatron").run(progress=False)
    assert not list((tmp_path / "out").glob("*.bin"))


def test_rows_have_names_and_lengths(tmp_path: Path) -> None:
    for name in ("parquet", "hf"):
        job(tmp_path, name, to=name, id_field="id").run(progress=False)
        options = {"to": name, "pack": "best-fit", "length": 16, "pad": PAD}
        job(tmp_path, f"{name} packed", **options).run(progress=False)
        names = arrow.concat_tables(tables(tmp_path / name)).column("id").to_pylist()
        assert names[:2] == ["row 0", "row 1"] and names[-7:] == [None, "5", None, "1", "2", "3", None]
        packed = arrow.concat_tables(tables(tmp_path / f"{name} packed"))
        pad, ids_in_rows = TOK.special_tokens[PAD], []
        for ids, lengths in zip(packed["input_ids"].to_pylist(), packed["seq_lengths"].to_pylist(), strict=True):
            assert len(ids) == 16 and ids[sum(lengths) :] == [pad] * (16 - sum(lengths))
            ids_in_rows += ids[: sum(lengths)]
        assert sorted(ids_in_rows) == sorted(joined(ids_of()))


def tables(folder: Path) -> Iterator[Any]:
    """The tables of a job's files."""
    for path in sorted(folder.glob("*.parquet")):
        yield arrow.parquet.read_table(path)
    for path in sorted(folder.glob("*.arrow")):
        with arrow.ipc.open_stream(path) as stream:
            yield stream.read_all()


@pytest.mark.slow
def test_hugging_face_reads_its_folder(tmp_path: Path) -> None:
    datasets: Any = pytest.importorskip("datasets", reason="lacks datasets")
    job(tmp_path, to="hf", id_field="id").run(progress=False)
    found = datasets.load_from_disk(str(tmp_path / "out"))
    assert list(found["input_ids"]) == ids_of() and len(found) == len(TEXTS)
    job(tmp_path, "packed", to="hf", pack="chunk", length=9).run(progress=False)
    found = datasets.load_from_disk(str(tmp_path / "packed"))
    assert joined(found["input_ids"]) == joined(ids_of())


def test_a_missing_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib.metadata

    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    with pytest.raises(toksmith.errors.InvalidOption, match="pip install pyarrow"):
        job(tmp_path, to="parquet")


def test_parts_stay_until_the_job_is_finished(tmp_path: Path) -> None:
    planned = job(tmp_path, to="nanogpt")
    planned.run(part="0/1", progress=False)
    assert len(list((tmp_path / "out" / "parts").iterdir())) == planned.shards
    planned.finish()
    (tmp_path / "out" / "parts").mkdir()  # as a run leaves it that is killed before it removes them
    planned.finish()
    assert not (tmp_path / "out" / "parts").exists()
    assert "train.bin" in content(tmp_path / "out")
