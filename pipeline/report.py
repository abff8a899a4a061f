"""What a run has to say for itself: means over folds, series over folds, and tables of single rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.stages.pruning import PruningPath
from bakeoff.pipeline.stages.scoring import count_confusions


def measure_fold(fold: FoldResult) -> dict[str, float]:
    """Return one fold's scores, times in seconds, and sizes before and after pruning."""
    values = dict(fold.scores)
    values |= {f"time/{stage}": seconds for stage, seconds in fold.model.seconds.items()}
    values["time/predict"] = fold.predictions.seconds
    if fold.model.path is not None:
        values |= _before_and_after(fold, fold.model.path)
    return values


def summarize_folds(experiment: Experiment, folds: Sequence[FoldResult]) -> dict[str, float]:
    """Return the mean over folds of everything in `measure_fold`, the headline first.

    A score is followed by its standard deviation over folds (ddof=1), as ``<name>_std``, where there are two folds or
    more.  The mean of a score that is not defined in some fold is NaN.
    """
    rows = [measure_fold(fold) for fold in folds]
    headline = f"test_{experiment.headline}"
    values: dict[str, float] = {}
    for name in dict.fromkeys([headline, *(name for row in rows for name in row)]):
        column = [row.get(name, float("nan")) for row in rows]
        values[name] = float(np.mean(column))
        if len(folds) > 1 and name.startswith(("test_", "validation_", "train_")):
            values[f"{name}_std"] = float(np.std(column, ddof=1))
    return values


def format_mean(values: dict[str, float], name: str) -> str:
    """Return a mean over folds with its deviation, where there is one, as text."""
    mean = values.get(name, float("nan"))
    text = "undefined" if mean != mean else f"{mean:.4f}"
    deviation = values.get(f"{name}_std")
    return text if deviation is None or deviation != deviation else f"{text} ± {deviation:.4f}"


def get_pruning_path(model: FittedModel) -> dict[str, Any]:
    """Return the series of the run's model as it was cut back; empty without pruning."""
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
    chosen = model.pipeline[-1].get_params()
    names = [name for name in model.candidates.columns if name in chosen]
    return {f"tuned.{name}": str(chosen[name]) for name in names}


def write_tables(folder: Path, experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel) -> None:
    """Write the tables of a run as CSV files: predictions, confusion matrix, candidates, pruning paths."""
    predictions = pd.concat([_predictions(fold) for fold in folds], ignore_index=True)
    predictions.to_csv(folder / "predictions.csv", index=False)
    if experiment.dataset.is_classification:
        classes = experiment.dataset.classes
        counts = sum(count_confusions(fold.predictions.truth, fold.predictions.predicted, classes) for fold in folds)
        table = pd.DataFrame(counts, index=pd.Index(classes, name="truth"), columns=classes)
        table.to_csv(folder / "confusion_matrix.csv")
    named = [(str(fold.number), fold.model) for fold in folds]
    named += [] if model is folds[-1].model else [("all rows", model)]
    candidates = [m.candidates.assign(fold=name) for name, m in named if m.candidates is not None]
    if candidates:
        pd.concat(candidates, ignore_index=True).to_csv(folder / "candidates.csv", index=False)
    paths = [_path_table(name, m.path) for name, m in named if m.path is not None]
    if paths:
        pd.concat(paths, ignore_index=True).to_csv(folder / "pruning_path.csv", index=False)
    said = sorted({warning for _, m in named for warning in m.warnings})
    if said:
        (folder / "warnings.txt").write_text("\n".join(said) + "\n")


def _before_and_after(fold: FoldResult, path: PruningPath) -> dict[str, float]:
    values: dict[str, float] = {}
    for name, series in (("leaves", path.leaves), ("depth", path.depth)):
        values |= {f"pruning/{name}_before": float(series[0]), f"pruning/{name}_after": float(series[-1])}
    headline = next(iter(fold.scores)).removeprefix("test_")
    for part, before in fold.model.scores_before_pruning.items():
        values |= {
            f"pruning/{part}_{headline}_before": before,
            f"pruning/{part}_{headline}_after": fold.scores[f"{part}_{headline}"],
        }
    return values


def _predictions(fold: FoldResult) -> pd.DataFrame:
    predictions = fold.predictions
    columns: dict[str, Any] = {
        "row": fold.split.test,
        "fold": fold.number,
        "truth": predictions.truth,
        "predicted": predictions.predicted,
    }
    if predictions.probabilities is not None and predictions.classes is not None:
        columns |= {
            f"probability_{label}": predictions.probabilities[:, code] for code, label in enumerate(predictions.classes)
        }
    return pd.DataFrame(columns)


def _path_table(name: str, path: PruningPath) -> pd.DataFrame:
    steps = np.arange(len(path.leaves))
    return pd.DataFrame(
        {"fold": name, "step": steps, "leaves": path.leaves, "depth": path.depth, "validation_score": path.score}
    )
