"""Keys that nothing would read, and values that the framework needs: both are refused instead of being ignored."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import fields
from typing import Any

from omegaconf import DictConfig, OmegaConf

from bakeoff.pipeline.config.schema import Schema
from bakeoff.pipeline.errors import UserError, did_you_mean

KEYS = tuple(field.name for field in fields(Schema))
VALUES = ("seed", "trust")
"""Keys that every job reads."""
ADDED_HYDRA_KEY = re.compile(r"\++hydra\.(\w+)")


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
    for key in VALUES:
        if key not in composed:
            raise UserError(f"{key} cannot be removed, because every job needs it; leave ~{key} out.")
    unknown = [str(key) for key in composed if key not in KEYS]
    text = OmegaConf.to_yaml(composed) if unknown else ""
    for key in unknown:
        if not re.search(rf"\$\{{{re.escape(key)}[}}.\[]", text):
            raise UserError(f"{key} is not a key. {did_you_mean(key, KEYS)}")


def reject_added_hydra_keys(words: Iterable[str]) -> None:
    """Reject words that add a key to Hydra's own configuration where Hydra reads none.

    Parameters
    ----------
    words : iterable of str
        Of the command line.

    Raises
    ------
    UserError
    """
    from hydra.conf import HydraConf

    known = [field.name for field in fields(HydraConf)]
    for word in words:
        match = ADDED_HYDRA_KEY.match(word)
        if match and match[1] not in known:
            raise UserError(f"hydra.{match[1]} is not a key. {did_you_mean(match[1], known)}")


def reject_further_keys(part: str, option: str, node: dict[str, Any], allowed: Collection[str]) -> None:
    """Reject keys of a part whose option is replaced by another one, which would lose them.

    Parameters
    ----------
    part, option : str
        ``pruning`` and ``auto``.
    node : dict
    allowed : collection of str
    """
    for key in node:
        if key not in allowed:
            raise UserError(
                f"{part}.{key} is not a key of {part}={option}, which takes none; choose another option, such as "
                f"{part}=best_first."
            )
