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
from bakeoff.pipeline.tables.table import Table, make_table
from bakeoff.pipeline.tables.table_formats import describe_escaped_names, write_csv
from bakeoff.pipeline.text import numbers
from bakeoff.pipeline.text.numbers import format_score

PARTS = ("train", "validation", "test")
SCORE_PREFIXES = ("test_", "validation_", "train_")
TUNED_PREFIX = "tuned."
ALL_ROWS = "all rows"
"""What tables write for the run's model instead of the number of a fold, if it was fitted on all rows."""
METHOD_NAMES = {"predict_proba": "probability", "decision_function": "decision value"}


def measure_fold(fold: FoldResult) -> dict[str, float]:
    """Return a fold's scores, times in seconds, number of fits, threshold, and sizes before and after pruning."""
    values = dict(fold.scores)
    for stage, seconds in fold.model.seconds.items():
        values[f"time/{stage}"] = seconds
    values["time/predict"] = fold.predictions.seconds
    values["fits"] = float(fold.model.n_fits)
    if fold.model.threshold is not None:
        values["threshold/value"] = fold.model.threshold.value
    if fold.model.path is not None:
        values |= _measure_pruning(fold, fold.model.path)
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
    return numbers.format_mean(summary.get(name, np.nan), summary.get(f"{name}_std", np.nan))


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
    return {
        "pruning_path/leaves": model.path.leaves,
        "pruning_path/depth": model.path.depth,
        "pruning_path/validation_score": model.path.score,
    }


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
    fitted = [(str(fold.number), fold.model, fold.scores[headline]) for fold in folds]
    if model is not folds[-1].model:
        fitted.append((ALL_ROWS, model, float("nan")))
    lines = []
    for name, chosen, test_score in fitted:
        if chosen.candidates is not None:
            validation_scores = chosen.candidates["validation_score"].to_numpy()  # (number of candidates,)
            best = find_best_candidate(validation_scores, experiment.headline_metric.greater_is_better)
            params = {key.removeprefix(TUNED_PREFIX): value for key, value in get_tuned_params(chosen).items()}
            lines.append({"fold": name, **params, "validation_score": validation_scores[best], headline: test_score})
    return pd.DataFrame(lines)


def describe_choices(experiment: Experiment, folds: Sequence[FoldResult]) -> list[str]:
    """Return, for each tuned parameter, how many folds chose each value, the most frequent value first.

    Returns
    -------
    list of str
        Such as "n_neighbors=5 in 4 of 5 folds, 9 in 1"; empty without tuning, and for a single fold.
    """
    table = tabulate_choices(experiment, folds, folds[-1].model)
    if table.empty or len(folds) == 1:
        return []
    sentences = []
    for name in table.columns[1:-2]:
        (first, n_first), *others = Counter(table[name]).most_common()
        parts = [f"{name}={first} in {n_first} of {len(folds)} folds"]
        parts += [f"{value} in {count}" for value, count in others]
        sentences.append(", ".join(parts))
    return sentences


def sum_confusions(experiment: Experiment, folds: Sequence[FoldResult]) -> np.ndarray | None:
    """Return the confusion matrix over all folds, true classes in rows; None in regression."""
    if not experiment.dataset.is_classification:
        return None
    classes = experiment.dataset.classes
    counts = np.zeros((len(classes), len(classes)), dtype=np.int64)  # (c, c)
    for fold in folds:
        counts += count_confusions(fold.predictions.truth, fold.predictions.predicted, classes)
    return counts


def write_tables(
    folder: Path,
    experiment: Experiment,
    folds: Sequence[FoldResult],
    model: FittedModel,
    confusions: np.ndarray | None = None,
) -> None:
    """Write the tables of a run as CSV files, the inferred kinds of its columns, and the learner's warnings as text.

    Parameters
    ----------
    folder : Path
        Receives ``predictions.csv``, ``columns.json``, ``audit.csv`` and, where they apply, ``confusion_matrix.csv``,
        ``candidates.csv``, ``choices.csv``, ``pruning_path.csv``,
        ``unseen_values.csv`` and ``warnings.txt``.
    experiment : Experiment
    folds : sequence of FoldResult
    model : FittedModel
        The run's model, which may be that of the last fold.
    confusions : ndarray of shape (c, c), optional
        From `sum_confusions`, if it was called before.
    """
    models = {str(fold.number): fold.model for fold in folds}
    if model is not folds[-1].model:
        models[ALL_ROWS] = model
    write_csv(tabulate_predictions(folds), folder / "predictions.csv")
    confusions = sum_confusions(experiment, folds) if confusions is None else confusions
    if confusions is not None:
        classes = experiment.dataset.classes
        table = pd.DataFrame(confusions, index=pd.Index(classes, name="truth"), columns=classes)
        write_csv(table, folder / "confusion_matrix.csv", has_index=True)
    candidates: list[pd.DataFrame] = []
    paths: list[pd.DataFrame] = []
    messages: set[str] = set()
    for name, fitted in models.items():
        if fitted.candidates is not None:
            candidates.append(fitted.candidates.assign(fold=name))
        if fitted.path is not None:
            paths.append(_tabulate_path(name, fitted.path))
        messages |= set(fitted.warnings)
    (folder / COLUMNS_FILE).write_text(format_columns(experiment.dataset), encoding="utf-8")
    _write_rows_seen(folder / "audit.csv", folds, model)
    _write_table(folder / "candidates.csv", candidates)
    if candidates:
        _write_table(folder / "choices.csv", [tabulate_choices(experiment, folds, model)])
    _write_table(folder / "pruning_path.csv", paths)
    unseen = tabulate_unseen_values(folds)
    if len(unseen):
        _write_table(folder / "unseen_values.csv", [unseen])
    if messages:
        (folder / "warnings.txt").write_text("\n".join(sorted(messages)) + "\n")


def _measure_pruning(fold: FoldResult, path: PruningPath) -> dict[str, float]:
    """Return sizes and headline scores before and after pruning."""
    values: dict[str, float] = {}
    for name, series in {"leaves": path.leaves, "depth": path.depth}.items():
        values[f"pruning/{name}_before"] = float(series[0])
        values[f"pruning/{name}_after"] = float(series[-1])
    headline = next(iter(fold.scores)).removeprefix("test_")
    for part, score_before in fold.model.scores_before_pruning.items():
        score = f"{part}_{headline}"
        values[f"pruning/{score}_before"] = score_before
        values[f"pruning/{score}_after"] = fold.scores[score]
    return values


def _write_table(file: Path, tables: Sequence[pd.DataFrame]) -> None:
    """Write tables below one another; no file if there are none."""
    if tables:
        write_csv(pd.concat(tables, ignore_index=True), file)


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


def _write_rows_seen(file: Path, folds: Sequence[FoldResult], model: FittedModel) -> None:
    """Write the number and the digest of the rows that each stage of each fold was given."""
    seen = [(str(fold.number), fold.summarize_rows()) for fold in folds]
    if model is not folds[-1].model:
        seen.append((ALL_ROWS, {stage: rows.summarize() for stage, rows in model.seen.items()}))
    lines = ["fold,stage,rows,digest"]
    for name, rows_by_stage in seen:
        lines += [f"{name},{stage},{rows.n_rows},{rows.fingerprint}" for stage, rows in rows_by_stage.items()]
    file.write_text("\n".join(lines) + "\n")


def _tabulate_path(name: str, path: PruningPath) -> pd.DataFrame:
    """Return a table of the steps of one model's pruning."""
    return pd.DataFrame({
        "fold": name,
        "step": np.arange(len(path.leaves)),
        "leaves": path.leaves,
        "depth": path.depth,
        "validation_score": path.score,
    })  # fmt: skip


def describe_run_lines(experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel | None) -> list[str]:
    """Return the sentences about thresholds, unseen values, undefined scores and escaped names; none without these.

    Parameters
    ----------
    experiment : Experiment
    folds : sequence of FoldResult
    model : FittedModel or None
        The run's own; None if the run did not finish.
    """
    return [
        *_describe_threshold(experiment, folds, model),
        *_describe_unseen_values(folds),
        *_describe_undefined_scores(experiment, folds),
        *_describe_escaped_names(experiment),
    ]


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


def _describe_undefined_scores(experiment: Experiment, folds: Sequence[FoldResult]) -> list[str]:
    """Return in how many folds the scores of test rows are undefined; nothing for one fold, whose table shows it."""
    names_by_count: dict[int, list[str]] = {}
    for name in experiment.metrics:
        count = sum(math.isnan(fold.scores[f"test_{name}"]) for fold in folds)
        if count:
            names_by_count.setdefault(count, []).append(name)
    if len(folds) == 1 or not names_by_count:
        return []
    parts = [f"{', '.join(names)} in {count} of {len(folds)} folds" for count, names in names_by_count.items()]
    return [f"undefined on test rows, and so in the mean: {'; '.join(parts)}"]


def _describe_escaped_names(experiment: Experiment) -> list[str]:
    """Return which names the tables of the run spell with an apostrophe."""
    dataset = experiment.dataset
    classes = dataset.classes if dataset.is_classification else ()
    sentence = describe_escaped_names(map(str, [*classes, *dataset.X.columns]))
    return [sentence] if sentence else []


def _describe_threshold(experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel | None) -> list[str]:
    """Return the threshold of the positive class, and the score by which it was chosen."""
    fitted = [*(fold.model for fold in folds), *([] if model is None else [model])]
    chosen = [each.threshold for each in fitted if each.threshold is not None]
    if not chosen:
        return []
    last = chosen[-1]
    what = f"threshold: {experiment.dataset.positive} from the {METHOD_NAMES[last.method]} {last.value:.4g} on"
    if not experiment.threshold.is_chosen:
        return [what]
    name = experiment.threshold.metric or experiment.headline
    rows = f"{experiment.threshold.folds} inner folds" if experiment.threshold.folds else "validation rows"
    scores = f"{format_score(last.score)}; the learner's own has {format_score(last.default_score)}"
    sentence = f"{what}, chosen by {name} on {rows} ({scores})"
    if len(folds) > 1:
        values = [fold.model.threshold.value for fold in folds if fold.model.threshold is not None]
        sentence += f"; {min(values):.4g} to {max(values):.4g} over the folds"
    return [sentence]


def _describe_unseen_values(folds: Sequence[FoldResult]) -> list[str]:
    """Return the number of test rows with nominal values that the training rows of their fold lack."""
    n_rows = sum(fold.n_unseen_rows for fold in folds)
    if not n_rows:
        return []
    counts: Counter[str] = Counter()
    for fold in folds:
        counts.update(fold.unseen)
    columns = ", ".join(f"{name} {count}" for name, count in counts.most_common())
    n_tests = sum(len(fold.split.test) for fold in folds)
    of_fold = " of their fold" if len(folds) > 1 else ""
    return [
        f"unseen values: {n_rows} of {n_tests} test rows hold nominal values that no training row{of_fold} has "
        f"({columns})"
    ]
