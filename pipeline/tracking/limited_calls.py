"""Calls of a store that end within a limit of time: MLflow's client would repeat some of them for minutes, or for ever.

A call runs in a thread of its own, since neither a server that sends a byte now and then nor a locked database lets
itself be interrupted. What fails for a moment is repeated until the limit; then the store counts as lost, and each
further call has a short time and a single attempt, until one succeeds.
"""

from __future__ import annotations

import contextvars
import os
import stat
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import parent_process
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from bakeoff.pipeline.errors import STORE_THREAD, StoreError, UserError
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.tracking.faults import Fault, find_cause, find_fault, make_question
from bakeoff.pipeline.tracking.sqlite_file import SQLITE_PREFIX, describe_holders, sqlite_path

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
"""A call that takes longer when it is interrupted shows that the store is lost."""
FIRST_PAUSE_SECONDS = 0.5
PAUSE_FACTOR = 1.6
MIN_BYTES_PER_SECOND = 100_000
"""Transfers of files have a second more for each of these amounts."""
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


@dataclass
class Deadline:
    """When a call is given up: its seconds, and more for the files that are below its folder by then."""

    seconds: float
    folder: Path | None = None
    start: float = field(default_factory=time.monotonic)

    @property
    def seconds_left(self) -> float:
        """The time until the call is given up; 0 when it is over."""
        n_bytes = 0 if self.folder is None else measure_folder(self.folder)
        return max(0.0, self.start + self.seconds + n_bytes / MIN_BYTES_PER_SECOND - time.monotonic())

    @property
    def next_pause(self) -> float:
        """The time until the files are measured again, or the call is given up."""
        return self.seconds_left if self.folder is None else min(self.seconds_left, POLL_SECONDS)


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
        self._file = sqlite_path(uri) if uri.startswith(SQLITE_PREFIX) else None
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
        """Call a function that reads or writes the store, and return what it returns.

        Parameters
        ----------
        function : callable
        *arguments, **options
            Of the function.
        seconds : float, optional
            Another limit than that of most calls. The call has one attempt then, and does no harm if it fails.
        folder : str, optional
            The call sends the files below it, or receives them there.

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
            # Only a call that has more than one attempt is worth another question.
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
        """Return the error that says why the store is lost."""
        shown = str(self._file) if self._file is not None else hide_secrets(self._uri)
        holders = describe_holders(self._file) if fault.is_lock and self._file is not None else ""
        cure = LOCK_CURE if holders else FULL_CURE if "full" in fault.reason else CURE
        reason = f"{fault.reason}{f' by {holders}' if holders else ''}"
        return StoreError(f"tracking.uri={shown!r}: the store cannot be used: {reason}. {cure}.")


class LimitedClient:
    """MLflow's client, each call of which ends within a limit of time.

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
    """Return MLflow's client with limits of time, in place of those that it may have."""
    plain = client._client if isinstance(client, LimitedClient) else client
    return cast("MlflowClient", LimitedClient(plain, calls, seconds))


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
            future.exception(deadline.next_pause)
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
    """Call a function, and give its answer or its error to a future."""
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
