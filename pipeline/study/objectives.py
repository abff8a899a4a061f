"""What a study makes as good as possible: metrics of a run, never of its test rows.

A score that chose something is no estimate any more.  So a study chooses by scores on validation rows, and the test
scores of its runs are recorded beside them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.scoring import DEFAULTS, get_task_metrics

Direction = Literal["minimize", "maximize"]
SCORES = ("validation_", "train_")
COSTS = (
    "time/fit", "time/tune", "time/prune", "time/predict",
    "pruning/leaves_before", "pruning/leaves_after", "pruning/depth_before", "pruning/depth_after",
)  # fmt: skip


@dataclass(frozen=True)
class Objective:
    """A metric of a run and ``minimize`` or ``maximize``."""

    name: str
    direction: Direction

    @property
    def test_name(self) -> str:
        """The same score on test rows; of a time, the time itself."""
        part = next((part for part in SCORES if self.name.startswith(part)), "")
        return f"test_{self.name.removeprefix(part)}" if part else self.name


def choose_objectives(
    names: Sequence[str] | str | None, directions: Sequence[str] | str | None, task: str, chosen: Sequence[str] | None
) -> tuple[Objective, ...]:
    """Return what is to be optimised.

    Parameters
    ----------
    names : sequence of str, str or None
        None is the headline metric on validation rows.
    directions : sequence of str, str or None
        None takes the metric's own: an accuracy up, an error or a time down.
    task : {"classification", "regression"}
    chosen : sequence of str or None
        As ``evaluation.metrics``.

    Raises
    ------
    UserError
        A name that is no metric of the run, a test score, or directions that do not fit.
    """
    computed = DEFAULTS[task] if chosen is None else tuple(chosen)
    given = [f"validation_{computed[0]}"] if names is None else [names] if isinstance(names, str) else list(names)
    if not given:
        raise UserError("hydra.sweeper.objectives is empty; name a metric, such as [validation_accuracy].")
    natural: list[str] = [_natural_direction(str(name), task, computed) for name in given]
    asked = natural if directions is None else [directions] if isinstance(directions, str) else list(directions)
    for direction in asked:
        if direction not in get_args(Direction):
            raise UserError(f"hydra.sweeper.direction={direction!r} must be minimize or maximize.")
    if len(asked) != len(given):
        raise UserError(
            f"hydra.sweeper.direction has {len(asked)} values, and there are {len(given)} objectives "
            f"({', '.join(given)}); give one for each, or null."
        )
    return tuple(
        Objective(str(name), "maximize" if direction == "maximize" else "minimize")
        for name, direction in zip(given, asked, strict=True)
    )


def _natural_direction(name: str, task: str, computed: Sequence[str]) -> Direction:
    if name in COSTS:
        return "minimize"
    part = next((part for part in SCORES if name.startswith(part)), None)
    metric = name.removeprefix(part or "")
    if part is None and "test_" in name:
        score = name.rpartition("test_")[2]
        raise UserError(
            f"hydra.sweeper.objectives names {name!r}: choosing by test rows would make their score no estimate; "
            f"name validation_{score}, the test score is recorded beside it."
        )
    if part is None or metric not in computed:
        allowed = [*(f"{part}{metric}" for part in SCORES for metric in computed), *COSTS]
        cure = (
            f" Add {metric} to evaluation.metrics." if metric in get_task_metrics(task) else did_you_mean(name, allowed)
        )
        raise UserError(f"hydra.sweeper.objectives names {name!r}, no metric of the run. {cure.strip()}")
    return "maximize" if get_task_metrics(task)[metric].greater_is_better else "minimize"


def require_validation_rows(objectives: Sequence[Objective], spec: Mapping[str, Any]) -> None:
    """Refuse to choose by validation scores where there are no validation rows, or where they choose something already.

    Parameters
    ----------
    objectives : sequence of Objective
    spec : mapping
        A settled configuration.
    """
    name = next((o.name for o in objectives if o.name.startswith("validation_")), None)
    if name is None:
        return
    pruning, tuning = spec["pruning"].get("method"), spec["tuning"]
    if not spec["evaluation"]["validation"]:
        raise UserError(
            f"the study chooses by {name}, but evaluation.validation=0 leaves no rows for it; "
            "set evaluation.validation=0.2."
        )
    if pruning in ("bottom_up", "best_first"):
        raise UserError(
            f"the study and pruning={pruning} would choose on the same validation rows; "
            "set pruning=none, or pruning=pessimistic, which needs no rows."
        )
    if "space" in tuning and tuning["folds"] == 0:
        raise UserError(
            "the study and tuning with tuning.folds=0 would choose on the same validation rows; "
            "set tuning=none, or tuning.folds to 2 or more."
        )
