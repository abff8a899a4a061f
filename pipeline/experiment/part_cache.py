"""The parts that jobs share: datasets, trackers, and everything else that is built from the configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bakeoff.pipeline.config.build import build_object
from bakeoff.pipeline.stages.dataset import Dataset


@dataclass
class PartCache:
    """The parts that the jobs of a process share: two parts with the same configuration are built once.

    So each dataset is loaded once and each store is opened once. Sharing is safe because only clones are fitted, and
    no learner or preprocessing writes to its input.

    Attributes
    ----------
    tried : set of str
        Descriptions of trials that passed, such as that of a model that can be stored: each is made once.
    """

    tried: set[str] = field(default_factory=set)
    _built: dict[str, Any] = field(default_factory=dict)

    def build(self, part: str, node: Mapping[str, Any], trust: Sequence[str]) -> Any:
        """Return the object that a node of the configuration describes; raises UserError as `build_object` does."""
        key = json.dumps([part, node, list(trust)], sort_keys=True, default=str)
        if key not in self._built:
            self._built[key] = build_object(node, part, list(trust))
        return self._built[key]

    def get_dataset(self, spec: Mapping[str, Any]) -> Dataset:
        """Return the dataset of a settled configuration."""
        dataset: Dataset = self.build("dataset", spec["dataset"], spec["trust"])
        return dataset

    @property
    def parts(self) -> list[Any]:
        """What was built, in the order in which it was."""
        return list(self._built.values())

    @property
    def datasets(self) -> list[Dataset]:
        """The datasets that were loaded, in the order in which they were."""
        return [part for part in self.parts if isinstance(part, Dataset)]
