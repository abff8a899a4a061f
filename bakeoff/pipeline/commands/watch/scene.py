"""A scene in which jobs of a capsule run: an interpreter with its packages, the user's code, and the files of datasets.

A scene that has one thing of the study and all others of today is a hybrid: if an earlier verdict returns in it, this
thing is the cause.
"""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from bakeoff.pipeline.commands.compare.request import SelectionRequest
from bakeoff.pipeline.commands.compare.run_grid import RunFacts
from bakeoff.pipeline.commands.compare.stored_comparison import select_runs
from bakeoff.pipeline.commands.paper.capsule import STUDY
from bakeoff.pipeline.commands.paper.contents import read_scores
from bakeoff.pipeline.config.requests import DEFAULT_EXPERIMENT
from bakeoff.pipeline.config.settle import to_yaml
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.stages.dataset.files import find_files
from bakeoff.pipeline.sweep.study_file import DATA_FOLDER
from bakeoff.pipeline.text.wording import quote_text
from bakeoff.pipeline.tracking.store import Store, open_store
from bakeoff.pipeline.tracking.stored_config import list_files

SWEEP = "watch"
STORE = "mlflow.db"
REFUSED = 2
"""The exit code of a sweep of which nothing ran."""


@dataclass(frozen=True)
class Scene:
    """Where jobs run.

    Attributes
    ----------
    python : str
        The interpreter, in whose environment bakeoff is installed.
    code : Path
        The folder of user-defined code.
    data : Path
        The folder of the files of datasets.
    study : mapping
        The content of the capsule's study.yaml.
    folder : Path
        A temporary folder.
    words : sequence of str
        Words of each sweep.
    """

    python: str
    code: Path
    data: Path
    study: Mapping[str, Any]
    folder: Path
    words: Sequence[str]

    def run(self, numbers: Sequence[int]) -> tuple[dict[int, RunFacts], Store]:
        """Run jobs in a process of the interpreter.

        Returns
        -------
        facts : dict of int to RunFacts
            The number of a job -> its run with the scores of its folds, or why it has none.
        store : Store

        Raises
        ------
        UserError
            The interpreter cannot run them, or a file of a dataset is missing.
        """
        folder = Path(mkdtemp(dir=self.folder))
        self._write_study(folder, numbers)
        command = [self.python, "-P", "-m", "bakeoff", "-m", f"jobs={folder / STUDY}", "on_invalid=skip"]
        places = {"tracking.uri": folder / STORE, "hydra.sweep.dir": folder / SWEEP}
        words = [f"{key}={quote_text(str(place))}" for key, place in places.items()]
        try:
            ended = subprocess.run(
                [*command, *words, "tracking.models=false", *self.words],
                cwd=self.code, capture_output=True, text=True, check=False,
            )  # fmt: skip
        except OSError as error:
            raise UserError(f"python={self.python} cannot be run: {error.strerror}; name an interpreter.") from error
        if ended.returncode >= REFUSED or not (folder / STORE).is_file():
            lines = ended.stderr.strip().splitlines() or ["it printed no reason"]
            raise UserError(f"the jobs cannot be run by {self.python}: {lines[-1]}")
        store = open_store(str(folder / STORE), DEFAULT_EXPERIMENT)
        found = dict(zip(numbers, select_runs(store, SelectionRequest(sweep=SWEEP)).facts, strict=True))
        return _add_series(store, found), store

    def _write_study(self, folder: Path, numbers: Sequence[int]) -> None:
        """Write the study with some of its jobs, beside copies of the files of datasets that exist."""
        jobs = [self.study["jobs"][number] for number in numbers]
        (folder / STUDY).write_text(to_yaml({**self.study, "jobs": jobs}), encoding="utf-8")
        (folder / DATA_FOLDER).mkdir()
        for dataset in self.study["options"]["dataset"].values():
            for name in {Path(path).name for path in list_files(dataset)}:
                for file in find_files("path", str(self.data / name)):
                    shutil.copy(file, folder / DATA_FOLDER)


def _add_series(store: Store, found: Mapping[int, RunFacts]) -> dict[int, RunFacts]:
    """Return runs with the scores of their folds, which a comparison reads in place of the store."""
    finished = {number: facts.run for number, facts in found.items() if not facts.reason}
    series: dict[int, dict[str, tuple[float, ...]]] = {number: {} for number in found}
    for number, metric, _, score in read_scores(store, finished):
        series[number][metric] = (*series[number].get(metric, ()), score)
    return {
        number: replace(facts, run=replace(facts.run, run_id=f"job {number}"), series=series[number])
        for number, facts in found.items()
    }
