"""Identity: the same result has the same hash, and whatever decides a result changes it."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.dataset import bundled
from pipeline.sweep import DECISIVE, config_hash

SPEC: dict[str, Any] = {
    "dataset": {"_target_": "pipeline.dataset.read_table", "path": "a.csv", "target": "y"},
    "preprocessing": {"_target_": "p", "numeric": [{"_target_": "s"}, {"_target_": "i"}], "nominal": []},
    "learner": {"_target_": "learners.KNeighborsClassifier", "n_neighbors": 5, "weights": "uniform", "p": 2.0},
    "tuning": {"_target_": "pipeline.tuning.NoTuning"},
    "pruning": {"_target_": "pipeline.pruning.NoPruning"},
    "evaluation": {"_target_": "pipeline.splitting.KFold", "folds": 5, "validation": 0, "metrics": None},
    "tracking": {"_target_": "pipeline.tracking.NoTracker"},
    "seed": 0,
    "trust": [],
}
DIGEST = "0123456789abcdef"


def changed(key: str, value: Any) -> dict[str, Any]:
    """Return SPEC with one dotted key set."""
    part, _, name = key.partition(".")
    return SPEC | {part: SPEC[part] | {name: value} if name else value}


def test_a_hash_is_sixteen_hexadecimal_digits_and_stays_the_same() -> None:
    assert config_hash(SPEC, DIGEST) == config_hash(SPEC, DIGEST)
    assert len(config_hash(SPEC, DIGEST)) == 16
    assert int(config_hash(SPEC, DIGEST), 16) >= 0


def test_the_order_of_keys_does_not_count() -> None:
    reordered = {
        key: dict(reversed(value.items())) if isinstance(value, dict) else value
        for key, value in reversed(SPEC.items())
    }
    assert config_hash(reordered, DIGEST) == config_hash(SPEC, DIGEST)


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
    assert config_hash(changed(key, value), DIGEST) != config_hash(SPEC, DIGEST)


@pytest.mark.parametrize(
    ("key", "value"),
    [("dataset.path", "/elsewhere/b.csv"), ("tracking.uri", "http://server"), ("tracking", {}), ("trust", ["mine"])],
)
def test_where_data_lie_and_runs_are_kept_does_not_change_it(key: str, value: Any) -> None:
    assert config_hash(changed(key, value), DIGEST) == config_hash(SPEC, DIGEST)


def test_the_data_change_it() -> None:
    digests = {bundled(name).digest() for name in ("iris", "wine")} | {bundled("breast_cancer", "benign").digest()}
    assert len({config_hash(SPEC, digest) for digest in digests}) == 3


def test_every_part_is_decisive_or_stands_apart_on_purpose() -> None:
    assert set(SPEC) - set(DECISIVE) == {"dataset", "tracking", "trust"}
