"""The two sides of a difference: stored runs, and their configurations as they can be run here, on common test rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.pipeline.commands.compare.cells import choose_compared_metrics
from bakeoff.pipeline.commands.compare.comparison import ComparedMetric
from bakeoff.pipeline.commands.compare.run_grid import SEED_KEY, describe_run, read_overrides
from bakeoff.pipeline.commands.diff.changes import DATA, EVALUATION, LEARNER, MIXED_PARTS, NOT_SET, Variant
from bakeoff.pipeline.commands.diff.request import ReportRequest
from bakeoff.pipeline.config.compose_job import compose_parts
from bakeoff.pipeline.config.options import GROUPS
from bakeoff.pipeline.config.settle import settle_config
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.experiment.builder import PartCache, build_experiment
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.sweep.differences import DECISIVE_TAGS, find_changes
from bakeoff.pipeline.sweep.refit import read_finished_run
from bakeoff.pipeline.text.wording import ABSENT, join_words
from bakeoff.pipeline.tracking.names import find_headline, find_run_id, names_run
from bakeoff.pipeline.tracking.provenance import count_changed_lines
from bakeoff.pipeline.tracking.run_content import read_stored_config, restore_config
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import StoredRun, find_runs_of_sweep, read_stored_runs

SEED = "seed"
FIXED_KEYS = (SEED, EVALUATION)
"""The beginnings of the params that hybrids share."""
VALIDATION_KEY = "evaluation.validation"
CONFIGURED_NAMES = tuple(DECISIVE_TAGS[tag] for tag in ("dataset_digest", "code_hash", "threads"))
"""What differs between repeated runs only because their configurations do."""
COMMIT_TAG = "mlflow.source.git.commit"


@dataclass(frozen=True)
class Side:
    """A stored run with the configuration in which it can be run here.

    Attributes
    ----------
    run : StoredRun
    variant : Variant
    missing : str
        Why its rows cannot be read; empty if they can.
    """

    run: StoredRun
    variant: Variant
    missing: str = ""


def read_side(store: Store, run_id: str, trust: Sequence[str]) -> Side:
    """Read a finished run and its configuration.

    Parameters
    ----------
    store : Store
    run_id : str
    trust : sequence of str
        Packages that the user trusts now.

    Raises
    ------
    UserError
        The run did not finish, was deleted, or was stored by other code.
    """
    run = read_finished_run(store, run_id)
    if run.is_deleted:
        raise UserError(f"run {run_id} was deleted; restore it in MLflow, or name another run.")
    spec = {**read_stored_config(store, run_id), "trust": list(trust)}
    missing = ""
    try:
        spec = restore_config(store, run_id, trust)
    except UserError as error:
        missing = str(error)
    choices = {group: run.params[group] for group in GROUPS if group in run.params}
    return Side(run, Variant(spec, choices, tuple(read_overrides(run))), missing)


def read_named_side(store: Store, word: str, request: ReportRequest, sweep: str = "") -> Side:
    """Return the run that a word names; in a sweep, also a configuration."""
    if sweep:
        runs = read_stored_runs(store, find_runs_of_sweep(store, sweep))
        named = {run.name.removesuffix(f" {run.params.get('dataset')}"): run.run_id for run in runs}
        if word in named:
            return read_side(store, named[word], request.trust)
        if not names_run(word):
            raise UserError(f"{word!r} is not a configuration of the sweep {sweep}. {did_you_mean(word, named)}")
    return read_side(store, find_run_id(store, word, request.dataset), request.trust)


def choose_headline(runs: Sequence[StoredRun]) -> ComparedMetric:
    """Return the headline score that runs share.

    Raises
    ------
    UserError
        They have different headline scores, or were stored by other code.
    """
    names = sorted({str(find_headline(run.params, run.metrics)) for run in runs})
    if len(names) > 1:
        raise UserError(
            f"the runs have different headline scores, {join_words(names)}; name runs with the same first score in "
            "evaluation.metrics."
        )
    return choose_compared_metrics((), list(map(describe_run, runs)), 0)[0]


def align_sides(
    a: Side, b: Side, store: Store, experiment: str, evaluation: Sequence[str]
) -> tuple[Variant, Variant, Dataset]:
    """Return both configurations with one seed, one evaluation and the same test rows, and the dataset of the second.

    Where the seeds, the evaluations or the rows differ, those of the second side are used.

    Parameters
    ----------
    a, b : Side
    store : Store
        Where the hybrids are stored.
    experiment : str
    evaluation : sequence of str
        Overrides of the evaluation, which replaces that of both runs; usually empty.

    Raises
    ------
    UserError
        The datasets or the tasks differ, or the rows of neither run can be read.
    """
    if a.missing and b.missing:
        raise UserError(b.missing)
    shared = _share_settings(b.variant.spec, store, experiment, evaluation)
    specs = [_replace_parts(shared, side.variant.spec) for side in (a, b)]
    if a.missing or b.missing:
        specs[0][DATA] = specs[1][DATA] = specs[1 if a.missing else 0][DATA]
    # Settling rejects names that need trust before any of them is built.
    experiments = [build_experiment(settle_config(spec), PartCache()) for spec in specs]
    first, second = (each.dataset for each in experiments)
    _require_same("tasks", f"{first.task} of {first.target}", f"{second.task} of {second.target}")
    if experiments[0].make_splits().digest() != experiments[1].make_splits().digest():
        _require_same("datasets", first.name, second.name)
        specs[0][DATA] = specs[1][DATA]
    words = [*(evaluation or b.variant.find_words(EVALUATION)), *b.variant.find_words(SEED)]
    start, end = (_settle_variant(side.variant, spec, words) for side, spec in zip((a, b), specs, strict=True))
    return start, end, second


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
    validation = {"validation": spec[EVALUATION].get("validation")}
    learner = dict(parts[LEARNER])
    if learner.get(SEED_KEY) == spec[SEED]:
        learner[SEED_KEY] = shared[SEED]
    return {**shared, **parts, LEARNER: learner, EVALUATION: {**shared[EVALUATION], **validation}}


def _settle_variant(variant: Variant, spec: Mapping[str, Any], words: Sequence[str]) -> Variant:
    """Return a configuration with the shared words of its evaluation and its seed."""
    own = [word for word in variant.drop_words(EVALUATION) if word not in variant.find_words(SEED)]
    return replace(variant, spec=settle_config(spec), overrides=(*own, *words))


def _require_same(what: str, first: str, second: str) -> None:
    if first != second:
        raise UserError(
            f"the runs have different {what}, {first} and {second}, so their scores cannot be paired; name two runs "
            "on one dataset."
        )


def describe_differences(runs: Sequence[StoredRun], *, is_repeated: bool) -> list[tuple[str, str, str]]:
    """Return what two runs record that hybrids do not contain: its name, and both values.

    Parameters
    ----------
    runs : sequence of StoredRun
        Two runs.
    is_repeated : bool
        Whether both are runs of this code, so that their data and code differ only because their configurations do.
    """
    a, b = runs
    found = [(each.name, each.stored, each.now) for each in find_changes(a.tags, b.tags)]
    found = [each for each in found if not (is_repeated and each[0] in CONFIGURED_NAMES)]
    commits = [run.tags.get(COMMIT_TAG, "") for run in runs]
    lines = count_changed_lines(*commits) if all(commits) and commits[0] != commits[1] else ""
    found += [("files changed between the commits", ABSENT, lines)] if lines else []
    keys = [key for key in sorted({*a.params, *b.params}) if key.startswith(FIXED_KEYS) and key != VALIDATION_KEY]
    settings = [(key, a.params.get(key, NOT_SET), b.params.get(key, NOT_SET)) for key in keys]
    return [*found, *(each for each in settings if each[1] != each[2])]
