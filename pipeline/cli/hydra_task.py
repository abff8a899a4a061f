"""The interface to Hydra: its input, how it is called, and what its jobs return."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.pipeline.cli.shown_configuration import show, shows_only
from bakeoff.pipeline.cli.sweep_mode import print_notes
from bakeoff.pipeline.config.invocation import (
    discard_output_folder,
    find_new_parents,
    note_tuned_keys,
    protect_output_files,
    read_invocation,
    reject_sweep_values,
    reject_unread_space,
)
from bakeoff.pipeline.config.messages import explain_error
from bakeoff.pipeline.config.settle import resolve_config, settle_choices, settle_config
from bakeoff.pipeline.config.trust.trusted_packages import is_trust_word, read_trust
from bakeoff.pipeline.config.words import SWEEP_WORD, list_overrides
from bakeoff.pipeline.errors import StoreError, UserError
from bakeoff.pipeline.processes import describe_limit
from bakeoff.pipeline.sweep.jobs import REFUSED, JobOutcome
from bakeoff.pipeline.sweep.sweep_input import SweepInput
from bakeoff.pipeline.text.secrets import format_traceback

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from bakeoff.pipeline.sweep.report import SweepReport


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
    new_parents : tuple of Path
        The folders that Hydra creates above that of a single run.
    """

    tracebacks: bool
    sweep_input: SweepInput | None = None
    outcomes: list[JobOutcome] = field(default_factory=list)
    report: SweepReport | None = None
    is_single: bool = False
    skips_invalid: bool = False
    new_parents: tuple[Path, ...] = ()

    def __call__(self, composed: DictConfig) -> float:
        """Run a single job, keep its outcome and return its headline score."""
        # Before pandas: skops searches all loaded modules for each function of scipy.special.
        import scipy.special  # noqa: F401

        from bakeoff.pipeline.cli.single_run import run_single_job

        protect_output_files()
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
            discard_output_folder(self.new_parents)
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
    StoreError
        The store was lost.
    """
    task.new_parents = find_new_parents(words)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra then raises its errors instead of printing them
    try:
        _compose_and_call(task, words)
    except StoreError:
        raise
    except Exception as error:
        if task.tracebacks:
            print(format_traceback(error), file=sys.stderr)
        raise explain_error(error, list_overrides(words)) from None


def _compose_and_call(task: HydraTask, words: Sequence[str]) -> None:
    """Compose once, and do what the flags ask for.

    `hydra.main` would compose twice, the first time only to find out whether the configuration requests a sweep.
    """
    from hydra._internal.utils import get_args_parser
    from hydra.core.utils import validate_config_path

    from bakeoff.pipeline.config.engine import ROOT_NAME, open_engine

    parser = get_args_parser()
    arguments = parser.parse_args(list(words))
    _reject_pickled_job(arguments)
    _reject_lost_flags(arguments)
    validate_config_path(arguments.config_path)
    root_name = arguments.config_name or ROOT_NAME
    with open_engine(_find_root_folder(arguments, words), arguments.config_dir) as engine:
        if shows_only(arguments):
            show(engine, root_name, parser, arguments)
        elif task.sweep_input is not None:
            engine.multirun(root_name, task, [*arguments.overrides, SWEEP_WORD])
        else:
            engine.run(root_name, task, arguments.overrides)


def _find_root_folder(arguments: Namespace, words: Sequence[str]) -> str:
    """Return the folder of the root file that ``--config-path`` names; empty for that of bakeoff."""
    from bakeoff.pipeline.config.trust.search_path import PACKAGE_SCHEME, require_trusted_folder

    given = arguments.config_path
    if given is None:
        return ""
    trust = [word.partition("=")[2] for word in words if is_trust_word(word)]
    require_trusted_folder("--config-path", given, read_trust(trust[-1] if trust else ""))
    return str(given) if given.startswith(PACKAGE_SCHEME) else os.path.abspath(given)


def _reject_pickled_job(arguments: Namespace) -> None:
    if arguments.experimental_rerun is not None:
        raise UserError(
            "--experimental-rerun reads a pickle, which may run code; `bakeoff rerun --failed` runs stored jobs again, "
            "and `bakeoff replay RUN` repeats a run."
        )


def _reject_lost_flags(arguments: Namespace) -> None:
    """Reject flags that say how a configuration is shown, if none is shown."""
    is_shown = arguments.cfg or arguments.help
    if arguments.resolve and not is_shown:
        raise UserError("--resolve has no effect without --cfg or --help; add --cfg job, or leave it out.")
