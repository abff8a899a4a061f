"""The study in examples/: its YAML runs on files of the same form, resumes, and is compared as one sweep."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command import Bakeoff

STUDY = Path(__file__).parents[2] / "examples" / "study"
COMMAND = ("--config-dir", str(STUDY), "-m")
LEARNERS = "majority,naive_bayes,svm"


def write_datasets(folder: Path) -> list[str]:
    """Write three small files without names, as the package of KEEL has them; return their paths."""
    generator = np.random.default_rng(0)
    folder.mkdir()
    files = {}
    # Spaces after commas and after labels; text in some columns; classes that are numbers.
    x = generator.normal(size=(40, 2))
    files["spaced"] = [f"{a:.3f}, {b:.3f},  {'van ' if a + b > 0 else 'saab'}" for a, b in x]
    files["nominal"] = [
        f"{'rgb'[row % 3]},{'xy'[row % 2]},{row % 7},{'won' if row % 3 else 'nowin'}" for row in range(45)
    ]
    files["coded"] = [f"{row % 5},{row % 4},{int(row % 5 > 1)}.0" for row in range(50)]
    for name, lines in files.items():
        (folder / f"{name}.dat").write_text("\n".join(lines) + "\n")
    return [f"{folder.name}/{name}.dat" for name in files]


@pytest.mark.slow
def test_the_study_runs_resumes_and_is_compared(bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)  # a test process of several has the width of their terminal
    paths = write_datasets(bakeoff.folder / "keel")
    words = [*COMMAND, "experiment=study", f"dataset.path={','.join(paths)}", "timeout=null"]
    # Values on the command line replace those of the file.
    started = bakeoff(*words, "learner=majority,naive_bayes")
    assert (started.status, "6 jobs: 6 to run" in started.out) == (0, True)
    answer = bakeoff(*words, f"learner={LEARNERS}")
    assert answer.status == 0, answer.err
    assert "9 jobs: 3 to run, 6 already done" in answer.out
    assert re.search(r"^configuration +spaced +nominal +coded$", answer.out, re.M)
    assert "bakeoff compare sweep=study\n" in answer.out
    described = {run.data.params["dataset"]: run.data.params for run in bakeoff.runs()}
    assert set(described) == {"spaced", "nominal", "coded"}
    assert {params["evaluation.folds"] for params in described.values()} == {"10"}
    report = bakeoff("compare", "sweep=study", "to=json")
    assert report.status == 0, report.err
    shown = json.loads(report.out)
    assert sorted(dataset["name"] for dataset in shown["datasets"]) == ["coded", "nominal", "spaced"]
