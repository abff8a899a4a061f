"""The sweeper that Hydra's configuration names: it plans all jobs of a sweep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.config.targets import name_key, walk
from bakeoff.pipeline.config.words import reject_unread_space
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.command import (
    SPACE_METHODS,
    SweepCommand,
    expand_overrides,
    list_varying_keys,
    require_few_jobs,
)
from bakeoff.pipeline.sweep.compose import override_text
from bakeoff.pipeline.sweep.jobs import Job
from bakeoff.pipeline.text import wording

if TYPE_CHECKING:
    from bakeoff.pipeline.sweep.engine import SweepReport


class PlanningSweeper:
    """Final: checks all jobs of a sweep before the first one runs, and runs each once.

    Parameters
    ----------
    params : mapping of str to str, or sequence of such mappings, optional
        Further overrides; those of the command line take precedence. The jobs of several mappings are united.
    """

    def __init__(self, params: Any = None) -> None:
        self.params = params

    def run(self, command: SweepCommand) -> SweepReport:
        """Compose all jobs of a sweep, run them with the engine, and return its report.

        Parameters
        ----------
        command : SweepCommand

        Raises
        ------
        UserError
            An option of the sweep is invalid. Invalid jobs do not raise; the plan reports them.
        """
        announce = wording.make_console(stderr=True, quiet=command.request.quiet).print
        composed = list(command.request.composed) or _compose_jobs(command, announce)
        jobs, remarks = _leave_out_excluded(composed, command.options.exclude)
        if len(jobs) < len(composed):
            n_excluded = len(composed) - len(jobs)
            announce(f"exclude leaves out {n_excluded} of {wording.count_nouns(len(composed), 'combination')}")
        require_few_jobs(len(composed), "the command", command.options.max_jobs)
        if command.options.method not in SPACE_METHODS:
            reject_unread_space(command.request.words, [job.spec for job in jobs if job.spec])
        # Invalid words are refused before the numerical packages are imported.
        from bakeoff.pipeline.sweep.engine import SweepEngine

        return SweepEngine(command, remarks).run(jobs)


def _compose_jobs(command: SweepCommand, announce: Any) -> list[Job]:
    """Compose jobs from their overrides, by default those that the words of a command describe."""
    from bakeoff.pipeline.sweep.run_screen import announce_long

    expanded = expand_overrides(command) if command.request.jobs is None else command.request.jobs
    jobs = list(dict.fromkeys(map(tuple, expanded)))
    if len(jobs) < len(expanded):
        n_repeated = len(expanded) - len(jobs)
        announce(f"{n_repeated} of {wording.count_nouns(len(expanded), 'combination')} repeat others, which run once")
    varying = list_varying_keys(jobs)
    watched = announce_long(jobs, "composing", announce)
    return [command.composer.compose_job(number, words, varying) for number, words in enumerate(watched)]


def _leave_out_excluded(jobs: list[Job], excluded: Sequence[Mapping[str, Any]]) -> tuple[list[Job], tuple[str, ...]]:
    """Return the jobs that no entry of ``exclude`` describes, and remarks on entries without effect.

    Parameters
    ----------
    jobs : list of Job
    excluded : sequence of mapping
        Each describes the jobs that have all its values.

    Raises
    ------
    UserError
        No job is left.
    """
    if not excluded:
        return jobs, ()
    matches = [_match_entries(job, excluded) for job in jobs]
    kept = [job for job, found in zip(jobs, matches, strict=True) if not any(found)]
    if not kept:
        raise UserError(f"exclude={override_text(list(excluded))} leaves out every combination; name fewer of them.")
    remarks = tuple(
        f"exclude: no combination is {override_text(dict(values))}; check its keys and values."
        for values, *found in zip(excluded, *matches, strict=True)
        if not any(found)
    )
    numbered = [
        replace(job, number=number, invocation=replace(job.invocation, number=number))
        for number, job in enumerate(kept)
    ]
    return numbered, remarks


def _match_entries(job: Job, entries: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Return for each entry whether the job has all its values, by the keys of the command line."""
    words = dict(word.lstrip("+~").partition("=")[::2] for word in job.invocation.overrides)
    settled = {name_key(path): value for path, value in walk(job.spec)}
    known = {**words, **settled, **job.invocation.choices}
    return [all(key in known and _is_same(known[key], value) for key, value in entry.items()) for entry in entries]


def _is_same(found: Any, value: Any) -> bool:
    """Return whether a value of a job is the given one; those of a job that could not be composed are texts."""
    return bool(found == value) or str(found).casefold() == str(value).casefold()
