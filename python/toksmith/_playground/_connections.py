"""What one connection of the playground's server may cost the others: how long its turns are, and its bodies.

The event loop hands a connection what has come, and answers nobody until all of that is taken apart. Of a body in chunks
of one byte that is long work: so a turn is a few kilobytes, and such a body is short. Left out: what is asked, which is
`_server`'s.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

if TYPE_CHECKING:  # it is a variable, of which no class can be derived for a type checker
    from asyncio import Protocol as AutoHTTPProtocol
else:
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

__all__ = ["MOST_CHUNKED", "TURN", "FairConnection", "received"]

TURN = 1 << 13  # bytes
MOST_CHUNKED = 1 << 16  # bytes of a body whose length nobody said before: each chunk is work, however short it is


class FairConnection(AutoHTTPProtocol):
    """uvicorn's connection, on a transport that reads little at a time."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Takes the transport."""
        bounded: Any = transport
        bounded.max_size = TURN  # what asyncio's own transports read at once
        super().connection_made(transport)


async def received(request: Request, most: int) -> bytes | None:
    """The body of a request; None where it is too long, of which nothing is kept.

    If a body is too long but states its length, the rest is still read, so that its sender reads the answer.
    """
    chunked = "transfer-encoding" in request.headers
    most = min(most, MOST_CHUNKED) if chunked else most
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        parts.append(part)
        if size > most:
            parts.clear()
            if chunked:
                break  # the answer ends the connection
    return b"".join(parts) if size <= most else None
