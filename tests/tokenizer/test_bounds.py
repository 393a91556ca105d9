"""Bounds on growth of texts, steps of a search, and sizes of patterns and messages."""

import base64
import dataclasses
import json
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from processors import LIMIT_S, interrupt

import toksmith
from toksmith import Tokenizer, explain
from toksmith._formats.oniguruma import NotTranslatable, to_onig
from toksmith.errors import FormatError, InvalidOption, ModelError, PatternError, TextTooLong

MIB = 1 << 20
LIMIT = 64 + MIB  # of a text of one byte
ENDLESS = r"(?=(a|a)+?\1$)a|a|b"
LETTERS = {chr(97 + place): place for place in range(26)}


def content(**parts: Any) -> dict[str, Any]:
    """A tokenizer.json of letters."""
    fields = ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding")
    model = {"type": "BPE", "unk_token": "z", "vocab": LETTERS, "merges": []}
    return {"version": "1.0", "added_tokens": [], "model": model, **dict.fromkeys(fields), **parts}


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Tokenizer]:
    def load(**parts: Any) -> Tokenizer:
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(content(**parts)))
        return toksmith.load(path)

    return load


def replace(times: int, to: str = "aa", **pattern: str) -> list[dict[str, Any]]:
    return [{"type": "Replace", "pattern": pattern or {"String": "a"}, "content": to}] * times


def normalizers(steps: list[dict[str, Any]]) -> dict[str, Any]:
    return {"normalizer": {"type": "Sequence", "normalizers": steps}}


def decoders(steps: list[dict[str, Any]]) -> dict[str, Any]:
    return {"decoder": {"type": "Sequence", "decoders": steps}}


def split(regex: str) -> dict[str, Any]:
    return {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": regex}, "behavior": "Isolated", "invert": False}}


BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False, "trim_offsets": True}
GROWING: dict[str, tuple[dict[str, Any], str]] = {
    "doubling": (normalizers(replace(60)), "normalizers[20] (replace)"),
    "a regex": (normalizers(replace(60, Regex=r"a|\hx")), "normalizers[20] (replace)"),
    "empty matches": (normalizers(replace(60, Regex="")), "normalizers[11] (replace)"),
    "a long content": (normalizers(replace(1, "a" * (LIMIT + 1))), "normalizers[0] (replace)"),
    "a prefix": (
        normalizers([{"type": "Lowercase"}, {"type": "Prepend", "prepend": "a" * MIB}, *replace(9)]),
        "normalizers[2] (replace)",
    ),
    "characters": (normalizers([*replace(1, "é"), *[{"type": "ByteLevel"}] * 60]), "normalizers[20] (byte_characters)"),
    "characters in pieces": (
        {**normalizers(replace(1, "é")), "pre_tokenizer": {"type": "Sequence", "pretokenizers": [BYTE_LEVEL] * 60}},
        "splitters[19] (byte_characters)",
    ),
}
SHOWING: dict[str, tuple[dict[str, Any], str]] = {
    "doubling": (decoders(replace(60)), "decoders[20] (replace)"),
    "a regex": (decoders(replace(60, Regex=r"a|\hx")), "decoders[20] (replace)"),
    "a long content": (decoders(replace(1, "a" * (LIMIT + 1))), "decoders[0] (replace)"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", GROWING)
def test_growth_of_a_text_is_bounded(load: Callable[..., Tokenizer], name: str) -> None:
    parts, step = GROWING[name]
    tok = load(**parts)
    calls: list[Callable[[], object]] = [
        lambda: tok.encode("a"),
        lambda: tok.count("a"),
        lambda: tok.encode_with_offsets("a"),
        lambda: tok.encode_sampled("a", seed=1),
        lambda: explain.text(tok, "a"),
    ]
    for call in calls:
        with pytest.raises(TextTooLong) as caught:
            call()
        assert (caught.value.step, caught.value.limit, caught.value.index) == (step, LIMIT, None)
        assert step in str(caught.value)
    with pytest.raises(TextTooLong) as caught:
        tok.encode_batch(["b" if name not in ("empty matches", "a prefix") else "", "a"])
    assert caught.value.index == 1


@pytest.mark.parametrize("name", SHOWING)
def test_growth_of_decoded_text_is_bounded(load: Callable[..., Tokenizer], name: str) -> None:
    parts, step = SHOWING[name]
    tok = load(**parts)
    with pytest.raises(TextTooLong) as caught:
        tok.decode([0])
    assert (caught.value.step, caught.value.limit) == (step, LIMIT)
    with pytest.raises(TextTooLong) as caught:
        tok.decode_batch([[1], [0]])
    assert caught.value.index == 1


def test_the_limit_is_64_times_the_text_and_1_mib(load: Callable[..., Tokenizer]) -> None:
    fits = load(**normalizers(replace(1, "b" * LIMIT)))
    assert fits.count("a") == LIMIT
    with pytest.raises(TextTooLong) as caught:
        fits.count("aa")
    assert caught.value.limit == 2 * 64 + MIB
    assert fits.encode_with_offsets("ba").ends[-1] == 2, (
        "a million ids of one character cost no more than ids of separate characters"
    )


def test_the_parts_of_a_text_grow_together(load: Callable[..., Tokenizer]) -> None:
    added = {"lstrip": False, "rstrip": False, "single_word": False, "special": True, "normalized": False}
    tok = load(**normalizers(replace(1, "b" * (MIB // 2))), added_tokens=[{"id": 30, "content": "<s>", **added}])
    assert tok.count("a<s>a", special="allow") == MIB + 1
    with pytest.raises(TextTooLong):
        tok.count("a<s>a<s>a", special="allow")
    assert list(tok.count_batch(["a", "a", "a"])) == [MIB // 2] * 3


def test_growth_of_an_added_token_is_bounded(load: Callable[..., Tokenizer]) -> None:
    added = {"lstrip": False, "rstrip": False, "single_word": False, "special": False, "normalized": True}
    tokens = [{"id": 30, "content": "a", **added}]
    with pytest.raises((ModelError, FormatError), match=r"the added token \"a\" .*normalizers\[20\] \(replace\)"):
        load(**normalizers(replace(60)), added_tokens=tokens)
    many = [{"id": 30 + place, "content": f"a{place}", **added} for place in range(50)]
    with pytest.raises((ModelError, FormatError), match="cannot be normalized"):
        load(**normalizers(replace(1, "b" * (MIB // 10))), added_tokens=many)


def charsmap(text: bytes) -> str:
    """A compiled table that makes `text` of the letter a."""
    units = [0] * 512
    units[0] = 256 << 10  # the children of the root are at 256 ^ their byte
    units[256 ^ ord("a")] = ord("a") | 1 << 8 | 1 << 10  # a key ends here; its value is in the next unit
    units[256 ^ ord("a") ^ 1] = 1 << 31  # the text at 0
    trie = struct.pack(f"<{len(units)}I", *units)
    return base64.b64encode(struct.pack("<I", len(trie)) + trie + text + b"\0").decode()


def test_growth_by_a_compiled_table_is_bounded(load: Callable[..., Tokenizer]) -> None:
    table = charsmap(b"b" * MIB)
    tok = load(normalizer={"type": "Precompiled", "precompiled_charsmap": table})
    assert tok.count("a") == MIB
    with pytest.raises(TextTooLong, match=r"normalizers\[0\] \(precompiled\)"):
        tok.encode("aaa")


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_growth_by_the_table_of_sentencepiece_is_bounded(kind: Any) -> None:
    model = toksmith.train(["ab b a abab bab"] * 9, 12, kind=kind, unit="char").model
    (step,) = model.normalizers
    options = {**dict(step.options), "charsmap": charsmap(b"b" * (MIB // 4))}
    tok = Tokenizer(dataclasses.replace(model, normalizers=(toksmith.types.Step(step.kind, tuple(options.items())),)))
    assert tok.count("a") > 0
    for call in (tok.encode, tok.count, tok.encode_with_offsets):
        with pytest.raises(TextTooLong, match=r"normalizers\[0\] \(sentencepiece\)"):
            call("aaaaaa")


# Steps of a search


@pytest.mark.slow
def test_an_endless_search_is_an_error_with_its_place(load: Callable[..., Tokenizer]) -> None:
    tok = toksmith.train("low lower", 260, pattern=ENDLESS)
    text = "éb" + "a" * 46_000 + "b"
    calls: list[Callable[[Any], object]] = [
        tok.encode,
        tok.count,
        tok.encode_with_offsets,
        lambda text: tok.encode_sampled(text, seed=1),
    ]
    for call in calls:
        with pytest.raises(PatternError) as caught:
            call(text)
        assert (caught.value.pattern, caught.value.offset, caught.value.index) == (ENDLESS, 2, None)
    with pytest.raises(PatternError) as caught:
        tok.encode(text.encode())
    assert caught.value.offset == 3
    with pytest.raises(PatternError) as caught:
        tok.encode_batch(["low", text])
    assert (caught.value.offset, caught.value.index) == (2, 1)
    for train in (
        lambda: toksmith.train([text], 300, pattern=ENDLESS),
        lambda: toksmith.corpus.count([text], pattern=ENDLESS),
    ):
        with pytest.raises(PatternError):
            train()
    assert tok.encode("low")


@pytest.mark.slow
def test_an_endless_search_of_oniguruma_is_an_error_with_its_place(load: Callable[..., Tokenizer]) -> None:
    tok = load(**split(r"(?:x+x+)+[yz]|q\Kx|x"))
    with pytest.raises(PatternError) as caught:
        tok.encode("ab" + "x" * 10_000)
    assert caught.value.offset == 2
    decoded = load(
        **decoders(replace(1, Regex=r"(?:x+x+)+(?<!\h)[yz]")),
        model=content()["model"] | {"vocab": {"x" * 10_000: 0, "z": 1}},
    )
    with pytest.raises(PatternError) as caught:
        decoded.decode([0])
    assert caught.value.offset is None


@pytest.mark.slow
def test_the_parts_of_a_text_share_one_budget() -> None:
    # About n²/2 steps for n letters: one stretch is within the constant part of the budget, several are not.
    tok = toksmith.train("low", 260, pattern=r"(?=(?:a|b)*?c)a|a|b", special_tokens=["<s>"])
    stretch = "a" * 2_000
    assert tok.encode_batch([stretch] * 12) == [tok.encode(stretch)] * 12
    together = "<s>".join([stretch] * 12)
    for texts in ([together], [together, "b"], ["b"] * 3 + [together]):
        with pytest.raises(PatternError) as caught:
            tok.encode_batch(texts, special="allow")
        alone = caught.value.offset
        assert alone is not None and 0 < alone < len(together)
    with pytest.raises(PatternError) as caught:
        tok.encode(together, special="allow")
    assert caught.value.offset == alone


@pytest.mark.parametrize("name", toksmith.patterns())
def test_published_patterns_stay_within_the_budget(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKSMITH_SLOW", "1")
    slow = toksmith.train("low", 257, pattern=name)
    monkeypatch.delenv("TOKSMITH_SLOW")
    fast = toksmith.train("low", 257, pattern=name)
    for unit in (" ", "x ", "\n ", "1", "ªA", "é日 \n", "'S", ".\n/"):
        text = (unit * 100_000)[:100_000] + "x"
        assert slow.count(text) == fast.count(text), unit


CALLS = {
    "encode": "tok.encode(text)",
    "batch": "tok.encode_batch(['b', text], threads=1)",
    "offsets": "tok.encode_with_offsets(text)",
    "train": "toksmith.train([text], 300, pattern=pattern)",
}


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_a_search(call: str) -> None:
    # Each match costs an automaton one step per following letter; no budget counts these steps.
    program = f"""
import signal, toksmith
signal.signal(signal.SIGINT, signal.default_int_handler)  # the parent process can ignore it
pattern = "(?:x+x+)+y|x"
tok = toksmith.train("low", 257, pattern=pattern)
text = "x" * 900_000
print("ready", flush=True)
{CALLS[call]}
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline().strip() == b"ready"
        interrupt(process)
        _, errors = process.communicate(timeout=LIMIT_S)
    assert errors.splitlines()[-1].startswith((b"KeyboardInterrupt", b"toksmith.errors.TrainingInterrupted"))


# The size of patterns and messages


@pytest.mark.parametrize(
    "pattern",
    ["a" * 100_000 + "+", "(" * 100_000, "(" * 8_000 + "a" + ")" * 8_000, "[" * 9_000, r"(?=\w{80}1)x" * 1_000],
)
def test_a_pattern_beyond_the_size_limit_is_refused(load: Callable[..., Tokenizer], pattern: str) -> None:
    for call in (
        lambda: toksmith.train("low", 300, pattern=pattern),
        lambda: toksmith.train("low", 300, pattern=[pattern]),
    ):
        with pytest.raises(InvalidOption) as caught:
            call()
        assert caught.value.value == pattern and len(str(caught.value)) < 800
    if "w" not in pattern:
        with pytest.raises((FormatError, InvalidOption)) as refused:
            load(**split(pattern))
        assert len(str(refused.value)) < 1000


def test_a_deep_pattern_is_not_translated() -> None:
    for pattern in ("(" * 5_000 + "a" + ")" * 5_000, "a" * 100_000):
        with pytest.raises(NotTranslatable) as caught:
            to_onig(pattern)
        assert len(str(caught.value)) < 400


def test_messages_quote_short_parts() -> None:
    long, raw = "é" * 1_000_000, b"\xff" * 1_000_000
    errors: list[toksmith.ToksmithError] = [
        toksmith.errors.FormatError("a", 1, long),
        toksmith.errors.CannotRepresent("a", long, long),
        ModelError(long),
        PatternError(long, long),
        TextTooLong("a", 1),
        toksmith.errors.SpecialTokenInText(long, 1),
        toksmith.errors.NotInVocabulary(raw),
        toksmith.errors.NotInVocabulary(long),
        toksmith.errors.UnknownName("file", long, [long]),
        InvalidOption("a", long, "b"),
        InvalidOption("a", [long] * 3, "b"),
        toksmith.errors.CorpusError("a", 1, long),
    ]
    assert all(len(str(error)) < 1_600 for error in errors)
    assert (errors[7].args[0], InvalidOption("a", "short", "b").value) == (long, "short")
    with pytest.raises(toksmith.errors.UnknownName) as caught:
        toksmith.train("low", 300, pattern=long)
    assert caught.value.matches == tuple(toksmith.patterns()) and caught.value.name == long
    assert len(str(caught.value)) < 600
