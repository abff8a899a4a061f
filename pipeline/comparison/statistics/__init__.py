"""Tests and estimates on arrays: folds of one dataset, and mean scores over several datasets.

SciPy computes what it has. The packages of the extra ``stats`` compute Holm's correction, Nemenyi's p-values and the
Bayesian signed-rank test, and are imported when they are called.
"""

from bakeoff.pipeline.comparison.statistics.bayesian import (
    Posterior,
    compute_posterior,
    compute_signed_rank_posterior,
)
from bakeoff.pipeline.comparison.statistics.multiple import adjust_by_holm, list_pairs
from bakeoff.pipeline.comparison.statistics.pareto import find_pareto_front
from bakeoff.pipeline.comparison.statistics.post_hoc import (
    BaseRankTest,
    NemenyiTest,
    compare_ranks_with_base,
    compute_critical_difference,
    compute_nemenyi_test,
    find_cliques,
)
from bakeoff.pipeline.comparison.statistics.power import Requirement, count_datasets, estimate_requirement
from bakeoff.pipeline.comparison.statistics.ranks import (
    MIN_DATASETS,
    FriedmanTest,
    Outcomes,
    compute_friedman_test,
    count_outcomes,
    rank_configurations,
)
from bakeoff.pipeline.comparison.statistics.resampled import (
    CorrectedTTest,
    ResampledMean,
    compute_corrected_t_test,
    estimate_mean,
    mark_difference,
    subtract_scores,
)
from bakeoff.pipeline.comparison.statistics.wilcoxon import (
    AllPairsTest,
    PairedDatasetsTest,
    compare_pairs_over_datasets,
    compare_two_over_datasets,
)

__all__ = [
    "MIN_DATASETS",
    "AllPairsTest",
    "BaseRankTest",
    "CorrectedTTest",
    "FriedmanTest",
    "NemenyiTest",
    "Outcomes",
    "PairedDatasetsTest",
    "Posterior",
    "Requirement",
    "ResampledMean",
    "adjust_by_holm",
    "compare_pairs_over_datasets",
    "compare_ranks_with_base",
    "compare_two_over_datasets",
    "compute_corrected_t_test",
    "compute_critical_difference",
    "compute_friedman_test",
    "compute_nemenyi_test",
    "compute_posterior",
    "compute_signed_rank_posterior",
    "count_datasets",
    "count_outcomes",
    "estimate_mean",
    "estimate_requirement",
    "find_cliques",
    "find_pareto_front",
    "list_pairs",
    "mark_difference",
    "rank_configurations",
    "subtract_scores",
]
