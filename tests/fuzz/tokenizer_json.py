"""Whole tokenizer.json files, drawn by the rules of their parts, and texts, against the slow twin and the rules.

A file names a model, normalizers, pre-tokenizers, added tokens and decoders that fit together or not; a file whose parts
do not fit is refused with an error of ours.
"""

from __future__ import annotations

import json
from typing import Any

import toksmith
from toksmith import Model
from toksmith._formats import FORMATS
from toksmith._formats.texts import BYTE_CHARACTERS
from toksmith._model.patterns import UNSET

from .codes import Codes
from .formats import LOADING, check_saved
from .rules import check, outcome, twins

__all__ = ["drawn", "run"]

ROW = FORMATS["tokenizer_json"]
LETTERS = (*"abelorstwLx12 .,!'#é中ſ▁ß😀", "\u0301", "\n")
CONTENTS = (
    "<s>",
    "</s>",
    "<|end|>",
    "<|end",
    "a b",
    " a",
    "É",
    "e\u0301",
    "ß",
    "▁a",
    "##",
    "aa",
    "[X]",
    " ",
    "ﬁ",
    "Å",
    "1",
)
PATTERNS = (
    r"\s+",
    r"\w+",
    r"\d",
    "a",
    "a*",
    r"\s?\w+|\S",
    "é|ß",
    "(?=a)",
    "[^a]+",
    "^.",
    "$",
    r"\p{L}+",
    "(?i:'s)|\\p{N}{1,3}",
)
STRINGS = (" ", "a", "", "▁", "e\u0301", "aa", "中", "  ")
BEHAVIORS = ("Removed", "Isolated", "Contiguous", "MergedWithPrevious", "MergedWithNext")


def pattern(codes: Codes) -> dict[str, str]:
    """The pattern of `Split` and `Replace`."""
    return {"Regex": codes.one(PATTERNS)} if codes.flag() else {"String": codes.one(STRINGS)}


def normalizer(codes: Codes) -> dict[str, Any]:
    """One normalizer."""
    plain = ("NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "ByteLevel")
    kind = codes.below(len(plain) + 4)
    if kind == 0:
        return {"type": "Replace", "pattern": pattern(codes), "content": codes.one((*STRINGS, "éé", "<s>"))}
    if kind == 1:
        return {"type": "Prepend", "prepend": codes.one(("▁", "a", " ", "e\u0301"))}
    if kind == 2:
        return {"type": "Strip", "strip_left": codes.flag(), "strip_right": codes.flag()}
    if kind == 3:
        flags = {name: codes.flag() for name in ("clean_text", "handle_chinese_chars", "lowercase")}
        return {"type": "BertNormalizer", "strip_accents": codes.one((None, True, False)), **flags}
    return {"type": plain[kind - 4]}


def pre_tokenizer(codes: Codes) -> dict[str, Any]:
    """One pre-tokenizer."""
    plain = ("BertPreTokenizer", "UnicodeScripts", "Whitespace", "WhitespaceSplit")
    kind = codes.below(len(plain) + 7)
    if kind == 0:
        behavior, invert = codes.one(BEHAVIORS), codes.flag()
        return {"type": "Split", "pattern": pattern(codes), "behavior": behavior, "invert": invert}
    if kind in (1, 2):
        flags = {name: codes.flag() for name in ("add_prefix_space", "trim_offsets", "use_regex")}
        return {"type": "ByteLevel", **flags}
    if kind == 3:
        scheme = codes.one(("always", "first", "never"))
        return {"type": "Metaspace", "replacement": codes.one("▁_a"), "prepend_scheme": scheme, "split": codes.flag()}
    if kind == 4:
        return {"type": "Digits", "individual_digits": codes.flag()}
    if kind == 5:
        return {"type": "Punctuation", "behavior": codes.one(BEHAVIORS)}
    if kind == 6:
        return {"type": "CharDelimiterSplit", "delimiter": codes.one("a ▁")}
    return {"type": plain[kind - 7]}


def decoder(codes: Codes) -> dict[str, Any]:
    """One decoder."""
    kind = codes.below(9)
    if kind == 0:
        return {"type": "Replace", "pattern": pattern(codes), "content": codes.one(STRINGS)}
    if kind == 1:
        return {"type": "Strip", "content": codes.one(" a▁"), "start": codes.below(3), "stop": codes.below(3)}
    if kind == 2:
        scheme = codes.one(("always", "first", "never"))
        return {"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": codes.flag()}
    if kind == 3:
        return {"type": "BPEDecoder", "suffix": codes.one(("</w>", " "))}
    if kind == 4:
        return {"type": "WordPiece", "prefix": "##", "cleanup": codes.flag()}
    if kind == 5:
        return {"type": "CTC", "pad_token": "a", "word_delimiter_token": "▁", "cleanup": codes.flag()}
    if kind == 6:
        return {"type": "ByteLevel", "add_prefix_space": codes.flag(), "trim_offsets": True, "use_regex": True}
    return {"type": ("ByteFallback", "Fuse")[kind - 7]}


def sequence(codes: Codes, part: Any, name: str) -> dict[str, Any] | None:
    """None, one or several of a part."""
    found = [part(codes) for _ in range(codes.below(4))]
    if len(found) > 1:
        return {"type": "Sequence", name: found}
    return found[0] if found else None


def joined(codes: Codes, tokens: list[str], prefix: str) -> list[list[str]]:
    """Merges that make more tokens, which are appended."""
    merges = []
    for _ in range(codes.below(24)):
        left, right = (tokens[-1 - codes.below(min(len(tokens), 255))] for _ in "ab")
        token = left + (right.removeprefix(prefix) if prefix else right)
        if token not in tokens and len(token) < 60:
            tokens.append(token)
            merges.append([left, right])
    return merges


def model(codes: Codes) -> dict[str, Any]:
    """One model of any kind."""
    kind, unknown, fallback = codes.below(5), codes.one((None, "<unk>")), codes.flag()
    tokens = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256) if fallback and kind != 1), *LETTERS]
    if kind == 4:
        scores = [[token, -float(place % 7) - 1] for place, token in enumerate([*tokens, *codes.some(CONTENTS, 4)])]
        seen: dict[str, float] = dict(reversed(scores))
        rows = [[token, seen[token]] for token in dict.fromkeys(token for token, _ in scores)]
        return {"type": "Unigram", "unk_id": 0 if unknown else None, "vocab": rows, "byte_fallback": fallback}
    if kind == 3:
        tokens += [f"##{letter}" for letter in LETTERS] + codes.some(CONTENTS, 6)
        vocab = {token: place for place, token in enumerate(dict.fromkeys(tokens))}
        longest = codes.one((100, 3, 0))
        rules = {"continuing_subword_prefix": "##", "max_input_chars_per_word": longest}
        return {"type": "WordPiece", "unk_token": "<unk>", **rules, "vocab": vocab}
    if kind == 2:
        words = dict.fromkeys([*tokens, *codes.some(CONTENTS, 6), "low", "lower"])
        return {"type": "WordLevel", "unk_token": "<unk>", "vocab": {word: place for place, word in enumerate(words)}}
    prefix, suffix = ("", "") if kind == 1 else (codes.one(("", "##")), codes.one(("", "</w>")))
    if kind == 1:
        tokens = list(BYTE_CHARACTERS)
    else:
        tokens += [prefix + letter + end for letter in LETTERS for end in dict.fromkeys(("", suffix))]
        tokens = list(dict.fromkeys([*tokens, *(letter + suffix for letter in LETTERS)]))
    merges = joined(codes, tokens, prefix)
    return {
        "type": "BPE",
        "dropout": None,
        "unk_token": unknown if kind == 0 else None,
        "continuing_subword_prefix": prefix or None,
        "end_of_word_suffix": suffix or None,
        "fuse_unk": codes.flag(),
        "byte_fallback": fallback and kind == 0,
        "ignore_merges": codes.flag(),
        "vocab": {token: place for place, token in enumerate(tokens)},
        "merges": merges,
    }


def added_tokens(codes: Codes, size: int) -> list[dict[str, Any]]:
    """Added tokens with any flags."""
    found = []
    for place, content in enumerate(dict.fromkeys(codes.some(CONTENTS, 4))):
        bits = codes.below(32)
        names = ("single_word", "lstrip", "rstrip", "normalized", "special")
        flags = {name: bool(bits >> bit & 1) for bit, name in enumerate(names)}
        found.append({"id": size + place, "content": content, **flags})
    return found


def drawn(codes: Codes) -> dict[str, Any]:
    """A file."""
    parts = model(codes)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added_tokens(codes, len(parts["vocab"])),
        "normalizer": sequence(codes, normalizer, "normalizers"),
        "pre_tokenizer": sequence(codes, pre_tokenizer, "pretokenizers"),
        "post_processor": None,
        "decoder": sequence(codes, decoder, "decoders"),
        "model": parts,
    }


def run(data: bytes) -> None:
    """Load a drawn file, save it, and encode drawn texts."""
    codes = Codes(data)
    content = json.dumps(drawn(codes)).encode()
    loaded = outcome(lambda: ROW.load(content, "drawn.json", pattern=UNSET, special_tokens=None), LOADING)
    if not isinstance(loaded, Model):
        return
    made = outcome(lambda: twins(loaded), LOADING)
    if isinstance(made[0], toksmith.Tokenizer):
        check_saved(loaded)
        for _ in range(2):
            check(made[0], made[1], codes.text_or_bytes())
