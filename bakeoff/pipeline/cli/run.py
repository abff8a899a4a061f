"""Commands without a verb, which run an experiment or, with ``-m``, a sweep, and the verbs ``plan`` and ``rerun``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bakeoff.pipeline.cli.arguments import (
    MULTIRUN_FLAGS,
    VERBS,
    find_source,
    read_flags,
    show,
    shows_only,
    shows_tracebacks,
)
from bakeoff.pipeline.cli.help import show_help
from bakeoff.pipeline.config.requests import read_request
from bakeoff.pipeline.config.trust import TRUST_KEY, add_trust_of_environment, is_trust_word, read_trust_of_words
from bakeoff.pipeline.config.words import check_overrides
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text import secrets, wording

if TYPE_CHECKING:
    from bakeoff.pipeline.config.engine import ConfigSource
    from bakeoff.pipeline.sweep.engine import SweepReport
    from bakeoff.pipeline.sweep.jobs import Job

OPTION_PREFIXES = ("-", "~", "+")
"""First characters of flags and of overrides that delete or add a key."""
STUDY_PREFIX = "jobs="
"""The beginning of the word that names the file of a study."""
FAILED_FLAG = "--failed"
RERUN_KEYS = ("sweep", "tracking.uri", "tracking.experiment")
"""Keys that select the jobs to run again; all others are keys of the new sweep."""
FIRST_REPEAT_WORDS = ("evaluation.repeats=1", "evaluation.first_repeat=0")
SEAL_KEYS = ("seal", "metrics", "base", "alpha", "rope", "until", "repeats")
"""With ``seal=``, keys of the comparison; all others are keys of the sweep."""


class Experiments(NamedTuple):
    """The experiments that a command line describes.

    Attributes
    ----------
    overrides : tuple of str
    source : ConfigSource
    is_sweep : bool
    """

    overrides: tuple[str, ...]
    source: ConfigSource
    is_sweep: bool


def run_experiments(words: Sequence[str]) -> int:
    """Run the experiment or the sweep described by a command line, and return the exit code.

    Raises
    ------
    UserError
        The command line is invalid, or none of its jobs can run.
    """
    experiments = _read_experiments(words)
    if experiments is None:
        return 0
    if experiments.is_sweep:
        return find_status(_run_sweep(experiments))
    from bakeoff.pipeline.sweep.request import RunFailed, RunRequest, run_experiment

    try:
        run_experiment(RunRequest(experiments.overrides, experiments.source, is_command=True))
    except RunFailed as failure:
        if shows_tracebacks():
            print(failure.trace, file=sys.stderr)
        wording.print_note(f"failed: {failure}")
        return 1
    return 0


def run_sweep(
    words: Sequence[str], jobs: Sequence[Sequence[str]] | None = None, quiet: bool = False
) -> SweepReport | None:
    """Run the sweep described by a command line, and return its report; return None if only help is requested.

    Parameters
    ----------
    words : sequence of str
        Flags and overrides, with or without ``-m``.
    jobs : sequence of sequence of str, optional
        The overrides of each job; by default they are made from `words`.
    quiet : bool
        Whether to print nothing.
    """
    others = [word for word in words if word not in MULTIRUN_FLAGS]
    experiments = _read_experiments([MULTIRUN_FLAGS[0], *others])
    return None if experiments is None else _run_sweep(experiments, jobs, quiet)


def find_status(report: SweepReport | None) -> int:
    """Return the exit code of a sweep."""
    from bakeoff.pipeline.sweep.jobs import exit_code

    return 0 if report is None else exit_code(report.outcomes, report.skips_invalid)


def plan_sweep(words: Sequence[str]) -> int:
    """Show the jobs of a sweep, their problems and their expected duration, without running them.

    With seal=NAME, the question is sealed: metrics=, base=, alpha=, rope= and the jobs are stored with a digest.

    Raises
    ------
    UserError
        The command line is invalid, or the jobs cannot be sealed.
    """
    if not any(word.startswith("seal=") for word in words):
        return find_status(run_sweep([*words, "dry_run=true"]))
    from bakeoff.pipeline.comparison.request import CompareRequest

    own = [word for word in words if word.partition("=")[0] in SEAL_KEYS]
    request = read_request("plan", CompareRequest, own)
    # With until=sure, the jobs are those of the first repeat.
    first = FIRST_REPEAT_WORDS if request.is_until_sure else ()
    report = run_sweep([*(word for word in words if word not in own), *first, "dry_run=true"])
    if report is None or report.is_refused:
        return find_status(report)
    from bakeoff.pipeline.comparison.seal import seal_jobs

    digest = seal_jobs(request, report.plan.jobs)
    print(f"sealed as {request.seal} with SHA-256 {digest}; publish the digest where its date can be checked")
    return 0


def rerun_failed_jobs(words: Sequence[str]) -> int:
    """Run the jobs of earlier sweeps that failed and have never finished, as listed in the store, as a new sweep.

    Anyone who can write to the store can add a job to it. Trust settings of a job and its words for Hydra are therefore
    dropped: only packages named by this command are trusted. Jobs stored by other users are shown.

    Raises
    ------
    UserError
        ``--failed`` is missing, or there is no store.
    """
    from bakeoff.pipeline.sweep.done_jobs import RerunRequest, find_failed_jobs

    if FAILED_FLAG not in words:
        raise UserError(
            "rerun: specify which jobs to run again; usage: bakeoff rerun --failed [sweep=NAME] [KEY=VALUE ...]"
        )
    own = [word for word in words if "=" in word and word.partition("=")[0].lstrip("+") in RERUN_KEYS]
    failed, notes = find_failed_jobs(read_request("rerun", RerunRequest, [word.lstrip("+") for word in own]))
    if not failed:
        print("no failed job remains to be run again")
        return 0
    for note in notes:
        print(wording.show_in_line(f"note: {note}"), file=sys.stderr)
    packages = read_trust_of_words(words)
    trust = [f"{TRUST_KEY}=[{','.join(packages)}]"] if packages else []
    others = [word for word in words if word != FAILED_FLAG and word not in own and not is_trust_word(word)]
    return find_status(run_sweep([*others, *trust], [(*trust, *job) for job in failed]))


def _read_experiments(words: Sequence[str]) -> Experiments | None:
    """Return the experiments described by a command line; if it only requests output, print it and return None."""
    _require_option(words)
    arguments = read_flags(words)
    if arguments.help:
        show_help([])
        return None
    check_overrides(arguments.overrides)
    study = [word for word in arguments.overrides if word.startswith(STUDY_PREFIX)]
    if study and not arguments.multirun:
        raise UserError(f"{study[0]} names the jobs of a sweep; add -m.")
    arguments.overrides = overrides = add_trust_of_environment(arguments.overrides)
    source = find_source(arguments)
    if shows_only(arguments):
        show(arguments, source)
        return None
    return Experiments(tuple(overrides), source, arguments.multirun)


def _run_sweep(
    experiments: Experiments, jobs: Sequence[Sequence[str]] | None = None, quiet: bool = False
) -> SweepReport:
    from bakeoff.pipeline.sweep.request import SweepRequest, run_requested_sweep, set_single_threads

    # Jobs share the processors, rather than matrix products. NumPy reads these variables when it is loaded.
    set_single_threads()
    jobs = None if jobs is None else tuple(tuple(secrets.conceal_words(job)[0]) for job in jobs)
    overrides, source, _ = experiments
    composed: list[Job] = []
    if any(word.startswith(STUDY_PREFIX) for word in overrides):
        from bakeoff.pipeline.paper.study import read_study_words

        words, composed = read_study_words(overrides)
        overrides = tuple(words)
    request = SweepRequest(overrides, source, jobs, composed, tracebacks=shows_tracebacks(), quiet=quiet)
    return run_requested_sweep(request)


def _require_option(words: Sequence[str]) -> None:
    """Reject a first word that is neither a flag nor an override, because it is probably a misspelled verb."""
    first = words[0] if words else ""
    if first and "=" not in first and not first.startswith(OPTION_PREFIXES):
        raise UserError(f"{first!r} is neither a verb nor KEY=VALUE. {did_you_mean(first, VERBS)}")
