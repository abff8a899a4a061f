"""The parts that jobs share: datasets, stores, and everything else that is built from the configuration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bakeoff.pipeline.config.targets.build import build_object
from bakeoff.pipeline.experiment import Experiment
from bakeoff.pipeline.job_secrets import reject_stored_secrets
from bakeoff.pipeline.stages.dataset import Dataset
from bakeoff.pipeline.stages.splitting import Splits
from bakeoff.pipeline.storage_check import check_storable, describe_stored_types
from bakeoff.pipeline.tracking import MLflowTracker, Tracker


@dataclass
class PartCache:
    """The parts that the jobs of a process share: two parts with the same configuration are built once.

    So each dataset is loaded once and each store is opened once. Sharing is safe because only clones are fitted, and
    no learner or preprocessing writes to its input.
    """

    _built: dict[str, Any] = field(default_factory=dict)
    _storable: set[str] = field(default_factory=set)

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
    def datasets(self) -> list[Dataset]:
        """The datasets that were loaded, in the order in which they were."""
        return [part for part in self._built.values() if isinstance(part, Dataset)]

    def check_storable(self, spec: Mapping[str, Any], experiment: Experiment, splits: Splits) -> None:
        """Reject a model that cannot be stored, before the first fit; a trial of the same kinds of parts is made once.

        Raises
        ------
        UserError
        """
        if not spec["tracking"].get("models"):
            return
        reject_stored_secrets(spec)
        for description in describe_stored_types(experiment, spec["trust"]):
            if description not in self._storable:
                check_storable(experiment, splits.folds[0], spec["trust"], description)
                self._storable.add(description)

    def get_tracker(self, spec: Mapping[str, Any]) -> Tracker:
        """Return the tracker of a settled configuration."""
        tracker: Tracker = self.build("tracking", spec["tracking"], spec["trust"])
        return tracker

    def disconnect_stores(self) -> None:
        """Close the connections to all stores; those that are needed again are opened again."""
        for part in self._built.values():
            if isinstance(part, MLflowTracker):
                part.disconnect()
