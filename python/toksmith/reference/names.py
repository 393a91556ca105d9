"""What `dir` of a page lists: the names that the page defines, not those that it imports."""

from __future__ import annotations

import sys
from collections.abc import Callable


def defined_names(page: str) -> list[str]:
    """The public names that a page defines, in order.

    Classes and functions record their module. Values and type aliases do not, so imported ones are listed too.

    >>> defined_names("toksmith.reference.names")
    ['defined_names', 'listing']
    """
    names = {name: value for name, value in vars(sys.modules[page]).items() if not name.startswith("_")}
    values = {name for name, value in names.items() if not callable(value) or hasattr(value, "__origin__")}
    own = {name for name, value in names.items() if getattr(value, "__module__", None) == page}
    imported = {name for name, value in names.items() if hasattr(value, "__spec__") or name == "annotations"}
    return sorted((own | values) - imported | {*vars(sys.modules[page]).get("__all__", ())})


def listing(page: str) -> Callable[[], list[str]]:
    """The `__dir__` of a page.

    >>> "defined_names" in listing("toksmith.reference.names")()
    True
    """
    return lambda: defined_names(page)


__dir__ = listing(__name__)
