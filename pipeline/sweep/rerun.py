"""The jobs of earlier sweeps that did not finish, as the store lists them, to be run as a new sweep."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from bakeoff.pipeline.config.requests import DEFAULT_EXPERIMENT, ExperimentRequest
from bakeoff.pipeline.config.trust import is_trust_word
from bakeoff.pipeline.sweep.compose import override_text
from bakeoff.pipeline.tracking import history
from bakeoff.pipeline.tracking.history import name_author
from bakeoff.pipeline.tracking.provenance import describe_machine, find_user
from bakeoff.pipeline.tracking.store import Store, open_store

URI_KEY = "tracking.uri"


@dataclass(frozen=True, kw_only=True)
class RerunRequest(ExperimentRequest):
    """Jobs to run again.

    Attributes
    ----------
    sweep : str or None
        The name of a sweep; by default jobs of all sweeps.
    """

    sweep: str | None = None


@dataclass(frozen=True)
class FailedJobs:
    """Jobs that failed and were never finished.

    Attributes
    ----------
    overrides : list of sequence of str
        Those of each job.
    notes : list of str
        A sentence for each job that another user, or another machine, wrote into the store: it runs with the rights of
        this one.
    """

    overrides: list[Sequence[str]]
    notes: list[str]


def find_failed_jobs(request: RerunRequest) -> FailedJobs:
    """Return the jobs that failed and were never finished.

    Whoever can write to the store can write a job into it. So what a job trusted is dropped, as are words for Hydra
    itself: the packages that a command trusts are those that it names.

    Parameters
    ----------
    request : RerunRequest

    Raises
    ------
    UserError
        There is no store.
    """
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    history.end_orphans(store)
    here = name_author(find_user(), describe_machine()["host"])
    found = FailedJobs([], [])
    for job in history.find_failed_jobs(store, request.sweep):
        words = [word for word in job.overrides if not is_trust_word(word) and _root_of(word) != "hydra"]
        if job.author != here:
            found.notes.append(f"a job of {job.author} runs again: bakeoff {shlex.join(words)}")
        found.overrides.append(_replace_store(words, request, store))
    return found


def _replace_store(words: Sequence[str], request: RerunRequest, store: Store) -> list[str]:
    """Return the overrides of a job with the store in which it was found: the one that they name may have moved."""
    replaced = {}
    if request.tracking__uri is not None:
        replaced[URI_KEY] = request.tracking__uri
    elif any(_key_of(word) == URI_KEY for word in words):
        replaced[URI_KEY] = store.uri
    if request.tracking__experiment != DEFAULT_EXPERIMENT:
        replaced["tracking.experiment"] = request.tracking__experiment
    kept = [word for word in words if _key_of(word) not in replaced]
    return [*kept, *(f"{key}={override_text(value)}" for key, value in replaced.items())]


def _root_of(word: str) -> str:
    return re.split(r"[=.@/]", word.lstrip("+~"))[0]


def _key_of(word: str) -> str:
    return word.split("=", 1)[0].lstrip("+")
