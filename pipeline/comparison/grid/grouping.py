"""Grouping of items by a key, in the order in which they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key")
Value = TypeVar("Value")


def group_by(
    items: Iterable[Item], key_of: Callable[[Item], Key], value_of: Callable[[Item], Value]
) -> dict[Key, list[Value]]:
    """Return the values of the items of each key.

    Examples
    --------
    >>> group_by(["knn", "svm", "tree"], len, str.upper)
    {3: ['KNN', 'SVM'], 4: ['TREE']}
    """
    groups: dict[Key, list[Value]] = {}
    for item in items:
        groups.setdefault(key_of(item), []).append(value_of(item))
    return groups
