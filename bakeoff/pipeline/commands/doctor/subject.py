"""What checks examine: a stored run beside quick baselines, and a study of several runs.

Whatever has to be fitted is fitted here, within a limit of CPU time. What is not fitted is missing, and the checks that
need it do not apply.

References
----------
Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52, 239-281.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from itertools import takewhile

import numpy as np
import pandas as pd

from bakeoff.pipeline.commands.compare.run_grid import RunFacts
from bakeoff.pipeline.commands.comparison_report.comparison import Comparison
from bakeoff.pipeline.commands.repetition.refit import LoadedRun, refit_run
from bakeoff.pipeline.commands.significance.folds import CorrectedTTest, compute_corrected_t_test, subtract_scores
from bakeoff.pipeline.config.compose_job import compose_parts
from bakeoff.pipeline.config.settle import settle_config
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult, evaluate_splits
from bakeoff.pipeline.experiment.builder import PartCache, build_experiment
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import TABLES, read_series, read_tables

MIN_FOLDS = 5
"""With fewer folds, the errors of test rows are compared instead of the scores of folds."""
LARGE_ERRORS = 0.8
"""The errors of a regression above this quantile count as large."""
BASELINES: Mapping[bool, tuple[str, ...]] = {
    True: ("sklearn_majority", "sklearn_logistic_regression", "sklearn_hist_gradient_boosting"),
    False: ("sklearn_mean", "sklearn_ridge", "sklearn_hist_gradient_boosting_regressor"),
}
"""Whether the target is a class -> the options of learners, the one that ignores all columns first."""
PLAIN_PARTS = ("tuning", "pruning", "balance", "target", "calibration", "threshold")
"""The parts that baselines do without."""


@dataclass(frozen=True)
class Baseline:
    """A quick learner on the folds of a run.

    Attributes
    ----------
    option : str
    test : CorrectedTTest
        The test of its advantage over the run, which is positive if the baseline is better.
    train, scores : ndarray of shape (J,)
        Its headline scores on training and test rows.
    seconds : float
        The time of its fits.
    """

    option: str
    test: CorrectedTTest
    train: np.ndarray
    scores: np.ndarray
    seconds: float


@dataclass(frozen=True)
class RunSubject:
    """A finished run with what is stored of it, and what is fitted for comparison.

    Attributes
    ----------
    store : Store
    run : LoadedRun
    deadline : float
        The process time in seconds after which nothing further is fitted.
    """

    store: Store
    run: LoadedRun
    deadline: float = 0.0

    @property
    def experiment(self) -> Experiment:
        """The experiment of the run, which is not fitted."""
        return self.run.experiment

    @property
    def is_classification(self) -> bool:
        """Whether the target is a class."""
        return self.experiment.dataset.is_classification

    @property
    def sign(self) -> int:
        """1 if a greater headline score is better, else -1."""
        return 1 if self.experiment.headline_metric.greater_is_better else -1

    @property
    def n_folds(self) -> int:
        """J: the number of folds of all repeats."""
        return len(self.run.splits.folds)

    @cached_property
    def tables(self) -> Mapping[str, pd.DataFrame]:
        """The tables among the artifacts of the run, by file name."""
        texts = read_tables(self.store, self.run.stored)
        return {
            name: pd.read_csv(StringIO(text), keep_default_na=False, na_values=[""]) for name, text in texts.items()
        }

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The predictions with the columns row, fold, truth, predicted, probabilities, error and is_wrong.

        The error is 1 for a wrong class, and the absolute error of a number, which is wrong if it is among the largest.
        """
        table = self.tables.get(TABLES[0], pd.DataFrame(columns=["row", "fold", "truth", "predicted"]))
        error = _measure_errors(table["truth"], table["predicted"], is_class=self.is_classification)
        limit = 0.0 if self.is_classification else error.quantile(LARGE_ERRORS)
        return table.assign(error=error, is_wrong=error > limit)

    def read_scores(self, part: str) -> np.ndarray:
        """Return the headline scores of a part of the rows in each fold, shape (J,)."""
        name = f"{part}_{self.experiment.headline}"
        (series,) = read_series(self.store, [self.run.stored], [name]).values()
        return np.array(series[name])

    def test_scores(self, scores: np.ndarray, others: np.ndarray) -> CorrectedTTest:
        """Test fold by fold by how much scores are better than others, with the correction of Nadeau and Bengio."""
        sizes = self.run.splits.mean_rows
        return compute_corrected_t_test(self.sign * subtract_scores(scores, others), sizes["test"] / sizes["train"])

    @property
    def seconds(self) -> float:
        """The time that the folds of the run took to fit and to predict."""
        means = self.run.stored.metrics
        return self.n_folds * sum(value for name, value in means.items() if name.startswith("time/"))

    @cached_property
    def baselines(self) -> list[Baseline]:
        """The baselines, the one that ignores all columns first; empty if there was no time for all of them."""
        options = BASELINES[self.is_classification]
        fitted = list(self._fit_baselines(options))
        return fitted if len(fitted) == len(options) else []

    @cached_property
    def refitted(self) -> tuple[list[FoldResult], FittedModel] | None:
        """The folds and the model of the run, fitted again; None if there is no time, or the scores differ."""
        if time.process_time() + self.seconds > self.deadline:
            return None
        try:
            return refit_run(self.run, lambda work: None)
        except UserError:
            return None

    def _fit_baselines(self, options: Sequence[str]) -> Iterator[Baseline]:
        """Yield baselines on the folds of the run until the time is up."""
        words = ["preprocessing=auto", f"seed={self.run.spec['seed']}", *(f"{part}=none" for part in PLAIN_PARTS)]
        splits = self.run.splits.folds
        for option in options if time.process_time() < self.deadline else ():
            parts = compose_parts([f"learner={option}", *words], ["learner", "preprocessing", *PLAIN_PARTS])
            experiment = build_experiment(settle_config({**self.run.spec, **parts, "figures": []}), PartCache())
            in_time = takewhile(lambda _: time.process_time() < self.deadline, evaluate_splits(experiment, splits))
            folds = list(in_time)
            if len(folds) < len(splits):
                return
            train, test = (
                np.array([fold.scores[f"{part}_{self.experiment.headline}"] for fold in folds])
                for part in ("train", "test")
            )
            seconds = sum(sum(fold.model.seconds.values()) for fold in folds)
            yield Baseline(option, self._test_folds(folds, test), train, test, seconds)

    def _test_folds(self, folds: Sequence[FoldResult], scores: np.ndarray) -> CorrectedTTest:
        """Test the advantage of other folds over those of the run: by scores, or by rows if there are few folds."""
        own = self.read_scores("test")
        if len(scores) >= MIN_FOLDS and np.isfinite([own, scores]).all():
            return self.test_scores(scores, own)
        made = [fold.predictions for fold in folds]
        truth, predicted = (pd.Series(np.concatenate([getattr(each, name) for each in made])) for name in COLUMNS)
        errors = _measure_errors(truth, predicted, is_class=self.is_classification)
        return compute_corrected_t_test((self.rows["error"] - errors).to_numpy(), 0.0)


COLUMNS = ("truth", "predicted")


def _measure_errors(truth: pd.Series, predicted: pd.Series, *, is_class: bool) -> pd.Series:
    """Return whether classes differ, as 0 or 1, or the absolute differences of numbers."""
    return (truth != predicted).astype(float) if is_class else (truth.astype(float) - predicted).abs()


@dataclass(frozen=True)
class StudySubject:
    """The jobs of a sweep, and their comparison.

    Attributes
    ----------
    facts : sequence of RunFacts
        All jobs, finished or not.
    comparison : Comparison or None
        None if they cannot be compared.
    """

    facts: Sequence[RunFacts]
    comparison: Comparison | None

    @property
    def finished(self) -> list[RunFacts]:
        """The jobs that have scores."""
        return [each for each in self.facts if not each.reason]

    def list_params(self, key: str, default: str = "none") -> list[str]:
        """Return the different values of a param of the finished jobs."""
        return sorted({each.run.params.get(key, default) for each in self.finished})
