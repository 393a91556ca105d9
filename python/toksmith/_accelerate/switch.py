"""`accelerate` and `restore`: the fast tokenizers of transformers on toksmith's engine, with no change to their code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from .._base.arguments import check_int
from .._base.wording import number_of
from .._render.blocks import Table
from .._render.shown import Shown
from .._render.streams import one_line
from ..errors import InvalidOption

__all__ = ["Acceleration", "accelerate", "accelerated", "restore"]

# The versions whose methods `calls` and `changes` replace: the first, and the last that the tests ran with.
KNOWN = {"transformers": ("5.16", "5.23"), "tokenizers": ("0.23", "0.23")}


class AcceleratedTokenizer(NamedTuple):
    """A tokenizer that was called.

    Attributes:
        name: The name or path that it was loaded from.
        calls: The calls of all tokenizers with its present content.
        returned: Those that the library ran, because they are errors, or have options that the engine does not have.
        reason: Why the library runs all of them; None where the engine does.
    """

    name: str
    calls: int
    returned: int
    reason: str | None


@dataclass(frozen=True, repr=False)
class Acceleration(Shown):
    """Whether acceleration is on, and the tokenizers that were called."""

    is_on: bool
    tokenizers: tuple[AcceleratedTokenizer, ...]

    def _parts(self) -> Iterator[object]:
        yield f"acceleration is {'on' if self.is_on else 'off'}; called: {number_of(len(self.tokenizers), 'tokenizer')}"
        rows = [
            (one_line(each.name), f"{each.calls:,}", f"{each.returned:,}", one_line(each.reason or ""))
            for each in self.tokenizers
        ]
        yield Table(("tokenizer", "calls", "returned", "why the library runs it"), rows, left=(0, 3))


is_on = False


def accelerate(*, check_every: int | None = 10_000) -> Acceleration:
    """Run the fast tokenizers of transformers on toksmith's engine, in this process, in every thread.

    This applies to tokenizers that are loaded already and to later ones. Each is compared with the library before its first
    call runs here: ids, offsets, words and decoded texts of hard texts. A tokenizer that the engine cannot run exactly stays
    on the library, and the log says why, once. Later changes to a tokenizer are followed: added tokens, parts, truncation,
    padding.

    Args:
        check_every: One call of this many runs on the library too; where the results differ, the tokenizer stays on the
            library from then on, and the call returns the library's result. None compares no calls.
    Returns: the tokenizers that were called until now. A further call of `accelerate` returns the new state.
    Raises:
        ImportError: transformers is missing.
        InvalidOption: transformers or tokenizers has a version that this release does not know.

    Source: the results are those of `transformers` 5 and `tokenizers`; docs/guides/faster-servers.md lists the differences.
    """
    global is_on
    if check_every is not None and check_int(check_every, "check_every") < 1:
        raise InvalidOption("check_every", check_every, "at least 1, or None")
    refuse_unknown_versions()
    from . import calls, changes

    if not is_on:
        changes.watch()
    calls.patch(check_every)
    is_on = True
    return read_state()


def restore() -> Acceleration:
    """Give all tokenizers back to the library. Returns: the tokenizers that were called."""
    global is_on
    if is_on:
        from . import calls, changes

        calls.unpatch()
        changes.unwatch()
        is_on = False
    return read_state()


@contextmanager
def accelerated(*, check_every: int | None = 10_000) -> Iterator[None]:
    """`accelerate` for the length of a `with` block; inside of another one, nothing changes at its end."""
    was_on = is_on
    accelerate(check_every=check_every)
    try:
        yield
    finally:
        if not was_on:
            restore()


def read_state() -> Acceleration:
    from .attached import known_engines

    rows = [AcceleratedTokenizer(name, each.calls, each.returned, each.reason) for name, each in known_engines()]
    return Acceleration(is_on, tuple(rows))


def refuse_unknown_versions() -> None:
    """Refuse libraries whose methods may do something else than those that this release replaces."""
    for name, (first, last) in KNOWN.items():
        try:
            found = version(name)
        except PackageNotFoundError:
            raise ImportError(f"accelerate needs {name}; pip install 'toksmith[transformers]'", name=name) from None
        if not read_release(first) <= read_release(found) <= read_release(last):
            allowed = f"a version from {first} to {last}; a newer toksmith may know it: pip install -U toksmith"
            raise InvalidOption(name, found, allowed)


def read_release(version: str) -> tuple[int, ...]:
    """The first two numbers of a version: (6, 0) for "6.0rc1"."""
    return tuple(map(int, re.findall(r"\d+", version)[:2]))
