"""Which processes of a study are alive: each writes a heartbeat into the study once a minute."""

from __future__ import annotations

import os
import socket
import time
from typing import Any

import optuna

from bakeoff.pipeline.tracking.process_signs import ProcessSign, identify_process

ATTRIBUTE_PREFIX = "process "
"""The user attribute of a study that holds the start and the latest heartbeat of a process begins with this."""


class Liveness:
    """The heartbeat of this process in a study, and the heartbeats of the others.

    The first heartbeat is written before the first trial is requested. A trial without the name of a process belongs to
    a process that ended in between. It is known to be lost once no process is alive that could have requested it.

    Parameters
    ----------
    study : optuna.Study

    Attributes
    ----------
    name : str
        The host and the id of this process.
    """

    def __init__(self, study: optuna.Study) -> None:
        self.name = f"{socket.gethostname()} {os.getpid()}"
        self._study = study
        self._started = time.time()
        self._identity = identify_process(os.getpid())
        self.write_heartbeat()

    def write_heartbeat(self) -> None:
        """Record that this process is alive."""
        sign = [self._started, time.time(), self._identity]
        self._study.set_user_attr(ATTRIBUTE_PREFIX + self.name, sign)

    def write_end(self) -> None:
        """Record that this process has left the study."""
        self._study.set_user_attr(ATTRIBUTE_PREFIX + self.name, None)

    def is_alive(self, name: str | None) -> bool:
        """Return whether the process of that name is alive; if the name is None, whether any other process is."""
        heartbeats = {
            key.removeprefix(ATTRIBUTE_PREFIX): value
            for key, value in self._study.user_attrs.items()
            if ATTRIBUTE_PREFIX in key
        }
        names = [name] if name is not None else [other for other in heartbeats if other != self.name]
        return any(self._has_live_process(other, heartbeats.get(other)) for other in names)

    def _has_live_process(self, name: str, sign: list[Any] | None) -> bool:
        if sign is None:
            return False
        host, _, pid = name.rpartition(" ")
        return not ProcessSign(host, int(pid), *sign).is_gone(self._study.study_name, name)
