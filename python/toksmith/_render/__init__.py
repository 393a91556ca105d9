"""Drawing: plain view data in, pictures and text out. Nothing here knows a tokenizer or a model.

`view` decides what a token looks like (marks, escapes, the place of a cut character, colours). `blocks` defines the parts
of a result. `terminal` draws them as text and as a picture of it, `html` for notebooks, and `pages` on pages; a new medium
is a new file. `streams` is the way to a terminal and the log. `shown` is the base class of all results. `plot` draws
figures as pictures, and `areas` places a treemap. Commands take `number_of` from here, because they import nothing else of
ours.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .._base.errors import number_of as number_of

if TYPE_CHECKING:
    from .areas import *
    from .blocks import *
    from .pages import *
    from .plot import *
    from .shown import *
    from .streams import *
    from .terminal import *
    from .view import *

# A module is imported when a name is asked for that none before it has; the last two import rich.
_MODULES = ("streams", "view", "blocks", "areas", "plot", "pages", "terminal", "shown")


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    for module in () if name.startswith("_") else _MODULES:
        found = import_module(f".{module}", __name__)
        if name in found.__all__:
            globals()[name] = getattr(found, name)
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
