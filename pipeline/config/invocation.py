"""What the command line asked for, beside the configuration itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """What the command line asked for, beside the configuration itself.

    Attributes
    ----------
    choices : mapping of str to str
        The chosen option of each group.
    varying : tuple of str
        Keys that set this job apart: in a sweep those that are swept, else those that were given.
    sweep : str or None
        The sweep's name.
    number : int
        Of the job in its sweep.
    overrides : tuple of str
        With which the job can be composed again.
    study : str or None
        The study's name, of a job that Optuna chose.
    """

    choices: Mapping[str, str]
    varying: tuple[str, ...] = ()
    sweep: str | None = None
    number: int = 0
    overrides: tuple[str, ...] = ()
    study: str | None = None
