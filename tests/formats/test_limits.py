"""Hostile files of 16 MiB: each is refused within a few seconds of the processor and 400 MB above the import.

A separate process reads the files of each format and measures itself.
"""

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from systems import needs

from toksmith._formats import FORMATS
from toksmith._formats.json import CROWDS
from toksmith._formats.texts import BYTE_CHARACTERS, LINE_LIMIT

SIZE = 1 << 24
NAMES = CROWDS[b":"]
MOST_S = 10.0  # ten times what is seen: processors are slower elsewhere, and slower when they share a core
MOST_MB = 400  # twice what is seen

CHILD = """
import json, sys, time
import toksmith
from toksmith import _formats
from toksmith._formats import protobuf as _protobuf

def peak_mb():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024

def reset():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")

format, *paths = sys.argv[1:]
_protobuf.new_model()
given = {"pattern": None} if "pattern" in _formats.FORMATS[format].arguments else {}
for path in paths:
    reset()
    before, start = peak_mb(), time.process_time()
    try:
        toksmith.load(path, format=format, **given)
        said = ""
    except toksmith.errors.FormatError as error:
        said = str(error)
    print(json.dumps([path, said[:300], time.process_time() - start, peak_mb() - before]))
"""


def filled(start: str | bytes, part: str | bytes, end: str | bytes = "") -> bytes:
    """`SIZE` bytes that repeat one part between a start and an end."""
    start, part, end = (each.encode() if isinstance(each, str) else each for each in (start, part, end))
    return start + part * ((SIZE - len(start) - len(end)) // len(part)) + end


def repeated(start: str, part: str, end: str, count: int) -> bytes:
    """A part `count` times, with its number in place of `#`."""
    return (start + "".join(part.replace("#", str(number)) for number in range(count)) + end).encode()


def merge_chain() -> bytes:
    """Merges of which each doubles a token."""
    lines = [f"{id} {id}" for id in (97, *range(256, 300))]
    return ("minbpe v1\n\n0\n" + "\n".join(lines) + "\n").encode()


JSONS: dict[str, Callable[[], bytes]] = {
    "deep lists": lambda: filled("", "["),
    "empty objects": lambda: filled('{"added_tokens": [{}', ",{}", "]}"),
    "long numbers": lambda: filled('{"added_tokens": ', "9", "}"),
    "a long text": lambda: filled('{"added_tokens": "', "a", '"}'),
    "a long name": lambda: filled('{"', "a", '": 1}'),
    "surrogates": lambda: filled('{"added_tokens": "', "\\ud83d\\ude00", '\\ud800"}'),
    "many names": lambda: filled('{"a": 0', ',"b": 0', "}"),
    "as many names as may be": lambda: repeated('{"a": 0', ',"#": 0', "}", NAMES - 9),
    "as many objects as may be": lambda: repeated('{"added_tokens": [{}', ",{}", "]}", (1 << 19) - 9),
    "as many texts as may be": lambda: repeated('{"added_tokens": [0', ',"#"', "]}", (3 << 19) - 9),
    "many names, the last twice": lambda: repeated('{"a": 0', ',"#": 0', ', "1": 0}', NAMES - 9),
    "NULs": lambda: bytes(SIZE),
}
SOME = {name: JSONS[name] for name in ("deep lists", "empty objects", "long numbers", "as many names as may be")}
BYTES: dict[str, Callable[[], bytes]] = {
    "lines": lambda: filled("", "\n"),
    "letters": lambda: filled("", "a"),
    "NULs": lambda: bytes(SIZE),
}
TOKEN = '{"id": 1, "content": "#", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}'
GOOD_VOCAB = json.dumps({char: byte for byte, char in enumerate(BYTE_CHARACTERS)}).encode()
K = b"tokenizer.ggml.tokens"
LIST = b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, len(K)) + K + struct.pack("<I", 9)
FILES: dict[str, dict[str, Callable[[], bytes]]] = {
    "tokenizer_json": {
        **JSONS,
        "a vocabulary of numbers": lambda: repeated('{"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0', ',"#": #', '}, "merges": ["a b"]}}', NAMES - 9),
        "a vocabulary with an id twice": lambda: repeated('{"model": {"type": "BPE", "merges": [], "vocab": {"a": 0', ',"b#": 1', "}}}", NAMES - 9),
        "many whole added tokens": lambda: repeated('{"model": {}, "added_tokens": [' + TOKEN.replace("#", "a"), "," + TOKEN, "]}", 150_000),
        "merges of unknown tokens": lambda: filled('{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"', ',"a b"', "]}}"),
        "many added tokens": lambda: filled('{"model": {}, "added_tokens": [{"id": 1}', ',{"id": 1}', "]}"),
    },
    "tekken": {**SOME, "a vocabulary": lambda: filled('{"config": {"pattern": "a", "default_vocab_size": 99, "default_num_special_tokens": 0}, "vocab": [{"rank": 1}', ',{"rank": 1}', "]}")},
    "stoi": SOME,
    "merge_dict": SOME,
    "gpt2": {
        **SOME,
        "merges, lines": lambda: filled("", "\n"),
        "merges, pairs": lambda: filled("", "a b\n"),
        "merges, as many as may be": lambda: repeated("", "! # x\n", "", LINE_LIMIT - 9),
        "merges, as many pairs as may be": lambda: repeated("", "! #\n", "", LINE_LIMIT - 9),
        "merges, letters": lambda: filled("", "a"),
    },
    "native": {
        **BYTES,
        "a header": lambda: filled("toksmith 1\nmodel ", "[", "\n"),
        "tokens": lambda: filled('toksmith 1\nmodel {}\ntokens 9999999\n', "1 a\n"),
    },
    "tiktoken": {
        **BYTES,
        "the same token": lambda: filled("", "YQ== 0\n"),
        "tokens without an end": lambda: repeated("", "YQ== #\n", "x", 1 << 20),
        "one token": lambda: filled("", "YWFh", " 0\n"),
    },
    "minbpe": {
        **BYTES,
        "special tokens": lambda: filled("minbpe v1\n\n9999999\n", "a 1\n"),
        "merges": lambda: filled("minbpe v1\n\n0\n", "97 98\n"),
        "numbers": lambda: filled("minbpe v1\n\n", "9", "\n"),
        "as many merges as may be": lambda: repeated("minbpe v1\n\n0\n", "97 98\n", "", LINE_LIMIT - 9),
        "tokens that double": merge_chain,
    },
    "vocab_txt": {
        **BYTES,
        "empty lines": lambda: filled("[UNK]\n", "\n"),
        "the same line": lambda: filled("[UNK]\n", "a\n"),
        "one line": lambda: filled("", "a"),
    },
    "sentencepiece": {
        "NULs": lambda: bytes(SIZE),
        "empty pieces": lambda: filled(b"", b"\x0a\x00"),
        "deep messages": lambda: filled(b"", b"\x0a\x7e"),
        "unknown fields": lambda: filled(b"", b"\x50\x01"),
        "a long piece": lambda: b"\x0a\xfb\xff\xff\x07\x0a\xf6\xff\xff\x07" + b"a" * (SIZE - 10),
        "as many pieces as may be": lambda: b"\x0a\x03\x0a\x01a" * ((5 << 18) - 9),
        "the same piece": lambda: filled(b"", b"\x0a\x03\x0a\x01a"),
    },
    "gguf": {
        **BYTES,
        "empty texts": lambda: LIST + struct.pack("<IQ", 8, (SIZE - 99) // 8) + bytes(SIZE - 99),
        "numbers": lambda: LIST + struct.pack("<IQ", 0, SIZE - 99) + bytes(SIZE - 99),
        "values": lambda: b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 16) + b"".join(struct.pack("<Q", 5) + b"%05d" % at + struct.pack("<IB", 0, 1) for at in range(1 << 16)),
    },
}  # fmt: skip
FILES["transformers"] = FILES["tokenizer_json"]


@pytest.mark.proof
@needs("proc")
@pytest.mark.parametrize("format", FORMATS)
def test_large_hostile_files_cost_little(format: str, tmp_path: Path) -> None:
    paths = []
    for name, make in FILES[format].items():
        path = tmp_path / (name.replace(" ", "_") + (".model" if format == "minbpe" else ""))
        if format == "gpt2":
            vocab, merges = (tmp_path / f"{name}-{end}" for end in ("vocab.json", "merges.txt"))
            of_merges = name.startswith("merges")
            vocab.write_bytes(GOOD_VOCAB if of_merges else make())
            merges.write_bytes(make() if of_merges else b"#version: 0.2\n")
            path = vocab
        else:
            path.write_bytes(make())
        paths.append(str(path))
    run = subprocess.run([sys.executable, "-c", CHILD, format, *paths], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(rows) == len(paths)
    for path, said, seconds, megabytes in rows:
        name = Path(path).name
        assert said and len(said) < 300, f"{name} was not refused, or at length: {said}"
        assert seconds < MOST_S and megabytes < MOST_MB, f"{name} took {seconds:.2f} s and {megabytes:.0f} MB: {said}"
        Path(path).unlink()


@pytest.mark.proof
@needs("proc")
def test_a_sentencepiece_model_of_four_times_the_largest_vocabulary_is_read(tmp_path: Path) -> None:
    """It takes 8 s and 400 MB. One field more than the limit is refused before the protobuf library makes anything of it."""
    path, more = tmp_path / "large.model", tmp_path / "more.model"
    path.write_bytes(sentencepiece_model(4 * 262_144))
    more.write_bytes(sentencepiece_model((5 << 18) - 1))
    command = [sys.executable, "-c", CHILD, "sentencepiece", str(path), str(more)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr[-2000:]
    read, refused = [json.loads(line) for line in run.stdout.splitlines()]
    assert read[1] == "" and read[2] < 10 * MOST_S and read[3] < 2 * MOST_MB, read
    assert "more than 1310720 fields" in refused[1] and refused[2] < MOST_S and refused[3] < MOST_MB, refused


def sentencepiece_model(pieces: int) -> bytes:
    """A model of byte pairs with this number of pieces, and one more field."""
    texts = [b"p%d" % number for number in range(pieces - 1)]
    bodies = (b"\x0a%c%b\x15%b" % (len(text), text, struct.pack("<f", -at)) for at, text in enumerate(texts))
    unknown = b"\x0a\x09\x0a\x05<unk>\x18\x02"
    return unknown + b"".join(b"\x0a%c%b" % (len(body), body) for body in bodies) + b"\x12\x02\x18\x02"
