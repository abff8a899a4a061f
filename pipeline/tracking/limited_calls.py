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
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from bakeoff.pipeline.errors import STORE_THREAD, StoreError
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.tracking.faults import Fault, ask_once, find_fault
from bakeoff.pipeline.tracking.sqlite_file import SQLITE_PREFIX, describe_holders, sqlite_path

if TYPE_CHECKING:
    from mlflow import MlflowClient

MIN_BYTES_PER_SECOND = 100_000
"""Transfers of files have a second more for each of these amounts."""
POLL_SECONDS = 0.25


class CallClock:
    """The time of a call.

    Parameters
    ----------
    limit : float
        In seconds.
    counted : callable or None
        The bytes of files, which give the call more time.
    """

    def __init__(self, limit: float, counted: Callable[[], int] | None) -> None:
        self.limit = limit
        self._counted = counted
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """The time so far."""
        return time.monotonic() - self._start

    @property
    def seconds_left(self) -> float:
        """The time until the call is given up; 0 when it is over."""
        n_bytes = 0 if self._counted is None else self._counted()
        return max(0.0, self.limit + n_bytes / MIN_BYTES_PER_SECOND - self.seconds)

    @property
    def next_pause(self) -> float:
        """The time until the files are counted again, or the call is given up."""
        return self.seconds_left if self._counted is None else min(self.seconds_left, POLL_SECONDS)


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


T = TypeVar("T")

MAX_CALL_SECONDS = 22.0
"""The time of a call with its repetitions: 2 seconds more than SQLite waits for a lock under MLflow."""
MAX_LOST_CALL_SECONDS = 3.0
"""The time of a call to a store that was lost before."""
MAX_PROMPT_SECONDS = 1.0
"""A call that takes longer when it is interrupted shows that the store is lost."""
FIRST_PAUSE_SECONDS = 0.5
PAUSE_FACTOR = 1.6
TIMEOUT_VARIABLE = "MLFLOW_HTTP_REQUEST_TIMEOUT"
"""MLflow's variable for the seconds of a request; who sets it to more than `MAX_CALL_SECONDS` has a slow server."""
LOCK_CURE = "End that process, or give the command again when it has ended"
FULL_CURE = "Free some space, and give the command again"
CURE = "Give the command again when it works"


class _OwnLimits(threading.local):
    """The seconds that calls of a thread may take, if they have a limit of their own."""

    seconds: float | None = None


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
        self._own_limits = _OwnLimits()

    def call(
        self,
        function: Callable[..., T],
        *arguments: Any,
        count_bytes: Callable[[], int] | None = None,
        **options: Any,
    ) -> T:
        """Call a function that reads or writes the store, and return what it returns.

        Parameters
        ----------
        function : callable
        *arguments, **options
            Of the function.
        count_bytes : callable, optional
            How many bytes of files the call sends, or has received so far.

        Raises
        ------
        StoreError
            The store cannot be used.
        Exception
            Any other error of the function.
        """
        self._require_file()
        clock = CallClock(self._find_limit(), count_bytes)
        try:
            answer = self._repeat(partial(function, *arguments, **options), clock)
        except Exception:
            raise
        except BaseException:  # Ctrl-C, or the time limit of a job
            self.is_lost |= clock.seconds > MAX_PROMPT_SECONDS
            raise
        self.is_lost = False
        return answer

    def _repeat(self, function: Callable[[], T], clock: CallClock) -> T:
        """Call a function until it succeeds or its time is over."""
        repeats = not self.is_lost and self._own_limits.seconds is None
        pause = FIRST_PAUSE_SECONDS
        fault: Fault | None = None
        while True:
            try:
                return self._attempt(function, clock)
            except _NoAnswer as error:
                raise self._lose(fault or self._explain_silence(clock)) from error
            except _FaultyStore as error:
                fault = error.fault
                if not (repeats and fault.is_temporary and clock.seconds_left > pause):
                    raise self._lose(fault) from error
            time.sleep(pause)
            pause *= PAUSE_FACTOR

    @contextmanager
    def limited_to(self, seconds: float) -> Iterator[None]:
        """Give the calls of this thread in the block another limit, and one attempt each."""
        self._own_limits.seconds = seconds
        try:
            yield
        finally:
            self._own_limits.seconds = None

    def _find_limit(self) -> float:
        """Return the seconds of the next call."""
        if self._own_limits.seconds is not None:
            return self._own_limits.seconds
        if self.is_lost:
            return MAX_LOST_CALL_SECONDS
        given = os.environ.get(TIMEOUT_VARIABLE, "")
        return max(MAX_CALL_SECONDS, float(given) if given.isdigit() else 0)

    def _attempt(self, function: Callable[[], T], clock: CallClock) -> T:
        """Call a function in a thread, and leave the thread behind if there is no answer in time."""
        future: Future[T] = Future()
        context = contextvars.copy_context()
        target = partial(context.run, _settle, future, function)
        thread = threading.Thread(target=target, name=STORE_THREAD, daemon=True)
        thread.start()
        while True:
            try:
                future.exception(clock.next_pause)
                # A process without threads can be copied, as the workers of a sweep are.
                thread.join()
                return future.result()
            except TimeoutError as error:
                if future.done():  # the function itself has raised it
                    raise
                if clock.seconds_left <= 0:
                    raise _NoAnswer from error

    def _require_file(self) -> None:
        """Reject a file that was deleted or replaced: SQLite would write into the deleted one, and lose everything."""
        if self._file is None:
            return
        found = _identify(self._file)
        if found != self._identity:
            verb = "deleted" if found is None else "replaced by another one"
            raise StoreError(f"tracking.uri={str(self._file)!r}: the file was {verb} while the command was running.")

    def _explain_silence(self, clock: CallClock) -> Fault:
        """Return why a call was not answered, as far as a single question tells."""
        reason = f"there is no answer within {clock.limit:.0f} seconds"
        if self._file is not None or self._own_limits.seconds is not None or self.is_lost:
            return Fault(reason)
        return Fault(ask_once(self._uri) or reason)

    def _lose(self, fault: Fault) -> StoreError:
        """Note that the store is lost, and return the error that says so."""
        # Calls with a limit of their own are those that do no harm if they fail.
        self.is_lost |= self._own_limits.seconds is None
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
    """

    def __init__(self, client: MlflowClient, calls: LimitedCalls) -> None:
        self._client = client
        self.calls = calls

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._client, name)
        return partial(self.calls.call, attribute) if callable(attribute) else attribute

    def log_artifacts(self, run_id: str, folder: str) -> None:
        """Send the files of a folder to a run."""
        self.calls.call(self._client.log_artifacts, run_id, folder, count_bytes=partial(measure_folder, Path(folder)))

    def log_model_artifacts(self, model_id: str, folder: str) -> None:
        """Send the files of a folder to a model."""
        send = self._client.log_model_artifacts
        self.calls.call(send, model_id, folder, count_bytes=partial(measure_folder, Path(folder)))

    def download_artifacts(self, run_id: str, path: str, folder: str | None = None) -> str:
        """Receive files of a run, into a folder of MLflow's choice if none is given."""
        received = None if folder is None else partial(measure_folder, Path(folder))
        return self.calls.call(self._client.download_artifacts, run_id, path, folder, count_bytes=received)


def limit_client(client: MlflowClient, calls: LimitedCalls) -> MlflowClient:
    """Return MLflow's client with limits of time."""
    return cast("MlflowClient", LimitedClient(client, calls))


def find_calls(client: MlflowClient, uri: str) -> LimitedCalls:
    """Return the limits of a client of a store."""
    return client.calls if isinstance(client, LimitedClient) else LimitedCalls(uri)


class _NoAnswer(TimeoutError):
    """A call was not answered in time."""


class _FaultyStore(Exception):
    """A call has failed because the store cannot be used."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.reason)
        self.fault = fault


def _settle(future: Future[T], function: Callable[[], T]) -> None:
    """Call a function, and give its answer or its error to a future."""
    try:
        future.set_result(function())
    except BaseException as error:
        # Here, because an error that is raised again, in the thread that waits, may lose what it was raised for.
        fault = find_fault(error)
        future.set_exception(error if fault is None else _FaultyStore(fault))


def _identify(path: Path | None) -> tuple[int, int] | None:
    """Return the device and the inode of a file; None if there is none."""
    if path is None:
        return None
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
