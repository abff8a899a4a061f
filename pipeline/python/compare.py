"""``bakeoff.compare``: which configuration is better, as ``bakeoff compare`` answers it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bakeoff.pipeline.comparison.request import CompareRequest
from bakeoff.pipeline.comparison.stored_comparison import keep_reports, make_comparison
from bakeoff.pipeline.config.requests import read_values
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.comparison_result import ComparisonResult
from bakeoff.pipeline.python.keywords import reject_unknown_keywords
from bakeoff.pipeline.python.process_state import own_process_state
from bakeoff.pipeline.python.run_result import RunResult
from bakeoff.pipeline.python.stored_results import find_store, name_run
from bakeoff.pipeline.python.sweep_result import SweepResult

CURES = {
    "to": "write the report with result.render(to=...)",
    "output": "write the text of result.render(to=...) into a file",
    "fail_if": "ask result.is_worse",
}
"""Keys of the command that say where its report goes -> what Python has instead."""


@reject_unknown_keywords(CURES)
def compare(
    *runs: str | RunResult | SweepResult,
    sweep: str = "",
    filter: str = "",
    base: str | RunResult = "",
    metrics: Sequence[str] = (),
    alpha: float = CompareRequest.alpha,
    rope: float = CompareRequest.rope,
    pairs: str = "best",
    choice: str = "auto",
    dataset: str = "",
    keep: bool = False,
    tracking__uri: str | None = None,
    tracking__experiment: str | None = None,
) -> ComparisonResult:
    """Compare stored runs, paired fold by fold on the same splits.

    Parameters
    ----------
    *runs : str, RunResult or SweepResult
        One sweep; or runs as results, by their ids or at least 8 characters of them, ``latest``, or ``best``; or words
        of the command line, such as ``"sweep=latest"``.
    sweep : str
        The name of a sweep, or ``latest``.
    filter : str
        In MLflow's filter language, such as ``params.dataset = 'wine'``.
    base : str or RunResult
        A configuration, learner, run or registered model that the others are marked against; by default the best.
    metrics : sequence of str
        Scores or times, the first of which decides; by default the headline.
    alpha : float
        The significance level.
    rope : float
        Differences up to this one are equivalent in practice.
    pairs : {"best", "all"}
        Which pairs reports list; `ComparisonResult.pairs` always has all.
    choice : {"auto", "none"}
        ``none``: no row stands for several configurations of a learner.
    dataset : str
        Of ``latest`` and ``best``.
    keep : bool
        Whether to store the reports as a run. The command does so by default; a cell of a notebook, which is run again
        and again, does not.
    tracking__uri, tracking__experiment : str, optional
        The store; by default that of the results, else as for `run`.

    Returns
    -------
    ComparisonResult

    Raises
    ------
    UserError
        The runs cannot be compared.
    """
    results = [each for each in runs if not isinstance(each, str)]
    words = [each for each in runs if isinstance(each, str)]
    given = {
        "base": name_run(base),
        "metrics": (metrics,) if isinstance(metrics, str) else tuple(metrics) or None,
        "alpha": alpha,
        "rope": rope,
        "pairs": pairs,
        "choice": choice,
        "dataset": dataset,
        "keep": keep,
        **({"sweep": sweep} if sweep else {}),
        **({"filter": filter} if filter else {}),
        **_name_results(results),
        **find_store(results, tracking__uri, tracking__experiment),
    }
    of_words = _read_words(words)
    named = (*of_words.get("runs", ()), *given.get("runs", ()))
    request = CompareRequest(**{**given, **of_words, "runs": named})
    with own_process_state():
        made = make_comparison(request)
        return ComparisonResult(made, keep_reports(made) if request.keep else None)


def _read_words(words: Sequence[str]) -> dict[str, Any]:
    """Return the values of words of the command line, by field; reject those that are not for Python."""
    if "-m" in words or "--multirun" in words:
        raise UserError("-m is for the command line; give the result of bakeoff.sweep(...).")
    values = read_values("compare", CompareRequest, words)
    for key in values.keys() & CURES.keys():
        raise UserError(f"{key}= is for the command line; {CURES[key]}.")
    return values


def _name_results(results: Sequence[Any]) -> dict[str, Any]:
    """Return the fields that select the runs of results: one sweep as such, several results by their ids."""
    for result in results:
        if not isinstance(result, RunResult | SweepResult):
            raise UserError(
                f"a value of type {type(result).__name__} was given; give the results of run or sweep, or ids of runs."
            )
    if not results:
        return {}
    if len(results) == 1 and isinstance(results[0], SweepResult):
        return {"sweep": results[0].name}
    ids: list[str] = []
    for result in results:
        ids += [name_run(result)] if isinstance(result, RunResult) else _list_runs(result)
    return {"runs": tuple(ids)}


def _list_runs(result: SweepResult) -> list[str]:
    return [run_id for run_id in result.runs["run_id"] if isinstance(run_id, str)]
