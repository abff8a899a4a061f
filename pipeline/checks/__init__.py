"""What is refused before the first fit, with the cure: one table of checks, which run in order.

Each check is a function that raises a `UserError` or returns, and its first line says what it requires. Those of
`EXPERIMENT_CHECKS` need no splits. The model and the figures of a job are checked last, in `storage` and `figures`,
because a model may have to be fitted on a few rows.
"""

from __future__ import annotations

from collections.abc import Callable

from bakeoff.pipeline.checks import cells, decisions, learner, memory
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.stages.splitting import Splits

EXPERIMENT_CHECKS: tuple[Callable[[Experiment], None], ...] = (
    learner.check_seed,
    learner.check_target,
    learner.check_learner_type,
    learner.check_learner_parameters,
    memory.check_one_hot_memory,
    memory.check_probability_memory,
    learner.check_pruning,
    learner.check_space,
    learner.check_validation_rows,
    decisions.check_weights,
    decisions.check_balance,
    decisions.check_target_transformation,
    decisions.check_calibration,
    decisions.check_threshold,
    decisions.check_decision_rows,
    decisions.check_headline_while_tuning,
)
SPLIT_CHECKS: tuple[Callable[[Experiment, Splits], None], ...] = (
    learner.check_inner_folds,
    learner.check_row_bounds,
    memory.check_memory,
    decisions.check_decision_splits,
    cells.check_cells,
    decisions.check_sampler,
)


def check_experiment(experiment: Experiment) -> None:
    """Reject an experiment that cannot work on any splits.

    Raises
    ------
    UserError
    """
    for check in EXPERIMENT_CHECKS:
        check(experiment)


def check_splits(experiment: Experiment, splits: Splits) -> None:
    """Reject an experiment that cannot work on its splits.

    Raises
    ------
    UserError
    """
    for check in SPLIT_CHECKS:
        check(experiment, splits)
