"""Post-processing: the ids that a model puts around the ids of a text, or of two.

A template says where the first text, the second one and special tokens are, and which type each has. Encoding leaves it
to the caller whether it is applied; texts never decide about it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._errors import ModelError
from ._model import ID_LIMIT, Model, Step

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PLAIN", "Piece", "Template", "template_of"]

# A template names a token again and again, and a token may have many ids: no published one puts more than a few.
MOST_IDS = 1 << 16


class Piece(NamedTuple):
    """What is at one place of a template: one of the texts ("A", "B"), or else ids; and the type that it has."""

    text: str
    ids: tuple[int, ...]
    type_id: int


class Template(NamedTuple):
    """What is around a text (`single`) and around two (`pair`), piece by piece."""

    single: tuple[Piece, ...]
    pair: tuple[Piece, ...]

    def apply(self, ids: Sequence[int], pair: Sequence[int] | None = None) -> tuple[list[int], list[int], list[bool]]:
        """The ids with what the template puts around them, the type of each, and whether the template put it there."""
        given: dict[str, Sequence[int]] = {"A": listed(ids), "B": () if pair is None else listed(pair)}
        all_ids: list[int] = []
        types: list[int] = []
        put: list[bool] = []
        for piece in self.single if pair is None else self.pair:
            more = given[piece.text] if piece.text else piece.ids
            all_ids += more
            types += [piece.type_id] * len(more)
            put += [not piece.text] * len(more)
        return all_ids, types, put

    def around(
        self, ids: NDArray[np.uint32], ends: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        """The same for many texts in one array."""
        starts = np.concatenate([np.zeros(1, np.uint64), ends[:-1]])
        bounds = list(zip(starts.tolist(), ends.tolist(), strict=True))
        parts: list[NDArray[np.uint32]] = []
        for start, end in bounds:
            for piece in self.single:
                parts.append(ids[start:end] if piece.text else np.array(piece.ids, np.uint32))
        per_text = [piece.text == "A" for piece in self.single]
        added = sum(len(piece.ids) for piece in self.single if not piece.text)
        lengths = np.diff(ends, prepend=np.uint64(0)) * np.uint64(sum(per_text)) + np.uint64(added)
        joined = np.concatenate(parts) if parts else np.empty(0, np.uint32)
        return joined.astype(np.uint32), np.cumsum(lengths, dtype=np.uint64)


def listed(ids: Sequence[int] | NDArray[np.integer[Any]]) -> Sequence[int]:
    """Ids that lists can be put together of: an array would be added to them."""
    return ids.tolist() if isinstance(ids, np.ndarray) else ids


PLAIN = Template((Piece("A", (), 0),), (Piece("A", (), 0), Piece("B", (), 1)))


def template(step: Step) -> Template:
    """That of a step that says it piece by piece."""
    tokens: Mapping[str, Any] = step["special_tokens"]

    def piece(name: str, special: bool, type_id: int) -> Piece:
        return Piece("", tuple(tokens[name][0]), type_id) if special else Piece(name, (), type_id)

    for each in (step["single"], step["pair"]):
        if (count := sum(len(tokens[name][0]) for name, special, _ in each if special)) > MOST_IDS:
            raise ValueError(f"it puts {count} ids around a text; at most {MOST_IDS} are allowed")
    return Template(tuple(piece(*each) for each in step["single"]), tuple(piece(*each) for each in step["pair"]))


def bert(step: Step) -> Template:
    """`[CLS] A [SEP] B [SEP]`."""
    cls, sep = step["cls"][1], step["sep"][1]
    single = (Piece("", (cls,), 0), Piece("A", (), 0), Piece("", (sep,), 0))
    return Template(single, (*single, Piece("B", (), 1), Piece("", (sep,), 1)))


def roberta(step: Step) -> Template:
    """`<s> A </s> </s> B </s>`, all of one type."""
    cls, sep = step["cls"][1], step["sep"][1]
    single = (Piece("", (cls,), 0), Piece("A", (), 0), Piece("", (sep,), 0))
    return Template(single, (*single, Piece("", (sep,), 0), Piece("B", (), 0), Piece("", (sep,), 0)))


def check_pieces(pieces: Sequence[Piece]) -> None:
    """Raises ValueError for what is neither a text nor ids."""
    for piece in pieces:
        if piece.text not in ("", "A", "B"):
            raise ValueError(f"{piece.text!r} is neither A nor B")
        for id in piece.ids:
            if type(id) is not int or not 0 <= id < ID_LIMIT:
                raise ValueError(f"{id!r} is not an id below {ID_LIMIT}")


# The kinds of steps that put ids around texts. Those beside them concern offsets, or batches.
TEMPLATES: Mapping[str, Callable[[Step], Template]] = {"bert": bert, "roberta": roberta, "template": template}
OTHERS = ("pad", "trim_offsets", "truncate")


def template_of(model: Model) -> Template | None:
    """What a model puts around texts; None for nothing.

    Raises:
        ModelError: A step of `post` is not known, or says something impossible, or there are two templates.
    """
    found = None
    for step in model.post:
        if step.kind in OTHERS:
            continue
        if step.kind not in TEMPLATES:
            raise ModelError(
                f"the step {step.kind!r} in post is not executed yet; the model can be loaded and saved, but not run"
            )
        if found is not None:
            raise ModelError("two steps in post put ids around texts, which is not executed yet")
        try:
            found = TEMPLATES[step.kind](step)
            check_pieces((*found.single, *found.pair))
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise ModelError(f"the step {step.kind!r} in post is not what it should be: {error!r}") from error
    return found
