"""Search for a run by its id or the beginning of it, ``latest``, ``best``, or the name of a registered model."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.scoring import DEFAULTS, name_entry
from bakeoff.pipeline.stages.scoring import is_greater_better as is_score_greater_better
from bakeoff.pipeline.tracking.history import IS_FINISHED
from bakeoff.pipeline.tracking.registry import BEST, LATEST, find_version, list_names, names_run
from bakeoff.pipeline.tracking.store import Store, find_fault, search_runs

MIN_PREFIX_LETTERS = 8
"""The minimum length of the beginning of an id, as shown in pages and tables."""


def find_run_id(store: Store, word: str, dataset: str = "", *, must_be_readable: bool = True) -> str:
    """Return the id of the run named by a word.

    Parameters
    ----------
    store : Store
    word : str
        The id of a run, at least its first 8 characters, ``latest`` for the newest finished run of the experiment,
        ``best`` for the finished run with the best headline score, or the name of a registered model for the run from
        which it comes: alone for its newest version, with ``@alias``, or with ``/version``.
    dataset : str
        Restricts ``latest`` and ``best`` to runs on this dataset. Scores of different datasets cannot be compared, so
        ``best`` needs it where the experiment has runs on several.
    must_be_readable : bool
        Whether to reject a run that bakeoff cannot read, which can still be removed.

    Raises
    ------
    UserError
        There is no such run or model, it was deleted, or the word is ambiguous.
    """
    if word in (LATEST, BEST):
        runs = list(search_runs(store, _select_finished(dataset), 1 if word == LATEST else None))
        if not runs:
            restriction = f" with dataset={dataset}" if dataset else ""
            raise UserError(f"there is no finished run{restriction} in {store.uri} yet.")
        found = runs[0] if word == LATEST else _find_best(runs)
        return str(found.info.run_id)
    if names_run(word):
        return _find_by_id(store, word, must_be_readable)
    version = find_version(store, word)
    if version is None:
        raise _explain_unknown(store, word)
    if not version.run_id:
        raise UserError(
            f"version {version.version} of the model {version.name!r} does not say which run it comes from."
        )
    return _find_by_id(store, version.run_id, must_be_readable)


def find_headline(params: Mapping[str, str], metrics: Mapping[str, float]) -> str | None:
    """Return the name of a run's headline score, such as ``test_accuracy``; None if the run has no score.

    Parameters
    ----------
    params, metrics : mapping
        The stored values of the run. The store does not preserve the order of metrics, which is derived from the
        configuration, else from the defaults of the task.
    """
    names = [name_entry(entry) for entry in read_metric_entries(params)]
    names += [tasks[0] for tasks in DEFAULTS.values()]
    return next((f"test_{name}" for name in names if f"test_{name}" in metrics), None)


def read_metric_entries(params: Mapping[str, str]) -> list[Any]:
    """Return the items of ``evaluation.metrics`` of a stored run; none if the metrics were the defaults."""
    try:
        entries = json.loads(params.get("evaluation.metrics", "null"))
    except ValueError:  # written by another program, or truncated
        return []
    return entries if isinstance(entries, list) else []


def is_greater_better(metric: str, params: Mapping[str, str] | None = None) -> bool:
    """Whether greater values of a stored metric are better, by the name of its score; times, fits and sizes are costs.

    Parameters
    ----------
    metric : str
        The stored name: ``test_accuracy``, ``fold/validation_rmse``, ``time/fit``.
    params : mapping, optional
        Params of a run with the metric, which contain the direction of a user-defined metric.

    Raises
    ------
    KeyError
        The name is not the name of a score.

    Examples
    --------
    >>> is_greater_better("test_accuracy"), is_greater_better("validation_log_loss"), is_greater_better("time/fit")
    (True, False, False)
    """
    name = metric.removeprefix("fold/")
    if name.startswith(("time/", "fits", "pruning/leaves", "pruning/depth")):
        return False
    score = re.sub(r"^(pruning/)?(test|validation|train)_|_(before|after)$", "", name)
    return is_score_greater_better(score, read_metric_entries(params or {}))


def _find_by_id(store: Store, word: str, must_be_readable: bool) -> str:
    """Return the id of a run of any experiment in this store."""
    from mlflow.exceptions import MlflowException

    try:
        found = store.client.get_run(word)
    except MlflowException:
        # Complete ids are most common, so beginnings are searched for only if there is no such run.
        ids = []
        if re.fullmatch(rf"[0-9a-f]{{{MIN_PREFIX_LETTERS},}}", word):
            query = f"attributes.run_id LIKE '{word}%'"
            begins = store.client.search_runs([store.experiment_id], query, max_results=10)
            ids = [str(run.info.run_id) for run in begins]
        if len(ids) == 1:
            return ids[0]
        if ids:
            shown = ", ".join(ids[:3])
            raise UserError(f"{word!r} begins the ids of {len(ids)} runs ({shown}); give more of it.") from None
        raise _explain_unknown(store, word) from None
    if found.info.lifecycle_stage == "deleted":
        raise UserError(f"run {word} was deleted; restore it in MLflow, or name another run.")
    fault = find_fault(found) if must_be_readable else ""
    if fault:
        raise UserError(f"run {found.info.run_id} cannot be read: bakeoff did not write {fault}.")
    return str(found.info.run_id)


def _explain_unknown(store: Store, word: str) -> UserError:
    """Return the error for a word that matches neither a run nor a registered model."""
    names = list_names(store)
    hint = f" Models: {did_you_mean(word, names)}" if names else ""
    return UserError(
        f"there is no run {word!r} and no registered model of that name in {store.uri}. Give the id of a run, at least "
        f"its first {MIN_PREFIX_LETTERS} characters, {LATEST}, {BEST}, or the name of a model.{hint}"
    )


def _find_best(runs: Sequence[Any]) -> Any:
    """Return the run with the best headline score; of several equal ones the newest."""
    _require_one_dataset(runs)
    headlines = {find_headline(run.data.params, run.data.metrics) for run in runs}
    names = sorted(name for name in headlines if name is not None)
    if len(names) > 1:
        raise UserError(f"{BEST}: the runs have different headline scores ({', '.join(names)}); give the id of a run.")
    name = names[0] if names else ""
    # The maximum of values with NaN depends on their order, so undefined scores are left out.
    scored = [run for run in runs if not math.isnan(run.data.metrics.get(name, math.nan))]
    if not scored:
        raise UserError(f"{BEST}: none of the {len(runs)} finished runs has a headline score; give an id.")
    directions = {is_greater_better(name, run.data.params) for run in scored}
    if len(directions) > 1:
        raise UserError(f"{BEST}: the runs disagree on whether a greater {name} is better; give an id.")
    sign = 1 if directions.pop() else -1
    return max(scored, key=lambda run: (sign * run.data.metrics[name], run.info.start_time))


def _select_finished(dataset: str) -> str:
    # MLflow's filter language has no escape for a quotation mark.
    if "'" in dataset:
        raise UserError(
            f"dataset={dataset!r}: a name with a quotation mark cannot be searched for; give the id of a run."
        )
    # Runs of other programs in the same experiment lack this tag.
    query = f"{IS_FINISHED} and tags.dataset_digest != ''"
    return f"{query} and params.dataset = '{dataset}'" if dataset else query


def _require_one_dataset(runs: Sequence[Any]) -> None:
    """Reject runs on several datasets, or on several versions of the rows of one."""
    rows = {(str(run.data.params.get("dataset")), str(run.data.tags.get("dataset_digest"))) for run in runs}
    if len(rows) > 1:
        names = ", ".join(sorted({name for name, _ in rows}))
        raise UserError(
            f"{BEST}: the runs are on {len(rows)} datasets or versions of their rows ({names}), whose scores cannot be "
            "compared; add dataset=NAME, or give the id of a run."
        )


def find_standard_run(store: Store, word: str) -> str | None:
    """Return the id of the run that a word names as the standard; None if there is no such run or registered model.

    Parameters
    ----------
    store : Store
    word : str
        As for `find_run_id`, except ``best``; or the name of a configuration, for which the result is None.

    Raises
    ------
    UserError
        The word has the form of an id, an alias or a version, and there is no such run or model; or the run of the
        model is unknown.
    """
    if not names_run(word) and find_version(store, word) is None:
        return None
    return find_run_id(store, word)
