"""Identity: the same result has the same hash, and everything that decides a result changes the hash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import warm_process

from bakeoff.pipeline import identity
from bakeoff.pipeline.identity import DECISIVE_KEYS, hash_code, hash_config
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


# Code counts, and its formatting does not

OWN = """
{comment}
from own.inner import HALF


class Floor:
    {docstring}

    def fit(self, X, y):
        self.half_ = HALF {operator} 1
        return self
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder from which Python imports."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def digest_of(
    folder: Path, *, comment: str = "", docstring: str = '"""."""', operator: str = "+", half: str = "0.5"
) -> str:
    """Write a learner of the user, and return the digest of its code in a new process."""
    (folder / "own").mkdir(exist_ok=True)
    (folder / "own" / "__init__.py").touch()
    (folder / "own" / "inner.py").write_text(f"HALF = {half}\n")
    (folder / "own" / "floor.py").write_text(OWN.format(comment=comment, docstring=docstring, operator=operator))
    return warm_process.call(hash_code, frozenset({"own.floor.Floor"}))


@pytest.mark.slow
def test_comments_docstrings_and_formatting_of_code_do_not_count(folder: Path) -> None:
    plain = digest_of(folder)
    assert digest_of(folder, comment="# a remark\n\n\n", docstring='"""Says more.\n\n    And more."""') == plain


@pytest.mark.slow
def test_code_of_the_learner_and_of_what_it_imports_counts(folder: Path) -> None:
    plain = digest_of(folder)
    assert len({plain, digest_of(folder, operator="-"), digest_of(folder, half="0.25")}) == 3


@pytest.mark.slow
def test_code_of_a_scorer_of_the_user_counts(folder: Path) -> None:
    digest_of(folder)
    digests = set()
    for beta in (1, 2):
        lines = [
            "from sklearn.metrics import fbeta_score, make_scorer",
            f"scorer = make_scorer(fbeta_score, beta={beta})",
        ]
        (folder / "own" / "scores.py").write_text("\n".join(lines))
        digests.add(warm_process.call(hash_code, frozenset({"own.scores.scorer"})))
    assert len(digests) == 2


def test_code_of_another_learner_does_not_count() -> None:
    one, other = (hash_code(frozenset({f"bakeoff.learners.{name}"})) for name in ("KNeighborsClassifier", "SVC"))
    assert one != other
    from bakeoff.pipeline import identity

    reached = identity._collect_imports({"bakeoff.learners.knn.classifier"}, {identity.OWN_PACKAGE})
    assert not any(module.startswith("bakeoff.learners.svm") for module in reached)


def test_the_version_of_a_library_counts_for_the_learners_that_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    targets = frozenset({"bakeoff.learners.boosting.XGBoostClassifier"})
    others = frozenset({"bakeoff.learners.MajorityClassifier"})
    hashes = []
    for version in ("3.0", "3.1"):
        installed = {"xgboost": version, "numpy": "2", "scikit-learn": "1.9"}
        monkeypatch.setattr(identity, "version", installed.__getitem__)
        hash_code.cache_clear()
        hashes.append((hash_code(targets), hash_code(others)))
    hash_code.cache_clear()
    assert hashes[0][0] != hashes[1][0]
    assert hashes[0][1] == hashes[1][1]
