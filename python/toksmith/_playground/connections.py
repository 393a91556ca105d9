"""Limits on the cost of one connection of the playground's server for the others: reads, bodies, requests, and shutdown.

The event loop passes received data to a connection and answers no other request until it is parsed. A body in chunks of one
byte is slow to parse, so a read is a few kilobytes and a chunked body is short. The bodies of all connections share one memory
limit, and the number of JSON values in a body is limited. Requests run on separate threads, a few at once, and a bounded queue
holds the others, so the loop can answer at any time. A request keeps its turn until its thread has ended, because its memory is
in use until then. If the client disconnects or the server stops, the loop does not wait for the thread: the thread checks
`left` at its next step, and it is a daemon, so the program can end. Left out: the content of requests, and which of them are
long, which `server` decides.
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

if TYPE_CHECKING:  # uvicorn's AutoHTTPProtocol is a variable, and a type checker accepts only classes as bases
    from asyncio import Protocol as AutoHTTPProtocol
else:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

TURN = 1 << 13  # bytes of one read
MOST_CHUNKED = 1 << 16  # bytes of a body in chunks, because each chunk costs time at any length
MOST_VALUES = 3_000_000  # of a body: as JSON a value takes three bytes or more, in memory up to 70


class FairConnection(AutoHTTPProtocol):
    """uvicorn's connection, on a transport with short reads."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        bounded: Any = transport
        bounded.max_size = TURN  # the size of one read of asyncio's own transports
        super().connection_made(transport)


class EndingServer(uvicorn.Server):
    """uvicorn's server, which stops without waiting for answers."""

    def __init__(self, config: uvicorn.Config, forget: Callable[[], None]) -> None:
        super().__init__(config)
        self.forget = forget

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.forget()
        await super().shutdown(sockets)


class Bodies:
    """The bodies of all requests, from their first byte until the answer: at most `most` bytes together."""

    def __init__(self, most: int) -> None:
        self.most, self.held = most, 0

    @asynccontextmanager
    async def receive(self, request: Request, most: int) -> AsyncIterator[bytes | tuple[int, str]]:
        """The body of a request, or the status and the message of its refusal.

        A body that is too long but has a stated length is read to its end and dropped, so that its sender reads the answer.
        """
        chunked = "transfer-encoding" in request.headers
        longest = min(most, MOST_CHUNKED) if chunked else most
        refusal: tuple[int, str] | None = None
        parts: list[bytes] = []
        size = 0
        try:
            try:
                async for part in request.stream():
                    if refusal is None and size + len(part) > longest:
                        refusal = 413, f"the body is longer than {most:,} bytes, or than {MOST_CHUNKED:,} in chunks"
                    elif refusal is None and self.held + len(part) > self.most:
                        refusal = 503, f"the requests that wait have {self.most:,} bytes; ask again in a moment"
                    if refusal is None:
                        parts.append(part)
                        size += len(part)
                        self.held += len(part)
                        continue
                    parts.clear()
                    self.held, size = self.held - size, 0
                    if chunked:
                        break  # the answer ends the connection
            except ClientDisconnect:
                refusal = 400, "the body ends early"  # the client has disconnected
            data = b"".join(parts)
            parts.clear()
            yield refusal or data
        finally:
            self.held -= size


def values_of(data: bytes) -> object:
    """The JSON value of a body.

    Raises:
        ValueError: The body is not JSON in UTF-8, or has too many values.
        RecursionError: The body is nested too deeply.
    """
    bare = data.replace(rb"\\", b"").replace(rb"\"", b"") if b"\\" in data else data
    count = bare.count(b'"') // 2
    if count <= MOST_VALUES:
        outside = b"".join(bare.split(b'"')[::2])  # the parts outside strings
        count = sum(map(outside.count, (b",", b"[", b"{")))
    if count > MOST_VALUES:
        raise ValueError(f"it has {count:,} values; at most {MOST_VALUES:,} are allowed")
    value: object = json.loads(data)
    return value


Work = Callable[[threading.Event], Response]


class Turns:
    """Runs at most `running` requests at once and lets at most `waiting` others wait."""

    def __init__(self, running: int, waiting: int) -> None:
        self.free, self.most = asyncio.Semaphore(running), running + waiting
        self.running: set[asyncio.Task[Response | None]] = set()

    async def answer(self, request: Request, work: Work) -> Response | None:
        """The answer to a request whose body has been read; None if too many wait, the client leaves, or the server stops.

        Args:
            work: Makes the answer; its argument is set when the client has disconnected.
        """
        if len(self.running) >= self.most:
            return None
        left = threading.Event()
        own = asyncio.create_task(self.in_turn(work, left))
        gone = asyncio.ensure_future(request.receive())  # after the body, a connection reports only its end
        self.running.add(own)
        try:
            await asyncio.wait({own, gone}, return_when=asyncio.FIRST_COMPLETED)
            return own.result() if own.done() and not own.cancelled() else None
        finally:
            left.set()
            self.running.discard(own)
            own.cancel()
            gone.cancel()

    async def in_turn(self, work: Work, left: threading.Event) -> Response | None:
        """Waits for a turn, then runs `work` on a thread."""
        await self.free.acquire()
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Response | None] = loop.create_future()

        def finish(response: Response | None) -> None:
            self.free.release()
            if not answer.done():
                answer.set_result(response)

        def run() -> None:
            response = None
            try:
                response = work(left)
            finally:
                with contextlib.suppress(RuntimeError):  # the loop is closed: the server has stopped
                    loop.call_soon_threadsafe(finish, response)

        threading.Thread(target=run, name="toksmith-view", daemon=True).start()
        return await answer

    def stop(self) -> None:
        """Cancels all waiting requests."""
        for each in self.running:
            each.cancel()
