"""The runs of a comparison: the facts about each, names of configurations, and a grid of them and the datasets.

Runs that cannot be paired fold by fold are rejected, with a specific message for each reason.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from bakeoff.pipeline.commands.compare.comparison import CellKey
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.wording import count_nouns, cut_text, name_first
from bakeoff.pipeline.tracking.description import ENVIRONMENT_TAG
from bakeoff.pipeline.tracking.stored_runs import STOPPED_TAG, StoredRun

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


UNPAIRED_KEYS = ("evaluation.validation", "evaluation.metrics", "evaluation.costs")
"""Evaluation keys that do not affect which rows are test rows."""
MAX_SHOWN_REASONS = 3
MAX_LEFT_OUT = 8
"""Maximum number of notes on unfinished configurations, because a study may have stopped hundreds of runs."""
NO_RUN = "no run"

Draw = tuple[int, str]
"""The first repeat and the seed of a run."""


@dataclass(frozen=True)
class RunGrid:
    """The runs of each configuration on each dataset.

    Attributes
    ----------
    configurations : mapping of str to Params
        Configurations by name, in the order of their names.
    datasets : mapping of str to str
        Name -> fingerprint of the rows.
    runs : mapping of CellKey to tuple of RunFacts
        One run per repeat and seed, in this order; all cells of a dataset have the same, or with until=sure the first
        of them.
    reasons : mapping of CellKey to str
        The reason why each of the remaining cells is empty.
    notes : tuple of str
        Notes on runs that were left out or chosen among several.
    """

    configurations: Mapping[str, Params]
    datasets: Mapping[str, str]
    runs: Mapping[CellKey, tuple[RunFacts, ...]]
    reasons: Mapping[CellKey, str]
    notes: tuple[str, ...]

    @property
    def finished(self) -> list[RunFacts]:
        """The runs of all cells."""
        return [each for runs in self.runs.values() for each in runs]


def arrange_runs(facts: Sequence[RunFacts], keeps_all: bool = False, until_sure: bool = False) -> RunGrid:
    """Arrange runs as a grid.

    Parameters
    ----------
    facts : sequence of RunFacts
        The runs, finished or not.
    keeps_all : bool
        Whether runs of the same job are kept apart because each was selected by its id; otherwise only the newest
        counts.
    until_sure : bool
        Whether a cell may lack the last repeats of its dataset, because its pairs were decided before.

    Raises
    ------
    UserError
        The runs cannot be paired fold by fold, or there are fewer than two configurations.
    """
    finished = [each for each in facts if not each.reason]
    unfinished = [each for each in facts if each.reason]
    _require_comparable(finished, unfinished)
    datasets = _list_datasets(finished)
    newest, notes = _take_newest(_keep_apart(finished) if keeps_all else finished)
    # Names describe the differences between rows, so they are assigned once the rows are known.
    names = name_configurations(list(dict.fromkeys(each.configuration for each in newest)))
    _require_two(names, newest, unfinished)
    reasons, left_out = _explain_absence(unfinished, newest, names)
    runs = _take_complete(_group_cells(newest, names), reasons, until_sure)
    for dataset in datasets:
        _require_same_splits([each for key, own in runs.items() if key[1] == dataset for each in own])
    configurations = {names[configuration]: configuration for configuration in sorted(names, key=lambda c: names[c])}
    keys = [(name, dataset) for name in configurations for dataset in datasets]
    empty = {key: reasons.get(key, NO_RUN) for key in keys if key not in runs}
    return RunGrid(configurations, datasets, runs, empty, (*notes, *left_out))


def _require_comparable(finished: Sequence[RunFacts], unfinished: Sequence[RunFacts]) -> None:
    """Reject a selection that has no finished run, or has runs whose test rows are unknown."""
    if not finished:
        reasons = sorted({each.reason for each in unfinished})[:MAX_SHOWN_REASONS]
        raise UserError(f"compare: none of the {len(unfinished)} selected runs finished ({'; '.join(reasons)}).")
    without = [each for each in finished if not (each.splits_digest and each.digest and each.rows_per_fold)]
    if without:
        raise UserError(
            f"compare: {len(without)} of {len(finished)} runs do not record their splits ({list_ids(without)}): "
            "they were not written by bakeoff. They cannot be paired fold by fold; run their jobs again with "
            "resume=false."
        )


def _list_datasets(finished: Sequence[RunFacts]) -> dict[str, str]:
    """Return the fingerprint of each dataset; reject a dataset with several versions of its rows."""
    versions = group_by(finished, lambda each: each.dataset)
    for name, own in versions.items():
        seen = list(dict.fromkeys(each.digest for each in own))
        if len(seen) > 1:
            raise UserError(
                f"compare: the runs on {name} used {len(seen)} versions of its rows (dataset_digest "
                f"{' and '.join(seen[:2])}), so they cannot be paired; select one, for example with "
                f"filter=\"tags.dataset_digest = '{seen[0]}'\"."
            )
    return {name: versions[name][0].digest for name in sorted(versions)}


def _group_jobs(facts: Sequence[RunFacts]) -> dict[tuple[Params, str, Draw], list[RunFacts]]:
    return group_by(facts, lambda each: (each.configuration, each.dataset, each.draw))


def _keep_apart(finished: Sequence[RunFacts]) -> list[RunFacts]:
    """Turn runs that would share a cell into separate configurations."""
    groups = _group_jobs(finished).values()
    return [separate_run(each) if len(runs) > 1 else each for runs in groups for each in runs]


def _take_newest(finished: Sequence[RunFacts]) -> tuple[list[RunFacts], list[str]]:
    """Return the newest run per configuration, dataset and seed, and a note on skipped runs."""
    newest = []
    for runs in _group_jobs(finished).values():
        first, *older = sorted(runs, key=lambda each: each.run.started, reverse=True)
        for each in older:
            differences = _describe_differences(first, each)
            if differences:
                raise UserError(
                    f"compare: {first.learner} was evaluated on {first.dataset} in several ways (runs "
                    f"{first.short_id} and {each.short_id} differ in {differences}); select one, for example with "
                    f"filter=\"params.evaluation = '{first.run.params['evaluation']}'\"."
                )
        newest.append(first)
    n_older = len(finished) - len(newest)
    if not n_older:
        return newest, []
    return newest, [
        f"Ignored: {count_nouns(n_older, 'older run')} of the same jobs; only the newest run of each job is compared."
    ]


def _describe_differences(first: RunFacts, second: RunFacts) -> str:
    """Return the evaluation keys in which two runs differ, with both values; empty if there are none."""
    ours, theirs = first.evaluation, second.evaluation
    keys = [key for key in sorted({**ours, **theirs}) if key not in UNPAIRED_KEYS and ours.get(key) != theirs.get(key)]
    return ", ".join(f"{key} ({ours.get(key, 'not set')} and {theirs.get(key, 'not set')})" for key in keys)


def _require_two(names: Mapping[Params, str], newest: Sequence[RunFacts], unfinished: Sequence[RunFacts]) -> None:
    """Reject a single configuration, and name the unfinished runs that were ignored."""
    if len(names) >= 2:
        return
    what = "one run" if len(newest) == 1 else f"{len(newest)} runs of one configuration"
    passed_over = ", ".join(f"run {each.short_id} {each.reason}" for each in unfinished[:MAX_SHOWN_REASONS])
    besides = f" besides those that did not finish ({passed_over})" if unfinished else ""
    raise UserError(
        f"compare: {what} only ({newest[0].learner}, run {newest[0].short_id}){besides}; a comparison needs two "
        "configurations. Widen the selection, or give another run as base=RUN."
    )


def _explain_absence(
    unfinished: Sequence[RunFacts], newest: Sequence[RunFacts], names: Mapping[Params, str]
) -> tuple[dict[CellKey, str], list[str]]:
    """Return the reasons for empty cells, and notes on jobs that have no cell in the grid."""
    datasets = {each.dataset for each in newest}
    done = _group_jobs(newest)
    rows_by_learner = group_by(names, lambda configuration: dict(configuration)["learner"])
    reasons: dict[CellKey, str] = {}
    outside = []
    for each in unfinished:
        if (each.configuration, each.dataset, each.draw) in done:
            continue
        # Without params the configuration of the job is unknown, unless its learner has only one.
        unknown = [] if each.configuration else rows_by_learner.get(each.learner, [])
        rows = [each.configuration] if each.configuration in names else unknown
        if len(rows) == 1 and each.dataset in datasets:
            reasons.setdefault((names[rows[0]], each.dataset), each.reason)
        else:
            outside.append(
                f"Left out, because none of its runs finished: {each.learner} on {each.dataset}: {each.reason}"
            )
    lines = list(dict.fromkeys(outside))
    n_hidden = len(lines) - MAX_LEFT_OUT
    hidden = [f"Also left out: {n_hidden} more that did not finish."] if n_hidden > 0 else []
    return reasons, [*lines[:MAX_LEFT_OUT], *hidden]


def _group_cells(newest: Sequence[RunFacts], names: Mapping[Params, str]) -> dict[CellKey, tuple[RunFacts, ...]]:
    groups = group_by(newest, lambda each: (names[each.configuration], each.dataset))
    return {key: tuple(sorted(runs, key=lambda each: _order_draw(each.draw))) for key, runs in groups.items()}


def _order_draw(draw: Draw) -> tuple[int, int, str]:
    """Return the key that sorts draws by repeat, and then by seeds as numbers."""
    repeat, seed = draw
    return (repeat, int(seed), seed) if seed.isdigit() else (repeat, 0, seed)


def _name_draw(draw: Draw) -> str:
    repeat, seed = draw
    return f"{seed} and {FIRST_REPEAT}={repeat}" if repeat else seed


def _take_complete(
    cells: Mapping[CellKey, tuple[RunFacts, ...]], reasons: Mapping[CellKey, str], until_sure: bool
) -> dict[CellKey, tuple[RunFacts, ...]]:
    """Return the cells that have all draws of their dataset; reject a cell that lacks one without a reason."""
    by_dataset = group_by(cells, lambda key: key[1])
    complete = {}
    for (name, dataset), runs in cells.items():
        own = [each.draw for each in runs]
        draws = sorted({each.draw for key in by_dataset[dataset] for each in cells[key]}, key=_order_draw)
        absent = [draw for draw in draws if draw not in own]
        shown = name_first(map(_name_draw, absent), MAX_LEFT_OUT)
        has_stopped = until_sure and own == draws[: len(own)] and (name, dataset) not in reasons
        if not absent or has_stopped:
            complete[name, dataset] = runs
        elif (name, dataset) not in reasons:
            cure = (
                "add until=sure, with which repeats are added where they are needed"
                if absent[0][0]
                else (
                    "run the missing jobs, or select one seed, for example with "
                    f"filter=\"params.seed = '{runs[0].seed}'\""
                )
            )
            raise UserError(
                f"compare: on {dataset}, {name} has no run with seed {shown}, which other "
                f"configurations have; different seeds give different splits; {cure}."
            )
    return complete


def _require_same_splits(runs: Sequence[RunFacts]) -> None:
    """Reject runs on the same dataset with the same draw that were not scored on the same test rows."""
    # Different seeds have different splits by design, so runs are only compared with those of the same seed.
    firsts: dict[Draw, RunFacts] = {}
    for each in runs:
        first = firsts.setdefault(each.draw, each)
        if each.splits_digest != first.splits_digest:
            cause = _describe_differences(first, each) or "the code that makes the splits"
            raise UserError(
                f"compare: on {each.dataset}, run {first.short_id} ({first.run.name}) and run {each.short_id} "
                f"({each.run.name}) were scored on different splits, so they cannot be paired fold by fold: they "
                f"differ in {cause}."
            )
