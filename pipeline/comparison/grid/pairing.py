"""What makes runs comparable fold by fold: the checks, each with the sentence that refuses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bakeoff.pipeline.comparison.grid.grouping import group_by
from bakeoff.pipeline.comparison.grid.run_facts import Params, RunFacts, list_differences, list_ids
from bakeoff.pipeline.errors import UserError

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
    """Reject runs of which it is not known on which rows they were scored."""
    without = [each for each in finished if not (each.splits_digest and each.digest and each.rows_per_fold)]
    if without:
        raise UserError(
            f"compare: {len(without)} of {len(finished)} runs do not record their splits ({list_ids(without)}): "
            "another program wrote them. They cannot be paired fold by fold; run their jobs again with resume=false."
        )


def require_all_versions(name: str, own: Sequence[RunFacts], versions: Sequence[str]) -> None:
    """Reject versions of the rows of a dataset that not every configuration has seen."""
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
    """Reject a single configuration, and name the runs that do not count because they have not finished."""
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
    # Different seeds are different splits on purpose, so runs are compared with those of their own seed.
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
