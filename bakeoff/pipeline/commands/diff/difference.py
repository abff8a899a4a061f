"""Why two runs differ: the effect of each change between their configurations, and the rows predicted differently.

Effects are measured, not modelled: hybrids of both configurations are run on the same splits as the jobs of a sweep.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from io import StringIO

import numpy as np
import pandas as pd

from bakeoff.pipeline.commands.comparison_report.comparison import ComparedMetric
from bakeoff.pipeline.commands.diff.changed_rows import ROW_COLUMNS, ChangedRows, compare_predictions
from bakeoff.pipeline.commands.diff.changes import EVALUATION, NOT_SET, VALIDATION, Change
from bakeoff.pipeline.commands.diff.effects import (
    Effect,
    compute_effects,
    estimate_effects,
    find_interactions,
    list_hybrids,
)
from bakeoff.pipeline.commands.diff.hybrids import (
    SEED,
    find_ratio,
    have_same_splits,
    prepare_sweep,
    read_fold_scores,
    separate_changes,
)
from bakeoff.pipeline.commands.diff.request import DiffRequest
from bakeoff.pipeline.commands.diff.result import DifferenceResult, MeasuredChange, describe_effect, tabulate_effects
from bakeoff.pipeline.commands.repetition.differences import DECISIVE_TAGS, find_changes
from bakeoff.pipeline.commands.significance.folds import subtract_scores
from bakeoff.pipeline.config.engine import ConfigSource
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.tables.report import Report, Section
from bakeoff.pipeline.tables.table import TEXT, Cell, Row, Table, make_table
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.wording import ABSENT, NOISE, format_change, format_score, join_words
from bakeoff.pipeline.tracking.provenance import count_changed_lines
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import TABLES, StoredRun, read_tables

REST = "the rest"
INTERACTIONS = "interactions"
UNUSED_EVALUATION = "evaluation= was not used, because both runs have the same configuration."
MAX_SHOWN_ROWS = 10
FIXED_KEYS = (SEED, EVALUATION)
"""The beginnings of the params that hybrids share."""
CONFIGURED_NAMES = tuple(DECISIVE_TAGS[tag] for tag in ("dataset_digest", "code_hash", "threads"))
"""What differs between repeated runs only because their configurations do."""
COMMIT_TAG = "mlflow.source.git.commit"


@dataclass(frozen=True)
class RunDifference:
    """What differs between two runs.

    Attributes
    ----------
    runs : sequence of StoredRun
        Two runs.
    metric : ComparedMetric
    total : Effect
        The difference of the mean scores.
    measured : sequence of (Change, Effect)
    interactions : sequence of str
        Sentences on pairs of changes that act together.
    described : sequence of (str, str, str)
        What hybrids do not contain: its name, and the values of both runs.
    rows : ChangedRows or None
    alpha : float
    notes : sequence of str
        Notes on words without effect.
    """

    runs: Sequence[StoredRun]
    metric: ComparedMetric
    total: Effect
    measured: Sequence[MeasuredChange]
    interactions: Sequence[str]
    described: Sequence[tuple[str, str, str]]
    rows: ChangedRows | None
    alpha: float
    notes: Sequence[str]

    @property
    def is_identical(self) -> bool:
        """Whether neither a configuration, nor a score, nor a prediction differs."""
        has_same_rows = self.rows is not None and self.rows.table.empty
        return has_same_rows and not (self.measured or self.described or self.total.mean)


def explain_difference(
    request: DiffRequest, words: Sequence[str], source: ConfigSource, command: str, *, quiet: bool = False
) -> DifferenceResult:
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
    names = (request.a, request.b)
    sweep = prepare_sweep("diff", names, request, words, source, sweep=request.sweep, quiet=quiet)
    store, metric = sweep.store, sweep.metric
    mixture = separate_changes(sweep.start, sweep.end)
    changes = mixture.changes
    evaluated = sweep.evaluate(mixture, list_hybrids(len(changes))) if changes else None
    repeated = sweep.runs if evaluated is None else [evaluated[0][0], evaluated[0][-1]]
    runs = repeated if sweep.evaluation else sweep.runs
    total = _measure_total(store, runs, metric, request.alpha)
    measured, interactions = _explain_total(total, changes, evaluated, request.alpha)
    found = RunDifference(
        runs=runs,
        metric=metric,
        total=total,
        measured=measured,
        interactions=interactions,
        described=_describe_differences(runs, is_repeated=evaluated is not None and repeated == runs),
        rows=_compare_rows(store, repeated, sweep.dataset, request.alpha),
        alpha=request.alpha,
        notes=[UNUSED_EVALUATION] if sweep.evaluation and not changes else [],
    )
    is_plan = evaluated is None and bool(changes)
    is_worse = not is_plan and _is_worse(found, request.fail_if)
    report = _write_report(found, hide_secrets(store.uri), hide_secrets(command), request.rows)
    return DifferenceResult("difference", report, runs, store, measured, total.mean, found.rows, is_worse, is_plan)


def _measure_total(store: Store, runs: Sequence[StoredRun], metric: ComparedMetric, alpha: float) -> Effect:
    """Return the difference of the mean scores of two runs, tested if they are paired."""
    before, after = (run.metrics[metric.name] for run in runs)
    if not have_same_splits(runs):
        return Effect(after - before)
    old, new = read_fold_scores(store, runs, metric.name)  # (J,), (J,)
    (total,) = estimate_effects(subtract_scores(new, old)[np.newaxis], find_ratio(runs), alpha)
    return replace(total, mean=after - before)


def _explain_total(
    total: Effect, changes: Sequence[Change], evaluated: tuple[Sequence[StoredRun], np.ndarray] | None, alpha: float
) -> tuple[list[MeasuredChange], list[str]]:
    """Return the effects of changes with the interactions and the rest, which add up to the whole difference.

    The second list contains sentences on pairs of changes that act together. The effects of a plan are unknown.
    """
    measured = [(change, Effect()) for change in changes]
    remainders = {} if changes else {REST: total.mean}
    sentences: list[str] = []
    if evaluated is not None:
        runs, rows = evaluated
        scores = dict(zip(list_hybrids(len(changes)), rows, strict=True))
        effects = compute_effects(scores, len(changes))  # (k, J)
        measured = list(zip(changes, estimate_effects(effects, find_ratio(runs), alpha), strict=True))
        here = float(np.mean(rows[-1]) - np.mean(rows[0]))
        remainders = {INTERACTIONS: here - sum(effect.mean for _, effect in measured), REST: total.mean - here}
        sentences = [
            f"{changes[i].key} and {changes[j].key} act together: their interaction, {format_change(size)}, is larger "
            "than the effect of either."
            for (i, j), size in find_interactions(scores, effects).items()
        ]
    others = [(Change(key, "", ""), Effect(size)) for key, size in remainders.items() if abs(size) > NOISE]
    return [*measured, *others], sentences


def _describe_differences(runs: Sequence[StoredRun], *, is_repeated: bool) -> list[tuple[str, str, str]]:
    """Return what two runs record that hybrids do not contain: its name, and both values.

    Parameters
    ----------
    runs : sequence of StoredRun
        Two runs.
    is_repeated : bool
        Whether both are runs of this code, so that their data and code differ only because their configurations do.
    """
    a, b = runs
    omitted = CONFIGURED_NAMES if is_repeated else ()
    found = [(each.name, each.stored, each.now) for each in find_changes(a.tags, b.tags) if each.name not in omitted]
    commits = [run.tags.get(COMMIT_TAG, "") for run in runs]
    lines = count_changed_lines(*commits) if all(commits) and commits[0] != commits[1] else ""
    if lines:
        found.append(("files changed between the commits", ABSENT, lines))
    settings = {
        key: (a.params.get(key, NOT_SET), b.params.get(key, NOT_SET))
        for key in sorted({*a.params, *b.params})
        if key.startswith(FIXED_KEYS) and key != ".".join(VALIDATION)
    }
    return [*found, *((key, before, after) for key, (before, after) in settings.items() if before != after)]


def _compare_rows(store: Store, runs: Sequence[StoredRun], dataset: Dataset, alpha: float) -> ChangedRows | None:
    """Compare the stored predictions of two runs; return None if they are gone, or for other test rows."""
    texts = [read_tables(store, run).get(TABLES[0]) for run in runs]
    if not have_same_splits(runs) or None in texts:
        return None
    labels = {"truth": str, "predicted": str} if dataset.is_classification else None
    before, after = (pd.read_csv(StringIO(text), dtype=labels, keep_default_na=not labels) for text in texts)
    return compare_predictions(before, after, dataset, alpha)


def _is_worse(found: RunDifference, fail_if: str) -> bool:
    """Return whether the second run is significantly worse; reject a gate on scores that were not tested."""
    total = found.total
    if fail_if == "worse" and total.mean and not total.is_tested:
        raise UserError(
            "fail_if=worse needs several scores of both runs on the same test rows; use evaluation=repeated_kfold."
        )
    return total.p_value <= found.alpha and (total.mean < 0) == found.metric.greater_is_better


SAME = "The runs are identical: their configurations, scores and predictions are the same."


def _write_report(found: RunDifference, uri: str, command: str, shown_rows: str) -> Report:
    before, after = found.runs
    return Report(
        question=f"Why do {before.name} and {after.name} differ?",
        selection=f"from run {before.run_id} to run {after.run_id} in {uri}",
        verdict=[SAME] if found.is_identical else list(_write_verdict(found)),
        sections=list(_tabulate(found, shown_rows)),
        notes=[*found.notes, *_write_notes(found)],
        command=command,
    )


def _write_verdict(found: RunDifference) -> Iterator[str]:
    """Yield sentences on the scores of both runs, the effects that are told apart, and the rows."""
    before, after = (format_score(run.metrics[found.metric.name]) for run in found.runs)
    yield (
        f"{found.metric.label.capitalize()} is {before} in the first run and {after} in the second: a difference of "
        f"{describe_effect(found.total)}."
    )
    told_apart = [
        f"{change.key} contributes {describe_effect(effect)}"
        for change, effect in found.measured
        if effect.p_value <= found.alpha
    ]
    others = [change.key for change, effect in found.measured if effect.p_value > found.alpha]
    if told_apart:
        yield f"{join_words(told_apart)}."
    if others:
        yield f"The {'effect' if len(others) == 1 else 'effects'} of {join_words(others)} cannot be told apart from 0."
    yield from found.interactions
    if found.rows is not None:
        yield from found.rows.describe()


def _tabulate(found: RunDifference, shown_rows: str) -> Iterator[Section]:
    """Yield the tables of a difference."""
    if found.measured:
        whole = format_change(sum(effect.mean for _, effect in found.measured))
        sentences = [] if whole == ABSENT else [f"The effects add up to {whole}."]
        yield tabulate_effects(found.measured, found.metric), sentences
    if found.described:
        headings: Row = ["other differences", Cell("first run", TEXT), Cell("second run", TEXT)]
        yield make_table("Not separated", headings, found.described), []
    rows = found.rows
    if rows is not None:
        limit = rows.n_rows if shown_rows == "all" else MAX_SHOWN_ROWS
        for title, table in (("Rows that became better", rows.mended), ("Rows that became worse", rows.broken)):
            if len(table):
                yield _tabulate_rows(title, table, limit), []


def _tabulate_rows(title: str, table: pd.DataFrame, limit: int) -> Table:
    shown = table.head(limit)
    omitted = f"{len(table) - len(shown)} more with rows=all" if len(shown) < len(table) else ""
    headings = [Cell(name, TEXT) for name in ROW_COLUMNS]
    return make_table(title, headings, shown.astype(str).to_numpy().tolist(), omitted)


def _write_notes(found: RunDifference) -> Iterator[str]:
    """Yield notes on what could not be measured."""
    is_paired = have_same_splits(found.runs)
    if not is_paired:
        yield (
            "The runs have other test rows, so their scores are not paired; evaluation=repeated_kfold runs both "
            "configurations on the same rows."
        )
    elif not found.total.is_tested:
        yield (
            "With one split there are no p-values; evaluation=repeated_kfold runs both configurations and their "
            "hybrids on 100 splits."
        )
    if found.rows is None:
        yield "The rows are not compared: a run has other test rows, or its predictions are not stored."
    elif not is_paired:
        yield "The rows are compared on the test rows of the second run, on which the first one was repeated."
    if any(change.key == REST for change, _ in found.measured):
        yield "The rest is what other versions, splits, seeds or rows account for, and cannot be separated here."
