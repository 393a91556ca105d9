"""WordPiece, WordLevel and Unigram in files: HF's tokenizer.json and BERT's vocab.txt, with the ids of their libraries."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import tokenizers
from test_kinds import drawn_piece
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

import toksmith
from toksmith import Model, Tokenizer
from toksmith.errors import CannotRepresent, FormatError, NotInVocabulary
from toksmith.types import AddedToken, TokenTable

WORDS = "the cat sat on the mat, unaffable! and ate it. Été ab日本 über 12 don't " * 9
SPECIAL = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"]


def wordpiece() -> tokenizers.Tokenizer:
    peer = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    peer.normalizer, peer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    peer.decoder = decoders.WordPiece()
    peer.train_from_iterator([WORDS], trainers.WordPieceTrainer(vocab_size=120, special_tokens=SPECIAL))
    return peer


def words() -> tokenizers.Tokenizer:
    peer = tokenizers.Tokenizer(models.WordLevel(unk_token="[UNK]"))
    peer.pre_tokenizer = pre_tokenizers.Whitespace()
    peer.train_from_iterator([WORDS], trainers.WordLevelTrainer(vocab_size=12, special_tokens=SPECIAL))
    return peer


def unigram() -> tokenizers.Tokenizer:
    peer = tokenizers.Tokenizer(models.Unigram())
    peer.normalizer = normalizers.NFKC()
    peer.pre_tokenizer, peer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=60, special_tokens=["<unk>", "<s>"], unk_token="<unk>")
    peer.train_from_iterator([WORDS], trainer)
    return peer


@pytest.mark.parametrize("make", [wordpiece, words, unigram])
def test_files_of_hf_give_its_ids_and_texts(make: Any, tmp_path: Path, corpora_dir: Path) -> None:
    peer = make()
    path = tmp_path / "tokenizer.json"
    peer.save(str(path))
    tok = toksmith.load(path)
    random = Random(5)
    texts = [drawn_piece(random) + " " + drawn_piece(random) for _ in range(400)]
    with gzip.open(corpora_dir / "european.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts += [json.loads(line)["text"][:5000] for _, line in zip(range(8), lines, strict=False)]
    for text in [*texts, WORDS, ""]:
        ids = tok.encode(text, special="allow")
        theirs = peer.encode(text, add_special_tokens=False)
        assert ids == theirs.ids, text
        assert tok.decode(ids) == peer.decode(ids, skip_special_tokens=False)
    (tmp_path / "again").mkdir()
    tok.save(tmp_path / "again" / "tokenizer.json")
    again = tokenizers.Tokenizer.from_file(str(tmp_path / "again" / "tokenizer.json"))
    assert toksmith.load(tmp_path / "again" / "tokenizer.json") == tok
    assert all(again.encode(text).ids == peer.encode(text).ids for text in texts[:50])


@pytest.mark.parametrize("make", [wordpiece, words, unigram])
def test_offsets_of_unknown_characters_cover_the_text(make: Any, tmp_path: Path) -> None:
    make().save(str(tmp_path / "tokenizer.json"))
    tok = toksmith.load(tmp_path / "tokenizer.json")
    for text in ("the ☃☃ cat", "☃", "cat sat☃", "unaffable ☃a☃", "日本☃the"):
        found = tok.encode_with_offsets(text, unit="byte")
        assert found.ids.tolist() == tok.encode(text)
        ends = found.ends.tolist()
        assert ends == sorted(ends) and ends[-1] == len(text.encode())
        for id, start, end in zip(found.ids.tolist(), found.starts.tolist(), found.ends.tolist(), strict=True):
            shown = tok.token_bytes(id).decode().removeprefix("##").replace("▁", " ").strip()
            part = text.encode()[start:end].decode().strip()
            assert id == tok.model.unknown_id or part.lower() in (shown.lower(), shown.lower().replace("ü", "u"))
            assert id != tok.model.unknown_id or "☃" in part or make is words


def test_vocab_txt_gives_the_ids_of_the_library(tmp_path: Path) -> None:
    peer = wordpiece()
    vocab = sorted(peer.get_vocab(), key=peer.get_vocab().__getitem__)
    path = tmp_path / "vocab.txt"
    path.write_text("".join(token + "\n" for token in vocab), encoding="utf-8")
    tok = toksmith.load(path)
    assert tok.special_tokens == {token: id for id, token in enumerate(SPECIAL)}
    for text in (WORDS, "The CAT, é", "x" * 101, "the " + "a" * 100):
        assert tok.encode(text) == peer.encode(text, add_special_tokens=False).ids
    (tmp_path / "again").mkdir()
    tok.save(tmp_path / "again" / "vocab.txt")
    assert (tmp_path / "again" / "vocab.txt").read_bytes() == path.read_bytes()
    assert toksmith.load(tmp_path / "again" / "vocab.txt") == tok


LINES = {
    "an empty line": "the\n\ncat\n",
    "empty lines at the end": "the\ncat\n\n\n",
    "equal lines": "the\ncat\nthe\n",
    "a special token twice": "the\n[UNK]\n[CLS]\ncat\n",
    "white space at the end": "the \ncat\t\na\u3000\ns\u2028\nt\x85\nu\x1c\n \n",
    "white space inside": "th\u2028e\nc\x85at\n s\nth\re\n",
    "lines of Windows": "the\r\n\r\ncat\r\n",
    "no end of the last line": "the\ncat",
}


@pytest.mark.parametrize("lines", LINES.values(), ids=LINES)
def test_lines_of_a_vocab_txt_are_those_of_the_library(lines: str, tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("".join(token + "\n" for token in SPECIAL) + lines, encoding="utf-8", newline="")
    peer, tok = tokenizers.BertWordPieceTokenizer(str(path)), toksmith.load(path)
    ids = dict(zip(tok.model.tokens, tok.model.ids.tolist(), strict=True))
    assert ids == {token.encode(): id for token, id in peer.get_vocab().items() if token}
    assert tok.special_tokens == {token: ids[token.encode()] for token in SPECIAL}
    for text in ("the cat", "[UNK]the s", "a t u th e", "☃ cats"):
        assert tok.encode(text, special="allow") == peer.encode(text, add_special_tokens=False).ids
    saved = tmp_path / "again" / "vocab.txt"
    saved.parent.mkdir()
    tok.save(saved)
    assert toksmith.load(saved) == tok
    again = tokenizers.BertWordPieceTokenizer(str(saved))
    assert {**again.get_vocab(), "": 0} == {**peer.get_vocab(), "": 0}


def test_a_vocab_txt_without_an_unknown_token_runs_until_it_needs_one(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_text("[CLS]\n[SEP]\nthe\n")
    peer, tok = tokenizers.BertWordPieceTokenizer(str(path)), toksmith.load(path)
    assert tok.encode("The the") == peer.encode("The the", add_special_tokens=False).ids == [2, 2]
    with pytest.raises(NotInVocabulary):
        tok.encode("cat")
    with pytest.raises(Exception, match="Missing"):
        peer.encode("cat")
    tok.save(path)
    assert toksmith.load(path) == tok


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"the\n", "is not a vocabulary of BERT"),
        (b"[UNK]\n\xff\n", "not UTF-8"),
        (b"", "is not a vocabulary of BERT"),
    ],
)
def test_a_wrong_vocab_txt_is_named(data: bytes, problem: str, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_bytes(data)
    with pytest.raises(FormatError, match=problem):
        toksmith.load(tmp_path / "vocab.txt", format="vocab_txt")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"vocab": [["a", 1], ["a", 2]]}, "is already at place 0"),
        ({"vocab": [["a"]]}, "a token and its score"),
        ({"vocab": [["", 1.0]]}, "empty token"),
        ({"vocab": [["a", True]]}, "a token and its score"),
        ({"vocab": [["a", 10**400]]}, "not finite"),
        ({"vocab": []}, "must contain a token"),
        ({"unk_id": 9}, "only 1 token"),
        ({"byte_fallback": True}, "a token for each byte"),
        ({"other": 1}, "unknown field"),
    ],
)
def test_a_wrong_unigram_part_is_named(change: dict[str, Any], problem: str, tmp_path: Path) -> None:
    part = {"type": "Unigram", "unk_id": 0, "vocab": [["a", -1.0]], "byte_fallback": False, **change}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": part}))
    with pytest.raises(FormatError, match=problem):
        toksmith.load(path)


def test_a_model_that_a_file_cannot_hold_is_refused(tmp_path: Path) -> None:
    def model(kind: Any, table: Sequence[bytes] = (b"a", b"##b"), **fields: Any) -> Tokenizer:
        return Tokenizer(Model(TokenTable.of(table), np.arange(2, dtype=np.uint32), kind=kind, unit="char", **fields))

    chars = Tokenizer(Model(TokenTable.of([b"a"]), np.zeros(1, np.uint32), kind="chars", unit="char"))
    prefix = {"continuing_subword_prefix": "##"}
    bert: dict[str, Any] = {
        **prefix,
        "max_piece_chars": 100,
        "added_tokens": (AddedToken("[UNK]", 2),),
    }
    for tok, name, field in (
        (chars, "tokenizer.json", "kind"),
        (model("wordpiece", **prefix), "tokenizer.json", "max_piece_chars"),
        (model("unigram", scores=np.zeros(2, np.float32)), "tokenizer.json", "scores"),
        (model("unigram", scores=np.zeros(2)), "x.tiktoken", "kind"),
        (model("words"), "vocab.txt", "kind"),
        (model("wordpiece", **bert, unknown_id=2), "vocab.txt", "tokens"),
        (model("wordpiece", table=[b"[UNK]", b"a\nb"], **bert, unknown_id=0), "vocab.txt", "tokens"),
        (model("wordpiece", table=[b"[UNK]", b"a "], **bert, unknown_id=0), "vocab.txt", "tokens"),
    ):
        with pytest.raises(CannotRepresent) as caught:
            tok.save(tmp_path / name)
        assert caught.value.field == field, (name, field)
