"""Serves the page: to this machine alone, at an address that cannot be guessed."""

from __future__ import annotations

import gc
import secrets
import socket
from typing import Any

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.document import Document
from bokeh.server.server import Server
from threadpoolctl import threadpool_limits
from tornado.ioloop import IOLoop

from octavo.app.controller import MapController
from octavo.app.map_document import MapDocument
from octavo.app.map_meter import MapMeter
from octavo.app.map_tables import MapTable
from octavo.kernel.steered.interactive_session import InteractiveSession

HOST = "127.0.0.1"
KEPT = 3600 * 1000  # milliseconds that a tab may sleep before its session is forgotten


class MapServer:
    """A server of maps, one a tab.

    Parameters
    ----------
    table : MapTable
        The rows.
    session : InteractiveSession
        Where every tab starts; it is left alone.
    port : int, default=0
        Port of this machine; 0 takes one that is free.

    Attributes
    ----------
    url : str
        The address of the page. Whoever has it can use the page; nothing else is served.
    controllers : list of MapController
        Of the tabs opened so far, in their order.
    """

    def __init__(self, table: MapTable, session: InteractiveSession, port: int = 0) -> None:
        self.table, self.session = table, session
        self.controllers: list[MapController] = []
        self._meter = MapMeter(table.X)
        token = secrets.token_urlsafe(32)
        port = port or _free_port()
        self._server = Server(
            {"/": Application(FunctionHandler(self._open_tab))},
            port=port,
            address=HOST,
            prefix=f"/{token}",
            allow_websocket_origin=[f"{HOST}:{port}", f"localhost:{port}"],
            use_index=False,
            unused_session_lifetime_milliseconds=KEPT,
            check_unused_sessions_milliseconds=60_000,
        )
        _send_at_once(self._server._http)
        self.url = f"http://localhost:{port}/{token}/"
        self.port = port

    def _open_tab(self, doc: Document) -> None:
        controller = MapController(self.table, self.session.fork(), meter=self._meter)
        self.controllers.append(controller)
        MapDocument(doc, controller)

        def forget(context: Any) -> None:
            self.controllers.remove(controller)

        doc.on_session_destroyed(forget)

    def start(self) -> None:
        """Begin to answer, once the loop runs."""
        self._server.start()

    def run(self) -> None:
        """Answer until interrupted."""
        self.start()
        gc.collect()
        gc.freeze()  # what is there now stays; looking through it would delay an answer
        try:
            # Matrices of this size gain little from threads, and wait long for one that is late.
            with threadpool_limits(limits=1, user_api="blas"):
                IOLoop.current().start()
        except KeyboardInterrupt:
            pass
        finally:
            self.stop()

    def stop(self) -> None:
        """Stop answering and close every connection."""
        self._server.stop(wait=False)


def _send_at_once(server: Any) -> None:
    """Let no part of an answer wait until the part before has been received.

    Tornado turns that wait (Nagle's algorithm) on and off request by request, and leaves it on
    for web sockets.
    """
    handle = server.handle_stream

    def handle_stream(stream: Any, address: Any) -> Any:
        stream.set_nodelay(True)
        stream.set_nodelay = lambda value: None
        return handle(stream, address)

    server.handle_stream = handle_stream


def _free_port() -> int:
    # The origins that may connect have to be named before the server binds its port.
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
