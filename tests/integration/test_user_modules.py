"""Modules of the current folder: those of trusted packages are found in every process, and no others run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import subprocess_sweep

COMMAND = Path(sys.executable).with_name("bakeoff")
TRACE = "trace.txt"
INTRUDERS = (
    "arff", "bottleneck", "joblib", "multiprocessing", "numexpr", "openpyxl", "psycopg", "pyarrow",
)  # fmt: skip
"""Names that installed packages import if they can, or that a new process imports first."""
INTRUDER = f"from pathlib import Path\nPath(__file__).with_name({TRACE!r}).write_text(__name__)\n"
LEARNER = '''
import beside
from sklearn.dummy import DummyClassifier


class Patient(DummyClassifier):
    """Imports a module only when it is fitted."""

    def fit(self, X, y):
        import imported_later

        return super().fit(X, y)
'''
FILES = {
    **{f"{name}.py": INTRUDER for name in INTRUDERS},
    "mine/__init__.py": "",
    "mine/patient.py": LEARNER,
    "beside.py": "",
    "imported_later.py": "",
    "conf/learner/patient.yaml": "# Waits.\n_target_: mine.patient.Patient\n",
}
TRUSTED = ("learner=patient", "trust=[mine]")
CALL = """
import bakeoff
keys = {"trust": ["mine"], "tracking": "none", "evaluation": "kfold"}
print(len(bakeoff.sweep(learner="patient", dataset=["iris", "wine"], workers=2, **keys).table))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a user-defined learner, and files with the names of optional packages."""
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


def run(folder: Path, *words: str | Path) -> str:
    answer = subprocess.run(words, cwd=folder, env=os.environ, capture_output=True, text=True, timeout=300, check=False)
    assert answer.returncode == 0, answer.stderr
    assert not (folder / TRACE).exists(), (folder / TRACE).read_text()
    return answer.stdout


def test_the_processes_of_folds_find_a_learner_and_nothing_else(folder: Path) -> None:
    run(folder, COMMAND, *TRUSTED, "dataset=iris", "evaluation=kfold", "n_jobs=2", "tracking=none")


def test_workers_find_a_learner_and_nothing_else(folder: Path) -> None:
    run(folder, COMMAND, "-m", *TRUSTED, "dataset=iris,wine", "workers=2")
    assert len(subprocess_sweep.runs(f"sqlite:///{folder}/outputs/mlflow.db")) == 2


def test_a_call_of_python_finds_a_learner_and_nothing_else(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    script = tmp_path_factory.mktemp("scripts") / "call.py"
    script.write_text(CALL)
    assert run(folder, sys.executable, script).split() == ["1"]


def test_trust_in_an_installed_package_lets_no_file_of_its_name_name_others(folder: Path) -> None:
    for name in ("sklearn", "time"):
        (folder / f"{name}.py").write_text(f"{INTRUDER}import bottleneck, numexpr\n")
    run(folder, COMMAND, "dataset=iris", "learner=majority", "tracking=none", "trust=[sklearn,time]")


def test_a_workbook_is_read_by_the_installed_package(folder: Path) -> None:
    table = pd.DataFrame({"size": [(7 * i) % 41 / 2 for i in range(40)], "sort": ["a", "b"] * 20})
    table.to_excel(folder / "table.xlsx", index=False)
    run(folder, COMMAND, "dataset=file", "dataset.path=table.xlsx", "dataset.target=sort", "tracking=none")
