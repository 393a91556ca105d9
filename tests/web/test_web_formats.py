"""The page reads `tokenizer.json` and SentencePiece files as the Python package does: the same native file, or an error."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from conftest import DATA
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


def native(data: bytes, format: str) -> bytes | None:
    """The native file of a file's tokenizer; None if the package refuses the file or cannot run it."""
    row = _formats.FORMATS[format]
    try:
        model = row.load(data, "it", pattern=_formats.UNSET, special_tokens=None)
        Tokenizer(model)
    except (FormatError, InvalidOption, ModelError):
        return None
    saved_bytes = _formats.FORMATS["native"].save(model)
    assert isinstance(saved_bytes, bytes)
    return saved_bytes


def compared(rows: Iterator[tuple[str, bytes, str]]) -> dict[str, Any]:
    """Loads each file in node, and compares; returns the counts."""

    def line(name: str, data: bytes, format: str) -> str:
        expected = native(data, format)
        coded = None if expected is None else base64.b64encode(expected).decode()
        return json.dumps({"name": name, "data": base64.b64encode(data).decode(), "native": coded}) + "\n"

    command = [str(NODE), str(Path(__file__).with_name("read_files.mjs")), str(MODULE)]
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
            yield f"cut {number}", data[:at], "sentencepiece"

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


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_file_is_read_as_python_reads_it(name: str) -> None:
    path = DATA / "vocab" / name
    if not path.exists():
        pytest.skip(f"lacks {path}")
    assert compared(iter([(name, path.read_bytes(), "sentencepiece" if path.suffix == ".model" else "tokenizer_json")]))
