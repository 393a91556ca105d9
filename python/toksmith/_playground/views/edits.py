"""What a keystroke changes in the ids of the text: over all of it, and at one place."""

from __future__ import annotations

from toksmith import explain

from .asked import Asked

__all__ = ["edit", "stability"]

MOST_PLACES = 200
MOST_TYPED = 100  # characters


def stability(asked: Asked) -> explain.Stability:
    """What typing changes along the text, by each tokenizer."""
    text, typed = asked.text, asked.string("typed", "e")[:MOST_TYPED]
    key = (asked.key, typed, asked.special, *asked.names)

    def make() -> explain.Stability:
        return explain.stability(asked.toks, text, typed=typed, most=MOST_PLACES, special=asked.special)

    return asked.once("stability", key, make)


def edit(asked: Asked) -> explain.Edit:
    """What typing at the place `at` changes, by each tokenizer."""
    text, typed = asked.text, asked.string("typed", "e")[:MOST_TYPED]
    at = asked.number("at", 0, most=len(text))
    return explain.edit(asked.toks, text, at, at, typed, special=asked.special)
