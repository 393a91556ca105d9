"""What rendering a chat template may cost. A template comes from a file, so it may be a stranger's.

The rule: work is counted, so the same conversation is refused on every machine. A character that an operation reads or writes is
one unit; a run of another origin, an item of a list and an operation are more. What an operation of Python would do in one go,
such as `'x' * n` or `'%9d'`, is paid before it is done. Left out: where templates meet this, which `template.py` says.
"""

from __future__ import annotations

import re
from collections.abc import ItemsView, Iterator, KeysView, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from jinja2 import TemplateError

__all__ = [
    "OPERATION",
    "RUN",
    "OverBudget",
    "allow_work",
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
MOST_BITS = 4096  # of a whole number that an operator makes; Python writes numbers of this size

LEFT: ContextVar[list[int] | None] = ContextVar("LEFT", default=None)
FIELD = re.compile(r"%[^a-zA-Z%]*|\{[^{}]*\}")
NESTED_WIDTH = re.compile(r"%[^a-zA-Z%]*\*|\{[^{}]*:[^{}]*\{")  # `%*d` and `{:{}}` take a width from an argument
Groups = (list, tuple, AbstractSet, Mapping, KeysView, ItemsView, ValuesView)


class OverBudget(TemplateError):
    """A template does more than it may."""


@contextmanager
def allow_work(size: int) -> Iterator[None]:
    """A budget for everything within the block, for a conversation of this size."""
    limit = FREE + FOR_EACH * size
    token = LEFT.set([limit])
    try:
        yield
    except OverBudget as error:
        problem = error.message or f"it does more than {limit:,} units of work, the limit for this conversation"
        raise OverBudget(problem) from None
    finally:
        LEFT.reset(token)


def spend(units: int) -> None:
    """Takes the units from the budget; nothing without a budget.

    Raises:
        OverBudget: The budget has fewer units.
    """
    left = LEFT.get()
    if left is not None:
        left[0] -= units
        if left[0] < 0:
            raise OverBudget


def size_of(value: Any) -> int:
    """How much budget a value of the caller gives: its characters, and 1,024 for each text, number and collection."""
    if isinstance(value, (str, bytes)):
        return VALUE + len(value)
    if isinstance(value, Mapping):
        return VALUE + sum(size_of(key) + size_of(each) for key, each in value.items())
    return VALUE + (sum(map(size_of, value)) if isinstance(value, (list, tuple)) else 0)


def pay_value(value: Any) -> None:
    """Pays for an operation that looks at the texts and items of a value, but not into the items."""
    if isinstance(value, (str, bytes)):
        spend(len(value))
    elif isinstance(value, (*Groups, range)):
        spend(ITEM * len(value))


def pay_items(value: Any) -> None:
    """Pays for an operation that looks into the items too, such as `==`; their texts count as one item each."""
    pay_value(value)
    if isinstance(value, Groups):
        for each in value.values() if isinstance(value, Mapping) else value:
            if isinstance(each, Groups):
                spend(NODE)
                pay_items(each)


def pay_text(value: Any, times: int = 1) -> None:
    """Pays for writing a value as text, with everything in it."""
    if isinstance(value, (str, bytes)):
        spend((len(value) + ITEM) * times)
    elif isinstance(value, Mapping):
        for key, each in value.items():
            spend(NODE * times)
            pay_text(key, times)
            pay_text(each, times)
    elif isinstance(value, Groups):
        for each in value:
            spend(NODE * times)
            pay_text(each, times)
    elif type(value).__name__ == "Namespace":
        pay_text(value._Namespace__attrs, times)


def pay_operator(operator: str, left: Any, right: Any) -> None:
    """Pays for `left operator right`.

    Raises:
        OverBudget: The result is too much, or a whole number of more than 4,096 bits.
    """
    spend(OPERATION)
    if isinstance(left, int) and isinstance(right, int):
        bits, more = left.bit_length(), right.bit_length()
        found = bits * max(right, 0) if operator == "**" else bits + more if operator == "*" else max(bits, more)
        if found > MOST_BITS:
            raise OverBudget(f"it makes a whole number of more than {MOST_BITS:,} bits")
    elif operator == "%" and isinstance(left, (str, bytes)):
        pay_format(left, "%", right)
    elif operator == "*":
        text, times = (left, right) if isinstance(right, int) else (right, left)
        if isinstance(text, (str, bytes, list, tuple)) and isinstance(times, int):
            runs = len(getattr(text, "ends", ()))
            each = len(text) * (1 if isinstance(text, (str, bytes)) else ITEM) + (RUN * runs if runs > 1 else 0)
            spend(each * max(times, 0))
    for each in (left, right):
        (pay_items if isinstance(each, tuple) else pay_value)(each)


def pay_format(text: Any, sign: str, *values: Any) -> None:
    """Pays for a text whose fields, which begin with a sign, are replaced by values; every field may take the longest value.

    Raises:
        OverBudget: A width of the text is too much, or comes from a value.
    """
    plain = (text if isinstance(text, str) else text.decode("latin-1")).replace("{{", "")
    if NESTED_WIDTH.search(plain):
        raise OverBudget("it formats with a width that is not written in the template's text")
    spend(len(plain) + sum(int(width[:9]) for field in FIELD.findall(plain) for width in re.findall(r"\d+", field)))
    for value in values:
        pay_text(value, plain.count(sign))


def pay_method(text: Any, name: str, values: Sequence[Any]) -> None:
    """Pays for a method of a text."""
    pay_value(text)
    for value in values:
        pay_value(value)
    number, texts = largest(values), [value for value in values if isinstance(value, str)]
    if name in ("center", "ljust", "rjust", "zfill"):
        spend(number)
    elif name == "expandtabs":
        spend(text.count("\t") * max(number, 8))
    elif name == "translate":
        tables = [value.values() for value in values if isinstance(value, Mapping)]
        spend(len(text) * max((len(each) for table in tables for each in table if isinstance(each, str)), default=1))
    elif name == "replace" and len(texts) > 1:
        spend((str.count(text, texts[0]) + 1) * (len(texts[1]) + RUN))
    elif name == "join":
        spend(sum((len(text) + RUN) * len(value) for value in values if isinstance(value, Groups)))
    elif name in ("format", "format_map"):
        pay_format(text, "{", *values)


def largest(values: Sequence[Any]) -> int:
    """The largest of the whole numbers among some values, without its sign."""
    return max((abs(value) for value in values if isinstance(value, int)), default=0)


# Filters that look at the items of a collection, but not into them.
OF_ITEMS = {"batch", "dictsort", "groupby", "items", "list", "map", "max", "min", "random", "reject", "rejectattr"}
OF_ITEMS |= {"reverse", "select", "selectattr", "slice", "sort", "sum", "unique"}
OF_NONE = {"attr", "count", "d", "default", "first", "last", "length", "string"}  # `string` pays when its text is made


def pay_filter(name: str, value: Any, values: Sequence[Any]) -> None:
    """Pays for a filter of Jinja.

    Raises:
        OverBudget: It is too much, or `sum` adds up anything but numbers.
    """
    spend(OPERATION)
    if name in OF_ITEMS:
        spend(NODE * (len(value) if isinstance(value, (str, *Groups, range)) else 0))
    elif name not in OF_NONE:
        pay_text(value)
    for each in values:
        pay_value(each)
    number, width = largest(values), max((len(each) for each in values if isinstance(each, (str, bytes))), default=0)
    if name in ("batch", "center", "round", "slice"):
        spend(number * ITEM)
    elif name == "indent":
        spend(len(str(value).splitlines()) * max(width, number))
    elif name == "wordwrap":
        spend(len(str(value)) * width)
    elif name == "tojson":
        separators = [len(part) for each in values if isinstance(each, (list, tuple)) for part in each]
        pay_text(value, number + width + sum(separators))
    elif name == "replace":
        pay_method(str(value), name, values)
    elif name == "format":
        pay_format(str(value), "%", *values)
    elif name == "sum" and any(isinstance(each, Groups) for each in values):
        raise OverBudget("its filter `sum` begins with a value that is not a number")
