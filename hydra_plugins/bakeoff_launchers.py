"""Hydra looks for its plugins in this folder alone; what the launchers do is in `bakeoff.pipeline.launcher`."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf


class ElsewhereLauncher(Launcher):
    """Runs jobs in processes that another program starts; a lost process costs its own job alone."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Take what Hydra gives."""
        self._given = hydra_context, task_function, config
        self.require()

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Hand over all jobs; each is waited for when its value is asked for."""
        from bakeoff.pipeline.launcher.payload import pack

        return self.submit(pack(*self._given, job_overrides, initial_job_idx))

    @abstractmethod
    def require(self) -> None:
        """Refuse if the engine is not there."""

    @abstractmethod
    def submit(self, parcels: Sequence[Any]) -> Sequence[JobReturn]:
        """Hand over packed jobs."""


class RayLauncher(ElsewhereLauncher):
    """On a Ray cluster.

    Parameters
    ----------
    ray : mapping
        ``init`` and ``remote``, as in hydra-ray-launcher.
    """

    def __init__(self, ray: DictConfig) -> None:
        self._ray: Any = OmegaConf.to_container(ray, resolve=True)

    def require(self) -> None:
        """Refuse if Ray is not installed."""
        from bakeoff.pipeline.launcher.ray_cluster import require_ray

        require_ray()

    def submit(self, parcels: Sequence[Any]) -> Sequence[JobReturn]:
        """Hand the jobs to Ray."""
        from bakeoff.pipeline.launcher.ray_cluster import submit

        return submit(parcels, self._ray["init"], self._ray["remote"])


class SubmititLauncher(ElsewhereLauncher):
    """By submitit.

    Parameters
    ----------
    **parameters
        As in hydra-submitit-launcher.
    """

    cluster: str

    def __init__(self, **parameters: Any) -> None:
        self._parameters = {
            key: OmegaConf.to_container(value, resolve=True) if OmegaConf.is_config(value) else value
            for key, value in parameters.items()
        }

    def require(self) -> None:
        """Refuse if submitit is not installed, or there is no Slurm."""
        from bakeoff.pipeline.launcher.slurm import require_submitit

        require_submitit(self.cluster)

    def submit(self, parcels: Sequence[Any]) -> Sequence[JobReturn]:
        """Submit one array of jobs."""
        from bakeoff.pipeline.launcher.slurm import submit

        return submit(parcels, self.cluster, self._parameters)


class SlurmLauncher(SubmititLauncher):
    """On a Slurm cluster."""

    cluster = "slurm"


class LocalLauncher(SubmititLauncher):
    """In processes of this machine."""

    cluster = "local"
