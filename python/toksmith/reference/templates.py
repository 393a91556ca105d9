"""Post-processing: the ids that a model puts around one text or two. One row for each kind of step that puts some.

The other kinds of `docs/steps.md` (`trim_offsets`, `truncate`, `pad`) put no id around a text.

>>> around([5, 6], None, "bert", {"cls": ["[CLS]", 1], "sep": ["[SEP]", 2]})
([1, 5, 6, 2], [0, 0, 0, 0])
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .names import listing

Options = Mapping[str, Any]


class Place(NamedTuple):
    """A place of a template: the name of a text, "A" or "B", or the ids of a special token; and the type of what is there."""

    given: str | Sequence[int]
    type: int = 0


def template(options: Options, pair: bool) -> list[Place]:
    """The places that the options list.

    >>> template({"single": [["A", False, 0], ["e", True, 1]], "special_tokens": {"e": [[9], ["</s>"]]}}, False)
    [Place(given='A', type=0), Place(given=[9], type=1)]
    """
    listed = options["pair" if pair else "single"]
    return [Place(options["special_tokens"][name][0] if special else name, type) for name, special, type in listed]


def bert(options: Options, pair: bool) -> list[Place]:
    """`[CLS] A [SEP] B [SEP]`, of which the second text and its end have the type 1.

    >>> bert({"cls": ["[CLS]", 1], "sep": ["[SEP]", 2]}, False)
    [Place(given=[1], type=0), Place(given='A', type=0), Place(given=[2], type=0)]
    """
    cls, sep = [options["cls"][1]], [options["sep"][1]]
    single = [Place(cls), Place("A"), Place(sep)]
    return [*single, Place("B", 1), Place(sep, 1)] if pair else single


def roberta(options: Options, pair: bool) -> list[Place]:
    """`<s> A </s> </s> B </s>`, all of the type 0.

    >>> len(roberta({"cls": ["<s>", 1], "sep": ["</s>", 2]}, True))
    6
    """
    cls, sep = [options["cls"][1]], [options["sep"][1]]
    single = [Place(cls), Place("A"), Place(sep)]
    return [*single, Place(sep), Place("B"), Place(sep)] if pair else single


TEMPLATES: Mapping[str, Callable[[Options, bool], list[Place]]] = {
    "bert": bert,
    "roberta": roberta,
    "template": template,
}


def around(
    ids: Sequence[int], second: Sequence[int] | None, kind: str, options: Options
) -> tuple[list[int], list[int]]:
    """The ids of a text, or of two, with what a step puts around them, and the type of each.

    >>> around([5], [6], "roberta", {"cls": ["<s>", 1], "sep": ["</s>", 2]})
    ([1, 5, 2, 2, 6, 2], [0, 0, 0, 0, 0, 0])
    """
    texts = {"A": ids, "B": second or []}
    all_ids: list[int] = []
    types: list[int] = []
    for place in TEMPLATES[kind](options, second is not None):
        found = texts[place.given] if isinstance(place.given, str) else place.given
        all_ids += found
        types += [place.type] * len(found)
    return all_ids, types


__dir__ = listing(__name__)
