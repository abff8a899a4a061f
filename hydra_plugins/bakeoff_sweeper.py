"""The sweeper of plain sweeps.

Hydra looks for its plugins in this folder only; the work is done in `bakeoff.pipeline.sweep`.

Hydra runs this file before it is a module: annotations must not be postponed, because dataclasses would look them up
there.
"""

from dataclasses import dataclass, field

from hydra.core.config_store import ConfigStore
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


@dataclass
class SweeperConf:
    """The keys of ``hydra.sweeper``: further overrides, as in Hydra's own sweeper."""

    _target_: str = "hydra_plugins.bakeoff_sweeper.PlanningSweeper"
    params: dict[str, str] | None = field(default_factory=dict)


class PlanningSweeper(Sweeper):
    """Checks all jobs of a sweep before the first one runs, and runs each once.

    Parameters
    ----------
    params : mapping of str to str, optional
        Further overrides; those of the command line take precedence.
    """

    def __init__(self, params: dict[str, str] | None = None) -> None:
        self._params = dict(params or {})

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Store the arguments of Hydra; the task function is a `bakeoff.pipeline.cli.hydra_task.HydraTask`."""
        self._context = hydra_context
        self._task = task_function
        self._config = config

    def sweep(self, arguments: list[str]) -> None:
        """Run the sweep and store the outcomes of its jobs in the task."""
        from bakeoff.pipeline.cli.hydra_task import HydraTask
        from bakeoff.pipeline.sweep.plugin import run_hydra_sweep

        task = self._task
        assert isinstance(task, HydraTask)
        task.skips_invalid = self._config.on_invalid == "skip"
        params = [f"{key}={value}" for key, value in self._params.items()]
        report = run_hydra_sweep(params, self._context, task.get_sweep_input(arguments), self._config)
        task.outcomes += report.outcomes
        task.report = report


ConfigStore.instance().store(group="hydra/sweeper", name="bakeoff", node=SweeperConf, provider="bakeoff")
