"""The launchers, which run the jobs of a sweep on other machines.

Hydra looks for its plugins in this folder only; the work is done in `bakeoff.pipeline.launcher`.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf


class PayloadLauncher(Launcher):
    """Runs jobs in processes that another program starts; a process that is lost affects its own job only."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Store the arguments of Hydra, and check that the engine can be used."""
        self._context = hydra_context
        self._task = task_function
        self._config = config
        self.require_engine()

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """Submit all jobs; reading a result waits for its job."""
        from bakeoff.pipeline.launcher.payload import make_payloads

        payloads = make_payloads(self._context, self._task, self._config, job_overrides, initial_job_idx)
        return self.submit_jobs(payloads)

    @abstractmethod
    def require_engine(self) -> None:
        """Check that the engine can be used."""

    @abstractmethod
    def submit_jobs(self, payloads: Sequence[Any]) -> Sequence[JobReturn]:
        """Submit jobs to the engine."""


class RayLauncher(PayloadLauncher):
    """Runs jobs on a Ray cluster.

    Parameters
    ----------
    ray : mapping
        ``init`` and ``remote``, as in hydra-ray-launcher.
    """

    def __init__(self, ray: DictConfig) -> None:
        self._ray: Any = OmegaConf.to_container(ray, resolve=True)

    def require_engine(self) -> None:
        """Check that Ray is installed."""
        from bakeoff.pipeline.launcher.ray_cluster import require_ray

        require_ray()

    def submit_jobs(self, payloads: Sequence[Any]) -> Sequence[JobReturn]:
        """Submit jobs to Ray."""
        from bakeoff.pipeline.launcher.ray_cluster import submit_jobs

        return submit_jobs(payloads, self._ray["init"], self._ray["remote"])


class SubmititLauncher(PayloadLauncher):
    """Runs jobs with submitit.

    Parameters
    ----------
    **parameters
        As in hydra-submitit-launcher.
    """

    cluster: str

    def __init__(self, **parameters: Any) -> None:
        self._parameters: dict[str, Any] = {}
        for key, value in parameters.items():
            is_config = OmegaConf.is_config(value)
            self._parameters[key] = OmegaConf.to_container(value, resolve=True) if is_config else value

    def require_engine(self) -> None:
        """Check that submitit is installed, and that this machine can submit jobs."""
        from bakeoff.pipeline.launcher.slurm import require_submitit

        require_submitit(self.cluster)

    def submit_jobs(self, payloads: Sequence[Any]) -> Sequence[JobReturn]:
        """Submit one array of jobs."""
        from bakeoff.pipeline.launcher.slurm import submit_jobs

        return submit_jobs(payloads, self.cluster, self._parameters)


class SlurmLauncher(SubmititLauncher):
    """Runs jobs on a Slurm cluster."""

    cluster = "slurm"


class LocalLauncher(SubmititLauncher):
    """Runs jobs in processes of this machine, as submitit starts them."""

    cluster = "local"
