"""The tables of naive Bayes: P(value | class) for every nominal column, and the probabilities of query rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.drawing.panels import FONT_POINTS, TEXT_COLOUR, add_title, make_panels, measure_inches
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters, check_variants
from bakeoff.pipeline.figures.run_figure import RunFigure
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.numbers import format_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CLASS_LABEL_LETTERS = 12
"""Characters in a line of a class label; longer labels are wrapped."""
MIN_CELL_INCHES = 1.1
CELL_PADDING_INCHES = 0.2
TABLE_GAP_INCHES = 0.3
BOLD_WIDENING = 1.1
"""How much wider bold letters are than those that are measured."""
HEADING_INCHES = 0.9
TABLE_LINE_INCHES = 0.25
QUERY_INCHES = 0.4
CLASS_LABEL_LINE_INCHES = 0.15


class TableLine(NamedTuple):
    """A line of a table: a value, and its probability in each class.

    Attributes
    ----------
    name : str
        The column and its value.
    is_bold : bool
        Whether the first query has this value.
    counts, totals : ndarray of shape (c,)
        The numerators and denominators, smoothed.
    p : ndarray of shape (c,)
        The probabilities that the learner uses.
    """

    name: str
    is_bold: bool
    counts: np.ndarray
    totals: np.ndarray
    p: np.ndarray


@final
@dataclass(frozen=True, kw_only=True)
class ProbabilityTables(RunFigure):
    """P(value | class) as fractions of counts, a table for each variant.

    Parameters
    ----------
    variants : mapping of str to parameters
        Title -> other parameters of the run's pipeline, such as ``{learner__alpha: 0}``; those of the run itself if
        there are none.
    queries : sequence of mapping of column to value
        Rows to classify. Their probabilities are written below the table, and the cells that decide the first are bold.
    """

    variants: Mapping[str, Parameters] = field(default_factory=dict)
    queries: Sequence[Mapping[str, str]] = ()
    file: str = "probabilities.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "classification"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Check before a run that it is naive Bayes on nominal columns, and queries are complete; UserError if not."""
        super().check(experiment, splits)
        dataset = experiment.dataset
        n_numeric = dataset.X.shape[1] - len(dataset.nominal)
        # Learners are identified by their parameters, not by class: only naive Bayes can smooth its prior.
        if "smooth_prior" not in experiment.learner.get_params() or n_numeric:
            raise UserError(
                "figures: ProbabilityTables are for learner=naive_bayes on nominal columns, without preprocessing; "
                f"{dataset.name} has {n_numeric} numeric columns, and the learner is "
                f"{type(experiment.learner).__name__}."
            )
        check_variants(experiment, splits, self.variants.values())
        for query in self.queries:
            for name in dataset.X.columns:
                if name not in query:
                    raise UserError(
                        f"figures: a query of ProbabilityTables has no {name!r}; give a value for each column."
                    )

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a table for each variant, side by side; the lines are named at the first."""
        dataset = run.experiment.dataset
        class_labels = ["\n".join(wrap(str(label), CLASS_LABEL_LETTERS)) for label in dataset.classes]
        tables: list[list[TableLine]] = []
        answers: list[str] = []
        variants = run.name_variants(self.variants)
        for parameters in variants.values():
            learner = run.fit_variant(parameters, run.split.train)[-1]
            tables.append(self._make_lines(learner, dataset.X.columns))
            answers.append("\n".join(_describe_query(learner, query, dataset.X) for query in self.queries))
        width = self._measure_width(tables[0], class_labels, answers)
        height = self._measure_height(tables[0], class_labels)
        figure, panels = make_panels(len(tables), width=width, height=height, sharey=True)
        for axes, title, lines, answer in zip(panels[0], variants, tables, answers, strict=True):
            _draw_table(axes, lines, class_labels)
            add_title(axes, title, "P(value | class)")
            axes.set_xlabel(answer, loc="left")
        _name_lines(panels[0, 0], tables[0])
        return figure

    def _measure_width(self, lines: Sequence[TableLine], class_labels: Sequence[str], answers: Sequence[str]) -> float:
        """Return the inches in which names of lines, labels of classes and answers to queries fit side by side."""
        widest_label = max(measure_inches(label, FONT_POINTS) for label in class_labels)
        cell_width = max(MIN_CELL_INCHES, widest_label + CELL_PADDING_INCHES)
        table_width = cell_width * len(class_labels)
        if self.queries:
            widest_answer = max(measure_inches(answer, FONT_POINTS) for answer in answers)
            table_width = max(table_width, widest_answer)
        widest_name = max(measure_inches(line.name, FONT_POINTS) for line in lines)
        names_width = BOLD_WIDENING * widest_name + 0.4
        return names_width + (table_width + TABLE_GAP_INCHES) * len(answers)

    def _measure_height(self, lines: Sequence[TableLine], class_labels: Sequence[str]) -> float:
        """Return the inches in which the lines of a table, the labels of classes and the queries fit."""
        line_breaks = max(label.count("\n") for label in class_labels)
        return (
            HEADING_INCHES
            + TABLE_LINE_INCHES * len(lines)
            + QUERY_INCHES * len(self.queries)
            + CLASS_LABEL_LINE_INCHES * line_breaks
        )

    def _make_lines(self, learner: Any, columns: Iterable[str]) -> list[TableLine]:
        """Return a line for the prior, and one for each value of each column."""
        lines = [_make_prior_line(learner)]
        query = self.queries[0] if self.queries else {}
        for j, column in enumerate(columns):
            counts = learner.category_count_[j] + learner.alpha  # (c, values)
            totals = counts.sum(axis=1)  # (c,)
            p = np.exp(learner.feature_log_prob_[j])  # (c, values)
            for v, value in enumerate(learner.categories_[j]):
                name = f"{self.get_label(column)} = {value}"
                is_bold = query.get(column) == str(value)
                lines.append(TableLine(name, is_bold, counts[:, v], totals, p[:, v]))
        return lines


def _make_prior_line(learner: Any) -> TableLine:
    pseudo_count = learner.alpha if learner.smooth_prior else 0.0
    counts = learner.class_count_ + pseudo_count  # (c,)
    totals = np.full_like(counts, counts.sum())  # (c,)
    return TableLine("P(class)", is_bold=False, counts=counts, totals=totals, p=learner.class_prior_)


def _describe_query(learner: Any, query: Mapping[str, str], X: pd.DataFrame) -> str:
    """Return the probability of each class for a query, whose columns get the categories of a table."""
    cells = {name: pd.Categorical([query[name]], X[name].cat.categories) for name in X.columns}
    p = learner.predict_proba(pd.DataFrame(cells))[0]  # (c,)
    probabilities = ", ".join(
        f"{label} {format_score(value)}" for label, value in zip(learner.classes_, p, strict=True)
    )
    return f"{', '.join(query.values())}:\n    {probabilities}"


def _draw_table(axes: Axes, lines: Sequence[TableLine], class_labels: Sequence[str]) -> None:
    """Shade each cell by its probability and write its fraction; the prior and the lines of the query are bold."""
    shades = np.array([line.p for line in lines])  # (lines, c)
    # vmax is above 1 so that dark text stays readable in the darkest cell.
    axes.pcolormesh(shades, cmap="Blues", vmin=0, vmax=1.6, edgecolors="white", linewidth=1.5)
    for row, line in enumerate(lines):
        weight = "bold" if line.is_bold or row == 0 else "normal"
        for code, (count, total) in enumerate(zip(line.counts, line.totals, strict=True)):
            fraction = _format_fraction(count, total)
            axes.text(code + 0.5, row + 0.5, fraction, ha="center", va="center", color=TEXT_COLOUR, weight=weight)
    axes.set_xticks(np.arange(len(class_labels)) + 0.5, class_labels)
    axes.tick_params(length=0, labeltop=False, labelbottom=True, labelcolor=TEXT_COLOUR)
    axes.spines[["left", "bottom"]].set_visible(False)


def _name_lines(axes: Axes, lines: Sequence[TableLine]) -> None:
    """Write the names of the lines next to a table, the first on top."""
    axes.set_yticks(np.arange(len(lines)) + 0.5, [line.name for line in lines])
    for tick, line in zip(axes.get_yticklabels(), lines, strict=True):
        tick.set(fontweight="bold" if line.is_bold else "normal", color=TEXT_COLOUR)
    axes.invert_yaxis()


def _format_fraction(count: float, total: float) -> str:
    """Return a fraction as the lecture writes it, not reduced.

    Examples
    --------
    >>> _format_fraction(4.0, 8.0)
    '4/8'
    """
    return f"{count:g}/{total:g}"
