"""Check before the first fit that the model of a run can be stored and loaded.

The file of a model may only contain reviewed types, and the types of a model are known only after a fit. A model with
unknown parts is therefore fitted on a few rows, stored and loaded before the fit on all rows.
"""

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from bakeoff.pipeline.errors import UserError, name_error
from bakeoff.pipeline.experiment import Experiment, fit_model, make_pipeline
from bakeoff.pipeline.experiment.builder import get_row_bounded_parameters
from bakeoff.pipeline.model.estimator_file import UntrustedType, describe_types, is_from, is_known, trusted_types
from bakeoff.pipeline.stages import calibration, threshold
from bakeoff.pipeline.stages.preprocessing import list_kinds
from bakeoff.pipeline.stages.splitting import Split, Splits
from bakeoff.pipeline.stages.tuning import GridTuning, NoTuning
from bakeoff.pipeline.text.secrets import find_references, is_secret_name

MODEL_PARTS = ("preprocessing", "balance", "target", "learner", "calibration")
"""The parts whose objects are stored with a model, including all their parameters."""
N_TRIAL_ROWS = 60
"""The number of rows in the trial fit, divided about equally among the classes."""
MIN_ROWS_OF_CLASS = 5
PREDICTING_METHODS = ("predict", "predict_proba", "decision_function")
WITHOUT_MODEL = "or set tracking.models=false to store no model"


def check_models(spec: Mapping[str, Any], experiment: Experiment, splits: Splits, tried: set[str]) -> None:
    """Reject a model that cannot be stored, before the first fit.

    Parameters
    ----------
    spec : mapping
        The settled configuration.
    experiment : Experiment
    splits : Splits
    tried : set of str
        Descriptions of models that passed; those of this experiment are added.

    Raises
    ------
    UserError
    """
    if not spec["tracking"].get("models"):
        return
    for part in MODEL_PARTS:
        names = [name for name in find_references(json.dumps(spec[part], default=str)) if is_secret_name(name)]
        if names:
            raise UserError(
                f"{part} uses the value of the environment variable {names[0]}, and a stored model contains its "
                f"parameters; add tracking.models=false, or read the variable in the code of the {part}."
            )
    for description in list_unknown_variants(experiment, spec["trust"]):
        if description not in tried:
            check_storable(experiment, splits.folds[0], spec["trust"], description)
            tried.add(description)


def uses_own_code(experiment: Experiment, trust: Sequence[str]) -> bool:
    """Return whether a fitted part, or a parameter of one, is defined in a package that the user trusts."""
    parts = [experiment.preprocessing, experiment.target, *_list_learners(experiment)]
    return any(is_from(part, trust) for part in parts)


def check_storable(experiment: Experiment, split: Split, trust: Sequence[str], description: str) -> None:
    """Reject a model that contains untrusted types, or that predicts differently after it was stored.

    Parameters
    ----------
    experiment : Experiment
    split : Split
        A few of its training rows are used, and a few of its validation rows for pruning.
    trust : sequence of str
        Packages that the user trusts.
    description : str
        A description returned by `describe_stored_types`.

    Raises
    ------
    UserError
    """
    trial = list_unknown_variants(experiment, trust)[description]
    state = np.random.get_state()
    try:
        with warnings.catch_warnings(action="ignore"):  # each fit of the run reports them
            _try_storage(trial, split, trust)
    finally:
        # The trial must not change the random numbers drawn by the run, even if its fits use NumPy's global state.
        np.random.set_state(state)


def list_unknown_variants(experiment: Experiment, trust: Sequence[str]) -> dict[str, Experiment]:
    """Return an experiment without tuning for each unknown kind of model, by its description; often none.

    Tuning may choose any candidate. Models with equal descriptions need only one check.

    Parameters
    ----------
    experiment : Experiment
    trust : sequence of str
        Packages that the user trusts.
    """
    parts = [experiment.preprocessing, experiment.target]
    knows_parts = all(is_known(part) for part in parts)
    variants = {}
    for learner in _list_learners(experiment):
        if knows_parts and is_known(learner):
            continue
        kinds = sorted(set(list_kinds(experiment.dataset.X).values()))
        types = [describe_types(part) for part in (*parts, experiment.pruning, learner)]
        words = [*types, *kinds, *sorted(trust), experiment.dataset.task]
        # Calibration and threshold add known parts, and would need separate rows.
        variants["; ".join(words)] = replace(
            experiment,
            learner=learner,
            tuning=NoTuning(),
            calibration=calibration.NoCalibration(),
            threshold=threshold.NoThreshold(),
        )
    return variants


def _list_learners(experiment: Experiment) -> list[Any]:
    """Return the learner, and a copy with the parameters of each candidate that differs in more than numbers."""
    tuning = experiment.tuning
    points = tuning.candidates if isinstance(tuning, GridTuning) else []
    distinct = {describe_types(point): point for point in points}
    candidates = [clone(experiment.learner).set_params(**point) for point in distinct.values()]
    return [experiment.learner, *candidates]


def _try_storage(trial: Experiment, split: Split, trust: Sequence[str]) -> None:
    """Fit on a few rows, store, load and predict; raise UserError if the model cannot be stored."""
    rows = _choose_rows(trial, split.train)
    few = Split(rows, _choose_rows(trial, split.validation), np.empty(0, dtype=int))
    try:
        model = fit_model(trial, few).predictor
    except Exception:
        # A learner may need more rows than these; its parameters still reveal untrusted types.
        _store(make_pipeline(trial), trust)
        return
    loaded = _store(model, trust)
    X = trial.dataset.X.iloc[rows]
    _require_same_predictions(model, loaded, X)


def _store(model: Any, trust: Sequence[str]) -> Any:
    """Store a model and return the loaded copy."""
    import skops.io

    try:
        dumped = skops.io.dumps(model)
        types = trusted_types(dumped, trust)
    except UntrustedType as error:
        raise UserError(f"the model {error} Alternatively, set tracking.models=false to store no model.") from None
    except Exception as error:
        raise UserError(
            f"the model cannot be stored without code: {name_error(error)}; remove what cannot be stored, "
            f"{WITHOUT_MODEL}."
        ) from error
    try:
        return skops.io.loads(dumped, trusted=types)
    except Exception as error:
        raise UserError(
            f"the model can be stored but not loaded: {name_error(error)}; correct its class, {WITHOUT_MODEL}."
        ) from error


def _require_same_predictions(model: Any, loaded: Any, X: pd.DataFrame) -> None:
    """Reject a model whose predictions for X (m, d) change after loading, unless they are never reproducible."""
    for method in PREDICTING_METHODS:
        if not hasattr(model, method):
            continue
        expected = getattr(model, method)(X)
        if not _are_equal(expected, getattr(model, method)(X)):
            continue
        try:
            is_same = _are_equal(expected, getattr(loaded, method)(X))
            reason = f"{method} returns different values"
        except Exception as error:
            is_same = False
            reason = f"{method} fails with {name_error(error)}"
        if not is_same:
            raise UserError(
                f"the model loses part of its fitted state when it is stored and loaded: {reason}; correct the "
                f"serialization of its class, {WITHOUT_MODEL}."
            )


def _are_equal(first: Any, second: Any) -> bool:
    """Return whether two arrays of predictions, (m,) or (m, c), are equal; cells missing in both are equal."""
    return pd.Index(np.ravel(first)).equals(pd.Index(np.ravel(second)))


def _choose_rows(trial: Experiment, rows: np.ndarray) -> np.ndarray:
    """Return a few of the given rows of the dataset, including rows of each class, in order."""
    bounded = get_row_bounded_parameters(trial.learner)
    bounds = [value for name in bounded if isinstance(value := trial.learner.get_params()[name], int)]
    n_wanted = max([N_TRIAL_ROWS, *bounds])
    if not trial.dataset.is_classification:
        return rows[:n_wanted]
    labels = trial.dataset.y[rows]
    n_of_class = max(MIN_ROWS_OF_CLASS, -(-n_wanted // max(1, len(np.unique(labels)))))
    return pd.Series(rows).groupby(labels).head(n_of_class).to_numpy()
