"""SentencePiece's models: what is read, what is refused, and that the core, the reference and SentencePiece agree."""

import dataclasses
import gzip
import json
import os
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import sentencepiece
from drawn_pieces import CONTROL, NORMAL, UNKNOWN, drawn_model, drawn_text, written
from processors import processor_s

import toksmith
from toksmith import _core
from toksmith._formats.protobuf import new_model, parse_model
from toksmith._model.steps import character_options
from toksmith.reference import models as reference

CORPORA = ("arabic", "chinese", "code", "english", "european", "hindi", "japanese", "korean", "russian")
PUBLISHED = ("mistral_v1.model", "sp_unigram_en.model")
SAMPLE = None if os.environ.get("TOKSMITH_EXHAUSTIVE") else 200_000
SIMPLE: dict[str, tuple[float, int]] = {
    "<unk>": (0, UNKNOWN),
    "<s>": (0, CONTROL),
    "▁": (-1, NORMAL),
    "a": (-2, NORMAL),
}


def simple(**trainer: Any) -> Any:
    model = new_model()
    model.trainer_spec.model_type = 2
    for name, value in trainer.items():
        setattr(model.trainer_spec, name, value)
    return model


def loaded(data: bytes, folder: Path) -> toksmith.Tokenizer:
    (folder / "x.model").write_bytes(data)
    return toksmith.load(folder / "x.model", format="sentencepiece")


def peer_of(data: bytes) -> Any:
    peer = sentencepiece.SentencePieceProcessor()
    peer.LoadFromSerializedProto(data)
    return peer


@pytest.fixture(scope="session")
def charsmap(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The table of SentencePiece's usual normalization, compiled by its trainer."""
    folder = tmp_path_factory.mktemp("charsmap")
    (folder / "text").write_text("the cat sat on the mat and ate\n" * 50, encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text"), model_prefix=str(folder / "nmt"), vocab_size=30, model_type="bpe", minloglevel=2
    )
    message = parse_model((folder / "nmt.model").read_bytes(), "nmt.model")
    blob: bytes = message.normalizer_spec.precompiled_charsmap
    assert len(blob) > 100_000
    return blob


@pytest.mark.proof
@pytest.mark.parametrize("model", PUBLISHED)
@pytest.mark.parametrize("corpus", CORPORA)
def test_published_models_give_the_ids_of_sentencepiece(
    model: str, corpus: str, vocab_dir: Path, corpora_dir: Path
) -> None:
    path = vocab_dir / model
    tok, peer = toksmith.load(path), sentencepiece.SentencePieceProcessor(model_file=str(path))
    size = 0
    with gzip.open(corpora_dir / f"{corpus}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            text = json.loads(line)["text"]
            ids = tok.encode(text, special="text")
            assert ids == peer.encode(text)
            assert tok.decode(ids) == peer.decode(ids)
            size += len(text.encode())
            if SAMPLE and size > SAMPLE:
                break
    assert size > (SAMPLE or 200_000)


@pytest.mark.slow
def test_drawn_models_give_the_ids_and_texts_of_sentencepiece(charsmap: bytes, tmp_path: Path) -> None:
    random = Random(7)
    for number in range(120):
        data = drawn_model(random, charsmap, rare=number % 2 > 0)
        tok, peer = loaded(data, tmp_path), peer_of(data)
        decoder = tok.decoder()
        for _ in range(60):
            text = drawn_text(random, 200)
            ids = tok.encode(text, special="text")
            assert ids == peer.encode(text), text
            assert tok.decode(ids) == peer.decode(ids), text
            assert "".join(map(decoder.feed, ids)) + decoder.finish() == tok.decode(ids)


@pytest.mark.slow
@pytest.mark.parametrize("model", PUBLISHED)
def test_published_models_give_the_ids_of_sentencepiece_for_drawn_texts(model: str, vocab_dir: Path) -> None:
    path = vocab_dir / model
    tok, peer = toksmith.load(path), sentencepiece.SentencePieceProcessor(model_file=str(path))
    random = Random(3)
    for _ in range(20_000):
        text = drawn_text(random)
        ids = tok.encode(text, special="text")
        assert ids == peer.encode(text), text
        assert tok.decode(ids) == peer.decode(ids), text


@pytest.mark.proof
def test_the_slow_path_gives_the_same_ids(
    charsmap: bytes, tmp_path: Path, vocab_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(5)
    models = [drawn_model(random, charsmap, rare=number % 2 > 0) for number in range(60)] + [
        (vocab_dir / "mistral_v1.model").read_bytes()
    ]
    for data in models:
        fast = loaded(data, tmp_path)
        monkeypatch.setenv("TOKSMITH_SLOW", "1")
        slow = loaded(data, tmp_path)
        monkeypatch.delenv("TOKSMITH_SLOW")
        for _ in range(40):
            text = drawn_text(random, 300)
            assert fast.encode(text, special="text") == slow.encode(text, special="text")


CHARSMAP = {"\t": " ", "ﬁ": "fi", "e\u0301": "é", "½": "1⁄2", "\x07": ""}


PLAIN = reference.Normalizer()


def of_reference(tok: toksmith.Tokenizer) -> reference.Characters:
    """The model of a tokenizer as the reference has it."""
    model = tok.model
    assert model.scores is not None and model.unknown_id is not None
    tokens = [token.decode() for token in model.tokens]
    byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)] if model.byte_fallback else []
    ids = dict(zip(tokens, model.ids.tolist(), strict=True))
    own = [token for token in tokens if token not in byte_tokens]
    scores = dict(zip(tokens, model.scores.tolist(), strict=True))
    normalizer = dict(model.normalizers[0].options) | {"charsmap": {}}
    return reference.Characters(
        {token: ids[token] for token in own},
        {token: scores[token] for token in own},
        model.unknown_id,
        [ids[token] for token in byte_tokens],
        {token.content: token.id for token in model.added_tokens if token.normalized},
        reference.Normalizer(**normalizer),
        [token.id for token in model.added_tokens if token.special and token.id != model.unknown_id],
        model.decoders[0]["unknown"],
        model.decoders[0]["strip"],
        model.kind == "unigram",
        model.kind == "words",
        [model.vocab.token(id).decode() for id in model.unused_ids],  # type: ignore[union-attr]
        next((reference.Normalizer(**(dict(step.options) | {"charsmap": {}})) for step in model.decoders[1:]), PLAIN),
    )


@pytest.mark.slow
def test_the_core_equals_the_reference(tmp_path: Path) -> None:
    random = Random(11)
    for number in range(120):
        tok = loaded(drawn_model(random, rare=number % 2 > 0), tmp_path)
        model = of_reference(tok)
        for _ in range(40):
            text = drawn_text(random, 60)
            ids = tok.encode(text, special="text")
            assert ids == reference.encode_characters(text, model), text
            assert tok.decode_bytes(ids) == reference.decode_characters(ids, model)
            some = [random.choice([*model.ids.values(), *model.silent, model.unknown]) for _ in range(6)]
            assert tok.decode_bytes(some) == reference.decode_characters(some, model)


def test_the_table_of_characters_equals_the_reference(charsmap: bytes, tmp_path: Path) -> None:
    data = simple(byte_fallback=True)
    data.normalizer_spec.precompiled_charsmap = charsmap
    tok = loaded(written(data, SIMPLE | {f"<0x{byte:02X}>": (0, 6) for byte in range(256)}), tmp_path)
    plain = reference.Normalizer(CHARSMAP, "before", remove_extra=True, escape=True)
    for text in ("ﬁ\t\tx", "e\u0301½", "\x07 a \x07", " \t", "½▁"):
        assert tok.decode(tok.encode(text)) == reference.normalize(text, plain).replace("▁", " ")[1:]


def test_a_model_holds_the_pieces_of_the_file(tmp_path: Path) -> None:
    pieces = SIMPLE | {"<sep>": (0, 4), "▁a": (-0.5, NORMAL)}
    tok = loaded(written(simple(), pieces), tmp_path)
    model = tok.model
    assert (model.kind, model.unit, model.merge_rule, model.whole_piece) == ("bpe", "char", "bytes", False)
    assert list(model.tokens) == ["▁".encode(), b"a", "▁a".encode()] and model.ids.tolist() == [2, 3, 5]
    assert model.scores is not None and np.array_equal(model.scores, np.array([-1, -2, -0.5], np.float32))
    assert model.unknown_id == 0 and tok.special_tokens == {"<unk>": 0, "<s>": 1}
    assert tok.encode("a<sep>a", special="raise") == [5, 4, 3]
    assert tok.encode("<s>a", special="allow") == [1, 5]
    assert tok.decode([1, 5, 5, 0]) == "a a ⁇ "
    assert tok.token_bytes(5) == "▁a".encode() and tok.token_id("▁a") == 5
    tok.save(tmp_path / "x.toksmith")
    assert toksmith.load(tmp_path / "x.toksmith").encode("a<sep>a") == [5, 4, 3]


@pytest.mark.slow
def test_rare_models_are_saved_and_give_the_same_ids(charsmap: bytes, tmp_path: Path) -> None:
    random, kinds = Random(13), set[str]()
    for _ in range(60):
        tok = loaded(drawn_model(random, charsmap, rare=True), tmp_path)
        kinds.add(tok.model.kind)
        for format in ("sentencepiece", "native"):
            tok.save(tmp_path / "again", format=format)
            again = toksmith.load(tmp_path / "again")
            assert again.model == tok.model
        for _ in range(20):
            text = drawn_text(random, 60)
            ids = tok.encode(text, special="text")
            assert tok.count(text) == len(ids) and not {*ids} & {*tok.model.unused_ids}
            offsets = tok.encode_with_offsets(text, unit="byte", special="text")
            assert offsets.ids.tolist() == ids and offsets.starts.tolist()[1:] == offsets.ends.tolist()[:-1]
            assert again.encode(text, special="text") == ids and again.decode(ids) == tok.decode(ids)
        if tok.model.unused_ids or tok.model.kind == "words":
            for name in ("x.gguf", "tokenizer.json"):
                with pytest.raises(toksmith.errors.CannotRepresent) as caught:
                    tok.save(tmp_path / name)
                assert caught.value.field in ("unused_ids", "kind")
    assert kinds == {"bpe", "unigram", "words"}


def test_unused_ids_are_ids_of_tokens(tmp_path: Path) -> None:
    model = loaded(written(simple(), SIMPLE), tmp_path).model
    for wrong in ((99,), (3, 2), (2, 2), (-1,)):
        with pytest.raises(toksmith.errors.ModelError, match="unused_ids"):
            dataclasses.replace(model, unused_ids=wrong)
    bytes_alone = toksmith.train("low", merges=1, pattern=None).model
    with pytest.raises(toksmith.errors.ModelError, match="unused_ids outside"):
        toksmith.Tokenizer(dataclasses.replace(bytes_alone, unused_ids=(256,)))


@pytest.mark.parametrize(
    ("trainer", "pieces", "place", "problem"),
    [
        ({"model_type": 77}, {}, "trainer_spec.model_type", "unknown type 77"),
        ({"unk_surface": b"\xff"}, {}, "trainer_spec.unk_surface", "not UTF-8"),
        ({}, {"": (0, 1)}, "piece 4", "is empty"),
        ({}, {"x": (0, 9)}, "piece 4", "has the unknown type 9"),
        ({"model_type": 1}, {"x": (float("nan"), 1)}, "piece 4", "needs finite scores"),
        ({"model_type": 1}, {"x": (float("-inf"), 3)}, "piece 4", "needs finite scores"),
        ({}, {"<0x41>": (0, 6)}, "piece 4", "requires byte_fallback"),
        ({"byte_fallback": True}, {"<0x4>": (0, 6)}, "piece 4", "not one of <0x00>"),
        ({"byte_fallback": True}, {"<0x41>": (0, 1)}, "piece 4", "another type"),
        ({"byte_fallback": True}, {"<0x41>": (0, 6)}, "pieces", "expected 256 bytes"),
        ({}, {"<unk2>": (0, 2)}, "pieces", "expected one unknown piece, not 2"),
    ],
)
def test_a_wrong_value_is_named_with_its_place(
    trainer: dict[str, Any], pieces: dict[str, tuple[float, int]], place: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(toksmith.errors.FormatError, match=problem) as caught:
        loaded(written(simple(**trainer), SIMPLE | pieces), tmp_path)
    assert caught.value.place == place


def test_broken_tables_and_texts_are_refused(tmp_path: Path) -> None:
    for blob in (b"\x01", b"\xff\xff\xff\xff1234", b"\x05\0\0\0123456", b"\0\0\0\0abc"):
        model = simple()
        model.normalizer_spec.precompiled_charsmap = blob
        with pytest.raises(toksmith.errors.FormatError, match="is broken: it claims a trie"):
            loaded(written(model, SIMPLE), tmp_path)
    model = simple()
    model.denormalizer_spec.precompiled_charsmap = b"x"
    with pytest.raises(toksmith.errors.FormatError, match=r"denormalizer_spec.precompiled_charsmap"):
        loaded(written(model, SIMPLE), tmp_path)
    model = simple()
    model.pieces.add(piece=b"\xff", type=1)
    with pytest.raises(toksmith.errors.FormatError, match=r"piece 0.*UTF-8"):
        loaded(model.SerializeToString(), tmp_path)
    model = simple()
    model.pieces.add(piece=b"x"), model.pieces.add(piece=b"x")
    with pytest.raises(toksmith.errors.FormatError, match=r"piece 1.*occurs twice"):
        loaded(model.SerializeToString(), tmp_path)


def test_a_trie_of_rubbish_ends_every_search(tmp_path: Path) -> None:
    random = Random(2)
    for _ in range(50):
        model = simple()
        trie = random.randbytes(4 * random.randrange(1, 600))
        model.normalizer_spec.precompiled_charsmap = len(trie).to_bytes(4, "little") + trie + random.randbytes(40)
        tok = loaded(written(model, SIMPLE), tmp_path)
        for _ in range(20):
            tok.encode(drawn_text(random), special="text")


@pytest.mark.slow
def test_cut_and_changed_files_load_or_are_refused(tmp_path: Path) -> None:
    whole = written(simple(), SIMPLE | {f"w{number}": (-number, NORMAL) for number in range(40)})
    random = Random(4)
    refused = 0
    for round in range(600):
        data = bytearray(whole[: random.randrange(len(whole))] if round % 2 else whole)
        for _ in range(random.randrange(0 if round % 2 else 1, 4)):
            if data:
                data[random.randrange(len(data))] = random.randrange(256)
        try:
            loaded(bytes(data), tmp_path)
        except toksmith.errors.FormatError:
            refused += 1
    assert refused > 100


def test_a_long_run_takes_no_quadratic_time(vocab_dir: Path) -> None:
    tok = toksmith.load(vocab_dir / "mistral_v1.model")
    for char in ("a", " ", "▁", "日", "\n", "é", "1"):
        assert tok.decode(tok.encode(char * 200_000)) == (char * 200_000).replace("▁", " ")


def test_the_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    data = written(simple(), SIMPLE)
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(ImportError, match=r"comes with toksmith and is missing: pip install protobuf"):
        loaded(data, tmp_path)


def test_steps_that_are_not_executed_are_refused(tmp_path: Path) -> None:
    model = loaded(written(simple(), SIMPLE), tmp_path).model
    step = model.normalizers[0]
    for field, wrong in (
        ("normalizers", (toksmith.types.Step("nfc"),)),
        ("normalizers", (step, step)),
        (
            "normalizers",
            (toksmith.types.Step("sentencepiece", (*step.options[:1], ("dummy", "x"), *step.options[2:])),),
        ),
        ("decoders", (toksmith.types.Step("fuse"),)),
        ("splitters", (toksmith.types.Step("metaspace"),)),
        ("whole_piece", True),
    ):
        with pytest.raises(toksmith.errors.ModelError, match="not executed"):
            toksmith.Tokenizer(dataclasses.replace(model, **{field: wrong}))
    bad = toksmith.types.Step("sentencepiece", (("charsmap", "?"), *step.options[1:]))
    with pytest.raises(toksmith.errors.ModelError, match="base 64"):
        toksmith.Tokenizer(dataclasses.replace(model, normalizers=(bad,)))
    with pytest.raises(toksmith.errors.ModelError, match="one score"):
        toksmith.Tokenizer(dataclasses.replace(model, scores=np.zeros(1, np.float32)))


def test_an_engine_takes_time_in_proportion_to_its_user_defined_pieces(tmp_path: Path) -> None:
    model = loaded(written(simple(), SIMPLE), tmp_path).model
    options = character_options(model)
    assert options is not None

    def engine(pieces: int) -> None:
        frozen = [(f"<u{number}>", 4 + number) for number in range(pieces)]
        added = [(content, id, False) for content, id in frozen]
        _core.Engine(model.vocab, [], added, options | {"frozen": frozen}, None)

    once = processor_s(lambda: engine(2_000), 5)
    assert processor_s(lambda: engine(64_000), 2) < 120 * once + 0.05  # in proportion 32, in squares 1,024
