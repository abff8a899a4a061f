"""The sweeper of studies, which Hydra's configuration names; Optuna is imported when a study starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.errors import require_package

if TYPE_CHECKING:
    from hydra.types import HydraContext
    from omegaconf import DictConfig

    from bakeoff.pipeline.sweep.engine import SweepReport
    from bakeoff.pipeline.sweep.request import SweepRequest


class OptunaSweeper:
    """Final: lets Optuna choose the jobs of a sweep.

    Parameters
    ----------
    **settings
        The fields of `bakeoff.pipeline.sweep.study.storage.StudySettings`.
    """

    def __init__(self, **settings: Any) -> None:
        self._settings = settings

    def run(self, request: SweepRequest, context: HydraContext, master: DictConfig) -> SweepReport:
        """Run the study of a request, whose words are those of the jobs."""
        require_package("optuna", "hydra/sweeper=optuna")
        from bakeoff.pipeline.sweep.study.storage import StudySettings
        from bakeoff.pipeline.sweep.study.sweeper import run_study

        return run_study(StudySettings(**self._settings), request, context, master)
