"""A small corpus of every kind of file, the ids of its documents, and the content of a job's folder."""

import gzip
import hashlib
import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as arrow
import pyarrow.parquet

import toksmith

END, PAD = "<|end|>", "<|pad|>"
ROWS = ["low lower", "", "naïve ☀ text", "low" * 50, "\n\n", "last"] * 5
TOK = toksmith.train("low lower lowest slow", merges=9, special_tokens=[END, PAD], threads=1, progress=False)
SHARD = 200  # bytes: the rows are in several shards


def make(folder: Path) -> list[Path]:
    """The files, in the order of a job."""
    folder.mkdir(exist_ok=True)
    rows = [json.dumps({"text": row, "id": f"row {number}"}) for number, row in enumerate(ROWS)]
    (folder / "a.jsonl").write_text("\n".join(rows) + "\n\n", encoding="utf-8")
    (folder / "b.txt").write_bytes(b"whole \xff text")
    (folder / "c.jsonl.gz").write_bytes(
        gzip.compress(b'{"text": "packed", "id": 5}\n') + gzip.compress(b'{"text":"low"}')
    )
    table = arrow.table({"text": ["a", "low low", "x" * 9], "id": [1, 2, 3]})
    arrow.parquet.write_table(table, folder / "d.parquet", row_group_size=2)
    (folder / "e.txt").write_bytes(b"")
    (folder / "f.jsonl").write_bytes(b"")
    return sorted(folder.iterdir())


TEXTS = [*(row.encode() for row in ROWS), b"whole \xff text", b"packed", b"low", b"a", b"low low", b"x" * 9, b""]


def ids_of(texts: list[bytes] | None = None, append: str | None = END) -> list[list[int]]:
    """The ids of each document."""
    last = [] if append is None else [TOK.special_tokens[append]]
    return [TOK.encode(text) + last for text in (TEXTS if texts is None else texts)]


def joined(lists: Iterable[list[int]]) -> list[int]:
    """The ids of all lists."""
    return list(itertools.chain.from_iterable(lists))


def job(folder: Path, name: str = "out", **options: Any) -> toksmith.corpus.Job:
    """A job of the corpus."""
    corpus = make(folder / "in") if not (folder / "in").exists() else sorted((folder / "in").iterdir())
    return toksmith.corpus.plan(TOK, corpus, folder / name, **{"append": END, "shard_size": SHARD, **options})


def content(folder: Path) -> dict[str, str]:
    """The sha256 of every file in a folder, by name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
