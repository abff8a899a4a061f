"""The fit of a model that goes into use: the whole procedure of a run, on all rows.

Only what has to be learnt on rows that the learner was not fitted on keeps a validation part: pruning, calibration and
thresholds, if the run learns them there. Any other validation part is given up.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

from bakeoff.pipeline.checks import check_splits
from bakeoff.pipeline.experiment import Experiment, FittedModel, fit_model, make_pipeline
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.experiment.fitting import make_tuning_data
from bakeoff.pipeline.experiment.stage_log import unique_messages
from bakeoff.pipeline.stages.splitting import Split, Splits
from bakeoff.pipeline.stages.tuning import NoTuning


def fit_on_all_rows(experiment: Experiment) -> FittedModel:
    """Tune, fit, prune, calibrate and set the threshold as a run does, with all rows and without a test part.

    Tuning on a validation part chooses the parameters there, and the chosen candidate is then fitted on all rows, those
    of that part included, as scikit-learn's ``GridSearchCV`` does with ``refit=True``. Tuning on inner folds has no
    such part.

    Parameters
    ----------
    experiment : Experiment
        Of a run, which has passed the checks.

    Returns
    -------
    FittedModel
        Its split has the rows of the fit, and those of the validation part that was kept.

    Raises
    ------
    UserError
        There are too few rows for the inner folds, or for a validation part.
    """
    split = make_final_split(experiment)
    if not experiment.tuning.needs_rows:
        check_splits(experiment, Splits((split,), refit=None))
        return fit_model(experiment, split)
    tuning_split = _make_split(experiment, with_validation=True)
    check_splits(experiment, Splits((tuning_split,), refit=None))
    return _tune_and_fit(experiment, tuning_split, split)


def make_final_split(experiment: Experiment) -> Split:
    """Return the rows that the learner is fitted on, and the validation part of what is learnt on other rows."""
    needs_other_rows = experiment.pruning.needs_rows or experiment.decision_folds == 0
    return _make_split(experiment, with_validation=needs_other_rows)


def count_tuning_rows(experiment: Experiment) -> int:
    """Return the number of rows that candidates are scored on before the chosen one is fitted on them as well."""
    if not experiment.tuning.needs_rows:
        return 0
    return len(_make_split(experiment, with_validation=True).validation)


def _make_split(experiment: Experiment, *, with_validation: bool) -> Split:
    # The seed of the run's own splits, so that the model of a cross-validation is fitted on the same rows again.
    seed = derive_seed(experiment.seed, "split")
    return experiment.splitter.make_full_split(experiment.split_input, seed, with_validation=with_validation)


def _tune_and_fit(experiment: Experiment, tuning_split: Split, split: Split) -> FittedModel:
    """Choose the candidate on one split, and fit it on another, whose training part holds all those rows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = make_tuning_data(experiment, tuning_split)
        chosen, candidates = experiment.tuning.tune(make_pipeline(experiment), data)
    settled = replace(experiment, learner=chosen[-1], tuning=NoTuning())
    model = fit_model(settled, split)
    n_candidate_fits = experiment.tuning.count_fits() - 1
    return replace(
        model,
        candidates=candidates,
        n_fits=model.n_fits + n_candidate_fits,
        warnings=unique_messages(caught, model.warnings),
    )
