"""SentencePiece's models as tokenizer.json: equal ids and texts where that is promised, and a refusal that names the texts
where it is not. tokenizers 0.23.3 and sentencepiece 0.2.3 are what is compared."""

import itertools
import os
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from drawn_pieces import ALPHABET, BYTE, CONTROL, NORMAL, UNKNOWN, USER_DEFINED, drawn_text, written
from peers import CORPORA, documents, imported_transformers, scalar

import toksmith
from toksmith import Tokenizer
from toksmith._formats import FORMATS, UNSET
from toksmith._formats.protobuf import new_model
from toksmith._formats.scored_merges import merge_states, scored_merges
from toksmith.errors import CannotRepresent

EVERYTHING = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
SP, HF = FORMATS["sentencepiece"], FORMATS["tokenizer_json"]
BYTES = {f"<0x{byte:02X}>": (0.0, BYTE) for byte in range(256)}
MARKS: dict[str, tuple[float, int]] = {"<unk>": (0, UNKNOWN), "<s>": (0, CONTROL), "</s>": (0, CONTROL)}
TEXT = (
    "the cat sat on the mat and ate  the hat,   it's 12 1234 don't! def f(x):\n    return 漢字 слово Ünïcode ▁ x " * 3
)


def model_file(pieces: dict[str, tuple[float, int]], kind: int = 2, fallback: bool = False, **normalizer: Any) -> bytes:
    model = new_model()
    model.trainer_spec.model_type, model.trainer_spec.byte_fallback = kind, fallback
    options = {"add_dummy_prefix": True, "remove_extra_whitespaces": False, **normalizer}
    for name, value in options.items():
        setattr(model.normalizer_spec, name, value)
    return written(model, {**MARKS, **(BYTES if fallback else {}), **pieces})


def loaded(data: bytes) -> Tokenizer:
    return Tokenizer(SP.load(data, "x.model", pattern=UNSET, special_tokens=None))


class Both:
    """SentencePiece, and HF tokenizers with what we write of the same model."""

    def __init__(self, data: bytes, allow_loss: Iterable[str] = ()) -> None:
        sentencepiece: Any = pytest.importorskip("sentencepiece", "0.2.3", reason="lacks sentencepiece==0.2.3")
        tokenizers: Any = pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3")
        self.sp = sentencepiece.SentencePieceProcessor()
        self.sp.LoadFromSerializedProto(data)
        content = HF.save(loaded(data).model, allow_loss=list(allow_loss))
        assert isinstance(content, bytes)
        self.hf = tokenizers.Tokenizer.from_str(content.decode())
        self.hf.encode_special_tokens = True

    def differs(self, text: str) -> bool:
        return bool(self.sp.encode(text) != self.hf.encode(text).ids)

    def check(self, texts: Iterable[str]) -> None:
        for text in texts:
            ids = self.sp.encode(text)
            assert self.hf.encode(text).ids == ids, text
            assert self.hf.decode(ids) == self.sp.decode(ids), text


def texts(seed: int, count: int) -> list[str]:
    random = Random(seed)
    drawn = (drawn_text(random, 120) for _ in range(count))
    more = ("".join(random.choice([*ALPHABET, " ", "  "]) for _ in range(random.randrange(30))) for _ in range(count))
    return ["", " ", "   ", "▁", " ▁ ", *more, *(text for text in drawn if isinstance(text, str))]


def trained(**options: Any) -> bytes:
    tok = toksmith.train([TEXT], 400, unit="char", special_tokens=["<s>"], progress=False, **options)
    data = SP.save(tok.model)
    assert isinstance(data, bytes)
    return data


def test_models_that_we_train_lose_nothing() -> None:
    Both(trained(byte_fallback=True)).check([TEXT, *texts(1, 300)])
    Both(trained(byte_fallback=True, dummy_prefix=False)).check([TEXT, *texts(2, 300)])


def test_convert_proves_equal_ids(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3")
    (tmp_path / "a.model").write_bytes(trained(byte_fallback=True))
    report = toksmith.convert(tmp_path / "a.model", tmp_path / "tokenizer.json")
    assert report.equal and report.lost == () and report.peer.documents == report.documents


@pytest.mark.slow
def test_auto_tokenizer_reads_the_export(tmp_path: Path) -> None:
    transformers = imported_transformers()
    tok = loaded(trained(byte_fallback=True))
    tok.save(tmp_path)
    peer = transformers.AutoTokenizer.from_pretrained(str(tmp_path))
    sentencepiece: Any = pytest.importorskip("sentencepiece", "0.2.3", reason="lacks sentencepiece==0.2.3")
    own = sentencepiece.SentencePieceProcessor()
    own.LoadFromSerializedProto(trained(byte_fallback=True))
    for text in (TEXT, *texts(3, 100)):
        if "<" not in text:  # no special token, which transformers always finds
            ids = peer(text, add_special_tokens=False)["input_ids"]
            assert ids == own.encode(text), text
            assert peer.decode(ids, skip_special_tokens=True) == own.decode(ids), text
    assert peer.convert_tokens_to_ids(["<unk>", "<s>"]) == [0, tok.special_tokens["<s>"]]
    found = peer("the<s>cat", add_special_tokens=False)["input_ids"]
    assert found == tok.encode("the<s>cat", special="allow")


# Scores that tie, and pieces that come before their parts


def drawn_merges(random: Random) -> dict[str, tuple[float, int]]:
    letters = "abc"[: random.choice([1, 2, 2, 3])]
    ranks = random.choice([1, 2, 3, 5, 100, 100, 100])
    pieces = {char: (-50.0 - random.randrange(3), NORMAL) for char in letters + "▁"}
    longest, most = random.choice([4, 6, 8]), random.choice([6, 14, 40])
    for _ in range(random.randrange(2, most)):
        word = "".join(random.choice(letters) for _ in range(random.randrange(2, longest)))
        pieces.setdefault(word, (-float(random.randrange(ranks)), NORMAL))
    return pieces


@pytest.mark.slow
def test_a_list_of_merges_follows_scores_exactly_or_is_refused_with_a_text() -> None:
    random = Random(int(os.environ.get("TOKSMITH_SEED", "5")))
    exact = refused = shown = 0
    for _ in range(4000 if EVERYTHING else 250):
        pieces = drawn_merges(random)
        data = model_file(pieces, add_dummy_prefix=random.random() < 0.3)
        letters = [char for char in "abc" if char in pieces]
        runs = ["".join(random.choice(letters) for _ in range(random.randrange(40))) for _ in range(80)]
        runs += [char * count for char in letters for count in range(0, 40, 3)]
        try:
            both = Both(data, ["decoders"])
        except CannotRepresent as error:
            assert error.field == "scores", error
            refused += 1
            witness = scored_merges({piece: score for piece, (score, _) in pieces.items()}).witness
            both = Both(data, ["decoders", "scores"])
            around = [before + witness + after for before, after in itertools.product(("", "a", "b"), repeat=2)]
            shown += any(map(both.differs, [*around, *runs]))
        else:
            exact += 1
            both.check(text for text in runs if not both.sp.unk_id() in both.sp.encode(text))
    assert exact > refused > shown > 0.25 * refused  # some are refused because not all places were looked at


def test_runs_that_grow_from_the_left_are_listed_the_longest_first() -> None:
    """In Llama's and Mistral's models all runs of spaces have the same score, and the leftmost grows."""
    runs = {"▁" * count: -1e9 for count in range(1, 17)}
    found = scored_merges(runs | {"a": -5.0, "▁a": -1.0})
    assert not found.problem
    ones = [pair for pair in found.pairs if pair[1] == "▁"]
    assert [len(left) for left, _ in ones] == [*range(15, 1, -1), 1] or ones[-1] == ("▁", "▁")
    pieces = {piece: (score, NORMAL) for piece, score in runs.items()} | {"a": (-5.0, NORMAL), "▁a": (-1.0, NORMAL)}
    both = Both(model_file(pieces, fallback=True))
    both.check(before + " " * count + after for before in ("", "a") for after in ("", "a") for count in range(70))


@pytest.mark.parametrize(
    "pieces, said, witness",
    [
        # `xy` and `yz` share a symbol in both orders, at one score.
        ({"a": -9.0, "b": -9.0, "ab": -1.0, "ba": -1.0}, "each must merge before the other", "bab"),
        # SentencePiece makes `ab` of a character that is not a piece; HF has replaced it by then.
        ({"b": -9.0, "ab": -1.0}, "'ab' merges from 'a', which is not a piece", "ab"),
    ],
)
def test_scores_that_no_list_holds_need_allow_loss(
    pieces: dict[str, float], said: str, witness: str, tmp_path: Path
) -> None:
    data = model_file({"▁": (-9, NORMAL)} | {piece: (score, NORMAL) for piece, score in pieces.items()}, fallback=True)
    (tmp_path / "a.model").write_bytes(data)
    with pytest.raises(CannotRepresent, match="HF merges by a list of pairs") as caught:
        toksmith.convert(tmp_path / "a.model", tmp_path / "tokenizer.json", from_format="sentencepiece")
    assert caught.value.field == "scores" and said in caught.value.problem and f"{witness!r}" in caught.value.problem
    assert "allow_loss=['scores']" in str(caught.value) and not (tmp_path / "tokenizer.json").exists()
    report = toksmith.convert(
        tmp_path / "a.model",
        tmp_path / "tokenizer.json",
        from_format="sentencepiece",
        allow_loss=["scores"],
        verify=["b", witness, witness * 2 + "b", "b" + witness],
    )
    assert report.lost == ("scores",) and said in report.reasons[0]
    assert not report.equal and report.difference is not None and report.differing > 0
    assert f"({report.differing} of 4 documents)" in str(report)


def test_merge_states_equal_those_of_sentencepiece() -> None:
    scores = {"a": -9.0, "b": -9.0, "ab": -1.0, "ba": -1.0, "aba": -3.0}
    assert [*merge_states("abab", scores)] == [["a", "b", "a", "b"], ["ab", "a", "b"], ["ab", "ab"]]
    assert [*merge_states("aba", scores)][-1] == ["aba"]


@pytest.mark.parametrize("letters, longest", [("ab", 9), ("abc", 7), ("abcdefgh", 4)])
def test_many_pieces_of_one_score_are_refused_soon(letters: str, longest: int) -> None:
    words = ["".join(word) for size in range(1, longest + 1) for word in itertools.product(letters, repeat=size)]
    found = scored_merges(dict.fromkeys(words, -1.0))
    assert found.problem and len(found.pairs) == sum(len(word) - 1 for word in words)


# What else differs there


def user_defined() -> bytes:
    pieces = {char: (-9.0 - place, NORMAL) for place, char in enumerate("▁abcxe<>")}
    return model_file(pieces | {"<sep>": (0, USER_DEFINED), "ab": (0, USER_DEFINED), "bc": (-1, NORMAL)}, fallback=True)


UNIGRAM = {char: (-3.0 - place / 8, NORMAL) for place, char in enumerate("▁abcdef")} | {
    word: (-4.0 - place / 4, NORMAL) for place, word in enumerate(["ab", "abc", "▁a", "de", "def", "▁ab", "cd"])
}
NEEDED: dict[str, tuple[bytes, list[str]]] = {
    "byte pairs": (model_file({"▁": (-1, NORMAL), "a": (-2, NORMAL), "▁a": (-0.5, NORMAL)}, fallback=True), []),
    "unknown tokens are shown": (model_file({"▁": (-1, NORMAL), "a": (-2, NORMAL)}), ["decoders"]),
    "extra spaces": (
        model_file({"▁": (-1, NORMAL), "a": (-2, NORMAL)}, fallback=True, remove_extra_whitespaces=True),
        ["decoders"],
    ),
    "user-defined symbols": (user_defined(), ["added_tokens"]),
    "unigram": (model_file(UNIGRAM, kind=1, fallback=True), ["scores"]),
    "a control token of one character": (
        model_file({"▁": (-1, NORMAL), "q": (0, CONTROL)}, fallback=True),
        ["added_tokens"],
    ),
}


@pytest.mark.parametrize("name", NEEDED)
def test_each_difference_is_named_and_needs_allow_loss(name: str) -> None:
    data, needed = NEEDED[name]
    model = loaded(data).model
    for place, field in enumerate(needed):
        with pytest.raises(CannotRepresent) as caught:
            HF.save(model, allow_loss=needed[:place])
        assert caught.value.field == field and "the .model file gives SentencePiece's ids" in str(caught.value)
    both = Both(data, needed)
    spelled = ("<0x", "<s>", "</s>", "<unk>", "q")
    for text in texts(4, 200):
        if not any(each in text for each in spelled):
            assert not both.differs(text), text


def test_user_defined_symbols_stay_whole_and_a_whole_token_between_them_is_one() -> None:
    both = Both(user_defined(), ["added_tokens"])
    both.check(["<sep>", "a<sep>bcab", "ab", " ab<sep>ab <sep>", "abc", "<sep><sep>bc"])
    assert both.differs("<sep><0x41><sep>")  # what the refusal says


def test_a_text_after_which_a_space_is_put_has_no_step() -> None:
    model = new_model()
    model.trainer_spec.model_type, model.trainer_spec.treat_whitespace_as_suffix = 2, True
    tok = loaded(written(model, {**MARKS, "▁": (-1, NORMAL)}))
    with pytest.raises(CannotRepresent, match=r"treat_whitespace_as_suffix does; save the \.model file") as caught:
        HF.save(tok.model, allow_loss=["decoders", "scores"])
    assert caught.value.field == "normalizers"


def test_scores_are_never_lost_in_formats_without_them(tmp_path: Path) -> None:
    tok = loaded(NEEDED["byte pairs"][0])
    for name in ("a.tiktoken", "merge_dict.json"):
        with pytest.raises(CannotRepresent):
            tok.save(tmp_path / name, allow_loss=["scores", "splitters", "normalizers", "decoders", "metadata"])


# Models of characters


def test_models_of_characters_give_equal_ids_and_texts() -> None:
    data = model_file(dict.fromkeys("▁abc", (-1.0, NORMAL)), kind=4, fallback=True)
    both, tok = Both(data), loaded(data)
    both.check(texts(6, 200))
    for text in texts(7, 200):
        assert tok.encode(text, special="text") == both.sp.encode(text)
        assert tok.decode(tok.encode(text, special="text")) == both.sp.decode(both.sp.encode(text))
    data = model_file({**dict.fromkeys("▁ab", (-1.0, NORMAL)), "ab": (-1.0, NORMAL)}, kind=4)
    longer, peer = loaded(data), both.sp
    peer.LoadFromSerializedProto(data)
    assert longer.encode("ab ab") == peer.encode("ab ab") and longer.model.unused_ids


# Real models and corpora


@pytest.mark.proof
@pytest.mark.short
@pytest.mark.parametrize("corpus", CORPORA)
def test_mistrals_model_gives_equal_ids_and_texts(corpus: str, vocab_dir: Path, corpora_dir: Path) -> None:
    both = Both((vocab_dir / "mistral_v1.model").read_bytes())
    found = itertools.islice(documents(corpora_dir / f"{corpus}.jsonl.gz"), None if EVERYTHING else 8)
    both.check(scalar(text) for text in found)


@pytest.mark.proof
def test_trained_models_give_equal_ids_and_texts_on_all_corpora(corpora_dir: Path) -> None:
    sample = [text for name in CORPORA for text in itertools.islice(documents(corpora_dir / f"{name}.jsonl.gz"), 20)]
    options = {"byte_fallback": True, "character_coverage": 0.9995, "progress": False}
    tok = toksmith.train(sample, 6000, unit="char", **options)  # type: ignore[arg-type]
    data = SP.save(tok.model)
    assert isinstance(data, bytes)
    both = Both(data)
    for name in CORPORA:
        found = itertools.islice(documents(corpora_dir / f"{name}.jsonl.gz"), None if EVERYTHING else 15)
        both.check(scalar(text) for text in found)
