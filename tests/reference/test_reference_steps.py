"""The steps, the flags of added tokens and unknown characters: the core equals the specification on drawn models and texts."""

import base64
import re
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from drawn_texts import Drawing
from test_core_equals_reference import BYTES, pinned_regex

import toksmith
from toksmith import Model, Tokenizer
from toksmith._model import steps as _post
from toksmith.reference import bytes_rule, merge, pair_rule, utf8
from toksmith.reference.added import Added, Steps, encode_steps
from toksmith.reference.decoders import DECODERS, decode_tokens
from toksmith.reference.normalizers import NORMALIZERS, normalize_line
from toksmith.reference.search import line_of, text
from toksmith.reference.splitters import SPLITTERS, is_punctuation, pieces
from toksmith.reference.templates import TEMPLATES, around
from toksmith.reference.unicode9 import category, script
from toksmith.reference.unknown import Symbols, encode_symbols
from toksmith.types import AddedToken, Step, TokenTable

__all__ = ["pinned_regex"]
ROOT = Path(__file__).resolve().parents[2]
BEHAVIORS = ["removed", "isolated", "contiguous", "merged_with_previous", "merged_with_next"]
PATTERNS = ["[ab]+", r"\s+|a(?!b)", r"\p{N}{1,3}", "x*|b", r"(?<=a)\s", "▁", r"[^\s\w]"]
ONIG = [*PATTERNS[:-1], r"\d{1,3}+", "^.?", "(?=[a-m])", "b|$", "", r"[\s&&[^ ]]+"]
LITERALS = ["a", "ab", " ", "▁", "e ", "", "aa"]
LETTERS = [
    "ab ", "a▁ ", "aA é1", "e\u0301\u0323é ", "中a文 か", "a.,!$€b ", " \n\tab", "ﬁ½①x", "가\u1112\u1161\u11abЯя",
]  # fmt: skip
CASES = 400

Given = tuple[str, dict[str, Any]]


def draw_pattern(random: Random) -> dict[str, Any]:
    """A drawn pattern and its dialect."""
    dialect = random.choice(["rust", "onig", "literal"])
    return {
        "pattern": random.choice({"rust": PATTERNS, "onig": ONIG, "literal": LITERALS}[dialect]),
        "dialect": dialect,
    }


def options_of(kind: str, random: Random) -> dict[str, Any]:
    """Drawn options of a kind of step, except for decoders with other options."""

    def flag() -> bool:
        return random.random() < 0.5

    cut = {"behavior": random.choice(BEHAVIORS), "invert": flag()}
    drawn: Mapping[str, dict[str, Any]] = {
        "delimiter": {"delimiter": random.choice("a ▁é")},
        "digits": {"individual": flag()},
        "fixed_length": {"length": random.randint(1, 4)},
        "literal": {"pattern": random.choice(LITERALS)} | cut,
        "prepend": {"prepend": random.choice(["▁", "", " a"])},
        "punctuation": {"behavior": cut["behavior"]},
        "regex": {"pattern": random.choice(PATTERNS), "dialect": "rust"} | cut,
        "replace": draw_pattern(random) | {"content": random.choice(["", " ", "▁", "ab"])},
        "strip": {"left": flag(), "right": flag()},
    }
    if kind == "regex" and flag():
        return drawn[kind] | {"pattern": random.choice(ONIG), "dialect": "onig"}
    if kind == "metaspace":
        return {
            "replacement": random.choice("▁_"),
            "prepend": random.choice(["always", "first", "never"]),
            "split": flag(),
        }
    return drawn.get(kind, {})


def normalizer_of(kind: str, random: Random) -> Given:
    if kind == "bert":
        names = ("clean_text", "handle_chinese_chars", "lowercase")
        return kind, {name: random.random() < 0.5 for name in names} | {
            "strip_accents": random.choice([None, True, False])
        }
    return kind, options_of(kind, random)


def splitter_of(kind: str, random: Random) -> Given:
    return kind, options_of(kind, random)


def decoder_of(kind: str, random: Random) -> Given:
    drawn: Mapping[str, dict[str, Any]] = {
        "ctc": {"pad": random.choice(["a", "<p>", ""]), "delimiter": random.choice(["▁", " "])},
        "metaspace": {"replacement": random.choice("▁ a"), "drop_first": random.random() < 0.5},
        "strip": {"content": random.choice(" ▁a"), "start": random.randint(0, 2), "stop": random.randint(0, 2)},
        "word_end": {"suffix": random.choice(["</w>", "a", ""])},
        "wordpiece": {"prefix": random.choice(["##", "▁", "a", ""])},
    }
    options = drawn.get(kind, options_of(kind, random))
    return kind, options | ({"cleanup": random.random() < 0.5} if kind in ("ctc", "wordpiece") else {})


def core(steps: Sequence[Given]) -> tuple[Step, ...]:
    return tuple(Step(kind, tuple(sorted(options.items()))) for kind, options in steps)


def engine(normalizers: Sequence[Given] = (), splitters: Sequence[Given] = ()) -> Any:
    """An engine that splits texts by these steps."""
    fields: dict[str, Any] = {"normalizers": core(normalizers), "splitters": core(splitters)}
    return Tokenizer(Model(TokenTable.of([b"a"]), np.zeros(1, np.uint32), kind="words", **fields))._engine


def is_known(char: str) -> bool:
    """Whether the tables of Python have the character; they lack the lower case of newer ones."""
    return unicodedata.category(char) not in ("Cn", "Cs")


def draw_text(random: Random, drawing: Drawing) -> str:
    if random.random() < 0.5:
        return "".join(random.choice(random.choice(LETTERS)) for _ in range(random.randrange(12)))
    return "".join(filter(is_known, next(drawing.texts(1))))[:40]


def compare(normalizers: Sequence[Given], splitters: Sequence[Given], drawn: str) -> None:
    wanted = [text(piece) for piece in pieces(normalize_line(line_of(drawn), normalizers), splitters)]
    assert [piece.decode() for piece in engine(normalizers, splitters).split(drawn)] == wanted, (normalizers, splitters)


# Rows


def rows_of_the_core(table: str) -> set[str]:
    source = (ROOT / "crates/core/src/steps" / f"{table}.rs").read_text(encoding="utf-8")
    return set(
        re.findall(r'^    \("(\w+)", ', source.partition("pub const ROWS")[2].partition("\n];")[0], re.MULTILINE)
    )


def rows_of_the_document(title: str) -> set[str]:
    section = (ROOT / "docs/steps.md").read_text(encoding="utf-8").partition(f"## {title}\n")[2].partition("\n## ")[0]
    firsts = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name for first in firsts for name in re.findall(r"`(\w+)`", first)}


@pytest.mark.parametrize(
    ("table", "title", "own"),
    [
        ("normalizers", "Normalizers", NORMALIZERS),
        ("splitters", "Splitters", SPLITTERS),
        ("decoders", "Decoders", DECODERS),
    ],
)
def test_the_specification_has_every_row(table: str, title: str, own: Mapping[str, object]) -> None:
    # `models.normalize` is `sentencepiece` and `denormalizer`, which have a separate engine.
    assert {*own} == rows_of_the_core(table) == rows_of_the_document(title) - {"sentencepiece", "denormalizer"}
    assert len(own) >= 10


def test_the_specification_has_every_template() -> None:
    assert {*TEMPLATES} == {*_post.TEMPLATES}
    assert {*TEMPLATES, *_post.OTHERS} == rows_of_the_document("Post-processing")


def draw_template(random: Random, kind: str) -> Given:
    """A step that puts ids around texts."""
    options: dict[str, Any] = {name: [f"<{name}>", random.randrange(300)] for name in ("cls", "sep")}
    if kind == "template":
        specials = {name: [random.choices(range(300), k=random.randrange(1, 3)), [name]] for name in "xy"}
        listed = {"single": "Axxy", "pair": "AABxyy"}
        chosen = {field: random.sample(names, random.randint(1, len(names))) for field, names in listed.items()}
        options = {
            field: [[name, name in "xy", random.randrange(3)] for name in names] for field, names in chosen.items()
        }
        options["special_tokens"] = specials
    return kind, options


@pytest.mark.parametrize("kind", sorted(TEMPLATES))
def test_templates_equal_the_specification(kind: str) -> None:
    """A step of the kind and up to two further steps; combinations that the specification refuses are errors."""
    random = Random(8)
    bare = toksmith.train("low lower", merges=4).model
    refused = 0
    for _ in range(CASES):
        kinds = [kind, *random.choices(sorted(TEMPLATES), k=random.randrange(3))]
        steps = [draw_template(random, each) for each in kinds]
        tok = Tokenizer(replace(bare, post=core(steps)))
        ids, second = (random.choices(range(260), k=random.randrange(4)) for _ in range(2))
        for pair in (None, second):
            try:
                due = around(ids, pair, steps)
            except ValueError:
                refused += 1
                with pytest.raises(toksmith.errors.ModelError, match="do not fit together"):
                    tok.post_process(ids, pair)
                continue
            assert _post.template_of(tok.model).apply(ids, pair) == due
            assert tok.post_process(ids, pair) == due[0]
        text = "".join(random.choices("low er", k=random.randrange(6)))
        if _post.template_of(tok.model).single is not None:
            assert tok.encode(text, add_special_tokens=True) == around(tok.encode(text), None, steps)[0]
    assert 0 < refused < CASES


# Steps on drawn texts


@pytest.mark.parametrize("kind", sorted({*NORMALIZERS} - {"precompiled"}))
def test_normalizers_equal_the_specification(kind: str) -> None:
    random, drawing = Random(kind), Drawing(len(kind))
    for _ in range(CASES):
        compare([normalizer_of(kind, random)], [], draw_text(random, drawing))


@pytest.mark.parametrize("kind", sorted(SPLITTERS))
def test_splitters_equal_the_specification(kind: str) -> None:
    random, drawing = Random(kind), Drawing(len(kind))
    for _ in range(CASES):
        compare([], [splitter_of(kind, random)], draw_text(random, drawing))


@pytest.mark.parametrize("kind", sorted(DECODERS))
def test_decoders_equal_the_specification(kind: str) -> None:
    random = Random(kind)
    parts = [
        "a", "▁a", "<0xC3>", "<0xA9>", "<0xFF>", "##b", "n't", " ", "Ġ", "Ã", "©", "</w>", "b</w>", "中", "aa",
        ".", "<0x+A>",
    ]  # fmt: skip
    ids = np.arange(len(parts), dtype=np.uint32)
    for _ in range(CASES):
        steps = [decoder_of(kind, random)]
        steps += [decoder_of(random.choice(sorted(DECODERS)), random) for _ in range(random.randrange(2))]
        model = Model(TokenTable.of([part.encode() for part in parts]), ids, kind="words", decoders=core(steps))
        drawn = random.choices(range(len(parts)), k=random.randrange(9))
        assert Tokenizer(model).decode(drawn) == decode_tokens([parts[id] for id in drawn], steps), (steps, drawn)


@pytest.mark.slow
def test_steps_in_any_order_equal_the_specification() -> None:
    random, drawing = Random(3), Drawing(3)
    # A composed character can have several sources, and `first` needs the start of a piece: forms have separate tests.
    kinds = sorted({*NORMALIZERS} - {"precompiled", "nfc", "nfd", "nfkc", "nfkd", "bert"})
    for _ in range(5 * CASES):
        normalizers = [normalizer_of(random.choice(kinds), random) for _ in range(random.randrange(3))]
        splitters = [splitter_of(random.choice(sorted(SPLITTERS)), random) for _ in range(random.randint(1, 3))]
        compare(normalizers, splitters, draw_text(random, drawing))


def double_array(charsmap: Mapping[str, str]) -> str:
    """A mapping in the compiled form of SentencePiece: a trie in a double array, and texts."""
    units: list[int] = [0] * (1 << 12)
    used, bases = {0}, {0}
    blob = b""

    def place(node: int, entries: list[tuple[bytes, str]]) -> None:
        nonlocal blob
        ends = [new for key, new in entries if not key]
        children: dict[int, list[tuple[bytes, str]]] = {}
        for key, new in entries:
            if key:
                children.setdefault(key[0], []).append((key[1:], new))
        labels = [*([0] if ends else []), *children]
        base = next(
            base for base in range(256, 1 << 12) if base not in bases and not {base ^ label for label in labels} & used
        )
        bases.add(base)
        used.update(base ^ label for label in labels)
        units[node] |= (base ^ node) << 10 | bool(ends) << 8
        if ends:
            units[base] = 1 << 31 | len(blob)
            blob += ends[0].encode() + b"\0"
        for label, below in children.items():
            units[base ^ label] = label
            place(base ^ label, below)

    place(0, [(key.encode(), new) for key, new in charsmap.items()])
    array = np.array(units, "<u4").tobytes()
    return base64.b64encode(len(array).to_bytes(4, "little") + array + blob).decode()


@pytest.mark.usefixtures("pinned_regex")
def test_precompiled_tables_equal_the_specification() -> None:
    random, drawing = Random(4), Drawing(4)
    keys = ["Ａ", "①", "ﬁ", "\t", "e\u0301", "e", "a", "\r\n", "中文", "\u0301", "🇩", " "]
    for _ in range(CASES):
        charsmap = {key: random.choice(["", "a", "xyz", " ", "é"]) for key in random.sample(keys, random.randint(1, 6))}
        drawn = "".join(random.choices([*keys, "b", "\u0302", "🇪"], k=random.randrange(9))) + draw_text(random, drawing)
        wanted = text(normalize_line(line_of(drawn), [("precompiled", {"charsmap": charsmap})]))
        own = engine([("precompiled", {"charsmap": double_array(charsmap)})]).split(drawn)
        assert b"".join(own).decode() == wanted, (charsmap, drawn)


# Tables of old Unicode, on every character


# All assigned characters, and samples of the rest and of the private planes.
POINTS = [*range(0xD800), *range(0xE000, 0x33000), *range(0x33000, 0xE0000, 0xFFF), *range(0xE0000, 0xE1000)]
EVERY = [*map(chr, [*POINTS, *range(0xE1000, sys.maxunicode + 1, 0xFFF)])]


@pytest.mark.slow
def test_every_character_has_the_category_of_the_specification() -> None:
    whole = "".join(EVERY)
    (kept,) = engine([("strip_accents", {})]).split(whole)
    assert kept.decode() == "".join(char for char in EVERY if category(char)[0] != "M")
    plain = {"clean_text": False, "handle_chinese_chars": False, "lowercase": False, "strip_accents": False}
    (kept,) = engine([("bert", plain | {"clean_text": True})]).split(whole)
    assert kept.decode() == text(
        normalize_line([(char, 0) for char in EVERY], [("bert", plain | {"clean_text": True})])
    )
    step = ("bert", plain | {"strip_accents": True})
    own = engine([step])
    for char in EVERY:
        if unicodedata.category(char)[0] == "M" or category(char)[0] == "M":
            assert own.split("x" + char)[0].decode() == text(normalize_line(line_of("x" + char), [step])), hex(
                ord(char)
            )
    cut = engine([], [("punctuation", {"behavior": "removed"})]).split(whole)
    assert b"".join(cut).decode() == "".join(char for char in EVERY if not is_punctuation(char))


@pytest.mark.slow
@pytest.mark.usefixtures("pinned_regex")
def test_every_character_has_the_script_of_the_specification() -> None:
    cut = [piece.decode() for piece in engine([], [("unicode_scripts", {})]).split("".join(EVERY))]
    scripts = [(at, script(char)) for at, char in enumerate(EVERY)]
    known = [(at, own) for at, own in scripts if own is not None]
    starts = [known[0][0], *(at for (_, last), (at, own) in pairwise(known) if own != last)]
    assert cut == ["".join(EVERY[start:end]) for start, end in pairwise([*starts, len(EVERY)])]


@pytest.mark.slow
def test_every_character_has_the_forms_of_the_specification() -> None:
    for kind in ("nfc", "nfd", "nfkc", "nfkd"):
        own = engine([(kind, {})])
        for char in EVERY[:: 61 if kind[2:] == "c" else 59]:
            if is_known(char):
                around = f"a{char}\u0301x"
                assert own.split(around)[0].decode() == text(normalize_line(line_of(around), [(kind, {})])), hex(
                    ord(char)
                )


# Added tokens and whole texts


CONTENTS = ["<a>", "a", "ab", "<", "é", " ", "A", "b>", "\u3000", "_", "<a"]


@pytest.mark.slow
def test_added_tokens_with_flags_and_steps_equal_the_specification() -> None:
    random, raised = Random(6), 0
    ids_of = {token: id for id, token in enumerate([*BYTES, b"ab", b"a b", b" a"])}
    ranks = bytes_rule(ids_of)
    for _ in range(4 * CASES):
        tokens = [
            Added(content, 300 + place, *(random.random() < 0.4 for _ in range(5)))
            for place, content in enumerate(random.sample(CONTENTS, random.randint(1, 4)))
        ]
        kinds = ["lowercase", "strip", "prepend", "replace", "nfd"]
        normalizers = [normalizer_of(random.choice(kinds), random) for _ in range(random.randrange(2))]
        splitters = [splitter_of(random.choice(sorted(SPLITTERS)), random) for _ in range(random.randrange(3))]
        model = Model(
            TokenTable.of([*ids_of]),
            np.array([*ids_of.values()], np.uint32),
            merge_rule="bytes",
            normalizers=core(normalizers),
            splitters=core(splitters),
            added_tokens=tuple(AddedToken(*token[:3], *token[3:]) for token in tokens),
        )
        drawn: str | bytes = "".join(random.choices("<a>bAé _\u3000", k=random.randrange(14)))
        if random.random() < 0.2:
            drawn = utf8(drawn) + random.choice([b"\xff", b"\xc3", b"\x80a"]) + utf8(drawn)
        allow: Any = random.choice(["raise", "allow", "text", [token.content for token in tokens if token.special][:1]])
        steps = Steps(normalizers, splitters)
        tok = Tokenizer(model)
        try:
            wanted = encode_steps(drawn, lambda piece: merge([*piece], ranks), tokens, steps, allow)
        except ValueError as problem:
            assert "the text holds the special token" in str(problem)
            raised += 1
            with pytest.raises(toksmith.errors.SpecialTokenInText):
                tok.encode(drawn, special=allow)
        else:
            assert tok.encode(drawn, special=allow) == wanted, (drawn, allow, tokens, steps)
    assert raised > CASES // 8


@pytest.mark.slow
def test_unknown_characters_marks_and_bytes_equal_the_specification() -> None:
    random, refused = Random(7), 0
    for _ in range(5 * CASES):
        prefix, suffix = random.choice([("", ""), ("##", ""), ("", "</w>"), ("##", "</w>")])
        shown = [f"{prefix * first}{char}{suffix * last}" for char in "abé" for first in (0, 1) for last in (0, 1)]
        byte_tokens = [f"<0x{byte:02X}>" for byte in (*"xé☀".encode(), *prefix.encode(), *suffix.encode())]
        tokens = ["?", *dict.fromkeys([*random.sample(shown, random.randint(1, len(shown))), *byte_tokens])]
        merges = []
        for _ in range(random.randrange(8)):
            left, right = random.choices(range(len(tokens)), k=2)
            joined = tokens[left] + tokens[right].removeprefix(prefix)
            if joined not in tokens:
                merges.append((left, right, len(tokens)))
                tokens.append(joined)
        flags = {name: random.random() < 0.5 for name in ("fuse_unknown", "byte_fallback", "whole_piece")}
        unknown = random.choice([0, 0, None])
        fields: dict[str, Any] = {
            "unit": "char",
            "continuing_subword_prefix": prefix,
            "end_of_word_suffix": suffix,
            **flags,
        }
        model = Model(
            TokenTable.of([token.encode() for token in tokens]),
            np.arange(len(tokens), dtype=np.uint32),
            merges=np.array(merges, np.uint32).reshape(-1, 3),
            unknown_id=unknown,
            splitters=core([("whitespace_split", {})]),
            **fields,
        )
        own = Symbols(
            {token: id for id, token in enumerate(tokens)}, pair_rule(merges), prefix, suffix, unknown, **flags
        )
        drawn = "".join(random.choices("abé☀x?", k=random.randint(1, 9)))
        try:
            wanted = encode_symbols(drawn, own)
        except ValueError:
            refused += 1
            with pytest.raises(toksmith.errors.NotInVocabulary):
                Tokenizer(model).encode(drawn)
        else:
            assert Tokenizer(model).encode(drawn) == wanted, (drawn, own)
    assert refused > CASES // 4
