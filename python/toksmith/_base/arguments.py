"""Guards of arguments: they refuse what would otherwise silently mean something else.

The rule: a function calls a guard only where a wrong type would work and give a wrong result, such as a text whose
characters count as a list of texts. Everywhere else Python raises its own error. A wrong type is a `TypeError` that
names the argument; a value that is out of every range is an `InvalidOption`. A guard believes no length that an object
reports of itself.
"""

from __future__ import annotations

import numbers
import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from .errors import InvalidOption, quoted

__all__ = [
    "WrongDocument",
    "advised",
    "as_sequence",
    "flag",
    "items",
    "number",
    "path_text",
    "special_choice",
    "text",
    "text_or_bytes",
    "texts",
    "whole_number",
]

LONGEST_NUMBER = 20  # digits in a text that a message gives as a number


class WrongDocument(TypeError):
    """A document of a corpus has a wrong type."""


def refuse(name: str, expected: str, value: object, advice: str = "") -> NoReturn:
    """Raises the TypeError; `advice` says what to pass, where that can be known."""
    said = f"{name}: expected {expected}, not {type(value).__name__}"
    raise TypeError(f"{said}; {advice}" if advice else said) from None


def whole_number(value: Any, name: str) -> int:
    """An int, or an object that converts to one (numpy's); no bool and no float."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    written = isinstance(value, str) and value.strip().isdecimal() and len(value) < LONGEST_NUMBER
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53
    refuse(name, "an int", value, f"pass {int(value)}" if written or whole else "")


def number(value: Any, name: str) -> float:
    """A real number."""
    if not isinstance(value, numbers.Real):
        refuse(name, "a number", value)
    try:
        return float(value)
    except OverflowError:
        raise InvalidOption(name, value, "a number that fits a float") from None


def flag(value: Any, name: str) -> bool:
    """True or False, or the numbers that are equal to them; a text such as "no" would count as True."""
    try:
        found = operator.index(value.item() if hasattr(value, "dtype") else value)
    except (TypeError, ValueError):
        refuse(name, "True or False", value)
    if found not in (0, 1):
        raise InvalidOption(name, value, "True or False")
    return bool(found)


def text(value: Any, name: str) -> str:
    """A str that is text in every encoding."""
    if not isinstance(value, str):
        refuse(name, "str", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidOption(name, value, "text without lone surrogates") from None
    return value


def text_or_bytes(value: Any, name: str) -> str | bytes:
    """A text to encode."""
    return value if isinstance(value, (str, bytes)) else refuse(name, "str or bytes", value)


def path_text(value: Any, name: str) -> str:
    """The name of a file: an int would be an open file, and `str()` of another object a name like any other."""
    if not isinstance(value, (str, os.PathLike)):
        refuse(name, "a path (str or os.PathLike)", value)
    plain = os.fspath(value)
    return plain if isinstance(plain, str) else refuse(name, "a path of str", plain)


def items(value: Any, name: str, expected: str) -> tuple[Any, ...]:
    """The items of an iterable. A single text is refused, which would be cut into its characters."""
    if isinstance(value, (str, bytes)):
        refuse(name, expected, value, f"pass [{quoted(value)}]" if "str" in expected else "")
    try:
        iterator = iter(value)
    except TypeError:
        refuse(name, expected, value)
    return tuple([item for item in iterator])  # noqa: C416 - because a reported length may be wrong


def texts(value: Any, name: str, expected: str = "a list of str", kinds: tuple[type, ...] = (str,)) -> tuple[Any, ...]:
    """Several texts. A mapping or a frame is refused, which would give its keys or the names of its columns."""
    refuse_keys(value, name, expected)
    found = items(value, name, expected)
    for place, item in enumerate(found):
        if not isinstance(item, kinds):
            refuse(f"{name}: item {place}", " or ".join(kind.__name__ for kind in kinds), item)
    return found


def as_sequence(batch: Iterable[Any]) -> Sequence[Any]:
    """A batch as it is if it has a length, else as a tuple; the core refuses a single text and checks the items."""
    if isinstance(batch, (list, tuple, str, bytes)):
        return batch
    refuse_keys(batch, "texts", "a batch of texts (a list)")
    return items(batch, "texts", "a batch of texts (a list)")


def refuse_keys(value: Any, name: str, expected: str) -> None:
    """Refuses what gives keys when it is iterated."""
    if isinstance(value, Mapping):
        refuse(name, expected, value, "pass its keys() or values(), as a list")
    if hasattr(type(value), "columns") and hasattr(type(value), "__getitem__"):
        refuse(name, expected, value, "pass one of its columns")


def special_choice(value: Any, name: str = "special") -> str | tuple[str, ...]:
    """What happens to special tokens in a text: one of three words, or the tokens that are allowed."""
    if not isinstance(value, str):
        return texts([*value] if isinstance(value, Mapping) else value, name)
    if value not in ("raise", "allow", "text"):
        raise InvalidOption(name, value, "'raise', 'allow', 'text' or a collection of special tokens")
    return value


def advised(error: TypeError, value: Any) -> TypeError:
    """What the core says of a text or of ids, with what to do."""
    if isinstance(value, (list, tuple)) and "expected str" in str(error):
        return TypeError(f"{error}; encode_batch takes a list of texts")
    if type(value) is int and 0 <= value < 1 << 32 and str(error).startswith("ids"):
        return TypeError(f"{error}; pass [{value}]")
    return error
