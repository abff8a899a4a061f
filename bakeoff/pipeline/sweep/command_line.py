"""The experiments that a command line describes: its flags, its overrides, and the sweep that they ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bakeoff.pipeline.config.flags import MULTIRUN_FLAGS, find_source, read_flags, show, shows_only, shows_tracebacks
from bakeoff.pipeline.config.trust import add_trust_of_environment
from bakeoff.pipeline.config.words import check_overrides
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text import secrets

if TYPE_CHECKING:
    from bakeoff.pipeline.config.engine import ConfigSource
    from bakeoff.pipeline.sweep.engine import SweepReport
    from bakeoff.pipeline.sweep.jobs import Job


STUDY_PREFIX = "jobs="
"""The beginning of the word that names the file of a study."""


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
    experiments = read_experiments([MULTIRUN_FLAGS[0], *others])
    return None if experiments is None else run_described_sweep(experiments, jobs, quiet)


def find_status(report: SweepReport | None) -> int:
    """Return the exit code of a sweep."""
    from bakeoff.pipeline.sweep.jobs import exit_code

    return 0 if report is None else exit_code(report.outcomes, report.skips_invalid)


def read_experiments(words: Sequence[str]) -> Experiments | None:
    """Return the experiments described by a command line; if it only requests output, print it and return None."""
    arguments = read_flags(words)
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


def run_described_sweep(
    experiments: Experiments, jobs: Sequence[Sequence[str]] | None = None, quiet: bool = False
) -> SweepReport:
    """Run the sweep that a command line describes, and return its report; for the jobs see `run_sweep`."""
    from bakeoff.pipeline.sweep.request import SweepRequest, run_requested_sweep, set_single_threads

    # Jobs share the processors, rather than matrix products. NumPy reads these variables when it is loaded.
    set_single_threads()
    jobs = None if jobs is None else tuple(tuple(secrets.conceal_words(job)[0]) for job in jobs)
    overrides, source, _ = experiments
    composed: list[Job] = []
    if any(word.startswith(STUDY_PREFIX) for word in overrides):
        from bakeoff.pipeline.sweep.study_file import read_study_words

        words, composed = read_study_words(overrides)
        overrides = tuple(words)
    request = SweepRequest(overrides, source, jobs, composed, tracebacks=shows_tracebacks(), quiet=quiet)
    return run_requested_sweep(request)
