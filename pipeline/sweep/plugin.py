"""The interface of a sweep to Hydra: it reads the command, composes the jobs, and calls other launchers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from bakeoff.pipeline.config.compose_job import PRIVATE_MODE
from bakeoff.pipeline.config.guard import BASIC_LAUNCHER
from bakeoff.pipeline.config.invocation import list_words, note_tuned_keys, reject_unread_space
from bakeoff.pipeline.sweep.compose import Composer, expand_overrides, varying_keys
from bakeoff.pipeline.sweep.options import SweepOptions, reject_lost_keys, reject_sweep_params, require_one_value
from bakeoff.pipeline.sweep.remote import RemoteLauncher
from bakeoff.pipeline.sweep.request import SweepRequest
from bakeoff.pipeline.sweep.values import check_values, require_few_jobs

if TYPE_CHECKING:
    from bakeoff.pipeline.sweep.report import SweepReport

SEARCHING_METHODS = ("grid", "random")
"""The values of ``search.method`` that read the space of a learner."""


@dataclass(frozen=True)
class SweepCommand:
    """The command of a sweep, as Hydra parsed it.

    Attributes
    ----------
    words : tuple of str
        The overrides that the jobs are made of.
    overrides : list of Override
        The same, parsed.
    options : SweepOptions
    composer : Composer
    launch : RemoteLauncher or None
        Another launcher than Hydra's basic one.
    folder : Path
        The folder of the sweep.
    master : DictConfig
        The configuration of the sweep itself.
    quiet : bool
        Whether to print nothing.
    """

    words: tuple[str, ...]
    overrides: list[Override]
    options: SweepOptions
    composer: Composer
    launch: RemoteLauncher | None
    folder: Path
    master: DictConfig
    quiet: bool = False

    @classmethod
    def read(
        cls, words: Sequence[str], context: HydraContext, master: DictConfig, *, combines: bool = True
    ) -> SweepCommand:
        """Read the command from the arguments that Hydra passes to a sweeper.

        Parameters
        ----------
        words : sequence of str
            The overrides that the jobs are made of.
        context : HydraContext
        master : DictConfig
            The configuration of the sweep itself.
        combines : bool
            Whether the values of the keys are combined with one another, as they are unless a study chooses some.

        Raises
        ------
        UserError
            An option of the sweep is invalid, or there would be too many jobs.
        """
        # Values of the configuration may refer to Hydra's own part.
        HydraConfig.instance().set_config(master)
        parser = OverridesParser.create(config_loader=context.config_loader)
        # These words set the options of the sweep itself, which cannot vary from job to job.
        for override in parser.parse_overrides(list_words(master.hydra.overrides.task)):
            require_one_value(override)
        parsed = parser.parse_overrides(list(words))
        options = SweepOptions.read(master)
        if combines:
            require_few_jobs(parsed, str(options.search["method"]), options.max_jobs)
        check_values(parsed)
        reject_lost_keys(parsed, context.config_loader, master)
        has_basic_launcher = master.hydra.launcher._target_ == BASIC_LAUNCHER
        return cls(
            words=tuple(words),
            overrides=parsed,
            options=options,
            composer=Composer(context.config_loader, master),
            launch=None if has_basic_launcher else RemoteLauncher(context, master),
            folder=Path(str(master.hydra.sweep.dir)),
            master=master,
        )

    def write_record(self) -> None:
        """Write the configuration of the sweep into its folder, unless nothing ran and there is no folder."""
        if not self.folder.is_dir():
            return
        # The sweep itself was composed without the overrides of its jobs; the record shows the whole command.
        with read_write(self.master.hydra), open_dict(self.master):
            self.master.hydra.overrides.task = list(self.words)
        file = self.folder / "multirun.yaml"
        file.touch(mode=PRIVATE_MODE)
        OmegaConf.save(self.master, file)


def run_hydra_sweep(
    params: Sequence[str], request: SweepRequest, context: HydraContext, master: DictConfig
) -> SweepReport:
    """Compose all jobs of a sweep, let the engine run them, and return what it has done.

    Parameters
    ----------
    params : sequence of str
        Overrides in the configuration of the sweeper; those of the command line take precedence.
    request : SweepRequest
        Its words are those of the jobs.
    context : HydraContext
    master : DictConfig
        The configuration of the sweep itself.

    Raises
    ------
    UserError
        An option of the sweep is invalid. An invalid job is not an error here: the plan shows it.
    """
    # Otherwise each combination would have both values of a key, of which the last one counts, many times over.
    reject_sweep_params(params)
    given = {word.lstrip("+~").partition("=")[0] for word in request.words}
    remaining = [word for word in params if word.partition("=")[0] not in given]
    command = SweepCommand.read([*remaining, *request.words], context, master)
    jobs = request.jobs
    is_expanded = jobs is None
    if jobs is None:
        jobs = expand_overrides(command.overrides, command.options, command.composer)
    # Words that are wrong are refused before the packages that compute are imported.
    from bakeoff.pipeline.sweep.engine import run_sweep
    from bakeoff.pipeline.sweep.learner_pattern import find_learner_pattern

    pattern = find_learner_pattern(command.overrides) if is_expanded else None
    # Jobs of a search space vary in keys that the command line does not name.
    swept_keys = [override.key_or_group for override in command.overrides if override.is_sweep_override()]
    varying = tuple(dict.fromkeys([*swept_keys, *varying_keys(jobs)]))
    composed = [command.composer.compose_job(number, words, varying) for number, words in enumerate(jobs)]
    settled = [job.spec for job in composed if job.spec is not None]
    if command.options.search["method"] not in SEARCHING_METHODS:
        reject_unread_space(command.words, settled)
    report = run_sweep(
        composed,
        command.options,
        command.folder,
        command.launch,
        request.tracebacks,
        learner_pattern=pattern,
        quiet=request.quiet,
        notes=note_tuned_keys(command.words, settled),
    )
    command.write_record()
    return report
