"""Completes the sources that griffe reads for mkdocstrings; it runs inside the site's generator.

Every docstring becomes Markdown (`docstrings`). A method that a class takes from another module by assignment
(`chat = _chat.chat`) becomes that function. Methods without a docstring in the sources get those that `stage` wrote.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import griffe

from .docstrings import as_markdown

__all__ = ["Sources"]

griffe.stdlib_decorators["toksmith._base.threads.cached_property"] = {"cached", "property"}


class Sources(griffe.Extension):
    """The extension.

    Args:
        compiled: The file of docstrings that are not in the sources, by the names of their methods.
    """

    def __init__(self, compiled: str) -> None:
        super().__init__()
        self.compiled: dict[str, str] = json.loads(Path(compiled).read_text(encoding="utf-8"))

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        """Complete a package after all of its modules are read."""
        for each in all_members(pkg):
            if each.path in self.compiled:
                each.docstring = griffe.Docstring(
                    self.compiled[each.path],
                    parent=each,
                    parser=loader.docstring_parser,
                    parser_options=loader.docstring_options,
                )
            if each.docstring is not None:
                each.docstring.value = as_markdown(each.docstring.value)
            if isinstance(each, griffe.Class):
                take_methods(each, loader)


def all_members(found: griffe.Object) -> list[griffe.Object]:
    """An object with all its definitions, without imports."""
    direct = [each for each in found.members.values() if isinstance(each, griffe.Object)]
    return [found, *(deeper for each in direct for deeper in all_members(each))]


def take_methods(owner: griffe.Class, loader: griffe.GriffeLoader) -> None:
    """Make functions of attributes whose value is a function of another module."""
    for name, each in [*owner.members.items()]:
        if not isinstance(each, griffe.Attribute) or not isinstance(each.value, griffe.ExprAttribute):
            continue
        try:
            function = loader.modules_collection[each.value.canonical_path]
        except (KeyError, griffe.AliasResolutionError):
            continue
        target = function.final_target if isinstance(function, griffe.Alias) else function
        if isinstance(target, griffe.Function):
            owner.set_member(name, griffe.Alias(name, target, parent=owner))
