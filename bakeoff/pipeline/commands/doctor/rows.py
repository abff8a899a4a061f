"""Checks of the predictions of a run, row by row: where it fails, and whether its probabilities can be believed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import numpy as np
import pandas as pd
from scipy import stats

from bakeoff.pipeline.audit.check import SEVERE, TIP, Check, Finding
from bakeoff.pipeline.commands.diff.changed_rows import PROBABILITY, find_groups
from bakeoff.pipeline.commands.doctor.scores import ALPHA, CLASSES, FOLDS, NUMBERS, ROWS, Need, RunCheck, test_one_side
from bakeoff.pipeline.commands.doctor.subject import RunSubject
from bakeoff.pipeline.stages.scoring.metrics import compute_score
from bakeoff.pipeline.stages.scoring.predictions import Predictions
from bakeoff.pipeline.text.wording import count_nouns, format_change, format_percent

PROBABILITIES = Need(
    lambda run: run.predictions.filter(regex=f"^{PROBABILITY}").notna().any(axis=None), "no probabilities"
)
MIN_SLICE_ROWS = 20
MAX_SLICES = 3
LARGE_ERRORS = 0.8
"""The errors of a regression above this quantile count as large."""


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
        rows = subject.predictions.drop_duplicates("row")
        loss = rows["loss"].to_numpy()  # (m,)
        is_wrong = loss > 0 if subject.is_classification else loss > np.quantile(loss, LARGE_ERRORS)  # (m,)
        X = subject.experiment.dataset.X
        leaves = find_groups(X.iloc[rows["row"]], is_wrong, X, 1.0, MIN_SLICE_ROWS)
        leaves.sort(key=lambda leaf: leaf.p_value)
        # The first leaf is always reported, because its test counts in the correction.
        groups = [leaf for number, leaf in enumerate(leaves[:MAX_SLICES]) if leaf.p_value <= ALPHA or not number]
        errors = "errors" if subject.is_classification else "large errors"
        for group in groups:
            n_others = len(rows) - group.n_rows
            elsewhere = (is_wrong.sum() - group.n_broken) / n_others
            shares = f"{format_percent(group.n_broken / group.n_rows)} {errors} in {count_nouns(group.n_rows, 'row')}"
            text = f"weak where {group.conditions}: {shares}, elsewhere {format_percent(elsewhere)}"
            yield self.report(text, f"bakeoff explain {subject.run.stored.run_id}", group.p_value)


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
    needs = (CLASSES, ROWS)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of each class without a prediction."""
        rows = subject.predictions
        for label, share in rows["truth"].value_counts(normalize=True).items():
            if not (rows["predicted"] == label).any():
                text = f"never predicted: {label}, {format_percent(share)} of the test rows"
                yield self.report(text, "balance=weights", float((1 - share) ** len(rows)))


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
    needs = (CLASSES, ROWS, PROBABILITIES)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of the confidence in the predicted classes."""
        rows = subject.predictions.drop_duplicates("row")
        confidence = rows.filter(regex=f"^{PROBABILITY}").max(axis=1)  # (m,)
        excess = (confidence - (1 - rows["loss"])).dropna()  # (m,)
        side = np.sign(excess.mean())
        test = stats.ttest_1samp(side * excess, MAX_BIAS, alternative="greater")
        interval = stats.ttest_1samp(excess, 0.0).confidence_interval(0.95)
        between = f"{format_change(interval.low)} to {format_change(interval.high)}"
        text = f"miscalibrated: probabilities are off by {format_change(excess.mean())} ({between})"
        yield self.report(text, "calibration=platt", float(np.nan_to_num(test.pvalue, nan=1.0)))


TWO_CLASSES = Need(lambda run: run.is_classification and len(run.experiment.dataset.classes) == 2, "not two classes")
NO_THRESHOLD = Need(lambda run: not run.experiment.threshold.is_on, "the run has a threshold")
N_THRESHOLDS = 99


@final
class WrongThreshold(RunCheck):
    """Another threshold would score better.

    Pitfall: the more probable class is not the best answer if errors cost differently, or the score is F1.

    Test: the threshold that is best on the test rows of the other folds improves the headline score of each fold
    (corrected resampled t-test, one-sided). Metrics of probabilities do not depend on it.

    Cure: a threshold that is chosen on inner folds.
    """

    code = "BK20"
    needs = (TWO_CLASSES, NO_THRESHOLD, ROWS, PROBABILITIES, FOLDS)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of the threshold, if another one changes the score at all."""
        experiment, rows = subject.experiment, subject.predictions
        classes = experiment.dataset.classes
        ranking = rows[f"{PROBABILITY}{classes[1]}"].to_numpy()  # (m,)
        numbers = rows["row"].to_numpy()

        def score(is_used: np.ndarray, threshold: float) -> float:
            predicted = classes[(ranking[is_used] >= threshold).astype(int)]
            truth = experiment.dataset.y[numbers[is_used]]
            made = Predictions(truth, predicted, classes=classes, positive=experiment.dataset.positive)
            return subject.sign * compute_score(experiment.headline_metric, made)

        if experiment.headline_metric.needs:
            return
        grid = np.unique(np.quantile(ranking, np.linspace(0.01, 0.99, N_THRESHOLDS)))
        pairs, chosen = [], []
        for fold in sorted(rows["fold"].unique()):
            is_here = (rows["fold"] == fold).to_numpy()
            chosen.append(max(grid, key=lambda threshold: score(~is_here, threshold)))
            pairs.append((score(is_here, chosen[-1]), score(is_here, 0.5)))
        best, given = subject.sign * np.transpose(pairs)
        test = subject.test_scores(best, given)
        text = f"another threshold scores {format_change(test.mean)}: {np.median(chosen):.2g} for {classes[1]}"
        yield self.report(text, "threshold=tuned", test_one_side(test))


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
    needs = (NUMBERS, ROWS)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of each possible cause."""
        rows, dataset = subject.predictions.drop_duplicates("row"), subject.experiment.dataset
        residuals = rows["truth"].astype(float) - rows["predicted"].astype(float)  # (m,)
        causes = dataset.X.select_dtypes("number").iloc[rows["row"]].set_axis(rows.index)
        if dataset.times is not None:
            causes = causes.assign(time=np.asarray(dataset.times)[rows["row"]].astype(float))
        pairs = [(f"residuals follow {name}", residuals, causes[name]) for name in causes]
        pairs.append(("errors grow or shrink with the prediction", rows["loss"], rows["predicted"]))
        for text, errors, cause in pairs:
            correlation, p_value = stats.spearmanr(errors, cause, nan_policy="omit")
            is_clear = abs(correlation) >= MIN_CORRELATION
            cure = f"learner={'sklearn_hist_gradient_boosting_regressor'}"
            yield self.report(f"{text}: {format_change(correlation)}", cure, float(p_value) if is_clear else 1.0)


MAX_SHARE = 0.9
ACCURACY = ("accuracy", "error")


@final
class RareClassAccuracy(RunCheck):
    """Accuracy hardly depends on the rare class.

    Pitfall: with 95 % of the rows in one class, a model may miss every row of the other one and score .95.

    Test: the headline is accuracy or error, and at least 90 % of the rows are of one class.

    Cure: a score in which classes count equally.
    """

    code = "BK27"
    needs = (CLASSES,)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield a finding if one class has most rows."""
        share = pd.Series(subject.experiment.dataset.y).value_counts(normalize=True).iloc[0]
        if share >= MAX_SHARE and subject.experiment.headline in ACCURACY:
            text = f"{subject.experiment.headline} on classes of which one has {format_percent(share)} of the rows"
            yield self.report(text, "evaluation.metrics=[balanced_accuracy,accuracy]")


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
    needs = (IN_ORDER,)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield a finding if the target grows or falls with the rows."""
        codes = np.unique(subject.experiment.dataset.y, return_inverse=True)[1]  # (n,)
        correlation = stats.spearmanr(codes, np.arange(len(codes))).statistic
        if abs(correlation) >= MIN_SORTED:
            yield self.report("the rows are sorted by the target, and not shuffled", "evaluation=kfold")


ROW_CHECKS: tuple[Check, ...] = (
    Miscalibrated(),
    WrongThreshold(),
    WeakSlice(),
    NeverPredicted(),
    PatternedResiduals(),
    RareClassAccuracy(),
    SortedRows(),
)
