"""A part of the user: the composed keys of its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bakeoff.pipeline.config.build import build_object, find_target
from bakeoff.pipeline.stages.scoring import SCORING_KEYS

REFERENCE = "${"
"""How a value begins that refers to another key."""

VALIDATION_FRACTION = 0.2
"""What a validation part is, in tuning and pruning, if the file leaves it open."""


@dataclass(frozen=True)
class Part:
    """A part of the user.

    Attributes
    ----------
    group : str
        Of options: ``learner``, ``metric`` and so on.
    name : str
        Of the option.
    keys : mapping
        As the file has them, before other files join.
    node : mapping
        The composed configuration of the part.
    trust : tuple of str
        Packages that the user trusts.
    space : object
        The search space that is stored under the same name; None if there is none.
    """

    group: str
    name: str
    keys: Mapping[str, Any]
    node: Mapping[str, Any]
    trust: tuple[str, ...]
    space: Any = None

    @property
    def target(self) -> str:
        """The dotted name of the class or function; empty if the file names none."""
        return str(self.node.get("_target_") or "")

    def find_target(self) -> Any:
        """Return the class or function; raises UserError if it does not exist or is not trusted."""
        return find_target(self.target, f"{self.group}._target_", self.trust)

    def build(self) -> Any:
        """Return the object that the file describes; raises UserError if it cannot be built."""
        node = self.node
        if self.group == "evaluation":
            node = {key: value for key, value in node.items() if key not in SCORING_KEYS}
            if "validation" in node and node["validation"] is None:
                node["validation"] = VALIDATION_FRACTION
        return build_object(node, self.group, self.trust)
