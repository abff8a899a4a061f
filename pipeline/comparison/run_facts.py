"""The facts about a stored run that a comparison needs, and the names of configurations."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.tracking.description import ENVIRONMENT_TAG
from bakeoff.pipeline.tracking.history import STOPPED_TAG
from bakeoff.pipeline.tracking.stored_runs import StoredRun

Item = TypeVar("Item")
Key = TypeVar("Key")
Value = TypeVar("Value")


def group_by(
    items: Iterable[Item], key_of: Callable[[Item], Key], value_of: Callable[[Item], Value]
) -> dict[Key, list[Value]]:
    """Return the values of the items of each key.

    Examples
    --------
    >>> group_by(["knn", "svm", "tree"], len, str.upper)
    {3: ['KNN', 'SVM'], 4: ['TREE']}
    """
    groups: dict[Key, list[Value]] = {}
    for item in items:
        groups.setdefault(key_of(item), []).append(value_of(item))
    return groups


OTHER_PARTS = ("dataset", "seed", "evaluation", "tuned", "experiment")
"""Params of these parts are not part of a configuration, which is a job without dataset, seed and evaluation.
Values chosen by tuning are results, and the name of an experiment is redundant."""
RESULTS = ("preprocessing.chosen",)
"""Params that follow from the others and from the dataset."""
SEED_KEY = "random_state"
SEED_WORD = "seed"
"""Replaces the ``random_state`` of a learner that is the seed of its run."""
TARGET_KEY = "_target_"
BASE_WORD = "base"
RUN_KEY = "run"
"""A key that distinguishes individually named runs of one configuration."""
NEUTRAL_VALUES = {"evaluation.repeats": "1", "evaluation.gap": "0"}
"""Values for which a key of the evaluation has no effect; for all other keys this is null."""
REQUIRED_PARAMS = ("dataset", "learner", "evaluation", "seed")
SHORT_ID_LETTERS = 8

Params = tuple[tuple[str, str], ...]
"""Keys and values, sorted by key."""


@dataclass(frozen=True)
class RunFacts:
    """A stored run in a comparison.

    Attributes
    ----------
    run : StoredRun
    configuration : Params
        The params of its job without dataset, seed and evaluation.
    dataset, digest : str
        The name of the dataset, and the fingerprint of its rows.
    seed : str
    evaluation : Params
        The params of the folds.
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
        """The beginning of the id, for tables."""
        return shorten_id(self.run.run_id)

    @property
    def splits_digest(self) -> str:
        """The fingerprint of the splits; empty if the run has none."""
        return self.run.tags.get("splits_digest", "")

    @property
    def rows_per_fold(self) -> Mapping[str, float]:
        """Mean rows of ``train``, ``validation`` and ``test``; empty if they are not stored."""
        try:
            rows: dict[str, float] = json.loads(self.run.tags.get("rows_per_fold", "{}"))
        except ValueError:
            return {}
        return rows

    @property
    def is_tuned(self) -> bool:
        """Whether hyperparameters were chosen inside each fold."""
        return self.run.params.get("tuning", "none") != "none"

    @property
    def has_free_validation_rows(self) -> bool:
        """Whether there are validation rows that no choice of the run has used."""
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
        The run was deleted, or written by another program.
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
    # Otherwise each seed would be a separate configuration, and none would have several seeds.
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
    """Return a run as a separate row, because it was named as the base.

    It may have the same configuration as the compared runs, but be fitted by other code.
    """
    own = {**dict(facts.configuration), RUN_KEY: f"{BASE_WORD} {facts.short_id}"}
    return replace(facts, configuration=sort_params(own))


def sort_params(params: Mapping[str, str]) -> Params:
    """Return params as a tuple that can be compared and hashed."""
    return tuple(sorted(params.items()))


def list_differences(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """Return the keys in which two sets of params differ, with both values.

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
    """Return the beginning of an id, which is sufficient for naming the run."""
    return run_id[:SHORT_ID_LETTERS]


def list_ids(facts: Sequence[RunFacts], limit: int = 3) -> str:
    """Return the short ids of some runs for a message, cut after a few."""
    shown = ", ".join(each.short_id for each in facts[:limit])
    return f"{shown}, …" if len(facts) > limit else shown


def _part_of(key: str) -> str:
    return key.split(".")[0]


def _is_chosen_evaluation(key: str, value: str) -> bool:
    """Return whether a param affects the evaluation of a run, and does not just have its neutral value.

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


NAMED_GROUPS = ("balance", "target", "calibration", "threshold")
"""Groups that precede their option in a name; a run without such an option has no param of it."""
GROUPS = ("preprocessing", "tuning", "pruning", *NAMED_GROUPS)
"""Groups whose chosen option is a separate param."""
SHARED_GROUPS = ("preprocessing", "tuning", *NAMED_GROUPS)
"""Groups whose option is part of every name if it varies; pruning follows from the learner."""
SPACE_PREFIX = "tuning.space."
MAX_VALUE_LETTERS = 28
DIGEST_BYTES = 2


def name_configurations(configurations: Sequence[Params]) -> dict[Params, str]:
    """Name each configuration by its learner and by what distinguishes it from the others of that learner.

    Parameters
    ----------
    configurations : sequence of Params

    Returns
    -------
    dict of Params to str
        Names that are unique: if the varying params do not suffice, because a long value is cut, the name ends with a
        fingerprint.

    Examples
    --------
    >>> one = (("learner", "knn"), ("learner.n_neighbors", "1"), ("preprocessing", "none"))
    >>> five = (("learner", "knn"), ("learner.n_neighbors", "5"), ("preprocessing", "none"))
    >>> tree = (("learner", "decision_tree"), ("preprocessing", "none"))
    >>> list(name_configurations([one, five, tree]).values())
    ['knn n_neighbors=1', 'knn n_neighbors=5', 'decision_tree']
    """
    params = [dict(configuration) for configuration in configurations]
    shared = [group for group in SHARED_GROUPS if _varies(group, params)]
    names: dict[Params, str] = {}
    for configuration, own in zip(configurations, params, strict=True):
        rivals = [other for other in params if other["learner"] == own["learner"]]
        named_run = [RUN_KEY] if RUN_KEY in own else []
        keys = list(dict.fromkeys([*shared, *_find_varying_keys(own, rivals), *named_run]))
        names[configuration] = _write_name(own, keys)
    return _tell_apart(names)


def _find_varying_keys(own: Mapping[str, str], rivals: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the keys in which a configuration differs from others of its learner, those of the learner first."""
    # Values chosen by tuning are not part of the configuration, regardless of the learner's value.
    tuned = {key.replace(SPACE_PREFIX, "learner.") for key in own if key.startswith(SPACE_PREFIX)}
    keys = {key for rival in rivals for key in rival} - tuned
    varying = []
    for key in sorted(keys, key=lambda key: (not key.startswith("learner."), key)):
        group = key.split(".")[0]
        # Keys of an option exist only where it is chosen, so only those configurations are compared.
        is_key_of_option = group in GROUPS and "." in key
        compared = [rival for rival in rivals if rival.get(group) == own.get(group)] if is_key_of_option else rivals
        if _varies(key, compared):
            varying.append(key)
    return varying


def _varies(key: str, params: Sequence[Mapping[str, str]]) -> bool:
    return len({each.get(key) for each in params}) > 1


def _write_name(params: Mapping[str, str], keys: Sequence[str]) -> str:
    words = [params["learner"]]
    for key in keys:
        value = params.get(key)
        if value is None:
            continue
        # Options such as "tuned" need the name of their group; "one_hot" or "best_first" are clear without it.
        is_option = key in GROUPS and key not in NAMED_GROUPS and value != "none"
        if is_option or key == RUN_KEY:
            words.append(value)
        else:
            words.append(f"{_shorten_key(key, keys)}={_shorten_value(key, value)}")
    return " ".join(words)


def _shorten_key(key: str, keys: Sequence[str]) -> str:
    """Return the last part of a key, or the whole key if another key has the same ending."""
    last = key.split(".")[-1]
    is_unique = sum(other.split(".")[-1] == last for other in keys) == 1
    return last if is_unique else key


def _shorten_value(key: str, value: str) -> str:
    if key.endswith("_target_"):
        value = value.split(".")[-1]
    if len(value) <= MAX_VALUE_LETTERS:
        return value
    return f"{value[: MAX_VALUE_LETTERS - 1]}…"


def _tell_apart(names: Mapping[Params, str]) -> dict[Params, str]:
    """Add a fingerprint to names that several configurations share."""
    taken = list(names.values())
    unique = {}
    for configuration, name in names.items():
        is_shared = taken.count(name) > 1
        unique[configuration] = f"{name} ({_digest(configuration)})" if is_shared else name
    return unique


def _digest(configuration: Params) -> str:
    text = repr(configuration)
    return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).hexdigest()
