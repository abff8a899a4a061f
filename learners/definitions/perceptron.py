"""Perceptron: a hyperplane ω·x + b = 0 that is moved towards each misclassified row.

With labels y_i of +1 and -1:

    1. initialise ω_0, b_0
    2. pick a row (x_i, y_i)
    3. if y_i (ω·x_i + b) <= 0:    ω = ω + η y_i x_i,    b = b + η y_i
    4. loop over steps 2 and 3 until no row is misclassified

This is stochastic gradient descent on the loss L(ω, b) = -Σ y_i (ω·x_i + b) over the misclassified rows. If the
classes are linearly separable, the loop ends with a separating hyperplane; which one depends on the initial values
and on the order of the rows. Otherwise the loop never ends, and the number of passes must be limited. In that case, the
mean of the hyperplanes over all steps varies less than the last hyperplane.

Cost: O(n d) for a pass over n rows.

References: F. Rosenblatt, "The perceptron", Psychological Review 65, 1958; for the mean, Y. Freund and R. E. Schapire,
"Large margin classification using the perceptron algorithm", Machine Learning 37, 1999.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from bakeoff.learners.definitions.steps import Plane, Problem, Step, number_rows, write_point, write_products


class Hyperplane(NamedTuple):
    """ω (d,) and b after the last pass, their means over all steps, and the loss of each pass."""

    w: np.ndarray
    b: float
    mean_w: np.ndarray
    mean_b: float
    losses: list[float]


def train_perceptron(
    X: np.ndarray, y: np.ndarray, w: np.ndarray, b: float, eta: float = 1.0, max_passes: int = 100
) -> Hyperplane:
    """Pass over rows X (n, d) with labels y (n,), starting from ω_0 = w (d,) and b_0 = b.

    >>> X, y = np.array([[3.0, 3.0], [4.0, 3.0], [1.0, 1.0]]), np.array([1, 1, -1])
    >>> found = train_perceptron(X, y, np.zeros(2), 0.0)
    >>> found.w.tolist(), float(found.b), [float(loss) for loss in found.losses]
    ([1.0, 1.0], -3.0, [7.0, 4.0, 1.0, 7.0, 2.0, 0.0])
    """
    losses: list[float] = []
    sum_w = np.zeros(len(w))
    sum_b = 0.0
    steps = 0
    for _ in range(max_passes):
        loss = 0.0
        mistakes = 0
        for x, label in zip(X, y, strict=True):
            margin = label * (w @ x + b)
            if margin <= 0:
                w = w + eta * label * x
                b = b + eta * label
                loss -= margin
                mistakes += 1
            sum_w += w
            sum_b += b
            steps += 1
        losses.append(loss)
        if mistakes == 0:
            break
    return Hyperplane(w, b, sum_w / steps, sum_b / steps, losses)


def work_perceptron(
    problem: Problem, w: np.ndarray, b: float, eta: float, orders: Iterable[np.ndarray], *, pocket: bool = False
) -> Iterator[Step]:
    """Yield each update of `train_perceptron` for two classes, in passes of the given orders, and the predictions.

    The class that is sorted last is +1. With ``pocket``, the last plane with the fewest mistakes predicts.
    """
    X = problem.X
    classes = np.unique(problem.y)
    signs = np.where(problem.y == classes[1], 1, -1)  # (n,)
    yield Step(
        f"Let y = +1 for {classes[1]} and y = -1 for {classes[0]}, and start from the plane ω, b.",
        f"ω = {write_point(w)}, b = {b}, η = {eta}",
        drawing=Plane(tuple(w), b),
    )
    # A constant prediction of the larger class is the first plane in the pocket.
    balance = np.mean(signs)
    best = (np.count_nonzero(signs * balance <= 0), np.zeros(len(w)), balance)
    for number, order in enumerate(orders, start=1):
        place = f"pass {number}"
        mistakes = 0
        for i in order:
            x, label = X[i], signs[i]
            margin = label * (w @ x + b)
            if margin > 0:
                continue
            mistakes += 1
            rows = number_rows([i])
            yield Step(
                f"Row {rows[0]} is misclassified, because y (ω·x + b) is not above 0.",
                f"y (ω·x + b) = {label:+d}·({write_products(w, x)} + {b}) = {margin}",
                rows=rows,
                place=place,
                values={"margin": margin},
            )
            w = w + eta * label * x
            b = b + eta * label
            yield Step(
                f"Move the plane towards row {rows[0]}: ω = ω + η y x, b = b + η y.",
                f"ω = ω {label:+d}·{eta}·{write_point(x)} = {write_point(w)}",
                chosen=f"b = {b}",
                rows=rows,
                place=place,
                values={"b": b, **{f"ω {name}": value for name, value in zip(problem.features, w, strict=True)}},
                drawing=Plane(tuple(w), b, marked=rows),
            )
        wrong = np.count_nonzero(signs * (X @ w + b) <= 0)
        if wrong <= best[0]:
            best = (wrong, w, b)
        yield Step(
            "Count the updates of the pass, and the rows that its last plane misclassifies.",
            chosen=f"{mistakes} updates, {wrong} rows misclassified",
            place=place,
            values={"updates": mistakes, "misclassified": wrong},
        )
        if mistakes == 0:
            break
    if pocket:
        _, w, b = best
    yield Step(
        "Predict by the plane with the fewest misclassified rows." if pocket else "Predict by the last plane.",
        f"f(x) = ω·x + b, ω = {write_point(w)}, b = {b}",
        drawing=Plane(tuple(w), b),
    )
    for query in problem.queries:
        decision = w @ query + b
        answer = classes[int(decision > 0)]
        yield Step(
            f"On which side of the plane is {write_point(query)}?",
            f"f(x) = {write_products(w, query)} + {b} = {decision}",
            chosen=f"{problem.target} = {answer}",
            values={"f": decision},
            answer=answer,
            response=(decision,),
        )
