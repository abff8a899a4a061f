"""The data exchanged by launchers: jobs, with everything another machine needs, and their outcomes."""

from __future__ import annotations

import os
import signal
import socket
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.identity.source_code import UserModuleFinder
from bakeoff.pipeline.sweep.command import SweepOptions
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import KILLED, REFUSED, Job, JobOutcome
from bakeoff.pipeline.text.secrets import CONCEALED_VARIABLE
from bakeoff.pipeline.tracking.sqlite_file import SQLITE_PREFIX
from bakeoff.pipeline.tracking.store import store_uri

STORE_VARIABLE = "MLFLOW_TRACKING_URI"


@dataclass(frozen=True)
class SweepOrigin:
    """The machine, folder and store of the process that started a sweep.

    Attributes
    ----------
    host : str
    folder : str
        The folder to which paths on the command line are relative.
    store : str or None
        The value of ``MLFLOW_TRACKING_URI``. Processes that a cluster started earlier do not inherit it.
    secrets : mapping of str to str
        The variables that replace the passwords of the command, whose words refer to them.
    """

    host: str
    folder: str
    store: str | None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def capture(cls) -> SweepOrigin:
        """Return the origin of a sweep started by this process."""
        secrets = {name: value for name, value in os.environ.items() if name.startswith(CONCEALED_VARIABLE)}
        return cls(socket.gethostname(), os.getcwd(), os.environ.get(STORE_VARIABLE), secrets)

    def restore(self) -> None:
        """Use the folder, the import path and the store of the process that sent the jobs."""
        if Path(self.folder).is_dir():
            os.chdir(self.folder)
        UserModuleFinder(self.folder).install()
        if self.store is not None:
            os.environ[STORE_VARIABLE] = self.store
        os.environ.update(self.secrets)

    def require_reachable_store(self, uri: str) -> None:
        """Check that this machine can reach a store; a SQLite file can only be used on the machine that contains it.

        Parameters
        ----------
        uri : str

        Raises
        ------
        UserError
            The store is a file, and this machine is not the origin.

        Examples
        --------
        >>> SweepOrigin("far away", "/tmp", None).require_reachable_store("http://10.0.0.1:5000")
        """
        here = socket.gethostname()
        if uri.startswith(SQLITE_PREFIX) and here != self.host:
            raise UserError(
                f"tracking.uri={uri!r} is a file on {self.host}, but this job runs on {here}; "
                "start a server that both can reach, and set tracking.uri=http://HOST:PORT."
            )


@dataclass(frozen=True)
class JobPayload:
    """One composed job, which needs no configuration files on another machine.

    Attributes
    ----------
    job : Job
    options : SweepOptions
    origin : SweepOrigin
    """

    job: Job
    options: SweepOptions
    origin: SweepOrigin


def run_payload(payload: JobPayload) -> JobOutcome:
    """Run the job of a payload in this process, and return its outcome; launchers pickle this function by its name.

    Meanwhile SIGTERM acts like Ctrl-C: the run ends as KILLED.
    """
    job, options = payload.job, payload.options
    payload.origin.restore()
    runner = JobRunner(options.resume, options.timeout, is_sent=True)
    previous_handler = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        tracking = job.spec["tracking"]
        if "uri" in tracking:
            payload.origin.require_reachable_store(store_uri(tracking["uri"]))
        return runner.run_job(runner.identify_job(job))
    except UserError as error:
        return job.to_outcome(REFUSED, str(error))
    finally:
        signal.signal(signal.SIGTERM, previous_handler)


class Launcher(ABC):
    """Runs jobs in processes started by another program; a lost process affects only its job.

    A handle is what the program has for a job that was submitted.
    """

    def launch(self, jobs: Iterable[Job], options: SweepOptions) -> Iterator[JobOutcome]:
        """Submit jobs as the program has room for them, and yield their outcomes as they arrive.

        Ctrl-C cancels the jobs that were submitted. If a later submission is rejected, it is repeated when other jobs
        have ended.

        Parameters
        ----------
        jobs : iterable of Job
        options : SweepOptions

        Raises
        ------
        UserError
            The jobs cannot be submitted.
        """
        origin = SweepOrigin.capture()
        remaining = iter(jobs)
        running: dict[Any, Job] = {}
        try:
            while True:
                while new := list(islice(remaining, self.count_free(len(running)))):
                    try:
                        handles = self.submit([JobPayload(job, options, origin) for job in new], [*running])
                    except UserError:
                        if not running:
                            raise
                        remaining = chain(new, remaining)
                        break
                    running |= zip(handles, new, strict=True)
                if not running:
                    return
                for handle in self.wait([*running]):
                    yield self._collect(handle, running.pop(handle))
        finally:
            self.cancel([*running])

    def _collect(self, handle: Any, job: Job) -> JobOutcome:
        try:
            return self.collect(handle)
        except Exception as error:
            return job.to_outcome(KILLED, str(error))

    @abstractmethod
    def count_free(self, n_running: int) -> int:
        """Return how many further jobs may be submitted at once, given how many have not ended."""

    @abstractmethod
    def submit(self, payloads: Sequence[JobPayload], running: Sequence[Any]) -> list[Any]:
        """Submit jobs besides those that run, and return their handles; raise UserError if they are rejected."""

    @abstractmethod
    def wait(self, handles: Sequence[Any]) -> list[Any]:
        """Wait until some jobs have ended, and return their handles."""

    @abstractmethod
    def collect(self, handle: Any) -> JobOutcome:
        """Return the outcome of a job that has ended; raise an error if its process is lost."""

    @abstractmethod
    def cancel(self, handles: Sequence[Any]) -> None:
        """Cancel the jobs that have not ended."""
