"""Measure two estimators alternately: CPU time of fit and predict, quality, and peak memory.

Every measurement runs in a separate process, which is ended if it takes too long.
"""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

MOST_RUNS = 15
"""The maximum number of repetitions, however fast they are."""


@dataclass(frozen=True)
class Task:
    """Rows to learn from and rows to predict.

    Attributes
    ----------
    name : str
    family : {"bundled", "made", "nominal"}
    c : int
        The number of classes; 0 in regression.
    X, y : table of shape (n, d) and array of shape (n,)
    Q, truth : table of shape (m, d) and array of shape (m,)
    """

    name: str
    family: str
    c: int
    X: Any
    y: Any
    Q: Any
    truth: Any


@dataclass(frozen=True)
class Side:
    """The measurements of one of the two estimators.

    Attributes
    ----------
    fit, predict : float
        Median CPU seconds.
    quality : float
        Accuracy or R² on the rows to predict.
    objective : float
        The value that the learner minimizes on the training rows; NaN if it is not defined.
    megabytes : float
        Peak memory of one fit and one predict, in addition to the data.
    """

    fit: float
    predict: float
    quality: float
    objective: float
    megabytes: float


def side_by_side(
    ours: Any, theirs: Any, task: Task, seconds: float, objective: Callable[[Any, Any, Any], float] | None
) -> tuple[Side, Side] | str:
    """Measure both estimators alternately, in one separate process.

    Parameters
    ----------
    ours, theirs : estimator
    task : Task
    seconds : float
        After this time no further repetition starts. An estimator that needs four times as long for one fit and one
        predict is ended.
    objective : callable or None
        (fitted, X, y) -> number.

    Returns
    -------
    (Side, Side) or str
        A string gives the reason why there is no measurement.
    """
    limit = 4 * seconds
    peaks = []
    for whose, model in (("ours", ours), ("scikit-learn", theirs)):
        peak = _in_child(partial(_peak, model, task), limit)
        if isinstance(peak, str):
            return f"{whose}: {peak}"
        peaks.append(peak)
    return _in_child(lambda: _measure((ours, theirs), task, seconds, objective, peaks), seconds + 2 * limit)


def alone(model: Any, task: Task, seconds: float, limit: float) -> Side | str:
    """Measure the times and the quality of one estimator in a separate process, which is ended after a limit."""
    sides = _in_child(lambda: _measure((model,), task, seconds, None, [float("nan")]), limit)
    return sides if isinstance(sides, str) else sides[0]


def _measure(
    models: tuple[Any, ...], task: Task, seconds: float, objective: Any, peaks: list[float]
) -> tuple[Side, ...]:
    from sklearn.base import clone

    warnings.simplefilter("ignore")
    fits: list[list[float]] = [[] for _ in models]
    predictions: list[list[float]] = [[] for _ in models]
    fitted: list[Any] = [None for _ in models]
    started = time.perf_counter()
    while len(fits[0]) < 1 or (len(fits[0]) < MOST_RUNS and time.perf_counter() - started < seconds):
        for side, model in enumerate(models):
            fresh = clone(model)
            fits[side].append(_seconds(partial(fresh.fit, task.X, task.y)))
            predictions[side].append(_seconds(partial(fresh.predict, task.Q)))
            fitted[side] = fresh
    return tuple(
        Side(
            statistics.median(fits[side]),
            statistics.median(predictions[side]),
            float(fitted[side].score(task.Q, task.truth)),
            float("nan") if objective is None else objective(fitted[side], task.X, task.y),
            peaks[side],
        )
        for side in range(len(models))
    )


def _seconds(work: Callable[[], Any]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _peak(model: Any, task: Task) -> float:
    """Return the megabytes by which this process, which was forked for the measurement, grows."""
    warnings.simplefilter("ignore")
    before = _resident()
    model.fit(task.X, task.y).predict(task.Q)
    return max(0.0, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before)


def _resident() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def _in_child(work: Callable[[], Any], seconds: float) -> Any:
    """Call a function in a forked process; return its result, or a sentence that explains why there is none."""
    ours, theirs = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_send, args=(work, theirs))
    child.start()
    theirs.close()
    try:
        if not ours.poll(seconds):
            return f"more than {seconds:g} s"
        return ours.recv()
    except EOFError:
        return "the process died"
    finally:
        child.kill()
        child.join()
        ours.close()


def _send(work: Callable[[], Any], end: Any) -> None:
    try:
        end.send(work())
    except Exception as error:
        end.send(f"{type(error).__name__}: {str(error).splitlines()[0]}")
