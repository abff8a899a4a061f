"""The positions of labels among the classes of a dataset; a label that is no class has none."""

from __future__ import annotations

from typing import Any

import numpy as np

from bakeoff.pipeline.errors import InvalidPredictions

FOREIGN = -1
NUMBERS = "biuf"
MAX_LISTED_CLASSES = 10


def find_codes(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the position of each label (m,) among the sorted classes (c,), shape (m,); -1 for one that is no class.

    Examples
    --------
    >>> find_codes(np.array(["no", "maybe", "yes"]), np.array(["no", "yes"])).tolist()
    [0, -1, 1]
    """
    kinds = {labels.dtype.kind, classes.dtype.kind}
    if kinds != {"U"} and not kinds <= set(NUMBERS):
        return _look_up(labels, classes)
    codes = np.searchsorted(classes, labels)  # (m,)
    codes[codes == len(classes)] = 0
    return np.where(classes[codes] == labels, codes, FOREIGN)


def locate_labels(labels: np.ndarray, classes: np.ndarray, what: str = "a prediction") -> np.ndarray:
    """Return the position of each label (m,) among the sorted classes (c,), shape (m,).

    Parameters
    ----------
    labels : ndarray of shape (m,)
    classes : ndarray of shape (c,)
    what : str
        What the labels are, for the message.

    Raises
    ------
    InvalidPredictions
        A label is no class.
    """
    codes = find_codes(labels, classes)
    is_foreign = codes == FOREIGN  # (m,)
    if is_foreign.any():
        raise InvalidPredictions(f"{what} is {explain_foreign_label(labels[is_foreign][0], classes)}.")
    return codes


def explain_foreign_label(label: Any, classes: np.ndarray) -> str:
    """Return a label with the classes that it is none of.

    Examples
    --------
    >>> explain_foreign_label(np.str_("maybe"), np.array(["no", "yes"]))
    "'maybe', which is none of the classes 'no', 'yes'"
    """
    listed = ", ".join(_quote(each) for each in classes[:MAX_LISTED_CLASSES])
    n_more = len(classes) - MAX_LISTED_CLASSES
    more = f" and {n_more} more" if n_more > 0 else ""
    return f"{_quote(label)}, which is none of the classes {listed}{more}"


def _look_up(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the positions of labels of any types, shape (m,): 1 and '1' differ."""
    code_of_label = {label: code for code, label in enumerate(classes.tolist())}
    codes = [code_of_label.get(label, FOREIGN) if _is_hashable(label) else FOREIGN for label in labels.tolist()]
    return np.array(codes, dtype=np.intp)


def _is_hashable(label: Any) -> bool:
    return getattr(type(label), "__hash__", None) is not None


def _quote(label: Any) -> str:
    """Return a label as Python writes it, without NumPy's types."""
    return repr(label.item() if isinstance(label, np.generic) else label)
