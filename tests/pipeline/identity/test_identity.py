"""Identity: the same result has the same hash, and everything that decides a result changes the hash."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from bakeoff import learners
from bakeoff.pipeline.identity import config_hash
from bakeoff.pipeline.identity.config_hash import DECISIVE_KEYS, hash_config, hash_own_code, list_families
from bakeoff.version import PACKAGE_FOLDER

SPEC: dict[str, Any] = {
    "dataset": {"_target_": "bakeoff.pipeline.stages.dataset.read_table", "path": "a.csv", "target": "y"},
    "preprocessing": {"_target_": "p", "numeric": [{"_target_": "s"}, {"_target_": "i"}], "nominal": []},
    "learner": {"_target_": "bakeoff.learners.KNeighborsClassifier", "n_neighbors": 5, "weights": "uniform", "p": 2.0},
    "tuning": {"_target_": "bakeoff.pipeline.stages.tuning.NoTuning"},
    "pruning": {"_target_": "bakeoff.pipeline.stages.pruning.NoPruning"},
    "balance": {"_target_": "bakeoff.pipeline.stages.balance.NoBalance"},
    "target": {"_target_": "bakeoff.pipeline.stages.target.NoTarget"},
    "calibration": {"_target_": "bakeoff.pipeline.stages.calibration.NoCalibration"},
    "threshold": {"_target_": "bakeoff.pipeline.stages.threshold.NoThreshold"},
    "evaluation": {"_target_": "bakeoff.pipeline.stages.splitting.KFold", "folds": 5, "validation": 0, "metrics": None},
    "tracking": {"_target_": "bakeoff.pipeline.tracking.NoTracker"},
    "seed": 0,
    "trust": [],
}
DIGEST = "0123456789abcdef"


def changed(key: str, value: Any) -> dict[str, Any]:
    """Return SPEC with another value of a dotted key."""
    part, _, name = key.partition(".")
    return SPEC | {part: SPEC[part] | {name: value} if name else value}


def test_a_hash_has_sixteen_hexadecimal_digits_whatever_the_order_of_keys_is() -> None:
    reordered = {
        key: dict(reversed(value.items())) if isinstance(value, dict) else value
        for key, value in reversed(SPEC.items())
    }
    assert hash_config(reordered, DIGEST) == hash_config(SPEC, DIGEST)
    assert len(bytes.fromhex(hash_config(SPEC, DIGEST))) == 8


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("learner.weights", None),
        ("learner.new", 1),
        ("learner._target_", "sklearn.neighbors.KNeighborsClassifier"),
        ("preprocessing.numeric", [{"_target_": "i"}, {"_target_": "s"}]),
        ("pruning.method", "best_first"),
        ("evaluation.metrics", ["f1"]),
        ("seed", 1),
    ],
)
def test_whatever_decides_the_result_changes_it(key: str, value: Any) -> None:
    assert hash_config(changed(key, value), DIGEST) != hash_config(SPEC, DIGEST)


@pytest.mark.parametrize(
    ("key", "value"),
    [("dataset.path", "/elsewhere/b.csv"), ("tracking.uri", "http://server"), ("tracking", {}), ("trust", ["mine"])],
)
def test_where_data_lie_and_runs_are_kept_does_not_change_it(key: str, value: Any) -> None:
    assert hash_config(changed(key, value), DIGEST) == hash_config(SPEC, DIGEST)


def test_the_data_change_it() -> None:
    assert hash_config(SPEC, DIGEST[::-1]) != hash_config(SPEC, DIGEST)


def test_every_part_is_decisive_or_stands_apart_on_purpose() -> None:
    assert set(SPEC) - set(DECISIVE_KEYS) == {"dataset", "tracking", "trust"}


# bakeoff's own code counts


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a copy of the code."""
    monkeypatch.setattr(config_hash, "hash_own_code", hash_own_code.__wrapped__)
    for name in ("learners", "pipeline"):
        shutil.copytree(PACKAGE_FOLDER / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


def hash_learners(folder: Path) -> dict[str, str]:
    """Return the digest of bakeoff's own part of a job of each learner, ours and one of scikit-learn."""
    classes = {name: learner.__module__ for name, learner in learners.REGISTRY.items()} | {"sklearn": "sklearn.svm"}
    return {name: config_hash.hash_own_code(list_families([module]), folder) for name, module in classes.items()}


OURS = set(learners.REGISTRY)
TREES = {"decision_tree", "decision_tree_regressor", "random_forest", "random_forest_regressor"}


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("learners/knn/__init__.py", {"knn", "knn_regressor"}),
        ("learners/decision_tree/__init__.py", TREES),
        ("learners/majority.py", {"majority", "mean"}),
        ("learners/base/estimator.py", OURS),
        ("pipeline/stages/pruning.py", OURS | {"sklearn"}),
        ("pipeline/experiment/experiment.py", OURS | {"sklearn"}),
        ("pipeline/text/secrets.py", set()),
        ("pipeline/errors.py", set()),
        ("pipeline/config/settle.py", set()),
    ],
)
def test_an_edit_changes_the_hashes_of_the_learners_whose_numbers_it_may_decide_and_no_other(
    copy: Path, file: str, changed: set[str]
) -> None:
    before = hash_learners(copy)
    with (copy / file).open("a") as stream:
        stream.write("import math\n")
    after = hash_learners(copy)
    assert {name for name in before if before[name] != after[name]} == changed


def test_the_line_ends_of_windows_make_no_other_code(copy: Path) -> None:
    before = hash_learners(copy)
    for file in copy.rglob("*.py"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert hash_learners(copy) == before
