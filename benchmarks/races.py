"""How often `tuning=race` drops a candidate as good as the best one, and how many fits it saves.

    python benchmarks/races.py

Scores are simulated under the assumption of the corrected t-test, that all inner folds are equally correlated: a
candidate has a part that all folds share, whose variance is that of a fold times n_test / n_train. The table gives, for
numbers of candidates,

- the share of races of equally good candidates in which the first one drops out, with and without the correction for
  the number of candidates;
- the share of the fits that are saved if candidates are equally good, or differ by up to eight standard deviations of a
  fold.

Nothing is asserted.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from bakeoff.pipeline.stages.tuning.race import choose_level, find_worse

FOLDS = 10
LOOKS = tuple(range(3, FOLDS + 1))
RATIO = 1 / (FOLDS - 1)
ALPHA = 0.05
N_CANDIDATES = (2, 4, 8, 16, 32)
N_RACES = 2000
LARGEST_GAP = 8.0


def draw_scores(gaps: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the scores of candidates with given gaps to the best one on the inner folds: shape (k, FOLDS)."""
    shared = np.sqrt(RATIO) * rng.standard_normal((len(gaps), 1))  # (k, 1)
    return np.asarray(shared + rng.standard_normal((len(gaps), FOLDS)) - gaps[:, None])


def run_race(scores: np.ndarray, level: float) -> np.ndarray:
    """Return the number of inner folds on which each candidate is fitted: shape (k,)."""
    n_fitted = np.zeros(len(scores), dtype=int)
    left = np.arange(len(scores))
    for n_done in range(1, FOLDS + 1):
        n_fitted[left] = n_done
        if n_done in LOOKS:
            left = left[~find_worse(scores[left, :n_done], LOOKS, RATIO, level, greater_is_better=True)]
        if len(left) == 1:
            break
    # The winner needs no further folds.
    n_fitted[left] = FOLDS
    return n_fitted


def measure_races(n_candidates: int, level: float, largest_gap: float, n_races: int = N_RACES) -> tuple[float, float]:
    """Return the shares of races in which the first candidate drops out, and of fits that are saved."""
    rng = np.random.default_rng(n_candidates)
    gaps = np.linspace(0, largest_gap, n_candidates)
    fitted = np.array([run_race(draw_scores(gaps, rng), level) for _ in range(n_races)])  # (races, k)
    return float(np.mean(fitted[:, 0] < FOLDS)), 1 - float(fitted.mean()) / FOLDS


def main() -> None:
    """Print a Markdown table."""
    print("| candidates | dropped, uncorrected | dropped | fits saved, equally good | fits saved, different |")
    print("| ---: |" + " ---: |" * 4)
    for n_candidates in N_CANDIDATES:
        level = choose_level(ALPHA, n_candidates)
        uncorrected, _ = measure_races(n_candidates, ALPHA, 0)
        dropped, saved_equal = measure_races(n_candidates, level, 0)
        _, saved = measure_races(n_candidates, level, LARGEST_GAP)
        shares = [f"{share:.3f}" for share in (uncorrected, dropped)]
        shares += [f"{100 * share:.0f} %" for share in (saved_equal, saved)]
        print(f"| {n_candidates} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
