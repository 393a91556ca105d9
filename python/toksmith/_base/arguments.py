"""Guards of arguments: they refuse values that would otherwise give a wrong result silently.

The rule: a function calls a guard only where a wrong type would work and give a wrong result, such as a text whose
characters count as a list of texts. Everywhere else Python raises its own error. A wrong type is a `TypeError` that
names the argument; a value outside every range is an `InvalidOption`. Guards do not trust the length that an object
reports.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from ..errors import InvalidOption
from .wording import quote_value

LONGEST_NUMBER = 20  # characters of a numeric text that a message repeats as a number


class WrongDocument(TypeError):
    """A document of a corpus has a wrong type."""


def raise_wrong_type(name: str, expected: str, value: object, advice: str = "") -> NoReturn:
    """Raises the TypeError; `advice` names the value to pass, where it is known."""
    message = f"{name}: expected {expected}, not {type(value).__name__}"
    raise TypeError(f"{message}; {advice}" if advice else message) from None


def check_int(value: Any, name: str) -> int:
    """An int, or an object that converts to one (numpy's); no bool and no float."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    numeric = isinstance(value, str) and value.strip().isdecimal() and len(value) < LONGEST_NUMBER
    integral = isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53
    raise_wrong_type(name, "an int", value, f"pass {int(value)}" if numeric or integral else "")


def check_flag(value: Any, name: str) -> bool:
    """True or False, or an equal number. A text such as "no" is refused: it would count as True."""
    try:
        index = operator.index(value.item() if hasattr(value, "dtype") else value)
    except (TypeError, ValueError):
        raise_wrong_type(name, "True or False", value)
    if index not in (0, 1):
        raise InvalidOption(name, value, "True or False")
    return bool(index)


def check_text(value: Any, name: str) -> str:
    """A str that is text in every encoding."""
    if not isinstance(value, str):
        raise_wrong_type(name, "str", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidOption(name, value, "text without lone surrogates") from None
    return value


def check_text_or_bytes(value: Any, name: str) -> str | bytes:
    return value if isinstance(value, (str, bytes)) else raise_wrong_type(name, "str or bytes", value)


def check_path(value: Any, name: str) -> str:
    """The name of a file. An int would be an open descriptor, and `str()` of any other object a valid name."""
    if not isinstance(value, (str, os.PathLike)):
        raise_wrong_type(name, "a path (str or os.PathLike)", value)
    plain = os.fspath(value)
    return plain if isinstance(plain, str) else raise_wrong_type(name, "a path of str", plain)


def check_items(value: Any, name: str, expected: str) -> tuple[Any, ...]:
    """The items of an iterable. A single text is refused, because its items are its characters."""
    if isinstance(value, (str, bytes)):
        raise_wrong_type(name, expected, value, f"pass [{quote_value(value)}]" if "str" in expected else "")
    try:
        iterator = iter(value)
    except TypeError:
        raise_wrong_type(name, expected, value)
    return tuple([item for item in iterator])  # noqa: C416 - because a reported length can be wrong


def check_texts(
    value: Any, name: str, expected: str = "a list of str", kinds: tuple[type, ...] = (str,)
) -> tuple[Any, ...]:
    """Several texts. A mapping or a data frame is refused, because its items are its keys or column names."""
    refuse_keys(value, name, expected)
    elements = check_items(value, name, expected)
    for place, item in enumerate(elements):
        if not isinstance(item, kinds):
            raise_wrong_type(f"{name}: item {place}", " or ".join(kind.__name__ for kind in kinds), item)
    return elements


def as_sequence(batch: Iterable[Any]) -> Sequence[Any]:
    """A batch unchanged if it has a length, else as a tuple; the core refuses a single text and checks the items."""
    if isinstance(batch, (list, tuple, str, bytes)):
        return batch
    refuse_keys(batch, "texts", "a batch of texts (a list)")
    return check_items(batch, "texts", "a batch of texts (a list)")


def refuse_keys(value: Any, name: str, expected: str) -> None:
    """Refuses mappings and data frames, whose iteration gives keys."""
    if isinstance(value, Mapping):
        raise_wrong_type(name, expected, value, "pass its keys() or values(), as a list")
    if hasattr(type(value), "columns") and hasattr(type(value), "__getitem__"):
        raise_wrong_type(name, expected, value, "pass one of its columns")


def check_special(value: Any, name: str = "special") -> str | tuple[str, ...]:
    """The treatment of special tokens in a text: one of three words, or the allowed tokens."""
    if not isinstance(value, str):
        return check_texts([*value] if isinstance(value, Mapping) else value, name)
    if value not in ("raise", "allow", "text"):
        raise InvalidOption(name, value, "'raise', 'allow', 'text' or a collection of special tokens")
    return value


def add_advice(error: TypeError, value: Any) -> TypeError:
    """An error of the core about a text or ids, with advice."""
    if isinstance(value, (list, tuple)) and "expected str" in str(error):
        return TypeError(f"{error}; encode_batch takes a list of texts")
    if type(value) is int and 0 <= value < 1 << 32 and str(error).startswith("ids"):
        return TypeError(f"{error}; pass [{value}]")
    return error
