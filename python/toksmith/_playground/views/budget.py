"""The text against context lengths: those of the models of each tokenizer, sizes from 8k to 1M, and the user's own."""

from __future__ import annotations

from toksmith import explain

from ..models import SIZES, contexts_of
from .asked import Asked

__all__ = ["budget"]


def budget(asked: Asked) -> explain.Budget:
    """Tokens relative to context lengths: of each tokenizer those of its models, then sizes, and the user's own (`context`)."""
    own = asked.number("context", 0, most=1 << 40)
    others = {**SIZES, **({"yours": own} if own else {})}
    text, special = asked.text, asked.special
    rows: list[explain.BudgetRow] = []
    for name, tok in asked.toks.items():
        found = explain.budget({name: tok}, text, context={**contexts_of(tok), **others}, special=special)
        rows += found.rows
    return explain.Budget(found.bytes, found.chars, tuple(rows))
