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
from bakeoff.pipeline.commands.compare.stored_comparison import select_runs
from bakeoff.pipeline.commands.paper.capsule import STUDY
from bakeoff.pipeline.commands.paper.contents import STD_SUFFIX
from bakeoff.pipeline.commands.watch.verdicts import Jobs
from bakeoff.pipeline.config.requests import DEFAULT_EXPERIMENT
from bakeoff.pipeline.config.settle import to_yaml
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.model.training_record import SCORE_PREFIXES
from bakeoff.pipeline.stages.dataset.files import find_files
from bakeoff.pipeline.sweep.study_file import DATA_FOLDER
from bakeoff.pipeline.text.wording import quote_text
from bakeoff.pipeline.tracking.store import open_store
from bakeoff.pipeline.tracking.stored_config import list_files
from bakeoff.pipeline.tracking.stored_runs import read_series

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

    def run(self, numbers: Sequence[int]) -> Jobs:
        """Run jobs in a process of the interpreter, and return their runs with the scores of their folds.

        Raises
        ------
        UserError
            The interpreter cannot run them, or a file of a dataset is missing.
        """
        folder = Path(mkdtemp(dir=self.folder))
        self._write_study(folder, numbers)
        places = {"tracking.uri": folder / STORE, "hydra.sweep.dir": folder / SWEEP}
        words = [f"{key}={quote_text(str(place))}" for key, place in places.items()]
        command = [self.python, "-P", "-m", "bakeoff", "-m", f"jobs={folder / STUDY}", "on_invalid=skip"]
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
        facts = select_runs(store, SelectionRequest(sweep=SWEEP)).facts
        runs = [each.run for each in facts if not each.reason]
        names = {name for run in runs for name in run.metrics if name.startswith(SCORE_PREFIXES)}
        series = read_series(store, runs, sorted(name for name in names if not name.endswith(STD_SUFFIX)))
        return {
            number: replace(each, run=replace(each.run, run_id=f"job {number}"), series=series.get(each.run.run_id, {}))
            for number, each in zip(numbers, facts, strict=True)
        }

    def _write_study(self, folder: Path, numbers: Sequence[int]) -> None:
        """Write the study with some of its jobs, beside copies of the files of datasets that exist."""
        jobs = [self.study["jobs"][number] for number in numbers]
        (folder / STUDY).write_text(to_yaml({**self.study, "jobs": jobs}), encoding="utf-8")
        (folder / DATA_FOLDER).mkdir()
        for dataset in self.study["options"]["dataset"].values():
            for name in {Path(path).name for path in list_files(dataset)}:
                for file in find_files("path", str(self.data / name)):
                    shutil.copy(file, folder / DATA_FOLDER)
