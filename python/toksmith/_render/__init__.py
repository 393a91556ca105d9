"""Drawing: plain view data in, pictures and text out. No module here uses a tokenizer or a model.

`view` defines the looks of a token (marks, escapes, the place of a cut character, colours). `blocks` defines the parts of a
result. `terminal` draws them as text and as a picture of that text, `html` for notebooks, and `pages` on pages; a new medium is
a new file. `streams` writes to a terminal and the log. `shown` holds the base class of all results. `plot` draws figures as
pictures, and `areas` lays out a treemap. Commands import `number_of` from here, because they may import only these layers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from .._base.wording import number_of as number_of

if TYPE_CHECKING:
    from .areas import *
    from .blocks import *
    from .pages import *
    from .plot import *
    from .shown import *
    from .streams import *
    from .terminal import *
    from .view import *

# A lookup imports these in order until one has the name; the last two import rich.
_MODULES = ("streams", "view", "blocks", "areas", "plot", "pages", "terminal", "shown")


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    for module in () if name.startswith("_") else _MODULES:
        candidate = import_module(f".{module}", __name__)
        if name in candidate.__all__:
            globals()[name] = getattr(candidate, name)
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
