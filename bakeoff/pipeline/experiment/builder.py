"""Build the experiment described by a settled configuration."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from sklearn.base import BaseEstimator, clone

from bakeoff.pipeline.config.build import build_object, find_target
from bakeoff.pipeline.config.options import REQUIRED_GROUPS, list_own_names
from bakeoff.pipeline.errors import UnknownKeys, UserError
from bakeoff.pipeline.experiment.experiment import Experiment, PreparedTables
from bakeoff.pipeline.experiment.fitting import make_tuning_splits
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.preprocessing import choose_preprocessing, is_open
from bakeoff.pipeline.stages.scoring.choice import SCORING_KEYS, TRAIN_METRICS_KEY, choose_metrics, choose_train_metrics
from bakeoff.pipeline.stages.scoring.metrics import Metric
from bakeoff.pipeline.stages.scoring.scorers import Target, name_entry
from bakeoff.pipeline.stages.splitting import DEFAULT_MAX_FOLDS, Splits
from bakeoff.pipeline.stages.tuning import GridTuning, list_candidate_learners

UNDECLARED_ROW_BOUNDED_PARAMETERS = ("n_neighbors",)
"""The parameters of scikit-learn's estimators, which do not declare them, that must not exceed the number of rows."""

MAX_SPLITS_BYTES = 1 << 26
"""The memory for splits that later jobs may share."""


@dataclass
class PartCache:
    """The parts that the jobs of a process share; parts with the same configuration are built only once.

    Each dataset is therefore loaded once and each store is opened once. Sharing is safe because only clones are fitted,
    and no learner or preprocessing writes to its input.

    Attributes
    ----------
    tried : set of str
        The checks that have passed and need not be repeated, such as whether a model can be stored.
    tables : PreparedTables
        The tables after preprocessing.
    """

    tried: set[str] = field(default_factory=set)
    tables: PreparedTables = field(default_factory=PreparedTables)
    _built: dict[str, Any] = field(default_factory=dict)
    _splits: dict[tuple[int, ...], Splits] = field(default_factory=dict)
    _splits_bytes: int = 0

    def build(self, part: str, node: Mapping[str, Any], trust: Sequence[str]) -> Any:
        """Return the object that a node of the configuration describes; raises UserError as `build_object` does."""
        key = json.dumps([part, node, list(trust)], default=str)
        if key not in self._built:
            self._built[key] = build_object(node, part, list(trust))
        return self._built[key]

    def get_dataset(self, spec: Mapping[str, Any]) -> Dataset:
        """Return the dataset of a settled configuration."""
        dataset: Dataset = self.build("dataset", spec["dataset"], spec["trust"])
        return dataset

    def make_splits(self, experiment: Experiment) -> Splits:
        """Return the splits of an experiment, which jobs with the same data, evaluation and seed share."""
        key = (id(experiment.dataset), id(experiment.splitter), experiment.seed, experiment.max_folds)
        if key not in self._splits:
            splits = experiment.make_splits()
            if self._splits_bytes + splits.n_bytes > MAX_SPLITS_BYTES:
                self._splits.clear()
                self._splits_bytes = 0
            self._splits[key] = splits
            self._splits_bytes += splits.n_bytes
        return self._splits[key]

    @property
    def datasets(self) -> list[Dataset]:
        """The loaded datasets, in the order in which they were loaded."""
        return [part for part in self._built.values() if isinstance(part, Dataset)]


@contextmanager
def naming_unknown_keys(spec: Mapping[str, Any], resources: PartCache) -> Iterator[None]:
    """Name the unknown keys of all parts of a settled configuration, if the block finds one."""
    try:
        yield
    except UnknownKeys as first:
        faults: list[str] = []
        for part in REQUIRED_GROUPS:
            others = SCORING_KEYS if part == "evaluation" else ()
            node = {key: value for key, value in spec[part].items() if key not in others}
            try:
                resources.build(part, node, spec["trust"])
            except UnknownKeys as error:
                faults += error.faults
            except UserError:
                continue  # it is told when the keys are right
        raise UnknownKeys(*(faults or first.faults)) from None


def build_experiment(spec: Mapping[str, Any], resources: PartCache) -> Experiment:
    """Build the experiment described by a settled configuration.

    Parameters
    ----------
    spec : mapping
    resources : PartCache

    Raises
    ------
    UserError
    """

    def build(part: str) -> Any:
        return resources.build(part, spec[part], spec["trust"])

    splitter_node = {key: value for key, value in spec["evaluation"].items() if key not in SCORING_KEYS}
    # The dataset is built first, because its errors are the most important ones for the user.
    dataset = resources.get_dataset(spec)
    preprocessing = build("preprocessing")
    learner = _order_classes(build("learner"), dataset)
    tuning = build("tuning")
    # Preprocessing must suit each candidate of tuning, which may accept less than the learner itself.
    variants = list_candidate_learners(learner, tuning) if is_open(preprocessing) else [learner]
    chosen = choose_preprocessing(preprocessing, variants, dataset.X)
    calibration, threshold = build("calibration"), build("threshold")
    # Calibration provides probabilities for learners without them.
    scored = calibration.add_methods(learner)
    return Experiment(
        dataset=dataset,
        preprocessing=chosen.transformer,
        preprocessing_summary=chosen.summary,
        learner=learner,
        tuning=tuning,
        pruning=build("pruning"),
        splitter=resources.build("evaluation", splitter_node, spec["trust"]),
        metrics=_choose_metrics(spec, dataset, scored, spec["evaluation"].get("metrics")),
        seed=spec["seed"],
        balance=build("balance"),
        target=build("target"),
        calibration=calibration,
        threshold=threshold,
        threshold_metric=_choose_threshold_metric(spec, dataset, scored),
        train_metrics=choose_train_metrics(spec["evaluation"].get(TRAIN_METRICS_KEY)),
        max_folds=spec.get("max_folds", DEFAULT_MAX_FOLDS),
        tables=resources.tables,
    )


def _order_classes(learner: Any, dataset: Dataset) -> Any:
    """Return the learner with the order of classes declared in an ARFF file, unless it has another order.

    The order breaks ties between votes if the learner has a parameter ``class_order``.
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
    """Return the metrics with the given names after trying each on the target of the dataset."""
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
    """Return the metric by which a threshold is chosen; None for the headline."""
    name = spec["threshold"].get("metric")
    if name is None:
        return None
    # A user-defined metric is described once, among the metrics of the run.
    own = [entry for entry in spec["evaluation"].get("metrics") or [] if name_entry(entry) == name]
    try:
        # The cost metric is appended automatically after the named one.
        chosen, *_ = _choose_metrics(spec, dataset, scored, own or [name]).values()
    except UserError as error:
        message = str(error).replace("evaluation.metrics", "threshold.metric")
        raise UserError(message.replace("; remove it from the list", "; choose another")) from None
    return chosen


def get_row_bounded_parameters(estimator: Any) -> tuple[str, ...]:
    """Return the parameters of an estimator that must not exceed the number of training rows.

    A learner lists them in ``row_bounded_parameters``.

    Parameters
    ----------
    estimator : estimator
        An estimator of bakeoff or of another library.
    """
    declared: tuple[str, ...] | None = getattr(estimator, "row_bounded_parameters", None)
    if declared is not None:
        return declared
    parameters = estimator.get_params()
    return tuple(name for name in UNDECLARED_ROW_BOUNDED_PARAMETERS if name in parameters)


def leave_out_candidates(experiment: Experiment, splits: Splits) -> Experiment:
    """Return the experiment without candidates that need more rows than available, unless its tuning is strict.

    The smallest part on which a candidate is fitted determines the limit, so all folds have the same candidates.

    Parameters
    ----------
    experiment : Experiment
    splits : Splits
    """
    tuning = experiment.tuning
    if not isinstance(tuning, GridTuning) or tuning.strict:
        return experiment
    bounded = get_row_bounded_parameters(experiment.learner)
    if not bounded:
        return experiment
    largest = dict.fromkeys(bounded, count_smallest_inner_part(experiment, splits))
    return replace(experiment, tuning=replace(tuning, largest=largest))


def count_smallest_inner_part(experiment: Experiment, splits: Splits) -> int:
    """Return the number of rows in the smallest part on which a tuning candidate is fitted."""
    inner_folds = experiment.tuning.folds
    n_rows = splits.min_train_rows
    if not inner_folds:
        return n_rows
    if not experiment.rows_belong_together:
        return n_rows - math.ceil(n_rows / inner_folds)
    return min(len(fitted) for split in splits.fitted for fitted, _ in make_tuning_splits(experiment, split))
