"""The tables of naive Bayes: P(value | class) of every nominal column, and what they say of a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, final

import numpy as np
import pandas as pd

from pipeline.experiment import Experiment
from pipeline.figures.canvas import INK, Picture, head, sheet
from pipeline.figures.finished import FinishedRun, Parameters, check_changes
from pipeline.refusal import Refusal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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

    def check(self, experiment: Experiment) -> None:
        """Refuse what naive Bayes does not count."""
        super().check(experiment)
        numeric = experiment.dataset.X.shape[1] - len(experiment.dataset.nominal)
        if "smooth_prior" not in experiment.learner.get_params() or numeric:
            raise Refusal(
                "figures: ProbabilityTables are of learner=naive_bayes on nominal columns, without preprocessing; "
                f"{experiment.dataset.name} has {numeric} numeric columns, and the learner is "
                f"{type(experiment.learner).__name__}."
            )
        check_changes(experiment, self.variants.values())
        for query in self.queries:
            for name in experiment.dataset.X.columns:
                if name not in query:
                    raise Refusal(
                        f"figures: a query of ProbabilityTables has no {name!r}; give a value of each column."
                    )

    def draw(self, run: FinishedRun) -> Figure:
        """Draw a table for each variant."""
        lines = 1 + sum(len(column.cat.categories) for _, column in run.experiment.dataset.X.items())
        height = 0.9 + 0.25 * lines + 0.4 * len(self.queries)
        figure, panels = sheet(len(self.variants), width=8.4, height=height)
        for axes, (title, parameters) in zip(panels[0], self.variants.items(), strict=True):
            learner = run.fit(parameters, run.split.train)[-1]
            self._table(axes, learner, list(run.experiment.dataset.X.columns))
            head(axes, title, "P(value | class)")
            axes.set_xlabel("\n".join(self._answer(learner, query, run) for query in self.queries), loc="left")
        return figure

    def _table(self, axes: Axes, learner: Any, columns: list[str]) -> None:
        """Shade each cell by its probability and write the fraction into it."""
        names, framed = ["P(class)"], [False]
        prior = learner.class_count_ + (learner.alpha if learner.smooth_prior else 0.0)
        blocks = [[[_fraction(count, prior.sum()), p] for count, p in zip(prior, learner.class_prior_, strict=True)]]
        query = self.queries[0] if self.queries else {}
        for j, column in enumerate(columns):
            counts = learner.category_count_[j] + learner.alpha  # (c, k)
            p = np.exp(learner.feature_log_prob_[j])
            for v, value in enumerate(learner.categories_[j]):
                names.append(f"{self.label(column)} = {value}")
                framed.append(query.get(column) == str(value))
                blocks.append([[_fraction(counts[k, v], counts[k].sum()), p[k, v]] for k in range(len(p))])
        shade = np.array([[cell[1] for cell in block] for block in blocks], dtype=float)
        axes.pcolormesh(shade, cmap="Blues", vmin=0, vmax=1.6, edgecolors="white", linewidth=1.5)
        for row, block in enumerate(blocks):
            for k, (text, _) in enumerate(block):
                weight = "bold" if framed[row] or row == 0 else "normal"
                axes.text(k + 0.5, row + 0.5, text, ha="center", va="center", color=INK, fontweight=weight)
        axes.set_yticks(np.arange(len(names)) + 0.5, names)
        for tick, bold in zip(axes.get_yticklabels(), framed, strict=True):
            tick.set(fontweight="bold" if bold else "normal", color=INK)
        axes.set_xticks(np.arange(len(learner.classes_)) + 0.5, [str(label) for label in learner.classes_])
        axes.invert_yaxis()
        axes.tick_params(length=0, labeltop=False, labelbottom=True, labelcolor=INK)
        axes.spines[["left", "bottom"]].set_visible(False)

    def _answer(self, learner: Any, query: Mapping[str, str], run: FinishedRun) -> str:
        """Say the probability of each class for a query."""
        X = run.experiment.dataset.X
        row = pd.DataFrame({name: pd.Categorical([query[name]], X[name].cat.categories) for name in X.columns})
        p = learner.predict_proba(row)[0]
        said = ", ".join(f"{label} {value:.4f}" for label, value in zip(learner.classes_, p, strict=True))
        return f"{', '.join(query.values())}:\n    {said}"


def _fraction(count: float, total: float) -> str:
    """Write a fraction as the lecture does, not reduced.

    Examples
    --------
    >>> _fraction(4.0, 8.0)
    '4/8'
    """
    return f"{count:g}/{total:g}"
