"""Runs arranged as a grid of configurations and datasets, paired fold by fold; runs that cannot be are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bakeoff.pipeline.comparison.grid.grouping import group_by
from bakeoff.pipeline.comparison.grid.naming import name_configurations
from bakeoff.pipeline.comparison.grid.pairing import (
    CellKey,
    explain_seeds,
    require_all_versions,
    require_digests,
    require_finished,
    require_one_evaluation,
    require_same_splits,
    require_two,
    seed_order,
)
from bakeoff.pipeline.comparison.grid.run_facts import RUN_KEY, Params, RunFacts, sort_params
from bakeoff.pipeline.text.words import count_nouns

DIGEST_LETTERS = 6
NO_RUN = "no run"
MAX_LEFT_OUT = 8
"""Notes about configurations that did not finish."""


@dataclass(frozen=True)
class MissingJob:
    """A job that has no run with params: it was refused, or ended before it wrote any.

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
        Why each of the other cells is empty.
    notes : tuple of str
        What was left out, or taken from several.
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
        Jobs of the selection that have no run.
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
    # Names say what varies among the rows, so they are given after it is known which rows there are.
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
    """Make configurations of their own of the runs that would be one cell."""
    groups = group_by(finished, lambda each: (each.configuration, each.dataset, each.seed), lambda each: each)
    kept = []
    for each in finished:
        is_alone = len(groups[each.configuration, each.dataset, each.seed]) == 1
        own = {**dict(each.configuration), RUN_KEY: each.short_id}
        kept.append(each if is_alone else replace(each, configuration=sort_params(own)))
    return kept


def _take_newest(finished: Sequence[RunFacts]) -> tuple[list[RunFacts], list[str]]:
    """Return one run per configuration, dataset and seed, and notes about those that were passed over."""
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
    """Return why cells are empty, and notes about jobs that have no cell in the grid."""
    done = {(each.configuration, each.dataset, each.seed) for each in newest}
    datasets = {each.dataset for each in newest}
    reasons: dict[CellKey, str] = {}
    outside: list[str] = []
    for each in unfinished:
        if (each.configuration, each.dataset, each.seed) in done:
            continue
        if each.configuration in names and each.dataset in datasets:
            reasons.setdefault((names[each.configuration], each.dataset), each.reason)
        else:
            outside.append(f"{each.learner} on {each.dataset}: {each.reason}")
    by_learner = group_by(names, lambda configuration: dict(configuration)["learner"], lambda each: names[each])
    for job in missing:
        rows = by_learner.get(job.learner, [])
        # Without params it is not known which configuration the job is, unless its learner has only one.
        if len(rows) == 1 and job.dataset in datasets:
            reasons.setdefault((rows[0], job.dataset), job.reason)
        else:
            outside.append(f"{job.learner} on {job.dataset}: {job.reason}")
    return reasons, _write_left_out(list(dict.fromkeys(outside)))


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
