"""A learner tried on made tables: its parameters, its seed, its file, its cells."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from bakeoff.pipeline.checks.learner import check_parameters
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.part_check.finding import NOTE, OK, WRONG, Finding, describe_error
from bakeoff.pipeline.part_check.made_tables import (
    CLASSIFICATION,
    REGRESSION,
    MadeTable,
    leave_cells_out,
    make_mixed,
    make_numbers,
)
from bakeoff.pipeline.part_check.part import REFERENCE, Part
from bakeoff.pipeline.stages.scoring import compute_decision, predict_probabilities, predict_values
from bakeoff.pipeline.text.numbers import format_score
from bakeoff.pipeline.text.words import join_words

SEED_PARAMETER = "random_state"
RESPONSES = {"predict_proba": "probabilities", "decision_function": "decision values"}
FURTHER_SEED = 1


def find_task(learner: Any) -> str:
    """Return the task of a learner; raises UserError if it has none."""
    if is_classifier(learner):
        return CLASSIFICATION
    if is_regressor(learner):
        return REGRESSION
    raise UserError(
        f"{type(learner).__name__} is neither a classifier nor a regressor; inherit from "
        "sklearn.base.ClassifierMixin or RegressorMixin, and after it from BaseEstimator."
    )


def check_estimator_type(part: Part) -> list[Finding]:
    """Require an estimator whose constructor stores its parameters alone, so that it can be cloned."""
    learner = part.build()
    if not isinstance(learner, BaseEstimator):
        raise UserError(f"{part.target} is not an estimator in scikit-learn's sense; inherit from BaseEstimator.")
    task = find_task(learner)
    check_parameters(learner, part.group)
    clone(learner)
    methods = [noun for method, noun in RESPONSES.items() if hasattr(learner, method)]
    given = f"gives {join_words(methods)}" if methods else "gives labels alone" if task == CLASSIFICATION else ""
    weights = "takes weights of rows" if has_fit_parameter(learner, "sample_weight") else "takes no weights of rows"
    kind = "classifier" if task == CLASSIFICATION else "regressor"
    return [Finding(OK, "estimator", ", ".join(filter(None, [f"a {kind} that can be cloned", given, weights])))]


def check_fit(part: Part) -> list[Finding]:
    """Require that it fits, and predicts what can be scored, better than the majority or the mean."""
    learner = part.build()
    made = make_numbers(find_task(learner))
    fresh = make_numbers(find_task(learner), seed=FURTHER_SEED)
    fitted = fit_quietly(learner, made)
    predict_values(fitted, fresh.X, np.unique(made.y) if is_classifier(learner) else None)
    for method, respond in {"predict_proba": predict_probabilities, "decision_function": compute_decision}.items():
        if hasattr(fitted, method):
            respond(fitted, fresh.X)
    score = fitted.score(fresh.X, fresh.y)
    name = "accuracy" if is_classifier(learner) else "r2"
    floor = np.mean(fresh.y == pd.Series(made.y).mode()[0]) if is_classifier(learner) else 0.0
    rival = f"{_name_floor(learner)} has {format_score(float(floor))}"
    text = f"{name} {format_score(score)} on further rows of a made table, where {rival}"
    return [Finding(OK if score > floor else NOTE, "fit", text)]


def check_seed(part: Part) -> list[Finding]:
    """Require that two fits with the same seed predict the same, and that the seed is that of the run."""
    learner = part.build()
    made = make_numbers(find_task(learner))
    # The state of NumPy's own generator differs between the fits, so that a learner that draws from it shows.
    first, second = (_respond(fit_quietly(learner, made), made.X) for _ in range(2))
    if not _are_equal(first, second):
        return [
            Finding(
                WRONG,
                "seed",
                "two fits on the same rows predict differently: take a parameter random_state, draw from "
                "sklearn.utils.check_random_state(self.random_state) alone, and write random_state: ${seed}",
            )
        ]
    if SEED_PARAMETER not in learner.get_params():
        return [Finding(OK, "seed", "two fits on the same rows predict the same")]
    if REFERENCE not in str(part.keys.get(SEED_PARAMETER)):
        return [
            Finding(WRONG, "seed", "random_state is not that of the run; write random_state: ${seed} into the file")
        ]
    return [Finding(OK, "seed", "two fits with the same seed predict the same, and random_state is that of the run")]


def check_saving(part: Part) -> list[Finding]:
    """Require that the model can be stored without pickle, and predicts the same when it is read."""
    import skops.io

    from bakeoff.pipeline.model.allowed_types import trusted_types

    learner = part.build()
    made = make_numbers(find_task(learner))
    fitted = fit_quietly(learner, made)
    dumped = skops.io.dumps(fitted)
    read = skops.io.loads(dumped, trusted=trusted_types(dumped, part.trust))
    if not _are_equal(_respond(fitted, made.X), _respond(read, made.X)):
        return [Finding(WRONG, "saving", "the model that was stored and read predicts differently")]
    return [Finding(OK, "saving", f"{len(dumped):,} bytes in the skops format, which predict the same")]


def check_cells(part: Part) -> list[Finding]:
    """Compare what a learner declares about nominal columns and missing cells with what it does."""
    learner = part.build()
    task = find_task(learner)
    tags = get_tags(learner).input_tags
    mixed = make_mixed(task)
    gaps = leave_cells_out(make_numbers(task))
    return [
        _compare_tag(learner, mixed, "nominal columns", is_declared=tags.categorical, tag="categorical"),
        _compare_tag(learner, gaps, "missing cells", is_declared=tags.allow_nan, tag="allow_nan"),
    ]


def _compare_tag(learner: Any, made: MadeTable, subject: str, *, is_declared: bool, tag: str) -> Finding:
    try:
        fit_quietly(learner, made).predict(made.X)
    except Exception as error:  # the code is the user's
        reason = describe_error(error)
        if is_declared:
            return Finding(WRONG, subject, f"input_tags.{tag} says that they are taken, but {reason}")
        return Finding(OK, subject, "not taken; preprocessing=auto prepares them for this learner")
    if is_declared:
        return Finding(OK, subject, "taken as they are")
    text = "neither refused nor declared, so that predictions may be wrong; refuse them by validate_data, or set"
    return Finding(NOTE, subject, f"{text} input_tags.{tag} in __sklearn_tags__")


def fit_quietly(learner: Any, made: MadeTable) -> Any:
    """Return a fitted copy; its warnings are not shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(learner).fit(made.X, made.y)


def _respond(fitted: Any, X: pd.DataFrame) -> list[np.ndarray]:
    """Return what the methods of a fitted learner give for rows (m, d)."""
    methods = ["predict", *filter(lambda method: hasattr(fitted, method), RESPONSES)]
    return [np.asarray(getattr(fitted, method)(X)) for method in methods]


def _are_equal(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    """Return whether arrays are equal to the last bit; a number that is missing in both is equal."""
    try:
        for one, other in zip(first, second, strict=True):
            np.testing.assert_array_equal(one, other)
    except AssertionError:
        return False
    return True


def _name_floor(learner: Any) -> str:
    return "the majority class" if is_classifier(learner) else "the mean"
