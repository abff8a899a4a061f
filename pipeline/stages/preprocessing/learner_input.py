"""What columns a learner takes, by its tags and by what it declares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from sklearn.utils import get_tags

HISTOGRAM_MODULE = "sklearn.ensemble._hist_gradient_boosting"
"""Its estimators give each value a bin of its own, and do not declare the limit."""
SCALE_FREE_MODULES = ("sklearn.dummy", "sklearn.ensemble", "sklearn.naive_bayes", "sklearn.tree")
"""The modules of scikit-learn whose estimators do not depend on units, unless they contain one that does."""


@dataclass(frozen=True)
class LearnerInput:
    """What columns a learner takes.

    Attributes
    ----------
    takes_nominal : bool
        Categorical columns of a table, without encoding.
    takes_missing : bool
        Missing cells.
    is_scale_sensitive : bool
        The units of the numeric columns affect its result.
    needs_counts : bool
        Negative numbers are not accepted.
    needs_codes : bool
        Every column must hold the codes 0, 1, 2, … of its values.
    takes_kernel : bool
        The table holds similarities of rows, which must not be changed.
    max_values : int or None
        The largest number of values of a nominal column; None without a limit.
    """

    takes_nominal: bool
    takes_missing: bool
    is_scale_sensitive: bool
    needs_counts: bool = False
    needs_codes: bool = False
    takes_kernel: bool = False
    max_values: int | None = None

    @classmethod
    def find(cls, learner: Any) -> Self:
        """Return what an estimator takes.

        Parameters
        ----------
        learner : estimator
            An estimator of bakeoff or of another library.
        """
        tags = get_tags(learner).input_tags
        takes_nominal = reads_nominal_columns(learner)
        return cls(
            takes_nominal=takes_nominal,
            takes_missing=tags.allow_nan,
            is_scale_sensitive=is_scale_sensitive(learner),
            needs_counts=tags.positive_only,
            needs_codes=tags.categorical and not takes_nominal,
            takes_kernel=tags.pairwise,
            max_values=get_max_nominal_values(learner) if takes_nominal else None,
        )

    @classmethod
    def join(cls, inputs: Sequence[LearnerInput]) -> Self:
        """Return what all of several learners take."""
        limits = [each.max_values for each in inputs if each.max_values is not None]
        return cls(
            takes_nominal=all(each.takes_nominal for each in inputs),
            takes_missing=all(each.takes_missing for each in inputs),
            is_scale_sensitive=any(each.is_scale_sensitive for each in inputs),
            needs_counts=any(each.needs_counts for each in inputs),
            needs_codes=any(each.needs_codes for each in inputs),
            takes_kernel=any(each.takes_kernel for each in inputs),
            max_values=min(limits, default=None),
        )


def reads_nominal_columns(learner: Any) -> bool:
    """Return whether a learner reads categorical columns of a table by itself."""
    return learner.get_params().get("categorical_features") is not None


def get_max_nominal_values(estimator: Any) -> int | None:
    """Return the largest number of values of a nominal column that an estimator accepts; None without a limit.

    Parameters
    ----------
    estimator : estimator
        An estimator of bakeoff or of another library.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> get_max_nominal_values(HistGradientBoostingClassifier())
    255
    """
    if not type(estimator).__module__.startswith(HISTOGRAM_MODULE):
        return None
    return int(estimator.get_params(deep=False)["max_bins"])


def is_scale_sensitive(estimator: Any) -> bool:
    """Return whether the columns should be scaled for an estimator; one that is not known should have scaled columns.

    A learner declares it in ``scale_sensitive``. Those that add up distances or penalties depend on units; trees only
    compare cells of one column.

    Parameters
    ----------
    estimator : estimator
        An estimator of bakeoff or of another library.

    Examples
    --------
    >>> from sklearn.ensemble import BaggingClassifier
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> is_scale_sensitive(BaggingClassifier()), is_scale_sensitive(BaggingClassifier(KNeighborsClassifier()))
    (False, True)
    """
    declared: bool | None = getattr(estimator, "scale_sensitive", None)
    if declared is not None:
        return declared
    module = type(estimator).__module__
    if not any(module == home or module.startswith(f"{home}.") for home in SCALE_FREE_MODULES):
        return True
    parameters = estimator.get_params(deep=True).values()
    return any(is_scale_sensitive(part) for part in parameters if hasattr(part, "get_params"))
