"""What a comparison needs to know of a stored run: its configuration, dataset, seed, evaluation and splits."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.description import ENVIRONMENT_TAG
from bakeoff.pipeline.tracking.history import STOPPED_TAG
from bakeoff.pipeline.tracking.stored_runs import StoredRun

OTHER_PARTS = ("dataset", "seed", "evaluation", "tuned", "experiment")
"""Params of these parts do not belong to a configuration: it is everything of a job but dataset, seed and evaluation.
What tuning chose is a result, and the name of an experiment says nothing that the other params do not say."""
RESULTS = ("preprocessing.chosen",)
"""Params that follow from the others and from the dataset."""
SEED_KEY = "random_state"
SEED_WORD = "seed"
"""Replaces the ``random_state`` of a learner that is the seed of its run."""
TARGET_KEY = "_target_"
BASE_WORD = "base"
RUN_KEY = "run"
"""A key that tells apart runs of one configuration that were named one by one."""
NEUTRAL_VALUES = {"evaluation.repeats": "1", "evaluation.gap": "0"}
"""Values with which a key of the evaluation has no effect; that of all other keys is null."""
REQUIRED_PARAMS = ("dataset", "learner", "evaluation", "seed")
SHORT_ID_LETTERS = 8

Params = tuple[tuple[str, str], ...]
"""Keys and values, sorted by key."""


@dataclass(frozen=True)
class RunFacts:
    """A stored run, as a comparison sees it.

    Attributes
    ----------
    run : StoredRun
    configuration : Params
        Everything of its job but dataset, seed and evaluation.
    dataset, digest : str
        The name of the dataset, and the fingerprint of its rows.
    seed : str
    evaluation : Params
        How the folds are made.
    """

    run: StoredRun
    configuration: Params
    dataset: str
    digest: str
    seed: str
    evaluation: Params

    @property
    def learner(self) -> str:
        """The chosen option of the group ``learner``."""
        return self.run.params["learner"]

    @property
    def short_id(self) -> str:
        """The beginning of the id, as tables show it."""
        return shorten_id(self.run.run_id)

    @property
    def splits_digest(self) -> str:
        """The fingerprint of the splits; empty if the run has none."""
        return self.run.tags.get("splits_digest", "")

    @property
    def rows_per_fold(self) -> Mapping[str, float]:
        """Mean rows of ``train``, ``validation`` and ``test``; empty if the run does not say."""
        try:
            rows: dict[str, float] = json.loads(self.run.tags.get("rows_per_fold", "{}"))
        except ValueError:
            return {}
        return rows

    @property
    def test_train_ratio(self) -> float:
        """Test rows per training row; NaN if the run does not say."""
        rows = self.rows_per_fold
        if not rows.get("train"):
            return math.nan
        return rows.get("test", math.nan) / rows["train"]

    @property
    def is_tuned(self) -> bool:
        """Whether hyperparameters were chosen inside each fold."""
        return self.run.params.get("tuning", "none") != "none"

    @property
    def has_free_validation_rows(self) -> bool:
        """Whether validation rows were set aside that no choice of the run has used."""
        has_rows = bool(self.rows_per_fold.get("validation"))
        is_pruned = self.run.params.get("pruning", "none") in PRUNING_METHODS_ON_ROWS
        is_tuned_on_rows = self.is_tuned and self.run.params.get("tuning.folds", "0") == "0"
        # Calibration and a threshold have no param if the run has neither.
        is_decided_on_rows = any(self.run.params.get(f"{part}.folds") == "0" for part in DECISION_PARTS)
        return has_rows and not is_pruned and not is_tuned_on_rows and not is_decided_on_rows

    @property
    def reason(self) -> str:
        """Why the run has no complete scores; empty if it is finished."""
        if self.run.is_finished:
            return ""
        tags = self.run.tags
        if STOPPED_TAG in tags:
            return f"stopped {tags[STOPPED_TAG]}"
        status = {"RUNNING": "still running", "SCHEDULED": "not started"}.get(self.run.status, self.run.status.lower())
        error = " ".join(tags.get("error", "").split())
        return f"{status}: {error}" if error else status


DECISION_PARTS = ("calibration", "threshold")
"""Parts that learn on validation rows if they use no inner folds."""
PRUNING_METHODS_ON_ROWS = ("bottom_up", "best_first")
"""Methods of pruning that use validation rows."""


def describe_run(run: StoredRun) -> RunFacts:
    """Return the facts of a stored run.

    Raises
    ------
    UserError
        The run was deleted, or other code than bakeoff's wrote it.
    """
    if run.is_deleted:
        raise UserError(f"compare: run {run.run_id} was deleted; restore it in MLflow, or leave it out.")
    missing = [key for key in REQUIRED_PARAMS if key not in run.params]
    if missing:
        raise UserError(
            f"compare: run {run.run_id} ({run.name or 'without a name'}) has no param {missing[0]!r}: other code than "
            "bakeoff wrote it; leave it out, for example by filter=\"params.learner != ''\"."
        )
    seed = run.params["seed"]
    targets = _list_target_words(run.tags.get("overrides", "[]"))
    own = {key: value for key, value in run.params.items() if _part_of(key) not in OTHER_PARTS and key not in RESULTS}
    # Otherwise each seed would make a configuration of its own, and none would have several seeds.
    if ENVIRONMENT_TAG in run.tags:
        own[ENVIRONMENT_TAG] = run.tags[ENVIRONMENT_TAG]
    for key, value in own.items():
        if key.endswith(SEED_KEY) and value == seed:
            own[key] = SEED_WORD
    evaluation = {key: value for key, value in run.params.items() if _is_chosen_evaluation(key, value)}
    return RunFacts(
        run=run,
        configuration=sort_params({**own, **targets}),
        dataset=run.params["dataset"],
        digest=run.tags.get("dataset_digest", ""),
        seed=seed,
        evaluation=sort_params(evaluation),
    )


def mark_as_base(facts: RunFacts) -> RunFacts:
    """Return a run that is a row of its own, because it was named as the base.

    It may be of the same configuration as the runs that are compared with it, fitted by other code.
    """
    own = {**dict(facts.configuration), RUN_KEY: f"{BASE_WORD} {facts.short_id}"}
    return replace(facts, configuration=sort_params(own))


def sort_params(params: Mapping[str, str]) -> Params:
    """Return params as a tuple that can be compared and hashed."""
    return tuple(sorted(params.items()))


def list_differences(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """Say in which keys two sets of params differ, with both values.

    Examples
    --------
    >>> list_differences({"folds": "5", "repeats": "1"}, {"folds": "10", "repeats": "1"})
    ['folds (5 and 10)']
    """
    keys = sorted({**first, **second})
    return [
        f"{key} ({first.get(key, 'not set')} and {second.get(key, 'not set')})"
        for key in keys
        if first.get(key) != second.get(key)
    ]


def shorten_id(run_id: str) -> str:
    """Return the beginning of an id, which still names the run."""
    return run_id[:SHORT_ID_LETTERS]


def list_ids(facts: Sequence[RunFacts], limit: int = 3) -> str:
    """Return the short ids of some runs for a message, cut after a few."""
    shown = ", ".join(each.short_id for each in facts[:limit])
    return f"{shown}, …" if len(facts) > limit else shown


def _part_of(key: str) -> str:
    return key.split(".")[0]


def _is_chosen_evaluation(key: str, value: str) -> bool:
    """Return whether a param says how a run was evaluated, and not only that a key has its neutral value.

    Otherwise a run of a version that did not have the key could not be compared with one of a version that has it.
    """
    return _part_of(key) == "evaluation" and NEUTRAL_VALUES.get(key, "null") != value


def _list_target_words(overrides: str) -> dict[str, str]:
    """Return the overrides that replaced a class: params hold the name of the chosen option instead."""
    try:
        words: Any = json.loads(overrides)
    except ValueError:
        return {}
    pairs = [str(word).lstrip("+").split("=", 1) for word in words if "=" in str(word)]
    return {key: value for key, value in pairs if key.endswith(TARGET_KEY) and _part_of(key) not in OTHER_PARTS}
