"""The facts about a stored run that a comparison needs, and the names of configurations."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.wording import cut_text
from bakeoff.pipeline.tracking.description import ENVIRONMENT_TAG
from bakeoff.pipeline.tracking.history import STOPPED_TAG
from bakeoff.pipeline.tracking.stored_runs import StoredRun

Item = TypeVar("Item")
Key = TypeVar("Key")

OTHER_PARTS = ("dataset", "seed", "evaluation", "tuned", "experiment")
"""The params of these parts are not part of a configuration, which is a job without dataset, seed and evaluation.
Values chosen by tuning are results, and the name of an experiment is redundant."""
RESULTS = ("preprocessing.chosen", "tuning.tried")
"""Params that follow from the others and the dataset."""
SEED_KEY = "random_state"
SEED_WORD = "seed"
"""Replaces the ``random_state`` of a learner if it is the seed of its run."""
TARGET_KEY = "_target_"
RUN_KEY = "run"
"""A key that distinguishes individually named runs of one configuration."""
REQUIRED_PARAMS = ("dataset", "learner", "evaluation", "seed")
DECISION_PARTS = ("calibration", "threshold")
"""Parts that learn from validation rows if they use no inner folds."""
PRUNING_METHODS_ON_ROWS = ("bottom_up", "best_first")
"""Pruning methods that use validation rows."""
FIRST_REPEAT = "evaluation.first_repeat"
SHORT_ID_LETTERS = 8

Params = tuple[tuple[str, str], ...]
"""Keys and values, sorted by key."""


def group_by(items: Iterable[Item], key_of: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return the items, grouped by key.

    Examples
    --------
    >>> group_by(["knn", "svm", "tree"], len)
    {3: ['knn', 'svm'], 4: ['tree']}
    """
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key_of(item), []).append(item)
    return groups


@dataclass(frozen=True)
class RunFacts:
    """A stored run in a comparison, or a job that stored no params.

    Attributes
    ----------
    run : StoredRun
    reason : str
        Why there are no complete scores; empty for a finished run.
    configuration : Params
        The params of the job without those of dataset, seed and evaluation; empty if unknown.
    """

    run: StoredRun
    reason: str
    configuration: Params = ()

    @property
    def learner(self) -> str:
        """The learner, or the name of a run without params."""
        return self.run.params.get("learner", self.run.name)

    @property
    def dataset(self) -> str:
        """The dataset, or a question mark if it is unknown."""
        return self.run.params.get("dataset", "?")

    @property
    def seed(self) -> str:
        """The seed; empty if it is unknown."""
        return self.run.params.get("seed", "")

    @property
    def short_id(self) -> str:
        """The first characters of the id, for tables."""
        return self.run.run_id[:SHORT_ID_LETTERS]

    @property
    def digest(self) -> str:
        """The fingerprint of the rows of the dataset; empty if the run has none."""
        return self.run.tags.get("dataset_digest", "")

    @property
    def draw(self) -> tuple[int, str]:
        """The first repeat and the seed: runs of a dataset with the same draw have the same splits."""
        return int(self.run.params.get(FIRST_REPEAT, "0")), self.seed

    @property
    def evaluation(self) -> Mapping[str, str]:
        """The params of the folds."""
        return {key: value for key, value in self.run.params.items() if _part_of(key) == "evaluation"}

    @property
    def splits_digest(self) -> str:
        """The fingerprint of the splits; empty if the run has none."""
        return self.run.tags.get("splits_digest", "")

    @property
    def rows_per_fold(self) -> Mapping[str, float]:
        """The mean numbers of ``train``, ``validation`` and ``test`` rows; empty if they are not stored."""
        rows: dict[str, float] = json.loads(self.run.tags.get("rows_per_fold", "{}"))
        return rows

    @property
    def has_free_validation_rows(self) -> bool:
        """Whether there are validation rows that no choice of the run has used."""
        params = self.run.params
        has_pruned = params.get("pruning", "none") in PRUNING_METHODS_ON_ROWS
        has_tuned = params.get("tuning", "none") != "none" and params.get("tuning.folds", "0") == "0"
        # Calibration and a threshold have no params if the run uses neither.
        has_decided = any(params.get(f"{part}.folds") == "0" for part in DECISION_PARTS)
        return bool(self.rows_per_fold.get("validation")) and not (has_pruned or has_tuned or has_decided)


def describe_run(run: StoredRun) -> RunFacts:
    """Return the facts of a stored run.

    Raises
    ------
    UserError
        The run was deleted or was written by another program.
    """
    if run.is_deleted:
        raise UserError(f"compare: run {run.run_id} was deleted; restore it in MLflow, or leave it out.")
    reason = _explain_status(run)
    missing = [key for key in REQUIRED_PARAMS if key not in run.params]
    if missing and reason:
        return RunFacts(run, reason)
    if missing:
        raise UserError(
            f"compare: run {run.run_id} ({run.name or 'without a name'}) has no param {missing[0]!r}: it was not "
            "written by bakeoff; exclude it, for example with filter=\"params.learner != ''\"."
        )
    return RunFacts(run, reason, _sort_params(_list_own_params(run)))


def describe_absent_job(learner: str, dataset: str, reason: str) -> RunFacts:
    """Return the facts of a job that has no run."""
    return RunFacts(StoredRun("", learner, "", False, 0, {"dataset": dataset}, {}, {}), reason)


def separate_run(facts: RunFacts, remark: str = "") -> RunFacts:
    """Return a run with a unique configuration, so that it becomes a separate row of the comparison."""
    own = {**dict(facts.configuration), RUN_KEY: f"{remark}{facts.short_id}"}
    return replace(facts, configuration=_sort_params(own))


def list_ids(facts: Sequence[RunFacts], limit: int = 3) -> str:
    """Return the short ids of the first few runs for a message."""
    shown = ", ".join(each.short_id for each in facts[:limit])
    return f"{shown}, …" if len(facts) > limit else shown


def _explain_status(run: StoredRun) -> str:
    """Return why a run has no complete scores; empty if it is finished."""
    if run.is_finished:
        return ""
    if STOPPED_TAG in run.tags:
        return f"stopped {run.tags[STOPPED_TAG]}"
    status = "still running" if run.status == "RUNNING" else run.status.lower()
    error = " ".join(run.tags.get("error", "").split())
    return f"{status}: {error}" if error else status


def _list_own_params(run: StoredRun) -> dict[str, str]:
    """Return the params of a job without dataset, seed and evaluation."""
    own = {key: value for key, value in run.params.items() if _part_of(key) not in OTHER_PARTS and key not in RESULTS}
    if ENVIRONMENT_TAG in run.tags:
        own[ENVIRONMENT_TAG] = run.tags[ENVIRONMENT_TAG]
    for key, value in own.items():
        # Otherwise each seed would be a separate configuration, and no configuration would have several seeds.
        if key.endswith(SEED_KEY) and value == run.params["seed"]:
            own[key] = SEED_WORD
    return {**own, **_list_target_words(run)}


def read_overrides(run: StoredRun) -> list[str]:
    """Return the overrides of a run; empty if they were too long for a tag."""
    try:
        return list(map(str, json.loads(run.tags.get("overrides", "[]"))))
    except ValueError:  # a long tag is truncated
        return []


def _list_target_words(run: StoredRun) -> dict[str, str]:
    """Return the overrides that replaced a class; the params record the name of the chosen option instead."""
    pairs = [word.lstrip("+").split("=", 1) for word in read_overrides(run) if "=" in word]
    return {key: value for key, value in pairs if key.endswith(TARGET_KEY) and _part_of(key) not in OTHER_PARTS}


def _sort_params(params: Mapping[str, str]) -> Params:
    return tuple(sorted(params.items()))


def _part_of(key: str) -> str:
    return key.split(".")[0]


PLAIN_GROUPS = ("preprocessing", "tuning", "pruning")
"""Groups whose options are clear without the group name."""
GROUPS = (*PLAIN_GROUPS, "balance", "target", "calibration", "threshold")
"""Groups whose chosen option is a separate param."""
SPACE_PREFIX = "tuning.space."
MAX_VALUE_LETTERS = 28
DIGEST_BYTES = 2


def name_configurations(configurations: Sequence[Params]) -> dict[Params, str]:
    """Name each configuration by its learner and the params that distinguish it from others with that learner.

    Parameters
    ----------
    configurations : sequence of Params

    Returns
    -------
    dict of Params to str
        Unique names. If the varying params do not make a name unique because a long value is truncated, it ends with a
        fingerprint.

    Examples
    --------
    >>> one = (("learner", "knn"), ("learner.n_neighbors", "1"), ("preprocessing", "none"))
    >>> five = (("learner", "knn"), ("learner.n_neighbors", "5"), ("preprocessing", "none"))
    >>> tree = (("learner", "decision_tree"), ("preprocessing", "none"))
    >>> list(name_configurations([one, five, tree]).values())
    ['knn n_neighbors=1', 'knn n_neighbors=5', 'decision_tree']
    """
    rivals = group_by(map(dict, configurations), lambda params: params["learner"])
    names = {}
    for configuration in configurations:
        own = dict(configuration)
        keys = [key for key in _list_named_keys(own) if _varies(key, own, rivals[own["learner"]])]
        names[configuration] = " ".join([own["learner"], *(_write_param(key, own[key]) for key in keys)])
    counts = Counter(names.values())
    return {
        configuration: f"{name} ({_digest(configuration)})" if counts[name] > 1 else name
        for configuration, name in names.items()
    }


def _list_named_keys(own: Mapping[str, str]) -> list[str]:
    """Return the keys of a configuration in the order used in its name: options, the learner's keys, others."""
    # Values chosen by tuning are not part of the configuration, whatever the learner's value.
    tuned = {key.replace(SPACE_PREFIX, "learner.") for key in own if key.startswith(SPACE_PREFIX)}
    return sorted(own.keys() - tuned, key=lambda key: (key not in GROUPS, not key.startswith("learner."), key))


def _varies(key: str, own: Mapping[str, str], rivals: Sequence[Mapping[str, str]]) -> bool:
    """Return whether a param distinguishes a configuration from others with the same learner."""
    group = _part_of(key)
    # Keys of an option exist only where the option is chosen, so only those configurations are compared.
    is_key_of_option = group in GROUPS and "." in key
    return key == RUN_KEY or any(
        rival.get(key) != own[key] for rival in rivals if not is_key_of_option or rival.get(group) == own.get(group)
    )


def _write_param(key: str, value: str) -> str:
    if key == RUN_KEY or (key in PLAIN_GROUPS and value != "none"):
        return value
    last = key.rpartition(".")[2]
    if last == TARGET_KEY:
        value = value.rpartition(".")[2]
    return f"{last}={cut_text(value, MAX_VALUE_LETTERS)}"


def _digest(configuration: Params) -> str:
    return hashlib.blake2b(repr(configuration).encode(), digest_size=DIGEST_BYTES).hexdigest()
