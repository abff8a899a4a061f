"""Secrets of a job: no parameter of its model, no message and no warning holds the value of a variable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bakeoff.pipeline.config.settle import to_yaml
from bakeoff.pipeline.errors import UserError
from bakeoff.pipeline.experiment import FittedModel
from bakeoff.pipeline.text.secrets import find_references, hide_secrets, is_secret_name

MODEL_PARTS = ("preprocessing", "balance", "target", "learner", "calibration")
"""Parts whose objects are stored with a model, with all their parameters."""


def hide_in_warnings(model: FittedModel, configuration: str) -> FittedModel:
    """Return a model whose warnings hold no secret.

    Parameters
    ----------
    model : FittedModel
    configuration : str
        Refers to the variables whose values are hidden.
    """
    warnings = tuple(hide_secrets(warning, configuration) for warning in model.warnings)
    # Under holdout the model of the run is that of the fold, the same object.
    return model if warnings == model.warnings else replace(model, warnings=warnings)


def reject_stored_secrets(spec: Mapping[str, Any]) -> None:
    """Reject a secret among the parameters of a model that will be stored.

    Parameters
    ----------
    spec : mapping
        The settled configuration.

    Raises
    ------
    UserError
        A parameter refers to a variable with the name of a secret.
    """
    for part in MODEL_PARTS:
        names = [name for name in find_references(to_yaml(spec[part])) if is_secret_name(name)]
        if names:
            raise UserError(
                f"{part} takes the value of the environment variable {names[0]}, and a stored model holds its "
                f"parameters; add tracking.models=false, or let the code of the {part} read the variable."
            )
