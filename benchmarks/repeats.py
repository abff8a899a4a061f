"""Measure how often few repeats of 10 folds give the verdict of 10 × 10 folds, on real datasets.

    nice python benchmarks/repeats.py --keel keel              about ten minutes on one core
    nice python benchmarks/repeats.py --keel keel --docs       also writes the table of docs/statistics.md

The datasets are bakeoff's small ones, and the small files of KEEL, which examples/study/README.md downloads. Six fast
learners are scored once on 10 × 10 folds. The first r repeats of these folds are r × 10 folds, so that the verdicts
differ in the number of folds only. A verdict is that of `bakeoff compare`: the corrected t-test at alpha = .05 with
Holm's correction over the pairs of a dataset.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy is imported

import numpy as np

from bakeoff.pipeline.commands.significance.folds import compute_corrected_t_test, subtract_scores
from bakeoff.pipeline.commands.significance.pairs import TOLD_APART, StopRule
from bakeoff.pipeline.model.row_report import adjust_by_holm
from benchmarks.tables import DOCS, machine, replace_part

PAGE = DOCS.with_name("statistics.md")
ALPHA = 0.05
ROPE = 0.01
FOLDS = 10
REPEATS = 10
FEWER = (1, 2, 3, 5)
LEARNERS = ("naive_bayes", "decision_tree", "knn", "logistic_regression", "sklearn_lda", "svm")
OWN = ("iris", "wine", "breast_cancer", "moons", "circles", "blobs")
"""Small datasets of bakeoff; KEEL's files of the same data are left out."""
KEEL = (
    "tae", "hayes-roth", "sonar", "housevotes", "heart", "breast", "bupa", "ionosphere", "movement_libras", "bands",
    "monk-2", "saheart", "led7digit", "crx", "wisconsin", "australian", "pima", "mammographic", "vehicle",
    "tic-tac-toe",
)  # fmt: skip
EVALUATION = ("evaluation=repeated_kfold", f"evaluation.folds={FOLDS}", f"evaluation.repeats={REPEATS}")
COMMON = ("preprocessing=full", "tracking.models=false", *EVALUATION)

Scores = dict[str, dict[str, list[float]]]
"""Dataset -> learner -> accuracies (100,), repeat by repeat."""


def main(words: Sequence[str] | None = None) -> None:
    """Score the learners, compare the verdicts, print the table, and write it into docs/statistics.md."""
    asked = _parse_arguments(words)
    if asked.scores and asked.scores.is_file():
        scores: Scores = json.loads(asked.scores.read_text())
    else:
        scores = score_learners(asked.keel.resolve())
    if asked.scores:
        asked.scores.write_text(json.dumps(scores))
    text = tabulate_verdicts(scores)
    print(text)
    if asked.docs:
        replace_part("repeats", text, PAGE)
        replace_part("command of repeats", machine("python benchmarks/repeats.py --keel keel"), PAGE)


def score_learners(keel: Path) -> Scores:
    """Return the accuracies of all learners on all datasets, in a store of their own."""
    files = ",".join(str(keel / f"{name}.dat") for name in KEEL)
    of_files = ("dataset=file", "dataset.target=last", "dataset.header=false", "dataset.strip=true")
    scores: Scores = {}
    for dataset_words in ([f"dataset={','.join(OWN)}"], [*of_files, f"dataset.path={files}"]):
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            words = ["-m", f"learner={','.join(LEARNERS)}", *dataset_words, *COMMON]
            command = [sys.executable, "-m", "bakeoff", "compare", *words, "to=json", f"output={report}"]
            subprocess.run(command, cwd=folder, check=True, env={**os.environ, "PYTHONPATH": str(DOCS.parents[1])})
            for cell in json.loads(report.read_text())["cells"]:
                (values,) = cell["scores"].values()
                scores.setdefault(cell["dataset"], {})[cell["configuration"]] = values
    return scores


def judge_pairs(scores: dict[str, list[float]], repeats: int) -> list[int]:
    """Return the verdict on each pair of a dataset after some repeats: 1 or -1 if one is better, otherwise 0."""
    values = [np.array(own[: repeats * FOLDS]) for own in scores.values()]  # L × (J,)
    differences = [subtract_scores(first, second) for first, second in combinations(values, 2)]
    tests = [compute_corrected_t_test(each, 1 / (FOLDS - 1)) for each in differences]
    p_holm = adjust_by_holm(np.array([test.p for test in tests]))  # (pairs,)
    return [int(np.sign(test.mean)) if p <= ALPHA else 0 for test, p in zip(tests, p_holm, strict=True)]


def stop_pairs(scores: dict[str, list[float]]) -> tuple[list[int], int]:
    """Return the verdict on each pair of a dataset with ``until=sure``, and the number of folds that it needs."""
    pairs = list(combinations(scores, 2))
    differences = [subtract_scores(np.array(scores[first]), np.array(scores[second])) for first, second in pairs]
    ratios = [1 / (FOLDS - 1)] * len(pairs)
    stops = StopRule(FOLDS, REPEATS, ALPHA, ROPE).stop_pairs(differences, ratios)
    # A learner is fitted until the last of its pairs has stopped.
    needed = {
        name: max(stop.repeats for pair, stop in zip(pairs, stops, strict=True) if name in pair) for name in scores
    }
    verdicts = [int(np.sign(stop.test.mean)) if stop.answer == TOLD_APART else 0 for stop in stops]
    return verdicts, FOLDS * sum(needed.values())


def tabulate_verdicts(scores: Scores) -> str:
    """Return a Markdown table: how often each number of repeats gives the verdict of all ten."""
    lines = [
        "| folds | folds run | same verdict as 10 × 10 | difference missed | difference found here only | opposite |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    final = np.concatenate([judge_pairs(own, REPEATS) for own in scores.values()])  # (pairs,)
    for repeats in FEWER:
        few = np.concatenate([judge_pairs(own, repeats) for own in scores.values()])  # (pairs,)
        lines.append(_describe_verdicts(f"{repeats} × {FOLDS}", repeats / REPEATS, few, final))
    alone = [
        {name: own[name] for name in pair} for own in scores.values() for pair in combinations(own, 2)
    ]  # each pair as a comparison of its own
    lines.append(_describe_stops("`until=sure`, all learners", list(scores.values())))
    lines.append(_describe_stops("`until=sure`, two learners", alone))
    n_found = np.count_nonzero(final)
    found = f"10 × 10 folds find a difference in {n_found} of {len(final)} pairs."
    return "\n".join([*lines, "", f"{len(LEARNERS)} learners on {len(scores)} datasets; {found}"])


def _describe_stops(name: str, compared: Sequence[dict[str, list[float]]]) -> str:
    """Return the line of the table about comparisons that stop early."""
    stopped = [stop_pairs(own) for own in compared]
    n_most = REPEATS * FOLDS * sum(map(len, compared))
    final = np.concatenate([judge_pairs(own, REPEATS) for own in compared])  # (pairs,)
    verdicts = np.concatenate([own for own, _ in stopped])  # (pairs,)
    return _describe_verdicts(name, sum(n_folds for _, n_folds in stopped) / n_most, verdicts, final)


def _describe_verdicts(name: str, share: float, few: np.ndarray, final: np.ndarray) -> str:
    """Return the line of the table that compares verdicts on fewer folds with those on all."""
    is_same = few == final
    differing = (~is_same & (few == 0), ~is_same & (final == 0), few * final == -1)
    counts = " | ".join(str(np.sum(each)) for each in differing)
    return (
        f"| {name} | {100 * share:.0f} % | {np.sum(is_same)} of {len(final)} ({100 * np.mean(is_same):.1f} %) "
        f"| {counts} |"
    )


def _parse_arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure how often few repeats give the verdict of 10 × 10 folds.")
    parser.add_argument("--keel", type=Path, default=Path("keel"), help="the folder of KEEL's files")
    parser.add_argument("--scores", type=Path, help="a JSON file that keeps the scores, or has them")
    parser.add_argument("--docs", action="store_true", help="write docs/statistics.md")
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
