"""The steps that run beside splitters: what normalizers and decoders the core knows, and what it is told of them.

A kind of step is one row: its options, with the type or the values of each. Where a model has such steps, or scores, a
fallback or an unknown token, its texts are whole pieces of characters (`docs/spec.md`, "Characters").
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from ._errors import ModelError
from ._model import AddedToken, Model, Step

__all__ = ["DECODERS", "NORMALIZERS", "character_options", "is_run", "refused_characters"]

Options = Mapping[str, "type | tuple[str, ...]"]

NORMALIZERS: Mapping[str, Options] = {
    "sentencepiece": {
        "charsmap": str,  # the compiled table in base 64; "" for none
        "dummy": ("nowhere", "before", "after"),
        "escape": bool,
        "remove_extra": bool,
    }
}
DECODERS: Mapping[str, Options] = {"sentencepiece": {"strip": ("nothing", "once", "each"), "unknown": str}}


def of_characters(model: Model) -> bool:
    """Whether texts are whole pieces of characters."""
    more = (model.scores is not None, model.byte_fallback, model.unknown_id is not None)
    return any(more) or bool(model.normalizers or model.decoders)


def refused_characters(model: Model) -> list[tuple[str, bool]]:
    """The parts of such a model, and whether each is one that is not run."""
    whole = (model.kind, model.unit, model.merge_rule, model.whole_piece) == ("bpe", "char", "bytes", False)
    whole = whole and not model.splitters
    unless = "beside anything but byte-pair encoding of characters by their bytes, without splitters,"
    parts = [
        (f"byte_fallback {unless}", model.byte_fallback and not whole),
        (f"scores {unless}", model.scores is not None and not whole),
        (f"unknown_id {unless}", model.unknown_id is not None and not whole),
    ]
    for name, table in (("normalizers", NORMALIZERS), ("decoders", DECODERS)):
        steps: tuple[Step, ...] = getattr(model, name)
        parts += [(f"the step {step.kind!r} in {name}", not (whole and fits(step, table))) for step in steps]
        parts.append((f"a second step in {name}", len(steps) > 1))
    return parts


def fits(step: Step, table: Mapping[str, Options]) -> bool:
    """Whether a row of the table has exactly these options, with values that they may have."""
    row, options = table.get(step.kind), dict(step.options)
    if row is None or row.keys() != options.keys():
        return False
    return all(
        options[name] in may if isinstance(may, tuple) else type(options[name]) is may for name, may in row.items()
    )


def is_run(model: Model, token: AddedToken) -> bool:
    """Whether the flags of an added token are run: a symbol that is found in the normalized text."""
    plain = AddedToken(token.content, token.id, special=False, normalized=True)
    return token == plain and of_characters(model)


def character_options(model: Model) -> dict[str, object] | None:
    """What the core is told of a model whose texts are whole pieces of characters; None for any other."""
    if not of_characters(model):
        return None
    normalizer: dict[str, Any] = {"charsmap": "", "dummy": "nowhere", "escape": False, "remove_extra": False}
    for step in model.normalizers:
        normalizer = dict(step.options)
    try:
        charsmap = base64.b64decode(normalizer["charsmap"], validate=True)
    except binascii.Error as error:
        raise ModelError(f"the charsmap of the step 'sentencepiece' in normalizers is not base 64: {error}") from error
    return {
        **normalizer,
        "charsmap": charsmap or None,
        "scores": model.scores,
        "byte_fallback": model.byte_fallback,
        "unknown": model.unknown_id,
        "frozen": [(token.content, token.id) for token in model.added_tokens if token.normalized],
        "shown": next(((step["strip"], step["unknown"]) for step in model.decoders), None),
    }
