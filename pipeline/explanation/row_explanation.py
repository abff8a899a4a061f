"""Why a model predicts what it does for one row: what each column contributes, and the path through a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.explanation.learner_parts import unwrap_model
from bakeoff.pipeline.explanation.numbers import format_number
from bakeoff.pipeline.explanation.outputs import ModelOutputs
from bakeoff.pipeline.explanation.shapley import compute_shapley_values
from bakeoff.pipeline.explanation.tree_rules import ReadTree, Rule
from bakeoff.pipeline.stages.preprocessing.column_kinds import DATE, NUMERIC, find_kind


@dataclass(frozen=True)
class Contribution:
    """What a column contributes to the outputs for a row.

    Attributes
    ----------
    column : str
    cell : str
        The cell of the row.
    values : tuple of k float
    errors : tuple of k float
        Standard errors; 0 where nothing was drawn.
    """

    column: str
    cell: str
    values: tuple[float, ...]
    errors: tuple[float, ...]


@dataclass(frozen=True)
class RowExplanation:
    """The prediction for a row, and what it is made of.

    Attributes
    ----------
    name : str
        Which row it is.
    standing : str
        Whether the model was fitted on it.
    prediction, truth : str
        Class or number; the true one is empty if it is not known.
    main : int
        The position of the output to show first: that of the predicted class.
    means, outputs : tuple of k float
        Mean of the background rows, and of this row. The contributions add up to the difference.
    contributions : tuple of Contribution
        The largest of the main output first.
    background : str
        How many rows the means are of.
    is_exact : bool
        Whether all orders of the columns were tried.
    path : tuple of Rule
        In a tree: each question with its answer, and what the tree would predict there. Empty for others.
    """

    name: str
    standing: str
    prediction: str
    truth: str
    main: int
    means: tuple[float, ...]
    outputs: tuple[float, ...]
    contributions: tuple[Contribution, ...]
    background: str
    is_exact: bool
    path: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class RowOfInterest:
    """A row to explain.

    Attributes
    ----------
    X : DataFrame of shape (1, d)
    name, standing, truth : str
        As in `RowExplanation`.
    """

    X: pd.DataFrame
    name: str
    standing: str
    truth: str = ""


def explain_row(
    row: RowOfInterest, outputs: ModelOutputs, background: pd.DataFrame, tree: ReadTree | None, seed: int
) -> RowExplanation:
    """Return what the prediction for a row is made of.

    Parameters
    ----------
    row : RowOfInterest
    outputs : ModelOutputs
    background : DataFrame of shape (b, d)
        The rows that the model was fitted on.
    tree : ReadTree or None
        The learner, if it is a tree.
    seed : int
    """
    found = compute_shapley_values(outputs.compute, row.X, background, np.random.default_rng(seed))
    prediction = outputs.predict_label(row.X)
    main = outputs.names.index(prediction) if prediction in outputs.names else 0
    order = np.argsort(-np.abs(found.values[:, main]), kind="stable")
    contributions = [
        Contribution(
            column=str(row.X.columns[j]),
            cell=describe_cell(row.X.iloc[:, j]),
            values=tuple(found.values[j].tolist()),
            errors=tuple(found.errors[j].tolist()),
        )
        for j in order.tolist()
    ]
    n_drawn = found.n_background
    which = f"{n_drawn:,} of {len(background):,}" if n_drawn < len(background) else f"{n_drawn:,}"
    return RowExplanation(
        name=row.name,
        standing=row.standing,
        prediction=prediction,
        truth=row.truth,
        main=main,
        means=tuple(found.mean.tolist()),
        outputs=tuple(found.prediction.tolist()),
        contributions=tuple(contributions),
        background=which,
        is_exact=found.is_exact,
        path=() if tree is None else tuple(_follow_path(outputs.model, tree, row.X)),
    )


def describe_cell(cells: pd.Series) -> str:
    """Return the only cell of a column as text."""
    (value,) = cells
    if pd.isna(value):
        return "missing"
    kind = find_kind(cells.dtype)
    if kind == NUMERIC:
        return format_number(float(value))
    return str(value).removesuffix(" 00:00:00") if kind == DATE else str(value)


def _follow_path(model: Any, tree: ReadTree, row: pd.DataFrame) -> Sequence[Rule]:
    """Return the rule of each node on the path of a row: the last question, and what the tree would predict there."""
    pipeline = unwrap_model(model).pipeline
    (node,) = tree.learner.apply(pipeline[:-1].transform(row))
    nodes = [int(node)]
    while nodes[-1] > 0:
        nodes.append(int(tree.nodes.parent[nodes[-1]]))
    path = []
    for each in nodes[-2::-1]:
        answer = tree.nodes.answers[each]
        assert answer is not None
        rule = tree.make_rule(each)
        path.append(Rule((tree.describe_answer(answer),), rule.prediction, rule.n_rows, rule.share))
    return path
