"""Why two runs differ: the effect of each change between their configurations, and the rows predicted differently.

Effects are measured, not modelled: hybrids of both configurations are run on the same splits as the jobs of a sweep.

Findings about changes between configurations, in all formats, and their storage as a run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from io import StringIO

import numpy as np
import pandas as pd

from bakeoff.pipeline.commands.compare.comparison import ComparedMetric
from bakeoff.pipeline.commands.compare.hypothesis_tests import subtract_scores
from bakeoff.pipeline.commands.compare.stored_comparison import keep_report
from bakeoff.pipeline.commands.diff.changes import ROW_COLUMNS, Change, ChangedRows, RowGroup, compare_predictions
from bakeoff.pipeline.commands.diff.hybrids import (
    Effect,
    HybridSweep,
    compute_effects,
    estimate_effects,
    find_interactions,
    find_ratio,
    have_same_splits,
    list_hybrids,
    read_fold_scores,
    separate_changes,
)
from bakeoff.pipeline.commands.diff.request import DiffRequest
from bakeoff.pipeline.commands.diff.sides import align_sides, choose_headline, describe_differences, read_named_side
from bakeoff.pipeline.config.engine import ConfigSource
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.tables.output_file import write_csv
from bakeoff.pipeline.tables.report import TEXT_FORMATS, Report, Section, render_document, render_page
from bakeoff.pipeline.tables.table import TEXT, Cell, Row, Table, make_table
from bakeoff.pipeline.text.secrets import hide_secrets
from bakeoff.pipeline.text.wording import ABSENT, NOISE, equate_p, format_change, format_p, format_score, join_words
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_runs import TABLES, StoredRun, read_tables

MeasuredChange = tuple[Change, Effect]
CHANGE_COLUMNS = ("key", "before", "after", "effect", "low", "high", "p_value")


@dataclass(frozen=True)
class Findings:
    """The findings about changes.

    Attributes
    ----------
    kind : str
        ``difference`` or ``ablation``.
    report : Report
    runs : sequence of StoredRun
        The runs to which the findings refer.
    store : Store
    measured : sequence of (Change, Effect)
        The changes; the effects are NaN if only the plan was requested.
    difference : float
        The difference of the mean headline scores.
    changed_rows : ChangedRows or None
    is_worse : bool
        Whether the second configuration is significantly worse than the first.
    is_plan : bool
    """

    kind: str
    report: Report
    runs: Sequence[StoredRun]
    store: Store
    measured: Sequence[MeasuredChange]
    difference: float
    changed_rows: ChangedRows | None = None
    is_worse: bool = False
    is_plan: bool = False

    @property
    def changes(self) -> pd.DataFrame:
        """The changes with effect, interval and p-value, and the interactions and the rest as rows."""
        rows = [(each.key, each.before, each.after, *asdict(effect).values()) for each, effect in self.measured]
        return pd.DataFrame(rows, columns=CHANGE_COLUMNS)

    @property
    def rows(self) -> pd.DataFrame:
        """The test rows whose prediction changed."""
        return pd.DataFrame(columns=ROW_COLUMNS) if self.changed_rows is None else self.changed_rows.table

    @property
    def groups(self) -> pd.DataFrame:
        """What the rows that became worse have in common."""
        groups = () if self.changed_rows is None else self.changed_rows.groups
        return pd.DataFrame([asdict(group) for group in groups], columns=[each.name for each in fields(RowGroup)])

    def render(self, to: str) -> str:
        """Return the findings in a format."""
        if to == "csv":
            text = StringIO()
            write_csv(self.changes, text)
            return text.getvalue()
        if to == "json":
            tables = {name: getattr(self, name).to_dict("records") for name in ("changes", "rows", "groups")}
            return render_document(self.kind, {"difference": self.difference, **tables})
        return render_page(self.report) if to == "html" else TEXT_FORMATS[to](self.report)

    def keep(self, experiment: str) -> str:
        """Store the findings as a run of the comparisons of an experiment, and return its id."""
        runs = {run.run_id: run.name for run in self.runs}
        return keep_report(self.store, experiment, self.kind, self.report, runs, self.render)


def tabulate_effects(measured: Sequence[MeasuredChange], metric: ComparedMetric) -> Table:
    """Return the table of changes with their effects."""
    headings: Row = ["change", Cell("before", TEXT), Cell("after", TEXT), "effect", Cell("interval", TEXT), "p (Holm)"]
    lines = [
        [
            change.key,
            change.before or ABSENT,
            change.after or ABSENT,
            format_change(effect.mean),
            f"[{format_change(effect.low)}, {format_change(effect.high)}]" if effect.is_tested else ABSENT,
            format_p(effect.p_value),
        ]
        for change, effect in measured
    ]
    footnote = "Intervals are not adjusted for the number of effects." if len(lines) > 1 else ""
    return make_table(f"Effects on {metric.label}", headings, lines, footnote)


def describe_effect(effect: Effect) -> str:
    """Return an effect with its p-value, if there is one."""
    size = format_change(effect.mean)
    return f"{size} ({equate_p(effect.p_value)})" if effect.is_tested else size


REST = "the rest"
INTERACTIONS = "interactions"
UNUSED_EVALUATION = "evaluation= was not used, because both runs have the same configuration."
MAX_SHOWN_ROWS = 10


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
        has_same_rows = self.rows is not None and not len(self.rows.table)
        return has_same_rows and not (self.measured or self.described or self.total.mean)


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
    sweep = HybridSweep("diff", [a.run, b.run], words, source, quiet)
    start, end, dataset = align_sides(a, b, store, request.tracking__experiment, sweep.evaluation)
    metric = choose_headline(sweep.runs)
    mixture = separate_changes(start, end)
    changes = mixture.changes
    evaluated = sweep.evaluate(mixture, list_hybrids(len(changes)), store, metric.name) if changes else None
    compared = sweep.runs if evaluated is None else [evaluated[0][0], evaluated[0][-1]]
    runs = compared if sweep.evaluation else sweep.runs
    total = _measure_total(store, runs, metric, request.alpha)
    measured, interactions = _explain_total(total, changes, evaluated, request.alpha)
    found = RunDifference(
        runs=runs,
        metric=metric,
        total=total,
        measured=measured,
        interactions=interactions,
        described=describe_differences(runs, is_repeated=evaluated is not None and compared == runs),
        rows=_compare_rows(store, compared, dataset, request.alpha),
        alpha=request.alpha,
        notes=[UNUSED_EVALUATION] if sweep.evaluation and not changes else [],
    )
    is_plan = evaluated is None and bool(changes)
    is_worse = not is_plan and _is_worse(found, request.fail_if)
    report = _write_report(found, hide_secrets(store.uri), hide_secrets(command), request.rows)
    return Findings("difference", report, runs, store, measured, total.mean, found.rows, is_worse, is_plan)


def _write_report(found: RunDifference, uri: str, command: str, shown_rows: str) -> Report:
    before, after = found.runs
    verdict = [SAME] if found.is_identical else list(_write_verdict(found))
    return Report(
        question=f"Why do {before.name} and {after.name} differ?",
        selection=f"from run {before.run_id} to run {after.run_id} in {uri}",
        verdict=verdict,
        sections=list(_tabulate(found, shown_rows)),
        notes=[*found.notes, *_write_notes(found)],
        command=command,
    )


def _is_worse(found: RunDifference, fail_if: str) -> bool:
    """Return whether the second run is significantly worse; reject a gate on scores that were not tested."""
    total = found.total
    if fail_if == "worse" and total.mean and not total.is_tested:
        raise UserError(
            "fail_if=worse needs several scores of both runs on the same test rows; use evaluation=repeated_kfold."
        )
    return total.p_value <= found.alpha and (total.mean < 0) == found.metric.greater_is_better


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
    if changes and evaluated is None:
        return [(change, Effect()) for change in changes], []
    measured: list[MeasuredChange] = []
    remainders = {REST: total.mean}
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


def _compare_rows(store: Store, runs: Sequence[StoredRun], dataset: Dataset, alpha: float) -> ChangedRows | None:
    """Compare the stored predictions of two runs; return None if they are gone, or for other test rows."""
    texts = [read_tables(store, run).get(TABLES[0]) for run in runs]
    if not have_same_splits(runs) or None in texts:
        return None
    labels = {"truth": str, "predicted": str} if dataset.is_classification else None
    before, after = (pd.read_csv(StringIO(text), dtype=labels, keep_default_na=not labels) for text in texts)
    return compare_predictions(before, after, dataset, alpha)


SAME = "The runs are identical: their configurations, scores and predictions are the same."


def _write_verdict(found: RunDifference) -> Iterator[str]:
    """Yield sentences on the scores of both runs, the effects that are told apart, and the rows."""
    before, after = (format_score(run.metrics[found.metric.name]) for run in found.runs)
    yield (
        f"{found.metric.label.capitalize()} is {before} in the first run and {after} in the second: a difference of "
        f"{describe_effect(found.total)}."
    )
    told_apart = [each for each in found.measured if each[1].p_value <= found.alpha]
    others = [change.key for change, effect in found.measured if effect.p_value > found.alpha]
    if told_apart:
        yield f"{join_words(f'{change.key} contributes {describe_effect(effect)}' for change, effect in told_apart)}."
    if others:
        yield f"The {'effect' if len(others) == 1 else 'effects'} of {join_words(others)} cannot be told apart from 0."
    yield from found.interactions
    if found.rows is not None:
        yield found.rows.counts
        yield from found.rows.common


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
