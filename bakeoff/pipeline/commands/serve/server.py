"""The server: the routes of MLflow's scoring server, the socket, and limits on what clients may take up."""

from __future__ import annotations

import asyncio
import ctypes
import ipaddress
import re
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, final

import pyarrow as pa

from bakeoff.pipeline.commands.serve.answer import (
    BAD_REQUEST,
    BUSY,
    CSV_TYPE,
    JSON_TYPE,
    TIMED_OUT,
    TOO_LARGE,
    UNPROCESSABLE,
    UNSUPPORTED_TYPE,
    RequestError,
    answer_rows,
    format_answer,
    format_notes,
    read_request,
)
from bakeoff.pipeline.config.requests import RunRequest
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.model.pyfunc import Model
from bakeoff.pipeline.tables.document import format_json
from bakeoff.pipeline.tracking.models import load_model

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from uvicorn.protocols.http.h11_impl import H11Protocol

NOTES_HEADER = "X-Bakeoff-Notes"
CODE_OF_STATUS = {
    BAD_REQUEST: "BAD_REQUEST",
    TOO_LARGE: "REQUEST_TOO_LARGE",
    UNSUPPORTED_TYPE: "UNSUPPORTED_MEDIA_TYPE",
    TIMED_OUT: "REQUEST_TIMEOUT",
    BUSY: "TEMPORARILY_UNAVAILABLE",
    UNPROCESSABLE: "INVALID_PARAMETER_VALUE",
}
"""The key used in MLflow's errors, which its clients read."""
BACKLOG_CONNECTIONS = 128
HEADER_SECONDS = 10
"""The number of seconds after which a connection without a complete header is closed."""
GRACE_SECONDS = 1
"""The number of seconds that requests may take to finish after Ctrl-C."""
MAX_BODY_BYTES = 256_000_000
"""The maximum size of all bodies that are held at the same time; larger tables are files for `bakeoff predict`."""
BODY_SECONDS = 60
"""The number of seconds that a client may take to send a body."""
MIN_RELEASED_BYTES = 1_000_000
"""The size of a body from which its memory is returned to the operating system."""
RELEASE_SECONDS = 1


def make_app(model: Model, hosts: Sequence[str]) -> Starlette:
    """Return the application that serves a model; predictions are computed in threads.

    Parameters
    ----------
    model : Model
    hosts : sequence of str
        The allowed values of the header Host; ``*`` allows all.
    """
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.requests import ClientDisconnect
    from starlette.responses import Response
    from starlette.routing import Route

    bodies = Bodies()

    async def answer_ping(request: Request) -> Response:
        return Response("\n", media_type=JSON_TYPE)

    async def answer_version(request: Request) -> Response:
        return Response(version("mlflow"), media_type=JSON_TYPE)

    async def answer_prediction(request: Request) -> Response:
        content_type = request.headers.get("content-type", "")
        accepted = request.headers.get("accept", "").strip().lower()
        wanted = CSV_TYPE if accepted.startswith(CSV_TYPE) else JSON_TYPE
        async with bodies.receive(request) as body:
            return await run_in_threadpool(predict_body, model, body, content_type, wanted)

    async def answer_nobody(request: Request, error: Exception) -> Response:
        return Response(status_code=BAD_REQUEST)

    return Starlette(
        routes=[
            Route("/ping", answer_ping, methods=["GET"]),
            Route("/health", answer_ping, methods=["GET"]),
            Route("/version", answer_version, methods=["GET"]),
            Route("/invocations", answer_prediction, methods=["POST"]),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)],
        exception_handlers={RequestError: answer_refusal, ClientDisconnect: answer_nobody},
    )


def predict_body(model: Model, body: bytes | bytearray, content_type: str, wanted: str) -> Response:
    """Return the response to the body of a request.

    Parameters
    ----------
    model : Model
    body : bytes or bytearray
    content_type : str
        The content type of the body.
    wanted : {"application/json", "text/csv"}

    Raises
    ------
    RequestError
        The body cannot be read, or its rows do not fit the model.
    """
    from starlette.responses import Response

    rows = read_request(body, content_type, model.record)
    try:
        answer = answer_rows(model, rows, {})
    except UserError as error:
        raise RequestError(UNPROCESSABLE, describe_refusal(error)) from None
    has_header = wanted == CSV_TYPE and bool(answer.notes)
    headers = {NOTES_HEADER: format_notes(answer.notes)} if has_header else {}
    return Response(format_answer(answer, wanted), media_type=wanted, headers=headers)


def describe_refusal(error: UserError) -> str:
    """Return the message without the keys of a dataset, which a client does not have.

    Examples
    --------
    >>> describe_refusal(UserError("'age' was numeric, but 'x' is not a number; add dataset.na_values=[x]."))
    "'age' was numeric, but 'x' is not a number."
    """
    cause, *cures = re.split(r"[;.] (?=[^;.]*dataset\.)", str(error))
    return f"{cause}." if cures else cause


def answer_refusal(request: Request, error: Exception) -> Response:
    """Respond to an invalid request with its status and a sentence."""
    from starlette.responses import Response

    assert isinstance(error, RequestError)
    text = format_json({"error_code": CODE_OF_STATUS[error.status], "message": str(error)})
    # If the body did not arrive in time, do not wait for the rest of it.
    headers = {"Connection": "close"} if error.status == TIMED_OUT else {}
    return Response(text, error.status, headers, media_type=JSON_TYPE)


@final
class Bodies:
    """The bodies that a server holds.

    Attributes
    ----------
    n_bytes : int
        Their size.
    """

    def __init__(self) -> None:
        self.n_bytes = 0

    @asynccontextmanager
    async def receive(self, request: Request) -> AsyncIterator[bytearray]:
        """Receive the body of a request, and release it at the end of the block.

        Parameters
        ----------
        request : Request

        Raises
        ------
        RequestError
            The body is too large, alone or together with the others, or does not arrive in time.
        """
        body = bytearray()
        try:
            await self._collect(request, body)
            yield body
        finally:
            self.n_bytes -= len(body)
            if len(body) >= MIN_RELEASED_BYTES:
                # After this delay, nothing refers to the rows any more, or to an error that they caused.
                loop = asyncio.get_running_loop()
                loop.call_later(RELEASE_SECONDS, loop.run_in_executor, None, release_memory)

    async def _collect(self, request: Request, body: bytearray) -> None:
        n_received = 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                # What exceeds the limit is received as well, because clients read the response after sending the body.
                async for piece in request.stream():
                    n_received += len(piece)
                    if self.n_bytes + len(piece) <= MAX_BODY_BYTES:
                        self.n_bytes += len(piece)
                        body += piece
        except TimeoutError:
            raise RequestError(TIMED_OUT, f"the body did not arrive within {BODY_SECONDS} seconds.") from None
        limit = f"{MAX_BODY_BYTES // 1_000_000} MB"
        if n_received > MAX_BODY_BYTES:
            raise RequestError(TOO_LARGE, f"the body is larger than {limit}; use bakeoff predict for files.")
        if n_received > len(body):
            raise RequestError(
                BUSY, f"the bodies of all current requests exceed {limit}; send the request again later."
            )


def release_memory() -> None:
    """Return unused memory to the operating system, which the C library and Arrow otherwise keep for later."""
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        with suppress(AttributeError):  # C libraries other than glibc
            ctypes.CDLL(None).malloc_trim(0)


def open_model(request: RunRequest, host: str, port: int) -> tuple[Model, socket.socket]:
    """Return a stored model and the socket on which it is served.

    Parameters
    ----------
    request : RunRequest
    host : str
    port : int

    Raises
    ------
    UserError
        The model does not exist, the port is in use, or the host is not this machine.
    """
    # A port in use is detected before the model is loaded, which takes longer.
    opened = open_socket(host, port)
    try:
        model = load_model(request)
    except BaseException:
        opened.close()
        raise
    return model, opened


def open_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address.

    Parameters
    ----------
    host : str
        A name or address of this machine.
    port : int
        The port, or 0 for any free port.

    Raises
    ------
    UserError
        The port is in use, or the host is not this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        opened = socket.create_server((host, port), family=family, backlog=BACKLOG_CONNECTIONS)
    except (OSError, UnicodeError) as error:
        raise UserError(
            f"port={port} of host={host} cannot be used ({error}); give another one, such as port={port + 1}, port=0 "
            "for a free one, or an address of this machine."
        ) from None
    # asyncio sets this only if the socket states its protocol; otherwise, a response waits 40 ms for the client.
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


def is_loopback(opened: socket.socket) -> bool:
    """Return whether only this machine can reach a socket."""
    return ipaddress.ip_address(opened.getsockname()[0]).is_loopback


def name_address(opened: socket.socket) -> str:
    """Return the address of a socket for a browser."""
    host, port = opened.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def list_hosts(opened: socket.socket) -> list[str]:
    """Return the allowed values of the header Host.

    If only this machine can reach the socket, these are its names, because the page of a domain that is resolved to
    this machine could otherwise send requests from its browser (DNS rebinding).
    """
    if not is_loopback(opened):
        return ["*"]
    host = opened.getsockname()[0]
    return ["localhost", f"[{host}]" if ":" in host else host]


def make_connection_class() -> type[H11Protocol]:
    """Return a class of connections that are closed if a header does not arrive before the timeout.

    uvicorn stops its timer when the first byte of a header arrives; here, it runs until the header is complete.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    @final
    class Connection(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            close = self.timeout_keep_alive_handler
            self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, close)

        def data_received(self, data: bytes) -> None:
            self.conn.receive_data(data)
            self.handle_events()

    return Connection


def run_server(model: Model, opened: socket.socket) -> None:
    """Answer requests until the process receives SIGINT or SIGTERM, whose handlers are then called.

    Parameters
    ----------
    model : Model
    opened : socket
        The socket returned by `open_socket`; it is closed at the end.
    """
    with opened:
        make_server(model, opened).run(sockets=[opened])


def make_server(model: Model, opened: socket.socket) -> uvicorn.Server:
    """Return a server for a model on a socket."""
    import uvicorn

    settings = uvicorn.Config(
        make_app(model, list_hosts(opened)),
        http=make_connection_class(),
        timeout_keep_alive=HEADER_SECONDS,
        lifespan="off",
        ws="none",
        access_log=False,
        # Loggers keep the settings of the process; warnings and errors go to standard error.
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return uvicorn.Server(settings)
