"""Limits the work of rendering a chat template, which comes from a file and is not trusted.

The rule: work is counted, so the same conversation is refused on every machine. A character that an operation reads is one unit;
an item of a list and an operation are more. An operation that Python performs in one go, such as `'x' * n` or `'%9d'`, is paid
before it runs. Texts and collections that a template makes take units of room, which bounds the memory. Loops in loops do much
work but make little, so for a long conversation the room grows less. Left out: the places where templates pay (`template.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import Any

__all__ = [
    "NODE",
    "OPERATION",
    "RUN",
    "OverBudget",
    "allow_work",
    "pay_copy",
    "pay_filter",
    "pay_items",
    "pay_method",
    "pay_operator",
    "pay_text",
    "pay_value",
    "size_of",
    "spend",
]

OPERATION, RUN, NODE, ITEM = 256, 64, 64, 8
FREE, FOR_EACH, VALUE = 1 << 25, 256, 1024
ROOMY, ROOM_FOR_EACH = 1 << 27, 8  # of room: from so many units on, it grows less
MOST_BITS = 4096  # of an integer that an operator computes; Python writes integers of this size

# The work and the room that are left, and the function of the size if it was not called yet.
LEFT: ContextVar[list[Any] | None] = ContextVar("LEFT", default=None)
FIELD = re.compile(r"%[^a-zA-Z%]*|\{[^{}]*\}")
NESTED_WIDTH = re.compile(r"%[^a-zA-Z%]*\*|\{[^{}]*:[^{}]*\{")  # `%*d` and `{:{}}` take a width from an argument
Groups = (list, tuple, AbstractSet, Mapping, KeysView, ItemsView, ValuesView)


class OverBudget(Exception):
    """A template exceeds its budget of work."""


@contextmanager
def allow_work(size: int | Callable[[], int]) -> Iterator[None]:
    """Sets the budget for the code within the block, for a conversation of this size.

    A function for the size is called once the template needs more than the units that are free.
    """
    left: list[Any] = [FREE, FREE, size] if callable(size) else limits_of(size)
    token = LEFT.set(left)
    try:
        yield
    except OverBudget as error:
        limits = limits_of(size() if callable(size) else size)
        verb, limit, what = ("makes", limits[1], "text and lists") if left[1] < 0 else ("does", limits[0], "work")
        problem = f"it {verb} more than {limit:,} units of {what}, the limit for this conversation"
        raise OverBudget(str(error) or problem) from None
    finally:
        LEFT.reset(token)


def limits_of(size: int) -> list[int]:
    """The work and the room that a conversation of this size allows."""
    return [FREE + FOR_EACH * size, FREE + min(FOR_EACH * size, ROOMY + ROOM_FOR_EACH * size)]


def spend(work: int, room: int = 0) -> None:
    """Takes the units from the budget; does nothing without a budget.

    Raises:
        OverBudget: The budget has fewer units.
    """
    budget = LEFT.get()
    if budget is not None:
        budget[0] -= work
        budget[1] -= room
        if budget[0] < 0 or budget[1] < 0:
            if len(budget) == 2:
                raise OverBudget
            budget[:] = [left + limit - FREE for left, limit in zip(budget, limits_of(budget.pop()()), strict=True)]
            spend(0)


def size_of(value: Any) -> int:
    """The budget that a value of the caller adds: its characters, and 1,024 for each text, number and collection."""
    if isinstance(value, (str, bytes)):
        return VALUE + len(value)
    if isinstance(value, (list, tuple)):
        return VALUE + sum(map(size_of, value))
    return VALUE + (sum(map(size_of, chain(value, value.values()))) if isinstance(value, Mapping) else 0)


def units_of(value: Any) -> int:
    """The characters of a text, or the units of a collection without its items."""
    if isinstance(value, (str, bytes)):
        return len(value)
    return ITEM * len(value) if isinstance(value, (*Groups, range)) else 0


def pay_value(value: Any) -> None:
    """Pays for an operation that reads a text, or visits the items of a collection without reading them."""
    spend(units_of(value))


def pay_items(value: Any) -> None:
    """Pays for an operation that also reads nested collections, such as `==`; nested texts count as one item each."""
    pay_value(value)
    if isinstance(value, Groups):
        for item in value.values() if isinstance(value, Mapping) else value:
            if isinstance(item, Groups):
                spend(NODE)
                pay_items(item)


def pay_copy(value: Any) -> None:
    """Pays for making a text or a collection like this one."""
    spend(0, NODE + units_of(value))


def pay_text(value: Any, times: int = 1) -> None:
    """Pays for writing a value as text, with all nested values."""
    if isinstance(value, (str, bytes)):
        spend(0, (len(value) + ITEM) * times)
    elif isinstance(value, Groups):
        for item in chain(value, value.values()) if isinstance(value, Mapping) else value:
            spend(0, NODE * times)
            pay_text(item, times)
    elif type(value).__name__ == "Namespace":
        pay_text(value._Namespace__attrs, times)


def pay_operator(operator: str, left: Any, right: Any) -> None:
    """Pays for `left operator right`.

    Raises:
        OverBudget: The result exceeds the budget, or is an integer of more than 4,096 bits.
    """
    spend(OPERATION)
    if isinstance(left, int) and isinstance(right, int):
        bits, other = left.bit_length(), right.bit_length()
        size = bits * max(right, 0) if operator == "**" else bits + other if operator == "*" else max(bits, other)
        if size > MOST_BITS:
            raise OverBudget(f"it computes an integer of more than {MOST_BITS:,} bits")
        spend(0, size // 8)
        return
    if operator == "%" and isinstance(left, (str, bytes)):
        pay_format(left, "%", right)
    elif operator == "*":
        text, times = (left, right) if isinstance(right, int) else (right, left)
        if isinstance(text, (str, bytes, list, tuple)) and isinstance(times, int):
            runs = len(getattr(text, "ends", ()))
            units = len(text) * (1 if isinstance(text, (str, bytes)) else ITEM) + (RUN * runs if runs > 1 else 0)
            spend(0, units * max(times, 0))
    for operand in (left, right):
        (pay_items if isinstance(operand, tuple) else pay_value)(operand)
        if operator == "+":
            pay_copy(operand)


def pay_format(text: Any, sign: str, *values: Any) -> None:
    """Pays for formatting a text, whose fields begin with `sign`; every field is priced at the longest value.

    Raises:
        OverBudget: A width in the text exceeds the budget, or comes from a value.
    """
    plain = (text if isinstance(text, str) else text.decode("latin-1")).replace("{{", "")
    if NESTED_WIDTH.search(plain):
        raise OverBudget("it formats with a width that is not written in the template's text")
    spend(0, len(plain) + sum(int(width[:9]) for field in FIELD.findall(plain) for width in re.findall(r"\d+", field)))
    for value in values:
        pay_text(value, plain.count(sign))


def pay_method(text: Any, name: str, values: Sequence[Any]) -> None:
    """Pays for a method of a text."""
    pays_later = isinstance(text, str) and getattr(type(text), name) is not getattr(str, name)  # a method of `Marked`
    (pay_value if pays_later else pay_copy)(text)
    for value in values:
        pay_value(value)
    number, texts = largest_int(values), [value for value in values if isinstance(value, str)]
    if name in ("center", "ljust", "rjust", "zfill"):
        spend(0, number)
    elif name == "expandtabs":
        spend(0, text.count("\t") * max(number, 8))
    elif name == "translate":
        tables = [value.values() for value in values if isinstance(value, Mapping)]
        longest = max((len(entry) for table in tables for entry in table if isinstance(entry, str)), default=1)
        spend(0, len(text) * longest)
    elif name == "replace" and len(texts) > 1:
        spend(0, (str.count(text, texts[0]) + 1) * (len(texts[1]) + RUN))
    elif name == "join":
        spend(0, sum((len(text) + RUN) * len(value) for value in values if isinstance(value, Groups)))
    elif name in ("format", "format_map"):
        pay_format(text, "{", *values)


def largest_int(values: Sequence[Any]) -> int:
    """The largest absolute value among the integers of `values`; 0 without any."""
    return max((abs(value) for value in values if isinstance(value, int)), default=0)


# Filters that visit the items of a collection without reading them.
OF_ITEMS = {"batch", "dictsort", "groupby", "items", "list", "map", "max", "min", "random", "reject", "rejectattr"}
OF_ITEMS |= {"reverse", "select", "selectattr", "slice", "sort", "sum", "unique"}
OF_LISTS = {"batch", "dictsort", "groupby", "slice"}  # of these, filters that make collections of some items
OF_NONE = {"attr", "count", "d", "default", "first", "last", "length", "string"}  # `string` pays when its text is made


def pay_filter(name: str, value: Any, values: Sequence[Any]) -> None:
    """Pays for a filter of Jinja.

    Raises:
        OverBudget: It exceeds the budget, or `sum` adds values that are not numbers.
    """
    spend(OPERATION)
    if name in OF_ITEMS:
        size = len(value) if isinstance(value, (str, *Groups, range)) else 0
        spend(NODE * size, (NODE if name in OF_LISTS else ITEM) * size)
    elif name not in OF_NONE:
        pay_text(value)
    for item in values:
        pay_value(item)
    number = largest_int(values)
    width = max((len(item) for item in values if isinstance(item, (str, bytes))), default=0)
    if name in ("batch", "center", "round", "slice"):
        spend(0, number * ITEM)
    elif name == "indent":
        spend(0, len(str(value).splitlines()) * max(width, number))
    elif name == "wordwrap":
        spend(0, len(str(value)) * width)
    elif name == "tojson":
        separators = [len(part) for item in values if isinstance(item, (list, tuple)) for part in item]
        pay_text(value, number + width + sum(separators))
    elif name == "replace":
        pay_method(str(value), name, values)
    elif name == "format":
        pay_format(str(value), "%", *values)
    elif name == "sum" and any(isinstance(item, Groups) for item in values):
        raise OverBudget("its filter `sum` begins with a value that is not a number")
