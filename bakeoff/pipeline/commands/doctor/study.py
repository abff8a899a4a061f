"""Checks of a study, as a reviewer makes them: whether its comparison is fair, and shows what it claims."""

from __future__ import annotations

from collections import defaultdict
from typing import final

from bakeoff.pipeline.audit.check import TIP, Check
from bakeoff.pipeline.commands.doctor.subject import StudySubject
from bakeoff.pipeline.commands.significance.datasets import count_least_datasets
from bakeoff.pipeline.config.options import read_option
from bakeoff.pipeline.text.wording import count_nouns, format_change, name_first

STRONG_WORDS = ("boosting", "forest", "extra_trees", "stacking")
"""Parts of the names of learners that are strong on most tables."""
LEARNER = "learner"


class StudyCheck(Check):
    """Abstract: examines the jobs of a sweep, as a `StudySubject`."""


@final
class UnequalBudgets(StudyCheck):
    """Learners were tuned with different effort.

    Pitfall: of two equal learners, the one that was tuned longer looks better.

    Test: the numbers of fits in a fold differ more than five times between learners that have a space to tune.

    Cure: the same number of candidates for each.
    """

    code = "BK31"
    cure = "tuning=default"

    def describe(self, study: StudySubject) -> str:
        """Return the least and the greatest number of fits."""
        tunable = [each.run for each in study.finished if read_option("space", each.learner)]
        fits = {run.metrics.get("fits", 1.0): run.params[LEARNER] for run in tunable}
        least, most = min(fits, default=1.0), max(fits, default=1.0)
        few, many = fits.get(least), fits.get(most)
        return f"unequal tuning: {most:g} fits in a fold of {many}, {least:g} of {few}" if most > 5 * least else ""


@final
class NoStrongBaseline(StudyCheck):
    """There is no strong baseline.

    Pitfall: the best of several weak learners is weak.

    Test: no learner is an ensemble of trees.

    Cure: gradient boosting or a random forest as a further learner.
    """

    code = "BK32"
    cure = "learner=sklearn_hist_gradient_boosting"

    def describe(self, study: StudySubject) -> str:
        """Return the learners if none of them is strong."""
        learners = study.list_params(LEARNER)
        is_strong = any(word in learner for learner in learners for word in STRONG_WORDS)
        return "" if is_strong else f"no strong baseline beside {name_first(learners)}"


@final
class SingleSplit(StudyCheck):
    """Learners are compared on a single split.

    Pitfall: the order of the learners may be another one on the next split.

    Test: no run has scores of several folds.

    Cure: cross-validation, repeated if the table is small.
    """

    code = "BK33"
    cure = "evaluation=repeated_kfold"

    def describe(self, study: StudySubject) -> str:
        """Return a clause if there is one split."""
        has_folds = any(name.startswith("fold/") for each in study.finished for name in each.run.metrics)
        return "" if has_folds else "a single split, on which no difference can be tested"


@final
class ChosenByTest(StudyCheck):
    """Settings of a learner are chosen by test scores.

    Pitfall: the best of several settings on the test rows is partly the luckiest.

    Test: a learner has several configurations, none was tuned, and there are no free validation rows to choose by.

    Cure: the settings as a space of tuning.
    """

    code = "BK34"
    cure = "tuning=grid"

    def describe(self, study: StudySubject) -> str:
        """Return the learners with several configurations."""
        settings = defaultdict(set)
        for each in study.finished:
            if each.run.params.get("tuning", "none") == "none" and not each.has_free_validation_rows:
                settings[each.learner].add(each.configuration)
        several = [f"{len(own)} of {learner}" for learner, own in settings.items() if len(own) > 1]
        return f"chosen by test scores: {name_first(several)} configurations" if several else ""


@final
class FewDatasets(StudyCheck):
    """There are too few datasets for a statement about learners in general.

    Pitfall: a learner that wins on these tables may lose on others.

    Test: fewer datasets than Wilcoxon's test needs to tell two learners apart at the level 0.05, whatever their scores.

    Cure: more datasets; or a claim about these alone.
    """

    code = "BK36"
    severity = TIP
    cure = "dataset=iris,wine,breast_cancer,digits,blobs,moons"

    def describe(self, study: StudySubject) -> str:
        """Return the number of datasets if it is too small."""
        n_datasets, least = len({each.dataset for each in study.finished}), count_least_datasets(1)
        return f"{count_nouns(n_datasets, 'dataset')}: fewer than the {least} of a test" if n_datasets < least else ""


@final
class ManyLooks(StudyCheck):
    """The test rows were looked at more often than the study tells.

    Pitfall: configurations that were tried earlier, and left out, make the best of the others look better than it is.

    Test: more configurations were scored on the same test rows than the study has.

    Cure: bakeoff accept, whose level holds for all tries; or new rows.
    """

    code = "BK37"
    severity = TIP
    cure = "evaluation.reserve=0.2"

    def describe(self, study: StudySubject) -> str:
        """Return the number of looks if it exceeds that of the configurations."""
        looks = max((int(each.run.tags.get("looks", 0)) for each in study.finished), default=0)
        known = len({each.configuration for each in study.finished})
        return f"{looks} configurations were scored on these test rows, {known} are shown" if looks > known else ""


@final
class OneSeed(StudyCheck):
    """All runs have one seed.

    Pitfall: splits, forests and networks depend on the seed, and another one may turn a small difference around.

    Test: the seed of all runs is the same, and no split is repeated.

    Cure: repeats, which count the spread of splits and learners.
    """

    code = "BK38"
    severity = TIP
    cure = "evaluation=repeated_kfold"

    def describe(self, study: StudySubject) -> str:
        """Return the seed if there is one, and one repeat."""
        repeats = study.list_params("evaluation.repeats", "1")
        seeds = study.list_params("seed", "0")
        return f"one seed ({seeds[0]}) and no repeats" if (len(seeds), repeats) == (1, ["1"]) else ""


@final
class MissingCells(StudyCheck):
    """Some jobs have no scores.

    Pitfall: a learner that fails on the hard tables has a better mean over the others.

    Test: jobs without scores are counted.

    Cure: bakeoff rerun --failed.
    """

    code = "BK39"
    cure = "bakeoff rerun --failed"

    def describe(self, study: StudySubject) -> str:
        """Return the jobs without scores."""
        names = [f"{each.learner} on {each.dataset}" for each in study.facts if each.reason]
        return f"no scores of {len(names)} of {len(study.facts)} jobs: {name_first(names)}" if names else ""


@final
class OtherPreprocessing(StudyCheck):
    """Learners have different preprocessing.

    Pitfall: a difference of learners may be one of preprocessing.

    Test: the runs have several options of preprocessing, apart from those that suit each learner automatically.

    Cure: preprocessing=auto for all, or each option with each learner.
    """

    code = "BK40"
    cure = "preprocessing=auto"

    def describe(self, study: StudySubject) -> str:
        """Return the options if learners do not share them."""
        options = study.list_params("preprocessing")
        by_learner = {(each.learner, each.run.params.get("preprocessing")) for each in study.finished}
        is_crossed = len(by_learner) == len(options) * len(study.list_params(LEARNER))
        return "" if is_crossed else f"different preprocessing: {name_first(options)}"


@final
class SmallDifference(StudyCheck):
    """The best learners differ by less than the folds can show.

    Pitfall: the first rank is decided by chance.

    Test: the two best configurations are not told apart, and their difference is smaller than the one that these folds
    find with a power of 0.8.

    Cure: repeats, which find smaller differences; or the simpler learner.
    """

    code = "BK41"
    severity = TIP
    cure = "evaluation=repeated_kfold"

    def describe(self, study: StudySubject) -> str:
        """Return the pair, and the difference that could be shown."""
        results = study.comparison.results[0].datasets if study.comparison else ()
        close = [
            f"{pair.first} and {pair.second} differ by {format_change(pair.difference)} on {result.dataset}, where "
            f"{format_change(pair.detectable)} could be shown"
            for result in results
            for pair in result.pairs[:1]
            if abs(pair.difference) < pair.detectable and not pair.is_told_apart
        ]
        return name_first(close, 1)


STUDY_CHECKS: tuple[Check, ...] = tuple(kind() for kind in StudyCheck.__subclasses__())
