"""The runs of a comparison: the facts about each, names of configurations, and a grid of them and the datasets.

A configuration is a job without its dataset, seed and evaluation. In each cell of the grid, it has a run for each seed
and repeat. Runs that cannot be paired fold by fold are rejected, with a specific message for each reason.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeVar

from bakeoff.pipeline.commands.comparison_report.comparison import CellKey
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
OVERRIDES_TAG = "overrides"
RUN_KEY = "run"
"""A key that distinguishes individually named runs of one configuration."""
BASE_REMARK = "base "
"""Precedes the id of the run that is the base in the name of its row."""
REQUIRED_PARAMS = ("dataset", "learner", "evaluation", "seed")
DECISION_PARTS = ("calibration", "threshold")
"""Parts that learn from validation rows if they use no inner folds."""
PRUNING_METHODS_ON_ROWS = ("bottom_up", "best_first")
"""Pruning methods that use validation rows."""
FIRST_REPEAT = "evaluation.first_repeat"
SHORT_ID_LETTERS = 8
NO_RUN = "no run"

Params = tuple[tuple[str, str], ...]
"""Keys and values, sorted by key."""
Draw = tuple[int, str]
"""The first repeat and the seed of a run: runs of a dataset with the same draw have the same splits."""


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
    series : mapping of str to tuple of float, or None
        Metric -> its scores in each fold, of a run that no store here has; None for a stored run.
    """

    run: StoredRun
    reason: str
    configuration: Params = ()
    series: Mapping[str, tuple[float, ...]] | None = None

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
    def draw(self) -> Draw:
        """The first repeat and the seed."""
        return int(self.run.params.get(FIRST_REPEAT, "0")), self.seed

    @property
    def job(self) -> tuple[Params, str, Draw]:
        """What identifies the job of the run: its configuration, its dataset and its draw."""
        return self.configuration, self.dataset, self.draw

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


def list_ids(facts: Sequence[RunFacts]) -> str:
    """Return the short ids of the first few runs for a message."""
    return name_first(each.short_id for each in facts)


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
    return {**own, **list_target_words(run)}


def read_overrides(run: StoredRun) -> list[str]:
    """Return the overrides of a run; empty if they were too long for a tag."""
    try:
        return list(map(str, json.loads(run.tags.get(OVERRIDES_TAG, "[]"))))
    except ValueError:  # a long tag is truncated
        return []


def list_target_words(run: StoredRun) -> dict[str, str]:
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
MEMBER = re.compile(r'\["(\w+)", \{"_target_"')
"""A member of an ensemble in the text of a param, which MLflow may have cut."""
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
    owns = list(map(dict, configurations))
    kinds = ["learner", *(f"{group}." for group in GROUPS)]
    n_rivals = Counter(_find_rivals(kind, own) for own in owns for kind in kinds)
    n_equal = Counter((_find_rivals(key, own), key, value) for own in owns for key, value in own.items())
    names = {}
    for configuration, own in zip(configurations, owns, strict=True):
        found = [(key, own[key], _find_rivals(key, own)) for key in _list_named_keys(own)]
        telling = [
            _write_param(key, value)
            for key, value, rivals in found
            if key == RUN_KEY or n_equal[rivals, key, value] < n_rivals[rivals]
        ]
        names[configuration] = " ".join([own["learner"], *telling])
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


def _find_rivals(key: str, own: Mapping[str, str]) -> tuple[str, ...]:
    """Return what a configuration shares with those from which a param may distinguish it: the learner and options."""
    group = _part_of(key)
    # Keys of an option exist only where the option is chosen, so only those configurations are compared.
    option = (group, own.get(group, "")) if group in GROUPS and "." in key else ()
    return own["learner"], *option


def _write_param(key: str, value: str) -> str:
    if key == RUN_KEY or (key in PLAIN_GROUPS and value != "none"):
        return value
    last = key.rpartition(".")[2]
    if last == TARGET_KEY:
        value = value.rpartition(".")[2]
    members = MEMBER.findall(value)
    if members:
        value = f"[{','.join(members)}]"
    return f"{last}={cut_text(value, MAX_VALUE_LETTERS)}"


def _digest(configuration: Params) -> str:
    return hashlib.blake2b(repr(configuration).encode(), digest_size=DIGEST_BYTES).hexdigest()


UNPAIRED_KEYS = ("evaluation.validation", "evaluation.metrics", "evaluation.costs")
"""Evaluation keys that do not affect which rows are test rows."""
MAX_SHOWN_REASONS = 3
MAX_LEFT_OUT = 8
"""Maximum number of notes on unfinished configurations, because a study may have stopped hundreds of runs."""

Grid = dict[CellKey, tuple[RunFacts, ...]]
"""The runs of each configuration on each dataset, ordered by repeat and seed: all cells of a dataset have the same
draws, or with ``until=sure`` the first of them. An empty cell has one run, with the reason why."""


def arrange_runs(facts: Sequence[RunFacts], until_sure: bool = False) -> tuple[Grid, list[str]]:
    """Arrange runs as a grid, ordered by the names of the configurations and of the datasets.

    Parameters
    ----------
    facts : sequence of RunFacts
        The runs, finished or not.
    until_sure : bool
        Whether a cell may lack the last repeats of its dataset, because its comparisons were already decided.

    Returns
    -------
    grid : Grid
    notes : list of str
        Notes on runs that were left out or chosen among several.

    Raises
    ------
    UserError
        The runs cannot be paired fold by fold, or there are fewer than two configurations.
    """
    finished = [each for each in facts if not each.reason]
    unfinished = [each for each in facts if each.reason]
    _require_splits(finished, unfinished)
    newest, notes = _take_newest(finished)
    # Names describe the differences between rows, so they are assigned once the rows are known.
    names = name_configurations(list(dict.fromkeys(each.configuration for each in newest)))
    _require_two(names, newest, unfinished)
    _require_same_rows(newest)
    unscored, left_out = _place_unfinished(unfinished, newest, names)
    return _fill_cells(newest, names, unscored, until_sure), [*notes, *left_out]


def _require_splits(finished: Sequence[RunFacts], unfinished: Sequence[RunFacts]) -> None:
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


def _take_newest(finished: Sequence[RunFacts]) -> tuple[list[RunFacts], list[str]]:
    """Return the newest run of each job on the same rows and splits, and a note on skipped runs."""
    jobs = group_by(finished, lambda each: (each.job, each.digest, each.splits_digest))
    newest = [max(runs, key=lambda each: each.run.started) for runs in jobs.values()]
    n_older = len(finished) - len(newest)
    older = count_nouns(n_older, "older run")
    note = f"Ignored: {older} of the same jobs; only the newest run of each job is compared."
    return newest, [note] if n_older else []


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


def _place_unfinished(
    unfinished: Sequence[RunFacts], newest: Sequence[RunFacts], names: Mapping[Params, str]
) -> tuple[dict[CellKey, RunFacts], list[str]]:
    """Return the unfinished runs that explain an empty cell, and notes on those that have no cell in the grid."""
    datasets = {each.dataset for each in newest}
    done = {each.job for each in newest}
    rows_of_learner = group_by(names, lambda configuration: dict(configuration)["learner"])
    unscored: dict[CellKey, RunFacts] = {}
    outside = []
    for each in unfinished:
        if each.job in done:
            continue
        # Without params the configuration of the job is unknown, unless its learner has only one.
        unknown = [] if each.configuration else rows_of_learner.get(each.learner, [])
        rows = [each.configuration] if each.configuration in names else unknown
        if len(rows) == 1 and each.dataset in datasets:
            unscored.setdefault((names[rows[0]], each.dataset), each)
        else:
            outside.append(
                f"Left out, because none of its runs finished: {each.learner} on {each.dataset}: {each.reason}"
            )
    lines = list(dict.fromkeys(outside))
    n_hidden = len(lines) - MAX_LEFT_OUT
    hidden = [f"Also left out: {n_hidden} more that did not finish."] if n_hidden > 0 else []
    return unscored, [*lines[:MAX_LEFT_OUT], *hidden]


def _fill_cells(
    newest: Sequence[RunFacts], names: Mapping[Params, str], unscored: Mapping[CellKey, RunFacts], until_sure: bool
) -> Grid:
    """Return the grid of runs; reject a cell that lacks draws of its dataset without a reason."""
    in_order = sorted(newest, key=_order_draw)
    runs = group_by(in_order, lambda each: (names[each.configuration], each.dataset))
    on_dataset = group_by(in_order, lambda each: each.dataset)
    grid = {}
    for key in product(sorted(names.values()), sorted(on_dataset)):
        own = [each.draw for each in runs.get(key, ())]
        expected = list(dict.fromkeys(each.draw for each in on_dataset[key[1]]))
        has_stopped = until_sure and own == expected[: len(own)] and key not in unscored
        if own and (own == expected or has_stopped):
            grid[key] = tuple(runs[key])
        elif key in unscored or not own:
            grid[key] = (unscored.get(key) or describe_absent_job("", key[1], NO_RUN),)
        else:
            raise _report_missing(key, [draw for draw in expected if draw not in own], runs[key][0].seed)
    return grid


def _order_draw(each: RunFacts) -> tuple[int, int, str]:
    """Return the key that sorts runs by repeat, and then by seeds as numbers."""
    repeat, seed = each.draw
    return repeat, len(seed), seed


def _report_missing(key: CellKey, absent: Sequence[Draw], seed: str) -> UserError:
    """Return the error for a cell that lacks draws of its dataset without a reason."""
    missing = name_first(f"{own} and {FIRST_REPEAT}={repeat}" if repeat else own for repeat, own in absent)
    cure = f"run the missing jobs, or select one seed, for example with filter=\"params.seed = '{seed}'\""
    if absent[0][0]:
        cure = "add until=sure, with which repeats are added where they are needed"
    return UserError(
        f"compare: on {key[1]}, {key[0]} has no run with seed {missing}, which other configurations have; different "
        f"seeds give different splits; {cure}."
    )


def _require_same_rows(newest: Sequence[RunFacts]) -> None:
    """Reject runs on one dataset that used several versions of its rows, or other test rows with the same draw."""
    first_on: dict[str, RunFacts] = {}
    first_with: dict[tuple[str, Draw], RunFacts] = {}
    for each in newest:
        first = first_on.setdefault(each.dataset, each)
        if each.digest != first.digest:
            raise UserError(
                f"compare: the runs on {each.dataset} used several versions of its rows (dataset_digest {first.digest} "
                f"and {each.digest}), so they cannot be paired; select one, for example with "
                f"filter=\"tags.dataset_digest = '{first.digest}'\"."
            )
        # Different seeds have different splits by design, so runs are only compared with those of the same seed.
        first = first_with.setdefault((each.dataset, each.draw), each)
        if each.splits_digest != first.splits_digest:
            raise UserError(
                f"compare: on {each.dataset}, run {first.short_id} ({first.run.name}) and run {each.short_id} "
                f"({each.run.name}) were scored on different splits, so they cannot be paired fold by fold: they "
                f"differ in {describe_differences(first, each) or 'the code that makes the splits'}. Select runs with "
                f"the same splits, for example with filter=\"params.evaluation = '{first.run.params['evaluation']}'\"."
            )


def describe_differences(first: RunFacts, second: RunFacts) -> str:
    """Return the evaluation keys in which two runs differ, with both values; empty if there are none."""
    ours, theirs = first.run.params, second.run.params
    keys = [key for key in sorted({**ours, **theirs}) if _part_of(key) == "evaluation" and key not in UNPAIRED_KEYS]
    values = [(key, ours.get(key, "not set"), theirs.get(key, "not set")) for key in keys]
    return ", ".join(f"{key} ({own} and {other})" for key, own, other in values if own != other)
