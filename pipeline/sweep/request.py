"""A sweep as it is asked for, by the command or by Python, and what runs it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bakeoff.pipeline.config.words import SWEEP_WORD, check_overrides
from bakeoff.pipeline.errors import StoreError

if TYPE_CHECKING:
    from bakeoff.pipeline.config.engine import ConfigSource
    from bakeoff.pipeline.sweep.report import SweepReport

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class SweepRequest:
    """Many experiments.

    Attributes
    ----------
    words : tuple of str
        Overrides; those of jobs may have several values.
    source : ConfigSource
        The files that they are composed from.
    jobs : sequence of sequence of str or None
        The overrides of each job, if they are already known; None if they are to be made from `words`.
    tracebacks : bool
        Whether to print the traceback of a job that fails.
    quiet : bool
        Whether to print nothing: the caller reads the report.
    """

    words: tuple[str, ...]
    source: ConfigSource
    jobs: Sequence[Sequence[str]] | None = None
    tracebacks: bool = False
    quiet: bool = False


def set_single_threads() -> None:
    """Let matrix products use one thread, in processes that load NumPy from now on, unless the user decided it."""
    for variable in THREAD_VARIABLES:
        os.environ.setdefault(variable, "1")


def run_requested_sweep(request: SweepRequest) -> SweepReport:
    """Compose the jobs of a sweep or a study, run them, and return what was done.

    Parameters
    ----------
    request : SweepRequest

    Raises
    ------
    UserError
        The request is invalid. An invalid job is not an error here: the report has it.
    StoreError
        The store was lost before a job ran.
    """
    check_overrides(request.words)
    from hydra.types import RunMode
    from hydra.utils import instantiate

    from bakeoff.pipeline.config.engine import make_context, open_engine
    from bakeoff.pipeline.config.invocation import split_sweep_words
    from bakeoff.pipeline.config.messages import explain_error
    from bakeoff.pipeline.config.schema import register_schema

    sweep_words, job_words = split_sweep_words(request.words)
    register_schema()
    try:
        with open_engine(request.source) as engine:
            words = [*sweep_words, SWEEP_WORD]
            master = engine.compose_config(request.source.root, words, RunMode.MULTIRUN, with_log_configuration=True)
            # The words choose that of plain sweeps, or that of studies, which is in a room above.
            sweeper: Any = instantiate(master.hydra.sweeper)
            of_jobs = replace(request, words=tuple(job_words))
            report: SweepReport = sweeper.run(of_jobs, make_context(engine), master)
            return report
    except StoreError:
        raise
    except Exception as error:
        raise explain_error(error, sweep_words) from None
