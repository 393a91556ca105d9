"""Options of the merge loop: digits, whole characters, seed tokens, superwords, a base tokenizer, and checkpoints.

The tests check the effect of each option on the finished tokenizer, and compare the rest with a training without it.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_texts import broken_bytes, small_texts
from hypothesis import given
from hypothesis import strategies as st
from processors import has_ended, processor_s, until
from systems import WINDOWS

import toksmith
from toksmith import Tokenizer, reference
from toksmith.errors import FormatError, InvalidOption, TrainingInterrupted

REAL_TEXT = Path(reference.__file__).read_text(encoding="utf-8")
GPT2_ORDER = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
GPT2_ORDER += [byte for byte in range(256) if byte not in GPT2_ORDER]
ties = pytest.mark.parametrize("ties", ["lowest_ids", "first_seen"])


def tokens(tok: Tokenizer) -> list[bytes]:
    return [*tok.model.tokens]


def merges_of(tok: Tokenizer) -> list[tuple[bytes, bytes]]:
    """The bytes of both sides of each merge."""
    return [(tok.token_bytes(left), tok.token_bytes(right)) for left, right, _ in tok.model.merges.tolist()]


# Digits


@pytest.mark.parametrize("length", range(1, 14))
def test_groups_from_the_right_are_thousands(length: int) -> None:
    number = "9876543210987"[:length]
    tok = toksmith.train("x", merges=0, pattern=None, digits="3_right")
    assert [piece.decode() for piece in tok._engine.split(number)] == f"{int(number):,}".split(",")


@pytest.mark.slow
def test_long_runs_of_digits_take_linear_time() -> None:
    def train(digits: int) -> Tokenizer:
        return toksmith.train("7" * digits, merges=1, digits="3_right")

    assert processor_s(lambda: train(1_500_000), 2) < 30 * processor_s(lambda: train(150_000), 2) + 0.05


# Characters


@pytest.mark.slow
@given(
    corpus=st.lists(st.one_of(small_texts("aé☀"), small_texts("😀😁é"), broken_bytes()), min_size=1, max_size=4),
    ties=st.sampled_from(["lowest_ids", "first_seen"]),
)
def test_no_token_crosses_the_boundary_of_a_character(corpus: list[str | bytes], ties: Any) -> None:
    if not any(corpus):
        return
    tok = toksmith.train(corpus, merges=60, pattern=None, ties=ties, whole_characters=True)
    for token in tokens(tok)[256:]:
        try:
            token.decode()
        except UnicodeDecodeError as problem:
            # The token is the beginning of one character.
            assert (problem.start, problem.reason) == (0, "unexpected end of data")


# The alphabet and seed tokens


@ties
def test_the_alphabet_of_gpt2_only_renames_bytes(ties: Any) -> None:
    tok = toksmith.train(REAL_TEXT, 400, alphabet="gpt2", ties=ties)
    assert tokens(tok)[:256] == [bytes([byte]) for byte in GPT2_ORDER]
    assert tok.decode(tok.encode(REAL_TEXT)) == REAL_TEXT
    if ties == "first_seen":
        assert merges_of(tok) == merges_of(toksmith.train(REAL_TEXT, 400, ties=ties))


def test_seed_tokens_come_first_and_are_one_token_each() -> None:
    seeds: list[str | bytes] = ["zebra", "def", "é", b"\xff\xfe", "aaaa"]
    tok = toksmith.train("low lower lowest", 280, seed_tokens=seeds, pattern=None)
    for seed in seeds:
        assert tok.decode_bytes(tok.encode(seed)) == (seed if isinstance(seed, bytes) else seed.encode())
        assert len(tok.encode(seed)) == 1
    assert (b"l", b"o") in merges_of(tok)
    assert tok.model.training is not None
    assert int(tok.model.training.counts[0]) == 0  # a seed is made even if no document contains it
    assert tok.model.training.left[-1] == tok.count("low lower lowest")


def test_a_seed_token_must_be_one_piece() -> None:
    with pytest.raises(InvalidOption, match="seed_tokens"):
        toksmith.train("low", 300, seed_tokens=["two words"])
    with pytest.raises(TypeError, match="seed_tokens"):
        toksmith.train("low", 300, seed_tokens="low")


# A base tokenizer


def test_a_base_whose_bytes_decide_is_continued_with_its_ids(tmp_path: Path) -> None:
    base = toksmith.train(REAL_TEXT, 400, pattern="cl100k", special_tokens=["<|done|>"])
    base.save(tmp_path / "base.tiktoken")
    loaded = toksmith.load(tmp_path / "base.tiktoken", pattern="cl100k", special_tokens=base.special_tokens)
    assert loaded.model.merge_rule == "bytes"
    more = toksmith.train(REAL_TEXT, 600, base=loaded, special_tokens=["<|more|>"])
    assert more.vocab_size == 600
    assert more.special_tokens == {"<|done|>": 399, "<|more|>": 599}
    whole = toksmith.train(REAL_TEXT, 599, pattern="cl100k")
    assert tokens(more)[:399] == tokens(base)
    assert tokens(more)[399:] == tokens(whole)[399:598]
    found, due = more.encode(REAL_TEXT), toksmith.rewind(whole, 598).encode(REAL_TEXT)
    assert [more.token_bytes(id) for id in found] == [whole.token_bytes(id) for id in due]


def test_a_base_of_another_pattern_is_refused() -> None:
    base = toksmith.train("low", merges=1, pattern="gpt2")
    with pytest.raises(InvalidOption, match="pattern"):
        toksmith.train("low", merges=1, pattern="cl100k", base=base)
    with pytest.raises(InvalidOption, match="base"):
        toksmith.train("low", merges=1, base=toksmith.train("low", kind="chars"))
    with pytest.raises(InvalidOption, match="vocab_size"):
        toksmith.train("low", 256, base=base)
    assert toksmith.train("low low low", merges=1, pattern="gpt2", base=base).vocab_size == 258


# Superwords


def test_superwords_hold_several_words_and_encode_to_the_trained_count() -> None:
    texts = ["the cat of the house\n", "one of the cats, of the two", "of the 12 of the 34"]
    plain = toksmith.train(texts, 290)
    tok = toksmith.train(texts, 290, superwords=12)
    assert any(token.count(b" ") > 1 for token in tokens(tok))
    assert not any(re.search(rb"\d.*\D|\D.*\d", token) for token in tokens(tok))
    assert merges_of(tok)[: len(merges_of(plain)) - 12] == merges_of(plain)[:-12]
    assert tok.model.training is not None
    assert tok.count_batch(texts).sum() == tok.model.training.left[-1] < plain.count_batch(texts).sum()


def test_superwords_need_a_corpus_that_can_be_read_twice() -> None:
    for corpus in (iter(["low low"]), toksmith.corpus.count("low low")):
        with pytest.raises(InvalidOption, match="superwords"):
            toksmith.train(corpus, 260, superwords=1)
    with pytest.raises(InvalidOption, match="superwords"):
        toksmith.train("low low", 260, superwords=5)


def test_superwords_are_not_rewound_into_another_phase() -> None:
    with pytest.raises(InvalidOption, match="single sequence of merges"):
        toksmith.rewind(toksmith.train("low low lower low low lower", 262, superwords=2), 260)


@pytest.mark.proof
@pytest.mark.skipif("TOKSMITH_EXHAUSTIVE" not in os.environ, reason="lacks TOKSMITH_EXHAUSTIVE=1 (minutes)")
def test_superwords_save_a_seventh_of_the_tokens_and_hf_gives_the_same(corpora_dir: Path, tmp_path: Path) -> None:
    tokenizers: Any = pytest.importorskip("tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3")
    from peers import documents

    texts = [text for _, text in zip(range(20_000), documents(corpora_dir / "english.jsonl.gz"), strict=False)]
    sizes = np.cumsum([len(text.encode()) for text in texts])
    end, unseen_end = np.searchsorted(sizes, [20e6, 24e6])
    seen, unseen = texts[:end], texts[end:unseen_end]
    plain = toksmith.train(seen, 32_768)
    tok = toksmith.train(seen, 32_768, superwords=16_000)
    before, after = plain.count_batch(unseen).sum(), tok.count_batch(unseen).sum()
    assert after <= 0.85 * before, f"{after} of {before}"
    tok.save(tmp_path / "tokenizer.json")
    hf = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert [encoding.ids for encoding in hf.encode_batch(unseen, add_special_tokens=False)] == tok.encode_batch(unseen)


# Checkpoints

ALL_OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "first seen": {"ties": "first_seen"},
    "superwords": {"superwords": 120},
    "seeds and whole characters": {"seed_tokens": ["zebra"], "whole_characters": True, "digits": "1"},
}


@pytest.mark.parametrize("name", ALL_OPTIONS)
def test_a_checkpoint_cut_anywhere_gives_the_same_bytes(name: str, tmp_path: Path) -> None:
    options, text, kept = ALL_OPTIONS[name], REAL_TEXT[:9000], tmp_path / "kept"
    due = toksmith.train(text, 500, **options)
    due.save(tmp_path / "due.toksmith")
    toksmith.train(text, 500, checkpoint=kept, **options)
    whole = kept.read_bytes()
    first_line = whole.index(b"\n") + 1
    for size in (first_line, first_line + 3, len(whole) // 2, len(whole) * 3 // 4, len(whole) - 1, len(whole)):
        kept.write_bytes(whole[:size])
        toksmith.train(text, 500, checkpoint=kept, **options).save(tmp_path / "found.toksmith")
        assert (tmp_path / "found.toksmith").read_bytes() == (tmp_path / "due.toksmith").read_bytes()
        assert kept.read_bytes() == whole
    if "superwords" not in options:
        for size in (300, 600):
            assert toksmith.train(text, size, checkpoint=kept, **options) == toksmith.train(text, size, **options)


def test_a_checkpoint_of_other_inputs_is_refused(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    toksmith.train(["low lower", "lowest"], 262, checkpoint=kept)
    toksmith.train(["lowest", "low lower"], 262, checkpoint=kept)  # the order of documents does not matter
    for corpus, options in [
        ("low lower lowest", {}),
        (["low lower", "lowest"], {"ties": "first_seen"}),
        (["low lower", "lowest"], {"pattern": "gpt2"}),
        (["low lower", "lowest"], {"min_count": 2}),
        (["low lower", "lowest"], {"seed_tokens": ["low"]}),
        (["low lower", "lowest"], {"superwords": 1}),
    ]:
        with pytest.raises(InvalidOption, match="checkpoint of the same corpus and options"):
            toksmith.train(corpus, 262, checkpoint=kept, **options)
    seen = tmp_path / "seen"
    toksmith.train(["ab", "ba"], 258, checkpoint=seen, ties="first_seen")
    with pytest.raises(InvalidOption, match="positions"):
        toksmith.train(["ba", "ab"], 258, checkpoint=seen, ties="first_seen")


def test_a_damaged_checkpoint_is_refused_with_its_line(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    toksmith.train("low lower lowest", 262, checkpoint=kept)
    whole = kept.read_text().splitlines(keepends=True)
    kept.write_text("".join([*whole[:2], "1 2 x\n", *whole[3:]]))
    with pytest.raises(FormatError, match=r"kept:3: expected six numbers"):
        toksmith.train("low lower lowest", 262, checkpoint=kept)
    kept.write_text("".join([whole[0], " ".join([*whole[1].split()[:4], "77", "0"]) + "\n", *whole[2:]]))
    with pytest.raises(InvalidOption, match="merge 0 has the count 77 in the file"):
        toksmith.train("low lower lowest", 262, checkpoint=kept)
    for content in ("", "no checkpoint\n", json.dumps({"toksmith_checkpoint": 9}) + "\n", "[]\n"):
        kept.write_text(content)
        with pytest.raises(FormatError, match="not a checkpoint"):
            toksmith.train("low lower lowest", 262, checkpoint=kept)


KILLED = """
import sys, toksmith
text, kept, out = open(sys.argv[1], "rb").read(), sys.argv[2], sys.argv[3]
toksmith.train(text, 3000, pattern=None, checkpoint=kept).save(out)
"""


@pytest.mark.proof
def test_a_killed_training_ends_with_the_same_bytes(tmp_path: Path) -> None:
    text = tmp_path / "text"
    rng = np.random.default_rng(7)
    text.write_bytes(b" ".join(b"w%d" % word for word in rng.zipf(1.3, 300_000) % 50_000))
    command = [sys.executable, "-c", KILLED, str(text), str(tmp_path / "kept"), str(tmp_path / "found.toksmith")]
    kept, whole = tmp_path / "kept", tmp_path / "whole"
    toksmith.train(text.read_bytes(), 3000, pattern=None, checkpoint=whole).save(tmp_path / "due.toksmith")
    for part in sorted(rng.uniform(0, 0.9, 10 if "TOKSMITH_EXHAUSTIVE" in os.environ else 3)):
        process = subprocess.Popen(command)
        size = int(part * whole.stat().st_size)
        until(lambda: has_ended(process) or (kept.exists() and kept.stat().st_size >= size), "it trains")  # noqa: B023 - called in this turn
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True)
    assert (tmp_path / "found.toksmith").read_bytes() == (tmp_path / "due.toksmith").read_bytes()


def test_ctrl_c_in_the_second_phase_keeps_the_first() -> None:
    text = REAL_TEXT * 3
    words = toksmith.train(text, 500)
    counted = 0

    def interrupt(progress: toksmith.types.Progress) -> None:
        nonlocal counted
        counted += progress.phase == "counting" and progress.total is not None
        if counted == 2 and progress.phase == "merging":
            raise KeyboardInterrupt

    with pytest.raises(TrainingInterrupted) as stopped:
        toksmith.train(text, 600, superwords=100, progress=interrupt)
    tok = stopped.value.tokenizer
    assert tok.model.merges.tolist()[: len(words.model.merges)] == words.model.merges.tolist()
    assert tok.decode(tok.encode(text)) == text


def test_the_report_has_the_cost_of_training() -> None:
    report = toksmith.train("low lower", 258).run_report
    assert report is not None
    assert report["cpu_s"] > 0
    assert WINDOWS or 10 < report["peak_memory_mib"] < 100_000
