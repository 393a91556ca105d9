"""Which questions run at once, on threads of their own: the others wait in a line with an end, and work ends with its asker.

The rules: the event loop only waits, so it answers at any time. A question keeps its turn until its thread has ended,
because until then its memory is in use. If its asker leaves or the server stops, nothing waits for the thread: it sees `left` at
its next step, and does not keep the program from ending. Left out: which questions are long, which `server` says.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response

__all__ = ["Turns"]

Work = Callable[[threading.Event], Response]


class Turns:
    """At most `running` questions run at once, and at most `waiting` others wait."""

    def __init__(self, running: int, waiting: int) -> None:
        self.free, self.most = asyncio.Semaphore(running), running + waiting
        self.asked: set[asyncio.Task[Response | None]] = set()

    async def answer(self, request: Request, work: Work) -> Response | None:
        """The answer to a question whose body has been read; None if too many wait, or the asker leaves, or the server stops.

        Args:
            work: Makes the answer; its argument is set when the asker has left.
        """
        if len(self.asked) >= self.most:
            return None
        left = threading.Event()
        own = asyncio.create_task(self.in_turn(work, left))
        gone = asyncio.ensure_future(request.receive())  # behind its body, a connection only says that it ends
        self.asked.add(own)
        try:
            await asyncio.wait({own, gone}, return_when=asyncio.FIRST_COMPLETED)
            return own.result() if own.done() and not own.cancelled() else None
        finally:
            left.set()
            self.asked.discard(own)
            own.cancel()
            gone.cancel()

    async def in_turn(self, work: Work, left: threading.Event) -> Response | None:
        """Waits for a turn, and then for the answer."""
        await self.free.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Response | None] = loop.create_future()

        def ended(response: Response | None) -> None:
            self.free.release()
            if not answer.done():
                answer.set_result(response)

        def run() -> None:
            response = None
            try:
                response = work(left)
            finally:
                with contextlib.suppress(RuntimeError):  # the loop is closed: the server has stopped
                    loop.call_soon_threadsafe(ended, response)

        threading.Thread(target=run, name="toksmith-view", daemon=True).start()
        return await answer

    def stop(self) -> None:
        """Waits for nothing any more."""
        for each in self.asked:
            each.cancel()
