"""The roles of columns: the target, and the columns that say something about rows instead of being features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.pipeline.errors import UserError, did_you_mean

TASKS = ("classification", "regression")
LAST = "last"
"""The word for the last column of a source, as a target."""
ROLE_KEYS = ("target", "groups", "weights", "split", "folds", "time")
"""The keys that give a column a role other than feature."""


@dataclass(frozen=True)
class Roles:
    """Which columns are not features, and what they say.

    Parameters
    ----------
    target : str
        The column to predict; ``last`` is the last one, unless a column has that name.
    task : {"classification", "regression"}, optional
        By default, text, Booleans and integers with at most 20 distinct values are classes.
    positive : str, optional
        The positive one of two classes; by default the last in sorted order.
    groups : str, optional
        The column that says which rows belong together.
    weights : str, optional
        The column with the weight of each row, from 0.
    split : str, optional
        The column that says which part a row belongs to: train, validation or test.
    folds : str, optional
        The column that says in which fold a row is tested.
    time : str, optional
        The column that rows are ordered by.
    drop_missing_target : bool
        Whether to leave out rows without a target instead of rejecting them.
    """

    target: str
    task: str | None = None
    positive: str | None = None
    groups: str | None = None
    weights: str | None = None
    split: str | None = None
    folds: str | None = None
    time: str | None = None
    drop_missing_target: bool = False

    def __post_init__(self) -> None:
        if self.task not in TASKS and self.task is not None:
            raise UserError(f"dataset.task={self.task!r} is not a task. {did_you_mean(str(self.task), TASKS)}")

    @property
    def named(self) -> dict[str, str]:
        """The columns with a role other than feature, by key."""
        values = {key: getattr(self, key) for key in ROLE_KEYS}
        return {key: str(name) for key, name in values.items() if name is not None}


def find_target(columns: Sequence[str], target: str) -> str:
    """Return the name of the target's column; raises UserError if there is none."""
    name = columns[-1] if target == LAST and LAST not in columns else target
    require_column(columns, "target", name)
    return name


def require_column(columns: Sequence[str], key: str, name: str) -> None:
    """Reject the name of a column that the source does not have."""
    if name not in columns:
        raise UserError(f"dataset.{key}={name!r} is not a column of the data. {did_you_mean(str(name), columns)}")


def require_one_role(roles: Roles, target: str, drop: Sequence[str]) -> None:
    """Reject a column that has two roles, or has a role and is dropped."""
    named = roles.named | {"target": target}
    names = [*named.values(), *drop]
    if len(set(names)) < len(names):
        given = ", ".join(f"dataset.{key}={name!r}" for key, name in named.items())
        raise UserError(
            f"{given} and dataset.drop={list(drop)} name a column twice; each column may have one role only."
        )
