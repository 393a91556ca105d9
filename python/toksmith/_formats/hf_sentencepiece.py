"""SentencePiece's models in the steps of HF's tokenizer.json, and on which texts these steps give other ids or other texts.

Pairs of characters become a list of merges (`scored_merges.py`). The normalizer becomes up to six steps, and the decoder
up to four. Three things differ in HF, each on texts that the refusal names; `allow_loss` accepts them by field:

- `scores`: a unigram model adds its scores in double precision; a list of merges may not follow scores that tie.
- `normalizers`: HF applies the table of characters by grapheme clusters and the shortest key.
- `decoders`: HF leaves out an unknown token, where SentencePiece shows a text.
- `added_tokens`: a text between two user-defined symbols that is a whole token is that token.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from .._base.errors import CannotRepresent
from .._model.model import BYTE_TOKENS, Model, Step, TokenTable
from .hf_steps import step
from .scored_merges import scored_merges, states
from .sentencepiece import USER_DEFINED, check_kind, only, pieces

__all__ = ["NAMES", "in_steps_of_hf", "is_sentencepiece"]

FORMAT = "tokenizer_json"
NAMES = {"normalizer"}  # metadata that only name what the steps hold
NORMALIZER = {"charsmap", "dummy", "escape", "remove_extra"}
DECODER = {"strip", "unknown"}
BLOCK = "▁"
FAR = 10  # how many times below the lowest score a token is that no text may become


class Losses:
    """The fields that may be lost, which each difference asks."""

    def __init__(self, allowed: Collection[str]) -> None:
        self.allowed = allowed

    def refuse(self, field: str, problem: str, way: str = "the .model file gives SentencePiece's ids") -> None:
        """Raises CannotRepresent unless the field may be lost."""
        if field not in self.allowed:
            raise CannotRepresent(FORMAT, field, f"{problem}; {way}, and allow_loss=[{field!r}] writes the rest")


def is_sentencepiece(model: Model) -> bool:
    """Whether the model is one of characters with SentencePiece's own steps."""
    return model.unit == "char" and any(each.kind == "sentencepiece" for each in (*model.normalizers, *model.decoders))


def in_steps_of_hf(model: Model, allow_loss: Collection[str]) -> Model:
    """The model of HF's steps that gives the same ids, except where a loss is allowed."""
    losses = Losses(allow_loss)
    check_kind(model, FORMAT)
    normalizer, decoder = only(model, "normalizers", FORMAT), only(model, "decoders", FORMAT)
    for field, found, options in (("normalizers", normalizer, NORMALIZER), ("decoders", decoder, DECODER)):
        if dict(found.options).keys() != options:
            raise CannotRepresent(FORMAT, field, f"{found} has other options than {', '.join(sorted(options))}")
    rows = pieces(model, FORMAT)
    symbols = sorted(
        (content for content, kind, _ in rows if kind == USER_DEFINED), key=lambda text: (-len(text), text)
    )
    if any(" " in symbol for symbol in symbols):
        losses.refuse(
            "added_tokens", "HF rewrites spaces before it looks for user-defined symbols, and one has a space"
        )
    added = [token for token in model.added_tokens if token.special]
    for token in added:
        if len(token.content) == 1:
            problem = f"HF takes the character {token.content!r} of a text for the special token of this content"
            losses.refuse("added_tokens", problem)
    fields = merged(model, symbols, losses) if model.kind == "bpe" else covered(model, rows, losses)
    return dataclasses.replace(
        model,
        tokens=TokenTable.of([content.encode() for content, _, _ in rows]),
        ids=np.arange(len(rows), dtype=np.uint32),
        normalizers=(*normalizers(normalizer, losses),),
        decoders=(*decoders(model, decoder, normalizer, losses),),
        added_tokens=(*added,),
        metadata={name: value for name, value in model.metadata.items() if name not in NAMES},
        **fields,
    )


def merged(model: Model, symbols: list[str], losses: Losses) -> dict[str, Any]:
    """The fields of a model that merges by a list of pairs."""
    scores = normal_scores(model)
    found = scored_merges(scores)
    if found.problem:
        text = f", as in the text {found.witness!r}" if found.witness else ""
        losses.refuse(
            "scores", f"HF merges by a list of pairs, which cannot follow these scores: {found.problem}{text}"
        )
    if symbols:
        whole = "" if not (unreached := next(never_made(scores), "")) else f", as {unreached!r} would be"
        problem = (
            "HF keeps a user-defined symbol whole only by looking up whole pieces of text, so a text between two symbols "
            f"that is exactly a token is this token, though merging would not make it{whole}"
        )
        losses.refuse("added_tokens", problem)
    ids = dict(zip(model.tokens, model.ids.tolist(), strict=True))
    rows = [[ids[part.encode()] for part in (left, right, left + right)] for left, right in found.pairs]
    regex = "|".join(map(escaped, symbols))
    options = {"dialect": "onig", "behavior": "isolated", "invert": False}
    return {
        "merge_rule": "pair",
        "merges": np.array(rows, np.uint32).reshape(-1, 3),
        "scores": None,
        "whole_piece": bool(symbols),
        "splitters": (step("regex", pattern=regex, **options),) if symbols else (),
        "fuse_unknown": True,
    }


def escaped(symbol: str) -> str:
    """A regex of Oniguruma's that matches exactly this text."""
    return re.sub(r"([^\w▁<>])", lambda found: f"\\x{{{ord(found[1]):X}}}", symbol)


def never_made(scores: Mapping[str, float]) -> Iterator[str]:
    """The pieces that merging does not make."""
    for piece in scores:
        if len(piece) > 1 and [*states(piece, scores)][-1] != [piece]:
            yield piece


def normal_scores(model: Model) -> dict[str, float]:
    """The scores of the pieces that texts consist of; bytes are not among them."""
    assert model.scores is not None  # it was checked
    scores = zip(model.tokens, model.scores.tolist(), strict=True)
    left_out = BYTE_TOKENS if model.byte_fallback else {}
    return {token.decode(): score for token, score in scores if token not in left_out}


def covered(model: Model, rows: list[tuple[str, int, float]], losses: Losses) -> dict[str, Any]:
    """The fields of a unigram model; user-defined symbols are tokens that are preferred, as in SentencePiece."""
    problem = (
        "HF adds scores in double precision, SentencePiece in single, so a text that can be cut in two ways with nearly the "
        "same sum may get other ids, and so may one that spells a byte token or a special token in characters of which one "
        "is unknown"
    )
    losses.refuse("scores", problem)
    normal = normal_scores(model)
    lowest = min(normal.values(), default=0.0)
    # A character of a token may lack one of its own. Then the lowest score, from which that of unknown characters
    # follows, decides between both, and must stay.
    alone = all(char in normal for piece in normal for char in piece)
    never = FAR * min(lowest, -1.0) if alone else lowest
    scores = [  # that of a user-defined symbol is in docs/spec.md
        0.1 * (len(content.encode()) - 1) if kind == USER_DEFINED else normal.get(content, never)
        for content, kind, _ in rows
    ]
    return {"scores": np.array(scores, np.float64)}


def normalizers(spec: Step, losses: Losses) -> Iterator[Step]:
    """SentencePiece's normalizer as steps."""
    if spec["dummy"] == "after":
        problem = "the format has no step that puts a space after every text, as treat_whitespace_as_suffix does"
        raise CannotRepresent(FORMAT, "normalizers", f"{problem}; save the .model file")
    mark = BLOCK if spec["escape"] else " "
    if spec["charsmap"]:
        problem = (
            "HF looks up grapheme clusters of up to 5 bytes in the table of the normalizer, and takes the shortest key, where "
            "SentencePiece takes the longest key at each character; texts with combining marks, or with jamo, may get other "
            "ids, and so may a text of which the table leaves nothing"
        )
        losses.refuse("normalizers", problem)
        yield step("precompiled", charsmap=spec["charsmap"])
    if spec["remove_extra"]:
        yield step("replace", pattern=r"\A +", dialect="onig", content="")
        yield step("replace", pattern=r" {2,}", dialect="onig", content=" ")
    if spec["dummy"] == "before":
        yield step("prepend", prepend=mark)
    if spec["escape"]:
        yield step("replace", pattern=" ", dialect="literal", content=BLOCK)
    if spec["remove_extra"]:
        yield step("replace", pattern=rf"{mark}+\z", dialect="onig", content="")


def decoders(model: Model, decoder: Step, normalizer: Step, losses: Losses) -> Iterator[Step]:
    """SentencePiece's decoder as steps."""
    if not model.byte_fallback:
        shown = f"SentencePiece shows an unknown token as {decoder['unknown']!r}"
        losses.refuse("decoders", f"{shown}, and HF leaves it out of the text as it does every special token")
    if decoder["strip"] == "each":
        problem = (
            f"HF removes one space before a decoded text, where SentencePiece removes that of each leading {BLOCK!r}"
        )
        losses.refuse("decoders", f"{problem}; the texts of ids whose first tokens are {BLOCK!r} differ")
    if not normalizer["escape"]:
        losses.refuse(
            "decoders", f"HF has no step that removes the {BLOCK!r} but keeps the space before a decoded text"
        )
    yield step("replace", pattern=BLOCK, dialect="literal", content=" ")
    if model.byte_fallback:
        yield step("byte_fallback")
    yield step("fuse")
    if decoder["strip"] != "nothing" and normalizer["escape"]:
        yield step("strip", content=" ", start=1, stop=0)
