"""Identity of a job: one digest of everything that decides its result, and of nothing else."""

from bakeoff.pipeline.identity.config_hash import (
    DECISIVE_KEYS,
    DISTRIBUTIONS,
    hash_config,
    hash_config_code,
    require_current_code,
)
from bakeoff.pipeline.identity.digests import hash_text
from bakeoff.pipeline.identity.unidentified import describe_unidentified

__all__ = [
    "DECISIVE_KEYS",
    "DISTRIBUTIONS",
    "describe_unidentified",
    "hash_config",
    "hash_config_code",
    "hash_text",
    "require_current_code",
]
