"""Mistakes in Python whose result would silently be wrong: the class and the advice of each error.

A mistake that Python itself refuses is not here. The same for the shell is in test_mistakes.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toksmith
from toksmith import explain
from toksmith._base import suggestions
from toksmith.errors import InvalidOption, UnknownName

TOK = toksmith.train(["low lower lowest", "slow slower"], 262, special_tokens=["<|end|>"], progress=False)
COUNTS = toksmith.corpus.count("low lower", progress=False)
NAMES = {"toksmith": toksmith, "explain": explain, "tok": TOK, "counts": COUNTS, "Path": Path, "nan": float("nan")}

# The call, its error, and what the message names.
MISTAKES: list[tuple[str, type[Exception], str]] = [
    # One text where several are expected would be cut into its characters.
    ('tok.encode_batch("low")', TypeError, "texts"),
    ('tok.count_batch("low")', TypeError, "texts"),
    ('tok.encode_ragged("low")', TypeError, "texts"),
    ('tok.encode("low", special="<|end|>")', InvalidOption, "'allow'"),
    ('tok.encode("low", special="allowed")', InvalidOption, "'allow'"),
    ('tok.split("low", special="<|end|>")', InvalidOption, "'allow'"),
    ('toksmith.train("low", 300, special_tokens="<|a|>")', TypeError, "['<|a|>']"),
    ('toksmith.train("low", 300, seed_tokens="lo")', TypeError, "['lo']"),
    ('toksmith.train("low", 300, seed_tokens=b"lo")', TypeError, "seed_tokens"),
    ('toksmith.add_special(tok, "<|a|>")', TypeError, "['<|a|>']"),
    ('toksmith.study("low", special_tokens="<|a|>")', TypeError, "['<|a|>']"),
    ('toksmith.study("low", kinds="bpe")', TypeError, "['bpe']"),
    ('explain.unignored("a.py", {})', TypeError, "paths"),
    # Several texts where one is expected, and mappings, which yield keys.
    ('tok.encode(["low", "lower"])', TypeError, "encode_batch"),
    ('tok({"text": "low"})', TypeError, "values()"),
    ('tok.encode_batch({"text": "low"})', TypeError, "values()"),
    ('tok.encode_ragged_with_offsets({"text": "low"})', TypeError, "values()"),
    ('toksmith.train({"text": "low"}, 300)', TypeError, "values()"),
    ('toksmith.train("low", 300, special_tokens={"<|a|>": 5})', TypeError, "keys()"),
    ('toksmith.add_special(tok, {"<|a|>": 5})', TypeError, "keys()"),
    ('toksmith.train("low", 300, pattern={})', TypeError, "pattern"),
    ('toksmith.train("low", 300, pattern=[None])', TypeError, "pattern"),
    # Bytes and texts, ids and texts.
    ('tok.decode("low")', TypeError, "ids"),
    ('tok.decode(b"low")', TypeError, "ids"),
    ("tok.decode(257)", TypeError, "[257]"),
    ("tok.decode_batch([257, 258])", TypeError, "ids"),
    ('tok.post_process("low")', TypeError, "ids"),
    ('explain.edit(tok, "low", 0, 1, b"x")', TypeError, "new"),
    ('counts.of({"low": 1})', TypeError, "bytes"),
    # A path that looks like a text, a text that looks like a path, and a number that is an open file.
    ('toksmith.train("corpus.txt", 300)', InvalidOption, "pathlib.Path('corpus.txt')"),
    ('toksmith.train("data/*.txt", 300)', InvalidOption, "toksmith.files('data/*.txt')"),
    ('toksmith.files(["corpus.txt"])', TypeError, "path"),
    ('toksmith.load("cl100k")', UnknownName, "'cl100k_base'"),
    ('toksmith.load("no_such.json")', UnknownName, "encodings()"),
    ("tok.save(1)", TypeError, "int"),
    ("tok.encode_file(0)", AttributeError, "int"),
    ("counts.save(1)", TypeError, "int"),
    # Numbers that are fractional, negative or huge.
    ("toksmith.train('low lower', merges=1.5)", TypeError, "merges"),
    ("toksmith.train('low lower', merges=True)", TypeError, "merges"),
    ("toksmith.train('low lower', '300')", TypeError, "pass 300"),
    ("toksmith.train('low lower', 300.0)", TypeError, "pass 300"),
    ("toksmith.train('low lower', 1 << 64)", InvalidOption, "vocab_size"),
    ("tok.encode('low', threads=True)", TypeError, "threads"),
    ("tok.encode('low', threads=0)", InvalidOption, "threads"),
    ("tok.encode('low', threads=1 << 40)", InvalidOption, "threads"),
    ("tok.truncate('low', True)", TypeError, "max_tokens"),
    ("tok.truncate('low', 1.5)", TypeError, "max_tokens"),
    ("tok.truncate('low', -1)", InvalidOption, "max_tokens"),
    ("tok.chunk('low', 3, overlap=nan)", TypeError, "overlap"),
    ("tok.token_bytes(True)", TypeError, "id"),
    ("toksmith.prune(tok, 1.5)", TypeError, "n"),
    ("toksmith.extend(tok, 'low low', 1, min_count=1.5)", TypeError, "min_count"),
    ("toksmith.sweep(tok, '', 'low')", TypeError, "sizes"),
    ("toksmith.corpus.Job.check_run(workers=1.5)", TypeError, "workers"),
    ("explain.edits(tok, 'low', most=nan)", TypeError, "most"),
    ("explain.search(tok, 'low', most=-1)", InvalidOption, "most"),
    ("counts.filter(1.5)", TypeError, "min_count"),
    ("counts.moved(1.5)", TypeError, "documents"),
    ("toksmith.prune(tok, 1)[1]['low']", TypeError, "old"),
    # A text counts as True.
    ("tok.encode('low', add_special_tokens='no')", TypeError, "add_special_tokens"),
    ("tok.decode([97], skip_special_tokens='no')", TypeError, "skip_special_tokens"),
    ("toksmith.load('gpt2', download='no')", TypeError, "download"),
    ("toksmith.train('low', 40, kind='unigram', dummy_prefix='no')", TypeError, "dummy_prefix"),
    ("toksmith.convert(tok, 'a.toksmith', renumber='no')", TypeError, "renumber"),
    ("toksmith.corpus.plan(tok, Path('.'), 'job', dry_run='no')", TypeError, "dry_run"),
    ("toksmith.corpus.plan(tok, Path('.'), 'job', force='no')", TypeError, "force"),
    ("toksmith.corpus.plan_counts(Path('.'), 'job', force='no')", TypeError, "force"),
    ("toksmith.corpus.merge_counts(['a.tsv'], 'b.tsv', in_order='no')", TypeError, "in_order"),
    ("toksmith.graft('a', tok, 'b', dry_run='no')", TypeError, "dry_run"),
    ("toksmith.corpus.verify('job', decode='no')", TypeError, "decode"),
    ("explain.folder(tok, {'a': 'low'}, ignored='no')", TypeError, "ignored"),
    # A name that is not in a closed set.
    ("toksmith.train('low', 300, kind='wordpeice')", InvalidOption, "'wordpiece'"),
    ("toksmith.train('low', 300, pattern='gpt4')", UnknownName, "'cl100k'"),
    ("toksmith.train('low', 300, ties='random')", InvalidOption, "'lowest_ids'"),
    ("tok.truncate('low', 3, side='front')", InvalidOption, "'left'"),
    ("tok.encode_with_offsets('low', unit='bytes')", InvalidOption, "'byte'"),
    ("tok.save('out', format='pickle')", UnknownName, "'native'"),
    ("toksmith.metrics.measure(tok, ['low'])['fertilty']", UnknownName, "'fertility'"),
    # Python's own errors name the argument and the public function.
    ("tok.encode('low', allowed_special='all')", TypeError, "Tokenizer.encode() got an unexpected keyword"),
    ("tok.encode_array('low', return_tensors='np')", TypeError, "Tokenizer.encode_array() got an unexpected keyword"),
    ("toksmith.train('low', vocab=300)", TypeError, "'vocab'"),
]


@pytest.mark.parametrize(("call", "kind", "advice"), MISTAKES, ids=[call for call, _, _ in MISTAKES])
def test_a_mistake_is_refused(
    call: str, kind: type[Exception], advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=re.escape(advice)):
        eval(call, dict(NAMES))
    assert not [*tmp_path.iterdir()], "nothing is written"


class LongList(list[Any]):
    """A list that claims to be longer than memory."""

    def __len__(self) -> int:
        return 1 << 62


class Raises:
    """Raises from every special method."""

    def refuse(self, *_: object) -> Any:
        raise ZeroDivisionError

    __len__ = __iter__ = __index__ = __fspath__ = __getitem__ = __float__ = __bool__ = refuse


class Lies:
    """Makes false claims: a length beyond memory, an index that is a text, a path that is a number."""

    def __len__(self) -> int:
        return 1 << 62

    def __iter__(self) -> Iterator[object]:
        return iter([None])

    def __index__(self) -> Any:
        return "1"  # noqa: PLE0305

    def __fspath__(self) -> Any:
        return 1

    def __str__(self) -> Any:
        return 1  # noqa: PLE0307

    __repr__ = __str__


@pytest.mark.parametrize(
    "value", [Raises(), Lies(), object(), 1j, LongList([Lies()])], ids=lambda value: type(value).__name__
)
@pytest.mark.parametrize(
    "call",
    [
        TOK.encode,
        lambda value: TOK.encode("low", special=value),
        lambda value: TOK.encode("low", threads=value),
        TOK.encode_batch,
        TOK.count_batch,
        TOK.decode,
        TOK.decode_batch,
        lambda value: TOK.truncate("low", value),
        TOK.token_bytes,
        TOK.save,
        toksmith.load,
        lambda value: toksmith.train(value, 300, progress=False),
        lambda value: toksmith.train("low", value, progress=False),
        lambda value: toksmith.train("low", 300, special_tokens=value, progress=False),
        lambda value: toksmith.add_special(TOK, value),
    ],
)
def test_a_hostile_object_ends_a_call(call: Any, value: Any) -> None:
    """It neither hangs nor exhausts memory, and the core does not panic."""
    with pytest.raises((TypeError, ValueError, AttributeError, LookupError, ZeroDivisionError)):
        call(value)


def test_arguments_that_are_right_pass_in_every_form() -> None:
    """Numbers of numpy, tuples, sets and generators work like plain values."""
    assert TOK.truncate("low lower", np.int64(2)) == TOK.truncate("low lower", 2)
    assert TOK.encode("<|end|>", special=(content for content in ["<|end|>"])) == [TOK.token_id("<|end|>")]
    assert TOK.encode_batch(text for text in ["low", "x"]) == TOK.encode_batch(LongList(["low", "x"]))
    assert TOK.decode(LongList([97, 98])) == TOK.decode(np.array([97, 98])) == "ab"
    assert toksmith.train("low", merges=np.int32(1), special_tokens={"<a>": 0}.keys(), progress=False).special_tokens
    assert TOK.encode("low", add_special_tokens=np.bool_(True)) == TOK.encode("low")


@pytest.mark.parametrize(
    "value", [10**5000, "x" * 10**6, ["y" * 1000] * 1000, Lies()], ids=["int", "str", "list", "Lies"]
)
def test_messages_quote_little_of_what_they_refuse(value: Any) -> None:
    assert len(str(InvalidOption("name", value, "another"))) < 260


WORDPIECE: dict[str, Any] = {"kind": "wordpiece", "unit": "char", "unknown_id": 0, "continuing_subword_prefix": "##"}


@pytest.mark.parametrize("value", [-1, 1 << 64, 1 << 16_000], ids=["negative", "64 bits", "16,000 bits"])
@pytest.mark.parametrize("field", ["max_piece_chars", "unknown_id"])
def test_numbers_out_of_range_in_a_model_are_a_model_error(field: str, value: int) -> None:
    table = toksmith.types.TokenTable.of([b"[UNK]", b"a"])
    with pytest.raises(toksmith.errors.ModelError, match=field):
        toksmith.Model(table, np.arange(2, dtype=np.uint32), **{**WORDPIECE, "max_piece_chars": 100, field: value})


@pytest.mark.parametrize("value", [-1, 1 << 64])
def test_numbers_out_of_range_in_a_file_name_the_file(value: int, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    toksmith.train("low lower", 40, kind="wordpiece", progress=False).save(path)
    found = json.loads(path.read_text(encoding="utf-8"))
    found["model"]["max_input_chars_per_word"] = value
    path.write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(toksmith.errors.FormatError, match=r"tokenizer\.json"):
        toksmith.load(path)


@pytest.mark.parametrize("name", suggestions.OF_A_TOKENIZER)
def test_a_method_of_another_library_names_ours(name: str) -> None:
    with pytest.raises(AttributeError, match="; use ") as caught:
        getattr(TOK, name)
    for attribute in set(re.findall(r"\btok\.(\w+)", str(caught.value))):
        assert hasattr(TOK, attribute), "the error names an existing attribute"
    if not hasattr(toksmith.Tokenizer, name):
        with pytest.raises(AttributeError, match=r"Tokenizer has no attribute .*; use "):
            getattr(toksmith.Tokenizer, name)


@pytest.mark.parametrize(
    ("name", "home"), [("InvalidOption", "errors"), ("Encoding", "types"), ("PieceCounts", "corpus")]
)
def test_a_name_of_a_module_is_found_at_the_top(name: str, home: str) -> None:
    with pytest.raises(AttributeError, match=rf"use toksmith\.{home}\.{name}"):
        getattr(toksmith, name)


@pytest.mark.parametrize("name", suggestions.OF_THE_PACKAGE)
def test_a_function_of_another_library_names_ours(name: str) -> None:
    with pytest.raises(AttributeError, match="; use "):
        getattr(toksmith, name)


def test_suggested_names_exist() -> None:
    from toksmith._jobs.sinks import SINKS

    known = {*toksmith.encodings(), *toksmith.patterns(), *toksmith.formats(), *toksmith.metrics.names(), *SINKS}
    assert known | {"bpe", "unigram", "wordpiece", "chars", "words", "local", "ray"} >= {*suggestions.OTHER_NAMES}
    for others in suggestions.OTHER_NAMES.values():
        assert all(suggestions.fold_name(name) == name for name in others.split())
