"""What a run says besides its scores, a sentence each: thresholds, values never seen, and undefined scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import pandas as pd

from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult
from bakeoff.pipeline.tables.csv import describe_escaped_names
from bakeoff.pipeline.text.numbers import format_score

METHOD_NAMES = {"predict_proba": "probability", "decision_function": "decision value"}


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
    """Return from which score on the positive class is predicted, and what the threshold was chosen by."""
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
    """Return how many test rows hold nominal values that the training rows of their fold lack."""
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
