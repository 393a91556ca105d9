"""What the core is told of a model's steps, flags and unknown characters; and which parts of a model are not run.

SentencePiece's byte-pair models have an engine of their own, whose steps are rows of `NORMALIZERS` and `DECODERS`. All
other steps are rows of the core's tables (`crates/core/src/steps/`), which refuse what they do not know by name. A model
without either is told nothing, and has nothing in its way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _core
from .._base.errors import ModelError
from .model import AddedToken, Model, Step, is_regex_split

__all__ = [
    "DECODERS",
    "NORMALIZERS",
    "character_options",
    "engine_of",
    "engine_stages",
    "refuse_what_is_not_executed",
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
    """The engine that runs a model.

    Raises:
        InvalidOption: A regex does not compile.
        ModelError: A part of the model is not run.
    """
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
