"""The order of classes that a file declares: it decides equal votes of a learner that knows such an order."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, clone

from bakeoff.pipeline.stages.dataset import Dataset


def order_classes(learner: Any, dataset: Dataset) -> Any:
    """Return the learner with the order in which an ARFF file declares the classes, unless it has another one.

    Parameters
    ----------
    learner : estimator
        Any one; only those with a parameter ``class_order`` are given the order.
    dataset : Dataset
    """
    if dataset.class_order is None or not isinstance(learner, BaseEstimator):
        return learner
    parameters = learner.get_params(deep=False)
    if "class_order" not in parameters or parameters["class_order"] is not None:
        return learner
    # A copy, since jobs on other datasets share the learner.
    return clone(learner).set_params(class_order=list(dataset.class_order))
