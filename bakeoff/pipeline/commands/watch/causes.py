"""Why verdicts no longer hold: what has changed since the study, and which change brings them back when undone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bakeoff.pipeline.commands.compare.run_grid import RunFacts
from bakeoff.pipeline.commands.paper import capsule
from bakeoff.pipeline.commands.watch.request import WatchRequest
from bakeoff.pipeline.commands.watch.scene import Scene
from bakeoff.pipeline.commands.watch.verdicts import ALL, Flip, Place, Study, Verdict, have_same_rows, measure_moves
from bakeoff.pipeline.sweep.differences import find_changes
from bakeoff.pipeline.sweep.study_file import DATA_FOLDER
from bakeoff.pipeline.text.wording import join_words, name_first

ROWS = "rows"
CODE = "code"
VERSIONS = "versions"
ABSENT = "not installed"


def list_changes(study: Study, renewed: Mapping[int, RunFacts]) -> dict[str, str]:
    """Return what has changed since the study: rows, code or versions -> a sentence."""
    changes = {}
    tables = [each.dataset for number, each in renewed.items() if not have_same_rows(each, study.facts[number])]
    if tables:
        changes[ROWS] = f"other rows of {name_first(dict.fromkeys(tables))}"
    code = {name: content for name, content in study.files.items() if name.startswith(f"{capsule.CODE_FOLDER}/")}
    files = {name: Path(name.partition("/")[2]) for name in code}
    changed = [files[name].name for name in code if not files[name].is_file() or files[name].read_bytes() != code[name]]
    if changed:
        changes[CODE] = f"other code in {name_first(changed)}"
    lines = study.files[capsule.REQUIREMENTS].decode().splitlines()
    pinned = [line.partition("==") for line in lines if "==" in line]
    versions = [(package, then, find_version(package)) for package, _, then in pinned]
    found = [f"{package} {then} → {now}" for package, then, now in versions if then != now]
    if found:
        changes[VERSIONS] = join_words(found)
    return changes


def find_version(package: str) -> str:
    """Return the installed version of a package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ABSENT


def list_hybrids(request: WatchRequest, now: Scene, study: Study, changes: Mapping[str, str]) -> dict[str, Scene]:
    """Return the scenes in which one change is undone: what has changed -> the scene."""
    hybrids = {CODE: replace(now, code=now.folder / capsule.CODE_FOLDER)}
    if any(name.startswith(f"{DATA_FOLDER}/") for name in study.files):
        hybrids[ROWS] = replace(now, data=now.folder / DATA_FOLDER)
    if request.python is not None:
        hybrids[VERSIONS] = replace(now, python=str(request.python))
    return {name: scene for name, scene in hybrids.items() if name in changes}


@dataclass(frozen=True)
class Inquiry:
    """What is known about the verdicts that no longer hold.

    Attributes
    ----------
    study : Study
    renewed : mapping of int to RunFacts
        The jobs that ran again.
    changes : mapping of str to str
        What has changed -> a sentence.
    returned : mapping of str to mapping
        What has changed -> the verdicts without this change.
    moving : sequence of str
        The jobs whose scores differ each time they run.
    """

    study: Study
    renewed: Mapping[int, RunFacts]
    changes: Mapping[str, str]
    returned: Mapping[str, Mapping[Place, Verdict]]
    moving: Sequence[str]

    def explain(self, flip: Flip) -> Flip:
        """Return a flip with its cause: the changes without which the earlier verdict returns, or what is known."""
        causes = [
            self.changes[name]
            for name, verdicts in self.returned.items()
            if flip.place in verdicts and verdicts[flip.place].winner == flip.before.winner
        ]
        if causes:
            return replace(flip, cause=f"{join_words(causes)} (undone: as before)")
        if self.moving:
            cause = f"chance: the scores of {name_first(self.moving)} differ each time, so a seed is not set"
            return replace(flip, cause=cause)
        known = [*dict.fromkeys([*self.changes.values(), *self._list_tags(flip.place[0])])]
        return replace(flip, cause=f"not found; what has changed: {name_first(known) or 'nothing recorded'}")

    def _list_tags(self, where: str) -> list[str]:
        """Return why jobs on a dataset have no scores, and what the runs of those that moved record as changed."""
        found = []
        for number, now in self.renewed.items():
            then = self.study.facts[number]
            if where in (ALL, now.dataset) and any(measure_moves(then, now)):
                tags = [] if now.reason else [each.name for each in find_changes(then.run.tags, now.run.tags)]
                found += [now.reason] if now.reason else tags
        return found


def explain_flips(
    flips: Sequence[Flip], study: Study, renewed: Mapping[int, RunFacts], now: Scene, request: WatchRequest
) -> list[Flip]:
    """Run the jobs behind flips without each of the changes, and once more as they are, and name the causes.

    Parameters
    ----------
    flips : sequence of Flip
    study : Study
    renewed : mapping of int to RunFacts
        The jobs that ran again.
    now : Scene
        Where they ran.
    request : WatchRequest
    """
    changes = list_changes(study, renewed)
    places = {flip.place[0] for flip in flips}
    again = [number for number in renewed if {study.facts[number].dataset, ALL} & places]
    returned = {}
    for name, scene in list_hybrids(request, now, study, changes).items():
        runs, store = scene.run(again)
        returned[name] = study.judge({**renewed, **runs}, store)
    repeated, _ = now.run(again)
    moving = [renewed[number].run.name for number in again if any(measure_moves(renewed[number], repeated[number]))]
    inquiry = Inquiry(study, renewed, changes, returned, moving)
    return [inquiry.explain(flip) for flip in flips]
