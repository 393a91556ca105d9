"""JSON as the formats read and write it: one spelling out, and nothing but plain, finite values in.

Python's own reader takes more than JSON (`NaN`, repeated names, lone surrogates) and follows any nesting; what it
would take in silence is an error here.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

__all__ = ["dump_json", "parse_json"]

JSON_LIMIT = 1 << 24
DEPTH_LIMIT = 32

# The characters of the core's `table::is_hidden` that JSON would leave as they are: a person could not see them.
HIDDEN = re.compile(
    "[\x7f-\xa0\xad\u034f\u061c\u115f-\u1160\u1680\u17b4-\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def dump_json(value: object) -> str:
    """One line of JSON: names sorted, characters that can be seen written as themselves, the others escaped.

    Raises:
        ValueError: A number is not finite.
        TypeError: A value has no JSON spelling.
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    # Such a character can only stand in a string, where its escape means the same.
    return HIDDEN.sub(lambda match: json.dumps(match[0])[1:-1], text)


def parse_json(data: bytes) -> Any:
    """The value of a JSON text in UTF-8.

    Raises:
        ValueError: It is no such text, is longer than 16 MiB or nested deeper than 32, repeats a name, or holds a
            number that is not finite or a text with lone surrogates.
    """
    if len(data) > JSON_LIMIT:
        raise ValueError(f"the JSON has {len(data)} bytes; at most {JSON_LIMIT} are allowed")
    try:
        value = json.loads(
            data.decode(), object_pairs_hook=unique_names, parse_float=finite, parse_constant=refuse_constant
        )
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} of the JSON is not UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error.msg} at character {error.pos}") from error
    check_value(value, 0)
    return value


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of `pairs`, whose names must differ."""
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for place, name in enumerate(names) if name in names[:place])
        raise ValueError(f"the name {repeated!r} stands twice in one JSON object")
    return value


def finite(digits: str) -> float:
    """The number, which must not be too large for a float."""
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits[:40]} is too large")
    return value


def refuse_constant(name: str) -> None:
    """Raises for `NaN` and `Infinity`, which Python would take for numbers."""
    raise ValueError(f"{name} is no JSON number")


def check_value(value: object, depth: int) -> None:
    """Raises ValueError for nesting beyond the limit and for texts that UTF-8 cannot hold."""
    if depth > DEPTH_LIMIT:
        raise ValueError(f"the JSON is nested deeper than {DEPTH_LIMIT}")
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"a text holds the lone surrogate U+{ord(value[error.start]):04X}") from error
    elif isinstance(value, list):
        for item in value:
            check_value(item, depth + 1)
    elif isinstance(value, dict):
        for name, item in value.items():
            check_value(name, depth + 1)
            check_value(item, depth + 1)
