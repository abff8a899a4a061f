"""A finished comparison, which holds all values for the reports in frozen dataclasses.

All tables, diagrams, pages and files are made from the same `Comparison`, so they show the same numbers. Missing values
are None or NaN, never 0, and have a reason.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from string import ascii_uppercase


@dataclass(frozen=True)
class ComparedMetric:
    """A metric of the comparison.

    Attributes
    ----------
    name : str
        The stored name: ``test_accuracy``, ``time/fit``.
    label : str
        The name in words: ``accuracy``, ``fit time in seconds``.
    greater_is_better : bool
    rope : float
        Half the width of the region of practical equivalence, in the unit of the metric or as a fraction.
    is_rope_relative : bool
        Whether the rope is a fraction of the base's mean on each dataset. This is the case for errors and times, whose
        magnitude depends on the dataset; scores from 0 to 1 have an absolute rope.
    bounds : tuple of float
        The least and the greatest possible value, at which intervals of means end.
    """

    name: str
    label: str
    greater_is_better: bool
    rope: float
    is_rope_relative: bool = False
    bounds: tuple[float, float] = (-math.inf, math.inf)


@dataclass(frozen=True)
class ComparedDataset:
    """A dataset.

    Attributes
    ----------
    name : str
        Unique in the comparison.
    digest : str
        The digest of the rows, as stored by the runs.
    evaluation : str
        The chosen evaluation option, such as ``repeated_kfold``.
    n_folds : int
        The number of scores in each cell: folds × repeats × seeds. 0 if no cell is complete.
    folds_per_repeat : int
        The number of folds after which the rows were split again: k for k folds, 1 for holdout.
    splits_digests : tuple of str
        One per seed; equal for all runs on this dataset.
    n_looks : int
        The number of configurations in the store that have been scored on these test rows, including those of the
        comparison. Each look makes the best score slightly too optimistic.
    """

    name: str
    digest: str
    evaluation: str
    n_folds: int
    folds_per_repeat: int
    splits_digests: tuple[str, ...]
    n_looks: int


@dataclass(frozen=True)
class Configuration:
    """A row of the comparison: a job without its dataset, seed and evaluation.

    Attributes
    ----------
    name : str
        A unique name made from the learner and the params that vary, such as ``knn n_neighbors=5``.
    learner : str
    params : mapping of str to str
        The stored params, except those of the dataset, seed and evaluation.
    members : tuple of str
        Names of the configurations among which this row chooses in each fold by their validation scores; empty for a
        plain configuration.
    """

    name: str
    learner: str
    params: Mapping[str, str] = field(default_factory=dict)
    members: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """One configuration on one dataset.

    Attributes
    ----------
    configuration, dataset : str
        Names.
    scores : mapping of str to tuple of float
        Metric -> one score per fold, ordered by seed and then by fold. All cells of a dataset have the same folds.
        Empty if the cell is empty.
    reason : str
        Why the cell is empty: ``failed: ValueError: …``, ``no run``. Empty if it has scores.
    run_ids : tuple of str
        One per seed, in the order of `seeds`.
    seeds : tuple of str
    fit_seconds, predict_seconds : float
        Means per fold; tuning and pruning count as fitting. NaN if they are not stored.
    n_fits : int
        The number of fits of the learner, including those of tuning; 0 if unknown.
    n_train, n_test : float
        Mean numbers of rows per fold; NaN if they are not stored.
    validation : tuple of float
        One score per fold on validation rows that no choice of the run has used (greater is better); empty if a run has
        no such rows.
    assumed_ratio : float
        The number of test rows per training row if their numbers are not known; NaN if they are.
    chosen : mapping of str to int
        For a row with members: the number of folds in which each was chosen.
    """

    configuration: str
    dataset: str
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    reason: str = ""
    run_ids: tuple[str, ...] = ()
    seeds: tuple[str, ...] = ()
    fit_seconds: float = float("nan")
    predict_seconds: float = float("nan")
    n_fits: int = 0
    n_train: float = float("nan")
    n_test: float = float("nan")
    validation: tuple[float, ...] = ()
    chosen: Mapping[str, int] = field(default_factory=dict)
    assumed_ratio: float = float("nan")

    @property
    def test_train_ratio(self) -> float:
        """The number of test rows per training row."""
        return self.n_test / self.n_train if math.isnan(self.assumed_ratio) else self.assumed_ratio


CellKey = tuple[str, str]
"""The names of a configuration and a dataset."""


@dataclass(frozen=True)
class ScoredCells:
    """Scores to compare, of stored runs or of a table.

    Attributes
    ----------
    metrics : tuple of ComparedMetric
    datasets : tuple of ComparedDataset
    configurations : sequence of Configuration
        The rows of the comparison.
    cells : mapping of CellKey to Cell
        A cell for each configuration and dataset, and for the configurations that a row represents.
    selection : str
        A description of their origin.
    notes : sequence of str
        Sentences on omitted rows, and on the choices of rows.
    """

    metrics: tuple[ComparedMetric, ...]
    datasets: tuple[ComparedDataset, ...]
    configurations: Sequence[Configuration]
    cells: Mapping[CellKey, Cell]
    selection: str
    notes: Sequence[str]


LETTERS = ascii_uppercase
"""The names of the first tiers."""
WILCOXON = "wilcoxon"
NEMENYI = "nemenyi"
"""The tests over datasets that decide whether two configurations differ."""


@dataclass(frozen=True)
class Summary:
    """One configuration on one dataset by one metric.

    Attributes
    ----------
    configuration : str
    mean : float
    std : float
        The standard deviation over folds, with ddof=1; NaN with a single fold.
    low, high : float
        The confidence interval of the mean, corrected for overlapping training parts; NaN with a single fold.
    rank : float
        The rank among the configurations of the dataset, 1 for the best; ties share their mean rank.
    is_best : bool
        Whether its mean is the best of the dataset; configurations with equal means are all marked.
    mark : str
        WEKA's mark in comparison with the base, as `mark_difference` returns it; empty for the base itself.
    p_value : float
        The p-value of the corrected t-test against the base; NaN for the base itself and if there is no test.
    p_better, p_equivalent, p_worse : float
        Probabilities from the Bayesian correlated t-test against the base; NaN for the base itself and if there is no
        test.
    """

    configuration: str
    mean: float
    std: float
    low: float
    high: float
    rank: float
    is_best: bool
    mark: str = ""
    p_value: float = float("nan")
    p_better: float = float("nan")
    p_equivalent: float = float("nan")
    p_worse: float = float("nan")


@dataclass(frozen=True)
class PairResult:
    """A fold-by-fold comparison of two configurations on one dataset by one metric.

    Differences are oriented so that a positive one means that the first configuration is better, also for errors.

    Attributes
    ----------
    first, second : str
        Names of configurations.
    difference : float
        The mean over folds.
    std : float
        The standard deviation of the differences over folds, with ddof=1.
    low, high : float
        The corrected confidence interval of the difference.
    statistic, p_value : float
        The result of the corrected resampled t-test; NaN if there are too few folds.
    p_holm : float
        The p-value adjusted over all pairs of the dataset.
    p_first, p_equivalent, p_second : float
        Probabilities from the Bayesian correlated t-test that the first is better by more than the rope, that they are
        equivalent in practice, and that the second is better. They sum to 1; NaN if there are too few folds.
    detectable : float
        The smallest difference that these folds would detect with a power of 0.8.
    repeats_needed, rows_needed : int or None
        The approximate number of repeats of the folds, or of rows of the dataset, needed to detect the observed
        difference; None if no number would suffice or none can be estimated.
    is_told_apart : bool
        Whether `p_holm` is below alpha.
    test_train_ratio : float
        The ratio n_test / n_train used in the correction: the larger one of the two configurations.
    rope : float
        The rope in the unit of the metric.
    repeats : int
        With ``until=sure``: the number of repeats up to the one that decided the pair, or up to the last one. All
        values are those of these repeats, and `p_holm` is corrected for the looks as well.
    answer : str
        With ``until=sure``: better, practically equal or undecided.
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
    repeats: int = 0
    answer: str = ""


@dataclass(frozen=True, kw_only=True)
class ItemPair(PairResult):
    """Two systems on the items of one test set.

    As for `PairResult`, with items in place of folds, and with these meanings: `statistic` is that of the t-test over
    clusters, which gives the interval and the probabilities, `rows_needed` is a number of items, and `p_value` is that
    of McNemar's test or of exchanges. `answer` is ``practically equal`` if two one-sided tests with Holm's correction
    show that the difference is within the rope.

    Attributes
    ----------
    wins, losses : int
        The numbers of items on which the first is better and worse.
    p_error : float
        The standard error of `p_value` if exchanges were drawn, otherwise 0.
    """

    wins: int
    losses: int
    p_error: float


@dataclass(frozen=True)
class ItemDesign:
    """The items of one test set, and how they were tested.

    Attributes
    ----------
    item, cluster : str
        The columns that name the items and their clusters; the latter is empty without clusters.
    n_items, n_clusters : int
        Without clusters, both are equal.
    test : str
        The test of the pairs in words.
    cochran_q, cochran_p : float
        Cochran's Q of all systems and its p-value; NaN if scores are not 0 or 1, if there are clusters, or for two.
    tiers : tuple of tuple of str
        Tiers of systems: each is in the first one whose best member it is not told apart from.
    """

    item: str
    cluster: str
    n_items: int
    n_clusters: int
    test: str
    cochran_q: float
    cochran_p: float
    tiers: tuple[tuple[str, ...], ...]

    def list_tiers(self) -> dict[str, str]:
        """Return the tier of each system: a letter, or its number after Z."""
        return {
            name: LETTERS[number : number + 1] or str(number + 1)
            for number, tier in enumerate(self.tiers)
            for name in tier
        }


@dataclass(frozen=True)
class DatasetResult:
    """The analysis of one dataset by one metric.

    Attributes
    ----------
    dataset : str
    base : str
        The configuration to which the marks refer; empty if it has no scores here.
    summaries : tuple of Summary
        The configurations from best to worst; those without scores are omitted.
    pairs : tuple of PairResult
        All pairs, an `ItemPair` each on items; the first of each has the better mean, or an equal one.
    verdict : tuple of str
        The verdict in sentences.
    """

    dataset: str
    base: str
    summaries: tuple[Summary, ...]
    pairs: tuple[PairResult, ...]
    verdict: tuple[str, ...]

    def find_summary(self, configuration: str) -> Summary | None:
        """Return the summary of a configuration, or None if it has no scores on this dataset."""
        return next((summary for summary in self.summaries if summary.configuration == configuration), None)


@dataclass(frozen=True)
class OverallPair:
    """Two configurations over datasets.

    Attributes
    ----------
    first, second : str
        The first is the better one by the test that tells them apart, otherwise by mean rank.
    rank_difference : float
        Mean rank of the second minus mean rank of the first. It is negative if Wilcoxon's test and the mean ranks
        disagree on which of the two is better.
    p_value : float
        The p-value that decides: `p_wilcoxon_holm` or, by Nemenyi's test, `p_nemenyi`.
    p_nemenyi : float
    p_wilcoxon, p_wilcoxon_holm : float
        The signed-rank test of the means per dataset, and its p-value adjusted over all pairs.
    wins, ties, losses : int
        The numbers of datasets on which the first has a better, equal or worse mean.
    is_told_apart : bool
        Whether `p_value` shows a difference at alpha, and by Nemenyi's test also Iman and Davenport's test.
    """

    first: str
    second: str
    rank_difference: float
    p_value: float
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
        The datasets included: those on which all configurations have scores.
    left_out : mapping of str to str
        Dataset -> the reason why it is excluded.
    mean_ranks : mapping of str to float
        Configuration -> rank, the best first.
    test : {"wilcoxon", "nemenyi"}
        The test that decides whether two configurations differ; with two of them always Wilcoxon's.
    too_few : str
        Why there are no tests, in one sentence; all p-values are then NaN. Empty if there are tests.
    friedman, friedman_p : float
        χ² of Friedman's test, corrected for ties, and its p-value.
    iman_davenport, iman_davenport_p : float
        The F statistic of the same ranks, and its p-value.
    critical_difference : float
        Nemenyi's critical difference at alpha, in mean ranks.
    groups : tuple of tuple of str
        The bars of the diagram: maximal groups of which no two are told apart. Each pair that is not told apart is in
        one of them.
    pairs : tuple of OverallPair
        All pairs, those of the best mean rank first.
    counts : mapping of str to tuple of int
        Configuration -> WEKA's (v/ /*): the numbers of datasets on which its mark is better than the base, the same,
        and worse.
    verdict : tuple of str
        The verdict in sentences.
    """

    datasets: tuple[str, ...]
    left_out: Mapping[str, str]
    mean_ranks: Mapping[str, float]
    test: str
    too_few: str
    friedman: float
    friedman_p: float
    iman_davenport: float
    iman_davenport_p: float
    critical_difference: float
    groups: tuple[tuple[str, ...], ...]
    pairs: tuple[OverallPair, ...]
    counts: Mapping[str, tuple[int, int, int]]
    verdict: tuple[str, ...]

    @property
    def test_name(self) -> str:
        """The test of the pairs in words."""
        if self.test == NEMENYI:
            return "Nemenyi's test of mean ranks"
        return "Wilcoxon's signed-rank test" + " with Holm's correction" * (len(self.pairs) > 1)


@dataclass(frozen=True)
class ParetoPoint:
    """Score and cost of a configuration, as means over the included datasets.

    Attributes
    ----------
    configuration : str
    score : float
        The mean of the first metric over datasets; `OverallResult` contains its mean rank.
    fit_seconds, predict_seconds : float
        Means per fold.
    n_fits : int
        The number of fits over all included cells.
    is_efficient : bool
        Whether it is on the Pareto front: no other configuration is at least as good in both and better in one.
    """

    configuration: str
    score: float
    fit_seconds: float
    predict_seconds: float
    n_fits: int
    is_efficient: bool


@dataclass(frozen=True)
class MetricResult:
    """All results for one metric.

    Attributes
    ----------
    metric : str
        Name of a `ComparedMetric`.
    datasets : tuple of DatasetResult
    overall : OverallResult or None
        None with a single dataset.
    pareto : tuple of ParetoPoint
        Score against fitting and prediction time, in the order of the configurations.
    """

    metric: str
    datasets: tuple[DatasetResult, ...]
    overall: OverallResult | None
    pareto: tuple[ParetoPoint, ...]


@dataclass(frozen=True)
class Settings:
    """The settings of a comparison.

    Attributes
    ----------
    alpha : float
        The significance level; intervals cover 1 − alpha.
    base : str
        The name of a configuration.
    is_base_given : bool
        Whether the user chose the base; otherwise it is the best configuration.
    all_pairs : bool
        Whether reports list every pair.
    max_repeats : int
        With ``until=sure``: the largest number of repeats; otherwise 0.
    overall : {"wilcoxon", "nemenyi"}
        The test over datasets that was requested.
    """

    alpha: float
    base: str
    is_base_given: bool
    all_pairs: bool
    max_repeats: int = 0
    overall: str = WILCOXON


def _tell_time() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """A finished comparison.

    Attributes
    ----------
    question : str
        One sentence with a question mark.
    selection : str
        A description of the selected runs.
    command : str
        The command that repeats the comparison.
    created : str
        The time in ISO 8601, in UTC.
    verdict : tuple of str
        One or two sentences on the first metric: over datasets, or on the only dataset.
    notes : tuple of str
        Notes for readers on omitted rows, defaults and optimistic scores.
    settings : Settings
    metrics : tuple of ComparedMetric
        The metrics; the first one determines the verdict.
    datasets : tuple of ComparedDataset
    configurations : tuple of Configuration
        The rows, in the order of the reports: the best mean rank first.
    cells : tuple of Cell
        One for each configuration and dataset.
    results : tuple of MetricResult
        The results in the order of `metrics`.
    run_ids : tuple of str
        All compared runs.
    store, experiment : str
        The store and the experiment that contain them.
    items : ItemDesign or None
        None if scores of folds are compared.
    predictions : mapping of str to tuple of tuple of float
        Of a regression on one dataset: configuration -> true and predicted targets of test rows, which are a sample if
        there are many. Empty for others.
    improvability : mapping of str to float
        Beside a reference: configuration -> the mean share of its error by which the best one of a dataset has a
        smaller error. Otherwise empty.
    """

    question: str
    selection: str
    command: str
    created: str = field(default_factory=_tell_time)
    verdict: tuple[str, ...]
    notes: tuple[str, ...]
    settings: Settings
    metrics: tuple[ComparedMetric, ...]
    datasets: tuple[ComparedDataset, ...]
    configurations: tuple[Configuration, ...]
    cells: tuple[Cell, ...]
    results: tuple[MetricResult, ...]
    run_ids: tuple[str, ...] = ()
    store: str = ""
    experiment: str = ""
    items: ItemDesign | None = None
    predictions: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    improvability: Mapping[str, float] = field(default_factory=dict)

    def find_cell(self, configuration: str, dataset: str) -> Cell:
        """Return the cell of a configuration and a dataset."""
        return next(cell for cell in self.cells if (cell.configuration, cell.dataset) == (configuration, dataset))

    def find_metric(self, name: str) -> ComparedMetric:
        """Return a metric by its name."""
        return next(metric for metric in self.metrics if metric.name == name)
