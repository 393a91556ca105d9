"""Exactness against the real peer: the ids of tiktoken 0.14.0, with the vocabularies that it publishes.

Hard and drawn texts, every pattern row, special tokens in all modes, every token and the bytes of every id; test_paths.py
has whole corpora. tiktoken reads its files from a cache folder in its layout, filled from the shared vocabularies; the
rules where the two libraries differ on purpose (docs/spec.md) are left out.
"""

import hashlib
import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hard_texts import HARD_TEXTS, texts
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from peers import LLAMA3, batches, documents

import toksmith

tiktoken: Any = pytest.importorskip("tiktoken", "0.14.0", reason="lacks tiktoken==0.14.0 (tests/requirements.txt)")
ranks_of: Any = pytest.importorskip("tiktoken.load").load_tiktoken_bpe

BLOBS = "https://openaipublic.blob.core.windows.net/"
URLS = {
    "vocab.bpe": f"{BLOBS}gpt-2/encodings/main/vocab.bpe",
    "encoder.json": f"{BLOBS}gpt-2/encodings/main/encoder.json",
    **{
        f"{name}.tiktoken": f"{BLOBS}encodings/{name}.tiktoken"
        for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")
    },
}
PATTERNS = {"r50k_base": "gpt2", "p50k_base": "gpt2", "cl100k_base": "cl100k", "o200k_base": "o200k"}
BATCH_CHARS = 1 << 20


class Pair(NamedTuple):
    """One encoding in the peer and in toksmith."""

    name: str
    peer: Any
    own: toksmith.Tokenizer


@pytest.fixture(scope="module")
def cache_dir(vocab_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which both libraries find the published files, named by the sha1 of their URLs."""
    folder = tmp_path_factory.mktemp("tiktoken-cache")
    for name, url in URLS.items():
        data = (vocab_dir / name).read_bytes()
        if name == "encoder.json":
            # The published file is one line; copies can differ, and the peer checks the hash.
            data = json.dumps(json.loads(data)).encode()
        (folder / hashlib.sha1(url.encode()).hexdigest()).write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(scope="module")
def pairs(cache_dir: Path, vocab_dir: Path) -> dict[str, Pair]:
    """r50k, p50k, cl100k, o200k and Llama 3, ours loaded from the files with the pattern named."""
    found = {}
    for name, pattern in PATTERNS.items():
        peer = tiktoken.get_encoding(name)
        specials = {token: peer.encode_single_token(token) for token in sorted(peer.special_tokens_set)}
        own = toksmith.load(vocab_dir / f"{name}.tiktoken", pattern=pattern, special_tokens=specials)
        found[name] = Pair(name, peer, own)
    file = vocab_dir / "llama3.tiktoken"
    ranks = ranks_of(str(file))
    peer = tiktoken.Encoding(name="llama3", pat_str=LLAMA3, mergeable_ranks=ranks, special_tokens={})
    found["llama3"] = Pair("llama3", peer, toksmith.load(file, pattern="llama3", special_tokens={}))
    return found


@pytest.fixture(scope="module")
def pool() -> Iterator[ThreadPoolExecutor]:
    """Two threads for the peer, which releases the GIL."""
    with ThreadPoolExecutor(2) as threads:
        yield threads


def batches_of(path: Path) -> Iterator[list[str]]:
    """The documents of a corpus in batches of about 4 million characters."""
    return batches(documents(path), BATCH_CHARS)


def require_equal_batches(pair: Pair, batch: list[str], pool: ThreadPoolExecutor) -> None:
    """Fails with the first document whose ids differ."""

    def encode(text: str) -> np.ndarray:
        return pair.peer.encode_to_numpy(text, disallowed_special=())

    expected = list(pool.map(encode, batch))
    found = pair.own.encode_ragged(batch, special="text", threads=2)
    ends = np.cumsum([len(ids) for ids in expected], dtype=np.uint64)
    same = np.array_equal(found.ends, ends) and np.array_equal(found.ids, np.concatenate([*expected, found.ids[:0]]))
    if not same:
        for text, ids, own_ids in zip(batch, expected, found, strict=True):
            require_equal(pair, text, ids.tolist(), own_ids.tolist())
        pytest.fail(f"{pair.name}: the ends of the batch differ")


def require_equal(pair: Pair, text: str, expected: list[int], found: list[int]) -> None:
    """Fails with the ids around the first different one."""
    if expected == found:
        return
    same = zip(expected, found, strict=False)
    at = next((at for at, (one, other) in enumerate(same) if one != other), min(len(expected), len(found)))
    start = max(0, at - 5)
    said = [[pair.peer.decode_single_token_bytes(id) for id in ids[start : at + 5]] for ids in (expected, found)]
    pytest.fail(f"{pair.name}: id {at} differs: tiktoken {said[0]}, toksmith {said[1]}; the text: {text[:200]!r}")


@pytest.mark.slow
def test_code_in_p50k_has_the_ids_of_tiktoken(
    pairs: dict[str, Pair], corpora_dir: Path, pool: ThreadPoolExecutor
) -> None:
    # p50k is r50k with tokens for runs of spaces, so it differs on code.
    for _, batch in zip(range(3), batches_of(corpora_dir / "code.jsonl.gz"), strict=False):
        require_equal_batches(pairs["p50k_base"], batch, pool)


@pytest.mark.slow
@pytest.mark.parametrize("reason", HARD_TEXTS)
def test_hard_texts_have_the_ids_of_tiktoken(reason: str, pairs: dict[str, Pair]) -> None:
    text = HARD_TEXTS[reason]
    for pair in pairs.values():
        for around in (text, f"{text}\n", f" {text}", text * 3):
            expected = pair.peer.encode_ordinary(around)
            require_equal(pair, around, expected, pair.own.encode(around, special="text"))
            assert pair.own.decode(expected) == pair.peer.decode(expected)
            assert pair.own.decode_bytes(expected) == pair.peer.decode_bytes(expected)


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["a", " ", "\n", "ab", "é", "1", "!", "中", " a", "\r\n", "'s", "aA"])
def test_long_repetitions_have_the_ids_of_tiktoken(unit: str, pairs: dict[str, Pair]) -> None:
    text = unit * 30_000
    for pair in pairs.values():
        require_equal(pair, unit * 20, pair.peer.encode_ordinary(text), pair.own.encode(text))


@pytest.mark.slow
@pytest.mark.parametrize("row", sorted(toksmith.patterns()))
def test_every_pattern_row_has_the_ids_of_tiktoken(row: str, vocab_dir: Path) -> None:
    """The row's scanner against the peer's engine on the row's own regex, with a vocabulary that shows the pieces."""
    file = vocab_dir / "r50k_base.tiktoken"
    (regex,) = toksmith.patterns()[row].regexes
    ranks = ranks_of(str(file))
    peer = tiktoken.Encoding(name=row, pat_str=regex, mergeable_ranks=ranks, special_tokens={})
    pair = Pair(row, peer, toksmith.load(file, pattern=row, special_tokens={}))

    @settings(suppress_health_check=list(HealthCheck))
    @given(drawn=st.lists(texts(), min_size=5, max_size=5))
    def draw(drawn: list[str]) -> None:
        for text in drawn:
            require_equal(pair, text, pair.peer.encode_ordinary(text), pair.own.encode(text))

    draw()
    for text in HARD_TEXTS.values():
        require_equal(pair, text, pair.peer.encode_ordinary(text), pair.own.encode(text))


def with_specials(tokens: list[str]) -> st.SearchStrategy[str]:
    """Texts with special tokens and pieces of their spellings in them."""
    parts = st.one_of(st.sampled_from([*tokens, "<|", "|>", "<|end", " ", "\n", "a", "  "]), texts(longest=3))
    return st.lists(parts, max_size=8).map("".join)


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck))
@given(draws=st.data())
def test_special_tokens_in_text_have_the_ids_of_tiktoken(draws: st.DataObject, pairs: dict[str, Pair]) -> None:
    for pair in (pairs["cl100k_base"], pairs["o200k_base"]):
        tokens = sorted(pair.peer.special_tokens_set)
        text = draws.draw(with_specials(tokens))
        allowed = draws.draw(st.sets(st.sampled_from(tokens)))
        require_equal(pair, text, pair.peer.encode(text, allowed_special="all"), pair.own.encode(text, special="allow"))
        require_equal(pair, text, pair.peer.encode(text, disallowed_special=()), pair.own.encode(text, special="text"))
        for modes in ({"allowed_special": allowed}, {}):
            special = modes.get("allowed_special", "raise")
            try:
                expected = pair.peer.encode(text, **modes)
            except ValueError:
                with pytest.raises(toksmith.errors.SpecialTokenInText):
                    pair.own.encode(text, special=special)
            else:
                require_equal(pair, text, expected, pair.own.encode(text, special=special))


@pytest.mark.parametrize("name", ["r50k_base", "p50k_base", "cl100k_base", "o200k_base", "llama3"])
def test_every_id_has_the_bytes_of_tiktoken(name: str, pairs: dict[str, Pair]) -> None:
    _, peer, own = pairs[name]
    assert own.vocab_size == peer.n_vocab
    missing = holes(own)
    known = [id for id in range(own.vocab_size) if id not in missing]
    assert len(known) == len(own)
    for id in known:
        token = peer.decode_single_token_bytes(id)
        assert own.token_bytes(id) == token
        assert own.token_id(token) == id
    for id in missing:
        with pytest.raises(KeyError):
            peer.decode_single_token_bytes(id)
        for call in (own.token_bytes, lambda id: own.decode([id])):
            with pytest.raises(toksmith.errors.UnknownId):
                call(id)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["llama3", *(pytest.param(name, marks=pytest.mark.proof) for name in ("r50k_base", "cl100k_base", "o200k_base"))],
)
def test_every_token_inside_others_and_alone_has_the_ids_of_tiktoken(
    name: str, pairs: dict[str, Pair], pool: ThreadPoolExecutor
) -> None:
    """Llama 3 has tokens that merging never reaches: they are one id as a piece and several inside a longer one."""
    pair = pairs[name]
    tokens = [token.decode() for token in pair.own.model.tokens if is_text(token)]
    mixed = random.Random(7).sample(tokens, len(tokens))
    lines = [f"x{token}x {token}\n{token}" for token in tokens]
    lines += [f"{one}{two} {two}{one}" for one, two in zip(tokens, mixed, strict=True)]
    require_equal_batches(pair, ["\n".join(lines[start : start + 40]) for start in range(0, len(lines), 40)], pool)


def is_text(token: bytes) -> bool:
    """Whether it is UTF-8."""
    return token.decode(errors="ignore").encode() == token


def holes(tok: toksmith.Tokenizer) -> set[int]:
    """The ids below `vocab_size` without a token in the tables of the model."""
    return set(range(tok.vocab_size)) - set(tok.model.ids.tolist()) - set(tok.special_tokens.values())


@pytest.mark.parametrize("name", ["gpt2", *PATTERNS, "p50k_edit", "o200k_harmony"])
def test_published_encodings_equal_tiktoken(name: str, cache_dir: Path) -> None:
    peer, own = tiktoken.get_encoding(name), toksmith.load(name)
    pair = Pair(name, peer, own)
    assert own.vocab_size == peer.n_vocab
    assert {token: peer.encode_single_token(token) for token in peer.special_tokens_set} == own.special_tokens
    assert set(own.model.tokens) == set(peer.token_byte_values())
    assert all(own.token_id(token) == peer.encode_single_token(token) for token in own.model.tokens)
    sample = [*HARD_TEXTS.values(), *(token * 2 for token in sorted(peer.special_tokens_set)[:20])]
    for text in sample:
        expected = peer.encode(text, allowed_special="all")
        require_equal(pair, text, expected, own.encode(text, special="allow"))
        assert own.decode_bytes(expected) == peer.decode_bytes(expected)


@pytest.mark.slow
def test_gpt2_on_a_corpus_has_the_ids_of_tiktoken(cache_dir: Path, corpora_dir: Path, pool: ThreadPoolExecutor) -> None:
    pair = Pair("gpt2", tiktoken.get_encoding("gpt2"), toksmith.load("gpt2"))
    require_equal_batches(pair, [(corpora_dir / "taylorswift.txt").read_text(encoding="utf-8")], pool)
    for name in ("code", "korean"):
        require_equal_batches(pair, next(batches_of(corpora_dir / f"{name}.jsonl.gz")), pool)


@pytest.mark.slow
@settings(suppress_health_check=list(HealthCheck))
@given(draws=st.data())
def test_decoding_equals_tiktoken(draws: st.DataObject, pairs: dict[str, Pair]) -> None:
    _, peer, own = pairs[draws.draw(st.sampled_from(sorted(pairs)))]
    ids = draws.draw(st.lists(st.integers(0, 50_255), max_size=40))
    assert own.decode_bytes(ids) == peer.decode_bytes(ids)
    assert own.decode(ids) == peer.decode(ids)
    assert own.decode_batch([ids, ids[::-1]]) == peer.decode_batch([ids, ids[::-1]])
    assert own.encode_array(own.decode(ids), special="text").tolist() == peer.encode_ordinary(peer.decode(ids))
