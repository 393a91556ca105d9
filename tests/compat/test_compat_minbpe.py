"""minbpe's interface: its published example and tests, rewritten, and a plain Python version of its rules.

GPT-4's tokenizer is compared with tiktoken, as in minbpe's own tests.
"""

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import regex
from hard_texts import HARD_TEXTS
from test_format_rows import minbpe_loads

import toksmith
from toksmith._sources import encodings
from toksmith.compat import minbpe
from toksmith.errors import FormatError

LLAMA = """
<|endoftext|>The llama is a domesticated South American camelid, widely used as a meat and pack animal by Andean cultures.
Llamas are social animals and live with others as a herd.<|fim_prefix|> Their wool is soft.<|fim_suffix|>1234567 llamas!
<|endofprompt|>
"""
SPECIAL = {"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276}
TEXTS = ["", "?", "hello world!!!? (안녕하세요!) lol123 😉", LLAMA]
WELL_FORMED = [
    text for text in HARD_TEXTS.values() if text.isascii() or text.encode("utf-8", "replace").decode() == text
]


def learn(texts: list[bytes], count: int) -> dict[tuple[int, int], int]:
    """minbpe's training: the most frequent pair, among equal ones the first in the text."""
    rows = [list(text) for text in texts]
    merges: dict[tuple[int, int], int] = {}
    for id in range(256, 256 + count):
        stats: dict[tuple[int, int], int] = {}
        for row in rows:
            minbpe.get_stats(row, stats)
        pair = max(stats, key=lambda each: stats[each])
        merges[pair] = id
        rows = [minbpe.merge(row, pair, id) for row in rows]
    return merges


def encoded(data: bytes, merges: dict[tuple[int, int], int]) -> list[int]:
    """minbpe's encoding: of the pairs in the text, the first learned one merges everywhere."""
    ids = list(data)
    while len(ids) >= 2:
        pair = min(minbpe.get_stats(ids), key=lambda each: merges.get(each, float("inf")))
        if pair not in merges:
            break
        ids = minbpe.merge(ids, pair, merges[pair])
    return ids


def test_the_published_example_gives_the_published_ids() -> None:
    tok = minbpe.BasicTokenizer()
    tok.train("aaabdaaabac", 256 + 3)
    assert tok.encode("aaabdaaabac") == [258, 100, 258, 97, 99]
    assert tok.decode(tok.encode("aaabdaaabac")) == "aaabdaaabac"
    assert tok.merges == {(97, 97): 256, (256, 97): 257, (257, 98): 258}


@pytest.mark.parametrize("make", [minbpe.BasicTokenizer, minbpe.RegexTokenizer])
def test_training_encoding_and_decoding_follow_its_rules(make: Any) -> None:
    rng = random.Random(1)
    text = " ".join(rng.choice(["low", "lower", "newest", "widest", "12 345", "é日本", "  \n"]) for _ in range(200))
    tok = make()
    tok.train(text, 256 + 30)
    pieces = [text] if make is minbpe.BasicTokenizer else regex.findall(tok.pattern, text)
    assert tok.merges == learn([piece.encode() for piece in pieces], 30)
    assert [tok.vocab[id] for id in range(256)] == [bytes([byte]) for byte in range(256)] and len(tok.vocab) == 286
    for case in [*TEXTS, *WELL_FORMED, text[:300]]:
        cut = [case] if make is minbpe.BasicTokenizer else regex.findall(tok.pattern, case)
        assert tok.encode(case) == [id for piece in cut for id in encoded(piece.encode(), tok.merges)], case
        assert tok.decode(tok.encode(case)) == case
    assert tok.decode([0xFF]) == "\ufffd"


def test_training_prints_each_merge(capsys: pytest.CaptureFixture[str]) -> None:
    minbpe.BasicTokenizer().train("aaabdaaabac", 257, verbose=True)
    assert capsys.readouterr().out == "merge 1/1: (97, 97) -> 256 (b'aa') had 4 occurrences\n"


def test_limits_are_asserted() -> None:
    with pytest.raises(AssertionError):
        minbpe.BasicTokenizer().train("a", 255)
    with pytest.raises(ValueError, match="no pair is left to merge; merges so far: 1"):
        minbpe.BasicTokenizer().train("ab", 258)
    with pytest.raises(UnicodeEncodeError):
        minbpe.BasicTokenizer().encode("\ud800")
    with pytest.raises(NotImplementedError):
        minbpe.Tokenizer().encode("")


def special() -> minbpe.RegexTokenizer:
    tok = minbpe.RegexTokenizer()
    tok.train(LLAMA, 256 + 64)
    tok.register_special_tokens(SPECIAL)
    return tok


def test_special_tokens_follow_allowed_special() -> None:
    tok = special()
    with pytest.raises(AssertionError):
        tok.encode(LLAMA)
    with pytest.raises(AssertionError):
        tok.encode(LLAMA, allowed_special="none_raise")
    ids = tok.encode(LLAMA, "all")
    assert [id for id in ids if id > 100_000] == [100257, 100258, 100260, 100276]
    assert tok.decode(ids) == LLAMA and tok.decode(tok.encode(LLAMA, "none")) == LLAMA
    assert all(id < 320 for id in tok.encode(LLAMA, "none"))
    assert [id for id in tok.encode(LLAMA, {"<|fim_prefix|>", "no such"}) if id > 320] == [100258]
    for wrong in ("some", ["<|fim_prefix|>"], None):
        with pytest.raises(ValueError, match="allowed_special"):
            tok.encode(LLAMA, wrong)
    with pytest.raises(ValueError, match="invalid token id: 320"):
        tok.decode([320])
    with pytest.raises(KeyError):
        minbpe.BasicTokenizer().decode([256])


def test_the_first_of_special_tokens_that_begin_alike_is_matched() -> None:
    tok = minbpe.RegexTokenizer()
    tok.register_special_tokens({"<a": 300, "<ab": 301})
    assert tok.encode("<ab", "all") == [300, 98]


def test_files_have_its_layout_and_load_again(tmp_path: Path) -> None:
    tok = special()
    tok.save(tmp_path / "x")
    pattern, tokens, merges = minbpe_loads((tmp_path / "x.model").read_text(encoding="utf-8"))
    assert (pattern, tokens, merges) == (minbpe.GPT4_SPLIT_PATTERN, SPECIAL, tok.merges)
    again = minbpe.RegexTokenizer("a|b")
    again.load(str(tmp_path / "x.model"))
    assert (again.merges, again.pattern, again.special_tokens) == (tok.merges, tok.pattern, SPECIAL)
    assert again.vocab[100257] == b"<|endoftext|>" and again.encode(LLAMA, "all") == tok.encode(LLAMA, "all")
    assert again.decode(again.encode(LLAMA, "all")) == LLAMA
    basic = minbpe.BasicTokenizer()
    basic.train("aaabdaaabac", 259)
    basic.save(str(tmp_path / "y"))
    other = minbpe.BasicTokenizer()
    other.load(tmp_path / "y.model")
    assert other.merges == basic.merges and other.encode("aaab") == [258]
    assert "[\\u000a] 10" in (tmp_path / "y.vocab").read_text(encoding="utf-8").split("\n")
    with pytest.raises(AssertionError):
        other.load(tmp_path / "y.vocab")
    (tmp_path / "z.model").write_text("minbpe v1\n")
    with pytest.raises(FormatError):
        other.load(tmp_path / "z.model")


def test_merges_that_the_caller_sets_are_used() -> None:
    """Code that fills the attributes itself, as in some notebooks."""
    tok = minbpe.BasicTokenizer()
    assert tok.encode("ab") == [97, 98]
    tok.merges[(97, 98)] = 256
    tok.vocab[256] = b"ab"
    assert tok.encode("abab") == [256, 256] and tok.decode([256]) == "ab"


def test_the_helper_functions_equal_those_of_minbpe() -> None:
    assert minbpe.get_stats([1, 1, 1], {(1, 1): 5, (2, 2): 1}) == {(1, 1): 7, (2, 2): 1}
    assert minbpe.merge([1, 1, 1], (1, 1), 9) == [9, 1] and minbpe.merge([], (1, 1), 9) == []
    assert minbpe.replace_control_characters("a\n\u200bé\U000e0041") == "a\\u000a\\u200bé\\ue0041"
    assert minbpe.render_token(b"\xff\x00a") == "\ufffd\\u0000a"


@pytest.fixture(scope="module")
def gpt4(vocab_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """With the published file in toksmith's cache."""
    row = encodings.ENCODINGS["cl100k_base"]
    data = (vocab_dir / "cl100k_base.tiktoken").read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encodings, "cached_files", lambda each: iter([("cl100k_base", data)]))
        assert row.pattern == "cl100k"
        yield minbpe.GPT4Tokenizer()


@pytest.mark.slow
def test_gpt4s_tokenizer_is_tiktokens(gpt4: Any, vocab_dir: Path) -> None:
    tiktoken: Any = pytest.importorskip("tiktoken", "0.14.0", reason="lacks tiktoken==0.14.0")
    load: Any = pytest.importorskip("tiktoken.load").load_tiktoken_bpe
    pattern = toksmith.patterns()["cl100k"].regexes[0]
    ranks = load(str(vocab_dir / "cl100k_base.tiktoken"))
    peer = tiktoken.Encoding("own", pat_str=pattern, mergeable_ranks=ranks, special_tokens=gpt4.special_tokens)
    for text in [*TEXTS, *WELL_FORMED]:
        ids = gpt4.encode(text, allowed_special="none")
        assert ids == peer.encode_ordinary(text) and gpt4.decode(ids) == text
    assert gpt4.encode(LLAMA, "all") == peer.encode(LLAMA, allowed_special="all")
    assert gpt4.special_tokens["<|endoftext|>"] == 100257
    with pytest.raises(KeyError):
        gpt4.decode([100257])


@pytest.mark.slow
def test_gpt4s_tokenizer_keeps_minbpes_attributes(gpt4: Any, tmp_path: Path) -> None:
    assert len(gpt4.merges) == 100_256 - 256 and len(gpt4.vocab) == 100_256
    assert gpt4.byte_shuffle[ord("!")] == 0 and gpt4.inverse_byte_shuffle[0] == ord("!")
    assert gpt4.vocab[0] == b"\0" and gpt4.merges[(220, 220)] == 256
    for call in (lambda: gpt4.train("", 256), lambda: gpt4.save("x"), lambda: gpt4.load("x.model")):
        with pytest.raises(NotImplementedError):
            call()
    gpt4.save_vocab(tmp_path / "x.vocab")
    lines = (tmp_path / "x.vocab").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 100_256 and lines[256].endswith("[ ][ ] -> [  ] 256") and lines[220] in ("[!] 0", "[ ] 220")


@pytest.mark.parametrize("count", [1000, 2000])
def test_the_merges_of_the_tutorials(vocab_dir: Path, corpora_dir: Path, count: int) -> None:
    """The tutorials' training must give the shared seed, from the same text, unsplit."""
    pairs = json.loads((vocab_dir / f"seed_taylorswift_merges_{count}.json").read_text(encoding="utf-8"))
    tok = minbpe.BasicTokenizer()
    tok.train((corpora_dir / "taylorswift.txt").read_text(encoding="utf-8"), count)
    assert [list(pair) for pair in tok.merges] == pairs
