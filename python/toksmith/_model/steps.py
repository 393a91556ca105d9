"""Passes a model's steps to the core, refuses parts that it cannot run, and adds the template's ids around texts.

SentencePiece's models have a separate engine, whose steps are rows of `NORMALIZERS` and `DECODERS`. All other steps are
rows of the core's tables (`crates/core/src/steps/`), which refuse unknown steps by name. For a model without such steps
the core gets no options and takes its direct path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _core
from .._base import lazy_numpy as np
from ..errors import ModelError
from .model import ID_LIMIT, AddedToken, Model, Step, is_regex_split

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    "denormalizer": REWRITING,  # runs after "sentencepiece"
}


def is_whole_text(model: Model) -> bool:
    """Whether each text is one piece of characters, as in SentencePiece."""
    if is_covered(model):
        return False
    steps = any(step.kind in NORMALIZERS or step.kind in DECODERS for step in (*model.normalizers, *model.decoders))
    features = (model.scores is not None, model.byte_fallback, model.unknown_id is not None)
    return steps or (any(features) and not has_symbols(model))


def has_symbols(model: Model) -> bool:
    """Whether pieces of characters merge by a list of pairs, so that symbols can be unknown or carry prefix and suffix."""
    return (model.kind, model.unit, model.merge_rule) == ("bpe", "char", "pair") and model.scores is None


def is_covered(model: Model) -> bool:
    """Whether tokens cover pieces without merging."""
    whole_text = any(step.kind == "sentencepiece" for step in model.normalizers)
    return model.kind in ("chars", "wordpiece") or (model.kind in ("unigram", "words") and not whole_text)


def unsupported_parts(model: Model) -> list[tuple[str, bool]]:
    """The parts of a model that some models cannot run, each with whether this model uses it without support."""
    symbols = has_symbols(model)
    covered = is_covered(model)
    prefixed = model.kind == "wordpiece"
    marks = {"continuing_subword_prefix": prefixed, "end_of_word_suffix": False, "fuse_unknown": False}
    parts = [
        (
            f"{name} without characters that merge by pairs",
            bool(getattr(model, name)) and not symbols and not run,
        )
        for name, run in marks.items()
    ]
    scored = model.kind == "unigram"
    incomplete = (
        "kind 'unigram' without a finite score for each token, or with byte_fallback and a byte without a token,"
    )
    parts += [
        ("max_piece_chars without WordPiece", model.max_piece_chars is not None and not prefixed),
        (incomplete, covered and scored and model.cover() is None),
        (f"scores with kind {model.kind!r}", covered and not scored and model.scores is not None),
        (f"byte_fallback with kind {model.kind!r}", covered and not scored and model.byte_fallback),
    ]
    if not is_whole_text(model):
        return [*parts, ("unused_ids outside SentencePiece's models", bool(model.unused_ids))]
    is_whole = (model.kind, model.unit, model.merge_rule, model.whole_piece) == ("bpe", "char", "bytes", False)
    single = model.scores is not None and model.scores.dtype == np.float32
    is_scored = model.unit == "char" and (model.kind == "words" or (model.kind == "unigram" and single))
    is_whole = (is_whole or is_scored) and not model.splitters
    unless = "outside byte-pair encoding of characters by their bytes, unigram and words, without splitters,"
    parts += [
        (f"byte_fallback {unless}", model.byte_fallback and not is_whole),
        (f"scores {unless}", model.scores is not None and not is_whole),
        (f"unknown_id {unless}", model.unknown_id is not None and not is_whole),
    ]
    for name, table in (("normalizers", NORMALIZERS), ("decoders", DECODERS)):
        steps: tuple[Step, ...] = getattr(model, name)
        parts += [(f"the step {step.kind!r} in {name}", not (is_whole and step_fits(step, table))) for step in steps]
        two = [step.kind for step in steps] == ["sentencepiece", "denormalizer"]
        parts.append((f"a second step in {name}", len(steps) > 1 and not two))
    return parts


def step_fits(step: Step, table: Mapping[str, Options]) -> bool:
    """Whether the step's kind is in the table, and its options are exactly the row's, with allowed values."""
    row, options = table.get(step.kind), dict(step.options)
    if row is None or row.keys() != options.keys():
        return False
    return all(
        options[name] in rule if isinstance(rule, tuple) else type(options[name]) is rule for name, rule in row.items()
    )


def character_options(model: Model) -> dict[str, object] | None:
    """The core's options for a model whose texts are whole pieces of characters; None for other models."""
    if not is_whole_text(model):
        return None
    usual = {"charsmap": "", "dummy": "nowhere", "escape": False, "remove_extra": False}
    decoder_steps = [step for step in model.decoders if step.kind == "sentencepiece"]
    after = [step for step in model.decoders if step.kind == "denormalizer"]
    return {
        "normalizer": rewriting_options(next((dict(step.options) for step in model.normalizers), usual), "normalizers"),
        "scores": None if model.scores is None else model.scores.astype(np.float64),
        "kind": model.kind,
        "unused": [*model.unused_ids],
        "byte_fallback": model.byte_fallback,
        "unknown": model.unknown_id,
        "frozen": [(token.content, token.id) for token in model.added_tokens if token.normalized],
        "shown": next(((step["strip"], step["unknown"]) for step in decoder_steps), None),
        "denormalizer": next((rewriting_options(dict(step.options), "decoders") for step in after), None),
    }


def rewriting_options(options: dict[str, Any], field: str) -> dict[str, Any]:
    """The options of a step that rewrites texts, with its table as bytes."""
    import base64  # imported here, so that models of bytes load faster

    try:
        charsmap = base64.b64decode(options["charsmap"], validate=True)
    except ValueError as error:
        raise ModelError(f"the charsmap of the step 'sentencepiece' in {field} is not base 64: {error}") from error
    return {**options, "charsmap": charsmap or None}


def engine_stages(model: Model) -> dict[str, object] | None:
    """The core's steps, flags and symbols of any other model; None if the model has none."""
    if is_whole_text(model):
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
        "normalizers": step_specs(model.normalizers, "normalizers"),
        "splitters": step_specs(model.splitters, "splitters"),
        "decoders": step_specs(model.decoders, "decoders"),
        "flags": flags,
        "symbols": symbols,
    }


def engine_of(model: Model) -> _core.Engine:
    """The core's engine for a model; raises ModelError for a part that it cannot run."""
    refuse_unsupported(model)
    added = [(token.content, token.id, token.special) for token in model.added_tokens]
    stages = engine_stages(model)
    patterns = [] if stages else [step["pattern"] for step in model.splitters]
    return _core.Engine(model.vocab, patterns, added, character_options(model), stages)


def step_specs(steps: tuple[Step, ...], field: str) -> list[tuple[str, list[tuple[str, Any]]]]:
    """The steps as (kind, options) for the core; raises ModelError for values that the core does not accept."""
    for step in steps:
        for name, value in step.options:
            if not (value is None or isinstance(value, (str, bool)) or (isinstance(value, int) and abs(value) < 2**63)):
                raise ModelError(
                    f"the option {name!r} of the step {step.kind!r} in {field} is {value!r}, which no step accepts"
                )
    return [(step.kind, list(step.options)) for step in steps]


def refuse_unsupported(model: Model) -> None:
    """Raises ModelError naming the first part of the model that this version can hold but not run."""
    parts = unsupported_parts(model)
    for token in model.added_tokens if is_whole_text(model) else ():
        symbol = AddedToken(token.content, token.id, special=False, normalized=True)  # user-defined
        flags = [flag for flag in ("lstrip", "rstrip", "single_word", "normalized") if getattr(token, flag)]
        parts += [(f"{flag} of the added token {token.content!r}", token != symbol) for flag in flags]
    for part, is_refused in parts:
        if is_refused:
            raise ModelError(f"{part} is not executed yet; the model can be loaded and saved, but not run")


# Templates: the ids around one text or a pair of texts. Each step of `post` turns a list of parts (at first the texts) into
# another list; the joined parts of the last step are the result. The caller of encoding decides whether the steps apply; texts
# never decide it.

# The most ids that templates add to a text; published templates add only a few. A template can repeat a token of many ids.
MOST_IDS = 1 << 16


class Piece(NamedTuple):
    """One element of a part: a text ("A" or "B"; "" for ids), the ids, and the type id."""

    text: str
    ids: tuple[int, ...]
    type_id: int


Part = tuple[Piece, ...]


class Template(NamedTuple):
    """The pieces of the result for one text (`single`) and for two (`pair`); None if the steps do not fit together."""

    single: Part | None
    pair: Part | None

    def apply(self, ids: Sequence[int], pair: Sequence[int] | None = None) -> tuple[list[int], list[int]]:
        """The ids with the template's ids around them, and the type id of each."""
        ids_of_text: dict[str, Sequence[int]] = {"A": as_list(ids), "B": () if pair is None else as_list(pair)}
        all_ids: list[int] = []
        types: list[int] = []
        for piece in self.pieces(pair is not None):
            new_ids = ids_of_text[piece.text] if piece.text else piece.ids
            all_ids += new_ids
            types += [piece.type_id] * len(new_ids)
        return all_ids, types

    def around(
        self, ids: NDArray[np.uint32], ends: NDArray[np.uint64]
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]:
        """The ids of many texts in one array, each with the template's ids around it, and the end of each text."""
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
        """The pieces for one text, or for two; raises ModelError if the steps do not fit together."""
        part = self.pair if two else self.single
        if part is None:
            raise ModelError(
                f"the steps in post do not fit together for {'two texts' if two else 'one text'}: a template takes one part "
                "or two, and names B only where there are two; encode without special tokens, or correct the steps"
            )
        return part


def as_list(ids: Sequence[int] | NDArray[np.integer[Any]]) -> Sequence[int]:
    """The ids as a list: `+=` of an array to a list of ids would add numbers."""
    return ids.tolist() if hasattr(ids, "tolist") else ids


TEXTS: tuple[Part, Part] = ((Piece("A", (), 0),), (Piece("B", (), 1),))


class Unfit(Exception):
    """A step has no template for the number of parts, or names a missing part."""


def with_type(part: Part, type_id: int) -> Part:
    """The part with one type id for all pieces."""
    return tuple(piece._replace(type_id=type_id) for piece in part)


def apply_template(step: Step, parts: Sequence[Part]) -> Iterator[Part]:
    """The parts in the order of the template; each token becomes a separate part."""
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


def apply_bert(step: Step, parts: Sequence[Part]) -> Iterator[Part]:
    """`[CLS] A [SEP] B [SEP]`: each part after the first ends in a token of the type id 1."""
    cls, sep = (step["cls"][1],), (step["sep"][1],)
    for place, part in enumerate(parts):
        yield (*part, Piece("", sep, 1)) if place else (Piece("", cls, 0), *part, Piece("", sep, 0))


def apply_roberta(step: Step, parts: Sequence[Part]) -> Iterator[Part]:
    """`<s> A </s> </s> B </s>`, all with the type id 0."""
    cls, sep = Piece("", (step["cls"][1],), 0), Piece("", (step["sep"][1],), 0)
    for place, part in enumerate(parts):
        yield (sep if place else cls, *with_type(part, 0), sep)


def check_pieces(pieces: Sequence[Piece]) -> None:
    """Raises ValueError for a text other than A and B, or for an invalid id."""
    for piece in pieces:
        if piece.text not in ("", "A", "B"):
            raise ValueError(f"{piece.text!r} is neither A nor B")
        for id in piece.ids:
            if type(id) is not int or not 0 <= id < ID_LIMIT:
                raise ValueError(f"{id!r} is not an id below {ID_LIMIT}")


# The kinds of steps that add ids around texts. `OTHERS` concern offsets or batches.
TEMPLATES: Mapping[str, Callable[[Step, Sequence[Part]], Iterator[Part]]] = {
    "bert": apply_bert,
    "roberta": apply_roberta,
    "template": apply_template,
}
OTHERS = ("pad", "trim_offsets", "truncate")


def template_of(model: Model) -> Template:
    """The template of a model; raises ModelError for steps that are not executed."""
    for step in model.post:
        if step.kind not in (*TEMPLATES, *OTHERS):
            raise ModelError(
                f"the step {step.kind!r} in post is not executed yet; the model can be loaded and saved, but not run"
            )
    steps = [step for step in model.post if step.kind in TEMPLATES]
    return Template(apply_steps(steps, TEXTS[:1]), apply_steps(steps, TEXTS))


def apply_steps(steps: Sequence[Step], parts: Sequence[Part]) -> Part | None:
    """All pieces after the last step; None if a step cannot take the parts of the previous step."""
    work = 0
    for step in steps:
        new_parts = []
        try:
            for part in TEMPLATES[step.kind](step, parts):
                check_pieces(part)
                new_parts.append(part)
                work += sum(max(len(piece.ids), 1) for piece in part)
                if work > MOST_IDS:
                    raise ValueError(f"it adds more than {MOST_IDS} ids around a text")
        except Unfit:
            return None
        except (KeyError, TypeError, IndexError, ValueError) as error:
            raise ModelError(f"the step {step.kind!r} in post is not what it should be: {error!r}") from error
        parts = new_parts
    return tuple(piece for part in parts for piece in part)
