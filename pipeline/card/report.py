"""The report of a run: means over folds, values per fold, and tables of single rows."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.stages.dataset.table import COLUMNS_FILE, format_columns
from bakeoff.pipeline.stages.pruning import PruningPath
from bakeoff.pipeline.stages.scoring import count_confusions
from bakeoff.pipeline.stages.tuning import find_best_candidate
from bakeoff.pipeline.tables.output_file import describe_escaped_names, write_csv
from bakeoff.pipeline.tables.table import Table, make_table
from bakeoff.pipeline.text import wording

PARTS = ("train", "validation", "test")
SCORE_PREFIXES = ("test_", "validation_", "train_")
TUNED_PREFIX = "tuned."
PATH_PREFIX = "pruning_path/"
ALL_ROWS = "all rows"
"""What tables write for the run's model instead of the number of a fold, if it was fitted on all rows."""
METHOD_NAMES = {"predict_proba": "probability", "decision_function": "decision value"}


def measure_fold(fold: FoldResult) -> dict[str, float]:
    """Return a fold's scores, times in seconds, number of fits, threshold, and sizes before and after pruning."""
    model = fold.model
    values = {**fold.scores, **{f"time/{stage}": seconds for stage, seconds in model.seconds.items()}}
    values |= {"time/predict": fold.predictions.seconds, "fits": float(model.n_fits)}
    if model.threshold is not None:
        values["threshold/value"] = model.threshold.value
    if model.path is not None:
        values |= _measure_pruning(fold, model.path)
    return values


def _measure_pruning(fold: FoldResult, path: PruningPath) -> dict[str, float]:
    """Return sizes and headline scores before and after pruning."""
    changes = {"leaves": (path.leaves[0], path.leaves[-1]), "depth": (path.depth[0], path.depth[-1])}
    headline = next(iter(fold.scores)).removeprefix("test_")
    for part, score_before in fold.model.scores_before_pruning.items():
        score = f"{part}_{headline}"
        changes[score] = (score_before, fold.scores[score])
    values: dict[str, float] = {}
    for name, (before, after) in changes.items():
        values |= {f"pruning/{name}_before": float(before), f"pruning/{name}_after": float(after)}
    return values


def summarize_folds(experiment: Experiment, folds: Sequence[FoldResult]) -> dict[str, float]:
    """Return the mean over folds of all values of `measure_fold`, the headline first.

    A score is followed by its standard deviation over folds (ddof=1), as ``<name>_std``, if there are two folds or
    more. The mean of a score that is not defined on some fold is NaN.
    """
    by_fold = [measure_fold(fold) for fold in folds]
    # A dict keeps the order of its keys: the headline first, then the names in the order of the folds.
    names: dict[str, None] = {f"test_{experiment.headline}": None}
    for values in by_fold:
        names |= dict.fromkeys(values)
    summary: dict[str, float] = {}
    for name in names:
        series = [values.get(name, float("nan")) for values in by_fold]
        summary[name] = float(np.mean(series))
        if len(folds) > 1 and name.startswith(SCORE_PREFIXES):
            summary[f"{name}_std"] = float(np.std(series, ddof=1))
    return summary


def format_mean(summary: Mapping[str, float], name: str) -> str:
    """Return a mean over folds as text, with its standard deviation if there is one.

    It is empty for a score of training rows that was not computed, because the run scores them by the headline alone.
    """
    if name.startswith("train_") and name not in summary:
        return ""
    return wording.format_mean(summary.get(name, np.nan), summary.get(f"{name}_std", np.nan))


def tabulate_means(experiment: Experiment, means: Mapping[str, float]) -> Table:
    """Return a row for each metric, the headline first, and a column for each part of the rows that is scored.

    Parameters
    ----------
    experiment : Experiment
    means : mapping of str to float
        From `summarize_folds`.
    """
    # Without a validation part there are no validation scores, and no column for them.
    parts = [part for part in PARTS if f"{part}_{experiment.headline}" in means]
    rows = [[name, *(format_mean(means, f"{part}_{name}") for part in parts)] for name in experiment.metrics]
    return make_table("scores", ["metric", *parts], rows)


def describe_pruned(means: Mapping[str, float]) -> str:
    """Return the mean sizes before and after pruning; empty without pruning."""
    if "pruning/leaves_before" not in means:
        return ""
    sizes = ("leaves", "depth")
    changes = [f"{size} {means[f'pruning/{size}_before']:g} → {means[f'pruning/{size}_after']:g}" for size in sizes]
    return f"pruned: {', '.join(changes)}"


def get_pruning_path(model: FittedModel) -> dict[str, Any]:
    """Return sizes and scores of the run's model at each step of pruning; empty without pruning."""
    if model.path is None:
        return {}
    values = {"leaves": model.path.leaves, "depth": model.path.depth, "validation_score": model.path.score}
    return {f"{PATH_PREFIX}{name}": series for name, series in values.items()}


def get_tuned_params(model: FittedModel) -> dict[str, str]:
    """Return the parameters that tuning chose for the run's model; empty without tuning."""
    if model.candidates is None:
        return {}
    params = model.pipeline[-1].get_params()
    return {f"{TUNED_PREFIX}{name}": str(params[name]) for name in model.candidates.columns if name in params}


def tabulate_choices(experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel) -> pd.DataFrame:
    """Return the choices of tuning: a line for each fold, and one for the run's model if it was tuned on all rows.

    Parameters
    ----------
    experiment : Experiment
    folds : sequence of FoldResult
    model : FittedModel
        The run's model, which may be that of the last fold.

    Returns
    -------
    DataFrame
        ``fold``, a column for each parameter of the space as text, ``validation_score`` of the chosen candidate on the
        rows that it was chosen on, and the headline score on the fold's test rows, which the choice never saw. Without
        tuning there are no lines.
    """
    headline = f"test_{experiment.headline}"
    test_scores = {str(fold.number): fold.scores[headline] for fold in folds}
    lines = []
    for name, chosen in _name_models(folds, model).items():
        if chosen.candidates is None:
            continue
        scores = chosen.candidates["validation_score"].to_numpy()  # (number of candidates,)
        best = find_best_candidate(scores, experiment.headline_metric.greater_is_better)
        params = {key.removeprefix(TUNED_PREFIX): value for key, value in get_tuned_params(chosen).items()}
        test_score = test_scores.get(name, math.nan)
        lines.append({"fold": name, **params, "validation_score": scores[best], headline: test_score})
    return pd.DataFrame(lines)


def describe_tuning(folds: Sequence[FoldResult], model: FittedModel) -> list[str]:
    """Return what tuning chose for the run's model, and for each parameter how many folds chose each value.

    Returns
    -------
    list of str
        Such as "tuned on all rows: n_neighbors=5" and "tuned: n_neighbors=5 in 4 of 5 folds, 9 in 1"; empty without
        tuning.
    """
    chosen = get_tuned_params(model)
    if not chosen:
        return []
    values = ", ".join(f"{name.removeprefix(TUNED_PREFIX)}={value}" for name, value in chosen.items())
    if len(folds) == 1:
        return [f"tuned: {values}"]
    sentences = [f"tuned on all rows: {values}"]
    of_folds = [get_tuned_params(fold.model) for fold in folds]
    for name in chosen:
        (first, n_first), *others = Counter(params[name] for params in of_folds).most_common()
        parts = [f"{name}={first} in {n_first} of {len(folds)} folds", *(f"{value} in {n}" for value, n in others)]
        sentences.append(", ".join(parts).replace(TUNED_PREFIX, "tuned: ", 1))
    return sentences


def sum_confusions(experiment: Experiment, folds: Sequence[FoldResult]) -> np.ndarray | None:
    """Return the confusion matrix over all folds, true classes in rows, of shape (c, c); None in regression."""
    if not experiment.dataset.is_classification or not folds:
        return None
    truth = np.concatenate([fold.predictions.truth for fold in folds])  # (m,)
    predicted = np.concatenate([fold.predictions.predicted for fold in folds])  # (m,)
    return count_confusions(truth, predicted, experiment.dataset.classes)


def write_tables(folder: Path, experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel) -> None:
    """Write the tables of a run as CSV files, the inferred kinds of its columns, and the learner's warnings as text.

    Parameters
    ----------
    folder : Path
        Receives ``predictions.csv``, ``columns.json``, ``audit.csv`` and, where they apply, ``confusion_matrix.csv``,
        ``candidates.csv``, ``choices.csv``, ``pruning_path.csv``, ``unseen_values.csv`` and ``warnings.txt``.
    experiment : Experiment
    folds : sequence of FoldResult
    model : FittedModel
        The run's model, which may be that of the last fold.
    """
    models = _name_models(folds, model)
    candidates = {name: each.candidates for name, each in models.items() if each.candidates is not None}
    paths = {name: pd.DataFrame(get_pruning_path(each)) for name, each in models.items() if each.path is not None}
    tables = {
        "predictions": tabulate_predictions(folds),
        "candidates": _stack_tables(candidates).drop(columns="step", errors="ignore"),
        "choices": tabulate_choices(experiment, folds, model),
        "pruning_path": _stack_tables(paths).rename(columns=lambda name: name.removeprefix(PATH_PREFIX)),
        "unseen_values": tabulate_unseen_values(folds),
    }
    for name, table in tables.items():
        if len(table):
            write_csv(table, folder / f"{name}.csv")
    confusions = sum_confusions(experiment, folds)
    if confusions is not None:
        classes = experiment.dataset.classes
        table = pd.DataFrame(confusions, index=pd.Index(classes, name="truth"), columns=classes)
        write_csv(table, folder / "confusion_matrix.csv", has_index=True)
    (folder / COLUMNS_FILE).write_text(format_columns(experiment.dataset), encoding="utf-8")
    (folder / "audit.csv").write_text(_list_rows_seen(models, folds))
    messages = {message for each in models.values() for message in each.warnings}
    if messages:
        (folder / "warnings.txt").write_text("\n".join(sorted(messages)) + "\n")


def _name_models(folds: Sequence[FoldResult], model: FittedModel) -> dict[str, FittedModel]:
    """Return the models of the folds by number, and the run's model if it was fitted on all rows."""
    models = {str(fold.number): fold.model for fold in folds}
    return models if model is folds[-1].model else {**models, ALL_ROWS: model}


def _stack_tables(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the tables of models below one another, with the model and the number of the row as first columns."""
    return pd.concat(tables, names=["fold", "step"]).reset_index() if tables else pd.DataFrame()


def tabulate_predictions(folds: Sequence[FoldResult]) -> pd.DataFrame:
    """Return a table of the test rows of all folds: number, fold, truth, prediction and probabilities."""
    return pd.concat([_tabulate_fold(fold) for fold in folds], ignore_index=True)


def _tabulate_fold(fold: FoldResult) -> pd.DataFrame:
    """Return the table of the test rows of one fold."""
    predictions = fold.predictions
    columns: dict[str, Any] = {
        "row": fold.split.test,
        "fold": fold.number,
        "truth": predictions.truth,
        "predicted": predictions.predicted,
    }
    if predictions.probabilities is not None and predictions.classes is not None:
        for code, label in enumerate(predictions.classes):
            columns[f"probability_{label}"] = predictions.probabilities[:, code]
    return pd.DataFrame(columns)


def _list_rows_seen(models: Mapping[str, FittedModel], folds: Sequence[FoldResult]) -> str:
    """Return the number and the digest of the rows that each stage of each fold was given, as CSV."""
    seen = {name: model.seen for name, model in models.items()} | {str(fold.number): fold.seen for fold in folds}
    lines = ["fold,stage,rows,digest"]
    for name, stages in seen.items():
        lines += [f"{name},{stage},{len(rows)},{rows.digest()}" for stage, rows in stages.items()]
    return "\n".join(lines) + "\n"


def describe_run_lines(experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel | None) -> list[str]:
    """Return the sentences about thresholds, unseen values, undefined scores and escaped names; none without these.

    Parameters
    ----------
    experiment : Experiment
    folds : sequence of FoldResult
    model : FittedModel or None
        The run's own; None if the run did not finish.
    """
    dataset = experiment.dataset
    names = [*(dataset.classes if dataset.is_classification else ()), *dataset.X.columns]
    sentences = [
        _describe_threshold(experiment, folds, model),
        _describe_unseen_values(folds),
        _describe_undefined_scores(experiment, folds),
        describe_escaped_names(map(str, names)),
    ]
    return [sentence for sentence in sentences if sentence]


def tabulate_unseen_values(folds: Sequence[FoldResult]) -> pd.DataFrame:
    """Return a line for each fold and nominal column with values that the training rows lack: the test rows with them.

    Examples
    --------
    >>> tabulate_unseen_values([]).columns.tolist()
    ['fold', 'column', 'test_rows']
    """
    lines = [
        {"fold": fold.number, "column": column, "test_rows": count}
        for fold in folds
        for column, count in fold.unseen.items()
    ]
    return pd.DataFrame(lines, columns=["fold", "column", "test_rows"])


def _describe_undefined_scores(experiment: Experiment, folds: Sequence[FoldResult]) -> str:
    """Return in how many folds the scores of test rows are undefined; nothing for one fold, whose table shows it."""
    if len(folds) == 1:
        return ""
    counts = {name: sum(math.isnan(fold.scores[f"test_{name}"]) for fold in folds) for name in experiment.metrics}
    parts = [f"{name} in {count} of {len(folds)} folds" for name, count in counts.items() if count]
    return f"undefined on test rows, and therefore in the mean: {', '.join(parts)}" if parts else ""


def _describe_threshold(experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel | None) -> str:
    """Return the threshold of the positive class, and the score by which it was chosen."""
    of_folds = [fold.model.threshold for fold in folds if fold.model.threshold is not None]
    last = of_folds[-1] if model is None and of_folds else getattr(model, "threshold", None)
    if last is None:
        return ""
    sentence = f"threshold: {experiment.dataset.positive} from the {METHOD_NAMES[last.method]} {last.value:.4g} on"
    threshold = experiment.threshold
    if not threshold.is_chosen:
        return sentence
    rows = f"{threshold.folds} inner folds" if threshold.folds else "validation rows"
    scores = f"{wording.format_score(last.score)}; the learner's default has {wording.format_score(last.default_score)}"
    sentence += f", chosen by {threshold.metric or experiment.headline} on {rows} ({scores})"
    if len(of_folds) > 1:
        values = [chosen.value for chosen in of_folds]
        sentence += f"; {min(values):.4g} to {max(values):.4g} over the folds"
    return sentence


def _describe_unseen_values(folds: Sequence[FoldResult]) -> str:
    """Return the number of test rows with nominal values that the training rows of their fold lack."""
    n_rows = sum(fold.n_unseen_rows for fold in folds)
    if not n_rows:
        return ""
    counts = tabulate_unseen_values(folds).groupby("column")["test_rows"].sum()
    columns = ", ".join(f"{name} {count}" for name, count in counts.items())
    n_tests = sum(len(fold.split.test) for fold in folds)
    of_fold = " of their fold" if len(folds) > 1 else ""
    return (
        f"unseen values: {n_rows} of {n_tests} test rows have nominal values that occur in no training "
        f"row{of_fold} ({columns})"
    )
