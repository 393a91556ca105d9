"""What one connection of the playground's server may cost the others: its turns, its bodies, its questions, and the end.

The event loop hands a connection what has come, and answers nobody until all of that is taken apart. Of a body in chunks
of one byte that is long work: so a turn is a few kilobytes, and such a body is short. The bodies of all connections share one
room, and a value in them has a price. The loop only waits, so it answers at any time: questions run on threads of their own,
a few at once, and the others wait in a line with an end. A question keeps its turn until its thread has ended, because until
then its memory is in use. If its asker leaves or the server stops, nothing waits for the thread: it sees `left` at its next
step, and does not keep the program from ending. Left out: what is asked, and which questions are long, which `server` says.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

if TYPE_CHECKING:  # it is a variable, of which no class can be derived for a type checker
    from asyncio import Protocol as AutoHTTPProtocol
else:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

__all__ = ["MOST_CHUNKED", "MOST_VALUES", "TURN", "Bodies", "EndingServer", "FairConnection", "Turns", "values_of"]

TURN = 1 << 13  # bytes
MOST_CHUNKED = 1 << 16  # bytes of a body whose length nobody said before: each chunk is work, however short it is


MOST_VALUES = 3_000_000  # of a body: as JSON a value takes three bytes or more, in memory up to 70


class FairConnection(AutoHTTPProtocol):
    """uvicorn's connection, on a transport that reads little at a time."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        bounded: Any = transport
        bounded.max_size = TURN  # what asyncio's own transports read at once
        super().connection_made(transport)


class EndingServer(uvicorn.Server):
    """uvicorn's server, which waits for no answer when it stops."""

    def __init__(self, config: uvicorn.Config, forget: Callable[[], None]) -> None:
        super().__init__(config)
        self.forget = forget

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.forget()
        await super().shutdown(sockets)


class Bodies:
    """The bodies of all requests, from their first byte until they are answered: together of at most `most` bytes."""

    def __init__(self, most: int) -> None:
        self.most, self.held = most, 0

    @asynccontextmanager
    async def receive(self, request: Request, most: int) -> AsyncIterator[bytes | tuple[int, str]]:
        """The body of a request; or the status and the sentence that refuse it, and nothing of it is kept.

        If a body is too long but states its length, the rest is still read, so that its sender reads the answer.
        """
        chunked = "transfer-encoding" in request.headers
        longest = min(most, MOST_CHUNKED) if chunked else most
        refusal: tuple[int, str] | None = None
        parts: list[bytes] = []
        kept = 0
        try:
            try:
                async for part in request.stream():
                    if refusal is None and kept + len(part) > longest:
                        refusal = 413, f"the body is longer than {most:,} bytes, or than {MOST_CHUNKED:,} in chunks"
                    elif refusal is None and self.held + len(part) > self.most:
                        refusal = 503, f"the requests that wait have {self.most:,} bytes; ask again in a moment"
                    if refusal is None:
                        parts.append(part)
                        kept += len(part)
                        self.held += len(part)
                        continue
                    parts.clear()
                    self.held, kept = self.held - kept, 0
                    if chunked:
                        break  # the answer ends the connection
            except ClientDisconnect:
                refusal = 400, "the body ends early"  # its sender has left
            data = b"".join(parts)
            parts.clear()
            yield refusal or data
        finally:
            self.held -= kept


def values_of(data: bytes) -> object:
    """The JSON value of a body.

    Raises:
        ValueError: It is not JSON in UTF-8, or has too many values.
        RecursionError: It is nested too deeply.
    """
    bare = data.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in data else data
    count = bare.count(b'"') // 2
    if count <= MOST_VALUES:
        outside = b"".join(bare.split(b'"')[::2])  # of the texts
        count = sum(map(outside.count, (b",", b"[", b"{")))
    if count > MOST_VALUES:
        raise ValueError(f"it has {count:,} values; at most {MOST_VALUES:,} are allowed")
    value: object = json.loads(data)
    return value


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
