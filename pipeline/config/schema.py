"""The keys that the framework owns: their types, their registration with Hydra, and keys that nothing would read."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field, fields
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

from bakeoff.pipeline.config.engine import bound_config_files
from bakeoff.pipeline.errors import UserError, did_you_mean


@dataclass
class Schema:
    """Types and defaults of the top-level keys; each part checks its own keys in its constructor."""

    dataset: Any = None
    preprocessing: Any = None
    learner: Any = None
    space: Any = field(default_factory=dict)
    default_space: Any = None
    tuning: Any = None
    pruning: Any = None
    balance: Any = None
    target: Any = None
    calibration: Any = None
    threshold: Any = None
    evaluation: Any = None
    audit: Any = None
    tracking: Any = None
    search: Any = None
    seed: int = 0
    n_jobs: int = 1
    max_folds: int = 100_000
    max_candidates: int = 1_000_000
    figures: Any = field(default_factory=list)  # a list, or one name; `settle_figures` checks it
    trust: list[str] = field(default_factory=list)
    resume: Any = True  # true or false, in the words that `read_boolean` takes
    workers: int = 1
    timeout: float | None = None
    on_error: str = "continue"
    on_invalid: str = "stop"
    dry_run: Any = False
    max_jobs: int = 100_000


SWEEP_KEYS = ("search", "resume", "workers", "timeout", "on_error", "on_invalid", "dry_run", "max_jobs")
"""Keys that say how jobs are generated and run together; they are not part of any job."""
KEYS = tuple(field.name for field in fields(Schema))
REQUIRED_VALUES = ("seed", "trust")
"""Keys that every job reads."""


def register_schema() -> None:
    """Register the schema and the resolvers with Hydra, which must happen before it composes a configuration."""
    bound_config_files()
    schema = OmegaConf.structured(Schema)
    # Which parameters a space has is not known here, so that they are given without a plus sign.
    OmegaConf.set_struct(schema.space, False)
    ConfigStore.instance().store(group="schema", name="bakeoff", node=schema)
    OmegaConf.register_new_resolver("bakeoff.token", lambda: secrets.token_hex(2), use_cache=True, replace=True)


def check_keys(composed: DictConfig) -> None:
    """Reject a composed configuration with a key that nothing reads, or without a value that every job has.

    A key of the user's own is read if an interpolation refers to it, as in ``+k=3 learner.n_neighbors=${k}``.

    Parameters
    ----------
    composed : DictConfig

    Raises
    ------
    UserError
    """
    for key in REQUIRED_VALUES:
        if key not in composed:
            raise UserError(f"{key} cannot be removed, because every job needs it; leave ~{key} out.")
    unknown = [str(key) for key in composed if key not in KEYS]
    text = OmegaConf.to_yaml(composed) if unknown else ""
    for key in unknown:
        if not re.search(rf"\$\{{{re.escape(key)}[}}.\[]", text):
            raise UserError(f"{key} is not a key. {did_you_mean(key, KEYS)}")
