"""The rows of a comparison: its base, and the configurations that represent learners.

A learner is never represented by the configuration with the best test scores.

Choosing the best of N configurations by the scores that are then compared is a choice on the test rows, and favours the
learner with the most configurations. A learner is therefore represented by its nested-tuned configuration, or fold by
fold by the configuration with the best validation score. Otherwise each configuration has its own row.

References
----------
Cawley, G. C. and Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
performance evaluation. Journal of Machine Learning Research 11, 2079-2107.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.pipeline.comparison.cells import Series
from bakeoff.pipeline.comparison.comparison import Cell, ComparedDataset, ComparedMetric, Configuration, LearnerChoice
from bakeoff.pipeline.comparison.dataset_analysis import select_cells
from bakeoff.pipeline.comparison.rank_tests import rank_configurations
from bakeoff.pipeline.comparison.run_facts import BASE_WORD, RUN_KEY, group_by
from bakeoff.pipeline.comparison.run_grid import CellKey, RunGrid
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.words import count_nouns, join_words
from bakeoff.pipeline.tracking.find_run import is_greater_better

BEST_BASE = ""
"""The word for the best configuration, the default."""
CHOSEN_SUFFIX = " (chosen)"
"""The suffix of the name of a row that represents several configurations of a learner."""


def find_base(word: str, configurations: Sequence[Configuration]) -> str:
    """Return the name of the configuration or learner chosen as the base; empty for the best.

    Raises
    ------
    UserError
        The configuration does not exist.
    """
    names = [each.name for each in configurations]
    learners = [each.learner for each in configurations]
    # A run that was named as the base is a separate row.
    runs = [each.name for each in configurations if each.params.get(RUN_KEY, "").startswith(f"{BASE_WORD} ")]
    if runs:
        return runs[0]
    if word in (BEST_BASE, "best"):
        return BEST_BASE
    if word in names:
        return word
    # The row of a learner is made from its configurations after the base is known.
    word = word.removesuffix(CHOSEN_SUFFIX)
    if word in learners:
        own = [each.name for each in configurations if each.learner == word]
        return own[0] if len(own) == 1 else word
    raise UserError(f"compare: base={word} is not among the configurations. {did_you_mean(word, [*names, *learners])}")


def order_rows(
    names: Sequence[str],
    datasets: Sequence[ComparedDataset],
    cells: Mapping[CellKey, Cell],
    metric: ComparedMetric,
) -> list[str]:
    """Return names of configurations by their mean rank, the best first.

    The ranks are those on the datasets on which all have scores, or on all datasets if there are none.
    """
    all_scores = [select_cells(dataset, metric, cells, names, BEST_BASE) for dataset in datasets]
    complete = [scores for scores in all_scores if len(scores.cells) == len(names)]
    ranks: dict[str, list[float]] = {}
    for scores in complete or all_scores:
        if not scores.cells:
            continue
        own = rank_configurations(scores.means[np.newaxis], metric.greater_is_better)[0]  # (k,)
        for cell, rank in zip(scores.cells, own, strict=True):
            ranks.setdefault(cell.configuration, []).append(float(rank))
    return sorted(names, key=lambda name: float(np.mean(ranks[name])))


TUNING = "tuning"
VALIDATION = "validation"
NONE = "none"


@dataclass(frozen=True)
class ChosenRows:
    """The rows of a comparison after the choices.

    Attributes
    ----------
    rows, others : tuple of Configuration
        The compared configurations, and those represented by a row.
    cells : mapping of CellKey to Cell
        The cells of both.
    choices : tuple of LearnerChoice
    """

    rows: tuple[Configuration, ...]
    others: tuple[Configuration, ...]
    cells: Mapping[CellKey, Cell]
    choices: tuple[LearnerChoice, ...]

    @property
    def names(self) -> list[str]:
        """The names of the rows."""
        return [row.name for row in self.rows]


@dataclass(frozen=True)
class ValidationScores:
    """Validation scores for choosing among configurations.

    Attributes
    ----------
    metric : str
        The name of the score, such as ``validation_accuracy``.
    series : Series
        The series of the metric.
    grid : RunGrid
    """

    metric: str
    series: Series
    grid: RunGrid

    def find_obstacle(self, configurations: Sequence[Configuration]) -> str:
        """Return why validation scores do not allow a choice among configurations; empty if they do."""
        names = {configuration.name for configuration in configurations}
        runs = [each for (name, _), runs in self.grid.runs.items() if name in names for each in runs]
        if any(self.metric not in each.run.metrics for each in runs):
            return f"not all of them have {self.metric}"
        if not all(each.has_free_validation_rows for each in runs):
            return "pruning or tuning has used the validation rows, whose scores are optimistic"
        return ""

    def read_cell(self, key: CellKey) -> np.ndarray:
        """Return the scores of a cell over all folds, greater being better."""
        runs = self.grid.runs[key]
        values = [value for each in runs for value in self.series[each.run.run_id].get(self.metric, ())]
        sign = 1 if is_greater_better(self.metric, runs[0].run.params) else -1
        return sign * np.array(values)


def choose_rows(
    configurations: Sequence[Configuration],
    cells: Mapping[CellKey, Cell],
    scores: ValidationScores,
    base: str,
    may_choose: bool = True,
) -> ChosenRows:
    """Reduce the configurations of each learner to one row, where a choice without test scores is possible.

    With a single learner there is no verdict between learners, and all configurations are rows.

    Parameters
    ----------
    configurations : sequence of Configuration
    cells : mapping of CellKey to Cell
    scores : ValidationScores
    base : str
        The base; if it is a configuration, all configurations of its learner stay rows.
    may_choose : bool
        Whether a row may represent several configurations.
    """
    by_learner = group_by(configurations, lambda each: each.learner, lambda each: each)
    rows: list[Configuration] = []
    others: list[Configuration] = []
    choices: list[LearnerChoice] = []
    all_cells = dict(cells)
    for learner, own in by_learner.items():
        # Individually named runs are not alternatives to choose among.
        is_by_id = any(RUN_KEY in each.params for each in own)
        if len(own) == 1 or is_by_id:
            rows += own
            continue
        names = [each.name for each in own]
        is_between_learners = may_choose and len(by_learner) > 1 and base not in names
        choice = _choose_rule(learner, own, scores, is_between_learners)
        choices.append(choice)
        if choice.rule == NONE:
            rows += own
            continue
        if choice.rule == VALIDATION:
            row = Configuration(choice.row, learner, members=tuple(names))
            all_cells |= _choose_by_validation(row, own, cells, scores)
        else:
            row = next(each for each in own if each.name == choice.row)
        rows.append(row)
        others += [each for each in own if each.name != row.name]
    return ChosenRows(tuple(rows), tuple(others), all_cells, tuple(choices))


def _choose_rule(
    learner: str, own: Sequence[Configuration], scores: ValidationScores, is_between_learners: bool
) -> LearnerChoice:
    """Return how a learner with several configurations is represented, with the sentence that reports say about it."""
    members = tuple(each.name for each in own)
    tuned = [each for each in own if each.is_tuned]
    obstacle = scores.find_obstacle(own)
    count = f"{learner} stands in {len(own)} configurations"
    # The scores of a tuned configuration include its choice of hyperparameters, so it comes first.
    if is_between_learners and len(tuned) == 1:
        sentence = f"{count}: the tuned one, whose choices never saw the test rows, stands for the learner."
        return LearnerChoice(learner, TUNING, tuned[0].name, members, sentence)
    if is_between_learners and not obstacle:
        sentence = f"{count}: in each fold, the one with the best {scores.metric} stands for the learner."
        return LearnerChoice(learner, VALIDATION, f"{learner}{CHOSEN_SUFFIX}", members, sentence)
    best_of = f"the best of the {len(own)} was chosen on the scores shown here, and its mean is optimistic"
    sentence = f"{count}, which are all rows, and Holm's correction counts them all: {best_of}."
    if is_between_learners:
        cure = "tuning=default or tuning=grid chooses without the test rows"
        sentence = f"{sentence} They could not be chosen among by validation scores, because {obstacle}; {cure}."
    return LearnerChoice(learner, NONE, "", members, sentence)


def _choose_by_validation(
    row: Configuration, own: Sequence[Configuration], cells: Mapping[CellKey, Cell], scores: ValidationScores
) -> dict[CellKey, Cell]:
    """Return the cells of a row that represents several configurations."""
    datasets = dict.fromkeys(dataset for _, dataset in cells)
    chosen = {}
    for dataset in datasets:
        members = [cells[each.name, dataset] for each in own]
        chosen[row.name, dataset] = _combine_cells(row.name, dataset, members, scores)
    return chosen


def _combine_cells(name: str, dataset: str, members: Sequence[Cell], scores: ValidationScores) -> Cell:
    """Return a cell with each fold from the member with the best validation score there, ties to the first."""
    reason = _find_gap(dataset, members, scores)
    if reason:
        return Cell(name, dataset, reason=reason)
    validation = np.vstack([scores.read_cell((member.configuration, dataset)) for member in members])  # (members, J)
    best = np.argmax(validation, axis=0)  # (J,)
    winners = [members[number] for number in best]
    counts = Counter(winner.configuration for winner in winners)
    first = members[0]
    return Cell(
        configuration=name,
        dataset=dataset,
        scores={metric: _pick_folds(winners, metric) for metric in first.scores},
        run_ids=tuple(run_id for member in members for run_id in member.run_ids),
        seeds=first.seeds,
        # All members had to be fitted to choose among them; one of them predicts.
        fit_seconds=math.fsum(member.fit_seconds for member in members),
        predict_seconds=float(np.mean([winner.predict_seconds for winner in winners])),
        n_fits=sum(member.n_fits for member in members),
        n_train=min(member.n_train for member in members),
        n_test=first.n_test,
        chosen={member.configuration: counts[member.configuration] for member in members},
    )


def _find_gap(dataset: str, members: Sequence[Cell], scores: ValidationScores) -> str:
    """Return why a choice among the members of a row is impossible on a dataset; empty if it is possible."""
    empty = [f"{member.configuration}: {member.reason}" for member in members if member.reason]
    if empty:
        return "; ".join(empty)
    n_folds = _count_folds(members[0])
    for member in members:
        values = scores.read_cell((member.configuration, dataset))
        if len(values) != n_folds or np.isnan(values).any():
            return f"{scores.metric} is not defined in each of {count_nouns(n_folds, 'fold')}"
    return ""


def _count_folds(cell: Cell) -> int:
    # All metrics of a cell have one score for each fold, so that any of them gives the number.
    return len(next(iter(cell.scores.values())))


def _pick_folds(winners: Sequence[Cell], metric: str) -> tuple[float, ...]:
    """Return the test score of each fold, from the chosen member."""
    return tuple(winner.scores[metric][fold] for fold, winner in enumerate(winners))


def describe_chosen(cell: Cell) -> str:
    """Return how often each member of a row was chosen on a dataset, the most frequent first."""
    counts = sorted(cell.chosen.items(), key=lambda item: -item[1])
    clauses = [f"{name} in {count_nouns(n, 'fold')}" for name, n in counts if n]
    return f"{cell.configuration} on {cell.dataset}: {join_words(clauses)}"
