"""Hybrids of two runs: both configurations as they can be run here, on common test rows, mixed and run as a sweep."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from bakeoff.pipeline.commands.compare.cells import choose_compared_metrics
from bakeoff.pipeline.commands.compare.run_grid import SEED_KEY, SHORT_ID_LETTERS, describe_run, read_overrides
from bakeoff.pipeline.commands.comparison_report.comparison import ComparedMetric
from bakeoff.pipeline.commands.diff.changes import (
    DATA,
    EVALUATION,
    LEARNER,
    MIXED_PARTS,
    Mixture,
    Variant,
    find_changes,
    join_changes,
    sets_key,
)
from bakeoff.pipeline.commands.diff.effects import Changes
from bakeoff.pipeline.commands.diff.request import ReportRequest
from bakeoff.pipeline.commands.repetition.refit import read_finished_run
from bakeoff.pipeline.config.compose_job import compose_parts
from bakeoff.pipeline.config.engine import ConfigSource
from bakeoff.pipeline.config.options import GROUPS
from bakeoff.pipeline.config.settle import settle_config
from bakeoff.pipeline.config.words import SWEEP_KEYS, Invocation
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment.builder import PartCache, build_experiment
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.sweep.command import SweepRequest
from bakeoff.pipeline.sweep.job_runner import JobRunner
from bakeoff.pipeline.sweep.jobs import DONE_KINDS, SWEEPS_FOLDER, Job
from bakeoff.pipeline.sweep.request import run_requested_sweep
from bakeoff.pipeline.text.wording import join_words
from bakeoff.pipeline.tracking.history import find_runs_of_sweep
from bakeoff.pipeline.tracking.names import find_headline, find_run_id, names_run
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_config import read_stored_config, restore_config
from bakeoff.pipeline.tracking.stored_runs import StoredRun, read_series, read_stored_runs

SEED = "seed"


@dataclass(frozen=True)
class HybridSweep:
    """The sweep of hybrids that a command runs.

    Attributes
    ----------
    name : str
    store : Store
    runs : sequence of StoredRun
        The stored runs from which hybrids take their keys: two, or the one of an ablation.
    start, end : Variant
        Their configurations on the same test rows; of an ablation, twice the same one.
    dataset : Dataset
    metric : ComparedMetric
        The headline score of the runs.
    evaluation : sequence of str
        Overrides of the evaluation that replaces that of the runs; usually empty.
    request : SweepRequest
        The request for the sweep, without its jobs.
    """

    name: str
    store: Store
    runs: Sequence[StoredRun]
    start: Variant
    end: Variant
    dataset: Dataset
    metric: ComparedMetric
    evaluation: Sequence[str]
    request: SweepRequest

    def evaluate(self, mixture: Mixture, hybrids: Sequence[Changes]) -> tuple[list[StoredRun], np.ndarray] | None:
        """Run the hybrids that are not done; return None if only the plan was requested.

        Returns
        -------
        runs : list of StoredRun
            The run of each hybrid.
        scores : ndarray of shape (n_hybrids, J)

        Raises
        ------
        UserError
            A hybrid is invalid or failed; those that finished are kept.
        """
        jobs = _make_jobs(mixture, hybrids, self.name)
        report = run_requested_sweep(replace(self.request, composed=jobs))
        if report.is_dry_run:
            return None
        done = {each.number: each.run_id for each in report.outcomes if each.kind in DONE_KINDS and each.run_id}
        for job in jobs:
            if job.number not in done:
                reason = next((each.reason for each in report.outcomes if each.number == job.number), "it was not run")
                raise UserError(
                    f"the hybrid {job.name!r} has no scores: {reason}. The hybrids that finished are kept; the same "
                    "command runs the others."
                )
        runs = read_stored_runs(self.store, [done[job.number] for job in jobs])
        return runs, read_fold_scores(self.store, runs, self.metric.name)


def prepare_sweep(
    verb: str,
    names: Sequence[str],
    request: ReportRequest,
    words: Sequence[str],
    source: ConfigSource,
    *,
    sweep: str = "",
    quiet: bool = False,
) -> HybridSweep:
    """Read the runs that a command names, and align their configurations.

    Parameters
    ----------
    verb : str
        The command, which names the sweep with the ids of the runs.
    names : sequence of str
        Words that name one or two runs.
    request : ReportRequest
    words : sequence of str
        Overrides of the sweep, such as ``workers=4``, and of the evaluation, which replaces that of the runs.
    source : ConfigSource
    sweep : str
        A sweep whose configurations `names` may name.
    quiet : bool
        Whether the sweep prints nothing.

    Raises
    ------
    UserError
        A run cannot be repeated, the runs cannot be compared, or a word belongs neither to the sweep nor to the
        evaluation.
    """
    _require_words(verb, words)
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    sides = [_read_side(store, name, request, sweep) for name in names]
    evaluation = [word for word in words if sets_key(word, EVALUATION)]
    shared = _share_settings(sides[-1].variant.spec, store, request.tracking__experiment, evaluation)
    start, end, dataset = _align_sides(sides[0], sides[-1], shared, evaluation)
    runs = [side.run for side in sides]
    title = "-".join([verb, *(run.run_id[:SHORT_ID_LETTERS] for run in runs)])
    own_words = [word for word in words if word not in evaluation]
    return HybridSweep(
        name=title,
        store=store,
        runs=runs,
        start=start,
        end=end,
        dataset=dataset,
        metric=_choose_headline(runs),
        evaluation=evaluation,
        request=SweepRequest((*own_words, f"hydra.sweep.dir={SWEEPS_FOLDER}/{title}"), source, quiet=quiet),
    )


def _require_words(verb: str, words: Sequence[str]) -> None:
    for word in words:
        if not sets_key(word, *SWEEP_KEYS, "hydra", EVALUATION) or "sweeper" in word:
            raise UserError(
                f"{word} is not a key of {verb}: hybrids take their keys from the runs. Keys of the sweep, such as "
                "workers=2, and of the evaluation, such as evaluation=repeated_kfold, are allowed."
            )


@dataclass(frozen=True)
class Side:
    """A stored run with the configuration in which it can be run here.

    Attributes
    ----------
    run : StoredRun
    variant : Variant
    missing : UserError or None
        Why its rows cannot be read, if they cannot.
    """

    run: StoredRun
    variant: Variant
    missing: UserError | None = None


def _read_side(store: Store, name: str, request: ReportRequest, sweep: str) -> Side:
    """Read the finished run that a word names, and its configuration."""
    run_id = _find_configuration(store, name, sweep) if sweep else None
    run = read_finished_run(store, run_id or find_run_id(store, name, request.dataset))
    if run.is_deleted:
        raise UserError(f"run {run.run_id} was deleted; restore it in MLflow, or name another run.")
    spec = {**read_stored_config(store, run.run_id), "trust": list(request.trust)}
    missing = None
    try:
        spec = restore_config(store, run.run_id, request.trust)
    except UserError as error:
        missing = error
    choices = {group: run.params[group] for group in GROUPS if group in run.params}
    return Side(run, Variant(spec, choices, tuple(read_overrides(run))), missing)


def _find_configuration(store: Store, word: str, sweep: str) -> str | None:
    """Return the id of the run of a configuration of a sweep; None if the word names a run otherwise."""
    runs = read_stored_runs(store, find_runs_of_sweep(store, sweep))
    named = {run.name.removesuffix(f" {run.params.get('dataset')}"): run.run_id for run in runs}
    if word not in named and not names_run(word):
        raise UserError(f"{word!r} is not a configuration of the sweep {sweep}. {did_you_mean(word, named)}")
    return named.get(word)


def _choose_headline(runs: Sequence[StoredRun]) -> ComparedMetric:
    """Return the headline score that runs share."""
    names = sorted({str(find_headline(run.params, run.metrics)) for run in runs})
    if len(names) > 1:
        raise UserError(
            f"the runs have different headline scores, {join_words(names)}; name runs with the same first score in "
            "evaluation.metrics."
        )
    return choose_compared_metrics((), list(map(describe_run, runs)), 0)[0]


def _align_sides(
    a: Side, b: Side, shared: Mapping[str, Any], evaluation: Sequence[str]
) -> tuple[Variant, Variant, Dataset]:
    """Return both configurations on the same test rows, and the dataset of the second.

    Where seeds, evaluations or rows differ, those of the second side are used, from which the shared settings come.
    """
    if a.missing and b.missing:
        raise b.missing
    first, second = (_replace_parts(shared, side.variant.spec) for side in (a, b))
    if a.missing:
        first[DATA] = second[DATA]
    if b.missing:
        second[DATA] = first[DATA]
    # Settling rejects names that need trust before any of them is built.
    experiments = [build_experiment(settle_config(spec), PartCache()) for spec in (first, second)]
    datasets = [each.dataset for each in experiments]
    _require_same("tasks", *(f"{dataset.task} of {dataset.target}" for dataset in datasets))
    if len({each.make_splits().digest() for each in experiments}) > 1:
        _require_same("datasets", *(dataset.name for dataset in datasets))
        first[DATA] = second[DATA]
    words = [*(evaluation or b.variant.find_words(EVALUATION)), *b.variant.find_words(SEED)]
    start, end = (
        replace(variant, spec=settle_config(spec), overrides=(*variant.drop_words(EVALUATION, SEED), *words))
        for variant, spec in ((a.variant, first), (b.variant, second))
    )
    return start, end, datasets[1]


def _share_settings(
    spec: Mapping[str, Any], store: Store, experiment: str, evaluation: Sequence[str]
) -> dict[str, Any]:
    """Return a configuration with the store and the evaluation of the hybrids, and without figures."""
    tracking = {**spec["tracking"], "uri": store.uri, "experiment": experiment}
    changed = compose_parts(evaluation, [EVALUATION]) if evaluation else {}
    return {**spec, **changed, "tracking": tracking, "figures": []}


def _replace_parts(shared: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return shared settings with the parts of a configuration that hybrids may contain."""
    parts = {part: spec[part] for part in MIXED_PARTS}
    if parts[LEARNER].get(SEED_KEY) == spec[SEED]:
        parts[LEARNER] = {**parts[LEARNER], SEED_KEY: shared[SEED]}
    evaluation = {**shared[EVALUATION], "validation": spec[EVALUATION].get("validation")}
    return {**shared, **parts, EVALUATION: evaluation}


def _require_same(what: str, first: str, second: str) -> None:
    if first != second:
        raise UserError(
            f"the runs have different {what}, {first} and {second}, so their scores cannot be paired; name two runs "
            "on one dataset."
        )


def separate_changes(a: Variant, b: Variant) -> Mixture:
    """Return the changes between two configurations, of which those that are invalid without each other are joined.

    Raises
    ------
    UserError
        The configurations themselves are invalid here.
    """
    mixture = Mixture(a, b, find_changes(a, b))
    while invalid := _find_invalid(mixture):
        keys = {change.key for change in mixture.changes}
        if len(keys) == 1:
            raise UserError(f"the runs cannot be repeated here: {next(iter(invalid.values()))}")
        # Another learner is the usual reason why a change is invalid without another one.
        joined = {*invalid, LEARNER} & keys
        mixture = Mixture(a, b, join_changes(mixture.changes, joined if len(joined) > 1 else keys))
    return mixture


def _find_invalid(mixture: Mixture) -> dict[str, str]:
    """Return the changes that are invalid alone or without the others, each with the reason."""
    runner = JobRunner(tries_own_code=False)
    every = frozenset(range(len(mixture.changes)))
    invalid = {}
    for i, change in enumerate(mixture.changes):
        for job in _make_jobs(mixture, [frozenset([i]), every - {i}], ""):
            try:
                runner.check_job(runner.identify_job(job))
            except UserError as error:
                invalid[change.key] = str(error)
    return invalid


def _make_jobs(mixture: Mixture, hybrids: Sequence[Changes], sweep: str) -> list[Job]:
    """Return a job of a sweep for each hybrid."""
    varying = tuple(".".join(path) for change in mixture.changes for path in change.paths)
    jobs = []
    for number, chosen in enumerate(hybrids):
        variant = mixture.make_hybrid(chosen)
        invocation = Invocation(variant.choices, varying, sweep, number, variant.overrides)
        jobs.append(Job(number, " ".join(variant.overrides), invocation, variant.spec))
    return jobs


def read_fold_scores(store: Store, runs: Sequence[StoredRun], metric: str) -> np.ndarray:
    """Return the scores of each run in each fold, shape (n_runs, J).

    Raises
    ------
    UserError
        A score is not defined in each fold.
    """
    series = read_series(store, runs, [metric])
    scores = pd.DataFrame([series[run.run_id].get(metric, ()) for run in runs])  # (n_runs, J)
    for run, is_missing in zip(runs, scores.isna().any(axis=1), strict=True):
        if is_missing or scores.empty:
            raise UserError(
                f"{metric} of run {run.run_id} ({run.name}) is not defined in each fold, so no effects on it can be "
                "measured; name runs with another score in evaluation.metrics."
            )
    return scores.to_numpy()


def have_same_splits(runs: Sequence[StoredRun]) -> bool:
    """Whether runs were scored on the same test rows in each fold."""
    return len({run.tags.get("splits_digest") for run in runs}) == 1


def find_ratio(runs: Sequence[StoredRun]) -> float:
    """Return the largest number of test rows per training row of some runs."""
    rows = [json.loads(run.tags["rows_per_fold"]) for run in runs]
    return max(float(each["test"]) / float(each["train"]) for each in rows)
