"""Reading is bounded: pipes and devices are refused, each format limits its files, and packed files have a limit by size.

Calls that could take much memory run in a separate process with at most 3 GB. No test reads a clock; a hanging process is killed.
"""

import base64
import gzip
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from systems import needs

import toksmith
from toksmith import Tokenizer, ToksmithError
from toksmith._corpus import encode_files
from toksmith._formats import FORMATS, Format, texts
from toksmith._formats import json as _json
from toksmith.errors import CannotRepresent, CorpusError, FormatError

POSIX = needs("posix", "pipes", "descriptors", "links")

CHILD = """
import json, os, resource, sys
from pathlib import Path
import numpy, toksmith, toksmith.metrics
from toksmith._corpus import encode_files as _encode_files

def peak_mb():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024

tok = toksmith.train("low lower lowest", merges=3)
path, calls, limits = json.loads(sys.argv[1])
most = limits.pop("memory", 3 << 30)
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for name, limit in limits.items():
    setattr(_encode_files, name, limit)
for call in calls:
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    before = peak_mb()
    try:
        eval(call, {"toksmith": toksmith, "tok": tok, "path": Path(path)})
        said = ["nothing", ""]
    except BaseException as error:
        said = [type(error).__name__, str(error)]
    print(json.dumps([*said, peak_mb() - before]), flush=True)
os._exit(0)  # Arrow's threads abort a process that ends while they start, one time in a hundred
"""
Outcome = tuple[str, str, float]


def in_child(path: Path, *calls: str, **limits: int) -> list[Outcome]:
    """For each call the class and message of its error, and its memory in MB."""
    asked = json.dumps([str(path), calls, limits])
    run = subprocess.run([sys.executable, "-c", CHILD, asked], capture_output=True, text=True, check=False, timeout=600)
    assert run.returncode == 0, run.stderr[-2000:]
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(rows) == len(calls)
    return rows


# Calls that read one document a file, and calls that read files of any kind.
OF_TEXT = {
    "encode_file": "tok.encode_file(path)",
    "train": "toksmith.train(path, merges=3)",
    "count_pieces": "toksmith.corpus.count(path, pattern='gpt2')",
    "measure": "toksmith.metrics.measure(tok, path)",
    "encode_corpus": "toksmith.corpus.encode(tok, path, str(path) + '.npy')",
}
OF_FILES = {
    "load": "toksmith.load(path)",
    "load by name": "toksmith.load(str(path), format='tiktoken', pattern=None)",
    "doctor": "toksmith.doctor(tok, embeddings=path)",
    "checkpoint": "toksmith.train('low lower', merges=3, checkpoint=path)",
}


@pytest.fixture
def special_file(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pipe without a writer, a device that never ends, or a socket."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.txt"
    if request.param == "pipe":
        os.mkfifo(path)
    elif request.param == "device":
        path.symlink_to("/dev/zero")
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)  # the path of a socket has at most about 100 bytes
    return path


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("special_file", ["pipe", "device", "socket"], indirect=True)
def test_pipes_devices_and_sockets_are_refused(special_file: Path, request: pytest.FixtureRequest) -> None:
    calls = {**OF_TEXT, **OF_FILES}
    kind = request.node.callspec.params["special_file"]
    for call, (name, said, _) in zip(calls, in_child(special_file, *calls.values()), strict=True):
        expected = "CheckpointError" if call == "checkpoint" else "CorpusError" if call in OF_TEXT else "FormatError"
        assert name == expected and f"it is a {kind}" in said, (call, name, said)


@pytest.mark.slow
@POSIX
@pytest.mark.parametrize("end", [".tsv", ".parquet", ".jsonl", ".jsonl.gz"])
def test_rows_and_counts_of_a_device_are_refused(end: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{end}"
    path.symlink_to("/dev/zero")
    loads = "toksmith.corpus.PieceCounts.load(path, pattern='gpt2')"
    calls = {".tsv": [loads], ".parquet": [loads, OF_TEXT["train"]]}.get(end, [OF_TEXT["train"], OF_TEXT["measure"]])
    for name, said, _ in in_child(path, *calls):
        assert name in ("FormatError", "CorpusError") and "is a device" in said, (name, said)


@POSIX
def test_a_descriptor_that_the_caller_opened_is_read(tok: Tokenizer) -> None:
    reading, writing = os.pipe()
    with open(writing, "wb") as file:
        file.write(b"low lower")
    try:
        assert tok.encode_file(f"/dev/fd/{reading}").ids.tolist() == tok.encode("low lower")
    finally:
        os.close(reading)


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train("low lower lowest", merges=3)


STARTS = {
    "native": b"toksmith 1\n",
    "tiktoken": b"YQ== 0\nYg== 1\n",
    "merge_dict": b'{"256": [97, 98], ',
    "tokenizer_json": b'{"added_tokens": [',
    "sentencepiece": b"\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02",
    "gpt2": b"#version: 0.2\na b\n",
    "tekken": b'{"config": {"default_num_special_tokens": 9, ',
    "minbpe": b"minbpe v1\n",
    "stoi": b'{"a": 0, ',
    "vocab_txt": b"[PAD]\n[UNK]\n",
    "transformers": b'{"added_tokens": [',
}


@pytest.mark.slow
@pytest.mark.parametrize("row", [row for row in FORMATS.values() if row.start_bytes is None], ids=lambda row: row.name)
def test_a_file_beyond_the_limit_of_its_format_is_not_read(row: Format, tmp_path: Path) -> None:
    path = tmp_path / (row.files[0][0] if row.files else "a" + row.suffixes[0])
    with open(path, "wb") as file:
        file.write(STARTS[row.name])
        file.truncate(row.most_bytes + 1)
    calls = [f"toksmith.load(path, format={row.name!r})"]
    if row.name != "stoi":  # stoi is recognised by its whole content
        calls.append("toksmith.load(path)")
    for name, said, megabytes in in_child(path, *calls):
        assert (name, megabytes < 40) == ("FormatError", True), (name, said, megabytes)
        assert f"larger than {row.most_bytes} bytes" in said


def test_the_limits_of_formats_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
    listed = page[page.index("### Limits on the size of a file") :]
    for row in FORMATS.values():
        assert re.search(rf"^\| `{row.name}` \|.*\| {row.most_bytes >> 20} MiB", listed, re.MULTILINE), row.name


def test_a_format_saves_no_file_that_it_does_not_load(
    tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = FORMATS["tokenizer_json"]
    small = Format(row.name, row.suffixes, row.sniff, row.load, row.save, row.doc, most_bytes=1000)
    monkeypatch.setattr("toksmith._formats.FORMATS", {row.name: small})
    with pytest.raises(CannotRepresent, match="at most 1000 bytes"):
        tok.save(tmp_path / "tokenizer.json")
    assert not [*tmp_path.iterdir()]


def test_the_limits_of_lines_leave_room_for_four_times_the_largest_vocabulary() -> None:
    page = (Path(__file__).parents[2] / "docs" / "format.md").read_text(encoding="utf-8")
    largest = 199_998  # o200k, whose tokens are a line or a name each
    assert min(texts.LINE_LIMIT, _json.CROWDS[b":"]) > 4 * (largest + 100)
    for name in ("gpt2", "minbpe"):
        assert re.search(rf"^\| `{name}` \|.*\| 16 MiB.*{texts.LINE_LIMIT:,} lines \|$", page, re.MULTILINE), name


@pytest.mark.parametrize("name", ["gpt2", "minbpe"])
def test_the_limit_of_lines_holds_for_saving_and_loading(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tok = toksmith.train("low lower lowest", merges=3, pattern="gpt2")
    path = tmp_path / {"gpt2": "vocab.json", "minbpe": "tok.model"}[name]
    tok.save(path, format=name)
    written = tmp_path / {"gpt2": "merges.txt", "minbpe": "tok.model"}[name]
    lines = written.read_bytes().count(b"\n")
    monkeypatch.setattr(texts, "LINE_LIMIT", lines)
    tok.save(path, format=name)
    assert toksmith.load(path, format=name) == tok
    monkeypatch.setattr(texts, "LINE_LIMIT", lines - 1)
    with pytest.raises(FormatError, match=rf"has {lines} lines; at most {lines - 1} are allowed"):
        toksmith.load(path, format=name)
    with pytest.raises(CannotRepresent, match=rf"at most {lines - 1} lines, but this one would have {lines}"):
        tok.save(path, format=name)


@pytest.mark.slow
def test_a_tekken_of_20_mb_is_read(tmp_path: Path) -> None:
    tokens = [*(bytes([byte]) for byte in range(256)), *(b"%050d" % number for number in range(120_000))]
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": token.decode("utf-8", "replace")}
        for rank, token in enumerate(tokens)
    ]
    config = {"pattern": "[^ ]+| ", "num_vocab_tokens": len(vocab), "default_vocab_size": len(vocab) + 100}
    config |= {"default_num_special_tokens": 100, "version": "v3"}
    path = tmp_path / "tekken.json"
    path.write_text(json.dumps({"config": config, "vocab": vocab}))
    assert path.stat().st_size > 20_000_000
    assert len(toksmith.load(path).model.tokens) == len(tokens)


def bomb(path: Path, parts: int) -> Path:
    """A packed file of zeros, `parts` times 16 MiB."""
    if path.suffix == ".gz":
        part = gzip.compress(bytes(1 << 24))
    else:
        part = pytest.importorskip("zstandard").compress(bytes(1 << 24))
    path.write_bytes(part * parts)
    return path


READERS = ("encode_file", "count_pieces", "measure", "encode_corpus")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.zst", "a.jsonl.gz", "a.jsonl.zst"])
def test_a_packed_file_unpacks_to_no_more_than_a_text_would(name: str, tmp_path: Path) -> None:
    path = bomb(tmp_path / name, 4)
    calls = [OF_TEXT[call] for call in READERS]
    for error, said, megabytes in in_child(path, *calls, UNPACKED_FREE=1 << 24):
        assert (error, megabytes < 250) == ("CorpusError", True), (error, said, megabytes)
        assert "it unpacks to more than " in said and len(said) < 400, said
    calls = [OF_TEXT[call] for call in READERS if "jsonl" in name and call != "encode_file"]
    for error, said, megabytes in in_child(path, *calls, ROW_BYTES=1 << 24):
        assert (error, megabytes < 250) == ("CorpusError", True), (error, said, megabytes)
        assert "a row has more than 16777216 bytes" in said


@pytest.mark.proof
def test_a_packed_file_of_the_largest_kind_does_not_end_the_process(tmp_path: Path) -> None:
    path = bomb(tmp_path / "a.txt.gz", 40)
    for error, said, _ in in_child(path, OF_TEXT["count_pieces"], OF_TEXT["measure"]):
        assert error == "CorpusError" and "it unpacks to more than " in said, (error, said)


def test_a_packed_text_within_the_limit_is_read(
    tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"low " * 100_000))
    monkeypatch.setattr(encode_files, "UNPACKED_FREE", 400_000 - encode_files.UNPACKED_PER_BYTE * path.stat().st_size)
    assert tok.encode_file(path).ids.tolist() == tok.encode("low " * 100_000)
    monkeypatch.setattr(encode_files, "UNPACKED_FREE", encode_files.UNPACKED_FREE - 1)
    with pytest.raises(CorpusError, match=r"a\.txt\.gz: .*unpacks to more than 399999 bytes"):
        tok.encode_file(path)


@pytest.mark.slow
def test_a_row_has_a_longest_length(tok: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jsonl"
    calls: list[Callable[[], object]] = [
        lambda: toksmith.train(path, merges=1),
        lambda: toksmith.metrics.measure(tok, path),
    ]
    row = json.dumps({"text": "low " * 2_000_000}).encode() + b"\n"
    for before, size, after in ((b"", len(row), row), (row, len(row), b""), (row, len(row) - 1, b"")):
        path.write_bytes(before + row + after)
        monkeypatch.setattr(encode_files, "ROW_BYTES", size)
        for call in calls:
            if size == len(row):
                call()
                continue
            with pytest.raises(CorpusError, match=f"a row has more than {size} bytes"):
                call()


@pytest.mark.slow
@pytest.mark.parametrize("call", ["train", "measure"])
def test_an_endless_row_is_refused_early(call: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with open(path, "wb") as file:
        file.truncate(1 << 34)
    [(name, said, megabytes)] = in_child(path, OF_TEXT[call])
    assert (name, megabytes < 700) == ("CorpusError", True) and "a row has more than 268435456 bytes" in said, said


@pytest.mark.slow
@pytest.mark.parametrize("size", [1 << 32, (1 << 33) + 1])
def test_large_files_that_are_not_counts_are_refused(size: int, tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    with open(path, "wb") as file:
        file.truncate(size)
    [(name, said, megabytes)] = in_child(path, "toksmith.corpus.PieceCounts.load(path, pattern='gpt2')")
    assert (name, megabytes < 100) == ("FormatError", True) and "cannot be read" in said, said


def test_json_of_other_files_is_read_like_that_of_tokenizers(tok: Tokenizer, tmp_path: Path) -> None:
    header = b'{"a":' * 100_000
    (tmp_path / "deep.safetensors").write_bytes(len(header).to_bytes(8, "little") + header)
    (tmp_path / "deep.index.json").write_bytes(header)
    (tmp_path / "long").write_bytes(b'{"toksmith_checkpoint": 2}\n' + b"9" * 5000 + b"\n")
    (tmp_path / "deep").write_bytes(header + b"\n")
    for name in ("deep.safetensors", "deep.index.json"):
        with pytest.raises(FormatError, match="nested too deeply"):
            toksmith.doctor(tok, embeddings=tmp_path / name)
    for name in ("long", "deep"):
        with pytest.raises(ToksmithError, match="checkpoint"):
            toksmith.train("low lower", merges=3, checkpoint=tmp_path / name)


@pytest.mark.slow
def test_a_template_puts_few_ids_around_a_text(tok: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    tok.save(path)
    file = json.loads(path.read_bytes())
    special = {"SpecialToken": {"id": "<s>", "type_id": 0}}
    for often, many in ((1, 70_000), (70_000, 1), (30_000, 30_000)):
        tokens = {"<s>": {"id": "<s>", "ids": [0] * many, "tokens": ["<s>"] * many}}
        single, pair = (
            [special] * often + [{"Sequence": {"id": name, "type_id": 0}} for name in names] for names in ("A", "AB")
        )
        file["post_processor"] = {
            "type": "TemplateProcessing",
            "single": single,
            "pair": pair,
            "special_tokens": tokens,
        }
        path.write_text(json.dumps(file))
        [(name, said, _)] = in_child(path, "toksmith.load(path)")
        assert name == "ModelError" and "it adds more than 65536 ids around a text" in said, (name, said)


@pytest.mark.proof
@pytest.mark.parametrize("pattern", ["gpt2", None])
def test_an_uncut_text_beyond_memory_is_refused(pattern: str | None, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    with open(path, "wb") as file:
        file.truncate(1 << 31)
    tok = f"toksmith.train('low lower', merges=1, pattern={pattern!r})"
    calls = [f"{tok}.encode_file(path)", f"toksmith.corpus.encode({tok}, path, str(path) + '.npy')"]
    calls.append(f"toksmith.train(path, merges=1, pattern={pattern!r})")
    for name, said, _ in in_child(path, *calls, memory=1500 << 20):
        assert name == "CorpusError" and "not enough memory" in said, (name, said)


@pytest.mark.slow
@POSIX
def test_commands_refuse_devices_and_read_descriptors(tok: Tokenizer, tmp_path: Path) -> None:
    tok.save(tmp_path / "a.toksmith")
    command = [sys.executable, "-m", "toksmith", "count", "-t", str(tmp_path / "a.toksmith")]
    refused = subprocess.run([*command, "/dev/zero"], capture_output=True, text=True, check=False, timeout=600)
    assert refused.returncode == 1 and "/dev/zero: is a device" in refused.stderr
    read = subprocess.run([*command, "/dev/stdin"], input="low", capture_output=True, text=True, check=False)
    assert read.returncode == 0 and read.stdout.split()[:1] == ["1"]
