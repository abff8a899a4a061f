"""Identity of a run: a hash of all that decides its result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

DECISIVE = ("preprocessing", "learner", "tuning", "pruning", "evaluation", "seed")


def config_hash(spec: Mapping[str, Any], dataset_digest: str) -> str:
    """Fingerprint what decides a run's result: 16 hexadecimal digits.

    Parameters
    ----------
    spec : mapping
        The settled configuration; where it is stored, and the order of its keys, do not count.
    dataset_digest : str
        Stands for the data, wherever the file lies.
    """
    decisive = {key: spec[key] for key in DECISIVE} | {"dataset": dataset_digest}
    text = json.dumps(decisive, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
