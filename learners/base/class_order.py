"""Equal votes: the class that is predicted where several have the largest score."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

VOTE_ROUNDING = 1e-12
"""The relative error that a sum of votes, or a product of probabilities, may have."""


def rank_classes(class_order: Iterable[Any] | None, classes: np.ndarray) -> np.ndarray | None:
    """Return the codes of the classes in the order that decides equal votes, None for that of the codes.

    Parameters
    ----------
    class_order : iterable of labels, optional
        It may hold further labels.
    classes : ndarray of shape (c,)
        The labels by code.

    Returns
    -------
    ndarray of shape (c,), int, or None

    Raises
    ------
    ValueError
        A class that is not in the order, or a label that is there twice.
    """
    if class_order is None:
        return None
    order = list(class_order)
    position = {label: place for place, label in enumerate(order)}
    if len(position) < len(order):
        raise ValueError(f"class_order names a class twice: {order}.")
    labels = classes.tolist()
    missing = [label for label in labels if label not in position]
    if missing:
        raise ValueError(
            f"class_order={order} does not hold the class {missing[0]!r}; name all classes, {labels}, or give "
            "class_order=None for their sorted order."
        )
    return np.argsort([position[label] for label in labels])


def choose_classes(scores: np.ndarray, ranking: np.ndarray | None) -> np.ndarray:
    """Return the code of the largest score of each row (m, c), of equal ones the first of the ranking: shape (m,).

    Scores are equal if they differ by at most `VOTE_ROUNDING` of the largest: votes of .1 and .2 equal one of .3.
    """
    largest = scores.max(axis=1, keepdims=True)  # (m, 1)
    is_largest = scores >= largest - VOTE_ROUNDING * np.abs(largest)
    if ranking is None:
        return np.argmax(is_largest, axis=1)
    place = np.argmax(is_largest[:, ranking], axis=1)
    return ranking[place]
