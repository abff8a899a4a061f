"""Attacks by configurations of others: each looks for the file that it would write if its code ran."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from command import Bakeoff

LEAK = "leak"
WRITES = f"from pathlib import Path\nPath({LEAK!r}).touch()\n"
"""The code of a module that shows that it was imported."""
LEARNER = "from sklearn.dummy import DummyClassifier\n\n\nclass Most(DummyClassifier):\n    pass\n"
IRIS = ("dataset=iris", "tracking=none")
EVIL = {"_target_": "evil.Most"}
PLACES: dict[str, dict[str, Any]] = {
    "a learner": {"learner": EVIL},
    "a learner that may be pruned": {"learner": EVIL, "evaluation": {"validation": 0.2}, "pruning": {"method": "auto"}},
    "a parameter of a learner": {"learner": {"estimator": EVIL}},
    "a dataset": {"dataset": EVIL},
    "a step": {"preprocessing": {"then": [EVIL]}},
    "a step of one column": {"preprocessing": {"columns": [{"names": ["x"], "steps": [EVIL]}]}},
    "an evaluation": {"evaluation": EVIL},
    "a metric": {"evaluation": {"metrics": ["accuracy", {**EVIL, "greater_is_better": True}]}},
    "a metric by its name": {"evaluation": {"metrics": ["accuracy", "evil.profit"]}},
    "a figure": {"figures": [EVIL]},
    "a parameter of a figure": {"figures": [{"trees": {"draw_tree": EVIL}}]},
    "a value of the space": {"space": {"estimator": [EVIL]}},
    "a part of tuning": {"tuning": {"_target_": "bakeoff.pipeline.stages.tuning.GridTuning", "space": {"x": [EVIL]}}},
    "a tracker": {"tracking": EVIL},
    "an audit": {"audit": EVIL},
    "a method of a scikit-learn module": {"learner": {"_target_": "sklearn.svm.evil.Most"}},
    "an interpolation": {"learner": {"_target_": "${hidden.name}"}, "hidden": {"name": "evil.Most"}},
    "an interpolated part": {"learner": "${hidden}", "hidden": EVIL},
    "a made part": {"learner": {"estimator": "${oc.create:{_target_: evil.Most}}"}},
    "a part that is made later": {"learner": {"estimator": "\\${oc.create:{_target_: evil.Most}}"}},
    "a decoded part": {"learner": {"estimator": "${oc.decode:'{_target_: evil.Most}'}"}},
}


def write_experiment(folder: Path, keys: dict[str, Any]) -> None:
    """Write a file of an experiment that names code of others, which also lies there."""
    (folder / "evil.py").write_text(WRITES + LEARNER)
    (folder / "conf" / "experiment").mkdir(parents=True)
    text = f"# @package _global_\n# Of somebody else.\n{yaml.safe_dump(keys, sort_keys=False)}"
    (folder / "conf" / "experiment" / "theirs.yaml").write_text(text)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("mode", ["run", "sweep"])
def test_code_that_is_not_trusted_is_refused_before_it_is_imported(bakeoff: Bakeoff, place: str, mode: str) -> None:
    write_experiment(bakeoff.folder, PLACES[place])
    learner = "learner=sklearn_adaboost" if "estimator" in str(PLACES[place]) else "learner=decision_tree"
    words = [learner, "tracking=none", "experiment=theirs"]
    words += ["dataset=iris"] if "dataset" not in PLACES[place] else []
    words += ["-m", "seed=0,1"] if mode == "sweep" else []
    answer = bakeoff(*words)
    assert not (bakeoff.folder / LEAK).exists()
    assert "evil" not in sys.modules
    assert answer.status in (1, 2), answer.out
    assert "Traceback" not in answer.err


def test_a_class_is_of_its_kind_before_its_constructor_is_called(bakeoff: Bakeoff) -> None:
    text = "from pathlib import Path\n\n\nclass Writer:\n    def __init__(self, path):\n        Path(path).touch()\n"
    (bakeoff.folder / "theirs.py").write_text(text)
    words = ("learner=majority", *IRIS, "trust=[theirs]")
    for key in ("learner", "evaluation", "tracking", "audit"):
        answer = bakeoff(*words, f"{key}._target_=theirs.Writer", f"+{key}.path={LEAK}")
        assert (answer.status, (bakeoff.folder / LEAK).exists()) == (2, False), answer.err
        assert f"{key}._target_='theirs.Writer'" in answer.err


def test_a_trusted_module_gives_access_to_its_own_code_alone(bakeoff: Bakeoff) -> None:
    (bakeoff.folder / "open_handed.py").write_text(
        "import os\nfrom os import system\nimport subprocess as sp\n" + LEARNER
    )
    names = [
        "os.system",
        "system",
        "sp.Popen",
        "os.system.__call__",
        "Most.__init__.__globals__",
        "Most.__subclasses__",
    ]
    for name in names:
        answer = bakeoff(
            "learner=majority", *IRIS, "trust=[open_handed]",
            f"learner._target_=open_handed.{name}", f"+learner.command=touch {LEAK}",
        )  # fmt: skip
        assert (answer.status, (bakeoff.folder / LEAK).exists()) == (2, False), answer.err
        assert f"open_handed.{name}" in answer.err


@pytest.mark.parametrize("verb", ["inspect", "check"])
def test_verbs_import_nothing_that_is_not_trusted(bakeoff: Bakeoff, verb: str) -> None:
    write_experiment(bakeoff.folder, {})
    (bakeoff.folder / "conf" / "dataset").mkdir()
    (bakeoff.folder / "conf" / "dataset" / "theirs.yaml").write_text("# Theirs.\n_target_: evil.load\n")
    answer = bakeoff(verb, "dataset=theirs" if verb == "inspect" else "conf/dataset/theirs.yaml")
    assert answer.status in (1, 2)
    assert "trust=[evil]" in answer.out + answer.err
    assert not (bakeoff.folder / LEAK).exists()


@pytest.mark.slow
@pytest.mark.parametrize("package", ["sklearn", "yaml"])
def test_a_folder_with_the_name_of_a_package_does_not_take_its_place(tmp_path: Path, package: str) -> None:
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(WRITES)
    words = ["learner=sklearn_majority", *IRIS]
    answer = subprocess.run(
        [sys.executable, "-m", "bakeoff", *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    assert not (tmp_path / LEAK).exists()


def test_a_file_with_the_name_of_a_package_of_an_extra_is_not_imported(
    bakeoff: Bakeoff, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bakeoff.pipeline.identity.source_code import forget_code

    theirs = bakeoff.folder / "theirs"
    (theirs / "imblearn").mkdir(parents=True)
    (theirs / "imblearn" / "__init__.py").write_text(WRITES)
    # It is found before the package that is installed, as it would be where none is.
    monkeypatch.setattr(sys, "path", [str(theirs), *sys.path])
    for name in [name for name in sys.modules if name.split(".")[0] == "imblearn"]:
        monkeypatch.delitem(sys.modules, name)
    forget_code()
    answer = bakeoff("learner=majority", *IRIS, "balance=smote")
    forget_code()
    assert answer.status == 2
    assert "has the same name; rename that file or folder" in answer.err
    assert not (bakeoff.folder / LEAK).exists()
