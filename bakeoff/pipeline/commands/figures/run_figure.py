"""A finished run, with variants of its model that have changed parameters, and the base classes of its figures."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from bakeoff.pipeline.checks.learner import check_parameters, check_row_bounds
from bakeoff.pipeline.commands.drawing.panels import (
    NAME_LETTERS,
    in_style,
    is_narrowed,
    narrowed,
    render_for_page,
    render_svg,
    write_unit,
)
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment import (
    Experiment,
    FittedModel,
    FoldResult,
    make_pipeline,
    prepare_rows,
    score_headline,
)
from bakeoff.pipeline.experiment.fitting import select_weights
from bakeoff.pipeline.stages.scoring.metrics import is_available
from bakeoff.pipeline.stages.splitting import Split, Splits
from bakeoff.pipeline.stages.tuning import NoTuning, fit_candidates, preprocess_tables
from bakeoff.pipeline.tables.output_file import write_csv
from bakeoff.pipeline.text.wording import count_nouns, cut_text

Parameters = Mapping[str, Any]
"""A variant of the run's pipeline, as parameters of its ``set_params``: ``{learner__max_depth: 2}``."""


def check_variants(experiment: Experiment, splits: Splits, variants: Iterable[Parameters]) -> None:
    """Check before a run that its pipeline can be fitted with changed parameters.

    Raises
    ------
    UserError
        The pipeline lacks a parameter, the learner rejects a value, or there are fewer training rows than neighbours.
    """
    pipeline = make_pipeline(experiment)
    known = pipeline.get_params()
    for parameters in variants:
        for name in parameters:
            if name not in known and "learner" not in parameters:
                raise UserError(
                    f"figures: {name} is not a parameter of the run's pipeline. {did_you_mean(name, known)}"
                )
        learner = make_variant(pipeline, parameters)[-1]
        variant = replace(experiment, learner=learner, tuning=NoTuning())
        try:
            check_parameters(learner, "learner")
            check_row_bounds(variant, splits)
        except UserError as error:
            raise UserError(f"figures: {error}") from None
    # The headline score must be one that can be computed for variants, which are not calibrated.
    if not is_available(experiment.headline_metric, experiment.learner):
        raise UserError(
            f"figures: {experiment.headline}, the first of evaluation.metrics, needs calibrated probabilities, "
            "but the models fitted for a figure are not calibrated; list another metric first, or remove the "
            "figure."
        )


def make_variant(pipeline: Pipeline, parameters: Parameters) -> Pipeline:
    """Return an unfitted copy of a pipeline with changed parameters; ``preprocessing`` may be None."""
    given = dict(parameters)
    if given.get("preprocessing", "") is None:
        given["preprocessing"] = "passthrough"
    changed = clone(pipeline).set_params(**given)
    # A learner among the parameters belongs to the figure, so only a copy of it may be fitted.
    variant: Pipeline = clone(changed)
    return variant


@dataclass(frozen=True)
class FinishedRun:
    """A run whose scores are known, so that its test rows may be shown.

    Attributes
    ----------
    experiment : Experiment
    folds : sequence of FoldResult
    model : FittedModel
        The run's own model.
    """

    experiment: Experiment
    folds: Sequence[FoldResult]
    model: FittedModel

    @property
    def split(self) -> Split:
        """The rows on which the run's own model was fitted and pruned; the test part is empty if it used all rows."""
        return self.model.split

    def select_rows(self, rows: np.ndarray, columns: Sequence[str] = ()) -> tuple[pd.DataFrame, np.ndarray]:
        """Return the table and the target for some rows.

        Parameters
        ----------
        rows : ndarray of int
            Row positions, such as ``split.train``.
        columns : sequence of str
            The columns to return; all columns if empty.
        """
        X = self.experiment.dataset.X.iloc[rows]
        y = self.experiment.dataset.y[rows]
        if columns:
            X = X[list(columns)]
        return X, y

    @property
    def learner_name(self) -> str:
        """The name of the learner's class."""
        return type(self.experiment.learner).__name__

    @property
    def title(self) -> str:
        """The learner and the dataset; empty on a page, whose heading names both."""
        if is_narrowed():
            return ""
        return f"{self.learner_name} on {cut_text(self.experiment.dataset.name, NAME_LETTERS)}"

    @property
    def truth(self) -> np.ndarray:
        """The true targets of the test rows of all folds, one fold after another, of shape (m,)."""
        return np.concatenate([fold.predictions.truth for fold in self.folds])

    @property
    def predicted(self) -> np.ndarray:
        """The predictions for these rows, of shape (m,)."""
        return np.concatenate([fold.predictions.predicted for fold in self.folds])

    def describe_test_rows(self) -> str:
        """Return the number of test rows as a note; if folds are repeated, a row is predicted in every repeat."""
        rows = np.concatenate([fold.split.test for fold in self.folds])
        n_rows = len(np.unique(rows))
        repeats = f", {len(rows) / n_rows:.3g} times each" if len(rows) > n_rows else ""
        return f"{count_nouns(n_rows, 'test row')}{repeats}"

    def describe_folds(self) -> str:
        """Return a note on the meaning of bands over the folds."""
        n_folds = len(self.folds)
        return f"mean ± standard deviation over {n_folds} folds" if n_folds > 1 else "one split"

    def fit_variant(self, parameters: Parameters, columns: Sequence[str] = ()) -> Pipeline:
        """Fit the pipeline of the run's model with changed parameters; for `columns` see `select_rows`."""
        return self._fit(self.model.pipeline, parameters, self.split.train, columns)[0]

    def get_variant(self, parameters: Parameters, columns: Sequence[str] = ()) -> Any:
        """Return a predictor with changed parameters in target units; without any, return the run's model."""
        if not parameters and not columns:
            return self.model.predictor
        return self._fit(self.model.pipeline, parameters, self.split.train, columns)[1]

    def _fit(
        self, base: Pipeline, parameters: Parameters, rows: np.ndarray, columns: Sequence[str] = ()
    ) -> tuple[Pipeline, Any]:
        """Return a variant and its predictor in the units of the target, neither pruned, calibrated nor thresholded."""
        pipeline = make_variant(base, parameters)
        X, y = self.select_rows(rows, columns)
        with warnings.catch_warnings():
            # The run itself has reported that its learner did not converge.
            warnings.simplefilter("ignore", ConvergenceWarning)
            prepared = pipeline[:-1].fit_transform(X, y)
            given = prepare_rows(self.experiment, prepared, y, select_weights(self.experiment, rows))
            weighting = {} if given.weights is None else {"sample_weight": given.weights}
            pipeline[-1].fit(given.X, given.y, **weighting)
        return pipeline, given.complete(pipeline)

    def score_rows(self, model: Any, rows: np.ndarray) -> float:
        """Return the headline score of a fitted model on some rows of the dataset."""
        return score_headline(self.experiment, model, *self.select_rows(rows), select_weights(self.experiment, rows))

    def score_variant(self, parameters: Parameters) -> tuple[float, float]:
        """Return the headline score on training and on test rows, each as a mean over the folds.

        If the run was tuned, each fold keeps the parameters chosen on its own inner folds, because those of the run's
        model were chosen on rows that the fold tests.
        """
        names = [f"{part}_{self.experiment.headline}" for part in ("train", "test")]
        scores = [[fold.scores[name] for name in names] for fold in self.folds if not parameters]
        for fold in self.folds if parameters else ():
            _, predictor = self._fit(fold.model.pipeline, parameters, fold.split.train)
            scores.append([self.score_rows(predictor, rows) for rows in (fold.split.train, fold.split.test)])
        training, test = np.mean(scores, axis=0)
        return float(training), float(test)

    def compute_validation_curve(self, parameter: str, values: Sequence[Any]) -> pd.DataFrame:
        """Return the headline score for each value of a learner parameter, in each fold.

        If the learner is a `PathEstimator` along this parameter, a single fit per fold serves all values. If the run
        was tuned, the other parameters are those that each fold chose without its test rows. Trees are not pruned.

        Returns
        -------
        DataFrame
            The ``position`` of the value, the number of the ``fold``, and the scores on its ``train`` and ``test``
            rows, in this order.
        """
        grids = [{parameter: list(values)}]
        lines = []
        for number, fold in enumerate(self.folds):
            pipeline = fold.model.pipeline
            rows = (fold.split.train, fold.split.test)
            (X_train, y_train), (X_test, y_test) = map(self.select_rows, rows)
            train_weights, test_weights = map(partial(select_weights, self.experiment), rows)
            # Training rows are scored in the same way as new rows: they are transformed by the fitted steps, whose
            # result may differ from that of fitting and transforming together.
            X, seen, unseen = preprocess_tables(pipeline, X_train, y_train, X_train, X_test)
            parts = {"train": (seen, y_train, train_weights), "test": (unseen, y_test, test_weights)}
            with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
                given = prepare_rows(self.experiment, X, y_train, train_weights)
                fits = fit_candidates(pipeline[-1], grids, given.X, given.y, weights=given.weights)
                for position, learner, _ in fits:
                    if isinstance(learner, Exception):
                        raise learner
                    model = given.complete(learner)
                    scores = {name: score_headline(self.experiment, model, *part) for name, part in parts.items()}
                    lines.append({"position": position, "fold": number, **scores})
        return pd.DataFrame(lines).sort_values(["position", "fold"], ignore_index=True)


DOTS_PER_INCH = 110


@dataclass(frozen=True, kw_only=True)
class RunFigure(ABC):
    """Abstract: a figure of a finished run.

    Parameters
    ----------
    file : str
        The name of the artifact, ending in ``.png``.
    labels : mapping of str to str
        Column, target or score -> the text to display, with its meaning and unit.
    if_applicable : bool
        Whether to omit the figure if it cannot show the run, instead of refusing the run.
    """

    file: str
    labels: Mapping[str, str] = field(default_factory=dict)
    if_applicable: bool = False

    task: ClassVar[str | None] = None
    """The only task for which the figure can be drawn, or None if it can be drawn for every task."""
    is_wide: ClassVar[bool] = False
    """Whether a page with room for it shows another, wider drawing than a phone."""

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that the figure can be drawn.

        Raises
        ------
        UserError
            The figure cannot show this kind of experiment.
        """
        if self.task not in (None, experiment.dataset.task):
            dataset = experiment.dataset
            raise self.refuse(f"supports {self.task} only, but dataset={dataset.name} is for {dataset.task}")

    def require_several_rows(self, splits: Splits) -> None:
        """Raise UserError if a fold tests a single row, because nothing can then be permuted or ranked."""
        if min(len(split.test) for split in splits.folds) < 2:
            cure = "use evaluation=kfold, or remove the figure"
            raise self.refuse("needs several test rows in a fold, but each fold tests a single one", cure)

    def refuse(self, reason: str, cure: str = "choose another dataset, or remove the figure") -> UserError:
        """Return the error for an experiment that the figure cannot show."""
        return UserError(f"figures: {type(self).__name__} {reason}; {cure}.")

    @abstractmethod
    def draw(self, run: FinishedRun) -> Figure:
        """Draw the figure."""

    def save(self, folder: Path, experiment: Experiment, folds: Sequence[FoldResult], model: FittedModel) -> None:
        """Draw the figure into a PNG file in the folder."""
        run = FinishedRun(experiment, folds, model)
        with in_style():
            figure, table = self.draw_measured(run)
            if table is not None:
                write_csv(table, (folder / self.file).with_suffix(".csv"))
            # Without Matplotlib's version, equal runs produce equal bytes.
            figure.savefig(folder / self.file, dpi=DOTS_PER_INCH, metadata={"Software": "bakeoff"})

    def render(self, run: FinishedRun, description: str) -> str:
        """Return the figure as SVG elements for a page, with a description for readers who cannot see it."""
        name = Path(self.file).stem
        with in_style():
            with narrowed():
                narrow = self.draw(run)
            if self.is_wide:
                return render_for_page(self.draw(run), narrow, name, description)
        return render_svg(narrow, name, description)

    def draw_measured(self, run: FinishedRun) -> tuple[Figure, pd.DataFrame | None]:
        """Draw the figure, and return it with the table from which it is drawn, if there is one."""
        return self.draw(run), None

    def get_label(self, name: str) -> str:
        """Return the text for a column, the target or a score; a long name without a label is truncated."""
        return self.labels.get(name) or cut_text(name.replace("_", " "), NAME_LETTERS)

    def label_column(self, run: FinishedRun, name: str) -> str:
        """Return the text for a column or the target, with the unit of its numbers if it has no label."""
        unit = "" if name in self.labels else write_unit(run.experiment.dataset.columns, name)
        return self.get_label(name) + unit

    def describe_scores(self, run: FinishedRun, parameters: Parameters) -> str:
        """Return the headline score of a variant on training and test rows, as a note."""
        train, test = run.score_variant(parameters)
        return f"{self.get_label(run.experiment.headline)}: training {train:#.3g}, test {test:#.3g}"


@dataclass(frozen=True, kw_only=True)
class TabulatedFigure(RunFigure):
    """Abstract: a figure drawn from a table, which is stored as CSV next to the picture under the same name."""

    @abstractmethod
    def measure(self, run: FinishedRun) -> pd.DataFrame:
        """Return the numbers to draw."""

    @abstractmethod
    def draw_table(self, run: FinishedRun, table: pd.DataFrame) -> Figure:
        """Draw the numbers returned by `measure`."""

    def draw(self, run: FinishedRun) -> Figure:
        """Measure and draw."""
        return self.draw_measured(run)[0]

    def draw_measured(self, run: FinishedRun) -> tuple[Figure, pd.DataFrame]:
        """Measure and draw, and return both."""
        table = self.measure(run)
        return self.draw_table(run, table), table
