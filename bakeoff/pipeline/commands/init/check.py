"""The check of a user-defined part: trials of the default job with this part, run twice on generated tables.

Refusals and errors in the trials become findings.
"""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_regressor

from bakeoff.pipeline.commands.init.project import PartFile
from bakeoff.pipeline.commands.repetition.differences import compare_numbers, measure_model, measure_result
from bakeoff.pipeline.config.build import build_object
from bakeoff.pipeline.config.targets import KNOWN_PACKAGES
from bakeoff.pipeline.config.words import Invocation
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.stages.scoring.choice import SCORING_KEYS
from bakeoff.pipeline.stages.scoring.metrics import compute_score
from bakeoff.pipeline.sweep.job_runner import JobResult, PreparedJob, execute_job, prepare_job
from bakeoff.pipeline.text.secrets import describe_error
from bakeoff.pipeline.text.wording import format_score
from bakeoff.pipeline.tracking import NoTracker

N_ROWS = 120
N_FEATURES = 5
NOISE = 1.5
MISSING_FRACTION = 0.05
COLOURS = ("red", "green", "blue")
SEED = 4127
"""The seed of each trial; no file has it by chance."""
CLASSES = "classes"
NUMBERS = "numbers"
LEARNERS = {CLASSES: "decision_tree", NUMBERS: "decision_tree_regressor"}
RESPONDING_LEARNERS = {CLASSES: "logistic_regression", NUMBERS: "ridge"}
"""Learners with every method that a metric may require."""
ROLES: Mapping[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "keeps_groups": ("groups", lambda order: order % 20),
    "keeps_order": ("time", lambda order: order),
    "keeps_parts": ("split", lambda order: np.where(order % 4 == 0, "test", "train")),
    "keeps_folds": ("folds", lambda order: order % 5),
}
"""A promise of a splitter class -> the dataset key of the column it refers to, and the cells of that column.

Parts and folds keep groups together.
"""
OK = "ok"
WRONG = "wrong"
NOTE = "note"
FITTED_GROUPS = ("learner", "preprocessing")
SEED_PARAMETER = "random_state"
BATCH_ROWS = 7

Trials = Mapping[str, dict[str, Any]]
"""The name of a table -> the settled configuration of a job with the part."""


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
            trials = compose_trials(part, Path(folder))
        except Exception as error:  # user-defined code may raise anything
            yield Finding(WRONG, "file", _describe_error(error))
            return
        findings = _try_tables(part, trials)
        yield from findings
        if all(finding.status != WRONG for finding in findings):
            yield from _check_file(part, next(iter(trials.values())), Path(folder))


def _try_tables(part: PartFile, trials: Trials) -> list[Finding]:
    """Return a finding for each trial; a part does not have to work on both tables, but must work on one."""
    findings = [_try_part(part, name, spec) for name, spec in trials.items()]
    if all(finding.status == NOTE for finding in findings):
        return [replace(finding, status=WRONG) for finding in findings]
    return findings


def _try_part(part: PartFile, name: str, spec: Mapping[str, Any]) -> Finding:
    """Run a trial twice; if it is refused, return a note."""
    try:
        return _judge_runs(part, name, run_trial(spec), run_trial(spec))
    except Exception as error:  # user-defined code may raise anything
        # A step for numbers does not have to accept a table with other columns.
        may_fail = isinstance(error, UserError) or part.group == "preprocessing"
        return Finding(NOTE if may_fail else WRONG, name, _describe_error(error))


def _judge_runs(part: PartFile, name: str, first: JobResult, second: JobResult) -> Finding:
    """Return the finding from two runs of a trial, under the name of its table."""
    fault = _describe_difference(first, second)
    if not fault and part.group == "metric":
        return _judge_metric(name, first)
    if not fault and part.group in FITTED_GROUPS and _depends_on_other_rows(first):
        fault = "the prediction of a row depends on other rows; compute in fit whatever rows share"
    if fault:
        return Finding(WRONG, name, fault)
    headline = first.prepared.experiment.headline
    mean = np.mean([fold.scores[f"test_{headline}"] for fold in first.folds])
    return Finding(OK, name, f"{headline} {format_score(float(mean))} on test rows, in both runs")


def _describe_difference(first: JobResult, second: JobResult) -> str:
    """Return how two runs of a trial differ in data, splits, or any bit of a number; empty if they do not."""
    experiment = first.prepared.experiment
    if experiment.dataset.digest() != second.prepared.experiment.dataset.digest():
        return "the dataset differs when it is loaded again, so runs cannot be compared; use a fixed seed"
    if first.prepared.splits.digest() != second.prepared.splits.digest():
        return "the same seed gives different splits; draw only from numpy.random.default_rng(seed)"
    dataset = experiment.dataset
    numbers = [{**measure_result(run), **measure_model(run.model.predictor, dataset)} for run in (first, second)]
    differences = [each for comparison in compare_numbers(*numbers) for each in comparison.differences]
    if not differences:
        return ""
    shown = f"{differences[0].name} is {differences[0].stored} and then {differences[0].now}"
    cure = "draw only from random_state, and write random_state: ${seed} into the file"
    return f"two runs of the same job differ: {shown}; {cure}"


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
    shown = f"perfect predictions score {format_score(perfect)}, a learner's predictions {format_score(score)}"
    if perfect > score if metric.greater_is_better else perfect < score:
        return Finding(OK, name, shown)
    if perfect == score:
        return Finding(NOTE, name, f"all predictions have the same score: {shown}")
    cure = f"write greater_is_better: {str(not metric.greater_is_better).lower()}, or correct the function"
    return Finding(WRONG, name, f"perfect predictions are not the best: {shown}; {cure}")


def _depends_on_other_rows(run: JobResult) -> bool:
    """Return whether the model of a run predicts the rows of its dataset differently in small batches."""
    model = run.model.predictor
    X = run.prepared.experiment.dataset.X
    whole = np.asarray(model.predict(X))  # (n,)
    batches = [model.predict(X.iloc[start : start + BATCH_ROWS]) for start in range(0, len(X), BATCH_ROWS)]
    apart = np.concatenate(batches)  # (n,)
    is_same = np.isclose(whole, apart) if whole.dtype.kind == "f" else whole == apart
    return not is_same.all()


def _check_file(part: PartFile, spec: Mapping[str, Any], folder: Path) -> Iterator[Finding]:
    """Yield findings that a run does not reveal: an ignored seed, the search space, and estimator conventions."""
    if part.group not in FITTED_GROUPS:
        return
    built = build_object(spec[part.group], part.group, part.trust)
    if part.group == "learner":
        if spec["learner"].get(SEED_PARAMETER, SEED) != SEED:
            text = "random_state is not the seed of the run; write random_state: ${seed} into the file"
            yield Finding(WRONG, "seed", text)
        if part.space.is_file():
            yield _check_space(part, folder)
    for estimator in _list_own_estimators(built):
        yield _check_conformance(estimator)


def _check_space(part: PartFile, folder: Path) -> Finding:
    """Prepare a job that tunes over the default space of the learner, which is refused if the space is invalid."""
    try:
        (spec,) = compose_trials(part, folder, ["tuning=grid"]).values()
        _prepare_trial(spec)
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
    lines = [f"{outcome['check_name']}: {_describe_error(outcome['exception'])}" for outcome in failed]
    text = f"{name}: {len(failed)} of {len(outcomes)} checks of scikit-learn fail"
    return Finding(WRONG, "conformance", text, tuple(dict.fromkeys(lines)))


def compose_trials(part: PartFile, folder: Path, words: Sequence[str] = ()) -> Trials:
    """Return the jobs that contain a part, before any of them has run.

    Parameters
    ----------
    part : PartFile
    folder : Path
        The folder for the tables.
    words : sequence of str
        Further overrides.

    Raises
    ------
    UserError
        The part cannot be composed or built.
    """
    first = _compose(part, CLASSES, folder, words)
    has_classes = has_numbers = True
    if part.group == "learner":
        has_numbers = is_regressor(build_object(first["learner"], "learner", part.trust))
        has_classes = not has_numbers
    elif part.group == "dataset":
        has_classes = PartCache().get_dataset(first).is_classification
        has_numbers = not has_classes
    trials = {CLASSES: first} if has_classes else {}
    return {**trials, NUMBERS: _compose(part, NUMBERS, folder, words)} if has_numbers else trials


def _prepare_trial(spec: Mapping[str, Any]) -> PreparedJob:
    """Build and check a job that shares nothing with other jobs."""
    return prepare_job(spec, Invocation({}), PartCache())


def run_trial(spec: Mapping[str, Any]) -> JobResult:
    """Run a job and draw its figures; nothing is stored.

    Raises
    ------
    UserError
        The job was refused before the first fit.
    Exception
        Any other error of the part.
    """
    prepared = _prepare_trial(spec)
    result = execute_job(prepared, NoTracker())
    with TemporaryDirectory(prefix="bakeoff-") as name:
        for figure in prepared.figure_choice.figures:
            figure.save(Path(name), prepared.experiment, result.folds, result.model)
    return result


def _compose(part: PartFile, task: str, folder: Path, further: Sequence[str]) -> dict[str, Any]:
    """Return the settled job for a part and a task, and write its table into a folder."""
    words = ["audit=strict", f"seed={SEED}", *further]
    if part.group != "learner":
        learners = RESPONDING_LEARNERS if part.group == "metric" else LEARNERS
        words.append(f"learner={learners[task]}")
    if part.group == "dataset":
        return part.compose(words)
    frame = make_table(task, with_gaps=part.group == "learner")
    file = folder / f"{task}.csv"
    words += ["dataset=file", f"dataset.path='{file}'", "dataset.target=y"]
    frame.to_csv(file, index=False)
    spec = part.compose(words)
    if part.group == "evaluation":
        node = {key: value for key, value in spec["evaluation"].items() if key not in SCORING_KEYS}
        splitter = build_object(node, "evaluation", part.trust)
        order = np.random.default_rng(SEED).permutation(N_ROWS)  # (n,)
        for promise, (key, make_cells) in ROLES.items():
            if getattr(splitter, promise):
                frame[key] = make_cells(order)
                spec["dataset"][key] = key
        frame.to_csv(file, index=False)
    return spec


def make_table(task: str, *, with_gaps: bool) -> pd.DataFrame:
    """Return rows whose target ``y`` depends on their numbers; a table with classes also has a nominal column.

    Parameters
    ----------
    task : {"classes", "numbers"}
    with_gaps : bool
        Whether some cells are missing.
    """
    generator = np.random.default_rng(SEED)
    X = generator.normal(size=(N_ROWS, N_FEATURES))  # (n, d)
    target = X.sum(axis=1) + NOISE * generator.normal(size=N_ROWS)  # (n,)
    frame = pd.DataFrame(X, columns=[f"x{column}" for column in range(N_FEATURES)])
    if task == CLASSES:
        frame["colour"] = generator.choice(COLOURS, size=N_ROWS)
        target = np.where(target > np.median(target), "high", "low")  # (n,)
    if with_gaps:
        frame = frame.mask(generator.random(frame.shape) < MISSING_FRACTION)
    return frame.assign(y=target)


def _describe_error(error: BaseException) -> str:
    """Return a refusal, or the type of another error and the first line of its message, with secrets hidden."""
    return str(error) if isinstance(error, UserError) else describe_error(error).strip().splitlines()[0]
