"""Which errors of MLflow's client mean that a store cannot be used; all others are answers of a store that works."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from multiprocessing import parent_process
from threading import Thread

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


@dataclass(frozen=True)
class Fault:
    """Why a store cannot be used.

    Attributes
    ----------
    reason : str
        A part of a sentence.
    is_temporary : bool
        Whether the same call may succeed a little later.
    """

    reason: str
    is_temporary: bool = True

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


def _list_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and those that it was raised for, the outermost first."""
    following: BaseException | None = error
    while following is not None:
        yield following
        following = following.__cause__ or following.__context__


def _find_database_fault(error: BaseException) -> Fault | None:
    """Return the fault of a database: errors of its operation, not those that a constraint or a query causes."""
    from sqlalchemy import exc

    if isinstance(error, exc.OperationalError | sqlite3.OperationalError):
        reason = _shorten(str(getattr(error, "orig", None) or error))
        is_file = type(getattr(error, "orig", error)).__module__ == SQLITE_MODULE
        is_locked = any(word in reason for word in LOCKED_WORDS)
        return Fault(reason, is_temporary=is_locked or not is_file)
    # Of subclasses, those of constraints and queries are answers; the class itself is a damaged file.
    if type(error) in (exc.DatabaseError, sqlite3.DatabaseError):
        return Fault(_shorten(str(getattr(error, "orig", None) or error)), is_temporary=False)
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
        return Fault(_shorten(find_cause(error)), is_temporary=not isinstance(error, TooManyRedirects))
    is_lost = isinstance(error, ConnectionError | TimeoutError)
    return Fault(_shorten(find_cause(error))) if is_lost else None


def _find_answer_fault(error: BaseException) -> Fault | None:
    """Return the fault of a server that does not answer as MLflow's does: that of a proxy, for example."""
    from mlflow.exceptions import MlflowException

    if not isinstance(error, MlflowException):
        return None
    text, separator, _ = str(error).partition(BODY_WORDS)
    if separator:
        return Fault(_shorten(text), is_temporary=False)
    return Fault(_shorten(text)) if error.error_code in TEMPORARY_CODES and _is_answered(error) else None


def _is_answered(error: BaseException) -> bool:
    """Whether a server has sent the error."""
    from mlflow.exceptions import RestException

    return isinstance(error, RestException)


def _shorten(text: str) -> str:
    """Return the first line of a text, without the full stop."""
    lines = text.strip().splitlines() or ["no reason is given"]
    return lines[0][:MAX_REASON_LETTERS].strip().rstrip(".")


MAX_ANSWER_SECONDS = 5
"""The time in which a server must answer one question."""
HEALTH = "/health"
"""The path of the question."""
FIRST_SERVER_ERROR = 500
"""The least status of HTTP that means a fault of the server."""
DATABASES_WITH_TIMEOUT = ("postgresql", "mysql")
"""Databases whose drivers take ``connect_timeout``, in seconds."""
CURE = "Start it, correct the address, or keep no runs with tracking=none."

Question = Callable[[], str]


def is_server(uri: str) -> bool:
    """Whether the store at a URI from `store_uri` is an MLflow server."""
    return uri.startswith(("http://", "https://"))


def require_answer(uri: str) -> None:
    """Reject a server, or a database on one, that does not answer a single question.

    Parameters
    ----------
    uri : str
        Of MLflow's server, or of a database that is not a file.

    Raises
    ------
    UserError
        There is no answer within `MAX_ANSWER_SECONDS`, the answer is that the server cannot work, or the driver of the
        database is not installed.
    """
    # The process that started this one has asked, and its many workers would keep a small server busy.
    if parent_process() is not None:
        return
    reason = ask_once(uri)
    if reason is None:
        reason = f"there is no answer within {MAX_ANSWER_SECONDS} seconds"
    if reason:
        raise UserError(f"tracking.uri={hide_secrets(uri)!r}: the server cannot be used: {reason}. {CURE}")


def ask_once(uri: str) -> str | None:
    """Return why a server, or a database on one, cannot be used: empty if it can, None if it does not answer in time.

    Parameters
    ----------
    uri : str
    """
    ask = _prepare_request(uri) if is_server(uri) else _prepare_connection(uri)
    reasons: list[str] = []
    # In a thread of its own, because the search for the address of a host knows no limit of time.
    thread = Thread(target=lambda: reasons.append(ask()), daemon=True)
    thread.start()
    thread.join(MAX_ANSWER_SECONDS)
    return reasons[0] if reasons else None


def _prepare_request(uri: str) -> Question:
    """Return a function that asks a server, and returns why it cannot be used; empty if it can."""
    # Imported before the time is taken.
    from mlflow.exceptions import MlflowException
    from mlflow.utils.credentials import get_default_host_creds
    from mlflow.utils.rest_utils import http_request
    from requests import RequestException

    credentials = get_default_host_creds(uri)

    def ask() -> str:
        try:
            answer = http_request(
                credentials, HEALTH, "GET", max_retries=0, timeout=MAX_ANSWER_SECONDS, raise_on_status=False
            )
        except (MlflowException, RequestException, OSError) as error:
            return find_cause(error)
        # Any other status is that of a server that works: earlier versions of MLflow do not know the question.
        is_broken = answer.status_code >= FIRST_SERVER_ERROR
        return f"it answers with status {answer.status_code} ({answer.reason})" if is_broken else ""

    return ask


def _prepare_connection(uri: str) -> Question:
    """Return a function that connects to a database, and returns why that fails; empty if it succeeds.

    Raises
    ------
    UserError
        The driver of the database is not installed.
    """
    from sqlalchemy import create_engine
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError

    try:
        url = make_url(uri)
        has_timeout = url.get_backend_name() in DATABASES_WITH_TIMEOUT
        options = {"connect_timeout": MAX_ANSWER_SECONDS} if has_timeout else {}
        engine = create_engine(url, connect_args=options)
    except ImportError as error:
        raise UserError(
            f"tracking.uri={hide_secrets(uri)!r} needs a database driver that is not installed: {error.name}; "
            'for PostgreSQL: pip install "psycopg[binary]".'
        ) from error
    except (ArgumentError, NoSuchModuleError):  # MLflow says what is wrong with it
        return lambda: ""

    def ask() -> str:
        try:
            engine.connect().close()
        except OperationalError as error:
            return find_cause(error)
        finally:
            engine.dispose()
        return ""

    return ask


def find_cause(error: BaseException) -> str:
    """Return the first line of the innermost error: the outer ones repeat the address and name classes."""
    while error.__cause__ is not None or error.__context__ is not None:
        error = error.__cause__ or error.__context__ or error
    reason = getattr(error, "strerror", None) or str(error).strip()
    return (reason.splitlines() or [type(error).__name__])[0].rstrip(".")
