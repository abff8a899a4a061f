"""A comparison of scores: its rows and its base, the analysis of each metric, and the notes that a reader needs.

A learner is never represented by the configuration with the best test scores, because choosing among N configurations
by the scores to be compared is a choice on the test rows, and favours the learner with the most configurations. A
learner is therefore represented by its nested-tuned configuration, or in each fold by the configuration with the best
validation score. Otherwise each configuration has its own row.

References
----------
Cawley, G. C. and Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
performance evaluation. Journal of Machine Learning Research 11, 2079-2107.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from bakeoff.pipeline.commands.compare.analysis import analyze_dataset, analyze_overall, compare_costs, rank_cells
from bakeoff.pipeline.commands.compare.request import BEST_WORDS, SelectionRequest
from bakeoff.pipeline.commands.compare.run_grid import BASE_REMARK, RUN_KEY, group_by
from bakeoff.pipeline.commands.comparison_report.comparison import (
    WILCOXON,
    Cell,
    CellKey,
    ComparedDataset,
    ComparedMetric,
    Comparison,
    Configuration,
    MetricResult,
    ScoredCells,
    Settings,
)
from bakeoff.pipeline.commands.comparison_report.verdict import write_repeats
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.wording import count_nouns, join_words

MAX_REASONS = 3
MAX_DATASETS_IN_VERDICT = 4
"""Up to this many datasets, the verdict includes one on each dataset if no tests over datasets are possible."""
MAX_CONFIGURATIONS = 1000
"""All pairs of so many are tested in about three minutes, which grow with the square of the number."""
CHOSEN_SUFFIX = " (chosen)"
"""The suffix in the name of a row that represents several configurations of a learner."""

Choice = tuple[Sequence[Configuration], Mapping[CellKey, Cell], Sequence[str]]
"""The rows of a learner, the cells of a row that represents several configurations, and notes on the choice."""


def compare_cells(scored: ScoredCells, request: SelectionRequest, command: str = "") -> Comparison:
    """Compare scores, without naming a store.

    Parameters
    ----------
    scored : ScoredCells
    request : SelectionRequest
    command : str
        The command line that requests the comparison.

    Raises
    ------
    UserError
        Fewer than two configurations have scores, or there is no such base.
    """
    # Rows are chosen before they are ordered: the best row is the default base, and it must be one that remains.
    chosen, choice_notes = _choose_rows(scored, request.base, request.choice != "none")
    kept, empty_notes = _drop_empty_rows(chosen)
    rows = _order_rows(kept)
    ordered = replace(kept, configurations=rows)
    metrics, datasets = scored.metrics, scored.datasets
    settings = make_settings(request, rows)
    results = tuple(_analyze_metric(metric, ordered, settings) for metric in metrics)
    cells = tuple(ordered.cells[row.name, dataset.name] for row in rows for dataset in datasets)
    return Comparison(
        question=_write_question(rows, datasets, metrics[0]),
        selection=scored.selection,
        command=command,
        verdict=(*_write_verdict(results[0]), *write_repeats(results[0], datasets, cells, settings)),
        notes=(
            *scored.notes,
            *choice_notes,
            *empty_notes,
            *_write_cell_notes(cells, datasets),
            *_write_notes(results[0], metrics, datasets, settings, len(scored.configurations)),
        ),
        settings=settings,
        metrics=metrics,
        datasets=datasets,
        configurations=tuple(rows),
        cells=cells,
        results=results,
        run_ids=tuple(dict.fromkeys(run_id for cell in scored.cells.values() for run_id in cell.run_ids)),
    )


def _choose_rows(scored: ScoredCells, base: str, may_choose: bool) -> tuple[ScoredCells, list[str]]:
    """Reduce the configurations of each learner to one row if this is possible without test scores.

    With a single learner, there are no learners to compare, so all configurations are rows. If the base is a
    configuration, all configurations of its learner remain rows.
    """
    learners = group_by(scored.configurations, lambda each: each.learner).values()
    choices = [
        _choose_row(own, scored, may_choose and len(learners) > 1 and base not in [each.name for each in own])
        for own in learners
    ]
    rows = [row for own, _, _ in choices for row in own]
    cells = {key: cell for _, combined, _ in choices for key, cell in combined.items()}
    notes = [note for _, _, remarks in choices for note in remarks]
    return replace(scored, configurations=rows, cells={**scored.cells, **cells}), notes


def _choose_row(own: Sequence[Configuration], scored: ScoredCells, may_choose: bool) -> Choice:
    """Return the row or the rows of a learner."""
    # Runs selected individually are not alternatives to choose among.
    if len(own) == 1 or any(RUN_KEY in each.params for each in own):
        return own, {}, []
    count = f"{own[0].learner} has {len(own)} configurations"
    tuned = [each for each in own if each.params.get("tuning", "none") != "none"]
    # The scores of a tuned configuration account for its choice of hyperparameters, so it is preferred.
    if may_choose and len(tuned) == 1:
        note = f"{count}: the tuned one represents the learner, because its choices did not use the test rows."
        return tuned, {}, [note]
    names = [each.name for each in own]
    if may_choose and all(cell.validation or cell.reason for (name, _), cell in scored.cells.items() if name in names):
        row = Configuration(f"{own[0].learner}{CHOSEN_SUFFIX}", own[0].learner, members=tuple(names))
        cells = {(row.name, dataset.name): _combine_cells(row, dataset.name, scored) for dataset in scored.datasets}
        note = f"{count}: in each fold, the one with the best validation score represents the learner."
        return [row], cells, [note, *_write_choices(cells)]
    cure = " Tuning (tuning=default, tuning=grid) or unused validation rows would allow a choice without the test rows."
    note = (
        f"{count}, each in a separate row, and Holm's correction counts them all: the best of the {len(own)} was "
        f"chosen by the scores shown here, so its mean is optimistic.{cure if may_choose else ''}"
    )
    return own, {}, [note]


def _combine_cells(row: Configuration, dataset: str, scored: ScoredCells) -> Cell:
    """Return a cell that takes each fold from the member with the best validation score; ties go to the first."""
    members = [scored.cells[name, dataset] for name in row.members]
    empty = [f"{member.configuration}: {member.reason}" for member in members if member.reason]
    if empty:
        return Cell(row.name, dataset, reason="; ".join(empty))
    best = np.argmax([member.validation for member in members], axis=0)  # (J,)
    winners = [members[number] for number in best]
    return replace(
        members[0],
        configuration=row.name,
        scores={
            metric: tuple(winner.scores[metric][fold] for fold, winner in enumerate(winners))
            for metric in members[0].scores
        },
        run_ids=tuple(run_id for member in members for run_id in member.run_ids),
        # All members had to be fitted to choose among them, but only one of them predicts.
        fit_seconds=math.fsum(member.fit_seconds for member in members),
        predict_seconds=float(np.mean([winner.predict_seconds for winner in winners])),
        n_fits=sum(member.n_fits for member in members),
        n_train=min(member.n_train for member in members),
        validation=(),
        chosen=dict(Counter(winner.configuration for winner in winners).most_common()),
    )


def _write_choices(cells: Mapping[CellKey, Cell]) -> Iterator[str]:
    """Yield a note for each dataset on how often each configuration was chosen."""
    for (row, dataset), cell in cells.items():
        folds = [f"{name} in {count_nouns(n, 'fold')}" for name, n in cell.chosen.items()]
        if folds:
            yield f"Chosen: {row} on {dataset}: {join_words(folds)}."


def _drop_empty_rows(scored: ScoredCells) -> tuple[ScoredCells, list[str]]:
    """Return the rows that have scores on some dataset, and notes on the others; reject fewer than two rows."""
    # A row without any scores would leave no dataset complete.
    full = {name for (name, _), cell in scored.cells.items() if not cell.reason}
    kept = [row for row in scored.configurations if row.name in full]
    if len(kept) < 2:
        empty = [cell for cell in scored.cells.values() if cell.reason]
        reasons = [f"; {cell.configuration} on {cell.dataset}: {cell.reason}" for cell in empty[:MAX_REASONS]]
        found = "only one configuration has" if kept else "no configuration has"
        raise UserError(
            f"compare: {found} scores in all folds of a dataset, and a comparison needs two{''.join(reasons)}."
        )
    if len(kept) > MAX_CONFIGURATIONS:
        raise UserError(
            f"compare: {len(kept):,} configurations have {math.comb(len(kept), 2):,} pairs, and at most "
            f"{MAX_CONFIGURATIONS:,} configurations are compared; select fewer with filter= or sweep=, or let "
            "tuning= choose among those of a learner."
        )
    notes = [f"{row.name} has no scores and is left out." for row in scored.configurations if row.name not in full]
    return replace(scored, configurations=kept), notes


def _order_rows(scored: ScoredCells) -> list[Configuration]:
    """Return the rows by mean rank on the datasets where all have scores, or on all datasets if there are none."""
    rows = scored.configurations
    ranks = [rank_cells(_list_cells(scored, dataset), scored.metrics[0]) for dataset in scored.datasets]
    complete = [own for own in ranks if len(own) == len(rows)] or ranks
    own_ranks = {row.name: [own[row.name] for own in complete if row.name in own] for row in rows}
    return sorted(rows, key=lambda row: sum(own_ranks[row.name]) / len(own_ranks[row.name]))


def make_settings(request: SelectionRequest, rows: Sequence[Configuration]) -> Settings:
    """Return the settings of a comparison, whose default base is the first row."""
    return Settings(
        alpha=request.alpha,
        base=find_base(request.base, rows),
        is_base_given=request.base not in BEST_WORDS,
        all_pairs=request.pairs == "all",
        max_repeats=request.repeats if request.is_until_sure else 0,
        overall=request.overall,
    )


def find_base(word: str, rows: Sequence[Configuration]) -> str:
    """Return the name of the row chosen as the base, given by name or as the only row of a learner.

    The rows are in the order from best to worst. A word that names no row is rejected.
    """
    # A run given as the base is a separate row.
    separate = [row.name for row in rows if row.params.get(RUN_KEY, "").startswith(BASE_REMARK)]
    found = separate or [row.name for row in rows if word in (row.name, row.learner)]
    if word in BEST_WORDS:
        return rows[0].name
    if word in found or len(found) == 1:
        return word if word in found else found[0]
    known = found or [name for row in rows for name in (row.name, row.learner)]
    raise UserError(f"compare: base={word} is not among the configurations. {did_you_mean(word, known)}")


def _list_cells(scored: ScoredCells, dataset: ComparedDataset) -> list[Cell]:
    """Return the cells of a dataset that have scores, in the order of the rows."""
    cells = [scored.cells[row.name, dataset.name] for row in scored.configurations]
    return [cell for cell in cells if not cell.reason]


def _analyze_metric(metric: ComparedMetric, chosen: ScoredCells, settings: Settings) -> MetricResult:
    names = [row.name for row in chosen.configurations]
    results = tuple(
        analyze_dataset(dataset, metric, _list_cells(chosen, dataset), settings) for dataset in chosen.datasets
    )
    overall = analyze_overall(results, names, metric, settings) if len(results) > 1 else None
    pareto = compare_costs(results, names, chosen.cells, metric, settings.base)
    return MetricResult(metric.name, results, overall, pareto)


def _write_cell_notes(cells: Sequence[Cell], datasets: Sequence[ComparedDataset]) -> list[str]:
    """Return notes on empty cells and on configurations that were fitted on different numbers of rows."""
    notes = [f"BK39 Empty: {cell.configuration} on {cell.dataset}: {cell.reason}." for cell in cells if cell.reason]
    for dataset in datasets:
        sizes = sorted({cell.n_train for cell in cells if cell.dataset == dataset.name and not cell.reason})
        # The numbers of rows may be unknown, and a comparison with NaN is false.
        if sizes and sizes[0] < sizes[-1]:
            notes.append(
                f"On {dataset.name}, training parts have {sizes[0]:.0f} to {sizes[-1]:.0f} rows, as when some "
                "configurations reserve validation rows; each pair is corrected by its larger n_test / n_train."
            )
    return notes


def _write_notes(
    result: MetricResult,
    metrics: Sequence[ComparedMetric],
    datasets: Sequence[ComparedDataset],
    settings: Settings,
    n_compared: int,
) -> list[str]:
    """Return notes on the test over datasets, on optimistic scores, and on defaults."""
    notes = []
    if settings.overall != WILCOXON and (result.overall is None or result.overall.test == WILCOXON):
        notes.append(f"overall={settings.overall} compares three or more configurations over several datasets only.")
    notes += write_look_notes(datasets, n_compared, "configurations have been scored on the same test rows")
    relative = [metric.label for metric in metrics if metric.is_rope_relative]
    if relative:
        notes.append(
            f"The region of practical equivalence of {join_words(relative)} is a fraction of the base's mean on each "
            "dataset, because the size of these values depends on the dataset."
        )
    return notes + write_base_note(settings, " by mean rank" * (len(datasets) > 1))


def write_base_note(settings: Settings, by: str = "") -> list[str]:
    """Return a note if the base is the default one, with what it is the best by."""
    note = f"The base is {settings.base}, the best{by}; base=NAME selects another."
    return [] if settings.is_base_given else [note]


def write_look_notes(datasets: Sequence[ComparedDataset], n_compared: int, claim: str) -> list[str]:
    """Return a note if more configurations have been scored than those that are compared, which the reader can see."""
    looks = [f"{dataset.n_looks} on {dataset.name}" for dataset in datasets if dataset.n_looks > n_compared]
    counted = f"BK37 More {claim} than the {n_compared} here: {', '.join(looks)}"
    return [f"{counted}. The more are scored, the more optimistic the best score is."] if looks else []


def name_rivals(names: Sequence[str], nouns: str) -> str:
    """Return up to three names, or their number, for a question."""
    return join_words(sorted(names)) if len(names) <= 3 else f"{len(names)} {nouns}"


def _write_question(rows: Sequence[Configuration], datasets: Sequence[ComparedDataset], metric: ComparedMetric) -> str:
    what = name_rivals([row.name for row in rows], "configurations")
    where = datasets[0].name if len(datasets) == 1 else f"{len(datasets)} datasets"
    return f"Which of {what} is best on {where} by {metric.label}, and how certain is the result?"


def _write_verdict(result: MetricResult) -> tuple[str, ...]:
    """Return the verdict over datasets or on the only one; with few datasets, return the verdict on each."""
    if result.overall is None:
        return result.datasets[0].verdict
    if not result.overall.too_few or len(result.datasets) > MAX_DATASETS_IN_VERDICT:
        return result.overall.verdict
    each = [f"On {dataset.dataset}: {dataset.verdict[0]}" for dataset in result.datasets]
    return (*result.overall.verdict, *each)
