"""``bakeoff [KEY=VALUE ...]``: run one experiment, or with ``-m`` a sweep."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.pipeline.cli.flags import order_words
from bakeoff.pipeline.cli.sweep_mode import note_repeated_keys, print_notes, read_mode
from bakeoff.pipeline.cli.verbs import VERBS
from bakeoff.pipeline.config.trust.trusted_packages import add_trust_of_environment
from bakeoff.pipeline.config.words import (
    RUN_WORD,
    check_overrides,
    list_overrides,
    require_readable_folder,
)
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.secrets import conceal_words
from bakeoff.pipeline.text.terminal import show_controls

if TYPE_CHECKING:
    from bakeoff.pipeline.sweep.report import SweepReport

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
RUN_VERB = "run"
"""A verb that other programs have."""
OPTION_PREFIXES = ("-", "~", "+")
"""First characters of flags and of overrides that delete or add a key."""


def run_experiments(
    words: Sequence[str],
    jobs: Sequence[Sequence[str]] | None = None,
    on_report: Callable[[SweepReport], object] = bool,
) -> int:
    """Compose and run the experiment or the sweep that a command line describes, and return the exit code.

    Parameters
    ----------
    words : sequence of str
        Flags and overrides.
    jobs : sequence of sequence of str, optional
        The overrides of each job of a sweep; by default they are made from `words`.

    on_report : callable
        Called with what a sweep has done.

    Raises
    ------
    UserError
        The command line is invalid, or none of its jobs can run.
    """
    _require_option(words)
    jobs = None if jobs is None else [conceal_words(job)[0] for job in jobs]
    require_readable_folder(Path.cwd())
    words = order_words(words)
    check_overrides(list_overrides(words))
    words = add_trust_of_environment(words)
    is_single = RUN_WORD in {word.lstrip("+") for word in words}
    words, is_sweep = read_mode(words)
    print_notes(note_repeated_keys(words))
    if is_sweep:
        # Jobs, not matrix products, share the processors. NumPy reads the variables when it is loaded.
        set_single_threads()

    from bakeoff.pipeline.cli.hydra_task import HydraTask, run_hydra
    from bakeoff.pipeline.config.invocation import split_sweep_words
    from bakeoff.pipeline.config.schema import register_schema
    from bakeoff.pipeline.config.unread_keys import reject_added_hydra_keys
    from bakeoff.pipeline.sweep.jobs import SKIPPED, exit_code
    from bakeoff.pipeline.sweep.sweep_input import SweepInput

    reject_added_hydra_keys(words)
    register_schema()
    tracebacks = os.environ.get("HYDRA_FULL_ERROR") == "1"
    if not is_sweep:
        task = HydraTask(tracebacks, is_single=is_single)
        run_hydra(task, words)
        for outcome in task.outcomes:
            if outcome.reason and outcome.kind != SKIPPED:
                print(f"{outcome.kind}: {show_controls(outcome.reason)}", file=sys.stderr)
        return exit_code(task.outcomes)

    # Hydra composes the sweep itself from some of the words; the others vary from job to job.
    sweep_words, job_words = split_sweep_words(words)
    task = HydraTask(tracebacks, SweepInput(job_words, jobs, tracebacks))
    run_hydra(task, sweep_words)
    if task.report is not None:
        on_report(task.report)
    return exit_code(task.outcomes, task.skips_invalid)


def set_single_threads() -> None:
    """Let matrix products use one thread, in processes that load NumPy from now on, unless the user decided it."""
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")


def _require_option(words: Sequence[str]) -> None:
    """Reject a first word that is neither a flag nor an override: it is probably a misspelled verb."""
    first = words[0] if words else ""
    if first and "=" not in first and not first.startswith(OPTION_PREFIXES):
        if get_close_matches(first, [*VERBS, RUN_VERB], n=1) == [RUN_VERB]:
            raise UserError(
                f"{first!r} is neither a verb nor KEY=VALUE. An experiment has no verb: bakeoff KEY=VALUE ... runs it."
            )
        raise UserError(f"{first!r} is neither a verb nor KEY=VALUE. {did_you_mean(first, VERBS)}")
