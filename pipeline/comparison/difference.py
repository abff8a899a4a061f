"""Why two runs differ: the effect of each change between their configurations, and the rows predicted differently.

Effects are measured, not modelled: hybrids of both configurations are run on the same splits as the jobs of a sweep.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from io import StringIO

import numpy as np
import pandas as pd

from bakeoff.pipeline.comparison.cells import choose_compared_metrics
from bakeoff.pipeline.comparison.changed_rows import ROW_COLUMNS, ChangedRows, compare_predictions
from bakeoff.pipeline.comparison.changes import Change, find_changes
from bakeoff.pipeline.comparison.comparison import ComparedMetric
from bakeoff.pipeline.comparison.effects import (
    Effect,
    compute_effects,
    estimate_effects,
    find_interactions,
    list_hybrids,
)
from bakeoff.pipeline.comparison.findings import Findings, MeasuredChange, describe_effect, tabulate_effects
from bakeoff.pipeline.comparison.fold_tests import subtract_scores
from bakeoff.pipeline.comparison.hybrids import (
    Evaluation,
    HybridSweep,
    find_ratio,
    have_same_splits,
    read_fold_scores,
    separate_changes,
)
from bakeoff.pipeline.comparison.request import DiffRequest, ReportRequest
from bakeoff.pipeline.comparison.run_facts import describe_run
from bakeoff.pipeline.comparison.sides import Side, align_sides, describe_differences, read_side
from bakeoff.pipeline.config.engine import ConfigSource
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.tables.report import Report, Section
from bakeoff.pipeline.tables.table import TEXT, Cell, Row, Table, make_table
from bakeoff.pipeline.text.wording import ABSENT, NOISE, format_change, format_score, join_words
from bakeoff.pipeline.tracking.names import find_headline, find_run_id, names_run
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_runs import TABLES, StoredRun, find_runs_of_sweep, read_stored_runs, read_tables

REST = "the rest"
INTERACTIONS = "interactions"
MAX_SHOWN_ROWS = 10


def explain_difference(
    request: DiffRequest, words: Sequence[str], source: ConfigSource, command: str, *, quiet: bool = False
) -> Findings:
    """Find the changes between two runs, run the hybrids, and measure the effect of each change.

    Parameters
    ----------
    request : DiffRequest
    words : sequence of str
        Overrides of the sweep of hybrids, and of the evaluation.
    source : ConfigSource
    command : str
        The command that repeats the report.
    quiet : bool
        Whether to print nothing.

    Raises
    ------
    UserError
        The runs cannot be compared, or a hybrid is invalid or failed.
    """
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    a, b = (read_named_side(store, word, request, request.sweep) for word in (request.a, request.b))
    metric = choose_headline([a.run, b.run])
    sweep = HybridSweep.make("diff", [a.run, b.run], words, source, quiet=quiet)
    aligned = align_sides(a, b, store, request.tracking__experiment, sweep.evaluation)
    changes = separate_changes(aligned.a, aligned.b, find_changes(aligned.a, aligned.b))
    evaluated = None
    if changes or sweep.evaluation:
        evaluated = sweep.evaluate(aligned.a, aligned.b, changes, list_hybrids(len(changes)), store, metric.name)
    compared = [a.run, b.run] if evaluated is None else [evaluated.first, evaluated.last]
    runs = compared if sweep.evaluation else [a.run, b.run]
    total = _measure_total(store, runs, metric, request.alpha)
    measured = [(change, Effect()) for change in changes]
    interactions: list[str] = []
    if evaluated is not None:
        measured, interactions = _explain_total(total, changes, evaluated, request.alpha)
    elif not changes:
        measured = _describe_remainders({REST: total.mean})
    rows = _compare_rows(store, compared, aligned.experiment.dataset, request.alpha)
    described = describe_differences(runs, is_repeated=compared == runs and evaluated is not None)
    is_same = not (measured or described or total.mean or rows is None or len(rows.table))
    verdict = [SAME] if is_same else [*_write_verdict(runs, metric, total, measured, request.alpha), *interactions]
    verdict += [] if is_same or rows is None else [rows.counts]
    sections = _tabulate(measured, metric, described, rows, shows_all_rows=request.rows == "all")
    report = Report(
        question=f"Why do {runs[0].name} and {runs[1].name} differ?",
        selection=f"from run {runs[0].run_id} to run {runs[1].run_id} in {store.uri}",
        verdict=verdict,
        sections=list(sections),
        notes=list(_write_notes(runs, total, rows, measured)),
        command=command,
    )
    is_worse = total.p_value <= request.alpha and (total.mean < 0) == metric.greater_is_better
    is_plan = evaluated is None and bool(changes)
    return Findings("difference", report, runs, store, measured, total.mean, rows, is_worse, is_plan)


def choose_headline(runs: Sequence[StoredRun]) -> ComparedMetric:
    """Return the headline score that runs share.

    Raises
    ------
    UserError
        They have different headline scores, or were stored by other code.
    """
    names = sorted({str(find_headline(run.params, run.metrics)) for run in runs})
    if len(names) > 1:
        raise UserError(
            f"the runs have different headline scores, {join_words(names)}; name runs of one task, with one score in "
            "evaluation.metrics."
        )
    return choose_compared_metrics((), [describe_run(run) for run in runs], 0)[0]


def read_named_side(store: Store, word: str, request: ReportRequest, sweep: str = "") -> Side:
    """Return the run that a word names; in a sweep, also a configuration."""
    if sweep:
        runs = read_stored_runs(store, find_runs_of_sweep(store, sweep))
        named = {run.name.removesuffix(f" {run.params.get('dataset')}"): run.run_id for run in runs}
        if word in named:
            return read_side(store, named[word], request.trust)
        if not names_run(word):
            raise UserError(f"{word!r} is not a configuration of the sweep {sweep}. {did_you_mean(word, named)}")
    return read_side(store, find_run_id(store, word, request.dataset), request.trust)


def _measure_total(store: Store, runs: Sequence[StoredRun], metric: ComparedMetric, alpha: float) -> Effect:
    """Return the difference of the mean scores of two runs, tested if they are paired."""
    before, after = (run.metrics[metric.name] for run in runs)
    if not have_same_splits(runs):
        return Effect(after - before)
    old, new = read_fold_scores(store, runs, metric.name)  # (J,), (J,)
    (total,) = estimate_effects(subtract_scores(new, old)[np.newaxis], find_ratio(runs), alpha)
    return replace(total, mean=after - before)


def _explain_total(
    total: Effect, changes: Sequence[Change], evaluated: Evaluation, alpha: float
) -> tuple[list[MeasuredChange], list[str]]:
    """Return the effects of changes with the interactions and the rest, which add up to the whole difference.

    The second list contains sentences on pairs of changes that act together.
    """
    effects = compute_effects(evaluated.scores, len(changes))  # (k, J)
    measured = list(zip(changes, estimate_effects(effects, evaluated.ratio, alpha), strict=True))
    here = float(np.mean(evaluated.last_scores) - np.mean(evaluated.first_scores))
    remainders = {INTERACTIONS: here - sum(effect.mean for _, effect in measured), REST: total.mean - here}
    measured += _describe_remainders(remainders)
    sentences = [
        f"{changes[i].key} and {changes[j].key} act together: their interaction, {format_change(size)}, is larger than "
        "the effect of either."
        for (i, j), size in find_interactions(evaluated.scores, effects).items()
    ]
    return measured, sentences


def _describe_remainders(sizes: Mapping[str, float]) -> list[MeasuredChange]:
    """Return what no single change accounts for, unless it is a rounding error."""
    return [(Change(key, "", ""), Effect(size)) for key, size in sizes.items() if abs(size) > NOISE]


def _compare_rows(store: Store, runs: Sequence[StoredRun], dataset: Dataset, alpha: float) -> ChangedRows | None:
    """Compare the stored predictions of two runs; return None if they are gone, or for other test rows."""
    texts = [read_tables(store, run).get(TABLES[0]) for run in runs]
    if not have_same_splits(runs) or None in texts:
        return None
    labels = {"truth": str, "predicted": str} if dataset.is_classification else None
    before, after = (pd.read_csv(StringIO(text), dtype=labels, keep_default_na=not labels) for text in texts)
    return compare_predictions(before, after, dataset, alpha)


SAME = "The runs are identical: their configurations, scores and predictions are the same."


def _write_verdict(
    runs: Sequence[StoredRun], metric: ComparedMetric, total: Effect, measured: Sequence[MeasuredChange], alpha: float
) -> Iterator[str]:
    """Yield sentences on the scores of both runs, and on the effects that are told apart."""
    before, after = (format_score(run.metrics[metric.name]) for run in runs)
    yield (
        f"{metric.label.capitalize()} is {before} in the first run and {after} in the second: a difference of "
        f"{describe_effect(total)}."
    )
    found = [
        f"{change.key} contributes {describe_effect(effect)}" for change, effect in measured if effect.p_value <= alpha
    ]
    others = [change.key for change, effect in measured if effect.p_value > alpha]
    if found:
        yield f"{join_words(found)}."
    if others:
        yield f"The {'effect' if len(others) == 1 else 'effects'} of {join_words(others)} cannot be told apart from 0."


def _tabulate(
    measured: Sequence[MeasuredChange],
    metric: ComparedMetric,
    described: Sequence[tuple[str, str, str]],
    rows: ChangedRows | None,
    *,
    shows_all_rows: bool,
) -> Iterator[Section]:
    """Yield the tables of a difference."""
    if measured:
        whole = format_change(sum(effect.mean for _, effect in measured))
        yield tabulate_effects(measured, metric), [] if whole == ABSENT else [f"The effects add up to {whole}."]
    if described:
        headings: Row = ["other differences", Cell("first run", TEXT), Cell("second run", TEXT)]
        yield make_table("Not separated", headings, described), []
    if rows is not None:
        limit = rows.n_rows if shows_all_rows else MAX_SHOWN_ROWS
        if len(rows.mended):
            yield _tabulate_rows("Rows that became better", rows.mended, limit), []
        if len(rows.broken):
            yield _tabulate_rows("Rows that became worse", rows.broken, limit), rows.common


def _tabulate_rows(title: str, table: pd.DataFrame, limit: int) -> Table:
    shown = table.head(limit)
    omitted = f"{len(table) - len(shown)} more with rows=all" if len(shown) < len(table) else ""
    headings = [Cell(name, TEXT) for name in ROW_COLUMNS]
    return make_table(title, headings, shown.astype(str).to_numpy().tolist(), omitted)


def _write_notes(
    runs: Sequence[StoredRun], total: Effect, rows: ChangedRows | None, measured: Sequence[MeasuredChange]
) -> Iterator[str]:
    """Yield notes on what could not be measured."""
    if not have_same_splits(runs):
        yield (
            "The runs have other test rows, so their scores are not paired; evaluation=repeated_kfold runs both "
            "configurations on the same rows."
        )
    elif not total.is_tested:
        yield (
            "With one split there are no p-values; evaluation=repeated_kfold runs both configurations and their "
            "hybrids on 100 splits."
        )
    if rows is None:
        yield "The rows are not compared: a run has other test rows, or its predictions are not stored."
    elif not have_same_splits(runs):
        yield "The rows are compared on the test rows of the second run, on which the first one was repeated."
    if any(change.key == REST for change, _ in measured):
        yield "The rest is what other versions, splits, seeds or rows account for, and cannot be separated here."
