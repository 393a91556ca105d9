"""The specification: what `dir` of a page lists, which is what the page defines.

What a page imports is not listed. Left out: nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable


def defined(page: str) -> list[str]:
    """The public names that a page defines, in order.

    Classes and functions say where they are defined. Values and aliases of types do not, so that those of
    other pages are listed too.

    >>> defined("toksmith.reference.names")
    ['defined', 'listing']
    """
    names = {name: value for name, value in vars(sys.modules[page]).items() if not name.startswith("_")}
    values = {name for name, value in names.items() if not callable(value) or hasattr(value, "__origin__")}
    own = {name for name, value in names.items() if getattr(value, "__module__", None) == page}
    imported = {name for name, value in names.items() if hasattr(value, "__spec__") or name == "annotations"}
    return sorted((own | values) - imported | {*vars(sys.modules[page]).get("__all__", ())})


def listing(page: str) -> Callable[[], list[str]]:
    """The `__dir__` of a page.

    >>> "defined" in listing("toksmith.reference.names")()
    True
    """
    return lambda: defined(page)


__dir__ = listing(__name__)
