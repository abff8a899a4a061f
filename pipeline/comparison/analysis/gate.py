"""The gate for continuous integration: is a configuration significantly worse than the base?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bakeoff.pipeline.comparison.comparison import Comparison
from bakeoff.pipeline.comparison.results import WORSE, DatasetResult, PairResult, Summary
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.numbers import equate_p, format_score


@dataclass(frozen=True)
class GateResult:
    """The answer of the gate.

    Attributes
    ----------
    is_worse : bool
    sentences : tuple of str
        Of each configuration that is worse, else one that says that none is.
    """

    is_worse: bool
    sentences: tuple[str, ...]


def check_gate(comparison: Comparison) -> GateResult:
    """Say whether a configuration is worse than the base on some dataset, by the first metric.

    Worse means that the corrected t-test finds the difference significant at alpha, and that it is greater than the
    rope.

    Raises
    ------
    UserError
        No dataset has scores of the base and of another configuration, or there is no test because of a single split.
    """
    sentences: list[str] = []
    n_tests = 0
    for result in comparison.results[0].datasets:
        for summary, pair in _iterate_candidates(result, comparison.settings.base):
            if math.isnan(pair.p_value):
                raise UserError(
                    f"compare: fail_if=worse needs several scores per run, and the evaluation on {result.dataset} is a "
                    "single split; use evaluation=repeated_kfold."
                )
            n_tests += 1
            # Many folds make differences significant that are too small to matter; the rope says which ones are.
            if summary.mark == WORSE and abs(pair.difference) > pair.rope:
                sentences.append(_describe(summary, pair, result, comparison))
    if not n_tests:
        raise UserError(
            f"compare: the base {comparison.settings.base} and the others have no dataset in common, so there is "
            "nothing to judge."
        )
    if sentences:
        return GateResult(True, tuple(sentences))
    settings = comparison.settings
    sentence = f"Nothing is worse than the base {settings.base} (α = {settings.alpha:g})."
    return GateResult(False, (sentence,))


def _iterate_candidates(result: DatasetResult, base: str) -> Iterator[tuple[Summary, PairResult]]:
    """Yield each configuration of a dataset but the base, and its pair with the base."""
    if not result.base:
        return
    for pair in result.pairs:
        if base not in (pair.first, pair.second):
            continue
        candidate = pair.second if pair.first == base else pair.first
        summary = result.find_summary(candidate)
        # Only configurations with a summary have pairs.
        assert summary is not None
        yield summary, pair


def _describe(summary: Summary, pair: PairResult, result: DatasetResult, comparison: Comparison) -> str:
    base = result.find_summary(result.base)
    assert base is not None
    return (
        f"{summary.configuration} is worse than the base {result.base} on {result.dataset}: "
        f"{comparison.metrics[0].label} {format_score(summary.mean)} instead of {format_score(base.mean)}, "
        f"{equate_p(pair.p_value)}, and the difference is beyond the rope of {format_score(pair.rope)}."
    )
