"""Hydra looks for its plugins in this folder alone; what the sweeper does is in `bakeoff.pipeline.sweep.plugin`.

Hydra runs this file before it is a module: annotations must not be postponed, for dataclasses would look them up there.
"""

from dataclasses import dataclass

from hydra.core.config_store import ConfigStore
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig


@dataclass
class SweeperConf:
    """What may be set under ``hydra.sweeper``: further overrides, as in Hydra's own sweeper."""

    _target_: str = "hydra_plugins.bakeoff_sweeper.PlanningSweeper"
    params: dict[str, str] | None = None


class PlanningSweeper(Sweeper):
    """Checks every job of a sweep before the first one runs, and runs each once.

    Parameters
    ----------
    params : mapping of str to str, optional
    """

    def __init__(self, params: dict[str, str] | None = None) -> None:
        self._params = dict(params or {})

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        """Take what Hydra gives."""
        self._given = hydra_context, task_function, config

    def sweep(self, arguments: list[str]) -> None:
        """Run a sweep; the task holds the arguments of its jobs, and is told what became of them."""
        from bakeoff.pipeline.sweep.plugin import sweep

        sweep([f"{key}={value}" for key, value in self._params.items()], *self._given)


ConfigStore.instance().store(group="hydra/sweeper", name="bakeoff", node=SweeperConf, provider="bakeoff")
