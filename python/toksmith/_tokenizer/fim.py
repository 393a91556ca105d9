"""Filling in the middle: builds a prompt from the texts before and after a gap, with the marks of the vocabulary.

The rule: the parts are untrusted text, in which no added token is found (`encode_segments`), and each is encoded alone.
A model only understands the order that it was trained with. Left out: Code Llama and the first Codestral, whose
SentencePiece models join the parts in another way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from ..errors import InvalidOption
from .tokenizer import Text, Tokenizer


@dataclass(frozen=True)
class FimMarks:
    """The marks of one family of vocabularies, as the contents of their special
    tokens.

    Attributes:
        prefix: The mark of the text before the gap; it precedes that text.
        suffix: The mark of the text after the gap; it precedes that text.
        middle: The mark after which the model writes; None if the model
            continues the end of the prompt.
        orders: The orders that models with these marks are trained with, the
            usual order first.
        used_by: Vocabularies that have these marks.
    """

    prefix: str
    suffix: str
    middle: str | None
    orders: tuple[str, ...]
    used_by: str


ROWS = {
    "openai": FimMarks(
        "<|fim_prefix|>",
        "<|fim_suffix|>",
        "<|fim_middle|>",
        ("psm", "spm"),
        "p50k_edit, cl100k_base; Qwen2.5-Coder, CodeGemma",
    ),
    "starcoder": FimMarks("<fim_prefix>", "<fim_suffix>", "<fim_middle>", ("psm", "spm"), "StarCoder, StarCoder2"),
    "santacoder": FimMarks("<fim-prefix>", "<fim-suffix>", "<fim-middle>", ("psm", "spm"), "SantaCoder"),
    "deepseek": FimMarks(
        "<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", ("psm",), "DeepSeek-Coder, DeepSeek-V2, V3"
    ),
    "codestral": FimMarks("[PREFIX]", "[SUFFIX]", None, ("spm",), "Codestral as tekken"),
}


def fim_marks() -> Mapping[str, FimMarks]:
    """The marks for filling in the middle that `fim` knows, by family.

    Returns: a read-only mapping.

    >>> import toksmith
    >>> toksmith.fim_marks()["starcoder"].orders
    ('psm', 'spm')
    """
    return MappingProxyType(ROWS)


def fim(
    tok: Tokenizer,
    prefix: Text,
    suffix: Text,
    middle: Text | None = None,
    *,
    order: Literal["psm", "spm"] | None = None,
    marks: FimMarks | None = None,
) -> list[int]:
    """The ids of a prompt for filling in the middle.

    "psm" is mark, prefix, mark, suffix, mark; "spm" puts the suffix first, so
    that the model continues the prefix: prefix mark, suffix mark, suffix,
    middle mark, prefix. A family without a middle mark has suffix mark, suffix,
    prefix mark, prefix.

    Args:
        prefix: The text before the gap, plain text even where it spells a mark.
        suffix: The text after the gap.
        middle: The text of the gap, for an example to train on; None for a
            prompt.
        order: None for the usual order of the family.
        marks: None for the first marks of `fim_marks()` that the tokenizer has.
    Raises:
        InvalidOption: The tokenizer has no such marks, or the family does not
            have the order.
    Source: Bavarian et al. 2022, "Efficient Training of Language Models to Fill
        in the Middle"; the publishers' pages.

    >>> import toksmith
    >>> marks = toksmith.fim_marks()["starcoder"]
    >>> tok = toksmith.train("low", 259, special_tokens=[marks.prefix, marks.suffix, marks.middle])
    >>> tok.decode(toksmith.fim(tok, "def f(", "return x"))
    '<fim_prefix>def f(<fim_suffix>return x<fim_middle>'
    >>> tok.decode(toksmith.fim(tok, "def f(", "return x", "x): ", order="spm"))
    '<fim_prefix><fim_suffix>return x<fim_middle>def f(x): '
    """
    id_of = {added.content: added.id for added in tok.model.added_tokens}
    family = marks or find_marks(tok, id_of)
    used_order = order or family.orders[0]
    if used_order not in family.orders:
        raise InvalidOption("order", order, " or ".join(map(repr, family.orders)) + f", the orders of {family.used_by}")
    for content in filter(None, (family.prefix, family.suffix, family.middle)):
        if content not in id_of:
            raise InvalidOption("marks", content, "special or added tokens of the tokenizer")
    before, after = tok.encode_segments([(prefix, False)]), tok.encode_segments([(suffix, False)])
    if family.middle is None:
        parts = [id_of[family.suffix], *after, id_of[family.prefix], *before]
    elif used_order == "psm":
        parts = [id_of[family.prefix], *before, id_of[family.suffix], *after, id_of[family.middle]]
    else:
        parts = [id_of[family.prefix], id_of[family.suffix], *after, id_of[family.middle], *before]
    return parts if middle is None else parts + tok.encode_segments([(middle, False)])


def find_marks(tok: Tokenizer, known: Collection[str]) -> FimMarks:
    """The first family whose marks are all known added tokens."""
    for row in ROWS.values():
        if {row.prefix, row.suffix, row.middle} <= {*known, None}:
            return row
    rows = "; ".join(", ".join(filter(None, (row.prefix, row.suffix, row.middle))) for row in ROWS.values())
    advice = f"a tokenizer with one of these sets of special tokens: {rows}. toksmith.add_special adds tokens"
    raise InvalidOption("tok", tok, advice)
