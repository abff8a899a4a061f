"""Hydra's part of a sweep: its command is read, its jobs are made, other launchers are served."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.core.utils import JobReturn
from hydra.types import HydraContext
from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from bakeoff.pipeline.config.invocation import read_invocation
from bakeoff.pipeline.config.schema import SWEEP_KEYS
from bakeoff.pipeline.config.settle import resolve_config, settle_config
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.compose import Composer, expand_overrides, varying_keys
from bakeoff.pipeline.sweep.jobs import KILLED, REFUSED, Job, JobOutcome
from bakeoff.pipeline.sweep.options import SweepOptions

BASIC = "hydra._internal.core_plugins.basic_launcher.BasicLauncher"


@dataclass(frozen=True)
class SweepCommand:
    """The command of a sweep, as Hydra understood it.

    Attributes
    ----------
    words : tuple of str
        What its jobs are made of.
    overrides : list of Override
        The same, parsed.
    options : SweepOptions
    composer : Composer
    launch : RemoteLauncher or None
        Another launcher than Hydra's basic one.
    folder : Path
        Of the sweep.
    master : DictConfig
        Composed for the sweep itself.
    """

    words: tuple[str, ...]
    overrides: list[Override]
    options: SweepOptions
    composer: Composer
    launch: RemoteLauncher | None
    folder: Path
    master: DictConfig

    @classmethod
    def read(cls, words: Sequence[str], context: HydraContext, master: DictConfig) -> SweepCommand:
        """Read what Hydra gives a sweeper.

        Raises
        ------
        UserError
            The sweep itself is written wrong.
        """
        HydraConfig.instance().set_config(master)
        parser = OverridesParser.create(config_loader=context.config_loader)
        overrides = parser.parse_overrides(list(words))
        for each in parser.parse_overrides(list(master.hydra.overrides.task)):
            if each.is_sweep_override() and each.key_or_group.split(".")[0] in SWEEP_KEYS:
                raise UserError(
                    f"{each.input_line}: {each.key_or_group} is a key of the whole sweep; give it one value."
                )
        is_ours = master.hydra.launcher._target_ == BASIC
        return cls(
            words=tuple(words),
            overrides=overrides,
            options=_options(master),
            composer=Composer(context.config_loader, master),
            launch=None if is_ours else RemoteLauncher(context, master),
            folder=Path(str(master.hydra.sweep.dir)),
            master=master,
        )

    def record(self) -> None:
        """Write into the folder of the sweep, if there is one by now, what was asked."""
        if self.folder.is_dir():
            with read_write(self.master.hydra), open_dict(self.master):
                self.master.hydra.overrides.task = list(self.words)
            OmegaConf.save(self.master, self.folder / "multirun.yaml")


def sweep(params: Sequence[str], context: HydraContext, task: Any, master: DictConfig) -> None:
    """Compose all jobs of a sweep, and hand them to the engine.

    Parameters
    ----------
    params : sequence of str
        Overrides that stand in the configuration of the sweeper; those of the command line go before.
    context : HydraContext
    task : Task
        Holds the overrides of the command line, and is told the outcomes.
    master : DictConfig
        Composed for the sweep itself.

    Raises
    ------
    UserError
        The sweep itself is written wrong; of single jobs the plan tells.
    """
    from bakeoff.pipeline.sweep.engine import run_sweep

    command = SweepCommand.read([*params, *task.arguments], context, master)
    jobs = expand_overrides(command.overrides, command.options, command.composer) if task.jobs is None else task.jobs
    varying = tuple(dict.fromkeys(each.key_or_group for each in command.overrides if each.is_sweep_override()))
    varying += tuple(key for key in varying_keys(jobs) if key not in varying)
    drafts = [command.composer.compose_job(number, words, varying) for number, words in enumerate(jobs)]
    run_sweep(drafts, command.options, task, command.folder, command.launch)
    command.record()


def _options(master: DictConfig) -> SweepOptions:
    plain = OmegaConf.to_container(OmegaConf.masked_copy(master, list(SWEEP_KEYS)), resolve=True)
    assert isinstance(plain, dict)
    plain["search"] = plain["search"] or {"method": "none"}
    return SweepOptions(**{str(key): value for key, value in plain.items()})


@dataclass(frozen=True)
class RemoteLauncher:
    """Another launcher of Hydra's, which may run jobs on other machines."""

    context: HydraContext
    master: DictConfig

    def __call__(self, jobs: Sequence[Job], options: SweepOptions) -> Iterator[JobOutcome]:
        """Launch the jobs and yield their outcomes."""
        named = f"hydra.sweep.dir='{self.master.hydra.sweep.dir}'"
        with read_write(self.master.hydra), open_dict(self.master):  # the others must not make a name of their own
            given = [word for word in self.master.hydra.overrides.hydra if word != named]
            self.master.hydra.overrides.hydra = [*given, named]
        varying = tuple(dict.fromkeys(key for job in jobs for key in job.invocation.varying))
        work = RemoteTask(options.resume, options.timeout, varying, jobs[0].invocation.study)
        launcher = Plugins.instance().instantiate_launcher(self.context, work, self.master)
        returned = launcher.launch([list(job.invocation.overrides) for job in jobs], initial_job_idx=0)
        try:
            for job, each in zip(jobs, returned, strict=True):
                yield replace(_arrived(job, each), number=job.number, name=job.name)
        finally:  # nobody waits for what still runs
            getattr(returned, "cancel", bool)()


def _arrived(job: Job, returned: JobReturn) -> JobOutcome:
    """Return the outcome of a job that ran elsewhere; one whose process died has none, and is told as killed."""
    try:
        outcome = returned.return_value
    except UserError as refusal:
        return JobOutcome(job.number, job.name, REFUSED, str(refusal))
    except Exception as error:
        return JobOutcome(job.number, job.name, KILLED, str(error))
    assert isinstance(outcome, JobOutcome)
    return outcome


@dataclass(frozen=True)
class RemoteTask:
    """What another launcher calls for each job: it goes there by pickle, and what it has to say comes back so."""

    resume: bool
    timeout: float | None
    varying: tuple[str, ...]
    study: str | None = None

    def __call__(self, composed: DictConfig) -> JobOutcome:
        """Run the job that Hydra composed there."""
        from bakeoff.pipeline.sweep.job_runner import JobRunner

        runner = JobRunner(self.resume, self.timeout)
        spec = settle_config(resolve_config(composed))
        invocation = replace(read_invocation(self.varying), study=self.study)
        return runner.run_job(runner.identify_job(0, spec, invocation, asked=False))
