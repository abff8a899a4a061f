"""Checks of the scores of a run: beside baselines, over folds and repeats, over candidates, and over columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, final

import numpy as np
from scipy import stats

from bakeoff.pipeline.audit.check import SEVERE, TIP, Check, Finding
from bakeoff.pipeline.audit.columns import write_drop
from bakeoff.pipeline.commands.doctor.subject import MIN_FOLDS, Baseline, RunSubject
from bakeoff.pipeline.commands.significance.folds import CorrectedTTest
from bakeoff.pipeline.config.compose_job import SIMPLER_KEY
from bakeoff.pipeline.config.options import read_option
from bakeoff.pipeline.experiment import score_headline
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.model.permutation import list_scored_parts, permute_columns
from bakeoff.pipeline.text.wording import format_change, format_percent, format_score, name_first
from bakeoff.pipeline.tracking.artifacts import read_artifact
from bakeoff.pipeline.tracking.stored_runs import read_series

ALPHA = 0.05


class Need(NamedTuple):
    """What a check needs of a run, and the reason that is given without it."""

    is_met: Callable[[RunSubject], Any]
    reason: str


CLASSES = Need(lambda run: run.is_classification, "the target is a number")
NUMBERS = Need(lambda run: not run.is_classification, "the target is a class")
FOLDS = Need(lambda run: run.n_folds >= MIN_FOLDS, "fewer than five folds: evaluation=kfold")
ROWS = Need(lambda run: len(run.rows), "the predictions are no longer stored")
BESIDE = Need(lambda run: run.baselines, "no baselines were fitted: leave out quick=true, or raise seconds=")
AGAIN = Need(lambda run: run.refitted, "the run was not fitted again: quick=true, no time, or other scores today")
REPEATS = Need(lambda run: run.rows["row"].duplicated().any(), "no row was predicted twice: evaluation=repeated_kfold")
TUNING = Need(lambda run: "candidates.csv" in run.tables, "nothing was tuned")


class RunCheck(Check):
    """Abstract: examines a run, if its needs are met.

    Attributes
    ----------
    needs : tuple of Need
    """

    needs: tuple[Need, ...] = ()

    def applies(self, subject: RunSubject) -> str:
        """Return the reason of the first need that is not met; empty if there is none."""
        return next((need.reason for need in self.needs if not need.is_met(subject)), "")


class BaselineCheck(RunCheck):
    """Abstract: tests a run beside each baseline that uses the columns."""

    needs: tuple[Need, ...] = (ROWS, BESIDE)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of each baseline that can be judged."""
        for each in subject.baselines[1:]:
            if judged := self.judge(subject, each):
                text, test = judged
                cure = self.cure or f"learner={each.option}"
                yield self.report(f"{text} {name_baseline(each)}", cure, test_one_side(test))

    def judge(self, subject: RunSubject, baseline: Baseline) -> tuple[str, CorrectedTTest] | None:
        """Return what a baseline shows if its advantage is above 0, and the test; None if it cannot show it."""
        raise NotImplementedError


def test_one_side(test: CorrectedTTest) -> float:
    """Return the p-value of a mean above 0."""
    return test.p / 2 if test.mean > 0 else 1 - test.p / 2


def name_baseline(baseline: Baseline) -> str:
    """Return a baseline with its advantage over the run."""
    return f"{baseline.option.removeprefix('sklearn_')} {format_change(baseline.test.mean)}"


@final
class WeakerThanBaseline(BaselineCheck):
    """A quick baseline is better.

    Pitfall: a learner that was chosen and tuned with care may still be weaker than gradient boosting, or a linear
    model, with its defaults.

    Test: the corrected resampled t-test of the advantage of each baseline on the same folds, one-sided; with fewer than
    five folds, a t-test of the errors on the test rows.

    Cure: the learner that is better.
    """

    code = "BK09"

    def judge(self, subject: RunSubject, baseline: Baseline) -> tuple[str, CorrectedTTest]:
        """Return the test of the advantage."""
        return "weaker than a quick baseline:", baseline.test


@final
class NoBetterThanConstant(RunCheck):
    """The run is not shown to be better than a constant prediction.

    Pitfall: an accuracy of .95 is no achievement if 95 % of the rows are of one class.

    Test: the test of BK09 does not show an advantage over the most frequent class, or over the mean, at the level 0.05.

    Cure: a stronger learner, or columns that tell more.
    """

    code = "BK11"
    severity = SEVERE
    needs = (ROWS, BESIDE)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield a finding if the run is not significantly better."""
        constant, *_, strong = subject.baselines
        if 1 - test_one_side(constant.test) > ALPHA:
            text = f"not shown to be better than a constant prediction: {name_baseline(constant)}"
            yield self.report(text, f"learner={strong.option}")


@final
class Overfit(BaselineCheck):
    """The run fits its training rows too closely.

    Pitfall: a model that repeats its training rows, with their noise, predicts new rows worse than a simpler one. A gap
    between training and test scores alone is no fault: forests have it, and predict well.

    Test: a baseline with a smaller gap is better on the test rows, by the test of BK09.

    Cure: tuning, which finds a simpler setting; or pruning.
    """

    code = "BK12"
    cure = "tuning=default"

    def judge(self, subject: RunSubject, baseline: Baseline) -> tuple[str, CorrectedTTest] | None:
        """Return the test of a baseline whose training score is closer to its test score."""
        train, scores = subject.read_scores("train"), subject.read_scores("test")
        if subject.sign * np.mean(train - scores) <= subject.sign * np.mean(baseline.train - baseline.scores):
            return None
        means = f"{format_score(train.mean())} on training rows, {format_score(scores.mean())} on test rows"
        return f"overfit: {means}; with a smaller gap,", baseline.test


@final
class Underfit(BaselineCheck):
    """The run does not even fit its training rows.

    Pitfall: a model that is too simple, or too strongly penalized, misses what the columns tell; more rows do not help.

    Test: a baseline predicts new rows better than the run predicts its training rows, by the corrected resampled
    t-test.

    Cure: a learner that can bend further.
    """

    code = "BK13"
    needs = (ROWS, FOLDS, BESIDE)

    def judge(self, subject: RunSubject, baseline: Baseline) -> tuple[str, CorrectedTTest]:
        """Return the test of the baseline on test rows against the run on training rows."""
        train = subject.read_scores("train")
        text = f"underfit: even on training rows {format_score(train.mean())}; on test rows,"
        return text, subject.test_scores(baseline.scores, train)


@final
class EdgeOfSpace(RunCheck):
    """A tuned value is at the edge of its space.

    Pitfall: the best value may lie beyond the edge, where tuning did not look.

    Test: most folds choose the last value of a parameter at one end, which is not a limit of the learner, and the best
    validation score with it is greater than with the value beside it (corrected resampled t-test, one-sided).

    Cure: a wider space.
    """

    code = "BK14"
    figure = "candidates"
    needs = (FOLDS, TUNING)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of each end of each numeric parameter that most folds choose."""
        table = subject.tables["candidates.csv"].query("fold != 'all rows'")
        merit = subject.sign * table["validation_score"]
        chosen = table.loc[merit.groupby(table["fold"]).idxmax()]
        limits = getattr(subject.experiment.learner, "_parameter_constraints", {})
        for name, given in subject.run.spec["tuning"]["space"].items():
            values = sorted(value for value in given if type(value) in (int, float))
            best = merit.groupby([table["fold"], table.get(name, table["fold"])]).max().unstack()  # (J, values)
            for inner, edge in (values[1::-1], values[-2:]) if 1 < len(values) == len(given) else ():
                n_edge = (chosen[name] == edge).sum()
                is_limit = any(
                    edge in (getattr(each, "left", None), getattr(each, "right", None)) for each in limits[name]
                )
                if n_edge * 2 > subject.n_folds and not is_limit:
                    wider = sorted([*values, type(edge)(edge * edge / inner if inner else 2 * edge)])
                    test = subject.test_scores(
                        subject.sign * best[edge].to_numpy(), subject.sign * best[inner].to_numpy()
                    )
                    text = f"{name}={edge} is the edge of its space in {n_edge} of {subject.n_folds} folds"
                    yield self.report(text, f"space.{name}={wider}".replace(" ", ""), test_one_side(test))


@final
class Untuned(RunCheck):
    """Parameters that matter were not tuned.

    Pitfall: defaults suit an average table, not this one.

    Test: nothing was tuned, conf/space has values for the learner, and a baseline has a better mean score.

    Cure: tuning, on inner folds of the training rows.
    """

    code = "BK15"
    severity = TIP
    cure = "tuning=default"
    needs = (ROWS, BESIDE)

    def describe(self, subject: RunSubject) -> str:
        """Return the parameters of the space that was not searched."""
        space = read_option("space", subject.run.stored.params["learner"]).keys() - {SIMPLER_KEY}
        is_behind = any(each.test.mean > 0 for each in subject.baselines)
        is_tuned = "space" in subject.run.spec["tuning"]
        return (
            f"not tuned, and behind a baseline: {name_first(sorted(space))}"
            if space and is_behind and not is_tuned
            else ""
        )


@final
class UselessColumns(RunCheck):
    """Columns are not shown to help.

    Pitfall: columns without information cost time, and add noise to distances, trees and coefficients.

    Test: the loss of score on the test rows of each fold when a column is permuted, by the corrected resampled t-test,
    one-sided, with Bonferroni's correction over the columns, does not show that the column helps, and its mean is below
    1 % of the largest one. Columns with the same information can replace one another, and then none is shown to help.

    Cure: leave the columns out, and compare.
    """

    code = "BK16"
    severity = TIP
    figure = "importances"
    needs = (FOLDS, AGAIN)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield one finding on all such columns."""
        assert subject.refitted is not None
        parts, _ = list_scored_parts(subject.experiment, subject.refitted[0])
        score, seed = partial(score_headline, subject.experiment), derive_seed(subject.experiment.seed, "explanation")
        losses = [permute_columns(part, score, subject.sign > 0, 1, seed)[:, 0] for part in parts]  # J of shape (d,)
        tests = [subject.test_scores(subject.sign * own, np.zeros(len(own))) for own in np.transpose(losses)]
        level = max(0.0, *(test.mean for test in tests)) / 100
        names = subject.experiment.dataset.X.columns
        useless = [
            str(name)
            for name, test in zip(names, tests, strict=True)
            if test.mean < level and test_one_side(test) * len(tests) > ALPHA
        ]
        if useless:
            text = f"{len(useless)} of {len(names)} columns are not shown to help: {name_first(useless)}"
            yield self.report(text, write_drop(useless))


@final
class OddFold(RunCheck):
    """One fold is predicted much worse than the others.

    Pitfall: the mean over folds hides rows that differ from all others: a batch, a site, a group that was not declared.

    Test: the share of errors of each fold against that of the others (Fisher's exact test, one-sided). Of a number, the
    largest fifth of the errors count.

    Cure: the rows of the fold are in predictions.csv; dataset.groups keeps rows that belong together in one part.
    """

    code = "BK17"
    needs = (ROWS, FOLDS)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of each fold."""
        counts = subject.rows.groupby("fold")["is_wrong"].agg(["sum", "count"])  # (J, 2)
        total = counts.sum()
        for fold, (n_wrong, n_rows) in zip(counts.index, counts.to_numpy(), strict=True):
            others = total["sum"] - n_wrong, total["count"] - n_rows
            table = [[n_wrong, n_rows - n_wrong], [others[0], others[1] - others[0]]]
            shares = f"{format_percent(n_wrong / n_rows)} errors, elsewhere {format_percent(others[0] / others[1])}"
            p_value = float(stats.fisher_exact(table, "greater").pvalue)
            yield self.report(f"fold {fold} is odd: {shares}", f"bakeoff explain {subject.run.stored.run_id}", p_value)


MAX_DISAGREEMENT = 0.1


def test_mean(values: Any, limit: float) -> float:
    """Return the p-value of a mean above a limit; 1 if all values are equal."""
    p_value = stats.ttest_1samp(values, limit, alternative="greater").pvalue
    return float(np.nan_to_num(p_value, nan=1.0))


@final
class Unstable(RunCheck):
    """Predictions change from repeat to repeat.

    Pitfall: a model whose answer for a row depends on which other rows it has seen is decided by chance.

    Test: rows are predicted by several models, none of which has seen them. The mean share of predictions that differ
    from the most frequent one of their row is above 10 % (t-test over rows, one-sided).

    Cure: a forest, which averages models.
    """

    code = "BK18"
    cure = "learner=random_forest"
    needs = (CLASSES, ROWS, REPEATS)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of the disagreement over rows."""
        by_row = subject.rows["predicted"].groupby(subject.rows["row"])
        shares = 1 - by_row.agg(lambda own: own.value_counts(normalize=True).iloc[0])  # (n,)
        text = f"unstable: predictions of a row differ by {format_percent(shares.mean())} over repeats"
        yield self.report(text, p_value=test_mean(shares, MAX_DISAGREEMENT))


MIN_SECONDS = 10.0
MAX_LOSS = 0.01


@final
class Slower(RunCheck):
    """A baseline is as good, and ten times as fast.

    Pitfall: time that buys nothing is missing for repeats, tuning and use.

    Test: the corrected interval of the difference excludes that the baseline is worse by more than 0.01, and the folds
    of the run took ten times as long, at least 10 s.

    Cure: the faster learner.
    """

    code = "BK26"
    severity = TIP
    needs = (CLASSES, ROWS, BESIDE)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield a finding for each baseline that is as good."""
        for each in subject.baselines[1:]:
            if subject.seconds > max(10 * each.seconds, MIN_SECONDS) and each.test.lower > -MAX_LOSS:
                text = f"slower than {name_baseline(each)}: {subject.seconds:.0f} s instead of {each.seconds:.0f} s"
                yield self.report(text, f"learner={each.option}")


CONVERGENCE = re.compile(".*(converge|max_iter|iteration).*", re.IGNORECASE)


@final
class NotConverged(RunCheck):
    """A fit ended before it converged.

    Pitfall: the numbers are those of an unfinished optimization, and change with the number of steps.

    Test: the warnings that the learner gave.

    Cure: more steps, or standardized columns, on which fewer suffice.
    """

    code = "BK24"
    cure = "preprocessing=standardize"

    def describe(self, subject: RunSubject) -> str:
        """Return the first warning about convergence."""
        text = read_artifact(subject.store, f"{subject.run.stored.address}/warnings.txt")
        found = CONVERGENCE.search(text)
        return f"not converged: {found[0][:200]}" if found else ""


@final
class Undefined(RunCheck):
    """A score is undefined in some folds.

    Pitfall: a mean over the other folds would be that of other rows, so there is none.

    Test: a stored score of a fold is not a number, while that of another one is.

    Cure: fewer folds, or a score that needs no row of each class.
    """

    code = "BK25"

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield one finding on all undefined scores."""
        names = [name for name in subject.run.stored.metrics if name.startswith("test_")]
        (series,) = read_series(subject.store, [subject.run.stored], names).values()
        undefined = [name for name, scores in series.items() if 0 < np.isnan(scores).sum() < len(scores)]
        if undefined:
            defined = "accuracy" if subject.is_classification else "rmse"
            yield self.report(f"undefined in some folds: {name_first(undefined)}", f"evaluation.metrics=[{defined}]")
