"""The jobs of earlier sweeps that failed and have never finished, which ``rerun`` runs again."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from bakeoff.pipeline.config import requests, trust
from bakeoff.pipeline.sweep.compose import override_text
from bakeoff.pipeline.tracking import history, provenance
from bakeoff.pipeline.tracking.store import open_store

HYDRA_WORD = re.compile(r"[+~]*hydra([=.@/]|$)")
"""An override of Hydra itself."""


@dataclass(frozen=True, kw_only=True)
class RerunRequest(requests.ExperimentRequest):
    """Jobs to run again.

    Attributes
    ----------
    sweep : str or None
        The name of a sweep, or ``latest``; by default, jobs of all sweeps.
    """

    sweep: str | None = None


def find_failed_jobs(request: RerunRequest) -> tuple[list[list[str]], list[str]]:
    """Return the overrides of each job that failed and has never finished, and notes.

    A note is a sentence on a job stored by another user or machine, because it runs with the rights of this user.

    Anyone who can write to the store can add a job to it. Trust settings of a job and its words for Hydra are therefore
    dropped: a command trusts only the packages that it names itself.

    Parameters
    ----------
    request : RerunRequest

    Raises
    ------
    UserError
        There is no store, or no such sweep.
    """
    store = open_store(request.tracking__uri, request.tracking__experiment, create=False)
    history.end_orphans(store)
    here = history.name_author(provenance.find_user(), provenance.describe_machine()["host"])
    # The store that a job refers to may have been moved here.
    place = {"tracking.uri": request.tracking__uri, "tracking.experiment": request.tracking__experiment}
    overrides = []
    notes = []
    sweep = history.find_sweep_name(store, request.sweep) if request.sweep else None
    for job in history.find_failed_jobs(store, sweep):
        words = [word for word in job.overrides if not trust.is_trust_word(word) and not HYDRA_WORD.match(word)]
        if job.author != here:
            notes.append(f"a job of {job.author} runs again: bakeoff {shlex.join(words)}")
        kept = [word for word in words if word.lstrip("+").partition("=")[0] not in place]
        overrides.append([*kept, *(f"{key}={override_text(value)}" for key, value in place.items())])
    return overrides, notes
