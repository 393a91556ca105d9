"""SentencePiece models as tokenizer.json: toksmith's and transformers' conversions against sentencepiece.

Run by `make test-clients`, which prints the table of docs/clients.md.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import DATA, existing_or_skip
from test_client_programs import documents
from test_clients import pytestmark  # noqa: F401 - skips without the suites

import toksmith

CLASSES = {"mistral_v1.model": "LlamaTokenizer", "sp_unigram_en.model": "T5Tokenizer"}
LOST = ("decoders", "normalizers", "scores")


@pytest.mark.parametrize("name", CLASSES)
def test_a_converted_model_has_the_ids_of_sentencepiece(name: str, tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    model = existing_or_skip(DATA) / "vocab" / name
    for usual in ("tokenizer.model", "spiece.model"):  # the file names of the two classes
        shutil.copy(model, tmp_path / usual)
    toksmith.convert(model, tmp_path / "ours.json", to_format="tokenizer_json", allow_loss=LOST)
    ours = tokenizers.Tokenizer.from_file(str(tmp_path / "ours.json"))
    theirs = getattr(transformers, CLASSES[name]).from_pretrained(tmp_path)
    real = sentencepiece.SentencePieceProcessor(model_file=str(model))
    texts = documents()
    due = [real.encode(text) for text in texts]
    wrong = sum(
        theirs(text, add_special_tokens=False)["input_ids"] != ids for text, ids in zip(texts, due, strict=True)
    )
    own_wrong = sum(
        ours.encode(text, add_special_tokens=False).ids != ids for text, ids in zip(texts, due, strict=True)
    )
    print(f"\n| {name} | {CLASSES[name]} | {wrong:,} | {own_wrong:,} | {len(texts):,} |")
    assert own_wrong == 0
