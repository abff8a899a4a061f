"""Calls of a store with a time limit, because MLflow's client would retry some for minutes or forever.

A call runs in a separate thread, since neither a server that sends a byte now and then nor a locked database lets
itself be interrupted. What fails for a moment is repeated until the limit; then the store counts as lost, and each
further call has a short time and a single attempt, until one succeeds.

Some errors of MLflow's client mean that a store cannot be used; all others are responses of a working store. A server
is asked a question before it is used, because MLflow's client would repeat its requests for minutes in silence.
"""

from __future__ import annotations

import contextvars
import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from multiprocessing import parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from bakeoff.pipeline.errors import STORE_THREAD, StoreError, UserError
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.tracking.sqlite_file import describe_holders, find_file

if TYPE_CHECKING:
    from mlflow import MlflowClient


T = TypeVar("T")

MAX_ANSWER_SECONDS = 5.0
"""The time in which a server must answer one question before it is used."""
MAX_CALL_SECONDS = 22.0
"""The time of a call with its repetitions: 2 seconds more than SQLite waits for a lock under MLflow."""
MAX_LOST_CALL_SECONDS = 3.0
"""The time of a call to a store that was lost before."""
MAX_PROMPT_SECONDS = 1.0
"""The time after which an interrupted call indicates a lost store."""
FIRST_PAUSE_SECONDS = 0.5
PAUSE_FACTOR = 1.6
MIN_BYTES_PER_SECOND = 100_000
"""Transfers of files get an additional second for each of these amounts."""
POLL_SECONDS = 0.25
"""The time until the files of a transfer are measured again."""
TIMEOUT_VARIABLE = "MLFLOW_HTTP_REQUEST_TIMEOUT"
"""MLflow's variable for the seconds of a request; who sets it to more than `MAX_CALL_SECONDS` has a slow server."""
TRANSFERS = ("log_artifacts", "log_model_artifacts", "download_artifacts")
"""The calls of MLflow's client that send or receive the files of a folder, their last argument."""
LOCK_CURE = "End that process, or give the command again when it has ended"
FULL_CURE = "Free some space, and give the command again"
CURE = "Give the command again when it works"
SERVER_CURE = "Start it, correct the address, or keep no runs with tracking=none."
LOCKED_WORDS = ("locked", "busy")
"""Words of SQLite for a file that another process writes."""
SQLITE_MODULE = "sqlite3"
BODY_WORDS = "Response body:"
"""The text of MLflow's client if the response is not from an MLflow server."""
TEMPORARY_CODES = ("TEMPORARILY_UNAVAILABLE", "INTERNAL_ERROR", "REQUEST_LIMIT_EXCEEDED")
TEMPORARY_STATUSES = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
MAX_REASON_LETTERS = 300
HEALTH = "/health"
"""The path of the request."""
DATABASES_WITH_TIMEOUT = ("postgresql", "mysql")
"""Databases whose drivers accept ``connect_timeout``, in seconds."""


@dataclass
class Deadline:
    """The time limit of a call, extended for the files in its folder."""

    seconds: float
    folder: Path | None = None
    start: float = field(default_factory=time.monotonic)

    @property
    def seconds_left(self) -> float:
        """The remaining time of the call; 0 when it is over."""
        n_bytes = 0 if self.folder is None else measure_folder(self.folder)
        return max(0.0, self.start + self.seconds + n_bytes / MIN_BYTES_PER_SECOND - time.monotonic())


class LimitedCalls:
    """The calls of a store in this process.

    Parameters
    ----------
    uri : str
        Of the store.

    Attributes
    ----------
    is_lost : bool
        Whether the last call has failed because the store cannot be used.
    """

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._file = find_file(uri)
        self._identity = _identify(self._file)
        self.is_lost = False

    def call(
        self,
        function: Callable[..., T],
        *arguments: Any,
        seconds: float | None = None,
        folder: str | None = None,
        **options: Any,
    ) -> T:
        """Call a function that reads or writes the store, and return its result.

        Parameters
        ----------
        function : callable
        *arguments, **options
            Of the function.
        seconds : float, optional
            A special limit. The call then has one attempt, and its failure is harmless.
        folder : str, optional
            The folder of the files that the call sends or receives.

        Raises
        ------
        StoreError
            The store cannot be used.
        Exception
            Any other error of the function.
        """
        self._require_file()
        deadline = Deadline(self._find_limit() if seconds is None else seconds, Path(folder) if folder else None)
        is_single = self.is_lost or seconds is not None
        try:
            answer = self._repeat(partial(function, *arguments, **options), deadline, is_single)
        except FaultyStore as error:
            # Only a call with more than one attempt is worth another request.
            is_silent = error.fault.is_silence and self._file is None and not is_single
            fault = Fault(ask_once(self._uri) or error.fault.reason) if is_silent else error.fault
            self.is_lost |= seconds is None
            raise self._explain(fault) from error
        except Exception:
            raise
        except BaseException:  # Ctrl-C, or the time limit of a job
            self.is_lost |= time.monotonic() - deadline.start > MAX_PROMPT_SECONDS
            raise
        self.is_lost = False
        return answer

    def _repeat(self, function: Callable[[], T], deadline: Deadline, is_single: bool) -> T:
        """Call a function until it succeeds or its time is over; the first reason of a failure is the one to report."""
        pause = FIRST_PAUSE_SECONDS
        earlier: FaultyStore | None = None
        while True:
            try:
                return attempt(function, deadline)
            except FaultyStore as error:
                if error.fault.is_silence:
                    raise earlier or error from None
                if is_single or not error.fault.is_temporary or deadline.seconds_left <= pause:
                    raise
                earlier = error
            time.sleep(pause)
            pause *= PAUSE_FACTOR

    def _find_limit(self) -> float:
        """Return the seconds of the next call."""
        if self.is_lost:
            return MAX_LOST_CALL_SECONDS
        given = os.environ.get(TIMEOUT_VARIABLE, "")
        return max(MAX_CALL_SECONDS, float(given) if given.isdigit() else 0)

    def _require_file(self) -> None:
        """Reject a file that was deleted or replaced: SQLite would write into the deleted one, and lose everything."""
        found = _identify(self._file)
        if found != self._identity:
            verb = "deleted" if found is None else "replaced by another one"
            raise StoreError(f"tracking.uri={str(self._file)!r}: the file was {verb} while the command was running.")

    def _explain(self, fault: Fault) -> StoreError:
        """Return the error with the reason why the store is lost."""
        shown = str(self._file) if self._file is not None else hide_secrets(self._uri)
        holders = describe_holders(self._file) if fault.is_lock and self._file is not None else ""
        cure = LOCK_CURE if holders else FULL_CURE if "full" in fault.reason else CURE
        reason = f"{fault.reason}{f' by {holders}' if holders else ''}"
        return StoreError(f"tracking.uri={shown!r}: the store cannot be used: {reason}. {cure}.")


class LimitedClient:
    """MLflow's client with a time limit for each call.

    Parameters
    ----------
    client : MlflowClient
    calls : LimitedCalls
    seconds : float, optional
        As for `LimitedCalls.call`.
    """

    def __init__(self, client: MlflowClient, calls: LimitedCalls, seconds: float | None = None) -> None:
        self._client = client
        self._seconds = seconds
        self.calls = calls

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._client, name)
        if not callable(attribute):
            return attribute

        def call(*arguments: Any, **options: Any) -> Any:
            folder = arguments[-1] if name in TRANSFERS else None
            return self.calls.call(attribute, *arguments, seconds=self._seconds, folder=folder, **options)

        return call


def limit_client(client: MlflowClient, calls: LimitedCalls, seconds: float | None = None) -> MlflowClient:
    """Return MLflow's client with these time limits, in place of existing ones."""
    plain = client._client if isinstance(client, LimitedClient) else client
    return cast("MlflowClient", LimitedClient(plain, calls, seconds))


def require_answer(uri: str) -> None:
    """Reject a server, or a database on one, that does not respond to a single request.

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
    reason = "" if parent_process() is not None else ask_once(uri)
    if reason:
        raise UserError(f"tracking.uri={hide_secrets(uri)!r}: the server cannot be used: {reason}. {SERVER_CURE}")


def ask_once(uri: str) -> str:
    """Return why a server, or a database on one, cannot be used; empty if it can."""
    from mlflow.exceptions import MlflowException

    try:
        attempt(make_question(uri, MAX_ANSWER_SECONDS), Deadline(MAX_ANSWER_SECONDS))
    except FaultyStore as error:
        return error.fault.reason
    except (MlflowException, OSError) as error:
        return find_cause(error)
    return ""


class FaultyStore(Exception):
    """A call has failed because the store cannot be used."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.reason)
        self.fault = fault


def attempt(function: Callable[[], T], deadline: Deadline) -> T:
    """Call a function in a thread, and leave the thread behind if there is no answer in time.

    Raises
    ------
    FaultyStore
        There is no answer, or the store cannot be used.
    """
    future: Future[T] = Future()
    context = contextvars.copy_context()
    target = partial(context.run, _settle, future, function)
    thread = threading.Thread(target=target, name=STORE_THREAD, daemon=True)
    thread.start()
    while True:
        try:
            future.exception(min(deadline.seconds_left, POLL_SECONDS))
            # A process without threads can be copied, as the workers of a sweep are.
            thread.join()
            return future.result()
        except TimeoutError as error:
            if future.done():  # the function itself has raised it
                raise
            if deadline.seconds_left <= 0:
                reason = f"there is no answer within {deadline.seconds:.0f} seconds"
                raise FaultyStore(Fault(reason, is_silence=True)) from error


def _settle(future: Future[T], function: Callable[[], T]) -> None:
    """Call a function, and pass its result or its error to a future."""
    try:
        future.set_result(function())
    except BaseException as error:
        # Here, because an error that is raised again, in the thread that waits, may lose what it was raised for.
        fault = find_fault(error)
        future.set_exception(error if fault is None else FaultyStore(fault))


def _identify(path: Path | None) -> tuple[int, int] | None:
    """Return the device and the inode of a file; None if there is none."""
    try:
        found = None if path is None else path.stat()
    except OSError:
        return None
    return None if found is None else (found.st_dev, found.st_ino)


def measure_folder(folder: Path) -> int:
    """Return the size of all files below a folder, in bytes.

    Links do not count, nor do files that another process deletes meanwhile.
    """
    n_bytes = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                status = os.lstat(Path(parent, name))
                n_bytes += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return n_bytes


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
        None if the store works and has rejected the call, for example because there is no such run.
    """
    for each in _list_causes(error):
        fault = _find_database_fault(each) or _find_network_fault(each) or _find_answer_fault(each)
        if fault is not None:
            return fault
    return None


def find_cause(error: BaseException) -> str:
    """Return the first line of the innermost error, since the outer ones repeat the address and name classes."""
    *_, innermost = _list_causes(error)
    reason = getattr(innermost, "strerror", None) or str(innermost).strip() or type(innermost).__name__
    return _shorten(reason)


def _list_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its causes, the outermost first."""
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
    """Return the fault of a server that does not respond like MLflow's, such as a proxy."""
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
    """Return a function that sends a request to a server, or a database on one, and raises its fault.

    Its imports are done here, before its time starts.

    Parameters
    ----------
    uri : str
    seconds : float
        The limit for each step of the response.

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
    except (ArgumentError, NoSuchModuleError):  # MLflow reports the error
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
