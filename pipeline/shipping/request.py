"""What the user says about a model that goes into use."""

from __future__ import annotations

from dataclasses import dataclass, field

from bakeoff.pipeline.config.requests import RefitRequest


@dataclass(frozen=True, kw_only=True)
class ShipRequest(RefitRequest):
    """A run whose procedure is fitted on all rows.

    Attributes
    ----------
    name : str
        The name under which the model is registered, with the alias of its new version: NAME@ALIAS.
    """

    name: str = field(metadata={"key": "as"})
