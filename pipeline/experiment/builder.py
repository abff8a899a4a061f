"""From a settled configuration to the experiment that it describes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from sklearn.base import BaseEstimator, clone

from bakeoff.pipeline.config.build import find_target
from bakeoff.pipeline.config.options import list_own_names
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.experiment import Experiment
from bakeoff.pipeline.experiment.part_cache import PartCache
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.preprocessing import choose_preprocessing, is_open
from bakeoff.pipeline.stages.scoring import (
    SCORING_KEYS,
    TRAIN_METRICS_KEY,
    Metric,
    Target,
    choose_metrics,
    choose_train_metrics,
    name_entry,
)
from bakeoff.pipeline.stages.splitting import DEFAULT_MAX_FOLDS
from bakeoff.pipeline.stages.tuning import list_candidate_learners


def build_experiment(spec: Mapping[str, Any], resources: PartCache) -> Experiment:
    """Build the experiment that a settled configuration describes.

    Parameters
    ----------
    spec : mapping
    resources : PartCache

    Raises
    ------
    UserError
    """
    trust = spec["trust"]
    splitter_node = {key: value for key, value in spec["evaluation"].items() if key not in SCORING_KEYS}
    # The dataset is built first, because its errors are the most important ones for the user.
    dataset = resources.get_dataset(spec)
    preprocessing = resources.build("preprocessing", spec["preprocessing"], trust)
    learner = _order_classes(resources.build("learner", spec["learner"], trust), dataset)
    tuning = resources.build("tuning", spec["tuning"], trust)
    # What suits the learner must suit each candidate of tuning, which may accept less than the learner itself.
    variants = list_candidate_learners(learner, tuning) if is_open(preprocessing) else [learner]
    chosen = choose_preprocessing(preprocessing, variants, dataset.X)
    calibration = resources.build("calibration", spec["calibration"], trust)
    threshold = resources.build("threshold", spec["threshold"], trust)
    # Calibration gives probabilities to learners that have none.
    scored = calibration.add_methods(learner)
    return Experiment(
        dataset=dataset,
        preprocessing=chosen.transformer,
        preprocessing_summary=chosen.summary,
        learner=learner,
        tuning=tuning,
        pruning=resources.build("pruning", spec["pruning"], trust),
        splitter=resources.build("evaluation", splitter_node, trust),
        metrics=_choose_metrics(spec, dataset, scored, spec["evaluation"].get("metrics")),
        seed=spec["seed"],
        balance=resources.build("balance", spec["balance"], trust),
        target=resources.build("target", spec["target"], trust),
        calibration=calibration,
        threshold=threshold,
        threshold_metric=_choose_threshold_metric(spec, dataset, scored),
        train_metrics=choose_train_metrics(spec["evaluation"].get(TRAIN_METRICS_KEY)),
        max_folds=spec.get("max_folds", DEFAULT_MAX_FOLDS),
    )


def _order_classes(learner: Any, dataset: Dataset) -> Any:
    """Return the learner with the order in which an ARFF file declares the classes, unless it has another one.

    The order decides equal votes of a learner that has a parameter ``class_order``.
    """
    if dataset.class_order is None or not isinstance(learner, BaseEstimator):
        return learner
    parameters = learner.get_params(deep=False)
    if "class_order" not in parameters or parameters["class_order"] is not None:
        return learner
    # A copy, since jobs on other datasets share the learner.
    return clone(learner).set_params(class_order=list(dataset.class_order))


def _choose_metrics(
    spec: Mapping[str, Any], dataset: Dataset, scored: Any, entries: Sequence[Any] | None
) -> dict[str, Metric]:
    """Return the metrics that are named, each of which was tried on the target of the dataset.

    Parameters
    ----------
    spec : mapping
    dataset : Dataset
    scored : estimator
        Has the methods of the model that is scored.
    entries : sequence or None
        The metrics as ``evaluation.metrics`` names them.
    """
    classes = dataset.classes if dataset.is_classification else None
    target = Target(dataset.y, classes, dataset.positive, has_weights=dataset.weights is not None)
    return choose_metrics(
        entries,
        dataset.task,
        scored,
        target=target,
        costs=spec["evaluation"].get("costs"),
        find_function=partial(find_target, key="evaluation.metrics", trust=spec["trust"]),
        further_names=list_own_names("metric") if entries else (),
    )


def _choose_threshold_metric(spec: Mapping[str, Any], dataset: Dataset, scored: Any) -> Metric | None:
    """Return the metric that a threshold is chosen by; None is the headline."""
    name = spec["threshold"].get("metric")
    if name is None:
        return None
    # A metric of the user is described once, among the metrics of the run.
    own = [entry for entry in spec["evaluation"].get("metrics") or [] if name_entry(entry) == name]
    try:
        chosen = _choose_metrics(spec, dataset, scored, own or [name])
    except UserError as error:
        message = str(error).replace("evaluation.metrics", "threshold.metric")
        raise UserError(message.replace("; remove it from the list", "; choose another")) from None
    # A metric of costs joins the list by itself, after the one that is named.
    return next(iter(chosen.values()))
