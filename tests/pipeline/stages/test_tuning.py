"""Tuning: equal to a plain loop, the first of equal candidates wins, and test rows are never seen.

Points of a space are drawn and looked up by arithmetic, as if all of them were listed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from doubles import Log, Recorder, composed, experiment, numbered
from example_counts import examples
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import ParameterGrid, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from bakeoff.learners import REGISTRY
from bakeoff.learners import KNeighborsClassifier as KNeighbors
from bakeoff.pipeline.checks import check_splits
from bakeoff.pipeline.config.compose_job import resolve_config
from bakeoff.pipeline.config.options import CONF
from bakeoff.pipeline.config.settle import settle_config
from bakeoff.pipeline.config.words import Invocation
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import fit_model
from bakeoff.pipeline.experiment.builder import PartCache, leave_out_candidates
from bakeoff.pipeline.stages.dataset import load_bundled
from bakeoff.pipeline.stages.preprocessing import make_preprocessing
from bakeoff.pipeline.stages.splitting import KFold, SplitInput
from bakeoff.pipeline.stages.tuning import (
    GridTuning,
    NoTuning,
    ScoreFile,
    TuningData,
    find_best_candidate,
    list_candidate_learners,
    score_file,
)
from bakeoff.pipeline.stages.tuning.candidates import find_simplest
from bakeoff.pipeline.stages.tuning.grid import CandidateResults
from bakeoff.pipeline.stages.tuning.race import find_worse
from bakeoff.pipeline.sweep.job_runner import prepare_job

SPACE: dict[str, list[Any]] = {"n_neighbors": [1, 3, 5, 9, 15], "weights": ["uniform", "distance"]}


def tuning_data(X: Any, y: Any, n_train: int, folds: int = 0, score: Callable[..., float] | None = None) -> TuningData:
    """Return rows with inner folds, or with those behind the training rows as validation part."""

    def accuracy(model: Any, rows: Any, truth: Any, weights: Any) -> float:
        return float(accuracy_score(truth, model.predict(rows)))

    train = np.arange(n_train)
    inner = [(train, np.arange(n_train, len(y)))]
    if folds:
        inner = KFold(folds=folds).make_inner_folds(SplitInput(np.asarray(y), True), train, folds, seed=7)
    return TuningData(pd.DataFrame(X), np.asarray(y), inner, score or accuracy, True, seed=7)


def candidates(space: dict[str, list[Any]]) -> list[dict[str, Any]]:
    names = sorted(space)
    return [dict(zip(names, values, strict=True)) for values in product(*(space[name] for name in names))]


# A plain loop


def test_of_candidates_that_only_rounding_tells_apart_the_first_is_chosen() -> None:
    tenths = np.array([0.1 + 0.2, 0.3])
    for scores in (tenths, tenths[::-1], tenths * 1e6, np.append(tenths, np.nan)):
        assert find_best_candidate(scores, greater_is_better=True) == 0
        assert find_best_candidate(scores, greater_is_better=False) == 0
    assert find_best_candidate(np.array([0.3, 0.3 + 1e-9, np.inf]), greater_is_better=True) == 2
    assert find_best_candidate(np.array([np.inf, 0.3 + 1e-9, 0.3]), greater_is_better=False) == 2


def test_a_grid_on_the_validation_part_equals_a_loop() -> None:
    wine = load_bundled("wine")
    held_out = experiment(
        wine, KNeighborsClassifier(), preprocessing=make_preprocessing([StandardScaler()]), tuning=GridTuning(SPACE)
    )
    (split,) = held_out.make_splits().folds
    scores = []
    for parameters in candidates(SPACE):
        model = make_pipeline(StandardScaler(), KNeighborsClassifier(**parameters))
        model.fit(wine.X.iloc[split.train], wine.y[split.train])
        scores.append(model.score(wine.X.iloc[split.validation], wine.y[split.validation]))
    model = fit_model(held_out, split)
    assert model.candidates is not None
    assert model.candidates[list(SPACE)].to_dict("records") == candidates(SPACE)
    assert model.candidates["validation_score"].tolist() == pytest.approx(scores, rel=1e-15)
    parameters = model.pipeline[-1].get_params()
    assert {name: parameters[name] for name in SPACE} == candidates(SPACE)[int(np.argmax(scores))]


# Choice


def test_a_candidate_without_a_score_never_wins() -> None:
    def undefined_at_depth_one(model: Any, X: Any, y: Any, weights: Any) -> float:
        return float("nan") if model.max_depth == 1 else 0.5

    X, y = np.arange(12.0).reshape(-1, 1), np.arange(12) % 2
    model, rows = Pipeline([("learner", DecisionTreeClassifier())]), tuning_data(X, y, 8, score=undefined_at_depth_one)
    best, table = GridTuning({"max_depth": [1, 2]}).tune(model, rows)
    assert best[-1].max_depth == 2
    assert table is not None
    assert np.isnan(table["validation_score"][0])
    with pytest.raises(UserError, match="the headline metric is not defined on the inner validation rows"):
        GridTuning({"max_depth": [1]}).tune(model, rows)


class Stumbling(KNeighbors):
    """k-NN that cannot be fitted with 2 neighbours, neither alone nor along its path."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Stumbling:
        if self.n_neighbors == 2:
            raise ArithmeticError("2 neighbours")
        super().fit(X, y, sample_weight)
        return self

    def path(self, X: Any, y: Any, parameter: str, values: Any, sample_weight: Any = None) -> Iterator[KNeighbors]:
        for value in values:
            yield clone(self).set_params(**{parameter: value}).fit(X, y, sample_weight)


@pytest.mark.parametrize("keys", [{"folds": 3}, {"folds": 3, "budget": 60}, {"folds": 3, "strict": False}])
def test_a_candidate_that_fails_is_left_out_with_its_reason_unless_all_fail(keys: dict[str, Any]) -> None:
    X, y = np.arange(40.0).reshape(-1, 1), np.arange(40) // 20
    model, rows = Pipeline([("learner", Stumbling())]), tuning_data(X, y, 40, folds=3)
    with pytest.warns(UserWarning, match="left out: the candidate n_neighbors=2 of tuning: ArithmeticError: 2 neigh"):
        best, table = GridTuning({"n_neighbors": [2, 1, 3]}, **keys).tune(model, rows)
    assert table is not None
    assert best[-1].n_neighbors == 1
    assert np.isnan(table["validation_score"].to_numpy()).tolist() == [True, False, False]
    with (
        pytest.warns(UserWarning, match="left out"),
        pytest.raises(UserError, match="no candidate left; the candidate n_neighbors=2 of tuning: ArithmeticError"),
    ):
        GridTuning({"n_neighbors": [2]}, **keys).tune(model, rows)


# A search that was killed


class CountedScores:
    """The accuracy of fitted learners; the process is killed when the last of some scores has been computed."""

    def __init__(self, most: int = sys.maxsize) -> None:
        self.most = most
        self.n = 0

    def __call__(self, model: Any, X: Any, y: Any, weights: Any) -> float:
        self.n += 1
        if self.n > self.most:
            raise KeyboardInterrupt
        return float(accuracy_score(y, model.predict(X)))


def read_search(tuning: GridTuning, score: CountedScores, path: Path | None) -> dict[str, Any]:
    """Return the best parameters and the table of a search of neighbours on digits, without its times."""
    digits = load_bundled("digits")
    rows = np.random.default_rng(0).permutation(1797)[:300]
    data = tuning_data(digits.X.iloc[rows], digits.y[rows], 300, tuning.folds, score)
    best, table = tuning.tune(Pipeline([("learner", Alone())]), replace(data, score_file=ScoreFile(path)))
    assert table is not None
    return {"best": best[-1].get_params(), "table": table.drop(columns="fit_seconds").to_dict()}


FIVE = GridTuning({"n_neighbors": [1, 2, 4, 90]}, folds=5)
RACE = replace(FIVE, race=0.05)


@pytest.mark.parametrize(("tuning", "most"), [(FIVE, 10), (FIVE, 20), (RACE, 13)])
def test_a_search_that_was_killed_goes_on_from_its_finished_inner_folds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tuning: GridTuning, most: int
) -> None:
    monkeypatch.setattr(score_file, "MIN_SECONDS", 0)
    kept, whole, rest = tmp_path / "kept", CountedScores(), CountedScores()
    expected = read_search(tuning, whole, None)
    with suppress(KeyboardInterrupt):
        read_search(tuning, CountedScores(most), kept)
    kept.write_bytes(kept.read_bytes()[:-1] + b"\n[[0, 4], [0, 1")  # the last line has no end
    assert read_search(tuning, rest, kept) == expected
    assert rest.n == whole.n - most // 4 * 4


OTHERS = "[[-1, 0], [0, 1, 2], [1, 1, 1], [0, 0, 0], []]"


@pytest.mark.parametrize("content", [OTHERS, "[[-1, 0], 1, 2, 3, 4]", "[]", "\0"])
def test_scores_of_other_candidates_and_damaged_lines_are_not_used(tmp_path: Path, content: str) -> None:
    (tmp_path / "kept").write_text(f"{content}\n")
    score = CountedScores()
    read_search(FIVE, score, tmp_path / "kept")
    assert score.n == 20


def test_scores_are_written_through_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(score_file, "MIN_SECONDS", 0)
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "kept").symlink_to(tmp_path / "precious")
    with pytest.warns(UserWarning, match="a killed run would have to repeat its tuning"):
        read_search(FIVE, CountedScores(), tmp_path / "kept")
    assert (tmp_path / "precious").read_text() == "mine"


# Paths


class Alone(KNeighbors):
    """k-NN without its path."""

    path_parameters = ()


class Walker(Recorder):
    """A recorder that records the path along its mark."""

    path_parameters = ("mark",)

    def path(self, X: Any, y: Any, parameter: str, values: Any, sample_weight: Any = None) -> Iterator[Recorder]:
        self._record(f"path {parameter} {list(values)}", X)
        for value in values:
            yield clone(self).set_params(**{parameter: value}).fit(X, y)


@pytest.mark.parametrize("folds", [0, 4])
def test_a_path_finds_what_refitting_each_candidate_finds(folds: int) -> None:
    digits = load_bundled("digits")
    rows = np.random.default_rng(0).permutation(1797)[:400]
    data = tuning_data(digits.X.iloc[rows], digits.y[rows], 300, folds)
    space: dict[str, list[Any]] = {
        "n_neighbors": [4, 2, 4, 9],
        "ties": ["first", "all"],
        "weights": ["uniform", "distance"],
    }
    (best, table), (other, plain) = (
        GridTuning(space, folds=folds).tune(Pipeline([("scale", StandardScaler()), ("learner", learner)]), data)
        for learner in (KNeighbors(), Alone())
    )
    assert table is not None
    assert plain is not None
    pd.testing.assert_frame_equal(table.drop(columns="fit_seconds"), plain.drop(columns="fit_seconds"))
    assert best[-1].get_params() == other[-1].get_params()
    assert table[list(space)].to_dict("records") == list(ParameterGrid(space))


@pytest.mark.parametrize("folds", [0, 3])
def test_a_path_never_sees_rows_that_test(folds: int) -> None:
    log = Log()
    held_out = experiment(learner=Walker(log), tuning=GridTuning({"mark": [1, 2]}, folds=folds))
    (split,) = held_out.make_splits().folds
    fit_model(held_out, split)
    touched = {row for _, rows in log for row in rows}
    assert touched == {*split.train, *(split.validation if folds == 0 else [])}
    for deed, rows in log:
        assert not deed.startswith(("path", "fit")) or set(rows) <= set(split.train)


# The same budget for every learner


def default_tuning(space: Any, **keys: Any) -> GridTuning:
    """Return what tuning=default builds, with other keys."""
    return GridTuning(space, **({"folds": 3, "n": 20, "strict": False} | keys))


SEEDS = (0, 3)


@pytest.mark.parametrize("learner", [KNeighborsClassifier(), KNeighbors()], ids=["each alone", "along a path"])
def test_with_a_budget_candidates_are_tried_in_an_order_that_depends_on_space_and_seed_alone(learner: Any) -> None:
    model = Pipeline([("learner", learner)])
    tried: dict[tuple[int, int], set[int]] = {}
    for name in ("wine", "iris"):
        table = load_bundled(name)
        data = tuning_data(table.X, table.y, 120, folds=3)
        _, whole = GridTuning(SPACE, folds=3).tune(model, data)
        assert whole is not None
        for seed, n in product(SEEDS, (2, 7)):
            best, limited = GridTuning(SPACE, folds=3, seed=seed, budget=1e-9, tried=(99, n)).tune(model, data)
            assert limited is not None
            assert len(limited) == n
            assert tried.setdefault((seed, n), set(limited.index)) == set(limited.index)
            expected = whole.loc[limited.index, "validation_score"]
            assert limited["validation_score"].tolist() == expected.tolist()
            assert best[-1].n_neighbors == whole.loc[expected.idxmax(), "n_neighbors"]
    assert all(tried[seed, 2] < tried[seed, 7] for seed in SEEDS)
    assert len({frozenset(tried[seed, 7]) for seed in SEEDS}) > 1
    _, first = GridTuning(SPACE, folds=3, budget=1e-9).tune(model, data)
    assert first is not None
    assert len(first) == 1
    assert set(first.index) < tried[0, 2]


@pytest.mark.parametrize(("n", "folds", "n_fits"), [(20, 3, 1 + 5 * 3), (2, 3, 1 + 2 * 3), (20, 0, 1 + 5)])
def test_the_fits_are_counted(n: int, folds: int, n_fits: int) -> None:
    log = Log()
    held_out = experiment(learner=Recorder(log), tuning=default_tuning({"mark": [1, 2, 3, 4, 5]}, n=n, folds=folds))
    model = fit_model(held_out, held_out.make_splits().folds[0])
    assert model.n_fits == sum(event.startswith("fit") for event, _ in log) == n_fits


def test_a_learner_without_a_space_is_fitted_as_given_and_that_is_said() -> None:
    spaces: list[Any] = [None, {}, []]
    for space in spaces:
        held_out = experiment(learner=Recorder(mark=7), tuning=default_tuning(space))
        model = fit_model(held_out, held_out.make_splits().folds[0])
        assert model.pipeline[-1].mark == 7
        assert (model.candidates, model.n_fits) == (None, 1)
        assert model.warnings == ("Recorder has no search space, so it is fitted without tuning",)


def test_candidates_that_need_more_rows_than_there_are_are_left_out_and_that_is_said() -> None:
    space: dict[str, list[Any]] = {"n_neighbors": [1, 3, 40, 41, 60], "weights": ["uniform", "distance"]}
    parts: dict[str, Any] = {"splitter": KFold(folds=5), "metrics": ["accuracy"]}
    lenient = experiment(numbered(60), KNeighbors(), tuning=default_tuning(space, folds=4), **parts)
    splits = lenient.make_splits()
    # 48 rows train; a candidate is fitted on three quarters of them.
    limited = leave_out_candidates(lenient, splits)
    check_splits(limited, splits)
    model = fit_model(limited, splits.folds[0])
    assert model.candidates is not None
    assert model.candidates["n_neighbors"].tolist() == [1, 1, 3, 3]
    assert model.n_fits == 1 + 4 * 4
    assert model.warnings == (
        "tuning leaves out n_neighbors=40,41,60, because the smallest part used for fitting has 36 rows",
    )
    strict = experiment(numbered(60), KNeighbors(), tuning=GridTuning(space, folds=4), **parts)
    assert leave_out_candidates(strict, splits) is strict
    with pytest.raises(UserError, match=r"space\.n_neighbors=40"):
        check_splits(strict, splits)


@pytest.mark.parametrize("learner", sorted(REGISTRY))
def test_every_learner_can_be_tuned_by_default(learner: str) -> None:
    dataset = "iris" if is_classifier(REGISTRY[learner]()) else "diabetes"
    spec = settle_config(resolve_config(composed(f"learner={learner}", f"dataset={dataset}", "tuning=default")))
    prepared = prepare_job(spec, Invocation({}), PartCache())
    tuning = prepared.experiment.tuning
    assert isinstance(tuning, GridTuning)
    has_space = (CONF / "space" / f"{learner}.yaml").exists()
    assert (0 < len(tuning.candidates) <= 20) == has_space
    assert tuning.folds == 5


# Errors


@pytest.mark.parametrize(
    ("space", "keys", "message"),
    [
        ([], {}, "tuning=grid has no space"),
        ({"n_neighbors": 5}, {}, "space.n_neighbors=5 must be a list of values to try"),
        ({"n_neighbors": []}, {}, r"space.n_neighbors=\[\] must be a list"),
        ({"weights": "uniform"}, {}, "space.weights='uniform' must be a list"),
        (SPACE, {"folds": 1}, "tuning.folds=1 must be 0 .* or an integer of at least 2"),
        (SPACE, {"folds": True}, "tuning.folds=True must be 0"),
        (SPACE, {"n": 0}, "tuning.n=0 must be a positive number of candidates, or null"),
        (SPACE, {"seed": -1}, "tuning.seed=-1 must be an integer of at least 0"),
    ],
)
def test_what_is_no_space_and_no_budget_is_refused(space: Any, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        GridTuning(space, **keys)


def test_candidate_learners_have_the_parameters_of_each_candidate() -> None:
    learner = KNeighborsClassifier(n_neighbors=7)
    tuning = GridTuning({"n_neighbors": [1, 3], "unknown": [0]})
    own, *candidates = list_candidate_learners(learner, tuning)
    assert own is learner
    assert [candidate.n_neighbors for candidate in candidates] == [1, 3]
    assert list_candidate_learners(learner, NoTuning()) == [learner]
    assert list_candidate_learners("no estimator", tuning) == ["no estimator"]


VALUES = st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True)
GRIDS = st.lists(st.dictionaries(st.sampled_from("abc"), VALUES, min_size=1), min_size=1, max_size=3)


@examples(60)
@given(GRIDS, st.dictionaries(st.sampled_from("abc"), st.integers(0, 5)), st.none() | st.integers(1, 9))
def test_candidates_are_drawn_as_from_a_list_of_those_that_are_allowed(
    grids: Any, largest: dict[str, int], n: int | None
) -> None:
    allowed = [
        dict(sorted(point.items()))
        for point in ParameterGrid(grids)
        if all(point.get(name, 0) <= most for name, most in largest.items())
    ]
    if n is not None and n < len(allowed):
        drawn = np.random.default_rng(7).choice(len(allowed), size=n, replace=False)
        allowed = [allowed[index] for index in np.sort(drawn)]
    assert GridTuning(grids, n=n, seed=7, strict=False, largest=largest).candidates == allowed


def test_twenty_candidates_are_drawn_from_a_thousand_million_million() -> None:
    space = {name: list(range(1000)) for name in "abcde"}
    tuning = GridTuning(space, folds=2, n=20)
    assert len({tuple(point.items()) for point in tuning.candidates}) == 20


# Races


RACE = GridTuning({"max_depth": [1, 2, 3, 4]}, folds=10, race=0.05)
GAPS = {1: 0.3, 2: 0.02, 3: 0.0, 4: 0.0}
"""Depth -> how much worse than the best one."""


def race(noise: float, tuning: GridTuning = RACE) -> tuple[Any, pd.DataFrame, int]:
    """Return the chosen learner, the candidates, and the number of fits of a race with scores from a generator."""
    fits: list[int] = []
    rng = np.random.default_rng(3)

    def score(model: Any, X: Any, y: Any, weights: Any) -> float:
        fits.append(model.max_depth)
        return float(0.9 - GAPS[model.max_depth] + noise * rng.normal())

    X, y = np.arange(200.0).reshape(-1, 1), np.arange(200) % 2
    best, table = tuning.tune(Pipeline([("learner", DecisionTreeClassifier())]), tuning_data(X, y, 200, 10, score))
    assert table is not None
    assert tuning.count_fits(table) == 1 + len(fits)
    assert [fits.count(depth) for depth in table["max_depth"]] == table["inner_folds"].tolist()
    return best[-1], table, len(fits)


def test_a_race_drops_what_is_clearly_worse_and_counts_the_fits_that_it_made() -> None:
    chosen, table, n_fits = race(noise=0.01)
    assert chosen.max_depth in (2, 3, 4)
    assert 3 <= table["inner_folds"][0] < 10
    assert table["inner_folds"].max() == 10
    assert n_fits < 40
    again = race(noise=0.01)
    assert again[2] == n_fits
    pd.testing.assert_frame_equal(again[1].drop(columns="fit_seconds"), table.drop(columns="fit_seconds"))


def test_a_race_ends_when_one_candidate_is_left_and_a_dropped_one_never_wins() -> None:
    _, table, n_fits = race(0.001, GridTuning({"max_depth": [1, 3]}, folds=10, race=0.05))
    assert table["inner_folds"].nunique() == 1
    assert 6 <= n_fits < 20
    scores = np.array([[0.9, 0.1, 0.5, 0.9], [0.5, 0.5, 0.6, np.nan]])
    worse = find_worse(scores, (3, 4), 1 / 3, 0.05, greater_is_better=True)
    assert worse.tolist() == [False, True]


class DrawnScores(CandidateResults):
    """Results whose scores were drawn: shape (number of candidates, inner folds)."""

    def __init__(self, tuning: GridTuning, data: TuningData, drawn: np.ndarray) -> None:
        super().__init__(tuning, Pipeline([("learner", None)]), data)
        self.drawn = drawn

    def _score_fold(self, number: int) -> Iterator[None]:
        self.scores[:, number] = self.drawn[:, number]
        yield


def drop_equal_candidates(n_candidates: int, n_races: int) -> np.ndarray:
    """Return whether each of equally good candidates was dropped, in each race: shape (n_races, n_candidates)."""
    tuning = GridTuning({"k": [*range(n_candidates)]}, folds=10, race=0.05)
    data = tuning_data(np.zeros((100, 1)), np.arange(100) % 2, 100, folds=10)
    rng = np.random.default_rng(n_candidates)
    is_dropped = np.ones((n_races, n_candidates), dtype=bool)
    for number in range(n_races):
        # The folds are correlated as the corrected t-test assumes.
        drawn = np.sqrt(1 / 9) * rng.standard_normal((n_candidates, 1)) + rng.standard_normal((n_candidates, 10))
        results = DrawnScores(tuning, data, drawn)
        results.collect()
        is_dropped[number, [*results.rows]] = False
    return is_dropped


@pytest.mark.parametrize("n_candidates", [2, 8, 16])
def test_an_equally_good_candidate_is_dropped_with_at_most_the_chance_that_a_race_is_given(n_candidates: int) -> None:
    # Without a correction for the number of candidates, .099 of 8 and .141 of 16 are dropped.
    assert 0.005 < drop_equal_candidates(n_candidates, n_races=300).mean() < 0.05


def test_a_candidate_that_was_dropped_before_harder_folds_is_not_chosen_for_its_easy_ones() -> None:
    rng = np.random.default_rng(0)
    depths: list[int] = []

    def score(model: Any, X: Any, y: Any, weights: Any) -> float:
        depths.append(model.max_depth)
        level = 0.9 if depths.count(model.max_depth) <= 3 else 0.1
        return float(level - GAPS[model.max_depth] + 0.0001 * rng.normal())

    X, y = np.arange(200.0).reshape(-1, 1), np.arange(200) % 2
    model = Pipeline([("learner", DecisionTreeClassifier())])
    best, table = RACE.tune(model, tuning_data(X, y, 200, 10, score))
    assert table is not None
    assert table["inner_folds"].iloc[int(table["validation_score"].argmax())] == 3
    assert best[-1].max_depth in (3, 4)


def test_a_race_looks_for_the_first_time_after_its_burn_in() -> None:
    for burn_in in (2, 3, 5):
        _, table, _ = race(0.0001, GridTuning({"max_depth": [1, 3, 4]}, folds=10, race=0.05, burn_in=burn_in))
        assert table["inner_folds"][0] == burn_in


# The simplest candidate within a standard error


DEPTHS = [{"max_depth": depth, "min_samples_leaf": leaf} for depth in (2, 8, None) for leaf in (1, 5)]


@pytest.mark.parametrize(
    ("is_close", "simpler", "chosen"),
    [
        ([True] * 6, {"max_depth": "smaller", "min_samples_leaf": "greater"}, {"max_depth": 2, "min_samples_leaf": 5}),
        (
            [True] * 6,
            {"min_samples_leaf": "greater", "max_depth": "greater"},
            {"max_depth": None, "min_samples_leaf": 5},
        ),
        ([False, False, True, True, True, True], {"max_depth": "smaller"}, {"max_depth": 8, "min_samples_leaf": 1}),
        (
            [False] * 4 + [True, True],
            {"max_depth": "smaller", "p": "greater"},
            {"max_depth": None, "min_samples_leaf": 1},
        ),
    ],
)
def test_candidates_are_ordered_by_the_declared_parameters_and_then_by_their_scores(
    is_close: list[bool], simpler: dict[str, str], chosen: dict[str, Any]
) -> None:
    scores = np.array([0.7, 0.7, 0.8, 0.75, 0.9, 0.9])
    for sign in (1, -1):
        assert DEPTHS[find_simplest(DEPTHS, np.array(is_close), sign * scores, simpler, sign == 1)] == chosen


@pytest.mark.parametrize("race", [None, 0.05])
def test_the_simplest_within_a_standard_error_is_that_of_a_plain_loop(race: float | None) -> None:
    wine = load_bundled("wine")
    space: dict[str, list[Any]] = {"n_neighbors": [1, 5, 21, 25, 29, 31]}
    simpler = {"n_neighbors": "smaller"}
    tuning = GridTuning(space, folds=5, select="one_standard_error", simpler=simpler, race=race)
    model = Pipeline([("scaler", StandardScaler()), ("learner", KNeighborsClassifier())])
    best, _ = tuning.tune(model, tuning_data(wine.X, wine.y, len(wine.y), folds=5))
    splits = list(StratifiedKFold(5, shuffle=True, random_state=7).split(wine.X, wine.y))
    variants = [clone(model).set_params(learner__n_neighbors=k) for k in space["n_neighbors"]]
    scores = np.array([
        [each.fit(wine.X.iloc[a], wine.y[a]).score(wine.X.iloc[b], wine.y[b]) for a, b in splits] for each in variants
    ])  # fmt: skip
    means = scores.mean(axis=1)
    top = int(np.argmax(means))
    error = scores[top].std(ddof=1) / np.sqrt(5)
    close = [k for k, mean in zip(space["n_neighbors"], means, strict=True) if means[top] - mean <= error]
    assert best[-1].n_neighbors == min(close) < space["n_neighbors"][top]
