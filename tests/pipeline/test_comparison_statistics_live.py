"""R and WEKA, run on drawn numbers, compute what the statistics of comparisons say."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from bakeoff.pipeline.comparison.fold_tests import (
    compute_corrected_t_test,
    mark_difference,
    subtract_scores,
)
from bakeoff.pipeline.comparison.rank_tests import (
    compute_friedman_test,
    compute_nemenyi_test,
    compute_wilcoxon_p,
    list_pairs,
)
from bakeoff.pipeline.model.row_report import adjust_by_holm

TESTER = Path(__file__).parents[1] / "support" / "PairedTester.java"
PATIENCE_SECONDS = 60
needs_r = pytest.mark.skipif(shutil.which("Rscript") is None, reason="needs R")
needs_weka = pytest.mark.skipif(
    shutil.which("java") is None or "WEKA_JAR" not in os.environ, reason="needs java, and WEKA_JAR=…/weka.jar"
)
R_PROGRAM = """
options(digits = 17)
d <- c({differences})
test <- t.test(d)
cat(test$statistic, test$p.value, test$conf.int, "\\n")
error <- sqrt((1 / length(d) + {ratio}) * var(d))
cat(mean(d) / error, 2 * pt(-abs(mean(d) / error), length(d) - 1), "\\n")
m <- matrix(c({scores}), {n}, byrow = TRUE)
friedman <- friedman.test(m)
cat(friedman$statistic, friedman$p.value, "\\n")
r <- colMeans(t(apply(m, 1, rank)))
k <- ncol(m)
gaps <- combn(r, 2, function(pair) abs(pair[1] - pair[2])) / sqrt(k * (k + 1) / (6 * nrow(m)))
cat(ptukey(gaps * sqrt(2), k, Inf, lower.tail = FALSE), "\\n")
exact <- wilcox.test(m[, 1], m[, 2], paired = TRUE)
cat(exact$statistic, exact$p.value, "\\n")
pairs <- combn(k, 2, function(pair) wilcox.test(m[, pair[1]], m[, pair[2]], paired = TRUE)$p.value)
cat(p.adjust(pairs, "holm"), "\\n")
"""


@pytest.mark.external
@needs_r
def test_r_agrees() -> None:
    rng = np.random.default_rng(7)
    differences = rng.normal(0.01, 0.03, 30)  # (J,)
    scores = rng.normal(0.8, 0.05, (12, 4))  # (N, k)
    program = R_PROGRAM.format(
        differences=",".join(map(repr, differences.tolist())),
        ratio=0.2,
        scores=",".join(map(repr, scores.ravel().tolist())),
        n=len(scores),
    )
    done = subprocess.run(
        ["Rscript", "-"], input=program, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS
    )
    plain, corrected, friedman, nemenyi, wilcoxon, holm = (
        [float(word) for word in line.split()] for line in done.stdout.splitlines()
    )
    naive = compute_corrected_t_test(differences, 0.0)
    assert [naive.statistic, naive.p, naive.lower, naive.upper] == pytest.approx(plain, rel=1e-9)
    test = compute_corrected_t_test(differences, 0.2)
    assert [test.statistic, test.p] == pytest.approx(corrected, rel=1e-9)
    over_datasets = compute_friedman_test(scores)
    assert [over_datasets.chi2, over_datasets.p] == pytest.approx(friedman, rel=1e-9)
    p = compute_nemenyi_test(scores).p
    assert [p[i, j] for i, j in list_pairs(4)] == pytest.approx(nemenyi, rel=1e-5)
    p_wilcoxon = [compute_wilcoxon_p(scores[:, i], scores[:, j]) for i, j in list_pairs(4)]
    assert p_wilcoxon[0] == pytest.approx(wilcoxon[1], rel=1e-9)
    assert adjust_by_holm(np.array(p_wilcoxon)) == pytest.approx(holm, rel=1e-9)


@pytest.mark.external
@needs_weka
@pytest.mark.parametrize(("train", "test", "folds"), [(90, 10, 10), (50, 50, 2), (667, 333, 1)])
def test_weka_agrees(train: int, test: int, folds: int) -> None:
    rng = np.random.default_rng(train)
    base = rng.normal(0.8, 0.04, (6, 20))  # (datasets, J)
    gains = np.array([-0.08, -0.02, 0.0, 0.01, 0.03, 0.08])[:, np.newaxis]
    scores = base + rng.normal(gains, 0.03, base.shape)
    sizes = f"{train} {test} {folds}"
    pairs = [np.column_stack([base[i], scores[i]]).ravel() for i in range(len(base))]
    lines = [f"{sizes} {' '.join(map(repr, values.tolist()))}" for values in pairs]
    # WEKA's own libraries stand beside its jar.
    libraries = Path(os.environ["WEKA_JAR"]).parent / "*"
    done = subprocess.run(
        ["java", "-cp", str(libraries), str(TESTER)],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE_SECONDS,
    )
    *told, marks = done.stdout.splitlines()
    ours = [compute_corrected_t_test(subtract_scores(scores[i], base[i]), test / train) for i in range(len(base))]
    for line, one in zip(told, ours, strict=True):
        mean, deviation, p, sign = map(float, line.split())
        # WEKA subtracts the other way round.
        assert (-mean, deviation) == pytest.approx((one.mean, one.standard_deviation))
        assert p == pytest.approx(one.p, rel=1e-7)
        assert sign == -np.sign(one.mean) * (one.p <= 0.05)
    assert marks.split()[1:] == [mark_difference(one.mean, one.p) or "-" for one in ours]
    assert {"v", "*", "-"} <= set(marks.split())
