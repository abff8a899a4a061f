"""A capsule whose jobs run again with the data, the code and the versions of today."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bakeoff.pipeline.commands.compare.carried_runs import TIMES
from bakeoff.pipeline.commands.compare.run_grid import RunFacts
from bakeoff.pipeline.commands.paper import capsule
from bakeoff.pipeline.commands.paper.verify import require_trust
from bakeoff.pipeline.commands.watch.causes import explain_flips, list_changes
from bakeoff.pipeline.commands.watch.request import WatchRequest
from bakeoff.pipeline.commands.watch.scene import Scene
from bakeoff.pipeline.commands.watch.verdicts import Flip, Study, measure_moves, read_capsule_study
from bakeoff.pipeline.config.words import read_duration
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.study_file import DATA_FOLDER, REFUSED
from bakeoff.pipeline.text.wording import format_seconds


@dataclass(frozen=True)
class Watch:
    """What became of a capsule.

    Attributes
    ----------
    n_jobs, n_run : int
        The numbers of jobs, and of those that ran again.
    n_scores, n_moved : int
        The numbers of scores of the jobs that ran, and of those that differ.
    largest : float
        The largest absolute difference; infinite if a score is missing now.
    n_verdicts : int
    flips : sequence of Flip
    changes : sequence of str
        What has changed since the study.
    """

    n_jobs: int
    n_run: int
    n_scores: int
    n_moved: int
    largest: float
    n_verdicts: int
    flips: Sequence[Flip]
    changes: Sequence[str]


def watch_capsule(request: WatchRequest) -> Watch:
    """Run jobs of a capsule with what there is now, and compare the verdicts.

    Raises
    ------
    UserError
        The capsule cannot be used, needs trust or data, or the budget allows no job.
    """
    with capsule.reject_damage(request.capsule):
        study = read_capsule_study(request.capsule)
    require_trust(study.files, request.trust)
    numbers = choose_jobs(study, request)
    with TemporaryDirectory(prefix="bakeoff-") as name:
        folder = Path(name).resolve()
        _extract(study.files, folder)
        data = request.data.resolve() if request.data else folder / DATA_FOLDER
        words = (f"workers={request.workers}", f"trust=[{','.join(request.trust)}]")
        now = Scene(sys.executable, Path.cwd(), data, study.jobs, folder, words)
        renewed, store = now.run(numbers)
        before, after = study.judge({}, store), study.judge(renewed, store)
        flips = [
            Flip(place, verdict, after.get(place))
            for place, verdict in before.items()
            if place not in after or after[place].winner != verdict.winner
        ]
        explained = explain_flips(flips, study, renewed, now, request) if flips else []
    sizes = [size for number, facts in renewed.items() for size in measure_moves(study.facts[number], facts)]
    n_moved = sum(size > 0 for size in sizes)
    largest = max(sizes, default=0.0)
    changes = list(list_changes(study, renewed).values())
    return Watch(len(study.facts), len(numbers), len(sizes), n_moved, largest, len(before), explained, changes)


def _extract(files: capsule.Files, folder: Path) -> None:
    """Write the code and the data of a capsule, whose names were checked."""
    for place in (capsule.CODE_FOLDER, str(DATA_FOLDER)):
        (folder / place).mkdir()
        for name in [name for name in files if name.startswith(f"{place}/")]:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(files[name])


def choose_jobs(study: Study, request: WatchRequest) -> list[int]:
    """Return the numbers of the jobs to run, the cheapest first.

    Raises
    ------
    UserError
        The capsule has no times for a budget, or the budget allows no job.
    """
    seconds = {number: _find_seconds(facts) for number, facts in study.facts.items()}
    rows = {number: facts.rows_per_fold.get("train", math.inf) for number, facts in study.facts.items()}
    may_run = [number for number, line in enumerate(study.jobs["jobs"]) if REFUSED not in line]
    ordered = sorted(may_run, key=lambda number: (seconds[number], rows[number]))[: request.n]
    budget = read_duration("budget", request.budget)
    if budget is None:
        return ordered
    chosen: list[int] = []
    for number in ordered:
        budget -= seconds[number]
        if budget < 0:
            break
        chosen.append(number)
    if not chosen:
        least = seconds[ordered[0]]
        known = f"its cheapest job took {format_seconds(least)}" if math.isfinite(least) else "it has no times; give n="
        raise UserError(f"budget={request.budget} allows no job of {request.capsule.name}: {known}.")
    return chosen


def _find_seconds(facts: RunFacts) -> float:
    """Return the seconds of all folds of a run; infinite if they are not known."""
    times = [seconds for name, seconds in facts.run.metrics.items() if name.startswith(TIMES)]
    n_folds = max(map(len, (facts.series or {}).values()), default=0)
    return sum(times) * n_folds if times and n_folds else math.inf
