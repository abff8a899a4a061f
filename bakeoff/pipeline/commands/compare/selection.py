"""The rows of a comparison: the selected runs, the base, and the configurations that represent learners.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bakeoff.pipeline.commands.compare.comparison import Cell, CellKey, Configuration, ScoredCells
from bakeoff.pipeline.commands.compare.run_grid import (
    RUN_KEY,
    RunFacts,
    describe_absent_job,
    describe_run,
    group_by,
    list_ids,
    separate_run,
)
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.wording import count_nouns, join_words
from bakeoff.pipeline.tracking.names import LATEST, find_run_id
from bakeoff.pipeline.tracking.store import Store, write_condition
from bakeoff.pipeline.tracking.stored_runs import (
    RecordedJob,
    find_runs_of_jobs,
    read_latest_sweep,
    read_stored_runs,
    read_sweep_record,
    search_stored_runs,
    to_stored_run,
)

MAX_SHOWN_IDS = 6
"""Maximum number of ids in the description of a selection; the report lists all runs."""
BASE_REMARK = "base "


@dataclass(frozen=True)
class Selection:
    """Selected runs.

    Attributes
    ----------
    facts : tuple of RunFacts
        The runs, finished or not, and jobs without a run.
    description : str
        A description of the selected runs.
    is_by_id : bool
        Whether the runs were selected individually by id.
    """

    facts: tuple[RunFacts, ...]
    description: str
    is_by_id: bool = False


def select_sweep(store: Store, word: str) -> Selection:
    """Select the jobs of a sweep, including those done earlier, from its list of jobs or the tag of its runs.

    Parameters
    ----------
    store : Store
    word : str
        The name of a sweep, or ``latest``.

    Raises
    ------
    UserError
        There is no such sweep.
    """
    record = read_latest_sweep(store) if word == LATEST else read_sweep_record(store, word)
    if record is None:
        hint = "Start one with -m." if word == LATEST else "`bakeoff ui` lists the runs with their sweeps."
        raise UserError(f"compare: sweep={word} does not exist in {store.uri}. {hint}")
    if not record.jobs:
        runs = search_stored_runs(store, write_condition("tags.sweep", record.name))
        description = f"{count_nouns(len(runs), 'run')} with the tag sweep={record.name}"
        return Selection(tuple(map(describe_run, runs)), description)
    stored = find_runs_of_jobs(store, [job.hash for job in record.jobs if job.hash])
    known = {job_hash: describe_run(to_stored_run(run)) for job_hash, run in stored.items()}
    facts = tuple(_describe_job(job, known.get(job.hash)) for job in record.jobs)
    return Selection(facts, f"{count_nouns(len(record.jobs), 'job')} of sweep {record.name}")


def select_by_filter(store: Store, query: str) -> Selection:
    """Select runs by a query in MLflow's filter language.

    Raises
    ------
    UserError
        The query is invalid or selects nothing.
    """
    runs = search_stored_runs(store, query)
    if not runs:
        raise UserError(
            f"compare: filter={query!r} selects no run in {store.uri}. Values of params must be quoted, and names "
            "are case-sensitive; `bakeoff ui` shows the runs."
        )
    facts = tuple(map(describe_run, runs))
    return Selection(facts, f"{count_nouns(len(runs), 'run')} selected by the filter {query}")


def select_by_ids(store: Store, words: Sequence[str], dataset: str) -> Selection:
    """Select runs by id, by the first characters of an id, or by the words ``latest`` and ``best``.

    Raises
    ------
    UserError
        A run does not exist or was deleted.
    """
    run_ids = [find_run_id(store, word, dataset) for word in words]
    facts = tuple(map(describe_run, read_stored_runs(store, list(dict.fromkeys(run_ids)))))
    shown = list_ids(facts, MAX_SHOWN_IDS)
    return Selection(facts, f"{count_nouns(len(facts), 'run')} named by id ({shown})", is_by_id=True)


def add_base_run(store: Store, selection: Selection, run_id: str) -> Selection:
    """Return a selection with the base run as a separate row.

    The base may have the same configuration as the compared runs but may have been fitted by different code.

    Raises
    ------
    UserError
        The run is not finished or is the only selected one.
    """
    facts = describe_run(read_stored_runs(store, [run_id])[0])
    if facts.reason:
        raise UserError(f"compare: base={run_id} cannot be the base: the run has {facts.reason}.")
    others = tuple(each for each in selection.facts if each.run.run_id != run_id)
    if not others:
        raise UserError(f"compare: the base, run {run_id}, is the only run that was selected; name another one.")
    return replace(selection, facts=(*others, separate_run(facts, BASE_REMARK)))


def _describe_job(job: RecordedJob, facts: RunFacts | None) -> RunFacts:
    """Return the facts of a job of a sweep, which may have been refused or have ended before it stored its params."""
    if facts is None:
        reason = f"refused: {job.reason}" if job.reason else "no run"
        return describe_absent_job(job.learner, job.dataset, reason)
    return facts if facts.configuration else describe_absent_job(job.learner, job.dataset, facts.reason)


BEST_WORDS = ("", "best")
"""The words that choose the best configuration as the base, the default first."""
CHOSEN_SUFFIX = " (chosen)"
"""The suffix in the name of a row that represents several configurations of a learner."""


def find_base(word: str, rows: Sequence[Configuration]) -> str:
    """Return the name of the row chosen as the base, given by name or as the only row of a learner.

    Parameters
    ----------
    word : str
    rows : sequence of Configuration
        The rows from best to worst.

    Raises
    ------
    UserError
        There is no such row.
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


Choice = tuple[Sequence[Configuration], Mapping[CellKey, Cell], Sequence[str]]
"""The rows of a learner, the cells of a row that represents several configurations, and notes on the choice."""


def choose_rows(scored: ScoredCells, base: str, may_choose: bool) -> ScoredCells:
    """Reduce the configurations of each learner to one row if this is possible without test scores.

    With a single learner, there are no learners to compare, so all configurations are rows.

    Parameters
    ----------
    scored : ScoredCells
    base : str
        The base; if it is a configuration, all configurations of its learner remain rows.
    may_choose : bool
        Whether a row may represent several configurations.
    """
    by_learner = group_by(scored.configurations, lambda each: each.learner)
    rows: list[Configuration] = []
    cells = dict(scored.cells)
    notes = list(scored.notes)
    for own in by_learner.values():
        is_base = base in [each.name for each in own]
        chosen, combined, remarks = _choose_row(own, scored, may_choose and len(by_learner) > 1 and not is_base)
        rows += chosen
        cells |= combined
        notes += remarks
    return replace(scored, configurations=rows, cells=cells, notes=notes)


def _choose_row(own: Sequence[Configuration], scored: ScoredCells, may_choose: bool) -> Choice:
    """Return the row or the rows of a learner."""
    # Runs selected individually are not alternatives to choose among.
    if len(own) == 1 or any(RUN_KEY in each.params for each in own):
        return own, {}, []
    tuned = [each for each in own if each.params.get("tuning", "none") != "none"]
    names = [each.name for each in own]
    full = [cell for (name, _), cell in scored.cells.items() if name in names and not cell.reason]
    count = f"{own[0].learner} has {len(own)} configurations"
    # The scores of a tuned configuration account for its choice of hyperparameters, so it is preferred.
    if may_choose and len(tuned) == 1:
        note = f"{count}: the tuned one represents the learner, because its choices did not use the test rows."
        return tuned, {}, [note]
    if may_choose and all(cell.validation for cell in full):
        row, cells, notes = _combine_row(own, scored)
        note = f"{count}: in each fold, the one with the best validation score represents the learner."
        return [row], cells, [note, *notes]
    cure = " Tuning (tuning=default, tuning=grid) or unused validation rows would allow a choice without the test rows."
    note = (
        f"{count}, each in a separate row, and Holm's correction counts them all: the best of the {len(own)} was "
        f"chosen by the scores shown here, so its mean is optimistic.{cure if may_choose else ''}"
    )
    return own, {}, [note]


def _combine_row(
    own: Sequence[Configuration], scored: ScoredCells
) -> tuple[Configuration, dict[CellKey, Cell], list[str]]:
    """Return a row that takes each fold from the configuration with the best validation score in that fold."""
    row = Configuration(f"{own[0].learner}{CHOSEN_SUFFIX}", own[0].learner, members=tuple(each.name for each in own))
    cells = {}
    notes = []
    for dataset in scored.datasets:
        cell = _combine_cells(row.name, [scored.cells[name, dataset.name] for name in row.members])
        cells[row.name, dataset.name] = cell
        folds = [f"{name} in {count_nouns(n, 'fold')}" for name, n in cell.chosen.items()]
        if folds:
            notes.append(f"Chosen: {row.name} on {dataset.name}: {join_words(folds)}.")
    return row, cells, notes


def _combine_cells(name: str, members: Sequence[Cell]) -> Cell:
    """Return a cell that takes each fold from the member with the best validation score; ties go to the first."""
    first = members[0]
    empty = [f"{member.configuration}: {member.reason}" for member in members if member.reason]
    if empty:
        return Cell(name, first.dataset, reason="; ".join(empty))
    best = np.argmax([member.validation for member in members], axis=0)  # (J,)
    winners = [members[number] for number in best]
    return Cell(
        configuration=name,
        dataset=first.dataset,
        scores={
            metric: tuple(winner.scores[metric][fold] for fold, winner in enumerate(winners)) for metric in first.scores
        },
        run_ids=tuple(run_id for member in members for run_id in member.run_ids),
        seeds=first.seeds,
        # All members had to be fitted to choose among them, but only one of them predicts.
        fit_seconds=math.fsum(member.fit_seconds for member in members),
        predict_seconds=float(np.mean([winner.predict_seconds for winner in winners])),
        n_fits=sum(member.n_fits for member in members),
        n_train=min(member.n_train for member in members),
        n_test=first.n_test,
        chosen=dict(Counter(winner.configuration for winner in winners).most_common()),
    )
