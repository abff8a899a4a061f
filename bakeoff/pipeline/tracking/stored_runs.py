"""Stored runs: the search for them, and their params, tags, metrics and tables.

A store may also contain runs written by hand or by other programs. A run whose tags or params cannot be read is left
out, with a message, and does not prevent others from being compared, resumed or deleted.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import islice
from multiprocessing import parent_process
from sys import intern
from tempfile import TemporaryDirectory
from typing import Any

from bakeoff.pipeline.audit import ACCEPTED_TAG
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.table import GUESSED_TAG
from bakeoff.pipeline.text.wording import count_nouns, print_note
from bakeoff.pipeline.tracking.artifacts import fetch_folder
from bakeoff.pipeline.tracking.mlflow_tables import (
    AMONG_KEYS,
    MAX_IDS_PER_QUERY,
    MAX_VALUES_PER_SCAN,
    READ_HISTORIES,
    READ_INFOS,
    READ_MODELS_OF_RUNS,
    READ_SOURCES,
    READ_VALUES,
    Keys,
    find_run_ids,
    list_batches,
    list_store_errors,
)
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.store_writer import MAX_TAG_LETTERS

FINISHED = "FINISHED"
IS_FINISHED = f"status = '{FINISHED}'"
STOPPED_TAG = "stopped"
"""The tag of a run that a study stopped before its last fold; its value contains the fold."""
TRIED_TAG = "tried_candidates"
"""The tag of a run with the number of candidates that tuning with a budget tried in each fold, and last on all rows."""
REMOVED_PREFIX = "removed."
"""Begins a tag of a seal or a line, before the ``config_hash`` of a job that lost a run; its value is the dataset."""
NAME_PARAMS = ("learner", "dataset")
FILTER_EXAMPLE = "params.learner = 'knn' and metrics.test_accuracy > 0.9"
SERIES_PREFIXES = ("fold/", "pruning_path/")
"""Metrics with a value for each fold or pruning step; all others have a single value."""
TABLES = ("predictions.csv", "confusion_matrix.csv", "candidates.csv", "pruning_path.csv", "audit.csv")
"""The artifacts that hold results as tables."""
MAX_SHOWN_RUNS = 3
CONTROL_SIGNS = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")
"""Characters that end a line, move the cursor of a terminal, or reverse the direction of text."""
TEXT = r'"(?:[^"\\\x00-\x1f]|\\["\\/bfnrt]|\\u[0-9a-f]{4})*"'
NUMBER = r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?"
LIST_OF_TEXTS = rf"\[(?:{TEXT}(?:, {TEXT})*)?\]|\[.{{{MAX_TAG_LETTERS - 1}}}"
"""The pattern of a list, or of a truncated one, which each reader recognises."""
PLAIN = r"[^'\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*"
"""The pattern of a text that is allowed in an MLflow query."""


def _write_mapping(value: str) -> str:
    """Return the pattern of a JSON object whose values have a pattern."""
    pair = f"{TEXT}: (?:{value})"
    return rf"\{{(?:{pair}(?:, {pair})*)?\}}"


TAG_FORMS: Mapping[str, str] = {
    "config_hash": PLAIN,
    "dataset_digest": PLAIN,
    "splits_digest": PLAIN,
    "pid": r"[1-9]\d{0,8}",
    "heartbeat": r"\d{1,12}(?:\.\d+)?",
    "overrides": LIST_OF_TEXTS,
    "versions": _write_mapping(TEXT),
    "threads": _write_mapping(NUMBER),
    "rows_per_fold": _write_mapping(NUMBER),
    "audit_warnings": LIST_OF_TEXTS,
    "looks": r"\d{1,9}",
    ACCEPTED_TAG: _write_mapping(TEXT),
    GUESSED_TAG: _write_mapping(f"{TEXT}|{NUMBER}|true|false|null"),
}
PARAM_FORMS: Mapping[str, str] = {"seed": r"-?\d{1,20}"}
"""The patterns of the tags and params that bakeoff reads again."""

Place = tuple[str, int]
"""The key of a stored number: the name of its metric, and its step."""


@dataclass(frozen=True)
class StoredRun:
    """A run in the store.

    Attributes
    ----------
    run_id, name : str
    status : str
        The MLflow status: ``FINISHED``, ``FAILED``, ``KILLED`` or ``RUNNING``.
    is_deleted : bool
    started, ended : int
        Milliseconds since 1970; 0 if the run has not ended.
    params, tags : mapping of str to str
    metrics : mapping of str to float
        The last value of each metric: means over folds.
    address : str
        The location of its artifacts.
    model_id : str
        The id of the run's model; empty if there is none, or if it was not read.
    source : str
        The source of its rows in MLflow's form; empty if there is none, or if it was not read.
    """

    run_id: str
    name: str
    status: str
    is_deleted: bool
    started: int
    params: Mapping[str, str]
    tags: Mapping[str, str]
    metrics: Mapping[str, float]
    address: str = ""
    model_id: str = ""
    ended: int = 0
    source: str = ""

    @property
    def is_finished(self) -> bool:
        """Whether all folds were evaluated."""
        return self.status == FINISHED


def write_condition(field: str, value: str) -> str:
    r"""Return the query for runs with a value, such as a name that may contain a quotation mark.

    Examples
    --------
    >>> write_condition("tags.sweep", "it's")
    'tags.sweep = "it\'s"'
    """
    mark = '"' if "'" in value else "'"
    if mark in value:
        raise UserError(f"{value!r} contains both quotation marks, for which MLflow cannot search; choose runs by id.")
    return f"{field} = {mark}{value}{mark}"


def search_stored_runs(store: Store, query: str = "", keys: Keys = None, metrics: Keys = None) -> list[StoredRun]:
    """Return the runs of the experiment that a query of the user selects, the newest first.

    Parameters
    ----------
    store : Store
    query : str
        A query in MLflow's filter language; empty for all runs.
    keys, metrics : collection of str, optional
        What is needed, as for `search_runs`.

    Raises
    ------
    UserError
        The query is not in MLflow's filter language.
    """
    try:
        return list(search_runs(store, query, keys=keys, metrics=metrics))
    except list_store_errors() as error:
        reason = " ".join(str(error).split()).removeprefix("INVALID_PARAMETER_VALUE: ")
        raise UserError(
            f"filter={query!r} cannot be read: {reason} A filter is written as in MLflow, for example filter="
            f'"{FILTER_EXAMPLE}".'
        ) from error


def search_runs(
    store: Store, query: str = "", max_runs: int | None = None, keys: Keys = None, metrics: Keys = None
) -> Iterator[StoredRun]:
    """Yield the runs of the experiment that a query selects, the newest first, except those that bakeoff cannot read.

    Parameters
    ----------
    store : Store
    query : str
        A query in MLflow's filter language; empty for all runs.
    max_runs : int, optional
        The maximum number of runs.
    keys : collection of str, optional
        The tags and params that are needed; by default all. Servers send all.
    metrics : collection of str, optional
        The metrics that are needed; by default all.
    """
    page_size = min(max_runs or MAX_IDS_PER_QUERY, MAX_IDS_PER_QUERY)
    if store.is_database:
        ids = store.calls.call(find_run_ids, store.client, store.experiment_id, query)
        if ids is not None:
            return islice(load_runs(store, ids, keys, metrics, page_size), max_runs)
    ask = partial(store.client.search_runs, [store.experiment_id], query, max_results=page_size)
    return islice((run for page in iterate_pages(ask) for run in _leave_out_faulty(map(convert_run, page))), max_runs)


def load_runs(
    store: Store, run_ids: Collection[str], keys: Keys = None, metrics: Keys = None, page_size: int = 0
) -> Iterator[StoredRun]:
    """Yield the runs with the given ids that bakeoff can read; the other parameters are those of `search_runs`."""
    needed = None if keys is None else {*keys, *TAG_FORMS, *PARAM_FORMS}
    for batch in list_batches(run_ids, page_size):
        if store.is_database:
            yield from _leave_out_faulty(_read_runs(store, batch, needed, metrics))
        else:
            query = f"attributes.run_id IN ({', '.join(map(repr, batch))})"
            page = store.client.search_runs([store.experiment_id], query, max_results=len(batch))
            yield from _leave_out_faulty(map(convert_run, page))


def read_stored_runs(store: Store, run_ids: Sequence[str]) -> list[StoredRun]:
    """Return the existing runs with the given ids, in order, from any experiment, with their models and sources."""
    found: dict[str, StoredRun] = {}
    for batch in list_batches(run_ids) if store.is_database else []:
        models = dict(map(tuple, store.read(READ_MODELS_OF_RUNS, ids=batch)))
        sources = dict(map(tuple, store.read(READ_SOURCES, ids=batch)))
        for run in _read_runs(store, batch, None, None):
            model_id, source = models.get(run.run_id, ""), sources.get(run.run_id, "")
            found[run.run_id] = replace(run, model_id=model_id, source=source)
    # MLflow's client explains an unknown run.
    return [found.get(run_id) or convert_run(store.client.get_run(run_id)) for run_id in run_ids]


def iterate_pages(ask: Callable[..., Any]) -> Iterator[Any]:
    """Yield all pages of an answer of MLflow's client."""
    token = None
    while True:
        page = ask(page_token=token)
        yield page
        token = page.token
        if not token:
            return


def _read_runs(store: Store, run_ids: list[str], keys: Keys, metrics: Keys) -> list[StoredRun]:
    """Return existing runs of a database by their ids; MLflow's search takes ten times as long."""
    params = _read_values(store, "params", run_ids, keys)
    tags = _read_values(store, "tags", run_ids, keys)
    numbers = _read_values(store, "metrics", run_ids, metrics)
    found = {}
    for run_id, name, status, started, ended, is_deleted, address in store.read(READ_INFOS, ids=run_ids):
        found[run_id] = StoredRun(
            run_id=run_id,
            name=tidy_name(name or ""),
            status=status,
            is_deleted=bool(is_deleted),
            started=started or 0,
            ended=ended or 0,
            params=_tidy_params(params[run_id]),
            tags=tags[run_id],
            metrics=numbers[run_id],
            address=address,
        )
    return [found[run_id] for run_id in run_ids if run_id in found]


def _read_values(store: Store, field: str, run_ids: list[str], names: Keys) -> dict[str, dict[str, Any]]:
    """Return the tags, params or metrics of runs: run id -> name -> value; ``names`` chooses among them."""
    chosen = {} if names is None else {"keys": list(names)}
    query = READ_VALUES[field] + (AMONG_KEYS if chosen else "")
    values: dict[str, dict[str, Any]] = defaultdict(dict)
    for run_id, key, value, is_nan in store.read(query, ids=run_ids, **chosen):
        # A hundred thousand runs share their keys, and most of their texts.
        shared = intern(value) if isinstance(value, str) else value
        values[run_id][intern(key)] = math.nan if is_nan else shared
    return values


def convert_run(run: Any) -> StoredRun:
    """Return a run of MLflow's client."""
    info, data = run.info, run.data
    # A run stores one model, so the first one is the only one.
    models = run.outputs.model_outputs if run.outputs else []
    inputs = run.inputs.dataset_inputs if run.inputs else []
    return StoredRun(
        run_id=str(info.run_id),
        name=tidy_name(str(info.run_name or "")),
        status=str(info.status),
        is_deleted=info.lifecycle_stage == "deleted",
        started=int(info.start_time or 0),
        ended=int(info.end_time or 0),
        params=_tidy_params(data.params),
        tags=dict(data.tags),
        metrics=dict(data.metrics),
        address=str(info.artifact_uri),
        model_id=str(models[0].model_id) if models else "",
        source=str(inputs[0].dataset.source) if inputs else "",
    )


def _tidy_params(params: Mapping[str, str]) -> dict[str, str]:
    return {**params, **{key: tidy_name(params[key]) for key in NAME_PARAMS if key in params}}


def tidy_name(text: str) -> str:
    r"""Return a name from a store in printable form: on one line, and without terminal control characters.

    Examples
    --------
    >>> tidy_name("knn\n iris\x1b[2J")
    'knn  iris [2J'
    """
    return CONTROL_SIGNS.sub(" ", text)


def find_fault(run: StoredRun) -> str:
    """Return the first tag or param of a run that bakeoff would not have written; empty if there is none."""
    for kind, values, forms in (("tag", run.tags, TAG_FORMS), ("param", run.params, PARAM_FORMS)):
        for key, form in forms.items():
            if key in values and not re.fullmatch(form, values[key]):
                return f"its {kind} {key}"
    return ""


def _leave_out_faulty(runs: Iterable[StoredRun]) -> list[StoredRun]:
    """Return the readable runs, and print those left out."""
    given = list(runs)
    faults = {run.run_id: fault for run in given if (fault := find_fault(run))}
    # Workers read the same runs as the process that started them.
    if faults and parent_process() is None:
        _report_left_out(tuple(faults), next(iter(faults.values())))
    return [run for run in given if run.run_id not in faults]


@cache
def _report_left_out(run_ids: tuple[str, ...], fault: str) -> None:
    """Print the runs that are left out, once per process."""
    shown = ", ".join(run_ids[:MAX_SHOWN_RUNS]) + (", …" if len(run_ids) > MAX_SHOWN_RUNS else "")
    runs = count_nouns(len(run_ids), "run is", "runs are")
    print_note(
        f"tracking: {runs} left out, because bakeoff did not write {fault}: {shown}; `bakeoff rm RUN` deletes such a "
        "run."
    )


def read_series(
    store: Store, runs: Sequence[StoredRun], metrics: Iterable[str]
) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return the values over folds of some metrics: run id -> metric -> values, in the order of the folds.

    A run with a single split has no series; its mean is the only value. Metrics that a run lacks are missing from its
    mapping.

    Parameters
    ----------
    store : Store
    runs : sequence of StoredRun
    metrics : iterable of str
        Names of means, such as ``test_accuracy``; their series are stored as ``fold/test_accuracy``.
    """
    series: dict[str, dict[str, tuple[float, ...]]] = {run.run_id: {} for run in runs}
    for metric in metrics:
        name = f"fold/{metric}"
        for run in runs:
            if metric in run.metrics:
                series[run.run_id][metric] = (run.metrics[metric],)
        with_folds = [run.run_id for run in runs if name in run.metrics]
        for run_id, steps in _read_histories(store, with_folds, name).items():
            series[run_id][metric] = tuple(steps.values())
    return series


def read_values(store: Store, run: StoredRun) -> dict[Place, float]:
    """Return all numbers of a run: (name, step) -> value. NaN is a value; infinite values are never stored."""
    values: dict[Place, float] = {}
    for name, latest in run.metrics.items():
        if name.startswith(SERIES_PREFIXES):  # a run contains only the last value of these
            steps = _read_histories(store, [run.run_id], name)[run.run_id]
            values |= {(name, step): value for step, value in steps.items()}
        else:
            values[name, 0] = latest
    return values


def _read_histories(store: Store, run_ids: Sequence[str], name: str) -> dict[str, dict[int, float]]:
    """Return the values of a metric in ascending steps: run id -> step -> value."""
    found: list[tuple[str, int, float]] = []
    if store.is_database:
        for batch in list_batches(run_ids, MAX_VALUES_PER_SCAN):
            rows = store.read(READ_HISTORIES, ids=batch, name=name)
            found += [(run_id, step, math.nan if is_nan else value) for run_id, step, value, is_nan in rows]
    else:
        for run_id in run_ids:
            found += [(run_id, each.step, each.value) for each in store.client.get_metric_history(run_id, name)]
    histories: dict[str, dict[int, float]] = {run_id: {} for run_id in run_ids}
    for run_id, step, value in sorted(found, key=lambda each: each[1]):
        histories[run_id][step] = value
    return histories


def read_tables(store: Store, run: StoredRun) -> dict[str, str]:
    """Return the texts of the `TABLES` among the artifacts of a run; they are empty if its folder was deleted."""
    with TemporaryDirectory(prefix="bakeoff-") as temporary:
        try:
            folder = fetch_folder(store, run.address, temporary)
        except list_store_errors(OSError):
            return {}
        return {name: (folder / name).read_text(encoding="utf-8") for name in TABLES if (folder / name).is_file()}
