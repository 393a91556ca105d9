"""Converts SentencePiece's models to the steps of HF's tokenizer.json, and names the texts for which HF then differs.

Scored pieces become a list of merges (`scored_merges.py`). The normalizer becomes up to six steps, and the decoder up to
four. HF differs in four fields, each on texts that the refusal names; `allow_loss` accepts them by field:

- `scores`: HF adds the scores of a unigram model in double precision; a list of merges cannot always follow tied scores.
- `normalizers`: HF applies the table of characters by grapheme clusters and takes the shortest key.
- `decoders`: HF leaves out an unknown token, where SentencePiece shows a text.
- `added_tokens`: in HF, a text between two user-defined symbols that equals a token is that token.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from .._base import lazy_numpy as np
from .._model.model import BYTE_TOKENS, Model, Step, TokenTable
from ..errors import CannotRepresent
from .hf_steps import make_step
from .scored_merges import merge_states, scored_merges
from .sentencepiece import USER_DEFINED, check_kind, piece_rows, single_step

FORMAT = "tokenizer_json"
NAMES = {"normalizer"}  # metadata that only name the steps, so that dropping them loses nothing
NORMALIZER = {"charsmap", "dummy", "escape", "remove_extra"}
DECODER = {"strip", "unknown"}
BLOCK = "▁"
FAR = 10  # the score of a token that no text must become is the lowest score times this


def refuse_loss(losses: Collection[str], field: str, problem: str) -> None:
    """Raises CannotRepresent unless the caller allows the loss of the field."""
    if field not in losses:
        way = f"the .model file gives SentencePiece's ids, and allow_loss=[{field!r}] writes the rest"
        raise CannotRepresent(FORMAT, field, f"{problem}; {way}")


def is_sentencepiece(model: Model) -> bool:
    """Whether the model's unit is the character and one of its steps is SentencePiece's."""
    return model.unit == "char" and any(each.kind == "sentencepiece" for each in (*model.normalizers, *model.decoders))


def to_hf_steps(model: Model, losses: Collection[str]) -> Model:
    """The model in HF's steps; it gives the same ids, except for allowed losses."""
    check_kind(model, FORMAT)
    normalizer, decoder = single_step(model, "normalizers", FORMAT), single_step(model, "decoders", FORMAT)
    for field, spec, options in (("normalizers", normalizer, NORMALIZER), ("decoders", decoder, DECODER)):
        if dict(spec.options).keys() != options:
            raise CannotRepresent(FORMAT, field, f"{spec} has other options than {', '.join(sorted(options))}")
    rows = piece_rows(model, FORMAT)
    symbols = sorted(
        (content for content, kind, _ in rows if kind == USER_DEFINED), key=lambda text: (-len(text), text)
    )
    if any(" " in symbol for symbol in symbols):
        refuse_loss(
            losses, "added_tokens", "HF rewrites spaces before it looks for user-defined symbols, and one has a space"
        )
    added = [token for token in model.added_tokens if token.special]
    for token in added:
        if len(token.content) == 1:
            problem = f"HF takes the character {token.content!r} of a text for the special token of this content"
            refuse_loss(losses, "added_tokens", problem)
    fields = merge_fields(model, symbols, losses) if model.kind == "bpe" else unigram_fields(model, rows, losses)
    return dataclasses.replace(
        model,
        tokens=TokenTable.of([content.encode() for content, _, _ in rows]),
        ids=np.arange(len(rows), dtype=np.uint32),
        normalizers=(*hf_normalizers(normalizer, losses),),
        decoders=(*hf_decoders(model, decoder, normalizer, losses),),
        added_tokens=(*added,),
        metadata={name: value for name, value in model.metadata.items() if name not in NAMES},
        **fields,
    )


def merge_fields(model: Model, symbols: list[str], losses: Collection[str]) -> dict[str, Any]:
    """The fields that replace scores by a list of merges."""
    scores = normal_scores(model)
    listing = scored_merges(scores)
    if listing.problem:
        text = f", as in the text {listing.witness!r}" if listing.witness else ""
        refuse_loss(
            losses, "scores", f"HF merges by a list of pairs, which cannot follow these scores: {listing.problem}{text}"
        )
    if symbols:
        example = "" if not (unreached := next(unreached_pieces(scores), "")) else f", as {unreached!r} would be"
        problem = (
            "HF keeps a user-defined symbol whole only by looking up whole pieces of text, so a text between two symbols "
            f"that is exactly a token is this token, though merging would not make it{example}"
        )
        refuse_loss(losses, "added_tokens", problem)
    ids = dict(zip(model.tokens, model.ids.tolist(), strict=True))
    rows = [[ids[part.encode()] for part in (left, right, left + right)] for left, right in listing.pairs]
    regex = "|".join(map(escape_regex, symbols))
    options = {"dialect": "onig", "behavior": "isolated", "invert": False}
    return {
        "merge_rule": "pair",
        "merges": np.array(rows, np.uint32).reshape(-1, 3),
        "scores": None,
        "whole_piece": bool(symbols),
        "splitters": (make_step("regex", pattern=regex, **options),) if symbols else (),
        "fuse_unknown": True,
    }


def escape_regex(symbol: str) -> str:
    """An Oniguruma regex that matches exactly this text."""
    return re.sub(r"([^\w▁<>])", lambda match: f"\\x{{{ord(match[1]):X}}}", symbol)


def unreached_pieces(scores: Mapping[str, float]) -> Iterator[str]:
    """The pieces that merging their own characters does not make."""
    for piece in scores:
        if len(piece) > 1 and [*merge_states(piece, scores)][-1] != [piece]:
            yield piece


def normal_scores(model: Model) -> dict[str, float]:
    """The scores of the ordinary pieces, without the byte pieces."""
    assert model.scores is not None  # `check_kind` refuses a model without scores
    scores = zip(model.tokens, model.scores.tolist(), strict=True)
    excluded = BYTE_TOKENS if model.byte_fallback else {}
    return {token.decode(): score for token, score in scores if token not in excluded}


def unigram_fields(model: Model, rows: list[tuple[str, int, float]], losses: Collection[str]) -> dict[str, Any]:
    """The scores of a unigram model, where user-defined symbols are preferred tokens, as in SentencePiece."""
    problem = (
        "HF adds scores in double precision, SentencePiece in single, so a text that can be cut in two ways with nearly the "
        "same sum can get other ids, and so can a text that spells a byte token or a special token with an "
        "unknown character"
    )
    refuse_loss(losses, "scores", problem)
    normal = normal_scores(model)
    lowest = min(normal.values(), default=0.0)
    # If a character of a token is not a token itself, the score of unknown characters decides if the token wins. That score
    # follows from the lowest score, which must then stay.
    all_chars_known = all(char in normal for piece in normal for char in piece)
    never = FAR * min(lowest, -1.0) if all_chars_known else lowest
    scores = [  # docs/spec.md defines the score of a user-defined symbol
        0.1 * (len(content.encode()) - 1) if kind == USER_DEFINED else normal.get(content, never)
        for content, kind, _ in rows
    ]
    return {"scores": np.array(scores, np.float64)}


def hf_normalizers(spec: Step, losses: Collection[str]) -> Iterator[Step]:
    if spec["dummy"] == "after":
        problem = "the format has no step that puts a space after every text, as treat_whitespace_as_suffix does"
        raise CannotRepresent(FORMAT, "normalizers", f"{problem}; save the .model file")
    mark = BLOCK if spec["escape"] else " "
    if spec["charsmap"]:
        problem = (
            "HF looks up grapheme clusters of up to 5 bytes in the table of the normalizer, and takes the shortest key, where "
            "SentencePiece takes the longest key at each character; texts with combining marks, or with jamo, can get other "
            "ids, and so can a text that the table removes completely"
        )
        refuse_loss(losses, "normalizers", problem)
        yield make_step("precompiled", charsmap=spec["charsmap"])
    if spec["remove_extra"]:
        yield make_step("replace", pattern=r"\A +", dialect="onig", content="")
        yield make_step("replace", pattern=r" {2,}", dialect="onig", content=" ")
    if spec["dummy"] == "before":
        yield make_step("prepend", prepend=mark)
    if spec["escape"]:
        yield make_step("replace", pattern=" ", dialect="literal", content=BLOCK)
    if spec["remove_extra"]:
        yield make_step("replace", pattern=rf"{mark}+\z", dialect="onig", content="")


def hf_decoders(model: Model, decoder: Step, normalizer: Step, losses: Collection[str]) -> Iterator[Step]:
    if not model.byte_fallback:
        difference = f"SentencePiece shows an unknown token as {decoder['unknown']!r}"
        refuse_loss(
            losses, "decoders", f"{difference}, and HF leaves it out of the text as it does every special token"
        )
    if decoder["strip"] == "each":
        problem = (
            f"HF removes one space before a decoded text, where SentencePiece removes that of each leading {BLOCK!r}"
        )
        refuse_loss(losses, "decoders", f"{problem}; the texts of ids whose first tokens are {BLOCK!r} differ")
    if not normalizer["escape"]:
        refuse_loss(
            losses, "decoders", f"HF has no step that removes the {BLOCK!r} but keeps the space before a decoded text"
        )
    yield make_step("replace", pattern=BLOCK, dialect="literal", content=" ")
    if model.byte_fallback:
        yield make_step("byte_fallback")
    yield make_step("fuse")
    if decoder["strip"] != "nothing" and normalizer["escape"]:
        yield make_step("strip", content=" ", start=1, stop=0)
