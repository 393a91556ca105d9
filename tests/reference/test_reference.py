"""The executable specification: worked cases, the tutorials' figures, laws on drawn texts, and the real tiktoken.

These tests need no compiled core, except for the comparison of its pattern table with docs/spec.md.
"""

import ast
import base64
import doctest
import importlib.metadata
import inspect
import random
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from toksmith import reference
from toksmith.reference import Model, encode

SOURCE = Path(inspect.getfile(reference))
PARTS_OF_IT = sorted(SOURCE.parent.glob("*.py"))
SPEC = (Path(__file__).resolve().parents[2] / "docs" / "spec.md").read_text(encoding="utf-8")
ROWS = {
    name: regexes.splitlines()
    for name, regexes in re.findall(
        r"^`(\w+)` [^\n]*\n(?:[^\n`]+\n)?\n```regex\n(.*?)\n```$", SPEC, re.MULTILINE | re.DOTALL
    )
}

FRAGMENTS = [
    *"aBéßſǅʰİŉ中ह½²Ⅷ٣1!/_-'’\t\r\n\x0b\0\x1c\x85\xa0\u2028\u3000\u200b\ufeff",
    *["'s", "'S", "'ſ", "'LL", "'Re", "''t", "  ", " \n", "\r\n", "\n  ", "12", "1234567", "...", "e\u0301", "ि", "न्"],
    *["👍", "👩\u200d👩\u200d👧", "☀️", "HTTPServer", "camelCase", "<|end|>", "<|end|", "x" * 9, "K", "\U00020000"],
]
SURROGATES = ["\ud800", "\udbff", "\udc00", "\udfff", "\ud83d", "\ude04"]
PARTS = st.one_of(st.sampled_from(FRAGMENTS), st.characters(codec="utf-8"))
TEXTS = st.lists(PARTS, max_size=16).map("".join)
BROKEN_TEXTS = st.lists(st.one_of(PARTS, st.sampled_from(SURROGATES)), max_size=12).map("".join)
TORN = st.sampled_from([b"\xff", b"\xc3", b"\xe2\x98", b"\xf0\x9f", b"\x80", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90"])
BYTES = st.lists(st.one_of(PARTS.map(str.encode), TORN, st.binary(max_size=3)), max_size=12).map(b"".join)
PATTERNS = st.one_of(
    st.sampled_from(sorted(ROWS)).map(lambda name: ROWS[name]),
    st.lists(st.sampled_from([r"\p{N}{1,3}", r"\w+", "x*|a", r"(?<=a)\s", "(?=B)", r"\s+(?!\S)", r"[\p{L}--[a]]+"]), max_size=3),
)  # fmt: skip
SMALL = st.lists(st.text("ab ", max_size=9).map(str.encode), max_size=6)

TEXT_A = (
    "Byte-Pair Encoding (BPE) was initially developed as an algorithm to compress texts, and then used by OpenAI for "
    "tokenization when pretraining the GPT model. It’s used by a lot of Transformer models, including GPT, GPT-2, "
    "RoBERTa, BART, and DeBERTa."
)
MERGES_A = [
    (105, 110), (32, 97), (32, 116), (101, 110), (44, 32), (111, 100), (256, 103), (101, 108), (101, 100), (257, 110),
    (111, 114), (71, 80), (267, 84), (82, 84), (114, 32), (262, 32), (32, 119), (115, 32), (105, 116), (121, 32),
]  # fmt: skip


@pytest.fixture(scope="module")
def tiktoken() -> Any:
    """The real tiktoken, with the `regex` release whose tables equal its tables."""
    module = pytest.importorskip("tiktoken", reason="lacks tiktoken")
    for package, pinned in (("tiktoken", "0.14.0"), ("regex", "2025.9.18")):
        if (found := importlib.metadata.version(package)) != pinned:
            pytest.skip(f"lacks {package} {pinned} (found {found}), for which exactness is claimed")
    return module


# --- the files ---


def test_the_examples_run_and_every_function_has_one() -> None:
    finder = doctest.DocTestFinder(exclude_empty=False)
    found = {case.name.rpartition(".")[2]: case for case in finder.find(reference, "reference")}
    members = inspect.getmembers(reference, inspect.isfunction)
    functions = [name for name, function in members if function.__module__ == reference.__name__]
    promised = "pair_counts replace_pair cut split count train merge encode decode"
    assert set(functions) >= set(promised.split())
    assert [name for name in functions if not found[name].examples] == []
    runner = doctest.DocTestRunner()
    assert sum(runner.run(case).failed for case in found.values()) == 0


def test_it_imports_only_regex_and_the_standard_library() -> None:
    for path in PARTS_OF_IT:
        imported = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                assert node.module
                imported.add(node.module.partition(".")[0])
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 1
        assert imported - set(sys.stdlib_module_names) <= {"regex"}, path


def test_its_files_run_where_the_core_is_missing() -> None:
    names = [f"reference.{path.stem}" for path in PARTS_OF_IT[1:]]
    program = f"""
import importlib, sys
for name in ("toksmith._core", "numpy"):
    sys.modules[name] = None  # makes the import fail
for name in {names}:
    importlib.import_module("toksmith." + name)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_it_runs_without_the_rest_of_toksmith() -> None:
    program = f"""
import importlib.util, sys
for name in ("toksmith", "toksmith._core", "numpy"):
    sys.modules[name] = None  # makes the import fail
spec = importlib.util.spec_from_file_location("reference", {str(SOURCE)!r})
reference = sys.modules["reference"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)
model = reference.model_of(reference.train(reference.count(["low lower"], []), 2))
print(reference.encode("slow", model))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=False)
    assert (done.stdout, done.stderr) == ("[115, 257]\n", "")


def test_the_spec_states_every_decision_and_the_core_has_its_patterns() -> None:
    toksmith = pytest.importorskip("toksmith")
    assert re.findall(r"^### (\d+)\. ", SPEC, re.MULTILINE) == [str(number) for number in range(1, 13)]
    assert {name: list(row.regexes) for name, row in toksmith.patterns().items()} == ROWS


# --- the tutorials ---


def test_row_1_twenty_merges_of_a_text() -> None:
    data = TEXT_A.encode()
    pairs = reference.pair_counts(data)
    assert (len(data), len(TEXT_A), len(pairs)) == (250, 248, 151)
    assert max(pairs, key=lambda pair: pairs[pair]) == (105, 110) and pairs[105, 110] == 6
    assert len(reference.replace_pair(data, (105, 110), 256)) == 244
    learned = reference.train({data: 1}, 20, ties="first_seen")
    assert [step[:3] for step in learned] == [(*pair, 256 + place) for place, pair in enumerate(MERGES_A)]
    model = reference.model_of(learned)
    assert max(model.tokens.values()) == 275
    assert len(encode(TEXT_A, model)) == learned[-1][4] == 186
    assert round(250 / 186, 2) == 1.34
    assert encode("hello world!", model) == [104, 263, 108, 111, 272, 266, 108, 100, 33]
    whole = reference.train({data: 1}, min_count=2, ties="first_seen")
    assert (len(whole), whole[-1][4]) == (38, 150)
    assert reference.train({data: 1}, 20)[-1][4] == 187
    hola = "Hola en otro idioma!"
    assert encode(hola, reference.model_of([])) == list(map(ord, hola)) and len(hola) == 20


def test_row_2_three_merges_of_aaabdaaabac() -> None:
    data = b"aaabdaaabac"
    named = {bytes(pair).decode(): n for pair, n in reference.pair_counts(data).items()}
    assert named == {"aa": 4, "ab": 2, "bd": 1, "da": 1, "ba": 1, "ac": 1}
    lowest = reference.train({data: 1}, 3)
    assert [step[:2] for step in lowest] == [(97, 97), (97, 98), (256, 257)]  # aa = Z, ab = Y, ZY = X
    assert encode("aaabdaaabac", reference.model_of(lowest)) == [258, 100, 258, 97, 99]  # XdXac
    first = reference.train({data: 1}, 3, ties="first_seen")
    assert [step[:2] for step in first] == [(97, 97), (256, 97), (257, 98)]  # Za is met before ab
    assert encode("aaabdaaabac", reference.model_of(first)) == [258, 100, 258, 97, 99]
    assert reference.train({data: 1}, min_count=2) == lowest
    assert reference.train({data: 1}, min_count=2, ties="first_seen") == first


def test_row_3_counting_and_replacing() -> None:
    assert reference.pair_counts([1, 2, 3, 1, 2]) == {(1, 2): 2, (2, 3): 1, (3, 1): 1}
    assert reference.replace_pair([1, 2, 3, 1, 2], (1, 2), 4) == [4, 3, 4]
    assert reference.replace_pair([5, 6, 6, 7, 9, 1], (6, 7), 99) == [5, 6, 99, 9, 1]
    assert reference.replace_pair([1, 2, 1, 2, 3, 1, 2], (1, 2), 11) == [11, 11, 3, 11]


def test_row_5_characters_and_utf8(corpora_dir: Path) -> None:
    plain = reference.model_of([])
    assert encode("a", plain) == [97]
    assert encode("é", plain) == [195, 169]
    assert encode("न", plain) == [224, 164, 168]
    assert encode("😄", plain) == [240, 159, 152, 132] and ord("😄") == 128516
    hindi = "नमस्ते, आप कैसे हैं"
    assert (len(hindi), len(encode(hindi, plain))) == (19, 49)
    text = (corpora_dir / "taylorswift.txt").read_text(encoding="utf-8")
    stoi = {char.encode(): id for id, char in enumerate(sorted(set(text)))}
    model = Model(stoi, unit="char")
    assert len(stoi) == 95
    assert encode("Hi there", model) == [37, 66, 2, 77, 65, 62, 75, 62]
    assert reference.decode([37, 66, 2, 77, 65, 62, 75, 62], model) == b"Hi there"
    with pytest.raises(ValueError, match="not in the vocabulary"):
        encode("😄", model)


def test_row_6_merging_characters() -> None:
    merges = [
        (115, 32), (101, 32), (104, 129), (97, 114), (110, 32), (116, 32), (105, 103), (134, 104), (101, 114), (114, 101),
        (97, 132), (66, 97), (84, 130), (68, 131), (141, 107), (142, 32), (143, 75), (144, 110), (145, 135), (105, 115),
    ]  # fmt: skip
    text = "The Dark Knight Rises is a superhero movie released in 2012. It is the final part of Christopher Nolan Da"
    model = reference.model_of(merges, unit="char")
    ids = encode(text, model)
    assert (len(ids), model.tokens[b"is"]) == (74, 147)
    assert ids[:24] == [
        140, 146, 133, 82, 147, 101, 128, 105, 128, 97, 32, 115, 117, 112, 136, 104, 136, 111, 32, 109, 111, 118, 105, 129
    ]  # fmt: skip
    assert reference.decode(ids, model).decode() == text


def test_row_7_decoding_and_the_training_log() -> None:
    learned = reference.train({TEXT_A.encode(): 1}, 20, ties="first_seen")
    assert learned[0] == (105, 110, 256, 6, 244)
    assert all(after == before - count for (*_, before), (*_, count, after) in pairwise(learned))
    model = reference.model_of(learned)
    vocab = {id: bytes([id]) for id in range(256)}
    for left, right, id, *_ in learned:
        vocab[id] = vocab[left] + vocab[right]
    assert {id: token for token, id in model.tokens.items()} == vocab
    assert reference.decode([97], model) == b"a"
    assert reference.decode([128], model).decode(errors="replace") == "\ufffd"


def test_row_8_the_gpt2_split() -> None:
    pieces = [b"Hello", b"'s", b" World", b"123", b" ", b" !!", b"  "]
    assert reference.split("Hello's World123  !!  ", ROWS["gpt2"]) == pieces
    assert reference.split("Hello's World123  !!  ", ROWS["gpt2_original"]) == pieces


def read_ranks(vocab_dir: Path, name: str) -> dict[bytes, int]:
    """The tokens of a .tiktoken file, in rank order."""
    path = vocab_dir / f"{name}.tiktoken"
    if not path.is_file():
        pytest.skip(f"lacks {path}")
    pairs = (line.split() for line in path.read_bytes().splitlines() if line)
    return {base64.b64decode(token): int(id) for token, id in pairs}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, row, ids",
    [("r50k_base", "gpt2", [220, 220, 18435, 2159, 10185]), ("cl100k_base", "cl100k", [256, 22691, 4435, 12340])],
)
def test_row_9_published_encoders(vocab_dir: Path, name: str, row: str, ids: list[int]) -> None:
    tokens = read_ranks(vocab_dir, name)
    for whole_piece in (True, False):  # merging also reaches each of these pieces
        model = Model(tokens, reference.bytes_rule(tokens), whole_piece, ROWS[row])
        assert encode("   Hello World!!!", model) == ids
        assert reference.decode(ids, model) == b"   Hello World!!!"


def test_row_13_sizes() -> None:
    text = "오늘은 화창한 날이다 ☀\ufe0f (today is sunny day)"
    assert len(encode(text, reference.model_of([]))) == len(reference.utf8(text)) == 57
    assert len(reference.utf8(text.replace("\ufe0f", ""))) == 54
    assert (len(text.encode("utf-16-le")), len(text.encode("utf-32-le"))) == (70, 140)


# --- cut ---

NESTED = {"<a": 1, "<ab>": 2, "b>c": 3}


def test_cut_takes_the_leftmost_and_then_the_longest() -> None:
    cut = reference.cut("x<ab>c<ac", NESTED, "allow")  # "b>c" starts inside of "<ab>", so it is never found
    assert cut == [(b"x", None), (b"<ab>", 2), (b"c", None), (b"<a", 1), (b"c", None)]
    assert reference.cut("", NESTED, "allow") == []


@pytest.mark.parametrize("allow, token", [("raise", "<ab>"), (["<a"], "<ab>"), ([], "<ab>"), (("<ab>", "b>c"), "<a")])
def test_cut_refuses_special_tokens_that_are_not_allowed(allow: Any, token: str) -> None:
    with pytest.raises(ValueError, match=rf"special token '{token}' at byte {3 if token == '<ab>' else 7}"):
        reference.cut("é <ab><a", NESTED, allow)


def test_cut_refuses_unknown_modes_and_tokens() -> None:
    with pytest.raises(ValueError, match="allow='<a'"):
        reference.cut("", NESTED, "<a")
    with pytest.raises(LookupError, match="'<b'"):
        reference.cut("", NESTED, ["<b"])


def test_added_tokens_are_cut_in_every_mode() -> None:
    cut = reference.cut("<a##", {"<a": 1}, "text", {"##": 9})
    assert cut == [(b"<a", None), (b"##", 9)]
    assert reference.cut("##", {"<a": 1}, "raise", {"##": 9}) == [(b"##", 9)]
    with pytest.raises(ValueError, match="<a"):
        reference.cut("##<a", {"<a": 1}, "raise", {"##": 9})
    model = reference.model_of([], specials=["<a"])._replace(added={"##": 9999})
    assert encode("<a##", model, "allow") == [256, 9999]
    assert encode("<a##", model, "text") == [60, 97, 9999]
    assert reference.decode([256, 9999], model) == b"<a##"


@given(
    st.text("<ab>", max_size=12),
    st.dictionaries(st.text("<ab>", min_size=1, max_size=4), st.integers(0, 99), max_size=5),
)
def test_cut_equals_a_plain_scan(text: str, specials: dict[str, int]) -> None:
    expected: list[tuple[bytes, int | None]] = []
    place = rest = 0
    while place < len(text):
        here = [content for content in specials if text.startswith(content, place)]
        if not here:
            place += 1
            continue
        longest = max(here, key=len)
        expected += [(text[rest:place].encode(), None), (longest.encode(), specials[longest])]
        place = rest = place + len(longest)
    expected.append((text[rest:].encode(), None))
    assert reference.cut(text, specials, "allow") == [part for part in expected if part[0]]
    assert reference.cut(text.encode(), specials, list(specials)) == reference.cut(text, specials, "allow")


def test_a_special_token_ends_the_text_before_it() -> None:
    model = reference.model_of([(32, 32)], ROWS["cl100k"], ["<|end|>"])
    assert encode("a  <|end|>", model, "allow") == [97, 256, 257]
    assert encode("a  <|end|>", model, "text")[:3] == [97, 32, 32]  # ␣ and ␣<| are two pieces


# --- split ---


@pytest.mark.slow
@given(st.one_of(BROKEN_TEXTS, BYTES), PATTERNS)
@example("", [""])
@example("abxb", ["x*|b"])
def test_split_loses_nothing(text: str | bytes, patterns: list[str]) -> None:
    pieces = reference.split(text, patterns)
    assert b"".join(pieces) == reference.utf8(text)
    assert b"" not in pieces


@given(TEXTS, st.sampled_from(sorted(ROWS)))
def test_the_rows_cover_every_text(text: str, name: str) -> None:
    pieces = reference.split(text, ROWS[name])
    found = [match.group() for match in regex.finditer(ROWS[name][0], text, regex.V0)]  # V0 and V1 agree on the rows
    assert [piece.decode() for piece in pieces] == found


@given(BYTES)
def test_runs_of_invalid_utf8_are_pieces(data: bytes) -> None:
    for patterns in ([], [r"[\s\S]"]):
        pieces = reference.split(data, patterns)
        torn = [not is_text(piece) for piece in pieces]
        assert not any(left and right for left, right in pairwise(torn)), "the runs are maximal"
        valid = b"".join(piece for piece, bad in zip(pieces, torn, strict=True) if not bad)
        assert valid.decode() == data.decode(errors="ignore")
        assert all(len(piece.decode()) == 1 for piece, bad in zip(pieces, torn, strict=True) if patterns and not bad)


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_no_match_is_empty() -> None:
    assert reference.split("abxb", ["x*|b"]) == [b"a", b"b", b"x", b"b"]
    assert reference.split("aab", ["a??"]) == [b"a", b"a", b"b"]
    assert reference.split("ab", ["(?=b)"]) == [b"ab"]


def test_several_regexes_apply_in_order() -> None:
    assert reference.split("a12b1", [r"\p{N}", r"[a-z](?!.)"]) == [b"a", b"1", b"2", b"b", b"1"]
    assert reference.split("ab1", [r"[a-z](?!.)", r"\p{N}"]) == [b"ab", b"1"]
    assert reference.split(b"a\xff1", [r"\p{N}", "."]) == [b"a", b"\xff", b"1"]


def test_class_sets_have_the_meaning_of_rust() -> None:
    assert reference.split("中文a漢字", [r"[\p{L}&&[^\p{Han}]]+"]) == ["中文".encode(), b"a", "漢字".encode()]
    assert reference.split("ss", ["(?i:ß)"]) == [b"ss"] and reference.split("xẞ", ["(?i:ß)"]) == [b"x", "ẞ".encode()]


@given(TEXTS)
def test_both_spellings_of_gpt2_cut_alike(text: str) -> None:
    assert reference.split(text, ROWS["gpt2"]) == reference.split(text, ROWS["gpt2_original"])


# --- merge, encode, decode ---


def plain_merge(piece: bytes, ranks: Mapping[bytes, int]) -> list[bytes]:
    """Any two neighbours whose joined bytes are a token, lowest rank first, leftmost of equals: on bytes, not ids."""
    parts = [bytes([byte]) for byte in piece]
    while True:
        best, place = None, 0
        for here in range(len(parts) - 1):
            rank = ranks.get(parts[here] + parts[here + 1])
            if rank is not None and (best is None or rank < best):
                best, place = rank, here
        if best is None:
            return parts
        parts = [*parts[:place], parts[place] + parts[place + 1], *parts[place + 2 :]]


TOKENS = st.lists(st.text("ab", min_size=2, max_size=5).map(str.encode), max_size=8, unique=True)


@pytest.mark.slow
@given(TOKENS, st.text("ab", max_size=12).map(str.encode), st.randoms(use_true_random=False))
def test_merging_by_bytes_equals_a_plain_loop(longer: list[bytes], piece: bytes, order: random.Random) -> None:
    """The ids are shuffled, so an id cannot replace a rank unnoticed."""
    in_order = [b"a", b"b", *longer]
    ids = dict(zip(in_order, order.sample(range(100), len(in_order)), strict=True))
    model = Model(ids, reference.bytes_rule(ids))
    ranks = {token: rank for rank, token in enumerate(in_order)}
    for text in (piece, *longer):
        merged = [ids[part] for part in plain_merge(text, ranks)]
        assert encode(text, model) == merged
        assert encode(text, model._replace(whole_piece=True)) == ([ids[text]] if text in ids else merged)


def test_some_tokens_exist_only_as_whole_pieces() -> None:
    ids = {b"a": 0, b"b": 1, b"c": 2, b"abc": 3}
    model = Model(ids, reference.bytes_rule(ids))
    assert encode("abc", model) == [0, 1, 2]
    assert encode("abc", model._replace(whole_piece=True)) == [3]


@given(
    st.lists(st.integers(0, 3), max_size=10), st.permutations([(0, 1, 2), (2, 0, 3), (1, 1, 4), (2, 2, 5), (3, 1, 6)])
)
def test_merging_takes_one_pair_at_a_time(ids: list[int], merges: list[tuple[int, int, int]]) -> None:
    ranks = reference.pair_rule(merges)
    expected = list(ids)
    while present := [place for place, pair in enumerate(pairwise(expected)) if pair in ranks]:
        lowest = min(ranks[expected[place], expected[place + 1]][0] for place in present)
        place = next(place for place in present if ranks[expected[place], expected[place + 1]][0] == lowest)
        expected[place : place + 2] = [merges[lowest][2]]
    assert reference.merge(ids, ranks) == expected


def test_one_pair_at_a_time_differs_from_all_at_once() -> None:
    ranks = reference.pair_rule([(256, 97, 257), (97, 98, 256)])  # ab + a = aba before a + b = ab
    assert reference.merge(list(b"abab"), ranks) == [257, 98]
    assert reference.merge(list(b"abab"), reference.pair_rule([(97, 98, 256), (256, 97, 257)])) == [256, 256]


def test_unknown_symbols_and_ids_are_errors() -> None:
    with pytest.raises(ValueError, match=r"b'\\xc3\\xa9' is not in the vocabulary"):
        encode("né", Model({b"n": 0}, unit="char"))
    with pytest.raises(ValueError, match="b'no' is not in the vocabulary"):
        encode("no", Model({b"yes": 0}, unit="piece"))
    with pytest.raises(ValueError, match="no token has the id 256"):
        reference.decode([97, 256], reference.model_of([]))
    with pytest.raises(ValueError, match="no token has the id -1"):
        reference.decode([-1], reference.model_of([]))


def test_the_first_token_of_a_shared_id_is_decoded() -> None:
    model = reference.model_of([])._replace(specials={"<end>": 300, "<reserved>": 300})
    assert encode("<end><reserved>", model, "allow") == [300, 300]
    assert reference.decode([300, 97, 300], model) == b"<end>a<end>"


@given(st.one_of(BROKEN_TEXTS, BYTES), PATTERNS, SMALL)
def test_encoding_is_lossless(text: str | bytes, patterns: list[str], corpus: list[bytes]) -> None:
    model = reference.model_of(reference.train(reference.count(corpus, []), 9), patterns, ["<|end|>"])
    for special in ("text", "allow"):
        assert reference.decode(encode(text, model, special), model) == reference.utf8(text)


# --- count, train ---


def test_counts_are_in_first_seen_order() -> None:
    counts = reference.count(["b a", b"a\xff", "", "c b"], ["[a-z]"])
    assert list(counts.items()) == [(b"b", 2), (b" ", 2), (b"a", 2), (b"\xff", 1), (b"c", 1)]


def plain_training(pieces: Sequence[bytes], merges: int, ties: str) -> list[tuple[int, ...]]:
    """The loop of the tutorials, on every occurrence of all pieces."""
    texts = [list(piece) for piece in pieces]
    learned: list[tuple[int, ...]] = []
    for new in range(256, 256 + merges):
        counts: dict[tuple[int, int], int] = {}
        for ids in texts:
            for pair in pairwise(ids):
                counts[pair] = counts.get(pair, 0) + 1
        if not counts:
            break
        if ties == "first_seen":
            best = max(counts, key=counts.get)  # type: ignore[arg-type]
        else:
            best = min(counts, key=lambda pair: (-counts[pair], pair))
        merged = []
        for ids in texts:
            out: list[int] = []
            for id in ids:  # joins as soon as it can, so from left to right
                if out and (out[-1], id) == best:
                    out[-1] = new
                else:
                    out.append(id)
            merged.append(out)
        learned.append((*best, new, counts[best], sum(map(len, merged))))
        texts = merged
    return learned


@pytest.mark.slow
@given(
    SMALL, st.integers(0, 12), st.sampled_from(["lowest_ids", "first_seen"]), st.sampled_from([[], [r"\S+"], [" ?b+"]])
)
@example([b"aaaa", b"aaa"], 3, "lowest_ids", [])
@example([b"ba", b"ab"], 1, "first_seen", [])
def test_training_equals_a_plain_loop(corpus: list[bytes], merges: int, ties: str, patterns: list[str]) -> None:
    learned = reference.train(reference.count(corpus, patterns), merges, ties=ties)
    pieces = [piece for document in corpus for piece in reference.split(document, patterns)]
    assert learned == plain_training(pieces, merges, ties)
    # Encoding gives the length that training left, and each token is unique and encodes to itself.
    model = reference.model_of(learned, patterns)
    if learned:
        assert sum(len(encode(document, model)) for document in corpus) == learned[-1][4]
    assert len(model.tokens) == 256 + len(learned)
    raw = model._replace(patterns=())
    assert all(encode(token, raw) == [id] for token, id in model.tokens.items() if id >= 256)
    # All occurrences of each merge, in training order, give the same ids as one pair at a time.
    for piece in pieces:
        ids: list[int] = list(piece)
        for left, right, new, *_ in learned:
            ids = reference.replace_pair(ids, (left, right), new)
        assert reference.merge(list(piece), model.ranks) == ids


@given(SMALL, st.integers(2, 4), st.integers(2, 5))
def test_limits_of_training_hold(corpus: list[bytes], min_count: int, longest: int) -> None:
    counts = reference.count(corpus, [])
    everything = reference.train(counts)
    repeated = reference.train(counts, min_count=min_count)
    assert repeated == everything[: len(repeated)]
    assert all(step[3] >= min_count for step in repeated)
    assert len(repeated) == len(everything) or everything[len(repeated)][3] < min_count
    short = reference.model_of(reference.train(counts, max_token_bytes=longest))
    assert all(len(token) <= longest for token in short.tokens)
    for ids in (encode(document, short) for document in corpus):
        sizes = [len(reference.decode([id], short)) for id in ids]
        assert all(left + right > longest for left, right in pairwise(sizes)), "a longer token fits"


def test_weights_count_and_ties_differ() -> None:
    # ab occurs 3 times, bc 1 + 2 times; 14 symbols become 11.
    assert reference.train({b"ab": 3, b"bc": 1, b"xbc": 2}, 1) == [(97, 98, 256, 3, 11)]
    assert reference.train({b"xbc": 2, b"bc": 1, b"ab": 3}, 1, ties="first_seen") == [(98, 99, 256, 3, 11)]


def test_training_refuses_unknown_ties_and_characters() -> None:
    with pytest.raises(ValueError, match="ties='first'"):
        reference.train({b"ab": 1}, ties="first")
    with pytest.raises(ValueError, match="'é' is not in the alphabet"):
        reference.train({"né".encode(): 1}, unit="char")
    assert reference.train({b"a": 9}) == reference.train({}) == []
    assert reference.train({b"abab": 1}, 1, unit="char") == [(97, 98, 128, 2, 2)]


# --- the real tiktoken ---


def test_letters_equal_the_pinned_tables(tiktoken: Any) -> None:
    assert len(regex.findall(r"\p{L}", "".join(map(chr, range(0x110000))))) == 141_028


def bigrams() -> dict[bytes, int]:
    """All bytes and all pairs of bytes with shuffled ranks, so that the ids show the cuts of a text."""
    pairs = [bytes([left, right]) for left in range(256) for right in range(256)]
    random.Random(7).shuffle(pairs)
    return {token: rank for rank, token in enumerate([*(bytes([byte]) for byte in range(256)), *pairs])}


@pytest.mark.slow
@pytest.mark.parametrize("row", ["gpt2", "cl100k", "o200k"])
def test_ids_equal_tiktoken(tiktoken: Any, row: str) -> None:
    tokens = bigrams()
    specials = {"<|end|>": len(tokens) + 5}
    peer = tiktoken.Encoding("peer", pat_str=ROWS[row][0], mergeable_ranks=tokens, special_tokens=specials)
    model = Model(tokens, reference.bytes_rule(tokens), True, ROWS[row], specials)

    @given(BROKEN_TEXTS)
    def check(text: str) -> None:
        assert encode(text, model, "text") == peer.encode_ordinary(text)
        assert encode(text, model, "allow") == peer.encode(text, allowed_special="all")

    check()
