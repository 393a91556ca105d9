"""Files that are not valid models: cut, changed, deeply nested, endless, compressed."""

from __future__ import annotations

import gzip
import os
import random
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from ...adapters._engine import import_peer
from ..attack import SECONDS_LONG, SEED, Attack, Call, require
from ..subjects import OURS, SENTENCEPIECE, TIKTOKEN, TOKENIZERS, Subject, write_file

NAMES = {
    "tokenizer.json": (OURS, TOKENIZERS),
    "small.model": (OURS, SENTENCEPIECE),
    "small.tiktoken": (OURS, TIKTOKEN),
    "small.toksmith": (OURS,),
}
OTHERS = ("small.gguf", "vocab.txt", "vocab.json", "tekken.json", "stoi.json", "merge_dict.json")
CUTS, CHANGES = 200, 400


def load_and_use(library: str, path: Path) -> str:
    """Load a file, and use the result."""
    subject = Subject(library, path)
    ids = subject.encode("def low(é):\n  return '한' 12345 ")
    require(all(0 <= id < 1 << 24 for id in ids), "ids that are none")
    subject.decode(ids)
    return "loads"


def cut(data: bytes) -> Iterator[bytes]:
    """The file without its end."""
    for part in range(CUTS):
        yield data[: len(data) * part // CUTS]


def changed(data: bytes) -> Iterator[bytes]:
    """The file with bytes replaced, removed, doubled or moved; the same at every call."""
    draw = random.Random(SEED)
    for _ in range(CHANGES):
        now = bytearray(data)
        for _ in range(draw.choice((1, 1, 1, 2))):
            place, size = draw.randrange(len(now)), draw.choice((1, 1, 4, 64))
            new = draw.choice(
                (draw.randbytes(size), b"", bytes(now[place : place + size]) * 2, b"9" * size, b"\xff" * size)
            )
            now[place : place + size] = new
        yield bytes(now)


def each_variant(name: str, variants: Callable[[bytes], Iterator[bytes]], library: str, folder: Path) -> Iterator[Call]:
    """Every variant of a file of the folder."""
    for data in variants((folder / name).read_bytes()):
        path = write_file(folder / "made" / f"{variants.__name__}-{library}" / name, data)
        yield lambda: load_and_use(library, path)  # noqa: B023 - called before the next


def drawn(library: str, folder: Path) -> Iterator[Call]:
    """Random bytes under a name of each format."""
    draw = random.Random(SEED)
    for name in (*NAMES, *OTHERS):
        for _ in range(50):
            data = draw.randbytes(draw.randrange(4000))
            path = write_file(
                folder / "made" / "drawn" / name, draw.choice((b"", b"GGUF", b"{", b"\x0a", b"toksmith 1\n")) + data
            )
            yield lambda: load_and_use(library, path)  # noqa: B023 - called before the next


def deep(library: str, folder: Path) -> Iterator[Call]:
    """Lists in lists, objects in objects, and steps in steps."""
    whole = b'{"version": "1.0", "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "normalizer": %s}'
    step, end = b'{"type": "Sequence", "normalizers": [', b"]}"
    forms = [
        b"[" * 1_000_000,
        b'{"a":' * 1_000_000,
        whole % (step * 100_000 + end * 100_000),
        whole % (step * 120 + end * 120),
    ]
    for number, data in enumerate(forms):
        path = write_file(folder / "made" / f"deep-{library}" / str(number) / "tokenizer.json", data)
        yield lambda: load_and_use(library, path)  # noqa: B023 - called before the next


def claims(library: str, folder: Path) -> Iterator[Call]:
    """Lengths of 2^31 and more in a SentencePiece model of a few bytes."""
    for number, size in enumerate((2**31 - 1, 2**31, 2**40, 2**63)):
        coded = bytes(size >> shift & 127 | 128 for shift in range(0, 63, 7)) + bytes([size >> 63 & 1])
        path = write_file(folder / "made" / f"claims-{library}" / f"{number}.model", b"\x0a" + coded + b"\x0a\x01a")
        yield lambda: load_and_use(library, path)  # noqa: B023 - called before the next


def device(name: str, library: str, folder: Path) -> Iterator[Call]:
    """An endless file, under a name with the format's suffix."""
    path = folder / "made" / f"device-{library}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")
    yield lambda: load_and_use(library, path)


def pipe(library: str, folder: Path) -> Iterator[Call]:
    """A named pipe without a writer."""
    names = {OURS: "small.toksmith", TIKTOKEN: "small.tiktoken", TOKENIZERS: "tokenizer.json"}
    path = folder / "made" / f"pipe-{library}" / names.get(library, "small.model")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    yield lambda: load_and_use(library, path)


def bombs(library: str, folder: Path) -> Iterator[Call]:
    """40 MB that unpack to 10 GB, as a corpus of one endless row."""
    member = gzip.compress(bytes(100_000_000), 1)
    toksmith = import_peer(library)
    for name in ("bomb.jsonl.gz", "bomb.tsv.gz", "bomb.toksmith.gz"):
        path = write_file(folder / "made" / name, member * 100)
        if name.endswith(".toksmith.gz"):
            yield lambda: toksmith.load(path)  # noqa: B023 - called before the next
        else:
            yield lambda: toksmith.train(path, 300, progress=False)  # noqa: B023


def gguf() -> bytes:
    """A GGUF file with a list that claims 2^60 texts."""
    key = b"tokenizer.ggml.tokens"
    return b"GGUF" + struct.pack("<IQQQ", 3, 0, 1, len(key)) + key + struct.pack("<IIQ", 9, 8, 1 << 60)


def huge_claims(library: str, folder: Path) -> Iterator[Call]:
    """Numbers of entries that a small file cannot contain."""
    forms = {
        "a.gguf": gguf(),
        "a.toksmith": b"toksmith 1\nmodel {}\ntokens 4000000000\n",
        "a.tiktoken": b"YQ== 4294967295\n",
        "b.tiktoken": b"YQ== 99999999999999999999\n",
    }
    for name, data in forms.items():
        path = write_file(folder / "made" / "huge" / name, data)
        yield lambda: load_and_use(library, path)  # noqa: B023 - called before the next


ENDLESS = {"tokenizer.json": TOKENIZERS, "small.model": SENTENCEPIECE, "small.tiktoken": TIKTOKEN}
FILES = (
    *(
        Attack(f"{name}: cut at {CUTS} places", libraries, partial(each_variant, name, cut))
        for name, libraries in NAMES.items()
    ),
    *(
        Attack(f"{name}: {CHANGES} random changes", libraries, partial(each_variant, name, changed))
        for name, libraries in NAMES.items()
    ),
    Attack("random bytes under the names of ten formats", (OURS,), drawn),
    Attack("tokenizer.json nested a million levels deep", (OURS, TOKENIZERS), deep),
    Attack("SentencePiece model that claims lengths of 2³¹ to 2⁶³", (OURS, SENTENCEPIECE), claims),
    Attack("small files that claim 4 · 10⁹ and more tokens or ids", (OURS,), huge_claims),
    *(Attack(f"/dev/zero as {name}", (OURS, peer), partial(device, name)) for name, peer in ENDLESS.items()),
    Attack("a named pipe without a writer", (OURS, TIKTOKEN, TOKENIZERS, SENTENCEPIECE), pipe, idle_s=10),
    Attack("40 MB of gzip that unpack to 10 GB in one row", (OURS,), bombs, seconds=SECONDS_LONG),
)
