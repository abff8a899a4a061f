"""What checks examine: a stored run beside quick baselines, and a study of several runs.

Whatever has to be fitted is fitted here, within a limit of CPU time. What a limit leaves out is missing, which a check
gives as its reason.

References
----------
Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52, 239-281.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO

import numpy as np
import pandas as pd

from bakeoff.pipeline.commands.compare.comparison import Comparison
from bakeoff.pipeline.commands.compare.hypothesis_tests import (
    CorrectedTTest,
    compute_corrected_t_test,
    subtract_scores,
)
from bakeoff.pipeline.commands.compare.run_grid import RunFacts
from bakeoff.pipeline.config.compose_job import compose_parts
from bakeoff.pipeline.config.settle import settle_config
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult, evaluate_splits
from bakeoff.pipeline.experiment.builder import PartCache, build_experiment
from bakeoff.pipeline.sweep.refit import LoadedRun, refit_run
from bakeoff.pipeline.tracking.artifacts import read_artifact
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import TABLES, read_series, read_tables

MIN_FOLDS = 5
"""With fewer folds, the errors on test rows are compared instead of the scores of folds."""
BASELINES: Mapping[bool, tuple[str, ...]] = {
    True: ("sklearn_majority", "sklearn_logistic_regression", "sklearn_hist_gradient_boosting"),
    False: ("sklearn_mean", "sklearn_ridge", "sklearn_hist_gradient_boosting_regressor"),
}
"""Whether the target is a class -> the options of learners, the one that ignores all columns first."""
PLAIN_PARTS = {
    "preprocessing": "auto",
    "tuning": "none",
    "pruning": "none",
    "balance": "none",
    "target": "none",
    "calibration": "none",
    "threshold": "none",
}
"""The options with which baselines are fitted."""
TIMES = ("time/tune", "time/fit", "time/prune", "time/decide", "time/predict")
WARNINGS_FILE = "warnings.txt"


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
        The time of its fits and predictions.
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
    left_out : list of str
        Why something was not fitted.
    """

    store: Store
    run: LoadedRun
    deadline: float
    left_out: list[str] = field(default_factory=list)

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
    def predictions(self) -> pd.DataFrame:
        """A row for each tested row and fold: row, fold, truth, predicted, loss, and probabilities if there are any.

        The loss is 1 for a wrong class, and the absolute error of a number.
        """
        table = self.tables.get(TABLES[0], pd.DataFrame(columns=["row", "fold", "truth", "predicted"]))
        if self.is_classification:
            return table.assign(loss=(table["truth"].astype(str) != table["predicted"].astype(str)).astype(float))
        return table.assign(loss=(table["predicted"].astype(float) - table["truth"].astype(float)).abs())

    @cached_property
    def warnings(self) -> list[str]:
        """The warnings of the learner."""
        return read_artifact(self.store, f"{self.run.stored.address}/{WARNINGS_FILE}").splitlines()

    def read_scores(self, part: str) -> np.ndarray:
        """Return the headline scores of a part of the rows in each fold, shape (J,)."""
        name = f"{part}_{self.experiment.headline}"
        stored = self.run.stored
        return np.array(read_series(self.store, [stored], [name])[stored.run_id].get(name, (np.nan,)))

    def test_scores(self, scores: np.ndarray, others: np.ndarray) -> CorrectedTTest:
        """Test fold by fold by how much scores are better than others, with the correction of Nadeau and Bengio."""
        rows = self.run.splits.mean_rows
        return compute_corrected_t_test(self.sign * subtract_scores(scores, others), rows["test"] / rows["train"])

    @cached_property
    def seconds(self) -> float:
        """The time that the folds of the run took to fit and to predict."""
        means = self.run.stored.metrics
        return self.n_folds * sum(means.get(name, 0.0) for name in TIMES)

    @cached_property
    def baselines(self) -> list[Baseline]:
        """The baselines, the one that ignores all columns first; empty if there was no time for all of them."""
        fitted = [self._fit_baseline(option) for option in BASELINES[self.is_classification]]
        return [each for each in fitted if each is not None] if all(fitted) else []

    @cached_property
    def refitted(self) -> tuple[list[FoldResult], FittedModel] | None:
        """The folds and the model of the run, fitted again; None if there is no time, or the scores differ."""
        if time.process_time() + self.seconds > self.deadline:
            self.left_out.append("the run was not fitted again, for lack of time")
            return None
        try:
            return refit_run(self.run, lambda share: None)
        except UserError as error:
            self.left_out.append(str(error))
            return None

    def _fit_baseline(self, option: str) -> Baseline | None:
        """Evaluate a baseline on the folds of the run; None if the time is up."""
        words = [f"{part}={name}" for part, name in PLAIN_PARTS.items()]
        seed = self.run.spec["seed"]
        parts = compose_parts([f"learner={option}", f"seed={seed}", *words], ["learner", *PLAIN_PARTS])
        spec = settle_config({**self.run.spec, **parts, "figures": []})
        splits = self.run.splits.folds
        folds: list[FoldResult] = []
        for fold in evaluate_splits(build_experiment(spec, PartCache()), splits) if self._has_time() else ():
            folds.append(fold)
            if not self._has_time():
                break
        if len(folds) < len(splits):
            self.left_out.append(f"{option} was not fitted, for lack of time")
            return None
        train, test = (
            np.array([fold.scores[f"{part}_{self.experiment.headline}"] for fold in folds]) for part in PARTS
        )
        seconds = sum(sum(fold.model.seconds.values()) + fold.predictions.seconds for fold in folds)
        return Baseline(option, self._test_folds(folds, test), train, test, seconds)

    def _test_folds(self, folds: Sequence[FoldResult], scores: np.ndarray) -> CorrectedTTest:
        """Test the advantage of other folds over those of the run: by scores, or by rows if there are few folds."""
        own = self.read_scores("test")
        if len(scores) >= MIN_FOLDS and np.isfinite([own, scores]).all():
            return self.test_scores(scores, own)
        truth = np.concatenate([fold.predictions.truth for fold in folds])
        predicted = np.concatenate([fold.predictions.predicted for fold in folds])
        loss = (predicted != truth).astype(float) if self.is_classification else np.abs(predicted - truth)
        return compute_corrected_t_test(self.predictions["loss"].to_numpy() - loss, 0.0)

    def _has_time(self) -> bool:
        return time.process_time() < self.deadline


PARTS = ("train", "test")


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
