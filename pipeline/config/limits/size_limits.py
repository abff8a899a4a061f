"""Limits on what a configuration asks for, by arithmetic: what is probably a mistake is refused before it is made."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bakeoff.pipeline.errors import UserError

DEFAULT_MAX_CANDIDATES = 1_000_000


def require_few_candidates(tuning: Mapping[str, Any], max_candidates: int) -> None:
    """Reject a space with more points than tuning may try.

    Parameters
    ----------
    tuning : mapping
        The settled node of the configuration.
    max_candidates : int

    Raises
    ------
    UserError
    """
    if max_candidates < 1:
        raise UserError(f"max_candidates={max_candidates} must be a positive number of candidates.")
    space = tuning.get("space") or {}
    grids = [space] if isinstance(space, Mapping) else space
    lengths = [_count_values(grid) for grid in grids if isinstance(grid, Mapping)]
    n_points = sum(math.prod(by_name.values()) for by_name in lengths)
    n_drawn = tuning.get("n")
    n_candidates = min(n_points, n_drawn) if isinstance(n_drawn, int) else n_points
    if n_candidates <= max_candidates:
        return
    largest = max(lengths, key=lambda by_name: math.prod(by_name.values()))
    factors = " × ".join(f"{length:,} of {name}" for name, length in largest.items() if length > 1)
    raise UserError(
        f"space: tuning would try {n_candidates:,} candidates ({factors}), but max_candidates={max_candidates}; leave "
        "out values, draw some of them by tuning=default tuning.n=20, or set a larger max_candidates."
    )


def _count_values(grid: Mapping[str, Any]) -> dict[str, int]:
    """Return the number of values of each parameter; what is no list is refused elsewhere."""
    is_list = {name: isinstance(values, Sequence) and not isinstance(values, str) for name, values in grid.items()}
    return {str(name): len(values) for name, values in grid.items() if is_list[name]}
