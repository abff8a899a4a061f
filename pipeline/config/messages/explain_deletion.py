"""Sentences about ``~KEY`` where there is nothing to leave out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bakeoff.pipeline.errors import did_you_mean

DELETING_PREFIX = "~"
SPACE_PREFIX = "space."


def explain_deletion(key: str, words: Sequence[str], composed: DictConfig | None = None) -> str:
    """Return a sentence about a key that could not be left out: it is null, or it is no key.

    Parameters
    ----------
    key : str
    words : sequence of str
        The overrides of the job.
    composed : DictConfig, optional
        The configuration; by default, what the other words describe.
    """
    word = f"{DELETING_PREFIX}{key}"
    if key.startswith(SPACE_PREFIX):
        return (
            f"{word}: ~space.PARAMETER has nothing to leave out, because no space is written; write the parameters to "
            "search, as in space.PARAMETER=[1,2], or leave one out of the default space with "
            "~default_space.PARAMETER."
        )
    if composed is None:
        composed = _compose_without_deletions(words)
    parent, _, name = key.rpartition(".")
    known = _list_keys(composed, parent)
    if name in known:
        return f"{word}: {key} is null already, as if it were left out; remove the word."
    return f"{word}: {key} is not a key. {did_you_mean(name, [key for key in known if key != '_target_'])}"


def _compose_without_deletions(words: Sequence[str]) -> DictConfig | None:
    """Return the configuration that the other words describe; None if they describe none."""
    from bakeoff.pipeline.config.engine import compose_plainly

    kept = [word for word in words if not word.startswith(DELETING_PREFIX)]
    try:
        return compose_plainly(kept)
    except Exception:  # another word is wrong as well
        return None


def _list_keys(composed: DictConfig | None, parent: str) -> list[str]:
    """Return the keys below a key, of the whole configuration if it is empty."""
    if composed is None:
        return []
    try:
        node: Any = OmegaConf.select(composed, parent) if parent else composed
    except OmegaConfBaseException:
        return []
    return [str(key) for key in node] if isinstance(node, DictConfig) else []
