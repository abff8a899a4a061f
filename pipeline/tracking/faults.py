"""Why a store cannot be used: which errors of MLflow's client mean that, and a question that tells the reason.

All other errors are answers of a store that works. A server is asked the question before it is used, because MLflow's
client would repeat its requests for minutes in silence.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import hide_secrets

LOCKED_WORDS = ("locked", "busy")
"""Words of SQLite for a file that another process writes."""
SQLITE_MODULE = "sqlite3"
BODY_WORDS = "Response body:"
"""MLflow's client writes this where it did not get an answer of MLflow's server."""
TEMPORARY_CODES = ("TEMPORARILY_UNAVAILABLE", "INTERNAL_ERROR", "REQUEST_LIMIT_EXCEEDED")
TEMPORARY_STATUSES = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
MAX_REASON_LETTERS = 300
HEALTH = "/health"
"""The path of the question."""
DATABASES_WITH_TIMEOUT = ("postgresql", "mysql")
"""Databases whose drivers take ``connect_timeout``, in seconds."""


@dataclass(frozen=True)
class Fault:
    """Why a store cannot be used.

    Attributes
    ----------
    reason : str
        A part of a sentence.
    is_temporary : bool
        Whether the same call may succeed a little later.
    is_silence : bool
        Whether a call was not answered in time.
    """

    reason: str
    is_temporary: bool = True
    is_silence: bool = False

    @property
    def is_lock(self) -> bool:
        """Whether another process writes into the file."""
        return any(word in self.reason for word in LOCKED_WORDS)


def find_fault(error: BaseException) -> Fault | None:
    """Return the fault of the store behind an error of MLflow's client.

    Parameters
    ----------
    error : BaseException

    Returns
    -------
    Fault or None
        None if the store works and has refused the call, for example because there is no such run.
    """
    for each in _list_causes(error):
        fault = _find_database_fault(each) or _find_network_fault(each) or _find_answer_fault(each)
        if fault is not None:
            return fault
    return None


def find_cause(error: BaseException) -> str:
    """Return the first line of the innermost error: the outer ones repeat the address and name classes."""
    *_, innermost = _list_causes(error)
    reason = getattr(innermost, "strerror", None) or str(innermost).strip() or type(innermost).__name__
    return _shorten(reason)


def _list_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those that it was raised for, the outermost first."""
    following: BaseException | None = error
    while following is not None:
        yield following
        following = following.__cause__ or following.__context__


def _find_database_fault(error: BaseException) -> Fault | None:
    """Return the fault of a database: errors of its operation, not those that a constraint or a query causes."""
    from sqlalchemy import exc

    original = getattr(error, "orig", None) or error
    reason = _shorten(str(original))
    if isinstance(error, exc.OperationalError | sqlite3.OperationalError):
        is_file = type(original).__module__ == SQLITE_MODULE
        return Fault(reason, is_temporary=not is_file or Fault(reason).is_lock)
    # Of subclasses, those of constraints and queries are answers; the class itself is a damaged file.
    if type(error) in (exc.DatabaseError, sqlite3.DatabaseError):
        return Fault(reason, is_temporary=False)
    return Fault("its connections are all in use") if isinstance(error, exc.TimeoutError) else None


def _find_network_fault(error: BaseException) -> Fault | None:
    """Return the fault of a connection to a server, or of a server that answers with a status of failure."""
    from requests import RequestException
    from requests.exceptions import TooManyRedirects

    if isinstance(error, RequestException):
        status = getattr(error.response, "status_code", None)
        is_refusal = status is not None and HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
        if is_refusal and status not in TEMPORARY_STATUSES:
            return None
        return Fault(find_cause(error), is_temporary=not isinstance(error, TooManyRedirects))
    return Fault(find_cause(error)) if isinstance(error, ConnectionError | TimeoutError) else None


def _find_answer_fault(error: BaseException) -> Fault | None:
    """Return the fault of a server that does not answer as MLflow's does: that of a proxy, for example."""
    from mlflow.exceptions import MlflowException, RestException

    if not isinstance(error, MlflowException):
        return None
    text, separator, _ = str(error).partition(BODY_WORDS)
    if separator:
        return Fault(_shorten(text), is_temporary=False)
    # A server has sent an error of this class.
    is_temporary = isinstance(error, RestException) and error.error_code in TEMPORARY_CODES
    return Fault(_shorten(text)) if is_temporary else None


def _shorten(text: str) -> str:
    """Return the first line of a text, without the full stop."""
    lines = text.strip().splitlines() or ["no reason is given"]
    return lines[0][:MAX_REASON_LETTERS].strip().rstrip(".")


def is_server(uri: str) -> bool:
    """Whether the store at a URI from `store_uri` is an MLflow server."""
    return uri.startswith(("http://", "https://"))


def make_question(uri: str, seconds: float) -> Callable[[], None]:
    """Return a function that asks a server, or a database on one, and raises why it cannot be used.

    What it needs is imported here, before its time is taken.

    Parameters
    ----------
    uri : str
    seconds : float
        In which each step of the answer is expected.

    Raises
    ------
    UserError
        The driver of the database is not installed.
    """
    if is_server(uri):
        from mlflow.utils.credentials import get_default_host_creds

        return partial(_ask_server, get_default_host_creds(uri), seconds)
    from sqlalchemy import create_engine
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError

    try:
        url = make_url(uri)
        has_timeout = url.get_backend_name() in DATABASES_WITH_TIMEOUT
        engine = create_engine(url, connect_args={"connect_timeout": int(seconds)} if has_timeout else {})
    except ImportError as error:
        raise UserError(
            f"tracking.uri={hide_secrets(uri)!r} needs a database driver that is not installed: {error.name}; "
            'for PostgreSQL: pip install "psycopg[binary]".'
        ) from error
    except (ArgumentError, NoSuchModuleError):  # MLflow says what is wrong with it
        return lambda: None
    return partial(_ask_database, engine)


def _ask_server(credentials: Any, seconds: float) -> None:
    from mlflow.utils.rest_utils import http_request

    answer = http_request(credentials, HEALTH, "GET", max_retries=0, timeout=seconds, raise_on_status=False)
    # Any other status is that of a server that works: earlier versions of MLflow do not know the question.
    if answer.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise ConnectionError(f"it answers with status {answer.status_code} ({answer.reason})")


def _ask_database(engine: Any) -> None:
    try:
        engine.connect().close()
    finally:
        engine.dispose()
