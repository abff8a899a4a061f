"""The verdicts of a study: which of two configurations is better, on each dataset and over datasets."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bakeoff.pipeline.commands.compare.cells import score_runs
from bakeoff.pipeline.commands.compare.compare_cells import compare_cells
from bakeoff.pipeline.commands.compare.request import SelectionRequest
from bakeoff.pipeline.commands.compare.run_grid import RunFacts
from bakeoff.pipeline.commands.comparison_report.comparison import OverallPair, PairResult
from bakeoff.pipeline.commands.repetition.differences import SCORES, Comparison, compare_values, write_number
from bakeoff.pipeline.text.wording import equate_p
from bakeoff.pipeline.tracking.store import Store

ALL = "all datasets"
"""The place of a verdict over datasets."""

Place = tuple[str, str, str]
"""A dataset, or `ALL`, and two configurations."""
Verdicts = Mapping[Place, tuple[str, float]]
"""Place -> the better configuration, which is empty if they are not told apart, and the p-value."""
Jobs = Mapping[int, RunFacts]
"""The number of a job -> its run."""


@dataclass(frozen=True)
class Flip:
    """A verdict that no longer holds.

    Attributes
    ----------
    place : tuple of str
    before, after : tuple of (str, float)
        The better configuration and the p-value; an empty tuple if one of both has no scores now.
    cause : str
    """

    place: Place
    before: tuple[str, float]
    after: tuple[str, float] | tuple[()]
    cause: str = ""

    def describe(self) -> str:
        """Return the flip in a sentence."""
        where, first, second = self.place
        before, after = (
            f"{verdict[0] or 'neither'} ({equate_p(verdict[1])})" if verdict else "unknown"
            for verdict in (self.before, self.after)
        )
        return f"FLIPPED {where}, {first} or {second}: {before}, now {after}; cause: {self.cause}"


def judge_jobs(jobs: Jobs, renewed: Jobs, request: SelectionRequest, store: Store) -> Verdicts:
    """Return the verdicts by the first metric on the jobs of a study, of which some have other runs.

    Parameters
    ----------
    jobs, renewed : mapping of int to RunFacts
    request : SelectionRequest
        The settings of the comparison.
    store : Store
        A store without other runs.
    """
    moved = {jobs[number].dataset for number, own in renewed.items() if has_other_rows(jobs[number], own)}
    # Jobs that did not run again on new rows have no scores to pair with.
    left = {job: replace(each, reason="not run on the new rows") for job, each in jobs.items() if each.dataset in moved}
    runs = {job: replace(each, configuration=jobs[job].configuration) for job, each in renewed.items()}
    compared = compare_cells(score_runs([*{**jobs, **left, **runs}.values()], "", request, store), request)
    result = compared.results[0]
    overall = () if result.overall is None or result.overall.too_few else result.overall.pairs
    found: list[tuple[str, PairResult | OverallPair, float]] = [(ALL, pair, pair.p_value) for pair in overall]
    found += [(each.dataset, pair, pair.p_holm) for each in result.datasets for pair in each.pairs]
    verdicts: dict[Place, tuple[str, float]] = {}
    for where, pair, p in found:
        names = sorted((pair.first, pair.second))
        verdicts[where, names[0], names[1]] = (pair.first * pair.is_told_apart, p)
    return verdicts


def has_other_rows(before: RunFacts, after: RunFacts) -> bool:
    """Whether two runs of a job have scores on different test rows."""
    rows = {(each.digest, each.splits_digest) for each in (before, after) if not each.reason}
    return len(rows) > 1


def compare_scores(before: RunFacts, after: RunFacts) -> Comparison:
    """Compare every score of two runs of a job."""
    then, now = (
        {
            (f"{before.run.name}, {metric}", f"fold {fold}"): write_number(score)
            for metric, scores in (each.series or {}).items()
            for fold, score in enumerate(scores)
        }
        for each in (before, after)
    )
    return compare_values(SCORES, then, now)
