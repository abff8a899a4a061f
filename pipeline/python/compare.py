"""``bakeoff.compare``: which configuration is better, as ``bakeoff compare`` answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bakeoff.pipeline.cli.arguments import MULTIRUN_FLAGS
from bakeoff.pipeline.cli.compare import Command, read_command
from bakeoff.pipeline.cli.comparison_report import keep_reports, make_comparison
from bakeoff.pipeline.comparison.request_words import DEFAULT_ALPHA, DEFAULT_ROPE, check_values
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.python.comparison_result import ComparisonResult, add_stored_predictions
from bakeoff.pipeline.python.keywords import reject_unknown_keywords
from bakeoff.pipeline.python.process_state import own_process_state
from bakeoff.pipeline.python.run_result import RunResult
from bakeoff.pipeline.python.sweep_result import SweepResult

CURES = {
    "to": "write the report with result.render(to=...)",
    "output": "write the text of result.render(to=...) into a file",
    "fail_if": "ask result.is_worse",
}
"""Keys of the command that say where its report goes -> what Python has instead."""
STORE_KEYS = ("uri", "experiment")
DEFAULT_VALUES = {
    "alpha": f"{DEFAULT_ALPHA:g}",
    "rope": f"{DEFAULT_ROPE:g}",
    "pairs": "best",
    "choice": "auto",
    "keep": "false",
    "tracking.experiment": "bakeoff",
}
"""Values that the command line need not say, so that the command of a comparison stays readable."""


@reject_unknown_keywords(CURES)
def compare(
    *runs: str | RunResult | SweepResult,
    sweep: str = "",
    filter: str = "",
    base: str | RunResult = "",
    metrics: Sequence[str] = (),
    alpha: float = DEFAULT_ALPHA,
    rope: float = DEFAULT_ROPE,
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
    words += _name_results(results)
    if sweep:
        words.append(f"sweep={sweep}")
    if filter:
        words.append(f"filter={filter}")
    given = {
        "base": _name_run(base),
        "metrics": ",".join([metrics] if isinstance(metrics, str) else metrics),
        "alpha": f"{alpha:g}",
        "rope": f"{rope:g}",
        "pairs": pairs,
        "choice": choice,
        "dataset": dataset,
        "keep": str(keep).lower(),
        **_find_store(results, {"uri": tracking__uri, "experiment": tracking__experiment}),
    }
    command = _read_command(words, given)
    with own_process_state():
        made = make_comparison(command.runs, command.values, "", command.text, None)
        if command.values.get("keep") != "true":
            return ComparisonResult(made)
        return ComparisonResult(made, keep_reports(add_stored_predictions(made)))


def _read_command(words: Sequence[str], given: Mapping[str, str]) -> Command:
    """Return the command of the words, which take precedence over the values by key; reject what is not for Python."""
    keys = {word.partition("=")[0] for word in words if "=" in word}
    for word in words:
        if word in MULTIRUN_FLAGS:
            raise UserError("compare: -m is for the command line; give the result of bakeoff.sweep(...).")
    for key in keys & set(CURES):
        raise UserError(f"compare: {key}= is for the command line; {CURES[key]}.")
    others = [
        f"{key}={value}"
        for key, value in given.items()
        if value and key not in keys and value != DEFAULT_VALUES.get(key)
    ]
    command = read_command([*words, *others])
    check_values(command.values)
    return command


def _name_results(results: Sequence[Any]) -> list[str]:
    """Return the words that select the runs of results: one sweep as such, several results by the ids of their runs."""
    for result in results:
        if not isinstance(result, RunResult | SweepResult):
            raise UserError(
                f"compare: a value of type {type(result).__name__} was given; give the results of run or sweep, or "
                "ids of runs."
            )
    if len(results) == 1 and isinstance(results[0], SweepResult):
        return [f"sweep={results[0].name}"]
    words = []
    for result in results:
        words += [_name_run(result)] if isinstance(result, RunResult) else _list_runs(result)
    return words


def _name_run(run: str | RunResult) -> str:
    if isinstance(run, str):
        return run
    if run.run_id is None:
        raise UserError(f"compare: the run {run.name} is not stored (tracking=none), so that it cannot be compared.")
    return run.run_id


def _list_runs(result: SweepResult) -> list[str]:
    return [run_id for run_id in result.runs["run_id"] if isinstance(run_id, str)]


def _find_store(results: Sequence[RunResult | SweepResult], given: Mapping[str, str | None]) -> dict[str, str]:
    """Return the words of the store: as given, else that of the results, which must have one in common."""
    settings = [_read_settings(result) for result in results]
    words = {}
    for key in STORE_KEYS:
        stored = {str(each[key]) for each in settings if each.get(key) is not None}
        if len(stored) > 1:
            raise UserError(
                f"compare: the results are in several stores (tracking.{key}: {', '.join(sorted(stored))}), and only "
                "runs of one can be compared."
            )
        value = given[key] or next(iter(stored), None)
        if value is not None:
            words[f"tracking.{key}"] = value
    return words


def _read_settings(result: RunResult | SweepResult) -> Mapping[str, Any]:
    if isinstance(result, RunResult):
        settings: Mapping[str, Any] = result.config["tracking"]
        return settings
    if not result.tracking:
        raise UserError(f"compare: the runs of sweep {result.name} are not stored (tracking=none).")
    return result.tracking
