"""`tokenizer.json`: ids equal in HF tokenizers, and what cannot be equal is refused."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn_models import BYTES, merged
from hard_texts import HARD_TEXTS, texts
from hypothesis import given, settings
from hypothesis import strategies as st

import toksmith
from toksmith import Model, Tokenizer, _core, _formats
from toksmith._formats import oniguruma
from toksmith._model.model import regex_split
from toksmith.errors import CannotRepresent
from toksmith.types import AddedToken, Step, TokenTable

tokenizers: Any = pytest.importorskip(
    "tokenizers", "0.23.3", reason="lacks tokenizers==0.23.3 (tests/requirements.txt)"
)

ROW = _formats.FORMATS["tokenizer_json"]
PUBLISHED = {
    "gpt2": ("r50k_base.tiktoken", "gpt2", {"<|endoftext|>": 50256}),
    "p50k_edit": (
        "p50k_base.tiktoken",
        "gpt2",
        {"<|endoftext|>": 50256, "<|fim_prefix|>": 50281, "<|fim_suffix|>": 50283},
    ),
    "cl100k": ("cl100k_base.tiktoken", "cl100k", {"<|endoftext|>": 100257, "<|endofprompt|>": 100276}),
    "o200k": ("o200k_base.tiktoken", "o200k", {"<|endofprompt|>": 200018, "<|endoftext|>": 199999}),
    "llama3": ("llama3.tiktoken", "llama3", {"<|begin_of_text|>": 128000, "<|eot_id|>": 128009}),
}
DOCUMENTS = 30


def peer(model: Model) -> Any:
    return tokenizers.Tokenizer.from_str(ROW.save(model).decode())


@pytest.fixture(scope="module", params=PUBLISHED)
def pair(request: pytest.FixtureRequest, vocab_dir: Path) -> tuple[Tokenizer, Any]:
    """A published vocabulary: ours, and HF's after our file."""
    file, pattern, special_tokens = PUBLISHED[request.param]
    tok = toksmith.load(vocab_dir / file, pattern=pattern, special_tokens=special_tokens)
    return tok, peer(tok.model)


def same(tok: Tokenizer, other: Any, text: str) -> None:
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")  # HF takes no lone surrogates
    ids = tok.encode(text, special="allow")
    assert other.encode(text).ids == ids, text
    assert other.decode(ids, skip_special_tokens=False) == text


@pytest.mark.slow
def test_published_ids_are_equal_on_the_corpora(pair: tuple[Tokenizer, Any], corpora_dir: Path) -> None:
    files = sorted(corpora_dir.glob("*.jsonl.gz"))
    assert files
    for path in files:
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for _, line in zip(range(DOCUMENTS), lines, strict=False):
                same(*pair, json.loads(line)["text"][:10_000])


@pytest.mark.slow
@pytest.mark.parametrize("name", HARD_TEXTS)
def test_published_ids_are_equal_on_hard_texts(pair: tuple[Tokenizer, Any], name: str) -> None:
    same(*pair, HARD_TEXTS[name])


@pytest.mark.slow
@given(st.lists(texts(), min_size=40, max_size=40))
@settings(max_examples=25)
def test_published_ids_are_equal_on_drawn_texts(pair: tuple[Tokenizer, Any], drawn: list[str]) -> None:
    for text in drawn:
        same(*pair, text)


@pytest.mark.slow
def test_published_special_tokens_keep_their_ids(pair: tuple[Tokenizer, Any]) -> None:
    tok, other = pair
    for content, id in tok.special_tokens.items():
        assert other.token_to_id(content) == id
        same(tok, other, f"a {content}  b{content}{content}\n")


def test_every_id_decodes_to_the_same_bytes(pair: tuple[Tokenizer, Any]) -> None:
    tok, other = pair
    for id, token in zip(tok.model.ids.tolist(), tok.model.tokens, strict=True):
        assert other.decode([id]) == token.decode("utf-8", "replace")


small = st.text("abcdef é€\n", max_size=30)


@pytest.mark.slow
@given(
    small.filter(str.strip),
    st.integers(0, 40),
    st.sampled_from(["o200k", "gpt2", None, [" ?[a-c]+", "[b]"]]),
    st.data(),
)
@settings(max_examples=100)
def test_trained_ids_are_equal(corpus: str, merges: int, pattern: Any, data: st.DataObject) -> None:
    options: dict[str, Any] = {"ties": data.draw(st.sampled_from(["lowest_ids", "first_seen"])), "pattern": pattern}
    tok = toksmith.train(corpus, merges=merges, special_tokens=["<|a|>", "<|b|>"], progress=False, **options)
    other = peer(tok.model)
    for text in [corpus, *data.draw(st.lists(small | texts(), max_size=10)), "a<|a|>b<|b|>"]:
        same(tok, other, text)


@pytest.mark.slow
@given(merged(), st.sampled_from(["pair", "bytes"]), st.booleans(), st.booleans(), st.data())
@settings(max_examples=150)
def test_drawn_ids_are_equal(drawn: Any, rule: Any, whole_piece: bool, shuffled: bool, data: st.DataObject) -> None:
    """Any merges: both rules, whole pieces, permuted ids with holes; also tokens that merging does not reach."""
    joined, merges = drawn
    tokens = [*BYTES, *joined]
    ids = np.arange(len(tokens), dtype=np.uint32)
    if shuffled:
        np.random.default_rng(1).shuffle(ids)
        ids += 5
    kept = [merge for merge in merges if data.draw(st.integers(0, 4))]
    table = ids[np.array(kept, np.int64).reshape(-1, 3)] if rule == "pair" else np.empty((0, 3), np.uint32)
    added = (AddedToken("<|a|>", 999), AddedToken("<|b|>", 1))[: 2 if shuffled else 1]
    fields: dict[str, Any] = {"merges": table, "merge_rule": rule, "whole_piece": whole_piece, "added_tokens": added}
    model = Model(TokenTable.of(tokens), ids, splitters=(regex_split("[<|>]|[^<|>]+"),), **fields)
    tok, other = Tokenizer(model), peer(model)
    for text in [*data.draw(st.lists(small, max_size=20)), "a<|a|>b<|b|>"]:
        same(tok, other, text)
    for token in joined:
        if token.decode("utf-8", "replace").encode() == token:
            same(tok, other, token.decode())


def byte_level(**fields: Any) -> Model:
    return Model(TokenTable.of(BYTES), np.arange(256, dtype=np.uint32), **fields)


ADDED = {
    "the next ids": [("<|a|>", 256), ("<|b|>", 257)],
    "the next ids in another order": [("<|b|>", 257), ("<|a|>", 256)],
    "holes": [("<|a|>", 300), ("<|b|>", 257)],
    "a single character": [("<|a|>", 256), ("☀", 300)],
    "white space": [(" \n ", 300), ("<|b|>", 256)],
}


@pytest.mark.parametrize("whole_piece", [False, True])
@pytest.mark.parametrize("name", ADDED)
def test_added_tokens_keep_their_ids(name: str, whole_piece: bool) -> None:
    added = tuple(AddedToken(content, id, special=place == 0) for place, (content, id) in enumerate(ADDED[name]))
    model = byte_level(added_tokens=added, whole_piece=whole_piece, splitters=(regex_split(r"\p{L}+|\s+"),))
    other = peer(model)
    for token in added:
        assert other.token_to_id(token.content) == token.id
        same(Tokenizer(model), other, f"a{token.content}b {token.content}{token.content}")
    assert [other.get_added_tokens_decoder()[token.id].special for token in added] == [True, False]


def test_added_tokens_keep_their_order_and_the_vocabulary_does_not_grow() -> None:
    """A file may list tokens inside and after the vocabulary in any order."""
    table = TokenTable.of([b"a", b"b", b"c"])
    added = (
        AddedToken("c", 2, special=False),
        AddedToken("<x>", 3),
        AddedToken("a", 0, special=False, lstrip=True),
        AddedToken("<y>", 4),
    )
    model = Model(table, np.arange(3, dtype=np.uint32), kind="words", unit="char", added_tokens=added)
    saved = ROW.save(model)
    assert ROW.load(saved, "tokenizer.json", pattern=_formats.UNSET, special_tokens=None) == model
    found = tokenizers.Tokenizer.from_str(saved.decode()).get_added_tokens_decoder()
    assert {token.content: id for id, token in found.items()} == {token.content: token.id for token in added}


def characters(**fields: Any) -> Model:
    return Model(TokenTable.of([b"a"]), np.zeros(1, np.uint32), unit="char", **fields)


REFUSED: dict[str, tuple[Model, str]] = {
    "chars": (Model(TokenTable.of([b"a"]), np.zeros(1, np.uint32), kind="chars", unit="char"), "kind"),
    "characters by their bytes": (characters(merge_rule="bytes"), "merge_rule"),
    "an unknown id without a token": (characters(unknown_id=7), "unknown_id"),
    "a normalizer of SentencePiece": (byte_level(normalizers=(Step("sentencepiece"),)), "normalizers"),
    "a normalizer without its options": (byte_level(normalizers=(Step("prepend"),)), "normalizers"),
    "a decoder": (byte_level(decoders=(Step("sentencepiece"),)), "decoders"),
    "a post-processor": (byte_level(post=(Step("frame"),)), "post"),
    "a template without its options": (byte_level(post=(Step("template"),)), "post"),
    "metadata": (byte_level(metadata={"a": "b"}), "metadata"),
    "another splitter": (byte_level(splitters=(Step("sentences"),)), "splitters"),
    "a space before pieces that are cut by another regex": (
        byte_level(splitters=(Step("prefix_space"), regex_split("a"))),
        "splitters",
    ),
    "two contents for an id": (byte_level(added_tokens=(AddedToken("a<", 300), AddedToken("b<", 300))), "added_tokens"),
    # "é" is how HF writes the byte 0xE9, so that it cannot be a name for 300 as well.
    "a content that is how a token is written": (byte_level(added_tokens=(AddedToken("é", 300),)), "added_tokens"),
    "a content that has a token's id": (byte_level(added_tokens=(AddedToken(" ", 32),)), "added_tokens"),
    # Without a splitter the text " x" is a piece; HF writes it "Ġx" and would find it in the vocabulary.
    "a content that is how a piece is written": (
        byte_level(added_tokens=(AddedToken("Ġx", 300),), whole_piece=True),
        "added_tokens",
    ),
    "a lone surrogate": (byte_level(added_tokens=(AddedToken("\ud800", 256),)), "added_tokens"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_that_the_format_cannot_hold_is_refused_by_its_field(name: str) -> None:
    model, field = REFUSED[name]
    with pytest.raises(CannotRepresent) as caught:
        ROW.save(model)
    assert (caught.value.format, caught.value.field) == ("tokenizer_json", field), str(caught.value)


def test_a_content_with_the_id_of_its_token_does_not_clash() -> None:
    model = Model(
        TokenTable.of([*BYTES, b"ab"]),
        np.arange(257, dtype=np.uint32),
        merges=np.array([[97, 98, 256]], np.uint32),
        added_tokens=(AddedToken("ab", 256), AddedToken("<|b|>", 257)),
    )
    same(Tokenizer(model), peer(model), "abab a<|b|>")


@pytest.mark.slow
def test_a_written_file_loads_again(pair: tuple[Tokenizer, Any], tmp_path: Path) -> None:
    tok = pair[0]
    path = tmp_path / "tokenizer.json"
    tok.save(path)
    again = toksmith.load(path)
    text = "".join(HARD_TEXTS.values()) + "".join(tok.special_tokens)
    assert again.encode(text, special="allow") == tok.encode(text, special="allow")
    assert ROW.save(again.model) == path.read_bytes()


# Regexes of both dialects.


@pytest.mark.parametrize("name", toksmith.patterns())
def test_every_pattern_row_is_translated(name: str) -> None:
    for regex in toksmith.patterns()[name].regexes:
        assert oniguruma.to_onig(regex) == regex.replace(r"\p{N}{1,3}+", r"\p{N}{1,3}")


def splits(regex: str, text: str) -> list[str]:
    """The pieces of HF."""
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(oniguruma.to_onig(regex)), "isolated")
    return [piece for piece, _ in split.pre_tokenize_str(text)]


def own(regex: str, text: str) -> list[str]:
    return [piece.decode() for piece in _core.Engine(byte_level().vocab, [regex], []).split(text)]


TRANSLATED = [
    r"a|b", r"(?:ab)+c?", r"(a|b)*c", r"\d{3}", r"a{2,}", r"a{1,2}", r"\p{N}{1,3}+", r"\p{L}{2}+|\p{L}", r"x*?y",
    r"\s++$|\s", r"\s+(?!\S)|\s", r"(?=ab)a", r"(?>a|ab)c?", r"[^\s\p{L}]+", r"[a-c]+", r"[\-a]+", r"[a^]+", r"[&~]+",
    r".+", r"\.+", r"(?i:'ll|s|[kd])", r"[一-龥぀-ゟ゠-ヿ]+", r"\p{Lu}\p{Ll}+|\P{L}+", r"[\p{Han}]+", r"a\/b|c", r"[.,!?…]+",
]  # fmt: skip
REFUSED_REGEXES = [
    r"^a", r"a$", r"\s+$", r"\s++$b|a$", r"\Aa", r"a\z", r"a\Z", r"\ha", r"a{,3}", r"(?:a{1,2}+)b", r"a{1,3}+b", r"(?m:a)",
    r"(?s)a.", r"(?s:a)", r"(?x:a)", r"(?i)a", r"(?-i:a)", r"\w+", r"\W", r"\ba", r"\Ba", r"a**", r"a{2}{3}", r"a{2}?",
    r"a{1,2}?", r"[[:alpha:]]", r"[a&&b]", r"[a~~b]", r"[a--b]", r"[^a[b]]", r"\p{Greek}", r"\pL", r"\p{^L}", r"(?i:é)", " ?",
    r"(?=b)", "a|", "", "a*", "(a?|b)", r"(a)\1", r"(?P<n>a)", r"(?<n>a)", r"(?<=a)b", r"(?<!a)b", "a)", "(a", "x{", "a}",
    r"\<a", r"\Ka", r"\Ga", "(?:a{0})", "a{0,2}", "[]a]", "a]", r"\x41", r"\u0041", r"\v", r"\X", "*a", "(?#a)b", "a\\",
]  # fmt: skip
plain = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
ALPHABET = "aAbBcCsſkKdDlLxy0１½ \t\r\n\u00a0\u2028éÉßǅʰ一ひ\u0301.,!?…'^&~-/[]"


@pytest.mark.slow
@given(st.lists(st.text(ALPHABET, max_size=12) | plain, min_size=20, max_size=20))
@settings(max_examples=12)
def test_translated_regexes_cut_at_the_same_places(drawn: list[str]) -> None:
    for regex in TRANSLATED:
        for text in drawn:
            assert splits(regex, text) == own(regex, text), (regex, text)


@pytest.mark.parametrize("regex", REFUSED_REGEXES)
def test_regexes_that_may_differ_are_refused(regex: str) -> None:
    with pytest.raises(oniguruma.NotTranslatable):
        oniguruma.to_onig(regex)
    with pytest.raises(CannotRepresent) as caught:
        ROW.save(byte_level(splitters=(regex_split(regex),)))
    assert caught.value.field == "splitters"


CLASSES = (
    [rf"\p{{{name}}}" for name in oniguruma.PROPERTIES] + [rf"\{letter}" for letter in oniguruma.CLASS_ESCAPES] + ["."]
)
# All planes that hold letters, marks or numbers, and a sample of the empty and private ones.
ASSIGNED = [*range(0xD800), *range(0xE000, 0x33480), *range(0x33480, 0x110000, 0x101), *range(0xE0000, 0xE0200)]


@pytest.mark.parametrize("name", [*CLASSES, "(?i:[a-m])", "(?i:[n-z])", *(f"(?i:{letter})" for letter in "iks")])
def test_classes_hold_the_same_code_points(name: str) -> None:
    text = "".join(map(chr, ASSIGNED))
    if name in (r"\S", r"\D", "."):
        text = "0\n ".join(text)  # else one piece would hold nearly all
    assert splits(f"{name}+", text) == own(f"{name}+", text)
