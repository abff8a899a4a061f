"""A finished comparison: everything that the reports are written from, in plain frozen values.

The tables, the diagrams, the page and the files are made from a `Comparison` and from nothing else, so that all of them
show the same numbers. Values that do not exist are None or NaN, never 0: a reason stands beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bakeoff.pipeline.comparison.parts import Cell, ComparedDataset, ComparedMetric, Configuration
from bakeoff.pipeline.comparison.results import (
    BETTER,
    SAME,
    WORSE,
    DatasetResult,
    MarkCounts,
    MetricResult,
    OverallPair,
    OverallResult,
    PairResult,
    ParetoPoint,
    Summary,
)

@dataclass(frozen=True)
class LearnerChoice:
    """How one configuration was chosen for a learner that stands in several.

    Attributes
    ----------
    learner : str
    rule : str
        ``tuning`` (the nested-tuned configuration represents the learner), ``validation`` (fold by fold the one with
        the best validation score), or ``none`` (the configurations stay rows).
    row : str
        The configuration that represents the learner; empty for ``none``.
    members : tuple of str
        All its configurations. Those that are not rows of the comparison stand in `Comparison.other_configurations`.
    sentence : str
    """

    learner: str
    rule: str
    row: str
    members: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class Settings:
    """The keys of a comparison.

    Attributes
    ----------
    alpha : float
        The significance level; intervals cover 1 − alpha.
    base : str
        Name of a configuration.
    is_base_given : bool
        False if it is the best by default.
    power : float
        Of the differences and numbers of repeats that are said to be needed.
    all_pairs : bool
        Whether reports list every pair.
    """

    alpha: float
    base: str
    is_base_given: bool
    power: float
    all_pairs: bool


@dataclass(frozen=True)
class Comparison:
    """A finished comparison.

    Attributes
    ----------
    question : str
        One sentence with a question mark.
    selection : str
        Which runs were read, in words.
    command : str
        The command that repeats the comparison.
    created : str
        ISO 8601, in UTC.
    verdict : tuple of str
        One or two sentences by the first metric: over datasets, or of the only dataset.
    notes : tuple of str
        What a reader must know: rows left out, defaults taken, scores that are optimistic.
    settings : Settings
    metrics : tuple of ComparedMetric
        The first one decides the verdict.
    datasets : tuple of ComparedDataset
    configurations : tuple of Configuration
        The rows, in the order of the reports: the best mean rank first.
    cells : tuple of Cell
        One for each configuration and dataset.
    results : tuple of MetricResult
        In the order of `metrics`.
    choices : tuple of LearnerChoice
        Of the learners that stand in several configurations.
    other_configurations, other_cells : tuple
        Configurations that a row represents; they take part in no test.
    run_ids : tuple of str
        All runs that were read.
    store, experiment : str
        Where they are stored.
    versions : mapping of str to str
        Of Python, bakeoff and the libraries, as they are now.
    repeat : tuple of str
        Commands that run the jobs again.
    """

    question: str
    selection: str
    command: str
    created: str
    verdict: tuple[str, ...]
    notes: tuple[str, ...]
    settings: Settings
    metrics: tuple[ComparedMetric, ...]
    datasets: tuple[ComparedDataset, ...]
    configurations: tuple[Configuration, ...]
    cells: tuple[Cell, ...]
    results: tuple[MetricResult, ...]
    choices: tuple[LearnerChoice, ...] = ()
    other_configurations: tuple[Configuration, ...] = ()
    other_cells: tuple[Cell, ...] = ()
    run_ids: tuple[str, ...] = ()
    store: str = ""
    experiment: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    repeat: Sequence[str] = ()

    def find_cell(self, configuration: str, dataset: str) -> Cell:
        """Return the cell of a configuration and a dataset."""
        cells = (*self.cells, *self.other_cells)
        return next(cell for cell in cells if (cell.configuration, cell.dataset) == (configuration, dataset))

    def find_metric(self, name: str) -> ComparedMetric:
        """Return a metric by its name."""
        return next(metric for metric in self.metrics if metric.name == name)
