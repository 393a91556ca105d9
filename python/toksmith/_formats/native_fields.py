"""What the JSON objects of a native file may hold: a schema for each, and the one walk that compares a value with it.

A schema is a `Rule` for a value without parts, `[schema]` for a list, `(schema, …)` for a list of exactly these, or an
`Object`. An option of a step has one type, whichever step has it; the core refuses options that a kind of step lacks or
does not have.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, get_args

from .._model.model import ID_LIMIT, RARE_FIELDS, Kind, MergeRule
from .json import dump_json

__all__ = ["HEADER", "METADATA", "RECORD", "Object", "problems"]


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
