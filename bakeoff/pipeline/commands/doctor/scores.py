"""Checks of the scores of a run: beside baselines, over folds and repeats, over candidates, and over columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, final

import numpy as np
import pandas as pd
from scipy import stats

from bakeoff.pipeline.audit.check import SEVERE, TIP, Check, Finding
from bakeoff.pipeline.commands.compare.hypothesis_tests import CorrectedTTest
from bakeoff.pipeline.commands.doctor.subject import MIN_FOLDS, Baseline, RunSubject
from bakeoff.pipeline.config.options import read_option
from bakeoff.pipeline.experiment import score_headline
from bakeoff.pipeline.experiment.experiment import derive_seed
from bakeoff.pipeline.model.permutation import list_scored_parts, permute_columns
from bakeoff.pipeline.text.wording import (
    count_nouns,
    format_change,
    format_percent,
    format_score,
    format_seconds,
    name_first,
)

ALPHA = 0.05
STRONG = ("sklearn_hist_gradient_boosting", "sklearn_hist_gradient_boosting_regressor")
"""The baselines that are strong on most tables, by task."""


class Need(NamedTuple):
    """What a check needs of a run, and the reason that is given without it."""

    is_met: Callable[[RunSubject], bool]
    reason: str


CLASSES = Need(lambda run: run.is_classification, "the target is a number")
NUMBERS = Need(lambda run: not run.is_classification, "the target is a class")
FOLDS = Need(lambda run: run.n_folds >= MIN_FOLDS, "the run has fewer than five folds: evaluation=kfold")
ROWS = Need(lambda run: not run.predictions.empty, "the predictions are no longer stored")
BESIDE = Need(lambda run: bool(run.baselines), "baselines were not fitted: leave out quick=true, or raise seconds=")
AGAIN = Need(lambda run: run.refitted is not None, "the run was not fitted again: leave out quick=true")
REPEATS = Need(lambda run: run.predictions["row"].duplicated().any(), "no row was predicted twice: repeated_kfold")
TUNING = Need(lambda run: "candidates.csv" in run.tables, "nothing was tuned")


class RunCheck(Check):
    """Abstract: examines a run, if its needs are met.

    Attributes
    ----------
    needs : tuple of Need
    """

    needs: tuple[Need, ...] = ()

    def applies(self, subject: Any) -> str:
        """Return the reason of the first need that is not met; empty if there is none."""
        if not isinstance(subject, RunSubject):
            return "it examines a run"
        return next((need.reason for need in self.needs if not need.is_met(subject)), "")


def test_one_side(test: CorrectedTTest) -> float:
    """Return the p-value of a mean above 0."""
    return test.p / 2 if test.mean > 0 else 1 - test.p / 2


def name_baseline(baseline: Baseline) -> str:
    """Return a baseline with its advantage over the run."""
    return f"{baseline.option.removeprefix('sklearn_')} {format_change(baseline.test.mean)}"


@final
class WeakerThanBaseline(RunCheck):
    """A quick baseline is better.

    Pitfall: a learner that was chosen and tuned with care may still be weaker than gradient boosting, or a linear
    model, with its defaults.

    Test: the corrected resampled t-test of the advantage of each baseline on the same folds, one-sided; with fewer than
    five folds, a t-test of the errors on the test rows.

    Cure: the learner that is better.
    """

    code = "BK09"
    needs = (ROWS, BESIDE)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of each baseline that uses the columns."""
        for each in subject.baselines[1:]:
            text = f"weaker than a quick baseline: {name_baseline(each)}"
            yield self.report(text, f"learner={each.option}", test_one_side(each.test))


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
        constant = subject.baselines[0]
        if 1 - test_one_side(constant.test) > ALPHA:
            text = f"not shown to be better than a constant prediction: {name_baseline(constant)}"
            yield self.report(text, f"learner={STRONG[not subject.is_classification]}")


@final
class Overfit(RunCheck):
    """The run fits its training rows too closely.

    Pitfall: a model that repeats its training rows, with their noise, predicts new rows worse than a simpler one. A gap
    between training and test scores alone is no fault: forests have it, and predict well.

    Test: a baseline with a smaller gap is better on the test rows, by the test of BK09.

    Cure: tuning, which finds a simpler setting; or pruning.
    """

    code = "BK12"
    needs = (ROWS, BESIDE)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of each baseline whose training score is closer to its test score."""
        train, scores = subject.read_scores("train"), subject.read_scores("test")
        gap = subject.sign * np.mean(train - scores)
        for each in subject.baselines[1:]:
            if gap > subject.sign * np.mean(each.train - each.scores):
                means = f"{format_score(train.mean())} on training rows and {format_score(scores.mean())} on test rows"
                text = f"overfit: {means}, while {name_baseline(each)} has a smaller gap"
                yield self.report(text, "tuning=default", test_one_side(each.test))


@final
class Underfit(RunCheck):
    """The run does not even fit its training rows.

    Pitfall: a model that is too simple, or too strongly penalized, misses what the columns tell; more rows do not help.

    Test: a baseline predicts new rows better than the run predicts its training rows, by the corrected resampled
    t-test.

    Cure: a learner that can bend further.
    """

    code = "BK13"
    needs = (ROWS, FOLDS, BESIDE)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of each baseline."""
        train = subject.read_scores("train")
        for each in subject.baselines[1:]:
            test = subject.test_scores(each.scores, train)
            own, other = format_score(train.mean()), format_score(each.scores.mean())
            text = f"underfit: {own} on training rows, while {name_baseline(each)} has {other} on test rows"
            yield self.report(text, f"learner={each.option}", test_one_side(test))


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
        """Yield the test of each end of each parameter that most folds choose."""
        table = subject.tables["candidates.csv"]
        table = table[table["fold"].astype(str).str.isdigit()]
        merit = subject.sign * table["validation_score"]
        chosen = table.loc[merit.groupby(table["fold"]).idxmax()]
        for name, given in dict(subject.run.spec["tuning"].get("space") or {}).items():
            values = [value for value in given if isinstance(value, int | float) and not isinstance(value, bool)]
            for beyond in (values, values[::-1]) if len(values) > 1 and name in table else ():
                edge, inner = beyond[-1], beyond[-2]
                n_edge = int((chosen[name] == edge).sum())
                if n_edge * 2 > subject.n_folds and not _is_limit(subject, name, edge, given):
                    best = merit.groupby([table["fold"].astype(int), table[name]]).max().unstack()  # (J, values)
                    test = subject.test_scores(
                        subject.sign * best[edge].to_numpy(), subject.sign * best[inner].to_numpy()
                    )
                    text = f"{name}={edge} is the edge of its space in {n_edge} of {subject.n_folds} folds"
                    yield self.report(text, _widen(name, beyond), test_one_side(test))


def _is_limit(subject: RunSubject, name: str, edge: float, given: list[Any]) -> bool:
    """Return whether a learner allows no value beyond an edge, or the space has null, for no limit, beyond it."""
    if None in given and edge == max(value for value in given if value is not None):
        return True
    allowed = getattr(subject.experiment.learner, "_parameter_constraints", {}).get(name, [])
    return any(edge in (getattr(each, "left", None), getattr(each, "right", None)) for each in allowed)


def _widen(name: str, values: list[float]) -> str:
    """Return the words for a space whose values go on beyond the last one as they did before it.

    Examples
    --------
    >>> _widen("C", [10, 1.0, 0.1]), _widen("max_depth", [4, 8])
    ('space.C=[0.01,0.1,1.0,10]', 'space.max_depth=[4,8,16]')
    """
    inner, edge = values[-2:]
    further = edge * edge / inner if inner * edge > 0 else 2 * edge - inner
    further = round(further) if isinstance(edge, int) else float(f"{further:.6g}")
    return f"space.{name}=[{','.join(map(str, sorted([*values, further])))}]"


@final
class Untuned(RunCheck):
    """Parameters that matter were not tuned.

    Pitfall: defaults suit an average table, not this one.

    Test: nothing was tuned, conf/space has values for the learner, and a baseline has a better mean score.

    Cure: tuning, on inner folds of the training rows.
    """

    code = "BK15"
    severity = TIP
    needs = (ROWS, BESIDE)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield a finding if there is a space that was not searched."""
        space = read_option("space", subject.run.stored.params.get("learner", ""))
        is_behind = any(each.test.mean > 0 for each in subject.baselines)
        if space and is_behind and "space" not in subject.run.spec["tuning"]:
            names = name_first([name for name in space if name != "simpler"])
            yield self.report(f"not tuned, although a baseline has a better mean: {names}", "tuning=default")


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
        experiment = subject.experiment
        assert subject.refitted is not None
        parts, _ = list_scored_parts(experiment, subject.refitted[0])
        seed = derive_seed(experiment.seed, "explanation")

        def score(*rows: Any) -> float:
            return score_headline(experiment, *rows)

        losses = [permute_columns(part, score, subject.sign > 0, 1, seed).mean(axis=1) for part in parts]
        tests = [subject.test_scores(own, np.zeros(len(own))) for own in subject.sign * np.transpose(losses)]
        most = max(test.mean for test in tests)
        columns = [str(name) for name in experiment.dataset.X.columns]
        useless = [
            name
            for name, test in zip(columns, tests, strict=True)
            if test.mean < most / 100 and test_one_side(test) * len(tests) > ALPHA
        ]
        if useless and most > 0:
            text = f"{len(useless)} of {count_nouns(len(columns), 'column')} not shown to help: {name_first(useless)}"
            yield self.report(text, f"dataset.drop=[{','.join(useless)}]")


@final
class OddFold(RunCheck):
    """One fold is predicted much worse than the others.

    Pitfall: the mean over folds hides rows that differ from all others: a batch, a site, a group that was not declared.

    Test: the errors of each fold against those of the others: Fisher's exact test for classes, the test of Mann and
    Whitney for numbers, one-sided.

    Cure: the rows of the fold are in predictions.csv; dataset.groups keeps rows that belong together in one part.
    """

    code = "BK17"
    needs = (ROWS, FOLDS)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of each fold."""
        rows = subject.predictions
        for fold, losses in rows["loss"].groupby(rows["fold"]):
            others = rows["loss"][rows["fold"] != fold]
            if subject.is_classification:
                counts = [[losses.sum(), len(losses) - losses.sum()], [others.sum(), len(others) - others.sum()]]
                p_value = stats.fisher_exact(np.array(counts, dtype=int), "greater").pvalue
            else:
                p_value = stats.mannwhitneyu(losses, others, alternative="greater").pvalue
            errors = f"mean error {format_score(losses.mean())}, elsewhere {format_score(others.mean())}"
            yield self.report(f"fold {fold} is odd: {errors}", "evaluation=repeated_kfold", float(p_value))


MAX_DISAGREEMENT = 0.1


@final
class Unstable(RunCheck):
    """Predictions change from repeat to repeat.

    Pitfall: a model whose answer for a row depends on which other rows it has seen is decided by chance.

    Test: rows are predicted by several models, none of which has seen them. The mean share of predictions that differ
    from the most frequent one of their row is above 10 %; for numbers, the mean spread of a row is above 10 % of that
    of the target (t-test over rows, one-sided).

    Cure: a forest, which averages models.
    """

    code = "BK18"
    needs = (ROWS, REPEATS)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield the test of the disagreement over rows."""
        rows = subject.predictions
        by_row = rows["predicted"].groupby(rows["row"])
        if subject.is_classification:
            spread = by_row.agg(lambda own: 1 - own.value_counts(normalize=True).iloc[0])
        else:
            spread = by_row.std() / rows["truth"].std()
        p_value = stats.ttest_1samp(spread, MAX_DISAGREEMENT, alternative="greater").pvalue
        text = f"unstable: predictions of a row differ by {format_percent(spread.mean())} over repeats"
        forest = "random_forest" if subject.is_classification else "random_forest_regressor"
        yield self.report(text, f"learner={forest}", float(np.nan_to_num(p_value, nan=1.0)))


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
    needs = (ROWS, CLASSES, BESIDE)

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield a finding for each such baseline."""
        for each in subject.baselines[1:]:
            is_slower = subject.seconds > max(10 * each.seconds, 10.0)
            if is_slower and each.test.lower > -0.01:
                times = f"{format_seconds(subject.seconds)} instead of {format_seconds(each.seconds)}"
                yield self.report(
                    f"slower than {name_baseline(each)}, which is as good: {times}", f"learner={each.option}"
                )


CONVERGENCE = re.compile("converge|max_iter|iteration", re.IGNORECASE)


@final
class NotConverged(RunCheck):
    """A fit ended before it converged.

    Pitfall: the numbers are those of an unfinished optimization, and change with the number of steps.

    Test: the warnings that the learner gave.

    Cure: more steps, or standardized columns, on which fewer suffice.
    """

    code = "BK24"

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield a finding if a warning is about convergence."""
        if found := [line for line in subject.warnings if CONVERGENCE.search(line)]:
            steps = subject.experiment.learner.get_params().get("max_iter")
            cure = f"learner.max_iter={10 * steps}" if steps else "preprocessing=standardize"
            yield self.report(f"not converged: {found[0][:200]}", cure)


@final
class Undefined(RunCheck):
    """A score is undefined in some folds.

    Pitfall: a mean over the other folds would be that of other rows, so there is none.

    Test: a stored mean is not a number.

    Cure: fewer folds, or a score that needs no row of each class.
    """

    code = "BK25"

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield one finding on all undefined scores."""
        means = subject.run.stored.metrics
        names = [name for name in means if name.startswith("test_") and not name.endswith("_std")]
        if undefined := [name for name in names if np.isnan(means[name])]:
            yield self.report(f"undefined in a fold: {name_first(undefined)}", "evaluation.metrics=[accuracy,log_loss]")


@final
class OneSplit(RunCheck):
    """The score comes from a single split.

    Pitfall: another split gives another score, and nothing shows by how much.

    Test: the run has one test part.

    Cure: cross-validation.
    """

    code = "BK29"
    severity = TIP

    def find(self, subject: RunSubject) -> Iterator[Finding]:
        """Yield a finding if there is one split."""
        if subject.n_folds == 1 and isinstance(subject.predictions, pd.DataFrame):
            yield self.report("a single split, which does not show how much chance moves the score", "evaluation=kfold")


SCORE_CHECKS: tuple[Check, ...] = (
    WeakerThanBaseline(),
    NoBetterThanConstant(),
    Overfit(),
    Underfit(),
    EdgeOfSpace(),
    Untuned(),
    UselessColumns(),
    OddFold(),
    Unstable(),
    NotConverged(),
    Undefined(),
    Slower(),
    OneSplit(),
)
