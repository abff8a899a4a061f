"""Comparison of systems on the items of one test set: means, pairs, tiers, and the items that an answer needs."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pandas as pd

from bakeoff.pipeline.commands.compare.analysis import describe_pair, rank_means, summarize
from bakeoff.pipeline.commands.compare.compare_cells import (
    make_settings,
    name_rivals,
    write_base_note,
    write_look_notes,
)
from bakeoff.pipeline.commands.compare.request import CompareRequest
from bakeoff.pipeline.commands.compare.run_grid import RunFacts
from bakeoff.pipeline.commands.comparison_report.comparison import (
    Cell,
    ComparedDataset,
    ComparedMetric,
    Comparison,
    DatasetResult,
    ItemDesign,
    ItemPair,
    MetricResult,
    Settings,
)
from bakeoff.pipeline.commands.comparison_report.kept_report import ITEMS_TAG, RUNS_FILE, SUFFIX
from bakeoff.pipeline.commands.comparison_report.verdict import enumerate_names
from bakeoff.pipeline.commands.items.item_rows import score_rows
from bakeoff.pipeline.commands.items.item_scores import CLUSTER, DATASET, ITEM, ItemScores, read_item_scores
from bakeoff.pipeline.commands.significance.datasets import (
    FriedmanTest,
    compute_friedman_test,
    count_least_datasets,
    round_scores,
)
from bakeoff.pipeline.commands.significance.folds import (
    CorrectedTTest,
    Requirement,
    compute_posterior,
    estimate_requirement,
)
from bakeoff.pipeline.commands.significance.items import MCNEMAR, ItemTests, Tests, find_tiers, make_design
from bakeoff.pipeline.commands.significance.pairs import EQUAL, PairStop, answer_pair, find_holm_levels
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.model.row_report import adjust_by_holm
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.wording import (
    count_nouns,
    equate_p,
    format_change,
    format_p,
    format_score,
    format_statistic,
)
from bakeoff.pipeline.tracking import artifacts
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_runs import IS_FINISHED, search_runs, write_condition

NOTHING = Requirement(math.nan, None, None)
ALL_DATASETS = "all datasets"
DIGEST_LETTERS = 16
MIN_CLUSTERS = 10
"""With fewer clusters, a note says how rough the intervals are."""


def compare_table(frame: pd.DataFrame, name: str, request: CompareRequest, command: str) -> Comparison:
    """Compare the systems of a table, and count those that stored comparisons showed on the same items.

    Parameters
    ----------
    frame : DataFrame
    name : str
        The name of the table, for messages.
    request : CompareRequest
    command : str

    Raises
    ------
    UserError
        The table is invalid, there is no such base, or the store cannot be opened.
    """
    compared = compare_items(read_item_scores(frame, name, request), request, command)
    return _count_looks(compared, request) if request.keep else compared


def compare_rows(
    facts: Sequence[RunFacts], description: str, request: CompareRequest, store: Store, command: str
) -> Comparison:
    """Compare stored runs, described as a selection, on their test rows.

    Raises
    ------
    UserError
        The runs cannot be compared by row, or there is no such base.
    """
    return compare_items(score_rows(facts, description, request, store), request, command)


def compare_items(items: ItemScores, request: CompareRequest, command: str) -> Comparison:
    """Compare systems on the items of one test set.

    Parameters
    ----------
    items : ItemScores
    request : CompareRequest
    command : str
        The command line that requests the comparison.

    Raises
    ------
    UserError
        There is no such base.
    """
    table, metric = items.table, items.metric
    parts, remarks = _divide_by_dataset(table)
    tests = [items.predictions or _make_tests(part) for part in parts.values()]
    estimates = [dict(zip(map(str, table), own.estimate_means(1 - request.alpha), strict=True)) for own in tests]
    by_name = {row.name: row for row in items.configurations}
    rows = tuple(by_name[name] for name in _rank(estimates[0], metric))
    settings = make_settings(request, rows)
    results = tuple(_analyze(*own, metric, settings) for own in zip(parts, tests, estimates, strict=True))
    design = _describe_design(table, request, results[0], tests[0].name)
    return Comparison(
        question=_write_question(table, design),
        selection=items.selection,
        command=command,
        verdict=tuple(_write_verdict(_list_pairs(results[:1]), design)),
        notes=(*items.notes, *_write_notes(results, design, settings), *remarks),
        settings=settings,
        metrics=(metric,),
        datasets=tuple(ComparedDataset(name, _digest(part), "", len(part), 1, (), 0) for name, part in parts.items()),
        configurations=rows,
        cells=tuple(Cell(row.name, name, n_test=len(part)) for row in rows for name, part in parts.items()),
        results=(MetricResult(metric.name, results, None, ()),),
        run_ids=tuple(items.run_ids),
        items=design,
    )


def _divide_by_dataset(table: pd.DataFrame) -> tuple[dict[str, pd.DataFrame], list[str]]:
    """Return all items and those of each of several datasets, and a remark on datasets that are not tested alone."""
    of_datasets = {str(name): part for name, part in table.groupby(DATASET, sort=False)}
    if len(of_datasets) <= 1:
        return {"".join(of_datasets) or "the test set": table}, []
    parts = {name: part for name, part in of_datasets.items() if len(part) > 1}
    small = [name for name in of_datasets if name not in parts]
    remarks = [f"Not tested alone, because they have one item: {', '.join(small)}."] if small else []
    return {ALL_DATASETS: table, **parts}, remarks


def _digest(table: pd.DataFrame) -> str:
    """Return what identifies items, in any order and whatever their scores."""
    datasets, items = (table.index.get_level_values(level).astype(str) for level in (DATASET, ITEM))
    names = sorted(datasets + "\t" + items)
    return hashlib.sha256("\n".join(names).encode()).hexdigest()[:DIGEST_LETTERS]


def _make_tests(table: pd.DataFrame) -> ItemTests:
    clusters, datasets = (pd.factorize(table.index.get_level_values(level))[0] for level in (CLUSTER, DATASET))
    return ItemTests(np.ascontiguousarray(round_scores(table.to_numpy()).T), make_design(clusters, datasets))


def _rank(estimates: Mapping[str, CorrectedTTest], metric: ComparedMetric) -> dict[str, float]:
    """Return the rank of each system, from best to worst."""
    return rank_means({system: estimate.mean for system, estimate in estimates.items()}, metric)


def _analyze(
    name: str, tests: Tests, estimates: Mapping[str, CorrectedTTest], metric: ComparedMetric, settings: Settings
) -> DatasetResult:
    """Return the means and the pairs of systems on some of the items."""
    ranks = _rank(estimates, metric)
    rope = metric.rope * (abs(estimates[settings.base].mean) if metric.is_rope_relative else 1.0)
    pairs = tuple(_compare_pairs(list(estimates), list(ranks), tests, rope, metric, settings))
    summaries = tuple(
        replace(summarize(system, estimates[system], metric, settings, ranks, pairs), std=math.nan) for system in ranks
    )
    return DatasetResult(name, settings.base, summaries, pairs, ())


def _compare_pairs(
    systems: Sequence[str],
    ordered: Sequence[str],
    tests: Tests,
    rope: float,
    metric: ComparedMetric,
    settings: Settings,
) -> Iterator[ItemPair]:
    """Yield all pairs of systems, ordered from best to worst."""
    alpha = settings.alpha
    numbers = list(combinations(map(systems.index, ordered), 2))
    found = list(tests.test_pairs(numbers, 1 if metric.greater_is_better else -1, 1 - alpha))
    p_values, width = [pair.p_value for pair in found], tests.width
    p_equal = adjust_by_holm(np.array([_test_equality(pair.test, rope, width) for pair in found])).tolist()
    p_holm, levels = adjust_by_holm(np.array(p_values)).tolist(), find_holm_levels(p_values, alpha).tolist()
    for (i, j), pair, p, equal, level in zip(numbers, found, p_holm, p_equal, levels, strict=True):
        # A pair that is told apart needs no more items, and the noncentral t distribution takes milliseconds.
        needed = NOTHING if p <= alpha else _estimate_items(pair.test, tests.n_items, level)
        stop = PairStop(replace(pair.test, p=pair.p_value), p, answer=answer_pair(p, equal, alpha))
        own = describe_pair((systems[i], systems[j]), stop, needed, rope, alpha)
        yield ItemPair(**vars(own), wins=pair.wins, losses=pair.losses, p_error=pair.p_error)


def _estimate_items(test: CorrectedTTest, n_items: int, level: float) -> Requirement:
    """Return how many items a difference needs, which are in as many clusters as a p-value below the level needs."""
    needed = estimate_requirement(test, 1, n_items, level)
    least = math.ceil(count_least_datasets(1, level) * n_items / test.n_folds)
    return replace(needed, rows=None if needed.rows is None else max(needed.rows, least))


def _test_equality(test: CorrectedTTest, rope: float, width: float) -> float:
    """Return the p-value of two one-sided tests of a difference beyond the rope.

    If both systems have equal scores on all items, it is the probability that none of G clusters would differ although
    the difference, of scores in a range of a width, is as large as the rope.
    """
    if test.is_degenerate and test.mean == 0:
        return float(max(0.0, 1 - rope / (width or 1.0)) ** test.n_folds)
    posterior = compute_posterior(test, rope)
    return 1.0 if test.is_degenerate or test.n_folds == 1 else max(posterior.better, posterior.worse)


def _describe_design(table: pd.DataFrame, request: CompareRequest, result: DatasetResult, test: str) -> ItemDesign:
    """Return the items and their tests, with the tiers that follow from the pairs of all items."""
    # Of ranks with ties, Friedman's statistic is Cochran's Q.
    has_q = test == MCNEMAR and table.shape[1] > 2
    cochran = compute_friedman_test(table.to_numpy()) if has_q else FriedmanTest()
    names = [summary.configuration for summary in result.summaries]
    return ItemDesign(
        item=request.item,
        cluster=request.cluster,
        n_items=len(table),
        n_clusters=table.index.get_level_values(CLUSTER).nunique(),
        test=test,
        cochran_q=cochran.chi2,
        cochran_p=cochran.p,
        tiers=find_tiers(names, {(pair.first, pair.second) for pair in result.pairs if pair.is_told_apart}),
    )


def _write_question(table: pd.DataFrame, design: ItemDesign) -> str:
    n_items = count_nouns(design.n_items, design.item if design.item.isalpha() else "item")
    clusters = f" ({count_nouns(design.n_clusters, 'cluster')})" if design.cluster else ""
    systems = name_rivals(list(map(str, table)), "systems")
    return f"Which of {systems} is best on {n_items}, and how certain is that?{clusters}"


def _write_verdict(pairs: Sequence[ItemPair], design: ItemDesign) -> Iterator[str]:
    """Yield a sentence for each tier, and what would tell the best two apart."""
    if not any(pair.wins or pair.losses for pair in pairs):
        yield "All systems have equal scores on every item, so none is better."
        return
    p_values = {(pair.first, pair.second): pair.p_holm for pair in pairs}
    letters = design.list_tiers()
    for tier in design.tiers:
        ps = [p_values[tier[0], other] for other in tier[1:]]
        bound = "≥" if len({*map(format_p, ps)}) > 1 else "="
        best = f" from {tier[0]}" * (len(tier) > 2)
        remark = f" (not told apart{best}, {equate_p(min(ps), bound)})" if ps else ""
        yield f"Tier {letters[tier[0]]}: {enumerate_names(tier)}{remark}."
    closest = next((pair for pair in pairs if not pair.is_told_apart), None)
    if closest is not None:
        yield _write_requirement(closest, design)


def _list_pairs(results: Sequence[DatasetResult]) -> list[ItemPair]:
    return [pair for result in results for pair in result.pairs if isinstance(pair, ItemPair)]


def _write_requirement(pair: ItemPair, design: ItemDesign) -> str:
    """Return how far two systems are apart, and how many items would show it."""
    interval = f"{format_change(pair.low)} to {format_change(pair.high)}"
    claim = f"{pair.first} and {pair.second} differ by {format_score(pair.difference)} ({interval})"
    if pair.answer == EQUAL:
        return f"{claim}: they are practically equal, within {format_score(pair.rope)}."
    if pair.rows_needed is None:
        return f"{claim}: their means are equal." if pair.difference == 0 else f"{claim}."
    n_clusters = math.ceil(pair.rows_needed * design.n_clusters / design.n_items)
    clusters = f" in {count_nouns(n_clusters, 'cluster')}" if design.cluster else ""
    return f"{claim}: about {count_nouns(pair.rows_needed, 'item')}{clusters} would tell them apart."


def _write_notes(results: Sequence[DatasetResult], design: ItemDesign, settings: Settings) -> Iterator[str]:
    """Yield notes on all systems, few clusters, drawn exchanges, equal means, datasets, and the base."""
    if not math.isnan(design.cochran_q):
        yield f"All systems together: Cochran's Q = {format_statistic(design.cochran_q)}, {equate_p(design.cochran_p)}."
    yield from _describe_few(design, len(results[0].pairs), settings.alpha)
    error = max(pair.p_error for pair in _list_pairs(results))
    if error:
        yield f"p-values are from random exchanges with a fixed seed; their standard error is at most {error:.1g}."
    ties = [f"{a.configuration} and {b.configuration}" for a, b in pairwise(results[0].summaries) if a.rank == b.rank]
    if ties:
        yield f"Equal means: {', '.join(ties)}."
    if len(results) > 1:
        yield f"On {ALL_DATASETS}, each item counts once; p-values are not corrected for the number of datasets."
    yield from write_base_note(settings)


def _describe_few(design: ItemDesign, n_pairs: int, alpha: float) -> Iterator[str]:
    """Yield how far a result on few clusters can be trusted, and whether the tests can tell any pair apart."""
    counted = count_nouns(design.n_clusters, "cluster" if design.cluster else "item")
    if design.n_clusters < MIN_CLUSTERS:
        yield f"With only {counted}, intervals are rough."
    least = 2.0 ** (1 - design.n_clusters)
    if least * n_pairs > alpha:
        holm = f", times {n_pairs} by Holm's correction" * (n_pairs > 1)
        yield (
            f"No pair can be told apart at α = {alpha:g} on {counted}: none of {2**design.n_clusters} exchanges gives "
            f"a p-value below {least:.2g}{holm}. More of them or fewer systems would help."
        )


def _count_looks(comparison: Comparison, request: CompareRequest) -> Comparison:
    """Return a comparison of a table of items, with the systems that stored comparisons showed on the same items."""
    try:
        store = open_store(request.tracking__uri, f"{request.tracking__experiment}{SUFFIX}")
    except UserError as error:
        raise UserError(f"{error} With keep=false, the comparison needs no store.") from error
    query = f"{IS_FINISHED} and {write_condition(f'tags.{ITEMS_TAG}', comparison.datasets[0].digest)}"
    names = {row.name for row in comparison.configurations}
    shown = names.union(
        *(json.loads(artifacts.read_artifact(store, f"{run.address}/{RUNS_FILE}")) for run in search_runs(store, query))
    )
    datasets = (replace(comparison.datasets[0], n_looks=len(shown)), *comparison.datasets[1:])
    notes = write_look_notes(datasets, len(names), "systems have been compared on the same items")
    return replace(
        comparison,
        datasets=datasets,
        notes=(*comparison.notes, *notes),
        store=hide_secrets(store.uri),
        experiment=request.tracking__experiment,
    )
