"""The interface between sweeps and Hydra: it reads the command and composes the jobs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import HydraContext
from hydra.utils import instantiate
from omegaconf import DictConfig

from bakeoff.pipeline.config.trust import BASIC_LAUNCHER
from bakeoff.pipeline.config.words import SWEEP_KEYS, list_words, reject_unread_space
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.compose import (
    SPACE_METHODS,
    Composer,
    SweepCommand,
    SweepOptions,
    expand_overrides,
    require_few_jobs,
    require_single_values,
    varying_keys,
)
from bakeoff.pipeline.sweep.jobs import Job
from bakeoff.pipeline.sweep.request import SweepRequest
from bakeoff.pipeline.text import secrets, wording

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
        self._words = [f"{key}={value}" for key, value in (params or {}).items()]

    def run(self, request: SweepRequest, context: HydraContext, master: DictConfig) -> SweepReport:
        """Compose all jobs of a sweep, run them with the engine, and return its report.

        Parameters
        ----------
        request : SweepRequest
            The request, with the words of the jobs.
        context : HydraContext
        master : DictConfig
            The configuration of the sweep itself.

        Raises
        ------
        UserError
            An option of the sweep is invalid. Invalid jobs do not raise; the plan reports them.
        """
        command = read_command(self._words, request, context, master)
        composed = request.composed or _compose_jobs(command, request.jobs)
        require_few_jobs(len(composed), "the command", command.options.max_jobs)
        settled = [job.spec for job in composed if job.spec]
        if command.options.method not in SPACE_METHODS:
            reject_unread_space(command.words, settled)
        # Invalid words are refused before the numerical packages are imported.
        from bakeoff.pipeline.sweep.engine import SweepEngine

        return SweepEngine(command).run(composed)


def read_command(
    params: Sequence[str], request: SweepRequest, context: HydraContext, master: DictConfig
) -> SweepCommand:
    """Read the command of a sweep from the arguments that Hydra passes to a sweeper.

    Parameters
    ----------
    params : sequence of str
        Overrides from the configuration of the sweeper; those of the request take precedence.
    request : SweepRequest
        The request, with the words of the jobs.
    context : HydraContext
    master : DictConfig
        The configuration of the sweep itself.

    Raises
    ------
    UserError
        An option of the sweep is invalid.
    """
    # Otherwise each combination would contain both values of a key and use the last one.
    given = {word.lstrip("+~").partition("=")[0] for word in request.words}
    words = [*(word for word in params if word.partition("=")[0] not in given), *request.words]
    for word in params:
        key = word.partition("=")[0]
        if key in SWEEP_KEYS:
            raise UserError(f"hydra.sweeper.params: {key} applies to the whole sweep; give {word} beside -m.")
        if secrets.hide_secrets(word) != word:
            raise UserError(f"hydra.sweeper.params: {key} contains the value of a secret; give {key} beside -m.")
    # Values of the configuration may refer to Hydra's settings.
    HydraConfig.instance().set_config(master)
    parser = OverridesParser.create(config_loader=context.config_loader)
    parsed = parser.parse_overrides(words)
    # The words of the master configuration set options of the sweep itself, which cannot vary between jobs.
    require_single_values(parser.parse_overrides(list_words(master.hydra.overrides.task)))
    has_basic_launcher = master.hydra.launcher._target_ == BASIC_LAUNCHER
    options = SweepOptions.read(master)
    if options.budget is not None and not has_basic_launcher:
        raise UserError("budget limits the sweeps of this machine; leave out budget, or hydra/launcher.")
    return SweepCommand(
        words=tuple(words),
        overrides=parsed,
        options=options,
        composer=Composer(context.config_loader, master),
        launch=None if has_basic_launcher else instantiate(master.hydra.launcher, _convert_="all").launch,
        folder=Path(str(master.hydra.sweep.dir)),
        master=master,
        tracebacks=request.tracebacks,
        quiet=request.quiet,
    )


def _compose_jobs(command: SweepCommand, jobs: Sequence[Sequence[str]] | None) -> list[Job]:
    """Compose jobs from their overrides, by default those that the words of a command describe."""
    from bakeoff.pipeline.sweep.run_screen import announce_long

    if jobs is None:
        jobs = expand_overrides(command.overrides, command.options, command.composer)
    varying = varying_keys(jobs)
    watched = announce_long(jobs, "composing", wording.make_console(stderr=True, quiet=command.quiet).print)
    return [command.composer.compose_job(number, words, varying) for number, words in enumerate(watched)]
