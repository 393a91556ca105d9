"""The inputs: documents of the test data as files of rows, and one vocabulary in the format of each program.

A corpus that is too short is repeated. In each repetition the documents begin with its number, so that no two documents
are equal.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import count
from pathlib import Path
from typing import Any

from ..places import scratch, write_whole
from ..texts import documents
from ..vocabularies import encoding, with_tokenizer_json

KINDS = ("jsonl", "jsonl.gz", "jsonl.zst", "parquet", "arrow")
VOCABULARY = "o200k"
END = "<|endoftext|>"


@dataclass(frozen=True)
class Text:
    """At least `megabytes` of a corpus, or of all nine in order ("nine corpora"); 0 for one document."""

    corpus: str
    megabytes: int

    @cached_property
    def rows(self) -> Path:
        """One `.jsonl` file of all documents, written if it does not exist."""
        path = self.place("jsonl")
        if not (path.exists() and self.place("size").exists()):
            size = 0
            partial = path.with_suffix(".partial")
            with partial.open("wb") as file:
                for text in self.documents():
                    size += len(text.encode())
                    file.write(json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n")
            partial.replace(path)
            write_whole(self.place("size"), str(size).encode())
        return path

    @property
    def size(self) -> int:
        """The bytes of the texts."""
        return int(self.rows.with_suffix(".size").read_bytes())

    @cached_property
    def kinds(self) -> dict[str, Path]:
        """The same rows as a file of each kind."""
        files = {kind: self.place(kind) for kind in KINDS} | {"jsonl": self.rows}
        if not all(path.exists() for path in files.values()):
            import pyarrow
            import pyarrow.parquet
            import zstandard

            rows = self.rows.read_bytes()
            files["jsonl.gz"].write_bytes(gzip.compress(rows, 6))
            files["jsonl.zst"].write_bytes(zstandard.compress(rows))
            table = pyarrow.table({"text": [json.loads(line)["text"] for line in rows.splitlines()]})
            pyarrow.parquet.write_table(table, files["parquet"], compression="zstd")
            with pyarrow.ipc.new_stream(str(files["arrow"]), table.schema) as file:
                file.write_table(table, max_chunksize=1000)
        return files

    @cached_property
    def halves(self) -> list[Path]:
        """The same rows in two files of a separate folder, in the same order."""
        folder = self.place("halves")
        folder.mkdir(exist_ok=True)
        paths = [folder / f"{half}.jsonl" for half in range(2)]
        if not all(path.exists() for path in paths):
            lines = self.rows.read_bytes().splitlines(keepends=True)
            middle = -(-len(lines) // 2)
            for path, part in zip(paths, (lines[:middle], lines[middle:]), strict=True):
                write_whole(path, b"".join(part))
        return paths

    def place(self, kind: str) -> Path:
        """The path of a file of this kind."""
        return scratch("corpus") / f"{Path(self.corpus).stem.replace(' ', '-')}-{self.megabytes}.{kind}"

    def documents(self) -> Iterator[str]:
        """Enough documents."""
        once = list(documents(self.corpus))
        remaining = self.megabytes * 10**6
        for turn in count():
            for text in once:
                yield (document := f"{turn}\n{text}" if turn else text)
                remaining -= len(document.encode())
                if remaining <= 0:
                    return


@cache
def native() -> Path:
    """The vocabulary with its end-of-document token, in toksmith's own format."""
    import toksmith

    vocabulary = encoding(VOCABULARY)
    path = scratch("corpus") / f"{VOCABULARY}.toksmith"
    size = toksmith.load(vocabulary.source, pattern=vocabulary.pattern).vocab_size
    toksmith.load(vocabulary.source, pattern=vocabulary.pattern, special_tokens={END: size}).save(path)
    return path


@cache
def folder_of_hugging_face() -> Path:
    """The same vocabulary for `transformers` and programs that use it: the next id is the end of a document."""
    vocabulary = with_tokenizer_json(encoding(VOCABULARY))
    document: dict[str, Any] = json.loads(Path(vocabulary.tokenizer_json).read_bytes())
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    document["added_tokens"] = [{"id": len(document["model"]["vocab"]), "content": END, **flags, "special": True}]
    about = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "model_max_length": 10**18}
    folder = scratch("corpus") / f"{VOCABULARY}-hf"
    folder.mkdir(exist_ok=True)
    write_whole(folder / "tokenizer.json", json.dumps(document).encode())
    write_whole(folder / "tokenizer_config.json", json.dumps(about).encode())
    return folder
