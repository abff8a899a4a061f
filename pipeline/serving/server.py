"""The server: a socket on this machine, and the loop that answers until Ctrl-C."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.model import Model
from bakeoff.pipeline.serving.request import ServeRequest
from bakeoff.pipeline.tracking.loading import load_model

if TYPE_CHECKING:
    import uvicorn

BACKLOG_CONNECTIONS = 128
GRACE_SECONDS = 1
"""That requests may take to end after Ctrl-C."""


def open_model(request: ServeRequest) -> tuple[Model, socket.socket]:
    """Return a stored model, and the socket at which it is served.

    Parameters
    ----------
    request : ServeRequest

    Raises
    ------
    UserError
        There is no such model, the port is in use, or the host is not this machine.
    """
    # A port in use is found before the model is loaded, which takes longer.
    opened = open_socket(request.host, request.port)
    try:
        model = load_model(
            request.run, request.tracking__uri, request.tracking__experiment, request.dataset, request.trust
        )
    except BaseException:
        opened.close()
        raise
    return model, opened


def open_socket(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address and listens.

    Parameters
    ----------
    host : str
        A name or address of this machine.
    port : int
        0 for a free one.

    Raises
    ------
    UserError
        The port is in use, or the host is not this machine.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise UserError(f"host={host!r} is not a name or address of this machine ({error}).") from None
    family, kind, protocol, _, address = found[0]
    opened = socket.socket(family, kind, protocol)
    # A port whose last connections are being closed counts as free.
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        opened.bind(address)
        opened.listen(BACKLOG_CONNECTIONS)
    except OSError as error:
        opened.close()
        raise UserError(
            f"port={port} of host={host} cannot be used ({error.strerror}); give another one, such as "
            f"port={port + 1}, or port=0 for a free one."
        ) from None
    return opened


def is_loopback(opened: socket.socket) -> bool:
    """Return whether only this machine reaches a socket."""
    return ipaddress.ip_address(opened.getsockname()[0]).is_loopback


def name_address(opened: socket.socket) -> str:
    """Return the address of a socket for a browser."""
    host, port = opened.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def run_server(model: Model, opened: socket.socket) -> None:
    """Answer requests until the process receives SIGINT or SIGTERM, whose handlers are called at the end.

    Parameters
    ----------
    model : Model
    opened : socket
        Of `open_socket`; it is closed at the end.
    """
    try:
        make_server(model).run(sockets=[opened])
    finally:
        opened.close()


def make_server(model: Model) -> uvicorn.Server:
    """Return a server of a model."""
    import uvicorn

    from bakeoff.pipeline.serving.app import make_app

    settings = uvicorn.Config(
        make_app(model),
        lifespan="off",
        ws="none",
        access_log=False,
        # Loggers keep what the process has set; warnings and errors go to standard error.
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return uvicorn.Server(settings)
