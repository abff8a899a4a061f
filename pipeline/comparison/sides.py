"""The two sides of a difference: stored runs, and their configurations as they can be run here, on common test rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.pipeline.comparison.changes import DATA, LEARNER, MIXED_PARTS, NOT_SET, Variant
from bakeoff.pipeline.config.compose_job import compose_parts
from bakeoff.pipeline.config.options import GROUPS
from bakeoff.pipeline.config.settle import settle_config
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.experiment.builder import PartCache, build_experiment
from bakeoff.pipeline.replay.differences import DECISIVE_TAGS, find_changes
from bakeoff.pipeline.replay.refit import read_finished_run
from bakeoff.pipeline.text.wording import ABSENT
from bakeoff.pipeline.tracking.provenance import count_changed_lines
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_config import read_stored_config, restore_config
from bakeoff.pipeline.tracking.stored_runs import StoredRun

EVALUATION = "evaluation"
RANDOM_STATE = "random_state"
FIXED_KEYS = ("seed", "evaluation")
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

    @property
    def digest(self) -> str:
        """The fingerprint of the rows at the time of the run."""
        return self.run.tags.get("dataset_digest", "")


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
    return Side(run, Variant(spec, choices, tuple(json.loads(run.tags["overrides"]))), missing)


@dataclass(frozen=True)
class Alignment:
    """The configurations of both sides with the same test rows.

    Attributes
    ----------
    a, b : Variant
    experiment : Experiment
        The second side.
    """

    a: Variant
    b: Variant
    experiment: Experiment


def align_sides(a: Side, b: Side, store: Store, experiment: str, evaluation: Sequence[str]) -> Alignment:
    """Return both configurations with one seed, one evaluation and the same test rows.

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
    experiments = [build_experiment(spec, PartCache()) for spec in specs]
    _require_same_task(*experiments)
    if experiments[0].make_splits().digest() != experiments[1].make_splits().digest():
        _require_same_dataset(*experiments)
        specs[0][DATA] = specs[1][DATA]
    here = [replace(side.variant, spec=settle_config(spec)) for side, spec in zip((a, b), specs, strict=True)]
    return Alignment(here[0], here[1], experiments[1])


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
    if learner.get(RANDOM_STATE) == spec["seed"]:
        learner[RANDOM_STATE] = shared["seed"]
    return {**shared, **parts, LEARNER: learner, EVALUATION: {**shared[EVALUATION], **validation}}


def _require_same_task(a: Experiment, b: Experiment) -> None:
    tasks = [f"{each.dataset.task} of {each.dataset.target}" for each in (a, b)]
    if tasks[0] != tasks[1]:
        raise UserError(f"the runs have different tasks, {tasks[0]} and {tasks[1]}; name two runs with one target.")


def _require_same_dataset(a: Experiment, b: Experiment) -> None:
    names = [each.dataset.name for each in (a, b)]
    if names[0] != names[1]:
        raise UserError(
            f"the runs are on the datasets {names[0]} and {names[1]}, whose rows cannot be paired; name two runs on "
            "one dataset."
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
