"""The file of a fitted estimator, in the skops format, which cannot contain code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bakeoff.pipeline.model.allowed_types import trusted_types
from bakeoff.pipeline.model.stored_names import has_old_names, translate_model, translate_types

MODEL_FILE_NAME = "model.skops"
"""The name that MLflow gives to the file of a model."""


def read_dump(folder: Path) -> bytes:
    """Return the content of the file, with the names that classes have now.

    Parameters
    ----------
    folder : Path
        The folder of an MLflow model in the skops format.
    """
    dumped = (folder / MODEL_FILE_NAME).read_bytes()
    return translate_model(dumped) if has_old_names(folder) else dumped


def read_estimator(folder: Path, types: Sequence[str]) -> Any:
    """Read a fitted estimator that this version or an earlier one wrote.

    Parameters
    ----------
    folder : Path
        The folder of an MLflow model in the skops format.
    types : sequence of str
        The types that it may hold besides those that skops trusts by default.
    """
    import skops.io

    allowed = translate_types(types) if has_old_names(folder) else list(types)
    return skops.io.loads(read_dump(folder), trusted=allowed)


def read_reviewed_estimator(folder: Path, trust: Sequence[str] = ()) -> Any:
    """Read a fitted estimator, and trust only what was reviewed, whatever the files of the model say.

    Parameters
    ----------
    folder : Path
        The folder of an MLflow model in the skops format.
    trust : sequence of str
        Packages that the user trusts.

    Raises
    ------
    UntrustedType
        The estimator holds a type that is not trusted.
    """
    import skops.io

    dumped = read_dump(folder)
    return skops.io.loads(dumped, trusted=trusted_types(dumped, trust))
