"""A launcher as other machines have it: what it is given goes through pickle, and so does what comes back."""

from __future__ import annotations

import pickle
import sys
import types
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from hydra.core.config_store import ConfigStore

from bakeoff.pipeline.sweep.launcher.payload import JobPayload, Launcher, WaitForJob, run_payload

MODULE = "bakeoff.pipeline.sweep.launcher.pickling"


class PicklingLauncher(Launcher):
    """Runs jobs here, through pickle."""

    def submit(self, payloads: Sequence[JobPayload]) -> tuple[list[WaitForJob], Callable[[], None]]:
        """Pickle the jobs, which run when they are waited for."""
        copies = [pickle.loads(pickle.dumps(payload)) for payload in payloads]
        return [partial(_run, payload) for payload in copies], lambda: None


def _run(payload: JobPayload) -> Any:
    return pickle.loads(pickle.dumps(run_payload(payload)))


def register() -> None:
    """Make it an option of the group of launchers."""
    module: Any = types.ModuleType(MODULE)
    module.PicklingLauncher = PicklingLauncher
    sys.modules[MODULE] = module
    ConfigStore.instance().store(
        group="hydra/launcher", name="pickling", node={"_target_": f"{MODULE}.PicklingLauncher"}
    )
