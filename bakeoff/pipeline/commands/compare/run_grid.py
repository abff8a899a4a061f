"""Runs arranged as a grid of configurations and datasets, paired fold by fold.

Runs that cannot be paired are rejected, with a specific message for each reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bakeoff.pipeline.commands.compare.comparison import CellKey
from bakeoff.pipeline.commands.compare.run_facts import (
    FIRST_REPEAT,
    Params,
    RunFacts,
    group_by,
    list_ids,
    name_configurations,
    separate_run,
)
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.wording import count_nouns, name_first

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
