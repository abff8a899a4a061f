"""``bakeoff [KEY=VALUE ...]``: run one experiment, or with ``-m`` a sweep."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from bakeoff.pipeline.cli.flags import find_source, read_flags, split_flags
from bakeoff.pipeline.cli.shown_configuration import show, shows_only
from bakeoff.pipeline.cli.verbs import VERBS
from bakeoff.pipeline.config.trust import add_trust_of_environment, read_trust_of_words
from bakeoff.pipeline.config.words import RUN_WORD, SWEEP_WORD, check_overrides, require_readable_folder
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.text.secrets import conceal_words
from bakeoff.pipeline.text.terminal import show_controls

if TYPE_CHECKING:
    from bakeoff.pipeline.config.engine import ConfigSource
    from bakeoff.pipeline.sweep.engine import SweepReport

RUN_VERB = "run"
"""A verb that other programs have."""
OPTION_PREFIXES = ("-", "~", "+")
"""First characters of flags and of overrides that delete or add a key."""
TRACEBACK_VARIABLE = "HYDRA_FULL_ERROR"
"""Of the environment; 1 shows the tracebacks of errors that no message explains."""


def run_experiments(
    words: Sequence[str],
    jobs: Sequence[Sequence[str]] | None = None,
    on_report: Callable[[SweepReport], object] | None = None,
) -> int:
    """Run the experiment or the sweep that a command line describes, and return the exit code.

    Parameters
    ----------
    words : sequence of str
        Flags and overrides.
    jobs : sequence of sequence of str, optional
        The overrides of each job of a sweep; by default they are made from `words`.
    on_report : callable, optional
        Called with what a sweep has done.

    Raises
    ------
    UserError
        The command line is invalid, or none of its jobs can run.
    """
    _require_option(words)
    require_readable_folder(Path.cwd())
    overrides, flags = split_flags(words)
    check_overrides(overrides)
    overrides = add_trust_of_environment(overrides)
    arguments = read_flags(flags, overrides)
    is_sweep = _read_mode(overrides, arguments.multirun)
    overrides = [word for word in overrides if word.lstrip("+") != SWEEP_WORD]
    source = find_source(arguments, read_trust_of_words(overrides))
    from bakeoff.pipeline.config.words import note_repeated_keys

    for sentence in note_repeated_keys(overrides):
        print(f"note: {sentence}", file=sys.stderr)
    if shows_only(arguments):
        show(arguments, source)
        return 0
    if is_sweep:
        return _run_sweep(overrides, source, jobs, on_report)
    from bakeoff.pipeline.sweep.request import RunFailed, RunRequest, run_experiment

    try:
        run_experiment(RunRequest(tuple(overrides), source, is_command=True))
    except RunFailed as failure:
        if _shows_tracebacks():
            print(failure.trace, file=sys.stderr)
        print(f"failed: {show_controls(str(failure))}", file=sys.stderr)
        return 1
    return 0


def _run_sweep(
    overrides: Sequence[str],
    source: ConfigSource,
    jobs: Sequence[Sequence[str]] | None,
    on_report: Callable[[SweepReport], object] | None,
) -> int:
    from bakeoff.pipeline.sweep.jobs import exit_code
    from bakeoff.pipeline.sweep.request import SweepRequest, run_requested_sweep, set_single_threads

    # Jobs, not matrix products, share the processors. NumPy reads the variables when it is loaded.
    set_single_threads()
    jobs = None if jobs is None else tuple(tuple(conceal_words(job)[0]) for job in jobs)
    report = run_requested_sweep(SweepRequest(tuple(overrides), source, jobs, tracebacks=_shows_tracebacks()))
    if on_report is not None:
        on_report(report)
    return exit_code(report.outcomes, report.skips_invalid)


def _shows_tracebacks() -> bool:
    return os.environ.get(TRACEBACK_VARIABLE) == "1"


def _read_mode(overrides: Sequence[str], has_flag: bool) -> bool:
    """Return whether the words request a sweep; reject those that request a single run as well."""
    modes = {word.lstrip("+") for word in overrides}
    is_sweep = has_flag or SWEEP_WORD in modes
    if is_sweep and RUN_WORD in modes:
        raise UserError(f"{RUN_WORD} asks for a single run, and -m for a sweep; give one of the two.")
    return is_sweep


def _require_option(words: Sequence[str]) -> None:
    """Reject a first word that is neither a flag nor an override: it is probably a misspelled verb."""
    first = words[0] if words else ""
    if first and "=" not in first and not first.startswith(OPTION_PREFIXES):
        if get_close_matches(first, [*VERBS, RUN_VERB], n=1) == [RUN_VERB]:
            raise UserError(
                f"{first!r} is neither a verb nor KEY=VALUE. An experiment has no verb: bakeoff KEY=VALUE ... runs it."
            )
        raise UserError(f"{first!r} is neither a verb nor KEY=VALUE. {did_you_mean(first, VERBS)}")
