"""The input of a sweep, in addition to the configuration that Hydra composes for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SweepInput:
    """The input of a sweep, in addition to the configuration that Hydra composes for it.

    Attributes
    ----------
    overrides : sequence of str
        Those of the command line that go to the jobs; each may have several values.
    jobs : sequence of sequence of str or None
        The overrides of each job, if they are already known; None if they are to be made from `overrides`.
    tracebacks : bool
        Whether to print the traceback of a job that fails.
    quiet : bool
        Whether to print nothing: the caller reads the report.
    """

    overrides: Sequence[str]
    jobs: Sequence[Sequence[str]] | None = None
    tracebacks: bool = False
    quiet: bool = False
