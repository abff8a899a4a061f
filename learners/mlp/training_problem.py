"""The rows to learn from, and those of them that are held back for validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

MIN_ROWS_OF_R2 = 2


@final
@dataclass(frozen=True)
class TrainingProblem:
    """The rows to learn from, and the kind of output.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    target : ndarray of shape (n,)
        Values or class codes.
    strata : ndarray of shape (n,)
        Validation rows are drawn from each stratum in proportion to its size.
    n_outputs : int
    output : {"identity", "logistic", "softmax"}
        Function of the outputs.
    weight : ndarray of shape (n,) or None
        Weights of the rows, positive; None if all are 1.
    """

    X: np.ndarray
    target: np.ndarray
    strata: np.ndarray
    n_outputs: int
    output: str
    weight: np.ndarray | None = None

    def take_rows(self, rows: np.ndarray) -> TrainingProblem:
        """Return the problem with the given rows only."""
        weight = None if self.weight is None else self.weight[rows]
        return TrainingProblem(self.X[rows], self.target[rows], self.strata[rows], self.n_outputs, self.output, weight)


def drop_unit_weights(weight: np.ndarray) -> np.ndarray | None:
    """Return the weights (n,), or None if all are 1, which needs no multiplications."""
    return None if (weight == 1.0).all() else weight


def count_validation_rows(problem: TrainingProblem, fraction: float, solver: str) -> int:
    """Return the number of validation rows of a problem.

    Raises
    ------
    ValueError
        The solver has no epochs, no row is left to train on, or the score of the rows is not defined.
    """
    if solver == "lbfgs":
        raise ValueError("early_stopping needs epochs, which solver='lbfgs' has not; choose 'adam' or 'sgd'.")
    n = problem.X.shape[0]
    count = max(1, round(n * fraction))
    if count >= n:
        raise ValueError(f"early_stopping with validation_fraction={fraction} leaves no row of {n} to train on.")
    if problem.output == "identity" and count < MIN_ROWS_OF_R2:
        raise ValueError(
            f"The validation set is too small. Increase 'validation_fraction' or the size of your dataset: "
            f"validation_fraction={fraction} of {n} rows is one row, for which R² is not defined."
        )
    return count


def split_validation_rows(
    strata: np.ndarray, count: int, random: np.random.RandomState
) -> tuple[np.ndarray, np.ndarray]:
    """Draw ``count`` validation rows, stratified; return the training and the validation rows, sorted.

    Parameters
    ----------
    strata : ndarray of shape (n,)
    count : int
    random : RandomState
    """
    n = strata.shape[0]
    shuffled = random.permutation(n)
    by_stratum = shuffled[np.argsort(strata[shuffled], kind="stable")]
    # Evenly spaced positions among rows sorted by stratum select rows from each stratum in proportion to its size.
    positions = ((np.arange(count) + 0.5) * n / count).astype(np.intp)
    validation_rows = np.sort(by_stratum[positions])
    training_rows = np.setdiff1d(np.arange(n), validation_rows)
    return training_rows, validation_rows
