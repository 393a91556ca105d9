"""The playground: a page on this machine that answers "why did it cut there?" for any tokenizers.

`server` handles HTTP and access, `views/` the table of views, `rows` the layout of long texts, `static/`
the page; `snapshot` makes a page that needs no server. Of toksmith they use the public names only; no token is made in a
page. Left out: any rule about tokens.
"""

from __future__ import annotations

import contextlib
import errno
import html
import ipaddress
import socket
import threading
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import toksmith

from .._base.arguments import refuse, text, whole_number
from .._base.system import SYSTEM
from .snapshots import Snapshot, snapshot
from .sources import Sources, loaded

if TYPE_CHECKING:
    import uvicorn
    from typing_extensions import Self

__all__ = ["Playground", "Snapshot", "play", "snapshot"]

PORTS_TRIED = 50


class Playground:
    """A running playground: the page is at `url` until `stop`, which leaving a
    `with` block calls too.

    Attributes:
        url: Where the page is.
        port: The port that was free.
        tokenizers: The names of the tokenizers that are there.
        failed: Names of those that could not be loaded, with the reason.
    """

    def __init__(self, server: uvicorn.Server, bound: socket.socket, session: Any) -> None:
        host, self.port = bound.getsockname()[:2]
        self.url = f"http://{authority(host, self.port)}/"
        self.tokenizers: tuple[str, ...] = tuple(session.toks)
        self.failed: Mapping[str, str] = dict(session.failed)
        self._server = server
        self._thread = threading.Thread(target=server.run, args=([bound],), name="toksmith-play", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Returns when the server has stopped; Ctrl-C stops it."""
        with contextlib.suppress(KeyboardInterrupt):
            while self._thread.is_alive():
                self._thread.join(0.5)
        self.stop()

    def stop(self) -> None:
        """Stops the server and closes its port; the page keeps its text and says
        that the server is gone."""
        self._server.should_exit = True
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Playground {self.url}>"

    def _repr_html_(self) -> str:
        return f'<div><p>playground: <a href="{html.escape(self.url)}">{html.escape(self.url)}</a></p></div>'


def play(
    toks: Sources, *, host: str = "127.0.0.1", port: int = 0, texts: Mapping[str, str] | None = None
) -> Playground:
    """A page on this machine that shows what tokenizers make of a text, down to
    the bytes; nothing leaves the machine.

    The server runs in its own thread until `stop()` or the end of the program.
    It answers this machine only, and no page of another origin. What cannot be
    loaded is named on the page, and the others work.

    Args:
        toks: A tokenizer, several by name, or several in order; instead of each
            what `toksmith.load` takes.
        host: A loopback address: 127.0.0.1, ::1 or localhost.
        port: Where to listen; where it is in use, the next that is free. 0: any
            that is free.
        texts: The same text in several languages, by name, for the chart of
            languages; None for the playground's own.
    Returns:
        The running server, with its `url`.
    Raises:
        InvalidOption: `host` is not a loopback address, no tokenizer was given,
            or no port is free.
        ImportError: The extra `toksmith[play]` is not installed.
        ToksmithError: No tokenizer could be loaded; the first one's error.

    >>> import toksmith
    >>> tok = toksmith.train("low lower lowest", merges=3, pattern=None)
    >>> with toksmith.play({"low": tok}) as playground:
    ...     playground.url, playground.tokenizers
    ('http://127.0.0.1:...', ('low',))
    """
    try:
        import uvicorn

        from .connections import EndingServer, FairConnection
        from .server import application
        from .views import Session
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("toksmith"):
            raise
        raise ImportError(f"the playground needs {error.name}: pip install 'toksmith[play]'") from error

    host, port = text(host, "host"), whole_number(port, "port")
    if texts is not None:
        if not isinstance(texts, Mapping):
            refuse("texts", "a mapping (a dict)", texts)
        for each in (each for pair in texts.items() for each in pair):
            if not isinstance(each, str):
                refuse("texts", "texts by name", each)
    session = Session(*loaded(toks), toksmith.metrics.LANGUAGES if texts is None else texts)
    bound = listening(host, port)
    own_host, own_port = bound.getsockname()[:2]
    authorities = frozenset(authority(name, own_port) for name in (own_host, "localhost", "127.0.0.1"))
    app = application(session, authorities)
    config = uvicorn.Config(
        app,
        http=FairConnection,
        loop="asyncio",
        log_level="warning",
        use_colors=False,
        access_log=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=1,
    )
    threading.Thread(target=warm, args=([*session.toks.values()],), name="toksmith-warm", daemon=True).start()
    return Playground(EndingServer(config, app.forget), bound, session)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens at a loopback address, on the first port from `port` on that is free."""
    address = "127.0.0.1" if host == "localhost" else host
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        raise toksmith.InvalidOption("host", host, "a loopback address such as 127.0.0.1") from None
    if not ip.is_loopback:
        raise toksmith.InvalidOption(
            "host", host, "a loopback address such as 127.0.0.1, because only this machine may connect"
        )
    if not 0 <= port <= 65535:
        raise toksmith.InvalidOption("port", port, "0 to 65,535")
    family = socket.AF_INET6 if ip.version == 6 else socket.AF_INET
    last = port if port == 0 else min(65535, port + PORTS_TRIED - 1)
    for tried in range(port, last + 1):
        # The protocol is named, because asyncio sends answers at once (TCP_NODELAY) only where it is.
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            if SYSTEM.frees_ports_late:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((address, tried))
            bound.listen(2048)
            return bound
        except OSError as error:
            bound.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
    raise toksmith.InvalidOption("port", port, f"a port such that one up to {last} is free")


def authority(host: str, port: int) -> str:
    """Host and port as in a URL and in the Host header."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def warm(toks: Sequence[toksmith.Tokenizer]) -> None:
    """Ask each tokenizer for what takes its time at the first call."""
    for tok in toks:
        with contextlib.suppress(toksmith.ToksmithError):  # reported when it is requested
            tok.heal("")
            if len(tok.model.ids):
                toksmith.explain.tree(tok, int(tok.model.ids[0]))
