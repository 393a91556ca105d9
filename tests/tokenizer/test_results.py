"""Results of fast paths equal the slow twins: lists of shared integers, and texts without intermediate copies."""

import dataclasses
import gc
import pickle
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_texts import HARD_TEXTS
from hypothesis import given
from hypothesis import strategies as st
from shown_results import check_fragment
from systems import needs

import toksmith
from toksmith import Tokenizer, reference
from toksmith.errors import UnknownId
from toksmith.types import AddedToken

REAL_TEXT = Path(reference.__file__).read_text(encoding="utf-8")
TEXTS = [*REAL_TEXT.splitlines(), *HARD_TEXTS.values(), REAL_TEXT, "", "日本語 и ещё 🙂" * 50]
BEYOND = 1 << 20  # from this id on, each list has separate objects


@pytest.fixture(scope="module")
def tok() -> Tokenizer:
    return toksmith.train(REAL_TEXT, 800, special_tokens=["<|stop|>"], progress=False)


@pytest.fixture(scope="module")
def slow(tok: Tokenizer) -> Tokenizer:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKSMITH_SLOW", "1")
        return Tokenizer(tok.model)


def tokenizer_of_large_ids() -> Tokenizer:
    """A tokenizer with ids on both sides of the end of the table of shared integers."""
    added = (AddedToken("<in>", BEYOND - 1), AddedToken("<out>", BEYOND), AddedToken("<far>", BEYOND + 5))
    model = toksmith.train("ab", merges=0, progress=False).model
    return Tokenizer(dataclasses.replace(model, added_tokens=added, training=None))


def test_the_slow_twin_gives_the_same_lists_and_texts(tok: Tokenizer, slow: Tokenizer) -> None:
    expected = [slow.encode(text, special="text") for text in TEXTS]
    assert [tok.encode(text, special="text") for text in TEXTS] == expected
    for threads in (1, 2, 5):
        assert tok.encode_batch(TEXTS, special="text", threads=threads) == expected
        assert slow.encode_batch(TEXTS, special="text", threads=threads) == expected
        ragged = tok.encode_ragged(TEXTS * 3, special="text", threads=threads)
        assert [ids.tolist() for ids in ragged] == expected * 3
        assert tok.count_batch(TEXTS, threads=threads).tolist() == [len(ids) for ids in expected]
        for one in (tok, slow):
            assert one.decode_batch(expected * 2, threads=threads) == [tok.decode(ids) for ids in expected] * 2
    assert [tok.decode(ids) for ids in expected] == [slow.decode(ids) for ids in expected]
    assert [tok.decode_bytes(ids) for ids in expected] == [slow.decode_bytes(ids) for ids in expected]


@given(st.lists(st.integers(0, 799)), st.sampled_from(["replace", "ignore", "backslashreplace", "surrogateescape"]))
def test_ids_in_any_form_decode_to_their_tokens(tok: Tokenizer, slow: Tokenizer, ids: list[int], errors: str) -> None:
    data = b"".join(tok.token_bytes(id) for id in ids)
    forms: list[Any] = [
        ids,
        tuple(ids),
        iter(ids),
        *(np.array(ids, kind) for kind in ("u2", "i4", "u4", "i8", "u8", ">i4")),
    ]
    for form in forms:
        assert tok.decode_bytes(form) == data
    for one in (tok, slow):
        assert one.decode(ids, errors=errors) == data.decode("utf-8", errors)
        assert one.decode_batch([ids, np.array(ids, np.uint32)], errors=errors) == [data.decode("utf-8", errors)] * 2


@pytest.mark.parametrize("wrong", [-1, 800, 2**31, 2**32, 2**32 + 97, 2**63, 2**64, 2**70, -(2**70)])
def test_unknown_ids_are_named_in_every_form(tok: Tokenizer, slow: Tokenizer, wrong: int) -> None:
    kinds = [kind for kind in (np.int32, np.int64, np.uint64) if np.iinfo(kind).min <= wrong <= np.iinfo(kind).max]
    for one in (tok, slow):
        for form in ([97, wrong], (97, wrong), *(np.array([97, wrong], kind) for kind in kinds)):
            for call in (one.decode, one.decode_bytes):
                with pytest.raises(UnknownId) as caught:
                    call(form)
                assert (caught.value.id, caught.value.position, caught.value.vocab_size) == (wrong, 1, 800)
            with pytest.raises(UnknownId):
                one.decoder().feed(form)
            with pytest.raises(UnknownId):
                one.token_bytes(wrong)
            with pytest.raises(UnknownId) as caught:
                one.decode_batch([[97], form])
            assert (caught.value.id, caught.value.position, caught.value.index) == (wrong, 1, 1)


def test_integers_of_every_kind_are_ids(tok: Tokenizer, slow: Tokenizer) -> None:
    class Index:
        def __index__(self) -> int:
            return 98

    class Growing:
        """Clears its list during a read of the list."""

        def __init__(self, ids: list[Any]) -> None:
            self.ids = ids

        def __index__(self) -> int:
            self.ids.clear()
            return 99

    for one in (tok, slow):
        assert one.decode([97, Index(), np.int8(99), True]) == "abc\x01"  # type: ignore[list-item]
        ids: list[Any] = [97]
        ids += [Growing(ids), 98]
        assert one.decode(ids) == "ac"


@pytest.mark.slow
def test_lists_share_their_integers_and_own_their_references(tok: Tokenizer) -> None:
    first, second = tok.encode(REAL_TEXT), tok.encode_batch([REAL_TEXT])[0]
    large = next(place for place, id in enumerate(first) if id > 256)
    assert first[large] is second[large]
    assert first is not second
    gc.collect()  # garbage of earlier tests holds the same integers
    before = [sys.getrefcount(id) for id in first]
    kept = [tok.encode(REAL_TEXT) for _ in range(10)]
    uses = first.count(first[large])  # in each list
    assert sys.getrefcount(first[large]) - before[large] == 10 * uses
    del kept
    for _ in range(20):
        tok.encode(REAL_TEXT)
        tok.encode_batch([REAL_TEXT] * 3)
        tok.decode(first)
        tok.decode_batch([first])
    gc.collect()
    after = [sys.getrefcount(id) for id in first]
    # The interpreter shares small integers, and can use some of them in between.
    changed = [id for id, *counts in zip(first, before, after, strict=True) if id > 256 and counts[0] != counts[1]]
    assert changed == []
    first[large] = -1
    assert tok.encode(REAL_TEXT) == second


def test_ids_beyond_the_shared_integers_are_correct() -> None:
    far = tokenizer_of_large_ids()
    text = "a<in><out><far>b"
    ids = [97, BEYOND - 1, BEYOND, BEYOND + 5, 98]
    one, two = (far.encode(text, special="allow") for _ in range(2))
    assert one == two == ids
    assert one[1] is two[1] and one[2] is not two[2]
    assert sys.getrefcount(one[2]) == sys.getrefcount(object()) + 1
    assert far.decode(ids) == text


@pytest.mark.slow
@needs("proc")
def test_memory_does_not_grow(tok: Tokenizer) -> None:
    random_ids = random.Random(5).choices(range(800), k=20_000)
    big = tokenizer_of_large_ids()

    def work() -> None:
        for _ in range(60):
            ids = tok.encode(REAL_TEXT)
            tok.encode_batch([REAL_TEXT] * 5, threads=2)
            tok.encode_ragged([REAL_TEXT] * 5, threads=2)
            tok.decode(random_ids)
            tok.decode_batch([ids, random_ids], threads=2)
            big.encode("<out><far>" * 2000, special="allow")
            with pytest.raises(UnknownId):
                tok.decode([*ids, 2**70])

    work()
    before = resident_kib()
    work()
    work()
    assert resident_kib() - before < 30_000  # the lists alone would take 100,000


def resident_kib() -> int:
    """The resident memory now; the peak can belong to earlier tests."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def test_an_unknown_error_handler_is_refused_when_it_is_needed(tok: Tokenizer, slow: Tokenizer) -> None:
    for one in (tok, slow):
        with pytest.raises(LookupError, match="nonsense"):
            one.decode([195], errors="nonsense")
        with pytest.raises(ValueError, match="nul"):
            one.decode([195], errors="a\0b")


def test_the_repr_has_the_size_and_the_first_items(tok: Tokenizer) -> None:
    ids = tok.encode("class")
    assert repr(tok.encode_ragged(["class", ""])) == f"<Ragged 2 texts, {len(ids)} ids: [{ids}, []]>"
    assert repr(tok("#~")).startswith("<Encoding 2 ids: [35, 126], characters [(0, 1), (1, 2)]>")
    assert repr(tok(["#", "~"])) == "<RaggedEncoding 2 texts, 2 ids: [[35], [126]]>"
    assert repr(tok.model.tokens).startswith(r"<TokenTable 799 tokens: [b'\x00', b'\x01', ") and "…" in repr(tok.model)
    assert "800 tokens" in repr(tok) and tok.fingerprint[:12] in repr(tok)
    assert max(len(repr(each)) for each in (tok, tok.model, tok.model.training, tok.heal("cl"))) < 300


def test_notebooks_show_results(tok: Tokenizer) -> None:
    table = tok.model.tokens
    for result in (tok, table, tok.encode_ragged(["class"] * 99), tok("#~\n"), tok(["class"] * 99)):
        shown = result._repr_html_()
        check_fragment(shown)
        assert len(shown) < 200_000
    assert "&lt;|stop|&gt;" in tok._repr_html_() and "o200k" in tok._repr_html_()
    assert "showing 50 of 99 texts" in tok(["class"] * 99)._repr_html_()
    assert 'title="id 35: characters 0 to 1"' in tok("#~")._repr_html_()


def test_a_call_has_the_names_of_transformers(tok: Tokenizer) -> None:
    one, many = tok("#~"), tok(["#~", "~"])
    assert dict(one) == {"input_ids": [35, 126], "attention_mask": [1, 1], "offset_mapping": [(0, 1), (1, 2)]}
    assert many["input_ids"] == [[35, 126], [126]] and [*many[0]] == [35, 126]
    for found in (one, many):
        assert type(pickle.loads(pickle.dumps(found))) is type(found)
