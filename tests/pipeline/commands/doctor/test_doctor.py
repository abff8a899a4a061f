"""Findings of runs and studies: codes, cures that run, corrected tests, accepted findings, reports and pages."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command import Bakeoff, command_in
from threadpoolctl import threadpool_limits

import bakeoff as package
from bakeoff.pipeline.audit.check import SEVERITIES, Finding
from bakeoff.pipeline.commands.diff import changed_rows
from bakeoff.pipeline.commands.doctor.diagnosis import Diagnosis, correct, diagnose, list_checks
from bakeoff.pipeline.commands.doctor.request import DoctorRequest
from bakeoff.pipeline.python.call import BakeoffWarning

DOCS = Path(__file__).parents[4] / "docs"
DATA = ("dataset=file", "dataset.path=t.csv", "dataset.target=y")
N = 160


def make_faulty_table() -> pd.DataFrame:
    """Return a table with every fault that the columns, the rows and their order can have."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(N) < 0.5, "no", "yes")
    table = pd.DataFrame({
        "paid": np.where(y == "yes", 5.0, -5.0) + rng.normal(size=N),
        "boat": np.where((y == "yes") & (rng.random(N) < 0.8), 7.0, np.nan),
        "count": rng.permutation(N),
        "a": rng.normal(size=N),
        "patient": rng.permutation(np.repeat(np.arange(N // 4), 4)),
        "day": pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"),
        "y": y,
    })  # fmt: skip
    table["a, [again]: it's"] = table["a"]
    return table


def make_drifting_table() -> pd.DataFrame:
    """Return a table by date, whose last rows follow another rule, and with a class of three rows."""
    a = np.random.default_rng(2).normal(size=N)
    y = np.where((a > 0) != (np.arange(N) > 0.85 * N), "no", "yes")
    y[[10, 40, 41]] = "rare"
    return pd.DataFrame({"day": pd.date_range("2024-01-01", periods=N).strftime("%Y-%m-%d"), "a": a, "y": y})


@pytest.fixture(scope="module", autouse=True)
def little_work() -> Iterator[None]:
    """Let the search for weak slices, which is tested with that of `diff`, permute less often, on one thread."""
    with pytest.MonkeyPatch.context() as patch, threadpool_limits(1):
        patch.setattr(changed_rows, "N_PERMUTATIONS", 99)
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the table, a circle that no line can learn, and the runs of both."""
    folder = tmp_path_factory.mktemp("doctor")
    make_faulty_table().to_csv(folder / "t.csv", index=False)
    circle = pd.DataFrame(np.random.default_rng(1).normal(size=(2 * N, 2)), columns=["a", "b"])
    circle.assign(y=np.where((circle**2).sum(axis=1) > 1.4, "out", "in")).to_csv(folder / "circle.csv", index=False)
    make_drifting_table().to_csv(folder / "drift.csv", index=False)
    (folder / "mine.py").write_text(OWN_CHECK)
    with command_in(folder) as bakeoff:
        for words in RUNS.values():
            answer = bakeoff(*shlex.split(words))
            assert answer.status == 0, answer.err
    return folder


OWN_CHECK = '''
from bakeoff.pipeline.audit.check import TIP, Check


class FewRows(Check):
    """The table is small.

    Pitfall: chance.

    Test: fewer than 1,000 rows.

    Cure: more rows.
    """

    code = "MY01"
    severity = TIP
    cure = "evaluation=repeated_kfold"

    def describe(self, subject):
        n_rows = len(subject.experiment.dataset.y)
        return f"{n_rows} rows" if n_rows < 1000 else ""
'''
ON_FILE = "dataset=file dataset.target=y evaluation=kfold dataset.path="
TABLE_WORDS = f"{ON_FILE}t.csv learner=naive_bayes dataset.numeric=[patient,count]"
CIRCLE = f"{ON_FILE}circle.csv learner=naive_bayes"
TUNED = (
    f"{CIRCLE.replace('naive_bayes', 'sklearn_decision_tree')} tuning=grid space.max_depth=[1,2] evaluation.folds=10"
)
RUNS = {
    "table": TABLE_WORDS,
    "tree": TUNED,
    "drift": f"{ON_FILE}drift.csv learner=svm dataset.time=day".replace("kfold", "time_series"),
    "study": f"-m {CIRCLE.replace('naive_bayes', 'knn')} learner.n_neighbors=1,9 hydra.sweep.dir=study",
}
CODES = {
    "table": {"BK01", "BK02", "BK03", "BK04", "BK06", "BK10"},
    "tree": {"BK13", "BK14"},
    "drift": {"BK17", "BK25"},
    "study": {"BK32", "BK34", "BK36", "BK38"},
}


@pytest.fixture(scope="module")
def diagnoses(place: Path) -> Mapping[str, Diagnosis]:
    """Return the diagnosis of each run, one of which fits, and of the study."""
    with command_in(place) as bakeoff:
        by_words = {run.data.tags["overrides"]: run.info.run_id for run in bakeoff.runs()}
        table, tree, drift = (by_words[json.dumps(shlex.split(RUNS[name]))] for name in ("table", "tree", "drift"))
        requests = {
            "table": DoctorRequest(run=table, quick=True, keep=False),
            "tree": DoctorRequest(run=tree, to="html", seconds=300, keep=False),
            "drift": DoctorRequest(run=drift, quick=True, keep=False),
            "study": DoctorRequest(sweep="study"),
        }
        return {name: diagnose(request, print) for name, request in requests.items()}


@pytest.mark.parametrize("name", CODES)
def test_planted_faults_are_named(diagnoses: Mapping[str, Diagnosis], name: str) -> None:
    assert {finding.code for finding in diagnoses[name].findings} >= CODES[name]


def test_each_cure_that_depends_on_the_run_runs(diagnoses: Mapping[str, Diagnosis], place: Path) -> None:
    with command_in(place) as bakeoff:
        for name, diagnosis in diagnoses.items():
            for cure in sorted({finding.cure for finding in diagnosis.findings} - {*STATIC}):
                command = cure.removeprefix("bakeoff ") if cure.startswith("bakeoff ") else apply(cure, RUNS[name])
                answer = bakeoff(*shlex.split(command))
                assert answer.status == 0, f"{cure}: {answer.err}"


def apply(cure: str, words: str) -> str:
    """Return the words of a run with those of a cure in place of words with the same keys."""
    new = shlex.split(cure)
    keys = {word.partition("=")[0] for word in new}
    # A column has one role.
    keys |= {"dataset.numeric"} if keys & {"dataset.drop", "dataset.groups"} else set()
    kept = [word for word in shlex.split(words) if word.partition("=")[0] not in keys]
    if "learner" in keys:
        kept = [word for word in kept if not word.startswith(("tuning", "space"))]
    return shlex.join([*kept, *new])


STATIC = sorted({check.cure for check in list_checks() if check.cure and "=" in check.cure})


@pytest.mark.parametrize("cure", STATIC)
def test_each_cure_that_depends_on_nothing_runs(cure: str, place: Path) -> None:
    data = ["dataset=file", "dataset.path=circle.csv", "dataset.target=y", "learner=logistic_regression"]
    if "regressor" in cure:
        data = ["dataset=diabetes"]
    if cure == "evaluation=group_kfold":
        data = [*DATA, "dataset.groups=patient", "learner=naive_bayes"]
    if "dataset=" in cure:
        data = ["-m", "learner=sklearn_mean,majority", "on_invalid=skip"]
    with command_in(place) as bakeoff:
        words = [*data, "evaluation=kfold"] if cure.startswith("evaluation.folds") else data
        kept = [word for word in words if word.partition("=")[0] != cure.partition("=")[0]]
        answer = bakeoff(*kept, *cure.split(), "tracking=none")
    assert answer.status == 0, answer.err


def test_checks_have_codes_of_their_own_and_pages_that_documentation_shows() -> None:
    checks = list_checks()
    assert len({check.code for check in checks}) == len(checks)
    documented = " ".join((DOCS / "doctor.md").read_text().split())
    for check in checks:
        title, *paragraphs = check.page.split("\n\n")
        assert [paragraph.partition(":")[0] for paragraph in paragraphs] == ["Pitfall", "Test", "Cure"], check.code
        assert check.severity in SEVERITIES
        assert f"### {check.code}: {title.rstrip('.')}" in documented
        assert all(" ".join(paragraph.split()) in documented for paragraph in paragraphs), check.code


def make_findings(*p_values: float) -> list[Finding]:
    return [Finding("BK00", "tip", f"{p_value}", "", p_value) for p_value in p_values]


def test_tests_are_corrected_within_and_over_checks() -> None:
    found = [make_findings(0.0), make_findings(0.001, 0.2), make_findings(0.03), make_findings(0.9)]
    kept = list(correct(found, 0.05))
    # Holm: 2 x 0.001 within the second check, which is the smallest of three.
    assert [(each.text, round(each.p_value, 6)) for each in kept] == [("0.0", 0.0), ("0.001", 0.006)]
    assert [each.text for each in correct([make_findings(0.03)], 0.05)] == ["0.03"]


def test_a_run_without_a_fault_has_no_findings_and_says_what_does_not_apply(bakeoff: Bakeoff) -> None:
    assert bakeoff("dataset=wine", "learner=naive_bayes", "evaluation=kfold").status == 0
    answer = bakeoff("doctor", "latest", "quick=true", "fail_on=tip")
    assert answer.status == 0, answer.out
    assert "0 findings" in answer.out
    assert "BK09 does not apply: no baselines were fitted: leave out quick=true" in answer.out
    assert "BK18 does not apply: no row was predicted twice: evaluation=repeated_kfold" in answer.out


def test_accepted_findings_are_stored_with_reason_and_date_and_fail_nothing(bakeoff: Bakeoff) -> None:
    make_faulty_table()[["paid", "a", "y"]].to_csv(bakeoff.folder / "t.csv", index=False)
    assert bakeoff(*DATA, "learner=naive_bayes", "evaluation=kfold").status == 0
    words = ("doctor", "latest", "quick=true", "fail_on=severe")
    assert bakeoff(*words).status == 1
    assert bakeoff(*words, "doctor.ignore={BK01: paid before the decision}").status == 0
    again = bakeoff(*words, "to=json")
    assert again.status == 0
    (finding,) = json.loads(again.out)["findings"]
    assert finding["code"] == "BK01"
    assert finding["accepted"].startswith("paid before the decision (20")
    (run,) = bakeoff.runs()
    assert run.data.tags["doctor"] == "BK01"
    assert run.data.tags["mlflow.note.content"].splitlines()[-1] == "Doctor: BK01."
    assert json.loads(run.data.tags["accepted_findings"]) == {"BK01": finding["accepted"]}


def test_a_run_can_accept_findings_in_its_configuration_without_becoming_another_job(bakeoff: Bakeoff) -> None:
    words = ("dataset=iris", "learner=majority")
    assert bakeoff(*words).status == 0
    assert bakeoff(*words, "doctor.ignore={BK27: a lecture}").status == 0
    newest, oldest = bakeoff.runs()
    assert newest.data.tags["config_hash"] == oldest.data.tags["config_hash"]
    assert newest.data.tags["accepted_findings"].startswith('{"BK27": "a lecture (20')
    assert "Accepted: BK27, a lecture (20" in newest.data.tags["mlflow.note.content"]


def test_codes_stand_until_their_checks_apply_again(bakeoff: Bakeoff) -> None:
    assert bakeoff("dataset=iris", "learner=majority").status == 0
    for words, codes in {"quick=false": {"BK11", "BK22"}, "quick=true": {"BK11", "BK22"}}.items():
        assert bakeoff("doctor", "latest", words).status == 0
        (run,) = bakeoff.runs()
        assert {*run.data.tags["doctor"].split()} >= codes


def test_keep_false_leaves_the_run_as_it_was(bakeoff: Bakeoff) -> None:
    assert bakeoff("dataset=iris", "learner=majority").status == 0
    (before,) = bakeoff.runs()
    assert bakeoff("doctor", "latest", "quick=true", "keep=false").status == 0
    (after,) = bakeoff.runs()
    assert after.data.tags == before.data.tags


def test_a_user_defined_check_of_a_trusted_package_is_used(place: Path) -> None:
    with command_in(place) as bakeoff:
        words = ("doctor", "latest", "quick=true", "keep=false", "checks=mine.FewRows")
        assert "trust" in bakeoff(*words).err
        answer = bakeoff(*words, "trust=[mine]")
    assert answer.status == 0, answer.err
    assert re.search(rf"MY01 .* ({N}|{2 * N}) rows", answer.out)


def test_a_page_has_findings_pictures_and_pages_of_checks(diagnoses: Mapping[str, Diagnosis]) -> None:
    page = diagnoses["tree"].render("html")
    assert "A tuned value is at the edge of its space." in page
    assert 'src="data:image/png;base64,' in page
    assert not re.search(r"(src|href)=.http", page)


def test_what_is_fitted_is_announced_before_it_is(bakeoff: Bakeoff) -> None:
    assert bakeoff("dataset=iris", "learner=majority").status == 0
    sentences: list[str] = []
    found = diagnose(DoctorRequest(run="latest", seconds=0), sentences.append)
    (sentence,) = sentences
    assert sentence.startswith("doctor: fits three baselines, and the run once more, in at most")
    assert found.absences["BK09"].startswith("no baselines were fitted")


def test_python_accepts_results(folder: Path) -> None:
    with pytest.warns(BakeoffWarning, match="BK07"):
        result = package.run("dataset=iris", "learner=majority", "evaluation=kfold")
    found = package.doctor(result, quick=True, ignore={"BK07": "known"})
    assert [finding.accepted[:5] for finding in found.findings if finding.code == "BK07"] == ["known"]


def test_help_prints_the_page_of_a_check_and_list_their_titles(bakeoff: Bakeoff) -> None:
    page = bakeoff("help", "BK14").out
    assert page.startswith("BK14  A tuned value is at the edge of its space.")
    assert "Pitfall: the best value may lie beyond the edge" in page
    listed = bakeoff("list", "checks").out.splitlines()
    assert [line[:4] for line in listed] == [check.code for check in list_checks()]
    assert "BK99 is not a verb" in bakeoff("help", "BK99").err
