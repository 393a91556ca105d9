"""The playground: a page on this machine that explains the cuts of any tokenizers.

`server` handles HTTP and access, `views/` answers the page, `layout` and `rows` lay out long texts, `static/` is the page;
`snapshots` makes a page without a server. They use only the public names of toksmith, and a page computes no token. Left out:
any rule about tokens.
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

from .._base.arguments import check_int, check_text, raise_wrong_type
from .._base.system import SYSTEM
from .snapshots import Snapshot, snapshot
from .sources import Sources, load_sources

if TYPE_CHECKING:
    import uvicorn
    from typing_extensions import Self

__all__ = ["Playground", "Snapshot", "play", "snapshot"]

PORTS_TRIED = 50


class Playground:
    """A running playground: the page is at `url` until `stop`, which the end of a
    `with` block calls too.

    Attributes:
        url: The address of the page.
        port: The port of the server.
        tokenizers: The names of the loaded tokenizers.
        failed: The names of the tokenizers that could not be loaded, with the
            reason.
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
        """Waits until the server has stopped; Ctrl-C stops it."""
        with contextlib.suppress(KeyboardInterrupt):
            while self._thread.is_alive():
                self._thread.join(0.5)
        self.stop()

    def stop(self) -> None:
        """Stops the server and closes its port; the page keeps its text and
        reports that the server has stopped."""
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
    """A page on this machine that shows the tokens of a text, down to the bytes;
    no data leaves the machine.

    The server runs in a separate thread until `stop()` or the end of the
    program. It answers only this machine, and no page of another origin. The
    page names tokenizers that cannot be loaded, and works with the others.

    Args:
        toks: A tokenizer, several by name, or several in order; each can be an
            argument of `toksmith.load` instead.
        host: A loopback address: 127.0.0.1, ::1 or localhost.
        port: The port to listen on, or the next free one if it is in use. 0:
            any free port.
        texts: The same text in several languages, by name, for the chart of
            languages; None for the playground's own texts.
    Returns:
        The running server, with its `url`.
    Raises:
        InvalidOption: `host` is not a loopback address, `toks` is empty, or no
            port is free.
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

    host, port = check_text(host, "host"), check_int(port, "port")
    if texts is not None:
        if not isinstance(texts, Mapping):
            raise_wrong_type("texts", "a mapping (a dict)", texts)
        for each in (each for pair in texts.items() for each in pair):
            if not isinstance(each, str):
                raise_wrong_type("texts", "texts by name", each)
    session = Session(*load_sources(toks), toksmith.metrics.LANGUAGES if texts is None else texts)
    bound = listen(host, port)
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
    threading.Thread(target=warm_caches, args=([*session.toks.values()],), name="toksmith-warm", daemon=True).start()
    return Playground(EndingServer(config, app.forget), bound, session)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens at a loopback address, on the first free port from `port` on."""
    address = "127.0.0.1" if host == "localhost" else host
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        raise toksmith.errors.InvalidOption("host", host, "a loopback address such as 127.0.0.1") from None
    if not ip.is_loopback:
        raise toksmith.errors.InvalidOption(
            "host", host, "a loopback address such as 127.0.0.1, because only this machine may connect"
        )
    if not 0 <= port <= 65535:
        raise toksmith.errors.InvalidOption("port", port, "0 to 65,535")
    family = socket.AF_INET6 if ip.version == 6 else socket.AF_INET
    last = port if port == 0 else min(65535, port + PORTS_TRIED - 1)
    for number in range(port, last + 1):
        # asyncio sets TCP_NODELAY, which sends answers at once, only on a socket with an explicit protocol.
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            if SYSTEM.frees_ports_late:
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind((address, number))
            bound.listen(2048)
            return bound
        except OSError as error:
            bound.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
    raise toksmith.errors.InvalidOption("port", port, f"a port with a free one from it up to {last}")


def authority(host: str, port: int) -> str:
    """Host and port in the form of a URL and of the Host header."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def warm_caches(toks: Sequence[toksmith.Tokenizer]) -> None:
    """Fills the caches of each tokenizer that make first calls slow."""
    for tok in toks:
        with contextlib.suppress(toksmith.ToksmithError):  # reported when it is requested
            tok.heal("")
            if len(tok.model.ids):
                toksmith.explain.token(tok, int(tok.model.ids[0]))
