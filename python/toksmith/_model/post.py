"""Post-processing: the ids that a model puts around the ids of a text, or of two.

Each step takes a list of parts, at first the texts, and returns another; the parts of the last one, joined, are the result.
Encoding leaves it to the caller whether the steps are applied; texts never decide about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._base.errors import ModelError
from .model import ID_LIMIT, Model, Step

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Piece", "Template", "template_of"]

# A template names a token again and again, and a token may have many ids: no published one puts more than a few.
MOST_IDS = 1 << 16


class Piece(NamedTuple):
    """What is at one place of a part: one of the texts ("A", "B"), or else ids; and the type that it has."""

    text: str
    ids: tuple[int, ...]
    type_id: int


Part = tuple[Piece, ...]


class Template(NamedTuple):
    """What is around a text (`single`) and around two (`pair`), piece by piece; None where the steps do not fit together."""

    single: Part | None
    pair: Part | None

    def apply(self, ids: Sequence[int], pair: Sequence[int] | None = None) -> tuple[list[int], list[int]]:
        """The ids with what the template puts around them, and the type of each."""
        given: dict[str, Sequence[int]] = {"A": listed(ids), "B": () if pair is None else listed(pair)}
        all_ids: list[int] = []
        types: list[int] = []
        for piece in self.pieces(pair is not None):
            more = given[piece.text] if piece.text else piece.ids
            all_ids += more
            types += [piece.type_id] * len(more)
        return all_ids, types

    def around(
        self, ids: NDArray[np.uint32], ends: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        """The same for many texts in one array."""
        single = self.pieces(False)
        starts = np.concatenate([np.zeros(1, np.uint64), ends[:-1]])
        bounds = list(zip(starts.tolist(), ends.tolist(), strict=True))
        parts: list[NDArray[np.uint32]] = []
        for start, end in bounds:
            for piece in single:
                parts.append(ids[start:end] if piece.text else np.array(piece.ids, np.uint32))
        per_text = [piece.text == "A" for piece in single]
        added = sum(len(piece.ids) for piece in single if not piece.text)
        lengths = np.diff(ends, prepend=np.uint64(0)) * np.uint64(sum(per_text)) + np.uint64(added)
        joined = np.concatenate(parts) if parts else np.empty(0, np.uint32)
        return joined.astype(np.uint32), np.cumsum(lengths, dtype=np.uint64)

    def pieces(self, two: bool) -> Part:
        """Those around one text, or around two."""
        found = self.pair if two else self.single
        if found is None:
            raise ModelError(
                f"the steps in post do not fit together for {'two texts' if two else 'one text'}: a template takes one part "
                "or two, and names B only where there are two; encode without special tokens, or correct the steps"
            )
        return found


def listed(ids: Sequence[int] | NDArray[np.integer[Any]]) -> Sequence[int]:
    """Ids that lists can be put together of: an array would be added to them."""
    return ids.tolist() if isinstance(ids, np.ndarray) else ids


TEXTS: tuple[Part, Part] = ((Piece("A", (), 0),), (Piece("B", (), 1),))


class Unfit(Exception):
    """A step gets parts that it has no template for."""


def with_type(part: Part, type_id: int) -> Part:
    """A part whose pieces all have one type."""
    return tuple(piece._replace(type_id=type_id) for piece in part)


def template(step: Step, parts: Sequence[Part]) -> Iterator[Part]:
    """The parts that the step names, and tokens, which are parts of their own from now on."""
    tokens = {name: tuple(ids) for name, (ids, _) in step["special_tokens"].items()}
    if len(parts) not in (1, 2):
        raise Unfit
    for name, special, type_id in step["single" if len(parts) == 1 else "pair"]:
        if special:
            yield (Piece("", tokens[name], type_id),)
        elif (place := "AB".index(name)) < len(parts):
            yield with_type(parts[place], type_id)
        else:
            raise Unfit


def bert(step: Step, parts: Sequence[Part]) -> Iterator[Part]:
    """`[CLS] A [SEP] B [SEP]`: every part behind the first one ends in a token of the type 1."""
    cls, sep = (step["cls"][1],), (step["sep"][1],)
    for place, part in enumerate(parts):
        yield (*part, Piece("", sep, 1)) if place else (Piece("", cls, 0), *part, Piece("", sep, 0))


def roberta(step: Step, parts: Sequence[Part]) -> Iterator[Part]:
    """`<s> A </s> </s> B </s>`, all of one type."""
    cls, sep = Piece("", (step["cls"][1],), 0), Piece("", (step["sep"][1],), 0)
    for place, part in enumerate(parts):
        yield (sep if place else cls, *with_type(part, 0), sep)


def check_pieces(pieces: Sequence[Piece]) -> None:
    """Raises ValueError for what is neither a text nor ids."""
    for piece in pieces:
        if piece.text not in ("", "A", "B"):
            raise ValueError(f"{piece.text!r} is neither A nor B")
        for id in piece.ids:
            if type(id) is not int or not 0 <= id < ID_LIMIT:
                raise ValueError(f"{id!r} is not an id below {ID_LIMIT}")


# The kinds of steps that put ids around texts. Those beside them concern offsets, or batches.
TEMPLATES: Mapping[str, Callable[[Step, Sequence[Part]], Iterator[Part]]] = {
    "bert": bert,
    "roberta": roberta,
    "template": template,
}
OTHERS = ("pad", "trim_offsets", "truncate")


def template_of(model: Model) -> Template:
    """What a model puts around texts.

    Raises:
        ModelError: A step of `post` is not known, or says something impossible.
    """
    for step in model.post:
        if step.kind not in (*TEMPLATES, *OTHERS):
            raise ModelError(
                f"the step {step.kind!r} in post is not executed yet; the model can be loaded and saved, but not run"
            )
    steps = [step for step in model.post if step.kind in TEMPLATES]
    return Template(apply_steps(steps, TEXTS[:1]), apply_steps(steps, TEXTS))


def apply_steps(steps: Sequence[Step], parts: Sequence[Part]) -> Part | None:
    """All pieces behind the last step; None where a step cannot take what the one before it returns."""
    work = 0
    for step in steps:
        found = []
        try:
            for part in TEMPLATES[step.kind](step, parts):
                check_pieces(part)
                found.append(part)
                work += sum(max(len(piece.ids), 1) for piece in part)
                if work > MOST_IDS:
                    raise ValueError(f"it puts more than {MOST_IDS} ids around a text")
        except Unfit:
            return None
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise ModelError(f"the step {step.kind!r} in post is not what it should be: {error!r}") from error
        parts = found
    return tuple(piece for part in parts for piece in part)
