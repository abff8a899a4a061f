"""MLflow's model registry: names, versions and aliases of models, in the database of the store."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.tracking.store import Store, iterate_pages

LATEST = "latest"
BEST = "best"
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
        Of the logged model; empty if the files are somewhere else.
    source : str
        The URI of the files.
    tags : mapping of str to str
    description : str
    created : int
        In milliseconds since 1970.
    """

    name: str
    version: int
    aliases: tuple[str, ...] = ()
    run_id: str = ""
    model_id: str = ""
    source: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    created: int = 0

    @property
    def words(self) -> list[str]:
        """The words that name this version, whatever other versions there are."""
        return [f"{self.name}/{self.version}", *(f"{self.name}@{alias}" for alias in self.aliases)]


def parse_model_name(word: str, key: str) -> ModelName:
    """Return the name for registering a model, with its alias.

    Parameters
    ----------
    word : str
        ``NAME`` or ``NAME@ALIAS``.
    key : str
        Begins the error message.

    Raises
    ------
    UserError
        MLflow would refuse the name or the alias, or the word would name something else.

    Examples
    --------
    >>> parse_model_name("titanic@champion", "as")
    ModelName(name='titanic', alias='champion')
    """
    match = MODEL_WORD.fullmatch(word)
    if match is None:
        raise UserError(
            f"{key}={word!r} cannot be the name of a model: write NAME or NAME@ALIAS with letters, digits, and the "
            "signs _ and - (and dots in the name), such as titanic@champion; MLflow keeps the aliases latest, v1, v2, …"
        )
    if names_run(match[1]):
        raise UserError(f"{key}={word!r}: {match[1]!r} names a run wherever a model is named; choose another name.")
    return ModelName(match[1], match[2] or "")


def names_run(word: str) -> bool:
    """Return whether a word has the form of a name of a run; others name registered models."""
    return word in (LATEST, BEST) or RUN_ID_LIKE.fullmatch(word) is not None


def find_version(store: Store, word: str) -> RegisteredVersion | None:
    """Return the version that a word names; None for a word that names a run, or is the name of no registered model.

    Parameters
    ----------
    store : Store
    word : str
        The name of a registered model, alone for its newest version, with ``@alias``, or with ``/version``.

    Raises
    ------
    UserError
        The word has the form of an alias or a version, and there is none.
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
    """Return the names of all registered models, sorted."""
    return sorted(str(each.name) for page in iterate_pages(store.client.search_registered_models) for each in page)


def list_versions(store: Store, name: str = "") -> list[RegisteredVersion]:
    """Return the versions of a registered model, the oldest first.

    Parameters
    ----------
    store : Store
    name : str
        Empty for those of all models, by name.
    """
    if "'" in name:  # MLflow's filter language has no escape for it, and no model of ours has such a name
        return []
    query = f"name = '{name}'" if name else ""
    pages = iterate_pages(partial(store.client.search_model_versions, filter_string=query))
    found = [each for page in pages for each in page]
    # The results of a search do not contain the aliases of the versions.
    aliases = {name: store.client.get_registered_model(name).aliases for name in {each.name for each in found}}
    versions = [_read_version(each, aliases[each.name]) for each in found]
    return sorted(versions, key=lambda each: (each.name, each.version))


def register_version(
    store: Store,
    name: ModelName,
    model_id: str,
    run_id: str,
    tags: Mapping[str, str] | None = None,
    description: str = "",
) -> RegisteredVersion:
    """Register a logged model as a new version, and move the alias to it; if that fails, there is no new version.

    Parameters
    ----------
    store : Store
    name : ModelName
        Of `parse_model_name`.
    model_id : str
        Of a logged model that is complete.
    run_id : str
        The run that chose the model.
    tags : mapping of str to str, optional
    description : str
    """
    if name.name not in list_names(store):
        store.client.create_registered_model(name.name)
    # With a URI of the form models:/ID, MLflow would look into the store of its global settings.
    source = store.client.get_logged_model(model_id).artifact_location
    created = store.client.create_model_version(
        name.name, source, run_id, dict(tags or {}), description=description, model_id=model_id
    )
    try:
        if name.alias:
            store.client.set_registered_model_alias(name.name, name.alias, str(created.version))
    except BaseException:
        store.client.delete_model_version(name.name, str(created.version))
        raise
    return next(each for each in list_versions(store, name.name) if each.version == int(created.version))


def find_alias(store: Store, name: ModelName) -> RegisteredVersion | None:
    """Return the version that has an alias now; None if there is none."""
    return next((each for each in list_versions(store, name.name) if name.alias in each.aliases), None)


def _read_version(found: Any, aliases: Mapping[str, Any]) -> RegisteredVersion:
    # A database does not keep the id of the logged model itself.
    match = MODEL_ID.search(found.source or "")
    return RegisteredVersion(
        name=str(found.name),
        version=int(found.version),
        aliases=tuple(sorted(alias for alias, number in aliases.items() if int(number) == int(found.version))),
        run_id=found.run_id or "",
        model_id=found.model_id or (match[0] if match else ""),
        source=found.source or "",
        tags=dict(found.tags or {}),
        description=found.description or "",
        created=int(found.creation_timestamp or 0),
    )
