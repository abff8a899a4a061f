"""The interface to Hydra: its input, how it is called, and what its jobs return."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from bakeoff.pipeline.cli.arguments import MULTIRUN_FLAGS
from bakeoff.pipeline.cli.sweep_mode import print_notes
from bakeoff.pipeline.config.explain_error import explain_error
from bakeoff.pipeline.config.invocation import (
    discard_output_folder,
    note_tuned_keys,
    read_invocation,
    reject_sweep_values,
    reject_unread_space,
)
from bakeoff.pipeline.config.settle import resolve_config, settle_choices, settle_config
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.processes import describe_limit
from bakeoff.pipeline.sweep.jobs import REFUSED, JobOutcome
from bakeoff.pipeline.sweep.sweep_input import SweepInput

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from bakeoff.pipeline.sweep.report import SweepReport

FLAG_PREFIX = "-"


@dataclass
class HydraTask:
    """The function that Hydra calls with a composed configuration.

    Hydra passes it unchanged to the sweeper, and returns nothing from a sweep. For this reason it also holds the input
    of the sweep, for the sweeper, and the outcomes, for the command.

    Attributes
    ----------
    tracebacks : bool
        Whether to print the traceback of a job that fails.
    sweep_input : SweepInput or None
        The input of a sweep; None for a single run.
    outcomes : list of JobOutcome
        Of the jobs that ended.
    report : SweepReport or None
        Of a sweep whose jobs were known before; None for a single run and for a study.
    is_single : bool
        Whether ``hydra.mode=RUN`` asks for a single run, even if a file describes a sweep.
    skips_invalid : bool
        Whether the sweep leaves out invalid jobs, as ``on_invalid=skip`` asks.
    """

    tracebacks: bool
    sweep_input: SweepInput | None = None
    outcomes: list[JobOutcome] = field(default_factory=list)
    report: SweepReport | None = None
    is_single: bool = False
    skips_invalid: bool = False

    def __call__(self, composed: DictConfig) -> float:
        """Run a single job, keep its outcome and return its headline score."""
        # Before pandas: skops searches all loaded modules for each function of scipy.special.
        import scipy.special  # noqa: F401

        from bakeoff.pipeline.cli.single_run import run_single_job

        try:
            spec = resolve_config(composed)
            invocation = read_invocation()
            if not self.is_single:
                reject_sweep_values()
            settled = settle_config(spec)
            reject_unread_space(invocation.overrides, [settled])
            print_notes(note_tuned_keys(invocation.overrides, [settled]))
            print_notes(describe_limit("n_jobs", settled.get("n_jobs", 1)))
            invocation = replace(invocation, choices=settle_choices(settled, invocation.choices))
            outcome = run_single_job(settled, invocation, self.tracebacks)
        except UserError as error:
            # If it were raised from here, Hydra would print a message of its own before it.
            outcome = JobOutcome(number=0, name="", kind=REFUSED, reason=str(error))
        if outcome.kind == REFUSED:
            # A refused command must not leave any files, but Hydra has already created a folder.
            discard_output_folder()
        self.outcomes.append(outcome)
        return outcome.score

    def get_sweep_input(self, overrides: Sequence[str]) -> SweepInput:
        """Return the input of the sweep.

        Parameters
        ----------
        overrides : sequence of str
            Those of the command line. They are used if the sweep was requested by ``hydra.mode`` in a file instead of
            on the command line.
        """
        if self.sweep_input is None:
            return SweepInput(overrides, tracebacks=self.tracebacks)
        return self.sweep_input


def run_hydra(task: HydraTask, words: Sequence[str]) -> None:
    """Let Hydra compose the configuration and call the task, or its sweeper.

    Parameters
    ----------
    task : HydraTask
    words : sequence of str
        Flags and overrides.

    Raises
    ------
    UserError
        The configuration is invalid.
    """
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises its errors instead of printing them
    try:
        _compose_and_call(task, words)
    except Exception as error:
        if task.tracebacks:
            traceback.print_exc()
        raise explain_error(error) from None


def _compose_and_call(task: HydraTask, words: Sequence[str]) -> None:
    """Compose once if that is possible.

    `hydra.main` composes twice, the first time only to find out whether the configuration requests a sweep. For this
    reason it is used only for commands with flags or modes that nothing else in Hydra interprets.
    """
    import hydra
    from hydra.core.global_hydra import GlobalHydra

    from bakeoff.pipeline.config.options import CONF

    overrides = [word for word in words if word not in MULTIRUN_FLAGS]
    has_flags = any(word.startswith(FLAG_PREFIX) for word in overrides)
    has_mode = any(word.lstrip("+").startswith("hydra.mode") for word in overrides)
    if has_flags or has_mode:
        run_main = hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")(task)
        sys.argv[1:] = words  # hydra.main parses the command line itself
        run_main()
        return
    with hydra.initialize_config_dir(str(CONF), job_name="bakeoff", version_base="1.3"):
        engine = GlobalHydra.instance().hydra
        assert engine is not None
        if task.sweep_input is None:
            engine.run("config", task, [*overrides, "hydra.mode=RUN"])
        else:
            engine.multirun("config", task, [*overrides, "hydra.mode=MULTIRUN"])
