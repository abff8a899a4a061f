"""`bakeoff check` finds the faults of user-defined parts, and finds none in parts without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from bakeoff.pipeline.commands.init import check
from bakeoff.pipeline.commands.init.check import NOTE, OK, WRONG, Finding, check_part
from bakeoff.pipeline.commands.init.project import PartFile
from bakeoff.pipeline.config.options import find_own_folder

STEPS = {"_target_": "bakeoff.pipeline.stages.preprocessing.make_preprocessing"}
SPLITTING = "bakeoff.pipeline.stages.splitting"


class Part(NamedTuple):
    """What the file of a part holds, and which packages are trusted."""

    group: str
    node: dict[str, Any]
    trust: tuple[str, ...]
    space: dict[str, Any] | None = None


def make_part(
    group: str, target: str, *, space: Any = None, trust: tuple[str, ...] = ("faulty_parts",), **keys: Any
) -> Part:
    """Return a part of the support module, or one that a whole dotted name gives."""
    name = target if "." in target else f"faulty_parts.{target}"
    return Part(group, {"_target_": name, **keys}, trust, space)


def make_step(name: str) -> Part:
    """Return preprocessing with one step of the support module, for columns of every kind."""
    return Part("preprocessing", {**STEPS, "then": [{"_target_": f"faulty_parts.{name}"}]}, ("faulty_parts",))


@pytest.fixture
def find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function (part) -> findings of its file; scikit-learn's slow checks have a test of their own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check, "_check_conformance", lambda estimator: Finding(OK, "conformance", ""))

    def write_and_check(part: Part) -> list[Finding]:
        nodes = {part.group: part.node} if part.space is None else {part.group: part.node, "space": part.space}
        for group, node in nodes.items():
            (tmp_path / "conf" / group).mkdir(parents=True)
            (tmp_path / "conf" / group / "mine.yaml").write_text(yaml.safe_dump(node))
        return list(check_part(PartFile(Path("conf") / part.group / "mine.yaml", part.trust)))

    return write_and_check


def name_part(value: object) -> str:
    return str(value.node.get("then", value.node)).split(".")[-1].strip("'}]") if isinstance(value, Part) else ""


@pytest.mark.parametrize(
    ("part", "subject", "said"),
    [
        (make_part("learner", "Right", trust=()), "file", "add trust=[faulty_parts]"),
        (make_part("learner", "Right", smoothing=1), "file", "Did you mean 'var_smoothing'?"),
        (make_part("learner", "NoTask"), "classes", "is not a classifier"),
        (make_part("learner", "ChangedByConstructor", widths=[3]), "classes", "Cannot clone object"),
        (make_part("learner", "Shortened"), "classes", "returns an array of shape (71,) for 72 train rows"),
        (make_part("learner", "Unseeded"), "classes", "two runs of the same job differ: test_"),
        (make_part("learner", "OtherSeed", random_state=7), "seed", "write random_state: ${seed}"),
        (make_part("learner", "Forgetful"), "classes", "loses part of its fitted state when it is stored"),
        (make_part("learner", "Boastful"), "classes", "Input X contains NaN"),
        (make_part("learner", "Right", space={"k": [1]}), "space", "space.k is not a parameter"),
        (make_step("CentredByQuery"), "numbers", "prediction of a row depends on other rows"),
        (make_part("metric", "share_of_hits", greater_is_better=False), "classes", "write greater_is_better: true"),
        (make_part("metric", "share_of_hits"), "numbers", "does not specify whether greater values are better"),
        (make_part("metric", "constant", greater_is_better=True), "classes", "all predictions have the same score"),
        (make_part("evaluation", "Unrepeatable"), "classes", "the same seed gives different splits"),
        (make_part("evaluation", "LateTraining"), "classes", "would test rows that do not follow all rows"),
        (
            make_part("evaluation", "broken_splitters.Overlapping", trust=("broken_splitters",)),
            "classes",
            "would use 3 of its 60 test rows as training or validation rows too",
        ),
        (make_part("dataset", "load_infinite"), "classes", "column 'x' contains infinite values"),
        (make_part("dataset", "load_other_rows"), "classes", "differs when it is loaded again"),
        (make_part("dataset", "load_table"), "file", "the DataFrame that it returns has no digest"),
        (make_part("dataset", "load_fine", n="???"), "file", "add dataset.n=VALUE"),
        (make_part("figure", "Breaking", file="mine.png"), "numbers", "ValueError: substring not found"),
    ],
    ids=name_part,
)
def test_a_fault_is_found_and_named(part: Part, subject: str, said: str, find: Any) -> None:
    wrong = {finding.subject: finding.text for finding in find(part) if finding.status == WRONG}
    assert said in wrong[subject]


@pytest.mark.parametrize(
    "part",
    [
        make_part("learner", "Right", priors=None, space={"var_smoothing": [1e-9, 1e-8]}),
        make_step("Step"),
        make_part("metric", "sklearn.metrics.roc_auc_score", greater_is_better=True, needs="decision_function"),
        make_part("metric", "share_of_signs", greater_is_better=True, needs="decision_function"),
        make_part("evaluation", f"{SPLITTING}.GroupKFold", validation=None, metrics=None),
        make_part("evaluation", f"{SPLITTING}.TimeSeries"),
        make_part("evaluation", f"{SPLITTING}.FixedFolds"),
        make_part("dataset", "bakeoff.pipeline.stages.dataset.load_bundled", name="diabetes"),
        make_part("figure", "Titled", file="mine.png"),
    ],
    ids=name_part,
)
def test_a_part_without_a_fault_has_nothing_wrong(part: Part, find: Any) -> None:
    findings = find(part)
    assert [finding for finding in findings if finding.status == WRONG] == []
    assert OK in [finding.status for finding in findings]


def test_a_part_that_is_meant_for_one_task_is_noted_on_the_other(find: Any) -> None:
    node: dict[str, Any] = {"needs": "predict_proba", "name": "mine", "greater_is_better": False}
    on_classes, on_numbers = find(make_part("metric", "sklearn.metrics.log_loss", **node))
    assert (on_classes.status, on_numbers.status) == (OK, NOTE)
    assert "predict_proba" in on_numbers.text


def test_each_failed_check_of_scikit_learn_is_named_with_its_first_line() -> None:
    from faulty_parts import Unaware

    finding = check._check_conformance(Unaware())
    assert finding.status == WRONG
    assert finding.text.endswith("checks of scikit-learn fail")
    failed = {line.partition(":")[0] for line in finding.details}
    assert {"check_estimators_nan_inf", "check_n_features_in_after_fitting"} <= failed
    assert all("\n" not in line for line in finding.details)


def test_the_folder_of_another_program_is_not_read(folder: Path) -> None:
    (folder / "conf" / "model").mkdir(parents=True)
    assert find_own_folder() is None
    (folder / "conf" / "metric").mkdir()
    assert find_own_folder() == folder / "conf"
    (folder / "conf" / "config.yaml").touch()
    assert find_own_folder() is None
