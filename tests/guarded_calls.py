"""A call of every entry of the core, and a program that lets each fault point in them fail, one after the other.

The program runs on a build with the feature `fault` and takes its path. It prints, as JSON, the number of fault points
of each call, and every outcome that is not the error for a panic.
"""

import gzip
import importlib.util
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

MOST_PLACES = 500
STRINGS = {"content": "x", "dialect": "literal", "pattern": "b"}
FACTS = (1, (0, 0), (0, 0, 0))
RUNS = [((1, (True, -1, False, False)), (9, (False, 0, True, False)))]


def entries(core: ModuleType) -> set[str]:
    """The names of all constructible classes, methods, properties and functions."""
    found = set()
    for name, value in vars(core).items():
        if isinstance(value, type):
            own = {of for of in vars(value) if not of.startswith("__") or of in ("__new__", "__len__")}
            found |= {f"{name}.{of}" for of in own}
        elif callable(value) and not name.startswith("__"):
            found.add(name)
    return found - {"fail_at"}


def numbers(values: list[int], dtype: Any = np.uint32) -> Any:
    return np.array(values, dtype)


def calls_of(core: Any) -> Any:
    """A class with the Python methods that the fast calls on one text call."""

    class Calls(core.TextCalls):  # type: ignore[misc]
        def _encode(self, text: str, **_: object) -> list[int]:
            return [len(text)]

        def _with_advice(self, error: BaseException, _: object) -> BaseException:
            return error

    return Calls


class Sample:
    """New objects of each class, so that calls do not affect each other."""

    def __init__(self, core: Any) -> None:
        self.core = core
        blob = b"".join(bytes([byte]) for byte in range(256)) + b"ab"
        ends = numbers([*range(1, 257), 258])
        merges = numbers([97, 98, 256])
        self.tables = (blob, core.Memory(ends), core.Memory([*range(257)]), core.Memory(merges))
        self.vocab = self.new_vocab()
        self.engine = core.Engine(self.vocab, ["[a-z]+"], [("<s>", 300, True)])
        self.calls = calls_of(core)(1, two=2)
        self.calls._begin(self.engine)
        self.pieces = core.Vocab(
            "unigram", "char", b"ab", core.Memory([1, 2]), core.Memory([0, 1]), core.Memory([]), "pair", False
        )
        self.merges: Any = None
        self.counter = self.new_counter()
        self.counter.add(["ab ab", "b"], 1)
        self.counts = self.new_counts()
        self.stream = core.TextStream(self.engine, None, b"\n", "text")
        self.column = core.TextBlock.from_rows(b'{"text": "ab"}\n', "text", None, 1)
        self.parts = core.TextParts(self.engine, self.column, 0, "text")
        self.packed = tempfile.NamedTemporaryFile(suffix=".gz")  # noqa: SIM115 - closed with this sample
        self.packed.write(gzip.compress(b"ab"))
        self.packed.flush()
        self.tally = core.Tally(self.engine)
        self.merges = core.train(self.counts, self.options(), None)

    def new_vocab(self) -> Any:
        cover = {
            "unknown": None,
            "prefix": "",
            "longest": None,
            "scores": None,
            "single": False,
            "byte_fallback": False,
        }
        return self.core.Vocab("bpe", "byte", *self.tables, "pair", False, "", cover)

    def new_engine(self) -> Any:
        steps = [("replace", list(STRINGS.items()))]
        stages = {
            "normalizers": steps,
            "splitters": [],
            "decoders": [],
            "flags": {"<s>": (False, False, False, True)},
            "symbols": None,
        }
        return self.core.Engine(self.vocab, [], [("<s>", 300, True)], None, stages)

    def of_characters(self) -> Any:
        chars = {"scores": None, "kind": "bpe", "byte_fallback": False, "unknown": None, "frozen": [("x", 1)]}
        chars |= {"charsmap": None, "dummy": "before", "remove_extra": False, "escape": False, "shown": ("once", "?")}
        memory = self.core.Memory
        vocab = self.core.Vocab("bpe", "char", b"ab ", memory([1, 2, 3]), memory([0, 1, 2]), memory([]), "bytes", False)
        return self.core.Engine(vocab, [], [], chars, None)

    def new_counter(self) -> Any:
        return self.core.Counter(["[a-z]+"], (0, 0), None, tempfile.gettempdir(), 9)

    def new_counts(self) -> Any:
        counter = self.new_counter()
        counter.add(["ab ab", "b"], 1)
        return counter.finish(0, 1)

    def options(self) -> dict[str, Any]:
        return {
            "alphabet": list(range(256)),
            "base": None,
            "given": [],
            "next_id": 256,
            "limit": 1,
            "min_count": 1,
            "ties": "lowest_ids",
            "max_token_bytes": None,
            "whole_characters": False,
        }


ENDS = numbers([2, 4], np.uint64)
SIZES = {"size": 2, "seeds": 9, "longest": 4, "shrink": 0.5, "rounds": 1, "threads": 1}
TURNS = {"others": [], "development": [], "ratios": [1.0], "shared": 0, "seeds": 0, "window": None}
DRAWN = {"seed": 1, "dropout": 0.5, "alpha": 0.1}
CALLS: dict[str, Callable[[Sample], object]] = {
    "Memory.__new__": lambda of: memoryview(of.core.Memory(np.zeros(9, np.uint64))),
    "Vocab.__new__": Sample.new_vocab,
    "Vocab.__len__": lambda of: len(of.vocab),
    "Vocab.token": lambda of: of.vocab.token(97),
    "Vocab.id": lambda of: of.vocab.id(b"ab"),
    "Vocab.recover_merges": lambda of: of.vocab.recover_merges(),
    "Engine.memory": lambda of: of.engine.memory(),
    "Engine.release": lambda of: of.engine.release(),
    "Engine.__new__": Sample.new_engine,
    "Engine.__new__ of characters": Sample.of_characters,
    "Engine.encode": lambda of: of.engine.encode("ab ab\ud83d", ["<s>"], "replace", None),
    "Engine.encode, refusing": lambda of: of.engine.encode("é<s>", "raise", "replace", None),
    "Engine.encode, wrong option": lambda of: of.engine.encode("é<s>", "maybe", "replace", None),
    "Engine.encode on a separate thread": lambda of: of.engine.encode("ab " * 400_000, "text", "replace", 2),
    "Engine.encode_array": lambda of: of.engine.encode_array(b"ab\xff" * 700, "text", "replace", None),
    "TextCalls.__new__": lambda of: calls_of(of.core)(1, two=2),
    "TextCalls._begin": lambda of: of.calls._begin(of.engine),
    "TextCalls.encode": lambda of: of.calls.encode("ab ab\ud83d", special=["<s>"]),
    "TextCalls.encode, refusing": lambda of: of.calls.encode("é<s>", errors="strict"),
    "TextCalls.encode, by its twin": lambda of: of.calls.encode("ab", special="text", threads=2),
    "TextCalls.encode_array": lambda of: of.calls.encode_array(b"ab\xff" * 700, special="text"),
    "Engine.encode_batch": lambda of: of.engine.encode_batch(["ab"] * 5, "text", "replace", 1),
    "Engine.encode_batch on threads": lambda of: of.engine.encode_batch(["ab " * 9000] * 3, "text", "replace", 2),
    "Engine.encode_batch, refusing": lambda of: of.engine.encode_batch(["ab", "é<s>"], "raise", "replace", 2),
    "Engine.encode_ragged": lambda of: of.engine.encode_ragged(["ab", "b"], "text", "replace", 2),
    "Engine.encode_block": lambda of: of.engine.encode_block(of.column, "text", 2),
    "Engine.encode_block, refusing": lambda of: of.engine.encode_block(
        of.core.TextBlock.from_values(b"ab<s>", numbers([2, 5], np.uint64)), "raise", 2
    ),
    "Engine.count": lambda of: of.engine.count("ab", "text", "replace"),
    "Engine.count_batch": lambda of: of.engine.count_batch(["ab", "b"], "text", "replace", 2),
    "Engine.split": lambda of: of.engine.split("ab ab"),
    "Engine.token": lambda of: of.engine.token(97),
    "Engine.decode": lambda of: of.engine.decode([97, 256], "replace"),
    "Engine.decode, refusing": lambda of: of.engine.decode([900], "replace"),
    "Engine.decode_bytes": lambda of: of.engine.decode_bytes(iter([97, 256])),
    "Engine.decode_more": lambda of: of.engine.decode_more(numbers([97]), True),
    "Engine.sorted_tokens": lambda of: of.engine.sorted_tokens(True),
    "Engine.decode_batch": lambda of: of.engine.decode_batch([[97], [256]], "replace", 2),
    "encode_with_offsets": lambda of: of.core.encode_with_offsets(of.engine, "\ud83dab", "text", "replace", True),
    "encode_in_pieces": lambda of: of.core.encode_in_pieces(of.engine, "\ud83dab", "text"),
    "encode_ragged_with_offsets": lambda of: of.core.encode_ragged_with_offsets(
        of.engine, ["\ud83dab", "b"], "text", "replace", 2, True
    ),
    "find_origins": lambda of: of.core.find_origins(of.engine, "\ud83dab", "text"),
    "Marks.__new__": lambda of: of.core.Marks(["<s>"], [97]),
    "encode_runs": lambda of: of.core.encode_runs(of.engine, of.core.Marks(["<s>"], [97]), "\ud83dab", RUNS, b"\0"),
    "encode_ragged_runs": lambda of: of.core.encode_ragged_runs(
        of.engine, of.core.Marks(["<s>"], [97]), [("ab", RUNS, b"\0"), ("b<s>", RUNS, b"\1")], 2
    ),
    "label_ids": lambda of: of.core.label_ids(numbers([0, 1], np.int64), numbers([1, 2], np.int64), RUNS, b"\0"),
    "find_cut": lambda of: of.core.find_cut(of.engine, b"ab ab", 0, True),
    "TextStream.__new__": lambda of: of.core.TextStream(of.engine, None, b"\n", ["<s>"]),
    "TextStream.feed": lambda of: of.stream.feed(b"ab", False),
    "TextStream.read": lambda of: of.stream.read(9, 2),
    "TextStream.finished": lambda of: of.stream.finished,
    "TextParts.__new__": lambda of: of.core.TextParts(of.engine, of.column, 0, ["<s>"]),
    "TextParts.read": lambda of: of.parts.read(1, 2),
    "TextParts.finished": lambda of: of.parts.finished,
    "line_feeds": lambda of: of.core.line_feeds(b"a\nb\n"),
    "row_text": lambda of: of.core.row_text(b'{"text": "ab"}', "text"),
    "around": lambda of: of.core.around(numbers([1, 2]), numbers([1, 2], np.uint64), 7, 8, None),
    "around, refusing": lambda of: of.core.around(numbers([1, 2]), numbers([3], np.uint64), 7, 8, None),
    "TextBlock.from_rows": lambda of: of.core.TextBlock.from_rows(b'{"text": "ab"}\n[1]\n', "text", "id", 2),
    "TextBlock.from_values": lambda of: of.core.TextBlock.from_values(b"abab", ENDS),
    "TextBlock.first": lambda of: of.column.first(1),
    "TextBlock.__len__": lambda of: len(of.column),
    "TextBlock.text": lambda of: of.column.text(0),
    "TextBlock.digests": lambda of: of.column.digests(2),
    "TextBlock.ends": lambda of: of.column.ends,
    "TextBlock.lines": lambda of: of.column.lines,
    "TextBlock.starts": lambda of: of.column.starts,
    "TextBlock.names": lambda of: of.column.names,
    "TextBlock.bad": lambda of: of.column.bad,
    "TextBlock.problem_of": lambda of: of.core.TextBlock.problem_of(b"[1]", "text", None),
    "TextBlock.count": lambda of: of.column.count,
    "PackedFile.__new__": lambda of: of.core.PackedFile(of.packed.name),
    "PackedFile.read": lambda of: of.core.PackedFile(of.packed.name).read(9),
    "check_rows": lambda of: of.core.check_rows(b"", 0, b"abb", [numbers([2, 3], np.uint64)] * 4),
    "merge_rows": lambda of: of.core.merge_rows([(b"abb", [numbers([2, 3], np.uint64)] * 4, 0)] * 2, 2),
    "Counter.__new__": Sample.new_counter,
    "Counter.add": lambda of: of.counter.add(["ab", "é"], 2),
    "Counter.add_column": lambda of: of.counter.add_column(b"abab", ENDS, 1),
    "Counter.add_rows": lambda of: of.counter.add_rows(b'{"text": "ab"}\n[1]\n', "text", lambda *_: "ab", 1),
    "Counter.feed": lambda of: of.counter.feed(b"ab", True, 1),
    "Counter.finish": lambda of: of.counter.finish(0, 2),
    "Counter.documents": lambda of: of.counter.documents,
    "Counter.bytes": lambda of: of.counter.bytes,
    "Counter.next": lambda of: of.counter.next,
    "CountedPieces.from_columns": lambda of: of.core.CountedPieces.from_columns(
        [], b"abb", [numbers([2, 3], np.uint64)] * 4, FACTS
    ),
    "CountedPieces.from_lines": lambda of: of.core.CountedPieces.from_lines([], b"1\tab\n", 1, FACTS),
    "CountedPieces.sum": lambda of: of.core.CountedPieces.sum([of.counts, of.counts], False),
    "CountedPieces.drop_rare": lambda of: of.counts.drop_rare(2),
    "CountedPieces.columns": lambda of: of.counts.columns(),
    "CountedPieces.lines": lambda of: of.counts.lines(),
    "CountedPieces.characters": lambda of: of.counts.characters(),
    "CountedPieces.restrict_to": lambda of: of.counts.restrict_to(["a", "b"]),
    "CountedPieces.items": lambda of: of.counts.items(),
    "CountedPieces.documents": lambda of: of.counts.documents,
    "CountedPieces.bytes": lambda of: of.counts.bytes,
    "CountedPieces.unique": lambda of: of.counts.unique,
    "CountedPieces.positions": lambda of: of.counts.positions,
    "CountedPieces.long": lambda of: of.counts.long,
    "CountedPieces.rare": lambda of: of.counts.rare,
    "CountedPieces.runs": lambda of: of.counts.runs,
    "CountedPieces.digest": lambda of: of.counts.digest,
    "Tally.__new__": lambda of: of.core.Tally(of.engine),
    "Tally.add": lambda of: of.tally.add(["ab", "é"], "text", "replace", 2),
    "Tally.counts": lambda of: of.tally.counts(),
    "LearnedMerges.symbols": lambda of: of.merges.symbols,
    "LearnedMerges.merges": lambda of: of.merges.merges,
    "LearnedMerges.counts": lambda of: of.merges.counts,
    "LearnedMerges.leads": lambda of: of.merges.leads,
    "LearnedMerges.left": lambda of: of.merges.left,
    "LearnedMerges.stopped": lambda of: of.merges.stopped,
    "train": lambda of: of.core.train(of.counts, of.options(), lambda _: None),
    "train_by_text": lambda of: of.core.train_by_text(
        ["a", "b"], [[0, 1]], [2], {"size": 9, "min_count": 1, "prefix": "", "longest": None}
    ),
    "train_parity": lambda of: of.core.train_parity(of.counts, of.options(), {"languages": [of.counts], **TURNS}, None),
    "train_unigram": lambda of: of.core.train_unigram(of.counts, ["a", "b", " "], SIZES, None),
    "sample": lambda of: of.core.sample(of.engine, "ab", "text", "replace", DRAWN),
    "best_encodings": lambda of: of.core.best_encodings(of.engine, "ab", "replace", 2),
    "always_cut": lambda of: of.core.always_cut(of.engine, ["ab"]),
    "token_facts": lambda of: of.core.token_facts(of.engine),
    "sha256": lambda of: of.core.sha256(b"abc", 2),
    "patterns": lambda of: of.core.patterns(),
    "refuse_repeats": lambda of: of.core.refuse_repeats(b'{"a": 1, "a": 2}', "x"),
    "parse_tiktoken": lambda of: of.core.parse_tiktoken(b"YQ== 0\n", "x"),
    "parse_token_lines": lambda of: of.core.parse_token_lines(b"0 YQ==\n", 0, 1, "x", 2),
    "dump_token_lines": lambda of: of.core.dump_token_lines(b"a", numbers([1]), numbers([0])),
    "parse_merge_lines": lambda of: of.core.parse_merge_lines(b"1 2 3\n", 0, 1, "x"),
    "parse_number_lines": lambda of: of.core.parse_number_lines(b"1 2\n", 0, 1, "x"),
    "dump_number_lines": lambda of: of.core.dump_number_lines(np.ones((1, 2), np.uint64)),
}


def outcomes(core: Any, call: Callable[[Sample], object]) -> Iterator[str]:
    """The outcomes of a call whose first fault point fails, then its second, and so on; empty for the right error."""
    from toksmith import ToksmithError

    for number in range(1, MOST_PLACES):
        core.fail_at(0)
        sample = Sample(core)
        core.fail_at(number)
        try:
            call(sample)
        except BaseException as problem:  # noqa: BLE001 - a panic is not an Exception
            core.fail_at(0)
            if "a fault on purpose" in str(problem):
                right = type(problem) is ToksmithError and str(problem).startswith("internal error, please report it: ")
                yield "" if right else repr(problem)
                continue
        return
    yield f"more than {MOST_PLACES} places"


def main(path: str) -> None:
    """Print the outcomes of each call."""
    spec = importlib.util.spec_from_file_location("toksmith._core", path)
    assert spec is not None and spec.loader is not None
    core: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(core)
    sys.modules["toksmith._core"] = core
    print(json.dumps({name: list(outcomes(core, call)) for name, call in CALLS.items()}))


if __name__ == "__main__":
    main(str(Path(sys.argv[1])))
