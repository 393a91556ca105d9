"""The structures of models' tokenizers run on the engine exactly, or are refused by name: never another id.

tests/dropins/families_of_*.py have the rows, tests/dropins/families.py the vocabularies, texts and calls. With
`TOKSMITH_EXHAUSTIVE=1` every row gets 400 texts.
"""

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dropins import allowed_tokenizers, check_explained, compare
from dropins.differences import PAGE
from dropins.families import FLAGS, MEMBERS, Json, cases, file_of
from dropins.families_of_bytes import OF_BYTES
from dropins.families_of_characters import OF_CHARACTERS

import toksmith
from toksmith._formats import FORMATS
from toksmith._formats.hf_steps import TABLES
from toksmith.compat import tokenizers as ours

peer: Any = pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3")
pytest.importorskip("sentencepiece", reason="lacks sentencepiece, whose tables of characters the files have")

FAMILIES = {**OF_BYTES, **OF_CHARACTERS}
TEXTS = 400 if os.environ.get("TOKSMITH_EXHAUSTIVE") else 6
ALLOWED = [row for row in allowed_tokenizers.ROWS if row.explains is allowed_tokenizers.panics]
PUBLISHED = {
    "gpt2_tokenizer.json": {},
    "mistral_v1.model": {},
    "sp_unigram_en.model": {},
    "llama3.tiktoken": {"pattern": "llama3"},
}


def check(name: str, value: Json) -> None:
    """Check that a file's tokenizer gives the library's results."""
    found = compare(cases(name, value, (peer, ours), TEXTS, 1), ALLOWED)
    check_explained(found)
    assert found.cases > 10 * TEXTS and found.allowed.total() < found.cases / 2


@pytest.mark.proof
@pytest.mark.short
@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_exact_or_refused_by_name(name: str) -> None:
    family = FAMILIES[name]
    value = file_of(family)
    if family.refused:
        tok = ours.Tokenizer.from_str(json.dumps(value))
        with pytest.raises((toksmith.ToksmithError, NotImplementedError), match=family.refused):
            tok.encode("a")
        return
    check(name, value)


@pytest.mark.proof
@pytest.mark.short
@pytest.mark.parametrize("file", PUBLISHED)
def test_a_published_vocabulary_is_exact(file: str, vocab_dir: Path) -> None:
    path = vocab_dir / file
    if path.suffix == ".json":
        check(file, json.loads(path.read_text(encoding="utf-8")))
    else:
        model = toksmith.load(path, **PUBLISHED[file]).model
        check(file, json.loads(FORMATS["tokenizer_json"].save(model, allow_loss=["scores", "normalizers", "decoders"])))


def test_the_table_covers_the_format() -> None:
    values = [file_of(family) for family in FAMILIES.values()]
    assert len({json.dumps(value) for value in values}) == len(values) >= 100
    assert f"{len(values)} families of models" in PAGE.read_text(encoding="utf-8").replace("\n", " ")
    assert {value["model"]["type"] for value in values} == {"BPE", "Unigram", "WordLevel", "WordPiece"}
    used = {role: {kind for value in values for kind in types_of(value[role])} for role in MEMBERS}
    # No known family has these.
    rare = {
        "normalizer": {"NFD", "ByteLevel"},
        "pre_tokenizer": {"CharDelimiterSplit", "FixedLength", "UnicodeScripts"},
    }
    for role, table in TABLES.items():
        assert used[role] - {"Sequence"} == table.rows.keys() - rare.get(role, set()), role
    assert used["post_processor"] == {
        "Sequence",
        "BertProcessing",
        "ByteLevel",
        "RobertaProcessing",
        "TemplateProcessing",
    }
    added = [each for value in values for each in value["added_tokens"]]
    assert all(any(each[flag] for each in added) for flag in FLAGS)


def types_of(part: Json | None) -> list[str]:
    """The types in a part."""
    if part is None:
        return []
    members = next((part[name] for name in MEMBERS.values() if name in part), [])
    return [part["type"], *(kind for each in members for kind in types_of(each))]


def changed(old: str, new: str) -> Any:
    """The drop-in with another text in each file."""
    tok = SimpleNamespace(from_str=lambda text: ours.Tokenizer.from_str(text.replace(old, new)))
    return SimpleNamespace(Tokenizer=tok, decoders=ours.decoders)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("Llama 2 fast, no legacy", '"first"', '"always"'),
        ("Phi-3", '"rstrip": true', '"rstrip": false'),
        ("BERT uncased, MiniLM, bge, gte, e5", '"lowercase": true', '"lowercase": false'),
        ("Qwen 3", '"NFC"', '"NFKC"'),
    ],
)
def test_another_structure_is_found(name: str, old: str, new: str) -> None:
    value = file_of(FAMILIES[name])
    assert old in json.dumps(value)
    assert compare(cases(name, value, (peer, changed(old, new)), 30, 1), ALLOWED).unexplained
