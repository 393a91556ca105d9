"""What the core is told of a model's steps, flags and unknown characters; which parts of a model are not run; and the ids
that a model puts around texts.

SentencePiece's byte-pair models have an engine of their own, whose steps are rows of `NORMALIZERS` and `DECODERS`. All
other steps are rows of the core's tables (`crates/core/src/steps/`), which refuse what they do not know by name. A model
without either is told nothing, and has nothing in its way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import _core
from .._base.errors import ModelError
from .model import ID_LIMIT, AddedToken, Model, Step, is_regex_split

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "DECODERS",
    "NORMALIZERS",
    "Piece",
    "Template",
    "character_options",
    "engine_of",
    "engine_stages",
    "refuse_what_is_not_executed",
    "template_of",
]

Options = Mapping[str, "type | tuple[str, ...]"]

REWRITING: Options = {
    "charsmap": str,  # the compiled table in base 64; "" for none
    "dummy": ("nowhere", "before", "after"),
    "escape": bool,
    "remove_extra": bool,
}
NORMALIZERS: Mapping[str, Options] = {"sentencepiece": REWRITING}
DECODERS: Mapping[str, Options] = {
    "sentencepiece": {"strip": ("nothing", "once", "each"), "unknown": str},
    "denormalizer": REWRITING,  # after the other
}


def of_characters(model: Model) -> bool:
    """Whether texts are whole pieces of characters, as SentencePiece has them."""
    if is_covered(model):
        return False
    steps = any(step.kind in NORMALIZERS or step.kind in DECODERS for step in (*model.normalizers, *model.decoders))
    more = (model.scores is not None, model.byte_fallback, model.unknown_id is not None)
    return steps or (any(more) and not has_symbols(model))


def has_symbols(model: Model) -> bool:
    """Whether pieces of characters merge by a list of pairs, so that unknown characters and marks are among them."""
    return (model.kind, model.unit, model.merge_rule) == ("bpe", "char", "pair") and model.scores is None


def is_covered(model: Model) -> bool:
    """Whether tokens cover pieces as they are, without merging."""
    whole_text = any(step.kind == "sentencepiece" for step in model.normalizers)
    return model.kind in ("chars", "wordpiece") or (model.kind in ("unigram", "words") and not whole_text)


def refused_characters(model: Model) -> list[tuple[str, bool]]:
    """The parts of such a model, and whether each is one that is not run."""
    symbols = has_symbols(model)
    covered = is_covered(model)
    prefixed = model.kind == "wordpiece"
    marks = {"continuing_subword_prefix": prefixed, "end_of_word_suffix": False, "fuse_unknown": False}
    parts = [
        (
            f"{name} beside anything but characters that merge by pairs",
            bool(getattr(model, name)) and not symbols and not run,
        )
        for name, run in marks.items()
    ]
    scored = model.kind == "unigram"
    incomplete = (
        "kind 'unigram' without a finite score for each token, or with byte_fallback and a byte without a token,"
    )
    parts += [
        ("max_piece_chars beside anything but WordPiece", model.max_piece_chars is not None and not prefixed),
        (incomplete, covered and scored and model.cover() is None),
        (f"scores beside kind {model.kind!r}", covered and not scored and model.scores is not None),
        (f"byte_fallback beside kind {model.kind!r}", covered and not scored and model.byte_fallback),
    ]
    if not of_characters(model):
        return [*parts, ("unused_ids beside anything but SentencePiece's models", bool(model.unused_ids))]
    whole = (model.kind, model.unit, model.merge_rule, model.whole_piece) == ("bpe", "char", "bytes", False)
    whole = (whole or is_whole_unigram(model) or is_of_words(model)) and not model.splitters
    unless = (
        "beside anything but byte-pair encoding of characters by their bytes, unigram and words, without splitters,"
    )
    parts += [
        (f"byte_fallback {unless}", model.byte_fallback and not whole),
        (f"scores {unless}", model.scores is not None and not whole),
        (f"unknown_id {unless}", model.unknown_id is not None and not whole),
    ]
    for name, table in (("normalizers", NORMALIZERS), ("decoders", DECODERS)):
        steps: tuple[Step, ...] = getattr(model, name)
        parts += [(f"the step {step.kind!r} in {name}", not (whole and fits(step, table))) for step in steps]
        two = [step.kind for step in steps] == ["sentencepiece", "denormalizer"]
        parts.append((f"a second step in {name}", len(steps) > 1 and not two))
    return parts


def is_of_words(model: Model) -> bool:
    """Whether the model is one of SentencePiece's models of words."""
    return model.kind == "words" and model.unit == "char" and not is_covered(model)


def is_whole_unigram(model: Model) -> bool:
    """Whether the model is one of SentencePiece's unigram models."""
    single = model.scores is not None and model.scores.dtype == np.float32
    return model.kind == "unigram" and model.unit == "char" and single and not is_covered(model)


def fits(step: Step, table: Mapping[str, Options]) -> bool:
    """Whether a row of the table has exactly these options, with values that they may have."""
    row, options = table.get(step.kind), dict(step.options)
    if row is None or row.keys() != options.keys():
        return False
    return all(
        options[name] in may if isinstance(may, tuple) else type(options[name]) is may for name, may in row.items()
    )


def is_run(model: Model, token: AddedToken) -> bool:
    """Whether the flags of an added token are run: all are, but SentencePiece's models know only symbols that are found
    in the normalized text."""
    plain = AddedToken(token.content, token.id, special=False, normalized=True)
    return token == plain or not of_characters(model)


def character_options(model: Model) -> dict[str, object] | None:
    """What the core is told of a model whose texts are whole pieces of characters; None for any other."""
    if not of_characters(model):
        return None
    usual = {"charsmap": "", "dummy": "nowhere", "escape": False, "remove_extra": False}
    shown = [step for step in model.decoders if step.kind == "sentencepiece"]
    after = [step for step in model.decoders if step.kind == "denormalizer"]
    return {
        "normalizer": rewriting(next((dict(step.options) for step in model.normalizers), usual), "normalizers"),
        "scores": None if model.scores is None else model.scores.astype(np.float64),
        "kind": model.kind,
        "unused": [*model.unused_ids],
        "byte_fallback": model.byte_fallback,
        "unknown": model.unknown_id,
        "frozen": [(token.content, token.id) for token in model.added_tokens if token.normalized],
        "shown": next(((step["strip"], step["unknown"]) for step in shown), None),
        "denormalizer": next((rewriting(dict(step.options), "decoders") for step in after), None),
    }


def rewriting(options: dict[str, Any], field: str) -> dict[str, Any]:
    """The options of a step that rewrites texts, with its table as bytes."""
    import base64  # not above: models of bytes load sooner without it

    try:
        charsmap = base64.b64decode(options["charsmap"], validate=True)
    except ValueError as error:
        raise ModelError(f"the charsmap of the step 'sentencepiece' in {field} is not base 64: {error}") from error
    return {**options, "charsmap": charsmap or None}


def engine_stages(model: Model) -> dict[str, object] | None:
    """What the core is told of a model's other steps, flags and symbols; None where there is nothing to tell."""
    if of_characters(model):
        return None
    flags = {
        token.content: (token.lstrip, token.rstrip, token.single_word, token.normalized)
        for token in model.added_tokens
        if token.lstrip or token.rstrip or token.single_word or token.normalized
    }
    marks = (model.continuing_subword_prefix, model.end_of_word_suffix)
    symbols = None
    if has_symbols(model) and (any(marks) or model.byte_fallback or model.unknown_id is not None):
        symbols = (*marks, model.unknown_id, model.fuse_unknown, model.byte_fallback, False)
    splits = not all(map(is_regex_split, model.splitters))
    if not (flags or symbols or splits or model.normalizers or model.decoders):
        return None
    return {
        "normalizers": specs(model.normalizers, "normalizers"),
        "splitters": specs(model.splitters, "splitters"),
        "decoders": specs(model.decoders, "decoders"),
        "flags": flags,
        "symbols": symbols,
    }


def engine_of(model: Model) -> _core.Engine:
    """The engine that runs a model."""
    refuse_what_is_not_executed(model)
    added = [(token.content, token.id, token.special) for token in model.added_tokens]
    stages = engine_stages(model)
    patterns = [] if stages else [step["pattern"] for step in model.splitters]
    return _core.Engine(model.vocab, patterns, added, character_options(model), stages)


def specs(steps: tuple[Step, ...], field: str) -> list[tuple[str, list[tuple[str, Any]]]]:
    """The steps as the core takes them."""
    for step in steps:
        for name, value in step.options:
            if not (value is None or isinstance(value, (str, bool)) or (isinstance(value, int) and abs(value) < 2**63)):
                raise ModelError(
                    f"the option {name!r} of the step {step.kind!r} in {field} is {value!r}, which none takes"
                )
    return [(step.kind, list(step.options)) for step in steps]


def refuse_what_is_not_executed(model: Model) -> None:
    """Raises ModelError naming the first part of the model that this version can hold but not run."""
    parts = refused_characters(model)
    for token in model.added_tokens:
        flags = [flag for flag in ("lstrip", "rstrip", "single_word", "normalized") if getattr(token, flag)]
        parts += [(f"{flag} of the added token {token.content!r}", not is_run(model, token)) for flag in flags]
    for part, refused in parts:
        if refused:
            raise ModelError(f"{part} is not executed yet; the model can be loaded and saved, but not run")


# What a model puts around the ids of a text, or of two. Each step of `post` takes a list of parts, at first the texts, and
# returns another; the parts of the last one, joined, are the result. Encoding leaves it to the caller whether the steps are
# applied; texts never decide about it.

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
    """What a model puts around texts."""
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
