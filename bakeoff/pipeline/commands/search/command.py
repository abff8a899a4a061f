"""The sweeper of a study, which Hydra's configuration names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.errors import require_package

if TYPE_CHECKING:
    from bakeoff.pipeline.sweep.command import SweepCommand
    from bakeoff.pipeline.sweep.engine import SweepReport


class OptunaSweeper:
    """Final: lets Optuna, which is imported when a study starts, choose the jobs of a sweep.

    Parameters
    ----------
    params : mapping of str to str
        As for `PlanningSweeper`, but a single mapping.
    **settings
        The fields of `bakeoff.pipeline.commands.search.storage.StudySettings`.
    """

    def __init__(self, params: Any, **settings: Any) -> None:
        self.params = params
        self._settings = settings

    def run(self, command: SweepCommand) -> SweepReport:
        """Run the study that a command describes."""
        require_package("optuna", "hydra/sweeper=optuna")
        from bakeoff.pipeline.commands.search.storage import StudySettings
        from bakeoff.pipeline.commands.search.sweeper import run_study

        return run_study(StudySettings(**self._settings), command)
