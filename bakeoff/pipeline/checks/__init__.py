"""Checks before the first fit, in a table that determines their order; error messages name the cure.

Each check is a function that raises a `UserError` or returns, and its first line states the requirement. The checks in
`EXPERIMENT_CHECKS` need no splits. The model of a job may have to be fitted on a few rows, and is checked in `storage`;
the figures are checked last.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bakeoff.pipeline.checks import cells, decisions, learner
from bakeoff.pipeline.config.build import build_object
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.tracking import Figure

EXPERIMENT_CHECKS: tuple[Callable[[Experiment], None], ...] = (
    learner.check_seed,
    learner.check_target,
    learner.check_learner,
    learner.check_pruning,
    learner.check_tuning,
    learner.check_validation_rows,
    decisions.check_balance,
    decisions.check_target_transformation,
    decisions.check_calibration,
    decisions.check_threshold,
    decisions.check_decision_rows,
)
SPLIT_CHECKS: tuple[Callable[[Experiment, Splits], None], ...] = (
    learner.check_inner_folds,
    learner.check_row_bounds,
    decisions.check_decision_splits,
    cells.check_cells,
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


@dataclass(frozen=True)
class FigureChoice:
    """The figures of a run.

    Attributes
    ----------
    figures : tuple of Figure
        Figures that have been checked and can be drawn.
    left_out : mapping of str to str
        The name of each ``if_applicable`` figure that cannot be drawn, and the reason; figures of the other task are
        omitted.
    """

    figures: tuple[Figure, ...]
    left_out: Mapping[str, str]


def choose_figures(
    nodes: Sequence[Mapping[str, Any]], experiment: Experiment, splits: Splits, trust: Sequence[str]
) -> FigureChoice:
    """Build the figures described by configuration nodes, leaving out optional ones that do not apply.

    Parameters
    ----------
    nodes : sequence of mapping
        The nodes returned by `settle_figures`.
    experiment : Experiment
    splits : Splits
    trust : sequence of str
        Additional packages whose classes are allowed.

    Raises
    ------
    UserError
        A figure cannot be drawn for this experiment, or two would write the same file.
    """
    if not nodes:
        return FigureChoice((), {})
    built = [build_object(node, f"figures[{position}]", trust) for position, node in enumerate(nodes)]
    explicit_files = {figure.file for figure in built if not _may_be_left_out(figure)}
    figures: list[Figure] = []
    left_out: dict[str, str] = {}
    for figure in built:
        if not _may_be_left_out(figure):
            figure.check(experiment, splits)
            figures.append(figure)
            continue
        # A figure with arguments replaces the one that `all` would draw into the same file.
        if figure.file in explicit_files or figure.task not in (None, experiment.dataset.task):
            continue
        try:
            figure.check(experiment, splits)
        except UserError as error:
            # The remedy after the semicolon only concerns explicitly requested figures.
            left_out[Path(figure.file).stem] = str(error).removeprefix("figures: ").split(";")[0]
        else:
            figures.append(figure)
    _require_files(figures)
    return FigureChoice(tuple(figures), left_out)


def _may_be_left_out(figure: Any) -> bool:
    # A user-defined class need not have the attribute.
    return bool(getattr(figure, "if_applicable", False))


def _require_files(figures: Sequence[Figure]) -> None:
    """Reject figures that would be written outside their folder, or two with the same file."""
    writers: dict[str, str] = {}
    for figure in figures:
        name = type(figure).__name__
        if Path(figure.file).name != figure.file:
            raise UserError(f"figures: file={figure.file!r} of {name} must be a plain name, such as roc.png.")
        if figure.file in writers:
            raise UserError(
                f"figures: {writers[figure.file]} and {name} both write {figure.file}; set a different file for "
                "one of them."
            )
        writers[figure.file] = name
