"""Every vocabulary through every pair of formats that can hold it: the same ids on hard texts, and refusals that name a field.

The published vocabularies are cut down to their first tokens, so that all pairs are seen in seconds; with
TOKSMITH_EXHAUSTIVE=1 they are whole.
"""

import dataclasses
import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hard_texts import HARD_TEXTS
from test_format_rows import scored
from trainings import trained_model

import toksmith
from toksmith import Model, Tokenizer
from toksmith._formats import FORMATS, UNSET, FileContent
from toksmith._sources import convert
from toksmith.errors import CannotRepresent
from toksmith.types import TokenTable

WHOLE = bool(os.environ.get("TOKSMITH_EXHAUSTIVE"))
TOKENS = 1 << 24 if WHOLE else 1500
FIELDS = {field.name for field in dataclasses.fields(Model)}
TEXTS = [*HARD_TEXTS.values(), *convert.SAMPLE, "low lower lowest <|e|> <unk> <s> it's 1234567 слово 漢字 नमस्ते"]


def ranks(file: str, pattern: str) -> Callable[[Path], Model]:
    return lambda folder: first_tokens(toksmith.load(folder / file, pattern=pattern, special_tokens={}).model)


def published(file: str, **options: Any) -> Callable[[Path], Model]:
    return lambda folder: first_tokens(toksmith.load(folder / file, **options).model)


def seed(folder: Path) -> Model:
    """The merges of the tutorials, of an unsplit text."""
    pairs = json.loads((folder / "seed_taylorswift_merges_1000.json").read_text(encoding="utf-8"))
    merges = [[left, right, id] for id, (left, right) in enumerate(pairs, 256)]
    tokens = [bytes([byte]) for byte in range(256)]
    for left, right, _ in merges:
        tokens.append(tokens[left] + tokens[right])
    return Model(TokenTable.of(tokens), np.arange(len(tokens), dtype=np.uint32), merges=np.array(merges, np.uint32))


def first_tokens(model: Model) -> Model:
    """The model of its first tokens: no merge makes a token of later ones."""
    if len(model.tokens) <= TOKENS:
        return model
    order = np.argsort(model.ids, kind="stable")[:TOKENS]
    ids = model.ids[order]
    kept = set(ids.tolist())
    merges = [row for row in model.merges.tolist() if kept.issuperset(row)]
    scores = None if model.scores is None else model.scores[order]
    added = tuple(token for token in model.added_tokens if token.id <= max(kept))
    table = TokenTable.of([model.tokens[place] for place in order.tolist()])
    return dataclasses.replace(model, tokens=table, ids=ids, merges=merges, scores=scores, added_tokens=added)


def of_options(**options: Any) -> Callable[[Path], Model]:
    text = "low lower lowest newest widest, it's 12 1234 don't! def f(x): return 漢字 слово Ünïcode " * 2
    return lambda folder: trained_model(text, **options)


GPT2_LIKE = {"native", "tiktoken", "tokenizer_json", "gpt2", "gguf"}
MERGES = {"native", "tiktoken", "minbpe"}
RANKS = {"native", "tiktoken", "tokenizer_json"}
# What each is made of, and the formats that hold it.
VOCABULARIES: dict[str, tuple[Callable[[Path], Model], set[str]]] = {
    "r50k_base": (ranks("r50k_base.tiktoken", "gpt2"), GPT2_LIKE),
    "p50k_base": (ranks("p50k_base.tiktoken", "gpt2"), GPT2_LIKE),
    "cl100k_base": (ranks("cl100k_base.tiktoken", "cl100k"), RANKS),
    "o200k_base": (ranks("o200k_base.tiktoken", "o200k"), RANKS),
    "llama3": (ranks("llama3.tiktoken", "llama3"), RANKS | {"gguf"}),
    "gpt2's two files": (published("encoder.json"), GPT2_LIKE),
    "gpt2_tokenizer.json": (published("gpt2_tokenizer.json"), GPT2_LIKE),
    # The first tokens of mistral_v1.model merge from characters that are not among them.
    "mistral_v1.model": (published("mistral_v1.model"), {"native", "sentencepiece", "gguf"} | ({"tokenizer_json"} if WHOLE else set())),
    "sp_unigram_en.model": (published("sp_unigram_en.model"), {"native", "sentencepiece", "gguf"}),
    "seed merges": (seed, MERGES | {"merge_dict", "tokenizer_json"}),
    "trained, llama3": (of_options(merges=40, pattern="llama3", special_tokens=["<|e|>"]), MERGES | {"tokenizer_json", "gguf"}),
    "trained, qwen2, two specials": (of_options(merges=40, pattern="qwen2", special_tokens=["<|e|>", "<s>"]), MERGES | {"tokenizer_json", "gguf"}),
    "trained, a regex": (of_options(merges=40, pattern=r"\w+|[^\w\s]+|\s+"), MERGES | {"tekken"}),
    "trained, no pattern": (of_options(merges=40, pattern=None), MERGES | {"merge_dict", "tokenizer_json"}),
    "trained, WordPiece": (of_options(vocab_size=400, kind="wordpiece"), {"native", "tokenizer_json", "vocab_txt"}),
    "trained, unigram": (of_options(vocab_size=400, kind="unigram"), {"native", "sentencepiece", "gguf"}),
    "trained, characters": (of_options(vocab_size=400, unit="char", byte_fallback=True), {"native", "sentencepiece", "tokenizer_json", "gguf"}),
    "trained, ASCII": (lambda folder: toksmith.train("low lower lowest", merges=4, unit="char", alphabet="ascii", pattern=None).model, {"native", "merge_dict", "tokenizer_json"}),
    "characters": (lambda folder: toksmith.train("low lower lowest", kind="chars").model, {"native", "stoi"}),
    "words": (lambda folder: toksmith.train("low lower", kind="words", pattern=r"\w+|\W+").model, {"native"}),
    "SentencePiece's": (lambda folder: scored(), {"native", "sentencepiece"}),
}  # fmt: skip


def through(model: Model, name: str) -> Model:
    """The model after a file of a format."""
    row = FORMATS[name]
    saved = row.save(model)
    content: Any = [FileContent(f"x{at}", part) for at, part in enumerate(saved)][: row.reads] if row.files else saved
    given = {"pattern": UNSET, "special_tokens": None, **convert.load_arguments(model, row)}
    return row.load(content, "x", **given)


def ids_of(model: Model) -> list[list[int]]:
    """What a model makes of the texts; of a text with an unknown character, that it is one."""
    tok = Tokenizer(model)
    found = []
    for text in TEXTS:
        try:
            found.append(tok.encode(text, special="allow"))
        except toksmith.errors.NotInVocabulary as error:
            found.append([-1, len(str(error))])
    return found


@pytest.mark.proof
@pytest.mark.short
@pytest.mark.parametrize("name", VOCABULARIES)
def test_every_pair_of_formats_keeps_the_ids(name: str, request: pytest.FixtureRequest) -> None:
    make, expected = VOCABULARIES[name]
    needs_files = name.endswith(("base", "json", "model", "files", "merges")) or name == "llama3"
    model = make(request.getfixturevalue("vocab_dir") if needs_files else Path())
    own = ids_of(model)
    first: dict[str, Model] = {}
    for format in FORMATS:
        try:
            first[format] = through(model, format)
        except CannotRepresent as error:
            assert error.format == format and error.field in FIELDS, str(error)
            continue
        assert ids_of(first[format]) == own, format
        assert through(first[format], format) == first[format], f"{format} does not give the same model again"
    assert set(first) == expected | ({"transformers"} if "tokenizer_json" in expected else set())
    for one, two in itertools.permutations(first, 2):
        of_hf = ("tokenizer_json", "transformers")
        if one in of_hf and model.scores is not None and two not in ("native", *of_hf):
            with pytest.raises(CannotRepresent):  # the steps of HF do not become SentencePiece's again
                through(first[one], two)
            continue
        try:
            again = through(first[one], two)
        except CannotRepresent as error:
            pytest.fail(f"{two} holds the vocabulary, but not what {one} makes of it: {error}")
        assert ids_of(again) == own, (one, two)
