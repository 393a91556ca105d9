"""Each metric on cases small enough to do on paper, conditions that must not change a value, and published tables."""

import gzip
import json
import os
import pickle
import random
from collections.abc import Sequence
from math import log2
from pathlib import Path

import numpy as np
import pytest
import regex
from processors import processor_s
from shown_results import check_shown

import toksmith
from toksmith import metrics
from toksmith._model.model import TokenTable, regex_split
from toksmith.metrics import METRICS, measure

WORD = r"\p{L}[\p{L}\p{M}]*"


def cutting(*tokens: str | bytes) -> toksmith.Tokenizer:
    """A tokenizer that cuts a text into these tokens where it can, the earlier ones first, and into bytes elsewhere."""
    data = [token if isinstance(token, bytes) else token.encode() for token in tokens]
    table = TokenTable.of([*(bytes([byte]) for byte in range(256)), *data])
    texts = [regex.escape(token) for token in tokens if isinstance(token, str)]
    splitters = (regex_split("|".join(texts)),) if texts else ()
    ids = np.arange(len(table), dtype=np.uint32)
    return toksmith.Tokenizer(toksmith.Model(table, ids, merge_rule="bytes", whole_piece=True, splitters=splitters))


# name → tokens, text, value: worked out in the comment
BY_HAND: dict[str, tuple[Sequence[str | bytes], str, float]] = {
    # 10 bytes (é has two), tokens: "low", " ", "caf", "é"'s bytes as one token, " "
    "bytes_per_token": (["low", "caf", "é"], "low café l", 11 / 6),
    "chars_per_token": (["low", "caf", "é"], "low café l", 10 / 6),
    # "low" one token; " lower" is " lo" and "wer": three tokens in two words
    "fertility": (["low", " lo", "wer"], "low lower", 3 / 2),
    "continued_words": (["low", " lo", "wer"], "low lower", 1 / 2),
    "single_token_words": (["low", " lo", "wer"], "low lower", 1 / 2),
    # 258 entries, of which "aa", "b" were used
    "vocabulary_used": (["aa", "bb"], "aab", 2 / 258),
    # tokens a a b b: one bit, of log2(256) = 8
    "shannon_efficiency": ([], "aabb", 1 / 8),
    # a a a b: -(2/3) log2((3/4)^2.5 + (1/4)^2.5) of 8 bits
    "renyi_efficiency": ([], "aaab", log2(0.75**2.5 + 0.25**2.5) / -1.5 / 8),
    # two tokens "ab", "cd", one bit each: 2 bits for 4 bytes
    "unigram_bits_per_byte": (["ab", "cd"], "abcd", 2 / 4),
    # 256 single bytes, one of 4 and one of 2
    "vocabulary_token_bytes": (["abcd", "ab"], "x", 262 / 258),
    # 128 single bytes above 0x7F, and E2 98; " a" is whole
    "partial_entries": ([b"\xe2\x98", " a"], "x", 129 / 258),
    # é is two single bytes, a one token
    "partial_tokens": ([], "aé", 2 / 3),
    # of the two characters é is cut; of its two tokens one holds its first byte
    "cut_characters": ([], "aé", 1 / 2),
    # 1234 as 1+234: the one cut is where it should be: F1 1. 5678 as 56+78: F1 0. 98345 as 9+8+345: one of two, F1 2/3
    "digit_alignment": (["1234x", "234", "345", "56", "78"], "1234 5678 98345", (1 + 0 + 2 / 3) / 3),
    # of three numbers of two digits one is whole: log2(3) - 2/3 bits; one of three digits: 0 bits
    "digit_pattern_entropy": (["12", "789"], "12 34 56 789", 3 * (log2(3) - 2 / 3) / 4),
    # "    x": two tokens end in it; "\ty": one does
    "indentation": (["  "], "    x\n\ty\nz", 3 / 2),
    # " ", "\n" of a, " ", b, "\n", " c"
    "white_tokens": ([" c"], "a b\n c", 2 / 5),
    # " b" is two tokens, " c" one; a has no space before it
    "glued_spaces": ([" c"], "a b c", 1 / 2),
    "round_trip": ([], "é\n", 1.0),
}


@pytest.mark.parametrize("name", METRICS)
def test_a_value_equals_a_worked_example(name: str) -> None:
    tokens, text, value = BY_HAND[name]
    report = measure(cutting(*tokens), [text])
    assert report[name] == pytest.approx(value, rel=1e-12)
    numerator, denominator = report.parts(name)
    assert numerator / denominator == report[name]


@pytest.mark.parametrize("name", METRICS)
def test_the_empty_sample_leaves_values_undefined(name: str) -> None:
    tok = cutting("ab")
    of_vocabulary = ("vocabulary_token_bytes", "partial_entries")
    assert (measure(tok, [])[name] is None) == (name not in of_vocabulary)
    one_empty = measure(tok, [""])
    assert (one_empty[name] is None) == (name not in (*of_vocabulary, "round_trip"))
    assert one_empty.sample.documents == 1
    check_shown(one_empty)


def test_a_corpus_without_words_or_numbers_leaves_them_undefined() -> None:
    report = measure(cutting(), ["!? \n", "--"])
    assert metrics.names() == list(METRICS) == list(report)
    undefined = {name for name in METRICS if report[name] is None}
    words = {"fertility", "continued_words", "single_token_words", "glued_spaces"}
    assert undefined == words | {"digit_alignment", "digit_pattern_entropy", "indentation"}
    assert report.to_dict()["metrics"]["fertility"]["value"] is None


# What changes no value

TEXTS = [
    "One 123 zwei\n    drei é日本\n\n\tvier  fünf\n",
    "हिन्दी 2024 x",
    "",
    "한국어 텍스트 12345 words",
    "\r\n  end  ",
]


@pytest.fixture(scope="module")
def tok() -> toksmith.Tokenizer:
    return toksmith.train(" ".join(TEXTS) * 3, merges=60, special_tokens=["<|end|>"])


def test_shards_threads_and_order_change_nothing(tok: toksmith.Tokenizer) -> None:
    texts = TEXTS * 40
    whole = measure(tok, texts)
    assert whole == measure(tok, texts, threads=1) == measure(tok, reversed(texts), threads=3)
    shards = [measure(tok, texts[start::7]) for start in range(7)]
    assert sum(shards[1:], shards[0]) == whole
    assert sum(shards[:0:-1], pickle.loads(pickle.dumps(shards[0]))).to_dict() == whole.to_dict()
    with pytest.raises(toksmith.errors.InvalidOption, match="one tokenizer"):
        measure(tok, ["a"]) + measure(cutting(), ["a"])


def test_a_long_text_is_counted_in_parts_as_in_one(tok: toksmith.Tokenizer) -> None:
    text = "\n".join(TEXTS) * 12_000
    assert len(text.encode()) > 1 << 20
    whole = measure(tok, [text], threads=1)
    assert measure(tok, [text], threads=2) == whole == measure(tok, [text.encode()], threads=2)
    assert whole.sample.documents == 1


def test_documents_come_from_texts_iterators_and_files(tok: toksmith.Tokenizer, tmp_path: Path) -> None:
    whole = measure(tok, TEXTS)
    assert measure(tok, iter(TEXTS)) == whole == measure(tok, [text.encode() for text in TEXTS])
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps({"body": text}) + "\n" for text in TEXTS), encoding="utf-8")
    assert measure(tok, toksmith.files(path, field="body")) == whole


def test_the_parts_of_ratios_add_up(tok: toksmith.Tokenizer) -> None:
    report = measure(tok, TEXTS)
    assert report["continued_words"] + report["single_token_words"] == pytest.approx(1)  # type: ignore[operator]
    assert report.sample.tokens == sum(len(tok.encode(text, special="text")) for text in TEXTS)
    assert report.sample.bytes == sum(len(text.encode()) for text in TEXTS)
    assert report.sample.chars == sum(map(len, TEXTS))
    assert report.sample.ids.sum() == report.sample.tokens
    assert report.sample.words == sum(len(regex.findall(WORD, text)) for text in TEXTS)
    counts = np.bincount(np.concatenate([tok.encode_array(text) for text in TEXTS]), minlength=tok.vocab_size)
    assert np.array_equal(report.sample.ids, counts)


def test_the_alphabet_of_a_word_does_not_matter() -> None:
    latin, russian = cutting("ab", " c"), cutting("жш", " д")
    first, second = measure(latin, ["ab c ab"]), measure(russian, ["жш д жш"])
    for name in ("fertility", "continued_words", "glued_spaces", "chars_per_token", "round_trip"):
        assert first[name] == second[name]


def test_special_tokens_are_text_unless_they_are_allowed(tok: toksmith.Tokenizer) -> None:
    text = "end <|end|>"
    assert measure(tok, [text]).sample.tokens == tok.count(text)
    assert measure(tok, [text], special="allow").sample.ids[tok.special_tokens["<|end|>"]] == 1
    only = measure(tok, ["<|end|>"], special="allow")
    assert (only.sample.tokens, only["fertility"], only["round_trip"]) == (1, 1.0, 1.0)
    with pytest.raises(toksmith.errors.SpecialTokenInText) as caught:
        measure(tok, ["é" * 400_000 + " a" * 400_000 + text], special="raise", threads=2)
    assert (caught.value.offset, caught.value.index) == (1_200_004, 0)


def test_invalid_bytes_are_counted_but_are_not_words() -> None:
    report = measure(cutting(), [b"a\xff\xd0 b\xf7\xbf\xbf\xbf"])
    assert (report.sample.words, report.sample.bytes, report["round_trip"]) == (2, 9, 1.0)


def test_a_text_that_a_normalizer_changes_is_counted_as_unplaced(vocab_dir: Path) -> None:
    tok = toksmith.load(vocab_dir / "mistral_v1.model")
    report = measure(tok, ["Hello there", "ab"])
    assert (report.sample.unplaced, report["round_trip"]) == (2, 1.0)
    assert report["bytes_per_token"] == 13 / len([*tok.encode("Hello there"), *tok.encode("ab")])
    check_shown(report)


def test_a_report_is_shown_in_every_medium(tok: toksmith.Tokenizer) -> None:
    report = measure(tok, TEXTS)
    check_shown(report)
    assert "does not show" in str(report)
    assert set(report.to_dict()["tables"]) == {"token_lengths", "number_cuts", "indent_levels"}


# The tables of others


def first_bytes(corpora: Path, name: str) -> str:
    """The first 1,500,000 bytes of a corpus, its documents joined by a newline, without a last incomplete character."""
    data = b""
    with gzip.open(corpora / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            data += (b"\n" if data else b"") + json.loads(line)["text"].encode()
            if len(data) > 1_500_000:
                break
    return data[:1_500_000].decode("utf-8", "ignore")


@pytest.fixture(scope="module")
def published(vocab_dir: Path) -> dict[str, toksmith.Tokenizer]:
    patterns = {"r50k_base": "gpt2", "cl100k_base": "cl100k", "o200k_base": "o200k"}
    return {name: toksmith.load(vocab_dir / f"{name}.tiktoken", pattern=pattern) for name, pattern in patterns.items()}


# tokens, bytes and chars per token, distinct ids, bits per byte, both efficiencies, % partial, fertility, continued words
MEASURED = {
    ("english", "r50k_base"): (499467, 3.003, 2.991, 20927, 3.093, 0.595, 0.304, 1.05, 1.185, 0.142),
    ("english", "cl100k_base"): (409029, 3.667, 3.653, 24519, 2.854, 0.630, 0.434, 0.11, 1.149, 0.115),
    ("english", "o200k_base"): (404010, 3.713, 3.698, 25641, 2.828, 0.596, 0.411, 0.01, 1.141, 0.110),
    ("code", "r50k_base"): (711474, 2.108, 2.104, 10343, 3.278, 0.443, 0.161, 0.44, 1.281, 0.203),
    ("code", "cl100k_base"): (398071, 3.768, 3.761, 16232, 2.681, 0.608, 0.399, 0.26, 1.147, 0.117),
    ("code", "o200k_base"): (401062, 3.740, 3.733, 16118, 2.698, 0.573, 0.377, 0.10, 1.151, 0.121),
    ("korean", "r50k_base"): (1096665, 1.368, 0.811, 5230, 4.854, 0.425, 0.345, 77.37, 5.917, 0.744),
    ("korean", "cl100k_base"): (503105, 2.981, 1.767, 7857, 3.156, 0.566, 0.476, 28.03, 2.538, 0.645),
    ("korean", "o200k_base"): (379739, 3.950, 2.341, 9477, 2.603, 0.584, 0.450, 2.68, 1.688, 0.440),
    ("hindi", "r50k_base"): (627229, 2.391, 1.778, 8414, 3.060, 0.469, 0.281, 57.01, 4.187, 0.641),
    ("hindi", "cl100k_base"): (448045, 3.348, 2.489, 10763, 2.603, 0.525, 0.373, 31.39, 2.834, 0.616),
    ("hindi", "o200k_base"): (275999, 5.435, 4.040, 12360, 1.955, 0.603, 0.447, 0.40, 1.124, 0.093),
    ("russian", "r50k_base"): (840087, 1.786, 1.167, 3198, 3.543, 0.405, 0.326, 37.02, 5.631, 0.756),
    ("russian", "cl100k_base"): (395153, 3.796, 2.481, 4965, 2.448, 0.559, 0.453, 2.66, 2.188, 0.527),
    ("russian", "o200k_base"): (277737, 5.401, 3.530, 9584, 1.996, 0.612, 0.461, 0.29, 1.395, 0.284),
    ("chinese", "r50k_base"): (867554, 1.729, 1.196, 9724, 4.753, 0.526, 0.340, 54.65, 5.067, 0.475),
    ("chinese", "cl100k_base"): (472705, 3.173, 2.194, 14294, 3.339, 0.638, 0.487, 14.95, 2.863, 0.405),
    ("chinese", "o200k_base"): (409564, 3.662, 2.533, 16279, 2.996, 0.623, 0.454, 2.03, 2.328, 0.396),
}


@pytest.mark.slow
@pytest.mark.parametrize("corpus", sorted({corpus for corpus, _ in MEASURED}))
def test_real_texts_have_the_measured_figures(
    corpus: str, corpora_dir: Path, published: dict[str, toksmith.Tokenizer]
) -> None:
    text = first_bytes(corpora_dir, corpus)
    words = [f" {word}" for word in regex.findall(WORD, text[:400_000])]
    for name, tok in published.items():
        report, of_words = measure(tok, [text]), measure(tok, words)
        shown = [report[key] for key in ("bytes_per_token", "chars_per_token", "unigram_bits_per_byte")]
        shown += [report["shannon_efficiency"], report["renyi_efficiency"], of_words["fertility"]]
        shown += [of_words["continued_words"]]
        tokens, *others = MEASURED[corpus, name]
        per_byte, per_char, used, bits, shannon, renyi, partial, fertility, continued = others
        assert (report.sample.tokens, report.parts("vocabulary_used").numerator) == (tokens, used)
        assert shown == pytest.approx([per_byte, per_char, bits, shannon, renyi, fertility, continued], abs=5.1e-4)
        assert 100 * report["partial_tokens"] == pytest.approx(partial, abs=5.1e-3)  # type: ignore[operator]
        assert report["round_trip"] == 1.0


def tables(tok: toksmith.Tokenizer, texts: list[str]) -> dict[str, list[list[float]]]:
    return {name: table["rows"] for name, table in measure(tok, texts).to_dict()["tables"].items()}


def test_numbers_are_cut_as_others_measured(published: dict[str, toksmith.Tokenizer]) -> None:
    draw = random.Random(1)
    numbers = {size: [str(draw.randrange(10 ** (size - 1), 10**size)) for _ in range(400)] for size in range(3, 13)}
    for name in ("cl100k_base", "o200k_base"):
        for size, drawn in numbers.items():
            [row] = tables(published[name], drawn)["number_cuts"]
            assert row[:5] == [size, 400, 1.0 if size % 3 == 0 else 0.0, 1, 0.0]
    rows = {size: tables(published["r50k_base"], drawn)["number_cuts"][0] for size, drawn in numbers.items()}
    assert rows[3][2] == pytest.approx(0.82, abs=0.05)
    assert all(0.2 < rows[size][2] < 0.5 for size in range(4, 13))
    assert (rows[4][3], rows[12][4]) == (5, pytest.approx(4.65, abs=0.25))
    every = measure(published["r50k_base"], [str(number) for number in range(1000, 10_000)]).sample.numbers
    ways = {way: int(every[8 | cuts]) for way, cuts in {"2+2": 2, "1+3": 1, "3+1": 4, "4": 0, "1+2+1": 5}.items()}
    assert ways == {"2+2": 5807, "1+3": 2538, "3+1": 538, "4": 88, "1+2+1": 29}


def test_each_level_of_indentation_has_the_measured_tokens(published: dict[str, toksmith.Tokenizer]) -> None:
    lines = "\n".join("    " * level + "return" for level in range(1, 9))
    expected = {"r50k_base": [3, 7, 11, 15, 19, 23, 27, 31], "cl100k_base": [1] * 8, "o200k_base": [1] * 8}
    for name, tok in published.items():
        assert [row[3] for row in tables(tok, lines.split("\n"))["indent_levels"]] == expected[name]


@pytest.mark.proof
@pytest.mark.alone
@pytest.mark.skipif("TOKSMITH_SPEED" not in os.environ, reason="measures speed: lacks TOKSMITH_SPEED=1")
@pytest.mark.parametrize("corpus", ["english", "code", "chinese", "russian"])
def test_measuring_is_not_far_slower_than_encoding(
    corpus: str, corpora_dir: Path, published: dict[str, toksmith.Tokenizer]
) -> None:
    with gzip.open(corpora_dir / f"{corpus}.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    for threads in (1, 2):
        for name, tok in published.items():
            pairs = [
                (
                    processor_s(lambda: tok.encode_ragged(texts, special="text", threads=threads)),  # noqa: B023 - called in this turn
                    processor_s(lambda: measure(tok, texts, threads=threads)),  # noqa: B023
                )
                for _ in range(7)
            ]
            encoding, measuring = map(min, zip(*pairs, strict=True))
            ratio = encoding / measuring
            print(f"{corpus} {name} {threads} threads: {ratio:.2f} of encoding")
            assert ratio >= 0.15  # half of what is aimed at
