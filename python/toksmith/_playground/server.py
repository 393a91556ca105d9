"""The page over HTTP, on this machine only: access, limits, and the browser's policy.

The server answers a request only if its host is this server and its origin is no other page, so no other page can send requests
(not by DNS rebinding either). Requests are JSON and limited in size. The files come from a table that is filled at the start,
so no path reaches another file. The policy lets the browser run only this server's scripts and connect only to this server.
Left out: the content of views, which `views` makes.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path
from threading import Event
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import toksmith

from .bundle import first_files
from .connections import Bodies, Turns, values_of
from .views import EXPORTS, VIEWS, ClientLeft, Session, UnknownText, ViewRequest, answer_values, export_view, is_long
from .words import message_of

LOG = logging.getLogger("toksmith")
MOST_BODY = 64_000_000  # a text of the allowed size can be six times as long in JSON
MOST_BODIES = 2 * MOST_BODY  # of all requests together
# Requests that run at once, and requests that wait.
SHORT_TURNS, LONG_TURNS = (4, 2048), (2, 16)
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def static_files() -> dict[str, Response]:
    """The files of the page by the path of their request."""
    responses: dict[str, Response] = {}
    static = files("toksmith._playground") / "static"
    folders = [("/static", static)]
    for path, folder in folders:  # the loop appends subfolders
        for file in folder.iterdir():
            if file.is_dir():
                folders.append((f"{path}/{file.name}", file))
            elif (kind := TYPES.get(file.name.rpartition(".")[2])) is not None:
                responses[f"{path}/{file.name}"] = Response(file.read_bytes(), media_type=kind)
    for name, text in first_files(Path(str(static))).items():
        responses[f"/static/{name}"] = Response(text, media_type=TYPES[name.rpartition(".")[2]])
    responses["/"] = responses.pop("/static/index.html")
    return responses


class Guard:
    """Answers only allowed requests, and adds the headers to every answer."""

    def __init__(self, app: ASGIApp, authorities: frozenset[str], forget: Callable[[], None]) -> None:
        self.app, self.authorities, self.forget = app, authorities, forget

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in headers_for(scope).items()]
                message = {**message, "headers": [*message["headers"], *own]}
            await send(message)

        if scope["type"] != "http":
            return
        refusal = refusal_reason(Request(scope), self.authorities)
        answer = self.app if refusal is None else problem_response(403, refusal)
        await answer(scope, receive, send_guarded)


def refusal_reason(request: Request, authorities: frozenset[str]) -> str | None:
    """The reason to refuse a request, or None."""
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


def problem_response(status: int, message: str, kind: str = "") -> Response:
    headers = {"connection": "close"} if status in (413, 503) else None
    return Response(json.dumps({"error": message, "kind": kind}), status, headers, media_type="application/json")


def application(session: Session, authorities: frozenset[str]) -> Guard:
    """The application, for requests to these authorities (host and port)."""
    short, long, bodies = Turns(*SHORT_TURNS), Turns(*LONG_TURNS), Bodies(MOST_BODIES)
    files = static_files()

    async def static(request: Request) -> Response:
        return files.get(request.scope["path"]) or PlainTextResponse("no such file", 404)

    async def about(_: Request) -> Response:
        return JSONResponse(session.about())

    async def view(request: Request) -> Response:
        name, dot, format = request.path_params["view"].partition(".")
        if name not in VIEWS or (dot and format not in EXPORTS):
            return problem_response(
                404, f"no view {name!r}; the views are {', '.join(VIEWS)}, each also as {', '.join(EXPORTS)}"
            )
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return problem_response(415, "expected a body of type application/json")
        async with bodies.receive(request, MOST_BODY) as data:
            if isinstance(data, tuple):
                return problem_response(*data)
            turns = long if is_long(session, name, data) else short
            response = await turns.answer(request, lambda left: answer_view(session, name, format, data, left))
        return response or problem_response(
            503, "the server has other long questions to answer, or stops; ask again in a moment"
        )

    def forget() -> None:
        short.stop()
        long.stop()

    routes = [Route("/api/about", about), Route("/api/{view}", view, methods=["POST"]), Route("/{path:path}", static)]
    return Guard(Starlette(routes=routes), authorities, forget)


def answer_view(session: Session, name: str, format: str, data: bytes, left: Event | None = None) -> Response:
    """The answer of one view to a body; `left` is set when the client has disconnected."""
    try:
        values = values_of(data)
    except (ValueError, RecursionError) as error:  # including bytes that are not UTF-8 and huge numbers
        return problem_response(400, f"the body cannot be read as JSON: {error}")
    try:
        question = ViewRequest(session, values, left)
        if format:
            kind, text = export_view(name, format, question)
            return Response(text.encode("utf-8", "replace"), media_type=kind)
        # As ASCII JSON, which can hold a lone surrogate.
        return Response(json.dumps(answer_values(name, question)), media_type="application/json")
    except ClientLeft as error:
        return problem_response(503, str(error))
    except UnknownText:
        return problem_response(409, "the server no longer has the text; send it again", kind="UnknownText")
    except toksmith.ToksmithError as error:
        return problem_response(400, message_of(error), kind=type(error).__name__)
    except Exception as error:
        LOG.exception("the view %s failed", name)
        return problem_response(500, f"unexpected {type(error).__name__}: {error}")


# No page may frame this one (clickjacking), except for `?embed=1`, which pages served by this machine (notebooks) may frame.
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
