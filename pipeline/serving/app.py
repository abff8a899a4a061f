"""The application: predictions at the addresses of MLflow's scoring server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import TYPE_CHECKING

from bakeoff.pipeline.model import Model
from bakeoff.pipeline.serving.answer import (
    NOTES_HEADER,
    answer_rows,
    choose_type,
    format_answer,
    format_notes,
    list_csv_notes,
)
from bakeoff.pipeline.serving.request_error import CODE_OF_STATUS, INTERNAL_ERROR, TOO_LARGE, RequestError
from bakeoff.pipeline.serving.request_rows import CSV_TYPE, JSON_TYPE, read_request
from bakeoff.pipeline.serving.worker_threads import WorkerThreads
from bakeoff.pipeline.tables.json_records import format_json

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

MAX_BODY_BYTES = 256 * 1024 * 1024
"""Of a request; larger tables are files for `bakeoff predict`."""
ADDRESSES = "POST /invocations, GET /ping, GET /health, GET /version"


def make_app(model: Model) -> Starlette:
    """Return the application that serves a model.

    Parameters
    ----------
    model : Model
    """
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
    """Return the body of a request.

    Parameters
    ----------
    request : Request

    Raises
    ------
    RequestError
        It is longer than `MAX_BODY_BYTES`.
    """
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
    """Answer after an unexpected error, of which the server prints the traceback."""
    message = f"the model failed: {type(error).__name__}: {error}"
    return _make_error_response(INTERNAL_ERROR, message)


def _make_error_response(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    code = CODE_OF_STATUS.get(status, "BAD_REQUEST")
    return _make_json_response(format_json({"error_code": code, "message": message}), status, headers)


def _make_json_response(text: str, status: int, headers: dict[str, str] | None = None) -> Response:
    from starlette.responses import Response

    return Response(text, status, headers, media_type=JSON_TYPE)
