"""A model that cannot be stored is rejected before the first fit, and known parts need no trial."""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Any, Self

import numpy as np
import pytest
import skops.io
from doubles import check_and_split, composed, experiment
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from bakeoff.pipeline.checks.storage import check_storable, list_unknown_variants
from bakeoff.pipeline.config.build import EXTRAS, build_object
from bakeoff.pipeline.config.compose_job import resolve_config
from bakeoff.pipeline.config.options import CONF
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import Experiment, fit_model
from bakeoff.pipeline.model.estimator_file import is_known, trusted_types
from bakeoff.pipeline.stages.dataset import load_bundled
from bakeoff.pipeline.stages.tuning import GridTuning

IRIS = load_bundled("iris")
DIABETES = load_bundled("diabetes")
OPTIONS = sorted(file.stem for file in (CONF / "learner").glob("*.yaml"))


CANBERRA = KNeighborsClassifier(metric="canberra", algorithm="ball_tree")


class Base(ClassifierMixin, BaseEstimator):
    """Predicts the class in the middle of the sorted classes."""

    n_fits = 0

    def __init__(self, width: float = 1.0, kind: str = "plain") -> None:
        self.width = width
        self.kind = kind

    def fit(self, X: Any, y: Any) -> Self:
        type(self).n_fits += 1
        self.classes_ = np.unique(y)
        self.answer_ = self.classes_[len(self.classes_) // 2]
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.repeat(getattr(self, "answer_", self.classes_[0]), len(X))


class HoldsLock(Base):
    """Holds what no file can hold."""

    def fit(self, X: Any, y: Any) -> Self:
        self.lock_ = threading.Lock()
        return super().fit(X, y)


class HoldsFraction(Base):
    """Holds a type of a package that is not trusted."""

    def fit(self, X: Any, y: Any) -> Self:
        self.fraction_ = Fraction(1, 3)
        return super().fit(X, y)


class Forgets(Base):
    """Does not store its answer."""

    def __getstate__(self) -> dict[str, Any]:
        return {"width": self.width, "kind": self.kind, "classes_": self.classes_}


class NeedsManyRows(Base):
    """Fails on few rows."""

    def fit(self, X: Any, y: Any) -> Self:
        if len(y) < 80:
            raise ValueError("too few rows")
        return super().fit(X, y)


class DrawsNumbers(Base):
    """Takes random numbers from NumPy's state, and never predicts the same."""

    def predict(self, X: Any) -> np.ndarray:
        return self.classes_[np.random.randint(3, size=len(X))]


def check(checked: Experiment, trust: tuple[str, ...] = (__name__.split(".")[0],)) -> list[str]:
    """Check an experiment as a job does, and return the descriptions of its trials."""
    (split,) = check_and_split(checked).folds
    descriptions = list(list_unknown_variants(checked, trust))
    for description in descriptions:
        check_storable(checked, split, trust, description)
    return descriptions


def build(name: str) -> Any:
    return build_object(resolve_config(composed(f"learner={name}", "seed=3"))["learner"], "learner", [])


@pytest.mark.parametrize("name", OPTIONS)
def test_a_known_learner_is_stored_and_predicts_the_same(name: str) -> None:
    learner = build(name)
    if "n_estimators" in learner.get_params():
        learner.set_params(n_estimators=5)
    data = IRIS if is_classifier(learner) else DIABETES
    prepared = experiment(data, learner, preprocessing=StandardScaler().set_output(transform="pandas"))
    (split,) = check_and_split(prepared).folds
    few = type(split)(split.train[:80], split.validation, split.test)
    model = fit_model(prepared, few).predictor
    dumped = skops.io.dumps(model)
    loaded = skops.io.loads(dumped, trusted=trusted_types(dumped))
    assert loaded.predict(data.X).tolist() == model.predict(data.X).tolist()


def test_the_options_of_bakeoff_need_no_trial() -> None:
    installed = [name for name in OPTIONS if name.split("_")[0] not in EXTRAS]
    unknown = [name for name in installed if not is_known(build(name))]
    # The solver of the first is not the default, and the others have any members.
    assert unknown == ["sklearn_qda", *sorted(name for name in OPTIONS if "stacking" in name or "voting" in name)]


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (HoldsLock(), r"lock.*tracking\.models"),  # the first words depend on the version of Python
        (HoldsFraction(), r"the model needs code that runs .*: fractions\.Fraction\. .*trust=\[tests,fractions\]"),
        (Forgets(), r"loses part of its fitted state when it is stored and loaded: predict returns different values"),
        (CANBERRA, r"Canberra.*trust=\[tests,sklearn\]"),
    ],
)
def test_a_model_that_cannot_be_kept_is_rejected(learner: Any, message: str) -> None:
    with pytest.raises(UserError, match=message) as refusal:
        check(experiment(IRIS, learner))
    assert "tracking.models=false" in str(refusal.value)


def test_a_package_that_is_trusted_may_be_held() -> None:
    trusted = (__name__.split(".")[0], "fractions")
    assert len(check(experiment(IRIS, HoldsFraction()), trusted)) == 1


def test_candidates_that_differ_in_numbers_share_a_trial_and_words_have_their_own() -> None:
    Base.n_fits = 0
    tuning = GridTuning({"width": [1.0, 2.0, 3.0], "kind": ["plain", "other"]}, folds=0)
    descriptions = check(experiment(IRIS, Base(), tuning=tuning))
    assert len(descriptions) == 2
    assert Base.n_fits == 2


def test_a_learner_that_needs_more_rows_is_not_rejected() -> None:
    assert len(check(experiment(IRIS, NeedsManyRows()))) == 1


def test_the_trial_leaves_the_state_of_numpy_as_it_was() -> None:
    np.random.seed(7)
    expected = np.random.RandomState(7).random_sample()
    assert len(check(experiment(IRIS, DrawsNumbers()))) == 1
    assert np.random.random_sample() == expected
