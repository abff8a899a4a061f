"""A launcher as other machines have it: what it is given goes through pickle, and so does what comes back."""

from __future__ import annotations

import pickle
import sys
import types
from collections.abc import Sequence
from typing import Any

from hydra.core.config_store import ConfigStore

from bakeoff.pipeline.sweep.launcher.payload import JobPayload, Launcher, run_payload

MODULE = "bakeoff.pipeline.sweep.launcher.pickling"


class PicklingLauncher(Launcher):
    """Runs jobs here, through pickle, three at a time."""

    def count_free(self, n_running: int) -> int:
        """Return the rest of three."""
        return 3 - n_running

    def submit(self, payloads: Sequence[JobPayload], running: Sequence[bytes]) -> list[bytes]:
        """Pickle the jobs, which run when they are collected."""
        return [pickle.dumps(payload) for payload in payloads]

    def wait(self, handles: Sequence[bytes]) -> list[bytes]:
        """Return the last job."""
        return [handles[-1]]

    def collect(self, handle: bytes) -> Any:
        """Run a job."""
        return pickle.loads(pickle.dumps(run_payload(pickle.loads(handle))))

    def cancel(self, handles: Sequence[bytes]) -> None:
        """Do nothing, because no job runs in the meantime."""


def register() -> None:
    """Make it an option of the group of launchers."""
    module: Any = types.ModuleType(MODULE)
    module.PicklingLauncher = PicklingLauncher
    sys.modules[MODULE] = module
    ConfigStore.instance().store(
        group="hydra/launcher", name="pickling", node={"_target_": f"{MODULE}.PicklingLauncher"}
    )
