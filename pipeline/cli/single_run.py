"""A single run: one job, with its scores on the screen."""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from bakeoff.pipeline.cli.screen import Screen
from bakeoff.pipeline.config.invocation import Invocation
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.job import JobResult, PreparedJob, execute_job, prepare_job
from bakeoff.pipeline.part_cache import PartCache
from bakeoff.pipeline.secret_values import describe_error, format_traceback
from bakeoff.pipeline.sweep.jobs import FAILED, FINISHED, REFUSED, JobOutcome


def run_single_job(spec: Mapping[str, Any], invocation: Invocation, tracebacks: bool = False) -> JobOutcome:
    """Run one job, show its scores and return its outcome, which names any error that it raised.

    Parameters
    ----------
    spec : mapping
        The settled configuration.
    invocation : Invocation
    tracebacks : bool
        Whether to print the traceback of a learner that fails.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C or SIGTERM; the run has ended as KILLED.
    """
    name = " ".join(invocation.overrides) or "default"
    # Imported modules are not garbage: one collection that scans them takes a twentieth of a short run.
    gc.freeze()
    try:
        _, result = run_shown_job(spec, invocation, Screen(), when_ready=gc.freeze)
    except UserError as error:
        return JobOutcome(invocation.number, name, REFUSED, str(error))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        configuration = json.dumps(spec, default=str)
        if tracebacks:
            print(format_traceback(error, configuration), file=sys.stderr)
        return JobOutcome(invocation.number, name, FAILED, describe_error(error, configuration))
    return JobOutcome(invocation.number, name, FINISHED, score=result.score, run_id=result.run_id)


def run_shown_job(
    spec: Mapping[str, Any], invocation: Invocation, screen: Screen, when_ready: Callable[[], object] = lambda: None
) -> tuple[PreparedJob, JobResult]:
    """Run one job and show its scores; return what was prepared, and the result.

    Parameters
    ----------
    spec : mapping
        The settled configuration.
    invocation : Invocation
    screen : Screen
    when_ready : callable
        Called before the first fit, when all modules are imported.

    Raises
    ------
    UserError
        The job was refused, and nothing was fitted.
    Exception
        Any error of a learner; the run is FAILED.
    """
    resources = PartCache()
    prepared = prepare_job(spec, invocation, resources)
    # A store that cannot be written must be refused before anything is fitted.
    tracker = resources.get_tracker(prepared.spec)
    tracker.open_store()
    when_ready()
    screen.show_experiment(prepared.description.name, prepared.experiment)
    screen.show_audit(prepared.audit_verdict)
    result = execute_job(prepared, tracker, screen.track_folds)
    screen.show_scores(result.experiment, result.folds, result.model)
    screen.show_figures(prepared.figure_choice, is_kept=result.run_id is not None)
    screen.show_looks(prepared.description, tracker.store)
    screen.show_run(result.run_id, tracker.store, prepared.spec["tracking"])
    return prepared, result
