"""The sweeper of plain sweeps.

Hydra looks for its plugins in this folder only; the work is done in `bakeoff.pipeline.sweep`.

Hydra runs this file before it is a module: annotations must not be postponed, because dataclasses would look them up
there.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hydra.core.config_store import ConfigStore

if TYPE_CHECKING:
    from hydra.types import HydraContext
    from omegaconf import DictConfig

    from bakeoff.pipeline.sweep.engine import SweepReport
    from bakeoff.pipeline.sweep.request import SweepRequest


@dataclass
class SweeperConf:
    """The keys of ``hydra.sweeper``: further overrides, as in Hydra's own sweeper."""

    _target_: str = "hydra_plugins.bakeoff_sweeper.PlanningSweeper"
    params: dict[str, str] | None = field(default_factory=dict)


class PlanningSweeper:
    """Checks all jobs of a sweep before the first one runs, and runs each once.

    Parameters
    ----------
    params : mapping of str to str, optional
        Further overrides; those of the command line take precedence.
    """

    def __init__(self, params: dict[str, str] | None = None) -> None:
        self._words = [f"{key}={value}" for key, value in (params or {}).items()]

    def run(self, request: "SweepRequest", context: "HydraContext", master: "DictConfig") -> "SweepReport":
        """Run the sweep of a request, whose words are those of the jobs."""
        from bakeoff.pipeline.sweep.plugin import run_hydra_sweep

        return run_hydra_sweep(self._words, request, context, master)


ConfigStore.instance().store(group="hydra/sweeper", name="bakeoff", node=SweeperConf, provider="bakeoff")
