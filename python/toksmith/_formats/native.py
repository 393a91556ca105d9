"""The native format: one readable text file with a whole model. docs/format.md is its contract.

A first line with the version, then sections, each one line or a line with a count and that many lines; the last line
is the checksum. Short sections are JSON; the core reads and writes token lines and number lines.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, get_args

from .. import _core
from .._base import lazy_numpy as np
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
from ..errors import CannotRepresent, FormatError, InvalidOption, ModelError
from . import refuse_arguments
from .json import dump_json, parse_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME = "native"
MOST_BYTES = 1 << 30  # as in docs/format.md
SUFFIXES = (".toksmith",)
DOC = "toksmith's own: one readable text file that holds everything"

VERSIONS = (1, 2)  # version 2 adds unused ids, and scores that are not finite
HEADER_LINE = 2
LINE_LIMIT = (1 << 24) + 64
TOKEN_LIMIT = 1 << 20
CHECKSUM_BYTES = len("sha256 \n") + 64  # the length of the last line
INFINITE = (b"inf", b"-inf")
SCORE = rb"-?\d+(\.\d+)?(e[+-]\d+)?"


# Schemas of the JSON objects. A schema is a `Rule` for a value without parts, `[schema]` for a list, `(schema, …)` for a list
# of exactly these items, or an `Object`. An option has one type in every kind of step; the core refuses missing and
# unknown options of a kind.


class Rule(NamedTuple):
    """The expectation of a value, for messages, and a function that checks it."""

    expected: str
    holds: Callable[[Any], bool]


class Object(NamedTuple):
    """The required fields of an object, its optional fields, and the schema of all other fields; None to refuse these."""

    needed: Mapping[str, Any]
    possible: Mapping[str, Any] = {}
    others: Any = None


def is_base64(value: object) -> bool:
    try:
        return type(value) is str and base64.b64decode(value, validate=True) is not None
    except ValueError:
        return False


def one_of(*choices: object) -> Rule:
    """The rule that allows a few values of one type."""
    expected = " or ".join(map(dump_json, choices))
    return Rule(expected, lambda value: type(value) is type(choices[0]) and value in choices)


def or_null(rule: Rule) -> Rule:
    return Rule(f"null or {rule.expected}", lambda value: value is None or rule.holds(value))


def same_schema(names: str, rule: Any) -> dict[str, Any]:
    """The fields named in a text, all with one schema."""
    return dict.fromkeys(names.split(), rule)


ANY = Rule("a value", lambda value: True)
TEXT = Rule("a text", lambda value: type(value) is str)
LONG_TEXT = Rule("a text that is not empty", lambda value: type(value) is str and value != "")
FLAG = one_of(False, True)
NUMBER = Rule("a whole number that is not negative", lambda value: type(value) is int and value >= 0)
COUNT = Rule("a number from 0 to 2^63 - 1", lambda value: type(value) is int and 0 <= value < 1 << 63)
ID = Rule(f"an id below {ID_LIMIT}", lambda value: type(value) is int and 0 <= value < ID_LIMIT)

OPTIONS: Mapping[str, Any] = {
    **same_schema("content delimiter pad pattern prefix prepend replacement suffix token unknown", TEXT),
    "behavior": one_of("contiguous", "isolated", "merged_with_next", "merged_with_previous", "removed"),
    "dialect": one_of("literal", "onig", "rust"),
    "dummy": one_of("after", "before", "nowhere"),
    "side": one_of("left", "right"),
    "strategy": one_of("longest_first", "only_first", "only_second"),
    "strip": one_of("each", "nothing", "once"),
    **same_schema(
        "add_prefix_space clean_text cleanup drop_first escape handle_chinese_chars individual invert left", FLAG
    ),
    **same_schema("lowercase remove_extra right split", FLAG),
    **same_schema("id max_length start stop stride type_id", COUNT),
    **same_schema("length multiple_of", or_null(COUNT)),
    **same_schema("cls sep", (TEXT, ID)),
    **same_schema("single pair", [(TEXT, FLAG, COUNT)]),
    "charsmap": Rule("a text in base 64", is_base64),
    "special_tokens": Object({}, others=([ID], [TEXT])),
    "strip_accents": or_null(FLAG),
}
FLAGS = same_schema("special lstrip rstrip single_word normalized", FLAG)
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
        **same_schema("decoders normalizers post splitters", STEPS),
    },
    # Saving leaves out a rare field with its usual value.
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
        **same_schema("bytes documents symbols", NUMBER),
        **same_schema("digest stopped_because", TEXT),
        "options": Object({}, others=ANY),
    }
)
METADATA = Object({}, others=TEXT)


def find_problems(value: Any, schema: Any, path: str) -> Iterator[str]:
    """The errors of a value, each with its path: `model.splitters[0].pattern must be a text, not 0`."""
    if isinstance(schema, Rule):
        if not schema.holds(value):
            yield f"{path} must be {schema.expected}, not {str(value)[:40]!r}"
    elif isinstance(schema, Object):
        yield from object_problems(value, schema, path)
    elif not isinstance(value, list):
        yield f"{path} must be a list, not {str(value)[:40]!r}"
    elif isinstance(schema, tuple) and len(value) != len(schema):
        yield f"{path} must have {len(schema)} items, not {len(value)}"
    else:
        each = schema if isinstance(schema, tuple) else schema * len(value)
        for place, (item, inner) in enumerate(zip(value, each, strict=True)):
            yield from find_problems(item, inner, f"{path}[{place}]")


def object_problems(value: Any, schema: Object, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path} must be an object, not {str(value)[:40]!r}"
        return
    for name in sorted(schema.needed.keys() - value.keys()):
        yield f"{path}.{name} is missing"
    schemas = {**schema.needed, **schema.possible}
    for name, item in value.items():
        inner = schemas.get(name, schema.others)
        if inner is None:
            yield f"{path}.{name} is not a field of this version"
        else:
            yield from find_problems(item, inner, f"{path}.{name}")


def sniff(data: bytes, path: str) -> bool:
    """Whether the first word is `toksmith`."""
    return data.startswith(b"toksmith ")


def save(model: Model, *, allow_loss: Collection[str] = ()) -> bytes:
    """The bytes of a file with the whole model; the format loses nothing."""
    tokens = model.tokens
    longest = int(np.diff(tokens.ends, prepend=np.uint32(0)).max(initial=0))
    if longest > TOKEN_LIMIT:
        raise CannotRepresent(NAME, "tokens", f"a token has {longest} bytes; at most {TOKEN_LIMIT} are allowed")
    scores = [] if model.scores is None else model.scores.tolist()
    if model.scores is not None and (len(scores) != len(tokens) or any(map(math.isnan, scores))):
        raise CannotRepresent(NAME, "scores", "each token needs a score that is a number")
    version = lowest_version(model.unused_ids, scores)
    parts = [
        f"toksmith {version}\n".encode(),
        json_line("model", model.fields(), HEADER),
        f"tokens {len(tokens)}\n".encode(),
        _core.dump_token_lines(tokens.blob, tokens.ends, model.ids),
        f"merges {len(model.merges)}\n".encode(),
        _core.dump_number_lines(model.merges.astype(np.uint64)),
    ]
    if model.scores is not None:
        # Any correct reader restores a float32 exactly from the digits of the float64 with the same value.
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


def lowest_version(unused_ids: Collection[int], scores: Collection[float]) -> int:
    """The lowest version that can store these unused ids and scores."""
    return 2 if unused_ids or not all(map(math.isfinite, scores)) else 1


def json_line(name: str, value: Mapping[str, Any], schema: Object) -> bytes:
    """The line of a JSON section; raises CannotRepresent unless reading it back fits the schema."""
    try:
        line = f"{name} {dump_json(value)}\n".encode()
        reloaded = parse_json(line[len(name) + 1 : -1])
    except (TypeError, ValueError) as error:
        raise CannotRepresent(NAME, name, str(error)) from error
    for problem in find_problems(reloaded, schema, name):
        raise CannotRepresent(NAME, name, problem)
    return line


def load(data: bytes, path: str, *, pattern: PatternArgument, special_tokens: Mapping[str, int] | None) -> Model:
    refuse_arguments("a native file", pattern, special_tokens)
    reader = SectionReader(data, path)
    version = reader.version()
    header = reader.json("model", HEADER)
    if version < 2 and "unused_ids" in header:
        reader.fail("model.unused_ids is a field of version 2")
    fields = model_fields(header)
    tokens, ids, count = reader.tokens()
    tokens_at = reader.start
    merges = reader.merges()
    merges_at = reader.start
    scores = reader.scores(count, fields.pop("score_type", "float32"), version)
    if version != lowest_version(fields.get("unused_ids", ()), () if scores is None else scores.tolist()):
        raise FormatError(path, 1, "is version 2, but nothing in it needs more than version 1")
    training = reader.training()
    metadata = reader.metadata()
    reader.checksum()
    try:
        return Model(tokens, ids, merges=merges, scores=scores, training=training, metadata=metadata, **fields)
    except (ModelError, InvalidOption) as error:
        id_array, merge_array = (np.frombuffer(memory, np.uint32) for memory in (ids, merges))
        if (row := faulty_token(tokens, id_array)) is not None:
            line = reader.line_number(tokens_at) + 1 + row
        elif (row := faulty_merge(tokens, id_array, merge_array.reshape(-1, 3))) is not None:
            line = reader.line_number(merges_at) + 1 + row
        else:
            line = HEADER_LINE
        raise FormatError(path, line, str(error)) from error


class SectionReader:
    """Reads the sections of a file in order; errors name the line."""

    def __init__(self, data: bytes, path: str) -> None:
        self.data, self.path = data, path
        self.at = self.start = 0
        self.digest = ""  # SHA-256 of all lines but the last; set by `tokens`

    def line_number(self, at: int | None = None) -> int:
        """The number, from 1, of the line at an offset; by default of the line read last."""
        return self.data.count(b"\n", 0, self.start if at is None else at) + 1

    def fail(self, problem: str, error: Exception | None = None) -> NoReturn:
        """Raises FormatError for the line read last."""
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
        line = self.line()
        if not re.fullmatch(rb"toksmith [1-9][0-9]{0,8}", line):
            self.fail(f"expected 'toksmith 1' or 'toksmith 2', not {line[:40]!r}")
        version = int(line[9:])
        if version not in VERSIONS:
            versions = " and ".join(map(str, VERSIONS))
            self.fail(f"this is version {version} of the format; this toksmith reads the versions {versions}")
        return version

    def section(self, name: str) -> bytes:
        """The rest of the next line, after the section's name; raises if another section comes next."""
        line = self.line()
        if not line.startswith(name.encode() + b" "):
            self.fail(f"expected the section {name!r}, not {line[:40]!r}")
        return line[len(name) + 1 :]

    def comes_next(self, name: str) -> bool:
        return self.data.startswith(name.encode() + b" ", self.at)

    def json(self, name: str, schema: Object) -> dict[str, Any]:
        """The JSON object of a section; raises unless it fits the schema."""
        text = self.section(name)
        try:
            value: dict[str, Any] = parse_json(text)
        except ValueError as error:
            self.fail(str(error), error)
        for problem in find_problems(value, schema, name):
            self.fail(problem)
        return value

    def count(self, name: str) -> int:
        """The number of lines in a section's first line."""
        digits = self.section(name)
        if not re.fullmatch(rb"0|[1-9][0-9]{0,9}", digits):
            self.fail(f"expected a number of lines, not {digits[:40]!r}")
        return int(digits)

    def tokens(self) -> tuple[TokenTable, Any, int]:
        """The tokens, the memory of their ids, and their number."""
        count = self.count("tokens")
        signed = len(self.data) - CHECKSUM_BYTES
        (blob, ends, ids), self.at, self.digest = _core.parse_token_lines(
            self.data, self.at, count, self.path, max(signed, 0)
        )
        return TokenTable(blob, ends), ids, count

    def merges(self) -> Any:
        count = self.count("merges")
        merges, self.at = _core.parse_merge_lines(self.data, self.at, count, self.path)
        return merges

    def scores(self, tokens: int, score_type: str, version: int) -> NDArray[np.float32] | NDArray[np.float64] | None:
        """The scores, one for each token; None if the file has no such section."""
        if not self.comes_next("scores"):
            return None
        count = self.count("scores")
        if count != tokens:
            self.fail(f"there are {tokens} tokens but {count} scores; each token needs one")
        scores, score = np.empty(tokens, np.float64), re.compile(SCORE)
        endless = INFINITE if version > 1 else ()
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
        """The training record; None if the file has no such section."""
        if not self.comes_next("training"):
            return None
        record = self.json("training", RECORD)
        count = self.count("counts")
        counts, left, self.at = _core.parse_number_lines(self.data, self.at, count, self.path)
        return TrainingRecord(counts=counts, left=left, **record)

    def metadata(self) -> dict[str, str]:
        """The metadata by name; empty if the file has no such section."""
        if not self.comes_next("metadata"):
            return {}
        return self.json("metadata", METADATA)

    def checksum(self) -> None:
        """Raises unless the last line is the checksum of the lines above it."""
        expected = self.section("sha256")
        is_last = self.at == len(self.data) and self.at - self.start == CHECKSUM_BYTES
        digest = self.digest if is_last else _core.sha256(self.data, self.start)
        if expected != digest.encode():
            self.fail(f"the file was changed: the checksum of the lines above is {digest}, not {expected[:64]!r}")
        if not is_last:
            self.start = self.at
            self.fail("expected the end of the file after the checksum")


def model_fields(header: dict[str, Any]) -> dict[str, Any]:
    """The header as arguments of `Model`."""
    steps = {name: tuple(map(parse_step, header[name])) for name in ("decoders", "normalizers", "post", "splitters")}
    added = tuple(AddedToken(**item) for item in header["added_tokens"])
    return {**header, **steps, "added_tokens": added}


def parse_step(item: dict[str, Any]) -> Step:
    options = sorted((option, value) for option, value in item.items() if option != "kind")
    return Step(item["kind"], tuple(options))


def faulty_token(tokens: TokenTable, ids: NDArray[np.uint32]) -> int | None:
    """The first row of the tokens with too large or repeated an id, or with a repeated token."""
    if len(ids) and ids.max() >= ID_LIMIT:
        return int(ids.argmax())
    for column in (ids.tolist(), tokens):
        earlier: set[object] = set()
        for row, value in enumerate(column):
            if value in earlier:
                return row
            earlier.add(value)
    return None


def faulty_merge(tokens: TokenTable, ids: NDArray[np.uint32], merges: NDArray[np.uint32]) -> int | None:
    """The first row of the merges that does not merge two tokens into a third, or repeats a pair."""
    by_id = dict(zip(ids.tolist(), tokens, strict=True))
    earlier_pairs: set[tuple[int, int]] = set()
    for row, (left, right, result) in enumerate(merges.tolist()):
        parts = by_id.get(left), by_id.get(right)
        if None in parts or b"".join(filter(None, parts)) != by_id.get(result) or (left, right) in earlier_pairs:
            return row
        earlier_pairs.add((left, right))
    return None
