"""The sweeper of studies.

Hydra looks for its plugins in this folder only; the work is done in `bakeoff.pipeline.study`.

Hydra runs this file before it is a module: annotations must not be postponed, because dataclasses would look them up
there.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hydra.core.config_store import ConfigStore

from bakeoff.pipeline.errors import require_package

if TYPE_CHECKING:
    from hydra.types import HydraContext
    from omegaconf import DictConfig

    from bakeoff.pipeline.sweep.engine import SweepReport
    from bakeoff.pipeline.sweep.request import SweepRequest


@dataclass
class StudySchema:
    """The types of the keys in ``conf/hydra/sweeper/optuna.yaml``."""

    _target_: str = "hydra_plugins.bakeoff_optuna.OptunaSweeper"
    _recursive_: bool = False
    _convert_: str = "all"
    sampler: dict[str, Any] = field(default_factory=dict)
    pruner: dict[str, Any] = field(default_factory=dict)
    n_trials: int = 20
    objectives: Any = None
    storage: str | None = None
    params: dict[str, str] = field(default_factory=dict)


ConfigStore.instance().store(group="schema", name="study", node=StudySchema, provider="bakeoff")


class OptunaSweeper:
    """Lets Optuna choose the jobs of a sweep.

    Parameters
    ----------
    **settings
        The fields of `bakeoff.pipeline.study.study_key.StudySettings`.
    """

    def __init__(self, **settings: Any) -> None:
        self._settings = settings

    def run(self, request: "SweepRequest", context: "HydraContext", master: "DictConfig") -> "SweepReport":
        """Run the study of a request, whose words are those of the jobs."""
        require_package("optuna", "hydra/sweeper=optuna")
        from bakeoff.pipeline.study.study_key import StudySettings
        from bakeoff.pipeline.study.sweeper import run_study

        return run_study(StudySettings(**self._settings), request, context, master)
