"""What launchers send and get back: composed jobs with everything another machine needs, and their results."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn, JobStatus, run_job, setup_globals
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import CONCEALED_VARIABLE
from bakeoff.pipeline.tracking.sqlite_file import SQLITE_PREFIX
from bakeoff.pipeline.tracking.store import store_uri

JOB_ID_VARIABLE = "SLURM_JOB_ID"
"""The environment variable in which Slurm stores the number of a job."""
STORE_VARIABLE = "MLFLOW_TRACKING_URI"


@dataclass(frozen=True)
class SweepOrigin:
    """The machine, folder and store of the process that started a sweep.

    Attributes
    ----------
    host : str
    folder : str
        Paths on the command line are relative to it.
    store : str or None
        The value of ``MLFLOW_TRACKING_URI``. Processes that a cluster started earlier do not inherit it.
    secrets : mapping of str to str
        The variables that stand for passwords of the command; its words refer to them.
    """

    host: str
    folder: str
    store: str | None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def capture(cls) -> SweepOrigin:
        """Return the origin of a sweep that this process starts."""
        secrets = {name: value for name, value in os.environ.items() if name.startswith(CONCEALED_VARIABLE)}
        return cls(socket.gethostname(), os.getcwd(), os.environ.get(STORE_VARIABLE), secrets)

    def restore(self) -> None:
        """Set the folder, the import path and the store of this process to those of the origin."""
        if Path(self.folder).is_dir():
            os.chdir(self.folder)
        # Learners of the user are modules in that folder.
        if self.folder not in sys.path:
            sys.path.append(self.folder)
        if self.store is not None:
            os.environ[STORE_VARIABLE] = self.store
        os.environ.update(self.secrets)

    def require_reachable_store(self, uri: str) -> None:
        """Check that this machine can reach a store: a SQLite file can only be used on the machine that contains it.

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
    """One composed job.

    Attributes
    ----------
    config : DictConfig
        The configuration of the job, with Hydra's own part.
    task : callable
        Runs the job.
    callbacks : object
        Hydra's callbacks.
    origin : SweepOrigin
    """

    config: DictConfig
    task: TaskFunction
    callbacks: Any
    origin: SweepOrigin

    def run(self) -> JobReturn:
        """Run the job in this process; return an error as the value of a job with the status FAILED."""
        from bakeoff.pipeline.config.engine import register_schema

        self.origin.restore()
        setup_globals()
        register_schema()
        with open_dict(self.config):
            number = str(self.config.hydra.job.num)
            self.config.hydra.job.id = os.environ.get(JOB_ID_VARIABLE, number)
        try:
            # Values of the configuration may refer to settings of Hydra.
            HydraConfig.instance().set_config(self.config)
            tracking = OmegaConf.select(self.config, "tracking")
            if tracking is not None and "uri" in tracking:
                self.origin.require_reachable_store(store_uri(tracking.uri))
            context = HydraContext(config_loader=None, callbacks=self.callbacks)  # type: ignore[arg-type]
            return run_job(self.task, self.config, "hydra.sweep.dir", "hydra.sweep.subdir", context)
        except Exception as error:
            return make_failed_return(error)


def make_payloads(
    context: HydraContext,
    task: TaskFunction,
    master: DictConfig,
    job_overrides: Sequence[Sequence[str]],
    first_number: int,
) -> list[JobPayload]:
    """Compose the jobs of a sweep, so that another machine needs the code but no configuration files.

    Parameters
    ----------
    context : HydraContext
    task : callable
        Runs a job; can be pickled.
    master : DictConfig
        The configuration of the sweep itself.
    job_overrides : sequence of sequence of str
        The overrides of each job.
    first_number : int
        The number of the first job.
    """
    folder = str(master.hydra.sweep.dir)
    origin = SweepOrigin.capture()
    payloads = []
    for number, overrides in enumerate(job_overrides, start=first_number):
        config = context.config_loader.load_sweep_config(master, list(overrides))
        with open_dict(config):
            config.hydra.job.num = number
            # The pattern of the folder contains the time and a random token: each machine would make a folder of its
            # own.
            config.hydra.sweep.dir = folder
        payloads.append(JobPayload(config, task, context.callbacks, origin))
    return payloads


def run_payload(payload: JobPayload) -> JobReturn:
    """Run the job of a payload; a function of a module, which engines can pickle by name."""
    return payload.run()


def make_failed_return(error: BaseException) -> JobReturn:
    """Return the result of a job that failed, or that did not come back."""
    returned = JobReturn()
    returned.return_value = error
    returned.status = JobStatus.FAILED
    return returned


class JobReturns(Sequence[JobReturn]):
    """The results of jobs that may still be running, in the order of the jobs; reading a result waits for its job.

    The result of a job whose process died has the status FAILED and the reason as its value; others are not affected.
    An interrupt while waiting, such as Ctrl-C, cancels all jobs.

    Parameters
    ----------
    waits : sequence of callable
        One for each job; waits for the job and returns its result, as often as it is called.
    cancel : callable
        Cancels all jobs.
    """

    def __init__(self, waits: Sequence[Callable[[], JobReturn]], cancel: Callable[[], None]) -> None:
        self._waits = waits
        self.cancel = cancel

    def __len__(self) -> int:
        """Return the number of jobs."""
        return len(self._waits)

    def __getitem__(self, index: Any) -> Any:
        """Wait for a job, and return its result; a slice is a list of them."""
        chosen = self._waits[index]
        return [self._wait_for(wait) for wait in chosen] if isinstance(index, slice) else self._wait_for(chosen)

    def _wait_for(self, wait: Any) -> JobReturn:
        try:
            returned: JobReturn = wait()
        except Exception as error:
            return make_failed_return(error)
        except BaseException:
            self.cancel()
            raise
        return returned
