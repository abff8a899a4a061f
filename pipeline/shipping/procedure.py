"""What was chosen while a model was fitted on all rows, and what the score of its run says of it, in sentences."""

from __future__ import annotations

from bakeoff.pipeline.card.report import TUNED_PREFIX, describe_run_lines, format_mean, get_tuned_params
from bakeoff.pipeline.experiment import Experiment, FittedModel
from bakeoff.pipeline.replay.refit import LoadedRun
from bakeoff.pipeline.shipping.full_fit import count_tuning_rows
from bakeoff.pipeline.stages.calibration import Calibration
from bakeoff.pipeline.tracking.find_run import find_headline


def describe_procedure(experiment: Experiment, model: FittedModel) -> list[str]:
    """Return what tuning, pruning, calibration and a threshold chose, a sentence each, and on which rows.

    Parameters
    ----------
    experiment : Experiment
    model : FittedModel
        Of `fit_on_all_rows`.
    """
    sentences = []
    params = get_tuned_params(model)
    if params:
        chosen = ", ".join(f"{name.removeprefix(TUNED_PREFIX)}={value}" for name, value in params.items())
        sentences.append(f"tuned {_name_tuning_rows(experiment)}: {chosen}")
    if model.path is not None:
        sentences.append(f"pruned: leaves {model.path.leaves[0]} → {model.path.leaves[-1]}")
    calibration = experiment.calibration
    if isinstance(calibration, Calibration):
        rows = (
            f"{calibration.folds} inner folds" if calibration.folds else f"{len(model.split.validation):,} other rows"
        )
        sentences.append(f"calibrated by {calibration.method} on {rows}")
    return [*sentences, *describe_run_lines(experiment, [], model)]


def describe_score(run: LoadedRun) -> list[str]:
    """Return the headline score of a run, and on how many rows the models were fitted that have it."""
    headline = find_headline(run.stored.params, run.stored.metrics)
    if headline is None:
        return []
    score = format_mean(dict(run.stored.metrics), headline)
    n_folds = len(run.splits.folds)
    n_train = f"{run.splits.mean_rows['train']:,.0f} rows"
    models = (
        f"model was fitted on {n_train}" if n_folds == 1 else f"{n_folds} models were fitted on {n_train} on average"
    )
    return [f"{headline} {score} is that of its run, whose {models}"]


def _name_tuning_rows(experiment: Experiment) -> str:
    """Return on which rows the candidates were scored."""
    n_rows = count_tuning_rows(experiment)
    if n_rows:
        return f"on {n_rows:,} of the rows before the fit on all of them"
    return f"on {experiment.tuning.folds} inner folds"
