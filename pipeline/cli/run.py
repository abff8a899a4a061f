"""A single run: one job with its scores on the screen."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Mapping
from typing import Any

from bakeoff.pipeline.cli.screen import Screen
from bakeoff.pipeline.config.invocation import Invocation
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.job import PartCache, execute_job, prepare_job
from bakeoff.pipeline.sweep.jobs import FAILED, FINISHED, REFUSED, JobOutcome


def run_alone(spec: Mapping[str, Any], invocation: Invocation, tracebacks: bool = False) -> JobOutcome:
    """Run one job, show its scores, and turn whatever it raises into its outcome.

    Raises
    ------
    KeyboardInterrupt
        Ctrl-C or SIGTERM; the run ended KILLED.
    """
    name, screen, resources = " ".join(invocation.overrides) or "default", Screen(), PartCache()
    gc.freeze()  # what was imported is no garbage: looking through it once is a twentieth of a short run
    try:
        prepared = prepare_job(spec, invocation, resources)
        tracker = resources.tracker(prepared.spec)
        tracker.open()
        gc.freeze()  # MLflow's part
        screen.experiment(prepared.description.name, prepared.experiment)
        result = execute_job(prepared, tracker, screen.watch)
    except UserError as refusal:
        return JobOutcome(invocation.number, name, REFUSED, str(refusal))
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if tracebacks:
            traceback.print_exc()
        return JobOutcome(invocation.number, name, FAILED, f"{type(error).__name__}: {error}")
    screen.scores(result.experiment, result.folds, result.model)
    screen.kept(result.run_id, tracker.store)
    return JobOutcome(invocation.number, name, FINISHED, score=result.score, run_id=result.run_id)
