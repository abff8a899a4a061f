"""Names of runs and models: ids and their beginnings, ``latest``, ``best``, and names in MLflow's model registry.

The registry contains the names, versions and aliases of models, in the database of the store.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.scoring.names import DEFAULTS
from bakeoff.pipeline.stages.scoring.scorers import is_greater_better as is_score_greater_better
from bakeoff.pipeline.stages.scoring.scorers import name_entry
from bakeoff.pipeline.text.wording import RUN_ID_LETTERS
from bakeoff.pipeline.tracking.artifacts import find_model_address
from bakeoff.pipeline.tracking.mlflow_tables import (
    READ_ALIASES,
    READ_BEGINNINGS,
    READ_METRIC_SETTINGS,
    READ_VERSION_TAGS,
    READ_VERSIONS,
    list_store_errors,
)
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.store_writer import NewVersion
from bakeoff.pipeline.tracking.stored_runs import (
    IS_FINISHED,
    StoredRun,
    find_fault,
    iterate_pages,
    read_stored_runs,
    search_runs,
    write_condition,
)

HEADLINE_KEYS = ("dataset", "dataset_digest", "evaluation.metrics")
"""The tags and params by which the best run is chosen."""
LATEST = "latest"
BEST = "best"
COMPLETE_ID_LETTERS = 32
RUN_ID_LIKE = re.compile(r"[0-9a-f]{8,32}")
"""The form of the id of a run, or its beginning."""
MODEL_WORD = re.compile(r"(\w[\w.-]{0,254})(?:@(?!(?:latest|v\d+)$)([\w-]{1,255}))?", re.IGNORECASE)
"""``NAME`` or ``NAME@ALIAS``; MLflow reserves some aliases for versions."""
MODEL_ID = re.compile(r"\bm-[0-9a-f]{32}\b")
"""The id of a logged model in the URI of its files."""


@dataclass(frozen=True)
class ModelName:
    """The name for registering a model; the alias may be empty."""

    name: str
    alias: str = ""

    def __str__(self) -> str:
        """Return the word."""
        return f"{self.name}@{self.alias}" if self.alias else self.name


@dataclass(frozen=True)
class RegisteredVersion:
    """A version of a registered model.

    Attributes
    ----------
    name : str
    version : int
    aliases : tuple of str
    run_id : str
        The run from which the model comes; empty if it is unknown.
    model_id : str
        The id of the logged model; empty if the files are elsewhere.
    tags : mapping of str to str
    """

    name: str
    version: int
    aliases: tuple[str, ...] = ()
    run_id: str = ""
    model_id: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    @property
    def words(self) -> list[str]:
        """The words that name this version regardless of other versions."""
        return [f"{self.name}/{self.version}", *(f"{self.name}@{alias}" for alias in self.aliases)]


def parse_model_name(word: str, key: str) -> ModelName:
    """Return the name for registering a model, with its alias.

    Parameters
    ----------
    word : str
        ``NAME`` or ``NAME@ALIAS``.
    key : str
        The key, with which the error message begins.

    Raises
    ------
    UserError
        MLflow would refuse the name or the alias, or the word already has another meaning.

    Examples
    --------
    >>> parse_model_name("titanic@champion", "as")
    ModelName(name='titanic', alias='champion')
    """
    match = MODEL_WORD.fullmatch(word)
    if match is None:
        raise UserError(
            f"{key}={word!r} cannot be the name of a model: write NAME or NAME@ALIAS with letters, digits, and the "
            "signs _ and - (and dots in the name), such as titanic@champion; MLflow reserves the aliases "
            "latest, v1, v2, …"
        )
    if names_run(match[1]):
        raise UserError(f"{key}={word!r}: {match[1]!r} refers to a run; choose another name.")
    return ModelName(match[1], match[2] or "")


def names_run(word: str) -> bool:
    """Return whether a word has a form that names a run; other words name registered models."""
    return word in (LATEST, BEST) or RUN_ID_LIKE.fullmatch(word) is not None


def find_version(store: Store, word: str) -> RegisteredVersion | None:
    """Return the version that a word names; None if it names a run or is not the name of a registered model.

    Parameters
    ----------
    store : Store
    word : str
        The name of a registered model, alone for its newest version, with ``@alias``, or with ``/version``.

    Raises
    ------
    UserError
        The word has the form of an alias or a version that does not exist.
    """
    if names_run(word):
        return None
    name = re.split("[@/]", word)[0]
    versions = list_versions(store, name)
    if word == name:
        return versions[-1] if versions else None
    named = {each_word: each for each in versions for each_word in each.words}
    if word not in named:
        hint = did_you_mean(word, named or list_names(store))
        raise UserError(f"there is no registered model {word!r} in {store.uri}. {hint}")
    return named[word]


def list_names(store: Store) -> list[str]:
    """Return the names of all registered models that have a version, sorted."""
    return sorted({each.name for each in list_versions(store)})


def list_versions(store: Store, name: str = "") -> list[RegisteredVersion]:
    """Return the versions of a registered model, the oldest first.

    Parameters
    ----------
    store : Store
    name : str
        The name of the model; empty for the versions of all models, by name.
    """
    read = _read_versions if store.is_database else _ask_for_versions
    return sorted(read(store, name), key=lambda each: (each.name, each.version))


def _read_versions(store: Store, name: str) -> list[RegisteredVersion]:
    """Return the versions of a registered model, or of all, from a database."""
    aliases: dict[tuple[str, int], list[str]] = defaultdict(list)
    tags: dict[tuple[str, int], dict[str, str]] = defaultdict(dict)
    for each, alias, number in store.read(READ_ALIASES):
        aliases[each, int(number)].append(alias)
    for each, number, key, value in store.read(READ_VERSION_TAGS):
        tags[each, int(number)][key] = value
    return [
        _describe_version(each, int(number), aliases[each, int(number)], run_id, source, tags[each, int(number)])
        for each, number, run_id, source in store.read(READ_VERSIONS)
        if name in ("", each)
    ]


def _ask_for_versions(store: Store, name: str) -> list[RegisteredVersion]:
    """Return the versions of a registered model, or of all, from a server."""
    query = write_condition("name", name) if name else ""
    pages = iterate_pages(partial(store.client.search_model_versions, filter_string=query))
    # Versions that a search returns lack their aliases.
    models = iterate_pages(partial(store.client.search_registered_models, filter_string=query))
    aliases = {model.name: model.aliases for page in models for model in page}
    return [
        _describe_version(
            str(each.name),
            int(each.version),
            [alias for alias, number in aliases.get(each.name, {}).items() if int(number) == int(each.version)],
            each.run_id,
            each.source,
            dict(each.tags or {}),
            each.model_id,
        )
        for page in pages
        for each in page
    ]


def register_version(
    store: Store,
    name: ModelName,
    model_id: str,
    run_id: str,
    tags: Mapping[str, str] | None = None,
    description: str = "",
) -> RegisteredVersion:
    """Register a logged model as a new version, and move the alias to it; if that fails, neither is changed.

    Parameters
    ----------
    store : Store
    name : ModelName
        The name returned by `parse_model_name`.
    model_id : str
        The id of a complete logged model.
    run_id : str
        The run that chose the model.
    tags : mapping of str to str, optional
    description : str
    """
    source = find_model_address(store, model_id)
    new = NewVersion(name.name, name.alias, model_id, source, run_id, tags or {}, description)
    store.writer.register_version(new)
    return next(each for each in reversed(list_versions(store, name.name)) if each.model_id == model_id)


def find_alias(store: Store, name: ModelName) -> RegisteredVersion | None:
    """Return the version that has an alias now, or None if there is none."""
    return next((each for each in list_versions(store, name.name) if name.alias in each.aliases), None)


def _describe_version(
    name: str,
    version: int,
    aliases: Sequence[str],
    run_id: str | None,
    source: str | None,
    tags: Mapping[str, str],
    model_id: str | None = None,
) -> RegisteredVersion:
    # A database does not keep the id of the logged model itself.
    match = MODEL_ID.search(source or "")
    return RegisteredVersion(
        name, version, tuple(sorted(aliases)), run_id or "", model_id or (match[0] if match else ""), tags
    )


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
        ``best`` requires it if the experiment has runs on several datasets.
    must_be_readable : bool
        Whether to reject a run that bakeoff cannot read, which can still be removed.

    Raises
    ------
    UserError
        There is no such run or model, it was deleted, or the word is ambiguous.
    """
    if word in (LATEST, BEST):
        # Runs of other programs in the same experiment lack the tag.
        query = f"{IS_FINISHED} and tags.dataset_digest != ''"
        if dataset:
            query += f" and {write_condition('params.dataset', dataset)}"
        is_latest = word == LATEST
        needed = [] if is_latest else list_headlines(store)
        runs = list(search_runs(store, query, 1 if is_latest else None, HEADLINE_KEYS, needed))
        if not runs:
            restriction = f" with dataset={dataset}" if dataset else ""
            raise UserError(f"there is no finished run{restriction} in {store.uri} yet.")
        return (runs[0] if is_latest else _find_best(runs)).run_id
    if names_run(word):
        return _find_by_id(store, word, must_be_readable)
    version = find_version(store, word)
    if version is None:
        raise _explain_unknown(store, word)
    if not version.run_id:
        raise UserError(
            f"version {version.version} of the model {version.name!r} does not record which run it comes from."
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
    return next((name for name in _list_candidates(params) if name in metrics), None)


def list_headlines(store: Store) -> list[str] | None:
    """Return the metrics that can be the headline score of a run in a database; None for a server, which sends all."""
    if not store.is_database:
        return None
    settings = [{"evaluation.metrics": value} for (value,) in store.read(READ_METRIC_SETTINGS)]
    return [name for params in [{}, *settings] for name in _list_candidates(params)]


def _list_candidates(params: Mapping[str, str]) -> list[str]:
    """Return the metrics of which the first one that a run with these params has is its headline score."""
    names = [name_entry(entry) for entry in read_metric_entries(params)]
    names += [metrics_of_task[0] for metrics_of_task in DEFAULTS.values()]
    return [f"test_{name}" for name in names]


def read_metric_entries(params: Mapping[str, str]) -> list[Any]:
    """Return the items of ``evaluation.metrics`` of a stored run; they are empty if the defaults were used."""
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
        The metric is not the name of a score.

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
    if len(word) < COMPLETE_ID_LETTERS:
        return _find_by_beginning(store, word)
    try:
        (found,) = read_stored_runs(store, [word])
    except list_store_errors():
        raise _explain_unknown(store, word) from None
    if found.is_deleted:
        raise UserError(f"run {word} was deleted; restore it in MLflow, or name another run.")
    fault = find_fault(found) if must_be_readable else ""
    if fault:
        raise UserError(f"run {found.run_id} cannot be read: {fault} was not written by bakeoff.")
    return found.run_id


def _find_by_beginning(store: Store, word: str) -> str:
    """Return the id of the run of this experiment whose id begins with a word."""
    ids = _find_beginnings(store, word)
    if not ids:
        raise _explain_unknown(store, word)
    if len(ids) > 1:
        raise UserError(f"{word!r} matches the ids of {len(ids)} runs ({', '.join(ids[:3])}); give more characters.")
    return ids[0]


def _find_beginnings(store: Store, word: str) -> list[str]:
    """Return the ids of at most 10 runs of this experiment that begin with a word."""
    if store.is_database:
        rows = store.read(READ_BEGINNINGS, experiment=int(store.experiment_id), beginning=f"{word}%")
        return [run_id for (run_id,) in rows]
    begins = store.client.search_runs([store.experiment_id], f"attributes.run_id LIKE '{word}%'", max_results=10)
    return [str(run.info.run_id) for run in begins]


def _explain_unknown(store: Store, word: str) -> UserError:
    """Return the error for a word that matches neither a run nor a registered model."""
    names = list_names(store)
    hint = f" Models: {did_you_mean(word, names)}" if names else ""
    return UserError(
        f"there is no run {word!r} and no registered model of that name with a version in {store.uri}. Give the id "
        f"of a run, at least its first {RUN_ID_LETTERS} characters, {LATEST}, {BEST}, or the name of a model.{hint}"
    )


def _find_best(runs: Sequence[StoredRun]) -> StoredRun:
    """Return the run with the best headline score; of several equal ones the newest."""
    _require_one_dataset(runs)
    headlines = {find_headline(run.params, run.metrics) for run in runs}
    names = sorted(name for name in headlines if name is not None)
    if len(names) > 1:
        raise UserError(f"{BEST}: the runs have different headline scores ({', '.join(names)}); give the id of a run.")
    name = names[0] if names else ""
    # The maximum of values with NaN depends on their order, so undefined scores are left out.
    scored = [run for run in runs if not math.isnan(run.metrics.get(name, math.nan))]
    if not scored:
        raise UserError(f"{BEST}: none of the {len(runs)} finished runs has a headline score; give an id.")
    directions = {is_greater_better(name, run.params) for run in scored}
    if len(directions) > 1:
        raise UserError(f"{BEST}: the runs disagree on whether a greater {name} is better; give an id.")
    sign = 1 if directions.pop() else -1
    return max(scored, key=lambda run: (sign * run.metrics[name], run.started))


def _require_one_dataset(runs: Sequence[StoredRun]) -> None:
    """Reject runs on several datasets, or on several versions of the rows of one."""
    rows = {(run.params.get("dataset", ""), run.tags["dataset_digest"]) for run in runs}
    if len(rows) > 1:
        names = ", ".join(sorted({name for name, _ in rows}))
        raise UserError(
            f"{BEST}: the runs are on {len(rows)} datasets or versions of their rows ({names}), whose scores cannot be "
            "compared; add dataset=NAME, or give the id of a run."
        )


def find_standard_run(store: Store, word: str) -> str | None:
    """Return the id of the run that an argument selects as the base, or None if there is no such run.

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


KIND_TAGS = {"mlflow.experimentKind": "custom_model_development"}
"""The experiment kind with the page for model training; the default page is for language models."""
