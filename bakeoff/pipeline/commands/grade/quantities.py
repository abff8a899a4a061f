"""The quantities and functions that formulas of boxes name: from the rows, the learner, and the student's results."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from itertools import combinations, islice
from typing import Any

import numpy as np

from bakeoff.learners.definitions.k_nearest_neighbors import gaussian, inverse, measure
from bakeoff.learners.definitions.least_squares import append_ones
from bakeoff.learners.definitions.logistic_regression import curvature
from bakeoff.learners.definitions.naive_bayes import count_values
from bakeoff.learners.definitions.splits import IMPURITIES, answers, entropy, label_rows
from bakeoff.learners.definitions.svm import choose_kernel
from bakeoff.pipeline.commands.grade.paper import Place

MERITS = ("gain ratio", "gain", "votes", "P(class | x)", "P", "f(x)", "score without its subtree")
"""The columns by whose largest number a step chooses its row."""
MAX_TIES = 1000
"""The sets of nearest rows that are listed if many distances are equal."""


class AnyOf(tuple[Any, ...]):
    """Several results, each of which is right."""


def count_parts(at: Place, rows: np.ndarray) -> np.ndarray:
    """Return the class counts of the parts into which a split divides rows, one part after another."""
    feature, threshold = at.read_question(at.cell.row)
    parts = answers(at.problem.X[rows, feature], threshold).values()
    return np.concatenate([count_rows(at, rows[part]) for part in parts])


def count_rows(at: Place, rows: Any) -> np.ndarray:
    """Return how many rows are in each class: shape (c,)."""
    return count_values(at.problem.y[rows], at.problem.classes)


def list_impurities(at: Place, counts: np.ndarray) -> np.ndarray:
    """Return the impurities of nodes (k,) with class counts (k, c); 0 without rows."""
    impurity = IMPURITIES[at.learner.criterion]
    nodes = (label_rows(node.astype(int)) for node in np.atleast_2d(counts))
    return np.array([float(impurity(node)) if len(node) else 0.0 for node in nodes])


def choose_branch(at: Place) -> str:
    """Return the branch that the query takes from the node that the student has reached."""
    node = at.find_node(at.list_branches())
    feature, threshold = at.read_question(str(at.paper.read(node.cell)))
    (answer,) = (answer for answer, side in answers(at.query[[feature]], threshold).items() if side[0])
    return f"{at.problem.features[feature]} {answer}"


def choose_row(at: Place, sign: float) -> AnyOf:
    """Return the row with the largest number, or with sign -1 the smallest; several tie within the rounding."""
    merits = next(filter(None, map(at.find_column, MERITS)), None)
    classes = [*list_classes(at)]
    if merits is None:
        merits = dict(zip(classes, count_rows(at, at.node_rows()), strict=True))
    elif "f(x)" in at.columns and len(merits) == 1:
        (decision,) = merits.values()
        merits = {classes[1]: decision, classes[0]: -decision}
    least = max(sign * merit for merit in merits.values()) - at.paper.tolerance
    return AnyOf(name for name, merit in merits.items() if sign * merit >= least)


def list_classes(at: Place) -> np.ndarray:
    """Return the names of the classes (c,)."""
    return np.array([] if at.problem.classes is None else at.problem.classes).astype(str)


def find_positive(at: Place) -> str:
    """Return the class of a plane, which is by default the last one."""
    found = re.match(r"plane of (.*), pass \d+$", at.step.place)
    return found[1] if found else str(list_classes(at)[-1])


def measure_distances(at: Place) -> np.ndarray:
    """Return the distances of the training rows (n,) from the query."""
    learner = at.learner
    V = (learner.metric_params or {}).get("V")
    if learner.effective_metric_ == "mahalanobis" and V is None:
        V = np.atleast_2d(np.cov(at.problem.X.T))
    return measure(at.problem.X, at.query, learner.effective_metric_, learner.p, V)


def sort_nearest(at: Place, sign: float) -> tuple[set[int], set[int], int]:
    """Return the rows that are among the nearest, those that tie for the last places, and how many of these belong."""
    distances = {int(row): sign * d for row, d in at.find_earlier("d", "q").items()}
    count = len(at.find_column("d"))
    last = sorted(distances.values())[count - 1]
    inner = {row for row, d in distances.items() if d < last - at.paper.tolerance}
    tied = {row for row, d in distances.items() if abs(d - last) <= at.paper.tolerance}
    return inner, tied, count - len(inner)


def choose_nearest(at: Place, sign: float) -> AnyOf:
    """Return the sets of nearest rows, or with sign -1 of the farthest; distances may tie for the last place."""
    inner, tied, count = sort_nearest(at, sign)
    return AnyOf(frozenset(inner.union(chosen)) for chosen in islice(combinations(sorted(tied), count), MAX_TIES))


def name_nearest(at: Place) -> AnyOf:
    """Return the rows that a line of the table of the nearest ones may name, in any order but not twice."""
    inner, tied, _ = sort_nearest(at, 1)
    lines = at.find_column("row")
    taken = [*lines.values()][: [*lines].index(at.cell.row)]
    return AnyOf(float(row) for row in inner | tied if row not in taken)


def read_feature(at: Place, name: str) -> np.ndarray:
    """Return the column (n,) that a name such as x1 | no begins with, as numbers or as text."""
    j = find_feature(at, name)
    return np.asarray(at.problem.X[:, j].astype(str if j in at.problem.nominal else float))


def find_feature(at: Place, name: str) -> int:
    """Return the position of the feature that a name such as x1 | no begins with."""
    return at.problem.features.index(name.partition(" | ")[0])


def list_likelihoods(at: Place) -> list[float]:
    """Return the probabilities of the cells of the query in a class."""

    def read(name: str, value: Any) -> float:
        column = at.find_earlier(f"P({name} | {at.cell.row})")
        return column[str(value)] if column else at.find_earlier("p").get(f"{name} | {at.cell.row}", 1.0)

    return [*map(read, at.problem.features, at.query)]


def compute_kernel(at: Place, Z: np.ndarray) -> np.ndarray:
    """Return kernel values (m, n) of rows Z (m, d) and the training rows, or (n,) of one row."""
    return choose_kernel(at.learner, at.problem.X)[0](np.atleast_2d(Z), at.problem.X).squeeze()


def list_inputs(at: Place, Z: np.ndarray) -> np.ndarray:
    """Return rows Z (m, d) as the weights multiply them: centred for gradient ascent, with a 1 at the end."""
    centre = at.problem.X.mean(axis=0) * (at.learner.solver == "gradient_descent")
    return append_ones(np.atleast_2d(Z) - centre)


def find_positions(at: Place, row: Any) -> Any:
    """Return the position of the training row with a number, or of the row of the step if there is no number."""
    return at.problem.numbers.index(int(row) if row else at.step.rows[0])


QUANTITIES: Mapping[str, Callable[[Place], Any]] = {
    "X": lambda at: at.problem.X,
    "all_rows": lambda at: np.arange(len(at.problem.y)),
    "branch": choose_branch,
    "classes": list_classes,
    "curvatures": lambda at: np.column_stack([[*at.find_column(name).values()] for name in at.find_column("ω")]),
    "distances": measure_distances,
    "heading": lambda at: at.cell.column,
    "inner": lambda at: at.cell.column[len("P(") : -1],
    "labels": lambda at: at.problem.y.astype(str),
    "likelihoods": list_likelihoods,
    "nearest_row": name_nearest,
    "node": Place.node_rows,
    "pi": lambda at: np.pi,
    "positive": find_positive,
    "q": lambda at: at.query,
    "region": Place.find_region,
    "repeated": lambda at: at.find_same()[-1],
    "row": lambda at: at.cell.row,
    "symbol": lambda at: at.columns[0],
    "target": lambda at: at.problem.target,
}
"""The name of a quantity -> how it is found from a place."""


def read_results(find: Callable[..., Mapping[str, Any]], at: Place, *names: str) -> np.ndarray:
    """Return the results of a column as an array."""
    results = find(at, *names)
    if not results:
        raise LookupError(names)
    return np.array([*results.values()])


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "any_of": lambda at, values: AnyOf(values.tolist()),
    "before": lambda at, name: at.pick(at.find_earlier(name)),
    "choose": choose_row,
    "column": partial(read_results, Place.find_column),
    "count": count_rows,
    "count_parts": count_parts,
    "earlier": partial(read_results, Place.find_earlier),
    "feature": read_feature,
    "feature_of_query": lambda at, name: float(at.query[find_feature(at, name)]),
    "here": lambda at, name: at.pick(at.find_column(name)),
    "impurities": list_impurities,
    "index": lambda at, name: [*at.find_column(at.cell.column)].index(name),
    "inputs": list_inputs,
    "kernel": compute_kernel,
    "label": lambda at, name: name.partition(" | ")[2],
    "latest": partial(read_results, Place.find_latest),
    "nearest_rows": choose_nearest,
    "parameter": lambda at, name: getattr(at.learner, name),
    "position": find_positions,
}
"""The name of a function of a place -> the function."""
PLAIN_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("abs", "exp", "log", "mean", "prod", "size", "sqrt", "sum")},
    "curvature": curvature,
    "entropy": lambda sizes: float(entropy(label_rows(sizes.astype(int)))),
    "gaussian": gaussian,
    "inverse": inverse,
    "reshape": lambda values, width: np.reshape(values, (-1, int(width))),
    "solve": np.linalg.solve,
}
"""The name of a function of numbers -> the function."""
