"""Checks of the predictions of a run, row by row: where it fails, and whether its probabilities can be believed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import final

import numpy as np
import pandas as pd
from scipy import stats

from bakeoff.pipeline.audit.check import SEVERE, TIP, Check, Finding
from bakeoff.pipeline.commands.diff.changed_rows import PROBABILITY, find_groups
from bakeoff.pipeline.commands.doctor.scores import (
    ALPHA,
    CLASSES,
    FOLDS,
    NUMBERS,
    ROWS,
    BaselineCheck,
    Need,
    RunCheck,
    test_mean,
    test_one_side,
)
from bakeoff.pipeline.commands.doctor.subject import RunSubject
from bakeoff.pipeline.stages.scoring.metrics import compute_score
from bakeoff.pipeline.stages.scoring.predictions import Predictions
from bakeoff.pipeline.text.wording import count_nouns, format_change, format_percent

PROBABILITIES = Need(lambda run: run.rows.filter(like=PROBABILITY).notna().any(axis=None), "no probabilities")
MIN_SLICE_ROWS = 20
MAX_SLICES = 3


@final
class WeakSlice(RunCheck):
    """Rows with something in common are predicted worse than the rest.

    Pitfall: a good mean hides a group of people, or a kind of case, for which the model is of no use.

    Test: a tree of depth 2 on the errors of the test rows, with at least 20 rows in a leaf; the share of permutations
    of the errors whose tree has a leaf that stands out as much. The p-value covers the whole search over columns,
    thresholds and leaves. Of a number, the largest fifth of the errors count.

    Cure: explain shows which columns the model relies on; more rows of this kind, or columns that tell them apart.
    """

    code = "BK21"
    needs = (ROWS,)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield at most three groups of rows with their shares of errors."""
        rows, X = subject.rows.drop_duplicates("row"), subject.experiment.dataset.X
        is_wrong = rows["is_wrong"].to_numpy()  # (m,)
        leaves = find_groups(X.iloc[rows["row"]], is_wrong, X, 1.0, MIN_SLICE_ROWS)
        leaves.sort(key=lambda leaf: leaf.p_value)
        # The first leaf is always reported, because its test counts in the correction.
        for leaf in [*leaves[:1], *(each for each in leaves[1:MAX_SLICES] if each.p_value <= ALPHA)]:
            elsewhere = (is_wrong.sum() - leaf.n_broken) / (len(rows) - leaf.n_rows)
            shares = f"{format_percent(leaf.n_broken / leaf.n_rows)} errors, elsewhere {format_percent(elsewhere)}"
            text = f"weak where {leaf.conditions}: {count_nouns(leaf.n_rows, 'row')}, {shares}"
            yield self.report(text, f"bakeoff explain {subject.run.stored.run_id}", leaf.p_value)


@final
class NeverPredicted(RunCheck):
    """A class is never predicted.

    Pitfall: the score of the other classes hides that the model cannot name this one.

    Test: no test row is predicted as the class; the p-value is the probability that so many rows, predicted as often as
    the class occurs, all miss it.

    Cure: weights that make classes count equally.
    """

    code = "BK22"
    figure = "confusion_matrix"
    cure = "balance=weights"
    needs = (CLASSES, ROWS)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of each class without a prediction."""
        for label, share in subject.rows["truth"].value_counts(normalize=True).items():
            if not (subject.rows["predicted"] == label).any():
                text = f"never predicted: {label}, {format_percent(share)} of the test rows"
                yield self.report(text, p_value=float((1 - share) ** len(subject.rows)))


MAX_BIAS = 0.02


@final
class Miscalibrated(RunCheck):
    """The probabilities are too high or too low.

    Pitfall: decisions, costs and thresholds take a probability at its word.

    Test: the mean difference between the probability of the predicted class and the share of right predictions is
    farther from 0 than 0.02 (t-test over the test rows).

    Cure: calibration on inner folds.
    """

    code = "BK19"
    severity = TIP
    figure = "calibration"
    cure = "calibration=platt"
    needs = (CLASSES, ROWS, PROBABILITIES)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of the confidence in the predicted classes."""
        rows = subject.rows.drop_duplicates("row")
        excess = (rows.filter(like=PROBABILITY).max(axis=1) + rows["error"] - 1).dropna()  # (m,)
        low, high = stats.ttest_1samp(excess, 0.0).confidence_interval(0.95)
        interval = f"{format_change(low)} to {format_change(high)}"
        text = f"miscalibrated: probabilities are off by {format_change(excess.mean())} ({interval})"
        yield self.report(text, p_value=test_mean(np.sign(excess.mean()) * excess, MAX_BIAS))


TWO_CLASSES = Need(lambda run: run.is_classification and len(run.experiment.dataset.classes) == 2, "not two classes")
LABELS = Need(
    lambda run: not (run.experiment.threshold.is_on or run.experiment.headline_metric.needs),
    "there is a threshold, or the headline does not depend on one",
)
GRID = np.linspace(0.01, 0.99, 99)


@final
class WrongThreshold(RunCheck):
    """Another threshold would score better.

    Pitfall: the more probable class is not the best answer if errors cost differently, or the score is F1.

    Test: the threshold that is best on the test rows of the other folds improves the headline score of each fold
    (corrected resampled t-test, one-sided). Metrics of probabilities do not depend on it.

    Cure: a threshold that is chosen on inner folds.
    """

    code = "BK20"
    cure = "threshold=tuned"
    needs = (TWO_CLASSES, LABELS, ROWS, PROBABILITIES, FOLDS)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of the threshold."""
        dataset, rows = subject.experiment.dataset, subject.rows
        ranking = rows[f"{PROBABILITY}{dataset.classes[1]}"].to_numpy()  # (m,)
        truth = dataset.y[rows["row"]]  # (m,)

        def score(is_used: np.ndarray, threshold: float) -> float:
            predicted = dataset.classes[(ranking[is_used] >= threshold).astype(int)]
            made = Predictions(truth[is_used], predicted, classes=dataset.classes, positive=dataset.positive)
            return subject.sign * compute_score(subject.experiment.headline_metric, made)

        grid = np.unique(np.quantile(ranking, GRID))
        parts = [(rows["fold"] == fold).to_numpy() for fold in rows["fold"].unique()]
        chosen = [max(grid, key=partial(score, ~part)) for part in parts]
        best = np.array([score(*pair) for pair in zip(parts, chosen, strict=True)])
        given = np.array([score(part, 0.5) for part in parts])
        test = subject.test_scores(subject.sign * best, subject.sign * given)
        text = f"another threshold scores {format_change(test.mean)}: {np.median(chosen):.2g} for {dataset.classes[1]}"
        yield self.report(text, p_value=test_one_side(test))


MIN_CORRELATION = 0.2


@final
class PatternedResiduals(RunCheck):
    """The errors of a regression follow the prediction, the time or a column.

    Pitfall: errors that grow with the prediction make intervals wrong; errors that follow a column show that the model
    has missed what the column tells; errors that follow time show that the world has changed.

    Test: Spearman's rank correlation of the residual with the time and each numeric column, and of its size with the
    prediction, of at least 0.2.

    Cure: target=log or another learner; evaluation=time_series for time.
    """

    code = "BK23"
    severity = TIP
    figure = "residuals"
    cure = "learner=sklearn_hist_gradient_boosting_regressor"
    needs = (NUMBERS, ROWS)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of each possible cause."""
        rows, dataset = subject.rows.drop_duplicates("row"), subject.experiment.dataset
        causes = dataset.X.select_dtypes("number").iloc[rows["row"]].set_axis(rows.index)
        if dataset.times is not None:
            causes = causes.assign(time=dataset.times[rows["row"]].astype(float))
        pairs = [(f"residuals follow {name}", rows["truth"] - rows["predicted"], causes[name]) for name in causes]
        for text, errors, cause in [*pairs, ("errors change with the prediction", rows["error"], rows["predicted"])]:
            correlation, p_value = stats.spearmanr(errors, cause, nan_policy="omit")
            is_clear = abs(correlation) >= MIN_CORRELATION
            yield self.report(f"{text}: {format_change(correlation)}", p_value=float(p_value) if is_clear else 1.0)


MAX_SHARE = 0.9


@final
class RareClassAccuracy(RunCheck):
    """Accuracy hardly depends on the rare class.

    Pitfall: with 95 % of the rows in one class, a model may miss every row of the other one and score .95.

    Test: the headline is accuracy or error, and at least 90 % of the rows are of one class.

    Cure: a score in which classes count equally.
    """

    code = "BK27"
    cure = "evaluation.metrics=[balanced_accuracy,accuracy]"
    needs = (CLASSES,)

    def describe(self, subject: RunSubject) -> str:
        """Return the share of the largest class."""
        headline = subject.experiment.headline
        share = pd.Series(subject.experiment.dataset.y).value_counts(normalize=True).iloc[0]
        is_blind = share >= MAX_SHARE and headline in ("accuracy", "error")
        return f"{headline}, with {format_percent(share)} of the rows in one class" if is_blind else ""


IN_ORDER = Need(lambda run: run.experiment.splitter.keeps_order, "the rows are shuffled")
MIN_SORTED = 0.9


@final
class SortedRows(RunCheck):
    """The rows are sorted by the target, and are not shuffled.

    Pitfall: folds in the order of the rows train on some classes, or small numbers, and test others.

    Test: the rank correlation of the target with the number of the row is at least .9.

    Cure: an evaluation that shuffles the rows.
    """

    code = "BK28"
    severity = SEVERE
    cure = "evaluation=kfold"
    needs = (IN_ORDER,)

    def describe(self, subject: RunSubject) -> str:
        """Return a clause if the target grows or falls with the rows."""
        codes = np.unique(subject.experiment.dataset.y, return_inverse=True)[1]  # (n,)
        correlation = stats.spearmanr(codes, np.arange(len(codes))).statistic
        return "the rows are sorted by the target, and not shuffled" if abs(correlation) >= MIN_SORTED else ""


RUN_CHECKS: tuple[Check, ...] = tuple(
    kind() for base in (RunCheck, BaselineCheck) for kind in base.__subclasses__() if kind is not BaselineCheck
)
"""All checks of a run that need more than its table."""
