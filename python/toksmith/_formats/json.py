"""Reads and writes JSON for the formats: one spelling for each value, and only plain, finite values.

Python's own reader accepts more than JSON (`NaN`, repeated names, lone surrogates) and any nesting. This reader raises an
error for these. `JsonObject` reads an object field by field: each field is taken once and has a type, and unknown fields
raise an error that names them.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

from .._base.wording import quote_value
from ..errors import FormatError

NEEDED: Any = object()
FIELD_LIMIT = 1 << 12
NAMES = {str: "a text", bool: "true or false", int: "a whole number", list: "a list", dict: "an object"}
JSON_LIMIT = 1 << 24
DEPTH_LIMIT = 32
# The most occurrences of each character in a file of up to 16 MiB: for names, more than four times the tokens of the largest
# published vocabulary (o200k: 199,998). A larger file can have one occurrence in SPARSE bytes.
CROWDS = {b"{": 1 << 19, b"[": 1 << 20, b":": 13 << 16, b",": 3 << 19}
SPARSE = 12
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")

# The characters of the core's `table::is_hidden` that JSON does not escape: a person could not see them. The pattern stays
# a string, because it compiles slowly, and loading a file does not need it.
HIDDEN = (
    "[\x7f-\xa0\xad\u034f\u061c\u115f-\u1160\u1680\u17b4-\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def dump_json(value: object) -> str:
    """One line of JSON: names sorted, visible characters unescaped, all others escaped."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    # A hidden character can only occur in a string, where its escape means the same.
    return re.sub(HIDDEN, lambda match: json.dumps(match[0])[1:-1], text)


def parse_json(data: bytes, most: int = JSON_LIMIT) -> Any:
    """The value of a JSON text in UTF-8 with at most `most` bytes."""
    if len(data) > most:
        raise ValueError(f"the JSON has {len(data)} bytes; at most {most} are allowed")
    refuse_crowds(data)
    try:
        value = json.loads(
            data.decode(), object_pairs_hook=unique_names, parse_float=parse_finite, parse_constant=refuse_constant
        )
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} of the JSON is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos}") from error
    check_depth(value)
    if SURROGATE.search(data):
        check_texts(value)
    return value


def parse_object(data: bytes, path: str, most: int = JSON_LIMIT) -> dict[str, Any]:
    try:
        value = parse_json(data, most)
    except ValueError as error:
        raise FormatError(path, None, str(error)) from error
    if not isinstance(value, dict):
        raise FormatError(path, None, f"expected a JSON object, not {type(value).__name__}")
    return value


def refuse_crowds(data: bytes) -> None:
    """Raises ValueError for more objects, lists or values than any tokenizer has: each takes far more memory than its bytes.

    Characters inside texts count too.
    """
    for sign, few in CROWDS.items():
        most = few if len(data) <= JSON_LIMIT else max(few, len(data) // SPARSE)
        if (count := data.count(sign)) > most:
            raise ValueError(f"{sign.decode()!r} occurs {count} times in the JSON; at most {most} are allowed")


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of `pairs`; raises ValueError for a repeated name."""
    value = dict(pairs)
    if len(value) != len(pairs):
        earlier: set[str] = set()
        repeated = next(name for name, _ in pairs if name in earlier or earlier.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"the name {repeated!r} occurs twice in one JSON object")
    return value


def parse_finite(digits: str) -> float:
    """The number as a float; raises ValueError if it is too large."""
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits[:40]} is too large")
    return value


def refuse_constant(name: str) -> None:
    """Raises ValueError for `NaN` and `Infinity`, which Python's reader accepts as numbers."""
    raise ValueError(f"{name} is not a JSON number")


def check_depth(value: object) -> None:
    level = [value]
    for _ in range(DEPTH_LIMIT + 1):
        inside = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list)))
        level = [item for items in inside for item in items if isinstance(item, (dict, list))]
        if not level:
            return
    raise ValueError(f"the JSON is nested deeper than {DEPTH_LIMIT}")


def check_texts(value: object) -> None:
    """Raises ValueError for texts that UTF-8 cannot encode."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"a text contains the lone surrogate U+{ord(error.object[error.start]):04X}") from error


class JsonObject:
    """The object at `place` (`decoder.decoders[1]`) of a JSON file; getters remove fields, and `finish` raises for the rest."""

    def __init__(self, value: Any, path: str, place: str) -> None:
        self.path, self.place = path, place
        if not isinstance(value, dict):
            self.fail(f"must be an object, not {quote_value(value)}")
        if len(value) > FIELD_LIMIT:
            self.fail(f"has {len(value)} fields; fewer than {FIELD_LIMIT} are allowed")
        self.left: dict[str, Any] = dict(value)

    def fail(self, problem: str, field: str = "") -> NoReturn:
        """Raises FormatError for the object or one of its fields."""
        raise FormatError(self.path, ".".join(filter(None, [self.place, field])) or None, problem)

    def take(self, name: str, kind: type, default: Any = NEEDED) -> Any:
        """Removes and returns a field of a type; if it is missing or null, returns the default or, without one, raises."""
        value = self.left.pop(name, NEEDED)
        if value is NEEDED or (value is None and default is not NEEDED):
            if default is NEEDED:
                self.fail("is missing", name)
            return default
        if type(value) is not kind:
            self.fail(f"must be {NAMES[kind]}, not {quote_value(value)}", name)
        return value

    def text(self, name: str, default: Any = NEEDED) -> Any:
        return self.take(name, str, default)

    def flag(self, name: str, default: Any = NEEDED) -> Any:
        return self.take(name, bool, default)

    def number(self, name: str, default: Any = NEEDED) -> Any:
        """A whole number that is not negative."""
        value = self.take(name, int, default)
        if value is not None and value < 0:
            self.fail(f"must not be negative, not {value}", name)
        return value

    def char(self, name: str) -> str:
        """A text of one character."""
        value = self.text(name)
        if len(value) != 1:
            self.fail(f"must be one character, not {quote_value(value)}", name)
        return str(value)

    def choice(self, name: str, choices: Any, default: Any = NEEDED) -> Any:
        """The value for one of several texts."""
        value = self.text(name, default)
        if value not in choices:
            self.fail(f"must be one of {', '.join(choices)}, not {quote_value(value)}", name)
        return choices[value]

    def part(self, name: str) -> JsonObject:
        return JsonObject(self.take(name, dict), self.path, f"{self.place}.{name}" if self.place else name)

    def parts(self, name: str) -> list[JsonObject]:
        place = f"{self.place}.{name}" if self.place else name
        return [JsonObject(item, self.path, f"{place}[{at}]") for at, item in enumerate(self.take(name, list))]

    def finish(self) -> None:
        """Raises FormatError if a field was not taken."""
        for name in self.left:
            self.fail("is an unknown field, so its meaning is unknown", name)
