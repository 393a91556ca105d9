"""The native format: one readable text file that holds a whole model. docs/format.md is its contract.

A first line with the version, then sections, each one line or a line with a count and that many lines; the last line
is the checksum. Short things are JSON; token lines and number lines are read and written by the core.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, get_args

import numpy as np

from .. import _core
from .._base.errors import CannotRepresent, FormatError, InvalidOption, ModelError
from .._model.model import (
    ID_LIMIT,
    RARE_FIELDS,
    AddedToken,
    Kind,
    MergeRule,
    Model,
    Step,
    TokenTable,
    TrainingRecord,
)
from .._model.patterns import PatternArgument
from . import refuse_arguments
from .json import dump_json, parse_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DOC", "NAME", "SUFFIXES", "load", "save", "sniff"]

NAME = "native"
MOST_BYTES = 1 << 30  # as in docs/format.md
SUFFIXES = (".toksmith",)
DOC = "toksmith's own: one readable text file that holds everything"

VERSIONS = (1, 2)  # the second has unused ids, and scores that are not finite
HEADER_LINE = 2
LINE_LIMIT = (1 << 24) + 64
TOKEN_LIMIT = 1 << 20
CHECKSUM_BYTES = len("sha256 \n") + 64  # of the last line
ENDLESS = (b"inf", b"-inf")
SCORE = rb"-?\d+(\.\d+)?(e[+-]\d+)?"


# What the JSON objects may hold. A schema is a `Rule` for a value without parts, `[schema]` for a list, `(schema, …)` for a
# list of exactly these, or an `Object`. An option of a step has one type, whichever step has it; the core refuses options
# that a kind of step lacks or does not have.


class Rule(NamedTuple):
    """What is expected of a value, and whether one is that."""

    expected: str
    holds: Callable[[Any], bool]


class Object(NamedTuple):
    """The fields that an object must have, those that it may have, and the schema of any other; None if it has no other."""

    needed: Mapping[str, Any]
    possible: Mapping[str, Any] = {}
    others: Any = None


def is_base64(value: object) -> bool:
    """Whether it is a text in base 64."""
    try:
        return type(value) is str and base64.b64decode(value, validate=True) is not None
    except ValueError:
        return False


def one_of(*choices: object) -> Rule:
    """One of a few values of one type."""
    expected = " or ".join(map(dump_json, choices))
    return Rule(expected, lambda value: type(value) is type(choices[0]) and value in choices)


def or_null(rule: Rule) -> Rule:
    """The rule, or null."""
    return Rule(f"null or {rule.expected}", lambda value: value is None or rule.holds(value))


def named(names: str, rule: Any) -> dict[str, Any]:
    """The schema of each name."""
    return dict.fromkeys(names.split(), rule)


ANY = Rule("a value", lambda value: True)
TEXT = Rule("a text", lambda value: type(value) is str)
LONG_TEXT = Rule("a text that is not empty", lambda value: type(value) is str and value != "")
FLAG = one_of(False, True)
NUMBER = Rule("a whole number that is not negative", lambda value: type(value) is int and value >= 0)
COUNT = Rule("a number from 0 to 2^63 - 1", lambda value: type(value) is int and 0 <= value < 1 << 63)
ID = Rule(f"an id below {ID_LIMIT}", lambda value: type(value) is int and 0 <= value < ID_LIMIT)

OPTIONS: Mapping[str, Any] = {
    **named("content delimiter pad pattern prefix prepend replacement suffix token unknown", TEXT),
    "behavior": one_of("contiguous", "isolated", "merged_with_next", "merged_with_previous", "removed"),
    "dialect": one_of("literal", "onig", "rust"),
    "dummy": one_of("after", "before", "nowhere"),
    "side": one_of("left", "right"),
    "strategy": one_of("longest_first", "only_first", "only_second"),
    "strip": one_of("each", "nothing", "once"),
    **named("add_prefix_space clean_text cleanup drop_first escape handle_chinese_chars individual invert left", FLAG),
    **named("lowercase remove_extra right split", FLAG),
    **named("id max_length start stop stride type_id", COUNT),
    **named("length multiple_of", or_null(COUNT)),
    **named("cls sep", (TEXT, ID)),
    **named("single pair", [(TEXT, FLAG, COUNT)]),
    "charsmap": Rule("a text in base 64", is_base64),
    "special_tokens": Object({}, others=([ID], [TEXT])),
    "strip_accents": or_null(FLAG),
}
FLAGS = named("special lstrip rstrip single_word normalized", FLAG)
STEPS = [Object({"kind": TEXT}, OPTIONS, ANY)]
HEADER = Object(
    {
        "added_tokens": [Object({"content": LONG_TEXT, "id": ID, **FLAGS})],
        "byte_fallback": FLAG,
        "kind": one_of(*get_args(Kind)),
        "merge_rule": one_of(*get_args(MergeRule)),
        "unit": one_of("byte", "char"),
        "unknown_id": or_null(ID),
        "whole_piece": FLAG,
        **named("decoders normalizers post splitters", STEPS),
    },
    # A rare field with its usual value is left out.
    {
        "continuing_subword_prefix": LONG_TEXT,
        "end_of_word_suffix": LONG_TEXT,
        "fuse_unknown": one_of(True),
        "max_piece_chars": COUNT,
        "score_type": one_of("float64"),
        "unused_ids": [ID],
    },
)
assert HEADER.possible.keys() == RARE_FIELDS.keys()
RECORD = Object(
    {
        **named("bytes documents symbols", NUMBER),
        **named("digest stopped_because", TEXT),
        "options": Object({}, others=ANY),
    }
)
METADATA = Object({}, others=TEXT)


def problems(value: Any, schema: Any, path: str) -> Iterator[str]:
    """What is wrong with a value, each with its path: `model.splitters[0].pattern must be a text, not 0`."""
    if isinstance(schema, Rule):
        if not schema.holds(value):
            yield f"{path} must be {schema.expected}, not {str(value)[:40]!r}"
    elif isinstance(schema, Object):
        yield from of_object(value, schema, path)
    elif not isinstance(value, list):
        yield f"{path} must be a list, not {str(value)[:40]!r}"
    elif isinstance(schema, tuple) and len(value) != len(schema):
        yield f"{path} must have {len(schema)} items, not {len(value)}"
    else:
        each = schema if isinstance(schema, tuple) else schema * len(value)
        for place, (item, inner) in enumerate(zip(value, each, strict=True)):
            yield from problems(item, inner, f"{path}[{place}]")


def of_object(value: Any, schema: Object, path: str) -> Iterator[str]:
    """The same, of what must be an object."""
    if not isinstance(value, dict):
        yield f"{path} must be an object, not {str(value)[:40]!r}"
        return
    for name in sorted(schema.needed.keys() - value.keys()):
        yield f"{path}.{name} is missing"
    known = {**schema.needed, **schema.possible}
    for name, item in value.items():
        inner = known.get(name, schema.others)
        if inner is None:
            yield f"{path}.{name} is not a field of this version"
        else:
            yield from problems(item, inner, f"{path}.{name}")


def sniff(data: bytes, path: str) -> bool:
    """Whether the first word is the format's."""
    return data.startswith(b"toksmith ")


def save(model: Model, *, allow_loss: Collection[str] = ()) -> bytes:
    """The file that holds `model`; nothing is lost."""
    tokens = model.tokens
    longest = int(np.diff(tokens.ends, prepend=np.uint32(0)).max(initial=0))
    if longest > TOKEN_LIMIT:
        raise CannotRepresent(NAME, "tokens", f"a token has {longest} bytes; at most {TOKEN_LIMIT} are allowed")
    scores = [] if model.scores is None else model.scores.tolist()
    if model.scores is not None and (len(scores) != len(tokens) or any(map(math.isnan, scores))):
        raise CannotRepresent(NAME, "scores", "each token needs a score that is a number")
    version = version_of(model.unused_ids, scores)
    parts = [
        f"toksmith {version}\n".encode(),
        json_line("model", model.fields(), HEADER),
        f"tokens {len(tokens)}\n".encode(),
        _core.dump_token_lines(tokens.blob, tokens.ends, model.ids),
        f"merges {len(model.merges)}\n".encode(),
        _core.dump_number_lines(model.merges.astype(np.uint64)),
    ]
    if model.scores is not None:
        # A float32 written as the float64 of the same value comes back exactly, by any correct reader.
        parts.append(f"scores {len(scores)}\n".encode() + "".join(f"{score!r}\n" for score in scores).encode())
    if model.training is not None:
        record = model.training
        table = np.column_stack([record.counts, record.left]).astype(np.uint64)
        facts = {name: getattr(record, name) for name in RECORD.needed} | {"options": dict(record.options)}
        parts.append(json_line("training", facts, RECORD))
        parts += [f"counts {len(table)}\n".encode(), _core.dump_number_lines(table)]
    if model.metadata:
        parts.append(json_line("metadata", dict(model.metadata), METADATA))
    body = b"".join(parts)
    return body + f"sha256 {_core.sha256(body, len(body))}\n".encode()


def version_of(unused_ids: Collection[int], scores: Collection[float]) -> int:
    """The lowest version that can hold a model with these."""
    return 2 if unused_ids or not all(map(math.isfinite, scores)) else 1


def json_line(name: str, value: Mapping[str, Any], schema: Object) -> bytes:
    """The line of a section that is one JSON object."""
    try:
        line = f"{name} {dump_json(value)}\n".encode()
        again = parse_json(line[len(name) + 1 : -1])
    except (TypeError, ValueError) as error:
        raise CannotRepresent(NAME, name, str(error)) from error
    for problem in problems(again, schema, name):
        raise CannotRepresent(NAME, name, problem)
    return line


def load(data: bytes, path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None) -> Model:
    """The model that the file holds."""
    refuse_arguments("a native file", pattern, special_tokens)
    reader = SectionReader(data, path)
    version = reader.version()
    header = reader.json("model", HEADER)
    if version < 2 and "unused_ids" in header:
        reader.fail("model.unused_ids is a field of version 2")
    fields = fields_of(header)
    tokens, ids = reader.tokens()
    tokens_at = reader.start
    merges = reader.merges()
    merges_at = reader.start
    scores = reader.scores(len(ids), fields.pop("score_type", "float32"), version)
    if version != version_of(fields.get("unused_ids", ()), () if scores is None else scores.tolist()):
        raise FormatError(path, 1, "is version 2, but nothing in it needs more than version 1")
    training = reader.training()
    metadata = reader.metadata()
    reader.checksum()
    try:
        return Model(tokens, ids, merges=merges, scores=scores, training=training, metadata=metadata, **fields)
    except (ModelError, InvalidOption) as error:
        if (row := faulty_token(tokens, ids)) is not None:
            line = reader.line_number(tokens_at) + 1 + row
        elif (row := faulty_merge(tokens, ids, merges)) is not None:
            line = reader.line_number(merges_at) + 1 + row
        else:
            line = HEADER_LINE
        raise FormatError(path, line, str(error)) from error


class SectionReader:
    """Walks over the sections of a file; errors carry the line."""

    def __init__(self, data: bytes, path: str) -> None:
        self.data, self.path = data, path
        self.at = self.start = 0
        self.digest = ""  # of all but the last line, once the tokens are read

    def line_number(self, at: int | None = None) -> int:
        """The number of the line at a place, by default of the line that was read last, counted from 1."""
        return self.data.count(b"\n", 0, self.start if at is None else at) + 1

    def fail(self, problem: str, error: Exception | None = None) -> NoReturn:
        """Raises the error of the line that was read last."""
        raise FormatError(self.path, self.line_number(), problem) from error

    def line(self) -> bytes:
        """The next line, without its line feed."""
        self.start = self.at
        end = self.data.find(b"\n", self.at, self.at + LINE_LIMIT)
        if end < 0 and len(self.data) - self.at >= LINE_LIMIT:
            self.fail(f"the line is longer than {LINE_LIMIT} bytes")
        if end < 0:
            self.fail("the file ends before its checksum")
        self.at = end + 1
        return self.data[self.start : end]

    def version(self) -> int:
        """The number of the first line."""
        line = self.line()
        if not re.fullmatch(rb"toksmith [1-9][0-9]{0,8}", line):
            self.fail(f"expected 'toksmith 1' or 'toksmith 2', not {line[:40]!r}")
        version = int(line[9:])
        if version not in VERSIONS:
            known = " and ".join(map(str, VERSIONS))
            self.fail(f"this is version {version} of the format; this toksmith reads the versions {known}")
        return version

    def section(self, name: str) -> bytes:
        """What follows the name of the section that must come next."""
        line = self.line()
        if not line.startswith(name.encode() + b" "):
            self.fail(f"expected the section {name!r}, not {line[:40]!r}")
        return line[len(name) + 1 :]

    def follows(self, name: str) -> bool:
        """Whether this section comes next."""
        return self.data.startswith(name.encode() + b" ", self.at)

    def json(self, name: str, schema: Object) -> dict[str, Any]:
        """The JSON object of a section, whose fields are those of a schema."""
        text = self.section(name)
        try:
            value: dict[str, Any] = parse_json(text)
        except ValueError as error:
            self.fail(str(error), error)
        for problem in problems(value, schema, name):
            self.fail(problem)
        return value

    def count(self, name: str) -> int:
        """The number of lines that a section announces."""
        digits = self.section(name)
        if not re.fullmatch(rb"0|[1-9][0-9]{0,9}", digits):
            self.fail(f"expected a number of lines, not {digits[:40]!r}")
        return int(digits)

    def tokens(self) -> tuple[TokenTable, NDArray[np.uint32]]:
        """The tokens and their ids."""
        count = self.count("tokens")
        signed = len(self.data) - CHECKSUM_BYTES
        blob, ends, ids, self.at, self.digest = _core.parse_token_lines(
            self.data, self.at, count, self.path, max(signed, 0)
        )
        return TokenTable(blob, ends), ids

    def numbers(self, name: str, columns: int) -> NDArray[np.uint64]:
        """A table of numbers."""
        count = self.count(name)
        table, self.at = _core.parse_number_lines(self.data, self.at, count, columns, self.path)
        return table

    def merges(self) -> NDArray[np.uint32]:
        """The merges, whose ids fit into 32 bits."""
        table = self.numbers("merges", 3)
        large = np.flatnonzero((table >= ID_LIMIT).any(axis=1))
        if len(large):
            place = self.line_number() + 1 + int(large[0])
            raise FormatError(self.path, place, f"an id is not below {ID_LIMIT}")
        return table.astype(np.uint32)

    def scores(self, tokens: int, score_type: str, version: int) -> NDArray[np.float32] | NDArray[np.float64] | None:
        """The scores, one for each token, where there is a section of them."""
        if not self.follows("scores"):
            return None
        count = self.count("scores")
        if count != tokens:
            self.fail(f"there are {tokens} tokens but {count} scores; each token needs one")
        scores, score = np.empty(tokens, np.float64), re.compile(SCORE)
        endless = ENDLESS if version > 1 else ()
        largest = float(np.finfo(np.dtype(score_type)).max)
        for place in range(tokens):
            line = self.line()
            value = float(line) if score.fullmatch(line) else math.nan
            if line in endless:
                value = float(line)
            elif not abs(value) <= largest:
                self.fail(f"expected a finite decimal number, not {line[:40]!r}")
            scores[place] = value
        return scores if score_type == "float64" else scores.astype(np.float32)

    def training(self) -> TrainingRecord | None:
        """The training record, where there is one."""
        if not self.follows("training"):
            return None
        record = self.json("training", RECORD)
        table = self.numbers("counts", 2)
        return TrainingRecord(counts=table[:, 0].copy(), left=table[:, 1].copy(), **record)

    def metadata(self) -> dict[str, str]:
        """The metadata by name; empty without such a section."""
        if not self.follows("metadata"):
            return {}
        return self.json("metadata", METADATA)

    def checksum(self) -> None:
        """Compares the checksum, which must be the last line."""
        expected = self.section("sha256")
        is_last = self.at == len(self.data) and self.at - self.start == CHECKSUM_BYTES
        digest = self.digest if is_last else _core.sha256(self.data, self.start)
        if expected != digest.encode():
            self.fail(f"the file was changed: the checksum of the lines above is {digest}, not {expected[:64]!r}")
        if not is_last:
            self.start = self.at
            self.fail("expected the end of the file after the checksum")


def fields_of(header: dict[str, Any]) -> dict[str, Any]:
    """The header as arguments of `Model`."""
    steps = {name: tuple(map(step_of, header[name])) for name in ("decoders", "normalizers", "post", "splitters")}
    added = tuple(AddedToken(**item) for item in header["added_tokens"])
    return {**header, **steps, "added_tokens": added}


def step_of(item: dict[str, Any]) -> Step:
    """The step of a JSON object."""
    options = sorted((option, value) for option, value in item.items() if option != "kind")
    return Step(item["kind"], tuple(options))


def faulty_token(tokens: TokenTable, ids: NDArray[np.uint32]) -> int | None:
    """The first row of the tokens that has too large an id or repeats one, or repeats a token."""
    if len(ids) and ids.max() >= ID_LIMIT:
        return int(ids.argmax())
    for column in (ids.tolist(), tokens):
        seen: set[object] = set()
        for row, value in enumerate(column):
            if value in seen:
                return row
            seen.add(value)
    return None


def faulty_merge(tokens: TokenTable, ids: NDArray[np.uint32], merges: NDArray[np.uint32]) -> int | None:
    """The first row of the merges that does not join two tokens into a third, or joins a pair again."""
    by_id = dict(zip(ids.tolist(), tokens, strict=True))
    seen: set[tuple[int, int]] = set()
    for row, (left, right, result) in enumerate(merges.tolist()):
        parts = by_id.get(left), by_id.get(right)
        if None in parts or b"".join(filter(None, parts)) != by_id.get(result) or (left, right) in seen:
            return row
        seen.add((left, right))
    return None
