"""The server: an application at the addresses of MLflow's scoring server, a socket, and threads for predictions."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, final

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.model.served_model import Model
from bakeoff.pipeline.serving.answer import (
    NOTES_HEADER,
    answer_rows,
    choose_type,
    format_answer,
    format_notes,
    list_csv_notes,
)
from bakeoff.pipeline.serving.request import ServeRequest
from bakeoff.pipeline.serving.request_rows import (
    CODE_OF_STATUS,
    CSV_TYPE,
    INTERNAL_ERROR,
    JSON_TYPE,
    TOO_LARGE,
    UNAVAILABLE,
    RequestError,
    read_request,
)
from bakeoff.pipeline.tables.table_formats import format_json
from bakeoff.pipeline.tracking.loading import load_model

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

N_THREADS = 4
"""Requests that are predicted at the same time."""


@final
class WorkerThreads:
    """Runs functions in threads, some at a time.

    Unlike those of the standard library, the threads do not keep the process alive: a long prediction does not delay
    its end.

    Parameters
    ----------
    n_threads : int
    """

    def __init__(self, n_threads: int = N_THREADS) -> None:
        self._free = asyncio.Semaphore(n_threads)

    async def run(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a function, computed in a thread.

        Parameters
        ----------
        function : callable
        *arguments : object

        Raises
        ------
        RequestError
            The server ends before the function does.
        """
        async with self._free:
            loop = asyncio.get_running_loop()
            result: asyncio.Future[Any] = loop.create_future()

            def compute() -> None:
                try:
                    value = function(*arguments)
                except BaseException as error:
                    _report(loop, result, result.set_exception, error)
                else:
                    _report(loop, result, result.set_result, value)

            threading.Thread(target=compute, daemon=True, name="prediction").start()
            try:
                return await result
            except asyncio.CancelledError:
                raise RequestError(UNAVAILABLE, "the server has ended before the prediction was computed.") from None


def _report(
    loop: asyncio.AbstractEventLoop, result: asyncio.Future[Any], setter: Callable[[Any], None], value: Any
) -> None:
    """Hand a result over to the loop, unless the request or the loop has ended."""

    def set_unless_done() -> None:
        if not result.done():
            setter(value)

    try:
        loop.call_soon_threadsafe(set_unless_done)
    except RuntimeError:  # the loop is closed
        return


MAX_BODY_BYTES = 256 * 1024 * 1024
"""Of a request; larger tables are files for `bakeoff predict`."""
ADDRESSES = "POST /invocations, GET /ping, GET /health, GET /version"


def make_app(model: Model) -> Starlette:
    """Return the application that serves a model."""
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.routing import Route

    threads = WorkerThreads()
    return Starlette(
        routes=[
            Route("/ping", answer_ping, methods=["GET"]),
            Route("/health", answer_ping, methods=["GET"]),
            Route("/version", answer_version, methods=["GET"]),
            Route("/invocations", _make_prediction_endpoint(model, threads), methods=["POST"]),
        ],
        exception_handlers={
            RequestError: answer_refusal,
            HTTPException: answer_wrong_address,
            INTERNAL_ERROR: answer_failure,
        },
    )


def _make_prediction_endpoint(model: Model, threads: WorkerThreads) -> Callable[[Request], Awaitable[Response]]:
    async def answer_prediction(request: Request) -> Response:
        body = await read_body(request)
        content_type = request.headers.get("content-type", "")
        wanted = choose_type(request.headers.get("accept", ""))
        response: Response = await threads.run(predict_body, model, body, content_type, wanted)
        return response

    return answer_prediction


def predict_body(model: Model, body: bytes, content_type: str, wanted: str) -> Response:
    """Return the response to the body of a request.

    Parameters
    ----------
    model : Model
    body : bytes
    content_type : str
        Of the body.
    wanted : {"application/json", "text/csv"}

    Raises
    ------
    RequestError
        The body cannot be read, or its rows do not fit the model.
    """
    from starlette.responses import Response

    answer = answer_rows(model, read_request(body, content_type))
    notes = list_csv_notes(answer) if wanted == CSV_TYPE else ()
    headers = {NOTES_HEADER: format_notes(notes)} if notes else {}
    return Response(format_answer(answer, wanted), media_type=wanted, headers=headers)


async def read_body(request: Request) -> bytes:
    """Return the body of a request; raise RequestError if it is longer than `MAX_BODY_BYTES`."""
    pieces = []
    n_bytes = 0
    async for piece in request.stream():
        n_bytes += len(piece)
        if n_bytes > MAX_BODY_BYTES:
            megabytes = MAX_BODY_BYTES // (1024 * 1024)
            raise RequestError(TOO_LARGE, f"the body is larger than {megabytes} MB; use bakeoff predict for files.")
        pieces.append(piece)
    return b"".join(pieces)


async def answer_ping(request: Request) -> Response:
    """Say that the model is loaded, as MLflow's scoring server does."""
    return _make_json_response("\n", 200)


async def answer_version(request: Request) -> Response:
    """Return the version of MLflow, whose protocol this is."""
    return _make_json_response(version("mlflow"), 200)


async def answer_refusal(request: Request, error: Exception) -> Response:
    """Answer a request that cannot be answered with its status and a sentence."""
    assert isinstance(error, RequestError)
    return _make_error_response(error.status, str(error))


async def answer_wrong_address(request: Request, error: Exception) -> Response:
    """Answer a request for something that is not here."""
    status = int(getattr(error, "status_code", 404))
    headers = getattr(error, "headers", None)
    message = f"{request.method} {request.url.path} is not answered here. Allowed: {ADDRESSES}."
    return _make_error_response(status, message, headers)


async def answer_failure(request: Request, error: Exception) -> Response:
    """Answer after an unexpected error, whose traceback the server prints."""
    message = f"the model failed: {type(error).__name__}: {error}"
    return _make_error_response(INTERNAL_ERROR, message)


def _make_error_response(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    code = CODE_OF_STATUS.get(status, "BAD_REQUEST")
    return _make_json_response(format_json({"error_code": code, "message": message}), status, headers)


def _make_json_response(text: str, status: int, headers: dict[str, str] | None = None) -> Response:
    from starlette.responses import Response

    return Response(text, status, headers, media_type=JSON_TYPE)


BACKLOG_CONNECTIONS = 128
GRACE_SECONDS = 1
"""The seconds that requests may take to end after Ctrl-C."""


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
    # A port in use is detected before the model is loaded, which takes longer.
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

    settings = uvicorn.Config(
        make_app(model),
        lifespan="off",
        ws="none",
        access_log=False,
        # Loggers keep the settings of the process; warnings and errors go to standard error.
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    return uvicorn.Server(settings)
