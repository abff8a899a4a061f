"""The sweepers that Hydra's configuration names: one plans all jobs of a sweep, and the other runs a study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.config.words import reject_unread_space
from bakeoff.pipeline.errors import require_package
from bakeoff.pipeline.sweep.command import (
    SPACE_METHODS,
    SweepCommand,
    expand_overrides,
    list_varying_keys,
    require_few_jobs,
)
from bakeoff.pipeline.sweep.jobs import Job
from bakeoff.pipeline.text import wording

if TYPE_CHECKING:
    from bakeoff.pipeline.sweep.engine import SweepReport


class PlanningSweeper:
    """Final: checks all jobs of a sweep before the first one runs, and runs each once.

    Parameters
    ----------
    params : mapping of str to str, optional
        Further overrides; those of the command line take precedence.
    """

    def __init__(self, params: Mapping[str, str] | None = None) -> None:
        self.params = params

    def run(self, command: SweepCommand) -> SweepReport:
        """Compose all jobs of a sweep, run them with the engine, and return its report.

        Parameters
        ----------
        command : SweepCommand

        Raises
        ------
        UserError
            An option of the sweep is invalid. Invalid jobs do not raise; the plan reports them.
        """
        composed = command.request.composed or _compose_jobs(command)
        require_few_jobs(len(composed), "the command", command.options.max_jobs)
        if command.options.method not in SPACE_METHODS:
            reject_unread_space(command.request.words, [job.spec for job in composed if job.spec])
        # Invalid words are refused before the numerical packages are imported.
        from bakeoff.pipeline.sweep.engine import SweepEngine

        return SweepEngine(command).run(composed)


def _compose_jobs(command: SweepCommand) -> list[Job]:
    """Compose jobs from their overrides, by default those that the words of a command describe."""
    from bakeoff.pipeline.sweep.run_screen import announce_long

    jobs = expand_overrides(command) if command.request.jobs is None else command.request.jobs
    varying = list_varying_keys(jobs)
    announce = wording.make_console(stderr=True, quiet=command.request.quiet).print
    watched = announce_long(jobs, "composing", announce)
    return [command.composer.compose_job(number, words, varying) for number, words in enumerate(watched)]


class OptunaSweeper:
    """Final: lets Optuna, which is imported when a study starts, choose the jobs of a sweep.

    Parameters
    ----------
    params : mapping of str to str
        As for `PlanningSweeper`.
    **settings
        The fields of `bakeoff.pipeline.sweep.study.storage.StudySettings`.
    """

    def __init__(self, params: Mapping[str, str], **settings: Any) -> None:
        self.params = params
        self._settings = settings

    def run(self, command: SweepCommand) -> SweepReport:
        """Run the study that a command describes."""
        require_package("optuna", "hydra/sweeper=optuna")
        from bakeoff.pipeline.sweep.study.storage import StudySettings
        from bakeoff.pipeline.sweep.study.sweeper import run_study

        return run_study(StudySettings(**self._settings), command)
