"""GGUF files in llama.cpp: it gives the ids of the tokenizer that was saved, on all corpora, hard texts and drawn ones.

Run by `make test-llama`, which prints the table of docs/clients.md. A text for which llama.cpp gives other ids must be one of
those that the page lists: `cause` knows them.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import struct
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
from conftest import DATA, existing_or_skip
from drawn_texts import Drawing
from hard_texts import HARD_TEXTS
from test_client_programs import documents

import toksmith
from toksmith import Model, Tokenizer
from toksmith._formats import gguf, gguf_pieces
from toksmith._model.patterns import splitters
from toksmith.errors import CannotRepresent
from toksmith.types import AddedToken, Step, TokenTable

pytestmark = pytest.mark.skipif("TOKSMITH_LLAMA" not in os.environ, reason="lacks llama.cpp; run make test-llama")
if "TOKSMITH_LLAMA" in os.environ:
    from llama import Llama

DRAWN = 10_000
SPECIAL = ["<|end|>", "<s>", "</s>"]


@functools.cache
def corpus() -> list[str]:
    return documents()


@functools.cache
def trained(**options: Any) -> Model:
    """A model of a quarter of the documents."""
    options = {name: list(value) if name == "pattern" else value for name, value in options.items()}
    return toksmith.train(corpus()[::4], 3000, progress=False, **options).model


def bytes_of(pre: str) -> Model:
    """Byte-level pairs that are split as llama.cpp splits for a name, with special tokens and one that is not."""
    row = gguf.PRES[pre]
    model = trained(pattern=row.pattern)
    added = [AddedToken(content, 3000 + place) for place, content in enumerate(SPECIAL)]
    added.append(AddedToken("<user>", 3010, special=False))
    post = gguf.make_template((3001, "<s>"), (3002, "</s>"))
    return dataclasses.replace(model, whole_piece=row.whole_piece, added_tokens=tuple(added), post=post)


def published(name: str, **options: Any) -> Model:
    return toksmith.load(existing_or_skip(DATA) / "vocab" / name, **options).model


def with_steps(model: Model, dummy: str, remove_extra: bool = False, charsmap: str = "", **fields: Any) -> Model:
    """A model of characters with another normalizer, and the decoder that belongs to it."""
    options = {"charsmap": charsmap, "dummy": dummy, "escape": True, "remove_extra": remove_extra}
    strip = "each" if remove_extra else "once" if dummy == "before" else "nothing"
    given: dict[str, Any] = {
        "normalizers": (Step("sentencepiece", tuple(sorted(options.items()))),),
        "decoders": (Step("sentencepiece", (("strip", strip), ("unknown", " ⁇ "))),),
    }
    return dataclasses.replace(model, **given | fields)


def pairs(dummy: str, *, normalized: bool = False, **options: Any) -> Model:
    """Pairs of characters with user-defined tokens; `normalized` ones are found after normalizing."""
    model = trained(unit="char", byte_fallback=True, user_symbols=("<user>", "ab", "漢字"))
    added = tuple(
        token if token.special else dataclasses.replace(token, normalized=normalized) for token in model.added_tokens
    )
    return with_steps(model, dummy, added_tokens=added, **options)


def unigram(dummy: str = "before", **options: Any) -> Model:
    return with_steps(trained(kind="unigram"), dummy, **options)


def published_charsmap() -> str:
    return str(published("sp_unigram_en.model").normalizers[0]["charsmap"])


ROWS: dict[str, Callable[[], Model]] = {
    "`gpt2`, r50k_base": lambda: published("r50k_base.tiktoken", pattern="gpt2", special_tokens={"<|endoftext|>": 50256}),
    "`gpt2`, GPT-2's tokenizer.json": lambda: published("gpt2_tokenizer.json"),
    "`gpt2`, Llama 3's": lambda: published("llama3.tiktoken", pattern="llama3", special_tokens={"<|end|>": 128000}),
    **{
        f"`gpt2`, trained, `pre` is `{pre}`": functools.partial(bytes_of, pre)
        for pre in ("gpt-2", "llama-bpe", "dbrx", "qwen2", "gpt-4o", "tekken", "deepseek-v3", "starcoder")
    },
    "`llama`, mistral_v1.model": lambda: published("mistral_v1.model"),
    "`llama`, trained": lambda: pairs("before"),
    "`llama`, trained, no space before texts": lambda: pairs("nowhere", normalized=True),
    "`t5`, sp_unigram_en.model": lambda: published("sp_unigram_en.model"),
    "`t5`, trained": unigram,
    "`t5`, trained, no space before texts": lambda: unigram("nowhere"),
    "`t5`, trained, extra spaces removed": lambda: unigram(remove_extra=True, charsmap=published_charsmap()),
}  # fmt: skip


def scalars(texts: Iterator[str] | list[str]) -> list[str]:
    """The texts without lone surrogates, which UTF-8 cannot hold."""
    return [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]


def is_newer(char: str) -> bool:
    """Whether Unicode has the character since a version that llama.cpp does not know: Python's tables are as old."""
    return unicodedata.category(char) == "Cn" and bool(regex.match(r"\P{Cn}", char))


def cause(tok: Tokenizer, text: str, ours: list[int], theirs: list[int]) -> str:
    """The reason for other ids of llama.cpp: one of the causes in docs/clients.md, or ""."""
    if tok.model.unit == "byte":
        if any(map(is_newer, text)):
            return "a character of a newer Unicode"
        return "'ſ is a contraction" if "'ſ" in text else ""
    if tok.model.kind == "bpe":
        return ""
    normalizer = tok.model.normalizers[0]
    parts = regex.split("|".join(regex.escape(token.content) for token in tok.model.added_tokens), text)
    if any(part and not part.strip() for part in parts):
        return "white space alone"
    if normalizer["remove_extra"] and text.endswith("▁"):
        return "a ▁ at the end"
    scores = dict(zip(tok.model.ids.tolist(), tok.model.scores.tolist(), strict=True))  # type: ignore[union-attr]
    sums = [sum(scores.get(id, 0.0) for id in ids) for ids in (ours, theirs)]
    same_unknown = ours.count(tok.model.unknown_id or 0) == theirs.count(tok.model.unknown_id or 0)
    return "sums of scores that are as good as equal" if same_unknown and abs(sums[0] - sums[1]) < 1e-3 else ""


def differing(tok: Tokenizer, llama: Any, texts: list[str], special: bool) -> Iterator[tuple[str, str]]:
    """The texts for which llama.cpp gives other ids, each with its cause."""
    for text in texts:
        ours, theirs = tok.encode(text, special="allow" if special else "text"), llama.encode(text, special=special)
        if ours != theirs:
            yield text, cause(tok, text, ours, theirs)


@pytest.mark.parametrize("name", ROWS)
def test_llama_cpp_gives_the_ids(name: str, tmp_path: Path) -> None:
    model = ROWS[name]()
    saved, path = Tokenizer(model), tmp_path / "x.gguf"
    saved.save(path, allow_loss=["metadata"])
    tok, llama = toksmith.load(path), Llama(path)
    drawn = scalars(list(HARD_TEXTS.values())) + scalars(Drawing(3, corpus()).texts(DRAWN))
    drawn += [f"a{content}b {content} {content}{content}" for content in (*SPECIAL, "<user>", "ab", "漢字", "<unk>")]
    for special in (False, True):
        wrong = [text for text, _ in differing(saved, llama, corpus(), special)]
        assert not wrong, (len(wrong), wrong[0][:80])
        assert not list(differing(tok, llama, corpus(), special))
        odd = list(differing(tok, llama, drawn, special))
        assert all(why for _, why in odd), [text for text, why in odd if not why][:3]
        assert len(odd) < len(drawn) // 100
        counts = {why: sum(why == other for _, other in odd) for _, why in odd}
        parsed = "special tokens found" if special else "plain text"
        print(
            f"\n| {name}, {parsed} | {len(corpus()):,} of {len(corpus()):,} | {len(drawn) - len(odd):,} of {len(drawn):,} | {counts}"
        )


@pytest.mark.parametrize("name", ROWS)
def test_llama_cpp_has_the_tokens_and_the_tokens_around_texts(name: str, tmp_path: Path) -> None:
    model = ROWS[name]()
    tok, path = Tokenizer(model), tmp_path / "x.gguf"
    tok.save(path, allow_loss=["metadata"])
    llama = Llama(path)
    for id, token in zip(model.ids.tolist(), model.tokens, strict=True):
        if model.unit == "char":
            token = (
                bytes([int(token[3:5], 16)])
                if model.byte_fallback and _is_byte(token)
                else token.replace("▁".encode(), b" ")
            )
        assert llama.piece(id) == token
    for added in model.added_tokens:
        assert llama.piece(added.id) == added.content.encode()
    for text in ("low lower", "", "漢字"):
        assert llama.encode(text, around=True) == tok.encode(text, add_special_tokens=True)


def _is_byte(token: bytes) -> bool:
    return token in {b"<0x%02X>" % byte for byte in range(256)}


@pytest.mark.parametrize("name", gguf.PRES)
def test_llama_cpp_knows_every_name_for_a_split(name: str, tmp_path: Path) -> None:
    row = gguf.PRES[name]
    model = bytes_of(next(other for other, same in gguf.PRES.items() if same.pattern == row.pattern))
    data = gguf.save(dataclasses.replace(model, whole_piece=row.whole_piece, post=()))
    first = gguf.choose_pre(dataclasses.replace(model, whole_piece=row.whole_piece), ())[1]
    old, new = (b"tokenizer.ggml.pre" + struct.pack("<IQ", 8, len(pre)) + pre.encode() for pre in (first, name))
    assert data.count(old) == 1
    path = tmp_path / "x.gguf"
    path.write_bytes(data.replace(old, new).replace(*_without_flag("add_bos_token")))
    tok, llama = toksmith.load(path), Llama(path)
    texts = corpus()[::10] + scalars(list(HARD_TEXTS.values()))
    assert not list(differing(tok, llama, texts, False))
    assert llama.encode("low", around=True) == tok.encode("low", add_special_tokens=True)


def _without_flag(name: str) -> tuple[bytes, bytes]:
    """The bytes of a key, and those of one that llama.cpp does not know: the flag then has its usual value."""
    key = f"tokenizer.ggml.{name}".encode()
    return key, key[:-1] + b"_"


def seams() -> Model:
    """A model that joins the first and the last byte of every character to its neighbour, unless a split separates them."""
    near = b"aA1 !\n'"
    tokens = [bytes([byte]) for byte in range(256)]
    joined = [(one, two) for one in near for two in range(0xC2, 0xF5)] + [
        (one, two) for one in range(0x80, 0xC0) for two in near
    ]
    merges = [(one, two, 256 + place) for place, (one, two) in enumerate(joined)]
    tokens += [bytes(pair) for pair in joined]
    return Model(TokenTable.of(tokens), np.arange(len(tokens), dtype=np.uint32), merges=np.array(merges, np.uint32))


@pytest.mark.parametrize("pre", ["gpt-2", "llama-bpe", "dbrx", "qwen2", "gpt-4o", "tekken", "deepseek-v3", "starcoder"])
def test_every_character_is_split_alike_except_newer_ones(pre: str, tmp_path: Path) -> None:
    row = gguf.PRES[pre]
    model = dataclasses.replace(seams(), splitters=splitters(row.pattern), whole_piece=row.whole_piece)  # type: ignore[arg-type]
    tok, path = Tokenizer(model), tmp_path / "x.gguf"
    tok.save(path)
    llama = Llama(path)
    wrong = []
    for point in range(0x80, 0x110000, 1 if pre in ("gpt-2", "llama-bpe", "qwen2") else 61):
        char = chr(point)
        text = f"a{char}a{char}1{char}{char} {char}!{char}a {char} A{char}\n{char}'{char}s{char}\n\n {char}"
        if unicodedata.category(char) != "Cs" and tok.encode(text) != llama.encode(text):
            wrong.append(point)
    print(f"\n{pre}: {len(wrong):,} characters are split in another way")
    assert all(map(is_newer, map(chr, wrong)))


@pytest.mark.parametrize("pattern, pre", [("o200k", "gpt-4o"), (gguf.TEKKEN, "tekken")])
def test_a_pattern_that_llama_cpp_runs_as_another_has_other_ids(pattern: str, pre: str, tmp_path: Path) -> None:
    model = bytes_of("gpt-2")
    model = dataclasses.replace(model, splitters=splitters(pattern), whole_piece=gguf.PRES[pre].whole_piece)
    tok, path = Tokenizer(model), tmp_path / "x.gguf"
    with pytest.raises(CannotRepresent, match="splitters"):
        tok.save(path)
    tok.save(path, allow_loss=["splitters"])
    equal = len(corpus()) - len(list(differing(tok, Llama(path), corpus(), False)))
    print(f"\n| `gpt2`, {pre} for its own regex | {equal:,} of {len(corpus()):,} |")
    assert equal < len(corpus())
    assert not list(differing(toksmith.load(path), Llama(path), corpus(), False))


REFUSED: dict[str, Callable[[], Model]] = {
    "pairs whose extra spaces are removed": lambda: pairs("before", remove_extra=True),
    "pairs of rewritten characters": lambda: pairs("before", charsmap=published_charsmap()),
    "pairs with a token of the normalized text": lambda: pairs("before", normalized=True),
    "unigram with bytes": lambda: with_steps(trained(kind="unigram", byte_fallback=True), "before"),
    "unigram with a user-defined token": lambda: with_steps(trained(kind="unigram", user_symbols=("漢字",)), "before"),
    "unigram without extra spaces and without one before": lambda: unigram("nowhere", remove_extra=True),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_models_have_other_ids(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tok, path = Tokenizer(REFUSED[name]()), tmp_path / "x.gguf"
    with pytest.raises(CannotRepresent):
        tok.save(path)
    monkeypatch.setattr(gguf_pieces, "unlike_llama", lambda model: iter(()))
    tok.save(path)
    equal = len(corpus()) - len(list(differing(tok, Llama(path), corpus(), False)))
    print(f"\n| {name} | {equal:,} of {len(corpus()):,} |")
    assert equal < len(corpus())


def test_llama_cpp_ends_at_an_unknown_character_without_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tok, path = (
        Tokenizer(toksmith.train("low lower lowest", 30, unit="char", progress=False).model),
        tmp_path / "x.gguf",
    )
    with pytest.raises(CannotRepresent, match="byte_fallback"):
        tok.save(path)
    monkeypatch.setattr(gguf_pieces, "unlike_llama", lambda model: iter(()))
    tok.save(path)
    script = f"from llama import Llama; llama = Llama({str(path)!r}); print(llama.encode('low')); llama.encode('漢')"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=Path(__file__).parents[1], env={**os.environ, "GGML_NO_BACKTRACE": "1"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.strip() == str(tok.encode("low")) and done.returncode < 0


def test_texts_that_spell_a_token_become_it_in_llama_cpp(tmp_path: Path) -> None:
    """As docs/clients.md says: pairs of characters merge to special tokens as well, where `s>` is a token."""
    model = toksmith.train("as> bs> cs> ds> es> " * 9, 270, unit="char", byte_fallback=True, progress=False).model
    added = (*model.added_tokens, AddedToken("<s>", model.vocab_size))
    tok, path = Tokenizer(dataclasses.replace(model, added_tokens=added)), tmp_path / "x.gguf"
    tok.save(path)
    assert Llama(path).encode("low<s>")[-1] == model.vocab_size != tok.encode("low<s>", special="text")[-1]
