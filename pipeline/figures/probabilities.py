"""The tables of naive Bayes: P(value | class) of every nominal column, and what they say of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np
import pandas as pd

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.figures.finished_run import FinishedRun, Parameters, check_changes
from bakeoff.pipeline.figures.panels import INK, STYLE, Picture, head, inches, sheet
from bakeoff.pipeline.stages.splitting import Splits

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


SIZE = STYLE["font.size"]
CELL_LETTERS = 12
"""After which the name of a class is broken."""


class Line(NamedTuple):
    """A line of a table: counts (c,) of totals (c,), and what they come to, p (c,)."""

    name: str
    bold: bool
    counts: np.ndarray
    totals: np.ndarray
    p: np.ndarray


@final
@dataclass(frozen=True, kw_only=True)
class ProbabilityTables(Picture):
    """P(value | class) as fractions of counts, a table for each variant.

    Parameters
    ----------
    variants : mapping of str to parameters
        Title -> what of the run's pipeline is changed, such as ``{learner__alpha: 0}``.
    queries : sequence of mapping of column to value
        Rows to classify; their probabilities stand under the table, and the cells that make the first are framed.
    """

    variants: Mapping[str, Parameters]
    queries: Sequence[Mapping[str, str]] = ()
    file: str = "probabilities.png"
    labels: Mapping[str, str] = field(default_factory=dict)

    task: ClassVar[str | None] = "classification"

    def check(self, experiment: Experiment, splits: Splits) -> None:
        """Refuse what naive Bayes does not count."""
        super().check(experiment, splits)
        numeric = experiment.dataset.X.shape[1] - len(experiment.dataset.nominal)
        if "smooth_prior" not in experiment.learner.get_params() or numeric:
            raise UserError(
                "figures: ProbabilityTables are of learner=naive_bayes on nominal columns, without preprocessing; "
                f"{experiment.dataset.name} has {numeric} numeric columns, and the learner is "
                f"{type(experiment.learner).__name__}."
            )
        check_changes(experiment, splits, self.variants.values())
        for query in self.queries:
            for name in experiment.dataset.X.columns:
                if name not in query:
                    raise UserError(
                        f"figures: a query of ProbabilityTables has no {name!r}; give a value of each column."
                    )

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a table for each variant; the first says what its lines are, and the others stand beside it."""
        fitted = {title: run.fit(parameters, run.split.train)[-1] for title, parameters in self.variants.items()}
        lines = [self._lines(learner, list(run.experiment.dataset.X.columns)) for learner in fitted.values()]
        said = ["\n".join(self._answer(learner, query, run) for query in self.queries) for learner in fitted.values()]
        names = [line.name for line in lines[0]]
        labels = ["\n".join(wrap(str(label), CELL_LETTERS)) for label in run.experiment.dataset.classes]
        cell = max(1.1, max(inches(label, SIZE) for label in labels) + 0.2)
        table = max(cell * len(labels), max(inches(words, SIZE) for words in said) if self.queries else 0.0)
        width = 1.1 * max(inches(name, SIZE) for name in names) + 0.4 + (table + 0.3) * len(fitted)
        height = 0.9 + 0.25 * len(names) + 0.4 * len(self.queries) + 0.15 * max(label.count("\n") for label in labels)
        figure, panels = sheet(len(fitted), width=width, height=height, sharey=True)
        for axes, title, table_lines, words in zip(panels[0], fitted, lines, said, strict=True):
            _table(axes, table_lines, labels)
            head(axes, title, "P(value | class)")
            axes.set_xlabel(words, loc="left")
        _name(panels[0, 0], lines[0])
        return figure

    def _lines(self, learner: Any, columns: list[str]) -> list[Line]:
        """Return the prior, and a line for each value of each column."""
        prior = learner.class_count_ + (learner.alpha if learner.smooth_prior else 0.0)
        lines = [Line("P(class)", bold=False, counts=prior, totals=np.full_like(prior, prior.sum()),
                      p=learner.class_prior_)]  # fmt: skip
        query = self.queries[0] if self.queries else {}
        for j, column in enumerate(columns):
            counts = learner.category_count_[j] + learner.alpha  # (c, k)
            p = np.exp(learner.feature_log_prob_[j])
            for v, value in enumerate(learner.categories_[j]):
                bold = query.get(column) == str(value)
                lines.append(Line(f"{self.label(column)} = {value}", bold, counts[:, v], counts.sum(axis=1), p[:, v]))
        return lines

    def _answer(self, learner: Any, query: Mapping[str, str], run: FinishedRun) -> str:
        """Say the probability of each class for a query."""
        X = run.experiment.dataset.X
        row = pd.DataFrame({name: pd.Categorical([query[name]], X[name].cat.categories) for name in X.columns})
        p = learner.predict_proba(row)[0]
        said = ", ".join(f"{label} {value:.4f}" for label, value in zip(learner.classes_, p, strict=True))
        return f"{', '.join(query.values())}:\n    {said}"


def _table(axes: Axes, lines: Sequence[Line], labels: Sequence[str]) -> None:
    """Shade each cell by its probability and write the fraction into it; the lines of the query are bold."""
    shade = np.array([line.p for line in lines])
    axes.pcolormesh(shade, cmap="Blues", vmin=0, vmax=1.6, edgecolors="white", linewidth=1.5)
    for row, line in enumerate(lines):
        for k, (count, total) in enumerate(zip(line.counts, line.totals, strict=True)):
            weight = "bold" if line.bold or row == 0 else "normal"
            axes.text(k + 0.5, row + 0.5, _fraction(count, total), ha="center", va="center", color=INK, weight=weight)
    axes.set_xticks(np.arange(len(labels)) + 0.5, labels)
    axes.tick_params(length=0, labeltop=False, labelbottom=True, labelcolor=INK)
    axes.spines[["left", "bottom"]].set_visible(False)


def _name(axes: Axes, lines: Sequence[Line]) -> None:
    """Write the names of the lines, the first on top."""
    axes.set_yticks(np.arange(len(lines)) + 0.5, [line.name for line in lines])
    for tick, line in zip(axes.get_yticklabels(), lines, strict=True):
        tick.set(fontweight="bold" if line.bold else "normal", color=INK)
    axes.invert_yaxis()


def _fraction(count: float, total: float) -> str:
    """Write a fraction as the lecture does, not reduced.

    Examples
    --------
    >>> _fraction(4.0, 8.0)
    '4/8'
    """
    return f"{count:g}/{total:g}"
