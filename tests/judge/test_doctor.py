"""Each check on tokenizers made to have what it looks for, and the exact counts of the published ones."""

import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiktoken
from processors import processor_s
from shown_results import check_shown
from tensor_files import raw, safetensors

import toksmith
from toksmith import doctor
from toksmith._judge import doctor as _doctor
from toksmith._model.model import AddedToken, TokenTable, regex_split
from toksmith._model.patterns import splitters

PATTERNS = {
    "r50k_base": "gpt2",
    "p50k_base": "gpt2",
    "cl100k_base": "cl100k",
    "o200k_base": "o200k",
    "llama3": "llama3",
}


def made_of(*tokens: bytes, pattern: str | None = None, **fields: Any) -> toksmith.Tokenizer:
    """A byte-level tokenizer of the single bytes and these tokens."""
    table = TokenTable.of([*(bytes([byte]) for byte in range(256)), *tokens])
    ids = np.arange(len(table), dtype=np.uint32)
    fields = {"merge_rule": "bytes", "splitters": () if pattern is None else (regex_split(pattern),), **fields}
    return toksmith.Tokenizer(toksmith.Model(table, ids, **fields))


def kinds(finding: _doctor.CheckFinding) -> dict[str, set[int | None]]:
    """The ids of a finding's witnesses, by kind."""
    found: dict[str, set[int | None]] = {}
    for witness in finding.witnesses:
        found.setdefault(witness.kind, set()).add(witness.id)
    return found


def test_every_check_gives_a_finding() -> None:
    found = doctor(made_of(b"ab"))
    assert [row.function.__name__ for row in _doctor.CHECKS] == [each.check for each in found.findings]
    assert {each.severity for each in found.findings} <= {"pass", "warn", "fail", "not applicable"}
    check_shown(found)


def test_the_worst_finding_decides() -> None:
    assert (doctor(made_of()).severity, doctor(made_of()).failed) == ("pass", False)
    lost = doctor(made_of(b"abc"))  # no two of its bytes merge
    assert (lost.severity, lost.failed, lost["merges"].severity) == ("fail", True, "fail")
    with pytest.raises(toksmith.errors.UnknownName, match="no check named"):
        lost["no such check"]
    with pytest.raises(TypeError, match=r"expected a Tokenizer, a name or a file.* not int"):
        doctor(5)  # type: ignore[arg-type]


# The checks, one by one


def test_cut_characters_are_classified() -> None:
    tokens = (b"a\xe2\x98", b"\x80 ", b"\x98\x80\xc3", b"\xff\xff", "é".encode(), b"\x98\x80")
    finding = doctor(made_of(*tokens))["cut_characters"]
    assert kinds(finding) == {
        "ends inside a character": {256},
        "starts inside a character": {257, 261},
        "starts and ends inside": {258},
        "in no UTF-8": {259},
    }
    assert finding.severity == "warn"
    assert finding.counts["several bytes, not valid UTF-8 alone"] == 5
    assert finding.counts["single bytes, not valid UTF-8 alone"] == 128
    assert finding.counts["single bytes that never occur in UTF-8"] == 13


def test_a_token_is_reached_in_a_context_or_not_at_all() -> None:
    # A word is cut from the digits after it, unless an a follows them: then the digits are a piece with `x`.
    tok = made_of(b"x1", b"y2", b"z3", b"3z", pattern=r"x1a|x(?=1)|y(?=2)|\d|[a-z]+")
    finding = doctor(tok)["unreachable"]
    assert kinds(finding) == {"only in a context": {256}, "in no tested context": {257, 258, 259}}
    [witness] = [each for each in finding.witnesses if each.id == 256]
    assert witness.text is not None
    assert 256 in tok.encode(witness.text)
    assert finding.severity == "warn"


def test_a_token_that_every_text_is_cut_inside_is_proven_dead() -> None:
    # cl100k cuts between a letter and a space, and between a digit and a letter; `b c` could not be merged either.
    tok = made_of(b"a ", b"1b", b" a", b"b c", splitters=splitters("cl100k"))
    finding = doctor(tok)["unreachable"]
    assert kinds(finding) == {"never, proven": {256, 257, 259}}
    assert finding.counts["encode to themselves"] == 128 + 1


def test_tokens_that_no_merge_makes_are_listed() -> None:
    finding = doctor(made_of(b"ab", b"wxyz", whole_piece=True))["merges"]
    assert (finding.severity, kinds(finding)) == ("warn", {"whole-piece lookup": {257}})
    merges = np.array([[97, 98, 256]], np.uint32)
    pair = made_of(b"ab", b"wxyz", merge_rule="pair", merges=merges)
    assert kinds(doctor(pair)["merges"]) == {"never": {257}}
    assert kinds(doctor(pair)["unreachable"]) == {"never, proven": {257}}
    assert doctor(pair).failed


def test_missing_bytes_of_a_byte_fallback_are_listed() -> None:
    names = [f"<0x{byte:02X}>".encode() for byte in range(256) if byte != 0xE2]
    tokens = TokenTable.of([*names, b"a"])
    model = toksmith.Model(tokens, np.arange(256, dtype=np.uint32), unit="char", byte_fallback=True)
    subject = _doctor.subject.Subject(_Held(model), None, None)  # type: ignore[arg-type]
    finding = _doctor.missing_bytes(subject)
    assert (finding.severity, [witness.token for witness in finding.witnesses]) == ("fail", [b"\xe2"])
    assert doctor(made_of())["missing_bytes"].severity == "pass"
    assert doctor(toksmith.train("ab", kind="chars"))["missing_bytes"].severity == "not applicable"


class _Held:
    """A model that no engine runs, as a tokenizer that only shows it."""

    def __init__(self, model: toksmith.Model) -> None:
        self.model = model


def test_duplicates_are_counted_by_form() -> None:
    tokens = [" a", "A", "é", "e\u0301", "a"]
    found = doctor(made_of(*(token.encode() for token in tokens[:1]), *(t.encode() for t in tokens[2:4])))
    counts = found["duplicates"].counts
    # 128 ASCII characters and three tokens; six ASCII characters are white space that strips to nothing
    white = sum(chr(byte).isspace() for byte in range(128))
    assert counts["whole characters"] == 131
    assert counts["distinct after strip"] == 131 - 1 - white + 1
    assert counts["distinct after case"] == 131 - 26
    assert counts["distinct after NFC"] == 131 - 1
    assert counts["distinct after strip and case"] == 131 - 1 - white + 1 - 26


def test_a_special_token_that_text_produces_fails() -> None:
    added = (AddedToken("ab", 256), AddedToken("<|end|>", 257), AddedToken("[x]", 258, special=False))
    finding = doctor(made_of(b"ab", added_tokens=added))["special_tokens"]
    assert finding.severity == "fail"
    assert kinds(finding) == {"produced by ordinary text": {256}, "always found": {258}}
    safe = toksmith.train("low lower", merges=2, special_tokens=["<|end|>"])
    assert doctor(safe)["special_tokens"].severity == "pass"
    assert doctor(made_of())["special_tokens"].severity == "not applicable"


def test_tokens_that_a_corpus_does_not_need_are_counted() -> None:
    tok = made_of(b"lo", b"low", b"xy", b"xyz")
    finding = doctor(tok, corpus=["low xyz", "low"])["never_emitted"]
    found = kinds(finding)
    assert found["scaffold"] == {256, 258}
    unused = doctor(tok, corpus=["low"])["never_emitted"]
    assert [each.id for each in unused.witnesses[:3]] == [259, 256, 258], "xyz, of no other token, comes first"
    assert finding.counts["never emitted"] == 260 - 3  # low, xyz and the space were emitted
    assert finding.counts["never emitted, but others are merged from them"] == 2
    for corpus in ([], [""]):
        assert doctor(tok, corpus=corpus)["never_emitted"].severity == "not applicable"


def test_hidden_characters_and_forms_of_a_corpus_are_counted() -> None:
    tok = made_of()
    finding = doctor(tok, corpus=iter(["a\u200bb", b"e\xcc\x81", "no\u200btrace\xa0here"]))["text_forms"]
    assert finding.severity == "warn"
    assert finding.counts["zero-width: places"] == 2
    assert finding.counts["zero-width: additional tokens if repaired"] == -6
    assert finding.counts["tokens more in NFC"] == -1
    assert {witness.kind for witness in finding.witnesses} == {"zero-width", "decomposed", "no-break space"}
    assert doctor(tok, corpus=["plain text"])["text_forms"].severity == "pass"
    assert doctor(tok, corpus=[""])["text_forms"].severity == "not applicable"
    long = doctor(tok, corpus=["line\n" * 100_000, "\u200b"])["text_forms"]
    assert (long.severity, long.counts["characters looked at"]) == ("pass", 200_000)


# Embeddings


PLANTED = (300, 270, 42)
TOK = made_of(*(f"{first}{second}".encode() for first in "abcdefghi" for second in "uvwxy"))


def planted_rows(rows: int) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Rows as of a trained model, and a few that training never moved: those of unused ids, and the planted ones."""
    draw = np.random.default_rng(7)
    matrix = draw.normal(size=(rows, 64)) + 3 * draw.normal(size=64)
    matrix += np.outer(draw.normal(size=rows), draw.normal(size=64))
    unmoved = draw.normal(size=64)
    for id in (*PLANTED, 0xC0, 0xC1, *range(0xF5, 0x100), *range(TOK.vocab_size, rows)):
        matrix[id] = 0.01 * (unmoved + 0.05 * draw.normal(size=64))
    return matrix.astype(np.float32)


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16", "F64"])
@pytest.mark.parametrize("tied", [True, False])
def test_planted_rows_rank_first_under_each_indicator(dtype: str, tied: bool, tmp_path: Path) -> None:
    names = ["model.embed_tokens.weight"] + ([] if tied else ["lm_head.weight"])
    tensors = {name: raw(planted_rows(TOK.vocab_size + 5), dtype) for name in names}
    path = safetensors(
        tmp_path / "model.safetensors", {"norm.weight": raw(np.ones((3,), np.float32), "F32"), **tensors}
    )
    finding = doctor(TOK, embeddings=path)["under_trained"]
    found: dict[str, list[int | None]] = {}
    for witness in finding.witnesses:
        found.setdefault(witness.kind, []).append(witness.id)
    assert len(found) == 5
    assert all(set(ids[: len(PLANTED)]) == set(PLANTED) for ids in found.values()), found
    assert all(str(names[-1 if "norm" not in kind else 0]) in kind for kind in found)
    assert finding.severity == "warn"
    assert finding.counts["suspect by norm (model.embed_tokens.weight)"] == len(PLANTED)
    assert finding.counts["unused ids to compare with"] == 13 + 5
    assert doctor(TOK, embeddings=tmp_path)["under_trained"] == finding


def test_without_unused_rows_only_the_norm_ranks(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    rows = draw.normal(size=(TOK.vocab_size, 64)).astype(np.float32)
    rows[300] *= 1e-3
    path = safetensors(tmp_path / "x.safetensors", {"anything": raw(rows, "F32")})
    finding = doctor(TOK, embeddings=str(path))["under_trained"]
    assert {witness.kind for witness in finding.witnesses} == {"norm (anything)"}
    assert finding.witnesses[0].id == 300
    assert "too few unused ids" in finding.says


def test_a_model_in_several_files_is_found_by_its_index(tmp_path: Path) -> None:
    safetensors(tmp_path / "model-2.safetensors", {"lm_head.weight": raw(planted_rows(TOK.vocab_size), "F32")})
    index = {"weight_map": {"lm_head.weight": "model-2.safetensors", "x": "model-1.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    assert doctor(TOK, embeddings=tmp_path)["under_trained"].witnesses[0].id in PLANTED
    index["weight_map"]["lm_head.weight"] = "missing.safetensors"
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(toksmith.errors.FormatError, match="cannot be read"):
        doctor(TOK, embeddings=tmp_path)


def header_only(header: object) -> bytes:
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text


ENTRY = {"dtype": "F32", "shape": [4, 2], "data_offsets": [0, 32]}
WRONG = {
    "empty": (b"", "not a safetensors file"),
    "long header": (struct.pack("<Q", 1 << 60) + b"{}", "does not fit"),
    "not JSON": (struct.pack("<Q", 3) + b"abc", "not JSON"),
    "nested": (struct.pack("<Q", 200_000) + b"[" * 200_000, "not JSON"),
    "a list": (header_only([1]), "not a JSON object"),
    "no entry": (header_only({"wte.weight": 3}), "wte.weight: expected dtype"),
    "outside": (header_only({"wte.weight": ENTRY}), "are outside"),
    "negative": (header_only({"wte.weight": {**ENTRY, "data_offsets": [-1, 31]}}) + bytes(32), "expected dtype"),
    "dtype": (header_only({"wte.weight": {**ENTRY, "dtype": "I64"}}) + bytes(32), "has the dtype I64"),
    "size": (header_only({"wte.weight": {**ENTRY, "shape": [5, 2]}}) + bytes(32), "but 32 bytes"),
    "vector": (header_only({"wte.weight": {**ENTRY, "shape": [8]}}) + bytes(32), "has the shape"),
    "few rows": (header_only({"wte.weight": ENTRY}) + bytes(32), "has 4 rows, so the id 300 has none"),
    "none": (header_only({"a": ENTRY, "b": ENTRY}) + bytes(32), "no tensor with the name of an embedding"),
}


@pytest.mark.parametrize("data, said", WRONG.values(), ids=WRONG.keys())
def test_a_file_that_holds_no_embeddings_is_refused(data: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.safetensors"
    path.write_bytes(data)
    with pytest.raises(toksmith.errors.FormatError, match=said) as caught:
        doctor(TOK, embeddings=path)
    assert str(path) in str(caught.value)


def test_a_folder_without_embeddings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(toksmith.errors.FormatError, match=r"no \.safetensors file"):
        doctor(TOK, embeddings=tmp_path)
    with pytest.raises(toksmith.errors.FormatError, match="cannot be read"):
        doctor(TOK, embeddings=tmp_path / "missing.safetensors")


# The published tokenizers


@pytest.fixture(scope="module")
def health(data: Path) -> dict[str, Any]:
    path = data / "facts" / "inspect_fixtures.json"
    if not path.is_file():
        pytest.skip(f"lacks {path}")
    found: dict[str, Any] = json.loads(path.read_bytes())
    return found


def loaded(vocab_dir: Path, name: str, pattern: str | None = None) -> toksmith.Tokenizer:
    file = "llama3.tiktoken" if name == "llama3" else f"{name}.tiktoken"
    return toksmith.load(vocab_dir / file, pattern=pattern or PATTERNS[name])


@pytest.mark.parametrize("name", PATTERNS)
def test_published_tokenizers_have_the_known_counts(name: str, vocab_dir: Path, health: dict[str, Any]) -> None:
    tok, expected = loaded(vocab_dir, name), health["token_health"][name]
    found = doctor(tok)
    cut, reached = found["cut_characters"].counts, found["unreachable"].counts
    assert cut["several bytes, not valid UTF-8 alone"] == expected["multi_byte_invalid_utf8"]
    assert cut["ends inside a character"] == expected["ends_mid_char"]
    assert cut["starts inside a character"] == expected["starts_mid_char"]
    assert cut["starts and ends inside"] == expected["both"]
    assert cut["single bytes, not valid UTF-8 alone"] == expected["single_byte_invalid_utf8"]
    assert reached["only in a context"] == expected["valid_not_self"]
    assert reached["whole characters"] == reached["encode to themselves"] + expected["valid_not_self"]
    assert found["merges"].counts["tokens"] == expected["mergeable"]
    assert found["merges"].counts["not made by merges alone"] == expected["not_by_merges_alone"]
    assert len(found["merges"].witnesses) == expected["not_by_merges_alone"]
    assert not found.failed
    if name == "o200k_base":
        assert sorted(kinds(found["unreachable"])["only in a context"], key=int) == health["o200k_valid_not_self_ids"]
        for witness in found["unreachable"].witnesses:
            assert witness.id in tiktoken_o200k(vocab_dir).encode_ordinary(str(witness.text))
            assert tiktoken_o200k(vocab_dir).encode_ordinary(witness.token.decode()) != [witness.id]


def tiktoken_o200k(vocab_dir: Path, cache: dict[Path, tiktoken.Encoding] = {}) -> tiktoken.Encoding:  # noqa: B006 - a cache
    if vocab_dir not in cache:
        tok = loaded(vocab_dir, "o200k_base")
        ranks = dict(zip(tok.model.tokens, tok.model.ids.tolist(), strict=True))
        pattern = toksmith.patterns()["o200k"].regexes[0]
        cache[vocab_dir] = tiktoken.Encoding("o200k", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return cache[vocab_dir]


SINGLE_DIGITS = "cl100k with single digits"
MISMATCHES = {
    ("cl100k_base", "o200k"): ("cl100k vocab + o200k regex", "cl100k"),
    ("cl100k_base", "gpt2"): ("cl100k vocab + gpt2 regex", "cl100k"),
    ("o200k_base", "cl100k"): ("o200k vocab + cl100k regex", "o200k"),
    ("o200k_base", "gpt2"): ("o200k vocab + gpt2 regex", "o200k"),
    ("cl100k_base", SINGLE_DIGITS): ("cl100k vocab + single-digit", "cl100k"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name, pattern", MISMATCHES)
def test_a_wrong_pattern_is_named(name: str, pattern: str, vocab_dir: Path, health: dict[str, Any]) -> None:
    regexes = toksmith.patterns()["cl100k"].regexes[0].replace("{1,3}+", "") if pattern == SINGLE_DIGITS else pattern
    subject = _doctor.subject.Subject(loaded(vocab_dir, name, regexes), None, None)
    finding = _doctor.pattern(subject)
    case, right = MISMATCHES[name, pattern]
    assert finding.severity == "fail"
    assert int(subject.misfits.sum()) == health["wrong_pretokenizer_not_self"][case]
    assert f"with {right!r}" in finding.says
    assert f"pattern={right!r}" in finding.advice


@pytest.mark.slow
def test_published_tokenizers_have_the_known_distinct_entries(vocab_dir: Path) -> None:
    for name, distinct in {"r50k_base": 32_761, "cl100k_base": 62_638, "o200k_base": 144_372}.items():
        finding = _doctor.duplicates(_doctor.subject.Subject(loaded(vocab_dir, name), None, None))
        assert finding.counts["distinct after strip and case, cut characters shown as U+FFFD"] == distinct


@pytest.mark.proof
@pytest.mark.alone
@pytest.mark.skipif("TOKSMITH_SPEED" not in os.environ, reason="measures speed: lacks TOKSMITH_SPEED=1")
def test_the_doctor_takes_a_few_seconds(vocab_dir: Path) -> None:
    tok = loaded(vocab_dir, "o200k_base")
    took = processor_s(lambda: doctor(tok))
    print(f"doctor on {len(tok):,} tokens: {took:.2f} s of the processor")
    assert took <= 10
