"""Post-processing: the ids that a model puts around one text or two. One row for each kind of step that adds ids.

A step takes a list of parts and returns another. The first step gets the texts; the joined parts of the last step are the
result. The other kinds of `docs/steps.md` (`trim_offsets`, `truncate`, `pad`) add no id around a text.

>>> around([5, 6], None, [("bert", {"cls": ["[CLS]", 1], "sep": ["[SEP]", 2]})])
([1, 5, 6, 2], [0, 0, 0, 0])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .names import listing

Options = Mapping[str, Any]


class Typed(NamedTuple):
    """An id of a part, and its type."""

    id: int
    type: int


Part = list[Typed]


def template(options: Options, parts: Sequence[Part]) -> list[Part]:
    """The parts that the options list: "A" is the first part, "B" the second, and each token is a separate part.

    The options have one list for a single part and another for two. Any other number is an error.

    >>> options = {"single": [["A", False, 3], ["e", True, 1]], "special_tokens": {"e": [[9], ["</s>"]]}}
    >>> template(options, [[Typed(5, 0)]])
    [[Typed(id=5, type=3)], [Typed(id=9, type=1)]]
    """
    if len(parts) not in (1, 2):
        raise ValueError("a template takes one part or two")
    result = []
    for name, special, type in options["single" if len(parts) == 1 else "pair"]:
        ids = options["special_tokens"][name][0] if special else [typed.id for typed in parts["AB".index(name)]]
        result.append([Typed(id, type) for id in ids])
    return result


def bert_template(options: Options, parts: Sequence[Part]) -> list[Part]:
    """`[CLS] A [SEP] B [SEP]`: each part after the first ends in a token of the type 1.

    >>> bert_template({"cls": ["[CLS]", 1], "sep": ["[SEP]", 2]}, [[], [Typed(5, 1)]])
    [[Typed(id=1, type=0), Typed(id=2, type=0)], [Typed(id=5, type=1), Typed(id=2, type=1)]]
    """
    cls, sep = options["cls"][1], options["sep"][1]
    first = [[Typed(cls, 0), *part, Typed(sep, 0)] for part in parts[:1]]
    return first + [[*part, Typed(sep, 1)] for part in parts[1:]]


def roberta(options: Options, parts: Sequence[Part]) -> list[Part]:
    """`<s> A </s> </s> B </s>`, all of the type 0.

    >>> roberta({"cls": ["<s>", 1], "sep": ["</s>", 2]}, [[], []])
    [[Typed(id=1, type=0), Typed(id=2, type=0)], [Typed(id=2, type=0), Typed(id=2, type=0)]]
    """
    cls, sep = options["cls"][1], options["sep"][1]
    result = []
    for place, part in enumerate(parts):
        ids = [sep if place else cls, *(typed.id for typed in part), sep]
        result.append([Typed(id, 0) for id in ids])
    return result


TEMPLATES: Mapping[str, Callable[[Options, Sequence[Part]], list[Part]]] = {
    "bert": bert_template,
    "roberta": roberta,
    "template": template,
}


def around(
    ids: Sequence[int], second: Sequence[int] | None, steps: Sequence[tuple[str, Options]]
) -> tuple[list[int], list[int]]:
    """The ids of one text or two with the ids that the steps add, and the type of each.

    >>> roberta = ("roberta", {"cls": ["<s>", 1], "sep": ["</s>", 2]})
    >>> around([5], [6], [roberta])
    ([1, 5, 2, 2, 6, 2], [0, 0, 0, 0, 0, 0])
    >>> around([5], None, [roberta, roberta])[0]
    [1, 1, 5, 2, 2]
    """
    parts = [[Typed(id, place) for id in text] for place, text in enumerate([ids, second]) if text is not None]
    for kind, options in steps:
        parts = TEMPLATES[kind](options, parts)
    typed_ids = [typed for part in parts for typed in part]
    return [typed.id for typed in typed_ids], [typed.type for typed in typed_ids]


__dir__ = listing(__name__)
