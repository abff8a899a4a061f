"""``bakeoff.run``: one experiment, with its numbers as pandas tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import pandas as pd

from bakeoff.pipeline.experiment import Experiment, FoldResult
from bakeoff.pipeline.identity.config_hash import describe_unidentified
from bakeoff.pipeline.model.pyfunc import Model
from bakeoff.pipeline.model.training_record import make_training_record
from bakeoff.pipeline.python.call import (
    describe_data,
    find_source,
    own_process_state,
    read_words,
    show_html,
    warn_of,
    write_command,
)
from bakeoff.pipeline.sweep.job_runner import JobResult
from bakeoff.pipeline.sweep.request import RunFailed, RunRequest, run_experiment
from bakeoff.pipeline.tracking.card import (
    describe_run_lines,
    format_mean,
    measure_fold,
    summarize_folds,
    tabulate_predictions,
)
from bakeoff.pipeline.tracking.provenance import read_versions


def run(
    *words: str,
    dataset: Any = None,
    target: str | None = None,
    dataset_name: str | None = None,
    config_dir: str | PathLike[str] | None = None,
    verbose: bool = False,
    **keys: Any,
) -> RunResult:
    """Run one experiment.

    Parameters
    ----------
    *words : str
        ``KEY=VALUE`` as on the command line, each as a separate string.
    dataset : str, path or table, optional
        The name of an option, the path of a file, a pandas DataFrame, or an Arrow or polars table. Tables are written
        to ``outputs/frames`` and then used like any other file.
    target : str, optional
        The column of the table or file to predict. Otherwise, an option of the group ``target``, as on the command
        line.
    dataset_name : str, optional
        The name of a table; by default ``frame``.
    config_dir : path, optional
        A folder with user-defined options, as with ``--config-dir``.
    verbose : bool
        Whether to print the output of the command, with its progress bar. By default nothing is printed, and notes on
        the data and the learner are issued as `BakeoffWarning`.
    **keys
        Further keys with Python values: ``learner="knn"``, ``learner__n_neighbors=3``, ``evaluation={"folds": 5}``.

    Returns
    -------
    RunResult

    Raises
    ------
    UserError
        The experiment is invalid; nothing was run or stored.
    StoreError
        The store was lost while the experiment ran; the message names the folder in which the results are kept.
    Exception
        Any error of the learner; the run is stored as FAILED.

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
    own_words = read_words(words, keys)
    data_words, notes = describe_data(dataset, target, dataset_name)
    request = RunRequest((*data_words, *own_words), find_source(config_dir), quiet=not verbose)
    with own_process_state():
        result = make_run_result(_run(request), notes, write_command(request.words, request.source))
    if not verbose:
        warn_of(result.notes)
    return result


def _run(request: RunRequest) -> JobResult:
    """Run an experiment and raise any original error."""
    try:
        result = run_experiment(request)
    except RunFailed as failure:
        cause = failure.error
        if isinstance(cause, SystemExit):  # it would end the calling program silently
            raise RuntimeError(f"SystemExit: the learner called sys.exit({cause.code!r})") from cause
        raise cause from None
    assert not isinstance(result, str), "only commands store what was kept"
    return result


def make_run_result(finished: JobResult, notes: Sequence[str], command: str) -> RunResult:
    """Return the result of a run.

    Parameters
    ----------
    finished : JobResult
    notes : sequence of str
        Notes on the given table.
    command : str
    """
    prepared = finished.prepared
    experiment = prepared.experiment
    folds = finished.folds
    return RunResult(
        name=prepared.description.name,
        run_id=finished.run_id,
        metric=experiment.headline,
        folds=tabulate_folds(folds),
        scores=tabulate_scores(experiment, folds),
        predictions=tabulate_predictions(folds),
        model=_make_model(finished),
        notes=(
            *notes,
            *experiment.dataset.remarks,
            *describe_unidentified(prepared.spec),
            *prepared.audit_verdict.warnings,
            *describe_run_lines(experiment, folds, finished.model),
            *dict.fromkeys(warning for fold in folds for warning in fold.model.warnings),
        ),
        config=prepared.spec,
        config_hash=prepared.description.tags["config_hash"],
        command=command,
    )


def _make_model(result: JobResult) -> Model:
    """Return the run's model, with the same record as the stored one."""
    prepared = result.prepared
    record = make_training_record(
        prepared.experiment,
        result.model,
        run_id=result.run_id or "",
        run_name=prepared.description.name,
        dataset_config=prepared.description.dataset,
        scores=summarize_folds(prepared.experiment, result.folds),
        versions=read_versions(),
    )
    return Model(result.model.predictor, record)


PARTS = ("test", "validation", "train")
STD = "_std"


@dataclass(frozen=True, repr=False)
class RunResult:
    """A finished run.

    Attributes
    ----------
    name : str
        The name of the run in the store.
    run_id : str or None
        The id of the run, or None if it is not stored.
    metric : str
        The headline score, such as ``accuracy``.
    folds : DataFrame
        A row for each fold and a column for each measured value, such as ``test_accuracy`` and ``time/fit`` in seconds.
    scores : DataFrame
        A row for each metric, with the mean over folds on ``test`` rows, its standard deviation ``test_std``, and the
        same for ``validation`` and ``train`` rows.
    predictions : DataFrame
        A row for each test row of each fold, with its number in the dataset from 0, ``fold``, ``truth``, ``predicted``
        and ``probability_<class>``.
    model : Model
        The run's model, with a record of the rows on which it was fitted.
    notes : tuple of str
        Notes on how the data were read, audit findings, and warnings of the learner.
    config : mapping
        The settled configuration.
    config_hash : str
        A fingerprint of everything that determines the result, equal to that of the command.
    command : str
        The equivalent command.
    """

    name: str
    run_id: str | None
    metric: str
    folds: pd.DataFrame
    scores: pd.DataFrame
    predictions: pd.DataFrame
    model: Model
    notes: tuple[str, ...]
    config: Mapping[str, Any]
    config_hash: str
    command: str

    @property
    def score(self) -> float:
        """The mean headline score on test rows."""
        mean: Any = self.scores.at[self.metric, "test"]
        return float(mean)

    def __repr__(self) -> str:
        stored = f", run {self.run_id}" if self.run_id else ", not stored"
        row: Any = self.scores.loc[self.metric]
        mean = format_mean(row, "test")
        return f"<RunResult {self.name}: test {self.metric} {mean}{stored}>"

    def _repr_html_(self) -> str:
        return show_html(repr(self), [self.scores], [self.model.record.describe_rows(), *self.notes])


def tabulate_folds(folds: Sequence[FoldResult]) -> pd.DataFrame:
    """Return the measured values of the folds, with one row per fold."""
    rows = [measure_fold(fold) for fold in folds]
    numbers = pd.Index([fold.number for fold in folds], name="fold")
    return pd.DataFrame(rows, index=numbers)


def tabulate_scores(experiment: Experiment, folds: Sequence[FoldResult]) -> pd.DataFrame:
    """Return the means over folds and their standard deviations, with a row for each metric and the headline first.

    Scores on training rows are NaN for all metrics except the headline, unless all metrics are requested.
    """
    summary = summarize_folds(experiment, folds)
    table = {
        f"{part}{end}": [summary.get(f"{part}_{metric}{end}", float("nan")) for metric in experiment.metrics]
        for part in PARTS
        for end in ("", STD)
        if f"{part}_{experiment.headline}{end}" in summary
    }
    return pd.DataFrame(table, pd.Index(experiment.metrics, name="metric"))
