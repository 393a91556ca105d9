"""The page reads `tokenizer.json` and SentencePiece files as the Python package does: the same native file, or an error."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from conftest import DATA, ROOT
from drawn_pieces import drawn_model
from structural_mutants import GOOD, files, mutants
from test_hf_post import drawn_file
from test_hf_steps import CORPUS, PARTS
from test_web_module import MODULE, MODULES, NODE, cases, merging, run, saved

import toksmith
from toksmith import Tokenizer, _formats
from toksmith.errors import FormatError, InvalidOption, ModelError

EVERYTHING = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
EACH = 1 if EVERYTHING else 29  # one mutant in this many is tried
DRAWN = 400 if EVERYTHING else 30
PUBLISHED = ("gpt2_tokenizer.json", "mistral_v1.model", "sp_unigram_en.model")

pytestmark = [
    pytest.mark.skipif(NODE is None, reason="lacks node"),
    pytest.mark.skipif(not (MODULE / "toksmith-full.wasm").exists(), reason="lacks build/web; run make web"),
]


def native(data: bytes, format: str) -> bytes | list[str | None]:
    """The native file of a file's tokenizer; or the name of the error, its place, and its words in notation of JavaScript."""
    row = _formats.FORMATS[format]
    pattern: Any = "gpt2" if format == "tiktoken" else _formats.UNSET
    try:
        model = row.load(data, "it", pattern=pattern, special_tokens=None)
        Tokenizer(model)
    except (FormatError, InvalidOption, ModelError) as error:
        place = getattr(error, "place", None)
        return [type(error).__name__, None if place is None else str(place), getattr(error, "problem", str(error))]
    saved_bytes = _formats.FORMATS["native"].save(model)
    assert isinstance(saved_bytes, bytes)
    return saved_bytes


def compared(rows: Iterator[tuple[str, bytes, str]], what: str = "places") -> dict[str, Any]:
    """Loads each file in node, and compares its tokenizer, or the kind and the place of its error, and its words if they
    are `what`; returns the counts."""

    def line(name: str, data: bytes, format: str) -> str:
        expected = native(data, format)
        wanted = base64.b64encode(expected).decode() if isinstance(expected, bytes) else expected
        file = {"name": name, "data": base64.b64encode(data).decode(), "expected": wanted}
        return json.dumps(file | ({"options": {"pattern": "gpt2"}} if format == "tiktoken" else {})) + "\n"

    command = [str(NODE), str(Path(__file__).with_name("read_files.mjs")), str(MODULE), what]
    script = "".join(line(*row) for row in rows)
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["different"] == 0, json.dumps(found["shown"], indent=1)
    return found


@pytest.mark.proof
def test_every_part_of_a_tokenizer_json_is_read_as_python_reads_it() -> None:
    random = Random(3)

    def rows() -> Iterator[tuple[str, bytes, str]]:
        for name, make in PARTS.items():
            yield name, make().to_str().encode(), "tokenizer_json"
        for number in range(DRAWN):
            yield f"post {number}", json.dumps(drawn_file(random)).encode(), "tokenizer_json"

    found = compared(rows())
    assert found["files"] > len(PARTS) and found["refused"] < 12


@pytest.mark.proof
def test_a_file_with_another_value_is_read_or_refused_as_in_python() -> None:
    def rows() -> Iterator[tuple[str, bytes, str]]:
        for name in GOOD:
            for file in files(name):
                for number, (what, text) in enumerate(mutants(file.value) if file.format == "tokenizer_json" else ()):
                    if number % EACH == 0:
                        yield f"{name} {what}", text.encode("utf-8", "surrogatepass"), file.format

    assert compared(rows())["refused"] > 20


@pytest.mark.proof
def test_sentencepiece_files_are_read_as_python_reads_them() -> None:
    random = Random(4)

    def rows() -> Iterator[tuple[str, bytes, str]]:
        for number in range(10 * DRAWN):
            data = drawn_model(random, rare=number % 2 > 0)
            yield f"model {number}", data, "sentencepiece"
            at = random.randrange(len(data))
            yield f"changed {number}", data[:at] + bytes([random.randrange(256)]) + data[at + 1 :], "sentencepiece"
            yield f"cut {number}", data[: max(1, at)], "sentencepiece"

    assert compared(rows())["refused"] > DRAWN


@pytest.mark.proof
def test_models_of_every_kind_give_the_native_ids(tmp_path: Path) -> None:
    random = Random(5)

    def every() -> Iterator[bytes]:
        yield from (make().to_str().encode() for make in PARTS.values())
        yield from (drawn_model(random) for _ in range(DRAWN))

    def lines() -> Iterator[Any]:
        for number, data in enumerate(every()):
            (path := tmp_path / ("tokenizer.json" if data[:1] == b"{" else "it.model")).write_bytes(data)
            try:
                tok = toksmith.load(path)
                steps = (*tok.model.normalizers, *tok.model.splitters, *tok.model.decoders)
                if any("onig" in dict(step.options).values() for step in steps):  # the page has no Oniguruma
                    continue
            except (FormatError, InvalidOption, ModelError):
                continue
            yield saved(tok, tmp_path / f"{number}.toksmith")
            yield from cases(tok, iter(CORPUS), random)
            pieces = [piece for text in CORPUS[-2:] for piece in (*text.split(), *tok.split(text, special="text"))]
            yield from merging(tok, [piece[:80] for piece in random.sample(pieces, min(6, len(pieces)))])

    assert run(lines(), MODULES[1]) > 1000


SMALL = toksmith.train("low lower lowest", merges=2, pattern="gpt2", special_tokens=["<s>"], progress=False)
RANKS = (ROOT / "crates" / "core" / "examples" / "small.tiktoken").read_bytes()


def native_with(old: bytes, new: bytes) -> bytes:
    """A native file with a change, and its checksum."""
    body = native_bytes(SMALL)
    assert old in body
    body = body[: body.rindex(b"sha256 ")].replace(old, new, 1)
    return body + f"sha256 {hashlib.sha256(body).hexdigest()}\n".encode()


def native_bytes(tok: Tokenizer) -> bytes:
    saved_bytes = _formats.FORMATS["native"].save(tok.model)
    assert isinstance(saved_bytes, bytes)
    return saved_bytes


def test_a_bad_file_has_the_error_of_the_package() -> None:
    good = native_bytes(SMALL)
    changes = {
        "no version": (b"toksmith 1", b"toksmith x"),
        "a token twice": (b"\n98 b", b"\n98 a"),
        "an id twice": (b"\n98 b", b"\n97 b"),
        "no bytes": (b"\n98 b\n", b"\n98 \n"),
        "an escape": (b"\n98 b\n", b"\n98 \\x6\n"),
        "another merge": (b"\n108 111 256\n", b"\n108 111 257\n"),
        "a merge of nothing": (b"\n108 111 256\n", b"\n108 999 256\n"),
        "two numbers": (b"\n108 111 256\n", b"\n108 111\n"),
        "another section": (b"merges 2", b"mergers 2"),
        "no number": (b"tokens 258", b"tokens many"),
    }
    files = {name: native_with(*change) for name, change in changes.items()}
    files |= {"within a line": good[:2000], "within a section": good[: good.index(b"merges 2")]}
    files |= {"a change": good.replace(b"lo", b"la", 1), "more": good + b"x\n"}
    lines = RANKS.split(b"\n")
    ranks = {
        name: b"\n".join([lines[0], line, *lines[2:]])
        for name, line in {"base64": b"!!!! 1", "rank": b"IQ== x", "no rank": b"IQ==", "again": lines[0]}.items()
    }
    ranks["no byte"] = b"\n".join(lines[1:])
    rows = [(name, data, "native") for name, data in files.items()]
    found = compared(iter([*rows, *((name, data, "tiktoken") for name, data in ranks.items())]), "words")
    assert found["refused"] == found["files"] == len(files) + len(ranks)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_file_is_read_as_python_reads_it(name: str) -> None:
    path = DATA / "vocab" / name
    if not path.exists():
        pytest.skip(f"lacks {path}")
    assert compared(iter([(name, path.read_bytes(), "sentencepiece" if path.suffix == ".model" else "tokenizer_json")]))
