"""The keys of a dataset in YAML, sorted into the classes that define them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from bakeoff.pipeline.errors import UserError, did_you_mean


def build_from_keys(keys: Mapping[str, Any], *classes: Any) -> list[Any]:
    """Return an object of each class, made of those keys that are its fields.

    Parameters
    ----------
    keys : mapping of str to object
    *classes : dataclass

    Raises
    ------
    UserError
        A key is a field of none of them.
    """
    names = [[field.name for field in fields(each)] for each in classes]
    known = [name for own_names in names for name in own_names]
    for key in keys:
        if key not in known:
            raise UserError(f"dataset.{key} is not a key of this dataset. {did_you_mean(key, known)}")
    built = []
    for each, own_names in zip(classes, names, strict=True):
        own_keys = {name: keys[name] for name in own_names if name in keys}
        built.append(each(**own_keys))
    return built


def require_list(key: str, names: Any) -> None:
    """Reject a value that should be a list of columns and is a single text."""
    if isinstance(names, str):
        raise UserError(f"dataset.{key}={names!r} must be a list of columns: dataset.{key}=[{names}].")
