"""The objectives of a study: metrics of a run, but never its scores on test rows.

A score by which something was chosen is no longer an unbiased estimate. A study therefore chooses by scores on
validation rows, and the test scores of its runs are recorded next to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.scoring import (
    COST,
    DEFAULTS,
    TRAIN_METRICS_KEY,
    choose_train_metrics,
    get_task_metrics,
    is_greater_better,
    list_scorer_names,
    name_entry,
)

Direction = Literal["minimize", "maximize"]
SCORE_PREFIXES = ("validation_", "train_")
COST_METRICS = (
    "time/fit", "time/tune", "time/prune", "time/predict",
    "pruning/leaves_before", "pruning/leaves_after", "pruning/depth_before", "pruning/depth_after",
)  # fmt: skip


@dataclass(frozen=True)
class Objective:
    """A metric of a run, and whether it is minimized or maximized."""

    name: str
    direction: Direction

    @property
    def test_name(self) -> str:
        """The same score on test rows; for a cost, its name unchanged."""
        prefix = _score_prefix(self.name)
        if prefix is None:
            return self.name
        return f"test_{self.name.removeprefix(prefix)}"


def choose_objectives(
    names: Sequence[str] | str | None,
    directions: Sequence[str] | str | None,
    task: str,
    metrics: Sequence[Any] | None,
    costs: Any = None,
) -> tuple[Objective, ...]:
    """Return the objectives that ``hydra.sweeper`` names.

    Parameters
    ----------
    names : sequence of str, str or None
        None is the headline metric on validation rows.
    directions : sequence of str, str or None
        None is the natural direction of each metric: accuracies are maximized, errors and times minimized.
    task : {"classification", "regression"}
    metrics : sequence or None
        ``evaluation.metrics``.
    costs : mapping, optional
        ``evaluation.costs``, which add the metric ``cost``.

    Raises
    ------
    UserError
        A name is not a metric of the run, or a test score; a direction is invalid, or there are not as many as names.
    """
    entries = DEFAULTS[task] if metrics is None else tuple(metrics)
    if costs is not None:
        entries = (*entries, COST)
    computed = [name_entry(entry) for entry in entries]
    if names is None:
        names = f"validation_{computed[0]}"
    given = _as_list(names)
    if not given:
        raise UserError("hydra.sweeper.objectives is empty; name a metric, such as [validation_accuracy].")
    chosen = [_natural_direction(name, task, entries) for name in given]
    if directions is not None:
        chosen = [_check_direction(direction) for direction in _as_list(directions)]
    if len(chosen) != len(given):
        raise UserError(
            f"hydra.sweeper.direction has {len(chosen)} values, but there are {len(given)} objectives "
            f"({', '.join(given)}); give one for each, or null."
        )
    return tuple(Objective(name, direction) for name, direction in zip(given, chosen, strict=True))


def _as_list(values: Sequence[str] | str) -> list[str]:
    if isinstance(values, str):
        return [values]
    return [str(value) for value in values]


def _check_direction(direction: str) -> Direction:
    for allowed in get_args(Direction):
        if direction == allowed:
            known: Direction = allowed
            return known
    raise UserError(f"hydra.sweeper.direction={direction!r} must be minimize or maximize.")


def _natural_direction(name: str, task: str, entries: Sequence[Any]) -> Direction:
    """Return the direction in which a metric gets better."""
    if name in COST_METRICS:
        return "minimize"
    computed = [name_entry(entry) for entry in entries]
    if name.startswith(SCORE_PREFIXES):
        prefix = _score_prefix(name) or ""
        metric = name.removeprefix(prefix)
        if metric in computed:
            return "maximize" if is_greater_better(metric, entries) else "minimize"
    elif "test_" in name:
        score = name.rpartition("test_")[2]
        raise UserError(
            f"hydra.sweeper.objectives names {name!r}, but a test score by which something was chosen is no longer an "
            f"unbiased estimate; name validation_{score}, and the test score is recorded next to it."
        )
    cure = _suggest_cure(name, task, computed)
    raise UserError(f"hydra.sweeper.objectives names {name!r}, which is not a metric of the run. {cure}")


def _suggest_cure(name: str, task: str, computed: Sequence[str]) -> str:
    metric = name.removeprefix(_score_prefix(name) or "")
    if metric in (*get_task_metrics(task), *list_scorer_names(task)):
        return f"Add {metric} to evaluation.metrics."
    allowed = [*(prefix + metric for prefix in SCORE_PREFIXES for metric in computed), *COST_METRICS]
    return did_you_mean(name, allowed).strip()


def _score_prefix(name: str) -> str | None:
    return next((prefix for prefix in SCORE_PREFIXES if name.startswith(prefix)), None)


def require_train_scores(objectives: Sequence[Objective], evaluation: Mapping[str, Any]) -> None:
    """Check that scores on training rows that are objectives are computed.

    Parameters
    ----------
    objectives : sequence of Objective
    evaluation : mapping
        Of a settled configuration.

    Raises
    ------
    UserError
        Training rows are scored by the headline alone.
    """
    if choose_train_metrics(evaluation.get(TRAIN_METRICS_KEY)) == "all":
        return
    entries = evaluation.get("metrics")
    for objective in objectives:
        metric = objective.name.removeprefix("train_")
        is_headline = entries is None and metric in {names[0] for names in DEFAULTS.values()}
        is_headline |= bool(entries) and metric == name_entry((entries or [""])[0])
        if metric != objective.name and not is_headline:
            raise UserError(
                f"hydra.sweeper.objectives names {objective.name!r}, but training rows are scored by the first metric "
                f"alone; add evaluation.{TRAIN_METRICS_KEY}=all."
            )


def require_validation_rows(objectives: Sequence[Objective], spec: Mapping[str, Any]) -> None:
    """Check that validation scores can be objectives: validation rows exist and are used for no other choice.

    Parameters
    ----------
    objectives : sequence of Objective
    spec : mapping
        A settled configuration.

    Raises
    ------
    UserError
        An objective is a validation score, and there are no validation rows, or pruning or tuning uses them.
    """
    names = [objective.name for objective in objectives if objective.name.startswith("validation_")]
    if not names:
        return
    if not spec["evaluation"]["validation"]:
        raise UserError(
            f"the study chooses by {names[0]}, but evaluation.validation=0 leaves no rows for it; "
            "set evaluation.validation=0.2."
        )
    pruning = spec["pruning"].get("method")
    if pruning in ("bottom_up", "best_first"):
        raise UserError(
            f"the study and pruning={pruning} would choose on the same validation rows; "
            "set pruning=none, or pruning=pessimistic, which needs no rows."
        )
    tuning = spec["tuning"]
    if "space" in tuning and tuning["folds"] == 0:
        raise UserError(
            "the study and tuning with tuning.folds=0 would choose on the same validation rows; "
            "set tuning=none, or tuning.folds to 2 or more."
        )
    for part in ("calibration", "threshold"):
        if spec[part].get("folds") == 0:
            raise UserError(
                f"the study and {part} with {part}.folds=0 would use the same validation rows; "
                f"set {part}.folds=5, which uses inner folds of the training rows."
            )
