"""A job: one composed configuration, from preflight to the last written value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pipeline import preflight, report, scoring
from pipeline.config import as_yaml, build, settle
from pipeline.dataset import Dataset
from pipeline.experiment import Experiment, Fold, Judge, Model, Stopped, final_model, go_on, run
from pipeline.request import Request
from pipeline.screen import Screen
from pipeline.sweep import config_hash
from pipeline.tracking import Description, Tracker

PARTS = ("dataset", "preprocessing", "learner", "tuning", "pruning", "evaluation")


@dataclass(frozen=True)
class Result:
    """What came of a job.

    Attributes
    ----------
    name : str
    run_id : str or None
    score : float
        The mean headline score on test rows.
    metrics : mapping of str to float
        The mean over folds of each metric, by its name in the store.
    pruned : bool
        A judge stopped the run; score and metrics are those of the folds until then.
    error : str or None
        Why there is no run, or a failed one.
    """

    name: str
    run_id: str | None
    score: float
    metrics: Mapping[str, float] = field(default_factory=dict)
    pruned: bool = False
    error: str | None = None


def assemble(spec: Mapping[str, Any]) -> Experiment:
    """Build the experiment that a settled configuration describes.

    Raises
    ------
    Refusal
    """
    trust = list(spec["trust"])
    dataset: Dataset = build(spec["dataset"], "dataset", trust)
    learner = build(spec["learner"], "learner", trust)
    evaluation = dict(spec["evaluation"])
    names = evaluation.pop("metrics", None)  # the rest is the splitter's
    return Experiment(
        dataset=dataset,
        preprocessing=build(spec["preprocessing"], "preprocessing", trust),
        learner=learner,
        tuning=build(spec["tuning"], "tuning", trust),
        pruning=build(spec["pruning"], "pruning", trust),
        splitter=build(evaluation, "evaluation", trust),
        metrics=scoring.choose_metrics(names, dataset.task, learner),
        seed=spec["seed"],
    )


def execute(spec: Mapping[str, Any], request: Request, screen: Screen, judge: Judge = go_on) -> Result:
    """Run one job.

    Parameters
    ----------
    spec : mapping
        The composed configuration, resolved.
    request : Request
    screen : Screen
    judge : callable
        (experiment, folds so far) -> whether to go on; asked after each fold.

    Raises
    ------
    Refusal
        Seen before anything ran; nothing is in the store.
    Exception
        Whatever a learner raises; the run is FAILED, with the traceback.
    """
    spec = settle(spec)
    experiment = assemble(spec)
    splits = preflight.check(experiment)
    figures = [build(node, f"figures[{i}]", list(spec["trust"])) for i, node in enumerate(spec.get("figures", []))]
    tracker: Tracker = build(spec["tracking"], "tracking", list(spec["trust"]))
    tracker.open()
    description = describe(spec, request, experiment.dataset)
    if request.sweep is None:
        screen.experiment(description.name, experiment)
    folds: list[Fold] = []
    try:
        with tracker.run(description, experiment) as kept:
            for fold in screen.watch(run(experiment, splits), len(splits), description.name):
                kept.fold(fold)
                folds.append(fold)
                if not judge(experiment, folds) and len(folds) < len(splits):
                    raise Stopped
            model: Model = final_model(experiment, folds[-1])
            kept.finish(model, figures)
    except Stopped:
        screen.say(f"#{request.number:<4} {description.name:<36} pruned after {len(folds)} of {len(splits)} folds")
        return _result(description, kept.run_id, experiment, folds, pruned=True)
    if request.sweep is None:
        screen.scores(experiment, folds, model)
        screen.kept(kept.run_id, tracker.store)
    else:
        screen.job(request.number, description.name, experiment, folds, kept.run_id)
    return _result(description, kept.run_id, experiment, folds)


def _result(
    description: Description, run_id: str | None, experiment: Experiment, folds: list[Fold], pruned: bool = False
) -> Result:
    metrics = report.summary(experiment, folds)
    return Result(description.name, run_id, metrics[f"test_{experiment.headline}"], metrics, pruned)


def describe(spec: Mapping[str, Any], request: Request, dataset: Dataset) -> Description:
    """Return the run's name, params and tags."""
    choices = {part: request.choices.get(part, "custom") for part in PARTS}
    choices["dataset"] = dataset.name
    choices["pruning"] = str(spec["pruning"].get("method", "none"))
    experiment = request.choices.get("experiment", "none")
    params = choices | ({"experiment": experiment} if experiment != "none" else {}) | {"seed": str(spec["seed"])}
    told = PARTS if "path" in spec["dataset"] else PARTS[1:]  # but for a file, the option's name tells all of a dataset
    params |= {key: value for part in told for key, value in _flat(part, spec[part])}
    digest = dataset.digest()
    tags = {"config_hash": config_hash(spec, digest), "dataset_digest": digest}
    tags |= {"sweep": request.sweep} if request.sweep else {}
    return Description(
        name=run_name(choices, spec, request.varying),
        params=params,
        tags=tags,
        config=as_yaml(spec),
        trust=tuple(spec["trust"]),
    )


def run_name(choices: Mapping[str, str], spec: Mapping[str, Any], varying: tuple[str, ...]) -> str:
    """Name a run by what sets it apart, then by learner and dataset: pages cut names at about 20 characters.

    Examples
    --------
    >>> choices = {"learner": "knn", "dataset": "iris"}
    >>> run_name(choices, {"learner": {"n_neighbors": 5}}, ("learner.n_neighbors", "learner"))
    'knn n_neighbors=5 iris'
    >>> run_name(choices, {"seed": 3}, ("seed",))
    'seed=3 knn iris'
    """
    shown = [key for key in varying if key.split(".")[0] not in ("tracking", "trust", "hydra", "dataset")]
    spec = {**spec, **{key: option for key, option in choices.items() if option == "none"}}
    shown.sort(key=lambda key: (key != "learner", not key.startswith("learner.")))
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
