"""The calculation of a learner on a small table: the steps of its definition, and the learner's own answer.

The table may be random, with small numbers: tables are drawn one after another until the calculation shows no tie, so
that the seed determines the table.
"""

import inspect
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from bakeoff.learners import REGISTRY
from bakeoff.learners.definitions.calculations import CALCULATIONS, SINGLE_STEPS, SOLVER_TOLERANCE, TOLD, Calculation
from bakeoff.learners.definitions.steps import Neighbours, Regions, Step
from bakeoff.pipeline.checks import check_experiment
from bakeoff.pipeline.commands.work.calculation import HandCalculation
from bakeoff.pipeline.commands.work.request import DEFAULT_ROWS, WorkRequest
from bakeoff.pipeline.commands.work.rows import WorkedRows, choose_rows, list_preprocessing_steps, make_problem
from bakeoff.pipeline.config.compose_job import compose_job
from bakeoff.pipeline.config.options import load_yaml
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment.builder import PartCache, build_experiment
from bakeoff.pipeline.experiment.experiment import Experiment
from bakeoff.pipeline.experiment.fitting import make_pipeline
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.text.wording import join_words

PLACEHOLDER = "colours"
"""The dataset that is composed in place of a random table."""
USED = ("dataset", "learner", "preprocessing", "pruning", "experiment")
PLAIN_PARTS = ("balance", "target", "calibration", "threshold", "tuning")
"""The parts of an experiment that have no calculation by hand."""
MAX_TABLES = 2000
"""The number of random tables that are tried."""
VALUES = {"outlook": ("cloudy", "rain", "sun"), "wind": ("strong", "weak"), "air": ("dry", "humid")}
"""The nominal columns of a random table, with their values."""
CLASSES = np.array(["no", "yes"])
NOMINAL_TARGET, NUMERIC_TARGET = "play", "y"
LEAST = -3
N_NUMBERS = 9
"""A numeric column has this number of different integers, from `LEAST`."""
MAX_TARGET = 20
MIN_DIFFERENCE = 0.02
"""The least difference between numbers of which a step chooses the largest or the smallest."""
MAX_STEPS = 40


def calculate(request: WorkRequest) -> HandCalculation:
    """Calculate a single step, or the predictions of a learner beside its own.

    Parameters
    ----------
    request : WorkRequest

    Raises
    ------
    UserError
        The step or learner has no calculation, the table is too large or has missing cells, or a query does not fit.
    """
    if request.step is not None:
        return _calculate_step(request.step, request.words)
    for key in request.words:
        if key.lstrip("+~").partition(".")[0] not in (*USED, *PLAIN_PARTS):
            raise UserError(
                f"{key}= has no effect on a calculation by hand, which uses {join_words(USED)}; leave it out."
            )
    given = dict(request.words)
    if request.table is not None:
        # The drawn rows replace those of any dataset.
        given = {"preprocessing": "none", **given, "dataset": PLACEHOLDER}
    words = [f"{key}={value}" for key, value in given.items()]
    trust = [f"trust=[{','.join(request.trust)}]"] if request.trust else []
    if request.validation is None and "pruning" not in request.words:
        words.append("pruning=none")
    composed = compose_job([*words, f"seed={request.seed or 0}", *trust])
    spec = composed.spec
    for part in PLAIN_PARTS:
        if not spec[part]["_target_"].endswith(f".No{part.capitalize()}"):
            raise UserError(f"{part} has no calculation by hand; leave {part}= out, or set {part}=none.")
    experiment = build_experiment(spec, PartCache())
    name, calculation = find_calculation(experiment.learner, composed.invocation.choices["learner"])
    if request.table is not None:
        return _calculate_random(experiment, request, name, calculation)
    check_experiment(experiment)
    return _calculate_rows(experiment, request, name, calculation)


def _calculate_step(name: str, words: Mapping[str, str]) -> HandCalculation:
    """Calculate a single step from numbers."""
    if name not in SINGLE_STEPS:
        raise UserError(f"step={name}: {did_you_mean(name, SINGLE_STEPS)}")
    work = SINGLE_STEPS[name]
    parameters = inspect.signature(work).parameters
    for key in words:
        if key not in parameters:
            raise UserError(f"step={name} has no key {key}. {did_you_mean(key, parameters)}")
    missing = [key for key, each in parameters.items() if each.default is each.empty and key not in words]
    if missing:
        raise UserError(f"step={name} needs {join_words(f'{key}=…' for key in missing)}.")
    try:
        values = {key: load_yaml(text, key) for key, text in words.items()}
        if [] in values.values():
            raise ValueError("a list is empty")
        with np.errstate(divide="raise", invalid="raise"):
            step = work(**values)
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        given = " ".join(f"{key}={text}" for key, text in words.items())
        raise UserError(
            f"step={name} cannot be calculated from {given}: {str(error).rstrip('.')}. Give numbers, and lists that "
            "have equal lengths and are not empty."
        ) from None
    return HandCalculation(f"{name.replace('_', ' ').capitalize()} by hand", (step,))


def find_calculation(learner: Any, option: str) -> tuple[str, Calculation]:
    """Return the name of a learner, which an option chose, and its calculation.

    Raises
    ------
    UserError
        The learner has none, or has a parameter that its calculation does not follow.
    """
    name = REGISTRY.find_name(type(learner))
    if name not in CALCULATIONS:
        raise UserError(f"learner={option} has no calculation by hand. {did_you_mean(option, CALCULATIONS)}")
    calculation = CALCULATIONS[name]
    defaults = type(learner)().get_params(deep=False)
    for key, value in learner.get_params(deep=False).items():
        is_restricted = key in calculation.restricted
        is_followed = calculation.followed is None or key in calculation.followed
        allowed = calculation.restricted.get(key, (defaults[key],))
        # A list, such as that of the layers of a network, is restricted element by element.
        values = value if is_restricted and isinstance(value, list | tuple) else [value]
        if (is_followed and not is_restricted) or all(each in allowed for each in values):
            continue
        cure = f"it must be {join_words(map(str, allowed), 'or')}"
        if option not in REGISTRY:
            cure = f"choose learner={name} instead of learner={option}, which sets more such parameters"
        raise UserError(f"learner.{key}={value} has no calculation by hand; {cure}.")
    return name, calculation


def _calculate_rows(
    experiment: Experiment, request: WorkRequest, name: str, calculation: Calculation
) -> HandCalculation:
    """Calculate the predictions of a learner on the rows that a request chooses."""
    experiment, rows = choose_rows(experiment, request)
    pipeline, X, warned = _fit(name, experiment, rows)
    problem = make_problem(experiment, pipeline, X, rows)
    try:
        steps = [*list_preprocessing_steps(rows, problem), *calculation.work(pipeline[-1], problem)]
    except ValueError as error:
        raise UserError(f"learner={name}: {error}") from None
    answers = [step for step in steps if step.answer is not None]
    answer = tuple(np.array([step.answer for step in answers]).tolist())
    learner_answer = tuple(pipeline.predict(rows.queries).tolist())
    responses = getattr(pipeline, calculation.response)(rows.queries)  # (m,) or (m, c)
    difference = measure_difference([step.response for step in answers], responses)
    steps.append(_conclude(name, calculation.tolerance_of(pipeline[-1]), answer, learner_answer, difference))
    return HandCalculation(
        title=f"{name.replace('_', ' ')} on {experiment.dataset.name} by hand",
        header=describe_parameters(pipeline[-1]),
        steps=tuple(steps),
        table=rows.X.assign(**{rows.target: rows.y}),
        queries=rows.queries,
        validation=rows.validation_X.assign(**{rows.target: rows.validation_y}),
        answer=answer,
        learner_answer=learner_answer,
        notes=(*experiment.dataset.remarks, *warned),
        problem=problem,
        learner=pipeline[-1],
    )


def _fit(name: str, experiment: Experiment, rows: WorkedRows) -> tuple[Pipeline, pd.DataFrame, list[str]]:
    """Fit preprocessing and learner, and prune the learner; return them, the preprocessed rows, and the warnings."""
    pipeline = clone(make_pipeline(experiment))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            # A target encoder encodes the rows on which it is fitted differently from other rows.
            X = pipeline[:-1].fit_transform(rows.X, rows.y)
            pipeline[-1].fit(X, rows.y)
            if experiment.pruning.needs_rows:
                held = pipeline[:-1].transform(rows.validation_X)
                experiment.pruning.prune(pipeline[-1], held, rows.validation_y)
        except ValueError as error:
            raise UserError(f"learner={name}: {error}") from None
    return pipeline, X, list(dict.fromkeys(str(each.message) for each in caught))


def describe_parameters(learner: Any) -> tuple[str, ...]:
    """Return a line with the parameters that a reader needs to repeat the calculation, if there are any."""
    values = learner.get_params(deep=False)
    given = [f"{key} = {values[key]}" for key in TOLD if values.get(key) is not None]
    return (f"Parameters: {', '.join(given)}",) if given else ()


def measure_difference(calculated: Sequence[Sequence[float]], learned: Any) -> float:
    """Return the largest difference between numbers, relative to those above 1."""
    if not calculated:
        return 0.0
    own = np.array(calculated, dtype=float)
    others = np.asarray(learned, dtype=float).reshape(own.shape)
    return float((np.abs(own - others) / np.maximum(1, np.abs(others))).max())


def _conclude(
    name: str, tolerance: float, answer: Sequence[Any], learner_answer: Sequence[Any], difference: float
) -> Step:
    """Return the last step: the learner's own answer, and whether it is the same."""
    # Predicted numbers are already compared by their difference.
    pairs = zip(answer, learner_answer, strict=True)
    is_same = difference <= tolerance and all(isinstance(a, float) or a == b for a, b in pairs)
    shown = join_words(map(str, learner_answer))
    largest = f"its numbers differ by at most {difference:.1e}; {tolerance:g} is allowed"
    verdict = "the same" if is_same else "NOT the same: a tie was resolved otherwise, or the learner stopped earlier"
    return Step(
        f"Fit the learner {name} on the same rows, and compare its answer.",
        chosen=f"{shown}; {verdict} ({largest})",
        values={"difference": difference},
        drawing=Regions(),
    )


def _calculate_random(
    experiment: Experiment, request: WorkRequest, name: str, calculation: Calculation
) -> HandCalculation:
    """Calculate the first random table whose calculation is clear."""
    n_rows = int(request.rows or DEFAULT_ROWS)
    tables = _draw_tables(experiment.learner, n_rows, request.seed or 0, is_nominal=calculation.is_nominal)
    refusal = UserError(
        f"table={request.table}: none of {MAX_TABLES} tables of {n_rows} rows has a short calculation without ties; "
        "set another rows= or seed=."
    )
    for dataset, query in islice(tables, MAX_TABLES):
        drawn = replace(experiment, dataset=dataset)
        try:
            made = _calculate_rows(drawn, replace(request, table=None, rows=None, query=query), name, calculation)
        except UserError as error:
            # A learner may reject a table, for instance one that no plane separates.
            refusal = error
            continue
        if _is_clear(made):
            return made
    raise refusal


def _draw_tables(learner: Any, n_rows: int, seed: int, *, is_nominal: bool) -> Iterator[tuple[Dataset, str]]:
    """Yield random tables and a row to predict, as the key ``query`` gives it.

    Parameters
    ----------
    learner : estimator
    n_rows : int
    seed : int
    is_nominal : bool
        Whether the columns are nominal; otherwise they are two columns of integers.
    """
    rng = np.random.default_rng(seed)
    while True:
        rows = _draw_nominal(rng, n_rows) if is_nominal else _draw_numbers(rng, n_rows)
        X, query = rows.iloc[:-1], rows.iloc[-1]
        if is_classifier(learner):
            task = "classification"
            y = CLASSES[rng.integers(2, size=n_rows) if is_nominal else _draw_sides(rng, X.to_numpy())]
        else:
            task = "regression"
            y = rng.integers(MAX_TARGET, size=n_rows).astype(float)
        target = NOMINAL_TARGET if is_nominal else NUMERIC_TARGET
        cells = ", ".join(f"{name}: {cell}" for name, cell in query.items())
        yield Dataset(f"random table {seed}", X, y, task, target), f"{{{cells}}}"


def _draw_nominal(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    """Return random rows of nominal cells, which are all different if there are enough different ones."""
    known = [*product(*VALUES.values())]
    drawn = rng.choice(len(known), n_rows + 1, replace=n_rows >= len(known))
    return pd.DataFrame([known[number] for number in drawn], columns=[*VALUES]).astype("category")


def _draw_numbers(rng: np.random.Generator, n_rows: int) -> pd.DataFrame:
    """Return different random rows of two integers."""
    places = rng.choice(N_NUMBERS**2, n_rows + 1, replace=False)
    return pd.DataFrame(np.stack(np.divmod(places, N_NUMBERS), axis=1) + LEAST, columns=["x1", "x2"]).astype(float)


def _draw_sides(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Return random zeros and ones (n,), which in half of the tables a line separates."""
    if rng.integers(2):
        return rng.integers(2, size=len(X))
    heights = X @ rng.integers(-2, 3, size=2)  # (n,)
    return (heights > np.median(heights)).astype(int)


def _is_clear(calculation: HandCalculation) -> bool:
    """Whether a calculation is short and has no ties, and the learner has the same numbers."""
    *steps, last = calculation.steps
    if len(steps) > MAX_STEPS + len(calculation.table) or last.values["difference"] > SOLVER_TOLERANCE:
        return False
    if is_classifier(calculation.learner) and any(_is_close(step.response) for step in steps if step.response):
        return False
    n_neighbors = getattr(calculation.learner, "n_neighbors", 0)
    return not any(_has_tie(step, n_neighbors) for step in steps)


def _has_tie(step: Step, n_neighbors: int) -> bool:
    """Whether numbers are equal or close of which a step takes the largest or the smallest."""
    if isinstance(step.drawing, Neighbours):
        nearest = sorted(step.drawing.distances)[: n_neighbors + 1]
        return len(set(nearest)) < len(nearest)
    alternatives = {str(row[0]): row[-1] for row in step.table[1:]}
    if step.chosen not in alternatives:
        return False
    best = float(alternatives.pop(step.chosen))
    return any(abs(best - float(other)) < MIN_DIFFERENCE for other in alternatives.values())


def _is_close(response: Sequence[float]) -> bool:
    """Whether the two largest numbers differ too little, or a single one from 0."""
    lower, upper = sorted(response if len(response) > 1 else (0.0, *response))[-2:]
    return upper - lower < MIN_DIFFERENCE
