"""How far the score of a run is that of its model: whether the run was chosen by this score, and from how many."""

from __future__ import annotations

from bakeoff.pipeline.text.numbers import format_score
from bakeoff.pipeline.tracking.find_run import find_headline
from bakeoff.pipeline.tracking.history import count_candidates, count_looks
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import StoredRun

CURE = (
    "An honest score comes from rows that no run has seen (evaluation=fixed dataset.test_path=FILE), or from one run "
    "that makes the choice within each training part (tuning=grid evaluation=kfold)."
)


def describe_choice(store: Store, run: StoredRun, *, is_best: bool) -> list[str]:
    """Return why the score of a run may be too good, and what gives an honest one; nothing if it was the only one.

    The best of several scores is, on average, above the score that its configuration has on new rows.

    Parameters
    ----------
    store : Store
    run : StoredRun
    is_best : bool
        Whether the run was named as the best one of its experiment.

    References
    ----------
    Cawley, G. C. and Talbot, N. L. C. (2010). On over-fitting in model selection and subsequent selection bias in
    performance evaluation. Journal of Machine Learning Research 11, 2079-2107.
    """
    headline = find_headline(run.params, run.metrics)
    if headline is None:
        return []
    digest = run.tags.get("dataset_digest", "")
    n_looks = count_looks(store, digest, run.tags.get("splits_digest", ""), run.tags.get("config_hash"))
    if not is_best:
        if n_looks < 2:
            return []
        return [
            f"{n_looks} configurations have been scored on the test rows of this run; if it was chosen for its "
            f"{headline}, that score is optimistic. {CURE}"
        ]
    n_configurations = max(n_looks, count_candidates(store, digest))
    if n_configurations < 2:
        return []
    score = f"{headline} {format_score(run.metrics[headline])}"
    return [
        f"{score} is optimistic: it chose this run, as the best of {n_configurations} configurations that were scored "
        f"on these rows. {CURE}"
    ]
