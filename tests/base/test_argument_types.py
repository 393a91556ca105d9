"""Wrong types and values for every argument of every public function: what they raise, and that it names the argument."""

from __future__ import annotations

import inspect
import json
import logging
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import toksmith
from toksmith import explain, metrics
from toksmith._model.patterns import UNSET

CORPUS = "low lower lowest newer 12345"
Call = tuple[Callable[..., Any], dict[str, Any]]


class Refused(Exception):
    """What hostile objects raise: it is the caller's own, and comes through as it is."""


class Raises:
    """Raises wherever it is asked."""

    def refuse(self, *_: object) -> Any:
        raise Refused

    __len__ = __iter__ = __index__ = __fspath__ = __getitem__ = __float__ = __call__ = __bool__ = refuse


class Lies:
    """Says what it is not: longer than memory, an index that is no number, a path that is none."""

    def __len__(self) -> int:
        return 1 << 62

    def __iter__(self) -> Iterator[object]:
        return iter([None])

    def __index__(self) -> Any:
        return "1"  # noqa: PLE0305

    def __fspath__(self) -> Any:
        return 1

    def __float__(self) -> Any:
        return "1"

    def __str__(self) -> Any:
        return 1  # noqa: PLE0307

    __repr__ = __str__


class LongList(list[Any]):
    """A list that says that it is longer than memory."""

    def __len__(self) -> int:
        return 1 << 62


class ShortList(list[Any]):
    """A list that says that it is empty."""

    def __len__(self) -> int:
        return 0


class Text(str):
    """A text of another class."""

    __slots__ = ()


VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    **{repr(number): partial(int, number) for number in (-1, 0, 2**31, 2**32, 2**63, 2**64, -(2**63) - 1)},
    "a number of 5,000 digits": lambda: 10**5000,
    "1.5": lambda: 1.5,
    "nan": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "'300'": lambda: "300",
    "b'300'": lambda: b"300",
    "''": lambda: "",
    "NUL": lambda: "\0",
    "a lone surrogate": lambda: "\ud800",
    "a text of another class": lambda: Text("raise"),
    "bytearray": lambda: bytearray(b"300"),
    "memoryview": lambda: memoryview(b"300"),
    "[]": list,
    "[None]": lambda: [None],
    "[1.5]": lambda: [1.5],
    "['300', None]": lambda: ["300", None],
    "[[1], 'a']": lambda: [[1], "a"],
    "[2**64]": lambda: [2**64],
    "(1, 2, 3)": lambda: (1, 2, 3),
    "[b'a']": lambda: [b"a"],
    "['\\ud800']": lambda: ["\ud800"],
    "{1}": lambda: {1},
    "{}": dict,
    "{1: 'a'}": lambda: {1: "a"},
    "{'a': None}": lambda: {"a": None},
    "{'a': 2**64}": lambda: {"a": 2**64},
    "object()": object,
    "a class": lambda: type,
    "Raises()": Raises,
    "Lies()": Lies,
    "LongList": lambda: LongList([1]),
    "LongList of texts": lambda: LongList(["a"]),
    "ShortList": lambda: ShortList([1]),
    "a generator": lambda: (number for number in (1, 2)),
    "a generator that raises": lambda: iter(Raises().refuse, None),
    "np.int64": lambda: np.int64(-5),
    "np.float32": lambda: np.float32(1.5),
    "an array of floats": lambda: np.array([1.5, 2.5]),
    "an array of int64": lambda: np.array([-1, 2**40]),
    "an array of objects": lambda: np.array([None, "a"], dtype=object),
    "an array of two dimensions": lambda: np.zeros((2, 2), np.uint32),
    "an array of no dimension": lambda: np.array(3),
    "1j": lambda: 1j,
    "...": lambda: ...,
}


def tokenizer() -> toksmith.Tokenizer:
    return toksmith.train(CORPUS, merges=6, special_tokens=["<|end|>"], progress=False)


TOK = tokenizer()
UNIGRAM = toksmith.train(CORPUS * 9, 40, kind="unigram", progress=False)
COUNTS = toksmith.count_pieces(CORPUS)


LANGUAGES_ARGUMENTS: dict[str, Any] = {
    "corpus": CORPUS,
    "merges": 4,
    "parity": "window",
    "languages": {"a": "low lower", "b": "новый"},
    "development": {"a": "low", "b": "новый"},
    "ratios": None,
    "global_merges": 1,
    "parity_window": 10,
    "parity_alpha": 2.0,
}


def calls(folder: Path) -> dict[str, Call]:
    """One valid call of each public function, all of its arguments named."""
    saved, text, counts = folder / "a.toksmith", folder / "a.txt", folder / "a.parquet"
    TOK.save(saved)
    COUNTS.save(counts)
    text.write_text(CORPUS, encoding="utf-8")
    made: dict[str, Call] = {
        "train": (toksmith.train, train_arguments(folder)),
        "train unigram": (toksmith.train, UNIGRAM_ARGUMENTS),
        "train wordpiece": (
            toksmith.train,
            {"corpus": CORPUS, "vocab_size": 40, "kind": "wordpiece", "lowercase": True},
        ),
        "train languages": (toksmith.train, LANGUAGES_ARGUMENTS),
        "train suffix": (toksmith.train, {"corpus": CORPUS, "merges": 3, "end_of_word_suffix": "</w>", "kind": "bpe"}),
        "train words": (toksmith.train, {"corpus": CORPUS, "kind": "words", "unknown_token": "<unk>", "min_count": 1}),
        "load": (
            toksmith.load,
            {"source": saved, "format": None, "special_tokens": None, "revision": None, "download": True},
        ),
        "load tiktoken": (toksmith.load, tiktoken_arguments(folder)),
        "convert": (toksmith.convert, convert_arguments(saved, folder / "b.json")),
        "count_pieces": (toksmith.count_pieces, COUNT_ARGUMENTS),
        "files": (lambda globs, field: toksmith.files(globs, field=field), {"globs": "*.txt", "field": "text"}),
        "doctor": (toksmith.doctor, {"tok": TOK, "corpus": None, "embeddings": None}),
        "encode_corpus": (toksmith.encode_corpus, corpus_arguments(folder / "ids.npy")),
        "plan": (toksmith.plan, plan_arguments(folder)),
        "run_shard": (toksmith.run_shard, {"job": finished_job(folder) / "job.json", "number": 0, **SHARD_ARGUMENTS}),
        "verify": (toksmith.verify, verify_arguments(finished_job(folder))),
        "shards": (toksmith.shards, {"folder": finished_job(folder), "first": 1}),
        "merge_shards": (toksmith.merge_shards, merge_arguments(folder)),
        "add_special": (toksmith.add_special, {"tok": TOK, "tokens": ["<a>"]}),
        "extend": (toksmith.extend, {"tok": TOK, "corpus": CORPUS * 9, "n": 1, "min_count": 2, "threads": 1}),
        "prune": (toksmith.prune, {"tok": TOK, "n": 1, "corpus": None, "threads": 1}),
        "rewind": (toksmith.rewind, {"tok": TOK, "vocab_size": 260}),
        "sweep": (toksmith.sweep, {"tok": TOK, "sizes": [260], "held_out": CORPUS, "threads": 1}),
        "parity": (
            toksmith.parity,
            {"tok": TOK, "texts": {"a": "low", "b": "x"}, "reference": "a", "before": TOK, "threads": 1},
        ),
        "fim": (toksmith.fim, FIM_ARGUMENTS),
        "fairness": (
            metrics.fairness,
            {"toks": {"a": TOK}, "texts": {"a": "low", "b": "x"}, "reference": "a", "threads": 1},
        ),
        "measure": (metrics.measure, {"tok": TOK, "corpus": CORPUS, "special": "text", "threads": 1}),
    }
    return (
        made
        | methods(text, folder)
        | of_counts(counts, folder)
        | {f"explain.{name}": call for name, call in EXPLAINED.items()}
    )


# Methods for what goes into a model.
MODELS_INPUTS: dict[str, Call] = {
    "chat": (
        TOK.chat,
        {
            "messages": [{"role": "user", "content": "low"}],
            "template": "{{ messages[0].content }}",
            "tools": None,
            "add_generation_prompt": False,
            "continue_final_message": False,
            "variables": None,
        },
    ),
    "session": (TOK.session, {"text": "low", "special": "text"}),
    "TextSession.replace": (TOK.session("low").replace, {"start": 0, "end": 1, "text": "x"}),
    "TextSession.update": (TOK.session("low").update, {"text": "lower"}),
    "encode_padded": (
        TOK.encode_padded,
        {
            "texts": ["low"],
            "pad": 0,
            "length": 3,
            "multiple": 1,
            "side": "left",
            "truncate": True,
            "dtype": "int64",
            "special": "text",
            "threads": 1,
            "add_special_tokens": False,
        },
    ),
}


def methods(text: Path, folder: Path) -> dict[str, Call]:
    """Those of a tokenizer."""
    how = {"special": "text", "errors": "replace"}
    many = {"texts": ["low", "lower"], **how, "threads": 1}
    return {
        "Tokenizer": (toksmith.Tokenizer, {"model": TOK.model, "run_report": None}),
        "encode": (TOK.encode, {"text": "low", **how, "threads": 1, "add_special_tokens": False}),
        "encode_array": (
            TOK.encode_array,
            {"text": "low", **how, "threads": 1, "add_special_tokens": False, "dtype": "int64"},
        ),
        "encode_batch": (TOK.encode_batch, {**many, "add_special_tokens": False}),
        "encode_ragged": (TOK.encode_ragged, {**many, "add_special_tokens": False}),
        "post_process": (TOK.post_process, {"ids": [1], "pair": [2]}),
        "__call__": (TOK.__call__, {"text": "low", **how}),
        "encode_with_offsets": (TOK.encode_with_offsets, {"text": "low", "unit": "char", **how}),
        "encode_ragged_with_offsets": (TOK.encode_ragged_with_offsets, {**many, "unit": "byte"}),
        "encode_sampled": (TOK.encode_sampled, {"text": "low", "seed": 1, "dropout": 0.1, "alpha": 0.1, **how}),
        "encode_best": (UNIGRAM.encode_best, {"text": "low", "n": 2, "errors": "replace"}),
        **MODELS_INPUTS,
        "encode_segments": (TOK.encode_segments, {"segments": [("low", True), ("<|end|>", False)]}),
        "encode_file": (TOK.encode_file, {"path": text, "separator": "\n", "threads": 1, "special": "text"}),
        "count": (TOK.count, {"text": "low", **how}),
        "count_batch": (TOK.count_batch, many),
        "truncate": (TOK.truncate, {"text": "low lower", "max_tokens": 2, "side": "right", "special": "text"}),
        "chunk": (TOK.chunk, {"text": "low lower", "max_tokens": 2, "overlap": 1, "special": "text"}),
        "split": (TOK.split, {"text": "low", "special": "text"}),
        "heal": (TOK.heal, {"text": "low lo", "special": "raise"}),
        "is_canonical": (TOK.is_canonical, {"ids": [97, 98]}),
        "first_drift": (TOK.first_drift, {"ids": [97, 98]}),
        "decode": (TOK.decode, {"ids": [97, 98], "errors": "replace", "skip_special_tokens": True}),
        "decode_bytes": (TOK.decode_bytes, {"ids": [97, 98]}),
        "decode_batch": (TOK.decode_batch, {"batch": [[97], [98]], "threads": 1, "errors": "replace"}),
        "decoder": (lambda **given: TOK.decoder(**given).feed([0xFF, 0x61]), {"errors": "replace"}),
        "decoder.feed": (TOK.decoder().feed, {"ids": [97]}),
        "encoder": (lambda **given: TOK.encoder(**given).feed("low"), {"special": "text"}),
        "encoder.feed": (TOK.encoder().feed, {"text": "low"}),
        "token_bytes": (TOK.token_bytes, {"id": 97}),
        "token_id": (TOK.token_id, {"token": "a"}),
        "save": (TOK.save, {"path": folder / "c.toksmith", "format": None, "allow_loss": ()}),
    }


def of_counts(counts: Path, folder: Path) -> dict[str, Call]:
    """Those of counts, and of tables."""
    return {
        "PieceCounts.of": (toksmith.PieceCounts.of, {"counts": {b"low": 2}, "pattern": None}),
        "PieceCounts.sum": (toksmith.PieceCounts.sum, {"parts": [COUNTS]}),
        "PieceCounts.filter": (COUNTS.filter, {"min_count": 1}),
        "PieceCounts.save": (COUNTS.save, {"path": folder / "d.parquet"}),
        "PieceCounts.load": (toksmith.PieceCounts.load, {"path": counts, "pattern": UNSET}),
        "PieceCounts.load_all": (toksmith.PieceCounts.load_all, {"paths": [counts], "in_order": True}),
        "PieceCounts.moved": (COUNTS.moved, {"documents": 3}),
        "merge_counts": (toksmith.merge_counts, merge_counts_arguments(counts, folder)),
        "plan_counts": (toksmith.plan_counts, plan_counts_arguments(folder)),
        "TokenTable.of": (toksmith.TokenTable.of, {"tokens": [b"a"]}),
        "IdMap.apply": (toksmith.prune(TOK, 1)[1].apply, {"rows": np.zeros((TOK.vocab_size, 2), np.float32)}),
    }


EXPLAINED: dict[str, Call] = {
    "budget": (explain.budget, {"toks": {"a": TOK}, "text": "low", "context": {"m": 5}, "special": "text"}),
    "compare": (explain.compare, {"toks": [TOK, TOK], "text": "low", "special": "text"}),
    "chat": (
        explain.chat,
        {
            "tok": TOK,
            "messages": [{"role": "user", "content": "low"}],
            "template": "plain",
            "tools": [{"name": "f"}],
            "add_generation_prompt": True,
            "appended": [{"role": "user", "content": "a"}],
            "variables": {"a": "b"},
        },
    ),
    "edit": (explain.edit, {"toks": TOK, "text": "low", "start": 1, "end": 2, "new": "a", "special": "text"}),
    "folder": (explain.folder, {"tok": TOK, "folder": {"a": "low"}, "ignored": True, "special": "text", "threads": 1}),
    "history": (explain.history, {"tok": TOK, "id": 258}),
    "inference": (explain.inference, {"tok": TOK, "text": "low", "special": "text"}),
    "lengths": (explain.lengths, {"toks": TOK}),
    "lint": (explain.lint, {"tok": TOK, "text": "low "}),
    "merges": (explain.merges, {"tok": TOK, "piece": "low"}),
    "overview": (explain.overview, {"toks": TOK, "text": "low", "special": "text"}),
    "pieces": (explain.pieces, {"tok": TOK, "text": "low", "special": "text"}),
    "prompt": (explain.prompt, {"tok": TOK, "text": "low lo", "end": 5, "special": "text"}),
    "ranks": (explain.ranks, {"toks": TOK, "text": "low", "special": "text"}),
    "search": (explain.search, {"tok": TOK, "query": "lo", "by": "text", "most": 5}),
    "specials": (explain.specials, {"tok": TOK, "text": "low<|end|>"}),
    "flow": (explain.flow, {"tok": TOK, "text": "low", "special": "text"}),
    "ngrams": (explain.ngrams, {"text": "low", "n": 2, "unit": "char"}),
    "sizes": (explain.sizes, {"text": "low", "toks": TOK}),
    "targets": (explain.targets, {"tok": TOK, "text": "low lower", "window": 4, "special": "text"}),
    "stability": (explain.stability, {"toks": TOK, "text": "low", "typed": "a", "most": 5, "special": "text"}),
    "steps": (explain.steps, {"text": "aaab", "merges": 1, "ties": "lowest_ids"}),
    "tree": (explain.tree, {"tok": TOK, "id": 258}),
    "unignored": (explain.unignored, {"paths": ["a"], "ignores": {".gitignore": "b"}}),
}
UNIGRAM_ARGUMENTS: dict[str, Any] = {
    "corpus": CORPUS * 9,
    "vocab_size": 40,
    "kind": "unigram",
    "unit": "char",
    "special_tokens": ["<s>"],
    "character_coverage": 1.0,
    "byte_fallback": False,
    "dummy_prefix": True,
    "user_symbols": ["<u>"],
    "unknown_token": "<unk>",
    "threads": 1,
    "progress": False,
}
FIM_MARKS = toksmith.FimMarks("<|end|>", "<|end|>", None, ("spm",), "this test")
FIM_ARGUMENTS: dict[str, Any] = {
    "tok": TOK,
    "prefix": "low",
    "suffix": "er",
    "middle": "l",
    "order": "spm",
    "marks": FIM_MARKS,
}
COUNT_ARGUMENTS: dict[str, Any] = {
    "corpus": [CORPUS],
    "pattern": "gpt2",
    "start": 0,
    "min_count": 1,
    "max_piece_bytes": None,
    "max_memory": None,
    "spill_to": None,
    "errors": "stop",
    "threads": 1,
    "progress": False,
}


def train_arguments(folder: Path) -> dict[str, Any]:
    return {
        "corpus": CORPUS,
        "vocab_size": None,
        "merges": 3,
        "kind": "bpe",
        "unit": "byte",
        "alphabet": None,
        "pattern": "gpt2",
        "special_tokens": ["<s>"],
        "ties": "lowest_ids",
        "min_count": 1,
        "max_token_bytes": 5,
        "digits": "none",
        "whole_characters": False,
        "seed_tokens": ["lo"],
        "superwords": 0,
        "superword_pattern": ["gpt2"],
        "base": None,
        "min_piece_count": 1,
        "max_piece_bytes": None,
        "max_memory": None,
        "spill_to": None,
        "errors": "stop",
        "checkpoint": None,
        "threads": 1,
        "progress": False,
    }


def tiktoken_arguments(folder: Path) -> dict[str, Any]:
    path = folder / "a.tiktoken"
    TOK.save(path, allow_loss=["splitters"])
    return {"source": path, "format": "tiktoken", "pattern": "gpt2", "special_tokens": {"<s>": 400}}


def convert_arguments(source: Path, target: Path) -> dict[str, Any]:
    formats = {"from_format": None, "to_format": "tokenizer_json"}
    return {
        "source": source,
        "target": target,
        **formats,
        "verify": ["low"],
        "allow_loss": [],
        "pattern": UNSET,
        "special_tokens": None,
        "renumber": False,
    }


def corpus_arguments(path: Path) -> dict[str, Any]:
    given = {"tok": TOK, "corpus": [CORPUS], "path": path, "append": "<|end|>", "dtype": "auto"}
    return {**given, "special": "raise", "threads": 1, "progress": False}


SHARD_ARGUMENTS = {"threads": 1, "max_memory": 1 << 30}


def plan_arguments(folder: Path) -> dict[str, Any]:
    packing = {"pack": "chunk", "length": 8, "pad": "<|end|>"}
    return {
        "tok": TOK,
        "corpus": [folder / "a.txt"],
        "folder": folder / "planned",
        "to": "parquet",
        "id_field": None,
        "append": "<|end|>",
        "prepend": None,
        "empty": "token",
        "special": "raise",
        "dtype": "auto",
        "errors": "skip",
        "max_errors": 5,
        "shard_size": 1 << 20,
        "sources": False,
        "shuffle": 5,
        **packing,
        "max_memory": 1 << 30,
        "force": False,
        "dry_run": False,
    }


def plan_counts_arguments(folder: Path) -> dict[str, Any]:
    where = {"corpus": [folder / "a.txt"], "folder": folder / "counted", "pattern": "gpt2", "max_piece_bytes": 99}
    how = {"errors": "skip", "max_errors": 5, "shard_size": 1 << 20}
    return {**where, **how, "max_memory": 1 << 30, "force": False, "dry_run": False}


def merge_counts_arguments(counts: Path, folder: Path) -> dict[str, Any]:
    given = {"paths": [counts], "path": folder / "merged.tsv", "in_order": True}
    return {**given, "min_count": 1, "spill_to": folder}


def finished_job(folder: Path) -> Path:
    """The folder of a job that is finished."""
    if not (folder / "job" / "SHA256SUMS").exists():
        toksmith.plan(TOK, folder / "a.txt", folder / "job").run(progress=False)
    return folder / "job"


def merge_arguments(folder: Path) -> dict[str, Any]:
    return {"folders": [finished_job(folder)], "folder": folder / "merged", "to": "npy"}


def verify_arguments(folder: Path) -> dict[str, Any]:
    return {"folder": folder, "decode": False, "source": False, "sample": 1, "threads": 1}


MOST_SAID = 800


def said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as problem:  # noqa: BLE001 - any is the fault that is looked for
        return f"no message: {problem!r}" + " " * MOST_SAID


def problem(call: Call, name: str, value: Any, allowed: tuple[type[Exception], ...] = ()) -> str | None:
    """What is wrong with what a call raises for an argument; None if it raises nothing, or what it should."""
    function, arguments = call
    try:
        function(**{**arguments, name: value})
    except Refused:
        return None
    except toksmith.ToksmithError as error:
        return None if len(said(error)) < MOST_SAID else f"not said: {said(error)[:150]}"
    except TypeError as error:
        named = re.search(rf"\b{name}\b", str(error)) is not None
        return None if named else f"TypeError without the argument's name: {error}"
    except allowed:
        return None
    except BaseException as error:  # noqa: BLE001 - any is the fault that is looked for
        return f"{type(error).__name__}: {said(error)[:200]}"
    return None


NAMES = [
    *(
        "train",
        "train unigram",
        "train wordpiece",
        "train languages",
        "train suffix",
        "train words",
        "load",
        "load tiktoken",
        "convert",
    ),
    *(
        "count_pieces",
        "files",
        "doctor",
        "encode_corpus",
        "plan",
        "run_shard",
        "verify",
        "shards",
        "merge_shards",
        "add_special",
        "extend",
        "prune",
        "rewind",
        "sweep",
        "parity",
    ),
    *(
        "fim",
        "fairness",
        "measure",
        "Tokenizer",
        "encode",
        "encode_array",
        "encode_batch",
        "encode_ragged",
        "post_process",
    ),
    *("__call__", "encode_with_offsets", "encode_ragged_with_offsets", "encode_sampled", "encode_best"),
    *(
        "chat",
        "session",
        "TextSession.replace",
        "TextSession.update",
        "encode_padded",
        "encode_segments",
        "encode_file",
        "count",
        "count_batch",
        "truncate",
        "chunk",
        "split",
        "heal",
        "is_canonical",
    ),
    *("first_drift", "decode", "decode_bytes", "decode_batch", "decoder", "decoder.feed", "encoder", "encoder.feed"),
    *("token_bytes", "token_id"),
    *("save", "PieceCounts.of", "PieceCounts.sum", "PieceCounts.filter", "PieceCounts.save", "PieceCounts.load"),
    *("PieceCounts.load_all", "PieceCounts.moved", "merge_counts", "plan_counts"),
    *("TokenTable.of", "IdMap.apply", *(f"explain.{name}" for name in EXPLAINED)),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_value_is_refused_by_the_name_of_its_argument(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging, "raiseExceptions", True)
    known = calls(tmp_path)
    assert [*known] == NAMES
    function, arguments = known[name]
    function(**arguments)
    found = [
        f"{argument} = {value}: {wrong}"
        for argument in arguments
        for value, make in VALUES.items()
        if (wrong := problem((function, arguments), argument, make())) is not None
    ]
    assert not found, "\n".join(found)


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions and methods that take arguments, and are no results that are made by others."""
    for module in (toksmith, explain, metrics):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isfunction(value) and inspect.signature(value).parameters:
                yield name if module is not explain else f"explain.{name}", value
    for owner in (toksmith.Tokenizer, toksmith.PieceCounts):
        for name, value in vars(owner).items():
            function = getattr(value, "__func__", value)
            own = {*inspect.signature(function).parameters} - {"self"} if inspect.isfunction(function) else set()
            if own and not name.startswith("_"):
                yield name if owner is toksmith.Tokenizer else f"PieceCounts.{name}", function


def test_every_argument_of_every_public_function_is_tried(tmp_path: Path) -> None:
    tried: dict[str, set[str]] = {}
    for name, (_, arguments) in calls(tmp_path).items():
        tried.setdefault(name.partition(" ")[0], set()).update(arguments)
    for name, function in public_callables():
        if name not in ("play", "snapshot", "graft", "study"):  # test_argument_types_elsewhere has their arguments
            named = {*inspect.signature(function).parameters} - {"self"}
            assert named <= tried.get(name, set()), f"{name}: {named - tried.get(name, set())}"


def test_arguments_that_are_right_pass_in_every_form() -> None:
    """Numbers of numpy, tuples, sets, generators and classes of one's own are what they stand for."""
    assert TOK.truncate("low lower", np.int64(2)) == TOK.truncate("low lower", 2)  # type: ignore[arg-type]
    assert TOK.encode("<|end|>", special=(content for content in ["<|end|>"])) == [TOK.token_id("<|end|>")]  # type: ignore[arg-type]
    assert TOK.encode_batch(text for text in ["low", "x"]) == TOK.encode_batch(LongList(["low", "x"]))
    assert TOK.decode(LongList([97, 98])) == TOK.decode(np.array([97, 98])) == "ab"  # type: ignore[arg-type]
    assert toksmith.train(CORPUS, merges=np.int32(2), special_tokens={"<a>": 0}.keys(), progress=False).special_tokens  # type: ignore[arg-type]
    assert TOK.post_process(np.array([1, 2])) == [1, 2]  # type: ignore[arg-type]
    assert TOK.encode("low", add_special_tokens=np.bool_(True)) == TOK.encode("low")  # type: ignore[arg-type]


def test_names_and_documents_are_told_in_errors() -> None:
    wrong: Any = 5
    for call, said in (
        (
            lambda: toksmith.train(wrong),
            "corpus: expected texts, paths or open files, not int; the corpus comes before the size",
        ),
        (lambda: toksmith.train("abc", "300"), "vocab_size: expected an int, not str; pass 300"),  # type: ignore[arg-type]
        (lambda: toksmith.load(None), "source: expected a path (str or os.PathLike), not NoneType"),  # type: ignore[arg-type]
        (
            lambda: explain.pieces("gpt2", "low"),  # type: ignore[arg-type]
            "tok: expected a Tokenizer, not str; the tokenizer comes first: pass toksmith.load('gpt2') if this is its name or file",
        ),
        (
            lambda: explain.compare(["gpt2"], "low"),  # type: ignore[list-item]
            "toks: expected a Tokenizer, a dict of them by name, or a list of them, not str",
        ),
        (
            lambda: toksmith.sweep(TOK, [260], [b"a", wrong]),
            "held_out: document 1: expected str, bytes or a path, not int",
        ),
        (lambda: TOK.encode(wrong), "text: expected str or bytes, not int"),
        (lambda: TOK.encode("low", errors=wrong), "errors: expected str, not int"),
        (lambda: TOK.encode_batch(["a", wrong]), "texts: item 1: expected str or bytes, not int"),
        (lambda: TOK.decode(["a"]), "ids: position 0: expected an integer id, not str"),  # type: ignore[list-item]
        (lambda: TOK.decode_batch([[97], ["a"]]), "batch: sequence 1: position 0: expected an integer id, not str"),  # type: ignore[list-item]
        (lambda: TOK.decode(wrong), "ids: expected ids (integers), not int; pass [5]"),
    ):
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value) == said
        assert caught.value.__cause__ is None and (
            caught.value.__context__ is None or caught.value.__suppress_context__
        )


WORDPIECE = {"kind": "wordpiece", "unit": "char", "unknown_id": 0, "continuing_subword_prefix": "##"}


@pytest.mark.parametrize("value", [-1, 1 << 64, 1 << 16_000], ids=["negative", "64 bits", "16,000 bits"])
@pytest.mark.parametrize("field", ["max_piece_chars", "unknown_id"])
def test_numbers_of_a_model_that_fit_nowhere_are_a_model_error(field: str, value: int) -> None:
    table = toksmith.TokenTable.of([b"[UNK]", b"a"])
    given: Any = {**WORDPIECE, "max_piece_chars": 100, field: value}
    with pytest.raises(toksmith.ModelError, match=field):
        toksmith.Model(table, np.arange(2, dtype=np.uint32), **given)


@pytest.mark.parametrize("value", [-1, 1 << 64])
def test_numbers_of_a_file_that_fit_nowhere_name_the_file(value: int, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    toksmith.train(CORPUS, 40, kind="wordpiece", progress=False).save(path)
    found = json.loads(path.read_text(encoding="utf-8"))
    found["model"]["max_input_chars_per_word"] = value
    path.write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(toksmith.FormatError, match=r"tokenizer\.json"):
        toksmith.load(path)


@pytest.mark.parametrize(
    "value",
    [10**5000, "x" * 10**6, ["y" * 1000] * 1000, Lies(), ("a" * 1024, "b" * 1024)],
    ids=lambda value: type(value).__name__,
)
def test_messages_quote_little_of_what_they_refuse(value: Any) -> None:
    text = str(toksmith.InvalidOption("name", value, "another"))
    assert len(text) < 260 and "name=" in text
    if isinstance(value, tuple):
        assert "aaa" in text and "bbb" in text
