"""The metrics that a comparison is made by: the headline of the runs, or those that are named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bakeoff.pipeline.comparison.comparison import ComparedMetric
from bakeoff.pipeline.comparison.grid.grouping import group_by
from bakeoff.pipeline.comparison.grid.run_facts import RunFacts, list_ids
from bakeoff.pipeline.errors import UserError, did_you_mean
from bakeoff.pipeline.stages.scoring import describe_definition, is_bounded
from bakeoff.pipeline.text.words import count_nouns
from bakeoff.pipeline.tracking.find_run import find_headline, is_greater_better, read_metric_entries

TEST_PREFIX = "test_"
TIME_PREFIX = "time/"


def choose_compared_metrics(names: Sequence[str], runs: Sequence[RunFacts], rope: float) -> tuple[ComparedMetric, ...]:
    """Return the metrics to compare by, the first of which decides.

    Parameters
    ----------
    names : sequence of str
        As they are stored, or without ``test_`` or ``time/``; if there are none, the headline of the runs is taken.
    runs : sequence of RunFacts
        Finished.
    rope : float

    Raises
    ------
    UserError
        A metric is unknown, or some run does not have it.
    """
    stored = [_find_metric(name, runs) for name in names] if names else [_find_shared_headline(runs)]
    for metric in stored:
        _require_metric(metric, runs)
        _require_one_definition(metric, runs)
    return tuple(_describe_metric(metric, rope, runs[0]) for metric in dict.fromkeys(stored))


def _find_shared_headline(runs: Sequence[RunFacts]) -> str:
    headlines = group_by(runs, lambda each: find_headline(each.run.params, each.run.metrics), lambda each: each)
    without = headlines.get(None, [])
    if without:
        raise UserError(
            f"compare: {count_nouns(len(without), 'run')} ({list_ids(without)}) have no score of the defaults; name a "
            "metric, for example metrics=accuracy."
        )
    if len(headlines) > 1:
        counts = ", ".join(f"{name} ({count_nouns(len(own), 'run')})" for name, own in headlines.items())
        raise UserError(
            f"compare: the runs have different headline scores: {counts}. Name one that all have by metrics=NAME, or "
            "select runs of one task by filter=."
        )
    (headline,) = headlines
    return str(headline)


def _find_metric(name: str, runs: Sequence[RunFacts]) -> str:
    """Return the stored name of a metric."""
    known = {metric for each in runs for metric in each.run.metrics if _is_comparable(metric, each.run.params)}
    for candidate in (name, f"{TEST_PREFIX}{name}", f"{TIME_PREFIX}{name}"):
        if candidate in known:
            return candidate
    short = {metric.removeprefix(TEST_PREFIX).removeprefix(TIME_PREFIX) for metric in known}
    raise UserError(f"compare: metrics={name}: no run has that metric. {did_you_mean(name, short)}")


def _is_comparable(metric: str, params: Mapping[str, str]) -> bool:
    """Whether it is known of a stored metric which values are better."""
    # Runs are compared by a mean, whose series over folds is read along with it.
    if metric.startswith(("fold/", "pruning_path/")):
        return False
    try:
        is_greater_better(metric, params)
    except KeyError:
        return False
    return True


def _require_metric(metric: str, runs: Sequence[RunFacts]) -> None:
    without = [each for each in runs if metric not in each.run.metrics]
    if not without:
        return
    learners = ", ".join(dict.fromkeys(each.learner for each in without))
    raise UserError(
        f"compare: {len(without)} of {len(runs)} runs ({list_ids(without)}; {learners}) have no {metric}: "
        "name other metrics by metrics=, or leave these runs out by filter=."
    )


def _require_one_definition(metric: str, runs: Sequence[RunFacts]) -> None:
    """Reject runs that have computed different scores under one name: with other costs, or by another function."""
    firsts: dict[str, RunFacts] = {}
    for each in runs:
        first = firsts.setdefault(each.dataset, each)
        if _read_definition(metric, each) != _read_definition(metric, first):
            raise UserError(
                f"compare: on {each.dataset}, run {first.short_id} and run {each.short_id} computed {metric} in "
                "different ways (evaluation.metrics or evaluation.costs differ), so that it cannot be compared; select "
                "runs of one way by filter=, or name another metric by metrics=."
            )


def _read_definition(metric: str, each: RunFacts) -> str:
    params = each.run.params
    return describe_definition(_get_score(metric), read_metric_entries(params), params.get("evaluation.costs"))


def _get_score(metric: str) -> str:
    """Return the name of a score without that of its rows."""
    return metric.removeprefix(TEST_PREFIX).removeprefix("validation_").removeprefix("train_")


def _describe_metric(metric: str, rope: float, example: RunFacts) -> ComparedMetric:
    score = metric.removeprefix(TEST_PREFIX)
    params = example.run.params
    is_time = metric.startswith(TIME_PREFIX)
    is_absolute = not is_time and is_bounded(_get_score(metric), read_metric_entries(params))
    return ComparedMetric(
        name=metric,
        label=_label_metric(score),
        greater_is_better=is_greater_better(metric, params),
        rope=rope,
        is_rope_relative=not is_absolute,
    )


def _label_metric(score: str) -> str:
    """Return a metric in words.

    Examples
    --------
    >>> _label_metric("time/fit"), _label_metric("balanced_accuracy")
    ('fit time in seconds', 'balanced accuracy')
    """
    if score.startswith(TIME_PREFIX):
        return f"{score.removeprefix(TIME_PREFIX)} time in seconds"
    return score.replace("_", " ").replace("/", " ")


def get_validation_metric(metric: str, headline: str) -> str:
    """Return the validation score by which configurations are chosen for a comparison by a metric.

    Examples
    --------
    >>> get_validation_metric("test_f1", "test_accuracy"), get_validation_metric("time/fit", "test_accuracy")
    ('validation_f1', 'validation_accuracy')
    """
    # Times have no validation rows; a configuration is then chosen by what the runs are judged by.
    score = metric if metric.startswith(TEST_PREFIX) else headline
    return f"validation_{score.removeprefix(TEST_PREFIX)}"
