"""The tables of naive Bayes: P(value | class) for every nominal column, and the probabilities of query rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters, check_variants
from bakeoff.pipeline.figures.panels import FONT_POINTS, TEXT_COLOUR, add_title, make_panels, measure_inches
from bakeoff.pipeline.figures.run_figure import RunFigure
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.text.numbers import format_score

CLASS_LABEL_LETTERS = 12
"""Characters in a line of a class label; longer labels are wrapped."""
MIN_CELL_INCHES = 1.1
GAP_INCHES = 0.4
BOLD_WIDENING = 1.1
"""How much wider bold letters are than those that are measured."""
FRAME_INCHES = 1.0
LINE_INCHES = 0.25
QUERY_INCHES = 0.4


class TableLine(NamedTuple):
    """A line of a table: a column and its value, and in each class the fraction of counts and the probability."""

    name: str
    is_bold: bool
    fractions: list[str]
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
        X = run.experiment.dataset.X
        classes = ["\n".join(wrap(str(label), CLASS_LABEL_LETTERS)) for label in run.experiment.dataset.classes]
        variants = run.name_variants(self.variants)
        learners = [run.fit_variant(parameters, run.split.train)[-1] for parameters in variants.values()]
        tables = [self._tabulate(learner, X) for learner in learners]
        answers = ["\n".join(_answer(learner, query, X) for query in self.queries) for learner in learners]
        cell_inches = max(MIN_CELL_INCHES, *(measure_inches(label, FONT_POINTS) + 0.2 for label in classes))
        table_inches = max(cell_inches * len(classes), *(measure_inches(answer, FONT_POINTS) for answer in answers))
        names_inches = BOLD_WIDENING * max(measure_inches(line.name, FONT_POINTS) for line in tables[0]) + GAP_INCHES
        height = FRAME_INCHES + LINE_INCHES * len(tables[0]) + QUERY_INCHES * len(self.queries)
        n = len(tables)
        figure, panels = make_panels(n, n, width=table_inches + GAP_INCHES + names_inches / n, height=height)
        for axes, title, lines, answer in zip(panels, variants, tables, answers, strict=True):
            _draw_table(axes, lines, classes)
            add_title(axes, title, "P(value | class)")
            axes.set_xlabel(answer, loc="left")
        panels[0].set_yticks(np.arange(len(tables[0])) + 0.5, [line.name for line in tables[0]])
        for tick, line in zip(panels[0].get_yticklabels(), tables[0], strict=True):
            tick.set(fontweight="bold" if line.is_bold else "normal", color=TEXT_COLOUR)
        return figure

    def _tabulate(self, learner: Any, X: pd.DataFrame) -> list[TableLine]:
        """Return a line for the prior, and one for each value of each column."""
        prior = learner.class_count_ + (learner.alpha if learner.smooth_prior else 0.0)  # (c,)
        lines = [_make_line("P(class)", prior, np.full_like(prior, prior.sum()), learner.class_prior_, is_bold=False)]
        query = self.queries[0] if self.queries else {}
        for j, column in enumerate(X.columns):
            counts = learner.category_count_[j] + learner.alpha  # (c, values)
            p = np.exp(learner.feature_log_prob_[j])  # (c, values)
            for v, value in enumerate(learner.categories_[j]):
                name = f"{self.get_label(column)} = {value}"
                is_bold = query.get(column) == str(value)
                lines.append(_make_line(name, counts[:, v], counts.sum(axis=1), p[:, v], is_bold=is_bold))
        return lines


def _make_line(name: str, counts: np.ndarray, totals: np.ndarray, p: np.ndarray, *, is_bold: bool) -> TableLine:
    """Return a line with fractions as the lecture writes them, not reduced."""
    fractions = [f"{count:g}/{total:g}" for count, total in zip(counts, totals, strict=True)]
    return TableLine(name, is_bold, fractions, p)


def _answer(learner: Any, query: Mapping[str, str], X: pd.DataFrame) -> str:
    """Return the probability of each class for a query, whose columns get the categories of a table."""
    cells = {name: pd.Categorical([query[name]], X[name].cat.categories) for name in X.columns}
    p = learner.predict_proba(pd.DataFrame(cells))[0]  # (c,)
    texts = [f"{label} {format_score(value)}" for label, value in zip(learner.classes_, p, strict=True)]
    return f"{', '.join(query.values())}:\n    {', '.join(texts)}"


def _draw_table(axes: Axes, lines: Sequence[TableLine], class_labels: Sequence[str]) -> None:
    """Shade each cell by its probability and write its fraction; the prior and the lines of the query are bold."""
    shades = np.array([line.p for line in lines])  # (lines, c)
    # vmax is above 1 so that dark text stays readable in the darkest cell.
    axes.pcolormesh(shades, cmap="Blues", vmin=0, vmax=1.6, edgecolors="white", linewidth=1.5)
    for row, line in enumerate(lines):
        weight = "bold" if line.is_bold or row == 0 else "normal"
        for code, fraction in enumerate(line.fractions):
            axes.text(code + 0.5, row + 0.5, fraction, ha="center", va="center", color=TEXT_COLOUR, weight=weight)
    axes.set_xticks(np.arange(len(class_labels)) + 0.5, class_labels)
    axes.set_yticks([])
    axes.tick_params(length=0, labelcolor=TEXT_COLOUR)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.invert_yaxis()
