"""tekken.json: Mistral's published files with equal ids in mistral-common, and ids that are renumbered to fit."""

import importlib.util
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_texts import HARD_TEXTS
from peers import CORPORA, documents, scalar

import toksmith
from toksmith import Tokenizer
from toksmith.errors import CannotRepresent

# 19 MB; 131,072 ids: 130,072 tokens of the 150,000 that it lists, after 1,000 special tokens.
PUBLISHED = "tekken_240911.json"
LACKS = "lacks mistral-common (tests/requirements-alone.txt)"


def tekkenizer(path: Path) -> Any:
    """Mistral's library with a file."""
    module: Any = pytest.importorskip("mistral_common.tokens.tokenizers.tekken", reason=LACKS)
    return module.Tekkenizer.from_file(path)


@pytest.fixture(scope="module")
def published() -> Path:
    """The file, which is in the package of Mistral's library."""
    spec = importlib.util.find_spec("mistral_common")
    if spec is None or spec.origin is None:
        pytest.skip(LACKS)
    return Path(spec.origin).parent / "data" / PUBLISHED


def texts(corpora_dir: Path, count: int) -> Iterator[str]:
    yield from map(scalar, HARD_TEXTS.values())
    for name in CORPORA:
        yield from map(scalar, itertools.islice(documents(corpora_dir / f"{name}.jsonl.gz"), count))


@pytest.mark.slow
def test_the_published_file_gives_the_ids_of_mistrals_library(
    published: Path, corpora_dir: Path, tmp_path: Path
) -> None:
    assert published.stat().st_size > 19_000_000
    tok = toksmith.load(published)
    assert toksmith.formats()["tekken"].fits(published.name)
    assert len(tok) == tok.vocab_size == 131_072 and len(tok.special_tokens) == 1000
    tok.save(tmp_path / "tekken.json")
    assert toksmith.load(tmp_path / "tekken.json") == tok
    peer, again = tekkenizer(published), tekkenizer(tmp_path / "tekken.json")
    for text in texts(corpora_dir, 6):
        ids = tok.encode(text, special="text")
        assert peer.encode(text, bos=False, eos=False) == ids, text[:200]
        assert again.encode(text, bos=False, eos=False) == ids, text[:200]
        assert peer.decode(ids) == tok.decode(ids) == text
    for content, id in itertools.islice(tok.special_tokens.items(), 40):
        assert peer.get_special_token(content) == id


@pytest.mark.slow
def test_convert_proves_the_published_file(published: Path, tmp_path: Path) -> None:
    report = toksmith.convert(published, tmp_path / "tekken.json")
    assert report.equal and report.id_map is None
    if report.peer.problem is None:
        assert report.peer.library == "mistral-common 1.13.1" and report.peer.documents == report.documents
    else:
        assert report.peer.problem.startswith("mistral-common cannot be imported")


def trained() -> Tokenizer:
    return toksmith.train("low lower lowest, it's 12 lows", merges=9, pattern="gpt2", special_tokens=["<s>", "</s>"])


@pytest.mark.slow
def test_special_tokens_move_to_the_front_with_a_map(tmp_path: Path) -> None:
    tok = trained()
    with pytest.raises(CannotRepresent, match=r"must have the first ids, 0 to 1; .*renumber=True") as caught:
        tok.save(tmp_path / "tekken.json")
    assert caught.value.field == "added_tokens"
    with pytest.raises(CannotRepresent, match="renumber=True"):
        toksmith.convert(tok, tmp_path / "tekken.json")
    report = toksmith.convert(tok, tmp_path / "tekken.json", renumber=True)
    assert report.equal and report.id_map is not None and "267 tokens of 267 with a new id" in str(report)
    new = toksmith.load(tmp_path / "tekken.json")
    assert new.special_tokens == {"<s>": 0, "</s>": 1} and new.token_bytes(2) == b"\0"
    for text in ("low lowest</s>", "it's 12<s>"):
        old_ids = tok.encode(text, special="allow")
        assert [report.id_map[id] for id in old_ids] == new.encode(text, special="allow")
    rows = report.id_map.apply(np.arange(tok.vocab_size))
    assert [tok.token_bytes(int(old)) for old in rows] == [new.token_bytes(id) for id in range(new.vocab_size)]
    assert [0, 2] in json.loads(report.to_json())["id_map"]


@pytest.mark.slow
def test_bytes_in_another_order_move_as_well(tmp_path: Path) -> None:
    """Mistral's library asserts that the first 256 tokens are the bytes in order; GPT-2 orders them otherwise."""
    tok = toksmith.train("low lower lowest", merges=4, pattern="gpt2", alphabet="gpt2")
    with pytest.raises(CannotRepresent, match="requires the bytes as the first 256 tokens") as caught:
        tok.save(tmp_path / "tekken.json")
    assert caught.value.field == "ids"
    report = toksmith.convert(tok, tmp_path / "tekken.json", renumber=True)
    assert report.equal and report.id_map is not None and report.id_map[tok.token_id("l")] == ord("l")
    native = toksmith.convert(tok, tmp_path / "a.toksmith", renumber=True)
    assert native.equal and native.id_map is None  # the format requires no other ids


@pytest.mark.slow
def test_mistrals_library_reads_renumbered_files(tmp_path: Path) -> None:
    tok = trained()
    report = toksmith.convert(tok, tmp_path / "tekken.json", renumber=True)
    peer = tekkenizer(tmp_path / "tekken.json")
    assert report.id_map is not None and peer.bos_id == 0 and peer.eos_id == 1
    for text in map(scalar, HARD_TEXTS.values()):
        ids = [report.id_map[id] for id in tok.encode(text, special="text")]
        assert peer.encode(text, bos=False, eos=False) == ids
