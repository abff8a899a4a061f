"""``bakeoff.sweep``: many experiments, as ``bakeoff -m KEY=VALUE,VALUE ...`` runs them."""

from __future__ import annotations

import importlib
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any

from bakeoff.pipeline.cli.arguments import name_sweep
from bakeoff.pipeline.cli.hydra_task import HydraTask, run_hydra
from bakeoff.pipeline.cli.passwords import reject_passwords
from bakeoff.pipeline.cli.run import THREAD_VARIABLES, set_single_threads
from bakeoff.pipeline.cli.sweep_mode import note_repeated_keys
from bakeoff.pipeline.config.invocation import split_sweep_words
from bakeoff.pipeline.config.schema import register_schema
from bakeoff.pipeline.config.trust.trusted_packages import add_trust_of_environment
from bakeoff.pipeline.config.words import check_overrides
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.data import GivenData, open_data
from bakeoff.pipeline.python.keywords import reject_misspelled_keywords
from bakeoff.pipeline.python.notes import warn_of
from bakeoff.pipeline.python.process_state import own_process_state
from bakeoff.pipeline.python.sweep_result import SweepResult, make_sweep_result
from bakeoff.pipeline.python.words import add_config_folder, check_words, make_words
from bakeoff.pipeline.sweep.jobs import REFUSED, JobOutcome
from bakeoff.pipeline.sweep.report import SweepReport
from bakeoff.pipeline.sweep.sweep_input import SweepInput
from bakeoff.pipeline.text.secrets import conceal_words

MAX_SHOWN_REASONS = 3


def sweep(
    *words: str,
    dataset: Any = None,
    target: Any = None,
    dataset_name: str | None = None,
    config_dir: str | PathLike[str] | None = None,
    verbose: bool = False,
    **keys: Any,
) -> SweepResult:
    """Run every combination of several values.

    Jobs that are finished in the store are not run again, and are part of the result.

    Parameters
    ----------
    *words : str
        ``KEY=VALUE,VALUE`` as on the command line after ``-m``, each as a text of its own.
    dataset : str, path, table, list or mapping, optional
        As for `run`; or a list of names, or a list of tables and files that have the same target, or a mapping of names
        to such tables.
    target, dataset_name, config_dir
        As for `run`.
    verbose : bool
        Whether to print what the command prints, with its progress bar. By default nothing is printed, and what the
        sweep says of its data and of jobs that failed is a `BakeoffWarning` each.
    **keys
        Further keys with Python values. A list has a value for each job: ``learner=["knn", "svm"]``,
        ``learner__C=[0.1, 1, 10]``. Of ``trust``, ``figures`` and ``space``, and of keys that hold columns, such as
        ``dataset__drop``, a list is one value. The keys of sweeps are those of the command: ``workers=2``,
        ``timeout=60``, ``search="grid"``, ``resume=False``, ``dry_run=True``.

    Returns
    -------
    SweepResult

    Raises
    ------
    UserError
        The command or one of its jobs is invalid, and nothing was run.

    Examples
    --------
    >>> result = sweep(learner=["majority", "knn"], dataset="wine", evaluation="kfold", tracking="none")
    >>> result.table.round(3).to_dict()
    {'wine': {'knn': 0.697, 'majority': 0.399}}
    """
    reject_misspelled_keywords(keys)
    given = GivenData(dataset, target, dataset_name, is_sweep=True)
    own_words = add_trust_of_environment([*check_words(words), *make_words(keys, is_sweep=True)])
    reject_passwords(own_words)
    own_words, _ = conceal_words(own_words)
    with own_process_state(), open_data(given, own_words) as data, _single_threads():
        all_words = add_config_folder([*data.words, *own_words], config_dir)
        result = _run_words(all_words, verbose, data.notes)
    if not verbose:
        warn_of([*note_repeated_keys(own_words), *result.notes, *result.failures])
    return result


def _run_words(words: Sequence[str], verbose: bool, notes: Sequence[str]) -> SweepResult:
    """Run the sweep of a command line; the notes are those of the tables."""
    register_schema()
    check_overrides(words)
    sweep_words, job_words = split_sweep_words(words)
    name, folder_word = name_sweep()
    task = HydraTask(tracebacks=False, sweep_input=SweepInput(job_words, quiet=not verbose))
    run_hydra(task, [*sweep_words, folder_word])
    report = task.report
    if report is None or not report.is_dry_run:
        _require_start(task.outcomes, report)
    command = shlex.join(["bakeoff", "-m", *words])
    return make_sweep_result(name, task.outcomes, report, notes, command)


def _require_start(outcomes: Sequence[JobOutcome], report: SweepReport | None) -> None:
    """Raise one error, with each reason once, if no job was started because some cannot work."""
    is_refused = bool(outcomes) and all(outcome.kind == REFUSED for outcome in outcomes)
    was_stopped = report is not None and not report.results
    if not is_refused and not was_stopped:
        return
    reasons = list(dict.fromkeys(outcome.reason for outcome in outcomes))
    n_jobs = "1 job" if len(outcomes) == 1 else f"{len(outcomes)} jobs"
    shown = "; ".join(reasons[:MAX_SHOWN_REASONS])
    n_more = len(reasons) - MAX_SHOWN_REASONS
    more = f"; and {n_more} other reasons" if n_more > 0 else ""
    has_others = report is not None and len(outcomes) < len(report.plan.entries)
    cure = " on_invalid='skip' runs the others." if has_others else ""
    raise UserError(f"{n_jobs} cannot work, so none was started: {shown}{more}{cure}")


@contextmanager
def _single_threads() -> Iterator[None]:
    """Let matrix products use one thread for as long as the sweep takes, as in the command.

    NumPy is loaded already, so that the variables that the command sets have no effect in this process. They decide in
    workers.
    """
    is_decided = any(variable in os.environ for variable in THREAD_VARIABLES)
    set_single_threads()
    if is_decided:
        yield
        return
    # scikit-learn depends on threadpoolctl, which publishes no types.
    with importlib.import_module("threadpoolctl").threadpool_limits(limits=1):
        yield
