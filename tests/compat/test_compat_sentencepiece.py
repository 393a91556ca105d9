"""`compat.sentencepiece` against sentencepiece: equal ids, pieces, protos, offsets, n-best and decoded texts."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_texts import HARD_TEXTS
from peers import scalar

import toksmith
from toksmith.compat import sentencepiece as ours

peer: Any = pytest.importorskip("sentencepiece", "0.2.3", reason="lacks sentencepiece==0.2.3")
pytest.importorskip("google.protobuf", reason="lacks protobuf")

CORPUS = [
    "Hello world, this is a test of a small model. 清水寺は京都にある。 lower newer",
    "a b c d hello 123 456 ﬁ ①",
] * 20
TEXTS = ["Hello  world 藤藤 ①!", " a", "", "  a  b  ", "清水寺", "ＫＡＤＯＫＡＷＡABC 😊\tx\n y", "hello.<s> lower</s>"]
ALL = [*TEXTS, *(scalar(text)[:200] for text in HARD_TEXTS.values())]
KINDS: dict[str, dict[str, Any]] = {
    "unigram": {"model_type": "unigram", "vocab_size": 110, "hard_vocab_limit": False},
    "bpe with bytes": {"model_type": "bpe", "vocab_size": 400, "byte_fallback": True},
    "bpe without normalization": {
        "model_type": "bpe",
        "vocab_size": 130,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "user_defined_symbols": ["lower"],
    },
}


@pytest.fixture(scope="module", params=KINDS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Path]:
    """The library's processor and the drop-in's, from one file that the library trained."""
    path = tmp_path_factory.mktemp("spm") / "m"
    options = {**KINDS[request.param], "character_coverage": 0.98, "num_threads": 1, "minloglevel": 2}
    peer.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_prefix=str(path), **options)
    file = path.with_suffix(".model")
    return peer.SentencePieceProcessor(model_file=str(file)), ours.SentencePieceProcessor(model_file=file), file


def test_encodings_are_equal_in_every_type(both: Any) -> None:
    theirs, own, _ = both
    for text in ALL:
        for kind in (int, str, bytes, "offset_mapping", "serialized_proto"):
            assert own.encode(text, return_type=kind) == theirs.encode(text, return_type=kind), (text, kind)
        assert own.encode(text.encode(), out_type="offset_mapping") == theirs.encode(
            text.encode(), return_type="offset_mapping"
        )
        assert own.normalize(text) == theirs.normalize(text), text
        assert own.normalize(text, with_offsets=True) == theirs.normalize(text, with_offsets=True), text
    around = {"add_bos": True, "add_eos": True, "reverse": True}
    assert own.encode(TEXTS, **around) == theirs.encode(TEXTS, **around)
    assert own.EncodeAsPieces(TEXTS[0], emit_unk_piece=True) == theirs.EncodeAsPieces(TEXTS[0], emit_unk_piece=True)
    found = own.encode(TEXTS[0], return_type="numpy")
    assert found.dtype == np.int32 and found.tolist() == own.encode_as_ids(TEXTS[0])


def test_decoded_texts_are_equal_in_every_type(both: Any) -> None:
    theirs, own, _ = both
    for text in ALL:
        ids, pieces = theirs.encode(text), theirs.encode(text, return_type=str)
        for given in (ids, pieces, ids[1:], [1, *ids, 2, 0], ["foo", "▁bar", *pieces]):
            for kind in (str, bytes, "offset_mapping", "serialized_proto"):
                assert own.decode(given, return_type=kind) == theirs.decode(given, return_type=kind), (given, kind)
    assert own.decode([[], theirs.encode("lower")]) == ["", theirs.decode(theirs.encode("lower"))]
    assert own.decode(np.array(theirs.encode("lower"))) == own.DecodeIds(theirs.encode("lower"))


def test_properties_of_pieces_are_equal(both: Any) -> None:
    theirs, own, _ = both
    assert len(own) == own.vocab_size() == own.get_piece_size() == len(theirs)
    for name in ("IdToPiece", "GetScore", "IsControl", "IsUnknown", "IsByte", "id_to_piece"):
        assert getattr(own, name)(list(range(len(own)))) == getattr(theirs, name)(list(range(len(theirs)))), name
    for name in ("unk_id", "bos_id", "eos_id", "pad_id"):
        assert getattr(own, name)() == getattr(theirs, name)()
    assert own["no such piece"] == own.unk_id() and own.PieceToId(["<s>"]) == [own.bos_id()]


def test_sampling_and_the_n_best_segmentations_are_equal(both: Any) -> None:
    theirs, own, file = both
    ours.set_random_generator_seed(1)
    drawn = {tuple(own.encode("hello world test", enable_sampling=True, alpha=0.3)) for _ in range(40)}
    assert len(drawn) > 1 and {own.decode(list(ids)) for ids in drawn} == {own.decode(own.encode("hello world test"))}
    ours.SetRandomGeneratorSeed(1)
    assert {tuple(own.SampleEncodeAsIds("hello world test", -1, 0.3)) for _ in range(40)} == drawn
    if toksmith.load(file).model.kind != "unigram":
        with pytest.raises(RuntimeError, match="unigram"):
            own.nbest_encode("hello", nbest_size=3)
        return
    for text in ("hello world", "lower 藤 test"):
        found = own.nbest_encode(text, nbest_size=5, return_type=str)
        assert found == theirs.nbest_encode(text, nbest_size=5, return_type=str) and len(found) == 5
        scores = [[each.score for each in sp.nbest_encode_as_proto(text, 5).nbests] for sp in (own, theirs)]
        assert scores[0] == scores[1]
    few = {tuple(own.encode("hello", enable_sampling=True, nbest_size=2, alpha=0.1)) for _ in range(40)}
    assert few == {tuple(ids) for ids in own.nbest_encode("hello", nbest_size=2)}


def test_copies_keep_options_and_model(both: Any) -> None:
    file = both[2]
    other = ours.SentencePieceProcessor.from_proto(file.read_bytes(), add_bos=True, out_type=str)
    assert other.encode("lower")[0] == "<s>" and other.serialized_model_proto() == file.read_bytes()
    for copied in (pickle.loads(pickle.dumps(other)), copy.deepcopy(other)):
        assert copied.encode("lower test") == other.encode("lower test")


def test_a_model_trained_by_toksmith_runs(tmp_path: Path) -> None:
    tok = toksmith.train(CORPUS, 150, kind="unigram", progress=False)
    tok.save(tmp_path / "own.model", format="sentencepiece")
    own = ours.SentencePieceProcessor(model_file=tmp_path / "own.model")
    assert own.encode("hello lower") == tok.encode("hello lower")


WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "training": (lambda: ours.SentencePieceTrainer.train(input="x"), NotImplementedError, "call toksmith.train"),
    "a normalizer": (ours.SentencePieceNormalizer, NotImplementedError, "SentencePieceProcessor.normalize"),
    "a function": (lambda: ours.ConvertToFlatbuffer, NotImplementedError, "does not have ConvertToFlatbuffer"),
    "a limit of time": (lambda: ours.set_nbest_timeout, NotImplementedError, "no other limit"),
    "no model": (lambda: ours.SentencePieceProcessor().encode("a"), RuntimeError, "call load with model_file"),
    "an argument": (lambda: ours.SentencePieceProcessor(revers=True), TypeError, "revers is not one of its arguments"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_missing_part_names_the_alternative(wrong: str) -> None:
    call, kind, said = WRONG[wrong]
    with pytest.raises(kind, match=said):
        call()


def test_wrong_values_raise_the_classes_of_the_library(both: Any) -> None:
    _, own, _ = both
    for call, kind in (
        (lambda: own.decode([10_000]), IndexError),
        (lambda: own.IdToPiece([0, -1]), IndexError),
        (lambda: own.IdToPiece("a"), TypeError),
        (lambda: own.PieceToId([1]), TypeError),
        (lambda: own.encode(7), TypeError),
        (lambda: own.encode("a", return_type="tuple"), ValueError),
        (lambda: own.encode("a", return_type=int, out_type=int), ValueError),
        (lambda: own.encode("a", return_type="offset_mapping", add_bos=True), RuntimeError),
        (lambda: own.encode("a", bos=True), TypeError),
        (lambda: own.LoadVocabulary("a"), NotImplementedError),
    ):
        with pytest.raises(kind):
            call()
    assert not hasattr(own, "LoadVocabulary")


@pytest.mark.slow
def test_it_takes_the_name_of_the_library() -> None:
    code = """
from toksmith import compat
compat.install("sentencepiece")
import sentencepiece as spm
from sentencepiece import sentencepiece_pb2, sentencepiece_model_pb2
print(spm.SentencePieceProcessor.__module__, sentencepiece_pb2.SentencePieceText.DESCRIPTOR.name)
print(sentencepiece_model_pb2.ModelProto.DESCRIPTOR.name)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["toksmith.compat.sentencepiece._processor", "SentencePieceText", "Model"]
