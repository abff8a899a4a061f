"""The report of a run: means over folds, values per fold, sentences on its choices, and tables of individual rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.model.training_record import SCORE_PREFIXES, count_rows, describe_rows
from bakeoff.pipeline.stages.dataset.table import COLUMNS_FILE, format_columns
from bakeoff.pipeline.stages.pruning import PruningPath
from bakeoff.pipeline.stages.scoring.predictions import count_pairs, encode_labels
from bakeoff.pipeline.stages.tuning import GridTuning
from bakeoff.pipeline.tables.markup import escape_markdown
from bakeoff.pipeline.tables.output_file import write_csv
from bakeoff.pipeline.tables.table import Table, make_table
from bakeoff.pipeline.text import wording

PARTS = ("train", "validation", "test")
SIZES = ("leaves", "depth")
TUNED_PREFIX = "tuned."
ALL_ROWS = "all rows"
"""Written in tables instead of a fold number for the run's model if it was fitted on all rows."""
METHOD_NAMES = {"predict_proba": "probability", "decision_function": "decision value"}


def measure_fold(fold: FoldResult) -> dict[str, float]:
    """Return a fold's scores, times in seconds, number of fits, threshold, and sizes before and after pruning."""
    model = fold.model
    values = {**fold.scores, **{f"time/{stage}": seconds for stage, seconds in model.seconds.items()}}
    values |= {"time/predict": fold.predictions.seconds, "fits": float(model.n_fits)}
    if model.n_fits_saved is not None:
        values["tuning/saved_fits"] = float(model.n_fits_saved)
    if model.threshold is not None:
        values["threshold/value"] = model.threshold.value
    if model.path is not None:
        path = model.path
        changes = {"leaves": (path.leaves[0], path.leaves[-1]), "depth": (path.depth[0], path.depth[-1])}
        headline = next(iter(fold.scores)).removeprefix("test_")
        for part, score_before in model.scores_before_pruning.items():
            score = f"{part}_{headline}"
            changes[score] = (score_before, fold.scores[score])
        for name, (before, after) in changes.items():
            values |= {f"pruning/{name}_before": float(before), f"pruning/{name}_after": float(after)}
    return values


def summarize_folds(experiment: Experiment, folds: Sequence[FoldResult]) -> dict[str, float]:
    """Return the mean over folds of each value from `measure_fold`, the headline first.

    If there are two or more folds, each score is followed by its standard deviation over folds (ddof=1), as
    ``<name>_std``. The mean of a score that is undefined on some fold is NaN.
    """
    by_fold = [measure_fold(fold) for fold in folds]
    # A dict preserves the order of its keys: the headline first, then the names in the order of the folds.
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

    The text is empty for a score that was not computed; training rows are only scored by the headline metric.
    """
    return wording.format_mean(summary[name], summary.get(f"{name}_std", np.nan)) if name in summary else ""


def tabulate_means(experiment: Experiment, means: Mapping[str, float]) -> Table:
    """Return a row for each metric, the headline first, and a column for each scored part of the rows.

    Parameters
    ----------
    experiment : Experiment
    means : mapping of str to float
        The means returned by `summarize_folds`.
    """
    # Without a validation part there are no validation scores, and therefore no column for them.
    parts = [part for part in PARTS if f"{part}_{experiment.headline}" in means]
    rows = [[name, *(format_mean(means, f"{part}_{name}") for part in parts)] for name in experiment.metrics]
    return make_table("scores", ["metric", *parts], rows)


def get_pruning_path(model: FittedModel) -> dict[str, Any]:
    """Return the sizes and scores of the run's model at each pruning step; empty without pruning."""
    if model.path is None:
        return {}
    return {f"pruning_path/{name}": series for name, series in _list_steps(model.path).items()}


def _list_steps(path: PruningPath) -> dict[str, Any]:
    return {"leaves": path.leaves, "depth": path.depth, "validation_score": path.score}


def get_tuned_params(model: FittedModel) -> dict[str, str]:
    """Return the parameters that tuning chose for the run's model; empty without tuning."""
    if model.candidates is None:
        return {}
    params = model.pipeline[-1].get_params()
    return {f"{TUNED_PREFIX}{name}": str(params[name]) for name in model.candidates.columns if name in params}


def describe_tuning(folds: Sequence[FoldResult], model: FittedModel) -> list[str]:
    """Return what tuning chose for the run's model and how many folds made the same choice; empty without tuning."""
    chosen = write_tuned(model)
    if not chosen:
        return []
    if len(folds) == 1:
        return [f"tuned: {chosen}"]
    (first, n_first), *others = Counter(write_tuned(fold.model) for fold in folds).most_common()
    parts = [f"{first} in {n_first} of {len(folds)} folds", *(f"{params} in {n}" for params, n in others)]
    return [f"tuned on all rows: {chosen}", f"tuned: {'; '.join(parts)}"]


def count_tried(experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel) -> list[int]:
    """Return the number of candidates that tuning tried in each fold, and last on all rows; empty without a budget."""
    if not isinstance(experiment.tuning, GridTuning) or experiment.tuning.budget is None:
        return []
    candidates = [each.candidates for each in _name_models(folds, model).values()]
    return [len(table) for table in candidates if table is not None]


def describe_race(models: Sequence[FittedModel]) -> str:
    """Return how many fits of candidates a race saved in all models."""
    n_saved = sum(model.n_fits_saved or 0 for model in models)
    n_most = n_saved + sum(model.n_fits for model in models)
    return f"tuning.race: {n_saved:,} of {n_most:,} fits were not needed ({wording.format_percent(n_saved / n_most)})"


def write_tuned(model: FittedModel) -> str:
    """Return the parameters that tuning chose for a model, such as ``n_neighbors=5``; empty without tuning."""
    return ", ".join(f"{name.removeprefix(TUNED_PREFIX)}={value}" for name, value in get_tuned_params(model).items())


def write_tables(folder: Path, experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel) -> None:
    """Write the tables of a run as CSV files, the inferred kinds of its columns, and the learner's warnings as text.

    Parameters
    ----------
    folder : Path
        Receives ``predictions.csv``, ``columns.json``, ``audit.csv`` and, if applicable, ``confusion_matrix.csv``,
        ``candidates.csv``, ``pruning_path.csv`` and ``warnings.txt``.
    experiment : Experiment
    folds : sequence of FoldResult
    model : FittedModel
        The run's model, which may be that of the last fold.
    """
    models = _name_models(folds, model)
    candidates = {name: each.candidates for name, each in models.items() if each.candidates is not None}
    paths = {name: pd.DataFrame(_list_steps(each.path)) for name, each in models.items() if each.path is not None}
    seen = {name: each.seen for name, each in models.items()} | {str(fold.number): fold.seen for fold in folds}
    lines = [(name, stage, len(rows), rows.digest()) for name, stages in seen.items() for stage, rows in stages.items()]
    tables = {
        "predictions": tabulate_predictions(folds),
        "candidates": _stack_tables(candidates).drop(columns="step", errors="ignore"),
        "pruning_path": _stack_tables(paths),
        "audit": pd.DataFrame(lines, columns=["fold", "stage", "rows", "digest"]),
    }
    for name, table in tables.items():
        if len(table):
            write_csv(table, folder / f"{name}.csv")
    if experiment.dataset.is_classification:
        classes = experiment.dataset.classes
        codes = [encode_labels(fold.predictions) for fold in folds]
        counts = sum(count_pairs(each.truth, each.predicted, len(classes), None) for each in codes)  # (c, c)
        confusions = pd.DataFrame(counts, index=pd.Index(classes, name="truth"), columns=classes)
        write_csv(confusions, folder / "confusion_matrix.csv", has_index=True)
    (folder / COLUMNS_FILE).write_text(format_columns(experiment.dataset), encoding="utf-8")
    messages = {message for each in models.values() for message in each.warnings}
    if messages:
        (folder / "warnings.txt").write_text("\n".join(sorted(messages)) + "\n", encoding="utf-8")


def _name_models(folds: Sequence[FoldResult], model: FittedModel) -> dict[str, FittedModel]:
    """Return the models of the folds by number, and the run's model if it was fitted on all rows."""
    models = {str(fold.number): fold.model for fold in folds}
    return models if model is folds[-1].model else {**models, ALL_ROWS: model}


def _stack_tables(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return the tables of models stacked, with the model and the row number as the first columns."""
    return pd.concat(tables, names=["fold", "step"]).reset_index() if tables else pd.DataFrame()


def tabulate_predictions(folds: Sequence[FoldResult]) -> pd.DataFrame:
    """Return a table of the test rows of all folds with number, fold, truth, prediction and probabilities."""
    of_folds = [fold.predictions for fold in folds]
    columns = {
        "row": np.concatenate([fold.split.test for fold in folds]),
        "fold": np.repeat([fold.number for fold in folds], [len(fold.split.test) for fold in folds]),
        "truth": np.concatenate([each.truth for each in of_folds]),
        "predicted": np.concatenate([each.predicted for each in of_folds]),
    }
    classes = of_folds[0].classes
    # The candidates that tuning chose in some folds may lack probabilities.
    if classes is not None and any(each.probabilities is not None for each in of_folds):
        unknown = np.full((1, len(classes)), np.nan)
        rows = [
            unknown.repeat(len(each.truth), axis=0) if each.probabilities is None else each.probabilities
            for each in of_folds
        ]
        columns |= zip((f"probability_{label}" for label in classes), np.concatenate(rows).T, strict=True)
    return pd.DataFrame(columns)


def describe_choices(
    experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel, means: Mapping[str, float]
) -> list[str]:
    """Return the sentences on pruning, tuning, threshold and unseen values, and the rows of the run's model.

    Parameters
    ----------
    experiment : Experiment
    folds : sequence of FoldResult
    model : FittedModel
    means : mapping of str to float
        The means returned by `summarize_folds`.
    """
    lines = []
    if model.path is not None:
        sizes = [f"{size} {means[f'pruning/{size}_before']:g} → {means[f'pruning/{size}_after']:g}" for size in SIZES]
        lines.append(f"pruned: {', '.join(sizes)}")
    if tried := count_tried(experiment, folds, model):
        lines.append(f"tuning.budget: {wording.format_range(tried)} candidates tried for each model")
    if model.n_fits_saved is not None:
        lines.append(describe_race(list(_name_models(folds, model).values())))
    lines += [*describe_tuning(folds, model), *describe_run_lines(experiment, folds, model)]
    return [*lines, f"model: {describe_rows(**count_rows(experiment, model))}"]


def describe_run_lines(experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel) -> list[str]:
    """Return the sentences on the threshold of the run's model and on unseen values, if there are any.

    Parameters
    ----------
    experiment : Experiment
    folds : sequence of FoldResult
    model : FittedModel
    """
    sentences = [_describe_threshold(experiment, model), _describe_unseen_values(folds)]
    return [sentence for sentence in sentences if sentence]


def _describe_threshold(experiment: Experiment, model: FittedModel) -> str:
    """Return the threshold of the positive class, and the score by which it was chosen."""
    chosen = model.threshold
    if chosen is None:
        return ""
    sentence = f"threshold: {experiment.dataset.positive} from the {METHOD_NAMES[chosen.method]} {chosen.value:.4g} on"
    threshold = experiment.threshold
    if not threshold.is_chosen:
        return sentence
    rows = f"{threshold.folds} inner folds" if threshold.folds else "validation rows"
    score, default_score = map(wording.format_score, (chosen.score, chosen.default_score))
    scores = f"{score}; the learner's default has {default_score}"
    return f"{sentence}, chosen by {threshold.metric or experiment.headline} on {rows} ({scores})"


def _describe_unseen_values(folds: Sequence[FoldResult]) -> str:
    """Return the number of test rows with nominal values that do not occur in the training rows of their fold."""
    n_rows = sum(fold.n_unseen_rows for fold in folds)
    if not n_rows:
        return ""
    counts: Counter[str] = Counter()
    for fold in folds:
        counts.update(fold.unseen)
    columns = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    n_tests = sum(len(fold.split.test) for fold in folds)
    return (
        f"unseen values: {n_rows} of {n_tests} test rows have nominal values that occur in no training row of their "
        f"fold ({columns})"
    )


MAX_CARD_LETTERS = 8000
"""The maximum length of a tag in MLflow, which truncates longer ones."""
MAX_ERROR_LETTERS = 1000


def write_card(experiment: Experiment, lines: Sequence[str], commands: Sequence[str], ending: str) -> str:
    """Return the card as Markdown of at most `MAX_CARD_LETTERS` letters; its first line describes the dataset.

    Parameters
    ----------
    experiment : Experiment
    lines : sequence of str
        The headline score, what the run chose, and the verdict of the audit.
    commands : sequence of str
        The command lines that repeat the run.
    ending : str
        Why the run did not finish, such as ``RuntimeError: …``; empty if it did.
    """
    blocks = [escape_markdown(experiment.dataset.describe())]
    if ending:
        blocks += ["**The run did not finish.**", _write_code(ending[:MAX_ERROR_LETTERS])]
    blocks += [f"- {escape_markdown(line)}" for line in lines]
    blocks += ["To repeat it:", _write_code("\n".join(commands))]
    return "\n\n".join(blocks)[:MAX_CARD_LETTERS]


def _write_code(text: str) -> str:
    fence = "```"
    return f"{fence}\n{text.replace(fence, chr(39) * 3)}\n{fence}"
