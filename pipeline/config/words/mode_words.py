"""Hydra's words that ask for a single run or for a sweep; this module loads nothing of Hydra."""

from __future__ import annotations

import re

SWEEP_WORD = "hydra.mode=MULTIRUN"
RUN_WORD = "hydra.mode=RUN"
"""Asks for a single run, even if a file describes a sweep."""
HYDRA_SWEEP_KEYS = re.compile(r"hydra[./](sweep|sweeper|launcher)([./]|$)")
"""Hydra's keys that have an effect in a sweep only."""
HYDRA_RUN_KEYS = re.compile(r"hydra\.run\.")
"""Hydra's keys that have an effect in a single run only."""
