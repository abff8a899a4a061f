"""Checks of a user-defined part; refusals and errors in its trials become findings."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import clone

from bakeoff.pipeline.commands.init.project import PartFile
from bakeoff.pipeline.commands.init.trial import SEED, Trial, describe_difference, list_trials, prepare_trial, run_trial
from bakeoff.pipeline.config.build import build_object
from bakeoff.pipeline.config.targets import KNOWN_PACKAGES
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.scoring.metrics import compute_score
from bakeoff.pipeline.sweep.job import JobResult
from bakeoff.pipeline.text.secrets import describe_error
from bakeoff.pipeline.text.wording import format_score

OK = "ok"
WRONG = "wrong"
NOTE = "note"
FITTED_GROUPS = ("learner", "preprocessing")
SEED_PARAMETER = "random_state"
BATCH_ROWS = 7


@dataclass(frozen=True)
class Finding:
    """The result of a check.

    Attributes
    ----------
    status : {"ok", "wrong", "note"}
    subject : str
        The subject of the check, in one or two words.
    text : str
        A sentence or a part of one.
    details : tuple of str
        Further lines of text.
    """

    status: str
    subject: str
    text: str
    details: tuple[str, ...] = ()


def check_part(part: PartFile) -> Iterator[Finding]:
    """Yield findings about a part as they arise.

    Parameters
    ----------
    part : PartFile
    """
    with TemporaryDirectory(prefix="bakeoff-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            trials = list_trials(part, Path(folder))
        except UserError as error:
            yield Finding(WRONG, "file", str(error))
            return
        except Exception as error:  # user-defined code may raise anything
            yield Finding(WRONG, "file", _first_line(error))
            return
        findings = _try_tables(part, trials)
        yield from findings
        if all(finding.status != WRONG for finding in findings):
            yield from _check_file(part, trials[0], Path(folder))


def _try_tables(part: PartFile, trials: Sequence[Trial]) -> list[Finding]:
    """Return a finding for each trial; a part does not have to work on both tables, but must work on one."""
    findings = [_try_part(part, trial) for trial in trials]
    if all(finding.status == NOTE for finding in findings):
        return [replace(finding, status=WRONG) for finding in findings]
    return findings


def _try_part(part: PartFile, trial: Trial) -> Finding:
    """Run a trial twice; if it is refused, return a note."""
    try:
        first, second = run_trial(trial), run_trial(trial)
        return _judge_runs(part, trial.name, first, second)
    except UserError as error:
        return Finding(NOTE, trial.name, str(error))
    except Exception as error:  # user-defined code may raise anything
        # A step for numbers does not have to accept a table with other columns.
        status = NOTE if part.group == "preprocessing" else WRONG
        return Finding(status, trial.name, _first_line(error))


def _judge_runs(part: PartFile, name: str, first: JobResult, second: JobResult) -> Finding:
    """Return the finding from two runs of a trial, under the name of its table."""
    fault = describe_difference(first, second)
    if not fault and part.group == "metric":
        return _judge_metric(name, first)
    if not fault and part.group == "evaluation":
        fault = _find_broken_order(first)
    if not fault and part.group in FITTED_GROUPS and _depends_on_other_rows(first):
        fault = "the prediction of a row depends on other rows; compute in fit whatever rows share"
    if fault:
        return Finding(WRONG, name, fault)
    headline = first.prepared.experiment.headline
    mean = np.mean([fold.scores[f"test_{headline}"] for fold in first.folds])
    return Finding(OK, name, f"{headline} {format_score(float(mean))} on test rows, in both runs")


def _judge_metric(name: str, run: JobResult) -> Finding:
    """Check that the true values score better than the predictions of a run."""
    (metric,) = run.prepared.experiment.metrics.values()
    predictions = run.folds[0].predictions
    changes: dict[str, Any] = {"predicted": predictions.truth}
    if predictions.classes is not None:
        is_class = predictions.truth[:, None] == predictions.classes  # (m, c)
        changes |= {"probabilities": is_class.astype(float), "decision": is_class[:, -1] - 0.5}
    perfect = compute_score(metric, replace(predictions, **changes))
    score = compute_score(metric, predictions)
    shown = f"perfect predictions score {format_score(perfect)}, those of a learner {format_score(score)}"
    if perfect > score if metric.greater_is_better else perfect < score:
        return Finding(OK, name, shown)
    if perfect == score:
        return Finding(NOTE, name, f"all predictions have the same score: {shown}")
    cure = f"write greater_is_better: {str(not metric.greater_is_better).lower()}, or correct the function"
    return Finding(WRONG, name, f"perfect predictions are not the best: {shown}; {cure}")


def _find_broken_order(run: JobResult) -> str:
    """Report splits that train on later rows although their class keeps the order, which no other check refuses."""
    times = run.prepared.experiment.dataset.times
    for split in run.prepared.splits.folds:
        fitted = np.concatenate([split.train, split.validation])
        if times is not None and times[fitted].max() > times[split.test].min():
            return "keeps_order is true, but a split trains on rows later than some of its test rows"
    return ""


def _depends_on_other_rows(run: JobResult) -> bool:
    """Return whether the model of a run predicts the rows of its dataset differently in small batches."""
    model = run.model.predictor
    X = run.prepared.experiment.dataset.X
    whole = np.asarray(model.predict(X))  # (n,)
    batches = [model.predict(X.iloc[start : start + BATCH_ROWS]) for start in range(0, len(X), BATCH_ROWS)]
    apart = np.concatenate(batches)  # (n,)
    is_same = np.isclose(whole, apart) if whole.dtype.kind == "f" else whole == apart
    return not is_same.all()


def _check_file(part: PartFile, trial: Trial, folder: Path) -> Iterator[Finding]:
    """Yield findings that a run does not reveal: an ignored seed, the search space, and estimator conventions."""
    if part.group not in FITTED_GROUPS:
        return
    built = build_object(trial.spec[part.group], part.group, part.trust)
    if part.group == "learner":
        if trial.spec["learner"].get(SEED_PARAMETER, SEED) != SEED:
            text = "random_state is not the seed of the run; write random_state: ${seed} into the file"
            yield Finding(WRONG, "seed", text)
        if part.space.is_file():
            yield _check_space(part, folder)
    for estimator in _list_own_estimators(built):
        yield _check_conformance(estimator)


def _check_space(part: PartFile, folder: Path) -> Finding:
    """Prepare a job that tunes over the default space of the learner, which is refused if the space is invalid."""
    try:
        (trial,) = list_trials(part, folder, ["tuning=grid"])
        prepare_trial(trial)
    except UserError as error:
        return Finding(WRONG, "space", str(error))
    return Finding(OK, "space", f"{part.space} can be searched")


def _list_own_estimators(part: Any) -> list[Any]:
    """Return the user-defined estimators of a part at any depth, one of each class."""
    nested = [part, *part.get_params(deep=True).values()]
    by_type = {type(step): step for step in nested if hasattr(step, "fit") and not isinstance(step, type)}
    return [clone(step) for kind, step in by_type.items() if kind.__module__.split(".")[0] not in KNOWN_PACKAGES]


def _check_conformance(estimator: Any) -> Finding:
    """Return which of scikit-learn's estimator checks fail, with the first line of each error.

    References
    ----------
    scikit-learn, Developing scikit-learn estimators: `sklearn.utils.estimator_checks.check_estimator`.
    """
    from sklearn.utils.estimator_checks import check_estimator

    name = type(estimator).__name__
    outcomes = check_estimator(estimator, on_skip=None, on_fail=None)
    failed = [outcome for outcome in outcomes if outcome["status"] == "failed"]
    if not failed:
        return Finding(OK, "conformance", f"{name} passes scikit-learn's checks of estimators")
    lines = [f"{outcome['check_name']}: {_first_line(outcome['exception'])}" for outcome in failed]
    text = f"{name}: {len(failed)} of {len(outcomes)} checks of scikit-learn fail"
    return Finding(WRONG, "conformance", text, tuple(dict.fromkeys(lines)))


def _first_line(error: BaseException) -> str:
    """Return the type of an error and the first line of its message, with secrets hidden."""
    return describe_error(error).strip().splitlines()[0]
