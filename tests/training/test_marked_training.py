"""Training of WordPiece and of byte-pair encoding with ends of words: HF's quality, and equal ids in their libraries."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from peers import imported_transformers
from test_character_training import lines_of
from tokenizers import models, normalizers, pre_tokenizers, trainers
from trainings import trained

import toksmith
from toksmith import Tokenizer
from toksmith.errors import CorpusError, InvalidOption
from toksmith.reference import models as reference

LONG = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
WORDS = "low lower lowest newer newest wider low new"
SPECIAL = ["[PAD]", "[CLS]", "[SEP]", "[MASK]"]


def peer_of(kind: str, size: int, lines: list[str]) -> tokenizers.Tokenizer:
    """The tokenizer that HF trains."""
    if kind == "wordpiece":
        peer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
        peer.normalizer, peer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
        trainer: Any = trainers.WordPieceTrainer(vocab_size=size, special_tokens=["[UNK]"], show_progress=False)
    else:
        peer = tokenizers.Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
        peer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        options = {"special_tokens": ["<unk>"], "end_of_word_suffix": "</w>", "show_progress": False}
        trainer = trainers.BpeTrainer(vocab_size=size, **options)
    peer.train_from_iterator(lines, trainer)
    return peer


KINDS: dict[str, dict[str, Any]] = {
    "wordpiece": {"kind": "wordpiece", "character_coverage": 1.0},
    "ends": {"end_of_word_suffix": "</w>", "character_coverage": 1.0},
}


@pytest.mark.proof
@pytest.mark.parametrize(("corpus", "size"), [("english", 2000), ("japanese", 4000)])
@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_as_short_as_with_hf(kind: str, corpus: str, size: int, corpora_dir: Path) -> None:
    lines, size = lines_of(corpora_dir, corpus, 1 << 40 if LONG else 260_000), 8000 if LONG else size
    unseen, lines = lines[::10], [line for place, line in enumerate(lines) if place % 10]
    peer = peer_of(kind, size, lines)
    tok = toksmith.train(lines, size, progress=False, **KINDS[kind])
    assert len(tok) == size
    total = sum(len(line.encode()) for line in unseen)
    ours = sum(map(len, tok.encode_batch(unseen)))
    theirs = sum(len(found.ids) for found in peer.encode_batch(unseen))
    print(f"\n{kind} {corpus} {size}: bytes per token {total / ours:.4f} (HF {total / theirs:.4f})")
    assert ours < theirs * 1.01


def tokens_of(tok: Tokenizer) -> list[str]:
    return [token.decode() for token in tok.model.tokens]


def test_ends_of_words_by_the_example_of_the_tutorial() -> None:
    tok = trained("low " * 5 + "lower " * 2 + "newest " * 6 + "widest " * 3, merges=10, **KINDS["ends"])
    assert "est</w>" in tokens_of(tok) and "low</w>" in tokens_of(tok)
    assert [tok.token_bytes(id).decode() for id in tok.encode("lowest")][-1] == "est</w>"
    assert tok.decode(tok.encode("lowest newest low")) == "lowest newest low"
    assert tok.encode("low☃")[-1] == tok.model.unknown_id


def test_wordpiece_equals_a_case_by_hand(tmp_path: Path) -> None:
    tok = trained(WORDS, 30, special_tokens=SPECIAL, **KINDS["wordpiece"])
    assert tokens_of(tok)[:3] == ["[UNK]", "d", "e"] and {"##w", "##er", "low"} <= {*tokens_of(tok)}
    shown = [tok.token_bytes(id).decode() for id in tok.encode("Lower, widest☃ newest")]
    assert shown[:3] == ["low", "##er", "[UNK]"] and shown.count("[UNK]") == 2  # the comma, and the word with ☃
    assert tok.decode(tok.encode("lower newest")) == "lower newest"
    assert tok.model.training is not None and tok.model.training.stopped_because == "it reached vocab_size=30"
    assert toksmith.train(WORDS, 30, special_tokens=SPECIAL, **KINDS["wordpiece"]) == tok
    tok.save(tmp_path / "x.toksmith")
    assert toksmith.load(tmp_path / "x.toksmith") == tok


@pytest.mark.slow
def test_the_core_equals_the_reference(corpora_dir: Path) -> None:
    lines = lines_of(corpora_dir, "european", 30_000)
    ends, pieces = trained(lines, 900, **KINDS["ends"]), trained(lines, 900, lowercase=False, **KINDS["wordpiece"])
    spelt = dict(zip(ends.model.ids.tolist(), tokens_of(ends), strict=True))
    merges = [(spelt[left], spelt[right]) for left, right, _ in ends.model.merges.tolist()]
    for word in sorted({word for line in lines for word in line.split()})[::5]:
        assert [spelt[id] for id in ends.encode(word)] == reference.merge_marked(word, merges, suffix="</w>")
        for piece in pieces._engine.split(word):
            found = [pieces.token_bytes(id).decode() for id in pieces.encode(piece)]
            assert found == reference.word_pieces(piece.decode(), {*tokens_of(pieces)}, longest=100), word


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_hf_gives_the_same_ids(kind: str, tmp_path: Path, corpora_dir: Path) -> None:
    lines = lines_of(corpora_dir, "european", 60_000)
    special = SPECIAL if kind == "wordpiece" else ["<s>"]
    tok = trained(lines, 1500, special_tokens=special, **KINDS[kind] | {"character_coverage": 0.999})
    tok.save(tmp_path / "tokenizer.json")
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert toksmith.load(tmp_path / "tokenizer.json") == tok
    readers: list[Callable[[str], list[int]]] = [lambda text: peer.encode(text, add_special_tokens=False).ids]
    if kind == "wordpiece":
        transformers = imported_transformers()
        tok.save(tmp_path / "vocab.txt")
        assert toksmith.load(tmp_path / "vocab.txt") == tok
        bert = transformers.BertTokenizer(str(tmp_path / "vocab.txt"))
        readers.append(lambda text: bert.encode(text, add_special_tokens=False))
    for line in lines_of(corpora_dir, "european", 120_000)[-400:]:
        ids = tok.encode(line, special="text")
        assert all(reader(line) == ids for reader in readers), line


@pytest.mark.parametrize(
    ("kind", "given", "argument"),
    [
        ("ends", {"character_coverage": 0.0}, "character_coverage"),
        ("ends", {"vocab_size": None}, "vocab_size"),
        ("ends", {"vocab_size": 5}, "vocab_size"),
        ("ends", {"special_tokens": ["<unk>"]}, "special_tokens"),
    ],
)
def test_wrong_options_are_refused_by_name(kind: str, given: dict[str, Any], argument: str) -> None:
    with pytest.raises(InvalidOption) as caught:
        toksmith.train(WORDS, **{"vocab_size": 40, "progress": False, **KINDS[kind], **given})
    assert caught.value.argument == argument


def test_corpora_without_words_are_refused() -> None:
    with pytest.raises(CorpusError, match="without a word"):
        trained(" \n ", 40, **KINDS["wordpiece"])
    with pytest.raises(InvalidOption, match="documents"):
        trained(toksmith.corpus.count(WORDS), 40, **KINDS["ends"])
    small = trained("ab ab", 100, **KINDS["ends"])
    assert small.model.training is not None and small.model.training.stopped_because == "no pair is left"
