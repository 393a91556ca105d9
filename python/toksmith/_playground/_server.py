"""The page over HTTP, on this machine only: access, limits, and what the browser may do.

The rules: a request is answered only if it names this server as its host and does not come from another origin, so no
other page can send requests (not by DNS rebinding either); requests are JSON and limited in size; the files come from a
table that is read at the start, so no path leads anywhere else; the browser may run this server's scripts and ask this
server, and nothing else. Left out: what a view is, which `_views` says.
"""

from __future__ import annotations

import json
import logging
from importlib.resources import files

import anyio.to_thread
from anyio import CapacityLimiter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import toksmith

from ._connections import MOST_CHUNKED, received
from ._policy import headers_for
from ._views import EXPORTS, VIEWS, Asked, Session, UnknownText, exported, shown
from ._words import words

__all__ = ["application"]

LOG = logging.getLogger("toksmith")
MOST_BODY = 64_000_000  # a text of the allowed size may be six times as long in JSON
WORKERS = 4
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def static_files() -> dict[str, Response]:
    """The files of the page by the path that they are asked for."""
    found: dict[str, Response] = {}
    folders = [("/static", files("toksmith._playground") / "static")]
    for path, folder in folders:  # which grow by those inside
        for file in folder.iterdir():
            if file.is_dir():
                folders.append((f"{path}/{file.name}", file))
            elif (kind := TYPES.get(file.name.rpartition(".")[2])) is not None:
                own = "/" if file.name == "index.html" else f"{path}/{file.name}"
                found[own] = Response(file.read_bytes(), media_type=kind)
    return found


class Guard:
    """Answers only allowed requests, and adds the headers to every answer."""

    def __init__(self, app: ASGIApp, authorities: frozenset[str]) -> None:
        self.app, self.authorities = app, authorities

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in headers_for(scope).items()]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        if scope["type"] != "http":
            return
        refusal = refused(Request(scope), self.authorities)
        answer = self.app if refusal is None else problem(403, refusal)
        await answer(scope, receive, send_guarded)


def refused(request: Request, authorities: frozenset[str]) -> str | None:
    """Why a request is not answered; None where it is."""
    hosts = request.headers.getlist("host")
    if len(hosts) != 1 or hosts[0].lower() not in authorities:
        return f"this server only answers for the host {', '.join(sorted(authorities))}"
    origins = {f"http://{authority}" for authority in authorities}
    if any(origin not in origins for origin in request.headers.getlist("origin")):
        return "a page from another origin may not ask this server"
    site, mode = request.headers.get("sec-fetch-site", "none"), request.headers.get("sec-fetch-mode")
    if site not in ("none", "same-origin") and not (mode == "navigate" and request.method == "GET"):
        return "a page from another site may not ask this server"
    return None


def problem(status: int, said: str, kind: str = "") -> Response:
    """An answer with an error message."""
    headers = {"connection": "close"} if status == 413 else None
    return Response(json.dumps({"error": said, "kind": kind}), status, headers, media_type="application/json")


def application(session: Session, authorities: frozenset[str]) -> Guard:
    """The whole server, for requests to these authorities (host and port)."""
    limiter = CapacityLimiter(WORKERS)
    files = static_files()

    async def static(request: Request) -> Response:
        return files.get(request.scope["path"]) or PlainTextResponse("no such file", 404)

    async def view(request: Request) -> Response:
        name, dot, format = request.path_params["view"].partition(".")
        if name not in VIEWS or (dot and format not in EXPORTS):
            return problem(
                404, f"no view {name!r}; the views are {', '.join(VIEWS)}, each also as {', '.join(EXPORTS)}"
            )
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return problem(415, "expected a body of type application/json")
        data = await received(request, MOST_BODY)
        if data is None:
            return problem(413, f"the body is longer than {MOST_BODY:,} bytes, or than {MOST_CHUNKED:,} in chunks")
        return await anyio.to_thread.run_sync(answer, session, name, format, data, limiter=limiter)

    about = Route("/api/about", lambda _: JSONResponse(session.about()))
    routes = [about, Route("/api/{view}", view, methods=["POST"]), Route("/{path:path}", static)]
    return Guard(Starlette(routes=routes), authorities)


def answer(session: Session, name: str, format: str, data: bytes) -> Response:
    """What one view answers to a body."""
    try:
        values = json.loads(data)
    except (ValueError, RecursionError) as error:  # including bytes that are not UTF-8 and huge numbers
        return problem(400, f"the body is not JSON: {error}")
    try:
        asked = Asked(session, values)
        if format:
            kind, text = exported(name, format, asked)
            return Response(text.encode("utf-8", "replace"), media_type=kind)
        # In ASCII, where a lone surrogate has its place too.
        return Response(json.dumps(shown(name, asked)), media_type="application/json")
    except UnknownText:
        return problem(409, "the server no longer has the text; send it again", kind="UnknownText")
    except toksmith.ToksmithError as error:
        return problem(400, words(error), kind=type(error).__name__)
    except Exception as error:
        LOG.exception("the view %s failed", name)
        return problem(500, f"unexpected {type(error).__name__}: {error}")
