"""Wrong types and values for other libraries' interfaces, the playground, results, and checkpoints of models."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_folders import EXTENDED, EXTENDING, checkpoint
from peers import imported_transformers
from test_argument_types import CORPUS, COUNTS, TOK, VALUES, Call, finished_job, problem
from test_argument_types import calls as functions

import toksmith
from toksmith import explain, metrics
from toksmith.compat import minbpe, rustbpe, tiktoken, tutorial

imported_transformers()
from toksmith.compat import transformers

RANKS = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256, b"low": 257}
SPECIAL = {"<|endoftext|>": 258}
ENC = tiktoken.Encoding("low", pat_str=r"\w+|\W+", mergeable_ranks=RANKS, special_tokens=SPECIAL)
FOUND = {"allowed_special": {"<|endoftext|>"}, "disallowed_special": "all"}
BOTH = (toksmith.train("low lower", merges=2, progress=False), [1, 2], ["low", "lower"])

# What the other library raises for values of the right type, beside errors of this one.
REFUSALS: dict[str, tuple[type[Exception], ...]] = {
    "tiktoken.Encoding": (AssertionError, UnicodeError),
    "tiktoken": (ValueError, KeyError, OverflowError, UnicodeError, LookupError, AssertionError),
    "minbpe": (ValueError, KeyError, AssertionError),
    "rustbpe": (ValueError,),
    "tutorial.merge": (ValueError,),
    "tutorial": (LookupError, UnicodeError),
    "transformers": (ValueError, KeyError),
    "result": (IndexError, KeyError),
}


def of_tiktoken() -> dict[str, Call]:
    """Those of `toksmith.compat.tiktoken`."""
    given = {"pat_str": r"\w+|\W+", "mergeable_ranks": RANKS, "special_tokens": SPECIAL, "explicit_n_vocab": None}
    return {
        "tiktoken.Encoding": (tiktoken.Encoding, {"name": "low", **given}),
        "tiktoken.Encoding.of": (tiktoken.Encoding.of, {"name": "low", "tok": ENC._tokenizer}),
        "tiktoken.Encoding.encode_ordinary": (ENC.encode_ordinary, {"text": "low"}),
        "tiktoken.Encoding.encode": (ENC.encode, {"text": "low", **FOUND}),
        "tiktoken.Encoding.encode_to_numpy": (ENC.encode_to_numpy, {"text": "low", **FOUND}),
        "tiktoken.Encoding.encode_ordinary_batch": (ENC.encode_ordinary_batch, {"text": ["low"], "num_threads": 1}),
        "tiktoken.Encoding.encode_batch": (ENC.encode_batch, {"text": ["low"], "num_threads": 1, **FOUND}),
        "tiktoken.Encoding.encode_with_unstable": (ENC.encode_with_unstable, {"text": "low", **FOUND}),
        "tiktoken.Encoding.encode_single_token": (ENC.encode_single_token, {"text_or_bytes": "low"}),
        "tiktoken.Encoding.decode_bytes": (ENC.decode_bytes, {"tokens": [257]}),
        "tiktoken.Encoding.decode": (ENC.decode, {"tokens": [257, 255], "errors": "replace"}),
        "tiktoken.Encoding.decode_single_token_bytes": (ENC.decode_single_token_bytes, {"token": 257}),
        "tiktoken.Encoding.decode_tokens_bytes": (ENC.decode_tokens_bytes, {"tokens": [257]}),
        "tiktoken.Encoding.decode_with_offsets": (ENC.decode_with_offsets, {"tokens": [257]}),
        "tiktoken.Encoding.decode_batch": (
            ENC.decode_batch,
            {"batch": [[257, 255]], "errors": "replace", "num_threads": 1},
        ),
        "tiktoken.Encoding.decode_bytes_batch": (ENC.decode_bytes_batch, {"batch": [[257]], "num_threads": 1}),
        "tiktoken.Encoding.is_special_token": (ENC.is_special_token, {"token": 258}),
        "tiktoken.get_encoding": (tiktoken.get_encoding, {"encoding_name": "o200k_base"}),
        "tiktoken.encoding_name_for_model": (tiktoken.encoding_name_for_model, {"model_name": "gpt-4o"}),
        "tiktoken.encoding_for_model": (tiktoken.encoding_for_model, {"model_name": "gpt-4o"}),
    }


def of_minbpe(folder: Path) -> dict[str, Call]:
    """Those of `toksmith.compat.minbpe`."""
    made: dict[str, Call] = {
        "minbpe.get_stats": (minbpe.get_stats, {"ids": [1, 2], "counts": {(1, 2): 1}}),
        "minbpe.merge": (minbpe.merge, {"ids": [1, 2], "pair": (1, 2), "idx": 3}),
        "minbpe.replace_control_characters": (minbpe.replace_control_characters, {"s": "a\n"}),
        "minbpe.render_token": (minbpe.render_token, {"t": b"a\n"}),
        "minbpe.RegexTokenizer": (minbpe.RegexTokenizer, {"pattern": r"\w+"}),
    }
    for kind in (minbpe.BasicTokenizer, minbpe.RegexTokenizer, minbpe.GPT4Tokenizer):
        tok, trained = kind(), kind()
        name = f"minbpe.{kind.__name__}"
        if kind is not minbpe.GPT4Tokenizer:
            tok.train("low lower", 258)
            tok.save(folder / "saved")
            made[f"{name}.train"] = (trained.train, {"text": "low lower", "vocab_size": 257, "verbose": False})
            made[f"{name}.save"] = (tok.save, {"file_prefix": folder / "saved"})
            made[f"{name}.load"] = (trained.load, {"model_file": folder / "saved.model"})
        made[f"{name}.encode"] = (tok.encode, {"text": "low"})
        made[f"{name}.decode"] = (tok.decode, {"ids": [97]})
        if isinstance(tok, minbpe.RegexTokenizer):
            made[f"{name}.encode"] = (tok.encode, {"text": "low", "allowed_special": "all"})
            made[f"{name}.encode_ordinary"] = (tok.encode_ordinary, {"text": "low"})
            fresh = kind() if kind is minbpe.RegexTokenizer else tok
            made[f"{name}.register_special_tokens"] = (fresh.register_special_tokens, {"special_tokens": {"<s>": 300}})
        if isinstance(tok, minbpe.GPT4Tokenizer):
            made[f"{name}.save_vocab"] = (tok.save_vocab, {"vocab_file": folder / "vocab"})
    return made


def of_rustbpe(folder: Path) -> dict[str, Call]:
    """Those of `toksmith.compat.rustbpe`."""
    tok = rustbpe.Tokenizer()
    given = {"iterator": ["low lower"], "vocab_size": 257, "buffer_size": 8, "pattern": r"\w+"}
    return {
        "rustbpe.Tokenizer.train_from_iterator": (rustbpe.Tokenizer().train_from_iterator, given),
        "rustbpe.Tokenizer.encode": (tok.encode, {"text": "low"}),
        "rustbpe.Tokenizer.batch_encode": (tok.batch_encode, {"texts": ["low"]}),
        "rustbpe.Tokenizer.decode": (tok.decode, {"ids": [97]}),
    }


def of_tutorial(folder: Path) -> dict[str, Call]:
    """Those of `toksmith.compat.tutorial`."""
    tok, fresh = tutorial.Tokenizer().train("low lower"), tutorial.Tokenizer
    tok.save(folder / "merge_dict_low.json")
    given = {"text": "low lower", "vocab_size": None, "verbose": False, "num_merges": 1}
    return {
        "tutorial.get_stats": (tutorial.get_stats, {"ids": [1, 2], "counts": {(1, 2): 1}}),
        "tutorial.merge": (tutorial.merge, {"ids": [1, 2], "pair": (1, 2), "idx": 3}),
        "tutorial.Tokenizer": (fresh, {"unit": "char"}),
        "tutorial.Tokenizer.train": (lambda **given: fresh().train(**given), given),
        "tutorial.Tokenizer.encode": (tok.encode, {"text": "low"}),
        "tutorial.Tokenizer.decode": (tok.decode, {"ids": [97], "errors": "replace"}),
        "tutorial.Tokenizer.save": (tok.save, {"path": folder / "merge_dict_saved.json"}),
        "tutorial.Tokenizer.from_pretrained": (fresh.from_pretrained, {"path": folder / "merge_dict_low.json"}),
    }


def of_transformers(folder: Path) -> dict[str, Call]:
    """Those of `toksmith.compat.transformers` that are not transformers' own."""
    made: dict[str, Call] = {
        "transformers.export": (transformers.export, {"tok": TOK, "folder": folder / "there", "allow_loss": ()}),
    }
    if transformers.MISSING is not None:
        return made
    tok = transformers.ToksmithTokenizer(TOK)
    saved = folder / "a.toksmith"
    TOK.save(saved)
    rows: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
        "save_pretrained": (tok.save_pretrained, {"save_directory": folder}),
        "train_new_from_iterator": (tok.train_new_from_iterator, {"text_iterator": [["low"]], "vocab_size": 300}),
        "save_vocabulary": (tok.save_vocabulary, {"save_directory": folder, "filename_prefix": "a"}),
    }
    made["transformers.ToksmithTokenizer"] = (transformers.ToksmithTokenizer, {"tokenizer": TOK})
    made["transformers.ToksmithTokenizer file"] = (transformers.ToksmithTokenizer, {"vocab_file": saved})
    return made | {f"transformers.ToksmithTokenizer.{name}": row for name, row in rows.items()}


def of_results(folder: Path) -> dict[str, Call]:
    """Those of what calls return, and of what models are made of."""
    tok, _, texts = BOTH
    report, id_map = metrics.measure(tok, CORPUS), toksmith.prune(TOK, 1)[1]
    parity = toksmith.parity(tok, {"a": "low", "b": "x"}, reference="a")
    corpus = toksmith.encode_corpus(tok, ["low"], folder / "ids.npy", progress=False)
    drawn, mapped = explain.pieces(tok, "low"), explain.folder(tok, {"a.py": "low"})
    model, record = tok.model, tok.model.training
    assert record is not None
    fields = {name: getattr(model, name) for name in inspect.signature(toksmith.Model).parameters}
    recorded = {name: getattr(record, name) for name in inspect.signature(toksmith.TrainingRecord).parameters}
    table = {"blob": b"ab", "ends": np.array([1, 2], np.uint32)}
    (folder / "a.txt").write_text("low", encoding="utf-8")
    return {
        "Ragged.__getitem__": (tok.encode_ragged(texts).__getitem__, {"index": 0}),
        "Encoding.__getitem__": (tok("low").__getitem__, {"name": "input_ids"}),
        "Padded.__getitem__": (tok.encode_padded(texts, pad=0).__getitem__, {"name": "input_ids"}),
        "ChatEncoding.__getitem__": (tok.chat([], template="{{ 1 }}").__getitem__, {"name": "input_ids"}),
        "RaggedEncoding.__getitem__": (tok.encode_ragged_with_offsets(texts).__getitem__, {"index": 0}),
        "TokenTable": (toksmith.TokenTable, table),
        "TokenTable.__getitem__": (model.tokens.__getitem__, {"index": 0}),
        "Model": (toksmith.Model, fields),
        "TrainingRecord": (toksmith.TrainingRecord, recorded),
        "AddedToken": (toksmith.AddedToken, {"content": "<a>", "id": 300, **dict.fromkeys(FLAGS, False)}),
        "Step.__getitem__": (model.splitters[0].__getitem__, {"name": "pattern"}),
        "IdMap.__getitem__": (id_map.__getitem__, {"old": 97}),
        "Files": (toksmith.Files, {"globs": ("*.txt",), "field": "text"}),
        "EncodedCorpus.at": (toksmith.EncodedCorpus.at, {"path": corpus.path}),
        "Job.at": (toksmith.Job.at, {"folder": finished_job(folder)}),
        "Job.check_run": (toksmith.Job.check_run, JOB_WAY),
        "Job.run": (toksmith.Job.at(finished_job(folder)).run, JOB_RUN),
        "Format.fits": (toksmith.formats()["native"].fits, {"path": "a.toksmith"}),
        "PieceCounts.__add__": (COUNTS.__add__, {"other": COUNTS}),
        "Diagnosis.__getitem__": (toksmith.doctor(tok).__getitem__, {"check": toksmith.doctor(tok).findings[0].check}),
        "metrics.Report.__getitem__": (report.__getitem__, {"name": "bytes_per_token"}),
        "metrics.Report.parts": (report.parts, {"name": "bytes_per_token"}),
        "metrics.Report.__add__": (report.__add__, {"other": report}),
        "metrics.Sample.__add__": (report.sample.__add__, {"other": report.sample}),
        "metrics.Tokens.places": (report.sample.vocabulary.places, {"ids": [97]}),
        "metrics.Parity.__getitem__": (parity.__getitem__, {"name": "a"}),
        "metrics.Fairness.costs": (metrics.fairness({"a": tok}, {"a": "low"}).costs, {"tokenizer": "a"}),
        "explain.FolderMap.__add__": (mapped.__add__, {"other": mapped}),
        "explain.Lint.repaired": (lambda names: explain.lint(tok, "low ").repaired(names), {"names": "zero-width"}),
        "explain.Steps.written": (explain.steps("aaab").written, {"ids": [97]}),
        "explain.Pieces.save_html": (drawn.save_html, {"path": folder / "a.html"}),
        "explain.Pieces.save_svg": (drawn.save_svg, {"path": folder / "a.svg"}),
    }


JOB_WAY: dict[str, object] = {"run": "local", "part": "0/1", "workers": 1, "threads": 1}
JOB_RUN = {**JOB_WAY, "max_memory": 1 << 30, "progress": False, "events": str}
FLAGS = ("special", "lstrip", "rstrip", "single_word", "normalized")


def played(folder: Path) -> dict[str, Call]:
    """The playground, and its pages without a server."""

    def play(**given: Any) -> None:
        toksmith.play(**given).stop()

    asked: dict[str, Any] = {"toks": TOK, "text": "low", "title": "a", "pieces": ["low"], "vocabulary": 10}
    return {
        "play": (play, {"toks": TOK, "host": "127.0.0.1", "port": 0, "texts": {"a": "low"}}),
        "snapshot": (toksmith.snapshot, asked | {"special": "text", "fragment": True}),
        "Snapshot.save": (toksmith.snapshot(TOK, "low").save, {"path": folder / "a.html"}),
    }


def grafted(folder: Path) -> dict[str, Call]:
    """A checkpoint for another tokenizer, and maps of ids in files."""
    made = checkpoint(folder / "checkpoint")
    for each in ("old.json", "saved.json"):
        EXTENDING.save(folder / each)
    optional = dict.fromkeys(("old", "id_map", "donor", "donor_tokenizer", "pad_to", "tensors", "tokens", "progress"))
    flags = {"allow_loss": (), "link": False, "verify": False, "dry_run": True}
    asked: dict[str, Any] = {"checkpoint": made, "tok": EXTENDED, "out": folder / "out", "init": "mean"}
    return {
        "graft": (toksmith.graft, asked | optional | flags),
        "IdMap.save": (EXTENDING.save, {"path": folder / "saved.json"}),
        "IdMap.load": (toksmith.IdMap.load, {"path": folder / "old.json"}),
    }


def studied(folder: Path) -> dict[str, Call]:
    """A study of sizes, with every argument."""
    texts = [f"low lower lowest number {number}" for number in range(300)]
    optional = dict.fromkeys(("width", "held_out", "keep", "max_memory", "threads"))
    asked: dict[str, Any] = {
        "corpus": texts,
        "sizes": [270],
        "patterns": ["gpt2"],
        "kinds": ["bpe"],
        "special_tokens": [],
    }
    model = {"params": 1e6, "tokens": 1e6, "tied": True, "languages": {"en": "low"}, "progress": False}
    return {"study": (toksmith.study, asked | model | optional)}


def calls(folder: Path) -> dict[str, Call]:
    return (
        of_tiktoken()
        | of_minbpe(folder)
        | of_rustbpe(folder)
        | of_tutorial(folder)
        | of_transformers(folder)
        | of_results(folder)
        | played(folder)
        | grafted(folder)
        | studied(folder)
    )


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Call]:
    """One valid call of each, where published encodings are small ones."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "o200k_base", ENC)
    monkeypatch.setattr(minbpe, "published", lambda _: ENC._tokenizer.model)
    return calls(tmp_path)


def refusals(name: str) -> tuple[type[Exception], ...]:
    """What may be raised beside errors of this library."""
    first = name.partition(".")[0]
    return REFUSALS.get(name, REFUSALS.get(first, REFUSALS["result"] if "__getitem__" in name else ()))


@pytest.mark.slow
def test_a_wrong_value_is_refused_by_the_name_of_its_argument(known: dict[str, Call]) -> None:
    found = []
    for name, (function, arguments) in known.items():
        function(**arguments)
        for argument in arguments:
            for value, make in VALUES.items():
                wrong = problem((function, arguments), argument, make(), refusals(name))
                if wrong is not None:
                    found.append(f"{name}: {argument} = {value}: {wrong}")
    assert not found, "\n".join(found)


def owned(owner: type, prefix: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The methods of a class that a caller gives arguments to."""
    for name, value in vars(owner).items():
        function = getattr(value, "__func__", value)
        if not inspect.isfunction(function) or (
            name.startswith("_") and name not in ("__getitem__", "__add__", "__call__")
        ):
            continue
        if {*inspect.signature(function).parameters} - {"self", "cls"}:
            yield f"{prefix}{owner.__name__}.{name}", function


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of the other libraries' interfaces, and the methods of all public classes."""
    for module in (tiktoken, minbpe, rustbpe, tutorial, transformers, toksmith, explain, metrics):
        prefix = "" if module is toksmith else f"{module.__name__.rpartition('.')[2]}."
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) and not issubclass(value, BaseException):
                yield from owned(value, prefix)
            elif inspect.isfunction(value) and "compat" in module.__name__ and inspect.signature(value).parameters:
                yield f"{prefix}{name}", value


# These draw the parts of a view, and nobody else calls them.
DRAW = (
    "explain.Lengths.to_chart",
    "explain.Ranks.to_chart",
    "explain.Stability.to_chart",
    "metrics.Fairness.to_chart",
    "metrics.Parity.to_chart",
    "Study.to_chart",
    "explain.Comparison.row",
    "explain.Merges.row",
    "explain.Pieces.title",
    *(f"explain.Steps.{name}" for name in ("after", "named", "pair", "shortened", "step_blocks")),
    "explain.Tree.branch",
)
# These do nothing but raise NotImplementedError; `load` and `save` of the class that the others extend are tried with these.
NAMED_OTHERWISE = {"StreamDecoder.feed": "decoder.feed", "StreamEncoder.feed": "encoder.feed"}
ABSENT = (
    *(f"minbpe.GPT4Tokenizer.{name}" for name in ("train", "save", "load")),
    *(f"minbpe.Tokenizer.{name}" for name in ("train", "encode", "decode", "save", "load")),
)


def test_every_argument_of_every_public_method_is_tried(known: dict[str, Call], tmp_path: Path) -> None:
    tried = {name: {*arguments} for name, (_, arguments) in (functions(tmp_path) | known).items()}
    tried |= {name: tried[named] for name, named in NAMED_OTHERWISE.items()}
    missing = [
        f"{name}: {lacking}"
        for name, function in public_callables()
        if name not in (*DRAW, *ABSENT)
        and (
            lacking := {*inspect.signature(function).parameters}
            - {"self", "cls", "config", "kwargs"}
            - tried.get(name.removeprefix("Tokenizer."), set())
        )
    ]
    assert not missing, "\n".join(missing)
