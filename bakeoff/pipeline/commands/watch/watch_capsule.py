"""A capsule whose jobs run again with what there is today, and the causes of other verdicts."""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from bakeoff.pipeline.commands.compare.run_grid import RunFacts
from bakeoff.pipeline.commands.paper.capsule import CODE_FOLDER, REQUIREMENTS, SCORES, Files, reject_damage
from bakeoff.pipeline.commands.paper.carried_runs import RUNS, TIMES, read_runs
from bakeoff.pipeline.commands.paper.verify import read_capsule_study, require_data_folder, require_trust
from bakeoff.pipeline.commands.repetition.differences import Difference, find_changes
from bakeoff.pipeline.commands.watch.request import WatchRequest
from bakeoff.pipeline.commands.watch.scene import STORE, Scene
from bakeoff.pipeline.commands.watch.verdicts import (
    ALL,
    Flip,
    Jobs,
    Verdicts,
    compare_scores,
    has_other_rows,
    judge_jobs,
)
from bakeoff.pipeline.config.requests import DEFAULT_EXPERIMENT
from bakeoff.pipeline.config.words import read_duration
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.sweep.study_file import DATA_FOLDER
from bakeoff.pipeline.text.wording import join_words, name_first
from bakeoff.pipeline.tracking.provenance import pin_versions
from bakeoff.pipeline.tracking.store import open_store
from bakeoff.pipeline.tracking.stored_config import list_files

ROWS, CODE, VERSIONS = "rows", "code", "versions"
"""What may have changed since a study, and can be undone."""
CURES: Mapping[str, str] = {
    ROWS: "a capsule that was written with data=true has the rows of the study",
    VERSIONS: "python=FILE, an interpreter with the versions of the study, undoes them",
}
"""What undoes a change."""


@dataclass(frozen=True)
class Watch:
    """What became of the verdicts of a capsule.

    Attributes
    ----------
    n_jobs, n_run : int
        The numbers of jobs, and of those that ran again.
    n_scores : int
        The number of scores of the jobs that ran.
    moves : sequence of Difference
        Those that differ.
    n_verdicts : int
    flips : sequence of Flip
        The verdicts that no longer hold.
    changes : mapping of str to str
        What has changed since the study -> a sentence.
    """

    n_jobs: int
    n_run: int
    n_scores: int
    moves: Sequence[Difference]
    n_verdicts: int
    flips: Sequence[Flip]
    changes: Mapping[str, str]


def watch_capsule(request: WatchRequest) -> Watch:
    """Run jobs of a capsule with what there is now, and compare the verdicts.

    Raises
    ------
    UserError
        The capsule cannot be used, needs trust or data, or the budget allows no job.
    """
    with reject_damage(request.capsule):
        study = read_capsule_study(request.capsule)
        if RUNS not in study.files:
            raise UserError(f"{request.capsule} was written by an earlier version, without {RUNS}; write it again.")
        jobs = dict(enumerate(read_runs(study.files[RUNS], study.files[SCORES])))
    require_trust(study.files, request.trust)
    require_data_folder(request.data, study.jobs)
    numbers = choose_jobs(jobs, request)
    with TemporaryDirectory(prefix="bakeoff-") as name:
        folder = Path(name).resolve()
        _write_files(study.files, folder)
        data = request.data.resolve() if request.data else folder / DATA_FOLDER
        if not data.is_dir() and any(map(list_files, study.jobs["options"]["dataset"].values())):
            raise UserError(f"{request.capsule.name} has no files of datasets; set data=FOLDER, the folder with them.")
        words = (f"workers={request.workers}", f"trust=[{','.join(request.trust)}]")
        now = Scene(sys.executable, Path.cwd(), data, study.jobs, folder, words)
        store = open_store(str(folder / STORE), DEFAULT_EXPERIMENT)
        judge = partial(judge_jobs, jobs, request=study.comparison, store=store)
        renewed = now.run(numbers)
        then, today = judge({}), judge(renewed)
        flips = _list_flips(then, today)
        changes = list_changes(study.files, jobs, renewed)
        if flips:
            hybrids = list_hybrids(now, request.python)
            undone = {what: scene for what, scene in hybrids.items() if what in changes}
            flips = explain_flips(flips, jobs, renewed, now, undone, changes, judge)
    compared = [compare_scores(jobs[number], own) for number, own in renewed.items()]
    moves = [move for each in compared for move in each.differences]
    return Watch(len(jobs), len(numbers), sum(each.n_values for each in compared), moves, len(then), flips, changes)


def _write_files(files: Files, folder: Path) -> None:
    """Write the files of a capsule, whose names were checked, below a folder."""
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def _list_flips(then: Verdicts, today: Verdicts) -> list[Flip]:
    """Return the verdicts that no longer hold, without their causes."""
    return [
        Flip(place, verdict, today.get(place, ()))
        for place, verdict in then.items()
        if today.get(place, (None,))[0] != verdict[0]
    ]


def choose_jobs(jobs: Jobs, request: WatchRequest) -> list[int]:
    """Return the numbers of the jobs to run, the cheapest first.

    Raises
    ------
    UserError
        The budget allows no job, or the capsule has no times.
    """
    costs = pd.DataFrame({"seconds": map(_find_seconds, jobs.values())}, index=list(jobs))
    costs["rows"] = [facts.rows_per_fold.get("train", math.inf) for facts in jobs.values()]
    ordered = costs.sort_values(["seconds", "rows"], kind="stable").head(request.n or len(jobs))
    budget = read_duration("budget", request.budget)
    chosen = ordered if budget is None else ordered[ordered["seconds"].cumsum() <= budget]
    if chosen.empty:
        least = ordered["seconds"].iloc[0]
        known = f"its cheapest one took {least:.3g} s" if math.isfinite(least) else "it has no times; give n= instead"
        raise UserError(f"budget={request.budget} allows no job of {request.capsule.name}: {known}.")
    return chosen.index.tolist()


def _find_seconds(facts: RunFacts) -> float:
    """Return the seconds of all folds of a run; infinite if they are not known."""
    times = [seconds for name, seconds in facts.run.metrics.items() if name.startswith(TIMES)]
    return sum(times) * len(next(iter((facts.series or {}).values()), ())) or math.inf


def list_changes(files: Files, jobs: Jobs, renewed: Jobs) -> dict[str, str]:
    """Return what has changed since the study: rows, code or versions -> a sentence."""
    tables = {own.dataset for number, own in renewed.items() if has_other_rows(jobs[number], own)}
    code = {Path(name).relative_to(CODE_FOLDER): files[name] for name in files if name.startswith(f"{CODE_FOLDER}/")}
    edited = [str(path) for path, content in code.items() if not path.is_file() or path.read_bytes() != content]
    pinned = dict(pin.split("==") for pin in files[REQUIREMENTS].decode().splitlines() if "==" in pin)
    here = dict(pin.split("==") for pin in pin_versions(*pinned))
    other = [f"{name} {pinned[name]} → {here.get(name, 'none')}" for name in pinned if here.get(name) != pinned[name]]
    found = {ROWS: sorted(tables), CODE: edited, VERSIONS: other}
    return {what: f"other {what}: {name_first(names)}" for what, names in found.items() if names}


def list_hybrids(now: Scene, python: Path | None) -> dict[str, Scene]:
    """Return the scenes that have one thing of the study and all others of today: what is of the study -> the scene."""
    hybrids = {CODE: replace(now, code=now.folder / CODE_FOLDER)}
    if (now.folder / DATA_FOLDER).is_dir():
        hybrids[ROWS] = replace(now, data=now.folder / DATA_FOLDER)
    if python is not None:
        hybrids[VERSIONS] = replace(now, python=str(python.absolute()))
    return hybrids


def explain_flips(
    flips: Sequence[Flip],
    jobs: Jobs,
    renewed: Jobs,
    now: Scene,
    undone: Mapping[str, Scene],
    changes: Mapping[str, str],
    judge: Callable[[Jobs], Verdicts],
) -> list[Flip]:
    """Run the jobs behind flips without each change, and if that explains too little once more, and name the causes.

    Parameters
    ----------
    flips : sequence of Flip
    jobs, renewed : mapping of int to RunFacts
        All jobs of the study, and those that ran again.
    now : Scene
        Where they ran.
    undone : mapping of str to Scene
        What has changed -> a scene without this change.
    changes : mapping of str to str
        What has changed -> a sentence.
    judge : callable
        Returns the verdicts of the study in which some jobs have other runs.
    """
    places = {flip.place[0] for flip in flips}
    again = [number for number in renewed if {jobs[number].dataset, ALL} & places]
    verdicts = {what: judge({**renewed, **scene.run(again)}) for what, scene in undone.items()}
    found = [
        [changes[what] for what in verdicts if verdicts[what].get(flip.place, ("",))[0] == flip.before[0]]
        for flip in flips
    ]
    rest = ""
    if not all(found):
        cures = [CURES[what] for what in changes if what not in undone]
        rest = _describe_rest(jobs, {number: renewed[number] for number in again}, now.run(again), changes, cures)
    causes = [f"{join_words(each)} (undone: as before)" if each else rest for each in found]
    return [replace(flip, cause=cause) for flip, cause in zip(flips, causes, strict=True)]


def _describe_rest(jobs: Jobs, renewed: Jobs, repeated: Jobs, changes: Mapping[str, str], cures: Sequence[str]) -> str:
    """Return what is known about other verdicts if no change alone explains them: chance, or all that was recorded."""
    moving = [own.run.name for number, own in renewed.items() if compare_scores(own, repeated[number]).differences]
    if moving:
        return f"chance, because the scores of {name_first(moving)} differ each time: set a seed"
    reasons = [own.reason for own in renewed.values() if own.reason]
    moved = [number for number, own in renewed.items() if compare_scores(jobs[number], own).differences]
    tags = [change.name for number in moved for change in find_changes(jobs[number].run.tags, renewed[number].run.tags)]
    known = name_first(dict.fromkeys([*reasons, *changes.values(), *tags]))
    return "; ".join(["not found", *cures, f"changed since: {known or 'nothing recorded'}"])
