"""A single run: one job, with its scores on the screen."""

from __future__ import annotations

import gc
import json
import math
import sys
from collections.abc import Mapping
from typing import Any

from bakeoff.pipeline.cli.screen import Screen
from bakeoff.pipeline.config.invocation import Invocation
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment.part_cache import PartCache
from bakeoff.pipeline.job import JobResult, PreparedJob, execute_job, prepare_job
from bakeoff.pipeline.sweep.jobs import FAILED, FINISHED, REFUSED, JobOutcome
from bakeoff.pipeline.text.secrets import describe_error, format_traceback
from bakeoff.pipeline.tracking import Tracker
from bakeoff.pipeline.tracking.history import end_orphans, read_metrics
from bakeoff.pipeline.tracking.trackers import get_tracker


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
        screen = Screen()
        prepared, tracker = open_shown_job(spec, invocation)
        kept_run = tracker.store_kept_result(prepared.description.tags["config_hash"])
        if kept_run is not None and tracker.store is not None:
            scores = read_metrics(tracker.store, kept_run)
            screen.show_kept_run(prepared, scores)
            screen.show_run(kept_run, tracker.store, prepared.spec["tracking"])
            score = scores.get(f"test_{prepared.experiment.headline}", math.nan)
            return JobOutcome(invocation.number, name, FINISHED, score=score, run_id=kept_run)
        gc.freeze()
        result = run_shown_job(prepared, tracker, screen)
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


def open_shown_job(spec: Mapping[str, Any], invocation: Invocation) -> tuple[PreparedJob, Tracker]:
    """Check one job and open its store; return what was prepared, and the tracker.

    Parameters
    ----------
    spec : mapping
        The settled configuration.
    invocation : Invocation

    Raises
    ------
    UserError
        The job was refused, and nothing was fitted.
    StoreError
        The store was lost while it was read.
    """
    resources = PartCache()
    prepared = prepare_job(spec, invocation, resources)
    # A store that cannot be written must be refused before anything is fitted.
    tracker = get_tracker(resources, prepared.spec)
    tracker.open_store()
    if tracker.store is not None:
        end_orphans(tracker.store)
    return prepared, tracker


def run_shown_job(prepared: PreparedJob, tracker: Tracker, screen: Screen) -> JobResult:
    """Run one job and show its scores.

    Parameters
    ----------
    prepared : PreparedJob
    tracker : Tracker
        Its store is open.
    screen : Screen

    Raises
    ------
    Exception
        Any error of a learner; the run is FAILED.
    """
    screen.show_experiment(prepared.description.name, prepared.experiment)
    screen.show_audit(prepared.audit_verdict)
    result = execute_job(prepared, tracker, screen.track_folds)
    screen.show_scores(result.experiment, result.folds, result.model)
    screen.show_figures(prepared.figure_choice, is_kept=result.run_id is not None)
    screen.show_looks(prepared.description, tracker.store)
    screen.show_run(result.run_id, tracker.store, prepared.spec["tracking"])
    return result
