"""``bakeoff.run``: one experiment, as ``bakeoff KEY=VALUE ...`` runs it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from typing import Any

from bakeoff.pipeline.card.report import describe_run_lines, summarize_folds, tabulate_predictions
from bakeoff.pipeline.config.trust import add_trust_of_environment
from bakeoff.pipeline.config.words import note_repeated_keys, note_tuned_keys, reject_passwords
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.identity.config_hash import describe_unidentified
from bakeoff.pipeline.model import Model, make_training_record
from bakeoff.pipeline.python.data import GivenData, open_data
from bakeoff.pipeline.python.keywords import reject_misspelled_keywords
from bakeoff.pipeline.python.notes import warn_of
from bakeoff.pipeline.python.process_state import own_process_state
from bakeoff.pipeline.python.run_result import RunResult, tabulate_folds, tabulate_scores
from bakeoff.pipeline.python.words import check_words, find_source, make_words, write_command
from bakeoff.pipeline.sweep.job import JobResult, PreparedJob
from bakeoff.pipeline.sweep.request import FinishedRun, RunFailed, RunRequest, run_experiment
from bakeoff.pipeline.text.secrets import conceal_words
from bakeoff.pipeline.tracking.provenance import read_versions


def run(
    *words: str,
    dataset: Any = None,
    target: Any = None,
    dataset_name: str | None = None,
    config_dir: str | PathLike[str] | None = None,
    verbose: bool = False,
    **keys: Any,
) -> RunResult:
    """Run one experiment.

    Parameters
    ----------
    *words : str
        ``KEY=VALUE`` as on the command line, each as a text of its own.
    dataset : str, path or table, optional
        The name of an option, the path of a file, or a DataFrame of pandas, or a table of Arrow or polars. A table is
        written to ``outputs/frames``, and is then a dataset like any other file.
    target : str, Series, array or list, optional
        The column of the table or file to predict, or its values for the rows of the table. Without a table or a file,
        it is the option of the group ``target``, as on the command line.
    dataset_name : str, optional
        The name of a table; by default ``frame``.
    config_dir : path, optional
        A folder with options of your own, as ``--config-dir``.
    verbose : bool
        Whether to print what the command prints, with its progress bar. By default nothing is printed, and what the
        run says of its data and learner is a `BakeoffWarning` each.
    **keys
        Further keys with Python values: ``learner="knn"``, ``learner__n_neighbors=3``, ``evaluation={"folds": 5}``.

    Returns
    -------
    RunResult

    Raises
    ------
    UserError
        The experiment is invalid; nothing was run, and nothing is left behind.
    StoreError
        The store was lost while the experiment ran; the message says where the results are kept.
    Exception
        Any error of the learner; the stored run is FAILED.

    Examples
    --------
    >>> result = run("learner=knn", dataset="wine", evaluation="kfold", tracking="none")
    >>> result
    <RunResult knn kfold wine: test accuracy 0.6970 ± 0.0897, not stored>
    >>> len(result.folds), len(result.predictions)
    (5, 178)
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [(7 * i) % 41 / 2 for i in range(40)], "sort": ["a", "b"] * 20})
    >>> run("learner=majority", dataset=frame, target="sort", tracking="none").metric
    'accuracy'
    """
    reject_misspelled_keywords(keys)
    given = GivenData(dataset, target, dataset_name)
    own_words = add_trust_of_environment([*check_words(words), *make_words(keys)])
    reject_passwords(own_words)
    own_words, _ = conceal_words(own_words)
    source = find_source(config_dir)
    with own_process_state(), open_data(given, own_words) as data:
        request = RunRequest((*data.words, *own_words), source, quiet=not verbose)
        result = _make_result(_run(request), request, data.notes)
    if not verbose:
        warn_of([*note_repeated_keys(own_words), *result.notes])
    return result


def _run(request: RunRequest) -> FinishedRun:
    """Run an experiment; errors are those of the code that raised them, and cures are those of Python."""
    try:
        return run_experiment(request)
    except UserError as error:
        raise _translate(error) from None
    except RunFailed as failure:
        cause = failure.error
        if isinstance(cause, SystemExit):  # it would end the program that called, without a word
            raise RuntimeError(f"SystemExit: the learner called sys.exit({cause.code!r})") from cause
        raise cause from None


def _translate(error: UserError) -> UserError:
    """Return an error with the cures of Python in place of those of the command line."""
    return UserError(re.sub(r"; add -m(?=\.| for )", "; use bakeoff.sweep", str(error)))


def _make_result(finished: FinishedRun, request: RunRequest, notes: Sequence[str]) -> RunResult:
    """Return the result of a run; the notes are those of the table that was given."""
    prepared = finished.prepared
    result = finished.result
    assert result is not None, "only commands store what was kept"
    experiment = result.experiment
    folds = result.folds
    warnings = dict.fromkeys(warning for fold in folds for warning in fold.model.warnings)
    return RunResult(
        name=prepared.description.name,
        run_id=result.run_id,
        metric=experiment.headline,
        folds=tabulate_folds(folds),
        scores=tabulate_scores(experiment, folds),
        predictions=tabulate_predictions(folds),
        model=_make_model(prepared, result),
        notes=(
            *notes,
            *note_tuned_keys(request.words, [prepared.spec]),
            *experiment.dataset.remarks,
            *describe_unidentified(prepared.spec),
            *prepared.audit_verdict.warnings,
            *describe_run_lines(experiment, folds, result.model),
            *warnings,
        ),
        config=prepared.spec,
        config_hash=prepared.description.tags["config_hash"],
        command=write_command(request.words, request.source),
    )


def _make_model(prepared: PreparedJob, result: JobResult) -> Model:
    """Return the run's model, with the same record as the stored one."""
    record = make_training_record(
        result.experiment,
        result.model,
        run_id=result.run_id or "",
        run_name=prepared.description.name,
        dataset_config=prepared.description.dataset,
        scores=summarize_folds(result.experiment, result.folds),
        n_folds=len(result.folds),
        versions=read_versions(),
    )
    return Model(result.model.predictor, record)
