"""Exactness through every path: one text or many, lists or arrays, text or bytes, any threads, fast and slow.

Each vocabulary of tests/peers.py is compared with its peer on documents of the nine corpora and on strings drawn from a
seed. The default is a sample; TOKSMITH_EXHAUSTIVE=1 takes every document and 200,000 strings for each, and `-s` shows
the totals. The tests of the core cover the scanner without a cache.
"""

import dataclasses
import gzip
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from drawn_texts import Drawing
from peers import CORPORA, PAIRS, Ids, Twin, batches, documents, scalar
from processors import processor_s

import toksmith
from toksmith import Model, Tokenizer

EVERYTHING = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
BATCH_CHARS = (2 << 20) if EVERYTHING else 150_000
SLOW_PEER_CHARS = 100_000  # of each corpus, where the peer takes a minute for a megabyte
DRAWN = 200_000 if EVERYTHING else 8_000
DRAWN_FOR_SLOW_PEERS = 2_000 if EVERYTHING else 400
DRAWN_BATCH = 4_000
SLOW_PEERS = ("seed_1000", "seed_2000")
SEPARATOR = "\n\0<document>\0\n"


class Engines(NamedTuple):
    """One vocabulary with each way to run it."""

    usual: Tokenizer
    regex: Tokenizer  # the regex engine, with the cache of pieces
    slow: Tokenizer  # neither scanner nor cache


@pytest.fixture(scope="module")
def twins(vocab_dir: Path) -> Callable[[str], tuple[Twin, Engines]]:
    """Pairs by name, each loaded once."""
    loaded: dict[str, tuple[Twin, Engines]] = {}

    def get(name: str) -> tuple[Twin, Engines]:
        if name not in loaded:
            twin = PAIRS[name](vocab_dir)
            loaded[name] = twin, engines_of(twin.model)
        return loaded[name]

    return get


def engines_of(model: Model) -> Engines:
    """The engines of a model. A regex in a group is not in the table, so no scanner replaces it."""
    steps = tuple(
        toksmith.types.Step(
            step.kind, tuple((key, f"(?:{value})" if key == "pattern" else value) for key, value in step.options)
        )
        for step in model.splitters
    )
    regex = Tokenizer(dataclasses.replace(model, splitters=steps))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKSMITH_SLOW", "1")
        slow = Tokenizer(model)
    return Engines(Tokenizer(model), regex, slow)


def as_bytes(texts: list[str]) -> list[bytes]:
    return [scalar(text).encode() for text in texts]


def flat(lists: list[list[int]]) -> Ids:
    return [np.array(ids, np.uint32) for ids in lists]


Path_ = Callable[[Tokenizer, list[str]], Ids]
PATHS: dict[str, Path_] = {
    "one by one, lists": lambda tok, texts: flat([tok.encode(text, special="text") for text in texts]),
    "one by one, arrays": lambda tok, texts: [tok.encode_array(text, special="text") for text in texts],
    "one by one, bytes": lambda tok, texts: flat([tok.encode(text, special="text") for text in as_bytes(texts)]),
    "batch, one thread": lambda tok, texts: flat(tok.encode_batch(texts, special="text", threads=1)),
    "batch, many threads": lambda tok, texts: flat(tok.encode_batch(texts, special="text", threads=5)),
    "batch of a generator": lambda tok, texts: flat(tok.encode_batch(iter(texts), special="text")),
    "batch of bytes": lambda tok, texts: flat(tok.encode_batch(as_bytes(texts), special="text", threads=2)),
    "ragged, one thread": lambda tok, texts: list(tok.encode_ragged(texts, special="text", threads=1)),
    "ragged, many threads": lambda tok, texts: list(tok.encode_ragged(texts, special="text", threads=5)),
    "ragged bytes": lambda tok, texts: list(tok.encode_ragged(as_bytes(texts), special="text", threads=2)),
}


def require_equal(said: str, texts: list[str], expected: Ids, found: Ids) -> None:
    """Fails with the ids around the first different one."""
    assert len(found) == len(expected), said
    for text, ids, own in zip(texts, expected, found, strict=True):
        if not np.array_equal(ids, own):
            size = min(len(ids), len(own))
            at = next(iter(np.flatnonzero(ids[:size] != own[:size])), size)
            parts = [each[max(0, at - 5) : at + 5].tolist() for each in (ids, own)]
            pytest.fail(f"{said}: id {at} differs: the peer {parts[0]}, toksmith {parts[1]}; the text: {text[:300]!r}")


def require_everywhere(name: str, twin: Twin, engines: Engines, texts: list[str]) -> int:
    """Compares every path, cold and warm, and decoding; returns the number of ids of the peer."""
    expected = twin.ids_of(texts)
    for path, encode in PATHS.items():
        require_equal(f"{name}, {path}", texts, expected, encode(engines.usual, texts))
    cold = Tokenizer(twin.model), Tokenizer(twin.model)
    for said, tok in (("regex", engines.regex), ("slow", engines.slow), ("cold", cold[0])):
        found = PATHS["ragged, many threads"](tok, texts)
        require_equal(f"{name}, {said}", texts, expected, found)
    require_equal(f"{name}, cold lists", texts, expected, PATHS["one by one, lists"](cold[1], texts))
    sizes = np.array([len(ids) for ids in expected], np.uint64)
    assert np.array_equal(engines.usual.count_batch(texts, threads=2), sizes), name
    assert [engines.usual.count(text) for text in texts[:50]] == sizes[:50].tolist(), name
    if twin.model.unit == "byte":
        require_back(name, engines, texts, expected)
    return int(sizes.sum())


def require_back(name: str, engines: Engines, texts: list[str], expected: Ids) -> None:
    """Decoding restores the texts, from arrays and lists, one and many."""
    contents = [scalar(text) for text in texts]
    assert engines.usual.decode_batch(expected, threads=2) == contents, name
    assert engines.slow.decode_batch([ids.tolist() for ids in expected], threads=1) == contents, name
    for text, ids in list(zip(contents, expected, strict=True))[:200]:
        assert engines.usual.decode(ids.tolist()) == text, name
        assert engines.usual.decode_bytes(ids) == text.encode(), name


def require_whole(name: str, twin: Twin, engines: Engines, texts: list[str]) -> int:
    """All texts joined to one, which threads split at safe cuts."""
    whole = "\n".join(texts)
    (expected,) = twin.ids_of([whole])
    found = {
        "array": engines.usual.encode_array(whole, special="text"),
        "list": np.array(engines.usual.encode(whole, special="text"), np.uint32),
        "bytes": engines.usual.encode_array(scalar(whole).encode(), special="text"),
        "slow": engines.slow.encode_array(whole, special="text"),
        "regex": engines.regex.encode_array(whole, special="text"),
        "batch of one": engines.usual.encode_ragged([whole], special="text", threads=5).ids,
    }
    for path, ids in found.items():
        require_equal(f"{name}, whole, {path}", [whole], [expected], [ids])
    return len(expected)


def batches_of(corpus: Path, name: str) -> Iterator[list[str]]:
    """Batches of documents: a whole corpus, or its first documents."""
    if name in SLOW_PEERS:
        first = next(batches(documents(corpus), SLOW_PEER_CHARS))
        yield [text[:SLOW_PEER_CHARS] for text in first][: None if EVERYTHING else 3]
        return
    for batch in batches(documents(corpus), BATCH_CHARS):
        yield batch
        if not EVERYTHING:
            return


@pytest.mark.proof
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("corpus", CORPORA)
def test_documents_have_the_ids_of_the_peer_through_every_path(
    corpus: str, name: str, twins: Any, corpora_dir: Path
) -> None:
    twin, engines = twins(name)
    texts, ids = 0, 0
    for batch in batches_of(corpora_dir / f"{corpus}.jsonl.gz", name):
        texts += len(batch)
        ids += require_everywhere(f"{name} on {corpus}", twin, engines, batch)
        ids += require_whole(f"{name} on {corpus}", twin, engines, batch)
    assert texts
    print(f"\nEXACT {corpus} {name}: {texts} documents, {ids} ids")


@pytest.mark.proof
@pytest.mark.skipif(not hasattr(Tokenizer, "encode_file"), reason="lacks Tokenizer.encode_file")
@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("corpus", CORPORA)
def test_files_have_the_ids_of_the_peer(corpus: str, name: str, twins: Any, corpora_dir: Path, tmp_path: Path) -> None:
    """Whole and by documents, plain and compressed, and on any threads."""
    twin, engines = twins(name)
    for number, batch in enumerate(batches_of(corpora_dir / f"{corpus}.jsonl.gz", name)):
        content = SEPARATOR.join(batch).encode()
        assert content.count(SEPARATOR.encode()) == len(batch) - 1
        plain, packed = tmp_path / f"{number}.txt", tmp_path / f"{number}.txt.gz"
        plain.write_bytes(content)
        packed.write_bytes(gzip.compress(content, 1))
        expected, (whole,) = twin.ids_of(batch), twin.ids_of([content.decode()])
        for path, threads in ((plain, 1), (plain, 5), (packed, 2)):
            said = f"{name} on {corpus}, {path.suffix}, {threads} threads"
            for tok in engines if threads == 5 else engines[:1]:
                by_document = list(tok.encode_file(path, separator=SEPARATOR, threads=threads))
                require_equal(said, batch, expected, by_document)
                require_equal(said, [content.decode()], [whole], list(tok.encode_file(path, threads=threads)))


@pytest.mark.proof
@pytest.mark.parametrize("name", PAIRS)
def test_drawn_strings_have_the_ids_of_the_peer(name: str, twins: Any, corpora_dir: Path) -> None:
    twin, engines = twins(name)
    real = [
        text for corpus in CORPORA for text in next(batches(documents(corpora_dir / f"{corpus}.jsonl.gz"), 300_000))
    ]
    drawing = Drawing(20_261_121, real)
    count = DRAWN_FOR_SLOW_PEERS if name in SLOW_PEERS else DRAWN
    ids = 0
    for _ in range(0, count, DRAWN_BATCH):
        texts = list(drawing.texts(min(count, DRAWN_BATCH)))
        ids += require_everywhere(f"{name} on drawn strings", twin, engines, texts)
    print(f"\nEXACT drawn {name}: {count} strings, {ids} ids")


@pytest.mark.proof
def test_the_engines_differ_in_their_work(twins: Any) -> None:
    """The slow engine merges every piece again and the others cache them, which a word with many merges shows."""
    _, engines = twins("cl100k_base")
    assert engines.usual.model == engines.slow.model != engines.regex.model
    text = " Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 3000
    merging = {tok: processor_s(lambda: tok.encode_array(text), 5) for tok in (engines.regex, engines.slow)}  # noqa: B023 - called in this turn
    assert 2 * merging[engines.regex] < merging[engines.slow]
    short = "a 1 - b\n" * 50_000
    splitting = {tok: processor_s(lambda: tok.encode_array(short), 5) for tok in (engines.usual, engines.regex)}  # noqa: B023
    assert 2 * splitting[engines.usual] < splitting[engines.regex]
