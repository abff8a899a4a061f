"""Small tables of systems that answered the items of one test set."""

from __future__ import annotations

import numpy as np
import pandas as pd

LEVELS = {"opus": 1.3, "gpt": 1.25, "qwen": 0.6, "mini": -0.2}


def make_outcomes(n_items: int = 120, n_clusters: int = 12) -> pd.DataFrame:
    """Return 0 or 1 for each system and task; tasks of a repository are not independent."""
    generator = np.random.default_rng(0)
    difficulty = generator.normal(size=n_items)
    repositories = np.arange(n_items) % n_clusters
    parts = []
    for name, level in LEVELS.items():
        own = 0.4 * generator.normal(size=n_clusters)[repositories]
        solved = level - difficulty + own + generator.logistic(size=n_items) > 0
        tasks = [f"task-{number}" for number in range(n_items)]
        names = [f"repo-{number}" for number in repositories]
        parts.append(pd.DataFrame({"system": name, "task": tasks, "repo": names, "score": solved.astype(int)}))
    return pd.concat(parts, ignore_index=True)


def make_pair(wins: int, losses: int, n_items: int) -> pd.DataFrame:
    """Return a wide table of two systems, of which one wins and loses so many items."""
    first = [1] * wins + [0] * losses + [1] * (n_items - wins - losses)
    second = [0] * wins + [1] * losses + [1] * (n_items - wins - losses)
    return pd.DataFrame({"task": range(n_items), "first": first, "second": second})
