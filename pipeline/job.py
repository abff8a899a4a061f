"""A job: one composed configuration, from preflight to the last written value."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from bakeoff.pipeline import preflight
from bakeoff.pipeline.config.build import build_object
from bakeoff.pipeline.config.invocation import Invocation
from bakeoff.pipeline.config.settle import settle_config, to_yaml
from bakeoff.pipeline.experiment import Experiment, FittedModel, FoldResult, evaluate_splits, fit_final_model
from bakeoff.pipeline.identity import hash_config
from bakeoff.pipeline.stages import scoring
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.splitting import Split
from bakeoff.pipeline.tracking import Figure, RunDescription, RunStopped, Tracker

ContinueRule = Callable[[Experiment, Sequence[FoldResult]], bool]
"""Says of the folds so far whether further ones are worth their time."""
PARTS = ("dataset", "preprocessing", "learner", "tuning", "pruning", "evaluation")


@dataclass
class PartCache:
    """What jobs of one process share: a part that is described in the same words is built once.

    So each dataset is loaded once and each store opened once.  Nothing is fitted but clones, and learners and
    preprocessing never write to their input, so that no job changes what the next one finds.
    """

    _built: dict[str, Any] = field(default_factory=dict)

    def build(self, part: str, node: Mapping[str, Any], trust: Sequence[str]) -> Any:
        """Return what a node of the configuration describes; raises UserError as `build_object` does."""
        key = json.dumps([part, node, list(trust)], sort_keys=True, default=str)
        if key not in self._built:
            self._built[key] = build_object(node, part, list(trust))
        return self._built[key]

    def dataset(self, spec: Mapping[str, Any]) -> Dataset:
        """Return the dataset of a settled configuration."""
        dataset: Dataset = self.build("dataset", spec["dataset"], spec["trust"])
        return dataset

    def tracker(self, spec: Mapping[str, Any]) -> Tracker:
        """Return the tracker of a settled configuration."""
        tracker: Tracker = self.build("tracking", spec["tracking"], spec["trust"])
        return tracker


@dataclass(frozen=True)
class PreparedJob:
    """A job that passed preflight.

    Attributes
    ----------
    spec : mapping
        Settled.
    experiment : Experiment
    splits : list of Split
    figures : sequence of Figure
    description : RunDescription
    """

    spec: Mapping[str, Any]
    experiment: Experiment
    splits: list[Split]
    figures: Sequence[Figure]
    description: RunDescription


@dataclass(frozen=True)
class JobResult:
    """What came of a job.

    Attributes
    ----------
    experiment : Experiment
    folds : list of FoldResult
    model : FittedModel
        The run's model.
    run_id : str or None
    stopped : str
        After how many folds a judge stopped it; empty if it came to its end.
    """

    experiment: Experiment
    folds: list[FoldResult]
    model: FittedModel
    run_id: str | None
    stopped: str = ""

    @property
    def score(self) -> float:
        """The mean headline score on test rows."""
        headline = [fold.scores[f"test_{self.experiment.headline}"] for fold in self.folds]
        return sum(headline) / len(headline)


class ShowProgress(Protocol):
    """Lets the folds through, and shows them."""

    def __call__(self, folds: Iterator[FoldResult], total: int, title: str) -> Iterator[FoldResult]:
        """Yield each fold."""


def build_experiment(spec: Mapping[str, Any], resources: PartCache) -> Experiment:
    """Build the experiment that a settled configuration describes.

    Raises
    ------
    UserError
    """
    dataset = resources.dataset(spec)
    evaluation = dict(spec["evaluation"])
    names = evaluation.pop("metrics", None)  # the rest is the splitter's
    nodes = {**spec, "evaluation": evaluation}
    parts = {part: resources.build(part, nodes[part], spec["trust"]) for part in PARTS[1:]}
    return Experiment(
        dataset=dataset,
        preprocessing=parts["preprocessing"],
        learner=parts["learner"],
        tuning=parts["tuning"],
        pruning=parts["pruning"],
        splitter=parts["evaluation"],
        metrics=scoring.choose_metrics(names, dataset.task, parts["learner"]),
        seed=spec["seed"],
    )


def prepare_job(spec: Mapping[str, Any], invocation: Invocation, resources: PartCache) -> PreparedJob:
    """Build and check a job; nothing is fitted, nothing is kept.

    Parameters
    ----------
    spec : mapping
        The composed configuration, resolved; settled or not.
    invocation : Invocation
    resources : PartCache

    Raises
    ------
    UserError
    """
    spec = settle_config(spec, invocation.choices)
    experiment = build_experiment(spec, resources)
    splits = preflight.check(experiment)
    figures = [
        resources.build(f"figures[{place}]", node, spec["trust"]) for place, node in enumerate(spec.get("figures", []))
    ]
    for figure in figures:
        figure.check(experiment)
    return PreparedJob(spec, experiment, splits, figures, describe_run(spec, invocation, experiment.dataset))


def always_continue(experiment: Experiment, folds: Sequence[FoldResult]) -> bool:
    """Let every run come to its end: the judge that is none."""
    return True


def execute_job(
    prepared: PreparedJob, tracker: Tracker, watch: ShowProgress, judge: ContinueRule = always_continue
) -> JobResult:
    """Fit, score and keep.

    Parameters
    ----------
    prepared : PreparedJob
    tracker : Tracker
    watch : ShowProgress
    judge : callable
        (experiment, folds so far) -> whether to go on; asked after each fold.

    Raises
    ------
    UserError
        The store cannot be written; nothing was fitted.
    Exception
        Whatever a learner raises; the run is FAILED, with the traceback.
    """
    experiment, splits, title = prepared.experiment, prepared.splits, prepared.description.name
    folds: list[FoldResult] = []
    try:
        with tracker.start_run(prepared.description, experiment) as kept:
            for fold in watch(evaluate_splits(experiment, splits, prepared.spec.get("n_jobs", 1)), len(splits), title):
                kept.record_fold(fold)
                folds.append(fold)
                if not judge(experiment, folds) and len(folds) < len(splits):
                    raise RunStopped(f"after {len(folds)} of {len(splits)} folds")
            model = fit_final_model(experiment, folds[-1])
            kept.finish(model, prepared.figures)
    except RunStopped as stopped:
        return JobResult(experiment, folds, folds[-1].model, kept.run_id, str(stopped))
    return JobResult(experiment, folds, model, kept.run_id)


def describe_run(spec: Mapping[str, Any], invocation: Invocation, dataset: Dataset) -> RunDescription:
    """Return the run's name, params and tags."""
    choices = {part: invocation.choices.get(part, "custom") for part in PARTS}
    choices["dataset"] = dataset.name
    choices["pruning"] = str(spec["pruning"].get("method", "none"))
    experiment = invocation.choices.get("experiment", "none")
    params = choices | ({"experiment": experiment} if experiment != "none" else {}) | {"seed": str(spec["seed"])}
    parameters = {"path", "rows"} & set(spec["dataset"])  # of a file, or of rows that are made
    told = PARTS if parameters else PARTS[1:]  # of another dataset the option's name tells all
    params |= {key: value for part in told for key, value in _flat(part, spec[part])}
    digest = dataset.digest()
    tags = {"config_hash": hash_config(spec, digest), "dataset_digest": digest}
    tags |= {"overrides": json.dumps(invocation.overrides)} | ({"sweep": invocation.sweep} if invocation.sweep else {})
    tags |= {"study": invocation.study} if invocation.study else {}
    return RunDescription(
        name=name_run(choices | {"experiment": experiment}, spec, invocation.varying),
        params=params,
        tags=tags,
        config=to_yaml(spec),
        trust=tuple(spec["trust"]),
    )


def name_run(choices: Mapping[str, str], spec: Mapping[str, Any], varying: tuple[str, ...]) -> str:
    """Name a run by what sets it apart, then by learner and dataset: pages cut names at about 20 characters.

    Examples
    --------
    >>> choices = {"learner": "knn", "dataset": "iris"}
    >>> name_run(choices, {"learner": {"n_neighbors": 5}}, ("learner.n_neighbors", "learner"))
    'knn n_neighbors=5 iris'
    >>> name_run(choices, {"seed": 3}, ("seed",))
    'seed=3 knn iris'
    """
    shown = [
        key
        for key in varying
        if key.split(".")[0] not in ("tracking", "trust", "hydra", "dataset", "figures", "n_jobs")
    ]
    spec = {**spec, **{key: option for key, option in choices.items() if option == "none"}}
    shown.sort(key=lambda key: (key != "experiment", key != "learner", not key.startswith("learner.")))
    words = [
        choices[key] if choices.get(key, "none") != "none" else f"{key.split('.')[-1]}={_at(spec, key)}"
        for key in shown
    ]
    words += [choices[part] for part in ("learner", "dataset") if part not in shown]
    return " ".join(words)


def _at(spec: Mapping[str, Any], key: str) -> Any:
    value: Any = spec
    for name in key.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _flat(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield dotted keys and texts; the class behind ``_target_`` is told by the chosen option."""
    if isinstance(value, Mapping):
        for name, child in value.items():
            if name != "_target_":
                yield from _flat(f"{key}.{name}", child)
    else:
        yield key, value if isinstance(value, str) else json.dumps(value, default=str)
