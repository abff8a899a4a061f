"""A launcher as other machines have it: what it is given goes through pickle, and so does what comes back."""

from __future__ import annotations

import pickle
import sys
import types
from collections.abc import Sequence
from typing import Any

from hydra._internal.core_plugins.basic_launcher import BasicLauncher
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins


class PicklingLauncher(BasicLauncher):
    """Runs jobs here, through pickle."""

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[Any]:
        """Run the jobs."""
        self.task_function = pickle.loads(pickle.dumps(self.task_function))
        returned = super().launch(job_overrides, initial_job_idx)
        for each in returned:
            each._return_value = pickle.loads(pickle.dumps(each._return_value))
        return returned


def register() -> None:
    """Make it known to Hydra, in the folder where it looks for plugins."""
    module: Any = types.ModuleType("hydra_plugins.pickling")
    module.PicklingLauncher = PicklingLauncher
    PicklingLauncher.__module__ = module.__name__
    sys.modules[module.__name__] = module
    Plugins.instance().register(PicklingLauncher)
    ConfigStore.instance().store(
        group="hydra/launcher", name="pickling", node={"_target_": "hydra_plugins.pickling.PicklingLauncher"}
    )
