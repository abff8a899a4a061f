"""Which errors of MLflow's client mean that a store cannot be used; all others are answers of a store that works."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus

from bakeoff.pipeline.tracking.server import find_cause

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
