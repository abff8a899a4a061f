"""Which processes work on a study: each writes into the study that it is there, and each minute that it lives."""

from __future__ import annotations

import os
import socket
import time

import optuna

from bakeoff.pipeline.tracking.history import is_process_gone

PREFIX = "process "


class Presence:
    """The presence of this process in a study.

    It is written before the first trial is asked for, so that a trial which nobody has put his name to, because his
    process ended in between, is known for dead when no process is left that could have asked for it.

    Parameters
    ----------
    study : optuna.Study
    """

    def __init__(self, study: optuna.Study) -> None:
        self.name = f"{socket.gethostname()} {os.getpid()}"
        self._study = study
        self._since = time.time()
        self.beat()

    def beat(self) -> None:
        """Say that this process lives."""
        self._study.set_user_attr(PREFIX + self.name, [self._since, time.time()])

    def end(self) -> None:
        """Say that it will do no more."""
        self._study.set_user_attr(PREFIX + self.name, None)

    def is_alive(self, name: str | None) -> bool:
        """Whether the process of a trial lives; for a trial without a name, whether any other process does."""
        known = {key.removeprefix(PREFIX): value for key, value in self._study.user_attrs.items() if PREFIX in key}
        names = [each for each in known if each != self.name] if name is None else [name]
        return any(known.get(each) is not None and not _is_gone(each, *known[each]) for each in names)


def _is_gone(name: str, since: float, heartbeat: float) -> bool:
    host, _, pid = name.rpartition(" ")
    return is_process_gone(host, int(pid), since, heartbeat)
