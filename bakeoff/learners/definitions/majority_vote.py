"""Majority vote and average: how the targets of several rows become one prediction.

    prediction = Average{y_i}         for regression
    prediction = MajorityVote{y_i}    for classification (ties: the smallest class)

A leaf of a decision tree, the k nearest neighbours and the trees of a random forest all predict in this way. Rows may
have weights w_i, which multiply their votes or their terms in the average.

Cost: O(n c) for n targets of c classes.

Reference: A. Lindholm, N. Wahlström, F. Lindsten, T. B. Schön, "Machine Learning: A First Course for Engineers and
Scientists", 2022, chapter 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.learners.definitions.steps import Problem, Step, bracket, tabulate, write_products, write_sum

VOTE_ROUNDING = 1e-12


def average(y: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Return the mean of targets (n,), weighted if there are weights (n,)."""
    return float(np.average(y, weights=weight))


def majority_vote(y: np.ndarray, weight: np.ndarray | None = None, classes: Any = None) -> Any:
    """Return the class of labels (n,) with the most votes, or with the largest sum of weights (n,).

    Of classes with equal votes, it is the smallest, or the one that comes first if all classes are given in an order.

    >>> int(majority_vote(np.array([2, 1, 1, 2])))
    1
    """
    weight = np.ones(len(y)) if weight is None else weight
    classes = np.unique(y) if classes is None else classes  # sorted, so that ties go to the smallest class
    votes = np.array([weight[y == label].sum() for label in classes])
    # Sums are rounded, so compare with a tolerance: votes of .1 and .2 equal one of .3.
    return classes[np.argmax(votes >= votes.max() * (1 - VOTE_ROUNDING))]


def work_prediction(problem: Problem, y: np.ndarray, weight: np.ndarray | None = None, order: Any = None) -> Step:
    """Return the step of the vote of targets (n,), or of their mean if they are numbers."""
    if problem.classes is None:
        return work_average(y, weight, problem.target)
    return work_vote(y, weight, problem.classes if order is None else order, problem.target)


def work_vote(labels: Any, weights: Any = None, classes: Any = None, target: str = "class") -> Step:
    """Return the step of `majority_vote`."""
    y = np.array(labels)
    weight = np.ones(len(y)) if weights is None else np.array(weights)
    classes = list(np.unique(y) if classes is None else classes)
    own = [weight[y == label] for label in classes]
    terms = [f"{len(each)}·1" if weights is None else write_sum(map(str, each)) or "0" for each in own]
    votes = np.array([each.sum() for each in own])
    answer = majority_vote(y, weight, classes)
    return Step(
        "Add up the votes for each class, and predict the class with the most; of equal ones, the first.",
        chosen=f"{target} = {answer}",
        **tabulate(target, "votes", terms, votes, classes),
        answer=answer,
        response=tuple(votes[np.argsort(classes)] / votes.sum()),
    )


def work_average(y: np.ndarray, weight: np.ndarray | None = None, target: str = "y") -> Step:
    """Return the step of `average`."""
    answer = average(y, weight)
    if weight is None:
        terms = f"Σ y / n = ({write_sum(map(bracket, y))})/{len(y)}"
    else:
        terms = f"Σ w·y / Σ w = ({write_products(weight, y)})/{sum(weight)}"
    return write_prediction("Predict the mean of the targets.", f"ŷ = {terms} = {answer}", answer, target)


def write_prediction(sentence: str, formula: str, answer: float, target: str) -> Step:
    """Return the step that predicts a number."""
    chosen = f"{target} = {answer}"
    return Step(sentence, formula, chosen, values={"ŷ": answer}, answer=answer, response=(answer,))
