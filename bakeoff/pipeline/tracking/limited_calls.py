"""Calls of a store with a time limit, because MLflow's client would retry some for minutes or forever.

A call runs in a separate thread, since waiting for a slow server or a locked database cannot be interrupted. Failed
calls to a store that has answered before are repeated for a minute, in which a server may be started again. The store
then counts as lost, and each further call has a short limit and a single attempt, until one succeeds. Some errors of
MLflow's client mean that a store cannot be used; all others are responses of a working store.
"""

from __future__ import annotations

import contextvars
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from bakeoff.pipeline.errors import STORE_THREAD, StoreError
from bakeoff.pipeline.system import call_before_fork
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.tracking.mlflow_tables import get_backend, has_database, open_database
from bakeoff.pipeline.tracking.sqlite_file import find_file

if TYPE_CHECKING:
    from mlflow import MlflowClient

    from bakeoff.pipeline.tracking.mlflow_tables import DatabaseFile

T = TypeVar("T")

MAX_CALL_SECONDS = 22.0
"""The time limit of a call: 2 seconds more than SQLite waits for a lock under MLflow."""
MAX_OUTAGE_SECONDS = 60.0
"""The time for which failed calls are repeated; MLflow's server takes 5 to 20 seconds to start."""
MAX_LOST_CALL_SECONDS = 3.0
"""The time limit of a call to a store that was lost before."""
MAX_TRANSFER_SECONDS = 600.0
"""The time limit of a call that sends or receives the files of a folder."""
PAUSE_SECONDS = 1.0
TRANSFERS = ("log_artifacts", "log_model_artifacts")
"""The methods of MLflow's client that send or receive files."""
DATABASE_SERVER = "postgresql"
"""The beginning of the addresses of databases on servers."""
BODY_WORDS = "Response body:"
"""The text of MLflow's client if the response is not from an MLflow server."""
TEMPORARY_CODES = ("TEMPORARILY_UNAVAILABLE", "INTERNAL_ERROR", "REQUEST_LIMIT_EXCEEDED")
TEMPORARY_STATUSES = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
MAX_REASON_LETTERS = 300


class LimitedCalls:
    """The calls to a store in this process, including those by MLflow's client.

    Parameters
    ----------
    uri : str
        The URI of the store.
    is_known : bool
        Whether the store has answered another process of the same command.

    Attributes
    ----------
    is_lost : bool
        Whether the last call failed because the store cannot be used, or was interrupted.
    database : DatabaseFile or None
        The SQLite file, if it is read and written without MLflow.
    """

    def __init__(self, uri: str, is_known: bool = False) -> None:
        self._uri = uri
        self._file = find_file(uri)
        self._identity = _identify(self._file)
        self._client: Any = None
        self._is_known = self._has_answered = is_known
        self.is_lost = False
        self.database: DatabaseFile | None = None

    def connect(self) -> MlflowClient:
        """Return MLflow's client of the store, whose calls are limited; for a known file, it is made when needed."""
        if self._file is not None:
            self.database = self.call(open_database, self._file)
        if self.database is None:
            self._make_client()
        self._has_answered = self._is_known  # until the first call that needs the store
        return cast("MlflowClient", self)

    def _make_client(self) -> None:
        from mlflow import MlflowClient

        if self._uri.startswith(DATABASE_SERVER):
            # MLflow would try to connect for minutes while holding a lock.
            self.call(_try_connection, self._uri)
        # Without an explicit registry, a client would use the registry of MLflow's global settings.
        self._client = self.call(MlflowClient, tracking_uri=self._uri, registry_uri=self._uri)
        if has_database(self._client):  # a copy of the process must not use its connections, which MLflow keeps
            call_before_fork(get_backend(self._client).engine.dispose)

    def __getattr__(self, name: str) -> Any:
        if self._client is None:
            self._make_client()
        attribute = getattr(self._client, name)
        seconds = MAX_TRANSFER_SECONDS if name in TRANSFERS else None
        return partial(self.call, attribute, seconds=seconds) if callable(attribute) else attribute

    def call(self, function: Callable[..., T], *arguments: Any, seconds: float | None = None, **options: Any) -> T:
        """Call a function that reads or writes the store, and return its result.

        Parameters
        ----------
        function : callable
        *arguments, **options
            Arguments of the function.
        seconds : float, optional
            The limit of each attempt if the store is not lost; by default `MAX_CALL_SECONDS`.

        Raises
        ------
        StoreError
            The store cannot be used.
        Exception
            Any other error raised by the function.
        """
        self._require_file()
        limit = MAX_LOST_CALL_SECONDS if self.is_lost else seconds or MAX_CALL_SECONDS
        try:
            answer = self._repeat(partial(function, *arguments, **options), limit)
        except FaultyStore as error:
            self.is_lost = True
            shown = str(self._file or hide_secrets(self._uri))
            raise StoreError(
                f"tracking.uri={shown!r}: the store {error}. Run the command again when it works."
            ) from error
        except Exception:
            raise
        except BaseException:  # Ctrl-C, or the time limit of a job
            self.is_lost = True
            raise
        self.is_lost = False
        self._has_answered = True
        return answer

    def _repeat(self, function: Callable[[], T], seconds: float) -> T:
        """Call a function until it succeeds or the store is given up, and report the first reason for failure."""
        end = time.monotonic() + MAX_OUTAGE_SECONDS
        first: FaultyStore | None = None
        while True:
            try:
                return attempt(function, seconds)
            except FaultyStore as error:
                if self.is_lost or not self._has_answered or time.monotonic() > end:
                    raise first or error from None
                if first is None:
                    first = error
                    print(f"tracking: the store {error}; trying for {MAX_OUTAGE_SECONDS:g} seconds", file=sys.stderr)
            time.sleep(PAUSE_SECONDS)

    def _require_file(self) -> None:
        """Reject a file that was deleted or replaced: SQLite would write into the deleted one, and lose everything."""
        found = _identify(self._file)
        if found != self._identity:
            verb = "deleted" if found is None else "replaced by another one"
            raise StoreError(f"tracking.uri={str(self._file)!r}: the file was {verb} while the command was running.")


def _try_connection(uri: str) -> None:
    from sqlalchemy import create_engine

    engine = create_engine(uri)
    try:
        engine.connect().close()
    finally:
        engine.dispose()


class FaultyStore(Exception):
    """A call failed because the store is slow or cannot be used; the message says which, and why."""


def attempt(function: Callable[[], T], seconds: float) -> T:
    """Call a function in a thread, and abandon the thread if there is no answer in time.

    Raises
    ------
    FaultyStore
        There is no answer, or the store cannot be used.
    """
    future: Future[T] = Future()
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(_settle, future, function), name=STORE_THREAD, daemon=True)
    thread.start()
    thread.join(max(0.0, seconds))
    if not future.done():
        raise FaultyStore(f"is slow: no answer within {seconds:.0f} seconds")
    # A process without threads can be copied, as the workers of a sweep are.
    thread.join()
    return future.result()


def _settle(future: Future[T], function: Callable[[], T]) -> None:
    """Call a function, and pass its result or its error to a future."""
    try:
        future.set_result(function())
    except BaseException as error:
        # Evaluated here, because an error that is raised again in the waiting thread may lose its cause.
        fault = find_fault(error)
        future.set_exception(FaultyStore(f"cannot be used: {fault}") if fault else error)


def _identify(path: Path | None) -> tuple[int, int] | None:
    """Return the device and the inode of a file, or None if there is none."""
    try:
        found = None if path is None else path.stat()
    except OSError:
        return None
    return None if found is None else (found.st_dev, found.st_ino)


def find_fault(error: BaseException) -> str:
    """Return why a store cannot be used, given the error of a call; empty if the store works and rejected the call.

    Parameters
    ----------
    error : BaseException
    """
    for each in _list_causes(error):
        text, separator, _ = str(each).partition(BODY_WORDS)
        if separator or _is_failure_of_server(each):
            return _shorten(text)
        if _is_failure_of_database(each) or _is_failure_of_network(each):
            *_, innermost = _list_causes(each)  # the outer ones repeat the address and name classes
            return _shorten(getattr(innermost, "strerror", None) or str(innermost) or type(innermost).__name__)
    return ""


def _list_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, the outermost first."""
    following: BaseException | None = error
    while following is not None:
        yield following
        following = following.__cause__ or following.__context__


def _is_failure_of_server(error: BaseException) -> bool:
    """Whether a server has reported an operational error."""
    from mlflow.exceptions import RestException

    return isinstance(error, RestException) and error.error_code in TEMPORARY_CODES


def _is_failure_of_database(error: BaseException) -> bool:
    """Whether a database error is operational, rather than caused by a constraint or a query."""
    from sqlalchemy import exc

    if isinstance(error, exc.OperationalError | exc.TimeoutError | sqlite3.OperationalError):
        return True
    # Subclasses for constraints and queries are answers; the class itself indicates a damaged file.
    return type(error) in (exc.DatabaseError, sqlite3.DatabaseError)


def _is_failure_of_network(error: BaseException) -> bool:
    """Whether a connection failed, or a server answered with an error status."""
    from requests import RequestException

    if not isinstance(error, RequestException):
        return isinstance(error, ConnectionError | TimeoutError)
    status = getattr(error.response, "status_code", HTTPStatus.INTERNAL_SERVER_ERROR)
    is_refusal = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    return not is_refusal or status in TEMPORARY_STATUSES


def _shorten(text: str) -> str:
    """Return the first line of a text, without the full stop."""
    return text.strip().partition("\n")[0][:MAX_REASON_LETTERS].strip().rstrip(".")


def is_server(uri: str) -> bool:
    """Whether the store at a URI from `store_uri` is an MLflow server."""
    return uri.startswith(("http://", "https://"))
