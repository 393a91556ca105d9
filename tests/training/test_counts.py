"""Counts of pieces equal the reference for every source of documents, any shards and threads, spilled or not.

Training on them gives the same bytes.
"""

import gzip
import itertools
import json
import operator
import os
import pickle
import random
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as arrow
import pyarrow.parquet
import pytest
import zstandard
from hard_texts import broken_bytes, small_texts
from hypothesis import example, given
from hypothesis import strategies as st
from processors import LIMIT_S
from systems import needs

import toksmith
from toksmith import reference
from toksmith._corpus import blocks
from toksmith.corpus import PieceCounts
from toksmith.corpus import count as count_pieces
from toksmith.errors import CorpusError, FormatError, InvalidOption

REAL_TEXT = Path(reference.__file__).read_text(encoding="utf-8")
DOCUMENTS = [line for line in REAL_TEXT.splitlines(keepends=True) if line.strip()]
SUMMED = zstandard.ZstdCompressor(write_checksum=True)
CL100K = toksmith.patterns()["cl100k"].regexes
LONG = pytest.mark.skipif(not os.environ.get("TOKSMITH_EXHAUSTIVE"), reason="lacks TOKSMITH_EXHAUSTIVE=1 (minutes)")
TIES: Any = pytest.mark.parametrize("ties", ["lowest_ids", "first_seen"])


def content(counts: PieceCounts) -> tuple[Any, ...]:
    """All values that equal counts share."""
    facts = (counts.documents, counts.bytes, counts.digest, counts.long, counts.rare, counts.patterns, counts.end)
    return (*facts, counts.has_positions, counts.items(), counts._core.columns()[1][2].tolist())


def bytes_of(tok: toksmith.Tokenizer, folder: Path) -> bytes:
    """The bytes of the tokenizer's file."""
    tok.save(folder / "saved.toksmith")
    return (folder / "saved.toksmith").read_bytes()


def shards(documents: Sequence[str], count: int) -> Iterator[tuple[int, Sequence[str]]]:
    """`count` stretches of about equal length, with the number of their first document; some can be empty."""
    for shard in range(count):
        first, last = (len(documents) * part // count for part in (shard, shard + 1))
        yield first, documents[first:last]


# Counts


@given(st.text(st.characters(exclude_categories=())), st.text("ab"), st.integers(1, 3))
@example("\ud83d\ude00\ud83d", "a" * 40, 2)
@example("\ud83d\U0001f600\ude00\x80", "", 1)
def test_every_kind_of_str_is_counted_as_its_utf8(text: str, ascii: str, threads: int) -> None:
    documents = [text, ascii + text, text + ascii, text + "\xe9", text + "\u65e5" + ascii, text + "\U0001f600"]
    repaired = [text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace") for text in documents]
    in_bytes = count_pieces([text.encode() for text in repaired], pattern="(?s:.)")
    assert content(count_pieces(documents, pattern="(?s:.)", threads=threads)) == content(in_bytes)


@pytest.mark.parametrize("threads", [2, 3])
@pytest.mark.parametrize("pattern", ["cl100k", r"\S+|\s+"])
def test_a_large_list_is_counted_in_parts(pattern: str, threads: int) -> None:
    others: list[str | bytes] = [
        "Stra\xdfe",
        "\u65e5\u672c",
        "\U0001f600 \ud83d",
        "",
        "\ud83d\ude00",
        b"caf\xc3\xa9 \xff",
    ]
    texts: list[str | bytes] = [*DOCUMENTS, *others] * (2_500_000 // len(REAL_TEXT))
    assert sum(map(len, texts)) > 2 << 20
    assert max(map(len, texts)) < 1 << 18
    alone = count_pieces(texts, pattern=pattern, threads=1)
    assert content(count_pieces(texts, pattern=pattern, threads=threads)) == content(alone)
    # A text for several threads takes another path.
    texts.insert(7, REAL_TEXT * (600_000 // len(REAL_TEXT)))
    alone = count_pieces(texts, pattern=pattern, threads=1)
    assert content(count_pieces(texts, pattern=pattern, threads=threads)) == content(alone)


@given(st.lists(st.one_of(st.text(max_size=9), st.binary(max_size=9))), st.integers(1, 30), st.integers(1, 5))
def test_a_list_of_texts_has_the_blocks_of_any_iterable(texts: list[str | bytes], most: int, count: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BATCH_BYTES", most)
        patch.setattr(blocks, "BATCH_DOCUMENTS", count)
        assert [*blocks.group_sources(texts)] == [*blocks.group_sources(iter(texts))]


@pytest.mark.slow
@given(
    corpus=st.lists(st.one_of(small_texts("ab \n1'é"), broken_bytes()), max_size=8),
    memory=st.sampled_from([None, 1 << 20]),
    threads=st.sampled_from([1, 2, 5]),
)
def test_counts_equal_the_reference(corpus: list[str | bytes], memory: int | None, threads: int) -> None:
    counts = count_pieces(corpus, pattern="cl100k", max_memory=memory, threads=threads)
    assert dict(counts.items()) == reference.count(corpus, list(CL100K))
    assert list(dict(counts.items())) == list(reference.count(corpus, list(CL100K)))
    assert (counts.documents, len(counts)) == (len(corpus), len(dict(counts.items())))


def test_pieces_of_every_length_are_counted() -> None:
    # Keys of two words, of four, and none; at the end of the text and before other pieces.
    lengths = [1, 7, 8, 14, 15, 16, 17, 30, 31, 32, 33, 100, 10_000]
    words = ["a" * length + "b" * (length % 3) for length in lengths]
    texts = [*words, " ".join(words), " ".join(reversed(words)), *words]
    counts = count_pieces(texts, pattern=r"\S+", threads=2)
    assert dict(counts.items()) == reference.count(texts, [r"\S+"])


@pytest.mark.parametrize("pattern", ["cl100k", "o200k", "gpt2"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_document_is_cut_without_a_change(pattern: str, threads: int, tmp_path: Path) -> None:
    text = (REAL_TEXT + "☀ Straße 東京 12345 \n\n\t" * 50) * 20
    regexes = list(toksmith.patterns()[pattern].regexes)
    expected = list(reference.count([text], regexes).items())
    assert count_pieces(text, pattern=pattern, threads=threads).items() == expected
    (tmp_path / "text.txt").write_text(text, encoding="utf-8", newline="")
    assert count_pieces(tmp_path / "text.txt", pattern=pattern, threads=threads).items() == expected


@pytest.mark.parametrize("threads", [1, 2])
def test_long_documents_count_with_repaired_surrogates(threads: int) -> None:
    texts = ["Straße 東京 " * 40_000, "ab", "Straße \ud800 東京 " * 40_000, "Ж😀 " * 100_000]
    written = [text.replace("\ud800", "\ufffd").encode() for text in texts]
    counts = count_pieces(texts, pattern="cl100k", threads=threads)
    assert content(counts) == content(count_pieces(written, pattern="cl100k", threads=1))
    assert (counts.documents, counts.bytes) == (4, sum(map(len, written)))


@pytest.mark.slow
def test_spilling_changes_nothing(tmp_path: Path) -> None:
    texts = [f"{number} w{number % 700}x{number * 7919 % 10_007} {'long' * 9}{number % 50}" for number in range(30_000)]
    plain = count_pieces(texts, pattern=r"\S+|\s+", threads=1)
    assert plain.spilled == 0
    for threads, min_count in itertools.product((1, 2), (1, 2)):
        limits: Any = {"max_memory": 1 << 20, "spill_to": tmp_path, "min_count": min_count}
        spilled = count_pieces(texts, pattern=r"\S+|\s+", threads=threads, **limits)
        assert spilled.spilled > 1
        assert content(spilled) == content(plain.filter(min_count))
    assert not [*tmp_path.iterdir()]


def test_long_pieces_are_left_out_and_logged(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    texts = ["a" * 100 + " bb", "a" * 101 + " bb", "a" * 101]
    counts = count_pieces(texts, pattern=r"\S+|\s+", max_piece_bytes=100)
    assert dict(counts.items()) == {b"a" * 100: 1, b" ": 2, b"bb": 2}
    assert (counts.long, counts.bytes) == ((2, 202), sum(map(len, texts)))
    assert "left out pieces of more than 100 bytes (max_piece_bytes): 2 pieces" in caplog.text
    by_counts, by_corpus = (
        toksmith.train(counts, 258),
        toksmith.train(texts, 258, pattern=r"\S+|\s+", max_piece_bytes=100),
    )
    assert bytes_of(by_counts, tmp_path) == bytes_of(by_corpus, tmp_path)
    with pytest.raises(InvalidOption, match=r"give it to corpus\.count"):
        toksmith.train(counts, 258, max_piece_bytes=50)


def test_rare_pieces_are_left_out_and_recorded() -> None:
    counts = count_pieces("ab ab ab cd cd ef", pattern=r"\S+|\s+").filter(3)
    assert counts.items() == [(b"ab", 3), (b" ", 5)]
    assert counts.rare == (3, 6)
    again = (counts + count_pieces("ab gh", pattern=r"\S+|\s+", start=1)).filter(4)
    assert (again.items(), again.rare) == ([(b"ab", 4), (b" ", 6)], (4, 8))
    assert content(count_pieces("ab ab ab cd cd ef", pattern=r"\S+|\s+", min_count=3)) == content(counts)


def test_the_first_uncertified_merge_is_reported(tmp_path: Path) -> None:
    """`ab` leads another pair by more than its two possible further places, and `cd` by less."""
    text = "ab " * 20 + "cd " * 8 + "ef " * 7 + "xy xy"
    whole, part = (
        toksmith.train(text, merges=3, pattern=r"\w+|\s", min_piece_count=least, checkpoint=tmp_path / str(least))
        for least in (1, 3)
    )
    assert whole.run_report["first_uncertified_merge"] is None
    assert part.run_report["first_uncertified_merge"] == 1
    again = toksmith.train(text, merges=2, pattern=r"\w+|\s", min_piece_count=3, checkpoint=tmp_path / "3")
    assert again.run_report["first_uncertified_merge"] == 1


@given(st.lists(st.tuples(st.text("abc", min_size=1, max_size=5), st.integers(1, 60)), max_size=20), st.integers(2, 20))
def test_certified_merges_equal_a_training_on_all_counts(words: list[tuple[str, int]], least: int) -> None:
    texts = ["aab " * 100, *(f"{word} " * count for word, count in words)]
    whole = toksmith.train(texts, min_count=2, pattern=r"\w+|\s", threads=1)
    part = toksmith.train(texts, min_count=2, pattern=r"\w+|\s", threads=1, min_piece_count=least)
    first = part.run_report["first_uncertified_merge"]
    assert np.array_equal(whole.model.merges[:first], part.model.merges[:first])


# Shards


@TIES
@pytest.mark.parametrize("count", [1, 7, 64])
def test_shards_give_the_same_bytes(ties: Any, count: int, tmp_path: Path) -> None:
    whole = bytes_of(toksmith.train(DOCUMENTS, 600, pattern="cl100k", ties=ties, threads=1), tmp_path)
    for threads, memory in ((1, None), (2, 1 << 20)):
        parts = [
            count_pieces(part, pattern="cl100k", start=first, threads=threads, max_memory=memory)
            for first, part in shards(DOCUMENTS, count)
        ]
        random.Random(count).shuffle(parts)
        for together in (PieceCounts.sum(parts), reduce(operator.add, parts), sum(parts)):
            assert bytes_of(toksmith.train(together, 600, ties=ties, threads=threads), tmp_path) == whole


@pytest.mark.proof
@pytest.mark.short
@TIES
@pytest.mark.parametrize("count", [7, pytest.param(64, marks=LONG)])
def test_shards_that_spill_give_the_same_bytes(ties: Any, count: int, tmp_path: Path) -> None:
    """Enough different words to spill each shard several times."""
    draw = random.Random(count)
    documents = [" ".join(f"{draw.getrandbits(80):x}" for _ in range(400)) for _ in range(60 * count)]
    whole = bytes_of(toksmith.train(documents, 300, pattern="gpt2", ties=ties), tmp_path)
    for threads in (1, 2):
        parts = [
            count_pieces(part, pattern="gpt2", start=first, threads=threads, max_memory=1 << 20)
            for first, part in shards(documents, count)
        ]
        assert all(part.spilled > 1 for part in parts)
        draw.shuffle(parts)
        assert bytes_of(toksmith.train(PieceCounts.sum(parts), 300, ties=ties, threads=threads), tmp_path) == whole


@TIES
def test_shards_in_files_give_the_same_bytes(ties: Any, tmp_path: Path) -> None:
    whole = bytes_of(toksmith.train(DOCUMENTS, 600, pattern="cl100k", ties=ties), tmp_path)
    first = (0, 0)
    for number, (_, part) in enumerate(shards(DOCUMENTS, 7)):
        counts = count_pieces(part, pattern="cl100k", start=first)
        counts.save(tmp_path / f"{number}.parquet")
        first = counts.end
    assert first == (len(DOCUMENTS), 0)
    loaded = PieceCounts.sum([PieceCounts.load(tmp_path / f"{number}.parquet") for number in (3, 6, 0, 1, 5, 2, 4)])
    assert bytes_of(toksmith.train(loaded, 600, ties=ties), tmp_path) == whole
    assert content(loaded) == content(count_pieces(DOCUMENTS, pattern="cl100k"))


def test_a_document_in_two_shards_keeps_its_places() -> None:
    whole = count_pieces("ab ab cd", pattern=r"\S+|\s+")
    parts = [count_pieces("ab ab", pattern=r"\S+|\s+"), count_pieces(" cd", pattern=r"\S+|\s+", start=(0, 5))]
    positions = [column.tolist() for column in whole._core.columns()[1]]
    joined = _core_sum(parts)
    assert [column.tolist() for column in joined] == positions


def _core_sum(parts: list[PieceCounts]) -> list[Any]:
    return list(toksmith._core.CountedPieces.sum([part._core for part in parts], True).columns()[1])


def test_shards_without_positions_cannot_train_by_first_seen() -> None:
    parts = [count_pieces(text, pattern=None) for text in ("abab", "baba")]
    together = parts[0] + parts[1]
    assert not together.has_positions
    assert toksmith.train(together, merges=1).model == toksmith.train(["abab", "baba"], merges=1, pattern=None).model
    with pytest.raises(InvalidOption, match=r"ties='first_seen' is not possible; .* where pieces occur first"):
        toksmith.train(together, merges=1, ties="first_seen")


def test_counts_of_different_patterns_are_refused() -> None:
    one, other = count_pieces("a b", pattern="gpt2"), count_pieces("a b", pattern="cl100k")
    with pytest.raises(InvalidOption, match="counts with the same pattern"):
        one + other
    with pytest.raises(InvalidOption, match="the pattern of the counts"):
        toksmith.train(one, 257, pattern="cl100k")
    assert toksmith.train(one, 257, pattern="gpt2") == toksmith.train(one, 257)
    with pytest.raises(TypeError):
        one + 1  # type: ignore[operator]


def test_counts_that_overflow_are_refused() -> None:
    half = PieceCounts.of({b"ab": 1 << 62})
    assert half.bytes == 1 << 63
    with pytest.raises(InvalidOption, match="below 2\\^64"):
        half + half
    quarter = PieceCounts.of({b"a": 1 << 63})
    with pytest.raises(InvalidOption, match="below 2\\^64"):
        quarter + quarter
    for count in (1 << 64, -1):
        with pytest.raises(InvalidOption, match="counts from 1"):
            PieceCounts.of({b"a": count})
    with pytest.raises(InvalidOption, match="below 2\\^64"):
        PieceCounts.of({b"abc": (1 << 64) - 1})
    for wrong in ([(b"a", 1), (b"a", 1)], [(b"", 1)], [(b"a", 0)]):
        with pytest.raises(FormatError, match="row"):
            PieceCounts.of(wrong)


@pytest.mark.parametrize("shift", [31, 32, 33, 40])
def test_counts_above_32_bits_give_correct_merges(shift: int) -> None:
    large = 1 << shift
    # In 32 bits "th" would be rarer than "xy": 2^31 becomes negative, and 2^32 becomes 0.
    counts = PieceCounts.of({b"the": large, b" the": large - 5, b"xy": 1000})
    tok = toksmith.train(counts, merges=4)
    assert tok.model.training is not None
    assert [tok.token_bytes(id) for id in range(256, 260)] == [b"he", b"the", b" the", b"xy"]
    assert tok.model.training.counts.tolist() == [2 * large - 5, 2 * large - 5, large - 5, 1000]
    expected = reference.train({b"the": large, b" the": large - 5, b"xy": 1000}, merges=4)
    assert tok.model.merges.tolist() == [list(merge[:3]) for merge in expected]


def test_counts_survive_pickling() -> None:
    for counts in (count_pieces(DOCUMENTS, start=(3, 4)), count_pieces("ab", min_count=2), count_pieces([])):
        assert content(pickle.loads(pickle.dumps(counts))) == content(counts)


# Documents from files


def rows(texts: Sequence[str]) -> bytes:
    return "".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(texts)).encode()


def write_parquet(path: Path, texts: Sequence[str | None], kind: Any = None, field: str = "text") -> None:
    table = arrow.table({"id": range(len(texts)), field: arrow.array(texts, kind or arrow.string())})
    arrow.parquet.write_table(table, path, row_group_size=100)


def write(path: Path, texts: Sequence[str]) -> None:
    """Writes the documents in the format of the suffix."""
    if path.suffix == ".parquet":
        write_parquet(path, texts)
        return
    data = rows(texts) if ".jsonl" in path.name else "".join(texts).encode()
    if path.suffix == ".gz":
        data = gzip.compress(data)
    if path.suffix == ".zst":  # several frames
        data = b"".join(SUMMED.compress(data[part : part + 5000]) for part in range(0, len(data) or 1, 5000))
    path.write_bytes(data)


NAMES = ["a.txt", "b.jsonl", "c.txt.gz", "d.jsonl.gz", "e.txt.zst", "f.jsonl.zst", "g.parquet"]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_file_is_counted(name: str, threads: int, tmp_path: Path) -> None:
    write(tmp_path / name, DOCUMENTS)
    expected = ["".join(DOCUMENTS)] if ".txt" in name else DOCUMENTS
    assert content(count_pieces(tmp_path / name, threads=threads)) == content(count_pieces(expected))
    assert toksmith.train(tmp_path / name, 300) == toksmith.train(expected, 300)
    assert list(toksmith._corpus.iter_documents(tmp_path / name)) in (expected, [text.encode() for text in expected])


def test_many_files_are_one_corpus_in_order(tmp_path: Path) -> None:
    expected: list[str] = []
    for number, name in enumerate(NAMES * 3):
        part = DOCUMENTS[number * 20 : number * 20 + 20]
        write(tmp_path / f"{number:02}-{name}", part)
        expected += ["".join(part)] if ".txt" in name else part
    for threads in (1, 2, 5):
        assert content(count_pieces(tmp_path, threads=threads)) == content(count_pieces(expected))
    mixed = count_pieces(["first", tmp_path, b"last"])
    assert content(mixed) == content(count_pieces(["first", *expected, b"last"]))


def test_rows_that_only_python_can_parse_are_counted(tmp_path: Path) -> None:
    lines = [
        b'{"text": "a\\ud800"}',
        b"",
        b'{"text": 1, "text": "b"}',
        b'{"n": NaN, "text": "c"}',
        b' \t{"text": ""} \r',
    ]
    (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines))
    assert content(count_pieces(tmp_path)) == content(count_pieces(["a\ud800", "b", "c", ""]))


def test_blocks_can_end_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a b " * 30, "é" * 100, "x", "", "y " * 500]
    (tmp_path / "a.jsonl").write_bytes(rows(texts) + b"\n\n" + rows(texts).rstrip(b"\n"))
    (tmp_path / "b.txt").write_text("".join(texts), encoding="utf-8")
    expected = count_pieces([*texts, *texts, "".join(texts)], pattern="gpt2")
    monkeypatch.setattr("toksmith._corpus.blocks.SMALL_BYTES", 0)
    for size in (1, 2, 3, 7, 100, 1000):
        monkeypatch.setattr("toksmith._corpus.blocks.BLOCK_BYTES", size)
        assert content(count_pieces(tmp_path, pattern="gpt2")) == content(expected)


@pytest.mark.parametrize("kind", [arrow.string(), arrow.large_string(), arrow.binary(), arrow.string_view(), None])
def test_columns_of_every_type_of_text_are_counted(kind: Any, tmp_path: Path) -> None:
    texts = [f"text {number % 7} é" for number in range(20_000)]
    values = arrow.array(texts).dictionary_encode() if kind is None else arrow.array(texts).cast(kind)
    arrow.parquet.write_table(arrow.table({"body": values, "n": range(20_000)}), tmp_path / "a.parquet")
    assert content(count_pieces(toksmith.files(tmp_path / "a.parquet", field="body"))) == content(count_pieces(texts))
    with pytest.raises(CorpusError, match=r"no column 'text'; it has \['body', 'n'\]"):
        count_pieces(tmp_path)
    with pytest.raises(CorpusError, match="the column 'n' holds int64 instead of texts"):
        count_pieces(toksmith.files(tmp_path / "a.parquet", field="n"))


# Unreadable files


def flip_bytes(good: bytes, size: int) -> bytes:
    """The file with `size` inverted bytes in its middle."""
    middle = len(good) // 2
    return good[:middle] + bytes(byte ^ 0xFF for byte in good[middle : middle + size]) + good[middle + size :]


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "cut.jsonl.gz": lambda good: good[:-20],
    "bits.jsonl.gz": lambda good: flip_bytes(good, 50),
    "cut.jsonl.zst": lambda good: good[: len(good) // 2 + 3],
    "bits.txt.zst": lambda good: flip_bytes(good, 50),
    "cut.parquet": lambda good: good[:-20],
    "bits.parquet": lambda good: flip_bytes(good, 500),
    "row.jsonl": lambda good: good[: len(good) // 2] + b"\n{\n" + good[len(good) // 2 :],
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_in_a_glob_is_named(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bad = tmp_path / name
    write(bad, DOCUMENTS * 20)
    bad.write_bytes(BROKEN[name](bad.read_bytes()))
    write(tmp_path / "a.txt", ["before"])
    write(tmp_path / "z.txt", ["after"])
    corpus = toksmith.files(tmp_path / "*")
    with pytest.raises(CorpusError) as caught:
        count_pieces(corpus)
    assert caught.value.path == str(bad)
    with pytest.raises(CorpusError, match=name):
        toksmith.train(corpus, 300)
    counts = [count_pieces(corpus, errors="skip", threads=threads) for threads in (1, 2)]
    assert content(counts[0]) == content(counts[1])
    assert counts[0].skipped >= 1
    assert f"left out: {bad}" in caplog.text
    assert {b"before", b"after"} <= set(dict(counts[0].items()))


def test_rows_without_a_text_are_named_or_skipped(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "a"}\n\n{"texts": "b"}\n[]\n{"text": "c"}\n')
    with pytest.raises(CorpusError, match=r"a\.jsonl: document 2: has no text in the field 'text'"):
        count_pieces(tmp_path / "a.jsonl")
    counts = count_pieces(tmp_path / "a.jsonl", errors="skip")
    assert (counts.items(), counts.documents, counts.skipped) == ([(b"a", 1), (b"c", 1)], 2, 2)
    assert caplog.text.count("left out") == 2
    write_parquet(tmp_path / "b.parquet", ["a", None, "c"])
    with pytest.raises(CorpusError, match=r"b\.parquet: document 1: has no text in the column 'text'"):
        count_pieces(tmp_path / "b.parquet")
    counts = count_pieces(tmp_path / "b.parquet", errors="skip")
    assert (counts.items(), counts.documents, counts.skipped) == ([(b"a", 1), (b"c", 1)], 2, 1)


def test_missing_files_are_named_or_skipped(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"nowhere\.txt: cannot be read"):
        count_pieces(tmp_path / "nowhere.txt")
    assert count_pieces([tmp_path / "nowhere.txt", "a"], errors="skip").skipped == 1
    with pytest.raises(CorpusError, match="no file matches this glob"):
        count_pieces(toksmith.files(tmp_path / "*.txt"), errors="skip")


def test_files_that_two_globs_name_are_logged_and_read_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path / "a.txt", ["a"])
    write(tmp_path / "b.txt", ["b"])
    counts = count_pieces(toksmith.files(tmp_path / "*.txt", tmp_path / "a*"))
    assert counts.documents == 2
    assert "a.txt is matched by" in caplog.text
    assert "it is read once" in caplog.text
    caplog.clear()
    assert count_pieces([tmp_path / "a.txt", toksmith.files(tmp_path / "*.txt")]).documents == 3
    assert "a.txt is listed again; its documents are counted again" in caplog.text


@pytest.mark.slow
@needs("limits")
def test_a_full_disk_is_a_corpus_error_with_advice(tmp_path: Path) -> None:
    program = """
        import resource, sys, toksmith
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        texts = [f"{n} w{n * 7919 % 100_003}" for n in range(100_000)]
        try:
            toksmith.corpus.count(texts, pattern=None, max_memory=1 << 20, spill_to=sys.argv[1])
        except toksmith.errors.CorpusError as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, timeout=LIMIT_S)
    assert f"{tmp_path}: counts cannot be spilled into this folder" in ran.stdout
    assert "max_memory=" in ran.stdout
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "options",
    [
        {"min_count": 0},
        {"max_piece_bytes": 0},
        {"max_memory": 1000},
        {"spill_to": "/nowhere/at all"},
        {"errors": "ignore"},
        {"start": -1},
        {"start": (0, -1)},
        {"threads": 0},
    ],
)
def test_options_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption) as caught:
        count_pieces("a", **options)
    assert caught.value.argument == next(iter(options))


def test_an_exception_of_the_documents_passes_through() -> None:
    def documents() -> Iterator[str]:
        yield "a"
        raise OSError("of mine")

    with pytest.raises(OSError, match="of mine"):
        count_pieces(documents())
    with pytest.raises(TypeError, match="document 1: expected str, bytes or a path, not int"):
        count_pieces(["a", 1])  # type: ignore[list-item]


# Files of counts


def test_both_formats_hold_the_counts(tmp_path: Path) -> None:
    counts = count_pieces(
        [*DOCUMENTS, b"\xff\\\t\r\n\x00\x7f", "\u2028 é\x85"], pattern="cl100k", start=(5, 6), min_count=2
    )
    counts.save(tmp_path / "a.parquet")
    assert content(PieceCounts.load(tmp_path / "a.parquet")) == content(counts)
    counts.save(tmp_path / "a.tsv")
    lines = PieceCounts.load(tmp_path / "a.tsv")
    assert sorted(lines.items()) == sorted(counts.items())
    assert (lines.documents, lines.bytes, lines.rare) == (counts.documents, counts.bytes, counts.rare)
    assert not lines.has_positions
    assert toksmith.train(lines, 400) == toksmith.train(counts, 400)
    with pytest.raises(InvalidOption, match="do not record where pieces occur first"):
        toksmith.train(lines, 400, ties="first_seen")
    assert not (lines + counts).has_positions
    lines.save(tmp_path / "b.parquet")
    assert content(PieceCounts.load(tmp_path / "b.parquet")) == content(lines)
    assert arrow.parquet.read_table(tmp_path / "b.parquet").column_names == ["piece", "count"]


def test_equal_counts_are_equal_files(tmp_path: Path) -> None:
    for suffix in (".tsv", ".parquet"):
        for number, parts in enumerate([DOCUMENTS, DOCUMENTS[::-1]]):
            counts = count_pieces(parts, threads=number + 1)
            PieceCounts(counts._core, counts.patterns, ()).save(tmp_path / f"{number}{suffix}")
        if suffix == ".tsv":  # Parquet has first positions
            assert (tmp_path / f"0{suffix}").read_bytes() == (tmp_path / f"1{suffix}").read_bytes()


def test_lines_of_other_tools_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_bytes(b"3\tlow\n2\t low\\\\er\\x00\n")
    counts = PieceCounts.load(path, pattern="gpt2")
    assert counts.items() == [(b" low\\er\0", 2), (b"low", 3)]
    assert toksmith.train(counts, 258, pattern="gpt2").model.merges.tolist() == [[108, 111, 256], [256, 119, 257]]
    with pytest.raises(InvalidOption, match="pattern=None is not possible"):
        PieceCounts.load(path)
    counts.save(path)
    with pytest.raises(InvalidOption, match="contains its own"):
        PieceCounts.load(path, pattern="gpt2")


@pytest.mark.parametrize(
    "lines, said",
    [
        (b"a", "a.tsv:1: there is no tab"),
        (b"1\ta\n1\ta\n", "a.tsv:row 2: the piece is in an earlier row"),
        (b"1\t\n", "a.tsv:row 1: expected a piece of at least one byte"),
        (b"0\ta\n", "a.tsv:row 1: expected a piece of at least one byte"),
        (b"1\ta\nx\tb\n", "a.tsv:2: the count is not a 64-bit number"),
        (b"1\t\\q\n", "a.tsv:1: an escape or a tab in the piece is wrong"),
        (b"18446744073709551616\ta\n", "a.tsv:1: the count is not a 64-bit number"),
        (b"# toksmith piece counts: {}\n", "a.tsv: its facts"),
        (b"# toksmith piece counts: \xff\n", "a.tsv: its facts"),
        (b'# toksmith piece counts: {"version": 2}\n', "a.tsv: its facts"),
    ],
)
def test_hostile_lines_are_refused(lines: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(lines)
    with pytest.raises(FormatError) as caught:
        PieceCounts.load(tmp_path / "a.tsv", **({} if lines.startswith(b"#") else {"pattern": "gpt2"}))
    assert str(caught.value).removeprefix(f"{tmp_path}/").startswith(said)


def test_hostile_tables_are_refused(tmp_path: Path) -> None:
    good = tmp_path / "good.parquet"
    count_pieces("a b a").save(good)
    table = arrow.parquet.read_table(good)
    facts = table.schema.metadata
    cut, path = good.read_bytes(), tmp_path / "bad.parquet"
    bad_tables = {
        "lacks the facts": table.replace_schema_metadata(None),
        "has the columns": table.drop_columns("byte"),
        "nulls": table.set_column(1, "count", arrow.array([1, 1, None], arrow.uint64())),
        "a type that save": table.set_column(1, "count", arrow.array([1, 1, -1])),
        "row 2: the piece is in an earlier row": table.set_column(0, "piece", arrow.array([b"x", b"x", b"y"])),
        "its facts": table.replace_schema_metadata({next(iter(facts)): b"{"}),
    }
    for said, bad in bad_tables.items():
        if said not in ("lacks the facts", "its facts"):
            bad = bad.replace_schema_metadata(facts)
        arrow.parquet.write_table(bad, path)
        with pytest.raises(FormatError, match=said):
            PieceCounts.load(path)
    for data in (cut[:-9], b"", cut[:100], b"PAR1" * 10):
        path.write_bytes(data)
        with pytest.raises(FormatError, match="cannot be read"):
            PieceCounts.load(path)
    for missing in ("nowhere.parquet", "nowhere.tsv", "nowhere.csv"):
        with pytest.raises(FormatError, match=r"cannot be read|the suffix names no format"):
            PieceCounts.load(tmp_path / missing)


def test_a_missing_library_is_named_and_never_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "a.parquet", ["a"])
    counts = count_pieces("a")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    choices: list[Any] = ["stop", "skip"]
    for errors in choices:
        with pytest.raises(CorpusError, match=r"a\.parquet: .* pip install 'toksmith\[parquet\]'"):
            count_pieces(tmp_path, errors=errors)
    with pytest.raises(FormatError, match=r"pip install 'toksmith\[parquet\]'"):
        counts.save(tmp_path / "c.parquet")


def test_large_positions_are_exact() -> None:
    # Documents and bytes that do not fit in the packed form.
    for start in ((1 << 40, 5), (3, 1 << 40), ((1 << 63) - 9, (1 << 63) - 99)):
        counts = count_pieces("ab cd ab", pattern=r"\S+|\s+", start=start)
        document, byte = (counts._core.columns()[1][at] for at in (2, 3))
        assert np.array_equal(document, np.full(3, start[0], np.uint64))
        assert byte.tolist() == [start[1] + 2, start[1], start[1] + 3]
