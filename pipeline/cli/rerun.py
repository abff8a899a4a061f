"""``bakeoff rerun --failed``: run the jobs of earlier sweeps that did not finish, as the store lists them."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from bakeoff.pipeline.cli.run import run_experiments
from bakeoff.pipeline.config.requests import reject_repeated_keys
from bakeoff.pipeline.config.trust import TRUST_KEY, is_trust_word, read_trust_of_words
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.compose import override_text
from bakeoff.pipeline.text.terminal import show_in_line
from bakeoff.pipeline.tracking import history
from bakeoff.pipeline.tracking.history import FailedJob, name_author
from bakeoff.pipeline.tracking.provenance import describe_machine, find_user
from bakeoff.pipeline.tracking.store import open_store

FLAG = "--failed"
URI_KEY = "tracking.uri"
STORE_KEYS = (URI_KEY, "tracking.experiment")
OWN_KEYS = ("sweep", *STORE_KEYS)
"""Keys that select the jobs; all others are keys of the new sweep."""
HYDRA_KEY = "hydra"


def rerun_failed_jobs(words: Sequence[str]) -> int:
    """Run the jobs that failed and were never finished as a new sweep; return the exit code.

    Whoever can write to the store can write a job into it. So what a job trusted is dropped, as are words for Hydra
    itself: the packages that this command trusts are those that it names. Jobs of somebody else are shown.

    Parameters
    ----------
    words : sequence of str
        ``--failed``, and optionally ``sweep=NAME``, ``trust=[PACKAGE]``, ``tracking.uri=URI``,
        ``tracking.experiment=NAME`` and keys of sweeps such as ``workers=2``.

    Raises
    ------
    UserError
        ``--failed`` is missing, or there is no store.
    """
    if FLAG not in words:
        raise UserError(
            "rerun: specify which jobs to run again; usage: bakeoff rerun --failed [sweep=NAME] [KEY=VALUE ...]"
        )
    own_words = [word for word in words if _key_of(word) in OWN_KEYS and "=" in word]
    reject_repeated_keys(own_words)
    given = dict(word.split("=", 1) for word in own_words)
    jobs = find_failed_jobs(given)
    if not jobs:
        print("nothing failed that is not finished by now")
        return 0
    trust_words = _write_trust(read_trust_of_words(words))
    trusting_jobs = [(*trust_words, *overrides) for overrides in jobs]
    others = [word for word in words if word != FLAG and not is_trust_word(word)]
    sweep_words = [word for word in others if _key_of(word) not in OWN_KEYS]
    return run_experiments(["--multirun", *sweep_words, *trust_words], trusting_jobs)


def find_failed_jobs(given: dict[str, str]) -> list[tuple[str, ...]]:
    """Return the overrides of each job that failed, with the given store instead of its own, and without its trust.

    Parameters
    ----------
    given : dict of str to str
        Values of `OWN_KEYS`.
    """
    experiment = given.get("tracking.experiment", "bakeoff")
    store = open_store(given.get("tracking.uri"), experiment, create=False)
    history.end_orphans(store)
    failed = history.find_failed_jobs(store, given.get("sweep"))
    harmless = [replace(job, overrides=_drop_trust(job.overrides)) for job in failed]
    _show_jobs_of_others(harmless)
    return [_replace_store(job.overrides, given, store.uri) for job in harmless]


def _drop_trust(overrides: Iterable[str]) -> tuple[str, ...]:
    """Return the overrides of a job without those that grant trust, or are for Hydra itself."""
    return tuple(word for word in overrides if not is_trust_word(word) and _root_of(word) != HYDRA_KEY)


def _write_trust(packages: Sequence[str]) -> list[str]:
    return [f"{TRUST_KEY}=[{','.join(packages)}]"] if packages else []


def _show_jobs_of_others(jobs: Sequence[FailedJob]) -> None:
    """Print each job that another user, or another machine, wrote into the store: it runs with the rights of this one.

    Characters that a terminal would obey are printed as their codes.
    """
    here = name_author(find_user(), describe_machine()["host"])
    for job in jobs:
        if job.author == here:
            continue
        line = f"note: a job of {job.author} runs again: bakeoff {shlex.join(job.overrides)}"
        print(show_in_line(line), file=sys.stderr)


def _replace_store(overrides: Iterable[str], given: Mapping[str, str], uri: str) -> tuple[str, ...]:
    """Return the overrides of a job with the store in which it was found: the one that they name may have moved."""
    overrides = list(overrides)
    replacements = [f"{key}={override_text(given[key])}" for key in STORE_KEYS if key in given]
    names_store = any(_key_of(word) == URI_KEY for word in overrides)
    if names_store and URI_KEY not in given:
        replacements.append(f"{URI_KEY}={override_text(uri)}")
    return _replace_keys(overrides, replacements)


def _replace_keys(overrides: Iterable[str], replacements: Sequence[str]) -> tuple[str, ...]:
    keys = {_key_of(word) for word in replacements}
    kept = [word for word in overrides if _key_of(word) not in keys]
    return (*kept, *replacements)


def _root_of(word: str) -> str:
    return re.split(r"[=.@/]", word.lstrip("+~"))[0]


def _key_of(word: str) -> str:
    return word.split("=", 1)[0].lstrip("+")
