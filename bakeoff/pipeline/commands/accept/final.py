"""The end of a line: its champion against its first base, each fitted on all other rows, on the reserved rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import stats

from bakeoff.pipeline.commands.accept.evidence import AUDIT_FILE, check_run, shows_reserve
from bakeoff.pipeline.commands.accept.line import Contender, Final, Line
from bakeoff.pipeline.commands.accept.request import AcceptRequest
from bakeoff.pipeline.commands.repetition.refit import score_reserve
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.scoring.metrics import Metric, compute_score
from bakeoff.pipeline.stages.scoring.predictions import ROW_FIELDS, Predictions
from bakeoff.pipeline.tracking.artifacts import read_artifact
from bakeoff.pipeline.tracking.history import find_finished_runs, find_runs_of_jobs
from bakeoff.pipeline.tracking.store import Store

N_RESAMPLES = 2000


def score_final(request: AcceptRequest, store: Store, line: Line, others: Sequence[Line]) -> Line:
    """Return a line with the scores of its champion and its base on the reserved rows, which are computed once.

    Parameters
    ----------
    request : AcceptRequest
    store : Store
    line : Line
    others : sequence of Line
        The other lines, which may have scored the same reserved rows.

    Raises
    ------
    UserError
        The line has no reserve or no kept run, its reserve was scored before, or a run cannot be fitted again.
    """
    if line.final is not None:
        return line
    if not line.rules.reserve:
        raise UserError(
            f"line {line.name} has no reserved rows; open a new line whose base is run with evaluation.reserve=0.2."
        )
    if not line.kept:
        raise UserError(
            f"line {line.name} has kept nothing, so its champion is its base, and the reserve stays unused."
        )
    for other in others:
        if other.final is not None and (other.rules.data, other.rules.reserve) == (line.rules.data, line.rules.reserve):
            raise UserError(
                f"the reserved rows of line {line.name} were scored by line {other.name}, so they are no longer "
                "unseen; open a new line on new data."
            )
    metric, of_base = _predict(request, store, line, line.base)
    _, of_champion = _predict(request, store, line, line.champion)
    return replace(line, final=_compare(line, metric, of_base, of_champion, _find_unproved(store, line)))


def _predict(request: AcceptRequest, store: Store, line: Line, contender: Contender) -> tuple[Metric, Predictions]:
    """Return the predictions of a configuration for the reserved rows, after the record of its run has been checked."""
    # The run may have been removed, and run again.
    run_id = find_finished_runs(store, [contender.config_hash]).get(contender.config_hash, contender.run_id)
    evidence = check_run(request, run_id, line.rules.metric)
    return evidence.run.experiment.metrics[line.rules.metric], score_reserve(evidence.run).predictions


def _compare(
    line: Line, metric: Metric, of_base: Predictions, of_champion: Predictions, unproved: tuple[str, ...]
) -> Final:
    """Return the gain with an interval and a test by resampling the rows, which both models share."""
    sign = 1 if line.rules.greater_is_better else -1

    def gain(rows: np.ndarray) -> float:
        return sign * (_score(metric, of_champion, rows) - _score(metric, of_base, rows))

    rows = np.arange(len(of_base.truth))
    # The seed is fixed, so that the answer does not depend on when it is asked for.
    resampled = stats.bootstrap(
        (rows,),
        gain,
        n_resamples=N_RESAMPLES,
        vectorized=False,
        method="percentile",
        confidence_level=1 - line.alpha,
        rng=np.random.default_rng(0),
    )
    # A resample whose score is not defined is no evidence of a gain.
    n_without = np.count_nonzero(~(resampled.bootstrap_distribution > line.margin))
    p = (1 + n_without) / (1 + N_RESAMPLES)
    return Final(
        n_rows=len(rows),
        base=_score(metric, of_base, rows),
        champion=_score(metric, of_champion, rows),
        difference=gain(rows),
        lower=float(resampled.confidence_interval.low),
        upper=float(resampled.confidence_interval.high),
        p=float(p),
        is_better=bool(p < line.alpha),
        unproved=unproved,
    )


def _score(metric: Metric, predictions: Predictions, rows: np.ndarray) -> float:
    values = {name: getattr(predictions, name) for name in ROW_FIELDS}
    chosen = {name: each[rows] for name, each in values.items() if each is not None}
    return compute_score(metric, replace(predictions, **chosen))


def _find_unproved(store: Store, line: Line) -> tuple[str, ...]:
    """Return the tries whose record of the rows does not show that they left the reserved rows alone."""
    hashes = [*line.earlier, *line.counted]
    runs = find_runs_of_jobs(store, hashes, ["config_hash"], [])
    audits = {job: read_artifact(store, f"{run.address}/{AUDIT_FILE}") for job, run in runs.items()}
    return tuple(job for job in hashes if not shows_reserve(audits.get(job, ""), line.rules.reserve))
