"""The numbers of a comparison: of each dataset, over datasets, and of score against cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

BETTER = "v"
WORSE = "*"
SAME = ""
"""WEKA's marks: significantly better or worse than the base, or not told apart from it."""


@dataclass(frozen=True)
class Summary:
    """One configuration on one dataset by one metric.

    Attributes
    ----------
    configuration : str
    mean : float
    std : float
        Over folds, ddof=1; NaN with a single fold.
    low, high : float
        The confidence interval of the mean, corrected for overlapping training parts; NaN with a single fold.
    rank : float
        Among the configurations of the dataset, 1 is best; ties share the mean of their ranks.
    is_best : bool
        Whether its mean is the best of the dataset; several with equal means are all marked.
    mark : str
        `BETTER`, `WORSE` or `SAME` against the base; the base itself has `SAME`.
    p_value : float
        Of the corrected t-test against the base; NaN for the base itself and where there is no test.
    """

    configuration: str
    mean: float
    std: float
    low: float
    high: float
    rank: float
    is_best: bool
    mark: str = SAME
    p_value: float = float("nan")


@dataclass(frozen=True)
class PairResult:
    """Two configurations on one dataset by one metric, fold by fold.

    Differences are those of the better-is-greater orientation: positive if the first is better, also for errors.

    Attributes
    ----------
    first, second : str
        Names of configurations.
    difference : float
        The mean over folds.
    std : float
        Of the differences over folds, ddof=1.
    low, high : float
        The corrected confidence interval of the difference.
    statistic, p_value : float
        Of the corrected resampled t-test; NaN if the folds are too few for it.
    p_holm : float
        Adjusted over all pairs of the dataset.
    p_first, p_equivalent, p_second : float
        Of the Bayesian correlated t-test: the first is better by more than the rope, they are equivalent in practice,
        the second is better. They sum to 1; NaN if the folds are too few.
    detectable : float
        The smallest difference that these folds would show with the probability `Settings.power`.
    repeats_needed, rows_needed : int or None
        About how many repeats of the folds, or rows of the dataset, would show a difference of the size seen; None if
        no number would, or if none can be estimated.
    is_told_apart : bool
        Whether `p_holm` is below alpha.
    test_train_ratio : float
        n_test / n_train of the correction: the larger one of the two.
    rope : float
        In the unit of the metric.
    """

    first: str
    second: str
    difference: float
    std: float
    low: float
    high: float
    statistic: float
    p_value: float
    p_holm: float
    p_first: float
    p_equivalent: float
    p_second: float
    detectable: float
    repeats_needed: int | None
    rows_needed: int | None
    is_told_apart: bool
    test_train_ratio: float
    rope: float


@dataclass(frozen=True)
class DatasetResult:
    """The analysis of one dataset by one metric.

    Attributes
    ----------
    dataset : str
    base : str
        The configuration that the marks refer to; empty if it has no scores here.
    summaries : tuple of Summary
        In the order of the configurations; those without scores are missing.
    pairs : tuple of PairResult
        All pairs, in the order of the configurations.
    verdict : tuple of str
        Sentences.
    """

    dataset: str
    base: str
    summaries: tuple[Summary, ...]
    pairs: tuple[PairResult, ...]
    verdict: tuple[str, ...]

    def find_summary(self, configuration: str) -> Summary | None:
        """Return the summary of a configuration; None if it has no scores on this dataset."""
        return next((summary for summary in self.summaries if summary.configuration == configuration), None)


@dataclass(frozen=True)
class MarkCounts:
    """Over datasets: where a configuration is better than, the same as, and worse than the base.

    Attributes
    ----------
    configuration : str
    better, same, worse : int
        WEKA's (v/ /*): by the marks.
    wins, ties, losses : int
        By the means alone.
    """

    configuration: str
    better: int
    same: int
    worse: int
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True)
class OverallPair:
    """Two configurations over datasets.

    Attributes
    ----------
    first, second : str
    rank_difference : float
        Mean rank of the second minus that of the first: positive if the first is better.
    p_nemenyi : float
    p_wilcoxon, p_wilcoxon_holm : float
        Of the signed ranks of the means per dataset; adjusted over all pairs.
    wins, ties, losses : int
        Datasets on which the first has the better, the same and the worse mean.
    is_told_apart : bool
        With three configurations or more, whether both the test of Iman and Davenport and `p_nemenyi` show a difference
        at alpha, which are the bars of the diagram; with two, whether `p_wilcoxon` does.
    """

    first: str
    second: str
    rank_difference: float
    p_nemenyi: float
    p_wilcoxon: float
    p_wilcoxon_holm: float
    wins: int
    ties: int
    losses: int
    is_told_apart: bool


@dataclass(frozen=True)
class OverallResult:
    """The analysis over datasets by one metric.

    Attributes
    ----------
    datasets : tuple of str
        Those that count: all configurations have scores on them.
    left_out : mapping of str to str
        Dataset -> why it does not count.
    mean_ranks : mapping of str to float
        Configuration -> rank, the best first.
    too_few : str
        Why there are no tests, in a sentence; empty if there are. All p-values are NaN then.
    friedman, friedman_p : float
        χ² of Friedman's test, corrected for ties, and its p-value.
    iman_davenport, iman_davenport_p : float
        F of the same ranks, and its p-value.
    critical_difference : float
        Nemenyi's, at alpha, in mean ranks.
    groups : tuple of tuple of str
        Maximal groups of neighbours in rank that Nemenyi's test does not tell apart: the bars of the diagram.
    pairs : tuple of OverallPair
    counts : tuple of MarkCounts
        Against the base.
    verdict : tuple of str
        Sentences.
    """

    datasets: tuple[str, ...]
    left_out: Mapping[str, str]
    mean_ranks: Mapping[str, float]
    too_few: str
    friedman: float
    friedman_p: float
    iman_davenport: float
    iman_davenport_p: float
    critical_difference: float
    groups: tuple[tuple[str, ...], ...]
    pairs: tuple[OverallPair, ...]
    counts: tuple[MarkCounts, ...]
    verdict: tuple[str, ...]


@dataclass(frozen=True)
class ParetoPoint:
    """Score and cost of a configuration, means over the datasets that count.

    Attributes
    ----------
    configuration : str
    score : float
        The mean over datasets of the first metric; its mean rank stands in `OverallResult`.
    fit_seconds, predict_seconds : float
        Mean per fold.
    n_fits : int
        Over all cells that count.
    is_efficient : bool
        On the Pareto front: no other configuration is at least as good and as fast, and better in one of them.
    """

    configuration: str
    score: float
    fit_seconds: float
    predict_seconds: float
    n_fits: int
    is_efficient: bool


@dataclass(frozen=True)
class MetricResult:
    """Everything by one metric.

    Attributes
    ----------
    metric : str
        Name of a `ComparedMetric`.
    datasets : tuple of DatasetResult
    overall : OverallResult or None
        None with a single dataset.
    pareto : tuple of ParetoPoint
        Score against fitting and predicting time; in the order of the configurations.
    """

    metric: str
    datasets: tuple[DatasetResult, ...]
    overall: OverallResult | None
    pareto: tuple[ParetoPoint, ...]
