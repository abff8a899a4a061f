"""References to environment variables stay in a configuration, so that their values are neither stored nor hashed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from omegaconf.resolvers import oc

from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.text.secrets import expand_references, find_secrets

RESOLVER = "oc.env"
RESOLVED_PARTS = ("trust", "search", "space", "default_space", "figures", "on_error", "on_invalid")
"""Parts of a configuration that are read here, or that name what a run chooses: texts in them are no secrets."""
RESOLVED_KEYS = (
    "preprocessing.method", "pruning.method", "tuning.space", "threshold.metric", "tracking.experiment",
    "evaluation.metrics", "evaluation.costs", "evaluation.train_metrics",
)  # fmt: skip
"""Keys of the same kind in other parts; the experiment is the name by which MLflow shows the runs."""
TARGET_NAME = "_target_"


def resolve_values(composed: DictConfig) -> dict[str, Any]:
    """Return a composed configuration as plain dicts and lists.

    Interpolations are resolved. A text that an environment variable is a part of has ``${oc.env:NAME}`` in the place of
    its value; numbers and truth values, which decide results, are resolved.

    Parameters
    ----------
    composed : DictConfig

    Raises
    ------
    UserError
        A text holds a password, or is made of the value of a variable in a way that cannot be repeated.
    OmegaConfBaseException
        An interpolation cannot be resolved.
    """
    read: list[str] = []

    def record_variable(*arguments: Any) -> Any:
        read.append(str(arguments[0]))
        return oc.env(*arguments)

    try:
        OmegaConf.register_new_resolver(RESOLVER, record_variable, replace=True)
        values: dict[str, Any] = OmegaConf.to_container(composed, resolve=True, throw_on_missing=True)  # type: ignore[assignment]
        if read:
            OmegaConf.register_new_resolver(RESOLVER, _keep_reference, replace=True)
            values = {
                key: value if key in RESOLVED_PARTS else _keep_references(value, composed, key, str(key))
                for key, value in values.items()
            }
    finally:
        OmegaConf.register_new_resolver(RESOLVER, oc.env, replace=True)
    for key, text in _iterate_texts(values, ""):
        if find_secrets(text):
            raise UserError(
                f"{key} holds a password or a signature, which would be stored with the run; write ${{oc.env:NAME}} in "
                "its place, and export the environment variable NAME."
            )
    return values


def _keep_reference(name: str, *default: Any) -> Any:
    """Return the reference to a variable that is set, in place of its value."""
    return f"${{oc.env:{name}}}" if name in os.environ else oc.env(name, *default)


def _keep_references(value: Any, parent: Any, name: Any, key: str) -> Any:
    """Return a resolved value with references in its texts.

    Parameters
    ----------
    value : mapping, list or plain value
    parent : DictConfig or ListConfig
        That holds it, and resolves its interpolations to references.
    name : str or int
        Of the value in its parent.
    key : str
        For messages.
    """
    is_resolved = not isinstance(value, Mapping | list | str) or name == TARGET_NAME or key in RESOLVED_KEYS
    if is_resolved:
        return value
    try:
        kept = parent[name]
    except OmegaConfBaseException:
        kept = None
    if isinstance(value, Mapping) and kept is not None:
        return {child: _keep_references(value[child], kept, child, f"{key}.{child}") for child in value}
    if isinstance(value, list) and kept is not None:
        return [_keep_references(child, kept, i, f"{key}[{i}]") for i, child in enumerate(value)]
    if not isinstance(kept, str) or expand_references(kept) != value:
        raise UserError(
            f"{key} is made of the value of an environment variable, which would be stored with the run; write "
            "${oc.env:NAME} where the value is to stand, and export the variable NAME with this value."
        )
    return kept


def _iterate_texts(value: Any, key: str) -> Iterator[tuple[str, str]]:
    """Yield the keys and texts of a configuration."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, Mapping):
        for name, child in value.items():
            yield from _iterate_texts(child, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list):
        for position, child in enumerate(value):
            yield from _iterate_texts(child, f"{key}[{position}]")
