"""Runs arranged as a grid of configurations and datasets, paired fold by fold.

Runs that cannot be paired are rejected, with a specific message for each reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bakeoff.pipeline.comparison.run_facts import (
    RUN_KEY,
    Params,
    RunFacts,
    group_by,
    list_differences,
    list_ids,
    name_configurations,
    sort_params,
)
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.words import count_nouns

UNPAIRED_KEYS = ("evaluation.validation", "evaluation.metrics", "evaluation.costs")
"""Keys of the evaluation that do not change which rows are test rows."""
MAX_SHOWN_RUNS = 3

CellKey = tuple[str, str]
"""Names of a configuration and of a dataset."""


def require_finished(finished: Sequence[RunFacts], facts: Sequence[RunFacts]) -> None:
    """Reject a selection without a finished run."""
    if not facts:
        raise UserError("compare: no run was selected.")
    if not finished:
        reasons = {each.reason for each in facts}
        raise UserError(f"compare: none of the {len(facts)} runs finished ({'; '.join(sorted(reasons)[:3])}).")


def require_digests(finished: Sequence[RunFacts]) -> None:
    """Reject runs with unknown test rows."""
    without = [each for each in finished if not (each.splits_digest and each.digest and each.rows_per_fold)]
    if without:
        raise UserError(
            f"compare: {len(without)} of {len(finished)} runs do not record their splits ({list_ids(without)}): "
            "another program wrote them. They cannot be paired fold by fold; run their jobs again with resume=false."
        )


def require_all_versions(name: str, own: Sequence[RunFacts], versions: Sequence[str]) -> None:
    """Reject versions of the rows of a dataset that are missing for some configuration."""
    by_configuration = group_by(own, lambda each: each.configuration, lambda each: each.digest)
    if all(set(found) == set(versions) for found in by_configuration.values()):
        return
    examples = [next(each for each in own if each.digest == version) for version in versions[:2]]
    versions_seen = " and ".join(f"{each.digest} in run {each.short_id}" for each in examples)
    raise UserError(
        f"compare: the runs on {name} saw {len(versions)} versions of its rows (dataset_digest {versions_seen}), so "
        f"they cannot be paired; select one, for example by filter=\"tags.dataset_digest = '{versions[0]}'\"."
    )


def require_one_evaluation(runs: Sequence[RunFacts]) -> None:
    """Reject runs of one configuration, dataset and seed, the newest first, that were evaluated differently."""
    newest = runs[0]
    others = [each for each in runs if each.evaluation != newest.evaluation]
    if not others:
        return
    differences = ", ".join(list_differences(dict(newest.evaluation), dict(others[0].evaluation)))
    raise UserError(
        f"compare: {newest.learner} was evaluated on {newest.dataset} in several ways (runs {newest.short_id} and "
        f'{others[0].short_id} differ in {differences}); select one, for example by filter="params.evaluation = '
        f"'{newest.run.params['evaluation']}'\"."
    )


def require_two(names: Mapping[Params, str], newest: Sequence[RunFacts], unfinished: Sequence[RunFacts]) -> None:
    """Reject a single configuration, and name the runs ignored because they have not finished."""
    if len(names) >= 2:
        return
    (name,) = names.values()
    what = "one run" if len(newest) == 1 else f"{len(newest)} runs of one configuration"
    passed_over = ", ".join(f"run {each.short_id} {each.reason}" for each in unfinished[:MAX_SHOWN_RUNS])
    besides = f" besides those that did not finish ({passed_over})" if unfinished else ""
    raise UserError(
        f"compare: {what} only ({name}, run {newest[0].short_id}){besides}; a comparison needs two "
        "configurations. Widen the selection, or give another run as base=RUN."
    )


def explain_seeds(
    key: CellKey, cells: Mapping[CellKey, tuple[RunFacts, ...]], own: set[str], expected: set[str]
) -> UserError:
    """Return the error for a cell without some of the seeds that other cells of its dataset have."""
    name, dataset = key
    absent = sorted(expected - own, key=seed_order)
    other = next(
        other
        for (other, other_dataset), runs in cells.items()
        if other_dataset == dataset and absent[0] in {each.seed for each in runs}
    )
    return UserError(
        f"compare: on {dataset}, {name} has runs of seed {', '.join(sorted(own, key=seed_order))} and {other} also of "
        f"seed {', '.join(absent)}; other seeds are other splits. Run what is missing, or select one seed, for example "
        f"by filter=\"params.seed = '{sorted(own & expected, key=seed_order)[0]}'\"."
    )


def require_same_splits(dataset: str, runs: Sequence[RunFacts]) -> None:
    """Reject runs on a dataset that were not scored on the same test rows, seed by seed."""
    # Different seeds intentionally have different splits, so runs are compared with those of the same seed.
    firsts: dict[str, RunFacts] = {}
    for each in runs:
        first = firsts.setdefault(each.seed, each)
        if each.splits_digest == first.splits_digest:
            continue
        pairs = [{key: value for key, value in run.evaluation if key not in UNPAIRED_KEYS} for run in (first, each)]
        differences = list_differences(*pairs)
        cause = ", ".join(differences) or "the code that makes the splits"
        raise UserError(
            f"compare: on {dataset}, run {first.short_id} ({first.run.name}) and run {each.short_id} ({each.run.name}) "
            f"were scored on other splits, so they cannot be paired fold by fold: they differ in {cause}."
        )


def seed_order(seed: str) -> tuple[int, str]:
    """Return the key that sorts seeds as numbers."""
    return (int(seed), seed) if seed.isdigit() else (0, seed)


DIGEST_LETTERS = 6
NO_RUN = "no run"
MAX_LEFT_OUT = 8
"""Notes about configurations that did not finish."""


@dataclass(frozen=True)
class MissingJob:
    """A job without a run with params: it was refused, or ended before it wrote any.

    Attributes
    ----------
    learner, dataset, reason : str
    """

    learner: str
    dataset: str
    reason: str


@dataclass(frozen=True)
class RunGrid:
    """The runs of each configuration on each dataset.

    Attributes
    ----------
    configurations : mapping of str to Params
        By name, in the order of their names.
    datasets : mapping of str to str
        Name -> fingerprint of the rows.
    runs : mapping of CellKey to tuple of RunFacts
        One per seed, in the order of the seeds, which are the same in all cells of a dataset.
    reasons : mapping of CellKey to str
        The reason why each of the other cells is empty.
    notes : tuple of str
        Notes on runs left out, or chosen among several.
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


def arrange_runs(facts: Sequence[RunFacts], missing: Sequence[MissingJob] = (), keeps_all: bool = False) -> RunGrid:
    """Arrange runs as a grid.

    Parameters
    ----------
    facts : sequence of RunFacts
        Finished or not, the newest first.
    missing : sequence of MissingJob
        Jobs of the selection without a run.
    keeps_all : bool
        Whether runs of one job are kept apart, because each of them was named by its id; otherwise the newest counts.

    Raises
    ------
    UserError
        The runs cannot be paired fold by fold, or there are fewer than two configurations.
    """
    finished = [each for each in facts if each.run.is_finished]
    require_finished(finished, facts)
    require_digests(finished)
    finished, labels = _label_datasets(finished)
    if keeps_all:
        finished = _keep_apart(finished)
    newest, notes = _take_newest(finished)
    # Names describe the differences between the rows, so they are assigned after the rows are known.
    names = name_configurations(list(dict.fromkeys(each.configuration for each in newest)))
    unfinished = [each for each in facts if not each.run.is_finished]
    require_two(names, newest, unfinished)
    reasons, further_notes = _explain_missing(unfinished, missing, newest, names)
    cells = _group_cells(newest, names)
    complete = _require_seeds(cells, reasons)
    for dataset in labels:
        require_same_splits(dataset, [run for key, runs in complete.items() if key[1] == dataset for run in runs])
    order = sorted(names, key=lambda configuration: names[configuration])
    all_keys = [(names[configuration], dataset) for configuration in order for dataset in labels]
    return RunGrid(
        configurations={names[configuration]: configuration for configuration in order},
        datasets=labels,
        runs=complete,
        reasons={key: reasons.get(key, NO_RUN) for key in all_keys if key not in complete},
        notes=(*notes, *further_notes),
    )


def _label_datasets(finished: Sequence[RunFacts]) -> tuple[list[RunFacts], dict[str, str]]:
    """Return the runs with unique names of datasets, and the fingerprint of each dataset by its name.

    One name with several versions of rows is several datasets if each configuration has runs on all of them.
    """
    digests = group_by(finished, lambda each: each.dataset, lambda each: each.digest)
    labels: dict[str, str] = {}
    labelled: list[RunFacts] = []
    for name in sorted(digests):
        own = [each for each in finished if each.dataset == name]
        versions = list(dict.fromkeys(digests[name]))
        if len(versions) > 1:
            require_all_versions(name, own, versions)
            own = [replace(each, dataset=f"{name} {each.digest[:DIGEST_LETTERS]}") for each in own]
        labels |= {each.dataset: each.digest for each in own}
        labelled += own
    return labelled, labels


def _keep_apart(finished: Sequence[RunFacts]) -> list[RunFacts]:
    """Turn runs that would share a cell into separate configurations."""
    groups = group_by(finished, lambda each: (each.configuration, each.dataset, each.seed), lambda each: each)
    kept = []
    for each in finished:
        is_alone = len(groups[each.configuration, each.dataset, each.seed]) == 1
        own = {**dict(each.configuration), RUN_KEY: each.short_id}
        kept.append(each if is_alone else replace(each, configuration=sort_params(own)))
    return kept


def _take_newest(finished: Sequence[RunFacts]) -> tuple[list[RunFacts], list[str]]:
    """Return one run per configuration, dataset and seed, and notes about skipped ones."""
    groups = group_by(finished, lambda each: (each.configuration, each.dataset, each.seed), lambda each: each)
    newest = []
    n_same = 0
    n_changed = 0
    for runs in groups.values():
        ordered = sorted(runs, key=lambda each: each.run.started, reverse=True)
        require_one_evaluation(ordered)
        newest.append(ordered[0])
        hashes = [each.run.tags.get("config_hash") for each in ordered]
        n_changed += sum(job_hash != hashes[0] for job_hash in hashes)
        n_same += sum(job_hash == hashes[0] for job_hash in hashes) - 1
    notes = []
    if n_same:
        notes.append(
            f"Passed over: {count_nouns(n_same, 'older run')} of the same jobs; the newest run of each counts."
        )
    if n_changed:
        notes.append(
            f"Passed over: {count_nouns(n_changed, 'older run')} of the same configurations with other code or library "
            "versions; the newest run of each counts."
        )
    return newest, notes


def _explain_missing(
    unfinished: Sequence[RunFacts],
    missing: Sequence[MissingJob],
    newest: Sequence[RunFacts],
    names: Mapping[Params, str],
) -> tuple[dict[CellKey, str], list[str]]:
    """Return the reasons for empty cells, and notes about jobs without a cell in the grid."""
    datasets = {each.dataset for each in newest}
    learner_rows = group_by(names, lambda configuration: dict(configuration)["learner"], lambda each: names[each])
    absent: list[tuple[str | None, RunFacts | MissingJob]] = []
    for run in _list_undone(unfinished, newest):
        absent.append((names.get(run.configuration), run))
    for job in missing:
        rows = learner_rows.get(job.learner, [])
        # Without params the configuration of the job is unknown, unless its learner has only one.
        absent.append((rows[0] if len(rows) == 1 else None, job))
    reasons: dict[CellKey, str] = {}
    outside = []
    for name, each in absent:
        if name is not None and each.dataset in datasets:
            reasons.setdefault((name, each.dataset), each.reason)
        else:
            outside.append(f"{each.learner} on {each.dataset}: {each.reason}")
    return reasons, _write_left_out(list(dict.fromkeys(outside)))


def _list_undone(unfinished: Sequence[RunFacts], newest: Sequence[RunFacts]) -> list[RunFacts]:
    """Return the unfinished runs of jobs without a finished run."""
    done = {(each.configuration, each.dataset, each.seed) for each in newest}
    return [each for each in unfinished if (each.configuration, each.dataset, each.seed) not in done]


def _write_left_out(lines: Sequence[str]) -> list[str]:
    """Return notes about what is not in the grid; a study may have stopped hundreds of runs, so not all are listed."""
    notes = [f"Left out, because nothing of it finished: {line}" for line in lines[:MAX_LEFT_OUT]]
    n_hidden = len(lines) - len(notes)
    return [*notes, f"Left out as well: {n_hidden} more that did not finish."] if n_hidden else notes


def _group_cells(newest: Sequence[RunFacts], names: Mapping[Params, str]) -> dict[CellKey, tuple[RunFacts, ...]]:
    groups = group_by(newest, lambda each: (names[each.configuration], each.dataset), lambda each: each)
    return {key: tuple(sorted(runs, key=lambda each: seed_order(each.seed))) for key, runs in groups.items()}


def _require_seeds(
    cells: Mapping[CellKey, tuple[RunFacts, ...]], reasons: Mapping[CellKey, str]
) -> dict[CellKey, tuple[RunFacts, ...]]:
    """Return the cells that have all seeds of their dataset; one that lacks a seed without a reason is refused."""
    seeds = group_by(cells, lambda key: key[1], lambda key: {each.seed for each in cells[key]})
    complete = {}
    for key, runs in cells.items():
        own = {each.seed for each in runs}
        expected = set().union(*seeds[key[1]])
        if own == expected:
            complete[key] = runs
        elif key not in reasons:
            raise explain_seeds(key, cells, own, expected)
    return complete
