"""What the same text costs in each language, by each tokenizer: the page's own sentences, or files that somebody opened."""

from __future__ import annotations

import toksmith

from .asked import Asked

__all__ = ["fairness"]

MOST_LANGUAGES = 1000
MOST_BYTES = 40_000_000  # of all texts


def fairness(asked: Asked) -> toksmith.metrics.Fairness:
    """The figures of all tokenizers; `texts` holds the same text by language."""
    given = asked.values.get("texts") or asked.session.texts
    if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
        raise toksmith.InvalidOption("texts", type(given).__name__, "texts by language")
    if len(given) > MOST_LANGUAGES or sum(map(len, given.values())) > MOST_BYTES:
        allowed = f"at most {MOST_LANGUAGES:,} languages and {MOST_BYTES:,} characters"
        raise toksmith.InvalidOption("texts", f"{len(given):,} languages", allowed)
    texts = {name.encode("utf-8", "replace").decode(): text for name, text in given.items()}
    reference = asked.string("reference", "") or None
    return toksmith.metrics.fairness(asked.toks, texts, reference=reference if reference in texts else None)
