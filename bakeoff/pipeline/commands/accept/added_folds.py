"""Repeats of the folds of a line, which run while the answer to an offered run is open (``until=sure``).

The champion and the offered run are repeated alike, each repeat as a job of its own, which is resumed like any other.
The p-value after each repeat is corrected for all looks (`bakeoff.pipeline.stages.tuning.race`), so that the level of
the line holds whenever the answer is given.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, replace

from bakeoff.pipeline.commands.accept.evidence import Evidence, check_run
from bakeoff.pipeline.commands.accept.line import Contender, Decision, Line
from bakeoff.pipeline.commands.accept.request import AcceptRequest
from bakeoff.pipeline.commands.compare.added_repeats import REPEATS
from bakeoff.pipeline.commands.compare.run_grid import FIRST_REPEAT
from bakeoff.pipeline.commands.significance.pairs import require_repeats
from bakeoff.pipeline.config.trust import is_trust_word
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.identity.config_hash import hash_config
from bakeoff.pipeline.stages.tuning.race import Looks
from bakeoff.pipeline.sweep.compose import override_text
from bakeoff.pipeline.sweep.engine import SweepReport
from bakeoff.pipeline.sweep.jobs import DONE_KINDS
from bakeoff.pipeline.sweep.request import run_sweep
from bakeoff.pipeline.text.wording import print_note

Pair = tuple[Contender, Contender]
"""The champion and the offered run."""
Decide = Callable[[Pair, Looks], Decision]


@dataclass(frozen=True)
class AddedFolds:
    """The repeats that may follow the folds of a line.

    Attributes
    ----------
    request : AcceptRequest
    line : Line
    runs : tuple of Evidence
        The champion and the offered run.
    n_folds : int
        The folds of a repeat.
    n_done : int
        The repeats of the line.
    """

    request: AcceptRequest
    line: Line
    runs: tuple[Evidence, Evidence]
    n_folds: int
    n_done: int

    @property
    def looks(self) -> Looks:
        """The number of folds at each look."""
        return tuple(self.n_folds * repeats for repeats in range(self.n_done, self.request.repeats + 1))

    def identify_jobs(self) -> tuple[str, ...]:
        """Return the ``config_hash`` of each job that may run."""
        jobs = [words for number in range(self.n_done, self.request.repeats) for words in self._list_jobs(number)]
        report = run_sweep([*self._list_words(), "dry_run=true"], jobs, quiet=True)
        assert report is not None  # there is no report only if help was requested
        return tuple(job.hash for job in report.plan.jobs if job.hash)

    def decide(self, decide: Decide) -> Decision:
        """Return the decision after the folds of the line, or after the first repeat that settles it."""
        champion, offered = (run.contender for run in self.runs)
        decision = decide((champion, offered), self.looks)
        for number in range(self.n_done, self.request.repeats):
            if not decision.is_open:
                break
            print_note(f"accept: after {decision.n_folds} folds p = {decision.p:.2g}; repeat {number + 1} runs")
            added = self._run_repeat(number)
            champion, offered = (
                replace(before, scores=before.scores + each.contender.scores)
                for before, each in zip((champion, offered), added, strict=True)
            )
            decision = decide((champion, offered), self.looks)
        return decision

    def _run_repeat(self, number: int) -> tuple[Evidence, Evidence]:
        """Run a repeat of both configurations, and return their checked scores."""
        # Standard output is reserved for the answer.
        with redirect_stdout(sys.stderr):
            report = run_sweep(self._list_words(), self._list_jobs(number))
        assert report is not None
        first, second = (self._check_job(report, place) for place in range(len(self.runs)))
        if first.rules != second.rules:
            raise UserError(f"repeat {number + 1} of the folds differs between the two runs; run both again.")
        return first, second

    def _check_job(self, report: SweepReport, place: int) -> Evidence:
        """Return the scores of a job, which must be that of the run but for the number of its repeat."""
        original = self.runs[place]
        outcome = report.outcomes[place]
        if outcome.kind not in DONE_KINDS or outcome.run_id is None:
            raise UserError(
                f"until=sure: a repeat of run {original.contender.run_id} has {outcome.kind}: {outcome.reason} Offer "
                f"run {self.runs[-1].contender.run_id} again when it can run; finished repeats are not run twice."
            )
        repeat = check_run(self.request, outcome.run_id, self.line.rules.metric)
        if _hash_without_repeats(repeat) != _hash_without_repeats(original):
            raise UserError(
                f"until=sure: the words of run {original.contender.run_id} no longer give its configuration, so its "
                "folds cannot be repeated; run it again."
            )
        return repeat

    def _list_jobs(self, number: int) -> list[list[str]]:
        """Return the overrides of both runs for one repeat."""
        own = [f"{REPEATS}=1", f"{FIRST_REPEAT}={number}"]
        return [[*_list_overrides(run.contender), *own] for run in self.runs]

    def _list_words(self) -> list[str]:
        request = self.request
        values = {
            "tracking.uri": request.tracking__uri,
            "tracking.experiment": request.tracking__experiment,
            "trust": list(request.trust),
        }
        return [f"{key}={override_text(value)}" for key, value in values.items() if value]


def find_added_folds(request: AcceptRequest, line: Line, offered: Evidence) -> AddedFolds:
    """Return the repeats that may follow the folds of a line.

    Raises
    ------
    UserError
        The folds cannot be repeated, or the line has as many repeats already.
    """
    evaluation = offered.run.spec["evaluation"]
    require_repeats(offered.run.stored.params["evaluation"], [f"evaluation.{key}" for key in evaluation])
    n_done = evaluation["first_repeat"] + evaluation["repeats"]
    if n_done >= request.repeats:
        raise UserError(f"repeats={request.repeats}: line {line.name} has {n_done} repeats of its folds; give more.")
    champion = check_run(request, line.champion.run_id, line.rules.metric)
    return AddedFolds(request, line, (champion, offered), evaluation["folds"], n_done)


def _list_overrides(contender: Contender) -> list[str]:
    """Return the words of a run without those that trust code, or choose its repeats or its store."""
    words = shlex.split(contender.command)[1:]
    left_out = (REPEATS, FIRST_REPEAT, "tracking.", "hydra")
    return [word for word in words if not is_trust_word(word) and not word.lstrip("+").startswith(left_out)]


def _hash_without_repeats(evidence: Evidence) -> str:
    """Return a digest of a job but for the number of its repeats."""
    spec = evidence.run.spec
    evaluation = {**spec["evaluation"], "repeats": None, "first_repeat": None}
    return hash_config({**spec, "evaluation": evaluation}, evidence.rules.data)
