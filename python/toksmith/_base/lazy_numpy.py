"""numpy, imported when one of its names is first used: `from .._base import lazy_numpy as np`.

numpy takes longer to import than a vocabulary takes to load. Loading a vocabulary, and encoding, decoding and counting texts,
need none of its names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import *
else:

    def __getattr__(name: str) -> object:
        import numpy

        value = globals()[name] = getattr(numpy, name)
        return value
