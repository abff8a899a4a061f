"""What a command line or a Python call asks for, one run or a sweep, and the functions that do it.

Numerical packages are imported only when the words of the request have been checked.
"""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from bakeoff.pipeline.config.flags import MULTIRUN_FLAGS, find_source, read_flags, show, shows_only, shows_tracebacks
from bakeoff.pipeline.config.options import note_other_folder
from bakeoff.pipeline.config.trust import add_trust_of_environment
from bakeoff.pipeline.config.words import SWEEP_WORD, check_overrides, read_duration
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import conceal_words, describe_error, format_traceback

if TYPE_CHECKING:
    from bakeoff.pipeline.config.compose_job import ComposedRun
    from bakeoff.pipeline.config.engine import ConfigSource
    from bakeoff.pipeline.sweep.command import SweepRequest
    from bakeoff.pipeline.sweep.engine import SweepReport
    from bakeoff.pipeline.sweep.job_runner import JobResult, PreparedJob
    from bakeoff.pipeline.sweep.jobs import Job
    from bakeoff.pipeline.sweep.run_screen import RunScreen
    from bakeoff.pipeline.tracking import Tracker

STUDY_PREFIX = "jobs="
"""The beginning of the word that names the file of a study."""
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


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


def read_experiments(words: Sequence[str]) -> Experiments | None:
    """Return the experiments described by a command line; if it only requests output, print it and return None."""
    arguments = read_flags(words)
    check_overrides(arguments.overrides)
    study = [word for word in arguments.overrides if word.startswith(STUDY_PREFIX)]
    if study and not arguments.multirun:
        raise UserError(f"{study[0]} names the jobs of a sweep; add -m.")
    arguments.overrides = add_trust_of_environment(arguments.overrides)
    source = find_source(arguments)
    if shows_only(arguments):
        show(arguments, source)
        return None
    if source.folder is None:
        note_other_folder()
    return Experiments(tuple(arguments.overrides), source, arguments.multirun)


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


def run_described_sweep(
    experiments: Experiments, jobs: Sequence[Sequence[str]] | None = None, quiet: bool = False
) -> SweepReport:
    """Run the sweep that a command line describes, and return its report; for the jobs see `run_sweep`."""
    from bakeoff.pipeline.sweep.command import SweepRequest

    # Jobs share the processors, rather than matrix products. NumPy reads these variables when it is loaded.
    set_single_threads()
    concealed = None if jobs is None else [conceal_words(job)[0] for job in jobs]
    words: Sequence[str] = experiments.overrides
    composed: Sequence[Job] = ()
    if any(word.startswith(STUDY_PREFIX) for word in words):
        from bakeoff.pipeline.sweep.study_file import read_study_words

        words, composed = read_study_words(words)
    return run_requested_sweep(SweepRequest(words, experiments.source, concealed, composed, shows_tracebacks(), quiet))


def find_status(report: SweepReport | None) -> int:
    """Return the exit code of a sweep."""
    from bakeoff.pipeline.sweep.jobs import exit_code

    return 0 if report is None else exit_code(report.outcomes, report.skips_invalid)


def set_single_threads() -> None:
    """Limit matrix products to one thread in processes that load NumPy later, unless the user has set a number."""
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")


def run_requested_sweep(request: SweepRequest) -> SweepReport:
    """Compose and run the jobs of a sweep or a study, and return a report.

    Parameters
    ----------
    request : SweepRequest

    Raises
    ------
    UserError
        The request is invalid. Invalid jobs do not raise; they are part of the report.
    StoreError
        The store was lost before a job ran.
    """
    check_overrides(request.words)
    from hydra.types import RunMode

    from bakeoff.pipeline.config.engine import make_context, make_named_part, open_engine
    from bakeoff.pipeline.config.words import split_sweep_words
    from bakeoff.pipeline.sweep.command import SweepCommand

    sweep_words, job_words = split_sweep_words(request.words)
    with open_engine(request.source) as engine:
        words = [*sweep_words, SWEEP_WORD]
        master = engine.compose_config(request.source.root, words, RunMode.MULTIRUN, with_log_configuration=True)
        # The words choose the sweeper for plain sweeps or for studies, which belongs to a higher layer.
        sweeper = make_named_part(master.hydra.sweeper)
        of_jobs = replace(request, words=tuple(job_words))
        report: SweepReport = sweeper.run(SweepCommand.read(of_jobs, sweeper.params, make_context(engine), master))
        return report


class RunFailed(Exception):
    """A started run, or a check that called user-defined code, failed; the cause is the original error.

    The message contains the type of the error; neither the message nor the traceback in `trace` contains secrets.
    """

    is_sentence = True

    def __init__(self, error: BaseException, configuration: str) -> None:
        super().__init__(describe_error(error, configuration))
        self.error = error
        self.trace = format_traceback(error, configuration)


@dataclass(frozen=True)
class RunRequest:
    """The request for one experiment.

    Attributes
    ----------
    words : tuple of str
        The overrides.
    source : ConfigSource
        The files from which the experiment is composed.
    quiet : bool
        Whether to print nothing.
    is_command : bool
        Whether it is a command rather than a Python call. A command has a folder for its configuration, and stores a
        result kept when its store was lost instead of running again.
    """

    words: tuple[str, ...]
    source: ConfigSource
    quiet: bool = False
    is_command: bool = False


def run_experiment(request: RunRequest) -> JobResult | str:
    """Compose, check and run one job and show its scores; if a kept result is stored instead, return its run id.

    Parameters
    ----------
    request : RunRequest

    Raises
    ------
    UserError
        The job was refused, and nothing was fitted.
    RunFailed
        Any other error.
    KeyboardInterrupt
        Ctrl-C or SIGTERM; the run has ended as KILLED.
    """
    from hydra.core.utils import env_override

    from bakeoff.pipeline.config.compose_job import compose_job, run_folder

    composed = compose_job(request.words, request.source)
    seconds = read_duration("timeout", composed.composed.get("timeout"))
    # Imported modules are not garbage, and a single collection that scans them takes a twentieth of a short run.
    gc.freeze()
    from bakeoff.pipeline.sweep.job_runner import execute_job, limit_time
    from bakeoff.pipeline.sweep.run_screen import RunScreen

    screen = RunScreen(request.quiet)
    folder = run_folder(composed) if request.is_command else nullcontext()
    try:
        with env_override(composed.own.hydra.job.env_set):
            prepared, tracker = _open_job(composed, request.is_command)
            with folder:
                kept = _store_kept_result(prepared, tracker, screen) if request.is_command else None
                if kept is not None:
                    return kept
                gc.freeze()
                screen.show_job(prepared, tracker.store)
                with limit_time(seconds), screen.make_bar() as bar:
                    result = execute_job(prepared, tracker, bar.show_work)
                screen.show_result(result, tracker.store)
                return result
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise RunFailed(error, json.dumps(composed.spec, default=str)) from error


def _open_job(composed: ComposedRun, is_command: bool) -> tuple[PreparedJob, Tracker]:
    """Check a job and open its store, so that a store that cannot be written is refused before any fit."""
    from bakeoff.pipeline.experiment.builder import PartCache
    from bakeoff.pipeline.identity.config_hash import require_current_code
    from bakeoff.pipeline.sweep.job_runner import prepare_job
    from bakeoff.pipeline.tracking.history import end_orphans
    from bakeoff.pipeline.tracking.run import get_tracker

    spec = composed.spec
    if not is_command:  # the modules of a command always match its files
        require_current_code(spec)
    resources = PartCache()
    prepared = prepare_job(spec, composed.invocation, resources)
    tracker = get_tracker(resources, spec)
    tracker.open_store()
    if tracker.store is not None and not tracker.store.is_new:
        end_orphans(tracker.store)
    return prepared, tracker


def _store_kept_result(prepared: PreparedJob, tracker: Tracker, screen: RunScreen) -> str | None:
    """Store the kept result of a run that finished when its store was lost; return the id of its run, if any."""
    if tracker.store is not None and tracker.store.is_new:
        return None
    run_id = tracker.store_kept_result(prepared.description.tags["config_hash"])
    if run_id is not None:
        screen.show_kept_run(prepared, run_id, tracker.store)
    return run_id
