"""The tables of naive Bayes: P(value | class) for every nominal column, and the probabilities for query rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import fill
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.panels import NAME_LETTERS, TEXT_COLOUR, add_title, make_panels, wrap_name
from bakeoff.pipeline.figures.run_figure import FinishedRun, Parameters, RunFigure, check_variants
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.wording import cut_text, format_score

CLASS_LETTERS = 14
"""Number of characters in a line of a class name."""
CELL_INCHES = 1.2
NAMES_INCHES = 2.0
FRAME_INCHES = 1.2
LINE_INCHES = 0.25
QUERY_INCHES = 0.4
QUERY_LETTERS = 34


class TableLine(NamedTuple):
    """A line of a table: a column and one of its values, with the fraction of counts and probability in each class."""

    name: str
    fractions: list[str]
    p: np.ndarray


@final
@dataclass(frozen=True, kw_only=True)
class ProbabilityTables(RunFigure):
    """P(value | class) as fractions of counts, with a table for each variant.

    Parameters
    ----------
    variants : mapping of str to parameters
        Title -> changed parameters of the run's pipeline, such as ``{learner__alpha: 0}``; if empty, those of the run
        are used.
    queries : sequence of mapping of column to value
        Rows to classify, whose probabilities are written below the table.
    """

    variants: Mapping[str, Parameters] = field(default_factory=dict)
    queries: Sequence[Mapping[str, str]] = ()
    file: str = "probabilities.png"

    task: ClassVar[str | None] = "classification"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run for naive Bayes on nominal columns and complete queries; raise UserError otherwise."""
        super().check(experiment, splits)
        dataset = experiment.dataset
        n_numeric = dataset.X.shape[1] - len(dataset.nominal)
        # Learners are identified by their parameters rather than their class: only naive Bayes can smooth its prior.
        if "smooth_prior" not in experiment.learner.get_params() or n_numeric:
            raise UserError(
                "figures: ProbabilityTables supports only learner=naive_bayes on nominal columns, without "
                f"preprocessing; {dataset.name} has {n_numeric} numeric columns, and the learner is "
                f"{type(experiment.learner).__name__}."
            )
        check_variants(experiment, splits, self.variants.values())
        for query in self.queries:
            for name in dataset.X.columns:
                if name not in query:
                    raise UserError(
                        f"figures: a query of ProbabilityTables lacks {name!r}; give a value for each column."
                    )

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a table for each variant, side by side; the lines are only named in the first table."""
        X = run.experiment.dataset.X
        classes = [wrap_name(str(label), CLASS_LETTERS) for label in run.experiment.dataset.classes]
        variants = run.name_variants(self.variants)
        learners = [run.fit_variant(parameters)[-1] for parameters in variants.values()]
        tables = [self._tabulate(learner, X) for learner in learners]
        width = CELL_INCHES * len(classes) + NAMES_INCHES
        height = FRAME_INCHES + LINE_INCHES * len(tables[0]) + QUERY_INCHES * len(self.queries)
        figure, panels = make_panels(len(tables), len(tables), width=width, height=height, sharey=True)
        for axes, title, lines, learner in zip(panels, variants, tables, learners, strict=True):
            _draw_table(axes, lines, classes)
            add_title(axes, title, "P(value | class)")
            axes.set_xlabel("\n".join(_answer(learner, query, X) for query in self.queries), loc="left")
        panels[0].set_yticks(np.arange(len(tables[0])) + 0.5, [line.name for line in tables[0]])
        panels[0].set_ylim(len(tables[0]), 0)
        return figure

    def _tabulate(self, learner: Any, X: pd.DataFrame) -> list[TableLine]:
        """Return a line for the prior, and one for each value of each column."""
        prior = learner.class_count_ + (learner.alpha if learner.smooth_prior else 0.0)  # (c,)
        lines = [_make_line("P(class)", prior, np.full_like(prior, prior.sum()), learner.class_prior_)]
        for j, column in enumerate(X.columns):
            counts = learner.category_count_[j] + learner.alpha  # (c, values)
            p = np.exp(learner.feature_log_prob_[j])  # (c, values)
            for v, value in enumerate(learner.categories_[j]):
                name = f"{self.get_label(column)} = {cut_text(str(value), NAME_LETTERS)}"
                lines.append(_make_line(name, counts[:, v], counts.sum(axis=1), p[:, v]))
        return lines


def _make_line(name: str, counts: np.ndarray, totals: np.ndarray, p: np.ndarray) -> TableLine:
    """Return a line with unreduced fractions, as in the lecture."""
    return TableLine(name, [f"{count:g}/{total:g}" for count, total in zip(counts, totals, strict=True)], p)


def _answer(learner: Any, query: Mapping[str, str], X: pd.DataFrame) -> str:
    """Return the probability of each class for a query, whose columns are given the categories of a table."""
    cells = {name: pd.Categorical([query[name]], X[name].cat.categories) for name in X.columns}
    p = learner.predict_proba(pd.DataFrame(cells))[0]  # (c,)
    names = [cut_text(str(label), NAME_LETTERS) for label in learner.classes_]
    texts = [f"{name} {format_score(value)}" for name, value in zip(names, p, strict=True)]
    values = [cut_text(str(value), NAME_LETTERS) for value in query.values()]
    return "\n".join(fill(", ".join(line), QUERY_LETTERS) for line in (values, texts))


def _draw_table(axes: Axes, lines: Sequence[TableLine], class_labels: Sequence[str]) -> None:
    """Shade each cell by its probability and write its fraction."""
    # vmax is above 1 so that dark text stays readable in the darkest cell.
    shades = np.array([line.p for line in lines])  # (lines, c)
    axes.pcolormesh(shades, cmap="Blues", vmin=0, vmax=1.6, edgecolors="white", linewidth=1.5)
    for row, line in enumerate(lines):
        for code, fraction in enumerate(line.fractions):
            axes.text(code + 0.5, row + 0.5, fraction, ha="center", va="center", color=TEXT_COLOUR)
    axes.set_xticks(np.arange(len(class_labels)) + 0.5, class_labels)
    axes.tick_params(length=0, labelcolor=TEXT_COLOUR)
    axes.spines[["left", "bottom"]].set_visible(False)
