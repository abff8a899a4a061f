"""The scores of a study, a row for each job, metric and fold, and how those of another machine differ from them."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from bakeoff.pipeline.model.training_record import SCORE_PREFIXES
from bakeoff.pipeline.text.wording import count_nouns
from bakeoff.pipeline.tracking.store import Store
from bakeoff.pipeline.tracking.stored_runs import StoredRun, read_series

KEYS = ["job", "metric", "fold"]
"""The columns that identify a score."""
STD_SUFFIX = "_std"
CLOSE = 1e-9
"""The relative difference up to which scores differ in their last digits alone."""
MAX_SHOWN = 12
"""The maximum number of differing scores in a report."""


def read_scores(store: Store, runs: Mapping[int, StoredRun]) -> pd.DataFrame:
    """Return every score on test, validation and training rows at full precision.

    Parameters
    ----------
    store : Store
    runs : mapping of int to StoredRun
        The number of a job -> its finished run.

    Returns
    -------
    DataFrame
        The columns ``job``, ``metric``, ``fold`` and ``score``.
    """
    names = {name for run in runs.values() for name in run.metrics if name.startswith(SCORE_PREFIXES)}
    series = read_series(store, list(runs.values()), sorted(name for name in names if not name.endswith(STD_SUFFIX)))
    rows = [
        (number, metric, fold, score)
        for number, run in runs.items()
        for metric, scores in series[run.run_id].items()
        for fold, score in enumerate(scores)
    ]
    return pd.DataFrame(rows, columns=[*KEYS, "score"]).astype({"job": int, "fold": int, "score": float})


def settle_types(table: pd.DataFrame) -> pd.DataFrame:
    """Return the table of the scores of a capsule with settled types; a job without scores has the fold -1."""
    typed = table.astype({"job": int, "reason": str, "metric": str, "score": float})
    return typed.assign(fold=typed["fold"].fillna(-1).astype(int))


def compare_scores(stored: pd.DataFrame, now: pd.DataFrame) -> pd.DataFrame:
    """Return each score of two tables with the absolute difference, which is infinite for a score that one lacks.

    Parameters
    ----------
    stored, now : DataFrame
        The results of `read_scores`.
    """
    both = stored[[*KEYS, "score"]].merge(now, on=KEYS, how="outer", suffixes=("", "_now"), indicator="side")
    first, second = both["score"], both["score_now"]
    # An undefined score equals another one.
    is_same = (first == second) | (first.isna() & second.isna() & (both["side"] == "both"))
    return both.assign(difference=(first - second).abs().fillna(np.inf).mask(is_same, 0.0))


def count_scores(compared: pd.DataFrame) -> str:
    """Return how many scores are equal to the last bit, equal to 1e-9, and different."""
    others = compared[compared["difference"] != 0]
    text = f"{len(compared) - len(others):,} of {len(compared):,} scores equal to the last bit"
    if others.empty:
        return text
    n_close = int(np.isclose(others["score"], others["score_now"], rtol=CLOSE, atol=0).sum())
    return f"{text}, {n_close:,} equal to {CLOSE:g}, {len(others) - n_close:,} different"


def list_differences(compared: pd.DataFrame, jobs: Mapping[int, str]) -> list[str]:
    """Return a sentence for each of the scores that differ most.

    Parameters
    ----------
    compared : DataFrame
        The result of `compare_scores`.
    jobs : mapping of int to str
        The number of a job -> its name.
    """
    found = compared[compared["difference"] != 0].sort_values("difference", ascending=False, kind="stable")
    lines = [
        f"job {row['job']} ({jobs[row['job']]}), {row['metric']}, fold {row['fold']}: {row['score']!r} in the capsule, "
        f"{row['score_now']!r} here, a difference of {row['difference']:.3g}"
        for row in found.head(MAX_SHOWN).to_dict("records")
    ]
    n_hidden = len(found) - len(lines)
    return [*lines, *[f"and {count_nouns(n_hidden, 'further score')} that differ"] * (n_hidden > 0)]
