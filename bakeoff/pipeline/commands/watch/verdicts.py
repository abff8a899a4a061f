"""The study in a capsule, and its verdicts: which of two configurations is better on each dataset and over all."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bakeoff.pipeline.commands.compare.carried_runs import RUNS, SCORES, read_runs
from bakeoff.pipeline.commands.compare.cells import score_runs
from bakeoff.pipeline.commands.compare.compare_cells import compare_cells
from bakeoff.pipeline.commands.compare.comparison import Comparison
from bakeoff.pipeline.commands.compare.request import SelectionRequest
from bakeoff.pipeline.commands.compare.run_grid import RunFacts
from bakeoff.pipeline.commands.paper import capsule
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.study_file import read_study
from bakeoff.pipeline.text.wording import equate_p, join_words
from bakeoff.pipeline.tracking.store import Store

ALL = "all datasets"
"""The place of a verdict over datasets."""

Place = tuple[str, str, str]
"""A dataset, or `ALL`, and two configurations."""


@dataclass(frozen=True)
class Verdict:
    """Which of two configurations is better.

    Attributes
    ----------
    winner : str
        Empty if they are not told apart.
    p_value : float
    """

    winner: str
    p_value: float


@dataclass(frozen=True)
class Flip:
    """A verdict that no longer holds.

    Attributes
    ----------
    place : tuple of str
    before : Verdict
    after : Verdict or None
        None if one of both has no scores now.
    cause : str
    """

    place: Place
    before: Verdict
    after: Verdict | None
    cause: str = ""

    def describe(self) -> str:
        """Return the flip in a sentence."""
        where, *pair = self.place
        old = self.before
        if self.after is None:
            return f"FLIPPED {where}: {join_words(pair)} cannot be compared; cause: {self.cause}"
        new = self.after.winner
        verb = "now beats" if new else "no longer beats"
        winner = new or old.winner
        loser = next(name for name in pair if name != winner)
        ps = f"{equate_p(old.p_value)}, now {equate_p(self.after.p_value)}"
        return f"FLIPPED {where}: {winner} {verb} {loser} ({ps}); cause: {self.cause}"


@dataclass(frozen=True)
class Study:
    """A capsule, read and checked as a whole.

    Attributes
    ----------
    files : mapping of str to bytes
    jobs : mapping
        The content of its study.yaml.
    facts : mapping of int to RunFacts
        The number of a job -> its run.
    request : SelectionRequest
        The settings of the comparison.
    """

    files: capsule.Files
    jobs: Mapping[str, Any]
    facts: Mapping[int, RunFacts]
    request: SelectionRequest

    def judge(self, renewed: Mapping[int, RunFacts], store: Store) -> dict[Place, Verdict]:
        """Return the verdicts of the study, in which some jobs have other runs."""
        moved = {each.dataset for number, each in renewed.items() if not have_same_rows(each, self.facts[number])}
        facts = []
        for number, carried in self.facts.items():
            has_old_rows = carried.dataset in moved and number not in renewed and not carried.reason
            kept = replace(carried, reason="not run on the new rows") if has_old_rows else carried
            own = renewed.get(number)
            facts.append(kept if own is None else replace(own, configuration=carried.configuration))
        return list_verdicts(compare_cells(score_runs(facts, "", self.request, store), self.request))


def have_same_rows(one: RunFacts, other: RunFacts) -> bool:
    """Whether two runs of a job were scored on the same test rows; true if one has no scores."""
    rows = {(each.digest, each.splits_digest) for each in (one, other) if not each.reason}
    return len(rows) < 2


def list_verdicts(comparison: Comparison) -> dict[Place, Verdict]:
    """Return the verdict on each pair of configurations by the first metric: on each dataset, and over datasets."""
    result = comparison.results[0]
    verdicts = {}
    for dataset in result.datasets:
        for pair in dataset.pairs:
            names = sorted((pair.first, pair.second))
            winner = pair.first if pair.is_told_apart else ""
            verdicts[dataset.dataset, names[0], names[1]] = Verdict(winner, pair.p_holm)
    for each in result.overall.pairs if result.overall is not None else ():
        names = sorted((each.first, each.second))
        verdicts[ALL, names[0], names[1]] = Verdict(each.first if each.is_told_apart else "", each.p_value)
    return verdicts


def read_capsule_study(path: Path) -> Study:
    """Return the content of a capsule; raise an error of any kind if it is damaged."""
    files, manifest = capsule.read_capsule(path)
    if RUNS not in files:
        raise UserError(
            f"{path} has no {RUNS}, because an earlier version wrote it; write it again by `bakeoff paper`."
        )
    jobs = read_study(files[capsule.STUDY].decode())
    facts = dict(enumerate(read_runs(files[RUNS], files[SCORES])))
    if len(facts) != len(jobs["jobs"]):
        raise ValueError(f"{RUNS} has other jobs than {capsule.STUDY}")
    return Study(files, jobs, facts, SelectionRequest(sweep=path.stem, **manifest["comparison"]))


def measure_moves(before: RunFacts, after: RunFacts) -> list[float]:
    """Return how much each score of a job has moved."""
    then, now = before.series or {}, after.series or {}
    sizes = []
    for metric, scores in then.items():
        new = now.get(metric, ())
        pairs = zip(scores, new, strict=True) if len(new) == len(scores) else [(score, math.inf) for score in scores]
        sizes += [0.0 if old == own or (old != old and own != own) else abs(old - own) for old, own in pairs]
    return [math.inf if math.isnan(size) else size for size in sizes]
