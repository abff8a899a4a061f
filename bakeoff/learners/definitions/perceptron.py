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

from collections.abc import Generator, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bakeoff.learners.definitions.least_squares import append_ones
from bakeoff.learners.definitions.steps import Plane, Problem, Step, bracket, write_point, write_products


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


MAX_UPDATES = 40
"""The updates of a plane that are shown; the others are only counted."""


def work_perceptron(learner: Any, problem: Problem) -> Iterator[Step]:
    """Yield the updates of `train_perceptron` for each of k planes, and the predictions.

    Of two classes, the one that is sorted last is +1; of more, each is +1 in a problem of its own, against the rest.
    """
    classes = learner.classes_
    positives = classes[1:] if len(classes) == 2 else classes
    seeds = np.random.RandomState(learner.random_state).randint(2**31, size=len(positives))
    starts = np.zeros((len(positives), problem.X.shape[1] + 1))  # (k, d + 1)
    starts[:, :-1] = 0 if learner.coef_init is None else learner.coef_init
    starts[:, -1] = 0 if learner.intercept_init is None else learner.intercept_init
    planes = []
    for positive, start, seed in zip(positives, starts, seeds, strict=True):
        plane = yield from work_plane(learner, problem, positive, start, seed)
        planes.append(plane)
    for query in problem.queries:
        x = [*query, 1.0]
        response = tuple(float(plane @ x) for plane in planes)
        best = int(np.argmax(response)) if len(planes) > 1 else int(response[0] > 0)
        sums = (write_products(plane, x) for plane in planes)
        yield Step(
            f"On which side of each plane is {write_point(query)}? Of several planes, the largest f(x) decides.",
            table=(("y = +1", "f(x) = ω·x + b·1", "f(x)"), *zip(positives, sums, response, strict=True)),
            chosen=f"{problem.target} = {classes[best]}",
            answer=classes[best],
            response=response,
        )


def work_plane(
    learner: Any, problem: Problem, positive: object, plane: np.ndarray, seed: int
) -> Generator[Step, None, np.ndarray]:
    """Yield the updates of the plane (d + 1,) between one class and the rest; return the plane that predicts."""
    X = append_ones(problem.X)  # (n, d + 1)
    y = np.where(problem.y == positive, 1, -1)  # (n,)
    place = f"plane of {positive}"
    yield write_plane(f"Let y = +1 for {positive} and y = -1 for the rest. Start from ω, b.", plane, place)
    # A constant prediction of the larger class is the first plane in the pocket.
    pocket = np.append(np.zeros(X.shape[1] - 1), y.mean())
    visited = []
    n_updates = 0
    random_state = np.random.RandomState(seed)
    for number in range(1, learner.max_iter + 1):
        n_before = n_updates
        for i in random_state.permutation(len(X)) if learner.shuffle else range(len(X)):
            if y[i] * (X[i] @ plane) <= 0:
                step = work_update(plane[:-1], plane[-1], problem.X[i], y[i], learner.eta0)
                plane = plane + learner.eta0 * y[i] * X[i]
                n_updates += 1
                if n_updates <= MAX_UPDATES:
                    rows = problem.number_rows([i])
                    drawing = Plane(tuple(plane[:-1]), plane[-1], marked=rows)
                    yield replace(step, rows=rows, place=f"{place}, pass {number}", drawing=drawing)
            visited.append(plane)
        pocket = min(plane, pocket, key=lambda each: np.count_nonzero(y * (X @ each) <= 0))
        if n_updates == n_before:
            break
    rule = "last plane"
    if learner.averaged:
        rule = "mean of the planes after each row of each pass"
        plane = np.mean(visited, axis=0)
    elif learner.pocket:
        rule = "plane with the fewest misclassified rows after a pass"
        plane = pocket
    sentence = (
        "Pass over all rows until a pass makes no update, or the passes are used up. "
        f"(At most {MAX_UPDATES} updates are shown.) Predict by the {rule}."
    )
    yield replace(write_plane(sentence, plane, place), chosen=f"{number} passes with {n_updates} updates")
    return plane


def write_plane(sentence: str, plane: np.ndarray, place: str) -> Step:
    """Return a step that shows the plane ω, b (d + 1,)."""
    *w, b = plane
    return Step(sentence, f"ω = {write_point(w)}, b = {b}", place=place, drawing=Plane(tuple(w), b))


def work_update(w: np.ndarray, b: float, x: np.ndarray, y: int, eta: float = 1.0) -> Step:
    """Return the update of the plane w, b for a row x with label y; there is none for a row on its own side."""
    margin = float(y * (np.dot(w, x) + b))
    new_w = write_point(np.add(w, eta * y * np.array(x)))
    new_b = b + eta * y
    w_cells = ("ω", f"{write_point(w)} {y:+d}·{eta}·{write_point(x)}", new_w)
    b_cells = ("b", f"{b} {y:+d}·{eta}", new_b)
    return Step(
        "If y (ω·x + b) is not above 0, move the plane towards the row: ω = ω + η y x, b = b + η y.",
        f"y (ω·x + b) = {y:+d}·({write_products(w, x)} + {bracket(b)}) = {margin}",
        table=(("", "moved", "result"), w_cells, b_cells) if margin <= 0 else (),
        values={"margin": margin, "b": new_b if margin <= 0 else b},
    )
