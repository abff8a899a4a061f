"""Hydra looks for its plugins in this folder alone: a sweeper that tells the task what became of each job.

Hydra runs this file before it is a module, so that annotations must not be postponed: dataclasses would look them up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.core.config_store import ConfigStore
from hydra.core.utils import JobReturn, JobStatus
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


@dataclass
class SweeperConf:
    """What may be set under ``hydra.sweeper``: further overrides, as in Hydra's own sweeper."""

    _target_: str = "hydra_plugins.bakeoff.TellingSweeper"
    max_batch_size: int | None = None
    params: dict[str, str] | None = None


class TellingSweeper(BasicSweeper):
    """Hydra's own sweeper; outcomes, wherever the jobs ran, are gathered in the task."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Take what Hydra gives, and listen to the launcher."""
        super().setup(hydra_context=hydra_context, task_function=task_function, config=config)
        assert self.launcher is not None
        launch = self.launcher.launch

        def telling(jobs: Sequence[Sequence[str]], initial_job_idx: int) -> list[JobReturn]:
            returned = zip(jobs, launch(jobs, initial_job_idx=initial_job_idx), strict=True)
            return [_told(words, each, task_function) for words, each in returned]

        self.launcher.launch = telling  # type: ignore[assignment, method-assign]


def _told(words: Sequence[str], returned: JobReturn, task: Any) -> JobReturn:
    from pipeline.cli import Outcome

    try:
        outcome = returned.return_value
    except Exception as error:  # its process died, or it could not start
        outcome = Outcome("failed", " ".join(words), f"{type(error).__name__}: {error}")
        returned.return_value, returned.status = outcome, JobStatus.COMPLETED
    task.outcomes.append(outcome)
    return returned


ConfigStore.instance().store(group="hydra/sweeper", name="bakeoff", node=SweeperConf, provider="bakeoff")
