"""Replay of stored runs, which are rebuilt, repeated and compared; nothing is stored."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from bakeoff.pipeline.commands.repetition.differences import (
    MODEL_OUTPUTS,
    Comparison,
    Difference,
    Values,
    align_differences,
    compare_numbers,
    find_changes,
    measure_model,
    measure_record,
    measure_result,
    show_differences,
)
from bakeoff.pipeline.commands.repetition.refit import read_finished_run, repeat_tuning
from bakeoff.pipeline.config.requests import RefitRequest
from bakeoff.pipeline.config.settle import settle_config
from bakeoff.pipeline.config.words import Invocation
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.builder import PartCache
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.sweep.job_runner import execute_job, prepare_job
from bakeoff.pipeline.text.wording import join_words
from bakeoff.pipeline.tracking import NoTracker, history, models, names, provenance, stored_config, stored_runs
from bakeoff.pipeline.tracking.store import Store, open_store

NO_TRACKING = {"_target_": "bakeoff.pipeline.tracking.NoTracker"}
IDENTICAL = "identical"
DIFFERENT = "differs"
REFUSED = "refused"


@dataclass(frozen=True)
class ReplayReport:
    """The result of the replay of a run.

    Attributes
    ----------
    run_id, name : str
    verdict : str
        The verdict: ``identical``, ``differs`` or ``refused``.
    reason : str
        Why the run differs if the reason is not a number, or why it was refused.
    comparisons : tuple of Comparison
    changes : tuple of Difference
        What was different when the stored run was made.
    notes : tuple of str
        Notes on what could not be compared.
    """

    run_id: str
    name: str
    verdict: str
    reason: str
    comparisons: tuple[Comparison, ...] = ()
    changes: tuple[Difference, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """The verdict and its basis in one line."""
        words = []
        for each in self.comparisons:
            count = f"{each.n_values}" if self.verdict == IDENTICAL else f"{len(each.differences)} of {each.n_values}"
            words.append(f"{count} {each.what}")
        return f"{self.verdict}: {self.reason or join_words(words) or 'there was nothing to compare'}"

    def to_lines(self) -> list[str]:
        """Return the report as lines of text."""
        lines = [f"replay of {self.name} (run {self.run_id})", self.summary]
        lines += [f"not compared: {note}" for note in self.notes]
        if self.verdict == DIFFERENT:
            lines += show_differences([each for comparison in self.comparisons for each in comparison.differences])
            if not self.changes:
                lines.append("nothing recorded by the run has changed since")
        if self.changes:
            lines += ["changed since the stored run:", *align_differences(self.changes)]
        return lines


def replay_runs(request: RefitRequest, sweep: str, folder: str | None) -> Iterator[ReplayReport]:
    """Replay a run or the runs of a sweep and yield reports; a run that cannot be repeated is reported as refused.

    Parameters
    ----------
    request : RefitRequest
        The run, unless a sweep is named.
    sweep : str
        A sweep, whose runs are all replayed; empty for a single run.
    folder : str or None
        The folder in which the files of the datasets are now, if they were moved.

    Raises
    ------
    UserError
        The run or sweep does not exist.
    """
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    if sweep:
        run_ids = history.find_runs_of_sweep(store, sweep)
    else:
        run_ids = [names.find_run_id(store, request.run, request.dataset)]
    resources = PartCache()
    for run_id in run_ids:
        try:
            yield _replay_run(store, run_id, request, folder, resources)
        except UserError as error:
            yield ReplayReport(run_id, "", REFUSED, str(error))


def _replay_run(
    store: Store, run_id: str, request: RefitRequest, folder: str | None, resources: PartCache
) -> ReplayReport:
    """Run a stored run again and compare every number; the store does not change.

    Raises
    ------
    UserError
        The run cannot be repeated.
    """
    run = read_finished_run(store, run_id)
    restored = stored_config.restore_config(store, run_id, request.trust, request.dataset__path, folder)
    spec = settle_config({**restored, "tracking": NO_TRACKING, "figures": []})
    dataset = resources.get_dataset(spec)
    if dataset.digest() != run.tags.get("dataset_digest"):  # other data have other scores
        changes = find_changes(run.tags, {**run.tags, "dataset_digest": dataset.digest()})
        reason = f"the data have changed since ({dataset.source}), so it was not run again"
        return ReplayReport(run_id, run.name, DIFFERENT, reason, changes=changes)
    prepared = prepare_job(spec, Invocation({}), resources)
    prepared = replace(prepared, experiment=repeat_tuning(prepared.experiment, run))
    # The circumstances are recorded inside, because they include the numbers of threads.
    with _limit_threads(run.tags):
        changes = find_changes(run.tags, {**provenance.list_tags(), **prepared.description.tags})
        try:
            result = execute_job(prepared, NoTracker())
        except Exception as error:  # an error is a result, because the stored run has finished
            reason = f"the stored run finished, but it now fails with {type(error).__name__}: {error}"
            return ReplayReport(run_id, run.name, DIFFERENT, reason, changes=changes)
        stored, notes = _read_numbers(store, run, request.trust, dataset)
        now = measure_result(result)
        if MODEL_OUTPUTS in stored:  # predictions of all rows may take long
            now |= measure_model(result.model.predictor, dataset)
    comparisons = compare_numbers(stored, now)
    verdict = DIFFERENT if any(comparison.differences for comparison in comparisons) else IDENTICAL
    return ReplayReport(run_id, run.name, verdict, "", tuple(comparisons), changes, tuple(notes))


def _limit_threads(tags: Mapping[str, str]) -> AbstractContextManager[Any]:
    """Return a context in which BLAS and OpenMP use the numbers of threads recorded by a run.

    They determine the order in which a sum is computed, and therefore the last bits of the result: a product of two
    random 1,797 x 64 tables differs between one and two threads of OpenBLAS.
    """
    threads: dict[str, int] = json.loads(tags.get("threads", "{}"))
    return provenance.find_thread_pools().limit(limits=threads)


def _read_numbers(
    store: Store, run: stored_runs.StoredRun, trust: Sequence[str], dataset: Dataset
) -> tuple[dict[str, Values], list[str]]:
    """Return the stored numbers of a run with the outputs of its model, and notes on what cannot be compared."""
    tables = stored_runs.read_tables(store, run)
    numbers = measure_record(stored_runs.read_values(store, run), tables)
    predictions = stored_runs.TABLES[0]
    notes = [] if predictions in tables else [f"{predictions} is no longer among the artifacts of the run"]
    if not run.model_id:
        return numbers, [*notes, "the run has stored no model"]
    try:
        model = models.open_model(store, models.FoundModel(run.run_id, run.model_id), trust)
    except UserError as error:
        return numbers, [*notes, str(error)]
    return {**numbers, **measure_model(model.estimator, dataset)}, notes
