"""The core equals the executable specification, function by function, on drawn models, corpora and texts.

Few letters and short texts: overlaps, runs, ties and unreachable tokens then happen in most examples. Where the whole
of Unicode is drawn (`split`), the reference must run on the pinned `regex`, whose tables are those of the core.
"""

import itertools
import random
import re
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import pytest
from hard_texts import HARD_TEXTS, broken_bytes, runs, small_texts, texts
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import toksmith
from toksmith import Model, Tokenizer, _core, reference
from toksmith._model.model import regex_split
from toksmith.types import AddedToken, TokenTable

PINNED_REGEX = "2025.9.18"
BYTES = [bytes([byte]) for byte in range(256)]
DRAWN = settings(suppress_health_check=list(HealthCheck))
MANY = settings(DRAWN, max_examples=4_900)  # of training, and of encoding, in the proof


def rows(name: str) -> list[str]:
    """The regexes of a row of the pattern table."""
    return list(toksmith.patterns()[name].regexes)


PATTERN_LISTS = {
    "none": [],
    "gpt2": rows("gpt2"),
    "cl100k": rows("cl100k"),
    "o200k": rows("o200k"),
    "words and gaps": ["[ab]+"],
    "single letters": ["a|b+"],
    "look-around": [r"\s+|a(?!b)|(?<=a)b"],
    "characters": ["(?s:.)"],
    "matches of nothing": ["b*"],
    "a row, then digits": [*rows("gpt2_original"), r"\d"],
    "three in order": [r"\s+", "a+(?!b)", "[^a]"],
}
LETTERS = ["a", "ab", "ab ", "abc", "aé", "ab \n1'", "a☀b", "\0a"]
pattern_lists = st.sampled_from(sorted(PATTERN_LISTS)).map(PATTERN_LISTS.__getitem__)


def documents() -> st.SearchStrategy[list[str | bytes]]:
    """One to four short documents of the same few letters, sometimes with invalid UTF-8."""
    strings = st.sampled_from(LETTERS).flatmap(lambda letters: st.lists(small_texts(letters), min_size=1, max_size=4))
    return st.one_of(strings, strings, st.lists(st.one_of(small_texts("ab"), broken_bytes()), min_size=1, max_size=3))


def core_counts(corpus: Sequence[str | bytes], patterns: Sequence[str], threads: int = 1) -> _core.CountedPieces:
    """The core's piece counts of a corpus."""
    counter = counter_of(patterns)
    counter.add(list(corpus), threads)
    return counter.finish(1, threads)


def counter_of(patterns: Sequence[str], memory: int | None = None) -> _core.Counter:
    """A counter whose only limit is memory."""
    return _core.Counter(list(patterns), (0, 0), memory, tempfile.gettempdir(), None)


def merges_of(merges: _core.LearnedMerges) -> list[reference.Merge]:
    """The core's training in the form of the reference."""
    steps = zip(merges.merges.tolist(), merges.counts.tolist(), merges.left.tolist(), strict=True)
    return [(left, right, id, count, rest) for (left, right, id), count, rest in steps]


def core_train(counts: _core.CountedPieces, merges: int, unit: str = "byte", **options: Any) -> _core.LearnedMerges:
    """The core's training; options as of the reference."""
    first = reference.ALPHABET[unit]
    alphabet = [byte if byte < first else None for byte in range(256)]
    start: dict[str, Any] = {"alphabet": alphabet, "base": None, "given": [], "next_id": first, "limit": merges}
    rules: dict[str, Any] = {"ties": "lowest_ids", "min_count": 1, "max_token_bytes": None, "whole_characters": False}
    return _core.train(counts, start | rules | options, None)


# Training


TRAININGS = given(
    corpus=documents(),
    patterns=pattern_lists,
    merges=st.one_of(st.integers(0, 12), st.just(100)),
    ties=st.sampled_from(["lowest_ids", "first_seen"]),
    min_count=st.sampled_from([1, 1, 2, 3]),
    max_token_bytes=st.sampled_from([None, None, 1, 2, 3, 5]),
    threads=st.sampled_from([1, 2, 5]),
    other=small_texts("ab é☀\n"),
)


OPTIONS = ("corpus", "patterns", "merges", "ties", "min_count", "max_token_bytes", "threads", "other")
TIES = dict(zip(OPTIONS, (["aaaa", "aaaa", "b"], [], 100, "first_seen", 1, None, 2, "aaa"), strict=True))
UNSEEN = dict(zip(OPTIONS, (["abab", "baba"], ["b*"], 100, "lowest_ids", 1, None, 1, "abba"), strict=True))


def trains_and_encodes_as_the_reference(
    corpus: list[str | bytes],
    patterns: list[str],
    merges: int,
    ties: str,
    min_count: int,
    max_token_bytes: int | None,
    threads: int,
    other: str,
) -> None:
    expected_counts = reference.count(corpus, patterns)
    expected = reference.train(expected_counts, merges, ties=ties, min_count=min_count, max_token_bytes=max_token_bytes)
    counts = core_counts(corpus, patterns, threads)
    assert dict(counts.items()) == expected_counts
    trained = core_train(counts, merges, ties=ties, min_count=min_count, max_token_bytes=max_token_bytes)
    assert merges_of(trained) == expected
    assert trained.symbols == sum(len(piece) * count for piece, count in expected_counts.items())

    model = reference.model_of(expected, patterns)
    tok = Tokenizer(
        Model(
            tokens=TokenTable.of(model.tokens),
            ids=np.array([*model.tokens.values()], np.uint32),
            merges=np.array([step[:3] for step in expected], np.uint32),
            splitters=tuple(map(regex_split, patterns)),
        )
    )
    assert len(tok) == 256 + len(expected)  # no two merges make the same token
    for text in (*corpus, other):
        ids = reference.encode(text, model)
        assert tok.encode(text) == ids
        assert tok.decode_bytes(ids) == reference.decode(ids, model) == reference.utf8(text)
    if counts.bytes:
        options: dict[str, Any] = {"ties": ties, "min_count": min_count, "max_token_bytes": max_token_bytes}
        assert toksmith.train(corpus, merges=merges, pattern=patterns, threads=threads, **options) == tok


@DRAWN
@TRAININGS
@example(**TIES)
@example(**UNSEEN)
def test_training_and_encoding_equal_the_reference(**drawn: Any) -> None:
    trains_and_encodes_as_the_reference(**drawn)


@pytest.mark.proof
@MANY
@TRAININGS
def test_many_trainings_equal_the_reference(**drawn: Any) -> None:
    trains_and_encodes_as_the_reference(**drawn)


@DRAWN
@given(
    corpus=st.sampled_from(["ab", "ab c", "\x00~\n"]).flatmap(
        lambda letters: st.lists(small_texts(letters), min_size=1, max_size=3)
    ),
    patterns=pattern_lists,
    ties=st.sampled_from(["lowest_ids", "first_seen"]),
)
def test_training_from_ascii_characters_equals_the_reference(corpus: list[str], patterns: list[str], ties: str) -> None:
    expected = reference.train(reference.count(corpus, patterns), 20, ties=ties, unit="char")
    trained = core_train(core_counts(corpus, patterns), 20, "char", ties=ties)
    assert merges_of(trained) == expected


@DRAWN
@given(corpus=st.lists(st.one_of(texts(longest=8), broken_bytes()), max_size=12), patterns=pattern_lists)
def test_counts_do_not_depend_on_batches_and_threads(corpus: list[str | bytes], patterns: list[str]) -> None:
    serial = core_counts(corpus, patterns)
    assert serial.documents == len(corpus)
    assert serial.bytes == sum(len(reference.utf8(document)) for document in corpus)
    assert serial.unique == len(serial.items())
    for threads, cut in ((2, 1), (5, 3), (1, 7)):
        counter = counter_of(patterns)
        for start in range(0, len(corpus), cut):
            counter.add(corpus[start : start + cut], threads)
        counts = counter.finish(1, threads)
        assert counts.items() == serial.items()
        assert (counts.documents, counts.bytes, counts.digest) == (serial.documents, serial.bytes, serial.digest)
    if all(isinstance(document, bytes) or document.isascii() for document in corpus):
        assert serial.items() == list(reference.count(corpus, patterns).items())  # in first-seen order


def test_pieces_are_counted_in_first_seen_order_by_many_threads() -> None:
    corpus = [f"b{n % 7} a{n} {n % 3}" for n in range(3000)]
    assert core_counts(corpus, rows("gpt2"), 5).items() == list(reference.count(corpus, rows("gpt2")).items())


# Merging, with models that training cannot give


class Twins(NamedTuple):
    """One model in the core and in the reference."""

    tok: Tokenizer
    model: reference.Model

    def __repr__(self) -> str:
        longer = {token: id for token, id in self.model.tokens.items() if len(token) > 1}
        fields = (self.model.unit, self.model.whole_piece, self.model.patterns, self.tok.model.merge_rule)
        return f"<{', '.join(map(str, fields))}, tokens {longer}, ranks {self.model.ranks}>"


@st.composite
def models(draw: st.DrawFn) -> Twins:
    """A model of few letters: any tokens in any order, ids permuted with holes, either merge rule."""
    unit = draw(st.sampled_from(["byte", "byte", "char"]))
    letters = draw(st.sampled_from(["ab", "abc", "a", "aé☀"]))
    longer = draw(st.lists(small_texts(letters, 4).filter(lambda text: len(text) > 1), max_size=9, unique=True))
    if unit == "byte":
        tokens = [*BYTES, *(token.encode() for token in longer)]
        halves = draw(st.lists(st.sampled_from([b"\xc3", b"\xa9a", b"\xe2\x98", b"a\xe2"]), unique=True, max_size=3))
        tokens += [half for half in halves if half not in tokens]
    else:
        tokens = [*(letter.encode() for letter in letters), *(token.encode() for token in longer)]
    rng = random.Random(draw(st.integers(0, 1 << 20)))
    if draw(st.booleans()):
        rng.shuffle(tokens)  # rank order: a token may rank before its parts
    ids = list(range(len(tokens)))
    if draw(st.booleans()):
        ids = rng.sample(range(2 * len(tokens) + 3), len(tokens))
    by_token = dict(zip(tokens, ids, strict=True))
    rule = draw(st.sampled_from(["bytes", "pair"]))
    merges: list[tuple[int, int, int]] = []
    if rule == "pair":
        all_pairs = reference.bytes_rule(by_token)
        merges = [(*pair, id) for pair, (_, id) in all_pairs.items()]  # every way to make each token
        rng.shuffle(merges)
        merges = merges[: draw(st.integers(0, len(merges)))]
    whole_piece = draw(st.booleans())
    patterns = draw(pattern_lists)
    model = Model(
        tokens=TokenTable.of(tokens),
        ids=np.array(ids, np.uint32),
        unit="byte" if unit == "byte" else "char",
        merges=np.array(merges, np.uint32),
        merge_rule="bytes" if rule == "bytes" else "pair",
        whole_piece=whole_piece,
        splitters=tuple(map(regex_split, patterns)),
    )
    ranks = reference.bytes_rule(by_token) if rule == "bytes" else reference.pair_rule(merges)
    return Twins(Tokenizer(model), reference.Model(by_token, ranks, whole_piece, patterns, unit=unit))


ENCODINGS = given(pair=models(), letters=st.sampled_from(["ab", "abc", "aé☀", "a", "abé \n"]), draws=st.data())


def encodes_as_the_reference(pair: Twins, letters: str, draws: st.DataObject) -> None:
    tok, model = pair
    batch: list[str | bytes] = draws.draw(st.lists(small_texts(letters, 40), min_size=1, max_size=5))
    if model.unit == "byte":
        batch += [text.encode() for text in batch if isinstance(text, str)][:1]
        batch.append(draws.draw(broken_bytes()))
    expected: list[list[int]] = []
    for text in batch:
        try:
            expected.append(reference.encode(text, model))
        except ValueError as problem:
            with pytest.raises(toksmith.errors.NotInVocabulary) as caught:
                tok.encode(text)
            content = caught.value.content
            assert repr(content.encode() if isinstance(content, str) else content) in str(problem)
            return
    assert [tok.encode(text) for text in batch] == expected
    assert [tok.encode_array(text).tolist() for text in batch] == expected
    threads = draws.draw(st.sampled_from([1, 2, 5]))
    assert tok.encode_batch(batch, threads=threads) == expected
    assert [ids.tolist() for ids in tok.encode_ragged(batch, threads=threads)] == expected
    assert tok.count_batch(batch, threads=threads).tolist() == [len(ids) for ids in expected]
    decoded = [reference.decode(ids, model) for ids in expected]
    assert decoded == [reference.utf8(text) for text in batch]
    assert [tok.decode_bytes(ids) for ids in expected] == decoded
    assert tok.decode_batch(expected) == [text.decode(errors="replace") for text in decoded]


@DRAWN
@ENCODINGS
def test_encoding_with_any_model_equals_the_reference(**drawn: Any) -> None:
    encodes_as_the_reference(**drawn)


@pytest.mark.proof
@MANY
@ENCODINGS
def test_many_encodings_equal_the_reference(**drawn: Any) -> None:
    encodes_as_the_reference(**drawn)


@DRAWN
@given(pair=models(), draws=st.data())
def test_earlier_texts_change_no_id(pair: Twins, draws: st.DataObject) -> None:
    """The core remembers pieces and parts of pieces; here they occur alone, inside of others, and repeatedly."""
    tok, model = pair
    letters = "ab" if model.unit == "byte" else "a"
    known = [token.decode() for token in model.tokens if len(token) > 1 and token not in BYTES and is_text(token)]
    words = st.sampled_from([*known, "x", " ", "xx", "é", *letters]) if model.unit == "byte" else small_texts("a", 9)
    for text in draws.draw(st.lists(st.lists(words, max_size=9).map("".join), min_size=10, max_size=30)):
        if model.unit == "byte" or b"a" in model.tokens:
            assert tok.encode(text) == reference.encode(text, model)


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k"])
def test_wide_texts_before_change_no_id_of_broken_bytes(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The core cuts pieces only after many wide ones; the slow twin never does."""
    rng = random.Random(pattern)
    wide = [
        "".join(rng.choices("\u0e01\u0e02\u0e30\u0e40\u0e41낮은日本語😄", k=rng.randint(2, 9))) for _ in range(9000)
    ]
    tok = toksmith.train(wide[:3000], merges=300, pattern=pattern)
    parts = [
        b"\xe0\xb8",
        b"\xe0\xb9",
        b"\xb8",
        b"\xf0\x9f\x98",
        b"\xe6\x97",
        *(letter.encode() for letter in "\u0e01\u0e40낮日😄a"),
    ]
    broken = [b"".join(rng.choices(parts, k=rng.randint(3, 20))) for _ in range(3000)]
    monkeypatch.setenv("TOKSMITH_SLOW", "1")
    expected = Tokenizer(tok.model).encode_batch(broken, threads=1)
    monkeypatch.delenv("TOKSMITH_SLOW")
    quick = Tokenizer(tok.model)
    quick.encode(" ".join(wide))
    assert quick.encode_batch(broken, threads=1) == expected


def is_text(token: bytes) -> bool:
    """Whether it is UTF-8."""
    return token.decode(errors="ignore").encode() == token


@DRAWN
@given(pair=models(), text=st.lists(runs.map(lambda run: run[:9]), min_size=20, max_size=60).map("".join))
def test_long_pieces_equal_the_reference(pair: Twins, text: str) -> None:
    # More than 64 symbols go to the heap; here there are up to 540 in a piece.
    tok, model = pair
    text = text.translate(str.maketrans(" \n\t\r1'!é中", "abaabbbab"))
    if model.unit == "char" and b"b" not in model.tokens:
        text = text.replace("b", "a")
    assert tok.encode(text) == reference.encode(text, model)


@DRAWN
@given(pair=models())
def test_recovered_merges_give_the_same_ids(pair: Twins) -> None:
    tok, model = pair
    if tok.model.merge_rule == "pair":
        assert tok.model.vocab.recover_merges().tolist() == tok.model.merges.tolist()
        return
    ranks = reference.pair_rule(tok.model.vocab.recover_merges().tolist())
    for token in model.tokens:
        parts = reference.symbols(token, model.unit)
        if all(part in model.tokens for part in parts):
            ids = [model.tokens[part] for part in parts]
            assert reference.merge(ids, ranks) == reference.merge(ids, model.ranks)


@DRAWN
@given(words=st.lists(small_texts("ab é", 4).filter(bool), min_size=1, max_size=8, unique=True), draws=st.data())
def test_whole_pieces_equal_the_reference(words: list[str], draws: st.DataObject) -> None:
    tokens = [word.encode() for word in words]
    model = Model(
        tokens=TokenTable.of(tokens),
        ids=np.arange(len(tokens), dtype=np.uint32),
        kind="words",
        splitters=(regex_split(r"\s+"),),
    )
    by_token = {token: id for id, token in enumerate(tokens)}
    own = reference.Model(by_token, whole_piece=True, patterns=[r"\s+"], unit="piece")
    text = draws.draw(st.lists(st.sampled_from(words), max_size=5).map(" ".join))
    try:
        expected = reference.encode(text, own)
    except ValueError:
        with pytest.raises(toksmith.errors.NotInVocabulary):
            Tokenizer(model).encode(text)
    else:
        assert Tokenizer(model).encode(text) == expected


# Cutting


CONTENTS = ["<a", "<ab>", "b>", "aa", "a", "<", "é>", "ab"]


@DRAWN
@given(
    contents=st.lists(st.sampled_from(CONTENTS), unique=True, max_size=5),
    text=small_texts("<ab>é", 12),
    as_bytes=st.booleans(),
    draws=st.data(),
)
def test_cuts_at_special_tokens_equal_the_reference(
    contents: list[str], text: str, as_bytes: bool, draws: st.DataObject
) -> None:
    special = {content: draws.draw(st.booleans()) for content in contents}
    ids = {content: draws.draw(st.integers(256, 261)) for content in contents}
    added = tuple(AddedToken(content, ids[content], special=special[content]) for content in contents)
    tok = Tokenizer(Model(tokens=TokenTable.of(BYTES), ids=np.arange(256, dtype=np.uint32), added_tokens=added))
    model = reference.Model(
        {token: id for id, token in enumerate(BYTES)},
        specials={content: ids[content] for content in contents if special[content]},
        added={content: ids[content] for content in contents if not special[content]},
    )
    given_text = text.encode() if as_bytes else text
    some = draws.draw(st.sets(st.sampled_from(sorted(model.specials)))) if model.specials else set()
    for allow in ("raise", "allow", "text", some, sorted(some), tuple(some)):
        try:
            expected = reference.encode(given_text, model, allow)
        except ValueError as problem:
            with pytest.raises(toksmith.errors.SpecialTokenInText) as caught:
                tok.encode(given_text, special=allow)
            (at,) = re.findall(r"at byte (\d+)", str(problem))
            before = text.encode()[: int(at)]
            assert repr(caught.value.token) in str(problem)
            assert caught.value.offset == (len(before) if as_bytes else len(before.decode()))
            assert caught.value.index is None
            with pytest.raises(toksmith.errors.SpecialTokenInText) as caught:
                tok.encode_batch(["b", given_text, given_text], special=allow)
            assert caught.value.index == 1
        else:
            assert tok.encode(given_text, special=allow) == expected
            if len(set(special.values())) < 2:
                assert tok.decode_bytes(expected) == reference.decode(expected, model)
    every = list(dict.fromkeys(ids.values()))
    of_core = [tok.token_bytes(id) for id in every]
    # The reference takes special tokens before the others where several share an id; the core takes them in order.
    first = {id: next(content for content in contents if ids[content] == id).encode() for id in every}
    assert of_core == list(first.values())


# Splitting


def engine(patterns: Sequence[str]) -> _core.Engine:
    """An engine that splits at these regexes."""
    ids = np.arange(256, dtype=np.uint32)
    model = Model(tokens=TokenTable.of(BYTES), ids=ids, splitters=tuple(map(regex_split, patterns)))
    return Tokenizer(model)._engine


def slow_engine(patterns: Sequence[str]) -> _core.Engine:
    """The same engine with regexes only."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKSMITH_SLOW", "1")
        return engine(patterns)


@pytest.fixture
def pinned_regex() -> None:
    """Skips where the reference and the core have different Unicode tables."""
    if (installed := version("regex")) != PINNED_REGEX:
        pytest.skip(f"lacks regex=={PINNED_REGEX}, whose letters are those of the core (has {installed})")


@pytest.mark.usefixtures("pinned_regex")
@pytest.mark.parametrize("row", sorted(toksmith.patterns()))
def test_splitting_by_every_row_equals_the_reference(row: str) -> None:
    patterns = rows(row)
    fast, slow = engine(patterns), slow_engine(patterns)

    @DRAWN
    @given(drawn=st.lists(st.one_of(texts(), texts(), broken_bytes()), min_size=3, max_size=3))
    def draw(drawn: list[str | bytes]) -> None:
        for text in drawn:
            expected = reference.split(text, patterns)
            assert fast.split(text) == expected
            assert slow.split(text) == expected

    draw()
    for text in HARD_TEXTS.values():
        assert fast.split(text) == slow.split(text) == reference.split(text, patterns)
    for why, pieces in toksmith.patterns()[row].hard_texts:
        text = "".join(pieces)
        assert fast.split(text) == slow.split(text) == [piece.encode() for piece in pieces], why


@pytest.mark.usefixtures("pinned_regex")
@pytest.mark.parametrize("name", sorted(PATTERN_LISTS))
def test_splitting_by_other_patterns_equals_the_reference(name: str) -> None:
    patterns = PATTERN_LISTS[name]
    fast, slow = engine(patterns), slow_engine(patterns)

    @DRAWN
    @given(drawn=st.lists(st.one_of(texts(), small_texts("ab1 \n"), broken_bytes()), min_size=3, max_size=3))
    def draw(drawn: list[str | bytes]) -> None:
        for text in drawn:
            expected = reference.split(text, patterns)
            assert fast.split(text) == expected
            assert slow.split(text) == expected
            assert b"".join(expected) == reference.utf8(text)

    draw()


@pytest.mark.slow
@pytest.mark.usefixtures("pinned_regex")
@pytest.mark.parametrize("row", ["gpt2", "o200k"])  # together they use every class of the rows
def test_every_character_splits_as_in_the_reference(row: str) -> None:
    patterns = rows(row)
    fast = engine(patterns)
    scalars = (chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000)
    while chars := list(itertools.islice(scalars, 4096)):
        if any(char.isprintable() or char.isspace() for char in chars[::32]) or chars[0] < "\U00033000":
            text = "".join(f"a{char}1 B{char}{char}\n" for char in chars)
            assert fast.split(text) == reference.split(text, patterns), f"from {chars[0]!r} on"


# Single functions of the reference


@DRAWN
@given(text=st.one_of(texts(longest=10), st.text(st.sampled_from("a\ud83d\ude04\udfff"), max_size=8)))
def test_utf8_of_surrogates_equals_the_reference(text: str) -> None:
    tok = Tokenizer(Model(tokens=TokenTable.of(BYTES), ids=np.arange(256, dtype=np.uint32)))
    assert bytes(tok.encode(text)) == reference.utf8(text)
    try:
        expected = text.encode()
    except UnicodeEncodeError:
        with pytest.raises(UnicodeEncodeError):
            tok.encode(text, errors="strict")
    else:
        assert bytes(tok.encode(text, errors="strict")) == expected
