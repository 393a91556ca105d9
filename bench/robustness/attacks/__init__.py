"""The attacks, one row each: on patterns and special tokens, on texts, on files, and on calls."""

from __future__ import annotations

from ..attack import Attack
from .calls import CALLS
from .files import FILES
from .models import MODELS
from .patterns import PATTERNS
from .texts import TEXTS

__all__ = ["ATTACKS"]

ATTACKS: tuple[Attack, ...] = (*MODELS, *PATTERNS, *TEXTS, *FILES, *CALLS)
