"""Awaitable forms of calls, which leave an event loop free: short work runs at once, long work in a thread of a bounded pool."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Mapping
from functools import cache, partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from .._base.threads import processor_count

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

__all__ = ["make_awaitable"]

LONG = 100_000  # characters: encoding them takes about as long as to change threads twice
ITEM = 1_000  # characters: a text of a batch, or a field of a message, costs as much as these
Given = ParamSpec("Given")
Result = TypeVar("Result")
DOC = """As `{name}`, awaitable: the event loop stays free.

        A call with less than 100,000 characters runs at once; each item of a
        list or mapping counts as 1,000 more. A longer call runs in a thread,
        and so does one with an iterator or a column of Arrow: do not change
        its arguments meanwhile. All tokenizers of a process share these
        threads, one for each processor and at least 2. If the task is
        cancelled, a call that has begun runs to its end.

        Returns: what `{name}` returns.
        Raises: as `{name}`.
        """


def make_awaitable(method: Callable[Given, Result]) -> Callable[Given, Coroutine[Any, Any, Result]]:
    """The awaitable form of a method of `Tokenizer`; its name begins with `a`."""

    @wraps(method)
    async def call(*args: Given.args, **options: Given.kwargs) -> Result:
        room = LONG
        for value in (*args[1:], *options.values()):
            room = count_room(value, room)
        if room > 0:
            return method(*args, **options)
        import asyncio  # imported on demand: few programs have an event loop
        from contextvars import copy_context

        work = partial(copy_context().run, method, *args, **options)
        return await asyncio.get_running_loop().run_in_executor(make_pool(os.getpid()), work)

    name = method.__qualname__.rpartition(".")[2]
    call.__name__, call.__qualname__, call.__doc__ = f"a{name}", f"Tokenizer.a{name}", DOC.format(name=name)
    return call


def count_room(value: object, room: int) -> int:
    """The characters that fit into `room` after the texts of a value; at most 0 if they do not fit, or are unknown."""
    if room <= 0 or value is None or isinstance(value, (bool, int, float, os.PathLike)):
        return room
    if isinstance(value, (str, bytes)):
        return room - len(value)
    if isinstance(value, (list, tuple, set, frozenset, Mapping)):
        for item in value.values() if isinstance(value, Mapping) else value:
            room = count_room(item, room - ITEM)
            if room <= 0:
                break
        return room
    return 0


@cache
def make_pool(_process: int) -> ThreadPoolExecutor:
    """The threads of a process: a forked child has none of its parent's."""
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(max(2, processor_count()), "toksmith")
