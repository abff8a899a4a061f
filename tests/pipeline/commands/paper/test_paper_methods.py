"""The methods section says what the store says, cites what it uses, and names no place, person or machine."""

from __future__ import annotations

import getpass
import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from comparisons import make_comparison
from scipy import stats

import bakeoff
from bakeoff.learners import REGISTRY
from bakeoff.pipeline.audit import ACCEPTED_TAG
from bakeoff.pipeline.commands.comparison_report.comparison import Comparison
from bakeoff.pipeline.commands.comparison_report.latex_tables import write_tables
from bakeoff.pipeline.commands.comparison_report.reports import render_report
from bakeoff.pipeline.commands.paper import methods
from bakeoff.pipeline.commands.paper.methods import write_methods, write_references
from bakeoff.pipeline.tracking.store import open_store
from bakeoff.pipeline.tracking.stored_runs import StoredRun, read_stored_runs

pytestmark = pytest.mark.filterwarnings("ignore::bakeoff.BakeoffWarning")
CONF = Path(bakeoff.__file__).parent / "conf"
WITHOUT_REFERENCE = {"majority", "mean", "linear_regression"}
Study = tuple[Comparison, list[StoredRun]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the current folder of all tests of this file."""
    folder = tmp_path_factory.mktemp("methods")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        yield folder


def read_study(result: bakeoff.ComparisonResult) -> Study:
    store = open_store(None, result.comparison.experiment)
    return result.comparison, read_stored_runs(store, result.comparison.run_ids)


@pytest.fixture(scope="module")
def single(folder: Path) -> Study:
    """Return a study of three learners on one dataset, one of them with settings and one of scikit-learn."""
    names = "learner=knn,naive_bayes,sklearn_random_forest"
    words = ("preprocessing=standardize", "evaluation=kfold", "seed=3", "evaluation.folds=4")
    bakeoff.sweep(names, *words, dataset="wine")
    bakeoff.run("learner=svm", "learner.C=7", "learner.kernel=linear", *words, dataset="wine")
    return read_study(bakeoff.compare(filter="params.dataset = 'wine'"))


@pytest.fixture(scope="module")
def several(folder: Path) -> Study:
    """Return a study of three learners on six files."""
    (folder / "keel").mkdir()
    generator = np.random.default_rng(0)
    for number in range(6):
        table = pd.DataFrame(generator.normal(size=(40 + number, 2)), columns=["a", "b"])
        table["y"] = np.where(table["a"] + generator.normal(size=len(table)) > 0, "yes", "no")
        table.to_csv(folder / "keel" / f"t_{number}.csv", index=False)
    paths = ",".join(str(folder / "keel" / f"t_{number}.csv") for number in range(6))
    words = ("dataset=file", f"dataset.path={paths}", "dataset.target=y", "learner=knn,naive_bayes,majority")
    swept = bakeoff.sweep(*words, "preprocessing=none", "evaluation=kfold")
    return read_study(bakeoff.compare(swept))


def read_keys(bibliography: str) -> set[str]:
    return set(re.findall(r"^@\w+\{(\w+),", bibliography, re.MULTILINE))


def test_one_dataset_is_described_by_its_runs(single: Study) -> None:
    text = write_methods(*single)
    for part in (
        r"1 dataset of 178 rows: wine~\cite{aeberhard1992}.",
        r"svm~\cite{cortes1995} (C = 7, kernel = linear)",
        r"knn~\cite{cover1967}",
        "Preprocessing: standardize (numeric = StandardScaler)",
        "Tuning: none.",
        "Evaluation by kfold (folds = 4, repeats = 1, validation = 0, stratify = true) gave 4 scores",
        "with seed 3",
        "used to score 4 configurations",
        r"corrected resampled t-test~\cite{nadeau2003} with the actual numbers",
        r"Bayesian correlated t-test~\cite{corani2015} with a region of practical equivalence of 0.01",
        r"scikit-learn",
    ):
        assert part in text, text
    versions = json.loads(single[1][0].tags["versions"])
    assert all(version in text for version in versions.values())
    assert "random_state" not in text
    assert "Friedman" not in text


def test_the_advantages_are_those_of_the_comparison(single: Study) -> None:
    comparison, _ = single
    text = write_methods(*single)
    best, *others = comparison.results[0].datasets[0].summaries
    for other in others:
        assert f"over {other.configuration.replace('_', chr(92) + '_')} is +{best.mean - other.mean:.4f} (" in text


def test_several_datasets_are_described_with_rank_tests_and_intervals(several: Study) -> None:
    comparison, _ = several
    text = write_methods(*several)
    assert r"6 datasets of 40 to 45 rows: t\_0, t\_1, t\_2, t\_3, t\_4 and t\_5." in text
    assert r"KEEL repository~\cite{alcala2011}" in text
    for key in ("demsar2006", "friedman1937", "iman1980", "nemenyi1963", "wilcoxon1945", "benavoli2016", "holm1979"):
        assert rf"\cite{{{key}}}" in text
    overall = comparison.results[0].overall
    assert overall is not None
    best, second, _ = overall.mean_ranks
    cells = [[np.mean(comparison.find_cell(name, d.name).scores["test_accuracy"]) for d in comparison.datasets]
             for name in (best, second)]  # fmt: skip
    own = stats.ttest_rel(*cells).confidence_interval()
    found = re.search(
        rf"over {second.replace('_', '._')} is \S+ \(unadjusted 95 .. interval (\S+) to (\S+); mean ranks", text
    )
    assert found is not None
    assert [float(end.replace("$-$", "-")) for end in found.groups()] == pytest.approx([own.low, own.high], abs=5e-5)


@pytest.mark.parametrize("datasets", [["a"], list("abcdef")])
def test_an_interval_beside_a_verdict_on_several_pairs_is_called_unadjusted(datasets: list[str]) -> None:
    for names, is_said in ((["x", "y"], False), (["x", "y", "z"], True)):
        comparison = make_comparison(datasets, names)
        text = write_methods(comparison, ())
        assert text.count("\\% interval") == len(names) - 1
        assert text.count("unadjusted 95 \\% interval") == is_said * (len(names) - 1)
        said = "interval, which is not adjusted for the number of pairs, is in favour"
        assert (said in " ".join(write_tables(comparison).split())) is (is_said and len(datasets) == 1)
        said = "Intervals are not adjusted for the number of pairs."
        assert (said in " ".join(render_report(comparison, "markdown").split())) is (is_said and len(datasets) == 1)


@pytest.mark.parametrize("overall", ["wilcoxon", "nemenyi"])
def test_the_section_names_the_test_that_decides(several: Study, overall: str) -> None:
    comparison, runs = several
    result = comparison.results[0]
    assert result.overall is not None
    changed = replace(result, overall=replace(result.overall, test=overall))
    text = write_methods(replace(comparison, results=(changed, *comparison.results[1:])), runs)
    decides = {
        "wilcoxon": "decided by Wilcoxon's signed-rank test with Holm's correction, which does not depend on the "
        r"others~\cite{benavoli2016}.",
        "nemenyi": "decided by Nemenyi's test of mean ranks.",
    }
    assert decides[overall] in " ".join(text.split())


def test_scikit_learn_is_cited_only_where_it_is_used(single: Study, several: Study) -> None:
    assert "pedregosa2011" in write_methods(*single)
    assert "pedregosa2011" not in write_methods(*several)


def test_every_citation_has_an_entry_and_every_entry_is_cited(single: Study, several: Study) -> None:
    for study in (single, several):
        text = write_methods(*study)
        assert set(re.findall(r"\\cite\{(\w+)\}", text)) == read_keys(write_references(text))


def test_no_place_person_or_host_is_named(several: Study, folder: Path) -> None:
    comparison, runs = several
    broken = replace(comparison.cells[0], scores={}, reason=f"failed: OSError: {folder}/keel/t_0.csv is no file")
    text = write_methods(replace(comparison, cells=(broken, *comparison.cells[1:])), runs)
    assert str(folder) not in text
    assert "/" not in re.sub(r"\d+/\d+", "", text)
    for name in (socket.gethostname(), getpass.getuser()):
        assert not re.search(rf"\b{re.escape(name)}\b", text)
    assert r"1 of 18 cells have no scores: 1 $\times$ failed: OSError: t\_0.csv is no file." in text


def test_scores_without_runs_are_described_without_what_only_runs_know() -> None:
    text = write_methods(make_comparison(["a", "b"], ["x_1", "y"], failed=[("y", "b")]), ())
    assert r"1 of 4 cells have no scores: 1 $\times$ failed: ValueError: Input X contains NaN." in text
    assert "Software" not in text
    assert "Training parts" not in text


def test_notes_that_limit_the_result_are_stated_and_others_are_not() -> None:
    stated = "As sealed on 2026-11-21, before the first of its 2 runs started (seal s, SHA-256 ab)."
    comparison = make_comparison(notes=[stated, "The base is svm, the best; base=NAME selects another."])
    text = write_methods(comparison, ())
    assert stated in text
    assert "base=NAME" not in text


def test_every_entry_names_what_it_is_for_and_every_learner_has_one() -> None:
    entries = methods.BIBLIOGRAPHY.read_text(encoding="utf-8")
    uses = [use for found in methods.KEYWORDS.findall(entries) for use in found.split()]
    assert len(uses) == len(set(uses))
    assert len(methods.KEYWORDS.findall(entries)) == entries.count("\n@") + 1
    for use in uses:
        group, name = use.split("/")
        assert group in ("test", "source", "package") or (CONF / group / f"{name}.yaml").is_file(), use
    assert set(REGISTRY) - WITHOUT_REFERENCE <= {use.split("/")[1] for use in uses if use.startswith("learner/")}


@pytest.mark.skipif(shutil.which("bibtex") is None, reason="no bibtex: apt install texlive-latex-extra")
def test_the_section_compiles_with_its_references(single: Study, several: Study, tmp_path: Path) -> None:
    text = write_methods(*single) + write_methods(*several)
    (tmp_path / "references.bib").write_text(write_references(text), encoding="utf-8")
    body = rf"\begin{{document}}{text}\bibliographystyle{{plain}}\bibliography{{references}}\end{{document}}"
    (tmp_path / "paper.tex").write_text(rf"\documentclass{{article}}\usepackage[T1]{{fontenc}}{body}", encoding="utf-8")
    latex = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    for command in (latex, ["bibtex", "paper"], latex, latex):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
        assert done.returncode == 0, done.stdout
        assert "Warning--" not in done.stdout
    assert "undefined" not in done.stdout


def test_findings_of_the_doctor_that_were_accepted_are_named_with_their_reasons(single: Study) -> None:
    comparison, (first, *others) = single
    assert "Accepted" not in write_methods(comparison, [first, *others])
    accepted = replace(first, tags={**first.tags, ACCEPTED_TAG: '{"BK14": "space of the course (2026-01-02)"}'})
    assert "Accepted: BK14, space of the course (2026-01-02)." in write_methods(comparison, [accepted, *others])
