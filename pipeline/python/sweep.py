"""``bakeoff.sweep``: many experiments, as ``bakeoff -m KEY=VALUE,VALUE ...`` runs them."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

from bakeoff.pipeline.config.trust import add_trust_of_environment
from bakeoff.pipeline.config.words import note_repeated_keys, reject_passwords
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.data import GivenData, open_data
from bakeoff.pipeline.python.keywords import reject_misspelled_keywords
from bakeoff.pipeline.python.notes import warn_of
from bakeoff.pipeline.python.process_state import own_process_state
from bakeoff.pipeline.python.sweep_result import SweepResult, make_sweep_result
from bakeoff.pipeline.python.words import check_words, find_source, make_words, write_command
from bakeoff.pipeline.sweep.engine import SweepReport
from bakeoff.pipeline.sweep.jobs import REFUSED
from bakeoff.pipeline.sweep.request import THREAD_VARIABLES, SweepRequest, run_requested_sweep, set_single_threads
from bakeoff.pipeline.text.secrets import conceal_words
from bakeoff.pipeline.text.words import count_nouns

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
    source = find_source(config_dir)
    with own_process_state(), open_data(given, own_words) as data, _single_threads():
        all_words = (*data.words, *own_words)
        report = run_requested_sweep(SweepRequest(all_words, source, quiet=not verbose))
        if not report.is_dry_run:
            _require_start(report)
        result = make_sweep_result(report, data.notes, write_command(all_words, source, "-m"))
    if not verbose:
        warn_of([*note_repeated_keys(own_words), *result.notes, *result.failures])
    return result


def _require_start(report: SweepReport) -> None:
    """Raise one error, with each reason once, if no job was started because some cannot work."""
    outcomes = report.outcomes
    if not outcomes or any(outcome.kind != REFUSED for outcome in outcomes):
        return
    reasons = list(dict.fromkeys(outcome.reason for outcome in outcomes))
    n_jobs = count_nouns(len(outcomes), "job")
    shown = "; ".join(reasons[:MAX_SHOWN_REASONS])
    n_more = len(reasons) - MAX_SHOWN_REASONS
    more = f"; and {n_more} other reasons" if n_more > 0 else ""
    has_others = len(outcomes) < len(report.plan.entries)
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
