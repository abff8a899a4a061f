"""The seeds of an experiment: each axis has its own, and all are derived from one."""

from __future__ import annotations

import zlib

import numpy as np


def derive_seed(seed: int, axis: str) -> int:
    """Derive the seed of one axis (``split``, ``tuning``) from the experiment's, so that the axes are independent.

    Examples
    --------
    >>> derive_seed(0, "split") == derive_seed(0, "split") != derive_seed(0, "tuning")
    True
    """
    entropy = np.random.SeedSequence([seed, zlib.crc32(axis.encode())])
    return int(entropy.generate_state(1)[0] >> 1)  # seed + repeat must stay below 2**32
