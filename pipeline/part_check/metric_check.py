"""A metric tried on predictions that are perfect, half wrong and all wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bakeoff.pipeline.config.build import find_target
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.part_check.finding import NOTE, OK, WRONG, Finding
from bakeoff.pipeline.part_check.part import Part
from bakeoff.pipeline.stages.scoring import Metric, Predictions, Target, choose_metrics, compute_score
from bakeoff.pipeline.text.numbers import format_score

N_ROWS = 60
SURE = 0.9
"""The probability of the class that is predicted."""
SEED = 0


class EveryResponse:
    """Stands for a learner that has every method that a metric may need."""

    predict_proba = None
    decision_function = None


@dataclass(frozen=True)
class Trial:
    """A target on which a metric works, with its scores.

    Attributes
    ----------
    name : str
        Of the target.
    metric : Metric
    perfect, half, wrong : Predictions
    """

    name: str
    metric: Metric
    perfect: Predictions
    half: Predictions
    wrong: Predictions

    @property
    def scores(self) -> tuple[float, float, float]:
        """The score of the perfect, the half wrong and the wrong predictions."""
        perfect, half, wrong = (compute_score(self.metric, each) for each in (self.perfect, self.half, self.wrong))
        return perfect, half, wrong


def check_targets(part: Part) -> list[Finding]:
    """Require that it can be computed for two classes, for three, or for numbers, and say for which."""
    trials, refused = _try_targets(part)
    if not trials:
        raise refused[0]
    names = ", ".join(trial.name for trial in trials)
    needs = {" or ".join(trial.metric.needs) for trial in trials if trial.metric.needs}
    text = f"computed for {names}" + (f"; needs {', '.join(sorted(needs))}" if needs else "")
    findings = [Finding(OK, "targets", text)]
    return findings + [Finding(NOTE, "targets", str(error)) for error in refused]


def check_sign(part: Part) -> list[Finding]:
    """Require that no predictions are better than the perfect ones, and that some are worse."""
    findings = [_judge_sign(trial) for trial in _try_targets(part)[0]]
    if all(finding.status == NOTE for finding in findings):
        return [replace(finding, status=WRONG) for finding in findings]
    return findings


def _judge_sign(trial: Trial) -> Finding:
    """Compare the scores of a trial; a note says that they are all the same."""
    perfect, half, wrong = trial.scores
    sign = 1 if trial.metric.greater_is_better else -1
    direction = "greater" if sign > 0 else "smaller"
    texts = [format_score(score) for score in trial.scores]
    shown = f"{trial.name}: perfect {texts[0]}, half wrong {texts[1]}, all wrong {texts[2]}"
    if not np.isfinite([perfect, half, wrong]).all():
        return Finding(WRONG, "sign", f"not a finite number; {shown}")
    if perfect == half == wrong:
        return Finding(NOTE, "sign", f"all predictions have the same score; {shown}")
    if sign * perfect < max(sign * half, sign * wrong):
        cure = f"write greater_is_better: {str(sign < 0).lower()}"
        text = f"{direction} values are to be better, and the perfect predictions are not the best; {shown}; {cure}"
        return Finding(WRONG, "sign", text)
    return Finding(OK, "sign", f"{direction} is better; {shown}")


def check_order(part: Part) -> list[Finding]:
    """Require that the order of the rows does not matter, and that the score is the same each time."""
    for trial in _try_targets(part)[0]:
        order = np.random.default_rng(SEED).permutation(len(trial.half.truth))  # (m,)
        score = compute_score(trial.metric, trial.half)
        again = compute_score(trial.metric, trial.half)
        shuffled = compute_score(trial.metric, _take_rows(trial.half, order))
        if score != again:
            return [Finding(WRONG, "repetition", f"{trial.name}: the same predictions score {score} and then {again}")]
        if not np.isclose(score, shuffled):
            text = f"{trial.name}: the same rows in another order score {shuffled:.6g} instead of {score:.6g}"
            return [Finding(NOTE, "order of rows", text)]
    return [Finding(OK, "repetition", "the same predictions score the same, in any order of the rows")]


def check_weights(part: Part) -> list[Finding]:
    """Say whether it weights rows."""
    trials, _ = _try_targets(part, has_weights=True)
    if trials:
        return [Finding(OK, "weights", "takes sample_weight, so that dataset.weights counts")]
    return [Finding(NOTE, "weights", "takes no sample_weight, so that it is refused where dataset.weights is given")]


def _try_targets(part: Part, *, has_weights: bool = False) -> tuple[list[Trial], list[UserError]]:
    """Return the trials of each target on which the metric works, and why it does not on the others."""
    trials = []
    refused = []
    for name, trial in _make_targets(has_weights).items():
        task = "regression" if trial.classes is None else "classification"
        find = partial(find_target, key="evaluation.metrics", trust=part.trust)
        try:
            chosen = choose_metrics([dict(part.node)], task, EveryResponse(), trial, find_function=find)
        except UserError as error:
            refused.append(UserError(f"not for {name}: {error}"))
            continue
        (metric,) = chosen.values()
        trials.append(_make_trial(name, metric, trial))
    return trials, refused


def _make_targets(has_weights: bool) -> dict[str, Target]:
    numbers = np.linspace(1.0, 10.0, N_ROWS)  # (n,)
    names = np.array(["a", "b", "c"])
    two = names[np.arange(N_ROWS) % 2]  # (n,)
    three = names[np.arange(N_ROWS) % 3]  # (n,)
    return {
        "two classes": Target(two, names[:2], positive="b", has_weights=has_weights),
        "three classes": Target(three, names, has_weights=has_weights),
        "numbers": Target(numbers, has_weights=has_weights),
    }


def _make_trial(name: str, metric: Metric, target: Target) -> Trial:
    """Return predictions of a target: perfect, wrong in every second pair of rows, and wrong in all."""
    is_second = np.arange(len(target.y)) % 4 >= 2  # (n,)
    if target.classes is None:
        wrong = target.y[::-1]  # (n,)
    else:
        codes = np.searchsorted(target.classes, target.y)  # (n,)
        wrong = target.classes[(codes + 1) % len(target.classes)]  # (n,)
    half = np.where(is_second, wrong, target.y)  # (n,)
    return Trial(name, metric, *(_make_predictions(target, predicted) for predicted in (target.y, half, wrong)))


def _make_predictions(target: Target, predicted: np.ndarray) -> Predictions:
    weights = np.ones(len(target.y)) if target.has_weights else None
    if target.classes is None:
        return Predictions(target.y, predicted, weights=weights)
    n_classes = len(target.classes)
    is_predicted = predicted[:, None] == target.classes  # (n, c)
    probabilities = np.where(is_predicted, SURE, (1 - SURE) / (n_classes - 1))  # (n, c)
    return Predictions(
        target.y,
        predicted,
        probabilities=probabilities,
        decision=probabilities[:, 1] - 0.5 if n_classes == 2 else probabilities,
        classes=target.classes,
        positive=target.positive,
        weights=weights,
    )


def _take_rows(predictions: Predictions, order: np.ndarray) -> Predictions:
    """Return predictions of the rows in another order."""
    taken = {
        name: values[order]
        for name in ("truth", "predicted", "probabilities", "decision", "weights")
        if (values := getattr(predictions, name)) is not None
    }
    return replace(predictions, **taken)
