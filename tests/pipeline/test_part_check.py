"""The checks of parts find each fault, and find none in parts without one."""

from __future__ import annotations

from typing import Any

import pytest

from bakeoff.pipeline.part_check.checks import CHECKS, check_part
from bakeoff.pipeline.part_check.conformance import check_conformance
from bakeoff.pipeline.part_check.finding import NOTE, OK, UNCHECKED, WRONG, Finding
from bakeoff.pipeline.part_check.learner_check import check_cells
from bakeoff.pipeline.part_check.parameter_check import check_parameters
from bakeoff.pipeline.part_check.part import Part
from bakeoff.pipeline.part_check.speed import check_speed

STEPS = {"_target_": "bakeoff.pipeline.stages.preprocessing.make_preprocessing"}


def make_part(
    group: str, target: str, *, space: Any = None, trust: tuple[str, ...] = ("faulty_parts",), **keys: Any
) -> Part:
    """Return a part of the support module, or one that a whole dotted name gives."""
    name = target if "." in target else f"faulty_parts.{target}"
    node = {"_target_": name, **keys}
    return Part(group, "mine", node, node, trust, space)


def make_step(name: str) -> Part:
    """Return preprocessing with one step of the support module, for columns of every kind."""
    node = {**STEPS, "then": [{"_target_": f"faulty_parts.{name}"}]}
    return Part("preprocessing", "mine", node, node, ("faulty_parts",))


def find_wrong(part: Part, monkeypatch: pytest.MonkeyPatch) -> list[Finding]:
    """Return what is wrong with a part; the two slow checks have tests of their own."""
    for group, checks in CHECKS.items():
        quick = tuple(check for check in checks if check.subject not in ("conformance", "speed"))
        monkeypatch.setitem(CHECKS, group, quick)
    return [finding for finding in check_part(part) if finding.status == WRONG]


@pytest.mark.parametrize(
    ("part", "subject", "said"),
    [
        (make_part("learner", "Nothing"), "target", "does not exist."),
        (make_part("learner", "Right", trust=()), "target", "add trust=[faulty_parts]"),
        (
            make_part("learner", "Right", smoothing=1),
            "parameters",
            "Did you mean 'var_smoothing'?",
        ),
        (make_part("learner", "NoTask"), "estimator", "neither a classifier nor a regressor"),
        (make_part("learner", "share_of_hits"), "parameters", "needs y_true, y_pred"),
        (make_part("learner", "ChangedByConstructor", widths=[3]), "estimator", "Cannot clone object"),
        (make_part("learner", "Shortened"), "fit", "shape (119,) for 120 rows"),
        (make_part("learner", "Renamed"), "fit", "which is none of the classes"),
        (make_part("learner", "Doubled"), "fit", "whose sum is 2"),
        (make_part("learner", "Unseeded"), "seed", "predict differently"),
        (make_part("learner", "OtherSeed", random_state=7), "seed", "write random_state: ${seed}"),
        (make_part("learner", "Unsavable"), "saving", "lambda"),
        (make_part("learner", "Forgetful"), "saving", "predicts differently"),
        (make_part("learner", "Boastful"), "missing cells", "input_tags.allow_nan says that they are taken, but"),
        (make_part("learner", "Right", space={"k": [1]}), "space", "k is not a parameter"),
        (make_part("learner", "Right", space={"priors": 3}), "space", "must be a list of values"),
        (make_step("ChangingInput"), "tables", "changes the table"),
        (make_step("CentredByQuery"), "rows", "differently alone and among others"),
        (make_step("Noisy"), "rows", "two fits"),
        (make_step("Shortening"), "tables", "120 rows became 119"),
        (make_part("preprocessing", "Arrays"), "tables", "instead of a table"),
        (make_part("metric", "share_of_hits", greater_is_better=False), "sign", "write greater_is_better: true"),
        (make_part("metric", "share_of_hits"), "targets", "does not say whether greater values are better"),
        (make_part("metric", "constant", greater_is_better=True), "sign", "all predictions have the same score"),
        (make_part("metric", "infinite", greater_is_better=True), "sign", "not a finite number"),
        (make_part("metric", "counting", greater_is_better=True), "repetition", "score"),
        (make_part("evaluation", "Unrepeatable"), "seed", "the same seed gives other splits"),
        (make_part("evaluation", "BeyondTheRows"), "parts", "the dataset of 120 has not"),
        (make_part("evaluation", "Repeating"), "parts", "repeats 40 training rows"),
        (make_part("evaluation", "Untested"), "parts", "none to test"),
        (make_part("evaluation", "LateTraining"), "rows with times", "trains on rows that are later"),
        (
            make_part("evaluation", "broken_splitters.Overlapping", trust=("broken_splitters",)),
            "parts",
            "3 rows are in the train and the test part",
        ),
        (
            make_part("evaluation", "broken_splitters.DividingGroups", trust=("broken_splitters",)),
            "rows with groups",
            "divides a group",
        ),
        (make_part("evaluation", "sklearn.model_selection.KFold"), "target", "must be a splitter: inherit from"),
        (make_part("dataset", "load_one_class"), "target", "one class only, a"),
        (make_part("dataset", "load_infinite"), "cells", "column x holds infinite values"),
        (make_part("dataset", "load_other_rows"), "repetition", "differs when it is loaded again"),
        (
            make_part("dataset", "load_table"),
            "dataset",
            "the DataFrame that it returns has no digest, and dataset must be a Dataset",
        ),
        (make_part("dataset", "load_fine", n="???"), "dataset", "n is left open"),
        (make_part("figure", "Titled", file="a.svg"), "figure", "ends in .png"),
        (make_part("figure", "Step"), "figure", "has no check, and figure must be a figure: inherit from"),
    ],
    ids=lambda value: value.target.split(".")[-1] if isinstance(value, Part) else "",
)
def test_a_fault_is_found_and_named(part: Part, subject: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = find_wrong(part, monkeypatch)
    assert subject in [finding.subject for finding in wrong]
    (finding, *_) = [finding for finding in wrong if finding.subject == subject]
    assert said in " ".join([finding.text, *finding.details])


@pytest.mark.parametrize(
    "part",
    [
        make_part("learner", "Right", priors=None, var_smoothing=1e-9, space={"var_smoothing": [1e-9, 1e-8]}),
        make_part("learner", "bakeoff.learners.NaiveBayesClassifier"),
        make_step("Step"),
        make_part("metric", "share_of_hits", greater_is_better=True),
        make_part("metric", "sklearn.metrics.log_loss", greater_is_better=False, needs="predict_proba", name="mine"),
        make_part("evaluation", "bakeoff.pipeline.stages.splitting.KFold", folds=4, validation=None, metrics=None),
        make_part("evaluation", "bakeoff.pipeline.stages.splitting.TimeSeries"),
        make_part("evaluation", "bakeoff.pipeline.stages.splitting.GroupKFold"),
        make_part("evaluation", "bakeoff.pipeline.stages.splitting.Bootstrap", repeats=3),
        make_part("evaluation", "bakeoff.pipeline.stages.splitting.FixedFolds"),
        make_part("evaluation", "bakeoff.pipeline.stages.splitting.FixedSplit"),
        make_part("dataset", "load_fine", n=40),
        make_part("dataset", "bakeoff.pipeline.stages.dataset.load_bundled", name="diabetes"),
        make_part("balance", "bakeoff.pipeline.stages.balance.NoBalance"),
    ],
    ids=lambda part: part.target.split(".")[-1],
)
def test_a_part_without_a_fault_has_nothing_wrong(part: Part, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_wrong(part, monkeypatch) == []


def test_a_metric_that_depends_on_the_order_of_rows_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    part = make_part("metric", "first_row", greater_is_better=True)
    assert find_wrong(part, monkeypatch) == []
    assert ("order of rows", NOTE) in [(finding.subject, finding.status) for finding in check_part(part)]


def test_missing_cells_that_are_neither_refused_nor_declared_are_noted() -> None:
    nominal, missing = check_cells(make_part("learner", "Unaware"))
    assert (nominal.status, missing.status) == (NOTE, NOTE)
    nominal, missing = check_cells(make_part("learner", "bakeoff.learners.DecisionTreeClassifier"))
    assert (nominal.text, missing.text) == ("taken as they are", "taken as they are")


def test_parameters_that_the_file_leaves_out_or_sets_otherwise_are_noted() -> None:
    findings = check_parameters(make_part("learner", "Right", var_smoothing=1e-3))
    notes = {finding.subject: finding.details for finding in findings if finding.status == NOTE}
    assert notes == {
        "parameters": ("priors: null",),
        "defaults": ("var_smoothing: 0.001 in the file, 1e-09 in the code",),
    }


def test_what_depends_on_a_required_check_is_left_out_and_said() -> None:
    *_, last = check_part(make_part("learner", "NoTask"))
    assert (last.status, last.subject) == (UNCHECKED, "estimator")
    assert "conformance, speed" in last.text


def test_each_failed_check_of_scikit_learn_is_named_with_its_first_line() -> None:
    from faulty_parts import Unaware

    wrong, *_ = check_conformance(Unaware())
    assert wrong.status == WRONG
    assert wrong.text.endswith("checks of scikit-learn fail")
    failed = {line.partition(":")[0] for line in wrong.details}
    assert {"check_estimators_nan_inf", "check_n_features_in_after_fitting"} <= failed
    assert all("\n" not in line for line in wrong.details)


def test_the_speed_is_said_at_two_sizes_and_a_slow_learner_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from bakeoff.pipeline.part_check import speed

    part = make_part("learner", "Right")
    small, large = check_speed(part)
    assert small.text.startswith("fit on 1000 rows of 10 columns ")
    assert large.text.startswith("fit on 10,000 rows")
    assert "they grow as n^" in large.text
    monkeypatch.setattr(speed, "MAX_SECONDS", 0.0)
    assert [finding.status for finding in check_speed(part)] == [NOTE, UNCHECKED]


@pytest.mark.parametrize(
    ("name", "n_wrong", "said"),
    [
        ("Titled", 0, ""),
        ("Changing", 3, "drawn differently the second time"),
        ("Pictureless", 3, "save wrote no picture"),
        ("Breaking", 1, "ValueError"),
    ],
)
def test_figures_are_drawn_for_runs_of_both_tasks(
    name: str, n_wrong: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = find_wrong(make_part("figure", name, file="mine.png"), monkeypatch)
    assert len(wrong) == n_wrong
    assert all(said in finding.text for finding in wrong)
    assert OK not in [finding.status for finding in wrong]
