"""What the browser may do with the page: run its own scripts, ask its own server, and be in a frame only where it is asked for.

The rule: no page may put this one in a frame, so that nobody is led to click in it unseen. The address with `?embed=1` is made
for frames, and only pages that this machine serves itself (notebooks) may hold it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["HEADERS", "headers_for"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors "
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": f"{POLICY}'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
EMBEDDED = {**HEADERS, "content-security-policy": f"{POLICY}http://localhost:* http://127.0.0.1:*"}


def headers_for(scope: Mapping[str, Any]) -> Mapping[str, str]:
    """The headers of the answer to a request.

    >>> headers_for({"path": "/", "query_string": b""}) == HEADERS
    True
    """
    embedded = scope["path"] == "/" and scope.get("query_string") == b"embed=1"
    return EMBEDDED if embedded else HEADERS
