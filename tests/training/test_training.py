"""Training: the choice of pairs, the stop, the record, and the sources of documents.

Counts and lengths are recounted naively, without the shortcuts of the core; equality with the specification on drawn
corpora is in test_core_equals_reference.py.
"""

import gzip
import itertools
import json
import logging
import random
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_texts import broken_bytes, small_texts
from hypothesis import given
from hypothesis import strategies as st
from processors import LIMIT_S, interrupt
from systems import needs

import toksmith
from toksmith import Tokenizer, reference
from toksmith.errors import CorpusError, InvalidOption, NotInVocabulary, TrainingInterrupted

REAL_TEXT = Path(reference.__file__).read_text(encoding="utf-8")


def triples(tok: Tokenizer) -> list[list[int]]:
    return tok.model.merges.tolist()


def pairs(tok: Tokenizer) -> list[tuple[bytes, bytes]]:
    """The bytes of both sides of each merge."""
    return [(tok.token_bytes(left), tok.token_bytes(right)) for left, right, _ in tok.model.merges.tolist()]


def record(tok: Tokenizer) -> toksmith.types.TrainingRecord:
    assert tok.model.training is not None
    return tok.model.training


# The rules


def test_the_textbook_example_by_either_rule() -> None:
    # aaabdaaabac: aa occurs 4 times. Then Z = aa, ZabdZabac: Za and ab occur twice; ab has the lower ids, Za comes first.
    lowest = toksmith.train("aaabdaaabac", merges=3, pattern=None)
    assert pairs(lowest) == [(b"a", b"a"), (b"a", b"b"), (b"aa", b"ab")]
    assert (record(lowest).counts.tolist(), record(lowest).left.tolist()) == ([4, 2, 2], [9, 7, 5])
    seen = toksmith.train("aaabdaaabac", merges=3, pattern=None, ties="first_seen")
    assert pairs(seen) == [(b"a", b"a"), (b"aa", b"a"), (b"aaa", b"b")]
    assert record(lowest).symbols == record(seen).symbols == 11


def test_documents_are_never_joined() -> None:
    tok = toksmith.train(["ab", "ab", "ab"], pattern=None, merges=10)
    assert pairs(tok) == [(b"a", b"b")]
    assert record(tok).documents == 3
    assert pairs(toksmith.train("ababab", pattern=None, merges=10))[1] == (b"ab", b"ab")


@pytest.mark.slow
@given(
    corpus=st.lists(st.one_of(small_texts("ab "), small_texts("aé☀"), broken_bytes()), min_size=1, max_size=4),
    ties=st.sampled_from(["lowest_ids", "first_seen"]),
    pattern=st.sampled_from([None, "[ab]+", "b+"]),
)
def test_every_trained_token_encodes_to_itself(corpus: list[str | bytes], ties: Any, pattern: str | None) -> None:
    if not any(corpus):
        return
    tok = toksmith.train(corpus, merges=40, pattern=pattern, ties=ties)
    for id in range(tok.vocab_size):
        # A token that ends inside of a character is several pieces alone, unless it is a part of one character only.
        if len(tok._engine.split(tok.token_bytes(id))) == 1:
            assert tok.encode(tok.token_bytes(id)) == [id]
        else:
            assert not tok.token_bytes(id).isascii()
    assert sum(tok.count_batch(corpus)) == [*record(tok).left.tolist(), record(tok).symbols][len(triples(tok)) - 1]
    tokens = [bytes(token) for token in tok.model.tokens]
    assert len(set(tokens)) == len(tokens)
    for left, right, id in triples(tok):
        assert tokens[left] + tokens[right] == tokens[id]


# Stopping


def test_vocab_size_counts_special_tokens_which_get_the_last_ids() -> None:
    tok = toksmith.train("abababab", 260, special_tokens=["<|b|>", "<|a|>"], pattern=None)
    assert len(triples(tok)) == 2
    assert tok.special_tokens == {"<|b|>": 258, "<|a|>": 259}
    assert (tok.vocab_size, len(tok)) == (260, 260)
    assert record(tok).stopped_because == "it reached vocab_size=260"


def test_the_special_tokens_of_a_corpus_that_runs_out_follow_the_merges() -> None:
    tok = toksmith.train("ab", 300, special_tokens=["<|a|>"], pattern=None)
    assert tok.special_tokens == {"<|a|>": 257}
    assert tok.decode([256, 257]) == "ab<|a|>"


def test_training_stops_at_merges() -> None:
    tok = toksmith.train("abcabcabc", merges=1, pattern=None, special_tokens=["<|a|>"])
    assert (triples(tok), tok.special_tokens) == ([[97, 98, 256]], {"<|a|>": 257})
    assert record(tok).stopped_because == "it reached merges=1"
    assert triples(toksmith.train("abc", merges=0)) == []


def test_training_stops_without_a_repeated_pair() -> None:
    tok = toksmith.train("aaabdaaabac", min_count=2, pattern=None)
    assert (len(triples(tok)), record(tok).left[-1], record(tok).stopped_because) == (3, 5, "no pair repeats")
    tok = toksmith.train("aaabdaaabac", min_count=3, pattern=None)
    assert (len(triples(tok)), record(tok).stopped_because) == (1, "no pair occurs 3 times")


def test_too_few_pairs_stop_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "toksmith"):
        tok = toksmith.train("abc", 1000, pattern=None)
    assert (len(triples(tok)), record(tok).stopped_because) == (2, "no pair is left")
    assert "2 of 744 merges" in caplog.text and caplog.records[0].name == "toksmith"
    caplog.clear()
    toksmith.train("abc", min_count=2, pattern=None)
    assert not caplog.records


def test_the_smallest_vocabulary_has_no_merges() -> None:
    assert triples(toksmith.train("abab", 256)) == []
    assert toksmith.train("abab", 257, special_tokens=["<|a|>"]).special_tokens == {"<|a|>": 256}
    for size, specials in ((255, []), (256, ["<|a|>"]), (0, []), (-5, [])):
        with pytest.raises(InvalidOption) as caught:
            toksmith.train("abab", size, special_tokens=specials)
        assert (caught.value.argument, caught.value.value) == ("vocab_size", size)


# Kinds


def test_characters_are_tokens_in_order() -> None:
    tok = toksmith.train("hello, wörld ☀", kind="chars")
    alphabet = sorted(set("hello, wörld ☀"))
    assert [tok.token_bytes(id).decode() for id in range(tok.vocab_size)] == alphabet
    assert tok.encode("öl☀") == [alphabet.index(char) for char in "öl☀"]
    assert tok.decode(tok.encode("hello")) == "hello"
    with pytest.raises(NotInVocabulary) as caught:
        tok.encode("ö😄")
    assert (caught.value.content, caught.value.offset) == ("😄", 1)
    with pytest.raises(InvalidOption, match="at least 11"):
        toksmith.train("hello, wörld ☀", 5, kind="chars")
    with pytest.raises(CorpusError, match="kind='bpe'"):
        toksmith.train(b"a\xff", kind="chars")


def test_words_are_tokens_by_frequency() -> None:
    tok = toksmith.train("it will rain today, it will", kind="words")
    assert tok.encode("it will rain today") == [tok.token_id(word) for word in ("it", " will", " rain", " today")]
    assert tok.token_bytes(0) == b" will"  # twice, and of " will" and "it" … the smallest bytes first
    with pytest.raises(NotInVocabulary) as caught:
        tok.encode("it will snow")
    assert (caught.value.content, caught.value.offset) == (" snow", 7)
    most = toksmith.train("a b b c c c", 2, kind="words", pattern=r"\s+")
    assert [most.token_bytes(id) for id in range(2)] == [b" ", b"c"]
    assert record(most).stopped_because == "it reached vocab_size=2"
    assert "all words" in record(tok).stopped_because


def test_ascii_characters_are_merged() -> None:
    tok = toksmith.train("abababc", 130, unit="char", alphabet="ascii", pattern=None)
    assert triples(tok) == [[97, 98, 128], [128, 128, 129]]
    assert tok.encode("abac") == [128, 97, 99]
    with pytest.raises(NotInVocabulary) as caught:
        tok.encode("aé")
    assert (caught.value.content, caught.value.offset) == ("é", 1)
    with pytest.raises(CorpusError, match="'é' is not in the alphabet 'ascii'"):
        toksmith.train("abé", 130, unit="char", alphabet="ascii", pattern=None)


@pytest.mark.parametrize(
    "options",
    [
        {"unit": "char"},
        {"unit": "char", "alphabet": "latin"},
        {"kind": "chars", "merges": 5},
        {"merges": 5, "vocab_size": 300},
        {},
    ],
)
def test_contradicting_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption) as caught:
        toksmith.train("abc", **options)
    assert caught.value.argument in {*options, "alphabet", "vocab_size"}


# The record and the report


def test_the_digest_depends_on_the_content_only() -> None:
    docs = [f"some words {n % 5} and {n}" for n in range(40)]
    shuffled = random.Random(3).sample(docs, len(docs))
    records = [
        record(toksmith.train(corpus, 300, threads=threads)) for corpus in (docs, shuffled) for threads in (1, 3)
    ]
    assert len({one.digest for one in records}) == 1
    assert len({tuple(one.counts.tolist()) for one in records}) == 1
    assert record(toksmith.train([*docs[:-1], "some words 4 and 38"], 300)).digest != records[0].digest
    assert record(toksmith.train([*docs, docs[0]], 300)).digest != records[0].digest


def test_only_first_seen_depends_on_the_order_of_documents() -> None:
    docs = ["ab", "cd"]
    assert toksmith.train(docs, merges=1) == toksmith.train(docs[::-1], merges=1)
    assert pairs(toksmith.train(docs, merges=1, ties="first_seen")) == [(b"a", b"b")]
    assert pairs(toksmith.train(docs[::-1], merges=1, ties="first_seen")) == [(b"c", b"d")]


@pytest.mark.parametrize("ties", ["lowest_ids", "first_seen"])
def test_threads_and_sources_of_documents_change_nothing(ties: Any, tmp_path: Path) -> None:
    docs = [*REAL_TEXT.split("\n\n"), "", "NUL \0 and é"]
    toks = [toksmith.train(docs, 500, ties=ties, threads=threads) for threads in (1, 2, 5)]
    toks += [toksmith.train(tuple(docs), 500, ties=ties), toksmith.train((doc for doc in docs), 500, ties=ties)]
    toks.append(toksmith.train([doc.encode() for doc in docs], 500, ties=ties))
    write_rows(tmp_path / "docs.jsonl", docs)
    toks.append(toksmith.train(tmp_path / "docs.jsonl", 500, ties=ties))
    assert len(set(toks)) == 1
    assert len({record(tok).digest for tok in toks}) == 1
    assert {record(tok).documents for tok in toks} == {len(docs)}


def test_times_are_in_the_report_and_not_in_the_record() -> None:
    one, two = (toksmith.train(REAL_TEXT, 400, threads=threads) for threads in (1, 2))
    assert one.run_report["threads"] == 1 and two.run_report["threads"] == 2
    assert all(one.run_report[key] >= 0 for key in ("count_s", "merge_s", "total_s"))
    assert one == two
    assert one.run_report["unique_pieces"] == len(set(one._engine.split(REAL_TEXT)))
    for name, value in vars(record(one)).items():
        assert np.array_equal(value, vars(record(two))[name]), name


def test_the_record_has_the_options() -> None:
    options = record(
        toksmith.train("abab", 300, pattern="gpt2", ties="first_seen", min_count=2, special_tokens=["<|a|>"])
    ).options
    assert options["ties"] == "first_seen"
    assert options["vocab_size"] == 300
    assert options["min_count"] == 2
    assert options["special_tokens"] == ["<|a|>"]
    assert options["patterns"] == list(toksmith.patterns()["gpt2"].regexes)
    json.dumps(dict(options))


# Documents


def write_rows(path: Path, texts: list[str], field: str = "text") -> None:
    rows = "".join(json.dumps({field: text, "other": 1}) + "\n" for text in texts)
    path.write_text(rows, encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files of all kinds: a.txt, b.jsonl (with an empty line), c.txt.gz, in/d.jsonl.gz, and e.py, which is not a corpus file."""
    (tmp_path / "in").mkdir()
    (tmp_path / "a.txt").write_bytes(b"one one\r\n")
    (tmp_path / "b.jsonl").write_text('{"text": "two two"}\n\n{"text": "two"}', encoding="utf-8")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress("three trée".encode()))
    (tmp_path / "in" / "d.jsonl.gz").write_bytes(gzip.compress(b'{"text": "four\\n"}\n'))
    (tmp_path / "e.py").write_text("five", encoding="utf-8")
    return tmp_path


CONTENT = ["one one\r\n", "two two", "two", "three trée", "four\n"]


def test_a_folder_gives_its_texts_in_the_order_of_their_names(folder: Path) -> None:
    expected = toksmith.train(CONTENT, 280, ties="first_seen")
    tok = toksmith.train(folder, 280, ties="first_seen")
    assert (tok, record(tok).digest, record(tok).documents) == (expected, record(expected).digest, 5)


def test_globs_name_files(folder: Path) -> None:
    globs = [str(folder / "*.txt*"), str(folder / "**" / "*.jsonl.gz"), str(folder / "a.txt")]
    tok = toksmith.train(toksmith.files(*globs), 280)
    expected = toksmith.train([CONTENT[0], CONTENT[3], CONTENT[4]], 280)
    assert (record(tok).digest, record(tok).documents) == (record(expected).digest, 3)
    with pytest.raises(CorpusError) as caught:
        toksmith.train(toksmith.files(folder / "a.txt", folder / "nothing-*"), 280)
    assert caught.value.path == str(folder / "nothing-*")


def test_rows_can_have_another_field(tmp_path: Path) -> None:
    write_rows(tmp_path / "x.jsonl", ["ab", "cd"], field="content")
    tok = toksmith.train(toksmith.files(tmp_path / "x.jsonl", field="content"), 280)
    assert record(tok).digest == record(toksmith.train(["ab", "cd"], 280)).digest
    with pytest.raises(CorpusError, match="field=") as caught:
        toksmith.train(tmp_path / "x.jsonl", 280)
    assert (caught.value.path, caught.value.record) == (str(tmp_path / "x.jsonl"), 0)


# Progress


def test_progress_reports_both_phases(capfd: pytest.CaptureFixture[str]) -> None:
    seen: list[toksmith.types.Progress] = []
    tok = toksmith.train([REAL_TEXT] * 3, 400, progress=seen.append)
    assert [one.phase for one in seen] == sorted(one.phase for one in seen) and {one.phase for one in seen} == {
        "counting",
        "merging",
    }
    counted = [one for one in seen if one.phase == "counting"]
    assert counted[-1].done == counted[-1].total == record(tok).bytes
    assert (seen[-1].done, seen[-1].total) == (144, 144)
    assert all(one.elapsed_s <= two.elapsed_s and one.elapsed_s >= 0 for one, two in itertools.pairwise(seen))
    for quiet in (None, False):
        toksmith.train(REAL_TEXT, 300, progress=quiet)
    assert capfd.readouterr() == ("", "")


def test_an_exception_of_the_progress_callable_passes_through() -> None:
    def fail(progress: toksmith.types.Progress) -> None:
        raise RuntimeError(progress.phase)

    with pytest.raises(RuntimeError, match="counting"):
        toksmith.train("abc", 300, progress=fail)

    def fail_later(progress: toksmith.types.Progress) -> None:
        if progress.phase == "merging" and progress.done:
            raise RuntimeError("merging")

    with pytest.raises(RuntimeError, match="merging"):
        toksmith.train(random.Random(0).randbytes(300_000), 40_000, pattern=None, progress=fail_later)


# Ctrl-C

INTERRUPTED = """
    import random, signal, sys, time, toksmith
    signal.signal(signal.SIGINT, signal.default_int_handler)

    ready = False
    def merging(progress):
        global ready
        if progress.phase == "merging" and progress.done and not ready:
            ready = True
            print("ready", flush=True)

    noise = random.Random(0).randbytes(12_000_000).translate(bytes(b"abcdefgh" * 32))
    try:
        toksmith.train(noise, 1_000_000, pattern=None, progress=merging)
    except toksmith.errors.TrainingInterrupted as stop:
        at = time.process_time()
        assert stop.tokenizer.model.training.stopped_because == "it was interrupted"
        stop.tokenizer.save(sys.argv[1])
        print(at, stop.phase, stop, sep="\\n", flush=True)
        sys.exit(130)
    print("finished")
"""


@pytest.mark.slow
@needs("proc")
def test_ctrl_c_gives_the_tokenizer_so_far(tmp_path: Path) -> None:
    """Merging takes 10 seconds of the processor; after the signal there is one and a half."""
    file = tmp_path / "so-far.toksmith"
    command = [sys.executable, "-c", textwrap.dedent(INTERRUPTED), str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout and child.stdout.readline() == "ready\n", child.communicate(timeout=LIMIT_S)
        before = interrupt(child)
        out, err = child.communicate(timeout=LIMIT_S)
    assert not err
    at, phase, said = out.splitlines()
    assert (child.returncode, phase) == (130, "merging")
    assert float(at) - before < 1.5
    tok = toksmith.load(file)
    assert len(triples(tok)) > 0
    assert tok.decode(tok.encode("hhgfabc é")) == "hhgfabc é"
    assert f"merges learned so far: {len(triples(tok))}" in said


def test_an_interrupt_inside_the_documents_is_an_interrupted_training() -> None:
    def stops() -> Iterator[str]:
        yield "text"
        raise KeyboardInterrupt

    with pytest.raises(TrainingInterrupted) as caught:
        toksmith.train(stops(), 300)
    assert (caught.value.tokenizer, caught.value.phase) == (None, "counting")
