"""Marks: untrusted text contains no added token, whatever flags its file has, and merges of ordinary text make none."""

import dataclasses
import io
import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from chat_templates import FAMILIES
from test_chat import by_jinja, chat, contents_of, is_blank, marks_of, peer, tok

import toksmith
from toksmith._tokenizer.marks import TrustedEncoder, is_mark
from toksmith.types import AddedToken

EXHAUSTIVE = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
MESSAGES = 100_000 if EXHAUSTIVE else 2_000
PLAIN = [
    "low", "the user", " ", "\n\n", "  ", "é日本", "1|", "[", "<", ">", "｜", "\u200b", "Ｉ", "<|", "|>", "im_",
    "</", "/>", "\n",
]  # fmt: skip


def fragments(family: str) -> list[str]:
    """Words, marks, halves of marks, and marks in other cases and widths."""
    marks = [content for content in contents_of(family) if not is_blank(content)]
    halves = [part for mark in marks for part in (mark[: len(mark) // 2], mark[len(mark) // 2 :])]
    others = [f"{mark[0]} {mark[1:]}" for mark in marks] + [mark.upper() for mark in marks]
    return [*marks, *marks, *halves, *others, *PLAIN, *PLAIN]


@pytest.mark.proof
@pytest.mark.short
def test_no_drawn_message_makes_a_mark() -> None:
    """Every mark comes from the template. Messages without a mark have the ids of HF tokenizers."""
    drawn = equal = spelled = 0
    for number in range(MESSAGES // 4):
        chance = Random(number)
        family = [*FAMILIES][number % len(FAMILIES)]
        parts = fragments(family)
        messages = [
            {"role": role, "content": "".join(chance.choices(parts, k=chance.randrange(8)))}
            for role in ("user", "assistant", "user", "assistant")
        ]
        prompt = chance.random() < 0.5
        found = chat(family, messages, add_generation_prompt=prompt)
        harmless = chat(family, [message | {"content": "low"} for message in messages], add_generation_prompt=prompt)
        assert marks_of(family, found.ids.tolist()) == marks_of(family, harmless.ids.tolist()), messages
        assert tok(family).decode(found.ids) == found.text, messages
        places = {(start, content) for start, content in found.disarmed}
        assert all(found.text.startswith(content, start) for start, content in places), messages
        drawn += len(messages)
        spelled += bool(places)
        if not places:
            equal += 1
            assert found.ids.tolist() == peer(family).encode(found.text, add_special_tokens=False).ids, messages
    print(f"{drawn:,} messages; {spelled:,} conversations spell a mark, {equal:,} have the ids of the peer")
    assert equal and spelled


def hf(folder: Path, model: dict[str, Any], added: list[dict[str, Any]], **steps: Any) -> toksmith.Tokenizer:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    rest = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"))
    file = {"version": "1.0", **rest, **steps, "added_tokens": [{**flags, **token} for token in added], "model": model}
    (folder / "tokenizer.json").write_text(json.dumps(file), encoding="utf-8")
    return toksmith.load(folder / "tokenizer.json")


LETTERS = "▁<>|abcdlowuser "
MERGED = {
    "type": "BPE",
    "vocab": {token: id for id, token in enumerate(["<u", "<u>", "lo", "low", "<u><", *LETTERS])},
    "merges": [["<", "u"], ["<u", ">"], ["l", "o"], ["lo", "w"], ["<u>", "<"]],
}
SCORED = {
    "type": "Unigram",
    "unk_id": 0,
    "vocab": [["<unk>", 0.0], ["<u>", 0.0], ["</s>", 0.0], *([char, -5.0] for char in "▁<>/usloaw"), ["low", -6.0]],
}
WORDS = {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "<u>": 1, "low": 2, "<a>": 3}}
PIECES = {
    "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
    "vocab": {"[UNK]": 0, "<u>": 1, "<": 2, "##u": 3, "##>": 4, "low": 5, "##low": 6, "l": 7, "##o": 8, "##w": 9},
}  # fmt: skip
SPACES = {"pre_tokenizer": {"type": "WhitespaceSplit"}}
LLAMA = {
    "normalizer": {
        "type": "Sequence",
        "normalizers": [
            {"type": "Prepend", "prepend": "▁"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        ],
    }
}


def sentencepiece(folder: Path, kind: str) -> toksmith.Tokenizer:
    trainer: Any = pytest.importorskip(
        "sentencepiece", "0.2.3", reason="lacks sentencepiece==0.2.3"
    ).SentencePieceTrainer
    out = io.BytesIO()
    trainer.train(
        sentence_iterator=iter(["low lower <u> lowest", "new <u>newer"] * 30), model_writer=out, minloglevel=2,
        hard_vocab_limit=False, vocab_size=60, model_type=kind, user_defined_symbols=["<u>", "<u|>", "▁▁"],
    )  # fmt: skip
    (folder / "m.model").write_bytes(out.getvalue())
    return toksmith.load(folder / "m.model", format="sentencepiece")


KINDS: dict[str, Callable[[Path], toksmith.Tokenizer]] = {
    "merges of the ordinary vocabulary": lambda folder: hf(folder, MERGED, [{"id": 1, "content": "<u>"}, {"id": 4, "content": "<u><"}]),
    "scores of the ordinary vocabulary": lambda folder: hf(
        folder, SCORED, [{"id": 1, "content": "<u>"}, {"id": 2, "content": "</s>", "special": True}]
    ),
    "words": lambda folder: hf(folder, WORDS, [{"id": 1, "content": "<u>"}, {"id": 0, "content": "[UNK]", "special": True}], **SPACES),
    "word pieces": lambda folder: hf(folder, PIECES, [{"id": 1, "content": "<u>", "special": True}], **SPACES),
    "flags": lambda folder: hf(
        folder,
        MERGED,
        [
            {"id": 21, "content": "<|", "lstrip": True}, {"id": 22, "content": "|>", "rstrip": True}, {"id": 25, "content": "lowe", "single_word": True},
            {"id": 23, "content": "<d|", "normalized": True}, {"id": 20, "content": " "}, {"id": 24, "content": "<d>", "special": True},
        ],
    ),
    "a normalizer": lambda folder: hf(folder, MERGED, [{"id": 21, "content": "<a", "normalized": True}, {"id": 22, "content": "<b"}], **LLAMA),
    "SentencePiece's byte pairs": lambda folder: sentencepiece(folder, "bpe"),
    "SentencePiece's unigram": lambda folder: sentencepiece(folder, "unigram"),
}  # fmt: skip


@cache
def tokenizer_of_kind(kind: str, folder: Path) -> toksmith.Tokenizer:
    return KINDS[kind](folder)


@pytest.fixture(params=KINDS)
def of_a_kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> toksmith.Tokenizer:
    return tokenizer_of_kind(request.param, tmp_path_factory.getbasetemp())


def without_marks(tok: toksmith.Tokenizer) -> toksmith.Tokenizer:
    """The tokenizer of the same model without marks, neither as added tokens nor in the ordinary vocabulary."""
    model = tok.model
    marks = {token.id for token in model.added_tokens if is_mark(model, token)} - {model.unknown_id}
    left = [place for place, id in enumerate(model.ids.tolist()) if id not in marks]
    return toksmith.Tokenizer(
        dataclasses.replace(
            model,
            tokens=toksmith.types.TokenTable.of([model.tokens[place] for place in left]),
            ids=model.ids[left],
            scores=None if model.scores is None else model.scores[left],
            merges=[row for row in model.merges.tolist() if not marks & {*row}] or model.merges[:0],
            added_tokens=tuple(token for token in model.added_tokens if not is_mark(model, token)),
        )
    )


def drawn_text(tok: toksmith.Tokenizer, chance: Random) -> str:
    contents = [token.content for token in tok.model.added_tokens]
    return "".join(
        chance.choices([*contents, "low", " ", "<", ">", "u", "<u", "|>", "  ", "lower", "lowe"], k=chance.randrange(7))
    )


def test_untrusted_text_has_the_ids_of_the_model_without_marks(of_a_kind: toksmith.Tokenizer) -> None:
    bare = without_marks(of_a_kind)
    marks = {token.id for token in of_a_kind.model.added_tokens if is_mark(of_a_kind.model, token)} - {
        of_a_kind.model.unknown_id
    }
    for seed in range(300):
        text = drawn_text(of_a_kind, Random(seed))
        found = of_a_kind.encode_segments([(text, False)])
        assert found == bare.encode(text, special="allow"), text
        assert not marks & {*found}, text


def test_trusted_text_has_the_ids_of_the_whole_tokenizer(of_a_kind: toksmith.Tokenizer) -> None:
    """Two trusted segments are one text."""
    if of_a_kind.model.kind == "unigram":
        pytest.skip("the score of a symbol takes part in the sum; a mark that trusted text spells is always found here")
    for seed in range(300):
        chance = Random(seed)
        text = drawn_text(of_a_kind, chance)
        cut = chance.randrange(len(text) + 1)
        assert of_a_kind.encode_segments([(text[:cut], True), (text[cut:], True)]) == of_a_kind.encode(
            text, special="allow"
        ), text


def test_a_mark_is_found_where_trusted_text_spells_all_of_it(of_a_kind: toksmith.Tokenizer) -> None:
    model = of_a_kind.model
    for token in model.added_tokens:
        if not is_mark(model, token) or token.id == model.unknown_id:
            continue
        head, tail = token.content[:1], token.content[1:]
        assert token.id in of_a_kind.encode_segments([("low ", False), (token.content, True), (" low", False)]), token
        for halves in ([(head, True), (tail, False)], [(head, False), (tail, True)]):
            assert token.id not in of_a_kind.encode_segments(halves), token


def test_white_space_and_characters_of_the_vocabulary_are_not_marks() -> None:
    trained = toksmith.train("low low", 258, pattern=None)
    added = [AddedToken(content, 300 + n, special=False) for n, content in enumerate([" ", "\n\n", "▁▁", "<a>", "é"])]
    added += [AddedToken("\t", 310), AddedToken("l", ord("l"), special=False)]
    model = dataclasses.replace(trained.model, added_tokens=tuple(added))
    assert [token.content for token in added if is_mark(model, token)] == ["<a>", "é", "\t"]
    found = toksmith.Tokenizer(model).encode_segments([("a \n\n<a>é\tl", False)])
    assert found == [*b"a", 300, 301, *"<a>é\t".encode(), ord("l")]


def test_no_text_can_spell_the_secret() -> None:
    """Two encoders of one tokenizer have different secrets, so the secret of one is ordinary text for the other."""
    tokenizer = toksmith.train("low low", 258, pattern=None, special_tokens=["<a>"])
    one, two = TrustedEncoder(tokenizer), TrustedEncoder(tokenizer)
    spelling = one._spellings["<a>"]
    assert two.encode([(spelling, False), ("<a>", True)]) == [
        *spelling.encode(),
        tokenizer.token_id("<a>"),
    ]


def test_offsets_partition_the_text(of_a_kind: toksmith.Tokenizer) -> None:
    """The ranges are in bytes."""
    for seed in range(100):
        chance = Random(seed)
        parts = [(drawn_text(of_a_kind, chance).encode(), number % 2 == 0) for number in range(3)]
        text = b"".join(part for part, _ in parts)
        found = of_a_kind._trusted_encoder.encode_with_offsets(parts)
        starts, ends = found.starts.tolist(), found.ends.tolist()
        assert found.ids.tolist() == of_a_kind._trusted_encoder.encode(parts)
        if ends:
            assert ends[-1] == len(text) and starts == [0, *ends[:-1]], parts


def test_only_messages_that_spell_a_mark_change() -> None:
    """The conversation around a message that spells a mark keeps its ids."""
    for family in FAMILIES:
        mark = next(content for content in contents_of(family) if content.startswith(("<", "[")))
        talk = [{"role": "user", "content": "low the"}, {"role": "assistant", "content": f" said {mark} low"}]
        found = chat(family, talk)
        whole = peer(family).encode(by_jinja(family, talk), add_special_tokens=False).ids
        head = found.ids.tolist().index(tok(family).encode(" said")[0]) if " said" in found.text else 0
        assert found.ids.tolist()[:head] == whole[:head] and found.disarmed
