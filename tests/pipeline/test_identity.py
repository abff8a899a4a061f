"""Identity: the same result has the same hash, and everything that decides a result changes the hash."""

from __future__ import annotations

from typing import Any

import pytest

from bakeoff.pipeline import source_code
from bakeoff.pipeline.identity import DECISIVE_KEYS, forget_code, hash_code, hash_config
from bakeoff.pipeline.source_code import OWN_PACKAGE, collect_imports
from bakeoff.pipeline.stages.dataset import load_bundled

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


def test_a_hash_is_sixteen_hexadecimal_digits_and_stays_the_same() -> None:
    assert hash_config(SPEC, DIGEST) == hash_config(SPEC, DIGEST)
    assert len(hash_config(SPEC, DIGEST)) == 16
    assert int(hash_config(SPEC, DIGEST), 16) >= 0


def test_the_order_of_keys_does_not_count() -> None:
    reordered = {
        key: dict(reversed(value.items())) if isinstance(value, dict) else value
        for key, value in reversed(SPEC.items())
    }
    assert hash_config(reordered, DIGEST) == hash_config(SPEC, DIGEST)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("learner.n_neighbors", 7),
        ("learner.weights", None),
        ("learner.new", 1),
        ("learner._target_", "sklearn.neighbors.KNeighborsClassifier"),
        ("preprocessing.nominal", [{"_target_": "o"}]),
        ("preprocessing.numeric", [{"_target_": "i"}, {"_target_": "s"}]),
        ("tuning.folds", 5),
        ("pruning.method", "best_first"),
        ("evaluation.folds", 10),
        ("evaluation.validation", 0.2),
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
    digests = {load_bundled(name).digest() for name in ("iris", "wine")} | {
        load_bundled("breast_cancer", "benign").digest()
    }
    assert len({hash_config(SPEC, digest) for digest in digests}) == 3


def test_every_part_is_decisive_or_stands_apart_on_purpose() -> None:
    assert set(SPEC) - set(DECISIVE_KEYS) == {"dataset", "tracking", "trust"}


# Code counts


def test_code_of_another_learner_does_not_count() -> None:
    one, other = (hash_code(frozenset({f"bakeoff.learners.{name}"})) for name in ("KNeighborsClassifier", "SVC"))
    assert one != other
    reached = collect_imports({"bakeoff.learners.knn.classifier"}, {OWN_PACKAGE})
    assert not any(module.startswith("bakeoff.learners.svm") for module in reached)


def test_the_version_of_a_library_counts_for_the_learners_that_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    targets = frozenset({"bakeoff.learners.boosting.XGBoostClassifier"})
    others = frozenset({"bakeoff.learners.MajorityClassifier"})
    hashes = []
    for version in ("3.0", "3.1"):
        installed = {"xgboost": version, "numpy": "2", "scikit-learn": "1.9"}
        monkeypatch.setattr(source_code, "version", installed.__getitem__)
        forget_code()
        hashes.append((hash_code(targets), hash_code(others)))
    forget_code()
    assert hashes[0][0] != hashes[1][0]
    assert hashes[0][1] == hashes[1][1]
