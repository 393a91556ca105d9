"""rustbpe's interface against rustbpe itself: the same calls on both, and the README's use with tiktoken."""

import inspect
from typing import Any

import pytest
from hard_texts import HARD_TEXTS

from toksmith.compat import rustbpe, tiktoken

peer: Any = pytest.importorskip("rustbpe", reason="lacks rustbpe==0.1.0")

TEXTS = [
    "The quick brown fox jumps over the lazy dog. 12345",
    "naïve café 你好 🙂  two   spaces\r\n\r\nhello hello",
    "def f(x):\n    x",
]
WELL_FORMED = [text for text in HARD_TEXTS.values() if text.encode("utf-8", "replace").decode() == text]


def both(size: int, **options: Any) -> tuple[Any, Any]:
    made = (rustbpe.Tokenizer(), peer.Tokenizer())
    for tok in made:
        tok.train_from_iterator(iter(TEXTS * 5), size, **options)
    return made


@pytest.mark.parametrize("options", [{}, {"pattern": r"\p{L}+|\P{L}+"}, {"buffer_size": 2}], ids=str)
@pytest.mark.parametrize("size", [256, 300, 5_000])
def test_training_and_encoding_are_those_of_rustbpe(size: int, options: dict[str, Any]) -> None:
    ours, theirs = both(size, **options)
    assert ours.vocab_size == theirs.vocab_size and ours.get_pattern() == theirs.get_pattern()
    assert ours.get_mergeable_ranks() == [(list(token), id) for token, id in theirs.get_mergeable_ranks()]
    texts = [*TEXTS, *WELL_FORMED]
    due = theirs.batch_encode(texts)
    assert ours.batch_encode(texts) == due == [ours.encode(text) for text in texts]
    assert [ours.decode(ids) for ids in due] == [theirs.decode(ids) for ids in due] == texts


def test_names_and_arguments_are_those_of_rustbpe() -> None:
    assert set(dir(peer.Tokenizer)) - set(dir(object)) <= set(dir(rustbpe.Tokenizer))
    for name in ("train_from_iterator", "encode", "decode", "batch_encode"):
        ours, theirs = (inspect.signature(getattr(kind, name)) for kind in (rustbpe.Tokenizer, peer.Tokenizer))
        assert [(each.name, each.default) for each in ours.parameters.values()] == [
            (each.name, each.default) for each in theirs.parameters.values()
        ]


def test_an_untrained_tokenizer_holds_the_bytes() -> None:
    ours, theirs = rustbpe.Tokenizer(), peer.Tokenizer()
    assert (ours.vocab_size, ours.get_pattern()) == (theirs.vocab_size, theirs.get_pattern()) == (256, "")
    assert ours.decode([104, 105]) == theirs.decode([104, 105]) == "hi"


@pytest.mark.parametrize(
    "call", [lambda tok: tok.decode([300]), lambda tok: tok.train_from_iterator(["a"], 256, 9, "(")]
)
def test_both_refuse_a_wrong_value(call: Any) -> None:
    for tok in (rustbpe.Tokenizer(), peer.Tokenizer()):
        with pytest.raises(ValueError):
            call(tok)


def test_bytes_that_are_not_utf8_are_refused() -> None:
    with pytest.raises(UnicodeDecodeError):  # rustbpe tries to raise it too, but fails with a TypeError
        rustbpe.Tokenizer().decode([0xFF])


def test_a_vocabulary_that_is_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 256"):
        rustbpe.Tokenizer().train_from_iterator(["a"], vocab_size=255)


def test_tiktoken_runs_the_trained_ranks() -> None:
    ours, _ = both(300)
    ranks = {bytes(token): id for token, id in ours.get_mergeable_ranks()}
    encoding = tiktoken.Encoding("own", pat_str=ours.get_pattern(), mergeable_ranks=ranks, special_tokens={})
    assert [encoding.encode_ordinary(text) for text in TEXTS] == ours.batch_encode(TEXTS)
