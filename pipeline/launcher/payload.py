"""A parcel: one composed job with all that it needs on another machine, where it goes by pickle."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.utils import JobReturn, JobStatus, run_job, setup_globals
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf, open_dict

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.store import SQLITE_PREFIX, store_uri

JOB_ID = "SLURM_JOB_ID"
"""Variable in which an engine tells a job its number."""


@dataclass(frozen=True)
class Place:
    """Where a sweep was started.

    Attributes
    ----------
    host : str
    folder : str
        Paths on the command line are relative to it.
    store : str or None
        ``MLFLOW_TRACKING_URI`` there; an engine does not hand on variables to machines that it had started before.
    """

    host: str
    folder: str
    store: str | None

    @classmethod
    def here(cls) -> Place:
        """Return this machine and folder."""
        return cls(socket.gethostname(), os.getcwd(), os.environ.get("MLFLOW_TRACKING_URI"))

    def enter(self) -> None:
        """Make this process as the one that started the sweep: folder, store, and where one's own learners are."""
        if Path(self.folder).is_dir():
            os.chdir(self.folder)
        if self.folder not in sys.path:
            sys.path.append(self.folder)
        if self.store is not None:
            os.environ["MLFLOW_TRACKING_URI"] = self.store

    def require_reach(self, uri: str) -> None:
        """Refuse a store that lies on the machine of the start, if this is another.

        Raises
        ------
        UserError

        Examples
        --------
        >>> Place("far away", "/tmp", None).require_reach("http://10.0.0.1:5000")
        """
        if uri.startswith(SQLITE_PREFIX) and socket.gethostname() != self.host:
            raise UserError(
                f"tracking.uri={uri!r} is a file of {self.host}, and this job came to {socket.gethostname()}; "
                "start a server that both reach, and give tracking.uri=http://HOST:PORT."
            )


@dataclass(frozen=True)
class Parcel:
    """One composed job.

    Attributes
    ----------
    config : DictConfig
        With Hydra's own part.
    task : callable
    callbacks : object
        Hydra's.
    place : Place
    """

    config: DictConfig
    task: TaskFunction
    callbacks: Any
    place: Place

    def __call__(self) -> JobReturn:
        """Run the job here; whatever it raises comes back as its value, with the status FAILED."""
        from bakeoff.pipeline.config.schema import register_schema

        self.place.enter()
        setup_globals()
        register_schema()
        with open_dict(self.config):
            self.config.hydra.job.id = os.environ.get(JOB_ID, str(self.config.hydra.job.num))
        try:
            self._require_store()
            context = HydraContext(config_loader=None, callbacks=self.callbacks)  # type: ignore[arg-type]
            return run_job(self.task, self.config, "hydra.sweep.dir", "hydra.sweep.subdir", context)
        except Exception as error:
            return lost(error)

    def _require_store(self) -> None:
        HydraConfig.instance().set_config(self.config)  # values of the configuration may refer to Hydra's part
        tracking = OmegaConf.select(self.config, "tracking")
        if tracking is not None and "uri" in tracking:
            self.place.require_reach(store_uri(tracking.uri))


def pack(
    context: HydraContext, task: TaskFunction, master: DictConfig, jobs: Sequence[Sequence[str]], first: int
) -> list[Parcel]:
    """Compose each job here, so that another machine needs the code and no files of configuration.

    Parameters
    ----------
    context : HydraContext
    task : callable
        Can be pickled.
    master : DictConfig
        The sweep's configuration.
    jobs : sequence of sequence of str
        Overrides.
    first : int
        Number of the first job.
    """
    folder = str(master.hydra.sweep.dir)
    parcels = []
    for number, overrides in enumerate(jobs, start=first):
        composed = context.config_loader.load_sweep_config(master, list(overrides))
        with open_dict(composed):
            composed.hydra.job.num = number
            composed.hydra.sweep.dir = folder  # made of the time and a token: the others must not make their own
        parcels.append(Parcel(composed, task, context.callbacks, Place.here()))
    return parcels


def lost(error: BaseException) -> JobReturn:
    """Return what is known of a job that did not come back."""
    returned = JobReturn()
    returned.return_value, returned.status = error, JobStatus.FAILED
    return returned
